//! Writes the files of `vectors/` that are not there yet, and leaves those that are: a vector is never made again.
//!
//! `cargo run -p isoform --example write-vectors`
#![allow(clippy::print_stdout, reason = "a command says what it did")]

mod conversions;
mod declared;
mod features;
mod indexed;
mod invalid;
mod raw;
mod sealed;
mod streams;
mod text;

use isoform::Format;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    println!("invalid: {}", write_invalid(&top.join("invalid"))?);
    println!("streams: {}", write_streams(&top.join("streams"))?);
    println!("sealed: {}", write_sealed(&top.join("sealed"))?);
    println!("indexed: {}", write_indexed(&top.join("indexed"))?);
    println!("conversion: {}", write_conversions(&top.join("conversion"))?);
    for (features, layouts) in
        [(features::FEATURES, &features::LAYOUTS[..]), (declared::DECLARED, &declared::LAYOUTS[..])]
    {
        for feature in features {
            println!("{}: {}", feature.name, write_feature(&top.join(feature.name), feature, layouts)?);
        }
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
    let mut index = Index::open(folder, "file")?;
    for case in invalid::all() {
        let file = format!("{}.bin", case.name);
        let mut line = json!({ "file": file, "records": case.records, "error": case.code.name() });
        if let Some(path) = case.path {
            line["path"] = path.into();
        }
        if index.add(line) {
            fs::File::create_new(folder.join(&file))?.write_all(&case.stream)?;
        }
    }
    index.save()
}

fn write_sealed(folder: &Path) -> Result<Count, Box<dyn std::error::Error>> {
    let mut index = Index::open(folder, "name")?;
    for case in sealed::all() {
        index.add(case);
    }
    index.save()
}

fn write_indexed(folder: &Path) -> Result<Count, Box<dyn std::error::Error>> {
    let mut index = Index::open(folder, "name")?;
    for case in indexed::all()? {
        index.add(case);
    }
    index.save()
}

fn write_conversions(folder: &Path) -> Result<Count, Box<dyn std::error::Error>> {
    let mut index = Index::open(folder, "name")?;
    for (number, case) in conversions::CASES.iter().enumerate() {
        index.add(case.json(number).map_err(|error| format!("{}: {error}", case.name))?);
    }
    index.save()
}

/// A file `index.json`, to which lines are added behind those that are there.
struct Index {
    file: PathBuf,
    text: String,
    key: &'static str,
    lines: Vec<serde_json::Value>,
    count: Count,
}

impl Index {
    fn open(folder: &Path, key: &'static str) -> Result<Index, Box<dyn std::error::Error>> {
        fs::create_dir_all(folder)?;
        let file = folder.join("index.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|_| "[\n]\n".into());
        let lines = serde_json::from_str(&text)?;
        Ok(Index { file, text, key, lines, count: Count::default() })
    }

    /// Adds a line unless there is one of the same key.
    fn add(&mut self, line: serde_json::Value) -> bool {
        let is_new = self.lines.iter().all(|known| known[self.key] != line[self.key]);
        match is_new {
            true => self.count.written += 1,
            false => self.count.kept += 1,
        }
        if is_new {
            self.lines.push(line);
        }
        is_new
    }

    fn save(self) -> Result<Count, Box<dyn std::error::Error>> {
        let mut text = self.text.trim_end().trim_end_matches(']').trim_end().to_owned();
        for line in &self.lines[self.lines.len() - self.count.written..] {
            text += if text == "[" { "\n" } else { ",\n" };
            text += &text::lines(line);
        }
        fs::write(self.file, text + "\n]\n")?;
        Ok(self.count)
    }
}

fn write_streams(folder: &Path) -> Result<Count, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let mut count = Count::default();
    for stream in streams::all()? {
        count.add(folder, stream.name, || Ok((stream.bytes, stream.expected)))?;
    }
    Ok(count)
}

/// A stream of each layout, and what is in it.
fn write_feature(
    folder: &Path,
    feature: &features::Feature,
    layouts: &[&str],
) -> Result<Count, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let mut count = Count::default();
    for layout in layouts {
        let make = || feature.on(layout);
        count.add(folder, layout, make).map_err(|error| format!("{} on {layout}: {error}", feature.name))?;
    }
    Ok(count)
}

impl Count {
    /// Adds a stream and what is in it, unless they are there.
    fn add(
        &mut self,
        folder: &Path,
        name: &str,
        make: impl FnOnce() -> isoform::Result<(Vec<u8>, serde_json::Value)>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (bin, json) = (folder.join(format!("{name}.bin")), folder.join(format!("{name}.json")));
        if bin.exists() || json.exists() {
            self.kept += 1;
            return Ok(());
        }
        let (stream, expected) = make()?;
        fs::File::create_new(bin)?.write_all(&stream)?;
        fs::File::create_new(json)?.write_all((text::lines(&expected) + "\n").as_bytes())?;
        self.written += 1;
        Ok(())
    }
}

/// A format as JSON (`spec/text.md`).
fn format_json(format: &Format) -> Value {
    serde_json::from_str(&isoform::core::text::format::to_json(format)).expect("it is JSON")
}
