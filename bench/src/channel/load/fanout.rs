//! One source, and ten or a hundred sink processes: the processor time of an event, for each sink.
//!
//! The source submits 200 events of a kilobyte a second. All sinks are handlers of processes of their own, which let the
//! source wait. The bare socket writes the same bytes to as many processes, one after another. Both crowds exist at the
//! same time, and take turns. The time is that of the source's process and of all sinks' processes together, while events
//! come and go; waking a process that sleeps is most of it, and that is part of it.

use super::cost::{memory, processor};
use super::{Measure, about};
use crate::channel::ends::Transport;
use crate::channel::event::{Event as _, Kilo};
use crate::channel::ours::node;
use crate::channel::partner::Partner;
use crate::channel::turns::turns;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{Event, Handler, Node, Source};
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// From one event to the next.
const PACE: Duration = Duration::from_millis(5);
/// Nothing takes so long but what will not happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rounds are fewer than elsewhere by this factor, and events of a round by this one.
const ROUNDS: usize = 4;
const EVENTS: u32 = 400;

/// Measures both numbers of sinks.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let crowds = if options.effort.rounds > 3 { [10, 100] } else { [2, 4] };
    let mut few = None;
    for sinks in crowds {
        let (cost, result) = measured(options, sinks)?;
        let few = *few.get_or_insert(cost);
        line(result.figure("ratio", cost / few))?;
    }
    Ok(())
}

/// The processor time of an event and sink, and the line about it.
fn measured(options: &Options, sinks: usize) -> Result<(f64, Line)> {
    let before = memory();
    let mut ours = Ours::new(options, sinks)?;
    let bytes = memory().saturating_sub(before) as f64 / sinks as f64;
    let mut raw = Raw::new(options, sinks)?;
    let count = (options.effort.events / EVENTS).max(5);
    let (mut at_source, mut step) = (Vec::new(), 0);
    let figures = turns((options.effort.rounds / ROUNDS).max(2), 2, |who| {
        let steps = Range { start: step, end: step + count };
        step = steps.end;
        let crowd: &mut dyn Crowd = if who == 0 { &mut ours } else { &mut raw };
        let (source, all) = round(crowd, steps)?;
        if who == 0 {
            at_source.push(source / f64::from(count) / sinks as f64);
        }
        Ok(Times::from_iter([all / f64::from(count) / sinks as f64]))
    })?;
    let (own, raw) = (figures[0].median(), figures[1].median());
    let result = about(Measure::Fanout).count("sinks", sinks).count("processes", sinks + 1).count("channels", 1);
    let result = result.count("bytes", size_of::<Kilo>()).figure("cpu_ns_per_event_sink", own);
    let result = result.figure("source_cpu_ns_per_event_sink", Times::from_iter(at_source).median());
    let result = result.figure("raw_cpu_ns_per_event_sink", raw).figure("raw_ratio", figures[0].ratio(&figures[1]));
    Ok((own, result.figure("bytes_per_sink", bytes)))
}

/// Sends events at their pace, and returns the processor time of this process, and of all, in nanoseconds.
fn round(crowd: &mut dyn Crowd, steps: Range<u32>) -> Result<(f64, f64)> {
    for partner in crowd.partners() {
        partner.tell(&format!("handle {} {}", steps.start, steps.end))?;
    }
    let (start, before) = (Instant::now(), processor());
    for (index, step) in (0..).zip(steps) {
        std::thread::sleep((start + PACE * index).saturating_duration_since(Instant::now()));
        crowd.send(step)?;
    }
    let own = (processor() - before) as f64;
    let mut all = own;
    for partner in crowd.partners() {
        all += partner.answer()?.parse::<f64>()?;
    }
    Ok((own, all))
}

/// A source, and the processes of its sinks.
trait Crowd {
    fn partners(&mut self) -> &mut [Partner];
    fn send(&mut self, step: u32) -> Result<()>;
}

struct Ours {
    source: Source<Kilo>,
    partners: Vec<Partner>,
    _directory: Directory,
}

