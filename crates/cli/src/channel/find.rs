//! Waiting for a channel that is not there yet, or no more.

use super::stop::{LOOK, Stop};
use super::{STARTING, cannot_open, may_come, not_open, open_at, shown};
use crate::failure::{Failure, notice};
use isoform_channel::{Channel, ChannelId, Node};
use std::time::{Duration, Instant};

/// The time between two looks.
const AGAIN: Duration = Duration::from_millis(500);

/// A channel that a command wants.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    /// Do not wait for it.
    pub(super) once: bool,
}

impl Wanted<'_> {
    /// Whether the command waits for a channel that is not there. One of a certain identity does not come back once its last
    /// member has left.
    pub(super) fn waits(self) -> bool {
        !self.once && self.id.parse::<ChannelId>().is_ok_and(|id| id.identity().is_none())
    }

    /// Opens the channel, as soon as it is there. `None` if the command was asked to stop meanwhile.
    pub(super) fn find(self, node: &Node, stop: &Stop) -> Result<Option<Channel>, Failure> {
        if !self.waits() {
            return open_at(node, self.id).map(Some);
        }
        let (began, mut is_said) = (Instant::now(), false);
        while !stop.is_asked() {
            match node.open(self.id) {
                Ok(channel) => return Ok(Some(channel)),
                Err(error) if !may_come(&error) => return Err(cannot_open(self.id, error)),
                Err(error) if !is_said && began.elapsed() >= STARTING => {
                    is_said = true;
                    notice(&format!("{}; trying again until it is there", not_open(&shown(self.id), error)));
                }
                Err(_) => {}
            }
            stop.sleep_until(Instant::now() + if is_said { AGAIN } else { LOOK });
        }
        Ok(None)
    }
}
