//! Records with their scopes: which record a name means, and what a record is called where its own name would not do (`spec/xmit.md`,
//! "Scopes"). The rooms of `front` say where each record is declared; [`Table`] answers [`crate::Declarations`].

use crate::declaration::Declaration;
use isoform_core::declare::Kind;
use isoform_core::{Code, Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;

/// How many records an error lists.
const LISTED: usize = 12;

/// Where a record is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Its name with its scopes, in the spelling of its language. No other record has it.
    pub(crate) full: Box<str>,
    /// The document and the line, if another record has the same name.
    pub(crate) place: Box<str>,
    /// Whether the document itself declares it, and none that it needs.
    pub(crate) is_own: bool,
    /// Whether an overlay gave it another name. The full name then means nothing to people.
    pub(crate) is_renamed: bool,
}

/// A record with its scope. The structures in its fields are full names of other records.
#[derive(Clone, Debug)]
pub(crate) struct Scoped {
    pub(crate) scope: Scope,
    pub(crate) name: Box<str>,
    pub(crate) declaration: Result<Declaration>,
}

/// The records of a document, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    list: Vec<Listed>,
    /// The records by what they are listed as.
    places: HashMap<Box<str>, usize>,
    /// The records by their full names, with dots.
    full: HashMap<Box<str>, usize>,
}

/// A record in a table. The structures in its fields are what other records are listed as.
#[derive(Clone, Debug)]
struct Listed {
    /// Its name, or the one with its scopes if another record has the same.
    key: Box<str>,
    record: Scoped,
}

impl Table {
    /// A table of records in this order. `place_of` says where one is declared, if another record has the same name.
    pub(crate) fn new(mut records: Vec<Scoped>, place_of: &dyn Fn(usize) -> Box<str>) -> Table {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        records.iter().for_each(|record| *counts.entry(&record.name).or_default() += 1);
        let key = |record: &Scoped| if counts[&*record.name] == 1 { &record.name } else { &record.scope.full }.clone();
        let keys: Vec<Box<str>> = records.iter().map(key).collect();
        let of: HashMap<Box<str>, Box<str>> =
            records.iter().zip(&keys).map(|(record, key)| (record.scope.full.clone(), key.clone())).collect();
        for (place, (record, key)) in records.iter_mut().zip(&keys).enumerate() {
            rename(&mut record.declaration, &|full| of.get(full).cloned());
            if *key != record.name {
                record.scope.place = place_of(place);
            }
        }
        let places = keys.iter().enumerate().map(|(place, key)| (key.clone(), place)).collect();
        let named = records.iter().enumerate().filter(|(_, record)| !record.scope.is_renamed);
        let full = named.map(|(place, record)| (dotted(&record.scope.full).into(), place)).collect();
        let list = keys.into_iter().zip(records).map(|(key, record)| Listed { key, record }).collect();
        Table { list, places, full }
    }

    /// The records as they were given, for another table of them.
    pub(crate) fn into_records(self) -> Vec<Scoped> {
        let of: HashMap<Box<str>, Box<str>> =
            self.list.iter().map(|listed| (listed.key.clone(), listed.record.scope.full.clone())).collect();
        let mut records: Vec<Scoped> = self.list.into_iter().map(|listed| listed.record).collect();
        records.iter_mut().for_each(|record| rename(&mut record.declaration, &|key| of.get(key).cloned()));
        records
    }

