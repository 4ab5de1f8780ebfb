//! The channels of recordings: parts of them become the same binary messages as events that arrive.

use crate::draft::{Draft, FULL};
use crate::entries::Mark;
use crate::feed::{BESIDE, Feed, Flags, LONGEST, refused};
use crate::outbox::Outbox;
use crate::player::{moment, seconds};
use crate::session::whole;
use crate::thin::{Kept, MOST, Thin};
use axum::extract::ws::Message;
use isoform::core::view::View;
use isoform::core::{Layout, Verifier};
use isoform::{Code, Error, Format, Result, Token};
use isoform_files::{Item, Recording, Stamp};
use isoform_query::{Answer, Event, Query};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::OwnedSemaphorePermit;

const SECOND: u64 = 1_000_000_000;
/// Sources whose newest events are looked for.
const SOURCES: usize = 256;

/// A channel of a recording.
#[derive(Debug)]
pub(crate) struct Recorded {
    path: PathBuf,
    topic: String,
    /// The times of the first and the last entry of the file.
    times: RangeInclusive<u64>,
}

impl Recorded {
    pub(crate) fn all(path: &Path) -> Result<Vec<Recorded>> {
        let mut recording = Recording::open(path)?;
        let (times, topics) = (recording.times()?, recording.topics()?);
        let Some(times) = times.filter(|_| !topics.is_empty()) else {
            // It may have other messages, or be damaged.
            while recording.next_entry()?.is_some() {}
            return Err(Error::new(Code::NoSuchChannel).expected("a recording with events").found("one without"));
        };
        let one = |topic| Recorded { path: path.to_owned(), topic, times: times.clone() };
        Ok(topics.into_iter().map(one).collect())
    }

    pub(crate) fn told(&self) -> Value {
        let (first, last) = (seconds(*self.times.start()), seconds(*self.times.end()));
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        json!({"name": self.topic, "id": file, "kind": "recording", "first": first, "last": last})
    }

    fn read(&self, span: RangeInclusive<u64>) -> Result<Recording> {
        Ok(Recording::open(&self.path)?.within(span)?.only(vec![self.topic.clone()]))
    }
}

/// A part of a recording.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// What was recorded between these times; of lines, as much as so many points show.
    Span(RangeInclusive<u64>, Option<u64>),
    /// The last event of each source up to this time.
    At(u64),
}

impl Part {
    /// The part that a page asks for.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn of(wish: &Value) -> Result<Part, String> {
        let time = |name: &str| match wish.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(time) => moment(time).map(Some).ok_or_else(|| format!("{name} is a time: seconds since 1970")),
        };
        let points = whole(wish, "points").map_err(|(_, why)| why)?;
        if points.is_some_and(|points| !(1..=MOST).contains(&points)) {
            return Err(format!("points are 1 to {MOST}"));
        }
        match (time("at")?, time("from")?, time("to")?) {
            (Some(at), None, None) => Ok(Part::At(at)),
            (None, Some(from), Some(to)) => Ok(Part::Span(from..=to, points)),
            _ => Err("a part of a recording: at, or from and to".into()),
        }
    }
}

/// Begins to send a part of a recording. At its end comes a text.
///
/// # Errors
/// As [`Feed::start`].
pub(crate) fn start(
    recorded: Arc<Recorded>,
    subscription: u32,
    query: Option<&str>,
    part: Part,
    page: Outbox,
    turn: OwnedSemaphorePermit,
) -> Result<Feed> {
    let query = query.map(Query::parse).transpose()?;
    Feed::run(turn, move |flags| {
        let mut run =
            Run { draft: Draft::new(subscription, page), query, formats: HashMap::new(), told: HashSet::new(), flags };
        let ended = match part {
            Part::Span(span, points) => run.span(&recorded, span, points),
            Part::At(at) => run.newest(&recorded, at),
        };
        run.draft.send();
        run.flags.ended.store(true, Ordering::Release);
        run.draft.tell(match ended {
            Ok(None) => Message::text(json!({"complete": subscription}).to_string()),
            Ok(Some(damage)) => {
                Message::text(json!({"complete": subscription, "error": damage.to_string()}).to_string())
            }
            Err(error) => refused(subscription, &error),
        });
    })
}

