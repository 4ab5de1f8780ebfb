//! Names at a format service: their versions, what their rules refuse, and what owners say of them.

use super::formats::pages;
use super::{diff, failed, formats_of, missing};
use crate::args::service::Version;
use crate::failure::{Failure, notice};
use crate::open::{no_messages, open};
use crate::output::{Cell, Output, Side, Tone, cell, plural, toned, wrapped};
use crate::source::named_layout;
use crate::time::utc;
use isoform::core::text::format;
use isoform::text::Shown;
use isoform::{Code, Format};
use isoform_service::Servers;
use isoform_service::names::Rule;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// Lines of text are no longer than this.
const WIDTH: usize = 100;

/// What follows if there is no version to compare with.
const NOTHING: &str = "; nothing to compare";

/// Words before the last line of an explanation. They are left out, since they mean one reader and one writer here, and not the rule of a name.
const VERDICTS: [&str; 2] = ["forward: ", "incompatible: "];

/// The formats of a source, on the machines that the arguments name.
pub(super) fn formats(source: &str, version: &Version, output: &Output) -> Result<Vec<Format>, Failure> {
    let opened = open(source, no_messages(), output)?;
    if version.on.is_empty() {
        let mut formats = opened.formats()?;
        let all = formats.by_ref().collect::<Result<Vec<_>, _>>()?;
        return if all.is_empty() { Err(formats.none()) } else { Ok(all) };
    }
    let layouts = version.on.iter().map(|name| named_layout(name)).collect::<Result<Vec<_>, _>>()?;
    let mut formats: Vec<Format> = Vec::new();
    for format in opened.formats_on(&layouts)?.into_iter().flatten() {
        // Machines may have one layout.
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(formats)
}

/// The JSON of a version with these formats.
pub(super) fn declaration(formats: &[Format], version: &Version) -> Result<Value, Failure> {
    let root = formats[0].name();
    if let Some(other) = formats.iter().find(|format| format.name() != root) {
        let failure = Failure::usage(format!("the source has records {root} and {}: a name has one", other.name()));
        return Err(failure.hint(format!("choose one by name, as in SOURCE#{root}")));
    }
    let mut rules: Map<String, Value> = Map::new();
    let mut rule = |field: &str, key: &str, value: Value| {
        let (structure, name) = field.rsplit_once('.').unwrap_or((root, field));
        let structure = rules.entry(structure).or_insert_with(|| json!({}));
        let entry = &mut structure[name];
        match (&value, entry[key].is_array()) {
            (Value::Array(more), true) => entry[key].as_array_mut().expect("just seen").extend(more.clone()),
            _ => entry[key] = value,
        }
    };
    for (field, alias) in &version.alias {
        rule(field, "aliases", json!([alias]));
    }
    for (field, text) in &version.default {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            Failure::usage(format!("--default {field}={text}: {error}"))
                .hint("a default is JSON, such as 0.5 or '\"text\"'")
        })?;
        rule(field, "default", value);
    }
    version.default_zero.iter().for_each(|field| rule(field, "default", json!({})));
    version.required.iter().for_each(|field| rule(field, "required", true.into()));
    let whole = |format: &&Format| serde_json::from_str(&format::to_json(format)).expect("a format's JSON is JSON");
    // Formats in another order are the same version.
    let mut formats: Vec<&Format> = formats.iter().collect();
    formats.sort_unstable_by_key(|format| format.token());
    let mut json = json!({ "formats": formats.iter().map(whole).collect::<Vec<Value>>() });
    if !rules.is_empty() {
        json["rules"] = rules.into();
    }
    Ok(json)
}

