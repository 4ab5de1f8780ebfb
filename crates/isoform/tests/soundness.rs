//! Attempts to make the library do what only `unsafe` code could: with odd declarations, with streams from an enemy, and
//! with failures half way. Most of it is worth something only under Miri:
//! `MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p isoform --test soundness`.

#[path = "soundness/declarations.rs"]
mod declarations;
#[path = "soundness/failures.rs"]
mod failures;
#[path = "soundness/gaps.rs"]
mod gaps;
#[path = "soundness/streams.rs"]
mod streams;

use isoform::{Format, Incoming, message::Header};

/// Bytes that begin `offset` bytes behind a multiple of 64.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(bytes: &[u8], offset: usize) -> Aligned {
        let mut memory = vec![0; bytes.len() + 128];
        let start = memory.as_ptr().addr().wrapping_neg() % 64 + offset;
        memory[start..][..bytes.len()].copy_from_slice(bytes);
        Aligned { memory, start, length: bytes.len() }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }
}

fn message<'a>(format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
    Incoming::new(Header::new(format.token(), body.len() as u64), format, body)
}
