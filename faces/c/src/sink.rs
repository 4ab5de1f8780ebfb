//! Sinks and handlers. Sections "Sinks" and "Handlers" of the header.

use crate::channel::Channel;
use crate::error::{Details, Kept, Status, answer, call};
use crate::format::{Format, Latest};
use crate::kinds::{self, Kinds, Others};
use crate::message::Message;
use crate::parameters::values;
use crate::pointer::{Held, Opened, Out, close, given, list, open, put, record_mut, text};
use crate::rules::{self, Rules};
use isoform::memory::{Chosen, Decoder};
use isoform::{Code, Error, Result};
use isoform_channel::{
    Counts, Event as Happened, Given, Head, Parameters, Policy, SinkBuilder, SourceRef, Stamp, Window,
};
use isoform_dynamic::sink::{self as dynamic, Any, Content};
use isoform_dynamic::wait::milliseconds as patience;
use isoform_dynamic::words::keeping;
use portable_atomic::{AtomicU64, Ordering};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Instant;
use std::{ptr, slice};

/// `iso_sink`
pub struct Sink {
    sink: dynamic::Sink,
    latest: Latest,
    told: Told,
    stamps: Vec<Stamp>,
    /// For a sink of several kinds: what becomes of records that fit none, and their number.
    others: Option<(Others, u64)>,
}

/// What the last event about a source points at.
#[derive(Default)]
struct Told {
    /// The reason why the source was refused.
    refused: Option<Kept>,
    /// The format of the source's records, or of the event whose head has come.
    joined: Latest,
    /// The head of an event, and the format of what has come of it.
    head: Option<Box<Head>>,
    own: Latest,
    /// The values of parameters that a source gives.
    given: Option<Box<Given>>,
}

/// `iso_sink_options`
#[repr(C)]
pub struct Options {
    policy: c_int,
    events: u64,
    bytes: u64,
    window_events: u64,
    window_bytes: u64,
    longest: u64,
    faults: c_int,
    fields: *const *const c_char,
    field_count: usize,
    heads: c_int,
    query: *const c_char,
    parameters_format: *const Format,
    parameters: *const c_void,
}

/// `iso_stamp`
#[repr(C)]
pub struct Stamped {
    source: u32,
    sequence: u64,
    nanoseconds: u64,
}

/// `iso_event`
#[repr(C)]
pub struct Event {
    kind: c_int,
    stamp: Stamped,
    record: *const c_void,
    message: Message,
    count: u64,
    cause: c_int,
    node: [u8; 16],
    error: *const Details,
    policy: c_int,
    reason: c_int,
    which: c_int,
    format: *const Format,
}

/// `ISO_POLICY_LOSSLESS`
const LOSSLESS: c_int = 3;

/// `iso_event_kind`
mod kind {
    use std::ffi::c_int;

    pub(super) const NOTHING: c_int = 0;
    pub(super) const RECORD: c_int = 1;
    pub(super) const GAP: c_int = 2;
    pub(super) const JOINED: c_int = 3;
    pub(super) const LEFT: c_int = 4;
    pub(super) const REFUSED: c_int = 5;
    pub(super) const GRANTED: c_int = 6;
    pub(super) const HEAD: c_int = 7;
    pub(super) const GIVEN: c_int = 8;
}

impl Sink {
    fn new(sink: dynamic::Sink) -> Sink {
        Sink { sink, latest: Latest::default(), told: Told::default(), stamps: Vec::new(), others: None }
    }
}

impl Sink {
    pub(crate) fn set_parameters(&self, values: Parameters) {
        self.sink.set_parameters(values);
    }
}

impl Stamped {
    fn of(stamp: Stamp) -> Stamped {
        Stamped { source: stamp.source.0, sequence: stamp.sequence, nanoseconds: stamp.nanoseconds }
    }
}

impl Event {
    const NOTHING: Event = Event {
        kind: kind::NOTHING,
        stamp: Stamped { source: 0, sequence: 0, nanoseconds: 0 },
        record: ptr::null(),
        message: Message::NONE,
        count: 0,
        cause: 0,
        node: [0; 16],
        error: ptr::null(),
        policy: 0,
        reason: 0,
        which: -1,
        format: ptr::null(),
    };

