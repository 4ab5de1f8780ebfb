//! What a node keeps of everything but links.

use crate::Time;
use crate::hello::Hello;
use crate::inbox::{Inbox, Run};
use crate::keys::{
    ChannelKey, ConnId, DialKey, Identity, LinkKey, NodeId, OpenKey, ReceivingKey, SendingKey, SinkKey, SourceKey,
    SourceRef,
};
use crate::report::{Report, SinkLedger};
use crate::settings::Wanted;
use isoform_core::plan::Plans;
use isoform_core::{Error, Format, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A connection: first in its handshake, then a link's.
pub(super) struct Connection {
    /// The attempt that it came of; `None` if it was accepted.
    pub(super) dial: Option<DialKey>,
    pub(super) since: Time,
    /// What the other side has said.
    pub(super) hello: Option<Hello>,
    /// Bytes of the handshake that are to be written.
    pub(super) out: Vec<u8>,
    /// The link, once it is one's.
    pub(super) link: Option<LinkKey>,
    /// How much of what waits may lie in front of what comes later.
    pub(super) ahead: usize,
}

/// An attempt to reach a node.
pub(super) struct Dial {
    /// Where it may be: the first that answers.
    pub(super) addresses: Vec<String>,
    /// How many of them have been tried.
    pub(super) tried: usize,
    /// Who is wanted there; `None` for whoever answers.
    pub(super) wanted: Option<NodeId>,
    pub(super) purpose: Purpose,
    pub(super) deadline: Time,
    /// When the next attempt begins, if none is under way.
    pub(super) again: Option<Time>,
    pub(super) connection: Option<ConnId>,
    /// How often in a row nobody was there, at any of the addresses.
    pub(super) refusals: u32,
}

/// What is done when a node is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The application opens a channel there.
    Open(OpenKey),
    /// It is another member of this channel.
    Join(ChannelKey),
    /// The link with it had been cut.
    Resume(LinkKey),
}

/// A channel that this node is a member of.
pub(super) struct Channel {
    pub(super) identity: Identity,
    pub(super) name: String,
    /// Its type.
    pub(super) format: Option<Format>,
    /// The other members, by the links with them.
    pub(super) members: BTreeMap<LinkKey, Membership>,
    pub(super) sources: Vec<SourceKey>,
    pub(super) sinks: Vec<SinkKey>,
    /// The sources that there are for this node's sinks, its own included.
    pub(super) offers: Vec<Offer>,
    /// Sinks that could not use a source of this node, and why; the latest few.
    pub(super) declined: VecDeque<(NodeId, Error)>,
    /// With which request the members were last asked: what answers an earlier one may be from before something that they
    /// were told since.
    pub(super) asked: Option<u32>,
}

/// Another member of a channel.
#[derive(Default)]
pub(super) struct Membership {
    /// What it last told of its part.
    pub(super) report: Option<Report>,
    /// The epoch in which it last opened the channel here; 0 if it did not.
    pub(super) opened: u64,
}

/// A source that this node's sinks may subscribe to.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) origin: Origin,
    pub(super) node: NodeId,
    pub(super) source: SourceRef,
    pub(super) format: Option<Format>,
    /// The epoch in which it was last told of.
    pub(super) epoch: u64,
}

/// Where a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// At another node, under this number.
    Link(LinkKey, u32),
    /// Here.
    Here(SourceKey),
}

/// An attempt of the application to open a channel.
pub(super) struct Open {
    pub(super) name: String,
    pub(super) identity: Option<Identity>,
    pub(super) deadline: Time,
    /// The link over which it was asked for.
    pub(super) asked: Option<LinkKey>,
    pub(super) answer: Option<Result<ChannelKey>>,
}

pub(super) struct Source {
    pub(super) channel: ChannelKey,
    /// The format of its events: the declared one, or that of the latest.
    pub(super) format: Option<Format>,
    /// Whether events of other formats may come.
    pub(super) is_typed: bool,
    /// The sequence of its next event.
    pub(super) next: u64,
    pub(super) sendings: Vec<SendingKey>,
    /// Whether it was told to wait.
    pub(super) waits: bool,
    /// Whether it has left, and only its account is still open.
    pub(super) left: bool,
    /// Accounts that are closed; the latest few.
    pub(super) past: VecDeque<SinkLedger>,
}

pub(super) struct Sink<B, S> {
    pub(super) channel: ChannelKey,
    pub(super) wanted: Wanted,
    /// Its plans, if it wants events as a format of its own.
    pub(super) plans: Option<Plans>,
    pub(super) inbox: Inbox<B, S>,
    /// Of the batch that the application has: what is not accounted for yet, the last first.
    pub(super) runs: Vec<Run>,
    /// How many items of that batch are accounted for.
    pub(super) done: u64,
    /// Whether the application knows that something has come.
    pub(super) woken: bool,
    pub(super) receivings: Vec<ReceivingKey>,
    /// What links have told it, besides events, since it last took something: bytes of memory.
    pub(super) news: HashMap<LinkKey, usize>,
    /// The same of links that have ended, all together.
    pub(super) old_news: usize,
    /// The first source of another node that it did not subscribe to because of that. Those that came later wait as well.
    pub(super) put_off: Option<SourceRef>,
    /// What subscriptions that have ended had received and lost.
    pub(super) past: (u64, u64),
}
