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

use crate::action::Action;
use crate::keys::{
    ChannelKey, ConnId, DialKey, LinkKey, NodeId, OpenKey, ReceivingKey, SendingKey, SinkKey, SourceKey,
};
use crate::memory::{Body, Storage};
use crate::numbered::{Numbered, Slots};
use crate::receiving::Receiving;
use crate::sending::Sending;
use crate::settings::Settings;
use isoform_core::{Code, Error};
use link::Link;
use state::{Channel, Connection, Dial, Open, Sink, Source};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

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
/// let source = nodes[0].add_source(channel, Some(&format))?;
/// let open = nodes[1].open(now, "unix:/run/first", "ticks", None, now + Time::from_secs(5));
/// talk(&mut nodes);
/// let channel = nodes[1].opened(open).expect("an answer")?;
/// let sink = nodes[1].add_sink(channel, Wanted::any(Policy::Block))?;
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
    dials: Numbered<DialKey, Dial>,
    links: Slots<LinkKey, Link<B>>,
    peers: HashMap<NodeId, LinkKey>,
    channels: Numbered<ChannelKey, Channel>,
    opens: Numbered<OpenKey, Open>,
    sources: Numbered<SourceKey, Source>,
    sinks: Numbered<SinkKey, Sink<B, S>>,
    sendings: Slots<SendingKey, Sending<B>>,
    receivings: Slots<ReceivingKey, Receiving<S>>,
    actions: VecDeque<Action>,
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
            links: Slots::new(),
            peers: HashMap::new(),
            channels: Numbered::new(),
            opens: Numbered::new(),
            sources: Numbered::new(),
            sinks: Numbered::new(),
            sendings: Slots::new(),
            receivings: Slots::new(),
            actions: VecDeque::new(),
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
}

/// The failure to find what was closed.
#[cold]
fn closed(what: &str) -> Error {
    Error::new(Code::Closed).at(what)
}

impl<B, S> fmt::Debug for Node<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (links, channels) = (self.links.len(), self.channels.len());
        write!(f, "Node({:?}, {links} links, {channels} channels)", self.settings.id)
    }
}
