//! The report of a node about a channel (`spec/channel.md`, "Reports").

use crate::Time;
use crate::account::{Cause, Counts, Ledger, Policy};
use crate::frame::PAYLOAD;
use crate::keys::NodeId;
use crate::refusals::Refusal;
use crate::wire::{Reader, put_text};
use isoform_core::{Result, Token};
use isoform_query::Account;

/// The most bytes of a source in a frame, and the most accounts with its sinks of which it may consist.
pub(crate) const SOURCE_TOLD: usize = PAYLOAD / 16 * 7;
pub(crate) const LEDGERS_TOLD: usize = SOURCE_TOLD.div_ceil(SinkLedger::LENGTH);

/// A node's sources and sinks on a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Its sources.
    pub sources: Vec<SourceReport>,
    /// Its sinks.
    pub sinks: Vec<SinkReport>,
    /// What the node has refused or failed to do, on any channel.
    pub refusals: Vec<Refusal>,
    /// Why the node does not tell. Everything else is empty then.
    pub refused: Option<Refusal>,
}

/// A source, and the accounts of its events.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceReport {
    /// Its number at its node.
    pub source: u32,
    /// Events that it has submitted, whether it had sinks or not.
    pub submitted: u64,
    /// Name and token of its format; `None` if it was declared without one and has submitted nothing yet.
    pub format: Option<(String, Token)>,
    /// The account with each sink.
    pub sinks: Vec<SinkLedger>,
    /// The queries of its sinks.
    pub queries: Vec<QueryReport>,
    /// What its sinks ask of its parameters.
    pub demands: Vec<DemandReport>,
}

/// Values of a source's parameters that sinks ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandReport {
    /// The values, as JSON.
    pub values: String,
    /// How many sinks have them.
    pub sinks: u32,
}

/// A query at a source, and its counts.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryReport {
    /// Its normal form; or `fields`, and the paths of fields that sinks look at: the source leaves out the others.
    pub text: String,
    /// How many sinks share it.
    pub sinks: u32,
    /// Events of formats that it does not fit.
    pub unfit: u64,
    /// Events that it did not look at, since the source had no time left for it.
    pub thinned: u64,
    /// What it has made of the others.
    pub account: Account,
}

/// The account of a source with one sink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SinkLedger {
    /// The node of the sink.
    pub node: NodeId,
    /// The number of the sink there.
    pub sink: u32,
    /// The policy that the source grants.
    pub policy: Policy,
    /// Whether the sink must have this policy.
    pub must: bool,
    /// Whether it is still subscribed.
    pub present: bool,
    /// The account of its events.
    pub ledger: Ledger,
    /// Events that the source submitted before, and that the sink does not get. They are not among those submitted to it.
    pub earlier: u64,
    /// How long the source has waited for it.
    pub waited: Time,
    /// How often the granted policy has changed.
    pub changes: u64,
}

/// A sink, and the counts of its events.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkReport {
    /// Its number at its node.
    pub sink: u32,
    /// Name and token of its format; `None` if it accepts all formats.
    pub format: Option<(String, Token)>,
    /// The policy that it asks for.
    pub policy: Policy,
    /// Whether it must have this policy.
    pub must: bool,
    /// The counts of its events.
    pub counts: Counts,
}

impl Report {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let limit = out.len() + PAYLOAD - 64;
        put_list(out, &self.refusals, limit, Refusal::put);
        put_list(out, &self.sources, limit, SourceReport::put);
        put_list(out, &self.sinks, limit, SinkReport::put);
    }

    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Report> {
        let refusals = list(fields, Refusal::parse)?;
        let (sources, sinks) = (list(fields, SourceReport::parse)?, list(fields, SinkReport::parse)?);
        Ok(Report { sources, sinks, refusals, refused: None })
    }
}

impl Report {
    /// The answer to an Ask: a report, or the reason why there is none.
    pub(crate) fn put_answer(&self, out: &mut Vec<u8>) {
        out.extend(self.refused.as_ref().map_or(0, |refused| refused.code).to_le_bytes());
        out.extend([0; 2]);
        match &self.refused {
            Some(refused) => put_text(out, &refused.last),
            None => self.put(out),
        }
    }

    pub(crate) fn parse_answer(fields: &mut Reader<'_>) -> Result<Report> {
        let (code, _) = (fields.u16()?, fields.u16()?);
        if code == 0 {
            return Report::parse(fields);
        }
        let refused = Refusal { code, count: 1, last: fields.text()?.into() };
        Ok(Report { refused: Some(refused), ..Report::default() })
    }
}

impl Refusal {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.code.to_le_bytes());
        out.extend(self.count.to_le_bytes());
        put_text(out, &self.last);
    }

    fn parse(fields: &mut Reader<'_>) -> Result<Refusal> {
        Ok(Refusal { code: fields.u16()?, count: fields.u64()?, last: fields.text()?.into() })
    }
}

