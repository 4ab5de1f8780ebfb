//! A simulation with ten thousand steps a second, which publishes twelve numbers of each: the source for `make frames`, which measures how
//! fast the page draws, and what that costs the simulation.
//!
//! It prints the id of its channel. For each line of its input it prints the number of steps since the last one, and the processor
//! time of its thread meanwhile, in nanoseconds. It ends with its input.

#![allow(clippy::print_stdout, reason = "what it prints is its result")]

use isoform::Record;
use isoform_channel::Node;
use std::hint::black_box;
use std::io::BufRead;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

/// Steps between two pauses, which last until the next millisecond.
const STEPS: u64 = 10;

#[derive(Record, Clone, Copy, Default)]
#[repr(C)]
struct Step {
    number: i64,
    values: [f64; 32],
    m0: f64,
    m1: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    m5: f64,
    m6: f64,
    m7: f64,
    m8: f64,
    m9: f64,
    m10: f64,
    m11: f64,
}

fn main() -> isoform::Result<()> {
    let node = Node::new()?;
    let channel_ = node.create::<Step>("steps")?;
    let mut source = channel_.source()?;
    println!("{}", channel_.id());
    let (asked, questions) = channel();
    std::thread::spawn(move || std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|_| asked.send(())));
    let (mut step, mut last, mut began) = (Step::default(), 0_u64, processor());
    let mut tick = Instant::now();
    for number in 0_u64.. {
        work(&mut step, number);
        source.submit(&step)?;
        if number % STEPS != STEPS - 1 {
            continue;
        }
        match questions.try_recv() {
            Ok(()) => {
                let now = processor();
                println!("{} {}", number + 1 - last, now - began);
                (last, began) = (number + 1, processor());
            }
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {}
        }
        tick += Duration::from_millis(1);
        std::thread::sleep(tick.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Some forty microseconds of a simulation.
fn work(step: &mut Step, number: u64) {
    step.number = number as i64;
    let time = number as f64 * 1e-4;
    for round in 0..160 {
        for (index, value) in step.values.iter_mut().enumerate() {
            *value = (*value * 0.99 + (time + f64::from(round)) * 1e-3 + index as f64).rem_euclid(1000.0);
        }
    }
    black_box(&step.values);
    let wave = |index: f64| (time * (index + 1.0)).sin() * (index + 1.0);
    (step.m0, step.m1, step.m2, step.m3) = (wave(0.0), wave(1.0), wave(2.0), wave(3.0));
    (step.m4, step.m5, step.m6, step.m7) = (wave(4.0), wave(5.0), wave(6.0), wave(7.0));
    (step.m8, step.m9, step.m10, step.m11) = (wave(8.0), wave(9.0), wave(10.0), wave(11.0));
}

#[cfg(unix)]
fn processor() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Elsewhere, the time on the clock.
#[cfg(not(unix))]
fn processor() -> u64 {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    u64::try_from(BEGAN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
