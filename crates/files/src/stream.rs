//! A recording as a stream of messages (`spec/message.md`), for whatever reads streams.

use crate::foreign::Foreign;
use crate::profile::Stamp;
use crate::recording::{Item, Recording};
use isoform_core::message::{ALIGNMENT, Header};
use isoform_core::{Error, Format, Limits, Token};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::sync::Arc;

/// The most events whose times are known: readers read ahead less than this.
const TIMES: usize = 1 << 16;

/// The events of a recording, as the bytes of a stream. News are left out.
///
/// At the end of a recording that was cut, or of which something was passed over, reading fails with its [`Error`] in the [`io::Error`].
#[derive(Debug)]
pub struct Stream<R = File> {
    recording: Recording<R>,
    described: Described,
    bytes: Vec<u8>,
    taken: usize,
    /// The bytes of the stream before `bytes`.
    before: u64,
    /// For the events whose bytes were handed over lately: where they begin and end in the stream, and what is known of them.
    times: VecDeque<(Range<u64>, Stamped)>,
    /// The names of their channels, each once.
    topics: HashSet<Arc<str>>,
}

/// The formats that a reader must still know, and the bytes of their descriptions together. When a reader may forget some of them, all
/// are described again (`spec/message.md`, "Streams").
#[derive(Debug, Default)]
struct Described {
    tokens: HashSet<Token>,
    bytes: usize,
}

impl Described {
    /// Whether a format is to be described before its next message. From then on, it is.
    fn is_due(&mut self, format: &Format) -> bool {
        if self.tokens.contains(&format.token()) {
            return false;
        }
        let (limits, length) = (Limits::default(), format.description().as_bytes().len());
        if self.tokens.len() >= limits.formats || self.bytes + length > limits.registry {
            self.tokens.clear();
            self.bytes = 0;
        }
        self.bytes += length;
        self.tokens.insert(format.token())
    }
}

/// What a recording knows of an event beside its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The name of its channel.
    pub topic: Arc<str>,
    /// Its source, its number there, and the time of its submission.
    pub stamp: Stamp,
    /// When it was recorded, by the clock of the recorder: nanoseconds since 1970.
    pub recorded: u64,
}

impl<R: Read + Seek> Stream<R> {
    pub(crate) fn new(recording: Recording<R>) -> Stream<R> {
        let (described, bytes, times) = (Described::default(), Vec::new(), VecDeque::new());
        Stream { recording, described, bytes, taken: 0, before: 0, times, topics: HashSet::new() }
    }

    /// The recording, from its present place.
    pub fn into_recording(self) -> Recording<R> {
        self.recording
    }

    /// The messages that were passed over since they are not records of Isoform, so far.
    pub fn foreign(&self) -> Foreign {
        self.recording.foreign()
    }

    /// When the event was submitted whose bytes are at a position of the stream, in nanoseconds since 1970. `None` if the stream has
    /// not come to it, or if it is far back. Times before it are forgotten.
    pub fn submitted(&mut self, position: u64) -> Option<u64> {
        self.stamped(position).map(|event| event.stamp.nanoseconds)
    }

    /// What is known of the event whose bytes are at a position of the stream. `None` if the stream has not come to it, or if it is far back.
    /// Events before it are forgotten.
    pub fn stamped(&mut self, position: u64) -> Option<&Stamped> {
        while self.times.front().is_some_and(|(bytes, _)| bytes.end <= position) {
            self.times.pop_front();
        }
        self.times.front().filter(|(bytes, _)| bytes.contains(&position)).map(|(_, event)| event)
    }

    /// Makes the bytes of the next event. `false` at the end.
    fn fill(&mut self) -> Result<bool, Error> {
        let Stream { recording, described, bytes, taken, before, times, topics } = self;
        *before += bytes.len() as u64;
        (*taken, _) = (0, bytes.clear());
        while let Some(entry) = recording.next_entry()? {
            let Item::Event { stamp, format, body } = entry.item else { continue };
            if described.is_due(format) {
                describe(format, bytes);
            }
            put(Header::new(format.token(), body.len() as u64), body, bytes);
            if times.len() == TIMES {
                times.pop_front();
            }
            let topic = topics.get(entry.topic).cloned().unwrap_or_else(|| {
                let topic: Arc<str> = entry.topic.into();
                topics.insert(topic.clone());
                topic
            });
            let event = Stamped { topic, stamp, recorded: entry.recorded };
            times.push_back((*before..*before + bytes.len() as u64, event));
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
