//! Channels: their members, how these learn of each other, and their sources (`spec/channel.md`, "Channels"). Events
//! and subscriptions are elsewhere: subscriptions begin with an [`Offer`].
//!
//! - `opens`: the requests of the application;
//! - `members`: members that join, are let in, and leave;
//! - `offers`: the sources of this node and of other nodes.

mod members;
mod offers;
mod opens;

pub(crate) use members::Opened;
pub(crate) use opens::code_of;

use crate::action::Action;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, OpenKey, SinkKey, SourceKey, check_name, closed};
use crate::links::Links;
use crate::memory::Body;
use crate::numbered::Numbered;
use crate::offer::Offer;
use crate::report::Report;
use isoform_core::{Code, Error, Format, Result};
use offers::Own;
use opens::Open;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Of what is kept only for reports, this many items are kept.
const LATEST: usize = 64;

/// The channels that a node has open, and those that it is about to open.
pub(crate) struct Channels {
    all: Numbered<ChannelKey, Channel>,
    opens: Numbered<OpenKey, Open>,
    /// The number of the next source that sinks hear of.
    sources_seen: u32,
    /// The number of the next request for reports.
    asks: u32,
}

/// A channel that this node is a member of.
pub(crate) struct Channel {
    pub(crate) identity: Identity,
    pub(crate) name: String,
    /// Its type.
    pub(crate) format: Option<Format>,
    /// The other members, by the links with them.
    pub(crate) members: BTreeMap<LinkKey, Membership>,
    /// Nodes that this node has asked to let it in, and that have not answered.
    joining: BTreeSet<LinkKey>,
    sources: Vec<Own>,
    sinks: Vec<SinkKey>,
    /// Sinks that could not use a source of this node, and the reasons: the most recent ones.
    pub(crate) declined: VecDeque<(NodeId, Error)>,
    /// The request with which the members were last asked. An answer to an earlier one may be out of date.
    asked: Option<u32>,
}

/// Another member of a channel.
#[derive(Default)]
pub(crate) struct Membership {
    /// The last report of its sources and sinks.
    pub(crate) report: Option<Report>,
    /// The epoch in which it last opened the channel here; 0 if it never did.
    opened: u64,
    /// Its sources, by their numbers.
    offers: BTreeMap<u32, Offer>,
}

impl Channels {
    pub(crate) fn new() -> Channels {
        Channels { all: Numbered::new(), opens: Numbered::new(), sources_seen: 0, asks: 0 }
    }

    /// Creates a channel, with a type or without.
    pub(crate) fn create(&mut self, identity: Identity, name: &str, format: Option<Format>) -> Result<ChannelKey> {
        check_name(name)?;
        if self.all.iter().any(|(_, channel)| channel.name == name) {
            let error = Error::new(Code::Taken).at("channel's name");
            return Err(error.expected("a name that no channel of this node has").found(format_args!("{name:?}")));
        }
        Ok(self.add(identity, name, format))
    }

    fn add(&mut self, identity: Identity, name: &str, format: Option<Format>) -> ChannelKey {
        self.all.insert(Channel {
            identity,
            name: name.into(),
            format,
            members: BTreeMap::new(),
            joining: BTreeSet::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            declined: VecDeque::new(),
            asked: None,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn keys(&self) -> Vec<ChannelKey> {
        self.all.keys()
    }

    pub(crate) fn get(&self, key: ChannelKey) -> Option<&Channel> {
        self.all.get(key)
    }

    /// A channel that the application named.
    pub(crate) fn expect(&self, key: ChannelKey) -> Result<&Channel> {
        self.all.get(key).ok_or_else(|| closed("channel"))
    }

    /// The channel of an identity.
    pub(crate) fn of(&self, identity: Identity) -> Option<ChannelKey> {
        self.find("", Some(identity))
    }

    fn find(&self, name: &str, identity: Option<Identity>) -> Option<ChannelKey> {
        let matches = |channel: &Channel| match identity {
            Some(identity) => channel.identity == identity,
            None => channel.name == name,
        };
        self.all.iter().find(|(_, channel)| matches(channel)).map(|(key, _)| key)
    }

    /// Whether a node is a member of a channel.
    pub(crate) fn has_member(&self, key: ChannelKey, link: LinkKey) -> bool {
        self.all.get(key).is_some_and(|channel| channel.members.contains_key(&link))
    }

    /// Leaves a channel, whose sources and sinks here have ended, and tells the other members.
    pub(crate) fn close<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        let Some(channel) = self.all.remove(key) else { return };
        links.actions.act(Action::Changed(key));
        channel.members.keys().for_each(|&member| self.say_leave(links, member, channel.identity));
    }

    /// The sinks of this node on a channel.
    pub(crate) fn sinks(&self, key: ChannelKey) -> Vec<SinkKey> {
        self.all.get(key).map_or(Vec::new(), |channel| channel.sinks.clone())
    }

    /// The sources of this node on a channel.
    pub(crate) fn sources(&self, key: ChannelKey) -> Vec<SourceKey> {
        self.all.get(key).map_or(Vec::new(), |channel| channel.sources.iter().map(|own| own.source).collect())
    }

    /// Asks the other members of a channel for reports.
    pub(crate) fn ask<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        let (identity, request) = (channel.identity, self.asks);
        channel.members.values_mut().for_each(|member| member.report = None);
        channel.asked = Some(request);
        self.asks = self.asks.wrapping_add(1);
        channel.members.keys().for_each(|&member| links.say(member, &Control::Ask { request, identity }));
    }

    /// A member has sent a report.
    pub(crate) fn told<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, request: u32, report: Report) {
        let asked = self.all.iter_mut().find(|(_, channel)| channel.asked == Some(request));
        if let Some((key, channel)) = asked
            && let Some(member) = channel.members.get_mut(&link)
        {
            member.report = Some(report);
            links.actions.act(Action::Changed(key));
        }
    }

    /// Notes that a sink cannot use a source of this node.
    pub(crate) fn declined<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, node: NodeId, error: Error) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.declined.push_back((node, error));
        if channel.declined.len() > LATEST {
            channel.declined.pop_front();
        }
        links.actions.act(Action::Changed(key));
    }
}
