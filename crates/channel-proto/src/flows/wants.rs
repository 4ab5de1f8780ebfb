//! What sinks want of the events of a source besides whole events: the queries of its subscriptions. Each is evaluated once
//! for an event, however many sinks share it (`spec/channel.md`, "Queries").
//!
//! `submit` asks for the answers, and treats each subscription by the one to its query.

use crate::memory::{Body, Draft};
use crate::report::QueryReport;
use isoform_core::{Code, Error, Format, Result, Verifier, View};
use isoform_query::{Account, Answer, Event, Query, Run, layout_like};

/// The most queries at one source that differ.
const QUERIES: usize = 64;
/// The most steps of a query for a record, and for an element of its longest array.
const STEPS: u64 = 1 << 20;
/// The formats of one source that a query remembers.
const FORMATS: usize = 8;

/// The queries of a source's subscriptions.
pub(super) struct Wants<B> {
    all: Vec<Option<Want<B>>>,
    /// The formats of the latest events, and whether their bodies are valid.
    verifiers: Vec<Verifier>,
    /// A body that was not contiguous.
    body: Vec<u8>,
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

struct Want<B> {
    /// The normal form, which those share who want the same.
    text: Box<str>,
    query: Query,
    sinks: usize,
    /// Its state for each format, the latest first; `None` where the query does not fit.
    runs: Vec<(Format, Option<Run>)>,
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
    /// The query fits none of the formats that the source has had.
    Unfit(Error),
}

impl<B> Default for Wants<B> {
    fn default() -> Self {
        Wants { all: Vec::new(), verifiers: Vec::new(), body: Vec::new() }
    }
}

/// A query for events of a format.
///
/// # Errors
/// Those of [`Query::check`], and [`Code::Budget`] if it takes too long for one record.
pub(super) fn run(query: &Query, format: &Format) -> Result<Run> {
    let checked = query.check(format, layout_like(format))?;
    let steps = checked.cost().record.saturating_add(checked.cost().element);
    if steps > STEPS {
        let error = Error::new(Code::Budget).at("query").expected(format_args!("at most {STEPS} steps for a record"));
        return Err(error.found(steps));
    }
    Ok(checked.run())
}

impl<B> Wants<B> {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A subscription with this query begins, at a source whose next event has this format, if that is known.
    ///
    /// # Errors
    /// Those of [`run`]; [`Code::Budget`] if the source has too many other queries.
    pub(super) fn add(&mut self, query: &Query, format: Option<&Format>) -> Result<WantKey> {
        let text = query.to_string().into_boxed_str();
        let same = |want: &Option<Want<B>>| want.as_ref().is_some_and(|want| want.text == text);
        if let Some(at) = self.all.iter().position(same) {
            let want = self.all[at].as_mut().ok_or_else(|| Error::new(Code::Closed).at("query"))?;
            want.sinks += 1;
            // What others have had last is not what the new one has.
            want.runs.iter_mut().filter_map(|(_, run)| run.as_mut()).for_each(Run::joined);
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
            has_fitted: !runs.is_empty(),
            runs,
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
        want.runs.iter_mut().filter_map(|(_, run)| run.as_mut()).for_each(|run| run.lost(first, count));
    }

    /// The query with its state at the beginning, for events that were kept before a subscription.
    pub(super) fn anew(&self, key: WantKey) -> Wants<B> {
        let mut anew = Wants::default();
        if let Some(want) = self.all.get(key.0).and_then(Option::as_ref) {
            anew.all.resize_with(key.0, || None);
            anew.all.push(Some(Want {
                text: want.text.clone(),
                query: want.query.clone(),
                sinks: 1,
                runs: Vec::new(),
                has_fitted: want.has_fitted,
                past: Account::default(),
                unfit: 0,
                outcome: Outcome::Filtered,
                open: None,
            }));
        }
        anew
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
        let Wants { all, verifiers, body } = self;
        let mut open = false;
        for want in all.iter_mut().flatten() {
            want.open = None;
            want.outcome = match want.run_for(format) {
                Ok(at) => match &mut want.runs[at].1 {
                    Some(run) => {
                        let passes_over = run.passes_over(event.sequence);
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
        let bytes = draft.contiguous().unwrap_or_else(|| {
            body.clear();
            draft.pieces(&mut |piece| body.extend_from_slice(piece));
            body
        });
        // Otherwise it passes: the sink verifies it as well, and says why it is not valid.
        let Some(view) = verified(verifiers, format, bytes) else { return };
        for want in all.iter_mut().flatten() {
            let Some(run) = want.open.and_then(|at| want.runs[at].1.as_mut()) else { continue };
            want.outcome = match run.record(view, event) {
                Ok(Answer::Filtered) => Outcome::Filtered,
                Ok(Answer::Result(result)) => Outcome::Result(run.format().clone(), B::made(run.format(), &result)),
                Ok(Answer::Passed) | Err(_) => Outcome::Passed,
            };
        }
    }
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
            && let Some((_, Some(run))) = self.runs.pop()
        {
            self.past += run.account();
        }
        self.runs.insert(0, (format.clone(), run));
        Ok(0)
    }

    fn report(&self) -> QueryReport {
        let mut account = self.past;
        self.runs.iter().filter_map(|(_, run)| run.as_ref()).for_each(|run| account += run.account());
        QueryReport { text: self.text.to_string(), sinks: self.sinks as u32, unfit: self.unfit, account }
    }
}
