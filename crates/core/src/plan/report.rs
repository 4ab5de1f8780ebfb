//! Plans in words: for each field its conversion, possible losses and the cost; and the relation of two formats.

use super::Plan;
use super::make::Names;
use super::rules::{Faults, Rules};
use super::step::{Conversion, Symbols, Transform};
use crate::declare::Kind;
use crate::error::Error;
use crate::format::{Dimension, Element, Field, Format};
use isoform_kernels::NumberClass;
use std::fmt;
use std::sync::Arc;

/// The decisions for each field of two formats. They are turned into words only when they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reports {
    wire: Format,
    native: Format,
    faults: Faults,
    entries: Vec<Entry>,
    pub(super) obstacles: Vec<Error>,
}

/// The decision for one field, with the numbers (`Structure::numbered`) of the wire field and the native field. An
/// ignored field has the number of the native field that nests the structure in which it is missing.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    wire: Option<u16>,
    native: Option<u16>,
    action: Action,
}

impl Reports {
    pub(super) fn new(wire: &Format, native: &Format, faults: Faults) -> Reports {
        Reports { wire: wire.clone(), native: native.clone(), faults, entries: Vec::new(), obstacles: Vec::new() }
    }

    /// Adds a field, and returns its place.
    pub(super) fn push(&mut self, native: Option<usize>, wire: Option<usize>, action: Action) -> usize {
        let number = |number: Option<usize>| number.map(|number| number as u16);
        self.entries.push(Entry { wire: number(wire), native: number(native), action });
        self.entries.len() - 1
    }

    /// The decisions for each field, also if the pair is refused; and the plan, unless it is.
    ///
    /// ```
    /// use isoform_core::plan::{Action, Faults, Reports, Rules};
    /// use isoform_core::{Layout, Shape};
    /// let wire = Shape::new("R").field("a", "string").field("b", "int[2]").field("c", "int").on(&Layout::NATIVE)?;
    /// let native = Shape::new("R").field("a", "int").field("b", "int").field("c", "long").on(&Layout::NATIVE)?;
    /// let (plan, reports) = Reports::of(&wire, &native, &Rules::new(), Faults::Error);
    /// let paths: Vec<&str> = reports.obstacles().iter().map(|error| error.path()).collect();
    /// assert!(plan.is_none() && paths == ["a", "b"]);
    /// assert_eq!(reports.iter().filter(|report| report.action == Action::Refused).count(), 2);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn of(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> (Option<Plan>, Reports) {
        let mut reports = Reports::new(wire, native, faults);
        let plan = super::make::plan(wire, native, rules, faults, Some(&mut reports));
        (plan.ok(), reports)
    }

    /// The reasons why the pair is refused, of at most 64 fields. One of them names all missing fields.
    pub fn obstacles(&self) -> &[Error] {
        &self.obstacles
    }

    /// Notes that the pair is refused because of a native field, and the wire field that it takes.
    pub(super) fn refuse(&mut self, native: usize, wire: Option<usize>, error: Error) {
        self.obstacles.push(error);
        let number = native as u16;
        match self.entries.iter_mut().find(|entry| entry.native == Some(number) && entry.action != Action::Ignored) {
            Some(entry) => entry.action = Action::Refused,
            None => _ = self.push(Some(native), wire, Action::Refused),
        }
    }

    /// Sets the action for the field at this place.
    pub(super) fn settle(&mut self, place: usize, action: Action) {
        self.entries[place].action = action;
    }

    /// The fields, in the order of the native record. Ignored fields come after the other fields of their structure.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FieldReport> {
        self.entries.iter().map(|entry| self.report(entry))
    }

    /// The numbers of the wire field and of the native field, and the conversion, for each field.
    pub(super) fn decisions(&self) -> impl Iterator<Item = (Option<u16>, Option<u16>, &Action)> {
        self.entries.iter().map(|entry| (entry.wire, entry.native, &entry.action))
    }

    fn report(&self, entry: &Entry) -> FieldReport {
        let wire = entry.wire.and_then(|number| self.wire.structure().numbered(number.into()));
        let native = entry.native.and_then(|number| self.native.structure().numbered(number.into()));
        let (words, action) = (|(_, field): &(String, &Field)| describe(field), entry.action.clone());
        if let (Action::Ignored, Some((_, field))) = (&action, &wire) {
            let outer = native.map_or(String::new(), |(path, field)| element_path(path, field) + ".");
            let path = outer + &field.name;
            return FieldReport {
                path,
                wire: wire.as_ref().map(words),
                native: None,
                action,
                size: Size::None,
                checks: Vec::new(),
            };
        }
        let checks = match (&wire, &native) {
            (Some((_, wire)), Some((_, native))) => checks(wire, native, self.faults),
            _ => Vec::new(),
        };
        let (wire, words) = (wire.as_ref().map(words), native.as_ref().map(words));
        let size =
            native.as_ref().map_or(Size::None, |(path, field)| Size::of(field, path, self.native.machine().pointer));
        FieldReport { path: native.map_or(String::new(), |(path, _)| path), wire, native: words, action, size, checks }
    }
}

