//! Sinks and their subscriptions to sources, from Subscribe to End (`spec/channel.md`, "Subscriptions").

use super::inbox::{Inbox, Item};
use super::receiving::{From, Receiving, Stage};
use super::sending::{Request, To};
use super::{Flows, Sink};
use crate::account::{Cause, Counts};
use crate::action::Action;
use crate::budget::Resource;
use crate::control::{Control, Resumed, Steering, Subscribe};
use crate::grant::Granted;
use crate::keys::{ChannelKey, LinkKey, ReceivingKey, SinkKey, SourceKey, SourceRef};
use crate::links::{Links, told};
use crate::memory::{Body, Storage};
use crate::offer::{Offer, Offered, Place};
use crate::settings::Wanted;
use isoform_core::declare::Type;
use isoform_core::format::{Field, Format, Structure};
use isoform_core::plan::{Fields, Kinds, Plans, Rules};
use isoform_core::{Code, Error, Result};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A new window has at most this part of what the other node may still have under way,
const SHARES: u64 = 64;
/// and at least these bytes.
const LEAST_WINDOW: u64 = 64 << 10;
/// The most bytes of all paths of wanted fields in a Subscribe.
const PATHS: usize = 60_000;
/// The most bytes of one path.
const PATH: usize = 4_000;
/// An explanation lists at most this many fields of a format.
const FIELDS: usize = 32;

/// A subscription that has ended although its sink has not asked for that.
pub(crate) struct Over {
    pub(crate) sink: SinkKey,
    pub(crate) origin: Place,
    pub(crate) source: SourceRef,
    /// Why the source has refused it, if it has.
    pub(crate) refused: Option<Error>,
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Adds a sink to a channel of this type.
    pub(crate) fn add_sink(
        &mut self,
        channel: ChannelKey,
        agreed: Option<&Format>,
        mut wanted: Wanted,
    ) -> Result<SinkKey> {
        let plans = self.plans_for(&wanted);
        let result = agreed.map(|agreed| wanted.result(agreed)).transpose()?;
        let agreed = result.as_ref();
        if let (Some(wire), Some(plans)) = (agreed, &plans) {
            plans.plan(wire)?;
        }
        // They are not kept twice: the rest of the terms is cloned for each subscription.
        let kinds = std::mem::take(&mut wanted.kinds);
        let mut kinds = (!kinds.is_empty()).then(|| Kinds::new(kinds));
        let sent = |path: &str| agreed.is_some_and(|wire| wire.structure().has_path(path));
        if let Some(all) = &mut kinds {
            if let Some(wire) = agreed.filter(|_| !wanted.others) {
                all.explain(wire).kind()?;
            }
            let of_one = |path: &str| all.list().iter().any(|kind| has(&kind.format, &kind.rules, path));
            let formats: Vec<&Format> = all.list().iter().map(|kind| &kind.format).collect();
            check_paths(&wanted.fields, &formats, |path| of_one(path) || sent(path))?;
        }
        if wanted.others {
            // Records of no kind are handed over whole, and no source is asked whether it has a kind.
            (kinds, wanted.fields) = (None, Vec::new());
        }
        if let Some(native) = &wanted.format {
            check_paths(&wanted.fields, &[native], |path| has(native, &wanted.rules, path) || sent(path))?;
        }
        if wanted.narrow && wanted.fields.is_empty() && wanted.query.is_none() && !wanted.heads && !wanted.others {
            wanted.fields = own_paths(&wanted, kinds.as_ref());
        }
        let paths = wanted.fields.iter().map(String::len);
        if paths.clone().map(|length| length + 2).sum::<usize>() > PATHS || paths.max() > Some(PATH) {
            // The paths do not fit into a frame. Without paths, all fields are sent, which includes those.
            wanted.fields.clear();
        }
        Ok(self.sinks.insert(Sink {
            channel,
            wanted,
            change: 0,
            plans,
            kinds,
            inbox: Inbox::new(),
            runs: Vec::new(),
            done: 0,
            woken: false,
            receivings: BTreeSet::new(),
            refusing: BTreeMap::new(),
            news: HashMap::new(),
            old_news: 0,
            put_off: None,
            past: Counts::default(),
            reached: VecDeque::new(),
            refused: 0,
            unfit: 0,
        }))
    }

