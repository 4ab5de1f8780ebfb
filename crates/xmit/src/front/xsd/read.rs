//! XML to a [`Schema`]: every element and attribute of a document has a meaning here, or is refused with its line. Annotations,
//! and what only restricts values, are passed over.

use super::bounds;
use super::schema::*;
use crate::documents::{Documents, Faults};
use crate::markup::Lexical;
use isoform_core::{Code, Error, Result};
use roxmltree::{Document, Error as XmlError, Node};
use std::collections::HashMap;
use std::rc::Rc;

/// The namespaces that XML Schema has had.
const NAMESPACES: [&str; 3] =
    ["http://www.w3.org/2001/XMLSchema", "http://www.w3.org/2000/10/XMLSchema", "http://www.w3.org/1999/XMLSchema"];
/// The namespace of what XML Schema has no word for.
const OWN: &str = "urn:isoform:xmit";
/// Levels of elements within each other.
const MAX_DEPTH: u32 = 64;

/// Reads a document, and those that it includes and imports, into one schema.
pub(super) fn read(documents: &mut Documents<'_>) -> Result<Schema> {
    let mut schema = Schema::default();
    let mut namespaces = Namespaces::default();
    // A document without a namespace takes on that of the document that includes it.
    let mut waiting = vec![(0, None)];
    while let Some((number, includer)) = waiting.pop() {
        let needed = read_one(documents.faults(number), number, includer, &mut namespaces, &mut schema)?;
        for Needed { location, namespace, start } in needed {
            let next = documents.load(number, &location);
            if let Some(next) = next.map_err(|error| asked_by(documents.faults(number), start, error))? {
                waiting.push((next, namespace));
            }
        }
    }
    schema.namespaces = namespaces.list;
    Ok(schema)
}

/// The addresses of namespaces, and their numbers.
struct Namespaces {
    list: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Default for Namespaces {
    fn default() -> Namespaces {
        Namespaces { list: vec!["(schema)".into(), "".into()], numbers: HashMap::new() }
    }
}

/// A document that another one needs.
struct Needed {
    location: String,
    /// For an include, the namespace of the document that has it.
    namespace: Option<u32>,
    /// Where the include or import begins.
    start: usize,
}

/// The error of a document that cannot be loaded, at the line that asks for it. What the error says of the document stays.
fn asked_by(faults: Faults<'_>, start: usize, error: Error) -> Error {
    let place = faults.at(error.code(), start);
    let found = match (error.path(), error.actual()) {
        (path, found) if path.is_empty() || path == faults.name => found.to_owned(),
        (path, "") => path.to_owned(),
        (path, found) => format!("{path}: {found}"),
    };
    error.at(place.path()).found(found)
}

/// Reads one document, and returns those that it needs.
fn read_one(
    faults: Faults<'_>,
    number: usize,
    includer: Option<u32>,
    namespaces: &mut Namespaces,
    schema: &mut Schema,
) -> Result<Vec<Needed>> {
    bounds::check(faults)?;
    let document = Document::parse(faults.text).map_err(|error| {
        let last = 1 + faults.text.trim_end().matches('\n').count() as u32;
        let line = match error {
            // The parser names the first line where the text ends too early.
            XmlError::UnexpectedEndOfStream | XmlError::UnclosedRootNode | XmlError::NoRootNode => last,
            _ => error.pos().row.min(last),
        };
        let fault = faults.in_line(Code::Text, line);
        // What many servers send in place of a document that they do not have.
        let start = faults.text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').as_bytes();
        let is_html = ["<!doctype html", "<html"]
            .iter()
            .any(|head| start.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head.as_bytes())));
        match is_html {
            true => fault.expected("an XML Schema document, <schema>").found("a page in HTML"),
            false => fault.expected("well-formed XML without a DTD").found(format_args!("an error: {error}")),
        }
    })?;
    Page { number: number as u32, faults, namespaces, schema, target: NONE, elements: false, attributes: false }
        .schema_element(document.root_element(), includer)
}

