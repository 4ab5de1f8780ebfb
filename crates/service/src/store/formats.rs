//! Formats in the store: by token, by name, by field, and in the order in which they came.

use super::copies::{COPIES, COPY_OF, Copied};
use super::{BY_FIELD, BY_NAME, FORMATS, NAMED, NUMBERS, ORDER, Store, View, failed, unless_it_panics};
use isoform_core::{Code, Element, Error, Field, Format, Result, Structure, Token};
use redb::{MultimapTable, ReadableTable, ReadableTableMetadata, Table, WriteTransaction};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The entry of `numbers` with the sequence of the last format.
const LAST: &str = "formats";

/// Formats that one search parses. A page may then have fewer formats than were asked for, or none, and the next one goes on.
const MAX_LOOKS: usize = if cfg!(test) { 5 } else { 1_000 };

/// The bytes of descriptions, or of names, that one page looks through.
pub(super) const MAX_BYTES: usize = if cfg!(test) { 2_000 } else { 4 << 20 };

/// Which formats a search finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The tokens, ascending.
    pub tokens: Vec<Token>,
    /// Whether there may be more, behind the token `last`.
    pub more: bool,
    /// The last token that was looked at.
    pub last: Option<Token>,
}

/// What became of a format that was put into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Whether it was not there before.
    pub is_new: bool,
}

impl Store {
    /// Stores a format, and returns when it is on disk.
    ///
    /// # Errors
    /// As [`put_all`](Store::put_all).
    pub fn put(&self, format: &Format) -> Result<Stored> {
        // Most puts are of formats that are known, and wait for nobody.
        if let Some(known) = self.hash(format.token())? {
            same(format, known)?;
            // A copy stays from now on.
            if !self.is_copy(format.token())? {
                return Ok(Stored { is_new: false });
            }
        }
        Ok(Stored { is_new: self.put_all(std::slice::from_ref(format))? == 1 })
    }

    /// Stores formats, all or none, and returns when they are on disk. Returns how many of them are new.
    ///
    /// # Errors
    /// [`Code::TokenMismatch`] if another description has a token; [`Code::Budget`] beyond the quota or if the disk is full;
    /// [`Code::Io`].
    pub fn put_all(&self, all: &[Format]) -> Result<usize> {
        self.healed(self.put_at_once(all, None)).map(|copied| copied.new)
    }

    /// Stores formats of a peer, or of clients of this server.
    pub(super) fn put_at_once(&self, all: &[Format], peer: Option<&str>) -> Result<Copied> {
        let write = self.begin_write()?;
        let (mut copied, mut is_changed) = (Copied::default(), false);
        {
            let mut tables = Tables::open(&write)?;
            if peer.is_some() {
                let uses = self.take_uses();
                is_changed = !uses.is_empty();
                uses.into_iter().try_for_each(|token| tables.touch(token))?;
            }
            for format in all {
                let token = format.token();
                if tables.has(format)? {
                    is_changed |= match peer {
                        None => tables.release(token)?,
                        Some(peer) => tables.share(peer, token)?,
                    };
                    continue;
                }
                while tables.formats.len().map_err(failed)? >= self.quota.formats {
                    tables.give_way(peer, self.quota.formats)?;
                    copied.gone += 1;
                }
                tables.add(format, peer)?;
                copied.new += 1;
            }
        }
        match is_changed || copied.new > 0 {
            false => Ok(copied),
            true => self.commit(write).map(|()| copied),
        }
    }

