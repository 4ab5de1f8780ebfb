//! Streams, and their indexes (`spec/files.md`, "The index of a stream").

use crate::sealed;
use isoform::stream::{Index, Reader, Writer};
use serde_json::{Value, json};
use std::io::Cursor;

pub(crate) fn all() -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let sealed = sealed::whole();
    let (mut plain, mut reader) = (Writer::new(Vec::new()), Reader::new(&sealed[..]));
    while let Some(message) = reader.next()? {
        plain.write_body(message.format(), message.body())?;
    }
    let cases = [("plain", plain.into_inner(), 100), ("sealed", sealed, 1), ("empty", Vec::new(), 1)];
    cases.into_iter().map(|(name, stream, step)| case(name, &stream, step)).collect()
}

fn case(name: &str, stream: &[u8], step: u64) -> Result<Value, Box<dyn std::error::Error>> {
    let mut index = Vec::new();
    Index::every(step, &mut Reader::new(Cursor::new(stream)))?.write(&mut index)?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(json!({ "name": name, "stream": hex(stream), "index": hex(&index) }))
}
