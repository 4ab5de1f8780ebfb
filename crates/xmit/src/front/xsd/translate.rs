//! Complex types to declarations of records: content models to fields, occurrences to dimensions and pointers.

use super::schema::*;
use super::simple::{self, DURATION, Items, Scalar};
use crate::declaration::{Declaration, Declarations, Field, Packing};
use crate::documents::Documents;
use crate::lexical;
use crate::markup::{self, Mark, Origin};
use crate::scope::{Scope, Scoped};
use isoform_core::declare::{Align, Kind, Length, Type as Words, Width};
use isoform_core::{Code, Error, Result};
use std::collections::{HashMap, HashSet};

/// Levels of types within types, and of groups within groups, as for formats.
const MAX_DEPTH: usize = 32;
/// Fields of one record, as for formats.
const MAX_FIELDS: usize = 4_096;
/// What is looked at for the records of a document: elements, attributes and groups, each as often as something refers to it. A
/// few lines in which groups refer to groups could otherwise keep a reader for ever.
const MAX_LOOKS: usize = 1 << 20;

/// Makes declarations of everything that declares a record.
pub(super) fn translate(schema: &Schema, documents: &Documents<'_>) -> Declarations {
    let (done, open, records) = (HashMap::new(), Vec::new(), Vec::new());
    let mut translator = Translator { schema, documents, done, open, records, looks: 0 };
    for declared in &schema.records {
        // The error of a record is kept in its place.
        let _ = match declared {
            Declared::Type(name) => translator.named_record(name),
            Declared::Element(name) => translator.element_record(name),
        };
    }
    let (places, records): (Vec<Place>, Vec<Scoped>) = translator.records.into_iter().unzip();
    let shown = |record: usize| {
        let Place { document, start } = places[record];
        let faults = documents.faults(document as usize);
        format!("{}:{}", faults.name, faults.line(start)).into()
    };
    Declarations::of(records, &shown)
}

pub(super) struct Translator<'s, 'l> {
    pub(super) schema: &'s Schema,
    documents: &'s Documents<'l>,
    /// The records that are made, by their full names: where each is declared, and why it is refused.
    done: HashMap<Box<str>, (Place, Option<Error>)>,
    /// Those that are being made.
    open: Vec<Names>,
    /// Their structures are full names.
    records: Vec<(Place, Scoped)>,
    /// How many elements, attributes and groups have been looked at.
    looks: usize,
}

/// The names of a record.
#[derive(Clone, PartialEq)]
struct Names {
    /// The one that its format has.
    name: Box<str>,
    /// The one that no other record has.
    full: Box<str>,
}

/// A field, and the length that is to be added for it.
struct Made {
    field: Field,
    place: Place,
    length: Option<Added>,
}

/// A length field that a document does not declare.
struct Added {
    name: Option<Box<str>>,
    before: bool,
}

/// What holds for all fields of a part of a content model.
#[derive(Clone, Copy)]
struct Part {
    nullable: bool,
    depth: usize,
}

impl Part {
    fn inner(self, nullable: bool) -> Part {
        Part { nullable: self.nullable || nullable, depth: self.depth + 1 }
    }
}

impl Translator<'_, '_> {
    pub(super) fn fault(&self, place: Place) -> Error {
        self.fault_of(Code::Declaration, place)
    }

    pub(super) fn fault_of(&self, code: Code, place: Place) -> Error {
        self.documents.faults(place.document as usize).at(code, place.start)
    }

    // Records.

    /// The names of a record that a type or an element at the top of a schema declares, `sort`.
    fn names(&self, sort: &str, name: &Name) -> Names {
        let namespace = match name.namespace {
            NONE => "",
            number if number == self.schema.target => "",
            number => self.schema.namespaces.get(number as usize).map_or("", |address| address),
        };
        let full = match namespace {
            "" => format!("{sort}({})", name.local),
            address => format!("{sort}({{{address}}}{})", name.local),
        };
        Names { name: simple::name(&name.local), full: full.into() }
    }

