//! `isoform layout`: how machines lay out records.

use crate::args;
use crate::failure::Failure;
use crate::format;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, toned};
use crate::source::named_layout;
use isoform::Format;
use isoform::core::{ByteOrder, FloatKind, Layout, Structure};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;

pub(crate) fn run(arguments: &args::Layout, output: &mut Output) -> Result<(), Failure> {
    let layouts = match &arguments.on {
        Some(name) => vec![named_layout(name)?],
        None => Layout::ALL.to_vec(),
    };
    let Some(source) = &arguments.source else {
        return match arguments.json {
            true => Ok(layouts.iter().try_for_each(|layout| writeln!(output, "{}", to_json(layout)))?),
            false => Ok(show(&layouts, output)?),
        };
    };
    for (i, formats) in open(source, no_messages(), output)?.formats_on(&layouts)?.iter().enumerate() {
        if arguments.json {
            for (layout, format) in layouts.iter().zip(formats) {
                let mut object = format::to_json(format);
                object["layout"] = layout.name.into();
                writeln!(output, "{object}")?;
            }
            continue;
        }
        if i > 0 {
            writeln!(output)?;
        }
        match &formats[..] {
            [format] => format::show(format, output)?,
            _ => side_by_side(&layouts, formats, output)?,
        }
    }
    Ok(())
}

/// A record on several machines: a column for all that lay it out alike.
fn side_by_side(layouts: &[Layout], formats: &[Format], output: &mut Output) -> io::Result<()> {
    let mut columns: Vec<Column> = Vec::new();
    for (layout, format) in layouts.iter().zip(formats) {
        let structures: Vec<_> =
            [format.structure().clone()].into_iter().chain(format::nested(format.structure())).collect();
        let alike =
            |column: &&mut Column| column.structures.iter().zip(&structures).all(|(a, b)| places(a) == places(b));
        match columns.iter_mut().find(alike) {
            Some(column) => column.layouts.push(layout),
            None => columns.push(Column { structures, layouts: vec![layout] }),
        }
    }
    for i in 0..columns[0].structures.len() {
        if i > 0 {
            writeln!(output)?;
        }
        let mut rows = vec![titles(&columns)];
        rows[0][0] = toned(Tone::Strong, columns[0].structures[i].name());
        let names = columns[0].structures[i].fields().iter().map(|field| &*field.name);
        for (row, name) in names.chain(["(size)"]).enumerate() {
            let tone = if name == "(size)" { Tone::Faint } else { Tone::Plain };
            let mut cells = vec![toned(tone, format!("  {name}"))];
            for column in &columns {
                let (offset, size) = places(&column.structures[i])[row];
                cells.push(toned(tone, offset));
                cells.push(toned(Tone::Faint, size.map_or(String::new(), |size| format!("+{size}"))));
            }
            rows.push(cells);
        }
        let sides: Vec<Side> = (0..rows[0].len()).map(|i| if i % 2 == 1 { Side::Right } else { Side::Left }).collect();
        output.columns(&sides, &rows)?;
    }
    writeln!(output)?;
    legend(&columns, output)
}

/// Machines that lay a record and what it nests out alike.
struct Column<'a> {
    structures: Vec<Arc<Structure>>,
    layouts: Vec<&'a Layout>,
}

/// The offset and size of each field, and at last the size of the whole.
fn places(structure: &Structure) -> Vec<(usize, Option<usize>)> {
    let pointer = structure.machine().pointer;
    let fields = structure.fields().iter().map(|field| (field.offset, field.extent(pointer)));
    fields.chain([(structure.size(), None)]).collect()
}

fn titles(columns: &[Column<'_>]) -> Vec<Cell> {
    let letters = (0..columns.len()).flat_map(|i| [toned(Tone::Strong, letter(i)), cell("")]);
    [cell("")].into_iter().chain(letters).collect()
}

fn letter(index: usize) -> char {
    char::from(b'A' + index as u8)
}

fn legend(columns: &[Column<'_>], output: &mut Output) -> io::Result<()> {
    for (i, column) in columns.iter().enumerate() {
        let of = |order| {
            let names = column.layouts.iter().filter(move |layout| layout.order == order).map(|layout| layout.name);
            names.collect::<Vec<_>>().join(" ")
        };
        let mut title = letter(i);
        for (words, names) in [("little-endian", of(ByteOrder::Little)), ("big-endian", of(ByteOrder::Big))] {
            if !names.is_empty() {
                let title = output.paint(Tone::Strong, &std::mem::replace(&mut title, ' ').to_string());
                writeln!(output, "{title}  {} {names}", output.paint(Tone::Faint, &format!("{words:13}")))?;
            }
        }
    }
    writeln!(output, "{}", output.paint(Tone::Faint, "offset +size, in bytes"))
}

/// The layouts themselves, one a row.
fn show(layouts: &[Layout], output: &mut Output) -> io::Result<()> {
    let title = |text| toned(Tone::Faint, text);
    let head = ["", "byte order", "pointer", "long", "i64", "i128", "double", "long double"];
    let mut rows: Vec<Vec<Cell>> = vec![head.map(title).into()];
    for layout in layouts {
        let mark = if layout.name == Layout::NATIVE.name { " *" } else { "" };
        rows.push(vec![
            toned(Tone::Strong, format!("{}{mark}", layout.name)),
            cell(order(layout)),
            cell(layout.pointer),
            cell(layout.long),
            cell(sized(8, layout.align_integer8)),
            cell(sized(16, layout.align_integer16)),
            cell(sized(8, layout.align_double)),
            cell(format!("{}  {}", sized(layout.long_double.size, layout.long_double.align), long_double(layout))),
        ]);
    }
    let (left, right) = (Side::Left, Side::Right);
    output.columns(&[left, left, right, right, right, right, right, left], &rows)?;
    let note = "bytes; 8@4 is 8 bytes aligned to 4; * is this machine";
    writeln!(output, "\n{}", output.paint(Tone::Faint, note))
}

fn order(layout: &Layout) -> &'static str {
    match layout.order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }
}

fn sized(size: u8, align: u8) -> String {
    if size == align { size.to_string() } else { format!("{size}@{align}") }
}

fn long_double(layout: &Layout) -> &'static str {
    match (layout.long_double.kind, layout.long_double.size) {
        (FloatKind::Ieee, 16) => "quad",
        (FloatKind::Ieee, _) => "double",
        (kind, _) => kind.word(),
    }
}

fn to_json(layout: &Layout) -> Value {
    json!({
        "name": layout.name,
        "order": order(layout),
        "pointer": layout.pointer,
        "long": layout.long,
        "align_integer8": layout.align_integer8,
        "align_integer16": layout.align_integer16,
        "align_double": layout.align_double,
        "align_max": layout.align_max,
        "long_double": {
            "kind": long_double(layout),
            "size": layout.long_double.size,
            "align": layout.long_double.align,
        },
        "native": layout.name == Layout::NATIVE.name,
    })
}