/// Stores a version.
pub(super) fn add(
    servers: &Servers,
    name: &str,
    rule: Option<Rule>,
    version: &Value,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(rule) = rule {
        let before = servers.name(name).ok().and_then(|state| Some(state["rule"].as_str()?.to_owned()));
        servers.set_rule(name, rule).map_err(failed)?;
        if let Some(before) = before.filter(|before| *before != rule.to_string()) {
            notice(&format!("the rule of {name} is {rule} now; it was {before}"));
        }
    }
    match servers.add_version(name, version).map_err(failed)? {
        Ok(number) if json => writeln!(output, "{}", json!({ "name": name, "version": number }))?,
        Ok(number) => writeln!(output, "{name}: version {number}")?,
        Err(refused) => return refusal(servers, name, &refused, json, output),
    }
    Ok(())
}

/// Asks whether a version would be accepted.
pub(super) fn check(
    servers: &Servers,
    name: &str,
    version: &Value,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let refused = servers.check(name, version).map_err(failed)?;
    if !refused.is_empty() {
        return refusal(servers, name, &refused, json, output);
    }
    // A user who has misspelt the name must learn that nothing was compared.
    let compared = match servers.name(name) {
        Ok(state) => {
            let count = missing::standing(&state).len();
            match count {
                0 if state["versions"].as_array().is_some_and(Vec::is_empty) => say_new(servers, name, NOTHING),
                0 => notice(&format!("all versions of {name} are retired{NOTHING}")),
                _ => {}
            }
            count
        }
        Err(error) if error.code() == Code::NoSuchName => {
            say_new(servers, name, NOTHING);
            0
        }
        Err(error) => return Err(failed(error)),
    };
    match (json, compared) {
        (true, _) => {
            writeln!(output, "{}", json!({ "name": name, "compatible": true, "compared": compared > 0 }))?;
        }
        (false, 0) => {}
        (false, _) => writeln!(output, "{name} accepts this version")?,
    }
    Ok(())
}

/// Says that a name has no versions yet, perhaps because it is misspelt, and what follows from that.
fn say_new(servers: &Servers, name: &str, so: &str) {
    let others = missing::like(servers, name);
    let others = others.map_or(String::new(), |others| format!("; did you mean {others}?"));
    notice(&format!("{name} has no versions yet{so}{others}"));
}

/// Sets the rule of a name. If the name is new and similar to another one, it may be misspelt.
pub(super) fn set_rule(servers: &Servers, name: &str, rule: Rule) -> Result<(), Failure> {
    servers.set_rule(name, rule).map_err(|error| missing::name(servers, name, error))?;
    let is_new = servers.name(name).is_ok_and(|state| state["versions"].as_array().is_some_and(Vec::is_empty));
    if is_new && missing::like(servers, name).is_some() {
        say_new(servers, name, "");
    }
    Ok(())
}

/// Retires a version; the last one only with `--yes`.
pub(super) fn retire(servers: &Servers, name: &str, number: u64, yes: bool) -> Result<(), Failure> {
    let state = servers.name(name).map_err(|error| missing::name(servers, name, error))?;
    let left = missing::standing(&state);
    if left == [number] && !yes {
        return Err(Failure::usage(format!("version {number} is the only version of {name} that is not retired"))
            .hint(format!(
                "--yes retires it: then name:{name} is nothing, and the next version is compared with none"
            )));
    }
    servers.retire(name, number).map_err(|error| missing::version(servers, name, Some(number), error))
}

