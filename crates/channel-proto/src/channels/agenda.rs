//! What is to be done for channels, and when.

use crate::Time;
use crate::keys::{ChannelKey, LinkKey, NodeId, SinkKey};
use std::collections::{BTreeSet, HashMap};

/// Something to do for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Errand {
    /// See whether this node has enough neighbours, and try the addresses that the channel's id names.
    Look,
    /// Say anew that this node is a member.
    Renew,
    /// Dial a member.
    Meet(NodeId),
    /// Ask a source behind a link again, which had no room for a sink.
    Ask(SinkKey, LinkKey, u32),
}

/// The errands of all channels, each at most once.
#[derive(Default)]
pub(super) struct Agenda {
    by_time: BTreeSet<(Time, ChannelKey, Errand)>,
    times: HashMap<(ChannelKey, Errand), Time>,
}

impl Agenda {
    /// Does something at this time, and not at another.
    pub(super) fn set(&mut self, key: ChannelKey, errand: Errand, at: Time) {
        self.cancel(key, errand);
        self.times.insert((key, errand), at);
        self.by_time.insert((at, key, errand));
    }

    /// Does something at this time, or earlier if that was planned.
    pub(super) fn set_by(&mut self, key: ChannelKey, errand: Errand, at: Time) {
        if self.times.get(&(key, errand)).is_none_or(|planned| *planned > at) {
            self.set(key, errand, at);
        }
    }

    pub(super) fn has(&self, key: ChannelKey, errand: Errand) -> bool {
        self.times.contains_key(&(key, errand))
    }

    pub(super) fn cancel(&mut self, key: ChannelKey, errand: Errand) {
        if let Some(at) = self.times.remove(&(key, errand)) {
            self.by_time.remove(&(at, key, errand));
        }
    }

    /// The time of the next errand.
    pub(super) fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, ..)| *at)
    }

    /// The next errand that is due.
    pub(super) fn due(&mut self, now: Time) -> Option<(ChannelKey, Errand)> {
        let (at, key, errand) = *self.by_time.first()?;
        (at <= now).then(|| {
            self.cancel(key, errand);
            (key, errand)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errand_is_done_once_at_its_time() {
        let (mut agenda, key, at) = (Agenda::default(), ChannelKey(1), Time::from_secs);
        agenda.set(key, Errand::Look, at(5));
        agenda.set_by(key, Errand::Look, at(3));
        agenda.set_by(key, Errand::Look, at(9));
        agenda.set(key, Errand::Meet(NodeId([1; 16])), at(4));
        agenda.set(key, Errand::Renew, at(1));
        agenda.cancel(key, Errand::Renew);
        assert_eq!((agenda.next(), agenda.due(at(2))), (Some(at(3)), None));
        assert_eq!(agenda.due(at(3)), Some((key, Errand::Look)));
        assert_eq!(agenda.due(at(10)), Some((key, Errand::Meet(NodeId([1; 16])))));
        assert_eq!((agenda.due(at(10)), agenda.next()), (None, None));
    }
}
