//! `isoform format`: the fields of every format in a source, with their places, and the gaps between them.

use crate::args;
use crate::failure::Failure;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, plural, toned};
use isoform::core::declare::Type;
use isoform::core::{ByteOrder, Element, Enumeration, Field, Structure};
use isoform::{Format, Rules};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// Symbols of an enumeration that are longer than this stand below the table.
const SHORT: usize = 28;

pub(crate) fn run(arguments: &args::Format, output: &mut Output) -> Result<(), Failure> {
    if arguments.description {
        return description(&arguments.source, output);
    }
    let mut formats = open(&arguments.source, no_messages(), output)?.formats()?;
    let (mut shown, mut failed) = (0, None);
    for format in formats.by_ref() {
        match format {
            Ok(format) if arguments.json => writeln!(output, "{}", to_json(&format))?,
            Ok(format) => {
                if shown > 0 {
                    writeln!(output)?;
                }
                show(&format, output)?;
            }
            Err(failure) => {
                failed.get_or_insert(failure);
                continue;
            }
        }
        shown += 1;
    }
    match failed {
        Some(failure) => Err(failure),
        None if shown == 0 => Err(formats.none()),
        None => Ok(()),
    }
}

/// The bytes of a description. They do not say where they end, so there can be one only.
fn description(source: &str, output: &mut Output) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(
            Failure::usage("descriptions are binary, and not for terminals").hint("--json shows all that they say")
        );
    }
    let format = only(source, output)?;
    Ok(output.as_it_is(format.description().as_bytes())?)
}

/// The one format that is chosen of a source.
pub(crate) fn only(source: &str, output: &Output) -> Result<Format, Failure> {
    only_with_rules(source, output).map(|(format, _)| format)
}

/// The same, with the rules that a document states for it.
pub(crate) fn only_with_rules(source: &str, output: &Output) -> Result<(Format, isoform::Result<Rules>), Failure> {
    let opened = open(source, no_messages(), output)?;
    let rules = opened.rules.clone();
    let mut formats = opened.formats()?;
    let Some(first) = formats.next().transpose()? else { return Err(formats.none()) };
    match formats.next().transpose()? {
        None => Ok((first, rules)),
        Some(second) => {
            let failure =
                Failure::usage(format!("{source} has several formats: {}, {} ..", first.name(), second.name()));
            Err(failure.hint("SOURCE#NAME chooses one"))
        }
    }
}

/// Everything about a format.
pub(crate) fn show(format: &Format, output: &mut Output) -> io::Result<()> {
    let root = format.structure();
    writeln!(output, "{}: {}", output.paint(Tone::Strong, format.name()), size(root))?;
    writeln!(output, "{}  {}", output.paint(Tone::Faint, "machine"), format.machine())?;
    writeln!(output, "{}    {}", output.paint(Tone::Faint, "token"), format.token())?;
    writeln!(output)?;
    fields(root, output)?;
    for nested in nested(root) {
        writeln!(output)?;
        writeln!(output, "{}: {}", output.paint(Tone::Strong, nested.name()), size(&nested))?;
        writeln!(output)?;
        fields(&nested, output)?;
    }
    Ok(())
}

fn size(structure: &Structure) -> String {
    format!("{}, aligned to {}", plural(structure.size(), "byte"), structure.align())
}

fn fields(structure: &Structure, output: &mut Output) -> io::Result<()> {
    let head = ["offset", "size", "field", "type", "unit"];
    let mut rows = vec![head.map(|title| toned(Tone::Faint, title)).into()];
    let mut symbols = Vec::new();
    for stretch in stretches(structure) {
        rows.push(row(&stretch, structure, &mut symbols));
    }
    let (left, right) = (Side::Left, Side::Right);
    output.columns(&[right, right, left, left, left], &rows)?;
    for (field, enumeration) in symbols {
        let list = enumeration.symbols().iter().map(|symbol| format!("{}={}", symbol.name, symbol.value));
        let list = list.collect::<Vec<_>>().join(" ");
        writeln!(output, "\n{} {list}", output.paint(Tone::Faint, &format!("symbols of {field}:")))?;
    }
    Ok(())
}

