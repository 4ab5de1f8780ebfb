//! Flows: events on their way from sources to sinks, and the account of each of them (`spec/channel.md`,
//! "Subscriptions", "Events", "The account"). Channels and their members are above this module.
//!
//! - `sources`, `sinks`: the sources and sinks of the application, with their subscriptions;
//! - `submit`, `take`: submitting and taking events; `unheard`: the numbers of those that nobody hears; `waits`: for how long sources wait, and the policies that they grant;
//! - `arrive`, `depart`: receiving events over links, and sending them;
//! - `sending`, `receiving`: one subscription, at its source and at its sink; `served`: those of a link; `lane`: the way between
//!   both, over a link or within the node; `inbox`: the events that have arrived for a sink;
//! - `beginning`: subscriptions that begin with kept events;
//! - `lagging`: sinks that do not answer, which get events later;
//! - `prices`: what queries cost; `described`: what describing the formats of their results costs; `wants`: the queries of subscriptions,
//!   evaluated at their sources; `quiet`: subscriptions whose queries filter, or are shared by many; `moment`: the time of an event;
//! - `demands`: what sinks ask of the parameters of sources;
//! - `rules`: subscriptions that are not allowed any more;
//! - `news`, `accounts`: other events of sinks, and reports of events.

mod accounts;
mod arrive;
mod beginning;
mod demands;
mod depart;
mod described;
pub(crate) mod inbox;
mod lagging;
mod lane;
mod moment;
mod news;
mod prices;
mod projections;
mod quiet;
mod receiving;
mod rules;
mod sending;
mod served;
mod shares;
mod sinks;
mod sources;
mod submit;
mod take;
mod unheard;
mod waits;
mod wants;

pub(crate) use accounts::Work;
pub use arrive::{Arrived, Large};
pub use demands::Demand;
pub use prices::QueryPrices;
pub(crate) use sinks::Over;
pub use submit::Submitted;
pub use unheard::Unheard;

use crate::Time;
use crate::account::{Cause, Counts};
use crate::credentials::Principal;
use crate::grant::{Budget, Grants, QueryTime};
use crate::keys::{ChannelKey, DemandKey, LinkKey, NodeId, ReceivingKey, SendingKey, SinkKey, SourceKey, SourceRef};
use crate::links::{Links, Transit};
use crate::memory::{Body, Storage};
use crate::numbered::{Beside, Numbered, Slots};
use crate::offer::Place;
use crate::origin::Origin;
use crate::report::SinkLedger;
use crate::settings::Wanted;
use beginning::Beginnings;
use demands::Demands;
use described::Described;
use inbox::{Inbox, Item, Run};
use isoform_core::Format;
use isoform_core::plan::{Kinds, Plans};
use projections::Projections;
use quiet::Skips;
use quiet::dealing::Dealing;
use receiving::Receiving;
use sending::{Sending, Waste};
use served::Served;
use shares::Purse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use wants::Wants;

/// The sources and sinks of a node, and the subscriptions between them and others.
pub(crate) struct Flows<B, S> {
    sources: Numbered<SourceKey, Source<B>>,
    sinks: Numbered<SinkKey, Sink<B, S>>,
    sendings: Slots<SendingKey, Sending<B>>,
    receivings: Slots<ReceivingKey, Receiving<S>>,
    traffic: Beside<LinkKey, Traffic>,
    /// Whether any link may owe an acknowledgement. If not, a tick need not look at all links.
    are_acks_due: bool,
    skips: Skips,
    dealing: Dealing,
    /// Whether sources may hold events for sinks that lag behind, and when to submit these.
    deals: (bool, Option<Time>),
    beginnings: Beginnings,
    /// The time for the queries of other nodes, at all sources that have no budget of their own.
    purse: Purse,
    /// What waited for sinks that are gone.
    waste: Waste<B>,
    /// Descriptions that were written because of queries, and are not paid for yet.
    described: Vec<Described>,
    /// Principals, and links to their nodes, over which long events wait since too many are under way.
    parked: BTreeMap<Principal, (Transit, BTreeSet<LinkKey>)>,
}

struct Source<B> {
    channel: ChannelKey,
    /// The channel's type.
    agreed: Option<Format>,
    /// The declared format of its events, or that of the last event.
    format: Option<Format>,
    /// Whether all events have the declared format.
    is_typed: bool,
    /// The sequence number of its next event, while it is heard.
    next: u64,
    /// Whether its events are numbered here: somebody hears them, or it has left.
    is_heard: bool,
    /// What numbers its other events, if they are not numbered here, too.
    unheard: Option<Arc<dyn Unheard>>,
    sendings: Vec<SendingKey>,
    /// Those of them that get each event at once. Of the others, some begin, some are quiet, and some lag behind.
    prompt: Vec<SendingKey>,
    /// Those that have kept events to get, and get the following ones as such.
    beginning: Vec<SendingKey>,
    /// The events that those which lag behind have not got yet: the latest ones.
    held: VecDeque<Kept<B>>,
    /// The bytes of their bodies.
    held_bytes: u64,
    wants: Wants<B>,
    projections: Projections<B>,
    /// Whether the budget for queries pays for these.
    serves_fields: bool,
    /// What its sinks ask of its parameters, if it has any.
    demands: Option<Demands>,
    grants: Grants,
    /// What is left of the time for which it waits.
    budget: Budget,
    /// Its latest events, for sinks that subscribe later.
    kept: VecDeque<Kept<B>>,
    /// Whether it has to wait.
    waits: bool,
    /// Whether it has left, and only its account remains.
    left: bool,
    /// Closed accounts: the most recent ones.
    past: VecDeque<SinkLedger>,
}

