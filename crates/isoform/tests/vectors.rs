//! Reads everything in `vectors/`, as every implementation must. Nothing here writes any: that is
//! `cargo run -p isoform --example write-vectors`.

use isoform::core::plan::Missing;
use isoform::core::text::format;
use isoform::core::{Element, Field, Plan, Structure, Verifier, interp, value};
use isoform::stream::{Index, Reader};
use isoform::text::json::{line, parse, parse_default};
use isoform::{Code, Error, Faults, Format, Rules, View};
use serde_json::{Value as Json, json};
use std::io::Cursor;
use std::path::{Path, PathBuf};

#[path = "../../../tests/machines/src/same.rs"]
mod same;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}

fn read_json(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// How many records a stream yields, and the error that ends it.
fn read(stream: &[u8]) -> (u64, Option<Error>) {
    let mut reader = Reader::new(stream);
    for records in 0.. {
        let verified = match reader.next() {
            Ok(Some(message)) => Verifier::new(message.format()).verify(message.body()).map(|_| ()),
            Ok(None) => return (records, None),
            Err(error) => Err(error),
        };
        if let Err(error) = verified {
            return (records, Some(error));
        }
    }
    unreachable!()
}

#[test]
fn invalid_streams_are_refused() {
    let folder = folder("invalid");
    let mut wrong = Vec::new();
    let index = read_json(&folder.join("index.json"));
    for line in index.as_array().unwrap() {
        let file = line["file"].as_str().unwrap();
        let (records, error) = read(&std::fs::read(folder.join(file)).unwrap());
        let code = error.as_ref().map_or("none", |error| error.code().name());
        let path = error.as_ref().map_or("", Error::path);
        let other_path = line.get("path").is_some_and(|expected| *expected != *path);
        if line["error"] != *code || line["records"] != records || other_path {
            wrong.push(format!("{file}: expected {line}, found {records} records, {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(index.as_array().unwrap().len() >= 120);
}

#[test]
fn sealed_streams_are_read_and_resumed() {
    let index = read_json(&folder("sealed").join("index.json"));
    for case in index.as_array().unwrap() {
        let stream = bytes(&case["stream"]);
        let mut reader = Reader::new(&stream[..]);
        let (mut values, mut gaps, mut first) = (Vec::new(), Vec::new(), None);
        let mut before = None;
        let last = loop {
            let error = match reader.next() {
                Ok(Some(message)) => {
                    let record: Json = serde_json::from_str(&line(message.view().unwrap())).unwrap();
                    values.push(record["x"].clone());
                    continue;
                }
                Ok(None) => break None,
                Err(error) => error,
            };
            first.get_or_insert(error.code().name());
            before.get_or_insert(values.len());
            match reader.resume().unwrap() {
                Some(gap) => gaps.push([gap.from, gap.to]),
                None => break Some(error.code().name()),
            }
        };
        let found = (json!(values), json!(gaps), json!(first), json!(last));
        let expected = (case["x"].clone(), case["gaps"].clone(), case["first"].clone(), case["error"].clone());
        assert_eq!(found, expected, "{}", case["name"]);
        assert_eq!(case["before"], before.unwrap_or(values.len()), "{}", case["name"]);
    }
    assert!(index.as_array().unwrap().len() >= 13);
}

#[test]
fn indexes_lead_to_the_messages_of_their_streams() {
    let all = read_json(&folder("indexed").join("index.json"));
    for case in all.as_array().unwrap() {
        let (stream, index) = (bytes(&case["stream"]), Index::read(&bytes(&case["index"])[..]).unwrap());
        let mut values = Vec::new();
        let mut reader = Reader::new(&stream[..]);
        while let Some(message) = reader.next().unwrap() {
            values.push(line(message.view().unwrap()));
        }
        let mut stream = Cursor::new(stream);
        assert!(index.fits(&mut stream).unwrap() && index.messages() == values.len() as u64, "{}", case["name"]);
        for number in 0..values.len() as u64 {
            let mut reader = Reader::new(&mut stream);
            let at = index.go_to_message(&mut reader, number).unwrap();
            assert_eq!(line(reader.next().unwrap().unwrap().view().unwrap()), values[at as usize], "{}", case["name"]);
            stream.set_position(0);
        }
    }
    assert_eq!(all.as_array().unwrap().len(), 3);
}

#[test]
fn vectors_are_read_as_they_are_described() {
    let mut streams = 0;
    for feature in
        std::fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for bin in std::fs::read_dir(&feature).unwrap().map(|entry| entry.unwrap().path()) {
            if bin.extension().is_some_and(|extension| extension == "bin") && !feature.ends_with("invalid") {
                vector(&bin, &read_json(&bin.with_extension("json")));
                streams += 1;
            }
        }
    }
    assert!(streams >= 90, "{streams} streams");
}

fn vector(bin: &Path, expected: &Json) {
    let name = bin.display();
    let stream = std::fs::read(bin).unwrap();
    let mut reader = Reader::new(&stream[..]);
    let mut formats: Vec<Format> = Vec::new();
    let mut messages = expected["messages"].as_array().unwrap().iter();
    while let Some(message) = reader.next().unwrap_or_else(|error| panic!("{name}: {error}")) {
        let format = message.format().clone();
        let expected = messages.next().unwrap_or_else(|| panic!("{name}: one message too many"));
        assert_eq!(expected["token"], format.token().to_string(), "{name}");
        let verifier = Verifier::new(&format);
        let body = verifier.verify(message.body()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let came = serde_json::from_str(&line(View::new(body))).unwrap();
        same::record(&format, &came, &expected["record"]).unwrap_or_else(|difference| panic!("{name}: {difference}"));
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    assert!(messages.next().is_none(), "{name}: a message is missing");
    let json = |format: &Format| serde_json::from_str::<Json>(&format::to_json(format)).unwrap();
    assert_eq!(Json::from_iter(formats.iter().map(json)), expected["formats"], "{name}");
    let read = |json: &Json| format::from_json(&json.to_string()).unwrap();
    assert!(expected["formats"].as_array().unwrap().iter().map(read).eq(formats), "{name}");
}

#[test]
fn conversions_are_as_described() {
    let index = read_json(&folder("conversion").join("index.json"));
    let mut wrong = Vec::new();
    let mut results = 0;
    for case in index.as_array().unwrap() {
        let [wire, native] = ["wire", "native"].map(|side| Format::parse(&bytes(&case[side])).unwrap());
        let rules = rules(&native, &case["rules"]);
        for result in case["results"].as_array().unwrap() {
            for faults in result["faults"].as_array().unwrap() {
                let faults = match faults.as_str().unwrap() {
                    "error" => Faults::Error,
                    "saturate" => Faults::Saturate,
                    "wrap" => Faults::Wrap,
                    other => panic!("{other}"),
                };
                let came = convert(&wire, &native, &rules, faults, &bytes(&result["body"]));
                let expected = match result.get("becomes") {
                    Some(record) => {
                        value::body(&native, &parse(&native, &record.to_string()).unwrap()).map_err(|_| None)
                    }
                    None => Err(Some(result["error"].clone())),
                };
                results += 1;
                if came.as_ref().map_err(|error| Some(error.clone())) != expected.as_ref().map_err(Clone::clone) {
                    wrong.push(format!("{} under {faults}: {result}, found {came:02x?}", case["name"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(results >= 300, "{results} results");
}

/// The record that a body becomes, as a body of the native format; or the error as it stands in the index.
fn convert(wire: &Format, native: &Format, rules: &Rules, faults: Faults, body: &[u8]) -> Result<Vec<u8>, Json> {
    let told =
        |of: &'static str| move |error: Error| json!({ "of": of, "name": error.code().name(), "path": error.path() });
    let refused = |error: Error| {
        let listed = missing(&error);
        let mut told = told("pair")(error.clone());
        if let Some(fields) = listed {
            told["fields"] = fields.into();
        }
        told
    };
    let plan = Plan::new(wire, native, rules, faults).map_err(refused)?;
    let verifier = Verifier::new(wire);
    let body = verifier.verify(body).unwrap();
    let mut out = Vec::new();
    let done = interp::run(&plan, body, &mut out);
    #[cfg(feature = "generate")]
    if let Some(code) = isoform_jit::Code::of(&plan.into()) {
        let mut again = Vec::new();
        assert_eq!(code.run(body, &mut again), done, "by generated code");
        assert!(done.is_err() || again == out, "other bytes by generated code");
    }
    done.map_err(told("record"))?;
    Ok(out)
}

/// The paths of the missing fields, of which each has its type behind it: `depth (f64)`.
fn missing(error: &Error) -> Option<Vec<&str>> {
    let words = (error.code() == Code::Required).then(|| error.expectation())?;
    let before: Vec<&str> = words.split(" (").collect();
    match before.split_last() {
        Some((_, before)) if !before.is_empty() => {
            Some(before.iter().filter_map(|words| words.split(' ').next_back()).collect())
        }
        _ => Some(vec![error.path()]),
    }
}

fn rules(native: &Format, lines: &Json) -> Rules {
    lines.as_array().unwrap().iter().fold(Rules::new(), |mut rules, line| {
        if line["missing"] == "zero" {
            return rules.missing(Missing::Zero);
        }
        let [structure, field] = ["structure", "field"].map(|key| line[key].as_str().unwrap());
        for alias in line.get("aliases").and_then(Json::as_array).into_iter().flatten() {
            rules = rules.alias(structure, field, alias.as_str().unwrap());
        }
        if let Some(default) = line.get("default") {
            let of = named(native.structure(), structure).unwrap().field(field).unwrap();
            rules = rules.default(structure, field, parse_default(of, &default.to_string()).unwrap());
        }
        if line["zero"] == true {
            rules = rules.default_zero(structure, field);
        }
        if line["required"] == true { rules.required(structure, field) } else { rules }
    })
}

/// The structure of this name, which a field may nest.
fn named<'a>(structure: &'a Structure, name: &str) -> Option<&'a Structure> {
    let nested = |field: &'a Field| match &field.element {
        Element::Structure(inner) => named(inner, name),
        _ => None,
    };
    if structure.name() == name { Some(structure) } else { structure.fields().iter().find_map(nested) }
}

fn bytes(hex: &Json) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
