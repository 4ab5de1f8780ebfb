//! What queries cost at the source of a channel, whose sinks are at other nodes of this process: events that no sink wants,
//! and one query of many sinks.

use super::{FILTER, bodies};
use crate::channel::cores::{Pinned, Place};
use crate::channel::turns::turns;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{MemorySource, MessageSink, Node};
use isoform_core::{Format, Layout, Verifier, View};
use isoform_query::{Event, Query};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Nothing takes so long but what will not happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Events of a round are fewer than those that go to another process, by this factor. A source ends queries that would take most
/// of its time.
const FEWER: u32 = 20;
/// The sinks that share a query, and the most of them that are at one node: a node has limits for others.
const SINKS: usize = 100;
const AT_NODE: usize = 50;

/// Measures both.
pub(super) fn run(format: &Format, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    // The other nodes take nothing but word of what was skipped.
    let _pinned = Pinned::new(Place::Last);
    let records = unwanted(format)?;
    suppressed(format, &records, options, line)?;
    shared(format, &records, options, line)
}

/// Records that the filter does not let pass.
fn unwanted(format: &Format) -> Result<Vec<Vec<u64>>> {
    let at = format.structure().field("m1").ok_or("no field m1")?.offset;
    let mut all = bodies(format)?;
    all.iter_mut().for_each(|body| body[at..][..8].copy_from_slice(&0.25f64.to_ne_bytes()));
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    Ok(all.iter().map(|body| body.chunks(8).map(word).collect()).collect())
}

/// A source with sinks that want the same.
struct Wanted {
    source: MemorySource,
    _sinks: Vec<MessageSink>,
    _nodes: Vec<Node>,
}

impl Wanted {
    fn new(format: &Format, sinks: usize) -> Result<Wanted> {
        let here = Node::new()?;
        let channel = here.create_with("events", Some(format))?;
        let source = channel.source_builder().build_memory(format)?;
        let (mut all, mut nodes) = (Vec::new(), vec![here]);
        while all.len() < sinks {
            let there = Node::new()?;
            let other = there.open(channel.id().to_string())?;
            for _ in all.len()..sinks.min(all.len() + AT_NODE) {
                all.push(other.sink_builder().query(FILTER)?.build_messages()?);
            }
            nodes.push(there);
        }
        source.wait_for_sinks(sinks, PATIENCE)?;
        Ok(Wanted { source, _sinks: all, _nodes: nodes })
    }

    /// The time of an event, on average.
    fn round(&mut self, records: &[Vec<u64>], count: usize) -> Result<Times> {
        let start = Instant::now();
        for record in records.iter().cycle().take(count) {
            // SAFETY: a record of the source's format.
            unsafe { self.source.submit(record.as_ptr().cast()) }?;
        }
        Ok([start.elapsed().as_nanos() as f64 / count as f64].into_iter().collect())
    }

    /// Makes sure that no sink got an event, and all know it.
    fn close(self) -> Result<()> {
        let accounts = self.source.close(PATIENCE)?;
        match accounts.iter().all(|account| account.ledger.skipped == account.ledger.submitted) {
            true => Ok(()),
            false => Err(format!("{accounts:?}").into()),
        }
    }
}

fn count(options: &Options) -> usize {
    (options.effort.events / FEWER).max(100) as usize
}

/// An event that the only sink does not want, beside the filter alone.
fn suppressed(
    format: &Format,
    records: &[Vec<u64>],
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let bodies: Vec<Vec<u8>> = records.iter().map(|record| bytes(record, format.size())).collect();
    let verifier = Verifier::new(format);
    let verified = bodies.iter().map(|body| verifier.verify(body)).collect::<Result<Vec<_>, _>>()?;
    let mut run = Query::parse(FILTER)?.check(format, &Layout::NATIVE)?.run();
    run.generate();
    let (mut wanted, mut out, count) = (Wanted::new(format, 1)?, Vec::new(), count(options));
    let figures = turns(options.effort.rounds, 2, |who| match who {
        0 => wanted.round(records, count),
        _ => {
            let start = Instant::now();
            for body in verified.iter().cycle().take(count) {
                black_box(run.record_into(View::new(*body), Event::default(), &mut out).is_ok());
            }
            Ok([start.elapsed().as_nanos() as f64 / count as f64].into_iter().collect())
        }
    })?;
    wanted.close()?;
    let [own, filter] = [0, 1].map(|who: usize| figures[who].median());
    let about = Line::new("query", "M100").word("measure", "suppressed").word("engine", run.engine().name());
    line(about.figure("ns", own).figure("filter_ns", filter).figure("over_ns", own - filter))
}

/// An event that none of many sinks wants, beside one that a single sink does not want.
fn shared(
    format: &Format,
    records: &[Vec<u64>],
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let mut all = [Wanted::new(format, 1)?, Wanted::new(format, SINKS)?];
    let figures = turns(options.effort.rounds, all.len(), |who| all[who].round(records, count(options)))?;
    all.into_iter().try_for_each(Wanted::close)?;
    let mut run = Query::parse(FILTER)?.check(format, &Layout::NATIVE)?.run();
    run.generate();
    let about = Line::new("query", "M100").word("measure", "shared").word("engine", run.engine().name());
    let about = about.count("sinks", SINKS).figure("ns", figures[1].median()).figure("one_ns", figures[0].median());
    line(about.figure("ratio", figures[1].ratio(&figures[0])))
}

fn bytes(record: &[u64], length: usize) -> Vec<u8> {
    record.iter().flat_map(|word| word.to_ne_bytes()).take(length).collect()
}