    /// The description of a token.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn get(&self, token: Token) -> Result<Option<Vec<u8>>> {
        let found = unless_it_panics(|| self.get_unless_damaged(token));
        found.unwrap_or_else(|panic| Err(damaged(token, panic)))
    }

    fn get_unless_damaged(&self, token: Token) -> Result<Option<Vec<u8>>> {
        let description = |view: &View| {
            let entry = view.get(token.as_bytes()).map_err(failed)?;
            entry.map(|entry| Ok(entry_of(token, entry.value())?.1.to_vec())).transpose()
        };
        let kept = self.view().clone();
        if let Some(found) = kept.map_or(Ok(None), |view| description(&view))? {
            return Ok(Some(found));
        }
        let view = Arc::new(self.begin_read()?.open_table(FORMATS).map_err(failed)?);
        *self.view() = Some(view.clone());
        description(&view)
    }

    /// The format of a token.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn format(&self, token: Token) -> Result<Option<Format>> {
        self.get(token)?.map(|description| parsed(token, &description)).transpose()
    }

    fn hash(&self, token: Token) -> Result<Option<[u8; 32]>> {
        let read = self.begin_read()?;
        let entry = read.open_table(FORMATS).map_err(failed)?.get(token.as_bytes()).map_err(failed)?;
        entry.map(|entry| Ok(entry_of(token, entry.value())?.0)).transpose()
    }

    /// The number of formats.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn count(&self) -> Result<u64> {
        let read = self.begin_read()?;
        read.open_table(FORMATS).map_err(failed)?.len().map_err(failed)
    }

    /// The formats with this name, and with a field of this name or path, behind a token.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn search(&self, name: Option<&str>, field: Option<&str>, after: Option<Token>, limit: usize) -> Result<Found> {
        let read = self.begin_read()?;
        let formats = read.open_table(FORMATS).map_err(failed)?;
        let mut found = Found::default();
        // Fills `found` with those that fit; false when it is full.
        let mut add = |token: Token, fits: bool| {
            if fits && after.is_none_or(|after| token > after) {
                found.more = found.tokens.len() == limit;
                if !found.more {
                    found.tokens.push(token);
                }
            }
            if !found.more {
                found.last = Some(token);
            }
            !found.more
        };
        let last = field.map(|path| path.rsplit('.').next().unwrap_or(path));
        let index = match (name, last) {
            (None, None) => {
                let start = after.map_or([0; 16], |after| *after.as_bytes());
                for entry in formats.range::<&[u8; 16]>(&start..).map_err(failed)? {
                    if !add(Token::from_bytes(*entry.map_err(failed)?.0.value()), true) {
                        break;
                    }
                }
                return Ok(found);
            }
            (Some(name), _) => read.open_multimap_table(BY_NAME).map_err(failed)?.get(name).map_err(failed)?,
            (None, Some(last)) => read.open_multimap_table(BY_FIELD).map_err(failed)?.get(last).map_err(failed)?,
        };
        let mut looks = 0;
        for token in index {
            let token = Token::from_bytes(*token.map_err(failed)?.value());
            if after.is_some_and(|after| token <= after) {
                continue;
            }
            if looks == MAX_LOOKS {
                found.more = true;
                break;
            }
            let needs_look = field.is_some_and(|path| name.is_some() || path.contains('.'));
            looks += usize::from(needs_look);
            let fits = !needs_look || {
                let entry = formats.get(token.as_bytes()).map_err(failed)?;
                let format = entry.map(|entry| parsed(token, entry_of(token, entry.value())?.1)).transpose()?;
                format.is_some_and(|format| field.is_none_or(|path| has_path(format.structure(), path)))
            };
            if !add(token, fits) {
                break;
            }
        }
        Ok(found)
    }

    /// The formats whose name, or the name of a field, contains this text, behind a token. Upper and lower case of ASCII are the same.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn containing(&self, text: &str, after: Option<Token>, limit: usize) -> Result<Found> {
        let read = self.begin_read()?;
        let formats = read.open_table(FORMATS).map_err(failed)?;
        let (mut found, mut looks, mut bytes) = (Found::default(), 0, 0);
        let start = after.map_or([0; 16], |after| *after.as_bytes());
        for entry in formats.range::<&[u8; 16]>(&start..).map_err(failed)? {
            let (token, entry) = entry.map_err(failed)?;
            let token = Token::from_bytes(*token.value());
            if Some(token) == after {
                continue;
            }
            let (_, description) = entry_of(token, entry.value())?;
            if found.tokens.len() == limit || looks == MAX_LOOKS || bytes > MAX_BYTES {
                found.more = true;
                break;
            }
            bytes += description.len();
            found.last = Some(token);
            // The names are in the description as they are. What else is there may look like one.
            if contains(description, text) {
                looks += 1;
                let format = parsed(token, description)?;
                let mut names = field_names(format.structure()).into_iter().chain([format.name()]);
                if names.any(|name| contains(name.as_bytes(), text)) {
                    found.tokens.push(token);
                }
            }
        }
        Ok(found)
    }

    /// The formats that came after this number, with theirs; and the number of the last format.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn changes(&self, after: u64, limit: usize) -> Result<(Vec<(u64, Token)>, u64)> {
        let read = self.begin_read()?;
        let last = read.open_table(NUMBERS).map_err(failed)?.get(LAST).map_err(failed)?.map_or(0, |last| last.value());
        let order = read.open_table(ORDER).map_err(failed)?;
        let mut changes = Vec::new();
        for entry in order.range(after.saturating_add(1)..).map_err(failed)?.take(limit) {
            let (sequence, token) = entry.map_err(failed)?;
            changes.push((sequence.value(), Token::from_bytes(*token.value())));
        }
        Ok((changes, last))
    }
}

