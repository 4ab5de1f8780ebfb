//! `isoform export`: the records of a stream or a recording as tables, which other programs open.
//!
//! A table has the records of one name that have the same fields, whatever their machines are. This file says which record goes into
//! which table, and into which file; `columns` writes tables of Parquet and Arrow, `lines` those of CSV and JSON.

mod columns;
mod lines;

use crate::args::{Export, Kind};
use crate::failure::{Failure, notice, reason};
use crate::open::{Chosen, Content, open, recording};
use crate::output::{Output, plural};
use crate::query::Asked;
use crate::show::Unshown;
use isoform::core::{Element, Structure};
use isoform::message::Header;
use isoform::{Format, Incoming, Limits, Token, View};
use isoform_files::{Item, Recording};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What is known of an event beside its record.
#[derive(Clone, Debug)]
struct Stamp {
    /// The name of its channel.
    topic: String,
    source: u32,
    sequence: u64,
    /// When it was submitted and when it was recorded: nanoseconds since 1970.
    submitted: u64,
    recorded: u64,
}

/// The names of the columns for stamps. No field has a dot in its name.
const STAMPS: [&str; 5] =
    ["isoform.topic", "isoform.source", "isoform.sequence", "isoform.submitted", "isoform.recorded"];

/// A table that is being written.
trait Table {
    /// Adds a row. A record that does not fit is an error of its own, and adds none.
    fn add(
        &mut self,
        message: &Incoming<'_>,
        view: View<'_>,
        stamp: Option<&Stamp>,
    ) -> Result<isoform::Result<()>, Failure>;
    /// Completes the file.
    fn end(self: Box<Self>) -> Result<(), Failure>;
}

pub(crate) fn run(arguments: &Export, output: &mut Output) -> Result<(), Failure> {
    let mut tables = Tables::new(arguments)?;
    let read = match recording(&arguments.source)? {
        Some((path, choice)) => tables.events(&path, &choice),
        None => tables.messages(output),
    };
    // What has been read is in its tables, also if the rest is damaged.
    let ended = tables.end(output);
    read.and(ended)
}

/// A number for the fields of a structure, which differs if their names, kinds or dimensions do. Their order, their sizes and the
/// machine have no part in it.
fn fields<'f>(structure: &'f Structure, known: &mut HashMap<&'f str, u64>) -> u64 {
    if let Some(fields) = known.get(structure.name()) {
        return *fields;
    }
    let mut each: Vec<u64> = (structure.fields().iter())
        .map(|field| {
            let inner = match &field.element {
                Element::Structure(inner) => fields(inner, known),
                _ => 0,
            };
            hash((&field.name, std::mem::discriminant(&field.element), field.dims.len(), field.indirect, inner))
        })
        .collect();
    each.sort_unstable();
    let all = hash(each);
    known.insert(structure.name(), all);
    all
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {}", path.display(), reason(error)))
}

/// The same, of a file that the caller names.
fn cannot(error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write: {}", reason(error)))
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Where tables go.
enum Place {
    /// The only table.
    File(PathBuf),
    /// One for each kind of record.
    Folder(PathBuf),
}

/// A table, and its file.
struct Opened {
    table: Box<dyn Table>,
    /// The name of its records, and their fields.
    name: String,
    fields: u64,
    rows: u64,
    /// The file, which is at `part` until it is whole.
    path: PathBuf,
    part: PathBuf,
}

/// An export in progress.
struct Tables<'a> {
    arguments: &'a Export,
    kind: Kind,
    place: Place,
    asked: Option<Asked>,
    tables: Vec<Opened>,
    /// The tables of formats by their place; `None` for those without one.
    known: HashMap<Token, Option<usize>>,
    /// The records that are in no table, by name.
    left_out: BTreeMap<String, u64>,
    /// Events that the recording says are missing.
    missing: u64,
    records: u64,
    unshown: Unshown,
}

