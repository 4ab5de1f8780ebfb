//! What sinks want of the events of a source besides whole events: the queries of its subscriptions. Each is evaluated once
//! for an event, however many sinks share it (`spec/channel.md`, "Queries").
//!
//! `submit` asks for the answers, and treats each subscription by the one to its query. Subscriptions that have nothing to send are
//! **quiet**: while their query filters, nobody looks at them, however many they are. What they have missed is counted when
//! somebody does.

use super::moment::Moment;
use super::shares::{Asker, Part, Purse, pay};
use crate::grant::QueryTime;
use crate::keys::{DemandKey, LinkKey, SendingKey};
use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use isoform_core::{Code, Error, Format, Result, Verifier, View};
use isoform_query::{Account, Cost, Event, Query, Run, Verdict, layout_like};

/// The most queries of a node without credentials, and of all such nodes together in any case.
const OF_STRANGER: usize = 8;
/// The most steps of a query: for a record, for an element of its longest array, and for 8 bytes of its texts, together.
const STEPS: u64 = 1 << 20;
/// The formats of one source that a query remembers.
const FORMATS: usize = 8;
/// The nanoseconds that a step is counted as: for an operation on single values, and for one on an element of an array.
const OPERATION: u64 = 20;
const ELEMENT: u64 = 10;
/// For each byte of a result.
const BYTE: u64 = 1;
/// The bytes of a text that a query looks at in a nanosecond. Texts are no longer than the event.
const TEXT: usize = 8;
/// For the machine code of a query, once, and the addition for each of its operations.
const CODE: u64 = 40_000;
const CODE_OPERATION: u64 = 20_000;
/// The events that a query looks at before it may get machine code.
const USED: u64 = 64;
/// The most queries that borrow from others with one event.
const BORROWERS: usize = 16;
/// The most operations of a query. Further steps of a record are for elements of arrays.
const OPERATIONS: u64 = 512;

/// The queries of a source's subscriptions.
pub(super) struct Wants<B> {
    all: Vec<Option<Want<B>>>,
    /// The formats of the latest events, and whether their bodies are valid.
    verifiers: Vec<Verifier>,
    /// A body that was not contiguous.
    body: Vec<u8>,
    /// The latest result.
    result: Vec<u8>,
    purse: Purse,
    /// The most queries that differ.
    most: usize,
    /// The query that may take first what others have to spare.
    turn: usize,
    /// The number of quiet subscriptions.
    quiet: usize,
    /// The format of the latest event.
    latest: Option<Format>,
    /// Whether there are events of several formats, or for demands. A query may then not look at all of them, and their places are not
    /// their numbers.
    mixed: bool,
}

/// Which of them a subscription has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantKey(usize);

#[cfg(test)]
impl WantKey {
    pub(super) fn of(at: usize) -> WantKey {
        WantKey(at)
    }
}

/// The state of a query for a format, and what an event takes, in nanoseconds.
struct State {
    run: Run,
    /// Besides elements of arrays of variable length.
    takes: u64,
    /// Whether it looks at the times of events.
    uses_time: bool,
    /// For each such element.
    element: u64,
    /// The smallest of these elements, in bytes.
    smallest: usize,
    /// How often it looks at texts of variable length.
    texts: u64,
    /// The events that it has yet to look at before it may get machine code; `None` once the code is paid for.
    unused: Option<u64>,
    /// What its machine code costs.
    code: u64,
    /// Whether its machine code was paid for with the current event.
    gets_code: bool,
    /// The [place](Event::place) and the number of the latest event of its format.
    place: Option<(u64, u64)>,
    /// The bytes that its parts had passed on before.
    passed_on: u64,
    /// For the bytes of what it has made of the event before: how much it makes is known only then.
    made: u64,
}

struct Want<B> {
    /// The normal form, which those share who want the same.
    text: Box<str>,
    /// The demand of those who share it: it sees no events for others.
    demand: Option<DemandKey>,
    query: Query,
    /// The sinks of this node that share it. With any, nobody pays for it.
    own: usize,
    /// The other nodes that share it, and pay for it.
    parts: Vec<Part>,
    /// Its state for each format, the latest first; `None` where the query does not fit.
    runs: Vec<(Format, Option<State>)>,
    /// What remains to be paid for the current event, in nanoseconds.
    due: u64,
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
    quiet: Vec<SendingKey>,
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
        Wants::with(Purse::closed(), 0)
    }
}

