//! Links with other nodes: dialing, the connections of links and their replacement, and output. Other modules define
//! the frames on a link. They send them [here](Links::say), and learn [from here](Links::turn) when links change.
//!
//! - `handshake`: turns a connection into a link (`spec/channel.md`, "Handshake");
//! - `dial`: repeated attempts to reach nodes;
//! - `life`: cuts, the end of links, and timeouts (`spec/channel.md`, "Cuts");
//! - `output`, `outbox`: sending;
//! - `link`: the state of each other node.

mod dial;
mod handshake;
mod life;
mod link;
mod outbox;
mod output;

pub(crate) use link::Link;
#[cfg(test)]
pub(crate) use outbox::AHEAD;
pub(crate) use outbox::Outbox;
pub use outbox::{Outgoing, Splice};

use crate::Time;
use crate::action::Actions;
use crate::control::Control;
use crate::hello::Hello;
use crate::keys::{ChannelKey, ConnId, DialKey, LinkKey, NodeId, OpenKey};
use crate::memory::Body;
use crate::numbered::{Numbered, Slots};
use crate::settings::Settings;
use dial::Dial;
use isoform_core::{Error, Format, Result};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Index, IndexMut};

/// The links of a node, and what leads to them. Everything else in a node stands above this: so the node's settings, and what
/// its caller shall do, are here as well.
pub(crate) struct Links<B> {
    pub(crate) settings: Settings,
    pub(crate) actions: Actions,
    connections: BTreeMap<ConnId, Connection>,
    dials: Numbered<DialKey, Dial>,
    all: Slots<LinkKey, Link<B>>,
    peers: HashMap<NodeId, LinkKey>,
    /// Bytes of handshakes that go out with the closing of their connections.
    farewells: BTreeMap<ConnId, Vec<u8>>,
    turns: VecDeque<Turn>,
}

/// A connection: first in its handshake, then a link's.
struct Connection {
    /// The attempt that it came of; `None` if it was accepted.
    dial: Option<DialKey>,
    since: Time,
    /// What the other side has said.
    hello: Option<Hello>,
    /// Bytes of the handshake that are to be written.
    out: Vec<u8>,
    /// The link, once it is one's.
    link: Option<LinkKey>,
    /// How much of what waits may lie in front of what comes later.
    ahead: usize,
}

/// What a node is dialed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The application opens a channel there.
    Open(OpenKey),
    /// It is another member of this channel.
    Join(ChannelKey),
    /// The link with it had been cut.
    Resume(LinkKey),
}

/// What has become of a link, or of an attempt at one. Who owns links follows each turn before it does anything else.
pub(crate) enum Turn {
    /// A connection is the link's from here on, and an epoch begins, in which everything is said anew.
    Begun(LinkKey),
    /// The connection broke.
    Cut(LinkKey),
    /// The link is over.
    Ended(Ended),
    /// The node that was dialed for this is linked.
    Reached(Purpose, LinkKey),
    /// The node at which the application wanted to open a channel was not reached.
    Missed(OpenKey, Error),
}

/// A link that is over.
pub(crate) struct Ended {
    pub(crate) link: LinkKey,
    pub(crate) peer: NodeId,
    /// Where the other node could be dialed.
    pub(crate) addresses: Vec<String>,
    /// Whether nobody seems to be there any more. Should somebody be there after all, both are members again of the channels
    /// that they have in common.
    pub(crate) is_given_up: bool,
}

impl<B: Body> Links<B> {
    pub(crate) fn new(settings: Settings) -> Links<B> {
        Links {
            settings,
            actions: Actions::default(),
            connections: BTreeMap::new(),
            dials: Numbered::new(),
            all: Slots::new(),
            peers: HashMap::new(),
            farewells: BTreeMap::new(),
            turns: VecDeque::new(),
        }
    }

    /// The next turn that is to be followed.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        self.turns.pop_front()
    }

    /// Whether a link has a connection.
    pub(crate) fn stands(&self, key: LinkKey) -> bool {
        self.all.get(key).is_some_and(|link| link.connection.is_some())
    }

    /// The link with a node.
    pub(crate) fn with(&self, node: NodeId) -> Option<LinkKey> {
        self.peers.get(&node).copied()
    }

    /// A standing link with the node that can be dialed there.
    pub(crate) fn at_address(&self, address: &str) -> Option<LinkKey> {
        let is_there = |link: &Link<B>| link.addresses.iter().any(|other| other == address);
        self.all.iter().find(|(_, link)| link.connection.is_some() && is_there(link)).map(|(key, _)| key)
    }

    /// The link of a connection whose handshake is over.
    #[inline]
    pub(crate) fn of(&self, id: ConnId) -> Option<LinkKey> {
        self.connections.get(&id)?.link
    }

    /// Appends a frame to a link's output, if the link stands. If it does not, all is said anew once it does.
    pub(crate) fn say(&mut self, key: LinkKey, control: &Control) {
        let Some(link) = self.all.get_mut(key).filter(|link| link.connection.is_some()) else { return };
        control.put(link.outbox.bytes());
        self.announce(key);
    }

    /// The index of a format on a link, if that stands: the other side is told if it does not know it yet.
    pub(crate) fn index(&mut self, key: LinkKey, format: &Format) -> Option<u16> {
        let link = self.all.get_mut(key).filter(|link| link.connection.is_some())?;
        Some(link.outbox.index(format))
    }

    /// The other side names a format.
    pub(crate) fn name(&mut self, key: LinkKey, index: u16, description: &[u8]) -> Result<()> {
        let (registry, link) = (&self.settings.registry, &mut self.all[key]);
        link.formats.admit(index, registry.limits())?;
        link.formats.name(index, registry.learn(description)?)
    }
}

impl<B> Links<B> {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

impl<B> Index<LinkKey> for Links<B> {
    type Output = Link<B>;

    #[inline]
    fn index(&self, key: LinkKey) -> &Link<B> {
        &self.all[key]
    }
}

impl<B> IndexMut<LinkKey> for Links<B> {
    #[inline]
    fn index_mut(&mut self, key: LinkKey) -> &mut Link<B> {
        &mut self.all[key]
    }
}
