//! JSON for people: what fits on a line stands on one.

use serde_json::Value;

const WIDTH: usize = 118;

pub(crate) fn lines(value: &Value) -> String {
    at(value, 0, 0)
}

/// `indent` spaces stand before the line, and `used` more characters on it.
fn at(value: &Value, indent: usize, used: usize) -> String {
    let whole = line(value);
    if indent + used + whole.len() < WIDTH {
        return whole;
    }
    let inner = indent + 2;
    let (open, close, parts): (char, char, Vec<String>) = match value {
        Value::Object(entries) => {
            let part = |(name, value): (&String, &Value)| {
                let name = format!("\"{name}\": ");
                let value = at(value, inner, name.len());
                name + &value
            };
            ('{', '}', entries.iter().map(part).collect())
        }
        Value::Array(elements) => ('[', ']', elements.iter().map(|element| at(element, inner, 0)).collect()),
        _ => return whole,
    };
    let between = format!(",\n{:inner$}", "");
    format!("{open}\n{:inner$}{}\n{:indent$}{close}", "", parts.join(&between), "")
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entry = |(name, value): (&String, &Value)| format!("\"{name}\": {}", line(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
