//! Compressed parts of a program, with a limit on what they become: a few bytes of a hostile file could stand for gigabytes.

use super::file::unusable;
use isoform_core::{Code, Error, Result};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// How many times its own size a part may become, beyond [`FREE`] bytes. Debug information becomes 2 to 30 times its size. The parts of a
/// file may become so many times its size together: a part may be compressed twice.
const TIMES: usize = 64;
const FREE: usize = 1 << 20;
/// The most bytes that all parts of a program become together.
const ALL: usize = 1 << 30;

/// The bytes that the parts of a program may still become: those of its files, and those of all programs.
#[derive(Debug)]
pub(super) struct Budget {
    files: usize,
    all: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { files: 0, all: ALL }
    }
}

impl Budget {
    /// Allows the parts of one more file.
    pub(super) fn file(&mut self, size: usize) {
        self.files = self.files.saturating_add(most(size));
    }

    /// Allows a part of a size to become one of another size.
    fn allow(&mut self, compressed: usize, size: usize) -> Result<()> {
        let most = most(compressed).min(self.files).min(self.all);
        if size > most {
            let expected = format_args!("a compressed section that becomes at most {most} bytes");
            return Err(Error::new(Code::MessageSize).at("program").expected(expected).found(size));
        }
        (self.files, self.all) = (self.files - size, self.all - size);
        Ok(())
    }
}

/// The most bytes that become of so many.
fn most(size: usize) -> usize {
    size.saturating_mul(TIMES).saturating_add(FREE)
}

/// Expands bytes of zlib, which become exactly this size.
pub(super) fn zlib(bytes: &[u8], size: usize, budget: &mut Budget) -> Result<Vec<u8>> {
    Ok(zlib_at_start(bytes, size, budget)?.0)
}

/// Expands the bytes of zlib at the start, and returns how many of them there were, too.
pub(super) fn zlib_at_start(bytes: &[u8], size: usize, budget: &mut Budget) -> Result<(Vec<u8>, usize)> {
    budget.allow(bytes.len(), size)?;
    let mut all = vec![0; size];
    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = DecompressorOxide::new();
    let (status, used, written) = decompress(&mut state, bytes, &mut all, 0, flags);
    match status == TINFLStatus::Done && written == size {
        true => Ok((all, used)),
        false => Err(damaged()),
    }
}

/// Expands bytes of Zstandard, which become exactly this size.
pub(super) fn zstandard(bytes: &[u8], size: usize, budget: &mut Budget) -> Result<Vec<u8>> {
    budget.allow(bytes.len(), size)?;
    let all = zstd::bulk::decompress(bytes, size).map_err(|_| damaged())?;
    match all.len() == size {
        true => Ok(all),
        false => Err(damaged()),
    }
}

fn damaged() -> Error {
    unusable("a compressed section that is damaged")
}
