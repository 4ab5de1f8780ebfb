//! The summary at the end of a recording: where its chunks are, their times, and all formats and channels.
//!
//! A recording that was cut has none. One that is damaged is not believed: its checksum tells.

use crate::MAGIC;
use crate::frames::{Frames, HEAD, Head};
use crate::profile::damaged;
use isoform_core::{Code, Error, Result};
use mcap::parse_record;
use mcap::records::{Channel, Record, op};
use std::io::{Read, Seek};
use std::ops::RangeInclusive;

/// The footer and what is behind it: its head, two places, a checksum.
const FOOTER: u64 = HEAD + 20 + MAGIC.len() as u64;

/// A chunk as the index has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: u64,
    pub(crate) end: u64,
    first: u64,
    last: u64,
    /// Where the indexes of its messages end, which are behind it.
    behind: u64,
}

/// Where what is. Chunks are in the order of the file, and do not overlap.
#[derive(Debug)]
pub(crate) struct Index {
    chunks: Vec<Place>,
    /// The end of the data.
    end: u64,
    /// All messages are in its chunks: so it leads to those of a time.
    is_complete: bool,
}

/// The end of a file.
pub(crate) enum Tail {
    /// It has an index. These are the schemas and the channels of the file.
    Indexed(Index, Vec<Record<'static>>, Vec<Channel>),
    /// It is whole, but has no index.
    Plain,
    /// It is none: the file was cut, or is still written.
    Missing,
    /// Its checksum is wrong, or it contradicts itself.
    Damaged(Error),
}

impl Tail {
    /// # Errors
    /// [`Code::Io`].
    pub(crate) fn of<R: Read + Seek>(frames: &mut Frames<R>, longest: u64) -> Result<Tail> {
        let length = frames.length()?;
        let Some(at) = length.checked_sub(FOOTER).filter(|at| *at >= MAGIC.len() as u64) else {
            return Ok(Tail::Missing);
        };
        let mut footer = Vec::new();
        frames.go(at)?;
        frames.data(FOOTER, &mut footer)?;
        let Some((head, [rest @ .., a, b, c, d])) = footer.strip_suffix(&MAGIC).and_then(|it| it.split_first_chunk())
        else {
            return Ok(Tail::Missing);
        };
        let wrong = |found: &str| Ok(Tail::Damaged(Error::new(Code::Damaged).expected("a good index").found(found)));
        let (head, checksum) = (Head::of(head, at), u32::from_le_bytes([*a, *b, *c, *d]));
        let begin = rest.first_chunk().map_or(0, |start| u64::from_le_bytes(*start));
        if head.opcode != op::FOOTER || head.end != length - MAGIC.len() as u64 {
            return wrong("another record at its end");
        }
        let Some(size) = at.checked_sub(begin).filter(|_| begin >= MAGIC.len() as u64) else {
            return if begin == 0 { Ok(Tail::Plain) } else { wrong("a place that is not in the file") };
        };
        if size > longest {
            return wrong("one that is too large");
        }
        let mut bytes = Vec::new();
        frames.go(begin)?;
        frames.data(size, &mut bytes)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes);
        hasher.update(&footer[..HEAD as usize + rest.len()]);
        if checksum != 0 && checksum != hasher.finalize() {
            return wrong("another checksum");
        }
        match Tail::parse(&bytes, begin) {
            Ok(Tail::Indexed(index, schemas, channels)) => {
                Ok(Tail::Indexed(index.completed(frames)?, schemas, channels))
            }
            Ok(tail) => Ok(tail),
            Err(error) => Ok(Tail::Damaged(error)),
        }
    }

