//! `isoform check`: what of a stream or a recording is whole, and what is missing. Nothing is shown of the records.

use crate::args::Check;
use crate::failure::{Failure, no_option};
use crate::open::{Content, open};
use crate::output::{Output, Side, Tone, cell, plural, toned};
use isoform::{Code, Error, Format, Limits, Token};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// So many damaged places are shown.
const SHOWN: usize = 20;
/// So many are remembered.
const REMEMBERED: usize = 1_000;

/// The records of one format, or of one source in a recording.
#[derive(Default)]
struct Part {
    /// Where they come from; empty in a stream.
    source: String,
    format: String,
    records: u64,
    /// Those whose bodies are malformed.
    damaged: u64,
    numbers: Option<Numbers>,
    /// The events of the source before the first one, if the recording tells: nobody has recorded them, and nothing is wrong.
    earlier: Option<u64>,
}

/// The numbers of a source's events.
#[derive(Clone, Copy)]
struct Numbers {
    /// Those of the first and the last event that is there or declared missing.
    first: u64,
    last: u64,
    /// Events that the recording declares lost.
    declared: u64,
    /// Events that it declares superseded by newer ones.
    superseded: u64,
    /// The others that are not there.
    lost: u64,
}

/// What was found in a file.
struct Found {
    parts: Vec<Part>,
    /// The bytes that are whole, if a cut behind them leaves a stream that is.
    whole: Option<u64>,
    /// Why reading ended, or why the first message was passed over.
    error: Option<Error>,
    /// Messages that were passed over: of unknown formats, or too large.
    unread: u64,
    /// Where something is wrong, in the order of the file.
    faults: Vec<Fault>,
    /// Others, which are only counted.
    more: u64,
    /// What was passed over of a recording, for programs.
    lost: Option<serde_json::Value>,
    /// What a recording has that is not Isoform's, in a sentence and for programs.
    foreign: Option<(String, serde_json::Value)>,
}

/// A place where something is wrong.
struct Fault {
    /// The byte of the file where it begins.
    at: u64,
    /// Where reading continued, if bytes were passed over.
    to: Option<u64>,
    /// The message, from 1, and its format, as far as they are known. Recordings have none of both.
    message: Option<u64>,
    format: Option<Format>,
    error: Error,
    /// Whole messages, or events, in front of it and behind it.
    before: u64,
    after: u64,
}

impl Fault {
    /// As JSON has it.
    fn json(&self) -> serde_json::Value {
        json!({
            "byte": self.at,
            "to": self.to,
            "message": self.message,
            "format": self.format.as_ref().map(Format::name),
            "token": self.format.as_ref().map(|format| format.token().to_string()),
            "error": self.error.to_string(),
            "expected": self.error.expectation(),
            "found": self.error.actual(),
            "before": self.before,
            "after": self.after,
        })
    }

    /// The line that says what is wrong, and the line that says what is not.
    fn show(&self, thing: &str, output: &mut Output) -> Result<(), Failure> {
        let mut place = format!("byte {}", self.at);
        if let Some(message) = self.message {
            place += &format!(", message {message}");
        }
        if let Some(format) = &self.format {
            place += &format!(", {} {}", format.name(), format.token());
        }
        writeln!(output, "{place}: {}", self.error)?;
        let many = |count: u64| plural(usize::try_from(count).unwrap_or(usize::MAX), thing);
        let passed = match self.to {
            Some(to) => format!("; {} bytes are missing, up to byte {to}", to - self.at),
            None => String::new(),
        };
        writeln!(output, "  whole: {} in front, {} behind{passed}", many(self.before), many(self.after))?;
        Ok(())
    }
}

impl Found {
    fn is_whole(&self) -> bool {
        self.error.is_none()
            && self.faults.is_empty()
            && self.parts.iter().all(|part| part.damaged == 0 && part.lost() == 0)
    }
}

impl Found {
    /// Whether there are messages, and none of them is Isoform's.
    fn is_foreign(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.code() == Code::NoSuchChannel)
    }
}

