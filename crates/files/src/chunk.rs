//! The records of a chunk, once it is known to be whole.

use crate::expansion::Expansion;
use crate::frames::HEAD;
use crate::lost::too_large;
use crate::profile::damaged;
use isoform_core::{Code, Error, Result};
use mcap::parse_record;
use mcap::records::{Record, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};
use std::io::{Cursor, Read};

/// So many bytes are handed on at a time.
const ROOM: usize = 1 << 20;

/// A chunk that is being read.
pub(crate) struct Chunk {
    reader: LinearReader,
    bytes: Cursor<Vec<u8>>,
    /// Where it begins and where it ends in the file.
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Chunk {
    /// The chunk with this content, which becomes at most `longest` bytes.
    ///
    /// # Errors
    /// [`Code::MessageSize`] if it becomes more than it may; [`Code::Damaged`] if its parts are not as long as it says. It is looked at here since the container's reader relies on lengths
    /// within a chunk that is not compressed.
    pub(crate) fn new(data: &[u8], at: u64, longest: u64, expansion: &mut Expansion) -> Result<Chunk> {
        let Record::Chunk { header, data: content } = parse_record(op::CHUNK, data).map_err(damaged)? else {
            return Err(Error::new(Code::Damaged).expected("a chunk"));
        };
        let end = at + HEAD + data.len() as u64;
        match header.compression.is_empty() {
            true => whole_records(&content, header.uncompressed_size)?,
            false if header.uncompressed_size > longest => return Err(too_large(header.uncompressed_size, longest)),
            false => expansion.allow(content.len() as u64, end, header.uncompressed_size)?,
        }
        // No record is longer than its chunk, whatever it says.
        let longest = header.uncompressed_size.max(data.len() as u64);
        let mut bytes = Vec::with_capacity(HEAD as usize + data.len());
        bytes.push(op::CHUNK);
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(data);
        let options = LinearReaderOptions::default().with_skip_start_magic(true).with_skip_end_magic(true);
        let options = options
            .with_prevalidate_chunk_crcs(true)
            .with_record_length_limit(usize::try_from(longest).unwrap_or(usize::MAX));
        Ok(Chunk { reader: LinearReader::new_with_options(options), bytes: Cursor::new(bytes), at, end })
    }

    /// Goes to the next schema, channel or message that `take` makes something of.
    ///
    /// # Errors
    /// What is wrong with the chunk. Nothing more is read of it.
    pub(crate) fn next<T>(&mut self, mut take: impl FnMut(Record<'_>) -> Option<T>) -> Result<Option<T>> {
        while let Some(event) = self.reader.next_event() {
            match event.map_err(damaged)? {
                LinearReadEvent::ReadRequest(wanted) => {
                    let room = self.reader.insert(wanted.min(ROOM));
                    let count = self.bytes.read(room).unwrap_or(0); // memory has no errors
                    self.reader.notify_read(count);
                }
                LinearReadEvent::Record { opcode: opcode @ (op::SCHEMA | op::CHANNEL | op::MESSAGE), data } => {
                    if let Some(taken) = take(parse_record(opcode, data).map_err(damaged)?) {
                        return Ok(Some(taken));
                    }
                }
                LinearReadEvent::Record { .. } => {}
            }
        }
        Ok(None)
    }
}

fn whole_records(mut rest: &[u8], size: u64) -> Result<()> {
    let wrong = || Error::new(Code::Damaged).expected("a chunk that consists of whole records");
    if size != rest.len() as u64 {
        return Err(wrong());
    }
    while let Some((head, behind)) = rest.split_first_chunk::<{ HEAD as usize }>() {
        let [_, length @ ..] = *head;
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| wrong())?;
        rest = behind.get(length..).ok_or_else(wrong)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(wrong()) }
}

impl std::fmt::Debug for Chunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chunk(at byte {})", self.at)
    }
}