    /// An event in the form of C. `record` returns its record, its message, and the number of records; `told` owns
    /// the memory that the event points at.
    fn of<R>(
        came: Option<Happened<R>>,
        told: &mut Told,
        record: impl FnOnce(R) -> (*const c_void, Message, u64),
    ) -> Event {
        let none = Event::NOTHING;
        let from = |kind, source| Event { kind, stamp: Stamped { source, ..Event::NOTHING.stamp }, ..Event::NOTHING };
        match came {
            None => none,
            Some(Happened::Record { stamp, record: came }) => {
                let (record, message, count) = record(came);
                Event { kind: kind::RECORD, stamp: Stamped::of(stamp), record, message, count, ..none }
            }
            Some(Happened::Head { stamp, head }) => {
                let head = told.head.insert(head);
                let format = ptr::from_ref(told.joined.of(head.format()));
                let message = head.message().map_or(Message::NONE, |message| Message::of(&message, &mut told.own));
                Event { kind: kind::HEAD, stamp: Stamped::of(stamp), message, count: head.length(), format, ..none }
            }
            Some(Happened::Gap(source, gap)) => {
                let mut event = from(kind::GAP, source.0);
                event.stamp.sequence = gap.first;
                Event { count: gap.count, cause: gap.cause as c_int, ..event }
            }
            Some(Happened::Joined { source, node, format, earlier }) => {
                let format = format.map_or(ptr::null(), |format| ptr::from_ref(told.joined.of(&format)));
                Event { node: node.0, format, count: earlier, ..from(kind::JOINED, source.0) }
            }
            Some(Happened::Left(source, others)) => Event { count: others as u64, ..from(kind::LEFT, source.0) },
            Some(Happened::Refused(source, error)) => {
                let error = told.refused.insert(Kept::new(&error)).details();
                Event { error, ..from(kind::REFUSED, source.0) }
            }
            Some(Happened::Granted(source, granted)) => {
                let policy = match granted.policy {
                    Policy::Block if granted.must => LOSSLESS,
                    Policy::Block => 0,
                    Policy::DropOldest { .. } => 1,
                    Policy::Latest => 2,
                };
                Event { policy, reason: granted.reason as c_int, ..from(kind::GRANTED, source.0) }
            }
            Some(Happened::Given(source, given)) => {
                let refused = given.refused.as_ref().map(|error| told.refused.insert(Kept::new(error)).details());
                let given = told.given.insert(given);
                let message = Message::of(&given.values.message(), &mut told.own);
                let mut event = from(kind::GIVEN, source.0);
                event.stamp.sequence = given.first;
                Event { message, count: given.change.into(), error: refused.unwrap_or(ptr::null()), ..event }
            }
        }
    }
}

/// `iso_sink_set_policy`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_set_policy(sink: Option<&mut Sink>, policy: c_int, events: u64, bytes: u64) -> Status {
    call(|| {
        let sink = &given(sink, "sink")?.sink;
        let number = |number: u64| (number != 0).then_some(number);
        match policy {
            LOSSLESS => sink.set_lossless(),
            policy => sink.set_policy(keeping(rules::choice(policy)?, number(events), number(bytes))),
        }
        Ok(())
    })
}

/// The settings of a sink from C.
///
/// # Safety
/// (1, 3) of the crate, for the names of fields, the query and the parameters.
unsafe fn wanted(channel: &Channel, options: Option<&Options>) -> Result<SinkBuilder> {
    let mut wanted = channel.channel.sink_builder();
    let Some(options) = options else { return Ok(wanted) };
    let given = |number: u64| (number != 0).then_some(number);
    wanted = wanted.faults(rules::choice(options.faults)?);
    wanted = match options.policy {
        LOSSLESS => wanted.lossless(),
        policy => wanted.policy(keeping(rules::choice(policy)?, given(options.events), given(options.bytes))),
    };
    wanted = wanted.window(Window { events: options.window_events, bytes: options.window_bytes });
    if options.longest != 0 {
        wanted = wanted.longest(options.longest);
    }
    if options.heads != 0 {
        wanted = wanted.heads();
    }
    if !options.query.is_null() {
        // SAFETY: promised.
        wanted = wanted.query(unsafe { text(options.query, "query")? })?;
    }
    // SAFETY: promised.
    if let Some(format) = unsafe { options.parameters_format.as_ref() } {
        // SAFETY: promised.
        wanted = wanted.parameters_of(unsafe { values(Some(format), options.parameters)? });
    }
    // SAFETY: promised.
    let fields = unsafe { list(options.fields, options.field_count, "fields")? };
    // SAFETY: promised.
    let fields: Vec<&str> = fields.iter().map(|&field| unsafe { text(field, "field") }).collect::<Result<_>>()?;
    Ok(wanted.fields(fields))
}

