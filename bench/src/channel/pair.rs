//! Round trips, and events one way, between this process and a partner.

use super::cores::{Pinned, Place};
use super::ends::{Near, Transport, Way};
use super::others::{Other, Others};
use super::partner::Partner;
use super::turns::{Figures, turns};
use super::{Measure, zeromq};
use crate::measure::Times;
use crate::{Line, Options, Result};
use std::time::Instant;

/// Round trips of one round are fewer than events that go one way, by this factor.
const ROUND_TRIP: u32 = 400;
/// And so are large events than small ones, by a thousandth of their bytes.
const LARGE: usize = 1_000;
/// The papers' sizes of events.
const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];

/// What is measured in one go.
struct Task {
    measure: Measure,
    transport: Transport,
    bytes: usize,
    /// In one round.
    events: u32,
    /// The first is our own, and the second the bare socket.
    ways: Vec<Way>,
}

/// Measures round trips, rates and bandwidths.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let tasks = tasks(options);
    let wanted = options.peers && tasks.iter().any(Task::is_with_others);
    let others = if wanted { Others::new(line)? } else { Others::none() };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(_pinned) = Pinned::new(Place::Last) {
        tasks.iter().try_for_each(|task| task.lines(options, &others, 1, line))?;
    } else if !tasks.is_empty() {
        line(Line::skipped("two processes on one core", "Linux"))?;
    }
    match cores {
        1 => Ok(()),
        _ => tasks.iter().try_for_each(|task| task.lines(options, &others, 2, line)),
    }
}

fn tasks(options: &Options) -> Vec<Task> {
    let events = options.effort.events;
    let zeromq = options.peers && zeromq::Library::open().is_ok();
    let mut tasks = Vec::new();
    for &measure in &options.measures {
        for transport in Transport::ALL {
            let task = |bytes, events: u32, ways: &[Way]| Task {
                measure,
                transport,
                bytes,
                events: events.max(5),
                ways: ways.iter().copied().filter(|way| zeromq || *way != Way::Zeromq).collect(),
            };
            match measure {
                Measure::Rtt => tasks.extend(SIZES.map(|bytes| {
                    let large = 1 + bytes as u32 / 100_000;
                    task(bytes, events / ROUND_TRIP / large, &[Way::Isoform, Way::Raw, Way::Polled])
                })),
                Measure::Rate => tasks.push(task(100, events, &[Way::Isoform, Way::Raw, Way::Many, Way::Zeromq])),
                Measure::Bandwidth => tasks.extend(SIZES.map(|bytes| {
                    let ways = [Way::Isoform, Way::Raw, Way::Owned];
                    let ways = if bytes < 100_000 { &ways[..2] } else { &ways };
                    task(bytes, events / (bytes / LARGE).max(1) as u32, ways)
                })),
                _ => {}
            }
        }
    }
    tasks
}

