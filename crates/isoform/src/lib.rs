//! Records exchanged in the sender's own memory representation: what a Rust program imports.

pub mod message;
pub mod registry;
pub mod stream;

pub use isoform_core::*;
pub use message::Incoming;
pub use registry::{Registry, Resolver};
