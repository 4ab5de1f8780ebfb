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
    // SAFETY: both slices are equally long and hold whole numbers, as was just asserted.
    let done = unsafe { with_instructions(level, width, src.as_ptr(), dst.as_mut_ptr(), src.len()) };
    if done {
        return;
    }
    match width {
        1 => dst.copy_from_slice(src),
        2 => blocks(src, dst, reverse_words::<0>, one_of_2),
        4 => blocks(src, dst, reverse_words::<1>, one_of_4),
        8 => blocks(src, dst, reverse_each, one_of_8),
        16 => blocks(src, dst, reverse_words::<7>, one_of_16),
        _ => {
            for (from, to) in src.chunks_exact(width).zip(dst.chunks_exact_mut(width)) {
                to.copy_from_slice(from);
                to.reverse();
            }
        }
    }
}

/// Reverses the bytes of each number of `width` bytes within the same memory: those from `from` on go to the start. What is behind
/// them then is unspecified.
///
/// ```
/// let mut bytes = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
/// isoform_kernels::swap_within(4, &mut bytes, 2);
/// assert_eq!(bytes[..8], [4, 3, 2, 1, 8, 7, 6, 5]);
/// ```
///
/// # Panics
/// If there are not so many bytes, or if those from `from` on are not whole numbers.
#[inline]
pub fn swap_within(width: usize, bytes: &mut [u8], from: usize) {
    swap_within_at(Level::best(), width, bytes, from);
}

/// [`swap_within()`], with the instructions of one level.
///
/// # Panics
/// As [`swap_within()`].
#[inline]
pub fn swap_within_at(level: Level, width: usize, bytes: &mut [u8], from: usize) {
    let length = bytes[from..].len();
    assert!(length.is_multiple_of(width), "they are whole numbers");
    let start = bytes.as_mut_ptr();
    // SAFETY: from `from` on there are so many bytes, which are whole numbers, as was just asserted; and as many from the start on,
    // which is not behind them.
    if unsafe { with_instructions(level, width, start.add(from), start, length) } {
        return;
    }
    match width {
        1 => bytes.copy_within(from.., 0),
        2 => blocks_within(bytes, from, reverse_words::<0>, one_of_2),
        4 => blocks_within(bytes, from, reverse_words::<1>, one_of_4),
        8 => blocks_within(bytes, from, reverse_each, one_of_8),
        16 => blocks_within(bytes, from, reverse_words::<7>, one_of_16),
        _ => {
            for at in (0..length).step_by(width) {
                bytes.copy_within(from + at..from + at + width, at);
                bytes[at..at + width].reverse();
            }
        }
    }
}

/// Does it with the vector instructions of a level. Returns whether there are any for this width.
///
/// # Safety
/// `src` points at `length` bytes, which are whole numbers of `width` bytes, and `dst` at as many that can be written. If these have
/// bytes in common, `dst` is not behind `src`.
#[inline]
unsafe fn with_instructions(level: Level, width: usize, src: *const u8, dst: *mut u8, length: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let 2 | 4 | 8 | 16 = width {
        match level.instructions() {
            Instructions::Portable => return false,
            // SAFETY: a level exists only where its instructions do (invariant 1 of `Level`); the rest is promised.
            Instructions::Ssse3 => unsafe { x86::ssse3(width, src, dst, length) },
            // SAFETY: the same.
            Instructions::Avx2 => unsafe { x86::avx2(width, src, dst, length) },
            // SAFETY: the same.
            Instructions::Avx512 => unsafe { x86::avx512(width, src, dst, length) },
        }
        return true;
    }
    let _ = (level, Instructions::Portable);
    false
}

fn one_of_2(number: [u8; 2]) -> [u8; 2] {
    u16::from_ne_bytes(number).swap_bytes().to_ne_bytes()
}

fn one_of_4(number: [u8; 4]) -> [u8; 4] {
    u32::from_ne_bytes(number).swap_bytes().to_ne_bytes()
}

fn one_of_8(number: [u8; 8]) -> [u8; 8] {
    u64::from_ne_bytes(number).swap_bytes().to_ne_bytes()
}

