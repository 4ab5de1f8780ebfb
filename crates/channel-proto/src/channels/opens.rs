//! Channels that the application opens at other nodes, and the results.

use super::{ADDRESSES, Channels};
use crate::Time;
use crate::action::Action;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, OpenKey, closed};
use crate::links::{Links, Purpose};
use crate::memory::Body;
use isoform_core::{Code, Error, Result};

/// Requests from this number on are those of the application. The others join members of channels.
pub(super) const OPENS: u32 = 1 << 31;

/// An attempt of the application to open a channel.
pub(super) struct Open {
    name: String,
    identity: Option<Identity>,
    deadline: Time,
    /// All addresses of the id, and how many of them were tried.
    addresses: Vec<String>,
    tried: usize,
    /// The link over which the request was sent.
    asked: Option<LinkKey>,
    answer: Option<Result<ChannelKey>>,
}

impl Open {
    /// Whether it waits for the answer of this node.
    pub(super) fn awaits(&self, link: LinkKey) -> bool {
        self.asked == Some(link) && self.answer.is_none()
    }

    /// The link over which the answer has to come.
    pub(super) fn awaited(&self) -> Option<LinkKey> {
        self.asked.filter(|_| self.answer.is_none())
    }

    /// What speaks against the channel that a node answered with: it is another one than was asked for.
    pub(super) fn is_another(&self, name: &str, identity: Identity) -> Option<Error> {
        if name != self.name {
            return Some(Error::new(Code::NoSuchChannel).at(self.name.clone()).found(name));
        }
        let asked = self.identity.filter(|&asked| asked != identity)?;
        Some(Error::new(Code::NoSuchChannel).at(self.name.clone()).expected(asked).found(identity))
    }
}

impl Channels {
    /// Opens a channel at a node of these addresses: at the first that has it.
    pub(crate) fn open<B: Body>(
        &mut self,
        links: &mut Links<B>,
        addresses: &[String],
        name: &str,
        identity: Option<Identity>,
        deadline: Time,
    ) -> OpenKey {
        let (addresses, name) = (addresses.to_vec(), name.to_string());
        let open = Open { name, identity, deadline, addresses, tried: 0, asked: None, answer: None };
        let key = self.opens.insert(open);
        self.try_to_open(links, key, no_such_channel);
        key
    }

    /// Tries the next address of an attempt. If there is none, it has failed.
    fn try_to_open<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, error: impl FnOnce(&str) -> Error) {
        let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) else { return };
        open.asked = None;
        let Some(address) = open.addresses.get(open.tried).cloned() else {
            let error = error(&open.name);
            return self.answer(links, key, Err(error));
        };
        // Each address has its share of the time.
        let left = (open.addresses.len() - open.tried) as u32;
        open.tried += 1;
        let deadline = self.now + open.deadline.saturating_sub(self.now) / left;
        let (name, identity) = (open.name.clone(), open.identity);
        if links.settings.addresses.contains(&address) {
            return match self.find(&name, identity) {
                Some(found) => self.answer(links, key, Ok(found)),
                None => self.try_to_open(links, key, no_such_channel),
            };
        }
        match links.at_address(&address) {
            Some(link) => self.ask_to_open(links, key, link),
            None => links.dial(vec![address], None, Purpose::Open(key), deadline),
        }
    }

    /// An address of an attempt has failed: another one may do.
    pub(crate) fn open_failed<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, error: Error) {
        self.try_to_open(links, key, |_| error);
    }

    /// The result of an attempt to open a channel. It is returned once.
    pub(crate) fn opened(&mut self, key: OpenKey) -> Option<Result<ChannelKey>> {
        self.opens.get(key)?.answer.as_ref()?;
        self.opens.remove(key)?.answer
    }

    /// Forgets an attempt. A later answer has no effect.
    pub(crate) fn forget_open(&mut self, key: OpenKey) {
        self.opens.remove(key);
    }

    /// Sets the result of an attempt to open a channel.
    pub(crate) fn answer<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, answer: Result<ChannelKey>) {
        let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) else { return };
        if let Ok(channel) = answer
            && let Some(channel) = self.all.get_mut(channel)
        {
            let addresses = std::mem::take(&mut open.addresses).into_iter();
            let own = &links.settings.addresses;
            let new = addresses.filter(|address| !own.contains(address) && !channel.addresses.contains(address));
            let new: Vec<String> = new.take(ADDRESSES.saturating_sub(channel.addresses.len())).collect();
            channel.addresses.extend(new);
        }
        open.answer = Some(answer);
        links.actions.act(Action::Opened(key));
    }

    /// Forgets all attempts.
    pub(crate) fn forget_opens<B: Body>(&mut self, links: &mut Links<B>) {
        self.opens.keys().into_iter().for_each(|open| self.answer(links, open, Err(closed("node"))));
    }

    /// Sends the request of an attempt to a node.
    pub(crate) fn ask_to_open<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.asked = Some(link);
        let ask = Control::Open { request: OPENS + key.0, identity: open.identity, name: open.name.clone() };
        links.say(link, &ask);
    }

    /// Sends the requests that have no answer yet again.
    pub(crate) fn ask_again<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey) {
        let asked = self.opens.iter().filter(|(_, open)| open.awaits(link));
        let asked: Vec<OpenKey> = asked.map(|(key, _)| key).collect();
        asked.into_iter().for_each(|open| self.ask_to_open(links, open, link));
    }

    /// Fails the attempts whose link has ended.
    pub(super) fn fail_opens<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, error: &Error) {
        let asked = self.opens.iter().filter(|(_, open)| open.asked == Some(link));
        let asked: Vec<OpenKey> = asked.map(|(key, _)| key).collect();
        asked.into_iter().for_each(|open| self.open_failed(links, open, error.clone()));
    }

    pub(super) fn tick_opens<B: Body>(&mut self, now: Time, links: &mut Links<B>) {
        let late = self.opens.iter().filter(|(_, open)| open.answer.is_none() && open.deadline <= now);
        let late: Vec<OpenKey> = late.map(|(key, _)| key).collect();
        for key in late {
            let error = Error::new(Code::Deadline).at(self.opens[key].name.clone()).expected("an answer");
            self.answer(links, key, Err(error));
        }
    }

    pub(super) fn next_open(&self) -> Option<Time> {
        self.opens.iter().filter(|(_, open)| open.answer.is_none()).map(|(_, open)| open.deadline).min()
    }
}

pub(crate) fn no_such_channel(name: &str) -> Error {
    Error::new(Code::NoSuchChannel).at(name)
}

/// The code of a number that another node sent.
pub(crate) fn code_of(number: u16) -> Code {
    Code::ALL.iter().copied().find(|code| *code as u16 == number).unwrap_or(Code::Unreachable)
}
