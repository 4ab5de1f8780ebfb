//! Several kinds of records at one receiver: chooses the kind that fits the format of a sender.
//!
//! [`choose`] is the rule of `spec/conversion.md`, "Several kinds". [`Kinds`] keeps a choice for each format, so that it
//! is made once. Whoever decodes then decodes as that kind; see `isoform::KindDecoder`.

use super::report::Action;
use super::{Faults, Plan, Rules};
use crate::error::{Code, Error, Result};
use crate::format::{Element, Format};
use crate::registry::Recent;
use crate::text::Shown;
use std::cmp::Reverse;
use std::fmt;

/// A receiver remembers its choice for this many formats. It forgets the least recently used ones first.
const REMEMBERED: usize = 64;

/// One kind of records of a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// The receiver's format.
    pub format: Format,
    /// The receiver's rules.
    pub rules: Rules,
    /// The treatment of numbers that do not fit.
    pub faults: Faults,
}

/// How well a kind fits a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Whether the kind has the name of the format.
    pub named: bool,
    /// The number of the sender's fields that the kind takes. Of nested records, their fields count.
    pub taken: usize,
    /// The number of the kind's fields that become a default, zero or null, since the sender lacks them.
    pub filled: usize,
    /// The number of the kind's fields whose type does not have every number of the sender's type.
    pub inexact: usize,
}

/// Why a kind was chosen: the first difference from the kind that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No other kind fits.
    Only,
    /// It has the name of the sender's format, and no other kind that fits has it.
    Name,
    /// It takes more of the sender's fields.
    Taken,
    /// Fewer of its fields become a default, zero or null.
    Filled,
    /// Fewer of its fields can lose digits, or refuse a number.
    Exact,
    /// It was declared before others that fit as well.
    First,
}

/// The choice of a kind for a format, with its reason. As text, it has a line for each kind.
#[derive(Clone, Debug)]
pub struct Choice {
    wire: Format,
    /// The names of the kinds.
    names: Vec<Box<str>>,
    fits: Vec<Result<Fit>>,
    chosen: Option<(usize, Reason)>,
}

/// Chooses the kind of records that a format becomes.
///
/// A kind fits if it can have a [plan](Plan::new). Of those that fit, the choice is the one that wins the first of these
/// comparisons: it has the format's name; it takes most of the sender's fields; fewest of its own fields are filled;
/// fewest of them may lose digits; it was declared first.
///
/// ```
/// use isoform_core::plan::{Faults, Kind, Reason, Rules, choose};
/// use isoform_core::{FieldList, Machine};
/// let record = |name: &str, fields: &[&str]| {
///     let list = fields.iter().enumerate().fold(FieldList::new(name), |list, (i, f)| list.field(*f, "float", 8, 8 * i));
///     list.format(Machine::NATIVE, 8 * fields.len(), 8)
/// };
/// let kind = |format| Kind { format, rules: Rules::new(), faults: Faults::Error };
/// let kinds = [kind(record("River", &["time", "depth"])?), kind(record("Alarm", &["time"])?)];
///
/// let alarm = choose(&record("Alarm", &["time", "depth"])?, &kinds);
/// assert_eq!((alarm.kind()?, alarm.reason()), (1, Some(Reason::Name)));
/// let gauge = choose(&record("Gauge", &["depth", "time"])?, &kinds);
/// assert_eq!((gauge.kind()?, gauge.reason()), (0, Some(Reason::Taken)));
/// assert_eq!(gauge.to_string(), "\
/// Gauge becomes River: it takes more of the sender's fields
///   River: takes 2 fields
///   Alarm: takes 1 field
/// ");
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub fn choose(wire: &Format, kinds: &[Kind]) -> Choice {
    let fits: Vec<Result<Fit>> = kinds.iter().map(|kind| fit(wire, kind)).collect();
    let names = kinds.iter().map(|kind| kind.format.name().into()).collect();
    let ranked = || fits.iter().enumerate().filter_map(|(i, fit)| Some((i, fit.as_ref().ok()?.rank())));
    // Of several maxima this returns the last, so it begins with the last.
    let best = ranked().collect::<Vec<_>>().into_iter().rev().max_by_key(|&(_, rank)| rank);
    let chosen = best.map(|(kind, rank)| {
        let others = ranked().filter(|&(other, _)| other != kind);
        (kind, others.map(|(_, other)| Reason::between(rank, other)).max_by_key(|&reason| reason as u8))
    });
    let chosen = chosen.map(|(kind, reason)| (kind, reason.unwrap_or(Reason::Only)));
    Choice { wire: wire.clone(), names, fits, chosen }
}

