//! Tasks that take hours or need a quiet machine: soak, fuzzing, coverage, benchmarks.

use crate::settings::{setting, words};
use crate::shell::{command, exists, has_nightly, quietly, run, script, skipped, target};
use crate::{Outcome, rust, tools};
use std::process::Command;

/// The tests again, with many more cases of each property.
pub(crate) fn soak() -> Outcome {
    rust::soak()?;
    let engines = [
        ("SEED", "2"),
        ("PAIRS", "1000000"),
        ("MODELLED", "1500000"),
        ("MACHINE_PAIRS", "10000"),
        ("MACHINE_PROFILE", "release"),
    ];
    again("engines", &engines)?;
    again("machines-engines", &[&engines[..], &[("GENERATING", "s390x aarch64 riscv64")]].concat())?;
    again("structs", &[("SEED", "2"), ("STRUCTS", "10000")])?;
    for seed in 100..300 {
        again("python-reader", &[("SEED", &seed.to_string())])?;
        rust::reader_in_c(seed)?;
    }
    again("hostile", &[("SEED", "2"), ("MUTANTS", "1000000"), ("VISITS", "1000000"), ("AGREED", "20000")])?;
    again("miri", &[("SEED", "2"), ("MIRI_MUTANTS", "2000")])?;
    again("prices", &[("SAMPLE", "1")])?;
    again("c-tests", &[("VALGRIND", "yes")])?;
    again("workspace", &[("GENERATE", "off")])?;
    for task in ["linear", "machines-tests", "fuzz"] {
        again(task, &[])?;
    }
    Ok(())
}

/// A task of this program, with these settings.
fn again(task: &str, settings: &[(&str, &str)]) -> Outcome {
    println!("\n== {task} {settings:?}");
    quietly(Command::new(std::env::current_exe()?).arg(task).envs(settings.iter().copied()))
}

/// Hostile input by coverage: each target of `fuzz/` for `MINUTES`, or those of `TARGETS`.
pub(crate) fn fuzz() -> Outcome {
    if !has_nightly() {
        skipped("fuzzing. It needs the nightly toolchain: rustup toolchain install nightly");
        return Ok(());
    }
    if !exists("c++") {
        skipped("fuzzing. libFuzzer needs a C++ compiler");
        return Ok(());
    }
    let mut path = tools::CARGO_FUZZ.installed()?.parent().ok_or("a folder")?.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    quietly(script("fuzz/run.sh").arg(setting("MINUTES", 20).to_string()).args(words("TARGETS")).env("PATH", path))
}

/// Which lines the tests reach, of all crates or of `CRATES`: `target/coverage/html`.
pub(crate) fn coverage() -> Outcome {
    quietly(&mut command("rustup component add llvm-tools"))?;
    let coverage = tools::CARGO_LLVM_COV.installed()?;
    let folder = target().join("coverage");
    let mut cargo = Command::new(coverage);
    cargo
        .args("llvm-cov --workspace --exclude isoform-machines --locked --no-fail-fast --html --output-dir".split(' '));
    run(cargo.arg(&folder))?;
    println!("coverage: {}", folder.join("html/index.html").display());
    Ok(())
}

/// Measures the costs, beside other systems.
pub(crate) fn bench() -> Outcome {
    let mut cargo = command("cargo run --quiet --release --locked -p isoform-bench --features peers -- --report");
    run(cargo.arg(target().join("bench")).args(words("ARGS")))
}
