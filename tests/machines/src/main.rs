//! Every pair of machines: `cargo run -p isoform-machines` prints who has read whom.
//!
//!     isoform-machines                         the matrix
//!     isoform-machines on MACHINE test ..      cargo, for and on one machine: `on s390x test -p isoform-core --lib`;
//!                                              where there are no tools for that, it says so and is done
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it did")]

mod matrix;
mod programs;
mod table;

use isoform_machines::Machine;
use std::io::Read;
use std::process::{Child, Command, ExitCode, Stdio};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *words {
        [] => matrix::run(),
        ["on", machine, command, ref arguments @ ..] => on(machine, command, arguments),
        _ => Err("isoform-machines, or isoform-machines on MACHINE CARGO-COMMAND ..".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("isoform-machines: {error}");
            ExitCode::from(2)
        }
    }
}

fn on(name: &str, command: &str, arguments: &[&str]) -> Outcome<bool> {
    let known = || Machine::ALL.iter().map(Machine::name).collect::<Vec<_>>().join(", ");
    let machine = Machine::ALL.iter().find(|machine| machine.name() == name);
    let machine = machine.ok_or_else(|| format!("expected one of {}, found {name}", known()))?;
    if let Some(missing) = programs::missing(machine) {
        println!("*** SKIPPED: cargo {command} on {name}: {missing} ***");
        return Ok(true);
    }
    let target = machine.target.unwrap_or_default();
    let mut cargo = programs::cargo();
    cargo.arg(command).args(["--target", target]).args(arguments);
    let libraries = programs::built().join(target).join("libraries");
    programs::build_library(machine, &libraries)?;
    // Wine finds its libraries there.
    cargo.env("WINEPATH", format!("Z:{}", libraries.display())).env("WINEDEBUG", "-all");
    let waiting = if machine.emulator == "wine" { Some(waiting()?) } else { None };
    let status = cargo.status();
    if let Some(mut waiting) = waiting {
        drop(waiting.stdin.take());
        waiting.wait()?;
    }
    Ok(status?.success())
}

/// A program under Wine that does nothing until its input ends. Debian's Wine ends its server with the last program, and a program that
/// begins just then loses it; so one runs all the time. This one may itself begin just then: it has begun when it has printed something.
fn waiting() -> Outcome<Child> {
    let mut said = String::new();
    for _ in 0..5 {
        let mut wine = Command::new("wine");
        wine.arg("cmd").env("WINEDEBUG", "-all").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut waiting = wine.spawn()?;
        if waiting.stdout.as_mut().is_some_and(|output| matches!(output.read(&mut [0]), Ok(1))) {
            return Ok(waiting);
        }
        said = String::from_utf8_lossy(&waiting.wait_with_output()?.stderr).into_owned();
    }
    Err(format!("wine cmd begins no program: {said}").into())
}
