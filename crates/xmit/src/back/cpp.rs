//! C++20: structs and enumerations for `isoform.hpp`, which makes their tables.

use super::{Back, Names, Taken, fault, json_default, packed};
use crate::declaration::{Declaration, Field};
use isoform_core::declare::{Kind, Length, Width};
use isoform_core::{Error, FloatKind, Result};
use std::collections::HashSet;
use std::fmt::Write;

/// Words that are no names, and names of the standard library that the code uses.
const WORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept \
    const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else \
    enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or \
    or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast \
    struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t \
    while xor xor_eq main std isoform";

const NAMES: Names = Names { words: WORDS, before: "x", behind: "_" };

/// Members, and symbols, that the macros take.
const MOST: usize = 256;

pub(super) struct Cpp;

/// How a member is written.
struct Member {
    /// Its type in C++.
    kind: String,
    /// The type for the table, if that in C++ does not determine it.
    stated: bool,
}

impl Back for Cpp {
    fn word(&self) -> &'static str {
        "cpp"
    }

    fn packs(&self) -> Option<bool> {
        Some(true)
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut body = String::new();
        let mut names = Taken::default();
        for record in records {
            let name = NAMES.of(&record.name);
            names.add(&record.name, name.clone(), "C++")?;
            if name != *record.name || name.contains("__") || name.starts_with('_') {
                let error = fault("a name that C++ has, since the struct's is that of the record", &record.name);
                return Err(error.at(&*record.name));
            }
        }
        let all: HashSet<&str> = records.iter().map(|record| &*record.name).collect();
        for record in records {
            structure(&mut body, record, &mut names, &all)?;
        }
        let mut out = String::from(
            "// Records that a document declares, for isoform.hpp: isoform::format::of<T>() is the format of each.\n// clang-format off\n#pragma once\n\n",
        );
        for (header, used) in
            [("array", "std::array<"), ("complex", "std::complex<"), ("cstddef", "std::size_t"), ("cstdint", "int")]
        {
            if body.contains(used) || header == "cstddef" && body.contains("std::ptrdiff_t") {
                _ = writeln!(out, "#include <{header}>");
            }
        }
        out.push_str("#include <isoform.hpp>\n");
        Ok(out + &body)
    }
}

fn structure(out: &mut String, record: &Declaration, names: &mut Taken, all: &HashSet<&str>) -> Result<()> {
    let at = |field: &str, error: Error| error.at(format!("{}.{field}", record.name));
    if record.fields.len() > MOST {
        return Err(fault("at most 256 members", record.fields.len()).at(&*record.name));
    }
    let (mut members, mut rows, mut taken) = (String::new(), Vec::new(), Taken::default());
    for field in &record.fields {
        let mut name = NAMES.of(&field.name);
        // A member cannot be called like the type of another.
        if all.contains(&*name) {
            name.push('_');
        }
        taken.add(&field.name, name.clone(), "C++").map_err(|error| at(&field.name, error))?;
        let member = member(out, record, field, names).map_err(|error| at(&field.name, error))?;
        if let Some(prose) = &field.prose {
            _ = writeln!(members, "    // {}", comment(prose));
        }
        let space = if member.kind.ends_with('*') { "" } else { " " };
        _ = writeln!(members, "    {}{space}{name};", member.kind);
        rows.push(row(field, &name, &member).map_err(|error| at(&field.name, error))?);
    }
    let name = &record.name;
    out.push('\n');
    if let Some(prose) = &record.prose {
        _ = writeln!(out, "// {}", comment(prose));
    }
    out.push_str(&packed(record, &format!("struct {name} {{\n{members}}};\n")));
    _ = writeln!(out, "ISOFORM_RECORD({name},\n    {})", rows.join(",\n    "));
    Ok(())
}

/// The member of a table: alone, or in parentheses with what else is to be said.
fn row(field: &Field, name: &str, member: &Member) -> Result<String> {
    let mut notes = Vec::new();
    if name != &*field.name {
        notes.push(format!(".name = {}", quoted(&field.name)));
    }
    notes.extend(field.unit.iter().map(|unit| format!(".unit = {}", quoted(unit))));
    if let Some(Length::Field(length)) = field.kind.dims.first() {
        notes.push(format!(".length = {}", quoted(length)));
    }
    if member.stated {
        notes.push(format!(".type = {}", quoted(&field.kind.to_string())));
    }
    if let Some(text) = &field.default {
        notes.push(format!(".standard = {}", quoted(&json_default(field, text)?)));
    }
    Ok(match notes.is_empty() {
        true => name.to_owned(),
        false => format!("({name}, {})", notes.join(", ")),
    })
}

