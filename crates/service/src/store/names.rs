//! Names in the store: their rules, versions and prose, and the order of their changes.

use super::formats::{MAX_BYTES, Tables, beyond, contains};
use super::{CHANGED, NAMES, NUMBERS, Store, failed};
use crate::names::{Comparing, FORMATS, Refusal, Rule, Version, are_rules};
use crate::values;
use isoform_core::{Code, Error, Format, Result, Token};
use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

/// The entry of `numbers` with the sequence of the last change of a name.
const LAST: &str = "names";

/// The fields that one new version may be compared with. That is some seconds.
const WORK: u64 = if cfg!(test) { 100_000 } else { 100_000_000 };
/// The values of a name, as JSON, and of a page of names: so that clients can take each answer.
const MAX_VALUES: usize = values::MOST / 2;
/// Formats that are kept while versions are compared.
const KNOWN: usize = 128;
/// Attempts to compare while others write.
const RACES: usize = 4;

/// A name: its rule, versions and prose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Name {
    /// The rule for new versions.
    pub rule: Rule,
    /// The versions, the first one first.
    pub versions: Vec<NumberedVersion>,
    /// What people should know about it.
    pub prose: Prose,
    /// The number of its last change.
    sequence: u64,
}

/// A version in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedVersion {
    /// Its number, from 1.
    pub number: u64,
    /// Seconds since 1970, by the clock of the server.
    pub registered: u64,
    /// Whether it no longer counts for the rule.
    pub retired: bool,
    /// The declaration, as JSON.
    pub declaration: Value,
}

/// What people should know about a name. It is in no token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prose {
    /// What the records are.
    pub about: String,
    /// Whom to ask.
    pub owner: String,
    /// What fields mean, by path.
    pub fields: Map<String, Value>,
}

/// A name that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct NameChange {
    /// The number of the change.
    pub sequence: u64,
    /// The name.
    pub name: String,
    /// What it is now.
    pub state: Name,
}

/// A name in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct NameSummary {
    /// The name.
    pub name: String,
    /// Its rule.
    pub rule: Rule,
    /// The number of versions.
    pub versions: usize,
    /// The number of the latest one that is not retired.
    pub latest: Option<u64>,
}

