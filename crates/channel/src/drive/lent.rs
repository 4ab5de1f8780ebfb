//! Long bodies that are written from the memory of the record that a thread submits, without a copy.
//!
//! The protocol keeps a body as long as it may be needed, which may be longer than the call that submits it. So the
//! protocol gets a [`Lent`] body, which has a length and no bytes. The thread that submits has the bytes, as a [`Loan`]:
//!
//! - If every place that holds the body is output that this thread writes itself, it writes from the record.
//! - As soon as another thread may need the body, the loan is [kept](Loan::keep): its bytes are copied, once. This is so if
//!   the connection is full, if a sink of this process or a queue has the body, or if another thread writes the
//!   connection.
//!
//! A body that is neither kept nor written is in no place but the output of a connection for which the thread that
//! submits has the [turn](super::flow). A connection that another thread ends meanwhile loses that output.

use super::hub::{Effect, Effects};
use super::machine::Sent;
use super::pages;
use super::unwritten::Bodies;
use isoform::{Message, Shared};
use isoform_channel_proto::{Body, Draft};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// With more pieces than this, a record is copied: finding a place in it would take too long.
const PIECES: usize = 64;

/// A body in the memory of a thread that submits it, or its copy.
pub(crate) struct Lent {
    length: usize,
    copy: OnceLock<Shared>,
}

impl Lent {
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The copy, once the body is kept.
    pub(super) fn copy(&self) -> Option<&Shared> {
        self.copy.get()
    }
}

/// An encoded record that is being submitted, and the body by which the protocol knows it.
pub(crate) struct Loan<'m> {
    message: Message<'m>,
    lent: Arc<Lent>,
}

impl<'m> Loan<'m> {
    /// Returns `None` for a message with too many pieces.
    pub(crate) fn of(message: Message<'m>) -> Option<Loan<'m>> {
        let lent = || Arc::new(Lent { length: message.body_len(), copy: OnceLock::new() });
        (message.segments().len() <= PIECES).then(|| Loan { message, lent: lent() })
    }

    /// Copies the bytes, unless that was done, so that the body can be used without this.
    ///
    /// # Panics
    /// If there is no memory.
    pub(super) fn keep(&self) {
        let no_memory = |error| panic!("no memory for an event: {error}");
        let copy = || pages::copied(self.message.format(), self.lent.length, self.message.body());
        self.lent.copy.get_or_init(|| copy().unwrap_or_else(no_memory));
    }

    /// Keeps the body unless only these effects, which this thread performs, need it. `one`: the source has one sink, so
    /// if some of the body is in the output of a connection, the rest is to follow there.
    pub(super) fn keep_unless_only_in(&self, effects: &Effects, one: bool) {
        let (mut taken, mut more_follows) = (0, false);
        for effect in effects {
            if let Effect::Write(wire, more) = effect {
                let count = wire.count_unwritten(|body| self.is_of(body));
                more_follows |= count > 0 && *more;
                taken += count;
            }
        }
        let rest = Arc::strong_count(&self.lent) - 1 - taken;
        if rest > usize::from(one && more_follows) {
            self.keep();
        }
    }

    fn is_of(&self, body: &Sent) -> bool {
        matches!(body, Sent::Lent(lent) if Arc::ptr_eq(lent, &self.lent))
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if Arc::strong_count(&self.lent) > 1 {
            self.keep();
        }
    }
}

impl Draft<Sent> for &Loan<'_> {
    fn length(&self) -> usize {
        self.lent.length
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        self.message.body().for_each(each);
    }

    fn contiguous(&self) -> Option<&[u8]> {
        self.message.contiguous_body()
    }

    fn share(&mut self) -> Sent {
        Sent::Lent(self.lent.clone())
    }

    fn is_shared(&self) -> bool {
        true
    }
}

impl Bodies<Sent> for Loan<'_> {
    fn pieces<'a>(&'a self, body: &'a Sent, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
        if !self.is_of(body) {
            return Body::pieces(body, range, each);
        }
        let mut before = 0;
        for piece in self.message.body() {
            let (from, to) = (range.start.max(before), range.end.min(before + piece.len()));
            if from < to {
                each(&piece[from - before..to - before]);
            }
            before += piece.len();
        }
    }
}
