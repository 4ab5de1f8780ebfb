//! Columns for Arrow's C data interface: two C structures, in capsules, that point at the values.
//!
//! Invariants:
//! 1. The `private` of a [`Schema`] or an [`Array`] that has not been released is a box of [`Texts`] or [`Owner`], and nobody
//!    else's. Its `children` are boxes, too.
//! 2. All that the other pointers point at is in that box, or in an array of NumPy that the box holds: it cannot be
//!    written to, and stays where it is.
//!
//! A program that takes such a structure out of its capsule moves it and clears `release`, as the interface requires.

use crate::error::raise;
use isoform::core::{Dimension, Element, Field, FloatKind};
use isoform::{Code, Error};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CString, c_char, c_void};
use std::ptr;

/// The type of a column.
#[repr(C)]
struct Schema {
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

/// The place of its values.
#[repr(C)]
struct Array {
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
    children: Vec<*mut Schema>,
}

/// The memory that an array points at, and its owner.
struct Owner {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    _values: Option<Py<PyArray1<u8>>>,
    bits: Vec<u8>,
}

// SAFETY: by (1) and (2) what is pointed at belongs to the structure, or cannot be written to.
unsafe impl Send for Schema {}
// SAFETY: as above.
unsafe impl Send for Array {}

impl Schema {
    fn new(format: &str, name: &str, children: Vec<Schema>) -> isoform::Result<Schema> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Error::new(Code::WrongType).at(name).expected("a name without NUL"))
        };
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut texts = Box::new(Texts { format: text(format)?, name: text(name)?, children });
        Ok(Schema {
            format: texts.format.as_ptr(),
            name: texts.name.as_ptr(),
            metadata: ptr::null(),
            flags: 0,
            n_children: texts.children.len() as i64,
            children: texts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private: Box::into_raw(texts).cast(),
        })
    }
}

impl Array {
    fn new(length: usize, mut owner: Box<Owner>) -> Array {
        Array {
            length: length as i64,
            null_count: 0,
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
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        let owner = Box::from_raw((*array).private.cast::<Owner>());
        owner.children.iter().for_each(|&child| drop(Box::from_raw(child)));
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

/// The schema of a record with these fields, in a capsule.
pub(crate) fn schema<'py>(py: Python<'py>, name: &str, fields: &[&Field]) -> PyResult<Bound<'py, PyAny>> {
    let children = fields.iter().map(|field| of_field(field)).collect::<isoform::Result<Vec<_>>>();
    let schema = children.and_then(|children| Schema::new("+s", name, children)).map_err(raise)?;
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}

/// The values of this many rows, in a capsule.
pub(crate) fn array<'py>(
    py: Python<'py>,
    rows: usize,
    columns: &[(Field, Bound<'py, PyArray1<u8>>)],
) -> PyResult<Bound<'py, PyAny>> {
    let children = columns.iter().map(|(field, bytes)| Box::into_raw(Box::new(values(rows, field, bytes)))).collect();
    let owner = Owner { buffers: vec![ptr::null()], children, _values: None, bits: Vec::new() };
    Ok(PyCapsule::new_with_value(py, Array::new(rows, Box::new(owner)), c"arrow_array")?.into_any())
}

fn of_field(field: &Field) -> isoform::Result<Schema> {
    let (dims, element) = lists(field);
    let element = element.ok_or_else(|| {
        let error =
            Error::new(Code::WrongType).at(&*field.name).expected("numbers, booleans or text of a type that Arrow has");
        error.found(&field.element)
    })?;
    let mut schema = Schema::new(&element, if dims.is_empty() { &field.name } else { "item" }, Vec::new())?;
    for (index, length) in dims.iter().enumerate().rev() {
        schema = Schema::new(&format!("+w:{length}"), if index == 0 { &field.name } else { "item" }, vec![schema])?;
    }
    Ok(schema)
}

fn values(rows: usize, field: &Field, bytes: &Bound<'_, PyArray1<u8>>) -> Array {
    let (dims, _) = lists(field);
    let count = dims.iter().product::<usize>() * rows;
    let mut owner = Box::new(Owner {
        buffers: vec![ptr::null(), bytes.data().cast_const().cast()],
        children: Vec::new(),
        _values: Some(bytes.clone().unbind()),
        bits: Vec::new(),
    });
    if let Element::Boolean { size: 1 } = field.element {
        let readonly = bytes.readonly();
        let truths = readonly.as_slice().unwrap_or(&[]);
        let pack = |truths: &[u8]| truths.iter().enumerate().fold(0, |bits, (at, truth)| bits | (truth & 1) << at);
        owner.bits = truths.chunks(8).map(pack).collect();
        owner.buffers[1] = owner.bits.as_ptr().cast();
    }
    let mut array = Array::new(count, owner);
    for index in (0..dims.len()).rev() {
        let length = rows * dims[..index].iter().product::<usize>();
        let children = vec![Box::into_raw(Box::new(array))];
        let owner = Owner { buffers: vec![ptr::null()], children, _values: None, bits: Vec::new() };
        array = Array::new(length, Box::new(owner));
    }
    array
}

/// The nested lists of a field, and Arrow's name for their elements, if it has one.
fn lists(field: &Field) -> (Vec<usize>, Option<String>) {
    let fixed = |dim: &Dimension| match dim {
        Dimension::Fixed(length) => Some(*length),
        Dimension::Field(_) => None,
    };
    let mut dims: Vec<usize> = field.dims.iter().filter_map(fixed).collect();
    let name = match &field.element {
        Element::Char => format!("w:{}", dims.pop().unwrap_or(1)),
        Element::Complex { kind: FloatKind::Ieee, size } => {
            dims.push(2);
            return (dims, float(*size));
        }
        Element::Float { kind: FloatKind::Ieee, size } => return (dims, float(*size)),
        Element::Boolean { size: 1 } => "b".into(),
        Element::Integer { signed, size } => return (dims, integer(*signed, *size)),
        Element::Boolean { size } => return (dims, integer(false, *size)),
        Element::Enumeration(enumeration) => return (dims, integer(enumeration.signed(), enumeration.size())),
        _ => return (dims, None),
    };
    (dims, Some(name))
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