/// Shows why a rule refuses a version.
fn refusal(servers: &Servers, name: &str, refused: &[Value], json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        writeln!(output, "{}", json!({ "name": name, "compatible": false, "refused": refused }))?;
        return Err(Failure::Shown { status: 1 });
    }
    let versions = |pair: &Value| (pair["reader"].clone(), pair["writer"].clone());
    // Machines differ in places and byte orders, and hardly in what is missing: one pair shows it for all of them.
    for pairs in refused.chunk_by(|a, b| versions(a) == versions(b)) {
        let title = format!("version {} cannot read version {}", pairs[0]["reader"], pairs[0]["writer"]);
        writeln!(output, "{}", output.paint(Tone::Bad, &title))?;
        let text = pairs[0]["explained"].as_str().unwrap_or("").trim_end();
        for line in text.lines() {
            // The title names both versions, and says which reads which.
            let line = VERDICTS.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
            writeln!(output, "{}", wrapped(&Shown(line.trim_end()).to_string(), WIDTH))?;
        }
        if pairs.len() > 1 {
            writeln!(output, "the same holds for {} of machines", plural(pairs.len() - 1, "other pair"))?;
        }
        writeln!(output)?;
    }
    let rule = servers.name(name).map_err(failed)?["rule"].as_str().unwrap_or("").to_owned();
    let mut at: Vec<&str> = Vec::new();
    for field in refused.iter().flat_map(|pair| pair["fields"].as_array()).flatten() {
        at.extend(field["path"].as_str().filter(|path| !at.contains(path)));
    }
    let failure = Failure::data(format!("the rule of {name}, {rule}, refuses this version at {}", at.join(", ")));
    Err(failure.hint(
        "--default FIELD=JSON gives a new field a value for older records; `isoform formats rule` changes the rule",
    ))
}

/// Lists the names.
pub(super) fn list(servers: &Servers, json: bool, output: &mut Output) -> Result<(), Failure> {
    let names = pages(servers, "names", &[], "names")?;
    if json {
        names.iter().try_for_each(|name| writeln!(output, "{name}"))?;
        return Ok(());
    }
    let mut rows = vec![["name", "versions", "latest", "rule"].map(|title| toned(Tone::Faint, title)).into()];
    for name in &names {
        let latest = name["latest"].as_u64().map_or("-".to_owned(), |number| number.to_string());
        rows.push(vec![
            toned(Tone::Strong, name["name"].as_str().unwrap_or("")),
            cell(&name["versions"]),
            cell(latest),
            cell(name["rule"].as_str().unwrap_or("")),
        ]);
    }
    Ok(output.columns(&[Side::Left, Side::Right, Side::Right, Side::Left], &rows)?)
}

