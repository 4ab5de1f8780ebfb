//! The gaps and slots of a format, computed once, for code that handles its records as memory.

use isoform_core::{ByteOrder, Dimension, Element, Field, FloatKind, Structure};
use isoform_kernels::Mask;
use std::ops::Range;
use std::sync::Arc;

/// The gaps and slots of a structure, by ascending offset.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(super) size: usize,
    pub(super) gaps: Gaps,
    pub(super) slots: Box<[Slot]>,
}

/// The gaps of a structure or a number.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// Each of them, by ascending offset.
    pub(super) list: Arc<[Gap]>,
    /// The mask that copies everything but the gaps, if there is one.
    pub(super) mask: Option<Arc<Mask>>,
}

/// Bytes that belong to no field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gap {
    /// These.
    Bytes { offset: usize, len: usize },
    /// The gaps of each of `count` elements.
    Each { offset: usize, count: usize, stride: usize, gaps: Arc<[Gap]> },
}

/// A field with slots.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: Box<str>,
    pub(super) offset: usize,
    pub(super) kind: SlotKind,
}

#[derive(Debug)]
pub(super) enum SlotKind {
    /// This many consecutive pointers to strings.
    Strings { count: usize },
    /// This many structures in place, which have slots.
    Structures { count: usize, outline: Arc<Outline> },
    /// One pointer to elements.
    Pointer(Block),
}

/// The target of a pointer.
#[derive(Debug)]
pub(super) struct Block {
    /// The product of the fixed dimensions.
    pub(super) fixed: usize,
    /// The fields with the other dimensions; none if the pointer may be null whatever their values.
    pub(super) lengths: Box<[Length]>,
    /// Bytes of an element.
    pub(super) stride: usize,
    /// The offset of the block in a body is a multiple of this.
    pub(super) align: usize,
    pub(super) elements: Elements,
}

#[derive(Debug)]
pub(super) enum Elements {
    /// Elements without slots. They may have gaps.
    Leaves(Gaps),
    /// Pointers to strings.
    Strings,
    /// Structures with slots.
    Structures(Arc<Outline>),
}

/// A field with a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) offset: usize,
    pub(super) size: u8,
    pub(super) signed: bool,
}

impl Outline {
    pub(crate) fn new(structure: &Structure) -> Outline {
        let pointer = structure.machine().pointer;
        let mut gaps = Vec::new();
        let mut slots = Vec::new();
        let mut end = 0;
        for field in structure.fields() {
            let inner = match &field.element {
                Element::Structure(inner) => Some(Arc::new(Outline::new(inner))),
                _ => None,
            };
            let element_size = field.element_size(pointer);
            push_gap(&mut gaps, end, field.offset - end);
            end = field.offset + field.extent(pointer).unwrap_or(0);
            let own_gaps = || Gaps::of(element_size, element_gaps(&field.element, structure.machine().order));
            let each = inner.as_ref().map_or_else(own_gaps, |inner| inner.gaps.clone());
            let count = field.fixed_count().unwrap_or(0);
            if !field.indirect {
                push_each(&mut gaps, field.offset, count, element_size, &each.list);
            }
            if !field.has_slots() {
                continue;
            }
            let kind = match inner {
                _ if field.indirect => SlotKind::Pointer(Block::of(field, structure, inner, each)),
                Some(outline) => SlotKind::Structures { count, outline },
                None => SlotKind::Strings { count },
            };
            slots.push(Slot { name: field.name.clone(), offset: field.offset, kind });
        }
        push_gap(&mut gaps, end, structure.size() - end);
        Outline { size: structure.size(), gaps: Gaps::of(structure.size(), gaps.into()), slots: slots.into() }
    }

    /// The largest alignment of a block.
    pub(crate) fn block_align(&self) -> usize {
        let of = |slot: &Slot| match &slot.kind {
            SlotKind::Strings { .. } => 1,
            SlotKind::Structures { outline, .. } => outline.block_align(),
            SlotKind::Pointer(block) => match &block.elements {
                Elements::Structures(outline) => block.align.max(outline.block_align()),
                Elements::Leaves(_) | Elements::Strings => block.align,
            },
        };
        self.slots.iter().map(of).max().unwrap_or(1)
    }

    /// The runs of bytes between gaps, if the list is short.
    pub(super) fn runs(&self) -> Option<Vec<(usize, usize)>> {
        let mut runs = Vec::new();
        let mut begin = 0;
        for gap in self.gaps.list.iter() {
            let Gap::Bytes { offset, len } = *gap else { return None };
            runs.push((begin, offset - begin));
            begin = offset + len;
        }
        runs.push((begin, self.size - begin));
        runs.retain(|run| run.1 > 0);
        Some(runs)
    }
}