/// A query for events of a format.
///
/// # Errors
/// Those of [`Query::check`], and [`Code::Budget`] if it takes too long for one record.
fn run(query: &Query, format: &Format) -> Result<State> {
    let checked = query.check(format, layout_like(format))?;
    let Cost { record, element, text } = checked.cost();
    let steps = record.saturating_add(element).saturating_add(text);
    if steps > STEPS {
        let error = Error::new(Code::Budget).at("query").expected(format_args!("at most {STEPS} steps for a record"));
        return Err(error.found(steps));
    }
    let operations = record.min(OPERATIONS);
    let mut run = checked.run();
    // No machine code before it is paid for.
    run.interpret();
    Ok(State {
        run,
        uses_time: checked.uses_time(),
        takes: operations * OPERATION + (record - operations) * ELEMENT,
        element: element * ELEMENT,
        smallest: smallest(format),
        texts: text,
        unused: Some(USED),
        code: CODE + operations * CODE_OPERATION,
        gets_code: false,
        place: None,
        passed_on: 0,
        made: 0,
    })
}

impl<B> Wants<B> {
    pub(super) fn new(time: QueryTime, most: usize) -> Wants<B> {
        Wants::with(Purse::new(time), most)
    }

    fn with(purse: Purse, most: usize) -> Wants<B> {
        let (all, verifiers, body, result) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Wants { all, verifiers, body, result, purse, most, turn: 0, quiet: 0, latest: None, mixed: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A subscription of another node, or of this one, with this query begins at a source whose next event has this format, if
    /// that is known.
    ///
    /// # Errors
    /// Those of [`run`]; [`Code::Budget`] if the node has too many queries that nobody shares.
    pub(super) fn add(
        &mut self,
        query: &Query,
        asker: Option<Asker>,
        demand: Option<DemandKey>,
        format: Option<&Format>,
    ) -> Result<WantKey> {
        let text = query.to_string().into_boxed_str();
        let is_same = |want: &Want<B>| want.text == text && want.demand == demand;
        let same = self.all.iter().position(|want| want.as_ref().is_some_and(is_same));
        let at = match same {
            Some(at) => at,
            None => self.add_other(Want { demand, ..Want::new(text, query.clone()) }, asker, format)?,
        };
        // It may have come with other credentials.
        for part in parts(&mut self.all).filter(|part| Some(part.asker.link) == asker.map(|asker| asker.link)) {
            part.asker = asker.unwrap_or(part.asker);
        }
        if let Some(want) = &mut self.all[at] {
            want.share(asker);
            // What others have had last is not what the new one has.
            want.runs.iter_mut().filter_map(|(_, state)| state.as_mut()).for_each(|state| state.run.joined());
        }
        self.settle();
        Ok(WantKey(at))
    }

    /// Adds a query that differs from the others. Returns its place.
    fn add_other(&mut self, want: Want<B>, asker: Option<Asker>, format: Option<&Format>) -> Result<usize> {
        let runs = match format {
            Some(format) => vec![(format.clone(), Some(run(&want.query, format)?))],
            None => Vec::new(),
        };
        self.expect_place(asker)?;
        let want = Some(Want { has_fitted: !runs.is_empty(), runs, ..want });
        let at = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        match self.all.get_mut(at) {
            Some(free) => *free = want,
            None => self.all.push(want),
        }
        Ok(at)
    }

    /// The query of a subscription, which becomes part of another demand.
    ///
    /// # Errors
    /// As [`add`](Wants::add).
    pub(super) fn add_again(
        &mut self,
        key: WantKey,
        asker: Option<Asker>,
        demand: DemandKey,
        format: Option<&Format>,
    ) -> Result<WantKey> {
        let want = self.all.get(key.0).and_then(Option::as_ref);
        let Some(query) = want.map(|want| want.query.clone()) else { return Ok(key) };
        self.add(&query, asker, Some(demand), format)
    }

    /// Checks that there is a place for one more query of a node.
    fn expect_place(&self, asker: Option<Asker>) -> Result<()> {
        let wants = || self.all.iter().flatten();
        let mut askers: Vec<Option<Asker>> = wants().flat_map(Want::askers).chain([asker]).collect();
        askers.sort_unstable();
        askers.dedup();
        let is_stranger = |asker: &Option<Asker>| asker.is_some_and(|asker| asker.is_stranger);
        let strangers = askers.iter().filter(|asker| is_stranger(asker)).count();
        // All strangers count as one node.
        let share = self.most / (askers.len() - strangers + usize::from(strangers > 0));
        let held = wants().filter(|want| want.askers().any(|other| other == asker)).count();
        let (held, most) = if !is_stranger(&asker) {
            (held, share.max(1))
        } else if held >= OF_STRANGER {
            (held, OF_STRANGER)
        } else {
            (
                wants().filter(|want| want.askers().all(|asker| is_stranger(&asker))).count(),
                share.max(OF_STRANGER.min(self.most)),
            )
        };
        if held < most {
            return Ok(());
        }
        let whose = if is_stranger(&asker) { "nodes without credentials" } else { "one node, while others ask too" };
        Err(Error::new(Code::Budget).at("queries of a source").expected(format_args!("at most {most} of {whose}")))
    }

    /// A subscription with this query has ended, over this link or in this node.
    pub(super) fn remove(&mut self, key: WantKey, link: Option<LinkKey>) {
        let Some(slot) = self.all.get_mut(key.0) else { return };
        if let Some(want) = slot {
            match link {
                None => want.own -= 1,
                Some(link) => {
                    want.parts.iter_mut().filter(|part| part.asker.link == link).for_each(|part| part.sinks -= 1);
                    let gone = want.parts.extract_if(.., |part| part.sinks == 0);
                    gone.for_each(|part| self.purse.take_back(&part));
                }
            }
            if want.sinks() == 0 {
                *slot = None;
            }
        }
        while self.all.last().is_some_and(Option::is_none) {
            self.all.pop();
        }
        self.settle();
    }

    /// The number of quiet subscriptions.
    #[inline]
    pub(super) fn quiet(&self) -> usize {
        self.quiet
    }

    /// Nobody need look at a subscription with this query while that filters.
    pub(super) fn rest(&mut self, key: WantKey, at: SendingKey) {
        if let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) {
            want.quiet.push(at);
            self.quiet += 1;
        }
    }

    /// Somebody looks at a subscription with this query. Returns whether it was quiet.
    pub(super) fn rouse(&mut self, key: WantKey, at: SendingKey) -> bool {
        let quiet = self.all.get_mut(key.0).and_then(Option::as_mut).map(|want| &mut want.quiet);
        let Some(quiet) = quiet else { return false };
        let Some(place) = quiet.iter().position(|&other| other == at) else { return false };
        quiet.swap_remove(place);
        self.quiet -= 1;
        true
    }

    /// Somebody looks at all quiet subscriptions.
    pub(super) fn rouse_all(&mut self) -> Vec<SendingKey> {
        self.quiet = 0;
        self.all.iter_mut().flatten().flat_map(|want| std::mem::take(&mut want.quiet)).collect()
    }

    /// The same for those whose query has not filtered the current event.
    pub(super) fn rouse_passed(&mut self) -> Vec<SendingKey> {
        let has_passed = |want: &&mut Want<B>| !matches!(want.outcome, Outcome::Filtered);
        let passed = self.all.iter_mut().flatten().filter(has_passed);
        let passed: Vec<_> = passed.flat_map(|want| std::mem::take(&mut want.quiet)).collect();
        self.quiet -= passed.len();
        passed
    }

    /// Divides the time that is left among those who ask.
    fn settle(&mut self) {
        self.purse.settle(parts(&mut self.all));
    }

    /// Some of what a query made of these events was lost on the way to a sink.
    pub(super) fn lost(&mut self, key: WantKey, first: u64, count: u64) {
        let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) else { return };
        want.runs.iter_mut().filter_map(|(_, state)| state.as_mut()).for_each(|state| state.run.lost(first, count));
    }

