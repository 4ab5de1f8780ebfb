//! Builders for the sources and sinks of a channel. [`Channel::sink`](crate::Channel::sink) and
//! [`Channel::source`](crate::Channel::source) are shorter if there is nothing to choose.

use super::handler::Handler;
use super::options::Options;
use super::sink::Sink;
use super::source::{Source, Wishes};
use crate::api::event::Event;
use crate::api::life::Member;
use crate::api::parameters::Parameters;
use crate::drive::bell::Bell;
#[cfg(doc)]
use isoform::Code;
#[cfg(doc)]
use isoform::Messages;
use isoform::form::{Form, Outgoing};
use isoform::{Faults, Missing, Record, Result};
use isoform_channel_proto::{NodeId, Policy, Query, QueryTime, Waits, Window};
use std::fmt;
use std::time::Duration;

/// Builds a sink. [`Channel::sink_builder`](crate::Channel::sink_builder) creates it.
///
/// By default, sources wait for the sink, but only as long as they grant; numbers that do not fit their field are errors; 4 MiB of events may be on
/// their way from each source; and an event has at most a gibibyte.
///
/// ```
/// use isoform::{Messages, Record};
/// use isoform_channel::{Node, Policy};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Tick {
///     count: u64,
/// }
/// let channel = Node::new()?.create::<Tick>("ticks")?;
/// // The newest record whenever there is time for one.
/// let viewer = channel.sink_builder().policy(Policy::Latest).build::<Tick>()?;
/// // Messages of any format: the last thousand, of a mebibyte at most, if the sink was too slow for more.
/// let policy = Policy::DropOldest { events: 1000, bytes: 1 << 20 };
/// let recorder = channel.sink_builder().policy(policy).build::<Messages>()?;
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone)]
pub struct SinkBuilder {
    member: Member,
    options: Options,
}

/// Builds a source. [`Channel::source_builder`](crate::Channel::source_builder) creates it.
///
/// ```
/// use isoform::Messages;
/// use isoform_channel::Node;
/// let channel = Node::new()?.create_with("anything", None)?;
/// let source = channel.source_builder().build::<Messages>()?;
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone)]
pub struct SourceBuilder {
    member: Member,
    wishes: Wishes,
}

impl SinkBuilder {
    pub(crate) fn new(member: Member) -> SinkBuilder {
        let query = member.query.as_deref().cloned();
        SinkBuilder { member, options: Options { query, ..Options::default() } }
    }

    /// Sets the behaviour of sources when this sink is too slow. A source may drop events nevertheless: it waits for sinks
    /// with [`Policy::Block`] only for a while, unless they are [lossless](SinkBuilder::lossless). The program is told by
    /// [`Event::Granted`].
    pub fn policy(mut self, policy: Policy) -> SinkBuilder {
        (self.options.policy, self.options.must) = (policy, false);
        self
    }

