//! The protocol with the memory of this crate: submitted bodies are shared, and arriving ones are aligned.

use isoform::{Aligned, Shared};
use isoform_channel_proto::{self as proto, Body, Draft, Storage};
use std::ops::Range;

pub(crate) type Machine = proto::Node<Sent, Memory>;
pub(crate) type Batch = proto::Batch<Sent, Memory>;
pub(crate) type Large = proto::Large<Memory>;

/// A body to send.
#[derive(Clone)]
pub(crate) struct Sent(pub(crate) Shared);

impl Body for Sent {
    fn length(&self) -> usize {
        self.0.len()
    }

    fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
        self.0.pieces(range).for_each(each);
    }
}

/// A body that was shared before it was submitted.
impl Draft<Sent> for Sent {
    fn length(&self) -> usize {
        self.0.len()
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        self.0.body().for_each(each);
    }

    fn share(&mut self) -> Sent {
        self.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// The memory of arriving bodies.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) Aligned);

impl Storage for Memory {
    #[inline]
    fn resize(&mut self, length: usize) {
        self.0.resize(length);
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
