//! `isoform export`: the records of a stream or a recording as tables, which other programs open.
//!
//! A table has the records of one name that have the same fields, whatever their machines are. This file says which record goes into
//! which table, and into which file; `columns` writes tables of Parquet and Arrow, `lines` those of CSV and JSON.

mod columns;
mod lines;

use crate::args::{Export, Kind};
use crate::failure::{Failure, no_option, notice, reason};
use crate::open::{Chosen, Content, open, recording};
use crate::output::{Output, plural};
use crate::query::Asked;
use crate::raw::{self, Raw};
use crate::show::Unshown;
use crate::whole::{cannot_write, unfinished};
use isoform::core::declare::Type;
use isoform::message::Header;
use isoform::{Code, Format, Incoming, Limits, Token, View};
use isoform_dynamic::kind::fields;
use isoform_files::{Foreign, Item, Recording};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
    /// From now on it may hold so many bytes.
    fn share(&mut self, bytes: usize);
    /// Completes the file.
    fn end(self: Box<Self>) -> Result<(), Failure>;
}

/// The most tables of an export: each has an open file.
const TABLES: usize = 256;
/// The most kinds of records of one name that are told apart.
const KINDS: usize = 4096;
/// The most bytes of a record's name in the name of a file.
const LONGEST_NAME: usize = 200;
/// The most fields of a kind that are named.
const FIELDS: usize = 12;
/// Kinds of records that are left out are named one by one up to this number.
const TOLD: usize = 10;

/// Why reading ended.
enum Stop {
    /// The source is damaged here. The tables have what is in front of it.
    Read(Failure),
    /// Nothing can be written, or it was asked for what is not there: there is no table.
    Write(Failure),
}

pub(crate) fn run(arguments: &Export, output: &mut Output) -> Result<(), Failure> {
    let mut tables = Tables::new(arguments)?;
    let read = match (&arguments.raw.of, recording(&arguments.source)?) {
        (Some(format), _) => tables.raw(format, output),
        (None, Some((path, choice))) => tables.events(&path, &choice),
        (None, None) => tables.messages(output),
    };
    match read {
        Ok(()) => tables.end(output),
        Err(Stop::Read(failure)) if tables.records == 0 => Err(failure),
        Err(Stop::Read(failure)) => tables.end(output).and(Err(failure)),
        Err(Stop::Write(failure)) => Err(failure),
    }
}

/// The fields of a kind of records, or the first of them.
fn in_words(format: &Format) -> String {
    let fields = format.structure().fields();
    let mut words: Vec<String> = fields
        .iter()
        .take(FIELDS)
        .map(|field| format!("{} {}", field.name, Type::of(field, format.structure())))
        .collect();
    if fields.len() > FIELDS {
        words.push("..".into());
    }
    words.join(", ")
}

/// A failure to write a file that the caller names.
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
    /// The name of its records, their fields, and which kind of that name they are, from 1.
    name: String,
    fields: u64,
    number: usize,
    rows: u64,
    /// Where the file goes once it is whole. Until then it has another name, and goes away if it does not become whole.
    path: PathBuf,
    file: NamedTempFile,
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
    /// By name of records: the kinds of their fields, in the order in which they come, and those in words.
    kinds: BTreeMap<String, Vec<(u64, String)>>,
    /// Formats of another kind than the one that is wanted.
    unwanted: HashSet<Token>,
    /// The records that are in no table, by name, and why if there is a reason.
    left_out: BTreeMap<String, (u64, Option<String>)>,
    /// The names of files that are taken, and how often each was wanted.
    files: HashMap<String, usize>,
    /// Events that the recording says are missing.
    missing: u64,
    /// What a recording has that is not Isoform's.
    foreign: Option<Foreign>,
    records: u64,
    unshown: Unshown,
}

