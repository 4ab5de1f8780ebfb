//! XML to the values of records.

use super::xml::{Event, Name as Seen, Reader};
use super::{Hydration, MAX_TEXT, Part, Record, write};
use crate::lexical;
use crate::markup::{Lexical, Name, Origin};
use isoform_core::{Code, Dimension, Element, Error, Field, Result, Structure, Value};
use std::borrow::Cow;
use std::io::Read;

/// Bytes of memory that the records within a record may need: so many, and so many for each byte of text. A few bytes of text can stand for
/// a record whose many fields are absent.
const MAX_RECORDS: usize = 64 << 20;
const MAX_EACH: usize = 16;
/// Bytes of memory for a value.
const VALUE: usize = 64;

/// The records in XML, one after another, as [`Hydration::records`] returns them. After an error there are no more.
///
/// ```
/// # use isoform_core::{Layout, Shape, Value};
/// # use isoform_xmit::{Hydration, Markup};
/// let format = Shape::new("Gauge").field("step", "int").on(&Layout::NATIVE)?;
/// let hydration = Hydration::new(&format, &Markup::plain("Gauge"))?;
/// let text = "<river><Gauge><step>7</step></Gauge>\n<Gauge><step>8</step></Gauge></river>";
/// let records: Vec<Value> = hydration.records(text.as_bytes()).within("river").collect::<Result<_, _>>()?;
/// assert_eq!(records.len(), 2);
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub struct Records<'h, R> {
    hydration: &'h Hydration,
    xml: Xml<R>,
    is_done: bool,
}

/// What reads one record after another.
pub(super) struct Xml<R> {
    reader: Reader<R>,
    within: Option<Box<str>>,
    /// The text of the value that is read.
    text: String,
    /// Bytes of the records within this one.
    size: usize,
}

/// The values of each field, as they come.
type Given = Vec<Vec<Value>>;

impl<'h, R: Read> Records<'h, R> {
    pub(super) fn new(hydration: &'h Hydration, input: R) -> Records<'h, R> {
        Records { hydration, xml: Xml::new(input, None), is_done: false }
    }

    /// The records are in an element of this name, without its namespace. It may have attributes, which have no meaning.
    #[must_use]
    pub fn within(mut self, element: &str) -> Records<'h, R> {
        self.xml.within = Some(element.into());
        self
    }

    /// At most this many bytes for the text of each record; 64 MiB if nothing is said.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Records<'h, R> {
        self.xml.reader.limit(bytes);
        self
    }
}

impl<R: Read> Xml<R> {
    pub(super) fn new(input: R, within: Option<&str>) -> Xml<R> {
        let reader = Reader::new(input, MAX_TEXT);
        Xml { reader, within: within.map(Into::into), text: String::new(), size: 0 }
    }

    /// The next record.
    pub(super) fn read(&mut self, hydration: &Hydration) -> Result<Option<Value>> {
        self.reader.forget();
        self.size = 0;
        let (root, structure) = (&hydration.root, hydration.format.structure());
        loop {
            let depth = self.reader.depth();
            match self.reader.next()? {
                None => return Ok(None),
                Some(Event::End) => {}
                Some(Event::Text(text)) => only_space(&text, "a record")?,
                Some(Event::Start { name, attributes }) => {
                    match &self.within {
                        Some(within) if depth == 0 => {
                            if *name.local != **within {
                                let error = Error::new(Code::Text).expected(format_args!("<{within}>"));
                                return Err(error.found(format_args!("<{}>", lexical::short(name.local))));
                            }
                            continue;
                        }
                        _ => check_tag(&name, &root.tag.name)?,
                    }
                    let mut given = begin(root, structure);
                    if of_attributes(root, structure, &attributes, &mut given)? {
                        return Err(Error::new(Code::Null).expected("a record").found("nil"));
                    }
                    let record = self.inside(root, structure, given)?;
                    return hydration.completed(record).map(Some);
                }
            }
        }
    }

    /// An error at the place that is read.
    pub(super) fn place(&self, error: Error) -> Error {
        match error.position() {
            None => error.positioned(self.reader.position()),
            Some(_) => error,
        }
    }

