//! Checked queries on records, stage by stage. What expressions are is in `eval`.

use crate::check::{Changes, Checked, Cost, Node, Passage};
use crate::copy::expect_short;
use crate::engine::{Engine, Made};
use crate::eval::{Cell, Scalar, Scope, compare, eval};
use crate::state::{Entry, Last, Memory, Number, Slot};
use crate::window::{Closed, Room};
use isoform_core::{Code, Error, Format, Result, Verifier, View};
use std::cmp::Ordering;
use std::ops::AddAssign;
use std::sync::Arc;

/// The number, the place and the time of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its number at its source, from 0: `seq()`.
    pub sequence: u64,
    /// Its number among the records that the query looks at, from 0. `every n` as the first stage goes by it.
    pub place: u64,
    /// When it was submitted: nanoseconds since 1970.
    pub time: u64,
}

impl Event {
    /// A record with this number and time, for a query that looks at all records of the source.
    pub const fn at(sequence: u64, time: u64) -> Event {
        Event { sequence, place: sequence, time }
    }
}

/// What a query makes of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The record is not wanted, or a window has taken it.
    Filtered,
    /// The record is wanted as it is.
    Passed,
    /// The body of a record of [`Checked::format`].
    Result(Vec<u8>),
}

/// As [`Answer`], where a result is in a buffer of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record is not wanted, or a window has taken it.
    Filtered,
    /// The record is wanted as it is.
    Passed,
    /// The buffer has the body of a record of [`Checked::format`].
    Result,
}

/// The counts of a [`Run`]. `evaluated` is `passed` + `filtered` + `absorbed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Records that were evaluated.
    pub evaluated: u64,
    /// Records that were handed on, as they are, or as results that took their places.
    pub passed: u64,
    /// Records that were not wanted.
    pub filtered: u64,
    /// Records that a window has taken, and that gave no result.
    pub absorbed: u64,
    /// Overflows of integers, integer divisions by zero, indices and arrays of unequal length, reductions of nothing.
    pub faults: u64,
    /// Values of results that were absent: behind null pointers, and after faults.
    pub absent: u64,
    /// Keys that were forgotten, with their states, for want of room.
    pub forgotten: u64,
}

/// A query at work on the records of one source, in order.
#[derive(Clone, Debug)]
pub struct Run {
    checked: Checked,
    memory: Memory,
    account: Account,
    made: Made,
    /// Whether no stage remembers anything.
    is_plain: bool,
    /// The verdict for records that pass.
    passing: Verdict,
    /// The bytes of the results that parts have passed on to the part behind them.
    passed_on: u64,
    /// The most bytes of a result.
    most: usize,
    /// Whether nothing is left to the interpreter.
    needs_code: bool,
    /// The records for which the interpreter was needed.
    interpreted: u64,
    /// The parts behind the first one.
    next: Option<Box<Next>>,
}

/// The next part of a query at work, on what the part before it hands on.
#[derive(Clone, Debug)]
struct Next {
    run: Run,
    /// Verifies the results of the part before it.
    verifier: Arc<Verifier>,
    /// The last of these results.
    result: Vec<u8>,
    /// The number and time of the last record.
    event: Event,
}

impl Checked {
    /// Begins to evaluate the query.
    pub fn run(&self) -> Run {
        let next = self.next.as_ref().map(|next| {
            let verifier = Verifier::new(&next.input).into();
            Box::new(Next { run: next.run(), verifier, result: Vec::new(), event: Event::default() })
        });
        let key = self.stages.iter().position(|stage| matches!(stage, Passage::Key(_)));
        let keyed = key.map_or(0, |key| self.stages.len() - key - 1);
        let compares = self.stages.iter().any(|stage| matches!(stage, Passage::Changed(_)));
        let memory = Memory::new(self.memory, self.stages.len(), keyed, compares);
        Run {
            checked: self.clone(),
            memory,
            account: Account::default(),
            made: Made::new(),
            is_plain: self.stages.iter().all(|stage| matches!(stage, Passage::Where(_) | Passage::Every(_))),
            passing: if self.outcome.is_some() { Verdict::Result } else { Verdict::Passed },
            passed_on: 0,
            most: usize::MAX,
            needs_code: false,
            interpreted: 0,
            next,
        }
    }
}

