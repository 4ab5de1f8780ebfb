//! What sinks want of the events of a source besides whole events: the queries of its subscriptions. Each is evaluated once
//! for an event, however many sinks of one principal share it (`spec/channel.md`, "Queries").
//!
//! `submit` asks for the answers, and treats each subscription by the one to its query. Subscriptions whose source does not have to wait for
//! their sinks are **quiet**: while their query filters, nobody looks at them, however many they are. What they have missed is counted when
//! somebody does. If it lets an event pass, those that are many get it later.

use super::moment::Moment;
use super::prices::{self, Extent, Made, Priced, QueryPrices, expect_few_steps, longest, written};
use super::quiet::Quiet;
use super::shares::{AccountKey, Asker, Purse};
use crate::credentials::Principal;
use crate::grant::QueryTime;
use crate::keys::{DemandKey, LinkKey};
use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use aside::Aside;
use isoform_core::{Code, Error, Format, Result, Verifier, View};
use isoform_query::{Account, Engine, Event, Query, Remembered, Run, Verdict, layout_like};
use paying::{Recent, Unpaid, charge};
use places::Places;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The most queries of a node without credentials, and of all such nodes together in any case.
const OF_NOBODY: usize = 8;
/// The formats of one source for which a query is at work.
const FORMATS: usize = 8;
/// The events that a query looks at before it may get machine code.
const USED: u64 = 64;

/// The queries of a source's subscriptions.
pub(super) struct Wants<B> {
    all: Vec<Option<Want<B>>>,
    /// The formats of the latest events, and whether their bodies are valid.
    verifiers: Vec<Verifier>,
    /// A body that was not contiguous.
    body: Vec<u8>,
    /// The latest result.
    result: Vec<u8>,
    /// The budget of the source; `None` if that of the node pays.
    purse: Option<Purse>,
    /// Whether nothing flows back, since the events are of another time.
    is_past: bool,
    /// The most queries that differ, and how many there are.
    most: usize,
    held: BTreeMap<Option<Principal>, Held>,
    /// The query that may take first what others have to spare.
    turn: usize,
    /// The number of quiet subscriptions.
    quiet: usize,
    places: Places,
    /// What evaluating events has taken, in nanoseconds, since somebody asked.
    spent: u64,
}

/// Which of them a subscription has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantKey(usize);

impl WantKey {
    /// A number that others do not have.
    pub(super) fn number(self) -> u64 {
        self.0 as u64
    }
}

#[cfg(test)]
impl WantKey {
    pub(super) fn of(at: usize) -> WantKey {
        WantKey(at)
    }
}

/// The state of a query for a format, and what an event takes, in nanoseconds.
#[derive(Clone)]
struct State {
    run: Run,
    /// The number of fields in the formats of its results, and whether each event of one length takes as much.
    made: usize,
    is_constant: bool,
    price: QueryPrices,
    /// What events of the length of the latest one take.
    priced: Option<Priced>,
    /// When it made its latest result, in nanoseconds.
    result: Option<u64>,
    /// Whether a result of events of that length may be as long as the fixed part of all results.
    has_room: bool,
    /// Whether machine code alone has evaluated the event before.
    is_coded: bool,
    /// Whether it looks at the times of events.
    uses_time: bool,
    /// The events that it has yet to look at before it may get machine code; `None` once the code is paid for.
    unused: Option<u64>,
    /// Whether its machine code was paid for with the current event.
    gets_code: bool,
    /// The bytes that its parts had passed on before.
    passed_on: u64,
    /// What its results took of late, besides: how much it makes is known only then. What passes whole costs nothing.
    recent: Recent,
    /// What it could not pay for.
    unpaid: Option<Unpaid>,
}

/// The queries of a principal, and how many of them each of its nodes has. Those of this node have none.
#[derive(Default)]
struct Held {
    queries: usize,
    nodes: BTreeMap<LinkKey, usize>,
}

