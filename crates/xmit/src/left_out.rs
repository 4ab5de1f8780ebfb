//! What a document or a program has besides records: each thing with its place, and the reason.

/// Entries of one document or program, and characters of what each one is.
const MAX_ENTRIES: usize = 1024;
const MAX_WHAT: usize = 120;

/// What a document or a program has besides records and their types, and no field therefore has either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is, such as `service River` or `union value`.
    pub what: Box<str>,
    /// The document and the line; in a program, where the type is declared.
    pub place: Box<str>,
    /// Why it is left out.
    pub reason: Box<str>,
    /// Whether records may be lost with it. Otherwise it is something that no record can be.
    pub is_refused: bool,
}

/// A list of such things, whose last entry stands for all that are too many.
#[derive(Default)]
pub(crate) struct List {
    entries: Vec<LeftOut>,
    /// How many things the last entry stands for.
    more: usize,
}

impl List {
    pub(crate) fn add(&mut self, what: &str, place: impl Into<Box<str>>, reason: &str, is_refused: bool) {
        let (what, place) = (what.chars().take(MAX_WHAT).collect(), place.into());
        let is_last = self.entries.len() == MAX_ENTRIES - 1;
        match self.entries.last_mut().filter(|_| self.more > 0) {
            Some(last) => {
                self.more += 1;
                last.what = format!("{} more", self.more).into();
                last.is_refused |= is_refused;
            }
            None if is_last => {
                self.more = 1;
                let (what, reason) = ("1 more".into(), format!("at most {} are listed", MAX_ENTRIES - 1).into());
                self.entries.push(LeftOut { what, place, reason, is_refused });
            }
            None => self.entries.push(LeftOut { what, place, reason: reason.into(), is_refused }),
        }
    }

    pub(crate) fn into_entries(self) -> Vec<LeftOut> {
        self.entries
    }
}
