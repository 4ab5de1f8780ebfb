//! What a line costs that lets others watch a program, in the group `files`: `emit_idle` while nobody listens, `emit` with one sink in a thread of
//! this process.
//!
//! A record has a step and two depths. `printf`: the line `fprintf` of compiled C, into the null device; `tracing`: the event of the crate
//! tracing, without a subscriber, and with one that formats it into nothing.

use crate::channel::turns::turns;
use crate::compiled::{Directory, compiler, execute};
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{Event, Node, emitting};
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

/// The bytes of the values: an integer and two numbers.
const BYTES: usize = 20;
/// Records of a round, for each event of a batch.
const MANY: u32 = 10;

const PRINTF: &str = r#"
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    int i, count = argc > 1 ? atoi(argv[1]) : 1;
    volatile double first = 0.5, second = 0.25;
    struct timespec a, b;
    FILE *file = fopen("/dev/null", "w");
    if (!file) return 1;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (i = 0; i < count; i++) fprintf(file, "step %d depth %g %g\n", i, first, second);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / count);
    return 0;
}
"#;

/// Measures what [the module](self) says.
///
/// # Errors
/// If nobody can listen, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let count = options.effort.events * MANY;
    let folder = Directory::new()?;
    let printf = compiled(&folder).ok();
    let idle = turns(options.effort.rounds, 3, |who| {
        Ok(match who {
            0 => each(count, emit),
            1 => each(count, traced),
            _ => printed(printf.as_deref(), count)?,
        })
    })?;
    line(written("emit_idle", &idle))?;

    let emitting = emitting::start("isoform-bench")?;
    emit(0); // tells that there is such a channel
    let id = emitting.ids().first().ok_or("no channel is there")?.to_string();
    let mut sink = Node::new()?.open(&id)?.sink_builder().build_messages()?;
    emitting.wait_for_sinks("bench", 1, Duration::from_secs(5))?;
    let taker = std::thread::spawn(move || {
        let mut taken = 0u64;
        while let Ok(event) = sink.recv() {
            match event {
                Event::Record { .. } => taken += 1,
                Event::Left(..) => break,
                _ => {}
            }
        }
        taken
    });
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let rounds = options.effort.rounds;
    let one = turns(rounds, 3, |who| {
        Ok(match who {
            0 => each(count, emit),
            1 => each(count, traced),
            _ => printed(printf.as_deref(), count)?,
        })
    })?;
    drop(emitting);
    let taken = taker.join().map_err(|_| "the sink failed")?;
    let emitted = u64::from(count) * rounds as u64;
    line(written("emit", &one).count("emitted", emitted as usize).count("taken", taken as usize))
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

/// The program that prints lines, and says what one has taken.
fn compiled(folder: &Directory) -> Result<std::path::PathBuf> {
    let (source, program) = (folder.path().join("printf.c"), folder.path().join("printf"));
    std::fs::write(&source, PRINTF)?;
    execute(Command::new(compiler()).arg("-O2").arg(source).arg("-o").arg(&program))?;
    Ok(program)
}

/// Without a C compiler, there is no such figure.
fn printed(program: Option<&std::path::Path>, count: u32) -> Result<Times> {
    let Some(program) = program else { return Ok([f64::NAN].into_iter().collect()) };
    let output = Command::new(program).arg(count.to_string()).output()?;
    let took: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok([took].into_iter().collect())
}

fn written(measure: &str, figures: &[crate::channel::turns::Figures]) -> Line {
    let about = Line::of("files").word("measure", measure).word("compression", "none").count("bytes", BYTES);
    let about = figures[0].with_rate(about, "").figure("ns", figures[0].median());
    about.figure("tracing_ns", figures[1].median()).figure("printf_ns", figures[2].median())
}
