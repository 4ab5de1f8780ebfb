//! `isoform xmit hydrate` and `dehydrate`: records to XML or JSON as a document describes them, and back. `markup`: what it says of them.

use super::document;
use crate::args::{Dehydrate, Hydrate, MarkupOf, Text};
use crate::documents;
use crate::failure::{Failure, reason};
use crate::format;
use crate::open::{Content, open, open_raw};
use crate::output::Output;
use crate::show::Unshown;
use crate::source::{Document, Source};
use crate::whole::Place;
use isoform::core::plan::Faults;
use isoform::core::{Verifier, View};
use isoform::stream::Writer;
use isoform::{Error, Format, Incoming, Limits, Rules};
use isoform_dynamic::convert::Converter;
use isoform_xmit::{Hydration, Markup, Texts};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

/// Records of the format that `--by` names, with the markup of the document, or of a file.
fn hydration(text: &Text, output: &Output) -> Result<(Hydration, Rules), Failure> {
    let format = format::only(&text.by, output)?;
    let about = |failure: Failure| failure.about(&text.by);
    let (mut markup, mut rules) = (Markup::plain(format.name()), Rules::new());
    if let Source::Document(document) = Source::parse(&text.by, Path::exists)? {
        (markup, rules) = of_document(&document, &format).map_err(about)?;
    }
    if let Some(path) = &text.markup {
        let name = path.display().to_string();
        let read = std::fs::read_to_string(path);
        let read = read.map_err(|error| Failure::usage(format!("cannot read {name}: {}", reason(&error))))?;
        markup = Markup::parse(&name, &read).map_err(|error| Failure::from(error).of_source())?;
    }
    let hydration = Hydration::new(&format, &markup).map_err(|error| about(Failure::from(error).of_source()))?;
    Ok((hydration.rules(rules.clone()), rules))
}

fn of_document(document: &Document, format: &Format) -> Result<(Markup, Rules), Failure> {
    let declarations = documents::declarations(document)?;
    let name = document.name.as_deref().unwrap_or(format.name());
    Ok((declarations.markup(name)?, declarations.rules(name)?))
}

pub(super) fn markup(arguments: &MarkupOf, output: &mut Output) -> Result<(), Failure> {
    let document = document(&arguments.source)?;
    let about = |failure: Failure| failure.about(&arguments.source);
    let name = document.name.as_deref().ok_or_else(|| {
        Failure::usage(format!("{} names no record", arguments.source)).hint("#RECORD behind it does")
    })?;
    let declarations = documents::declarations(&document).map_err(about)?;
    let markup = declarations.markup(name).map_err(|error| about(Failure::from(error).of_source()))?;
    Ok(writeln!(output, "{markup}")?)
}

pub(super) fn hydrate(arguments: &Hydrate, output: &mut Output) -> Result<(), Failure> {
    let (hydration, rules) = hydration(&arguments.text, output)?;
    let converter = Converter::new(hydration.format().clone(), rules, Faults::Error);
    let verifier = Verifier::new(hydration.format());
    let opened = open(&arguments.source, Limits::default(), output)?;
    let Content::Stream(mut reader) = opened.content else {
        return Err(
            Failure::usage(format!("{} holds no records", opened.name)).hint("hydrate takes a stream of records")
        );
    };
    let within = (!arguments.text.json).then_some(arguments.text.within.as_deref()).flatten();
    if let Some(name) = within {
        writeln!(output, "<{name}>")?;
    }
    let mut unshown = Unshown::new(&opened.name, "message", "cannot be written");
    let (mut messages, mut line) = (0u64, String::new());
    loop {
        let position = reader.position();
        let mut write = |message: &Incoming<'_>| -> Result<(), Error> {
            let body = converter.body(message)?;
            let view = View::new(verifier.verify(&body)?);
            match arguments.text.json {
                true => hydration.write_json(view, &mut line),
                false => hydration.write_xml(view, &mut line),
            }
        };
        match reader.peek() {
            Ok(Some((_, format))) if !opened.choice.is(&format) => _ = reader.seek_past()?,
            Ok(_) => {}
            Err(error) if reader.goes_on_after(&error) => {}
            Err(error) => return Err(Failure::from(error).about(&opened.name)),
        }
        let result = match reader.next() {
            Ok(None) => break,
            Ok(Some(message)) => write(&message).map_err(|error| (error, Some(message.token()))),
            Err(error) => Err((error, None)),
        };
        messages += 1;
        match result {
            Ok(()) => writeln!(output, "{line}")?,
            Err((error, None)) if !reader.goes_on_after(&error) => {
                output.flush()?;
                return Err(Failure::from(error).about(&opened.name));
            }
            Err((error, token)) => {
                output.flush()?;
                unshown.tell(error, format_args!("message {messages} at byte {position}"), token);
            }
        }
        line.clear();
        if !reader.is_ready() {
            output.flush()?;
        }
    }
    if let Some(name) = within {
        writeln!(output, "</{name}>")?;
    }
    output.flush()?;
    unshown.end()
}

pub(super) fn dehydrate(arguments: &Dehydrate, output: &mut Output) -> Result<(), Failure> {
    let hydration = Arc::new(hydration(&arguments.text, output)?.0);
    let (name, input) = open_raw(&arguments.source, output)?;
    if arguments.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage("a stream is binary, and not for terminals").hint("-o FILE writes it to a file"));
    }
    let place = arguments.output.as_deref().map(Place::new).transpose()?;
    let to: Box<dyn Write> = match &place {
        Some(place) => Box::new(place),
        None => Box::new(io::stdout().lock()),
    };
    let mut writer = Writer::new(to);
    let format = hydration.format();
    writer.describe(format)?;
    let records = match arguments.text.json {
        true => Texts::json(hydration.clone(), input),
        false => Texts::xml(hydration.clone(), input, arguments.text.within.as_deref()),
    };
    for body in records {
        // What a record says is not the fault of the command line.
        let body = body.map_err(|error| Failure::data(error.to_string()).about(&name))?;
        writer.write_body(format, &body)?;
    }
    writer.flush()?;
    drop(writer);
    place.map_or(Ok(()), Place::end)
}
