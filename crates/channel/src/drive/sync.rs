//! The primitives of the state machines in this folder. The tests in `tests/loom` replace them with others that try
//! every order.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
