//! Cuts, the end of links, and timeouts (`spec/channel.md`, "Cuts").

use super::outbox::Outgoing;
use super::{Ended, Links, Turn};
use crate::Time;
use crate::action::Action;
use crate::budget::Resource;
use crate::control::Control;
use crate::credentials::OwnUser;
use crate::keys::{ConnId, LinkKey};
use crate::memory::Body;
use isoform_core::{Code, Error};

/// How many links are cut or end in one tick. What is to be done for each subscription takes long, and others wait meanwhile.
const MOST_ENDS: usize = 4;
/// The time until the next ones.
const PAUSE: Time = Time::from_millis(1);
/// A link that ends because its node did more than the budgets allow costs its credential so many proven handshakes.
const BUDGET_COST: u32 = 8;

impl<B: Body> Links<B> {
    /// A connection was closed without a Bye.
    pub(crate) fn closed(&mut self, now: Time, id: ConnId, why: Option<Error>) {
        self.farewells.remove(&id);
        let Some(connection) = self.remove_connection(id) else { return };
        // The transport has refused the other side, as TLS does. Whoever dialed learns the reason otherwise.
        if let Some(why) = why.as_ref().filter(|why| why.code() == Code::Handshake && connection.dial.is_none()) {
            self.refusals.note(why);
        }
        match (connection.link, connection.dial) {
            (Some(link), _) => {
                self.cut(now, link);
                self.tick_dials(now);
            }
            (None, Some(dial)) => {
                let gone = || {
                    Error::new(Code::Unreachable).found(
                        "the connection was closed during the handshake, as by a node that has no room for another one",
                    )
                };
                self.dial_failed(now, dial, why.unwrap_or_else(gone));
            }
            (None, None) => {}
        }
    }

    /// The connection of a link broke. A link with a stranger ends then: there is nothing to resume.
    pub(super) fn cut(&mut self, now: Time, key: LinkKey) {
        self.broke(now, key);
        match self.all.get(key).filter(|link| link.taken.is_stranger()).map(|link| link.peer) {
            Some(peer) => {
                let error = Error::new(Code::Unreachable).at(format!("node {peer}"));
                self.end(key, Some(error.found("the connection broke")));
            }
            None => self.dial_to_resume(now, key),
        }
        self.set_timer(key);
    }

    pub(super) fn broke(&mut self, now: Time, key: LinkKey) {
        let Some(link) = self.all.get_mut(key) else { return };
        link.cut(now);
        self.purses.give(&mut link.taken, Resource::Answers, u64::MAX);
        let (pings, bodies) = (std::mem::take(&mut link.pings), std::mem::take(&mut link.own_bodies));
        self.give(key, Resource::Pings, pings);
        self.give(key, Resource::Bodies, bodies);
        self.turns.push_back(Turn::Cut(key));
    }

    /// Sets the time at which a link has something due.
    pub(super) fn set_timer(&mut self, key: LinkKey) {
        let Some(link) = self.all.get_mut(key) else { return };
        let due = match link.connection {
            Some(_) => (link.wrote + link.beat).min(link.heard + self.settings.silence),
            None => link.since + self.settings.linger,
        };
        self.timers.set(key, &mut link.due, due);
    }

    /// Closes a connection because of its input, or because it is not wanted, and sends the reason.
    pub(crate) fn refuse(&mut self, now: Time, id: ConnId, error: &Error) {
        let Some(mut connection) = self.remove_connection(id) else { return };
        self.refusals.note(error);
        let mut farewell = std::mem::take(&mut connection.out);
        let bye = Control::Bye { code: error.code() as u16, text: error.to_string() };
        match connection.link {
            Some(link) => {
                if error.code() == Code::Budget {
                    // It would come again at once.
                    let principal = self.all[link].credentials.principal(&OwnUser::default());
                    (0..BUDGET_COST).for_each(|_| self.pace.prove(now, principal));
                }
                if self.expect_reader(link).is_err() {
                    // It has not read what it was told before, and need not read it now.
                    self.all[link].outbox.give(&mut Outgoing::default());
                }
                self.say(link, &bye);
                let mut out = Outgoing::default();
                self.all[link].outbox.give(&mut out);
                farewell.extend(out.to_vec());
                self.end(link, Some(error.clone()));
            }
            // A program that speaks neither this protocol nor TLS is not answered.
            None if connection.understands() => {
                if let Some(greeting) = &mut connection.greeting {
                    greeting.introduce();
                    farewell.append(&mut greeting.out);
                }
                bye.put(&mut farewell);
            }
            None => {}
        }
        self.farewells.insert(id, farewell);
        self.actions.act(Action::Close(id));
        let Some(dial) = connection.dial else { return };
        let link = connection.peer.and_then(|peer| self.with(peer));
        match link.filter(|&link| self.stands(link)) {
            Some(link) if error.code() == Code::Duplicate => self.reached(dial, link),
            _ => self.dial_failed(now, dial, error.clone()),
        }
    }

