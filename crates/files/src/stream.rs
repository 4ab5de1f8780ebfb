//! A recording as a stream of messages (`spec/message.md`), for whatever reads streams.

use crate::recording::{Item, Recording};
use isoform_core::message::{ALIGNMENT, Header};
use isoform_core::{Error, Format, Token};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;

/// The most events whose times are known: readers read ahead less than this.
const TIMES: usize = 1 << 16;

/// The events of a recording, as the bytes of a stream. News are left out.
///
/// At the end of a recording that was cut, or of which something was passed over, reading fails with its [`Error`] in the [`io::Error`].
#[derive(Debug)]
pub struct Stream<R = File> {
    recording: Recording<R>,
    described: HashSet<Token>,
    bytes: Vec<u8>,
    taken: usize,
    /// The bytes of the stream before `bytes`.
    before: u64,
    /// For the events whose bytes were handed over lately: where they begin and end in the stream, and when they were submitted.
    times: VecDeque<(Range<u64>, u64)>,
}

impl<R: Read + Seek> Stream<R> {
    pub(crate) fn new(recording: Recording<R>) -> Stream<R> {
        let (described, bytes, times) = (HashSet::new(), Vec::new(), VecDeque::new());
        Stream { recording, described, bytes, taken: 0, before: 0, times }
    }

    /// The recording, from its present place.
    pub fn into_recording(self) -> Recording<R> {
        self.recording
    }

    /// When the event was submitted whose bytes are at a position of the stream, in nanoseconds since 1970. `None` if the stream has
    /// not come to it, or if it is far back. Times before it are forgotten.
    pub fn submitted(&mut self, position: u64) -> Option<u64> {
        while self.times.front().is_some_and(|(bytes, _)| bytes.end <= position) {
            self.times.pop_front();
        }
        self.times.front().filter(|(bytes, _)| bytes.contains(&position)).map(|(_, time)| *time)
    }

    /// Makes the bytes of the next event. `false` at the end.
    fn fill(&mut self) -> Result<bool, Error> {
        let Stream { recording, described, bytes, taken, before, times } = self;
        *before += bytes.len() as u64;
        (*taken, _) = (0, bytes.clear());
        while let Some(entry) = recording.next_entry()? {
            let Item::Event { stamp, format, body } = entry.item else { continue };
            if described.insert(format.token()) {
                describe(format, bytes);
            }
            put(Header::new(format.token(), body.len() as u64), body, bytes);
            if times.len() == TIMES {
                times.pop_front();
            }
            times.push_back((*before..*before + bytes.len() as u64, stamp.nanoseconds));
            return Ok(true);
        }
        Ok(false)
    }
}

fn describe(format: &Format, bytes: &mut Vec<u8>) {
    let description = format.description().as_bytes();
    put(Header::new(Token::ZERO, description.len() as u64), description, bytes);
}

/// A message, with the zeros behind it.
fn put(header: Header, body: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend(header.to_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

impl<R: Read + Seek> Read for Stream<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.bytes.len() && !self.fill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let count = room.len().min(self.bytes.len() - self.taken);
        room[..count].copy_from_slice(&self.bytes[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
