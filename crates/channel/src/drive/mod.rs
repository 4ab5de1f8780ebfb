//! How the threads of a node drive its connections: the protocol under its lock, waiting, reading, writing.
//!
//! [`crate::api`] is the interface for the application, and [`crate::transport`] carries the bytes.
//!
//! ```text
//!    threads of the application                                    the keeper, the node's own thread
//!        |  submit            |  wait for an event, or for room          |  timers, dials, gathered output
//!        v                    v                                          v
//!   +---------------------------------------------------------------------------+
//!   | hub: the protocol and the node's state, under one lock; then its effects  |
//!   +---------------------------------------------------------------------------+
//!        |  output: which        |  wait: which thread leads or sleeps   |  keeper
//!        |  thread writes        |  input: bytes to the protocol         |
//!        v  (Flow)               v  (Lookout, Waiter)                    v
//!     connections             the poller, or the only connection     doors
//! ```
//!
//! Without that lock, threads share one state machine in three parts. Each part is the only code that uses its atomics. Its file
//! opens with its diagram, and with the reason why its memory orderings suffice:
//!
//! | | |
//! |---|---|
//! | [`flow::Flow`] | for each connection: whether there is output, and which thread writes it |
//! | [`lookout::Lookout`] | for the node: which thread waits at the poller, which threads follow, and whether connections are full |
//! | [`waiter::Waiter`] | for each waiting thread: whether it looks, sleeps, polls, or was told to look again |
//!
//! They meet in three places:
//! - A waiting thread looks at the state, leads or follows, and polls or sleeps (`wait`).
//! - A thread that finds a connection full blocks its flow, makes the poller watch it, and tells the keeper if no thread leads
//!   (`output`).
//! - A thread that stops leading tells the thread that leads next (`wait`).
//!
//! Besides, [`state::State`] lists the handlers for which something has arrived, so that polling visits no others; and [`lent`]
//! lets a thread write a long record from where it is.
//!
//! `tests/loom` runs models of all three in every order of the threads.
//!
//! **Locks** are taken in this order: the state; the writer of a connection, or the events that the poller watches for it; the
//! locks of the poller. A reading thread holds the reader of its connection, and takes the state after that. No thread takes a
//! reader while it holds the state.

pub(crate) mod bell;
mod flow;
pub(crate) mod hub;
mod input;
pub(crate) mod keeper;
pub(crate) mod lent;
mod listener;
pub(crate) mod lookout;
pub(crate) mod machine;
mod output;
pub(crate) mod pages;
pub(crate) mod places;
mod reader;
mod reserve;
pub(crate) mod rules;
pub(crate) mod state;
mod sync;
mod unwritten;
pub(crate) mod wait;
mod waiter;
mod wire;
