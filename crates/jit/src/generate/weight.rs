//! Whether code for a plan is worth its while: how much there is to generate, and how much is left to long loops anyway.

use super::plain::SYMBOLS;
use isoform_core::Plan;
use isoform_core::plan::{Step, Transform};

/// A plan of more pieces than this is not generated: that would take long, and the interpreter has little to lose.
const PIECES: usize = 2048;
/// Bytes of machine code that one plan may have.
pub(crate) const CODE: usize = 1 << 16;
/// Arrays of up to so many bytes are counted as pieces; longer ones cost time rather than code.
pub(crate) const SHORT: usize = 256;
/// Beside so many bytes of arrays for each piece of generated code, nothing is gained by it.
const DOMINANT: usize = 4096;
/// So many elements in a row are counted one by one.
const FEW: usize = 4;

/// Whether a plan is neither too large for a generator nor made of long arrays alone.
pub(crate) fn is_worth_it(plan: &Plan) -> bool {
    let weight = Weight::of(plan.steps());
    let largest = weight.largest.max(plan.wire().size()).max(plan.native().size());
    // What begins further into a record or element has no place in an instruction.
    i32::try_from(largest).is_ok()
        && weight.pieces <= PIECES
        && weight.long <= DOMINANT.saturating_mul(weight.pieces.max(1))
}

/// How much there is to generate, and to do in long loops.
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
