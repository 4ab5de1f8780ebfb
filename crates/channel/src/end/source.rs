//! Sources submit events. This file has what all can do, and how records of a Rust type and messages are submitted; `memory` has the
//! same for records of a format that is known only at run time.

mod demands;
mod memory;
mod run;
#[cfg(test)]
mod tests;

use run::Records;

use crate::api::life::{Life, Member};
use crate::api::parameters::{Demand, Parameters};
use crate::drive::bell::Bell;
use crate::drive::lent::Loan;
use crate::drive::machine::Sent;
use crate::drive::pages;
use crate::drive::state::State;
use crate::drive::wait::after;
use isoform::Messages;
use isoform::emit::Numbers;
use isoform::form::Outgoing;
use isoform::{Code, Encoder, Error, Format, Incoming, Message, Record, Result, Shared};
use isoform_channel_proto::{
    DemandKey, Draft, Grants, MemberInfo, Origin, PAYLOAD, Reach, Relayed, SinkLedger, SourceKey, Submitted, Time,
    Unheard,
};
use portable_atomic::AtomicU64;
use std::any::Any;
use std::fmt;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a new source waits for the members of its channel.
const HEARING: Duration = Duration::from_secs(1);
/// How long the sinks of a dropped source have to take its events.
const PARTING: Duration = Duration::from_secs(10);

/// A source of records of a [form](isoform::form): a type, memory of a format, or messages. Every sink of its channel receives its
/// events, in order.
pub struct Source<F: Outgoing> {
    end: SourceEnd,
    encoder: F::Encoder,
}

/// The settings of a [`SourceBuilder`](crate::SourceBuilder).
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    /// How long it waits for room.
    pub(crate) patience: Option<Duration>,
    pub(crate) grants: Grants,
    /// The defaults of its parameters, if it has any.
    pub(crate) parameters: Option<Parameters>,
}

/// The common part of all forms.
struct SourceEnd {
    life: Arc<Life>,
    key: SourceKey,
    bell: Arc<Bell>,
    /// The numbers of events that nobody hears.
    numbers: Arc<Numbers>,
    /// Whether its events have the source's own format.
    is_typed: bool,
    /// How long it waits for room.
    patience: Option<Duration>,
    /// Whether it keeps events for later sinks.
    keeps: bool,
    /// How often the demands had changed when the program was told of them last.
    told: AtomicU64,
}

impl<F: Outgoing> Source<F> {
    pub(crate) fn new(member: &Member, encoder: F::Encoder, wishes: Wishes) -> Result<Source<F>> {
        Ok(Source { end: SourceEnd::new(member, F::format(&encoder), wishes)?, encoder })
    }

    /// The number of the next event: how many this source has submitted, heard or not.
    pub fn next(&self) -> u64 {
        self.end.life.hub.lock().machine.next(self.end.key)
    }

    /// What makes messages of records.
    pub fn encoder(&self) -> &F::Encoder {
        &self.encoder
    }

    /// Limits how long submitting waits for room. After that time, and some milliseconds, it returns
    /// [`Code::Deadline`]; the record was not submitted, and may be submitted again. This is for programs that must do
    /// other things now and then. With `None`, the default, submitting waits without limit. Only lossless sinks make a
    /// lossless source wait for so long.
    ///
    /// ```
    /// use isoform::{Code, Record};
    /// use isoform_channel::{Node, Window};
    /// use std::time::Duration;
    ///
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Tick {
    ///     step: i64,
    /// }
    ///
    /// # fn main() -> isoform::Result<()> {
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let mut source = channel.source_builder().lossless().build::<Tick>()?;
    /// let slow = channel.sink_builder().lossless().window(Window { events: 2, bytes: 0 }).build::<Tick>()?;
    /// source.set_patience(Some(Duration::ZERO));
    /// let error = (0..).find_map(|step| source.submit(&Tick { step }).err());
    /// assert_eq!(error.map(|error| error.code()), Some(Code::Deadline));
    /// # drop(slow);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.end.patience = patience;
    }

    /// Waits until `count` sinks have subscribed.
    ///
    /// # Errors
    /// [`Code::Deadline`]; or [`Code::Forbidden`] after the same time, if there is no sink, and the rules do not let this
    /// node publish to a sink that is there. See [`declined`](Source::declined).
    pub fn wait_for_sinks(&self, count: usize, patience: Duration) -> Result<()> {
        self.end.wait_for_sinks(count, patience)
    }