impl SourceReport {
    /// The number of its bytes, but for the name of its format.
    pub(crate) fn length(&self) -> usize {
        let queries = self.queries.iter().map(|query| QueryReport::LENGTH + query.text.len()).sum::<usize>();
        let demands = self.demands.iter().map(|demand| DemandReport::LENGTH + demand.values.len()).sum::<usize>();
        SourceReport::LENGTH + self.sinks.len() * SinkLedger::LENGTH + queries + demands
    }

    /// Its bytes without what it lists.
    const LENGTH: usize = 42;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.source.to_le_bytes());
        out.extend(self.submitted.to_le_bytes());
        put_format(out, self.format.as_ref());
        // A source with very many sinks reports only as many of them as leave room for other sources.
        let limit = out.len() + SOURCE_TOLD;
        put_list(out, &self.sinks, limit, SinkLedger::put);
        put_list(out, &self.queries, limit, QueryReport::put);
        put_list(out, &self.demands, limit, DemandReport::put);
    }

    fn parse(fields: &mut Reader<'_>) -> Result<SourceReport> {
        let (source, submitted, format) = (fields.u32()?, fields.u64()?, format(fields)?);
        let (sinks, queries) = (list(fields, SinkLedger::parse)?, list(fields, QueryReport::parse)?);
        Ok(SourceReport { source, submitted, format, sinks, queries, demands: list(fields, DemandReport::parse)? })
    }
}

impl DemandReport {
    /// Its bytes without texts.
    const LENGTH: usize = 6;

    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, &self.values);
        out.extend(self.sinks.to_le_bytes());
    }

    fn parse(fields: &mut Reader<'_>) -> Result<DemandReport> {
        Ok(DemandReport { values: fields.text()?.into(), sinks: fields.u32()? })
    }
}

impl QueryReport {
    /// Its bytes without texts.
    const LENGTH: usize = 70;

    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, &self.text);
        out.extend(self.sinks.to_le_bytes());
        // What windows have absorbed is the rest of what was evaluated.
        let Account { evaluated, passed, filtered, absorbed: _, faults, absent, forgotten } = self.account;
        let counts = [self.unfit, self.thinned, evaluated, passed, filtered, faults, absent, forgotten];
        counts.iter().for_each(|number| out.extend(number.to_le_bytes()));
    }

    fn parse(fields: &mut Reader<'_>) -> Result<QueryReport> {
        let (text, sinks) = (fields.text()?.into(), fields.u32()?);
        let (unfit, thinned) = (fields.u64()?, fields.u64()?);
        let (evaluated, passed, filtered) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let absorbed = evaluated.saturating_sub(passed).saturating_sub(filtered);
        let (faults, absent, forgotten) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let account = Account { evaluated, passed, filtered, absorbed, faults, absent, forgotten };
        Ok(QueryReport { text, sinks, unfit, thinned, account })
    }
}

impl SinkLedger {
    /// Its bytes.
    const LENGTH: usize = 160;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.node.0);
        out.extend(self.sink.to_le_bytes());
        put_policy(out, self.policy, self.present, self.must);
        let Ledger { submitted, acknowledged, in_flight, skipped, superseded, .. } = self.ledger;
        let numbers = [submitted, acknowledged, in_flight, skipped, superseded].into_iter();
        let losses = Cause::losses().map(|cause| self.ledger.lost_for(cause));
        numbers.chain(losses).for_each(|number| out.extend(number.to_le_bytes()));
        out.extend((self.waited.as_nanos() as u64).to_le_bytes());
        out.extend(self.changes.to_le_bytes());
        out.extend(self.earlier.to_le_bytes());
    }

    fn parse(fields: &mut Reader<'_>) -> Result<SinkLedger> {
        let (node, sink) = (NodeId(fields.array()?), fields.u32()?);
        let (policy, present, must) = policy(fields)?;
        let (submitted, acknowledged, in_flight) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut ledger = Ledger::of(submitted, acknowledged, in_flight);
        (ledger.skipped, ledger.superseded) = (fields.u64()?, fields.u64()?);
        for cause in Cause::losses() {
            ledger.lose(cause, fields.u64()?);
        }
        let (waited, changes, earlier) = (Time::from_nanos(fields.u64()?), fields.u64()?, fields.u64()?);
        Ok(SinkLedger { node, sink, policy, must, present, ledger, earlier, waited, changes })
    }
}

