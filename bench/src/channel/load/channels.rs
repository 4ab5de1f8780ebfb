//! Two processes with few and with many channels between them: the round trip of an event, and the descriptors.
//!
//! Half of the channels lead there, and half back. Every channel has a source in one process, and a handler in the other.
//! The two pairs of processes exist at the same time, and take turns with a bare socket. Round trips are measured over one
//! channel there and one back among all (`rtt_ns`), and over each in turn (`each_rtt_ns`), which finds less in the
//! processor's caches.

use super::{Measure, about};
use crate::channel::cores::{Pinned, Place};
use crate::channel::ends::{Near, Transport, Way};
use crate::channel::event::{Event as _, Small};
use crate::channel::ours::node;
use crate::channel::partner::Partner;
use crate::channel::turns::turns;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{Event, Handler, Node, Source};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const TRANSPORT: Transport = Transport::Unix;
const PATIENCE: Duration = Duration::from_secs(60);
/// Events of a round are fewer than those that go one way, by this factor.
const FEWER: u32 = 100;
/// Nothing was handled yet.
const NONE: u32 = u32::MAX;

/// Measures few and many channels.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let _pinned = Pinned::new(Place::Last);
    let all = [1, if options.effort.rounds > 3 { 500 } else { 10 }];
    let mut pairs = all.map(|pairs| Pair::new(options, pairs)).into_iter().collect::<Result<Vec<_>>>()?;
    let mut raw = raw(options)?;
    let count = (options.effort.events / FEWER).max(5);
    let figures = turns(options.effort.rounds, 5, |who| match who {
        0 => raw.round(count),
        1 | 2 => pairs[who - 1].round(count, false),
        _ => pairs[who - 3].round(count, true),
    })?;
    for (at, pair) in pairs.iter_mut().enumerate() {
        let (one, each) = (&figures[1 + at], &figures[3 + at]);
        let result = about(Measure::Channels).count("processes", 2).count("channels", 2 * all[at]).count("cores", 1);
        let result = result.count("bytes", size_of::<Small>()).figure("rtt_ns", one.median());
        let result = result.figure("each_rtt_ns", each.median()).figure("raw_rtt_ns", figures[0].median());
        let result = result.figure("ratio", one.ratio(&figures[1])).figure("each_ratio", each.ratio(&figures[3]));
        pair.partner.tell("descriptors")?;
        let there: usize = pair.partner.answer()?.parse()?;
        // Those of this process include the ends of the other measurements.
        line(result.figure("raw_ratio", one.ratio(&figures[0])).count("descriptors", there))?;
    }
    Ok(())
}

/// Both ends of a number of channels.
struct Pair {
    partner: Partner,
    many: Many,
    step: u32,
}

impl Pair {
    fn new(options: &Options, pairs: usize) -> Result<Pair> {
        let (node, directory) = node(TRANSPORT)?;
        let (there, back) = (node.create::<Small>("there-0")?, node.create::<Small>("back-0")?);
        let mut channels = vec![(there, back)];
        for at in 1..pairs {
            channels
                .push((node.create::<Small>(&format!("there-{at}"))?, node.create::<Small>(&format!("back-{at}"))?));
        }
        let many = Many::new(node, directory, &channels, |(there, _)| there, |(_, back)| back)?;
        // Where any of the channels is found; the name and the identity come after it.
        let id = channels[0].0.id().to_string();
        let at = id.find("/there-0").ok_or("an id without the name")?;
        let mut partner = Partner::start(&options.program)?;
        partner.tell(&format!("channels {pairs} {}", &id[..at]))?;
        for source in &many.sources {
            source.wait_for_sinks(1, PATIENCE)?;
        }
        Ok(Pair { partner, many, step: 0 })
    }

