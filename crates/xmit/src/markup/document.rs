//! The markup of a record as a document in JSON. Equal markup has equal texts.

use super::{Lexical, Mark, Markup, Name, Origin, Record};
use crate::documents::Faults;
use crate::front::json::Json;
use isoform_core::text::json;
use isoform_core::{Code, Error, Result};
use std::collections::HashSet;
use std::fmt;

/// The greatest document.
const MAX: usize = 4 << 20;

impl Markup {
    /// Reads a document. Its name is for errors.
    ///
    /// # Errors
    /// [`Code::Text`] for what is no such document, [`Code::MessageSize`] and [`Code::Depth`] beyond the limits. The path is that of the
    /// document, the record and the field.
    pub fn parse(name: &str, text: &str) -> Result<Markup> {
        if text.len() > MAX {
            let error = Error::new(Code::MessageSize).at(name);
            return Err(error.expected(format_args!("at most {MAX} bytes")).found(text.len()));
        }
        let json = Json::parse(Faults::new(name, text))?;
        let (mut record, mut records, mut strict) = (None, Vec::new(), false);
        for (word, value) in members(name, &json)? {
            match &**word {
                "record" => record = Some(text_of(name, value)?),
                "records" => {
                    for (inner, value) in members(name, value)? {
                        records.push(read_record(&format!("{name}.{inner}"), inner, value)?);
                    }
                }
                "strict" => strict = flag(name, value)?,
                _ => return Err(unknown(name, word, "record, records or strict")),
            }
        }
        let record =
            record.ok_or_else(|| Error::new(Code::Text).at(name).expected("the name of a record").found("none"))?;
        Ok(Markup { record, records, strict })
    }
}

fn read_record(at: &str, name: &str, json: &Json) -> Result<Record> {
    let (mut record, mut namespace) = (Record { name: name.into(), ..Record::default() }, None);
    let mut tag = None;
    for (word, value) in members(at, json)? {
        match &**word {
            "tag" => tag = Some(text_of(at, value)?),
            "namespace" => namespace = Some(text_of(at, value)?),
            "fields" => {
                for (field, value) in members(at, value)? {
                    record.fields.push((field.clone(), read_mark(&format!("{at}.{field}"), field, value)?));
                }
            }
            _ => return Err(unknown(at, word, "tag, namespace or fields")),
        }
    }
    if tag.is_some() || namespace.is_some() {
        record.tag = Some(Name { namespace, local: tag.unwrap_or_else(|| name.into()) });
    }
    Ok(record)
}

fn read_mark(at: &str, field: &str, json: &Json) -> Result<Mark> {
    let mut mark = Mark::element(Name::local(field));
    for (word, value) in members(at, json)? {
        match &**word {
            "as" => {
                mark.origin = match &*text_of(at, value)? {
                    "element" => Origin::Element,
                    "attribute" => Origin::Attribute,
                    "text" => Origin::Text,
                    "length" => Origin::Length,
                    other => return Err(unknown(at, other, "element, attribute, text or length")),
                }
            }
            "name" => mark.name.local = text_of(at, value)?,
            "namespace" => mark.name.namespace = Some(text_of(at, value)?),
            "optional" => mark.optional = flag(at, value)?,
            "nil" => mark.nil = flag(at, value)?,
            "list" => mark.list = flag(at, value)?,
            "text" => {
                let text = text_of(at, value)?;
                let word = Lexical::WORDS.into_iter().find(|(_, word)| *word == &*text);
                mark.lexical = word.ok_or_else(|| unknown(at, &text, "a way to write values"))?.0;
            }
            "symbols" => {
                let Json::List(list) = value else { return Err(wrong(at, "an array", value)) };
                let symbols = list.iter().map(|value| text_of(at, value)).collect::<Result<Vec<_>>>()?;
                let mut known = HashSet::new();
                if let Some(twice) = symbols.iter().find(|symbol| !known.insert((**symbol).clone())) {
                    return Err(Error::new(Code::Text)
                        .at(at)
                        .expected("different values")
                        .found(format_args!("{twice:?} again")));
                }
                mark.symbols = symbols.into();
            }
            _ => return Err(unknown(at, word, "as, name, namespace, optional, nil, list, text or symbols")),
        }
    }
    Ok(mark)
}

