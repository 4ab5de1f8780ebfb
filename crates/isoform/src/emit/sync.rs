//! The primitives of `numbers`. The tests in `tests/loom` replace them with others that try every order.

pub(crate) use portable_atomic::{AtomicU64, Ordering};
