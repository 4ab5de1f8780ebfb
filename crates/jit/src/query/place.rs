//! Where a path leads in a record: from the format, and from the slots and lengths that the verifier has proved.

use super::Step;
use super::emit::Emit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use isoform_core::{Dimension, Element, Field, Structure};

/// An address, with a fixed offset.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) base: Value,
    pub(super) offset: usize,
}

/// How many elements there are.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Fixed(usize),
    Counted(Value),
}

/// What a path leads to.
pub(super) struct Found<'f> {
    pub(super) element: &'f Element,
    pub(super) place: Place,
    /// The number of its elements, and the bytes from one to the next; `None` for a single value.
    pub(super) many: Option<(Count, usize)>,
    /// Whether it is an array of one dimension, and no slice; and whether that is fixed.
    pub(super) row: Option<bool>,
}

/// A field, with what is left of its dimensions.
struct Spot<'f> {
    field: &'f Field,
    dims: &'f [Dimension],
    place: Place,
    /// The structure that has the field, and where that is.
    holder: (&'f Structure, Place),
    /// The slot of an array of variable length, which may be 0.
    slot: Option<Value>,
}

impl<'f> Emit<'_, 'f> {
    /// Where a path leads. `None` if there is no code for it.
    pub(super) fn find(&mut self, steps: &[Step]) -> Option<Found<'f>> {
        let format = self.format;
        let mut structure: &'f Structure = format.structure();
        let mut holder = Place { base: self.record, offset: 0 };
        let mut spot: Option<Spot<'f>> = None;
        let mut slice = None;
        for step in steps {
            if slice.is_some() {
                return None;
            }
            match step {
                Step::Field(name) => {
                    if let Some(before) = spot.take() {
                        structure = match &before.field.element {
                            Element::Structure(inner) if before.dims.is_empty() => inner,
                            _ => return None,
                        };
                        holder = before.place;
                    }
                    spot = Some(self.field(structure, holder, structure.field(name)?)?);
                }
                Step::Index(index) => {
                    let before = spot.as_mut()?;
                    let (first, rest) = before.dims.split_first()?;
                    let inner = fixed(rest)?.checked_mul(before.field.element_size(structure.machine().pointer))?;
                    match first {
                        Dimension::Fixed(length) if index < length => {}
                        Dimension::Fixed(_) => return None,
                        Dimension::Field(_) => {
                            let (dims, holder, slot) = (std::slice::from_ref(first), before.holder, before.slot);
                            let length = self.counted(dims, holder, slot)?;
                            let beyond =
                                self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, *index as i64);
                            self.unsure_if(beyond);
                        }
                    }
                    before.place.offset = before.place.offset.checked_add(index.checked_mul(inner)?)?;
                    before.dims = rest;
                }
                Step::Slice { from, to, step } => slice = Some((*from, *to, *step)),
            }
        }
        let spot = spot?;
        let size = spot.field.element_size(structure.machine().pointer);
        let row = match (spot.dims, slice) {
            ([dimension], None) => Some(matches!(dimension, Dimension::Fixed(_))),
            _ => None,
        };
        let mut found = Found { element: &spot.field.element, place: spot.place, many: None, row };
        if spot.dims.is_empty() {
            return slice.is_none().then_some(found);
        }
        let count = match fixed(spot.dims) {
            Some(count) => Count::Fixed(count),
            None => Count::Counted(self.counted(spot.dims, spot.holder, spot.slot)?),
        };
        found.many = Some((count, size));
        let Some((from, to, step)) = slice else { return Some(found) };
        if spot.dims.len() != 1 || step == 0 {
            return None;
        }
        let stride = step.checked_mul(size)?;
        let count = match count {
            Count::Fixed(length) => {
                let to = to.unwrap_or(length).min(length);
                Count::Fixed(to.saturating_sub(from).div_ceil(step))
            }
            Count::Counted(length) => {
                let (from, step) = (self.constant(i64::try_from(from).ok()?), self.constant(i64::try_from(step).ok()?));
                let to = match to {
                    None => length,
                    Some(to) => {
                        let to = self.constant(i64::try_from(to).ok()?);
                        self.builder.ins().umin(to, length)
                    }
                };
                let from = self.builder.ins().umin(from, to);
                let length = self.builder.ins().isub(to, from);
                // Lengths and steps are below 2^63, so this does not overflow.
                let before = self.builder.ins().iadd_imm_s(step, -1);
                let length = self.builder.ins().iadd(length, before);
                Count::Counted(self.builder.ins().udiv(length, step))
            }
        };
        found.place.offset = found.place.offset.checked_add(from.checked_mul(size)?)?;
        found.many = Some((count, stride));
        Some(found)
    }

    fn field(&mut self, structure: &'f Structure, holder: Place, field: &'f Field) -> Option<Spot<'f>> {
        let machine = structure.machine();
        let offset = holder.offset.checked_add(field.offset)?;
        let mut place = Place { base: holder.base, offset };
        let mut slot = None;
        if field.indirect {
            let block = self.load_wide(holder.base, offset, usize::from(machine.pointer), machine.order, false)?;
            match field.is_dynamic() {
                true => slot = Some(block),
                false => {
                    let null = self.builder.ins().icmp_imm_s(IntCC::Equal, block, 0);
                    self.unsure_if(null);
                }
            }
            place = Place { base: self.builder.ins().iadd(self.body, block), offset: 0 };
        }
        Some(Spot { field, dims: &field.dims, place, holder: (structure, holder), slot })
    }

    /// The number of elements of dimensions of which one is dynamic: none behind a null pointer.
    fn counted(&mut self, dims: &[Dimension], holder: (&Structure, Place), slot: Option<Value>) -> Option<Value> {
        let (structure, place) = holder;
        let machine = structure.machine();
        let mut all: Option<Value> = None;
        for dim in dims {
            let length = match *dim {
                Dimension::Fixed(length) => self.constant(i64::try_from(length).ok()?),
                Dimension::Field(index) => {
                    let field = structure.fields().get(index)?;
                    let size = field.element_size(machine.pointer);
                    self.load_wide(place.base, place.offset.checked_add(field.offset)?, size, machine.order, false)?
                }
            };
            all = Some(match all {
                None => length,
                Some(before) => self.builder.ins().imul(before, length),
            });
        }
        let zero = self.builder.ins().iconst(types::I64, 0);
        Some(self.builder.ins().select(slot?, all?, zero))
    }

    /// A count as a value.
    pub(super) fn count(&mut self, count: Count) -> Option<Value> {
        match count {
            Count::Fixed(count) => Some(self.constant(i64::try_from(count).ok()?)),
            Count::Counted(count) => Some(count),
        }
    }
}

/// The number of elements of fixed dimensions.
pub(super) fn fixed(dims: &[Dimension]) -> Option<usize> {
    dims.iter().try_fold(1usize, |count, dim| match dim {
        Dimension::Fixed(length) => count.checked_mul(*length),
        Dimension::Field(_) => None,
    })
}
