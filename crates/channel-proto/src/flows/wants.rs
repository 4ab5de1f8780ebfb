//! What sinks want of the events of a source besides whole events: the queries of its subscriptions. Each is evaluated once
//! for an event, however many sinks share it (`spec/channel.md`, "Queries").
//!
//! `submit` asks for the answers, and treats each subscription by the one to its query.

use crate::keys::LinkKey;
use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use isoform_core::{Code, Error, Format, Result, Verifier, View};
use isoform_query::{Account, Cost, Event, Query, Run, Verdict, layout_like};

/// The most queries at one source that differ.
const QUERIES: usize = 64;
/// The most steps of a query for a record, and for an element of its longest array.
const STEPS: u64 = 1 << 20;
/// The formats of one source that a query remembers.
const FORMATS: usize = 8;
/// The nanoseconds that a step is counted as: for an operation on single values, and for one on an element of an array.
const OPERATION: u64 = 20;
const ELEMENT: u64 = 10;
/// The most operations of a query. Further steps of a record are for elements of arrays.
const OPERATIONS: u64 = 512;
/// The nanoseconds that the queries of other nodes may take at a source at once. After that, they get one part in `SHARE` of the time that passes.
const AT_ONCE: u64 = 1_000_000_000;
const SHARE: u64 = 4;

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
}

/// The time that the queries of other nodes have taken, by their numbers of steps. What a clock says would depend on what else
/// the machine does.
#[derive(Clone, Copy, Default)]
struct Purse {
    /// In nanoseconds, less what has been given back.
    spent: u64,
    /// The time of the latest event.
    since: u64,
}

impl Purse {
    fn give_back(&mut self, now: u64) {
        if let Some(passed) = now.checked_sub(self.since) {
            (self.spent, self.since) = (self.spent.saturating_sub(passed / SHARE), now);
        }
    }
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
    /// For each such element.
    element: u64,
    /// The smallest of these elements, in bytes.
    smallest: usize,
}

struct Want<B> {
    /// The normal form, which those share who want the same.
    text: Box<str>,
    query: Query,
    sinks: usize,
    /// The link of the first of them; `None` if it is of this node, which spends its own time.
    owner: Option<LinkKey>,
    /// The error of the subscriptions, once the query is no longer evaluated.
    barred: Option<Error>,
    /// Its state for each format, the latest first; `None` where the query does not fit.
    runs: Vec<(Format, Option<State>)>,
    /// What it takes for the current event, in nanoseconds.
    takes: u64,
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
}

/// What a query makes of an event.
pub(super) enum Outcome<B> {
    /// The event is not wanted.
    Filtered,
    /// The event is wanted as it is.
    Passed,
    /// A record of another format takes the place of the event's.
    Result(Format, B),
    /// The query fits none of the formats that the source has had, or takes too long.
    Unfit(Error),
}

impl<B> Default for Wants<B> {
    fn default() -> Self {
        Wants { all: Vec::new(), verifiers: Vec::new(), body: Vec::new(), result: Vec::new(), purse: Purse::default() }
    }
}

/// A query for events of a format.
///
/// # Errors
/// Those of [`Query::check`], and [`Code::Budget`] if it takes too long for one record.
fn run(query: &Query, format: &Format) -> Result<State> {
    let checked = query.check(format, layout_like(format))?;
    let Cost { record, element } = checked.cost();
    let steps = record.saturating_add(element);
    if steps > STEPS {
        let error = Error::new(Code::Budget).at("query").expected(format_args!("at most {STEPS} steps for a record"));
        return Err(error.found(steps));
    }
    let operations = record.min(OPERATIONS);
    Ok(State {
        run: checked.run(),
        takes: operations * OPERATION + (record - operations) * ELEMENT,
        element: element * ELEMENT,
        smallest: smallest(format),
    })
}

impl<B> Wants<B> {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A subscription with this query begins, over this link, at a source whose next event has this format, if that is known.
    ///
    /// # Errors
    /// Those of [`run`]; [`Code::Budget`] if the source has too many other queries.
    pub(super) fn add(&mut self, query: &Query, owner: Option<LinkKey>, format: Option<&Format>) -> Result<WantKey> {
        let text = query.to_string().into_boxed_str();
        let same = |want: &Option<Want<B>>| want.as_ref().is_some_and(|want| want.text == text);
        if let Some(at) = self.all.iter().position(same) {
            let want = self.all[at].as_mut().ok_or_else(|| Error::new(Code::Closed).at("query"))?;
            want.sinks += 1;
            want.owner = want.owner.and(owner);
            // What others have had last is not what the new one has.
            want.runs.iter_mut().filter_map(|(_, state)| state.as_mut()).for_each(|state| state.run.joined());
            return Ok(WantKey(at));
        }
        let runs = match format {
            Some(format) => vec![(format.clone(), Some(run(query, format)?))],
            None => Vec::new(),
        };
        if self.all.iter().flatten().count() >= QUERIES {
            return Err(Error::new(Code::Budget).at("queries of a source").expected(format_args!("at most {QUERIES}")));
        }
        let want = Want {
            text,
            query: query.clone(),
            sinks: 1,
            owner,
            barred: None,
            has_fitted: !runs.is_empty(),
            runs,
            takes: 0,
            past: Account::default(),
            unfit: 0,
            outcome: Outcome::Filtered,
            open: None,
        };
        let at = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        match self.all.get_mut(at) {
            Some(free) => *free = Some(want),
            None => self.all.push(Some(want)),
        }
        Ok(WantKey(at))
    }

