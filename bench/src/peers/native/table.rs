//! The records of the workloads as tables in C, and as CORBA's IDL, for [peers](super) that are libraries in C and C++.

use crate::{Result, Workload};
use isoform_core::{Element, Field, Format, Layout, Structure};
use std::fmt::Write;

/// A workload that such a peer can express: without pointers.
pub(super) struct Entry {
    pub(super) workload: &'static str,
    pub(super) format: Format,
}

/// All of them. Their indices are those that the functions in C go by.
pub(super) fn entries() -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for workload in Workload::all() {
        let format = workload.on(&Layout::X86_64)?;
        if !format.structure().has_slots() {
            entries.push(Entry { workload: workload.name, format });
        }
    }
    Ok(entries)
}

/// The tables in C.
pub(super) fn c(entries: &[Entry]) -> Result<String> {
    let most = entries.iter().map(|entry| entry.format.structure().total_fields()).max().unwrap_or(1);
    let mut text = format!("#include <stddef.h>\n#include <stdint.h>\nenum {{ FIELDS = {most} }};\n{TYPES}");
    let mut rows = String::new();
    for (index, Entry { format, .. }) in entries.iter().enumerate() {
        fields(&mut text, format.structure(), &format!("fields_{index}"))?;
        let (name, count) = (format.name(), format.structure().fields().len());
        writeln!(rows, "{{ \"{name}\", fields_{index}, {count}, {} }},", format.size())?;
    }
    writeln!(text, "static const struct record records[] = {{\n{rows}}};")?;
    Ok(text)
}

const TYPES: &str = "\
enum kind { I8, I16, I32, I64, F32, F64, RECORD };
struct field {
    const char *name;
    enum kind kind;
    size_t offset, count, size;
    const struct field *inner;
    size_t inner_count;
};
struct record { const char *name; const struct field *fields; size_t count, size; };
";

fn fields(text: &mut String, structure: &Structure, name: &str) -> Result<()> {
    let mut rows = String::new();
    for (index, field) in structure.fields().iter().enumerate() {
        let (mut inner, mut inner_count) = ("NULL".to_string(), 0);
        if let Element::Structure(nested) = &field.element {
            inner = format!("{name}_{index}");
            inner_count = nested.fields().len();
            fields(text, nested, &inner)?;
        }
        let (kind, size, count) = (kind(field)?, field.element_size(8), count(field)?);
        writeln!(rows, "{{ \"{}\", {kind}, {}, {count}, {size}, {inner}, {inner_count} }},", field.name, field.offset)?;
    }
    writeln!(text, "static const struct field {name}[] = {{\n{rows}}};")?;
    Ok(())
}

fn kind(field: &Field) -> Result<&'static str> {
    Ok(match (&field.element, field.element_size(8)) {
        (Element::Structure(_), _) => "RECORD",
        (Element::Float { .. }, 4) => "F32",
        (Element::Float { .. }, 8) => "F64",
        (Element::Integer { signed: true, .. }, 1) => "I8",
        (Element::Integer { signed: true, .. }, 2) => "I16",
        (Element::Integer { signed: true, .. }, 4) => "I32",
        (Element::Integer { signed: true, .. }, 8) => "I64",
        _ => return Err(format!("no peer in C knows the type of {}", field.name).into()),
    })
}

fn count(field: &Field) -> Result<usize> {
    Ok(field.fixed_count().ok_or("an array without a fixed length")?)
}

/// The IDL, in which record `index` is `R{index}`.
pub(super) fn idl(entries: &[Entry]) -> Result<String> {
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate() {
        idl_struct(&mut text, entry.format.structure(), &format!("R{index}"))?;
    }
    Ok(text)
}

fn idl_struct(text: &mut String, structure: &Structure, name: &str) -> Result<()> {
    let mut members = String::new();
    for (index, field) in structure.fields().iter().enumerate() {
        let element = match kind(field)? {
            "RECORD" => {
                let inner = format!("{name}x{index}");
                let Element::Structure(nested) = &field.element else { return Err("no record".into()) };
                idl_struct(text, nested, &inner)?;
                inner
            }
            // It has no signed byte; octets go as they are.
            "I8" => "octet".into(),
            "I16" => "short".into(),
            "I32" => "long".into(),
            "I64" => "long long".into(),
            "F32" => "float".into(),
            _ => "double".into(),
        };
        let count = count(field)?;
        let array = if field.dims.is_empty() { String::new() } else { format!("[{count}]") };
        writeln!(members, "  {element} m_{}{array};", field.name)?;
    }
    writeln!(text, "struct {name} {{\n{members}}};")?;
    Ok(())
}
