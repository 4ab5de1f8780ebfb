//! Bodies of records straight from JSON, without a tree of values in between.
//!
//! This reads what nearly all records look like: all entries are there, in the order of the fields. It declines whatever is
//! rare or wrong, and then [`parse`](super::parse()) and [`value`](crate::value) judge the text: they have all rules of
//! `spec/text.md`, and the words for what is wrong. So all that has to hold here is that a body is the one that they would make.

use super::cursor::Cursor;
use super::entries::{Kind, Number, with_type};
use crate::format::{ByteOrder, Dimension, Element, Field, Format, Machine, Structure, integer_range};
use crate::limits::Limits;

/// Deeper values are left to the tree, which has a limit.
const DEPTH: usize = 64;

/// The body of a record that has no surprises.
pub(super) fn body(format: &Format, text: &str) -> Option<Vec<u8>> {
    let structure = format.structure();
    let mut bytes = Vec::new();
    Limits::default().admit_message(structure.size() as u64).ok()?;
    bytes.try_reserve_exact(structure.size()).ok()?;
    bytes.resize(structure.size(), 0);
    let mut reader = Reader { cursor: Cursor::new(text), machine: structure.machine(), bytes, lengths: Vec::new() };
    reader.object(structure, 0, 0)?;
    reader.cursor.space();
    reader.cursor.is_at_end().then_some(())?;
    Limits::default().admit_message(reader.bytes.len() as u64).ok()?;
    Some(reader.bytes)
}

struct Reader<'t> {
    cursor: Cursor<'t>,
    machine: Machine,
    /// The body so far.
    bytes: Vec<u8>,
    /// Of the arrays of the objects that are being read: the field of the length, and the elements that came.
    lengths: Vec<(usize, usize)>,
}

impl Reader<'_> {
    /// An object with all entries, in order, for the record of a structure at this place of the body.
    fn object(&mut self, structure: &Structure, at: usize, depth: usize) -> Option<()> {
        (depth < DEPTH).then_some(())?;
        self.cursor.pass(b'{')?;
        let outer = self.lengths.len();
        let mut is_first = true;
        for (entry, field) in structure.entries().iter().zip(structure.fields()) {
            self.cursor.expect(entry.label, is_first)?;
            is_first = false;
            self.space();
            let place = at + field.offset;
            match entry.kind {
                Kind::Number(number) => self.number(number, place)?,
                Kind::Element => self.element(&field.element, place, depth)?,
                Kind::Numbers(_) | Kind::Field if !field.indirect => {
                    self.array(&field.element, &field.dims, place, depth)?
                }
                Kind::Numbers(_) | Kind::Field => self.behind_pointer(field, place, depth)?,
            }
        }
        self.cursor.pass(b'}')?;
        // All lengths have come. Where they are not those of the arrays, the tree has the words.
        while self.lengths.len() > outer {
            let (index, count) = self.lengths.pop()?;
            let field = &structure.fields()[index];
            let Element::Integer { signed, size } = field.element else { return None };
            let found = self.machine.read(&self.bytes[at + field.offset..][..usize::from(size)]);
            (found == count as u64 && count as i128 <= integer_range(signed, size).1).then_some(())?;
        }
        Some(())
    }

    #[inline]
    fn space(&mut self) {
        if self.cursor.peek().is_some_and(|byte| byte <= b' ') {
            self.cursor.space();
        }
    }

    #[inline]
    fn number(&mut self, number: Number, place: usize) -> Option<()> {
        let Reader { cursor, machine, bytes, .. } = self;
        macro_rules! one {
            ($type:ident) => {
                *bytes[place..].first_chunk_mut()? = <$type>::parse(cursor)?.placed(machine.order)
            };
        }
        with_type!(number, one);
        Some(())
    }

    /// An array in place, or a single element if it has no dimensions.
    fn array(&mut self, element: &Element, dims: &[Dimension], place: usize, depth: usize) -> Option<()> {
        let (first, inner) = match dims {
            [] => return self.element(element, place, depth),
            [Dimension::Fixed(first), inner @ ..] => (*first, inner),
            _ => return None,
        };
        if *element == Element::Char && inner.is_empty() {
            let text = self.cursor.string()?;
            self.bytes[place..][..first].get_mut(..text.len())?.copy_from_slice(&text);
            return Some(());
        }
        let mut stride = element.size(self.machine.pointer);
        for dim in inner {
            let Dimension::Fixed(count) = dim else { return None };
            stride *= count;
        }
        self.cursor.pass(b'[')?;
        let number = Number::of(element).filter(|_| inner.is_empty());
        for i in 0..first {
            if i > 0 {
                self.cursor.pass(b',')?;
            }
            self.space();
            match number {
                Some(number) => self.number(number, place + i * stride)?,
                None => self.array(element, inner, place + i * stride, depth + 1)?,
            }
        }
        self.cursor.pass(b']')
    }

    /// A pointer to a single element, or to an array of numbers of one dimension.
    fn behind_pointer(&mut self, field: &Field, place: usize, depth: usize) -> Option<()> {
        let size = field.element.size(self.machine.pointer);
        match *field.dims {
            [] if self.cursor.peek() == Some(b'n') => self.cursor.word("null"),
            [] => {
                let block = self.block(field.element.block_alignment(), size)?;
                self.slot(place, block);
                self.element(&field.element, block, depth)
            }
            [Dimension::Field(length)] => {
                let count = self.numbers(field, place)?;
                self.lengths.push((length, count));
                Some(())
            }
            _ => None,
        }
    }

    /// An array of any number of numbers, and how many came.
    fn numbers(&mut self, field: &Field, place: usize) -> Option<usize> {
        let number = Number::of(&field.element)?;
        self.cursor.pass(b'[')?;
        if self.cursor.passes(b']') {
            return Some(0);
        }
        let block = self.block(field.element.block_alignment(), 0)?;
        self.slot(place, block);
        let Reader { cursor, machine, bytes, .. } = self;
        macro_rules! all {
            ($type:ident) => {
                loop {
                    cursor.space();
                    bytes.extend_from_slice(&<$type>::parse(cursor)?.placed(machine.order));
                    if !cursor.passes(b',') {
                        break;
                    }
                }
            };
        }
        with_type!(number, all);
        cursor.pass(b']')?;
        Some((bytes.len() - block) / field.element.size(machine.pointer))
    }

    /// A single element in place.
    fn element(&mut self, element: &Element, place: usize, depth: usize) -> Option<()> {
        let size = element.size(self.machine.pointer);
        match element {
            Element::Structure(inner) => self.object(inner, place, depth + 1),
            Element::String if self.cursor.peek() == Some(b'n') => self.cursor.word("null"),
            Element::String => {
                let text = self.cursor.string().filter(|text| memchr::memchr(0, text).is_none())?;
                let block = self.block(8, text.len() + 1)?;
                self.slot(place, block);
                self.bytes[block..][..text.len()].copy_from_slice(&text);
                Some(())
            }
            Element::Boolean { .. } => {
                let truth = self.cursor.peek() == Some(b't');
                self.cursor.word(if truth { "true" } else { "false" })?;
                self.machine.write(&mut self.bytes[place..][..size], truth.into());
                Some(())
            }
            Element::Enumeration(enumeration) => {
                let value = enumeration.value(self.cursor.plain()?)?;
                self.machine.write(&mut self.bytes[place..][..size], value as u64);
                Some(())
            }
            Element::Char => match *self.cursor.string()? {
                [] => Some(()),
                [byte] => {
                    self.bytes[place] = byte;
                    Some(())
                }
                _ => None,
            },
            _ => self.number(Number::of(element)?, place),
        }
    }

    /// Room for a block of zeros at the end of the body.
    fn block(&mut self, align: usize, length: usize) -> Option<usize> {
        let at = self.bytes.len().next_multiple_of(align);
        let end = at.checked_add(length)?;
        Limits::default().admit_message(end as u64).ok()?;
        self.bytes.resize(end, 0);
        Some(at)
    }

    fn slot(&mut self, place: usize, block: usize) {
        self.machine.write(&mut self.bytes[place..][..usize::from(self.machine.pointer)], block as u64);
    }
}

