//! The parts of `make check`: everything that every change must pass besides its tests.

use crate::settings::words;
use crate::shell::{command, exists, has_target, output, quietly, run, skipped};
use crate::{Outcome, tools};
use std::path::Path;
use std::process::Command;

/// Systems on which no test runs, and a processor without 64-bit atomics.
const ELSEWHERE: [&str; 3] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", "powerpc-unknown-linux-gnu"];
/// The machine with wheels of the Python package, besides x86-64.
const WHEELS: &str = "aarch64-unknown-linux-gnu";

pub(crate) fn format() -> Outcome {
    run(&mut command("cargo fmt --all --check"))
}

pub(crate) fn clippy() -> Outcome {
    if !exists("c++") {
        skipped("clippy of the targets of fuzz/. libFuzzer needs a C++ compiler");
    }
    run(command("cargo clippy --workspace --all-targets --locked --quiet --features").args([
        &features(),
        "--",
        "-D",
        "warnings",
    ]))
}

/// Those that clippy looks at. With others, Cargo would check most dependencies anew.
fn features() -> String {
    let fuzz = if exists("c++") { ",isoform-fuzz/libfuzzer" } else { "" };
    format!("isoform-bench/peers,isoform-service/server,isoform-xmit/tls{fuzz}")
}

/// Builds the documentation of all crates, private items included.
pub(crate) fn documents() -> Outcome {
    let mut cargo = command("cargo doc --workspace --no-deps --document-private-items --locked --quiet --features");
    run(cargo.arg(features()).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Compiles as far as possible without a linker of the other system.
pub(crate) fn elsewhere() -> Outcome {
    for target in ELSEWHERE {
        if !has_target(target) {
            skipped(&format!("check for {target}: rustup target add {target}"));
            continue;
        }
        // Without TLS, whose cryptography needs a C compiler for that system.
        let packages = "-p isoform -p isoform-cli -p isoform-channel -p isoform-capi --no-default-features \
                        --features isoform-cli/generate,isoform-capi/generate";
        run(&mut command(&format!("cargo check --quiet --locked --target {target} {packages}")))?;
    }
    if !has_target(WHEELS) {
        skipped(&format!("check of the Python package for {WHEELS}: rustup target add {WHEELS}"));
        return Ok(());
    }
    // Its code generator is built and tested under an emulator. The package adds nothing to it.
    let line = format!("cargo check --quiet --locked --target {WHEELS} -p isoform-python --no-default-features");
    run(command(&line).env("PYO3_NO_PYTHON", "1"))
}

pub(crate) fn dependencies() -> Outcome {
    let deny = tools::CARGO_DENY.installed()?;
    run(Command::new(deny).args(["--all-features", "--locked", "check", "licenses", "bans", "sources"]))?;
    println!("The advisory database was not asked: make advisories does, where it can be fetched.");
    Ok(())
}

/// Asks the advisory database, which is fetched from its server. So it is no part of `check`.
pub(crate) fn advisories() -> Outcome {
    let deny = tools::CARGO_DENY.installed()?;
    run(Command::new(deny).args(["--all-features", "--locked", "check", "advisories"]))
}

pub(crate) fn spelling() -> Outcome {
    match tools::wheels()? {
        Some(programs) => run(&mut Command::new(programs.join("typos"))),
        None => {
            skipped("spelling. It needs Python 3.9 or later, with venv");
            Ok(())
        }
    }
}

/// The layout of C++, by `.clang-format`. `WRITE=yes` rewrites the files.
pub(crate) fn clang_format() -> Outcome {
    let Some(programs) = tools::wheels()? else {
        skipped("the format of C++. It needs Python 3.9 or later, with venv");
        return Ok(());
    };
    let listed = output(Command::new("git").args(["ls-files", "*.cpp", "*.hpp"])).ok_or("git lists no files")?;
    let how: &[&str] = if words("WRITE").is_empty() { &["--dry-run", "--Werror"] } else { &["-i"] };
    let files = listed.lines().filter(|file| Path::new(file).exists());
    quietly(Command::new(programs.join("clang-format")).args(how).args(files))?;
    println!("clang-format: {} files", listed.lines().count());
    Ok(())
}
