//! Tables of fields of nested structures, from a C compiler, a dtype or debug information.
//!
//! A [`FieldList`] is one structure whose sizes are known. [`Tables`] combines several, and determines what a C
//! compiler leaves open: the size of one element, from that of the whole member, and the meaning of `long` and `long
//! double` on this machine.

use super::FieldList;
use super::layout::Layout;
use super::types::{Kind, Length, Type, Width};
use crate::error::{Code, Error, Result};
use crate::format::{FloatKind, Format, Machine, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// One field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type, in words: `integer`, `double[3]`, `"Point"[n]`.
    pub words: &'a str,
    /// The bytes of one element; 0 if the words determine it.
    pub size: usize,
    /// Its offset in the structure.
    pub offset: usize,
    /// Its unit of measurement.
    pub unit: Option<&'a str>,
    /// The `sizeof` of the whole member if a C compiler made the table, or 0 if that is unknown. The words then have
    /// the meaning that they have to that compiler.
    pub extent: Option<usize>,
}

/// Structures with all fields in their places, each after those that it nests. The last is the record.
///
/// ```
/// use isoform_core::Machine;
/// use isoform_core::declare::{Row, Tables};
/// let mut tables = Tables::new(Machine::NATIVE);
/// let row = |name, words, size, offset| Row { name, words, size, offset, unit: None, extent: None };
/// tables.add("Point", 16, 8, [row("x", "float", 8, 0), row("y", "float", 8, 8)])?;
/// tables.add("Track", 40, 8, [row("id", "integer", 4, 0), row("ends", "Point[2]", 16, 8)])?;
/// assert_eq!(tables.format()?.name(), "Track");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Tables {
    machine: Machine,
    known: HashMap<Box<str>, Arc<Structure>>,
    last: Option<Arc<Structure>>,
}

impl Tables {
    /// Creates an empty list of structures, for records in the memory of a machine.
    pub fn new(machine: Machine) -> Tables {
        Tables { machine, known: HashMap::new(), last: None }
    }

    /// Adds a structure of `size` bytes, aligned to `alignment`, which may nest those before it.
    ///
    /// # Errors
    /// [`Code::Declaration`] or [`Code::Size`], with the path of the field, if the table contradicts itself;
    /// [`Code::Declaration`] if another structure has that name.
    pub fn add<'a>(
        &mut self,
        name: &str,
        size: usize,
        alignment: usize,
        rows: impl IntoIterator<Item = Row<'a>>,
    ) -> Result<()> {
        let mut fields = FieldList::new(name);
        let mut extents = Vec::new();
        for row in rows {
            let (words, size) = match row.extent {
                None => (row.words.to_owned(), row.size),
                Some(extent) => {
                    extents.push((row.name, extent));
                    settle(&row, extent).map_err(|error| error.at(format!("{name}.{}", row.name)))?
                }
            };
            fields = fields.field(row.name, words, size, row.offset);
            fields = row.unit.into_iter().fold(fields, FieldList::unit);
        }
        let structure = fields.structure_among(&self.known, self.machine, size, alignment)?;
        extents.into_iter().try_for_each(|(field, extent)| agree(&structure, field, extent))?;
        match self.known.get(name) {
            Some(other) if *other != structure => {
                return Err(Error::new(Code::Declaration).at(name).found("two structures of this name"));
            }
            _ => self.known.insert(name.into(), structure.clone()),
        };
        self.last = Some(structure);
        Ok(())
    }

    /// The format of the last structure.
    ///
    /// # Errors
    /// [`Code::Declaration`] if there is none; as [`Format::new`].
    pub fn format(self) -> Result<Format> {
        let none = || Error::new(Code::Declaration).at("structures").expected("at least one structure");
        Format::new(self.last.ok_or_else(none)?)
    }
}

/// Checks that a member is as large as its type.
fn agree(structure: &Structure, field: &str, extent: usize) -> Result<()> {
    let has = structure.field(field).and_then(|field| field.extent(structure.machine().pointer));
    if extent == 0 || has == Some(extent) {
        return Ok(());
    }
    let error = Error::new(Code::Declaration).at(format!("{}.{field}", structure.name()));
    let expected = format_args!("a member of {} bytes, as its type has", has.unwrap_or(0));
    Err(error.expected(expected).found(extent))
}

