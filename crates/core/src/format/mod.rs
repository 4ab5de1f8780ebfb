//! What a record looks like in memory, and its name on the wire.
//!
//! A [`Format`] is a [`Structure`] - named fields with types, sizes and offsets - together with the byte order
//! and pointer size of the machine whose memory it describes. It has exactly one [`Description`], and its
//! [`Token`] is a hash of that, so that equal formats are equal wherever they were made (`spec/format.md`).
//!
//! What makes formats - lists of fields, shapes laid out for a machine - is in [`declare`](crate::declare), and a derive is in
//! the crate `isoform`; others come as descriptions. All of them pass the one checker, [`Structure::new`].

mod admitted;
mod checks;
mod description;
mod element;
mod handle;
mod machine;
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
