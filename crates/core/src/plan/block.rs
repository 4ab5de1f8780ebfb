//! Collects the work on the fields of one record or element, and merges it into a few coarse steps.

use super::step::{Bytes, Step, Transform};

/// Up to this many consecutive swapped numbers are relocated one by one; longer rows are loops.
const SHORT_ROW: usize = 4;
/// From this many single numbers on, one step relocates them together.
const FEW: usize = 2;

/// Bytes of numbers that can be relocated one by one. (An x87 number of 10 or 12 bytes cannot.)
const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// The work on one record, in the order of the destination.
#[derive(Default)]
pub(super) struct Block {
    moves: Vec<Row>,
    swaps: Vec<Row>,
    others: Vec<Step>,
    /// Whether some byte of the destination is not at the same offset in the source.
    pub(super) relocated: bool,
    /// Whether the previous field was copied, so that its run may continue.
    open: bool,
}

/// Consecutive numbers that are moved or swapped.
#[derive(Clone, Copy)]
struct Row {
    src: usize,
    dst: usize,
    width: usize,
    count: usize,
}

impl Row {
    fn len(&self) -> usize {
        self.width * self.count
    }
}

impl Block {
    /// Copies `count` numbers of `width` bytes. `joined` states that only gaps lie between these bytes and those of the
    /// previous copy, in the source as in the destination.
    pub(super) fn copy(&mut self, src: usize, dst: usize, width: usize, count: usize, joined: bool) {
        self.relocated |= src != dst;
        let row = Row { src, dst, width, count };
        let was_open = std::mem::replace(&mut self.open, true);
        if let Some(last) = self.moves.last_mut() {
            let (src_gap, dst_gap) = (src.wrapping_sub(last.src + last.len()), dst.wrapping_sub(last.dst + last.len()));
            if src_gap == dst_gap && (src_gap == 0 || joined && was_open) {
                *last = Row { src: last.src, dst: last.dst, width: 1, count: last.len() + src_gap + row.len() };
                return;
            }
        }
        self.moves.push(row);
    }

    /// Reverses the bytes of each of `count` numbers of `width` bytes.
    pub(super) fn swap(&mut self, src: usize, dst: usize, width: usize, count: usize) {
        self.relocated = true;
        self.open = false;
        if let Some(last) = self.swaps.last_mut()
            && last.width == width
            && last.src + last.len() == src
            && last.dst + last.len() == dst
        {
            last.count += count;
            return;
        }
        self.swaps.push(Row { src, dst, width, count });
    }

    /// Fills with constant bytes.
    pub(super) fn fill(&mut self, dst: usize, bytes: Bytes) {
        self.relocated = true;
        self.open = false;
        if let (Some(Step::Fill { dst: at, bytes: Bytes::Zero(n) }), Bytes::Zero(more)) =
            (self.others.last_mut(), &bytes)
            && *at + *n == dst
        {
            *n += more;
            return;
        }
        self.others.push(Step::Fill { dst, bytes });
    }

    /// Any other step; `relocated` says whether the source is not usable in place.
    pub(super) fn push(&mut self, step: Step, relocated: bool) {
        self.relocated |= relocated;
        self.open = false;
        self.others.push(step);
    }

    /// The steps: first runs, then permutations, then all others in the order of the destination. So blocks are written
    /// in the order of the walk.
    pub(super) fn finish(mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let single = |row: &Row| WIDTHS.contains(&row.len());
        let gather_moves = self.moves.iter().filter(|row| single(row)).count() > FEW;
        let (small, runs): (Vec<Row>, Vec<Row>) = self.moves.into_iter().partition(|row| gather_moves && single(row));
        steps.extend(runs.iter().map(|row| Step::Move { src: row.src, dst: row.dst, len: row.len() }));
        let is_short = |row: &Row| row.count <= SHORT_ROW && WIDTHS.contains(&row.width);
        let (short, rows): (Vec<Row>, Vec<Row>) = self.swaps.into_iter().partition(is_short);
        steps.extend(rows.iter().map(|row| Step::Elements {
            src: row.src,
            dst: row.dst,
            count: row.count,
            transform: Transform::Swap { width: row.width, per: 1 },
            field: usize::MAX,
        }));
        permutations(&mut steps, small.iter().map(|row| Row { width: row.len(), count: 1, ..*row }), false);
        permutations(&mut steps, short.iter().copied(), true);
        self.others.splice(..0, steps);
        self.others
    }
}

fn permutations(steps: &mut Vec<Step>, rows: impl Iterator<Item = Row> + Clone, swap: bool) {
    for width in WIDTHS {
        let of_width = rows.clone().filter(|row| row.width == width);
        let pairs: Box<[_]> =
            of_width.flat_map(|row| (0..row.count).map(move |i| (row.src + i * width, row.dst + i * width))).collect();
        if !pairs.is_empty() {
            steps.push(Step::Permute { width, swap, pairs });
        }
    }
}
