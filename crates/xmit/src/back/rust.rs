//! Rust: structs with `#[derive(isoform::Record)]`, which own what their pointers lead to.

use super::{Back, Names, Taken, enumeration_name, fault, follows, is_shown};
use crate::declaration::{Declaration, Field};
use crate::lexical;
use isoform_core::declare::{Kind, Length, Width};
use isoform_core::{Error, FloatKind, Result, Value};
use std::collections::HashSet;
use std::fmt::Write;

/// Words that are no names.
const WORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let \
    loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type typeof unsafe unsized use \
    virtual where while yield union Option Box Vec String";

const NAMES: Names = Names { words: WORDS, before: "x", behind: "_" };

pub(super) struct Rust;

impl Back for Rust {
    fn word(&self) -> &'static str {
        "rust"
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut out = String::from("// Records that a document declares.\n");
        let mut names = Taken::default();
        // Names of records come first: those of enumerations give way to them.
        for record in records {
            names.add(&record.name, NAMES.of(&record.name), "Rust")?;
        }
        let mut owning = HashSet::new();
        let mut has_arrays = false;
        for record in records {
            let owns = record.fields.iter().any(|field| owns(field, &owning));
            has_arrays |= record.fields.iter().any(is_dynamic);
            if owns {
                owning.insert(&*record.name);
            }
            structure(&mut out, record, owns, &mut names)?;
        }
        if has_arrays {
            out.push_str("\n// The lengths of arrays have 8 bytes in the document, and those of a machine in Rust.\nconst _: () = assert!(size_of::<usize>() == 8);\n");
        }
        Ok(out)
    }
}

fn is_dynamic(field: &Field) -> bool {
    field.kind.dims.iter().any(|length| matches!(length, Length::Field(_)))
}

fn owns(field: &Field, owning: &HashSet<&str>) -> bool {
    let inner = match &field.kind.kind {
        Kind::String => true,
        Kind::Structure(name) => owning.contains(&**name),
        _ => false,
    };
    inner || field.kind.pointer || is_dynamic(field)
}

fn structure(out: &mut String, record: &Declaration, owns: bool, names: &mut Taken) -> Result<()> {
    let (mut fields, mut enumerations) = (String::new(), String::new());
    let mut taken = Taken::default();
    for (index, field) in record.fields.iter().enumerate() {
        let at = |error: Error| error.at(format!("{}.{}", record.name, field.name));
        if !is_shown(record, index, 8).map_err(at)? {
            continue;
        }
        let name = NAMES.of(&field.name);
        taken.add(&field.name, name.clone(), "Rust").map_err(at)?;
        let kind = field_type(&mut enumerations, record, field, names).map_err(at)?;
        prose(&mut fields, "    ", field.prose.as_deref());
        let mut attributes: Vec<String> = Vec::new();
        if name != *field.name {
            attributes.push(format!("rename = {:?}", field.name));
        }
        attributes.extend(field.unit.iter().map(|unit| format!("unit = {unit:?}")));
        if let Some(length) = follows(record, index).filter(|length| *length != format!("{}_len", field.name)) {
            attributes.push(format!("len = {length:?}"));
        }
        if let Some(text) = &field.default {
            attributes.push(format!("default = {}", default(record, field, text).map_err(at)?));
        }
        if !attributes.is_empty() {
            _ = writeln!(fields, "    #[isoform({})]", attributes.join(", "));
        }
        _ = writeln!(fields, "    pub {name}: {kind},");
    }
    let name = NAMES.of(&record.name);
    out.push_str(&enumerations);
    out.push('\n');
    prose(out, "", record.prose.as_deref());
    out.push_str("#[derive(Clone, Debug, PartialEq, isoform::Record)]\n");
    let mut attributes: Vec<String> = Vec::new();
    if owns {
        attributes.push("owned".into());
    } else {
        out.push_str("#[repr(C)]\n");
    }
    if name != *record.name {
        attributes.push(format!("rename = {:?}", record.name));
    }
    if !attributes.is_empty() {
        _ = writeln!(out, "#[isoform({})]", attributes.join(", "));
    }
    _ = write!(out, "#[allow(non_camel_case_types, non_snake_case)]\npub struct {name} {{\n{fields}}}\n");
    Ok(())
}

