//! The streams of one machine, read on this one: each record as it lies there, and as the records that others make of it.

use crate::features;
use crate::literal::Literal;
use crate::same;
use isoform::stream::Reader;
use isoform::{Incoming, text::json};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What came of reading.
#[derive(Default)]
pub(crate) struct Read {
    /// Records that are what they should be, in every receiver.
    pub(crate) agreed: usize,
    /// The others, and whatever else was wrong.
    pub(crate) differences: Vec<String>,
}

/// Reads all streams of a folder, which is called as the layout that they were written in.
pub(crate) fn folder(vectors: &Path, folder: &Path) -> Result<Read, Box<dyn std::error::Error>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "iso"));
    files.sort();
    let layout = folder.file_name().ok_or("it has no name")?;
    let mut read = Read::default();
    for file in files {
        let feature = file.file_stem().ok_or("a stream without a name")?.to_string_lossy().into_owned();
        let expected = vectors.join(&feature).join(layout).with_extension("json");
        let expected = std::fs::read(&expected).map_err(|error| format!("{}: {error}", expected.display()))?;
        let expected: Value = serde_json::from_slice(&expected)?;
        stream(&feature, &std::fs::read(&file)?, &expected["messages"], &mut read);
    }
    Ok(read)
}

/// Reads one stream.
fn stream(feature: &str, bytes: &[u8], expected: &Value, read: &mut Read) {
    let receivers = features::receivers(feature);
    let expected: &[Value] = expected.as_array().map_or(&[], Vec::as_slice);
    let mut reader = Reader::new(bytes);
    for (index, expected) in expected.iter().enumerate() {
        let checked = match reader.next() {
            Ok(Some(message)) => message_is(&message, expected, receivers.iter().map(|records| &*records[index])),
            Ok(None) => Err("expected a message, found the end of the stream".into()),
            Err(error) => Err(error.to_string()),
        };
        match checked {
            Ok(()) => read.agreed += 1,
            Err(difference) => read.differences.push(format!("{feature}, message {index}: {difference}")),
        }
    }
    match reader.next() {
        Ok(None) => {}
        Ok(Some(_)) => read.differences.push(format!("{feature}: expected {} messages, found more", expected.len())),
        Err(error) => read.differences.push(format!("{feature}, behind the last message: {error}")),
    }
}

fn message_is<'r>(
    message: &Incoming<'_>,
    expected: &Value,
    receivers: impl Iterator<Item = &'r dyn Literal>,
) -> Result<(), String> {
    if expected["token"] != message.token().to_string() {
        return Err(format!("expected a message of {}, found one of {}", expected["token"], message.token()));
    }
    let view = message.view().map_err(|error| error.to_string())?;
    let came = serde_json::from_str(&json::line(view)).map_err(|error| error.to_string())?;
    same::record(message.format(), &came, &expected["record"])?;
    receivers.enumerate().try_for_each(|(number, receiver)| {
        receiver.compare(message).map_err(|difference| format!("as receiver {number} wants it: {difference}"))
    })
}
