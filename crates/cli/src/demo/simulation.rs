//! The simulation's side: it publishes its own struct as it lies in memory, on a channel or as a stream. On a
//! little-endian machine it does so in the guise of a 32-bit big-endian one.

use super::river::{River, STEP};
use super::{PACE, PACED};
use crate::failure::Failure;
use isoform::core::{ByteOrder, Layout, Plan, Verifier, interp};
use isoform::stream::Writer;
use isoform::{Code, Encoder, Enumeration, Error, Faults, Format, Messages, Record, Rules, Slice, Str};
use std::io::{BufWriter, stdout};
use std::time::{Duration, Instant};
#[cfg(unix)]
use {
    crate::channel::stop::LOOK,
    crate::output::Output,
    isoform_channel::{Channel, Node, Source},
    std::io::Write,
};

/// The time for sinks to subscribe.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(60);

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

/// The simulation's record, as it is in memory.
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

/// Writes to standard output for so long.
pub(super) fn write(whole: Duration) -> Result<(), Failure> {
    match stream(whole) {
        // The reader has seen enough.
        Err(error) if error.code() == Code::Io => Err(Failure::Closed),
        done => Ok(done?),
    }
}

fn stream(whole: Duration) -> Result<(), Error> {
    let mut encoder = Encoder::<Reach>::new();
    let mut guise = Guise::new(encoder.format())?;
    let mut stream = Writer::new(BufWriter::with_capacity(1 << 16, stdout().lock()));
    simulate(whole, |reach, is_paced| {
        let message = encoder.encode(reach)?;
        match &mut guise {
            None => stream.write(&message)?,
            Some(guise) => {
                guise.make(message.body())?;
                stream.write_body(&guise.foreign, &guise.body)?;
            }
        }
        if is_paced { stream.flush() } else { Ok(()) }
    })?;
    stream.flush()
}

/// Publishes on a channel, and prints its id. Starts when there are enough sinks, and runs for the given time. Then
/// prints the number of records, and stays until no other node is there.
#[cfg(unix)]
pub(super) fn publish(whole: Duration, sinks: usize, output: &mut Output) -> Result<(), Failure> {
    let node = Node::new()?;
    let guise = Guise::new(Reach::format())?;
    let format = guise.as_ref().map_or(Reach::format(), |guise| &guise.foreign);
    let channel = node.create_with("river", Some(format))?;
    writeln!(output, "{}", channel.id())?;
    output.flush()?;
    let mut publisher = Publisher::new(&channel, guise)?;
    publisher.wait_for_sinks(sinks)?;
    let count = simulate(whole, |reach, _| publisher.submit(reach))?;
    writeln!(output, "{count}")?;
    output.flush()?;
    while channel.members().len() > 1 {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// The simulation's source.
#[cfg(unix)]
enum Publisher {
    Own(Source<Reach<'static>>),
    Guise(Source<Messages>, Encoder<Reach<'static>>, Box<Guise>),
}

#[cfg(unix)]
impl Publisher {
    fn new(channel: &Channel, guise: Option<Guise>) -> Result<Publisher, Error> {
        Ok(match guise {
            None => Publisher::Own(channel.source_builder().lossless().build()?),
            Some(guise) => {
                let source =
                    channel.source_builder().lossless().build_with(Messages::of(&guise.foreign, Rules::new()))?;
                Publisher::Guise(source, Encoder::new(), guise.into())
            }
        })
    }

    fn wait_for_sinks(&self, count: usize) -> Result<(), Error> {
        match self {
            Publisher::Own(source) => source.wait_for_sinks(count, PATIENCE),
            Publisher::Guise(source, ..) => source.wait_for_sinks(count, PATIENCE),
        }
    }

    fn submit(&mut self, reach: &Reach<'_>) -> Result<(), Error> {
        match self {
            Publisher::Own(source) => source.submit(reach),
            Publisher::Guise(source, encoder, guise) => {
                guise.make(encoder.encode(reach)?.body())?;
                source.submit_body(&guise.foreign, &guise.body)
            }
        }
        .map(drop)
    }
}

/// Lets the river flow for so long, and has each record published; behind it, whether it keeps step with the eye. Returns
/// how many there were.
fn simulate(whole: Duration, mut publish: impl FnMut(&Reach<'_>, bool) -> Result<(), Error>) -> Result<u32, Error> {
    let mut river = River::new();
    let start = Instant::now();
    let paced = whole.mul_f64(PACED);
    for record in 0u32.. {
        let now = start.elapsed();
        if now >= whole {
            return Ok(record);
        }
        (0..STEPS).for_each(|_| river.advance());
        with_record(&river, |reach| publish(reach, now < paced))?;
        if now < paced {
            let next = Duration::from_secs_f64(f64::from(record + 1) / PACE);
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
    }
    Ok(u32::MAX)
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
    /// None is needed on big-endian machines.
    fn new(native: &Format) -> Result<Option<Guise>, Error> {
        if ByteOrder::NATIVE == ByteOrder::Big {
            return Ok(None);
        }
        let foreign = native.on(&GUISE)?;
        let plan = Plan::new(native, &foreign, &Rules::new(), Faults::Error)?;
        Ok(Some(Guise { foreign, plan, verifier: Verifier::new(native), own: Vec::new(), body: Vec::new() }))
    }

    /// Makes the body of a record of this machine's.
    fn make<'b>(&mut self, body: impl Iterator<Item = &'b [u8]>) -> Result<(), Error> {
        self.own.clear();
        body.for_each(|segment| self.own.extend_from_slice(segment));
        self.body.clear();
        interp::run(&self.plan, self.verifier.verify(&self.own)?, &mut self.body)
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
