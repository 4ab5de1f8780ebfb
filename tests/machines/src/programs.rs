//! Programs for every machine: built here, run there.

use crate::Outcome;
use isoform::core::Layout;
use isoform_machines::{Machine, writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the repository.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_path_buf()
}

/// Where programs are built.
pub(crate) fn built() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), Into::into)
}

/// Cargo, which links for every machine, and runs its programs, by the tools of the table.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top());
    for machine in Machine::ALL.iter().filter(|machine| !machine.is_here()) {
        let Some(target) = machine.target else { continue };
        let variable = |tool| format!("CARGO_TARGET_{}_{tool}", target.replace('-', "_").to_uppercase());
        command.env(variable("LINKER"), machine.compiler()).env(variable("RUNNER"), machine.runner().join(" "));
    }
    command
}

/// What is missing for programs in Rust on a machine, if anything is.
pub(crate) fn missing(machine: &Machine) -> Option<String> {
    let Some(target) = machine.target else { return Some("it is tried in C alone".into()) };
    let folder =
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).current_dir(top()).output();
    let folder = folder.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !Path::new(&folder).exists() {
        return Some(format!("rustup target add {target}"));
    }
    missing_tools(machine)
}

/// What is missing for programs in any language.
pub(crate) fn missing_tools(machine: &Machine) -> Option<String> {
    match (machine.compiles() || machine.is_here(), machine.runs()) {
        (false, _) => Some(format!("there is no {}", machine.compiler())),
        (_, false) => Some(format!("there is no {}", machine.emulator)),
        _ => None,
    }
}

/// Builds the program `machine` for these machines.
///
/// # Errors
/// If any of them fails.
pub(crate) fn build(machines: &[&'static Machine]) -> Outcome<()> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--locked", "--package", "isoform-machines", "--bin", "machine"]);
    command.args(["--profile", "machines"]);
    machines.iter().filter_map(|machine| machine.target).for_each(|target| {
        command.args(["--target", target]);
    });
    if !command.status()?.success() {
        return Err("the program does not build for every machine".into());
    }
    for machine in machines {
        let folder = program(machine).parent().map_or_else(PathBuf::new, Path::to_path_buf);
        build_library(machine, &folder)?;
    }
    Ok(())
}

/// Wine before version 9 lacks a library that Rust's own wants: builds it into a folder.
///
/// # Errors
/// What the compiler said.
pub(crate) fn build_library(machine: &Machine, folder: &Path) -> Outcome<()> {
    if machine.layout != Layout::WINDOWS_X64 {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bcryptprimitives.c");
    let mut compiler = Command::new(machine.compiler());
    compiler.arg("-shared").arg(source).arg("-o").arg(folder.join("bcryptprimitives.dll")).arg("-ladvapi32");
    writer::succeeded(&mut compiler)?;
    Ok(())
}

/// The program `machine` for a machine.
pub(crate) fn program(machine: &Machine) -> PathBuf {
    let name = if machine.layout == Layout::WINDOWS_X64 { "machine.exe" } else { "machine" };
    built().join(machine.target.unwrap_or_default()).join("machines").join(name)
}