impl Part {
    fn lost(&self) -> u64 {
        self.numbers.as_ref().map_or(0, |numbers| numbers.lost)
    }
}

pub(crate) fn run(arguments: &Check, output: &mut Output) -> Result<(), Failure> {
    let mut bad = 0;
    for source in &arguments.sources {
        let found = look(source, output)?;
        bad += usize::from(!found.is_whole());
        match arguments.json {
            true => writeln!(output, "{}", as_json(source, &found))?,
            false => show(source, &found, output)?,
        }
    }
    match bad {
        0 => Ok(()),
        _ => Err(Failure::Shown { status: 1 }),
    }
}

fn look(source: &str, output: &Output) -> Result<Found, Failure> {
    #[cfg(feature = "files")]
    if let Some((path, _)) = crate::open::recording(source)? {
        return recording::look(&path);
    }
    stream(source, output)
}

/// A stream: every message to its end.
fn stream(source: &str, output: &Output) -> Result<Found, Failure> {
    let opened = open(source, Limits::default(), output)?;
    let Content::Stream(mut reader) = opened.content else {
        let failure = Failure::usage(format!("{} has no records", opened.name));
        return Err(failure.hint("give a stream or a recording"));
    };
    let mut parts: Vec<Part> = Vec::new();
    let mut known: HashMap<Token, usize> = HashMap::new();
    let (mut whole, mut unread, mut number, mut good) = (0, 0, 0, 0);
    let (mut faults, mut first) = (Faults::default(), None);
    let end = loop {
        // First its header: so the format of a message whose body is cut or damaged is known.
        let (format, read) = match reader.peek() {
            Ok(None) => break None,
            Ok(Some((_, format))) => (Some(format), Ok(reader.place())),
            Err(error) => (None, Err(error)),
        };
        let read = read.and_then(|at| {
            let body = reader.next()?.map_or(Ok(()), |message| message.view().map(drop));
            Ok((at, body))
        });
        number += 1;
        match read {
            Ok((at, body)) => {
                let Some(format) = format else { continue };
                let place = *known.entry(format.token()).or_insert_with(|| {
                    parts.push(Part { format: format.name().into(), ..Part::default() });
                    parts.len() - 1
                });
                parts[place].records += 1;
                match body {
                    Ok(()) => good += 1,
                    Err(error) => {
                        parts[place].damaged += 1;
                        faults.add(at, Some(number), Some(format), error, good);
                    }
                }
            }
            Err(error) => {
                let goes_on = reader.goes_on_after(&error);
                let at = reader.place();
                let gap = if goes_on { None } else { reader.resume()? };
                faults.add(gap.map_or(at, |gap| gap.from), Some(number), format, error.clone(), good);
                match gap {
                    None if goes_on => unread += 1,
                    None => break Some(error),
                    Some(gap) => {
                        faults.passed(gap.to);
                        number -= 1; // what is passed over is no message
                    }
                }
                first.get_or_insert(error);
            }
        }
        whole = reader.position();
    };
    let (faults, more) = faults.end(good);
    let whole = end.is_some().then_some(whole);
    Ok(Found { parts, whole, error: end.or(first), unread, faults, more, lost: None, foreign: None })
}

/// Damaged places as they are found.
#[derive(Default)]
struct Faults {
    all: Vec<Fault>,
    more: u64,
}

impl Faults {
    fn add(&mut self, at: u64, message: Option<u64>, format: Option<Format>, error: Error, before: u64) {
        match self.all.len() < REMEMBERED {
            true => self.all.push(Fault { at, to: None, message, format, error, before, after: 0 }),
            false => self.more += 1,
        }
    }

    /// The bytes of the last one up to here were passed over.
    fn passed(&mut self, to: u64) {
        if let Some(last) = self.all.last_mut().filter(|_| self.more == 0) {
            last.to = Some(to);
        }
    }

    /// There are so many whole messages, or events.
    fn end(mut self, good: u64) -> (Vec<Fault>, u64) {
        self.all.iter_mut().for_each(|fault| fault.after = good - fault.before);
        (self.all, self.more)
    }
}