struct Sink<B, S> {
    channel: ChannelKey,
    wanted: Wanted,
    /// How often it has asked for other values of parameters.
    change: u32,
    /// Its plans, if it converts events into a format of its own.
    plans: Option<Plans>,
    /// Its kinds of records, if it takes several and no others.
    kinds: Option<Kinds>,
    inbox: Inbox<B, S>,
    /// The runs of the application's batch that are not accounted for yet, the last first.
    runs: Vec<Run>,
    /// The number of items of that batch that are accounted for.
    done: u64,
    /// Whether the application knows that something has arrived.
    woken: bool,
    receivings: BTreeSet<ReceivingKey>,
    /// The sources that are refused: the sink is told when they leave.
    refusing: BTreeMap<Place, SourceRef>,
    /// The memory of the items besides records that links have sent since the sink last took something.
    news: HashMap<LinkKey, usize>,
    /// The same for all links that have ended, together.
    old_news: usize,
    /// The first source of another node to which the sink did not subscribe because of that. Later sources wait as
    /// well.
    put_off: Option<SourceRef>,
    /// The counts of subscriptions that have ended; the earlier events of all.
    past: Counts,
    /// How far earlier subscriptions to sources have come, the latest last.
    reached: VecDeque<((NodeId, u32), u64)>,
    /// How often it was told of a source whose events it does not get.
    refused: u64,
    /// The records taken that could not become its own.
    unfit: u64,
}

/// An event that is kept for sinks that subscribe later, or held for those that lag behind.
struct Kept<B> {
    time: u64,
    format: Format,
    body: B,
    origin: Option<Box<Origin>>,
    /// The demand that it is for, if it is not for all.
    demand: Option<DemandKey>,
}

/// The state of a link as far as events are concerned.
#[derive(Default)]
struct Traffic {
    /// The number of subscriptions of this node's sinks on the link.
    subscribed: usize,
    /// These subscriptions by the numbers of their sources.
    by_source: BTreeMap<u32, Vec<ReceivingKey>>,
    /// Whether the link has sent a sink of this node too many items besides records.
    too_much_news: bool,
    /// A fragment that has arrived in part.
    part: Option<Part>,
    /// How many frames have arrived whole, where whole events that come together count as one.
    whole: u64,
    /// The subscriptions of sinks at the other side.
    sendings: Served,
    /// Those of them that have something to send, in the order of their turns.
    ready: VecDeque<SendingKey>,
    /// Those that have sent a body longer than the window which may not be taken yet.
    beyond: Vec<SendingKey>,
    /// Those whose next event is a long one that waits since too many are under way.
    waiting: BTreeSet<SendingKey>,
    /// Those whose next body has to wait for these.
    parked: Vec<SendingKey>,
    /// Subscriptions of this node's sinks that have got a body longer than the window which may not be taken yet.
    beyond_here: Vec<ReceivingKey>,
    /// Subscriptions of this node's sinks that have something to acknowledge.
    owing: Vec<ReceivingKey>,
    /// The time at which that is due.
    due: Option<Time>,
    /// Whether to send it with the next output.
    pressing: bool,
    /// How many events the other side has declared not to come, of all its sources together.
    missing: u64,
}

/// A fragment that has arrived in part.
struct Part {
    /// Its subscription; `None` if the body is no longer wanted.
    receiving: Option<ReceivingKey>,
    /// The missing bytes of the payload, and of the padding after it.
    missing: usize,
    padding: usize,
}

/// Calls `$body` with a sending and its lane, whatever kind that is.
macro_rules! with_lane {
    ($flows:ident, $links:ident, $at:expr, |$sending:ident, $lane:ident| $body:expr) => {{
        let $sending = &mut $flows.sendings[$at];
        match $sending.to {
            $crate::flows::sending::To::Link(link, number) => {
                let link = &mut $links[link];
                let live = $sending.live && link.stands();
                let $lane = &mut $crate::flows::lane::Over { outbox: &mut link.outbox, number, live };
                $body
            }
            $crate::flows::sending::To::Here(subscription) => {
                let receiving = &mut $flows.receivings[subscription];
                let inbox = &mut $flows.sinks[receiving.sink].inbox;
                let $lane = &mut $crate::flows::lane::Within { receiving, subscription, inbox };
                $body
            }
        }
    }};
}
use with_lane;

