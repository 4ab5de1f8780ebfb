//! The actions that a node asks of its caller.

use crate::keys::{ChannelKey, ConnId, DialKey, OpenKey, SinkKey, SourceKey};
use std::collections::VecDeque;

/// An action for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to an address, and then call [`Node::connected`](crate::Node::connected) or
    /// [`Node::dial_failed`](crate::Node::dial_failed).
    Dial(DialKey, String),
    /// There are bytes to write: call [`Node::output`](crate::Node::output). This action comes once, and again when 64
    /// KiB wait, so that callers may gather small events.
    Write(ConnId),
    /// Write the remaining bytes as far as that needs no waiting, and close the connection. The node has forgotten it.
    Close(ConnId),
    /// A connection may be read, also if [`Node::may_read`](crate::Node::may_read) or
    /// [`Node::came_in_pieces`](crate::Node::came_in_pieces) had said that it may not.
    Read(ConnId),
    /// Something arrived for a sink whose application found nothing when it last [took](crate::Node::take).
    Wake(SinkKey),
    /// A source that had to wait may try again.
    Room(SourceKey),
    /// A call of [`Node::open`](crate::Node::open) has its answer.
    Opened(OpenKey),
    /// The node has [work](crate::Node::deadline) that is due sooner than before: call [`Node::tick`](crate::Node::tick).
    Tick,
    /// The members, sources or sinks of a channel have changed, or a report has arrived.
    Changed(ChannelKey),
}

/// Actions, in the order in which the caller takes them.
#[derive(Default)]
pub(crate) struct Actions(VecDeque<Action>);

impl Actions {
    /// Adds an action. The same action is pending only once: the caller then looks at everything.
    pub(crate) fn act(&mut self, action: Action) {
        if self.0.back() != Some(&action) {
            self.0.push_back(action);
        }
    }

    /// Adds an action even if the same one is pending.
    #[inline]
    pub(crate) fn act_again(&mut self, action: Action) {
        self.0.push_back(action);
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<Action> {
        self.0.pop_front()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
