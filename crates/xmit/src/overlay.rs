//! Overlays: what a receiver changes of a document that is not its own, and what it knows of pointers (`spec/xmit.md`, "Overlay").
//! `program::types` applies them to programs.

use crate::declaration::{Declaration, Declarations, Field, Pointer};
use crate::documents::Faults;
use crate::front::json::Json;
use crate::lexical;
use crate::markup::Origin;
use isoform_core::declare::{Kind, Length, Type};
use isoform_core::plan::Rules;
use isoform_core::{Code, Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The greatest overlay.
const MAX: usize = 1 << 20;

/// Changes of declarations: other names, units and defaults, fields that are left out, and what pointers are.
///
/// ```
/// use isoform_core::Layout;
/// use isoform_xmit::{Alone, Declarations, Language, Overlay};
/// let theirs = "struct Gauge { double lvl; int32 debug; };";
/// let declarations = Declarations::read(Language::Idl, "gauge.idl", theirs, &mut Alone)?;
/// let ours = r#"{"Gauge": {"name": "Level", "fields": {"lvl": {"name": "level", "unit": "m"}, "debug": null}}}"#;
/// let declarations = Overlay::parse("mine.json", ours)?.over(declarations)?;
/// let format = declarations.bind("Level", &Layout::NATIVE)?;
/// assert_eq!(format, isoform_core::Shape::parse("record Level\n  level  double  unit=\"m\"")?.on(&Layout::NATIVE)?);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// C does not say what a pointer is. An overlay does:
///
/// ```
/// # use isoform_core::Layout;
/// # use isoform_xmit::{Alone, Declarations, Language, Overlay};
/// let theirs = "struct Run { double *levels; int count; const char *name; struct Run *next; };";
/// let declarations = Declarations::read(Language::C, "run.h", theirs, &mut Alone)?;
/// assert!(declarations.bind("Run", &Layout::NATIVE).is_err());
/// let ours = r#"{"Run": {"fields": {"levels": {"pointer": "[count]", "unit": "m"}, "next": null}}}"#;
/// let declarations = Overlay::parse("mine.json", ours)?.over(declarations)?;
/// let shape = "record Run\n  levels  double[count]  unit=\"m\"\n  count  int\n  name  string";
/// assert_eq!(declarations.bind("Run", &Layout::NATIVE)?, isoform_core::Shape::parse(shape)?.on(&Layout::NATIVE)?);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    pub(crate) name: Box<str>,
    pub(crate) records: BTreeMap<Box<str>, Record>,
}

/// The changes of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) name: Option<Box<str>>,
    pub(crate) fields: BTreeMap<Box<str>, Change>,
}

/// What happens to a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Drop,
    Set { name: Option<Box<str>>, unit: Part, default: Part, pointer: Option<Points> },
}

/// What a pointer is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Points {
    /// Whether its elements are texts.
    pub(crate) text: bool,
    /// The dimensions of what it points at, the slowest-varying first. Without any, it is a text, or one value.
    pub(crate) dims: Vec<Length>,
}

/// A part of a field that may be there or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Part {
    #[default]
    Same,
    None,
    Text(Box<str>),
}

impl Overlay {
    /// Reads an overlay. Its name is for errors.
    ///
    /// # Errors
    /// [`Code::Text`] at the overlay, record and field; [`Code::MessageSize`].
    pub fn parse(name: &str, text: &str) -> Result<Overlay> {
        if text.len() > MAX {
            return Err(Error::new(Code::MessageSize)
                .at(name)
                .expected(format!("at most {MAX} bytes"))
                .found(text.len()));
        }
        let mut records = BTreeMap::new();
        for (record, changes) in members(name, &Json::parse(Faults::new(name, text))?)? {
            let at = format!("{name}.{record}");
            let mut parsed = Record::default();
            for (word, value) in members(&at, changes)? {
                match &**word {
                    "name" => parsed.name = Some(new_name(&at, value)?),
                    "fields" => {
                        for (field, change) in members(&at, value)? {
                            parsed.fields.insert(field.clone(), Change::parse(&format!("{at}.{field}"), change)?);
                        }
                    }
                    _ => return Err(unknown(&at, word, "name or fields")),
                }
            }
            records.insert(record.clone(), parsed);
        }
        Ok(Overlay { name: name.into(), records })
    }

