//! `isoform explain`: how a receiver of one format converts records of another. `query` explains what a query makes of them.

use crate::args;
use crate::failure::Failure;
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, toned, wrapped};
use crate::query;
use isoform::Format;
use isoform::core::plan::{Action, COLUMNS, Explanation, Plan, Reports, Rules, StepTime, TIME_COLUMNS};
use isoform_dynamic::rules::Wishes;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lines of text are no longer than this.
const WIDTH: usize = 80;

pub(crate) fn run(arguments: &args::Explain, output: &mut Output) -> Result<(), Failure> {
    if let Some(text) = &arguments.query {
        return query::explain(&arguments.wire, text, arguments.json, output);
    }
    let native = arguments.native.as_deref().unwrap_or_default();
    let (wire, native, stated) = formats(&arguments.wire, native, output)?;
    // What the arguments say goes before what a document says.
    let (faults, said) = (arguments.faults.into(), rules(arguments, &native)?);
    let rules = stated.missing(said.on_missing()).and(said);
    let explained = Explanation::new(&wire, &native, &rules, faults);
    let explained = if arguments.time { isoform::timed(explained) } else { explained };
    match arguments.json {
        true => print_json(arguments, &wire, &native, &explained, output)?,
        false => print(arguments, &explained, output)?,
    }
    if explained.verdict().is_readable() { Ok(()) } else { Err(Failure::Shown { status: 1 }) }
}

/// The rules of the receiver, as the arguments declare them.
fn rules(arguments: &args::Explain, native: &Format) -> Result<Rules, Failure> {
    let mut wishes = Wishes::new();
    let place = |field: &str| match field.rsplit_once('.') {
        Some((structure, field)) => (structure.to_string(), field.to_string()),
        None => (native.name().to_string(), field.to_string()),
    };
    for (field, alias) in &arguments.alias {
        let (structure, name) = place(field);
        Rules::check_alias(alias).map_err(|error| error.at(field))?;
        wishes.alias(&structure, &name, alias);
    }
    for (field, json) in &arguments.default {
        let (structure, name) = place(field);
        wishes.default(&structure, &name, json);
    }
    for (structure, name) in arguments.default_zero.iter().map(|field| place(field)) {
        wishes.default_zero(&structure, &name);
    }
    for (structure, name) in arguments.required.iter().map(|field| place(field)) {
        wishes.required(&structure, &name);
    }
    wishes.missing(arguments.missing.into());
    Ok(wishes.of(native)?)
}

fn print(arguments: &args::Explain, explained: &Explanation, output: &mut Output) -> io::Result<()> {
    let end =
        |[title, name, machine]: [String; 3]| vec![toned(Tone::Faint, title), toned(Tone::Strong, name), cell(machine)];
    output.columns(&[Side::Left; 3], &explained.ends().map(end))?;
    writeln!(output)?;
    fields(explained, output)?;
    if let (true, Some(plan)) = (arguments.plan || arguments.code, explained.plan()) {
        writeln!(output, "\n{}", wrapped(plan.to_string().trim_end(), WIDTH))?;
    }
    if let (true, Some(plan)) = (arguments.code, explained.plan()) {
        match isoform::code(explained) {
            Some(code) => writeln!(output, "\n{}", code.trim_end())?,
            None => writeln!(output, "\n{}", wrapped(no_code(plan), WIDTH))?,
        }
    }
    times(explained, output)?;
    if let obstacles @ [_, _, ..] = explained.reports().obstacles() {
        writeln!(output, "\n{}", output.paint(Tone::Bad, "obstacles"))?;
        for obstacle in obstacles {
            writeln!(output, "{}", wrapped(&format!("  {obstacle}"), WIDTH))?;
        }
    }
    writeln!(output)?;
    let tone = if explained.verdict().is_readable() { Tone::Good } else { Tone::Bad };
    let verdict = explained.verdict().to_string();
    let text = wrapped(&format!("{verdict}: {}", explained.meaning()), WIDTH);
    writeln!(output, "{}{}", output.paint(tone, &verdict), text.strip_prefix(&verdict).unwrap_or(&text))?;
    Ok(())
}

/// The reason for which there is no machine code.
fn no_code(plan: &Plan) -> &'static str {
    if plan.is_direct() {
        "no machine code: nothing is converted"
    } else {
        "no machine code: long arrays are all of the work, the plan is too large, or this program generates none here"
    }
}

/// How many fields are in both formats.
fn matched(reports: &Reports) -> usize {
    reports
        .iter()
        .filter(|report| report.wire.is_some() && report.native.is_some() && report.action != Action::Length)
        .count()
}

