//! Flows: events on their way from sources to sinks, and the account of each of them (`spec/channel.md`,
//! "Subscriptions", "Events", "The account"). Channels and their members are above this module.
//!
//! - `sources`, `sinks`: the sources and sinks of the application, with their subscriptions;
//! - `submit`, `take`: submitting and taking events;
//! - `arrive`, `depart`: receiving events over links, and sending them;
//! - `sending`, `receiving`: one subscription, at its source and at its sink; `lane`: the way between both, over a link
//!   or within the node; `inbox`: the events that have arrived for a sink;
//! - `news`, `accounts`: other events of sinks, and reports of events.

mod accounts;
mod arrive;
mod depart;
pub(crate) mod inbox;
mod lane;
mod news;
mod receiving;
mod sending;
mod sinks;
mod sources;
mod submit;
mod take;

pub use arrive::Large;
pub use submit::Submitted;

use crate::Time;
use crate::keys::{ChannelKey, LinkKey, ReceivingKey, SendingKey, SinkKey, SourceKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::numbered::{Beside, Numbered, Slots};
use crate::report::SinkLedger;
use crate::settings::Wanted;
use inbox::{Inbox, Run};
use isoform_core::Format;
use isoform_core::plan::Plans;
use receiving::Receiving;
use sending::Sending;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The sources and sinks of a node, and the subscriptions between them and others.
pub(crate) struct Flows<B, S> {
    sources: Numbered<SourceKey, Source>,
    sinks: Numbered<SinkKey, Sink<B, S>>,
    sendings: Slots<SendingKey, Sending<B>>,
    receivings: Slots<ReceivingKey, Receiving<S>>,
    traffic: Beside<LinkKey, Traffic>,
}

struct Source {
    channel: ChannelKey,
    /// The channel's type.
    agreed: Option<Format>,
    /// The format of its events: the declared one, or that of the latest.
    format: Option<Format>,
    /// Whether events of other formats may come.
    is_typed: bool,
    /// The sequence of its next event.
    next: u64,
    sendings: Vec<SendingKey>,
    /// Whether it was told to wait.
    waits: bool,
    /// Whether it has left, and only its account is still open.
    left: bool,
    /// Accounts that are closed; the latest few.
    past: VecDeque<SinkLedger>,
}

struct Sink<B, S> {
    channel: ChannelKey,
    wanted: Wanted,
    /// Its plans, if it wants events as a format of its own.
    plans: Option<Plans>,
    inbox: Inbox<B, S>,
    /// Of the batch that the application has: what is not accounted for yet, the last first.
    runs: Vec<Run>,
    /// How many items of that batch are accounted for.
    done: u64,
    /// Whether the application knows that something has come.
    woken: bool,
    receivings: Vec<ReceivingKey>,
    /// What links have told it, besides events, since it last took something: bytes of memory.
    news: HashMap<LinkKey, usize>,
    /// The same of links that have ended, all together.
    old_news: usize,
    /// The first source of another node that it did not subscribe to because of that. Those that came later wait as well.
    put_off: Option<SourceRef>,
    /// What subscriptions that have ended had received and lost.
    past: (u64, u64),
}

/// What goes over a link.
#[derive(Default)]
struct Traffic {
    /// How many subscriptions this node's sinks have there.
    subscribed: usize,
    /// Whether it has told a sink of this node so much besides events that nothing more is taken from it.
    too_much_news: bool,
    /// A fragment of which a part has come.
    part: Option<Part>,
    /// Subscriptions of the other's sinks, by number: their sendings.
    sendings: BTreeMap<u32, SendingKey>,
    /// Those among them that have something to send, in the order of their turns.
    ready: VecDeque<SendingKey>,
    /// Subscriptions of this node's sinks that have something to acknowledge.
    owing: Vec<ReceivingKey>,
    /// When that is due.
    due: Option<Time>,
    /// Whether it is to be said with whatever is written next.
    pressing: bool,
}

/// A fragment under way.
struct Part {
    /// The subscription; `None` if nobody wants it any more.
    receiving: Option<ReceivingKey>,
    /// Bytes of the payload that have yet to come, and bytes of padding behind them.
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
        }
    }

    /// An epoch of a link begins.
    pub(crate) fn begin_link(&mut self, link: LinkKey) {
        let traffic = self.traffic.at(link);
        traffic.part = None;
        traffic.ready.clear();
    }

    /// The connection of a link broke: bodies of which a part was on its way are lost.
    pub(crate) fn cut_link(&mut self, link: LinkKey) {
        self.begin_link(link);
        for &sending in self.traffic[link].sendings.values() {
            self.sendings[sending].cut();
        }
        for (_, receiving) in self.receivings.iter_mut().filter(|(_, receiving)| receiving.is_from(link)) {
            receiving.long = None;
        }
    }

    /// A link is over, and all that came and went over it.
    pub(crate) fn end_link(&mut self, links: &mut Links<B>, link: LinkKey) {
        let Some(traffic) = self.traffic.remove(link) else { return };
        for &sending in traffic.sendings.values() {
            self.sendings[sending].forget(crate::account::Cause::Unknown);
            self.finish_sending(links, sending);
        }
        for receiving in self.receivings_from(link) {
            self.lose_source(links, receiving);
        }
        for (_, sink) in self.sinks.iter_mut() {
            sink.old_news += sink.news.remove(&link).unwrap_or(0);
        }
    }

    /// The other side of a link has said everything anew. What it did not speak of is over.
    pub(crate) fn synced(&mut self, links: &mut Links<B>, link: LinkKey) {
        self.forget_sendings(links, link, |_, sending| !sending.live);
    }

    /// The subscriptions of this node's sinks that come over a link.
    fn receivings_from(&self, link: LinkKey) -> Vec<ReceivingKey> {
        self.receivings.iter().filter(|(_, receiving)| receiving.is_from(link)).map(|(key, _)| key).collect()
    }

    /// Looks at the time.
    pub(crate) fn tick(&mut self, now: Time, links: &mut Links<B>) {
        for (link, traffic) in self.traffic.iter_mut() {
            if links.stands(link) && traffic.due.take_if(|due| *due <= now).is_some() {
                traffic.pressing = true;
                links.announce(link);
            }
        }
    }

    /// When [`tick`](Flows::tick) next has something to do; `None` if never.
    pub(crate) fn deadline(&self, links: &Links<B>) -> Option<Time> {
        self.traffic.iter().filter(|(link, _)| links.stands(*link)).filter_map(|(_, traffic)| traffic.due).min()
    }
}
