//! Submits many records: as many together as are short and follow each other, and long ones alone.

use super::{Copied, SourceEnd};
use crate::drive::machine::Sent;
use isoform::{Error, Message, Result};
use isoform_channel_proto::{Drafts, PAYLOAD, Take};
use std::ops::Range;

/// This many bytes of records are submitted with one time, while the state is locked once.
const RUN: usize = 64 << 10;

/// Consecutive records.
pub(super) trait Records {
    /// Encodes the record at a place.
    fn encode(&mut self, at: usize) -> Result<Message<'_>>;

    /// The bodies of these records, one behind the other, if they are the records as they are in memory.
    fn bodies(&self, records: Range<usize>) -> Option<&[u8]>;
}

/// The records that are submitted together.
struct Run<R> {
    records: R,
    /// The place of the next one, and of the end.
    at: usize,
    end: usize,
    /// The bytes that were submitted since the state was locked.
    bytes: usize,
    /// Why the next record is not submitted with the others.
    stopped: Option<Stopped>,
}

enum Stopped {
    /// It cannot be encoded.
    Failed(Error),
    /// It is long, and is submitted without a copy.
    Long,
}

impl<R: Records> Drafts<Sent> for Run<R> {
    #[inline]
    fn next(&mut self, take: impl Take<Sent>) -> bool {
        if self.at == self.end || self.bytes > RUN {
            return false;
        }
        let encoded = self.records.encode(self.at);
        match &encoded {
            Ok(message) if message.body_len() <= PAYLOAD => {
                self.at += 1;
                self.bytes += message.body_len();
                take.take(&mut Copied::new(message));
                true
            }
            _ => {
                self.stopped = Some(encoded.err().map_or(Stopped::Long, Stopped::Failed));
                false
            }
        }
    }

    fn next_alike(&mut self, take: impl FnOnce(&[u8], usize) -> usize) -> usize {
        if self.at == self.end || self.bytes > RUN {
            return 0;
        }
        let Some(first) = self.records.bodies(self.at..self.at + 1).map(<[u8]>::len) else { return 0 };
        let count = (self.end - self.at).min((RUN - self.bytes) / first.max(1) + 1);
        let taken = self.records.bodies(self.at..self.at + count).map_or(0, |bodies| take(bodies, first));
        self.at += taken;
        self.bytes += taken * first;
        taken
    }

    fn pass(&mut self) -> u64 {
        let rest = self.end - self.at;
        self.at = self.end;
        rest as u64
    }
}

impl SourceEnd {
    /// Submits this many records. Returns the sequence number of the last one. Those that nobody hears are only numbered. An error has the number of its record in
    /// front of the path.
    pub(super) fn submit_all(&self, records: impl Records, count: usize) -> Result<Option<u64>> {
        let (mut run, mut last) = (Run { records, at: 0, end: count, bytes: 0, stopped: None }, None);
        while run.at < count {
            let rest = (count - run.at) as u64;
            if let Some(first) = self.numbers.take(rest) {
                return Ok(Some(first + rest - 1));
            }
            let submitted = self.submit_run(&mut run).map_err(|error| within(run.at, error))?;
            last = submitted.or(last);
            match run.stopped.take() {
                Some(Stopped::Failed(error)) => return Err(within(run.at, error)),
                Some(Stopped::Long) => {
                    let submitted = run.records.encode(run.at).and_then(|message| self.submit_message(None, &message));
                    last = Some(submitted.map_err(|error| within(run.at, error))?);
                    run.at += 1;
                }
                None => {}
            }
        }
        Ok(last)
    }

    fn submit_run(&self, run: &mut Run<impl Records>) -> Result<Option<u64>> {
        run.bytes = 0;
        let hub = &self.life.hub;
        self.submit_with(|state| {
            let now = state.time_of_run(hub.now());
            (state.machine.submit_many(hub.wall(now), self.key, run), Some(now), None)
        })
    }
}

#[cold]
fn within(at: usize, error: Error) -> Error {
    error.within(&format!("[{at}]"))
}
