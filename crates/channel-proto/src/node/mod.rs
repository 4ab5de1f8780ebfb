//! A node: the member of channels that acts for a process. The application and the caller use it. It coordinates the
//! three parts that do the work and do not know each other:
//!
//! | | |
//! |---|---|
//! | [`Links`] | connections, and their output |
//! | [`Channels`] | channels, their members, and the sources that these offer |
//! | [`Flows`] | events, from sources to sinks |
//!
//! Channels and flows send their frames over links. When links change, they return [`Turn`]s, which the node handles
//! before anything else. `frames` passes each arriving frame to its part, and `info` combines the information about
//! channels.

mod costs;
mod frames;
mod info;
mod rules;

pub use info::{ChannelInfo, LinkInfo, MemberInfo, Reach};

use crate::Time;
use crate::account::Policy;
use crate::action::Action;
use crate::announcement::Verdicts;
use crate::channels::{Channels, Declined, Derived, Missed};
use crate::credentials::Credentials;
use crate::flows::inbox::Batch;
use crate::flows::{Arrived, Demand, Flows, Large, Submitted, Unheard};
use crate::grant::{Granted, Grants};
use crate::greeting::Greeting;
use crate::identity::Key;
use crate::keys::{ChannelKey, ConnId, DemandKey, DialKey, Identity, NodeId, OpenKey, SinkKey, SourceKey, SourceRef};
use crate::links::{Links, Outgoing, Purpose, Turn};
use crate::memory::{Body, Draft, Drafts, One, Storage};
use crate::offer::{Offer, Offered, Place};
use crate::parameters::Parameters;
use crate::report::SinkLedger;
use crate::rights::Right;
use crate::settings::{Settings, Wanted};
use crate::shared::SharedKey;
use isoform_core::plan::Plans;
use isoform_core::{Error, Format, Result};
use isoform_query::Query;
use std::fmt;
use std::sync::Arc;

/// With so many bytes of answers that the node does not know to be written, the caller says soon how many are.
const ANSWERS: usize = 1024;

/// The part of a process in channels. `B` is the type of bodies that it sends, and `S` the memory of those that arrive.
///
/// The caller carries bytes between the node and its connections, takes its [`Action`]s, and calls [`tick`](Node::tick) at
/// its [`deadline`](Node::deadline). This example connects two nodes by a loop:
///
/// ```
/// use isoform_channel_proto::*;
/// use isoform_core::{FieldList, Machine};
/// use std::sync::Arc;
/// # fn main() -> isoform_core::Result<()> {
/// let mut nodes = [1, 2].map(|id| Node::<Arc<[u8]>, Vec<u8>>::new(Key::from_seed([id; 32]), Settings::default()));
/// let (now, wire) = (Time::ZERO, ConnId(1));
/// let mut talk = |nodes: &mut [Node<Arc<[u8]>, Vec<u8>>; 2]| {
///     while let Some((from, action)) = (0..2).find_map(|i| Some((i, nodes[i].action()?))) {
///         match action {
///             Action::Dial(dial, _) => {
///                 nodes[from].connected(now, wire, Some(dial), Credentials::default());
///                 nodes[1 - from].connected(now, wire, None, Credentials::default());
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
/// let open = nodes[1].open(now, &["unix:/run/first".into()], "ticks", None, now + Time::from_secs(5));
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
///     let bodies = batch.items().filter_map(|item| match item {
///         Item::Event { place, .. } => batch.body(place),
///         _ => None, // the source has joined
///     });
///     came.extend(bodies.map(<[u8]>::to_vec));
/// }
/// assert_eq!(came, [42i64.to_ne_bytes()]);
/// # Ok(())
/// # }
/// ```
pub struct Node<B, S> {
    links: Links<B>,
    channels: Channels,
    flows: Flows<B, S>,
}

/// The node itself.
impl<B: Body, S: Storage> Node<B, S> {
    /// A node that knows nobody.
    pub fn new(key: Key, settings: Settings) -> Node<B, S> {
        let seed = key.nonce(u64::MAX);
        let seed = seed.first_chunk().map_or(0, |seed| u64::from_le_bytes(*seed));
        Node { links: Links::new(key, settings), channels: Channels::new(seed), flows: Flows::new() }
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.links.key.id()
    }

