//! What the Makefile's targets do: `cargo run -p xtask -- TASK`. The Makefile lists the tasks for people.
//!
//! `documents` checks what Markdown files say of each other, and `book` makes a book of them; `markdown` reads one file
//! for both. `tools` installs programs that tasks need. It needs nothing but the standard library, so that it builds in a
//! second.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it does")]

mod book;
mod documents;
mod markdown;
mod tools;

use std::path::Path;
use std::process::{Command, ExitCode};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
    let done = std::env::set_current_dir(root).map_err(Into::into).and_then(|()| match *words {
        ["book"] => book::build(),
        ["documents"] => documents::check(),
        _ => Err("expected a task: book, documents".into()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where Cargo builds.
fn target() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), Into::into)
}

/// Runs a command, which must succeed.
fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", command.get_program().display()).into()) }
}