/// The type with the sizes that this machine's C has, and the size of one element, as far as they are known.
fn settle(row: &Row<'_>, extent: usize) -> Result<(String, usize)> {
    let mut words: Type = row.words.parse()?;
    words.kind = words.kind.settled(&Layout::NATIVE);
    let fixed = words.dims.iter().try_fold(1usize, |product, dim| match dim {
        Length::Fixed(n) => product.checked_mul(*n),
        Length::Field(_) => Some(product),
    });
    let fixed = fixed.ok_or_else(|| Error::new(Code::Size).found(&words))?;
    let (known, whole) = (words.kind.bytes(), extent.is_multiple_of(fixed.max(1)));
    if row.size == 0 && extent != 0 && !words.is_indirect() {
        let expected = match known {
            Some(size) if extent != size.saturating_mul(fixed) => {
                format!("{} bytes", size.saturating_mul(fixed))
            }
            None if words.kind.width() == Some(Width::Open) && !whole => format!("{fixed} elements of one size"),
            _ => String::new(),
        };
        if !expected.is_empty() {
            let expected = format_args!("a member of {expected}, as {words} has");
            return Err(Error::new(Code::Declaration).expected(expected).found(format_args!("{extent} bytes")));
        }
    }
    let size = match known {
        _ if row.size != 0 => row.size,
        Some(size) => size,
        None if whole && !words.is_indirect() => extent / fixed.max(1),
        None => 0,
    };
    match (&words.kind, size) {
        (Kind::Float { kind: FloatKind::Ieee, width: Width::Open }, 16) => {
            let other = match words.dims.is_empty() && row.size == 0 {
                true => "float[4] or double[2] for numbers in a row",
                false => "elements of 4 or 8 bytes",
            };
            let expected = format_args!("{other}, or long double or f128, which differ");
            let found = format_args!("{words}, of 16 bytes each");
            Err(Error::new(Code::Declaration).expected(expected).found(found))
        }
        (kind, 0) if kind.width() == Some(Width::Open) => {
            Err(Error::new(Code::Declaration).expected("a size, as in float(8), or ISO_POINTER").found(&words))
        }
        _ => Ok((words.to_string(), size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, words: &'static str, size: usize, extent: Option<usize>) -> Row<'static> {
        Row { name, words, size, offset: 0, unit: None, extent }
    }

    fn fault(row: Row<'_>) -> String {
        Tables::new(Machine::NATIVE).add("r", 64, 1, [row]).unwrap_err().to_string()
    }

    #[test]
    fn what_a_compiler_says_of_a_member_agrees_with_its_type() {
        for (row, says) in [
            (row("a", "int[3]", 0, Some(16)), "at r.a: expected a member of 12 bytes, as i32[3] has, found 16 bytes"),
            (row("a", "float[3]", 0, Some(16)), "expected a member of 3 elements of one size"),
            (row("a", "float", 0, Some(16)), "or long double or f128, which differ"),
            (row("a", "integer", 0, Some(0)), "expected a size"),
            (row("a", "integer", 4, Some(8)), "expected a member of 4 bytes, as its type has, found 8"),
        ] {
            let fault = fault(row);
            assert!(fault.contains(says), "{fault}");
        }
    }

    #[test]
    fn structures_of_one_name_are_one_structure() {
        let mut tables = Tables::new(Machine::NATIVE);
        tables.add("p", 8, 4, [row("x", "integer", 4, None)]).unwrap();
        tables.add("p", 8, 4, [row("x", "integer", 4, None)]).unwrap();
        tables.add("r", 8, 4, [row("p", "p", 8, None)]).unwrap();
        let fault = tables.add("p", 8, 2, [row("x", "integer", 2, None)]).unwrap_err();
        assert!(fault.to_string().contains("two structures of this name"), "{fault}");
        let format = tables.format().unwrap();
        let names: Vec<&str> = format.structure().inside_out().iter().map(|structure| structure.name()).collect();
        assert_eq!(names, ["p", "r"]);
        assert!(Tables::new(Machine::NATIVE).format().is_err());
    }
}
