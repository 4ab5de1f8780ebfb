//! Who pays for the queries of a source, and which of them look at an event (`spec/channel.md`, "The time of queries"). `shares`
//! divides the budget, and `prices` says what things cost.

use super::{Outcome, Want};
use crate::flows::prices::Made;
use crate::flows::shares::Purse;
use isoform_core::Format;

/// The most queries that borrow from others with one event.
const BORROWERS: usize = 16;
/// The results of at least so many events are remembered.
const RECENT: u32 = 64;

/// Lets those who ask pay for what the open queries take for an event of this length. If they lack something, some flows back by the
/// time, unless the event is of another time. A query does not look at the event if they cannot pay for it, or if it takes longer than
/// any query may. Returns whether any query looks at it.
pub(super) fn charge<B>(
    all: &mut [Option<Want<B>>],
    purse: &mut Purse,
    turn: &mut usize,
    flow_back: &mut impl FnMut(&mut Purse) -> bool,
    (length, is_contiguous): (usize, bool),
) -> bool {
    let (mut is_short, mut makes_code) = (false, false);
    for want in all.iter_mut().flatten() {
        match want.expect(length, is_contiguous, purse.at_once()) <= purse.at_once() {
            true => {
                is_short |= !want.pay(purse, &mut makes_code);
                is_short |= want.account.is_some_and(|account| purse.is_poor(account));
            }
            false => want.thin(),
        }
    }
    if is_short {
        let mut borrowers = if flow_back(purse) { BORROWERS } else { 0 };
        *turn += 1;
        let (count, first) = (all.len(), *turn);
        for at in (0..count).map(|at| (at + first) % count) {
            let Some(want) = &mut all[at] else { continue };
            if want.pay(purse, &mut makes_code) {
                continue;
            }
            if let Some(account) = want.account.filter(|_| borrowers > 0) {
                borrowers -= 1;
                purse.borrow(account, want.due);
            }
            if !want.pay(purse, &mut makes_code) {
                want.note_unpaid(length, is_contiguous);
                want.thin();
            }
        }
    }
    if !makes_code {
        pay_for_code(all, purse);
    }
    all.iter().flatten().any(|want| want.open.is_some())
}

/// Lets those who ask pay for the machine code of a query that has looked at enough events. At most one query gets code with an event,
/// since making it takes long.
fn pay_for_code<B>(all: &mut [Option<Want<B>>], purse: &mut Purse) {
    let mut is_paid = false;
    for want in all.iter_mut().flatten() {
        let Some((_, Some(state))) = want.open.map(|at| &mut want.runs[at]) else { continue };
        let Some(unused) = &mut state.unused else { continue };
        *unused = unused.saturating_sub(1);
        let mut pays = || want.account.is_none_or(|account| purse.pay(account, state.price.makes_code()));
        if *unused == 0 && !is_paid && pays() {
            (state.unused, state.gets_code, is_paid) = (None, true, true);
        }
    }
}

impl<B> Want<B> {
    /// What it takes for an event of this length, which is due now, with what its results are expected to take.
    #[inline]
    fn expect(&mut self, length: usize, is_contiguous: bool, at_once: u64) -> u64 {
        (self.due, self.expected, self.code) = (0, 0, 0);
        let (open, sinks) = (self.open.filter(|_| self.account.is_some()), self.listening());
        let Some(state) = open.and_then(|at| self.runs[at].1.as_mut()) else { return 0 };
        let priced = state.priced(length, at_once);
        let gets_code = state.unused.is_some() && (priced.needs_code || priced.code_pays_off);
        let takes = priced.takes[usize::from(state.is_coded || priced.needs_code || gets_code)];
        // What stages filter has no result, and takes less: that is given back.
        let expected = takes.saturating_add(state.expects(length, sinks));
        let reads = priced.reads[usize::from(is_contiguous)];
        self.code = if gets_code { state.price.makes_code() } else { 0 };
        (self.due, self.expected) = (expected.saturating_add(reads).saturating_add(self.code), expected);
        takes
    }

    /// Remembers what the open state could not pay for.
    fn note_unpaid(&mut self, length: usize, is_contiguous: bool) {
        let (due, sinks) = (self.due, self.listening());
        if let Some((_, Some(state))) = self.open.map(|at| &mut self.runs[at]) {
            state.unpaid = Some(Unpaid { due, length, is_contiguous, sinks });
        }
    }