    /// What the records are listed as.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|listed| &*listed.key)
    }

    /// The declaration of a record.
    pub(crate) fn declaration(&self, place: usize) -> Result<&Declaration> {
        self.list[place].record.declaration.as_ref().map_err(Error::clone)
    }

    /// The record that another one has as a structure.
    pub(crate) fn nested(&self, key: &str) -> Result<usize> {
        self.places.get(key).copied().ok_or_else(|| self.unknown(key))
    }

    /// The record that a name means: one of the document itself before those of other documents. Outer scopes may
    /// be left out.
    pub(crate) fn find(&self, name: &str) -> Result<usize> {
        let wanted = dotted(name);
        let absolute = wanted.strip_prefix('.').unwrap_or(&wanted);
        let known = [self.places.get(name), self.full.get(&*wanted), self.full.get(absolute)];
        if let Some(&place) = known.into_iter().flatten().next() {
            return Ok(place);
        }
        let is_named = |record: &Scoped| *record.name == *name;
        let is_end = |record: &Scoped| {
            let Scope { full, is_renamed: false, .. } = &record.scope else { return false };
            dotted(full).strip_suffix(&*wanted).is_some_and(|outer| outer.ends_with(['.', '/']))
        };
        let among = |is_own: bool, is: &dyn Fn(&Scoped) -> bool| -> Vec<usize> {
            let all = self.list.iter().enumerate();
            let found = all.filter(|(_, listed)| listed.record.scope.is_own == is_own && is(&listed.record));
            found.map(|(place, _)| place).collect()
        };
        let levels =
            [(true, &is_named as &dyn Fn(&Scoped) -> bool), (false, &is_named), (true, &is_end), (false, &is_end)];
        for (is_own, is) in levels {
            match among(is_own, is)[..] {
                [] => {}
                [place] => return Ok(place),
                ref several => {
                    let all = several.iter().take(LISTED).map(|&place| self.shown(place)).collect::<Vec<_>>();
                    let error = Error::new(Code::NoSuchField).at(name);
                    let error = error.expected(format_args!("one of {}", all.join(", ")));
                    return Err(error.found(format_args!("{} records of this name", several.len())));
                }
            }
        }
        Err(self.unknown(name))
    }

    /// The full name of a record, and where it is declared.
    fn shown(&self, place: usize) -> String {
        let Scope { full, place, .. } = &self.list[place].record.scope;
        format!("{full} ({place})")
    }

    fn unknown(&self, name: &str) -> Error {
        let known: Vec<&str> = self.keys().take(LISTED).collect();
        let more = if self.list.len() > known.len() { ", .." } else { "" };
        let error = Error::new(Code::NoSuchField).at(name);
        if known.is_empty() {
            return error.expected("a record").found("a document that declares none");
        }
        error.expected(format_args!("one of the records {}{more}", known.join(", "))).found(name)
    }

    /// Whether two records have the same name without their scopes.
    pub(crate) fn has_twins(&self) -> bool {
        self.list.iter().any(|listed| listed.key != listed.record.name)
    }

    /// A record and each that it nests, once each, inner ones first. Their structures are names of records without scopes, of which no two
    /// are the same, as formats want it.
    pub(crate) fn each(
        &self,
        place: usize,
        done: &mut Walk,
        then: &mut dyn FnMut(&Declaration) -> Result<()>,
    ) -> Result<()> {
        let declaration = usable(self.declaration(place)?)?;
        match done.names.get(&declaration.name) {
            Some(&known) if known == place => return Ok(()),
            Some(&known) => {
                let error = Error::new(Code::Declaration).at(&*declaration.name);
                let error = error.expected("one record of each name in a format; an overlay can rename one");
                return Err(error.found(format_args!("{} and {}", self.shown(known), self.shown(place))));
            }
            None => _ = done.names.insert(declaration.name.clone(), place),
        }
        let mut plain = Cow::Borrowed(declaration);
        for (index, field) in declaration.fields.iter().enumerate() {
            if let Kind::Structure(key) = &field.kind.kind {
                let inner = self.nested(key)?;
                self.each(inner, done, then)?;
                let name = &self.list[inner].record.name;
                if name != key {
                    plain.to_mut().fields[index].kind.kind = Kind::Structure(name.clone());
                }
            }
        }
        then(&plain)
    }
}

/// The records that [`Table::each`] has seen.
#[derive(Default)]
pub(crate) struct Walk {
    names: HashMap<Box<str>, usize>,
}

/// A declaration, unless it has a pointer of which nobody says what it is.
pub(crate) fn usable(declaration: &Declaration) -> Result<&Declaration> {
    let refused = declaration.fields.iter().find_map(|field| field.pointer.as_ref()?.refused.clone());
    refused.map_or(Ok(declaration), Err)
}

/// A name with a dot between scopes, which may be written either way.
fn dotted(name: &str) -> Cow<'_, str> {
    if name.contains("::") { name.replace("::", ".").into() } else { name.into() }
}

/// Gives the structures of a declaration other names.
pub(crate) fn rename(declaration: &mut Result<Declaration>, new: &dyn Fn(&str) -> Option<Box<str>>) {
    for field in declaration.iter_mut().flat_map(|declaration| &mut declaration.fields) {
        let pointed = field.pointer.as_mut().and_then(|pointer| pointer.to.as_mut());
        for kind in [Some(&mut field.kind), pointed].into_iter().flatten() {
            if let Kind::Structure(name) = &mut kind.kind
                && let Some(new) = new(name)
            {
                *name = new;
            }
        }
    }
}
