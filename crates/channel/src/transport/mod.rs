//! How bytes get from one node to another: addresses, listening, dialing, sockets, and waiting for them.
//!
//! What the bytes mean is left to the protocol; which thread reads and writes when, to [`crate::drive`].

pub(crate) mod address;
pub(crate) mod dial;
pub(crate) mod listener;
pub(crate) mod poll;
pub(crate) mod socket;
