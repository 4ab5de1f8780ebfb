//! The state machines of `crates/channel/src/drive` that threads share without a lock, and the numbers of events that nobody hears
//! (`crates/isoform/src/emit/numbers.rs`), as they stand there, on top of atomics,
//! locks and threads that loom runs in every order in which threads can run.
//!
//! The models try all orders with at most two preemptions, which takes seconds. The environment variable
//! `LOOM_MAX_PREEMPTIONS` raises that.
#![cfg(test)]
// What the files there have for others is dead here in part.
#![allow(dead_code)]

#[path = "../../../crates/channel/src/drive/flow.rs"]
mod flow;
#[path = "../../../crates/channel/src/drive/lookout.rs"]
mod lookout;
// Users of the crate see it.
#[allow(unreachable_pub)]
#[path = "../../../crates/isoform/src/emit/numbers.rs"]
mod numbers;
#[path = "../../../crates/channel/src/drive/waiter.rs"]
mod waiter;

mod models;
mod numbered;

/// What the state machines are made of.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