fn as_json(source: &str, found: &Found) -> serde_json::Value {
    let parts = found.parts.iter().map(|part| {
        let numbers = part.numbers.as_ref().map(|numbers| {
            let Numbers { first, last, declared, superseded, lost } = numbers;
            json!({"first": first, "last": last, "declared": declared, "superseded": superseded, "lost": lost})
        });
        json!({"source": part.source, "format": part.format, "records": part.records, "damaged": part.damaged, "numbers": numbers, "earlier": part.earlier})
    });
    json!({
        "file": source,
        "whole": found.is_whole(),
        "whole_bytes": found.whole,
        "unread": found.unread,
        "faults": found.faults.iter().map(Fault::json).collect::<Vec<_>>(),
        "more_faults": found.more,
        "gaps": found.faults.iter().filter_map(|fault| Some(json!({"from": fault.at, "to": fault.to?}))).collect::<Vec<_>>(),
        "passed_over": found.lost,
        "foreign": found.foreign.as_ref().map(|(_, foreign)| foreign),
        "error": found.error.as_ref().map(Error::to_string),
        "parts": parts.collect::<Vec<_>>(),
    })
}

fn show(source: &str, found: &Found, output: &mut Output) -> Result<(), Failure> {
    let verdict = match found.is_whole() {
        true => output.paint(Tone::Good, "whole"),
        false if found.is_foreign() => output.paint(Tone::Bad, "no records of Isoform"),
        false => output.paint(Tone::Bad, "not whole"),
    };
    writeln!(output, "{source}: {verdict}")?;
    let is_recording = found.parts.iter().any(|part| part.numbers.is_some());
    // A column that few need.
    let has_superseded = found.parts.iter().filter_map(|part| part.numbers).any(|numbers| numbers.superseded > 0);
    let titles = match (is_recording, has_superseded) {
        (true, false) => &["source", "format", "records", "damaged", "numbers", "declared lost", "lost"][..],
        (true, true) => &["source", "format", "records", "damaged", "numbers", "superseded", "declared lost", "lost"],
        (false, _) => &["format", "records", "damaged"],
    };
    let mut rows = vec![titles.iter().map(|title| toned(Tone::Faint, title)).collect::<Vec<_>>()];
    for part in &found.parts {
        let bad = |count: u64| toned(if count == 0 { Tone::Plain } else { Tone::Bad }, count);
        let mut row = vec![cell(&part.format), cell(part.records), bad(part.damaged)];
        if let Some(numbers) = &part.numbers {
            row.insert(0, cell(&part.source));
            row.push(cell(format!("{}-{}", numbers.first, numbers.last)));
            row.extend(has_superseded.then(|| cell(numbers.superseded)));
            row.extend([cell(numbers.declared), bad(numbers.lost)]);
        }
        rows.push(row);
    }
    let text = if is_recording { 2 } else { 1 };
    let sides: Vec<Side> = (0..titles.len()).map(|at| if at < text { Side::Left } else { Side::Right }).collect();
    if !found.parts.is_empty() {
        output.columns(&sides, &rows)?;
    }
    for part in &found.parts {
        if let Some(count @ 1..) = part.earlier {
            let are = if count == 1 { "event is" } else { "events are" };
            writeln!(output, "{}: {count} earlier {are} not here, from before it was recorded", part.source)?;
        }
    }
    if let Some((foreign, _)) = &found.foreign {
        writeln!(output, "{foreign}")?;
    }
    // A recording says in one line what is missing altogether.
    if let Some(error) =
        found.error.as_ref().filter(|_| !found.is_foreign()).filter(|_| is_recording || found.faults.is_empty())
    {
        writeln!(output, "{error}")?;
    }
    let thing = if is_recording { "event" } else { "message" };
    for fault in found.faults.iter().take(SHOWN) {
        fault.show(thing, output)?;
    }
    let hidden = found.faults.len().saturating_sub(SHOWN) as u64 + found.more;
    if hidden > 0 {
        let hidden = usize::try_from(hidden).unwrap_or(usize::MAX);
        writeln!(output, "and {}", plural(hidden, "other damaged place"))?;
    }
    if found.unread > 0 {
        let unread = plural(usize::try_from(found.unread).unwrap_or(usize::MAX), "message");
        writeln!(output, "{unread} could not be read, as their formats are unknown or they are too large")?;
    }
    match found.whole {
        Some(0) => writeln!(output, "nothing in front of that is whole")?,
        Some(whole) => {
            let records = found.parts.iter().map(|part| part.records).sum::<u64>();
            let records = plural(usize::try_from(records).unwrap_or(usize::MAX), "record");
            let source = no_option(Path::new(source));
            writeln!(
                output,
                "{records} in front of that are whole: head -c {whole} {source} > NEW makes a stream of them, and `isoform append {source}` heals it"
            )?;
        }
        None => {}
    }
    Ok(())
}

