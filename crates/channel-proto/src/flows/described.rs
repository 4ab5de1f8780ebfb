//! Descriptions of formats that are written because of queries and fields. Whoever asks may want results of very many formats, each with a
//! description longer than any event, and another node that keeps few of them. So the budget pays for them as it does for results.

use super::sending::Sending;
use super::wants::WantKey;
use super::{Flows, prices};
use crate::keys::SourceKey;
use crate::memory::{Body, Storage};

/// What was described to a subscription.
pub(super) struct Described {
    source: SourceKey,
    /// The query; `None` if it states fields.
    want: Option<WantKey>,
    bytes: usize,
}

impl Described {
    /// So many bytes of descriptions were written with what a subscription was sent. The format of whole events is the source's own.
    #[inline]
    pub(super) fn of<B>(sending: &Sending<B>, bytes: usize) -> Option<Described> {
        let Sending { source, want, projection, .. } = *sending;
        (bytes > 0 && (want.is_some() || projection.is_some())).then_some(Described { source, want, bytes })
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Charges those who asked. It is done before they may ask for more, and not where it was written, since that may be amid an event.
    #[inline]
    pub(super) fn pay_for_descriptions(&mut self) {
        while let Some(Described { source, want, bytes }) = self.described.pop() {
            let Some(source) = self.sources.get_mut(source) else { continue };
            source.wants.charge(&mut self.purse, want, prices::described(bytes));
        }
    }
}
