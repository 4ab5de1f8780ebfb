//! Shows records: as a line for each field, as a row for each record, or as JSON.

mod columns;
mod unshown;

pub(crate) use unshown::Unshown;

use crate::args::Style;
use crate::output::{Cell, Output, Tone, cell, toned, widen};
use columns::{Columns, Head};
use isoform::text::json;
use isoform::{Error, Format, View};
use std::fmt::{self, Arguments};
use std::io::{self, Write};

/// The width of a text or an array in a line of its own.
const LINE: usize = 60;
/// The width of a text or an array in a row.
const CELL: usize = 24;
/// The columns of this many rows are computed together, if they arrive fast enough.
const ROWS: usize = 100;

/// The source and the time of an event.
pub(crate) struct Stamp {
    pub(crate) source: u32,
    pub(crate) sequence: u64,
    pub(crate) time: String,
}

/// Shows records, one after another.
pub(crate) struct Show {
    style: Style,
    /// The paths of the fields to show; all fields if empty.
    paths: Vec<String>,
    output: Output,
    /// The columns of the latest record's format.
    latest: Option<(Format, Columns)>,
    /// Rows that are not written yet.
    rows: Vec<Vec<Cell>>,
    /// The heads of the rows were written.
    headed: bool,
    /// Something was written before.
    begun: bool,
}

impl Show {
    pub(crate) fn new(style: Style, paths: Vec<String>, output: Output) -> Show {
        Show { style, paths, output, latest: None, rows: Vec::new(), headed: false, begun: false }
    }

    /// Shows a record, and its stamp if there is one. `about` is the head of each record. The outer failure is one of
    /// writing, and the inner one is of the record.
    pub(crate) fn record(
        &mut self,
        format: &Format,
        view: View<'_>,
        about: Arguments<'_>,
        stamp: Option<Stamp>,
    ) -> io::Result<Result<(), Error>> {
        if self.style == Style::Json {
            return self.json(view, stamp);
        }
        let new = match &self.latest {
            Some((latest, _)) if latest == format => None,
            _ => Some(Columns::new(format, &self.paths, if self.style == Style::Table { CELL } else { LINE })),
        };
        let Some(columns) = new.as_ref().or(self.latest.as_ref().map(|(_, columns)| columns)) else {
            return Ok(Ok(()));
        };
        let mut cells = match columns.cells(view) {
            Ok(cells) => cells,
            Err(error) => return Ok(Err(error)),
        };
        let stamp = stamp.filter(|_| self.style == Style::Table);
        let stamped = stamp.is_some();
        if let Some(Stamp { source, sequence, time }) = stamp {
            cells.splice(..0, [source.to_string(), sequence.to_string(), time]);
        }
        if let Some(mut columns) = new {
            self.flush_rows()?;
            if stamped {
                columns.put_in_front(["source", "sequence", "time"]);
            }
            self.latest = Some((format.clone(), columns));
            if self.style == Style::Table {
                self.head();
            }
        }
        match self.style {
            Style::Table => self.row(cells).map(Ok),
            _ => self.lines(&cells, about).map(Ok),
        }
    }

    /// Writes the rows that wait for others.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.flush_rows()?;
        self.output.flush()
    }

    /// Writes a line that is not a record, in order.
    pub(crate) fn line(&mut self, line: impl fmt::Display) -> io::Result<()> {
        self.flush_rows()?;
        writeln!(self.output, "{line}")
    }

    fn json(&mut self, view: View<'_>, stamp: Option<Stamp>) -> io::Result<Result<(), Error>> {
        let fields = match self.paths.is_empty() {
            true => None,
            false => match json::fields(view, &self.paths) {
                Ok(fields) => Some(fields),
                Err(error) => return Ok(Err(error)),
            },
        };
        let end = if stamp.is_some() { "}" } else { "" };
        if let Some(Stamp { source, sequence, time }) = stamp {
            let event = format_args!(r#""source":{source},"sequence":{sequence},"time":"{time}""#);
            write!(self.output, r#"{{"event":{{{event}}},"record":"#)?;
        }
        match fields {
            None => write!(self.output, "{}", fmt::from_fn(|f| json::write(view, f)))?,
            Some(fields) => write!(self.output, "{fields}")?,
        }
        writeln!(self.output, "{end}").map(Ok)
    }

    fn lines(&mut self, cells: &[String], about: Arguments<'_>) -> io::Result<()> {
        let Show { latest: Some((format, columns)), output, .. } = self else { return Ok(()) };
        if std::mem::replace(&mut self.begun, true) {
            writeln!(output)?;
        }
        writeln!(
            output,
            "{}  {}",
            output.paint(Tone::Strong, format.name()),
            output.paint(Tone::Faint, &about.to_string())
        )?;
        let width = columns.heads.iter().map(|head| head.name.chars().count()).max().unwrap_or(0);
        for (head, cell) in columns.heads.iter().zip(cells) {
            let unit =
                head.unit.as_deref().map_or(String::new(), |unit| output.paint(Tone::Faint, &format!(" {unit}")));
            writeln!(output, "  {:width$}  {cell}{unit}", head.name)?;
        }
        Ok(())
    }

    /// Puts the heads of the columns above the rows.
    fn head(&mut self) {
        let Some((_, columns)) = &self.latest else { return };
        let mut row = |text: fn(&Head) -> &str| {
            self.rows.push(columns.heads.iter().map(|head| toned(Tone::Faint, text(head))).collect());
        };
        row(|head| &head.name);
        if columns.heads.iter().any(|head| head.unit.is_some()) {
            row(|head| head.unit.as_deref().unwrap_or(""));
        }
        self.headed = false;
    }

    fn row(&mut self, cells: Vec<String>) -> io::Result<()> {
        self.rows.push(cells.into_iter().map(cell).collect());
        if self.rows.len() < ROWS { Ok(()) } else { self.flush_rows() }
    }

    fn flush_rows(&mut self) -> io::Result<()> {
        let Show { latest: Some((format, columns)), output, rows, .. } = self else { return Ok(()) };
        if rows.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.headed, true) {
            widen(&mut columns.widths, rows);
            columns.fit(output.width());
            if std::mem::replace(&mut self.begun, true) {
                writeln!(output)?;
            }
            write!(output, "{}", output.paint(Tone::Strong, format.name()))?;
            match (columns.widths.len(), columns.heads.len()) {
                (shown, all) if shown < all => {
                    let note = format!("  {shown} of {all} columns; --fields chooses others");
                    writeln!(output, "{}", output.paint(Tone::Faint, &note))?;
                }
                _ => writeln!(output)?,
            }
        }
        let sides: Vec<_> = columns.heads.iter().map(|head| head.side).collect();
        output.columns_from(&sides[..columns.widths.len()], rows, &mut columns.widths)?;
        rows.clear();
        Ok(())
    }
}
