//! A node: the member of channels that acts for this process.

use crate::api::budget;
use crate::api::channel::Channel;
use crate::api::id::ChannelId;
use crate::api::keys::{self, Keys};
use crate::api::life::{Life, Member};
use crate::api::listening::{Listening, advertised};
use crate::api::nonce::nonce;
use crate::api::protection::Protection;
use crate::drive::bell::Bell;
use crate::drive::hub::Hub;
use crate::drive::keeper::Keeper;
use crate::drive::machine::Machine;
use crate::drive::places::Places;
use crate::drive::rules::RuleFile;
use crate::drive::wait::after;
use crate::end::handlers::Handlers;
use crate::transport::address::Address;
use crate::transport::system;
#[cfg(feature = "tls")]
use crate::transport::tls::Tls;
use crate::transport::{Transport, Transports, serving};
use isoform::{Code, Error, Format, Limits, Record, Registry, Result};
use isoform_channel_proto::{Access, Admission, Budgets, Derived, Identity, Key, OwnUser, Rights, Settings, SharedKey};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time for an answer to [`Node::open`].
const PATIENCE: Duration = Duration::from_secs(5);
/// The limits of the times that can be set.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_millis(u32::MAX as u64);

/// The member of channels that acts for this process. Other nodes can dial it. It has one link with each node that it
/// shares channels with. It creates and opens channels. Usually a process has one node.
///
/// ```
/// use isoform::Record;
/// use isoform_channel::{Event, Node};
/// use std::time::Duration;
/// #[derive(Record)]
/// #[repr(C)]
/// struct Tick {
///     count: u64,
/// }
/// // One process makes a channel, and a source on it ..
/// let node = Node::new()?;
/// let channel = node.create::<Tick>("ticks")?;
/// let mut source = channel.source::<Tick>()?;
///
/// // .. another opens it by its id, which is text ..
/// let id = channel.id().to_string();
/// let other = Node::new()?;
/// let mut sink = other.open(&id)?.sink::<Tick>()?;
///
/// // .. and has what is submitted from then on.
/// source.wait_for_sinks(1, Duration::from_secs(5))?;
/// source.submit(&Tick { count: 7 })?;
/// loop {
///     if let Event::Record { record, .. } = sink.recv()? {
///         assert_eq!(record.count, 7);
///         break;
///     }
/// }
/// # Ok::<(), isoform::Error>(())
/// ```
///
/// When the last handle of the node, its channels, sources and sinks is dropped, the sinks have one second to take the
/// submitted events. [`Source::close`](crate::Source::close) waits longer, and returns the account.
///
/// A forked process must not use the handles of its parent. If it drops them, nothing happens.
#[derive(Clone)]
pub struct Node {
    pub(crate) life: Arc<Life>,
}

/// Builds a node with non-default settings: see [`Node::builder`].
#[derive(Clone, Debug)]
pub struct NodeBuilder {
    listen: Vec<String>,
    advertise: Vec<String>,
    transports: Transports,
    insecure: bool,
    keys: Vec<SharedKey>,
    admits_anyone: bool,
    protection: Protection,
    rules: Rules,
    settings: Settings,
}

/// Where the rules of a node come from.
#[derive(Clone, Debug)]
enum Rules {
    /// The file beside the user's key, if it is there.
    Usual,
    File(PathBuf),
    Given(Rights),
}

impl Node {
    /// Creates a node that listens on this machine, over TCP, at a port that the system chooses. It admits the programs of
    /// the same user: see [`NodeBuilder::key`].
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn new() -> Result<Node> {
        Node::builder().build()
    }

