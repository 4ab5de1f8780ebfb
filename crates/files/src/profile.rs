//! How events are named in an MCAP file (`spec/files.md`, "Events"): what the writer and the reader have in common.

use isoform_core::{Code, Error, Result};
use mcap::McapError;
use std::collections::BTreeMap;

pub(crate) const PROFILE: &str = "isoform";
pub(crate) const ENCODING: &str = "isoform";
pub(crate) const RELAYED: &str = "isoform-relayed";
pub(crate) const NEWS: &str = "/news";
pub(crate) const NEWS_SCHEMA: &str = "isoform.News";
/// The operation of records without meaning (`spec/files.md`, "Reading").
pub(crate) const BALLAST: u8 = 0x80;
/// The key of the metadata of a channel whose messages repeat events for viewers.
pub(crate) const VIEWED: &str = "isoform.token";
/// The bytes of the number at the origin, behind the body of a relayed event.
pub(crate) const AT_ORIGIN: usize = 8;

const SOURCE: &str = "isoform.source";
const SEQUENCE: &str = "isoform.sequence";
const ORIGIN: &str = "isoform.origin";

/// The source of an event, its number there, and the time of its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number of the source, as the recorder counts sources.
    pub source: u32,
    /// The number of the event at its source.
    pub sequence: u64,
    /// The time of submission by the clock of the source: nanoseconds since 1970.
    pub nanoseconds: u64,
    /// Where the event was first submitted, if a relay has submitted it again.
    pub origin: Option<Origin>,
}

/// The place where an event was first submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The id of its node.
    pub node: [u8; 16],
    /// The number of the source at that node.
    pub source: u32,
    /// The number of the event at that source.
    pub sequence: u64,
}

/// What the events of an MCAP channel have in common, besides topic and format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Common {
    pub(crate) source: u32,
    /// What is added to the 32 bits of a message.
    base: u64,
    origin: Option<([u8; 16], u32)>,
}

impl Common {
    pub(crate) fn of(stamp: &Stamp) -> Common {
        let base = stamp.sequence & !u64::from(u32::MAX);
        Common { source: stamp.source, base, origin: stamp.origin.map(|origin| (origin.node, origin.source)) }
    }

    pub(crate) fn encoding(&self) -> &'static str {
        if self.origin.is_some() { RELAYED } else { ENCODING }
    }

    pub(crate) fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([(SOURCE.into(), self.source.to_string())]);
        if self.base > 0 {
            metadata.insert(SEQUENCE.into(), self.base.to_string());
        }
        if let Some((node, source)) = self.origin {
            let node: String = node.iter().map(|byte| format!("{byte:02x}")).collect();
            metadata.insert(ORIGIN.into(), format!("{node}/{source}"));
        }
        metadata
    }

    /// # Errors
    /// [`Code::Damaged`] at the key.
    pub(crate) fn parse(encoding: &str, metadata: &BTreeMap<String, String>) -> Result<Common> {
        let source = number(metadata, SOURCE)?.ok_or_else(|| expected(SOURCE, "the number of a source", "nothing"))?;
        let base = number(metadata, SEQUENCE)?.unwrap_or(0);
        if base & u64::from(u32::MAX) != 0 {
            return Err(expected(SEQUENCE, "a multiple of 2^32", &base.to_string()));
        }
        let origin = match encoding {
            RELAYED => {
                let text = metadata.get(ORIGIN).map_or("nothing", String::as_str);
                let origin = parse_origin(text);
                Some(origin.ok_or_else(|| expected(ORIGIN, "32 hexadecimal digits, / and a number", text))?)
            }
            _ => None,
        };
        Ok(Common { source, base, origin })
    }

    /// The stamp of a message, and what of its data is the body.
    ///
    /// # Errors
    /// [`Code::Damaged`] if the number at the origin is not there.
    pub(crate) fn stamp<'a>(&self, sequence: u32, nanoseconds: u64, data: &'a [u8]) -> Result<(Stamp, &'a [u8])> {
        let (body, origin) = match self.origin {
            None => (data, None),
            Some((node, source)) => {
                let (body, number) = data
                    .split_last_chunk::<AT_ORIGIN>()
                    .ok_or_else(|| expected(ORIGIN, "8 bytes behind the body", &format!("{} in all", data.len())))?;
                (body, Some(Origin { node, source, sequence: u64::from_le_bytes(*number) }))
            }
        };
        Ok((Stamp { source: self.source, sequence: self.base | u64::from(sequence), nanoseconds, origin }, body))
    }
}

fn number<T: std::str::FromStr>(metadata: &BTreeMap<String, String>, key: &str) -> Result<Option<T>> {
    metadata.get(key).map(|text| text.parse().map_err(|_| expected(key, "a number", text))).transpose()
}

fn parse_origin(text: &str) -> Option<([u8; 16], u32)> {
    let (node, source) = text.split_once('/')?;
    let digits: Vec<u8> =
        node.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    Some((bytes.try_into().ok()?, source.parse().ok()?))
}

fn expected(key: &str, expectation: &str, found: &str) -> Error {
    Error::new(Code::Damaged).at(key).expected(expectation).found(found)
}

/// What the container found in what has been read.
pub(crate) fn damaged(error: McapError) -> Error {
    let error = failed(error);
    let code = if error.code() == Code::MessageSize { Code::MessageSize } else { Code::Damaged };
    Error::new(code).found(error.actual())
}

/// What the container found, in the words of Isoform.
pub(crate) fn failed(error: McapError) -> Error {
    let code = match &error {
        McapError::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Code::Cut,
        McapError::Io(_) => Code::Io,
        McapError::UnexpectedEof => Code::Cut,
        McapError::RecordTooLarge { .. } | McapError::ChunkTooLarge(_) => Code::MessageSize,
        _ => Code::Damaged,
    };
    let found = match &error {
        McapError::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    Error::new(code).found(found)
}