impl<'a> Tables<'a> {
    fn new(arguments: &'a Export) -> Result<Tables<'a>, Failure> {
        let fields = &arguments.fields;
        if let Some(twice) = (1..fields.len()).find_map(|at| fields[..at].iter().find(|field| **field == fields[at])) {
            let failure = Failure::usage(format!("--fields has {twice} twice"));
            return Err(failure.hint("each column of a table has its own name"));
        }
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
        if path.as_os_str() == "-" {
            let failure = Failure::usage("a table goes into a file, not to standard output");
            return Err(failure.hint("`isoform dump --json` writes records there"));
        }
        if arguments.spreadsheet && kind != Kind::Csv {
            return Err(Failure::usage("--spreadsheet is for CSV").hint("other tables tell texts from formulas"));
        }
        if is_folder {
            fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(Tables {
            arguments,
            kind,
            place: if is_folder { Place::Folder(path) } else { Place::File(path) },
            asked: arguments.query.as_deref().map(Asked::new).transpose()?.map(Asked::until_the_end),
            tables: Vec::new(),
            known: HashMap::new(),
            kinds: BTreeMap::new(),
            unwanted: HashSet::new(),
            left_out: BTreeMap::new(),
            files: HashMap::new(),
            missing: 0,
            foreign: None,
            records: 0,
            unshown: Unshown::new(&arguments.source, "record", "are in no table"),
        })
    }

    /// The events of a recording, with their stamps.
    fn events(&mut self, path: &Path, choice: &Chosen) -> Result<(), Stop> {
        let Export { source, span, .. } = self.arguments;
        let about = |error| Stop::Read(Failure::from(error).about(source));
        let mut recording = Recording::open(path).map_err(about)?;
        let span = span.of(&mut recording, source).map_err(Stop::Write)?;
        let mut recording = recording.within(span).map_err(about)?.only(self.arguments.channel.clone());
        let mut names = BTreeSet::new();
        let mut last = None;
        while let Some(entry) = recording.next_entry().map_err(|error| match error.code() {
            Code::NoSuchChannel => Stop::Write(Failure::from(error).about(source).of_source()),
            _ => about(error),
        })? {
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
                    self.record(&message, Some(&stamp))?;
                    last = Some(stamp);
                }
                Item::News(news) => {
                    let count = news.pointer("/gap/count").and_then(serde_json::Value::as_u64).unwrap_or(0);
                    self.missing = self.missing.saturating_add(count);
                }
            }
        }
        self.foreign = Some(recording.foreign()).filter(|foreign| !foreign.is_none());
        self.finish(last.as_ref())?;
        match self.records == 0 && !names.is_empty() {
            true => Err(Stop::Write(choice.none(source, &names))),
            false => Ok(()),
        }
    }

