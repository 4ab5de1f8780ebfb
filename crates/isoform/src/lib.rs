//! Exchanges records in the sender's own memory representation.
//!
//! A sender sends a struct as it lies in memory, behind a token that names its layout. A receiver whose struct has the
//! same layout uses the bytes where they were received. Any other receiver converts them, field by field, by name.
//!
//! # Send and receive records
//!
//! A [`stream`] carries messages one after another, through a file, a pipe or a socket. It describes each format before
//! the first message of that format, so a reader needs to know nothing in advance.
//!
//! ```
//! use isoform::stream::{Reader, Writer};
//! use isoform::{Decoder, Encoder, Record};
//!
//! #[derive(Record, Debug, PartialEq)]
//! struct Station {
//!     name: String,
//!     depths: Vec<f64>,
//! }
//!
//! let mut writer = Writer::new(Vec::new()); // or a file, a socket, standard output
//! let kiel = Station { name: "Kiel".into(), depths: vec![0.5, 1.5] };
//! writer.write(&Encoder::new().encode(&kiel)?)?;
//! let bytes = writer.into_inner();
//!
//! let mut reader = Reader::new(&bytes[..]);
//! let mut decoder = Decoder::<Station>::new();
//! while let Some(message) = reader.next()? {
//!     assert_eq!(decoder.decode_owned(&message)?, kiel);
//! }
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! Keep encoders and decoders: they reuse their memory, and a decoder works out once how it converts a format.
//!
//! # Without copies
//!
//! A record that is `#[repr(C)]`, with [`Str`] and [`Slice`] for text and arrays, is sent from where it lies. An encoder
//! refers to large arrays instead of copying them, and a decoder borrows from the message what needs no conversion.
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
//! let bytes = Encoder::new().encode(&Point { x: 1.0, y: 2.0 })?.to_vec();
//!
//! // Outside of a stream, a registry says which formats are known.
//! let mut registry = Registry::new();
//! registry.register(Point::format())?;
//! let message = Incoming::parse(&bytes, &mut registry)?;
//! assert_eq!(Decoder::<Point>::new().decode(&message)?, &Point { x: 1.0, y: 2.0 });
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! # When the two sides differ
//!
//! Sender and receiver need not have the same struct. The receiver may have fewer fields or more, in another order and of
//! other types; `alias`, `default` and `required` say what a [`Record`](macro@Record) does then.
//!
//! ```
//! # use isoform::{Decoder, Encoder, Incoming, Record, Registry};
//! #[derive(Record)]
//! #[repr(C)]
//! struct Sent {
//!     temp: f32,
//!     step: u16,
//! }
//! #[derive(Record, Debug, PartialEq)]
//! #[repr(C)]
//! struct Seen {
//!     step: i64,
//!     #[isoform(alias = "temp")]
//!     temperature: f64,
//!     #[isoform(default = 1.0)]
//!     weight: f64,
//! }
//! # let bytes = Encoder::new().encode(&Sent { temp: 281.5, step: 7 })?.to_vec();
//! # let mut registry = Registry::new();
//! # registry.register(Sent::format())?;
//! let message = Incoming::parse(&bytes, &mut registry)?; // of Sent { temp: 281.5, step: 7 }
//! let mut decoder = Decoder::<Seen>::new();
//! assert_eq!(decoder.decode(&message)?, &Seen { step: 7, temperature: 281.5, weight: 1.0 });
//!
//! // A view reads fields of any format by name or path, without a struct.
//! let view = message.view()?;
//! assert_eq!((view.i64("step")?, view.f64("temp")?), (7, 281.5));
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | declare records and enumerations | [`Record`](macro@Record), [`Enumeration`](macro@Enumeration) |
//! | hold text, arrays and single records in them | [`Str`], [`Slice`], [`Array`], [`Ref`], or `String`, `Vec`, `Option<Box<T>>` |
//! | encode records as messages | [`Encoder`], [`Message`] |
//! | decode messages to records | [`Decoder`], [`Incoming`]; [`Faults`] for numbers that do not fit, [`Missing`] for fields that do not come |
//! | decode messages of several kinds of records | [`KindDecoder`], [`Kinds`](macro@Kinds) |
//! | be generic over what a receiver makes of messages | [`mod@form`] |
//! | write and read streams | [`stream::Writer`], [`stream::Reader`] |
//! | read fields without a struct, or print messages | [`View`], [`text`] |
//! | know formats, and ask for unknown ones | [`Format`], [`Token`], [`Registry`], [`Resolver`] |
//! | bound what a stranger can make a receiver do | [`Limits`] |
//! | let others watch a program, by one line for each place | [`emit!`], [`mod@emit`] |
//! | handle errors | [`Error`], and its [`Code`] |
//! | keep a message, or send it to many | [`Shared`] |
//! | send arrays whose elements do not lie side by side | [`Strided`], [`Scratch`] |
//! | decode many messages at once, as records or as arrays of fields | [`Batch`], [`Columns`] |
//! | receive into memory where records can be used in place | [`Aligned`] |
//! | exchange records whose format is known only at run time | [`memory`], [`FieldList`], [`Rules`] |
//! | inspect or build formats, plans, values and verifiers | [`core`] |
//!
//! The module [`core`] has the name of the standard library's. In a module that imports `isoform::*`, write
//! `::core` for that one.
//!
//! # Features
//!
//! With the feature `generate`, a decoder makes machine code for pairs of layouts whose records come by the thousand, and
//! converts them several times as fast; see [`Engine`]. The feature is off by default: its code generator takes 4 MB, and
//! minutes to build.

