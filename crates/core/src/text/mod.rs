//! Records as text for people and other programs: JSON in both directions, and cells of a table.
//!
//! A [`View`](crate::View) is turned into text without converting the record. Parsed text becomes a
//! [`Value`](crate::Value), which [`value::body`](crate::value::body) turns into a body.

mod base64;
pub mod format;
pub mod json;
mod shown;
pub mod table;

pub use shown::{Shown, is_hidden};