impl<B: Body, S: Storage> Flows<B, S> {
    pub(crate) fn new() -> Flows<B, S> {
        Flows {
            sources: Numbered::new(),
            sinks: Numbered::new(),
            sendings: Slots::new(),
            receivings: Slots::new(),
            traffic: Beside::new(),
            are_acks_due: false,
            skips: Skips::default(),
            dealing: Dealing::default(),
            deals: (false, None),
            beginnings: Beginnings::default(),
            purse: Purse::new(QueryTime::default()),
            waste: Waste::default(),
            described: Vec::new(),
            parked: BTreeMap::new(),
        }
    }

    /// An epoch of a link begins.
    pub(crate) fn begin_link(&mut self, link: LinkKey) {
        let traffic = self.traffic.at(link);
        traffic.part = None;
        traffic.ready.clear();
        traffic.parked.clear();
    }

    /// The connection of a link broke. Bodies that had arrived or were sent in part are lost.
    pub(crate) fn cut_link(&mut self, links: &mut Links<B>, link: LinkKey) {
        // First of all, since the next connection may be there already, on which nothing goes before a subscription is resumed.
        for sending in self.traffic[link].sendings.keys() {
            self.sendings[sending].cut();
        }
        self.let_wait_no_longer(links, None);
        self.catch_up_link(links, link);
        self.begin_link(link);
        for (_, receiving) in self.receivings.iter_mut().filter(|(_, receiving)| receiving.is_from(link)) {
            (receiving.long, receiving.origin) = (None, None);
        }
    }

    /// A link has ended, with all flows over it.
    /// What its sinks have not taken stays, with formats of these bytes.
    pub(crate) fn end_link(&mut self, links: &mut Links<B>, link: LinkKey, formats: u64) {
        let Some(traffic) = self.traffic.remove(link) else { return };
        for sending in traffic.sendings.keys() {
            let missed = self.missed(sending) as u64;
            self.sendings[sending].miss(Cause::Unknown, missed);
            self.sendings[sending].forget(Cause::Unknown);
            self.finish_sending(links, sending);
        }
        for receiving in self.receivings_from(link) {
            let Receiving { sink, received, taken, .. } = &self.receivings[receiving];
            if let Some(sink) = self.sinks.get_mut(*sink).filter(|_| received.events > taken.events) {
                sink.old_news += (received.bytes - taken.bytes + formats) as usize;
            }
            self.lose_source(links, receiving, None);
        }
        for key in self.sinks.keys() {
            let is_behind = |origin: &Place, _: &mut SourceRef| origin.link() == Some(link);
            let left: Vec<SourceRef> =
                self.sinks[key].refusing.extract_if(.., is_behind).map(|(_, source)| source).collect();
            left.into_iter().for_each(|source| self.tell(links, None, key, Item::Left(source)));
        }
        for (_, sink) in self.sinks.iter_mut() {
            sink.old_news += sink.news.remove(&link).unwrap_or(0);
        }
    }

    /// The other side of a link has resent everything. Subscriptions that it did not mention have ended.
    pub(crate) fn synced(&mut self, links: &mut Links<B>, link: LinkKey) {
        let all = self.traffic[link].sendings.numbers().collect();
        self.forget_cut(links, link, all);
    }

    /// Whether there are subscriptions on a link.
    pub(crate) fn uses(&self, link: LinkKey) -> bool {
        self.traffic.get(link).is_some_and(|traffic| traffic.subscribed > 0 || !traffic.sendings.is_empty())
    }

    /// The subscriptions of this node's sinks on a link.
    fn receivings_from(&self, link: LinkKey) -> Vec<ReceivingKey> {
        self.receivings.iter().filter(|(_, receiving)| receiving.is_from(link)).map(|(key, _)| key).collect()
    }

    /// Does the work that is due at this time.
    pub(crate) fn tick(&mut self, now: Time, links: &mut Links<B>) {
        if self.are_acks_due {
            self.are_acks_due = false;
            for (link, traffic) in self.traffic.iter_mut() {
                if links.stands(link) && traffic.due.take_if(|due| *due <= now).is_some() {
                    traffic.pressing = true;
                    links.announce(link);
                }
                self.are_acks_due |= traffic.due.is_some();
            }
        }
        self.waste.let_go(now);
        self.pay_for_descriptions();
        self.let_wait_no_longer(links, None);
        // These may skip events, of which sinks are told later.
        self.begin_in_time(now, links);
        self.deal_owed(now, links);
        self.deal_in_time(now, links);
        self.tell_skips(now, links);
    }

    /// The time at which [`tick`](Flows::tick) has work to do; `None` if never.
    pub(crate) fn deadline(&self, links: &Links<B>) -> Option<Time> {
        let all = self.are_acks_due.then(|| self.traffic.iter()).into_iter().flatten();
        let acks = all.filter(|(link, _)| links.stands(*link)).filter_map(|(_, traffic)| traffic.due);
        let deals = self.deals.0.then(|| self.deals.1.unwrap_or(Time::ZERO));
        let later = [self.skips.due(), self.dealing.due(), deals, self.beginnings.due(), self.waste.due()];
        acks.chain(later.into_iter().flatten()).min()
    }
}
