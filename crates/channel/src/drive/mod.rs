//! What the threads of a node share, and how they drive its connections: the protocol under its lock, waiting, reading, writing.
//!
//! What the application sees of it is in [`crate::api`]; what carries the bytes, in [`crate::transport`].

pub(crate) mod bell;
pub(crate) mod hub;
pub(crate) mod keeper;
pub(crate) mod machine;
pub(crate) mod reader;
pub(crate) mod state;
pub(crate) mod unwritten;
pub(crate) mod wait;
pub(crate) mod wire;
