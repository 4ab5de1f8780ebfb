//! The simulation's side: it publishes its own struct as it lies in memory. On a little-endian machine it does so in the
//! guise of a 32-bit big-endian one.

use super::river::{River, STEP};
use super::{PACE, PACED};
use crate::failure::Failure;
use isoform::stream::Writer;
use isoform::{
    ByteOrder, Code, Encoder, Enumeration, Error, Faults, Format, Layout, Plan, Record, Rules, Slice, Str, Verifier,
    interp,
};
use std::io::{BufWriter, stdout};
use std::time::{Duration, Instant};

/// The machine that a little-endian one pretends to be, by the layout tables.
const GUISE: Layout = Layout::POWERPC;
/// Steps of the river between two records.
const STEPS: u32 = 5;

#[derive(Enumeration, Clone, Copy)]
#[repr(i32)]
enum Stage {
    Low,
    Rising,
    Flood,
}

#[derive(Record)]
#[repr(C)]
struct Gauge<'a> {
    name: Str<'a>,
    cell: i32,
    #[isoform(unit = "m")]
    level: f32,
}

/// What the simulation has in memory, and publishes.
#[derive(Record)]
#[isoform(rename = "Reach")]
#[repr(C)]
struct Reach<'a> {
    step: i32,
    #[isoform(unit = "s")]
    time: f64,
    #[isoform(unit = "mm/h")]
    rain: f32,
    stage: Stage,
    #[isoform(unit = "m3")]
    residual: f64,
    #[isoform(unit = "m")]
    depth: Slice<'a, f32>,
    #[isoform(unit = "m3/s")]
    flow: Slice<'a, f32>,
    gauges: Slice<'a, Gauge<'a>>,
    /// The sum of all depths and flows, so that the reader can tell whether all arrived as it was.
    sum: f64,
}

/// Publishes on standard output for so long.
pub(super) fn run(whole: Duration) -> Result<(), Failure> {
    match publish(whole) {
        // The reader has seen enough.
        Err(error) if error.code() == Code::Io => Err(Failure::Closed),
        done => Ok(done?),
    }
}

fn publish(whole: Duration) -> Result<(), Error> {
    let mut encoder = Encoder::<Reach>::new();
    let mut guise = match ByteOrder::NATIVE {
        ByteOrder::Big => None,
        ByteOrder::Little => Some(Guise::new(encoder.format())?),
    };
    let mut stream = Writer::new(BufWriter::with_capacity(1 << 16, stdout().lock()));
    let mut river = River::new();
    let start = Instant::now();
    let paced = whole.mul_f64(PACED);
    for record in 0u32.. {
        let now = start.elapsed();
        if now >= whole {
            break;
        }
        (0..STEPS).for_each(|_| river.advance());
        with_record(&river, |reach| {
            let message = encoder.encode(reach)?;
            match &mut guise {
                None => stream.write(&message),
                Some(guise) => guise.write(message.body(), &mut stream),
            }
        })?;
        if now < paced {
            stream.flush()?;
            let next = Duration::from_secs_f64(f64::from(record + 1) / PACE);
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
    }
    stream.flush()
}

/// Makes of this machine's records what [`GUISE`] would have in memory.
struct Guise {
    foreign: Format,
    plan: Plan,
    verifier: Verifier,
    own: Vec<u8>,
    body: Vec<u8>,
}

impl Guise {
    fn new(native: &Format) -> Result<Guise, Error> {
        let foreign = native.on(&GUISE)?;
        let plan = Plan::new(native, &foreign, &Rules::new(), Faults::Error)?;
        Ok(Guise { foreign, plan, verifier: Verifier::new(native), own: Vec::new(), body: Vec::new() })
    }

    fn write<'b>(
        &mut self,
        body: impl Iterator<Item = &'b [u8]>,
        stream: &mut Writer<impl std::io::Write>,
    ) -> Result<(), Error> {
        self.own.clear();
        body.for_each(|segment| self.own.extend_from_slice(segment));
        self.body.clear();
        interp::run(&self.plan, self.verifier.verify(&self.own)?, &mut self.body)?;
        stream.write_body(&self.foreign, &self.body)
    }
}

/// Makes a record of the river as it is, and lends it out.
fn with_record(river: &River, publish: impl FnOnce(&Reach<'_>) -> Result<(), Error>) -> Result<(), Error> {
    let last = river.depth.len() - 1;
    let gauge = |name, cell: usize| Gauge { name: Str::new(name), cell: cell as i32, level: river.depth[cell] };
    let gauges = [gauge(c"Alder Weir", 6), gauge(c"Old Mill", last / 2), gauge(c"Harbour", last)];
    let highest = river.depth.iter().copied().fold(0.0, f32::max);
    let stage = match highest {
        high if high > 1.6 => Stage::Flood,
        high if high > 1.0 => Stage::Rising,
        _ => Stage::Low,
    };
    let all = river.depth.iter().chain(&river.flow);
    publish(&Reach {
        step: river.step as i32,
        time: f64::from(river.step) * STEP,
        rain: river.rain,
        stage,
        residual: river.residual,
        depth: Slice::from(&river.depth[..]),
        flow: Slice::from(&river.flow[..]),
        gauges: Slice::from(&gauges[..]),
        sum: all.map(|&value| f64::from(value)).sum(),
    })
}
