//! Where messages of a long stream begin, so that nobody has to read what is in front of them (`spec/files.md`, "The index of a
//! stream"). How a reader goes there is [`Reader::seek_to`].

use super::{Reader, Writer, io_error};
use crate::{Decoder, Encoder, Record};
use isoform_core::{Code, Error, Format, Limits, Result};
use std::io::{Read, Seek, SeekFrom, Write};

/// The distance of two entries, in bytes, as long as there are few.
const STEP: u64 = 1 << 20;
/// There are at most so many entries.
const ENTRIES: usize = 1 << 16;
/// So many bytes of each end of the stream are compared.
const END: u64 = 1 << 16;
/// The context that separates this hash from every other use of BLAKE3.
const CONTEXT: &str = "isoform 2026 stream index v1";

/// The index of a stream: its formats, and about every mebibyte the number and the position of a message.
///
/// ```
/// use isoform::stream::{Index, Reader, Writer};
/// use isoform::{Decoder, Encoder, Record};
/// use std::io::Cursor;
/// #[derive(Record)]
/// struct Gauge {
///     id: u64,
///     depths: Vec<f64>,
/// }
/// let (mut writer, mut encoder) = (Writer::new(Cursor::new(Vec::new())), Encoder::new());
/// for id in 0..4_000 {
///     writer.write(&encoder.encode(&Gauge { id, depths: vec![0.5; 100] })?)?;
/// }
/// let mut stream = writer.into_inner();
/// stream.set_position(0);
/// let index = Index::of(&mut Reader::new(&mut stream))?;
/// assert_eq!(index.messages(), 4_000);
///
/// // Later, perhaps in another program.
/// stream.set_position(0);
/// assert!(index.fits(&mut stream)?);
/// let mut reader = Reader::new(&mut stream);
/// let mut number = index.go_to_message(&mut reader, 3_210)?;
/// assert!(number > 2_000); // about a mebibyte in front of it
/// while number < 3_210 {
///     reader.seek_past()?;
///     number += 1;
/// }
/// let message = reader.next()?.expect("the message of this number, counted from 0");
/// assert_eq!(Decoder::<Gauge>::new().decode(&message)?.id, 3_210);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Debug)]
pub struct Index {
    about: StreamIndex,
    formats: Vec<Format>,
}

/// The record of the file.
#[derive(Record, Clone, Debug)]
struct StreamIndex {
    /// The bytes of the stream that are indexed.
    length: u64,
    /// Its messages, without descriptions, locators and seals.
    messages: u64,
    /// The hash of its length and of both its ends.
    sum: [u8; 16],
    entries: Vec<StreamIndexEntry>,
}

#[derive(Record, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct StreamIndexEntry {
    /// So many messages are in front of this one.
    number: u64,
    /// Where it begins, with its seal.
    position: u64,
}

impl Index {
    /// Reads a stream from its beginning to its end, or to the first damage, and notes where its messages begin.
    ///
    /// # Errors
    /// [`Code::Budget`] if it has more formats than a reader keeps; [`Code::Io`].
    pub fn of<R: Read + Seek>(reader: &mut Reader<R>) -> Result<Index> {
        Index::every(STEP, reader)
    }

    /// The same, with an entry about every so many bytes.
    ///
    /// # Errors
    /// As [`Index::of`].
    pub fn every<R: Read + Seek>(step: u64, reader: &mut Reader<R>) -> Result<Index> {
        let (mut step, mut next, mut messages, mut entries) = (step, step, 0, Vec::new());
        let length = loop {
            match reader.peek() {
                Ok(None) => break reader.place(),
                Ok(Some(_)) => {}
                Err(error) if reader.goes_on_after(&error) => {}
                Err(error) if error.code() == Code::Io => return Err(error),
                Err(_) => break reader.place(),
            }
            let position = reader.place();
            if position >= next {
                if entries.len() == ENTRIES {
                    // Every second one suffices.
                    let mut number = 0;
                    entries.retain(|_| {
                        number += 1;
                        number % 2 == 0
                    });
                    step *= 2;
                }
                entries.push(StreamIndexEntry { number: messages, position });
                next = position.saturating_add(step);
            }
            match reader.seek_past() {
                Ok(_) => messages += 1,
                Err(error) if error.code() == Code::Io => return Err(error),
                Err(_) => break position,
            }
        };
        // Messages in front of the end are whole; a last entry may be that of the one that is not.
        entries.retain(|entry| entry.position < length);
        let formats = reader.registry().formats();
        let bytes: usize = formats.iter().map(|format| format.description().as_bytes().len()).sum();
        let limits = Limits::default();
        if formats.len() >= limits.formats || bytes > limits.registry {
            let error =
                Error::new(Code::Budget).at("index").expected(format_args!("at most {} formats", limits.formats - 1));
            return Err(error.found(format_args!("{}, with descriptions of {bytes} bytes", formats.len())));
        }
        let sum = sum(reader.inner_mut(), length)?;
        Ok(Index { about: StreamIndex { length, messages, sum, entries }, formats })
    }