#[cfg(feature = "files")]
mod recording {
    use super::{Faults, Found, Numbers, Part};
    use crate::failure::Failure;
    use isoform::core::Verifier;
    use isoform_files::{Item, Recording};
    use serde_json::{Value, json};
    use std::collections::{HashMap, HashSet};
    use std::path::Path;

    /// The sources of all channels, in the order in which they come.
    #[derive(Default)]
    struct Sources {
        all: Vec<Source>,
        known: HashMap<(String, u32), usize>,
    }

    /// So many formats of a source are named. It may have thousands.
    const NAMED: usize = 4;

    /// A source of a channel, and what is known of its events.
    #[derive(Default)]
    struct Source {
        part: Part,
        /// The names of its formats.
        formats: HashSet<String>,
        /// The format that it announced, for a source without events.
        announced: String,
        /// Whether its events are results of a query.
        has_query: bool,
        /// The number of the next event.
        next: u64,
    }

    impl Sources {
        fn of(&mut self, topic: &str, number: u32) -> &mut Source {
            let place = *self.known.entry((topic.into(), number)).or_insert_with(|| {
                let part = Part { source: format!("{topic}/{number}"), ..Part::default() };
                self.all.push(Source { part, ..Source::default() });
                self.all.len() - 1
            });
            &mut self.all[place]
        }

        fn tell(&mut self, topic: &str, news: &Value) {
            if let Some(gap) = Missing::of(news).filter(|gap| gap.count > 0) {
                self.of(topic, gap.source).miss(&gap);
            }
            if let Some((source, format, has_query, earlier)) = joined(news) {
                let source = self.of(topic, source);
                source.part.earlier = earlier.or(source.part.earlier);
                source.has_query |= has_query;
                if !format.is_empty() {
                    source.announced = format;
                }
            }
        }
    }

