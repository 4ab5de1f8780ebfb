//! What a line costs that lets others watch a program, in the group `files`: `emit_idle` while nobody listens, `emit` with one sink in this
//! process.
//!
//! A record has a step and two depths. `c`: the line `ISO_EMIT` of compiled C, with the library beside this program (`cargo build --release -p
//! isoform-capi`); `printf`: the line `fprintf`, into the null device; `tracing`: the event of the crate tracing, without a subscriber, and with
//! one that formats it into nothing; `lttng`: a tracepoint, without a session, and with one that writes into memory that files share.

mod programs;

use crate::channel::turns::{Figures, turns};
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform::Messages;
use isoform_channel::{Event, Node, emitting};
use programs::Programs;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The bytes of the values: an integer and two numbers.
const BYTES: usize = 20;
/// Records of a round, for each event of a batch.
const MANY: u32 = 10;

/// Measures what [the module](self) says.
///
/// # Errors
/// If nobody can listen, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let count = options.effort.events * MANY;
    let programs = Programs::new(&options.program)?;
    let emitting = emitting::start("isoform-bench")?;
    emit(0); // tells that there is such a channel
    let idle = turns(options.effort.rounds, 5, |who| {
        Ok(match who {
            0 => each(count, emit),
            1 => each(count, traced),
            2 => programs.printf(count)?,
            3 => programs.place(count, false)?,
            _ => programs.tracepoint(count, false)?,
        })
    })?;
    line(written("emit_idle", &idle))?;

    let id = emitting.ids().first().ok_or("no channel is there")?.to_string();
    let taker = taker(&id)?;
    emitting.wait_for_sinks("bench", 1, Duration::from_secs(5))?;
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let rounds = options.effort.rounds;
    let one = turns(rounds, 5, |who| {
        Ok(match who {
            0 => each(count, emit),
            1 => each(count, traced),
            2 => programs.printf(count)?,
            3 => programs.place(count, true)?,
            _ => programs.tracepoint(count, true)?,
        })
    })?;
    drop(emitting);
    let taken = taker.join().map_err(|_| "the sink failed")?;
    let emitted = u64::from(count) * rounds as u64;
    line(written("emit", &one).count("emitted", emitted as usize).count("taken", taken as usize))
}

/// A sink in a thread of this process, until its source leaves. Returns how many records it took.
fn taker(id: &str) -> Result<std::thread::JoinHandle<u64>> {
    let mut sink = Node::new()?.open(id)?.sink_builder().build::<Messages>()?;
    Ok(std::thread::spawn(move || {
        let mut taken = 0;
        while let Ok(event) = sink.recv() {
            match event {
                Event::Record { .. } => taken += 1,
                Event::Left(..) => break,
                _ => {}
            }
        }
        taken
    }))
}

fn emit(step: u32) {
    isoform::emit!("bench", step, depth in "m" = [0.5f64, 0.25]);
}

fn traced(step: u32) {
    tracing::info!(step, first = black_box(0.5f64), second = black_box(0.25f64));
}

fn each(count: u32, run: impl Fn(u32)) -> Times {
    let start = Instant::now();
    (0..count).for_each(|step| run(black_box(step)));
    [start.elapsed().as_nanos() as f64 / f64::from(count)].into_iter().collect()
}

fn written(measure: &str, figures: &[Figures]) -> Line {
    let about = Line::of("files").word("measure", measure).word("compression", "none").count("bytes", BYTES);
    let about = figures[0].with_rate(about, "").figure("ns", figures[0].median()).figure("c_ns", figures[3].median());
    let about = about.figure("tracing_ns", figures[1].median()).figure("printf_ns", figures[2].median());
    about.figure("lttng_ns", figures[4].median())
}
