//! The demonstration as a whole: starts the processes, is the monitor, and compares at the end what the source has on its
//! account with what each sink has counted.

use super::PACED;
use super::monitor::{Reach, heading, line};
use super::processes::{Echo, Seen, Simulation};
use crate::channel::account::{self, Account};
use crate::channel::stop::LOOK;
use crate::explain;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use isoform::core::plan::{Explanation, Verdict};
use isoform::{Faults, Format, Record};
use isoform_channel::{Channel, Event, Info, Node, Policy, SinkLedger};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two lines.
const LINE: Duration = Duration::from_millis(500);
/// So many lines of the monitor stand between two of the viewer.
const VIEWED: u32 = 4;
/// The monitor, the viewer, the ranger, and the sleeper.
const SINKS: usize = 4;
/// The events that may wait for the sleeper, by which its policy is told from the ranger's.
const SLEEPING: u64 = 100;
/// What the ranger wants.
const CHANGES: &str = "changed max(depth) by 0.1 m or every 2 s | select step, deepest = max(depth)";
/// How long the sinks may take to have what is under way.
const SETTLING: Duration = Duration::from_secs(10);

/// The counts of the monitor.
#[derive(Default)]
struct Tally {
    records: u64,
    lost: u64,
    wrong: u64,
}

/// Starts all, and watches the simulation to its end.
pub(super) fn run(whole: Duration, program: &[OsString], output: &mut Output) -> Result<(), Failure> {
    introduce(program, output)?;
    let simulation = Simulation::start(whole, SINKS, program)?;
    writeln!(output, "{}\n", output.paint(Tone::Strong, &simulation.id))?;
    let node = Node::new()?;
    let channel = node.open(&simulation.id)?;
    let format = channel.format().ok_or_else(|| Failure::data("the simulation's channel has no type"))?;
    writeln!(output, "the plan by which the monitor converts the simulation's records:\n")?;
    explain(&format, Reach::format(), output)?;
    let viewer = Echo::start(&simulation.id, "latest", ["--fields", "step,gauges[2].name,gauges[2].level"])?;
    let ranger = Echo::start(&simulation.id, "oldest:1000", ["--query", CHANGES])?;
    let sleeper = Echo::start(&simulation.id, &format!("oldest:{SLEEPING}"), ["--fields", "step"])?;
    let mut watch = Watch { channel, simulation, viewer, ranger, sleeper, tally: Tally::default() };
    watch.watch(whole, output)?;
    if let Some(emulator) = program.first() {
        writeln!(output, "the rate is that of the simulation, run by {}", name(emulator))?;
    }
    watch.settle(output)?;
    invite(output)
}

fn introduce(program: &[OsString], output: &mut Output) -> Result<(), Failure> {
    let of = match program.first() {
        Some(emulator) => format!("a program of another machine, run by {}", name(emulator)),
        None => "this program, laying out records as a 32-bit big-endian machine".into(),
    };
    let roles = [
        ("simulation", of.as_str()),
        ("monitor", "this one, with a struct of its own; the simulation waits for it"),
        ("viewer", "isoform echo --policy latest: knows no struct, asks for fields"),
        ("ranger", "isoform echo --query: the simulation sends it only what changes"),
        ("sleeper", "isoform echo --policy oldest:100: will be stopped, as if it hung"),
    ];
    writeln!(output, "Five processes and one channel, without a broker.\n")?;
    for (role, about) in roles {
        writeln!(output, "  {}  {about}", output.paint(Tone::Strong, &format!("{role:<10}")))?;
    }
    writeln!(output)?;
    Ok(output.flush()?)
}

/// The name of a program.
fn name(program: &OsStr) -> std::path::Display<'_> {
    Path::new(Path::new(program).file_name().unwrap_or(program)).display()
}

/// Suggests the next commands to the user, with the name of this program.
fn invite(output: &mut Output) -> Result<(), Failure> {
    let program = std::env::args_os().next().unwrap_or_else(|| "isoform".into());
    let program = program.display();
    writeln!(output, "\nto try it yourself, use two terminals; the first prints the ID:")?;
    writeln!(output, "  {program} demo --publish")?;
    writeln!(output, "  {program} echo ID")?;
    #[cfg(feature = "watch")]
    {
        writeln!(output, "or see it in a browser, at the address that this prints:")?;
        writeln!(output, "  {program} watch ID")?;
    }
    Ok(())
}

/// Prints the decision for each field, which was made before the first event.
fn explain(wire: &Format, native: &Format, output: &mut Output) -> Result<(), Failure> {
    let rules = Reach::rules();
    let explained = Explanation::new(wire, native, &rules, Faults::Error);
    explain::fields(&explained, output)?;
    let verdict = explained.verdict();
    let meaning = match verdict {
        Verdict::Full => "each side can read the other's records",
        _ => "the monitor can read the simulation's records",
    };
    writeln!(output, "\nverdict: {} - {meaning}", output.paint(Tone::Good, &verdict.to_string()))?;
    writeln!(output, "machine: {} there; {} here\n", wire.machine(), native.machine())?;
    Ok(output.flush()?)
}

/// All that takes part.
struct Watch {
    channel: Channel,
    simulation: Simulation,
    viewer: Echo,
    ranger: Echo,
    sleeper: Echo,
    tally: Tally,
}

