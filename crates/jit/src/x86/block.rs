//! Plans how small fields are moved, reversed, and combined with constants. Where that is less work than moving them
//! one by one, a block of the destination is put together by permutations of as many bytes from several places of the
//! source: 64 with AVX-512, 16 with AVX2. A block for AVX-512 can contain numbers that are converted in groups.

use super::Extension;
use super::avx512::BLOCK;
use super::number::{Change, LANES};
use std::sync::Arc;

/// The most groups of numbers in a block. Each takes a register.
const GROUPS: usize = 16;

/// A field, or consecutive bytes, of the destination.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub(super) dst: usize,
    pub(super) length: usize,
    pub(super) from: From<'a>,
}

/// The source of the bytes of a piece.
#[derive(Clone, Debug)]
pub(super) enum From<'a> {
    /// An offset in the record or element.
    Place {
        offset: usize,
        reversed: bool,
    },
    /// A number there, which is converted.
    Number {
        offset: usize,
        change: Change<'a>,
    },
    Constant(Arc<[u8]>),
    Zero,
}

impl Piece<'_> {
    pub(super) fn end(&self) -> usize {
        self.dst + self.length
    }
}

/// The bytes that one instruction stores.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// A block. Bytes of no piece become zeros. With AVX-512, it may extend beyond a smaller element.
    Block(usize, Block<'a>),
    /// One piece.
    Single(Piece<'a>),
}

/// Bytes that are put together. If a block is shorter than here, only the first bytes count.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) windows: Vec<Window>,
    /// The bytes that come from no window, if any of them is not 0.
    pub(super) constants: Option<Box<[u8; BLOCK]>>,
}

/// Numbers that are converted together: their offsets in the source.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) change: Change<'a>,
    pub(super) lanes: [Option<usize>; LANES],
}

/// As many bytes of a source as a block has, and for each place of the block the byte that goes there, if any.
#[derive(Debug, PartialEq)]
pub(super) struct Window {
    pub(super) from: Space,
    pub(super) control: [u8; BLOCK],
    pub(super) mask: u64,
}

/// The place of the bytes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    /// The source, at this offset.
    Source(usize),
    /// The register of a group.
    Group(usize),
}

impl Window {
    /// Whether every byte goes to the place that it comes from.
    pub(super) fn stays(&self) -> bool {
        (0..BLOCK).all(|to| self.mask >> to & 1 == 0 || usize::from(self.control[to]) == to)
    }
}

/// The windows for these bytes of a source of a given length: their places, and where their bytes go.
pub(super) fn windows(mut bytes: Vec<(usize, usize)>, source: usize, width: usize) -> Vec<Window> {
    bytes.sort_unstable();
    let mut windows: Vec<Window> = Vec::new();
    let mut start = 0;
    for (from, to) in bytes {
        if windows.is_empty() || from >= start + width {
            start = from.min(source.saturating_sub(width));
            windows.push(Window { from: Space::Source(start), control: [0; BLOCK], mask: 0 });
        }
        if let Some(window) = windows.last_mut() {
            window.control[to] = (from - start) as u8;
            window.mask |= 1 << to;
        }
    }
    windows
}

