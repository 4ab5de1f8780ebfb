//! Whether two records, as JSON, are the same: numbers are compared as numbers, in all their digits.

use isoform::core::{Verifier, value};
use isoform::{Format, View, text::json};
use serde_json::Value;

/// That `came` is `expected`, a record of this format; else the path of the first difference, and what stands there in
/// each.
pub(crate) fn record(format: &Format, came: &Value, expected: &Value) -> Result<(), String> {
    let Err(difference) = check(came, expected, "") else { return Ok(()) };
    // Of a float of 16 bytes there may be several texts, which are compared by what they are read as (spec/text.md).
    let Some(read) = read(format, expected) else { return Err(difference) };
    compare(came, expected, &read, "")
}

/// The same of any JSON, digit by digit.
pub(crate) fn check(came: &Value, expected: &Value, path: &str) -> Result<(), String> {
    compare(came, expected, expected, path)
}

/// What a text of a record is read as, written again.
fn read(format: &Format, text: &Value) -> Option<Value> {
    let value = json::parse(format, &text.to_string()).ok()?;
    let bytes = value::body(format, &value).ok()?;
    let verifier = Verifier::new(format);
    serde_json::from_str(&json::line(View::new(verifier.verify(&bytes).ok()?))).ok()
}

/// Compares with `expected`, whose numbers may have the digits of `read` instead.
fn compare(came: &Value, expected: &Value, read: &Value, path: &str) -> Result<(), String> {
    match (came, expected) {
        (Value::Object(came), Value::Object(expected)) => {
            if let Some(name) = came.keys().find(|name| !expected.contains_key(*name)) {
                return Err(format!("{path}: expected no field {name}, found one"));
            }
            expected.iter().try_for_each(|(name, expected)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let came = came.get(name).ok_or_else(|| format!("{path}: expected {expected}, found no such field"))?;
                compare(came, expected, &read[name], &path)
            })
        }
        (Value::Array(came), Value::Array(expected)) if came.len() == expected.len() => {
            let mut pairs = came.iter().zip(expected).enumerate();
            pairs.try_for_each(|(i, (came, expected))| compare(came, expected, &read[i], &format!("{path}[{i}]")))
        }
        (Value::Number(number), Value::Number(other)) if digits(number.as_str()) == digits(other.as_str()) => Ok(()),
        (Value::Number(_), Value::Number(_)) if came == read => Ok(()),
        (came, expected) if came == expected => Ok(()),
        (came, expected) => Err(format!("{path}: expected {expected}, found {came}")),
    }
}

/// Whether it is negative, whether it is a float, its digits without zeros around them, and the power of ten of the last.
fn digits(number: &str) -> (bool, bool, String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) =
        mantissa.trim_start_matches('-').split_once('.').unwrap_or((mantissa.trim_start_matches('-'), ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let power =
        exponent.parse::<i64>().unwrap_or_default() - fraction.len() as i64 + (digits.len() - kept.len()) as i64;
    let kept = kept.trim_start_matches('0');
    let float = number.contains(['.', 'e', 'E']);
    (number.starts_with('-'), float, kept.into(), if kept.is_empty() { 0 } else { power })
}
