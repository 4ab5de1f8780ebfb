//! Formats from tables of fields, and tables from formats. The tables are those of `isoform_writer.h`, and the types in them
//! are read by the parser that all of Isoform has; here is what a C compiler adds: how large a member is.

use crate::pointer::{list, optional_text, text};
use isoform::declare::{Kind, Length, Type, Width};
use isoform::{Code, Element, Error, FieldList, FloatKind, Format, Layout, Machine, Result, Structure};
use std::collections::HashSet;
use std::ffi::{CString, c_char, c_long};
use std::sync::Arc;

/// `iso_field`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Row {
    name: *const c_char,
    kind: *const c_char,
    size: usize,
    offset: usize,
    unit: *const c_char,
    extent: usize,
}

/// `iso_structure`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Table {
    name: *const c_char,
    size: usize,
    alignment: usize,
    fields: *const Row,
    count: usize,
}

/// The format of the last of the structures.
///
/// # Safety
/// (1) of the crate, for the structures, their rows and all texts.
pub(crate) unsafe fn format(structures: *const Table, count: usize) -> Result<Format> {
    // SAFETY: promised.
    let tables = unsafe { list(structures, count, "structures")? };
    let mut known: Vec<Arc<Structure>> = Vec::new();
    for table in tables {
        // SAFETY: promised.
        let structure = unsafe { structure(table, &known)? };
        if known.iter().any(|other| other.name() == structure.name()) {
            return Err(Error::new(Code::Declaration).at(structure.name()).came("two structures of this name"));
        }
        known.push(structure);
    }
    let last = known.pop();
    Format::new(last.ok_or_else(|| Error::new(Code::Declaration).at("structures").expected("at least one"))?)
}

/// # Safety
/// (1) of the crate, for the table, its rows and all texts.
unsafe fn structure(table: &Table, known: &[Arc<Structure>]) -> Result<Arc<Structure>> {
    // SAFETY: promised.
    let (name, rows) = unsafe { (text(table.name, "structure name")?, list(table.fields, table.count, "fields")?) };
    let nested = known.iter().fold(FieldList::new(name), |fields, inner| fields.nested(inner.clone()));
    let mut extents = Vec::with_capacity(rows.len());
    let mut fields = nested;
    for row in rows {
        // SAFETY: promised.
        let (field, words, unit) = unsafe {
            (text(row.name, "field name")?, text(row.kind, "field type")?, optional_text(row.unit, "field unit")?)
        };
        let place = |error: Error| error.at(format!("{name}.{field}"));
        let (words, size) = settle(words, row).map_err(place)?;
        fields = fields.field(field, words.to_string(), size, row.offset);
        fields = unit.into_iter().fold(fields, |fields, unit| fields.unit(unit));
        extents.push((field, row.extent));
    }
    let structure = fields.structure(Machine::NATIVE, table.size, table.alignment)?;
    for (field, extent) in extents {
        let has = structure.field(field).and_then(|field| field.extent(Machine::NATIVE.pointer));
        if extent != 0 && has != Some(extent) {
            let error = Error::new(Code::Declaration).at(format!("{name}.{field}"));
            let expected = format_args!("a member of {} bytes, as its type has", has.unwrap_or(0));
            return Err(error.expected(expected).came(extent));
        }
    }
    Ok(structure)
}

/// The type with the sizes that this machine's C has, and the size of one element, as far as they are known.
fn settle(words: &str, row: &Row) -> Result<(Type, usize)> {
    let mut words: Type = words.parse()?;
    words.kind = native(words.kind);
    let fixed = words.dims.iter().try_fold(1usize, |product, dim| match dim {
        Length::Fixed(n) => product.checked_mul(*n),
        Length::Field(_) => Some(product),
    });
    let fixed = fixed.ok_or_else(|| Error::new(Code::Size).came(&words))?;
    let (width, whole) = (width(&words.kind), row.extent.is_multiple_of(fixed.max(1)));
    if row.size == 0 && row.extent != 0 && !words.is_indirect() {
        let expected = match width {
            Some(width) if row.extent != width.saturating_mul(fixed) => {
                format!("{} bytes", width.saturating_mul(fixed))
            }
            None if is_open(&words.kind) && !whole => format!("{fixed} elements of one size"),
            _ => String::new(),
        };
        if !expected.is_empty() {
            let expected = format_args!("a member of {expected}, as {words} has");
            return Err(Error::new(Code::Declaration).expected(expected).came(format_args!("{} bytes", row.extent)));
        }
    }
    let size = match width {
        _ if row.size != 0 => row.size,
        Some(width) => width,
        None if whole && !words.is_indirect() => row.extent / fixed.max(1),
        None => 0,
    };
    match (&words.kind, size) {
        (Kind::Float { kind: FloatKind::Ieee, width: Width::Open }, 16) => {
            let other = match words.dims.is_empty() && row.size == 0 {
                true => "float[4] or double[2] for numbers in a row",
                false => "elements of 4 or 8 bytes",
            };
            let expected = format_args!("{other}, or long double or f128, which differ");
            let came = format_args!("{words}, of 16 bytes each");
            Err(Error::new(Code::Declaration).expected(expected).came(came))
        }
        (kind, 0) if is_open(kind) => {
            Err(Error::new(Code::Declaration).expected("a size, as in float(8), or ISO_POINTER").came(&words))
        }
        _ => Ok((words, size)),
    }
}

