//! Records exchanged in the sender's own memory representation: what a Rust program imports.

// So that what the derives write, which says `::isoform`, also works in here.
extern crate self as isoform;

mod decoder;
mod default;
mod encoder;
pub mod message;
mod native;
mod record;
pub mod registry;
pub mod stream;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use isoform_core::*;
pub use isoform_derive::{Enumeration, Record};
pub use message::{Header, Incoming, Message};
pub use native::{Array, Bf16, Char, Complex, F16, F128, Flat, Native, Real, Ref, Slice, Str};
pub use record::{Owned, Record};
pub use registry::{Registry, Resolver};

/// What the derives write refers to this. Not for programs: it changes without notice.
#[doc(hidden)]
pub mod derive {
    pub use crate::default::Defaulted;
    pub use crate::native::scratch::Scratch;
    pub use crate::native::{Fields, Flat, MAX_ALIGN, Native, Part, Placed, deeper, enumeration, format};
    pub use crate::record::{Owned, OwnedPart, Record};
    pub use isoform_core::{Element, Format, Result, Rules, Value};
    pub use std::mem::{align_of, needs_drop, offset_of, size_of};
    pub use std::sync::OnceLock;
}

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
