//! The process at the other end: this program again, which is told over its standard input what to do, a line at a time,
//! and answers in lines on its standard output. If it fails, it says why and ends, so that nobody waits for it.

use super::ends::{Far, Transport, Way};
use super::load::{self, Crowded, Many, Trouble};
use super::ours::Watcher;
use crate::Result;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The word with which this program is called to be a partner.
pub const PARTNER: &str = "channel-partner";

/// How long another process may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// What an answer begins with if something went wrong.
const FAILED: &str = "failed: ";

/// Another process.
pub(super) struct Partner {
    child: Child,
    /// `None` at the end, which the other process learns so.
    told: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Partner {
    /// Starts one, on the cores of this thread.
    pub(super) fn start(program: &Path) -> Result<Partner> {
        let mut command = Command::new(program);
        let mut child = command.arg(PARTNER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (told, answers) = (child.stdin.take(), child.stdout.take().ok_or("a process without output")?);
        Ok(Partner { child, told, answers: BufReader::new(answers) })
    }

    /// Tells it something, and waits until it has begun, or done it if that is quick.
    pub(super) fn tell(&mut self, words: &str) -> Result<()> {
        writeln!(self.told.as_mut().ok_or("it was to end")?, "{words}")?;
        self.answer().map(drop)
    }

    /// Stops the process, wherever it is.
    pub(super) fn stop(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::STOP)?)
    }

    /// Lets it go on.
    pub(super) fn resume(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::CONT)?)
    }

    /// Its next answer.
    pub(super) fn answer(&mut self) -> Result<String> {
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        match answer.strip_prefix(FAILED) {
            Some(error) => Err(format!("the other process: {}", error.trim_end()).into()),
            None if answer.is_empty() => Err("the other process has ended".into()),
            None => Ok(answer.trim_end().into()),
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.told = None;
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            // It may be stopped, or wait for something that will not come any more.
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill().and_then(|()| self.child.wait());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What the partner does, until its standard input ends.
///
/// # Errors
/// If something goes wrong, after having said so.
pub fn serve() -> Result<()> {
    let mut service = Service::default();
    for line in io::stdin().lines() {
        if let Err(error) = service.obey(&line?) {
            answer(&format!("{FAILED}{}", error.to_string().replace('\n', " ")))?;
            return Err(error);
        }
    }
    Ok(())
}

fn answer(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// What was opened.
#[derive(Default)]
struct Service {
    ends: Vec<(Way, Box<dyn Far>)>,
    watcher: Option<Watcher>,
    crowded: Option<Box<dyn Crowded>>,
    many: Option<Many>,
    trouble: Option<Trouble>,
}

impl Service {
    fn obey(&mut self, line: &str) -> Result<()> {
        match *line.split(' ').collect::<Vec<_>>() {
            ["connect", way, transport, bytes, address] => {
                let way = Way::parse(way)?;
                self.ends.push((way, way.connect(Transport::parse(transport)?, bytes.parse()?, address)?));
                answer("connected")
            }
            [deed @ ("echo" | "receive"), way, first, end] => {
                let (far, steps) = (self.far(way)?, Range { start: first.parse()?, end: end.parse()? });
                answer("ready")?;
                match deed {
                    "echo" => far.echo(steps)?,
                    _ => far.receive(steps)?,
                }
                answer("done")
            }
            ["join", transport, id] => {
                self.watcher = Some(Watcher::new(Transport::parse(transport)?, id)?);
                answer("joined")
            }
            ["leave"] => {
                self.watcher = None;
                answer("left")
            }
            ["watch", first, end] => {
                let watcher = self.watcher.as_mut().ok_or("it has not joined")?;
                let steps = Range { start: first.parse()?, end: end.parse()? };
                answer("ready")?;
                let delays = watcher.watch(steps)?;
                answer(&delays.iter().fold("late".to_string(), |text, ns| format!("{text} {ns}")))
            }
            ["crowd", id] => {
                self.crowded = Some(Box::new(load::Handled::new(id)?));
                answer("joined")
            }
            ["raw-crowd", path] => {
                self.crowded = Some(Box::new(load::raw(path)?));
                answer("joined")
            }
            ["handle", _, end] => {
                let (crowded, end) = (self.crowded.as_mut().ok_or("it has not joined")?, end.parse()?);
                let before = load::processor();
                answer("ready")?;
                crowded.until(end)?;
                answer(&(load::processor() - before).to_string())
            }
            ["channels", pairs, address] => {
                self.many = Some(Many::open(pairs.parse()?, address)?);
                answer("opened")
            }
            ["answer", first, end, each] => {
                let (many, steps) = (
                    self.many.as_mut().ok_or("no channels are open")?,
                    Range { start: first.parse()?, end: end.parse()? },
                );
                answer("ready")?;
                many.answer(steps, each == "1")?;
                answer("done")
            }
            ["trouble", kind, id] => {
                self.trouble = Some(Trouble::make(kind, id)?);
                answer("there")
            }
            ["peace"] => {
                self.trouble = None;
                answer("gone")
            }
            ["descriptors"] => {
                answer("counted")?;
                answer(&load::descriptors()?.to_string())
            }
            ["visit", count, id] => {
                answer("ready")?;
                load::visit(count.parse()?, id)?;
                answer("gone")
            }
            _ => Err(format!("it was told {line:?}").into()),
        }
    }

    fn far(&mut self, way: &str) -> Result<&mut dyn Far> {
        let way = Way::parse(way)?;
        let (_, far) = self.ends.iter_mut().find(|(other, _)| *other == way).ok_or("nothing is connected so")?;
        Ok(far.as_mut())
    }
}