/// The order of kinds: greater is better.
type Rank = (bool, usize, Reverse<usize>, Reverse<usize>);

fn fit(wire: &Format, kind: &Kind) -> Result<Fit> {
    let (_, reports) = Plan::explained(wire, &kind.format, &kind.rules, kind.faults)?;
    let is_leaf = |format: &Format, number: u16| {
        let field = format.structure().numbered(number.into());
        field.is_some_and(|(_, field)| !matches!(field.element, Element::Structure(_)))
    };
    let mut taken = Vec::new();
    let mut fit = Fit { named: wire.name() == kind.format.name(), taken: 0, filled: 0, inexact: 0 };
    for (wire_field, native, action) in reports.decisions() {
        match (wire_field, native, action) {
            // An ignored field has the number of the native field that nests its structure.
            (Some(_), Some(_), Action::Nested | Action::Ignored | Action::Length) => {}
            (Some(number), Some(_), action) => {
                taken.push(number);
                fit.inexact += usize::from(matches!(action, Action::Convert(conversion) if !conversion.is_exact()));
            }
            (None, Some(number), Action::Default | Action::Zero) if is_leaf(&kind.format, number) => fit.filled += 1,
            _ => {}
        }
    }
    // Several native fields may take the same one.
    taken.sort_unstable();
    taken.dedup();
    fit.taken = taken.len();
    Ok(fit)
}

impl Fit {
    fn rank(&self) -> Rank {
        (self.named, self.taken, Reverse(self.filled), Reverse(self.inexact))
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fit { named, taken, filled, inexact } = *self;
        if named {
            f.write_str("has the same name, ")?;
        }
        write!(f, "takes {taken} {}", if taken == 1 { "field" } else { "fields" })?;
        if filled > 0 {
            write!(f, ", fills {filled}")?;
        }
        if inexact > 0 {
            write!(f, ", may lose digits of {inexact}")?;
        }
        Ok(())
    }
}

impl Reason {
    /// Why the first is chosen before the second.
    fn between(first: Rank, second: Rank) -> Reason {
        match () {
            () if first.0 != second.0 => Reason::Name,
            () if first.1 != second.1 => Reason::Taken,
            () if first.2 != second.2 => Reason::Filled,
            () if first.3 != second.3 => Reason::Exact,
            () => Reason::First,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Only => "no other kind fits",
            Reason::Name => "it has the same name",
            Reason::Taken => "it takes more of the sender's fields",
            Reason::Filled => "the sender lacks fewer of its fields",
            Reason::Exact => "fewer of its fields may lose digits",
            Reason::First => "it was declared before others that fit as well",
        })
    }
}

impl Choice {
    /// The place of the chosen kind in the list of kinds.
    ///
    /// # Errors
    /// [`Code::NoConversion`] at the name of the sender's format if no kind fits, with the reason for each kind.
    pub fn kind(&self) -> Result<usize> {
        self.chosen.map(|(kind, _)| kind).ok_or_else(|| {
            let error = Error::new(Code::NoConversion).at(self.wire.name());
            error.expected(format_args!("one of the kinds {}", Names(&self.names))).found(Misfits(self))
        })
    }

