//! The settings of a node and of a sink.

use crate::Time;
use crate::access::Access;
use crate::account::{Count, Policy, Window};
use crate::budget::Budgets;
use crate::credentials::OwnUser;
use crate::keys::NodeId;
use crate::offer::Offer;
use crate::parameters::Parameters;
use crate::rights::Rights;
use isoform_core::plan::Kind;
use isoform_core::{Faults, Format, Limits, Registry, Result, Rules};
use isoform_query::{Query, layout_like};

/// The settings with which a node is created.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it can be dialed.
    pub addresses: Vec<String>,
    /// The shared keys that it knows, and whom it admits.
    pub access: Access,
    /// What the programs of its own user prove. They may take all but a reserve of what others may take.
    pub own_user: OwnUser,
    /// The rules: which of those that it admits may do what. Without rules, they may do everything.
    pub rights: Option<Rights>,
    /// The formats that it knows, and its limits for formats that it learns from others. Other nodes can make it forget
    /// learned formats, but not registered ones.
    pub registry: Registry,
    /// After this long without a byte, another node counts as dead.
    pub silence: Time,
    /// How long a link is kept after its connection broke.
    pub linger: Time,
    /// How long a handshake may take.
    pub handshake: Time,
    /// How long an acknowledgement may wait for others, so that they are sent together.
    pub acknowledge: Time,
    /// How many connections it has at a time, with those in their handshake. When there are more, strangers that have not
    /// proven who they are give way, the oldest first.
    pub connections: usize,
    /// How many members that others tell of are dialed at a time.
    pub introductions: usize,
    /// How many links and members of a channel it allows.
    pub peers: usize,
    /// The most subscriptions on one link, in each direction, and the most sources of another node.
    pub subscriptions: usize,
    /// How much memory and how many things others may take.
    pub budgets: Budgets,
    /// The most that a source keeps for one sink, whatever the sink asks for.
    pub queue: Count,
    /// The most that a source keeps for a sink with [`Policy::Block`] while it does not wait for it.
    pub slow: Count,
    /// The most sinks that do not answer to which a source still sends each event at once.
    pub few: usize,
    /// If more sinks do not answer, the most that a source holds for them before it sends it to them, all together. Also the most that it
    /// [owes](Settings::owed) to sinks with [`Policy::Block`].
    pub held: Count,
    /// The most sinks of other nodes to which a source gives at once what queries make of an event. If there are more, the others get it
    /// later, as many at a time.
    pub at_once: usize,
    /// The most that a source holds meanwhile for the sinks of a query, or a single event. With more, the query does not look at the next
    /// one.
    pub owed: Count,
    /// For how long this node looks at kept events for new sinks at a time, by the prices of their queries.
    pub slice: Time,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            addresses: Vec::new(),
            access: Access::default(),
            own_user: OwnUser::default(),
            rights: None,
            registry: Registry::new(),
            silence: Time::from_secs(10),
            linger: Time::from_secs(10),
            handshake: Time::from_secs(5),
            acknowledge: Time::from_millis(20),
            connections: 4096,
            introductions: 16,
            peers: 4096,
            subscriptions: 1 << 12,
            budgets: Budgets::default(),
            queue: Count { events: 1 << 16, bytes: 64 << 20 },
            slow: Count { events: 1 << 16, bytes: 4 << 20 },
            few: 4,
            held: Count { events: 64, bytes: 32 << 10 },
            at_once: 64,
            owed: Count { events: 64, bytes: 1 << 20 },
            slice: Time::from_micros(400),
        }
    }
}

/// The terms of a sink.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The format of its records; `None` if it accepts any.
    pub format: Option<Format>,
    /// The rules for the fields of that format.
    pub rules: Rules,
    /// The treatment of numbers that do not fit.
    pub faults: Faults,
    /// The kinds of its records, if it takes several. Sources of a format that fits none are refused.
    pub kinds: Vec<Kind>,
    /// Whether it also takes records that fit none of its kinds. Then it refuses no source because of its format.
    pub others: bool,
    /// The paths of the fields that it needs; empty for all fields. Of a sink of several kinds, each is in one of them at least.
    pub fields: Vec<String>,
    /// Whether its application sees nothing of an event but the fields of its formats. Then it needs only these, and sources may
    /// leave out others (`spec/channel.md`, "Fields").
    pub narrow: bool,
    /// What it wants of the events: its sources send no others, and what the query selects in their place
    /// (`spec/query.md`). Its formats above are those of the results.
    pub query: Option<Query>,
    /// The values that it asks of the parameters of its sources. Sources without parameters are refused then.
    pub parameters: Option<Parameters>,
    /// The behaviour of sources when it is too slow.
    pub policy: Policy,
    /// Whether it must have this policy. Sources that do not grant it are refused.
    pub must: bool,
    /// Whether it wants the events that sources have kept for it.
    pub kept: bool,
    /// The limit of what may be on its way from one source.
    pub window: Window,
    /// The longest body that it accepts.
    pub longest: u64,
    /// Whether it gets the first bytes of long events before the rest has come ([`Item::Head`](crate::Item::Head)).
    pub heads: bool,
    /// The sources that it subscribes to, each by its node and its number there; `None` for all.
    pub only: Option<Vec<(NodeId, u32)>>,
}

impl Wanted {
    /// The format of what it gets from a source of this format.
    pub(crate) fn result(&self, wire: &Format) -> Result<Format> {
        match &self.query {
            Some(query) => Ok(query.check(wire, layout_like(wire))?.format().clone()),
            None => Ok(wire.clone()),
        }
    }

    /// Whether it subscribes to this source.
    pub(crate) fn wants(&self, offer: &Offer) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&(offer.node, offer.number())))
    }

    /// A sink of any format, with a policy.
    pub fn any(policy: Policy) -> Wanted {
        let events = if policy == Policy::Latest { 1 } else { 1 << 16 };
        Wanted {
            format: None,
            rules: Rules::new(),
            faults: Faults::default(),
            kinds: Vec::new(),
            others: false,
            fields: Vec::new(),
            narrow: false,
            query: None,
            parameters: None,
            policy,
            must: false,
            kept: true,
            window: Window { events, bytes: 4 << 20 },
            longest: Limits::default().message,
            heads: false,
            only: None,
        }
    }
}