    /// Builds a node with non-default settings.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// # let directory = tempfile::tempdir()?;
    /// # let socket = directory.path().join("isoform.sock");
    /// let node = Node::builder().listen("127.0.0.1:0").listen(format!("unix:{}", socket.display())).build()?;
    /// assert_eq!(node.addresses().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> NodeBuilder {
        NodeBuilder {
            listen: Vec::new(),
            advertise: Vec::new(),
            transports: Vec::new(),
            insecure: false,
            keys: Vec::new(),
            admits_anyone: false,
            protection: Protection::default(),
            rules: Rules::Usual,
            settings: Settings::default(),
        }
    }

    /// The addresses at which others reach it, as far as they are known: those at which it listens, unless
    /// [`advertise`](NodeBuilder::advertise) states others. In place of a wildcard they are those of this machine. There may be
    /// more later, since a node that opens a channel on another machine also listens where the members there see it.
    pub fn addresses(&self) -> Vec<Address> {
        self.life.hub.lock().places.addresses()
    }

    /// Creates a channel for records of this type. Its sources may have more, other and wider fields; its sinks fewer,
    /// other and wider ones.
    ///
    /// # Errors
    /// [`Code::Taken`] if this node has a channel of that name; [`Code::Address`] if the name is invalid.
    pub fn create<T: Record>(&self, name: &str) -> Result<Channel> {
        self.create_with(name, Some(T::format()))
    }

    /// Creates a channel for records of a format that is known only at run time, or without one, for all records.
    ///
    /// # Errors
    /// As [`create`](Node::create).
    pub fn create_with(&self, name: &str, format: Option<&Format>) -> Result<Channel> {
        let nonce = nonce()?;
        let key = self.life.hub.with(|state| {
            let identity = state.machine.identity_of_new(name, &nonce);
            state.machine.create(identity, name, format.cloned())
        })?;
        Channel::new(Member { life: self.life.clone(), key, query: None, is_view: false, given: None })
    }

    /// Opens a channel by its id, such as `iso://127.0.0.1:7000/river`. The id may have the addresses of any of its
    /// members: see [`ChannelId`].
    ///
    /// # Errors
    /// [`Code::Address`] if the id is malformed; [`Code::Unreachable`]; [`Code::Deadline`] after five seconds;
    /// [`Code::NoSuchChannel`]; [`Code::Insecure`]; [`Code::Peers`] if there is no room at the other node until then.
    pub fn open(&self, id: impl AsRef<str>) -> Result<Channel> {
        let id: ChannelId = id.as_ref().parse()?;
        self.open_within(&id, PATIENCE)
    }

    /// The same, with the time for an answer.
    ///
    /// # Errors
    /// As [`open`](Node::open).
    pub fn open_within(&self, id: &ChannelId, patience: Duration) -> Result<Channel> {
        let patience = patience.min(LONGEST);
        let hub = &self.life.hub;
        let addresses = permitted(hub, id)?;
        let bell = Bell::new();
        let identity = id.identity().map(Identity);
        let key = hub.with(|state| {
            let now = hub.now();
            let key = state.machine.open(now, &addresses, id.name(), identity, now + patience);
            if let Some(shared) = id.key() {
                state.machine.use_key(key, id.name(), SharedKey::new(shared));
            }
            state.opens.insert(key, bell.clone());
            key
        });
        let deadline = after(patience + Duration::from_millis(100));
        let answer = hub.drive(&bell, deadline, |state| state.machine.opened_derived(key));
        hub.with(|state| {
            state.opens.remove(&key);
            state.machine.forget_open(key);
        });
        // Errors do not tell the key.
        let shown = id.without_key().to_string();
        let late =
            || Error::new(Code::Deadline).at(shown.clone()).expected(format_args!("an answer within {patience:?}"));
        let within = |error: Error| match error.code() {
            // The other node's identity for the channel adds nothing to the id.
            Code::NoSuchChannel => Error::new(Code::NoSuchChannel).at(shown.clone()),
            _ => error.within(&shown),
        };
        let Derived { channel, query } = answer?.ok_or_else(late)?.map_err(within)?;
        let member =
            Member { life: self.life.clone(), key: channel, query: query.map(Arc::new), is_view: false, given: None };
        let channel = Channel::new(member)?;
        match id.query() {
            Some(query) => channel.derived(query, false).map_err(|error| error.within(&shown)),
            None => Ok(channel),
        }
    }

    /// Calls the [handlers](crate::SinkBuilder::on) of this node on this thread, for the events that have arrived. If
    /// there are none, waits for one within `patience`. Returns the number of events.
    ///
    /// # Errors
    /// The first error of an event that could not be passed to a handler. The next call continues after that event.
    pub fn poll(&self, patience: Duration) -> Result<usize> {
        self.life.handlers.poll(&self.life.hub, patience)
    }

    /// A descriptor for programs that also wait for other things. It is readable whenever [`poll`](Node::poll) would
    /// find an event. Wait for it, but do not read from it. It may report spurious readiness until `poll` has found
    /// nothing.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.life.handlers.bell().descriptor()
    }
}