    /// Ends a link.
    pub(crate) fn end(&mut self, key: LinkKey, why: Option<Error>) {
        let Some(mut link) = self.all.remove(key) else { return };
        self.peers.remove(&link.peer);
        self.timers.forget(key, &mut link.due);
        self.purses.give_all(&mut link.taken);
        if let Some(id) = link.connection
            && self.remove_connection(id).is_some()
        {
            self.actions.act(Action::Close(id));
        }
        self.turns.push_back(Turn::Ended(Ended { link: key, peer: link.peer, held: link.held.bytes(), why }));
        self.forget_resuming(key);
    }

    /// Ends all links with a Bye, and all attempts to make further ones.
    pub(crate) fn leave(&mut self) {
        self.all.keys().into_iter().for_each(|link| self.part_from(link));
        // Nodes that were still to be dialed are no longer needed.
        self.dials.keys().into_iter().for_each(|dial| self.forget_dial(dial));
        self.timers.forget_handshakes();
        self.pace.forget();
        let strangers: Vec<ConnId> = self.connections.keys().copied().collect();
        for id in strangers {
            self.remove_connection(id);
            self.actions.act(Action::Close(id));
        }
    }

    /// Ends a link in order, with a Bye.
    pub(crate) fn part_from(&mut self, key: LinkKey) {
        self.part_with(key, &Control::Bye { code: 0, text: String::new() });
    }

    /// Ends a link with these last words.
    pub(super) fn part_with(&mut self, key: LinkKey, bye: &Control) {
        if let Some(id) = self.all.get(key).and_then(|link| link.connection) {
            self.say(key, bye);
            self.bid_farewell(key, id);
        }
        self.end(key, None);
    }

    /// Does the work that is due at this time.
    pub(crate) fn tick(&mut self, now: Time) {
        self.tick_handshakes(now);
        self.tick_waiting(now);
        self.tick_links(now);
        // This comes after the links, since a cut link is dialed at once.
        self.tick_dials(now);
    }

    /// The time at which [`tick`](Links::tick) has work to do; `None` if never.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let dials = self.dials.iter().map(|(_, dial)| dial.due());
        let unread = self.has_unread().then_some(Time::ZERO);
        dials.chain(self.timers.next()).chain(self.waiting_due()).chain(unread).min()
    }

    /// This node was stopped for a while, so silence until now does not count.
    pub(crate) fn excuse(&mut self, now: Time) {
        self.all.iter_mut().for_each(|(_, link)| link.heard = link.heard.max(now));
    }

    fn tick_handshakes(&mut self, now: Time) {
        while let Some(id) = self.timers.late_handshake(now) {
            if self.connections.get(&id).is_none_or(|connection| connection.link.is_some()) {
                continue;
            }
            let expected = format!("a handshake within {:?}", self.settings.handshake);
            self.refuse(now, id, &Error::new(Code::Handshake).expected(expected));
        }
    }

    fn tick_links(&mut self, now: Time) {
        let before = self.turns.len();
        while let Some(key) = self.timers.due_link(now) {
            let has_turn = self.turns.len() < before + MOST_ENDS;
            let Some(link) = self.all.get_mut(key) else { continue };
            let is_over = match link.connection {
                None => link.since + self.settings.linger <= now,
                Some(_) => link.heard + self.settings.silence <= now,
            };
            if is_over && !has_turn {
                self.timers.set(key, &mut link.due, now + PAUSE);
                continue;
            }
            match link.connection {
                None if is_over => {
                    let error = Error::new(Code::Unreachable).at(format!("node {}", link.peer));
                    let linger = self.settings.linger;
                    self.end(key, Some(error.expected(format_args!("a new connection within {linger:?}"))));
                }
                None => {}
                Some(id) if is_over => {
                    self.remove_connection(id);
                    self.actions.act(Action::Close(id));
                    self.cut(now, key);
                }
                Some(_) if link.wrote + link.beat <= now => {
                    link.wrote = now;
                    self.say(key, &Control::Ping);
                }
                Some(_) => {}
            }
            self.set_timer(key);
        }
    }
}
