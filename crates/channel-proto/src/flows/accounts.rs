//! Reports of events: accounts of sources, counts of sinks.

use super::demands::Demands;
use super::receiving::Stage;
use super::sending::Sending;
use super::{Flows, Source};
use crate::account::{Counts, Ledger};
use crate::frame::PAYLOAD;
use crate::grant::Granted;
use crate::keys::{NodeId, SinkKey, SourceKey, SourceRef};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::report::{LEDGERS_TOLD, Report, SOURCE_TOLD, SinkLedger, SinkReport, SourceReport};
use isoform_core::{Format, Token};

/// What a report took to make.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    /// The bytes of all its parts.
    pub(crate) length: usize,
    /// How many subscriptions of sinks were counted together.
    pub(crate) counted: usize,
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// The accounts of a source: with each present sink, and with those that left most recently.
    pub(crate) fn ledger(&self, key: SourceKey) -> Vec<SinkLedger> {
        self.ledger_of_some(key, usize::MAX)
    }

    /// So many of them at most.
    fn ledger_of_some(&self, key: SourceKey, most: usize) -> Vec<SinkLedger> {
        let Some(source) = self.sources.get(key) else { return Vec::new() };
        let present = source.sendings.iter().map(|&at| account(&self.sendings[at], self.ledger_of(at), true));
        present.chain(source.past.iter().copied()).take(most).collect()
    }

    /// The counts of a sink's events.
    pub(crate) fn counts(&self, key: SinkKey) -> Counts {
        let Some(sink) = self.sinks.get(key) else { return Counts::default() };
        let mut counts = Counts { refused: sink.refused, unfit: sink.unfit, ..sink.past };
        for receiving in sink.receivings.iter().filter_map(|&receiving| self.receivings.get(receiving)) {
            counts.add(receiving.counts());
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

    /// The number of the next event of a source.
    pub(crate) fn next(&self, key: SourceKey) -> u64 {
        self.sources.get(key).map_or(0, Source::next)
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

    /// The report about some sources and sinks, and what it took. For another node, no more of it is made than a frame may hold.
    pub(crate) fn report(&self, sources: &[SourceKey], sinks: &[SinkKey], is_told: bool) -> (Report, Work) {
        let (mut report, mut work) = (Report::default(), Work::default());
        let (room, most) = if is_told { (PAYLOAD, LEDGERS_TOLD) } else { (usize::MAX, usize::MAX) };
        let mut left = room;
        for &key in sources {
            if left == 0 {
                break;
            }
            let source = self.report_of_source(key, most);
            work.length += source.length();
            left = left.saturating_sub(source.length().min(SOURCE_TOLD));
            report.sources.push(source);
        }
        for &key in sinks {
            if left == 0 {
                break;
            }
            work.length += SinkReport::LENGTH;
            work.counted += self.sinks[key].receivings.len();
            left = left.saturating_sub(SinkReport::LENGTH);
            report.sinks.push(self.report_of_sink(key));
        }
        (report, work)
    }

    fn report_of_source(&self, key: SourceKey, most: usize) -> SourceReport {
        let source = &self.sources[key];
        let format = source.format.as_ref().map(name);
        SourceReport {
            source: key.0,
            submitted: source.next(),
            format,
            sinks: self.ledger_of_some(key, most),
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
    let Sending { node, sink, granted, waited, changes, first: earlier, .. } = *sending;
    let (policy, must) = (granted.policy, granted.must);
    SinkLedger { node, sink, policy, must, present, ledger, earlier, waited, changes }
}
