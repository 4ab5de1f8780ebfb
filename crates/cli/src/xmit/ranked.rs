//! `isoform xmit match`: definitions in the order in which they fit what comes.

use crate::args::Match;
use crate::documents;
use crate::failure::Failure;
use crate::format;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, toned};
use crate::source::{Document, Source};
use isoform::core::plan::{Explanation, Faults, Fit, Kind, choose};
use isoform::{Error, Format, Result as Fitting};
use serde_json::json;
use std::cmp::Reverse;
use std::io::Write;
use std::path::Path;

pub(super) fn run(arguments: &Match, output: &mut Output) -> Result<(), Failure> {
    let wire = format::only(&arguments.source, output)?;
    let (mut names, mut kinds): (Vec<String>, Vec<Kind>) = (Vec::new(), Vec::new());
    let mut refused: Vec<(String, Error)> = Vec::new();
    for source in &arguments.definitions {
        if let Source::Document(document @ Document { name: None, .. }) = Source::parse(source, Path::exists)? {
            let about = |failure: Failure| failure.about(source);
            for (name, kind) in documents::each(&document).map_err(about)? {
                let name = format!("{source}#{name}");
                match kind {
                    Ok((format, rules)) => {
                        names.push(name);
                        kinds.push(Kind { format, rules, faults: Faults::Error });
                    }
                    Err(error) => refused.push((name, error)),
                }
            }
            continue;
        }
        let opened = open(source, no_messages(), output)?;
        let rules = opened.rules.clone().map_err(|error| Failure::from(error).about(source))?;
        for format in opened.formats()? {
            let format = format?;
            names.push(name(source, &format));
            kinds.push(Kind { format, rules: rules.clone(), faults: Faults::Error });
        }
    }
    let choice = choose(&wire, &kinds);
    // In the order of the choice: what was declared first comes first of equal ones.
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by_key(|&at| Reverse(choice.fits()[at].as_ref().ok().map(rank)));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (place, &at) in order.iter().enumerate() {
        let (kind, fit) = (&kinds[at], &choice.fits()[at]);
        let explained = Explanation::new(&wire, &kind.format, &kind.rules, kind.faults);
        if arguments.json {
            writeln!(output, "{}", object(&names[at], fit, &explained))?;
            continue;
        }
        let (number, tone) = match fit {
            Ok(_) => ((place + 1).to_string(), Tone::Strong),
            Err(_) => ("-".into(), Tone::Bad),
        };
        let why = fit.as_ref().map_or_else(|error| format!("does not fit: {error}"), Fit::to_string);
        rows.push(vec![cell(number), toned(tone, &names[at]), cell(explained.verdict()), cell(why)]);
    }
    for (name, error) in &refused {
        if arguments.json {
            writeln!(output, "{}", json!({"definition": name, "fits": false, "reason": error.to_string()}))?;
            continue;
        }
        rows.push(vec![cell("-"), toned(Tone::Bad, name), cell(""), cell(format!("cannot be represented: {error}"))]);
    }
    output.columns(&[Side::Right, Side::Left, Side::Left, Side::Left], &rows)?;
    let Some(reason) = choice.reason() else { return Err(Failure::Shown { status: 1 }) };
    if !arguments.json {
        writeln!(output, "\n{} becomes {}: {reason}", wire.name(), names[choice.kind()?])?;
    }
    Ok(())
}

/// What a definition is called: the source, and the record if the source does not say it.
fn name(source: &str, format: &Format) -> String {
    match source.contains('#') {
        true => source.into(),
        false => format!("{source}#{}", format.name()),
    }
}

/// Greater is better.
fn rank(fit: &Fit) -> (bool, usize, Reverse<usize>, Reverse<usize>) {
    (fit.named, fit.taken, Reverse(fit.filled), Reverse(fit.inexact))
}

fn object(name: &str, fit: &Fitting<Fit>, explained: &Explanation) -> serde_json::Value {
    match fit {
        Ok(Fit { named, taken, filled, inexact }) => json!({
            "definition": name, "fits": true, "named": named, "taken": taken, "filled": filled, "inexact": inexact,
            "verdict": explained.verdict().to_string(),
        }),
        Err(error) => json!({"definition": name, "fits": false, "reason": error.to_string()}),
    }
}
