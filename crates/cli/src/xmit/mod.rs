//! `isoform xmit`: documents that declare records. Reading and writing them is in `isoform-xmit`.

mod ranked;
mod text;

use crate::args::{Bind, Gen, Load, XmitWhat as What};
use crate::documents;
use crate::failure::{Failure, notice, reason};
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, plural, toned};
use crate::source::{Document, Source};
use isoform::core::declare::Type;
use isoform::{Error, Format};
use isoform_xmit::{Declaration, LeftOut, Target};
use serde_json::{Value, json};
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
    let about = |failure: Failure| failure.about(&arguments.source);
    let mut listing = Listing { json: arguments.json, output, rows: Vec::new(), refused: 0, left_out: 0 };
    match Source::parse(&arguments.source, Path::exists)? {
        Source::Program(source) => {
            let program = documents::opened(&source).map_err(about)?;
            match &source.name {
                // One that was asked for by name is what the command is about.
                Some(name) => {
                    let format = program.format(name).map_err(|error| about(Failure::from(error).of_source()))?;
                    listing.format(name, &format)?;
                }
                None => {
                    let left_out = program.each(|name, format| match format {
                        Ok(format) => listing.format(name, &format),
                        Err(error) => listing.refused(name, &error),
                    })?;
                    left_out.iter().try_for_each(|left| listing.left_out(left))?;
                }
            }
            // Nobody declared each struct of a program to be a record, so what is refused is no failure.
            listing.end().map(drop)
        }
        _ => {
            let document = document(&arguments.source)?;
            let declarations = documents::declarations(&document).map_err(about)?;
            let names: Vec<&str> = match &document.name {
                Some(name) => vec![name],
                None => declarations.names().collect(),
            };
            let (mut records, mut unchecked) = (documents::Records::new(&declarations, &document), 0);
            for name in names {
                // A format refuses more than a declaration, such as two symbols of one number.
                let bound = |record| match records.bind(name) {
                    Ok(format) => format.map(|_| record),
                    Err(_) => {
                        unchecked += 1;
                        Ok(record)
                    }
                };
                match declarations.get(name).and_then(bound) {
                    Ok(record) => listing.declared(name, record)?,
                    Err(error) if document.name.is_some() => return Err(about(Failure::from(error).of_source())),
                    Err(error) => listing.refused(name, &error)?,
                }
            }
            if unchecked > 0 {
                notice(&format!(
                    "{} could not be laid out within the limit of {} fields and symbols, and may still be refused",
                    plural(unchecked, "record"),
                    documents::MAX_FIELDS
                ));
            }
            if document.name.is_none() {
                declarations.left_out().iter().try_for_each(|left| listing.left_out(left))?;
            }
            match listing.end()? {
                0 => Ok(()),
                _ => Err(Failure::Shown { status: 1 }),
            }
        }
    }
}

/// The records of a source, as `load` lists them.
struct Listing<'o> {
    json: bool,
    output: &'o mut Output,
    rows: Vec<Vec<Cell>>,
    refused: u64,
    left_out: usize,
}

impl Listing<'_> {
    fn declared(&mut self, name: &str, record: &Declaration) -> Result<(), Failure> {
        let fields = record.fields.iter().map(|field| {
            json!({"name": field.name, "type": field.kind.to_string(), "unit": field.unit, "default": field.default,
                   "prose": field.prose})
        });
        self.record(name, record.prose.as_deref(), fields.collect())
    }

    fn format(&mut self, name: &str, format: &Format) -> Result<(), Failure> {
        let structure = format.structure();
        let field = |field: &isoform::core::Field| {
            let words = Type::of(field, structure).to_string();
            json!({"name": *field.name, "type": words, "unit": field.unit.as_deref(), "default": null, "prose": null})
        };
        self.record(name, None, structure.fields().iter().map(field).collect())
    }

    fn record(&mut self, name: &str, prose: Option<&str>, fields: Vec<Value>) -> Result<(), Failure> {
        if self.json {
            return Ok(writeln!(self.output, "{}", json!({"record": name, "prose": prose, "fields": fields}))?);
        }
        let names: Vec<&str> = fields.iter().filter_map(|field| field["name"].as_str()).collect();
        self.rows.push(vec![toned(Tone::Strong, name), cell(plural(names.len(), "field")), cell(names.join(", "))]);
        Ok(())
    }

    fn refused(&mut self, name: &str, error: &Error) -> Result<(), Failure> {
        self.refused += 1;
        if self.json {
            return Ok(writeln!(self.output, "{}", json!({"record": name, "refused": error.to_string()}))?);
        }
        self.rows.push(vec![toned(Tone::Bad, name), cell("refused"), cell(error)]);
        Ok(())
    }

    /// What is no record. If records may be lost with it, it counts as refused.
    fn left_out(&mut self, left: &LeftOut) -> Result<(), Failure> {
        self.refused += u64::from(left.is_refused);
        self.left_out += 1;
        let LeftOut { what, place, reason, is_refused } = left;
        if self.json {
            let left = json!({"left_out": what, "at": place, "reason": reason, "refused": is_refused});
            return Ok(writeln!(self.output, "{left}")?);
        }
        let tone = if *is_refused { Tone::Bad } else { Tone::Faint };
        self.rows.push(vec![toned(tone, what), cell("left out"), cell(format!("{place}: {reason}"))]);
        Ok(())
    }

    /// Returns how many were refused.
    fn end(self) -> Result<u64, Failure> {
        let records = self.rows.len() - if self.json { 0 } else { self.left_out };
        self.output.columns(&[Side::Left; 3], &self.rows)?;
        if self.left_out > 0 && !self.json {
            let (listed, left) = (plural(records, "record"), self.left_out);
            writeln!(self.output, "\n{listed} listed, {left} left out")?;
        }
        Ok(self.refused)
    }
}

fn bind(arguments: &Bind, output: &mut Output) -> Result<(), Failure> {
    if !matches!(Source::parse(&arguments.source, Path::exists)?, Source::Program(_)) {
        document(&arguments.source)?;
    }
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
