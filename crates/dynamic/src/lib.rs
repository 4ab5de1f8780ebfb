//! What faces to other languages stand on: records whose format is known only when a program runs.
//!
//! A face says in its language what this crate can do, and decides nothing itself. So two faces that read the same word, the
//! same table of fields or the same event do the same. [`table`] makes formats of tables of fields, [`rules`] has what a receiver
//! says of its fields, [`words`] the words by which a program chooses.
//!
//! How records become messages and messages records is `isoform`'s affair; this crate only drives it.
#![deny(unsafe_code)]

pub mod rules;
pub mod table;
pub mod words;
