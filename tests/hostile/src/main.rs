//! The command that makes mutants, and gives them to everything that a receiver does.
//!
//! ```text
//! isoform-hostile mutants [SEED [COUNT]]    so many mutants; exit status 1 if one of them found a defect
//! isoform-hostile mutant SEED NUMBER        one of them again; --write puts its bytes on standard output instead
//! isoform-hostile visits [SEED [COUNT]]     so many strangers who connect to a node; exit status 1 as above
//! isoform-hostile visit SEED NUMBER         one of them again
//! isoform-hostile bits                      bits and ends of a description and a record, each changed once
//! isoform-hostile linear                    instructions for the worst input of one size and twice that, for offers of
//!                                           many sources, and for documents of many types, by valgrind
//! isoform-hostile prices [WORDS]            instructions that queries (with these words) take at a source, beside their
//!                                           prices, by valgrind
//! isoform-hostile offers SOURCES            sixteen nodes that each offer so many sources to one
//! isoform-hostile quiet SINKS EVENTS        so many sinks on as many nodes, which want none of so many events
//! isoform-hostile passing SINKS EVENTS      the same, and their query lets all pass
//! isoform-hostile unpaid SINKS EVENTS       the same, and each has a query of its own, for which there is no time
//! isoform-hostile schema SHAPE COUNT        loads a document of a shape, with so many parts
//! isoform-hostile tell SEED COUNT           mutants, and what they are read as, for agree.py
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it did")]

mod bits;
mod cases;
mod families;
mod linear;
mod mutants;
mod offers;
mod prices;
mod quiet;
mod tell;
mod visits;

use isoform_hostile::memory::Counting;
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Some(code) => code,
        None => {
            eprintln!(
                "usage: isoform-hostile mutants [SEED [COUNT]] | mutant SEED NUMBER [--write] | visits [SEED [COUNT]] | \
                 visit SEED NUMBER | bits | linear | prices [WORDS] | offers SOURCES | quiet SINKS EVENTS | \
                 passing SINKS EVENTS | unpaid SINKS EVENTS | schema SHAPE COUNT | tell SEED COUNT"
            );
            ExitCode::from(2)
        }
    }
}

fn run(words: &[&str]) -> Option<ExitCode> {
    match *words {
        ["mutants"] => Some(mutants::run(1, 200_000)),
        ["mutants", seed] => Some(mutants::run(seed.parse().ok()?, 200_000)),
        ["mutants", seed, count] => Some(mutants::run(seed.parse().ok()?, count.parse().ok()?)),
        ["mutant", seed, number] => {
            let mutant = mutants::Source::new(seed.parse().ok()?).mutant(number.parse().ok()?);
            println!("{} bytes: {:?}", mutant.len(), isoform_hostile::receive(&mutant));
            Some(ExitCode::SUCCESS)
        }
        ["mutant", seed, number, "--write"] => {
            let mutant = mutants::Source::new(seed.parse().ok()?).mutant(number.parse().ok()?);
            std::io::stdout().write_all(&mutant).ok()?;
            Some(ExitCode::SUCCESS)
        }
        ["visits"] => Some(visits::run(1, 10_000)),
        ["visits", seed] => Some(visits::run(seed.parse().ok()?, 10_000)),
        ["visits", seed, count] => Some(visits::run(seed.parse().ok()?, count.parse().ok()?)),
        ["visit", seed, number] => {
            println!("{:?}", visits::Source::new(seed.parse().ok()?).visit(number.parse().ok()?));
            Some(ExitCode::SUCCESS)
        }
        ["linear"] => Some(linear::run()),
        ["prices"] => Some(prices::run("")),
        ["prices", words] => Some(prices::run(words)),
        ["priced", words] => Some(prices::evaluate(words)),
        ["offers", sources] => {
            offers::exchange(sources.parse().ok()?);
            Some(ExitCode::SUCCESS)
        }
        [mode @ ("quiet" | "passing" | "unpaid"), sinks, events] => {
            let wants = match mode {
                "quiet" => quiet::Wants::Nothing,
                "passing" => quiet::Wants::All,
                _ => quiet::Wants::Unpaid,
            };
            quiet::submit(sinks.parse().ok()?, events.parse().ok()?, wants);
            Some(ExitCode::SUCCESS)
        }
        ["schema", shape, count] => {
            linear::schema(shape, count.parse().ok()?)?;
            Some(ExitCode::SUCCESS)
        }
        ["step", name, file] => linear::step(name, file),
        ["tell", seed, count] => {
            tell::run(seed.parse().ok()?, count.parse().ok()?).ok()?;
            Some(ExitCode::SUCCESS)
        }
        ["bits"] => Some(bits::run()),
        _ => None,
    }
}
