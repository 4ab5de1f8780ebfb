//! Records as XML and JSON as a document describes them, and back (`spec/xmit.md`, "Text in and out").
//!
//! | step | home |
//! |---|---|
//! | a format and its markup to what is written for each field | this file |
//! | record to XML, as text or as a tree | [`mod@write`], [`tree`] |
//! | XML to events, from input in pieces | [`xml`], [`names`] |
//! | events to the values of a record | [`read`] |
//! | record to JSON and back | [`json`] |
//! | many records of one text, in either language | [`texts`] |
//! | single values | [`crate::lexical`] |
//!
//! It leaves it to `isoform_core::value` to make a body of values, with all checks of lengths and ranges.

mod json;
mod names;
mod read;
mod texts;
mod tree;
mod write;
mod xml;

pub use read::Records;
pub use texts::Texts;
pub use tree::Tree;

use crate::lexical::is_space;
use crate::markup::{Lexical, Mark, Markup, Name, Origin, Record as Marks};
use isoform_core::plan::Rules;
use isoform_core::{Code, Dimension, Element, Error, Field, Format, Result, Structure, Value, View, value};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;

/// Bytes of the text of one record.
pub(crate) const MAX_TEXT: usize = 64 << 20;

/// Writes records of a format as texts that a document describes, and reads such texts as records.
///
/// ```
/// use isoform_core::{Layout, Verifier, View};
/// use isoform_xmit::{Alone, Declarations, Hydration};
/// let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="Gauge">
///   <xs:sequence><xs:element name="level" type="xs:double" maxOccurs="unbounded"/></xs:sequence>
///   <xs:attribute name="at" type="xs:dateTime" use="required"/></xs:complexType></xs:schema>"#;
/// let declarations = Declarations::from_xsd("river.xsd", schema, &mut Alone)?;
/// let format = declarations.bind("Gauge", &Layout::NATIVE)?;
/// let hydration = Hydration::new(&format, &declarations.markup("Gauge")?)?.rules(declarations.rules("Gauge")?);
///
/// let text = r#"<Gauge at="2026-11-23T12:00:00Z"><level>0.5</level><level>1e-3</level></Gauge>"#;
/// let body = hydration.body_of_xml(text)?;
/// let verifier = Verifier::new(&format);
/// let view = View::new(verifier.verify(&body)?);
/// assert_eq!(hydration.xml(view)?, text.replace("1e-3", "0.001"));
/// assert_eq!(hydration.json(view)?, r#"{"level":[0.5,0.001],"at":"2026-11-23T12:00:00Z"}"#);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hydration {
    format: Format,
    root: Record,
    rules: Rules,
    /// Whether texts in JSON are values of a schema.
    strict: bool,
    /// What the element of a record says of namespaces.
    declares: Box<str>,
    declared: Box<[(Box<str>, Box<str>)]>,
}

/// What is written for a record.
#[derive(Clone, Debug)]
struct Record {
    /// The element that holds it, if it is not in a field.
    tag: Tag,
    /// In the order of the structure.
    fields: Vec<Part>,
    /// The fields that are elements, and attributes, by their names without namespaces.
    elements: HashMap<Box<str>, usize>,
    attributes: HashMap<Box<str>, usize>,
    /// The fields by their names in JSON.
    names: HashMap<Box<str>, usize>,
    /// The field that is the text of the element.
    text: Option<usize>,
}

/// What is written for a field.
#[derive(Clone, Debug)]
struct Part {
    mark: Mark,
    tag: Tag,
    /// Whether the last dimension is one text.
    packed: bool,
    /// The record that it nests.
    nested: Option<Box<Record>>,
    /// Symbols by what is written for them, and back, where the two differ.
    symbols: HashMap<Box<str>, Box<str>>,
    /// Symbols by what is written for them with its spaces collapsed, where that differs.
    collapsed: HashMap<Box<str>, Box<str>>,
    written: HashMap<Box<str>, Box<str>>,
}

/// The name of an element or attribute.
#[derive(Clone, Debug)]
struct Tag {
    name: Name,
    /// With its prefix.
    qualified: Box<str>,
}

