//! The rules of a receiver, by the names of structures and fields.

use isoform::core::{Element, Field, Structure};
use isoform::{Code, Error, Format, Missing, Result, Rules, text::json};

/// Rules that are given before the format is known, since the meaning of a default depends on the type of its field.
///
/// ```
/// use isoform::core::{Layout, declare::Shape};
/// use isoform::Format;
/// use isoform_dynamic::rules::Wishes;
/// let format = Shape::parse("record Sample\n depth double").and_then(|shape| shape.on(&Layout::NATIVE))?;
/// let mut wishes = Wishes::new();
/// wishes.alias("Sample", "depth", "d");
/// wishes.default("Sample", "depth", "0.5");
/// assert_eq!(wishes.of(&format)?.of("Sample", "depth").unwrap().aliases.len(), 1);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wishes {
    wishes: Vec<Wish>,
    missing: Option<Missing>,
}

#[derive(Clone, Debug)]
struct Wish {
    structure: String,
    field: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Alias(String),
    Default(String),
    DefaultZero,
    Required,
}

impl Wishes {
    /// Creates empty rules.
    #[expect(clippy::new_without_default, reason = "`default` gives a field its value")]
    pub fn new() -> Wishes {
        Wishes { wishes: Vec::new(), missing: None }
    }

    /// Adds another name under which the field may arrive.
    pub fn alias(&mut self, structure: &str, field: &str, alias: &str) {
        self.add(structure, field, What::Alias(alias.into()));
    }

    /// Sets the value of the field, as JSON, for senders that lack it.
    pub fn default(&mut self, structure: &str, field: &str, json: &str) {
        self.add(structure, field, What::Default(json.into()));
    }

    /// Makes the field zero, null or empty for senders that lack it.
    pub fn default_zero(&mut self, structure: &str, field: &str) {
        self.add(structure, field, What::DefaultZero);
    }

    /// Sets the treatment of fields that have no default and that the sender lacks.
    pub fn missing(&mut self, missing: Missing) {
        self.missing = Some(missing);
    }

    /// Adds all of these, which go before those that are there.
    pub fn extend(&mut self, more: &Wishes) {
        self.wishes.extend(more.wishes.iter().cloned());
        self.missing = more.missing.or(self.missing);
    }

    /// Refuses formats without the field.
    pub fn required(&mut self, structure: &str, field: &str) {
        self.add(structure, field, What::Required);
    }

    fn add(&mut self, structure: &str, field: &str, what: What) {
        self.wishes.push(Wish { structure: structure.into(), field: field.into(), what });
    }

    /// The rules, for records of a format.
    ///
    /// # Errors
    /// As [`field`]; [`Code::Text`] for a default that its field cannot have.
    pub fn of(&self, format: &Format) -> Result<Rules> {
        let mut rules = Rules::new().missing(self.missing.unwrap_or_default());
        for Wish { structure, field: name, what } in &self.wishes {
            let field = field(format, structure, name)?;
            rules = match what {
                What::Alias(alias) => rules.alias(structure, name, alias),
                What::DefaultZero => rules.default_zero(structure, name),
                What::Required => rules.required(structure, name),
                What::Default(json) => {
                    let value = json::parse_default(field, json).map_err(|error| not_a_default(error, json));
                    rules.default(structure, name, value.map_err(|error| error.within(&format!("{structure}.{name}")))?)
                }
            };
        }
        Ok(rules)
    }
}

/// The field of a format's structure of this name, which may be nested.
///
/// # Errors
/// [`Code::NoSuchField`].
pub fn field<'f>(format: &'f Format, structure: &str, name: &str) -> Result<&'f Field> {
    let fault = || Error::new(Code::NoSuchField).at(format!("{structure}.{name}"));
    let Some(found) = find(format.structure(), structure) else {
        let expected = format_args!("a structure of the format, such as {}", format.name());
        return Err(fault().expected(expected).found(structure));
    };
    found.field(name).ok_or_else(|| fault().expected(names(found)).found(name))
}

/// The structure of the field at a path such as `com.x`, and the name of the field there.
///
/// # Errors
/// [`Code::NoSuchField`].
pub fn owner<'f>(format: &'f Format, path: &str) -> Result<(&'f Structure, &'f str)> {
    let steps = walk(format.structure(), path)?;
    let Some((structure, field)) = steps.last() else { return Err(Error::new(Code::NoSuchField)) };
    Ok((structure, &field.name))
}

/// The fields that a path such as `com.x` leads through, the outermost first, each with its structure.
///
/// # Errors
/// [`Code::NoSuchField`].
pub(crate) fn walk<'f>(mut structure: &'f Structure, path: &str) -> Result<Vec<(&'f Structure, &'f Field)>> {
    let fault = |expected: String, found: &str| Error::new(Code::NoSuchField).at(path).expected(expected).found(found);
    let mut steps: Vec<(&Structure, &Field)> = Vec::new();
    for step in path.split('.') {
        if let Some((_, outer)) = steps.last() {
            structure = match &outer.element {
                Element::Structure(inner) => inner,
                _ => return Err(fault("a nested record".into(), &outer.name)),
            };
        }
        if structure.field(step).is_none() && step.contains('[') {
            return Err(fault("a whole field, without an index".into(), step));
        }
        steps.push((structure, structure.field(step).ok_or_else(|| fault(names(structure), step))?));
    }
    Ok(steps)
}