    /// Reads the overlay in a file.
    ///
    /// # Errors
    /// [`Code::Source`] if the file cannot be read; and as [`Overlay::parse`].
    pub fn read(file: &Path) -> Result<Overlay> {
        let (name, text) = Overlay::text_of(file)?;
        Overlay::parse(&name, &text)
    }

    /// The name for errors and the text of an overlay in a file.
    pub(crate) fn text_of(file: &Path) -> Result<(String, String)> {
        let name = file.display().to_string();
        let failed = |error: std::io::Error| Error::new(Code::Source).at(&*name).expected("an overlay").found(error);
        let mut text = String::new();
        File::open(file).and_then(|opened| opened.take(MAX as u64 + 1).read_to_string(&mut text)).map_err(failed)?;
        Ok((name, text))
    }

    /// Changes declarations.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for a record or field that is not there; [`Code::Declaration`] for what no record can be, such as an array without
    /// its length; [`Code::Text`] for a default that is not a value of its field; the error of a record that cannot be represented. Their path is
    /// the overlay, the record and the field.
    pub fn over(&self, declarations: Declarations) -> Result<Declarations> {
        let mut changes: HashMap<usize, &Record> = HashMap::new();
        for (record, change) in &self.records {
            let at = format!("{}.{record}", self.name);
            let place = declarations.table().find(record).map_err(|error| error.at(&*at))?;
            if changes.insert(place, change).is_some() {
                let error = Error::new(Code::Declaration).at(at).expected("one name of each record");
                return Err(error.found("a second"));
            }
        }
        let strict = declarations.is_strict();
        let (mut records, left_out) = declarations.into_parts();
        for (place, record) in records.iter_mut().enumerate() {
            let Some(changes) = changes.get(&place) else { continue };
            // One whose fields change is what the receiver is about: it is refused if it cannot be represented.
            let mut declaration = self.record(record.declaration.clone()?, changes)?;
            if let Some(name) = &changes.name {
                record.scope.is_renamed = *name != record.name;
                (record.name, declaration.name) = (name.clone(), name.clone());
            }
            record.declaration = Ok(declaration);
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        records.iter().for_each(|record| *counts.entry(&record.name).or_default() += 1);
        if let Some(name) =
            changes.values().filter_map(|changes| changes.name.as_ref()).find(|name| counts[&***name] > 1)
        {
            let error = Error::new(Code::Declaration).at(&*self.name).expected("records of different names");
            return Err(error.found(format!("two records {name}")));
        }
        let places: Vec<Box<str>> = records.iter().map(|record| record.scope.place.clone()).collect();
        Ok(Declarations::of(records, &|place| places[place].clone()).with(left_out, strict))
    }

    /// Changes the fields of a record.
    fn record(&self, declaration: Declaration, changes: &Record) -> Result<Declaration> {
        let path = |field: &str| format!("{}.{}.{field}", self.name, declaration.name);
        let there: HashMap<Box<str>, Type> =
            declaration.fields.iter().map(|field| (field.name.clone(), field.kind.clone())).collect();
        if let Some(unknown) = changes.fields.keys().find(|field| !there.contains_key(&***field)) {
            let known: Vec<&str> = declaration.fields.iter().map(|field| &*field.name).take(24).collect();
            let error = Error::new(Code::NoSuchField).at(path(unknown));
            return Err(error.expected(format!("one of the fields {}", known.join(", "))).found(&**unknown));
        }
        let mut declaration = declaration;
        for field in &mut declaration.fields {
            if let Some(Change::Set { pointer: Some(points), .. }) = changes.fields.get(&*field.name) {
                let at = format!("{}.{}.{}", self.name, declaration.name, field.name);
                points.check(&at, &mut |name| there.get(name).map(is_length))?;
                field.kind = points.of(field, &at)?;
                field.pointer = None;
            }
        }
        let path = |field: &str| format!("{}.{}.{field}", self.name, declaration.name);
        let is_dropped = |field: &Field| changes.fields.get(&*field.name) == Some(&Change::Drop);
        let (dropped, mut kept): (Vec<Field>, Vec<Field>) = declaration.fields.into_iter().partition(is_dropped);
        // Lengths that the document does not show go with the last of their arrays.
        let needed: HashSet<Box<str>> = kept.iter().flat_map(lengths).collect();
        let were: HashSet<Box<str>> = dropped.iter().flat_map(lengths).collect();
        kept.retain(|field| {
            field.mark.origin != Origin::Length || needed.contains(&field.name) || !were.contains(&field.name)
        });
        if let Some(length) = dropped.iter().find(|field| needed.contains(&field.name)) {
            let array = kept.iter().find(|field| lengths(field).any(|name| name == length.name));
            let array = array.map_or("", |array| &array.name);
            let error = Error::new(Code::Declaration).at(path(&length.name)).expected("a field that is no length");
            return Err(error.found(format!("the length of {array}")));
        }
        if kept.is_empty() {
            let error = Error::new(Code::Declaration).at(format!("{}.{}", self.name, declaration.name));
            return Err(error.expected("a record with a field").found("each field dropped"));
        }
        let names: HashMap<&str, &str> = (changes.fields.iter())
            .filter_map(|(field, change)| match change {
                Change::Set { name: Some(new), .. } => Some((&**field, &**new)),
                _ => None,
            })
            .collect();
        let mut taken = HashSet::new();
        for field in &mut kept {
            for length in &mut field.kind.dims {
                if let Length::Field(name) = length
                    && let Some(new) = names.get(&**name)
                {
                    *name = (*new).into();
                }
            }
            let old = field.name.clone();
            if let Some(Change::Set { name, unit, default, .. }) = changes.fields.get(&*old) {
                if let Some(name) = name {
                    field.name.clone_from(name);
                }
                unit.put(&mut field.unit);
                default.put(&mut field.default);
                if let Part::Text(text) = default {
                    lexical::value(&field.kind, field.unit.as_deref(), text).map_err(|error| error.at(path(&old)))?;
                }
                field.alias = name.as_ref().map(|_| old.clone());
            }
            if !taken.insert(field.name.clone()) {
                let error = Error::new(Code::Declaration).at(path(&old)).expected("fields of different names");
                return Err(error.found(format!("two fields {}", field.name)));
            }
        }
        // A name that another field has means that field.
        for field in &mut kept {
            field.alias.take_if(|old| taken.contains(old) || Rules::check_alias(old).is_err());
        }
        Ok(Declaration { fields: kept, ..declaration })
    }
}

/// Whether a field of this type can be a length.
fn is_length(kind: &Type) -> bool {
    matches!(kind.kind, Kind::Integer { .. }) && kind.dims.is_empty() && !kind.pointer
}

/// The error of a length that is not there, or is no integer.
pub(crate) fn no_length(at: &str, name: &str, is_there: bool) -> Error {
    let code = if is_there { Code::Declaration } else { Code::NoSuchField };
    Error::new(code).at(at).expected("an integer field of the record as the length").found(name)
}

/// The fields that state how many elements an array has.
fn lengths(field: &Field) -> impl Iterator<Item = Box<str>> + '_ {
    field.kind.dims.iter().filter_map(|length| match length {
        Length::Field(name) => Some(name.clone()),
        Length::Fixed(_) => None,
    })
}

