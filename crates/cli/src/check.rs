//! `isoform check`: what of a stream or a recording is whole, and what is missing. Nothing is shown of the records.

use crate::args::Check;
use crate::failure::Failure;
use crate::open::{Content, open};
use crate::output::{Output, Side, Tone, cell, plural, toned};
use isoform::stream::Gap;
use isoform::{Error, Limits, Token};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;

/// So many damaged places are shown.
const SHOWN: usize = 20;

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
}

/// The numbers of a source's events.
#[derive(Clone, Copy)]
struct Numbers {
    /// Those of the first and the last event that is there or declared missing.
    first: u64,
    last: u64,
    /// Events that the recording declares missing.
    declared: u64,
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
    /// What of a sealed stream is damaged. Reading goes on behind it.
    gaps: Vec<Gap>,
    /// What was passed over of a recording, for programs.
    lost: Option<serde_json::Value>,
}

impl Found {
    fn is_whole(&self) -> bool {
        self.error.is_none()
            && self.gaps.is_empty()
            && self.parts.iter().all(|part| part.damaged == 0 && part.lost() == 0)
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
    let (mut whole, mut unread, mut first, mut gaps) = (0, 0, None, Vec::new());
    let end = loop {
        let error = match reader.next() {
            Ok(Some(message)) => {
                let place = *known.entry(message.token()).or_insert_with(|| {
                    parts.push(Part { format: message.format().name().into(), ..Part::default() });
                    parts.len() - 1
                });
                parts[place].records += 1;
                parts[place].damaged += u64::from(message.view().is_err());
                None
            }
            Ok(None) => break None,
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            match reader.goes_on_after(&error) {
                true => unread += 1,
                false => match reader.resume()? {
                    Some(gap) => gaps.push(gap),
                    None => break Some(error),
                },
            }
            first.get_or_insert(error);
        }
        whole = reader.position();
    };
    Ok(Found { parts, whole: end.is_some().then_some(whole), error: end.or(first), unread, gaps, lost: None })
}

fn as_json(source: &str, found: &Found) -> serde_json::Value {
    let parts = found.parts.iter().map(|part| {
        let numbers = part.numbers.as_ref().map(|numbers| {
            json!({"first": numbers.first, "last": numbers.last, "declared": numbers.declared, "lost": numbers.lost})
        });
        json!({"source": part.source, "format": part.format, "records": part.records, "damaged": part.damaged, "numbers": numbers})
    });
    json!({
        "file": source,
        "whole": found.is_whole(),
        "whole_bytes": found.whole,
        "unread": found.unread,
        "gaps": found.gaps.iter().map(|gap| json!({"from": gap.from, "to": gap.to})).collect::<Vec<_>>(),
        "passed_over": found.lost,
        "error": found.error.as_ref().map(Error::to_string),
        "parts": parts.collect::<Vec<_>>(),
    })
}

fn show(source: &str, found: &Found, output: &mut Output) -> Result<(), Failure> {
    let verdict = match found.is_whole() {
        true => output.paint(Tone::Good, "whole"),
        false => output.paint(Tone::Bad, "not whole"),
    };
    writeln!(output, "{source}: {verdict}")?;
    let is_recording = found.parts.iter().any(|part| part.numbers.is_some());
    let titles = match is_recording {
        true => &["source", "format", "records", "damaged", "numbers", "declared lost", "lost"][..],
        false => &["format", "records", "damaged"],
    };
    let mut rows = vec![titles.iter().map(|title| toned(Tone::Faint, title)).collect::<Vec<_>>()];
    for part in &found.parts {
        let bad = |count: u64| toned(if count == 0 { Tone::Plain } else { Tone::Bad }, count);
        let mut row = vec![cell(&part.format), cell(part.records), bad(part.damaged)];
        if let Some(numbers) = &part.numbers {
            row.insert(0, cell(&part.source));
            row.push(cell(format!("{}-{}", numbers.first, numbers.last)));
            row.extend([cell(numbers.declared), bad(numbers.lost)]);
        }
        rows.push(row);
    }
    let text = if is_recording { 2 } else { 1 };
    let sides: Vec<Side> = (0..titles.len()).map(|at| if at < text { Side::Left } else { Side::Right }).collect();
    if !found.parts.is_empty() {
        output.columns(&sides, &rows)?;
    }
    if let Some(error) = &found.error {
        writeln!(output, "{error}")?;
    }
    if found.unread > 0 {
        let unread = plural(usize::try_from(found.unread).unwrap_or(usize::MAX), "message");
        writeln!(output, "{unread} could not be read, as their formats are unknown or they are too large")?;
    }
    for gap in found.gaps.iter().take(SHOWN) {
        writeln!(output, "damaged: {} bytes from byte {}", gap.to - gap.from, gap.from)?;
    }
    if let Some(more) = found.gaps.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        writeln!(output, "and {}", plural(more, "other damaged place"))?;
    }
    match found.whole {
        Some(0) => writeln!(output, "nothing in front of that is whole")?,
        Some(whole) => {
            let records = found.parts.iter().map(|part| part.records).sum::<u64>();
            let records = plural(usize::try_from(records).unwrap_or(usize::MAX), "record");
            writeln!(
                output,
                "{records} in front of that are whole: head -c {whole} {source} > NEW makes a stream of them"
            )?;
        }
        None => {}
    }
    Ok(())
}