/// How many bytes the words say that a number has.
fn width(kind: &Kind) -> Option<usize> {
    match *kind {
        Kind::Integer { width: Width::Bytes(bytes), .. }
        | Kind::Float { width: Width::Bytes(bytes), .. }
        | Kind::Boolean { width: Width::Bytes(bytes) }
        | Kind::Enumeration { width: Width::Bytes(bytes), .. } => Some(usize::from(bytes)),
        _ => None,
    }
}

/// Whether the words do not say how large it is.
fn is_open(kind: &Kind) -> bool {
    match kind {
        Kind::Integer { width, .. }
        | Kind::Float { width, .. }
        | Kind::Complex { width, .. }
        | Kind::Boolean { width }
        | Kind::Enumeration { width, .. } => *width == Width::Open,
        _ => false,
    }
}

/// What `long` and `long double` are on this machine.
fn native(kind: Kind) -> Kind {
    const LONG: Width = Width::Bytes(size_of::<c_long>() as u8);
    let long_double = Layout::NATIVE.long_double;
    let width = Width::Bytes(long_double.size);
    match kind {
        Kind::LongDouble { complex: false } => Kind::Float { kind: long_double.kind, width },
        Kind::LongDouble { complex: true } => Kind::Complex { kind: long_double.kind, width },
        Kind::Integer { signed, width: Width::Long } => Kind::Integer { signed, width: LONG },
        other => other,
    }
}

/// A format as tables, with the texts that they point at.
pub(crate) struct Tables {
    tables: Vec<Table>,
    _rows: Vec<Vec<Row>>,
    _texts: Vec<CString>,
}

// SAFETY: nothing changes what it points at, which it owns.
unsafe impl Send for Tables {}
// SAFETY: likewise.
unsafe impl Sync for Tables {}

impl Tables {
    pub(crate) fn of(format: &Format) -> Tables {
        let mut tables = Tables { tables: Vec::new(), _rows: Vec::new(), _texts: Vec::new() };
        tables.add(format.structure(), &mut HashSet::new());
        tables
    }

    pub(crate) fn list(&self) -> &[Table] {
        &self.tables
    }

    /// Adds a structure after those that it nests, unless it is there already.
    fn add<'f>(&mut self, structure: &'f Structure, added: &mut HashSet<&'f str>) {
        if !added.insert(structure.name()) {
            return;
        }
        for field in structure.fields() {
            if let Element::Structure(inner) = &field.element {
                self.add(inner, added);
            }
        }
        let pointer = structure.machine().pointer;
        let mut rows = Vec::with_capacity(structure.fields().len());
        for field in structure.fields() {
            rows.push(Row {
                name: self.text(&field.name),
                kind: self.text(&Type::of(field, structure).to_string()),
                size: field.element_size(pointer),
                offset: field.offset,
                unit: field.unit.as_deref().map_or(std::ptr::null(), |unit| self.text(unit)),
                extent: field.extent(pointer).unwrap_or(0),
            });
        }
        let (size, alignment, count) = (structure.size(), structure.align(), rows.len());
        let (name, fields) = (self.text(structure.name()), rows.as_ptr());
        self.tables.push(Table { name, size, alignment, fields, count });
        self._rows.push(rows);
    }

    /// A text that stays where it is.
    fn text(&mut self, text: &str) -> *const c_char {
        let text = crate::error::c_text(text);
        let start = text.as_ptr();
        self._texts.push(text);
        start
    }
}
