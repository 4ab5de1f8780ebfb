//! Finds the descriptions of formats by token (`spec/service.md`): in a cache on disk, at servers, wherever an application
//! looks.
//!
//! A [`Search`] is what a program gives to its registry. It asks a [`Cache`] and then [`Servers`], checks what they answer,
//! and sees to it that many threads with one question ask once.
//!
//! ```no_run
//! use isoform_core::Registry;
//! use isoform_service::{Cache, Search, Servers};
//! let servers = Servers::new(["http://formats.example:7460"])?;
//! let registry = Registry::new();
//! registry.set_resolver(Search::new().cache(Cache::new("/var/cache/formats")).then(servers));
//! # Ok::<(), isoform_core::Error>(())
//! ```
//!
//! This crate leaves formats and their descriptions to `isoform-core`, and does not know streams and channels: they ask the
//! registry.
#![forbid(unsafe_code)]

pub mod names;
mod resolve;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;

pub use resolve::{Cache, Exported, Search, Servers};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/formats.md")]
struct Guide;
