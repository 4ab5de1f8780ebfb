//! Quiet subscriptions: they have a query, and nobody looks at them with each event, however many share the query. While that filters, or has no
//! time left, their events are counted later: when it lets one pass, and before anything else happens to the subscription.
//!
//! If it lets an event pass, at most a few of them get it at once. If there are more, they stay quiet, and the source **owes** them the event:
//! [`dealing`] gives it to them.

pub(super) mod dealing;

use super::Kept;
use super::prices::written;
use super::sending::{GAPS, Missing, Sending};
use super::{Flows, Source};
use crate::Time;
use crate::account::{Cause, Count, Ledger};
use crate::keys::{SendingKey, SourceKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use dealing::{Ends, Owed};

/// So many gaps are remembered for all quiet subscriptions of a query together, and for each of them not less than these.
const ALL_GAPS: usize = 4_096;
const FEWEST: usize = 4;

/// When a quiet subscription gets an event that its query lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gets {
    /// It may be later.
    Later,
    /// It may be later, if it is so little that its source need not wait for its sink.
    Little,
    /// With the others that get it at once: the source may have to wait for its sink before the next event.
    AtOnce,
    /// The same, and the source waits for it without limit. While there is one, all that share its query get events at once: if too much
    /// were owed, the query would look at no event, and a lossless sink would lose it.
    Lossless,
}

/// The quiet subscriptions with a query.
pub(super) struct Quiet<B> {
    later: Vec<(SendingKey, Gets)>,
    at_once: Vec<(SendingKey, Gets)>,
    /// How many of them may get little later.
    little: usize,
    /// The events since the first of them became quiet at which the query did not look, by ascending number.
    lost: Vec<Missing>,
    /// The events that it has let pass, and that those which may get them later have not all got.
    owed: Owed<B>,
}

/// What a quiet subscription has not counted yet.
pub(super) enum Due<'a, B> {
    Missing(Missing),
    /// An event, or what the query has made of it.
    Event(&'a Kept<B>),
}

impl<B> Default for Quiet<B> {
    fn default() -> Self {
        Quiet { later: Vec::new(), at_once: Vec::new(), little: 0, lost: Vec::new(), owed: Owed::default() }
    }
}

impl<B> Quiet<B> {
    pub(super) fn push(&mut self, at: SendingKey, gets: Gets) {
        self.little += usize::from(gets == Gets::Little);
        match gets {
            Gets::Later | Gets::Little => self.later.push((at, gets)),
            Gets::AtOnce | Gets::Lossless => self.at_once.push((at, gets)),
        }
    }

    /// Returns whether it was there.
    pub(super) fn remove(&mut self, at: SendingKey) -> bool {
        let remove = |all: &mut Vec<(SendingKey, Gets)>| {
            let place = all.iter().position(|&(other, _)| other == at);
            place.map(|place| all.swap_remove(place).1)
        };
        let removed = remove(&mut self.later).or_else(|| remove(&mut self.at_once));
        self.little -= usize::from(removed == Some(Gets::Little));
        if self.later.is_empty() {
            self.owed.clear();
        }
        if self.len() == 0 {
            self.lost.clear();
        }
        removed.is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.later.len() + self.at_once.len()
    }

    fn keys(&self) -> impl Iterator<Item = SendingKey> {
        self.later.iter().chain(&self.at_once).map(|&(at, _)| at)
    }

    /// The number of those that may get events later.
    pub(super) fn patient(&self) -> usize {
        self.later.len()
    }

    pub(super) fn has_lossless(&self) -> bool {
        self.at_once.iter().any(|&(_, gets)| gets == Gets::Lossless)
    }

    /// What is owed to those that may get events later.
    pub(super) fn owed(&self) -> &Owed<B> {
        &self.owed
    }

    /// Whether too much would be owed with another event of this length.
    pub(super) fn lacks_room(&self, length: usize) -> bool {
        self.owed.lacks_room(length, self.little > 0)
    }

    /// Owes an event: at most so much together, and less if a source may have to wait for some. Returns whether nobody deals the events
    /// yet.
    pub(super) fn owe(&mut self, sequence: u64, event: Kept<B>, most: [Count; 2]) -> bool
    where
        B: Body,
    {
        self.owed.push(sequence, event, most)
    }

    /// Those that get an event at once, with what they have missed.
    pub(super) fn take_at_once(&mut self) -> Option<Quiet<B>> {
        let at_once = Some(std::mem::take(&mut self.at_once)).filter(|all| !all.is_empty())?;
        Some(Quiet { at_once, lost: self.lost.clone(), ..Quiet::default() })
    }

    /// The next one that gets what it is owed, while the source's next event has this number. `None` once all have got all.
    pub(super) fn turn(&mut self, next: u64) -> Option<SendingKey>
    where
        B: Body,
    {
        self.owed.turn(self.later.iter().map(|&(at, _)| at), next)
    }

