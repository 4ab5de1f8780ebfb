//! Event channels as state machines, without sockets, threads or clocks.
//!
//! [`Node`] gets the bytes that arrived on connections, the time, and the requests of the application. It returns bytes
//! to write and [`Action`]s to take. So tests control the clock, and can produce everything that goes wrong between
//! processes: cuts, double dials, slow sinks, restarts. The crate `isoform-channel` adds sockets and threads.
//!
//! | | |
//! |---|---|
//! | [`Node`] | the interface for the application and the shell. It coordinates the next three; `channels` and `flows` use `links`, and not each other |
//! | `links` | handshakes, epochs, dials; the output of each connection |
//! | `channels` | channels, their members, how these find each other, and the sources that they offer |
//! | `flows` | sources, sinks, the events between them, and the account of each |
//! | [`Key`], [`Greeting`] | who a node is, and how each side of a connection proves it |
//! | [`SharedKey`], [`Credentials`], [`Access`] | a secret that nodes have in common, what is known of the other side, and who is admitted |
//! | [`Rights`] | who may do what on which channels |
//! | `frame`, `control`, [`Hello`], [`Report`] | what goes over the wire |
//! | [`NodeId`], [`ChannelKey`] and further keys | what tells things apart; `numbered` has the containers that they index |
//! | [`Settings`], [`Wanted`], [`Action`] | what the application says first, and what the shell is to do |
//! | [`Ledger`], [`Gap`], [`Policy`] | the account |
//!
//! `spec/channel.md` defines the protocol.
#![forbid(unsafe_code)]

mod access;
mod account;
mod action;
mod allowance;
mod announcement;
mod budget;
mod channels;
mod control;
mod credentials;
mod flows;
mod frame;
mod grant;
mod greeting;
mod hello;
mod identity;
mod keys;
mod links;
mod memory;
mod node;
mod numbered;
mod offer;
mod origin;
mod parameters;
mod refusals;
mod report;
mod rights;
mod settings;
mod shared;
mod terms;
mod wire;

pub use access::{Access, Admission};
pub use account::{Cause, Count, Counts, Gap, Ledger, Policy, Window};
pub use action::Action;
#[doc(hidden)]
pub use announcement::Verdicts;
pub use budget::{Budget, Budgets, Resource};
pub use channels::Derived;
pub use credentials::{Credentials, OwnUser};
pub use flows::inbox::{Batch, BodyRef, Cursor, Frame, Head, Item, Next};
pub use flows::{Arrived, Demand, Large, QueryPrices, Submitted, Unheard};
pub use frame::{FrameKind, HEADER, Header, PAYLOAD};
pub use grant::{Granted, Grants, QueryTime, Reason, Waits};
pub use greeting::Greeting;
pub use hello::Hello;
pub use identity::{Greetings, Key, Side, channel_identity, node_id};
pub use isoform_core::plan::Plans;
pub use isoform_query::{Account as QueryAccount, Query, layout_like};
pub use keys::{
    ChannelKey, ConnId, DemandKey, DialKey, Identity, NodeId, OpenKey, SinkKey, SourceKey, SourceRef, check_name,
};
pub use links::{Outgoing, Splice};
pub use memory::{Body, Draft, Drafts, Storage, Take};
pub use node::{ChannelInfo, LinkInfo, MemberInfo, Node, Reach};
pub use offer::Offered;
pub use origin::{Origin, Relayed};
pub use parameters::{Given, Parameters};
pub use refusals::Refusal;
pub use report::{DemandReport, QueryReport, Report, SinkLedger, SinkReport, SourceReport};
pub use rights::{Right, Rights};
pub use settings::{Settings, Wanted};
pub use shared::{KeyName, SharedKey};

/// Time since a moment that the caller chooses, the same for all calls to a node.
pub type Time = std::time::Duration;