    /// The record of a complex type with a name.
    fn named_record(&mut self, name: &Name) -> Result<Option<Box<str>>> {
        let schema = self.schema;
        match schema.complex.get(name) {
            Some(complex) => {
                let tag = schema.tags.get(name).unwrap_or(name);
                self.record(self.names("type", name), complex, Some(tag)).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The record of an element at the top of a schema.
    fn element_record(&mut self, name: &Name) -> Result<Option<Box<str>>> {
        let Some(element) = self.schema.elements.get(name) else { return Ok(None) };
        let names = self.names("element", name);
        match &element.kind {
            Type::Complex(complex) => self.record(names, complex, Some(name)).map(Some),
            Type::Refused(error) => {
                self.add(names, element.place, Err(error.clone()));
                Err(error.clone())
            }
            _ => Ok(None),
        }
    }

    /// Adds a record. Another one of its full name stays.
    fn add(&mut self, names: Names, place: Place, declaration: Result<Declaration>) {
        let error = declaration.as_ref().err().cloned();
        if self.done.contains_key(&names.full) {
            return;
        }
        self.done.insert(names.full.clone(), (place, error));
        let is_own = place.document == 0 && &*names.full != DURATION;
        let scope = Scope { full: names.full, is_own, ..Scope::default() };
        self.records.push((place, Scoped { scope, name: names.name, declaration }));
    }

    /// Declares a record, unless it is declared, and returns its full name.
    fn record(&mut self, names: Names, complex: &Complex, tag: Option<&Name>) -> Result<Box<str>> {
        if let Some((place, error)) = self.done.get(&names.full) {
            return match error {
                Some(error) => Err(error.clone()),
                None if *place == complex.place => Ok(names.full),
                None => Err(self.fault(complex.place).expected("one record of each name").found(format_args!(
                    "a second {}, besides {}",
                    names.name,
                    self.fault(*place).path()
                ))),
            };
        }
        if self.open.contains(&names) {
            let open = self.open.iter().map(|open| &*open.name).collect::<Vec<_>>().join(" > ");
            let error = self.fault(complex.place).expected("a record that does not contain itself");
            return Err(error.found(format_args!("{open} > {}", names.name)));
        }
        if self.open.len() == MAX_DEPTH {
            let error = self.fault_of(Code::Depth, complex.place);
            return Err(error.expected(format_args!("at most {MAX_DEPTH} levels of nested records")));
        }
        self.open.push(names.clone());
        let declaration = self.fields_of(complex, Part { nullable: false, depth: 0 }, &names).and_then(|made| {
            let (fields, name) = (self.with_lengths(made)?, names.name.clone());
            match fields.is_empty() {
                false => {
                    let tag = tag.map(|tag| self.name_of(tag, true)).filter(|tag| *tag != markup::Name::local(&name));
                    let packing = Packing::default();
                    Ok(Declaration { name, fields, prose: complex.prose.clone(), tag, packing })
                }
                true => Err(self.fault(complex.place).expected("a record with a field or more").found("none")),
            }
        });
        self.open.pop();
        let result = declaration.as_ref().map(|_| names.full.clone()).map_err(Error::clone);
        self.add(names, complex.place, declaration);
        result
    }

    // Content models.

    fn fields_of(&mut self, complex: &Complex, part: Part, record: &Names) -> Result<Vec<Made>> {
        self.check_depth(part, complex.place)?;
        let mut made = Vec::new();
        match &complex.content {
            Content::Refused(error) => return Err(error.clone()),
            Content::Plain(own) => {
                self.particles(&own.particles, part, record, &mut made)?;
                self.attributes(&own.attributes, part, record, &mut made)?;
            }
            Content::Extension { base, own } => {
                made = self.base_fields(base, complex.place, part, record)?;
                self.particles(&own.particles, part, record, &mut made)?;
                self.attributes(&own.attributes, part, record, &mut made)?;
            }
            Content::Restriction { base, own } => {
                self.particles(&own.particles, part, record, &mut made)?;
                let inherited = self.base_fields(base, complex.place, part, record)?;
                let mut stated = Vec::new();
                self.attributes(&own.attributes, part, record, &mut stated)?;
                let mut dropped = prohibited(&own.attributes);
                dropped.extend(stated.iter().map(|other| other.field.name.clone()));
                let is_kept = |field: &Field| field.mark.origin == Origin::Attribute && !dropped.contains(&field.name);
                made.extend(inherited.into_iter().filter(|made| is_kept(&made.field)));
                made.extend(stated);
            }
            Content::Text { base, own } => {
                match self.scalar(base, 0)? {
                    Some(_) => {
                        let value = Element {
                            place: complex.place,
                            name: Name { namespace: NONE, local: "value".into() },
                            is_reference: false,
                            qualified: false,
                            kind: base.clone(),
                            occurs: Occurs::default(),
                            nillable: false,
                            is_abstract: false,
                            default: None,
                            unit: None,
                            prose: None,
                        };
                        let mut field = self.field(&value, part, record)?;
                        field.field.mark.origin = Origin::Text;
                        made.push(field);
                    }
                    None => match base {
                        Type::Named(base) => made = self.base_fields(base, complex.place, part, record)?,
                        _ => return Err(self.fault(complex.place).expected("text as the base of simpleContent")),
                    },
                }
                self.attributes(own, part, record, &mut made)?;
            }
        }
        Ok(made)
    }

    fn base_fields(&mut self, base: &Name, place: Place, part: Part, record: &Names) -> Result<Vec<Made>> {
        let schema = self.schema;
        match schema.complex.get(base) {
            Some(complex) => self.fields_of(complex, part.inner(false), record),
            None if base.namespace == SCHEMA && &*base.local == "anyType" => Ok(Vec::new()),
            None => Err(self.unknown_type(place, "a type as base", base)),
        }
    }

    fn particles(&mut self, particles: &[Particle], part: Part, record: &Names, made: &mut Vec<Made>) -> Result<()> {
        for particle in particles {
            self.look(1)?;
            match particle {
                Particle::Element(element) => {
                    let field = self.field(element, part, record)?;
                    if made.len() == MAX_FIELDS {
                        return Err(self
                            .fault_of(Code::Fields, element.place)
                            .expected(format_args!("at most {MAX_FIELDS} fields")));
                    }
                    made.push(field);
                }
                Particle::All { particles, optional } => {
                    self.particles(particles, part.inner(*optional), record, made)?
                }
                Particle::Choice(particles) => self.particles(particles, part.inner(true), record, made)?,
                Particle::Group { place, name, optional } => {
                    self.check_depth(part, *place)?;
                    let schema = self.schema;
                    let group = schema.groups.get(name).ok_or_else(|| self.unknown(*place, "a group", name))?;
                    let group = group.as_ref().map_err(Error::clone)?;
                    self.particles(&group.particles, part.inner(*optional), record, made)?;
                }
            }
        }
        Ok(())
    }

    fn attributes(&mut self, attributes: &Attributes, part: Part, record: &Names, made: &mut Vec<Made>) -> Result<()> {
        let schema = self.schema;
        for attribute in &attributes.0 {
            self.look(1)?;
            if made.len() == MAX_FIELDS {
                return Err(Error::new(Code::Fields)
                    .at(record.full.to_string())
                    .expected(format_args!("at most {MAX_FIELDS} fields")));
            }
            match attribute {
                AttributeUse::Own(attribute) if attribute.prohibited => {}
                AttributeUse::Own(attribute) => {
                    made.push(self.attribute(attribute, attribute.optional, attribute.qualified, record)?)
                }
                AttributeUse::Reference { prohibited: true, .. } => {}
                AttributeUse::Reference { place, name, optional, default, .. } => {
                    let found =
                        schema.attributes.get(name).ok_or_else(|| self.unknown(*place, "an attribute", name))?;
                    let own = default.as_ref().map(|default| Attribute {
                        place: *place,
                        default: Some(default.clone()),
                        ..found.clone()
                    });
                    made.push(self.attribute(own.as_ref().unwrap_or(found), *optional, true, record)?);
                }
                AttributeUse::Group { place, name } => {
                    self.check_depth(part, *place)?;
                    let group = schema.attribute_groups.get(name);
                    let group = group.ok_or_else(|| self.unknown(*place, "an attribute group", name))?;
                    self.attributes(group.as_ref().map_err(Error::clone)?, part.inner(false), record, made)?;
                }
            }
        }
        Ok(())
    }

    fn look(&mut self, count: usize) -> Result<()> {
        self.looks = self.looks.saturating_add(count);
        match self.looks <= MAX_LOOKS {
            true => Ok(()),
            false => {
                let error = Error::new(Code::Fields).at(self.documents.faults(0).name);
                Err(error.expected(format_args!(
                    "at most {MAX_LOOKS} elements, attributes and symbols in all records together"
                )))
            }
        }
    }

    fn check_depth(&self, part: Part, place: Place) -> Result<()> {
        match part.depth > MAX_DEPTH {
            false => Ok(()),
            true => {
                let error = self.fault_of(Code::Depth, place);
                Err(error.expected(format_args!("at most {MAX_DEPTH} levels of bases and groups, none within itself")))
            }
        }
    }

    // Fields.

    fn attribute(&mut self, attribute: &Attribute, optional: bool, qualified: bool, record: &Names) -> Result<Made> {
        let element = Element {
            place: attribute.place,
            name: attribute.name.clone(),
            is_reference: false,
            qualified,
            kind: attribute.kind.clone(),
            occurs: Occurs { optional, array: None },
            nillable: false,
            is_abstract: false,
            default: attribute.default.clone(),
            unit: attribute.unit.clone(),
            prose: attribute.prose.clone(),
        };
        let mut made = self.field(&element, Part { nullable: false, depth: 0 }, record)?;
        made.field.mark.origin = Origin::Attribute;
        Ok(made)
    }

    fn field(&mut self, element: &Element, part: Part, record: &Names) -> Result<Made> {
        let place = element.place;
        let schema = self.schema;
        if element.is_reference {
            let top =
                schema.elements.get(&element.name).ok_or_else(|| self.unknown(place, "an element", &element.name))?;
            let nillable = element.nillable || top.nillable;
            let own = Element {
                place,
                occurs: element.occurs.clone(),
                nillable,
                qualified: true,
                unit: element.unit.clone().or(top.unit.clone()),
                prose: element.prose.clone().or(top.prose.clone()),
                ..top.clone()
            };
            // An anonymous type of that element is the record of the element's name.
            return match (&top.kind, self.element_record(&element.name)?) {
                (Type::Complex(_), Some(inner)) => self.field_of(&own, part, Scalar::of(Kind::Structure(inner))),
                _ => self.field(&own, part, record),
            };
        }
        if element.is_abstract {
            return Err(self.fault(place).expected("an element that is not abstract").found(&element.name));
        }
        if let Some(scalar) = self.scalar(&element.kind, 0)? {
            if let Kind::Enumeration { symbols, .. } = &scalar.kind {
                self.look(symbols.len())?;
            }
            if matches!(scalar.kind, Kind::Structure(_)) {
                self.duration(place);
            }
            return self.field_of(element, part, scalar);
        }
        let inner = match &element.kind {
            Type::Complex(complex) => {
                let local = simple::name(&element.name.local);
                let name = format!("{}_{local}", record.name).into();
                let full = format!("{}/{local}", record.full).into();
                let complex = complex.clone();
                Some(self.record(Names { name, full }, &complex, None)?)
            }
            Type::Named(name) => {
                if schema.complex.get(name).is_some_and(|complex| complex.is_abstract) {
                    return Err(self.fault(place).expected("a type that is not abstract").found(name));
                }
                self.named_record(name)?
            }
            Type::Simple(_) | Type::Refused(_) => None,
        };
        match inner {
            Some(inner) => self.field_of(element, part, Scalar::of(Kind::Structure(inner))),
            None => Err(match &element.kind {
                Type::Named(name) => self.unknown_type(place, "a type", name),
                _ => self.fault(place).expected("a type"),
            }),
        }
    }

    /// A field whose elements are of this kind.
    fn field_of(
        &self,
        element: &Element,
        part: Part,
        Scalar { kind, array: items, unit, lexical, values, .. }: Scalar,
    ) -> Result<Made> {
        let name = simple::name(&element.name.local);
        let mut dims = Vec::new();
        let mut length = None;
        let mut added = |name: Option<Box<str>>, before, field: &str| {
            let of = name.clone().unwrap_or_else(|| format!("{field}_len").into());
            length = Some(Added { name, before });
            Length::Field(of)
        };
        match &element.occurs.array {
            None => {}
            Some(Array::Fixed(n)) => dims.push(Length::Fixed(*n)),
            Some(Array::Of(field)) => dims.push(Length::Field(simple::name(field))),
            Some(Array::Added { name: of, before }) => {
                dims.push(added(of.as_deref().map(simple::name), *before, &name))
            }
        }
        match items {
            None => {}
            Some(Items::These(n)) => dims.push(Length::Fixed(n)),
            Some(Items::Any) if dims.is_empty() => dims.push(added(None, false, &name)),
            Some(Items::Any) => {
                let error =
                    self.fault(element.place).expected("an array of single values, or of lists with a fixed length");
                return Err(error
                    .found("an array of lists of any length; an element of a complexType with the list can be one"));
            }
        }
        let is_text = kind == Kind::String && dims.is_empty();
        let is_dynamic = dims.iter().any(|dim| matches!(dim, Length::Field(_)));
        let may_be_absent = (part.nullable || element.occurs.optional || element.nillable) && element.default.is_none();
        let mark = Mark {
            nil: element.nillable,
            optional: (part.nullable || element.occurs.optional) && element.default.is_none(),
            list: items.is_some(),
            lexical,
            symbols: values,
            ..Mark::element(self.name_of(&element.name, element.qualified))
        };
        let field = Field {
            name,
            alias: None,
            kind: Words { kind, dims: dims.into(), pointer: may_be_absent && !is_text && !is_dynamic },
            unit: element.unit.clone().or(unit.map(Into::into)),
            default: element.default.as_ref().map(|default| lexical.spaced(default).into()),
            prose: element.prose.clone(),
            mark,
            pointer: None,
            align: Align::Natural,
        };
        self.check_default(&field, element.place)?;
        Ok(Made { field, place: element.place, length })
    }

    /// Refuses a default that is no value of its field.
    fn check_default(&self, field: &Field, place: Place) -> Result<()> {
        let Some(text) = &field.default else { return Ok(()) };
        let value = lexical::value_as(&field.kind, field.unit.as_deref(), field.mark.lexical, text);
        value.map(drop).map_err(|error| {
            let record = self.open.last().map_or("", |record| &record.name);
            let found = format!("{}, the default of {record}.{}", error.actual(), field.name);
            error.at(self.fault(place).path()).found(found)
        })
    }

    /// Declares the record for `xs:duration`.
    fn duration(&mut self, place: Place) {
        if self.done.contains_key(DURATION) {
            return;
        }
        let field = |name: &str, bytes, unit: &str| Field {
            name: name.into(),
            alias: None,
            kind: Words {
                kind: Kind::Integer { signed: true, width: Width::Bytes(bytes) },
                dims: Box::default(),
                pointer: false,
            },
            unit: Some(unit.into()),
            default: None,
            prose: None,
            mark: Mark::element(markup::Name::local(name)),
            pointer: None,
            align: Align::Natural,
        };
        let fields = vec![field("months", 4, "months"), field("time", 8, "ns")];
        let names = Names { name: "duration".into(), full: DURATION.into() };
        let (name, packing) = (names.name.clone(), Packing::default());
        self.add(names, place, Ok(Declaration { name, fields, prose: None, tag: None, packing }));
    }

    /// The fields, with the lengths that the document does not declare.
    fn with_lengths(&self, made: Vec<Made>) -> Result<Vec<Field>> {
        let mut names = HashSet::new();
        for made in &made {
            if !names.insert(made.field.name.clone()) {
                let error = self.fault(made.place).expected("one field of each name");
                return Err(error.found(format_args!("a second {}", made.field.name)));
            }
        }
        self.check_lengths(&made)?;
        let mut fields: Vec<Field> = Vec::with_capacity(made.len());
        for Made { field, place, length } in made {
            match length {
                None => {
                    if let Some(of) = length_of(&field).filter(|of| !names.contains(*of)) {
                        let error =
                            self.fault(place).expected("maxOccurs: a number, * or unbounded, or an integer element");
                        return Err(error.found(format_args!("{of}, which is no element of this record")));
                    }
                    fields.push(field);
                }
                Some(Added { name: Some(name), before }) => {
                    let is_new = names.insert(name.clone());
                    let length = length_field(name, true, 4);
                    match (is_new, before) {
                        (false, _) => fields.push(field),
                        (true, true) => fields.extend([length, field]),
                        (true, false) => fields.extend([field, length]),
                    }
                }
                Some(Added { name: None, .. }) => {
                    let name: Box<str> = format!("{}_len", field.name).into();
                    if !names.insert(name.clone()) {
                        let error = self.fault(place).expected("dimensionName, since the usual name is taken");
                        return Err(error.found(name));
                    }
                    fields.extend([field, length_field(name, false, 8)]);
                }
            }
        }
        Ok(fields)
    }

    /// Refuses arrays whose length is a field of the document that cannot be one.
    fn check_lengths(&self, made: &[Made]) -> Result<()> {
        let kinds: HashMap<&str, &Words> = made.iter().map(|made| (&*made.field.name, &made.field.kind)).collect();
        for made in made {
            let Some(of) = length_of(&made.field) else { continue };
            // The usual name of a length is not that of a field of the document.
            let is_stated = !matches!(made.length, Some(Added { name: None, .. }));
            if let Some(kind) = kinds.get(of).filter(|kind| is_stated && !is_length(kind)) {
                let error = self.fault(made.place).expected(format_args!(
                    "the length of {} in an element of one integer of at most 8 bytes, which is always there",
                    made.field.name
                ));
                return Err(error.found(format_args!("{of}, which is {kind}")));
            }
        }
        Ok(())
    }

    /// A name as documents have it.
    fn name_of(&self, name: &Name, qualified: bool) -> markup::Name {
        let namespace = match qualified && name.namespace != NONE {
            true => self.schema.namespaces.get(name.namespace as usize).cloned(),
            false => None,
        };
        markup::Name { namespace, local: name.local.clone() }
    }

    fn unknown(&self, place: Place, expected: &str, name: &Name) -> Error {
        let error = self.fault(place).expected(format_args!("{expected} that is declared"));
        error.found(format_args!("{name}, which is not"))
    }

    /// The error of a type that is not there. Whoever forgets the prefix of XML Schema is told so.
    pub(super) fn unknown_type(&self, place: Place, expected: &str, name: &Name) -> Error {
        let error = self.unknown(place, expected, name);
        match name.namespace != SCHEMA && simple::is_built_in(&name.local) {
            true => error.found(format_args!(
                "{name}, which is not; did you mean xs:{0}, with the prefix of XML Schema?",
                name.local
            )),
            false => error,
        }
    }
}

fn length_field(name: Box<str>, signed: bool, bytes: u8) -> Field {
    let kind = Kind::Integer { signed, width: Width::Bytes(bytes) };
    let kind = Words { kind, dims: Box::default(), pointer: false };
    let mark = Mark { origin: Origin::Length, ..Mark::element(markup::Name::local(&name)) };
    Field {
        name,
        alias: None,
        kind,
        unit: None,
        default: None,
        prose: None,
        mark,
        pointer: None,
        align: Align::Natural,
    }
}

/// The field that is the length of an array, if one is.
fn length_of(field: &Field) -> Option<&str> {
    field.kind.dims.iter().find_map(|dim| match dim {
        Length::Field(of) => Some(&**of),
        Length::Fixed(_) => None,
    })
}

/// Whether a field of this type can be a length, as formats want it.
fn is_length(kind: &Words) -> bool {
    let is_integer = matches!(kind.kind, Kind::Integer { width: Width::Bytes(bytes), .. } if bytes <= 8);
    is_integer && kind.dims.is_empty() && !kind.pointer
}

/// The attributes that a restriction takes away.
fn prohibited(attributes: &Attributes) -> HashSet<Box<str>> {
    let names = attributes.0.iter().filter_map(|attribute| match attribute {
        AttributeUse::Own(attribute) if attribute.prohibited => Some(simple::name(&attribute.name.local)),
        AttributeUse::Reference { name, prohibited: true, .. } => Some(simple::name(&name.local)),
        _ => None,
    });
    names.collect()
}