/// The tables that have formats, while they are changed.
pub(super) struct Tables<'t> {
    pub(super) formats: Table<'t, &'static [u8; 16], &'static [u8]>,
    pub(super) numbers: Table<'t, &'static str, u64>,
    pub(super) order: Table<'t, u64, &'static [u8; 16]>,
    pub(super) by_name: MultimapTable<'t, &'static str, &'static [u8; 16]>,
    pub(super) by_field: MultimapTable<'t, &'static str, &'static [u8; 16]>,
    pub(super) named: MultimapTable<'t, &'static [u8; 16], &'static str>,
    pub(super) copies: Table<'t, (&'static str, u64), &'static [u8; 16]>,
    pub(super) copy_of: Table<'t, &'static [u8; 16], (&'static str, u64, u64)>,
}

impl<'t> Tables<'t> {
    pub(super) fn open(write: &'t WriteTransaction) -> Result<Tables<'t>> {
        Ok(Tables {
            formats: write.open_table(FORMATS).map_err(failed)?,
            numbers: write.open_table(NUMBERS).map_err(failed)?,
            order: write.open_table(ORDER).map_err(failed)?,
            by_name: write.open_multimap_table(BY_NAME).map_err(failed)?,
            by_field: write.open_multimap_table(BY_FIELD).map_err(failed)?,
            named: write.open_multimap_table(NAMED).map_err(failed)?,
            copies: write.open_table(COPIES).map_err(failed)?,
            copy_of: write.open_table(COPY_OF).map_err(failed)?,
        })
    }

    /// Whether a format is there. Refuses another one of the same token.
    fn has(&self, format: &Format) -> Result<bool> {
        let token = format.token();
        let known = self.formats.get(token.as_bytes()).map_err(failed)?;
        known.map_or(Ok(false), |known| same(format, entry_of(token, known.value())?.0).map(|()| true))
    }

    /// Adds a format that is not there.
    fn add(&mut self, format: &Format, peer: Option<&str>) -> Result<()> {
        let (token, description) = (format.token(), format.description().as_bytes());
        let entry = [&Token::full_hash(description)[..], description].concat();
        self.formats.insert(token.as_bytes(), entry.as_slice()).map_err(failed)?;
        let sequence = self.numbers.get(LAST).map_err(failed)?.map_or(0, |last| last.value()) + 1;
        self.numbers.insert(LAST, sequence).map_err(failed)?;
        self.order.insert(sequence, token.as_bytes()).map_err(failed)?;
        self.by_name.insert(format.name(), token.as_bytes()).map_err(failed)?;
        for field in field_names(format.structure()) {
            self.by_field.insert(field, token.as_bytes()).map_err(failed)?;
        }
        match peer {
            Some(peer) if !self.is_named(token)? => self.add_copy(peer, token, sequence),
            _ => Ok(()),
        }
    }
}

/// Whether bytes contain a text, in whatever case.
pub(super) fn contains(bytes: &[u8], text: &str) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

/// The hash and the description in an entry. The disk may have damaged it.
fn entry_of(token: Token, entry: &[u8]) -> Result<([u8; 32], &[u8])> {
    let (hash, description) = entry.split_first_chunk().ok_or_else(|| damaged(token, "no whole entry"))?;
    Ok((*hash, description))
}

/// The format of a description in the store. It was checked before it came there.
pub(super) fn parsed(token: Token, description: &[u8]) -> Result<Format> {
    Format::parse(description).map_err(|error| damaged(token, error))
}

fn damaged(token: Token, found: impl std::fmt::Display) -> Error {
    let expected = format_args!("the description of {token} in the store, which is damaged: restore a backup");
    Error::new(Code::Io).expected(expected).found(found)
}

/// Refuses a format whose token is known for another description.
fn same(format: &Format, known: [u8; 32]) -> Result<()> {
    match known == Token::full_hash(format.description().as_bytes()) {
        true => Ok(()),
        false => {
            let expected = format_args!("the description known as {}", format.token());
            Err(Error::new(Code::TokenMismatch).expected(expected).found("another"))
        }
    }
}

pub(super) fn beyond(what: &str, quota: u64) -> Error {
    Error::new(Code::Budget).expected(format_args!("at most {quota} {what}")).found("one more")
}

/// The names of all fields of a structure and those that it nests, each once.
pub(super) fn field_names(structure: &Structure) -> BTreeSet<&str> {
    structure.inside_out().into_iter().flat_map(Structure::fields).map(|field| &*field.name).collect()
}

/// Whether a structure, or one that it nests, has fields that this path leads through.
fn has_path(structure: &Structure, path: &str) -> bool {
    fn leads(mut structure: &Structure, path: &str) -> bool {
        let mut field: Option<&Field> = None;
        for step in path.split('.') {
            if let Some(field) = field {
                let Element::Structure(inner) = &field.element else { return false };
                structure = inner;
            }
            field = structure.field(step);
            if field.is_none() {
                return false;
            }
        }
        true
    }
    structure.inside_out().into_iter().any(|structure| leads(structure, path))
}