    /// The query with its state at the beginning, for events that were kept before a subscription. It pays from its own part.
    pub(super) fn anew(&self, key: WantKey, link: Option<LinkKey>) -> Wants<B> {
        let mut anew = Wants { mixed: self.mixed, ..Wants::default() };
        if let Some(want) = self.all.get(key.0).and_then(Option::as_ref) {
            let part = want.parts.iter().find(|part| Some(part.asker.link) == link);
            let parts = part.map(|part| Part { left: part.left, ..Part::new(part.asker) });
            let (own, parts) = (usize::from(parts.is_none()), parts.into_iter().collect());
            let new = Want { demand: want.demand, ..Want::new(want.text.clone(), want.query.clone()) };
            anew.all.resize_with(key.0, || None);
            anew.all.push(Some(Want { own, parts, has_fitted: want.has_fitted, ..new }));
        }
        anew
    }

    /// Takes over what [`anew`](Wants::anew) made of a query has left.
    pub(super) fn spent_by(&mut self, key: WantKey, anew: &Wants<B>) {
        let new = anew.all.get(key.0).into_iter().flatten().flat_map(|want| &want.parts);
        let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) else { return };
        for spent in new {
            let part = want.parts.iter_mut().find(|part| part.asker == spent.asker);
            part.into_iter().for_each(|part| part.left = spent.left);
        }
        want.thinned += anew.all[key.0].as_ref().map_or(0, |want| want.thinned);
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
        format: &Format,
        demand: Option<DemandKey>,
        sequence: u64,
        moment: &mut Moment<impl FnMut() -> u64>,
        draft: &impl Draft<B>,
    ) -> bool {
        self.look(format, demand, sequence, moment, draft);
        self.all.iter().flatten().all(|want| matches!(want.outcome, Outcome::Filtered))
    }

    fn look(
        &mut self,
        format: &Format,
        demand: Option<DemandKey>,
        sequence: u64,
        moment: &mut Moment<impl FnMut() -> u64>,
        draft: &impl Draft<B>,
    ) {
        let Wants { all, verifiers, body, result, purse, turn, latest, mixed, .. } = self;
        let mut open = false;
        if latest.as_ref() != Some(format) {
            *mixed |= latest.replace(format.clone()).is_some();
        }
        *mixed |= demand.is_some();
        for at in 0..all.len() {
            let others = if *mixed { place_among(all, at, format, demand, sequence) } else { Some(sequence) };
            let Some(want) = &mut all[at] else { continue };
            want.open = None;
            if demand.is_some() && demand != want.demand {
                want.outcome = Outcome::Filtered;
                continue;
            }
            want.outcome = match want.run_for(format) {
                Ok(at) => match &mut want.runs[at].1 {
                    Some(state) => {
                        let place = others.unwrap_or_else(|| state.place.map_or(0, |(place, _)| place + 1));
                        state.place = Some((place, sequence));
                        let passes_over = state.run.passes_over(place, || moment.time());
                        want.open = (!passes_over).then_some(at);
                        open |= !passes_over;
                        if passes_over { Outcome::Filtered } else { Outcome::Passed }
                    }
                    None => {
                        want.unfit += 1;
                        Outcome::Filtered
                    }
                },
                Err(error) => Outcome::Unfit(error),
            };
        }
        if !open || !charge(all, purse, turn, moment, draft.length()) {
            return;
        }
        let bytes = draft.contiguous().unwrap_or_else(|| {
            body.clear();
            draft.pieces(&mut |piece| body.extend_from_slice(piece));
            body
        });
        // Otherwise it passes: the sink verifies it as well, and says why it is not valid.
        let Some(view) = verified(verifiers, format, bytes) else { return };
        for want in all.iter_mut().flatten() {
            let Some(state) = want.open.and_then(|at| want.runs[at].1.as_mut()) else { continue };
            if std::mem::take(&mut state.gets_code) {
                state.run.generate();
            }
            let time = if state.uses_time { moment.time() } else { 0 };
            let run = &mut state.run;
            let event = Event { sequence, place: state.place.map_or(sequence, |(place, _)| place), time };
            let (verdict, before) = (run.record_into(view, event, result), state.passed_on);
            state.passed_on = run.passed_on();
            let own = if matches!(verdict, Ok(Verdict::Result)) { result.len() as u64 } else { 0 };
            state.made = (state.passed_on - before + own) * BYTE;
            want.outcome = match verdict {
                Ok(Verdict::Filtered) => Outcome::Filtered,
                Ok(Verdict::Result) => Outcome::Result(run.format().clone(), B::made(run.format(), result)),
                Ok(Verdict::Passed) | Err(_) => Outcome::Passed,
            };
        }
    }
}

