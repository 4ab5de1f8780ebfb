//! How a receiver of one format takes records of another, as text for people: every field, every obstacle, and the cost.
//!
//! All programs and languages show this text. The command prints the same rows, in colours.

use super::report::{Reports, Verdict, compare};
use super::times::{Other, Times};
use super::{Faults, Plan, Rules};
use crate::error::Result;
use crate::format::Format;
use crate::text::Shown;
use std::fmt;
use std::time::Duration;

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
    times: Option<Result<Times>>,
}

/// The titles of the columns of [`Explanation::rows`].
pub const COLUMNS: [&str; 5] = ["field", "sent as", "received as", "conversion", "cost"];

/// The titles of the columns of [`Explanation::time_rows`].
pub const TIME_COLUMNS: [&str; 3] = ["bytes", "ns", "step"];

/// Types that are longer than this are cut, so that the table stays one.
const TYPE: usize = 20;

impl Explanation {
    /// Explains what a receiver of `native` with these rules does with records of `wire`.
    pub fn new(wire: &Format, native: &Format, rules: &Rules, faults: Faults) -> Explanation {
        let verdict = compare(wire, native, rules, faults);
        let (plan, reports) = Reports::of(wire, native, rules, faults);
        Explanation { wire: wire.clone(), native: native.clone(), verdict, plan, reports, times: None }
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

    /// The same with the cost of each step, as it is measured here and now by this clock, which tells the time since some moment:
    /// each step is run for some hundred microseconds, on a record that is made for it. `other` is another engine to be measured
    /// for all steps, such as generated code. Nothing is measured if the pair is refused.
    ///
    /// ```
    /// use isoform_core::plan::{Explanation, Faults, Rules};
    /// use isoform_core::{Layout, Shape};
    /// use std::time::Instant;
    /// let shape = Shape::new("River").field("name", "string").field("depth", "double");
    /// let (sent, wanted) = (shape.on(&Layout::POWERPC)?, shape.on(&Layout::X86_64)?);
    /// let began = Instant::now();
    /// let explained = Explanation::new(&sent, &wanted, &Rules::new(), Faults::Error).timed(&mut || began.elapsed(), None);
    /// let times = explained.times().ok_or("not refused")??;
    /// assert_eq!((times.wire, times.native, times.elements), (16 + 17, 16 + 17, 16));
    /// assert_eq!(times.steps.iter().map(|step| step.bytes).sum::<usize>(), times.native);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timed(mut self, clock: &mut dyn FnMut() -> Duration, other: Option<Other<'_>>) -> Explanation {
        self.times = self.plan.as_ref().map(|plan| Times::of(plan, clock, other));
        self
    }

    /// The cost of each step, if it was measured; or why it could not be.
    pub fn times(&self) -> Option<Result<&Times>> {
        self.times.as_ref().map(|times| times.as_ref().map_err(Clone::clone))
    }

    /// What was measured, as a sentence without its end: on which machine, and with which record. Otherwise why nothing was.
    pub fn time_title(&self) -> Option<String> {
        Some(match self.times()? {
            Ok(times) => {
                let (machine, elements) = (std::env::consts::ARCH, times.elements);
                let how = if cfg!(debug_assertions) { ", by a program that was not optimised," } else { "" };
                format!(
                    "cost, measured on this {machine} machine{how} with a made record, with {elements} elements in each text \
                     and varying array"
                )
            }
            Err(error) => format!("cost not measured: no record could be made: {error}"),
        })
    }

    /// A row for each measured step, and for the record, under [`TIME_COLUMNS`].
    pub fn time_rows(&self) -> impl Iterator<Item = [String; 3]> {
        let row = |what: &str, bytes: usize, time: f64| [bytes.to_string(), format!("{time:.1}"), what.into()];
        let times = self.times.as_ref().and_then(|times| times.as_ref().ok());
        times.into_iter().flat_map(move |times| {
            let steps = times.steps.iter().map(move |step| row(&step.text, step.bytes, step.nanoseconds));
            let others = format!(".. {} more", times.others);
            let others = (times.others > 0).then_some(["-".into(), "-".into(), others]);
            let direct = times.native == 0;
            let interpreted = (!direct).then(|| row("all steps, interpreted", times.native, times.interpreted));
            let generated = times.generated.map(|time| row("all steps, by generated code", times.native, time));
            let verification = row("verification", times.wire, times.verification);
            let used = direct.then(|| row("none: used where it arrives", 0, 0.0));
            steps.chain(others).chain(used).chain([verification]).chain(interpreted).chain(generated)
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
        if let Some(title) = explanation.time_title() {
            writeln!(f, "\n{}", Shown(&title))?;
        }
        if let Some(Ok(_)) = explanation.times() {
            table(f, std::iter::once(TIME_COLUMNS.map(String::from)).chain(explanation.time_rows()), most)?;
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