    /// A subscription with this query has ended.
    pub(super) fn remove(&mut self, key: WantKey) {
        let Some(slot) = self.all.get_mut(key.0) else { return };
        if let Some(want) = slot {
            want.sinks -= 1;
            if want.sinks == 0 {
                *slot = None;
            }
        }
        while self.all.last().is_some_and(Option::is_none) {
            self.all.pop();
        }
    }

    /// Some of what a query made of these events was lost on the way to a sink.
    pub(super) fn lost(&mut self, key: WantKey, first: u64, count: u64) {
        let Some(want) = self.all.get_mut(key.0).and_then(Option::as_mut) else { return };
        want.runs.iter_mut().filter_map(|(_, state)| state.as_mut()).for_each(|state| state.run.lost(first, count));
    }

    /// The query with its state at the beginning, for events that were kept before a subscription.
    pub(super) fn anew(&self, key: WantKey) -> Wants<B> {
        let mut anew = Wants { purse: self.purse, ..Wants::default() };
        if let Some(want) = self.all.get(key.0).and_then(Option::as_ref) {
            anew.all.resize_with(key.0, || None);
            anew.all.push(Some(Want {
                text: want.text.clone(),
                query: want.query.clone(),
                sinks: 1,
                owner: want.owner,
                barred: want.barred.clone(),
                runs: Vec::new(),
                has_fitted: want.has_fitted,
                takes: 0,
                past: Account::default(),
                unfit: 0,
                outcome: Outcome::Filtered,
                open: None,
            }));
        }
        anew
    }

