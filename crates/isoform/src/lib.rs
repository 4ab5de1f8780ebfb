//! Records exchanged in the sender's own memory representation.
//!
//! A struct is sent as it lies in memory, behind a token that names its layout. A receiver of the same layout uses it where
//! it was received; any other converts it, field by field, by name.
//!
//! ```
//! use isoform::{Decoder, Encoder, Incoming, Record, Registry};
//!
//! #[derive(Record, Debug, PartialEq)]
//! #[repr(C)]
//! struct Point {
//!     x: f64,
//!     y: f64,
//! }
//!
//! // Here it is sent ..
//! let mut encoder = Encoder::new();
//! let bytes = encoder.encode(&Point { x: 1.0, y: 2.0 })?.to_vec();
//!
//! // .. and there it is received, by whoever knows its format.
//! let mut registry = Registry::new();
//! registry.register(Point::format())?;
//! let message = Incoming::parse(&bytes, &mut registry)?;
//! let mut decoder = Decoder::<Point>::new();
//! assert_eq!(decoder.decode(&message)?, &Point { x: 1.0, y: 2.0 });
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! Sender and receiver need not agree on a struct: the receiver may have fewer fields, or more, or others of their types.
//! `#[isoform(alias = "temperature", default = 293.15)]` and the like say what a [`Record`] does then. Nor does the
//! receiver have to know formats in advance: a [`stream`] carries their descriptions with it, and a message of
//! any format can be [viewed](Incoming::view) without a struct.
//!
//! With the feature `generate`, machine code is made for pairs of layouts whose records come by the thousand, which
//! converts them several times as fast; see [`Engine`]. It is off at first, since it takes a code generator of 4 MB and
//! minutes of build.
//!
//! | | |
//! |---|---|
//! | [`Record`], [`Enumeration`](macro@Enumeration) | derives for structs and enumerations |
//! | [`Str`], [`Slice`], [`Array`], [`Ref`] | borrowed parts of records: sent by reference, received in place |
//! | [`Strided`] | arrays whose elements do not lie side by side: gathered when they are sent |
//! | [`Encoder`], [`Message`] | records to messages, as vectors of buffers |
//! | [`Shared`] | bodies of messages that are kept, or sent to many |
//! | [`Incoming`], [`Decoder`] | messages to records |
//! | [`Batch`], [`Columns`] | many messages at once; their fields as arrays |
//! | [`Aligned`] | memory for bodies that come, where they can be used in place |
//! | [`memory`] | both for records whose format is known only when the program runs |
//! | [`View`], [`text`] | fields of any message, by name or as text |
//! | [`stream`], [`Registry`] | messages one after another, and the formats that are known |
//! | [`Format`], [`plan`] and others | what everything is made of: see [`isoform_core`] |

// So that what the derives write, which says `::isoform`, also works in here.
extern crate self as isoform;

mod decoder;
mod default;
mod encoder;
pub mod memory;
pub mod message;
mod native;
mod record;
pub mod stream;

pub use decoder::{Column, Columns, Decoder};
pub use encoder::Encoder;
pub use isoform_core::*;
pub use isoform_derive::{Enumeration, Record};
pub use memory::Engine;
pub use message::{Batch, Header, Incoming, Message, Shared};
pub use native::scratch::Scratch;
pub use native::{Aligned, Array, Bf16, Char, Complex, F16, F128, Flat, Native, Real, Ref, Slice, Str, Strided};
pub use record::{Owned, Record};

/// What the derives write refers to this. Not for programs: it changes without notice.
#[doc(hidden)]
pub mod derive {
    pub use crate::default::{Defaulted, default};
    pub use crate::native::scratch::Scratch;
    pub use crate::native::{Declared, Fields, Flat, MAX_ALIGN, Native, Part, Placed};
    pub use crate::native::{deeper, enumeration, format, nested_rules, structure};
    pub use crate::record::{Owned, OwnedPart, Record};
    pub use isoform_core::{Element, Format, Result, Rules, Value};
    pub use std::mem::{align_of, needs_drop, offset_of, size_of};
    pub use std::sync::OnceLock;
}

/// The programs of the README and of other documents compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/reference/limits.md")]
#[doc = include_str!("../../../README.md")]
struct Readme;
