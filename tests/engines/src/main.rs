//! The command that compares both engines on many pairs of formats.
//!
//! ```text
//! isoform-engines pairs [SEED [COUNT]]    so many pairs, on all processors; exit status 1 if the engines differ
//! isoform-engines pair SEED NUMBER        one of them again, with its plan
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it did")]

use isoform_engines::{Pair, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    command(&words).unwrap_or_else(|| {
        eprintln!("usage: isoform-engines pairs [SEED [COUNT]] | pair SEED NUMBER");
        ExitCode::from(2)
    })
}

fn command(words: &[&str]) -> Option<ExitCode> {
    match *words {
        ["pairs"] => Some(pairs(1, 100_000)),
        ["pairs", seed] => Some(pairs(seed.parse().ok()?, 100_000)),
        ["pairs", seed, count] => Some(pairs(seed.parse().ok()?, count.parse().ok()?)),
        ["pair", seed, number] => {
            let pair = Pair::of(seed.parse().ok()?, number.parse().ok()?);
            println!("{pair}");
            Some(match pair.compare() {
                Ok(tally) => {
                    println!("{tally}");
                    ExitCode::SUCCESS
                }
                Err(difference) => {
                    println!("{difference}");
                    ExitCode::FAILURE
                }
            })
        }
        _ => None,
    }
}

fn pairs(seed: u64, count: u64) -> ExitCode {
    let report = run(seed, count);
    println!("{report}");
    if report.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
