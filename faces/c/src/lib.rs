//! Isoform for C: what `include/isoform.h` declares. That header is the manual; here is what its functions do, in a file for
//! each of its sections, with the words that the header and the Rust crates have in common.
//!
//! Every function goes through `error::call`, so that a failure becomes a code and a text, and a panic - a defect of ours -
//! one as well, instead of crossing into C. What C passes are references that may be NULL: `Option<&T>` for a handle,
//! `Option<&mut Option<Box<T>>>` for a variable that holds one. So closing sets it to NULL, and nothing here casts handles.
//! Memory that C names by an address is taken up and handed out in `pointer`, and in `table` as far as tables of fields go.
//!
//! Promises that every C program makes, by which `unsafe` blocks are proved:
//! 1. a pointer is NULL, or what the header says that it is, and nobody else changes or closes it meanwhile;
//! 2. a handle is used by one thread at a time, unless the header says that it may be used by all;
//! 3. what was lent is not used for longer than the header says.
#![allow(
    clippy::missing_safety_doc,
    clippy::missing_errors_doc,
    reason = "the header says what callers promise and what comes back"
)]

pub mod columns;
pub mod decoder;
pub mod document;
pub mod encoder;
pub mod error;
pub mod format;
pub mod kinds;
pub mod loading;
pub mod message;
mod pointer;
pub mod registry;
pub mod rules;
pub mod servers;
pub mod stream;
pub mod strided;
mod table;

#[cfg(any(unix, windows))]
pub mod channel;
#[cfg(any(unix, windows))]
pub mod emit;
#[cfg(any(unix, windows))]
pub mod node;
#[cfg(any(unix, windows))]
pub mod parameters;
#[cfg(any(unix, windows))]
pub mod sink;
#[cfg(any(unix, windows))]
pub mod source;

use std::ffi::c_char;

/// What the header says of threads: these may be used by all at once ..
const fn by_all<T: Send + Sync>() {}
/// .. and these by one after another. (A writer and a reader, too, if the program's function can be.)
const fn by_one<T: Send>() {}
const _: () = {
    by_all::<format::Format>();
    by_all::<servers::Servers>();
    by_one::<encoder::Encoder>();
    by_one::<decoder::Decoder>();
    by_one::<decoder::Blocks>();
    by_one::<document::Document>();
    by_one::<loading::Watching>();
    by_one::<loading::Watch>();
    by_one::<kinds::Kinds>();
    by_one::<columns::Columns>();
    by_one::<columns::Arrow>();
    by_one::<registry::Registry>();
    by_one::<rules::Rules>();
    by_one::<strided::Scratch>();
};
#[cfg(any(unix, windows))]
const _: () = {
    by_all::<node::Node>();
    by_all::<emit::Place>();
    by_all::<emit::Emitting>();
    by_all::<channel::Channel>();
    by_one::<source::Source>();
    by_one::<sink::Sink>();
    by_one::<sink::Handler>();
};

/// `iso_version`
#[unsafe(no_mangle)]
pub extern "C" fn iso_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