/// Shows the versions of a name, and what its owner says of it.
pub(super) fn versions(servers: &Servers, name: &str, json: bool, output: &mut Output) -> Result<(), Failure> {
    let state = servers.name(name).map_err(|error| missing::name(servers, name, error))?;
    let none = Vec::new();
    let versions = state["versions"].as_array().unwrap_or(&none);
    if json {
        versions.iter().try_for_each(|version| writeln!(output, "{version}"))?;
        return Ok(());
    }
    let count = plural(versions.len(), "version");
    writeln!(output, "{}: {count}, rule {}", output.paint(Tone::Strong, name), state["rule"].as_str().unwrap_or(""))?;
    let prose = &state["prose"];
    for (title, text) in [("about", &prose["about"]), ("owner", &prose["owner"])] {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            writeln!(output, "{}  {}", output.paint(Tone::Faint, title), wrapped(&Shown(text).to_string(), 80))?;
        }
    }
    writeln!(output)?;
    let mut rows = vec![["version", "registered", "", "formats"].map(|title| toned(Tone::Faint, title)).into()];
    for version in versions {
        rows.extend(rows_of(version));
    }
    output.columns(&[Side::Right, Side::Left, Side::Left, Side::Left], &rows)?;
    versions.iter().try_for_each(|version| readers(version, output))?;
    if let Some(fields) = prose["fields"].as_object().filter(|fields| !fields.is_empty()) {
        let row = |(path, text): (&String, &Value)| vec![toned(Tone::Strong, path), cell(text.as_str().unwrap_or(""))];
        writeln!(output)?;
        output.columns(&[Side::Left; 2], &fields.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Shows what the readers of a version accept, if it has rules for them.
pub(super) fn readers(version: &Value, output: &mut Output) -> Result<(), Failure> {
    let rows = rules_of(version);
    if !rows.is_empty() {
        writeln!(output, "\nreaders of version {}", Shown(&version["number"]))?;
        output.columns(&[Side::Left; 2], &rows)?;
    }
    Ok(())
}

/// A row for each format of a version.
fn rows_of(version: &Value) -> Vec<Vec<Cell>> {
    // A server may say anything.
    let registered = UNIX_EPOCH.checked_add(Duration::from_secs(version["registered"].as_u64().unwrap_or(0)));
    let when = registered.map_or(String::new(), |time| utc(time).get(..16).unwrap_or("").replace('T', " "));
    let retired = if version["retired"] == true { "retired" } else { "" };
    let known = formats_of(version).unwrap_or_default();
    let shown = |token: &str| match known.iter().find(|format| format.token().to_string() == token) {
        Some(format) => format!("{token}  {}, {} bytes", format.machine(), format.size()),
        None => token.to_owned(),
    };
    let tokens = version["formats"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let row = |(i, token): (usize, &str)| match i {
        0 => vec![
            toned(Tone::Strong, &version["number"]),
            cell(&when),
            toned(Tone::Warning, retired),
            cell(shown(token)),
        ],
        _ => vec![cell(""), cell(""), cell(""), cell(shown(token))],
    };
    tokens.enumerate().map(row).collect()
}

/// What the readers of a version accept: a row for each field with rules.
fn rules_of(version: &Value) -> Vec<Vec<Cell>> {
    let structures = version["rules"].as_object().into_iter().flatten();
    let fields = structures.flat_map(|(structure, fields)| {
        fields.as_object().into_iter().flatten().map(move |(field, rule)| (format!("{structure}.{field}"), rule))
    });
    let row = |(path, rule): (String, &Value)| {
        let default = rule.get("default").map(|value| match value.as_object().is_some_and(Map::is_empty) {
            true => "zero if it is missing".to_owned(),
            false => format!("{value} if it is missing"),
        });
        let aliases = rule["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let aliases = aliases.map(|alias| format!("also {alias}"));
        let required = (rule["required"] == true).then(|| "required".to_owned());
        let text = default.into_iter().chain(aliases).chain(required).collect::<Vec<_>>().join("; ");
        vec![toned(Tone::Strong, path), cell(text)]
    };
    fields.map(row).collect()
}

/// Changes what is said of a name for people. Texts that are not given stay.
pub(super) fn about(
    servers: &Servers,
    name: &str,
    text: Option<&str>,
    owner: Option<&str>,
    fields: &[(String, String)],
    output: &mut Output,
) -> Result<(), Failure> {
    let mut state = servers.name(name).map_err(|error| missing::name(servers, name, error))?;
    let mut prose = state["prose"].take();
    if text.is_none() && owner.is_none() && fields.is_empty() {
        return versions(servers, name, false, output);
    }
    for (key, value) in [("about", text), ("owner", owner)] {
        if let Some(value) = value {
            prose[key] = value.into();
        }
    }
    let known = if fields.is_empty() { Vec::new() } else { paths(&state)? };
    for (path, text) in fields {
        if !known.contains(path) && prose["fields"][path].is_null() {
            let failure = Failure::usage(format!("{name} has no field {path}: it has {}", known.join(", ")));
            let near = missing::near(path, known.iter().map(String::as_str));
            return Err(match near {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure,
            });
        }
        prose["fields"][path] = text.as_str().into();
    }
    servers.set_prose(name, &prose).map_err(failed)
}

/// The paths of the fields of all versions.
fn paths(state: &Value) -> Result<Vec<String>, Failure> {
    let mut all: Vec<String> = Vec::new();
    for version in state["versions"].as_array().into_iter().flatten() {
        // Machines differ in places, and not in fields.
        for path in formats_of(version)?.first().into_iter().flat_map(diff::paths) {
            if !all.contains(&path) {
                all.push(path);
            }
        }
    }
    Ok(all)
}