    /// The plans for a sink. Sinks that want the same share them.
    fn plans_for(&self, wanted: &Wanted) -> Option<Plans> {
        let Wanted { format, rules, faults, .. } = wanted;
        let native = format.as_ref()?;
        let mut others = self.sinks.iter().filter_map(|(_, sink)| sink.plans.as_ref());
        let same = others.find(|plans| plans.are_for(native, rules, *faults));
        Some(same.cloned().unwrap_or_else(|| Plans::new(native.clone(), rules.clone(), *faults)))
    }

    /// The plans of a sink, from the formats of its sources to its own.
    pub(crate) fn plans(&self, key: SinkKey) -> Option<Plans> {
        self.sinks.get(key)?.plans.clone()
    }

    /// Removes a sink. Returns its channel.
    pub(crate) fn end_sink(&mut self, links: &mut Links<B>, key: SinkKey) -> Option<ChannelKey> {
        let sink = self.sinks.remove(key)?;
        for receiving in sink.receivings {
            self.unsubscribe(links, receiving);
        }
        // A thread that waits for the sink learns that it is gone.
        links.actions.act(Action::Wake(key));
        Some(sink.channel)
    }

    /// Whether this sink exists.
    pub(crate) fn has_sink(&self, key: SinkKey) -> bool {
        self.sinks.contains(key)
    }

    /// The channel of a sink.
    pub(crate) fn channel_of_sink(&self, key: SinkKey) -> Option<ChannelKey> {
        self.sinks.get(key).map(|sink| sink.channel)
    }

    /// Subscribes a sink to a source. If the source's events cannot become the sink's, both sides learn the reason. It
    /// is returned for a source of this node. `forbidden` is the reason why the source's node may not publish.
    pub(crate) fn subscribe(
        &mut self,
        links: &mut Links<B>,
        key: SinkKey,
        offer: &Offer,
        forbidden: Option<Error>,
    ) -> Option<Error> {
        if !self.sinks[key].wanted.wants(offer) || self.puts_off(key, offer) {
            return None;
        }
        if let Some(error) = &offer.refused {
            self.tell(links, offer.origin.link(), key, Item::Refused(offer.source, error.clone()));
            return None;
        }
        let fault = forbidden.or_else(|| self.fault(key, offer));
        if let Some(error) = fault.or_else(|| self.too_many_subscriptions(links, offer.origin)) {
            return self.decline(links, key, offer, error);
        }
        self.sinks[key].refusing.remove(&offer.origin);
        match offer.origin {
            Place::Link(link, number) => {
                let mut receiving = self.receiving_of(key, offer, From::Link(link, number));
                receiving.declared = self.shown(key, offer);
                // Many subscriptions share what their node may have under way. Each gets a little.
                let share = (links.left(link, Resource::Windows) / SHARES).max(LEAST_WINDOW);
                receiving.window.bytes = receiving.window.bytes.min(share);
                links.force(link, Resource::Windows, receiving.window.bytes);
                let receiving = self.receivings.insert(receiving);
                let traffic = &mut self.traffic[link];
                traffic.subscribed += 1;
                traffic.by_source.entry(number).or_default().push(receiving);
                self.sinks[key].receivings.insert(receiving);
                self.say_subscription(links, link, receiving);
            }
            Place::Here(source) => {
                if let Err(error) = self.subscribe_here(links, key, offer, source) {
                    return self.decline(links, key, offer, error);
                }
            }
        }
        None
    }

    fn subscribe_here(&mut self, links: &mut Links<B>, key: SinkKey, offer: &Offer, source: SourceKey) -> Result<()> {
        let Wanted { window, longest, kept, query, parameters, .. } = self.sinks[key].wanted.clone();
        let (asked, spare) = (self.asked(key), links.settings.slow);
        let granted = self.grant(links, source, asked)?;
        let values = self.asked_values(links, source, parameters.as_ref(), None)?;
        let want = query.map(|query| self.want(source, &query, None, values.as_ref())).transpose()?;
        let to = To::Here(self.receivings.vacant_key());
        let request = Request { sink: key.0, asked, granted, window, longest, spare };
        let sending = self.add_sending(links, source, to, offer.node, request, kept);
        self.sendings[sending].want = want;
        let change = parameters.map(|_| self.sinks[key].change);
        self.join_demand(sending, values, change);
        let mut receiving = self.receiving_of(key, offer, From::Here(sending));
        let first = self.sendings[sending].position();
        (receiving.stage, receiving.expected) = (Stage::Running, first);
        receiving.granted = Some(granted);
        let at = self.receivings.insert(receiving);
        self.sinks[key].receivings.insert(at);
        let (format, earlier) = (self.shown(key, offer), self.sinks[key].begin((offer.node, source.0), first));
        let joined = Item::Joined { source: offer.source, node: offer.node, number: source.0, format, earlier };
        self.tell(links, None, key, joined);
        if granted.policy != asked.policy {
            self.tell(links, None, key, Item::Granted(offer.source, granted));
        }
        self.tell_given(links, sending, None);
        self.begin(links, sending);
        links.actions.act(Action::Changed(self.sources[source].channel));
        Ok(())
    }