    /// Why the node of a sink has declined this source last, unless it has another sink here now: [`Code::Forbidden`]
    /// if its rules do not let this node publish, or those of this node do not let it subscribe, with the right that is missing;
    /// or the records do not fit, for example.
    ///
    /// ```
    /// use isoform::Messages;
    /// use isoform_channel::Node;
    /// let source = Node::new()?.create_with("ticks", None)?.source_builder().build::<Messages>()?;
    /// assert!(source.declined().is_none());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn declined(&self) -> Option<Error> {
        self.end.declined()
    }

    /// The number of sinks.
    pub fn sinks(&self) -> usize {
        self.end.sinks()
    }

    /// The account of its events with every subscribed sink, and with those that left most recently.
    pub fn ledger(&self) -> Vec<SinkLedger> {
        self.end.ledger()
    }

    /// Ends the source. The sinks receive the submitted events, and then learn that it has left. Waits until they have
    /// taken all events or `patience` is over, and returns the account.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn close(self, patience: Duration) -> Result<Vec<SinkLedger>> {
        self.end.close(patience)
    }
}

impl<T: Record<Static = T>> Source<T> {
    /// Submits a record to all sinks. Returns its sequence number. If there are no sinks, the record is only numbered: it is not even
    /// encoded.
    ///
    /// The record is copied at most once for all sinks. If a sink with [`Policy::Block`](crate::Policy::Block) has no
    /// room, this waits, but not for long: see [`SourceBuilder::waits`](crate::SourceBuilder::waits). If both this source
    /// and the sink are [lossless](crate::SourceBuilder::lossless), it waits as long as that sink's process lives.
    ///
    /// # Errors
    /// [`Code::Closed`] if the channel was closed; the errors of [`Encoder::encode`].
    #[inline]
    pub fn submit<R>(&mut self, record: &R) -> Result<u64>
    where
        R: Record<Static = T>,
    {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        // The message stays where it was made: `?` would move it, and wait for its bytes to reach the cache.
        match &self.encoder.encode(record) {
            Ok(message) => self.end.submit_message(None, message),
            Err(error) => Err(error.clone()),
        }
    }

    /// Submits a record only to the sinks of a demand; see [`SourceBuilder::parameters`](crate::SourceBuilder::parameters). For others,
    /// the event counts as skipped.
    ///
    /// # Errors
    /// As [`submit`](Source::submit).
    pub fn submit_for<R>(&mut self, demand: &Demand, record: &R) -> Result<u64>
    where
        R: Record<Static = T>,
    {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        self.end.submit_message(Some(demand.key), &self.encoder.encode(record)?)
    }

    /// Submits consecutive records, and returns the sequence number of the last; `None` if there are none. That costs less than submitting them
    /// one by one. Up to 64 KiB of them have the same time.
    ///
    /// ```
    /// use isoform::Record;
    /// use isoform_channel::{Event, Node};
    /// #[derive(Record, Clone, Copy)]
    /// #[repr(C)]
    /// struct Tick {
    ///     count: u64,
    /// }
    /// let channel = Node::new()?.create::<Tick>("ticks")?;
    /// let (mut source, mut sink) = (channel.source::<Tick>()?, channel.sink::<Tick>()?);
    /// assert_eq!(source.submit_many(&[1, 2, 3].map(|count| Tick { count }))?, Some(2));
    /// let mut sum = 0;
    /// while sum < 6 {
    ///     sum += sink.recv()?.record().map_or(0, |tick| tick.count);
    /// }
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`submit`](Source::submit), with the number of the record in front of the path. The records before it are
    /// submitted.
    pub fn submit_many<R>(&mut self, records: &[R]) -> Result<Option<u64>>
    where
        R: Record<Static = T>,
    {
        self.end.submit_all(Typed { encoder: &mut self.encoder, records }, records.len())
    }

    /// Submits a record with shared ownership. Its large parts are not copied. Sinks in this process with the same type
    /// receive the record itself.
    ///
    /// # Errors
    /// As [`submit`](Source::submit).
    pub fn submit_owned(&mut self, record: Arc<T>) -> Result<u64>
    where
        T: Any + Send + Sync,
    {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        let shared = self.encoder.encode_shared(record)?;
        self.end.submit(None, None, &mut Sent::Shared(shared))
    }
}

impl Source<Messages> {
    /// A source of events that others number, too, while nobody hears them: those of `numbers`, and `unheard` is told who numbers.
    pub(crate) fn numbered(
        member: &Member,
        numbers: Arc<Numbers>,
        unheard: Arc<dyn Unheard>,
    ) -> Result<Source<Messages>> {
        let end = SourceEnd::with(member, None, Wishes::default(), numbers, unheard)?;
        Ok(Source { end, encoder: Messages::any() })
    }

