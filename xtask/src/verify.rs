//! The parts of `make verify`: sanitizers, Miri, emulators.

use crate::rust::build;
use crate::settings::{seed, setting, words};
use crate::shell::{command, debug, has_nightly, host, nightly, quietly, run, script, skipped, succeeds, target};
use crate::{Outcome, faces};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Machines on which the libraries' own tests run, with the fewer cases that an emulator has time for.
const TRIED: &str = "s390x powerpc i386 armv7 aarch64";
/// Those whose generated code is tested as well.
const GENERATING: &str = "s390x aarch64";

// Under AddressSanitizer.

/// Builds the programs of `tests/hostile` and `tests/engines` under AddressSanitizer, where there is a nightly compiler, and
/// gives their folder. The code generator, which is not of this project and most of the work, is built without the sanitizer;
/// that takes nightly's cargo.
fn programs() -> Outcome<PathBuf> {
    const PACKAGES: &str = "-p isoform-hostile -p isoform-engines";
    if !has_nightly() {
        skipped("AddressSanitizer. It needs the nightly toolchain: rustup toolchain install nightly");
        quietly(&mut command(&format!("cargo build --release --locked --quiet {PACKAGES}")))?;
        return Ok(target().join("release"));
    }
    let (host, folder) = (host()?, target().join("sanitized"));
    let mut cargo = nightly("-Zprofile-rustflags");
    for setting in [
        r#"profile.sanitized.rustflags=["-Zsanitizer=address"]"#,
        "profile.sanitized.build-override.rustflags=[]",
        "profile.sanitized.package.cranelift-codegen.rustflags=[]",
    ] {
        cargo.args(["--config", setting]);
    }
    cargo.args("build --locked --quiet --profile sanitized".split(' ')).args(PACKAGES.split(' '));
    quietly(cargo.args(["--target", &host, "--target-dir"]).arg(&folder))?;
    Ok(folder.join(host).join("sanitized"))
}

/// A program that tries a great deal. What AddressSanitizer keeps for its reports costs more than all its checks, and
/// `mutant SEED NUMBER`, `pair SEED NUMBER` give them.
fn trying(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env("ASAN_OPTIONS", "malloc_context_size=0:quarantine_size_mb=16");
    command
}

/// Both engines on random pairs of formats; and the direct emitter by a model of the processor.
pub(crate) fn engines() -> Outcome {
    let program = programs()?.join("isoform-engines");
    let (seed, pairs) = (seed().to_string(), setting("PAIRS", 10_000));
    let modelled = setting("MODELLED", pairs).to_string();
    quietly(trying(program.clone()).args(["pairs", &seed, &pairs.to_string()]))?;
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512vbmi") {
        // Without this, the code for processors with AVX2 would run nowhere but on these.
        quietly(trying(program.clone()).args(["pairs", &seed, &pairs.to_string(), "avx2"]))?;
    }
    quietly(trying(program).args(["modelled", &seed, &modelled]))
}

/// Gives mutants to everything that a receiver does, connects strangers to a node, and compares what is read of some
/// mutants with the independent reader.
pub(crate) fn hostile() -> Outcome {
    let program = programs()?.join("isoform-hostile");
    let (seed, half) = (seed(), (setting("MUTANTS", 8_000) / 2).to_string());
    quietly(trying(program.clone()).arg("bits"))?;
    let run = |seed: u64| trying(program.clone()).args(["mutants", &seed.to_string(), &half]).spawn();
    let runs = [run(seed)?, run(seed + 1000)?];
    for mut run in runs {
        if !run.wait()?.success() {
            return Err("mutants found a defect".into());
        }
    }
    quietly(trying(program.clone()).args(["visits", &seed.to_string(), &setting("VISITS", 600).to_string()]))?;
    let mut agree = trying("python3".into());
    agree.arg("tests/hostile/agree.py").arg(program);
    quietly(agree.args([seed.to_string(), setting("AGREED", 3000).to_string()]))
}

