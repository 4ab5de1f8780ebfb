//! C99 and C++: a header with structs, and with a table of each for `isoform.h` and `isoform_writer.h`.

use super::{Back, json_default, packed};
use crate::declaration::{Declaration, Field};
use isoform_core::declare::{Kind, Length, Width};
use isoform_core::{Code, Error, FloatKind, Result, Token};
use std::collections::HashSet;
use std::fmt::Write;

/// Words that no member and no struct may be called, in C or in C++.
const WORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval \
    constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum \
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof \
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq main";

/// How a member stands in the table.
enum Row {
    /// The compiler tells the size, and compares the type.
    Field,
    /// A pointer to numbers.
    Pointer,
    /// A struct of this C name, an array of them or a pointer to them.
    Structure(String),
    /// C has no type for it: the table says all.
    Stated,
}

pub(super) struct C;

impl Back for C {
    fn word(&self) -> &'static str {
        "c"
    }

    fn packs(&self) -> Option<bool> {
        Some(true)
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut names = HashSet::new();
        let mut out = String::from("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n");
        for record in records {
            let name = identifier(&record.name);
            if !names.insert(name.clone()) {
                let error = Error::new(Code::Declaration).at(&*record.name).expected("a name of its own in C");
                return Err(error.found(format!("another record {name}")));
            }
            structure(&mut out, &name, record)?;
        }
        for record in records {
            lists(&mut out, record, records);
        }
        Ok(guarded(&out, records))
    }
}

/// The header, which has a meaning only once. Its guard has the name of the last record, which nests the others if one was asked for, and a
/// hash of the text: headers of other documents may have a record of this name.
fn guarded(text: &str, records: &[Declaration]) -> String {
    let name = records.last().map_or(String::new(), |record| identifier(&record.name).to_uppercase());
    let hash = Token::of(text.as_bytes()).to_string().to_uppercase();
    let guard = format!("ISOFORM_RECORD_{name}_{}_H", &hash[..8]);
    format!(
        "/* Records that a document declares. Include isoform.h or isoform_writer.h before. Each struct has a table of its fields,\n   \
         and a list of structures, which iso_format_open or iso_declare takes. */\n\
         #ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n"
    )
}

/// A struct and its table.
fn structure(out: &mut String, name: &str, record: &Declaration) -> Result<()> {
    out.push('\n');
    comment(out, "", record.prose.as_deref());
    let (mut members, mut rows, mut taken) = (String::new(), Vec::new(), HashSet::new());
    for field in &record.fields {
        let member = identifier(&field.name);
        if !taken.insert(member.clone()) {
            let error = Error::new(Code::Declaration).at(format!("{}.{}", record.name, field.name));
            return Err(error.expected("a name of its own in C").found(format!("another member {member}")));
        }
        let at = |error: Error| error.at(format!("{}.{}", record.name, field.name));
        let (before, after, row) = member_type(field).map_err(at)?;
        let prose = [field.prose.as_deref(), field.unit.as_deref(), field.default.as_deref()];
        let prose = match prose {
            [None, None, None] => String::new(),
            [prose, unit, default] => {
                let unit = unit.map(|unit| format!("unit {unit}"));
                let default = default.map(|default| format!("default {default}"));
                let parts: Vec<&str> = [prose, unit.as_deref(), default.as_deref()].into_iter().flatten().collect();
                format!(" /* {} */", safe(&parts.join("; ")))
            }
        };
        let space = if before.ends_with('*') { "" } else { " " };
        _ = writeln!(members, "    {before}{space}{member}{after};{prose}");
        rows.push(table_row(name, &member, field, row).map_err(at)?);
    }
    out.push_str(&packed(record, &format!("typedef struct {name} {{\n{members}}} {name};\n")));
    _ = writeln!(out, "static const iso_field {name}_fields[] = {{\n    {}\n}};", rows.join(",\n    "));
    Ok(())
}

