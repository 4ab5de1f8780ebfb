//! The other processes of the demonstration: the simulation, and the command itself as a watcher.

use crate::failure::Failure;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A process that does not outlive its handle.
struct Process(Child);

impl Process {
    fn start(mut command: Command) -> Result<(Process, Lines<BufReader<ChildStdout>>), Failure> {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let failed = |error| Failure::data(format!("{}: {error}", command.get_program().display()));
        let mut child = spawned.map_err(failed)?;
        let output = child.stdout.take().ok_or_else(|| Failure::data("a process without output"))?;
        Ok((Process(child), BufReader::new(output).lines()))
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::data("a process without a number"))?;
        Ok(kill_process(pid, signal).map_err(std::io::Error::from)?)
    }

    fn wait(&mut self, name: &str) -> Result<(), Failure> {
        match self.0.wait()? {
            status if status.success() => Ok(()),
            status => Err(Failure::data(format!("{name} failed: {status}"))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// The simulation.
pub(super) struct Simulation {
    process: Process,
    /// The id of its channel.
    pub(super) id: String,
    /// How many records it has published, once it is done; `None` if it has ended without saying so.
    published: Arc<OnceLock<Option<u64>>>,
}

impl Simulation {
    /// Starts it: this program, or that of another machine, if there is a command for it.
    pub(super) fn start(whole: Duration, sinks: usize, program: &[OsString]) -> Result<Simulation, Failure> {
        let mut command = match program {
            [] => Command::new(std::env::current_exe()?),
            [emulator, arguments @ ..] => {
                let mut command = Command::new(emulator);
                command.args(arguments);
                command
            }
        };
        command.args([
            "demo",
            "--publish",
            "--sinks",
            &sinks.to_string(),
            "--seconds",
            &whole.as_secs_f64().to_string(),
        ]);
        let (mut process, mut lines) = Process::start(command)?;
        let Some(id) = lines.next().transpose()? else {
            // A program that cannot run says so by its status.
            process.wait("the simulation")?;
            return Err(Failure::data("the simulation made no channel"));
        };
        let published = Arc::new(OnceLock::new());
        let told = published.clone();
        std::thread::spawn(move || {
            let count = lines.next().and_then(|line| line.ok()?.parse().ok());
            told.set(count)
        });
        Ok(Simulation { process, id, published })
    }

    /// How many records it has published, once it is done.
    pub(super) fn published(&mut self) -> Result<Option<u64>, Failure> {
        match self.published.get() {
            None => Ok(None),
            Some(Some(count)) => Ok(Some(*count)),
            Some(None) => {
                self.process.wait("the simulation")?;
                Err(Failure::data("the simulation has ended before its time"))
            }
        }
    }

    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.process.wait("the simulation")
    }
}

/// `isoform echo`, as a process, and what it prints.
pub(super) struct Echo {
    process: Process,
    shown: Arc<Mutex<Shown>>,
    reader: Option<JoinHandle<()>>,
}

/// What an echo has printed so far.
#[derive(Default)]
struct Shown {
    latest: String,
    seen: Seen,
}

/// The counts that an echo reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) records: u64,
    pub(super) lost: u64,
    pub(super) superseded: u64,
    /// The first and the number of the most that were lost at once.
    pub(super) widest: (u64, u64),
}

impl Echo {
    /// Starts it with a policy, and what it asks for: an option, and its value.
    pub(super) fn start(id: &str, policy: &str, wanted: [&str; 2]) -> Result<Echo, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["echo", "--json", "--stamp", "--policy", policy]).args(wanted).arg(id);
        let (process, lines) = Process::start(command)?;
        let shown = Arc::new(Mutex::new(Shown::default()));
        let told = shown.clone();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut shown = lock(&told);
                shown.seen.count(&line);
                if let Some((_, record)) = line.split_once("\"record\":") {
                    record[..record.len() - 1].clone_into(&mut shown.latest);
                }
            }
        });
        Ok(Echo { process, shown, reader: Some(reader) })
    }

    /// The record that it has shown last.
    pub(super) fn latest(&self) -> String {
        lock(&self.shown).latest.clone()
    }

    /// What it has seen so far.
    pub(super) fn seen(&self) -> Seen {
        lock(&self.shown).seen
    }

    /// Stops it, as if it hung.
    pub(super) fn stop(&self) -> Result<(), Failure> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        self.process.signal(Signal::CONT)
    }

    /// Interrupts it, as Ctrl-C does, and reads what it prints to the end.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.process.signal(Signal::INT)?;
        self.process.wait("isoform echo")?;
        let read = self.reader.take().map_or(Ok(()), JoinHandle::join);
        read.map_err(|_| Failure::data("reading what isoform echo prints has failed"))
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    fn count(&mut self, line: &str) {
        if line.starts_with("{\"event\"") {
            self.records += 1;
        } else if let Ok(line) = serde_json::from_str::<Value>(line)
            && let (Some(first), Some(count)) = (line["gap"]["first"].as_u64(), line["gap"]["count"].as_u64())
        {
            if line["gap"]["cause"] == "superseded" {
                self.superseded += count;
                return;
            }
            self.lost += count;
            if count > self.widest.1 {
                self.widest = (first, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_echo_shows_is_counted() {
        let mut seen = Seen::default();
        for line in [
            r#"{"joined":{"source":0,"node":"0"}}"#,
            r#"{"event":{"source":0,"sequence":0},"record":{"gap":1}}"#,
            r#"{"gap":{"source":0,"first":1,"count":7,"cause":"the sink was too slow"}}"#,
            r#"{"gap":{"source":0,"first":9,"count":2,"cause":"the sink was too slow"}}"#,
            r#"{"gap":{"source":0,"first":12,"count":8,"cause":"superseded"}}"#,
        ] {
            seen.count(line);
        }
        assert_eq!(seen, Seen { records: 1, lost: 9, superseded: 8, widest: (1, 7) });
    }
}
