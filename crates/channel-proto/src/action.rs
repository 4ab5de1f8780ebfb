//! The actions that a node asks of its caller.

use crate::keys::{ChannelKey, ConnId, DialKey, OpenKey, SinkKey, SourceKey};
use std::collections::VecDeque;

/// An action for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to an address, and then call [`Node::connected`](crate::Node::connected) or
    /// [`Node::dial_failed`](crate::Node::dial_failed).
    Dial(DialKey, String),
    /// There is something to be written: ask for [`Node::output`](crate::Node::output). Told once, and again when it has become 64 KiB, so that
    /// callers may let small events gather.
    Write(ConnId),
    /// Write what there still is to be written, as far as that needs no waiting, and close the connection. The node has
    /// forgotten it.
    Close(ConnId),
    /// Something has come for a sink, whose application has found nothing when it last [took](crate::Node::take).
    Wake(SinkKey),
    /// A source that was told to wait may try again.
    Room(SourceKey),
    /// There is an answer to [`Node::open`](crate::Node::open).
    Opened(OpenKey),
    /// Members, sources or sinks of a channel have changed, or a report has come.
    Changed(ChannelKey),
}

/// Actions in the order in which they are to be taken.
#[derive(Default)]
pub(crate) struct Actions(VecDeque<Action>);

impl Actions {
    /// Told once is enough: what is woken looks at everything.
    pub(crate) fn act(&mut self, action: Action) {
        if self.0.back() != Some(&action) {
            self.0.push_back(action);
        }
    }

    /// Tells again what was told before.
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
