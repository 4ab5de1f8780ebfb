//! Sinks, and what they have of sources: from Subscribe to End (`spec/channel.md`, "Subscriptions").

use super::offers::LATEST;
use super::reports::account;
use super::state::{Offer, Origin, Sink};
use super::{Node, closed};
use crate::account::{Cause, Count, Gap};
use crate::action::Action;
use crate::control::{Control, Resumed, Subscribe};
use crate::inbox::{Inbox, Item};
use crate::keys::{ChannelKey, LinkKey, ReceivingKey, SendingKey, SinkKey, SourceKey};
use crate::memory::{Body, Storage};
use crate::receiving::{From, Receiving, Stage};
use crate::sending::{Sending, Terms, To};
use crate::settings::Wanted;
use isoform_core::declare::Type;
use isoform_core::format::{Field, Format};
use isoform_core::plan::Plans;
use isoform_core::{Code, Error, Result};
use std::collections::HashMap;

/// Bytes that the paths of the fields that a sink wants may have in a Subscribe.
const PATHS: usize = 60_000;
/// And a single one.
const PATH: usize = 4_000;
/// An explanation names so many fields of a format.
const FIELDS: usize = 32;

impl<B: Body, S: Storage> Node<B, S> {
    /// A sink for the events of all sources of a channel.
    ///
    /// # Errors
    /// [`Code::Closed`]; what speaks against a plan from the channel's type to the format that is wanted.
    pub fn add_sink(&mut self, key: ChannelKey, wanted: Wanted) -> Result<SinkKey> {
        let channel = self.channels.get(key).ok_or_else(|| closed("channel"))?;
        let plans = self.plans_for(&wanted);
        if let (Some(wire), Some(plans)) = (&channel.format, &plans) {
            plans.plan(wire)?;
        }
        let offers = channel.offers.clone();
        let mut wanted = wanted;
        let paths = wanted.fields.iter().map(String::len);
        if paths.clone().map(|length| length + 2).sum::<usize>() > PATHS || paths.max() > Some(PATH) {
            // They do not fit into a frame. None named: all come, which is more than was asked for.
            wanted.fields.clear();
        }
        let sink = self.sinks.insert(Sink {
            channel: key,
            wanted,
            plans,
            inbox: Inbox::new(),
            runs: Vec::new(),
            done: 0,
            woken: false,
            receivings: Vec::new(),
            news: HashMap::new(),
            old_news: 0,
            put_off: None,
            past: (0, 0),
        });
        self.channels[key].sinks.push(sink);
        offers.iter().for_each(|offer| self.subscribe(sink, offer));
        self.act(Action::Changed(key));
        Ok(sink)
    }

    /// The plans for what a sink wants: those of another sink that wants the same, if there is one.
    fn plans_for(&self, wanted: &Wanted) -> Option<Plans> {
        let Wanted { format, rules, faults, .. } = wanted;
        let native = format.as_ref()?;
        let mut others = self.sinks.iter().filter_map(|(_, sink)| sink.plans.as_ref());
        let same = others.find(|plans| plans.are_for(native, rules, *faults));
        Some(same.cloned().unwrap_or_else(|| Plans::new(native.clone(), rules.clone(), *faults)))
    }

    /// The plans from what comes to what a sink wants: proven when it subscribes, and to be run when events come. `None` for a
    /// sink that takes any format.
    pub fn plans(&self, key: SinkKey) -> Option<Plans> {
        self.sinks.get(key)?.plans.clone()
    }

    /// The sink leaves. What it has not taken is lost.
    pub fn end_sink(&mut self, key: SinkKey) {
        let Some(sink) = self.sinks.remove(key) else { return };
        if let Some(channel) = self.channels.get_mut(sink.channel) {
            channel.sinks.retain(|&other| other != key);
        }
        for receiving in sink.receivings {
            self.unsubscribe(receiving);
        }
        // Whoever waits for it learns that it is gone.
        self.actions.push_back(Action::Wake(key));
    }

