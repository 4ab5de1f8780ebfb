//! Values of any size, such as text, arrays of variable length and records with pointers, in Arrow's layout.
//!
//! A builder is a tree: a list has a builder for its elements, and a record has one for each field. The root takes records of
//! the format that [`Columns`](crate::columns::Columns) converts to, and goes down to the field of its path.

use super::{Array, Memory, Schema, unsupported, with_symbols};
use isoform::core::scalar::{Float, read_bits, read_signed};
use isoform::core::view::Item;
use isoform::core::{ByteOrder, Dimension, Element, Enumeration, Field, Structure, Value};
use isoform::{Code, Error, Result};
use std::sync::Arc;

/// The values of one field, or of the elements of an array.
pub(crate) struct Builder {
    name: Box<str>,
    unit: Option<Box<str>>,
    /// The fields through which an item leads to the value.
    down: Vec<Box<str>>,
    kind: Kind,
    length: usize,
    /// A bit for each value, if values can be null.
    valid: Option<Bits>,
}

/// Arrow shares these bytes until the builder changes them.
type Bytes = Arc<Vec<u8>>;

enum Kind {
    /// Numbers, and booleans of more than a byte.
    Numbers {
        element: Element,
        bytes: Bytes,
    },
    Booleans(Bits),
    Texts {
        ends: Bytes,
        bytes: Bytes,
    },
    Symbols {
        enumeration: Arc<Enumeration>,
        places: Bytes,
    },
    Records(Vec<Builder>),
    /// Arrays of this many elements, and complex numbers.
    Fixed(usize, Box<Builder>),
    Lists {
        ends: Bytes,
        items: Box<Builder>,
    },
}

#[derive(Default)]
struct Bits {
    bytes: Bytes,
    length: usize,
}

impl Builder {
    /// Creates a builder for the last of these fields, each of which is in the structure of the one before.
    ///
    /// # Errors
    /// [`Code::WrongType`] for a type that Arrow lacks.
    pub(crate) fn new(name: &str, fields: &[&Field]) -> Result<Builder> {
        Builder::of(name, fields, false)
    }

    /// `under_null` is whether a null can stand in place of what this is in. An array of fixed size is then a list, since Arrow
    /// would have all its elements for each null.
    fn of(name: &str, fields: &[&Field], under_null: bool) -> Result<Builder> {
        let place = fields.iter().position(|field| !field.dims.is_empty()).unwrap_or(fields.len() - 1);
        let (outer, inner) = fields.split_at(place + 1);
        let Some(field) = outer.last() else { return Err(Error::new(Code::Internal)) };
        let is_null = |field: &&Field| field.indirect && !field.is_dynamic();
        let under_null = under_null || outer.iter().any(is_null);
        let mut dims = &field.dims[..];
        let values = match &field.element {
            _ if !inner.is_empty() => Builder::of("item", inner, under_null && dims.is_empty())?,
            Element::Char => {
                dims = dims.split_last().map_or(dims, |(_, rest)| rest);
                Builder::plain(Kind::Texts { ends: first_end(), bytes: Bytes::default() })
            }
            element => Builder::element(element, under_null && dims.is_empty()).map_err(|error| error.within(name))?,
        };
        let mut built = values;
        for (index, dim) in dims.iter().enumerate().rev() {
            let items = Box::new(Builder { name: "item".into(), unit: None, ..built });
            built = Builder::plain(match dim {
                Dimension::Fixed(count) if index > 0 || !(field.indirect || under_null) => Kind::Fixed(*count, items),
                _ => Kind::Lists { ends: first_end(), items },
            });
        }
        let nullable = built.valid.is_some() || outer.iter().any(is_null);
        let down = outer.iter().map(|field| field.name.clone()).collect();
        let unit = fields.last().and_then(|field| field.unit.clone());
        Ok(Builder { name: name.into(), unit, down, valid: nullable.then(Bits::default), ..built })
    }

    fn plain(kind: Kind) -> Builder {
        Builder { name: "".into(), unit: None, down: Vec::new(), kind, length: 0, valid: None }
    }

