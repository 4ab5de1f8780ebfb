//! What a document says of texts beside formats: names, namespaces, attributes, how values are written (`spec/xmit.md`, "Markup").
//!
//! It is a document of its own. Two documents with the same fields and other texts have the same format, and one token. The document in JSON
//! is in `document`; what it is used for is in [`crate::text`].

mod document;

use crate::declaration::{Declaration, Field};
use crate::lexical;
use std::borrow::Cow;

/// What texts of a record look like: of itself, and of those that it nests.
///
/// ```
/// use isoform_xmit::{Alone, Declarations, Markup};
/// let text = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:river">
///   <xs:complexType name="Gauge"><xs:sequence><xs:element name="level" type="xs:double"/></xs:sequence>
///     <xs:attribute name="step" type="xs:int" use="required"/></xs:complexType>
///   <xs:element name="gauge" type="r:Gauge" xmlns:r="urn:river"/>
/// </xs:schema>"#;
/// let markup = Declarations::from_xsd("river.xsd", text, &mut Alone)?.markup("Gauge")?;
/// assert_eq!(markup.to_string(), r#"{"record":"Gauge","records":{"Gauge":{"tag":"gauge","namespace":"urn:river",
///     "fields":{"step":{"as":"attribute"}}}}}"#.replace("\n///     ", "").replace("\n    ", ""));
/// assert_eq!(Markup::parse("gauge.markup", &markup.to_string())?, markup);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markup {
    /// The name of the record.
    pub(crate) record: Box<str>,
    /// Inner ones first.
    pub(crate) records: Vec<Record>,
    /// Whether the document says which texts in JSON are values of a record. What it does not allow is then refused, and never written.
    pub(crate) strict: bool,
}

/// What texts of one record look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: Box<str>,
    pub(crate) tag: Option<Name>,
    /// The fields whose mark is not that of an element with the field's name.
    pub(crate) fields: Vec<(Box<str>, Mark)>,
}

/// What a field is in texts that a document describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which part of an XML document.
    pub origin: Origin,
    /// Its name there.
    pub name: Name,
    /// Whether a value that is null is left out. Otherwise it is there, and says that it is null.
    pub optional: bool,
    /// Whether the document says that it may be there and null.
    pub nil: bool,
    /// Whether the last dimension is one text, with spaces between the items.
    pub list: bool,
    /// How its values are written.
    pub lexical: Lexical,
    /// The values of an enumeration as texts have them, in the order of the document; none if its symbols are written.
    pub symbols: Box<[Box<str>]>,
}

/// What a field is in an XML document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// An element.
    #[default]
    Element,
    /// An attribute.
    Attribute,
    /// The text of an element that has attributes.
    Text,
    /// The length of an array, which the document does not show.
    Length,
}

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lexical {
    /// As their type says.
    #[default]
    Plain,
    /// Text in which tabs and the ends of lines are spaces.
    Normalized,
    /// Text of which spaces at the ends, and several together, have no meaning.
    Token,
    /// `2002-05-30T09:30:10.5Z`
    DateTime,
    /// `2002-05-30`
    Date,
    /// `09:30:10.5`
    Time,
    /// `P1DT2H`
    DayTime,
    /// `P1Y2M`
    YearMonth,
    /// `P1Y2M3DT4H`
    Duration,
    /// Bytes with two hexadecimal digits each.
    Hex,
    /// Bytes in base64.
    Base64,
    /// Bytes in base64 as URLs can have it, without padding.
    Base64Url,
}

/// The name of an element or attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The address of its namespace. `None` for none.
    pub namespace: Option<Box<str>>,
    /// The name without a prefix.
    pub local: Box<str>,
}

impl Name {
    /// A name in no namespace.
    pub fn local(local: &str) -> Name {
        Name { namespace: None, local: local.into() }
    }
}

impl Mark {
    /// An element, which is always there.
    pub fn element(name: Name) -> Mark {
        let (lexical, symbols) = (Lexical::Plain, Box::default());
        Mark { origin: Origin::Element, name, optional: false, nil: false, list: false, lexical, symbols }
    }
}

impl Markup {
    /// The markup of a record without anything to say: each field is an element with the field's name.
    pub fn plain(record: &str) -> Markup {
        Markup::new(record)
    }

    pub(crate) fn new(record: &str) -> Markup {
        Markup { record: record.into(), records: Vec::new(), strict: false }
    }

    /// The name of the record.
    pub fn record(&self) -> &str {
        &self.record
    }

    /// Adds what a declaration says.
    pub(crate) fn add(&mut self, declaration: &Declaration) {
        let says = |field: &&Field| field.mark != Mark::element(Name::local(&field.name));
        let fields: Vec<_> =
            declaration.fields.iter().filter(says).map(|field| (field.name.clone(), field.mark.clone())).collect();
        let tag = declaration.tag.clone();
        if tag.is_some() || !fields.is_empty() {
            self.records.push(Record { name: declaration.name.clone(), tag, fields });
        }
    }
}

impl Lexical {
    /// All of them, with the words of the document.
    pub(crate) const WORDS: [(Lexical, &str); 12] = [
        (Lexical::Plain, "plain"),
        (Lexical::Normalized, "normalizedString"),
        (Lexical::Token, "token"),
        (Lexical::DateTime, "dateTime"),
        (Lexical::Date, "date"),
        (Lexical::Time, "time"),
        (Lexical::DayTime, "dayTimeDuration"),
        (Lexical::YearMonth, "yearMonthDuration"),
        (Lexical::Duration, "duration"),
        (Lexical::Hex, "hex"),
        (Lexical::Base64, "base64"),
        (Lexical::Base64Url, "base64url"),
    ];

    /// A text as its value: with the spaces that have a meaning.
    pub(crate) fn spaced(self, text: &str) -> Cow<'_, str> {
        match self {
            Lexical::Token => lexical::collapsed(text).into(),
            Lexical::Normalized if text.contains(['\t', '\n', '\r']) => text.replace(['\t', '\n', '\r'], " ").into(),
            _ => text.into(),
        }
    }

    /// Whether it is a text for all bytes of an array's last dimension.
    pub(crate) fn is_bytes(self) -> bool {
        matches!(self, Lexical::Hex | Lexical::Base64 | Lexical::Base64Url)
    }
}

/// The values of an enumeration, if one of them is not its symbol.
pub(crate) fn values(symbols: &[(Box<str>, i128)], written: Vec<Box<str>>) -> Box<[Box<str>]> {
    match symbols.iter().zip(&written).all(|((symbol, _), value)| symbol == value) {
        true => Box::default(),
        false => written.into(),
    }
}
