//! Events that waited for sinks which are gone. A queue may hold a million of them, and everybody would wait while the memory of all
//! is given back. So a node does that for some at a time.

use super::Queued;
use crate::Time;
use crate::flows::inbox::cost;
use crate::memory::Body;
use std::collections::VecDeque;

/// So many at a time, of about so many bytes: that takes less than a millisecond.
const EVENTS: usize = 4_096;
const BYTES: u64 = 4 << 20;
/// Fewer are let go of at once.
const FEW: usize = 16;

/// The pause between two times.
const PAUSE: Time = Time::from_millis(1);

pub(in crate::flows) struct Waste<B> {
    /// The events, of each subscription.
    all: Vec<VecDeque<Queued<B>>>,
    /// When there is something to do next.
    next: Time,
}

impl<B> Default for Waste<B> {
    fn default() -> Self {
        Waste { all: Vec::new(), next: Time::ZERO }
    }
}

impl<B: Body> Waste<B> {
    /// Takes what waited for one sink. Returns whether there is something to do later.
    pub(in crate::flows) fn take(&mut self, events: VecDeque<Queued<B>>) -> bool {
        let is_long = events.len() > FEW;
        if is_long {
            self.all.push(events);
        }
        is_long
    }

    /// When there is something to do.
    pub(in crate::flows) fn due(&self) -> Option<Time> {
        (!self.all.is_empty()).then_some(self.next)
    }

    /// Lets go of some events.
    pub(in crate::flows) fn let_go(&mut self, now: Time) {
        if self.all.is_empty() || self.next > now {
            return;
        }
        self.next = now + PAUSE;
        let (mut count, mut bytes) = (0, 0);
        while count < EVENTS && bytes < BYTES {
            let Some(events) = self.all.last_mut() else { return };
            match events.pop_back() {
                Some(event) => (count, bytes) = (count + 1, bytes + cost(event.body.length())),
                None => _ = self.all.pop(),
            }
        }
    }
}