    /// Demands that no event is lost because this sink is slow: sources must wait for it. A source that does not grant
    /// this is refused, with [`Code::NotGranted`] in [`Event::Refused`]. The source's program says the
    /// [same word](SourceBuilder::lossless).
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::Node;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let mut source = channel.source_builder().lossless().build::<Tick>()?;
    /// let sink = channel.sink_builder().lossless().build::<Tick>()?;
    /// assert_eq!(sink.granted().len(), 1);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn lossless(mut self) -> SinkBuilder {
        (self.options.policy, self.options.must) = (Policy::Block, true);
        self
    }

    /// Demands that sources have exactly this policy. Others are refused, with [`Code::NotGranted`].
    pub fn must_have(mut self, policy: Policy) -> SinkBuilder {
        (self.options.policy, self.options.must) = (policy, true);
        self
    }

    /// Does without the events that sources have [kept](SourceBuilder::keep).
    pub fn without_kept(mut self) -> SinkBuilder {
        self.options.kept = false;
        self
    }

    /// Limits the events of one source that are on their way or wait here. A sink that has stopped takes this much
    /// memory, and one event more. A zero field means its default: 65,536 events, or one if only the latest is kept; 4
    /// MiB.
    pub fn window(mut self, window: Window) -> SinkBuilder {
        self.options.window = Some(window);
        self
    }

    /// Sets the treatment of numbers that do not fit their field.
    pub fn faults(mut self, faults: Faults) -> SinkBuilder {
        self.options.faults = Some(faults);
        self
    }

    /// Sets the treatment of fields and elements that a source lacks and that have no default. Without it, such a source
    /// is refused ([`Event::Refused`]), and the others go on.
    pub fn missing(mut self, missing: Missing) -> SinkBuilder {
        self.options.missing = Some(missing);
        self
    }

    /// Sets the paths of the needed fields. Sources may send more. A sink of several kinds needs each of them for one of its
    /// kinds at least.
    pub fn fields<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> SinkBuilder {
        self.options.fields = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Asks for less: what the query makes of each event (`spec/query.md`). It is evaluated at the sources, which send nothing
    /// else. A record of this sink is made of the result of a `select`, or else of the event. A source that the query does not
    /// fit is refused ([`Event::Refused`]). On a [derived channel](crate::Channel::derive), it is a query of what that channel gives.
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
    /// let channel = Node::new()?.create::<Gauge>("gauges")?;
    /// let wanted = "where any(depth > 2.5 m) | select step, deep = max(depth)";
    /// let mut sink = channel.sink_builder().query(wanted)?.build::<Deepest>()?;
    /// let mut source = channel.source::<Gauge>()?;
    /// for step in 0..10 {
    ///     source.submit(&Gauge { step, depth: [step as f64 / 2.0; 100] })?;
    /// }
    /// let first = loop {
    ///     if let Some(record) = sink.recv()?.record() {
    ///         break (record.step, record.deep);
    ///     }
    /// };
    /// assert_eq!(first, (6, 3.0));
    /// let account = source.ledger()[0].ledger;
    /// assert_eq!((account.submitted, account.skipped), (10, 6));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Text`], with line and column, what was expected there, and what was found.
    pub fn query(mut self, text: &str) -> Result<SinkBuilder> {
        self.options.query = Some(Query::parse(text)?.of(self.member.query.as_deref())?);
        Ok(self)
    }

    /// Asks for values of the [parameters](SourceBuilder::parameters) of the sources: the fields of `values` that a source declares,
    /// by name, whatever their types and layout are. Fields that are missing have the source's default. The source generates
    /// events for these values. [`Event::Given`] says which values the sink has, since a source may grant others. Sources
    /// without parameters, and those that lack a field, are [refused](Event::Refused).
    ///
    /// [`Sink::set_parameters`](crate::Sink::set_parameters) asks for others while the sink runs.
    ///
    /// # Errors
    /// Those of [`Parameters::of`].
    pub fn parameters<R: Record>(self, values: &R) -> Result<SinkBuilder>
    where
        R::Static: Record<Static = R::Static>,
    {
        Ok(self.parameters_of(Parameters::of(values)?))
    }

    /// The same for values that are known only at run time.
    pub fn parameters_of(mut self, values: Parameters) -> SinkBuilder {
        self.options.parameters = Some(values);
        self
    }

    /// Sets the bytes of the longest event that the sink accepts. Longer ones arrive as gaps.
    pub fn longest(mut self, bytes: u64) -> SinkBuilder {
        self.options.longest = bytes;
        self
    }

    /// Asks for the heads of events longer than 65,536 bytes: [`Event::Head`] shows the first fields while the rest is on its
    /// way, and the sink can [decline](crate::Sink::decline) that. A sink that is behind gets the head of one event of a source,
    /// and the next ones only as whole records.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// # use std::time::Duration;
    /// #[derive(Record)]
    /// struct Field {
    ///     step: u64,
    ///     cells: Vec<f64>,
    /// }
    /// let (simulation, viewer) = (Node::new()?, Node::new()?);
    /// let channel = simulation.create::<Field>("fields")?;
    /// let mut source = channel.source_builder().lossless().build::<Field>()?;
    /// let remote = viewer.open(channel.id().to_string())?;
    /// let mut sink = remote.sink_builder().lossless().heads().build::<Field>()?;
    /// source.wait_for_sinks(1, Duration::from_secs(10))?;
    /// let submitting = std::thread::spawn(move || source.submit(&Field { step: 7, cells: vec![0.0; 4 << 20] }).map(|_| source));
    /// let step = loop {
    ///     if let Event::Head { stamp, head } = sink.recv()? {
    ///         sink.decline(&stamp);
    ///         break head.message()?.view()?.i64("step")?;
    ///     }
    /// };
    /// assert_eq!(step, 7);
    /// # submitting.join().unwrap()?;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn heads(mut self) -> SinkBuilder {
        self.options.heads = true;
        self
    }

    /// Subscribes to these sources alone, each named by its node and its number there. With none, the sink gets no events, no
    /// source knows of it, and [`Sink::sources`] says which sources there are.
    ///
    /// ```
    /// use isoform::{Messages, Record};
    /// use isoform_channel::Node;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let [first, second] = [channel.source::<Tick>()?, channel.source::<Tick>()?];
    /// let look = channel.sink_builder().only([]).build::<Messages>()?;
    /// let sources = look.sources();
    /// assert_eq!((sources.len(), first.sinks()), (2, 0));
    /// let format = sources[0].format.clone()?;
    /// assert_eq!(format.unwrap().name(), "Tick");
    /// let one = (sources[1].node, sources[1].number);
    /// let sink = channel.sink_builder().only([one]).build::<Tick>()?;
    /// assert_eq!([first.sinks(), second.sinks()], [0, 1]);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn only(mut self, sources: impl IntoIterator<Item = (NodeId, u32)>) -> SinkBuilder {
        self.options.only = Some(sources.into_iter().collect());
        self
    }

    /// Builds a sink for records of this form: a type; an enumeration of several, of which each record becomes the variant that
    /// fits ([`KindDecoder`](isoform::KindDecoder) says which); or [`Messages`], which keep the format of their source and whose fields are
    /// read by name. Sources whose records cannot become that are refused.
    ///
    /// ```
    /// use isoform::{Kinds, Record};
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct River {
    ///     depth: f64,
    /// }
    /// #[derive(Record)]
    /// struct Alarm {
    ///     text: String,
    /// }
    /// #[derive(Kinds)]
    /// enum Seen<'e> {
    ///     River(&'e River),
    ///     Alarm(Alarm),
    /// }
    /// let channel = Node::new()?.create_with("news", None)?;
    /// let mut sink = channel.sink_builder().build::<Seen>()?;
    /// channel.source::<River>()?.submit(&River { depth: 4.5 })?;
    /// channel.source::<Alarm>()?.submit(&Alarm { text: "the river rises".into() })?;
    /// let (mut depth, mut said) = (0.0, String::new());
    /// while said.is_empty() {
    ///     match sink.recv()?.record() {
    ///         Some(Seen::River(river)) => depth = river.depth,
    ///         Some(Seen::Alarm(alarm)) => said = alarm.text,
    ///         None => {} // a source has come or left
    ///     }
    /// }
    /// assert_eq!((depth, said.as_str()), (4.5, "the river rises"));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of a plan from the channel's type to this one, with the path of the field; [`Code::NoConversion`] if it fits none of
    /// several. [`Code::NoSuchField`] for a [needed field](SinkBuilder::fields) that none of several has. [`Code::Closed`]; [`Code::Io`].
    pub fn build<F: Form<Decoder: Default>>(self) -> Result<Sink<F>> {
        Sink::new(&self.member, F::Decoder::default(), self.options, Bell::new())
    }

    /// The same with a decoder that was made for a format, or several, that are known only at run time:
    /// [`memory::Decoder`](isoform::memory::Decoder) or [`memory::KindDecoder`](isoform::memory::KindDecoder) for records in memory of
    /// this machine, or [`Messages`] that can become records of these formats. What [`faults`](SinkBuilder::faults) and
    /// [`missing`](SinkBuilder::missing) say holds instead of what it says itself, but not for several kinds, each of which has its own.
    ///
    /// ```
    /// use isoform::Messages;
    /// use isoform::{Record, Rules};
    /// use isoform_channel::Node;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create_with("anything", None)?;
    /// let sink = channel.sink_builder().build_with(Messages::of(Tick::format(), Rules::new()))?;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](SinkBuilder::build).
    pub fn build_with<F: Form<Decoder = F>>(self, decoder: F) -> Result<Sink<F>> {
        Sink::new(&self.member, decoder, self.options, Bell::new())
    }

    /// Builds a sink for records of this form, and calls `handle` for each of its events, on the thread that calls
    /// [`Node::poll`](crate::Node::poll), until the handler is dropped.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let node = Node::new()?;
    /// let channel = node.create::<Tick>("ticks")?;
    /// let sum = Arc::new(AtomicU64::new(0));
    /// let seen = sum.clone();
    /// let _handler = channel.sink_builder().on::<Tick>(move |event| {
    ///     if let Event::Record { record, .. } = event {
    ///         seen.fetch_add(record.count, Ordering::Relaxed);
    ///     }
    /// })?;
    /// channel.source::<Tick>()?.submit(&Tick { count: 7 })?;
    /// node.poll(Duration::ZERO)?;
    /// assert_eq!(sum.load(Ordering::Relaxed), 7);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](SinkBuilder::build).
    pub fn on<F: Form<Decoder: Default + Send> + 'static>(
        self,
        handle: impl for<'e> FnMut(Event<F::Of<'e>>) + Send + 'static,
    ) -> Result<Handler> {
        self.handle::<F>(F::Decoder::default(), handle)
    }

    /// The same with a decoder, as [`build_with`](SinkBuilder::build_with).
    ///
    /// # Errors
    /// As [`build`](SinkBuilder::build).
    pub fn on_with<F: Form<Decoder = F> + Send + 'static>(
        self,
        decoder: F,
        handle: impl for<'e> FnMut(Event<F::Of<'e>>) + Send + 'static,
    ) -> Result<Handler> {
        self.handle::<F>(decoder, handle)
    }

    fn handle<F: Form<Decoder: Send> + 'static>(
        self,
        decoder: F::Decoder,
        mut handle: impl for<'e> FnMut(Event<F::Of<'e>>) + Send + 'static,
    ) -> Result<Handler> {
        let sink = Sink::<F>::new(&self.member, decoder, self.options, self.member.life.handlers.bell().clone())?;
        Ok(Handler::new(&self.member, sink, move |sink| sink.next().map(&mut handle)))
    }
}