    /// A recording: every chunk, body and number.
    pub(super) fn look(path: &Path) -> Result<Found, Failure> {
        let mut recording = Recording::open(path).map_err(|error| Failure::from(error).of_source())?;
        let mut sources = Sources::default();
        let mut verifier: Option<Verifier> = None;
        // For each damaged place, the events in front of it.
        let (mut in_front, mut events) = (Vec::new(), 0);
        let error = loop {
            in_front.resize(recording.lost().places().len().max(in_front.len()), events);
            let entry = match recording.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break None,
                Err(error) => break Some(error),
            };
            match entry.item {
                Item::Event { stamp, format, body } => {
                    if verifier.as_ref().is_none_or(|verifier| verifier.format() != format) {
                        verifier = Some(Verifier::new(format));
                    }
                    let is_good = verifier.as_ref().is_some_and(|verifier| verifier.verify(body).is_ok());
                    events += 1;
                    sources.of(entry.topic, stamp.source).take(stamp.sequence, is_good, format.name());
                }
                Item::News(news) => sources.tell(entry.topic, &news),
            }
        };
        let parts = sources
            .all
            .into_iter()
            .filter(|Source { part, .. }| part.numbers.is_some() || part.earlier > Some(0) || part.damaged > 0)
            .map(|mut source| {
                if let (true, Some(numbers)) = (source.has_query, &mut source.part.numbers) {
                    // What the query did not pass has numbers, too.
                    numbers.lost = 0;
                }
                match source.formats.len() {
                    0 => source.part.format = source.announced,
                    count if count > NAMED => source.part.format += &format!(" and {} more", count - NAMED),
                    _ => {}
                }
                source.part
            });
        let lost = recording.lost();
        let mut faults = Faults::default();
        for (place, before) in lost.places().iter().zip(in_front.into_iter().chain(std::iter::repeat(events))) {
            faults.add(place.at, None, None, place.error.clone(), before);
        }
        let (faults, more) = faults.end(events);
        let more = more + lost.damaged() - lost.places().len() as u64;
        let lost = json!({"chunks": lost.chunks, "bytes": lost.bytes, "events": lost.events, "more": lost.more});
        let foreign = recording.foreign();
        let channels = foreign.channels();
        let channels = channels
            .map(|(topic, encoding, messages)| json!({"topic": topic, "encoding": encoding, "messages": messages}));
        let foreign = (!foreign.is_none()).then(|| (foreign.to_string(), channels.collect()));
        Ok(Found { parts: parts.collect(), whole: None, error, unread: 0, faults, more, lost: Some(lost), foreign })
    }

    impl Source {
        fn take(&mut self, sequence: u64, is_good: bool, format: &str) {
            self.reach(sequence, sequence.saturating_add(1));
            self.part.records += 1;
            self.part.damaged += u64::from(!is_good);
            if !self.formats.contains(format) {
                if self.formats.len() < NAMED {
                    let comma = if self.formats.is_empty() { "" } else { ", " };
                    self.part.format += &format!("{comma}{format}");
                }
                self.formats.insert(format.into());
            }
        }

        /// Events that the recording declares missing.
        fn miss(&mut self, &Missing { first, count, is_lost, .. }: &Missing) {
            let Some(end) = first.checked_add(count).filter(|end| *end <= MOST_EVENTS) else {
                self.part.damaged += 1;
                return;
            };
            let missing = end.saturating_sub(self.next.max(first));
            let numbers = self.reach(first, end);
            *(if is_lost { &mut numbers.declared } else { &mut numbers.superseded }) += missing;
        }

        /// The numbers up to this end are there or declared. What is neither in front of the first of them is lost.
        fn reach(&mut self, first: u64, end: u64) -> &mut Numbers {
            // A recording may begin at any number.
            let next = if self.part.numbers.is_some() { self.next } else { first };
            self.next = next.max(end);
            let none = Numbers { first, last: first, declared: 0, superseded: 0, lost: 0 };
            let numbers = self.part.numbers.get_or_insert(none);
            numbers.lost += first.saturating_sub(next);
            numbers.last = self.next.saturating_sub(1);
            numbers
        }
    }

    /// The numbers of a source's events end here (`spec/channel.md`, "Subscriptions").
    const MOST_EVENTS: u64 = 1 << 63;

    /// Events that do not come, as the recording declares.
    struct Missing {
        source: u32,
        first: u64,
        count: u64,
        /// Whether they are lost, and not superseded.
        is_lost: bool,
    }

    impl Missing {
        fn of(news: &Value) -> Option<Missing> {
            let gap = news.get("gap")?;
            let number = |name: &str| gap.get(name)?.as_u64();
            let is_lost = gap.get("cause").and_then(Value::as_str) != Some("superseded");
            let source = number("source")?.try_into().ok()?;
            Some(Missing { source, first: number("first")?, count: number("count")?, is_lost })
        }
    }

    /// A source that is there, the format that it has announced, whether it is asked by a query, and how many events were before.
    fn joined(news: &Value) -> Option<(u32, String, bool, Option<u64>)> {
        let joined = news.get("joined")?;
        let source = u32::try_from(joined.get("source")?.as_u64()?).ok()?;
        let format = joined.get("format").and_then(Value::as_str).unwrap_or_default();
        let earlier = joined.get("earlier").and_then(Value::as_u64);
        Some((source, format.into(), joined.get("query").is_some_and(Value::is_string), earlier))
    }
}
