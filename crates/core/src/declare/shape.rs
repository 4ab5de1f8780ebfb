//! Records declared without a layout, as in a C header, and laid out by the rules of any [`Layout`].
//!
//! [`declaration`](super::declaration) has one record of a shape, and places its fields by a layout.
//! [`shape_text`](super::shape_text) reads and prints the text of shapes - `record Point`, and a line for each field -
//! and [`type_text`](super::type_text) that of types.

use super::Layout;
use super::declaration::{Align, Declaration, DeclaredField, two_of};
use super::types::{Kind, Type, Width};
use crate::error::{Code, Error, Result};
use crate::format::{FloatKind, Format, Structure};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The name and the fields of a record without sizes and offsets, as in a C header. [`Shape::on`] lays it out as the C
/// compiler of a machine would.
///
/// ```
/// use isoform_core::{Layout, Shape};
/// let shape = Shape::new("sample").field("time", "double").unit("s").field("count", "long").field("data", "float[count]");
/// assert_eq!(shape.on(&Layout::X86_64)?.size(), 24);
/// assert_eq!(shape.on(&Layout::POWERPC)?.size(), 16);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// Types are texts as for [`Type`]. If a type leaves its size open, it has the size of C's `int`, `float`
/// and `enum`, which is 4 bytes, and a boolean has 1 byte. The same as a text, with a nested record:
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
    /// The records, each after those that it nests. The last one is laid out.
    records: Vec<Declaration>,
    fault: Option<Error>,
}

impl Shape {
    /// Creates an empty shape for a record of this name.
    pub fn new(name: impl Into<Box<str>>) -> Shape {
        Shape { records: vec![Declaration::new(name.into())], fault: None }
    }

    /// The shape of a format, with its sizes and without its offsets.
    pub fn of(format: &Format) -> Shape {
        let records = format.structure().inside_out().into_iter().map(Declaration::of).collect();
        Shape { records, fault: None }
    }

    /// Parses a shape: the last record of a text, in which types may name the records before it.
    ///
    /// # Errors
    /// [`Code::Declaration`], with line and column, if the text is malformed.
    pub fn parse(text: &str) -> Result<Shape> {
        super::shape_text::parse(text).map(|records| Shape { records, fault: None })
    }

    /// Adds a field. [`Shape::on`] reports a malformed type.
    pub fn field(mut self, name: impl Into<Box<str>>, words: &str) -> Shape {
        let name = name.into();
        match words.parse() {
            Ok(words) => self.last().fields.push(DeclaredField { name, words, unit: None, align: Align::Natural }),
            Err(error) => {
                let path = format!("{}.{name}", self.name());
                self.fail(error.at(path));
            }
        }
        self
    }

    /// Adds a field whose type is known, with its unit.
    ///
    /// ```
    /// use isoform_core::Shape;
    /// let mut shape = Shape::new("Gauge");
    /// shape.add("level", "double".parse()?, Some("m".into()));
    /// assert_eq!(shape, Shape::new("Gauge").field("level", "double").unit("m"));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn add(&mut self, name: impl Into<Box<str>>, kind: Type, unit: Option<Box<str>>) {
        let align = Align::Natural;
        self.last().fields.push(DeclaredField { name: name.into(), words: kind, unit, align });
    }

    /// Sets the unit of the last field.
    pub fn unit(mut self, unit: impl Into<Box<str>>) -> Shape {
        match self.last().fields.last_mut() {
            Some(field) => field.unit = Some(unit.into()),
            None => self.fail(Error::new(Code::Declaration).found("a unit before any field")),
        }
        self
    }

    /// Adds a record, which may nest those before it. The following fields belong to it.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let shape = Shape::new("Point").field("x", "double").record("Line").field("ends", "Point[2]");
    /// assert_eq!(shape.on(&Layout::X86_64)?.name(), "Line");
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn record(mut self, name: impl Into<Box<str>>) -> Shape {
        self.records.push(Declaration::new(name.into()));
        self
    }

    /// Adds the records of `inner`, which types may then name.
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

    /// Removes the gaps, as `__attribute__((packed))` does for a struct. Nested records keep theirs.
    pub fn packed(self) -> Shape {
        self.pack(1)
    }

    /// Limits the alignment of the fields, as `#pragma pack` does: to `most` bytes.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let shape = Shape::new("Reading").field("kind", "char").field("level", "double").pack(2);
    /// assert_eq!(shape.on(&Layout::X86_64)?.size(), 10);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn pack(mut self, most: usize) -> Shape {
        self.last().pack = Some(most);
        self
    }

    /// Aligns the record to `least` bytes or more, as `__attribute__((aligned(16)))` does for a struct.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let format = Shape::new("Reading").field("level", "double").aligned(16).on(&Layout::X86_64)?;
    /// assert_eq!((format.size(), format.structure().align()), (16, 16));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn aligned(mut self, least: usize) -> Shape {
        self.last().align = Some(least);
        self
    }

    /// Sets the alignment of the last field.
    ///
    /// ```
    /// use isoform_core::declare::Align;
    /// use isoform_core::{Layout, Shape};
    /// let shape = Shape::new("Reading").field("kind", "char").field("level", "double").align(Align::Exactly(1));
    /// assert_eq!(shape.on(&Layout::X86_64)?.size(), 9);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn align(mut self, align: Align) -> Shape {
        match self.last().fields.last_mut() {
            Some(field) => field.align = align,
            None => self.fail(Error::new(Code::Declaration).found("an alignment before any field")),
        }
        self
    }

    /// The name of the record.
    pub fn name(&self) -> &str {
        self.records.last().map_or("", |record| &record.name)
    }

    /// The format of the record as the C compiler of a machine lays it out.
    ///
    /// # Errors
    /// [`Code::Declaration`] at a field whose type is malformed, and as [`Structure::new`] and [`Format::new`].
    pub fn on(&self, layout: &Layout) -> Result<Format> {
        let last = self.structures(layout)?.pop();
        Format::new(last.ok_or_else(|| Error::new(Code::Internal).found("a shape without records"))?)
    }

    /// The formats of all of its records, including nested ones, in order.
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

    /// Replaces every number that some machine calls `long double` by that of the layout.
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
    /// The format of the same record on another machine. Integers and floats keep their sizes. Pointers, offsets and
    /// gaps follow the layout, and every kind of `long double` becomes that of the layout.
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
    /// The code of a limit that the record exceeds there.
    pub fn on(&self, layout: &Layout) -> Result<Format> {
        Shape::of(self).with_native_long_double().on(layout)
    }
}