/// `iso_sink_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_sink_open(
    channel: Option<&Channel>,
    format: Option<&Format>,
    rules: Option<&Rules>,
    options: Option<&Options>,
    sink: Opened<'_, Sink>,
) -> Status {
    call(|| {
        open(sink, "sink", || {
            // SAFETY: (1) of the crate.
            let sink = unsafe { wanted(given(channel, "channel")?, options)? };
            let form = match format {
                Some(of) => Any::records(&of.format, rules::of(rules, of)?)?,
                None => Any::messages(None),
            };
            sink.build_with(form).map(Sink::new)
        })
    })
}

/// `iso_sink_open_kinds`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_sink_open_kinds(
    channel: Option<&Channel>,
    kinds: Option<&Kinds>,
    others: c_int,
    options: Option<&Options>,
    sink: Opened<'_, Sink>,
) -> Status {
    call(|| {
        open(sink, "sink", || {
            // SAFETY: (1) of the crate.
            let sink = unsafe { wanted(given(channel, "channel")?, options)? };
            let others = Others::numbered(others)?;
            let sink = sink.build_with(Any::kinds(given(kinds, "kinds")?.decoder(others)?))?;
            Ok(Sink { others: Some((others, 0)), ..Sink::new(sink) })
        })
    })
}

/// `iso_sink_next`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_next(sink: Option<&mut Sink>, milliseconds: c_int, event: Out<'_, Event>) -> Status {
    call(|| {
        let place = given(event, "event")?;
        place.write(Event::NOTHING);
        let Sink { sink, latest, told, others, .. } = given(sink, "sink")?;
        let (start, whole) = (Instant::now(), patience(milliseconds));
        loop {
            let came = sink.recv_timeout(whole.saturating_sub(start.elapsed()))?;
            if is_not_wanted(&came, others) {
                continue;
            }
            let mut which = -1;
            let event = Event::of(came, told, |came| {
                let (record, message, kind) = content(came, latest);
                which = kind;
                (record, message, 1)
            });
            place.write(Event { which, ..event });
            return Ok(());
        }
    })
}

/// `iso_sink_others`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_others(sink: Option<&Sink>) -> u64 {
    sink.and_then(|sink| sink.others).map_or(0, |(_, count)| count)
}

/// A lent record.
fn lent(record: &[u8]) -> (*const c_void, Message, u64) {
    (record.as_ptr().cast(), Message::NONE, 1)
}

/// `iso_sink_take`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_sink_take(
    sink: Option<&mut Sink>,
    records: *mut c_void,
    most: usize,
    stamps: *mut MaybeUninit<Stamped>,
    milliseconds: c_int,
    event: Out<'_, Event>,
) -> Status {
    call(|| {
        let place = given(event, "event")?;
        place.write(Event::NOTHING);
        let Sink { sink, latest, told, stamps: came, others } = given(sink, "sink")?;
        let event = if sink.decoder().is_of_kinds() {
            if !records.is_null() {
                let error = Error::new(Code::WrongType).at("records").expected("NULL, for a sink of several kinds");
                return Err(error.found("an address"));
            }
            run(sink, latest, told, came, others, most, milliseconds)?
        } else {
            let to = record_mut(records, "records")?;
            let bytes = sink.decoder().size()?.checked_mul(most).filter(|bytes| isize::try_from(*bytes).is_ok());
            let bytes = bytes.ok_or_else(|| Error::new(Code::Size).at("most").found(most))?;
            // SAFETY: (1) of the crate: there is room for so many, and whatever C has left in it is for this process bytes of some
            // value.
            let room = unsafe { slice::from_raw_parts_mut(to, bytes) };
            let taken = dynamic::take_into(sink, room, came, patience(milliseconds))?;
            Event::of(taken, told, |count| (to.cast_const().cast(), Message::NONE, count as u64))
        };
        if !stamps.is_null() {
            for (i, &stamp) in came.iter().enumerate() {
                // SAFETY: (1) of the crate: there is room for as many as for records.
                unsafe { stamps.add(i).write(MaybeUninit::new(Stamped::of(stamp))) };
            }
        }
        put(Some(place), "event", event)
    })
}