fn members<'j>(at: &str, json: &'j Json) -> Result<&'j [(Box<str>, Json)]> {
    match json {
        Json::Object(members) => Ok(&members.list),
        other => Err(wrong(at, "an object", other)),
    }
}

fn text_of(at: &str, json: &Json) -> Result<Box<str>> {
    json.text().filter(|text| !text.is_empty()).map(Into::into).ok_or_else(|| wrong(at, "a text", json))
}

fn flag(at: &str, json: &Json) -> Result<bool> {
    match json {
        Json::Boolean(value) => Ok(*value),
        other => Err(wrong(at, "a boolean", other)),
    }
}

fn wrong(at: &str, expected: &str, found: &Json) -> Error {
    Error::new(Code::Text).at(at).expected(expected).found(found.sort())
}

fn unknown(at: &str, word: &str, expected: &str) -> Error {
    Error::new(Code::Text).at(at).expected(expected).found(word)
}

impl fmt::Display for Markup {
    /// The document, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Writer { f, first: true };
        out.open()?;
        out.text("record", &self.record)?;
        out.flag("strict", self.strict)?;
        out.key("records")?;
        out.open()?;
        for record in &self.records {
            out.key(&record.name)?;
            out.open()?;
            if let Some(tag) = &record.tag {
                if tag.local != record.name || tag.namespace.is_none() {
                    out.text("tag", &tag.local)?;
                }
                tag.namespace.as_ref().map_or(Ok(()), |namespace| out.text("namespace", namespace))?;
            }
            if !record.fields.is_empty() {
                out.key("fields")?;
                out.open()?;
                for (field, mark) in &record.fields {
                    out.key(field)?;
                    out.mark(field, mark)?;
                }
                out.close()?;
            }
            out.close()?;
        }
        out.close()?;
        out.close()
    }
}

struct Writer<'f, 'g> {
    f: &'f mut fmt::Formatter<'g>,
    /// Whether nothing stands yet in the object.
    first: bool,
}

impl Writer<'_, '_> {
    fn open(&mut self) -> fmt::Result {
        self.first = true;
        self.f.write_str("{")
    }

    fn close(&mut self) -> fmt::Result {
        self.first = false;
        self.f.write_str("}")
    }

    fn key(&mut self, key: &str) -> fmt::Result {
        if !std::mem::take(&mut self.first) {
            self.f.write_str(",")?;
        }
        json::string(key, self.f)?;
        self.f.write_str(":")
    }

    fn text(&mut self, key: &str, text: &str) -> fmt::Result {
        self.key(key)?;
        json::string(text, self.f)
    }

    fn flag(&mut self, key: &str, flag: bool) -> fmt::Result {
        if flag {
            self.key(key)?;
            self.f.write_str("true")?;
        }
        Ok(())
    }

    fn mark(&mut self, field: &str, mark: &Mark) -> fmt::Result {
        self.open()?;
        let origin = match mark.origin {
            Origin::Element => "",
            Origin::Attribute => "attribute",
            Origin::Text => "text",
            Origin::Length => "length",
        };
        if !origin.is_empty() {
            self.text("as", origin)?;
        }
        if *mark.name.local != *field {
            self.text("name", &mark.name.local)?;
        }
        mark.name.namespace.as_ref().map_or(Ok(()), |namespace| self.text("namespace", namespace))?;
        self.flag("optional", mark.optional)?;
        self.flag("nil", mark.nil)?;
        self.flag("list", mark.list)?;
        if let Some((_, word)) =
            Lexical::WORDS.iter().find(|(lexical, _)| *lexical == mark.lexical && mark.lexical != Lexical::Plain)
        {
            self.text("text", word)?;
        }
        if !mark.symbols.is_empty() {
            self.key("symbols")?;
            self.f.write_str("[")?;
            for (number, symbol) in mark.symbols.iter().enumerate() {
                self.f.write_str(if number > 0 { "," } else { "" })?;
                json::string(symbol, self.f)?;
            }
            self.f.write_str("]")?;
        }
        self.close()
    }
}