// The derives write `::isoform`: with this it also works in here.
extern crate self as isoform;

mod decoder;
mod default;
pub mod emit;
mod encoder;
pub mod form;
pub mod memory;
pub mod message;
mod native;
mod record;
pub mod stream;
mod timing;

// In the order in which a program comes to need them. What else formats are made of is in `core`.

// Records and their parts,
pub use isoform_derive::{Enumeration, Kinds, Record};
pub use native::{
    Array, Bf16, Char, Complex, DoubleDouble, F16, F128, Flat, Native, Real, Ref, Slice, Str, Strided, X87,
};
pub use record::{Owned, Record};
// to send them,
pub use encoder::Encoder;
pub use message::{Message, Shared};
pub use native::scratch::Scratch;
// and to receive them.
pub use decoder::{Column, Columns, Decoder};
pub use form::message::Messages;
pub use form::one_of::{KindDecoder, Kinds};
pub use isoform_core::{Faults, Missing};
#[cfg(feature = "query")]
pub use isoform_query::Query;
pub use memory::Engine;
pub use message::{Batch, Incoming};
pub use native::Aligned;
pub use timing::{code, timed};
// Formats, those that are known, and messages without a struct.
pub use isoform_core::{FieldList, Format, Limits, Machine, Registry, Resolver, Rules, Token, View, text};
// What goes wrong.
pub use isoform_core::{Class, Code, Error, Result};

/// What formats, plans, values and verifiers are made of: the crate `isoform-core`.
#[doc(no_inline)]
pub use isoform_core as core;

/// What the derives write refers to this. Not for programs: it changes without notice.
#[doc(hidden)]
pub mod derive {
    pub use crate::default::{Defaulted, default};
    pub use crate::form::one_of::{Kinds, Settings, borrowed, owned};
    pub use crate::form::{Accepts, Body, Form};
    pub use crate::native::scratch::Scratch;
    pub use crate::native::{Declared, Fields, Flat, MAX_ALIGN, Native, Part, Placed};
    pub use crate::native::{deeper, enumeration, format, nested_rules, structure};
    pub use crate::record::{Owned, OwnedPart, Record};
    pub use crate::{Decoder, Incoming, KindDecoder};
    pub use isoform_core::plan::Kind;
    pub use isoform_core::{Element, Faults, Format, Missing, Result, Rules, Value};
    pub use std::mem::{align_of, needs_drop, offset_of, size_of};
    pub use std::sync::OnceLock;
    pub use std::vec::Vec;
}

/// The programs of the README and of other documents compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/rust.md")]
#[doc = include_str!("../../../docs/book/reference/limits.md")]
#[doc = include_str!("../../../README.md")]
struct Readme;
