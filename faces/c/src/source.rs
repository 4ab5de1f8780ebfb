//! Sources. Section "Sources" of the header.

use crate::channel::Channel;
use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::parameters::{Told, values};
use crate::pointer::{Held, Opened, Out, close, given, open, put, record, records as many};
use isoform::Result;
use isoform::memory::Encoder;
use isoform_channel::{self as channel, Cause, QueryTime, SinkLedger, SourceBuilder, Waits};
use isoform_dynamic::wait::milliseconds as patience;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

/// `iso_source`
pub struct Source {
    pub(crate) source: channel::Source<Encoder>,
    pub(crate) told: Told,
}

impl Source {
    fn new(source: channel::Source<Encoder>) -> Source {
        Source { source, told: Told::default() }
    }
}

/// `iso_source_options`
#[repr(C)]
pub struct Options {
    lossless: c_int,
    keep: u64,
    wait_event_us: u32,
    wait_second_us: u32,
    query_once_us: u32,
    query_second_us: u32,
    most_queries: u32,
    most_sinks: u32,
    parameters_format: *const Format,
    parameters: *const c_void,
    most_demands: u32,
}

impl Options {
    /// The same source, as they say.
    ///
    /// # Safety
    /// (1, 3) of the crate, for the parameters: a format, and a record of it.
    unsafe fn of(&self, source: SourceBuilder) -> Result<SourceBuilder> {
        let micros = |given: u32, usual| if given == 0 { usual } else { Duration::from_micros(given.into()) };
        let Waits { event, second } = Waits::default();
        let source = source.waits(micros(self.wait_event_us, event), micros(self.wait_second_us, second));
        let QueryTime { at_once, second } = QueryTime::default();
        let (at_once, second) = (micros(self.query_once_us, at_once), micros(self.query_second_us, second));
        // Otherwise it shares the budget of its node.
        let has_own = self.query_once_us != 0 || self.query_second_us != 0;
        let source = if has_own { source.query_time(QueryTime { at_once, second }) } else { source };
        let source = if self.most_queries == 0 { source } else { source.most_queries(self.most_queries as usize) };
        let source = if self.most_sinks == 0 { source } else { source.most_sinks(self.most_sinks as usize) };
        let source = source.keep(usize::try_from(self.keep).unwrap_or(usize::MAX));
        let source = if self.most_demands == 0 { source } else { source.most_demands(self.most_demands as usize) };
        let source = if self.lossless != 0 { source.lossless() } else { source };
        // SAFETY: promised.
        match unsafe { self.parameters_format.as_ref() } {
            // SAFETY: promised.
            Some(format) => Ok(source.parameters_of(unsafe { values(Some(format), self.parameters)? })),
            None => Ok(source),
        }
    }
}

/// `iso_account`
#[repr(C)]
pub struct Account {
    node: [u8; 16],
    sink: u32,
    present: c_int,
    submitted: u64,
    acknowledged: u64,
    in_flight: u64,
    lost: u64,
    lost_for: [u64; 9],
    skipped: u64,
    superseded: u64,
    waited: u64,
    changes: u64,
    earlier: u64,
}

impl Account {
    fn of(SinkLedger { node, sink, present, ledger, earlier, waited, changes, .. }: &SinkLedger) -> Account {
        let mut lost_for = [0; 9];
        Cause::losses().for_each(|cause| lost_for[cause as usize] = ledger.lost_for(cause));
        Account {
            node: node.0,
            sink: *sink,
            present: (*present).into(),
            submitted: ledger.submitted,
            acknowledged: ledger.acknowledged,
            in_flight: ledger.in_flight,
            lost: ledger.lost(),
            lost_for,
            skipped: ledger.skipped,
            superseded: ledger.superseded,
            waited: waited.as_nanos() as u64,
            changes: *changes,
            earlier: *earlier,
        }
    }
}

