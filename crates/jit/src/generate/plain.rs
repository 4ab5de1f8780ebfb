//! Decides what both generators generate code for. The kernels and the interpreter do the rest.

use isoform_core::plan::{Array, Count, Extent, Place, Symbols, Transform};

/// At most this many symbols are compared one by one.
pub(crate) const SYMBOLS: usize = 16;

/// Whether an array has one dimension, or is a pointer to one element, and is in a block on both sides.
pub(crate) fn is_plain(array: &Array) -> bool {
    let plain = match &*array.dims {
        [] => true,
        [Extent { src, dst, .. }] => match (src, dst) {
            (Count::Fixed(came), Count::Fixed(room)) => came == room,
            (_, Count::Field { .. }) => true,
            _ => false,
        },
        _ => false,
    };
    let transform = match &array.transform {
        Transform::Symbols(symbols) => is_short(symbols),
        _ => true,
    };
    plain && transform && matches!((array.src, array.dst), (Place::Slot(_), Place::Slot(_)))
}

/// Whether an enumeration has so few symbols that they are compared one by one.
pub(crate) fn is_short(symbols: &Symbols) -> bool {
    symbols.map.len() <= SYMBOLS && symbols.from.size <= 8 && symbols.to.size <= 8
}

/// A run in pieces whose lengths are powers of two: their offsets and lengths. The last piece may overlap the one
/// before.
pub(crate) fn pieces(length: usize, widest: usize) -> impl Iterator<Item = (usize, usize)> {
    let width = if length == 0 { 1 } else { (1 << length.ilog2()).min(widest) };
    let whole = length / width * width;
    let rest = match length - whole {
        0 => None,
        left => Some((length - left.next_power_of_two(), left.next_power_of_two())),
    };
    (0..whole).step_by(width).map(move |at| (at, width)).chain(rest)
}

#[cfg(test)]
mod tests {
    #[test]
    fn pieces_cover_a_run() {
        for widest in [8, 16, 64] {
            for length in 0..300 {
                let mut covered = vec![false; length];
                for (at, width) in super::pieces(length, widest) {
                    assert!(width.is_power_of_two() && width <= widest);
                    covered[at..][..width].fill(true);
                }
                assert!(covered.into_iter().all(|byte| byte), "{length}");
            }
        }
    }
}
