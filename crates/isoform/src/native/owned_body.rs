//! The body of a record, together with the owners of all of its memory.
//!
//! `gather` leaves parts of a body where they are. An [`OwnedBody`] owns the memory of those parts, so that it neither
//! changes nor is freed before the last user of the body is done. Programs use it as `message::Shared`.
//!
//! Invariant of [`OwnedBody`]: (1) the bytes of its parts are initialised, and are constants, or lie in memory of `copied`, of
//! `lowered`, or of what can be reached through a shared reference to `owner`. None of the three is changed or given away
//! before all are dropped, and they may be used by any thread. Parts do not leave it.

use super::aligned::Aligned;
use super::gather::Gather;
use super::scratch::{Lowered, Scratch};
use isoform_core::Result;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// What contains parts of the body.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// A body in parts, and their owners.
pub(crate) struct OwnedBody {
    /// The first part, and often the only one.
    first: Part,
    more: Vec<Part>,
    #[expect(dead_code, reason = "parts lie in it")]
    copied: Aligned,
    #[expect(dead_code, reason = "parts lie in it")]
    lowered: Lowered,
    owner: Option<Owner>,
    /// Whether the owner is the record, and not mere memory.
    is_of_record: bool,
}

struct Part {
    /// Where in the body it ends.
    end: usize,
    /// Not a reference, since a reference would have to be valid while the whole is dropped.
    bytes: *const [u8],
}

// SAFETY: (1): its bytes do not change, whoever reads them.
unsafe impl Send for Part {}
// SAFETY: likewise.
unsafe impl Sync for Part {}

impl Part {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: (1), and the part is borrowed from the whole.
        unsafe { &*self.bytes }
    }
}

impl OwnedBody {
    /// Takes over an existing body.
    pub(crate) fn body(copied: Aligned) -> OwnedBody {
        let first = Part { end: copied.len(), bytes: &raw const copied[..] }; // (1)
        OwnedBody::of(first, copied, None)
    }

    /// Takes over a body in other memory. The owner is asked once where it is.
    pub(crate) fn held<M: AsRef<[u8]> + Send + Sync + 'static>(memory: Arc<M>) -> OwnedBody {
        let bytes: &[u8] = (*memory).as_ref();
        let first = Part { end: bytes.len(), bytes }; // (1): they can be reached through this reference
        OwnedBody::of(first, Aligned::new(), Some(memory))
    }

    fn of(first: Part, copied: Aligned, owner: Option<Owner>) -> OwnedBody {
        OwnedBody { first, more: Vec::new(), copied, lowered: Lowered::default(), owner, is_of_record: false }
    }

    /// The body of a record whose native form is at `native`. `scratch` is the memory to which the record was lowered,
    /// if it was. It stays with the encoder if no part of the body is in it, which is the case unless there were long
    /// strings.
    ///
    /// # Errors
    /// As [`Gather::gather`].
    ///
    /// # Safety
    /// `native` is what (1) of `gather` says, for as long as references to `record` and to `scratch` would be good.
    #[inline]
    pub(crate) unsafe fn record(
        gather: &mut Gather,
        native: *const u8,
        record: Owner,
        scratch: &mut Scratch,
    ) -> Result<OwnedBody> {
        // SAFETY: promised, for as long as all of it is kept.
        let (copied, message) = unsafe { gather.gather_apart(native)? };
        let (mut end, mut in_scratch) = (0, false);
        let mut parts = message.body().map(|bytes| {
            end += bytes.len();
            in_scratch |= scratch.holds(bytes.as_ptr());
            // (1): `copied` has what was copied. All else is as the caller promises in memory of the record, which is kept,
            // or in the scratch, and then that is kept, too.
            Part { end, bytes }
        });
        let first = parts.next().unwrap_or(Part { end: 0, bytes: &[] });
        let more = parts.collect();
        let lowered = if in_scratch { scratch.give_up() } else { Lowered::default() };
        Ok(OwnedBody { first, more, copied, lowered, owner: Some(record), is_of_record: true })
    }

    /// The record of this body, if there is one.
    pub(crate) fn record_owner(&self) -> Option<&Owner> {
        self.owner.as_ref().filter(|_| self.is_of_record)
    }

    /// How many bytes there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.more.last().unwrap_or(&self.first).end
    }

    /// All bytes, if they are contiguous.
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<&[u8]> {
        self.more.is_empty().then(|| self.first.bytes())
    }

    /// The bytes of a range, as contiguous pieces.
    ///
    /// # Panics
    /// If the range is not within the body.
    #[inline]
    pub(crate) fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> + Clone {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of a body of {} bytes", self.len());
        let first = (range.start < self.first.end).then_some(&self.first);
        let more = &self.more[self.more.partition_point(|part| part.end <= range.start)..];
        let within = move |part: &Part| {
            let start = part.end - part.bytes.len();
            range.start.saturating_sub(start)..range.end.min(part.end).saturating_sub(start)
        };
        let pieces = first.into_iter().chain(more).map(move |part| &part.bytes()[within(part)]);
        pieces.take_while(|piece| !piece.is_empty())
    }
}
