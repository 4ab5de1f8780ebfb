//! A channel that this node is a member of. It creates sources and sinks.

use super::id::ChannelId;
use super::life::{GivenName, Member};
use crate::drive::bell::Bell;
use crate::drive::wait::after;
use crate::end::builder::{SinkBuilder, SourceBuilder};
use crate::end::sink::Sink;
use crate::end::source::Source;
use crate::transport::address::Address;
use isoform::form::{Form, Outgoing};
use isoform::text::Shown;
use isoform::{Code, Error, Format, Result};
use isoform_channel_proto::{ChannelInfo as Info, Identity, MemberInfo, NodeId, Query, Reach, layout_like};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A channel: an event path without a place of its own. Each member has its sources and sinks, and events go directly
/// from every source to every sink. It may be [derived](Channel::derive) from another one: then it has sinks alone.
#[derive(Clone)]
pub struct Channel {
    member: Member,
    name: Arc<str>,
    identity: Identity,
}

impl Channel {
    /// A handle to a channel of the machine.
    ///
    /// # Errors
    /// [`Code::Closed`] if it was closed already.
    pub(crate) fn new(member: Member) -> Result<Channel> {
        let info = member.life.hub.lock().machine.info(member.key);
        let info = info.ok_or_else(|| Error::new(Code::Closed).at("channel"))?;
        let name = member.given.as_ref().map_or(info.name, |given| given.name.clone());
        Ok(Channel { member, name: name.into(), identity: info.identity })
    }

    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    /// The id with which others open the channel. Every member makes an id with its own address, so the member that
    /// created the channel need not stay.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::new()?;
    /// let id = node.create_with("ticks", None)?.id();
    /// assert!(id.to_string().starts_with("iso://127.0.0.1:"));
    /// assert_eq!(id.name(), "ticks");
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the node listens nowhere; every node listens.
    pub fn id(&self) -> ChannelId {
        self.ids().next().unwrap_or_else(|| unreachable!("a node listens somewhere"))
    }

    /// The same id for every address of this node.
    pub fn ids(&self) -> impl Iterator<Item = ChannelId> {
        // The id of a query with a name has only the name.
        let query = self.query().filter(|_| self.member.given.is_none());
        let at = |address: &Address| {
            let id = ChannelId::new(address.clone(), &self.name, Some(self.identity.0)).ok()?;
            Some(query.map_or(id.clone(), |query| id.with_query(query)))
        };
        let addresses = self.member.life.hub.lock().places.addresses();
        addresses.iter().filter_map(at).collect::<Vec<_>>().into_iter()
    }

    /// Its name. A derived channel has that of its channel, unless it was [given](Channel::named) its own.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type, or `None` if it accepts all records. That of a derived channel is the format of the query's results, or `None` if the
    /// query does not fit.
    pub fn format(&self) -> Option<Format> {
        let format = self.member.life.hub.lock().machine.info(self.member.key)?.format?;
        match self.query() {
            Some(query) => Some(query.check(&format, layout_like(&format)).ok()?.format().clone()),
            None => Some(format),
        }
    }

    /// The query by which this channel is [derived](Channel::derive) from another one; `None` if it is not derived.
    pub fn query(&self) -> Option<&Query> {
        self.member.query.as_deref()
    }

