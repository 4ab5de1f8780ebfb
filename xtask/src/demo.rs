//! Builds and runs the demonstration. The build is quick: hardly optimised, without generated code and debug
//! information.

use crate::Outcome;
use crate::shell::{command, exists, has_target, quietly, script, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine on which the simulation runs, under an emulator.
const FOREIGN: &str = "powerpc-unknown-linux-gnu";
const BUILD: &str = "cargo build --profile quick --locked -p isoform-cli --no-default-features";

pub(crate) fn run() -> Outcome {
    println!("Building the command `isoform` for the demonstration: little optimised and without the code generator,");
    println!("which only pays where records come by the thousand (make install builds the whole, in some minutes).");
    // With the page, to which the last lines of the demonstration lead.
    quietly(command(BUILD).args(["--features", "watch"]))?;
    let mut demo = Command::new(target().join("quick/isoform"));
    demo.arg("demo");
    if let Some(simulation) = foreign() {
        demo.args(["--", "qemu-ppc", "-L", "/usr/powerpc-linux-gnu"]).arg(simulation);
    }
    quietly(&mut demo)
}

/// The same command as a program of a big-endian machine, if it can be built and run here.
fn foreign() -> Option<PathBuf> {
    if !exists("qemu-ppc") || !exists("powerpc-linux-gnu-gcc") {
        println!(
            "Without qemu-ppc and powerpc-linux-gnu-gcc (sh tests/machines/install.sh), the simulation runs on this machine."
        );
        return None;
    }
    println!("Now the simulation, as a program for PowerPC:");
    let mut cargo = command(&format!("{BUILD} --target {FOREIGN}"));
    cargo.env("CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_LINKER", "powerpc-linux-gnu-gcc");
    if !has_target(FOREIGN) || quietly(&mut cargo).is_err() {
        println!("No program for {FOREIGN} could be built: the simulation runs on this machine.");
        return None;
    }
    Some(target().join(FOREIGN).join("quick/isoform")).filter(|program| program.exists())
}

/// Installs the command into Cargo's directory; or below `PREFIX`, with the C library and its headers.
pub(crate) fn install() -> Outcome {
    println!(
        "Building with every optimisation, and with the code generator, which takes half of the time: some minutes."
    );
    let Some(prefix) = std::env::var("PREFIX").ok().filter(|prefix| !prefix.is_empty()) else {
        return quietly(command("cargo install --locked --path crates/cli").env("CARGO_TARGET_DIR", target()));
    };
    // One command for both, so that common crates are built once.
    quietly(&mut command("cargo build --release --locked -p isoform-cli -p isoform-capi"))?;
    let programs = Path::new(&prefix).join("bin");
    fs::create_dir_all(&programs)?;
    quietly(command("install -m 755").arg(target().join("release/isoform")).arg(&programs))?;
    println!("installed in {}: isoform", programs.display());
    quietly(script("faces/c/package/install.sh").arg(&prefix).arg(target().join("release")))?;
    println!("To use it in a shell where {prefix} is not a place that programs search:");
    println!("export PATH={prefix}/bin:$PATH PKG_CONFIG_PATH={prefix}/lib/pkgconfig LD_LIBRARY_PATH={prefix}/lib");
    Ok(())
}
