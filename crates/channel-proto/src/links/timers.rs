//! The times at which something is due for connections and links. So a node with thousands of links finds the next time at
//! once, and looks only at the links whose time has come.

use crate::Time;
use crate::keys::{ConnId, LinkKey};
use std::collections::{BTreeSet, VecDeque};

/// Room for this many handshakes is kept.
const FEW: usize = 64;

#[derive(Default)]
pub(super) struct Timers {
    /// Connections that were in their handshake, the oldest first, and the ends of these. Some have gone on since.
    handshakes: VecDeque<(Time, ConnId)>,
    links: BTreeSet<(Time, LinkKey)>,
}

/// The time of a link among the [`Timers`]. Output and input put it off without changing it, so it may be too early.
#[derive(Default)]
pub(super) struct Due(Option<Time>);

impl Timers {
    /// A handshake has begun, which ends at this time. Later ones end no earlier.
    pub(super) fn add_handshake(&mut self, end: Time, id: ConnId) {
        self.handshakes.push_back((end, id));
    }

    /// A handshake whose time is over, if it has not gone on.
    pub(super) fn late_handshake(&mut self, now: Time) -> Option<ConnId> {
        let late = self.handshakes.pop_front_if(|(end, _)| *end <= now).map(|(_, id)| id);
        if self.handshakes.is_empty() {
            // Thousands may have come at once.
            self.handshakes.shrink_to(FEW);
        }
        late
    }

    /// There are no handshakes any more.
    pub(super) fn forget_handshakes(&mut self) {
        self.handshakes.clear();
    }

    /// Forgets the oldest handshakes, as far as they are `over`: so a flood of them does not make a node look at each when it would
    /// have been late.
    pub(super) fn skip_handshakes(&mut self, over: impl Fn(ConnId) -> bool) {
        while self.handshakes.pop_front_if(|(_, id)| over(*id)).is_some() {}
    }

    /// A link has something due at this time.
    pub(super) fn set(&mut self, key: LinkKey, due: &mut Due, at: Time) {
        self.forget(key, due);
        due.0 = Some(at);
        self.links.insert((at, key));
    }

    /// A link has nothing due any more.
    pub(super) fn forget(&mut self, key: LinkKey, due: &mut Due) {
        if let Some(before) = due.0.take() {
            self.links.remove(&(before, key));
        }
    }

    /// A link whose time has come. Its time is to be [set](Timers::set) again.
    pub(super) fn due_link(&mut self, now: Time) -> Option<LinkKey> {
        let &(due, key) = self.links.first()?;
        (due <= now).then(|| {
            self.links.pop_first();
            key
        })
    }

    /// The next of these times.
    pub(super) fn next(&self) -> Option<Time> {
        let handshake = self.handshakes.front().map(|(end, _)| *end);
        let link = self.links.first().map(|(due, _)| *due);
        [handshake, link].into_iter().flatten().min()
    }
}
