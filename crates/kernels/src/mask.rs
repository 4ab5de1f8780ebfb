//! Copies records without their gaps.

use crate::Level;
use crate::level::Instructions;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;
use std::ops::Range;

/// The bytes of a record that belong to fields. The other bytes become zeros in a copy. They may be uninitialised.
///
/// **Invariant 1:** `level` has the instructions that [`copy`](Mask::copy) uses for this pattern. **2:** the pattern has one
/// entry for each byte of whole records, or of a part that repeats in them, and marks exactly those that belong to fields.
#[derive(Clone, Debug)]
pub struct Mask {
    level: Level,
    size: usize,
    pattern: Pattern,
}

/// Which bytes of some whole records belong to fields.
#[derive(Clone, Debug)]
enum Pattern {
    /// **3.** Bit `i % 64` of word `i / 64` is set exactly if byte `i` belongs to a field.
    Bits(Box<[u64]>),
    /// **4.** Byte `i` is 255 if byte `i` belongs to a field, and otherwise 0. The records fill whole blocks of `BLOCK` bytes,
    /// and the first `BLOCK` bytes of them follow once more.
    Bytes(Box<[u8]>),
}

/// Records are copied by blocks of this many bytes, the largest of all levels.
const BLOCK: usize = 64;

/// Bytes of a pattern. A longer one is not stored: the gaps of such a record are at so different places that clearing
/// them costs little.
const PATTERN: usize = 4096 * 8;

/// Bytes of records after which it costs little that a pattern begins anew.
const LONG: usize = 1024;

/// Larger records are not looked at.
const LARGEST: usize = 1 << 20;

impl Mask {
    /// The mask of records of `size` bytes, of which those in `gaps` belong to no field. `None` if this processor lacks
    /// the instructions.
    pub fn new(size: usize, gaps: impl IntoIterator<Item = Range<usize>>) -> Option<Mask> {
        Mask::at(Level::best(), size, gaps)
    }

    /// [`Mask::new`], for one level.
    pub fn at(level: Level, size: usize, gaps: impl IntoIterator<Item = Range<usize>>) -> Option<Mask> {
        if !has_masks(level) || !(1..=LARGEST).contains(&size) {
            return None;
        }
        let mut record = vec![u8::MAX; size];
        gaps.into_iter().for_each(|gap| record[gap].fill(0));
        let unit = unit(&record);
        // As many of them as fill whole blocks, and so many of those that a copy seldom begins anew.
        let units = BLOCK >> unit.len().trailing_zeros().min(BLOCK.trailing_zeros());
        let times = size.min(LONG).div_ceil(unit.len() * units);
        let bits = has_bits(level);
        if unit.len() * units * times / if bits { 8 } else { 1 } > PATTERN {
            return None;
        }
        let mut bytes = unit.repeat(units * times);
        let word = |block: &[u8]| (0..64).fold(0, |word, bit| word | u64::from(block[bit] & 1) << bit);
        let pattern = if bits {
            Pattern::Bits(bytes.chunks_exact(64).map(word).collect())
        } else {
            bytes.extend_from_within(..BLOCK);
            Pattern::Bytes(bytes.into())
        };
        Some(Mask { level, size, pattern })
    }

    /// The size of a record.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies `count` records, with zeros in their gaps. All of their bytes at `dst` are then initialised.
    ///
    /// # Safety
    /// **5.** At `src` are that many records, and the bytes outside their gaps are initialised. At `dst` as many bytes
    /// may be written, and they do not overlap those at `src`.
    #[inline]
    pub unsafe fn copy(&self, count: usize, src: *const u8, dst: *mut u8) {
        let length = count * self.size;
        match &self.pattern {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only the level that has the instructions has such a pattern (1); the rest is promised (5).
            Pattern::Bits(words) => unsafe { avx512(words, length, src, dst) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Pattern::Bytes(bytes) => match self.level.instructions() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level has the instructions (1); the rest is promised (5).
                Instructions::Avx2 => unsafe { avx2(bytes, length, src, dst) },
                // SAFETY: promised (5).
                _ => unsafe { portable(bytes, length, src, dst) },
            },
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("only levels with masks make any"),
        }
    }
}

/// The shortest part of a record that gives the whole record if it is repeated: an element, if the record is one array.
fn unit(record: &[u8]) -> &[u8] {
    let repeats =
        |length: &usize| record.len().is_multiple_of(*length) && record[*length..] == record[..record.len() - length];
    &record[..(1..record.len()).find(repeats).unwrap_or(record.len())]
}

/// Whether the pattern of a level is bits, which its loads and stores take as masks.
fn has_bits(level: Level) -> bool {
    match level.instructions() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => true,
        _ => false,
    }
}

fn has_masks(level: Level) -> bool {
    has_bits(level) || cfg!(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))
}

/// # Safety
/// **6.** The processor has AVX-512 F and BW. **7.** `src` and `dst` are as [`Mask::copy`] says, of `length` bytes, for
/// a pattern that is as invariant 2 says.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn avx512(words: &[u64], length: usize, src: *const u8, dst: *mut u8) {
    use std::arch::x86_64::*;
    let whole = length / 64;
    // SAFETY: for every word of these bytes (7). A load under a mask does not touch what is not under it.
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

