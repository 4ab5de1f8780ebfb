//! Event channels as state machines, without sockets, threads or clocks.
//!
//! [`Node`] gets the bytes that arrived on connections, the time, and the requests of the application. It returns bytes
//! to write and [`Action`]s to take. So tests control the clock, and can produce everything that goes wrong between
//! processes: cuts, double dials, slow sinks, restarts. The crate `isoform-channel` adds sockets and threads.
//!
//! | | |
//! |---|---|
//! | [`NodeId`], [`ChannelKey`] and further keys | what tells things apart |
//! | [`Settings`], [`Wanted`] | what the application says first |
//! | [`Node`] | connections, links, channels, sources and sinks of one process |
//! | `frame`, `control`, [`Hello`] | what goes over the wire |
//! | `outbox` | what is to be written to a connection |
//! | `sending`, `receiving` | a subscription at its source, and at its sink |
//! | `lane` | the way between both: over a link, or within the node |
//! | `inbox` | what has come for a sink |
//! | [`Ledger`], [`Gap`], [`Policy`] | the account |
//!
//! `spec/channel.md` defines the protocol.
#![forbid(unsafe_code)]

mod account;
mod action;
mod control;
mod frame;
mod hello;
mod inbox;
mod keys;
mod lane;
mod memory;
mod node;
mod numbered;
mod outbox;
mod receiving;
mod report;
mod sending;
mod settings;
mod wire;

pub use account::{Cause, Count, Gap, Ledger, Policy, Window};
pub use action::Action;
pub use frame::{HEADER, Header, Kind, PAYLOAD};
pub use hello::Hello;
pub use inbox::{Batch, Item, Place};
pub use isoform_core::plan::Plans;
pub use keys::{ChannelKey, ConnId, DialKey, Identity, NodeId, OpenKey, SinkKey, SourceKey, SourceRef, check_name};
pub use memory::{Body, Draft, Storage};
pub use node::{ChannelInfo, Large, MemberInfo, Node, Submitted};
pub use outbox::{Outgoing, Splice};
pub use report::{Report, SinkLedger, SinkReport, SourceReport};
pub use settings::{Settings, Wanted};

/// Time since a moment that the caller chooses, the same for all calls to a node.
pub type Time = std::time::Duration;