/// Instructions for the worst input of one size and twice that.
pub(crate) fn linear() -> Outcome {
    quietly(&mut command("cargo build --release --locked --quiet -p isoform-hostile"))?;
    quietly(Command::new(target().join("release/isoform-hostile")).arg("linear"))
}

/// Prices of queries, beside the instructions that they take: of each fourth query, or each of them with `SAMPLE=1`.
pub(crate) fn prices() -> Outcome {
    quietly(&mut command("cargo build --release --locked --quiet -p isoform-hostile"))?;
    let mut prices = Command::new(target().join("release/isoform-hostile"));
    quietly(prices.arg("prices").env("SAMPLE", setting("SAMPLE", 4).to_string()))
}

// On a network.

/// Three hosts that exchange events, as namespaces of this machine.
pub(crate) fn hosts() -> Outcome {
    build()?;
    let status = script("tests/hosts/run.sh").arg(debug("isoform")).status()?;
    match status.code() {
        Some(77) => skipped("three hosts. They need network namespaces (unshare --net) and the command ip"),
        Some(0) => {}
        _ => return Err(format!("tests/hosts/run.sh failed: {status}").into()),
    }
    Ok(())
}

// On other machines.

/// Installs compilers, emulators and libraries of other machines, where that may be done.
pub(crate) fn install_machines() -> Outcome {
    quietly(&mut script("tests/machines/install.sh"))
}

/// Runs a writer and a reader on every kind of machine.
pub(crate) fn machines() -> Outcome {
    quietly(&mut machine("")?)
}

/// Counts the instructions that conversions take on aarch64, with its vector instructions, beside those of C compiled for each pair.
/// This stands for the time on processors that are not here.
pub(crate) fn instructions() -> Outcome {
    let directory = target().join("instructions");
    fs::create_dir_all(&directory)?;
    let (plugin, counter) = (directory.join("counter.so"), directory.join("count"));
    run(command("cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o")
        .arg(&plugin)
        .arg("bench/counter/counter.c"))?;
    let wanted = setting("ARGS", "convert generate random batch".to_owned());
    let line = format!(
        "on aarch64 run --quiet --locked --release -p isoform-bench -- --alone --counter {} {wanted}",
        counter.display()
    );
    let plugin = format!("file={},counter={}", plugin.display(), counter.display());
    // Of this machine's programs, no other is needed.
    quietly(&mut command("cargo build --quiet --locked -p isoform-machines"))?;
    quietly(machine_as_built(&line).env("QEMU_PLUGIN", plugin))
}

/// Vector instructions that are not here, and generated code for other processors: tried on emulated machines.
pub(crate) fn machines_engines() -> Outcome {
    let (seed, pairs) = (seed().to_string(), setting("MACHINE_PAIRS", 100).to_string());
    let profile = setting("MACHINE_PROFILE", "machines".to_owned());
    quietly(&mut machine("on aarch64 test --quiet --locked --profile machines -p isoform-kernels --lib --tests")?)?;
    for name in words_or("GENERATING", "aarch64") {
        let line =
            format!("on {name} run --quiet --locked --profile {profile} -p isoform-engines -- pairs {seed} {pairs}");
        quietly(&mut machine(&line)?)?;
    }
    Ok(())
}

/// The tests of the library and of the command as programs for Windows, under Wine; of channels over TCP; and the archive and the
/// wheel for Windows, with programs that use them.
pub(crate) fn windows() -> Outcome {
    for tests in [
        "-p isoform-core --lib --tests",
        "-p isoform --lib --test declaration --test decoding --test encoding --test records --test stream --test vectors",
        "-p isoform-cli --no-default-features --test command",
        "-p isoform-channel --test events --test granted --test kinds --test life --test places --test processes --test queries",
    ] {
        cases(&format!("on windows-x64 test --quiet --locked --no-fail-fast --profile machines {tests}"))?;
    }
    faces::windows()
}