    /// Whether it could not pay for an event that took no more than this one will, and has not got as much since.
    #[inline]
    pub(super) fn lacks_time(&self, purse: &Purse, length: usize, is_contiguous: bool) -> bool {
        let open = self.open.and_then(|at| self.runs[at].1.as_ref());
        let Some(unpaid) = open.and_then(|state| state.unpaid.as_ref()) else { return false };
        let is_no_less =
            length >= unpaid.length && self.listening() >= unpaid.sinks && is_contiguous <= unpaid.is_contiguous;
        is_no_less && self.account.is_some_and(|account| purse.lacks(account, unpaid.due))
    }

    /// Pays the most that a check against a format can cost, and returns that; `None` if not enough is left.
    pub(super) fn pay_to_meet(
        &self,
        purse: &mut Purse,
        format: &Format,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<u64> {
        let Some(account) = self.account else { return Some(0) };
        // What costs more than there ever is takes all.
        let cost = self.extent.most_check_cost(format).min(purse.holds());
        if purse.pay(account, cost) {
            return Some(cost);
        }
        if !now().is_some_and(|now| purse.flow_back(now)) {
            return None;
        }
        purse.borrow(account, cost);
        purse.pay(account, cost).then_some(cost)
    }

    /// It does not look at the event.
    pub(super) fn thin(&mut self) {
        (self.open, self.outcome, self.due, self.code) = (None, Outcome::Thinned, 0, 0);
        self.thinned += 1;
    }

    /// Others have taken more with this event than was expected: it does not look at the event.
    pub(super) fn give_up(&mut self, purse: &mut Purse) {
        self.account.iter().for_each(|&account| purse.refund(account, self.expected));
        self.thin();
    }

    /// The evaluation and its results took more or less than was expected. Returns whether the result is paid for: nobody writes one for
    /// which nothing is left.
    #[inline]
    pub(super) fn settle(&mut self, purse: &mut Purse, made: Made) -> bool {
        let Some(account) = self.account else { return true };
        let all = made.all(self.listening());
        if all == self.expected {
            return true;
        }
        let is_larger = made.sink > 0 && all > self.expected;
        if is_larger && purse.pay_rest(account, self.expected, all) {
            return true;
        }
        // What was done is done.
        let took = if is_larger { made.all(0) } else { all };
        purse.charge(account, took.saturating_sub(self.expected));
        purse.refund(account, self.expected.saturating_sub(took));
        !is_larger
    }

    /// Pays what is due, if those who ask it can. If machine code is due for it, and another query gets some with this event, it does
    /// not look at the event.
    #[inline]
    fn pay(&mut self, purse: &mut Purse, makes_code: &mut bool) -> bool {
        if self.code > 0 && *makes_code {
            self.thin();
        }
        let is_paid = self.account.is_none_or(|account| purse.pay(account, self.due));
        if is_paid {
            let pays_code = std::mem::take(&mut self.code) > 0;
            self.due = 0;
            if let Some((_, Some(state))) = self.open.filter(|_| pays_code).map(|at| &mut self.runs[at]) {
                (state.unused, state.gets_code, *makes_code) = (None, true, true);
            }
        }
        is_paid
    }
}

/// What a query could not pay for: what an event of a length took, and its results for so many sinks.
#[derive(Clone)]
pub(super) struct Unpaid {
    due: u64,
    length: usize,
    is_contiguous: bool,
    sinks: usize,
}

/// What the results of late took.
#[derive(Clone)]
pub(super) struct Recent {
    /// The largest of the latest events, and of at least [`RECENT`] before them. `None` before the first.
    largest: [Option<Made>; 2],
    count: u32,
}

impl Recent {
    /// If it passes events whole, that costs nothing.
    pub(super) fn new(is_whole: bool) -> Recent {
        Recent { largest: [is_whole.then(Made::default), None], count: 0 }
    }

    #[inline]
    pub(super) fn note(&mut self, made: Made) {
        if self.count == RECENT {
            *self = Recent { largest: [None, self.largest[0]], count: 0 };
        }
        self.count += 1;
        let largest = self.largest[0].get_or_insert_default();
        largest.passed_on = largest.passed_on.max(made.passed_on);
        largest.sink = largest.sink.max(made.sink);
    }

    #[inline]
    pub(super) fn largest(&self) -> Option<Made> {
        let [latest, before] = self.largest;
        Some(latest.or(before)?.or(before.unwrap_or_default()))
    }
}
