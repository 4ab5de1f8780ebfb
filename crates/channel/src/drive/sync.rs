//! What the state machines of this room are made of. The tests of `tests/loom.rs` put other things here, which try every order.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