    /// A builder for single values of this type.
    fn element(element: &Element, under_null: bool) -> Result<Builder> {
        let numbers = |element: &Element| {
            let known =
                super::number(element).map(|_| Kind::Numbers { element: element.clone(), bytes: Bytes::default() });
            known.ok_or_else(|| unsupported(element))
        };
        Ok(Builder::plain(match element {
            Element::String => {
                let texts = Builder::plain(Kind::Texts { ends: first_end(), bytes: Bytes::default() });
                return Ok(Builder { valid: Some(Bits::default()), ..texts });
            }
            Element::Boolean { size: 1 } => Kind::Booleans(Bits::default()),
            Element::Enumeration(enumeration) => {
                Kind::Symbols { enumeration: enumeration.clone(), places: Bytes::default() }
            }
            Element::Structure(structure) => {
                let child = |(_, field): (usize, &Field)| Builder::of(&field.name, &[field], under_null);
                Kind::Records(without_lengths(structure).map(child).collect::<Result<_>>()?)
            }
            Element::Complex { kind, size } => {
                let part = Builder::plain(numbers(&Element::Float { kind: *kind, size: *size })?);
                Kind::Fixed(2, Box::new(Builder { name: "item".into(), ..part }))
            }
            element => numbers(element)?,
        }))
    }

    /// Adds the value that is in this item.
    pub(crate) fn push(&mut self, mut item: Item<'_>) -> Result<()> {
        for name in &self.down {
            if let Item::Record(view) = item {
                item = view.field(name)?;
            }
        }
        let valid = !matches!(item, Item::Null);
        match (&mut self.kind, item) {
            (_, Item::Null) if self.valid.is_some() => self.fill(),
            (Kind::Numbers { element, bytes }, item) => number(element, item, Arc::make_mut(bytes))?,
            (Kind::Booleans(bits), Item::Boolean(truth)) => bits.push(truth),
            (Kind::Texts { ends, bytes }, item) => {
                let bytes = Arc::make_mut(bytes);
                match item {
                    Item::String(text) => bytes.extend(text),
                    Item::Char(0) => {}
                    Item::Char(byte) => bytes.push(byte),
                    Item::Array(array) => bytes.extend(array.text().ok_or_else(unlike)?),
                    _ => return Err(unlike()),
                }
                end(ends, bytes.len());
            }
            (Kind::Symbols { enumeration, places }, Item::Symbol(symbol)) => {
                let place = enumeration.symbols().binary_search_by_key(&symbol.value, |symbol| symbol.value);
                let place = place.map_err(|_| unlike())? as i32;
                Arc::make_mut(places).extend(place.to_ne_bytes());
            }
            (Kind::Records(fields), Item::Record(view)) => {
                // Each goes down to its own field.
                fields.iter_mut().try_for_each(|field| field.push(Item::Record(view)))?;
            }
            (Kind::Fixed(_, items), Item::Complex(parts)) => {
                parts.into_iter().try_for_each(|part| items.push(Item::Float(part)))?;
            }
            (Kind::Fixed(_, items), Item::Array(array)) => items.extend(array)?,
            (Kind::Lists { ends, items }, Item::Array(array)) => {
                items.extend(array)?;
                end(ends, items.length);
            }
            _ => return Err(unlike()),
        }
        self.valid.iter_mut().for_each(|bits| bits.push(valid));
        self.length += 1;
        Ok(())
    }

    /// Adds the items of an array.
    fn extend(&mut self, array: isoform::core::view::Array<'_>) -> Result<()> {
        match &mut self.kind {
            // They are in this machine's byte order.
            Kind::Numbers { bytes, .. } if self.down.is_empty() && array.dims().len() == 1 => {
                Arc::make_mut(bytes).extend(array.bytes());
                self.length += array.len();
                Ok(())
            }
            _ => array.iter().try_for_each(|item| self.push(item)),
        }
    }

    /// Adds a value that nobody looks at, in place of a null.
    fn fill(&mut self) {
        match &mut self.kind {
            Kind::Numbers { element, bytes } => {
                let bytes = Arc::make_mut(bytes);
                bytes.resize(bytes.len() + element.size(0), 0);
            }
            Kind::Booleans(bits) => bits.push(false),
            Kind::Texts { ends, bytes } => end(ends, bytes.len()),
            Kind::Symbols { places, .. } => Arc::make_mut(places).extend(0_i32.to_ne_bytes()),
            Kind::Records(fields) => fields.iter_mut().for_each(Builder::skip),
            Kind::Fixed(count, items) => (0..*count).for_each(|_| items.skip()),
            Kind::Lists { ends, items } => end(ends, items.length),
        }
    }

