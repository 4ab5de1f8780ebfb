//! The command that compares both engines on many pairs of formats.
//!
//! ```text
//! isoform-engines pairs [SEED [COUNT [LEVEL]]]  so many pairs, on all processors; exit status 1 if the engines differ;
//!                                               with no better vector instructions than avx512, avx2, ...
//! isoform-engines pair SEED NUMBER              one of them again, with its plan
//! isoform-engines modelled [SEED [COUNT]]       the code of the direct emitter for each extension of x86-64, executed by a
//!                                               model of a processor
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it did")]

use isoform_engines::{Emitters, Pair, run};
use isoform_kernels::Level;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    command(&words).unwrap_or_else(|| {
        eprintln!("usage: isoform-engines pairs [SEED [COUNT [LEVEL]]] | modelled [SEED [COUNT]] | pair SEED NUMBER");
        ExitCode::from(2)
    })
}

fn command(words: &[&str]) -> Option<ExitCode> {
    match *words {
        [what @ ("pairs" | "modelled"), ref rest @ ..] => {
            let emitters = if what == "pairs" { Emitters::Native } else { Emitters::Modelled };
            let (seed, count) = match *rest {
                [] => (1, 100_000),
                [seed] => (seed.parse().ok()?, 100_000),
                [seed, count] => (seed.parse().ok()?, count.parse().ok()?),
                [seed, count, level] if what == "pairs" => {
                    if !Level::of(level)?.limit() {
                        return None;
                    }
                    (seed.parse().ok()?, count.parse().ok()?)
                }
                _ => return None,
            };
            Some(pairs(emitters, seed, count))
        }
        ["pair", seed, number] => {
            let (seed, number) = (seed.parse().ok()?, number.parse().ok()?);
            println!("{}", Pair::of(seed, number));
            let again = || Pair::of(seed, number);
            let results = [again().compare(Emitters::Native), again().compare(Emitters::Modelled)];
            for result in &results {
                match result {
                    Ok(tally) => println!("{tally}"),
                    Err(difference) => println!("{difference}"),
                }
            }
            Some(if results.iter().all(Result::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        _ => None,
    }
}

fn pairs(emitters: Emitters, seed: u64, count: u64) -> ExitCode {
    let report = run(emitters, seed, count);
    println!("{report}");
    if report.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