/// The place of an event for a query that has not looked at its format yet: the place that it has for other queries that see the same
/// events, or 0 if there are none. `None` if the query has looked at the format.
fn place_among<B>(
    all: &[Option<Want<B>>],
    at: usize,
    format: &Format,
    demand: Option<DemandKey>,
    sequence: u64,
) -> Option<u64> {
    let state = |want: &Want<B>| {
        want.runs
            .iter()
            .find(|(known, _)| known == format)
            .and_then(|(_, state)| state.as_ref())
            .and_then(|it| it.place)
    };
    let want = all[at].as_ref()?;
    let does_not_fit = want.runs.iter().any(|(known, state)| known == format && state.is_none());
    if does_not_fit || demand.is_some() && demand != want.demand || state(want).is_some() {
        return None;
    }
    let others = all.iter().flatten().filter(|other| other.demand == want.demand);
    let (place, last) = others.filter_map(state).max_by_key(|(_, last)| *last).unwrap_or((0, sequence));
    Some(place + u64::from(last != sequence))
}

/// All parts in queries.
fn parts<B>(all: &mut [Option<Want<B>>]) -> impl Iterator<Item = &mut Part> {
    all.iter_mut().flatten().flat_map(|want| &mut want.parts)
}

/// Lets those who ask pay for what the open queries take for an event of this time and length. A query for which they cannot
/// pay does not look at the event. Returns whether any query does.
fn charge<B>(
    all: &mut [Option<Want<B>>],
    purse: &mut Purse,
    turn: &mut usize,
    moment: &mut Moment<impl FnMut() -> u64>,
    length: usize,
) -> bool {
    let mut is_short = false;
    for want in all.iter_mut().flatten() {
        want.due = want.state().filter(|_| want.own == 0).map_or(0, |state| state.takes_for(length));
        is_short |= !want.pay();
    }
    if is_short {
        let mut borrowers = if purse.flow_back(moment.time(), parts(all)) { BORROWERS } else { 0 };
        *turn += 1;
        let (count, first) = (all.len(), *turn);
        for at in (0..count).map(|at| (at + first) % count) {
            let Some(want) = &mut all[at] else { continue };
            if want.pay() {
                continue;
            }
            if borrowers > 0 {
                borrowers -= 1;
                borrow(all, at);
                let owed = parts(all).fold(0u64, |all, part| all.saturating_add(part.owes));
                if let Some(want) = &mut all[at] {
                    purse.lend(&mut want.parts, want.due, owed);
                }
            }
            if let Some(want) = &mut all[at]
                && !want.pay()
            {
                (want.open, want.outcome) = (None, Outcome::Thinned);
                want.thinned += 1;
            }
        }
    }
    pay_for_code(all);
    all.iter().flatten().any(|want| want.open.is_some())
}

