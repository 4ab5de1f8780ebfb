//! The format service with programs of others: each is named where it is missing.

use crate::rust::{build, nginx};
use crate::shell::{debug, exists, run, skipped, target};
use crate::{Outcome, faces, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The OpenAPI document against a server that runs, the page in a browser, a tree of files behind a web server, and records in
/// brokers.
pub(crate) fn check() -> Outcome {
    build()?;
    match exists("nginx") {
        true => nginx()?,
        false => skipped("a tree of files behind nginx. It needs nginx (Debian: apt-get install nginx-light)"),
    }
    const LIST: &str = "tests/service/requirements.txt";
    let Some(programs) = tools::environment(&target().join("service"), &["-r", LIST], &fs::read_to_string(LIST)?)?
    else {
        skipped("the OpenAPI document, the page and the brokers. They need Python 3.9 or later, with venv");
        return Ok(());
    };
    let python = |script: &str| {
        let mut python = Command::new(programs.join("python"));
        python.arg(Path::new("tests/service").join(script));
        python
    };
    run(python("openapi.py").arg(debug("isoform")))?;
    match BROWSERS.into_iter().find(|name| exists(name)) {
        Some(browser) => run(python("page.py").arg(debug("isoform")).arg(browser))?,
        None => skipped("the page in a browser. It needs Chromium (Debian: apt-get install chromium)"),
    }
    let mut brokers = python("brokers.py");
    brokers.arg(debug("isoform")).env("PYTHONPATH", package()?);
    match exists("mosquitto") {
        true => _ = brokers.arg("mosquitto"),
        false => skipped("records through MQTT. They need mosquitto (Debian: apt-get install mosquitto)"),
    }
    run(&mut brokers)
}

/// A folder with a copy of the Python package, and the core that was built for tests.
fn package() -> Outcome<PathBuf> {
    let folder = target().join("service-package");
    let copy = folder.join("isoform");
    fs::create_dir_all(&copy)?;
    for entry in fs::read_dir("faces/python/isoform")? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|kind| kind == "py") {
            fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
    }
    fs::copy(faces::core()?, copy.join("_isoform.abi3.so"))?;
    Ok(folder)
}
