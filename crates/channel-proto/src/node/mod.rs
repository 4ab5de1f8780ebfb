//! A node: a process's part in channels. Here are its state and what the application asks of it; its other parts are
//!
//! - `connections`: dialing, the handshake, cuts, and the passing of time;
//! - `frames`, `output`: what comes over a connection, and what goes out;
//! - `channels`, `members`, `offers`, `subscriptions`: what is set up, in this order;
//! - `epochs`: what is said when a connection takes the place of another, and what is left when none does;
//! - `events`: submitting and taking;
//! - `reports`: accounts, counts, members;
//! - `link`, `state`: what is kept of another node, and of everything else.

mod channels;
mod connections;
mod epochs;
mod events;
mod frames;
mod link;
mod members;
mod offers;
mod output;
mod reports;
mod state;
mod subscriptions;

pub use events::Submitted;
pub use frames::Large;
pub use reports::{ChannelInfo, MemberInfo};

use crate::Time;
use crate::account::Policy;
use crate::inbox::Known;
use crate::memory::{Body, Storage};
use crate::numbered::Numbered;
use crate::receiving::{Count, Receiving, Window};
use crate::sending::Sending;
use isoform_core::{Code, Error, Faults, Format, Limits, Result, Rules};
use link::Link;
use slab::Slab;
use state::{Channel, Connection, Dial, Open, Sink, Source};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

/// Tells one node from all others: 16 random bytes, new with every start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub [u8; 16]);

/// Tells one channel from all others: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity(pub [u8; 16]);

impl NodeId {
    /// Whoever is there.
    pub const ANY: NodeId = NodeId([0; 16]);
}

impl Identity {
    /// Whichever channel has the name.
    pub(crate) const NONE: Identity = Identity([0; 16]);
}