    /// A source as a sink sees it, whether it subscribes to it or not.
    pub(crate) fn as_offered(&self, key: SinkKey, offer: &Offer) -> Option<Offered> {
        let Offer { source, node, format, refused, .. } = offer;
        let wanted = &self.sinks.get(key)?.wanted;
        let format = match refused {
            Some(error) => Err(error.clone()),
            None => format.as_ref().map(|format| wanted.result(format)).transpose(),
        };
        Some(Offered { source: *source, node: *node, number: offer.number(), format })
    }

    /// The format of what a sink gets from a source.
    fn shown(&self, key: SinkKey, offer: &Offer) -> Option<Format> {
        self.sinks[key].wanted.result(offer.format.as_ref()?).ok()
    }

    /// The policy that a sink asks for.
    pub(super) fn asked(&self, key: SinkKey) -> Granted {
        let Wanted { policy, must, .. } = self.sinks[key].wanted;
        Granted::asked(policy, must)
    }

    fn receiving_of(&self, key: SinkKey, offer: &Offer, from: From) -> Receiving<S> {
        let Wanted { window, longest, .. } = self.sinks[key].wanted;
        Receiving::new(key, from, offer.source, window, longest)
    }

    /// The reason why a sink cannot use a source, if there is one.
    fn fault(&mut self, key: SinkKey, offer: &Offer) -> Option<Error> {
        let Sink { wanted, plans, kinds, .. } = &mut self.sinks[key];
        let result = wanted.result(offer.format.as_ref()?);
        let wire = match &result {
            Ok(wire) => wire,
            Err(error) => return Some(error.clone()),
        };
        if let Some(kinds) = kinds {
            return kinds.explain(wire).kind().err();
        }
        let Some(native) = &wanted.format else {
            return check_paths(&wanted.fields, &[wire], |path| wire.structure().has_path(path)).err();
        };
        plans.as_ref()?.plan(wire).err().map(|error| explained(&error, wire, native))
    }

    fn too_many_subscriptions(&self, links: &Links<B>, origin: Place) -> Option<Error> {
        let link = origin.link()?;
        let allowed = links[link].allowed.min(links.settings.subscriptions);
        let full = self.traffic[link].subscribed >= allowed;
        let error =
            || Error::new(Code::Peers).at("subscriptions").expected(format_args!("at most {allowed} on one link"));
        full.then(error)
    }

    /// Refuses a source, on behalf of a sink.
    fn decline(&mut self, links: &mut Links<B>, key: SinkKey, offer: &Offer, error: Error) -> Option<Error> {
        self.tell_refused(links, offer.origin, key, offer.source, error.clone());
        let Place::Link(link, source) = offer.origin else { return Some(error) };
        let (code, text) = told(&error);
        links.say(link, &Control::Decline { source, sink: key.0, code, text });
        None
    }

    /// Resends the subscriptions of this node's sinks on a link.
    pub(crate) fn say_subscriptions(&mut self, links: &mut Links<B>, link: LinkKey) {
        for receiving in self.receivings_from(link) {
            self.say_subscription(links, link, receiving);
        }
    }