    /// Whether there is such a sink.
    pub fn has_sink(&self, key: SinkKey) -> bool {
        self.sinks.contains(key)
    }

    /// Subscribes a sink to a source, or declines if the events of the one cannot be the other's.
    pub(super) fn subscribe(&mut self, at: SinkKey, offer: &Offer) {
        if self.puts_off(at, offer) {
            return;
        }
        let Offer { origin, node, source, format, .. } = offer;
        let (origin, node, source) = (*origin, *node, *source);
        let Sink { wanted, plans, .. } = &self.sinks[at];
        let fault = match (format, &wanted.format, plans) {
            (Some(wire), Some(native), Some(plans)) => {
                plans.plan(wire).err().map(|error| explained(&error, wire, native))
            }
            _ => None,
        };
        if let Some(error) = fault.or_else(|| self.too_many_subscriptions(origin)) {
            return self.decline(at, offer, error);
        }
        let wanted = &self.sinks[at].wanted;
        let Wanted { policy, window, longest, .. } = *wanted;
        let mut receiving = Receiving {
            sink: at,
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
            gap: None,
            owes: false,
            long: None,
        };
        match origin {
            Origin::Link(link, number) => {
                receiving.from = From::Link(link, number);
                let key = self.receivings.insert(receiving);
                self.links[link].subscribed += 1;
                self.sinks[at].receivings.push(key);
                self.say_subscription(link, key);
            }
            Origin::Here(from) => {
                let next = self.sources[from].next;
                let entry = self.receivings.vacant_key();
                let terms = Terms { sink: at.0, policy, window, longest };
                let sending = Sending::new(from, To::Here(entry), node, terms, next);
                let sending = self.sendings.insert(sending);
                self.sources[from].sendings.push(sending);
                (receiving.from, receiving.stage, receiving.expected) = (From::Here(sending), Stage::Running, next);
                let key = self.receivings.insert(receiving);
                self.sinks[at].receivings.push(key);
                self.sinks[at].inbox.tell(Item::Joined(source, node));
                self.wake(at);
            }
        }
    }

    /// Whether a sink that takes nothing was told so much by links that have ended that it hears of no further sources of
    /// other nodes: each of those may be the work of one who comes again and again. It does once it takes something.
    fn puts_off(&mut self, at: SinkKey, offer: &Offer) -> bool {
        let sink = &mut self.sinks[at];
        let is_late = matches!(offer.origin, Origin::Link(..)) && sink.old_news > NEWS;
        if is_late && sink.put_off.is_none() {
            sink.put_off = Some(offer.source);
        }
        is_late
    }

    /// A sink takes what it was told, and there is room for more.
    pub(super) fn forget_news(&mut self, at: SinkKey) {
        let sink = &mut self.sinks[at];
        sink.news.clear();
        sink.old_news = 0;
        let (channel, put_off) = (sink.channel, sink.put_off.take());
        let Some(first) = put_off else { return };
        let is_late = |offer: &&Offer| matches!(offer.origin, Origin::Link(..)) && offer.source.is_since(first);
        let late: Vec<Offer> = self.channels[channel].offers.iter().filter(is_late).cloned().collect();
        late.iter().for_each(|offer| self.subscribe(at, offer));
    }

    /// A sink cannot use a source: both sides are told why.
    fn decline(&mut self, at: SinkKey, offer: &Offer, error: Error) {
        let Offer { origin, node, source, .. } = *offer;
        self.tell(link_of(origin), at, Item::Refused(source, error.clone()));
        match origin {
            Origin::Link(link, source) => {
                let (code, text) = (error.code() as u16, error.to_string());
                self.say(link, &Control::Decline { source, sink: at.0, code, text });
            }
            Origin::Here(_) => self.declined(self.sinks[at].channel, node, error),
        }
    }

