//! The memory of bodies, which the caller provides, as far as the state machine needs it.

use crate::origin::Origin;
use isoform_core::Format;
use std::ops::Range;

/// The body of an event. It has shared ownership: cloning it copies no bytes.
pub trait Body: Clone {
    /// A body of a format, with these bytes. For records that the node makes itself.
    fn made(format: &Format, bytes: &[u8]) -> Self;

    /// The number of its bytes.
    fn length(&self) -> usize;

    /// Returns the bytes of a range, in order, as contiguous pieces. They are written from there.
    fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8]));

    /// All of its bytes, if they are contiguous.
    fn contiguous(&self) -> Option<&[u8]> {
        let mut whole: Option<&[u8]> = None;
        self.pieces(0..self.length(), &mut |piece| {
            whole.get_or_insert(piece);
        });
        whole.filter(|piece| piece.len() == self.length())
    }
}

/// A body that is submitted. Short bodies are copied, and those that must be kept are shared.
pub trait Draft<B> {
    /// The number of its bytes.
    fn length(&self) -> usize;

    /// Passes its bytes to `each`, in order.
    fn pieces(&self, each: &mut dyn FnMut(&[u8]));

    /// All of its bytes, if they are known to be contiguous.
    #[inline]
    fn contiguous(&self) -> Option<&[u8]> {
        None
    }

    /// The body with shared ownership. Further calls return the same body.
    fn share(&mut self) -> B;

    /// Whether [`share`](Draft::share) costs no copy.
    fn is_shared(&self) -> bool;

    /// Where the event was first submitted, if that was at another source.
    fn origin(&self) -> Option<Origin> {
        None
    }
}

/// Events that are submitted together: one [`Draft`] after another.
pub trait Drafts<B> {
    /// Passes the next one to `take`. Returns `false` at the end. This is called only if there is room for it.
    ///
    /// A draft is passed by reference and not returned, since moving it through memory takes longer than copying a small
    /// event.
    fn next(&mut self, take: impl Take<B>) -> bool;

    /// Passes the bodies of the next events together to `take`, if they have equal lengths, and lie one behind the other: their
    /// bytes, and the length of each. `take` returns how many of them it has taken, from the first on, and this returns
    /// that number: 0 if `take` was not called. The other events are passed again.
    #[inline]
    fn next_alike(&mut self, _take: impl FnOnce(&[u8], usize) -> usize) -> usize {
        0
    }

    /// Passes over all that remain, since nobody hears them. Returns their number.
    fn pass(&mut self) -> u64;
}

/// Takes a [`Draft`] of any type.
pub trait Take<B> {
    /// Takes it.
    fn take(self, draft: &mut impl Draft<B>);
}

/// One event.
pub(crate) struct One<'d, D>(pub(crate) Option<&'d mut D>);

impl<B, D: Draft<B>> Drafts<B> for One<'_, D> {
    #[inline(always)]
    fn next(&mut self, take: impl Take<B>) -> bool {
        let Some(draft) = self.0.take() else { return false };
        take.take(draft);
        true
    }

    fn pass(&mut self) -> u64 {
        u64::from(self.0.take().is_some())
    }
}

/// Memory for arriving bodies.
pub trait Storage: Default {
    /// Changes its length. New bytes may have any value.
    fn resize(&mut self, length: usize);

    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]);

    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// The same for writing.
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

/// The simplest kind of body, for tests and for callers that have plain bytes.
impl Body for std::sync::Arc<[u8]> {
    fn made(_: &Format, bytes: &[u8]) -> Self {
        bytes.into()
    }

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

    fn contiguous(&self) -> Option<&[u8]> {
        Some(self)
    }

    fn share(&mut self) -> std::sync::Arc<[u8]> {
        self.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }
}