impl Change {
    fn parse(at: &str, json: &Json) -> Result<Change> {
        if *json == Json::Null {
            return Ok(Change::Drop);
        }
        let (mut new, mut unit, mut default, mut pointer) = (None, Part::Same, Part::Same, None);
        for (word, value) in members(at, json)? {
            match &**word {
                "name" => new = Some(new_name(at, value)?),
                "unit" => unit = Part::parse(at, value, false)?,
                "default" => default = Part::parse(at, value, true)?,
                "pointer" => pointer = Some(Points::parse(at, value)?),
                _ => return Err(unknown(at, word, "name, unit, default or pointer")),
            }
        }
        Ok(Change::Set { name: new, unit, default, pointer })
    }
}

impl Points {
    fn parse(at: &str, json: &Json) -> Result<Points> {
        let fault = |found: &dyn std::fmt::Display| {
            let expected = "text, one, or dimensions such as [n], [ny][3] and text[n]";
            Error::new(Code::Text).at(at).expected(expected).found(found)
        };
        let Json::Text(text) = json else { return Err(fault(&json.sort())) };
        if &**text == "one" {
            return Ok(Points { text: false, dims: Vec::new() });
        }
        let (is_text, mut rest) = match text.strip_prefix("text") {
            Some(rest) => (true, rest),
            None => (false, &**text),
        };
        let mut dims = Vec::new();
        while let Some((length, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let length = length.trim();
            match length.parse::<usize>() {
                Ok(0) => return Err(fault(text)),
                Ok(number) => dims.push(Length::Fixed(number)),
                Err(_) if length.is_empty() || length.starts_with(|c: char| c.is_ascii_digit()) => {
                    return Err(fault(text));
                }
                Err(_) => dims.push(Length::Field(length.into())),
            }
            rest = behind;
        }
        match rest.is_empty() && (is_text || !dims.is_empty()) && dims.len() <= 8 {
            true => Ok(Points { text: is_text, dims }),
            false => Err(fault(text)),
        }
    }

    /// Whether its lengths are integers of the record. `is_length` is `None` for a field that is not there.
    pub(crate) fn check(&self, at: &str, is_length: &mut dyn FnMut(&str) -> Option<bool>) -> Result<()> {
        for dim in &self.dims {
            let Length::Field(name) = dim else { continue };
            let found = is_length(name);
            if found != Some(true) {
                return Err(no_length(at, name, found.is_some()));
            }
        }
        Ok(())
    }

    /// The type of a field of a document that is such a pointer.
    fn of(&self, field: &Field, at: &str) -> Result<Type> {
        let fault = |expected: &str| Error::new(Code::Declaration).at(at).expected(expected);
        let Some(Pointer { to, refused }) = &field.pointer else {
            if self.text && self.dims.is_empty() && field.kind.kind == Kind::String {
                return Ok(field.kind.clone()); // as the document has it already
            }
            return Err(fault("a pointer of a C header").found(&field.kind));
        };
        let Some(to) = to else {
            return Err(refused.clone().unwrap_or_else(|| fault("a pointer to what a record can have")));
        };
        let character = if self.dims.is_empty() { Kind::Char } else { Kind::String };
        let is_text = to.kind == character && to.dims.is_empty();
        if self.text && !is_text {
            return Err(fault("a pointer to characters").found(to));
        }
        let kind = if self.text { Kind::String } else { to.kind.clone() };
        let dims: Box<[Length]> = match self.text {
            true => self.dims.clone().into(),
            false => self.dims.iter().chain(&to.dims).cloned().collect(),
        };
        let is_dynamic = dims.iter().any(|dim| matches!(dim, Length::Field(_)));
        // A text is a pointer itself, as is what has a length.
        let is_pointer_itself = is_dynamic || self.text && self.dims.is_empty();
        Ok(Type { kind, dims, pointer: !is_pointer_itself })
    }
}

impl Part {
    /// Numbers stay as they are written, where they may be.
    fn parse(at: &str, json: &Json, scalars: bool) -> Result<Part> {
        match json {
            Json::Null => Ok(Part::None),
            Json::Text(text) => Ok(Part::Text(text.clone())),
            Json::Number(text) if scalars => Ok(Part::Text(text.clone())),
            Json::Boolean(value) if scalars => Ok(Part::Text(value.to_string().into())),
            other => {
                let expected = if scalars { "a text, a number, a boolean or null" } else { "a text or null" };
                Err(Error::new(Code::Text).at(at).expected(expected).found(other.sort()))
            }
        }
    }

    pub(crate) fn put(&self, place: &mut Option<Box<str>>) {
        match self {
            Part::Same => {}
            Part::None => *place = None,
            Part::Text(text) => *place = Some(text.clone()),
        }
    }
}

fn new_name(at: &str, json: &Json) -> Result<Box<str>> {
    match json {
        Json::Text(name) if !name.is_empty() => Ok(name.clone()),
        Json::Text(_) => Err(Error::new(Code::Text).at(at).expected("a name").found("an empty text")),
        other => Err(Error::new(Code::Text).at(at).expected("a name, as a text").found(other.sort())),
    }
}

/// The members of an object. None comes twice.
fn members<'j>(at: &str, json: &'j Json) -> Result<&'j [(Box<str>, Json)]> {
    match json {
        Json::Object(members) => Ok(&members.list),
        other => Err(Error::new(Code::Text).at(at).expected("an object").found(other.sort())),
    }
}

fn unknown(at: &str, word: &str, expected: &str) -> Error {
    Error::new(Code::Text).at(at).expected(expected).found(word)
}
