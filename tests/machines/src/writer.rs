//! The C programs of `writer/`, which write records by `faces/c/include/isoform_writer.h` alone: compiled for a machine, and run
//! there.

use crate::Machine;
use isoform::core::Layout;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What every compiler is asked for: the header promises C99 without a warning.
pub const OPTIONS: &[&str] =
    &["-std=c99", "-O2", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"];

/// The sources of the program that writes the features of `vectors/`.
pub const FEATURES: &[&str] = &["main.c", "features.c", "wide.c", "long_double.c"];

/// The source of the program that reads with `faces/c/include/isoform_reader.h`.
pub const READER: &str = "../reader/main.c";

/// Compiles sources of `writer/` by `compiler` into the program `name` of a folder.
///
/// # Errors
/// What the compiler said.
pub fn compile(
    compiler: &str,
    options: &[&str],
    sources: &[&str],
    folder: &Path,
    name: &str,
) -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command.args(options).arg("-I").arg(here.join("../../faces/c/include"));
    command.args(sources.iter().map(|source| here.join("writer").join(source)));
    command.arg("-lm").arg("-o").arg(&program);
    succeeded(&mut command).map(|_| program)
}

/// Compiles sources of `writer/` for a machine.
///
/// # Errors
/// What the compiler said.
pub fn compile_for(machine: &Machine, sources: &[&str], folder: &Path, name: &str) -> Result<PathBuf, String> {
    // Microsoft's `long double` is `double`, which GCC has to be told.
    let windows = machine.layout == Layout::WINDOWS_X64;
    let name = if windows { format!("{name}.exe") } else { name.into() };
    let options = OPTIONS.iter().chain(machine.options).copied().chain(windows.then_some("-mlong-double-64"));
    let options: Vec<&str> = options.collect();
    compile(&machine.compiler(), &options, sources, folder, &name)
}

/// Writes every feature as this machine lays it out, each into a file `<feature>.iso` of the folder.
///
/// # Errors
/// What the compiler or the program said.
pub fn write_features(machine: &Machine, folder: &Path) -> Result<(), String> {
    let program = compile_for(machine, FEATURES, folder, "writer")?;
    // By a relative name, since the program may know no other paths than those of its own system.
    succeeded(machine.command(program).arg(".").current_dir(folder)).map(|_| ())
}

/// What a command wrote.
///
/// # Errors
/// What it complained about, if it failed.
pub fn succeeded(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