impl Store {
    /// A name.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn name(&self, name: &str) -> Result<Option<Name>> {
        let read = self.begin_read()?;
        let entry = read.open_table(NAMES).map_err(failed)?.get(name).map_err(failed)?;
        entry.map(|entry| Name::from_text(entry.value())).transpose()
    }

    /// The number of names.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn name_count(&self) -> Result<u64> {
        let read = self.begin_read()?;
        read.open_table(NAMES).map_err(failed)?.len().map_err(failed)
    }

    /// The names that begin with `prefix` and contain `text`, behind a name; and behind which name the next page begins, if there
    /// may be more.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn names(
        &self,
        prefix: &str,
        text: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<NameSummary>, Option<String>)> {
        let read = self.begin_read()?;
        let names = read.open_table(NAMES).map_err(failed)?;
        let (mut list, mut last, mut looked_at) = (Vec::new(), String::new(), 0);
        let start = after.filter(|after| *after > prefix).unwrap_or(prefix);
        for entry in names.range(start..).map_err(failed)? {
            let (name, state) = entry.map_err(failed)?;
            if !name.value().starts_with(prefix) {
                break;
            }
            if after == Some(name.value()) {
                continue;
            }
            if list.len() == limit || looked_at > MAX_BYTES {
                return Ok((list, Some(last)));
            }
            looked_at += state.value().len();
            name.value().clone_into(&mut last);
            if contains(name.value().as_bytes(), text) {
                list.push(Name::from_text(state.value())?.summary(name.value()));
            }
        }
        Ok((list, None))
    }

    /// Compares a declaration with the versions of a name. Stores nothing.
    ///
    /// # Errors
    /// As [`Version::from_json`]; [`Code::Fields`] if the rule asks for too many comparisons; [`Code::Io`].
    pub fn check(&self, name: &str, declaration: &Value) -> Result<Vec<Refusal>> {
        check_name(name)?;
        let new = self.version(declaration)?;
        match self.name(name)? {
            None => Ok(Vec::new()),
            Some(state) => self.compare(&state, &new),
        }
    }

    /// The version of a declaration whose formats are in the store, or in the declaration itself.
    ///
    /// # Errors
    /// As [`Version::from_json`]; [`Code::Io`].
    pub fn version(&self, declaration: &Value) -> Result<Version> {
        Version::from_json(declaration, |token| self.format(token).ok()?)
    }

    /// What the rule of a name refuses of a new version.
    fn compare(&self, state: &Name, new: &Version) -> Result<Vec<Refusal>> {
        // Versions most often share formats.
        let known: RefCell<HashMap<Token, Format>> = RefCell::default();
        let format = |token| {
            if let Some(format) = known.borrow().get(&token) {
                return Some(format.clone());
            }
            let format = self.format(token).ok()??;
            let mut known = known.borrow_mut();
            if known.len() >= KNOWN {
                known.clear();
            }
            known.insert(token, format.clone());
            Some(format)
        };
        let mut comparing = Comparing::new(state.rule, state.next(), new, WORK);
        let standing = state.versions.iter().rev().filter(|version| !version.retired);
        for version in standing.take(state.rule.reach()) {
            comparing.with(version.number, &Version::from_json(&version.declaration, format)?)?;
        }
        Ok(comparing.refused)
    }

    /// Stores a version of a name, which may be new, and returns its number and whether it is new; or the refusals of the rule.
    ///
    /// # Errors
    /// As [`Version::from_json`]; [`Code::Fields`] if the rule asks for too many comparisons; [`Code::Budget`] beyond the quota or if the disk is full; [`Code::Io`].
    pub fn add_version(
        &self,
        name: &str,
        declaration: &Value,
    ) -> Result<std::result::Result<(u64, bool), Vec<Refusal>>> {
        check_name(name)?;
        let new = self.version(declaration)?;
        let declaration = new.to_json();
        // Those that the declaration itself has. If the rule refuses the version, they do no harm: nobody refers to them.
        self.put_all(new.formats())?;
        self.keep(&tokens_of(&declaration))?;
        for race in 1.. {
            // Others write while this one compares.
            let before = self.name(name)?.unwrap_or_default();
            if let Some(known) = self.standing(&before, &declaration)? {
                return Ok(Ok((known, false)));
            }
            if before.next() > LARGEST {
                return Err(Error::new(Code::Budget)
                    .at(name)
                    .expected("a name whose last version has a smaller number"));
            }
            let refused = self.compare(&before, &new)?;
            let added = self.change(name, |state| {
                let refused = match state.sequence == before.sequence {
                    true => refused,
                    // Whoever loses too many races compares while others wait.
                    false if race < RACES => return Ok((None, false)),
                    false => match self.standing(state, &declaration)? {
                        Some(known) => return Ok((Some(Ok((known, false))), false)),
                        None => self.compare(state, &new)?,
                    },
                };
                if !refused.is_empty() {
                    return Ok((Some(Err(refused)), false));
                }
                let (number, declaration) = (state.next(), declaration.clone());
                state.versions.push(NumberedVersion { number, registered: now(), retired: false, declaration });
                Ok((Some(Ok((number, true))), true))
            });
            if let Some(added) = added? {
                return Ok(added);
            }
        }
        Err(Error::new(Code::Internal).expected("the last race to be won"))
    }

    /// The number of the latest version, if it is equal to this declaration.
    ///
    /// # Errors
    /// [`Code::Budget`] if it is not, and there is no room for another version.
    fn standing(&self, state: &Name, declaration: &Value) -> Result<Option<u64>> {
        match state.latest() {
            Some(latest) if latest.declaration == *declaration => Ok(Some(latest.number)),
            _ if state.versions.len() >= self.quota.versions => {
                Err(beyond("versions of a name", self.quota.versions as u64))
            }
            _ => Ok(None),
        }
    }

    /// Sets the rule of a name, which may be new.
    ///
    /// # Errors
    /// [`Code::Budget`], [`Code::Io`].
    pub fn set_rule(&self, name: &str, rule: Rule) -> Result<()> {
        check_name(name)?;
        self.change(name, |state| {
            state.rule = rule;
            Ok(((), true))
        })
    }

    /// Sets the prose of a name, which may be new.
    ///
    /// # Errors
    /// [`Code::Budget`], [`Code::Io`].
    pub fn set_prose(&self, name: &str, prose: Prose) -> Result<()> {
        check_name(name)?;
        self.change(name, |state| {
            state.prose = prose;
            Ok(((), true))
        })
    }

    /// Retires a version. Returns whether there is one of this number.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn retire(&self, name: &str, number: u64) -> Result<bool> {
        if self.name(name)?.is_none() {
            return Ok(false);
        }
        self.change(name, |state| match state.versions.iter_mut().find(|version| version.number == number) {
            None => Ok((false, false)),
            Some(version) => {
                let changes = !std::mem::replace(&mut version.retired, true);
                Ok((true, changes))
            }
        })
    }

    /// The names that changed after this number, each with the number of its last change; and the number of the last change.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn name_changes(&self, after: u64, limit: usize) -> Result<(Vec<NameChange>, u64)> {
        let read = self.begin_read()?;
        let last = read.open_table(NUMBERS).map_err(failed)?.get(LAST).map_err(failed)?.map_or(0, |last| last.value());
        let names = read.open_table(NAMES).map_err(failed)?;
        let (mut changes, mut bytes, mut entries) = (Vec::new(), 0, 0);
        let changed = read.open_table(CHANGED).map_err(failed)?;
        for entry in changed.range(after.saturating_add(1)..).map_err(failed)?.take(limit) {
            let (sequence, name) = entry.map_err(failed)?;
            if let Some(state) = names.get(name.value()).map_err(failed)? {
                bytes += state.value().len();
                entries += values::count(state.value().as_bytes());
                if !changes.is_empty() && (bytes > MAX_BYTES || entries > MAX_VALUES) {
                    break; // a replica asks again, and could not take an answer without bounds
                }
                let (sequence, name) = (sequence.value(), name.value().to_owned());
                changes.push(NameChange { sequence, name, state: Name::from_text(state.value())? });
            }
        }
        Ok((changes, last))
    }

    /// Takes over a name as another store has it.
    ///
    /// # Errors
    /// [`Code::Text`] if it is not the JSON of a name; [`Code::Budget`], [`Code::Io`].
    pub fn copy_name(&self, name: &str, state: &Value) -> Result<()> {
        check_name(name)?;
        let copied = Name::from_json(state)?;
        self.change(name, |state| {
            let is_new = state.sequence == 0 || *state != Name { sequence: state.sequence, ..copied.clone() };
            *state = Name { sequence: state.sequence, ..copied };
            Ok(((), is_new))
        })
    }

    /// Changes a name in one transaction, if `change` says that it did.
    fn change<T>(&self, name: &str, change: impl FnOnce(&mut Name) -> Result<(T, bool)>) -> Result<T> {
        self.healed(self.change_at_once(name, change))
    }

    fn change_at_once<T>(&self, name: &str, change: impl FnOnce(&mut Name) -> Result<(T, bool)>) -> Result<T> {
        let write = self.begin_write()?;
        let (before, count) = {
            let names = write.open_table(NAMES).map_err(failed)?;
            let before = names.get(name).map_err(failed)?.map(|entry| Name::from_text(entry.value())).transpose()?;
            (before, names.len().map_err(failed)?)
        };
        if before.is_none() && count >= self.quota.names {
            return Err(beyond("names", self.quota.names));
        }
        let mut state = before.unwrap_or_default();
        let tokens = state.tokens();
        let (result, changed) = change(&mut state)?;
        if changed {
            self.store_name(&write, name, &mut state)?;
            Tables::open(&write)?.set_named(name, &tokens, &state.tokens())?;
            self.commit(write)?;
        }
        Ok(result)
    }

    fn store_name(&self, write: &WriteTransaction, name: &str, state: &mut Name) -> Result<()> {
        let mut numbers = write.open_table(NUMBERS).map_err(failed)?;
        let sequence = numbers.get(LAST).map_err(failed)?.map_or(0, |last| last.value()) + 1;
        numbers.insert(LAST, sequence).map_err(failed)?;
        let mut changed = write.open_table(CHANGED).map_err(failed)?;
        changed.remove(state.sequence).map_err(failed)?;
        changed.insert(sequence, name).map_err(failed)?;
        state.sequence = sequence;
        let text = state.to_text();
        if text.len() > self.quota.name_bytes {
            return Err(beyond("bytes for a name", self.quota.name_bytes as u64));
        }
        if values::count(text.as_bytes()) > MAX_VALUES {
            return Err(beyond("values for a name", MAX_VALUES as u64));
        }
        write.open_table(NAMES).map_err(failed)?.insert(name, &*text).map_err(failed)?;
        Ok(())
    }
}

