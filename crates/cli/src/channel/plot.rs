//! `isoform plot`: hands over to the Python package, which can draw.

use crate::args::Plot;
use crate::failure::{Failure, reason};
use std::process::{Command, Stdio};

/// Asks for everything that drawing needs, and exits with the number of the first thing that is missing.
const NEEDED: &str = "\
import importlib.util, sys
for number, name in enumerate(('isoform', 'matplotlib'), 10):
    if importlib.util.find_spec(name) is None: sys.exit(number)";

/// Becomes Python.
pub(super) fn run(arguments: &Plot) -> Result<(), Failure> {
    let python = &arguments.python;
    let named = || python.to_string_lossy();
    let silent = Command::new(python).args(["-c", NEEDED]).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let missing = match silent {
        Err(error) => {
            let failure = Failure::usage(format!("cannot run {}: {}", named(), reason(&error)));
            return Err(failure.hint("Python draws the plots, with matplotlib: use --python to select it"));
        }
        Ok(status) => match status.code() {
            Some(0) => None,
            Some(10) => Some(("isoform", "pip install ./faces/python, in a clone; see docs/book/guides/python.md")),
            Some(11) => Some(("matplotlib", "pip install matplotlib")),
            _ => return Err(Failure::usage(format!("{} does not run: {status}", named()))),
        },
    };
    if let Some((package, hint)) = missing {
        return Err(Failure::usage(format!("{} has no package {package}", named())).hint(hint));
    }
    let mut command = Command::new(python);
    command.args(["-m", "isoform", "plot"]).args(&arguments.arguments);
    Err(Failure::usage(format!("cannot run {}: {}", named(), reason(&replaced_by(&mut command)))))
}

/// Lets a program take the place of this one; returns why it did not.
#[cfg(unix)]
fn replaced_by(command: &mut Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Where none takes the place of another, this one waits for it, and ends as it did.
#[cfg(not(unix))]
fn replaced_by(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
