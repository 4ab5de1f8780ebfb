//! Formats from a C compiler's knowledge of a struct: the name, type, size and offset of each field (paper 000, figure
//! 1).

use super::types::{Kind, Type, Width};
use crate::error::{Code, Error, Result};
use crate::format::{Element, Format, Machine, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// The fields of a record, each with its name, type, size and offset. It is turned into a [`Format`].
///
/// The type is a text as for [`Type`]. The size is that of one element, as `sizeof` returns it: of one number of an
/// array, of `char *` for a string, of the structure for a nested record. It determines the width of an `"integer"`. If
/// the type has a size itself, such as `"double"`, both must be equal, or the given size must be 0.
///
/// ```
/// use isoform_core::{FieldList, Layout, Machine};
/// // struct point { double x, y; };  struct track { char *name; int n; struct point *points; };
/// let machine = Layout::X86_64.machine();
/// let point = FieldList::new("point").field("x", "float", 8, 0).field("y", "float", 8, 8).structure(machine, 16, 8)?;
/// let track = FieldList::new("track")
///     .nested(point)
///     .field("name", "string", 8, 0)
///     .field("n", "integer", 4, 8)
///     .field("points", "point[n]", 16, 16)
///     .unit("m")
///     .format(machine, 24, 8)?;
/// assert!(track.structure().field("points").unwrap().is_dynamic());
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FieldList {
    name: Box<str>,
    rows: Vec<Row>,
    nested: Vec<Arc<Structure>>,
    stray_unit: bool,
}

#[derive(Clone, Debug)]
struct Row {
    name: Box<str>,
    words: Box<str>,
    size: usize,
    offset: usize,
    unit: Option<Box<str>>,
}

impl FieldList {
    /// Creates an empty list for a record of this name.
    pub fn new(name: impl Into<Box<str>>) -> FieldList {
        FieldList { name: name.into(), rows: Vec::new(), nested: Vec::new(), stray_unit: false }
    }

    /// The list of the fields of a structure.
    pub fn of(structure: &Structure) -> FieldList {
        let mut list = FieldList::new(structure.name());
        for field in structure.fields() {
            if let Element::Structure(inner) = &field.element {
                list = list.nested(inner.clone());
            }
            let words = Type::of(field, structure).without_size().to_string();
            let size = field.element_size(structure.machine().pointer);
            list = list.field(&*field.name, words, size, field.offset);
            list = field.unit.iter().fold(list, |list, unit| list.unit(&**unit));
        }
        list
    }

    /// Adds a field: its name, its type, the bytes of one element, and its offset.
    pub fn field(
        mut self,
        name: impl Into<Box<str>>,
        words: impl Into<Box<str>>,
        size: usize,
        offset: usize,
    ) -> FieldList {
        self.rows.push(Row { name: name.into(), words: words.into(), size, offset, unit: None });
        self
    }

    /// Sets the unit of the last field.
    pub fn unit(mut self, unit: impl Into<Box<str>>) -> FieldList {
        match self.rows.last_mut() {
            Some(row) => row.unit = Some(unit.into()),
            None => self.stray_unit = true,
        }
        self
    }

    /// Adds a structure that types may name.
    pub fn nested(mut self, structure: Arc<Structure>) -> FieldList {
        self.nested.push(structure);
        self
    }

    /// The format of a record of `size` bytes, aligned to `align`, on a machine.
    ///
    /// # Errors
    /// As [`FieldList::structure`] and [`Format::new`].
    pub fn format(&self, machine: Machine, size: usize, align: usize) -> Result<Format> {
        Format::new(self.structure(machine, size, align)?)
    }

    /// The structure, for nesting in other lists.
    ///
    /// # Errors
    /// [`Code::Declaration`] at a field whose type is malformed or contradicts its size, and as [`Structure::new`].
    pub fn structure(&self, machine: Machine, size: usize, align: usize) -> Result<Arc<Structure>> {
        let mut known = HashMap::new();
        for structure in &self.nested {
            if known.insert(structure.name().into(), structure.clone()).is_some_and(|other| other != *structure) {
                return Err(Error::new(Code::Declaration).at(structure.name()).found("two structures of this name"));
            }
        }
        self.structure_among(&known, machine, size, align)
    }

    /// The structure, in which types may name these.
    pub(super) fn structure_among(
        &self,
        known: &HashMap<Box<str>, Arc<Structure>>,
        machine: Machine,
        size: usize,
        align: usize,
    ) -> Result<Arc<Structure>> {
        if self.stray_unit {
            return Err(Error::new(Code::Declaration).at(&*self.name).found("a unit before any field"));
        }
        let indices: HashMap<&str, usize> = self.rows.iter().enumerate().map(|(i, row)| (&*row.name, i)).collect();
        let field = |row: &Row| {
            let words: Type = row.words.parse()?;
            let element =
                words.kind.element(|width| row.bytes(&words, width, machine), |name| known.get(name).cloned())?;
            let known = element.size(machine.pointer);
            if row.size != 0 && row.size != known {
                let expected = format_args!("size {known}, as the type {} has", row.words).to_string();
                return Err(Error::new(Code::Declaration).expected(expected).found(row.size));
            }
            words.field(&row.name, element, row.offset, row.unit.clone(), |name| indices.get(name).copied())
        };
        let fields =
            self.rows.iter().map(|row| field(row).map_err(|error| error.at(format!("{}.{}", self.name, row.name))));
        Ok(Arc::new(Structure::new(self.name.clone(), machine, size, align, fields.collect::<Result<_>>()?)?))
    }
}

impl Row {
    /// The bytes of a number - of each part, if it is complex - that is as wide as `width`.
    fn bytes(&self, words: &Type, width: Width, machine: Machine) -> Result<u8> {
        let parts = if matches!(words.kind, Kind::Complex { .. }) { 2 } else { 1 };
        match width {
            Width::Bytes(size) => Ok(size),
            Width::Pointer => Ok(machine.pointer),
            Width::Open | Width::Long => {
                let size = Some(self.size / parts).filter(|size| self.size.is_multiple_of(parts) && *size > 0);
                size.and_then(|size| size.try_into().ok()).ok_or_else(|| {
                    Error::new(Code::Declaration)
                        .expected(format_args!("a size for the type {}", words.kind))
                        .found(self.size)
                })
            }
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::Layout;

    const MACHINE: Machine = Layout::X86_64.machine();

    fn fault(list: FieldList) -> String {
        list.format(MACHINE, 64, 8).unwrap_err().to_string()
    }

    #[test]
    fn the_size_column_decides_what_words_leave_open() {
        let list = FieldList::new("r")
            .field("a", "integer", 2, 0)
            .field("b", "unsigned long", 4, 4)
            .field("c", "complex float", 8, 8)
            .field("d", "x87", 16, 16)
            .field("e", "double", 0, 32)
            .field("f", "string", 8, 40)
            .field("g", "float[a]", 4, 48)
            .field("h", "size_t", 8, 56);
        let format = list.format(MACHINE, 64, 16).unwrap();
        let text: Vec<String> = format.structure().fields().iter().map(|field| field.element.to_string()).collect();
        let expected = ["integer(2)", "unsigned(4)", "complex float(4)", "x87(16)", "float(8)", "string", "float(4)"];
        assert_eq!(text[..7], expected);
        let again = FieldList::of(format.structure()).format(MACHINE, 64, 16).unwrap();
        assert_eq!(again, format);
    }

    #[test]
    fn contradictions_are_found_at_their_field() {
        let list = || FieldList::new("r");
        for (list, message) in [
            (list().field("x", "double", 4, 0), "at r.x: expected size 8, as the type double has, found 4"),
            (list().field("x", "string", 4, 0), "at r.x: expected size 8, as the type string has, found 4"),
            (list().field("x", "integer", 0, 0), "at r.x: expected a size for the type integer, found 0"),
            (list().field("x", "integer", 3, 0), "found integer(3)"),
            (list().field("x", "integer", 256, 0), "found 256"),
            (list().field("x", "complex float", 7, 0), "found 7"),
            (list().field("x", "long double", 16, 0), "expected float, x87 or double-double"),
            (list().field("x", "Point", 16, 0), "at r.x: expected a type, or the name of a structure declared before"),
            (list().field("x", "float[n]", 4, 0), "expected an integer field as length, found `n`, which is no field"),
            (
                list().field("x", "float[x]", 4, 0),
                "at r.x: expected a single integer of at most 8 bytes as length, found x (f32[])",
            ),
            (list().field("x", "flo at", 4, 0), "at r.x: expected a type, found `flo at` at column 1"),
            (list().unit("m"), "a unit before any field"),
            (list().field("a", "int", 4, 0).field("a", "int", 4, 0), "at r.a: two fields of this name"),
            (list().field("a", "int", 4, 0).field("b", "int", 4, 2), "at r.b: expected free bytes from 4 to 64"),
        ] {
            let fault = fault(list);
            assert!(fault.contains(message), "{fault}");
        }
    }

    #[test]
    fn one_name_is_one_structure() {
        let point = |size| FieldList::new("p").field("x", "integer", size, 0).structure(MACHINE, 8, 8).unwrap();
        let list = FieldList::new("r").nested(point(4)).nested(point(4)).field("p", "p", 8, 0);
        let format = list.format(MACHINE, 8, 8).unwrap();
        assert!(matches!(&format.structure().fields()[0].element, Element::Structure(p) if p.name() == "p"));
        assert!(fault(list.nested(point(2))).contains("two structures of this name"));
    }
}