/// A part of a recording that is being sent.
struct Run {
    draft: Draft,
    query: Option<Query>,
    formats: HashMap<Token, Result<Ready>>,
    /// The sources and formats whose records cannot be shown.
    told: HashSet<(u32, Token)>,
    flags: Arc<Flags>,
}

/// How records of a format are read.
struct Ready {
    verifier: Verifier,
    query: Option<(isoform_query::Run, Format, Verifier)>,
    records: u64,
}

impl Ready {
    fn new(query: Option<&Query>, format: &Format) -> Result<Ready> {
        let checked = query.map(|query| query.check(format, &Layout::NATIVE)).transpose()?;
        let query = checked.map(|checked| {
            let result = checked.format().clone();
            (checked.run(), result.clone(), Verifier::new(&result))
        });
        Ok(Ready { verifier: Verifier::new(format), query, records: 0 })
    }

    /// Gives `show` what is wanted of a record.
    fn of<T>(
        &mut self,
        mark: Mark,
        format: &Format,
        body: &[u8],
        show: impl FnOnce(&Format, View<'_>, &[u8]) -> T,
    ) -> Result<Option<T>> {
        let view = View::new(self.verifier.verify(body)?);
        self.records += 1;
        let Some((run, result, verifier)) = &mut self.query else { return Ok(Some(show(format, view, body))) };
        match run.record(view, Event::at(self.records - 1, mark.nanoseconds))? {
            Answer::Filtered => Ok(None),
            Answer::Passed => Ok(Some(show(format, view, body))),
            Answer::Result(body) => Ok(Some(show(result, View::new(verifier.verify(&body)?), &body))),
        }
    }
}

impl Run {
    /// Sends what was recorded in this time. Returns what was wrong with the file.
    fn span(&mut self, recorded: &Recorded, span: RangeInclusive<u64>, points: Option<u64>) -> Result<Option<Error>> {
        let mut thin = points.map(|points| Thin::new(*span.start(), *span.end(), points));
        let mut recording = recorded.read(span)?;
        let damage = loop {
            if self.flags.stopped.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let entry = match recording.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break None,
                Err(error) => break Some(error),
            };
            let is_there = match entry.item {
                Item::Event { stamp, format, body } => {
                    let mark = mark(&stamp, entry.recorded);
                    match (self.wanted(mark, format, body, thin.as_mut()), &mut thin) {
                        (Some(Wanted::One(kept)), _) => self.put(&kept),
                        (Some(Wanted::Thinned(kept)), _) => kept.iter().all(|kept| self.put(kept)),
                        (None, _) => true,
                    }
                }
                Item::News(news) => {
                    let source = news.as_object().and_then(|news| news.values().next()?.get("source")?.as_u64());
                    let before = match (&mut thin, source.and_then(|source| u32::try_from(source).ok())) {
                        (Some(thin), Some(source)) => thin.flush(source),
                        _ => Vec::new(),
                    };
                    before.iter().all(|kept| self.put(kept)) && self.news(&news, entry.recorded)
                }
            };
            if !is_there {
                return Ok(None);
            }
        };
        let rest = thin.as_mut().map_or_else(Vec::new, Thin::finish);
        rest.iter().all(|kept| self.put(kept));
        Ok(damage)
    }

    /// Sends the last event of each source up to this time. Returns what was wrong with the file.
    fn newest(&mut self, recorded: &Recorded, at: u64) -> Result<Option<Error>> {
        let first = *recorded.times.start();
        let mut back = SECOND;
        loop {
            let from = at.saturating_sub(back).max(first).min(at);
            let (newest, damage) = self.newest_within(recorded, from..=at)?;
            if newest.is_empty() && from > first && !self.flags.stopped.load(Ordering::Relaxed) {
                back = back.saturating_mul(8);
                continue;
            }
            for Kept { mark, format, body } in newest.into_values() {
                let is_there = match self.wanted(mark, &format, &body, None) {
                    Some(Wanted::One(kept)) => self.put(&kept),
                    _ => true,
                };
                if !is_there {
                    break;
                }
            }
            return Ok(damage);
        }
    }