    /// Derives a channel from this one: the results of a query (`spec/query.md`). The sources evaluate the query, once for all sinks, and send
    /// only the results. A sink of the derived channel may have a query, too, which then asks these results. Others open the derived channel
    /// by its [id](Channel::id), at any member. A derived channel without sinks costs nothing.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::Node;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Gauge {
    ///     step: u64,
    ///     #[isoform(unit = "m")]
    ///     depth: [f64; 100],
    /// }
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Deepest {
    ///     step: u64,
    ///     deep: f64,
    /// }
    /// let (simulation, viewer) = (Node::new()?, Node::new()?);
    /// let channel = simulation.create::<Gauge>("gauges")?;
    /// let deepest = channel.derive("where any(depth > 2.5 m) | select step, deep = max(depth)")?;
    ///
    /// let opened = viewer.open(deepest.id().to_string())?;
    /// let mut sink = opened.sink::<Deepest>()?;
    /// let mut few = opened.sink_builder().query("where step % 2 == 1")?.build::<Deepest>()?;
    /// let mut source = channel.source::<Gauge>()?;
    /// for step in 0..10 {
    ///     source.submit(&Gauge { step, depth: [step as f64 / 2.0; 100] })?;
    /// }
    /// let mut next = |sink: &mut isoform_channel::Sink<Deepest>| loop {
    ///     if let Some(record) = sink.recv()?.record() {
    ///         break Ok::<_, isoform::Error>((record.step, record.deep));
    ///     }
    /// };
    /// assert_eq!([next(&mut sink)?, next(&mut sink)?, next(&mut few)?], [(6, 3.0), (7, 3.5), (7, 3.5)]);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Text`], with line and column, what was expected there, and what was found. If the channel has a type, also those of
    /// [`Query::check`].
    pub fn derive(&self, query: &str) -> Result<Channel> {
        self.derived(query, true)
    }

    /// As [`derive`](Channel::derive). `is_view` says that this handle does not leave the channel when it is closed: another one does.
    pub(crate) fn derived(&self, query: &str, is_view: bool) -> Result<Channel> {
        let query = Query::parse(query)?.of(self.query())?;
        let format = self.member.life.hub.lock().machine.info(self.member.key).and_then(|info| info.format);
        if let Some(format) = format {
            query.check(&format, layout_like(&format))?;
        }
        let member = Member { query: Some(query.into()), given: None, is_view, ..self.member.clone() };
        Channel::new(member)
    }

    /// Gives a name to this derived channel. Others can open it at this node by the name alone, without knowing the query, until the last
    /// clone of the returned handle is dropped, or the node ends. Its [id](Channel::id) has the name in place of the query.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::new()?;
    /// let channel = node.create_with("river", None)?;
    /// let seconds = channel.derive("every 1 s")?.named("river each second")?;
    /// let id = seconds.id();
    /// assert_eq!((id.name(), id.query()), ("river each second", None));
    /// let opened = Node::new()?.open(id.to_string())?;
    /// assert_eq!(opened.name(), "river");
    /// assert_eq!(opened.query().map(ToString::to_string).as_deref(), Some("every 1 s"));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::WrongType`] if this is no derived channel; [`Code::Address`] if the name cannot be one; [`Code::Taken`] if this node has
    /// a channel of that name.
    pub fn named(&self, name: &str) -> Result<Channel> {
        let Some(query) = self.query().cloned() else {
            let error = Error::new(Code::WrongType).at(self.name());
            return Err(error.expected("a derived channel, to give a name to").found("a channel with a name"));
        };
        let life = self.member.life.clone();
        life.hub.with(|state| state.machine.name_derived(self.member.key, name, query))?;
        let given = Arc::new(GivenName { life, name: name.into() });
        Channel::new(Member { given: Some(given), ..self.member.clone() })
    }

    /// The nodes that have the channel open, as far as this node knows: first this one, then the others. It knows all
    /// members of a small channel. Of a large one it knows all that have sources, those that it has links with, and some
    /// more. Members that it cannot reach are in [`info`](Channel::info).
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::new()?;
    /// assert_eq!(node.create_with("ticks", None)?.members().len(), 1);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn members(&self) -> Vec<NodeId> {
        let info = self.member.life.hub.lock().machine.info(self.member.key);
        let is_there = |member: &&MemberInfo| !matches!(member.reach, Reach::Missed(_));
        info.map_or(Vec::new(), |info| info.members.iter().filter(is_there).map(|member| member.node).collect())
    }

