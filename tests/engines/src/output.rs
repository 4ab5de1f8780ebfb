//! Where converted records go: memory that others have used, and memory that does not suffice.

use isoform_core::interp::Output;
use isoform_core::{Code, Error, Result};

/// Memory that keeps what was in it, wherever nothing is written.
#[derive(Default)]
pub(crate) struct Used {
    bytes: Vec<u8>,
    length: usize,
}

impl Used {
    /// The first `length` bytes, which are the record.
    pub(crate) fn record(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Empty again, with what others have left.
    pub(crate) fn leave(&mut self, bytes: &[u8]) -> &mut Used {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.length = 0;
        self
    }
}

impl Output for Used {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length > self.bytes.len() {
            self.bytes.resize(length, 0x5a);
        }
        self.length = length;
        Ok(())
    }
}

/// Memory for so many bytes and no more.
pub(crate) struct Narrow {
    pub(crate) bytes: Vec<u8>,
    pub(crate) room: usize,
}

impl Output for Narrow {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length > self.room {
            return Err(Error::new(Code::Size).expected(self.room).found(length));
        }
        self.bytes.resize(length, 0);
        Ok(())
    }
}
