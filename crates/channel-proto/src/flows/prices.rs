//! What queries cost a source, in nanoseconds that nobody measures (`spec/channel.md`, "The time of queries").

use crate::Time;
use isoform_core::format::MAX_FIELDS;
use isoform_core::{Code, Element, Error, Format, Result};
use isoform_query::{Checked, Cost, Engine};

/// The most steps of a query: for a record, for an element of its longest array and of slices, and for 8 bytes of its texts, together.
const STEPS: u64 = 1 << 20;
/// The nanoseconds that steps are counted as: an operation on single values, a step for an element of an array, and an element of an array of
/// doubles of which there is a sum or the like. By the interpreter, and by machine code. `isoform-hostile prices` compares them with instructions.
const INTERPRETED: [u64; 3] = [30, 26, 6];
const CODED: [u64; 3] = [2, 2, 1];
/// For some bytes of fixed length that are looked at or copied, in one step.
const BLOCK: u64 = 2;
/// For each event that a query looks at.
const EVENT: u64 = 200;
/// For each result that is written to a sink, and for each of its bytes; also for each byte that a part passes on to the next.
const FRAME: u64 = 5_000;
/// More for a result without another one in the nanoseconds before, or a part of it after a part of them: it needs a
/// write of its own, and its sink acknowledges it alone.
const RARE_FRAME: u64 = 25_000;
const RARE_AFTER: u64 = 20_000_000;
const BYTE: u64 = 1;
/// This part of what a result takes is for making it, and the rest for writing it.
const LATER: u64 = 8;
/// The most bytes of a result: for each byte of the event, and besides.
const LONGER: usize = 4;
const BESIDES: usize = 64 << 10;
/// The bytes of a text that a query looks at in a nanosecond. Texts are no longer than the event.
const TEXT: usize = 8;
/// The bytes of an event that are verified in a nanosecond, if it has arrays of what is verified one by one; and those that are put together.
const CHECKED: usize = 2;
const JOINED: usize = 8;
/// For each field of a record without the others.
const FIELD: u64 = 40;
/// For a query and a format that it meets: for each part; for each byte of its text; and for each field of the formats
/// of its results.
const MEETING: u64 = 30_000;
const QUERY_BYTE: u64 = 100;
const MADE: u64 = 250;
/// For each state of a query that is looked at because results were lost, or another sink shares it.
const LOOK: u64 = 10;
/// For the machine code of a query, for each of its operations, literals and paths, once.
const CODE: u64 = 24_000;

/// What a query takes for events of a format, by the prices of a source. Writing its results is not included.
///
/// ```
/// use isoform_channel_proto::{Query, QueryPrices};
/// use isoform_core::{Layout, Shape};
/// let format = Shape::new("Grid").field("depth", "double[1000]").on(&Layout::NATIVE)?;
/// let checked = "where max(depth) > 2".parse::<Query>()?.check(&format, &Layout::NATIVE)?;
/// let prices = QueryPrices::new(&checked, &format);
/// let [interpreted, coded] = [false, true].map(|is_coded| prices.most(format.size(), is_coded));
/// assert!(coded < interpreted && interpreted.as_micros() < 50);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueryPrices {
    /// The most that an event takes.
    cost: Cost,
    /// The smallest elements of arrays of variable length, in bytes.
    smallest: usize,
    /// What evaluates it once code was made, and the size of that code.
    engine: Engine,
    operations: u64,
    /// Whether bodies have many parts that are verified, or strings, whose ends are looked for.
    is_checked: bool,
    has_strings: bool,
}

impl QueryPrices {
    /// The prices of a query for events of a format.
    pub fn new(checked: &Checked, format: &Format) -> QueryPrices {
        let (engine, operations) = checked.engine();
        QueryPrices {
            cost: checked.cost(),
            smallest: smallest(format),
            engine,
            operations,
            is_checked: is_checked(format),
            has_strings: has_strings(format),
        }
    }

    /// The most that an event of this length takes, evaluated by machine code or by the interpreter.
    pub fn most(&self, length: usize, is_coded: bool) -> Time {
        Time::from_nanos(self.of(self.cost, length, is_coded))
    }

    /// What an event of this length took, if that were [these steps](isoform_query::Run::spent), and these bytes were
    /// [passed on](isoform_query::Run::passed_on).
    pub fn event(&self, spent: Cost, passed_on: u64, length: usize, is_coded: bool) -> Time {
        let took = self.of(spent, length, is_coded).saturating_add(self.reads(length, true));
        Time::from_nanos(took.saturating_add(self::passed_on(passed_on)))
    }

    /// What machine code takes, once; `None` if it would evaluate nothing.
    pub fn code(&self) -> Option<Time> {
        self.has_code().then(|| Time::from_nanos(self.makes_code()))
    }