/// The names of a structure's fields, for errors.
pub(crate) fn names(structure: &Structure) -> String {
    let names: Vec<&str> = structure.fields().iter().map(|field| &*field.name).collect();
    format!("one of {}", names.join(", "))
}

/// The error for a default that is not JSON says what it is instead.
fn not_a_default(error: Error, json: &str) -> Error {
    match error.position() {
        Some(_) => Error::new(error.code()).expected("JSON such as 1.5, \"text\" or [0, 1]").found(json),
        None => error,
    }
}

fn find<'f>(within: &'f Structure, name: &str) -> Option<&'f Structure> {
    if within.name() == name {
        return Some(within);
    }
    within.fields().iter().find_map(|field| match &field.element {
        Element::Structure(inner) => find(inner, name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::{Layout, declare::Shape};

    #[test]
    fn wishes_are_for_fields_that_are_there() {
        let shape = Shape::parse("record Point\n x double\nrecord Track\n ends Point[2]").unwrap();
        let format = shape.on(&Layout::NATIVE).unwrap();
        let mut wishes = Wishes::new();
        wishes.required("Point", "x");
        assert!(wishes.of(&format).unwrap().of("Point", "x").unwrap().required);
        wishes.default("Point", "x", "true");
        let fault = wishes.of(&format).unwrap_err();
        assert_eq!((fault.code(), fault.path()), (Code::Text, "Point.x"));
        for (structure, name) in [("Point", "z"), ("Line", "x")] {
            let fault = field(&format, structure, name).unwrap_err();
            assert_eq!((fault.code(), fault.path()), (Code::NoSuchField, &*format!("{structure}.{name}")));
        }
        let text = |structure, name| field(&format, structure, name).unwrap_err().to_string();
        assert_eq!(text("Point", "z"), "no such field at Point.z: expected one of x, found z");
        let none = "no such field at Line.x: expected a structure of the format, such as Track, found Line";
        assert_eq!(text("Line", "x"), none);
        let (structure, name) = owner(&format, "ends.x").unwrap();
        assert_eq!((structure.name(), name), ("Point", "x"));
        for (path, expected) in [("ends.z", "one of x"), ("end", "one of ends"), ("ends.x.y", "a nested record")] {
            let fault = owner(&format, path).unwrap_err();
            assert_eq!((fault.code(), fault.path(), fault.expectation()), (Code::NoSuchField, path, expected));
        }
    }

    #[test]
    fn the_error_for_a_default_that_is_not_json_shows_it() {
        let format = Shape::parse("record Point\n name string").unwrap().on(&Layout::NATIVE).unwrap();
        let mut wishes = Wishes::new();
        wishes.default("Point", "name", "none");
        let error = wishes.of(&format).unwrap_err().to_string();
        let shown = "malformed text at Point.name: expected JSON such as 1.5, \"text\" or [0, 1], found none";
        assert_eq!(error, shown);
    }

    #[test]
    fn a_default_that_its_field_cannot_hold_is_refused_when_it_is_declared() {
        let shape = Shape::parse(
            "record Sample\n count int8_t\n flags uint16_t[3]\n place char[5]\n state enumeration{off,on}\n n int\n depth float[n]",
        );
        let format = shape.unwrap().on(&Layout::NATIVE).unwrap();
        for (name, json, error) in [
            ("count", "300", "count: expected i8, found 300"),
            ("flags", "[0, -1, 0]", "flags[1]: expected u16, found -1"),
            ("flags", "70000", "flags: expected u16, found 70000"),
            ("flags", "[1, 2]", "flags: expected 3 elements, found 2"),
            ("place", "\"Interlaken\"", "place: expected at most 5 bytes, found 10"),
            ("state", "\"of\"", "state: expected one of off, on, found of"),
            ("state", "7", "state: expected one of off, on, found 7"),
            ("depth", "[1]", "depth: expected null, the only default behind a pointer, found an array of 1"),
        ] {
            let mut wishes = Wishes::new();
            wishes.default("Sample", name, json);
            let fault = wishes.of(&format).unwrap_err();
            assert_eq!(fault.to_string(), format!("invalid declaration at Sample.{error}"));
        }
        let mut wishes = Wishes::new();
        for (name, json) in [("count", "-128"), ("flags", "65535"), ("flags", "[1, 2, 3]"), ("place", "\"Bern\"")] {
            wishes.default("Sample", name, json);
        }
        wishes.default("Sample", "state", "\"on\"");
        wishes.default("Sample", "depth", "null");
        assert!(wishes.of(&format).is_ok());
    }
}
