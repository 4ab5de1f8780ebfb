//! Plans that can be run within the memory of their source, as the papers' conversions reuse the receive buffer
//! (000 §4.3.1, 001 §3.3).
//!
//! That takes a record that becomes no longer, whose parts stay where they are or move towards its start, and whose conversion
//! cannot fail: bytes are moved and their order is reversed, and what is missing has a default. Blocks stay where they are, so
//! strings cost nothing, and arrays behind pointers are reversed in their blocks.

use super::step::{Array, Bytes, Count, Place, Step, Transform};
use super::{Plan, Steps};

/// The work of a plan, in an order that suits source and destination in the same memory.
#[derive(Clone, Debug)]
pub struct Within {
    /// The arrays behind pointers whose elements are reversed. They are done first, while lengths and slots are as they came.
    pub(crate) blocks: Box<[Elements]>,
    /// The parts of the record, by ascending destination. None reads what one before it has written, as all read at or above
    /// the place to which they write.
    pub(crate) parts: Box<[Part]>,
    least: usize,
}

/// Elements behind a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    pub(crate) slot: usize,
    pub(crate) dims: Box<[Count]>,
    /// The bytes of a number, and the numbers in an element.
    pub(crate) width: usize,
    pub(crate) per: usize,
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Fill { dst: usize, bytes: Bytes },
    Numbers(Numbers),
}

/// Numbers that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) width: usize,
    pub(crate) count: usize,
    pub(crate) swap: bool,
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        self.width * self.count
    }
}

impl Part {
    fn dst(&self) -> usize {
        match self {
            Part::Fill { dst, .. } | Part::Numbers(Numbers { dst, .. }) => *dst,
        }
    }
}

impl Within {
    /// The work of a plan, if it can be done within its source.
    pub fn of(plan: &Plan) -> Option<Within> {
        let (wire, native) = (plan.wire(), plan.native());
        let pointers = !native.structure().has_slots() || wire.machine().pointer == native.machine().pointer;
        if plan.is_direct() || native.size() > wire.size() || !pointers {
            return None;
        }
        let mut made = Making { plan, blocks: Vec::new(), parts: Vec::new(), lengths: Vec::new(), slots: 0 };
        made.steps(plan.steps())?;
        let Making { blocks, mut parts, slots, .. } = made;
        parts.sort_by_key(Part::dst);
        let mut merged: Vec<Part> = Vec::new();
        for part in parts {
            match (merged.last_mut(), &part) {
                (Some(Part::Numbers(last)), Part::Numbers(next)) if follows(last, next) => last.count += next.count,
                _ => merged.push(part),
            }
        }
        let least = (ONCE + EACH * merged.len()).saturating_sub(BLOCK * slots);
        Some(Within { blocks: blocks.into(), parts: merged.into(), least })
    }

    /// From so many bytes of a body on, this is faster than a conversion to elsewhere.
    pub fn least(&self) -> usize {
        self.least
    }
}

/// Generated code for a conversion to elsewhere is faster for few bytes, as that has no parts, and slower for many, as it touches
/// twice the memory. These bytes make up for what this costs once, and for each part; and what it saves for each pointer, whose block
/// need not be copied. (Measured with AVX-512 and AVX2, by the engine `within` of the benchmark's group `receive`.)
const ONCE: usize = 4096;
const EACH: usize = 256;
const BLOCK: usize = 1536;

/// Whether numbers continue those before them.
fn follows(last: &Numbers, next: &Numbers) -> bool {
    let end = (last.src + last.len(), last.dst + last.len());
    end == (next.src, next.dst) && (last.width, last.swap) == (next.width, next.swap)
}

struct Making<'p> {
    plan: &'p Plan,
    blocks: Vec<Elements>,
    parts: Vec<Part>,
    /// The lengths that have been converted: their places in the source and in the destination.
    lengths: Vec<(usize, usize)>,
    /// How many pointers there are.
    slots: usize,
}

impl Making<'_> {
    fn steps(&mut self, steps: &Steps) -> Option<()> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Move { src, dst, len } => self.numbers(*src, *dst, (1, *len), false),
            Step::Permute { width, swap, pairs } => {
                pairs.iter().try_for_each(|&(src, dst)| self.numbers(src, dst, (*width, 1), *swap))
            }
            Step::Elements { src, dst, count, transform, .. } => match transform {
                Transform::Copy(size) => self.numbers(*src, *dst, (1, size * count), false),
                Transform::Swap { width, per } => self.numbers(*src, *dst, (*width, per * count), true),
                Transform::String => self.slots(*src, *dst, *count),
                Transform::Convert { .. } | Transform::Symbols(_) | Transform::Each { .. } => None,
            },
            Step::Array(array) => self.array(array),
            Step::Fill { dst, bytes } => {
                self.parts.push(Part::Fill { dst: *dst, bytes: bytes.clone() });
                Some(())
            }
            Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => None,
        }
    }

    fn numbers(&mut self, src: usize, dst: usize, (width, count): (usize, usize), swap: bool) -> Option<()> {
        self.parts.push(Part::Numbers(Numbers { src, dst, width, count, swap: swap && width > 1 }));
        (src >= dst).then_some(())
    }

    /// Pointers, which stay offsets of the same blocks.
    fn slots(&mut self, src: usize, dst: usize, count: usize) -> Option<()> {
        let (from, to) = (self.plan.wire().machine(), self.plan.native().machine());
        self.slots += count;
        self.numbers(src, dst, (from.pointer.into(), count), from.order != to.order)
    }

    /// An array behind a pointer on both sides, with as many elements of the same size. By verification, its slot is null
    /// exactly if there are no elements, if that depends on the record.
    fn array(&mut self, array: &Array) -> Option<()> {
        let (Place::Slot(src), Place::Slot(dst)) = (array.src, array.dst) else { return None };
        // Blocks of any format are aligned to at least 8.
        if array.src_size != array.dst_size || array.align > 8 {
            return None;
        }
        for extent in &array.dims {
            match (extent.src, extent.dst) {
                (Count::Fixed(came), Count::Fixed(room)) if came == room => {}
                (Count::Field { at, size, signed }, Count::Field { at: to, size: room, signed: below_zero })
                    if size == room && (signed || !below_zero || size == 8) =>
                {
                    if extent.agree {
                        // Both arrays have one length, so there is nothing to compare.
                        self.lengths.contains(&(at, to)).then_some(())?;
                        continue;
                    }
                    let swap = self.plan.wire().machine().order != self.plan.native().machine().order;
                    self.numbers(at, to, (size.into(), 1), swap)?;
                    self.lengths.push((at, to));
                }
                _ => return None,
            }
        }
        match array.transform {
            Transform::Copy(_) => {}
            Transform::Swap { width, per } => {
                let dims = array.dims.iter().map(|extent| extent.src).collect();
                self.blocks.push(Elements { slot: src, dims, width, per });
            }
            _ => return None,
        }
        self.slots(src, dst, 1)
    }
}
