//! Inputs to begin with: out of `vectors/`, random records, and what nodes say that mean no harm.

use crate::conversion::GENERATED;
use crate::mutate::messages_of;
use crate::parts::join;
use isoform::core::declare::Type;
use isoform::core::{Layout, Shape, value};
use isoform::text::json;
use isoform::{Format, View};
use isoform_hostile::links;
use isoform_testing::any_record;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many random records, besides those of the vectors.
const RANDOM: usize = 150;

/// Larger inputs are not worth their time.
const LARGEST: usize = 16 << 10;

/// The inputs that a target begins with, each once.
///
/// # Panics
/// If `vectors/` cannot be read.
pub fn of(target: &str) -> BTreeSet<Vec<u8>> {
    match target {
        "description" => messages().into_iter().map(|(description, _)| description).collect(),
        "message" => messages().iter().map(|(description, body)| join(&[description, body])).collect(),
        "conversion" => conversions(),
        "stream" => streams().iter().map(|stream| [&[0; 8], &stream[..]].concat()).collect(),
        "field_list" => declarations(),
        "json" => records_as_json(),
        "handshake" => short(links::handshake_seeds()),
        "frames" => short(links::frame_seeds()),
        _ => BTreeSet::new(),
    }
}

fn short(inputs: BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    inputs.into_iter().filter(|input| input.len() <= LARGEST).collect()
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

fn streams() -> Vec<Vec<u8>> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder of the vectors");
        entries.map(|entry| entry.expect("a vector").path()).collect()
    };
    let folders = entries(&vectors()).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder)).filter(|path| path.extension().is_some_and(|e| e == "bin"));
    let streams = files.map(|file| std::fs::read(file).expect("a vector"));
    streams.filter(|stream| stream.len() <= LARGEST).collect()
}

/// Descriptions with bodies, valid or not: those of the vectors, then random ones.
fn messages() -> Vec<(Vec<u8>, Vec<u8>)> {
    let random = random_records().into_iter().map(|(format, body)| (format.description().as_bytes().to_vec(), body));
    streams().iter().flat_map(|stream| messages_of(stream)).chain(random).collect()
}

/// The same ones every time.
fn random_records() -> Vec<(Format, Vec<u8>)> {
    let mut runner = TestRunner::deterministic();
    let mut record = || {
        let (format, record) = any_record().new_tree(&mut runner).expect("any record").current();
        let body = value::body(&format, &record).expect("a record that can be written");
        (format, body)
    };
    (0..RANDOM).map(|_| record()).collect()
}

/// The cases of the vectors; records of the vectors as other machines want them; random ones, the same.
fn conversions() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    let mut add = |choice: u8, wire: &[u8], native: &[u8], body: &[u8]| {
        all.insert([&[choice], &join(&[wire, native, body])[..]].concat());
    };
    let index = std::fs::read_to_string(vectors().join("conversion/index.json")).expect("the cases of conversions");
    let index: serde_json::Value = serde_json::from_str(&index).expect("JSON");
    for case in index.as_array().expect("a list of cases") {
        for result in case["results"].as_array().expect("a list of results") {
            for choice in [0, GENERATED] {
                add(choice, &hexadecimal(&case["wire"]), &hexadecimal(&case["native"]), &hexadecimal(&result["body"]));
            }
        }
    }
    for (i, (wire, body)) in messages().iter().enumerate() {
        let Ok(format) = Format::parse(wire) else { continue };
        let layout = &Layout::ALL[i % Layout::ALL.len()];
        if let Ok(native) = format.on(layout) {
            add(i as u8, wire, native.description().as_bytes(), body);
        }
    }
    all
}

fn hexadecimal(digits: &serde_json::Value) -> Vec<u8> {
    let digits = digits.as_str().unwrap_or("").as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

fn formats() -> Vec<Format> {
    messages().iter().filter_map(|(description, _)| Format::parse(description).ok()).collect()
}

/// Shapes, the types in them, and rows of field lists.
fn declarations() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for format in formats() {
        let structure = format.structure();
        all.insert(Shape::of(&format).to_string().into_bytes());
        let mut rows = format!("{}|{}|{}", structure.size(), structure.align(), structure.machine().pointer);
        for field in structure.fields() {
            let words = Type::of(field, structure);
            all.insert(words.to_string().into_bytes());
            let (words, size) = (words.without_size(), field.element_size(structure.machine().pointer));
            rows += &format!("\n{}|{words}|{size}|{}", field.name, field.offset);
            rows += &field.unit.as_ref().map_or(String::new(), |unit| format!("|{unit}"));
        }
        all.insert(rows.into_bytes());
    }
    all
}

fn records_as_json() -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for (i, (description, body)) in messages().iter().enumerate() {
        let Ok(format) = Format::parse(description) else { continue };
        let Ok(body) = format.verify(body) else { continue };
        let (shape, line) = (Shape::of(&format), json::line(View::new(body)));
        let path = &format.structure().fields()[i % format.structure().fields().len()].name;
        let mut input = vec![i as u8];
        input.extend_from_slice(format!("{shape}\0{line}\0{path}").as_bytes());
        all.insert(input);
    }
    all
}
