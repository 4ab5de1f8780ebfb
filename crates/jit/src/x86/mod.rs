//! Generates machine code for x86-64 with AVX-512 or AVX2 directly from plans.
//!
//! A few instructions convert most records best. Bytes that lie close together are permuted 64 at a time with AVX-512
//! (`vpermb`), and 16 at a time with AVX2 (`vpshufb`). Numbers in a row change their type eight or four at a time. Arrays of up
//! to a kilobyte or two become straight code, and strings and arrays behind pointers need no call. So code is ready in
//! microseconds, and faster than code that a compiler makes of the same steps one by one. As in `portable`, the kernels
//! and the interpreter do what is rare.
//!
//! | module | what it has |
//! |---|---|
//! | `extension` | the extensions of x86-64, and the operations that each has its own instructions for |
//! | `avx512`, `avx2` | these instructions |
//! | `operand`, `assembler` | instructions as bytes |
//! | `collect` | finds the small fields of a record or element |
//! | `emit` | the vocabulary of the modules below |
//! | `block` | plans which bytes are put together, and how |
//! | `number` | which numbers are converted, and in which lanes |
//! | `scalar` | converts single numbers |
//! | `array` | arrays within the record, and loops |
//! | `pointer` | strings and arrays behind pointers |
//!
//! Steps write different bytes, so their order is free, except that
//! - blocks are stored first, since they clear the bytes between their pieces;
//! - steps that add blocks to the output keep their order.

mod array;
mod assembler;
mod avx2;
mod avx512;
mod block;
mod collect;
mod emit;
mod extension;
mod number;
mod operand;
mod pointer;
mod scalar;

use crate::call::Helper;
use crate::extension::Extension;
#[cfg(feature = "model")]
use crate::generate::is_worth_it;
use crate::generate::{CODE, Made, SHORT, is_short, pieces};
use block::{From, Part, Piece};
use collect::Collected;
use emit::{At, Emit, at};
use isoform_core::Plan;
use isoform_core::plan::{Bytes, Step, Transform};
use number::{Change, LANES};
use operand::{R13, RAX, RCX, RDI, RDX, RSI, Reg};

/// Arrays of at most this many bytes become straight code.
const STRAIGHT: usize = 2048;

/// Machine code for a plan. `None` if there is too much of it, or if only another generator supports the plan.
pub(crate) fn function(plan: &Plan) -> Option<Made> {
    made(plan, Extension::here()?.suiting(plan))
}

/// The same for any processor, whether or not it is this one, and if code is worthwhile.
#[cfg(feature = "model")]
pub(crate) fn for_any(plan: &Plan, extension: Extension) -> Option<Made> {
    if !is_worth_it(plan) {
        return None;
    }
    made(plan, extension).filter(|made| made.code.len() <= CODE)
}

fn made(plan: &Plan, extension: Extension) -> Option<Made> {
    let native = plan.native();
    if native.structure().has_slots() && native.machine().pointer != 8 {
        return None;
    }
    let alone = is_straight(plan.steps(), extension);
    let emit = Emit::new(plan, extension, !alone);
    let mut generator =
        Generator { emit, grows: native.structure().has_slots(), whole: false, trying: false, full: false };
    generator.record();
    generator.emit.finish();
    let many = alone.then(|| generator.many());
    let text = generator.emit.asm.mark().code();
    (!generator.full).then(|| Made { code: generator.emit.asm.finish(), text, alone, many })
}

/// Whether code for these steps needs no calls, no loops, and no memory for numbers between two conversions.
fn is_straight(steps: &[Step], extension: Extension) -> bool {
    steps.iter().all(|step| match step {
        Step::Move { len, .. } => *len <= STRAIGHT,
        Step::Permute { .. } => true,
        Step::Fill { bytes, .. } => bytes.len() <= SHORT,
        Step::Elements { count, transform, .. } => match transform {
            Transform::Copy(size) => size * count <= STRAIGHT,
            Transform::Swap { width, per } => extension.reverses(*width) && width * per * count <= STRAIGHT,
            Transform::Convert { conversion, per } => {
                let (change, count) = (Change::Number(conversion), count * per);
                number::is_known(conversion)
                    && (change.is_for_one_by_one(count, extension) || is_inline(change, count, extension))
            }
            Transform::Symbols(symbols) => *count < LANES && is_short(symbols),
            Transform::String | Transform::Each { .. } => false,
        },
        Step::Array(_) | Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => false,
    })
}