/// One document while it is read.
struct Page<'d> {
    /// Its number, for places.
    number: u32,
    faults: Faults<'d>,
    namespaces: &'d mut Namespaces,
    schema: &'d mut Schema,
    target: u32,
    /// Whether elements, and attributes, within types have the namespace, unless they say otherwise.
    elements: bool,
    attributes: bool,
}

/// The text of prose within an annotation.
fn prose(node: Node) -> Option<Box<str>> {
    let annotation = node.children().find(|child| child.has_tag_name_local("annotation"))?;
    let texts = annotation.children().filter(|child| child.has_tag_name_local("documentation"));
    let words: Vec<&str> = (texts.flat_map(|text| text.descendants()))
        .filter(|node| node.is_text())
        .filter_map(|node| node.text())
        .collect();
    let text = words.iter().flat_map(|words| words.split_whitespace()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| text.into())
}

/// Comparing local names: whether they are XML Schema's is checked once for each element.
trait LocalName<'d> {
    fn has_tag_name_local(&self, name: &str) -> bool;

    /// The attribute of this name without a namespace. The parser's own search takes one of any namespace.
    fn plain(&self, name: &str) -> Option<&'d str>;
}

impl<'d> LocalName<'d> for Node<'d, '_> {
    fn plain(&self, name: &str) -> Option<&'d str> {
        let mut attributes = self.attributes();
        let is_plain = |attribute: &roxmltree::Attribute| attribute.namespace().is_none() && attribute.name() == name;
        attributes.find(is_plain).map(|attribute| attribute.value())
    }

    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

impl<'n> Page<'_> {
    fn place(&self, node: Node) -> Place {
        Place { document: self.number, start: node.range().start }
    }

    fn refuse<T>(&self, node: Node, expected: &str, found: impl std::fmt::Display) -> Result<T> {
        Err(self.faults.at(Code::Declaration, node.range().start).expected(expected).found(found))
    }

    fn schema_element(&mut self, root: Node<'n, 'n>, includer: Option<u32>) -> Result<Vec<Needed>> {
        if !is_schema(root) || root.tag_name().name() != "schema" {
            let expected = format!("an XML Schema document, <schema> of the namespace {}", NAMESPACES[0]);
            return self.refuse(root, &expected, full_tag(root));
        }
        self.target = match root.plain("targetNamespace") {
            Some(namespace) => self.namespace(Some(namespace)),
            None => includer.unwrap_or(NONE),
        };
        if self.number == 0 {
            self.schema.target = self.target;
        }
        self.elements = root.plain("elementFormDefault") == Some("qualified");
        self.attributes = root.plain("attributeFormDefault") == Some("qualified");
        let mut others = Vec::new();
        for node in self.children(root, 0)? {
            let start = node.range().start;
            match node.tag_name().name() {
                "include" => {
                    let location = self.required(node, "schemaLocation")?;
                    others.push(Needed { location: location.to_owned(), namespace: Some(self.target), start });
                }
                "import" => {
                    self.only(node, &["namespace", "schemaLocation"])?;
                    let location = node.plain("schemaLocation").map(str::to_owned);
                    others.extend(location.map(|location| Needed { location, namespace: None, start }));
                }
                "complexType" => {
                    let name = self.own_name(node)?;
                    let complex = self.complex(node, 1).or_else(|error| {
                        Ok(Complex {
                            place: self.place(node),
                            is_abstract: false,
                            content: Content::Refused(kept(error)?),
                            prose: None,
                        })
                    })?;
                    match complex.is_abstract {
                        true => self.schema.abstracts.push((complex.place, name.clone())),
                        false => self.schema.records.push(Declared::Type(name.clone())),
                    }
                    if self.schema.complex.insert(name.clone(), complex).is_some() {
                        return self.twice(node, &name);
                    }
                }
                "simpleType" => {
                    let name = self.own_name(node)?;
                    let place = self.place(node);
                    let refused = |error| Ok(Simple { place, variety: Variety::Refused(kept(error)?) });
                    let simple = self.simple(node, 1).or_else(refused)?;
                    if self.schema.simple.insert(name.clone(), simple).is_some() {
                        return self.twice(node, &name);
                    }
                }
                "element" => {
                    let element = match self.element(node, 1) {
                        Ok(element) => element,
                        Err(error) => self.refused_element(node, kept(error)?)?,
                    };
                    if element.is_reference || element.occurs != Occurs::default() {
                        return self.refuse(
                            node,
                            "an element with a name, without ref, minOccurs and maxOccurs",
                            tag(node),
                        );
                    }
                    let name = element.name.clone();
                    if let Type::Named(kind) = &element.kind {
                        self.schema.tags.entry(kind.clone()).or_insert_with(|| name.clone());
                    }
                    if matches!(element.kind, Type::Complex(_) | Type::Refused(_)) {
                        self.schema.records.push(Declared::Element(name.clone()));
                    }
                    if self.schema.elements.insert(name.clone(), element).is_some() {
                        return self.twice(node, &name);
                    }
                }
                "attribute" => {
                    let AttributeUse::Own(attribute) = self.attribute(node, 1)? else {
                        return self.refuse(node, "an attribute with a name", tag(node));
                    };
                    let name = Name { namespace: self.target, local: attribute.name.local.clone() };
                    self.schema.attributes.insert(name, attribute);
                }
                "group" => {
                    let name = self.own_name(node)?;
                    let group = self.group_of(node);
                    self.schema.groups.insert(name, group);
                }
                "attributeGroup" => {
                    let name = self.own_name(node)?;
                    let attributes = self.attributes(node, 1);
                    self.schema.attribute_groups.insert(name, attributes);
                }
                "notation" => {}
                _ => return self.unknown(node),
            }
        }
        Ok(others)
    }

