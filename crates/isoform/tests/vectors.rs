//! Reads everything in `vectors/`, as every implementation must. Nothing here writes any: that is
//! `cargo run -p isoform-core --example write-vectors`.

use isoform::stream::Reader;
use isoform::{Error, Verifier};
use serde_json::Value as Json;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}

fn json(path: &PathBuf) -> Json {
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
    let index = json(&folder.join("index.json"));
    for line in index.as_array().unwrap() {
        let file = line["file"].as_str().unwrap();
        let (records, error) = read(&std::fs::read(folder.join(file)).unwrap());
        let code = error.as_ref().map_or("none", |error| error.code().name());
        let path = error.as_ref().map_or("", Error::path);
        let other_path = line.get("path").is_some_and(|expected| *expected != *path);
        if line["error"] != *code || line["records"] != records || other_path {
            wrong.push(format!("{file}: expected {line}, came {records} records, {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(index.as_array().unwrap().len() >= 120);
}