/// Lets those who ask pay for the machine code of a query that has looked at enough events. At most one query gets code with an event,
/// since making it takes long.
fn pay_for_code<B>(all: &mut [Option<Want<B>>]) {
    let mut is_paid = false;
    for want in all.iter_mut().flatten() {
        let Some((_, Some(state))) = want.open.map(|at| &mut want.runs[at]) else { continue };
        let Some(unused) = &mut state.unused else { continue };
        *unused = unused.saturating_sub(1);
        if *unused == 0 && !is_paid && (want.own > 0 || pay(&mut want.parts, state.code)) {
            (state.unused, state.gets_code, is_paid) = (None, true, true);
        }
    }
}

/// A query takes what it lacks from what other queries of the same nodes have to spare, if that is enough.
fn borrow<B>(all: &mut [Option<Want<B>>], at: usize) {
    let Some(want) = &mut all[at] else { return };
    let mut lacks = want.due.saturating_sub(want.parts.iter().fold(0, |all, part| all.saturating_add(part.left)));
    if lacks == 0 {
        return;
    }
    let mut takers = std::mem::take(&mut want.parts);
    let spare = |all: &mut [Option<Want<B>>], link| {
        parts(all).filter(|part| part.asker.link == link).map(|part| part.spare()).sum::<u64>()
    };
    let enough = takers.iter().map(|taker| spare(all, taker.asker.link)).sum::<u64>() >= lacks;
    for taker in takers.iter_mut().filter(|_| enough) {
        for part in parts(all).filter(|part| part.asker.link == taker.asker.link) {
            let more = part.spare().min(lacks);
            (part.left, taker.left, lacks) = (part.left - more, taker.left + more, lacks - more);
        }
    }
    if let Some(want) = &mut all[at] {
        want.parts = takers;
    }
}

