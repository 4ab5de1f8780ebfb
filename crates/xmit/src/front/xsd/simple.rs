//! Simple types: from XML Schema's own, and restrictions, lists and unions of them, to the types of fields.

use super::schema::{Facets, SCHEMA, Simple, Type, Variety};
use super::translate::Translator;
use crate::markup::Lexical;
use isoform_core::declare::{Kind, Width};
use isoform_core::format::FloatKind;
use isoform_core::{Code, Error, Result};

/// Levels of restrictions of restrictions.
const MAX_STEPS: u32 = 64;

/// The full name of the record for a duration.
pub(super) const DURATION: &str = "xs:duration";

/// What a simple type is in a record.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub(super) kind: Kind,
    /// It is a list, or binary data.
    pub(super) array: Option<Items>,
    pub(super) unit: Option<&'static str>,
    /// How texts have it.
    pub(super) lexical: Lexical,
    /// The values of an enumeration as texts have them, if symbols differ from them.
    pub(super) values: Box<[Box<str>]>,
    /// It is an integer to which XML Schema sets no limit.
    unlimited: bool,
}

/// How many items a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    Any,
    These(usize),
}

impl Scalar {
    pub(super) fn of(kind: Kind) -> Scalar {
        let (lexical, values) = (Lexical::Plain, Box::default());
        Scalar { kind, array: None, unit: None, lexical, values, unlimited: false }
    }

    fn in_unit(kind: Kind, unit: &'static str, lexical: Lexical) -> Scalar {
        Scalar { unit: Some(unit), lexical, ..Scalar::of(kind) }
    }

    fn array_of(kind: Kind, lexical: Lexical) -> Scalar {
        Scalar { array: Some(Items::Any), lexical, ..Scalar::of(kind) }
    }
}

/// A name of a document as a name of a format.
pub(super) fn name(local: &str) -> Box<str> {
    local.replace('.', "_").into()
}

/// A value of an enumeration as a symbol.
pub(super) fn symbol(value: &str) -> Box<str> {
    let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace(|c: char| c.is_control() || c.is_whitespace() || ".[]{}*,=".contains(c), "_").into()
}

fn integer(signed: bool, bytes: u8) -> Kind {
    Kind::Integer { signed, width: Width::Bytes(bytes) }
}

/// XML Schema's own simple types. `None` for names that are none.
fn built_in(name: &str) -> Option<Scalar> {
    let signed = |bytes| Scalar::of(integer(true, bytes));
    let unsigned = |bytes| Scalar::of(integer(false, bytes));
    let float = |bytes| Scalar::of(Kind::Float { kind: FloatKind::Ieee, width: Width::Bytes(bytes) });
    let unlimited = |scalar| Scalar { unlimited: true, ..scalar };
    Some(match name {
        "boolean" => Scalar::of(Kind::Boolean { width: Width::Bytes(1) }),
        "byte" => signed(1),
        "short" => signed(2),
        "int" => signed(4),
        "long" => signed(8),
        "unsignedByte" => unsigned(1),
        "unsignedShort" => unsigned(2),
        "unsignedInt" => unsigned(4),
        "unsignedLong" => unsigned(8),
        "integer" | "nonPositiveInteger" | "negativeInteger" => unlimited(signed(4)),
        "nonNegativeInteger" | "positiveInteger" => unlimited(unsigned(4)),
        "float" => float(4),
        "double" => float(8),
        "string" | "anySimpleType" | "anyAtomicType" => Scalar::of(Kind::String),
        "normalizedString" => Scalar { lexical: Lexical::Normalized, ..Scalar::of(Kind::String) },
        "decimal" | "token" | "language" | "Name" | "NCName" | "NMTOKEN" | "ID" | "IDREF" | "ENTITY" | "anyURI"
        | "QName" | "NOTATION" | "gYear" | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay" => {
            Scalar { lexical: Lexical::Token, ..Scalar::of(Kind::String) }
        }
        "NMTOKENS" | "IDREFS" | "ENTITIES" => Scalar::array_of(Kind::String, Lexical::Plain),
        "hexBinary" => Scalar::array_of(integer(false, 1), Lexical::Hex),
        "base64Binary" => Scalar::array_of(integer(false, 1), Lexical::Base64),
        "dateTime" | "dateTimeStamp" => {
            Scalar::in_unit(integer(true, 8), "ns since 1970-01-01T00:00:00Z", Lexical::DateTime)
        }
        "date" => Scalar::in_unit(integer(true, 4), "d since 1970-01-01", Lexical::Date),
        "time" => Scalar::in_unit(integer(true, 8), "ns", Lexical::Time),
        "dayTimeDuration" => Scalar::in_unit(integer(true, 8), "ns", Lexical::DayTime),
        "yearMonthDuration" => Scalar::in_unit(integer(true, 4), "months", Lexical::YearMonth),
        "duration" => Scalar { lexical: Lexical::Duration, ..Scalar::of(Kind::Structure(DURATION.into())) },
        _ => return None,
    })
}

