//! The page of `isoform watch`: its parts that are built, and the page in a browser. And other viewers at the same port.

use crate::rust::build;
use crate::service::BROWSERS;
use crate::settings::words;
use crate::shell::{command, debug, exists, has_target, run, skipped, target};
use crate::{Outcome, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the page has what is built. It is kept with the sources, so that `cargo install` needs no other compiler.
const BUILT: &str = "crates/watch/page/built";
const MACHINE: &str = "wasm32-unknown-unknown";
/// The library that draws lines, of npm's registry.
const UPLOT: &str = "uplot@1.6.32";

/// Builds what the page has of it, and compares, or writes with `WRITE=yes`. Then uses the page in a browser, and connects
/// viewers that are not ours.
pub(crate) fn check() -> Outcome {
    built()?;
    browser()?;
    viewers()
}

fn built() -> Outcome {
    if !has_target(MACHINE) {
        skipped(&format!("the core for browsers. It needs rustup target add {MACHINE}"));
        return Ok(());
    }
    let core = core()?;
    let mut parts = vec![(core, "core.wasm")];
    match tools::npm(UPLOT)? {
        Some(package) => {
            for (from, to) in
                [("dist/uPlot.esm.js", "uplot.js"), ("dist/uPlot.min.css", "uplot.css"), ("LICENSE", "uplot.LICENSE")]
            {
                parts.push((package.join(from), to));
            }
        }
        None if exists("npm") => return Err(format!("npm has no {UPLOT}").into()),
        None => skipped("the comparison of uPlot with its package. It needs npm"),
    }
    let write = !words("WRITE").is_empty();
    for (from, name) in parts {
        let kept = Path::new(BUILT).join(name);
        if write {
            fs::copy(from, kept)?;
        } else if fs::read(&from)? != fs::read(&kept).unwrap_or_default() {
            return Err(format!("{} is not what its sources make: make page WRITE=yes", kept.display()).into());
        }
    }
    println!("page: what is built is as its sources make it");
    Ok(())
}

/// Builds the core for browsers. The same sources give the same bytes: it holds no path of this machine.
fn core() -> Outcome<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).ok_or("there is no home")?;
    let here = std::env::current_dir()?;
    let mut renamed = vec![(here.display().to_string(), "/isoform")];
    if let Ok(registries) = fs::read_dir(home.join("registry/src")) {
        for registry in registries {
            renamed.push((registry?.path().display().to_string(), "/dependencies"));
        }
    }
    let flags: Vec<String> = renamed.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let line = format!("cargo build --quiet --locked --target {MACHINE} -p isoform-wasm --profile page");
    // What a caller has set for other builds would make other bytes.
    let mut cargo = command(&line);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
    run(&mut cargo)?;
    Ok(target().join(MACHINE).join("page/isoform_wasm.wasm"))
}

/// The page in a browser, as people use it.
fn browser() -> Outcome {
    build()?;
    in_browser("tests/watch/page.py", &[&debug("isoform")])
}

/// How fast the page draws twelve plots of ten thousand events a second, and what that costs their source.
pub(crate) fn frames() -> Outcome {
    run(&mut command(
        "cargo build --quiet --locked --release -p isoform-cli -p isoform-watch --bin isoform --example paced",
    ))?;
    let release = target().join("release");
    in_browser("tests/watch/frames.py", &[&release.join("isoform"), &release.join("examples/paced")])
}

/// Runs a program that leads a browser: with these arguments, and the name of the browser behind them.
fn in_browser(program: &str, arguments: &[&Path]) -> Outcome {
    const LIST: &str = "tests/watch/requirements.txt";
    let Some(programs) = tools::environment(&target().join("watch"), &["-r", LIST], &fs::read_to_string(LIST)?)? else {
        skipped("the page in a browser. It needs Python 3.9 or later, with venv");
        return Ok(());
    };
    match BROWSERS.into_iter().find(|name| exists(name)) {
        Some(browser) => {
            let mut python = Command::new(programs.join("python"));
            run(python.arg(program).args(arguments).arg(browser))
        }
        None => {
            skipped("the page in a browser. It needs Chromium (Debian: apt-get install chromium)");
            Ok(())
        }
    }
}

/// Clients of npm's registry that speak Foxglove's protocol.
fn viewers() -> Outcome {
    const LISTS: [&str; 2] = ["package.json", "package-lock.json"];
    build()?;
    if !exists("npm") || !exists("node") {
        skipped("viewers that people have. They need npm and Node.js");
        return Ok(());
    }
    let folder = target().join("viewers");
    fs::create_dir_all(&folder)?;
    let mut is_new = !folder.join("node_modules").exists();
    for name in LISTS {
        let (list, kept) = (fs::read(Path::new("tests/watch/viewers").join(name))?, folder.join(name));
        if fs::read(&kept).unwrap_or_default() != list {
            is_new = true;
            fs::write(kept, list)?;
        }
    }
    if is_new {
        run(command("npm ci --ignore-scripts --no-audit --no-fund --silent").current_dir(&folder))?;
    }
    run(Command::new("node").arg("tests/watch/viewers/viewers.cjs").arg(debug("isoform")).arg(folder))
}