    /// Sets the addresses that it tells other nodes.
    pub fn set_addresses(&mut self, addresses: Vec<String>) {
        self.links.settings.addresses = addresses;
    }

    /// The next action for the caller. After every other call, ask until there is none.
    #[inline]
    pub fn action(&mut self) -> Option<Action> {
        self.links.actions.next()
    }

    /// Whether there is an action.
    #[inline]
    pub fn has_action(&self) -> bool {
        !self.links.actions.is_empty()
    }

    /// Does the work that is due at this time.
    pub fn tick(&mut self, now: Time) {
        self.links.tick(now);
        self.follow(now);
        let Node { links, channels, flows } = self;
        flows.tick(now, links);
        channels.tick(links);
        channels.tidy(links, |link| flows.uses(link));
        self.follow(now);
    }

    /// The time at which [`tick`](Node::tick) has work to do; `None` if never.
    pub fn deadline(&self) -> Option<Time> {
        let all = [self.links.deadline(), self.flows.deadline(&self.links), self.channels.deadline(&self.links)];
        all.into_iter().flatten().min()
    }

    /// Shares what is known of signatures with other nodes of this process. For simulations of many nodes.
    #[doc(hidden)]
    pub fn share(&mut self, verdicts: Verdicts) {
        self.channels.share(verdicts);
    }

    /// This node was stopped for a while, so silence until now does not count.
    pub fn excuse(&mut self, now: Time) {
        self.links.excuse(now);
    }

    /// Leaves all channels, and ends all links with a Bye.
    pub fn leave(&mut self) {
        self.channels.keys().into_iter().for_each(|channel| self.close(channel));
        self.links.leave();
        self.follow(Time::ZERO);
        self.channels.forget_opens(&mut self.links);
    }

    /// Handles the changes of links.
    fn follow(&mut self, now: Time) {
        self.channels.at(now);
        self.links.end_unread(now);
        while let Some(turn) = self.links.turn() {
            let Node { links, channels, flows } = self;
            match turn {
                Turn::Begun(link) => {
                    flows.begin_link(link);
                    channels.say_all(links, link);
                    flows.say_subscriptions(links, link);
                    // The node may have come with other credentials.
                    self.heed(link);
                    self.announce_all();
                    self.channels.keys().into_iter().for_each(|channel| self.subscribe_more(channel, link));
                    let links = &mut self.links;
                    links.say(link, &crate::control::Control::Synced);
                }
                Turn::Cut(link) if links.has(link) => flows.cut_link(links, link),
                // It has ended since then, and a later turn says so.
                Turn::Cut(_) => {}
                Turn::Ended(ended) => {
                    flows.end_link(links, ended.link, ended.held);
                    channels.lose_link(links, ended);
                }
                Turn::Reached(Purpose::Open(open), link) => channels.open_reached(links, open, link),
                Turn::Reached(Purpose::Meet(channel), link) => channels.has_met(links, channel, link),
                Turn::Missed(Purpose::Open(open), _, error) => channels.open_missed(links, open, error),
                Turn::Missed(Purpose::Meet(channel), node, error) => {
                    channels.was_not_met(links, channel, node, error);
                }
                Turn::Reached(Purpose::Resume(_), _) | Turn::Missed(Purpose::Resume(_), ..) => {}
            }
        }
        self.say_missed();
        for (sink, offer) in self.channels.take_retries(&self.links) {
            if !self.flows.has_subscribed(sink, offer.origin) {
                self.subscribe(sink, &offer);
            }
        }
    }
}

/// Connections.
impl<B: Body, S: Storage> Node<B, S> {
    /// A connection exists: this node dialed it, or it was accepted. The caller says what its transport knows of the other
    /// side.
    pub fn connected(&mut self, now: Time, id: ConnId, dial: Option<DialKey>, credentials: Credentials) {
        self.links.connected(now, id, dial, credentials);
    }

