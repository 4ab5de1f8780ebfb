//! Sends over a link: chooses the next subscription, and sends pending frames.

use super::Flows;
use super::described::Described;
use super::lane::Over;
use super::sending::To;
use crate::Time;
use crate::action::Action;
use crate::frame::{self, FrameKind, Header};
use crate::keys::{LinkKey, SendingKey, SourceKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use std::collections::BTreeSet;

impl<B: Body, S: Storage> Flows<B, S> {
    /// Appends everything that may be sent now to a link's output.
    pub(crate) fn depart(&mut self, now: Time, links: &mut Links<B>, link: LinkKey) {
        self.unwritten(links, link, 0);
        // Not with every frame, since frames may arrive and leave alternately, one for each event.
        let soon = now + links.settings.acknowledge / 2;
        let traffic = &self.traffic[link];
        if traffic.pressing || traffic.due.is_none_or(|due| due <= soon) {
            self.acknowledge(links, link);
        }
        self.take_turns(links, link);
    }

    /// Whether more could be sent over a link if its output had room.
    pub(crate) fn has_more(&self, link: LinkKey) -> bool {
        !self.traffic[link].ready.is_empty()
    }

    /// The caller has written a link's output except for this many bytes.
    pub(crate) fn unwritten(&mut self, links: &mut Links<B>, link: LinkKey, bytes: usize) {
        let has_room_again = links.unwritten(link, bytes);
        self.let_wait_no_longer(links, Some(link));
        if self.has_more(link) && links[link].outbox.has_turns() {
            links.announce(link);
        }
        if has_room_again {
            let waiting = self.sources.iter().filter(|(_, source)| source.waits).map(|(key, _)| key);
            let waiting: Vec<SourceKey> = waiting.collect();
            waiting.into_iter().for_each(|source| self.make_room(links, source));
        }
    }

    /// Lets the subscriptions that have something to send take turns, one fragment at a time.
    fn take_turns(&mut self, links: &mut Links<B>, link: LinkKey) {
        let (most, principal) = (links[link].bodies, links.principal(link));
        let (traffic, outbox) = (&mut self.traffic[link], &mut links[link].outbox);
        let mut heard = Vec::new();
        while outbox.has_turns()
            && let Some(at) = traffic.ready.pop_front()
        {
            if let Some(length) = self.sendings[at].begins_beyond() {
                traffic
                    .beyond
                    .retain(|&other| other != at && self.sendings.get(other).is_some_and(|it| it.beyond() > 0));
                let sum: u64 = traffic.beyond.iter().map(|&other| self.sendings[other].beyond()).sum();
                if sum > 0 && sum.saturating_add(length) > most {
                    self.sendings[at].ready = false;
                    traffic.parked.push(at);
                    continue;
                }
                traffic.beyond.push(at);
                self.sendings[at].begin_beyond(length);
            }
            let sending = &mut self.sendings[at];
            let To::Link(_, number) = sending.to else { continue };
            let mut lane = Over { outbox, number, live: sending.live };
            sending.ready = sending.pump(&mut lane);
            self.described.extend(Described::of(sending, outbox.take_described()));
            if sending.ready {
                traffic.ready.push_back(at);
                continue;
            }
            if sending.parked {
                traffic.waiting.insert(at);
                let transit = || (outbox.way().transit().clone(), BTreeSet::new());
                self.parked.entry(principal).or_insert_with(transit).1.insert(link);
                continue;
            }
            // The queue is empty, so a source that has to wait may continue.
            if let Some(source) = self.sources.get_mut(sending.source)
                && std::mem::take(&mut source.waits)
            {
                heard.push(sending.source);
            }
        }
        heard.into_iter().for_each(|source| links.actions.act(Action::Room(source)));
    }

    /// Long events that wait since too many are under way try again: those of this link, or of any, over which none is, and those of
    /// principals of whose room half is free.
    #[inline]
    pub(super) fn let_wait_no_longer(&mut self, links: &mut Links<B>, link: Option<LinkKey>) {
        if self.parked.is_empty() {
            return;
        }
        let of = |link| links.stands(link) && links[link].outbox.way().is_free();
        let free: Vec<_> = match link {
            Some(link) => Vec::from_iter(Some(link).filter(|&link| of(link))),
            None => self.parked.values().flat_map(|(_, all)| all).copied().filter(|&link| of(link)).collect(),
        };
        free.into_iter().for_each(|link| self.try_again(links, link));
        let free = self.parked.iter().filter(|(_, (transit, _))| transit.is_half_free());
        for principal in free.map(|(principal, _)| *principal).collect::<Vec<_>>() {
            let (_, all) = self.parked.remove(&principal).unwrap_or_else(|| unreachable!("it is there"));
            all.into_iter().for_each(|link| self.try_again(links, link));
        }
    }

    fn try_again(&mut self, links: &mut Links<B>, link: LinkKey) {
        let waiting = self.traffic.get_mut(link).map(|traffic| std::mem::take(&mut traffic.waiting));
        self.give_turns(links, link, waiting.unwrap_or_default());
    }

    /// Long bodies that had to wait for others get turns again.
    pub(super) fn unpark(&mut self, links: &mut Links<B>, link: LinkKey) {
        let parked = self.traffic.get_mut(link).map(|traffic| std::mem::take(&mut traffic.parked));
        self.give_turns(links, link, parked.unwrap_or_default());
    }

    /// Subscriptions that waited get turns, if they still have something to send.
    fn give_turns(&mut self, links: &mut Links<B>, link: LinkKey, waited: impl IntoIterator<Item = SendingKey>) {
        let mut waited = waited.into_iter().peekable();
        if waited.peek().is_none() {
            return;
        }
        for at in waited {
            if let Some(sending) = self.sendings.get_mut(at).filter(|it| it.live && !it.ready && it.has_more()) {
                sending.ready = true;
                self.traffic[link].ready.push_back(at);
            }
        }
        links.announce(link);
    }

    /// Appends acknowledgements for the sources at the other side.
    fn acknowledge(&mut self, links: &mut Links<B>, link: LinkKey) {
        let (traffic, outbox) = (&mut self.traffic[link], &mut links[link].outbox);
        (traffic.due, traffic.pressing) = (None, false);
        for some in traffic.owing.chunks(frame::PAYLOAD / 24) {
            frame::put(outbox.bytes(), Header::plain(FrameKind::Ack), |out| {
                for &at in some {
                    let receiving = &mut self.receivings[at];
                    receiving.owes = false;
                    receiving.told = receiving.taken;
                    out.extend(u64::from(at.0).to_le_bytes());
                    out.extend(receiving.taken.events.to_le_bytes());
                    out.extend(receiving.taken.bytes.to_le_bytes());
                }
            });
        }
        traffic.owing.clear();
    }
}