/// The next records of one kind, or another event.
fn run(
    sink: &mut dynamic::Sink,
    latest: &mut Latest,
    told: &mut Told,
    stamps: &mut Vec<Stamp>,
    others: &mut Option<(Others, u64)>,
    most: usize,
    milliseconds: c_int,
) -> Result<Event> {
    let (start, whole) = (Instant::now(), patience(milliseconds));
    loop {
        let came = dynamic::take_kind(sink, most, stamps, whole.saturating_sub(start.elapsed()))?;
        if is_not_wanted(&came, others) {
            continue;
        }
        let (mut which, count) = (-1, stamps.len() as u64);
        let event = Event::of(came, told, |came| {
            let (record, message, kind) = content(came, latest);
            which = kind;
            (record, message, count)
        });
        return Ok(Event { which, ..event });
    }
}

/// The record of an event, its message, and the number of its kind.
fn content(came: Content<'_>, latest: &mut Latest) -> (*const c_void, Message, c_int) {
    match came {
        Content::Record(record) => (record.as_ptr().cast(), Message::NONE, -1),
        Content::Kind(kind, record) => (record.as_ptr().cast(), Message::NONE, kinds::number(kind)),
        Content::Message(message) => (ptr::null(), Message::of(&message, latest), -1),
    }
}

/// Counts a record that fits none of several kinds. Returns whether it does not come.
fn is_not_wanted(came: &Option<Happened<Content<'_>>>, others: &mut Option<(Others, u64)>) -> bool {
    match (others, came) {
        (Some((others, count)), Some(Happened::Record { record: Content::Message(_), .. })) => {
            *count += 1;
            *others == Others::Count
        }
        _ => false,
    }
}

/// `iso_sink_decline`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_decline(
    sink: Option<&Sink>,
    stamp: Option<&Stamped>,
    declined: Option<&mut c_int>,
) -> Status {
    call(|| {
        let &Stamped { source, sequence, nanoseconds } = given(stamp, "stamp")?;
        let stamp = Stamp { source: SourceRef(source), sequence, nanoseconds, origin: None };
        let is_coming = given(sink, "sink")?.sink.decline(&stamp);
        if let Some(declined) = declined {
            *declined = is_coming.into();
        }
        Ok(())
    })
}

/// `iso_sink_fd`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_fd(sink: Option<&Sink>, descriptor: Out<'_, c_int>) -> Status {
    call(|| {
        let place = given(descriptor, "fd")?;
        place.write(-1);
        let sink = given(sink, "sink")?;
        #[cfg(unix)]
        let descriptor = sink.sink.descriptor()?.as_raw_fd();
        #[cfg(windows)]
        let descriptor = crate::node::no_descriptor("iso_sink_next", sink)?;
        place.write(descriptor);
        Ok(())
    })
}

/// `iso_counts`
#[repr(C)]
pub struct Counted {
    received: u64,
    taken: u64,
    lost: u64,
    superseded: u64,
    skipped: u64,
    refused: u64,
    unfit: u64,
    earlier: u64,
}

impl Counted {
    fn of(Counts { received, taken, lost, superseded, skipped, refused, unfit, earlier }: Counts) -> Counted {
        Counted { received, taken, lost, superseded, skipped, refused, unfit, earlier }
    }
}

/// `iso_sink_counts`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_counts(sink: Option<&Sink>, counts: Out<'_, Counted>) -> Status {
    call(|| put(counts, "counts", Counted::of(given(sink, "sink")?.sink.counts())))
}

/// `iso_sink_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_sink_close(sink: Held<'_, Sink>) {
    answer((), || close(sink));
}

