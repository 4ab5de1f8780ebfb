//! The interface for applications: nodes, channels, their sources, sinks and handlers, and events.
//!
//! [`crate::drive`] does the work behind it.

pub(crate) mod budget;
pub(crate) mod channel;
pub mod emitting;
pub(crate) mod event;
pub(crate) mod id;
pub(crate) mod keys;
pub(crate) mod life;
mod listening;
pub(crate) mod node;
pub(crate) mod nonce;
pub(crate) mod parameters;
mod protection;
