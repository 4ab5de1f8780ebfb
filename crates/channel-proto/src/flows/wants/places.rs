//! The numbers of events by which `every n` goes (`spec/query.md`, "Stages"): those of a format, and for a demand, once a source has several. All
//! queries that see the same events go by the same numbers.

use crate::keys::DemandKey;
use isoform_core::{Format, Token};
use std::collections::BTreeMap;

/// The formats whose events are numbered, for each demand.
const FORMATS: usize = 256;

/// The numbers of the events of a source.
#[derive(Default)]
pub(super) struct Places {
    /// The format and the number of the latest event.
    latest: Option<Format>,
    sequence: u64,
    /// Whether there are events of several formats, or for demands: their places are not their numbers.
    mixed: bool,
    /// Of each demand that has queries.
    all: Vec<Numbers>,
}

struct Numbers {
    demand: Option<DemandKey>,
    queries: usize,
    /// For each format, the place and the number of its latest event.
    formats: BTreeMap<Token, (u64, u64)>,
    /// Once `mixed`: the place of the current event, and whether a format was forgotten for it.
    current: u64,
    has_forgotten: bool,
}

impl Places {
    /// Those for another source whose events are like these.
    pub(super) fn anew(&self) -> Places {
        Places { mixed: self.mixed, ..Places::default() }
    }

    /// A demand has one more query.
    pub(super) fn join(&mut self, demand: Option<DemandKey>) {
        match self.all.iter_mut().find(|numbers| numbers.demand == demand) {
            Some(numbers) => numbers.queries += 1,
            None => {
                let formats = BTreeMap::new();
                self.all.push(Numbers { demand, queries: 1, formats, current: 0, has_forgotten: false });
            }
        }
    }

    /// A demand has one query less.
    pub(super) fn leave(&mut self, demand: Option<DemandKey>) {
        self.all.iter_mut().filter(|numbers| numbers.demand == demand).for_each(|numbers| numbers.queries -= 1);
        self.all.retain(|numbers| numbers.queries > 0);
    }

    /// The next event has this format and number, and is for a demand or for all.
    #[inline]
    pub(super) fn meet(&mut self, format: &Format, demand: Option<DemandKey>, sequence: u64) {
        let Places { latest, mixed, all, .. } = self;
        let is_new = latest.as_ref() != Some(format);
        if !*mixed && (demand.is_some() || is_new && latest.is_some()) {
            *mixed = true;
            // So far, the places of events were their numbers.
            let before = latest.as_ref().map(|format| (format.token(), (self.sequence, self.sequence)));
            all.iter_mut().for_each(|numbers| numbers.formats.extend(before));
        }
        if is_new {
            *latest = Some(format.clone());
        }
        self.sequence = sequence;
        if *mixed {
            let seen = all.iter_mut().filter(|numbers| demand.is_none() || demand == numbers.demand);
            seen.for_each(|numbers| numbers.count(format.token(), sequence));
        }
    }

    /// The place of the current event for the queries of a demand that sees it, and whether the numbers of a format have just been forgotten.
    #[inline]
    pub(super) fn of(&self, demand: Option<DemandKey>) -> (u64, bool) {
        let numbers = self.all.iter().find(|numbers| self.mixed && numbers.demand == demand);
        numbers.map_or((self.sequence, false), |numbers| (numbers.current, numbers.has_forgotten))
    }
}

impl Numbers {
    fn count(&mut self, format: Token, sequence: u64) {
        let Numbers { formats, current, has_forgotten, .. } = self;
        *has_forgotten = false;
        if let Some((place, last)) = formats.get_mut(&format) {
            (*place, *last) = (*place + 1, sequence);
            *current = *place;
            return;
        }
        if formats.len() >= FORMATS {
            let oldest = formats.iter().min_by_key(|(_, (_, last))| *last).map(|(&format, _)| format);
            oldest.iter().for_each(|oldest| _ = formats.remove(oldest));
            *has_forgotten = true;
        }
        formats.insert(format, (0, sequence));
        *current = 0;
    }
}
