//! Channels: their members, how these learn of each other, and their sources (`spec/channel.md`, "Channels"). Events
//! and subscriptions are elsewhere: subscriptions begin with an [`Offer`].
//!
//! - `opens`: the requests of the application;
//! - `derived`: what queries give of channels, under names of their own;
//! - `members`: neighbours, which are the members that this node has a link with: they join, are let in, and leave;
//! - `telling`: announcements, by which members hear of each other; `others`: the members that this node has heard of; `passing`:
//!   which announcements are passed on, and when;
//! - `meeting`: with which members this node has links; `introductions`: how much it dials because others tell of members;
//! - `agenda`: what is due, and when;
//! - `offers`: the sources of this node and of its neighbours; `retries`: those that had no room for a sink.

mod agenda;
mod derived;
mod introductions;
mod meeting;
mod members;
mod offers;
mod opens;
mod others;
mod passing;
mod retries;
mod telling;

pub use derived::Derived;
pub(crate) use meeting::Missed;
pub(crate) use members::Opened;

use crate::Time;
use crate::action::Action;
use crate::announcement::{Announcement, Has};
use crate::budget::Resource;
use crate::control::Control;
use crate::keys::{ChannelKey, Identity, LinkKey, NodeId, OpenKey, SinkKey, SourceKey, closed};
use crate::links::Links;
use crate::memory::Body;
use crate::numbered::Numbered;
use crate::offer::Offer;
use crate::report::Report;
use agenda::{Agenda, Errand};
use introductions::Introductions;
use isoform_core::{Error, Format, Result};
use opens::Open;
use others::Others;
use passing::Passing;
use retries::Retries;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use telling::Unproven;

/// A source of this node that a sink of another one cannot use, or may not.
pub(crate) struct Declined {
    pub(crate) source: SourceKey,
    pub(crate) node: NodeId,
    pub(crate) error: Error,
}

/// Of what is kept only for reports, this many items are kept.
const LATEST: usize = 64;

/// The most addresses that are kept of the ids with which a channel was opened.
const ADDRESSES: usize = 8;

/// The channels that a node has open, and those that it is about to open.
pub(crate) struct Channels {
    all: Numbered<ChannelKey, Channel>,
    by_identity: HashMap<Identity, ChannelKey>,
    /// By their names.
    derived: BTreeMap<String, Derived>,
    opens: Numbered<OpenKey, Open>,
    /// The number of the next source that sinks hear of.
    sources_seen: u32,
    /// The number of the next request for reports.
    asks: u32,
    /// The time of the last call that told it.
    now: Time,
    /// How many announcements and offers a neighbour has got again in this epoch, because of the frame at hand.
    sent_again: usize,
    /// How often this node has announced something.
    announced: u64,
    agenda: Agenda,
    unproven: Unproven,
    passing: Passing,
    introductions: Introductions,
    retries: Retries,
    missed: Vec<Missed>,
    /// When links were last looked at that may be let go.
    tidied: Option<Time>,
    /// The state of a sequence of numbers that look as if chosen by chance.
    chance: u64,
}

/// A channel that this node is a member of.
pub(crate) struct Channel {
    pub(crate) identity: Identity,
    pub(crate) name: String,
    /// Its type.
    pub(crate) format: Option<Format>,
    /// The members that this node has a link with, by these links.
    pub(crate) members: BTreeMap<LinkKey, Membership>,
    /// The epochs in which nodes were last told of the other members, by their links.
    greeted: BTreeMap<LinkKey, u64>,
    /// Nodes that this node has asked to let it in, and that have not answered.
    joining: BTreeSet<LinkKey>,
    /// The members that this node has heard of.
    pub(crate) others: Others,
    /// What this node has last said of itself here.
    said: Option<Announcement>,
    /// The addresses that the ids named with which it was opened.
    addresses: Vec<String>,
    /// How often this node has looked for neighbours since one was lost that had been one for a while.
    looks: u32,
    /// Until then, this node meets all members.
    surveyed: Time,
    /// The sources of this node: what its own sinks are offered, and with their formats the other members.
    sources: BTreeMap<SourceKey, Offer>,
    sinks: Vec<SinkKey>,
    /// Sinks that could not use a source of this node, and the reasons: the most recent ones.
    pub(crate) declined: VecDeque<Declined>,
    /// Until when members are asked that only now say that they are there, or what they have.
    asks_until: Time,
}

/// A member that this node has a link with.
#[derive(Default)]
pub(crate) struct Membership {
    /// Since when this node has had this link with it.
    since: Time,
    /// The last report of its sources and sinks.
    pub(crate) report: Option<Report>,
    /// The request with which it was last asked. An answer to an earlier one may be out of date.
    asked: Option<u32>,
    /// What it has, as it has last said itself, and the number of that announcement.
    pub(crate) has: Has,
    number: u64,
    /// The epoch in which it last opened the channel here; 0 if it never did.
    opened: u64,
    /// Its sources, by their numbers.
    offers: BTreeMap<u32, Offer>,
    /// Whether a sink here was told that it may not have events of these sources.
    is_barred: bool,
    /// Its rights to subscribe, to block and to query, when it was last offered sources; `None` if it never was.
    offered_with: Option<[bool; 4]>,
    /// Which of these rights it has lacked when the rules refused a subscription of its sinks, or ended one.
    has_lacked: [bool; 4],
}

