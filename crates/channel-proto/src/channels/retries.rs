//! Sinks that sources refused for want of room, and that ask again (`spec/channel.md`, "Subscriptions"): others may give room back, and no
//! frame says so.

use super::Channels;
use super::agenda::Errand;
use crate::Time;
use crate::keys::{ChannelKey, LinkKey, SinkKey};
use crate::links::Links;
use crate::memory::Body;
use crate::offer::{Offer, Place};
use isoform_core::{Code, Error};
use std::collections::HashMap;

/// The time before the next attempt: the shortest, and the longest.
const SOON: Time = Time::from_secs(1);
const LATE: Time = Time::from_secs(30);

/// Which sinks ask which sources again.
#[derive(Default)]
pub(super) struct Retries {
    /// How often in a row the source of this number, on this link, has refused a sink, and the code of its last refusal.
    all: HashMap<(SinkKey, LinkKey, u32), (u32, Option<Code>)>,
    /// The sinks whose time has come, with the places of the sources.
    due: Vec<(ChannelKey, SinkKey, Place)>,
}

impl Retries {
    pub(super) fn forget_link(&mut self, link: LinkKey) {
        self.all.retain(|(_, of, _), _| *of != link);
    }

    pub(super) fn forget_sink(&mut self, sink: SinkKey) {
        self.all.retain(|(of, ..), _| *of != sink);
    }
}

impl Channels {
    /// A source has refused a sink. If it had no room, the sink asks again later. Returns whether the sink's program knows it already.
    pub(crate) fn was_not_served(&mut self, key: ChannelKey, sink: SinkKey, place: Place, error: &Error) -> bool {
        let Place::Link(link, number) = place else { return false };
        if !matches!(error.code(), Code::Budget | Code::Peers) {
            self.was_served(sink, place);
            return false;
        }
        let (tries, last) = self.retries.all.entry((sink, link, number)).or_default();
        let pause = (SOON * (1 << (*tries).min(8))).min(LATE);
        *tries += 1;
        let is_known = last.replace(error.code()) == Some(error.code());
        let jitter = pause / 4 * self.random(1000) as u32 / 1000;
        self.agenda.set(key, Errand::Ask(sink, link, number), self.now + pause - jitter);
        is_known
    }

    /// A source serves a sink.
    pub(crate) fn was_served(&mut self, sink: SinkKey, place: Place) {
        if let Place::Link(link, number) = place {
            self.retries.all.remove(&(sink, link, number));
        }
    }

    /// It is time to ask again.
    pub(super) fn ask_source(&mut self, key: ChannelKey, sink: SinkKey, place: Place) {
        self.retries.due.push((key, sink, place));
    }

    /// The sinks whose time has come, each with the offer of the source under a new number, as if the source were new.
    pub(crate) fn take_retries<B: Body>(&mut self, links: &Links<B>) -> Vec<(SinkKey, Offer)> {
        let due = std::mem::take(&mut self.retries.due);
        let anew = due.into_iter().filter_map(|(key, sink, place)| {
            let is_there = place.link().is_some_and(|link| links.has(link)) && self.all.get(key)?.sinks.contains(&sink);
            let offer = if is_there { self.offer_anew(key, place) } else { None };
            if offer.is_none() {
                self.was_served(sink, place);
            }
            Some((sink, offer?))
        });
        anew.collect()
    }
}
