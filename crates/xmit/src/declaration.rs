//! What documents declare, whatever their language: records with fields, without the layout of a machine.
//!
//! The rooms of `front` make declarations, and a [`Shape`] of one goes the way that all formats go.

use crate::back;
use crate::documents::{Documents, Loader};
use crate::front::{self, Language};
use crate::left_out::LeftOut;
use crate::lexical;
use crate::markup::{Mark, Markup, Name};
use crate::scope::{Scoped, Table, Walk, usable};
use isoform_core::declare::{Align, Kind, Type};
use isoform_core::plan::Rules;
use isoform_core::{Code, Error, Format, Layout, Result, Shape, Value};

/// A record that a document declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Its name.
    pub name: Box<str>,
    /// Its fields, in the order in which they are placed.
    pub fields: Vec<Field>,
    /// What the document says of it to people.
    pub prose: Option<Box<str>>,
    /// The element that holds such a record in an XML document. `None` for one with the record's own name.
    pub tag: Option<Name>,
    /// How a C header packs and aligns it.
    pub packing: Packing,
}

/// How a C header packs and aligns a record, apart from the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// The largest alignment of its fields, as for [`Shape::pack`].
    pub pack: Option<usize>,
    /// The least alignment of the record, as for [`Shape::aligned`].
    pub align: Option<usize>,
}

impl Declaration {
    /// Its shape, behind those of the records that it nests.
    pub(crate) fn shape_behind(&self, nested: Option<Shape>) -> Shape {
        let mut shape = match nested {
            None => Shape::new(self.name.clone()),
            Some(shape) => shape.record(self.name.clone()),
        };
        for field in &self.fields {
            shape.add(field.name.clone(), field.kind.clone(), field.unit.clone());
            if field.align != Align::Natural {
                shape = shape.align(field.align);
            }
        }
        shape = self.packing.pack.into_iter().fold(shape, Shape::pack);
        self.packing.align.into_iter().fold(shape, Shape::aligned)
    }

    /// Refuses a record for a language that cannot lay it out: one that is packed, unless `packs`, or that is aligned.
    pub(crate) fn check_layout(&self, language: &str, packs: bool) -> Result<()> {
        let align = self.fields.iter().find(|field| field.align != Align::Natural);
        let is_plain = self.packing.align.is_none() && (packs || self.packing.pack.is_none());
        if is_plain && align.is_none() {
            return Ok(());
        }
        let path = align.map_or(self.name.to_string(), |field| format!("{}.{}", self.name, field.name));
        let error = Error::new(Code::Declaration).at(path);
        Err(error.expected(format_args!("a record that {language} lays out so")).found("one that is packed or aligned"))
    }
}

/// A field of a declared record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// The name that the document gives it, if an overlay gives it another one: senders may use either.
    pub alias: Option<Box<str>>,
    /// Its type. Structures in it are the names of other declared records, as [`Declarations::names`] has them.
    pub kind: Type,
    /// Its unit, which belongs to the format.
    pub unit: Option<Box<str>>,
    /// The text of its value for senders that lack it.
    pub default: Option<Box<str>>,
    /// What the document says of it to people.
    pub prose: Option<Box<str>>,
    /// What it is in texts that the document describes.
    pub mark: Mark,
    /// What it points at, if the document has a pointer here that an overlay can say more of.
    pub pointer: Option<Pointer>,
    /// How it is aligned in its record.
    pub align: Align,
}

impl Field {
    /// Whether it is text that may be left out.
    fn may_be_null(&self) -> bool {
        self.mark.optional && self.kind.kind == Kind::String && self.kind.dims.is_empty()
    }
}

/// A pointer of a C header. The header does not say whether there is one value behind it, or how many.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointer {
    /// What it points at; `None` if no record can have that.
    pub(crate) to: Option<Type>,
    /// Why the field cannot be used without an overlay that says what it is.
    pub(crate) refused: Option<Error>,
}

/// The records that a document declares, with those of the documents that it needs.
///
/// ```
/// use isoform_core::Layout;
/// use isoform_xmit::{Alone, Declarations};
/// let text = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">
///   <xsd:complexType name="SimpleData">
///     <xsd:element name="timestep" type="xsd:integer"/>
///     <xsd:element name="data" type="xsd:float" minOccurs="0" maxOccurs="*"
///                  dimensionPlacement="before" dimensionName="size"/>
///   </xsd:complexType>
/// </xsd:schema>"#;
/// let declarations = Declarations::from_xsd("hydrology.xsd", text, &mut Alone)?;
/// assert_eq!(declarations.names().collect::<Vec<_>>(), ["SimpleData"]);
/// let format = declarations.bind("SimpleData", &Layout::X86_64)?;
/// assert_eq!(format, isoform_core::Shape::parse("
///     record SimpleData
///       timestep  int
///       size      int
///       data      float[size]")?.on(&Layout::X86_64)?);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    table: Table,
    left_out: Vec<LeftOut>,
    /// Whether the document says which texts in JSON are values of its records.
    strict: bool,
}

