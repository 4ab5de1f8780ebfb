//! Isoform without I/O: the memory layouts of records, their names on the wire, and the conversion from one layout to
//! another.
//!
//! Data flows in one direction, and each step has one home:
//!
//! | step | home |
//! |---|---|
//! | names and types of fields, laid out for a machine -> [`Format`] | [`declare`] |
//! | [`Format`] -> description -> [`Token`] | [`mod@format`] |
//! | bytes -> header, token, body | [`message`] |
//! | token -> format: known here, or asked for | [`registry`] |
//! | body checked against its format, once -> [`Body`] | [`verify`] |
//! | (wire format, native format) -> [`Plan`], checked, once | [`plan`] |
//! | [`Plan`] + [`Body`] -> converted record | [`interp`] |
//! | [`Body`] -> fields by name or path, without converting | [`view`] |
//! | [`View`] <-> JSON and tables | [`text`] |
//!
//! This crate uses no sockets, files, clocks or environment variables, and no `unsafe`. Native memory, the derive and
//! streams are in the crate `isoform`.
#![forbid(unsafe_code)]

pub mod declare;
pub mod error;
pub mod format;
pub mod interp;
mod limits;
pub mod message;
pub mod plan;
pub mod registry;
pub mod scalar;
pub mod text;
mod token;
pub mod value;
pub mod verify;
pub mod view;

pub use declare::{FieldList, Layout, Shape};
pub use error::{Class, Code, Error, Result};
pub use format::{
    ByteOrder, Description, Dimension, Element, Enumeration, Field, FloatKind, Format, Machine, Structure, Symbol,
    Token,
};
pub use limits::{Limits, MAX_DESCRIPTION};
pub use plan::{Faults, Missing, Plan, Rules};
pub use registry::{Registry, Resolver};
pub use value::Value;
pub use verify::{Bodies, Body, Verifier};
pub use view::View;