/// Notes which formats names have, in a store of an older version, which does not say it.
pub(super) fn fill_named(write: &WriteTransaction) -> Result<()> {
    let mut tables = Tables::open(write)?;
    if !tables.named.is_empty().map_err(failed)? {
        return Ok(());
    }
    for entry in write.open_table(NAMES).map_err(failed)?.iter().map_err(failed)? {
        let (name, text) = entry.map_err(failed)?;
        // One that is damaged is an error for those who ask for it.
        if let Ok(state) = Name::from_text(text.value()) {
            tables.set_named(name.value(), &BTreeSet::new(), &state.tokens())?;
        }
    }
    Ok(())
}

impl Name {
    /// The latest version that is not retired.
    pub fn latest(&self) -> Option<&NumberedVersion> {
        self.versions.iter().rev().find(|version| !version.retired)
    }

    /// The number of the next version.
    fn next(&self) -> u64 {
        self.versions.last().map_or(0, |last| last.number) + 1
    }

    /// The formats of all versions.
    fn tokens(&self) -> BTreeSet<Token> {
        self.versions.iter().flat_map(|version| tokens_of(&version.declaration)).collect()
    }

    fn summary(&self, name: &str) -> NameSummary {
        let latest = self.latest().map(|version| version.number);
        NameSummary { name: name.into(), rule: self.rule, versions: self.versions.len(), latest }
    }