impl Gaps {
    /// The gaps in `size` bytes.
    fn of(size: usize, list: Arc<[Gap]>) -> Gaps {
        let mut bytes = Vec::new();
        let few = !list.is_empty() && list.iter().all(|gap| gap.places(0, &mut bytes));
        let mask = if few { Mask::new(size, bytes) } else { None };
        Gaps { list, mask: mask.map(Arc::new) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A mask distinguishes at most this many gaps.
const PLACES: usize = 1 << 13;

impl Gap {
    /// Adds the gap at its place relative to `base`, unless there are too many places.
    fn places(&self, base: usize, all: &mut Vec<Range<usize>>) -> bool {
        match self {
            Gap::Bytes { offset, len } => {
                all.push(base + offset..base + offset + len);
                all.len() <= PLACES
            }
            Gap::Each { offset, count, stride, gaps } => {
                (0..*count).all(|i| gaps.iter().all(|gap| gap.places(base + offset + i * stride, all)))
            }
        }
    }
}

impl Block {
    fn of(field: &Field, structure: &Structure, inner: Option<Arc<Outline>>, each: Gaps) -> Block {
        let mut lengths = Vec::new();
        let mut fixed = 1;
        for dim in &field.dims {
            match *dim {
                Dimension::Fixed(n) => fixed *= n,
                Dimension::Field(index) => lengths.push(Length::of(&structure.fields()[index])),
            }
        }
        let elements = match inner {
            _ if field.element == Element::String => Elements::Strings,
            Some(inner) if !inner.slots.is_empty() => Elements::Structures(inner),
            _ => Elements::Leaves(each),
        };
        let (stride, align) = (field.element_size(structure.machine().pointer), field.element.block_alignment());
        Block { fixed, lengths: lengths.into(), stride, align, elements }
    }
}

impl Length {
    fn of(field: &Field) -> Length {
        let (size, signed) = match field.element {
            Element::Integer { signed, size } => (size, signed),
            _ => (0, false), // not reached: a structure admits only integers
        };
        Length { offset: field.offset, size, signed }
    }
}

/// The gaps within one number.
fn element_gaps(element: &Element, order: ByteOrder) -> Arc<[Gap]> {
    match element {
        Element::Float { kind: FloatKind::X87, size } => x87_gaps((*size).into(), 1, order),
        Element::Complex { kind: FloatKind::X87, size } => x87_gaps((*size).into(), 2, order),
        _ => Arc::new([]),
    }
}

/// An x87 number has 10 bytes: the first of its slot, or the last on a big-endian machine. The rest of the slot is a
/// gap.
fn x87_gaps(size: usize, count: usize, order: ByteOrder) -> Arc<[Gap]> {
    let first = if order == ByteOrder::Big { 0 } else { 10 };
    let mut gaps = Vec::new();
    (0..count).for_each(|part| push_gap(&mut gaps, part * size + first, size - 10));
    gaps.into()
}

fn push_each(gaps: &mut Vec<Gap>, offset: usize, count: usize, stride: usize, each: &Arc<[Gap]>) {
    if each.is_empty() {
        return;
    }
    if count > 1 {
        return gaps.push(Gap::Each { offset, count, stride, gaps: each.clone() });
    }
    for gap in each.iter() {
        match gap {
            Gap::Bytes { offset: inner, len } => push_gap(gaps, offset + inner, *len),
            Gap::Each { offset: inner, count, stride, gaps: each } => {
                gaps.push(Gap::Each { offset: offset + inner, count: *count, stride: *stride, gaps: each.clone() });
            }
        }
    }
}

fn push_gap(gaps: &mut Vec<Gap>, offset: usize, len: usize) {
    match gaps.last_mut() {
        _ if len == 0 => {}
        Some(Gap::Bytes { offset: before, len: size }) if *before + *size == offset => *size += len,
        _ => gaps.push(Gap::Bytes { offset, len }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{FieldList, Layout};

    #[test]
    fn gaps_of_nested_structures_are_found() {
        let machine = Layout::X86_64.machine();
        let inner = FieldList::new("inner").field("a", "char", 1, 0).field("b", "integer", 4, 4);
        let inner = inner.structure(machine, 8, 4).unwrap();
        let outer = FieldList::new("outer")
            .nested(inner)
            .field("c", "char", 1, 0)
            .field("one", "inner", 8, 4)
            .field("many", "inner[3]", 8, 12)
            .field("x", "x87", 16, 48)
            .structure(machine, 64, 16)
            .unwrap();
        let outline = Outline::new(&outer);
        let each = vec![Gap::Bytes { offset: 1, len: 3 }];
        assert_eq!(
            *outline.gaps.list,
            [
                Gap::Bytes { offset: 1, len: 3 },
                Gap::Bytes { offset: 5, len: 3 },
                Gap::Each { offset: 12, count: 3, stride: 8, gaps: each.into() },
                Gap::Bytes { offset: 36, len: 12 },
                Gap::Bytes { offset: 58, len: 6 },
            ]
        );
        assert_eq!(outline.runs(), None);
    }

    #[test]
    fn the_gap_of_an_x87_number_is_behind_it_or_before_it() {
        for (layout, gaps) in [(Layout::I386, [10, 22]), (Layout::S390X, [0, 12])] {
            let fields = FieldList::new("r").field("z", "complex x87", 24, 0);
            let outline = Outline::new(&fields.structure(layout.machine(), 24, 4).unwrap());
            assert_eq!(*outline.gaps.list, gaps.map(|offset| Gap::Bytes { offset, len: 2 }), "{}", layout.name);
        }
    }

    #[test]
    fn runs_lie_between_gaps() {
        let list = FieldList::new("r").field("a", "integer", 4, 4).field("b", "float", 8, 8).field("c", "char", 1, 24);
        let structure = list.structure(Layout::X86_64.machine(), 32, 8).unwrap();
        assert_eq!(Outline::new(&structure).runs(), Some(vec![(4, 12), (24, 1)]));
    }
}