    /// The query had no time left for an event. If there are many gaps, those between them count as lost, too, since the sinks are told late.
    pub(super) fn thin(&mut self, sequence: u64) {
        if self.len() == 0 {
            return;
        }
        let most = (ALL_GAPS / self.len()).clamp(FEWEST, GAPS);
        let end = self.lost.last().map_or(0, Missing::end);
        // What is owed is no part of a gap.
        let is_many = self.lost.len() >= most && self.owed.last().is_none_or(|last| last < end);
        match self.lost.last_mut() {
            Some(last) if end == sequence && (last.cause == Some(Cause::Thinned) || is_many) => last.count += 1,
            Some(last) if is_many => {
                let count = sequence + 1 - last.first;
                *last = Missing { count, cause: Some(Cause::Overrun), ..*last };
            }
            _ => self.lost.push(Missing { first: sequence, count: 1, cause: Some(Cause::Thinned) }),
        }
    }

    /// What a quiet subscription has not counted before an event, in order, if it has counted everything before `next`.
    pub(super) fn due(&self, next: u64, before: u64) -> impl Iterator<Item = Due<'_, B>> {
        let mut lost = self.lost.iter().filter(move |run| run.end() > next).peekable();
        let mut owed = self.owed.since(next).peekable();
        let mut at = next;
        std::iter::from_fn(move || {
            let first_lost = lost.peek().map_or(before, |run| run.first.max(at));
            let first_owed = owed.peek().map_or(before, |(sequence, _)| *sequence);
            let first = first_lost.min(first_owed).min(before);
            let missing = |end: u64, cause| Some(Due::Missing(Missing { first: at, count: end - at, cause }));
            let (due, end) = if at == before {
                return None;
            } else if at < first {
                (missing(first, None), first)
            } else if first_owed == at {
                (owed.next().map(|(_, event)| Due::Event(event)), at + 1)
            } else {
                let run = lost.next()?;
                let end = run.end().min(before);
                (missing(end, run.cause), end)
            };
            at = end;
            due
        })
    }

    /// Forgets which events all of them have counted as lost.
    pub(super) fn forget_counted(&mut self, next: impl Fn(SendingKey) -> u64) {
        if !self.lost.is_empty() {
            let counted = self.keys().map(next).min();
            self.lost.retain(|run| counted.is_some_and(|counted| run.end() > counted));
        }
    }
}

/// How long a sink may not know of skipped events behind which no event came, before its turn comes.
const WAIT: Time = Time::from_millis(250);
/// How many subscriptions are told at a time, and the pause after that: about a thousand in a second.
const SLICE: usize = 64;
const PAUSE: Time = Time::from_millis(64);

/// The bytes with which a sink is told of a run of events that do not come.
const MISSING: usize = 24;

/// When sinks are told of skipped events behind which no event came.
#[derive(Default)]
pub(super) struct Skips {
    /// Whether subscriptions may have skipped events since the last round began.
    pub(super) are_new: bool,
    /// When the next round begins, if that is known.
    begins: Option<Time>,
    /// The subscriptions whose turn is still to come in this round, and when the next ones are told.
    turns: Vec<SendingKey>,
    next: Time,
}

impl Skips {
    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        match self.turns.is_empty() {
            true => self.are_new.then(|| self.begins.unwrap_or(Time::ZERO)),
            false => Some(self.next),
        }
    }
}

