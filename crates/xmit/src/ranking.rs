//! Match: the definitions of a receiver in the order in which they fit what comes, with reasons and cost (paper 003).

use isoform_core::plan::{Explanation, Fit, Kind, Reason, Size, Verdict, choose};
use isoform_core::{Format, Result};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Definitions in the order in which they fit a format, the best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The definitions. Those that do not fit come last.
    pub list: Vec<Ranked>,
    /// Why the first one comes before the second; `None` if none fits.
    pub reason: Option<Reason>,
}

/// A definition in a [`Ranking`].
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its place in the list of kinds.
    pub kind: usize,
    /// How well it fits, or why it does not.
    pub fit: Result<Fit>,
    /// The relation of both formats.
    pub verdict: Verdict,
    /// What its plan would cost for each record; `None` if it has none.
    pub cost: Option<Cost>,
}

/// What a plan does for each record: the sums of what [`Explanation`] says of each field.
///
/// As text, it is like `convert 8 B, copy 24 B + 16 B each`: 16 bytes for each element of arrays whose length differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// By the work: `copy`, `swap`, `convert`, `convert, check`, `look up`, `fill`.
    pub works: BTreeMap<&'static str, Bytes>,
}

/// The bytes that a kind of work writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// In each record.
    pub record: usize,
    /// For one element of each array whose length differs from record to record, together.
    pub each: usize,
    /// The number of texts, whose length differs from record to record.
    pub texts: usize,
}

/// Ranks definitions for a format: the first is the one that [`choose`] takes.
///
/// ```
/// use isoform_core::plan::{Faults, Kind, Rules};
/// use isoform_core::{Layout, Shape};
/// use isoform_xmit::rank;
/// let kind = |text: &str| -> isoform_core::Result<Kind> {
///     let format = Shape::parse(text)?.on(&Layout::X86_64)?;
///     Ok(Kind { format, rules: Rules::new(), faults: Faults::Error })
/// };
/// let comes = Shape::parse("record Gauge\n  level  float\n  count  int")?.on(&Layout::X86_64)?;
/// let kinds = [kind("record Level\n  level  float")?, kind("record Gauge\n  level  double\n  count  int")?];
/// let ranking = rank(&comes, &kinds);
/// assert_eq!(ranking.list.iter().map(|ranked| ranked.kind).collect::<Vec<_>>(), [1, 0]);
/// assert_eq!(ranking.list[0].cost.as_ref().unwrap().to_string(), "convert 8 B, copy 4 B");
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub fn rank(wire: &Format, kinds: &[Kind]) -> Ranking {
    let choice = choose(wire, kinds);
    let mut list: Vec<Ranked> = (kinds.iter().zip(choice.fits()).enumerate())
        .map(|(place, (kind, fit))| {
            let explained = Explanation::new(wire, &kind.format, &kind.rules, kind.faults);
            let cost = fit.is_ok().then(|| Cost::of(&explained));
            Ranked { kind: place, fit: fit.clone(), verdict: explained.verdict().clone(), cost }
        })
        .collect();
    // What was declared first comes first of equal ones.
    list.sort_by_key(|ranked| Reverse(ranked.fit.as_ref().ok().map(order)));
    Ranking { list, reason: choice.reason() }
}

/// Greater is better.
fn order(fit: &Fit) -> (bool, usize, Reverse<usize>, Reverse<usize>) {
    (fit.named, fit.taken, Reverse(fit.filled), Reverse(fit.inexact))
}

impl Cost {
    /// The sums of an explanation's fields.
    pub fn of(explained: &Explanation) -> Cost {
        let mut cost = Cost::default();
        for report in explained.reports().iter() {
            let work = report.action.cost();
            if work == "none" {
                continue;
            }
            let bytes = cost.works.entry(work).or_default();
            match report.size {
                Size::None => bytes.texts += 1,
                Size::Record(size) => bytes.record = bytes.record.saturating_add(size),
                Size::Element(size) => bytes.each = bytes.each.saturating_add(size),
            }
        }
        cost
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.works.is_empty() {
            return f.write_str("none");
        }
        for (number, (work, bytes)) in self.works.iter().enumerate() {
            f.write_str(if number > 0 { ", " } else { "" })?;
            write!(f, "{work} {bytes}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = if self.texts == 1 { "1 text".to_owned() } else { format!("{} texts", self.texts) };
        let parts = [
            (self.record > 0, format!("{} B", self.record)),
            (self.each > 0, format!("{} B each", self.each)),
            (self.texts > 0, texts),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, text)| text).collect();
        f.write_str(&parts.join(" + "))
    }
}