struct Want<B> {
    /// The normal form, which those share who want the same.
    text: Box<str>,
    extent: Extent,
    /// The demand of those who share it: it sees no events for others.
    demand: Option<DemandKey>,
    query: Query,
    /// The principal of all who share it, and its account; `None` if these are this node's sinks: nobody pays for what they want.
    principal: Option<Principal>,
    account: Option<AccountKey>,
    /// The number of sinks that share it, and of those of each other node.
    sinks: usize,
    nodes: BTreeMap<LinkKey, usize>,
    /// How many of these sinks have kept events to get, for which they have states of their own.
    beginning: usize,
    /// Its state for each format, the latest first; `None` where the query does not fit. What it remembers for others is aside.
    runs: Vec<(Format, Option<Box<State>>)>,
    aside: Aside,
    /// What remains to be paid for the current event, in nanoseconds, and what of it is for the results that are expected, and for
    /// the machine code without which the query cannot look at it.
    due: u64,
    expected: u64,
    code: u64,
    /// The events that it did not look at, for lack of time.
    thinned: u64,
    /// Whether it has fitted a format.
    has_fitted: bool,
    /// The counts of states that were forgotten.
    past: Account,
    /// The events of formats that it does not fit.
    unfit: u64,
    /// What it makes of the current event.
    outcome: Outcome<B>,
    /// The state that has yet to look at the current event.
    open: Option<usize>,
    /// The subscriptions with this query that are quiet.
    quiet: Quiet<B>,
    /// Whether one that is not quiet is lossless.
    has_lossless: bool,
    /// Whether those that may get the current event later do so.
    owes: bool,
}

/// What a query makes of an event.
pub(super) enum Outcome<B> {
    /// The event is not wanted.
    Filtered,
    /// The event is wanted as it is.
    Passed,
    /// A record of another format takes the place of the event's.
    Result(Format, B),
    /// The query fits none of the formats that the source has had.
    Unfit(Error),
    /// There was no time left for the query.
    Thinned,
}

impl<B> Default for Wants<B> {
    fn default() -> Self {
        Wants::new(None, 0)
    }
}

/// A query for events of a format, of which it may take so many nanoseconds for each.
///
/// # Errors
/// Those of [`Query::check`], and [`Code::Budget`] if it takes too long for one record, or makes too much of it.
fn run(query: &Query, format: &Format, at_once: u64) -> Result<State> {
    let checked = query.check(format, layout_like(format))?;
    expect_few_steps(checked.cost())?;
    let price = QueryPrices::new(&checked, format);
    let may_have_code = price.may_have_code(at_once);
    let least = price.least(price.least(false) > at_once && may_have_code);
    if least > at_once {
        let error = Error::new(Code::Budget).at("query").expected(format_args!("at most {at_once} ns for a record"));
        return Err(error.found(format_args!("{least} ns")));
    }
    let (made, most) = (checked.format().size(), longest(format.size()));
    if !format.structure().has_slots() && made > most && at_once < u64::MAX {
        return Err(Error::new(Code::Budget).at("result").expected(format_args!("at most {most} bytes")).found(made));
    }
    let mut run = checked.run();
    // No machine code before it is paid for.
    run.interpret();
    Ok(State {
        run,
        made: checked.made_fields(),
        is_constant: checked.made_fields() == 0 && Extent::of(&query.to_string()).parts == 1,
        uses_time: checked.uses_time(),
        price,
        priced: None,
        result: None,
        has_room: true,
        is_coded: false,
        unused: may_have_code.then_some(USED),
        gets_code: false,
        passed_on: 0,
        recent: Recent::new(checked.format() == format),
        unpaid: None,
    })
}

impl<B> Wants<B> {
    /// The queries of a source with a budget of its own, or with that of its node.
    pub(super) fn new(time: Option<QueryTime>, most: usize) -> Wants<B> {
        let (all, verifiers, body, result) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Wants {
            all,
            verifiers,
            body,
            result,
            purse: time.map(Purse::new),
            is_past: false,
            most,
            held: BTreeMap::new(),
            turn: 0,
            quiet: 0,
            places: Places::default(),
            spent: 0,
        }
    }