    /// Takes over the time that `others` have spent, which [`anew`](Wants::anew) made of these.
    pub(super) fn spent_by(&mut self, others: &Wants<B>) {
        self.purse = others.purse;
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
    /// Evaluates all queries for an event.
    pub(super) fn evaluate(&mut self, format: &Format, event: Event, draft: &impl Draft<B>) {
        let Wants { all, verifiers, body, result, purse } = self;
        let mut open = false;
        for want in all.iter_mut().flatten() {
            want.open = None;
            if let Some(error) = &want.barred {
                want.outcome = Outcome::Unfit(error.clone());
                continue;
            }
            want.outcome = match want.run_for(format) {
                Ok(at) => match &mut want.runs[at].1 {
                    Some(state) => {
                        let passes_over = state.run.passes_over(event.sequence);
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
        if !open {
            return;
        }
        purse.give_back(event.time);
        spend(all, purse, draft.length());
        let bytes = draft.contiguous().unwrap_or_else(|| {
            body.clear();
            draft.pieces(&mut |piece| body.extend_from_slice(piece));
            body
        });
        // Otherwise it passes: the sink verifies it as well, and says why it is not valid.
        let Some(view) = verified(verifiers, format, bytes) else { return };
        for want in all.iter_mut().flatten() {
            let Some(State { run, .. }) = want.open.and_then(|at| want.runs[at].1.as_mut()) else { continue };
            want.outcome = match run.record_into(view, event, result) {
                Ok(Verdict::Filtered) => Outcome::Filtered,
                Ok(Verdict::Result) => Outcome::Result(run.format().clone(), B::made(run.format(), result)),
                Ok(Verdict::Passed) | Err(_) => Outcome::Passed,
            };
        }
    }
}

/// Spends the time that the open queries take for an event. If it does not suffice, queries are barred one by one until it does: each time, of
/// the node whose queries take the longest, the query that takes the longest.
fn spend<B>(all: &mut [Option<Want<B>>], purse: &mut Purse, length: usize) {
    let mut total = 0u64;
    for want in all.iter_mut().flatten() {
        let state = want.open.filter(|_| want.owner.is_some()).and_then(|at| want.runs[at].1.as_ref());
        want.takes = state.map_or(0, |state| state.takes_for(length));
        total = total.saturating_add(want.takes);
    }
    while purse.spent.saturating_add(total) > AT_ONCE {
        let mut of_owners: Vec<(LinkKey, u64)> = Vec::new();
        for want in all.iter().flatten() {
            let Some(owner) = want.owner.filter(|_| want.takes > 0) else { continue };
            match of_owners.iter_mut().find(|(known, _)| *known == owner) {
                Some((_, time)) => *time = time.saturating_add(want.takes),
                None => of_owners.push((owner, want.takes)),
            }
        }
        let Some(&(owner, _)) = of_owners.iter().max_by_key(|(_, time)| *time) else { break };
        let of_owner = all.iter_mut().flatten().filter(|want| want.owner == Some(owner));
        let Some(want) = of_owner.max_by_key(|want| want.takes) else { break };
        total = total.saturating_sub(std::mem::take(&mut want.takes));
        let error = Error::new(Code::Budget).at("query");
        let error = error.expected("queries that leave their source most of its time");
        want.open = None;
        want.outcome = Outcome::Unfit(error.clone());
        want.barred = Some(error);
    }
    purse.spent = purse.spent.saturating_add(total);
}

impl State {
    /// The approximate nanoseconds for a body of this length.
    fn takes_for(&self, length: usize) -> u64 {
        self.takes.saturating_add(self.element.saturating_mul((length / self.smallest) as u64))
    }
}

/// The size of the smallest elements of arrays of variable length.
fn smallest(format: &Format) -> usize {
    let pointer = format.machine().pointer;
    let structures = format.structure().inside_out();
    let fields = structures.iter().flat_map(|structure| structure.fields());
    fields.filter(|field| field.is_dynamic()).map(|field| field.element_size(pointer)).min().unwrap_or(1).max(1)
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
        QueryReport { text: self.text.to_string(), sinks: self.sinks as u32, unfit: self.unfit, account }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key as _;
    use isoform_core::{FieldList, Machine};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// A record with an array of variable length.
    fn format() -> Format {
        let fields = FieldList::new("Grid").field("n", "integer", 8, 0).field("x", "float[n]", 8, 8);
        fields.format(Machine { pointer: 8, ..Machine::NATIVE }, 16, 8).unwrap()
    }

    fn event(at: u64) -> Event {
        Event { sequence: at, time: at * SECOND }
    }

    /// The queries of one source.
    struct World(Wants<Arc<[u8]>>);

    impl World {
        fn add(&mut self, owner: Option<u32>, text: &str) -> WantKey {
            let owner = owner.map(|owner| LinkKey::of(owner, 0));
            self.0.add(&Query::parse(text).unwrap(), owner, Some(&format())).unwrap()
        }

        fn evaluate(&mut self, at: u64, elements: usize) {
            self.0.evaluate(&format(), event(at), &Arc::<[u8]>::from(vec![0; 16 + 8 * elements]));
        }

        fn is_evaluated(&self, key: WantKey) -> bool {
            match self.0.outcome(key) {
                Outcome::Unfit(error) => {
                    assert_eq!(error.code(), Code::Budget);
                    false
                }
                _ => true,
            }
        }
    }

    fn heavy(number: usize) -> String {
        format!("where {} > {number}", vec!["percentile(x, 50)"; 100].join(" + "))
    }

    #[test]
    fn queries_of_others_take_a_part_of_the_time_of_their_source() {
        let mut world = World(Wants::default());
        let own = world.add(None, &heavy(0));
        let light = world.add(Some(1), "where n > 3");
        let heavy: Vec<WantKey> = (1..10).map(|number| world.add(Some(2), &heavy(number))).collect();
        // Each takes some 0.3 seconds for so long an array.
        world.evaluate(1, 16_000);
        let left = heavy.iter().filter(|&&key| world.is_evaluated(key)).count();
        assert_eq!(left, 3, "as many as fit into a second");
        world.evaluate(2, 16_000);
        let left = heavy.iter().filter(|&&key| world.is_evaluated(key)).count();
        assert_eq!(left, 1, "for a quarter of a second that has been given back");
        for at in 3..100 {
            world.evaluate(at, 16_000);
            assert!(world.is_evaluated(own) && world.is_evaluated(light), "{at}");
            let left = heavy.iter().filter(|&&key| world.is_evaluated(key)).count();
            assert!(left == 0 || at < 10, "{at}: even one takes more than that, and none comes back by itself");
        }
    }

    #[test]
    fn short_arrays_take_little_and_those_who_take_little_go_on() {
        let mut world = World(Wants::default());
        let (many, few) = (world.add(Some(1), &heavy(1)), world.add(Some(2), "where sum(x) > 2"));
        // A thousand in a second.
        for at in 0..10_000u64 {
            let event = Event { sequence: at, time: at * SECOND / 1000 };
            world.0.evaluate(&format(), event, &Arc::<[u8]>::from(vec![0; 16 + 8 * 10]));
            assert!(world.is_evaluated(many) && world.is_evaluated(few), "{at}");
        }
        // What is too long even alone is not tried, in whatever order they came.
        world.evaluate(100, 100_000_000 / 8);
        assert!(!world.is_evaluated(many) && world.is_evaluated(few));
    }

    #[test]
    fn what_kept_events_take_counts_too() {
        let mut world = World(Wants::default());
        let key = world.add(Some(1), &heavy(1));
        world.evaluate(1, 10);
        for round in 0..3 {
            let mut anew = World(world.0.anew(key));
            anew.evaluate(0, 16_000);
            assert!(anew.is_evaluated(key), "{round}");
            world.0.spent_by(&anew.0);
        }
        world.evaluate(1, 16_000);
        assert!(!world.is_evaluated(key));
    }
}
