//! The memory of bodies, as far as the state machine needs it. The caller provides it.

use std::ops::Range;

/// An event's body, shared by all that wait for it: cloning it copies no bytes.
pub trait Body: Clone {
    /// Its bytes.
    fn length(&self) -> usize;

    /// Returns the bytes of a range, in order, as contiguous pieces. They are written from there.
    fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8]));
}

/// A body that is about to be submitted. It is copied where it is short, and shared where it must be kept.
pub trait Draft<B> {
    /// Its bytes.
    fn length(&self) -> usize;

    /// Gives out its bytes, in order.
    fn pieces(&self, each: &mut dyn FnMut(&[u8]));

    /// The body itself. Asked more than once, it gives the same one.
    fn share(&mut self) -> B;

    /// Whether sharing it costs no copy.
    fn is_shared(&self) -> bool;
}

/// Memory for bodies that come.
pub trait Storage: Default {
    /// Makes it so many bytes long. The new ones hold anything.
    fn resize(&mut self, length: usize);

    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]);

    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// The same, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Storage for Vec<u8> {
    fn resize(&mut self, length: usize) {
        Vec::resize(self, length, 0);
    }

    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn bytes(&self) -> &[u8] {
        self
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// The plainest bodies there are: for tests, and for whoever has bytes only.
impl Body for std::sync::Arc<[u8]> {
    fn length(&self) -> usize {
        self.len()
    }

    fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
        each(&self[range]);
    }
}

impl Draft<std::sync::Arc<[u8]>> for std::sync::Arc<[u8]> {
    fn length(&self) -> usize {
        self.len()
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        each(self);
    }

    fn share(&mut self) -> std::sync::Arc<[u8]> {
        self.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }
}