/// Divides the pieces of a record or element of these sizes into parts. Blocks come first, since they overwrite the
/// bytes between their pieces.
pub(super) fn parts(mut pieces: Vec<Piece<'_>>, sizes: (usize, usize), extension: Extension) -> Vec<Part<'_>> {
    pieces.sort_unstable_by_key(|piece| piece.dst);
    let (mut blocks, mut singles) = (Vec::new(), Vec::new());
    if extension == Extension::Avx2 {
        let (numbers, others) = pieces.into_iter().partition(|piece| matches!(piece.from, From::Number { .. }));
        singles.extend(Vec::into_iter(numbers).map(Part::Single));
        pieces = others;
    }
    // The first piece that is not done yet, and the first byte of the destination after the parts so far.
    let (mut next, mut done) = (0, 0);
    while let Some(first) = pieces.get(next) {
        match block(&pieces, first.dst.max(done), sizes, extension) {
            Some((dst, block)) => {
                done = dst + extension.block();
                blocks.push(Part::Block(dst, block));
                next += pieces[next..].iter().take_while(|piece| piece.end() <= done).count();
            }
            None => {
                done = first.end();
                singles.push(Part::Single(first.clone()));
                next += 1;
            }
        }
    }
    blocks.extend(singles);
    blocks
}

/// The block that begins at `dst` or a little before, if it saves instructions.
fn block<'a>(
    pieces: &[Piece<'a>],
    dst: usize,
    sizes: (usize, usize),
    extension: Extension,
) -> Option<(usize, Block<'a>)> {
    let width = extension.block();
    if extension == Extension::Avx2 && sizes.0.min(sizes.1) < width {
        return None;
    }
    let dst = dst.min(sizes.1.saturating_sub(width));
    let first = pieces.partition_point(|piece| piece.end() <= dst);
    let mut filling = Filling {
        extension,
        dst,
        bytes: Vec::with_capacity(width),
        groups: Vec::new(),
        alone: 0,
        constants: [0; BLOCK],
    };
    pieces[first..].iter().take_while(|piece| piece.dst < dst + width).for_each(|piece| filling.add(piece));
    let (together, alone) = (filling.cost(sizes.0), filling.alone);
    (together < alone && filling.groups.len() <= GROUPS).then(|| (dst, filling.block(sizes.0)))
}

/// A block under construction.
struct Filling<'a> {
    extension: Extension,
    dst: usize,
    /// The offsets of bytes in the source and in the block.
    bytes: Vec<(usize, usize)>,
    groups: Vec<(Group<'a>, Window)>,
    /// The cost of the pieces one by one, in instructions.
    alone: usize,
    constants: [u8; BLOCK],
}

impl<'a> Filling<'a> {
    fn add(&mut self, piece: &Piece<'a>) {
        let inside = piece.dst.max(self.dst)..piece.end().min(self.dst + self.extension.block());
        let (start, dst) = (piece.dst, self.dst);
        let places = inside.map(|to| (to - start, to - dst));
        self.alone += match piece.from {
            From::Number { change, .. } => change.cost(),
            _ => 2,
        };
        match &piece.from {
            From::Zero => {}
            From::Constant(bytes) => places.for_each(|(at, to)| self.constants[to] = bytes[at]),
            From::Place { offset, reversed: false } => self.bytes.extend(places.map(|(at, to)| (offset + at, to))),
            From::Place { offset, reversed: true } => {
                self.bytes.extend(places.map(|(at, to)| (offset + piece.length - 1 - at, to)));
            }
            From::Number { offset, change } => {
                let at = piece.dst.checked_sub(self.dst);
                let (group, lane) = self.lane(*change, *offset, at);
                let window = &mut self.groups[group].1;
                for (at, to) in places {
                    window.control[to] = change.given(lane, at);
                    window.mask |= 1 << to;
                }
            }
        }
    }

    /// A free lane for a number that goes to `at`: the lane at that place, if possible.
    fn lane(&mut self, change: Change<'a>, offset: usize, at: Option<usize>) -> (usize, usize) {
        let own = at.filter(|at| change.fills_lane() && at.is_multiple_of(LANES)).map(|at| at / LANES);
        let mut known =
            self.groups.iter().map(|(group, _)| group).enumerate().filter(|(_, group)| group.change == change);
        let free = known.find_map(|(index, group)| match own {
            Some(own) => group.lanes[own].is_none().then_some((index, own)),
            None => group.lanes.iter().position(Option::is_none).map(|lane| (index, lane)),
        });
        let (index, lane) = free.unwrap_or_else(|| {
            let index = self.groups.len();
            let window = Window { from: Space::Group(index), control: [0; BLOCK], mask: 0 };
            self.groups.push((Group { change, lanes: [None; LANES] }, window));
            (index, own.unwrap_or(0))
        });
        self.groups[index].0.lanes[lane] = Some(offset);
        (index, lane)
    }

    /// The cost of the block in instructions, found by trial: a window needs a control, a mask, and its bytes.
    fn cost(&self, source: usize) -> usize {
        let windows = windows(self.bytes.clone(), source, self.extension.block()).len();
        if self.extension == Extension::Avx2 {
            // A load and a shuffle each, and a way to bring them together; in the end, a store.
            return (3 * windows + usize::from(self.constants != [0; BLOCK])).max(2);
        }
        let gathered = self
            .groups
            .iter()
            .map(|(group, window)| 6 * group.windows(source).len() + 3 + if window.stays() { 2 } else { 6 });
        6 * windows + gathered.sum::<usize>()
    }

    fn block(self, source: usize) -> Block<'a> {
        let mut windows = windows(self.bytes, source, self.extension.block());
        let (groups, converted): (_, Vec<Window>) = self.groups.into_iter().unzip();
        windows.extend(converted);
        let constants = (self.constants != [0; BLOCK]).then(|| self.constants.into());
        Block { groups, windows, constants }
    }
}

