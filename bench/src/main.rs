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
    if compiled::version().is_none() {
        warn(&format!("*** there is no C compiler ({}): THE COMPILED BASELINE IS MISSING ***", compiled::compiler()));
    }
    match options.json {
        true => warn(&machine()),
        false => writeln!(out, "{}\n", machine())?,
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

/// What the figures hold for: times move from machine to machine, ratios less so.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let compiler = compiled::version().unwrap_or_else(|| "no C compiler".into());
    format!("{model}, {cores} cores, {}; {compiler}; isoform {}", std::env::consts::OS, env!("CARGO_PKG_VERSION"))
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
