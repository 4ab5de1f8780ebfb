//! Moves and reverses the bytes of numbers, whatever their types.

/// From this length on, `memcpy` copies. For fewer bytes, it takes longer to choose a method than to copy.
const LONG: usize = 65;

/// Copies a run of bytes, which are as many as there is room for.
#[inline]
pub(super) fn copy(from: &[u8], to: &mut [u8]) {
    match from.len() {
        LONG.. => to.copy_from_slice(from),
        32.. => copy_ends::<32>(from, to),
        16.. => copy_ends::<16>(from, to),
        8.. => copy_ends::<8>(from, to),
        4.. => copy_ends::<4>(from, to),
        _ => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
    }
}

/// Copies the first bytes and the last ones, which overlap if they are fewer than twice as many.
#[inline(always)]
fn copy_ends<const PART: usize>(from: &[u8], to: &mut [u8]) {
    let (Some(first), Some(last)) = (from.first_chunk::<PART>(), from.last_chunk::<PART>()) else { return };
    if let Some(place) = to.first_chunk_mut() {
        *place = *first;
    }
    if let Some(place) = to.last_chunk_mut() {
        *place = *last;
    }
}

/// Calls a function with the size of a number and the function that reverses or keeps its bytes, both as constants.
macro_rules! by_width {
    ($width:expr, $swap:expr, $function:ident($($argument:expr),*)) => {
        match ($width, $swap) {
            (1, _) => $function($($argument,)* |byte: [u8; 1]| byte),
            (2, false) => $function($($argument,)* |number: [u8; 2]| number),
            (4, false) => $function($($argument,)* |number: [u8; 4]| number),
            (8, false) => $function($($argument,)* |number: [u8; 8]| number),
            (_, false) => $function($($argument,)* |number: [u8; 16]| number),
            (2, true) => $function($($argument,)* |number| u16::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
            (4, true) => $function($($argument,)* |number| u32::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
            (8, true) => $function($($argument,)* |number| u64::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
            (_, true) => $function($($argument,)* |number| u128::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        }
    };
}

/// Relocates single numbers, reversing their bytes if `swap`.
pub(super) fn permute(width: usize, swap: bool, pairs: &[(usize, usize)], src: &[u8], dst: &mut [u8]) {
    by_width!(width, swap, relocate(pairs, src, dst));
}

/// Brings the numbers at these places together.
pub(super) fn gather(width: usize, places: &[usize], src: &[u8], dst: &mut [u8]) {
    by_width!(width, false, gather_each(places, src, dst));
}

#[inline(always)]
fn gather_each<const WIDTH: usize>(
    places: &[usize],
    src: &[u8],
    dst: &mut [u8],
    _: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    for (&place, to) in places.iter().zip(dst.as_chunks_mut::<WIDTH>().0) {
        match src.get(place..).and_then(<[u8]>::first_chunk) {
            Some(from) => *to = *from,
            None => unreachable!("the plan keeps every access in bounds"),
        }
    }
}

/// Puts numbers that lie together at these places.
pub(super) fn scatter(width: usize, places: &[usize], src: &[u8], dst: &mut [u8]) {
    by_width!(width, false, scatter_each(places, src, dst));
}

#[inline(always)]
fn scatter_each<const WIDTH: usize>(
    places: &[usize],
    src: &[u8],
    dst: &mut [u8],
    _: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    for (&place, from) in places.iter().zip(src.as_chunks::<WIDTH>().0) {
        match dst.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
            Some(to) => *to = *from,
            None => unreachable!("the plan keeps every access in bounds"),
        }
    }
}

/// A number in each of several elements.
pub(super) struct Column<Bytes> {
    /// The elements.
    pub(super) bytes: Bytes,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Where the number is in the element.
    pub(super) at: usize,
}

/// Relocates one number of each of several elements, reversing its bytes if `swap`.
pub(super) fn column(width: usize, swap: bool, src: Column<&[u8]>, dst: Column<&mut [u8]>) {
    by_width!(width, swap, relocate_column(src, dst));
}

#[inline(always)]
fn relocate_column<const WIDTH: usize>(
    src: Column<&[u8]>,
    dst: Column<&mut [u8]>,
    change: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    let inside = |at: usize, size: usize| at <= size && WIDTH <= size - at;
    assert!(inside(src.at, src.size) && inside(dst.at, dst.size), "the plan keeps every access in bounds");
    for (from, to) in src.bytes.chunks_exact(src.size).zip(dst.bytes.chunks_exact_mut(dst.size)) {
        if let (Some(from), Some(to)) = (from[src.at..].first_chunk(), to[dst.at..].first_chunk_mut()) {
            *to = change(*from);
        }
    }
}

#[inline(always)]
fn relocate<const WIDTH: usize>(
    pairs: &[(usize, usize)],
    src: &[u8],
    dst: &mut [u8],
    change: impl Fn([u8; WIDTH]) -> [u8; WIDTH],
) {
    let (Some(last_src), Some(last_dst)) = (src.len().checked_sub(WIDTH), dst.len().checked_sub(WIDTH)) else {
        unreachable!("the plan keeps every access in bounds")
    };
    for &(from, to) in pairs {
        // In this form, each bound is one comparison.
        if from <= last_src
            && to <= last_dst
            && let (Some(from), Some(to)) = (src[from..].first_chunk(), dst[to..].first_chunk_mut())
        {
            *to = change(*from);
        } else {
            unreachable!("the plan keeps every access in bounds")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_every_length_are_copied() {
        let src: Vec<u8> = (1..=200).collect();
        for length in 0..=200 {
            let mut dst = [0; 202];
            copy(&src[..length], &mut dst[1..=length]);
            assert!(dst[1..=length] == src[..length] && dst[0] == 0 && dst[length + 1] == 0, "{length} bytes");
        }
    }

    #[test]
    fn single_numbers_are_relocated() {
        let src: Vec<u8> = (0..40).collect();
        for width in [1, 2, 4, 8, 16] {
            for reversed in [false, true] {
                let mut dst = [99; 40];
                permute(width, reversed, &[(3, 24), (24, 3)], &src, &mut dst);
                let mut expected = [99; 40];
                expected[24..][..width].copy_from_slice(&src[3..][..width]);
                expected[3..][..width].copy_from_slice(&src[24..][..width]);
                if reversed {
                    expected[24..][..width].reverse();
                    expected[3..][..width].reverse();
                }
                assert_eq!(dst, expected);
            }
        }
    }
}