    /// Whether the first bytes of an accepted connection may be read, before its transport knows who is at the other end, although
    /// that takes much time. If not, [`Action::Read`] tells when, unless the connection is closed before.
    pub fn may_read(&mut self, now: Time, id: ConnId) -> bool {
        self.links.may_read(now, id)
    }

    /// Whether a connection is that of a link, so that its handshake is over.
    pub fn is_linked(&self, id: ConnId) -> bool {
        self.links.of(id).is_some()
    }

    /// What has arrived on the connection of a link, if it is one, of which these bytes of the last frame were not used.
    pub fn arrived(&self, id: ConnId, rest: &[u8]) -> Option<Arrived> {
        self.links.of(id).map(|link| self.flows.arrived(link, rest))
    }

    /// A connection has been read several times in a row, and each time brought little, as `spec/channel.md` ("Bytes in pieces") has
    /// it. Returns whether it may be read on. If not, [`Action::Read`] tells when, unless the connection is closed before.
    ///
    /// # Errors
    /// [`Code::Budget`](isoform_core::Code::Budget), as those of [`receive`](Node::receive).
    pub fn came_in_pieces(&mut self, now: Time, id: ConnId) -> Result<bool> {
        let may_go_on = match self.links.of(id) {
            Some(link) => self.expect_patience(now, link, 1).map(|()| true),
            None => self.links.came_in_pieces(now, id),
        };
        self.failed(now, id, may_go_on)
    }

    /// Sets how many bytes of long or queued events may be ahead of a short event that is submitted later. It is 128
    /// KiB unless the caller sets it before the end of the handshake. A larger value gives more throughput and more
    /// latency.
    pub fn let_ahead(&mut self, id: ConnId, bytes: usize) {
        self.links.let_ahead(id, bytes);
    }

    /// The greeting of a connection, until the other side has proven who it is. A caller that [receives](Greeting::receive)
    /// with it does not keep the node from others meanwhile. It is to be [put back](Node::put_greeting) before more bytes of
    /// this connection are given to the node.
    pub fn take_greeting(&mut self, id: ConnId) -> Option<Greeting> {
        self.links.take_greeting(id)
    }

    /// Puts a greeting back, with what became of receiving. The connection is closed for an error. Returns whether the greeting can
    /// go on although nothing more has arrived: take it and receive again.
    pub fn put_greeting(&mut self, now: Time, id: ConnId, greeting: Greeting, received: Result<usize>) -> bool {
        let goes_on = self.links.put_greeting(now, id, greeting, received.is_err());
        if let Err(error) = &received {
            self.links.fail(now, id, error);
        }
        self.follow(now);
        goes_on
    }

    /// An attempt to connect has failed.
    pub fn dial_failed(&mut self, now: Time, dial: DialKey, error: Error) {
        self.links.dial_failed(now, dial, error);
        self.follow(now);
    }

    /// A connection was closed without a Bye.
    pub fn closed(&mut self, now: Time, id: ConnId, why: Option<Error>) {
        self.links.closed(now, id, why);
        self.follow(now);
    }

    /// Passes pending output to the caller, in exchange for memory of an earlier call, whose output is then written.
    /// Returns whether the caller should call this again as soon as that is written, because there was much or there is
    /// more. Otherwise [`Action::Write`] announces further output.
    pub fn output(&mut self, now: Time, id: ConnId, out: &mut Outgoing<B>) -> bool {
        let Node { links, flows, .. } = self;
        out.clear();
        let Some(link) = links.of(id) else {
            links.output_of_stranger(id, out);
            return false;
        };
        flows.depart(now, links, link);
        links.output(now, link, out);
        // With fewer bytes that the node does not know to be written, the outbox accepts everything that is queued. Answers are
        // charged until it knows.
        let outbox = &links[link].outbox;
        flows.has_more(link) || outbox.length() >= crate::frame::PAYLOAD || outbox.answers() >= ANSWERS
    }

