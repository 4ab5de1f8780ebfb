//! Reports of events: accounts of sources, counts of sinks.

use super::Flows;
use super::sending::Sending;
use crate::keys::{SinkKey, SourceKey};
use crate::memory::{Body, Storage};
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use isoform_core::{Format, Token};

impl<B: Body, S: Storage> Flows<B, S> {
    /// The accounts of a source: with each present sink, and with those that left most recently.
    pub(crate) fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        let Some(source) = self.sources.get(key) else { return Vec::new() };
        let present = source.sendings.iter().map(|&sending| account(&self.sendings[sending], true));
        present.chain(source.past.iter().copied()).collect()
    }

    /// The counts of a sink: events received, taken, lost.
    pub(crate) fn counts(&self, key: SinkKey) -> (u64, u64, u64) {
        let Some(sink) = self.sinks.get(key) else { return (0, 0, 0) };
        let (taken, lost) = sink.past;
        let all = sink.receivings.iter().filter_map(|&receiving| self.receivings.get(receiving));
        all.fold((taken, taken, lost), |(received, taken, lost), receiving| {
            (received + receiving.received.events, taken + receiving.taken.events, lost.saturating_add(receiving.lost))
        })
    }

    /// The number of sinks that have subscribed to a source.
    pub(crate) fn listeners(&self, key: SourceKey) -> usize {
        self.sources.get(key).map_or(0, |source| source.sendings.len())
    }

    /// The report about some sources and sinks.
    pub(crate) fn report(&self, sources: &[SourceKey], sinks: &[SinkKey]) -> Report {
        Report {
            sources: sources.iter().map(|&key| self.report_of_source(key)).collect(),
            sinks: sinks.iter().map(|&key| self.report_of_sink(key)).collect(),
            refusals: Vec::new(),
        }
    }

    fn report_of_source(&self, key: SourceKey) -> SourceReport {
        let source = &self.sources[key];
        let format = source.format.as_ref().map(name);
        SourceReport { source: key.0, submitted: source.next, format, sinks: self.ledger(key) }
    }

    fn report_of_sink(&self, key: SinkKey) -> SinkReport {
        let wanted = &self.sinks[key].wanted;
        let (received, taken, lost) = self.counts(key);
        let format = wanted.format.as_ref().map(name);
        SinkReport { sink: key.0, format, policy: wanted.policy, received, taken, lost }
    }
}

fn name(format: &Format) -> (String, Token) {
    (format.name().to_string(), format.token())
}

pub(super) fn account<B: Body>(sending: &Sending<B>, present: bool) -> SinkLedger {
    let Sending { node, sink, policy, .. } = *sending;
    SinkLedger { node, sink, policy, present, ledger: sending.ledger() }
}
