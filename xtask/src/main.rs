//! Does the work of the Makefile's targets: `cargo run -p xtask -- TASK`. The Makefile lists the targets for people.
//!
//! | module | contents |
//! |---|---|
//! | `check` | the parts of `make check` |
//! | `rust`, `faces` | the parts of `make test`: Rust; C, C++, Python, and all languages together |
//! | `verify` | the parts of `make verify`: sanitizers, Miri, emulators |
//! | `service` | the format service with programs of others: a browser, a web server, brokers |
//! | `page` | the page of `isoform watch`: builds, compares, and uses it in a browser |
//! | `api` | compares the public items of crates with their texts |
//! | `parts`, `passed` | runs the parts of a suite, and prints the cost of each; which of them have passed for the tree as it is |
//! | `long` | soak, fuzzing, coverage, benchmarks |
//! | `demo` | the demonstration, and installation |
//! | `dist` | archives and wheels for Linux, Windows and macOS |
//! | `hydrology` | the example in three languages, with formats from a web server |
//! | `documents`, `book`, `markdown` | checks links between documents, and makes the book |
//! | `tools`, `shell`, `settings` | programs that tasks need; running commands; settings of the caller |
//!
//! It needs nothing but the standard library, so that it builds in a second.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it does")]

mod api;
mod book;
mod check;
mod demo;
mod dist;
mod documents;
mod faces;
mod hydrology;
mod long;
mod markdown;
mod model;
mod page;
mod parts;
mod passed;
mod rust;
mod service;
mod settings;
mod shell;
mod tools;
mod verify;

use std::path::Path;
use std::process::ExitCode;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A name on the command line, and what it does.
type Task = (&'static str, fn() -> Outcome);

const TASKS: &[Task] = &[
    ("check", || parts::run("check", &CHECK, &[])),
    ("test", || parts::run("test", &TEST, last())),
    ("verify", || verify::install_machines().and_then(|()| parts::run("verify", &VERIFY, &[]))),
    ("ready", ready),
    ("demo", demo::run),
    ("hydrology", hydrology::run),
    ("install", demo::install),
    ("dist", dist::make),
    ("docs", book::build),
    ("soak", long::soak),
    ("fuzz", long::fuzz),
    ("coverage", long::coverage),
    ("bench", long::bench),
    ("bench-python", faces::bench),
    ("python", faces::package),
    // Parts of `check`.
    ("clippy", check::clippy),
    ("dependencies", check::dependencies),
    ("elsewhere", check::elsewhere),
    ("documents", check::documents),
    ("format", check::format),
    ("links", documents::check),
    ("spelling", check::spelling),
    ("clang-format", check::clang_format),
    // Parts of `test`.
    ("workspace", rust::workspace),
    ("languages", faces::languages),
    ("python-reader", faces::reader),
    ("interpreter", rust::interpreter),
    // Of which these are parts.
    ("c-tests", faces::c),
    ("cpp-tests", faces::cpp),
    ("python-tests", faces::python),
    // Parts of `verify`.
    ("miri", verify::miri),
    ("hostile", verify::hostile),
    ("prices", verify::prices),
    ("engines", verify::engines),
    ("machines", verify::machines),
    ("machines-engines", verify::machines_engines),
    ("windows", verify::windows),
    ("hosts", verify::hosts),
    ("emulated", rust::emulated),
    ("structs", rust::structs),
    ("wheel", faces::wheel),
    ("model", model::check),
    ("api", api::check),
    ("service", service::check),
    ("page", page::check),
    // Others.
    ("advisories", check::advisories),
    ("frames", page::frames),
    ("linear", verify::linear),
    ("instructions", verify::instructions),
    ("machines-install", verify::install_machines),
    ("machines-tests", verify::machines_tests),
];

/// The parts of `make check`. What takes long, or keeps others waiting, begins first.
const CHECK: [&str; 8] =
    ["clippy", "dependencies", "elsewhere", "documents", "spelling", "clang-format", "format", "links"];
/// The parts of `make test`. Where code is generated, `interpreter` is another.
const TEST: [&str; 3] = ["workspace", "languages", "python-reader"];
/// The parts of `make verify`.
const VERIFY: [&str; 15] = [
    "miri",
    "hostile",
    "prices",
    "machines",
    "engines",
    "machines-engines",
    "windows",
    "model",
    "api",
    "emulated",
    "structs",
    "hosts",
    "service",
    "page",
    "wheel",
];

/// The last part of `make test`: it builds the same programs in another way.
fn last() -> &'static [&'static str] {
    if settings::generate() { &["interpreter"] } else { &[] }
}

/// All parts of `check`, `test` and `verify` that have not passed for the tree as it is.
fn ready() -> Outcome {
    verify::install_machines()?;
    parts::ready(&[&CHECK[..], &TEST, &VERIFY].concat(), last())
}

fn main() -> ExitCode {
    let named = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
    let done = match TASKS.iter().find(|(name, _)| *name == named) {
        Some((_, task)) => std::env::set_current_dir(root).map_err(Into::into).and_then(|()| task()),
        None => {
            Err(format!("expected a task: {}", TASKS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
