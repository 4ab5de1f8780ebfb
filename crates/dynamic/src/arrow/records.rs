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
use isoform::core::scalar::{read_bits, read_signed};
use isoform::core::{Dimension, Element, Field, FloatKind, Structure};
use isoform::{Aligned, Code, Error, Format, Machine, Result};
use std::ffi::{CStr, CString};
use std::ops::Range;
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
    /// Indices of a dictionary, of so many bytes, and the type of its values.
    Dictionary {
        signed: bool,
        size: usize,
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
    /// Lengths, offsets, counts and null pointers of the structures are checked. Of the contents of
    /// buffers, the order of offsets, the ends of lists and the indices of dictionaries are checked,
    /// and the rest is trusted.
    ///
    /// # Errors
    /// [`Code::WrongType`] with the path of a column whose type is not supported, or whose structures
    /// are released or contradict each other; [`Code::Null`] for a row, a list or an element of a
    /// list that is null, unless it is text; [`Code::BadRecord`] for a text with a NUL, and for
    /// offsets that decrease or are beyond the elements; [`Code::Symbol`] for an index that the
    /// dictionary lacks; the errors of [`Format::new`].
    ///
    /// # Safety
    /// They are a schema and an array of it, as Arrow's C data interface requires.
    pub unsafe fn new(name: &str, schema: &Schema, array: &Array) -> Result<Records> {
        schema.release.ok_or_else(|| released("schema"))?;
        array.release.ok_or_else(|| released("array"))?;
        // SAFETY: promised.
        let batch = unsafe { Column::of(schema, array, name, DEPTH, 0)? };
        let count = array.length as usize;
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
    /// The type of an array that must have at least so many values. Its structures are checked here,
    /// and trusted later.
    ///
    /// # Safety
    /// As [`Records::new`].
    unsafe fn of(schema: &Schema, array: &Array, name: &str, depth: usize, rows: usize) -> Result<Column> {
        schema.release.ok_or_else(|| released(name))?;
        let reach = array.expect_values(name, rows)?;
        let found = text(schema.format);
        let unsupported = || {
            let error = Error::new(Code::WrongType).expected("numbers, booleans, text, structs, or lists of these");
            error.at(name).found(format_args!("{found:?}"))
        };
        let missing = |at: usize| {
            let error = Error::new(Code::WrongType).at(name).found(format_args!("no child {at}"));
            error.expected(format_args!("a schema with its children, at most {DEPTH} deep"))
        };
        let child = |at: usize| {
            // SAFETY: promised.
            unsafe { child(schema.children, schema.n_children, at) }.filter(|_| depth > 0).ok_or_else(|| missing(at))
        };
        // SAFETY: promised.
        let part = |at: usize| unsafe { array.child(at) }.map_err(|error| error.at(name));
        let number = |element: Element, size| (Kind::Number(element), size, size);
        let pointer = POINTER;
        // SAFETY: promised.
        let values = unsafe { schema.dictionary.as_ref() };
        let (kind, size, align) = match (found, values) {
            (_, Some(values)) => {
                let Some(Element::Integer { signed, size }) = number_of(found) else { return Err(unsupported()) };
                values.release.ok_or_else(|| released(name))?;
                let long = long_text(text(values.format)).ok_or_else(unsupported)?;
                // SAFETY: promised.
                let entries = unsafe { array.dictionary.as_ref() };
                let none = || Error::new(Code::WrongType).at(name).expected("an array with a dictionary").found("none");
                let entries = entries.ok_or_else(none)?;
                entries.expect_values(name, 0)?;
                // SAFETY: promised.
                unsafe { entries.expect_buffers(name, 3)? };
                (Kind::Dictionary { signed, size: size.into(), long }, pointer, pointer)
            }
            ("b", None) => (Kind::Boolean, 1, 1),
            ("u" | "U", None) => (Kind::Text { long: found == "U" }, pointer, pointer),
            ("+s", None) => {
                let (mut fields, mut rows, mut end, mut align) = (Vec::new(), Vec::new(), 0_usize, 1);
                for at in 0..usize::try_from(schema.n_children).map_err(|_| missing(0))? {
                    let child = child(at)?;
                    let field = text(child.name);
                    // SAFETY: promised.
                    let column = unsafe { Column::of(child, part(at)?, &format!("{name}.{field}"), depth - 1, reach)? };
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
                let rows = reach.checked_mul(count).ok_or_else(unsupported)?;
                // SAFETY: promised.
                let inner = unsafe { Column::of(child(0)?, part(0)?, name, depth - 1, rows)? };
                let inner = inner.element(name)?;
                let (size, align) = (inner.size.checked_mul(count).ok_or_else(unsupported)?, inner.align);
                (Kind::List(count, Box::new(inner)), size, align)
            }
            ("+l" | "+L", None) => {
                // Each list is compared with the number of elements when it is copied.
                // SAFETY: promised.
                let items = unsafe { Column::of(child(0)?, part(0)?, name, depth - 1, 0)? };
                let items = Box::new(items.element(name)?);
                (Kind::Array { long: found == "+L", items }, 2 * pointer, pointer)
            }
            (word, None) => {
                let element = number_of(word).ok_or_else(unsupported)?;
                let size = element.size(Machine::NATIVE.pointer);
                number(element, size)
            }
        };
        let (is_text, buffers) = match kind {
            Kind::Text { .. } => (true, 3),
            Kind::Dictionary { .. } => (true, 2),
            Kind::Number(_) | Kind::Boolean | Kind::Array { .. } => (false, 2),
            Kind::Record { .. } | Kind::List(..) => (false, 1),
        };
        // SAFETY: promised.
        let nulls = unsafe {
            array.expect_buffers(name, buffers)?;
            !is_text && has_nulls(array)
        };
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
                Kind::Dictionary { signed, size, long } => {
                    let bytes = std::slice::from_raw_parts(array.buffer(1).add(at * size), *size);
                    let order = Machine::NATIVE.order;
                    let entry = if *signed { read_signed(order, bytes) } else { read_bits(order, bytes) as i128 };
                    let values = array.dictionary.as_ref().filter(|values| (0..values.length.into()).contains(&entry));
                    let values = values.ok_or_else(|| error(Code::Symbol).found(entry))?;
                    let entry = entry as usize;
                    // A dictionary may have a null among its values.
                    if !values.is_null(entry) {
                        self.put(values, entry + values.offset as usize, *long, place, blocks)?;
                    }
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
                    let (range, inner) =
                        (ends(array, at, *long).map_err(|error| error.at(&*self.name))?, array.child(0)?);
                    if range.end > inner.length as usize {
                        let expected = format_args!("offsets of at most {}, the number of elements", inner.length);
                        return Err(error(Code::BadRecord).expected(expected).found(range.end));
                    }
                    let (start, count) = (range.start, range.len());
                    let too_large = || error(Code::Size).found(format_args!("{count} elements"));
                    let mut all = Vec::new();
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
            let range = ends(array, at, long).map_err(|error| error.at(&*self.name))?;
            match (range.is_empty(), array.buffer(2)) {
                (true, _) => &[],
                (false, start) if start.is_null() => return Err(no_buffer(&self.name, 2)),
                (false, start) => std::slice::from_raw_parts(start.add(range.start), range.len()),
            }
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
unsafe fn ends(array: &Array, at: usize, long: bool) -> Result<Range<usize>> {
    // SAFETY: promised: one more offset than rows, in a buffer that may not be aligned.
    let end = |at: usize| unsafe {
        match long {
            true => array.buffer(1).cast::<i64>().add(at).read_unaligned(),
            false => array.buffer(1).cast::<i32>().add(at).read_unaligned().into(),
        }
    };
    let (start, end) = (end(at), end(at + 1));
    let range = usize::try_from(start).ok().zip(isize::try_from(end).ok()).filter(|_| start <= end);
    let wrong = || Error::new(Code::BadRecord).expected("offsets of 0 or more that do not decrease");
    let (start, end) = range.ok_or_else(|| wrong().found(format_args!("{start}, {end}")))?;
    Ok(start..end as usize)
}

/// # Safety
/// As [`Records::new`].
unsafe fn has_nulls(array: &Array) -> bool {
    // SAFETY: promised.
    let unknown = array.null_count != 0 && unsafe { !array.buffer(0).is_null() };
    // SAFETY: promised.
    unknown && (0..array.length as usize).any(|row| unsafe { array.is_null(row) })
}

/// One of the children of a structure that says that it has `count` of them.
///
/// # Safety
/// As [`Records::new`].
unsafe fn child<'a, T>(children: *mut *mut T, count: i64, at: usize) -> Option<&'a T> {
    let has = !children.is_null() && i64::try_from(at).is_ok_and(|at| at < count);
    // SAFETY: promised: it has so many.
    has.then(|| unsafe { children.add(at).read().as_ref() }).flatten()
}

impl Array {
    /// Refuses an array that is released, or has fewer values than so many. Returns the end of the
    /// last value, from the start of its buffers.
    fn expect_values(&self, name: &str, rows: usize) -> Result<usize> {
        self.release.ok_or_else(|| released(name))?;
        let wrong = || Error::new(Code::WrongType).at(name);
        let (length, offset) = (usize::try_from(self.length), usize::try_from(self.offset));
        // No value has more bytes than 8, so that none is beyond what an address can say.
        let end = length.ok().zip(offset.ok()).and_then(|(length, offset)| length.checked_add(offset));
        let end = end.filter(|&end| end < isize::MAX as usize / 8).ok_or_else(|| {
            let found = format_args!("{} and {}", self.length, self.offset);
            wrong().expected("a length and an offset of 0 or more, within memory").found(found)
        })?;
        match self.length as usize >= rows {
            true => Ok(end),
            false => Err(wrong().expected(format_args!("an array of at least {rows} values")).found(self.length)),
        }
    }

    /// Refuses an array that lacks one of so many buffers. The pointers to the validity and to the
    /// bytes of texts may be null.
    ///
    /// # Safety
    /// As [`Records::new`].
    unsafe fn expect_buffers(&self, name: &str, count: i64) -> Result<()> {
        if self.buffers.is_null() || self.n_buffers < count {
            let found = if self.buffers.is_null() { 0 } else { self.n_buffers };
            let expected = format_args!("an array of {count} buffers");
            return Err(Error::new(Code::WrongType).at(name).expected(expected).found(found));
        }
        // SAFETY: promised: it has so many.
        match count > 1 && self.length > 0 && unsafe { self.buffer(1).is_null() } {
            true => Err(no_buffer(name, 1)),
            false => Ok(()),
        }
    }

    /// # Safety
    /// As [`Records::new`]; it has this row.
    unsafe fn is_null(&self, row: usize) -> bool {
        // SAFETY: promised: a bitmap of all rows, or none.
        self.null_count != 0 && unsafe { !self.buffer(0).is_null() && !bit(self.buffer(0), row + self.offset as usize) }
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
        // SAFETY: promised.
        let child = unsafe { child(self.children, self.n_children, index) };
        let found = format_args!("no child {index}");
        child.ok_or_else(|| {
            Error::new(Code::WrongType).expected("an array with the children of its schema").found(found)
        })
    }
}

/// The error for a structure that is not there any more.
fn released(path: &str) -> Error {
    Error::new(Code::WrongType).at(path).expected("a structure that is not released").found("a released one")
}

fn no_buffer(name: &str, at: usize) -> Error {
    Error::new(Code::WrongType).at(name).expected(format_args!("a pointer to buffer {at}")).found("NULL")
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