impl Channels {
    /// No channels. The seed is what chance begins with.
    pub(crate) fn new(seed: u64) -> Channels {
        Channels {
            all: Numbered::new(),
            by_identity: HashMap::new(),
            derived: BTreeMap::new(),
            opens: Numbered::new(),
            sources_seen: 0,
            asks: 0,
            now: Time::ZERO,
            sent_again: 0,
            announced: 0,
            agenda: Agenda::default(),
            unproven: Unproven::default(),
            passing: Passing::default(),
            introductions: Introductions::default(),
            retries: Retries::default(),
            missed: Vec::new(),
            tidied: None,
            chance: seed,
        }
    }

    /// Notes the time.
    pub(crate) fn at(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// How many announcements and offers a neighbour has got again in its epoch since the last call.
    pub(crate) fn sent_again(&mut self) -> usize {
        std::mem::take(&mut self.sent_again)
    }

    /// A random number below another one.
    fn random(&mut self, below: usize) -> usize {
        // SplitMix64.
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.chance;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) as usize % below.max(1)
    }

    /// Creates a channel, with a type or without.
    pub(crate) fn create(&mut self, identity: Identity, name: &str, format: Option<Format>) -> Result<ChannelKey> {
        self.expect_free(name)?;
        Ok(self.add(identity, name, format))
    }

    fn add(&mut self, identity: Identity, name: &str, format: Option<Format>) -> ChannelKey {
        let key = self.all.insert(Channel {
            identity,
            name: name.into(),
            format,
            members: BTreeMap::new(),
            greeted: BTreeMap::new(),
            joining: BTreeSet::new(),
            others: Others::default(),
            said: None,
            addresses: Vec::new(),
            looks: 0,
            surveyed: Time::ZERO,
            sources: BTreeMap::new(),
            sinks: Vec::new(),
            declined: VecDeque::new(),
            asks_until: Time::ZERO,
        });
        self.by_identity.insert(identity, key);
        self.plan_renewal(self.now, key);
        key
    }

    /// Does the work that is due at this time.
    pub(crate) fn tick<B: Body>(&mut self, links: &mut Links<B>) {
        self.tick_opens(self.now, links);
        self.check_some(links);
        self.pass_on(links);
        self.do_errands(links);
    }

    /// The time at which [`tick`](Channels::tick) has work to do; `None` if never.
    pub(crate) fn deadline<B>(&self, links: &Links<B>) -> Option<Time> {
        let told = [self.unproven.due(), self.passing.due()];
        let all = [self.next_open(), self.agenda.next(), self.next_tidying(links)].into_iter().chain(told);
        all.flatten().min()
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
        self.by_identity.get(&identity).copied()
    }

    /// Whether a node is a member of a channel.
    pub(crate) fn has_member(&self, key: ChannelKey, link: LinkKey) -> bool {
        self.all.get(key).is_some_and(|channel| channel.members.contains_key(&link))
    }

    /// Leaves a channel, whose sources and sinks here have ended, and tells the other members.
    pub(crate) fn close<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey) {
        if !self.all.contains(key) {
            return;
        }
        self.announce_end(links, key);
        let Some(channel) = self.all.remove(key) else { return };
        self.by_identity.remove(&channel.identity);
        self.derived.retain(|_, derived| derived.channel != key);
        let meetings = channel.others.iter().map(|(node, _)| Errand::Meet(node));
        [Errand::Look, Errand::Renew].into_iter().chain(meetings).for_each(|errand| self.agenda.cancel(key, errand));
        links.actions.act(Action::Changed(key));
        for (&link, member) in &channel.members {
            self.say_leave(links, link, channel.identity);
            links.give(link, Resource::Offers, member.offers.len() as u64);
            links.untie(link);
        }
    }

    /// The sinks of this node on a channel.
    pub(crate) fn sinks(&self, key: ChannelKey) -> Vec<SinkKey> {
        self.all.get(key).map_or(Vec::new(), |channel| channel.sinks.clone())
    }

    /// The sources of this node on a channel.
    pub(crate) fn sources(&self, key: ChannelKey) -> Vec<SourceKey> {
        self.all.get(key).map_or(Vec::new(), |channel| channel.sources.keys().copied().collect())
    }

    /// Asks the neighbours on a channel for reports, and those who come until some time.
    pub(crate) fn ask<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, until: Time) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.asks_until = until;
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        members.into_iter().for_each(|member| self.ask_one(links, key, member));
    }

    /// Asks a neighbour. What it has answered before does not count any more.
    fn ask_one<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, link: LinkKey) {
        let Some(channel) = self.all.get_mut(key) else { return };
        let (identity, request) = (channel.identity, self.asks);
        let Some(member) = channel.members.get_mut(&link) else { return };
        (member.report, member.asked) = (None, Some(request));
        self.asks = self.asks.wrapping_add(1);
        links.say(link, &Control::Ask { request, identity });
    }

    /// A member has sent a report.
    pub(crate) fn told<B: Body>(&mut self, links: &mut Links<B>, link: LinkKey, request: u32, report: Report) {
        let asked = self.all.iter_mut().find_map(|(key, channel)| {
            let member = channel.members.get_mut(&link).filter(|member| member.asked == Some(request))?;
            Some((key, member))
        });
        if let Some((key, member)) = asked {
            member.report = Some(report);
            links.actions.act(Action::Changed(key));
        }
    }

    /// Notes that a sink cannot use a source of this node, or may not.
    pub(crate) fn declined<B: Body>(&mut self, links: &mut Links<B>, key: ChannelKey, declined: Declined) {
        let Some(channel) = self.all.get_mut(key) else { return };
        channel.declined.push_back(declined);
        if channel.declined.len() > LATEST {
            channel.declined.pop_front();
        }
        links.actions.act(Action::Changed(key));
    }
}
