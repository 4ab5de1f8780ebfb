//! The protocol with the memory of this crate: submitted bodies are shared, and arriving ones are aligned.

use super::lent::Lent;
use super::pages;
use isoform::{Aligned, Format, Shared};
use isoform_channel_proto::{self as proto, Body, Draft, Storage};
use std::ops::Range;
use std::sync::Arc;

pub(crate) type Machine = proto::Node<Sent, Memory>;
pub(crate) type Batch = proto::Batch<Sent, Memory>;
pub(crate) type Large = proto::Large<Memory>;

/// A body to send.
#[derive(Clone)]
pub(crate) enum Sent {
    Shared(Shared),
    /// It is in the memory of the thread that submits it, until it is kept.
    Lent(Arc<Lent>),
}

impl Sent {
    /// The body, unless it is lent and not kept.
    pub(crate) fn shared(&self) -> Option<&Shared> {
        match self {
            Sent::Shared(shared) => Some(shared),
            Sent::Lent(lent) => lent.copy(),
        }
    }
}

impl Body for Sent {
    fn made(format: &Format, bytes: &[u8]) -> Sent {
        let shared = pages::copied(format, bytes.len(), std::iter::once(bytes));
        Sent::Shared(shared.unwrap_or_else(|error| panic!("cannot hold a result: {error}")))
    }

    fn length(&self) -> usize {
        match self {
            Sent::Shared(shared) => shared.len(),
            Sent::Lent(lent) => lent.length(),
        }
    }

    fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
        let shared = self.shared().unwrap_or_else(|| unreachable!("only the thread that submits it needs it"));
        shared.pieces(range).for_each(each);
    }
}

/// A body that was shared before it was submitted.
impl Draft<Sent> for Sent {
    fn length(&self) -> usize {
        Body::length(self)
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        Body::pieces(self, 0..Body::length(self), &mut |piece| each(piece));
    }

    fn contiguous(&self) -> Option<&[u8]> {
        Body::contiguous(self)
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
