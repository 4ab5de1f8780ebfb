//! The `isoform` command. This file reads the command line and reports failures; each subcommand has a file of its own.
#![cfg_attr(
    not(unix),
    allow(dead_code, unused_imports, reason = "some things are for channels only, which are for Unix")
)]

mod append;
mod args;
mod channel;
mod check;
mod demo;
#[cfg(feature = "xmit")]
mod documents;
mod dump;
mod explain;
#[cfg(feature = "tables")]
mod export;
mod failure;
mod format;
mod index;
#[cfg(all(unix, feature = "tls"))]
mod keys;
mod layout;
mod open;
mod output;
mod query;
mod raw;
#[cfg(feature = "service")]
mod service;
mod show;
mod source;
#[cfg(feature = "files")]
mod span;
#[cfg(any(feature = "service", feature = "xmit"))]
mod surroundings;
mod time;
#[cfg(any(feature = "tables", feature = "xmit"))]
mod whole;
#[cfg(feature = "xmit")]
mod xmit;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse_from(std::env::args_os().map(source::not_an_option)) {
        Ok(arguments) => arguments,
        Err(error) => return failure::report_usage(&error),
    };
    let mut output = Output::stdout();
    match run(arguments.command, &mut output).and_then(|()| Ok(output.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = output.flush(); // what came before the failure
            failure.report()
        }
    }
}

fn run(command: Command, output: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Channel(command) => channel::run(&command, output),
        #[cfg(all(unix, feature = "tls"))]
        Command::Keys(arguments) => keys::run(&arguments.what, output),
        #[cfg(feature = "service")]
        Command::Serve(arguments) => service::serve::run(&arguments, output),
        #[cfg(feature = "service")]
        Command::Formats(arguments) => service::formats::run(&arguments, output),
        Command::Dump(arguments) => dump::run(&arguments, output),
        Command::Query(arguments) => dump::run(&arguments.into(), output),
        Command::Index(arguments) => index::run(&arguments, output),
        Command::Append(arguments) => append::run(&arguments, output),
        Command::Check(arguments) => check::run(&arguments, output),
        #[cfg(feature = "tables")]
        Command::Export(arguments) => export::run(&arguments, output),
        #[cfg(feature = "xmit")]
        Command::Xmit(arguments) => xmit::run(&arguments.what, output),
        Command::Format(arguments) => format::run(&arguments, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Layout(arguments) => layout::run(&arguments, output),
        Command::Sources => Ok(args::sources(output)?),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "isoform", &mut script);
            Ok(output.as_it_is(&script)?)
        }
    }
}