impl<'a> Tables<'a> {
    fn new(arguments: &'a Export) -> Result<Tables<'a>, Failure> {
        let path = arguments.output.clone();
        let is_folder = path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        let named = Kind::of(&path).filter(|_| !is_folder);
        let kind = match arguments.kind.or(named) {
            Some(kind) => kind,
            None if is_folder => Kind::Parquet,
            None => {
                let failure = Failure::usage(format!("the name of {} does not say what to write", path.display()));
                return Err(
                    failure.hint("it ends with .parquet, .arrow, .csv or .jsonl; or say --type. A folder is DIR/")
                );
            }
        };
        if is_folder {
            fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(Tables {
            arguments,
            kind,
            place: if is_folder { Place::Folder(path) } else { Place::File(path) },
            asked: arguments.query.as_deref().map(Asked::new).transpose()?,
            tables: Vec::new(),
            known: HashMap::new(),
            left_out: BTreeMap::new(),
            missing: 0,
            records: 0,
            unshown: Unshown::new(&arguments.source, "record", "are in no table"),
        })
    }

    /// The events of a recording, with their stamps.
    fn events(&mut self, path: &Path, choice: &Chosen) -> Result<(), Failure> {
        let Export { source, from, to, no_stamps, .. } = self.arguments;
        let about = |error| Failure::from(error).about(source);
        let mut recording = Recording::open(path).map_err(about)?;
        if from.is_some() || to.is_some() {
            let first = recording.next_entry().map_err(about)?.map_or(0, |entry| entry.recorded);
            let moment = |seconds: f64| first.saturating_add((seconds * 1e9) as u64);
            let span = from.map_or(0, moment)..=to.map_or(u64::MAX, moment);
            recording = Recording::open(path).and_then(|recording| recording.within(span)).map_err(about)?;
        }
        let mut names = BTreeSet::new();
        while let Some(entry) = recording.next_entry().map_err(about)? {
            match entry.item {
                Item::Event { stamp, format, body } => {
                    if !choice.is(format) {
                        names.insert(format.name().to_string());
                        continue;
                    }
                    let stamp = Stamp {
                        topic: entry.topic.into(),
                        source: stamp.source,
                        sequence: stamp.sequence,
                        submitted: stamp.nanoseconds,
                        recorded: entry.recorded,
                    };
                    let message = Incoming::new(Header::new(format.token(), body.len() as u64), format, body);
                    self.record(&message, (!no_stamps).then_some(&stamp))?;
                }
                Item::News(news) => {
                    self.missing += news.pointer("/gap/count").and_then(serde_json::Value::as_u64).unwrap_or(0);
                }
            }
        }
        match self.records == 0 && !names.is_empty() {
            true => Err(choice.none(source, &names)),
            false => Ok(()),
        }
    }

    /// The records of a stream.
    fn messages(&mut self, output: &Output) -> Result<(), Failure> {
        let source = &self.arguments.source;
        if self.arguments.from.is_some() || self.arguments.to.is_some() {
            let failure = Failure::usage(format!("{source} is no recording, and has no times"));
            return Err(failure.hint("--from and --to are for what `isoform record` has written"));
        }
        let opened = open(source, Limits::default(), output)?;
        let Content::Stream(mut reader) = opened.content else {
            return Err(Failure::usage(format!("{} has no records", opened.name))
                .hint("give a stream or a recording; `isoform record` makes one of a channel"));
        };
        loop {
            let error = match reader.peek() {
                Ok(Some((_, format))) if !opened.choice.is(&format) => reader.seek_past().err(),
                Ok(Some(_)) => match reader.next() {
                    Ok(Some(message)) => self.record(&message, None).map(|()| None)?,
                    Ok(None) => break,
                    Err(error) => Some(error),
                },
                Ok(None) => break,
                Err(error) => Some(error),
            };
            match error {
                None => {}
                Some(error) if reader.goes_on_after(&error) => {
                    self.records += 1;
                    self.unshown.tell(error, format_args!("record {}", self.records), None);
                }
                Some(error) => return Err(Failure::from(error).about(&opened.name)),
            }
        }
        opened.choice.check(&opened.name, &reader.registry().formats())
    }

    /// A record, or what the query makes of it.
    fn record(&mut self, message: &Incoming<'_>, stamp: Option<&Stamp>) -> Result<(), Failure> {
        self.records += 1;
        let view = match message.view() {
            Ok(view) => view,
            Err(error) => {
                self.unshown.tell(error, format_args!("record {}", self.records), Some(message.token()));
                return Ok(());
            }
        };
        let Some(mut asked) = self.asked.take() else { return self.row(message.format(), view, stamp) };
        let made = asked.of(message.format(), view, |format, view| self.row(format, view, stamp));
        let fits = asked.fits();
        self.asked = Some(asked);
        match made {
            Ok(row) => row.unwrap_or(Ok(())),
            Err(error) if !fits => Err(Failure::from(error).about("--query")),
            Err(error) => {
                self.unshown.tell(error, format_args!("record {}", self.records), Some(message.token()));
                Ok(())
            }
        }
    }

    fn row(&mut self, format: &Format, view: View<'_>, stamp: Option<&Stamp>) -> Result<(), Failure> {
        let place = match self.known.get(&format.token()) {
            Some(place) => *place,
            None => {
                let place = self.place(format, stamp.is_some())?;
                self.known.insert(format.token(), place);
                place
            }
        };
        let Some(opened) = place.and_then(|place| self.tables.get_mut(place)) else {
            *self.left_out.entry(format.name().into()).or_default() += 1;
            return Ok(());
        };
        let message = Incoming::new(Header::new(format.token(), view.body().len() as u64), format, view.body());
        match opened.table.add(&message, view, stamp)? {
            Ok(()) => opened.rows += 1,
            Err(error) => self.unshown.tell(error, format_args!("record {}", self.records), None),
        }
        Ok(())
    }

    /// The table for records of a format; `None` if there is no place for one.
    fn place(&mut self, format: &Format, has_stamps: bool) -> Result<Option<usize>, Failure> {
        let fields = fields(format.structure(), &mut HashMap::new());
        if let Some(place) = self.tables.iter().position(|other| other.name == format.name() && other.fields == fields)
        {
            return Ok(Some(place));
        }
        let path = match &self.place {
            Place::File(_) if !self.tables.is_empty() => return Ok(None),
            Place::File(path) => path.clone(),
            Place::Folder(folder) => folder.join(self.file_name(format.name())),
        };
        if !self.arguments.force && path.exists() {
            let failure = Failure::usage(format!("{} is there already", path.display()));
            return Err(failure.hint("choose another name, or replace it by --force"));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| cannot_write(&part, &error))?;
        let wanted = (!self.arguments.fields.is_empty()).then_some(&*self.arguments.fields);
        let made = match self.kind {
            Kind::Parquet | Kind::Arrow => columns::table(self.kind, file, format, wanted, has_stamps),
            Kind::Csv | Kind::Jsonl => lines::table(self.kind, BufWriter::new(file), format, wanted, has_stamps),
        };
        let table = match made {
            Ok(table) => table,
            Err(failure) => {
                let _ = fs::remove_file(&part);
                // Others have the fields that are wanted.
                return if self.tables.is_empty() || wanted.is_none() { Err(failure) } else { Ok(None) };
            }
        };
        self.tables.push(Opened { table, name: format.name().into(), fields, rows: 0, path, part });
        Ok(Some(self.tables.len() - 1))
    }

    /// The name of the file of another table, with a number if others of that name have other fields.
    fn file_name(&self, name: &str) -> String {
        let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let is_taken = |name: &str| {
            self.tables.iter().any(|table| {
                table.path.file_stem().is_some_and(|stem| stem.to_string_lossy().eq_ignore_ascii_case(name))
            })
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name));
        format!("{}.{}", free.unwrap_or(name), self.kind.extension())
    }

    /// Completes the tables, and says what is in them and what is not.
    fn end(self, output: &mut Output) -> Result<(), Failure> {
        let is_empty = self.tables.is_empty();
        for Opened { table, name, rows, path, part, .. } in self.tables {
            let ended = table.end().and_then(|()| fs::rename(&part, &path).map_err(|error| cannot(&error)));
            if let Err(failure) = ended {
                let _ = fs::remove_file(&part);
                return Err(failure.about(&path.display().to_string()));
            }
            writeln!(output, "{}: {} of {name}", path.display(), plural(count(rows), "row"))?;
        }
        if self.missing > 0 {
            notice(&format!("{} missing: the recording says which, and why", plural(count(self.missing), "event")));
        }
        self.asked.iter().for_each(Asked::end);
        self.unshown.end()?;
        let source = &self.arguments.source;
        if let Some((name, left)) = self.left_out.first_key_value() {
            let more = self.left_out.values().skip(1).sum::<u64>();
            let more = if more == 0 { String::new() } else { format!(", and {more} of others") };
            let failure =
                Failure::data(format!("{source}: {} of {name} left out{more}", plural(count(*left), "record")));
            return Err(
                failure.hint(format!("a folder, such as DIR/, gets a table for each; or choose one: SOURCE#{name}"))
            );
        }
        match (is_empty, self.records) {
            (true, 0) => Err(Failure::data(format!("no records in {source}"))),
            (true, _) => Err(Failure::data(format!(
                "the query passes none of the {} in {source}",
                plural(count(self.records), "record")
            ))),
            _ => Ok(()),
        }
    }
}
