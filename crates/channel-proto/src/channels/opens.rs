//! Channels that the application opens at other nodes, and the results.

use super::{ADDRESSES, Channels, Derived};
use crate::Time;
use crate::action::Action;
use crate::control::Control;
use crate::keys::{Identity, LinkKey, OpenKey, closed};
use crate::links::{Links, Purpose};
use crate::memory::Body;
use crate::rights::Right;
use isoform_core::{Code, Error, Result};

/// Requests from this number on are those of the application. The others join members of channels.
pub(super) const OPENS: u32 = 1 << 31;

/// The next address of an id is tried when the one before has not answered for this long.
const HEAD_START: Time = Time::from_millis(250);

/// An attempt of the application to open a channel.
pub(super) struct Open {
    name: String,
    identity: Option<Identity>,
    deadline: Time,
    /// All addresses of the id, and how many of them were tried.
    addresses: Vec<String>,
    tried: usize,
    /// When the next one is tried.
    next: Time,
    /// How many of them are being dialed.
    dialing: usize,
    /// The links over which the request was sent, and not refused.
    asked: Vec<LinkKey>,
    /// Why an address has failed: what a node there has said, if one has.
    failure: Option<Error>,
    answer: Option<Result<Derived>>,
}

impl Open {
    /// Whether it waits for the answer of this node.
    pub(super) fn awaits(&self, link: LinkKey) -> bool {
        self.asked.contains(&link) && self.answer.is_none()
    }

    /// The links over which the answer can come.
    pub(super) fn awaited(&self) -> &[LinkKey] {
        if self.answer.is_none() { &self.asked } else { &[] }
    }

    /// When something is due.
    fn due(&self) -> Option<Time> {
        let next = (self.tried < self.addresses.len()).then_some(self.next);
        self.answer.is_none().then(|| next.map_or(self.deadline, |next| next.min(self.deadline)))
    }

    /// An address has failed. What a node there has said tells more than that nobody is there.
    fn note(&mut self, error: Error) {
        let is_silence = |error: &Error| matches!(error.code(), Code::Unreachable | Code::Deadline);
        if self.failure.as_ref().is_none_or(is_silence) {
            self.failure = Some(error);
        }
    }

    /// What speaks against the channel that a node answered with: it is another one than was asked for. What is derived from a channel
    /// has another name.
    pub(super) fn is_another(&self, name: &str, identity: Identity, is_derived: bool) -> Option<Error> {
        if name != self.name && !is_derived {
            return Some(Error::new(Code::NoSuchChannel).at(self.name.clone()).found(name));
        }
        let asked = self.identity.filter(|&asked| asked != identity)?;
        Some(Error::new(Code::NoSuchChannel).at(self.name.clone()).expected(asked).found(identity))
    }
}

impl Channels {
    /// Opens a channel at a node of these addresses: at the first that answers and has it.
    pub(crate) fn open<B: Body>(
        &mut self,
        links: &mut Links<B>,
        addresses: &[String],
        name: &str,
        identity: Option<Identity>,
        deadline: Time,
    ) -> OpenKey {
        let (addresses, name) = (addresses.to_vec(), name.to_string());
        let (next, asked) = (self.now, Vec::new());
        let open = Open {
            name,
            identity,
            deadline,
            addresses,
            tried: 0,
            next,
            dialing: 0,
            asked,
            failure: None,
            answer: None,
        };
        let key = self.opens.insert(open);
        self.try_to_open(links, key);
        key
    }

