//! Python: dataclasses that are records of the package `isoform`, and dtypes for those that NumPy can have.

use super::{Back, Names, Taken, enumeration_name, fault, follows};
use crate::declaration::{Declaration, Field};
use crate::lexical;
use isoform_core::declare::{Kind, Length, Width};
use isoform_core::{Error, FloatKind, Result, Value};
use std::collections::HashSet;
use std::fmt::Write;

/// Words that are no names.
const KEYWORDS: &str = "False None True and as assert async await break class continue def del elif else except finally for from global if import \
    in is lambda nonlocal not or pass raise return try while with yield _";

/// Names that the code uses, which a class and a field may not take away.
const USED: &str =
    "Annotated Any Optional dataclass enum isoform np int float bool str list complex property setattr object super";

const NAMES: Names = Names { words: KEYWORDS, before: "x", behind: "_" };

pub(super) struct Python;

/// How a field is written.
struct Attribute {
    annotation: String,
    default: Option<String>,
}

impl Back for Python {
    fn word(&self) -> &'static str {
        "python"
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut body = String::new();
        let mut names = Taken::default();
        for record in records {
            names.add(&record.name, class(&record.name), "Python")?;
        }
        let mut flat = HashSet::new();
        for record in records {
            structure(&mut body, record, &mut names)?;
            if record.fields.iter().all(|field| is_flat(field, &flat)) {
                flat.insert(&*record.name);
                let dtype = format!("{}_dtype", class(&record.name));
                names.add(&record.name, dtype.clone(), "Python")?;
                _ = write!(body, "\n\n{dtype}: np.dtype[Any] = isoform.Format.of({}).dtype\n", class(&record.name));
            }
        }
        let mut out = String::from("\"\"\"Records that a document declares.\"\"\"\n\n");
        if body.contains("enum.Enum") {
            out.push_str("import enum\n");
        }
        out.push_str("from dataclasses import dataclass\n");
        let typing: Vec<&str> = ["Annotated", "Any", "Optional"]
            .into_iter()
            .filter(|name| body.contains(&format!("{name}[")) || *name == "Any" && body.contains("[Any]"))
            .collect();
        if !typing.is_empty() {
            _ = writeln!(out, "from typing import {}", typing.join(", "));
        }
        let has = |word: &str| body.contains(word);
        if has("isoform.") || has("np.") {
            out.push('\n');
        }
        if has("isoform.") {
            out.push_str("import isoform\n");
        }
        if has("isoform.declare.") {
            out.push_str("import isoform.declare\n");
        }
        if has("np.") {
            out.push_str("import numpy as np\n");
        }
        Ok(out + &body)
    }
}

/// The name of a class.
fn class(name: &str) -> String {
    let name = NAMES.of(name);
    if USED.split_whitespace().chain(["type", "object"]).any(|word| word == name) { name + "_" } else { name }
}

fn structure(out: &mut String, record: &Declaration, names: &mut Taken) -> Result<()> {
    let mut fields = String::new();
    let (mut has_default, mut keywords) = (false, false);
    for (index, field) in record.fields.iter().enumerate() {
        let at = |error: Error| error.at(format!("{}.{}", record.name, field.name));
        if is_implied(record, index) {
            continue;
        }
        let name = &*field.name;
        let is_name = NAMES.of(name) == name && !USED.split_whitespace().any(|word| word == name);
        // Within a class, Python gives another name to one that begins so.
        if !is_name || name.starts_with("__") {
            return Err(at(fault("a name that an attribute can have in Python", name)));
        }
        let attribute = attribute(out, record, index, names).map_err(at)?;
        keywords |= has_default && attribute.default.is_none();
        has_default |= attribute.default.is_some();
        if let Some(prose) = &field.prose {
            _ = writeln!(fields, "    #: {}", words(prose));
        }
        let default = attribute.default.map(|default| format!(" = {default}")).unwrap_or_default();
        _ = writeln!(fields, "    {name}: {}{default}", attribute.annotation);
    }
    // Before Python 3.10, a field without a default cannot follow one that has it.
    let arguments = if keywords { "(kw_only=True)" } else { "" };
    let name = class(&record.name);
    _ = write!(out, "\n\n@dataclass{arguments}\nclass {name}:\n");
    if let Some(prose) = &record.prose {
        _ = write!(out, "    \"\"\"{}\"\"\"\n\n", prose_text(prose));
    }
    out.push_str(&fields);
    if name != *record.name {
        _ = write!(out, "\n\n{name}.__name__ = {}\n", quoted(&record.name));
    }
    Ok(())
}

