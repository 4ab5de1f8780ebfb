//! The core of the Python package `isoform`: `isoform._isoform`.
//!
//! One file for each concept, with the names that it has in Rust. This core contains the parts that must be fast, and
//! those that run while other Python threads run. The rest is in `isoform/`, beside it: turning a dtype, a dataclass or
//! a ctypes structure into a table of fields, and the text of errors. `face` has the classes and functions that the
//! package hands to the core. `unsafe` is needed in `arrow`, whose structures are those of C.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod arrow;
#[cfg(any(unix, windows))]
mod channel;
mod columns;
mod decoder;
#[cfg(any(unix, windows))]
mod descriptor;
mod document;
#[cfg(any(unix, windows))]
mod emit;
mod encoder;
mod error;
#[cfg(any(unix, windows))]
mod event;
mod face;
mod format;
mod io;
mod item;
mod kinds;
mod large;
mod message;
#[cfg(any(unix, windows))]
mod node;
#[cfg(any(unix, windows))]
mod parameters;
mod record_type;
mod registry;
mod rows;
mod rules;
mod servers;
#[cfg(any(unix, windows))]
mod sink;
#[cfg(any(unix, windows))]
mod source;
mod stream;
mod value;
#[cfg(any(unix, windows))]
mod wait;
mod watch;

use pyo3::prelude::*;

/// The module `isoform._isoform`.
#[pymodule]
#[pyo3(name = "_isoform")]
mod module {
    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python calls it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[cfg(any(unix, windows))]
    #[pymodule_export]
    use crate::{
        channel::PyChannel, emit::PyEmitting, emit::PyPlace, emit::PySymbols, node::PyNode, parameters::PyDemand,
        sink::PySink, source::PySource, wait::_forked,
    };
    #[pymodule_export]
    use crate::{
        columns::PyColumns,
        decoder::PyDecoder,
        document::PyDocument,
        document::PyTexts,
        encoder::PyEncoder,
        error::codes,
        face::_stand_behind,
        format::{PyField, PyFormat, PyStructure},
        item::PyLater,
        kinds::PyKinds,
        message::{PyBatch, PyHead, PyMessage},
        registry::PyRegistry,
        servers::PyResponder,
        servers::PyServers,
        stream::{PyReader, PyWriter},
        watch::PyWatch,
    };
}
