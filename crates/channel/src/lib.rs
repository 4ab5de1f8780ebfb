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
#![deny(unsafe_code)]

mod address;
mod bell;
mod channel;
mod dial;
mod drive;
mod event;
mod handler;
mod hub;
mod id;
mod keeper;
mod listener;
mod machine;
mod node;
mod nonce;
mod options;
mod poll;
mod reader;
mod sink;
mod socket;
mod source;
mod state;
mod stream;
mod unwritten;
mod wire;

pub use address::Address;
pub use channel::Channel;
pub use event::{Event, Stamp};
pub use handler::Handler;
pub use id::ChannelId;
pub use isoform_channel_proto::{
    Cause, ChannelInfo as Info, Gap, Identity, Ledger, MemberInfo, NodeId, Policy, Report, SinkLedger, SinkReport,
    SourceRef, SourceReport, Window,
};
pub use node::{Node, NodeBuilder};
pub use options::SinkOptions;
pub use sink::{Counts, MemorySink, Sink, Views};
pub use source::{MemorySource, MessageSource, Source};
pub use stream::Events;

/// The programs of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/channels.md")]
struct Guide;
