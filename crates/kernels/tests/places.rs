//! At every level, kernels do what the portable ones do: wherever in a line of the cache their memory begins, for every
//! length up to some lines, and without a byte written beyond.

use isoform_kernels::FloatKind::{Brain, Ieee};
use isoform_kernels::NumberClass::{self, Float, Signed, Unsigned};
use isoform_kernels::{ByteOrder, Level, Mask, Number, Run, Shuffle, convert_at, swap_at};

/// A line, which is as long as the longest vector.
const LINE: usize = 64;
/// What no kernel may touch.
const BEYOND: u8 = 0xee;
/// Only one in so many places, lengths and pairs is tried by Miri.
const STEP: usize = if cfg!(miri) { 53 } else { 1 };

/// Memory of which some bytes are given to a kernel, from a place in a line on.
struct Memory(Vec<u8>);

impl Memory {
    fn new(longest: usize) -> Memory {
        Memory(vec![BEYOND; longest + 4 * LINE])
    }

    fn at(&mut self, place: usize, length: usize) -> &mut [u8] {
        let begin = LINE + self.0.as_ptr().align_offset(LINE) % LINE + place;
        &mut self.0[begin..][..length]
    }

    /// Asserts that these bytes are there and no others, and forgets them.
    fn assert_holds(&mut self, place: usize, expected: &[u8], what: std::fmt::Arguments<'_>) {
        assert_eq!(self.at(place, expected.len()), expected, "{what}");
        self.at(place, expected.len()).fill(BEYOND);
        assert!(self.0.iter().all(|&byte| byte == BEYOND), "{what}: beyond");
    }
}

/// Bytes that differ from their neighbours.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 256) as u8).collect()
}

/// Where the source and the destination begin: at every place, and at every distance from each other.
fn places() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..LINE).flat_map(|place| [(place, 0), (0, place), (place, LINE - 1 - place), (place, place)]);
    all.step_by(STEP)
}

#[test]
fn numbers_are_reversed() {
    let longest = 16 * 70;
    let (mut from, mut to, all) = (Memory::new(longest), Memory::new(longest), bytes(longest));
    for width in [2, 3, 4, 8, 10, 12, 16] {
        for count in (0..=70).step_by(STEP) {
            let src = &all[..width * count];
            let expected: Vec<u8> = src.chunks(width).flat_map(|number| number.iter().rev().copied()).collect();
            // Some lengths at every place, and all lengths at some.
            let some = if [1, 5, 17, 66].contains(&count) { 1 } else { 37 };
            for (place, there) in places().step_by(some) {
                from.at(place, src.len()).copy_from_slice(src);
                for level in Level::all() {
                    swap_at(level, width, from.at(place, src.len()), to.at(there, src.len()));
                    let what = format_args!("{level}: {count} of {width} bytes, {place} to {there}");
                    to.assert_holds(there, &expected, what);
                }
            }
        }
    }
}

const NUMBERS: [(NumberClass, u8); 12] = [
    (Signed, 1),
    (Signed, 2),
    (Signed, 4),
    (Signed, 8),
    (Unsigned, 1),
    (Unsigned, 2),
    (Unsigned, 4),
    (Unsigned, 8),
    (Float(Ieee), 2),
    (Float(Ieee), 4),
    (Float(Ieee), 8),
    (Float(Brain), 2),
];

const SWAPPED: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Little } else { ByteOrder::Big };

