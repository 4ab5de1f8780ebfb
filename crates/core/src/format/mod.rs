//! The memory layouts of records, and their names on the wire.
//!
//! A [`Format`] is a [`Structure`], that is, named fields with types, sizes and offsets, together with the byte order
//! and the pointer size of the machine. It has exactly one [`Description`], and its [`Token`] is a hash of that. So
//! equal formats have equal tokens, wherever they were made (`spec/format.md`).
//!
//! [`declare`](crate::declare) makes formats from lists of fields and from shapes, and the crate `isoform` from Rust
//! types. Others arrive as descriptions. [`Structure::new`] checks all of them.

mod admitted;
mod checks;
mod description;
mod element;
mod handle;
mod head;
mod machine;
mod memory;
mod structure;

pub use crate::limits::{MAX_ALIGN, MAX_DEPTH, MAX_DESCRIPTION, MAX_FIELDS, MAX_RANK, MAX_RECORD};
pub use crate::token::Token;
pub(crate) use admitted::Admitted;
pub(crate) use checks::{Check, Checked, Checks, Dim, Elements, Length, Location, integer};
pub use description::Description;
pub(crate) use element::integer_range;
pub use element::{Element, Enumeration, Symbol};
pub use handle::Format;
pub use isoform_kernels::{ByteOrder, FloatKind};
pub use machine::Machine;
pub use structure::{Dimension, Field, Structure};
