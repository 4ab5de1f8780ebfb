//! `--query`: what a query makes of the records of a stream, whatever their formats are.

use crate::failure::{Failure, notice};
use crate::output::plural;
use isoform::core::{Code, Layout, Verifier};
use isoform::{Error, Format, Result, Token, View};
use isoform_query::{Answer, Event, Query, Run};
use std::collections::HashMap;

/// A query, and how far it is with the records of each format.
pub(crate) struct Asked {
    query: Query,
    formats: HashMap<Token, Ready>,
}

/// A query at work on records of one format.
struct Ready {
    run: Run,
    result: Format,
    verifier: Verifier,
    /// Records of the format so far.
    records: u64,
}

impl Asked {
    pub(crate) fn new(text: &str) -> std::result::Result<Asked, Failure> {
        let query = Query::parse(text).map_err(|error| Failure::usage(error.to_string()).about("--query"))?;
        Ok(Asked { query, formats: HashMap::new() })
    }

    /// Whether the query fits some format that it has met.
    pub(crate) fn fits(&self) -> bool {
        !self.formats.is_empty()
    }

    /// Gives `show` what is wanted of a record, with its format; `None` if nothing is.
    pub(crate) fn of<T>(
        &mut self,
        format: &Format,
        view: View<'_>,
        show: impl FnOnce(&Format, View<'_>) -> T,
    ) -> Result<Option<T>> {
        if !self.formats.contains_key(&format.token()) {
            let checked = self.query.check(format, &Layout::NATIVE)?;
            if checked.uses_time() {
                let error =
                    Error::new(Code::WrongType).at("query").expected("a query that does not need the times of records");
                return Err(error.found("records of a stream or a file, which are read without times"));
            }
            let result = checked.format().clone();
            let ready = Ready { run: checked.run(), verifier: Verifier::new(&result), result, records: 0 };
            self.formats.insert(format.token(), ready);
        }
        let Some(ready) = self.formats.get_mut(&format.token()) else { return Ok(None) };
        ready.records += 1;
        match ready.run.record(view, Event { sequence: ready.records - 1, time: 0 })? {
            Answer::Filtered => Ok(None),
            Answer::Passed => Ok(Some(show(format, view))),
            Answer::Result(body) => Ok(Some(show(&ready.result, View::new(ready.verifier.verify(&body)?)))),
        }
    }

    /// Tells of faults in calculations.
    pub(crate) fn end(&self) {
        let faults: u64 = self.formats.values().map(|ready| ready.run.account().faults).sum();
        if faults > 0 {
            let faults = plural(usize::try_from(faults).unwrap_or(usize::MAX), "fault");
            notice(&format!(
                "{faults} in the query's calculations: overflows, divisions by zero, or elements that are not there"
            ));
        }
    }
}