/// The libraries' own tests on emulated machines.
pub(crate) fn machines_tests() -> Outcome {
    const TESTS: &str = "--lib --test conversion --test formats --test limits --test verify --test view --test declaration \
                         --test decoding --test encoding --test records --test stream --test vectors --test places";
    const GENERATED: &str = "-p isoform-jit -p isoform --features isoform/generate --lib --test conversion --test equality \
                             --test engines --test decoding --test vectors";
    for name in words_or("TRIED", TRIED) {
        println!("tests on {name}:");
        cases(&format!(
            "on {name} test --locked --no-fail-fast --profile machines -p isoform-core -p isoform-kernels -p isoform {TESTS}"
        ))?;
    }
    for name in words_or("GENERATING", GENERATING) {
        println!("generated code on {name}:");
        cases(&format!("on {name} test --locked --no-fail-fast --profile machines {GENERATED}"))?;
    }
    Ok(())
}

fn cases(line: &str) -> Outcome {
    quietly(machine(line)?.env("PROPTEST_CASES", setting("MACHINE_CASES", 16).to_string()))
}

/// The command that knows how to build for other machines, and to run there.
fn machine(line: &str) -> Outcome<Command> {
    build()?;
    Ok(machine_as_built(line))
}

fn machine_as_built(line: &str) -> Command {
    let mut machines = Command::new(debug("isoform-machines"));
    machines.args(line.split_whitespace());
    machines
}

fn words_or(name: &str, default: &str) -> Vec<String> {
    let set = words(name);
    if set.is_empty() { default.split(' ').map(str::to_owned).collect() } else { set }
}

// Under Miri.

/// Runs tests under Miri: those near `unsafe` code, on this kind of machine; and whole exchanges of records on a
/// big-endian and on a 32-bit machine.
pub(crate) fn miri() -> Outcome {
    if !succeeds(&mut nightly("miri --version")) {
        succeeds(&mut command("rustup +nightly component add miri rust-src"));
    }
    if !succeeds(&mut nightly("miri --version")) {
        skipped("Miri. It needs the nightly toolchain: rustup toolchain install nightly --component miri,rust-src");
        return Ok(());
    }
    println!("miri:");
    // Miri does not detect vector instructions. So those that it supports are enabled.
    let mut kernels = interpreted("test -p isoform-kernels --lib --tests", 2)?;
    if cfg!(target_arch = "x86_64") {
        kernels.env("RUSTFLAGS", "-C target-feature=+sse4.1");
    }
    quietly(kernels.env("CARGO_TARGET_DIR", target().join("miri-vectors")))?;
    quietly(&mut interpreted("test -p isoform --lib -- native::", 4)?)?;
    let tests = "--test records --test encoding --test decoding --test declaration --test forbidden --test any_memory";
    quietly(&mut interpreted(&format!("test -p isoform {tests}"), 4)?)?;
    quietly(&mut interpreted("test -p isoform-dynamic --lib -- flat:: stream::", 4)?)?;
    for target in ["s390x-unknown-linux-gnu", "i686-unknown-linux-gnu"] {
        println!("miri as {target}:");
        quietly(&mut interpreted(&format!("test -p isoform --target {target} --test records"), 4)?)?;
    }
    println!("miri, hostile input:");
    let mutants = setting("MIRI_MUTANTS", 10);
    quietly(&mut interpreted(&format!("run -p isoform-hostile -- mutants {} {mutants}", seed()), 4)?)
}

fn interpreted(line: &str, cases: u32) -> Outcome<Command> {
    let (verb, rest) = line.split_once(' ').ok_or("a verb and more")?;
    let mut miri = nightly(&format!("miri {verb} --locked --quiet {rest}"));
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance")
        .env("PROPTEST_CASES", cases.to_string());
    Ok(miri)
}