impl Hydration {
    /// For records of a format whose texts have this markup.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for markup of a record or field that the format does not have; [`Code::Declaration`] for markup that does not
    /// fit its field, such as a record as an attribute; and for arrays that texts cannot have. The path is that of the field.
    pub fn new(format: &Format, markup: &Markup) -> Result<Hydration> {
        if markup.record() != format.name() {
            let error = Error::new(Code::NoSuchField).expected(format_args!("markup of {}", format.name()));
            return Err(error.found(format_args!("that of {}", markup.record())));
        }
        let mut marks: HashMap<&str, (&Marks, bool)> = HashMap::new();
        for record in &markup.records {
            if marks.insert(&record.name, (record, false)).is_some() {
                return Err(Error::new(Code::Declaration).at(&*record.name).found("two markups of one record"));
            }
        }
        let mut root = plan(format.structure(), &mut marks)?;
        if let Some((name, _)) = marks.iter().find(|(_, (_, used))| !used) {
            let error = Error::new(Code::NoSuchField).at(*name).expected("records that the format has");
            return Err(error.found(format_args!("markup of {name}")));
        }
        let mut spaces = Spaces::default();
        spaces.of_record(&root, true);
        let spaces = spaces.named();
        spaces.put(&mut root);
        let declares: String = spaces
            .declared
            .iter()
            .map(|(attribute, address)| format!(" {attribute}=\"{}\"", write::Escaped(address, true)))
            .collect();
        let (declares, declared) = (declares.into(), spaces.declared.into());
        let (strict, rules) = (markup.strict, Rules::new());
        Ok(Hydration { format: format.clone(), root, rules, strict, declares, declared })
    }

