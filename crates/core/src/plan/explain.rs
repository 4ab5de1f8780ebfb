//! How a receiver of one format takes records of another, as text for people: every field, every obstacle, and the cost.
//!
//! All programs and languages show this text. The command prints the same rows, in colours.

use super::report::{Reports, Verdict, compare};
use super::{Faults, Plan, Rules};
use crate::format::Format;
use crate::text::Shown;
use std::fmt;

/// The explanation of a pair of formats. Its text is a table, then the losses and obstacles, then the verdict.
///
/// ```
/// use isoform_core::plan::{Explanation, Faults, Rules};
/// use isoform_core::{Layout, Shape};
/// let sent = Shape::new("River").field("time", "double").field("depth", "float").on(&Layout::NATIVE)?;
/// let wanted = Shape::new("River").field("time", "double").field("depth", "double").on(&Layout::NATIVE)?;
/// let explained = Explanation::new(&sent, &wanted, &Rules::new(), Faults::Error);
/// assert!(explained.verdict().is_readable());
/// let table = "\
/// field  sent as  received as  conversion   cost
/// time   f64      f64          as it is     copy 8 B
/// depth  f32      f64          widen float  convert 8 B
/// ";
/// assert!(explained.to_string().contains(table), "{explained}");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    wire: Format,
    native: Format,
    verdict: Verdict,
    plan: Option<Plan>,
    reports: Reports,
}

/// The titles of the columns of [`Explanation::rows`].
pub const COLUMNS: [&str; 5] = ["field", "sent as", "received as", "conversion", "cost"];

/// Types that are longer than this are cut, so that the table stays one.
const TYPE: usize = 20;

impl Explanation {
    /// Explains what a receiver of `native` with these rules does with records of `wire`.
    pub fn new(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Explanation {
        let verdict = compare(wire, native, rules, faults);
        let (plan, reports) = Reports::of(wire, native, rules, faults);
        Explanation { wire: wire.clone(), native: native.clone(), verdict, plan, reports }
    }

    /// The relation of both formats.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The decision for each field.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }

    /// The plan, unless the pair is refused.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// For each end: its title, the name of its format, and its machine and size.
    pub fn ends(&self) -> [[String; 3]; 2] {
        [("wire", &self.wire), ("native", &self.native)].map(|(title, format)| {
            [title.into(), format.name().into(), format!("{}, {} bytes", format.machine(), format.size())]
        })
    }

    /// A row for each field, under [`COLUMNS`].
    pub fn rows(&self) -> impl Iterator<Item = [String; 5]> {
        let words = |words: &Option<String>| words.as_deref().map_or("-".into(), shortened);
        self.reports.iter().map(move |report| {
            let (wire, native) = (words(&report.wire), words(&report.native));
            let cost = report.cost();
            [report.path, wire, native, report.action.to_string(), cost]
        })
    }

    /// What may be lost or refused in some records: the fields, and what it is.
    pub fn losses(&self) -> impl Iterator<Item = [String; 2]> {
        self.reports.iter().filter_map(|report| Some([report.path.clone(), report.loss()?]))
    }

    /// The meaning of the verdict, as a sentence without its subject.
    pub fn meaning(&self) -> String {
        match &self.verdict {
            Verdict::Identical => "the receiver uses records as they arrive".into(),
            Verdict::NoCopy => "the receiver uses records in the buffer where they arrive".into(),
            Verdict::Full => "each side can read the other's records".into(),
            Verdict::Backward(back) => {
                format!("the receiver can read the sender's records, but not the other way round: {back}")
            }
            Verdict::Forward(there) => {
                format!("the receiver cannot read the sender's records: {there}; the other way round would work")
            }
            Verdict::Incompatible(there, back) => {
                format!("neither side can read the other's records: {there}; the other way round: {back}")
            }
        }
    }
}

impl Explanation {
    /// The text, cut to about so many bytes, for whoever explains formats of strangers: paths of nested fields make it up to a
    /// thousand times as long as the descriptions. What is cut is rows of tables, and it says how many. Neither time nor memory
    /// is spent on them beyond that of one row at a time.
    ///
    /// ```
    /// use isoform_core::plan::{Explanation, Faults, Rules};
    /// use isoform_core::{Layout, Shape};
    /// let wide = (0..1000).fold(Shape::new("Wide"), |wide, i| wide.field(format!("f{i}"), "int")).on(&Layout::NATIVE)?;
    /// let text = Explanation::new(&wide, &wide, &Rules::new(), Faults::Error).brief(2000);
    /// assert!(text.len() < 4000 && text.contains("more\n") && text.contains("identical"), "{text}");
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn brief(&self, most: usize) -> String {
        Brief(self, most).to_string()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Brief(self, usize::MAX).fmt(f)
    }
}

/// An explanation, each of whose tables has at most so many bytes.
struct Brief<'a>(&'a Explanation, usize);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Brief(explanation, most) = *self;
        table(f, explanation.ends().into_iter(), most)?;
        f.write_str("\n")?;
        table(f, std::iter::once(COLUMNS.map(String::from)).chain(explanation.rows()), most)?;
        let mut losses = explanation.losses().map(|[path, loss]| [format!("  {path}"), loss]).peekable();
        if losses.peek().is_some() {
            f.write_str("\npossible losses and errors\n")?;
            table(f, losses, most)?;
        }
        if let obstacles @ [_, _, ..] = explanation.reports.obstacles() {
            f.write_str("\nobstacles\n")?;
            table(f, obstacles.iter().map(|obstacle| [format!("  {obstacle}")]), most)?;
        }
        writeln!(f, "\n{}: {}", explanation.verdict, Shown(&explanation.meaning()))
    }
}

/// Writes rows in columns, as many as fit into so many bytes, and the number of the others.
fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    mut rows: impl Iterator<Item = [String; N]>,
    most: usize,
) -> fmt::Result {
    let (mut fit, mut widths, mut left) = (Vec::new(), [0; N], 0);
    for row in rows.by_ref() {
        widths = std::array::from_fn(|column| row[column].len().max(widths[column]));
        if (fit.len() + 1).saturating_mul(widths.iter().sum()) > most && !fit.is_empty() {
            left = 1;
            break;
        }
        fit.push(row);
    }
    columns(f, &fit)?;
    left += if left > 0 { rows.count() } else { 0 };
    if left > 0 { writeln!(f, "  .. {left} more") } else { Ok(()) }
}

/// Writes rows in columns. Text from strangers is escaped where it would do something to a terminal.
fn columns<const N: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; N]]) -> fmt::Result {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.clone().map(|cell| Shown(&cell).to_string())).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A type without the symbols of an enumeration, and cut where it is too long.
fn shortened(words: &str) -> String {
    let words = words.split('{').next().unwrap_or(words);
    match words.char_indices().nth(TYPE) {
        Some((end, _)) => format!("{}..", &words[..end]),
        None => words.to_string(),
    }
}
