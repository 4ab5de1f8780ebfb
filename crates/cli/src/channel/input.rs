//! Records to publish. A thread of its own reads them, so that Ctrl-C works while it waits for standard input.

use crate::failure::Failure;
use crate::open::{Records, open_records};
use crate::output::Output;
use crate::raw::Raw;
use isoform::core::error::Position;
use isoform::core::plan::Rules;
use isoform::stream::Reader;
use isoform::text::json;
use isoform::{Error, Format, Incoming, Limits};
use std::io::{BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// So many records are read ahead.
const AHEAD: usize = 64;

/// So much of a line is shown.
const START: usize = 40;

/// An item of the input.
pub(super) enum Item {
    Record {
        format: Format,
        body: Vec<u8>,
        /// Which one of the input it is.
        about: String,
    },
    /// A line or message that is not a record, and is skipped.
    Bad { error: Error, about: String },
    /// The end of what can be read.
    Broken(Failure),
}

/// What is read, in order.
pub(super) struct Input {
    items: Receiver<Item>,
    /// An item that has been looked at.
    first: Option<Item>,
}

impl Input {
    /// Reads records from a source; lines of JSON are of this format, and the rules say what their missing fields become.
    pub(super) fn read(source: &str, format: Option<Format>, rules: Rules) -> Input {
        Input::of(source, move |source, to| read_to(source, format, &rules, to))
    }

    /// Reads the records of a raw file, which are of this format.
    pub(super) fn read_raw(source: &str, format: Format) -> Input {
        Input::of(source, move |source, to| raw(Raw::open(format.clone(), source, &Output::stdout())?, &format, to))
    }

    fn of(source: &str, read: impl FnOnce(&str, &SyncSender<Item>) -> Result<(), Failure> + Send + 'static) -> Input {
        let (to, items) = sync_channel(AHEAD);
        let source = source.to_string();
        std::thread::spawn(move || {
            // It also ends when nobody receives the items any more.
            if let Err(failure) = read(&source, &to) {
                let _ = to.send(Item::Broken(failure));
            }
        });
        Input { items, first: None }
    }

    /// Whether what comes first can be read, as far as that is known already.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        if self.first.is_none() {
            self.first = self.items.try_recv().ok();
        }
        match self.first.take() {
            Some(Item::Broken(failure)) => Err(failure),
            first => {
                self.first = first;
                Ok(())
            }
        }
    }

    /// The next item, if one comes in time.
    pub(super) fn next(&mut self, patience: Duration) -> Result<Item, RecvTimeoutError> {
        self.first.take().map_or_else(|| self.items.recv_timeout(patience), Ok)
    }
}

fn read_to(source: &str, format: Option<Format>, rules: &Rules, to: &SyncSender<Item>) -> Result<(), Failure> {
    match open_records(source, Limits::default(), &Output::stdout())? {
        (name, Records::Stream(reader)) => stream(*reader, to).map_err(|error| Failure::from(error).about(&name)),
        (name, Records::Lines(lines)) => match format {
            Some(format) => lines_of(lines, (&format, rules), to).map_err(|error| error.about(&name)),
            None => {
                let failure = Failure::usage(format!("{name} is no stream, and lines of JSON need a type"));
                Err(failure.hint("use --shape FILE, where FILE contains `record NAME` and its fields"))
            }
        },
    }
}

fn raw(mut raw: Raw, format: &Format, to: &SyncSender<Item>) -> Result<(), Failure> {
    while let Some(found) = raw.next()? {
        let item = Item::Record { format: format.clone(), body: found.body.to_vec(), about: found.to_string() };
        if to.send(item).is_err() {
            break;
        }
    }
    Ok(())
}

fn stream(mut reader: Reader<impl Read + std::io::Seek>, to: &SyncSender<Item>) -> Result<(), Error> {
    for count in 1u64.. {
        let about = format!("message {count}");
        let owned = |message: Incoming<'_>| (message.format().clone(), message.body().to_vec());
        let item = match reader.next().map(|message| message.map(owned)) {
            Ok(None) => break,
            Ok(Some((format, body))) => Item::Record { format, body, about },
            Err(error) if reader.goes_on_after(&error) => Item::Bad { error, about },
            Err(error) => return Err(error),
        };
        if to.send(item).is_err() {
            break;
        }
    }
    Ok(())
}

fn lines_of(mut lines: impl BufRead, of: (&Format, &Rules), to: &SyncSender<Item>) -> Result<(), Failure> {
    let ((format, rules), mut line) = (of, Vec::new());
    for count in 1u64.. {
        line.clear();
        let read = lines.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::data(crate::failure::reason(&error)))? == 0 {
            break;
        }
        let about = format!("line {count}");
        let item = match record(format, rules, &line) {
            None => continue,
            Some(Ok(body)) => Item::Record { format: format.clone(), body, about },
            Some(Err(error)) => Item::Bad { error, about },
        };
        if to.send(item).is_err() {
            break;
        }
    }
    Ok(())
}

/// The record of a line, if there is anything in it.
fn record(format: &Format, rules: &Rules, line: &[u8]) -> Option<Result<Vec<u8>, Error>> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    let body = || {
        json::body_with(format, line, rules).map_err(|error| match error.position() {
            Some(Position { column, .. }) => no_json(format, line, column, &error),
            None => error,
        })
    };
    (!line.is_empty()).then(body)
}

/// The same error, with an example of the expected JSON, and the start of the line.
fn no_json(format: &Format, line: &str, column: usize, error: &Error) -> Error {
    let names: Vec<String> = format.structure().fields().iter().map(|field| format!("{:?}:..", field.name)).collect();
    let start: String = line.chars().take(START).collect();
    let came = format!("{start:?}: {} at column {column}", error.actual());
    Error::new(error.code()).expected(format_args!("JSON such as {{{}}}", names.join(","))).found(came)
}
