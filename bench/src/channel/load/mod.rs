//! The group `load`: many sinks, many channels, and many connections that come and go.
//!
//! Each measure is a file, and its lines have the bare socket of the same run beside them:
//!
//! | | |
//! |---|---|
//! | `fanout` | the processor time of an event of one source, for each of ten and of a hundred sink processes |
//! | `channels` | round trip and descriptors, with two and with a thousand channels between two processes |
//! | `tls` | round trip and bandwidth over TLS, beside a bare stream of rustls |
//! | `connects` | what thousands of nodes that come and go leave behind at the node that they met |
//! | `strangers` | the processor time of a submitted event, with troublemakers and without them |

mod channels;
mod connects;
mod cost;
mod fanout;
mod strangers;
mod tls;

pub(super) use channels::Many;
pub(super) use connects::visit;
pub(super) use cost::{descriptors, processor};
pub(super) use fanout::{Crowded, Handled, raw};
pub(super) use strangers::Trouble;

use super::Measure;
use crate::{Line, Options, Result};

/// Measures what was asked for.
///
/// # Errors
/// If an event is lost or wrong, a process cannot be started, or `line` fails.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    options.measures.iter().try_for_each(|measure| match measure {
        Measure::Fanout => fanout::run(options, line),
        Measure::Channels => channels::run(options, line),
        Measure::Connects => connects::run(options, line),
        Measure::Tls => tls::run(options, line),
        Measure::Strangers => strangers::run(options, line),
        _ => Ok(()),
    })
}

fn about(measure: Measure) -> Line {
    Line::of("load").word("measure", measure.name())
}