    /// The budget of the source, which may be that of its node.
    pub(super) fn purse<'p>(&'p mut self, of_node: &'p mut Purse) -> &'p mut Purse {
        self.purse.as_mut().unwrap_or(of_node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A subscription of another node, or of this one, with this query begins at a source whose next event has this format, if
    /// that is known.
    ///
    /// # Errors
    /// Those of [`run`]; [`Code::Budget`] if there is no place for another query of the node's principal.
    pub(super) fn add(
        &mut self,
        purse: &mut Purse,
        query: &Query,
        asker: Option<Asker>,
        demand: Option<DemandKey>,
        format: Option<&Format>,
    ) -> Result<WantKey> {
        let (text, principal) = (query.to_string().into_boxed_str(), asker.map(|asker| asker.principal));
        let link = asker.map(|asker| asker.link);
        if let Some(at) = self.same(&text, demand, principal) {
            self.share(purse, at, link);
            return Ok(WantKey(at));
        }
        self.expect_place(asker)?;
        let key = WantKey(self.insert(Want { demand, principal, ..Want::new(text, query.clone()) }));
        self.share(purse, key.0, link);
        match format.map_or(Ok(()), |format| self.check(purse, key, format)) {
            Ok(()) => Ok(key),
            Err(error) => {
                self.remove(purse, key, link);
                Err(error)
            }
        }
    }

    /// Checks a new query against the format of the events, if its account can pay. Otherwise the first event for which
    /// it can pay does that.
    fn check(&mut self, of_node: &mut Purse, key: WantKey, format: &Format) -> Result<()> {
        let Wants { all, purse, .. } = self;
        let (Some(want), purse) = (&mut all[key.0], purse.as_mut().unwrap_or(of_node)) else { return Ok(()) };
        match want.pay_to_meet(purse, format, || None) {
            Some(paid) => want.meet(purse, format, paid).map(drop),
            None => Ok(()),
        }
    }

    /// The place of this query, if somebody of the same principal has it. With others, it would be thinned for one when another cannot pay.
    fn same(&self, text: &str, demand: Option<DemandKey>, principal: Option<Principal>) -> Option<usize> {
        let is_same = |want: &Want<B>| *want.text == *text && want.demand == demand && want.principal == principal;
        self.all.iter().position(|want| want.as_ref().is_some_and(is_same))
    }

    /// Adds a query that differs from the others. Returns its place.
    fn insert(&mut self, want: Want<B>) -> usize {
        self.held.entry(want.principal).or_default().queries += 1;
        self.places.join(want.demand);
        let at = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        match self.all.get_mut(at) {
            Some(free) => *free = Some(want),
            None => self.all.push(Some(want)),
        }
        at
    }

    /// One more sink of a node shares a query.
    fn share(&mut self, of_node: &mut Purse, at: usize, link: Option<LinkKey>) {
        let Wants { all, purse, held, .. } = self;
        let (Some(want), purse) = (&mut all[at], purse.as_mut().unwrap_or(of_node)) else { return };
        want.sinks += 1;
        let looks = want.joined();
        let link = link.unwrap_or(LinkKey::NONE);
        let of_link = want.nodes.entry(link).or_default();
        *of_link += 1;
        if *of_link == 1 {
            *held.entry(want.principal).or_default().nodes.entry(link).or_default() += 1;
            match (want.account, want.principal) {
                (Some(account), _) => purse.join(account, link),
                (None, Some(principal)) => want.account = Some(purse.open(Asker { principal, link })),
                (None, None) => {}
            }
        }
        want.account.iter().for_each(|&account| purse.charge(account, prices::looks(looks)));
    }

    /// A subscription with this query is resumed. If its node has other credentials than before, it shares the query with others from now on.
    pub(super) fn resume(&mut self, purse: &mut Purse, key: WantKey, asker: Asker) -> WantKey {
        let Some(want) = self.all.get(key.0).and_then(Option::as_ref) else { return key };
        let (demand, principal) = (want.demand, Some(asker.principal));
        if want.principal == principal {
            return key;
        }
        let new = Want::new(want.text.clone(), want.query.clone());
        let (runs, aside) = (want.runs.clone(), want.aside.clone());
        let new = Want { demand, principal, runs, aside, has_fitted: want.has_fitted, ..new };
        let at = self.same(&new.text, demand, principal);
        let at = at.unwrap_or_else(|| self.insert(new));
        self.share(purse, at, Some(asker.link));
        self.remove(purse, key, Some(asker.link));
        WantKey(at)
    }

    /// The query of a subscription, which becomes part of another demand.
    ///
    /// # Errors
    /// As [`add`](Wants::add).
    pub(super) fn add_again(
        &mut self,
        purse: &mut Purse,
        key: WantKey,
        asker: Option<Asker>,
        demand: DemandKey,
        format: Option<&Format>,
    ) -> Result<WantKey> {
        let want = self.all.get(key.0).and_then(Option::as_ref);
        let Some(query) = want.map(|want| want.query.clone()) else { return Ok(key) };
        self.add(purse, &query, asker, Some(demand), format)
    }

    /// Checks that there is a place for one more query of a node. Its principal has an equal share of the places. If its nodes
    /// hold that many, each of them may still have an equal part of as many again, unless they have no credentials.
    fn expect_place(&self, asker: Option<Asker>) -> Result<()> {
        let (principal, link) = (asker.map(|asker| asker.principal), asker.map_or(LinkKey::NONE, |asker| asker.link));
        let its = self.held.get(&principal);
        let of_node = its.and_then(|its| its.nodes.get(&link)).copied();
        let nodes = its.map_or(0, |its| its.nodes.len()) + usize::from(of_node.is_none());
        let (held, of_node) = (its.map_or(0, |its| its.queries), of_node.unwrap_or(0));
        let is_nobody = principal.is_some_and(Principal::is_nobody);
        let least = if is_nobody { OF_NOBODY.min(self.most) } else { 1 };
        let share = (self.most / (self.held.len() + usize::from(its.is_none()))).max(least);
        let is_too_many = is_nobody && of_node >= OF_NOBODY;
        let is_in_part = !is_nobody && of_node < share / nodes && held < 2 * share;
        if !is_too_many && (held < share || is_in_part) {
            return Ok(());
        }
        let most = if is_too_many { OF_NOBODY } else { share };
        let whose =
            if is_nobody { "nodes without credentials" } else { "the nodes with one credential, while others ask too" };
        Err(Error::new(Code::Budget).at("queries of a source").expected(format_args!("at most {most} of {whose}")))
    }

    /// A subscription with this query has ended, over this link or in this node.
    pub(super) fn remove(&mut self, of_node: &mut Purse, key: WantKey, link: Option<LinkKey>) {
        let Wants { all, purse, held, places, .. } = self;
        let Some(slot) = all.get_mut(key.0) else { return };
        let (Some(want), purse) = (&mut *slot, purse.as_mut().unwrap_or(of_node)) else { return };
        let Entry::Occupied(mut its) = held.entry(want.principal) else { return };
        want.sinks -= 1;
        let link = link.unwrap_or(LinkKey::NONE);
        if is_last(&mut want.nodes, link) {
            is_last(&mut its.get_mut().nodes, link);
            want.account.iter().for_each(|&account| purse.leave(account, link));
        }
        if want.sinks == 0 {
            places.leave(want.demand);
            *slot = None;
            its.get_mut().queries -= 1;
        }
        if its.get().queries == 0 {
            its.remove();
        }
        while all.last().is_some_and(Option::is_none) {
            all.pop();
        }
    }

    /// Some of what a query made of these events was lost on the way to a sink.
    pub(super) fn lost(&mut self, of_node: &mut Purse, key: WantKey, first: u64, count: u64) {
        let Wants { all, purse, .. } = self;
        let Some(want) = all.get_mut(key.0).and_then(Option::as_mut) else { return };
        let looks = want.change(|run| run.lost(first, count), |remembered| remembered.lost(first, count));
        let purse = purse.as_mut().unwrap_or(of_node);
        want.account.iter().for_each(|&account| purse.charge(account, prices::looks(looks)));
    }

    /// Those who ask a query pay for something else that it takes; or those who state fields, if it is no query.
    pub(super) fn charge(&mut self, of_node: &mut Purse, key: Option<WantKey>, cost: u64) {
        let purse = self.purse.as_mut().unwrap_or(of_node);
        let Some(key) = key else { return purse.charge_for_fields(cost) };
        let account = self.all.get(key.0).and_then(Option::as_ref).and_then(|want| want.account);
        account.into_iter().for_each(|account| purse.charge(account, cost));
    }

    /// What a query has made of the event that was evaluated last.
    pub(super) fn outcome(&self, key: WantKey) -> &Outcome<B> {
        self.all.get(key.0).and_then(Option::as_ref).map_or(&Outcome::Passed, |want| &want.outcome)
    }

    /// The queries and their counts.
    pub(super) fn reports(&self) -> Vec<QueryReport> {
        self.all.iter().flatten().map(Want::report).collect()
    }
}

impl<B: Body> Wants<B> {
    /// Evaluates all queries for an event, which is for a demand or for all. Returns whether all of them filter it.
    pub(super) fn evaluate(
        &mut self,
        purse: &mut Purse,
        format: &Format,
        demand: Option<DemandKey>,
        sequence: u64,
        moment: &mut Moment<impl FnMut() -> u64>,
        draft: &impl Draft<B>,
    ) -> bool {
        self.look(purse, format, demand, sequence, moment, draft);
        self.all.iter().flatten().all(|want| matches!(want.outcome, Outcome::Filtered))
    }

    fn look(
        &mut self,
        of_node: &mut Purse,
        format: &Format,
        demand: Option<DemandKey>,
        sequence: u64,
        moment: &mut Moment<impl FnMut() -> u64>,
        draft: &impl Draft<B>,
    ) {
        let Wants { all, verifiers, body, result, purse, is_past, turn, places, spent, .. } = self;
        let purse = purse.as_mut().unwrap_or(of_node);
        let (length, is_contiguous) = (draft.length(), draft.contiguous().is_some());
        let (mut open, mut flowed_back) = (false, None);
        places.meet(format, demand, sequence);
        purse.begin();
        for want in all.iter_mut().flatten() {
            want.open = None;
            if want.listening() == 0 || demand.is_some() && demand != want.demand {
                want.outcome = Outcome::Filtered;
                continue;
            }
            let (place, has_forgotten) = places.of(want.demand);
            if has_forgotten && want.goes_by_places() {
                want.past.forgotten += 1;
            }
            // Of a source with very many formats, that is each event.
            if !want.move_to_front(format) {
                let Some(paid) = want.pay_to_meet(purse, format, || (!*is_past).then(|| moment.time())) else {
                    want.thin();
                    continue;
                };
                match want.meet(purse, format, paid) {
                    Ok(took) => *spent = spent.saturating_add(took),
                    Err(error) => {
                        want.outcome = Outcome::Unfit(error);
                        continue;
                    }
                }
            }
            let Some(state) = &mut want.runs[0].1 else {
                want.unfit += 1;
                want.outcome = Outcome::Filtered;
                continue;
            };
            if state.run.passes_over(place, || moment.time()) {
                want.outcome = Outcome::Filtered;
                continue;
            }
            want.open = Some(0);
            // Who could not pay for such an event need not be looked at before something flows back.
            let lacks_time = want.lacks_time(purse, length, is_contiguous)
                && !*flowed_back.get_or_insert_with(|| !*is_past && purse.flow_back(moment.time()));
            // Otherwise it might let an event pass for which there is no room.
            if lacks_time || want.quiet.lacks_room(length) && want.may_owe() {
                want.thin();
                continue;
            }
            open = true;
        }
        if !open {
            return;
        }
        let mut flow_back =
            |purse: &mut Purse| flowed_back.unwrap_or_else(|| !*is_past && purse.flow_back(moment.time()));
        if !charge(all, purse, turn, &mut flow_back, (length, is_contiguous)) {
            return;
        }
        let bytes = draft.contiguous().unwrap_or_else(|| {
            body.clear();
            draft.pieces(&mut |piece| body.extend_from_slice(piece));
            body
        });
        let Some(view) = verified(verifiers, format, bytes) else {
            // It passes: the sink verifies it as well, and says why it is not valid.
            let open = all.iter_mut().flatten().filter(|want| want.open.is_some());
            return open.for_each(|want| want.outcome = Outcome::Passed);
        };
        for want in all.iter_mut().flatten().filter(|want| want.open.is_some()) {
            if purse.is_behind() && want.account.is_some() {
                want.give_up(purse);
                continue;
            }
            let (place, _) = places.of(want.demand);
            let Some(state) = want.open.and_then(|at| want.runs[at].1.as_mut()) else { continue };
            if std::mem::take(&mut state.gets_code) {
                state.run.generate();
                *spent = spent.saturating_add(state.price.makes_code());
            }
            let time = if state.uses_time { moment.time() } else { 0 };
            let event = Event { sequence, place, time };
            // Results of kept events are written together.
            let now = || if *is_past { 0 } else { moment.time() };
            let (verdict, made) = state.evaluate(view, event, result, now);
            *spent = spent.saturating_add(made.here());
            let is_paid = want.settle(purse, made);
            // A result that nobody gets is none to expect.
            if let Some((_, Some(state))) = want.open.filter(|_| is_paid).map(|at| &mut want.runs[at]) {
                state.recent.note(made);
            }
            want.conclude(verdict, is_paid, sequence, result);
        }
    }
}

impl State {
    /// What its results are expected to take, for so many sinks. Before the first, that is for all that it may copy.
    #[inline]
    fn expects(&self, length: usize, sinks: usize) -> u64 {
        self.recent.largest().unwrap_or_else(|| self.price.results(self.run.format(), length)).all(sinks)
    }

    /// What the query makes of an event, `None` if that exceeds a limit or cannot be made, and what it takes.
    #[inline]
    fn evaluate(
        &mut self,
        view: View<'_>,
        event: Event,
        result: &mut Vec<u8>,
        now: impl FnOnce() -> u64,
    ) -> (Option<Verdict>, Made) {
        let length = view.body().len();
        self.unpaid = None;
        let before = (!self.is_constant).then(|| (self.run.spent(), self.passed_on));
        let interpreted = self.run.interpreted();
        let verdict = if self.has_room { self.run.record_into(view, event, result).ok() } else { None };
        // Until code has evaluated an event, the interpreter may have to.
        let is_coded = self.run.engine() != Engine::Interpreter && self.run.interpreted() == interpreted;
        self.is_coded = is_coded;
        let (mut made, mut evaluated) = (Made::default(), None);
        if let Some((spent, passed_on)) = before {
            self.passed_on = self.run.passed_on();
            made.passed_on = prices::passed_on(self.passed_on - passed_on);
            // After a fault, it may have taken all that it could.
            evaluated = verdict.map(|_| self.price.of(self.run.spent().since(spent), length, is_coded));
        }
        let known = self.priced.filter(|priced| priced.length == length);
        let whole =
            || known.map_or_else(|| self.price.whole(length, is_coded), |priced| priced.takes[usize::from(is_coded)]);
        made.evaluated = evaluated.unwrap_or_else(whole);
        if verdict == Some(Verdict::Result) {
            let now = now();
            let since = self.result.replace(now).map(|before| now.saturating_sub(before));
            made.sink = written(result.len()) + prices::rare(since);
        }
        (verdict, made)
    }

    /// What events of this length take, if one evaluation may take so much. The query keeps to the limits for them from now on.
    #[inline]
    fn priced(&mut self, length: usize, at_once: u64) -> Priced {
        match self.priced {
            Some(priced) if priced.length == length => priced,
            _ => self.price_anew(length, at_once),
        }
    }

    #[inline(never)]
    fn price_anew(&mut self, length: usize, at_once: u64) -> Priced {
        let (priced, most) = (self.price.priced(length, at_once), longest(length));
        self.run.need_code(priced.needs_code);
        self.run.limit(most);
        (self.priced, self.has_room) = (Some(priced), self.run.format().size() <= most);
        priced
    }
}

/// A body of an event; `None` if it is not valid.
#[inline(always)]
fn verified<'a>(verifiers: &'a mut Vec<Verifier>, format: &Format, bytes: &'a [u8]) -> Option<View<'a>> {
    let at = verifiers.iter().position(|verifier| verifier.format() == format).unwrap_or_else(|| {
        verifiers.truncate(FORMATS - 1);
        verifiers.insert(0, Verifier::new(format));
        0
    });
    verifiers[at].verify(bytes).ok().map(View::new)
}

impl<B: Body> Want<B> {
    /// What it makes of the current event is known. A result for which nothing was left is lost.
    #[inline]
    fn conclude(&mut self, verdict: Option<Verdict>, is_paid: bool, sequence: u64, result: &[u8]) {
        let Some(state) = self.open.and_then(|at| self.runs[at].1.as_mut()) else { return };
        // Each outcome is written where it stays: most events are filtered, and to move one costs more than that.
        match verdict {
            Some(Verdict::Filtered) => self.outcome = Outcome::Filtered,
            Some(Verdict::Result) if is_paid => {
                let format = state.run.format();
                self.outcome = Outcome::Result(format.clone(), B::made(format, result));
            }
            Some(Verdict::Passed) => self.outcome = Outcome::Passed,
            Some(Verdict::Result) | None => {
                state.run.lost(sequence, 1);
                self.thin();
            }
        }
    }
}

impl<B> Want<B> {
    fn new(text: Box<str>, query: Query) -> Want<B> {
        Want {
            extent: Extent::of(&text),
            text,
            demand: None,
            query,
            principal: None,
            account: None,
            sinks: 0,
            nodes: BTreeMap::new(),
            beginning: 0,
            runs: Vec::new(),
            aside: Aside::default(),
            due: 0,
            expected: 0,
            code: 0,
            thinned: 0,
            has_fitted: false,
            past: Account::default(),
            unfit: 0,
            outcome: Outcome::Filtered,
            open: None,
            quiet: Quiet::default(),
            has_lossless: false,
            owes: false,
        }
    }

    /// A sink gets what its state makes of the next events. What others have had last is not what this one has. Returns how many states
    /// that has looked at.
    fn joined(&mut self) -> u64 {
        self.change(|run| run.joined(), Remembered::joined)
    }

    /// How many sinks get what its state makes of events.
    #[inline]
    fn listening(&self) -> usize {
        self.sinks - self.beginning
    }

    /// Moves its state for a format to the front. Returns whether it has one, or knows that it does not fit.
    #[inline]
    fn move_to_front(&mut self, format: &Format) -> bool {
        let at = self.runs.iter().position(|(known, _)| known == format);
        at.into_iter().filter(|at| *at > 0).for_each(|at| self.runs[..=at].rotate_right(1));
        at.is_some()
    }

    /// Changes what it remembers for all formats. Returns how many states that has looked at.
    fn change(&mut self, mut run: impl FnMut(&mut Run) -> u64, aside: impl FnMut(&mut Remembered) -> u64) -> u64 {
        let at_work = self.runs.iter_mut().filter_map(|(_, state)| state.as_mut());
        at_work.map(|state| run(&mut state.run)).sum::<u64>() + self.aside.change(aside)
    }

    /// Whether it begins with `every n`.
    fn goes_by_places(&self) -> bool {
        self.runs.iter().filter_map(|(_, state)| state.as_ref()).any(|state| state.run.goes_by_places())
    }

    /// Checks the query against a format, and keeps its state, or that it does not fit. Returns the cost, in
    /// nanoseconds. The rest of what was paid is given back.
    ///
    /// # Errors
    /// Those of [`run`], if it has fitted no format yet.
    fn meet(&mut self, purse: &mut Purse, format: &Format, paid: u64) -> Result<u64> {
        let at_once = if self.account.is_none() { u64::MAX } else { purse.at_once() };
        let mut run = match run(&self.query, format, at_once) {
            Ok(run) => Some(Box::new(run)),
            Err(error) if !self.has_fitted => return Err(error),
            Err(_) => None,
        };
        let took = run.as_ref().map_or(paid, |state| self.extent.check_cost(format, state.made).min(paid));
        self.account.iter().for_each(|&account| purse.refund(account, paid.saturating_sub(took)));
        self.has_fitted = true;
        if let Some((state, remembered)) = run.as_mut().zip(self.aside.take(format.token())) {
            state.run.remember(remembered);
        }
        if self.runs.len() >= FORMATS
            && let Some((format, Some(state))) = self.runs.pop()
        {
            self.past += state.run.account();
            self.past.forgotten += self.aside.put(format.token(), state.run.into_remembered());
        }
        self.runs.insert(0, (format.clone(), run));
        Ok(took)
    }

    fn report(&self) -> QueryReport {
        let mut account = self.past;
        self.runs.iter().filter_map(|(_, state)| state.as_ref()).for_each(|state| account += state.run.account());
        let (text, sinks) = (self.text.to_string(), self.sinks as u32);
        QueryReport { text, sinks, unfit: self.unfit, thinned: self.thinned, account }
    }
}

/// Takes one from a count. Returns whether it was the last.
fn is_last(counts: &mut BTreeMap<LinkKey, usize>, link: LinkKey) -> bool {
    let Entry::Occupied(mut count) = counts.entry(link) else { return false };
    *count.get_mut() -= 1;
    let is_last = *count.get() == 0;
    if is_last {
        count.remove();
    }
    is_last
}

mod aside;
mod kept;
mod paying;
mod places;
mod resting;
#[cfg(test)]
mod tests;