/// How far a record comes.
enum Passes {
    Not,
    /// A window has taken it.
    Absorbed,
    /// The result of a window takes its place.
    Closed(Closed),
    Whole,
}

/// A stage that compares with the record last handed on, and what it is to remember if this record is handed on.
type Pending = (usize, Box<[Number]>, bool);

impl Run {
    /// Evaluates the query for a record.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape, Value, Verifier, View, value};
    /// use isoform_query::{Answer, Event, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").unit("m").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("changed depth by 0.1 or every 1 s")?.check(&format, &Layout::NATIVE)?.run();
    /// let verifier = Verifier::new(&format);
    /// let mut passed = Vec::new();
    /// for (sequence, depth) in [2.0, 2.05, 2.1, 2.11, 2.11].into_iter().enumerate() {
    ///     let body = value::body(&format, &Value::Record(vec![("depth".into(), Value::Float(depth))]))?;
    ///     let event = Event::at(sequence as u64, sequence as u64 * 500_000_000);
    ///     passed.push(run.record(View::new(verifier.verify(&body)?), event)? == Answer::Passed);
    /// }
    /// assert_eq!(passed, [true, false, true, false, true]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::WrongType`] if the record is not of the format for which the query was checked,
    /// [`Code::Budget`] if the result is longer than its [limit](Run::limit), and [`Code::Size`] if it cannot be addressed on the machine that it is laid out for.
    pub fn record(&mut self, view: View<'_>, event: Event) -> Result<Answer> {
        let mut result = Vec::new();
        Ok(match self.record_into(view, event, &mut result)? {
            Verdict::Filtered => Answer::Filtered,
            Verdict::Passed => Answer::Passed,
            Verdict::Result => Answer::Result(result),
        })
    }

