//! TypeScript: types of the JSON that records are as a document describes them (`spec/xmit.md`, "Text in and out").

use super::{Back, Names, Taken, fault};
use crate::declaration::{Declaration, Field};
use crate::markup::{Lexical, Origin};
use isoform_core::declare::{Kind, Width};
use isoform_core::text::json;
use isoform_core::{Error, Result};
use std::fmt::Write;

const WORDS: &str = "any arguments as async await boolean break case catch class const continue debugger default delete do else enum eval export \
    extends false finally for function if implements import in instanceof interface let never new null number object package private \
    protected public return static string super switch symbol this throw true try type typeof undefined unknown var void while with yield \
    bigint declare Float Array";

const NAMES: Names = Names { words: WORDS, before: "x", behind: "_" };

pub(super) struct TypeScript;

impl Back for TypeScript {
    fn word(&self) -> &'static str {
        "typescript"
    }

    fn packs(&self) -> Option<bool> {
        None
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut out = String::from(
            "// Records that a document declares, as JSON.\n\nexport type Float = number | \"NaN\" | \"Infinity\" | \"-Infinity\";\n",
        );
        let mut names = Taken::default();
        for record in records {
            let name = NAMES.of(&record.name);
            names.add(&record.name, name.clone(), "TypeScript")?;
            out.push('\n');
            comment(&mut out, "", &[record.prose.as_deref()]);
            _ = writeln!(out, "export interface {name} {{");
            for field in record.fields.iter().filter(|field| field.mark.origin != Origin::Length) {
                let at = |error: Error| error.at(format!("{}.{}", record.name, field.name));
                let unit = field.unit.as_ref().map(|unit| format!("unit {unit}"));
                let default = field.default.as_ref().map(|default| format!("default {default}"));
                comment(&mut out, "  ", &[field.prose.as_deref(), unit.as_deref(), default.as_deref()]);
                let name = quoted(&field.mark.name.local);
                // A field with a default may be absent when it is read.
                let mark = if field.mark.optional || field.default.is_some() { "?" } else { "" };
                _ = writeln!(out, "  {name}{mark}: {};", field_type(field).map_err(at)?);
            }
            out.push_str("}\n");
        }
        Ok(out)
    }
}

fn field_type(field: &Field) -> Result<String> {
    let lexical = field.mark.lexical;
    let is_text = field.kind.kind == Kind::Char && !field.kind.dims.is_empty();
    let element = match &field.kind.kind {
        _ if !matches!(lexical, Lexical::Plain | Lexical::Normalized | Lexical::Token) || is_text => "string".into(),
        Kind::Integer { width: Width::Bytes(16), .. } => "string".into(),
        Kind::Integer { .. } => "number".into(),
        Kind::Float { .. } | Kind::LongDouble { complex: false } => "Float".into(),
        Kind::Complex { .. } | Kind::LongDouble { complex: true } => "[Float, Float]".into(),
        Kind::Boolean { .. } => "boolean".into(),
        Kind::Char => "string".into(),
        // An element of an array may be null, too.
        Kind::String if !field.kind.dims.is_empty() => "string | null".into(),
        Kind::String => "string".into(),
        Kind::Structure(name) => NAMES.of(name),
        Kind::Enumeration { symbols, .. } => {
            let values: Vec<String> = match field.mark.symbols.is_empty() {
                true => symbols.iter().map(|(symbol, _)| quoted(symbol)).collect(),
                false => field.mark.symbols.iter().map(|value| quoted(value)).collect(),
            };
            match values.is_empty() {
                false => values.join(" | "),
                true => return Err(fault("an enumeration with values", "none")),
            }
        }
    };
    let rank = field.kind.dims.len() - usize::from(lexical.is_bytes() || is_text);
    let whole = (0..rank).fold(element, |inner, _| match inner.contains(" | ") {
        true => format!("({inner})[]"),
        false => format!("{inner}[]"),
    });
    let is_nullable = !field.mark.optional && (field.kind.pointer || field.mark.nil);
    Ok(if is_nullable { format!("{whole} | null") } else { whole })
}

fn quoted(text: &str) -> String {
    std::fmt::from_fn(|f| json::string(text, f)).to_string()
}

fn comment(out: &mut String, indent: &str, parts: &[Option<&str>]) {
    let parts: Vec<&str> = parts.iter().flatten().copied().collect();
    if !parts.is_empty() {
        let words: Vec<&str> = parts.iter().flat_map(|part| part.split_whitespace().chain(["; "])).collect();
        let text = words.join(" ");
        let text = text.trim_end_matches([';', ' ']).replace(" ;  ", "; ").replace("*/", "* /");
        _ = writeln!(out, "{indent}/** {text} */");
    }
}
