//! Columns for Arrow's C data interface: two C structures that point at the values. [`Records`] is for the way back.
//!
//! Invariants:
//! 1. The `private` of a [`Schema`] or an [`Array`] that has not been released is a box of `Texts` or `Owner`, and nobody
//!    else's. Its `children` and its `dictionary` are boxes, too.
//! 2. All that the other pointers point at is in that box, or in memory that the box holds: it does not change, and stays
//!    where it is.
//!
//! A program that takes such a structure moves it and clears `release`, as the interface requires.

#![allow(unsafe_code)]

#[cfg(feature = "tables")]
mod batch;
pub(crate) mod builder;
mod records;

#[cfg(feature = "tables")]
pub use batch::batch;
pub use records::Records;

use isoform::core::{Dimension, Element, Enumeration, Field, FloatKind};
use isoform::{Code, Error, Result};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// The flag of a type whose values can be null.
const NULLABLE: i64 = 2;

/// The type of a column: `struct ArrowSchema`. It owns what it points at.
#[repr(C)]
pub struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// The place of its values: `struct ArrowArray`. It owns what it points at.
#[repr(C)]
pub struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// The memory that a schema points at.
struct Texts {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut Schema>,
}

/// The memory that an array points at, and its owner.
struct Owner {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    _memory: Vec<Memory>,
}

/// The values of a column.
pub enum Memory {
    /// Bytes that go along.
    Own(Vec<u8>),
    /// Bytes that nobody changes as long as they are shared.
    Shared(Arc<Vec<u8>>),
    /// Bytes of another owner.
    Lent(Box<dyn Lent>),
}

/// Memory that another owner has.
///
/// # Safety
/// The bytes stay where they are, and do not change, until this is dropped.
pub unsafe trait Lent: Send {
    /// The bytes, always the same.
    fn bytes(&self) -> &[u8];
}

impl Memory {
    /// Its number of bytes.
    pub(crate) fn length(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Own(bytes) => bytes,
            Memory::Shared(bytes) => bytes,
            Memory::Lent(lent) => lent.bytes(),
        }
    }
}

// SAFETY: by (1) and (2) what is pointed at belongs to the structure, or cannot be written to.
unsafe impl Send for Schema {}
// SAFETY: as above.
unsafe impl Send for Array {}

impl Schema {
    /// One that owns nothing, as a program sees it after it has released it.
    pub fn released() -> Schema {
        Schema {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private: ptr::null_mut(),
        }
    }

    /// The schema of values that may be null, of a type without more to it.
    pub(crate) fn plain(format: &str, name: &str) -> Result<Schema> {
        let mut schema = Schema::new(format, name, Vec::new())?;
        schema.flags = NULLABLE;
        Ok(schema)
    }

    fn new(format: &str, name: &str, children: Vec<Schema>) -> Result<Schema> {
        Schema::described(format, name, None, children)
    }

    /// The schema of a field with a unit, which is metadata.
    fn described(format: &str, name: &str, unit: Option<&str>, children: Vec<Schema>) -> Result<Schema> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Error::new(Code::WrongType).at(name).expected("a name without NUL"))
        };
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let metadata = unit.map_or_else(Vec::new, unit_metadata);
        let mut texts = Box::new(Texts { format: text(format)?, name: text(name)?, metadata, children });
        Ok(Schema {
            format: texts.format.as_ptr(),
            name: texts.name.as_ptr(),
            metadata: if unit.is_some() { texts.metadata.as_ptr().cast() } else { ptr::null() },
            flags: 0,
            n_children: texts.children.len() as i64,
            children: texts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private: Box::into_raw(texts).cast(),
        })
    }

    /// The schema of indices of a dictionary's values.
    fn with_dictionary(mut self, values: Schema) -> Schema {
        self.dictionary = Box::into_raw(Box::new(values));
        self
    }
}

