//! How messages of one wire format become records, worked out once and kept.

use super::Native;
use super::engine::Converter;
use crate::{Error, Format, Plan, Result, Token, Verifier};

/// So many wire formats a decoder remembers; those whose last message is longest ago are forgotten first.
const REMEMBERED: usize = 64;

/// How messages of one wire format become records.
pub(super) struct Conversion {
    pub(super) verifier: Verifier,
    pub(super) converter: Converter,
    /// Whether a verified body of the wire format is a native record already, but for addresses.
    pub(super) direct: bool,
}

impl Conversion {
    fn new(wire: &Format, native: &Native) -> Result<Conversion> {
        let plan = Plan::new(wire, &native.format, &native.rules, native.faults)?;
        // Blocks of the same format are aligned as they must be; those of another one at least to 8.
        let same = wire.description().as_bytes() == native.format.description().as_bytes();
        let direct = plan.is_direct() && (same || native.outline.block_align() <= 8);
        Ok(Conversion { verifier: Verifier::new(wire), converter: Converter::new(plan, native.engine), direct })
    }
}

/// Conversions by wire token, the failure to make one included: what cannot be converted is not planned again.
#[derive(Default)]
pub(super) struct Conversions {
    entries: Vec<Entry>,
    /// The entry of the latest message, most often that of the next.
    latest: usize,
    /// Counts changes from one format to another.
    clock: u64,
}

struct Entry {
    token: Token,
    used: u64,
    conversion: Result<Conversion>,
}

impl Conversions {
    #[inline]
    pub(super) fn find(&mut self, wire: &Format, native: &Native) -> Result<&mut Conversion> {
        if self.entries.get(self.latest).is_none_or(|entry| entry.token != wire.token()) {
            self.change(wire, native);
        }
        self.entries[self.latest].conversion.as_mut().map_err(|error| Error::clone(error))
    }

    #[cold]
    fn change(&mut self, wire: &Format, native: &Native) {
        self.clock += 1;
        if let Some(known) = self.entries.iter().position(|entry| entry.token == wire.token()) {
            self.latest = known;
        } else if self.entries.len() < REMEMBERED {
            self.latest = self.entries.len();
            self.entries.push(Entry::new(wire, native));
        } else {
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            self.latest = oldest.map_or(0, |(at, _)| at);
            self.entries[self.latest] = Entry::new(wire, native);
        }
        self.entries[self.latest].used = self.clock;
    }
}

impl Entry {
    fn new(wire: &Format, native: &Native) -> Entry {
        Entry { token: wire.token(), used: 0, conversion: Conversion::new(wire, native) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldList, Machine, Rules};

    fn format(name: &str, kind: &str) -> Format {
        let size = if kind == "string" { size_of::<usize>() } else { 8 };
        FieldList::new(name).field("a", kind, size, 0).format(Machine::NATIVE, 8, 8).unwrap()
    }

    #[test]
    fn formats_that_came_long_ago_are_forgotten() {
        let native = Native::new(format("native", "float"), Rules::new());
        let mut conversions = Conversions::default();
        let own = format("often", "integer");
        for i in 0..3 * REMEMBERED {
            let wire = format(&format!("wire{i}"), "float");
            assert_eq!(conversions.find(&wire, &native).unwrap().converter.plan().wire(), &wire);
            assert_eq!(conversions.find(&own, &native).unwrap().converter.plan().wire(), &own);
        }
        assert_eq!(conversions.entries.len(), REMEMBERED);
        let wrong = format("wrong", "string");
        for _ in 0..2 {
            assert_eq!(conversions.find(&wrong, &native).err().unwrap().code(), crate::Code::NoConversion);
        }
        assert!(conversions.entries.iter().any(|entry| entry.token == own.token()));
    }
}