    fn group_of(&mut self, node: Node<'n, 'n>) -> Result<Group> {
        Ok(Group { particles: self.particles(node, 1)?, attributes: Attributes::default() })
    }

    /// An element that cannot be mapped. Its record is refused, and the others of the document are not.
    fn refused_element(&mut self, node: Node<'n, 'n>, error: Error) -> Result<Element> {
        Ok(Element {
            place: self.place(node),
            name: self.own_name(node)?,
            is_reference: false,
            qualified: true,
            kind: Type::Refused(error),
            occurs: Occurs::default(),
            nillable: false,
            is_abstract: false,
            default: None,
            unit: None,
            prose: None,
        })
    }

    // Types.

    fn complex(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Complex> {
        self.only(node, &["name", "abstract", "mixed", "id", "final", "block", "content", "type"])?;
        if flag(node, "mixed") || matches!(node.plain("content"), Some("mixed")) {
            return self.refuse(node, "elements without text between them", "mixed content");
        }
        let within = self.children(node, depth)?;
        let content = match &within[..] {
            [inner] if inner.has_tag_name_local("simpleContent") => self.simple_content(*inner, depth + 1)?,
            [inner] if inner.has_tag_name_local("complexContent") => self.complex_content(*inner, depth + 1)?,
            _ => Content::Plain(self.group(node, depth)?),
        };
        Ok(Complex { place: self.place(node), is_abstract: flag(node, "abstract"), content, prose: prose(node) })
    }

    /// The elements and attributes within a type, an extension or a restriction.
    fn group(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Group> {
        Ok(Group { particles: self.particles(node, depth)?, attributes: self.attributes(node, depth)? })
    }

    fn complex_content(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Content> {
        if flag(node, "mixed") {
            return self.refuse(node, "elements without text between them", "mixed content");
        }
        let inner = self.single(node, depth, "an extension or a restriction")?;
        self.only(inner, &["base", "id"])?;
        let base = self.required(inner, "base")?;
        let base = self.resolve(inner, base)?;
        let own = self.group(inner, depth + 1)?;
        match inner.tag_name().name() {
            "extension" => Ok(Content::Extension { base, own }),
            "restriction" => Ok(Content::Restriction { base, own }),
            _ => self.unknown(inner),
        }
    }

    fn simple_content(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Content> {
        let inner = self.single(node, depth, "an extension or a restriction")?;
        self.only(inner, &["base", "id"])?;
        let base = self.required(inner, "base")?;
        let base = Type::Named(self.resolve(inner, base)?);
        let own = self.attributes(inner, depth + 1)?;
        match inner.tag_name().name() {
            "extension" => Ok(Content::Text { base, own }),
            "restriction" => {
                let facets = self.facets(inner, depth + 1)?;
                let place = self.place(inner);
                let simple = Simple { place, variety: Variety::Restriction { base, facets } };
                Ok(Content::Text { base: Type::Simple(Rc::new(simple)), own })
            }
            _ => self.unknown(inner),
        }
    }

    fn simple(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Simple> {
        self.only(node, &["name", "final", "id"])?;
        let inner = self.single(node, depth, "a restriction, a list or a union")?;
        let variety = match inner.tag_name().name() {
            "restriction" => Variety::Restriction {
                base: self.kind(inner, "base", depth + 1)?,
                facets: self.facets(inner, depth + 1)?,
            },
            "list" => Variety::List(self.kind(inner, "itemType", depth + 1)?),
            "union" => Variety::Union,
            _ => return self.unknown(inner),
        };
        Ok(Simple { place: self.place(node), variety })
    }

    fn facets(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Facets> {
        let mut facets = Facets::default();
        for facet in self.children(node, depth)? {
            let name = facet.tag_name().name();
            if matches!(name, "simpleType" | "attribute" | "attributeGroup" | "anyAttribute") {
                continue;
            }
            let value = self.required(facet, "value")?;
            let integer = || value.trim().parse::<i128>().ok();
            match name {
                // Its base says which of its spaces have a meaning.
                "enumeration" => {
                    let value = facet.plain("value").unwrap_or(value);
                    facets.values.push((self.place(facet), value.into()));
                }
                "length" => match value.trim().parse() {
                    Ok(length) => facets.length = Some(length),
                    Err(_) => return self.refuse(facet, "a length", value),
                },
                "minInclusive" => facets.least = integer(),
                "minExclusive" => facets.least = integer().and_then(|value| value.checked_add(1)),
                "maxInclusive" => facets.greatest = integer(),
                "maxExclusive" => facets.greatest = integer().and_then(|value| value.checked_sub(1)),
                "whiteSpace" => {
                    facets.spaces = match value {
                        "preserve" => None,
                        "replace" => Some(Lexical::Normalized),
                        "collapse" => Some(Lexical::Token),
                        _ => return self.refuse(facet, "whiteSpace: preserve, replace or collapse", value),
                    };
                }
                "pattern" | "minLength" | "maxLength" | "totalDigits" | "fractionDigits" | "assertion"
                | "explicitTimezone" => {}
                _ => return self.unknown(facet),
            }
        }
        Ok(facets)
    }

    /// The type that an attribute names, or that stands within the element.
    fn kind(&mut self, node: Node<'n, 'n>, attribute: &str, depth: u32) -> Result<Type> {
        let within = self.children(node, depth)?;
        let within = within.into_iter().find(|child| matches!(child.tag_name().name(), "simpleType" | "complexType"));
        match (node.plain(attribute), within) {
            (Some(name), None) => Ok(Type::Named(self.resolve(node, name)?)),
            (None, Some(inner)) if inner.has_tag_name_local("simpleType") => {
                Ok(Type::Simple(Rc::new(self.simple(inner, depth + 1)?)))
            }
            (None, Some(inner)) => Ok(Type::Complex(Rc::new(self.complex(inner, depth + 1)?))),
            (Some(_), Some(inner)) => self.refuse(inner, &format!("either {attribute} or a type within"), "both"),
            (None, None) => {
                self.refuse(node, &format!("a type: the attribute {attribute}, or a type within"), tag(node))
            }
        }
    }

    // Elements and attributes.

    fn particles(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Vec<Particle>> {
        let mut particles = Vec::new();
        for child in self.children(node, depth)? {
            particles.extend(self.particle(child, depth + 1)?);
        }
        Ok(particles)
    }

    fn particle(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Option<Particle>> {
        Ok(Some(match node.tag_name().name() {
            "element" => Particle::Element(self.element(node, depth)?),
            "sequence" | "all" => {
                let optional = self.once(node)?;
                Particle::All { particles: self.particles(node, depth)?, optional }
            }
            "choice" => {
                self.once(node)?;
                Particle::Choice(self.particles(node, depth)?)
            }
            "group" => {
                let optional = self.once(node)?;
                let name = self.required(node, "ref")?;
                Particle::Group { place: self.place(node), name: self.resolve(node, name)?, optional }
            }
            "any" => return self.refuse(node, "elements with a type", "<any>, whose elements have none"),
            "attribute" | "attributeGroup" => return Ok(None),
            // What stands beside the particles of an extension or a restriction.
            "simpleType" | "enumeration" | "length" | "pattern" | "whiteSpace" | "minLength" | "maxLength" => {
                return Ok(None);
            }
            _ => return self.unknown(node),
        }))
    }

    /// Whether a sequence, choice or group may be absent. It occurs once, or is refused.
    fn once(&self, node: Node) -> Result<bool> {
        self.only(node, &["minOccurs", "maxOccurs", "id", "ref", "name"])?;
        match node.plain("maxOccurs") {
            None | Some("1") => Ok(node.plain("minOccurs") == Some("0")),
            Some(times) => {
                let expected = "an element of a complexType where a group of elements occurs several times";
                self.refuse(node, expected, format_args!("{} with maxOccurs=\"{times}\"", tag(node)))
            }
        }
    }

    fn element(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Element> {
        let known = [
            "name",
            "ref",
            "type",
            "minOccurs",
            "maxOccurs",
            "nillable",
            "abstract",
            "default",
            "fixed",
            "form",
            "id",
            "final",
            "block",
            "dimensionName",
            "dimensionPlacement",
        ];
        self.only(node, &known)?;
        if let Some(head) = node.plain("substitutionGroup") {
            return self.refuse(
                node,
                "an element with a type of its own",
                format_args!("substitutionGroup=\"{head}\""),
            );
        }
        let reference = node.plain("ref");
        let (name, kind) = match reference {
            Some(name) => {
                let name = self.resolve(node, name)?;
                if self.default(node)?.is_some() {
                    return self.refuse(node, "default and fixed at the element that ref names", tag(node));
                }
                (name.clone(), Type::Named(name))
            }
            None => (self.own_name(node)?, self.kind(node, "type", depth)?),
        };
        for child in self.children(node, depth)? {
            match child.tag_name().name() {
                "simpleType" | "complexType" => {}
                // They restrict values, as most facets do, and no field depends on them.
                "key" | "keyref" | "unique" => {}
                _ => return self.unknown(child),
            }
        }
        Ok(Element {
            place: self.place(node),
            name,
            is_reference: reference.is_some(),
            qualified: reference.is_some() || self.qualified(node, self.elements)?,
            kind,
            occurs: self.occurs(node)?,
            nillable: flag(node, "nillable") || flag(node, "nullable"),
            is_abstract: flag(node, "abstract"),
            default: self.default(node)?,
            unit: node.attribute((OWN, "unit")).map(Into::into),
            prose: prose(node),
        })
    }

    /// The value of an element or attribute for senders that lack it.
    fn default(&self, node: Node) -> Result<Option<Box<str>>> {
        match (node.plain("default"), node.plain("fixed")) {
            (Some(_), Some(_)) => self.refuse(node, "either default or fixed", "both"),
            (default, fixed) => Ok(default.or(fixed).map(Into::into)),
        }
    }

    /// Whether documents have the name of an element or attribute with its namespace.
    fn qualified(&self, node: Node, default: bool) -> Result<bool> {
        match node.plain("form") {
            None => Ok(default),
            Some("qualified") => Ok(true),
            Some("unqualified") => Ok(false),
            Some(other) => self.refuse(node, "form: qualified or unqualified", other),
        }
    }

    fn occurs(&self, node: Node) -> Result<Occurs> {
        let least = node.plain("minOccurs").map(str::trim);
        let (name, placement) = (node.plain("dimensionName"), node.plain("dimensionPlacement"));
        let before = match placement.map(str::trim) {
            None | Some("before") => true,
            Some("after") => false,
            Some(other) => return self.refuse(node, "dimensionPlacement before or after", other),
        };
        let added = || Some(Array::Added { name: name.map(Into::into), before: before && name.is_some() });
        let most = node.plain("maxOccurs").map_or("1", str::trim);
        let array = match (most, most.parse::<usize>()) {
            ("*" | "unbounded", _) => added(),
            (_, Ok(0)) => return self.refuse(node, "maxOccurs of 1 or more", "maxOccurs=\"0\""),
            (_, Ok(1)) => None,
            (_, Ok(most)) if least.is_none_or(|least| least.parse() == Ok(most)) => Some(Array::Fixed(most)),
            (_, Ok(_)) => added(),
            ("", _) => {
                return self.refuse(node, "maxOccurs: a number, * or unbounded, or the name of an element", "nothing");
            }
            (field, _) => Some(Array::Of(field.into())),
        };
        if array.is_none() && name.is_some() {
            return self.refuse(node, "maxOccurs beside dimensionName", tag(node));
        }
        match least.map(str::parse::<u64>) {
            Some(Err(_)) => self.refuse(node, "minOccurs: a number", least.unwrap_or_default()),
            least => Ok(Occurs { optional: array.is_none() && least == Some(Ok(0)), array }),
        }
    }

    fn attributes(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<Attributes> {
        let mut attributes = Vec::new();
        for child in self.children(node, depth)? {
            match child.tag_name().name() {
                "attribute" => attributes.push(self.attribute(child, depth + 1)?),
                "attributeGroup" => {
                    let name = self.required(child, "ref")?;
                    attributes.push(AttributeUse::Group { place: self.place(child), name: self.resolve(child, name)? });
                }
                "anyAttribute" => {
                    return self.refuse(child, "attributes with a type", "<anyAttribute>, whose attributes have none");
                }
                _ => {}
            }
        }
        Ok(Attributes(attributes))
    }

    fn attribute(&mut self, node: Node<'n, 'n>, depth: u32) -> Result<AttributeUse> {
        self.only(node, &["name", "ref", "type", "use", "default", "fixed", "form", "id", "value"])?;
        let (optional, prohibited) = match node.plain("use") {
            None | Some("optional" | "default" | "fixed") => (true, false),
            Some("required") => (false, false),
            Some("prohibited") => (false, true),
            Some(other) => return self.refuse(node, "use: optional, required or prohibited", other),
        };
        let place = self.place(node);
        let default = self.default(node)?;
        if let Some(name) = node.plain("ref") {
            return Ok(AttributeUse::Reference {
                place,
                name: self.resolve(node, name)?,
                optional,
                prohibited,
                default,
            });
        }
        let name = Name { namespace: self.target, local: self.required(node, "name")?.into() };
        let qualified = self.qualified(node, self.attributes)?;
        let has_type = node.plain("type").is_some() || !self.children(node, depth)?.is_empty();
        let kind = match has_type {
            true => self.kind(node, "type", depth)?,
            false => Type::Named(Name { namespace: SCHEMA, local: "anySimpleType".into() }),
        };
        Ok(AttributeUse::Own(Attribute {
            place,
            name,
            qualified,
            kind,
            optional,
            prohibited,
            default,
            unit: node.attribute((OWN, "unit")).map(Into::into),
            prose: prose(node),
        }))
    }

    // What XML gives.

    /// The elements within an element, without annotations. Text between them is refused, and so are elements of others.
    fn children(&self, node: Node<'n, 'n>, depth: u32) -> Result<Vec<Node<'n, 'n>>> {
        if depth > MAX_DEPTH {
            let error = self.faults.at(Code::Depth, node.range().start);
            return Err(error.expected(format_args!("at most {MAX_DEPTH} levels")).found(tag(node)));
        }
        let mut children = Vec::new();
        for child in node.children() {
            if child.is_element() {
                match is_schema(child) {
                    true if child.tag_name().name() == "annotation" => {}
                    true => children.push(child),
                    false => {
                        let expected = format!("elements of the namespace {}", NAMESPACES[0]);
                        return self.refuse(child, &expected, full_tag(child));
                    }
                }
            } else if child.text().is_some_and(|text| child.is_text() && !text.trim().is_empty()) {
                return self.refuse(child, "elements", "text");
            }
        }
        Ok(children)
    }

    /// The one element within an element.
    fn single(&self, node: Node<'n, 'n>, depth: u32, expected: &str) -> Result<Node<'n, 'n>> {
        match &self.children(node, depth)?[..] {
            [inner] => Ok(*inner),
            others => self.refuse(node, expected, format_args!("{} elements in {}", others.len(), tag(node))),
        }
    }

    /// Refuses attributes that have no meaning here. Those of other namespaces than XML Schema's are not for readers of
    /// schemas.
    fn only(&self, node: Node, known: &[&str]) -> Result<()> {
        let is_field = matches!(node.tag_name().name(), "element" | "attribute");
        if let Some(unit) = node.plain("unit").filter(|_| is_field) {
            let expected = format!("the unit as x:unit=\"{unit}\", with xmlns:x=\"{OWN}\"");
            return self.refuse(node, &expected, "unit without a prefix");
        }
        let odd = node.attributes().find(|attribute| match attribute.namespace() {
            None => !known.contains(&attribute.name()) && attribute.name() != "substitutionGroup",
            Some(OWN) => attribute.name() != "unit",
            Some(_) => false,
        });
        match odd {
            Some(attribute) => self.refuse(node, &format!("the attributes {}", known.join(", ")), attribute.name()),
            None => Ok(()),
        }
    }

    fn required(&self, node: Node<'n, 'n>, attribute: &str) -> Result<&'n str> {
        match node.plain(attribute) {
            Some(value) if !value.trim().is_empty() => Ok(value.trim()),
            _ => self.refuse(node, &format!("the attribute {attribute}"), tag(node)),
        }
    }

    /// The name that a declaration gives to itself.
    fn own_name(&self, node: Node<'n, 'n>) -> Result<Name> {
        Ok(Name { namespace: self.target, local: self.required(node, "name")?.into() })
    }

    /// The name that a text such as `xsd:int` refers to.
    fn resolve(&mut self, node: Node, text: &str) -> Result<Name> {
        let (prefix, local) =
            text.trim().split_once(':').map_or((None, text.trim()), |(prefix, local)| (Some(prefix), local));
        let namespace = match (prefix, node.lookup_namespace_uri(prefix)) {
            (_, Some(uri)) => self.namespace(Some(uri)),
            // A document without a namespace that a document with one includes takes on the latter's.
            (None, None) => self.target,
            (Some(prefix), None) => return self.refuse(node, "a prefix that the document declares", prefix),
        };
        Ok(Name { namespace, local: local.into() })
    }

    fn namespace(&mut self, uri: Option<&str>) -> u32 {
        match uri {
            None | Some("") => NONE,
            Some(uri) if NAMESPACES.contains(&uri) => SCHEMA,
            Some(uri) => {
                let Namespaces { list, numbers } = &mut *self.namespaces;
                if let Some(&known) = numbers.get(uri) {
                    return known;
                }
                let number = list.len() as u32;
                list.push(uri.into());
                numbers.insert(uri.into(), number);
                number
            }
        }
    }

    fn unknown<T>(&self, node: Node) -> Result<T> {
        self.refuse(node, "an element that declares part of a record here", tag(node))
    }

    fn twice<T>(&self, node: Node, name: &Name) -> Result<T> {
        self.refuse(node, "one declaration of each name", format_args!("a second {name}"))
    }
}

/// A declaration that cannot be mapped is kept as its error. Whoever wants it gets the error, and the rest of the document can be used.
/// What is no declaration of a schema ends the reading.
fn kept(error: Error) -> Result<Error> {
    if error.code() == Code::Declaration { Ok(error) } else { Err(error) }
}

fn is_schema(node: Node) -> bool {
    node.tag_name().namespace().is_some_and(|namespace| NAMESPACES.contains(&namespace))
}

fn tag(node: Node) -> String {
    format!("<{}>", node.tag_name().name())
}

/// The same with its namespace, where that may be the mistake.
fn full_tag(node: Node) -> String {
    match node.tag_name().namespace() {
        Some(namespace) => format!("{} of the namespace {namespace}", tag(node)),
        None => format!("{} of no namespace", tag(node)),
    }
}

fn flag(node: Node, attribute: &str) -> bool {
    matches!(node.plain(attribute).map(str::trim), Some("true" | "1"))
}