/// The decision for one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldReport {
    /// Its path, in which `[]` stands for every element of an array of structures.
    pub path: String,
    /// Its type at the sender, or `None` if the sender lacks it.
    pub wire: Option<String>,
    /// Its type at the receiver, or `None` if the receiver ignores it.
    pub native: Option<String>,
    /// The conversion.
    pub action: Action,
    /// The bytes that the receiver's field takes.
    pub size: Size,
    /// Checks that depend on the record, such as the length of an array or a null pointer, and their result.
    pub checks: Vec<String>,
}

/// The bytes that a conversion writes.
///
/// ```
/// use isoform_core::plan::{Explanation, Faults, Rules, Size};
/// use isoform_core::{Layout, Shape};
/// let format = Shape::parse("record Gauge\n  level  double\n  path  float[n]\n  n  int")?.on(&Layout::X86_64)?;
/// let explained = Explanation::new(&format, &format, &Rules::new(), Faults::Error);
/// let sizes: Vec<Size> = explained.reports().iter().map(|report| report.size).collect();
/// assert_eq!(sizes[..2], [Size::Record(8), Size::Element(4)]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// None.
    None,
    /// So many in each record.
    Record(usize),
    /// So many for each element, whose number depends on the record, or is that of the structures around it.
    Element(usize),
}

impl Size {
    fn of(field: &Field, path: &str, pointer: u8) -> Size {
        let element = field.element_size(pointer);
        match field.fixed_count() {
            _ if field.element == Element::String => Size::None,
            Some(count) if !path.contains("[]") => Size::Record(count.saturating_mul(element)),
            Some(count) => Size::Element(count.saturating_mul(element)),
            None => Size::Element(element),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::None => Ok(()),
            Size::Record(bytes) => write!(f, " {bytes} B"),
            Size::Element(bytes) => write!(f, " {bytes} B each"),
        }
    }
}

impl FieldReport {
    /// What the conversion does, and the bytes that it writes: `copy 8 B`. Text, whose length differs from record to record,
    /// has none.
    pub fn cost(&self) -> String {
        match self.action.cost() {
            none @ "none" => none.into(),
            work => format!("{work}{}", self.size),
        }
    }