    /// Whether the pending output of a link's connection is worth a system call.
    pub fn has_much(&self, id: ConnId) -> bool {
        self.links.of(id).is_some_and(|link| self.links.has_much(link) || self.flows.has_more(link))
    }

    /// The number of pending bytes for a connection.
    pub fn waiting(&self, id: ConnId) -> usize {
        self.links.waiting(id)
    }

    /// The number of passed bytes that the caller has not written yet.
    pub fn unwritten(&mut self, id: ConnId, bytes: usize) {
        if let Some(link) = self.links.of(id) {
            self.flows.unwritten(&mut self.links, link, bytes);
        }
    }

    /// The memory for the rest of the current fragment, if its body is still wanted. Give it [back](Node::put_large)
    /// before any other call about this connection.
    pub fn take_large(&mut self, id: ConnId) -> Option<Large<S>> {
        self.flows.take_large(self.links.of(id)?)
    }

    /// Takes the memory of a fragment back, with this many more bytes in it.
    pub fn put_large(&mut self, now: Time, id: ConnId, large: Large<S>, got: usize) {
        let Some(link) = self.links.of(id) else { return };
        self.links[link].heard = now;
        self.flows.put_large(&mut self.links, link, large, got);
    }

    /// Skips bytes of the current fragment. They have arrived, but there is no [memory](Node::take_large) for them,
    /// since the sink has left meanwhile.
    pub fn skip_large(&mut self, now: Time, id: ConnId, count: usize) {
        let Some(link) = self.links.of(id) else { return };
        self.links[link].heard = now;
        self.flows.skip_large(&mut self.links, link, count);
    }
}

/// Channels.
impl<B: Body, S: Storage> Node<B, S> {
    /// The identity of a channel that this node makes, from a number that it uses once.
    pub fn identity_of_new(&self, name: &str, nonce: &[u8; 16]) -> Identity {
        self.links.key.channel(name, nonce)
    }

    /// Creates a channel, with a type or without.
    ///
    /// # Errors
    /// [`Code::Address`](isoform_core::Code::Address) if the name cannot be one; [`Code::Taken`](isoform_core::Code::Taken) if
    /// there is a channel of that name here.
    pub fn create(&mut self, identity: Identity, name: &str, format: Option<Format>) -> Result<ChannelKey> {
        self.channels.create(identity, name, format)
    }

    /// Opens a channel at a node with one of these addresses: the first that answers and has it, by its name, and by its
    /// identity if that is known. Each address is tried 250 milliseconds after the one before, or as soon as that has failed.
    /// There is an answer at `deadline` at the latest.
    pub fn open(
        &mut self,
        now: Time,
        addresses: &[String],
        name: &str,
        identity: Option<Identity>,
        deadline: Time,
    ) -> OpenKey {
        self.channels.at(now);
        let key = self.channels.open(&mut self.links, addresses, name, identity, deadline);
        self.follow(now);
        key
    }

    /// The result of an attempt to open a channel; `None` as long as there is none. It is returned once.
    pub fn opened(&mut self, key: OpenKey) -> Option<Result<ChannelKey>> {
        self.opened_derived(key).map(|answer| answer.map(|found| found.channel))
    }

    /// The same, with the query if the name was that of a [derived channel](Node::name_derived).
    pub fn opened_derived(&mut self, key: OpenKey) -> Option<Result<Derived>> {
        let answer = self.channels.opened(key)?;
        self.links.opened_with_key(key, answer.as_ref().ok().map(|found| found.channel));
        Some(answer)
    }

    /// Gives a name to what a query gives of a channel. Others can open it here by this name, until the name is
    /// [taken back](Node::forget_derived) or the channel is closed.
    ///
    /// # Errors
    /// As [`create`](Node::create); [`Code::Closed`](isoform_core::Code::Closed).
    pub fn name_derived(&mut self, key: ChannelKey, name: &str, query: Query) -> Result<()> {
        self.channels.name_derived(key, name, query)
    }

    /// Takes such a name back. Those who have opened it keep what they have.
    pub fn forget_derived(&mut self, name: &str) {
        self.channels.forget_derived(name);
    }