    /// Submits a record that was encoded already.
    ///
    /// # Errors
    /// As [`submit_body`](Source::submit_body).
    pub fn submit_shared(&mut self, record: Shared) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        let format = record.format().clone();
        self.end.submit(None, Some(&format), &mut Sent::Shared(record))
    }

    /// Submits a body of a format, which must follow `spec/message.md`. The sinks verify it.
    ///
    /// # Errors
    /// [`Code::BodyLength`] if it is shorter than a record of the format; [`Code::WrongType`] if the source is of one format, and
    /// this is another one; the errors of a plan from the format to the channel's type; [`Code::Closed`].
    pub fn submit_body(&mut self, format: &Format, body: &[u8]) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        let shared = pages::copied(format, body.len(), iter::once(body))?;
        self.end.submit(None, Some(format), &mut Sent::Shared(shared))
    }

    /// As [`submit_body`](Source::submit_body), only to the sinks of a demand.
    ///
    /// # Errors
    /// As [`submit_body`](Source::submit_body).
    pub fn submit_body_for(&mut self, demand: &Demand, format: &Format, body: &[u8]) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        let shared = pages::copied(format, body.len(), iter::once(body))?;
        self.end.submit(Some(demand.key), Some(format), &mut Sent::Shared(shared))
    }

    /// Submits a received message.
    ///
    /// # Errors
    /// As [`submit_body`](Source::submit_body).
    pub fn submit_message(&mut self, message: &Incoming<'_>) -> Result<u64> {
        self.submit_body(message.format(), message.body())
    }

    /// Submits a received message for another source: sinks see its origin in their [`Stamp`](crate::Stamp). That is
    /// for relays.
    ///
    /// # Errors
    /// As [`submit_body`](Source::submit_body).
    pub fn relay(&mut self, message: &Incoming<'_>, origin: Origin) -> Result<u64> {
        if let Some(number) = self.end.pass() {
            return Ok(number);
        }
        let format = message.format();
        let draft = Sent::Shared(pages::copied(format, message.body().len(), iter::once(message.body()))?);
        self.end.submit(None, Some(format), &mut Relayed { draft, origin })
    }
}

impl SourceEnd {
    fn new(member: &Member, format: Option<&Format>, wishes: Wishes) -> Result<SourceEnd> {
        let numbers: Arc<Numbers> = Arc::default();
        SourceEnd::with(member, format, wishes, numbers.clone(), Arc::new(OfSource(numbers)))
    }

    fn with(
        member: &Member,
        format: Option<&Format>,
        wishes: Wishes,
        numbers: Arc<Numbers>,
        unheard: Arc<dyn Unheard>,
    ) -> Result<SourceEnd> {
        if let Some(query) = &member.query {
            let error = Error::new(Code::WrongType).at("source");
            let error = error.expected("a channel that is not derived: its sources are those of the channel behind it");
            return Err(error.found(format_args!("one derived by {query}")));
        }
        let Wishes { patience, grants, parameters } = wishes;
        let parameters = parameters.as_ref().map(|values| &values.0);
        let (life, bell) = (member.life.clone(), Bell::new());
        let key = life.hub.with(|state| {
            let key = state.machine.add_source_with(member.key, format, grants, parameters, Some(unheard))?;
            state.sources.insert(key, bell.clone());
            state.watchers.push((member.key, bell.clone()));
            Ok::<_, Error>(key)
        })?;
        let (is_typed, keeps, told) = (format.is_some(), grants.keep > 0, AtomicU64::new(0));
        let end = SourceEnd { life, key, bell, numbers, is_typed, patience, keeps, told };
        end.wait_for_members(member)?;
        Ok(end)
    }

    /// Numbers an event if nobody hears it. Then there is nothing else to do.
    #[inline]
    fn pass(&self) -> Option<u64> {
        self.numbers.take(1)
    }

    /// Waits until the sinks that this node knows of have subscribed: members answer a question after their
    /// subscriptions. This does not wait for a member that does not answer, or that cannot be reached.
    fn wait_for_members(&self, member: &Member) -> Result<()> {
        let hub = &self.life.hub;
        hub.with(|state| state.machine.ask(member.key, hub.now() + HEARING));
        let is_silent = |member: &MemberInfo| member.reach == Reach::Linked && member.report.is_none();
        let answered = |state: &mut State| {
            let info = state.machine.info(member.key);
            let has_all = info.is_none_or(|info| !info.members.iter().any(is_silent));
            (has_all && !state.machine.awaits_sinks(member.key)).then_some(())
        };
        hub.drive(&self.bell, after(HEARING), answered)?;
        Ok(())
    }