fn row<'a>(stretch: &Stretch<'a>, structure: &Structure, symbols: &mut Vec<(&'a str, &'a Enumeration)>) -> Vec<Cell> {
    let Some(field) = stretch.field else {
        return [stretch.offset.to_string(), stretch.size.to_string(), "(gap)".into()]
            .map(|text| toned(Tone::Faint, text))
            .into();
    };
    let mut words = Type::of(field, structure).to_string();
    if let Element::Enumeration(enumeration) = &field.element
        && let (Some(open), Some(close)) = (words.find('{'), words.rfind('}'))
        && close - open > SHORT
    {
        symbols.push((&field.name, enumeration));
        words.replace_range(open + 1..close, "..");
    }
    let unit = field.unit.as_deref().unwrap_or("");
    vec![cell(stretch.offset), cell(stretch.size), toned(Tone::Strong, &field.name), cell(words), cell(unit)]
}

/// Bytes of a structure: a field, or a gap.
struct Stretch<'a> {
    offset: usize,
    size: usize,
    field: Option<&'a Field>,
}

fn stretches(structure: &Structure) -> Vec<Stretch<'_>> {
    let mut stretches = Vec::new();
    let mut end = 0;
    for field in structure.fields() {
        if field.offset > end {
            stretches.push(Stretch { offset: end, size: field.offset - end, field: None });
        }
        let size = field.extent(structure.machine().pointer).unwrap_or(0);
        stretches.push(Stretch { offset: field.offset, size, field: Some(field) });
        end = field.offset + size;
    }
    if structure.size() > end {
        stretches.push(Stretch { offset: end, size: structure.size() - end, field: None });
    }
    stretches
}

/// The structures that are nested in a record, each once, in the order in which they are met.
pub(crate) fn nested(root: &Structure) -> Vec<Arc<Structure>> {
    let mut all: Vec<Arc<Structure>> = Vec::new();
    collect(root, &mut all);
    all
}

fn collect(structure: &Structure, all: &mut Vec<Arc<Structure>>) {
    for field in structure.fields() {
        if let Element::Structure(inner) = &field.element
            && !all.iter().any(|known| known.name() == inner.name())
        {
            all.push(inner.clone());
            collect(inner, all);
        }
    }
}

/// A format as JSON.
pub(crate) fn to_json(format: &Format) -> Value {
    let root = format.structure();
    let structure = |inner: &Arc<Structure>| {
        json!({
            "name": inner.name(),
            "size": inner.size(),
            "alignment": inner.align(),
            "fields": fields_to_json(inner),
            "gaps": gaps_to_json(inner),
        })
    };
    json!({
        "name": format.name(),
        "token": format.token().to_string(),
        "order": match format.machine().order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        },
        "pointer": format.machine().pointer,
        "size": root.size(),
        "alignment": root.align(),
        "fields": fields_to_json(root),
        "gaps": gaps_to_json(root),
        "structures": nested(root).iter().map(structure).collect::<Vec<_>>(),
    })
}

fn fields_to_json(structure: &Structure) -> Value {
    let field = |Stretch { offset, size, field }| {
        let field: &Field = field?;
        let words = Type::of(field, structure).to_string();
        let mut object = json!({ "name": *field.name, "type": words, "offset": offset, "size": size });
        if let Some(unit) = &field.unit {
            object["unit"] = (**unit).into();
        }
        Some(object)
    };
    stretches(structure).into_iter().filter_map(field).collect()
}

fn gaps_to_json(structure: &Structure) -> Value {
    let gaps = stretches(structure).into_iter().filter(|stretch| stretch.field.is_none());
    gaps.map(|gap| json!({ "offset": gap.offset, "size": gap.size })).collect()
}