/// Whether XML Schema has a simple type of this name.
pub(super) fn is_built_in(name: &str) -> bool {
    built_in(name).is_some()
}

impl Translator<'_, '_> {
    /// What a simple type is in a record. `None` if the type is a complex one.
    pub(super) fn scalar(&self, kind: &Type, steps: u32) -> Result<Option<Scalar>> {
        let simple = match kind {
            Type::Complex(_) => return Ok(None),
            Type::Refused(error) => return Err(error.clone()),
            Type::Simple(simple) => simple,
            Type::Named(name) if name.namespace == SCHEMA => return Ok(built_in(&name.local)),
            Type::Named(name) => match self.schema.simple.get(name) {
                Some(simple) => simple,
                None => return Ok(None),
            },
        };
        self.restricted(simple, steps).map(Some)
    }

    fn restricted(&self, simple: &Simple, steps: u32) -> Result<Scalar> {
        let fault = || self.fault(simple.place);
        if steps == MAX_STEPS {
            return Err(self.fault_of(Code::Depth, simple.place).expected(format_args!(
                "a type at most {MAX_STEPS} steps from one of XML Schema, and not derived from itself"
            )));
        }
        let within = |kind: &Type| {
            let scalar = self.scalar(kind, steps + 1)?;
            scalar.ok_or_else(|| match kind {
                Type::Named(name) if !self.schema.complex.contains_key(name) => {
                    self.unknown_type(simple.place, "a simple type", name)
                }
                _ => fault().expected("a simple type").found(self.named(kind)),
            })
        };
        match &simple.variety {
            Variety::Refused(error) => Err(error.clone()),
            Variety::Union => Ok(Scalar::of(Kind::String)),
            Variety::List(items) => match within(items)? {
                Scalar { array: Some(_), .. } => {
                    Err(fault().expected("a list of single values").found("a list of lists"))
                }
                items => Ok(Scalar { array: Some(Items::Any), ..items }),
            },
            Variety::Restriction { base, facets } => within(base)?.with(facets, fault),
        }
    }

    fn named(&self, kind: &Type) -> String {
        match kind {
            Type::Named(name) => name.to_string(),
            _ => "a complex type".into(),
        }
    }
}

impl Lexical {
    /// How texts have a string as facets restrict it: they take spaces away, and give none back.
    fn restricted(self, facets: &Facets) -> Lexical {
        match self {
            Lexical::Token => Lexical::Token,
            _ => facets.spaces.unwrap_or(self),
        }
    }
}

impl Scalar {
    /// The type as facets restrict it.
    fn with(mut self, facets: &Facets, fault: impl Fn() -> Error) -> Result<Scalar> {
        if let (Some(length), Some(_)) = (facets.length, self.array) {
            if length == 0 {
                return Err(fault().expected("a length of 1 or more").found(0));
            }
            self.array = Some(Items::These(length));
        }
        match &mut self.kind {
            Kind::Integer { signed, width } if self.unlimited => {
                *width = Width::Bytes(bytes_for(*signed, *width, facets))
            }
            Kind::String if !facets.values.is_empty() && self.array.is_none() => {
                let mut symbols: Vec<(Box<str>, i128)> = Vec::with_capacity(facets.values.len());
                let mut known = std::collections::HashSet::new();
                for (number, (_, value)) in facets.values.iter().enumerate() {
                    let symbol = symbol(value);
                    if !known.insert(symbol.clone()) {
                        return Err(fault()
                            .expected("values that are different symbols")
                            .found(format_args!("{value:?} again")));
                    }
                    symbols.push((symbol, number as i128));
                }
                let lexical = self.lexical.restricted(facets);
                let written = facets.values.iter().map(|(_, value)| lexical.spaced(value).into()).collect();
                (self.values, self.lexical) = (crate::markup::values(&symbols, written), Lexical::Plain);
                self.kind = Kind::Enumeration { signed: true, width: Width::Bytes(4), symbols: symbols.into() };
            }
            Kind::String => self.lexical = self.lexical.restricted(facets),
            _ => {}
        }
        Ok(self)
    }
}

/// The bytes of an integer that holds both ends of its range, and not fewer than it has.
fn bytes_for(signed: bool, width: Width, facets: &Facets) -> u8 {
    let Width::Bytes(least) = width else { return 4 };
    let holds = |bytes: u8, value: i128| {
        let bits = u32::from(bytes) * 8 - u32::from(signed);
        let magnitude = if value < 0 { !value } else { value };
        bits >= 128 || magnitude >> bits == 0
    };
    let ends = [facets.least, facets.greatest];
    let fits = |bytes: &u8| ends.iter().flatten().all(|&end| holds(*bytes, end));
    [4, 8].into_iter().filter(|&bytes| bytes >= least).find(fits).unwrap_or(16)
}
