//! Links with other nodes: dialing, the connections of links and their replacement, and output. Other modules define
//! the frames on a link. They send them [here](Links::say), and learn [from here](Links::turn) when links change.
//!
//! - `handshake`: turns a connection into a link (`spec/channel.md`, "Handshake"); `pace`: how many there are, and for whom;
//! - `dial`: repeated attempts to reach nodes;
//! - `guests`: shared keys that came with the ids of channels;
//! - `life`: cuts, the end of links, and timeouts (`spec/channel.md`, "Cuts");
//! - `output`, `outbox`: sending;
//! - `rights`: the rules for other nodes; `words`: what nodes tell each other of errors;
//! - `timers`: the times at which connections and links have something due; `unlinked`: connections that may have to give way;
//! - `link`: the state of each other node; `held`, `purses`: what it has taken of the budgets.

mod dial;
mod guests;
mod handshake;
mod held;
mod life;
mod link;
mod outbox;
mod output;
mod pace;
mod purses;
mod rights;
mod timers;
mod transit;
mod unlinked;
mod words;

pub(crate) use dial::may_dial;
pub(crate) use link::Link;
#[cfg(test)]
pub(crate) use outbox::AHEAD;
pub(crate) use outbox::Outbox;
pub use outbox::{Outgoing, Splice};
pub(crate) use purses::too_many_frames;
#[cfg(test)]
pub(crate) use transit::Way;
pub(crate) use transit::{Carried, Transit, Which};
pub(crate) use words::{error_of, refusal_of, told};

use crate::Time;
use crate::access::Access;
use crate::action::Actions;
use crate::budget::Purses;
use crate::control::Control;
use crate::credentials::{Credentials, OwnUser, Principal};
use crate::greeting::Greeting;
use crate::identity::Key;
use crate::keys::{ChannelKey, ConnId, DialKey, LinkKey, NodeId, OpenKey};
use crate::memory::Body;
use crate::numbered::{Numbered, Slots};
use crate::refusals::Refusals;
use crate::settings::Settings;
use crate::terms::Terms;
use dial::{Dial, Redials};
use guests::Guests;
use isoform_core::{Error, Format, Result, Token};
use pace::{Heard, Pace};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use timers::Timers;
use unlinked::{Standing, Unlinked};

/// The links of a node, and the attempts to make links. The other parts of a node use it. So it also holds the node's
/// settings, and the actions for its caller.
pub(crate) struct Links<B> {
    pub(crate) key: Arc<Key>,
    /// The shared keys that this node knows, with those of guests, and whom it admits.
    access: Arc<Access>,
    /// The number of connections so far.
    connected: u64,
    /// The number of epochs that this node has begun, as the lower one, with whichever node.
    begun: u64,
    pub(crate) settings: Settings,
    pub(crate) actions: Actions,
    connections: BTreeMap<ConnId, Connection>,
    /// Those that were accepted and are no link yet.
    unlinked: Unlinked,
    dials: Numbered<DialKey, Dial>,
    /// How often this node has dialed to restore links with the nodes of each principal.
    redials: HashMap<Principal, Redials>,
    all: Slots<LinkKey, Link<B>>,
    peers: HashMap<NodeId, LinkKey>,
    /// The last bytes of handshakes whose connections are closing.
    farewells: BTreeMap<ConnId, Vec<u8>>,
    turns: VecDeque<Turn>,
    pub(crate) refusals: Refusals,
    guests: Guests,
    timers: Timers,
    /// The links of nodes that have not read what they were told, and that are to end.
    unread: BTreeSet<LinkKey>,
    /// How many handshakes there may be, and the connections that wait for theirs.
    pace: Pace,
    heard: Heard,
    pub(crate) purses: Purses,
}