impl Group<'_> {
    /// Windows of the source that bring the numbers into their lanes.
    pub(super) fn windows(&self, source: usize) -> Vec<Window> {
        let numbers = self.lanes.iter().enumerate().filter_map(|(lane, offset)| offset.map(|offset| (lane, offset)));
        let bytes = numbers.flat_map(|(lane, offset)| self.change.taken(lane).map(move |(src, to)| (offset + src, to)));
        windows(bytes.collect(), source, BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers are not run here: what they become is the business of `number`.
    fn run(parts: &[Part<'_>], src: &[u8], dst: &mut [u8], width: usize) {
        for part in parts {
            match part {
                Part::Block(at, block) => {
                    let mut bytes = block.constants.as_ref().map_or([0; BLOCK], |bytes| **bytes);
                    for window in &block.windows {
                        let Space::Source(start) = window.from else { continue };
                        for to in (0..width).filter(|to| window.mask >> to & 1 == 1) {
                            bytes[to] = src[start..][usize::from(window.control[to])];
                        }
                    }
                    let room = width.min(dst.len() - at);
                    dst[*at..][..room].copy_from_slice(&bytes[..room]);
                }
                Part::Single(piece) => copy(piece, src, dst),
            }
        }
    }

    fn copy(piece: &Piece<'_>, src: &[u8], dst: &mut [u8]) {
        let place = &mut dst[piece.dst..piece.end()];
        match &piece.from {
            From::Zero => place.fill(0),
            From::Constant(bytes) => place.copy_from_slice(bytes),
            From::Number { .. } => {}
            From::Place { offset, reversed } => {
                place.copy_from_slice(&src[*offset..][..piece.length]);
                if *reversed {
                    place.reverse();
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_byte_arrives(
            fields in prop::collection::vec((0usize..5, 0usize..6, 0u8..4, any::<u32>()), 0..80),
            tails in (0usize..20, 0usize..20),
        ) {
            let (mut src, mut dst) = (0, 0);
            let mut order: Vec<usize> = (0..fields.len()).collect();
            order.sort_by_key(|&index| if fields[index].3 % 2 == 0 { u32::MAX } else { fields[index].3 });
            let mut offsets = vec![0; fields.len()];
            for index in order {
                offsets[index] = src;
                src += (1 << fields[index].0) + fields[index].1 % 2;
            }
            let pieces: Vec<Piece<'_>> = fields.iter().zip(offsets).map(|(&(width, gap, kind, _), offset)| {
                let length = 1 << width;
                let from = match kind {
                    0 => From::Zero,
                    1 => From::Constant((0..length).map(|byte| byte as u8 | 0x40).collect()),
                    _ => From::Place { offset, reversed: kind == 2 },
                };
                let piece = Piece { dst: dst + gap, length, from };
                dst += gap + length;
                piece
            }).collect();
            let body: Vec<u8> = (0..src + tails.0).map(|i| i as u8 | 1).collect();
            let size = dst + tails.1;
            let mut expected = vec![0; size];
            pieces.iter().for_each(|piece| copy(piece, &body, &mut expected));
            for &extension in Extension::ALL {
                let mut came = vec![0; size];
                let parts = parts(pieces.clone(), (body.len(), size), extension);
                run(&parts, &body, &mut came, extension.block());
                prop_assert_eq!(&came, &expected);
            }
        }
    }

    #[test]
    fn numbers_side_by_side_are_reversed_together() {
        let piece = |i: usize| Piece { dst: 4 * i, length: 4, from: From::Place { offset: 4 * i, reversed: true } };
        let control: Vec<u8> = (0..64).map(|to| to ^ 3).collect();
        let window = Window { from: Space::Source(0), control: control.try_into().unwrap(), mask: u64::MAX };
        let parts = parts((0..16).map(piece).collect(), (64, 64), Extension::Avx512);
        let [Part::Block(0, Block { groups, windows, constants: None })] = &parts[..] else { panic!("{parts:?}") };
        assert!(groups.is_empty());
        assert_eq!(windows[..], [window]);
    }
}
