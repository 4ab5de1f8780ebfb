//! What a query makes of a stream, as another stream: for readers with a query. So whatever reads a stream can read this one.

use crate::io::{Fault, Input};
use isoform::core::{Layout, Verifier};
use isoform::stream::{Reader, Writer};
use isoform::{Code, Error, Format, Incoming, Result, Token, View};
use isoform_query::{Event, Query, Run, Verdict};
use pyo3::PyErr;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

/// The most formats of a stream that a query is evaluated for. Each has a state of its own.
const FORMATS: usize = 1_000;

/// A stream, and the query.
pub(crate) struct Asked {
    reader: Reader<Input>,
    fault: Arc<Fault>,
    query: Query,
    /// Its state for each format; `None` where it does not fit.
    formats: HashMap<Token, Option<Ready>>,
    /// What it has made of the last record, of which the first bytes were read.
    made: Writer<Vec<u8>>,
    read: usize,
    result: Vec<u8>,
}

/// The query at work on records of one format.
struct Ready {
    run: Run,
    verifier: Verifier,
    /// Records of the format so far.
    records: u64,
}

impl Asked {
    /// # Errors
    /// Those of [`Query::parse`].
    pub(crate) fn new(reader: Reader<Input>, query: &str) -> Result<Asked> {
        let (fault, query) = (reader.inner().fault(), Query::parse(query)?);
        let made = Writer::new(Vec::new());
        Ok(Asked { reader, fault, query, formats: HashMap::new(), made, read: 0, result: Vec::new() })
    }

    /// The stream that is asked.
    pub(crate) fn inner(&self) -> &Input {
        self.reader.inner()
    }

    /// Reads bytes of the results. An error concerns one record, and the next call continues behind it, unless the stream itself
    /// is wrong.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> std::result::Result<usize, PyErr> {
        if self.read == self.made.inner().len() {
            self.made.inner_mut().clear();
            self.read = 0;
            self.refill().map_err(|error| self.fault.raise(error))?;
        }
        let count = (&self.made.inner()[self.read..]).read(buffer)?;
        self.read += count;
        Ok(count)
    }

    /// Reads records until one is wanted, or no more have arrived.
    fn refill(&mut self) -> Result<()> {
        let Asked { reader, query, formats, made, result, .. } = self;
        while made.inner().is_empty()
            && let Some(message) = reader.next()?
        {
            let format = message.format();
            if !formats.contains_key(&format.token()) {
                let fits = formats.values().any(Option::is_some);
                if formats.len() >= FORMATS {
                    let error = Error::new(Code::Budget).at("query");
                    return Err(error.expected(format_args!("at most {FORMATS} formats")).found("more"));
                }
                let ready = match ready(query, format) {
                    Ok(ready) => Some(ready),
                    Err(_) if fits => None,
                    Err(error) => return Err(error),
                };
                formats.insert(format.token(), ready);
            }
            let Some(Some(ready)) = formats.get_mut(&format.token()) else { continue };
            ready.make(&message, result, made)?;
        }
        Ok(())
    }
}

/// The query for records of a format.
fn ready(query: &Query, format: &Format) -> Result<Ready> {
    let checked = query.check(format, &Layout::NATIVE)?;
    if checked.uses_time() {
        let error = Error::new(Code::WrongType).at("query").expected("a query that does not need the times of records");
        return Err(error.found("records of a stream or a file, which are read without times"));
    }
    Ok(Ready { run: checked.run(), verifier: Verifier::new(format), records: 0 })
}

impl Ready {
    /// Writes what the query makes of a record.
    fn make(&mut self, message: &Incoming<'_>, result: &mut Vec<u8>, made: &mut Writer<Vec<u8>>) -> Result<()> {
        let event = Event { sequence: self.records, time: 0 };
        self.records += 1;
        let view = View::new(self.verifier.verify(message.body())?);
        match self.run.record_into(view, event, result)? {
            Verdict::Filtered => Ok(()),
            Verdict::Passed => made.write_body(message.format(), message.body()),
            Verdict::Result => made.write_body(self.run.format(), result),
        }
    }
}
