//! From what a document states to declarations: names of types, arrays, lengths and nullability, for all languages but XML Schema.
//!
//! A room parses its documents into a [`Model`]. This file makes [`Declarations`] of it, and keeps to the limits.

use super::tokens::MAX_NAME;
use crate::declaration::{Declaration, Declarations, Field, Pointer};
use crate::documents::Documents;
use crate::markup::{Lexical, Mark, Name, Origin};
use isoform_core::declare::{Kind, Length, Type, Width};
use isoform_core::format::FloatKind;
use isoform_core::{Code, Error, Result};
use std::collections::{HashMap, HashSet};

/// Levels of records within records, and of types that name other types.
const MAX_DEPTH: usize = 32;
/// Fields of one record, as for formats.
const MAX_FIELDS: usize = 4_096;
/// Fields in all records together, each as often as a record inherits it.
const MAX_LOOKS: usize = 1 << 20;

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) document: usize,
    pub(super) line: u32,
    /// The JSON pointer, for documents in JSON.
    pub(super) pointer: Option<Box<str>>,
}

/// What documents declare, before names of types are followed.
#[derive(Debug, Default)]
pub(super) struct Model {
    items: Vec<Item>,
    /// The items by their full names.
    places: HashMap<String, usize>,
}

/// A named type.
#[derive(Debug)]
pub(super) struct Item {
    /// The name of the record.
    pub(super) name: Box<str>,
    pub(super) place: Place,
    pub(super) what: What,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum What {
    /// A record.
    Record {
        /// The full name of a record whose fields come first.
        base: Option<String>,
        fields: Vec<Part>,
        prose: Option<Box<str>>,
    },
    /// Another type, or an enumeration.
    Alias(Of),
    /// A type that no record has; it counts as a record, so that it is missed.
    Refused(Error),
}

/// A field as a document states it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) place: Place,
    pub(super) name: Box<str>,
    /// Its name in the document, if that is another.
    pub(super) label: Option<Box<str>>,
    pub(super) of: Of,
    pub(super) nullable: bool,
    pub(super) unit: Option<Box<str>>,
    pub(super) default: Option<Box<str>>,
    pub(super) prose: Option<Box<str>>,
}

/// A type as a document states it.
#[derive(Clone, Debug)]
pub(super) struct Of {
    pub(super) element: Element,
    /// The slowest-varying first.
    pub(super) dims: Vec<Dim>,
    /// The unit that belongs to the type.
    pub(super) unit: Option<&'static str>,
    /// How texts have it.
    pub(super) lexical: Lexical,
    /// The values of an enumeration as texts have them, if symbols differ from them.
    pub(super) values: Box<[Box<str>]>,
    /// The pointer that it is behind, if there is one.
    pub(super) behind: Option<Behind>,
}

/// What a pointer is without an overlay.
#[derive(Clone, Debug)]
pub(super) enum Behind {
    /// Text.
    Text,
    /// Nothing that can be used.
    Refused(Error),
}

#[derive(Clone, Debug)]
pub(super) enum Element {
    Kind(Kind),
    /// The full name of an item.
    Named(String),
    Refused(Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    Fixed(usize),
    /// Any number, perhaps up to a limit, which is not checked.
    Any,
}

impl Of {
    fn new(element: Element) -> Of {
        Of { element, dims: Vec::new(), unit: None, lexical: Lexical::Plain, values: Box::default(), behind: None }
    }

    pub(super) fn kind(kind: Kind) -> Of {
        Of::new(Element::Kind(kind))
    }

    pub(super) fn integer(signed: bool, bytes: u8) -> Of {
        Of::kind(Kind::Integer { signed, width: Width::Bytes(bytes) })
    }

    pub(super) fn float(bytes: u8) -> Of {
        Of::kind(Kind::Float { kind: FloatKind::Ieee, width: Width::Bytes(bytes) })
    }

    pub(super) fn boolean() -> Of {
        Of::kind(Kind::Boolean { width: Width::Bytes(1) })
    }

    pub(super) fn named(name: impl Into<String>) -> Of {
        Of::new(Element::Named(name.into()))
    }

    pub(super) fn refused(error: Error) -> Of {
        Of::new(Element::Refused(error))
    }