impl NodeBuilder {
    /// Also listens at this address: `127.0.0.1:7000`, `unix:/tmp/x.sock`. Without any, the node listens at a TCP port
    /// that the system chooses. At a wildcard, `0.0.0.0:7000` or `[::]:7000`, it listens at all addresses of this
    /// machine, and at a host's name at all addresses of the name.
    pub fn listen(mut self, address: impl Into<String>) -> NodeBuilder {
        self.listen.push(address.into());
        self
    }

    /// Tells other nodes this address, and not those of TCP at which this node listens. That is needed where others see this
    /// machine at another address, such as behind a router or in a container. A port of 0 stands for the one at which
    /// this node listens. May be called several times.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::builder().listen("127.0.0.1:0").advertise("gateway.example:7000").build()?;
    /// let id = node.create_with("river", None)?.id();
    /// assert!(id.to_string().starts_with("iso://gateway.example:7000/river/"));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn advertise(mut self, address: impl Into<String>) -> NodeBuilder {
        self.advertise.push(address.into());
        self
    }

    /// Adds a transport for the addresses that it serves. It takes precedence over earlier ones.
    pub fn transport(mut self, transport: impl Transport + 'static) -> NodeBuilder {
        self.transports.insert(0, Arc::new(transport));
        self
    }

    /// Sets the certificate with which this node speaks TLS to other machines, and which of theirs it accepts. By default
    /// it is the one that `isoform keys` has put into the user's configuration, if there is one.
    ///
    /// With a certificate, TLS is spoken on TCP at all addresses beyond this machine, and both sides show a certificate.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> NodeBuilder {
        self.protection.set(tls);
        self
    }

    /// Sets the file with this node's certificate, its key and its authority, as `isoform keys issue` makes it, in place of the
    /// user's. The user's list of revoked certificates still holds.
    pub fn identity(mut self, file: impl Into<PathBuf>) -> NodeBuilder {
        self.protection.set_identity(file.into());
        self
    }

    /// Sets the file with the private key, if the [identity](NodeBuilder::identity) does not contain it.
    pub fn identity_key(mut self, file: impl Into<PathBuf>) -> NodeBuilder {
        self.protection.set_key(file.into());
        self
    }

    /// Adds a file with certificates of authorities. Other machines must have a certificate by one of them. Without such a
    /// file, the authorities are trusted whose certificates the [identity](NodeBuilder::identity) contains.
    pub fn trust(mut self, file: impl Into<PathBuf>) -> NodeBuilder {
        self.protection.trust(file.into());
        self
    }

    /// Trusts the authorities that this machine trusts. As these give certificates to anybody, this needs a
    /// [name](NodeBuilder::trust_name).
    pub fn trust_platform(mut self, yes: bool) -> NodeBuilder {
        self.protection.trust_platform(yes);
        self
    }

    /// Accepts from other machines only certificates with this name, or one below it: `*.cluster.example`. Can be repeated.
    pub fn trust_name(mut self, name: impl Into<String>) -> NodeBuilder {
        self.protection.trust_name(name.into());
        self
    }

    /// Adds a file with revocation lists (CRLs) of the authorities.
    pub fn revoked(mut self, file: impl Into<PathBuf>) -> NodeBuilder {
        self.protection.set_revoked(file.into());
        self
    }

    /// Speaks TLS also on TCP within this machine. That is needed where an address of this machine leads to another one,
    /// through a tunnel or into a container. Where this node listens, programs of this machine must then speak TLS, too.
    pub fn tls_on_loopback(mut self, yes: bool) -> NodeBuilder {
        self.protection.set_loopback(yes);
        self
    }

    /// Allows listening and dialing beyond this machine without TLS: then anyone on the network can read and change what is
    /// sent. Such a node dials without TLS, and accepts both.
    pub fn insecure(mut self, yes: bool) -> NodeBuilder {
        self.insecure = yes;
        self
    }

    /// Adds a shared key. Nodes that know a key in common may have a link; [`new_key`](crate::new_key) makes one. Every
    /// node also knows the key of its user: that of the variable `ISOFORM_KEY`, or that of a file which only this user
    /// can read.
    ///
    /// The first key is the most important one: a node offers up to four to each node that it dials.
    pub fn key(mut self, key: SharedKey) -> NodeBuilder {
        self.keys.push(key);
        self
    }

    /// Admits everyone who can connect, and talks to whatever answers where it dials. By default, a node admits nodes that
    /// prove a shared [key](NodeBuilder::key), and those of the same user that come over a Unix socket.
    pub fn admit_anyone(mut self, yes: bool) -> NodeBuilder {
        self.admits_anyone = yes;
        self
    }

    /// Reads the rules in this file: which of the nodes that are admitted may do what on which channels. By default, they
    /// are those in the file `rules` beside the user's key (`~/.config/isoform/rules`), if it is there. Without rules,
    /// whoever is admitted may do everything.
    ///
    /// ```
    /// use isoform::{Code, Messages};
    /// use isoform_channel::{Event, Node};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("rules");
    /// // Everybody whom this node admits may watch.
    /// std::fs::write(&path, "allow anyone see,subscribe,ask on *")?;
    /// let node = Node::builder().rules(&path).build()?;
    /// let channel = node.create_with("pumps", None)?;
    ///
    /// // Another node cannot publish: its source is refused, and both programs are told.
    /// let mut sink = channel.sink_builder().build::<Messages>()?;
    /// let other = Node::new()?.open(channel.id().to_string())?;
    /// let source = other.source_builder().build::<Messages>()?;
    /// let Event::Refused(_, error) = sink.recv()? else { panic!("it is refused") };
    /// assert_eq!(error.code(), Code::Forbidden);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rules(mut self, file: impl Into<PathBuf>) -> NodeBuilder {
        self.rules = Rules::File(file.into());
        self
    }

    /// The same with rules that are not in a file.
    pub fn rights(mut self, rights: Rights) -> NodeBuilder {
        self.rules = Rules::Given(rights);
        self
    }

    /// Sets the time of silence after which another node is taken for dead. The default is 10 seconds.
    pub fn silence(mut self, silence: Duration) -> NodeBuilder {
        self.settings.silence = silence;
        self
    }

    /// Sets how long a link is kept after its connection broke, so that it can be restored. The default is 10 seconds.
    pub fn linger(mut self, linger: Duration) -> NodeBuilder {
        self.settings.linger = linger;
        self
    }

    /// Sets how much other nodes may make this node keep. Raise it for a node that serves thousands of others.
    ///
    /// ```
    /// use isoform_channel::{Budgets, Node, Resource};
    /// let mut budgets = Budgets::default();
    /// budgets.node[Resource::Queues] = 8 << 30;
    /// let node = Node::builder().budgets(budgets).build()?;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn budgets(mut self, budgets: Budgets) -> NodeBuilder {
        self.settings.budgets = budgets;
        self
    }

    /// Learns the formats that other nodes describe into this registry, within its limits. By default it is a fresh
    /// one.
    ///
    /// Other nodes can fill it: formats that streams have taught it may then be forgotten, but none that is
    /// [registered](Registry::register). Channels do not depend on what is forgotten.
    pub fn registry(mut self, registry: Registry) -> NodeBuilder {
        self.settings.registry = registry;
        self
    }

    /// Learns formats into a fresh registry with these limits.
    pub fn limits(self, limits: Limits) -> NodeBuilder {
        self.registry(Registry::within(limits))
    }

    /// Creates the node.
    ///
    /// # Errors
    /// [`Code::Address`]; [`Code::Insecure`] for an address beyond this machine; [`Code::Taken`] if another program
    /// listens there; [`Code::Io`], also if others can read the file with the user's shared key, or change the file of
    /// rules; [`Code::Text`] if a line of the rules is wrong; [`Code::Handshake`] if a certificate cannot be used.
    pub fn build(mut self) -> Result<Node> {
        let Settings { silence, linger, .. } = &mut self.settings;
        *silence = (*silence).clamp(SHORTEST, LONGEST);
        *linger = (*linger).min(LONGEST);
        self.transports.extend(self.protection.transports(self.insecure)?);
        (self.settings.access, self.settings.own_user) = access(self.keys, self.admits_anyone)?;
        let rules;
        (rules, self.settings.rights) = match self.rules {
            Rules::Usual => match keys::rules().map(RuleFile::read_if_there).transpose()? {
                Some((file, rights)) => (Some(file), rights),
                None => (None, None),
            },
            Rules::File(path) => {
                let (file, rights) = RuleFile::read(path)?;
                (Some(file), Some(rights))
            }
            Rules::Given(rights) => (None, Some(rights)),
        };
        if self.listen.is_empty() {
            self.listen.push("127.0.0.1:0".into());
        }
        let advertised = self.advertise.iter().map(|text| advertised(text)).collect::<Result<Vec<_>>>()?;
        let mut listening = Listening::default();
        for text in &self.listen {
            let permit = |address: &Address| {
                let protects = || serving(&self.transports, address).is_ok_and(|transport| transport.protects(address));
                address.permit(self.insecure || protects())
            };
            listening.add(&self.transports, &text.parse()?, permit)?;
        }
        let Listening { listeners, addresses } = listening;
        self.settings.connections = budget::connections();
        let hub =
            Arc::new(Hub::new(Machine::new(Key::from_seed(nonce()?), self.settings), self.transports, self.insecure)?);
        hub.with(|state| {
            state.places = Places::new(addresses, advertised);
            state.tell_places();
        });
        let keeper = Keeper::new(hub.clone(), listeners, rules)?;
        let handlers = Handlers::new();
        let shared = hub.clone();
        let keeper = std::thread::Builder::new().name("isoform".into()).spawn(move || {
            let ended = catch_unwind(AssertUnwindSafe(|| keeper.run()));
            shared.broken.store(ended.is_err(), Ordering::Relaxed);
            shared.wake_all();
        });
        let keeper = keeper.map_err(|error| Error::new(Code::Io).found(format_args!("starting a thread: {error}")))?;
        Ok(Node { life: Arc::new(Life::new(hub, handlers, keeper)) })
    }
}

/// The addresses of an id that the node may dial. If there are none, why it may not.
fn permitted(hub: &Hub, id: &ChannelId) -> Result<Vec<String>> {
    let mut refused = None;
    let mut may = |address: &&Address| hub.permit(address).map_err(|error| _ = refused.get_or_insert(error)).is_ok();
    let permitted: Vec<String> = id.addresses().iter().filter(&mut may).map(Address::to_string).collect();
    match refused {
        Some(refused) if permitted.is_empty() => Err(refused),
        _ => Ok(permitted),
    }
}

/// Whom a node admits, and who is its own user. The administrator can do everything anyway.
fn access(mut keys: Vec<SharedKey>, anyone: bool) -> Result<(Access, OwnUser)> {
    let stored = keys::of_this_user();
    let users = system::users();
    let admission = if anyone { Admission::Anyone } else { Admission::Known { users: users.clone() } };
    // A node that admits everyone can do without.
    let Keys { given, own } = if anyone { stored.unwrap_or_default() } else { stored? };
    let own_user = OwnUser { users, key: own.as_ref().map(SharedKey::name) };
    keys.extend(given.into_iter().chain(own));
    Ok((Access { keys, admission }, own_user))
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.life.hub.lock().machine)
    }
}
