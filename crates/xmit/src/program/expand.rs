//! Compressed parts of a program, with a limit on what they become: a few bytes of a hostile file could stand for gigabytes.

use super::file::unusable;
use isoform_core::{Code, Error, Result};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// How many times its own size a part may become, beyond [`FREE`] bytes. Debug information becomes 2 to 30 times its size.
const TIMES: usize = 128;
const FREE: usize = 1 << 20;
/// The most bytes that all parts of a program become together.
const ALL: usize = 1 << 30;

/// The bytes that the parts of a program may still become.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(ALL)
    }
}

impl Budget {
    /// Allows a part of a size to become one of another size.
    fn allow(&mut self, compressed: usize, size: usize) -> Result<()> {
        let most = compressed.saturating_mul(TIMES).saturating_add(FREE);
        let too_large = |most: usize| {
            let expected = format_args!("a compressed section that becomes at most {most} bytes");
            Error::new(Code::MessageSize).at("program").expected(expected).found(size)
        };
        if size > most {
            return Err(too_large(most));
        }
        self.0 = self.0.checked_sub(size).ok_or_else(|| too_large(self.0))?;
        Ok(())
    }
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