fn one_of_16(number: [u8; 16]) -> [u8; 16] {
    u128::from_ne_bytes(number).swap_bytes().to_ne_bytes()
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

#[inline(always)]
fn blocks_within<const WIDTH: usize>(
    bytes: &mut [u8],
    from: usize,
    block: impl Fn(&[u8; BLOCK], &mut [u8; BLOCK]),
    one: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    let (length, mut at) = (bytes.len() - from, 0);
    while let Some(src) = bytes[from + at..].first_chunk().copied()
        && let Some(dst) = bytes[at..].first_chunk_mut()
    {
        block(&src, dst);
        at += BLOCK;
    }
    for at in (at..length).step_by(WIDTH) {
        if let Some(src) = bytes[from + at..].first_chunk().copied()
            && let Some(dst) = bytes[at..].first_chunk_mut()
        {
            *dst = one(src);
        }
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
fn reverse_each(from: &[u8; BLOCK], to: &mut [u8; BLOCK]) {
    let ((from, _), (to, _)) = (from.as_chunks(), to.as_chunks_mut());
    (0..BLOCK / 8).for_each(|i| to[i] = one_of_8(from[i]));
}

/// One shuffle reverses 16, 32 or 64 bytes at once. The rest at the end is done together with bytes before it once
/// more, or, with AVX-512, under a mask. What is done once more is read first, and all else in ascending order, since the
/// destination can overlap what is before the end of the source.
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
    /// **1.** The processor has SSSE3. **2.** `from` points at `length` bytes, which are whole numbers of `width` bytes, and `to`
    /// at as many that can be written. If these have bytes in common, `to` is not behind `from`. **3.** `width` is 2, 4, 8 or 16.
    #[target_feature(enable = "ssse3")]
    pub(super) unsafe fn ssse3(width: usize, from: *const u8, to: *mut u8, length: usize) {
        if length < 16 {
            // SAFETY: (2, 3)
            return unsafe { short(width, from, to, length) };
        }
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = unsafe { _mm_loadu_si128(control.as_ptr().cast()) };
        // SAFETY: `at + 16 <= length` (2).
        let read = |at: usize| unsafe { _mm_shuffle_epi8(_mm_loadu_si128(from.add(at).cast()), control) };
        // SAFETY: the same.
        let write = |at: usize, bytes| unsafe { _mm_storeu_si128(to.add(at).cast(), bytes) };
        let rest = read(length - 16);
        (0..length - 15).step_by(16).for_each(|at| write(at, read(at)));
        write(length - 16, rest);
    }

    /// # Safety
    /// **1.** The processor has AVX2. **2, 3.** As for [`ssse3`].
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2(width: usize, from: *const u8, to: *mut u8, length: usize) {
        if length < 32 {
            // SAFETY: AVX2 comes with SSSE3 (1), and the memory is the same (2, 3).
            return unsafe { ssse3(width, from, to, length) };
        }
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(control.as_ptr().cast()) });
        // SAFETY: `at + 32 <= length` (2).
        let read = |at: usize| unsafe { _mm256_shuffle_epi8(_mm256_loadu_si256(from.add(at).cast()), control) };
        // SAFETY: the same.
        let write = |at: usize, bytes| unsafe { _mm256_storeu_si256(to.add(at).cast(), bytes) };
        let rest = read(length - 32);
        let pairs = length & !63;
        for at in (0..pairs).step_by(64) {
            write(at, read(at));
            write(at + 32, read(at + 32));
        }
        if length - pairs >= 32 {
            write(pairs, read(pairs));
        }
        write(length - 32, rest);
    }

    /// # Safety
    /// **1.** The processor has AVX-512 F and BW. **2, 3.** As for [`ssse3`].
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn avx512(width: usize, from: *const u8, to: *mut u8, length: usize) {
        let control = control(width);
        // SAFETY: 16 bytes are read from an array of 16.
        let control = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(control.as_ptr().cast()) });
        // SAFETY: `at + 64 <= length` (2).
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
            // SAFETY: under the mask are the bytes from `whole` to `length` (2).
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8(mask, from.add(whole).cast());
                _mm512_mask_storeu_epi8(to.add(whole).cast(), mask, _mm512_shuffle_epi8(bytes, control));
            }
        }
    }

    /// Fewer than 16 bytes.
    ///
    /// # Safety
    /// (2, 3) of [`ssse3`].
    #[inline(always)]
    unsafe fn short(width: usize, from: *const u8, to: *mut u8, length: usize) {
        for at in (0..length).step_by(width) {
            // SAFETY: a number begins at `at`, in both (2), and has 2, 4 or 8 bytes (3), since there are fewer than 16.
            unsafe {
                let (from, to) = (from.add(at), to.add(at));
                match width {
                    2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned().swap_bytes()),
                    4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned().swap_bytes()),
                    _ => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned().swap_bytes()),
                }
            }
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
                        for further in [0, 1, 7, 8, 63, 70] {
                            let mut all = vec![0xee; to + further + src.len() + 70];
                            all[to + further..][..src.len()].copy_from_slice(src);
                            swap_within_at(level, width, &mut all[to..][..further + src.len()], further);
                            let what = format_args!("{level}: {count} of {width} bytes, from {further} further");
                            let expected = src.chunks(width).flat_map(|number| number.iter().rev().copied());
                            assert!(expected.eq(all[to..][..src.len()].iter().copied()), "{what}");
                            let beyond = &all[to + further + src.len()..];
                            assert!(all[..to].iter().chain(beyond).all(|&byte| byte == 0xee), "{what}: beyond");
                        }
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
