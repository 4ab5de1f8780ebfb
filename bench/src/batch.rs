//! The group `batch`: a thousand messages of small records, back to back in memory, into as many records; and three
//! fields of a hundred into columns. Beside it, the compiled pair in a loop over the same bodies.
//!
//! All figures are per record. The messages are more than the first-level cache holds, and are gone through again and again.

use crate::compiled::{self, Compiled};
use crate::measure::{Contestant, Times, measure};
use crate::place::Memory;
use crate::records::{K01, K1, Mixed};
use crate::{Case, Line, Options, Result, Workload, fill};
use isoform::message::{ALIGNMENT, HEADER};
use isoform::{Batch, Columns, Decoder, Engine, Flat, Format, Record, Registry, message::Header};
use std::hint::black_box;

/// Messages in a batch.
const MESSAGES: usize = 1_000;

/// Measures one workload: records that come in the other byte order, and columns where a case picks fields.
///
/// # Errors
/// If a record is wrong, or `line` fails.
pub fn run(workload: &Workload, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for &case in &options.cases {
        match (case, case.formats(workload)?, workload.name) {
            (Case::Swap, Some(pair), "K01") => records::<K01>(&Sent::new(workload, case, pair)?, options, line)?,
            (Case::Swap, Some(pair), "K1") => records::<K1>(&Sent::new(workload, case, pair)?, options, line)?,
            (Case::Swap, Some(pair), "M100") => records::<Mixed>(&Sent::new(workload, case, pair)?, options, line)?,
            (Case::Project, Some(pair), "M100") => columns(&Sent::new(workload, case, pair)?, options, line)?,
            _ => {}
        }
    }
    Ok(())
}

/// What comes, what must become of it, and what does that by hand.
struct Sent {
    line: Line,
    native: Format,
    registry: Registry,
    messages: Vec<u8>,
    stride: usize,
    record: Vec<u8>,
    compiled: Option<Compiled>,
}

impl Sent {
    fn new(workload: &Workload, case: Case, (wire, native): (Format, Format)) -> Result<Sent> {
        let body = fill::body(&wire, workload.length);
        let stride = (HEADER + body.len()).next_multiple_of(ALIGNMENT);
        let mut message = Header::new(wire.token(), body.len() as u64).to_bytes().to_vec();
        message.extend(body);
        message.resize(stride, 0);
        let registry = Registry::new();
        registry.register(&wire)?;
        Ok(Sent {
            line: Line::new("batch", workload.name).word("case", case.name()),
            registry,
            messages: message.repeat(MESSAGES),
            stride,
            record: fill::body(&native, workload.length),
            compiled: match compiled::version() {
                Some(_) => Some(Compiled::new(&[(wire, native.clone())], compiled::tuned())?),
                None => None,
            },
            native,
        })
    }

    /// The compiled pair on each body.
    fn by_hand<'s>(&'s self, compiled: &'s Compiled) -> Contestant<'s> {
        let mut records = vec![0; MESSAGES * self.record.len()];
        Box::new(move |_, runs| {
            for _ in 0..runs {
                let bodies = black_box(&self.messages).chunks_exact(self.stride);
                for (message, record) in bodies.zip(records.chunks_exact_mut(self.record.len())) {
                    // SAFETY: it is a body of the wire format, and there is room for a record.
                    unsafe { compiled.convert(0, &message[HEADER..], record) };
                }
                black_box(&mut records);
            }
        })
    }

    /// A line about an engine, measured beside the compiled pair.
    fn line(&self, engine: &str, contestant: Contestant<'_>, options: &Options) -> Line {
        let mut contestants = vec![contestant];
        contestants.extend(self.compiled.iter().map(|compiled| self.by_hand(compiled)));
        let mut nowhere = Memory::new(0, ALIGNMENT, &[], false);
        let times = measure(&mut contestants, &mut [nowhere.place()], &options.effort);
        let each = |times: &Times| times.median() / MESSAGES as f64;
        let mut line = self.line.clone().word("engine", engine).figure("ns", each(&times[0]));
        if let Some(compiled) = times.get(1) {
            line = line.figure("compiled_ns", each(compiled)).figure("ratio", times[0].ratio(compiled));
        }
        line.count("bytes", self.record.len())
    }
}

fn records<T>(sent: &Sent, options: &Options, print: &mut impl FnMut(Line) -> Result<()>) -> Result<()>
where
    T: Flat + for<'a> Record<Native<'a> = T, Static = T>,
{
    let engines = match cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        true => &[("interpreter", Engine::Interpreter), ("generated", Engine::Generated)][..],
        false => &[("interpreter", Engine::Interpreter)],
    };
    for &(name, engine) in engines {
        let (mut decoder, mut registry) = (Decoder::<T>::new().with_engine(engine), sent.registry.clone());
        let (batch, _) = Batch::parse(&sent.messages, &mut registry)?;
        for record in decoder.decode_many(&batch)? {
            if isoform::Encoder::<T>::new().encode(record)?.to_vec()[HEADER..] != sent.record {
                return Err(format!("{}: a record is wrong", sent.native.name()).into());
            }
        }
        let contestant: Contestant<'_> = Box::new(move |_, runs| {
            for _ in 0..runs {
                let (batch, _) = Batch::parse(black_box(&sent.messages), &mut registry).expect("messages");
                black_box(decoder.decode_many(&batch).expect("records").as_ptr());
            }
        });
        print(sent.line(name, contestant, options))?;
    }
    Ok(())
}

/// The fields of the projection, in their types.
fn columns(sent: &Sent, options: &Options, print: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let [a, b, c] = sent.native.structure().fields() else { return Err("a projection has three fields".into()) };
    let mut columns = Columns::new();
    let (double, float) = (columns.field::<f64>(&a.name)?, columns.field::<f32>(&b.name)?);
    let integer = columns.field::<i32>(&c.name)?;
    let mut registry = sent.registry.clone();
    columns.append(&Batch::parse(&sent.messages, &mut registry)?.0)?;
    for ((double, float), integer) in columns[double].iter().zip(&columns[float]).zip(&columns[integer]) {
        let row = [&double.to_ne_bytes()[..], &float.to_ne_bytes(), &integer.to_ne_bytes()].concat();
        if row != sent.record {
            return Err("a row of the columns is wrong".into());
        }
    }
    let contestant: Contestant<'_> = Box::new(move |_, runs| {
        for _ in 0..runs {
            columns.clear();
            let (batch, _) = Batch::parse(black_box(&sent.messages), &mut registry).expect("messages");
            columns.append(&batch).expect("values that fit");
            black_box(&mut columns);
        }
    });
    print(sent.line("columns", contestant, options))
}
