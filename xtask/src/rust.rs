//! Tests in Rust, and the build that all parts of `make test` share.
//!
//! Cargo unites the features of all crates that a command selects. So another selection is another build of most crates,
//! and whatever `make test` runs in the profile `dev` comes from the one selection below.

use crate::Outcome;
use crate::settings::{generate, setting};
use crate::shell::{command, quietly, run};
use crate::tools;

/// Crates of `make verify`: their tests run programs of other machines.
const EMULATED: &str = "--exclude isoform-machines";

/// All crates of the workspace, and the features with which they are tested.
fn selection() -> &'static str {
    match generate() {
        true => "--workspace --locked --features isoform-bench/peers,isoform-service/server,isoform-xmit/tls",
        false => "--workspace --locked --exclude isoform-bench --no-default-features",
    }
}

/// Builds what tests need. Where it is built, there is nothing to do.
pub(crate) fn build() -> Outcome {
    quietly(&mut command(&format!("cargo build --all-targets --quiet {}", selection())))
}

/// Every test in Rust, and the examples in documents, but for those that emulate machines.
pub(crate) fn workspace() -> Outcome {
    let mut cargo = command(&format!("cargo test --no-fail-fast {} {EMULATED}", selection()));
    if let Some(package) = tools::npm(tools::TYPESCRIPT)? {
        cargo.env("TSC", package.join("lib/tsc.js"));
    }
    run(&mut cargo)
}

/// What decodes, once more where no code is ever generated: in the workspace, the command switches that on for all.
pub(crate) fn interpreter() -> Outcome {
    const TESTS: &str = "--test allocation --test compile_fail --test decoding --test declaration --test encoding --test records \
                         --test stream --test stream_properties --test vectors --test command";
    let packages = "-p isoform -p isoform-cli";
    run(&mut command(&format!("cargo test --locked --no-fail-fast {packages} --no-default-features --lib {TESTS}")))
}

/// The tests of the programs for other machines: their numbers, records and writers, under emulators.
pub(crate) fn emulated() -> Outcome {
    let tests = "--test numbers --test pairs --test random --test reader --test readme --test writer";
    run(&mut command(&format!("cargo test --no-fail-fast {} {tests}", selection())))
}

/// `isoform_reader.h` under sanitizers on more damaged streams.
pub(crate) fn reader_in_c(seed: u32) -> Outcome {
    let mut cargo = command(&format!("cargo test --quiet {} --test reader damaged_streams", selection()));
    quietly(cargo.env("SEED", seed.to_string()).env("STREAMS", "200"))
}

/// What debug information says of `STRUCTS` random structs of each compiler that is here, and what their programs say.
pub(crate) fn structs() -> Outcome {
    let tests = format!("cargo test --no-fail-fast {} --test structs -- --ignored --nocapture", selection());
    run(command(&tests).env("STRUCTS", setting("STRUCTS", 400).to_string()))
}

/// The tests of the format service behind nginx.
pub(crate) fn nginx() -> Outcome {
    run(&mut command(&format!("cargo test --quiet {} --test nginx -- --ignored", selection())))
}

/// All properties with a hundred times as many cases.
pub(crate) fn soak() -> Outcome {
    let mut cargo = command("cargo test --release --workspace --locked --no-fail-fast");
    for (name, cases) in [
        ("PROPTEST_CASES", "25600"),
        ("SIMULATIONS", "200000"),
        ("MEMBERS", "10000"),
        ("HEADER_STRUCTS", "10000"),
        ("LOOM_MAX_PREEMPTIONS", "4"),
        ("KILLS", "1000"),
    ] {
        if std::env::var_os(name).is_none() {
            cargo.env(name, cases);
        }
    }
    run(&mut cargo)
}