    fn skip(&mut self) {
        self.fill();
        self.valid.iter_mut().for_each(|bits| bits.push(false));
        self.length += 1;
    }

    /// Removes the values behind so many.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.kind {
            Kind::Numbers { element, bytes } => Arc::make_mut(bytes).truncate(length * element.size(0)),
            Kind::Booleans(bits) => bits.truncate(length),
            Kind::Texts { ends, bytes } => Arc::make_mut(bytes).truncate(cut(ends, length)),
            Kind::Symbols { places, .. } => Arc::make_mut(places).truncate(length * size_of::<i32>()),
            Kind::Records(fields) => fields.iter_mut().for_each(|field| field.truncate(length)),
            Kind::Fixed(count, items) => items.truncate(length * *count),
            Kind::Lists { ends, items } => items.truncate(cut(ends, length)),
        }
        self.valid.iter_mut().for_each(|bits| bits.truncate(length));
        self.length = length;
    }

    pub(crate) fn schema(&self) -> Result<Schema> {
        let unit = self.unit.as_deref();
        let described = |format: &str, children| Schema::described(format, &self.name, unit, children);
        let mut schema = match &self.kind {
            Kind::Numbers { element, .. } => described(&super::number(element).unwrap_or_default(), Vec::new())?,
            Kind::Booleans(_) => described("b", Vec::new())?,
            Kind::Texts { .. } => described("U", Vec::new())?,
            Kind::Symbols { .. } => described("i", Vec::new())?.with_dictionary(Schema::new("U", "", Vec::new())?),
            Kind::Records(fields) => described("+s", fields.iter().map(Builder::schema).collect::<Result<_>>()?)?,
            Kind::Fixed(count, items) => described(&format!("+w:{count}"), vec![items.schema()?])?,
            Kind::Lists { items, .. } => described("+L", vec![items.schema()?])?,
        };
        if self.valid.is_some() {
            schema.flags = super::NULLABLE;
        }
        Ok(schema)
    }

    /// The values, which are not copied.
    ///
    /// # Errors
    /// [`Code::Utf8`] for text that is not UTF-8.
    pub(crate) fn array(&self) -> Result<Array> {
        let shared = |bytes: &Bytes| Memory::Shared(bytes.clone());
        let within = |inner: &Builder| inner.array().map_err(|error| error.within(&self.name));
        let (memory, children) = match &self.kind {
            Kind::Numbers { bytes, .. } => (vec![shared(bytes)], Vec::new()),
            Kind::Booleans(bits) => (vec![shared(&bits.bytes)], Vec::new()),
            Kind::Texts { ends, bytes } => {
                let is_wrong =
                    |row: &usize| std::str::from_utf8(&bytes[ended(ends, *row)..ended(ends, row + 1)]).is_err();
                if let Some(row) = (0..self.length).find(is_wrong) {
                    return Err(super::not_utf8(row).within(&self.name));
                }
                (vec![shared(ends), shared(bytes)], Vec::new())
            }
            Kind::Symbols { places, .. } => (vec![shared(places)], Vec::new()),
            Kind::Records(fields) => (Vec::new(), fields.iter().map(within).collect::<Result<_>>()?),
            Kind::Fixed(_, items) => (Vec::new(), vec![within(items)?]),
            Kind::Lists { ends, items } => (vec![shared(ends)], vec![within(items)?]),
        };
        let nulls = self.valid.as_ref().map(|bits| (bits.zeros(), shared(&bits.bytes)));
        let array = Array::with_nulls(self.length, nulls.filter(|(count, _)| *count > 0), memory, children);
        Ok(match &self.kind {
            Kind::Symbols { enumeration, .. } => with_symbols(array, enumeration),
            _ => array,
        })
    }

    /// The value of a row.
    pub(crate) fn value(&self, row: usize) -> Value {
        if self.valid.as_ref().is_some_and(|bits| !bits.at(row)) {
            return Value::Null;
        }
        let values =
            |items: &Builder, rows: std::ops::Range<usize>| Value::Array(rows.map(|row| items.value(row)).collect());
        match &self.kind {
            Kind::Numbers { element, bytes } => {
                let size = element.size(0);
                shown(element, &bytes[row * size..][..size])
            }
            Kind::Booleans(bits) => Value::Boolean(bits.at(row)),
            Kind::Texts { ends, bytes } => Value::String(bytes[ended(ends, row)..ended(ends, row + 1)].to_vec()),
            Kind::Symbols { enumeration, places } => {
                let place = read_bits(ByteOrder::NATIVE, &places[row * size_of::<i32>()..][..size_of::<i32>()]);
                Value::Symbol(enumeration.symbols()[place as usize].name.clone())
            }
            Kind::Records(fields) => {
                Value::Record(fields.iter().map(|field| (field.name.clone(), field.value(row))).collect())
            }
            Kind::Fixed(count, items) => values(items, row * count..(row + 1) * count),
            Kind::Lists { ends, items } => values(items, ended(ends, row)..ended(ends, row + 1)),
        }
    }
}