    /// As [`Run::record`], with the result in place of what is in `out`. If there is none, `out` has no meaning.
    ///
    /// # Errors
    /// As [`Run::record`].
    #[inline(always)]
    pub fn record_into(&mut self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Result<Verdict> {
        if self.next.is_some() { self.parts(view, event, out) } else { self.part(view, event, out) }
    }

    /// As [`Run::record_into`], part by part.
    #[inline(never)]
    fn parts(&mut self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Result<Verdict> {
        let Some(mut next) = self.next.take() else { return self.part(view, event, out) };
        next.event = event;
        let verdict = self.part(view, event, &mut next.result).and_then(|verdict| match verdict {
            Verdict::Filtered => Ok(Verdict::Filtered),
            Verdict::Passed => next.run.record_into(view, event, out),
            Verdict::Result => {
                expect_short(next.result.len(), self.most)?;
                self.passed_on += next.result.len() as u64;
                next.result(event, out)
            }
        });
        self.next = Some(next);
        verdict
    }

    /// As [`Run::record_into`], of the first part alone.
    #[inline(always)]
    fn part(&mut self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Result<Verdict> {
        let Some(passes) = self.made.whole(view, event, out) else { return self.step(view, event, out) };
        // Without a branch, which no processor could foresee.
        self.account.evaluated += 1;
        self.account.passed += u64::from(passes);
        self.account.filtered += u64::from(!passes);
        Ok(if passes { self.passing } else { Verdict::Filtered })
    }

    /// As `part`, stage by stage.
    #[inline(never)]
    fn step(&mut self, view: View<'_>, event: Event, out: &mut Vec<u8>) -> Result<Verdict> {
        let expected = &**self.checked.input.structure();
        if !std::ptr::eq(expected, view.structure()) && *expected != *view.structure() {
            return Err(unlike(expected.name(), view));
        }
        if self.made.is_time() {
            self.generate();
        }
        self.account.evaluated += 1;
        let before = self.interpreted;
        let passage = if !self.is_plain {
            self.stages(view, event)
        } else if self.plain_stages(view, event) {
            Passes::Whole
        } else {
            Passes::Not
        };
        if self.needs_code && self.interpreted > before {
            return Err(self.refuse());
        }
        match passage {
            Passes::Not => {
                self.account.filtered += 1;
                return Ok(Verdict::Filtered);
            }
            Passes::Absorbed => {
                self.account.absorbed += 1;
                return Ok(Verdict::Filtered);
            }
            Passes::Closed(closed) => {
                self.account.passed += 1;
                self.result(closed, out)?;
                return Ok(Verdict::Result);
            }
            Passes::Whole => self.account.passed += 1,
        }
        match &self.checked.outcome {
            None => Ok(Verdict::Passed),
            Some(_) if self.made.result(view, event, out) => Ok(Verdict::Result),
            Some(_) if self.needs_code => {
                self.account.passed -= 1;
                Err(self.refuse())
            }
            Some(outcome) => {
                self.interpreted += 1;
                let account = &mut self.account;
                outcome.body(&mut Scope { view: Some(view), event, account, gathered: &[] }, self.most, out)?;
                Ok(Verdict::Result)
            }
        }
    }

    /// A record that no code could evaluate.
    #[cold]
    fn refuse(&mut self) -> Error {
        self.account.evaluated -= 1;
        Error::new(Code::Budget).at("query").expected("machine code that evaluates it").found("none")
    }

    /// The body of the result of a window.
    fn result(&mut self, (gathered, event): Closed, out: &mut Vec<u8>) -> Result<()> {
        let Some(outcome) = &self.checked.outcome else { return Err(Error::new(Code::Internal).found("no select")) };
        outcome.body(&mut Scope { view: None, event, account: &mut self.account, gathered: &gathered }, self.most, out)
    }

    /// No more records follow: the last results of the windows, in the order in which their keys were last used; at most one if there is
    /// no key. They stand behind the last record, and take the place of none. Without a window, there are none.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape, Value, Verifier, View, value};
    /// use isoform_query::{Answer, Event, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").on(&Layout::NATIVE)?;
    /// let query = Query::parse("window 3 | select count(), top = max(depth)")?;
    /// let mut run = query.check(&format, &Layout::NATIVE)?.run();
    /// let verifier = Verifier::new(&format);
    /// let mut results = Vec::new();
    /// for (sequence, depth) in [2.0, 4.0, 3.0, 1.0].into_iter().enumerate() {
    ///     let body = value::body(&format, &Value::Record(vec![("depth".into(), Value::Float(depth))]))?;
    ///     let event = Event::at(sequence as u64, 0);
    ///     if let Answer::Result(result) = run.record(View::new(verifier.verify(&body)?), event)? {
    ///         results.push(result);
    ///     }
    /// }
    /// results.extend(run.finish()?);
    /// let verifier = Verifier::new(run.format());
    /// let tops = results.iter().map(|result| View::new(verifier.verify(result)?).f64("top"));
    /// assert_eq!(tops.collect::<Result<Vec<_>, _>>()?, [4.0, 1.0]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Size`] if a result cannot be addressed on the machine that it is laid out for.
    pub fn finish(&mut self) -> Result<Vec<Vec<u8>>> {
        match &self.next {
            Some(next) => self.finish_parts(next.event),
            None => self.finish_part(),
        }
    }

    /// As [`Run::finish`], where the last record is this one.
    fn finish_parts(&mut self, event: Event) -> Result<Vec<Vec<u8>>> {
        let last = self.finish_part()?;
        let Some(next) = &mut self.next else { return Ok(last) };
        let mut all = Vec::new();
        // They take the place of no record, and are not counted among these.
        let before: Vec<_> = next.run.accounts().into_iter().map(|account| *account).collect();
        for one in last {
            next.result = one;
            let mut out = Vec::new();
            if next.result(event, &mut out)? == Verdict::Result {
                all.push(out);
            }
        }
        for (account, before) in next.run.accounts().into_iter().zip(before) {
            let Account { evaluated, passed, filtered, absorbed, .. } = before;
            *account = Account { evaluated, passed, filtered, absorbed, ..*account };
        }
        all.extend(next.run.finish_parts(event)?);
        Ok(all)
    }

    /// The last results of the first part.
    fn finish_part(&mut self) -> Result<Vec<Vec<u8>>> {
        let Run { checked: Checked { stages, .. }, memory, account, .. } = self;
        let Some(Passage::Window(windowed)) = stages.last() else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        let mut close = |entry: &mut Entry| {
            if let Some(Slot::Window(window)) = entry.slots.last_mut() {
                all.extend(window.close(windowed, account));
            }
        };
        let mut whole = memory.take_whole();
        close(&mut whole);
        memory.put_whole(whole);
        for key in memory.keys() {
            memory.key = key;
            let (mut entry, _) = memory.take();
            close(&mut entry);
            memory.put(entry);
        }
        let mut result = |closed| {
            let mut out = Vec::new();
            self.result(closed, &mut out).map(|()| out)
        };
        all.into_iter().map(&mut result).collect()
    }

    /// Makes code of the conditions and the results now, if this program has a generator (feature `generate`) and it takes them.
    /// Otherwise, that happens after some records. Answers and accounts stay the same. This takes some hundred microseconds.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape};
    /// # use isoform_query::{Engine, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").field("n", "i32").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("where depth > 0.5 and n < 100")?.check(&format, &Layout::NATIVE)?.run();
    /// assert_eq!(run.engine(), Engine::Interpreter);
    /// run.generate();
    /// assert!(matches!(run.engine(), Engine::Interpreter | Engine::Generated));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    #[cold]
    pub fn generate(&mut self) {
        self.made.make(&self.checked);
        if let Some(next) = &mut self.next {
            next.run.generate();
        }
    }

    /// Leaves everything to the interpreter from now on, as a program without a generator does. Answers and accounts stay the
    /// same.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape};
    /// # use isoform_query::{Engine, Query};
    /// let format = Shape::new("Gauge").field("depth", "double").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("where depth > 0.5")?.check(&format, &Layout::NATIVE)?.run();
    /// run.generate();
    /// run.interpret();
    /// assert_eq!(run.engine(), Engine::Interpreter);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn interpret(&mut self) {
        self.made = Made::none();
        if let Some(next) = &mut self.next {
            next.run.interpret();
        }
    }

    /// What evaluates the conditions and the results now.
    #[inline]
    pub fn engine(&self) -> Engine {
        match (self.made.engine(), self.next.as_ref().map(|next| next.run.engine())) {
            (engine, Some(other)) if other != engine => Engine::Both,
            (engine, _) => engine,
        }
    }

    /// As `stages`, if no stage remembers anything.
    fn plain_stages(&mut self, view: View<'_>, event: Event) -> bool {
        let Run { checked: Checked { stages, .. }, account, made, needs_code, interpreted, .. } = self;
        stages.iter().enumerate().all(|(index, stage)| match stage {
            Passage::Every(count) => event.place.is_multiple_of(*count),
            Passage::Where(condition) => made.condition(index, view, event).unwrap_or_else(|| {
                *interpreted += 1;
                if *needs_code {
                    return false;
                }
                let mut scope = Scope { view: Some(view), event, account, gathered: &[] };
                eval(condition, &mut scope).one().is_true()
            }),
            Passage::Count(_) | Passage::Rate(_) | Passage::Changed(_) | Passage::Key(_) | Passage::Window(_) => true,
        })
    }

    /// Whether all stages let a record pass.
    fn stages(&mut self, view: View<'_>, event: Event) -> Passes {
        let Run { checked: Checked { stages, .. }, memory, account, made, needs_code, interpreted, .. } = self;
        let mut scope = Scope { view: Some(view), event, account, gathered: &[] };
        let mut passage = Passes::Whole;
        // The state of the stages in front of a key, and the number of those; then that of the key.
        let (mut entry, mut first) = (memory.take_whole(), 0);
        let mut whole = None;
        let mut pending: Vec<Pending> = Vec::new();
        let mut passes = true;
        for (index, stage) in stages.iter().enumerate() {
            let is_coded = match stage {
                Passage::Where(_) => made.condition(index, view, event),
                Passage::Every(_) | Passage::Count(_) | Passage::Rate(_) => Some(true),
                Passage::Changed(_) | Passage::Key(_) | Passage::Window(_) => None,
            };
            *interpreted += u64::from(is_coded.is_none());
            if is_coded.is_none() && *needs_code {
                passes = false;
                break;
            }
            passes = match stage {
                Passage::Where(condition) => is_coded.unwrap_or_else(|| eval(condition, &mut scope).one().is_true()),
                Passage::Every(count) => event.place.is_multiple_of(*count),
                Passage::Count(count) => entry.slots[index - first].counts(*count),
                Passage::Rate(duration) => entry.slots[index - first].is_due(*duration, event.time),
                Passage::Changed(changes) => {
                    let (numbers, is_one) = numbers(eval(&changes.node, &mut scope));
                    let passes = differs(&entry.slots[index - first], changes, &numbers, is_one, event);
                    pending.push((index, numbers, is_one));
                    passes
                }
                Passage::Key(values) => {
                    key(values, &mut scope, &mut memory.key);
                    let (keyed, fits) = memory.take();
                    if !fits {
                        scope.account.fault();
                    }
                    whole = Some((std::mem::replace(&mut entry, keyed), index + 1));
                    first = index + 1;
                    true
                }
                Passage::Window(windowed) => {
                    let mut window = match std::mem::take(&mut entry.slots[index - first]) {
                        Slot::Window(window) => window,
                        _ => Box::default(),
                    };
                    let closed = window.add(windowed, &mut scope, &mut Room { memory, entry: &mut entry });
                    entry.slots[index - first] = Slot::Window(window);
                    passage = closed.map_or(Passes::Absorbed, Passes::Closed);
                    true
                }
            };
            if !passes {
                break;
            }
        }
        // The states go back to where they came from. They remember the record only if it is handed on.
        if let Some((mut front, behind)) = whole {
            remember(memory, &mut front, &mut pending, 0..behind, &mut scope, passes);
            memory.put_whole(front);
        }
        remember(memory, &mut entry, &mut pending, first..stages.len(), &mut scope, passes);
        match first {
            0 => memory.put_whole(entry),
            _ => memory.put(entry),
        }
        account.forgotten += memory.take_forgotten();
        if passes { passage } else { Passes::Not }
    }

    /// Says that these records were handed on, and then lost. A stage that would compare the next record with one of them compares it with
    /// nothing. Returns how many states it has looked at, which takes some time for each: those of all keys, if a stage compares.
    pub fn lost(&mut self, first: u64, count: u64) -> u64 {
        self.memory.lost(first, count) + self.next.as_mut().map_or(0, |next| next.run.lost(first, count))
    }

    /// Says that another reader gets the records from now on, too. All stages compare the next record with nothing, so that this reader gets
    /// it. Returns how many states it has looked at.
    pub fn joined(&mut self) -> u64 {
        self.memory.forget_last(|_| true) + self.next.as_mut().map_or(0, |next| next.run.joined())
    }

    /// Whether the query begins with `every`, and the [place](Event::place) or the time of a record shows that it is not wanted. Such a
    /// record counts as evaluated.
    #[inline]
    pub fn passes_over(&mut self, place: u64, time: impl FnOnce() -> u64) -> bool {
        let passes = match self.checked.stages.first() {
            Some(Passage::Every(count)) => place.is_multiple_of(*count),
            Some(Passage::Rate(duration)) => !self.memory.is_early(*duration, time()),
            _ => true,
        };
        if !passes {
            self.account.evaluated += 1;
            self.account.filtered += 1;
        }
        !passes
    }

    /// From now on, results of more bytes are refused, those that one part makes for the next included.
    ///
    /// ```
    /// # use isoform_core::{Code, Layout, Shape, Value, Verifier, View, value};
    /// # use isoform_query::{Event, Query};
    /// let format = Shape::new("Note").field("text", "string").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("select a = text, b = text")?.check(&format, &Layout::NATIVE)?.run();
    /// let note = Value::Record(vec![("text".into(), Value::String(vec![b'a'; 1000]))]);
    /// let (verifier, body) = (Verifier::new(&format), value::body(&format, &note)?);
    /// let view = View::new(verifier.verify(&body)?);
    /// assert!(run.record(view, Event::default()).is_ok());
    /// run.limit(1500);
    /// assert_eq!(run.record(view, Event::default()).unwrap_err().code(), Code::Budget);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        if let Some(next) = &mut self.next {
            next.run.limit(most);
        }
    }