    /// What an element holds that has begun, up to its end.
    fn inside(&mut self, record: &Record, structure: &Structure, mut given: Given) -> Result<Value> {
        if let Some(index) = record.text {
            let (part, field) = (&record.fields[index], &structure.fields()[index]);
            self.plain_text()?;
            let value = single(part, field, &self.text).map_err(|error| error.within(&field.name))?;
            given[index].push(value);
            return finish(record, structure, given);
        }
        loop {
            let next = match self.reader.next()? {
                None | Some(Event::End) => return finish(record, structure, given),
                Some(Event::Text(text)) => {
                    only_space(&text, "elements")?;
                    continue;
                }
                Some(Event::Start { name, attributes }) => {
                    let index = find(record, structure, &name)?;
                    let (part, field) = (&record.fields[index], &structure.fields()[index]);
                    let within = |error: Error| error.within(&step(part, field, given[index].len()));
                    match (&part.nested, &field.element) {
                        (Some(nested), Element::Structure(inner)) => {
                            let mut begun = begin(nested, inner);
                            let is_nil = of_attributes(nested, inner, &attributes, &mut begun).map_err(within)?;
                            (index, is_nil, Some(begun))
                        }
                        _ => (index, no_attributes(&attributes).map_err(within)?, None),
                    }
                }
            };
            let (index, is_nil, begun) = next;
            let (part, field) = (&record.fields[index], &structure.fields()[index]);
            let count = given[index].len();
            let value =
                self.element(part, field, is_nil, begun).and_then(|value| match count > 0 && rank(part, field) == 0 {
                    true => Err(Error::new(Code::Text).expected("one element of this name").found("a second")),
                    false => Ok(value),
                });
            given[index].push(value.map_err(|error| error.within(&step(part, field, count)))?);
        }
    }

    /// The value of an element that has begun.
    fn element(&mut self, part: &Part, field: &Field, is_nil: bool, begun: Option<Given>) -> Result<Value> {
        if is_nil {
            self.plain_text()?;
            return match (
                field.indirect && !field.is_dynamic() || field.element == Element::String,
                self.text.is_empty(),
            ) {
                (true, true) => Ok(Value::Null),
                (true, false) => {
                    Err(Error::new(Code::Text).expected("nothing in an element that is nil").found("text"))
                }
                (false, _) => Err(Error::new(Code::Null).expected("a value").found("nil")),
            };
        }
        match (begun, &part.nested, &field.element) {
            (Some(begun), Some(nested), Element::Structure(inner)) => {
                let record = self.inside(nested, inner, begun)?;
                let count = if let Value::Record(entries) = &record { entries.len() } else { 0 };
                self.size = self.size.saturating_add(inner.size() + count * VALUE);
                if self.size > MAX_RECORDS + MAX_EACH * self.reader.taken() {
                    let error = Error::new(Code::MessageSize).expected("records with fewer fields that are absent");
                    return Err(error.found(format_args!("{} bytes of them", self.size)));
                }
                Ok(record)
            }
            _ => {
                self.plain_text()?;
                single(part, field, &self.text)
            }
        }
    }

    /// Takes the text of an element that has begun, up to its end.
    fn plain_text(&mut self) -> Result<()> {
        self.text.clear();
        loop {
            match self.reader.next()? {
                None | Some(Event::End) => return Ok(()),
                Some(Event::Text(text)) => self.text.push_str(&text),
                Some(Event::Start { name, .. }) => {
                    let error = Error::new(Code::Text).expected("text");
                    return Err(error.found(format_args!("<{}>", lexical::short(name.local))));
                }
            }
        }
    }
}

impl<R: Read> Iterator for Records<'_, R> {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Result<Value>> {
        if self.is_done {
            return None;
        }
        let next = self.xml.read(self.hydration).map_err(|error| self.xml.place(error));
        self.is_done = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

fn begin(record: &Record, _: &Structure) -> Given {
    vec![Vec::new(); record.fields.len()]
}

fn only_space(text: &str, expected: &str) -> Result<()> {
    match text.chars().all(lexical::is_space) {
        true => Ok(()),
        false => {
            Err(Error::new(Code::Text).expected(expected).found(format_args!("text, {}", lexical::short(text.trim()))))
        }
    }
}

fn is(seen: &Seen<'_>, name: &Name) -> bool {
    *seen.local == *name.local && *seen.namespace == *name.namespace.as_deref().unwrap_or_default()
}