    /// Possible losses or errors for some records; `None` if there are none.
    pub fn loss(&self) -> Option<String> {
        let all: Vec<String> = self.action.loss().into_iter().chain(self.checks.iter().cloned()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// The checks of a pair of fields for each record, and their result.
fn checks(wire: &Field, native: &Field, faults: Faults) -> Vec<String> {
    let (refused, cut, zeros) = match faults {
        Faults::Error => ("refused", "refused", "refused"),
        Faults::Saturate | Faults::Wrap => ("refused", "cut off", "zeros"),
    };
    let mut checks = Vec::new();
    for (axis, dims) in wire.dims.iter().zip(&native.dims).enumerate() {
        match (dims, axis) {
            ((Dimension::Field(_), Dimension::Fixed(room)), 0) => {
                checks.push(format!("more than {room} elements: {cut}"))
            }
            ((Dimension::Field(_), Dimension::Fixed(n)), _) => {
                checks.push(format!("other than {n} elements in dimension {axis}: {refused}"));
            }
            ((Dimension::Fixed(came), Dimension::Fixed(room)), 0) if came > room => {
                checks.push(format!("elements beyond {room}: {cut}"));
            }
            _ => {}
        }
    }
    if let (Element::String, true, Element::Char, [Dimension::Fixed(room)]) =
        (&wire.element, wire.dims.is_empty(), &native.element, &*native.dims)
    {
        checks.push(format!("more than {} bytes: {cut}", room - 1));
    }
    if wire.indirect && !wire.is_dynamic() && !native.indirect {
        checks.push(format!("null: {zeros}"));
    }
    checks
}

/// The name of one element of a field in messages.
pub(super) fn element_path(path: String, field: &Field) -> String {
    if field.dims.is_empty() { path } else { path + "[]" }
}

/// A field's type as it is written: `f64[3]`.
pub(crate) fn describe(field: &Field) -> String {
    let mut text = Kind::of(&field.element).to_string();
    for dim in &field.dims {
        match dim {
            Dimension::Fixed(n) => text.push_str(&format!("[{n}]")),
            Dimension::Field(_) => text.push_str("[]"),
        }
    }
    if field.indirect && !field.is_dynamic() {
        text.push('*');
    }
    if let Some(unit) = &field.unit {
        text.push_str(&format!(" in {unit}"));
    }
    text
}

/// The type of an element, for an error. The name of a structure alone could be taken for that of a field.
pub(super) fn words(element: &Element) -> String {
    match element {
        Element::Structure(structure) => format!("a record {} with {}", structure.name(), Names(structure)),
        other => Kind::of(other).to_string(),
    }
}

/// The conversion of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Its bytes are copied.
    Copy,
    /// The bytes of its numbers are reversed.
    Swap,
    /// Its numbers become numbers of another type.
    Convert(Conversion),
    /// Its numbers are replaced by those of the same symbols here.
    Symbols(Arc<Symbols>),
    /// It is a string, or characters.
    Text,
    /// It is a nested structure, whose fields follow.
    Nested,
    /// The sender lacks it, and it becomes its default.
    Default,
    /// The sender lacks it, and it becomes zero, null or empty.
    Zero,
    /// The sender lacks it, and the pair is refused.
    Missing,
    /// Nothing converts it, and the pair is refused.
    Refused,
    /// It is a length of arrays, and follows from them.
    Length,
    /// The receiver ignores it.
    Ignored,
}

impl Action {
    pub(super) fn of(transform: &Transform) -> Action {
        match transform {
            Transform::Copy(_) => Action::Copy,
            Transform::Swap { .. } => Action::Swap,
            Transform::Convert { conversion, .. } => Action::Convert(*conversion),
            Transform::Symbols(symbols) => Action::Symbols(symbols.clone()),
            Transform::String => Action::Text,
            Transform::Each { .. } => Action::Nested,
        }
    }

    /// Possible losses or errors for some values of the field; `None` if there are none.
    pub fn loss(&self) -> Option<String> {
        match self {
            Action::Convert(conversion) if !conversion.is_exact() => {
                let (from, to) = (conversion.from.class, conversion.to.class);
                let what = match (from, to) {
                    (NumberClass::Float(_), NumberClass::Float(_)) => "digits are rounded; numbers out of range",
                    (NumberClass::Float(_), _) => "fractions, NaN and numbers out of range",
                    (_, NumberClass::Float(_)) => "numbers with too many digits",
                    _ => "numbers out of range",
                };
                let how = match conversion.faults {
                    Faults::Error => "refused",
                    Faults::Saturate => "saturated",
                    Faults::Wrap => "wrapped",
                };
                Some(format!("{what}: {how}"))
            }
            Action::Symbols(symbols) => {
                let unknown: Vec<&str> = symbols.unknown().collect();
                (!unknown.is_empty()).then(|| format!("unknown symbols, refused: {}", unknown.join(", ")))
            }
            Action::Ignored => Some("dropped".into()),
            _ => None,
        }
    }

    /// Its cost for each record, in a word.
    pub fn cost(&self) -> &'static str {
        match self {
            Action::Copy => "copy",
            Action::Swap => "swap",
            Action::Convert(conversion) if conversion.is_exact() => "convert",
            Action::Convert(_) => "convert, check",
            Action::Symbols(_) => "look up",
            Action::Text => "copy",
            Action::Default | Action::Zero | Action::Length => "fill",
            Action::Nested | Action::Ignored | Action::Missing | Action::Refused => "none",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Copy => "as it is",
            Action::Swap => "byte order",
            Action::Convert(conversion) => match (conversion.from.class, conversion.to.class) {
                (NumberClass::Float(_), NumberClass::Float(_)) if conversion.is_exact() => "widen float",
                (NumberClass::Float(_), NumberClass::Float(_)) => "narrow float",
                (NumberClass::Float(_), _) => "float to integer",
                (_, NumberClass::Float(_)) => "integer to float",
                _ if conversion.is_exact() => "widen",
                _ => "narrow",
            },
            Action::Symbols(_) => "by symbol",
            Action::Text => "string",
            Action::Nested => "field by field",
            Action::Default => "default",
            Action::Zero => "missing: zero",
            Action::Missing => "missing: refused",
            Action::Refused => "refused",
            Action::Length => "length",
            Action::Ignored => "ignored",
        })
    }
}