    fn has_code(&self) -> bool {
        self.engine != Engine::Interpreter && self.operations > 0
    }

    pub(super) fn makes_code(&self) -> u64 {
        self.operations.saturating_mul(CODE)
    }

    /// What every event takes at least.
    pub(super) fn least(&self, is_coded: bool) -> u64 {
        self.of(self.cost, 0, is_coded)
    }

    /// Whether there is machine code for it that takes no longer than one evaluation may.
    pub(super) fn may_have_code(&self, at_once: u64) -> bool {
        self.has_code() && self.makes_code() <= at_once
    }

    /// What events of a length take, if one evaluation may take so much.
    pub(super) fn priced(&self, length: usize, at_once: u64) -> Priced {
        let [interpreted, coded] = [false, true].map(|is_coded| self.whole(length, is_coded));
        let is_generated = self.engine == Engine::Generated && self.may_have_code(at_once);
        Priced {
            length,
            takes: [interpreted, coded],
            reads: [false, true].map(|is_contiguous| self.reads(length, is_contiguous)),
            needs_code: is_generated && interpreted > at_once && coded <= at_once,
            code_pays_off: is_generated && self.makes_code().saturating_add(coded) < interpreted,
        }
    }

    /// As [`most`](QueryPrices::most).
    pub(super) fn whole(&self, length: usize, is_coded: bool) -> u64 {
        self.of(self.cost, length, is_coded)
    }

    /// What these steps take, of an event of this length, evaluated by machine code or by the interpreter.
    pub(super) fn of(&self, cost: Cost, length: usize, is_coded: bool) -> u64 {
        let [operation, step, double] = if is_coded { CODED } else { INTERPRETED };
        let Cost { record, operations, blocks, doubles, element, element_doubles, sliced, sliced_most, text } = cost;
        let of = |count: u64, price: u64| count.saturating_mul(price);
        // Division is slow.
        let elements = if element == 0 && sliced == 0 { 0 } else { (length / self.smallest) as u64 };
        let each = of(element.saturating_sub(2 * element_doubles), step).saturating_add(of(element_doubles, double));
        let steps = record.saturating_sub(operations).saturating_sub(blocks).saturating_sub(of(doubles, 2));
        let checks = if self.is_checked { (length / CHECKED) as u64 } else { 0 };
        [
            of(operations, operation),
            of(blocks, BLOCK),
            of(doubles, double),
            of(steps, step),
            of(elements, each),
            of(of(elements, sliced).min(sliced_most), step),
            of(text, (length / TEXT) as u64),
            checks,
        ]
        .into_iter()
        .fold(EVENT, u64::saturating_add)
    }

    /// What it takes besides to have the body of an event in one piece, and to look for the ends of its strings.
    pub(super) fn reads(&self, length: usize, is_contiguous: bool) -> u64 {
        let joined = if is_contiguous { 0 } else { length / JOINED };
        let ends = if self.has_strings && !self.is_checked { length / TEXT } else { 0 };
        (joined + ends) as u64
    }

    /// The most that a result in a format takes for each sink, of an event of this length.
    pub(super) fn results(&self, result: &Format, length: usize) -> Made {
        let copied = (self.cost.text as usize).saturating_mul(length);
        Made { sink: written(result.size().saturating_add(copied).min(longest(length))), ..Made::default() }
    }
}

/// What events of one length take, which are mostly alike.
#[derive(Clone, Copy)]
pub(super) struct Priced {
    pub(super) length: usize,
    /// By the interpreter, and by machine code.
    pub(super) takes: [u64; 2],
    /// Besides, if their bodies are not contiguous, and if they are.
    pub(super) reads: [u64; 2],
    /// Whether machine code alone can evaluate one in the time that one evaluation may take.
    pub(super) needs_code: bool,
    /// Whether machine code takes less than the interpreter for a single one, although it has to be made first.
    pub(super) code_pays_off: bool,
}

/// Checks that a query takes no more steps than any may.
pub(super) fn expect_few_steps(cost: Cost) -> Result<()> {
    let steps = cost.record.saturating_add(cost.element).saturating_add(cost.sliced).saturating_add(cost.text);
    if steps <= STEPS {
        return Ok(());
    }
    let error = Error::new(Code::Budget).at("query").expected(format_args!("at most {STEPS} steps for a record"));
    Err(error.found(steps))
}

/// What it takes to be ready for events of another format, for which formats with so many fields are made.
pub(super) fn meeting(format: &Format, made: usize) -> u64 {
    MEETING + FIELD * format.structure().total_fields() as u64 + MADE * made as u64
}

