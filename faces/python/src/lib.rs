//! The core of the Python package `isoform`: `isoform._isoform`.
//!
//! One file for each concept, with the names that it has in Rust. What is easier said in Python - how a dtype, a dataclass
//! or a ctypes structure becomes a table of fields - is in `isoform/`, beside it, as is the text of errors; here is what has to
//! be fast, and what works while Python goes on. `face` has what the core is handed of that. `unsafe` is needed in `arrow`, whose structures
//! are C's.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod arrow;
#[cfg(unix)]
mod channel;
mod columns;
mod decoder;
mod encoder;
mod error;
#[cfg(unix)]
mod event;
mod face;
mod format;
mod io;
mod item;
mod kind;
mod large;
mod message;
#[cfg(unix)]
mod node;
mod registry;
mod rows;
mod rules;
#[cfg(unix)]
mod sink;
#[cfg(unix)]
mod source;
mod stream;
mod value;
#[cfg(unix)]
mod wait;

use pyo3::prelude::*;

/// The module `isoform._isoform`.
#[pymodule]
#[pyo3(name = "_isoform")]
mod module {
    #[cfg(unix)]
    #[pymodule_export]
    use crate::{channel::PyChannel, node::PyNode, sink::PySink, source::PySource};
    #[pymodule_export]
    use crate::{
        columns::PyColumns,
        decoder::PyDecoder,
        encoder::PyEncoder,
        error::codes,
        face::_stand_behind,
        format::{PyField, PyFormat, PyStructure},
        message::{PyBatch, PyMessage},
        registry::PyRegistry,
        stream::{PyReader, PyWriter},
    };
}
