//! Channels, their members, and who has subscribed to what (`spec/channel.md`, "Channels" and "Subscriptions").

use super::state::{Channel, Offer, Open, Origin, Purpose, Sink, Source};
use super::{Action, ChannelKey, Identity, LinkKey, Node, NodeId, OpenKey, SinkKey, SourceKey, SourceRef, Wanted};
use super::{check_name, closed};
use crate::Time;
use crate::account::Cause;
use crate::control::{Control, Member, Resumed, Subscribe};
use crate::inbox::{Inbox, Item, Known};
use crate::memory::{Body, Storage};
use crate::receiving::{Count, From, Receiving, Stage};
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use crate::sending::{Sending, Terms, To};
use isoform_core::{Code, Error, Faults, Format, Plan, Result, Rules, Token};
use std::collections::{BTreeMap, VecDeque};

/// Requests from this number on are the application's; others are of channels that are joined.
const OPENS: u32 = 1 << 31;
/// How many of what is kept for the eye only are kept.
const LATEST: usize = 64;

/// What is known of a channel.
#[derive(Clone, Debug)]
pub struct ChannelInfo {
    /// Which one it is.
    pub identity: Identity,
    /// Its name.
    pub name: String,
    /// Its type, if it has one.
    pub format: Option<Format>,
    /// Its members; the first is this node.
    pub members: Vec<MemberInfo>,
    /// Sinks elsewhere that could not use a source of this node, and why.
    pub declined: Vec<(NodeId, Error)>,
}

/// A node that has a channel open.
#[derive(Clone, Debug)]
pub struct MemberInfo {
    /// Who it is.
    pub node: NodeId,
    /// Where it can be dialed.
    pub addresses: Vec<String>,
    /// What it told of its sources and sinks; `None` before there was an answer.
    pub report: Option<Report>,
}

impl<B: Body, S: Storage> Node<B, S> {
    /// Makes a channel, of a type or of none.
    ///
    /// # Errors
    /// [`Code::Address`] if the name cannot be one, or there is a channel of that name here.
    pub fn create(&mut self, identity: Identity, name: &str, format: Option<Format>) -> Result<ChannelKey> {
        check_name(name)?;
        if self.channels.iter().any(|(_, channel)| channel.name == name) {
            return Err(Error::new(Code::Address).at(name).expected("a name that no channel of this node has"));
        }
        let known = format.map(|format| self.known(format));
        Ok(ChannelKey(self.add_channel(identity, name, known) as u32))
    }