impl SourceBuilder {
    pub(crate) fn new(member: Member) -> SourceBuilder {
        SourceBuilder { member, wishes: Wishes::default() }
    }

    /// Sets how long submitting waits for room. [`Source::set_patience`] changes it later. By default, it waits without
    /// limit.
    pub fn patience(mut self, patience: Duration) -> SourceBuilder {
        self.wishes.patience = Some(patience);
        self
    }

    /// Waits as long as necessary for the sinks that demand it by the [same word](SinkBuilder::lossless). Such a sink can
    /// stop this source. Otherwise, this source refuses them.
    pub fn lossless(mut self) -> SourceBuilder {
        self.wishes.grants.lossless = true;
        self
    }

    /// Sets how long submitting waits for other sinks with [`Policy::Block`], for all of them together: at most this long
    /// for one event, and at most this long in a second. When that is over, the source drops events for the sinks that
    /// have no room, until they have caught up. The default is one millisecond for an event and ten in a second, that is,
    /// one percent of the program's time.
    pub fn waits(mut self, event: Duration, second: Duration) -> SourceBuilder {
        self.wishes.grants.waits = Waits { event, second };
        self
    }

    /// Sets how much time the [queries](SinkBuilder::query) and [fields](SinkBuilder::fields) of other nodes may take at this source,
    /// writing their results included. Each user, certificate and shared key has an
    /// equal share, for all its nodes together. For a query that takes more, events are lost with the cause
    /// [`Thinned`](crate::Cause::Thinned); a sink that states fields gets whole events instead. By default, all sources of a node
    /// together spend at most 20 milliseconds a second, two percent of one core, and a query takes at most a millisecond for an
    /// event. One that would take longer for each event is refused. The time follows from the number of steps of a query and from the
    /// bytes of its results, not from a clock.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Node, QueryTime};
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Grid {
    ///     cells: u64,
    /// }
    /// let channel = Node::new()?.create::<Grid>("grid")?;
    /// let millis = Duration::from_millis;
    /// let little = QueryTime { at_once: millis(2), second: millis(5) };
    /// let source = channel.source_builder().query_time(little).build::<Grid>()?;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn query_time(mut self, time: QueryTime) -> SourceBuilder {
        self.wishes.grants.queries = Some(time);
        self
    }

