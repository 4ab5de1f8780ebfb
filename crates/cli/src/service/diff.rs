//! `isoform formats diff`: what differs between two formats, and which of them can read the other.

use crate::failure::Failure;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, plural, toned, wrapped};
use crate::source::Source;
use isoform::Format;
use isoform::core::declare::Type;
use isoform::core::plan::{Explanation, Faults, Rules};
use isoform::core::{Element, Structure};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// A field anywhere in a format.
#[derive(PartialEq)]
struct Place {
    path: String,
    kind: String,
    unit: Option<String>,
    offset: usize,
}

/// What became of a field.
enum Change<'a> {
    Added(&'a Place),
    Removed(&'a Place),
    /// Another type or unit.
    Changed(&'a Place, &'a Place),
    Moved(&'a Place, &'a Place),
}

pub(super) fn run(old: &str, new: &str, json: bool, output: &mut Output) -> Result<(), Failure> {
    let sources = (old, new);
    let (old, new) = pair(old, new, output)?;
    let (before, after) = (places(&old), places(&new));
    let changes = changes(&before, &after);
    let forth = Explanation::new(&old, &new, &rules(sources.1, &new)?, Faults::Error);
    let back = Explanation::new(&new, &old, &rules(sources.0, &old)?, Faults::Error);
    if json {
        for change in &changes {
            writeln!(output, "{}", change.to_json())?;
        }
        let object = json!({
            "old": old.token().to_string(), "new": new.token().to_string(),
            "new reads old": forth.plan().is_some(), "old reads new": back.plan().is_some(),
        });
        writeln!(output, "{object}")?;
        return Ok(());
    }
    let rows: Vec<Vec<Cell>> = changes.iter().filter_map(Change::row).collect();
    output.columns(&[Side::Left; 4], &rows)?;
    let moved = changes.iter().filter(|change| matches!(change, Change::Moved(..))).count();
    if moved > 0 {
        writeln!(output, "{} only elsewhere in memory", plural(moved, "field"))?;
    }
    match (old.token() == new.token(), changes.is_empty()) {
        (true, _) => return Ok(writeln!(output, "the same format")?),
        (false, true) => writeln!(output, "the same fields, on machines that differ")?,
        _ => {}
    }
    writeln!(output)?;
    for (reader, writer, explained) in [("new", "old", &forth), ("old", "new", &back)] {
        match explained.reports().obstacles() {
            [] => writeln!(output, "{}", output.paint(Tone::Good, &format!("{reader} reads {writer}")))?,
            obstacles => {
                writeln!(output, "{}", output.paint(Tone::Bad, &format!("{reader} cannot read {writer}")))?;
                for obstacle in obstacles {
                    writeln!(output, "{}", wrapped(&format!("  {obstacle}"), 80))?;
                }
            }
        }
    }
    Ok(())
}

/// The two formats: of several in a source, the one for the same machine and with the same name as the other's.
fn pair(old: &str, new: &str, output: &Output) -> Result<(Format, Format), Failure> {
    let all = |source: &str| -> Result<Vec<Format>, Failure> {
        let mut formats = open(source, no_messages(), output)?.formats()?;
        let all = formats.by_ref().collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() { Err(formats.none()) } else { Ok(all) }
    };
    let (before, after) = (all(old)?, all(new)?);
    let both = || before.iter().flat_map(|a| after.iter().map(move |b| (a, b)));
    let alike = both().find(|(a, b)| a.name() == b.name() && a.machine() == b.machine());
    let found = alike.or_else(|| both().find(|(a, b)| a.name() == b.name()));
    let found = found.or_else(|| (before.len() == 1 && after.len() == 1).then(|| (&before[0], &after[0])));
    let (a, b) = found.ok_or_else(|| {
        Failure::usage(format!("{old} and {new} have no record of the same name"))
            .hint("choose one of each, as in SOURCE#NAME")
    })?;
    Ok((a.clone(), b.clone()))
}

/// The rules of readers, if the source is a version of a name.
fn rules(source: &str, format: &Format) -> Result<Rules, Failure> {
    match Source::parse(source, Path::exists)? {
        Source::Name(name) => Ok(super::declaration(&name)?.rules_for(format)?),
        _ => Ok(Rules::new()),
    }
}

/// The paths of all fields.
pub(super) fn paths(format: &Format) -> impl Iterator<Item = String> {
    places(format).into_iter().map(|place| place.path)
}

fn places(format: &Format) -> Vec<Place> {
    let mut all = Vec::new();
    collect(format.structure(), "", &mut all);
    all
}

fn collect(structure: &Structure, prefix: &str, all: &mut Vec<Place>) {
    for field in structure.fields() {
        let path = format!("{prefix}{}", field.name);
        let kind = Type::of(field, structure).to_string();
        let inner = format!("{path}.");
        all.push(Place { path, kind, unit: field.unit.as_deref().map(str::to_owned), offset: field.offset });
        if let Element::Structure(nested) = &field.element {
            collect(nested, &inner, all);
        }
    }
}

fn changes<'a>(before: &'a [Place], after: &'a [Place]) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    for place in after {
        match before.iter().find(|known| known.path == place.path) {
            None => changes.push(Change::Added(place)),
            Some(known) if known.kind != place.kind || known.unit != place.unit => {
                changes.push(Change::Changed(known, place));
            }
            Some(known) if known.offset != place.offset => changes.push(Change::Moved(known, place)),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|place| after.iter().all(|known| known.path != place.path));
    changes.extend(gone.map(Change::Removed));
    changes
}

impl Change<'_> {
    fn row(&self) -> Option<Vec<Cell>> {
        let with_unit = |place: &Place| match &place.unit {
            Some(unit) => format!("{} {unit}", place.kind),
            None => place.kind.clone(),
        };
        Some(match self {
            Change::Added(new) => {
                vec![toned(Tone::Good, "+"), toned(Tone::Strong, &new.path), cell(""), cell(with_unit(new))]
            }
            Change::Removed(old) => {
                vec![toned(Tone::Bad, "-"), toned(Tone::Strong, &old.path), cell(with_unit(old)), cell("")]
            }
            Change::Changed(old, new) => {
                vec![
                    toned(Tone::Warning, "~"),
                    toned(Tone::Strong, &new.path),
                    cell(with_unit(old)),
                    cell(with_unit(new)),
                ]
            }
            Change::Moved(..) => return None,
        })
    }

    fn to_json(&self) -> Value {
        let place = |place: &Place| json!({ "type": place.kind, "unit": place.unit, "offset": place.offset });
        let (change, path, old, new) = match self {
            Change::Added(new) => ("added", &new.path, Value::Null, place(new)),
            Change::Removed(old) => ("removed", &old.path, place(old), Value::Null),
            Change::Changed(old, new) => ("changed", &new.path, place(old), place(new)),
            Change::Moved(old, new) => ("moved", &new.path, place(old), place(new)),
        };
        json!({ "change": change, "field": path, "old": old, "new": new })
    }
}
