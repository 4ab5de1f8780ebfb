//! Events that the sink does not receive: those that it does not want, superseded ones, and lost ones.

use super::{Ending, Missing, Sending};
use crate::account::{Cause, Gap, Policy};
use crate::flows::inbox::cost;
use crate::flows::lane::Lane;
use crate::keys::DemandKey;
use crate::memory::Body;

/// With this many gaps pending, neighbouring gaps are merged, whatever their causes are.
pub(in crate::flows) const GAPS: usize = 64;

impl<B: Body> Sending<B> {
    /// Further events were submitted, and are lost at once: the subscription ends.
    pub(crate) fn miss(&mut self, cause: Cause, count: u64) {
        self.next += count;
        self.ledger.miss(Some(cause), count);
    }

    /// An event that the sink's query does not want.
    pub(crate) fn filter(&mut self) {
        if self.revoked.is_none() {
            self.unwanted = self.unwanted.saturating_sub(1);
            self.skip_next(1);
        }
    }

    /// Whether nobody need look at it with each event. The source may have to wait for a sink with the policy *block* that has yet to be sent
    /// something.
    pub(in crate::flows) fn may_be_quiet(&self) -> bool {
        let is_over = self.revoked.is_some() || self.ending != Ending::No;
        let may_wait = self.granted.policy == Policy::Block && self.has_more();
        self.want.is_some() && self.unwanted == 0 && self.lost.is_none() && !is_over && !may_wait
    }

    /// Counts the next events, none of which its query let pass: what was handed on last is still the last that the sink has.
    pub(in crate::flows) fn count(&mut self, missing: Missing) {
        debug_assert_eq!(missing.first, self.next);
        match missing.cause {
            None => self.skip_next(missing.count),
            Some(cause) => self.lose_next(cause, missing.count),
        }
    }

    /// An event at which the sink's query did not look, for lack of time.
    pub(crate) fn thin(&mut self) {
        match self.revoked.is_some() || self.unwanted > 0 {
            true => self.filter(),
            false => self.lose_next(Cause::Thinned, 1),
        }
    }

    fn lose_next(&mut self, cause: Cause, count: u64) {
        self.ledger.miss(Some(cause), count);
        self.note(Missing { first: self.next, count, cause: Some(cause) });
        self.next += count;
    }

    pub(super) fn skip_next(&mut self, count: u64) {
        self.ledger.miss(None, count);
        match self.gaps.back_mut() {
            // A run of them is usual.
            Some(last) if last.cause.is_none() && last.end() == self.next => last.count += count,
            _ => self.note(Missing { first: self.next, count, cause: None }),
        }
        self.next += count;
    }