/// `iso_handle`
pub type Handle = unsafe extern "C" fn(context: *mut c_void, event: *const Event);

/// `iso_handler`
pub struct Handler {
    handler: isoform_channel::Handler,
    /// The number of records that fitted none of several kinds.
    others: Arc<AtomicU64>,
}

/// A function of the program, with its context.
#[derive(Clone, Copy)]
pub(crate) struct Function(Handle, *mut c_void);

// SAFETY: the header says that it is called by whichever thread polls the node.
unsafe impl Send for Function {}

impl Function {
    pub(crate) fn new(handle: Handle, context: *mut c_void) -> Function {
        Function(handle, context)
    }

    fn call(&self, event: &Event) {
        // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
        unsafe { self.0(self.1, event) }
    }
}

/// `iso_handler_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_handler_open(
    channel: Option<&Channel>,
    format: Option<&Format>,
    rules: Option<&Rules>,
    options: Option<&Options>,
    function: Option<Handle>,
    context: *mut c_void,
    handler: Opened<'_, Handler>,
) -> Status {
    call(|| {
        open(handler, "handler", || {
            // SAFETY: (1) of the crate.
            let sink = unsafe { wanted(given(channel, "channel")?, options)? };
            let format = given(format, "format")?;
            let function = Function(given(function, "function")?, context);
            let rules = rules::of(rules, format)?;
            let handle = move |came: Happened<&[u8]>| function.call(&Event::of(Some(came), &mut Told::default(), lent));
            let handler = sink.on_with(Decoder::new(&format.format, rules)?, handle)?;
            Ok(Handler { handler, others: Arc::default() })
        })
    })
}

/// `iso_handler_open_kinds`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_handler_open_kinds(
    channel: Option<&Channel>,
    kinds: Option<&Kinds>,
    others: c_int,
    options: Option<&Options>,
    function: Option<Handle>,
    context: *mut c_void,
    handler: Opened<'_, Handler>,
) -> Status {
    call(|| {
        open(handler, "handler", || {
            // SAFETY: (1) of the crate.
            let sink = unsafe { wanted(given(channel, "channel")?, options)? };
            let (kinds, others) = (given(kinds, "kinds")?, Others::numbered(others)?);
            let (decoder, functions) = (kinds.decoder(others)?, kinds.functions.clone());
            let (function, counts) =
                (function.map(|function| Function::new(function, context)), others == Others::Count);
            let count = Arc::new(AtomicU64::new(0));
            let (counted, mut latest) = (count.clone(), Latest::default());
            let handle = move |came: Happened<Chosen<'_>>| {
                let mut which = None;
                let is_other = matches!(came, Happened::Record { record: Chosen::Other(_), .. });
                counted.fetch_add(is_other.into(), Ordering::Relaxed);
                if is_other && counts {
                    return;
                }
                let mut told = Told::default();
                let event = Event::of(Some(came), &mut told, |came| match came {
                    Chosen::Record(kind, record) => {
                        which = Some(kind);
                        lent(record)
                    }
                    Chosen::Other(message) => (ptr::null(), Message::of(&message, &mut latest), 1),
                });
                let event = Event { which: which.map_or(-1, kinds::number), ..event };
                let of_kind = which.and_then(|kind| functions.get(kind).copied().flatten());
                if let Some(function) = of_kind.or(function) {
                    function.call(&event);
                }
            };
            Ok(Handler { handler: sink.on_with(decoder, handle)?, others: count })
        })
    })
}

/// `iso_handler_others`
#[unsafe(no_mangle)]
pub extern "C" fn iso_handler_others(handler: Option<&Handler>) -> u64 {
    handler.map_or(0, |handler| handler.others.load(Ordering::Relaxed))
}

/// `iso_handler_counts`
#[unsafe(no_mangle)]
pub extern "C" fn iso_handler_counts(handler: Option<&Handler>, counts: Out<'_, Counted>) -> Status {
    call(|| put(counts, "counts", Counted::of(given(handler, "handler")?.handler.counts())))
}

/// `iso_handler_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_handler_close(handler: Held<'_, Handler>) {
    answer((), || close(handler));
}