    /// Says whether nothing is left to the interpreter from now on. A record that machine code cannot evaluate is refused then, and counted
    /// nowhere. This is for queries that would take too long otherwise.
    ///
    /// ```
    /// # use isoform_core::{Code, Layout, Shape, Value, Verifier, View, value};
    /// # use isoform_query::{Event, Query};
    /// let format = Shape::new("Note").field("text", "string").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("where startswith(text, \"a\")")?.check(&format, &Layout::NATIVE)?.run();
    /// let (verifier, body) = (Verifier::new(&format), value::body(&format, &Value::Record(Vec::new()))?);
    /// run.need_code(true);
    /// // No code is made for texts.
    /// assert_eq!(run.record(View::new(verifier.verify(&body)?), Event::default()).unwrap_err().code(), Code::Budget);
    /// assert_eq!((run.account().evaluated, run.interpreted()), (0, 1));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn need_code(&mut self, needs_code: bool) {
        self.needs_code = needs_code;
        if let Some(next) = &mut self.next {
            next.run.need_code(needs_code);
        }
    }

    /// How often a stage or a result has needed the interpreter so far.
    #[inline]
    pub fn interpreted(&self) -> u64 {
        self.interpreted + self.next.as_ref().map_or(0, |next| next.run.interpreted())
    }

    /// The format of the results: that of the records, unless the query selects.
    #[inline]
    pub fn format(&self) -> &Format {
        self.checked.format()
    }

    /// The bytes of all results so far that a part has passed on to the part behind it. Those of the last part are not counted.
    #[inline]
    pub fn passed_on(&self) -> u64 {
        self.passed_on + self.next.as_ref().map_or(0, |next| next.run.passed_on())
    }

    /// What all records so far have taken, at most: the stages of each part for those that reached it, and its result for those that it
    /// passed. Sums that are too large begin at 0 again.
    ///
    /// ```
    /// # use isoform_core::{Layout, Shape, Value, Verifier, View, value};
    /// # use isoform_query::{Event, Query};
    /// let format = Shape::new("Grid").field("step", "i32").field("depth", "double[1000]").on(&Layout::NATIVE)?;
    /// let mut run = Query::parse("where step > 0 | select mean(depth)")?.check(&format, &Layout::NATIVE)?.run();
    /// let taken = [0, 1].map(|step| {
    ///     let body = value::body(&format, &Value::Record(vec![("step".into(), Value::Integer(step))])).unwrap();
    ///     let before = run.spent();
    ///     run.record(View::new(Verifier::new(&format).verify(&body).unwrap()), Event::default()).unwrap();
    ///     run.spent().since(before).record
    /// });
    /// assert!(taken[0] < 10 && taken[1] > 1000);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    pub fn spent(&self) -> Cost {
        let Run { checked, account, next, .. } = self;
        let further = next.as_ref().map_or(Cost::default(), |next| next.run.spent());
        let [stages, result] = checked.costs;
        further.plus(stages.times(account.evaluated)).plus(result.times(account.passed))
    }

    /// The counts so far.
    pub fn account(&self) -> Account {
        let mut account = self.account;
        if let Some(next) = &self.next {
            // The next part evaluates what this one passes.
            account.passed = 0;
            account += Account { evaluated: 0, ..next.run.account() };
        }
        account
    }

    /// The counts of each part.
    fn accounts(&mut self) -> Vec<&mut Account> {
        let mut all = vec![&mut self.account];
        all.extend(self.next.iter_mut().flat_map(|next| next.run.accounts()));
        all
    }
}

