//! What faces to other languages stand on: records whose format is known only when a program runs.
//!
//! A face says in its language what this crate can do, and decides nothing itself. So two faces that read the same word, the
//! same table of fields or the same event do the same.
//!
//! | what a face needs | where it is |
//! |---|---|
//! | a format, of a table of fields | [`table`] |
//! | what a receiver says of its fields, by name | [`rules`] |
//! | the words and numbers by which a program chooses | [`words`] |
//! | records that are bytes, as those of arrays are, to messages and back | [`flat`] |
//! | single fields of many records | [`columns`] |
//! | messages to objects, by a body of the receiver's own format | [`convert`] |
//! | sources and sinks of channels, of records or of messages | [`source`], [`sink`] |
//! | to wait, and to look after other things meanwhile | [`wait`] |
//!
//! How records become messages and messages records is `isoform`'s affair; this crate only drives it. Channels are for Unix so
//! far, and so are the modules about them.
#![deny(unsafe_code)]

pub mod columns;
pub mod convert;
pub mod flat;
pub mod rules;
#[cfg(unix)]
pub mod sink;
#[cfg(unix)]
pub mod source;
pub mod table;
pub mod wait;
pub mod words;