/// The list of a record's structures, inner ones first.
fn lists(out: &mut String, record: &Declaration, all: &[Declaration]) {
    let mut needed: HashSet<&str> = HashSet::from([&*record.name]);
    for inner in all.iter().rev() {
        if needed.contains(&*inner.name) {
            needed.extend(inner.fields.iter().filter_map(|field| match &field.kind.kind {
                Kind::Structure(nested) => Some(&**nested),
                _ => None,
            }));
        }
    }
    let name = identifier(&record.name);
    let rows = all.iter().filter(|inner| needed.contains(&*inner.name)).map(|inner| {
        let c = identifier(&inner.name);
        match c == *inner.name {
            true => format!("ISO_STRUCTURE({c}, {c}_fields)"),
            false => format!("ISO_STRUCTURE_AS({}, {c}, {c}_fields)", quoted(&inner.name)),
        }
    });
    let rows: Vec<String> = rows.collect();
    let count = rows.len();
    _ = writeln!(out, "\n/* For iso_format_open({name}_structures, {count}, ..). */");
    _ = writeln!(out, "static const iso_structure {name}_structures[] = {{\n    {}\n}};", rows.join(",\n    "));
}

/// What stands before and behind the name of a member.
fn member_type(field: &Field) -> Result<(String, String, Row)> {
    let kind = &field.kind;
    let (element, row) = element(&kind.kind)?;
    let is_dynamic = kind.dims.iter().any(|length| matches!(length, Length::Field(_)));
    let is_string = matches!(kind.kind, Kind::String);
    if is_dynamic || kind.pointer {
        let row = match row {
            Row::Field if !is_string => Row::Pointer,
            Row::Field => Row::Stated,
            row => row,
        };
        let before = if is_string { format!("{element}*") } else { format!("{element} *") };
        return Ok((before, String::new(), row));
    }
    let mut after = String::new();
    for length in &kind.dims {
        if let Length::Fixed(count) = length {
            _ = write!(after, "[{count}]");
        }
    }
    // Parts of what C has no type for are elements of an array.
    if let Kind::Complex { .. } | Kind::LongDouble { complex: true } = kind.kind {
        after.push_str("[2]");
    }
    Ok((element, after, row))
}

/// The C type of an element.
fn element(kind: &Kind) -> Result<(String, Row)> {
    let open = |bytes: Option<u8>, signed: bool| match (bytes, signed) {
        (Some(bytes @ (1 | 2 | 4 | 8)), true) => Ok(format!("int{}_t", bytes * 8)),
        (Some(bytes @ (1 | 2 | 4 | 8)), false) => Ok(format!("uint{}_t", bytes * 8)),
        (None, true) => Ok("int".to_string()),
        (None, false) => Ok("unsigned".to_string()),
        (Some(bytes), _) => Err(refused("an integer of 1, 2, 4 or 8 bytes", format!("one of {bytes}"))),
    };
    let integer = |width: Width, signed: bool| match width {
        Width::Bytes(bytes) => open(Some(bytes), signed),
        Width::Open => open(None, signed),
        Width::Long => Ok(if signed { "long" } else { "unsigned long" }.to_string()),
        Width::Pointer => Ok(if signed { "ptrdiff_t" } else { "size_t" }.to_string()),
    };
    Ok(match kind {
        Kind::Integer { signed, width } => (integer(*width, *signed)?, Row::Field),
        Kind::Enumeration { signed, width, .. } => (integer(*width, *signed)?, Row::Stated),
        Kind::Float { kind, width } => match (kind, width) {
            (FloatKind::Ieee, Width::Bytes(4)) => ("float".into(), Row::Field),
            (FloatKind::Ieee, Width::Bytes(8) | Width::Open) => ("double".into(), Row::Field),
            // A number of 16 bits, which C may not have.
            (_, Width::Bytes(2)) => ("uint16_t".into(), Row::Stated),
            (_, other) => return Err(refused("a float of 2, 4 or 8 bytes", format!("{other:?}"))),
        },
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(4) } => ("float".into(), Row::Stated),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(8) } => ("double".into(), Row::Stated),
        Kind::Complex { .. } => return Err(refused("parts of 4 or 8 bytes", "another complex number".into())),
        Kind::LongDouble { complex: false } => ("long double".into(), Row::Field),
        Kind::LongDouble { complex: true } => ("long double".into(), Row::Stated),
        Kind::Char => ("char".into(), Row::Field),
        Kind::Boolean { width: Width::Bytes(1) | Width::Open } => ("bool".into(), Row::Field),
        Kind::Boolean { width } => (integer(*width, false)?, Row::Stated),
        Kind::String => ("const char *".into(), Row::Field),
        Kind::Structure(name) => (identifier(name), Row::Structure(identifier(name))),
    })
}