#[cfg(feature = "files")]
mod recording {
    use super::{Found, Numbers, Part};
    use crate::failure::Failure;
    use isoform::core::Verifier;
    use isoform_files::{Item, Recording};
    use serde_json::{Value, json};
    use std::collections::HashMap;
    use std::path::Path;

    /// The sources of all channels, in the order in which they come.
    #[derive(Default)]
    struct Sources {
        all: Vec<Source>,
        known: HashMap<(String, u32), usize>,
    }

    /// A source of a channel, and what is known of its events.
    #[derive(Default)]
    struct Source {
        part: Part,
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
            if let Some((source, first, count)) = gap(news).filter(|(_, _, count)| *count > 0) {
                self.of(topic, source).miss(first, count);
            }
            if let Some((source, format, has_query)) = joined(news) {
                let source = self.of(topic, source);
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
        let error = loop {
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
                    sources.of(entry.topic, stamp.source).take(stamp.sequence, is_good, format.name());
                }
                Item::News(news) => sources.tell(entry.topic, &news),
            }
        };
        let parts = sources.all.into_iter().filter(|source| source.part.numbers.is_some()).map(|mut source| {
            if let (true, Some(numbers)) = (source.has_query, &mut source.part.numbers) {
                // What the query did not pass has numbers, too.
                numbers.lost = 0;
            }
            if source.part.format.is_empty() {
                source.part.format = source.announced;
            }
            source.part
        });
        let lost = recording.lost();
        let lost = json!({"chunks": lost.chunks, "bytes": lost.bytes, "events": lost.events, "more": lost.more});
        Ok(Found { parts: parts.collect(), whole: None, error, unread: 0, gaps: Vec::new(), lost: Some(lost) })
    }

    impl Source {
        fn take(&mut self, sequence: u64, is_good: bool, format: &str) {
            self.reach(sequence, sequence.saturating_add(1));
            self.part.records += 1;
            self.part.damaged += u64::from(!is_good);
            if self.part.format.is_empty() {
                self.part.format = format.into();
            } else if self.part.format.split(", ").all(|known| known != format) {
                self.part.format += &format!(", {format}");
            }
        }

        /// Events that the recording declares missing.
        fn miss(&mut self, first: u64, count: u64) {
            let end = first.saturating_add(count);
            let declared = end.saturating_sub(self.next.max(first));
            self.reach(first, end).declared += declared;
        }

        /// The numbers up to this end are there or declared. What is neither in front of the first of them is lost.
        fn reach(&mut self, first: u64, end: u64) -> &mut Numbers {
            // A recording may begin at any number.
            let next = if self.part.numbers.is_some() { self.next } else { first };
            self.next = next.max(end);
            let numbers = self.part.numbers.get_or_insert(Numbers { first, last: first, declared: 0, lost: 0 });
            numbers.lost += first.saturating_sub(next);
            numbers.last = self.next.saturating_sub(1);
            numbers
        }
    }

    fn gap(news: &Value) -> Option<(u32, u64, u64)> {
        let gap = news.get("gap")?;
        let number = |name: &str| gap.get(name)?.as_u64();
        Some((number("source")?.try_into().ok()?, number("first")?, number("count")?))
    }

    /// A source that is there, the format that it has announced, and whether it is asked by a query.
    fn joined(news: &Value) -> Option<(u32, String, bool)> {
        let joined = news.get("joined")?;
        let source = u32::try_from(joined.get("source")?.as_u64()?).ok()?;
        let format = joined.get("format").and_then(Value::as_str).unwrap_or_default();
        Some((source, format.into(), joined.get("query").is_some_and(Value::is_string)))
    }
}
