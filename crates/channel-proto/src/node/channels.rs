//! Channels as the application has them: made, opened elsewhere, and left; and whom a frame is for that sets something up
//! (`spec/channel.md`, "Channels").

use super::Node;
use super::state::{Channel, Open, Origin, Purpose};
use crate::Time;
use crate::account::Cause;
use crate::action::Action;
use crate::control::Control;
use crate::inbox::Item;
use crate::keys::{ChannelKey, Identity, LinkKey, OpenKey, ReceivingKey, SourceKey, check_name};
use crate::memory::{Body, Storage};
use crate::receiving::Stage;
use isoform_core::{Code, Error, Format, Result};
use std::collections::{BTreeMap, VecDeque};

/// Requests from this number on are the application's; others are of channels that are joined.
pub(super) const OPENS: u32 = 1 << 31;

impl<B: Body, S: Storage> Node<B, S> {
    /// Makes a channel, of a type or of none.
    ///
    /// # Errors
    /// [`Code::Address`] if the name cannot be one; [`Code::Taken`] if there is a channel of that name here.
    pub fn create(&mut self, identity: Identity, name: &str, format: Option<Format>) -> Result<ChannelKey> {
        check_name(name)?;
        if self.channels.iter().any(|(_, channel)| channel.name == name) {
            let error = Error::new(Code::Taken).at("channel's name");
            return Err(error.expected("a name that no channel of this node has").came(format_args!("{name:?}")));
        }
        Ok(self.add_channel(identity, name, format))
    }

    pub(super) fn add_channel(&mut self, identity: Identity, name: &str, format: Option<Format>) -> ChannelKey {
        self.channels.insert(Channel {
            identity,
            name: name.into(),
            format,
            members: BTreeMap::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            offers: Vec::new(),
            declined: VecDeque::new(),
            asked: None,
        })
    }

    /// Opens a channel at the node of an address, by its name and its identity if that is known. There will be an answer
    /// at `deadline`, at the latest.
    pub fn open(
        &mut self,
        now: Time,
        address: &str,
        name: &str,
        identity: Option<Identity>,
        deadline: Time,
    ) -> OpenKey {
        let open = Open { name: name.into(), identity, deadline, asked: None, answer: None };
        let key = self.opens.insert(open);
        if self.settings.addresses.iter().any(|own| own == address) {
            let found = self.find_channel(name, identity).ok_or_else(|| no_such_channel(name));
            self.answer(key, found);
            return key;
        }
        let there = |addresses: &[String]| addresses.iter().any(|other| other == address);
        let link = self.links.iter().find(|(_, link)| link.standing().is_some() && there(&link.addresses));
        match link.map(|(link, _)| link) {
            Some(link) => self.ask_to_open(key, link),
            None => self.dial(vec![address.into()], None, Purpose::Open(key), deadline.max(now)),
        }
        key
    }

    /// What became of an attempt to open a channel; `None` as long as there is no answer. It is told once.
    pub fn opened(&mut self, key: OpenKey) -> Option<Result<ChannelKey>> {
        self.opens.get(key)?.answer.as_ref()?;
        self.opens.remove(key)?.answer
    }

    /// Whether this node is about to meet members of a channel that it has heard of.
    pub fn is_joining(&self, key: ChannelKey) -> bool {
        self.dials.iter().any(|(_, dial)| dial.purpose == Purpose::Join(key))
            || self.links.iter().any(|(_, link)| link.standing().is_some() && link.joining.contains(&key))
    }

    /// Forgets an attempt to open a channel. What is answered later is answered to nobody.
    pub fn forget_open(&mut self, key: OpenKey) {
        self.opens.remove(key);
    }

    /// Leaves a channel: its sources and sinks here end, and the other members are told.
    pub fn close(&mut self, key: ChannelKey) {
        let Some(channel) = self.channels.get(key) else { return };
        let (sources, sinks, identity) = (channel.sources.clone(), channel.sinks.clone(), channel.identity);
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        sources.into_iter().for_each(|source| self.end_source(source));
        sinks.into_iter().for_each(|sink| self.end_sink(sink));
        self.channels.remove(key);
        self.act(Action::Changed(key));
        members.into_iter().for_each(|member| self.say_leave(member, identity));
    }

    pub(super) fn find_channel(&self, name: &str, identity: Option<Identity>) -> Option<ChannelKey> {
        let matches = |channel: &Channel| match identity {
            Some(identity) => channel.identity == identity,
            None => channel.name == name,
        };
        self.channels.iter().find(|(_, channel)| matches(channel)).map(|(key, _)| key)
    }

