//! What compressed chunks may become: a few bytes of a hostile file could stand for gigabytes (`spec/files.md`, "Reading").
//!
//! A reader refuses chunks beyond it, and a writer keeps what it compresses within it.

use isoform_core::{Code, Error, Result};

/// How many times its own bytes a compressed chunk may become, beyond [`CHUNK`] bytes; and how many times the bytes of the file up to
/// its end all chunks may become together, beyond [`FILE`] bytes.
const TIMES: u64 = 128;
const CHUNK: u64 = 16 << 20;
const FILE: u64 = 256 << 20;

/// The bytes that the chunks of a file have become so far.
#[derive(Debug, Default)]
pub(crate) struct Expansion(u64);

impl Expansion {
    /// Lets a chunk of this many bytes, which ends here in the file, become so many.
    ///
    /// # Errors
    /// [`Code::MessageSize`].
    pub(crate) fn allow(&mut self, compressed: u64, end: u64, size: u64) -> Result<()> {
        let most = |bytes: u64, free: u64| bytes.saturating_mul(TIMES).saturating_add(free);
        let left = most(end, FILE).saturating_sub(self.0);
        let most = most(compressed, CHUNK).min(left);
        if size > most {
            let expected = format_args!("a compressed chunk that becomes at most {most} bytes");
            return Err(Error::new(Code::MessageSize).expected(expected).found(size));
        }
        self.0 += size;
        Ok(())
    }
}

/// Bytes that no compression makes smaller, beside events that become very small: so a writer keeps within half of what readers allow.
#[derive(Debug, Default)]
pub(crate) struct Ballast {
    /// The bytes of messages so far, and those that have no ballast yet.
    total: u64,
    owed: u64,
    state: u64,
}

impl Ballast {
    /// A message of so many bytes is in the present chunk of a file which has `in_file` bytes: returns what must be in the chunk, too.
    pub(crate) fn of(&mut self, length: u64, in_file: u64) -> Option<Vec<u8>> {
        /// Less is not worth a record.
        const LEAST: u64 = 4 << 10;
        self.total += length;
        if length > CHUNK / 2 || self.total > FILE / 2 + in_file * (TIMES / 2) {
            self.owed += length;
        }
        let wanted = self.owed / (TIMES / 2);
        if wanted < LEAST {
            return None;
        }
        self.owed = 0;
        let words = usize::try_from(wanted.div_ceil(8)).unwrap_or(usize::MAX);
        Some((0..words).flat_map(|_| self.next().to_le_bytes()).collect())
    }

    /// The next of a sequence of numbers without a pattern (SplitMix64).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_and_a_file_have_limits() {
        let mut all = Expansion::default();
        assert!(all.allow(1_000, 1_000, CHUNK + 128_000).is_ok());
        assert_eq!(all.allow(1_000, 2_000, CHUNK + 128_001).unwrap_err().code(), Code::MessageSize);
        let taken = (0..).take_while(|_| all.allow(1_000, 2_000, 1 << 20).is_ok()).count();
        assert_eq!(taken, 240, "256 MiB, less the first chunk, and 128 times the file");
        assert!(all.allow(1_000, 10_000, 1 << 20).is_ok(), "a longer file may become more");
    }
}
