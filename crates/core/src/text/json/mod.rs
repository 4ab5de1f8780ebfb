//! Records as JSON: one object on each line, without losses in either direction.
//!
//! | element | JSON |
//! |---|---|
//! | integer | a number with all its digits; of 16 bytes, a string of them, as few readers of JSON could hold the number |
//! | float | the shortest number that is read back as the same of its kind; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | complex | `[real, imaginary]` |
//! | boolean | `true` or `false` |
//! | enumeration | the symbol, as a string |
//! | string | a string; `{"base64": "..."}` if its bytes are not UTF-8; `null` if there is none |
//! | char | the same, of at most one byte: NUL is `""` |
//! | structure | an object, with the fields in their order |
//!
//! Arrays of several dimensions are nested arrays; an array of variable length without elements is `[]`. The last
//! dimension of a `char` array is a string; if that dimension is fixed, without the NULs at its end. Pointers to single
//! elements and fixed arrays are their targets, or `null`.
//!
//! Control characters, and others that are not visible, are escaped. So a record is one line, and cannot send commands to a
//! terminal.

mod cursor;
mod entries;
mod out;
mod parse;
mod read;
mod write;

use crate::error::Result;
use crate::format::{Element, Field, Format};
use crate::plan::{Rules, check_default};
use crate::value::{self, Value};
use crate::view::View;
pub(crate) use entries::{ENTRY, Entries};
use out::Out;
use std::fmt::{self, Write as _};

/// Writes a record as one line of JSON, without the end of the line. It is written in pieces while it is read: the line
/// of a small body can be long, since it contains the names of all fields.
///
/// ```
/// use isoform_core::text::json;
/// use isoform_core::{Layout, Shape, Verifier, View, value};
/// let format = Shape::new("track").field("name", "string").field("n", "int").field("height", "float[n]");
/// let format = format.on(&Layout::SPARC)?;
/// let line = r#"{"name":"K2","n":2,"height":[5150.0,0.1]}"#;
/// let body = value::body(&format, &json::parse(&format, line)?)?;
/// let verifier = Verifier::new(&format);
///
/// let view = View::new(verifier.verify(&body)?);
/// let display = std::fmt::from_fn(|f| json::write(view, f)); // for whatever `write!` writes to
/// assert_eq!(format!("{display}"), line);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// Only those of `out`.
pub fn write(view: View<'_>, out: &mut impl fmt::Write) -> fmt::Result {
    let mut out = Out::to(out, write::expected(view));
    write::record(view, &mut out)?;
    out.finish()
}

/// The text that [`write()`] writes.
pub fn line(view: View<'_>) -> String {
    let mut out = Out::kept(write::expected(view));
    // Memory does not fail.
    let _ = write::record(view, &mut out);
    out.into_text()
}

/// Writes a text as a string of JSON, as [`write()`] does.
///
/// ```
/// let text = std::fmt::from_fn(|f| isoform_core::text::json::string("a \"b\"\n", f));
/// assert_eq!(text.to_string(), r#""a \"b\"\n""#);
/// ```
///
/// # Errors
/// Only those of `out`.
pub fn string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    write::string(text, out)
}

/// Some fields of a record as one line of JSON: an object with one entry for each path. A value is `null` behind a null
/// pointer, and beyond the end of an array of variable length.
///
/// ```
/// # use isoform_core::text::json;
/// # use isoform_core::{Layout, Shape, Verifier, View, value};
/// # let cell = Shape::new("cell").field("rho", "double").field("name", "string");
/// # let format = Shape::new("state").nested(cell).field("step", "int").field("grid", "cell[2]").on(&Layout::SPARC)?;
/// # let body = value::body(&format, &json::parse_partial(&format, r#"{"grid":[{"rho":0.5},{"rho":1.5}]}"#)?)?;
/// # let verifier = Verifier::new(&format);
/// # let view = View::new(verifier.verify(&body)?);
/// assert_eq!(json::fields(view, &["step", "grid[1].rho"])?.to_string(), r#"{"step":0,"grid[1].rho":1.5}"#);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// As [`View::find`], before anything is written.
pub fn fields<'a, P: AsRef<str>>(view: View<'a>, paths: &'a [P]) -> Result<impl fmt::Display + 'a> {
    let found = paths.iter().map(|path| match view.typed(path.as_ref()) {
        Ok((item, element)) => Ok(Some((item, element))),
        Err(_) => view.find(path.as_ref()).map(|_| None),
    });
    let found = found.collect::<Result<Vec<_>>>()?;
    Ok(fmt::from_fn(move |f| {
        let mut text = Out::to(f, 0);
        let out = &mut text;
        out.write_str("{")?;
        for (i, (path, found)) in paths.iter().zip(&found).enumerate() {
            write::label(i, path.as_ref(), out)?;
            match found {
                Some((item, element)) => write::item(*item, element, out)?,
                None => out.write_str("null")?,
            }
        }
        out.write_str("}")?;
        text.finish()
    }))
}

