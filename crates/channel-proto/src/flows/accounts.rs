//! Reports of events: accounts of sources, counts of sinks.

use super::Flows;
use super::demands::Demands;
use super::receiving::Stage;
use super::sending::Sending;
use crate::account::{Counts, Ledger};
use crate::grant::Granted;
use crate::keys::{NodeId, SinkKey, SourceKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::report::{Report, SinkLedger, SinkReport, SourceReport};
use isoform_core::{Format, Token};

impl<B: Body, S: Storage> Flows<B, S> {
    /// The accounts of a source: with each present sink, and with those that left most recently.
    pub(crate) fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        let Some(source) = self.sources.get(key) else { return Vec::new() };
        let present = source.sendings.iter().map(|&at| account(&self.sendings[at], self.ledger_of(at), true));
        present.chain(source.past.iter().copied()).collect()
    }

    /// The counts of a sink's events.
    pub(crate) fn counts(&self, key: SinkKey) -> Counts {
        let Some(sink) = self.sinks.get(key) else { return Counts::default() };
        let (taken, lost, skipped) = sink.past;
        let mut counts = Counts { received: taken, taken, lost, skipped, refused: sink.refused, unfit: sink.unfit };
        for receiving in sink.receivings.iter().filter_map(|&receiving| self.receivings.get(receiving)) {
            counts.received += receiving.received.events;
            counts.taken += receiving.taken.events;
            counts.lost = counts.lost.saturating_add(receiving.lost);
            counts.skipped = counts.skipped.saturating_add(receiving.skipped);
        }
        counts
    }

    /// Counts a record that could not become one of this sink.
    pub(crate) fn unfit(&mut self, key: SinkKey) {
        if let Some(sink) = self.sinks.get_mut(key) {
            sink.unfit += 1;
        }
    }

    /// The policies that the sources of a sink grant.
    pub(crate) fn granted(&self, key: SinkKey) -> Vec<(SourceRef, Granted)> {
        let all = self.sinks.get(key).map(|sink| &sink.receivings).into_iter().flatten();
        let all = all.filter_map(|&at| self.receivings.get(at)).filter(|receiving| receiving.stage == Stage::Running);
        all.filter_map(|receiving| Some((receiving.source, receiving.granted?))).collect()
    }

    /// The number of sinks that have subscribed to a source.
    pub(crate) fn listeners(&self, key: SourceKey) -> usize {
        self.sources.get(key).map_or(0, |source| source.sendings.len())
    }

    /// Whether a source waits without limit for each of its sinks.
    pub(crate) fn is_lossless(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| source.sendings.iter().all(|&at| self.sendings[at].is_lossless()))
    }

    /// Whether events of a source reach anybody.
    pub(crate) fn is_heard(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| !source.sendings.is_empty() || source.grants.keep > 0)
    }

    /// The sink does not want the next events of a source.
    pub(crate) fn skip(&mut self, links: &mut Links<B>, key: SourceKey, node: NodeId, sink: u32, count: u64) {
        self.catch_up_all(links, key);
        for &at in self.sources.get(key).map_or(&[][..], |source| &source.sendings) {
            let sending = &mut self.sendings[at];
            if (sending.node, sending.sink) == (node, sink) {
                sending.skip(count);
            }
        }
    }

    /// The report about some sources and sinks.
    pub(crate) fn report(&self, sources: &[SourceKey], sinks: &[SinkKey]) -> Report {
        Report {
            sources: sources.iter().map(|&key| self.report_of_source(key)).collect(),
            sinks: sinks.iter().map(|&key| self.report_of_sink(key)).collect(),
            refusals: Vec::new(),
            refused: None,
        }
    }

    fn report_of_source(&self, key: SourceKey) -> SourceReport {
        let source = &self.sources[key];
        let format = source.format.as_ref().map(name);
        SourceReport {
            source: key.0,
            submitted: source.next,
            format,
            sinks: self.ledger(key),
            queries: source.wants.reports().into_iter().chain(source.projections.reports()).collect(),
            demands: source.demands.as_ref().map_or(Vec::new(), Demands::reports),
        }
    }

    fn report_of_sink(&self, key: SinkKey) -> SinkReport {
        let wanted = &self.sinks[key].wanted;
        let format = wanted.format.as_ref().map(name);
        SinkReport { sink: key.0, format, policy: wanted.policy, must: wanted.must, counts: self.counts(key) }
    }
}

fn name(format: &Format) -> (String, Token) {
    (format.name().to_string(), format.token())
}

pub(super) fn account<B: Body>(sending: &Sending<B>, ledger: Ledger, present: bool) -> SinkLedger {
    let Sending { node, sink, granted, waited, changes, .. } = *sending;
    let (policy, must) = (granted.policy, granted.must);
    SinkLedger { node, sink, policy, must, present, ledger, waited, changes }
}
