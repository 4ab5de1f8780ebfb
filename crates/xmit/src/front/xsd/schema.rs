//! What an XML Schema document states, as a tree of its own: names with their namespaces, types, particles, facets.
//!
//! [`read`](super::read) makes it from XML, and [`translate`](super::translate) makes records of it. Nothing here knows XML's
//! syntax or formats.

use crate::markup::Lexical;
use isoform_core::{Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// A place in a document, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which document, counted from 0 in the order of reading.
    pub(super) document: u32,
    /// The byte at which its element begins.
    pub(super) start: usize,
}

/// A name with its namespace. Namespaces are numbers, given in the order in which they are met; XML Schema's own is 0, and 1
/// is the absence of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) namespace: u32,
    pub(super) local: Box<str>,
}

/// The namespace of XML Schema's own types, whichever of its versions.
pub(super) const SCHEMA: u32 = 0;
/// No namespace.
pub(super) const NONE: u32 = 1;

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            SCHEMA => write!(f, "xs:{}", self.local),
            _ => f.write_str(&self.local),
        }
    }
}

/// Everything that the documents declare at their top.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) complex: HashMap<Name, Complex>,
    pub(super) simple: HashMap<Name, Simple>,
    pub(super) elements: HashMap<Name, Element>,
    pub(super) attributes: HashMap<Name, Attribute>,
    pub(super) groups: HashMap<Name, Result<Group>>,
    pub(super) attribute_groups: HashMap<Name, Result<Attributes>>,
    /// The addresses of the namespaces, by their numbers.
    pub(super) namespaces: Vec<Box<str>>,
    /// The namespace of the first document.
    pub(super) target: u32,
    /// The first element at the top that has such a type with a name.
    pub(super) tags: HashMap<Name, Name>,
    /// What declares records, in the order of the documents.
    pub(super) records: Vec<Declared>,
    /// The types that are abstract, and declare none.
    pub(super) abstracts: Vec<(Place, Name)>,
}

/// What declares a record.
#[derive(Clone, Debug)]
pub(super) enum Declared {
    Type(Name),
    Element(Name),
}

/// A `complexType`.
#[derive(Debug)]
pub(super) struct Complex {
    pub(super) place: Place,
    pub(super) is_abstract: bool,
    pub(super) content: Content,
    pub(super) prose: Option<Box<str>>,
}

/// What a `complexType` holds.
#[derive(Debug)]
pub(super) enum Content {
    /// Elements and attributes.
    Plain(Group),
    /// `complexContent` with an extension.
    Extension { base: Name, own: Group },
    /// `complexContent` with a restriction.
    Restriction { base: Name, own: Group },
    /// `simpleContent`: text, and attributes.
    Text { base: Type, own: Attributes },
    /// What a reader cannot map.
    Refused(Error),
}

/// Elements, then attributes.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) particles: Vec<Particle>,
    pub(super) attributes: Attributes,
}

/// Attributes, with those of attribute groups.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<AttributeUse>);

#[derive(Debug)]
pub(super) enum AttributeUse {
    Own(Attribute),
    /// `attribute` with `ref`.
    Reference {
        place: Place,
        name: Name,
        optional: bool,
        prohibited: bool,
        /// A default in place of that of the attribute itself.
        default: Option<Box<str>>,
    },
    /// `attributeGroup` with `ref`.
    Group {
        place: Place,
        name: Name,
    },
}

/// An `attribute`.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) place: Place,
    pub(super) name: Name,
    /// Whether documents have its name with the namespace.
    pub(super) qualified: bool,
    pub(super) kind: Type,
    pub(super) optional: bool,
    pub(super) prohibited: bool,
    pub(super) default: Option<Box<str>>,
    pub(super) unit: Option<Box<str>>,
    pub(super) prose: Option<Box<str>>,
}

/// What stands in a content model.
#[derive(Debug)]
pub(super) enum Particle {
    Element(Element),
    /// `sequence` or `all`.
    All {
        particles: Vec<Particle>,
        optional: bool,
    },
    Choice(Vec<Particle>),
    /// `group` with `ref`.
    Group {
        place: Place,
        name: Name,
        optional: bool,
    },
}

/// An `element`.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) place: Place,
    pub(super) name: Name,
    /// Whether `name` is that of an element at the top of a schema, which has the rest.
    pub(super) is_reference: bool,
    /// Whether documents have its name with the namespace.
    pub(super) qualified: bool,
    pub(super) kind: Type,
    pub(super) occurs: Occurs,
    pub(super) nillable: bool,
    pub(super) is_abstract: bool,
    pub(super) default: Option<Box<str>>,
    pub(super) unit: Option<Box<str>>,
    pub(super) prose: Option<Box<str>>,
}

/// How often an element occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Occurs {
    pub(super) optional: bool,
    pub(super) array: Option<Array>,
}

/// An element that occurs several times.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Array {
    Fixed(usize),
    /// The length is that element.
    Of(Box<str>),
    /// The length is an additional field: with the name that the document states, before the array or behind it.
    Added {
        name: Option<Box<str>>,
        before: bool,
    },
}

/// The type of an element or attribute.
#[derive(Clone, Debug)]
pub(super) enum Type {
    Named(Name),
    Complex(Rc<Complex>),
    Simple(Rc<Simple>),
    /// What a reader cannot map.
    Refused(Error),
}

/// A `simpleType`.
#[derive(Debug)]
pub(super) struct Simple {
    pub(super) place: Place,
    pub(super) variety: Variety,
}

#[derive(Debug)]
pub(super) enum Variety {
    Restriction {
        base: Type,
        facets: Facets,
    },
    List(Type),
    Union,
    /// What a reader cannot map.
    Refused(Error),
}

/// The facets that have a meaning for records.
#[derive(Clone, Debug, Default)]
pub(super) struct Facets {
    pub(super) values: Vec<(Place, Box<str>)>,
    pub(super) length: Option<usize>,
    /// What `whiteSpace` says, if it takes spaces away.
    pub(super) spaces: Option<Lexical>,
    /// The least and the greatest integer, where they are integers.
    pub(super) least: Option<i128>,
    pub(super) greatest: Option<i128>,
}
