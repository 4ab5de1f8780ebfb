//! The group `channel`: what it costs that an event goes from one program to another, beside a bare socket and ZeroMQ.
//!
//! Two processes: this one, which takes the times, and a `partner`, the same program again. Every `Way` of getting an event
//! across has an end in both; in short rounds they take `turns`, with the same number of events of the same size. `raw` is
//! what a program would write that has a socket and one kind of record; `zeromq` is PUB and SUB of libzmq; `ours`, channels.
//!
//! It is measured with both processes on one core, where nothing but the work counts, and with each on a core of its own,
//! where waking the other core is most of a round trip. Large events are submitted by reference, and with shared ownership
//! (`owned`); small ones one by one, and many at once (`many`). Where they are installed, MPI, CORBA's event service and XML
//! (`others`) take turns with round trips and bandwidths by TCP. The group `load` is in a folder of its own. Besides, `fanout` looks whether a sink that is stopped slows nine others,
//! and `local` at one thread.

#[cfg(unix)]
pub(crate) mod cores;
#[cfg(unix)]
mod ends;
#[cfg(unix)]
mod event;
#[cfg(unix)]
mod fanout;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod local;
#[cfg(unix)]
mod others;
#[cfg(unix)]
mod ours;
#[cfg(unix)]
mod pair;
#[cfg(unix)]
mod partner;
#[cfg(unix)]
mod raw;
#[cfg(unix)]
pub(crate) mod turns;
#[cfg(unix)]
mod zeromq;

use crate::{Group, Line, Options, Result};
#[cfg(unix)]
pub use partner::{PARTNER, serve};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// An event, and the answer to it.
    Rtt,
    /// Small events, one after another.
    Rate,
    /// Events of 100 bytes to a megabyte, one after another.
    Bandwidth,
    /// Events to ten sinks, one of which does not receive; in the group `load`, to ten and to a hundred sinks.
    Fanout,
    /// Events within a thread.
    Local,
    /// Events that nobody wants.
    Idle,
    /// Many channels between two processes.
    Channels,
    /// Nodes that come and go.
    Connects,
    /// Events over TLS.
    Tls,
    /// Events beside those who want to slow them.
    Strangers,
}

impl Measure {
    /// All of them.
    pub const ALL: &[Measure] = &[
        Measure::Rtt,
        Measure::Rate,
        Measure::Bandwidth,
        Measure::Fanout,
        Measure::Local,
        Measure::Idle,
        Measure::Channels,
        Measure::Connects,
        Measure::Tls,
        Measure::Strangers,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Rtt => "rtt",
            Measure::Rate => "rate",
            Measure::Bandwidth => "bandwidth",
            Measure::Fanout => "fanout",
            Measure::Local => "local",
            Measure::Idle => "idle",
            Measure::Channels => "channels",
            Measure::Connects => "connects",
            Measure::Tls => "tls",
            Measure::Strangers => "strangers",
        }
    }

    /// The group to which it belongs, if no group is named.
    pub fn group(self) -> Group {
        match self {
            Measure::Channels | Measure::Connects | Measure::Tls | Measure::Strangers => Group::Load,
            _ => Group::Channel,
        }
    }
}

/// Measures what was asked for.
///
/// # Errors
/// If an event is lost or wrong, a process cannot be started, or `line` fails.
#[cfg(unix)]
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    if options.peers && zeromq::Library::open().is_err() {
        line(Line::skipped("ZeroMQ", "apt-get install libzmq5"))?;
    }
    pair::run(options, line)?;
    options.measures.iter().try_for_each(|measure| match measure {
        Measure::Fanout => fanout::run(options, line),
        Measure::Local => local::handled(options, line),
        Measure::Idle => local::idle(options, line),
        _ => Ok(()),
    })
}

/// Measures what the group `load` has of that: see [`mod@self`].
///
/// # Errors
/// As [`run`].
#[cfg(unix)]
pub fn run_load(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    load::run(options, line)
}

/// Nanoseconds that each of these numbers of bytes takes from one process to another on a bare TCP socket: half of a
/// round trip. Also returns the cores that the two processes have between them.
///
/// # Errors
/// If a process cannot be started.
#[cfg(unix)]
pub fn transfers(options: &Options, sizes: &[usize]) -> Result<(Vec<f64>, usize)> {
    pair::transfers(options, sizes)
}

/// Fails: there is nobody at the other end.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn transfers(_: &Options, _: &[usize]) -> Result<(Vec<f64>, usize)> {
    Err("a transfer between processes needs a Unix system".into())
}

/// Says that there is nothing to measure.
///
/// # Errors
/// If `line` fails.
#[cfg(not(unix))]
pub fn run_load(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    run(options, line)
}

/// Says that there is nothing to measure.
///
/// # Errors
/// If `line` fails.
#[cfg(not(unix))]
pub fn run(_: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    line(Line::skipped("channels", "a system with Unix sockets"))
}
