//! The demonstration: a simulation and a reader, two processes with different structs and different machines: a program
//! of another machine behind its emulator, if one is named, else this one in the guise of another. `river` is what is
//! simulated, `simulation` publishes it, `watch` receives and shows it.

mod river;
mod simulation;
mod watch;

use crate::args::Demo;
use crate::failure::Failure;
use crate::output::Output;
use std::time::Duration;

/// Which part of the time the simulation keeps step with the eye; in the rest it runs as fast as it can.
const PACED: f64 = 0.65;
/// Records a second while it does.
const PACE: f64 = 20.0;

pub(crate) fn run(arguments: &Demo, output: &mut Output) -> Result<(), Failure> {
    let seconds = if arguments.seconds.is_finite() { arguments.seconds.clamp(0.1, 3600.0) } else { 10.0 };
    let whole = Duration::from_secs_f64(seconds);
    match arguments.simulation {
        true => simulation::run(whole),
        false => watch::run(whole, &arguments.program, output),
    }
}