fn member(out: &mut String, record: &Declaration, field: &Field, names: &mut Taken) -> Result<Member> {
    let dims = &field.kind.dims;
    let varies = matches!(dims.first(), Some(Length::Field(_)));
    if dims.iter().skip(1).any(|dim| matches!(dim, Length::Field(_))) {
        return Err(fault("an array in which only the first dimension varies", &field.kind));
    }
    let (element, stated) = element(out, record, field, names)?;
    let inner = dims.iter().skip(usize::from(varies)).rev().fold(element, |inner, dim| match dim {
        Length::Fixed(count) => format!("std::array<{inner}, {count}>"),
        Length::Field(_) => inner,
    });
    let behind = |inner: String| match inner.ends_with('*') {
        true => format!("{inner}const *"),
        false => format!("const {inner} *"),
    };
    let kind = if varies || field.kind.pointer { behind(inner) } else { inner };
    // A pointer that the table is to make a type of has no more than one dimension behind it.
    Ok(Member { kind, stated: stated || varies && dims.len() > 1 })
}

/// The type of an element, and whether the table has to state it.
fn element(out: &mut String, record: &Declaration, field: &Field, names: &mut Taken) -> Result<(String, bool)> {
    Ok(match &field.kind.kind {
        Kind::Integer { signed, width } => integer(*signed, *width)?,
        Kind::Float { kind: FloatKind::Ieee, width } => match width {
            Width::Bytes(4) => ("float".into(), false),
            Width::Bytes(8) | Width::Open => ("double".into(), false),
            // The bits of a number that C++20 has no type for.
            Width::Bytes(2) => ("std::uint16_t".into(), true),
            other => return Err(fault("a float of 2, 4 or 8 bytes", format_args!("{other:?}"))),
        },
        Kind::Float { width: Width::Bytes(2), .. } => ("std::uint16_t".into(), true),
        Kind::Float { .. } => return Err(fault("a float that C++ has", &field.kind)),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(4) } => ("std::complex<float>".into(), false),
        Kind::Complex { kind: FloatKind::Ieee, width: Width::Bytes(8) } => ("std::complex<double>".into(), false),
        Kind::Complex { .. } => return Err(fault("parts of 4 or 8 bytes", &field.kind)),
        Kind::LongDouble { complex: false } => ("long double".into(), false),
        Kind::LongDouble { complex: true } => ("std::complex<long double>".into(), true),
        // A pointer to char would be a text.
        Kind::Char => ("char".into(), field.kind.pointer || matches!(field.kind.dims.first(), Some(Length::Field(_)))),
        Kind::Boolean { width: Width::Bytes(1) | Width::Open } => ("bool".into(), false),
        Kind::Boolean { width } => (integer(false, *width)?.0, true),
        Kind::String => ("const char *".into(), false),
        Kind::Structure(name) => (NAMES.of(name), false),
        Kind::Enumeration { signed, width, symbols } => {
            let (integer, _) = integer(*signed, *width)?;
            let plain = symbols.iter().all(|(symbol, _)| NAMES.of(symbol) == **symbol);
            match plain && symbols.len() <= MOST {
                true => (enumeration(out, record, field, names, &integer, symbols)?, false),
                false => (integer, true),
            }
        }
    })
}

fn integer(signed: bool, width: Width) -> Result<(String, bool)> {
    let sign = if signed { "" } else { "u" };
    Ok(match width {
        Width::Bytes(bytes @ (1 | 2 | 4 | 8)) => (format!("std::{sign}int{}_t", bytes * 8), false),
        Width::Open => (if signed { "int" } else { "unsigned" }.into(), false),
        Width::Long => (if signed { "long" } else { "unsigned long" }.into(), false),
        Width::Pointer => (if signed { "std::ptrdiff_t" } else { "std::size_t" }.into(), false),
        Width::Bytes(bytes) => return Err(fault("an integer of 1, 2, 4 or 8 bytes", format_args!("one of {bytes}"))),
    })
}

/// An enumeration has the name of its record and field.
fn enumeration(
    out: &mut String,
    record: &Declaration,
    field: &Field,
    names: &mut Taken,
    integer: &str,
    symbols: &[(Box<str>, i128)],
) -> Result<String> {
    let name = super::enumeration_name(&NAMES, record, field);
    names.add(&name, name.clone(), "C++")?;
    let list: Vec<String> =
        symbols.iter().map(|(symbol, value)| format!("    {symbol} = {},", number(*value))).collect();
    let all: Vec<&str> = symbols.iter().map(|(symbol, _)| &**symbol).collect();
    _ = write!(
        out,
        "\nenum class {name} : {integer} {{\n{}\n}};\nISOFORM_ENUMERATION({name}, {})\n",
        list.join("\n"),
        all.join(", ")
    );
    Ok(name)
}

/// A number as C++ reads it: the smallest of 8 bytes is no literal.
fn number(value: i128) -> String {
    match value {
        _ if value == i128::from(i64::MIN) => format!("{} - 1", value + 1),
        _ if value > i128::from(i64::MAX) => format!("{value}u"),
        _ => value.to_string(),
    }
}

/// Prose in one line, which a backslash at its end would continue.
fn comment(prose: &str) -> String {
    prose.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "/").replace("??/", "?? /")
}

/// A string literal.
fn quoted(text: &str) -> String {
    super::c::quoted(text)
}
