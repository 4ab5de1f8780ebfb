//! Decides whether code for a plan is worthwhile: how much code it takes, and how much time goes to long loops anyway.

use super::plain::SYMBOLS;
use isoform_core::Plan;
use isoform_core::plan::{Step, Transform};

/// A plan of more pieces than this gets no code: that would take long, and gain little over the interpreter.
const PIECES: usize = 2048;
/// The most bytes of machine code for one plan.
pub(crate) const CODE: usize = 1 << 16;
/// Arrays of at most this many bytes count as pieces. Longer ones cost time and not code.
pub(crate) const SHORT: usize = 256;
/// With this many bytes of arrays for each piece of generated code, the code gains nothing.
const DOMINANT: usize = 4096;
/// At most this many elements in a row count one by one.
const FEW: usize = 4;

/// Whether a plan is neither too large for a generator nor made of long arrays alone.
pub(crate) fn is_worth_it(plan: &Plan) -> bool {
    let weight = Weight::of(plan.steps());
    let largest = weight.largest.max(plan.wire().size()).max(plan.native().size());
    // A larger offset does not fit an instruction.
    i32::try_from(largest).is_ok()
        && weight.pieces <= PIECES
        && weight.long <= DOMINANT.saturating_mul(weight.pieces.max(1))
}

/// The amount of code, and of work in long loops.
#[derive(Default)]
struct Weight {
    pieces: usize,
    /// Bytes of fixed arrays that kernels work on.
    long: usize,
    /// Bytes of the largest element.
    largest: usize,
}

impl Weight {
    fn of(steps: &[Step]) -> Weight {
        let mut weight = Weight::default();
        weight.add(steps);
        weight
    }

    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            if self.pieces > PIECES {
                return;
            }
            self.pieces += 1;
            match step {
                Step::Move { len, .. } => self.run(*len),
                Step::Permute { pairs, .. } => self.pieces += pairs.len(),
                Step::Elements { count, transform, .. } => self.transform(transform, *count),
                Step::Array(array) => {
                    self.largest = self.largest.max(array.src_size).max(array.dst_size);
                    self.transform(&array.transform, 1);
                }
                Step::Fill { bytes, .. } => self.run(bytes.len()),
                Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => {}
            }
        }
    }

    fn transform(&mut self, transform: &Transform, count: usize) {
        match transform {
            Transform::Copy(size) => self.run(size * count),
            Transform::Swap { width, per } => self.run(width * per * count),
            Transform::Convert { conversion, per } => match count * per {
                few if few <= FEW => self.pieces += 2 * few,
                many => self.run(many.saturating_mul(conversion.from.size.max(conversion.to.size).into())),
            },
            Transform::Symbols(symbols) if count <= FEW => self.pieces += symbols.map.len().min(SYMBOLS),
            Transform::Symbols(_) => self.pieces += 1,
            Transform::String => self.pieces += count.min(FEW) * 2,
            Transform::Each { src, dst, steps } => {
                self.largest = self.largest.max(*src).max(*dst);
                self.pieces += 2;
                self.add(steps);
            }
        }
    }

    fn run(&mut self, length: usize) {
        match length {
            ..=SHORT => self.pieces += length / 16,
            _ => self.long = self.long.saturating_add(length),
        }
    }
}
