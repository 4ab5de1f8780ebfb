//! What a receiver changes of a document that is not its own (`spec/xmit.md`, "Overlay").

use crate::declaration::{Declaration, Declarations, Field};
use crate::documents::Faults;
use crate::front::json::Json;
use crate::markup::Origin;
use isoform_core::declare::{Kind, Length};
use isoform_core::{Code, Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The greatest overlay.
pub(crate) const MAX: usize = 1 << 20;

/// Changes of declarations: other names, units and defaults, and fields that are left out.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    name: Box<str>,
    records: BTreeMap<Box<str>, Record>,
}

/// The changes of a record.
#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    name: Option<Box<str>>,
    fields: BTreeMap<Box<str>, Change>,
}

/// What happens to a field.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    Drop,
    Set { name: Option<Box<str>>, unit: Part, default: Part },
}

/// A part of a field that may be there or not.
#[derive(Clone, Debug, Default, PartialEq)]
enum Part {
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
        for (record, changes) in members(name, &Json::parse(Faults { name, text })?)? {
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

    /// Changes declarations.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for a record or field that is not there; [`Code::Declaration`] for what no record can be, such as an array without
    /// its length; the error of a record that cannot be represented. Their path is the overlay, the record and the field.
    pub fn over(&self, declarations: Declarations) -> Result<Declarations> {
        for record in self.records.keys() {
            declarations.get(record).map_err(|error| match error.code() {
                Code::NoSuchField => error.at(format!("{}.{record}", self.name)),
                _ => error,
            })?;
        }
        let names: HashMap<&str, &str> =
            (self.records.iter()).filter_map(|(record, changes)| Some((&**record, changes.name.as_deref()?))).collect();
        let mut all = Declarations::default();
        let mut taken = HashSet::new();
        for (name, declaration) in declarations.into_list() {
            let changes = self.records.get(&*name);
            let name = names.get(&*name).map_or(name, |new| (*new).into());
            if !taken.insert(name.clone()) {
                let error = Error::new(Code::Declaration).at(&*self.name).expected("records of different names");
                return Err(error.found(format!("two records {name}")));
            }
            let declaration = match (declaration, changes) {
                (Ok(declaration), changes) => {
                    let mut declaration = match changes {
                        Some(changes) => self.record(declaration, changes)?,
                        None => declaration,
                    };
                    declaration.name.clone_from(&name);
                    for field in &mut declaration.fields {
                        if let Kind::Structure(inner) = &mut field.kind.kind
                            && let Some(new) = names.get(&**inner)
                        {
                            *inner = (*new).into();
                        }
                    }
                    Ok(declaration)
                }
                (refused, _) => refused,
            };
            all.add(name, declaration);
        }
        Ok(all)
    }

    /// Changes the fields of a record.
    fn record(&self, declaration: Declaration, changes: &Record) -> Result<Declaration> {
        let path = |field: &str| format!("{}.{}.{field}", self.name, declaration.name);
        let there: HashSet<&str> = declaration.fields.iter().map(|field| &*field.name).collect();
        if let Some(unknown) = changes.fields.keys().find(|field| !there.contains(&***field)) {
            let known: Vec<&str> = declaration.fields.iter().map(|field| &*field.name).take(24).collect();
            let error = Error::new(Code::NoSuchField).at(path(unknown));
            return Err(error.expected(format!("one of the fields {}", known.join(", "))).found(&**unknown));
        }
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
            if let Some(Change::Set { name, unit, default }) = changes.fields.get(&*old) {
                if let Some(name) = name {
                    field.name.clone_from(name);
                }
                unit.put(&mut field.unit);
                default.put(&mut field.default);
            }
            if !taken.insert(field.name.clone()) {
                let error = Error::new(Code::Declaration).at(path(&old)).expected("fields of different names");
                return Err(error.found(format!("two fields {}", field.name)));
            }
        }
        Ok(Declaration { fields: kept, ..declaration })
    }
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
        let (mut new, mut unit, mut default) = (None, Part::Same, Part::Same);
        for (word, value) in members(at, json)? {
            match &**word {
                "name" => new = Some(new_name(at, value)?),
                "unit" => unit = Part::parse(at, value, false)?,
                "default" => default = Part::parse(at, value, true)?,
                _ => return Err(unknown(at, word, "name, unit or default")),
            }
        }
        Ok(Change::Set { name: new, unit, default })
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

    fn put(&self, place: &mut Option<Box<str>>) {
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
