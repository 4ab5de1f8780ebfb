//! What queries cost at the source of a channel, whose sinks are at other nodes of this process: events that no sink wants,
//! one query of many sinks, and a viewer of one field of large records.

use super::{FILTER, bodies};
use crate::channel::cores::{Pinned, Place};
use crate::channel::turns::turns;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform::Messages;
use isoform::memory::Encoder;
use isoform_channel::{Node, QueryTime, Sink, Source};
use isoform_core::{Format, Layout, Verifier, View};
use isoform_query::{Event, Query};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nothing takes so long but what will not happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Events of a round are fewer than those that go to another process, by this factor. A source ends queries that would take most
/// of its time.
const FEWER: u32 = 20;
/// The sinks that share a query, and the most of them that are at one node: a node has limits for others.
const SINKS: usize = 100;
const AT_NODE: usize = 50;

/// What a viewer gets of large records, with the query of one that looks seldom.
const VIEWERS: [(&str, &str); 2] = [("fields", ""), ("rate", "every 100 ms | select Cdtime")];
/// The source of a viewer submits so often, as a simulation might.
const PACE: Duration = Duration::from_millis(1);

/// Measures them, with a format of small and one of large records.
pub(super) fn run(
    format: &Format,
    large: &Format,
    options: &Options,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    viewer(large, options, line)?;
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
    source: Source<Encoder>,
    _sinks: Vec<Sink<Messages>>,
    _nodes: Vec<Node>,
}

impl Wanted {
    fn new(format: &Format, sinks: usize) -> Result<Wanted> {
        let here = Node::new()?;
        let channel = here.create_with("events", Some(format))?;
        // All time there is: thinned events are not evaluated, so they would not be measured.
        let time = QueryTime { second: Duration::from_secs(1), ..QueryTime::default() };
        let source = channel.source_builder().query_time(time).build_with(Encoder::new(format)?)?;
        let (mut all, mut nodes) = (Vec::new(), vec![here]);
        while all.len() < sinks {
            let there = Node::new()?;
            let other = there.open(channel.id().to_string())?;
            for _ in all.len()..sinks.min(all.len() + AT_NODE) {
                all.push(other.sink_builder().query(FILTER)?.build::<Messages>()?);
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
            unsafe { self.source.submit_raw(record.as_ptr().cast()) }?;
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

/// What an event costs this process: nanoseconds of processors, and bytes of bodies at the viewer.
struct Cost {
    ns: f64,
    bytes: f64,
}

/// A viewer of one field, beside one of whole records and beside no viewer.
fn viewer(format: &Format, options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let (count, rounds) = (count(options).min(1_000), options.effort.rounds.min(5));
    let idle = paced(format, None, count, rounds)?;
    let whole = paced(format, Some(("whole", "")), count, rounds)?;
    for viewer in VIEWERS {
        let cost = paced(format, Some(viewer), count, rounds)?;
        let about = Line::new("query", "K100").word("measure", "viewer").word("engine", viewer.0);
        let about = about.figure("ns", cost.ns).figure("whole_ns", whole.ns).figure("idle_ns", idle.ns);
        let about = about.figure("ratio", (cost.ns - idle.ns) / (whole.ns - idle.ns));
        line(about.figure("bytes", cost.bytes).figure("whole_bytes", whole.bytes))?;
    }
    Ok(())
}

/// Submits events at a pace, to a viewer at another node of this process. Returns the cost of an event in the cheapest round.
fn paced(format: &Format, viewer: Option<(&str, &str)>, count: usize, rounds: usize) -> Result<Cost> {
    let (here, there) = (Node::new()?, Node::new()?);
    let channel = here.create_with("field", Some(format))?;
    let mut source = channel.source_builder().build_with(Encoder::new(format)?)?;
    let record = vec![0u64; format.size().div_ceil(8)];
    let other = there.open(channel.id().to_string())?;
    let received = Arc::new(AtomicUsize::new(0));
    let viewer = viewer.map(|(what, query)| {
        let builder = match what {
            "fields" => other.sink_builder().fields(["Cdtime"]),
            "rate" => other.sink_builder().query(query)?,
            _ => other.sink_builder(),
        };
        let (mut sink, received) = (builder.build::<Messages>()?, received.clone());
        Ok::<_, isoform_core::Error>(std::thread::spawn(move || {
            loop {
                match sink.recv() {
                    Ok(isoform_channel::Event::Record { record, .. }) => {
                        received.fetch_add(record.body().len(), Ordering::Relaxed);
                    }
                    Ok(isoform_channel::Event::Left(..)) | Err(_) => break,
                    Ok(_) => {}
                }
            }
        }))
    });
    let viewer = viewer.transpose()?;
    source.wait_for_sinks(usize::from(viewer.is_some()), PATIENCE)?;
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let (start, before) = (Instant::now(), processors());
        for at in 0..count as u32 {
            std::thread::sleep((PACE * at).saturating_sub(start.elapsed()));
            // SAFETY: a record of the source's format, without pointers.
            unsafe { source.submit_raw(record.as_ptr().cast()) }?;
        }
        least = least.min((processors() - before).as_nanos() as f64 / count as f64);
    }
    let accounts = source.close(PATIENCE)?;
    if let Some(lost) = accounts.iter().find(|account| account.ledger.lost() > 0) {
        return Err(format!("{}", lost.ledger).into());
    }
    if let Some(viewer) = viewer {
        viewer.join().map_err(|_| "a viewer has panicked")?;
    }
    Ok(Cost { ns: least, bytes: received.load(Ordering::Relaxed) as f64 / (rounds * count) as f64 })
}

/// The time of processors that this process has taken.
fn processors() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn bytes(record: &[u64], length: usize) -> Vec<u8> {
    record.iter().flat_map(|word| word.to_ne_bytes()).take(length).collect()
}
