//! Streams: sequences of messages, through files, pipes and sockets (`spec/message.md`, "Streams").
//!
//! A stream contains the description of each format before the first message of that format. So a reader needs no other
//! source of formats, and two streams appended to each other are a stream. [`Writer`] writes a stream. [`Reader`] reads
//! one, also while it is being written. Encoders turn records into messages; decoders and views read received messages.
//!
//! ```
//! use isoform::stream::{Reader, Writer};
//! use isoform::{Decoder, Encoder, Record};
//! #[derive(Record, Debug, PartialEq, Clone, Copy)]
//! #[repr(C)]
//! struct Gauge {
//!     id: u32,
//!     depth: f64,
//! }
//! let mut writer = Writer::new(Vec::new()); // or a file, a socket, standard output
//! let mut encoder = Encoder::new();
//! for id in 1..=3 {
//!     writer.write(&encoder.encode(&Gauge { id, depth: 0.5 })?)?;
//! }
//! let bytes = writer.into_inner();
//!
//! let mut reader = Reader::new(&bytes[..]);
//! let mut decoder = Decoder::<Gauge>::new();
//! let mut depths = Vec::new();
//! while let Some(message) = reader.next()? {
//!     depths.push(decoder.decode(&message)?.depth);
//! }
//! assert_eq!(depths, [0.5; 3]);
//! # Ok::<(), isoform::Error>(())
//! ```

mod append;
#[cfg(feature = "query")]
mod asked;
mod buffer;
mod index;
mod reader;
mod writer;

pub use append::{Appended, Healed};
#[cfg(feature = "query")]
pub use asked::Asked;
pub use index::Index;
pub use reader::{Gap, Reader};
pub use writer::Writer;

use isoform_core::{Code, Error};

/// An error of the operating system when reading or writing; or one of Isoform's own, if what is below reads another kind of file.
fn io_error(error: &std::io::Error) -> Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    own.cloned().unwrap_or_else(|| Error::new(Code::Io).found(error))
}