fn check_tag(seen: &Seen<'_>, name: &Name) -> Result<()> {
    match is(seen, name) {
        true => Ok(()),
        false => Err(Error::new(Code::Text)
            .expected(format_args!("<{}>", shown(name)))
            .found(format_args!("<{}>", of_seen(seen)))),
    }
}

fn shown(name: &Name) -> String {
    of_seen(&Seen { namespace: name.namespace.as_deref().unwrap_or_default(), local: &name.local })
}

fn of_seen(seen: &Seen<'_>) -> String {
    match seen.namespace {
        "" => seen.local.chars().take(60).collect(),
        namespace => format!("{} of {}", seen.local.chars().take(60).collect::<String>(), lexical::short(namespace)),
    }
}

/// The field of an element.
fn find(record: &Record, structure: &Structure, seen: &Seen<'_>) -> Result<usize> {
    let known = record.elements.get(seen.local).copied();
    known
        .filter(|&index| is(seen, &record.fields[index].mark.name))
        .ok_or_else(|| unknown(record, structure, seen, Origin::Element))
}

/// The values of attributes. Whether they say that there is no value.
fn of_attributes(
    record: &Record,
    structure: &Structure,
    attributes: &[(Seen<'_>, Cow<'_, str>)],
    given: &mut Given,
) -> Result<bool> {
    let mut is_nil = false;
    for (seen, value) in attributes {
        if let Some(says) = of_instance(seen, value)? {
            is_nil |= says;
            continue;
        }
        let known = record.attributes.get(seen.local).copied();
        let index = known
            .filter(|&index| is(seen, &record.fields[index].mark.name))
            .ok_or_else(|| unknown(record, structure, seen, Origin::Attribute))?;
        let field = &structure.fields()[index];
        given[index].push(single(&record.fields[index], field, value).map_err(|error| error.within(&field.name))?);
    }
    Ok(is_nil)
}

/// Attributes of an element that has none of its own.
fn no_attributes(attributes: &[(Seen<'_>, Cow<'_, str>)]) -> Result<bool> {
    let mut is_nil = false;
    for (seen, value) in attributes {
        match of_instance(seen, value)? {
            Some(says) => is_nil |= says,
            None => {
                let error = Error::new(Code::NoSuchField).expected("no attributes");
                return Err(error.found(format_args!("the attribute {}", of_seen(seen))));
            }
        }
    }
    Ok(is_nil)
}

/// What an attribute of XML Schema says of the value; `None` if it is no such attribute.
fn of_instance(seen: &Seen<'_>, value: &str) -> Result<Option<bool>> {
    if seen.namespace != write::INSTANCE {
        return Ok(None);
    }
    match (seen.local, value.trim_matches(lexical::is_space)) {
        ("nil", "true" | "1") => Ok(Some(true)),
        ("nil", "false" | "0") | ("schemaLocation" | "noNamespaceSchemaLocation", _) => Ok(Some(false)),
        (local, value) => {
            let error = Error::new(Code::Text).expected("nil, or the location of a schema");
            Err(error.found(format_args!("{} = {}", lexical::short(local), lexical::short(value))))
        }
    }
}

fn unknown(record: &Record, structure: &Structure, seen: &Seen<'_>, origin: Origin) -> Error {
    let names = record.fields.iter().filter(|part| part.mark.origin == origin).map(|part| shown(&part.mark.name));
    let names: Vec<String> = names.take(12).collect();
    let what = if origin == Origin::Attribute { "attributes" } else { "elements" };
    let expected =
        if names.is_empty() { format!("no {what}") } else { format!("one of the {what} {}", names.join(", ")) };
    let error = Error::new(Code::NoSuchField).at(structure.name()).expected(expected);
    error.found(of_seen(seen))
}

/// The path of the next value of a field.
fn step(part: &Part, field: &Field, count: usize) -> String {
    match rank(part, field) {
        0 => field.name.to_string(),
        _ => format!("{}[{count}]", field.name),
    }
}

/// How many dimensions have an element for each of their items.
fn rank(part: &Part, field: &Field) -> usize {
    let is_one = part.packed || field.element == Element::Char;
    field.dims.len() - usize::from(is_one && !field.dims.is_empty())
}

