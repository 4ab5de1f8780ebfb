//! Reads the events of an MCAP file: from its beginning, or those of a span of time by its indexes.

use crate::profile::{Common, ENCODING, NEWS, NEWS_SCHEMA, RELAYED, Stamp, failed};
use crate::stream::Stream;
use isoform_core::{Code, Error, Format, Limits, Result};
use mcap::records::{self, MessageHeader, Record, op};
use mcap::sans_io::{
    LinearReadEvent, LinearReader, LinearReaderOptions, SummaryReadEvent, SummaryReader, SummaryReaderOptions,
};
use mcap::{Summary, parse_record};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

/// What a chunk may have beyond one message of the greatest length.
const CHUNK: u64 = 64 << 20;

/// So many bytes are read at a time.
const ROOM: usize = 1 << 20;

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
    input: R,
    /// So many bytes of it are read at most.
    left: u64,
    reader: Box<Linear>,
    kinds: Kinds,
    /// Entries that were recorded at other times are passed over.
    span: RangeInclusive<u64>,
    /// The data of the message that was handed out last.
    data: Vec<u8>,
    passed: u64,
    has_ended: bool,
}

/// Reads the records of a file and of its chunks.
struct Linear {
    file: LinearReader,
    /// The chunk that is being read, and its record. A chunk is looked at before the container's reader takes it apart: that one relies
    /// on lengths within a chunk that is not compressed.
    chunk: Option<(LinearReader, Cursor<Vec<u8>>)>,
    longest: usize,
}

impl Linear {
    fn new(longest: usize) -> Linear {
        Linear::with(longest, LinearReaderOptions::default())
    }

    /// Of a part of a file, with whole records.
    fn of_part(longest: usize) -> Linear {
        Linear::with(longest, LinearReaderOptions::default().with_skip_start_magic(true).with_skip_end_magic(true))
    }

    fn with(longest: usize, options: LinearReaderOptions) -> Linear {
        let options = options.with_emit_chunks(true).with_record_length_limit(longest);
        Linear { file: LinearReader::new_with_options(options), chunk: None, longest }
    }

    /// Goes to the next schema, channel or message that `take` makes something of.
    fn next<T>(
        &mut self,
        input: &mut impl Read,
        mut take: impl FnMut(Record<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        loop {
            let mut found = None;
            let (reader, from) = match &mut self.chunk {
                Some((reader, bytes)) => (reader, Some(bytes)),
                None => (&mut self.file, None),
            };
            let is_in_chunk = from.is_some();
            match reader.next_event() {
                None if is_in_chunk => self.chunk = None,
                None => return Ok(None),
                Some(event) => match event.map_err(failed)? {
                    LinearReadEvent::ReadRequest(wanted) => {
                        // A length that the file states costs nothing before its bytes come.
                        let room = reader.insert(wanted.min(ROOM));
                        let count = match from {
                            Some(bytes) => read(bytes, room)?,
                            None => read(input, room)?,
                        };
                        reader.notify_read(count);
                    }
                    LinearReadEvent::Record { opcode: op::CHUNK, data } if !is_in_chunk => {
                        found = Some(chunk(data)?);
                    }
                    // Attachments, indexes and the rest are not parsed.
                    LinearReadEvent::Record { opcode: opcode @ (op::SCHEMA | op::CHANNEL | op::MESSAGE), data } => {
                        if let Some(taken) = take(parse_record(opcode, data).map_err(failed)?)? {
                            return Ok(Some(taken));
                        }
                    }
                    LinearReadEvent::Record { .. } => {}
                },
            }
            if let Some(bytes) = found {
                let options = LinearReaderOptions::default().with_skip_start_magic(true).with_skip_end_magic(true);
                let options = options.with_prevalidate_chunk_crcs(true).with_record_length_limit(self.longest);
                self.chunk = Some((LinearReader::new_with_options(options), Cursor::new(bytes)));
            }
        }
    }
}

/// The record of a chunk with this content, if its parts are as long as it says.
fn chunk(data: &[u8]) -> Result<Vec<u8>> {
    let Record::Chunk { header, data: content } = parse_record(op::CHUNK, data).map_err(failed)? else {
        return Err(Error::new(Code::Damaged).expected("a chunk"));
    };
    if header.compression.is_empty() {
        let wrong = || Error::new(Code::Damaged).expected("a chunk that consists of whole records");
        let mut rest: &[u8] = &content;
        if header.uncompressed_size != rest.len() as u64 {
            return Err(wrong());
        }
        while let Some((head, behind)) = rest.split_first_chunk::<9>() {
            let [_, length @ ..] = *head;
            let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| wrong())?;
            rest = behind.get(length..).ok_or_else(wrong)?;
        }
        if !rest.is_empty() {
            return Err(wrong());
        }
    }
    let mut record = Vec::with_capacity(9 + data.len());
    record.push(op::CHUNK);
    record.extend((data.len() as u64).to_le_bytes());
    record.extend_from_slice(data);
    Ok(record)
}

