//! The canonical bytes of a format (`spec/format.md`): one spelling for each format, the same on every machine.
//!
//! Structures are listed before those that nest them, the record itself last, so that every size is known when it is
//! needed; fields say the gap before them instead of an offset, so that overlapping fields cannot be written at all.

use super::element::{Element, Enumeration};
use super::machine::Machine;
use super::structure::{Dimension, Field, Structure, check_name};
use crate::error::{Code, Error, Result};
use crate::limits::{MAX_DESCRIPTION, MAX_RANK, MAX_RECORD, too_long_a_description};
use isoform_kernels::{ByteOrder, FloatKind};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

const VERSION: u8 = 1;

const BIG_ENDIAN: u8 = 1;
const WIDE_POINTERS: u8 = 2;

/// Kinds of elements, and what else a tag says.
mod tag {
    use isoform_kernels::FloatKind;

    pub(super) const SIGNED: u8 = 1;
    pub(super) const UNSIGNED: u8 = 2;
    pub(super) const CHAR: u8 = 11;
    pub(super) const BOOLEAN: u8 = 12;
    pub(super) const SIGNED_ENUMERATION: u8 = 13;
    pub(super) const UNSIGNED_ENUMERATION: u8 = 14;
    pub(super) const STRING: u8 = 15;
    pub(super) const STRUCTURE: u8 = 16;
    /// The first that is reserved for a further float, up to 24: odd ones for floats, even ones for their complex numbers.
    pub(super) const NEXT_FLOATS: u8 = 17 + 2 * (FloatKind::ALL.len() as u8 - 4);
    pub(super) const NEXT_OTHERS: u8 = 25; // .. 31: reserved
    /// The kinds of a float and of its complex number.
    pub(super) const fn floats(kind: FloatKind) -> (u8, u8) {
        match kind {
            FloatKind::Ieee => (3, 7),
            FloatKind::Brain => (4, 8),
            FloatKind::X87 => (5, 9),
            FloatKind::Double2 => (6, 10),
        }
    }
    pub(super) const MASK: u8 = 0x1f;
    pub(super) const HAS_DIMS: u8 = 0x20;
    pub(super) const INDIRECT: u8 = 0x40;
    pub(super) const HAS_UNIT: u8 = 0x80;
}

/// The canonical bytes of a [`Format`](super::Format).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Description(Box<[u8]>);

impl Description {
    /// The bytes, at most 64 KiB.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn of(root: &Arc<Structure>) -> Result<Description> {
        let mut writer = Writer::default();
        writer.structure(root)?;
        let Machine { order, pointer } = root.machine();
        let big = if order == ByteOrder::Big { BIG_ENDIAN } else { 0 };
        let wide = if pointer == 8 { WIDE_POINTERS } else { 0 };
        let mut bytes = vec![VERSION, big | wide];
        varint(&mut bytes, writer.structures.len() as u64);
        writer.structures.iter().for_each(|structure| bytes.extend_from_slice(structure));
        if bytes.len() > MAX_DESCRIPTION {
            return Err(too_long_a_description(MAX_DESCRIPTION, bytes.len()).at(root.name()));
        }
        Ok(Description(bytes.into()))
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Description({} bytes)", self.0.len())
    }
}

/// Collects the definitions of structures, each after those that it nests.
#[derive(Default)]
struct Writer<'a> {
    structures: Vec<Vec<u8>>,
    by_name: HashMap<&'a str, usize>,
    /// A structure that is nested in many places is mostly one object in memory. It is then written only once:
    /// otherwise a record with 4,000 fields of one large enumeration would cost 4,000 times its size.
    by_address: HashMap<*const Structure, usize>,
}

impl<'a> Writer<'a> {
    fn structure(&mut self, structure: &'a Structure) -> Result<usize> {
        if let Some(&index) = self.by_address.get(&std::ptr::from_ref(structure)) {
            return Ok(index);
        }
        let index = self.write(structure)?;
        self.by_address.insert(structure, index);
        Ok(index)
    }

