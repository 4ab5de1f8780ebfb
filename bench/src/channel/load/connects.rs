//! Nodes that come, open a channel, and go: what they leave behind at the node that they met, in memory, descriptors and
//! threads.
//!
//! A first part of them is not counted, since a node keeps some memory for what comes next.

use super::cost::{descriptors, memory, threads};
use super::{Measure, about};
use crate::channel::ends::Transport;
use crate::channel::event::Small;
use crate::channel::ours::node;
use crate::channel::partner::Partner;
use crate::{Line, Options, Result};
use std::time::{Duration, Instant};

/// Connections are fewer than events that go one way, by this factor.
const FEWER: u32 = 10;
/// How long the node may take to forget those that have gone.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let (node, _directory) = node(Transport::Unix)?;
    let channel = node.create::<Small>("met")?;
    let mut partner = Partner::start(&options.program)?;
    let count = options.effort.events / FEWER;
    let mut visits = |count: u32| -> Result<()> {
        partner.tell(&format!("visit {count} {}", channel.id()))?;
        partner.answer()?;
        let start = Instant::now();
        while channel.members().len() > 1 {
            if start.elapsed() > PATIENCE {
                return Err("a node that has gone is still a member".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    visits(count / 4)?;
    let before = (memory(), descriptors()?, threads());
    let start = Instant::now();
    visits(count)?;
    let time = start.elapsed();
    let after = (memory(), descriptors()?, threads());
    let result = about(Measure::Connects).count("processes", 2).count("channels", 1).count("connects", count as usize);
    let result = result.figure("ns", time.as_nanos() as f64 / f64::from(count));
    let result = result.figure("bytes", after.0 as f64 - before.0 as f64);
    let result = result.figure("descriptors_more", after.1 as f64 - before.1 as f64);
    line(result.figure("threads_more", after.2 as f64 - before.2 as f64))
}

/// In the other process: comes and goes so many times.
pub(in super::super) fn visit(count: u32, id: &str) -> Result<()> {
    for _ in 0..count {
        let (node, _directory) = node(Transport::Unix)?;
        node.open(id)?;
    }
    Ok(())
}
