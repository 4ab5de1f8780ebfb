//! Copies texts that end with a 0, several bytes at a time.

/// Bytes of a text that [`short_text()`] copies, with the 0 at its end.
pub const SHORT_TEXT: usize = 64;
/// Bytes of a part of a longer text.
const PART: usize = 16;

/// Copies the text that begins at `from`, and the 0 at its end. Returns the number of bytes with the 0.
///
/// The text is copied in parts of 16 bytes, of which the last may be longer than the text: what follows the 0 in `to` is
/// unspecified then. `None` if `to` has no room for whole parts up to the end, if no 0 follows in `bytes`, or if there are
/// fewer than 16 of these.
///
/// ```
/// let mut to = [0xff; 32];
/// let bytes = b"_here is a text\0and another";
/// assert_eq!(isoform_kernels::text(bytes, 1, &mut to), Some(15));
/// assert_eq!(to[..15], bytes[1..16]);
/// ```
pub fn text(bytes: &[u8], from: usize, to: &mut [u8]) -> Option<usize> {
    let (parts, rest) = bytes.get(from..)?.as_chunks();
    let (room, _) = to.as_chunks_mut();
    for (at, (to, part)) in room.iter_mut().zip(parts).enumerate() {
        *to = *part;
        if let Some(end) = end(part) {
            return Some(at * PART + end + 1);
        }
    }
    // The bytes may end before the next part does. Zeros take the place of what it lacks.
    let last = u128::from_le_bytes(*bytes.last_chunk()?);
    let part = last.checked_shr(8 * (PART - rest.len()) as u32)?.to_le_bytes();
    *room.get_mut(parts.len())? = part;
    let end = end(&part).filter(|&end| end < rest.len())?;
    Some(parts.len() * PART + end + 1)
}

