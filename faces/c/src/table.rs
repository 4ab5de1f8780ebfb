//! Tables of fields in the form of C and `isoform_writer.h`, read from C's memory and written to it.
//! [`isoform::core::declare`] interprets them.

use crate::pointer::{list, optional_text, text};
use isoform::core::Structure;
use isoform::core::declare::{self, Type};
use isoform::{Code, Error, Format, Machine, Result};
use isoform_dynamic::rules::Wishes;
use std::ffi::{CString, c_char};

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
    standard: *const c_char,
    member: *const c_char,
    rows: [usize; 7],
    struct_size: usize,
    struct_name: *const c_char,
    struct_of: Option<unsafe extern "C" fn() -> *const c_char>,
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
    struct_name: *const c_char,
}

/// The format of the last of the structures, and the defaults of all.
///
/// # Safety
/// (1) of the crate, for the structures, their rows and all texts.
pub(crate) unsafe fn format(structures: *const Table, count: usize) -> Result<(Format, Wishes)> {
    let (mut tables, mut defaults) = (declare::Tables::new(Machine::NATIVE), Wishes::new());
    // SAFETY: promised.
    for table in unsafe { list(structures, count, "structures")? } {
        // SAFETY: promised.
        let (name, rows) = unsafe { (text(table.name, "structure name")?, list(table.fields, table.count, "fields")?) };
        for row in rows {
            // SAFETY: promised.
            let (field, json) =
                unsafe { (text(row.name, "field name")?, optional_text(row.standard, "default of a field")?) };
            match json {
                None => {}
                Some("") => defaults.default_zero(name, field),
                Some(json) => defaults.default(name, field, json),
            }
        }
        // SAFETY: promised.
        let compiled = unsafe { optional_text(table.struct_name, "name of a struct")? };
        for row in rows {
            // SAFETY: promised.
            unsafe { row.belongs(name, table.size, compiled)? };
        }
        // SAFETY: promised.
        let rows = rows.iter().map(|row| unsafe { row.lent() }).collect::<Result<Vec<_>>>()?;
        tables.add(name, table.size, table.alignment, rows)?;
        if let Some(compiled) = compiled {
            tables.name_struct(name, compiled);
        }
    }
    let format = tables.format()?;
    // So that a wrong default is found where it is declared.
    defaults.of(&format)?;
    Ok((format, defaults))
}

impl Row {
    /// Refuses a row of another struct than that of its structure, which has `size` bytes and the name `compiled`.
    ///
    /// # Safety
    /// (1) of the crate, for its texts and its function.
    unsafe fn belongs(&self, structure: &str, size: usize, compiled: Option<&str>) -> Result<()> {
        // SAFETY: promised.
        let named = self.struct_of.map_or(self.struct_name, |named| unsafe { named() });
        // SAFETY: promised.
        let (field, of) = unsafe { (text(self.name, "field name")?, optional_text(named, "name of a struct")?) };
        let refused = || Error::new(Code::Declaration).at(format!("{structure}.{field}"));
        match (compiled.and_then(bare), of.and_then(bare)) {
            (Some(own), Some(of)) if own != of => {
                let alike = "with the same name in ISO_FIELD and ISO_STRUCTURE";
                let expected = format_args!("a row of {own}, {alike}");
                Err(refused().expected(expected).found(format_args!("a row of {of}")))
            }
            _ if self.struct_size != 0 && self.struct_size != size => {
                let expected = format_args!("a row of a struct of {size} bytes");
                Err(refused().expected(expected).found(format_args!("a row of one of {} bytes", self.struct_size)))
            }
            _ => Ok(()),
        }
    }

    /// # Safety
    /// (1) of the crate, for its texts.
    unsafe fn lent<'a>(&self) -> Result<declare::Row<'a>> {
        // SAFETY: promised.
        let (name, words, unit) = unsafe {
            (text(self.name, "field name")?, text(self.kind, "field type")?, optional_text(self.unit, "field unit")?)
        };
        // SAFETY: promised.
        let element = unsafe { optional_text(self.member, "type of a member")? };
        let member = element.map(|element| declare::Member { element, rows: self.rows });
        Ok(declare::Row { name, words, size: self.size, offset: self.offset, unit, extent: Some(self.extent), member })
    }
}

/// The name of a struct, without `struct` in front. `None` if it has none.
fn bare(mut name: &str) -> Option<&str> {
    while let Some(rest) = name.strip_prefix("struct ") {
        name = rest;
    }
    (name != "struct").then_some(name)
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
        format.structure().inside_out().into_iter().for_each(|structure| tables.add(structure));
        tables
    }

    pub(crate) fn list(&self) -> &[Table] {
        &self.tables
    }

    fn add(&mut self, structure: &Structure) {
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
                standard: std::ptr::null(),
                member: std::ptr::null(),
                rows: [0; 7],
                struct_size: 0,
                struct_name: std::ptr::null(),
                struct_of: None,
            });
        }
        let (size, alignment, count) = (structure.size(), structure.align(), rows.len());
        let (name, fields) = (self.text(structure.name()), rows.as_ptr());
        self.tables.push(Table { name, size, alignment, fields, count, struct_name: std::ptr::null() });
        self._rows.push(rows);
    }

    /// A text that does not move.
    fn text(&mut self, text: &str) -> *const c_char {
        let text = crate::error::c_text(text);
        let start = text.as_ptr();
        self._texts.push(text);
        start
    }
}