    fn write(&mut self, structure: &'a Structure) -> Result<usize> {
        let mut bytes = Vec::new();
        text(&mut bytes, structure.name());
        varint(&mut bytes, structure.size() as u64);
        bytes.push(structure.align().trailing_zeros() as u8);
        varint(&mut bytes, structure.fields().len() as u64);
        let pointer = structure.machine().pointer;
        let mut end = 0;
        for field in structure.fields() {
            self.field(&mut bytes, field, field.offset - end)?;
            end = field.offset + field.extent(pointer).unwrap_or(0);
        }
        if let Some(&index) = self.by_name.get(structure.name()) {
            if self.structures[index] == bytes {
                return Ok(index);
            }
            let error = Error::new(Code::Declaration).found("two different structures of this name");
            return Err(error.at(structure.name()));
        }
        self.by_name.insert(structure.name(), self.structures.len());
        self.structures.push(bytes);
        Ok(self.structures.len() - 1)
    }

    fn field(&mut self, bytes: &mut Vec<u8>, field: &'a Field, gap: usize) -> Result<()> {
        text(bytes, &field.name);
        varint(bytes, gap as u64);
        let has_dims = if field.dims.is_empty() { 0 } else { tag::HAS_DIMS };
        let indirect = if field.indirect { tag::INDIRECT } else { 0 };
        let has_unit = if field.unit.is_some() { tag::HAS_UNIT } else { 0 };
        let flags = has_dims | indirect | has_unit;
        match &field.element {
            Element::Integer { signed: true, size } => bytes.extend([tag::SIGNED | flags, *size]),
            Element::Integer { signed: false, size } => bytes.extend([tag::UNSIGNED | flags, *size]),
            Element::Float { kind, size } => bytes.extend([tag::floats(*kind).0 | flags, *size]),
            Element::Complex { kind, size } => bytes.extend([tag::floats(*kind).1 | flags, *size]),
            Element::Char => bytes.push(tag::CHAR | flags),
            Element::Boolean { size } => bytes.extend([tag::BOOLEAN | flags, *size]),
            Element::Enumeration(enumeration) => self.enumeration(bytes, enumeration, flags),
            Element::String => bytes.push(tag::STRING | flags),
            Element::Structure(inner) => {
                let index = self.structure(inner)?;
                bytes.push(tag::STRUCTURE | flags);
                varint(bytes, index as u64);
            }
        }
        if !field.dims.is_empty() {
            varint(bytes, field.dims.len() as u64);
            for dim in &field.dims {
                match *dim {
                    Dimension::Fixed(n) => varint(bytes, (n as u64) << 1),
                    Dimension::Field(index) => varint(bytes, (index as u64) << 1 | 1),
                }
            }
        }
        if let Some(unit) = &field.unit {
            text(bytes, unit);
        }
        Ok(())
    }

    fn enumeration(&mut self, bytes: &mut Vec<u8>, enumeration: &Enumeration, flags: u8) {
        let kind = if enumeration.signed() { tag::SIGNED_ENUMERATION } else { tag::UNSIGNED_ENUMERATION };
        bytes.extend([kind | flags, enumeration.size()]);
        varint(bytes, enumeration.symbols().len() as u64);
        for symbol in enumeration.symbols() {
            text(bytes, &symbol.name);
            match enumeration.signed() {
                true => varint(bytes, zigzag(symbol.value as i64)),
                false => varint(bytes, symbol.value as u64),
            }
        }
    }
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads a description, which may not be canonical yet. [`Format::parse`](super::Format::parse) writes it again and
/// compares.
pub(super) fn parse(bytes: &[u8]) -> Result<Arc<Structure>> {
    let mut reader = Reader { bytes, at: 0 };
    let version = reader.byte()?;
    if version != VERSION {
        return Err(Error::new(Code::Version).expected(format_args!("description version {VERSION}")).found(version));
    }
    let flags = reader.byte()?;
    if flags & !(BIG_ENDIAN | WIDE_POINTERS) != 0 {
        return Err(Error::new(Code::Flags).found(format_args!("{flags:#04x}")));
    }
    let machine = Machine {
        order: if flags & BIG_ENDIAN != 0 { ByteOrder::Big } else { ByteOrder::Little },
        pointer: if flags & WIDE_POINTERS != 0 { 8 } else { 4 },
    };
    let count = reader.length()?;
    let mut structures: Vec<Arc<Structure>> = Vec::new();
    for _ in 0..count {
        let structure = reader.structure(machine, &structures)?;
        structures.push(Arc::new(structure));
    }
    if reader.at != bytes.len() {
        return Err(reader.fault("the end"));
    }
    structures.pop().ok_or_else(|| Error::new(Code::Description).expected("a structure"))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, expected: &str) -> Error {
        let found = if self.at < self.bytes.len() { "other bytes" } else { "the end" };
        Error::new(Code::Description).expected(expected).found(format_args!("{found} at byte {}", self.at))
    }

