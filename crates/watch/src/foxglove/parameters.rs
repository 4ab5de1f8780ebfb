//! Parameters of sources, as viewers name them: `CHANNEL/SOURCE/FIELD`, with values as JSON.

use isoform::core::{text, value};
use isoform_channel::Parameters;
use serde_json::Value;

/// The values by their names. `source` is the name of the source.
pub(super) fn named(source: &str, values: &Parameters) -> Vec<(String, Value)> {
    match serde_json::from_str(&values.to_string()) {
        Ok(Value::Object(fields)) => {
            fields.into_iter().map(|(field, value)| (format!("{source}/{field}"), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The values with other ones in the place of some.
///
/// # Errors
/// Why they are none of this source, for people.
pub(super) fn changed(values: &Parameters, changes: &[(String, Value)]) -> Result<Parameters, String> {
    let mut all: Value = serde_json::from_str(&values.to_string()).map_err(|error| error.to_string())?;
    for (field, value) in changes {
        let known = all.get_mut(field).ok_or_else(|| format!("the source has no parameter {field}"))?;
        *known = value.clone();
    }
    let format = values.format();
    let made = || {
        let record = text::json::parse(format, &all.to_string())?;
        Parameters::new(format, &value::body(format, &record)?)
    };
    made().map_err(|error| error.to_string())
}
