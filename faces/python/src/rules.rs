//! The rules for a receiver's fields, as Python passes them.

use crate::decoder::choice;
use crate::error::{raise, wrong_type};
use crate::record_type::RecordType;
use crate::value;
use isoform::{Code, Error, Format, Rules};
use isoform_dynamic::rules::{field, owner};
use pyo3::prelude::*;

/// What a rule looks like.
const RULE: &str = "rules such as (\"depth\", \"alias\", \"d\"), or (\"Sample\", \"depth\", \"alias\", \"d\")";

/// The rules of a type of records, those that are added, and the treatment of missing fields.
pub(crate) fn of(py: Python<'_>, kind: &RecordType, more: Option<&Bound<'_, PyAny>>, missing: &str) -> PyResult<Rules> {
    extended(kind, kind.rules(py)?, more, missing)
}

/// The same, for records that are encoded.
pub(crate) fn of_gaps(
    py: Python<'_>,
    kind: &RecordType,
    more: Option<&Bound<'_, PyAny>>,
    missing: &str,
) -> PyResult<Rules> {
    extended(kind, kind.gaps(py)?, more, missing)
}

fn extended(kind: &RecordType, own: Rules, more: Option<&Bound<'_, PyAny>>, missing: &str) -> PyResult<Rules> {
    let own = own.missing(choice(missing)?);
    more.into_iter().try_fold(own, |rules, more| add(rules, kind.format(), more))
}

/// Adds rules. Each has a field, the kind of rule, and its value. The field is a path, `("com.x", "alias", "x")`, or a
/// structure and the name of a field there: `("Point", "x", "alias", "x")`.
pub(crate) fn add(mut rules: Rules, format: &Format, said: &Bound<'_, PyAny>) -> PyResult<Rules> {
    let refused = |found: &Bound<'_, PyAny>| raise(wrong_type(RULE, found).at("rules"));
    for rule in said.try_iter().map_err(|_| refused(said))? {
        let rule = rule?;
        let (structure, name, word, what) = match rule.extract::<(String, String, String, Bound<'_, PyAny>)>() {
            Ok(rule) => rule,
            Err(_) => {
                let (path, word, what) = rule.extract::<(String, String, _)>().map_err(|_| refused(&rule))?;
                let (structure, name) = owner(format, &path).map_err(raise)?;
                (structure.name().to_owned(), name.to_owned(), word, what)
            }
        };
        let field = field(format, &structure, &name).map_err(raise)?;
        rules = match &*word {
            "alias" => {
                let alias: String = what.extract().map_err(|_| raise(wrong_type("a name", &what).at(&*word)))?;
                Rules::check_alias(&alias).map_err(|error| raise(error.at(format!("{structure}.{name}"))))?;
                rules.alias(&structure, &name, &alias)
            }
            "required" | "zero" if !what.is_truthy()? => rules,
            "required" => rules.required(&structure, &name),
            "zero" => rules.default_zero(&structure, &name),
            "default" => {
                let outer = format!("{structure}.{name}");
                let value = value::of_field(field, &what).map_err(|error| value::named(what.py(), error, &outer))?;
                rules.default(&structure, &name, value)
            }
            _ => {
                let error = Error::new(Code::WrongType).at("rules").expected("alias, required, default or zero");
                return Err(raise(error.found(word)));
            }
        };
    }
    Ok(rules)
}
