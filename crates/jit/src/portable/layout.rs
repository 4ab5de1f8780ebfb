//! Plans how small fields are moved and reversed. Where that is less work than moving them one by one, 16 bytes of the
//! destination are put together by permutations of up to [`WINDOWS`] times 16 bytes of the source.

use super::target::Shuffles;
use crate::generate::SHORT;
use isoform_core::plan::{Step, Transform};

/// Bytes that are permuted at once.
pub(super) const BLOCK: usize = 16;
/// If fields come from more places than this, they are moved one by one.
const WINDOWS: usize = 4;
/// In a permutation, this stands for a zero.
const NOTHING: u8 = 0x80;

/// A field, or several adjacent ones, moved unchanged or reversed as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Move {
    pub(super) src: usize,
    pub(super) dst: usize,
    pub(super) length: usize,
    pub(super) reversed: bool,
}

impl Move {
    fn end(&self) -> usize {
        self.dst + self.length
    }

    /// The source of the byte that goes to `dst`.
    fn source(&self, dst: usize) -> usize {
        let at = dst - self.dst;
        self.src + if self.reversed { self.length - 1 - at } else { at }
    }
}

/// The bytes that one instruction stores.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// 16 bytes, put together from windows of the source. Bytes of no move become zeros.
    Block { dst: usize, windows: Vec<Window> },
    /// One move.
    Single(Move),
}

/// 16 bytes of the source, and for each byte of a block the one of them that goes there, if any.
#[derive(Debug, PartialEq)]
pub(super) struct Window {
    pub(super) src: usize,
    pub(super) control: [u8; BLOCK],
}

/// Adds the moves of a step that only moves few bytes. Returns whether it is one.
pub(super) fn moves(step: &Step, moves: &mut Vec<Move>) -> bool {
    match step {
        Step::Move { src, dst, len } if *len <= SHORT => {
            moves.push(Move { src: *src, dst: *dst, length: *len, reversed: false });
            true
        }
        Step::Permute { width, swap, pairs } => {
            moves.extend(pairs.iter().map(|&(src, dst)| Move { src, dst, length: *width, reversed: *swap }));
            true
        }
        Step::Elements { src, dst, count, transform: Transform::Swap { width, per }, .. }
            if width * per * count <= SHORT && BLOCK.is_multiple_of(*width) =>
        {
            let numbers = (0..per * count).map(|index| index * width);
            moves.extend(numbers.map(|at| Move { src: src + at, dst: dst + at, length: *width, reversed: true }));
            true
        }
        _ => false,
    }
}

/// Divides the moves of a record or element of these sizes into parts. Blocks come first, since they overwrite the
/// bytes between their fields.
pub(super) fn parts(mut moves: Vec<Move>, sizes: (usize, usize), shuffles: Shuffles) -> Vec<Part> {
    moves.sort_unstable_by_key(|one| one.dst);
    let (mut blocks, mut singles) = (Vec::new(), Vec::new());
    let permutes = shuffles != Shuffles::None && sizes.0 >= BLOCK && sizes.1 >= BLOCK;
    // The first move that is not done yet, and the first byte of the destination after the parts so far.
    let (mut next, mut done) = (0, 0);
    while let Some(first) = moves.get(next) {
        let is_run = !first.reversed && first.length >= BLOCK;
        let block = (permutes && !is_run).then(|| block(&moves, first.dst.max(done), sizes)).flatten();
        match block {
            Some((dst, windows)) => {
                done = dst + BLOCK;
                blocks.push(Part::Block { dst, windows });
                next += moves[next..].iter().take_while(|one| one.end() <= done).count();
            }
            None => {
                singles.push(Part::Single(*first));
                done = first.end();
                next += 1;
            }
        }
    }
    blocks.extend(singles);
    blocks
}

/// The block that begins at `dst`, if it saves instructions.
fn block(moves: &[Move], dst: usize, sizes: (usize, usize)) -> Option<(usize, Vec<Window>)> {
    let dst = dst.min(sizes.1 - BLOCK);
    // Runs that are long enough for moves of their own stay whole.
    let first = moves.partition_point(|one| one.end() <= dst);
    let inside = moves[first..].iter().take_while(|one| one.dst < dst + BLOCK);
    let inside: Vec<&Move> = inside.filter(|one| one.reversed || one.length < BLOCK).collect();
    let mut bytes: Vec<(usize, usize)> = Vec::with_capacity(BLOCK);
    for one in &inside {
        let range = one.dst.max(dst)..one.end().min(dst + BLOCK);
        bytes.extend(range.map(|to| (one.source(to), to - dst)));
    }
    bytes.sort_unstable();
    let mut windows: Vec<Window> = Vec::new();
    for (from, to) in bytes {
        if windows.last().is_none_or(|window| from >= window.src + BLOCK) {
            windows.push(Window { src: from.min(sizes.0 - BLOCK), control: [NOTHING; BLOCK] });
        }
        if let Some(window) = windows.last_mut() {
            window.control[to] = (from - window.src) as u8;
        }
    }
    let pays = windows.len() <= WINDOWS && windows.len() < inside.len();
    pays.then_some((dst, windows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(parts: &[Part], src: &[u8], dst: &mut [u8]) {
        for part in parts {
            match part {
                Part::Block { dst: at, windows } => {
                    for (to, place) in dst[*at..][..BLOCK].iter_mut().enumerate() {
                        let byte =
                            |window: &Window| src[window.src..][..BLOCK].get(usize::from(window.control[to])).copied();
                        *place = windows.iter().filter_map(byte).fold(0, |all, byte| all | byte);
                    }
                }
                Part::Single(one) => (one.dst..one.end()).for_each(|to| dst[to] = src[one.source(to)]),
            }
        }
    }

    proptest! {
        #[test]
        fn every_byte_arrives(
            fields in prop::collection::vec((0usize..5, 0usize..6, any::<bool>(), any::<u32>()), 0..40),
            tails in (0usize..20, 0usize..20),
        ) {
            let mut dst = 0;
            let mut moves: Vec<Move> = Vec::new();
            for (width, gap, reversed, _) in &fields {
                moves.push(Move { src: 0, dst: dst + gap, length: 1 << width, reversed: *reversed });
                dst += gap + (1 << width);
            }
            let mut order: Vec<usize> = (0..moves.len()).collect();
            order.sort_by_key(|&index| if fields[index].3 % 2 == 0 { u32::MAX } else { fields[index].3 });
            let mut src = 0;
            for index in order {
                moves[index].src = src;
                src += moves[index].length + fields[index].1 % 2;
            }
            let body: Vec<u8> = (0..src + tails.0).map(|i| i as u8 | 1).collect();
            let size = dst + tails.1;
            let mut expected = vec![0; size];
            for one in &moves {
                (one.dst..one.end()).for_each(|to| expected[to] = body[one.source(to)]);
            }
            let parts = parts(moves, (body.len(), size), Shuffles::Swizzle);
            let mut came = vec![0; size];
            run(&parts, &body, &mut came);
            prop_assert_eq!(came, expected);
        }
    }

    #[test]
    fn numbers_side_by_side_are_reversed_together() {
        let moves = (0..4).map(|i| Move { src: 4 * i, dst: 4 * i, length: 4, reversed: true }).collect();
        let control = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
        let block = Part::Block { dst: 0, windows: vec![Window { src: 0, control }] };
        assert_eq!(parts(moves, (16, 16), Shuffles::Pshufb), [block]);
    }
}
