//! JSON Schema: the objects that are records, to declarations (`spec/xmit.md`).

use super::Front;
use super::json::Json;
use super::link::{Dim, Item, Model, Of, Part, Place, What, name};
use super::tokens::MAX_NAME;
use crate::declaration::Declarations;
use crate::documents::Documents;
use crate::markup::Lexical;
use isoform_core::declare::Kind;
use isoform_core::{Code, Error, Result};
use std::collections::HashMap;

/// The room of JSON Schema.
pub(super) struct JsonSchema;

impl Front for JsonSchema {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let mut reader = Reader { documents, model: Model::default(), loaded: HashMap::new(), wanted: Vec::new() };
        reader.document(0)?;
        // A schema is read when the first reference to it is.
        let mut next = 0;
        while let Some((document, pointer)) = reader.wanted.get(next).cloned() {
            next += 1;
            reader.schema_at(&document, &pointer)?;
        }
        let first = format!("{}#", reader.documents.faults(0).name);
        // Pointers within the document itself are enough, and the other documents have their names before them.
        let spelled = |full: &str| match full.strip_prefix(&first).unwrap_or(full) {
            "" => "/".into(),
            pointer => pointer.replace('#', ":"),
        };
        Ok(reader.model.link(reader.documents, &|full, _| spelled(full)))
    }
}

/// Keywords that are prose, or say which values a sender should have. They do not change what a record has.
const PROSE: [&str; 27] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "title",
    "description",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "default",
    "unit",
    "pattern",
    "minLength",
    "maxLength",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentMediaType",
    "const",
];

struct Reader<'x, 'l> {
    documents: &'x mut Documents<'l>,
    model: Model,
    /// The documents by their full names, and their values.
    loaded: HashMap<String, (usize, std::sync::Arc<Json>)>,
    /// Schemas that references name: document and pointer.
    wanted: Vec<(String, String)>,
}

/// A schema that is being read.
struct At<'s> {
    schema: &'s Json,
    document: &'s str,
    place: Place,
    /// The name of a record, if it is one.
    name: Box<str>,
}

impl Reader<'_, '_> {
    fn document(&mut self, number: usize) -> Result<()> {
        let faults = self.documents.faults(number);
        let document = faults.name.to_owned();
        let value = std::sync::Arc::new(Json::parse(faults)?);
        self.loaded.insert(document.clone(), (number, value.clone()));
        if number == 0 {
            let is_record = ["properties", "type", "$ref", "allOf", "oneOf", "anyOf"]
                .iter()
                .any(|word| value.member(word).is_some());
            if is_record {
                self.wanted.push((document.clone(), String::new()));
            }
            for word in ["$defs", "definitions"] {
                if let Some(Json::Object(definitions)) = value.member(word) {
                    self.wanted.extend(
                        definitions
                            .list
                            .iter()
                            .map(|(name, _)| (document.clone(), format!("/{word}/{}", escape(name)))),
                    );
                }
            }
        }
        Ok(())
    }

    /// Reads the schema at a pointer, unless it was read.
    fn schema_at(&mut self, document: &str, pointer: &str) -> Result<()> {
        let full = format!("{document}#{pointer}");
        if self.model.find(&full).is_some() {
            return Ok(());
        }
        let Some((number, root)) = self.loaded.get(document).cloned() else { return Ok(()) };
        let place = Place { document: number, line: 1, pointer: Some(pointer.into()) };
        let Some(schema) = follow(&root, pointer) else { return Ok(()) };
        let local = match pointer.rsplit_once('/') {
            Some((_, local)) => unescape(local),
            None => match schema.member("title").and_then(Json::text) {
                Some(title) => title.split_whitespace().collect::<Vec<_>>().join("_"),
                None => stem(document).into(),
            },
        };
        let at = At { schema, document, place, name: name(&local) };
        let (of, nullable) = match self.kind(&at, Some(&full)) {
            Ok(found) => found,
            Err(error) => {
                let item = Item { name: at.name.clone(), place: at.place.clone(), what: What::Refused(error) };
                return self.add(full, item);
            }
        };
        if self.model.find(&full).is_some() {
            return Ok(());
        }
        let of = match nullable {
            true => Of::refused(self.fault(&at.place).expected("null beside a type at the property itself")),
            false => of,
        };
        self.add(full, Item { name: at.name, place: at.place, what: What::Alias(of) })
    }

    fn add(&mut self, full: String, item: Item) -> Result<()> {
        let place = item.place.clone();
        self.model.add(full, item).map_err(|_| self.fault(&place).expected("one schema at each place"))
    }

    fn fault(&self, place: &Place) -> Error {
        place.fault(Code::Declaration, self.documents)
    }

