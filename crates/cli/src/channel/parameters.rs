//! Values of parameters from the command line: a JSON object.

use crate::failure::Failure;
use isoform::core::{Layout, Shape, text, value};
use isoform_channel::Parameters;
use serde_json::Value;

/// The values in an object. Numbers, booleans and text have types of their own, which the source converts to its own.
pub(super) fn of(json: &str) -> Result<Parameters, Failure> {
    let wrong = |what: String| Failure::usage(what).about("--parameters");
    let object: Value = serde_json::from_str(json)
        .map_err(|error| wrong(format!("expected a JSON object, such as {{\"level\": 3}}: {error}")))?;
    let shape = shape("parameters", &object).map_err(wrong)?;
    let record = || {
        let format = shape.on(&Layout::NATIVE)?;
        let body = value::body(&format, &text::json::parse(&format, json)?)?;
        Parameters::new(&format, &body)
    };
    record().map_err(|error| wrong(error.to_string()))
}

/// The type of a record with the members of an object.
fn shape(name: &str, object: &Value) -> Result<Shape, String> {
    let Value::Object(members) = object else {
        return Err(format!("expected a JSON object with {name}, such as {{\"level\": 3}}, found {object}"));
    };
    let mut all = Shape::new(name);
    for (field, member) in members {
        let kind = match member {
            Value::Object(_) => {
                // The structure's name tells it from other structures.
                let inner = format!("{name}_{field}");
                all = all.nested(shape(&inner, member)?);
                inner
            }
            Value::Array(elements) => {
                let kinds: Vec<&str> = elements.iter().filter_map(kind).collect();
                // Whole numbers beside others are such, too.
                let one = if kinds.contains(&"double") { "double" } else { kinds.first().copied().unwrap_or("double") };
                let fits = |kind: &&str| *kind == one || *kind == "long" && one == "double";
                if elements.is_empty() || kinds.len() < elements.len() || !kinds.iter().all(fits) {
                    return Err(format!("{field}: expected an array of numbers, booleans or texts, found {member}"));
                }
                format!("{one}[{}]", elements.len())
            }
            one => kind(one).ok_or_else(|| format!("{field}: expected a value, found {one}"))?.into(),
        };
        all = all.field(field.as_str(), &kind);
    }
    Ok(all)
}

/// The type of a single value.
fn kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_i64() => Some("long"),
        Value::Number(_) => Some("double"),
        Value::String(_) => Some("string"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_becomes_a_record() {
        let json =
            r#"{"level":3,"scale":0.5,"quantity":"depth","live":true,"region":[0.0,1.5],"corner":{"x":1,"y":-2}}"#;
        assert_eq!(of(json).unwrap().to_string(), json);
        assert_eq!(of(r#"{"region":[0,1.5]}"#).unwrap().to_string(), r#"{"region":[0.0,1.5]}"#);
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_field() {
        for (json, part) in [
            ("level=3", "--parameters: expected a JSON object, such as"),
            ("[3]", "expected a JSON object with parameters"),
            (r#"{"level":null}"#, "level: expected a value, found null"),
            (r#"{"steps":[1,"a"]}"#, "steps: expected an array of numbers, booleans or texts"),
            (r#"{"steps":[]}"#, "steps: expected an array of numbers, booleans or texts"),
            ("{}", "parameters"),
        ] {
            let error = format!("{:?}", of(json).unwrap_err());
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
