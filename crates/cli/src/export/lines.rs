//! Tables as text: CSV, with a cell for each field, and JSON, with an object in each line.

use super::{STAMPS, Stamp, Table, cannot};
use crate::args::Kind;
use crate::failure::Failure;
use crate::time::utc;
use csv::Writer;
use isoform::core::view::Item;
use isoform::text::{json, table};
use isoform::{Code, Error, Format, Incoming, Result, View};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, UNIX_EPOCH};

/// A table with these fields, by default with all.
pub(super) fn table(
    kind: Kind,
    file: BufWriter<File>,
    format: &Format,
    wanted: Option<&[String]>,
    has_stamps: bool,
) -> Result<Box<dyn Table>, Failure> {
    for path in wanted.unwrap_or_default() {
        if !format.structure().has_path(path) {
            return Err(no_field(path, format));
        }
    }
    if kind == Kind::Jsonl {
        return Ok(Box::new(Lines { file, wanted: wanted.map(<[String]>::to_vec) }));
    }
    let all = || table::Table::new(format, 0).columns().map(|column| column.name).collect();
    let paths: Vec<String> = wanted.map_or_else(all, <[String]>::to_vec);
    let mut writer = Writer::from_writer(file);
    let stamps = if has_stamps { &STAMPS[..] } else { &[] };
    writer.write_record(stamps.iter().copied().chain(paths.iter().map(String::as_str))).map_err(not_written)?;
    Ok(Box::new(Cells { writer, paths }))
}

struct Cells {
    writer: Writer<BufWriter<File>>,
    /// The fields, one for each cell behind the stamps.
    paths: Vec<String>,
}

impl Table for Cells {
    fn add(&mut self, _: &Incoming<'_>, view: View<'_>, stamp: Option<&Stamp>) -> Result<Result<()>, Failure> {
        let cells = match self.paths.iter().map(|path| cell(view, path)).collect::<Result<Vec<String>>>() {
            Ok(cells) => cells,
            Err(error) => return Ok(Err(error)),
        };
        let stamps = stamp.map(|stamp| {
            let Stamp { topic, source, sequence, submitted, recorded } = stamp;
            let time = |nanoseconds: u64| utc(UNIX_EPOCH + Duration::from_nanos(nanoseconds));
            [topic.clone(), source.to_string(), sequence.to_string(), time(*submitted), time(*recorded)]
        });
        self.writer.write_record(stamps.into_iter().flatten().chain(cells)).map_err(not_written)?;
        Ok(Ok(()))
    }

    fn share(&mut self, _: usize) {}

    fn end(mut self: Box<Self>) -> Result<(), Failure> {
        self.writer.flush().map_err(|error| cannot(&error))
    }
}

/// A text as it is, nothing for null, and JSON for an array or a record.
fn cell(view: View<'_>, path: &str) -> Result<String> {
    Ok(match view.find(path)? {
        Item::Null => String::new(),
        Item::String(bytes) => text(bytes, path)?,
        Item::Symbol(symbol) => symbol.name.to_string(),
        Item::Array(array) => match array.text() {
            Some(bytes) => text(bytes.split(|byte| *byte == 0).next().unwrap_or_default(), path)?,
            None => value(view, path)?,
        },
        Item::Record(_) => value(view, path)?,
        number => table::cell(number, usize::MAX),
    })
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

fn not_written(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => cannot(&error),
        _ => Failure::data("the row cannot be written as CSV"),
    }
}