    /// With the defaults of fields that a text lacks.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Hydration {
        self.rules = rules;
        self
    }

    /// The format of the records.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The XML of a record: one element, on one line unless its texts have several.
    ///
    /// # Errors
    /// With the path of the field: [`Code::Text`] for a value that XML cannot have, such as a control character, [`Code::Utf8`] for text in
    /// another encoding, [`Code::Null`] for a null that the document does not allow, [`Code::WrongType`] for a record of another format.
    pub fn xml(&self, view: View<'_>) -> Result<String> {
        let mut text = String::new();
        self.write_xml(view, &mut text)?;
        Ok(text)
    }

    /// Writes what [`Hydration::xml`] returns, piece by piece.
    ///
    /// # Errors
    /// As [`Hydration::xml`], and [`Code::Io`] if `out` fails.
    pub fn write_xml(&self, view: View<'_>, out: &mut dyn fmt::Write) -> Result<()> {
        let mut text = write::Text::new(out);
        write::record(self, view, &mut text)
    }

    /// The XML of a record as a tree of elements.
    ///
    /// ```
    /// # use isoform_core::{Layout, Verifier, View};
    /// # use isoform_xmit::{Hydration, Markup};
    /// let format = isoform_core::Shape::new("Gauge").field("step", "int").on(&Layout::NATIVE)?;
    /// let hydration = Hydration::new(&format, &Markup::plain("Gauge"))?;
    /// let body = hydration.body_of_xml("<Gauge><step>7</step></Gauge>")?;
    /// let verifier = Verifier::new(&format);
    /// let tree = hydration.tree(View::new(verifier.verify(&body)?))?;
    /// assert_eq!((&*tree.name.local, tree.children().next().unwrap().text()), ("Gauge", "7".into()));
    /// assert_eq!(hydration.body_of_xml(&tree.to_string())?, body);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hydration::xml`].
    pub fn tree(&self, view: View<'_>) -> Result<Tree> {
        let mut builder = tree::Builder::default();
        write::record(self, view, &mut builder)?;
        builder.done().ok_or_else(|| Error::new(Code::Internal).found("a record without an element"))
    }

    /// The JSON of a record, on one line.
    ///
    /// # Errors
    /// As [`Hydration::xml`].
    pub fn json(&self, view: View<'_>) -> Result<String> {
        let mut text = String::new();
        self.write_json(view, &mut text)?;
        Ok(text)
    }

    /// Writes what [`Hydration::json`] returns, piece by piece.
    ///
    /// # Errors
    /// As [`Hydration::json`], and [`Code::Io`] if `out` fails.
    pub fn write_json(&self, view: View<'_>, out: &mut dyn fmt::Write) -> Result<()> {
        self.check(view)?;
        json::Writer { out, strict: self.strict }.record(&self.root, view)
    }

    /// The values of the one record in a text in XML. [`Hydration::records`] reads several, and from files.
    ///
    /// # Errors
    /// With the path of the field, and the line: [`Code::Text`] for what is not XML, or not a value of its field,
    /// [`Code::NoSuchField`] for an element or attribute that the record does not have, [`Code::Required`] for missing ones,
    /// [`Code::Overflow`] and [`Code::Underflow`] for numbers that the field cannot have, [`Code::MessageSize`] and [`Code::Depth`] beyond
    /// the limits.
    pub fn of_xml(&self, text: &str) -> Result<Value> {
        let mut records = self.records(text.as_bytes());
        let none = || Error::new(Code::Text).expected(format_args!("<{}>", self.root.tag.name.local)).found("nothing");
        let first = records.next().ok_or_else(none)??;
        match records.next() {
            None => Ok(first),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) => Err(Error::new(Code::Text).expected("one record").found("a second")),
        }
    }

    /// The values of one record in a text in JSON.
    ///
    /// # Errors
    /// As [`Hydration::of_xml`].
    pub fn of_json(&self, text: &str) -> Result<Value> {
        if text.len() > MAX_TEXT {
            let error = Error::new(Code::MessageSize).expected(format_args!("at most {MAX_TEXT} bytes"));
            return Err(error.found(text.len()));
        }
        self.completed(json::read(self, text)?)
    }

    /// The body of the one record in a text in XML, as [`value::body`] makes it.
    ///
    /// # Errors
    /// As [`Hydration::of_xml`] and [`value::body`].
    pub fn body_of_xml(&self, text: &str) -> Result<Vec<u8>> {
        value::body(&self.format, &self.of_xml(text)?)
    }

    /// The body of one record in a text in JSON.
    ///
    /// # Errors
    /// As [`Hydration::of_json`] and [`value::body`].
    pub fn body_of_json(&self, text: &str) -> Result<Vec<u8>> {
        value::body(&self.format, &self.of_json(text)?)
    }

    /// The records in XML that comes in pieces: documents one after another, each of one record. It reads no more than it needs for the next
    /// record.
    pub fn records<R: Read>(&self, input: R) -> Records<'_, R> {
        Records::new(self, input)
    }

    fn check(&self, view: View<'_>) -> Result<()> {
        let own: &Structure = self.format.structure();
        match std::ptr::eq(view.structure(), own) || *view.structure() == *own {
            true => Ok(()),
            false => {
                let error = Error::new(Code::WrongType).expected(format_args!("a record of {}", self.format.name()));
                Err(error.found(format_args!("one of another format, {}", view.structure().name())))
            }
        }
    }

    fn completed(&self, mut record: Value) -> Result<Value> {
        value::complete(&self.format, &mut record, &self.rules)?;
        Ok(record)
    }
}