impl Next {
    /// What this part makes of the result of the part before it.
    fn result(&mut self, event: Event, out: &mut Vec<u8>) -> Result<Verdict> {
        let Next { run, verifier, result, .. } = self;
        let verdict = run.record_into(View::new(verifier.verify(result)?), event, out)?;
        if verdict == Verdict::Passed {
            std::mem::swap(out, result);
        }
        Ok(if verdict == Verdict::Filtered { verdict } else { Verdict::Result })
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Account) {
        let Account { evaluated, passed, filtered, absorbed, faults, absent, forgotten } = other;
        self.evaluated += evaluated;
        self.passed += passed;
        self.filtered += filtered;
        self.absorbed += absorbed;
        self.faults += faults;
        self.absent += absent;
        self.forgotten += forgotten;
    }
}

#[cold]
fn unlike(expected: &str, view: View<'_>) -> Error {
    let error = Error::new(Code::WrongType).expected(format_args!("a record of {expected}"));
    error.found(view.structure().name())
}

/// Remembers the numbers of a record that was handed on, of the stages in a range.
fn remember(
    memory: &mut Memory,
    entry: &mut Entry,
    pending: &mut Vec<Pending>,
    stages: std::ops::Range<usize>,
    scope: &mut Scope<'_, '_>,
    handed_on: bool,
) {
    for (index, numbers, is_one) in pending.extract_if(.., |(index, ..)| stages.contains(index)) {
        if handed_on && !memory.remember(entry, index - stages.start, Last { event: scope.event, numbers, is_one }) {
            scope.account.fault();
        }
    }
}

