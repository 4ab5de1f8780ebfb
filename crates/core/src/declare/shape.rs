//! Records declared without a layout, as a C header declares them, and laid out by the rules of any [`Layout`].
//!
//! One record of a shape, and how a layout places its fields, is in [`declaration`](super::declaration). The text of
//! shapes - `record Point`, a line for each field - is in [`shape_text`](super::shape_text), that of types in
//! [`type_text`](super::type_text).

use super::Layout;
use super::declaration::{Declaration, DeclaredField, two_of};
use super::types::{Kind, Width};
use crate::error::{Code, Error, Result};
use crate::format::{FloatKind, Format, Structure};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A record's name and fields without sizes and offsets: what a C header says of a struct. [`Shape::on`] lays it out as
/// the C compiler of a machine would.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// let shape = Shape::new("sample").field("time", "double").unit("s").field("count", "long").field("data", "float[count]");
/// assert_eq!(shape.on(&Layout::X86_64)?.size(), 24);
/// assert_eq!(shape.on(&Layout::POWERPC)?.size(), 16);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// The types are written as [`Type`] says. Where their words leave the size open, it is that of C's `int`, `float` and
/// `enum`: 4 bytes; of 1 for a boolean. The same as a text, and with a nested record:
///
/// ```
/// use isoform_core::{Layout, Shape};
/// let shape = Shape::parse(r#"
/// ## The path of a particle
/// record Point
///   x  double
///   y  double  unit="m"
/// record Track
///   id      unsigned long
///   name    string
///   n       int
///   points  Point[n]
///   phase   enumeration{solid=0,liquid=1}
/// "#)?;
/// let format = shape.on(&Layout::S390X)?;
/// assert_eq!((format.name(), format.size()), ("Track", 40));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The records, each after those that it nests. The last one is what is laid out.
    records: Vec<Declaration>,
    fault: Option<Error>,
}

impl Shape {
    /// The shape of a record of this name, without fields yet.
    pub fn new(name: impl Into<Box<str>>) -> Shape {
        Shape { records: vec![Declaration { name: name.into(), packed: false, fields: Vec::new() }], fault: None }
    }

    /// The shape of a format, with all its sizes. Where the fields lie is forgotten.
    pub fn of(format: &Format) -> Shape {
        let records = format.structure().inside_out().into_iter().map(Declaration::of).collect();
        Shape { records, fault: None }
    }

    /// The shape that a text declares: its last record, in which types may name the records before it.
    ///
    /// # Errors
    /// [`Code::Declaration`], with line and column, where the text cannot be understood.
    pub fn parse(text: &str) -> Result<Shape> {
        super::shape_text::parse(text).map(|records| Shape { records, fault: None })
    }

    /// The same shape with one more field. A type that cannot be understood is reported by [`Shape::on`].
    pub fn field(mut self, name: impl Into<Box<str>>, words: &str) -> Shape {
        let name = name.into();
        match words.parse() {
            Ok(words) => self.last().fields.push(DeclaredField { name, words, unit: None }),
            Err(error) => {
                let path = format!("{}.{name}", self.name());
                self.fail(error.at(path));
            }
        }
        self
    }

    /// The same shape, with the unit in which its last field is measured.
    pub fn unit(mut self, unit: impl Into<Box<str>>) -> Shape {
        match self.last().fields.last_mut() {
            Some(field) => field.unit = Some(unit.into()),
            None => self.fail(Error::new(Code::Declaration).came("a unit before any field")),
        }
        self
    }

    /// The same shape with one more record, which may nest those before it: from here on, fields are its.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let shape = Shape::new("Point").field("x", "double").record("Line").field("ends", "Point[2]");
    /// assert_eq!(shape.on(&Layout::X86_64)?.name(), "Line");
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn record(mut self, name: impl Into<Box<str>>) -> Shape {
        self.records.push(Declaration { name: name.into(), packed: false, fields: Vec::new() });
        self
    }

    /// The same shape, in which types may name `inner` and what that nests.
    pub fn nested(mut self, inner: Shape) -> Shape {
        inner.fault.into_iter().for_each(|fault| self.fail(fault));
        for record in inner.records {
            match self.records.iter().find(|known| known.name == record.name) {
                Some(known) if *known == record => {}
                Some(_) => self.fail(two_of(&record.name)),
                None => self.records.insert(self.records.len() - 1, record),
            }
        }
        self
    }

    /// The same shape without gaps, as `__attribute__((packed))` makes a struct. Nested records keep theirs.
    pub fn packed(mut self) -> Shape {
        self.last().packed = true;
        self
    }

    /// The name of the record.
    pub fn name(&self) -> &str {
        self.records.last().map_or("", |record| &record.name)
    }

    /// The format of the record as the C compiler of a machine lays it out.
    ///
    /// # Errors
    /// [`Code::Declaration`] at the field whose type cannot be understood, and as [`Structure::new`] and [`Format::new`].
    pub fn on(&self, layout: &Layout) -> Result<Format> {
        let last = self.structures(layout)?.pop();
        Format::new(last.ok_or_else(|| Error::new(Code::Internal).came("a shape without records"))?)
    }

    /// The formats of all its records, those that others nest included, in their order.
    ///
    /// # Errors
    /// As [`Shape::on`].
    pub fn all_on(&self, layout: &Layout) -> Result<Vec<Format>> {
        self.structures(layout)?.into_iter().map(Format::new).collect()
    }

    fn structures(&self, layout: &Layout) -> Result<Vec<Arc<Structure>>> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut known: HashMap<&str, Arc<Structure>> = HashMap::new();
        let mut structures = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let structure = Arc::new(record.on(layout, &known)?);
            if known.insert(&record.name, structure.clone()).is_some() {
                return Err(two_of(&record.name));
            }
            structures.push(structure);
        }
        Ok(structures)
    }

    /// The same shape in which every number that some machine calls `long double` is that of the layout.
    fn with_native_long_double(mut self) -> Shape {
        for field in self.records.iter_mut().flat_map(|record| &mut record.fields) {
            let (kind, width, complex) = match field.words.kind {
                Kind::Float { kind, width } => (kind, width, false),
                Kind::Complex { kind, width } => (kind, width, true),
                _ => continue,
            };
            if matches!(kind, FloatKind::X87 | FloatKind::Double2) || width == Width::Bytes(16) {
                field.words.kind = Kind::LongDouble { complex };
            }
        }
        self
    }

    fn last(&mut self) -> &mut Declaration {
        let last = self.records.len() - 1;
        &mut self.records[last]
    }

    fn fail(&mut self, error: Error) {
        self.fault.get_or_insert(error);
    }
}

impl fmt::Display for Shape {
    /// The text of the shape, as [`Shape::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.records.iter().try_for_each(|record| write!(f, "{record}"))
    }
}

impl Format {
    /// The format of the same record on another machine: integers and floats keep their sizes, while pointers, places
    /// and gaps follow the layout, and `long double` - of whichever kind - is what it is there.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let here = Shape::new("r").field("n", "int").field("x", "long double[n]").on(&Layout::X86_64)?;
    /// let there = here.on(&Layout::I386)?;
    /// assert_eq!((here.size(), there.size()), (16, 8));
    /// assert_eq!(there, Shape::new("r").field("n", "int").field("x", "long double[n]").on(&Layout::I386)?);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// A limit's code, if the record passes it there.
    pub fn on(&self, layout: &Layout) -> Result<Format> {
        Shape::of(self).with_native_long_double().on(layout)
    }
}
