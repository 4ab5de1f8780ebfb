//! Descriptions taken apart into numbers, texts and lists that may be anything, and put together again
//! (`spec/format.md`, "The description"). Nothing is checked: what is written may contradict itself.

/// A description whose parts need not agree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Description {
    pub(super) version: u8,
    pub(super) machine: u8,
    pub(super) structures: List<Structure>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Structure {
    pub(super) name: List<u8>,
    pub(super) size: u64,
    pub(super) align: u8,
    pub(super) fields: List<Field>,
}

/// A field. Of what follows a tag, only what the tag asks for is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: List<u8>,
    pub(super) gap: u64,
    pub(super) tag: u8,
    pub(super) size: u8,
    pub(super) symbols: List<Symbol>,
    pub(super) structure: u64,
    pub(super) dims: List<u64>,
    pub(super) unit: List<u8>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Symbol {
    pub(super) name: List<u8>,
    pub(super) value: u64,
}

/// What stands behind a number of how many there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    /// A number that is not how many there are.
    pub(super) claim: Option<u64>,
}

pub(super) const KIND: u8 = 0x1f;
pub(super) const HAS_DIMS: u8 = 0x20;
pub(super) const INDIRECT: u8 = 0x40;
pub(super) const HAS_UNIT: u8 = 0x80;
pub(super) const STRUCTURE: u8 = 16;

fn has_symbols(kind: u8) -> bool {
    matches!(kind, 13 | 14)
}

fn has_size(kind: u8) -> bool {
    matches!(kind, 1..=10 | 12..=14 | 17..=24)
}

impl Description {
    /// The parts of these bytes, if they are made like a description.
    pub(super) fn parse(bytes: &[u8]) -> Option<Description> {
        let mut reader = Reader(bytes);
        let (version, machine) = (reader.byte()?, reader.byte()?);
        let structures = reader.list(Reader::structure)?;
        reader.0.is_empty().then_some(Description { version, machine, structures })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![self.version, self.machine];
        list(&mut out, &self.structures, |out, structure| {
            text(out, &structure.name);
            varint(out, structure.size);
            out.push(structure.align);
            list(out, &structure.fields, field);
        });
        out
    }
}

fn field(out: &mut Vec<u8>, field: &Field) {
    text(out, &field.name);
    varint(out, field.gap);
    out.push(field.tag);
    let kind = field.tag & KIND;
    if has_size(kind) {
        out.push(field.size);
    }
    if has_symbols(kind) {
        list(out, &field.symbols, |out, symbol| {
            text(out, &symbol.name);
            varint(out, symbol.value);
        });
    }
    if kind == STRUCTURE {
        varint(out, field.structure);
    }
    if field.tag & HAS_DIMS != 0 {
        list(out, &field.dims, |out, dim| varint(out, *dim));
    }
    if field.tag & HAS_UNIT != 0 {
        text(out, &field.unit);
    }
}

fn list<T>(out: &mut Vec<u8>, list: &List<T>, write: impl Fn(&mut Vec<u8>, &T)) {
    varint(out, list.claim.unwrap_or(list.items.len() as u64));
    list.items.iter().for_each(|item| write(out, item));
}

fn text(out: &mut Vec<u8>, text: &List<u8>) {
    list(out, text, |out, byte| out.push(*byte));
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<List<T>> {
        let count = self.varint()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(List { items, claim: None })
    }

    fn structure(&mut self) -> Option<Structure> {
        let name = self.list(Reader::byte)?;
        let (size, align) = (self.varint()?, self.byte()?);
        Some(Structure { name, size, align, fields: self.list(Reader::field)? })
    }

    fn field(&mut self) -> Option<Field> {
        let name = self.list(Reader::byte)?;
        let (gap, tag) = (self.varint()?, self.byte()?);
        let kind = tag & KIND;
        let symbol = |reader: &mut Self| Some(Symbol { name: reader.list(Reader::byte)?, value: reader.varint()? });
        Some(Field {
            name,
            gap,
            tag,
            size: if has_size(kind) { self.byte()? } else { 4 },
            symbols: if has_symbols(kind) { self.list(symbol)? } else { List::default() },
            structure: if kind == STRUCTURE { self.varint()? } else { 0 },
            dims: if tag & HAS_DIMS != 0 { self.list(Reader::varint)? } else { List::default() },
            unit: if tag & HAS_UNIT != 0 { self.list(Reader::byte)? } else { List::default() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_description_is_put_together_again(format in crate::any_format()) {
            let bytes = format.description().as_bytes();
            prop_assert_eq!(Description::parse(bytes).unwrap().to_bytes(), bytes);
        }
    }
}