/// Whether a field is the length of the one before it, which the class of Python has by itself.
fn is_implied(record: &Declaration, index: usize) -> bool {
    let field = &record.fields[index];
    let uses = record.fields.iter().flat_map(|array| &array.kind.dims);
    let uses = uses.filter(|length| matches!(length, Length::Field(name) if *name == field.name)).count();
    uses == 1
        && index > 0
        && follows(record, index - 1).is_some()
        && matches!(field.kind.kind, Kind::Integer { signed: false, width: Width::Bytes(8) })
        && field.unit.is_none()
        && field.default.is_none()
}

fn attribute(out: &mut String, record: &Declaration, index: usize, names: &mut Taken) -> Result<Attribute> {
    let field = &record.fields[index];
    let (element, mut words) = element(out, record, field, names)?;
    let dims = &field.kind.dims;
    let mut notes: Vec<String> = Vec::new();
    let varies = dims.iter().any(|length| matches!(length, Length::Field(_)));
    let python = match (dims.is_empty(), varies) {
        (true, _) => element,
        (false, true) if dims.len() > 1 => {
            return Err(fault("an array with one dimension, or fixed ones", &field.kind));
        }
        (false, true) => {
            if let Some(Length::Field(length)) = dims
                .first()
                .filter(|length| !matches!(length, Length::Field(name) if **name == format!("{}_len", field.name)))
            {
                notes.push(format!("isoform.length({})", quoted(length)));
            }
            format!("list[{element}]")
        }
        (false, false) => {
            let lengths: Vec<String> = dims
                .iter()
                .map(|length| match length {
                    Length::Fixed(count) => count.to_string(),
                    Length::Field(name) => name.to_string(),
                })
                .collect();
            // Text of fixed size is one text.
            let is_text = field.kind.kind == Kind::Char;
            words = Some(format!("{}[{}]", words.unwrap_or_else(|| "isoform.fixed".into()), lengths.join(", ")));
            (usize::from(is_text)..dims.len()).fold(element, |inner, _| format!("list[{inner}]"))
        }
    };
    let is_text = field.kind.kind == Kind::String && dims.is_empty();
    let optional = field.kind.pointer || is_text && (field.mark.optional || field.mark.nil);
    if field.kind.pointer && !dims.is_empty() {
        return Err(fault("one value that may be absent", "an array that may be absent"));
    }
    let python = if optional { format!("Optional[{python}]") } else { python };
    notes.splice(0..0, words);
    notes.extend(field.unit.iter().map(|unit| format!("isoform.unit({})", quoted(unit))));
    let annotation = match notes.is_empty() {
        true => python,
        false => format!("Annotated[{python}, {}]", notes.join(", ")),
    };
    let default = field.default.as_ref().map(|text| default(record, field, text)).transpose()?;
    Ok(Attribute { annotation, default })
}

/// The type of an element in Python, and its type on the wire if that is another than Python's usual one.
fn element(
    out: &mut String,
    record: &Declaration,
    field: &Field,
    names: &mut Taken,
) -> Result<(String, Option<String>)> {
    let kind = &field.kind.kind;
    let known = |word: &str| Some(format!("isoform.{word}"));
    let stated = || Some(format!("isoform.declare.Type({})", quoted(&kind.to_string())));
    let fixed = field.kind.dims.iter().any(|length| matches!(length, Length::Fixed(_)));
    Ok(match kind {
        Kind::Integer { signed: true, width: Width::Bytes(8) } if !fixed => ("int".into(), None),
        Kind::Integer { signed, width: Width::Bytes(bytes @ (1 | 2 | 4 | 8 | 16)) } => {
            ("int".into(), known(&format!("{}{}", if *signed { "i" } else { "u" }, u32::from(*bytes) * 8)))
        }
        Kind::Integer { .. } => ("int".into(), stated()),
        Kind::Float { kind: FloatKind::Ieee, width } => match width {
            Width::Bytes(8) | Width::Open if !fixed => ("float".into(), None),
            Width::Open => ("float".into(), known("f64")),
            Width::Bytes(bytes @ (2 | 4 | 8 | 16)) => ("float".into(), known(&format!("f{}", u32::from(*bytes) * 8))),
            _ => ("float".into(), stated()),
        },
        Kind::Float { .. } | Kind::LongDouble { complex: false } => ("float".into(), stated()),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(4) } => ("complex".into(), known("c64")),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(8) } => ("complex".into(), known("c128")),
        Kind::Complex { .. } | Kind::LongDouble { complex: true } => ("complex".into(), stated()),
        Kind::Char => ("str".into(), known("char")),
        Kind::Boolean { width: Width::Bytes(1) | Width::Open } => {
            ("bool".into(), fixed.then(|| "isoform.boolean".into()))
        }
        Kind::Boolean { .. } => ("bool".into(), stated()),
        // An element of an array may be null.
        Kind::String if !field.kind.dims.is_empty() => ("Optional[str]".into(), fixed.then(|| "isoform.string".into())),
        Kind::String => ("str".into(), None),
        Kind::Structure(name) => (class(name), None),
        Kind::Enumeration { signed, width, symbols } => {
            let usual = *signed && matches!(width, Width::Bytes(4) | Width::Open);
            (enumeration(out, record, field, names, symbols)?, if usual { None } else { stated() })
        }
    })
}