    /// Answers the application's wish to open a channel.
    pub(super) fn answer(&mut self, key: OpenKey, answer: Result<ChannelKey>) {
        if let Some(open) = self.opens.get_mut(key).filter(|open| open.answer.is_none()) {
            open.answer = Some(answer);
            self.act(Action::Opened(key));
        }
    }

    pub(super) fn tick_opens(&mut self, now: Time) {
        let late: Vec<OpenKey> = self
            .opens
            .iter()
            .filter(|(_, open)| open.answer.is_none() && open.deadline <= now)
            .map(|(key, _)| key)
            .collect();
        for key in late {
            let error = Error::new(Code::Deadline).at(self.opens[key].name.clone()).expected("an answer");
            self.answer(key, Err(error));
        }
    }

    /// Asks a node for the application.
    pub(super) fn ask_to_open(&mut self, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key) else { return };
        open.asked = Some(link);
        let ask = Control::Open { request: OPENS + key.0, identity: open.identity, name: open.name.clone() };
        self.say(link, &ask);
    }

    /// What another node says about channels and subscriptions.
    pub(super) fn control(&mut self, now: Time, link: LinkKey, control: Control) -> Result<()> {
        match control {
            Control::Ping => {}
            Control::Start { .. } => return Err(Error::new(Code::Frame).at("kind").expected("only one Start")),
            Control::Bye { .. } => self.end_link(link, Cause::Unknown),
            Control::Synced => self.synced(link),
            Control::Open { request, identity, name } => self.asked_to_open(link, request, identity, &name),
            Control::Opened { request, format, identity, name, members } => {
                self.was_opened(now, link, request, format, identity, &name, members)?;
            }
            Control::Refused { request, code, text } => self.was_refused(link, request, code, text),
            Control::Leave { identity } => {
                if let Some(at) = self.find_channel("", Some(identity)) {
                    self.lose_member(at, link);
                }
            }
            Control::Newcomer { identity, member } => {
                if let Some(at) = self.find_channel("", Some(identity))
                    && self.channels[at].members.contains_key(&link)
                {
                    self.heard_of_member(now, at, member);
                }
            }
            Control::Offer { identity, source, format } => self.was_offered(link, identity, source, format)?,
            Control::Withdraw { source } => {
                let origin = Origin::Link(link, source);
                self.channels.iter_mut().for_each(|(_, channel)| channel.offers.retain(|offer| offer.origin != origin));
            }
            Control::Subscribe(subscribe) => self.was_subscribed(link, *subscribe)?,
            Control::Decline { source, code, text, .. } => {
                let node = self.links[link].peer;
                if let Some(channel) = self.sources.get(SourceKey(source)).map(|source| source.channel)
                    && self.channels.get(channel).is_some_and(|channel| channel.members.contains_key(&link))
                {
                    self.declined(channel, node, Error::new(code_of(code)).came(text));
                }
            }
            Control::Unsubscribe { subscription, taken } => self.was_unsubscribed(link, subscription, taken)?,
            Control::Started { subscription, next } => {
                let node = self.links[link].peer;
                let receiving = self.receiving(link, ReceivingKey(subscription))?;
                if receiving.stage == Stage::Asked {
                    (receiving.stage, receiving.expected) = (Stage::Running, next);
                    let (sink, source) = (receiving.sink, receiving.source);
                    self.tell(Some(link), sink, Item::Joined(source, node));
                }
            }
            Control::End { subscription, next, is_answer } => {
                self.was_ended(link, subscription, next, is_answer)?;
            }
            Control::Ask { request, identity } => {
                if let Some(at) = self.find_channel("", Some(identity)) {
                    let report = Box::new(self.report(&self.channels[at]));
                    self.say(link, &Control::Told { request, report });
                }
            }
            Control::Told { request, report } => {
                let asked = self.channels.iter().find(|(_, channel)| channel.asked == Some(request));
                if let Some((at, _)) = asked
                    && let Some(member) = self.channels[at].members.get_mut(&link)
                {
                    member.report = Some(*report);
                    self.act(Action::Changed(at));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn no_such_channel(name: &str) -> Error {
    Error::new(Code::NoSuchChannel).at(name)
}

/// The code of a number that came.
pub(super) fn code_of(number: u16) -> Code {
    Code::ALL.iter().copied().find(|code| *code as u16 == number).unwrap_or(Code::Unreachable)
}