/// Stores as many accounts as there is room for, and returns their number.
///
/// # Safety
/// (1) of the crate: there is room for so many.
unsafe fn tell(
    ledgers: &[SinkLedger],
    accounts: *mut MaybeUninit<Account>,
    room: usize,
    count: Out<'_, usize>,
) -> Result<()> {
    if !accounts.is_null() {
        for (i, ledger) in ledgers.iter().enumerate().take(room) {
            // SAFETY: promised.
            unsafe { accounts.add(i).write(MaybeUninit::new(Account::of(ledger))) };
        }
    }
    match count {
        Some(count) => put(Some(count), "count", ledgers.len()),
        None => Ok(()),
    }
}

/// `iso_source_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_open(
    channel: Option<&Channel>,
    format: Option<&Format>,
    source: Opened<'_, Source>,
) -> Status {
    call(|| {
        open(source, "source", || {
            let format = &given(format, "format")?.format;
            let builder = given(channel, "channel")?.channel.source_builder();
            builder.build_with(Encoder::new(format)?).map(Source::new)
        })
    })
}

/// `iso_source_open_with`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_open_with(
    channel: Option<&Channel>,
    format: Option<&Format>,
    options: Option<&Options>,
    source: Opened<'_, Source>,
) -> Status {
    call(|| {
        open(source, "source", || {
            let format = &given(format, "format")?.format;
            let builder = given(channel, "channel")?.channel.source_builder();
            let builder = match options {
                // SAFETY: (1, 3) of the crate.
                Some(options) => unsafe { options.of(builder)? },
                None => builder,
            };
            builder.build_with(Encoder::new(format)?).map(Source::new)
        })
    })
}

/// `iso_source_submit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_submit(source: Option<&mut Source>, data: *const c_void) -> Status {
    // SAFETY: (1) of the crate: a record of the source's format.
    call(|| unsafe { given(source, "source")?.source.submit_raw(record(data, "record")?) }.map(drop))
}

/// `iso_source_submit_many`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_submit_many(
    source: Option<&mut Source>,
    records: *const c_void,
    count: usize,
) -> Status {
    call(|| {
        let source = given(source, "source")?;
        if count == 0 {
            return Ok(());
        }
        let start = many(records, count, source.source.encoder().format().size())?;
        // SAFETY: (1) of the crate: so many records of the source's format.
        unsafe { source.source.submit_raw_many(start, count) }.map(drop)
    })
}

/// `iso_source_next`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_next(source: Option<&Source>) -> u64 {
    answer(0, || source.map_or(0, |source| source.source.next()))
}

/// `iso_source_set_patience`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_set_patience(source: Option<&mut Source>, milliseconds: c_int) -> Status {
    call(|| {
        let patience = (milliseconds >= 0).then(|| patience(milliseconds));
        given(source, "source")?.source.set_patience(patience);
        Ok(())
    })
}

/// `iso_source_wait`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_wait(source: Option<&Source>, sinks: usize, milliseconds: c_int) -> Status {
    call(|| given(source, "source")?.source.wait_for_sinks(sinks, patience(milliseconds)))
}

/// `iso_source_declined`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_declined(source: Option<&Source>) -> Status {
    call(|| given(source, "source")?.source.declined().map_or(Ok(()), Err))
}

/// `iso_source_sinks`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_sinks(source: Option<&Source>) -> usize {
    answer(0, || source.map_or(0, |source| source.source.sinks()))
}

/// `iso_source_ledger`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_ledger(
    source: Option<&Source>,
    accounts: *mut MaybeUninit<Account>,
    room: usize,
    count: Out<'_, usize>,
) -> Status {
    // SAFETY: (1) of the crate.
    call(|| unsafe { tell(&given(source, "source")?.source.ledger(), accounts, room, count) })
}

/// `iso_source_end`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_end(
    source: Held<'_, Source>,
    milliseconds: c_int,
    accounts: *mut MaybeUninit<Account>,
    room: usize,
    count: Out<'_, usize>,
) -> Status {
    call(|| {
        let ledgers = match source.and_then(Option::take) {
            Some(source) => source.source.close(patience(milliseconds))?,
            None => Vec::new(),
        };
        // SAFETY: (1) of the crate.
        unsafe { tell(&ledgers, accounts, room, count) }
    })
}

/// `iso_source_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_close(source: Held<'_, Source>) {
    answer((), || close(source));
}
