//! Messages: [`Message`] is one to be sent, as an encoder makes it, [`Shared`] its body, owned; [`Incoming`] is one that came, and a [`Batch`] many.

mod batch;
mod incoming;
mod outgoing;
mod shared;

pub use batch::Batch;
pub use incoming::Incoming;
pub use isoform_core::message::{ALIGNMENT, Flags, HEADER, Header, Split, split};
pub use outgoing::Message;
pub use shared::Shared;
pub(crate) use shared::admit_body;
