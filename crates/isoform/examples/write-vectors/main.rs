//! Writes the files of `vectors/` that are not there yet, and leaves those that are: a vector is never made again.
//!
//! `cargo run -p isoform --example write-vectors`
#![allow(clippy::print_stdout, reason = "a command says what it did")]

mod features;
mod format;
mod invalid;
mod raw;
mod text;

use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::{fmt, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    println!("invalid: {}", write_invalid(&top.join("invalid"))?);
    for feature in features::FEATURES {
        println!("{}: {}", feature.name, write_feature(&top.join(feature.name), feature)?);
    }
    Ok(())
}

/// What was done with the vectors of one kind.
#[derive(Default)]
struct Count {
    written: usize,
    kept: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} written, {} were there", self.written, self.kept)
    }
}

/// Each stream in a file of its own, and a line for it in the index.
fn write_invalid(folder: &Path) -> Result<Count, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let index = folder.join("index.json");
    let mut lines: Vec<serde_json::Value> = match fs::read(&index) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Vec::new(),
    };
    let mut count = Count::default();
    for case in invalid::all() {
        let file = format!("{}.bin", case.name);
        if lines.iter().any(|line| line["file"] == *file) {
            count.kept += 1;
            continue;
        }
        fs::File::create_new(folder.join(&file))?.write_all(&case.stream)?;
        let mut line = json!({ "file": file, "records": case.records, "error": case.code.name() });
        if let Some(path) = case.path {
            line["path"] = path.into();
        }
        lines.push(line);
        count.written += 1;
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(index, format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(count)
}

/// A stream of every layout, and what is in it.
fn write_feature(folder: &Path, feature: &features::Feature) -> Result<Count, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let mut count = Count::default();
    for layout in features::LAYOUTS {
        let (bin, json) = (folder.join(format!("{layout}.bin")), folder.join(format!("{layout}.json")));
        if bin.exists() || json.exists() {
            count.kept += 1;
            continue;
        }
        let (stream, expected) =
            feature.on(layout).map_err(|error| format!("{} on {layout}: {error}", feature.name))?;
        fs::File::create_new(bin)?.write_all(&stream)?;
        fs::File::create_new(json)?.write_all((text::lines(&expected) + "\n").as_bytes())?;
        count.written += 1;
    }
    Ok(count)
}