    fn parse(bytes: &[u8], begin: u64) -> Result<Tail> {
        let (mut schemas, mut channels, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        let wrong = || Error::new(Code::Damaged).expected("a good index");
        let mut rest = bytes;
        while let Some((head, behind)) = rest.split_first_chunk() {
            let head = Head::of(head, 0);
            let length = usize::try_from(head.end - HEAD).ok().filter(|length| *length <= behind.len());
            let (data, behind) = behind.split_at(length.ok_or_else(wrong)?);
            if matches!(head.opcode, op::SCHEMA | op::CHANNEL | op::CHUNK_INDEX) {
                match parse_record(head.opcode, data).map_err(damaged)?.into_owned() {
                    Record::Channel(channel) => channels.push(channel),
                    Record::ChunkIndex(chunk) => {
                        let end = chunk.chunk_start_offset.saturating_add(chunk.chunk_length);
                        chunks.push(Place {
                            at: chunk.chunk_start_offset,
                            end,
                            first: chunk.message_start_time,
                            last: chunk.message_end_time,
                            behind: end.saturating_add(chunk.message_index_length),
                        });
                    }
                    schema => schemas.push(schema),
                }
            }
            rest = behind;
        }
        if chunks.is_empty() {
            return Ok(Tail::Plain);
        }
        chunks.sort_unstable_by_key(|chunk| chunk.at);
        let mut before = MAGIC.len() as u64;
        for chunk in &chunks {
            if chunk.at < before || chunk.end.saturating_sub(chunk.at) < HEAD || chunk.end > begin {
                return Err(wrong().found("chunks that overlap, or are not in the file"));
            }
            before = chunk.end;
        }
        Ok(Tail::Indexed(Index { chunks, end: begin, is_complete: true }, schemas, channels))
    }
}

impl Index {
    /// Looks for messages, and for chunks that are not in the index, between its chunks.
    fn completed<R: Read + Seek>(mut self, frames: &mut Frames<R>) -> Result<Index> {
        let begins = std::iter::once(MAGIC.len() as u64).chain(self.chunks.iter().map(|chunk| chunk.behind));
        let gaps: Vec<(u64, u64)> = begins.zip(self.chunks.iter().map(|chunk| chunk.at).chain([self.end])).collect();
        for (from, to) in gaps.into_iter().filter(|(from, to)| from < to) {
            frames.go(from)?;
            while self.is_complete && frames.at() < to {
                let head = frames.head()?;
                self.is_complete = !matches!(head.opcode, op::MESSAGE | op::CHUNK);
                match head.end <= to {
                    true => frames.pass(head.end)?,
                    // It is damaged, as whoever reads it says.
                    false => break,
                }
            }
        }
        Ok(self)
    }

    /// Whether all messages are in its chunks.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The end of the data.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The times of the first and the last message.
    pub(crate) fn times(&self) -> RangeInclusive<u64> {
        let first = self.chunks.iter().map(|chunk| chunk.first).min().unwrap_or(0);
        first..=self.chunks.iter().map(|chunk| chunk.last).max().unwrap_or(0)
    }

    /// The part of the file that may have messages of these times: all chunks between the first and the last that say so.
    pub(crate) fn part(&self, span: &RangeInclusive<u64>) -> Option<(u64, u64)> {
        let wanted = |chunk: &Place| chunk.first <= *span.end() && chunk.last >= *span.start();
        let first = self.chunks.iter().find(|chunk| wanted(chunk))?;
        let last = self.chunks.iter().rposition(wanted)?;
        // Behind a chunk, it says what is in it.
        Some((first.at, self.chunks.get(last + 1).map_or(self.end, |chunk| chunk.at)))
    }

    /// Whether a chunk begins here.
    pub(crate) fn has_chunk(&self, at: u64) -> bool {
        self.chunks.binary_search_by_key(&at, |chunk| chunk.at).is_ok()
    }

    /// Whether there can be such a record: it is a chunk as the index has it, or between chunks.
    pub(crate) fn fits(&self, head: &Head) -> bool {
        let is_last = head.opcode == op::DATA_END;
        match self.chunks.binary_search_by_key(&head.at, |chunk| chunk.at) {
            Ok(place) => head.opcode == op::CHUNK && head.end == self.chunks[place].end,
            // The last record of the data says that it is the last.
            Err(next) if next == self.chunks.len() => head.end <= self.end && is_last == (head.end == self.end),
            Err(next) => head.end <= self.chunks[next].at && !is_last,
        }
    }

    /// The next place behind this one where a record begins or a chunk ends.
    pub(crate) fn next(&self, at: u64) -> u64 {
        let here = self.chunks.partition_point(|chunk| chunk.end <= at);
        let next = self.chunks.get(here).map(|chunk| if chunk.at > at { chunk.at } else { chunk.end });
        next.unwrap_or(self.end)
    }
}