    /// The type of a schema, and whether null is allowed. A schema of an object becomes a record of this full name.
    fn kind(&mut self, at: &At<'_>, full: Option<&str>) -> Result<(Of, bool)> {
        let fault = |reader: &Self| reader.fault(&at.place);
        if at.place.pointer.as_ref().is_some_and(|pointer| pointer.len() > MAX_NAME) || at.name.len() > MAX_NAME {
            return Err(self
                .fault(&Place { pointer: None, ..at.place.clone() })
                .expected(format_args!("pointers of at most {MAX_NAME} bytes")));
        }
        let Json::Object(members) = at.schema else {
            return Err(fault(self).expected("a schema that is an object").found(at.schema.sort()));
        };
        for (word, _) in &members.list {
            let is_known = PROSE.contains(&&**word) || word.starts_with("x-");
            let is_type = [
                "type",
                "$ref",
                "enum",
                "anyOf",
                "oneOf",
                "properties",
                "required",
                "items",
                "minItems",
                "maxItems",
                "format",
                "contentEncoding",
                "additionalProperties",
                "unevaluatedProperties",
            ]
            .contains(&&**word);
            if !is_known && !is_type {
                return Err(fault(self).expected("keywords of spec/xmit.md").found(format_args!("{word:?}")));
            }
        }
        for word in ["additionalProperties", "unevaluatedProperties"] {
            if at.schema.member(word).is_some_and(|value| *value != Json::Boolean(false)) {
                return Err(fault(self).expected(format_args!("{word}: false, or no {word}")));
            }
        }
        if let Some(reference) = at.schema.member("$ref") {
            let reference = reference.text().ok_or_else(|| fault(self).expected("a string as $ref"))?;
            return Ok((Of::named(self.reference(at, reference)?), false));
        }
        if let Some(of) = self.nullable_of_two(at)? {
            return Ok((of, true));
        }
        let (word, nullable) = self.type_word(at)?;
        let of = match word.as_str() {
            "object" => self.object(at, full)?,
            "array" => self.array(at)?,
            "boolean" => Of::boolean(),
            "integer" => self.integer(at)?,
            "number" => match at.schema.member("format").and_then(Json::text) {
                Some("float") => Of::float(4),
                None | Some("double") => Of::float(8),
                Some(other) => {
                    return Err(fault(self).expected("format float or double").found(format_args!("{other:?}")));
                }
            },
            "string" => self.string(at)?,
            other => {
                let error = fault(self).expected("type object, array, boolean, integer, number or string");
                return Err(error.found(format_args!("{other:?}")));
            }
        };
        Ok((of, nullable))
    }

    /// The word of `type`, and whether null stands beside it.
    fn type_word(&self, at: &At<'_>) -> Result<(String, bool)> {
        let fault = || self.fault(&at.place).expected("one type, or one and null");
        match at.schema.member("type") {
            Some(Json::Text(word)) => Ok((word.to_string(), false)),
            Some(Json::List(list)) => {
                let words: Vec<&str> = list.iter().filter_map(Json::text).collect();
                match words[..] {
                    [word] if list.len() == 1 => Ok((word.into(), false)),
                    ["null", word] | [word, "null"] if list.len() == 2 => Ok((word.into(), true)),
                    _ => Err(fault().found(words.join(", "))),
                }
            }
            Some(other) => Err(fault().found(other.sort())),
            None if at.schema.member("properties").is_some() => Ok(("object".into(), false)),
            None if at.schema.member("items").is_some() => Ok(("array".into(), false)),
            None if at.schema.member("enum").is_some() => Ok(("string".into(), false)),
            None => Err(fault().found("none")),
        }
    }

    /// `anyOf` or `oneOf` of a type and null.
    fn nullable_of_two(&mut self, at: &At<'_>) -> Result<Option<Of>> {
        for word in ["anyOf", "oneOf"] {
            let Some(value) = at.schema.member(word) else { continue };
            let is_null = |value: &Json| value.member("type").and_then(Json::text) == Some("null");
            let error = || self.fault(&at.place).expected(format_args!("{word} of one schema and null"));
            let Json::List(list) = value else { return Err(error()) };
            let inner = match &list[..] {
                [one, null] if is_null(null) && !is_null(one) => 0,
                [null, one] if is_null(null) && !is_null(one) => 1,
                _ => return Err(error()),
            };
            let pointer = format!("{}/{word}/{inner}", at.place.pointer.as_deref().unwrap_or_default());
            let place = Place { pointer: Some(pointer.into()), ..at.place.clone() };
            let within = At { schema: &list[inner], document: at.document, place, name: at.name.clone() };
            return self.kind(&within, None).map(|(of, _)| Some(of));
        }
        Ok(None)
    }

