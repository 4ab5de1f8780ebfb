//! Quiet subscriptions: they have a query and nothing to send. While the query filters, an event costs the same, however many share the
//! query: their events are counted when the query lets one pass, and before anything else happens to the subscription.

use super::{Flows, Source};
use crate::keys::{SendingKey, SourceKey};
use crate::memory::{Body, Storage};

impl<B> Source<B> {
    /// The number of subscriptions that lag behind, while these are prompt.
    pub(super) fn behind(&self, prompt: usize) -> usize {
        self.sendings.len() - prompt - self.wants.quiet()
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Takes the subscriptions that may be quiet out of `prompt`. Their queries learn first what was lost.
    pub(super) fn quieten(&mut self, key: SourceKey) {
        let Flows { sources, sendings, .. } = self;
        let Source { prompt, wants, next, .. } = &mut sources[key];
        if wants.is_empty() {
            return;
        }
        prompt.retain(|&at| {
            let sending = &mut sendings[at];
            let Some(want) = sending.want else { return true };
            if let Some((first, count)) = sending.take_lost() {
                wants.lost(want, first, count);
            }
            let may_be_quiet = sending.may_be_quiet();
            if may_be_quiet {
                debug_assert_eq!(sending.next(), *next);
                sending.is_quiet = true;
                wants.rest(want, at);
            }
            !may_be_quiet
        });
    }

    /// Counts what a quiet subscription has missed. From now on it gets each event at once.
    pub(super) fn rouse(&mut self, at: SendingKey) {
        let Some(sending) = self.sendings.get_mut(at).filter(|sending| sending.is_quiet) else { return };
        let (Some(source), Some(want)) = (self.sources.get_mut(sending.source), sending.want) else { return };
        sending.is_quiet = false;
        sending.filter_before(source.next);
        if source.wants.rouse(want, at) {
            source.prompt.push(at);
        }
    }

    /// The same for all subscriptions of all sources.
    pub(super) fn rouse_everywhere(&mut self) {
        for (_, source) in self.sources.iter_mut() {
            for at in source.wants.rouse_all() {
                let sending = &mut self.sendings[at];
                sending.is_quiet = false;
                sending.filter_before(source.next);
                source.prompt.push(at);
            }
        }
    }

    /// The number of submitted events that a quiet subscription has not counted.
    pub(super) fn uncounted(&self, at: SendingKey) -> u64 {
        let sending = &self.sendings[at];
        let source = self.sources.get(sending.source).filter(|_| sending.is_quiet);
        source.map_or(0, |source| source.next - sending.next())
    }
}
