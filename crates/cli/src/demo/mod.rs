//! The demonstration: a simulation and its watchers, five processes with different structs and machines on one channel.
//! The simulation is a program of another machine behind its emulator, if one is named, else this one in the guise of
//! another. `river` is what is simulated, `simulation` publishes it, `monitor` receives it as a struct and shows it,
//! `processes` starts and stops the others, and `watch` puts all together and checks the accounts.

#[cfg(unix)]
mod monitor;
#[cfg(unix)]
mod processes;
mod river;
mod simulation;
#[cfg(unix)]
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
    match arguments {
        Demo { simulation: true, .. } => simulation::write(whole),
        #[cfg(unix)]
        Demo { publish: true, sinks, .. } => simulation::publish(whole, *sinks, output),
        #[cfg(unix)]
        Demo { program, .. } => watch::run(whole, program, output),
        #[cfg(not(unix))]
        _ => {
            let _ = output;
            Err(Failure::usage("the demo runs several programs on Unix only")
                .hint("isoform demo --simulation | isoform dump --count 3 -"))
        }
    }
}
