//! Java 17: a class of records, one for each record of the document.

use super::{Back, Names, Taken, enumeration_name, fault};
use crate::declaration::{Declaration, Field};
use crate::markup::Origin;
use isoform_core::declare::{Kind, Width};
use isoform_core::{Error, Result};
use std::fmt::Write;

const WORDS: &str = "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final \
    finally float for goto if implements import instanceof int interface long native new null package permits private protected public record \
    return sealed short static strictfp super switch synchronized this throw throws transient true try var void volatile while yield _ \
    Records String Integer Long Short Byte Boolean Float Double Character hashCode toString getClass notify notifyAll wait clone finalize";

const NAMES: Names = Names { words: WORDS, before: "x", behind: "_" };

pub(super) struct Java;

impl Back for Java {
    fn word(&self) -> &'static str {
        "java"
    }

    fn packs(&self) -> Option<bool> {
        None
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut out = String::from(
            "/** Records that a document declares. */\npublic final class Records {\n    private Records() {\n    }\n",
        );
        let mut names = Taken::default();
        for record in records {
            names.add(&record.name, NAMES.of(&record.name), "Java")?;
        }
        for record in records {
            let (mut components, mut taken) = (Vec::new(), Taken::default());
            let mut within = String::new();
            for field in record.fields.iter().filter(|field| field.mark.origin != Origin::Length) {
                let at = |error: Error| error.at(format!("{}.{}", record.name, field.name));
                let name = NAMES.of(&field.name);
                taken.add(&field.name, name.clone(), "Java").map_err(at)?;
                let kind = field_type(&mut within, record, field, &mut names).map_err(at)?;
                let unit = field.unit.as_ref().map(|unit| format!("unit {unit}"));
                let default = field.default.as_ref().map(|default| format!("default {default}"));
                let text = comment(&[field.prose.as_deref(), unit.as_deref(), default.as_deref()]);
                components.push(format!("        {text}{kind} {name}"));
            }
            out.push_str(&within);
            _ = writeln!(
                out,
                "\n    {}public record {}(\n{}) {{\n    }}",
                comment(&[record.prose.as_deref()]),
                NAMES.of(&record.name),
                components.join(",\n")
            );
        }
        out.push_str("}\n");
        Ok(out)
    }
}

fn field_type(out: &mut String, record: &Declaration, field: &Field, names: &mut Taken) -> Result<String> {
    let (primitive, boxed) = match &field.kind.kind {
        // The next larger type, where Java has no unsigned one.
        Kind::Integer { signed, width } | Kind::Enumeration { signed, width, .. } if !is_enumeration(field) => {
            match (signed, width) {
                (true, Width::Bytes(1)) => ("byte".into(), "Byte".into()),
                (true, Width::Bytes(2)) | (false, Width::Bytes(1)) => ("short".into(), "Short".into()),
                (true, Width::Bytes(4) | Width::Open) | (false, Width::Bytes(2)) => ("int".into(), "Integer".into()),
                (true, Width::Bytes(8) | Width::Long | Width::Pointer) | (false, Width::Bytes(4) | Width::Open) => {
                    ("long".into(), "Long".into())
                }
                _ => same("java.math.BigInteger"),
            }
        }
        Kind::Float { width: Width::Bytes(2 | 4), .. } => ("float".into(), "Float".into()),
        Kind::Float { width: Width::Bytes(8) | Width::Open, .. } => ("double".into(), "Double".into()),
        Kind::Complex { .. } => return Err(fault("a type of Java", "a complex number")),
        Kind::Float { .. } | Kind::LongDouble { .. } => {
            return Err(fault("a float of at most 8 bytes", "a larger one"));
        }
        Kind::Boolean { .. } => ("boolean".into(), "Boolean".into()),
        Kind::Char if !field.kind.dims.is_empty() => same("String"),
        Kind::Char => ("byte".into(), "Byte".into()),
        Kind::String => same("String"),
        Kind::Structure(name) => same(&NAMES.of(name)),
        Kind::Enumeration { symbols, .. } => same(&enumeration(out, record, field, names, symbols)?),
        Kind::Integer { .. } => same("java.math.BigInteger"),
    };
    let rank = field.kind.dims.len() - usize::from(field.kind.kind == Kind::Char && !field.kind.dims.is_empty());
    let element: String = if field.kind.pointer && rank == 0 { boxed } else { primitive };
    Ok(format!("{element}{}", "[]".repeat(rank)))
}

fn is_enumeration(field: &Field) -> bool {
    matches!(field.kind.kind, Kind::Enumeration { .. })
}

fn same(name: &str) -> (String, String) {
    (name.into(), name.into())
}

fn enumeration(
    out: &mut String,
    record: &Declaration,
    field: &Field,
    names: &mut Taken,
    symbols: &[(Box<str>, i128)],
) -> Result<String> {
    let name = enumeration_name(&NAMES, record, field);
    names.add(&name, name.clone(), "Java")?;
    let mut taken = Taken::default();
    let mut constants = Vec::with_capacity(symbols.len());
    for (symbol, value) in symbols {
        let constant = NAMES.of(symbol);
        taken.add(symbol, constant.clone(), "Java")?;
        constants.push(format!("        {constant}({value}L)"));
    }
    if symbols.iter().any(|(_, value)| i64::try_from(*value).is_err()) {
        return Err(fault("values of at most 8 bytes", "a larger one"));
    }
    _ = write!(
        out,
        "\n    /** The values of {} in {}. */\n    public enum {name} {{\n{};\n\n        /** Its number. */\n        public final long number;\n\n        \
         {name}(long number) {{\n            this.number = number;\n        }}\n    }}\n",
        safe(&field.name),
        safe(&record.name),
        constants.join(",\n")
    );
    Ok(name)
}

fn comment(parts: &[Option<&str>]) -> String {
    let parts: Vec<String> = parts.iter().flatten().map(|part| safe(part)).collect();
    if parts.is_empty() { String::new() } else { format!("/** {} */ ", parts.join("; ")) }
}

/// Prose in one line, which neither ends its comment nor begins an escape.
fn safe(prose: &str) -> String {
    let words: Vec<&str> = prose.split_whitespace().collect();
    words.join(" ").replace("*/", "* /").replace('\\', "/")
}