    fn say_subscription(&mut self, links: &mut Links<B>, link: LinkKey, at: ReceivingKey) {
        let receiving = &mut self.receivings[at];
        let (subscription, taken) = (at.0, receiving.taken);
        let From::Link(_, source) = receiving.from else { return };
        if receiving.stage == Stage::Leaving {
            return links.say(link, &Control::Unsubscribe { subscription, taken: taken.events });
        }
        let resumed = (receiving.stage != Stage::Asked).then_some(Resumed {
            expected: receiving.expected,
            received: receiving.received,
            taken,
            skipped: receiving.skipped,
            superseded: receiving.superseded,
        });
        receiving.told = taken;
        let Some(sink) = self.sinks.get(receiving.sink) else { return };
        receiving.asked = Some(Granted::asked(sink.wanted.policy, sink.wanted.must));
        receiving.change = sink.change;
        let Wanted { policy, must, kept, fields, query, parameters, .. } = sink.wanted.clone();
        let query = query.map(|query| query.to_string());
        let change = sink.change;
        let steering = parameters.and_then(|values| {
            let index = links.index(link, values.format())?;
            Some(Steering { index, change, values: values.body().into() })
        });
        // The window and the longest event are those that this subscription began with.
        let Receiving { window, longest, .. } = *receiving;
        let (sink, option) = (receiving.sink.0, None);
        let subscribe = Subscribe {
            subscription,
            source,
            sink,
            policy,
            must,
            kept,
            window,
            longest,
            resumed,
            fields,
            query,
            steering,
            option,
        };
        links.say(link, &Control::Subscribe(subscribe.into()));
    }

    /// A source will send the events that it submits from `next` on. Returns the sink of a subscription that begins, and its source.
    pub(crate) fn was_started(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        next: u64,
        granted: Granted,
    ) -> Result<Option<(SinkKey, Place)>> {
        let at = ReceivingKey(subscription);
        let receiving = self.receiving(link, at)?;
        let mut begins = None;
        if receiving.stage == Stage::Asked {
            self.expect_missing(link, next)?;
            let receiving = self.receiving(link, at)?;
            (receiving.stage, receiving.expected) = (Stage::Running, next);
            let format = receiving.declared.take();
            let number = if let From::Link(_, number) = receiving.from { number } else { 0 };
            let (sink, source, node) = (receiving.sink, receiving.source, links[link].peer);
            receiving.place = Some((node, number));
            let earlier = self.sinks.get_mut(sink).map_or(0, |sink| sink.begin((node, number), next));
            self.tell(links, Some(link), sink, Item::Joined { source, node, number, format, earlier });
            begins = Some((sink, Place::Link(link, number)));
        }
        self.note_grant(links, Some(link), at, granted);
        Ok(begins)
    }

    /// A subscription has ended, with a reason if the source refuses it. Returns a live one's sink, its source, and the
    /// offer that it was for. If that source is still offered, the sink may have to subscribe anew: its node was not
    /// aware of the subscription, since it had given up the link, and this node had not; or it has changed its mind.
    pub(crate) fn was_ended(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        next: u64,
        is_answer: bool,
        refused: Option<Error>,
    ) -> Result<Option<Over>> {
        let at = ReceivingKey(subscription);
        let Receiving { sink, asked, change, stage, .. } = *self.receiving(link, at)?;
        // If the sink asks for another policy or other parameters now, it subscribes anew.
        let is_asked = |entry: &Sink<B, S>| asked == Some(self.asked(sink)) && change == entry.change;
        let refused = refused.filter(|_| self.sinks.get(sink).is_none_or(is_asked));
        let receiving = self.receiving(link, at)?;
        match stage {
            Stage::Leaving if is_answer => self.forget_receiving(links, at),
            // The source left while the Unsubscribe was on its way.
            Stage::Leaving | Stage::Ended | Stage::Barred => {}
            Stage::Asked | Stage::Running => {
                let (sink, from, source) = (receiving.sink, receiving.from, receiving.source);
                let missing = next.saturating_sub(receiving.expected);
                self.expect_missing(link, missing)?;
                self.source_left(links, at, next, Cause::Ended);
                if let From::Link(link, number) = from {
                    return Ok(Some(Over { sink, origin: Place::Link(link, number), source, refused }));
                }
            }
        }
        Ok(None)
    }

    /// Tells a sink that it gets no events of a source. When the source leaves, it is told of that, too.
    pub(crate) fn tell_refused(
        &mut self,
        links: &mut Links<B>,
        origin: Place,
        sink: SinkKey,
        source: SourceRef,
        error: Error,
    ) {
        // A source that rules forbid is offered anew when they change, and is withdrawn for that without having left.
        if error.code() != Code::Forbidden
            && let Some(entry) = self.sinks.get_mut(sink)
        {
            entry.refusing.insert(origin, source);
        }
        self.tell(links, origin.link(), sink, Item::Refused(source, error));
    }