/// What is remembered of a value, and whether it is a single one.
fn numbers(cell: Cell<'_>) -> (Box<[Number]>, bool) {
    match cell {
        Cell::One(one) => ([Number::of(one)].into(), true),
        Cell::Many(many) => (many.into_iter().map(Number::of).collect(), false),
    }
}

/// Whether a record differs enough from the one last handed on.
fn differs(slot: &Slot, changes: &Changes, numbers: &[Number], is_one: bool, event: Event) -> bool {
    let Slot::Last(last) = slot else { return true };
    let is_late =
        changes.every.is_some_and(|every| event.time.checked_sub(last.event.time).is_none_or(|since| since >= every));
    let by = match &changes.by {
        Node::Integer(number) => Scalar::Integer(*number),
        Node::Float(number) => Scalar::Float(*number),
        _ => Scalar::Absent,
    };
    is_late
        || last.is_one != is_one
        || last.numbers.len() != numbers.len()
        || last.numbers.iter().zip(numbers).any(|(a, b)| differ(*a, *b, by))
}

fn differ(a: Number, b: Number, by: Scalar<'_>) -> bool {
    let distance = match (a.scalar(), b.scalar()) {
        (Scalar::Absent, Scalar::Absent) => return false,
        (Scalar::Absent, _) | (_, Scalar::Absent) => return true,
        (Scalar::Integer(a), Scalar::Integer(b)) => Scalar::Integer((a - b).abs()),
        (a, b) => match (a.float().unwrap_or(f64::NAN), b.float().unwrap_or(f64::NAN)) {
            (a, b) if a.is_nan() || b.is_nan() => return a.is_nan() != b.is_nan(),
            // Infinities have no distance from each other.
            (a, b) if a == b => return false,
            (a, b) => Scalar::Float((a - b).abs()),
        },
    };
    compare(distance, Scalar::Integer(0)).is_some_and(Ordering::is_gt)
        && compare(distance, by).is_some_and(Ordering::is_ge)
}

/// The bytes that stand for the values of a key.
fn key<'a>(values: &'a [Node], scope: &mut Scope<'a, '_>, key: &mut Vec<u8>) {
    key.clear();
    for value in values {
        match eval(value, scope).one() {
            Scalar::Absent | Scalar::Float(_) => key.push(0),
            // Both types of integers have their own range, but the values of one expression have one type.
            Scalar::Integer(number) => {
                key.push(1);
                key.extend((number as u64).to_le_bytes());
            }
            Scalar::Truth(truth) => key.extend([2, truth.into()]),
            Scalar::Text(text) => {
                key.push(3);
                key.extend((text.len() as u32).to_le_bytes());
                key.extend(text);
            }
        }
    }
}

mod remembered;
pub use remembered::Remembered;
