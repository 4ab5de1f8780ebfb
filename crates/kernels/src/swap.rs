//! Reverses the bytes of each number of an array.

use crate::Level;
use crate::level::Instructions;

/// Copies numbers of `width` bytes, reversing the bytes of each.
///
/// ```
/// let mut here = [0; 8];
/// isoform_kernels::swap(4, &[1, 2, 3, 4, 5, 6, 7, 8], &mut here);
/// assert_eq!(here, [4, 3, 2, 1, 8, 7, 6, 5]);
/// ```
///
/// # Panics
/// If `dst` is not as long as `src`, or the length is not a multiple of `width`.
#[inline]
pub fn swap(width: usize, src: &[u8], dst: &mut [u8]) {
    swap_at(Level::best(), width, src, dst);
}

/// [`swap()`], with the instructions of one level.
///
/// # Panics
/// As [`swap()`].
#[inline]
pub fn swap_at(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    assert!(src.len() == dst.len() && src.len().is_multiple_of(width), "both hold as many whole numbers");
    #[cfg(target_arch = "x86_64")]
    if let 2 | 4 | 8 | 16 = width {
        match level.instructions() {
            Instructions::Portable => {}
            // SAFETY: a level exists only where its instructions do (invariant 1 of `Level`); both slices are equally
            // long and hold whole numbers, as was just asserted.
            Instructions::Ssse3 => return unsafe { x86::ssse3(width, src, dst) },
            // SAFETY: the same.
            Instructions::Avx2 => return unsafe { x86::avx2(width, src, dst) },
            // SAFETY: the same.
            Instructions::Avx512 => return unsafe { x86::avx512(width, src, dst) },
        }
    }
    let _ = (level, Instructions::Portable);
    match width {
        1 => dst.copy_from_slice(src),
        2 => blocks(src, dst, reverse_words::<0>, |number| u16::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        4 => blocks(src, dst, reverse_words::<1>, |number| u32::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        8 => {
            let one = |number| u64::from_ne_bytes(number).swap_bytes().to_ne_bytes();
            blocks(src, dst, |from, to| reverse_each(from, to, one), one);
        }
        16 => blocks(src, dst, reverse_words::<7>, |number| u128::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        _ => {
            for (from, to) in src.chunks_exact(width).zip(dst.chunks_exact_mut(width)) {
                to.copy_from_slice(from);
                to.reverse();
            }
        }
    }
}

/// As many bytes as compilers turn into a few vector instructions, without a loop for each number.
const BLOCK: usize = 64;

#[inline(always)]
fn blocks<const WIDTH: usize>(
    src: &[u8],
    dst: &mut [u8],
    block: impl Fn(&[u8; BLOCK], &mut [u8; BLOCK]),
    one: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    let (from, from_rest) = src.as_chunks();
    let (to, to_rest) = dst.as_chunks_mut();
    for (from, to) in from.iter().zip(to) {
        block(from, to);
    }
    let (from, _) = from_rest.as_chunks();
    let (to, _) = to_rest.as_chunks_mut();
    for (from, to) in from.iter().zip(to) {
        *to = one(*from);
    }
}

/// Reverses the bytes of each number in two steps: first the bytes of each pair, then the pairs, where pair `i` goes to
/// `i ^ FLIP`. Every x86 processor does both to 16 bytes at a time; reversing whole numbers at a time needs SSSE3.
#[inline(always)]
fn reverse_words<const FLIP: usize>(from: &[u8; BLOCK], to: &mut [u8; BLOCK]) {
    let ((pairs, _), (places, _)) = (from.as_chunks(), to.as_chunks_mut());
    let pairs: [u16; BLOCK / 2] = std::array::from_fn(|i| u16::from_ne_bytes(pairs[i]).swap_bytes());
    places.iter_mut().enumerate().for_each(|(i, place)| *place = pairs[i ^ FLIP].to_ne_bytes());
}

/// Reverses the bytes of each number, one by one. For 8 bytes, this is the fastest way without SSSE3, and as fast as
/// any with it.
#[inline(always)]
fn reverse_each(from: &[u8; BLOCK], to: &mut [u8; BLOCK], one: impl Fn([u8; 8]) -> [u8; 8]) {
    let ((from, _), (to, _)) = (from.as_chunks(), to.as_chunks_mut());
    (0..BLOCK / 8).for_each(|i| to[i] = one(from[i]));
}

/// One shuffle reverses 16, 32 or 64 bytes at once. The rest at the end is done together with bytes before it once
/// more, or, with AVX-512, under a mask.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// The source of each of 16 bytes, if numbers of `width` bytes are reversed.
    #[inline(always)]
    fn control(width: usize) -> [u8; 16] {
        const fn reversed(width: usize) -> [u8; 16] {
            let mut control = [0; 16];
            let mut place = 0;
            while place < 16 {
                control[place] = (place ^ (width - 1)) as u8;
                place += 1;
            }
            control
        }
        const CONTROLS: [[u8; 16]; 4] = [reversed(2), reversed(4), reversed(8), reversed(16)];
        CONTROLS[(width.trailing_zeros() as usize).wrapping_sub(1) & 3]
    }

    /// # Safety
    /// **1.** The processor has SSSE3. **2.** `src` and `dst` are equally long, and hold whole numbers of `width` bytes,
    /// which is 2, 4, 8 or 16.
    #[target_feature(enable = "ssse3")]
    pub(super) unsafe fn ssse3(width: usize, src: &[u8], dst: &mut [u8]) {
        let length = src.len();
        if length < 16 {
            return short(width, src, dst);
        }
        let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = unsafe { _mm_loadu_si128(control.as_ptr().cast()) };
        // SAFETY: `at + 16 <= length`, which is as far as both slices go (2).
        let part = |at: usize| unsafe {
            let bytes = _mm_loadu_si128(from.add(at).cast());
            _mm_storeu_si128(to.add(at).cast(), _mm_shuffle_epi8(bytes, control));
        };
        (0..length - 15).step_by(16).for_each(part);
        part(length - 16);
    }

    /// # Safety
    /// **1.** The processor has AVX2. **2.** As for [`ssse3`].
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2(width: usize, src: &[u8], dst: &mut [u8]) {
        let length = src.len();
        if length < 32 {
            // SAFETY: AVX2 comes with SSSE3 (1), and the slices are the same (2).
            return unsafe { ssse3(width, src, dst) };
        }
        let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(control.as_ptr().cast()) });
        // SAFETY: `at + 32 <= length`, which is as far as both slices go (2).
        let part = |at: usize| unsafe {
            let bytes = _mm256_loadu_si256(from.add(at).cast());
            _mm256_storeu_si256(to.add(at).cast(), _mm256_shuffle_epi8(bytes, control));
        };
        let pairs = length & !63;
        for at in (0..pairs).step_by(64) {
            part(at);
            part(at + 32);
        }
        if length - pairs >= 32 {
            part(pairs);
        }
        part(length - 32);
    }

    /// # Safety
    /// **1.** The processor has AVX-512 F and BW. **2.** As for [`ssse3`].
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn avx512(width: usize, src: &[u8], dst: &mut [u8]) {
        let length = src.len();
        let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(control.as_ptr().cast()) });
        // SAFETY: `at + 64 <= length`, which is as far as both slices go (2).
        let part = |at: usize| unsafe {
            let bytes = _mm512_loadu_si512(from.add(at).cast());
            _mm512_storeu_si512(to.add(at).cast(), _mm512_shuffle_epi8(bytes, control));
        };
        let whole = length & !63;
        let pairs = length & !127;
        for at in (0..pairs).step_by(128) {
            part(at);
            part(at + 64);
        }
        if whole > pairs {
            part(pairs);
        }
        if length > whole {
            let mask = (1u64 << (length - whole)) - 1;
            // SAFETY: under the mask are the bytes from `whole` to `length`, where both slices end (2).
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8(mask, from.add(whole).cast());
                _mm512_mask_storeu_epi8(to.add(whole).cast(), mask, _mm512_shuffle_epi8(bytes, control));
            }
        }
    }

    /// Fewer than 16 bytes.
    #[inline(always)]
    fn short(width: usize, src: &[u8], dst: &mut [u8]) {
        match width {
            2 => each::<2>(src, dst),
            4 => each::<4>(src, dst),
            _ => each::<8>(src, dst),
        }
    }

    #[inline(always)]
    fn each<const WIDTH: usize>(src: &[u8], dst: &mut [u8]) {
        for (from, to) in src.as_chunks::<WIDTH>().0.iter().zip(dst.as_chunks_mut::<WIDTH>().0) {
            let mut number = *from;
            number.reverse();
            *to = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "tests/places.rs does this as well, with fewer cases")]
    fn numbers_of_every_width_are_reversed_at_every_level() {
        let bytes: Vec<u8> = (0..2000).map(|i| (i * 7 + i / 256) as u8).collect();
        for level in Level::all() {
            for width in [1, 2, 3, 4, 8, 10, 12, 16] {
                for count in (0..=33).chain([63, 64, 65, 100]) {
                    for (from, to) in [(0, 0), (1, 0), (0, 3), (5, 9)] {
                        let src = &bytes[from..][..width * count];
                        let mut all = vec![0xee; to + src.len() + 70];
                        swap_at(level, width, src, &mut all[to..][..src.len()]);
                        let expected = src.chunks(width).flat_map(|number| number.iter().rev().copied());
                        assert!(
                            expected.eq(all[to..][..src.len()].iter().copied()),
                            "{level}: {count} of {width} bytes"
                        );
                        assert!(all[..to].iter().chain(&all[to + src.len()..]).all(|&byte| byte == 0xee), "{level}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "whole numbers")]
    fn lengths_must_agree() {
        swap(4, &[0; 8], &mut [0; 12]);
    }
}
