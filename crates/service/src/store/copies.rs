//! Formats that were copied from peers have the room that clients of this server leave them.
//!
//! What a client has stored, or a version of a name has, stays. When there is no room, a copy gives way: of the peer with the most copies, the
//! one that nobody has asked for since the longest time. So each peer has an equal share of the room, and more while others leave it.

use super::formats::{Tables, beyond, field_names, parsed};
use super::{NUMBERS, Store, failed};
use isoform_core::{Format, Result, Token};
use redb::{ReadableMultimapTable, ReadableTable, TableDefinition};
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// By peer, and by a number that grows with each use: the tokens of copies.
pub(super) const COPIES: TableDefinition<'_, (&str, u64), &[u8; 16]> = TableDefinition::new("copies");
/// By token: the peer of a copy, its number there, and its sequence in `order`.
pub(super) const COPY_OF: TableDefinition<'_, &[u8; 16], (&str, u64, u64)> = TableDefinition::new("copy_of");

/// The entry of `numbers` with the last number of a copy, and the beginning of those with the copies of each peer.
const COPIED: &str = "copied";
const OF: &str = "copies of ";
const BEHIND_OF: &str = "copies of!";

/// So many uses are noted until the next copies come. Beyond it, they are forgotten.
const USES: usize = 4096;

/// What became of formats that were copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// So many are new.
    pub new: usize,
    /// So many others gave way to them.
    pub gone: usize,
}

impl Store {
    /// Stores formats that a peer has, all or none, and returns when they are on disk.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// use isoform_service::store::{Quota, Store};
    /// let store = Store::in_memory(Quota { formats: 2, ..Quota::default() })?;
    /// let gauges = ["a", "b", "c"].map(|field| Shape::new("Gauge").field(field, "float").on(&Layout::NATIVE));
    /// let [a, b, c] = gauges.map(Result::unwrap);
    /// store.put(&a)?;
    /// store.put_copies("http://peer:7460", &[b.clone(), c.clone()])?;
    /// assert!(store.get(a.token())?.is_some() && store.get(b.token())?.is_none(), "what clients have stored stays");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`put_all`](Store::put_all); [`Code::Budget`](isoform_core::Code::Budget) if there are no copies that could give way.
    pub fn put_copies(&self, peer: &str, all: &[Format]) -> Result<Copied> {
        self.has_copies.store(true, Ordering::Relaxed);
        self.healed(self.put_at_once(all, Some(peer)))
    }

    /// Notes that a peer has these formats, too. Each that was copied from a peer with more copies becomes one of this peer: else whoever
    /// lists formats of others first could make them give way to its own.
    pub(crate) fn share(&self, peer: &str, tokens: &[Token]) -> Result<()> {
        if !self.has_copies_of_others(peer, tokens)? {
            return Ok(());
        }
        let share = || {
            let write = self.begin_write()?;
            let mut is_changed = false;
            {
                let mut tables = Tables::open(&write)?;
                for token in tokens {
                    is_changed |= tables.share(peer, *token)?;
                }
            }
            if is_changed { self.commit(write) } else { Ok(()) }
        };
        self.healed(share())
    }

    fn has_copies_of_others(&self, peer: &str, tokens: &[Token]) -> Result<bool> {
        let copies = self.begin_read()?.open_table(COPY_OF).map_err(failed)?;
        for token in tokens {
            if copies.get(token.as_bytes()).map_err(failed)?.is_some_and(|copy| copy.value().0 != peer) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many more copies of this peer make it equal to the one with the most. None are lacking while there is room: then none gave way.
    pub(crate) fn shortfall(&self, peer: &str) -> Result<u64> {
        if self.count()? < self.quota.formats {
            return Ok(0);
        }
        let counts = counts(&self.begin_read()?.open_table(NUMBERS).map_err(failed)?)?;
        let own = count_of(&counts, peer);
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        Ok(most.saturating_sub(own) / 2)
    }

    /// Notes that a client has asked for a format, which then gives way later.
    pub fn note_use(&self, token: Token) {
        if self.has_copies.load(Ordering::Relaxed) {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            if used.len() < USES {
                used.insert(token);
            }
        }
    }

    /// From now on these formats stay.
    pub(super) fn keep(&self, tokens: &[Token]) -> Result<()> {
        let is_copy = |token: &Token| self.is_copy(*token).unwrap_or(true);
        if !tokens.iter().any(is_copy) {
            return Ok(());
        }
        let release = || {
            let write = self.begin_write()?;
            {
                let mut tables = Tables::open(&write)?;
                tokens.iter().try_for_each(|token| tables.release(*token).map(drop))?;
            }
            self.commit(write)
        };
        self.healed(release())
    }

    /// Whether a format is a copy, which no client has stored.
    pub(super) fn is_copy(&self, token: Token) -> Result<bool> {
        if !self.has_copies.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let read = self.begin_read()?;
        let known = read.open_table(COPY_OF).map_err(failed)?.get(token.as_bytes()).map_err(failed)?;
        Ok(known.is_some())
    }

    /// The tokens that clients have asked for.
    pub(super) fn take_uses(&self) -> Vec<Token> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).drain().collect()
    }
}