/// Whether this many numbers in a row become straight code.
fn is_inline(change: Change<'_>, count: usize, extension: Extension) -> bool {
    let size = usize::from(change.from().size.max(change.to().size));
    extension.converts(change) && (extension.lanes()..=STRAIGHT / size).contains(&count)
}

struct Generator<'a> {
    emit: Emit<'a>,
    /// Whether the output may grow, and so move.
    grows: bool,
    /// Whether a register holds the whole element, which is small.
    whole: bool,
    /// Whether this is a trial, whose code is discarded.
    trying: bool,
    /// Whether a limit was exceeded.
    full: bool,
}

impl Generator<'_> {
    /// Generates the steps of the whole plan.
    fn record(&mut self) {
        let plan = self.emit.plan;
        let at = self.emit.at();
        self.steps(plan.steps(), at, (plan.wire().size(), plan.native().size()));
    }

    /// Generates the same steps in a loop over records, with the constants loaded before the loop. Returns its offset.
    fn many(&mut self) -> usize {
        let start = self.emit.begin_many();
        let trial = self.emit.begin_trial();
        self.record();
        self.emit.end_trial(trial);
        let head = self.emit.head();
        self.record();
        self.emit.end_many(head);
        start
    }

    /// Generates steps on a record or element of these sizes.
    fn steps(&mut self, steps: &[Step], place: At, sizes: (usize, usize)) {
        if self.is_full() {
            return;
        }
        let mut collected = Collected::new(self.emit.extension);
        steps.iter().for_each(|step| collected.add(step));
        self.whole = false;
        let parts = block::parts(collected.pieces, sizes, self.emit.extension);
        let mut rest = &parts[..];
        while let [part, after @ ..] = rest {
            if self.is_full() {
                return;
            }
            rest = match after {
                [next, after @ ..] if self.two_blocks((part, next), place) => after,
                _ => {
                    self.part(part, place, sizes);
                    after
                }
            };
        }
        self.whole = false;
        for step in collected.others {
            if self.is_full() {
                return;
            }
            self.step(step, place);
        }
    }

    /// Whether there is more code than one plan may have. The rest is then not generated.
    fn is_full(&mut self) -> bool {
        self.full |= self.emit.asm.len() > CODE;
        self.full
    }

    /// Puts two blocks together, if that takes fewer instructions than each alone.
    fn two_blocks(&mut self, parts: (&Part<'_>, &Part<'_>), place: At) -> bool {
        match parts {
            (Part::Block(dst, one), Part::Block(next, other))
                if self.emit.extension == Extension::Avx2 && dst + avx2::BLOCK == *next =>
            {
                self.emit.blocks_32(*dst, [one, other], place)
            }
            _ => false,
        }
    }

    /// Converts a single number.
    fn number(&mut self, change: Change<'_>, (src, dst): (usize, usize), place: At, source: usize) {
        if change.is_simple() {
            return self.emit.simple(change, at(place.src, src), at(place.dst, dst));
        }
        match self.emit.extension {
            Extension::Avx512 => self.number_of_8(change, (src, dst), place, source),
            Extension::Avx2 => self.emit.alone(change, at(place.src, src), at(place.dst, dst)),
        }
    }

    fn part(&mut self, part: &Part<'_>, place: At, sizes: (usize, usize)) {
        match part {
            Part::Block(dst, block) => match self.emit.extension {
                Extension::Avx512 => self.block_64((*dst, block), place, sizes),
                Extension::Avx2 => self.block_16((*dst, block), place),
            },
            Part::Single(piece) => self.single(piece, place, sizes.0),
        }
    }

    fn single(&mut self, piece: &Piece<'_>, place: At, source: usize) {
        let Piece { dst, length, from } = piece;
        match from {
            From::Zero => self.constants(&vec![0; *length], place.dst, *dst),
            From::Constant(bytes) => self.constants(bytes, place.dst, *dst),
            From::Number { offset, change } => self.number(*change, (*offset, *dst), place, source),
            From::Place { offset, reversed } => match (length, reversed) {
                (1, _) | (_, false) => self.run((place.src, *offset), (place.dst, *dst), *length),
                (16, true) => {
                    self.reversed((place.src, *offset), (place.dst, dst + 8), 8);
                    self.reversed((place.src, offset + 8), (place.dst, *dst), 8);
                }
                (_, true) => self.reversed((place.src, *offset), (place.dst, *dst), *length),
            },
        }
    }

    fn reversed(&mut self, from: (Reg, usize), to: (Reg, usize), length: usize) {
        self.emit.asm.load_reversed(RAX, at(from.0, from.1), length);
        self.emit.asm.store(at(to.0, to.1), RAX, length);
    }

    /// Copies a run of up to some kilobytes.
    fn run(&mut self, from: (Reg, usize), to: (Reg, usize), length: usize) {
        let scratch = self.emit.scratch();
        for (offset, width) in pieces(length, self.emit.extension.vector()) {
            let (from, to) = (at(from.0, from.1 + offset), at(to.0, to.1 + offset));
            if width > 8 {
                self.emit.load_part(scratch, from, width);
                self.emit.store_part(to, scratch, width);
            } else {
                self.emit.asm.load(RAX, from, width);
                self.emit.asm.store(to, RAX, width);
            }
        }
    }

    /// Stores constant bytes.
    fn constants(&mut self, bytes: &[u8], base: Reg, dst: usize) {
        for (from, width) in pieces(bytes.len(), 8) {
            let mut number = [0; 8];
            number[..width].copy_from_slice(&bytes[from..][..width]);
            self.emit.asm.set(RAX, u64::from_le_bytes(number));
            self.emit.asm.store(at(base, dst + from), RAX, width);
        }
    }

    fn step(&mut self, step: &Step, place: At) {
        match step {
            Step::Move { src, dst, len } => self.long_run((*src, *dst), *len, place),
            Step::Fill { dst, bytes } => self.fill(bytes, place, *dst),
            Step::Elements { src, dst, count, transform, .. } => {
                if !self.elements(transform, *count, (*src, *dst), place) {
                    self.leave(step, place);
                }
            }
            Step::Array(array) if pointer::is_known(array, self.emit.extension) => self.array(step, array, place),
            _ => self.leave(step, place),
        }
    }

    fn long_run(&mut self, (src, dst): (usize, usize), length: usize, place: At) {
        if length <= STRAIGHT {
            return self.run((place.src, src), (place.dst, dst), length);
        }
        self.emit.asm.address(RDI, at(place.src, src));
        self.emit.asm.address(RSI, at(place.dst, dst));
        self.emit.asm.set(RDX, length as u64);
        self.emit.call(Helper::Copy);
    }

    /// Many constant bytes.
    fn fill(&mut self, bytes: &Bytes, place: At, dst: usize) {
        match bytes {
            Bytes::Zero(length) => {
                self.emit.asm.address(RDI, at(place.dst, dst));
                self.emit.asm.set(RSI, *length as u64);
                self.emit.call(Helper::Zero);
            }
            Bytes::Of(bytes) => {
                self.emit.asm.set(RDI, bytes.as_ptr().addr() as u64);
                self.emit.asm.address(RSI, at(place.dst, dst));
                self.emit.asm.set(RDX, bytes.len() as u64);
                self.emit.call(Helper::Copy);
            }
        }
    }

    /// Leaves a step to the interpreter, which may add blocks.
    fn leave(&mut self, step: &Step, place: At) {
        self.emit.asm.copy(RDI, R13);
        self.emit.asm.set(RSI, std::ptr::from_ref(step).addr() as u64);
        self.emit.asm.copy(RDX, place.src);
        self.emit.asm.copy(RCX, place.dst);
        self.emit.call_growing(Helper::Step);
        self.emit.misfit_if(RAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Faults, Layout, Rules, Shape};

    #[test]
    fn what_will_be_too_much_is_not_generated_to_the_end() {
        let shape = |kind| {
            let fields: String = (0..1000).map(|i| format!("  f{i}  {kind}[256]\n")).collect();
            Shape::parse(&format!("record P\n{fields}")).unwrap()
        };
        let (wire, native) = (shape("f32").on(&Layout::S390X).unwrap(), shape("f64").on(&Layout::X86_64).unwrap());
        let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap();
        for &extension in Extension::ALL {
            let emit = Emit::new(&plan, extension, false);
            let mut generator = Generator { emit, grows: false, whole: false, trying: false, full: false };
            generator.record();
            assert!(generator.full && generator.emit.asm.len() < 2 * CODE, "{} bytes", generator.emit.asm.len());
        }
    }
}
