//! Copies records without their gaps.

use crate::Level;
use crate::level::Instructions;
use std::ops::Range;

/// The bytes of a record that belong to fields. The other bytes become zeros in a copy; they are not read, since they
/// may be uninitialised.
///
/// **Invariant 1:** `level` has the instructions that [`copy`](Mask::copy) uses. **2:** bit `i % 64` of word `i / 64` of
/// `words` is set exactly if byte `i % size` of a record belongs to a field; there are `64 * words.len()` bytes in whole
/// records.
#[derive(Clone, Debug)]
pub struct Mask {
    level: Level,
    size: usize,
    words: Box<[u64]>,
}

/// A longer pattern is not stored: the gaps of such a record are at so different places that clearing them costs
/// little.
const WORDS: usize = 4096;

impl Mask {
    /// The mask of records of `size` bytes, of which those in `gaps` belong to no field. `None` if this processor lacks
    /// the instructions.
    pub fn new(size: usize, gaps: impl IntoIterator<Item = Range<usize>>) -> Option<Mask> {
        Mask::at(Level::best(), size, gaps)
    }

    /// [`Mask::new`], for one level.
    pub fn at(level: Level, size: usize, gaps: impl IntoIterator<Item = Range<usize>>) -> Option<Mask> {
        if !has_masks(level) || size == 0 {
            return None;
        }
        // As many records as fill whole words.
        let records = 64 >> size.trailing_zeros().min(6);
        let length = size.checked_mul(records)? / 64;
        if length > WORDS {
            return None;
        }
        let mut words = vec![u64::MAX; length];
        for gap in gaps {
            for byte in (0..records).flat_map(|record| gap.clone().map(move |byte| record * size + byte)) {
                words[byte / 64] &= !(1 << (byte % 64));
            }
        }
        Some(Mask { level, size, words: words.into() })
    }

    /// The size of a record.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies `count` records, with zeros in their gaps. All of their bytes at `dst` are then initialised.
    ///
    /// # Safety
    /// **3.** At `src` are that many records, and the bytes outside their gaps are initialised. At `dst` as many bytes
    /// may be written, and they do not overlap those at `src`.
    #[inline]
    pub unsafe fn copy(&self, count: usize, src: *const u8, dst: *mut u8) {
        match self.level.instructions() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level has the instructions (1); the rest is promised (3).
            Instructions::Avx512 => unsafe { avx512(&self.words, count * self.size, src, dst) },
            _ => unreachable!("only levels with masks make any"),
        }
    }
}

fn has_masks(level: Level) -> bool {
    match level.instructions() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => true,
        _ => false,
    }
}

/// # Safety
/// **4.** The processor has AVX-512 F and BW. **5.** `src` and `dst` are as [`Mask::copy`] says, of `length` bytes, for
/// words that are as invariant 2 says.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn avx512(words: &[u64], length: usize, src: *const u8, dst: *mut u8) {
    use std::arch::x86_64::*;
    let whole = length / 64;
    // SAFETY: for every word of these bytes (5). A load under a mask does not touch what is not under it.
    let part = |at: usize, word: u64, under: u64| unsafe {
        let bytes = _mm512_maskz_loadu_epi8(word & under, src.add(64 * at).cast());
        match under {
            u64::MAX => _mm512_storeu_si512(dst.add(64 * at).cast(), bytes),
            _ => _mm512_mask_storeu_epi8(dst.add(64 * at).cast(), under, bytes),
        }
    };
    let mut at = 0;
    while at < whole {
        let some = &words[..words.len().min(whole - at)];
        some.iter().enumerate().for_each(|(i, &word)| part(at + i, word, u64::MAX));
        at += some.len();
    }
    if !length.is_multiple_of(64) {
        part(whole, words[whole % words.len()], (1 << (length % 64)) - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_fields_are_copied(
            parts in prop::collection::vec((0usize..20, 1usize..30), 1..12),
            count in 0usize..20,
        ) {
            let mut gaps = Vec::new();
            let mut size = 0;
            for (gap, field) in parts {
                gaps.push(size..size + gap);
                size += gap + field;
            }
            let src: Vec<u8> = (0..size * count).map(|i| (i * 31) as u8 | 1).collect();
            let mut expected = src.clone();
            for record in expected.chunks_mut(size) {
                gaps.iter().for_each(|gap| record[gap.clone()].fill(0));
            }
            for level in Level::all() {
                if let Some(mask) = Mask::at(level, size, gaps.clone()) {
                    let mut dst = vec![0xee; size * count + 64];
                    // SAFETY: all of `src` is initialised, and `dst` is longer.
                    unsafe { mask.copy(count, src.as_ptr(), dst.as_mut_ptr()) };
                    prop_assert_eq!(&dst[..size * count], &expected, "{}", level);
                    prop_assert!(dst[size * count..].iter().all(|&byte| byte == 0xee));
                }
            }
        }
    }
}
