//! The settings of a node and of a sink.

use crate::Time;
use crate::account::{Count, Policy, Window};
use crate::keys::NodeId;
use isoform_core::{Faults, Format, Limits, Registry, Rules};

/// The settings with which a node is created.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who it is.
    pub id: NodeId,
    /// Where it can be dialed.
    pub addresses: Vec<String>,
    /// The formats that it knows, and learns from others, with the limits of those. What others name can make it forget other
    /// formats that it has learned, but not those that are registered.
    pub registry: Registry,
    /// After this long without a byte, another node is taken for dead.
    pub silence: Time,
    /// How long a link is kept whose connection broke.
    pub linger: Time,
    /// How long a handshake may take.
    pub handshake: Time,
    /// How long an acknowledgement may wait for company.
    pub acknowledge: Time,
    /// How many links, members of a channel, and handshakes at a time it allows.
    pub peers: usize,
    /// How many subscriptions it allows on one link, in each direction, and how many sources of another node.
    pub subscriptions: usize,
    /// How much it keeps for one sink at most, whatever that asks for.
    pub queue: Count,
}

impl Settings {
    /// The usual ones.
    pub fn new(id: NodeId) -> Settings {
        Settings {
            id,
            addresses: Vec::new(),
            registry: Registry::new(),
            silence: Time::from_secs(10),
            linger: Time::from_secs(10),
            handshake: Time::from_secs(5),
            acknowledge: Time::from_millis(20),
            peers: 4096,
            subscriptions: 1 << 12,
            queue: Count { events: 1 << 16, bytes: 64 << 20 },
        }
    }
}

/// What a sink wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The format that its application has; `None` if it takes any, as a view.
    pub format: Option<Format>,
    /// What the declaration of that says besides.
    pub rules: Rules,
    /// What is done with numbers that do not fit.
    pub faults: Faults,
    /// The paths of the fields that it needs; none: all.
    pub fields: Vec<String>,
    /// What is done when it is too slow.
    pub policy: Policy,
    /// How much may be under way to it from one source.
    pub window: Window,
    /// The longest body that it takes.
    pub longest: u64,
}

impl Wanted {
    /// Whatever comes, under a policy.
    pub fn any(policy: Policy) -> Wanted {
        let events = if policy == Policy::Latest { 1 } else { 1 << 16 };
        Wanted {
            format: None,
            rules: Rules::new(),
            faults: Faults::default(),
            fields: Vec::new(),
            policy,
            window: Window { events, bytes: 4 << 20 },
            longest: Limits::default().message,
        }
    }
}