/// Small numbers, which fit everywhere; with something else at `odd`.
fn numbers(number: Number, count: usize, odd: usize) -> Vec<u8> {
    let size = usize::from(number.size);
    let one = |index: usize| {
        let small = [0u64, 1][usize::from(index % 3 == 1)];
        let bits = match (number.class, number.size) {
            _ if index == odd => 0xbf83_fe01_7f80_8305u64 >> (64 - 8 * size),
            (Float(Ieee), 2) => small * 0x3c00,
            (Float(Ieee), 4) => small * u64::from(1f32.to_bits()),
            (Float(Ieee), _) => small * 1f64.to_bits(),
            (Float(Brain), _) => small * 0x3f80,
            _ => small,
        };
        let bytes = bits.to_le_bytes()[..size].to_vec();
        if cfg!(target_endian = "big") { bytes.into_iter().rev().collect() } else { bytes }
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn numbers_are_converted() {
    let (mut from, mut to) = (Memory::new(8 * 70), Memory::new(8 * 70));
    let pairs = NUMBERS.iter().flat_map(|from| NUMBERS.map(|to| (*from, to)));
    for (pair, ((class, size), (to_class, to_size))) in pairs.enumerate().step_by(STEP) {
        let native = |class, size| Number { class, size, order: ByteOrder::NATIVE };
        let other = native(to_class, to_size);
        for count in (0..=70usize).step_by(STEP) {
            for swapped in [false, true] {
                // None is odd, the first, the last, or one somewhere.
                for odd in [count, 0, count.saturating_sub(1), (pair * 5 + 3) % (count + 1)] {
                    let mut number = native(class, size);
                    let mut src = numbers(number, count, odd);
                    if swapped {
                        number.order = SWAPPED;
                        src.chunks_mut(size.into()).for_each(<[u8]>::reverse);
                    }
                    let mut expected = vec![0; usize::from(to_size) * count];
                    let fits = convert_at(Level::PORTABLE, number, other, &src, &mut expected);
                    let (place, there) = ((pair + 3 * count) % LINE, (7 * pair + count) % LINE);
                    from.at(place, src.len()).copy_from_slice(&src);
                    for level in Level::all() {
                        let (src, dst) = (from.at(place, src.len()), to.at(there, expected.len()));
                        let what = format!("{level}: {count} of {number:?} to {other:?}, {place} to {there}");
                        assert_eq!(convert_at(level, number, other, src, dst), fits, "{what}");
                        if !fits {
                            dst.copy_from_slice(&expected);
                        }
                        to.assert_holds(there, &expected, format_args!("{what}"));
                    }
                }
            }
        }
    }
}

/// Numbers in turn, such as records have them.
fn runs(count: usize) -> Vec<Run> {
    let mut at = 0;
    let one = |index: usize| {
        let length = [4, 8, 2, 4, 8, 1][index % 6];
        let src = at;
        at += length;
        Run { src, dst: src, length, reversed: length > 1 && index % 5 != 3 }
    };
    (0..count).map(one).collect()
}

#[test]
fn records_are_shuffled() {
    for count in (1..=60).step_by(STEP) {
        let runs = runs(count);
        let size: usize = runs.iter().map(|run| run.length).sum();
        let (records, src) = (3, bytes(3 * size));
        let mut expected = src.clone();
        for record in expected.chunks_mut(size) {
            runs.iter().filter(|run| run.reversed).for_each(|run| record[run.dst..][..run.length].reverse());
        }
        let (mut from, mut to) = (Memory::new(src.len()), Memory::new(src.len()));
        for level in Level::all() {
            let Some(shuffle) = Shuffle::at(level, &runs) else { continue };
            for (place, there) in places() {
                from.at(place, src.len()).copy_from_slice(&src);
                shuffle.each(records, (from.at(place, src.len()), size), (to.at(there, src.len()), size));
                to.assert_holds(there, &expected, format_args!("{level}: {count} runs, {place} to {there}"));
            }
        }
    }
}

#[test]
fn fields_are_copied_and_gaps_cleared() {
    for size in (2..=150).step_by(STEP) {
        let gaps = [1..2, 5..8, 13..14, 30..37, 64..65, 100..130].map(|gap| gap.start.min(size)..gap.end.min(size));
        let src = bytes(3 * size);
        let mut expected = src.clone();
        for record in expected.chunks_mut(size) {
            gaps.iter().for_each(|gap| record[gap.clone()].fill(0));
        }
        let (mut from, mut to) = (Memory::new(src.len()), Memory::new(src.len()));
        for level in Level::all() {
            let Some(mask) = Mask::at(level, size, gaps.clone()) else { continue };
            for (place, there) in places() {
                from.at(place, src.len()).copy_from_slice(&src);
                let (src, dst) = (from.at(place, src.len()), to.at(there, src.len()));
                // SAFETY: both have three records of the mask's size, all initialised, and are different memory.
                unsafe { mask.copy(3, src.as_ptr(), dst.as_mut_ptr()) };
                to.assert_holds(there, &expected, format_args!("{level}: {size} bytes, {place} to {there}"));
            }
        }
    }
}