    /// A source has left. Tells the sinks that refused it, or that it refused: the others learn that by its End.
    pub(crate) fn was_withdrawn(&mut self, links: &mut Links<B>, origin: Place) {
        let left = |(key, sink): (SinkKey, &mut Sink<B, S>)| Some((key, sink.refusing.remove(&origin)?));
        let told: Vec<(SinkKey, SourceRef)> = self.sinks.iter_mut().filter_map(left).collect();
        told.into_iter().for_each(|(sink, source)| self.tell(links, origin.link(), sink, Item::Left(source)));
    }

    /// Whether a sink has no subscription to a source, and could use its events.
    pub(crate) fn may_subscribe(&mut self, key: SinkKey, offer: &Offer) -> bool {
        let has = match offer.origin {
            Place::Link(..) => self.has_subscribed(key, offer.origin),
            Place::Here(source) => {
                let all = &self.sources[source].sendings;
                all.iter().any(|&at| matches!(self.sendings[at].to, To::Here(at) if self.receivings[at].sink == key))
            }
        };
        !has && self.sinks[key].wanted.wants(offer) && offer.refused.is_none() && self.fault(key, offer).is_none()
    }

    /// Whether a sink has subscribed, or asked to subscribe, to a source of another node.
    pub(crate) fn has_subscribed(&self, key: SinkKey, origin: Place) -> bool {
        let Place::Link(link, source) = origin else { return false };
        let of_source = self.traffic.get(link).and_then(|traffic| traffic.by_source.get(&source));
        let is_it = |receiving: &Receiving<S>| {
            receiving.sink == key && matches!(receiving.stage, Stage::Asked | Stage::Running)
        };
        of_source.is_some_and(|all| all.iter().any(|&at| is_it(&self.receivings[at])))
    }

    /// Ends a subscription at the request of the sink.
    pub(super) fn unsubscribe(&mut self, links: &mut Links<B>, at: ReceivingKey) {
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        match receiving.from {
            From::Gone => self.forget_receiving(links, at),
            From::Here(sending) => {
                let taken = receiving.taken.events;
                self.forget_receiving(links, at);
                self.stop_beginning(sending, Cause::Ended);
                // Both ends are at this node, so both know what was taken.
                let settled = self.sendings[sending].left(taken);
                debug_assert!(settled.is_ok(), "{settled:?}");
                self.finish_sending(links, sending);
            }
            From::Link(..) if receiving.stage == Stage::Leaving => {}
            From::Link(link, _) => {
                receiving.stage = Stage::Leaving;
                receiving.long = None;
                let taken = receiving.taken.events;
                links.say(link, &Control::Unsubscribe { subscription: at.0, taken });
            }
        }
    }

    /// The source of a subscription has left.
    fn source_left(&mut self, links: &mut Links<B>, at: ReceivingKey, next: u64, cause: Cause) {
        let receiving = &mut self.receivings[at];
        let (sink, source, was) = (receiving.sink, receiving.source, receiving.stage);
        let link = if let From::Link(link, _) = receiving.from { Some(link) } else { None };
        receiving.stage = Stage::Ended;
        receiving.long = None;
        let gap = receiving.until(next, cause).filter(|_| was == Stage::Running);
        if let Some(gap) = gap {
            self.tell(links, link, sink, Item::Gap(source, gap));
        }
        if was == Stage::Running {
            self.tell_left(links, link, at);
        }
        if self.receivings[at].is_drained() {
            self.unsubscribe(links, at);
        }
    }

    /// The source of a subscription is lost. Events that arrived remain to be taken. `next` is the number of the event that the source
    /// would have submitted next, if it is known.
    pub(super) fn lose_source(&mut self, links: &mut Links<B>, at: ReceivingKey, next: Option<u64>) {
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        receiving.from = From::Gone;
        let (next, cause) = match next {
            Some(next) => (next, Cause::Ended),
            None => (receiving.expected, Cause::Unknown),
        };
        match receiving.stage {
            Stage::Leaving => self.forget_receiving(links, at),
            Stage::Ended | Stage::Barred if receiving.is_drained() => self.forget_receiving(links, at),
            Stage::Ended | Stage::Barred => {}
            Stage::Asked | Stage::Running => self.source_left(links, at, next, cause),
        }
    }

