//! Binary messages for pages (`spec/watch.md`, "Binary messages").

use isoform::{Format, Token};
use std::collections::HashSet;

const DESCRIPTION: u32 = 1;
const RECORD: u32 = 2;
const GAP: u32 = 3;
const JOINED: u32 = 4;
const LEFT: u32 = 5;
const REFUSED: u32 = 6;

/// Formats whose descriptions are remembered as sent. Beyond them all are sent anew.
const FORMATS: usize = 4096;

/// Where and when something happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) source: u32,
    pub(crate) sequence: u64,
    pub(crate) nanoseconds: u64,
}

/// A message for the page under construction.
#[derive(Debug)]
pub(crate) struct Entries {
    subscription: u32,
    bytes: Vec<u8>,
    described: HashSet<Token>,
}

impl Entries {
    pub(crate) fn new(subscription: u32) -> Entries {
        let mut entries = Entries { subscription, bytes: Vec::new(), described: HashSet::new() };
        entries.begin();
        entries
    }

    fn begin(&mut self) {
        self.bytes.extend_from_slice(&self.subscription.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == 8
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The message. The next one begins.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let message = std::mem::take(&mut self.bytes);
        self.begin();
        message
    }

    pub(crate) fn record(&mut self, mark: Mark, format: &Format, body: &[u8]) {
        self.describe(format);
        self.entry(RECORD, mark, &[format.token().as_bytes(), body]);
    }

    pub(crate) fn gap(&mut self, mark: Mark, count: u64, cause: &str) {
        self.entry(GAP, mark, &[&count.to_le_bytes(), cause.as_bytes()]);
    }

    pub(crate) fn joined(&mut self, source: u32, text: &str) {
        self.entry(JOINED, Mark { source, ..Mark::default() }, &[text.as_bytes()]);
    }

    pub(crate) fn left(&mut self, source: u32) {
        self.entry(LEFT, Mark { source, ..Mark::default() }, &[]);
    }

    pub(crate) fn refused(&mut self, source: u32, why: &str) {
        self.entry(REFUSED, Mark { source, ..Mark::default() }, &[why.as_bytes()]);
    }

    fn describe(&mut self, format: &Format) {
        if self.described.contains(&format.token()) {
            return;
        }
        if self.described.len() == FORMATS {
            self.described.clear();
        }
        self.described.insert(format.token());
        self.entry(DESCRIPTION, Mark::default(), &[format.description().as_bytes()]);
    }

    fn entry(&mut self, kind: u32, mark: Mark, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(&mark.source.to_le_bytes());
        for number in [mark.sequence, mark.nanoseconds, length as u64] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}
