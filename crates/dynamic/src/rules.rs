//! The rules of a receiver, by the names of structures and fields.

use isoform::core::{Element, Field, Structure};
use isoform::{Code, Error, Format, Result, Rules, text::json};

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
pub struct Wishes(Vec<Wish>);

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
    Required,
}

impl Wishes {
    /// Creates empty rules.
    #[expect(clippy::new_without_default, reason = "`default` gives a field its value")]
    pub fn new() -> Wishes {
        Wishes(Vec::new())
    }

    /// Adds another name under which the field may arrive.
    pub fn alias(&mut self, structure: &str, field: &str, alias: &str) {
        self.add(structure, field, What::Alias(alias.into()));
    }

    /// Sets the value of the field, as JSON, for senders that lack it.
    pub fn default(&mut self, structure: &str, field: &str, json: &str) {
        self.add(structure, field, What::Default(json.into()));
    }

    /// Refuses formats without the field.
    pub fn required(&mut self, structure: &str, field: &str) {
        self.add(structure, field, What::Required);
    }

    fn add(&mut self, structure: &str, field: &str, what: What) {
        self.0.push(Wish { structure: structure.into(), field: field.into(), what });
    }

    /// The rules, for records of a format.
    ///
    /// # Errors
    /// As [`field`]; [`Code::Text`] for a default that its field cannot have.
    pub fn of(&self, format: &Format) -> Result<Rules> {
        let mut rules = Rules::new();
        for Wish { structure, field: name, what } in &self.0 {
            let field = field(format, structure, name)?;
            rules = match what {
                What::Alias(alias) => rules.alias(structure, name, alias),
                What::Required => rules.required(structure, name),
                What::Default(json) => {
                    let value = json::parse_field(field, json);
                    rules.default(structure, name, value.map_err(|error| error.at(format!("{structure}.{name}")))?)
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
    let found = find(format.structure(), structure).and_then(|structure| structure.field(name));
    found.ok_or_else(|| {
        Error::new(Code::NoSuchField).at(format!("{structure}.{name}")).expected("a field of the format")
    })
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
    }
}
