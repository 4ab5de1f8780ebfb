//! What documents declare, whatever their language: records with fields, without the layout of a machine.
//!
//! The rooms of `front` make declarations, and a [`Shape`] of one goes the way that all formats go.

use crate::back;
use crate::documents::{Documents, Loader};
use crate::front::{self, Language};
use crate::lexical;
use crate::markup::{Mark, Markup, Name};
use isoform_core::declare::{Kind, Type};
use isoform_core::plan::Rules;
use isoform_core::{Code, Error, Format, Layout, Result, Shape, Value};
use std::collections::HashMap;

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
}

/// A field of a declared record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// The name that the document gives it, if an overlay gives it another one: senders may use either.
    pub alias: Option<Box<str>>,
    /// Its type. Structures in it are the names of other declared records.
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
    list: Vec<(Box<str>, Result<Declaration>)>,
    places: HashMap<Box<str>, usize>,
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

    /// The names of the records, in the order of the documents, with those that cannot be represented.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(name, _)| &**name)
    }

    /// The declaration of a record.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if there is no record of that name. The reason, with document and line, if it cannot be represented.
    pub fn get(&self, name: &str) -> Result<&Declaration> {
        match self.places.get(name) {
            Some(&place) => {
                let declaration = self.list[place].1.as_ref().map_err(Error::clone)?;
                let refused = |field: &Field| field.pointer.as_ref().and_then(|pointer| pointer.refused.clone());
                declaration.fields.iter().find_map(refused).map_or(Ok(declaration), Err)
            }
            None => {
                let known: Vec<&str> = self.names().take(12).collect();
                let more = if self.list.len() > known.len() { ", .." } else { "" };
                let error = Error::new(Code::NoSuchField).at(name);
                if known.is_empty() {
                    return Err(error.expected("a record").found("a document that declares none"));
                }
                Err(error.expected(format_args!("one of the records {}{more}", known.join(", "))).found(name))
            }
        }
    }

    /// The shape of a record, with those that it nests. Any layout can lay it out.
    ///
    /// # Errors
    /// As [`Declarations::get`], for the record and those that it nests.
    pub fn shape(&self, name: &str) -> Result<Shape> {
        let mut shape = None;
        self.each(name, &mut |declaration| {
            let name = declaration.name.clone();
            let begun = match shape.take() {
                None => Shape::new(name),
                Some(shape) => Shape::record(shape, name),
            };
            let shape = shape.insert(begun);
            for field in &declaration.fields {
                shape.add(field.name.clone(), field.kind.clone(), field.unit.clone());
            }
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
        let mut markup = Markup::new(name);
        self.each(name, &mut |declaration| {
            markup.add(declaration);
            Ok(())
        })?;
        Ok(markup)
    }

    /// Calls a function for a record and each that it nests, once each, inner ones first.
    pub(crate) fn each(&self, name: &str, then: &mut dyn FnMut(&Declaration) -> Result<()>) -> Result<()> {
        fn walk<'d>(
            all: &'d Declarations,
            declaration: &'d Declaration,
            done: &mut HashMap<&'d str, ()>,
            then: &mut dyn FnMut(&Declaration) -> Result<()>,
        ) -> Result<()> {
            if done.insert(&declaration.name, ()).is_some() {
                return Ok(());
            }
            for field in &declaration.fields {
                if let Kind::Structure(inner) = &field.kind.kind {
                    walk(all, all.get(inner)?, done, then)?;
                }
            }
            then(declaration)
        }
        walk(self, self.get(name)?, &mut HashMap::new(), then)
    }

    /// Whether there is a record of this name, even one that cannot be represented.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// All records, in their order.
    pub(crate) fn into_list(self) -> Vec<(Box<str>, Result<Declaration>)> {
        self.list
    }

    /// Adds a record. The names of records are different.
    pub(crate) fn add(&mut self, name: Box<str>, declaration: Result<Declaration>) {
        self.places.insert(name.clone(), self.list.len());
        self.list.push((name, declaration));
    }
}