/// A connection: in its handshake, or of a link.
struct Connection {
    /// The attempt that made it; `None` if it was accepted.
    dial: Option<DialKey>,
    /// Where it is among those that are no link yet, if it was accepted.
    standing: Option<Standing>,
    /// What has been said so far. `None` once the other side has proven who it is, and while the caller has it.
    greeting: Option<Greeting>,
    /// The node at the other end, once it has proven that.
    peer: Option<NodeId>,
    /// Its public key, then.
    public: [u8; 32],
    /// What is known of it besides.
    credentials: Credentials,
    /// How many mebibytes of long bodies this node has told the other that it takes at a time.
    bodies: u32,
    /// What the other node has told of itself, until its link begins.
    terms: Option<Terms>,
    /// Bytes of the handshake that are to be written.
    out: Vec<u8>,
    /// What it waits for, if there are too many handshakes, and since when.
    waits: Option<(Time, Waits)>,
    /// How often its bytes have come in pieces before it was a link's, if this node has dialed it.
    pieces: u32,
    /// The link, once the connection belongs to one.
    link: Option<LinkKey>,
    /// How many queued bytes may be ahead of a later event.
    ahead: usize,
}

/// What a connection waits for.
enum Waits {
    /// Its first bytes, for which the transport has work.
    Reading,
    /// The answer to the other side's Hello.
    Answer,
    /// A refusal, for this reason.
    Refusal(Error),
}

impl Connection {
    /// Whether it waits, since this time.
    fn waits_since(&self, since: Time) -> bool {
        self.waits.as_ref().is_some_and(|(at, _)| *at == since)
    }

    /// Whether the other side understands a Bye.
    fn understands(&self) -> bool {
        self.peer.is_some() || self.greeting.as_ref().is_some_and(|greeting| greeting.understands)
    }

    /// Whom the other side counts under, as far as it is known.
    fn principal(&self, own: &OwnUser) -> Principal {
        match &self.greeting {
            Some(greeting) => greeting.credentials.principal(own),
            None => self.credentials.principal(own),
        }
    }
}

/// The purpose of dialing a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The application opens a channel there.
    Open(OpenKey),
    /// A member of this channel is found there.
    Meet(ChannelKey),
    /// The link with it was cut.
    Resume(LinkKey),
}

/// A change of a link, or of an attempt to make one. The owner of the links handles each turn before it does anything
/// else.
pub(crate) enum Turn {
    /// A connection became the link's. An epoch begins, in which both sides resend everything.
    Begun(LinkKey),
    /// The connection broke.
    Cut(LinkKey),
    /// The link has ended.
    Ended(Ended),
    /// The node that was dialed for this purpose has a link now.
    Reached(Purpose, LinkKey),
    /// The node that was dialed for this purpose cannot be reached. If a certain one was wanted, it is named.
    Missed(Purpose, Option<NodeId>, Error),
}

/// A link that has ended.
pub(crate) struct Ended {
    pub(crate) link: LinkKey,
    pub(crate) peer: NodeId,
    /// The memory of the formats that the other node has described.
    pub(crate) held: u64,
    /// Why it has ended; `None` if one of both nodes has let it go in order.
    pub(crate) why: Option<Error>,
}

impl<B: Body> Links<B> {
    pub(crate) fn new(key: Key, settings: Settings) -> Links<B> {
        Links {
            key: Arc::new(key),
            access: Arc::new(settings.access.clone()),
            connected: 0,
            begun: 0,
            timers: Timers::default(),
            unread: BTreeSet::new(),
            pace: Pace::new(&settings.budgets),
            heard: Heard::default(),
            purses: Purses::new(settings.budgets),
            settings,
            actions: Actions::default(),
            connections: BTreeMap::new(),
            unlinked: Unlinked::default(),
            dials: Numbered::new(),
            redials: HashMap::new(),
            all: Slots::new(),
            peers: HashMap::new(),
            farewells: BTreeMap::new(),
            turns: VecDeque::new(),
            refusals: Refusals::default(),
            guests: Guests::default(),
        }
    }