/// An enumeration has the name of its record and field, which no format has.
fn enumeration(
    out: &mut String,
    record: &Declaration,
    field: &Field,
    names: &mut Taken,
    symbols: &[(Box<str>, i128)],
) -> Result<String> {
    let name = enumeration_name(&NAMES, record, field);
    names.add(&name, name.clone(), "Python")?;
    if let Some((symbol, _)) = symbols.iter().find(|(symbol, _)| symbol.starts_with('_') || &**symbol == "mro") {
        return Err(fault("symbols that a class Enum can have", symbol));
    }
    if symbols.iter().all(|(symbol, _)| NAMES.of(symbol) == **symbol) {
        _ = write!(
            out,
            "\n\nclass {name}(enum.Enum):\n    \"\"\"The values of {} in {}.\"\"\"\n\n",
            prose_text(&field.name),
            prose_text(&record.name)
        );
        for (symbol, value) in symbols {
            _ = writeln!(out, "    {symbol} = {value}");
        }
    } else {
        let members: Vec<String> =
            symbols.iter().map(|(symbol, value)| format!("{}: {value}", quoted(symbol))).collect();
        _ = write!(out, "\n\n{name} = enum.Enum({}, {{{}}})\n", quoted(&name), members.join(", "));
    }
    Ok(name)
}

/// The value of a default in Python.
fn default(record: &Declaration, field: &Field, text: &str) -> Result<String> {
    Ok(match lexical::value(&field.kind, field.unit.as_deref(), text)? {
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Boolean(truth) => if truth { "True" } else { "False" }.into(),
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::Float(number) if number.is_nan() => "float(\"nan\")".into(),
        Value::Float(number) => format!("float(\"{}inf\")", if number < 0.0 { "-" } else { "" }),
        Value::Symbol(symbol) => format!("{}[{}]", enumeration_name(&NAMES, record, field), quoted(&symbol)),
        Value::String(text) => quoted(&String::from_utf8_lossy(&text)),
        other => return Err(fault("a default that Python can have", other)),
    })
}

/// Whether NumPy can have the field in a dtype.
fn is_flat(field: &Field, flat: &HashSet<&str>) -> bool {
    let is_number = match &field.kind.kind {
        Kind::Integer { width, .. } | Kind::Enumeration { width, .. } => *width != Width::Bytes(16),
        Kind::Float { kind: FloatKind::Ieee, width } => *width != Width::Bytes(16),
        Kind::Complex { kind: FloatKind::Ieee, width } => matches!(width, Width::Bytes(4 | 8)),
        Kind::Boolean { width } => matches!(width, Width::Bytes(1) | Width::Open),
        Kind::Char => true,
        Kind::Structure(name) => flat.contains(&**name),
        Kind::Float { .. } | Kind::Complex { .. } | Kind::LongDouble { .. } | Kind::String => false,
    };
    is_number && !field.kind.pointer && field.kind.dims.iter().all(|length| matches!(length, Length::Fixed(_)))
}

/// A string literal.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            ' '..='~' => literal.push(c),
            _ if u32::from(c) < 0x1_0000 => _ = write!(literal, "\\u{:04x}", u32::from(c)),
            _ => _ = write!(literal, "\\U{:08x}", u32::from(c)),
        }
    }
    literal.push('"');
    literal
}

fn words(prose: &str) -> String {
    prose.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prose in one line, which does not end its text, and is not one with a meaning.
fn prose_text(prose: &str) -> String {
    words(prose).replace('\\', "/").replace('"', "'")
}
