//! Messages. An encoder creates a [`Message`]; [`Shared`] owns the body of one. [`Incoming`] is a received message, and
//! a [`Batch`] many of them.

mod batch;
mod incoming;
mod outgoing;
mod pieces;
mod shared;

pub use batch::Batch;
pub use incoming::Incoming;
pub use isoform_core::message::{ALIGNMENT, Flags, HEADER, Header, Split, split};
pub use outgoing::Message;
pub(crate) use pieces::write_pieces;
pub use shared::Shared;
pub(crate) use shared::admit_body;