    /// The time of a round trip on average: over one channel, or over each in turn.
    fn round(&mut self, count: u32, each: bool) -> Result<Times> {
        let steps = Range { start: self.step, end: self.step + count };
        self.step = steps.end;
        self.partner.tell(&format!("answer {} {} {}", steps.start, steps.end, u8::from(each)))?;
        let start = Instant::now();
        for step in steps {
            self.many.submit(step, each)?;
            self.many.handle(step)?;
        }
        let time = start.elapsed();
        self.partner.answer()?;
        Ok(Times::from_iter([time.as_nanos() as f64 / f64::from(count)]))
    }
}

/// One end: sources of some channels, and handlers of others.
pub(in super::super) struct Many {
    node: Node,
    sources: Vec<Source<Small>>,
    /// The event that was handled last.
    last: Arc<AtomicU32>,
    _handlers: Vec<Handler>,
    _directory: Directory,
}

impl Many {
    fn new<C>(
        node: Node,
        directory: Directory,
        channels: &[C],
        leaving: impl Fn(&C) -> &isoform_channel::Channel,
        coming: impl Fn(&C) -> &isoform_channel::Channel,
    ) -> Result<Many> {
        let last = Arc::new(AtomicU32::new(NONE));
        let (mut sources, mut handlers) = (Vec::new(), Vec::new());
        for channel in channels {
            let seen = last.clone();
            handlers.push(coming(channel).sink_builder().lossless().on::<Small>(move |event| {
                if let Event::Record { record, .. } = event {
                    seen.store(record.step, Ordering::Relaxed);
                }
            })?);
            sources.push(leaving(channel).source_builder().lossless().build()?);
        }
        Ok(Many { node, sources, last, _handlers: handlers, _directory: directory })
    }

    /// The end in the other process. All channels are found at one address.
    pub(in super::super) fn open(pairs: usize, address: &str) -> Result<Many> {
        let (node, directory) = node(TRANSPORT)?;
        let open = |at| {
            let open = |name: &str| node.open(format!("{address}/{name}-{at}"));
            Ok((open("there")?, open("back")?))
        };
        let channels = (0..pairs).map(open).collect::<Result<Vec<_>>>()?;
        let many = Many::new(node, directory, &channels, |(_, back)| back, |(there, _)| there)?;
        many.sources.iter().try_for_each(|source| source.wait_for_sinks(1, PATIENCE))?;
        Ok(many)
    }

    fn submit(&mut self, step: u32, each: bool) -> Result<()> {
        let at = if each { step as usize % self.sources.len() } else { 0 };
        self.sources[at].submit(&Small::new(step))?;
        Ok(())
    }

    /// Waits for this event.
    fn handle(&mut self, step: u32) -> Result<()> {
        while self.last.load(Ordering::Relaxed) != step {
            if self.node.poll(PATIENCE)? == 0 {
                return Err(format!("event {step} has not come").into());
            }
        }
        Ok(())
    }

    /// Sends these events back.
    pub(in super::super) fn answer(&mut self, mut steps: Range<u32>, each: bool) -> Result<()> {
        steps.try_for_each(|step| {
            self.handle(step)?;
            self.submit(step, each)
        })
    }
}

/// A bare socket, and the process at its other end.
struct Raw {
    partner: Partner,
    near: Box<dyn Near>,
    step: u32,
}

fn raw(options: &Options) -> Result<Raw> {
    let mut partner = Partner::start(&options.program)?;
    let offer = Way::Raw.offer(TRANSPORT, size_of::<Small>())?;
    let (way, bytes) = (Way::Raw.name(), size_of::<Small>());
    partner.tell(&format!("connect {way} {} {bytes} {}", TRANSPORT.name(), offer.address))?;
    Ok(Raw { partner, near: (offer.accept)()?, step: 0 })
}

impl Raw {
    fn round(&mut self, count: u32) -> Result<Times> {
        let mut steps = Range { start: self.step, end: self.step + count };
        self.step = steps.end;
        self.partner.tell(&format!("echo {} {} {}", Way::Raw.name(), steps.start, steps.end))?;
        let start = Instant::now();
        steps.try_for_each(|step| self.near.ping(step))?;
        let time = start.elapsed();
        self.partner.answer()?;
        Ok(Times::from_iter([time.as_nanos() as f64 / f64::from(count)]))
    }
}