/// # Safety
/// **8.** The processor has AVX2. The rest is as for [`avx512`] (7).
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(pattern: &[u8], length: usize, src: *const u8, dst: *mut u8) {
    use std::arch::x86_64::*;
    if length < 32 {
        // SAFETY: promised (7).
        return unsafe { portable(pattern, length, src, dst) };
    }
    // SAFETY: `blocks` calls this with 32 bytes of each. The processor has the instructions (8).
    let block = |pattern: *const u8, src: *const u8, dst: *mut u8| unsafe {
        let bytes: __m256i;
        asm!("vmovdqu {}, [{}]", out(ymm_reg) bytes, in(reg) src, options(pure, readonly, nostack, preserves_flags));
        _mm256_storeu_si256(dst.cast(), _mm256_and_si256(bytes, _mm256_loadu_si256(pattern.cast())));
    };
    // SAFETY: promised (7).
    unsafe { blocks::<32>(pattern, length, src, dst, block) }
}

/// With the vectors that all these processors have.
///
/// # Safety
/// As for [`avx512`] (7).
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe fn portable(pattern: &[u8], length: usize, src: *const u8, dst: *mut u8) {
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;
    // SAFETY: `blocks` calls this with 16 bytes of each.
    let block = |pattern: *const u8, src: *const u8, dst: *mut u8| unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let bytes: __m128i;
            asm!("movdqu {}, [{}]", out(xmm_reg) bytes, in(reg) src, options(pure, readonly, nostack, preserves_flags));
            _mm_storeu_si128(dst.cast(), _mm_and_si128(bytes, _mm_loadu_si128(pattern.cast())));
        }
        #[cfg(target_arch = "aarch64")]
        {
            let bytes: uint8x16_t;
            asm!("ldr {:q}, [{}]", out(vreg) bytes, in(reg) src, options(pure, readonly, nostack, preserves_flags));
            vst1q_u8(dst, vandq_u8(bytes, vld1q_u8(pattern)));
        }
    };
    // SAFETY: `blocks` calls this with 8 bytes of each.
    let word = |pattern: *const u8, src: *const u8, dst: *mut u8| unsafe {
        let bytes: u64;
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, [{}]", out(reg) bytes, in(reg) src, options(pure, readonly, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("ldr {}, [{}]", out(reg) bytes, in(reg) src, options(pure, readonly, nostack, preserves_flags));
        dst.cast::<u64>().write_unaligned(bytes & pattern.cast::<u64>().read_unaligned());
    };
    // SAFETY: promised (7). The last closure touches only fields.
    unsafe {
        match length {
            16.. => blocks::<16>(pattern, length, src, dst, block),
            8.. => blocks::<8>(pattern, length, src, dst, word),
            _ => (0..length).for_each(|i| dst.add(i).write(if pattern[i] == 0 { 0 } else { src.add(i).read() })),
        }
    }
}

/// Copies by blocks of `WIDTH` bytes. The last one may overlap the one before.
///
/// The blocks have gaps, which may be uninitialised: a processor loads them like other bytes, but Rust may not. So `block`
/// loads by an instruction that the compiler does not see into, and clears them before anyone else sees them.
///
/// # Safety
/// **9.** There are at least `WIDTH` bytes, and at most [`BLOCK`] in a block. `block` touches that many bytes of the pattern, the
/// source and the destination, in this order, from where it is told on. The rest is as for [`avx512`] (7).
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn blocks<const WIDTH: usize>(
    pattern: &[u8],
    length: usize,
    src: *const u8,
    dst: *mut u8,
    block: impl Fn(*const u8, *const u8, *mut u8),
) {
    const { assert!(WIDTH <= BLOCK && BLOCK.is_multiple_of(WIDTH)) };
    let period = pattern.len() - BLOCK;
    // SAFETY: `at + WIDTH <= length`, and the pattern has `BLOCK` bytes behind each place in its period (4).
    let one = |at: usize, in_pattern: usize| unsafe {
        debug_assert!(at + WIDTH <= length && in_pattern < period);
        block(pattern.as_ptr().add(in_pattern), src.add(at), dst.add(at));
    };
    let mut begin = 0;
    while begin < length {
        let whole = period.min(length - begin) / WIDTH * WIDTH;
        (0..whole).step_by(WIDTH).for_each(|at| one(begin + at, at));
        begin += whole;
        if whole < period {
            break;
        }
    }
    if begin < length {
        one(length - WIDTH, (length - WIDTH) % period);
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
            elements in prop_oneof![Just(1usize), 1usize..300],
            count in 0usize..20,
        ) {
            let mut gaps = Vec::new();
            let mut size = 0;
            for (gap, field) in parts {
                gaps.push(size..size + gap);
                size += gap + field;
            }
            // An array of what there is so far.
            let part = std::mem::replace(&mut size, 0);
            let (once, mut gaps) = (gaps, Vec::new());
            for _ in 0..elements {
                gaps.extend(once.iter().map(|gap| gap.start + size..gap.end + size));
                size += part;
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
