//! Channels that the application opens at other nodes, and the results.

use super::Channels;
use crate::Time;
use crate::action::Action;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, OpenKey, closed};
use crate::links::{Links, Purpose};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};

/// Requests from this number on are the application's; others are of channels that are joined.
pub(super) const OPENS: u32 = 1 << 31;

/// An attempt of the application to open a channel.
pub(super) struct Open {
    name: String,
    identity: Option<Identity>,
    deadline: Time,
    /// The link over which it was asked for.
    asked: Option<LinkKey>,
    answer: Option<Result<ChannelKey>>,
}

impl Open {
    /// Whether a node was asked, and has not answered.
    pub(super) fn awaits(&self, link: LinkKey) -> bool {
        self.asked == Some(link) && self.answer.is_none()
    }
}

impl Channels {
    /// Opens a channel at the node of an address.
    pub(crate) fn open<B: Body>(
        &mut self,
        now: Time,
        links: &mut Links<B>,
        address: &str,
        name: &str,
        identity: Option<Identity>,
        deadline: Time,
    ) -> OpenKey {
        let key = self.opens.insert(Open { name: name.into(), identity, deadline, asked: None, answer: None });
        if links.settings.addresses.iter().any(|own| own == address) {
            let found = self.find(name, identity).ok_or_else(|| no_such_channel(name));
            self.answer(links, key, found);
            return key;
        }
        match links.at_address(address) {
            Some(link) => self.ask_to_open(links, key, link),
            None => links.dial(vec![address.into()], None, Purpose::Open(key), deadline.max(now)),
        }
        key
    }

    /// What became of an attempt to open a channel. It is told once.
    pub(crate) fn opened(&mut self, key: OpenKey) -> Option<Result<ChannelKey>> {
        self.opens.get(key)?.answer.as_ref()?;
        self.opens.remove(key)?.answer
    }

    /// Forgets an attempt. What is answered later is answered to nobody.
    pub(crate) fn forget_open(&mut self, key: OpenKey) {
        self.opens.remove(key);
    }

    /// Answers the application's wish to open a channel.
    pub(crate) fn answer<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, answer: Result<ChannelKey>) {
        if let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) {
            open.answer = Some(answer);
            links.actions.act(Action::Opened(key));
        }
    }

    /// Nothing is opened any more.
    pub(crate) fn forget_opens<B: Body>(&mut self, links: &mut Links<B>) {
        self.opens.keys().into_iter().for_each(|open| self.answer(links, open, Err(closed("node"))));
    }

    /// Asks a node for the application.
    pub(crate) fn ask_to_open<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.asked = Some(link);
        let ask = Control::Open { request: OPENS + key.0, identity: open.identity, name: open.name.clone() };
        links.say(link, &ask);
    }

    /// Asks for what the application wants to open, and has no answer for yet, once more.
    pub(crate) fn ask_again<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey) {
        let asked = self.opens.iter().filter(|(_, open)| open.awaits(link));
        let asked: Vec<OpenKey> = asked.map(|(key, _)| key).collect();
        asked.into_iter().for_each(|open| self.ask_to_open(links, open, link));
    }

    /// Answers what was asked for over a link that is over.
    pub(super) fn fail_opens<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, error: &Error) {
        let asked = self.opens.iter().filter(|(_, open)| open.asked == Some(link));
        let asked: Vec<OpenKey> = asked.map(|(key, _)| key).collect();
        asked.into_iter().for_each(|open| self.answer(links, open, Err(error.clone())));
    }

    pub(crate) fn tick<B: Body>(&mut self, now: Time, links: &mut Links<B>) {
        let late = self.opens.iter().filter(|(_, open)| open.answer.is_none() && open.deadline <= now);
        let late: Vec<OpenKey> = late.map(|(key, _)| key).collect();
        for key in late {
            let error = Error::new(Code::Deadline).at(self.opens[key].name.clone()).expected("an answer");
            self.answer(links, key, Err(error));
        }
    }

    /// When [`tick`](Channels::tick) next has something to do; `None` if never.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.opens.iter().filter(|(_, open)| open.answer.is_none()).map(|(_, open)| open.deadline).min()
    }
}

pub(super) fn no_such_channel(name: &str) -> Error {
    Error::new(Code::NoSuchChannel).at(name)
}

/// The code of a number that came.
pub(crate) fn code_of(number: u16) -> Code {
    Code::ALL.iter().copied().find(|code| *code as u16 == number).unwrap_or(Code::Unreachable)
}