impl Declarations {
    /// Reads a document in XML Schema (`spec/xmit.md`). Its name is for errors, and for the loader, which gives the documents that
    /// it includes and imports.
    ///
    /// A record that cannot be represented is an error when it is asked for; the others of the document can be used.
    ///
    /// # Errors
    /// [`Code::Text`] if the text is not XML, or has a DTD; [`Code::Declaration`] if it is not a schema;
    /// [`Code::MessageSize`] and [`Code::Depth`] beyond the limits; and the errors of the loader. Their path is the document and
    /// the line.
    pub fn from_xsd(name: &str, text: &str, loader: &mut dyn Loader) -> Result<Declarations> {
        Declarations::read(Language::XmlSchema, name, text, loader)
    }

    /// Reads a document in any language that `spec/xmit.md` maps. Everything else is as for [`Declarations::from_xsd`].
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language};
    /// let text = "module river { struct Gauge { string name; @unit(\"m\") double level; sequence<float> samples; }; };";
    /// let declarations = Declarations::read(Language::Idl, "river.idl", text, &mut Alone)?;
    /// let shape = "record Gauge\n  name         string\n  level        f64                   unit=\"m\"\n  \
    ///     samples      f32[samples_len]\n  samples_len  u64\n";
    /// assert_eq!(declarations.shape("Gauge")?, isoform_core::Shape::parse(shape)?);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Declarations::from_xsd`].
    pub fn read(language: Language, name: &str, text: &str, loader: &mut dyn Loader) -> Result<Declarations> {
        front::declarations(language, &mut Documents::new(name, text, loader)?)
    }

    /// The names of the records, in the order of the documents, with those that cannot be represented. A record has its scopes before its
    /// name if another record has the same name.
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language};
    /// let text = "module a { struct Status { long code; }; }; module b { struct Status { double level; }; struct Gauge { Status now; }; };";
    /// let declarations = Declarations::read(Language::Idl, "river.idl", text, &mut Alone)?;
    /// assert_eq!(declarations.names().collect::<Vec<_>>(), ["a::Status", "b::Status", "Gauge"]);
    /// assert_eq!(declarations.shape("b::Status")?.to_string(), "record Status\n  level  f64\n");
    /// assert!(declarations.shape("Status").is_err());
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.table.keys()
    }

    /// What the documents have besides records and their types, and why it is left out: at most 1,024 entries, the last one of which then
    /// stands for all others.
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language};
    /// let text = "syntax = \"proto3\"; message Gauge { double level = 1; }\nservice River { rpc Get(Gauge) returns (Gauge); }";
    /// let declarations = Declarations::read(Language::Proto, "river.proto", text, &mut Alone)?;
    /// let [service] = declarations.left_out() else { panic!() };
    /// assert_eq!((&*service.what, &*service.place), ("service River", "river.proto:2"));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Whether several records have the same name, without their scopes.
    pub fn has_twins(&self) -> bool {
        self.table.has_twins()
    }

    /// The declaration of a record. Its name may have scopes before it, and needs them if it has several meanings (`spec/xmit.md`, "Scopes").
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if there is no record of that name, or several. The reason, with document and line, if it cannot be represented.
    pub fn get(&self, name: &str) -> Result<&Declaration> {
        usable(self.table.declaration(self.table.find(name)?)?)
    }

    /// The shape of a record, with those that it nests. Any layout can lay it out.
    ///
    /// # Errors
    /// As [`Declarations::get`], for the record and those that it nests.
    pub fn shape(&self, name: &str) -> Result<Shape> {
        let mut shape = None;
        self.each(name, &mut |declaration| {
            shape = Some(declaration.shape_behind(shape.take()));
            Ok(())
        })?;
        shape.ok_or_else(|| Error::new(Code::Internal).found("a record without fields"))
    }

    /// The format of a record on a kind of machine: the same, with the same token, as that of a struct with these fields.
    ///
    /// # Errors
    /// As [`Declarations::shape`] and [`Shape::on`].
    pub fn bind(&self, name: &str, layout: &Layout) -> Result<Format> {
        self.shape(name)?.on(layout)
    }

    /// The rules of a receiver that the document states: the defaults of a record and of those that it nests, which is null for text that
    /// may be left out; and the document's names of fields that an overlay renames, as aliases.
    ///
    /// # Errors
    /// As [`Declarations::get`]; [`Code::Text`] for a default that is not a value of its field.
    pub fn rules(&self, name: &str) -> Result<Rules> {
        let mut rules = Rules::new();
        self.each(name, &mut |declaration| {
            for field in &declaration.fields {
                if let Some(alias) = &field.alias {
                    rules = std::mem::take(&mut rules).alias(&declaration.name, &field.name, alias);
                }
                if let Some(text) = &field.default {
                    let at = |error: Error| error.at(format!("{}.{}", declaration.name, field.name));
                    let value = lexical::value(&field.kind, field.unit.as_deref(), text).map_err(at)?;
                    rules = std::mem::take(&mut rules).default(&declaration.name, &field.name, value);
                } else if field.may_be_null() {
                    rules = std::mem::take(&mut rules).default(&declaration.name, &field.name, Value::Null);
                }
            }
            Ok(())
        })?;
        Ok(rules)
    }

    /// The same defaults one by one: the record, the field, and the value as JSON,
    /// for programs that take rules as text.
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language};
    /// let text = "struct Gauge { long step; @default(0.5) double level; };";
    /// let declarations = Declarations::read(Language::Idl, "river.idl", text, &mut Alone)?;
    /// assert_eq!(declarations.defaults("Gauge")?, [("Gauge".into(), "level".into(), "0.5".into())]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Declarations::rules`].
    pub fn defaults(&self, name: &str) -> Result<Vec<(String, String, String)>> {
        let mut defaults = Vec::new();
        self.each(name, &mut |declaration| {
            for field in &declaration.fields {
                if let Some(text) = &field.default {
                    let at = |error: Error| error.at(format!("{}.{}", declaration.name, field.name));
                    let json = back::json_default(field, text).map_err(at)?;
                    defaults.push((declaration.name.to_string(), field.name.to_string(), json));
                } else if field.may_be_null() {
                    defaults.push((declaration.name.to_string(), field.name.to_string(), "null".into()));
                }
            }
            Ok(())
        })?;
        Ok(defaults)
    }

    /// The aliases of [`Declarations::rules`] one by one: the record, the field, and the alias.
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language, Overlay};
    /// let declarations = Declarations::read(Language::Idl, "river.idl", "struct Gauge { double lvl; };", &mut Alone)?;
    /// let ours = Overlay::parse("mine.json", r#"{"Gauge": {"fields": {"lvl": {"name": "level"}}}}"#)?;
    /// let aliases = ours.over(declarations)?.aliases("Gauge")?;
    /// assert_eq!(aliases, [("Gauge".into(), "level".into(), "lvl".into())]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Declarations::get`].
    pub fn aliases(&self, name: &str) -> Result<Vec<(String, String, String)>> {
        let mut aliases = Vec::new();
        self.each(name, &mut |declaration| {
            for field in &declaration.fields {
                if let Some(alias) = &field.alias {
                    aliases.push((declaration.name.to_string(), field.name.to_string(), alias.to_string()));
                }
            }
            Ok(())
        })?;
        Ok(aliases)
    }

    /// What texts of a record look like that the document describes, with those of the records that it nests.
    ///
    /// # Errors
    /// As [`Declarations::get`].
    pub fn markup(&self, name: &str) -> Result<Markup> {
        let mut markup = Markup::new(&self.get(name)?.name);
        markup.strict = self.strict;
        self.each(name, &mut |declaration| {
            markup.add(declaration);
            Ok(())
        })?;
        Ok(markup)
    }

    /// Calls a function for a record and each that it nests, once each, inner ones first.
    pub(crate) fn each(&self, name: &str, then: &mut dyn FnMut(&Declaration) -> Result<()>) -> Result<()> {
        self.table.each(self.table.find(name)?, &mut Walk::default(), then)
    }

    /// The same for all records of the document, of which no two then have the same name.
    pub(crate) fn all(&self, then: &mut dyn FnMut(&Declaration) -> Result<()>) -> Result<()> {
        let mut walk = Walk::default();
        self.names().try_for_each(|name| self.table.each(self.table.find(name)?, &mut walk, then))
    }

    /// These records. `place_of` says where one is declared, if another record has the same name.
    pub(crate) fn of(records: Vec<Scoped>, place_of: &dyn Fn(usize) -> Box<str>) -> Declarations {
        Declarations { table: Table::new(records, place_of), ..Declarations::default() }
    }

    /// The same records with what the documents have besides them, and whether they say which texts in JSON are values.
    pub(crate) fn with(self, left_out: Vec<LeftOut>, strict: bool) -> Declarations {
        Declarations { left_out, strict, ..self }
    }

    /// Whether the document says which texts in JSON are values of its records.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Their names, and the parts of which they are made.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The records in their order, and what is left out.
    pub(crate) fn into_parts(self) -> (Vec<Scoped>, Vec<LeftOut>) {
        (self.table.into_records(), self.left_out)
    }
}