    /// As the server answers it.
    pub fn to_json(&self) -> Value {
        json!({
            "rule": self.rule.word(),
            "versions": self.versions.iter().map(NumberedVersion::to_json).collect::<Vec<_>>(),
            "prose": { "about": self.prose.about, "owner": self.prose.owner, "fields": self.prose.fields },
        })
    }

    /// A name from what a server answers.
    ///
    /// # Errors
    /// [`Code::Text`].
    pub fn from_json(json: &Value) -> Result<Name> {
        let unfit = || Error::new(Code::Text).expected("the JSON of a name");
        let rule = json["rule"].as_str().ok_or_else(unfit)?.parse()?;
        let mut versions = Vec::new();
        for version in json["versions"].as_array().ok_or_else(unfit)? {
            let version = NumberedVersion::from_json(version).ok_or_else(unfit)?;
            if versions.last().is_some_and(|last: &NumberedVersion| last.number >= version.number) {
                return Err(unfit().found("versions that do not ascend"));
            }
            versions.push(version);
        }
        Ok(Name { rule, versions, prose: Prose::from_json(&json["prose"])?, sequence: 0 })
    }

    fn to_text(&self) -> String {
        let mut json = self.to_json();
        json["sequence"] = self.sequence.into();
        json.to_string()
    }