/// A row for each field, and what may be lost.
pub(crate) fn fields(explained: &Explanation, output: &mut Output) -> io::Result<()> {
    let mut rows: Vec<Vec<Cell>> = vec![COLUMNS.map(|title| toned(Tone::Faint, title)).into()];
    for (report, [path, wire, native, conversion, cost]) in explained.reports().iter().zip(explained.rows()) {
        let tone = if report.loss().is_some() { Tone::Warning } else { Tone::Plain };
        let path = toned(Tone::Strong, path);
        rows.push(vec![path, cell(wire), cell(native), toned(tone, conversion), toned(Tone::Faint, cost)]);
    }
    output.columns(&[Side::Left; 5], &rows)?;
    let losses: Vec<Vec<Cell>> =
        explained.losses().map(|[path, loss]| vec![cell(format!("  {path}")), cell(loss)]).collect();
    if !losses.is_empty() {
        writeln!(output, "\n{}", output.paint(Tone::Warning, "possible losses and errors"))?;
        output.columns(&[Side::Left; 2], &losses)?;
    }
    Ok(())
}

/// What was measured.
fn times(explained: &Explanation, output: &mut Output) -> io::Result<()> {
    let Some(title) = explained.time_title() else { return Ok(()) };
    writeln!(output, "\n{}", wrapped(&title, WIDTH))?;
    let mut rows: Vec<Vec<Cell>> = vec![TIME_COLUMNS.map(|title| toned(Tone::Faint, title)).into()];
    rows.extend(explained.time_rows().map(|row| row.map(cell).into()));
    if rows.len() > 1 { output.columns(&[Side::Right, Side::Right, Side::Left], &rows) } else { Ok(()) }
}

fn print_json(
    arguments: &args::Explain,
    wire: &Format,
    native: &Format,
    explained: &Explanation,
    output: &mut Output,
) -> io::Result<()> {
    let (verdict, reports) = (explained.verdict(), explained.reports());
    for report in reports.iter() {
        let object = json!({
            "field": report.path,
            "wire": report.wire,
            "native": report.native,
            "action": report.action.to_string(),
            "loss": report.loss(),
            "cost": report.cost(),
        });
        writeln!(output, "{object}")?;
    }
    let end = |format: &Format| json!({ "name": format.name(), "token": format.token().to_string() });
    let mut object = json!({
        "verdict": verdict.to_string(),
        "readable": verdict.is_readable(),
        "meaning": explained.meaning(),
        "matched": matched(reports),
        "obstacles": reports.obstacles().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "wire": end(wire),
        "native": end(native),
    });
    if let (true, Some(plan)) = (arguments.plan || arguments.code, explained.plan()) {
        object["plan"] = Value::String(plan.to_string());
    }
    if arguments.code {
        object["code"] = isoform::code(explained).map_or(Value::Null, Value::String);
    }
    if let Some(title) = explained.time_title() {
        object["measured"] = Value::String(title);
    }
    if let Some(Ok(times)) = explained.times() {
        let step = |step: &StepTime| json!({ "step": step.text, "bytes": step.bytes, "nanoseconds": step.nanoseconds });
        object["times"] = json!({
            "elements": times.elements,
            "wire": times.wire,
            "native": times.native,
            "steps": times.steps.iter().map(step).collect::<Vec<_>>(),
            "verification": times.verification,
            "interpreted": times.interpreted,
            "generated": times.generated,
        });
    }
    writeln!(output, "{object}")
}

/// The one format of each source that is meant: the only one, or the one whose name is in the other source too.
/// Also the rules that a document states for the receiver.
fn formats(wire: &str, native: &str, output: &Output) -> Result<(Format, Format, Rules), Failure> {
    let all = |source: &str| -> Result<(Vec<Format>, isoform::Result<Rules>), Failure> {
        let opened = open(source, no_messages(), output)?;
        let rules = opened.rules.clone();
        let mut formats = opened.formats()?;
        let all = formats.by_ref().collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() { Err(formats.none()) } else { Ok((all, rules)) }
    };
    if standard_input(wire) && standard_input(native) {
        return Err(Failure::usage("both sources are standard input").hint("use a file for one of them"));
    }
    let ((wires, _), (natives, rules)) = (all(wire)?, all(native)?);
    let rules = rules.map_err(|error| Failure::from(error).about(native))?;
    let pairs: Vec<(&Format, &Format)> =
        wires.iter().flat_map(|a| natives.iter().map(move |b| (a, b))).filter(|(a, b)| a.name() == b.name()).collect();
    match (&wires[..], &natives[..], &pairs[..]) {
        ([wire], [native], _) => Ok((wire.clone(), native.clone(), rules)),
        (_, _, [(wire, native)]) => Ok(((*wire).clone(), (*native).clone(), rules)),
        ([_], several, _) => Err(ambiguous(native, several)),
        (several, _, _) => Err(ambiguous(wire, several)),
    }
}

fn standard_input(source: &str) -> bool {
    source == "-" || source.starts_with("/dev/stdin")
}

fn ambiguous(source: &str, formats: &[Format]) -> Failure {
    let named = |format: &Format| format!("{} ({:.8})", format.name(), format.token().to_string());
    let names: Vec<String> = formats.iter().map(named).collect();
    let failure = Failure::usage(format!("{source} has several formats: {}", names.join(", ")));
    let example = formats.first().map_or(String::new(), |format| format.token().to_string());
    failure.hint(format!("choose one by name or token, as in {source}#{example:.8}"))
}
