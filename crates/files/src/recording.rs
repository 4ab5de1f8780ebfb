//! Reads the events of an MCAP file: from its beginning, or those of a span of time by its indexes.
//!
//! Damage ends nothing: reading goes on with the next chunk, and what was passed over is told at the end. `frames` finds records, `index` knows
//! where chunks are, `chunk` reads one, `contents` knows what its records mean, and `lost` says what is missing.

use crate::chunk::Chunk;
use crate::contents::{Contents, Found, Kind, What};
use crate::expansion::Expansion;
use crate::foreign::Foreign;
use crate::frames::{Frames, HEAD, Head, cut};
use crate::index::{Index, Tail};
use crate::lost::{Lost, too_large};
use crate::profile::{Stamp, damaged};
use crate::stream::Stream;
use isoform_core::{Code, Error, Format, Limits, Result};
use mcap::parse_record;
use mcap::records::{Record, op};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek};
use std::ops::RangeInclusive;
use std::path::Path;

/// What a chunk may have beyond one message of the greatest length.
const CHUNK: u64 = 64 << 20;

/// One entry of a recording.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The name of the event channel.
    pub topic: &'a str,
    /// The time when it was recorded: nanoseconds since 1970.
    pub recorded: u64,
    /// What it is.
    pub item: Item<'a>,
}

/// An event, or what happened beside events.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// An event, as its sender had it in memory.
    Event {
        /// Its source, and the time of its submission.
        stamp: Stamp,
        /// The format of the record.
        format: &'a Format,
        /// The body, which is not verified yet.
        body: &'a [u8],
    },
    /// An object with one member, which says what happened (`spec/files.md`, "News").
    News(Value),
}

/// The entries of a recording, in their order.
///
/// ```no_run
/// use isoform_files::{Item, Recording};
///
/// let mut recording = Recording::open("run.mcap".as_ref())?;
/// while let Some(entry) = recording.next_entry()? {
///     match entry.item {
///         Item::Event { stamp, format, .. } => println!("{} {} {}", entry.topic, stamp.sequence, format.name()),
///         Item::News(news) => println!("{} {news}", entry.topic),
///     }
/// }
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Recording<R = File> {
    frames: Frames<R>,
    contents: Contents,
    /// Whether the beginning and the end of the file have been looked at.
    is_open: bool,
    index: Option<Index>,
    /// The file has no end: it was cut, or is still written.
    is_cut: bool,
    /// The chunk that is being read.
    chunk: Option<Chunk>,
    /// What indexes of messages are about, where they come.
    about: About,
    /// What the chunks have become so far.
    expansion: Expansion,
    /// Whether what is outside chunks is taken, once somebody has looked at the checksum of all data.
    is_data_good: Option<bool>,
    /// Whether an entry has come.
    has_entries: bool,
    /// Nothing is read from here on.
    until: u64,
    /// The content of a record.
    bytes: Vec<u8>,
    has_ended: bool,
}

/// The chunk in front of an index of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// There is none.
    Nothing,
    /// It was read.
    Read,
    /// It was passed over after so many of its events. Whether its events were counted since.
    Lost { came: u64, is_counted: bool },
}

/// What a record of the file was.
enum Step {
    End,
    More,
    Found(Found),
}