impl Watch {
    /// Takes all that the simulation submits. The sleeper sleeps while that is as fast as it can be.
    fn watch(&mut self, whole: Duration, output: &mut Output) -> Result<(), Failure> {
        let mut sink = self.channel.sink_builder().lossless().build::<Reach>()?;
        let paced = whole.mul_f64(PACED);
        let (mut start, mut slow, mut fast_since, mut woken) = (None, 0, None, false);
        let mut lines = 0;
        heading(output)?;
        loop {
            if let Some(published) = self.simulation.published()? {
                if !std::mem::replace(&mut woken, true) {
                    self.sleeper.go_on()?;
                }
                if self.tally.records + self.tally.lost >= published {
                    break;
                }
            }
            let reach = match sink.recv_timeout(LOOK)? {
                Some(Event::Record { record, .. }) => record,
                Some(Event::Gap(_, gap)) => {
                    self.tally.lost += gap.count;
                    continue;
                }
                Some(Event::Refused(_, error)) => return Err(error.into()),
                _ => continue,
            };
            let now = start.get_or_insert_with(Instant::now).elapsed();
            self.tally.records += 1;
            self.tally.wrong += u64::from(!reach.is_as_sent());
            if now < paced {
                slow += 1;
                if now >= LINE * lines {
                    lines += 1;
                    line(reach, output)?;
                    self.view(lines, output)?;
                }
            } else if fast_since.is_none() {
                fast_since = Some(Instant::now());
                self.sleeper.stop()?;
                writeln!(output, "\n... now as fast as it can, and the sleeper is stopped (SIGSTOP) ...")?;
                output.flush()?;
            }
        }
        let seconds = fast_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        self.summary(slow, seconds, output)
    }

    /// Prints the last lines of the viewer and the ranger now and then.
    fn view(&self, lines: u32, output: &mut Output) -> Result<(), Failure> {
        if lines.is_multiple_of(VIEWED) {
            writeln!(output, "{}", output.paint(Tone::Faint, &format!("viewer  {}", self.viewer.latest())))?;
            writeln!(output, "{}", output.paint(Tone::Faint, &format!("ranger  {}", self.ranger.latest())))?;
            output.flush()?;
        }
        Ok(())
    }

    fn summary(&self, slow: u64, seconds: f64, output: &mut Output) -> Result<(), Failure> {
        let Tally { records, wrong, .. } = self.tally;
        let fast = records - slow;
        if fast > 0 && seconds > 0.0 {
            let rate = fast as f64 / seconds;
            writeln!(output, "{fast} records in {seconds:.1} s: {rate:.0} a second, each for four processes")?;
        }
        writeln!(
            output,
            "{records} records in all, with the slow ones; by their sums, {} are right, {wrong} wrong",
            records - wrong
        )?;
        match (records, wrong) {
            (0, _) => Err(Failure::data("no record arrived")),
            (_, 0) => Ok(()),
            _ => Err(Failure::data(format!("{wrong} records are not what was sent"))),
        }
    }

    /// Waits until the sinks have seen all, which includes that the last events are not for them, and compares the accounts of the
    /// source with what they have counted.
    fn settle(mut self, output: &mut Output) -> Result<(), Failure> {
        let until = Instant::now() + SETTLING;
        let ledgers = loop {
            let ledgers = ledgers(&self.channel.info(SETTLING)?);
            let is_over = |sink: &SinkLedger| sink.ledger.in_flight == 0 && agree(sink, self.seen(sink)).is_ok();
            if ledgers.iter().all(is_over) || Instant::now() > until {
                break ledgers;
            }
            std::thread::sleep(LOOK);
        };
        for echo in [&mut self.viewer, &mut self.ranger, &mut self.sleeper] {
            echo.end()?;
        }
        let seen: Vec<Seen> = ledgers.iter().map(|sink| self.seen(sink)).collect();
        let Watch { channel, simulation, sleeper, .. } = self;
        channel.close();
        simulation.end()?;
        if let Seen { widest: (first, count @ 1..), .. } = sleeper.seen() {
            writeln!(output, "the sleeper continues: it learns that {count} events from {first} on are lost\n")?;
        }
        let mut accounts: Vec<Account> = Account::of("", &ledgers).collect();
        accounts.iter_mut().zip(&ledgers).for_each(|(account, sink)| account.sink = role(sink).into());
        account::write(&accounts, output)?;
        account::check(&accounts)?;
        ledgers.iter().zip(seen).try_for_each(|(sink, seen)| agree(sink, seen))?;
        if accounts.len() != SINKS {
            return Err(Failure::data(format!("{} sinks are on the account, not {SINKS}", accounts.len())));
        }
        writeln!(output, "each sink has counted the same records and losses as the account")?;
        Ok(())
    }

    /// What a sink has counted so far.
    fn seen(&self, sink: &SinkLedger) -> Seen {
        match role(sink) {
            "monitor" => Seen { records: self.tally.records, lost: self.tally.lost, ..Seen::default() },
            "viewer" => self.viewer.seen(),
            "ranger" => self.ranger.seen(),
            _ => self.sleeper.seen(),
        }
    }
}

/// The accounts of the source with its sinks, which are told apart by their policies.
fn ledgers(info: &Info) -> Vec<SinkLedger> {
    let mut ledgers: Vec<SinkLedger> = info.ledgers().copied().collect();
    ledgers.sort_by_key(role);
    ledgers
}

fn role(sink: &SinkLedger) -> &'static str {
    match sink.policy {
        Policy::Block => "monitor",
        Policy::Latest => "viewer",
        Policy::DropOldest { events: SLEEPING, .. } => "sleeper",
        Policy::DropOldest { .. } => "ranger",
    }
}

/// # Errors
/// If a sink has counted otherwise than its source.
fn agree(sink: &SinkLedger, seen: Seen) -> Result<(), Failure> {
    let Seen { records, lost, superseded, .. } = seen;
    if (sink.ledger.acknowledged, sink.ledger.lost(), sink.ledger.superseded) == (records, lost, superseded) {
        return Ok(());
    }
    let who = role(sink);
    let message =
        format!("the {who} has counted {records} records, {lost} lost and {superseded} superseded: {}", sink.ledger);
    Err(Failure::data(message))
}