    fn add_channel(&mut self, identity: Identity, name: &str, known: Option<Known>) -> usize {
        self.channels.insert(Channel {
            identity,
            name: name.into(),
            known,
            members: BTreeMap::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            offers: Vec::new(),
            declined: VecDeque::new(),
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
        let key = OpenKey(self.opens.insert(open) as u32);
        if self.settings.addresses.iter().any(|own| own == address) {
            let found = self.find_channel(name, identity).ok_or_else(|| no_such_channel(name));
            self.answer(key, found);
            return key;
        }
        let mut links = self.links.iter();
        let there = |addresses: &[String]| addresses.iter().any(|other| other == address);
        match links.find(|(_, link)| link.standing().is_some() && there(&link.addresses)) {
            Some((link, _)) => self.ask_to_open(key, LinkKey(link as u32)),
            None => self.dial(vec![address.into()], None, Purpose::Open(key), deadline.max(now)),
        }
        key
    }

    /// What became of an attempt to open a channel; `None` as long as there is no answer. It is told once.
    pub fn opened(&mut self, key: OpenKey) -> Option<Result<ChannelKey>> {
        let at = key.0 as usize;
        self.opens.get(at)?.answer.as_ref()?;
        self.opens.remove(at)?.answer.map(|answer| answer.map(|channel| ChannelKey(channel as u32)))
    }

    /// Leaves a channel: its sources and sinks here end, and the other members are told.
    pub fn close(&mut self, now: Time, key: ChannelKey) {
        let at = key.0 as usize;
        let Some(channel) = self.channels.get(at) else { return };
        let (sources, sinks, identity) = (channel.sources.clone(), channel.sinks.clone(), channel.identity);
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        sources.into_iter().for_each(|source| self.end_source(now, SourceKey(source as u32)));
        sinks.into_iter().for_each(|sink| self.end_sink(now, SinkKey(sink as u32)));
        members.into_iter().for_each(|member| self.say(member, &Control::Leave { identity }));
        self.channels.remove(at);
    }

    /// A source of events, all of one format if one is given, else of any.
    ///
    /// # Errors
    /// [`Code::Closed`]; what speaks against a plan from the format to the channel's type.
    pub fn add_source(&mut self, _: Time, key: ChannelKey, format: Option<&Format>) -> Result<SourceKey> {
        let at = key.0 as usize;
        let channel = self.channels.get(at).ok_or_else(|| closed("channel"))?;
        if let (Some(known), Some(format)) = (&channel.known, format) {
            Plan::new(format, &known.format, &Rules::new(), Faults::default())?;
        }
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        let known = format.map(|format| self.known(format.clone()));
        let source = self.sources.insert(Source {
            channel: at,
            known: known.clone(),
            is_typed: format.is_some(),
            next: 0,
            sendings: Vec::new(),
            waits: false,
            left: false,
            past: VecDeque::new(),
        });
        self.channels[at].sources.push(source);
        members.into_iter().for_each(|member| self.offer(member, source));
        self.heard_of(at, Origin::Here(source), self.settings.id, known);
        self.act(Action::Changed(key));
        Ok(SourceKey(source as u32))
    }

    /// A sink for the events of all sources of a channel.
    ///
    /// # Errors
    /// [`Code::Closed`]; what speaks against a plan from the channel's type to the format that is wanted.
    pub fn add_sink(&mut self, now: Time, key: ChannelKey, wanted: Wanted) -> Result<SinkKey> {
        let at = key.0 as usize;
        let channel = self.channels.get(at).ok_or_else(|| closed("channel"))?;
        if let (Some(known), Some(format)) = (&channel.known, &wanted.format) {
            Plan::new(&known.format, format, &wanted.rules, wanted.faults)?;
        }
        let offers = channel.offers.len();
        let sink = self.sinks.insert(Sink {
            channel: at,
            wanted,
            inbox: Inbox::new(),
            runs: VecDeque::new(),
            done: 0,
            woken: false,
            receivings: Vec::new(),
            past: (0, 0),
        });
        self.channels[at].sinks.push(sink);
        (0..offers).for_each(|offer| self.subscribe(now, sink, at, offer));
        self.act(Action::Changed(key));
        Ok(SinkKey(sink as u32))
    }

    /// The source leaves: what is queued is sent, and then that it has left. Its account stays until it is
    /// [dropped](Node::drop_source).
    pub fn end_source(&mut self, _: Time, key: SourceKey) {
        let at = key.0 as usize;
        let Some(source) = self.sources.get_mut(at).filter(|source| !source.left) else { return };
        source.left = true;
        let (channel, sendings) = (source.channel, source.sendings.clone());
        for sending in sendings {
            self.sendings[sending].end();
            self.pump(sending);
        }
        let Some(channel) = self.channels.get_mut(channel) else { return };
        channel.sources.retain(|&other| other != at);
        channel.offers.retain(|offer| offer.origin != Origin::Here(at));
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        members.into_iter().for_each(|member| self.say(member, &Control::Withdraw { source: key.0 }));
    }

    /// Whether nothing of a source is in flight.
    pub fn is_settled(&self, key: SourceKey) -> bool {
        let source = self.sources.get(key.0 as usize);
        source.is_none_or(|source| source.sendings.iter().all(|&sending| self.sendings[sending].is_settled()))
    }

    /// Whether there is such a source, and it has not left.
    pub fn has_source(&self, key: SourceKey) -> bool {
        self.sources.get(key.0 as usize).is_some_and(|source| !source.left)
    }

    /// Whether there is such a sink.
    pub fn has_sink(&self, key: SinkKey) -> bool {
        self.sinks.contains(key.0 as usize)
    }

    /// Whether a source has left, and all its accounts are closed.
    pub fn is_over(&self, key: SourceKey) -> bool {
        self.sources.get(key.0 as usize).is_none_or(|source| source.left && source.sendings.is_empty())
    }

    /// Forgets a source: what of it is in flight is lost. Returns its account with each sink.
    pub fn drop_source(&mut self, now: Time, key: SourceKey) -> Vec<SinkLedger> {
        self.end_source(now, key);
        let at = key.0 as usize;
        let sendings = self.sources.get(at).map_or(Vec::new(), |source| source.sendings.clone());
        for sending in sendings {
            if let To::Link(link, number) = self.sendings[sending].to {
                let next = self.sendings[sending].next();
                if !self.sendings[sending].has_told_end() {
                    self.say(link, &Control::End { subscription: number, next });
                }
                if let Some(link) = self.links.get_mut(link.0 as usize) {
                    link.sendings.remove(&number);
                }
            }
            self.sendings[sending].forget(Cause::Unknown);
            self.finish_sending(sending);
        }
        self.sources.remove(at).map_or(Vec::new(), |source| source.past.into())
    }

    /// The sink leaves. What it has not taken is lost.
    pub fn end_sink(&mut self, now: Time, key: SinkKey) {
        let at = key.0 as usize;
        let Some(sink) = self.sinks.remove(at) else { return };
        if let Some(channel) = self.channels.get_mut(sink.channel) {
            channel.sinks.retain(|&other| other != at);
        }
        for receiving in sink.receivings {
            self.unsubscribe(now, receiving);
        }
    }

    /// What has become of a source's events: with each sink that is there, and the latest that have left.
    pub fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        let Some(source) = self.sources.get(key.0 as usize) else { return Vec::new() };
        let present = source.sendings.iter().map(|&sending| account(&self.sendings[sending], true));
        present.chain(source.past.iter().copied()).collect()
    }

    /// What has come to a sink: events received, taken, lost.
    pub fn counts(&self, key: SinkKey) -> (u64, u64, u64) {
        let Some(sink) = self.sinks.get(key.0 as usize) else { return (0, 0, 0) };
        let (taken, lost) = sink.past;
        let all = sink.receivings.iter().filter_map(|&receiving| self.receivings.get(receiving));
        all.fold((taken, taken, lost), |(received, taken, lost), receiving| {
            (received + receiving.received.events, taken + receiving.taken.events, lost + receiving.lost)
        })
    }

    /// How many sinks have subscribed to a source.
    pub fn listeners(&self, key: SourceKey) -> usize {
        self.sources.get(key.0 as usize).map_or(0, |source| source.sendings.len())
    }

    /// What is known of a channel. What other members tell of their part is from when they were last
    /// [asked](Node::ask).
    pub fn info(&self, key: ChannelKey) -> Option<ChannelInfo> {
        let channel = self.channels.get(key.0 as usize)?;
        let own = MemberInfo {
            node: self.settings.id,
            addresses: self.settings.addresses.clone(),
            report: Some(self.report(channel)),
        };
        let others = channel.members.iter().map(|(&key, report)| {
            let link = &self.links[key.0 as usize];
            MemberInfo { node: link.peer, addresses: link.addresses.clone(), report: report.clone() }
        });
        Some(ChannelInfo {
            identity: channel.identity,
            name: channel.name.clone(),
            format: channel.known.as_ref().map(|known| known.format.clone()),
            members: std::iter::once(own).chain(others).collect(),
            declined: channel.declined.iter().cloned().collect(),
        })
    }

    /// Asks the other members of a channel what they can tell of it: see [`info`](Node::info).
    pub fn ask(&mut self, key: ChannelKey) {
        let Some(channel) = self.channels.get_mut(key.0 as usize) else { return };
        let identity = channel.identity;
        channel.members.values_mut().for_each(|report| *report = None);
        let members: Vec<LinkKey> = channel.members.keys().copied().collect();
        members.into_iter().for_each(|member| self.say(member, &Control::Ask { request: key.0, identity }));
    }

    /// Leaves everything, orderly.
    pub fn leave(&mut self, now: Time) {
        let channels: Vec<usize> = self.channels.iter().map(|(key, _)| key).collect();
        channels.into_iter().for_each(|channel| self.close(now, ChannelKey(channel as u32)));
        let links: Vec<LinkKey> = self.links.iter().map(|(key, _)| LinkKey(key as u32)).collect();
        links.into_iter().for_each(|link| self.part_from(now, link));
    }

    fn report(&self, channel: &Channel) -> Report {
        let name = |known: &Known| (known.format.name().to_string(), known.format.token());
        let sources = channel.sources.iter().map(|&at| {
            let source = &self.sources[at];
            SourceReport {
                source: at as u32,
                submitted: source.next,
                format: source.known.as_ref().map(name),
                sinks: self.ledger(SourceKey(at as u32)),
            }
        });
        let sinks = channel.sinks.iter().map(|&at| {
            let wanted = &self.sinks[at].wanted;
            let format: Option<(String, Token)> =
                wanted.format.as_ref().map(|format| (format.name().to_string(), format.token()));
            let (received, taken, lost) = self.counts(SinkKey(at as u32));
            SinkReport { sink: at as u32, format, policy: wanted.policy, received, taken, lost }
        });
        Report { sources: sources.collect(), sinks: sinks.collect() }
    }

    fn find_channel(&self, name: &str, identity: Option<Identity>) -> Option<usize> {
        let matches = |channel: &Channel| match identity {
            Some(identity) => channel.identity == identity,
            None => channel.name == name,
        };
        self.channels.iter().find(|(_, channel)| matches(channel)).map(|(key, _)| key)
    }

    /// Answers the application's wish to open a channel.
    pub(super) fn answer(&mut self, key: OpenKey, answer: Result<usize>) {
        if let Some(open) = self.opens.get_mut(key.0 as usize).filter(|open| open.answer.is_none()) {
            open.answer = Some(answer);
            self.act(Action::Opened(key));
        }
    }

    pub(super) fn tick_opens(&mut self, now: Time) {
        let late: Vec<usize> = self
            .opens
            .iter()
            .filter(|(_, open)| open.answer.is_none() && open.deadline <= now)
            .map(|(key, _)| key)
            .collect();
        for key in late {
            let error = Error::new(Code::Deadline).at(self.opens[key].name.clone()).expected("an answer");
            self.answer(OpenKey(key as u32), Err(error));
        }
    }

    /// Asks a node for the application.
    pub(super) fn ask_to_open(&mut self, key: OpenKey, link: LinkKey) {
        let Some(open) = self.opens.get_mut(key.0 as usize) else { return };
        open.asked = Some(link);
        let ask = Control::Open { request: OPENS + key.0, identity: open.identity, name: open.name.clone() };
        self.say(link, &ask);
    }

    /// Opens a channel, which this node has, at another member.
    pub(super) fn join(&mut self, at: usize, link: LinkKey) {
        let Some(channel) = self.channels.get(at) else { return };
        let ask = Control::Open { request: at as u32, identity: Some(channel.identity), name: channel.name.clone() };
        self.say(link, &ask);
    }

    /// Says everything anew that the other node must know, at the beginning of an epoch.
    pub(super) fn say_all(&mut self, link: LinkKey) {
        let common: Vec<usize> =
            self.channels.iter().filter(|(_, channel)| channel.members.contains_key(&link)).map(|(at, _)| at).collect();
        for at in common {
            self.join(at, link);
            let sources = self.channels[at].sources.clone();
            sources.into_iter().for_each(|source| self.offer(link, source));
        }
        let asked: Vec<usize> = self
            .opens
            .iter()
            .filter(|(_, open)| open.asked == Some(link) && open.answer.is_none())
            .map(|(at, _)| at)
            .collect();
        asked.into_iter().for_each(|open| self.ask_to_open(OpenKey(open as u32), link));
        let subscribed: Vec<usize> = self
            .receivings
            .iter()
            .filter(|(_, receiving)| matches!(receiving.from, From::Link(from, _) if from == link))
            .map(|(at, _)| at)
            .collect();
        subscribed.into_iter().for_each(|receiving| self.say_subscription(link, receiving));
        self.say(link, &Control::Synced);
    }

    fn say_subscription(&mut self, link: LinkKey, at: usize) {
        let receiving = &mut self.receivings[at];
        let (subscription, taken) = (at as u32, receiving.taken);
        let From::Link(_, source) = receiving.from else { return };
        if receiving.stage == Stage::Leaving {
            return self.say(link, &Control::Unsubscribe { subscription, taken: taken.events });
        }
        let resumed = (receiving.stage != Stage::Asked).then_some(Resumed {
            expected: receiving.expected,
            received: receiving.received,
            taken,
        });
        receiving.told = taken;
        let Some(sink) = self.sinks.get(receiving.sink.0 as usize) else { return };
        let Wanted { policy, window, longest, fields, .. } = sink.wanted.clone();
        let sink = receiving.sink.0;
        let subscribe = Subscribe { subscription, source, sink, policy, window, longest, resumed, fields };
        self.say(link, &Control::Subscribe(subscribe.into()));
    }

    /// Tells another member of a source.
    fn offer(&mut self, link: LinkKey, at: usize) {
        let Some(source) = self.sources.get(at) else { return };
        let identity = self.channels[source.channel].identity;
        let known = source.known.clone().filter(|_| source.is_typed);
        let format = known.and_then(|known| self.index(link, &known));
        self.say(link, &Control::Offer { identity, source: at as u32, format });
    }

    /// The index of a format on a link, if that stands.
    fn index(&mut self, link: LinkKey, known: &Known) -> Option<u16> {
        let link = self.links.get_mut(link.0 as usize).filter(|link| link.standing().is_some())?;
        Some(link.outbox.index(known))
    }

    /// There is a source for the sinks of a channel.
    fn heard_of(&mut self, at: usize, origin: Origin, node: NodeId, known: Option<Known>) {
        let source = SourceRef(self.sources_seen);
        self.sources_seen = self.sources_seen.wrapping_add(1);
        let epoch = match origin {
            Origin::Link(link, _) => self.links[link.0 as usize].epoch,
            Origin::Here(_) => 0,
        };
        let channel = &mut self.channels[at];
        channel.offers.push(Offer { origin, node, source, known, epoch });
        let (offer, sinks) = (channel.offers.len() - 1, channel.sinks.clone());
        sinks.into_iter().for_each(|sink| self.subscribe(Time::ZERO, sink, at, offer));
    }

    /// Subscribes a sink to a source, or declines if the events of the one cannot be the other's.
    fn subscribe(&mut self, _: Time, at: usize, channel: usize, offer: usize) {
        let Offer { origin, node, source, known, .. } = &self.channels[channel].offers[offer];
        let (origin, node, source) = (*origin, *node, *source);
        let wanted = &self.sinks[at].wanted;
        let plan = match (known, &wanted.format) {
            (Some(wire), Some(native)) => Plan::new(&wire.format, native, &wanted.rules, wanted.faults).map(drop),
            _ => Ok(()),
        };
        let refused = plan.err().or_else(|| self.too_many_subscriptions(origin));
        if let Some(error) = refused {
            self.sinks[at].inbox.tell(Item::Refused(source, error.clone()));
            self.wake(SinkKey(at as u32));
            match origin {
                Origin::Link(link, number) => {
                    let (code, text) = (error.code() as u16, error.to_string());
                    self.say(link, &Control::Decline { source: number, sink: at as u32, code, text });
                }
                Origin::Here(_) => self.declined(channel, node, error),
            }
            return;
        }
        let Wanted { policy, window, longest, .. } = *wanted;
        let mut receiving = Receiving {
            sink: SinkKey(at as u32),
            from: From::Gone,
            source,
            stage: Stage::Asked,
            longest,
            window,
            expected: 0,
            received: Count::default(),
            taken: Count::default(),
            told: Count::default(),
            lost: 0,
            owes: false,
            long: None,
        };
        match origin {
            Origin::Link(link, number) => {
                receiving.from = From::Link(link, number);
                let key = self.receivings.insert(receiving);
                self.sinks[at].receivings.push(key);
                self.say_subscription(link, key);
            }
            Origin::Here(from) => {
                let next = self.sources[from].next;
                let entry = self.receivings.vacant_key();
                let terms = Terms { sink: at as u32, policy, window, longest };
                let sending = Sending::new(SourceKey(from as u32), To::Here(entry as u32), node, terms, next);
                let sending = self.sendings.insert(sending);
                self.sources[from].sendings.push(sending);
                (receiving.from, receiving.stage, receiving.expected) = (From::Here(sending), Stage::Running, next);
                let key = self.receivings.insert(receiving);
                self.sinks[at].receivings.push(key);
                self.sinks[at].inbox.tell(Item::Joined(source, node));
                self.wake(SinkKey(at as u32));
            }
        }
    }

    fn too_many_subscriptions(&self, origin: Origin) -> Option<Error> {
        let Origin::Link(link, _) = origin else { return None };
        let allowed = self.links[link.0 as usize].allowed.min(self.settings.subscriptions);
        let on_link = |receiving: &Receiving<S>| matches!(receiving.from, From::Link(from, _) if from == link);
        // Counting is for those who come near the limit only.
        let full = self.receivings.len() >= allowed
            && self.receivings.iter().filter(|(_, receiving)| on_link(receiving)).count() >= allowed;
        let error =
            || Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {allowed} on a link"));
        full.then(error)
    }

    fn declined(&mut self, channel: usize, node: NodeId, error: Error) {
        let declined = &mut self.channels[channel].declined;
        declined.push_back((node, error));
        if declined.len() > LATEST {
            declined.pop_front();
        }
        self.act(Action::Changed(ChannelKey(channel as u32)));
    }

    /// Ends a subscription from the sink's side.
    pub(super) fn unsubscribe(&mut self, _: Time, at: usize) {
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        match receiving.from {
            From::Gone => self.forget_receiving(at),
            From::Here(sending) => {
                let taken = receiving.taken.events;
                self.forget_receiving(at);
                // What was taken is known here as well as there.
                let settled = self.sendings[sending].left(taken);
                debug_assert!(settled.is_ok(), "{settled:?}");
                self.finish_sending(sending);
            }
            From::Link(..) if receiving.stage == Stage::Leaving => {}
            From::Link(link, _) => {
                receiving.stage = Stage::Leaving;
                receiving.long = None;
                let taken = receiving.taken.events;
                self.say(link, &Control::Unsubscribe { subscription: at as u32, taken });
            }
        }
    }

    fn forget_receiving(&mut self, at: usize) {
        let Some(receiving) = self.receivings.try_remove(at) else { return };
        if let Some(sink) = self.sinks.get_mut(receiving.sink.0 as usize)
            && sink.receivings.contains(&at)
        {
            sink.receivings.retain(|&other| other != at);
            sink.past.0 += receiving.taken.events;
            sink.past.1 += receiving.lost;
        }
        if let From::Link(link, _) = receiving.from
            && let Some(link) = self.links.get_mut(link.0 as usize)
        {
            link.owing.retain(|&other| other != at);
        }
    }

    /// Closes the account of a subscription at its source.
    fn finish_sending(&mut self, at: usize) {
        let Some(sending) = self.sendings.try_remove(at) else { return };
        if let To::Link(link, _) = sending.to
            && let Some(link) = self.links.get_mut(link.0 as usize)
        {
            link.ready.retain(|&other| other != at);
        }
        let key = sending.source;
        if let Some(source) = self.sources.get_mut(key.0 as usize) {
            source.sendings.retain(|&other| other != at);
            source.past.push_front(account(&sending, false));
            source.past.truncate(LATEST);
            let channel = ChannelKey(source.channel as u32);
            self.act(Action::Changed(channel));
        }
        self.make_room(key);
    }

    /// What another node says about channels and subscriptions.
    pub(super) fn control(&mut self, now: Time, link: LinkKey, control: Control) -> Result<()> {
        match control {
            Control::Ping => {}
            Control::Start { .. } => return Err(Error::new(Code::Frame).at("kind").expected("no second Start")),
            Control::Bye { .. } => self.end_link(now, link, Cause::Unknown),
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
            Control::Offer { identity, source, format } => self.was_offered(link, identity, source, format)?,
            Control::Withdraw { source } => {
                let origin = Origin::Link(link, source);
                self.channels.iter_mut().for_each(|(_, channel)| channel.offers.retain(|offer| offer.origin != origin));
            }
            Control::Subscribe(subscribe) => self.was_subscribed(link, *subscribe)?,
            Control::Decline { source, code, text, .. } => {
                let node = self.links[link.0 as usize].peer;
                if let Some(channel) = self.sources.get(source as usize).map(|source| source.channel)
                    && self.channels.get(channel).is_some_and(|channel| channel.members.contains_key(&link))
                {
                    self.declined(channel, node, Error::new(code_of(code)).came(text));
                }
            }
            Control::Unsubscribe { subscription, taken } => self.was_unsubscribed(link, subscription, taken)?,
            Control::Started { subscription, next } => {
                let node = self.links[link.0 as usize].peer;
                let receiving = self.receiving(link, subscription)?;
                if receiving.stage == Stage::Asked {
                    (receiving.stage, receiving.expected) = (Stage::Running, next);
                    let (sink, source) = (receiving.sink, receiving.source);
                    self.tell(sink, Item::Joined(source, node));
                }
            }
            Control::End { subscription, next } => self.was_ended(now, link, subscription, next)?,
            Control::Ask { request, identity } => {
                if let Some(at) = self.find_channel("", Some(identity)) {
                    let report = Box::new(self.report(&self.channels[at]));
                    self.say(link, &Control::Told { request, report });
                }
            }
            Control::Told { request, report } => {
                if let Some(channel) = self.channels.get_mut(request as usize)
                    && let Some(place) = channel.members.get_mut(&link)
                {
                    *place = Some(*report);
                    self.act(Action::Changed(ChannelKey(request)));
                }
            }
        }
        Ok(())
    }

    /// A subscription of this node's sinks, by its number on a link.
    pub(super) fn receiving(&mut self, link: LinkKey, number: u32) -> Result<&mut Receiving<S>> {
        let receiving = self.receivings.get_mut(number as usize);
        receiving.filter(|receiving| matches!(receiving.from, From::Link(from, _) if from == link)).ok_or_else(|| {
            let error = Error::new(Code::Frame).at("subscription");
            error.expected("one of this link").came(number)
        })
    }

    pub(super) fn tell(&mut self, sink: SinkKey, item: Item) {
        let Some(entry) = self.sinks.get_mut(sink.0 as usize) else { return };
        entry.inbox.tell(item);
        self.wake(sink);
    }

    fn asked_to_open(&mut self, link: LinkKey, request: u32, identity: Option<Identity>, name: &str) {
        let room =
            |channel: &Channel| channel.members.contains_key(&link) || channel.members.len() < self.settings.peers;
        let found = self.find_channel(name, identity);
        let refused = match found.map(|at| (at, room(&self.channels[at]))) {
            None => no_such_channel(name),
            Some((_, false)) => Error::new(Code::Peers).at(name).expected("fewer members"),
            Some((at, true)) => return self.let_in(link, request, at),
        };
        let (code, text) = (refused.code() as u16, refused.to_string());
        self.say(link, &Control::Refused { request, code, text });
    }

    fn let_in(&mut self, link: LinkKey, request: u32, at: usize) {
        let channel = &self.channels[at];
        let others = channel.members.keys().filter(|&&other| other != link).map(|key| {
            let other = &self.links[key.0 as usize];
            Member { node: other.peer, addresses: other.addresses.clone() }
        });
        let members = others.collect();
        let (identity, name, known) = (channel.identity, channel.name.clone(), channel.known.clone());
        let format = known.and_then(|known| self.index(link, &known));
        self.say(link, &Control::Opened { request, format, identity, name, members });
        self.add_member(at, link);
    }

    fn add_member(&mut self, at: usize, link: LinkKey) {
        if self.channels[at].members.contains_key(&link) {
            return;
        }
        self.channels[at].members.insert(link, None);
        let sources = self.channels[at].sources.clone();
        sources.into_iter().for_each(|source| self.offer(link, source));
        self.act(Action::Changed(ChannelKey(at as u32)));
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of the frame")]
    fn was_opened(
        &mut self,
        now: Time,
        link: LinkKey,
        request: u32,
        format: Option<u16>,
        identity: Identity,
        name: &str,
        members: Vec<Member>,
    ) -> Result<()> {
        let open = request.checked_sub(OPENS).map(OpenKey);
        let wanted = match open {
            Some(key) => {
                self.opens.get(key.0 as usize).is_some_and(|open| open.asked == Some(link) && open.answer.is_none())
            }
            None => self.channels.get(request as usize).is_some_and(|channel| channel.identity == identity),
        };
        // An answer that comes too late, or to what nobody asked: the sender counts this node as a member, which it is not.
        if !wanted {
            if self.find_channel("", Some(identity)).is_none() {
                self.say(link, &Control::Leave { identity });
            }
            return Ok(());
        }
        check_name(name).map_err(|error| Error::new(Code::Frame).at("opened").came(error))?;
        let at = match self.find_channel("", Some(identity)) {
            Some(at) => at,
            None => {
                let formats = &self.links[link.0 as usize].formats;
                let known = format.map(|index| formats.at(index).cloned()).transpose()?;
                self.add_channel(identity, name, known)
            }
        };
        self.add_member(at, link);
        for member in members {
            self.heard_of_member(now, at, member);
        }
        if let Some(key) = open {
            self.answer(key, Ok(at));
        }
        Ok(())
    }

    fn heard_of_member(&mut self, now: Time, at: usize, member: Member) {
        let known = self.peers.get(&member.node).copied();
        let is_member = known.is_some_and(|link| self.channels[at].members.contains_key(&link));
        let dialing =
            |purpose: Purpose, node: Option<NodeId>| purpose == Purpose::Join(at) && node == Some(member.node);
        let is_dialed = self.dials.iter().any(|(_, dial)| dialing(dial.purpose, dial.wanted));
        let crowded = self.dials.len() >= self.settings.peers;
        if member.node == self.settings.id || is_member || is_dialed || crowded {
            return;
        }
        match known.filter(|link| self.links[link.0 as usize].standing().is_some()) {
            Some(link) => self.join(at, link),
            None if member.addresses.is_empty() => {}
            None => {
                let deadline = now + self.settings.handshake;
                self.dial(member.addresses, Some(member.node), Purpose::Join(at), deadline);
            }
        }
    }

    fn was_refused(&mut self, link: LinkKey, request: u32, code: u16, text: String) {
        let error = Error::new(code_of(code)).came(text);
        match request.checked_sub(OPENS).map(OpenKey) {
            Some(key) if self.opens.get(key.0 as usize).is_some_and(|open| open.asked == Some(link)) => {
                self.answer(key, Err(error));
            }
            Some(_) => {}
            None if self.channels.contains(request as usize) => self.lose_member(request as usize, link),
            None => {}
        }
    }

    /// A node is no member any more. Its subscriptions and sources end by frames of their own.
    fn lose_member(&mut self, at: usize, link: LinkKey) {
        let channel = &mut self.channels[at];
        channel.offers.retain(|offer| !matches!(offer.origin, Origin::Link(from, _) if from == link));
        if channel.members.remove(&link).is_some() {
            self.act(Action::Changed(ChannelKey(at as u32)));
        }
    }

    fn was_offered(&mut self, link: LinkKey, identity: Identity, number: u32, format: Option<u16>) -> Result<()> {
        let (epoch, peer) = (self.links[link.0 as usize].epoch, self.links[link.0 as usize].peer);
        let known = format.map(|index| self.links[link.0 as usize].formats.at(index).cloned()).transpose()?;
        let Some(at) = self.find_channel("", Some(identity)) else { return Ok(()) };
        if !self.channels[at].members.contains_key(&link) {
            return Ok(());
        }
        let origin = Origin::Link(link, number);
        if let Some(known) = self.channels[at].offers.iter_mut().find(|offer| offer.origin == origin) {
            known.epoch = epoch;
            return Ok(());
        }
        if self.channels[at].offers.len() >= self.settings.subscriptions {
            return Err(Error::new(Code::Peers).at("sources").expected("fewer of them"));
        }
        self.heard_of(at, origin, peer, known);
        Ok(())
    }

    fn was_subscribed(&mut self, link: LinkKey, subscribe: Subscribe) -> Result<()> {
        let Subscribe { subscription, source: at, sink, policy, window, longest, resumed, .. } = subscribe;
        let entry = &self.links[link.0 as usize];
        let known = entry.sendings.get(&subscription).copied();
        let (node, count) = (entry.peer, entry.sendings.len());
        let sending = match (known, resumed) {
            (Some(sending), Some(Resumed { expected, received, taken })) => {
                self.sendings[sending].resume(expected, received, taken)?;
                sending
            }
            (Some(sending), None) if !self.sendings[sending].live => {
                // Its Started was lost with the connection: nothing of it can have come.
                self.sendings[sending].restart();
                sending
            }
            (Some(_), None) => {
                let error = Error::new(Code::Frame).at("subscription");
                return Err(error.expected("a number that is not in use").came(subscription));
            }
            (None, _) => {
                let source = self.sources.get(at as usize).filter(|source| !source.left);
                let source = source.filter(|source| self.channels[source.channel].members.contains_key(&link));
                let (Some(source), None) = (source, resumed) else {
                    self.say(link, &Control::End { subscription, next: resumed.map_or(0, |from| from.expected) });
                    return Ok(());
                };
                if count >= self.settings.subscriptions {
                    let limit = self.settings.subscriptions;
                    return Err(Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {limit}")));
                }
                let terms = Terms { sink, policy, window, longest };
                let to = To::Link(link, subscription);
                let sending = self.sendings.insert(Sending::new(SourceKey(at), to, node, terms, source.next));
                self.links[link.0 as usize].sendings.insert(subscription, sending);
                self.sources[at as usize].sendings.push(sending);
                let channel = self.sources[at as usize].channel;
                self.act(Action::Changed(ChannelKey(channel as u32)));
                sending
            }
        };
        let next = self.sendings[sending].position();
        self.say(link, &Control::Started { subscription, next });
        self.pump(sending);
        let source = self.sendings[sending].source;
        self.make_room(source);
        Ok(())
    }

    fn was_unsubscribed(&mut self, link: LinkKey, subscription: u32, taken: u64) -> Result<()> {
        let mut next = 0;
        if let Some(sending) = self.links[link.0 as usize].sendings.remove(&subscription) {
            next = self.sendings[sending].next();
            self.sendings[sending].left(taken)?;
            self.finish_sending(sending);
        }
        self.say(link, &Control::End { subscription, next });
        Ok(())
    }

    fn was_ended(&mut self, now: Time, link: LinkKey, subscription: u32, next: u64) -> Result<()> {
        let receiving = self.receiving(link, subscription)?;
        match receiving.stage {
            Stage::Leaving => self.forget_receiving(subscription as usize),
            Stage::Ended => {}
            Stage::Asked | Stage::Running => self.source_left(now, subscription as usize, next, Cause::Ended),
        }
        Ok(())
    }

    /// Nothing more comes for a subscription.
    fn source_left(&mut self, now: Time, at: usize, next: u64, cause: Cause) {
        let receiving = &mut self.receivings[at];
        let (sink, source, was) = (receiving.sink, receiving.source, receiving.stage);
        receiving.stage = Stage::Ended;
        receiving.long = None;
        let gap = receiving.until(next, cause).filter(|_| was == Stage::Running);
        if let Some(gap) = gap {
            self.tell(sink, Item::Gap(source, gap));
        }
        if was == Stage::Running {
            self.tell(sink, Item::Left(source));
        }
        if self.receivings[at].is_drained() {
            self.unsubscribe(now, at);
        }
    }

    /// The other side has said everything anew. What it did not speak of is over.
    fn synced(&mut self, key: LinkKey) {
        let link = &mut self.links[key.0 as usize];
        let (epoch, forgotten) = (link.epoch, |sending: &Sending<B>| !sending.live);
        let sendings: Vec<(u32, usize)> = link.sendings.iter().map(|(&number, &at)| (number, at)).collect();
        for (number, at) in sendings {
            if forgotten(&self.sendings[at]) {
                self.links[key.0 as usize].sendings.remove(&number);
                self.sendings[at].forget(Cause::Unknown);
                self.finish_sending(at);
            }
        }
        // Subscriptions to a source that has gone since are answered with an End.
        let stale =
            |offer: &Offer| matches!(offer.origin, Origin::Link(link, _) if link == key) && offer.epoch != epoch;
        self.channels.iter_mut().for_each(|(_, channel)| channel.offers.retain(|offer| !stale(offer)));
    }

    /// Says that this node leaves.
    fn part_from(&mut self, now: Time, key: LinkKey) {
        let Some(link) = self.links.get_mut(key.0 as usize) else { return };
        if let Some(id) = link.standing() {
            self.say(key, &Control::Bye { code: 0, text: String::new() });
            self.bid_farewell(key, id);
        }
        self.end_link(now, key, Cause::Unknown);
    }

    /// A link is over, and all that came over it.
    pub(super) fn end_link(&mut self, now: Time, key: LinkKey, cause: Cause) {
        let Some(link) = self.links.try_remove(key.0 as usize) else { return };
        self.peers.remove(&link.peer);
        if let Some(id) = link.connection
            && self.connections.remove(&id).is_some()
        {
            self.act(Action::Close(id));
        }
        for &sending in link.sendings.values() {
            self.sendings[sending].forget(cause);
            self.finish_sending(sending);
        }
        let of_link = |receiving: &Receiving<S>| matches!(receiving.from, From::Link(from, _) if from == key);
        let ended: Vec<usize> =
            self.receivings.iter().filter(|(_, receiving)| of_link(receiving)).map(|(at, _)| at).collect();
        for at in ended {
            self.receivings[at].from = From::Gone;
            let expected = self.receivings[at].expected;
            match self.receivings[at].stage {
                Stage::Leaving => self.forget_receiving(at),
                Stage::Ended if self.receivings[at].is_drained() => self.forget_receiving(at),
                Stage::Ended => {}
                Stage::Asked | Stage::Running => self.source_left(now, at, expected, cause),
            }
        }
        let channels: Vec<usize> = self.channels.iter().map(|(at, _)| at).collect();
        channels.into_iter().for_each(|at| self.lose_member(at, key));
        let asked: Vec<usize> =
            self.opens.iter().filter(|(_, open)| open.asked == Some(key)).map(|(at, _)| at).collect();
        for open in asked {
            let error = Error::new(Code::Unreachable).at(format!("node {}", link.peer)).came("the link has ended");
            self.answer(OpenKey(open as u32), Err(error));
        }
        self.forget_dials(Purpose::Resume(key));
    }
}

fn no_such_channel(name: &str) -> Error {
    Error::new(Code::NoSuchChannel).at(name)
}

/// The code of a number that came.
pub(super) fn code_of(number: u16) -> Code {
    Code::ALL.iter().copied().find(|code| *code as u16 == number).unwrap_or(Code::Unreachable)
}

fn account<B: Body>(sending: &Sending<B>, present: bool) -> SinkLedger {
    let Sending { node, sink, policy, .. } = *sending;
    SinkLedger { node, sink, policy, present, ledger: sending.ledger() }
}
