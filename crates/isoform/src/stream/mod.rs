//! Streams: messages one after another, through files, pipes and sockets (`spec/message.md`, "Stream").
//!
//! A description is a message of its own kind, sent before the first message of its format. So a stream explains
//! itself, and two streams one after another are a stream. [`Writer`] writes one; [`Reader`] reads one, also while it
//! is being written. Turning a record into a message is the encoder's work, and reading one that came the decoder's
//! or a view's.

mod buffer;
mod reader;
mod writer;

pub use reader::{MESSAGE_SIZE, Reader};
pub use writer::Writer;

use isoform_core::{Code, Error};

/// A failure of the operating system to read or write.
fn io_error(error: &std::io::Error) -> Error {
    Error::new(Code::Io).came(error)
}