    /// An enumeration of 4 bytes.
    pub(super) fn enumeration(symbols: Vec<(Box<str>, i128)>) -> Of {
        Of::kind(Kind::Enumeration { signed: true, width: Width::Bytes(4), symbols: symbols.into() })
    }

    /// An array of this type.
    pub(super) fn array(mut self, dim: Dim) -> Of {
        self.dims.insert(0, dim);
        self
    }
}

impl Part {
    /// A field without a unit, default or prose.
    pub(super) fn new(place: Place, name: impl Into<Box<str>>, of: Of) -> Part {
        Part { place, name: name.into(), label: None, of, nullable: false, unit: None, default: None, prose: None }
    }
}

impl Place {
    /// An error at this place.
    pub(super) fn fault(&self, code: Code, documents: &Documents<'_>) -> Error {
        let faults = documents.faults(self.document);
        match &self.pointer {
            None => faults.in_line(code, self.line),
            Some(pointer) => Error::new(code).at(format!("{}#{pointer}", faults.name)),
        }
    }
}

/// A name of a document as a name of a format.
pub(super) fn name(local: &str) -> Box<str> {
    local.replace('.', "_").into()
}

impl Model {
    pub(super) fn find(&self, full: &str) -> Option<&Item> {
        self.places.get(full).map(|&place| &self.items[place])
    }

    /// Adds an item. Full names are different: the result is that of the item which has it already.
    pub(super) fn add(&mut self, full: impl Into<String>, item: Item) -> std::result::Result<(), Place> {
        let full = full.into();
        if let Some(known) = self.find(&full) {
            return Err(known.place.clone());
        }
        self.places.insert(full, self.items.len());
        self.items.push(item);
        Ok(())
    }

    /// Replaces what an item stands for.
    pub(super) fn set(&mut self, full: &str, what: What) {
        if let Some(&place) = self.places.get(full) {
            self.items[place].what = what;
        }
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Gives the record of an item another name, and with it the records within it, which were added from `start` on. A second name is
    /// ignored.
    pub(super) fn rename(&mut self, start: usize, full: &str, name: &str) {
        let Some(place) = self.places.get(full).copied().filter(|&place| place >= start) else { return };
        let old = self.items[place].name.clone();
        for item in &mut self.items[start..=place] {
            match item.name.strip_prefix(&*old) {
                Some("") => item.name = name.into(),
                // A name that is too long for this stays as it is, and no format can have it.
                Some(rest) if rest.starts_with('_') && name.len() + rest.len() <= MAX_NAME => {
                    item.name = format!("{name}{rest}").into()
                }
                _ => {}
            }
        }
    }

    /// The declarations of all records, each after those that it nests.
    pub(super) fn link(&self, documents: &Documents<'_>) -> Declarations {
        let (done, open, declarations) = (HashMap::new(), Vec::new(), Declarations::default());
        let mut linker = Linker { model: self, documents, done, open, declarations, looks: 0 };
        for item in &self.items {
            if !matches!(item.what, What::Alias(_)) {
                // The error of a record is kept in its place.
                let _ = linker.record(item);
            }
        }
        linker.declarations
    }
}

/// What a type says beside its kind.
#[derive(Default)]
struct Meaning {
    unit: Option<&'static str>,
    lexical: Lexical,
    values: Box<[Box<str>]>,
}

struct Linker<'m, 'd, 'l> {
    model: &'m Model,
    documents: &'d Documents<'l>,
    /// The records that are made: where each is declared, and why it is refused.
    done: HashMap<Box<str>, (&'m Item, Option<Error>)>,
    open: Vec<Box<str>>,
    declarations: Declarations,
    looks: usize,
}

impl<'m> Linker<'m, '_, '_> {
    fn fault(&self, place: &Place) -> Error {
        place.fault(Code::Declaration, self.documents)
    }

