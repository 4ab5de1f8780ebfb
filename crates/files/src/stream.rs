//! A recording as a stream of messages (`spec/message.md`), for whatever reads streams.

use crate::recording::{Item, Recording};
use isoform_core::message::{ALIGNMENT, Header};
use isoform_core::{Error, Format, Token};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};

/// The events of a recording, as the bytes of a stream. News are left out.
///
/// At the end of a recording that was cut, or of which something was passed over, reading fails with its [`Error`] in the [`io::Error`].
#[derive(Debug)]
pub struct Stream<R = File> {
    recording: Recording<R>,
    described: HashSet<Token>,
    bytes: Vec<u8>,
    taken: usize,
}

impl<R: Read + Seek> Stream<R> {
    pub(crate) fn new(recording: Recording<R>) -> Stream<R> {
        Stream { recording, described: HashSet::new(), bytes: Vec::new(), taken: 0 }
    }

    /// The recording, from its present place.
    pub fn into_recording(self) -> Recording<R> {
        self.recording
    }

    /// Makes the bytes of the next event. `false` at the end.
    fn fill(&mut self) -> Result<bool, Error> {
        let Stream { recording, described, bytes, taken } = self;
        (*taken, _) = (0, bytes.clear());
        while let Some(entry) = recording.next_entry()? {
            let Item::Event { format, body, .. } = entry.item else { continue };
            if described.insert(format.token()) {
                describe(format, bytes);
            }
            put(Header::new(format.token(), body.len() as u64), body, bytes);
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
