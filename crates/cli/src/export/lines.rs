//! Tables as text: CSV, with a cell for each field, and JSON, with an object in each line.

use super::{STAMPS, Stamp, Table, cannot};
use crate::failure::Failure;
use crate::time::utc;
use isoform::core::view::Item;
use isoform::text::{json, table};
use isoform::{Code, Error, Format, Incoming, Result, View};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, UNIX_EPOCH};

/// A table of JSON with these fields, by default with all.
pub(super) fn objects(
    file: BufWriter<File>,
    format: &Format,
    wanted: Option<&[String]>,
) -> Result<Box<dyn Table>, Failure> {
    check(format, wanted)?;
    Ok(Box::new(Lines { file, wanted: wanted.map(<[String]>::to_vec) }))
}

/// The same of CSV; for a `spreadsheet`, no text is a formula.
pub(super) fn cells(
    file: BufWriter<File>,
    format: &Format,
    wanted: Option<&[String]>,
    has_stamps: bool,
    spreadsheet: bool,
) -> Result<Box<dyn Table>, Failure> {
    check(format, wanted)?;
    let all = || table::Table::new(format, 0).columns().map(|column| column.name).collect();
    let paths: Vec<String> = wanted.map_or_else(all, <[String]>::to_vec);
    let mut cells = Cells { file, paths, spreadsheet };
    let names = has_stamps.then_some(STAMPS.map(String::from)).into_iter().flatten().chain(cells.paths.clone());
    cells.row(names.map(|name| Some(Cell::Text(name))).collect())?;
    Ok(Box::new(cells))
}

fn check(format: &Format, wanted: Option<&[String]>) -> Result<(), Failure> {
    let missing = wanted.unwrap_or_default().iter().find(|path| !format.structure().has_path(path));
    missing.map_or(Ok(()), |path| Err(no_field(path, format)))
}

/// What is in a cell: a text, which a spreadsheet may take for a formula, or what it reads as it is, such as a number.
enum Cell {
    Text(String),
    Plain(String),
}

/// CSV (RFC 4180). A cell with nothing is null, and one with quotes around nothing is an empty text.
struct Cells {
    file: BufWriter<File>,
    /// The fields, one for each cell behind the stamps.
    paths: Vec<String>,
    /// Texts that a spreadsheet would take for formulas have an apostrophe in front.
    spreadsheet: bool,
}

impl Cells {
    fn row(&mut self, cells: Vec<Option<Cell>>) -> Result<(), Failure> {
        let is_only = cells.len() == 1;
        let text = |cell| match cell {
            Cell::Text(text) if self.spreadsheet && is_formula(&text) => format!("'{text}"),
            Cell::Text(text) | Cell::Plain(text) => text,
        };
        let cells = cells.into_iter().map(|cell| match cell.map(text) {
            // Readers pass over empty lines.
            None if is_only => "\"\"".into(),
            None => String::new(),
            Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Some(text) => text,
        });
        writeln!(self.file, "{}", cells.collect::<Vec<_>>().join(",")).map_err(|error| cannot(&error))
    }
}

/// Whether a spreadsheet may take a text for a formula: some pass over what is not seen in front of one, or take wide characters for
/// narrow ones.
fn is_formula(text: &str) -> bool {
    let is_unseen =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    text.starts_with(['\t', '\r', '\n'])
        || text
            .trim_start_matches(is_unseen)
            .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
}

impl Table for Cells {
    fn add(&mut self, _: &Incoming<'_>, view: View<'_>, stamp: Option<&Stamp>) -> Result<Result<()>, Failure> {
        let cells = match self.paths.iter().map(|path| cell(view, path)).collect::<Result<Vec<_>>>() {
            Ok(cells) => cells,
            Err(error) => return Ok(Err(error)),
        };
        let stamps = stamp.map(|stamp| {
            let Stamp { topic, source, sequence, submitted, recorded } = stamp;
            let time = |nanoseconds: u64| utc(UNIX_EPOCH + Duration::from_nanos(nanoseconds));
            let numbers = [source.to_string(), sequence.to_string(), time(*submitted), time(*recorded)];
            std::iter::once(Cell::Text(topic.clone())).chain(numbers.map(Cell::Plain))
        });
        self.row(stamps.into_iter().flatten().map(Some).chain(cells).collect()).map(Ok)
    }

    fn share(&mut self, _: usize) {}

    fn end(mut self: Box<Self>) -> Result<(), Failure> {
        self.file.flush().map_err(|error| cannot(&error))
    }
}

/// A text as it is, nothing for null, and JSON for an array or a record.
fn cell(view: View<'_>, path: &str) -> Result<Option<Cell>> {
    let cell = match view.find(path)? {
        Item::Null => return Ok(None),
        Item::String(bytes) => Cell::Text(text(bytes, path)?),
        Item::Symbol(symbol) => Cell::Text(symbol.name.to_string()),
        Item::Array(array) => match array.text() {
            Some(bytes) => Cell::Text(text(bytes.split(|byte| *byte == 0).next().unwrap_or_default(), path)?),
            None => Cell::Plain(value(view, path)?),
        },
        Item::Record(_) => Cell::Plain(value(view, path)?),
        number => Cell::Plain(table::cell(number, usize::MAX)),
    };
    Ok(Some(cell))
}

/// CSV has text only, and none of it is to be another one than came.
fn text(bytes: &[u8], path: &str) -> Result<String> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(Error::new(Code::Utf8).at(path).expected("UTF-8, as text is in CSV")),
    }
}

/// The JSON of a field.
fn value(view: View<'_>, path: &str) -> Result<String> {
    let mut object = json::fields(view, &[path])?.to_string();
    let name = std::fmt::from_fn(|f| json::string(path, f)).to_string();
    // Between `{"path":` and `}`.
    object.pop();
    object.drain(..1 + name.len() + 1);
    Ok(object)
}

struct Lines {
    file: BufWriter<File>,
    wanted: Option<Vec<String>>,
}

impl Table for Lines {
    fn add(&mut self, _: &Incoming<'_>, view: View<'_>, stamp: Option<&Stamp>) -> Result<Result<()>, Failure> {
        let record = match &self.wanted {
            None => json::line(view),
            Some(paths) => match json::fields(view, paths) {
                Ok(fields) => fields.to_string(),
                Err(error) => return Ok(Err(error)),
            },
        };
        let Some(Stamp { topic, source, sequence, submitted, recorded }) = stamp else {
            return writeln!(self.file, "{record}").map(Ok).map_err(|error| cannot(&error));
        };
        let topic = std::fmt::from_fn(|f| json::string(topic, f));
        let [a, b, c, d, e] = STAMPS;
        let more = if record == "{}" { "" } else { "," };
        writeln!(
            self.file,
            "{{\"{a}\":{topic},\"{b}\":{source},\"{c}\":{sequence},\"{d}\":{submitted},\"{e}\":{recorded}{more}{}",
            &record[1..]
        )
        .map(Ok)
        .map_err(|error| cannot(&error))
    }

    fn share(&mut self, _: usize) {}

    fn end(mut self: Box<Self>) -> Result<(), Failure> {
        self.file.flush().map_err(|error| cannot(&error))
    }
}

fn no_field(path: &str, format: &Format) -> Failure {
    let known: Vec<&str> = format.structure().fields().iter().map(|field| &*field.name).collect();
    Failure::usage(format!("no field {path} in {}", format.name())).hint(format!("it has {}", known.join(", ")))
}
