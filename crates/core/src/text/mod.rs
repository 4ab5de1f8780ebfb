//! Records as text for people and other programs: JSON in both directions, and cells of a table.
//!
//! Text is made from a [`View`](crate::View), without converting the record first. Text that comes in becomes a
//! [`Value`](crate::Value), of which [`value::body`](crate::value::body) makes a body.

mod base64;
pub mod json;
pub mod table;
