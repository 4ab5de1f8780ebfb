//! What the steps of a plan cost for one record: bytes, and nanoseconds by a clock of the caller, since this crate has none.
//!
//! The record is made for it. Each step is run alone, many times, and the time of a run without steps is taken off. Nothing
//! here is estimated by constants: the figures are those of the machine on which they are measured. `explain` shows them.

use super::{Plan, Step, Steps, Transform};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Structure};
use crate::interp::{self, Output};
use crate::value::{self, Value};
use crate::verify::Body;
use std::time::Duration;

/// The numbers of elements and characters that are tried, until the receiver has room for them.
const ELEMENTS: [usize; 6] = [16, 8, 4, 2, 1, 0];
/// The number of symbols of each enumeration that are tried, since the receiver may not know some.
const SYMBOLS: usize = 4;
/// The most values and the most bytes of the made record.
const VALUES: usize = 1 << 16;
const BYTES: usize = 16 << 20;
/// The most steps that are measured. Further ones are only counted.
const STEPS: usize = 64;
/// Each figure is the least of `ROUNDS` measurements. A measurement lasts at least `LONG`, or has `RUNS` runs.
const ROUNDS: u32 = 5;
const LONG: Duration = Duration::from_micros(20);
const RUNS: u32 = 1 << 14;

/// What a conversion costs for one record, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The number of elements of each array of variable length, and of characters of each text, in the record that was made
    /// for this. Other numbers in it are zero.
    pub elements: usize,
    /// The bytes of its body, as they arrive.
    pub wire: usize,
    /// The bytes of the record that becomes of it, with all that its pointers point at. 0 if it is used where it arrives.
    pub native: usize,
    /// The steps, in the order in which they run. Empty if the record is used where it arrives.
    pub steps: Vec<StepTime>,
    /// The number of further steps, which were not measured on their own.
    pub others: usize,
    /// Nanoseconds to verify the body.
    pub verification: f64,
    /// Nanoseconds of all steps by the interpreter, which runs several at once where it can.
    pub interpreted: f64,
    /// Nanoseconds of all steps by generated code, if there is some.
    pub generated: Option<f64>,
}

/// What one step costs for one record.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTime {
    /// The step, as [`Plan`] shows it.
    pub text: String,
    /// The bytes that it writes.
    pub bytes: usize,
    /// Nanoseconds, by the interpreter.
    pub nanoseconds: f64,
}

/// Another engine, measured beside the interpreter.
pub type Other<'a> = &'a mut dyn FnMut(Body<'_>) -> Result<()>;

impl Times {
    pub(super) fn of(plan: &Plan, clock: &mut dyn FnMut() -> Duration, other: Option<Other<'_>>) -> Result<Times> {
        let (elements, bytes) = sample(plan)?;
        let body = plan.wire().verify(&bytes)?;
        let mut memory = Kept::default();
        let verification = measure(clock, &mut || _ = plan.wire().verify(&bytes));
        let mut times = Times {
            elements,
            wire: bytes.len(),
            native: 0,
            steps: Vec::new(),
            others: 0,
            verification,
            interpreted: 0.0,
            generated: None,
        };
        if plan.is_direct() {
            return Ok(times);
        }
        let mut time = |plan: &Plan| -> Result<(usize, f64)> {
            let length = memory.run(plan, body)?;
            Ok((length, measure(clock, &mut || _ = memory.run(plan, body))))
        };
        (times.native, times.interpreted) = time(plan)?;
        let (record, idle) = time(&plan.only(None))?;
        times.interpreted = (times.interpreted - idle).max(0.0);
        for step in plan.steps().iter().take(STEPS) {
            let alone = plan.only(Some(step));
            let (length, time) = time(&alone)?;
            let text = alone.to_string().lines().nth(1).unwrap_or_default().trim().to_string();
            let bytes = in_record(step, plan) + (length - record);
            times.steps.push(StepTime { text, bytes, nanoseconds: (time - idle).max(0.0) });
        }
        times.others = plan.steps().len() - times.steps.len();
        if let Some(other) = other {
            other(body)?;
            times.generated = Some(measure(clock, &mut || _ = other(body)));
        }
        Ok(times)
    }
}

impl Plan {
    /// The same with one of the steps, or with none.
    fn only(&self, step: Option<&Step>) -> Plan {
        let steps = Steps::from(Vec::from_iter(step.cloned()));
        Plan { wire: self.wire.clone(), native: self.native.clone(), faults: self.faults, steps, direct: false }
    }
}

/// The bytes that a step writes within the record. Bytes that it appends are counted when it runs.
fn in_record(step: &Step, plan: &Plan) -> usize {
    let pointer = usize::from(plan.native().machine().pointer);
    match step {
        Step::Move { len, .. } | Step::Chars { len, .. } => *len,
        Step::Permute { width, pairs, .. } => width * pairs.len(),
        Step::Fill { bytes, .. } => bytes.len(),
        Step::Text { .. } | Step::Str { .. } => pointer,
        Step::Elements { count, transform, .. } => {
            count
                * match transform {
                    Transform::Copy(size) => *size,
                    Transform::Swap { width, per } => width * per,
                    Transform::Convert { conversion, per } => usize::from(conversion.to.size) * per,
                    Transform::Symbols(symbols) => symbols.to.size.into(),
                    Transform::String => pointer,
                    Transform::Each { dst, .. } => *dst,
                }
        }
        Step::Array(array) => {
            let field = plan.field(array.field).and_then(|(_, field)| field.extent(pointer as u8));
            field.unwrap_or(pointer)
        }
    }
}

/// Memory of a decoder, which is not cleared between records.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    length: usize,
}