fn refused(expected: &str, found: String) -> Error {
    Error::new(Code::Declaration).expected(expected).found(found)
}

/// The row of a member. What the macros cannot say, the row states.
fn table_row(record: &str, member: &str, field: &Field, row: Row) -> Result<String> {
    let text = quoted(&field.kind.to_string());
    let named = member == &*field.name;
    let default = field.default.as_ref().map(|text| json_default(field, text)).transpose()?.map(|json| quoted(&json));
    let or_null = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".into());
    let unit = field.unit.as_ref().map(|unit| quoted(unit));
    Ok(match (row, &unit, &default) {
        (Row::Field, None, None) if named => format!("ISO_FIELD({record}, {member}, {text})"),
        (Row::Field, Some(unit), None) if named => format!("ISO_FIELD_UNIT({record}, {member}, {text}, {unit})"),
        (Row::Field, None, Some(json)) if named => format!("ISO_FIELD_DEFAULT({record}, {member}, {text}, {json})"),
        (Row::Field, Some(unit), Some(json)) if named => {
            format!("ISO_FIELD_UNIT_DEFAULT({record}, {member}, {text}, {unit}, {json})")
        }
        (Row::Pointer, None, None) if named => format!("ISO_POINTER({record}, {member}, {text})"),
        (Row::Pointer, Some(unit), None) if named => format!("ISO_POINTER_UNIT({record}, {member}, {text}, {unit})"),
        (Row::Structure(nested), None, None) if named => {
            format!("ISO_FIELD_STRUCT({record}, {member}, {text}, {nested})")
        }
        (_, None, None) => format!("ISO_ROW({}, {text}, 0, offsetof({record}, {member}))", quoted(&field.name)),
        _ => format!(
            "ISO_ROW_UNIT_DEFAULT({}, {text}, 0, offsetof({record}, {member}), {}, {})",
            quoted(&field.name),
            or_null(&unit),
            or_null(&default)
        ),
    })
}

/// A name that C and C++ allow: the same, if they allow that.
fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let begins = text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("__");
    if begins || text.is_empty() || text.starts_with('_') && text[1..].starts_with(|c: char| c.is_ascii_uppercase()) {
        text.insert(0, 'x');
    }
    if WORDS.split_whitespace().any(|word| word == text) {
        text.push('_');
    }
    text
}

/// A string literal, with nothing in it that C reads in another way.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => literal.extend(['\\', char::from(byte)]),
            // A trigraph begins with two of them.
            b'?' => literal.push_str("\\?"),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => _ = write!(literal, "\\{byte:03o}"),
        }
    }
    literal.push('"');
    literal
}

fn comment(out: &mut String, indent: &str, prose: Option<&str>) {
    if let Some(prose) = prose {
        _ = writeln!(out, "{indent}/* {} */", safe(prose));
    }
}

/// Prose in one line, which does not end its comment.
fn safe(prose: &str) -> String {
    let words: Vec<&str> = prose.split_whitespace().collect();
    words.join(" ").replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /")
}