/// Half of the time of a round trip of so many bytes on a bare TCP socket, for each of these numbers of bytes; and how many
/// cores there are for that.
pub(super) fn transfers(options: &Options, sizes: &[usize]) -> Result<(Vec<f64>, usize)> {
    let pinned = Pinned::new(Place::Last);
    let cores = if pinned.is_some() { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    // Large ones take long enough to need few of them, and equal ones the same time.
    let events = |bytes: usize| (options.effort.events / ROUND_TRIP / (1 + bytes as u32 / 10_000)).max(5);
    let mut distinct = sizes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let pair = |&bytes: &usize| {
        let ways = vec![Way::Raw];
        let task = Task { measure: Measure::Rtt, transport: Transport::Tcp, bytes, events: events(bytes), ways };
        Pair::new(&task, &task.ways, Partner::start(&options.program)?)
    };
    let mut pairs: Vec<Pair> = distinct.iter().map(pair).collect::<Result<_>>()?;
    let figures = turns(options.effort.rounds, pairs.len(), |who| pairs[who].round_trips(0, events(distinct[who])))?;
    let half = |bytes: &usize| distinct.iter().position(|other| other == bytes).map(|at| figures[at].median() / 2.0);
    Ok((sizes.iter().filter_map(half).collect(), cores))
}

impl Task {
    /// Whether those that are no ways of ours take part: they have one transport.
    fn is_with_others(&self) -> bool {
        matches!(self.measure, Measure::Rtt | Measure::Bandwidth) && self.transport == Transport::Tcp
    }

    fn lines(
        &self,
        options: &Options,
        others: &Others,
        cores: usize,
        line: &mut impl FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        self.measured(options, others, cores)?.into_iter().try_for_each(line)
    }

    /// The ways that can use so many cores: two ends that look without end need one each.
    fn ways_on(&self, cores: usize) -> Vec<Way> {
        self.ways.iter().copied().filter(|way| cores > 1 || *way != Way::Polled).collect()
    }

    /// A line for our way and the bare socket, and one for each of the others.
    fn measured(&self, options: &Options, others: &Others, cores: usize) -> Result<Vec<Line>> {
        let mut others = if self.is_with_others() { others.start(self.bytes, cores)? } else { Vec::new() };
        // The other process is started on its core, and stays there.
        let other = if cores == 2 { Pinned::new(Place::Other) } else { None };
        let partner = Partner::start(&options.program)?;
        drop(other);
        let _pinned = if cores == 2 { Pinned::new(Place::Last) } else { None };
        let ways = self.ways_on(cores);
        let mut pair = Pair::new(self, &ways, partner)?;
        let all = ways.len() + others.len();
        let figures = turns(options.effort.rounds, all, |who| match (self.measure, who.checked_sub(ways.len())) {
            (Measure::Rtt, None) => pair.round_trips(who, self.events),
            (_, None) => pair.one_way(who, self.events),
            (Measure::Rtt, Some(other)) => others[other].round_trips(self.events),
            (_, Some(other)) => others[other].one_way(self.events),
        })?;
        let line = Line::of("channel").word("measure", self.measure.name()).word("transport", self.transport.name());
        let line = line.count("bytes", self.bytes).count("cores", cores);
        let (own, raw) = (&figures[0], &figures[1]);
        let polled = ways.iter().position(|way| *way == Way::Polled).map(|at| &figures[at]);
        let peer = |(other, figures): (&Other, &Figures)| {
            let line = figures.with_rate(line.clone().word("peer", other.name()).word("note", other.note()), "");
            let line = line.figure("ratio", figures.ratio(raw)).figure("isoform_ratio", figures.ratio(own));
            match polled {
                Some(polled) if other.spins() => line.figure("polled_isoform_ratio", figures.ratio(polled)),
                _ => line,
            }
        };
        let peers: Vec<Line> = others.iter().zip(&figures[ways.len()..]).map(peer).collect();
        let first = ways.iter().zip(&figures).fold(line, |line, (way, other)| match way {
            Way::Isoform => own.with_rate(line, ""),
            Way::Owned => other.with_rate(line, "owned_").figure("owned_ratio", other.ratio(raw)),
            Way::Polled => other.with_rate(line, "polled_").figure("polled_ratio", other.ratio(raw)),
            Way::Many => other.with_rate(line, "many_").figure("many_ratio", other.ratio(raw)),
            Way::Raw => other.with_rate(line, "raw_").figure("ratio", own.ratio(other)),
            Way::Zeromq => other.with_rate(line, "zeromq_").figure("zeromq_ratio", own.ratio(other)),
        });
        Ok([vec![first], peers].concat())
    }
}

/// Both ends of each way.
struct Pair {
    partner: Partner,
    ends: Vec<(Way, Box<dyn Near>)>,
    /// The next event of each.
    steps: Vec<u32>,
}

impl Pair {
    fn new(task: &Task, ways: &[Way], mut partner: Partner) -> Result<Pair> {
        let mut ends = Vec::new();
        for &way in ways {
            let offer = way.offer(task.transport, task.bytes)?;
            let (name, transport) = (way.name(), task.transport.name());
            partner.tell(&format!("connect {name} {transport} {} {}", task.bytes, offer.address))?;
            ends.push((way, (offer.accept)()?));
        }
        Ok(Pair { partner, steps: vec![0; ends.len()], ends })
    }

    /// The time of each of so many round trips.
    fn round_trips(&mut self, who: usize, count: u32) -> Result<Times> {
        // The first one of a round finds the other process asleep, and everything cold.
        let (first, end) = self.begin("echo", who, count + 1)?;
        let near = &mut self.ends[who].1;
        let times = (first..end).map(|step| {
            let start = Instant::now();
            near.ping(step)?;
            Ok(start.elapsed().as_nanos() as f64)
        });
        let times = times.collect::<Result<Vec<f64>>>()?;
        self.partner.answer()?;
        Ok(times.into_iter().skip(1).collect())
    }

    /// The time of an event, on average, until the other process has so many.
    fn one_way(&mut self, who: usize, count: u32) -> Result<Times> {
        let (first, end) = self.begin("receive", who, count)?;
        let start = Instant::now();
        self.ends[who].1.send(first..end)?;
        self.partner.answer()?;
        Ok(Times::from_iter([start.elapsed().as_nanos() as f64 / f64::from(count)]))
    }

    fn begin(&mut self, deed: &str, who: usize, count: u32) -> Result<(u32, u32)> {
        let first = self.steps[who];
        let end = first + count;
        self.steps[who] = end;
        self.partner.tell(&format!("{deed} {} {first} {end}", self.ends[who].0.name()))?;
        Ok((first, end))
    }
}
