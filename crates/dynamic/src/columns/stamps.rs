//! Columns of what a recording knows of its events: channels, sources, numbers and times.

use crate::arrow::{Array, Memory, Schema, strings};
use crate::stream::Stamp;
use isoform::{Code, Error, Result};
use std::sync::Arc;

/// Their names, as `isoform export` writes them. No field has a dot in its name.
const NAMES: [&str; 5] =
    ["isoform.topic", "isoform.source", "isoform.sequence", "isoform.submitted", "isoform.recorded"];

/// Some of these columns.
#[derive(Clone, Debug)]
pub struct Stamps {
    wanted: Vec<Stamped>,
    rows: Vec<Stamp>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamped {
    Topic,
    Source,
    Sequence,
    Submitted,
    Recorded,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// The names of channels.
    Topics(Vec<Arc<str>>),
    /// The numbers of sources.
    Sources(Vec<u32>),
    /// The numbers of events.
    Sequences(Vec<u64>),
    /// Nanoseconds since 1970; `None` for a time behind the year 2262, which ends the times of Arrow and NumPy.
    Times(Vec<Option<i64>>),
}

impl Stamped {
    const ALL: [Stamped; 5] =
        [Stamped::Topic, Stamped::Source, Stamped::Sequence, Stamped::Submitted, Stamped::Recorded];

    fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Arrow's word for its values.
    fn word(self) -> &'static str {
        match self {
            Stamped::Topic => "U",
            Stamped::Source => "I",
            Stamped::Sequence => "L",
            Stamped::Submitted | Stamped::Recorded => "tsn:UTC",
        }
    }
}

impl Stamps {
    /// Columns of all stamps.
    pub fn all() -> Stamps {
        Stamps { wanted: Stamped::ALL.to_vec(), rows: Vec::new() }
    }

    /// The columns of these names; `None` if one of them is no stamp.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Stamps> {
        let of = |name| Stamped::ALL.into_iter().find(|stamped| stamped.name() == name);
        Some(Stamps { wanted: names.into_iter().map(of).collect::<Option<_>>()?, rows: Vec::new() })
    }

    /// Whether a name is that of a stamp.
    pub fn has(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.wanted.iter().map(|stamped| stamped.name())
    }

    /// Adds a row.
    pub fn push(&mut self, stamp: Stamp) {
        self.rows.push(stamp);
    }

    /// The values of a column.
    pub fn values(&self, name: &str) -> Option<Values> {
        self.wanted.iter().find(|stamped| stamped.name() == name).map(|stamped| self.column(*stamped))
    }

    fn column(&self, stamped: Stamped) -> Values {
        let rows = self.rows.iter();
        match stamped {
            Stamped::Topic => Values::Topics(rows.map(|row| row.topic.clone()).collect()),
            Stamped::Source => Values::Sources(rows.map(|row| row.source).collect()),
            Stamped::Sequence => Values::Sequences(rows.map(|row| row.sequence).collect()),
            Stamped::Submitted => Values::Times(rows.map(|row| i64::try_from(row.submitted).ok()).collect()),
            Stamped::Recorded => Values::Times(rows.map(|row| i64::try_from(row.recorded).ok()).collect()),
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    pub(super) fn schema(&self) -> Result<Vec<Schema>> {
        self.wanted.iter().map(|stamped| Schema::plain(stamped.word(), stamped.name())).collect()
    }

    /// The columns in Arrow, for so many rows.
    ///
    /// # Errors
    /// [`Code::WrongType`] if some rows have no stamp.
    pub(super) fn arrays(&self, rows: usize) -> Result<Vec<Array>> {
        if rows != self.rows.len() {
            let error =
                Error::new(Code::WrongType).at("isoform").expected(format_args!("a stamp for each of {rows} rows"));
            return Err(error.found(self.rows.len()));
        }
        Ok(self.wanted.iter().map(|stamped| array(&self.column(*stamped))).collect())
    }
}

fn array(values: &Values) -> Array {
    match values {
        Values::Topics(topics) => strings(topics.iter().map(|topic| topic.as_bytes())),
        Values::Sources(numbers) => plain(numbers.len(), numbers.iter().flat_map(|number| number.to_ne_bytes())),
        Values::Sequences(numbers) => plain(numbers.len(), numbers.iter().flat_map(|number| number.to_ne_bytes())),
        Values::Times(times) => {
            let bytes = times.iter().flat_map(|time| time.unwrap_or_default().to_ne_bytes());
            let nulls = times.iter().filter(|time| time.is_none()).count();
            if nulls == 0 {
                return plain(times.len(), bytes);
            }
            let bits = |eight: &[Option<i64>]| {
                eight.iter().enumerate().fold(0_u8, |bits, (at, time)| bits | u8::from(time.is_some()) << at)
            };
            let validity = Memory::Own(times.chunks(8).map(bits).collect());
            Array::with_nulls(times.len(), Some((nulls, validity)), vec![Memory::Own(bytes.collect())], Vec::new())
        }
    }
}

fn plain(length: usize, bytes: impl Iterator<Item = u8>) -> Array {
    Array::of(length, vec![Memory::Own(bytes.collect())], Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_that_are_wanted() {
        let stamp = |sequence, submitted| Stamp { topic: "river".into(), source: 3, sequence, submitted, recorded: 7 };
        let mut some = Stamps::named(["isoform.submitted", "isoform.topic"]).unwrap();
        assert!(Stamps::named(["isoform.received_at"]).is_none() && Stamps::has("isoform.recorded"));
        [stamp(1, 5), stamp(2, u64::MAX)].into_iter().for_each(|stamp| some.push(stamp));
        assert_eq!(some.names().collect::<Vec<_>>(), ["isoform.submitted", "isoform.topic"]);
        assert_eq!(some.values("isoform.submitted"), Some(Values::Times(vec![Some(5), None])));
        assert_eq!(some.values("isoform.topic"), Some(Values::Topics(vec!["river".into(); 2])));
        assert_eq!(some.values("isoform.source"), None);
        let mut all = Stamps::all();
        all.push(stamp(9, 5));
        assert_eq!(all.values("isoform.sequence"), Some(Values::Sequences(vec![9])));
        assert_eq!(all.values("isoform.source"), Some(Values::Sources(vec![3])));
        assert_eq!((all.arrays(1).unwrap().len(), all.schema().unwrap().len()), (5, 5));
        assert!(all.arrays(2).is_err(), "a row without a stamp");
        all.clear();
        assert_eq!(all.values("isoform.recorded"), Some(Values::Times(Vec::new())));
    }
}