    fn newest_within(
        &mut self,
        recorded: &Recorded,
        span: RangeInclusive<u64>,
    ) -> Result<(BTreeMap<u32, Kept>, Option<Error>)> {
        let mut newest: BTreeMap<u32, Kept> = BTreeMap::new();
        let mut recording = recorded.read(span)?;
        while !self.flags.stopped.load(Ordering::Relaxed) {
            let entry = match recording.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => return Ok((newest, Some(error))),
            };
            let Item::Event { stamp, format, body } = entry.item else { continue };
            let mark = mark(&stamp, entry.recorded);
            let has_room = newest.len() < SOURCES;
            match newest.get_mut(&mark.source) {
                Some(kept) => {
                    kept.body.clear();
                    kept.body.extend_from_slice(body);
                    kept.mark = mark;
                    if kept.format.token() != format.token() {
                        kept.format = format.clone();
                    }
                }
                None if has_room => {
                    newest.insert(mark.source, Kept { mark, format: format.clone(), body: body.to_vec() });
                }
                None => {}
            }
        }
        Ok((newest, None))
    }

    /// What is wanted of a record. A page is told once of those that cannot be shown.
    fn wanted(&mut self, mark: Mark, format: &Format, body: &[u8], thin: Option<&mut Thin>) -> Option<Wanted> {
        let query = self.query.as_ref();
        let ready = self.formats.entry(format.token()).or_insert_with(|| Ready::new(query, format));
        let of = |ready: &mut Ready| {
            ready.of(mark, format, body, |format, view, body| match thin {
                Some(thin) => Wanted::Thinned(thin.take(mark, format, view, body)),
                None => Wanted::One(Kept { mark, format: format.clone(), body: body.to_vec() }),
            })
        };
        match ready.as_mut().map_err(|error| error.clone()).and_then(of) {
            Ok(wanted) => wanted,
            Err(error) => {
                if self.told.insert((mark.source, format.token())) && self.draft.make_room(BESIDE) {
                    self.draft.entries.refused(mark.source, &error.to_string());
                }
                None
            }
        }
    }

    /// Puts a record into the message. Returns whether the page is there.
    fn put(&mut self, Kept { mark, format, body }: &Kept) -> bool {
        if !self.draft.make_room(body.len().min(LONGEST) + format.description().as_bytes().len() + BESIDE) {
            return false;
        }
        if body.len() > LONGEST {
            self.draft.entries.gap(*mark, 1, "longer than what a page takes");
        } else {
            self.draft.entries.record(*mark, format, body);
        }
        self.draft.entries.len() < FULL || self.draft.send()
    }

    fn news(&mut self, news: &Value, recorded: u64) -> bool {
        let Some((kind, about)) = news.as_object().and_then(|news| news.iter().next()) else { return true };
        let number = |name: &str| about.get(name).and_then(Value::as_u64);
        let text = |name: &str| about.get(name).and_then(Value::as_str).unwrap_or_default();
        let Some(source) = number("source").and_then(|source| u32::try_from(source).ok()) else { return true };
        if !self.draft.make_room(BESIDE + about.to_string().len()) {
            return false;
        }
        let entries = &mut self.draft.entries;
        match &**kind {
            "joined" => {
                let told =
                    json!({"node": about.get("node"), "format": about.get("format"), "earlier": about.get("earlier")});
                entries.joined(source, &told.to_string());
            }
            "left" => entries.left(source),
            // The recorder wanted the latest records only.
            "gap" if text("cause") == "superseded" => {}
            "gap" => {
                let mark = Mark { source, sequence: number("first").unwrap_or(0), nanoseconds: recorded };
                entries.gap(mark, number("count").unwrap_or(0), text("cause"));
            }
            "refused" => entries.refused(source, text("error")),
            _ => {}
        }
        true
    }
}

enum Wanted {
    One(Kept),
    Thinned(Vec<std::rc::Rc<Kept>>),
}

/// The time of an event is that of its submission. If the clock of its source is another one than that of the recorder, it is the time when it was
/// recorded.
fn mark(stamp: &Stamp, recorded: u64) -> Mark {
    let is_near = stamp.nanoseconds.abs_diff(recorded) <= SECOND;
    let nanoseconds = if is_near { stamp.nanoseconds } else { recorded };
    Mark { source: stamp.source, sequence: stamp.sequence, nanoseconds }
}