impl State {
    /// The approximate nanoseconds for a body of this length.
    fn takes_for(&self, length: usize) -> u64 {
        let texts = self.texts.saturating_mul((length / TEXT) as u64);
        let takes = self.takes.saturating_add(self.made).saturating_add(texts);
        match self.element {
            0 => takes,
            element => takes.saturating_add(element.saturating_mul((length / self.smallest) as u64)),
        }
    }
}

/// The size of the smallest elements of arrays of variable length. If there are none, such a step is for some bytes of a text.
fn smallest(format: &Format) -> usize {
    let pointer = format.machine().pointer;
    let structures = format.structure().inside_out();
    let fields = structures.iter().flat_map(|structure| structure.fields());
    fields.filter(|field| field.is_dynamic()).map(|field| field.element_size(pointer)).min().unwrap_or(8).max(1)
}

/// A body of an event; `None` if it is not valid.
fn verified<'a>(verifiers: &'a mut Vec<Verifier>, format: &Format, bytes: &'a [u8]) -> Option<View<'a>> {
    let at = verifiers.iter().position(|verifier| verifier.format() == format).unwrap_or_else(|| {
        verifiers.truncate(FORMATS - 1);
        verifiers.insert(0, Verifier::new(format));
        0
    });
    verifiers[at].verify(bytes).ok().map(View::new)
}

impl<B> Want<B> {
    fn new(text: Box<str>, query: Query) -> Want<B> {
        Want {
            text,
            demand: None,
            query,
            own: 0,
            parts: Vec::new(),
            runs: Vec::new(),
            due: 0,
            thinned: 0,
            has_fitted: false,
            past: Account::default(),
            unfit: 0,
            outcome: Outcome::Filtered,
            open: None,
            quiet: Vec::new(),
        }
    }

    /// One more sink shares it.
    fn share(&mut self, asker: Option<Asker>) {
        let Some(asker) = asker else {
            self.own += 1;
            return;
        };
        match self.parts.iter_mut().find(|part| part.asker == asker) {
            Some(part) => part.sinks += 1,
            None => self.parts.push(Part::new(asker)),
        }
    }

    /// Who asks it; `None` is this node.
    fn askers(&self) -> impl Iterator<Item = Option<Asker>> {
        let own = (self.own > 0).then_some(None);
        own.into_iter().chain(self.parts.iter().map(|part| Some(part.asker)))
    }

    fn sinks(&self) -> usize {
        self.parts.iter().fold(self.own, |sinks, part| sinks + part.sinks)
    }

    /// The state that has yet to look at the current event.
    fn state(&self) -> Option<&State> {
        self.open.and_then(|at| self.runs[at].1.as_ref())
    }

    /// Pays what is due, if those who ask it can.
    fn pay(&mut self) -> bool {
        let is_paid = pay(&mut self.parts, self.due);
        if is_paid {
            self.due = 0;
        }
        is_paid
    }

    /// The place of its state for a format.
    ///
    /// # Errors
    /// Those of [`run`], if it has fitted no format yet.
    fn run_for(&mut self, format: &Format) -> Result<usize> {
        if let Some(at) = self.runs.iter().position(|(known, _)| known == format) {
            return Ok(at);
        }
        let run = match run(&self.query, format) {
            Ok(run) => Some(run),
            Err(error) if !self.has_fitted => return Err(error),
            Err(_) => None,
        };
        self.has_fitted = true;
        if self.runs.len() >= FORMATS
            && let Some((_, Some(state))) = self.runs.pop()
        {
            self.past += state.run.account();
        }
        self.runs.insert(0, (format.clone(), run));
        Ok(0)
    }

    fn report(&self) -> QueryReport {
        let mut account = self.past;
        self.runs.iter().filter_map(|(_, state)| state.as_ref()).for_each(|state| account += state.run.account());
        let (text, sinks) = (self.text.to_string(), self.sinks() as u32);
        QueryReport { text, sinks, unfit: self.unfit, thinned: self.thinned, account }
    }
}

#[cfg(test)]
mod tests;