/// The value in a text: of an element or attribute, which may be a list.
pub(super) fn single(part: &Part, field: &Field, text: &str) -> Result<Value> {
    if part.mark.lexical.is_bytes() {
        let bytes = lexical::read_bytes(part.mark.lexical, text)?;
        return Ok(Value::Array(bytes.into_iter().map(|byte| Value::Integer(byte.into())).collect()));
    }
    if field.element == Element::Char && !field.dims.is_empty() {
        return Ok(Value::String(text.into()));
    }
    if part.packed {
        let words = text.split(lexical::is_space).filter(|word| !word.is_empty()).enumerate();
        let value = |(i, word)| value(part, field, word).map_err(|error| error.within(&format!("[{i}]")));
        return words.map(value).collect::<Result<_>>().map(Value::Array);
    }
    value(part, field, text)
}

fn value(part: &Part, field: &Field, text: &str) -> Result<Value> {
    match &field.element {
        Element::Enumeration(enumeration) => symbol(part, enumeration, text, false),
        Element::Structure(_) if part.mark.lexical == Lexical::Duration => {
            let (months, time) = lexical::read_duration(text)?;
            Ok(Value::Record(vec![("months".into(), Value::Integer(months)), ("time".into(), Value::Integer(time))]))
        }
        element => lexical::read(element, part.mark.lexical, text),
    }
}

/// The symbol that a text means. Unless this is strict, other spaces mean the same.
pub(super) fn symbol(
    part: &Part,
    enumeration: &isoform_core::Enumeration,
    text: &str,
    is_strict: bool,
) -> Result<Value> {
    let word = if is_strict { text.to_string() } else { lexical::collapsed(text) };
    let exact = part.symbols.get(text).or_else(|| part.symbols.get(&*word));
    let symbol = match exact.or_else(|| part.collapsed.get(&*word).filter(|_| !is_strict)) {
        Some(symbol) => Some(symbol),
        // What another symbol is written as is not this one.
        None => enumeration
            .symbols()
            .iter()
            .map(|symbol| &symbol.name)
            .find(|name| ***name == word && !part.written.contains_key(*name)),
    };
    symbol.map(|symbol| Value::Symbol(symbol.clone())).ok_or_else(|| {
        let error = Error::new(Code::NoSuchField).expected("a value of the enumeration");
        error.found(lexical::short(&word))
    })
}

/// A record of what has been given for its fields.
fn finish(record: &Record, structure: &Structure, given: Given) -> Result<Value> {
    let mut entries = Vec::with_capacity(given.iter().filter(|values| !values.is_empty()).count());
    for ((part, field), mut values) in record.fields.iter().zip(structure.fields()).zip(given) {
        if part.mark.origin == Origin::Length {
            continue;
        }
        let value = match (rank(part, field), values.len()) {
            (0, 0) => absent(part, field),
            (0, _) => values.pop(),
            (_, 0) if field.is_dynamic() => Some(Value::Array(Vec::new())),
            (_, 0) => absent(part, field),
            (_, 1) if values[0] == Value::Null && field.indirect && !field.is_dynamic() => Some(Value::Null),
            (rank, _) => Some(rows(field, rank, values).map_err(|error| error.within(&field.name))?),
        };
        entries.extend(value.map(|value| (field.name.clone(), value)));
    }
    Ok(Value::Record(entries))
}

/// The value of a field of which a text has nothing; `None` if it is missing.
pub(super) fn absent(part: &Part, field: &Field) -> Option<Value> {
    if !part.mark.optional {
        return None;
    }
    match field.is_dynamic() {
        true => Some(Value::Array(Vec::new())),
        // Nothing behind a pointer needs no value.
        false => (field.element == Element::String && field.dims.is_empty()).then_some(Value::Null),
    }
}

/// Values, row by row, as an array of so many of a field's dimensions.
fn rows(field: &Field, rank: usize, mut values: Vec<Value>) -> Result<Value> {
    for dim in field.dims[1..rank].iter().rev() {
        let Dimension::Fixed(count) = *dim else { continue };
        if count == 0 || !values.len().is_multiple_of(count) {
            let error = Error::new(Code::Shape).expected(format_args!("rows of {count} elements"));
            return Err(error.found(format_args!("{} elements", values.len())));
        }
        let mut rows = Vec::with_capacity(values.len() / count);
        let mut rest = values.into_iter();
        while rest.len() > 0 {
            rows.push(Value::Array(rest.by_ref().take(count).collect()));
        }
        values = rows;
    }
    Ok(Value::Array(values))
}