/// The fields of a structure, with their indices, without the lengths of its arrays, which lists have anyway.
pub(crate) fn without_lengths(structure: &Structure) -> impl Iterator<Item = (usize, &Field)> {
    let is_length = |index| structure.fields().iter().any(|field| field.dims.contains(&Dimension::Field(index)));
    structure.fields().iter().enumerate().filter(move |(index, _)| !is_length(*index))
}

impl Bits {
    fn push(&mut self, bit: bool) {
        let bytes = Arc::make_mut(&mut self.bytes);
        if self.length.is_multiple_of(8) {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(bit) << (self.length % 8);
        }
        self.length += 1;
    }

    fn truncate(&mut self, length: usize) {
        let bytes = Arc::make_mut(&mut self.bytes);
        bytes.truncate(length.div_ceil(8));
        if let Some(last) = bytes.last_mut().filter(|_| !length.is_multiple_of(8)) {
            *last &= (1 << (length % 8)) - 1;
        }
        self.length = length;
    }

    fn at(&self, index: usize) -> bool {
        self.bytes[index / 8] >> (index % 8) & 1 == 1
    }

    fn zeros(&self) -> usize {
        self.length - self.bytes.iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
    }
}

/// The ends of no values.
fn first_end() -> Bytes {
    Arc::new(0_i64.to_ne_bytes().to_vec())
}

fn end(ends: &mut Bytes, end: usize) {
    Arc::make_mut(ends).extend((end as i64).to_ne_bytes());
}

/// The end of the value before this row.
fn ended(ends: &Bytes, row: usize) -> usize {
    read_bits(ByteOrder::NATIVE, &ends[row * size_of::<i64>()..][..size_of::<i64>()]) as usize
}

/// Removes the ends of the values behind so many, and returns the last that is left.
fn cut(ends: &mut Bytes, length: usize) -> usize {
    Arc::make_mut(ends).truncate((length + 1) * size_of::<i64>());
    ended(ends, length)
}

/// Adds the bytes of a number.
fn number(element: &Element, item: Item<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    bytes.resize(start + element.size(0), 0);
    let place = &mut bytes[start..];
    let mut integer = |number: i128| isoform::core::scalar::write_bits(ByteOrder::NATIVE, place, number as u128);
    match (item, element) {
        (Item::Integer(number), _) => integer(number),
        (Item::Boolean(truth), _) => integer(truth.into()),
        (Item::Float(number), Element::Float { kind, .. }) => _ = number.value().write(*kind, ByteOrder::NATIVE, place),
        _ => return Err(unlike()),
    }
    Ok(())
}

fn shown(element: &Element, bytes: &[u8]) -> Value {
    let order = ByteOrder::NATIVE;
    match element {
        Element::Float { kind, .. } => Value::Float(Float::read(*kind, order, bytes).to_f64()),
        Element::Integer { signed: true, .. } => Value::Integer(read_signed(order, bytes)),
        _ => Value::Integer(read_bits(order, bytes) as i128),
    }
}

fn unlike() -> Error {
    Error::new(Code::Internal).at("columns").expected("a value of the column's type")
}