/// One pair of a key and a value, in the encoding of Arrow.
fn unit_metadata(unit: &str) -> Vec<u8> {
    let mut bytes = 1_i32.to_ne_bytes().to_vec();
    for text in ["unit", unit] {
        bytes.extend((text.len() as i32).to_ne_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

impl Array {
    /// One that owns nothing, as a program sees it after it has released it.
    pub fn released() -> Array {
        Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private: ptr::null_mut(),
        }
    }

    /// An array of this length without nulls, with the buffers after that of its validity.
    pub(crate) fn of(length: usize, memory: Vec<Memory>, children: Vec<Array>) -> Array {
        Array::with_nulls(length, None, memory, children)
    }

    /// The same, with so many nulls, and a bit for each value that is none.
    pub(crate) fn with_nulls(
        length: usize,
        nulls: Option<(usize, Memory)>,
        memory: Vec<Memory>,
        children: Vec<Array>,
    ) -> Array {
        let place = |memory: &Memory| memory.bytes().as_ptr().cast();
        let mut buffers = vec![nulls.as_ref().map_or(ptr::null(), |(_, bits)| place(bits))];
        buffers.extend(memory.iter().map(place));
        let null_count = nulls.as_ref().map_or(0, |(count, _)| *count as i64);
        let memory = nulls.into_iter().map(|(_, bits)| bits).chain(memory).collect();
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut owner = Box::new(Owner { buffers, children, _memory: memory });
        Array {
            length: length as i64,
            null_count,
            offset: 0,
            n_buffers: owner.buffers.len() as i64,
            n_children: owner.children.len() as i64,
            buffers: owner.buffers.as_mut_ptr(),
            children: owner.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private: Box::into_raw(owner).cast(),
        }
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the interface promises a schema that has not been released, so that (1) holds; it is now.
    unsafe {
        let texts = Box::from_raw((*schema).private.cast::<Texts>());
        texts.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        if !(*schema).dictionary.is_null() {
            drop(Box::from_raw((*schema).dictionary));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        let owner = Box::from_raw((*array).private.cast::<Owner>());
        owner.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        if !(*array).dictionary.is_null() {
            drop(Box::from_raw((*array).dictionary));
        }
        (*array).release = None;
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it has not been released.
            unsafe { release(self) }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it has not been released.
            unsafe { release(self) }
        }
    }
}

/// The schema of a record of these columns.
pub(crate) fn schema(name: &str, columns: Vec<Schema>) -> Result<Schema> {
    Schema::new("+s", name, columns)
}

/// So many rows of these columns.
pub(crate) fn array(rows: usize, columns: Vec<Array>) -> Array {
    Array::of(rows, Vec::new(), columns)
}

/// The schema of a field of fixed size.
///
/// # Errors
/// [`Code::WrongType`] for a type that Arrow lacks.
pub(crate) fn of_field(field: &Field) -> Result<Schema> {
    let dims = lists(field);
    let unit = field.unit.as_deref();
    let (name, inner) = if dims.is_empty() { (&*field.name, unit) } else { ("item", None) };
    let mut schema = match &field.element {
        Element::Structure(structure) => {
            let children = structure.fields().iter().map(of_field).collect::<Result<Vec<_>>>();
            Schema::described("+s", name, inner, children.map_err(|error| error.within(&field.name))?)?
        }
        Element::Enumeration(_) => {
            Schema::described("i", name, inner, Vec::new())?.with_dictionary(Schema::new("U", "", Vec::new())?)
        }
        element => Schema::described(&word(element, &field.name)?, name, inner, Vec::new())?,
    };
    for (index, length) in dims.iter().enumerate().rev() {
        let (name, unit) = if index == 0 { (&*field.name, unit) } else { ("item", None) };
        schema = Schema::described(&format!("+w:{length}"), name, unit, vec![schema])?;
    }
    Ok(schema)
}

/// The values of a field of fixed size in this many records, which are contiguous.
///
/// # Errors
/// [`Code::Utf8`] for text that is not UTF-8.
pub(crate) fn values(rows: usize, field: &Field, memory: Memory) -> Result<Array> {
    let dims = lists(field);
    let count = dims.iter().product::<usize>() * rows;
    let mut array = match &field.element {
        Element::Structure(structure) => {
            let child = |field: &Field| {
                let size = field.extent(structure.machine().pointer).unwrap_or(0);
                let part = gather(memory.bytes(), structure.size(), field.offset, size);
                values(count, field, Memory::Own(part)).map_err(|error| error.within(&field.name))
            };
            let children = structure.fields().iter().map(child).collect::<Result<Vec<_>>>()?;
            Array::of(count, Vec::new(), children)
        }
        Element::Enumeration(enumeration) => {
            let indices = indices(enumeration, memory.bytes());
            with_symbols(Array::of(count, vec![Memory::Own(indices)], Vec::new()), enumeration)
        }
        Element::Char => {
            let width = field.dims.last().map_or(1, fixed);
            let texts = memory.bytes().chunks_exact(width.max(1)).map(trimmed);
            match texts.clone().position(|text| std::str::from_utf8(text).is_err()) {
                None => strings(texts),
                Some(at) => return Err(not_utf8(at)),
            }
        }
        Element::Boolean { size: 1 } => {
            let pack = |truths: &[u8]| truths.iter().enumerate().fold(0, |bits, (at, truth)| bits | (truth & 1) << at);
            let bits = memory.bytes().chunks(8).map(pack).collect();
            Array::of(count, vec![Memory::Own(bits)], Vec::new())
        }
        _ => Array::of(count, vec![memory], Vec::new()),
    };
    for index in (0..dims.len()).rev() {
        let length = rows * dims[..index].iter().product::<usize>();
        array = Array::of(length, Vec::new(), vec![array]);
    }
    Ok(array)
}

/// Indices, with the dictionary of the symbols that they stand for.
fn with_symbols(mut indices: Array, enumeration: &Enumeration) -> Array {
    let names = enumeration.symbols().iter().map(|symbol| symbol.name.as_bytes());
    indices.dictionary = Box::into_raw(Box::new(strings(names)));
    indices
}

fn not_utf8(row: usize) -> Error {
    let error = Error::new(Code::Utf8).at(format!("[{row}]"));
    error.expected("UTF-8, as text is in Arrow. For other bytes, ask for an array of u8")
}

/// An array of texts.
pub(crate) fn strings<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Array {
    let (mut ends, mut bytes, mut count) = (0_i64.to_ne_bytes().to_vec(), Vec::new(), 0);
    for text in texts {
        bytes.extend(text);
        ends.extend((bytes.len() as i64).to_ne_bytes());
        count += 1;
    }
    Array::of(count, vec![Memory::Own(ends), Memory::Own(bytes)], Vec::new())
}

/// Text without the NULs behind it.
fn trimmed(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())]
}

/// The bytes of one field of each structure.
fn gather(bytes: &[u8], stride: usize, offset: usize, size: usize) -> Vec<u8> {
    bytes.chunks_exact(stride.max(1)).flat_map(|record| &record[offset..offset + size]).copied().collect()
}

/// The places of the symbols that have these values, in this machine's byte order.
fn indices(enumeration: &Enumeration, numbers: &[u8]) -> Vec<u8> {
    let places: HashMap<i128, i32> =
        (0..).zip(enumeration.symbols()).map(|(place, symbol)| (symbol.value, place)).collect();
    let place = |number: &[u8]| {
        let mut wide = [if enumeration.signed() && sign(number) { 0xff } else { 0 }; 16];
        let from = if cfg!(target_endian = "big") { 16 - number.len() } else { 0 };
        wide[from..from + number.len()].copy_from_slice(number);
        // A decoder makes no other values.
        places.get(&i128::from_ne_bytes(wide)).copied().unwrap_or(0).to_ne_bytes()
    };
    numbers.chunks_exact(enumeration.size().into()).flat_map(place).collect()
}

fn sign(number: &[u8]) -> bool {
    let highest = if cfg!(target_endian = "big") { number.first() } else { number.last() };
    highest.is_some_and(|byte| byte & 0x80 != 0)
}

/// The lengths of the nested lists of a field.
fn lists(field: &Field) -> Vec<usize> {
    let mut dims: Vec<usize> = field.dims.iter().map(fixed).collect();
    match &field.element {
        Element::Char => _ = dims.pop(),
        Element::Complex { .. } => dims.push(2),
        _ => {}
    }
    dims
}

fn fixed(dim: &Dimension) -> usize {
    match dim {
        Dimension::Fixed(length) => *length,
        Dimension::Field(_) => 0,
    }
}

/// Arrow's word for an element.
fn word(element: &Element, name: &str) -> Result<String> {
    let word = match element {
        Element::Char => Some("U".into()),
        Element::Complex { kind, size } => number(&Element::Float { kind: *kind, size: *size }),
        Element::Boolean { size: 1 } => Some("b".into()),
        element => number(element),
    };
    word.ok_or_else(|| unsupported(element).at(name))
}

fn unsupported(element: &Element) -> Error {
    Error::new(Code::WrongType).expected("numbers, booleans or text of a type that Arrow has").found(element)
}

/// Arrow's word for numbers, and for booleans of any size as numbers.
fn number(element: &Element) -> Option<String> {
    match element {
        Element::Float { kind: FloatKind::Ieee, size } => float(*size),
        Element::Integer { signed, size } => integer(*signed, *size),
        Element::Boolean { size } => integer(false, *size),
        _ => None,
    }
}

fn float(size: u8) -> Option<String> {
    let names = [(2, "e"), (4, "f"), (8, "g")];
    names.iter().find(|(bytes, _)| *bytes == size).map(|(_, name)| (*name).into())
}

fn integer(signed: bool, size: u8) -> Option<String> {
    let names = [(1, "cC"), (2, "sS"), (4, "iI"), (8, "lL")];
    let both = names.iter().find(|(bytes, _)| *bytes == size)?.1;
    Some(both[usize::from(!signed)..][..1].into())
}