    /// Sets how many different [queries](SinkBuilder::query) of other nodes this source evaluates. Each user, certificate and
    /// shared key has an equal share of these places, for all its nodes together, and one place in any case; all nodes without
    /// credentials have one share together. A sink with another query
    /// is refused with [`Code::Budget`]. The default is 64.
    pub fn most_queries(mut self, most: usize) -> SourceBuilder {
        self.wishes.grants.most_queries = most;
        self
    }

    /// Gives the source **parameters**: a record of values that its sinks choose, such as a region, a resolution or a quantity.
    /// These are the defaults. The program then generates events for each [demand](Source::demands), and nothing without
    /// one.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node, Parameters};
    /// use std::time::Duration;
    ///
    /// #[derive(Record, Clone, Copy)]
    /// #[repr(C)]
    /// struct Detail {
    ///     level: i64,
    /// }
    ///
    /// #[derive(Record)]
    /// struct Cells {
    ///     depth: Vec<f64>,
    /// }
    ///
    /// // A program that has a field of 1,024 cells, and sends every 2^level-th of them.
    /// let (simulation, viewer) = (Node::new()?, Node::new()?);
    /// let channel = simulation.create::<Cells>("field")?;
    /// let mut source = channel.source_builder().parameters(&Detail { level: 5 })?.build::<Cells>()?;
    /// let remote = viewer.open(channel.id().to_string())?;
    /// let mut sink = remote.sink_builder().parameters(&Detail { level: 2 })?.build::<Cells>()?;
    ///
    /// let cells = [0.5; 1024];
    /// for demand in source.new_demands(Duration::from_secs(10))?.unwrap_or_default() {
    ///     let Detail { level } = demand.values.to()?;
    ///     // It does not give away everything.
    ///     source.grant(&demand, &Parameters::of(&Detail { level: level.max(3) })?)?;
    /// }
    /// for demand in source.demands() {
    ///     let Detail { level } = demand.values.to()?;
    ///     let depth = cells.iter().copied().step_by(1 << level).collect();
    ///     source.submit_for(&demand, &Cells { depth })?;
    /// }
    ///
    /// let (mut level, mut count) = (0, 0);
    /// while count == 0 {
    ///     match sink.recv()? {
    ///         Event::Given(_, given) => level = given.values.to::<Detail>()?.level,
    ///         Event::Record { record, .. } => count = record.depth.len(),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!((level, count), (3, 128));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Parameters::of`].
    pub fn parameters<R: Record>(self, defaults: &R) -> Result<SourceBuilder>
    where
        R::Static: Record<Static = R::Static>,
    {
        Ok(self.parameters_of(Parameters::of(defaults)?))
    }

