//! What a receiver says of its fields beyond their layout, as Python hands it over.

use crate::error::raise;
use crate::value;
use isoform::core::{Element, Field, Structure};
use isoform::{Code, Error, Format, Rules};
use pyo3::prelude::*;
use std::sync::Arc;

/// Adds rules: for each, the structure, the field, what is said, and what it is: `("Sample", "depth", "alias", "d")`.
pub(crate) fn add(mut rules: Rules, format: &Format, said: &Bound<'_, PyAny>) -> PyResult<Rules> {
    for rule in said.try_iter()? {
        let (structure, name, word, what): (String, String, String, Bound<'_, PyAny>) = rule?.extract()?;
        rules = match &*word {
            "alias" => rules.alias(&structure, &name, &what.extract::<String>()?),
            "required" => rules.required(&structure, &name),
            "default" => {
                let field = field(format.structure(), &structure, &name);
                let unknown = || raise(Error::new(Code::NoSuchField).at(format!("{structure}.{name}")));
                rules.default(&structure, &name, value::of_field(&field.ok_or_else(unknown)?, &what)?)
            }
            _ => {
                let error = Error::new(Code::WrongType).at("rules").expected("alias, required or default");
                return Err(raise(error.came(word)));
            }
        };
    }
    Ok(rules)
}

/// A field of a structure, or of one nested in it.
fn field(within: &Arc<Structure>, structure: &str, name: &str) -> Option<Field> {
    if within.name() == structure {
        return within.field(name).cloned();
    }
    within.fields().iter().find_map(|nested| match &nested.element {
        Element::Structure(inner) => field(inner, structure, name),
        _ => None,
    })
}
