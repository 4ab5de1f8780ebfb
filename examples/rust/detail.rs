//! A simulation that generates what its viewers ask for: a field of cells at some level of detail, and of some region. One
//! viewer looks at everything, and another one zooms in while the simulation runs.
//!
//!     cargo run -p isoform-channel --example detail
//!
//! The simulation computes each demand once for all viewers with the same values, and nothing without viewers. It does not
//! give away more than it wants to: whoever asks for a finer level than 8 gets 8, and is told.
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(unix)]
use isoform::Record;
#[cfg(unix)]
use isoform_channel::{Channel, Demand, Event, Given, Node, Parameters, Source};
#[cfg(unix)]
use std::time::Duration;

/// What viewers choose.
#[cfg(unix)]
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Detail {
    /// How many cells of the result there are in 100 m.
    level: i64,
    #[isoform(unit = "m")]
    from: f64,
    #[isoform(unit = "m")]
    to: f64,
}

/// What a viewer chooses that cares for the level only.
#[cfg(unix)]
#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Coarse {
    level: i64,
}

/// What is sent.
#[cfg(unix)]
#[derive(Record)]
struct Cells {
    step: i64,
    #[isoform(unit = "m")]
    depth: Vec<f64>,
}

/// The finest level that the simulation computes.
#[cfg(unix)]
const FINEST: i64 = 8;

/// The depth of a river at a place, in metres.
#[cfg(unix)]
fn depth(step: i64, place: f64) -> f64 {
    2.0 + (place / 100.0 - step as f64 / 10.0).sin()
}

/// One step of the simulation: the cells of each demand. Returns how many cells it has computed.
#[cfg(unix)]
fn step(source: &mut Source<Cells>, step: i64) -> isoform::Result<usize> {
    for Demand { values, .. } in source.demands() {
        let Detail { level, from, to } = values.to()?;
        println!("step {step}: somebody wants {level} cells in 100 m, from {from} m to {to} m");
    }
    let mut computed = 0;
    for demand in source.demands() {
        let level = demand.values.to::<Detail>()?.level;
        if level > FINEST {
            source.grant(&demand, &Parameters::of(&Coarse { level: FINEST })?)?;
        }
    }
    for demand in source.demands() {
        let Detail { level, from, to } = demand.values.to()?;
        let cells = ((to - from) / 100.0 * level as f64) as usize;
        let depth = (0..cells).map(|cell| depth(step, from + cell as f64 * 100.0 / level as f64)).collect();
        source.submit_for(&demand, &Cells { step, depth })?;
        computed += cells;
    }
    Ok(computed)
}

/// A viewer: takes events until it has a record, and says which values it has.
#[cfg(unix)]
fn look(name: &str, sink: &mut isoform_channel::Sink<Cells>) -> isoform::Result<usize> {
    loop {
        match sink.recv()? {
            Event::Given(_, given) => {
                let Given { first, values, .. } = *given;
                println!("{name}: from event {first} on, {values}");
            }
            Event::Record { record, .. } => {
                println!("{name}: step {}, {} cells", record.step, record.depth.len());
                return Ok(record.depth.len());
            }
            _ => {}
        }
    }
}

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let patience = Duration::from_secs(10);
    let simulation = Node::new()?;
    let river: Channel = simulation.create::<Cells>("river")?;
    let defaults = Detail { level: 1, from: 0.0, to: 10_000.0 };
    let mut source = river.source_builder().parameters(&defaults)?.build::<Cells>()?;
    assert_eq!(step(&mut source, 0)?, 0, "nobody looks, so nothing is computed");

    let viewers = Node::new()?;
    let river = viewers.open(river.id().to_string())?;
    let mut wide = river.sink::<Cells>()?;
    let mut zoomed = river.sink_builder().parameters(&Coarse { level: 2 })?.build::<Cells>()?;
    source.wait_for_sinks(2, patience)?;
    assert_eq!(step(&mut source, 1)?, 100 + 200);
    assert_eq!((look("wide", &mut wide)?, look("zoomed", &mut zoomed)?), (100, 200));

    // It zooms in, while the simulation runs: to a small region, in more detail than there is.
    source.new_demands(Duration::ZERO)?;
    zoomed.set_parameters(Parameters::of(&Detail { level: 50, from: 4_000.0, to: 5_000.0 })?);
    source.new_demands(patience)?.ok_or("nobody asks")?;
    assert_eq!(step(&mut source, 2)?, 100 + 80);
    assert_eq!((look("wide", &mut wide)?, look("zoomed", &mut zoomed)?), (100, 80));

    for account in source.close(patience)? {
        let ledger = account.ledger;
        println!(
            "submitted {}, taken {}, for others {}, lost {}",
            ledger.submitted,
            ledger.acknowledged,
            ledger.skipped,
            ledger.lost()
        );
        assert!(ledger.is_exact() && ledger.lost() == 0);
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