    /// The reason, if a kind fits.
    pub fn reason(&self) -> Option<Reason> {
        self.chosen.map(|(_, reason)| reason)
    }

    /// For each kind how well it fits, or why it does not.
    pub fn fits(&self) -> &[Result<Fit>] {
        &self.fits
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chosen {
            Some((kind, why)) => writeln!(f, "{} becomes {}: {why}", Shown(self.wire.name()), self.names[kind])?,
            None => writeln!(f, "{} becomes none of the kinds", Shown(self.wire.name()))?,
        }
        for (name, fit) in self.names.iter().zip(&self.fits) {
            match fit {
                Ok(fit) => writeln!(f, "  {name}: {fit}")?,
                Err(why) => writeln!(f, "  {name}: does not fit: {why}")?,
            }
        }
        Ok(())
    }
}

struct Names<'a>(&'a [Box<str>]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, name)| {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")
        })
    }
}

/// Why each kind does not fit.
struct Misfits<'a>(&'a Choice);

impl fmt::Display for Misfits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice { names, fits, .. } = self.0;
        names.iter().zip(fits).enumerate().try_for_each(|(i, (name, fit))| {
            let comma = if i == 0 { "" } else { "; " };
            fit.as_ref().err().map_or(Ok(()), |why| write!(f, "{comma}not {name}: {why}"))
        })
    }
}

/// The kinds of records of a receiver, with the choices made so far.
#[derive(Default)]
pub struct Kinds {
    kinds: Vec<Kind>,
    recent: Recent<Entry>,
    /// Counts messages.
    clock: u64,
    /// The number of messages that became none of the kinds.
    others: u64,
}

struct Entry {
    /// The time of its last message.
    used: u64,
    choice: Choice,
}

impl Kinds {
    /// The kinds of a receiver, in the order of their declaration.
    pub fn new(kinds: Vec<Kind>) -> Kinds {
        Kinds { kinds, ..Kinds::default() }
    }

    /// The kinds.
    pub fn list(&self) -> &[Kind] {
        &self.kinds
    }

    /// The kind of a message of this format, as a place in the list. It is chosen for the first message of a format.
    ///
    /// # Errors
    /// As [`Choice::kind`].
    #[inline]
    pub fn kind_of(&mut self, wire: &Format) -> Result<usize> {
        let place = self.place(wire);
        self.clock += 1;
        let entry = self.recent.at_mut(place);
        entry.used = self.clock;
        match entry.choice.chosen {
            Some((kind, _)) => Ok(kind),
            None => {
                self.others += 1;
                self.recent.at(place).choice.kind()
            }
        }
    }

    /// The choice for a format, with its reason.
    pub fn explain(&mut self, wire: &Format) -> &Choice {
        let place = self.place(wire);
        &self.recent.at(place).choice
    }

    /// The number of messages so far that became none of the kinds.
    pub fn others(&self) -> u64 {
        self.others
    }

    #[inline]
    fn place(&mut self, wire: &Format) -> usize {
        match self.recent.find(wire.token()) {
            Some(place) => place,
            None => self.make(wire),
        }
    }

    #[cold]
    fn make(&mut self, wire: &Format) -> usize {
        let entry = Entry { used: self.clock, choice: choose(wire, &self.kinds) };
        if self.recent.len() < REMEMBERED {
            return self.recent.push(wire.token(), entry);
        }
        let oldest = self.recent.values().enumerate().min_by_key(|(_, entry)| entry.used);
        let place = oldest.map_or(0, |(place, _)| place);
        self.recent.replace(place, wire.token(), entry);
        place
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kinds.iter().map(|kind| &kind.format)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Shape, Value};

    fn format(shape: &str) -> Format {
        Shape::parse(shape).and_then(|shape| shape.on(&Layout::NATIVE)).unwrap()
    }

    fn kind(shape: &str) -> Kind {
        Kind { format: format(shape), rules: Rules::new(), faults: Faults::Error }
    }