    /// Writes it: as a stream, with the formats of the indexed one.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn write(&self, to: impl Write) -> Result<()> {
        let mut writer = Writer::new(to);
        for format in &self.formats {
            writer.describe(format)?;
        }
        writer.write(&Encoder::new().encode(&self.about)?)?;
        writer.flush()
    }

    /// Reads one that was written.
    ///
    /// # Errors
    /// Those of a stream; [`Code::Damaged`] if it contradicts itself.
    pub fn read(from: impl Read) -> Result<Index> {
        let wrong = |found: &str| Error::new(Code::Damaged).at("index").expected("an index of a stream").found(found);
        let mut reader = Reader::new(from);
        let Some(message) = reader.next()? else { return Err(wrong("no record")) };
        let about = Decoder::<StreamIndex>::new().decode_owned(&message)?;
        let is_sorted = about.entries.is_sorted_by(|a, b| a.number < b.number && a.position < b.position);
        let is_within = |last: &StreamIndexEntry| last.number < about.messages && last.position < about.length;
        if !is_sorted || !about.entries.last().is_none_or(is_within) {
            return Err(wrong("places that are not in the stream"));
        }
        let formats = reader.registry().formats();
        Ok(Index { about, formats })
    }

    /// Whether the input begins with the stream that was indexed: its length, and the bytes at both ends, are compared. The stream may
    /// be longer now. Leaves the input at its beginning.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn fits(&self, stream: &mut (impl Read + Seek)) -> Result<bool> {
        let length = stream.seek(SeekFrom::End(0)).map_err(|error| io_error(&error))?;
        let fits = length >= self.about.length && sum(stream, self.about.length)? == self.about.sum;
        stream.rewind().map_err(|error| io_error(&error))?;
        Ok(fits)
    }

    /// The number of messages that are indexed.
    pub fn messages(&self) -> u64 {
        self.about.messages
    }

    /// The bytes that are indexed. In a stream that grew since, others follow.
    pub fn length(&self) -> u64 {
        self.about.length
    }

    /// Has a reader go to a message near this number, counted from 0, but not behind it. Returns the number of that message.
    ///
    /// # Errors
    /// As [`Reader::seek_to`].
    pub fn go_to_message<R: Read + Seek>(&self, reader: &mut Reader<R>, number: u64) -> Result<u64> {
        self.go(reader, |entry| entry.number <= number)
    }

    /// Has a reader go to a message near this position, but not behind it. Returns the number of that message, counted from 0.
    ///
    /// # Errors
    /// As [`Reader::seek_to`].
    pub fn go_to_position<R: Read + Seek>(&self, reader: &mut Reader<R>, position: u64) -> Result<u64> {
        self.go(reader, |entry| entry.position <= position)
    }

    fn go<R: Read + Seek>(&self, reader: &mut Reader<R>, is_before: impl Fn(&StreamIndexEntry) -> bool) -> Result<u64> {
        let behind = self.about.entries.partition_point(is_before);
        let entry =
            behind.checked_sub(1).map_or(StreamIndexEntry { number: 0, position: 0 }, |at| self.about.entries[at]);
        for format in &self.formats {
            reader.registry().learn(format.description().as_bytes())?;
        }
        reader.seek_to(entry.position)?;
        Ok(entry.number)
    }
}

/// The hash of the length of a stream, its first bytes, and its last ones.
fn sum(stream: &mut (impl Read + Seek), length: u64) -> Result<[u8; 16]> {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&length.to_le_bytes());
    let size = length.min(END);
    for from in [0, length - size] {
        stream.seek(SeekFrom::Start(from)).map_err(|error| io_error(&error))?;
        let mut bytes = Vec::new();
        stream.take(size).read_to_end(&mut bytes).map_err(|error| io_error(&error))?;
        // A writer need not have written the padding of the last message.
        bytes.resize(size as usize, 0);
        hasher.update(&bytes);
    }
    let hash = hasher.finalize();
    Ok(std::array::from_fn(|at| hash.as_bytes()[at]))
}