    /// Submits an encoded record.
    #[inline]
    fn submit_message(&self, demand: Option<DemandKey>, message: &Message<'_>) -> Result<u64> {
        if message.body_len() <= PAYLOAD {
            return self.submit(demand, None, &mut Copied::new(message));
        }
        // What is kept is needed after this call.
        match Loan::of(*message).filter(|_| !self.keeps) {
            Some(loan) => one(self.submit_with(|state| {
                let (submitted, now) = self.submit_draft(state, demand, None, &mut &loan);
                (submitted, now, Some(&loan))
            })),
            None => {
                let copy = pages::copied(message.format(), message.body_len(), message.body())?;
                self.submit(demand, None, &mut Sent::Shared(copy))
            }
        }
    }

    #[inline]
    fn submit(&self, demand: Option<DemandKey>, format: Option<&Format>, draft: &mut impl Draft<Sent>) -> Result<u64> {
        debug_assert!(self.is_typed || format.is_some());
        one(self.submit_with(|state| {
            let (submitted, now) = self.submit_draft(state, demand, format, draft);
            (submitted, now, None)
        }))
    }

    /// Submits a single event. Returns its time, too, if somebody wants the event.
    #[inline]
    fn submit_draft(
        &self,
        state: &mut State,
        demand: Option<DemandKey>,
        format: Option<&Format>,
        draft: &mut impl Draft<Sent>,
    ) -> (Result<Submitted>, Option<Time>) {
        let hub = &self.life.hub;
        let (machine, mut clock) = state.clocked();
        let time = || hub.wall(clock.time(|| hub.now()));
        let submitted = match demand {
            None => machine.submit_at(time, self.key, format, draft),
            Some(demand) => machine.submit_for(time, self.key, demand, format, draft),
        };
        (submitted, clock.looked)
    }

    /// Calls `submit` until it submits something, or there is nothing. Returns the number of the last event. `submit` also returns the time of that, if it has looked, and the loan of what it
    /// submits.
    #[inline]
    fn submit_with<'l>(
        &self,
        mut submit: impl FnMut(&mut State) -> (Result<Submitted>, Option<Time>, Option<&'l Loan<'l>>),
    ) -> Result<Option<u64>> {
        let hub = &self.life.hub;
        let mut waited = None;
        loop {
            let mut state = hub.lock();
            if let Some(gives_up) = waited {
                state.machine.waited(hub.now(), self.key, gives_up);
            }
            let (submitted, now, loan) = submit(&mut state);
            let now = || now.unwrap_or_else(|| hub.now());
            match loan {
                Some(loan) => hub.follow_lent(state, now(), self.key, loan, self.patience.is_none()),
                None if state.machine.has_action() => hub.follow(state, Some(now())),
                None => drop(state),
            }
            match submitted? {
                Submitted::Done(sequence) => return Ok(Some(sequence)),
                Submitted::Nothing => return Ok(None),
                // Sinks that this source need not wait for were given up.
                Submitted::Full if waited == Some(true) => return Err(self.late()),
                Submitted::Full => waited = Some(self.wait_for_room()?),
            }
        }
    }

    /// Waits for the sinks that have no room, as long as the source grants it. Returns whether its patience is over.
    #[cold]
    fn wait_for_room(&self) -> Result<bool> {
        let hub = &self.life.hub;
        let now = hub.now();
        let granted = hub.with(|state| state.machine.wait(now, self.key)).map(|until| until.saturating_sub(now));
        let has_patience = |granted| self.patience.is_none_or(|patience| granted < patience);
        let gives_up = !granted.is_some_and(has_patience);
        let room = |state: &mut State| (!state.machine.waits(self.key)).then_some(());
        let deadline = if gives_up { self.patience } else { granted }.and_then(after);
        hub.press_for(self.key, deadline);
        let found = hub.drive(&self.bell, deadline, room)?;
        Ok(gives_up && found.is_none())
    }

    #[cold]
    fn late(&self) -> Error {
        let waited = self.patience.unwrap_or_default();
        Error::new(Code::Deadline).at("source").expected(format_args!("room at all sinks within {waited:?}"))
    }

    fn wait_for_sinks(&self, count: usize, patience: Duration) -> Result<()> {
        let found = self.life.hub.drive(&self.bell, after(patience), |state| {
            let enough = state.machine.listeners(self.key) >= count;
            let closed = !state.machine.has_source(self.key);
            (enough || closed).then_some(enough)
        })?;
        match found {
            Some(true) => Ok(()),
            Some(false) => Err(Error::new(Code::Closed).at("source")),
            None => {
                let is_forbidden = |error: &Error| error.code() == Code::Forbidden && self.sinks() == 0;
                if let Some(error) = self.declined().filter(is_forbidden) {
                    return Err(error);
                }
                let sinks = if count == 1 { "sink" } else { "sinks" };
                let error = Error::new(Code::Deadline).expected(format_args!("{count} {sinks} within {patience:?}"));
                Err(error.found(self.sinks()))
            }
        }
    }

    fn declined(&self) -> Option<Error> {
        let (node, error) = self.life.hub.lock().machine.declined(self.key)?;
        Some(error.within(&format!("node {node}")))
    }

    fn sinks(&self) -> usize {
        self.life.hub.lock().machine.listeners(self.key)
    }

    fn ledger(&self) -> Vec<SinkLedger> {
        self.life.hub.lock().machine.ledger(self.key)
    }

    fn close(self, patience: Duration) -> Result<Vec<SinkLedger>> {
        let hub = &self.life.hub;
        hub.with(|state| state.machine.end_source(self.key));
        let until = after(patience);
        while !hub.lock().machine.is_over(hub.now(), self.key) && until.is_none_or(|until| Instant::now() < until) {
            let soon = Instant::now() + Duration::from_millis(20);
            let look = until.map_or(soon, |until| soon.min(until));
            let over = |state: &mut State| state.machine.is_over(hub.now(), self.key).then_some(());
            hub.drive(&self.bell, Some(look), over)?;
        }
        Ok(hub.with(|state| state.machine.drop_source(self.key)))
    }
}

