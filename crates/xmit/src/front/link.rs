//! From what a document states to declarations: names of types, arrays, lengths and nullability, for all languages but XML Schema.
//!
//! A room parses its documents into a [`Model`]. This file makes [`Declarations`] of it, and keeps to the limits.

use super::tokens::MAX_NAME;
use crate::declaration::{Declaration, Declarations, Field, Packing, Pointer};
use crate::documents::Documents;
use crate::markup::{Lexical, Mark, Name, Origin};
use crate::scope::{Scope, Scoped, rename};
use isoform_core::declare::{Align, Kind, Length, Type, Width};
use isoform_core::format::FloatKind;
use isoform_core::{Code, Error, Result};
use std::collections::{HashMap, HashSet};

/// Levels of records within records, and of types that name other types.
const MAX_DEPTH: usize = 32;
/// Fields of one record, as for formats.
const MAX_FIELDS: usize = 4_096;
/// Fields in all records together, each as often as a record inherits it, and the symbols of each field that is an enumeration.
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
    /// Their full names, and the items by them.
    full: Vec<Box<str>>,
    places: HashMap<Box<str>, usize>,
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
    /// A record of C, with how it is packed and aligned.
    Packed(Packing, Box<What>),
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
    /// Whether texts have it even if it is null, and whether they may then have null in its place: what JSON Schema says.
    pub(super) required: bool,
    pub(super) nil: bool,
    pub(super) unit: Option<Box<str>>,
    pub(super) default: Option<Box<str>>,
    pub(super) prose: Option<Box<str>>,
    pub(super) packed: Packed,
}

/// What a declaration of a field in C says of its alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed {
    /// Whether it, or its struct, is packed.
    pub(super) packed: bool,
    /// The alignment that it asks for itself.
    pub(super) least: Option<usize>,
    /// The greatest alignment that `#pragma pack` allows.
    pub(super) most: Option<usize>,
}

impl Packed {
    /// The alignment of a field whose type has an alignment of its own, as GCC computes it: `packed` wins over the type, what the
    /// field asks for over `packed`, and `#pragma pack` over all of them.
    fn align(self, typed: Option<usize>) -> Align {
        let most = self.most.unwrap_or(usize::MAX);
        match (self.packed, self.least, typed) {
            (true, least, _) => Align::Exactly(least.unwrap_or(1).min(most)),
            (false, None, None) => Align::Natural,
            (false, Some(least), None) if least < most => Align::AtLeast(least),
            (false, least, typed) => Align::Exactly(least.max(typed).unwrap_or(1).min(most)),
        }
    }
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
    /// The alignment that a typedef gives it, in place of the natural one.
    pub(super) align: Option<usize>,
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
        Of {
            element,
            dims: Vec::new(),
            unit: None,
            lexical: Lexical::Plain,
            values: Box::default(),
            behind: None,
            align: None,
        }
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

    /// Whether another declaration says the same: C allows to repeat a typedef.
    pub(super) fn is_same(&self, other: &Of) -> bool {
        let same = match (&self.element, &other.element) {
            (Element::Kind(one), Element::Kind(other)) => one == other,
            (Element::Named(one), Element::Named(other)) => one == other,
            _ => false,
        };
        same && self.dims == other.dims && self.align == other.align && self.behind.is_some() == other.behind.is_some()
    }

    /// An array of this type.
    pub(super) fn array(mut self, dim: Dim) -> Of {
        self.dims.insert(0, dim);
        self
    }
}

impl What {
    /// What it is, apart from how it is packed and aligned.
    fn unpacked(&self) -> (Packing, &What) {
        match self {
            What::Packed(packing, what) => (*packing, what),
            what => (Packing::default(), what),
        }
    }
}

