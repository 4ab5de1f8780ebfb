//! The simulation's side: it publishes its own struct, as a 32-bit big-endian machine would have it in memory.

use super::river::{River, STEP};
use super::{PACE, PACED};
use crate::failure::Failure;
use isoform::stream::Writer;
use isoform::{Code, Encoder, Enumeration, Error, Faults, Layout, Plan, Record, Rules, Slice, Str, Verifier, interp};
use std::io::{BufWriter, stdout};
use std::time::{Duration, Instant};

/// The machine that the simulation pretends to run on, by the layout tables.
const MACHINE: Layout = Layout::POWERPC;
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
    let native = encoder.format().clone();
    let foreign = native.on(&MACHINE)?;
    // What a real machine of that kind has in memory, this one makes of its own record.
    let disguise = Plan::new(&native, &foreign, &Rules::new(), Faults::Error)?;
    let verifier = Verifier::new(&native);
    let mut stream = Writer::new(BufWriter::with_capacity(1 << 16, stdout().lock()));
    let mut river = River::new();
    let (mut own, mut body) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let paced = whole.mul_f64(PACED);
    for record in 0u32.. {
        let now = start.elapsed();
        if now >= whole {
            break;
        }
        (0..STEPS).for_each(|_| river.advance());
        own.clear();
        with_record(&river, |reach| {
            encoder.encode(reach)?.body().for_each(|segment| own.extend_from_slice(segment));
            Ok(())
        })?;
        body.clear();
        interp::run(&disguise, verifier.verify(&own)?, &mut body)?;
        stream.write_body(&foreign, &body)?;
        if now < paced {
            stream.flush()?;
            let next = Duration::from_secs_f64(f64::from(record + 1) / PACE);
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
    }
    stream.flush()
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