impl Drop for SourceEnd {
    fn drop(&mut self) {
        let hub = &self.life.hub;
        if hub.is_inherited() {
            return;
        }
        hub.unwatch(&self.bell);
        hub.with(|state| {
            let now = hub.now();
            state.sources.remove(&self.key);
            state.machine.end_source(self.key);
            state.orphans.push((self.key, now + PARTING));
        });
    }
}

/// The number of a single event.
#[inline]
fn one(submitted: Result<Option<u64>>) -> Result<u64> {
    submitted?.ok_or_else(|| Error::new(Code::Internal).at("source").expected("a number for an event"))
}

/// The numbers of a source, as the state machine sees them.
#[derive(Debug)]
struct OfSource(Arc<Numbers>);

impl Unheard for OfSource {
    fn hear(&self) -> u64 {
        self.0.hear()
    }

    fn rest(&self, next: u64) {
        self.0.rest(next);
    }

    fn next(&self) -> u64 {
        self.0.next()
    }
}

/// Records of a Rust type.
struct Typed<'r, T, R> {
    encoder: &'r mut Encoder<T>,
    records: &'r [R],
}

impl<T: Record<Static = T>, R: Record<Static = T>> Records for Typed<'_, T, R> {
    #[inline]
    fn encode(&mut self, at: usize) -> Result<Message<'_>> {
        self.encoder.encode(&self.records[at])
    }

    #[inline]
    fn bodies(&self, records: Range<usize>) -> Option<&[u8]> {
        self.encoder.bodies(&self.records[records])
    }
}

/// An encoded message, which is copied to where it is needed.
struct Copied<'m> {
    message: &'m Message<'m>,
    shared: Option<Sent>,
}

impl<'m> Copied<'m> {
    #[inline]
    fn new(message: &'m Message<'m>) -> Copied<'m> {
        Copied { message, shared: None }
    }
}

impl Draft<Sent> for Copied<'_> {
    #[inline]
    fn length(&self) -> usize {
        self.message.body_len()
    }

    #[inline]
    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        self.message.body().for_each(each);
    }

    #[inline]
    fn contiguous(&self) -> Option<&[u8]> {
        self.message.contiguous_body()
    }

    #[cold]
    fn share(&mut self) -> Sent {
        let no_memory = |error| panic!("no memory for an event: {error}");
        self.shared.get_or_insert_with(|| Sent::Shared(self.message.to_shared().unwrap_or_else(no_memory))).clone()
    }

    fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
}

impl<F: Outgoing> fmt::Debug for Source<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?})", self.encoder)
    }
}

impl fmt::Debug for SourceEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.key)
    }
}