    /// Offers a shared key first for this attempt to open a channel of this name, and then to the members of the channel.
    /// Whoever is admitted for the sake of this key alone may open only channels that were opened with such a key.
    pub fn use_key(&mut self, key: OpenKey, name: &str, shared: SharedKey) {
        self.links.open_with_key(key, name, shared);
    }

    /// Forgets an attempt to open a channel. A later answer has no effect.
    pub fn forget_open(&mut self, key: OpenKey) {
        self.links.opened_with_key(key, None);
        self.channels.forget_open(key);
    }

    /// Whether there are members with sinks that this node has heard of, and that have yet to come for its sources.
    pub fn awaits_sinks(&self, key: ChannelKey) -> bool {
        self.channels.awaits_sinks(&self.links, key)
    }

    /// Leaves a channel: its sources and sinks here end, and the other members are told.
    pub fn close(&mut self, key: ChannelKey) {
        self.channels.sources(key).into_iter().for_each(|source| self.end_source(source));
        self.channels.sinks(key).into_iter().for_each(|sink| self.end_sink(sink));
        self.channels.close(&mut self.links, key);
        self.links.closed_with_key(key);
    }
}

/// Sources.
impl<B: Body, S: Storage> Node<B, S> {
    /// Adds a source of events. They all have the given format; without one, they may have any.
    ///
    /// # Errors
    /// [`Code::Closed`](isoform_core::Code::Closed); the error of a plan from the format to the channel's type.
    pub fn add_source(&mut self, key: ChannelKey, format: Option<&Format>) -> Result<SourceKey> {
        self.add_source_that(key, format, Grants::default())
    }

    /// The same, with other grants than usual.
    ///
    /// # Errors
    /// As [`add_source`](Node::add_source).
    pub fn add_source_that(&mut self, key: ChannelKey, format: Option<&Format>, grants: Grants) -> Result<SourceKey> {
        self.add_source_with(key, format, grants, None, None)
    }

    /// The same for a source that may have parameters, with these defaults. Something else may number the events that nobody hears;
    /// otherwise, the node numbers them all.
    ///
    /// # Errors
    /// As [`add_source`](Node::add_source).
    pub fn add_source_with(
        &mut self,
        key: ChannelKey,
        format: Option<&Format>,
        grants: Grants,
        parameters: Option<&Parameters>,
        unheard: Option<Arc<dyn Unheard>>,
    ) -> Result<SourceKey> {
        let agreed = self.channels.expect(key)?.format.as_ref();
        let source = self.flows.add_source(key, agreed, format, grants, parameters, unheard)?;
        let offer = self.channels.add_source(&mut self.links, key, source, format);
        self.offered(key, &offer);
        self.follow_unread();
        Ok(source)
    }

    /// A source leaves. Queued events are sent, and then the end. Its account stays until it is
    /// [dropped](Node::drop_source).
    pub fn end_source(&mut self, key: SourceKey) {
        let Some(channel) = self.flows.end_source(&mut self.links, key) else { return };
        self.channels.end_source(&mut self.links, channel, key);
        self.flows.was_withdrawn(&mut self.links, Place::Here(key));
        // Threads that wait for room learn that the source has left.
        self.flows.make_room(&mut self.links, key);
        self.follow_unread();
    }

    /// Ends the links of nodes that do not read what they are told of sources, however fast this program makes them.
    fn follow_unread(&mut self) {
        if self.links.has_unread() {
            self.follow(Time::ZERO);
        }
    }

    /// Why the node of a sink has declined a source last, unless that node has another sink there now.
    pub fn declined(&self, key: SourceKey) -> Option<(NodeId, Error)> {
        let channel = self.channels.get(self.flows.channel_of_source(key)?)?;
        let (ledgers, all) = (self.flows.ledger(key), channel.declined.iter().rev());
        let is_here = |node| ledgers.iter().any(|sink| sink.present && sink.node == node);
        let last = all.filter(|declined| declined.source == key).find(|declined| !is_here(declined.node))?;
        Some((last.node, last.error.clone()))
    }