/// [`text()`] of at most 64 bytes with the 0, where there are so many to read and to write: without a branch for its length, if
/// this kind of processor has vectors. Zeros follow the text in `to`. `None` if the text is longer.
///
/// ```
/// let mut from = [0xff; 64];
/// from[2..5].copy_from_slice(b"me\0");
/// let mut to = [0xee; 64];
/// assert_eq!(isoform_kernels::short_text(&from, &mut to), Some(5));
/// assert_eq!(to[..4], from[..4]);
/// assert_eq!(to[4..], [0; 60]);
/// ```
#[inline]
pub fn short_text(from: &[u8; SHORT_TEXT], to: &mut [u8; SHORT_TEXT]) -> Option<usize> {
    #[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
    {
        vectors::short_text(from, to).map(|end| end + 1)
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
    {
        let length = text(from, 0, to)?;
        to[length..].fill(0);
        Some(length)
    }
}

/// 64 bytes of ones, then 64 zeros. Read from `n` bytes before the middle on, it is a mask that keeps the first `n` bytes.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
static KEPT: [u8; 2 * SHORT_TEXT] = {
    let mut kept = [0; 2 * SHORT_TEXT];
    let mut at = 0;
    while at < SHORT_TEXT {
        kept[at] = 0xff;
        at += 1;
    }
    kept
};

/// The place of the first 0.
fn end(part: &[u8; PART]) -> Option<usize> {
    /// A bit of each byte.
    const ONES: u64 = u64::MAX / 255;
    let (words, _) = part.as_chunks();
    words.iter().enumerate().find_map(|(at, word)| {
        let word = u64::from_le_bytes(*word);
        // Below the first byte that is 0, this bit is set in no byte.
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        (zeros != 0).then(|| at * size_of::<u64>() + zeros.trailing_zeros() as usize / 8)
    })
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{KEPT, SHORT_TEXT};
    use std::arch::x86_64::*;

    /// The starts of the vectors.
    const PARTS: [usize; 4] = [0, 16, 32, 48];

    /// Copies a text, and returns the place of its 0. Nothing is written if there is none.
    #[inline(always)]
    pub(super) fn short_text(from: &[u8; SHORT_TEXT], to: &mut [u8; SHORT_TEXT]) -> Option<usize> {
        // SAFETY: SSE2 is part of x86-64, and from `at` on there are 16 bytes, of 64.
        let parts = PARTS.map(|at| (at, unsafe { _mm_loadu_si128(from.as_ptr().add(at).cast()) }));
        let zeros = parts.iter().fold(0u64, |zeros, (at, part)| {
            // SAFETY: SSE2 is part of x86-64.
            let here = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(*part, _mm_setzero_si128())) };
            zeros | u64::from(here as u16) << at
        });
        if zeros == 0 {
            return None;
        }
        let end = zeros.trailing_zeros() as usize;
        for (at, part) in parts {
            // SAFETY: as above; and from `SHORT_TEXT - end + at` on there are 16 bytes of twice as many, since `end` is less than
            // `SHORT_TEXT`.
            unsafe {
                let kept = _mm_loadu_si128(KEPT.as_ptr().add(SHORT_TEXT - end + at).cast());
                _mm_storeu_si128(to.as_mut_ptr().add(at).cast(), _mm_and_si128(part, kept));
            }
        }
        Some(end)
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod vectors {
    use super::{KEPT, SHORT_TEXT};
    use std::arch::aarch64::*;

    /// The starts of the vectors.
    const PARTS: [usize; 4] = [0, 16, 32, 48];
    /// A bit of each of eight bytes.
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

    /// Copies a text, and returns the place of its 0. Nothing is written if there is none.
    #[inline(always)]
    pub(super) fn short_text(from: &[u8; SHORT_TEXT], to: &mut [u8; SHORT_TEXT]) -> Option<usize> {
        // SAFETY: NEON is part of 64-bit ARM, and from `at` on there are 16 bytes, of 64.
        let parts = PARTS.map(|at| unsafe { vld1q_u8(from.as_ptr().add(at)) });
        // SAFETY: NEON is part of 64-bit ARM, and `BITS` has 16 bytes.
        let zeros = unsafe {
            let [a, b, c, d] = parts.map(|part| vandq_u8(vceqzq_u8(part), vld1q_u8(BITS.as_ptr())));
            // Neighbours are added three times: the sum of eight bytes has a bit of each.
            let all = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(all, all)))
        };
        if zeros == 0 {
            return None;
        }
        let end = zeros.trailing_zeros() as usize;
        for (at, part) in PARTS.into_iter().zip(parts) {
            // SAFETY: as above; and from `SHORT_TEXT - end + at` on there are 16 bytes of twice as many, since `end` is less than
            // `SHORT_TEXT`.
            unsafe {
                let kept = vld1q_u8(KEPT.as_ptr().add(SHORT_TEXT - end + at));
                vst1q_u8(to.as_mut_ptr().add(at), vandq_u8(part, kept));
            }
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_copied_with_their_end() {
        // Miri takes seconds for what others do in milliseconds.
        for length in (0..150).step_by(if cfg!(miri) { 31 } else { 1 }) {
            for from in [0, 1, 7, 16, 17].into_iter().skip(if cfg!(miri) { 3 } else { 0 }) {
                for behind in [0, 1, 3, 15, 16, 17, 40, 63, 64, 65, 70] {
                    let mut bytes: Vec<u8> = (0..from + length).map(|at| at as u8 | 0x80).collect();
                    bytes.push(0);
                    bytes.extend((0..behind).map(|at| if at % 5 == 4 { 0 } else { 1 }));
                    let mut to = [0xee; 256];
                    let copied = text(&bytes, from, &mut to);
                    let expected = (bytes.len() >= PART).then_some(length + 1);
                    assert_eq!(copied, expected, "{length} bytes from {from}, {behind} behind");
                    if let (Some(from), Some(to)) = (bytes[from..].first_chunk(), to.last_chunk_mut()) {
                        let short = short_text(from, to);
                        assert_eq!(
                            short,
                            (length < SHORT_TEXT).then_some(length + 1),
                            "{length} bytes, {behind} behind"
                        );
                        assert!(short.is_none() || to[..length] == from[..length], "{length} bytes");
                        assert!(short.is_none() || to[length..].iter().all(|&byte| byte == 0), "{length} bytes");
                    }
                    assert!(
                        copied.is_none() || to[..=length] == bytes[from..][..=length],
                        "{length} bytes from {from}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_text_without_end_or_without_room_is_not_copied() {
        for many in [20, 40, 63, 64, 80, 100] {
            let bytes = vec![b'a'; many];
            for from in [0, 3, many, many + 1] {
                assert_eq!(text(&bytes, from, &mut [0; 160]), None, "{many} bytes from {from}");
            }
        }
        for (length, enough) in [(30, 32), (31, 32), (32, 48), (70, 80)] {
            let mut bytes = vec![b'a'; 100];
            bytes[length] = 0;
            for room in 0..enough {
                let mut to = [0xee; 100];
                assert_eq!(text(&bytes, 0, &mut to[..room]), None, "{length} bytes into {room}");
                assert!(to[room..].iter().all(|&byte| byte == 0xee), "a byte beyond {room}");
            }
            assert_eq!(text(&bytes, 0, &mut vec![0; enough]), Some(length + 1));
        }
    }
}