    fn object(&mut self, at: &At<'_>, full: Option<&str>) -> Result<Of> {
        let pointer = at.place.pointer.as_deref().unwrap_or_default();
        let full = full.map_or_else(|| format!("{}#{pointer}", at.document), str::to_owned);
        if self.model.find(&full).is_some() {
            return Ok(Of::named(full));
        }
        let properties = match at.schema.member("properties") {
            Some(Json::Object(properties)) => &properties.list[..],
            Some(other) => return Err(self.fault(&at.place).expected("an object as properties").found(other.sort())),
            None => &[],
        };
        let required: Vec<&str> = match at.schema.member("required") {
            Some(Json::List(list)) => list.iter().filter_map(Json::text).collect(),
            Some(other) => return Err(self.fault(&at.place).expected("an array as required").found(other.sort())),
            None => Vec::new(),
        };
        let required: std::collections::HashSet<&str> = required.into_iter().collect();
        if let Some(missing) =
            required.iter().find(|name| at.schema.member("properties").and_then(|all| all.member(name)).is_none())
        {
            let error = self.fault(&at.place).expected("required properties that are declared");
            return Err(error.found(format_args!("{missing:?}")));
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (property, schema) in properties {
            let pointer = format!("{pointer}/properties/{}", escape(property));
            let place = Place { pointer: Some(pointer.into()), ..at.place.clone() };
            let name = self::name(property);
            let record = format!("{}_{name}", at.name).into();
            let within = At { schema, document: at.document, place: place.clone(), name: record };
            let (of, nullable) = self.kind(&within, None)?;
            let unit = schema.member("unit").map(|unit| {
                let error = || self.fault(&place).expected("a string as unit").found(unit.sort());
                unit.text().map(Into::into).ok_or_else(error)
            });
            let default = schema.member("default").filter(|value| **value != Json::Null).map(|value| match value {
                Json::Text(text) => Ok(text.clone()),
                Json::Number(number) => Ok(number.clone()),
                Json::Boolean(value) => Ok(value.to_string().into()),
                other => Err(self.fault(&place).expected("a default of one value").found(other.sort())),
            });
            fields.push(Part {
                label: (*name != **property).then(|| property.clone()),
                nullable: nullable || !required.contains(&**property),
                required: required.contains(&**property),
                nil: nullable && !is_enum_without_null(schema),
                unit: unit.transpose()?,
                default: default.transpose()?,
                prose: schema.member("description").and_then(Json::text).map(Into::into),
                ..Part::new(place, name, of)
            });
        }
        let prose = at.schema.member("description").and_then(Json::text).map(Into::into);
        let what = What::Record { base: None, fields, prose };
        self.add(full.clone(), Item { name: at.name.clone(), place: at.place.clone(), what })?;
        Ok(Of::named(full))
    }

    fn array(&mut self, at: &At<'_>) -> Result<Of> {
        let items = at.schema.member("items").ok_or_else(|| self.fault(&at.place).expected("items in an array"))?;
        let pointer = format!("{}/items", at.place.pointer.as_deref().unwrap_or_default());
        let place = Place { pointer: Some(pointer.into()), ..at.place.clone() };
        let within = At { schema: items, document: at.document, place: place.clone(), name: at.name.clone() };
        let (of, nullable) = self.kind(&within, None)?;
        if nullable {
            return Err(self.fault(&place).expected("items that are not null"));
        }
        let count = |word: &str| match at.schema.member(word) {
            None => Ok(None),
            Some(Json::Number(number)) if number.parse::<usize>().is_ok() => Ok(number.parse::<usize>().ok()),
            Some(_) => Err(self.fault(&at.place).expected(format_args!("a count as {word}"))),
        };
        let (least, most) = (count("minItems")?, count("maxItems")?);
        Ok(match (least, most) {
            (Some(least), Some(most)) if least == most && most > 0 => of.array(Dim::Fixed(most)),
            _ => of.array(Dim::Any),
        })
    }

    /// The size is that of the format, or the first of 8 and 16 bytes that holds both ends of the range.
    fn integer(&self, at: &At<'_>) -> Result<Of> {
        let format = at.schema.member("format").and_then(Json::text);
        if let Some(format) = format {
            let (signed, bits) = match format.strip_prefix('u') {
                Some(rest) => (false, rest),
                None => (true, format),
            };
            return match bits {
                "int8" => Ok(Of::integer(signed, 1)),
                "int16" => Ok(Of::integer(signed, 2)),
                "int32" => Ok(Of::integer(signed, 4)),
                "int64" => Ok(Of::integer(signed, 8)),
                _ => Err(self
                    .fault(&at.place)
                    .expected("format int8 .. int64, uint8 .. uint64")
                    .found(format_args!("{format:?}"))),
            };
        }
        let end = |word: &str, step: i128| match at.schema.member(word) {
            None => Ok(None),
            Some(Json::Number(number)) => {
                let error =
                    || self.fault(&at.place).expected(format_args!("an integer of 128 bits as {word}")).found(number);
                number.parse::<i128>().ok().and_then(|end| end.checked_add(step)).map(Some).ok_or_else(error)
            }
            Some(other) => Err(self.fault(&at.place).expected(format_args!("a number as {word}")).found(other.sort())),
        };
        let least = end("minimum", 0)?.max(end("exclusiveMinimum", 1)?);
        let most = [end("maximum", 0)?, end("exclusiveMaximum", -1)?].into_iter().flatten().min();
        let signed = least.is_none_or(|least| least < 0);
        let fits = |value: i128| match signed {
            true => i64::try_from(value).is_ok(),
            false => value < 0 || u64::try_from(value).is_ok(),
        };
        let is_wide = [least, most].into_iter().flatten().any(|end| !fits(end));
        Ok(Of::integer(signed, if is_wide { 16 } else { 8 }))
    }

    fn string(&self, at: &At<'_>) -> Result<Of> {
        if let Some(values) = at.schema.member("enum") {
            let error = || self.fault(&at.place).expected("an enum of different strings");
            let Json::List(values) = values else { return Err(error().found(values.sort())) };
            let mut symbols: Vec<(Box<str>, i128)> = Vec::with_capacity(values.len());
            let mut written: Vec<Box<str>> = Vec::with_capacity(values.len());
            let mut known = std::collections::HashSet::new();
            // Null beside the values is the type's.
            let is_nullable = matches!(at.schema.member("type"), Some(Json::List(_)));
            for value in values.iter().filter(|value| !is_nullable || **value != Json::Null) {
                let value = value.text().ok_or_else(|| error().found(value.sort()))?;
                let symbol = super::xsd::symbol(value);
                written.push(value.into());
                if !known.insert(symbol.clone()) {
                    return Err(error().found(format_args!("{symbol:?} again")));
                }
                symbols.push((symbol, symbols.len() as i128));
            }
            let values = crate::markup::values(&symbols, written);
            return Ok(Of { values, ..Of::enumeration(symbols) });
        }
        match at.schema.member("contentEncoding").and_then(Json::text) {
            Some(encoding @ ("base64" | "base64url" | "base16")) => {
                let lexical = match encoding {
                    "base64" => Lexical::Base64,
                    "base64url" => Lexical::Base64Url,
                    _ => Lexical::Hex,
                };
                return Ok(Of { lexical, ..Of::integer(false, 1) }.array(Dim::Any));
            }
            Some(other) => {
                let error = self.fault(&at.place).expected("contentEncoding base64, base64url or base16");
                return Err(error.found(format_args!("{other:?}")));
            }
            None => {}
        }
        Ok(match at.schema.member("format").and_then(Json::text) {
            Some("date-time") => {
                Of { unit: Some("ns since 1970-01-01T00:00:00Z"), lexical: Lexical::DateTime, ..Of::integer(true, 8) }
            }
            Some("date") => Of { unit: Some("d since 1970-01-01"), lexical: Lexical::Date, ..Of::integer(true, 4) },
            _ => Of::kind(Kind::String),
        })
    }

    /// The full name of the schema that a reference means. It is read later.
    fn reference(&mut self, at: &At<'_>, reference: &str) -> Result<String> {
        let (location, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let error = self.fault(&at.place).expected("a reference with a JSON pointer behind #");
            return Err(error.found(format_args!("{reference:?}")));
        }
        let document = match location {
            "" => at.document.to_owned(),
            location => {
                let name = self.documents.locate(at.place.document, location)?;
                if let Some(number) = self.documents.load(at.place.document, location)? {
                    self.document(number)?;
                }
                name
            }
        };
        let found = self.loaded.get(&document).is_some_and(|(_, root)| follow(root, pointer).is_some());
        if !found {
            let error = self.fault(&at.place).expected("a reference to a schema");
            return Err(error.found(format_args!("{reference:?}")));
        }
        let full = format!("{document}#{pointer}");
        if self.model.find(&full).is_none() {
            self.wanted.push((document, pointer.to_owned()));
        }
        Ok(full)
    }
}

/// Whether a schema lists its values, and null is none of them.
fn is_enum_without_null(schema: &Json) -> bool {
    matches!(schema.member("enum"), Some(Json::List(values)) if !values.contains(&Json::Null))
}

/// The value at a JSON pointer.
fn follow<'j>(root: &'j Json, pointer: &str) -> Option<&'j Json> {
    pointer.split('/').skip(1).try_fold(root, |value, part| match value {
        Json::List(list) => part.parse::<usize>().ok().and_then(|index| list.get(index)),
        _ => value.member(&unescape(part)),
    })
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The name of a document without its folder and extensions.
fn stem(document: &str) -> &str {
    let file =
        document.split(['?', '#']).next().unwrap_or_default().rsplit(['/', '\\', ':']).next().unwrap_or_default();
    file.split('.').next().unwrap_or_default()
}