    /// Creates a source of records of this [form](isoform::form), such as a type. Before this returns, all sinks that this node knows of have subscribed to
    /// it, except those whose process does not answer within a second. Of a large channel, it knows only some sinks: use
    /// [`wait_for_sinks`](crate::Source::wait_for_sinks) there.
    ///
    /// # Errors
    /// As [`SourceBuilder::build`].
    pub fn source<F: Outgoing<Encoder: Default>>(&self) -> Result<Source<F>> {
        self.source_builder().build()
    }

    /// Builds any other source: with other settings, or of records whose format is known only at run time.
    pub fn source_builder(&self) -> SourceBuilder {
        SourceBuilder::new(self.member.clone())
    }

    /// Creates a sink for records of this [form](isoform::form), such as a type. Its sources wait for it when it is slow.
    ///
    /// # Errors
    /// As [`SinkBuilder::build`].
    pub fn sink<F: Form<Decoder: Default>>(&self) -> Result<Sink<F>> {
        self.sink_builder().build()
    }

    /// Builds any other sink: with another policy or window, or for records whose format is known only at
    /// run time; or with a function that handles its events.
    pub fn sink_builder(&self) -> SinkBuilder {
        SinkBuilder::new(self.member.clone())
    }

    /// Asks the members of the channel for a report: their sources and sinks, and the account of every source. Members
    /// that do not answer within `patience` have no report. Those that cannot be reached are listed with the reason.
    ///
    /// # Errors
    /// [`Code::Closed`]; [`Code::Io`].
    pub fn info(&self, patience: Duration) -> Result<Info> {
        let hub = &self.member.life.hub;
        let bell = Bell::new();
        hub.with(|state| {
            state.watchers.push((self.member.key, bell.clone()));
            let now = hub.now();
            state.machine.survey(now, self.member.key, now.saturating_add(patience));
        });
        let is_awaited = |member: &MemberInfo| !matches!(member.reach, Reach::Missed(_)) && member.report.is_none();
        let incomplete = |info: &Info| info.members.iter().any(is_awaited);
        let told = hub.drive(&bell, after(patience), |state| {
            // The wait also ends when the channel ends.
            (!state.machine.info(self.member.key).is_some_and(|info| incomplete(&info))).then_some(())
        });
        hub.unwatch(&bell);
        told?;
        self.here()
    }

    /// Waits until `look` returns a value. It is called again whenever members, sources or sinks change.
    ///
    /// # Errors
    /// [`Code::Deadline`]; [`Code::Closed`].
    pub fn wait_until(&self, patience: Duration, mut look: impl FnMut(&Info) -> bool) -> Result<()> {
        let hub = &self.member.life.hub;
        let (bell, deadline) = (Bell::new(), after(patience));
        hub.with(|state| state.watchers.push((self.member.key, bell.clone())));
        let mut wait = || {
            loop {
                // `look` is called without the lock, since it may ask the node for more.
                let info = self.here()?;
                if look(&info) {
                    return Ok(());
                }
                let changed = hub.drive(&bell, deadline, |state| {
                    (state.machine.info(self.member.key).as_ref() != Some(&info)).then_some(())
                })?;
                if changed.is_none() {
                    let expected = format_args!("a change within {patience:?}");
                    return Err(Error::new(Code::Deadline).at(self.name()).expected(expected));
                }
            }
        };
        let found = wait();
        hub.unwatch(&bell);
        found
    }

    fn here(&self) -> Result<Info> {
        let info = self.member.life.hub.lock().machine.info(self.member.key);
        info.ok_or_else(|| Error::new(Code::Closed).at(self.name()))
    }

    /// Leaves the channel. Its sources and sinks here end, whoever holds them. If this program has [derived](Channel::derive) it from another
    /// channel, that goes on, with all sinks: only the [name](Channel::named) is taken back.
    pub fn close(self) {
        if self.member.is_view {
            return;
        }
        self.member.life.hub.with(|state| state.machine.close(self.member.key));
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({})", Shown(self.id()))
    }
}