    /// The records of a stream.
    fn messages(&mut self, output: &Output) -> Result<(), Stop> {
        let source = &self.arguments.source;
        self.is_no_recording()?;
        let opened = open(source, Limits::default(), output).map_err(Stop::Write)?;
        let Content::Stream(mut reader) = opened.content else {
            let failure = Failure::usage(format!("{} has no records", opened.name));
            return Err(Stop::Write(
                failure.hint("give a stream or a recording; `isoform record` makes one of a channel"),
            ));
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
                Some(error) => return Err(Stop::Read(Failure::from(error).about(&opened.name))),
            }
        }
        self.finish(None)?;
        opened.choice.check(&opened.name, &reader.registry().formats()).map_err(Stop::Write)
    }

    /// The records of a raw file.
    fn raw(&mut self, format: &str, output: &Output) -> Result<(), Stop> {
        self.is_no_recording()?;
        let format = raw::format(format, output).map_err(Stop::Write)?;
        let mut raw = Raw::open(format.clone(), &self.arguments.source, output).map_err(Stop::Write)?;
        while let Some(found) = raw.next().map_err(Stop::Read)? {
            let header = Header::new(format.token(), found.body.len() as u64);
            self.record(&Incoming::new(header, &format, found.body), None)?;
        }
        self.finish(None)
    }

    /// Options for recordings do not fit a stream.
    fn is_no_recording(&self) -> Result<(), Stop> {
        if self.arguments.span.is_all() && self.arguments.channel.is_empty() {
            return Ok(());
        }
        let source = &self.arguments.source;
        let failure = Failure::usage(format!("{source} is no recording, and has no times and no channels"));
        Err(Stop::Write(failure.hint("--from, --to and --channel are for what `isoform record` has written")))
    }

    /// A record, or what the query makes of it.
    fn record(&mut self, message: &Incoming<'_>, stamp: Option<&Stamp>) -> Result<(), Stop> {
        self.records += 1;
        let view = match message.view() {
            Ok(view) => view,
            Err(error) => {
                self.unshown.tell(error, format_args!("record {}", self.records), Some(message.token()));
                return Ok(());
            }
        };
        let time = stamp.map(|stamp| stamp.submitted);
        let stamp = stamp.filter(|_| !self.arguments.no_stamps);
        let Some(mut asked) = self.asked.take() else { return self.row(message.format(), view, stamp) };
        let made = asked.of(message.format(), view, time, |format, view| self.row(format, view, stamp));
        let fits = asked.fits();
        self.asked = Some(asked);
        match made {
            Ok(row) => row.unwrap_or(Ok(())),
            Err(error) if !fits => Err(Stop::Write(Failure::from(error).about("--query"))),
            Err(error) => {
                self.unshown.tell(error, format_args!("record {}", self.records), Some(message.token()));
                Ok(())
            }
        }
    }

    /// What the windows of the query hold at the end. `stamp` is that of the last record.
    fn finish(&mut self, stamp: Option<&Stamp>) -> Result<(), Stop> {
        let Some(mut asked) = self.asked.take() else { return Ok(()) };
        let stamp = stamp.filter(|_| !self.arguments.no_stamps);
        let made = asked.finish(|format, view| self.row(format, view, stamp));
        self.asked = Some(asked);
        made.unwrap_or_else(|error| Err(Stop::Write(Failure::from(error).about("--query"))))
    }

    fn row(&mut self, format: &Format, view: View<'_>, stamp: Option<&Stamp>) -> Result<(), Stop> {
        let place = match self.known.get(&format.token()) {
            Some(place) => *place,
            None => {
                let place = self.place(format, stamp.is_some()).map_err(Stop::Write)?;
                self.known.insert(format.token(), place);
                place
            }
        };
        if self.unwanted.contains(&format.token()) {
            return Ok(());
        }
        let Some(opened) = place.and_then(|place| self.tables.get_mut(place)) else {
            self.left_out.entry(format.name().into()).or_default().0 += 1;
            return Ok(());
        };
        let message = Incoming::new(Header::new(format.token(), view.body().len() as u64), format, view.body());
        match opened
            .table
            .add(&message, view, stamp)
            .map_err(|failure| Stop::Write(failure.about(&opened.path.display().to_string())))?
        {
            Ok(()) => opened.rows += 1,
            Err(error) => self.unshown.tell(error, format_args!("record {}", self.records), None),
        }
        Ok(())
    }

    /// The table for records of a format; `None` if none can be made of them, and others have tables.
    fn place(&mut self, format: &Format, has_stamps: bool) -> Result<Option<usize>, Failure> {
        let fields = fields(format.structure());
        if let Some(place) = self.tables.iter().position(|other| other.name == format.name() && other.fields == fields)
        {
            return Ok(Some(place));
        }
        let number = self.number(format, fields)?;
        if self.arguments.number.is_some_and(|wanted| wanted.get() != number) {
            self.unwanted.insert(format.token());
            return Ok(None);
        }
        if let (Place::File(_), Some(first)) = (&self.place, self.tables.first()) {
            return Err(self.are_two_kinds(&first.name, format.name()));
        }
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Folder(folder) => {
                let folder = folder.clone();
                folder.join(self.file_name(format.name()))
            }
        };
        self.check(&path)?;
        match self.create(path, format, fields, has_stamps) {
            // Another kind of records may have a table, or the fields that are wanted.
            Err(Failure::Told { message, .. }) if matches!(self.place, Place::Folder(_)) => {
                self.left_out.entry(format.name().into()).or_default().1.get_or_insert(message);
                Ok(None)
            }
            made => made.map(Some),
        }
    }

    /// Which kind of records of its name a format is, from 1.
    fn number(&mut self, format: &Format, fields: u64) -> Result<usize, Failure> {
        let kinds = self.kinds.entry(format.name().into()).or_default();
        if let Some(place) = kinds.iter().position(|(known, _)| *known == fields) {
            return Ok(place + 1);
        }
        if kinds.len() == KINDS {
            let source = &self.arguments.source;
            return Err(Failure::data(format!("{source} has more than {KINDS} kinds of records of {}", format.name())));
        }
        kinds.push((fields, in_words(format)));
        Ok(kinds.len())
    }

    /// Records that do not fit one table, where one is wanted. A file with some of them would look like all.
    fn are_two_kinds(&self, first: &str, other: &str) -> Failure {
        let source = &self.arguments.source;
        let folder = "a folder, such as DIR/, gets a table for each";
        if first == other {
            let failure = Failure::usage(format!("{source} has records of {first} with other fields, too"));
            let kinds = self.kinds.get(first).into_iter().flatten().enumerate().take(TOLD);
            let kinds = kinds.map(|(at, (_, words))| format!("{} has {words}", at + 1)).collect::<Vec<_>>().join("; ");
            return failure.hint(format!("{folder}; or choose one by --kind: {kinds}"));
        }
        let failure =
            Failure::usage(format!("{source} has records of {first} and of {other}, and a file has one table"));
        failure.hint(format!("{folder}; or choose one: SOURCE#{other}"))
    }

    /// Begins another table.
    fn create(&mut self, path: PathBuf, format: &Format, fields: u64, has_stamps: bool) -> Result<usize, Failure> {
        if self.tables.len() == TABLES {
            return Err(Failure::data(format!("there are {TABLES} tables already")));
        }
        let file = unfinished(&path)?;
        let output = file.as_file().try_clone().map_err(|error| cannot_write(&path, &error))?;
        let wanted = (!self.arguments.fields.is_empty()).then_some(&*self.arguments.fields);
        let table = match self.kind {
            Kind::Parquet | Kind::Arrow => columns::table(self.kind, output, format, wanted, has_stamps)?,
            Kind::Jsonl => lines::objects(BufWriter::new(output), format, wanted)?,
            Kind::Csv => {
                let spreadsheet = self.arguments.spreadsheet;
                lines::cells(BufWriter::new(output), format, wanted, has_stamps, spreadsheet)?
            }
        };
        let number = self.number(format, fields)?;
        self.tables.push(Opened { table, name: format.name().into(), fields, number, rows: 0, path, file });
        let share = columns::SHARED / self.tables.len();
        self.tables.iter_mut().for_each(|opened| opened.table.share(share));
        Ok(self.tables.len() - 1)
    }

    /// Refuses to write where something is that must stay.
    fn check(&self, path: &Path) -> Result<(), Failure> {
        let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
        let shown = path.display();
        if !self.arguments.force {
            let failure = Failure::usage(format!("{shown} is there already"));
            return Err(failure.hint("choose another name, or replace it by --force"));
        }
        if !there.is_file() {
            return Err(Failure::usage(format!("{shown} is no regular file, and is not replaced")));
        }
        let is_source = fs::canonicalize(path).ok().is_some_and(|path| {
            fs::canonicalize(self.arguments.source.rsplit_once('#').map_or(&*self.arguments.source, |(path, _)| path))
                .or_else(|_| fs::canonicalize(&self.arguments.source))
                .is_ok_and(|source| source == path)
        });
        match is_source {
            true => Err(Failure::usage(format!("{shown} is the source, and is not replaced"))),
            false => Ok(()),
        }
    }

    /// The name of the file of another table, with a number if others of that name have other fields.
    fn file_name(&mut self, name: &str) -> String {
        let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
        let mut name: String = name.chars().map(plain).collect();
        // File systems have an end of names, and some tell no capitals from small letters.
        while name.len() > LONGEST_NAME {
            name.pop();
        }
        let wanted = self.files.entry(name.to_lowercase()).or_default();
        *wanted += 1;
        let mut number = *wanted;
        let mut numbered = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        // Records may be called `A-2` themselves.
        while number > 1 && self.files.contains_key(&numbered.to_lowercase()) {
            number += 1;
            numbered = format!("{name}-{number}");
        }
        self.files.insert(name.to_lowercase(), number);
        self.files.entry(numbered.to_lowercase()).or_insert(1);
        format!("{numbered}.{}", self.kind.extension())
    }

    /// Completes the tables, and says what is in them and what is not.
    fn end(self, output: &mut Output) -> Result<(), Failure> {
        let is_empty = self.tables.is_empty();
        let mut whole = Vec::new();
        for Opened { table, name, number, rows, path, file, .. } in self.tables {
            table.end().map_err(|failure| failure.about(&path.display().to_string()))?;
            let which = match self.kinds.get(&name) {
                Some(kinds) if kinds.len() > 1 => format!("{name}, kind {number}: {}", kinds[number - 1].1),
                _ => name,
            };
            whole.push((which, rows, path, file));
        }
        for (name, rows, path, file) in whole {
            let kept = match self.arguments.force {
                true => file.persist(&path),
                false => file.persist_noclobber(&path),
            };
            kept.map_err(|error| cannot_write(&path, &error.error))?;
            writeln!(output, "{}: {} of {name}", no_option(&path), plural(count(rows), "row"))?;
        }
        if self.missing > 0 {
            notice(&format!("{} missing: the recording says which, and why", plural(count(self.missing), "event")));
        }
        self.foreign.iter().for_each(|foreign| notice(&foreign.to_string()));
        self.asked.iter().for_each(Asked::end);
        self.unshown.end()?;
        let source = &self.arguments.source;
        let mut left_out = self.left_out.iter().map(|(name, (left, why))| {
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            format!("{source}: {} of {name} left out{why}", plural(count(*left), "record"))
        });
        if let Some(last) = left_out.next_back() {
            left_out.take(TOLD).for_each(|line| notice(&line));
            return Err(Failure::data(last));
        }
        if let (true, Some(wanted), false) = (is_empty, self.arguments.number, self.unwanted.is_empty()) {
            let most = self.kinds.values().map(Vec::len).max().unwrap_or(0);
            return Err(Failure::usage(format!(
                "{source} has no records of kind {wanted}: no name has more than {most} kinds"
            )));
        }
        match (is_empty, self.records) {
            (true, 0) => Err(Failure::data(format!("no records in {source}"))),
            (true, records) => Err(Failure::data(format!(
                "the query passes none of the {} in {source}",
                plural(count(records), "record")
            ))),
            _ => Ok(()),
        }
    }
}
