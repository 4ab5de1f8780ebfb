//! What exchanging records costs, beside what the machine can do at best and what one would write by hand.
//!
//! A [`Workload`] is a record and what is in it; a [`Case`] is how the sender's record differs from the receiver's. For
//! every pair of formats that these two give, C is generated, compiled and loaded ([`mod@compiled`]); that, `memcpy` and
//! Isoform's engines run in turns ([`measure`]) on the same buffers ([`place`]), after their results have been compared
//! with the record as it must arrive ([`fill`]). Each group of measurements ([`convert`], ...) gives [`Line`]s, which
//! [`report`] prints as a table or as JSON, and [`page`] makes a report of.

pub mod batch;
pub mod case;
pub mod channel;
pub mod compiled;
pub mod convert;
#[cfg(unix)]
pub mod emitted;
pub mod evolve;
pub mod files;
pub mod fill;
pub mod generate;
pub mod lookup;
pub mod measure;
pub mod options;
pub mod page;
pub mod peers;
pub mod place;
pub mod plain;
#[cfg(unix)]
pub mod published;
pub mod query;
pub mod random;
pub mod receive;
pub mod records;
pub mod report;
pub mod roundtrip;
pub mod send;
#[cfg(unix)]
pub mod service;
pub mod text;
pub mod workload;
pub mod xmit;

pub use case::Case;
pub use channel::Measure;
use isoform_kernels::Level;
pub use measure::Effort;
pub use options::{Group, Options};
pub use peers::Peers;
pub use report::Line;
pub use workload::Workload;

/// Whatever can go wrong is said to the person who measures, and ends the run.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures what was asked for. Lines are handed to `line` as soon as they are there.
///
/// # Errors
/// If an engine's result differs from what must arrive, if `line` fails, or if this process used better instructions before.
pub fn run(options: &Options, mut line: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let level = options.level.unwrap_or_else(Level::best);
    if !level.limit() {
        return Err(format!("{} are in use already, so this process cannot do with {level}", Level::best()).into());
    }
    let unit = if measure::is_counting() { "instructions" } else { "ns" };
    let mut line = |made: Line| line(made.word("level", level.word()).word("unit", unit));
    let wanted = options.peers
        && options.groups.iter().any(|group| matches!(group, Group::Send | Group::Receive | Group::Roundtrip));
    let peers = if wanted { Peers::new()? } else { Peers::default() };
    peers.skipped.iter().try_for_each(|(peer, install)| line(Line::skipped(peer, install)))?;
    for group in &options.groups {
        if *group == Group::Channel {
            channel::run(options, &mut line)?;
            continue;
        }
        if *group == Group::Load {
            channel::run_load(options, &mut line)?;
            continue;
        }
        if *group == Group::Service {
            #[cfg(unix)]
            service::run(options, &mut line)?;
            #[cfg(not(unix))]
            line(Line::skipped("the format service", "a Unix system"))?;
            continue;
        }
        if *group == Group::Xmit {
            xmit::run(options, &mut line)?;
            continue;
        }
        if *group == Group::Files {
            #[cfg(unix)]
            files::run(options, &mut line)?;
            #[cfg(not(unix))]
            line(Line::skipped("recordings", "a Unix system"))?;
            continue;
        }
        if *group == Group::Query {
            query::run(options, &mut line)?;
            continue;
        }
        if *group == Group::Random {
            random::run(options, &mut line)?;
            continue;
        }
        for workload in &options.workloads {
            match group {
                Group::Send => {
                    send::run(workload, options, &mut line)?;
                    peers.send(workload, options, &mut line)?;
                }
                Group::Receive => {
                    receive::run(workload, options, &mut line)?;
                    peers.receive(workload, options, &mut line)?;
                }
                Group::Roundtrip => roundtrip::run(workload, &peers, options, &mut line)?,
                Group::Convert => convert::run(workload, options, &mut line)?,
                Group::Evolve => evolve::run(workload, options, &mut line)?,
                Group::Generate => generate::run(workload, options, &mut line)?,
                Group::Batch => batch::run(workload, options, &mut line)?,
                Group::Text => text::run(workload, options, &mut line)?,
                Group::Channel
                | Group::Load
                | Group::Service
                | Group::Files
                | Group::Xmit
                | Group::Query
                | Group::Random => {}
            }
        }
    }
    Ok(())
}