    fn chosen(wire: &str, kinds: &[Kind]) -> (usize, Reason) {
        let choice = choose(&format(wire), kinds);
        (choice.kind().unwrap(), choice.reason().unwrap())
    }

    const WIRE: &str = "record W\n a double\n b double\n c double";

    #[test]
    fn a_kind_of_the_same_name_comes_first_if_it_fits() {
        let kinds = [kind("record Big\n a double\n b double\n c double"), kind("record W\n a double")];
        assert_eq!(chosen(WIRE, &kinds), (1, Reason::Name));
        let kinds = [kind("record Big\n a double\n b double\n c double"), kind("record W\n a double\n d double")];
        assert_eq!(chosen(WIRE, &kinds), (0, Reason::Only), "W lacks d");
    }

    #[test]
    fn of_others_the_one_that_takes_most_fields() {
        let kinds = [kind("record A\n a double"), kind("record B\n a double\n b double"), kind("record C\n c double")];
        assert_eq!(chosen(WIRE, &kinds), (1, Reason::Taken));
        let nested = |name, fields| format!("record P\n {fields}\nrecord {name}\n p P");
        let kinds = [kind(&nested("A", "x double")), kind(&nested("B", "x double\n y double"))];
        let wire = nested("W", "x double\n y double\n z double");
        assert_eq!(chosen(&wire, &kinds), (1, Reason::Taken), "the fields of nested records count");
        let mut twice = kind("record T\n a double\n other double");
        twice.rules = Rules::new().alias("T", "other", "a");
        let kinds = [twice, kind("record B\n a double\n b double")];
        assert_eq!(chosen(WIRE, &kinds), (1, Reason::Taken), "a field that is taken twice counts once");
    }

    #[test]
    fn of_equals_the_one_with_fewest_fields_filled_then_the_most_exact_then_the_first() {
        let mut filled = kind("record F\n a double\n b double\n d double");
        filled.rules = Rules::new().default("F", "d", Value::Float(1.0));
        let narrow = kind("record N\n a float\n b double");
        let plain = || kind("record P\n a double\n b double");
        assert_eq!(chosen(WIRE, &[filled.clone(), narrow.clone()]), (1, Reason::Filled));
        assert_eq!(chosen(WIRE, &[filled.clone(), narrow, plain()]), (2, Reason::Exact));
        assert_eq!(chosen(WIRE, &[filled, plain(), plain()]), (1, Reason::First));
    }

    #[test]
    fn what_fits_none_is_refused_with_the_reason_for_each() {
        let choice = choose(&format(WIRE), &[kind("record A\n x double"), kind("record B\n a string")]);
        let error = choice.kind().unwrap_err();
        assert_eq!((error.code(), error.path(), choice.reason()), (Code::NoConversion, "W", None));
        assert_eq!(error.expectation(), "one of the kinds A, B");
        assert!(error.actual().starts_with("not A: ") && error.actual().contains("; not B: "), "{error}");
        assert!(choice.to_string().starts_with("W becomes none of the kinds\n  A: does not fit: "), "{choice}");
    }

    #[test]
    fn a_choice_is_made_once_and_kept_while_others_come() {
        let mut kinds = Kinds::new(vec![kind("record A\n a double"), kind("record X\n x double")]);
        let often = format("record X\n x float");
        for i in 0..2 * REMEMBERED {
            assert_eq!(kinds.kind_of(&format(&format!("record W{i}\n a double"))).unwrap(), 0);
            assert_eq!(kinds.kind_of(&often).unwrap(), 1);
        }
        assert_eq!((kinds.recent.len(), kinds.others()), (REMEMBERED, 0));
        let wrong = format("record Wrong\n z double");
        for _ in 0..3 {
            assert_eq!(kinds.kind_of(&wrong).unwrap_err().code(), Code::NoConversion);
        }
        assert_eq!(kinds.others(), 3);
    }
}
