//! The command: prints measurements as a table, or as JSON.

use isoform_bench::report::Table;
use isoform_bench::{Options, compiled, options};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = io::stdout();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return outcome(write!(out, "{}", options::HELP).map_err(Into::into));
    }
    outcome(Options::parse(words).and_then(|options| measure(&options, &mut out)))
}

fn measure(options: &Options, out: &mut impl Write) -> isoform_bench::Result<()> {
    if !compiled::available() {
        warn(&format!("*** there is no C compiler ({}): THE COMPILED BASELINE IS MISSING ***", compiled::compiler()));
    }
    let mut table = Table::default();
    isoform_bench::run(options, |line| {
        match options.json {
            true => writeln!(out, "{}", line.json())?,
            false => table.print(&line, out)?,
        }
        Ok(out.flush()?)
    })
}

fn outcome(result: isoform_bench::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            warn(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "this is a command")]
fn warn(text: &str) {
    eprintln!("{text}");
}
