//! `isoform formats`: shows the formats and names of a service, and registers them there.

use super::{diff, export, failed, formats_of, named, names, put};
use crate::args::service::{Formats, What};
use crate::failure::{Failure, reason};
use crate::format;
use crate::output::{Output, Side, Tone, cell, toned};
use crate::source::Source;
use isoform::Format;
use isoform::core::text;
use isoform_service::Servers;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// The command refuses lists of more entries: a server may go on without end.
const MOST: usize = 1_000_000;
/// The entries of a page.
const PAGE: usize = 1000;

pub(crate) fn run(arguments: &Formats, output: &mut Output) -> Result<(), Failure> {
    let servers = named(&arguments.service)?;
    match &arguments.what {
        What::Put { source, version, name, rule, json } => {
            let formats = names::formats(source, version, output)?;
            formats.iter().try_for_each(|format| put(servers, format))?;
            // A refusal is printed alone: its reader wants no table of formats.
            if let Some(name) = name {
                names::add(servers, name, *rule, &names::declaration(&formats, version)?, *json, output)?;
            }
            stored(&formats, *json, output)
        }
        What::Get { format, json, output: file } => get(format, *json, file.as_deref(), output),
        What::Ls { text, name, field, json } => {
            let mut found = list(servers, &[("text", text), ("name", name), ("field", field)])?;
            if let Some(text) = text {
                found.extend(of_token(servers, text)?);
            }
            show(&found, *json, output)
        }
        What::Versions { name: None, json } => names::list(servers, *json, output),
        What::Versions { name: Some(name), json } => names::versions(servers, name, *json, output),
        What::Check { name, source, version, json } => {
            let formats = names::formats(source, version, output)?;
            names::check(servers, name, &names::declaration(&formats, version)?, *json, output)
        }
        What::Diff { old, new, json } => diff::run(old, new, *json, output),
        What::Export { folder } => export::run(servers, folder, output),
        What::Rule { name, rule } => names::set_rule(servers, name, *rule),
        What::Retire { name, version, yes } => names::retire(servers, name, *version, *yes),
        What::About { name, text, owner, field } => {
            names::about(servers, name, text.as_deref(), owner.as_deref(), field, output)
        }
    }
}

/// Shows the formats that were stored.
fn stored(formats: &[Format], json: bool, output: &mut Output) -> Result<(), Failure> {
    let rows = formats.iter().map(|format| {
        serde_json::json!({
            "token": format.token().to_string(), "name": format.name(), "size": format.size(),
            "machine": format.machine().to_string(),
        })
    });
    show(&rows.collect::<Vec<_>>(), json, output)
}

/// A row for each format.
fn show(formats: &[Value], json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        formats.iter().try_for_each(|format| writeln!(output, "{format}"))?;
        return Ok(());
    }
    let mut rows = vec![["token", "size", "name", "machine"].map(|title| toned(Tone::Faint, title)).into()];
    for format in formats {
        let text = |key: &str| format[key].as_str().unwrap_or("").to_owned();
        rows.push(vec![
            cell(text("token")),
            cell(&format["size"]),
            toned(Tone::Strong, text("name")),
            cell(text("machine")),
        ]);
    }
    Ok(output.columns(&[Side::Left, Side::Right, Side::Left, Side::Left], &rows)?)
}

fn get(which: &str, json: bool, file: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
    let bare = which.len() == 32 && which.bytes().all(|byte| byte.is_ascii_hexdigit());
    let source = if bare { format!("token:{which}") } else { which.to_owned() };
    let mut version = None;
    let formats = match Source::parse(&source, |_| false)? {
        Source::Token(token) => vec![super::format(token)?],
        Source::Name(name) => {
            let declared = super::the_version(&name)?;
            let formats = formats_of(&declared)?;
            version = Some(declared);
            let is_chosen = |format: &Format| {
                name.format.as_ref().is_none_or(|digits| format.token().to_string().starts_with(digits))
            };
            formats.into_iter().filter(is_chosen).collect()
        }
        _ => {
            return Err(Failure::usage(format!("{which:?} is neither a token nor name:NAME")).hint(format!(
                "name:{which} is the name; `isoform formats ls` lists tokens, `isoform formats versions` names"
            )));
        }
    };
    if let Some(file) = file {
        let [format] = &formats[..] else {
            return Err(Failure::usage(format!("{which} has {} formats, and a file holds one", formats.len()))
                .hint("name one by its token"));
        };
        let cannot = |error| Failure::data(format!("cannot write {}: {}", file.display(), reason(&error)));
        return std::fs::write(file, format.description().as_bytes()).map_err(cannot);
    }
    for (i, format) in formats.iter().enumerate() {
        match json {
            true => writeln!(output, "{}", text::format::to_json(format))?,
            false => {
                if i > 0 {
                    writeln!(output)?;
                }
                format::show(format, output)?;
            }
        }
    }
    // Rules of readers are in no format: JSON has them with the versions.
    match version {
        Some(version) if !json => names::readers(&version, output),
        _ => Ok(()),
    }
}

fn list(servers: &Servers, filter: &[(&str, &Option<String>)]) -> Result<Vec<Value>, Failure> {
    let filter: Vec<_> = filter.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))).collect();
    pages(servers, "formats", &filter, "formats")
}

/// The formats whose tokens begin with these digits. Fewer than four may well be a word.
fn of_token(servers: &Servers, digits: &str) -> Result<Vec<Value>, Failure> {
    if !(4..=32).contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(Vec::new());
    }
    let digits = digits.to_ascii_lowercase();
    let first = u128::from_str_radix(&format!("{digits:0<32}"), 16).unwrap_or(0);
    // Lists are sorted by token, and go on behind one.
    let mut after = first.checked_sub(1).map(|before| format!("{before:032x}"));
    let mut all = Vec::new();
    // A server may go on without end.
    for _ in 0..MOST / PAGE {
        let last = after.as_deref().map(|after: &str| ("after", after));
        let query: Vec<(&str, &str)> = last.into_iter().chain([("limit", "1000")]).collect();
        let mut page = servers.list("formats", &query).map_err(failed)?;
        let Value::Array(formats) = page["formats"].take() else { break };
        let is_one = |format: &Value| format["token"].as_str().is_some_and(|token| token.starts_with(&digits));
        let is_behind = formats.last().is_some_and(|format| !is_one(format));
        all.extend(formats.into_iter().filter(is_one));
        match page["next"].as_str() {
            Some(next) if !is_behind => after = Some(next.to_owned()),
            _ => break,
        }
    }
    Ok(all)
}

/// All entries of a list that comes in pages.
pub(super) fn pages(
    servers: &Servers,
    path: &str,
    filter: &[(&str, &str)],
    entries: &str,
) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let last = after.as_deref().map(|after: &str| ("after", after));
        let query: Vec<(&str, &str)> = filter.iter().copied().chain(last).chain([("limit", "1000")]).collect();
        let mut page = servers.list(path, &query).map_err(failed)?;
        if let Some(Value::Array(list)) = page.get_mut(entries).map(Value::take) {
            all.extend(list);
        }
        if all.len() > MOST {
            return Err(Failure::data(format!("the server lists more than {MOST} {entries}")));
        }
        match page["next"].as_str() {
            Some(next) if after.as_deref() != Some(next) => after = Some(next.to_owned()),
            _ => return Ok(all),
        }
    }
}