/// What the text of a query says of the cost of checks, counted once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    bytes: usize,
    /// The parts of the query, and the items that they select: at most that many.
    pub(super) parts: usize,
    items: usize,
}

impl Extent {
    pub(super) fn of(text: &str) -> Extent {
        let selects = text.matches("select").count();
        let items = if selects == 0 { 0 } else { selects + text.matches(',').count() };
        Extent { bytes: text.len(), parts: 1 + text.matches("||").count(), items }
    }

    /// What it took to check the query against a format, with so many fields in the formats of its results.
    pub(super) fn check_cost(self, format: &Format, made: usize) -> u64 {
        self.parts as u64 * meeting(format, 0) + QUERY_BYTE * self.bytes as u64 + MADE * made as u64
    }

    /// The most that a check can cost: as if each selected item were a record with all fields. A query beyond the limit of
    /// fields is refused only after they were made.
    pub(super) fn most_check_cost(self, format: &Format) -> u64 {
        let made = self.items.saturating_mul(format.structure().total_fields());
        self.check_cost(format, made.min(2 * MAX_FIELDS))
    }
}

/// What it takes to look at so many states.
pub(super) fn looks(states: u64) -> u64 {
    LOOK * states
}

/// What it takes to write a result to a sink.
#[inline]
pub(super) fn written(bytes: usize) -> u64 {
    FRAME + BYTE * bytes as u64
}

/// What a result takes besides, so many nanoseconds after the one before it.
pub(super) fn rare(since: Option<u64>) -> u64 {
    RARE_FRAME * since.unwrap_or(RARE_AFTER).min(RARE_AFTER) / RARE_AFTER
}

/// What it takes to write descriptions of formats.
pub(super) fn described(bytes: usize) -> u64 {
    BYTE * bytes as u64
}

/// What bytes take that a part passes on to the next.
#[inline]
pub(super) fn passed_on(bytes: u64) -> u64 {
    BYTE * bytes
}

/// What an event took, in nanoseconds: to evaluate it, what parts have passed on, and for each sink to which a result was written.
#[derive(Clone, Copy, Default)]
pub(super) struct Made {
    pub(super) evaluated: u64,
    pub(super) passed_on: u64,
    pub(super) sink: u64,
}

impl Made {
    #[inline]
    pub(super) fn all(self, sinks: usize) -> u64 {
        self.evaluated.saturating_add(self.passed_on).saturating_add(self.sink.saturating_mul(sinks as u64))
    }

    /// The part of it that is to be waited for: results are written later.
    #[inline]
    pub(super) fn here(self) -> u64 {
        self.evaluated.saturating_add(self.passed_on).saturating_add(self.sink / LATER)
    }

    /// The larger of both.
    #[inline]
    pub(super) fn or(self, other: Made) -> Made {
        Made { evaluated: 0, passed_on: self.passed_on.max(other.passed_on), sink: self.sink.max(other.sink) }
    }
}

/// The most bytes of a result for an event of this length.
pub(super) fn longest(length: usize) -> usize {
    length.saturating_mul(LONGER).saturating_add(BESIDES)
}

/// What it takes to make a record without some of the fields, of so many fields and bytes. The bytes of the event are put together first if they are
/// not contiguous.
pub(super) fn projection(format: &Format, short: &Format, bytes: usize, length: usize, is_contiguous: bool) -> u64 {
    let checks = if is_checked(format) { length / CHECKED } else { 0 };
    let joined = if is_contiguous { 0 } else { length / JOINED };
    EVENT + FIELD * short.structure().total_fields() as u64 + (bytes + checks + joined) as u64
}

/// Whether the bodies of a format have arrays of what is verified one by one.
fn is_checked(format: &Format) -> bool {
    let structures = format.structure().inside_out();
    let mut fields = structures.iter().flat_map(|structure| structure.fields());
    fields.any(|field| {
        !field.dims.is_empty()
            && match &field.element {
                Element::String | Element::Boolean { .. } | Element::Enumeration(_) => true,
                Element::Structure(inner) => inner.needs_check(),
                _ => false,
            }
    })
}

/// Whether the bodies of a format have strings outside of arrays.
fn has_strings(format: &Format) -> bool {
    let structures = format.structure().inside_out();
    structures.iter().flat_map(|structure| structure.fields()).any(|field| matches!(field.element, Element::String))
}

/// The size of the smallest elements of arrays of variable length. If there are none, such a step is for some bytes of a text.
fn smallest(format: &Format) -> usize {
    let pointer = format.machine().pointer;
    let structures = format.structure().inside_out();
    let fields = structures.iter().flat_map(|structure| structure.fields());
    fields.filter(|field| field.is_dynamic()).map(|field| field.element_size(pointer)).min().unwrap_or(8).max(1)
}