impl SinkReport {
    /// Its bytes without the name of its format.
    pub(crate) const LENGTH: usize = 106;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.sink.to_le_bytes());
        put_format(out, self.format.as_ref());
        put_policy(out, self.policy, true, self.must);
        let Counts { received, taken, lost, superseded, skipped, refused, unfit, earlier } = self.counts;
        let numbers = [received, taken, lost, skipped, superseded, refused, unfit, earlier];
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
    }

    fn parse(fields: &mut Reader<'_>) -> Result<SinkReport> {
        let (sink, format) = (fields.u32()?, format(fields)?);
        let (policy, _, must) = policy(fields)?;
        let (received, taken, lost) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (skipped, superseded) = (fields.u64()?, fields.u64()?);
        let (refused, unfit, earlier) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let counts = Counts { received, taken, lost, superseded, skipped, refused, unfit, earlier };
        Ok(SinkReport { sink, format, policy, must, counts })
    }
}

/// Writes the number of items, and as many items as fit before `limit`.
fn put_list<T>(out: &mut Vec<u8>, list: &[T], limit: usize, put: impl Fn(&T, &mut Vec<u8>)) {
    let count = out.len();
    out.extend([0; 4]);
    let mut written = 0u32;
    for item in list {
        let start = out.len();
        put(item, out);
        if out.len() > limit {
            out.truncate(start);
            break;
        }
        written += 1;
    }
    out[count..count + 4].copy_from_slice(&written.to_le_bytes());
}

fn list<T>(fields: &mut Reader<'_>, parse: impl Fn(&mut Reader<'_>) -> Result<T>) -> Result<Vec<T>> {
    let count = fields.u32()?;
    (0..count).map(|_| parse(fields)).collect()
}

fn put_format(out: &mut Vec<u8>, format: Option<&(String, Token)>) {
    out.extend(format.map_or(Token::ZERO, |(_, token)| *token).as_bytes());
    put_text(out, format.map_or("", |(name, _)| name));
}

fn format(fields: &mut Reader<'_>) -> Result<Option<(String, Token)>> {
    let (token, name) = (Token::from_bytes(fields.array()?), fields.text()?.to_string());
    Ok((token != Token::ZERO).then_some((name, token)))
}

fn put_policy(out: &mut Vec<u8>, policy: Policy, present: bool, must: bool) {
    let (events, bytes) = policy.queue();
    out.extend([policy.number(), u8::from(present), u8::from(must), 0]);
    out.extend(events.to_le_bytes());
    out.extend(bytes.to_le_bytes());
}

fn policy(fields: &mut Reader<'_>) -> Result<(Policy, bool, bool)> {
    let [number, present, must, _] = fields.array::<4>()?;
    let (events, bytes) = (fields.u64()?, fields.u64()?);
    Ok((Policy::of(number, events, bytes).unwrap_or(Policy::Block), present != 0, must != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_cut_where_a_frame_is_full() {
        let ledger = Ledger::of(1, 1, 0);
        let (node, policy, waited) = (NodeId([1; 16]), Policy::Block, Time::from_millis(3));
        let (present, changes, earlier) = (true, 4, 5);
        let account = SinkLedger { node, sink: 2, policy, must: true, present, ledger, earlier, waited, changes };
        let source = SourceReport {
            source: 3,
            submitted: 1,
            format: None,
            sinks: vec![account; 2_000],
            queries: Vec::new(),
            demands: Vec::new(),
        };
        let sink = SinkReport { sink: 1, format: None, policy, must: false, counts: Counts::default() };
        let refusal = Refusal { code: 410, count: 7, last: "x".repeat(256) };
        let report =
            Report { sources: vec![source; 3], sinks: vec![sink; 2_000], refusals: vec![refusal; 3], refused: None };
        let mut out = Vec::new();
        report.put(&mut out);
        assert!(out.len() <= PAYLOAD - 8, "{} bytes, with the request in front", out.len());
        let read = Report::parse(&mut Reader::new(&out, "report")).unwrap();
        assert_eq!((read.sources.len(), &read.refusals), (2, &report.refusals));
        assert!(read.sources[0].sinks.len() > 170, "{}", read.sources[0].sinks.len());
        assert!(read.sinks.len() > 60, "{}", read.sinks.len());
        assert!(read.sources[0].sinks.len() < LEDGERS_TOLD, "no frame holds as many as are made for one");
        let empty = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put(&mut out);
            out.len()
        };
        let source = SourceReport { sinks: Vec::new(), ..report.sources[0].clone() };
        let query = QueryReport { text: String::new(), sinks: 1, unfit: 0, thinned: 0, account: Account::default() };
        let demand = DemandReport { values: String::new(), sinks: 1 };
        assert_eq!(empty(&|out| source.put(out)), source.length());
        assert_eq!(empty(&|out| account.put(out)), SinkLedger::LENGTH);
        assert_eq!(empty(&|out| report.sinks[0].put(out)), SinkReport::LENGTH);
        assert_eq!(empty(&|out| query.put(out)), QueryReport::LENGTH);
        assert_eq!(empty(&|out| demand.put(out)), DemandReport::LENGTH);
        assert_eq!((read.sinks[0].clone(), read.sources[0].sinks[0]), (report.sinks[0].clone(), account));
    }
}