/// The relation of two formats.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The formats are equal. Nothing is converted.
    Identical,
    /// The formats differ, but a record can be used where it was received.
    NoCopy,
    /// Each side can read the other's records.
    Full,
    /// The receiver can read the sender's records, but not vice versa, for the given reason.
    Backward(Error),
    /// The sender's side could read the receiver's records, but not vice versa, for the given reason.
    Forward(Error),
    /// Neither can read the other's records, for these reasons: first the receiver's, then the sender's.
    Incompatible(Error, Error),
}

impl Verdict {
    /// Whether the receiver can read the sender's records.
    pub fn is_readable(&self) -> bool {
        !matches!(self, Verdict::Forward(_) | Verdict::Incompatible(..))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Identical => "identical",
            Verdict::NoCopy => "no copy needed",
            Verdict::Full => "full",
            Verdict::Backward(_) => "backward",
            Verdict::Forward(_) => "forward",
            Verdict::Incompatible(..) => "incompatible",
        })
    }
}

/// The relation of `wire` to a receiver of `native` with these rules, in the terms of schema registries: *backward* if
/// new readers (`native`) read old records (`wire`), *forward* in the opposite case, and *full* if both hold. The sender's
/// side has no rules here but for the treatment of missing fields, which is the receiver's.
pub fn compare(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Verdict {
    if wire == native {
        return Verdict::Identical;
    }
    // One after the other, so that at most one plan exists at a time.
    let there = Plan::new(wire, native, rules, faults).map(|plan| plan.is_direct());
    let back = Plan::new(native, wire, &Rules::new().missing(rules.on_missing()), faults).map(drop);
    match (there, back) {
        (Ok(true), _) => Verdict::NoCopy,
        (Ok(_), Ok(())) => Verdict::Full,
        (Ok(_), Err(why)) => Verdict::Backward(why),
        (Err(why), Ok(())) => Verdict::Forward(why),
        (Err(there), Err(back)) => Verdict::Incompatible(there, back),
    }
}
