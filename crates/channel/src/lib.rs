//! Event channels: typed, direct from source to sink, and never silently lossy (`spec/channel.md`).
//!
//! This crate is sockets, threads and clocks around a protocol that has none of them. An [`Address`] says where a node
//! is reached, a [`ChannelId`] which channel is meant there:
//!
//! ```
//! # #[cfg(unix)] {
//! use isoform_channel::{Address, ChannelId};
//! let id: ChannelId = "iso://127.0.0.1:7000/river".parse()?;
//! assert_eq!((id.name(), id.address()), ("river", &"127.0.0.1:7000".parse::<Address>()?));
//! # }
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! It is for Unix so far; elsewhere it is empty.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod address;
#[allow(dead_code, reason = "for the node, which comes next")]
mod dial;
mod id;
#[allow(dead_code, reason = "for the node, which comes next")]
mod listener;
#[allow(dead_code, reason = "for the node, which comes next")]
mod nonce;
#[allow(dead_code, reason = "for the node, which comes next")]
mod poll;
#[allow(dead_code, reason = "for the node, which comes next")]
mod socket;
#[allow(dead_code, reason = "for the node, which comes next")]
mod unwritten;

pub use address::Address;
pub use id::ChannelId;