    /// The failure that this version does not know a kind of element. A later version may define it.
    fn unknown(&self, kind: u8) -> Error {
        let reserved = match kind {
            tag::NEXT_FLOATS..tag::NEXT_OTHERS if kind % 2 == 1 => ", reserved for a further kind of float,",
            tag::NEXT_FLOATS..tag::NEXT_OTHERS => ", reserved for a further kind of complex number,",
            tag::NEXT_OTHERS.. => ", reserved for a later version,",
            _ => "",
        };
        let found = format_args!("kind {kind}{reserved} at byte {}", self.at - 1);
        Error::new(Code::Description).expected("a known kind of element").found(found)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.fault("one more byte"))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            if low << shift >> shift != low || (byte == 0 && shift > 0) {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.fault("a 64-bit varint without redundant bytes"))
    }

    /// A size or offset within a record.
    fn size(&mut self) -> Result<usize> {
        let value = self.varint()?;
        usize::try_from(value)
            .ok()
            .filter(|&size| size < MAX_RECORD)
            .ok_or_else(|| Error::new(Code::Size).expected(format_args!("less than {MAX_RECORD}")).found(value))
    }

    /// A number of items that take at least one byte each. It is refused if it exceeds the remaining bytes, so that no
    /// more memory is reserved than there are bytes.
    fn length(&mut self) -> Result<usize> {
        let value = self.varint()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(value).ok().filter(|&n| n <= left).ok_or_else(|| self.fault("as many bytes as stated"))
    }

    fn text(&mut self) -> Result<Box<str>> {
        let length = self.length()?;
        let text = std::str::from_utf8(&self.bytes[self.at..self.at + length]).map_err(|_| self.fault("UTF-8"))?;
        self.at += length;
        Ok(text.into())
    }

    /// A name, checked before it can become part of an error's path.
    fn name(&mut self) -> Result<Box<str>> {
        let name = self.text()?;
        check_name(&name)?;
        Ok(name)
    }

    fn structure(&mut self, machine: Machine, known: &[Arc<Structure>]) -> Result<Structure> {
        let name = self.name()?;
        let size = self.size()?;
        let align = 1usize.checked_shl(self.byte()?.into());
        let align = align.ok_or_else(|| Error::new(Code::Declaration).expected("an alignment").at(&*name))?;
        let count = self.length()?;
        let mut fields = Vec::new();
        let mut end = 0usize;
        for _ in 0..count {
            let field = self.field(end, known).map_err(|error| error.within(&name))?;
            if field.is_dynamic() && !field.indirect {
                let error = Error::new(Code::Declaration).expected("the flag of an indirect field").at(&*field.name);
                return Err(error.within(&name));
            }
            let extent = field.extent(machine.pointer);
            end = extent.and_then(|extent| field.offset.checked_add(extent)).ok_or_else(|| {
                Error::new(Code::Size).at(&*field.name).within(&name).expected(format_args!("less than {MAX_RECORD}"))
            })?;
            fields.push(field);
        }
        Structure::new(name, machine, size, align, fields)
    }

    fn field(&mut self, end: usize, known: &[Arc<Structure>]) -> Result<Field> {
        let name = self.name()?;
        let gap = self.size()?;
        let offset = end.checked_add(gap).ok_or_else(|| Error::new(Code::Size).at(&*name))?;
        let tag = self.byte()?;
        let element = self.element(tag & tag::MASK, known).map_err(|error| error.within(&name))?;
        let mut dims = Vec::new();
        if tag & tag::HAS_DIMS != 0 {
            let rank = self.length()?;
            if rank == 0 || rank > MAX_RANK {
                return Err(self.fault("1 to 8 dimensions").at(&*name));
            }
            for _ in 0..rank {
                let value = self.varint()?;
                let number = usize::try_from(value >> 1).map_err(|_| Error::new(Code::Size).at(&*name))?;
                dims.push(if value & 1 == 0 { Dimension::Fixed(number) } else { Dimension::Field(number) });
            }
        }
        let unit = if tag & tag::HAS_UNIT != 0 { Some(self.text()?) } else { None };
        Ok(Field { name, element, dims: dims.into(), indirect: tag & tag::INDIRECT != 0, offset, unit })
    }

    fn element(&mut self, kind: u8, known: &[Arc<Structure>]) -> Result<Element> {
        Ok(match kind {
            tag::SIGNED => Element::Integer { signed: true, size: self.byte()? },
            tag::UNSIGNED => Element::Integer { signed: false, size: self.byte()? },
            tag::CHAR => Element::Char,
            tag::BOOLEAN => Element::Boolean { size: self.byte()? },
            tag::SIGNED_ENUMERATION | tag::UNSIGNED_ENUMERATION => {
                Element::Enumeration(Arc::new(self.enumeration(kind == tag::SIGNED_ENUMERATION)?))
            }
            tag::STRING => Element::String,
            tag::STRUCTURE => {
                let index = self.varint()?;
                let inner = usize::try_from(index).ok().and_then(|index| known.get(index));
                Element::Structure(inner.ok_or_else(|| self.fault("a structure listed before"))?.clone())
            }
            _ => return self.float(kind),
        })
    }

    /// A float or a complex number.
    fn float(&mut self, tag: u8) -> Result<Element> {
        for kind in FloatKind::ALL {
            match tag::floats(kind) {
                (float, _) if float == tag => return Ok(Element::Float { kind, size: self.byte()? }),
                (_, complex) if complex == tag => return Ok(Element::Complex { kind, size: self.byte()? }),
                _ => {}
            }
        }
        Err(self.unknown(tag))
    }

    fn enumeration(&mut self, signed: bool) -> Result<Enumeration> {
        let size = self.byte()?;
        let count = self.length()?;
        let mut symbols = Vec::new();
        for _ in 0..count {
            let name = self.name()?;
            let value = self.varint()?;
            symbols.push((name, if signed { unzigzag(value).into() } else { value.into() }));
        }
        Enumeration::new(signed, size, symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use crate::declare::{Layout, Shape};
    use crate::error::Code;
    use isoform_kernels::FloatKind;

    #[test]
    fn every_kind_of_float_has_numbers_of_its_own() {
        let all = FloatKind::ALL.map(super::tag::floats);
        let mut taken: Vec<u8> = all.iter().flat_map(|&(float, complex)| [float, complex]).collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq((3..=10).chain(17..super::tag::NEXT_FLOATS)));
    }

    #[test]
    fn reserved_kinds_are_refused_by_what_they_are_reserved_for() {
        let format = Shape::new("r").field("x", "f32").on(&Layout::X86_64).unwrap();
        let known = format.description().as_bytes();
        // The last two bytes are the tag and the size.
        let (start, at) = (&known[..known.len() - 2], known.len() - 2);
        for kind in (0..=31).filter(|kind| !(1..super::tag::NEXT_FLOATS).contains(kind)) {
            let error = Format::parse(&[start, &[kind, 4]].concat()).unwrap_err();
            assert_eq!((error.code(), error.path()), (Code::Description, "r.x"));
            let reserved = match kind {
                0 => "",
                17 | 19 | 21 | 23 => ", reserved for a further kind of float,",
                18 | 20 | 22 | 24 => ", reserved for a further kind of complex number,",
                _ => ", reserved for a later version,",
            };
            assert_eq!(error.actual(), format!("kind {kind}{reserved} at byte {at}"));
        }
    }
}
