//! The conversions of wire formats into records, each made once and cached.

use super::Engine;
use super::engine::Converter;
use crate::native::outline::Outline;
use isoform_core::plan::{Explanation, Plans, Within};
use isoform_core::registry::Recent;
use isoform_core::{Error, Faults, Format, Missing, Plan, Result, Rules, Verifier, interp};
use std::sync::{Arc, OnceLock};

/// A decoder remembers this many wire formats. It forgets the least recently used ones first.
const REMEMBERED: usize = 64;

/// The receiver's side of every conversion.
pub(crate) struct Receiver {
    pub(crate) format: Format,
    pub(super) outline: Outline,
    /// The alignment of records.
    pub(super) align: usize,
    /// Whether the record has no slots.
    pub(super) flat: bool,
    pub(super) rules: Rules,
    pub(crate) faults: Faults,
    /// Where plans are made that others have use for, too.
    plans: Option<Plans>,
    pub(crate) engine: Engine,
}

impl Receiver {
    pub(crate) fn new(format: Format, rules: Rules) -> Receiver {
        let structure = format.structure();
        let (outline, align, flat) = (Outline::new(structure), structure.align(), !structure.has_slots());
        let (faults, engine) = (Faults::default(), Engine::default());
        Receiver { format, outline, align, flat, rules, faults, plans: None, engine }
    }

    /// Uses plans that are made for others as well, if they are for this very receiver, which proofs rely on. Whether they are.
    pub(super) fn share(&mut self, plans: &Plans) -> bool {
        let are_for = plans.are_for(&self.format, &self.rules, self.faults);
        if are_for {
            self.plans = Some(plans.clone());
        }
        are_for
    }

    /// Has numbers that do not fit treated otherwise, which takes other plans.
    pub(super) fn set_faults(&mut self, faults: Faults) {
        (self.faults, self.plans) = (faults, None);
    }

    /// Has missing fields treated otherwise, which takes other plans.
    pub(super) fn set_missing(&mut self, missing: Missing) {
        self.rules = std::mem::take(&mut self.rules).missing(missing);
        self.plans = None;
    }

    pub(super) fn explain(&self, wire: &Format) -> Explanation {
        Explanation::new(wire, &self.format, &self.rules, self.faults)
    }

    fn plan(&self, wire: &Format) -> Result<Arc<Plan>> {
        match &self.plans {
            Some(plans) => plans.plan(wire),
            None => Plan::new(wire, &self.format, &self.rules, self.faults).map(Arc::new),
        }
    }
}

/// The conversion of messages of one wire format into records.
pub(crate) struct Conversion {
    pub(super) verifier: Verifier,
    pub(crate) converter: Converter,
    /// Whether a verified body of the wire format already is a native record, except for addresses.
    pub(super) direct: bool,
    /// How a body is converted within its memory, if it can be. It is made when a body comes that may be changed.
    within: OnceLock<Option<Within>>,
}

impl Conversion {
    fn new(wire: &Format, receiver: &Receiver) -> Result<Conversion> {
        let plan = receiver.plan(wire)?;
        // Blocks of the same format have the right alignment; those of another format are aligned to at least 8.
        let same = wire.description().as_bytes() == receiver.format.description().as_bytes();
        let direct = plan.is_direct() && (same || receiver.outline.block_align() <= 8);
        let converter = Converter::new(plan, receiver.engine);
        Ok(Conversion { verifier: Verifier::new(wire), converter, direct, within: OnceLock::new() })
    }

    /// Whether a body of so many bytes is best converted within its memory.
    #[inline]
    pub(super) fn is_within(&self, length: usize) -> bool {
        let within = self.within.get_or_init(|| Within::of(self.converter.plan()));
        within.as_ref().is_some_and(|within| within.least() <= length)
    }

    /// Converts a verified body within its memory.
    pub(super) fn run_within(&self, body: &mut [u8]) {
        if let Some(Some(within)) = self.within.get() {
            interp::run_within(self.converter.plan(), within, body);
        }
    }
}

/// Conversions by wire token. Failures are kept too, so that an impossible pair is planned only once.
#[derive(Default)]
pub(crate) struct Conversions {
    recent: Recent<Entry>,
    /// Counts messages.
    clock: u64,
}

struct Entry {
    /// The time of its last message.
    used: u64,
    conversion: Result<Conversion>,
}

impl Conversions {
    #[inline(always)]
    pub(crate) fn find(&mut self, wire: &Format, receiver: &Receiver) -> Result<&mut Conversion> {
        let place = match self.recent.find(wire.token()) {
            Some(place) => place,
            None => self.make(wire, receiver),
        };
        self.clock += 1;
        let entry = self.recent.at_mut(place);
        entry.used = self.clock;
        entry.conversion.as_mut().map_err(|error| Error::clone(error))
    }

    #[cold]
    fn make(&mut self, wire: &Format, receiver: &Receiver) -> usize {
        let entry = Entry { used: 0, conversion: Conversion::new(wire, receiver) };
        if self.recent.len() < REMEMBERED {
            return self.recent.push(wire.token(), entry);
        }
        let oldest = self.recent.values().enumerate().min_by_key(|(_, entry)| entry.used);
        let place = oldest.map_or(0, |(place, _)| place);
        self.recent.replace(place, wire.token(), entry);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{FieldList, Machine};

    fn format(name: &str, kind: &str) -> Format {
        let size = if kind == "string" { size_of::<usize>() } else { 8 };
        FieldList::new(name).field("a", kind, size, 0).format(Machine::NATIVE, 8, 8).unwrap()
    }

    #[test]
    fn formats_that_came_long_ago_are_forgotten() {
        let receiver = Receiver::new(format("native", "float"), Rules::new());
        let mut conversions = Conversions::default();
        let own = format("often", "integer");
        for i in 0..3 * REMEMBERED {
            let wire = format(&format!("wire{i}"), "float");
            assert_eq!(conversions.find(&wire, &receiver).unwrap().converter.plan().wire(), &wire);
            assert_eq!(conversions.find(&own, &receiver).unwrap().converter.plan().wire(), &own);
        }
        assert_eq!(conversions.recent.len(), REMEMBERED);
        let wrong = format("wrong", "string");
        for _ in 0..2 {
            assert_eq!(conversions.find(&wrong, &receiver).err().unwrap().code(), crate::Code::NoConversion);
        }
        assert!(conversions.recent.find(own.token()).is_some());
    }

    #[test]
    fn plans_are_shared_by_those_whom_they_are_for() {
        let wire = format("wire", "integer");
        let plans = Plans::new(format("native", "float"), Rules::new(), Faults::default());
        let planned = plans.plan(&wire).unwrap();
        for _ in 0..2 {
            let mut receiver = Receiver::new(format("native", "float"), Rules::new());
            assert!(receiver.share(&plans));
            let mut conversions = Conversions::default();
            let conversion = conversions.find(&wire, &receiver).unwrap();
            assert!(std::ptr::eq(conversion.converter.plan(), &*planned));
            receiver.set_faults(Faults::Wrap);
            assert!(!receiver.share(&plans), "it does something else with numbers that do not fit");
            let mut conversions = Conversions::default();
            assert_eq!(conversions.find(&wire, &receiver).unwrap().converter.plan().faults(), Faults::Wrap);
        }
        assert!(!Receiver::new(format("native", "integer"), Rules::new()).share(&plans));
        assert!(!Receiver::new(format("native", "float"), Rules::new().required("native", "a")).share(&plans));
    }
}
