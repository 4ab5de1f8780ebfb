//! The quiet subscriptions with each query, and what they are owed.

use super::{Outcome, Want, WantKey, Wants};
use crate::account::Count;
use crate::flows::quiet::{Due, Gets, Quiet};
use crate::keys::SendingKey;
use crate::memory::Body;

impl<B> Wants<B> {
    /// The number of quiet subscriptions.
    #[inline]
    pub(in crate::flows) fn quiet(&self) -> usize {
        self.quiet
    }

    /// It is about to be known which subscriptions are quiet.
    pub(in crate::flows) fn begin(&mut self) {
        self.all.iter_mut().flatten().for_each(|want| want.has_lossless = false);
    }

    /// Nobody need look at a subscription with this query.
    pub(in crate::flows) fn rest(&mut self, key: WantKey, at: SendingKey, gets: Gets) {
        if let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) {
            want.quiet.push(at, gets);
            self.quiet += 1;
        }
    }

    /// Somebody looks at a subscription with this query with each event.
    pub(in crate::flows) fn watch(&mut self, key: WantKey, gets: Gets) {
        if let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) {
            want.has_lossless |= gets == Gets::Lossless;
        }
    }

    /// Somebody looks at a subscription with this query. Returns whether it was quiet.
    pub(in crate::flows) fn rouse(&mut self, key: WantKey, at: SendingKey) -> bool {
        let want = self.all.get_mut(key.0).and_then(Option::as_mut);
        let was_quiet = want.is_some_and(|want| want.quiet.remove(at));
        self.quiet -= usize::from(was_quiet);
        was_quiet
    }

    /// What a quiet subscription with this query has not counted before an event, if it has counted everything before `next`.
    pub(in crate::flows) fn due(&self, key: WantKey, next: u64, before: u64) -> impl Iterator<Item = Due<'_, B>> {
        let want = self.all.get(key.0).and_then(Option::as_ref);
        want.into_iter().flat_map(move |want| want.quiet.due(next, before))
    }

    /// What a quiet subscription with this query is owed, if it has counted everything before `next`.
    pub(in crate::flows) fn owed(&self, key: WantKey, next: u64) -> Count
    where
        B: Body,
    {
        let want = self.all.get(key.0).and_then(Option::as_ref);
        let owed = want.into_iter().flat_map(|want| want.quiet.owed().since(next));
        owed.fold(Count::default(), |Count { events, bytes }, (_, event)| Count {
            events: events + 1,
            bytes: bytes + event.body.length() as u64,
        })
    }

    /// Forgets what all quiet subscriptions have counted, each of them up to its `next`.
    pub(in crate::flows) fn forget_counted(&mut self, next: impl Fn(SendingKey) -> u64) {
        self.all.iter_mut().flatten().for_each(|want| want.quiet.forget_counted(&next));
    }

    /// The queries that owe the current event, what they make of it, and their quiet subscriptions.
    pub(in crate::flows) fn owing(&mut self) -> impl Iterator<Item = (WantKey, &Outcome<B>, &mut Quiet<B>)> {
        let all = self.all.iter_mut().enumerate().filter_map(|(at, want)| Some((WantKey(at), want.as_mut()?)));
        all.filter(|(_, want)| want.owes).map(|(key, want)| (key, &want.outcome, &mut want.quiet))
    }
}

impl<B: Body> Wants<B> {
    /// The quiet subscriptions that get the current event, or what their query has made of it, at once: somebody looks at them. Of those that
    /// may get it later, these are at most so many, and none of a query that still owes something. Those for which there was no time
    /// left stay quiet.
    pub(in crate::flows) fn rouse_passed(&mut self, sequence: u64, most: usize) -> Vec<Quiet<B>> {
        let (mut passed, mut left) = (Vec::new(), most);
        for want in self.all.iter_mut().flatten() {
            want.owes = false;
            match want.outcome {
                Outcome::Filtered => continue,
                Outcome::Thinned => {
                    want.quiet.thin(sequence);
                    continue;
                }
                _ => {}
            }
            let (patient, owed) = (want.quiet.patient(), want.quiet.owed());
            let has_room = match &want.outcome {
                Outcome::Result(_, body) => !want.quiet.lacks_room(body.length()),
                outcome => matches!(outcome, Outcome::Passed),
            };
            want.owes = patient > 0 && has_room && want.may_owe() && (patient > left || !owed.is_empty());
            let before = want.quiet.len();
            match want.owes {
                true => passed.extend(want.quiet.take_at_once()),
                false => {
                    left = left.saturating_sub(if want.account.is_some() { patient } else { 0 });
                    passed.push(std::mem::take(&mut want.quiet));
                }
            }
            self.quiet -= before - want.quiet.len();
        }
        passed
    }

    /// The next quiet subscription with this query that gets what it is owed, while the source's next event has this number.
    pub(in crate::flows) fn turn(&mut self, key: WantKey, next: u64) -> Option<SendingKey> {
        self.all.get_mut(key.0)?.as_mut()?.quiet.turn(next)
    }
}

impl<B> Want<B> {
    /// Whether some of its subscriptions may get events later. Those of this node pay for nothing, and are its program's own.
    pub(in crate::flows) fn may_owe(&self) -> bool {
        self.account.is_some() && !self.has_lossless && !self.quiet.has_lossless()
    }
}
