//! One source, ten sinks in ten processes: how late an event is at nine of them, depending on what the tenth does.
//!
//! Every round begins with a burst, by which a sink that does not receive is behind as far as it may be. Then events come
//! at a pace that leaves time to all, and these are looked at. Rounds of every kind of tenth take turns.

use super::ends::Transport;
use super::event::Small;
use super::ours::Fan;
use super::partner::Partner;
use super::turns::turns;
use crate::measure::Times;
use crate::{Line, Options, Result};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Sinks that are always there.
const OTHERS: usize = 9;
/// From one event to the next.
const PACE: Duration = Duration::from_millis(1);
/// Events of a burst, and those at a pace, are fewer than those that go one way to another process, by these factors.
const BURST: u32 = 40;
const PACED: u32 = 500;

/// What the tenth sink does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenth {
    /// It has left.
    Nine,
    /// It is like the others.
    Ten,
    /// Its process is stopped.
    Stopped,
    /// Its process runs, and receives nothing.
    Unread,
}

impl Tenth {
    /// The first is what the others are compared with.
    const ALL: [Tenth; 4] = [Tenth::Nine, Tenth::Ten, Tenth::Stopped, Tenth::Unread];

    fn name(self) -> &'static str {
        match self {
            Tenth::Nine => "nine",
            Tenth::Ten => "ten",
            Tenth::Stopped => "stopped",
            Tenth::Unread => "unread",
        }
    }
}

/// Measures both transports.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    for transport in Transport::ALL {
        let mut sinks = Sinks::new(transport, options)?;
        let figures = turns(options.effort.rounds, Tenth::ALL.len(), |who| sinks.round(Tenth::ALL[who], options))?;
        for (tenth, own) in Tenth::ALL.iter().zip(&figures) {
            let result = Line::of("channel").word("measure", "fanout").word("transport", transport.name());
            let result = result.word("case", tenth.name()).count("bytes", size_of::<Small>()).count("cores", 2);
            line(own.written(result, "").figure("p99_ratio", own.p99_ratio(&figures[0])))?;
        }
    }
    Ok(())
}

/// The source, and the processes with a sink.
struct Sinks {
    transport: Transport,
    source: Fan,
    partners: Vec<Partner>,
    /// The next event.
    step: u32,
}

impl Sinks {
    fn new(transport: Transport, options: &Options) -> Result<Sinks> {
        let source = Fan::new(transport)?;
        let mut partners = Vec::new();
        for _ in 0..=OTHERS {
            let mut partner = Partner::start(&options.program)?;
            partner.tell(&format!("join {} {}", transport.name(), source.id()))?;
            partners.push(partner);
        }
        source.wait(OTHERS + 1)?;
        Ok(Sinks { transport, source, partners, step: 0 })
    }

    /// How late events were at the nine, in nanoseconds.
    fn round(&mut self, tenth: Tenth, options: &Options) -> Result<Times> {
        let last = OTHERS;
        match tenth {
            Tenth::Nine => {
                self.partners[last].tell("leave")?;
                self.source.wait(OTHERS)?;
            }
            Tenth::Stopped => self.partners[last].stop()?,
            Tenth::Ten | Tenth::Unread => {}
        }
        let receiving = if tenth == Tenth::Ten { OTHERS + 1 } else { OTHERS };
        let count = (options.effort.events / PACED).max(5);
        self.send(receiving, options.effort.events / BURST, Duration::ZERO)?;
        let delays = self.send(receiving, count, PACE)?;
        match tenth {
            Tenth::Nine => {
                self.partners[last].tell(&format!("join {} {}", self.transport.name(), self.source.id()))?;
                self.source.wait(OTHERS + 1)?;
            }
            Tenth::Stopped => self.partners[last].resume()?,
            Tenth::Ten | Tenth::Unread => {}
        }
        if matches!(tenth, Tenth::Stopped | Tenth::Unread) {
            // The last event is there in any case.
            self.partners[last].tell(&format!("watch {} {}", self.step - 1, self.step))?;
            self.partners[last].answer()?;
        }
        match delays.iter().find(|delays| delays.len() != count as usize) {
            Some(delays) => Err(format!("{} of {count} events came, at a pace for all", delays.len()).into()),
            None => Ok(delays.into_iter().take(OTHERS).flatten().collect()),
        }
    }

    /// Sends so many events, and returns the delays of those that came, for each of the first so many partners.
    fn send(&mut self, receiving: usize, count: u32, pace: Duration) -> Result<Vec<Vec<f64>>> {
        let steps = Range { start: self.step, end: self.step + count };
        self.step = steps.end;
        let receiving = &mut self.partners[..receiving];
        receiving.iter_mut().try_for_each(|partner| partner.tell(&format!("watch {} {}", steps.start, steps.end)))?;
        let start = Instant::now();
        for (index, step) in (0..).zip(steps) {
            std::thread::sleep((start + pace * index).saturating_duration_since(Instant::now()));
            self.source.send(step)?;
        }
        let delays = |partner: &mut Partner| partner.answer()?.split(' ').skip(1).map(|ns| Ok(ns.parse()?)).collect();
        receiving.iter_mut().map(delays).collect()
    }
}