impl Kept {
    fn run(&mut self, plan: &Plan, body: Body<'_>) -> Result<usize> {
        self.length = 0;
        interp::run(plan, body, self)?;
        Ok(self.length)
    }
}

impl Output for Kept {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length > BYTES {
            return Err(Error::new(Code::Size).found(format_args!("a record of {length} bytes")));
        }
        self.bytes.resize(length.max(self.bytes.len()), 0);
        self.length = length;
        Ok(())
    }
}

/// Nanoseconds of a run.
fn measure(clock: &mut dyn FnMut() -> Duration, run: &mut dyn FnMut()) -> f64 {
    let mut time = |count: u32| {
        let began = clock();
        (0..count).for_each(|_| run());
        clock().saturating_sub(began)
    };
    let mut count = 1;
    while time(count) < LONG && count < RUNS {
        count *= 2;
    }
    let least = (0..ROUNDS).map(|_| time(count)).min().unwrap_or_default();
    least.as_nanos() as f64 / f64::from(count)
}

/// A body that the plan converts, and its number of elements.
fn sample(plan: &Plan) -> Result<(usize, Vec<u8>)> {
    let structure = plan.wire().structure();
    if structure.size() > BYTES || plan.native().size() > BYTES {
        return Err(Error::new(Code::Size).at(structure.name()).expected(format_args!("at most {BYTES} bytes")));
    }
    let mut first = None;
    for elements in ELEMENTS {
        for symbol in 0..SYMBOLS {
            let mut made = Sample { elements, symbol, left: VALUES };
            let body = made.record(structure).and_then(|record| value::body(plan.wire(), &record));
            let converted = body.and_then(|body| {
                Kept::default().run(plan, plan.wire().verify(&body)?)?;
                Ok(body)
            });
            match converted {
                Ok(body) => return Ok((elements, body)),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
    }
    Err(first.unwrap_or_else(|| Error::new(Code::Internal)))
}

/// Makes the values of a record. Numbers that need no value are left out, and become zero.
struct Sample {
    elements: usize,
    symbol: usize,
    left: usize,
}

impl Sample {
    fn record(&mut self, structure: &Structure) -> Result<Value> {
        let fields = structure.fields();
        let is_length = |index| fields.iter().any(|field| field.dims.contains(&Dimension::Field(index)));
        let mut values = Vec::new();
        for (_, field) in fields.iter().enumerate().filter(|(index, _)| !is_length(*index)) {
            let number = matches!(
                field.element,
                Element::Integer { .. } | Element::Float { .. } | Element::Complex { .. } | Element::Boolean { .. }
            );
            if field.indirect || !number {
                values.push((field.name.clone(), self.array(field, &field.dims)?));
            }
        }
        Ok(Value::Record(values))
    }

    fn array(&mut self, field: &Field, dims: &[Dimension]) -> Result<Value> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            Error::new(Code::Size).at(&*field.name).expected(format_args!("a record of at most {VALUES} values"))
        })?;
        let count = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(_) => self.elements,
        };
        match dims {
            [] => self.element(&field.element),
            [Dimension::Fixed(n)] if field.element == Element::Char => Ok(text(self.elements.min(n.saturating_sub(1)))),
            [_] if field.element == Element::Char => Ok(text(self.elements)),
            [dim, inner @ ..] => {
                Ok(Value::Array((0..count(dim)).map(|_| self.array(field, inner)).collect::<Result<_>>()?))
            }
        }
    }

    fn element(&mut self, element: &Element) -> Result<Value> {
        Ok(match element {
            Element::Integer { .. } => Value::Integer(1),
            Element::Float { .. } => Value::Float(1.0),
            Element::Complex { .. } => Value::Complex(Box::new([Value::Float(1.0), Value::Float(1.0)])),
            Element::Boolean { .. } => Value::Boolean(true),
            Element::Char => Value::Char(b'a'),
            Element::String => text(self.elements),
            Element::Enumeration(symbols) => {
                let symbols = symbols.symbols();
                Value::Symbol(symbols[self.symbol % symbols.len()].name.clone())
            }
            Element::Structure(inner) => self.record(inner)?,
        })
    }
}

fn text(length: usize) -> Value {
    Value::String(vec![b'a'; length])
}
