//! The rules for a receiver's fields, as Python passes them.

use crate::error::raise;
use crate::value;
use isoform::{Code, Error, Format, Rules};
use isoform_dynamic::rules::field;
use pyo3::prelude::*;

/// Adds rules. Each has the structure, the field, the kind of rule, and its value: `("Sample", "depth", "alias", "d")`.
pub(crate) fn add(mut rules: Rules, format: &Format, said: &Bound<'_, PyAny>) -> PyResult<Rules> {
    for rule in said.try_iter()? {
        let (structure, name, word, what): (String, String, String, Bound<'_, PyAny>) = rule?.extract()?;
        rules = match &*word {
            "alias" => {
                let alias: String = what.extract()?;
                Rules::check_alias(&alias).map_err(|error| raise(error.at(format!("{structure}.{name}"))))?;
                rules.alias(&structure, &name, &alias)
            }
            "required" => rules.required(&structure, &name),
            "zero" => rules.default_zero(&structure, &name),
            "default" => {
                let field = field(format, &structure, &name).map_err(raise)?;
                rules.default(&structure, &name, value::of_field(field, &what)?)
            }
            _ => {
                let error = Error::new(Code::WrongType).at("rules").expected("alias, required, default or zero");
                return Err(raise(error.found(word)));
            }
        };
    }
    Ok(rules)
}