/// Parses a record from JSON. Every field must be there, except for these: the lengths of arrays, which follow from the
/// arrays, and pointers to single elements or fixed arrays, which become null. [`parse_with`] takes defaults.
///
/// Besides the output of [`write()`], integers of every size may be strings, and enumerations may be numbers. Objects
/// and arrays may be nested 127 levels deep.
///
/// # Errors
/// With the path of the field at fault: [`Code::Required`](crate::Code::Required) for missing fields, all of which are
/// named, and those of [`parse_partial`].
pub fn parse(format: &Format, text: &str) -> Result<Value> {
    parse_with(format, text, &Rules::new())
}

/// As [`parse()`], with the defaults of fields, and with the choice of what missing fields without a default become. Aliases
/// have no meaning here.
///
/// ```
/// use isoform_core::plan::Rules;
/// use isoform_core::{Layout, Shape, Value, text::json};
/// let format = Shape::new("point").field("x", "double").field("y", "double").on(&Layout::NATIVE)?;
/// let error = json::parse(&format, "{}").unwrap_err().to_string();
/// assert!(error.contains("a default, or the option missing = zero, for x (f64), y (f64)"));
///
/// let rules = Rules::new().default("point", "y", Value::Float(0.5));
/// let record = json::parse_with(&format, r#"{"x":1.5}"#, &rules)?;
/// assert_eq!(record, json::parse(&format, r#"{"x":1.5,"y":0.5}"#)?);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// As [`parse()`].
pub fn parse_with(format: &Format, text: &str, rules: &Rules) -> Result<Value> {
    let mut record = parse::record(format, text)?;
    value::complete(format, &mut record, rules)?;
    Ok(record)
}

/// The body of a record from JSON: what [`value::body`] makes of [`parse()`], but in a fraction of the time and the memory for a text
/// that has all entries in the order of the fields, as [`write()`] writes them.
///
/// ```
/// use isoform_core::{Layout, Shape, text::json, value};
/// let format = Shape::new("point").field("x", "double").field("y", "double").on(&Layout::NATIVE)?;
/// let line = r#"{"x":0.5,"y":1.5}"#;
/// assert_eq!(json::body(&format, line)?, value::body(&format, &json::parse(&format, line)?)?);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Errors
/// As [`parse()`] and [`value::body`].
pub fn body(format: &Format, text: &str) -> Result<Vec<u8>> {
    body_with(format, text, &Rules::new())
}

/// As [`body()`], with the defaults of fields, and with the choice of what missing fields become.
///
/// # Errors
/// As [`parse_with`] and [`value::body`].
pub fn body_with(format: &Format, text: &str, rules: &Rules) -> Result<Vec<u8>> {
    // Numbers are rounded by the processor, in the modes that the standard has.
    match isoform_kernels::ieee(|| read::body(format, text)) {
        Some(body) => Ok(body),
        None => value::body(format, &parse_with(format, text, rules)?),
    }
}

/// Parses those fields of a record that the JSON has, for programs that complete the record themselves. Fields that the JSON
/// lacks are not in the value. A body made from it has zero or null for them.
///
/// # Errors
/// With the path of the field at fault: [`Code::Text`](crate::Code::Text) for malformed JSON or a value that its field
/// cannot have, [`Code::NoSuchField`](crate::Code::NoSuchField), and [`Code::Overflow`](crate::Code::Overflow) or
/// [`Code::Underflow`](crate::Code::Underflow) for a floating-point number beyond its type. Creating a body checks the
/// range of integers and the lengths of arrays.
pub fn parse_partial(format: &Format, text: &str) -> Result<Value> {
    parse::record(format, text)
}

/// Parses the value of a single field from JSON.
///
/// ```
/// use isoform_core::{FieldList, Machine, Value, text::json};
/// # fn main() -> isoform_core::Result<()> {
/// let format = FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8)?;
/// let count = format.structure().field("count").expect("there is one");
/// assert_eq!(json::parse_field(count, "7")?, Value::Integer(7));
/// assert!(json::parse_field(count, "7, \"count\": 8").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`parse()`], with a path relative to the field.
pub fn parse_field(field: &Field, text: &str) -> Result<Value> {
    parse::value(field, text)
}

/// Parses the default of a field from JSON: its value; for a fixed array also one value for all elements.
///
/// # Errors
/// As [`parse_field`]; [`Code::Declaration`](crate::Code::Declaration) if the field cannot have this value as its default: a number
/// that it cannot hold, or anything but null behind a pointer.
pub fn parse_default(field: &Field, text: &str) -> Result<Value> {
    let whole = parse_field(field, text);
    // Text and lists are values of the whole array. If one of them is wrong, so is the array.
    let is_whole = field.dims.is_empty()
        || field.indirect
        || text.trim_start().starts_with(['[', '"']) && field.element != Element::String;
    let value = match whole {
        Err(_) if !is_whole => parse_field(&Field { dims: [].into(), ..field.clone() }, text)?,
        whole => whole?,
    };
    check_default(field, &value)?;
    Ok(value)
}
