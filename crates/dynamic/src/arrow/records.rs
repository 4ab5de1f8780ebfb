//! Record batches of Arrow as records to send, of a format that follows their schema.
//!
//! A batch is a struct array. Each of its columns becomes a field of the same name: numbers, booleans, text (also of a
//! dictionary), structs, lists of a fixed size, and lists, which become arrays of variable length. A column with nulls becomes a
//! field that may be null: a pointer to the value.
//!
//! Invariants of [`Records`]:
//! 1. `records` has `count` records of the format. Every pointer in them, and in the blocks that they point at, is null, or that
//!    of one of the `_blocks` with as many elements as the format says.
//! 2. The blocks stay where they are.

use super::{Array, Schema};
use isoform::core::{Dimension, Element, Field, FloatKind, Structure};
use isoform::{Aligned, Code, Error, Format, Machine, Result};
use std::ffi::{CStr, CString};
use std::ptr;

/// Structures of Arrow are nested at most this deep.
const DEPTH: usize = 32;

/// A record batch as records in memory.
pub struct Records {
    format: Format,
    records: Aligned,
    count: usize,
    _blocks: Vec<Block>,
}

/// What a pointer points at.
enum Block {
    Text(#[expect(dead_code, reason = "it is held")] CString),
    Bytes(#[expect(dead_code, reason = "it is held")] Aligned),
}

/// The type of a column.
struct Column {
    name: String,
    kind: Kind,
    unit: Option<Box<str>>,
    /// Bytes of a value, and its alignment.
    size: usize,
    align: usize,
    /// Whether some values are null, so that records have pointers to them.
    nulls: bool,
}

enum Kind {
    Number(Element),
    Boolean,
    /// Offsets of 8 bytes instead of 4.
    Text {
        long: bool,
    },
    /// Indices of a dictionary, and the type of its values.
    Dictionary {
        index: Element,
        long: bool,
    },
    Record {
        structure: Structure,
        fields: Vec<(usize, Column)>,
    },
    List(usize, Box<Column>),
    /// A pointer to the elements, and their number.
    Array {
        /// Offsets of 8 bytes instead of 4.
        long: bool,
        items: Box<Column>,
    },
}

const POINTER: usize = size_of::<usize>();

impl Records {
    /// Copies a batch. The records have this name. The structures are not released.
    ///
    /// # Errors
    /// [`Code::WrongType`] with the path of a column whose type is not supported; [`Code::Null`] for a row,
    /// a list or an element of a list that is null, unless it is text; [`Code::BadRecord`] for a text with a NUL; the errors of [`Format::new`].
    ///
    /// # Safety
    /// They are a schema and an array of it, as Arrow's C data interface requires.
    pub unsafe fn new(name: &str, schema: &Schema, array: &Array) -> Result<Records> {
        // SAFETY: promised.
        let (batch, count) = unsafe { (Column::of(schema, array, name, DEPTH)?, length(array)?) };
        let batch = Column { name: String::new(), nulls: false, ..batch };
        let Kind::Record { structure, .. } = &batch.kind else {
            return Err(Error::new(Code::WrongType).at(name).expected("a record batch, which is a struct array"));
        };
        let format = Format::new(structure.clone().into())?;
        let too_large = || Error::new(Code::Size).at(name).found(format_args!("{count} records"));
        let bytes =
            batch.size.checked_mul(count).filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(too_large)?;
        let (mut all, mut blocks) = (Vec::new(), Vec::new());
        all.try_reserve_exact(bytes).map_err(|_| too_large())?;
        all.resize(bytes, 0);
        for row in 0..count {
            let place = &mut all[row * batch.size..][..batch.size];
            // SAFETY: promised, and there are so many rows.
            unsafe { batch.value(array, row, place, &mut blocks).map_err(|error| error.within(&format!("[{row}]")))? };
        }
        Ok(Records { format, records: Aligned::from(&all[..]), count, _blocks: blocks })
    }

    /// The format of the records.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The first record, and their number. They point at memory of this object (1, 2).
    pub fn records(&self) -> (*const u8, usize) {
        (self.records.as_ptr(), self.count)
    }
}

impl Column {
    /// # Safety
    /// As [`Records::new`].
    unsafe fn of(schema: &Schema, array: &Array, name: &str, depth: usize) -> Result<Column> {
        let found = text(schema.format);
        let unsupported = || {
            let error = Error::new(Code::WrongType).expected("numbers, booleans, text, structs, or lists of these");
            error.at(name).found(format_args!("{found:?}"))
        };
        let child = |at: usize| {
            // SAFETY: promised: it has so many.
            unsafe { schema.children.add(at).read().as_ref() }.filter(|_| depth > 0).ok_or_else(unsupported)
        };
        let number = |element: Element, size| (Kind::Number(element), size, size);
        let pointer = POINTER;
        // SAFETY: promised.
        let values = unsafe { schema.dictionary.as_ref() };
        let (kind, size, align) = match (found, values) {
            (_, Some(values)) => {
                let index = number_of(found).filter(|index| matches!(index, Element::Integer { .. }));
                let long = long_text(text(values.format)).ok_or_else(unsupported)?;
                (Kind::Dictionary { index: index.ok_or_else(unsupported)?, long }, pointer, pointer)
            }
            ("b", None) => (Kind::Boolean, 1, 1),
            ("u" | "U", None) => (Kind::Text { long: found == "U" }, pointer, pointer),
            ("+s", None) => {
                let (mut fields, mut rows, mut end, mut align) = (Vec::new(), Vec::new(), 0_usize, 1);
                for at in 0..usize::try_from(schema.n_children).map_err(|_| unsupported())? {
                    let child = child(at)?;
                    let field = text(child.name);
                    // SAFETY: promised.
                    let column = unsafe { Column::of(child, array.child(at)?, &format!("{name}.{field}"), depth - 1)? };
                    let column = Column { name: field.into(), ..column };
                    let (size, own) = column.place();
                    let offset = end.next_multiple_of(own);
                    (end, align) = (offset + size, align.max(own));
                    fields.push((offset, column));
                }
                for (offset, column) in &fields {
                    column.add_to(&mut rows, *offset, &fields);
                }
                let size = end.next_multiple_of(align);
                let called = name.replace('.', "_");
                let structure = Structure::new(called, Machine::NATIVE, size, align, rows)?;
                (Kind::Record { structure, fields }, size, align)
            }
            (list, None) if list.starts_with("+w:") => {
                let count: usize = list[3..].parse().ok().filter(|&count| count > 0).ok_or_else(unsupported)?;
                // SAFETY: promised.
                let inner = unsafe { Column::of(child(0)?, array.child(0)?, name, depth - 1)? };
                let inner = inner.element(name)?;
                let (size, align) = (inner.size.checked_mul(count).ok_or_else(unsupported)?, inner.align);
                (Kind::List(count, Box::new(inner)), size, align)
            }
            ("+l" | "+L", None) => {
                // SAFETY: promised.
                let items = unsafe { Column::of(child(0)?, array.child(0)?, name, depth - 1)? };
                let items = Box::new(items.element(name)?);
                (Kind::Array { long: found == "+L", items }, 2 * pointer, pointer)
            }
            (word, None) => {
                let element = number_of(word).ok_or_else(unsupported)?;
                let size = element.size(Machine::NATIVE.pointer);
                number(element, size)
            }
        };
        let is_text = matches!(kind, Kind::Text { .. } | Kind::Dictionary { .. });
        // SAFETY: promised.
        let nulls = !is_text && unsafe { has_nulls(array) };
        Ok(Column { name: name.into(), kind, unit: unit(schema), size, align, nulls })
    }

    /// The elements of a list: they are all of one size, and a record has no pointer to each. One that is null is an error only
    /// where its list is none.
    fn element(self, name: &str) -> Result<Column> {
        match self.kind {
            Kind::Array { .. } => {
                let error = Error::new(Code::WrongType).at(name);
                Err(error
                    .expected("elements of one size, such as numbers or structs with a list")
                    .found("lists in a list"))
            }
            // Errors name the column.
            _ => Ok(Column { name: name.rsplit('.').next().unwrap_or(name).into(), nulls: false, ..self }),
        }
    }

    /// The bytes that it takes in a record, and their alignment.
    fn place(&self) -> (usize, usize) {
        match self.kind {
            Kind::Array { .. } => (self.size, self.align),
            _ if self.nulls => (POINTER, POINTER),
            _ => (self.size, self.align),
        }
    }

    /// Adds the field of a record for this column, and that of its length, whose name is none of the columns'.
    fn add_to(&self, fields: &mut Vec<Field>, offset: usize, columns: &[(usize, Column)]) {
        let (mut dims, mut inner) = (Vec::new(), self);
        loop {
            inner = match &inner.kind {
                Kind::List(count, column) => {
                    dims.push(Dimension::Fixed(*count));
                    column
                }
                Kind::Array { items, .. } => {
                    dims.push(Dimension::Field(fields.len()));
                    let mut name = format!("{}_len", self.name);
                    while columns.iter().any(|(_, column)| column.name == name) {
                        name.push('_');
                    }
                    let element = Element::Integer { signed: false, size: POINTER as u8 };
                    let (name, dims) = (name.into(), [].into());
                    fields.push(Field { name, element, dims, indirect: false, offset: offset + POINTER, unit: None });
                    items
                }
                _ => break,
            };
        }
        let element = match &inner.kind {
            Kind::Number(element) => element.clone(),
            Kind::Boolean => Element::Boolean { size: 1 },
            Kind::Record { structure, .. } => Element::Structure(structure.clone().into()),
            Kind::Text { .. } | Kind::Dictionary { .. } | Kind::List(..) | Kind::Array { .. } => Element::String,
        };
        let (name, unit) = (self.name.as_str().into(), self.unit.clone());
        let indirect = self.nulls || matches!(self.kind, Kind::Array { .. });
        fields.push(Field { name, element, dims: dims.into(), indirect, offset, unit });
    }

    /// Writes a value, or a pointer to it, to its place in a record.
    ///
    /// # Safety
    /// As [`Records::new`]; the array has this row.
    unsafe fn fill(&self, array: &Array, row: usize, place: &mut [u8], blocks: &mut Vec<Block>) -> Result<()> {
        if !self.nulls || matches!(self.kind, Kind::Array { .. }) {
            // SAFETY: promised.
            return unsafe { self.value(array, row, place, blocks) };
        }
        // SAFETY: promised.
        if unsafe { array.is_null(row) } {
            return Ok(());
        }
        let mut value = vec![0; self.size];
        // SAFETY: promised.
        unsafe { self.value(array, row, &mut value, blocks)? };
        point(place, &value, blocks);
        Ok(())
    }

    /// Writes a value.
    ///
    /// # Safety
    /// As [`Records::new`]; the array has this row.
    unsafe fn value(&self, array: &Array, row: usize, place: &mut [u8], blocks: &mut Vec<Block>) -> Result<()> {
        let at = row + array.offset as usize;
        // SAFETY: promised.
        let null = unsafe { array.is_null(row) };
        let is_text = matches!(self.kind, Kind::Text { .. } | Kind::Dictionary { .. });
        let error = |code| Error::new(code).at(&*self.name);
        if null {
            return if is_text { Ok(()) } else { Err(error(Code::Null).expected(self.kind.wanted()).found("null")) };
        }
        // SAFETY: promised, of each of these: so many values are there.
        unsafe {
            match &self.kind {
                Kind::Number(_) => {
                    let from = array.buffer(1).add(at * self.size);
                    ptr::copy_nonoverlapping(from, place.as_mut_ptr(), self.size);
                }
                Kind::Boolean => place[0] = bit(array.buffer(1), at).into(),
                Kind::Text { long } => self.put(array, at, *long, place, blocks)?,
                Kind::Dictionary { index, long } => {
                    let size = index.size(Machine::NATIVE.pointer);
                    let bytes = std::slice::from_raw_parts(array.buffer(1).add(at * size), size);
                    let entry = Machine::NATIVE.read(bytes) as usize;
                    let values = array.dictionary.as_ref().filter(|values| entry < values.length as usize);
                    let values = values.ok_or_else(|| error(Code::Symbol).found(entry))?;
                    self.put(values, entry + values.offset as usize, *long, place, blocks)?;
                }
                Kind::Record { fields, .. } => {
                    for (child, (offset, column)) in fields.iter().enumerate() {
                        let place = &mut place[*offset..][..column.place().0];
                        let filled = column.fill(array.child(child)?, at, place, blocks);
                        filled.map_err(|error| if self.name.is_empty() { error } else { error.within(&self.name) })?;
                    }
                }
                Kind::List(count, inner) => {
                    for (element, place) in place.chunks_exact_mut(inner.size.max(1)).enumerate() {
                        inner.value(array.child(0)?, at * count + element, place, blocks)?;
                    }
                }
                Kind::Array { long, items } => {
                    let (start, end) = ends(array, at, *long);
                    let count = end.saturating_sub(start);
                    let too_large = || error(Code::Size).found(format_args!("{count} elements"));
                    let (mut all, inner) = (Vec::new(), array.child(0)?);
                    let size = items.size.checked_mul(count).ok_or_else(too_large)?;
                    all.try_reserve_exact(size).map_err(|_| too_large())?;
                    all.resize(size, 0);
                    for (element, place) in all.chunks_exact_mut(items.size.max(1)).enumerate() {
                        items.value(inner, start + element, place, blocks)?;
                    }
                    if count > 0 {
                        point(&mut place[..POINTER], &all, blocks);
                        Machine::NATIVE.write(&mut place[POINTER..], count as u64);
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a pointer to a copy of a text.
    ///
    /// # Safety
    /// As [`Column::fill`], for an array of text.
    unsafe fn put(
        &self,
        array: &Array,
        at: usize,
        long: bool,
        place: &mut [u8],
        blocks: &mut Vec<Block>,
    ) -> Result<()> {
        // SAFETY: promised: the bytes between two offsets.
        let bytes = unsafe {
            let (start, end) = ends(array, at, long);
            if end > start { std::slice::from_raw_parts(array.buffer(2).add(start), end - start) } else { &[] }
        };
        let wrong = |_| Error::new(Code::BadRecord).at(&*self.name).expected("a text without NUL");
        let text = CString::new(bytes).map_err(wrong)?;
        Machine::NATIVE.write(place, text.as_ptr().expose_provenance() as u64);
        blocks.push(Block::Text(text));
        Ok(())
    }
}

impl Kind {
    /// What a value of this type must be, if it cannot be null.
    fn wanted(&self) -> &'static str {
        match self {
            Kind::Array { .. } => "a list, which may be empty",
            _ => "a value",
        }
    }
}

/// Writes a pointer to a copy of these bytes.
fn point(place: &mut [u8], bytes: &[u8], blocks: &mut Vec<Block>) {
    let block = Aligned::from(bytes);
    Machine::NATIVE.write(place, block.as_ptr().expose_provenance() as u64);
    blocks.push(Block::Bytes(block));
}

/// Where a text or a list begins and ends.
///
/// # Safety
/// As [`Column::fill`], for an array of texts or lists.
unsafe fn ends(array: &Array, at: usize, long: bool) -> (usize, usize) {
    // SAFETY: promised: one more offset than rows, in a buffer that may not be aligned.
    let end = |at: usize| unsafe {
        match long {
            true => array.buffer(1).cast::<i64>().add(at).read_unaligned() as usize,
            false => array.buffer(1).cast::<i32>().add(at).read_unaligned() as usize,
        }
    };
    (end(at), end(at + 1))
}

/// # Safety
/// As [`Records::new`].
unsafe fn has_nulls(array: &Array) -> bool {
    // SAFETY: promised.
    (0..usize::try_from(array.length).unwrap_or(0)).any(|row| unsafe { array.is_null(row) })
}

impl Array {
    /// # Safety
    /// As [`Records::new`]; it has this row.
    unsafe fn is_null(&self, row: usize) -> bool {
        // SAFETY: promised: a bitmap of all rows, or none.
        self.null_count != 0
            && unsafe { self.buffer(0).as_ref().is_some() && !bit(self.buffer(0), row + self.offset as usize) }
    }

    /// # Safety
    /// As [`Records::new`]; it has this buffer.
    unsafe fn buffer(&self, index: usize) -> *const u8 {
        // SAFETY: promised.
        unsafe { self.buffers.add(index).read().cast() }
    }

    /// # Safety
    /// As [`Records::new`].
    unsafe fn child(&self, index: usize) -> Result<&Array> {
        let has = i64::try_from(index).is_ok_and(|index| index < self.n_children);
        // SAFETY: promised: it has so many.
        let child = has.then(|| unsafe { self.children.add(index).read().as_ref() }).flatten();
        child.ok_or_else(|| Error::new(Code::WrongType).expected("an array of the schema"))
    }
}

/// # Safety
/// As [`Records::new`].
unsafe fn length(array: &Array) -> Result<usize> {
    let wrong = || Error::new(Code::WrongType).at("array").expected("an array that is not released");
    array.release.ok_or_else(wrong)?;
    usize::try_from(array.length).map_err(|_| wrong())
}

/// # Safety
/// There are so many bits.
unsafe fn bit(bits: *const u8, at: usize) -> bool {
    // SAFETY: promised.
    unsafe { bits.add(at / 8).read() >> (at % 8) & 1 == 1 }
}

fn number_of(word: &str) -> Option<Element> {
    let integer = |signed, size| Some(Element::Integer { signed, size });
    match word {
        "c" | "C" => integer(word == "c", 1),
        "s" | "S" => integer(word == "s", 2),
        "i" | "I" => integer(word == "i", 4),
        "l" | "L" => integer(word == "l", 8),
        "e" => Some(Element::Float { kind: FloatKind::Ieee, size: 2 }),
        "f" => Some(Element::Float { kind: FloatKind::Ieee, size: 4 }),
        "g" => Some(Element::Float { kind: FloatKind::Ieee, size: 8 }),
        _ => None,
    }
}

fn long_text(word: &str) -> Option<bool> {
    matches!(word, "u" | "U").then_some(word == "U")
}

/// A text of a schema; empty if it is null or not UTF-8.
fn text<'a>(text: *const std::ffi::c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the interface says that it ends with a NUL, and it stays as long as the schema.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// The unit of a column, which is metadata.
fn unit(schema: &Schema) -> Option<Box<str>> {
    let mut at = schema.metadata.cast::<u8>();
    if at.is_null() {
        return None;
    }
    let mut text = |length: Option<usize>| {
        // SAFETY: the interface says that there is a number here, or so many bytes. They stay as long as the schema.
        unsafe {
            let bytes = std::slice::from_raw_parts(at, length.unwrap_or(size_of::<i32>()));
            at = at.add(bytes.len());
            bytes
        }
    };
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, |bytes| i32::from_ne_bytes(bytes).max(0) as usize);
    for _ in 0..number(text(None)) {
        let length = number(text(None));
        let key = text(Some(length));
        let length = number(text(None));
        let value = text(Some(length));
        if key == b"unit" {
            return std::str::from_utf8(value).ok().map(Into::into);
        }
    }
    None
}