impl Tables<'_> {
    /// Makes a format a copy of a peer.
    pub(super) fn add_copy(&mut self, peer: &str, token: Token, sequence: u64) -> Result<()> {
        let number = self.next_copy()?;
        self.insert_copy(peer, number, token, sequence)
    }

    fn insert_copy(&mut self, peer: &str, number: u64, token: Token, sequence: u64) -> Result<()> {
        self.copies.insert((peer, number), token.as_bytes()).map_err(failed)?;
        self.copy_of.insert(token.as_bytes(), (peer, number, sequence)).map_err(failed)?;
        self.count(peer, 1)
    }

    /// Makes a copy of a peer that has more of them one of this peer, in the order of use as before. Returns whether it was one.
    pub(super) fn share(&mut self, peer: &str, token: Token) -> Result<bool> {
        let Some((other, number, sequence)) = self.copy(token)? else { return Ok(false) };
        let counts = counts(&self.numbers)?;
        if count_of(&counts, &other) <= count_of(&counts, peer) + 1 {
            return Ok(false);
        }
        self.release(token)?;
        self.insert_copy(peer, number, token, sequence)?;
        Ok(true)
    }

    /// Whether a version of a name has this format.
    pub(super) fn is_named(&self, token: Token) -> Result<bool> {
        Ok(!self.named.get(token.as_bytes()).map_err(failed)?.is_empty())
    }

    /// The versions of a name have these formats now, which stay, and had those before.
    pub(super) fn set_named(&mut self, name: &str, before: &BTreeSet<Token>, now: &BTreeSet<Token>) -> Result<()> {
        for token in before.difference(now) {
            self.named.remove(token.as_bytes(), name).map_err(failed)?;
        }
        for token in now.difference(before) {
            self.named.insert(token.as_bytes(), name).map_err(failed)?;
            self.release(*token)?;
        }
        Ok(())
    }

    /// Makes a format no copy any more. Returns whether it was one.
    pub(super) fn release(&mut self, token: Token) -> Result<bool> {
        let Some((peer, number, _)) = self.copy(token)? else { return Ok(false) };
        self.copies.remove((&*peer, number)).map_err(failed)?;
        self.copy_of.remove(token.as_bytes()).map_err(failed)?;
        self.count(&peer, -1)?;
        Ok(true)
    }

    /// Notes that somebody has asked for a format.
    pub(super) fn touch(&mut self, token: Token) -> Result<()> {
        let Some((peer, number, sequence)) = self.copy(token)? else { return Ok(()) };
        self.copies.remove((&*peer, number)).map_err(failed)?;
        self.count(&peer, -1)?;
        self.add_copy(&peer, token, sequence)
    }

    /// Removes a copy, for a format of a peer or of a client.
    ///
    /// # Errors
    /// [`Code::Budget`](isoform_core::Code::Budget) if there is none.
    pub(super) fn give_way(&mut self, peer: Option<&str>, quota: u64) -> Result<()> {
        let counts = counts(&self.numbers)?;
        let own = peer.map_or(0, |peer| count_of(&counts, peer));
        let most = counts.iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
        let victim = match (peer, most) {
            (Some(peer), Some((_, count))) if *count <= own => peer,
            (_, Some((name, _))) => name,
            (_, None) => return Err(beyond("formats", quota)),
        };
        let first = self.copies.range((victim, 0)..=(victim, u64::MAX)).map_err(failed)?.next();
        let first = first.transpose().map_err(failed)?.map(|(_, token)| Token::from_bytes(*token.value()));
        self.remove(first.ok_or_else(|| beyond("formats", quota))?)
    }

    /// Removes a copy.
    fn remove(&mut self, token: Token) -> Result<()> {
        let sequence = self.copy(token)?.map(|(_, _, sequence)| sequence);
        self.release(token)?;
        if let Some(sequence) = sequence {
            self.order.remove(sequence).map_err(failed)?;
        }
        let entry = self.formats.remove(token.as_bytes()).map_err(failed)?;
        let format = entry.map(|entry| parsed(token, entry.value().get(32..).unwrap_or_default())).transpose()?;
        let Some(format) = format else { return Ok(()) };
        self.by_name.remove(format.name(), token.as_bytes()).map_err(failed)?;
        for field in field_names(format.structure()) {
            self.by_field.remove(field, token.as_bytes()).map_err(failed)?;
        }
        Ok(())
    }

    fn copy(&self, token: Token) -> Result<Option<(String, u64, u64)>> {
        let copy = self.copy_of.get(token.as_bytes()).map_err(failed)?;
        Ok(copy.map(|copy| {
            let (peer, number, sequence) = copy.value();
            (peer.to_owned(), number, sequence)
        }))
    }

    fn next_copy(&mut self) -> Result<u64> {
        let number = self.numbers.get(COPIED).map_err(failed)?.map_or(0, |last| last.value()) + 1;
        self.numbers.insert(COPIED, number).map_err(failed)?;
        Ok(number)
    }

    fn count(&mut self, peer: &str, change: i64) -> Result<()> {
        let key = format!("{OF}{peer}");
        let count = self.numbers.get(&*key).map_err(failed)?.map_or(0, |count| count.value());
        self.numbers.insert(&*key, count.saturating_add_signed(change)).map_err(failed)?;
        Ok(())
    }
}

/// The number of copies of each peer.
fn counts(numbers: &impl ReadableTable<&'static str, u64>) -> Result<Vec<(String, u64)>> {
    let counts = numbers.range(OF..BEHIND_OF).map_err(failed)?;
    let count = |entry: std::result::Result<_, _>| {
        let (key, count): (redb::AccessGuard<'_, &str>, redb::AccessGuard<'_, u64>) = entry.map_err(failed)?;
        Ok((key.value()[OF.len()..].to_owned(), count.value()))
    };
    counts.map(count).collect()
}

fn count_of(counts: &[(String, u64)], peer: &str) -> u64 {
    counts.iter().find(|(name, _)| name == peer).map_or(0, |(_, count)| *count)
}