    fn from_text(text: &str) -> Result<Name> {
        let json: Value = serde_json::from_str(text).map_err(|error| Error::new(Code::Text).found(error))?;
        let sequence = json["sequence"].as_u64().unwrap_or(0);
        Ok(Name { sequence, ..Name::from_json(&json)? })
    }
}

/// The largest number of a version, and of seconds, which every reader of JSON has exactly.
const LARGEST: u64 = (1 << 53) - 1;

impl NumberedVersion {
    /// As the server answers it.
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "number": self.number, "registered": self.registered, "retired": self.retired });
        if let (Some(json), Some(declaration)) = (json.as_object_mut(), self.declaration.as_object()) {
            json.extend(declaration.clone());
        }
        json
    }

    fn from_json(json: &Value) -> Option<NumberedVersion> {
        let mut declaration = Map::new();
        for entry in ["formats", "rules"] {
            if let Some(value) = json.get(entry) {
                declaration.insert(entry.into(), value.clone());
            }
        }
        let tokens = declaration.get("formats")?.as_array()?;
        let is_token = |text: &str| text.parse::<Token>().is_ok_and(|token| token.to_string() == text);
        let are_tokens = tokens.iter().all(|token| token.as_str().is_some_and(is_token));
        let are_rules = declaration.get("rules").is_none_or(are_rules);
        if !are_tokens || !are_rules || !(1..=FORMATS).contains(&tokens.len()) {
            return None;
        }
        let number = |json: &Value| json.as_u64().filter(|number| *number <= LARGEST);
        Some(NumberedVersion {
            number: number(&json["number"]).filter(|number| *number > 0)?,
            registered: number(&json["registered"])?,
            retired: json["retired"].as_bool()?,
            declaration: declaration.into(),
        })
    }
}

impl Prose {
    /// Prose from JSON: texts `about` and `owner`, and an object `fields` of texts by path. All may be absent.
    ///
    /// # Errors
    /// [`Code::Text`].
    pub fn from_json(json: &Value) -> Result<Prose> {
        let unfit = |expected: &str| Error::new(Code::Text).expected(expected).found(json);
        let object = match json {
            Value::Null => return Ok(Prose::default()),
            json => json.as_object().ok_or_else(|| unfit("an object"))?,
        };
        if object.keys().any(|key| !["about", "owner", "fields"].contains(&key.as_str())) {
            return Err(unfit("about, owner, fields"));
        }
        let text = |name: &str| match object.get(name) {
            None => Ok(String::new()),
            Some(json) => json.as_str().map(String::from).ok_or_else(|| unfit("texts")),
        };
        let fields = match object.get("fields") {
            None => Map::new(),
            Some(Value::Object(fields)) if fields.values().all(Value::is_string) => fields.clone(),
            Some(_) => return Err(unfit("texts by path")),
        };
        Ok(Prose { about: text("about")?, owner: text("owner")?, fields })
    }
}

/// The tokens of a declaration.
fn tokens_of(declaration: &Value) -> Vec<Token> {
    let tokens = declaration["formats"].as_array().into_iter().flatten();
    tokens.filter_map(|token| token.as_str()?.parse().ok()).collect()
}

/// Whether a name is a step of a path that programs take out of a URL, also if it is percent-encoded: no request would reach it.
pub(crate) fn is_dots(name: &str) -> bool {
    matches!(name, "." | "..")
}

fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs())
}

/// Refuses what cannot be a name.
fn check_name(name: &str) -> Result<()> {
    match (1..=255).contains(&name.len()) && !name.chars().any(char::is_control) && !is_dots(name) {
        true => Ok(()),
        false => {
            let expected = "a name of 1 to 255 bytes without control characters, and not `.` or `..`";
            Err(Error::new(Code::Text).expected(expected).found(name))
        }
    }
}