/// What is written for a structure and those within.
fn plan(structure: &Structure, marks: &mut HashMap<&str, (&Marks, bool)>) -> Result<Record> {
    let own = marks.get_mut(structure.name()).map(|(marks, used)| {
        *used = true;
        *marks
    });
    let given: HashMap<&str, &Mark> =
        own.map(|own| own.fields.iter().map(|(name, mark)| (&**name, mark)).collect()).unwrap_or_default();
    if let Some(unknown) = given.keys().find(|name| structure.field(name).is_none()) {
        let error = Error::new(Code::NoSuchField).at(format!("{}.{unknown}", structure.name()));
        return Err(error.expected("markup of fields that the record has"));
    }
    let tag = own.and_then(|own| own.tag.clone()).unwrap_or_else(|| Name::local(structure.name()));
    let mut record = Record {
        tag: Tag::new(tag),
        fields: Vec::new(),
        elements: HashMap::new(),
        attributes: HashMap::new(),
        names: HashMap::new(),
        text: None,
    };
    for (index, field) in structure.fields().iter().enumerate() {
        let mark =
            given.get(&*field.name).map_or_else(|| Mark::element(Name::local(&field.name)), |mark| (*mark).clone());
        let part =
            part(field, mark, marks).map_err(|error| error.within(&format!("{}.{}", structure.name(), field.name)))?;
        let fault = |found: &str| {
            Err(Error::new(Code::Declaration).at(format!("{}.{}", structure.name(), field.name)).found(found))
        };
        let name = &part.mark.name.local;
        if part.mark.origin != Origin::Length && record.names.insert(name.clone(), index).is_some() {
            return fault("two fields with one name in texts");
        }
        match part.mark.origin {
            Origin::Element => _ = record.elements.insert(name.clone(), index),
            Origin::Attribute => _ = record.attributes.insert(name.clone(), index),
            Origin::Text if record.text.is_some() => return fault("two fields that are the text of one element"),
            Origin::Text => record.text = Some(index),
            Origin::Length => {}
        }
        record.fields.push(part);
    }
    match (record.text, record.elements.is_empty()) {
        (Some(_), false) => {
            Err(Error::new(Code::Declaration).at(structure.name()).expected("either text or elements").found("both"))
        }
        _ => Ok(record),
    }
}

/// What is written for a field.
fn part(field: &Field, mark: Mark, marks: &mut HashMap<&str, (&Marks, bool)>) -> Result<Part> {
    let refuse = |expected: &str, found: &str| Err(Error::new(Code::Declaration).expected(expected).found(found));
    let is_duration = mark.lexical == Lexical::Duration;
    let is_chars = field.element == Element::Char && !field.dims.is_empty();
    let packed = mark.list || mark.lexical.is_bytes();
    let fits = match mark.lexical {
        Lexical::Plain => true,
        Lexical::Token | Lexical::Normalized => field.element == Element::String,
        Lexical::Duration => is_pair(&field.element),
        Lexical::Hex | Lexical::Base64 | Lexical::Base64Url => {
            field.element == Element::Integer { signed: false, size: 1 } && !field.dims.is_empty()
        }
        _ => matches!(field.element, Element::Integer { .. }),
    };
    if !fits {
        return refuse("a field whose values can be written like this", "another type");
    }
    if packed && (field.dims.is_empty() || is_chars || matches!(field.element, Element::Structure(_)) && !is_duration) {
        return refuse("an array of values", "no such array");
    }
    if field.dims.iter().skip(1).any(|dim| matches!(dim, Dimension::Field(_))) {
        return refuse("an array in which only the first dimension varies", "another");
    }
    if is_chars && matches!(field.dims.last(), Some(Dimension::Field(_))) && field.dims.len() > 1 {
        return refuse("texts of a fixed length in an array", "another");
    }
    let rank = field.dims.len() - usize::from(packed || is_chars);
    let is_single = rank == 0;
    let is_record = matches!(field.element, Element::Structure(_)) && !is_duration;
    match mark.origin {
        Origin::Attribute | Origin::Text if !is_single || is_record => {
            return refuse("a value, or a list, as an attribute or text", "an array or a record");
        }
        Origin::Text if mark.optional || mark.nil => {
            return refuse("text that is always there", "one that may be absent");
        }
        Origin::Length if !matches!(field.element, Element::Integer { .. }) || !field.dims.is_empty() => {
            return refuse("an integer as a length", "another type");
        }
        _ => {}
    }
    if !names::is_local(&mark.name.local) || mark.name.namespace.as_deref() == Some("") {
        return refuse("a name of XML", &crate::lexical::short(&mark.name.local));
    }
    let nested = match &field.element {
        Element::Structure(inner) if !is_duration => Some(Box::new(plan(inner, marks)?)),
        _ => None,
    };
    let (mut symbols, mut collapsed, mut written) = (HashMap::new(), HashMap::new(), HashMap::new());
    if !mark.symbols.is_empty() {
        let Element::Enumeration(enumeration) = &field.element else {
            return refuse("an enumeration, whose values are written", "another type");
        };
        // The symbols of a document are numbered in its order.
        for value in &mark.symbols {
            let symbol = crate::front::xsd::symbol(value);
            if !enumeration.symbols().iter().any(|known| known.name == symbol) {
                return refuse("values of the enumeration", &crate::lexical::short(value));
            }
            let tight = crate::lexical::collapsed(value);
            if tight != **value {
                collapsed.insert(tight.into(), symbol.clone());
            }
            symbols.insert(value.clone(), symbol.clone());
            written.insert(symbol, value.clone());
        }
    }
    let tag = Tag::new(mark.name.clone());
    Ok(Part { mark, tag, packed, nested, symbols, collapsed, written })
}

