//! A channel that this node is a member of: where sources and sinks come from.

use crate::api::handler::Handler;
use crate::api::id::ChannelId;
use crate::api::node::Life;
use crate::api::options::SinkOptions;
use crate::api::sink::{MemorySink, Sink, Views};
use crate::api::source::{MemorySource, MessageSource, Source};
use crate::drive::bell::Bell;
use crate::drive::wait::after;
use crate::transport::address::Address;
use crate::{Event, Info};
use isoform::{Code, Error, Format, Record, Result, Rules};
use isoform_channel_proto::{ChannelInfo, ChannelKey, Identity, NodeId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A channel: an event path that is nowhere in particular. Each member has its sources and sinks, and events go from every
/// source straight to every sink.
#[derive(Clone)]
pub struct Channel {
    life: Arc<Life>,
    key: ChannelKey,
    name: Arc<str>,
    identity: Identity,
}

impl Channel {
    /// A handle on a channel of the machine.
    ///
    /// # Errors
    /// [`Code::Closed`] if it was closed already.
    pub(crate) fn new(life: Arc<Life>, key: ChannelKey) -> Result<Channel> {
        let info = life.hub.lock().machine.info(key).ok_or_else(|| Error::new(Code::Closed).at("channel"))?;
        Ok(Channel { life, key, name: info.name.into(), identity: info.identity })
    }

    pub(crate) fn life(&self) -> &Arc<Life> {
        &self.life
    }

    pub(crate) fn key(&self) -> ChannelKey {
        self.key
    }

    /// The id by which others open it, here: every member makes one with its own address, so that it does not matter
    /// whether the one who made the channel is still there.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::new()?;
    /// let id = node.create_untyped("ticks")?.id();
    /// assert!(id.to_string().starts_with("iso://127.0.0.1:"));
    /// assert_eq!(id.name(), "ticks");
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the node does not listen anywhere, which no node does.
    pub fn id(&self) -> ChannelId {
        self.ids().next().unwrap_or_else(|| unreachable!("a node listens somewhere"))
    }

    /// The same, for every address of this node.
    pub fn ids(&self) -> impl Iterator<Item = ChannelId> {
        let at = |address: &Address| ChannelId::new(address.clone(), &self.name, Some(self.identity.0)).ok();
        self.life.addresses.iter().filter_map(at).collect::<Vec<_>>().into_iter()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type; `None` if it takes any records.
    pub fn format(&self) -> Option<Format> {
        self.life.hub.lock().machine.info(self.key)?.format
    }

    /// The nodes that have the channel open: this one, then the others.
    ///
    /// ```
    /// use isoform_channel::Node;
    /// let node = Node::new()?;
    /// assert_eq!(node.create_untyped("ticks")?.members().len(), 1);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn members(&self) -> Vec<NodeId> {
        let info = self.life.hub.lock().machine.info(self.key);
        info.map_or(Vec::new(), |info| info.members.iter().map(|member| member.node).collect())
    }

    /// A source of records of this type. The sinks that there are have subscribed to it when this returns, unless their process
    /// does not answer within a second.
    ///
    /// # Errors
    /// What speaks against a plan from the type to that of the channel, with the path of the field.
    pub fn source<T: Record<Kind = T>>(&self) -> Result<Source<T>> {
        Source::new(self)
    }

    /// A source of records of any format, in messages.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn untyped_source(&self) -> Result<MessageSource> {
        MessageSource::new(self)
    }

    /// A source of records of a format, as they lie in memory.
    ///
    /// # Errors
    /// As [`source`](Channel::source); [`Code::WrongType`] if such records cannot lie in the memory of this machine.
    pub fn memory_source(&self, format: &Format) -> Result<MemorySource> {
        MemorySource::new(self, format)
    }

    /// A sink for records of a format, as they lie in memory, with what is said of its fields beyond that.
    ///
    /// # Errors
    /// As [`sink`](Channel::sink); [`Code::WrongType`] if such records cannot lie in the memory of this machine.
    pub fn memory_sink(&self, format: &Format, rules: Rules, options: SinkOptions) -> Result<MemorySink> {
        MemorySink::new(self, format, rules, options, Arc::new(Bell::new()?))
    }

    /// A sink for records of this type, which lets sources wait when it is slow.
    ///
    /// # Errors
    /// What speaks against a plan from the channel's type to this one, with the path of the field.
    pub fn sink<T: Record<Kind = T> + 'static>(&self) -> Result<Sink<T>> {
        self.sink_with(SinkOptions::default())
    }

    /// A sink that is to be another one than usual.
    ///
    /// # Errors
    /// As [`sink`](Channel::sink).
    pub fn sink_with<T: Record<Kind = T> + 'static>(&self, options: SinkOptions) -> Result<Sink<T>> {
        Sink::new(self, options, Arc::new(Bell::new()?))
    }

    /// A sink for records of any format, to be read by name.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn views(&self) -> Result<Views> {
        self.views_with(SinkOptions::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As [`views`](Channel::views).
    pub fn views_with(&self, options: SinkOptions) -> Result<Views> {
        Views::new(self, None, Rules::new(), options)
    }

    /// A sink for messages that can become records of a format, in the format that they came in: for programs that convert
    /// them themselves.
    ///
    /// # Errors
    /// As [`sink`](Channel::sink).
    pub fn views_for(&self, format: &Format, rules: Rules, options: SinkOptions) -> Result<Views> {
        Views::new(self, Some(format), rules, options)
    }

    /// A sink whose events are given to `handle`, on the thread that calls [`Node::poll`](crate::Node::poll), as long as the
    /// handler is kept.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node, SinkOptions};
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Tick>("ticks")?;
    /// let mut sum = 0;
    /// let counter = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    /// let seen = counter.clone();
    /// let _handler = channel.on::<Tick>(SinkOptions::default(), move |event| {
    ///     if let Event::Record { record, .. } = event {
    ///         seen.fetch_add(record.count, std::sync::atomic::Ordering::Relaxed);
    ///     }
    /// })?;
    /// channel.source::<Tick>()?.submit(&Tick { count: 7 })?;
    /// node.poll(Duration::ZERO)?;
    /// assert_eq!(counter.load(std::sync::atomic::Ordering::Relaxed), 7);
    /// # sum += 1;
    /// # let _ = sum;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sink`](Channel::sink).
    pub fn on<T: Record<Kind = T> + 'static>(
        &self,
        options: SinkOptions,
        handle: impl for<'e> FnMut(Event<&'e T::Native<'e>>) + Send + 'static,
    ) -> Result<Handler> {
        Handler::new(self, options, handle)
    }

    /// The same for records of a format, as they lie in memory.
    ///
    /// # Errors
    /// As [`memory_sink`](Channel::memory_sink).
    pub fn on_memory(
        &self,
        format: &Format,
        rules: Rules,
        options: SinkOptions,
        handle: impl FnMut(Event<&[u8]>) + Send + 'static,
    ) -> Result<Handler> {
        Handler::of_memory(self, format, rules, options, handle)
    }

    /// What its members tell of it: who they are, their sources and sinks, and the account of every source. Members that
    /// have not answered within `patience` have no report.
    ///
    /// # Errors
    /// [`Code::Closed`]; [`Code::Io`].
    pub fn info(&self, patience: Duration) -> Result<Info> {
        let hub = &self.life.hub;
        let bell = Arc::new(Bell::new()?);
        hub.with(|state| {
            state.watchers.push((self.key, bell.clone()));
            state.machine.ask(self.key);
        });
        let incomplete = |info: &ChannelInfo| info.members.iter().any(|member| member.report.is_none());
        let told = hub.drive(&bell, after(patience), |state| {
            // It ends with the channel, too.
            (!state.machine.info(self.key).is_some_and(|info| incomplete(&info))).then_some(())
        });
        hub.unwatch(&bell);
        told?;
        self.here()
    }

    /// Waits until the channel is as it should be: `look` is asked again whenever members, sources or sinks have changed.
    ///
    /// # Errors
    /// [`Code::Deadline`]; [`Code::Closed`].
    pub fn wait_until(&self, patience: Duration, mut look: impl FnMut(&Info) -> bool) -> Result<()> {
        let hub = &self.life.hub;
        let (bell, deadline) = (Arc::new(Bell::new()?), after(patience));
        hub.with(|state| state.watchers.push((self.key, bell.clone())));
        let mut wait = || {
            loop {
                // Looked at without the lock: what looks may ask the node for more.
                let info = self.here()?;
                if look(&info) {
                    return Ok(());
                }
                let changed = hub.drive(&bell, deadline, |state| {
                    (state.machine.info(self.key).as_ref() != Some(&info)).then_some(())
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
        let info = self.life.hub.lock().machine.info(self.key);
        info.ok_or_else(|| Error::new(Code::Closed).at(self.name()))
    }

    /// Leaves the channel: its sources and sinks here end, whoever holds them.
    pub fn close(self) {
        self.life.hub.with(|state| state.machine.close(self.life.hub.now(), self.key));
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({})", self.id())
    }
}