    /// Forgets a source. Its events in flight are lost. Returns its account with each sink.
    pub fn drop_source(&mut self, key: SourceKey) -> Vec<SinkLedger> {
        self.end_source(key);
        self.flows.drop_source(&mut self.links, key)
    }

    /// Submits an event to all sinks of a source, with its time in nanoseconds since 1970. `format` is needed only for
    /// a source without a format of its own.
    ///
    /// # Errors
    /// [`Code::Closed`](isoform_core::Code::Closed); [`Code::WrongType`](isoform_core::Code::WrongType) for another format than
    /// the source has; the error of a plan from the format to the channel's type.
    #[inline]
    pub fn submit(
        &mut self,
        time: u64,
        key: SourceKey,
        format: Option<&Format>,
        draft: &mut impl Draft<B>,
    ) -> Result<Submitted> {
        self.submit_at(|| time, key, format, draft)
    }

    /// As [`submit`](Node::submit), with the time from a clock, which is not looked at if no sink wants the event.
    ///
    /// # Errors
    /// As [`submit`](Node::submit).
    #[inline]
    pub fn submit_at(
        &mut self,
        clock: impl FnMut() -> u64,
        key: SourceKey,
        format: Option<&Format>,
        draft: &mut impl Draft<B>,
    ) -> Result<Submitted> {
        self.flows.submit(&mut self.links, clock, key, format, None, &mut One(Some(draft)))
    }

    /// Submits events of the source's own format, one after another, as long as there is room. All get the same time.
    ///
    /// # Errors
    /// As [`submit`](Node::submit).
    #[inline]
    pub fn submit_many(&mut self, time: u64, key: SourceKey, drafts: &mut impl Drafts<B>) -> Result<Submitted> {
        self.flows.submit(&mut self.links, || time, key, None, None, drafts)
    }

    /// As [`submit_at`](Node::submit_at), only to the sinks of a demand. For the others, the event is skipped.
    ///
    /// # Errors
    /// As [`submit`](Node::submit).
    pub fn submit_for(
        &mut self,
        clock: impl FnMut() -> u64,
        key: SourceKey,
        demand: DemandKey,
        format: Option<&Format>,
        draft: &mut impl Draft<B>,
    ) -> Result<Submitted> {
        self.flows.submit(&mut self.links, clock, key, format, Some(demand), &mut One(Some(draft)))
    }

    /// What the sinks of a source ask of its parameters: each demand once. None if the source has no parameters.
    pub fn demands(&self, key: SourceKey) -> Vec<Demand> {
        self.flows.demands(key)
    }

    /// How often the demands of a source have changed.
    pub fn demand_changes(&self, key: SourceKey) -> u64 {
        self.flows.demand_changes(key)
    }

    /// Grants a demand other values than its sinks ask for. Fields that these lack stay as they are. The sinks are told. If
    /// another demand has these values already, they become part of it. Returns their demand.
    ///
    /// # Errors
    /// [`Code::Closed`](isoform_core::Code::Closed); the field at fault if the values do not fit the parameters.
    pub fn grant_values(&mut self, key: SourceKey, demand: DemandKey, values: &Parameters) -> Result<DemandKey> {
        self.flows.grant_values(&mut self.links, key, demand, values)
    }

    /// Refuses a demand: its subscriptions end, and the sinks are told what was expected.
    pub fn refuse_demand(&mut self, key: SourceKey, demand: DemandKey, expected: &str) {
        self.flows.refuse_demand(&mut self.links, key, demand, expected);
    }

    /// A source found no room, and begins to wait at this time. Returns the time until which it waits at most; `None`
    /// if it waits until there is room.
    pub fn wait(&mut self, now: Time, key: SourceKey) -> Option<Time> {
        self.flows.wait(now, &mut self.links, key)
    }

    /// A source does not wait any more. If it has waited as long as it may, or `gives_up`, it drops events for the sinks
    /// that have no room, but not for those that must have [`Policy::Block`].
    pub fn waited(&mut self, now: Time, key: SourceKey, gives_up: bool) {
        self.flows.waited(now, &mut self.links, key, gives_up);
    }

