//! The command: prints measurements as a table, or as JSON, and writes the report.

use isoform_bench::report::Table;
use isoform_bench::{Line, Options, Result, compiled, options};
use isoform_kernels::Level;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(unix)]
    if words == [isoform_bench::channel::PARTNER] {
        return outcome(isoform_bench::channel::serve());
    }
    #[cfg(unix)]
    if let [word, rest @ ..] = &words[..]
        && word == isoform_bench::service::STORE
    {
        return outcome(isoform_bench::service::serve(rest));
    }
    let mut out = io::stdout();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return outcome(write!(out, "{}", options::HELP).map_err(Into::into));
    }
    outcome(Options::parse(words).and_then(|options| measure(&options, &mut out)))
}

fn measure(options: &Options, out: &mut impl Write) -> Result<()> {
    if options.again {
        return options.report.iter().try_for_each(|directory| page(directory));
    }
    if compiled::version().is_none() {
        warn(&format!("*** there is no C compiler ({}): THE COMPILED BASELINE IS MISSING ***", compiled::compiler()));
    }
    match options.json {
        true => warn(&machine(options.level)),
        false => writeln!(out, "{}\n", machine(options.level))?,
    }
    let mut record = match &options.report {
        Some(directory) => {
            fs::create_dir_all(directory)?;
            let mut record = File::create(directory.join(LINES))?;
            writeln!(record, "{}", Line::about(&machine(options.level)).json())?;
            Some(record)
        }
        None => None,
    };
    let mut table = Table::default();
    isoform_bench::run(options, |line| {
        record.iter_mut().try_for_each(|record| writeln!(record, "{}", line.json()))?;
        match (line.text("group"), options.json) {
            ("skipped", _) => warn(&format!("*** SKIPPED: {}: {} ***", line.text("peer"), line.text("install"))),
            (_, true) => writeln!(out, "{}", line.json())?,
            (_, false) => table.print(&line, out)?,
        }
        Ok(out.flush()?)
    })?;
    options.report.iter().try_for_each(|directory| page(directory))
}

/// The lines that a report is made of.
const LINES: &str = "bench.jsonl";

/// Makes the report of the lines in a directory.
fn page(directory: &Path) -> Result<()> {
    let lines = fs::read_to_string(directory.join(LINES))?;
    let lines: Vec<Line> = lines.lines().map(Line::parse).collect::<Result<_>>()?;
    let report = directory.join("report.html");
    fs::write(&report, isoform_bench::page::of(&lines))?;
    warn(&format!("the report is in {}", report.display()));
    Ok(())
}

/// What the figures hold for: times move from machine to machine, ratios less so.
fn machine(level: Option<Level>) -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let compiler = compiled::version().unwrap_or_else(|| "no C compiler".into());
    let (system, version) = (std::env::consts::OS, env!("CARGO_PKG_VERSION"));
    format!("{model}, {}, {cores} cores, {system}; {compiler}; isoform {version}", level.unwrap_or_else(Level::best))
}

fn outcome(result: Result<()>) -> ExitCode {
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
