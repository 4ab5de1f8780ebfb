//! Ctrl-C: the first asks for an orderly end, after which others on the channel know that this process has left; the second
//! ends at once.

use crate::failure::{Failure, reason};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval at which waiting code checks whether it should stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Whether this process has been asked to end.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn new() -> Result<Stop, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, asked.clone())
                .and_then(|_| flag::register(signal, asked.clone()))
                .map_err(|error| Failure::data(format!("signals: {}", reason(&error))))?;
        }
        Ok(Stop(asked))
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits until a moment. Returns `false` if the process was asked to end.
    pub(crate) fn sleep_until(&self, moment: Instant) -> bool {
        while !self.is_asked() {
            match moment.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return true,
                left => std::thread::sleep(left.min(LOOK)),
            }
        }
        false
    }
}
