//! Finds the descriptions of formats by token (`spec/service.md`): in a cache on disk, at servers, wherever an application
//! looks.
//!
//! A [`Client`] is what most programs need: it has servers, and a cache if the program wants one. Give it to the registry of a
//! program that reads. A program that writes registers its formats with it, and leaves descriptions out of its streams.
//!
//! ```no_run
//! use isoform_core::Registry;
//! use isoform_service::Client;
//! let client = Client::new("http://formats.example:7460,http://static.example/river")?.cached("/var/cache/formats");
//! let registry = Registry::new();
//! registry.set_resolver(client);
//! # Ok::<(), isoform_core::Error>(())
//! ```
//!
//! It consists of parts that programs can also combine themselves. A [`Search`] asks a [`Cache`], then [`Servers`] or other
//! places. It checks what they answer, and asks once if many threads have one question.
//!
//! This crate leaves formats and their descriptions to `isoform-core`, and does not know streams and channels: they ask the
//! registry.
#![forbid(unsafe_code)]

pub mod names;
mod resolve;
mod responder;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;
mod values;

pub use resolve::{Cache, Client, Exported, Search, Servers};
pub use responder::Responder;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/formats.md")]
struct Guide;