    /// Tries the next address of an attempt, beside those that are tried. If there is none any more, it has failed.
    fn try_to_open<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey) {
        let now = self.now;
        while let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) {
            let Some(address) = open.addresses.get(open.tried).cloned() else {
                if open.dialing == 0 && open.asked.is_empty() {
                    let error = open.failure.take().unwrap_or_else(|| no_such_channel(&open.name));
                    self.answer(links, key, Err(error));
                }
                return;
            };
            // Those that come later have time, too.
            let left = (open.addresses.len() - open.tried) as u32;
            open.tried += 1;
            open.next = now + HEAD_START.min(open.deadline.saturating_sub(now) / left);
            if links.settings.addresses.contains(&address) {
                open.note(no_such_channel(&open.name));
                let (name, identity) = (open.name.clone(), open.identity);
                // As if another node had answered.
                let is_it = |found: &Derived| found.query.is_some() || self.all[found.channel].name == name;
                if let Some(found) = self.find(&name, identity).filter(is_it) {
                    self.answer(links, key, Ok(found));
                }
                continue;
            }
            let deadline = open.deadline;
            return match links.at_address(&address) {
                Some(link) => self.ask_to_open(links, key, link),
                None => {
                    open.dialing += 1;
                    links.dial(vec![address], None, Purpose::Open(key), deadline);
                }
            };
        }
    }

    /// A node of an attempt was reached.
    pub(crate) fn open_reached<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.dialing = open.dialing.saturating_sub(1);
        if open.answer.is_some() {
            return;
        }
        if !open.asked.contains(&link) {
            self.ask_to_open(links, key, link);
        }
    }

    /// An address of an attempt could not be reached.
    pub(crate) fn open_missed<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, error: Error) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.dialing = open.dialing.saturating_sub(1);
        open.note(error);
        self.try_to_open(links, key);
    }

    /// A node that was asked does not do.
    pub(super) fn open_refused<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, link: LinkKey, error: Error) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.asked.retain(|asked| *asked != link);
        open.note(error);
        self.try_to_open(links, key);
    }

    /// The result of an attempt to open a channel. It is returned once.
    pub(crate) fn opened(&mut self, key: OpenKey) -> Option<Result<Derived>> {
        self.opens.get(key)?.answer.as_ref()?;
        self.opens.remove(key)?.answer
    }

    /// Forgets an attempt. A later answer has no effect.
    pub(crate) fn forget_open(&mut self, key: OpenKey) {
        self.opens.remove(key);
    }

    /// Sets the result of an attempt to open a channel.
    pub(crate) fn answer<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, answer: Result<Derived>) {
        let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) else { return };
        if let Ok(found) = &answer
            && let Some(channel) = self.all.get_mut(found.channel)
        {
            let addresses = std::mem::take(&mut open.addresses).into_iter();
            let own = &links.settings.addresses;
            let new = addresses.filter(|address| !own.contains(address) && !channel.addresses.contains(address));
            let new: Vec<String> = new.take(ADDRESSES.saturating_sub(channel.addresses.len())).collect();
            channel.addresses.extend(new);
        }
        open.answer = Some(answer);
        links.forget_opening(key);
        links.actions.act(Action::Opened(key));
    }

    /// Forgets all attempts.
    pub(crate) fn forget_opens<B: Body>(&mut self, links: &mut Links<B>) {
        self.opens.keys().into_iter().for_each(|open| self.answer(links, open, Err(closed("node"))));
    }

    /// Sends the request of an attempt to a node.
    fn ask_to_open<B: Body>(&mut self, links: &mut Links<B>, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key) else { return };
        if let Err(error) = links.expect_right(link, Right::See, &open.name) {
            return self.open_refused(links, key, link, error);
        }
        if !open.asked.contains(&link) {
            open.asked.push(link);
        }
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
        let asked = self.opens.iter().filter(|(_, open)| open.awaits(link));
        let asked: Vec<OpenKey> = asked.map(|(key, _)| key).collect();
        asked.into_iter().for_each(|open| self.open_refused(links, open, link, error.clone()));
    }

    pub(super) fn tick_opens<B: Body>(&mut self, now: Time, links: &mut Links<B>) {
        let late = self.opens.iter().filter(|(_, open)| open.answer.is_none() && open.deadline <= now);
        let late: Vec<OpenKey> = late.map(|(key, _)| key).collect();
        for key in late {
            let late = || Error::new(Code::Deadline).at(self.opens[key].name.clone()).expected("an answer");
            let error = self.opens[key].failure.clone().unwrap_or_else(late);
            self.answer(links, key, Err(error));
        }
        let next = self.opens.iter().filter(|(_, open)| open.due().is_some_and(|due| due <= now));
        let next: Vec<OpenKey> = next.map(|(key, _)| key).collect();
        next.into_iter().for_each(|key| self.try_to_open(links, key));
    }

    pub(super) fn next_open(&self) -> Option<Time> {
        self.opens.iter().filter_map(|(_, open)| open.due()).min()
    }
}

pub(crate) fn no_such_channel(name: &str) -> Error {
    Error::new(Code::NoSuchChannel).at(name)
}