impl std::fmt::Debug for Linear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linear").finish_non_exhaustive()
    }
}

/// What the MCAP channels of a file hold.
#[derive(Debug, Default)]
struct Kinds {
    limits: Limits,
    /// Formats, by the number of their schema. Schemas of other encodings are not here.
    formats: HashMap<u16, Format>,
    /// The number of the schema of news.
    news: HashSet<u16>,
    channels: HashMap<u16, (String, Kind)>,
}

#[derive(Debug)]
enum Kind {
    Events(Common, Format),
    News,
    Other,
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

    /// Yields only what was recorded within this span of time, in nanoseconds since 1970. Of a file with indexes, only the part is read
    /// that may have such entries.
    ///
    /// # Errors
    /// [`Code::Io`]; if a description is refused, as [`Format::parse`].
    pub fn within(mut self, span: RangeInclusive<u64>) -> Result<Recording<File>> {
        if span == (0..=u64::MAX) {
            return Ok(self);
        }
        let io = |error: io::Error| Error::new(Code::Io).found(error);
        let summary = summary(&mut self.input, &self.kinds.limits)?;
        self.input.rewind().map_err(io)?;
        if let Some(summary) = summary {
            summary
                .schemas
                .values()
                .try_for_each(|schema| self.kinds.schema(schema.id, &schema.name, &schema.encoding, &schema.data))?;
            for channel in summary.channels.values() {
                self.kinds.channel(records::Channel {
                    id: channel.id,
                    schema_id: channel.schema.as_ref().map_or(0, |schema| schema.id),
                    topic: channel.topic.clone(),
                    message_encoding: channel.message_encoding.clone(),
                    metadata: channel.metadata.clone(),
                })?;
            }
            // Chunks are where the indexes say. What is between them is read, whatever the indexes say of it.
            let wanted = summary
                .chunk_indexes
                .iter()
                .filter(|chunk| chunk.message_start_time <= *span.end() && chunk.message_end_time >= *span.start());
            let (mut begin, mut end) = (u64::MAX, 0);
            for chunk in wanted {
                begin = begin.min(chunk.chunk_start_offset);
                end = end.max(chunk.chunk_start_offset.saturating_add(chunk.chunk_length));
            }
            self.left = end.saturating_sub(begin);
            self.reader = Box::new(Linear::of_part(longest(&self.kinds.limits)));
            // No chunk has such entries, or the index is none.
            let begin = if begin < self.input.metadata().map_err(io)?.len() { begin } else { 0 };
            self.left = if begin == 0 { 0 } else { self.left };
            self.input.seek(SeekFrom::Start(begin)).map_err(io)?;
        }
        self.span = span;
        Ok(self)
    }
}

impl<R: Read> Recording<R> {
    /// The recording that these bytes are. Records are at most as long as the limits say.
    pub fn new(input: R, limits: Limits) -> Recording<R> {
        Recording {
            input,
            left: u64::MAX,
            reader: Box::new(Linear::new(longest(&limits))),
            kinds: Kinds { limits, ..Kinds::default() },
            span: 0..=u64::MAX,
            data: Vec::new(),
            passed: 0,
            has_ended: false,
        }
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// [`Code::Cut`] behind the last chunk of a file that was cut; [`Code::Damaged`]; [`Code::MessageSize`]; [`Code::Io`]. After any of them,
    /// there are no more entries. If a description is refused, as [`Format::parse`].
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>> {
        // Unless an entry is returned, nothing follows.
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(None);
        }
        let Some(header) = self.advance()? else { return Ok(None) };
        let (topic, kind) = &self.kinds.channels[&header.channel_id];
        let item = match kind {
            Kind::Events(common, format) => {
                let (stamp, body) = common.stamp(header.sequence, header.publish_time, &self.data)?;
                Item::Event { stamp, format, body }
            }
            Kind::News | Kind::Other => {
                let news = serde_json::from_slice(&self.data);
                Item::News(news.map_err(|error| Error::new(Code::Damaged).at(topic).expected("JSON").found(error))?)
            }
        };
        self.has_ended = false;
        Ok(Some(Entry { topic, recorded: header.log_time, item }))
    }