impl Part {
    /// A field without a unit, default or prose.
    pub(super) fn new(place: Place, name: impl Into<Box<str>>, of: Of) -> Part {
        let packed = Packed::default();
        Part {
            place,
            name: name.into(),
            label: None,
            of,
            nullable: false,
            required: false,
            nil: false,
            unit: None,
            default: None,
            prose: None,
            packed,
        }
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

    /// The document and the line.
    pub(super) fn shown(&self, documents: &Documents<'_>) -> String {
        self.fault(Code::Declaration, documents).path().to_owned()
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
        let full: Box<str> = full.into().into();
        if let Some(known) = self.find(&full) {
            return Err(known.place.clone());
        }
        self.full.push(full.clone());
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

    /// Refuses the items that were added from `start` on.
    pub(super) fn refuse(&mut self, start: usize, error: &Error) {
        for item in &mut self.items[start..] {
            item.what = match item.what {
                What::Alias(_) => What::Alias(Of::refused(error.clone())),
                _ => What::Refused(error.clone()),
            };
        }
    }

    /// Refuses an item that is declared once more, unless it is refused already.
    pub(super) fn refuse_again(&mut self, full: &str, error: &Error) {
        if !self.find(full).is_some_and(|item| matches!(item.what, What::Refused(_))) {
            self.set(full, What::Refused(error.clone()));
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

    /// The declarations of all records, each after those that it nests. `spell` makes the name with scopes by which people ask for an item
    /// of its full name here. Records in the first document are its own.
    pub(super) fn link(&self, documents: &Documents<'_>, spell: &dyn Fn(&str, &Item) -> String) -> Declarations {
        self.link_own(documents, spell, &|_, item| item.place.document == 0)
    }

    /// The same, where a document may have the texts of others in it: `is_own` says what it declares itself.
    pub(super) fn link_own(
        &self,
        documents: &Documents<'_>,
        spell: &dyn Fn(&str, &Item) -> String,
        is_own: &dyn Fn(&str, &Item) -> bool,
    ) -> Declarations {
        let (done, open, records) = (HashMap::new(), Vec::new(), Vec::new());
        let mut linker = Linker { model: self, documents, done, open, records, looks: 0 };
        for (place, item) in self.items.iter().enumerate() {
            if !matches!(item.what, What::Alias(_)) {
                // The error of a record is kept in its place.
                let _ = linker.record(place);
            }
        }
        let mut taken = HashSet::new();
        let all = self.full.iter().zip(&self.items).map(|(full, item)| {
            let spelled: Box<str> = spell(full, item).into();
            let known = !taken.insert(spelled.clone());
            if known { format!("{spelled}@{}", item.place.line).into() } else { spelled }
        });
        let all: Vec<Box<str>> = all.collect();
        let spelled = |place: usize| all[place].clone();
        let scoped = |(place, mut declaration): (usize, Result<Declaration>)| {
            rename(&mut declaration, &|full| self.places.get(full).map(|&place| spelled(place)));
            let (name, is_own) = (self.items[place].name.clone(), is_own(&self.full[place], &self.items[place]));
            let scope = Scope { full: spelled(place), is_own, ..Scope::default() };
            Scoped { scope, name, declaration }
        };
        let places: Vec<usize> = linker.records.iter().map(|(place, _)| *place).collect();
        let shown = |record: usize| self.items[places[record]].place.shown(documents).into();
        Declarations::of(linker.records.into_iter().map(scoped).collect(), &shown)
    }
}

/// What a type says beside its kind.
#[derive(Default)]
struct Meaning {
    unit: Option<&'static str>,
    lexical: Lexical,
    values: Box<[Box<str>]>,
    align: Option<usize>,
}

struct Linker<'m, 'd, 'l> {
    model: &'m Model,
    documents: &'d Documents<'l>,
    /// The records that are made, and why one is refused.
    done: HashMap<usize, Option<Error>>,
    open: Vec<usize>,
    /// The declarations of items. Their structures are full names.
    records: Vec<(usize, Result<Declaration>)>,
    looks: usize,
}

impl<'m> Linker<'m, '_, '_> {
    fn fault(&self, place: &Place) -> Error {
        place.fault(Code::Declaration, self.documents)
    }

    /// Declares the record of an item, unless it is declared, and returns its full name.
    fn record(&mut self, place: usize) -> Result<Box<str>> {
        let (item, full) = (&self.model.items[place], &self.model.full[place]);
        if let Some(error) = self.done.get(&place) {
            return error.clone().map_or_else(|| Ok(full.clone()), Err);
        }
        if self.open.contains(&place) {
            let open = self.open.iter().map(|&place| &*self.model.items[place].name).collect::<Vec<_>>().join(" > ");
            let error = self.fault(&item.place).expected("a record that does not contain itself");
            return Err(error.found(format_args!("{open} > {}", item.name)));
        }
        self.check_depth(self.open.len(), &item.place)?;
        self.open.push(place);
        let declaration = self.declaration(item);
        self.open.pop();
        self.done.insert(place, declaration.as_ref().err().cloned());
        let result = declaration.as_ref().map(|_| full.clone()).map_err(Error::clone);
        self.records.push((place, declaration));
        result
    }

    fn declaration(&mut self, item: &'m Item) -> Result<Declaration> {
        let (packing, what) = item.what.unpacked();
        let prose = match what {
            What::Record { prose, .. } => prose.clone(),
            What::Refused(error) => return Err(error.clone()),
            _ => return Err(self.fault(&item.place).expected("a record")),
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
            false => Ok(Declaration { name: item.name.clone(), fields, prose, tag: None, packing }),
            true => Err(self.fault(&item.place).expected("a record with a field or more").found("none")),
        }
    }

    /// The fields of a record, with those of its base.
    fn parts(&mut self, item: &'m Item, depth: usize, parts: &mut Vec<&'m Part>) -> Result<()> {
        self.check_depth(depth, &item.place)?;
        let model = self.model;
        let What::Record { base, fields, .. } = item.what.unpacked().1 else {
            return match &item.what {
                What::Refused(error) => Err(error.clone()),
                _ => Err(self.fault(&item.place).expected("a record as base").found(&item.name)),
            };
        };
        if let Some(base) = base {
            let found = model.find(base).ok_or_else(|| self.unknown(&item.place, base))?;
            self.parts(found, depth + 1, parts)?;
        }
        if parts.len() + fields.len() > MAX_FIELDS {
            let error = item.place.fault(Code::Fields, self.documents);
            return Err(error.expected(format_args!("at most {MAX_FIELDS} fields")));
        }
        self.look(fields.len(), &item.place)?;
        parts.extend(fields);
        Ok(())
    }

    /// Counts fields and symbols that records have.
    fn look(&mut self, count: usize, place: &Place) -> Result<()> {
        self.looks = self.looks.saturating_add(count);
        match self.looks > MAX_LOOKS {
            false => Ok(()),
            true => {
                let error = place.fault(Code::Fields, self.documents);
                Err(error.expected(format_args!("at most {MAX_LOOKS} fields and symbols in all records together")))
            }
        }
    }

    /// Adds a field, with its length if it needs one.
    fn field(&mut self, part: &'m Part, names: &mut HashSet<Box<str>>, fields: &mut Vec<Field>) -> Result<()> {
        if let Some(behind) = &part.of.behind {
            fields.push(self.pointer(part, behind));
            return Ok(());
        }
        let mut dims = Vec::new();
        let (kind, of) = self.kind(&part.of, &part.place, &mut dims, 0)?;
        if let Kind::Enumeration { symbols, .. } = &kind {
            self.look(symbols.len(), &part.place)?;
        }
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
                optional: part.nullable && !part.required && part.default.is_none(),
                nil: part.nil && part.default.is_none(),
                lexical: of.lexical,
                symbols: of.values,
                ..Mark::element(Name::local(part.label.as_ref().unwrap_or(&part.name)))
            },
            pointer: None,
            align: part.packed.align(of.align),
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
            align: part.packed.align(None),
        }
    }

    /// The kind of a type's elements, whose dimensions are added.
    fn kind(&mut self, of: &'m Of, place: &Place, dims: &mut Vec<Dim>, depth: usize) -> Result<(Kind, Meaning)> {
        self.check_depth(depth, place)?;
        dims.extend(&of.dims);
        match &of.element {
            Element::Kind(kind) => {
                let (lexical, values) = (of.lexical, of.values.clone());
                Ok((kind.clone(), Meaning { unit: of.unit, lexical, values, align: of.align }))
            }
            Element::Refused(error) => Err(error.clone()),
            Element::Named(name) => {
                let model = self.model;
                let number = *model.places.get(&**name).ok_or_else(|| self.unknown(place, name))?;
                match &model.items[number].what {
                    // The name of a pointer says no more than the pointer.
                    What::Alias(Of { behind: Some(behind), align, .. }) => match behind {
                        Behind::Text => {
                            Ok((Kind::String, Meaning { align: of.align.or(*align), ..Meaning::default() }))
                        }
                        Behind::Refused(error) => Err(error.clone()),
                    },
                    What::Alias(inner) => {
                        let (kind, meaning) = self.kind(inner, place, dims, depth + 1)?;
                        let align = of.align.or(meaning.align);
                        Ok((kind, Meaning { unit: of.unit.or(meaning.unit), align, ..meaning }))
                    }
                    What::Record { .. } | What::Packed(..) | What::Refused(_) => {
                        let meaning = Meaning { unit: of.unit, align: of.align, ..Meaning::default() };
                        Ok((Kind::Structure(self.record(number)?), meaning))
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
    let align = Align::Natural;
    Field { name, alias: None, kind, unit: None, default: None, prose: None, mark, pointer: None, align }
}
