//! Bytes of numbers moved and reversed, without asking what the numbers are.

/// Relocates single numbers, reversing their bytes if `swap`.
pub(super) fn permute(width: usize, swap: bool, pairs: &[(usize, usize)], src: &[u8], dst: &mut [u8]) {
    macro_rules! each {
        ($int:ty) => {
            for &(from, to) in pairs {
                let (Some(from), Some(to)) = (src[from..].first_chunk(), dst[to..].first_chunk_mut()) else {
                    unreachable!("the plan keeps every access in bounds")
                };
                let value = <$int>::from_ne_bytes(*from);
                *to = if swap { value.swap_bytes() } else { value }.to_ne_bytes();
            }
        };
    }
    match width {
        1 => each!(u8),
        2 => each!(u16),
        4 => each!(u32),
        8 => each!(u64),
        _ => each!(u128),
    }
}

/// Copies numbers of `width` bytes, reversing the bytes of each.
pub(super) fn swap(width: usize, src: &[u8], dst: &mut [u8]) {
    macro_rules! each {
        ($int:ty) => {{
            let (from, _) = src.as_chunks();
            let (to, _) = dst.as_chunks_mut();
            for (from, to) in from.iter().zip(to) {
                *to = <$int>::from_ne_bytes(*from).swap_bytes().to_ne_bytes();
            }
        }};
    }
    match width {
        1 => dst.copy_from_slice(src),
        2 => each!(u16),
        4 => each!(u32),
        8 => each!(u64),
        16 => each!(u128),
        _ => {
            for (from, to) in src.chunks_exact(width).zip(dst.chunks_exact_mut(width)) {
                to.copy_from_slice(from);
                to.reverse();
            }
        }
    }
}
