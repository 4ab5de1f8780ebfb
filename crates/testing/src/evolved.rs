//! Later versions of declarations.

use isoform_core::{Dimension, Element, Layout, Shape, Structure};
use std::collections::HashSet;

/// Another version of a shape: with fields dropped, added, widened and reordered, by the bytes of `choices`.
///
/// # Panics
/// If there are no `choices`, or the shape cannot be laid out.
pub fn evolved(shape: &Shape, choices: &[u8]) -> Shape {
    let text = shape.to_string();
    let mut lengths = HashSet::new();
    collect_lengths(shape.on(&Layout::X86_64).unwrap().structure(), &mut lengths);
    let mut choices = choices.iter().cycle();
    let mut records: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix(' ') {
            Some(field) => records.last_mut().unwrap().1.push(field.trim_start().to_string()),
            None if !line.trim().is_empty() => records.push((line.to_string(), Vec::new())),
            None => {}
        }
    }
    let mut evolved = String::new();
    for (head, fields) in records {
        let mut lines = Vec::new();
        for field in &fields {
            let name = field.split_whitespace().next().unwrap();
            let is_length = lengths.contains(&unquoted(name));
            match choices.next().unwrap() % 8 {
                0 if !is_length && fields.len() > 1 => {}
                1 => lines.push(widened(field)),
                2 => lines.extend([format!("added{}  f32[3]", lines.len()), field.clone()]),
                3 => lines.insert(0, field.clone()),
                _ => lines.push(field.clone()),
            }
        }
        if lines.is_empty() {
            lines.push(fields[0].clone());
        }
        evolved.push_str(&format!("{head}\n"));
        lines.iter().for_each(|line| evolved.push_str(&format!("  {line}\n")));
    }
    Shape::parse(&evolved).unwrap_or_else(|error| panic!("{error}\n{evolved}"))
}

/// The names of all fields that are the length of an array somewhere.
fn collect_lengths(structure: &Structure, names: &mut HashSet<String>) {
    for field in structure.fields() {
        if let Element::Structure(inner) = &field.element {
            collect_lengths(inner, names);
        }
        for dim in &field.dims {
            if let Dimension::Field(index) = *dim {
                names.insert(structure.fields()[index].name.to_string());
            }
        }
    }
}

/// A name may be quoted if it could be mistaken for a word.
fn unquoted(name: &str) -> String {
    let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    quoted.map_or(name.into(), |name| name.replace("\\\"", "\"").replace("\\\\", "\\"))
}

fn widened(field: &str) -> String {
    let wider = [
        ("i8", "i32"),
        ("i16", "i64"),
        ("i32", "i64"),
        ("u8", "i16"),
        ("u32", "i64"),
        ("f32", "f64"),
        ("f16", "f32"),
        ("f64", "f128"),
    ];
    let (name, words) = field.split_once(char::is_whitespace).unwrap();
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    let words = words.trim_start();
    let wide = wider.iter().find_map(|(narrow, wide)| {
        Some(format!("{name}  {wide}{}", words.strip_prefix(narrow).filter(|rest| ends(rest))?))
    });
    wide.unwrap_or_else(|| field.to_string())
}