fn field_type(out: &mut String, record: &Declaration, field: &Field, names: &mut Taken) -> Result<String> {
    let element = element(out, record, field, names)?;
    let dims = &field.kind.dims;
    let first_varies = matches!(dims.first(), Some(Length::Field(_)));
    let inner = dims.iter().skip(usize::from(first_varies)).rev().try_fold(element, |inner, length| match length {
        Length::Fixed(count) => Ok(format!("[{inner}; {count}]")),
        Length::Field(_) => Err(fault("an array in which only the first dimension varies", "another")),
    })?;
    match (field.kind.pointer, first_varies) {
        (true, _) if !dims.is_empty() => Err(fault("one value that may be absent", "an array that may be absent")),
        (true, _) => Ok(format!("Option<Box<{inner}>>")),
        (false, true) => Ok(format!("Vec<{inner}>")),
        (false, false)
            if field.kind.kind == Kind::String && dims.is_empty() && (field.mark.optional || field.mark.nil) =>
        {
            Ok("Option<String>".into())
        }
        (false, false) => Ok(inner),
    }
}

fn element(out: &mut String, record: &Declaration, field: &Field, names: &mut Taken) -> Result<String> {
    Ok(match &field.kind.kind {
        Kind::Integer { signed, width } => integer(*signed, *width)?,
        Kind::Float { kind: FloatKind::Ieee, width } => match width {
            Width::Bytes(4) => "f32".into(),
            Width::Bytes(8) | Width::Open => "f64".into(),
            Width::Bytes(2) => "isoform::F16".into(),
            Width::Bytes(16) => "isoform::F128".into(),
            other => return Err(fault("a float of 2, 4, 8 or 16 bytes", format_args!("{other:?}"))),
        },
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(4) } => "isoform::Complex<f32>".into(),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(8) } => "isoform::Complex<f64>".into(),
        Kind::Char => "isoform::Char".into(),
        Kind::Boolean { width: Width::Bytes(1) | Width::Open } => "bool".into(),
        Kind::String => "String".into(),
        Kind::Structure(name) => NAMES.of(name),
        Kind::Enumeration { signed, width, symbols } => {
            enumeration(out, record, field, names, integer(*signed, *width)?, symbols)?
        }
        other => return Err(fault("a type of Rust", format_args!("{other:?}"))),
    })
}

fn integer(signed: bool, width: Width) -> Result<String> {
    Ok(match width {
        Width::Bytes(bytes) => format!("{}{}", if signed { "i" } else { "u" }, u32::from(bytes) * 8),
        Width::Open => if signed { "i32" } else { "u32" }.into(),
        Width::Long => if signed { "std::ffi::c_long" } else { "std::ffi::c_ulong" }.into(),
        Width::Pointer => if signed { "isize" } else { "usize" }.into(),
    })
}

/// An enumeration has the name of its record and field, which no format has.
fn enumeration(
    out: &mut String,
    record: &Declaration,
    field: &Field,
    names: &mut Taken,
    integer: String,
    symbols: &[(Box<str>, i128)],
) -> Result<String> {
    let name = enumeration_name(&NAMES, record, field);
    names.add(&name, name.clone(), "Rust")?;
    _ = write!(
        out,
        "\n/// The values of {} in {}.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, isoform::Enumeration)]\n#[repr({integer})]\n\
         #[allow(non_camel_case_types, clippy::upper_case_acronyms)]\npub enum {name} {{\n",
        field.name, record.name
    );
    let mut taken = Taken::default();
    for (symbol, value) in symbols {
        let variant = NAMES.of(symbol);
        taken.add(symbol, variant.clone(), "Rust")?;
        if variant != **symbol {
            _ = writeln!(out, "    #[isoform(rename = {symbol:?})]");
        }
        _ = writeln!(out, "    {variant} = {value},");
    }
    out.push_str("}\n");
    Ok(name)
}

/// The value of a default in Rust.
fn default(record: &Declaration, field: &Field, text: &str) -> Result<String> {
    let is_float =
        matches!(field.kind.kind, Kind::Float { width: Width::Bytes(4) | Width::Bytes(8) | Width::Open, .. });
    Ok(match lexical::value(&field.kind, field.unit.as_deref(), text)? {
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Float(number) if is_float && number.is_finite() => format!("{number:?}"),
        Value::Float(number) if is_float => {
            let name = if number.is_nan() {
                "NAN"
            } else if number > 0.0 {
                "INFINITY"
            } else {
                "NEG_INFINITY"
            };
            format!(
                "{}::{name}",
                if matches!(field.kind.kind, Kind::Float { width: Width::Bytes(4), .. }) { "f32" } else { "f64" }
            )
        }
        Value::Symbol(symbol) => format!("{}::{}", enumeration_name(&NAMES, record, field), NAMES.of(&symbol)),
        Value::String(text) => format!("{:?}", String::from_utf8_lossy(&text)),
        other => return Err(fault("a default that Rust can have", other)),
    })
}

fn prose(out: &mut String, indent: &str, prose: Option<&str>) {
    if let Some(prose) = prose {
        let words: Vec<&str> = prose.split_whitespace().collect();
        _ = writeln!(out, "{indent}/// {}", words.join(" "));
    }
}