macro_rules! keys {
    ($($(#[doc = $doc:literal])* $name:ident($number:ty);)*) => {
        $($(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $number);)*
    };
}

keys! {
    /// A connection, by a number that the caller chose and does not use again.
    ConnId(u64);
    /// An attempt to connect.
    DialKey(u32);
    /// A channel of a node.
    ChannelKey(u32);
    /// An attempt to open a channel.
    OpenKey(u32);
    /// A source of a node: also its number on the wire.
    SourceKey(u32);
    /// A sink of a node: also its number on the wire.
    SinkKey(u32);
    /// A source as the sinks of a node tell it from others.
    SourceRef(u32);
}

/// A link of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LinkKey(pub(crate) u32);

/// What a node is told of itself when it is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who it is.
    pub id: NodeId,
    /// Where it can be dialed.
    pub addresses: Vec<String>,
    /// What it puts up with from others.
    pub limits: Limits,
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
            limits: Limits::default(),
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

/// What the caller shall do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to an address, and say [`Node::connected`] or [`Node::dial_failed`].
    Dial(DialKey, String),
    /// There is something to be written: ask for [`Node::output`]. Told once, and again when it has become 64 KiB, so that
    /// callers may let small events gather.
    Write(ConnId),
    /// Write what there still is to be written, as far as that needs no waiting, and close the connection. The node has
    /// forgotten it.
    Close(ConnId),
    /// Something has come for a sink, whose application has found nothing when it last [took](Node::take).
    Wake(SinkKey),
    /// A source that was told to wait may try again.
    Room(SourceKey),
    /// There is an answer to [`Node::open`].
    Opened(OpenKey),
    /// Members, sources or sinks of a channel have changed, or a report has come.
    Changed(ChannelKey),
}

/// A process's part in channels. `B` are the bodies that it sends, `S` the memory for those that come.
///
/// Whoever has one carries bytes between it and connections, does what its [`Action`]s say, and calls [`tick`](Node::tick)
/// when its [`deadline`](Node::deadline) has come. Here are two, and a connection that is a loop:
///
/// ```
/// use isoform_channel_proto::*;
/// use isoform_core::{FieldList, Machine};
/// use std::sync::Arc;
/// # fn main() -> isoform_core::Result<()> {
/// let mut nodes = [1, 2].map(|id| Node::<Arc<[u8]>, Vec<u8>>::new(Settings::new(NodeId([id; 16]))));
/// let (now, wire) = (Time::ZERO, ConnId(1));
/// let mut talk = |nodes: &mut [Node<Arc<[u8]>, Vec<u8>>; 2]| {
///     while let Some((from, action)) = (0..2).find_map(|i| Some((i, nodes[i].action()?))) {
///         match action {
///             Action::Dial(dial, _) => {
///                 nodes[from].connected(now, wire, Some(dial));
///                 nodes[1 - from].connected(now, wire, None);
///             }
///             Action::Write(id) => {
///                 let mut out = Outgoing::default();
///                 nodes[from].output(now, id, &mut out);
///                 nodes[from].unwritten(id, 0);
///                 nodes[1 - from].receive(now, id, &out.to_vec()).expect("frames");
///             }
///             _ => {} // here, everybody looks at everything anyway
///         }
///     }
/// };
///
/// let format = FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8)?;
/// let channel = nodes[0].create(Identity([7; 16]), "ticks", Some(format.clone()))?;
/// let source = nodes[0].add_source(now, channel, Some(&format))?;
/// let open = nodes[1].open(now, "unix:/run/first", "ticks", None, now + Time::from_secs(5));
/// talk(&mut nodes);
/// let channel = nodes[1].opened(open).expect("an answer")?;
/// let sink = nodes[1].add_sink(now, channel, Wanted::any(Policy::Block))?;
/// talk(&mut nodes);
/// let mut body: Arc<[u8]> = Arc::new(42i64.to_ne_bytes());
/// assert_eq!(nodes[0].submit(1_700_000_000_000_000_000, source, None, &mut body)?, Submitted::Done(0));
/// talk(&mut nodes);
///
/// let (mut batch, mut came) = (Batch::default(), Vec::new());
/// while nodes[1].take(now, sink, &mut batch) {
///     let bodies = batch.items.iter().filter_map(|item| match item {
///         Item::Event { place, .. } => batch.body(*place),
///         _ => None, // the source has joined
///     });
///     came.extend(bodies.map(<[u8]>::to_vec));
/// }
/// assert_eq!(came, [42i64.to_ne_bytes()]);
/// # Ok(())
/// # }
/// ```
pub struct Node<B, S> {
    settings: Settings,
    connections: BTreeMap<ConnId, Connection>,
    dials: Numbered<Dial>,
    links: Slab<Link<B>>,
    peers: HashMap<NodeId, LinkKey>,
    channels: Numbered<Channel>,
    opens: Numbered<Open>,
    sources: Numbered<Source>,
    sinks: Numbered<Sink<B, S>>,
    sendings: Slab<Sending<B>>,
    receivings: Slab<Receiving<S>>,
    actions: VecDeque<Action>,
    /// The number of the next format that is told from others by it.
    serial: u64,
    /// The number of the next source that a sink hears of.
    sources_seen: u32,
    /// The number of the next request to tell of a channel.
    asks: u32,
    /// Bytes of handshakes that go out with the closing of their connections.
    farewells: BTreeMap<ConnId, Vec<u8>>,
}

impl<B: Body, S: Storage> Node<B, S> {
    /// A node that knows nobody.
    pub fn new(settings: Settings) -> Node<B, S> {
        Node {
            settings,
            connections: BTreeMap::new(),
            dials: Numbered::new(),
            links: Slab::new(),
            peers: HashMap::new(),
            channels: Numbered::new(),
            opens: Numbered::new(),
            sources: Numbered::new(),
            sinks: Numbered::new(),
            sendings: Slab::new(),
            receivings: Slab::new(),
            actions: VecDeque::new(),
            serial: 0,
            sources_seen: 0,
            asks: 0,
            farewells: BTreeMap::new(),
        }
    }

    /// Who it is.
    pub fn id(&self) -> NodeId {
        self.settings.id
    }

    /// Where it says that it can be dialed.
    pub fn set_addresses(&mut self, addresses: Vec<String>) {
        self.settings.addresses = addresses;
    }

    /// The next thing that the caller shall do. To be asked until there is none, after every other call.
    #[inline]
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether there is such a thing.
    #[inline]
    pub fn has_action(&self) -> bool {
        !self.actions.is_empty()
    }

    fn act(&mut self, action: Action) {
        // Told once is enough: what is woken looks at everything.
        if self.actions.back() != Some(&action) {
            self.actions.push_back(action);
        }
    }

    /// A format with a number of its own.
    fn known(&mut self, format: Format) -> Known {
        self.serial += 1;
        Known { format, serial: self.serial }
    }
}

/// The failure to find what was closed.
#[cold]
fn closed(what: &str) -> Error {
    Error::new(Code::Closed).at(what)
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0[..4], f)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0[..4], f)
    }
}

impl<B, S> fmt::Debug for Node<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (links, channels) = (self.links.len(), self.channels.len());
        write!(f, "Node({:?}, {links} links, {channels} channels)", self.settings.id)
    }
}

/// Refuses what cannot be the name of a channel.
///
/// # Errors
/// [`Code::Address`].
///
/// ```
/// use isoform_channel_proto::check_name;
/// assert!(check_name("river").is_ok());
/// assert!(check_name("river/depth").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    let expected = if !(1..=255).contains(&name.len()) {
        "a name of 1 to 255 bytes"
    } else if name.contains('/') || name.contains(char::is_control) {
        "a name without / and control characters"
    } else if name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "a name that does not look like an identity, which is 32 hexadecimal digits"
    } else {
        return Ok(());
    };
    Err(Error::new(Code::Address).expected(expected).came(format_args!("{name:?}")))
}
