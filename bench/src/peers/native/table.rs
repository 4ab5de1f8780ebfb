//! The records of the workloads as tables in C, and as CORBA's IDL, for [peers](super) that are libraries in C and C++.

use crate::{Result, Workload};
use isoform_core::{Dimension, Element, Field, Format, Layout, Structure};
use std::fmt::Write;

/// A workload. Its index is what the functions in C go by.
pub(super) struct Entry {
    pub(super) workload: &'static str,
    pub(super) format: Format,
}

impl Entry {
    /// Whether it has no pointers, which not every peer can express.
    pub(super) fn flat(&self) -> bool {
        !self.format.structure().has_slots()
    }
}

/// All of them.
pub(super) fn entries() -> Result<Vec<Entry>> {
    let entry = |workload: &Workload| Ok(Entry { workload: workload.name, format: workload.on(&Layout::X86_64)? });
    Workload::all().iter().map(entry).collect()
}

/// The tables in C.
pub(super) fn c(entries: &[Entry]) -> Result<String> {
    let most = entries.iter().map(|entry| entry.format.structure().total_fields()).max().unwrap_or(1);
    let mut text = format!("#include <stddef.h>\n#include <stdint.h>\nenum {{ FIELDS = {most} }};\n{TYPES}");
    let mut rows = String::new();
    for (index, entry) in entries.iter().enumerate() {
        let (format, flat) = (&entry.format, i32::from(entry.flat()));
        fields(&mut text, format.structure(), &format!("fields_{index}"))?;
        let (name, count) = (format.name(), format.structure().fields().len());
        writeln!(rows, "{{ \"{name}\", fields_{index}, {count}, {}, {flat} }},", format.size())?;
    }
    writeln!(text, "static const struct record records[] = {{\n{rows}}};")?;
    Ok(text)
}

const TYPES: &str = "\
enum kind { I8, I16, I32, I64, U64, F32, F64, STRING, RECORD };
struct field {
    const char *name;
    enum kind kind;
    size_t offset, count, size;
    long length; /* where the number of elements stands, if they are in a block of their own; else -1 */
    const struct field *inner;
    size_t inner_count;
};
/* A record. Slots of one that is not flat hold the offset from its beginning of what they point at. */
struct record { const char *name; const struct field *fields; size_t count, size; int flat; };
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
        let (kind, size, at) = (kind(field)?, field.element_size(8), field.offset);
        let (count, length) = match (field.fixed_count(), &*field.dims) {
            (Some(count), _) => (count, None),
            (None, [Dimension::Field(index)]) => (1, Some(structure.fields()[*index].offset)),
            _ => return Err("a dynamic array of several dimensions".into()),
        };
        let length = length.map_or("-1".to_string(), |at| at.to_string());
        let name = &field.name;
        writeln!(rows, "{{ \"{name}\", {kind}, {at}, {count}, {size}, {length}, {inner}, {inner_count} }},")?;
    }
    writeln!(text, "static const struct field {name}[] = {{\n{rows}}};")?;
    Ok(())
}

fn kind(field: &Field) -> Result<&'static str> {
    Ok(match (&field.element, field.element_size(8)) {
        (Element::Structure(_), _) => "RECORD",
        (Element::Float { .. }, 4) => "F32",
        (Element::Float { .. }, 8) => "F64",
        (Element::String, _) => "STRING",
        (Element::Integer { signed: false, .. }, 8) => "U64",
        (Element::Integer { signed: true, .. }, 1) => "I8",
        (Element::Integer { signed: true, .. }, 2) => "I16",
        (Element::Integer { signed: true, .. }, 4) => "I32",
        (Element::Integer { signed: true, .. }, 8) => "I64",
        _ => return Err(format!("no peer in C knows the type of {}", field.name).into()),
    })
}

/// The IDL of those that are flat, in which record `index` is `R{index}`.
pub(super) fn idl(entries: &[Entry]) -> Result<String> {
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.flat()) {
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
        let array = match (field.fixed_count(), field.dims.is_empty()) {
            (Some(count), false) => format!("[{count}]"),
            _ => String::new(),
        };
        writeln!(members, "  {element} m_{}{array};", field.name)?;
    }
    writeln!(text, "struct {name} {{\n{members}}};")?;
    Ok(())
}