    /// Whether a source waits without limit for each of its sinks.
    pub fn is_lossless(&self, key: SourceKey) -> bool {
        self.flows.is_lossless(key)
    }

    /// The number of the next event of a source.
    pub fn next(&self, key: SourceKey) -> u64 {
        self.flows.next(key)
    }

    /// A sink does not want the next events of a source. They are skipped. For tests, until sinks can say so.
    #[doc(hidden)]
    pub fn skip(&mut self, key: SourceKey, node: NodeId, sink: u32, count: u64) {
        self.flows.skip(&mut self.links, key, node, sink, count);
    }

    /// Whether a source has to wait, and has not been told since that it may try again.
    pub fn waits(&self, key: SourceKey) -> bool {
        self.flows.waits(key)
    }

    /// The connections to the sinks that make a source wait.
    pub fn waits_over(&mut self, key: SourceKey) -> Vec<ConnId> {
        self.flows.waits_over(&mut self.links, key)
    }

    /// Whether no event of a source is in flight, but for those to sinks that nobody waits for.
    pub fn is_settled(&self, now: Time, key: SourceKey) -> bool {
        self.flows.is_settled(&self.links, now, key)
    }

    /// Whether this source exists and has not left.
    pub fn has_source(&self, key: SourceKey) -> bool {
        self.flows.has_source(key)
    }

    /// Whether a source has left, and all its accounts are closed, but for those of sinks that nobody waits for.
    pub fn is_over(&self, now: Time, key: SourceKey) -> bool {
        self.flows.is_over(&self.links, now, key)
    }
}

/// Sinks.
impl<B: Body, S: Storage> Node<B, S> {
    /// Adds a sink for the events of all sources of a channel.
    ///
    /// # Errors
    /// [`Code::Closed`](isoform_core::Code::Closed); what speaks against a plan from the channel's type to the format that is
    /// wanted.
    pub fn add_sink(&mut self, key: ChannelKey, wanted: Wanted) -> Result<SinkKey> {
        let agreed = self.channels.expect(key)?.format.as_ref();
        let sink = self.flows.add_sink(key, agreed, wanted)?;
        for offer in self.channels.add_sink(&mut self.links, key, sink) {
            self.subscribe(sink, &offer);
        }
        Ok(sink)
    }

    /// A sink leaves. Events that it has not taken are lost.
    pub fn end_sink(&mut self, key: SinkKey) {
        if let Some(channel) = self.flows.end_sink(&mut self.links, key) {
            self.channels.end_sink(&mut self.links, channel, key);
        }
    }

    /// Whether this sink exists.
    pub fn has_sink(&self, key: SinkKey) -> bool {
        self.flows.has_sink(key)
    }

    /// The plans of a sink, from the formats of its sources to its own. They are proven when it subscribes. `None` for
    /// a sink that accepts any format.
    pub fn plans(&self, key: SinkKey) -> Option<Plans> {
        self.flows.plans(key)
    }

    /// Whether a sink has sources, all of them at other nodes.
    pub fn is_remote(&self, key: SinkKey) -> bool {
        self.flows.is_remote(key)
    }

    /// Asks all sources of a sink for another policy. It holds for later sources as well.
    pub fn set_policy(&mut self, key: SinkKey, policy: Policy, must: bool) {
        self.flows.set_policy(&mut self.links, key, policy, must);
        self.subscribe_again(key);
    }

    /// Asks all sources of a sink for other values of their parameters. It holds for later sources as well.
    pub fn set_parameters(&mut self, key: SinkKey, values: Parameters) {
        self.flows.set_parameters(&mut self.links, key, values);
        self.subscribe_again(key);
    }

    /// Subscribes a sink to the sources that refused before what it asked for. They may grant what it asks for now.
    fn subscribe_again(&mut self, key: SinkKey) {
        let channel = self.flows.channel_of_sink(key);
        let offers = channel.map_or(Vec::new(), |channel| self.channels.offered(channel));
        for offer in offers {
            // The sink may have had it before. For sinks, a source that has left and comes back is another one.
            if self.flows.may_subscribe(key, &offer)
                && let Some(channel) = channel
                && let Some(offer) = self.channels.offer_anew(channel, offer.origin)
            {
                self.subscribe(key, &offer);
            }
        }
    }