/// The types of the numbers for which there are loops.
trait Parsed: Sized {
    type Bytes;

    fn parse(cursor: &mut Cursor<'_>) -> Option<Self>;

    fn placed(self, order: ByteOrder) -> Self::Bytes;
}

macro_rules! parsed {
    ($($type:ident)*, $cursor:ident, $parse:expr) => {$(
        impl Parsed for $type {
            type Bytes = [u8; size_of::<$type>()];

            #[inline]
            fn parse($cursor: &mut Cursor<'_>) -> Option<$type> {
                $parse
            }

            #[inline]
            fn placed(self, order: ByteOrder) -> Self::Bytes {
                match order {
                    ByteOrder::Little => self.to_le_bytes(),
                    ByteOrder::Big => self.to_be_bytes(),
                }
            }
        }
    )*};
}

parsed!(i8 i16 i32 u8 u16 u32, cursor, cursor.integer()?.signed()?.try_into().ok());
parsed!(i64, cursor, cursor.integer()?.signed());
parsed!(u64, cursor, cursor.integer().filter(|integer| !integer.negative).map(|integer| integer.magnitude));
parsed!(f32, cursor, cursor.decimal()?.single());
parsed!(f64, cursor, cursor.decimal()?.double());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::{Layout, Shape};
    use crate::text::json;
    use crate::value;

    /// Records as most are need no tree; and what is rare is left to it.
    #[test]
    fn what_needs_no_tree() {
        let cell = Shape::new("cell").field("kind", "i8").field("x", "double").field("name", "string");
        let shape = Shape::new("r").nested(cell).field("n", "int").field("xs", "float[n]").field("cells", "cell[2]");
        let shape = shape.field("state", "enum{bad=-1,good=1}").field("on", "bool").field("label", "char[8]");
        let shape = shape.field("grid", "i16[2][2]").field("next", "cell*").field("c", "char").field("key", "u64");
        let good = concat!(
            r#"{"n":2,"xs":[0.1,-1e3],"cells":[{"kind":-7,"x":12.5,"name":"Grüße\n"},{"kind":0,"x":1e300,"name":null}],"#,
            r#""state":"good","on":true,"label":"abc","grid":[[1,2],[3,4]],"next":{"kind":1,"x":2,"name":""},"c":"x","key":1}"#
        );
        for layout in [Layout::X86_64, Layout::SPARC] {
            let format = shape.on(&layout).unwrap();
            let by_tree = |text: &str| value::body(&format, &json::parse(&format, text).unwrap()).unwrap();
            for text in
                [good.into(), good.replace(',', ", ").replace(':', ": "), good.replace("[0.1,-1e3]", "[\n0.1 , -1e3 ]")]
            {
                assert_eq!(body(&format, &text), Some(by_tree(&text)), "{text}");
            }
            for (old, new) in [
                ("\"n\":2,", ""),
                ("-7", "128"),
                ("\"n\":2", "\"n\":3"),
                ("true", "1"),
                ("12.5", "\"NaN\""),
                ("abc", "123456789"),
            ] {
                assert_eq!(body(&format, &good.replace(old, new)), None, "{new}");
            }
            assert_eq!(body(&format, &format!("{good}x")), None);
        }
    }
}
