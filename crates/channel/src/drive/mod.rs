//! How the threads of a node drive its connections: the protocol under its lock, waiting, reading, writing.
//!
//! What the application sees of it is in [`crate::api`]; what carries the bytes, in [`crate::transport`].
//!
//! ```text
//!    threads of the application                                    the keeper, the node's own thread
//!        |  submit            |  wait for an event, or for room          |  time, dials, what has gathered
//!        v                    v                                          v
//!   +---------------------------------------------------------------------------+
//!   | hub: the protocol and all that is known, under one lock; then its effects |
//!   +---------------------------------------------------------------------------+
//!        |  output: whose turn   |  wait: who leads, who sleeps          |  keeper
//!        |  it is to write       |  input: what came, to the protocol    |
//!        v  (Flow)               v  (Lookout, Waiter)                    v
//!     connections             the poller, or the only connection     doors
//! ```
//!
//! What threads share without that lock is one state machine in three parts, each of which is the only one to touch its atomics,
//! and opens with its diagram, and with why each order is enough:
//!
//! | | |
//! |---|---|
//! | [`flow::Flow`] | of each connection: whether there is something to write, and who writes it |
//! | [`lookout::Lookout`] | of the node: who waits at the poller, who follows, and whether connections take no more |
//! | [`waiter::Waiter`] | of each thread that waits: whether it looks, sleeps, polls, or was told to look again |
//!
//! They meet in three places. A thread that waits looks at the state, leads or follows, and polls or sleeps (`wait`). A thread that
//! finds that a connection takes no more blocks its flow, has the poller wait for it, and tells the keeper if nobody leads (`output`).
//! A thread that leaves tells whoever shall lead next (`wait`). `tests/loom` runs models of all of that in every order.
//!
//! **Locks** are taken in this order: the state; then of a connection, the writer or what the poller watches; then the poller's
//! own. Reading holds a connection's reader, and takes the state within it; nobody takes a reader with the state locked.

pub(crate) mod bell;
mod flow;
pub(crate) mod hub;
mod input;
pub(crate) mod keeper;
pub(crate) mod lookout;
pub(crate) mod machine;
mod output;
mod reader;
pub(crate) mod state;
mod sync;
mod unwritten;
pub(crate) mod wait;
mod waiter;
mod wire;