    /// Forgets a connection.
    fn remove_connection(&mut self, id: ConnId) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        connection.standing.into_iter().for_each(|standing| self.unlinked.remove(standing));
        Some(connection)
    }

    /// The next turn to handle.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        self.turns.pop_front()
    }

    /// Whether this link has not ended.
    pub(crate) fn has(&self, key: LinkKey) -> bool {
        self.all.get(key).is_some()
    }

    /// Whether a link has a connection.
    pub(crate) fn stands(&self, key: LinkKey) -> bool {
        self.all.get(key).is_some_and(|link| link.connection.is_some())
    }

    /// How long a link has been without a connection.
    pub(crate) fn cut_for(&self, now: Time, key: LinkKey) -> Time {
        let cut = self.all.get(key).filter(|link| link.connection.is_none());
        cut.map_or(Time::ZERO, |link| now.saturating_sub(link.since))
    }

    /// The links that have a connection, and since when.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (LinkKey, Time)> {
        self.all.iter().filter(|(_, link)| link.connection.is_some()).map(|(key, link)| (key, link.since))
    }

    /// The node at the other end of a link, if that has not ended.
    pub(crate) fn peer(&self, key: LinkKey) -> Option<NodeId> {
        self.all.get(key).map(|link| link.peer)
    }

    /// Whether the other end of a link is on this machine for sure: the system has said for which user it runs.
    pub(crate) fn is_near(&self, key: LinkKey) -> bool {
        self.all.get(key).is_some_and(|link| link.credentials.local_user.is_some())
    }

    /// Whom the node at the other end of a link counts under. Those who have gone count under one.
    pub(crate) fn principal(&self, key: LinkKey) -> Principal {
        self.all.get(key).map_or(Principal::Nobody, |link| link.taken.principal)
    }

    /// All links.
    pub(crate) fn keys(&self) -> Vec<LinkKey> {
        self.all.keys()
    }

    /// The link with a node.
    pub(crate) fn with(&self, node: NodeId) -> Option<LinkKey> {
        self.peers.get(&node).copied()
    }

    /// A standing link with the node that was dialed there. What a node says of its addresses does not count: anybody
    /// could claim the address of another.
    pub(crate) fn at_address(&self, address: &str) -> Option<LinkKey> {
        let is_there = |link: &Link<B>| link.reached.iter().any(|other| other == address);
        self.all.iter().find(|(_, link)| link.connection.is_some() && is_there(link)).map(|(key, _)| key)
    }

    /// The link of a connection after its handshake.
    #[inline]
    pub(crate) fn of(&self, id: ConnId) -> Option<LinkKey> {
        self.connections.get(&id)?.link
    }

    /// Appends a frame to a link's output. Without a connection it is dropped, since the next epoch resends everything.
    pub(crate) fn say(&mut self, key: LinkKey, control: &Control) {
        let Some(link) = self.all.get_mut(key).filter(|link| link.connection.is_some()) else { return };
        let length = link.outbox.say(control);
        self.answered(key, length);
        self.announce(key);
    }

    /// The index of a format on a link with a connection. If the other side does not know the format, it is described
    /// first.
    pub(crate) fn index(&mut self, key: LinkKey, format: &Format) -> Option<u16> {
        let link = self.all.get_mut(key).filter(|link| link.connection.is_some())?;
        let before = link.outbox.answers();
        let index = link.outbox.index_of_answer(format);
        let length = link.outbox.answers() - before;
        self.answered(key, length);
        Some(index)
    }

    /// Whether the format of a description is known.
    pub(crate) fn knows(&self, description: &[u8]) -> bool {
        self.settings.registry.known(Token::of(description)).is_some()
    }

    /// The other side describes a format.
    pub(crate) fn name(&mut self, key: LinkKey, index: u16, description: &[u8]) -> Result<()> {
        let registry = &self.settings.registry;
        self.all[key].formats.admit(index, registry.limits())?;
        let format = registry.learn(description)?;
        self.hold(key, &format)?;
        self.all[key].formats.name(index, format)
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