    /// Declares the record of an item, unless it is declared, and returns its name.
    fn record(&mut self, item: &'m Item) -> Result<Box<str>> {
        let name = &item.name;
        if let Some((known, error)) = self.done.get(name) {
            return match error {
                _ if !std::ptr::eq(*known, item) => Err(self
                    .fault(&item.place)
                    .expected("one record of each name")
                    .found(format_args!("a second {name}"))),
                Some(error) => Err(error.clone()),
                None => Ok(name.clone()),
            };
        }
        if self.open.contains(name) {
            let error = self.fault(&item.place).expected("a record that does not contain itself");
            return Err(error.found(format_args!("{} > {name}", self.open.join(" > "))));
        }
        self.check_depth(self.open.len(), &item.place)?;
        self.open.push(name.clone());
        let declaration = self.declaration(item);
        self.open.pop();
        self.done.insert(name.clone(), (item, declaration.as_ref().err().cloned()));
        let result = declaration.as_ref().map(|_| name.clone()).map_err(Error::clone);
        self.declarations.add(name.clone(), declaration);
        result
    }

    fn declaration(&mut self, item: &'m Item) -> Result<Declaration> {
        let prose = match &item.what {
            What::Record { prose, .. } => prose.clone(),
            What::Refused(error) => return Err(error.clone()),
            What::Alias(_) => return Err(self.fault(&item.place).expected("a record")),
        };
        let mut parts = Vec::new();
        self.parts(item, 0, &mut parts)?;
        let mut names = HashSet::new();
        for part in &parts {
            if !names.insert(part.name.clone()) {
                let error = self.fault(&part.place).expected("one field of each name");
                return Err(error.found(format_args!("a second {}", part.name)));
            }
        }
        let mut fields = Vec::with_capacity(parts.len());
        for part in parts {
            self.field(part, &mut names, &mut fields)?;
        }
        match fields.is_empty() {
            false => Ok(Declaration { name: item.name.clone(), fields, prose, tag: None }),
            true => Err(self.fault(&item.place).expected("a record with a field or more").found("none")),
        }
    }

    /// The fields of a record, with those of its base.
    fn parts(&mut self, item: &'m Item, depth: usize, parts: &mut Vec<&'m Part>) -> Result<()> {
        self.check_depth(depth, &item.place)?;
        let model = self.model;
        let What::Record { base, fields, .. } = &item.what else {
            return match &item.what {
                What::Refused(error) => Err(error.clone()),
                _ => Err(self.fault(&item.place).expected("a record as base").found(&item.name)),
            };
        };
        if let Some(base) = base {
            let found = model.find(base).ok_or_else(|| self.unknown(&item.place, base))?;
            self.parts(found, depth + 1, parts)?;
        }
        self.looks += fields.len();
        if parts.len() + fields.len() > MAX_FIELDS {
            let error = item.place.fault(Code::Fields, self.documents);
            return Err(error.expected(format_args!("at most {MAX_FIELDS} fields")));
        }
        if self.looks > MAX_LOOKS {
            let error = item.place.fault(Code::Fields, self.documents);
            return Err(error.expected(format_args!("at most {MAX_LOOKS} fields in all records together")));
        }
        parts.extend(fields);
        Ok(())
    }

    /// Adds a field, with its length if it needs one.
    fn field(&mut self, part: &'m Part, names: &mut HashSet<Box<str>>, fields: &mut Vec<Field>) -> Result<()> {
        if let Some(behind) = &part.of.behind {
            fields.push(self.pointer(part, behind));
            return Ok(());
        }
        let mut dims = Vec::new();
        let (kind, of) = self.kind(&part.of, &part.place, &mut dims, 0)?;
        let type_unit = of.unit;
        if dims.iter().skip(1).any(|dim| *dim == Dim::Any) {
            let error = self.fault(&part.place).expected("an array of single values, or of arrays with a fixed length");
            return Err(error.found(format_args!(
                "{}, an array of arrays of any length; an array of records that have the inner array can be one",
                part.name
            )));
        }
        let length: Box<str> = format!("{}_len", part.name).into();
        let is_dynamic = dims.first() == Some(&Dim::Any);
        let dims: Box<[Length]> = dims
            .iter()
            .map(|dim| match dim {
                Dim::Fixed(n) => Length::Fixed(*n),
                Dim::Any => Length::Field(length.clone()),
            })
            .collect();
        let is_text = kind == Kind::String && dims.is_empty();
        let pointer = part.nullable && part.default.is_none() && !is_text && !is_dynamic;
        fields.push(Field {
            name: part.name.clone(),
            alias: None,
            kind: Type { kind, dims, pointer },
            unit: part.unit.clone().or(type_unit.map(Into::into)),
            default: part.default.clone(),
            prose: part.prose.clone(),
            mark: Mark {
                optional: part.nullable && part.default.is_none(),
                lexical: of.lexical,
                symbols: of.values,
                ..Mark::element(Name::local(part.label.as_ref().unwrap_or(&part.name)))
            },
            pointer: None,
        });
        if is_dynamic {
            if !names.insert(length.clone()) {
                let error = self.fault(&part.place).expected("no other field with the name of the array's length");
                return Err(error.found(length));
            }
            fields.push(length_field(length));
        }
        Ok(())
    }

