//! `isoform xmit`: documents that declare records. Reading and writing them is in `isoform-xmit`.

mod ranked;
mod text;

use crate::args::{Bind, Gen, Load, XmitWhat as What};
use crate::documents;
use crate::failure::{Failure, reason};
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, plural, toned};
use crate::source::{Document, Source};
use isoform_xmit::Target;
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(what: &What, output: &mut Output) -> Result<(), Failure> {
    match what {
        What::Load(arguments) => load(arguments, output),
        What::Bind(arguments) => bind(arguments, output),
        What::Gen(arguments) => generate(arguments, output),
        What::Match(arguments) => ranked::run(arguments, output),
        What::Hydrate(arguments) => text::hydrate(arguments, output),
        What::Dehydrate(arguments) => text::dehydrate(arguments, output),
        What::Markup(arguments) => text::markup(arguments, output),
    }
}

/// The document that a source names.
fn document(source: &str) -> Result<Document, Failure> {
    match Source::parse(source, Path::exists)? {
        Source::Document(document) => Ok(document),
        _ => Err(Failure::usage(format!("{source:?} is no document"))
            .hint("such as xsd:river.xsd; see `isoform help sources`")),
    }
}

fn load(arguments: &Load, output: &mut Output) -> Result<(), Failure> {
    let document = document(&arguments.source)?;
    let about = |failure: Failure| failure.about(&arguments.source);
    let declarations = documents::declarations(&document).map_err(about)?;
    let names: Vec<&str> = match &document.name {
        Some(name) => vec![name],
        None => declarations.names().collect(),
    };
    let (mut rows, mut refused): (Vec<Vec<Cell>>, u64) = (Vec::new(), 0);
    for name in names {
        match declarations.get(name) {
            Ok(record) if arguments.json => {
                let fields = record.fields.iter().map(|field| {
                    json!({"name": field.name, "type": field.kind.to_string(), "unit": field.unit, "default": field.default,
                           "prose": field.prose})
                });
                let fields: Vec<_> = fields.collect();
                writeln!(output, "{}", json!({"record": name, "prose": record.prose, "fields": fields}))?;
            }
            Ok(record) => {
                let fields: Vec<&str> = record.fields.iter().map(|field| &*field.name).collect();
                let count = plural(fields.len(), "field");
                rows.push(vec![toned(Tone::Strong, name), cell(count), cell(fields.join(", "))]);
            }
            // One that was asked for by name is what the command is about.
            Err(error) if document.name.is_some() => return Err(about(Failure::from(error).of_source())),
            Err(error) if arguments.json => {
                refused += 1;
                writeln!(output, "{}", json!({"record": name, "refused": error.to_string()}))?;
            }
            Err(error) => {
                refused += 1;
                rows.push(vec![toned(Tone::Bad, name), cell("refused"), cell(error)]);
            }
        }
    }
    output.columns(&[Side::Left; 3], &rows)?;
    match refused {
        0 => Ok(()),
        _ => Err(Failure::Shown { status: 1 }),
    }
}

fn bind(arguments: &Bind, output: &mut Output) -> Result<(), Failure> {
    document(&arguments.source)?;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for format in open(&arguments.source, no_messages(), output)?.formats()? {
        let format = format?;
        rows.push(vec![
            toned(Tone::Faint, format.token()),
            toned(Tone::Strong, format.name()),
            cell(plural(format.size(), "byte")),
            cell(format.machine()),
        ]);
    }
    Ok(output.columns(&[Side::Left, Side::Left, Side::Right, Side::Left], &rows)?)
}

fn generate(arguments: &Gen, output: &mut Output) -> Result<(), Failure> {
    let target: Target =
        arguments.language.parse().map_err(|error: isoform::Error| Failure::usage(error.to_string()))?;
    let document = document(&arguments.source)?;
    if document.layout.is_some() {
        return Err(Failure::usage("source code is laid out by its compiler").hint("omit the @ and the layout"));
    }
    let about = |failure: Failure| failure.about(&arguments.source);
    let declarations = documents::declarations(&document).map_err(about)?;
    let text = target
        .write(&declarations, document.name.as_deref())
        .map_err(|error| about(Failure::from(error).of_source()))?;
    match &arguments.output {
        None => Ok(output.write_all(text.as_bytes())?),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {}", path.display(), reason(&error)))),
    }
}
