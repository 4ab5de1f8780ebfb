//! What others use for events, which need both processes to themselves: MPI, CORBA's event service, and XML.
//!
//! Each is a small program in C or C++ that is compiled against what is installed here. It starts its second process, takes
//! the times by itself, and is told the rounds over its standard input, so that it takes turns with the other ways.

use super::cores::Place;
use crate::compiled::{Directory, compiler, execute, tuned};
use crate::measure::Times;
use crate::{Line, Result};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const EVENTS: &str = include_str!("events.h");

/// One of them.
struct Kind {
    name: &'static str,
    install: &'static str,
    /// Compiles the program of this name.
    build: fn(&Path) -> Result<()>,
    /// What stands in front of the program's name.
    starter: &'static [&'static str],
    /// It takes part in rounds of fewer events, by this factor.
    fewer: u32,
    /// Whether it takes all the time of a core while it waits, so that two processes need two cores.
    spins: bool,
    /// What a reader of its figures must know.
    note: &'static str,
    /// What succeeds if it is installed.
    probe: &'static [&'static str],
}

const PROGRAM: &str = "events";

const KINDS: &[Kind] = &[
    Kind {
        name: "MPICH",
        install: "apt-get install mpich libmpich-dev",
        build: |directory| c(directory, "mpicc.mpich", include_str!("mpi.c"), &[]),
        // By TCP between processes of one machine as well.
        starter: &["mpiexec.mpich", "-genv", "MPIR_CVAR_NOLOCAL", "1", "-n", "2"],
        fewer: 1,
        spins: true,
        note: "spins on both cores",
        probe: &["mpiexec.mpich", "--version"],
    },
    Kind {
        name: "CORBA events (omniORB)",
        install: "apt-get install libomniorb4-dev libcos4-dev omniidl",
        build: corba,
        starter: &[],
        fewer: 20,
        spins: false,
        note: "each event is a call, which waits for its return",
        probe: &["c++", "-fsyntax-only", "-include", "COS/CosEventComm.hh", "-x", "c++", "/dev/null"],
    },
    Kind {
        name: "XML (Expat)",
        install: "apt-get install libexpat1-dev",
        build: |directory| c(directory, &compiler(), include_str!("xml.c"), &["-lexpat"]),
        starter: &[],
        fewer: 50,
        spins: false,
        note: "",
        probe: &["cc", "-fsyntax-only", "-include", "expat.h", "-x", "c", "/dev/null"],
    },
];

/// Those that are here, compiled.
pub(super) struct Others(Vec<(&'static Kind, Directory)>);

impl Others {
    /// Compiles those that are installed, and hands lines that name the others to `line`.
    pub(super) fn new(line: &mut impl FnMut(Line) -> Result<()>) -> Result<Others> {
        let mut others = Vec::new();
        for kind in KINDS {
            let probe = Command::new(kind.probe[0]).args(&kind.probe[1..]).output();
            if !probe.is_ok_and(|output| output.status.success()) {
                line(Line::skipped(&format!("{}, of the group channel", kind.name), kind.install))?;
                continue;
            }
            let directory = Directory::new()?;
            (kind.build)(directory.path()).map_err(|error| format!("{}: {error}", kind.name))?;
            others.push((kind, directory));
        }
        Ok(Others(others))
    }

    /// Nobody.
    pub(super) fn none() -> Others {
        Others(Vec::new())
    }

    /// Starts the programs of those that can use so many cores, for events of so many bytes. On two cores, each of their
    /// processes has one for itself, as ours have.
    pub(super) fn start(&self, bytes: usize, cores: usize) -> Result<Vec<Other>> {
        let able = self.0.iter().filter(|(kind, _)| cores > 1 || !kind.spins);
        let places = if cores > 1 { &[Place::Last, Place::Other][..] } else { &[] };
        let places: Vec<usize> = places.iter().filter_map(|place| place.core()).collect();
        able.map(|(kind, directory)| Other::start(kind, directory.path(), bytes, &places)).collect()
    }
}

fn c(directory: &Path, compiler: &str, source: &str, libraries: &[&str]) -> Result<()> {
    let file = directory.join("events.c");
    fs::write(&file, [EVENTS, source].concat())?;
    execute(Command::new(compiler).args(tuned()).arg("-o").arg(directory.join(PROGRAM)).arg(file).args(libraries))
}

fn corba(directory: &Path) -> Result<()> {
    let (idl, file) = (directory.join("events.idl"), directory.join("events.cc"));
    fs::write(&idl, include_str!("events.idl"))?;
    execute(Command::new("omniidl").args(["-bcxx", "-Wba", "-C"]).arg(directory).arg(&idl))?;
    let stubs = "#include \"eventsSK.cc\"\n#include \"eventsDynSK.cc\"\n";
    fs::write(&file, [stubs, EVENTS, include_str!("corba.cc")].concat())?;
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(tuned()).args(["-w", "-o"]).arg(directory.join(PROGRAM)).arg(file).arg("-I").arg(directory);
    execute(command.args(["-lCOS4", "-lCOSDynamic4", "-lomniDynamic4", "-lomniORB4", "-lomnithread", "-lpthread"]))
}

/// A program that runs.
pub(super) struct Other {
    kind: &'static Kind,
    child: Child,
    /// `None` at the end, which the program learns so.
    told: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Other {
    fn start(kind: &'static Kind, directory: &Path, bytes: usize, cores: &[usize]) -> Result<Other> {
        let program = directory.join(PROGRAM);
        let mut command = match kind.starter.split_first() {
            None => Command::new(program),
            Some((first, others)) => {
                let mut command = Command::new(first);
                command.args(others).arg(program);
                command
            }
        };
        // An event has a number, what is to be done with it, and a count, besides its values.
        command.arg((bytes.saturating_sub(12) / size_of::<f32>()).to_string());
        command.args(cores.iter().map(usize::to_string));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (told, answers) = (child.stdin.take(), child.stdout.take().ok_or("a process without output")?);
        Ok(Other { kind, child, told, answers: BufReader::new(answers) })
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Whether it takes all the time of a core while it waits.
    pub(super) fn spins(&self) -> bool {
        self.kind.spins
    }

    /// What a reader of its figures must know, or nothing.
    pub(super) fn note(&self) -> &'static str {
        self.kind.note
    }

    /// The time of each of so many round trips, or fewer.
    pub(super) fn round_trips(&mut self, count: u32) -> Result<Times> {
        self.ask("rtt", count / self.kind.fewer.min(count / 2).max(1))
    }

    /// The time of an event, on average, until the other process has so many, or fewer.
    pub(super) fn one_way(&mut self, count: u32) -> Result<Times> {
        self.ask("rate", count / self.kind.fewer.min(count / 2).max(1))
    }

    fn ask(&mut self, deed: &str, count: u32) -> Result<Times> {
        // Words are as long for either.
        writeln!(self.told.as_mut().ok_or("it was to end")?, "{deed:<4}{count}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let times = answer.split_whitespace().map(str::parse).collect::<Result<Times, _>>();
        match times {
            Ok(times) if times.median() > 0.0 => Ok(times),
            _ => Err(format!("{}: an event is lost or wrong, or the program has ended", self.kind.name).into()),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.told = None;
        // Events that are under way may take a moment. If it has failed, the other process may wait for ever.
        for _ in 0..300 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
