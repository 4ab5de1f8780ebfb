//! Runs the commands of tasks. Each is printed before it runs, and must succeed.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command, from words separated by spaces.
pub(crate) fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    // This is for the core of the Python package, which Python loads, and which is not linked with Python.
    command.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    command
}

/// A command with another toolchain than this one's.
pub(crate) fn nightly(line: &str) -> Command {
    command(&format!("cargo +nightly {line}"))
}

/// Shows a command, and runs it.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let line = std::iter::once(command.get_program().to_string_lossy().into_owned()).chain(words);
    println!("{}", line.collect::<Vec<_>>().join(" "));
    quietly(command)
}

/// Runs a command without showing it.
pub(crate) fn quietly(command: &mut Command) -> Outcome {
    let name = command.get_program().display().to_string();
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed: {status}").into()) }
}

/// Whether a command succeeds. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The standard output of a command, if it succeeds.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Whether a program is installed.
pub(crate) fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What tasks and tests print where they skip something begins with this.
pub(crate) const SKIPPED: &str = "*** SKIPPED";

/// Reports that something is skipped, and what it needs.
pub(crate) fn skipped(what: &str) {
    println!("{SKIPPED}: {what} ***");
}

/// The folder in which Cargo builds.
pub(crate) fn target() -> PathBuf {
    std::path::absolute(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
        .expect("a working directory")
}

/// A program that is built for tests.
pub(crate) fn debug(program: &str) -> PathBuf {
    target().join("debug").join(program)
}

/// This kind of machine, as compilers name it.
pub(crate) fn host() -> Outcome<String> {
    let told = output(&mut command("rustc -vV")).ok_or("rustc says nothing")?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc names no host")?.to_owned())
}

/// Whether nightly Rust is installed.
pub(crate) fn has_nightly() -> bool {
    succeeds(&mut command("cargo +nightly --version"))
}

/// Whether a target of this toolchain's library is there, or can be had.
pub(crate) fn has_target(target: &str) -> bool {
    succeeds(command("rustup target add").arg(target))
}

/// A script of this repository, for the shell.
pub(crate) fn script(path: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg(Path::new(path));
    shell
}