impl Ours {
    fn new(options: &Options, sinks: usize) -> Result<Ours> {
        let (node, directory) = node(Transport::Unix)?;
        let channel = node.create::<Kilo>("crowd")?;
        let source = channel.source_builder().lossless().build()?;
        let partners = crowd(options, sinks, &format!("crowd {}", channel.id()))?;
        source.wait_for_sinks(sinks, PATIENCE)?;
        Ok(Ours { source, partners, _directory: directory })
    }
}

impl Crowd for Ours {
    fn partners(&mut self) -> &mut [Partner] {
        &mut self.partners
    }

    fn send(&mut self, step: u32) -> Result<()> {
        self.source.submit(&Kilo::new(step))?;
        Ok(())
    }
}

struct Raw {
    sockets: Vec<UnixStream>,
    partners: Vec<Partner>,
    record: Vec<u8>,
}

impl Raw {
    fn new(options: &Options, sinks: usize) -> Result<Raw> {
        let directory = Directory::new()?;
        let path = directory.path().join("crowd");
        let listener = UnixListener::bind(&path)?;
        let partners = crowd(options, sinks, &format!("raw-crowd {}", path.display()))?;
        let sockets = (0..sinks).map(|_| Ok(listener.accept()?.0)).collect::<Result<_>>()?;
        Ok(Raw { sockets, partners, record: vec![0x5a; size_of::<Kilo>()] })
    }
}

impl Crowd for Raw {
    fn partners(&mut self) -> &mut [Partner] {
        &mut self.partners
    }

    fn send(&mut self, step: u32) -> Result<()> {
        self.record[..4].copy_from_slice(&step.to_ne_bytes());
        Ok(self.sockets.iter_mut().try_for_each(|socket| socket.write_all(&self.record))?)
    }
}

/// Processes that were all told the same.
fn crowd(options: &Options, sinks: usize, words: &str) -> Result<Vec<Partner>> {
    let start = |_| {
        let mut partner = Partner::start(&options.program)?;
        partner.tell(words)?;
        Ok(partner)
    };
    (0..sinks).map(start).collect()
}

/// One of the crowd.
pub(in super::super) trait Crowded {
    /// Handles events up to this one.
    fn until(&mut self, end: u32) -> Result<()>;
}

/// A handler, and its node.
pub(in super::super) struct Handled {
    node: Node,
    /// The number after that of the last event.
    next: Arc<AtomicU32>,
    _handler: Handler,
    _directory: Directory,
}

impl Handled {
    pub(in super::super) fn new(id: &str) -> Result<Handled> {
        let (node, directory) = node(Transport::Unix)?;
        let next = Arc::new(AtomicU32::new(0));
        let seen = next.clone();
        let handler = node.open(id)?.sink_builder().lossless().on::<Kilo>(move |event| {
            if let Event::Record { record, .. } = event {
                seen.store(record.step + 1, Ordering::Relaxed);
            }
        })?;
        Ok(Handled { node, next, _handler: handler, _directory: directory })
    }
}

impl Crowded for Handled {
    fn until(&mut self, end: u32) -> Result<()> {
        while self.next.load(Ordering::Relaxed) < end {
            if self.node.poll(PATIENCE)? == 0 {
                return Err(format!("no event before {end}").into());
            }
        }
        Ok(())
    }
}

/// The other end of a bare socket, and its record.
impl Crowded for (UnixStream, Vec<u8>) {
    fn until(&mut self, end: u32) -> Result<()> {
        loop {
            self.0.read_exact(&mut self.1)?;
            if self.1.first_chunk().map(|number| u32::from_ne_bytes(*number) + 1) == Some(end) {
                return Ok(());
            }
        }
    }
}

/// A bare socket to a crowd's source.
pub(in super::super) fn raw(path: &str) -> Result<(UnixStream, Vec<u8>)> {
    Ok((UnixStream::connect(path)?, vec![0; size_of::<Kilo>()]))
}