/// Whether it is the record that a duration is.
fn is_pair(element: &Element) -> bool {
    let Element::Structure(structure) = element else { return false };
    let is_integer = |name: &str| {
        structure.field(name).is_some_and(|field| {
            matches!(field.element, Element::Integer { .. }) && field.dims.is_empty() && !field.indirect
        })
    };
    structure.fields().len() == 2 && is_integer("months") && is_integer("time")
}

impl Tag {
    fn new(name: Name) -> Tag {
        Tag { qualified: name.local.clone(), name }
    }
}

/// The namespaces of a record's texts.
#[derive(Default)]
struct Spaces {
    /// Those of elements, and whether an element has none.
    elements: Vec<Box<str>>,
    has_plain: bool,
    attributes: Vec<Box<str>>,
}

impl Spaces {
    fn of_record(&mut self, record: &Record, is_root: bool) {
        if is_root {
            self.add(&record.tag, false);
        }
        for part in &record.fields {
            match part.mark.origin {
                Origin::Element => self.add(&part.tag, false),
                Origin::Attribute => self.add(&part.tag, true),
                Origin::Text | Origin::Length => {}
            }
            part.nested.iter().for_each(|nested| self.of_record(nested, false));
        }
    }

    fn add(&mut self, tag: &Tag, is_attribute: bool) {
        let list = if is_attribute { &mut self.attributes } else { &mut self.elements };
        match &tag.name.namespace {
            Some(namespace) if list.contains(namespace) => {}
            Some(namespace) => list.push(namespace.clone()),
            None => self.has_plain |= !is_attribute,
        }
    }

    /// If all elements have one namespace, it needs no prefix.
    fn named(self) -> Named {
        let has_usual = !self.has_plain && self.elements.len() == 1;
        let usual = has_usual.then(|| self.elements[0].clone());
        let mut prefixed = if has_usual { Vec::new() } else { self.elements };
        for namespace in self.attributes {
            if !prefixed.contains(&namespace) {
                prefixed.push(namespace);
            }
        }
        let prefixes: Vec<(Box<str>, Box<str>)> = prefixed
            .into_iter()
            .enumerate()
            .map(|(number, namespace)| (format!("n{}", number + 1).into(), namespace))
            .collect();
        let usual_declared = usual.iter().map(|namespace| ("xmlns".into(), namespace.clone()));
        let declared = usual_declared
            .chain(prefixes.iter().map(|(prefix, namespace)| (format!("xmlns:{prefix}").into(), namespace.clone())))
            .collect();
        Named { usual, prefixes, declared }
    }
}

/// Namespaces with their prefixes.
struct Named {
    usual: Option<Box<str>>,
    prefixes: Vec<(Box<str>, Box<str>)>,
    declared: Vec<(Box<str>, Box<str>)>,
}

impl Named {
    fn put(&self, record: &mut Record) {
        self.qualify(&mut record.tag, false);
        for part in &mut record.fields {
            self.qualify(&mut part.tag, part.mark.origin == Origin::Attribute);
            part.nested.iter_mut().for_each(|nested| self.put(nested));
        }
    }

    fn qualify(&self, tag: &mut Tag, is_attribute: bool) {
        let namespace = tag.name.namespace.as_ref();
        if namespace.is_none() || !is_attribute && namespace == self.usual.as_ref() {
            return;
        }
        if let Some((prefix, _)) = self.prefixes.iter().find(|(_, known)| Some(known) == namespace) {
            tag.qualified = format!("{prefix}:{}", tag.name.local).into();
        }
    }
}
