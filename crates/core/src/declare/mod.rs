//! Declarations, from which formats are made: types in words, fields with their places, and the layouts of machines.
//!
//! | what is known | what makes a format of it |
//! |---|---|
//! | names, types, sizes and offsets of one structure | [`FieldList`] |
//! | the same of several that nest each other: a C table, a dtype, debug information | [`Tables`] |
//! | names and types: a C header, a schema, a text | [`Shape`], laid out by the rules of a [`Layout`] |
//!
//! Types are written in words, such as `unsigned long[n]`; [`Type`] parses and prints them. [`format`](crate::format)
//! has finished formats, with their descriptions and tokens. It does not use this module.

mod cursor;
mod declaration;
mod field_list;
mod layout;
mod member;
mod shape;
mod shape_text;
mod table;
mod type_text;
mod types;
mod words;

pub use declaration::Align;
pub use field_list::FieldList;
pub use layout::{Layout, LongDouble};
pub use member::Member;
pub use shape::Shape;
pub use table::{Row, Tables};
pub use types::{Kind, Length, Type, Width};
