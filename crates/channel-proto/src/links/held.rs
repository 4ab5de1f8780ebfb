//! The memory of the formats that another node has described. A format stays in memory after its index stands for
//! another one: as long as an event or an offer refers to it, or the registry keeps it.

use isoform_core::Format;
use isoform_core::format::Structure;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// A format counts for this much at least: a node may name only so many.
const LEAST: usize = 4 << 10;

/// Formats by the addresses of their structures. An address is not used again while there is a weak reference to it.
#[derive(Default)]
pub(crate) struct Held {
    all: HashMap<usize, (Weak<Structure>, u64)>,
    bytes: u64,
}

impl Held {
    /// The memory of all that are counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory that a format takes in addition to those that are counted.
    pub(super) fn cost(&self, format: &Format) -> u64 {
        if self.all.contains_key(&place(format)) { 0 } else { format.memory().max(LEAST) as u64 }
    }

    /// Counts a format.
    pub(super) fn hold(&mut self, format: &Format, cost: u64) {
        if cost > 0 {
            self.all.insert(place(format), (Arc::downgrade(format.structure()), cost));
            self.bytes += cost;
        }
    }

    /// Counts no longer what nobody refers to any more. Returns its memory.
    pub(super) fn sweep(&mut self) -> u64 {
        let mut freed = 0;
        self.all.retain(|_, (structure, cost)| {
            let is_held = structure.strong_count() > 0;
            freed += if is_held { 0 } else { *cost };
            is_held
        });
        self.bytes -= freed;
        freed
    }
}

fn place(format: &Format) -> usize {
    Arc::as_ptr(format.structure()).addr()
}
