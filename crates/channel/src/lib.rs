//! Event channels: typed, direct from source to sink, and without silent losses (`spec/channel.md`).
//!
//! This crate adds sockets, threads and clocks to a protocol that has none. An [`Address`] states where a node is
//! reached, and a [`ChannelId`] names a channel there:
//!
//! ```
//! # #[cfg(any(unix, windows))] {
//! use isoform_channel::{Address, ChannelId};
//! let id: ChannelId = "iso://127.0.0.1:7000/river".parse()?;
//! assert_eq!((id.name(), id.address()), ("river", &"127.0.0.1:7000".parse::<Address>()?));
//! # }
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! It is for Unix and Windows. On other systems it is empty. On Windows, nodes meet over TCP.
#![cfg(any(unix, windows))]
#![deny(unsafe_code)]

mod api;
mod drive;
mod end;
pub mod transport;

pub use api::channel::Channel;
pub use api::emitting;
pub use api::event::{Event, Head, Stamp};
pub use api::id::ChannelId;
pub use api::keys::new_key;
pub use api::node::{Node, NodeBuilder};
pub use api::parameters::{Demand, Given, Parameters};
pub use end::builder::{SinkBuilder, SourceBuilder};
pub use end::handler::Handler;
pub use end::relay::Relay;
pub use end::sink::Sink;
pub use end::source::Source;
pub use end::stream::Events;
pub use isoform_channel_proto::{
    Budget, Budgets, Cause, ChannelInfo as Info, Counts, DemandReport, Gap, Granted, Identity, Ledger, LinkInfo,
    MemberInfo, NodeId, Offered, Origin, Policy, Query, QueryAccount, QueryReport, QueryTime, Reach, Reason, Refusal,
    Report, Resource, Right, Rights, SharedKey, SinkLedger, SinkReport, SourceRef, SourceReport, Waits, Window,
};
pub use transport::address::Address;
#[cfg(feature = "tls")]
pub use transport::tls::Tls;

/// The programs of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/guides/channels.md")]
#[doc = include_str!("../../../docs/book/guides/emit.md")]
#[doc = include_str!("../../../docs/book/guides/parameters.md")]
#[doc = include_str!("../../../docs/book/guides/queries.md")]
struct Guide;