    /// The sources of a sink's channel, also those that it does not subscribe to.
    pub fn offered_to(&self, key: SinkKey) -> Vec<Offered> {
        let channel = self.flows.channel_of_sink(key);
        let offers = channel.map_or(Vec::new(), |channel| self.channels.offered(channel));
        offers.iter().filter_map(|offer| self.flows.as_offered(key, offer)).collect()
    }

    /// The policies that the sources of a sink grant.
    pub fn granted(&self, key: SinkKey) -> Vec<(SourceRef, Granted)> {
        self.flows.granted(key)
    }

    /// A sink declines the rest of a long event, of which it has seen the head. Returns whether the event is arriving. It may
    /// arrive nevertheless, if its source has sent all of it.
    pub fn enough(&mut self, key: SinkKey, source: SourceRef, sequence: u64) -> bool {
        self.flows.enough(&mut self.links, key, source, sequence)
    }

    /// Whether something has arrived for a sink.
    pub fn has_come(&self, key: SinkKey) -> bool {
        self.flows.has_come(key)
    }

    /// Exchanges a batch that the application has taken completely for the next one. Returns `false` if nothing has
    /// arrived.
    pub fn take(&mut self, now: Time, key: SinkKey, batch: &mut Batch<B, S>) -> bool {
        let came = self.flows.take(now, &mut self.links, key, batch);
        if let Some(first) = self.flows.forget_news(key) {
            let channel = self.flows.channel_of_sink(key);
            let late = channel.map_or(Vec::new(), |channel| self.channels.offered_since(channel, first));
            for offer in late {
                // A source that the sink has had for long may have been offered anew meanwhile, for the sake of another sink.
                if !self.flows.has_subscribed(key, offer.origin) {
                    self.subscribe(key, &offer);
                }
            }
        }
        came
    }

    /// The application has taken this many items of its batch.
    pub fn consumed(&mut self, now: Time, key: SinkKey, items: usize) {
        self.flows.consumed(now, &mut self.links, key, items);
    }

    /// A channel has a source that its sinks can subscribe to.
    fn offered(&mut self, channel: ChannelKey, offer: &Offer) {
        for sink in self.channels.sinks(channel) {
            // In a new epoch, the sink may have subscribed already, before this offer was resent.
            if !self.flows.has_subscribed(sink, offer.origin) {
                self.subscribe(sink, offer);
            }
        }
    }

    /// Tells sinks of the members with sources that cannot be reached.
    fn say_missed(&mut self) {
        for Missed { channel, node, error } in self.channels.take_missed() {
            let (source, error) = (self.channels.new_source_ref(), error.within(&format!("member {node}")));
            for sink in self.channels.sinks(channel) {
                self.flows.tell_missed(&mut self.links, sink, source, error.clone());
            }
        }
    }

    fn subscribe(&mut self, sink: SinkKey, offer: &Offer) {
        let Some(channel) = self.flows.channel_of_sink(sink) else { return };
        let may_publish = match (offer.origin.link(), self.channels.get(channel)) {
            (Some(link), Some(channel)) => self.links.expect_right(link, Right::Publish, &channel.name),
            _ => Ok(()),
        };
        if let (Some(link), Err(_)) = (offer.origin.link(), &may_publish) {
            self.channels.bar(channel, link, true);
        }
        if let Some(error) = self.flows.subscribe(&mut self.links, sink, offer, may_publish.err()) {
            // Sources of other nodes are told by a frame.
            if let Place::Here(source) = offer.origin {
                self.channels.declined(&mut self.links, channel, Declined { source, node: offer.node, error });
            }
        }
    }
}

impl<B, S> fmt::Debug for Node<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (links, channels) = (self.links.len(), self.channels.len());
        write!(f, "Node({:?}, {links} links, {channels} channels)", self.links.key.id())
    }
}