impl Recording<File> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Code::Io`] at the path.
    pub fn open(path: &Path) -> Result<Recording<File>> {
        let file =
            File::open(path).map_err(|error| Error::new(Code::Io).at(path.display().to_string()).found(error))?;
        Ok(Recording::new(file, Limits::default()))
    }
}

impl<R: Read + Seek> Recording<R> {
    /// The recording that these bytes are, from their beginning. Records are at most as long as the limits say.
    pub fn new(input: R, limits: Limits) -> Recording<R> {
        Recording {
            frames: Frames::new(input),
            contents: Contents::new(limits),
            is_open: false,
            index: None,
            is_cut: false,
            chunk: None,
            about: About::Nothing,
            expansion: Expansion::default(),
            is_data_good: None,
            has_entries: false,
            until: u64::MAX,
            bytes: Vec::new(),
            has_ended: false,
        }
    }

    /// Yields only what was recorded within this span of time, in nanoseconds since 1970. Of a file with indexes, only the part is read
    /// that may have such entries.
    ///
    /// # Errors
    /// [`Code::Io`]; [`Code::Damaged`] if it is no recording; [`Code::Cut`] if not even its beginning is there.
    pub fn within(mut self, span: RangeInclusive<u64>) -> Result<Recording<R>> {
        self.look()?;
        if span != (0..=u64::MAX)
            && let Some(index) = self.complete_index()
        {
            let (from, until) = index.part(&span).unwrap_or((0, 0));
            self.until = until;
            self.frames.go(from)?;
        }
        self.contents.span = span;
        Ok(self)
    }

    /// Yields only what is about channels of these names, unless there are none. At the end, [`Recording::next_entry`] fails with
    /// [`Code::NoSuchChannel`] if the file does not have one of them.
    pub fn only(mut self, channels: Vec<String>) -> Recording<R> {
        self.contents.choose(channels);
        self
    }

    /// The times of the first and the last entry, in nanoseconds since 1970; `None` if there are none. A file without an index is read for
    /// that. Then the recording is at its beginning again.
    ///
    /// # Errors
    /// As [`Recording::within`].
    pub fn times(&mut self) -> Result<Option<RangeInclusive<u64>>> {
        self.look()?;
        match self.complete_index() {
            Some(index) => Ok(Some(index.times())),
            None => self.survey(),
        }
    }

    /// Reads all of the file, for the times of the first and the last entry. Then it is at its beginning again.
    fn survey(&mut self) -> Result<Option<RangeInclusive<u64>>> {
        let mut times: Option<RangeInclusive<u64>> = None;
        loop {
            match self.next_entry() {
                Ok(Some(Entry { recorded, .. })) => {
                    let (first, last) = times.map_or((recorded, recorded), RangeInclusive::into_inner);
                    times = Some(first.min(recorded)..=last.max(recorded));
                }
                Err(error) if error.code() == Code::Io => return Err(error),
                // What was passed over is told when it is read.
                Ok(None) | Err(_) => break,
            }
        }
        (self.is_open, self.has_ended, self.chunk, self.about) = (false, false, None, About::Nothing);
        (self.expansion, self.is_data_good, self.has_entries) = (Expansion::default(), None, false);
        self.contents.restart();
        self.frames.go(0)?;
        Ok(times)
    }

    /// The names of the channels that have events, in order. A file without an index is read for that. Then the recording is at its beginning
    /// again.
    ///
    /// # Errors
    /// As [`Recording::within`].
    pub fn topics(&mut self) -> Result<Vec<String>> {
        self.look()?;
        let topics = self.contents.topics();
        if self.complete_index().is_some() && !topics.is_empty() {
            return Ok(topics);
        }
        self.survey()?;
        Ok(self.contents.topics())
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// At the end, if something was passed over: what that was, as [`Recording::lost`] has it. The code is that of the first thing which was
    /// wrong: [`Code::Damaged`], [`Code::MessageSize`], those of [`Format::parse`]. [`Code::Cut`] at the end of a file that was cut;
    /// [`Code::Io`]; [`Code::NoSuchChannel`] for [`Recording::only`], and if all that came are messages of others
    /// ([`Recording::foreign`]). After any of them, there are no more entries.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>> {
        // Unless an entry is returned, nothing follows.
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(None);
        }
        let Some(Found { channel, recorded, what }) = self.advance()? else {
            return self.check_end().map(|()| None);
        };
        let item = match (what, self.contents.channel(channel)) {
            (What::News(news), Some((topic, _))) => (topic, Item::News(news)),
            (What::Event(stamp, length), Some((topic, Kind::Events(_, format)))) => {
                (topic, Item::Event { stamp, format, body: &self.contents.data[..length] })
            }
            _ => return Err(Error::new(Code::Internal).found("an event without a channel")),
        };
        (self.has_ended, self.has_entries) = (false, true);
        let (topic, item) = item;
        Ok(Some(Entry { topic, recorded, item }))
    }

    /// At the end: what was passed over, and what was not there.
    fn check_end(&self) -> Result<()> {
        self.contents.lost.error().map_or(Ok(()), Err)?;
        self.contents.check_chosen()?;
        let foreign = self.foreign();
        match self.has_entries || foreign.is_none() || self.contents.has_own() {
            true => Ok(()),
            false => Err(foreign.error()),
        }
    }

    /// The messages that were passed over since they are not records of Isoform, so far.
    pub fn foreign(&self) -> Foreign {
        self.contents.foreign()
    }

    /// The number of messages that were passed over since they are of other encodings, so far: those of others, and those that repeat
    /// events for viewers.
    pub fn passed_over(&self) -> u64 {
        self.contents.passed
    }

    /// What was passed over since the file is damaged, so far.
    pub fn lost(&self) -> &Lost {
        &self.contents.lost
    }

    /// Reads the events as a stream of messages ([`isoform_core::message`]), with a description before the first record of each format.
    pub fn into_stream(self) -> Stream<R> {
        Stream::new(self)
    }

    /// Looks at the beginning and at the end, once.
    fn look(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        self.frames.magic()?;
        let (begin, longest) = (self.frames.at(), self.longest());
        match Tail::of(&mut self.frames, longest)? {
            Tail::Indexed(index, schemas, channels) => {
                // What a chunk says that cannot be read stands here again.
                let records = schemas.into_iter().chain(channels.into_iter().map(Record::Channel));
                records.for_each(|record| drop(self.contents.take(index.end(), record)));
                self.index = Some(index);
            }
            Tail::Plain => {}
            Tail::Missing => self.is_cut = true,
            Tail::Damaged(error) => {
                let length = self.frames.length()?;
                self.contents.lost.note(length, error);
            }
        }
        self.frames.go(begin)
    }

    /// Goes to the next message that is an event or news.
    fn advance(&mut self) -> Result<Option<Found>> {
        self.look()?;
        loop {
            if let Some(chunk) = &mut self.chunk {
                let (at, end) = (chunk.at, chunk.end);
                match chunk.next(|record| self.contents.take(at, record)) {
                    Ok(Some(found)) => return Ok(Some(found)),
                    Ok(None) => {}
                    Err(error) => self.lose(at, end, error),
                }
                self.chunk = None;
            }
            match self.step()? {
                Step::More => {}
                Step::Found(found) => return Ok(Some(found)),
                Step::End => {
                    self.settle();
                    return Ok(None);
                }
            }
        }
    }

    /// Reads the next record of the file.
    fn step(&mut self) -> Result<Step> {
        let at = self.frames.at();
        if at >= self.until {
            return Ok(Step::End);
        }
        let head = match self.frames.head() {
            Err(error) if error.code() == Code::Cut => return self.end(at),
            head => head?,
        };
        if self.index.as_ref().is_some_and(|index| !index.fits(&head)) {
            return self.leap(at);
        }
        match head.opcode {
            op::DATA_END | op::FOOTER if self.is_cut => self.end(at),
            op::DATA_END | op::FOOTER => Ok(Step::End),
            op::CHUNK => self.open_chunk(&head),
            op::MESSAGE_INDEX if self.about == About::Read => self.pass(&head),
            op::MESSAGE_INDEX => self.count(&head),
            op::SCHEMA | op::CHANNEL | op::MESSAGE => self.outside(&head),
            _ => {
                self.settle();
                self.pass(&head)
            }
        }
    }

    /// A record outside chunks.
    fn outside(&mut self, head: &Head) -> Result<Step> {
        self.settle();
        let is_good = match self.is_data_good {
            Some(known) => known,
            None => self.check_data(head.at)?,
        };
        let (length, longest) = (head.end - head.at - HEAD, self.longest());
        if !is_good || length > longest {
            let is_event = head.opcode == op::MESSAGE;
            if is_good {
                self.contents.lost.note(head.at, too_large(length, longest));
            }
            self.contents.lost.pass(if is_event { head.end - head.at } else { 0 });
            self.contents.lost.more |= is_event;
            return self.pass(head);
        }
        match self.frames.data(length, &mut self.bytes) {
            Err(error) if error.code() == Code::Cut => return self.end(head.at),
            read => read?,
        }
        let found = match parse_record(head.opcode, &self.bytes) {
            Ok(record) => self.contents.take(head.at, record),
            Err(error) => {
                self.contents.lost.note(head.at, damaged(error));
                self.contents.lost.more = true;
                None
            }
        };
        Ok(found.map_or(Step::More, Step::Found))
    }

    /// Compares the checksum of all data, once, before the first record outside chunks is taken, which is here. A file that was cut has
    /// none.
    fn check_data(&mut self, at: u64) -> Result<bool> {
        let here = self.frames.at();
        let sums = if self.is_cut { Ok((0, 0)) } else { self.frames.checksums() };
        self.frames.go(here)?;
        let error = Error::new(Code::Damaged);
        let is_good = match sums {
            Ok((0, _)) => true,
            Ok((stated, sum)) if stated == sum => true,
            Ok((stated, sum)) => {
                let error = error.expected(format_args!("data with the checksum {stated:08x}"));
                self.contents.lost.note(at, error.found(format_args!("{sum:08x}")));
                false
            }
            Err(error) if error.code() == Code::Io => return Err(error),
            Err(_) => {
                self.contents.lost.note(at, error.expected("the end of the data, with their checksum").found("none"));
                true
            }
        };
        self.is_data_good = Some(is_good);
        Ok(is_good)
    }

    fn pass(&mut self, head: &Head) -> Result<Step> {
        if head.end - head.at > CHUNK && head.end > self.frames.length()? {
            return self.end(head.at);
        }
        self.frames.pass(head.end)?;
        Ok(Step::More)
    }

    fn open_chunk(&mut self, head: &Head) -> Result<Step> {
        self.settle();
        self.contents.came = 0;
        self.about = About::Read;
        let (length, longest) = (head.end - head.at - HEAD, self.longest());
        if length > longest {
            let error = too_large(length, longest);
            if head.end > self.frames.length()? {
                self.contents.lost.note(head.at, error);
                return self.end(head.at);
            }
            self.lose(head.at, head.end, error);
            return self.pass(head);
        }
        match self.frames.data(length, &mut self.bytes) {
            Err(error) if error.code() == Code::Cut => return self.end(head.at),
            read => read?,
        }
        match Chunk::new(&self.bytes, head.at, longest, &mut self.expansion) {
            Ok(chunk) => self.chunk = Some(chunk),
            Err(error) => self.lose(head.at, head.end, error),
        }
        Ok(Step::More)
    }

    /// Passes over the rest of a chunk. The index behind it says which events it had.
    fn lose(&mut self, at: u64, end: u64, error: Error) {
        let lost = &mut self.contents.lost;
        lost.note(at, error);
        lost.chunks += 1;
        lost.pass(end - at);
        self.about = About::Lost { came: self.contents.came, is_counted: false };
    }

    /// An index of the messages of a chunk that was not read.
    fn count(&mut self, head: &Head) -> Result<Step> {
        let length = head.end - head.at - HEAD;
        if length > self.longest() {
            return self.pass(head);
        }
        match self.frames.data(length, &mut self.bytes) {
            Err(error) if error.code() == Code::Cut => return self.end(head.at),
            read => read?,
        }
        if self.about == About::Nothing {
            let error = Error::new(Code::Damaged).expected("a chunk in front of its index").found("none");
            self.lose(head.at, head.at, error);
        }
        let Ok(Record::MessageIndex(index)) = parse_record(op::MESSAGE_INDEX, &self.bytes).map_err(damaged) else {
            return Ok(Step::More);
        };
        let is_chosen = !self.contents.is_left_out(index.channel_id);
        let is_of_events =
            self.contents.channel(index.channel_id).map(|(_, kind)| is_chosen && matches!(kind, Kind::Events(..)));
        let within = index.records.iter().filter(|entry| self.contents.span.contains(&entry.log_time)).count() as u64;
        let lost = &mut self.contents.lost;
        if let About::Lost { came, is_counted } = &mut self.about {
            *is_counted |= is_of_events.is_some();
            match is_of_events {
                Some(true) => {
                    let known = within.min(*came);
                    *came -= known;
                    lost.events += within - known;
                }
                Some(false) => {}
                None => lost.more = true,
            }
        }
        Ok(Step::More)
    }

    /// Notes that no index follows which counts the events of a lost chunk.
    fn settle(&mut self) {
        self.contents.lost.more |= matches!(self.about, About::Lost { is_counted: false, .. });
        self.about = About::Nothing;
    }

    /// Goes on behind an impossible record, at the next place where the index says that something begins.
    fn leap(&mut self, at: u64) -> Result<Step> {
        self.settle();
        let Some(index) = &self.index else { return self.end(at) };
        let (to, end) = (index.next(at), index.end());
        let error = Error::new(Code::Damaged);
        match index.has_chunk(at) {
            true => {
                let error = error.expected("the chunk that the index names").found("another record");
                self.contents.came = 0;
                self.lose(at, to, error);
            }
            false => {
                let error = error.expected("a record that ends where the next one begins").found("a longer one");
                self.contents.lost.note(at, error);
                self.contents.lost.pass(to - at);
            }
        }
        self.frames.go(to)?;
        Ok(if to < end { Step::More } else { Step::End })
    }

    /// Notes that the file ends without the end of a recording: it was cut, or is damaged.
    fn end(&mut self, at: u64) -> Result<Step> {
        let length = self.frames.length()?;
        match self.is_cut {
            true => self.contents.lost.note_cut(cut(length)),
            false => {
                let error = Error::new(Code::Damaged).expected("records up to the end").found("a longer one");
                self.contents.lost.note(at, error);
                self.contents.lost.pass(length.saturating_sub(at));
                self.contents.lost.more = true;
            }
        }
        Ok(Step::End)
    }

    /// The index, if it leads to all messages.
    fn complete_index(&self) -> Option<&Index> {
        self.index.as_ref().filter(|index| index.is_complete())
    }

    /// The greatest record and the greatest chunk that are read.
    fn longest(&self) -> u64 {
        self.contents.limits().message.saturating_add(CHUNK)
    }
}