impl<B> Source<B> {
    /// The number of subscriptions that lag behind, while these are prompt.
    pub(super) fn behind(&self, prompt: usize) -> usize {
        self.sendings.len() - prompt - self.beginning.len() - self.wants.quiet()
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Takes the subscriptions that may be quiet out of `prompt`. Their queries learn first what was lost.
    pub(super) fn quieten(&mut self, links: &Links<B>, key: SourceKey) {
        let Flows { sources, sendings, purse, .. } = self;
        let Source { prompt, wants, next, .. } = &mut sources[key];
        if wants.is_empty() {
            return;
        }
        wants.begin();
        prompt.retain(|&at| {
            let sending = &mut sendings[at];
            let Some(want) = sending.want else { return true };
            if let Some((first, count)) = sending.take_lost() {
                wants.lost(purse, want, first, count);
            }
            let gets = sending.gets(links.settings.held);
            let may_be_quiet = sending.may_be_quiet();
            if may_be_quiet {
                debug_assert_eq!(sending.next(), *next);
                sending.is_quiet = true;
                wants.rest(want, at, gets);
            } else {
                wants.watch(want, gets);
            }
            !may_be_quiet
        });
    }

    /// Counts what these quiet subscriptions have missed before an event that they get at once, and submits what they are owed.
    pub(super) fn rouse_for(
        &mut self,
        links: &mut Links<B>,
        key: SourceKey,
        quiet: &Quiet<B>,
        before: u64,
    ) -> Vec<SendingKey> {
        let all: Vec<_> = quiet.keys().collect();
        for &at in &all {
            self.sendings[at].is_quiet = false;
            let due = quiet.due(self.sendings[at].next(), before);
            let (sendings, receivings, sinks) = (&mut self.sendings, &mut self.receivings, &mut self.sinks);
            Ends { sendings, receivings, sinks }.submit(links, at, due);
        }
        self.sources[key].prompt.extend_from_slice(&all);
        all
    }

    /// Counts what a quiet subscription has missed, and submits what it is owed. From now on it gets each event at once.
    pub(super) fn rouse(&mut self, links: &mut Links<B>, at: SendingKey) {
        self.deal_to_quiet(links, at);
        self.unrest(at);
    }

    /// The same for a subscription whose link has ended: what it is owed is lost.
    pub(super) fn abandon(&mut self, at: SendingKey) {
        let Some(sending) = self.sendings.get_mut(at).filter(|sending| sending.is_quiet) else { return };
        if let Some((source, want)) = self.sources.get(sending.source).zip(sending.want) {
            for due in source.wants.due(want, sending.next(), source.next) {
                let missing = match due {
                    Due::Missing(missing) => missing,
                    Due::Event(_) => Missing { first: sending.next(), count: 1, cause: Some(Cause::Unknown) },
                };
                sending.count(missing);
            }
        }
        self.unrest(at);
    }

    fn unrest(&mut self, at: SendingKey) {
        let Some(sending) = self.sendings.get_mut(at).filter(|sending| sending.is_quiet) else { return };
        sending.is_quiet = false;
        let Some((source, want)) = self.sources.get_mut(sending.source).zip(sending.want) else { return };
        if source.wants.rouse(want, at) {
            source.prompt.push(at);
        }
    }

    /// Tells sinks of skipped events once they have waited for an event behind them: a few sinks at a time, so that nobody who submits
    /// waits for thousands of them.
    pub(super) fn tell_skips(&mut self, now: Time, links: &mut Links<B>) {
        let Skips { are_new, begins, turns, next } = &mut self.skips;
        if *are_new {
            begins.get_or_insert(now + WAIT);
        }
        if turns.is_empty() && begins.take_if(|at| *at <= now).is_some() {
            (*are_new, *next) = (false, now);
            let has_more = |one: &Sending<B>| self.sources.get(one.source).is_some_and(|it| it.next > one.next());
            let lack = self.sendings.iter().filter(|(_, one)| one.has_gaps() || one.is_quiet && has_more(one));
            self.skips.turns = lack.map(|(at, _)| at).collect();
        }
        if self.skips.turns.is_empty() || self.skips.next > now {
            return;
        }
        self.skips.next = now + PAUSE;
        for _ in 0..SLICE {
            let Some(at) = self.skips.turns.pop() else { break };
            self.tell_skips_of(links, at);
        }
        if self.skips.are_new {
            self.skips.begins.get_or_insert(now + WAIT);
        }
        if self.skips.turns.is_empty() {
            let next = |at: SendingKey| self.sendings[at].next();
            self.sources.iter_mut().for_each(|(_, source)| source.wants.forget_counted(next));
        }
    }

    /// Tells a sink of skipped events, if nothing else does, for which those pay who ask its query. A quiet subscription stays quiet.
    fn tell_skips_of(&mut self, links: &mut Links<B>, at: SendingKey) {
        // It is told with the next event if it is owed one.
        if self.sendings.get(at).is_none() || self.owes(at).events > 0 {
            return;
        }
        self.deal_to_quiet(links, at);
        let sending = &mut self.sendings[at];
        if !sending.has_gaps() {
            return;
        }
        sending.tell_skips();
        if let Some((source, want)) = self.sources.get_mut(sending.source).zip(sending.want) {
            source.wants.charge(&mut self.purse, Some(want), written(MISSING));
        }
        self.pump(links, at);
    }

    /// The account of a subscription with the submitted events that it has not counted, if it is quiet.
    pub(super) fn with_uncounted(&self, at: SendingKey) -> Ledger {
        let sending = &self.sendings[at];
        let source = self.sources.get(sending.source).filter(|_| sending.is_quiet);
        let Some((source, want)) = source.zip(sending.want) else { return sending.ledger() };
        let due = || source.wants.due(want, sending.next(), source.next);
        let owed =
            || due().filter_map(|due| if let Due::Event(event) = due { Some(event.body.length()) } else { None });
        let mut ledger =
            if owed().next().is_some() { sending.ledger_after(owed().map(Some)) } else { sending.ledger() };
        due().for_each(|due| {
            if let Due::Missing(missing) = due {
                ledger.miss(missing.cause, missing.count);
            }
        });
        ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;
    use isoform_core::{FieldList, Machine};
    use std::sync::Arc;

    type Shared = Arc<[u8]>;

    const MOST: [Count; 2] = [Count { events: 9, bytes: 100 }, Count { events: 3, bytes: 50 }];

    fn quiet(sinks: u32) -> Quiet<Shared> {
        let mut quiet = Quiet::default();
        (0..sinks).for_each(|number| quiet.push(SendingKey::of(number, 0), Gets::Later));
        quiet
    }

    fn owe(quiet: &mut Quiet<Shared>, sequence: u64, length: usize) -> bool {
        let format = FieldList::new("Tick").field("n", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap();
        let body = vec![0; length].into();
        quiet.owe(sequence, Kept { time: sequence, format, body, origin: None, demand: None }, MOST)
    }

    /// What is due: the numbers of events, and runs of others with their causes.
    fn due(quiet: &Quiet<Shared>, next: u64, before: u64) -> Vec<String> {
        let each = quiet.due(next, before).map(|due| match due {
            Due::Event(event) => format!("{}", event.time),
            Due::Missing(Missing { first, count, cause }) => {
                format!("{first}..{} {}", first + count, cause.map_or("skipped".into(), |cause| format!("{cause:?}")))
            }
        });
        each.collect()
    }

    #[test]
    fn events_and_what_is_between_them_are_due_in_order() {
        let mut quiet = quiet(1);
        assert!(owe(&mut quiet, 1, 8), "nobody deals yet");
        [2, 3].into_iter().for_each(|sequence| quiet.thin(sequence));
        assert!(!owe(&mut quiet, 5, 8));
        quiet.thin(6);
        let all = ["0..1 skipped", "1", "2..4 Thinned", "4..5 skipped", "5", "6..7 Thinned", "7..9 skipped"];
        assert_eq!(due(&quiet, 0, 9), all);
        assert_eq!(due(&quiet, 3, 6), ["3..4 Thinned", "4..5 skipped", "5"]);
        assert_eq!(due(&quiet, 5, 5), [""; 0]);
    }

    #[test]
    fn a_gap_of_many_reaches_over_no_event_that_is_owed() {
        let mut quiet = quiet(2_000);
        [0, 2, 4, 6].into_iter().for_each(|sequence| quiet.thin(sequence));
        owe(&mut quiet, 8, 8);
        [10, 11, 13].into_iter().for_each(|sequence| quiet.thin(sequence));
        assert_eq!(due(&quiet, 6, 14), ["6..7 Thinned", "7..8 skipped", "8", "9..10 skipped", "10..14 Overrun"]);
    }

    #[test]
    fn all_get_what_is_owed_in_rounds_and_then_it_is_forgotten() {
        let mut quiet = quiet(3);
        owe(&mut quiet, 1, 8);
        let first: Vec<_> = (0..3).map(|_| quiet.turn(2).map(Key::number)).collect();
        assert_eq!(first, [Some(2), Some(1), Some(0)]);
        owe(&mut quiet, 4, 8);
        quiet.push(SendingKey::of(3, 0), Gets::Later);
        assert_eq!(due(&quiet, 0, 5), ["0..1 skipped", "1", "2..4 skipped", "4"]);
        assert_eq!(quiet.turn(5).map(Key::number), Some(3));
        assert_eq!(due(&quiet, 2, 5), ["2..4 skipped", "4"], "the first has come to all");
        quiet.remove(SendingKey::of(1, 0));
        let rest: Vec<_> = (0..4).map_while(|_| quiet.turn(5)).map(Key::number).collect();
        assert_eq!(rest, [2, 1, 0], "whoever is not there any more is passed over later");
        assert!(quiet.owed().is_empty() && owe(&mut quiet, 6, 8));
        (0..4).for_each(|number| _ = quiet.remove(SendingKey::of(number, 0)));
        assert!(quiet.owed().is_empty());
    }

    #[test]
    fn what_is_owed_is_bounded_and_less_if_a_source_may_wait() {
        for (gets, most) in [(Gets::Later, 5), (Gets::Little, 2)] {
            let mut quiet = quiet(1);
            quiet.push(SendingKey::of(1, 0), gets);
            assert!(!quiet.lacks_room(1_000), "one event may have any length");
            let count = (0..20).take_while(|&sequence| {
                let has_room = !quiet.lacks_room(20);
                has_room.then(|| owe(&mut quiet, sequence, 20)).is_some()
            });
            assert_eq!(count.count(), most, "of 20 bytes");
            let count = quiet.owed().since(0).count();
            assert!(count == most && quiet.lacks_room(20) && !quiet.remove(SendingKey::of(2, 0)));
        }
        let mut quiet = quiet(1);
        (0..9).for_each(|sequence| _ = owe(&mut quiet, sequence, 0));
        assert!(quiet.lacks_room(0));
    }
}