    /// The number of messages that were passed over since they are of other encodings, so far.
    pub fn passed_over(&self) -> u64 {
        self.passed
    }

    /// Reads the events as a stream of messages ([`isoform_core::message`]), with a description before the first record of each format.
    pub fn into_stream(self) -> Stream<R> {
        Stream::new(self)
    }

    /// Goes to the next message that is an event or news, with its data in `self.data`.
    fn advance(&mut self) -> Result<Option<MessageHeader>> {
        let Recording { input, left, reader, kinds, span, data, passed, .. } = self;
        let mut input = input.take(*left);
        let found = reader.next(&mut input, |record| match record {
            Record::Schema { header, data } => {
                kinds.schema(header.id, &header.name, &header.encoding, &data)?;
                Ok(None)
            }
            Record::Channel(channel) => {
                kinds.channel(channel)?;
                Ok(None)
            }
            Record::Message { header, .. } if !span.contains(&header.log_time) => Ok(None),
            Record::Message { header, data: message } => {
                let takes = kinds.takes(&header)?;
                *passed += u64::from(!takes);
                if takes {
                    data.clear();
                    data.extend_from_slice(&message);
                }
                Ok(takes.then_some(header))
            }
            _ => Ok(None),
        });
        *left = input.limit();
        found
    }
}

/// The greatest record and the greatest chunk that are read.
fn longest(limits: &Limits) -> usize {
    usize::try_from(limits.message.saturating_add(CHUNK)).unwrap_or(usize::MAX)
}

/// The summary at the end of a file; `None` if it has none, such as one that was cut.
fn summary(file: &mut File, limits: &Limits) -> Result<Option<Summary>> {
    let io = |error: io::Error| Error::new(Code::Io).found(error);
    let mut reader =
        SummaryReader::new_with_options(SummaryReaderOptions::default().with_record_length_limit(longest(limits)));
    while let Some(event) = reader.next_event() {
        match event {
            Ok(SummaryReadEvent::ReadRequest(wanted)) => {
                let count = read(file, reader.insert(wanted))?;
                reader.notify_read(count);
            }
            Ok(SummaryReadEvent::SeekRequest(to)) => {
                let place = file.seek(to).map_err(io)?;
                reader.notify_seeked(place);
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(reader.finish().filter(|summary| !summary.chunk_indexes.is_empty()))
}

/// Reads what there is now.
fn read(input: &mut impl Read, room: &mut [u8]) -> Result<usize> {
    loop {
        match input.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(|error| Error::new(Code::Io).found(error)),
        }
    }
}

impl Kinds {
    /// A schema may come again, as before.
    fn schema(&mut self, id: u16, name: &str, encoding: &str, data: &[u8]) -> Result<()> {
        if name == NEWS_SCHEMA {
            self.news.insert(id);
        }
        if encoding == ENCODING && !self.formats.contains_key(&id) {
            self.formats.insert(id, Format::parse_within(data, &self.limits)?);
        }
        Ok(())
    }

    fn channel(&mut self, channel: records::Channel) -> Result<()> {
        if self.channels.contains_key(&channel.id) {
            return Ok(());
        }
        let (name, kind) = match &*channel.message_encoding {
            encoding @ (ENCODING | RELAYED) => {
                let at = |error: Error| error.within(&channel.topic);
                let common = Common::parse(encoding, &channel.metadata).map_err(at)?;
                let format = self.formats.get(&channel.schema_id).ok_or_else(|| {
                    at(Error::new(Code::Damaged)
                        .expected("a schema of the encoding isoform")
                        .found(format!("none of number {}", channel.schema_id)))
                })?;
                (channel.topic, Kind::Events(common, format.clone()))
            }
            "json" if channel.topic.ends_with(NEWS) && self.news.contains(&channel.schema_id) => {
                (channel.topic[..channel.topic.len() - NEWS.len()].into(), Kind::News)
            }
            _ => (channel.topic, Kind::Other),
        };
        self.channels.insert(channel.id, (name, kind));
        Ok(())
    }

    /// Whether a message is an event or news.
    fn takes(&self, header: &MessageHeader) -> Result<bool> {
        match self.channels.get(&header.channel_id) {
            Some((_, Kind::Other)) => Ok(false),
            Some(_) => Ok(true),
            None => Err(Error::new(Code::Damaged).expected("a message of a known channel").found(header.channel_id)),
        }
    }
}
