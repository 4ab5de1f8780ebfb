//! The ends of a channel: sources and sinks, how they are built, and what runs on them.
//!
//! | file | what |
//! |---|---|
//! | `builder` | what a source or a sink is told before it begins; `options`: the same for the protocol |
//! | `source` | submits records of any form |
//! | `sink` | receives records of any form |
//! | `stream` | the events of a sink as a stream |
//! | `handler` | a sink that passes its events to a function; `handlers` runs these |
//! | `relay` | a sink whose events go on to a source |

pub(crate) mod builder;
pub(crate) mod handler;
pub(crate) mod handlers;
mod options;
pub(crate) mod relay;
pub(crate) mod sink;
pub(crate) mod source;
pub(crate) mod stream;
