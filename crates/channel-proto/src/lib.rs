//! Event channels as state machines, without sockets, threads or clocks.
//!
//! [`Node`] gets the bytes that arrived on connections, the time, and the requests of the application. It returns bytes
//! to write and [`Action`]s to take. So tests control the clock, and can produce everything that goes wrong between
//! processes: cuts, double dials, slow sinks, restarts. The crate `isoform-channel` adds sockets and threads.
//!
//! | | |
//! |---|---|
//! | [`Node`] | what the application and the shell talk to: it conducts the next three, which do not know each other but for links |
//! | `links` | handshakes, epochs, dials; what is to be written to each connection |
//! | `channels` | which channels there are, who has them open, what sources are offered |
//! | `flows` | sources, sinks, the events between them, and the account of each |
//! | `frame`, `control`, [`Hello`], [`Report`] | what goes over the wire |
//! | [`NodeId`], [`ChannelKey`] and further keys | what tells things apart; `numbered` has the containers that they index |
//! | [`Settings`], [`Wanted`], [`Action`] | what the application says first, and what the shell is to do |
//! | [`Ledger`], [`Gap`], [`Policy`] | the account |
//!
//! `spec/channel.md` defines the protocol.
#![forbid(unsafe_code)]

mod account;
mod action;
mod channels;
mod control;
mod flows;
mod frame;
mod hello;
mod keys;
mod links;
mod memory;
mod node;
mod numbered;
mod offer;
mod report;
mod settings;
mod wire;

pub use account::{Cause, Count, Gap, Ledger, Policy, Window};
pub use action::Action;
pub use flows::inbox::{Batch, BodyRef, Item};
pub use flows::{Large, Submitted};
pub use frame::{FrameKind, HEADER, Header, PAYLOAD};
pub use hello::Hello;
pub use isoform_core::plan::Plans;
pub use keys::{ChannelKey, ConnId, DialKey, Identity, NodeId, OpenKey, SinkKey, SourceKey, SourceRef, check_name};
pub use links::{Outgoing, Splice};
pub use memory::{Body, Draft, Storage};
pub use node::{ChannelInfo, MemberInfo, Node};
pub use report::{Report, SinkLedger, SinkReport, SourceReport};
pub use settings::{Settings, Wanted};

/// Time since a moment that the caller chooses, the same for all calls to a node.
pub type Time = std::time::Duration;