    fn forget_receiving(&mut self, links: &mut Links<B>, at: ReceivingKey) {
        let Some(receiving) = self.receivings.remove(at) else { return };
        if let From::Link(link, _) = receiving.from {
            links.give(link, Resource::Windows, receiving.window.bytes);
        }
        if let Some(sink) = self.sinks.get_mut(receiving.sink)
            && sink.receivings.remove(&at)
        {
            sink.past.add(Counts { received: receiving.taken.events, ..receiving.counts() });
        }
        if let From::Link(link, number) = receiving.from
            && let Some(traffic) = self.traffic.get_mut(link)
        {
            traffic.subscribed -= 1;
            if let Entry::Occupied(mut of_source) = traffic.by_source.entry(number) {
                of_source.get_mut().retain(|&other| other != at);
                if of_source.get().is_empty() {
                    of_source.remove();
                }
            }
            if receiving.owes {
                traffic.owing.retain(|&other| other != at);
            }
        }
    }

    /// A subscription of this node's sinks, by its number on a link.
    pub(super) fn receiving(&mut self, link: LinkKey, at: ReceivingKey) -> Result<&mut Receiving<S>> {
        self.receivings.get_mut(at).filter(|receiving| receiving.is_from(link)).ok_or_else(|| unknown(at))
    }
}

#[cold]
pub(super) fn unknown(at: ReceivingKey) -> Error {
    Error::new(Code::Frame).at("subscription").expected("a subscription of this link").found(at.0)
}

/// The paths of all fields from which a sink may take something.
fn own_paths(wanted: &Wanted, kinds: Option<&Kinds>) -> Vec<String> {
    let kinds = kinds.into_iter().flat_map(Kinds::list).map(|kind| Fields::of(&kind.format, &kind.rules));
    let own = wanted.format.iter().map(|native| Fields::of(native, &wanted.rules));
    let all = own.chain(kinds).reduce(|all, more| Some(all?.and(more?)));
    all.flatten().map_or(Vec::new(), |fields| fields.paths())
}

/// Checks that fields exist at all paths. The error lists the fields of these formats.
fn check_paths(paths: &[String], formats: &[&Format], exists: impl Fn(&str) -> bool) -> Result<()> {
    let Some(path) = paths.iter().find(|path| !exists(path)) else { return Ok(()) };
    let mut names: Vec<&str> = Vec::new();
    for field in formats.iter().flat_map(|format| format.structure().fields()) {
        if names.len() < FIELDS && !names.contains(&&*field.name) {
            names.push(&field.name);
        }
    }
    let error = Error::new(Code::NoSuchField).at("fields").expected(format_args!("one of {}", names.join(", ")));
    Err(error.found(path))
}

/// Whether a path leads to a field of a sink's records, by its own name or by an alias.
fn has(native: &Format, rules: &Rules, path: &str) -> bool {
    let is_alias = |structure: &Structure, field: &Field| {
        let rule = rules.of(structure.name(), &field.name);
        rule.is_some_and(|rule| rule.aliases.iter().any(|alias| **alias == *path))
    };
    let mut all = native.structure().inside_out().into_iter();
    native.structure().has_path(path)
        || all.any(|structure| structure.fields().iter().any(|field| is_alias(structure, field)))
}

/// Adds the fields of both sides to an error of a plan, since a reader of it may know neither.
fn explained(error: &Error, wire: &Format, native: &Format) -> Error {
    let fields = |format: &Format| {
        let structure = format.structure();
        let field = |field: &Field| format!("{} {}", field.name, Type::of(field, structure));
        let fields: Vec<String> = structure.fields().iter().take(FIELDS).map(field).collect();
        let more = if structure.fields().len() > FIELDS { ", .." } else { "" };
        format!("{} {{ {}{more} }}", format.name(), fields.join(", "))
    };
    let explained = Error::new(error.code()).at(error.path());
    explained.expected(format_args!("{}, for the sink's {}", error.expectation(), fields(native))).found(format_args!(
        "{}, from the source's {}",
        error.actual(),
        fields(wire)
    ))
}