    /// A field that is a pointer, whatever it points at: an overlay can say that, or drop it.
    fn pointer(&mut self, part: &'m Part, behind: &Behind) -> Field {
        let mut dims = Vec::new();
        let to = self.kind(&part.of, &part.place, &mut dims, 0).ok().and_then(|(kind, _)| {
            let dims = dims.iter().map(|dim| match dim {
                Dim::Fixed(n) => Some(Length::Fixed(*n)),
                Dim::Any => None,
            });
            Some(Type { kind, dims: dims.collect::<Option<_>>()?, pointer: false })
        });
        let refused = match behind {
            Behind::Text => None,
            Behind::Refused(error) => Some(error.clone()),
        };
        Field {
            name: part.name.clone(),
            alias: None,
            kind: Type { kind: Kind::String, dims: Box::default(), pointer: false },
            unit: part.unit.clone(),
            default: None,
            prose: part.prose.clone(),
            mark: Mark::element(Name::local(&part.name)),
            pointer: Some(Pointer { to, refused }),
        }
    }

    /// The kind of a type's elements, whose dimensions are added.
    fn kind(&mut self, of: &'m Of, place: &Place, dims: &mut Vec<Dim>, depth: usize) -> Result<(Kind, Meaning)> {
        self.check_depth(depth, place)?;
        dims.extend(&of.dims);
        match &of.element {
            Element::Kind(kind) => {
                Ok((kind.clone(), Meaning { unit: of.unit, lexical: of.lexical, values: of.values.clone() }))
            }
            Element::Refused(error) => Err(error.clone()),
            Element::Named(name) => {
                let model = self.model;
                let item = model.find(name).ok_or_else(|| self.unknown(place, name))?;
                match &item.what {
                    // The name of a pointer says no more than the pointer.
                    What::Alias(Of { behind: Some(behind), .. }) => match behind {
                        Behind::Text => Ok((Kind::String, Meaning::default())),
                        Behind::Refused(error) => Err(error.clone()),
                    },
                    What::Alias(inner) => {
                        let (kind, meaning) = self.kind(inner, place, dims, depth + 1)?;
                        Ok((kind, Meaning { unit: of.unit.or(meaning.unit), ..meaning }))
                    }
                    What::Record { .. } | What::Refused(_) => {
                        let meaning = Meaning { unit: of.unit, ..Meaning::default() };
                        Ok((Kind::Structure(self.record(item)?), meaning))
                    }
                }
            }
        }
    }

    fn check_depth(&self, depth: usize, place: &Place) -> Result<()> {
        match depth >= MAX_DEPTH {
            false => Ok(()),
            true => {
                let error = place.fault(Code::Depth, self.documents);
                Err(error
                    .expected(format_args!("at most {MAX_DEPTH} levels of types within types, none within itself")))
            }
        }
    }

    fn unknown(&self, place: &Place, name: &str) -> Error {
        self.fault(place).expected("a type that is declared").found(format_args!("{name}, which is not"))
    }
}

/// The field that holds the length of an array.
fn length_field(name: Box<str>) -> Field {
    let kind = Kind::Integer { signed: false, width: Width::Bytes(8) };
    let kind = Type { kind, dims: Box::default(), pointer: false };
    let mark = Mark { origin: Origin::Length, ..Mark::element(Name::local(&name)) };
    Field { name, alias: None, kind, unit: None, default: None, prose: None, mark, pointer: None }
}
