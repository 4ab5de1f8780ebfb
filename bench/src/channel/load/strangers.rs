//! Who wants to slow a simulation: the processor time of the thread that submits an event, with troublemakers and without
//! them, in turns.
//!
//! The source submits 200 events of a kilobyte a second to one honest sink. Beside it,
//!
//! | | |
//! |---|---|
//! | `stalled` | a member has 64 subscriptions, and takes nothing. Their windows have room, so events are sent to all of them |
//! | `full` | the same with windows of one event. The source drops the oldest of the events that wait for them |
//! | `knocks` | a stranger connects a thousand times a second, says something that is no handshake, and leaves |
//!
//! What the node's own thread does to accept, refuse and forget them is in `node_cpu_ratio`: all processor time of the
//! process, which nothing bounds but the attacker's patience.

use super::cost::{processor, thread};
use super::{Measure, about};
use crate::channel::ends::Transport;
use crate::channel::event::{Event as _, Kilo};
use crate::channel::ours::node;
use crate::channel::partner::Partner;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{Node, Policy, Sink, Window};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// From one event to the next, and from one knock to the next.
const PACE: Duration = Duration::from_millis(5);
const KNOCKS: Duration = Duration::from_millis(1);
/// Nothing takes so long but what will not happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// The subscriptions of the member that takes nothing.
const STALLED: usize = 64;
/// What waits for each of them if its window is full.
const WAITING: Policy = Policy::DropOldest { events: 16, bytes: 1 << 20 };
/// Rounds are fewer than elsewhere by this factor, and events of a round by this one.
const ROUNDS: usize = 4;
const EVENTS: u32 = 400;

pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    ["stalled", "full", "knocks"].into_iter().try_for_each(|trouble| line(measured(options, trouble)?))
}

fn measured(options: &Options, trouble: &str) -> Result<Line> {
    let (node, _directory) = node(Transport::Tcp)?;
    let channel = node.create::<Kilo>("plagued")?;
    let mut source = channel.source_builder().lossless().build::<Kilo>()?;
    let (mut honest, mut other) = (Partner::start(&options.program)?, Partner::start(&options.program)?);
    honest.tell(&format!("crowd {}", channel.id()))?;
    source.wait_for_sinks(1, PATIENCE)?;
    let count = (options.effort.events / EVENTS).max(5);
    let (mut step, mut times) = (0, [const { Vec::new() }; 4]);
    for _ in 0..(options.effort.rounds / ROUNDS).max(2) {
        for (with, figures) in times.chunks_mut(2).enumerate() {
            if with == 1 {
                other.tell(&format!("trouble {trouble} {}", channel.id()))?;
            }
            honest.tell(&format!("handle {step} {}", step + count))?;
            let (start, before) = (Instant::now(), processor());
            let mut own = 0;
            for index in 0..count {
                std::thread::sleep((start + PACE * index).saturating_duration_since(Instant::now()));
                let before = thread();
                source.submit(&Kilo::new(step + index))?;
                own += thread() - before;
            }
            honest.answer()?;
            figures[0].push(own as f64 / f64::from(count));
            figures[1].push((processor() - before) as f64 / f64::from(count));
            step += count;
            if with == 1 {
                other.tell("peace")?;
            }
        }
    }
    let [quiet, quiet_all, plagued, plagued_all] = times.map(Times::from_iter);
    let result = about(Measure::Strangers).word("trouble", trouble).count("sinks", 1).count("processes", 3);
    let result = result.figure("cpu_ns_per_event_sink", plagued.median());
    let result = result.figure("quiet_cpu_ns_per_event_sink", quiet.median()).figure("ratio", plagued.ratio(&quiet));
    Ok(result.figure("node_cpu_ratio", plagued_all.ratio(&quiet_all)))
}

/// Troublemakers in another process, until they are dropped.
pub(in super::super) enum Trouble {
    Stalled { _sinks: Vec<Sink<Kilo>>, _node: Node, _directory: Directory },
    Knocks { over: Arc<AtomicBool>, knocking: Option<JoinHandle<()>> },
}

impl Trouble {
    pub(in super::super) fn make(kind: &str, id: &str) -> Result<Trouble> {
        if kind != "knocks" {
            let (node, directory) = node(Transport::Tcp)?;
            let channel = node.open(id)?;
            let sink = || match kind {
                "full" => channel.sink_builder().policy(WAITING).window(Window { events: 1, bytes: 0 }).build(),
                _ => channel.sink(),
            };
            let sinks = (0..STALLED).map(|_| Ok(sink()?)).collect::<Result<_>>()?;
            return Ok(Trouble::Stalled { _sinks: sinks, _node: node, _directory: directory });
        }
        let address = id.split('/').nth(2).ok_or("an id without an address")?;
        let address = address.rsplit('@').next().unwrap_or(address).to_string();
        TcpStream::connect(&address)?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let knocking = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                // Whether it is let in is not of interest here.
                if let Ok(mut stream) = TcpStream::connect(&address) {
                    let _ = stream.write_all(&[0x5a; 128]);
                }
                std::thread::sleep(KNOCKS);
            }
        });
        Ok(Trouble::Knocks { over, knocking: Some(knocking) })
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        if let Trouble::Knocks { over, knocking } = self {
            over.store(true, Ordering::Relaxed);
            let _ = knocking.take().map(JoinHandle::join);
        }
    }
}