    /// Whether events do not come of which the sink does not know, and the subscription waits for no turn to say so.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty() && !self.ready
    }

    /// The sink is to be told of skipped events now, if nothing else is to be sent.
    pub(crate) fn tell_skips(&mut self) {
        self.tells_skips |= !self.has_more();
    }

    /// Whether the sink is to be told now of events that it does not receive. A run of those that its query skipped or did not look
    /// at can wait for an event, and so can one behind an event that was longer than the sink takes.
    pub(super) fn has_news(&self) -> bool {
        let Some(gap) = self.gaps.front() else { return false };
        let can_wait = match gap.cause {
            None | Some(Cause::Thinned) => true,
            Some(Cause::TooLarge) => gap.first == self.told_large,
            Some(_) => false,
        };
        !can_wait || self.gaps.len() > 1 || self.tells_skips
    }

    #[inline]
    pub(super) fn tell_gaps(&mut self, before: u64, lane: &mut impl Lane<B>) {
        self.tells_skips = false;
        while let Some(&gap) = self.gaps.front()
            && gap.first < before
        {
            debug_assert_eq!(self.position, gap.first);
            let Missing { first, count, cause } = gap;
            match cause {
                Some(cause) => {
                    self.told_superseded += if cause.is_loss() { 0 } else { count };
                    if cause == Cause::TooLarge {
                        self.told_large = gap.end();
                    }
                    lane.gap(Gap { first, count, cause });
                }
                None => {
                    self.told_skipped += count;
                    lane.skip(first, count);
                }
            }
            self.position = gap.end();
            self.gaps.pop_front();
        }
    }

    /// Tells the sink which events it does not receive before the first queued one.
    pub(crate) fn tell_first_gaps(&mut self, lane: &mut impl Lane<B>) {
        let before = self.queue.front().map_or(self.next, |front| front.sequence);
        self.tell_gaps(before, lane);
    }

    pub(super) fn drop_oldest(&mut self, cause: Cause) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.queued -= cost(oldest.body.length());
        self.lose(oldest.sequence, cause);
        true
    }

    /// Whether its policy lets it lose events, and none can be sent now.
    pub(in crate::flows) fn may_overrun(&self) -> bool {
        let can_send = self.queue.is_empty() && self.long.is_none() && self.has_credit() && self.live;
        !can_send && self.granted.policy != Policy::Block && self.unwanted == 0 && self.revoked.is_none()
    }

    /// Loses the queue, and the next events, whose demands and lengths these are. Those of other demands are skipped.
    pub(in crate::flows) fn overrun(&mut self, events: impl Iterator<Item = (Option<DemandKey>, usize)>) {
        let cause = self.overflow();
        while self.drop_oldest(cause) {}
        let (mut run, mut count) = (Some(cause), 0);
        for (demand, length) in events {
            let fate = match self.is_of(demand) {
                true if length as u64 > self.longest => Some(Cause::TooLarge),
                true => Some(cause),
                false => None,
            };
            if fate != run {
                self.miss_next(run, std::mem::replace(&mut count, 0));
                run = fate;
            }
            count += 1;
        }
        self.miss_next(run, count);
    }

    fn miss_next(&mut self, cause: Option<Cause>, count: u64) {
        match cause {
            _ if count == 0 => {}
            Some(cause) => self.lose_next(cause, count),
            None => self.skip_next(count),
        }
    }

    /// Events that the query has let pass were lost.
    pub(super) fn note_lost(&mut self, first: u64, last: u64) {
        if self.want.is_some() {
            let (from, to) = self.lost.unwrap_or((first, last));
            self.lost = Some((from.min(first), to.max(last)));
        }
    }

    /// A number of an event, and how many from that one on, among which are all that the query has let pass and that were
    /// lost since the last call.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Option<(u64, u64)> {
        let (first, last) = self.lost.take()?;
        Some((first, last - first + 1))
    }

    /// Declares that an event does not come which was not sent.
    pub(super) fn lose(&mut self, sequence: u64, cause: Cause) {
        self.note_lost(sequence, sequence);
        self.ledger.lose(cause, 1);
        self.note(Missing { first: sequence, count: 1, cause: Some(cause) });
    }

    /// Adds a gap that the sink has to be told of. It may be before other pending gaps.
    pub(super) fn note(&mut self, gap: Missing) {
        let at = self.gaps.partition_point(|other| other.first < gap.first);
        let many = self.gaps.len() >= GAPS;
        if let Some(before) = at.checked_sub(1).and_then(|at| self.gaps.get_mut(at))
            && before.end() == gap.first
            && (before.cause == gap.cause || many)
        {
            let at = at - 1;
            self.join(at, gap);
            return self.join_next(at, many);
        }
        self.gaps.insert(at, gap);
        self.join_next(at, many);
    }

    /// Extends a gap by the one after it. If only one of both is lost, all of it is, and of skipped and superseded events all
    /// are superseded: the sink is told less often, of one cause. What the query looked at was not lost for lack of its time: then
    /// all of it is lost because the sink is slow to be told.
    pub(super) fn join(&mut self, at: usize, gap: Missing) {
        let before = self.gaps[at];
        let (milder, graver) = if before.gravity() < gap.gravity() { (before, gap) } else { (gap, before) };
        let mut joined = graver.cause;
        if milder.cause != graver.cause
            && let Some(cause) = &mut joined
        {
            if *cause == Cause::Thinned {
                *cause = Cause::Overrun;
                self.ledger.recount(graver.cause, *cause, graver.count);
            }
            self.ledger.recount(milder.cause, *cause, milder.count);
        }
        self.gaps[at] = Missing { first: before.first, count: before.count + gap.count, cause: joined };
    }

    /// Merges a gap with the next one if no event is between them.
    pub(super) fn join_next(&mut self, at: usize, many: bool) {
        if let (Some(&gap), Some(&next)) = (self.gaps.get(at), self.gaps.get(at + 1))
            && gap.end() == next.first
            && (gap.cause == next.cause || many)
        {
            self.gaps.remove(at + 1);
            self.join(at, next);
        }
    }

    /// The sink does not want this many of the following events.
    pub(crate) fn skip(&mut self, count: u64) {
        self.unwanted = self.unwanted.saturating_add(count);
    }

    /// The sink knows of this many skipped and superseded events. It counts the others that it was told of as lost.
    pub(super) fn forget_told(&mut self, skipped: u64, superseded: u64) {
        self.ledger.recount(None, Cause::Cut, self.told_skipped - skipped);
        self.ledger.recount(Some(Cause::Superseded), Cause::Cut, self.told_superseded - superseded);
        (self.told_skipped, self.told_superseded) = (skipped, superseded);
    }
}