    /// The same for values that are known only at run time.
    pub fn parameters_of(mut self, defaults: Parameters) -> SourceBuilder {
        self.wishes.parameters = Some(defaults);
        self
    }

    /// Sets how many demands for values other than the defaults there may be. The sinks of one user,
    /// certificate or shared key cause at most as many as they leave to others; those of the node's own user all but an eighth. Values beyond that are refused with [`Code::Budget`]. The default is 16.
    pub fn most_demands(mut self, most: usize) -> SourceBuilder {
        self.wishes.grants.most_demands = most;
        self
    }

    /// Sets how many sinks one other node may have at this source. Further ones are refused with
    /// [`Code::Peers`]. Each sink costs time with every event. The default is 64.
    ///
    /// ```
    /// use isoform::{Code, Messages};
    /// use isoform_channel::{Event, Node};
    /// let channel = Node::new()?.create_with("ticks", None)?;
    /// let source = channel.source_builder().most_sinks(1).build::<Messages>()?;
    /// let other = Node::new()?.open(channel.id().to_string())?;
    /// let mut first = other.sink_builder().build::<Messages>()?;
    /// assert!(matches!(first.recv()?, Event::Joined { .. }));
    /// let mut second = other.sink_builder().build::<Messages>()?;
    /// let Event::Refused(_, error) = second.recv()? else { panic!("it is refused") };
    /// assert_eq!(error.code(), Code::Peers);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn most_sinks(mut self, most: usize) -> SourceBuilder {
        self.wishes.grants.most_sinks = most;
        self
    }

    /// Keeps the latest `events` events for sinks that subscribe later. They receive these first. A sink that subscribes
    /// again, after its link has ended, receives them again.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::Node;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Grid {
    ///     cells: u64,
    /// }
    /// let channel = Node::new()?.create::<Grid>("grid")?;
    /// let mut source = channel.source_builder().keep(1).build::<Grid>()?;
    /// source.submit(&Grid { cells: 100 })?;
    /// let mut late = channel.sink::<Grid>()?;
    /// let cells = loop {
    ///     if let Some(grid) = late.recv()?.record() {
    ///         break grid.cells;
    ///     }
    /// };
    /// assert_eq!(cells, 100);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn keep(mut self, events: usize) -> SourceBuilder {
        self.wishes.grants.keep = events;
        self
    }

    /// Builds a source of records of this form: a type, or [`Messages`] of any format. Before this returns, all existing sinks have subscribed to it, except
    /// those whose process does not answer within a second.
    ///
    /// # Errors
    /// The errors of a plan from the type to that of the channel, with the path of the field. [`Code::WrongType`] on a [derived
    /// channel](crate::Channel::derive), which has no sources of its own. [`Code::Closed`]; [`Code::Io`].
    pub fn build<F: Outgoing<Encoder: Default>>(self) -> Result<Source<F>> {
        Source::new(&self.member, F::Encoder::default(), self.wishes)
    }

    /// The same for a format that is known only at run time: a [`memory::Encoder`](isoform::memory::Encoder) for records in memory of this machine, or
    /// [`Messages`] of one format. Sinks learn the format when the source joins. So a sink that cannot take such
    /// records refuses the source once, and gets no error for each event.
    ///
    /// ```
    /// use isoform::Messages;
    /// use isoform::{Code, Record, Rules};
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Level {
    ///     depth: f64,
    /// }
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     step: u64,
    /// }
    /// let channel = Node::new()?.create_with("any", None)?;
    /// let mut sink = channel.sink::<Tick>()?;
    /// let mut source = channel.source_builder().build_with(Messages::of(Level::format(), Rules::new()))?;
    /// assert!(matches!(sink.recv()?, Event::Refused(_, error) if error.code() == Code::NoConversion));
    /// let _levels = channel.sink_builder().build::<Messages>()?;
    /// let error = source.submit_body(Tick::format(), &[0; 8]).unwrap_err();
    /// assert_eq!(error.code(), Code::WrongType);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](SourceBuilder::build).
    pub fn build_with<F: Outgoing<Encoder = F>>(self, encoder: F) -> Result<Source<F>> {
        Source::new(&self.member, encoder, self.wishes)
    }
}

impl fmt::Debug for SinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SinkBuilder({:?}, {:?})", self.member.key, self.options)
    }
}

impl fmt::Debug for SourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceBuilder({:?}, {:?})", self.member.key, self.wishes)
    }
}