    pub(super) fn too_many_subscriptions(&self, origin: Origin) -> Option<Error> {
        let Origin::Link(link, _) = origin else { return None };
        let allowed = self.links[link].allowed.min(self.settings.subscriptions);
        let full = self.links[link].subscribed >= allowed;
        let error =
            || Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {allowed} on a link"));
        full.then(error)
    }

    pub(super) fn say_subscription(&mut self, link: LinkKey, at: ReceivingKey) {
        let receiving = &mut self.receivings[at];
        let (subscription, taken) = (at.0, receiving.taken);
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
        let Some(sink) = self.sinks.get(receiving.sink) else { return };
        let Wanted { policy, window, longest, fields, .. } = sink.wanted.clone();
        let sink = receiving.sink.0;
        let subscribe = Subscribe { subscription, source, sink, policy, window, longest, resumed, fields };
        self.say(link, &Control::Subscribe(subscribe.into()));
    }

    pub(super) fn was_subscribed(&mut self, link: LinkKey, subscribe: Subscribe) -> Result<()> {
        let Subscribe { subscription, source: at, sink, policy, window, longest, resumed, .. } = subscribe;
        if resumed.is_none() {
            // Who took this node for gone, and has met it again, does not know any more what its sinks had subscribed to, nor
            // by which numbers.
            self.forget_sendings(link, |number, sending| {
                let is_same = (sending.source.0, sending.sink) == (at, sink);
                !sending.live && (number == subscription) != is_same
            });
        }
        let entry = &self.links[link];
        let known = entry.sendings.get(&subscription).copied();
        let (node, count) = (entry.peer, entry.sendings.len());
        let sending = match (known, resumed) {
            (Some(sending), Some(Resumed { expected, received, taken })) if !self.sendings[sending].live => {
                self.sendings[sending].resume(expected, received, taken)?;
                sending
            }
            (Some(sending), None) if !self.sendings[sending].live => {
                // Its Started was lost with the connection: nothing of it can have come.
                self.sendings[sending].restart();
                sending
            }
            (Some(_), _) => {
                let error = Error::new(Code::Frame).at("subscription");
                return Err(error.expected("a number that is not in use").came(subscription));
            }
            (None, _) => {
                let source = self.sources.get(SourceKey(at)).filter(|source| !source.left);
                let source = source.filter(|source| self.channels[source.channel].members.contains_key(&link));
                let (Some(source), None) = (source, resumed) else {
                    let next = resumed.map_or(0, |from| from.expected);
                    self.say(link, &Control::End { subscription, next, is_answer: false });
                    return Ok(());
                };
                if count >= self.settings.subscriptions {
                    let limit = self.settings.subscriptions;
                    return Err(Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {limit}")));
                }
                let policy = policy.within(self.settings.queue);
                let terms = Terms { sink, policy, window, longest };
                let to = To::Link(link, subscription);
                let sending = self.sendings.insert(Sending::new(SourceKey(at), to, node, terms, source.next));
                self.links[link].sendings.insert(subscription, sending);
                self.sources[SourceKey(at)].sendings.push(sending);
                let channel = self.sources[SourceKey(at)].channel;
                self.act(Action::Changed(channel));
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

    /// Ends a subscription from the sink's side.
    pub(super) fn unsubscribe(&mut self, at: ReceivingKey) {
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
                self.say(link, &Control::Unsubscribe { subscription: at.0, taken });
            }
        }
    }

    pub(super) fn was_unsubscribed(&mut self, link: LinkKey, subscription: u32, taken: u64) -> Result<()> {
        let mut next = 0;
        if let Some(&sending) = self.links[link].sendings.get(&subscription) {
            next = self.sendings[sending].next();
            self.sendings[sending].left(taken)?;
            self.links[link].sendings.remove(&subscription);
            self.finish_sending(sending);
        }
        self.say(link, &Control::End { subscription, next, is_answer: true });
        Ok(())
    }

    pub(super) fn was_ended(&mut self, link: LinkKey, subscription: u32, next: u64, is_answer: bool) -> Result<()> {
        let at = ReceivingKey(subscription);
        let receiving = self.receiving(link, at)?;
        match receiving.stage {
            Stage::Leaving if is_answer => self.forget_receiving(at),
            // It has left while the Unsubscribe was on its way.
            Stage::Leaving | Stage::Ended => {}
            Stage::Asked | Stage::Running => {
                let (sink, from) = (receiving.sink, receiving.from);
                self.source_left(at, next, Cause::Ended);
                if let From::Link(link, source) = from {
                    self.subscribe_anew(sink, Origin::Link(link, source));
                }
            }
        }
        Ok(())
    }

    /// A source that is still offered did not know of a subscription: its node had given up the link, and this one had
    /// not. So the sink subscribes anew.
    fn subscribe_anew(&mut self, key: SinkKey, origin: Origin) {
        let Some(channel) = self.sinks.get(key).map(|sink| sink.channel) else { return };
        let offers = &self.channels[channel].offers;
        if let Some(offer) = offers.iter().position(|offer| offer.origin == origin)
            && !self.has_subscribed(key, origin)
        {
            let source = self.new_source_ref();
            let offer = &mut self.channels[channel].offers[offer];
            offer.source = source;
            let offer = offer.clone();
            self.subscribe(key, &offer);
        }
    }

    /// Whether a sink has subscribed to a source of another node, or has asked for that.
    pub(super) fn has_subscribed(&self, at: SinkKey, origin: Origin) -> bool {
        let Origin::Link(link, source) = origin else { return false };
        let is_it = |receiving: &Receiving<S>| {
            receiving.from == From::Link(link, source) && matches!(receiving.stage, Stage::Asked | Stage::Running)
        };
        self.sinks[at].receivings.iter().any(|&at| is_it(&self.receivings[at]))
    }

    /// Nothing more comes for a subscription.
    pub(super) fn source_left(&mut self, at: ReceivingKey, next: u64, cause: Cause) {
        let receiving = &mut self.receivings[at];
        let (sink, source, was) = (receiving.sink, receiving.source, receiving.stage);
        let link = if let From::Link(link, _) = receiving.from { Some(link) } else { None };
        receiving.stage = Stage::Ended;
        receiving.long = None;
        let gap = receiving.until(next, cause).filter(|_| was == Stage::Running);
        if let Some(gap) = gap {
            self.tell(link, sink, Item::Gap(source, gap));
        }
        if was == Stage::Running {
            self.tell(link, sink, Item::Left(source));
        }
        if self.receivings[at].is_drained() {
            self.unsubscribe(at);
        }
    }

    /// There is nobody any more from whom more could come. What has come is still to be taken.
    pub(super) fn lose_source(&mut self, at: ReceivingKey) {
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        receiving.from = From::Gone;
        let expected = receiving.expected;
        match receiving.stage {
            Stage::Leaving => self.forget_receiving(at),
            Stage::Ended if receiving.is_drained() => self.forget_receiving(at),
            Stage::Ended => {}
            Stage::Asked | Stage::Running => self.source_left(at, expected, Cause::Unknown),
        }
    }

    pub(super) fn forget_receiving(&mut self, at: ReceivingKey) {
        let Some(receiving) = self.receivings.remove(at) else { return };
        if let Some(sink) = self.sinks.get_mut(receiving.sink)
            && sink.receivings.contains(&at)
        {
            sink.receivings.retain(|&other| other != at);
            sink.past.0 += receiving.taken.events;
            sink.past.1 = sink.past.1.saturating_add(receiving.lost);
        }
        if let From::Link(link, _) = receiving.from
            && let Some(link) = self.links.get_mut(link)
        {
            link.subscribed -= 1;
            link.owing.retain(|&other| other != at);
        }
    }

    /// Closes the account of a subscription at its source.
    pub(super) fn finish_sending(&mut self, at: SendingKey) {
        let Some(sending) = self.sendings.remove(at) else { return };
        if let To::Link(link, _) = sending.to
            && let Some(link) = self.links.get_mut(link)
        {
            link.ready.retain(|&other| other != at);
        }
        let key = sending.source;
        if let Some(source) = self.sources.get_mut(key) {
            source.sendings.retain(|&other| other != at);
            source.past.push_front(account(&sending, false));
            // At the end, its application gets all of them.
            if !source.left {
                source.past.truncate(LATEST);
            }
            let channel = source.channel;
            self.act(Action::Changed(channel));
        }
        self.make_room(key);
    }

    /// A subscription of this node's sinks, by its number on a link.
    pub(super) fn receiving(&mut self, link: LinkKey, at: ReceivingKey) -> Result<&mut Receiving<S>> {
        let receiving = self.receivings.get_mut(at);
        receiving.filter(|receiving| matches!(receiving.from, From::Link(from, _) if from == link)).ok_or_else(|| {
            let error = Error::new(Code::Frame).at("subscription");
            error.expected("one of this link").came(at.0)
        })
    }

    /// Tells a sink something that is no event, and for which there is no window: so it is counted against the link that
    /// it came over.
    pub(super) fn tell(&mut self, from: Option<LinkKey>, sink: SinkKey, item: Item) {
        let Some(entry) = self.sinks.get_mut(sink) else { return };
        let news = news_of(&item);
        entry.inbox.tell(item);
        self.count_news(from, sink, news);
        self.wake(sink);
    }

    /// Tells a sink that events of one of its subscriptions will not come.
    pub(super) fn tell_gap(&mut self, from: LinkKey, at: ReceivingKey, gap: Gap) {
        let receiving = &mut self.receivings[at];
        let (sink, source) = (receiving.sink, receiving.source);
        let Some(entry) = self.sinks.get_mut(sink) else { return };
        if entry.inbox.gap(&mut receiving.gap, source, gap) {
            self.count_news(Some(from), sink, size_of::<Item>());
        }
        self.wake(sink);
    }

    fn count_news(&mut self, from: Option<LinkKey>, sink: SinkKey, count: usize) {
        let (Some(key), Some(entry)) = (from, self.sinks.get_mut(sink)) else { return };
        let news = entry.news.entry(key).or_default();
        *news += count;
        if *news > NEWS
            && let Some(link) = self.links.get_mut(key)
        {
            link.too_much_news = true;
        }
    }
}

/// How much one link may tell a sink that takes nothing, besides events, in bytes of memory; and how much all links may
/// have told it that have ended.
const NEWS: usize = 4 << 20;

/// About what it takes to keep an item.
fn news_of(item: &Item) -> usize {
    let text = if let Item::Refused(_, error) = item { error.expectation().len() + error.actual().len() } else { 0 };
    size_of::<Item>() + text
}

fn link_of(origin: Origin) -> Option<LinkKey> {
    if let Origin::Link(link, _) = origin { Some(link) } else { None }
}

/// What is in the way of a plan, with the fields of both sides: whoever reads it may have neither at hand.
fn explained(error: &Error, wire: &Format, native: &Format) -> Error {
    let fields = |format: &Format| {
        let structure = format.structure();
        let field = |field: &Field| format!("{} {}", field.name, Type::of(field, structure));
        let fields: Vec<String> = structure.fields().iter().take(FIELDS).map(field).collect();
        let more = if structure.fields().len() > FIELDS { ", .." } else { "" };
        format!("{} {{ {}{more} }}", format.name(), fields.join(", "))
    };
    let (expected, came) = (error.expectation(), error.actual());
    let explained = Error::new(error.code()).at(error.path());
    explained
        .expected(format_args!("{expected}, for {}", fields(native)))
        .came(format_args!("{came}, of {}", fields(wire)))
}
