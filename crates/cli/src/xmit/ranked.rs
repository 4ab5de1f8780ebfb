//! `isoform xmit match`: definitions in the order in which they fit what comes.

use crate::args::Match;
use crate::documents;
use crate::failure::Failure;
use crate::format;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, toned};
use crate::source::{Document, Source};
use isoform::core::plan::{Faults, Fit, Kind};
use isoform::{Error, Format};
use isoform_xmit::{Cost, Ranked, rank};
use serde_json::json;
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
    let ranking = rank(&wire, &kinds);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (place, ranked) in ranking.list.iter().enumerate() {
        let name = &names[ranked.kind];
        if arguments.json {
            writeln!(output, "{}", object(name, ranked))?;
            continue;
        }
        let (number, tone) = match ranked.fit {
            Ok(_) => ((place + 1).to_string(), Tone::Strong),
            Err(_) => ("-".into(), Tone::Bad),
        };
        let why = ranked.fit.as_ref().map_or_else(|error| format!("does not fit: {error}"), Fit::to_string);
        let cost = ranked.cost.as_ref().map_or(String::new(), Cost::to_string);
        rows.push(vec![cell(number), toned(tone, name), cell(&ranked.verdict), toned(Tone::Faint, cost), cell(why)]);
    }
    for (name, error) in &refused {
        if arguments.json {
            writeln!(output, "{}", json!({"definition": name, "fits": false, "reason": error.to_string()}))?;
            continue;
        }
        rows.push(vec![
            cell("-"),
            toned(Tone::Bad, name),
            cell(""),
            cell(""),
            cell(format!("cannot be represented: {error}")),
        ]);
    }
    output.columns(&[Side::Right, Side::Left, Side::Left, Side::Left, Side::Left], &rows)?;
    let (Some(reason), Some(first)) = (ranking.reason, ranking.list.first()) else {
        return Err(Failure::Shown { status: 1 });
    };
    if !arguments.json {
        writeln!(output, "\n{} becomes {}: {reason}", wire.name(), names[first.kind])?;
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

fn object(name: &str, ranked: &Ranked) -> serde_json::Value {
    match &ranked.fit {
        Ok(Fit { named, taken, filled, inexact }) => {
            let works = ranked.cost.iter().flat_map(|cost| &cost.works);
            let cost: serde_json::Map<String, serde_json::Value> = works
                .map(|(work, bytes)| {
                    (work.to_string(), json!({"record": bytes.record, "each": bytes.each, "texts": bytes.texts}))
                })
                .collect();
            json!({
                "definition": name, "fits": true, "named": named, "taken": taken, "filled": filled, "inexact": inexact,
                "verdict": ranked.verdict.to_string(), "cost": cost,
            })
        }
        Err(error) => json!({"definition": name, "fits": false, "reason": error.to_string()}),
    }
}
