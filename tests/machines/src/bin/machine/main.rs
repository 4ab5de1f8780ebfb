//! The program that runs on every machine: it writes its records, and reads those of all others.
//!
//!     machine write FOLDER            each feature as a stream, FOLDER/<feature>.iso
//!     machine read VECTORS FOLDER..   all streams of each folder, which is called as the layout that wrote it
//!
//! `features` holds the records, declared as Rust structs with literal values, and what others may want of them;
//! `literal` compares what came with such a value, `reading` with the JSON of the vectors.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it did")]

#[allow(clippy::excessive_precision, reason = "numbers in all their digits")]
mod features;
mod literal;
mod reading;
#[path = "../../same.rs"]
mod same;

use isoform::stream::Writer;
use std::path::Path;
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *words {
        ["write", folder] => write(Path::new(folder)).map(|()| true),
        ["read", vectors, ref folders @ ..] => read(Path::new(vectors), folders),
        _ => Err("machine write FOLDER, or machine read VECTORS FOLDER..".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("machine: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(folder: &Path) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    for feature in features::ALL {
        let mut stream = Writer::new(Vec::new());
        for record in (feature.records)() {
            record.write(&mut stream).map_err(|error| format!("{}: {error}", feature.name))?;
        }
        std::fs::write(folder.join(format!("{}.iso", feature.name)), stream.into_inner())?;
    }
    Ok(())
}

/// A line for each folder: how many of its records agreed, of how many. Whether all did.
fn read(vectors: &Path, folders: &[&str]) -> Outcome<bool> {
    let mut all = true;
    for folder in folders {
        let read = reading::folder(vectors, Path::new(folder)).map_err(|error| format!("{folder}: {error}"))?;
        read.differences.iter().for_each(|difference| eprintln!("{folder}: {difference}"));
        println!("{} {} {folder}", read.agreed, read.agreed + read.differences.len());
        all &= read.differences.is_empty() && read.agreed > 0;
    }
    Ok(all)
}
