//! Sources of all records, in memory or as messages.

use crate::flat;
use isoform::Messages;
use isoform::memory::Encoder;
use isoform::{Code, Error, Format, Result, Rules};
use isoform_channel::{self as channel, Demand, Parameters, SinkLedger, SourceBuilder};
use std::time::Duration;

/// Submits records to the sinks of a channel.
pub struct Source(Form);

enum Form {
    Records(Box<channel::Source<Encoder>>),
    Messages(channel::Source<Messages>),
}

/// The progress of submitting a list of records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The number of submitted records.
    pub done: usize,
    /// The sequence number of the last, if there is one.
    pub last: Option<u64>,
}

impl Source {
    /// Creates a source of records of a format, in memory.
    ///
    /// # Errors
    /// As [`SourceBuilder::build_with`].
    pub fn of_records(source: SourceBuilder, format: &Format) -> Result<Source> {
        source.build_with(Encoder::new(format)?).map(|source| Source(Form::Records(Box::new(source))))
    }

    /// Creates a source of messages: of any format, or of this one.
    ///
    /// # Errors
    /// As [`SourceBuilder::build`].
    pub fn of_messages(source: SourceBuilder, format: Option<&Format>) -> Result<Source> {
        let source = match format {
            Some(format) => source.build_with(Messages::of(format, Rules::new()))?,
            None => source.build()?,
        };
        Ok(Source(Form::Messages(source)))
    }

    /// Submits consecutive records without pointers, except those that were submitted already. So it can be called
    /// again after [`Code::Deadline`].
    ///
    /// # Errors
    /// [`Code::WrongType`] if it is a source of messages, its records have pointers, or these are not records; as
    /// [`Encoder::encode`].
    pub fn submit_many(&mut self, records: &[u8], progress: &mut Progress) -> Result<()> {
        match &mut self.0 {
            Form::Records(source) => flat::submit(source, records, progress),
            Form::Messages(_) => Err(wrong("messages")),
        }
    }

    /// Submits a message, and returns its sequence number.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it is a source of records; as [`channel::Source::submit_body`].
    pub fn submit_body(&mut self, format: &Format, body: &[u8]) -> Result<u64> {
        match &mut self.0 {
            Form::Messages(source) => source.submit_body(format, body),
            Form::Records(_) => Err(wrong("records of its type")),
        }
    }

    /// As [`submit_body`](Source::submit_body), only to the sinks of a demand. A source of records in memory gets the bytes of one
    /// record without pointers.
    ///
    /// # Errors
    /// As [`submit_body`](Source::submit_body) and [`submit_many`](Source::submit_many).
    pub fn submit_for(&mut self, demand: &Demand, format: &Format, body: &[u8]) -> Result<u64> {
        match &mut self.0 {
            Form::Messages(source) => source.submit_body_for(demand, format, body),
            Form::Records(source) => flat::submit_for(source, demand, body),
        }
    }

    /// As [`channel::Source::demands`].
    pub fn demands(&self) -> Vec<Demand> {
        match &self.0 {
            Form::Records(source) => source.demands(),
            Form::Messages(source) => source.demands(),
        }
    }

    /// As [`channel::Source::new_demands`].
    ///
    /// # Errors
    /// [`Code::Closed`]; [`Code::Io`].
    pub fn new_demands(&self, patience: Duration) -> Result<Option<Vec<Demand>>> {
        match &self.0 {
            Form::Records(source) => source.new_demands(patience),
            Form::Messages(source) => source.new_demands(patience),
        }
    }

    /// As [`channel::Source::grant`].
    ///
    /// # Errors
    /// Those of [`channel::Source::grant`].
    pub fn grant(&self, demand: &Demand, values: &Parameters) -> Result<()> {
        match &self.0 {
            Form::Records(source) => source.grant(demand, values),
            Form::Messages(source) => source.grant(demand, values),
        }
    }

    /// As [`channel::Source::refuse`].
    pub fn refuse(&self, demand: &Demand, expected: &str) {
        match &self.0 {
            Form::Records(source) => source.refuse(demand, expected),
            Form::Messages(source) => source.refuse(demand, expected),
        }
    }

    /// As [`channel::Source::wait_for_sinks`].
    ///
    /// # Errors
    /// [`Code::Deadline`].
    pub fn wait_for_sinks(&self, count: usize, patience: Duration) -> Result<()> {
        match &self.0 {
            Form::Records(source) => source.wait_for_sinks(count, patience),
            Form::Messages(source) => source.wait_for_sinks(count, patience),
        }
    }

    /// As [`channel::Source::declined`].
    pub fn declined(&self) -> Option<Error> {
        match &self.0 {
            Form::Records(source) => source.declined(),
            Form::Messages(source) => source.declined(),
        }
    }

    /// The number of sinks.
    pub fn sinks(&self) -> usize {
        match &self.0 {
            Form::Records(source) => source.sinks(),
            Form::Messages(source) => source.sinks(),
        }
    }

    /// The account with every subscribed sink, and with those that left most recently.
    pub fn ledger(&self) -> Vec<SinkLedger> {
        match &self.0 {
            Form::Records(source) => source.ledger(),
            Form::Messages(source) => source.ledger(),
        }
    }

    /// Ends the source, waits until its sinks have taken all events, and returns the account.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn close(self, patience: Duration) -> Result<Vec<SinkLedger>> {
        match self.0 {
            Form::Records(source) => source.close(patience),
            Form::Messages(source) => source.close(patience),
        }
    }
}

fn wrong(expected: &str) -> Error {
    Error::new(Code::WrongType).at("source").expected(expected)
}
