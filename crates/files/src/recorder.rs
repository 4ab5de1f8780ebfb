//! Puts events into an MCAP file. What was counted by [`Recorder::sync`] stays.

use crate::contents::LONGEST_NEWS;
use crate::expansion::Ballast;
use crate::profile::{BALLAST, Common, ENCODING, NEWS, NEWS_SCHEMA, PROFILE, Stamp, VIEWED, failed};
use crate::viewers::{TopicNames, Viewer};
use isoform_core::{Code, Error, Format, Result, Token};
use mcap::records::MessageHeader;
use mcap::write::PrivateRecordOptions;
use mcap::{McapResult, WriteOptions, Writer};
use portable_atomic::{AtomicU64, Ordering};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// The bytes of a chunk before it is compressed: so much is lost at most if the program is killed between two calls of
/// [`Recorder::sync`].
const CHUNK: u64 = 1 << 20;

/// What a message has in front of its data.
const MESSAGE: usize = 31;

/// Between the small pieces of a chunk and the file.
const BUFFER: usize = 64 << 10;

/// The numbers of the schemas and of the channels of a file have 16 bits. A file is full before they are used up, so that what is
/// written beside an event still finds one.
const FULL: u16 = 65_000;
const MOST: u16 = 65_500;

/// The schema of news, for programs that show JSON by its schema.
const NEWS_TEXT: &[u8] =
    br#"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"isoform.News","type":"object"}"#;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The compression of chunks.
    pub compression: Compression,
    /// Also put each event into the file as a message of ROS 2, for the viewers that people have (`spec/files.md`, "Viewers").
    pub viewers: bool,
}

/// The compression of chunks, each by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None: the fastest to write.
    None,
    /// LZ4.
    Lz4,
    /// Zstandard, the smallest.
    #[default]
    Zstd,
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events, without news.
    pub events: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// An event channel that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic(usize);

/// Records events in a file.
///
/// After an error nothing more is written. What was on disk stays there, and can be read.
pub struct Recorder {
    writer: Writer<Target>,
    bytes: Arc<AtomicU64>,
    topics: Vec<String>,
    /// The MCAP channels of events, and those of news.
    channels: HashMap<(usize, Common, Token), u16>,
    news: HashMap<usize, u16>,
    /// What encodes for viewers, by the channel of the events; `None` if it is not wanted.
    viewers: Option<HashMap<u16, (u16, Viewer)>>,
    viewed: TopicNames,
    /// The events that viewers do not see, by the topic.
    unshown: BTreeMap<usize, u64>,
    /// The largest number of a schema or a channel.
    number: u16,
    /// The time of the latest entry: a clock that is set back does not disturb the order.
    latest: u64,
    events: u64,
    /// The bytes in the chunk that is being made, which began when the file had so many.
    pending: u64,
    chunk_at: u64,
    /// What keeps events that become very small within the limits of readers, if chunks are compressed.
    ballast: Option<Ballast>,
    /// A body and its number at its origin.
    relayed: Vec<u8>,
}

impl Recorder {
    /// Creates a file. One that is there is not touched.
    ///
    /// # Errors
    /// [`Code::Io`] at the path, also if there is a file.
    pub fn create(path: &Path, options: Options) -> Result<Recorder> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|error| {
            let expected = if error.kind() == io::ErrorKind::AlreadyExists {
                "a file that is not there yet"
            } else {
                "a file to write"
            };
            Error::new(Code::Io).at(path.display().to_string()).expected(expected).found(error)
        })?;
        let viewers = options.viewers;
        let compression = match options.compression {
            Compression::None => None,
            Compression::Lz4 => Some(mcap::Compression::Lz4),
            Compression::Zstd => Some(mcap::Compression::Zstd),
        };
        // Each chunk is made in memory and written in one piece, so that one that is there is whole.
        let options = WriteOptions::new().profile(PROFILE).library(concat!("isoform ", env!("CARGO_PKG_VERSION")));
        let options =
            options.compression(compression).compression_threads(0).chunk_size(Some(CHUNK)).disable_seeking(true);
        let bytes = Arc::new(AtomicU64::new(0));
        let target = Target { file: BufWriter::with_capacity(BUFFER, file), bytes: bytes.clone() };
        Ok(Recorder {
            writer: options.create(target).map_err(failed)?,
            bytes,
            topics: Vec::new(),
            channels: HashMap::new(),
            news: HashMap::new(),
            viewers: viewers.then(HashMap::new),
            viewed: TopicNames::default(),
            unshown: BTreeMap::new(),
            number: 0,
            latest: 0,
            events: 0,
            pending: 0,
            chunk_at: 0,
            ballast: compression.map(|_| Ballast::default()),
            relayed: Vec::new(),
        })
    }

    /// The topic of an event channel of this name.
    pub fn topic(&mut self, name: &str) -> Topic {
        let known = self.topics.iter().position(|topic| topic == name);
        Topic(known.unwrap_or_else(|| {
            self.topics.push(name.into());
            self.topics.len() - 1
        }))
    }

    /// Records an event that came at `now`, in nanoseconds since 1970. `body` is a body of `format`.
    ///
    /// # Errors
    /// [`Code::Io`]; [`Code::Size`] if a file cannot hold more formats, sources and origins: see [`Recorder::is_full`].
    pub fn record(&mut self, topic: Topic, now: u64, stamp: Stamp, format: &Format, body: &[u8]) -> Result<()> {
        let channel_id = self.channel(topic, Common::of(&stamp), format)?;
        let header = MessageHeader {
            channel_id,
            sequence: stamp.sequence as u32,
            log_time: self.at(now),
            publish_time: stamp.nanoseconds,
        };
        let written = match stamp.origin {
            None => self.writer.write_to_known_channel(&header, body),
            Some(origin) => {
                self.relayed.clear();
                self.relayed.extend_from_slice(body);
                self.relayed.extend(origin.sequence.to_le_bytes());
                self.writer.write_to_known_channel(&header, &self.relayed)
            }
        };
        self.done(written)?;
        self.weigh(body.len())?;
        self.show(channel_id, &header, topic, &stamp, format, body)?;
        self.events += 1;
        self.count(body.len());
        Ok(())
    }

    /// Puts an event into the file as viewers want it, if they are wanted. What cannot be shown is counted.
    fn show(
        &mut self,
        events: u16,
        header: &MessageHeader,
        topic: Topic,
        stamp: &Stamp,
        format: &Format,
        body: &[u8],
    ) -> Result<()> {
        let Some(viewers) = &self.viewers else { return Ok(()) };
        if !viewers.contains_key(&events) {
            let (type_name, text) = Viewer::schema(format);
            let schema = self.numbered(|writer| writer.add_schema(&type_name, "ros2msg", text.as_bytes()))?;
            self.weigh(text.len())?;
            // Formats of other machines, and numbers from 2^32, have channels of their own.
            let name = self.viewed.name(&self.topics[topic.0], stamp.source, format.name());
            let metadata = BTreeMap::from([(VIEWED.to_string(), format.token().to_string())]);
            let channel = self.numbered(|writer| writer.add_channel(schema, &name, "cdr", &metadata))?;
            if let Some(viewers) = &mut self.viewers {
                viewers.insert(events, (channel, Viewer::new(format)));
            }
        }
        let Some((channel_id, viewer)) = self.viewers.as_mut().and_then(|viewers| viewers.get_mut(&events)) else {
            return Ok(());
        };
        let Some(shown) = viewer.encode(body) else {
            *self.unshown.entry(topic.0).or_default() += 1;
            return Ok(());
        };
        let length = shown.len();
        let header = MessageHeader { channel_id: *channel_id, ..*header };
        let written = self.writer.write_to_known_channel(&header, shown);
        self.done(written)?;
        self.weigh(length)?;
        self.count(length);
        Ok(())
    }

    /// Records what happened beside records: an object with one member (`spec/files.md`, "News"). If it has more than 262,144 bytes, its
    /// long values are left out.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub fn news(&mut self, topic: Topic, now: u64, news: &Value) -> Result<()> {
        let channel_id = match self.news.get(&topic.0) {
            Some(channel) => *channel,
            None => {
                let schema = self.numbered(|writer| writer.add_schema(NEWS_SCHEMA, "jsonschema", NEWS_TEXT))?;
                let name = format!("{}{NEWS}", self.topics[topic.0]);
                let channel = self.numbered(|writer| writer.add_channel(schema, &name, "json", &BTreeMap::new()))?;
                self.news.insert(topic.0, channel);
                channel
            }
        };
        let now = self.at(now);
        let header = MessageHeader { channel_id, sequence: 0, log_time: now, publish_time: now };
        let mut text = news.to_string();
        if text.len() > LONGEST_NEWS {
            text = without_long_values(news).to_string();
        }
        let written = self.writer.write_to_known_channel(&header, text.as_bytes());
        self.done(written)?;
        self.weigh(text.len())?;
        self.count(text.len());
        Ok(())
    }

    /// The bytes that the file would have without compression of what is not in it yet.
    pub fn size(&self) -> u64 {
        self.in_file() + self.pending
    }

    fn in_file(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the file holds as many formats, or sources and origins with a format, as it can: some 65,000. What comes then belongs
    /// in another file.
    pub fn is_full(&self) -> bool {
        self.number >= FULL
    }

    /// Puts everything on disk: what this counts is not lost any more.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn sync(&mut self) -> Result<Written> {
        let flushed = self.writer.flush();
        self.done(flushed)?;
        Ok(self.written())
    }

    /// Ends the file with its indexes, and puts everything on disk.
    ///
    /// # Errors
    /// [`Code::Io`]. What was counted before is still there.
    pub fn finish(mut self) -> Result<Written> {
        for (topic, count) in std::mem::take(&mut self.unshown) {
            self.news(Topic(topic), self.latest, &json!({"unshown": {"count": count}}))?;
        }
        let finished = self.writer.finish();
        self.done(finished)?;
        let (written, bytes) = (self.written(), self.in_file());
        let flushed = self.writer.into_inner().flush();
        flushed.map_err(|error| Error::new(Code::Io).found(error))?;
        Ok(Written { bytes, ..written })
    }

    fn written(&self) -> Written {
        Written { events: self.events, bytes: self.in_file() }
    }

    /// The MCAP channel for events like this.
    fn channel(&mut self, topic: Topic, common: Common, format: &Format) -> Result<u16> {
        let key = (topic.0, common, format.token());
        if let Some(channel) = self.channels.get(&key) {
            return Ok(*channel);
        }
        let description = format.description().as_bytes();
        let schema = self.numbered(|writer| writer.add_schema(format.name(), ENCODING, description))?;
        self.weigh(description.len())?;
        let (name, metadata) = (self.topics[topic.0].clone(), common.metadata());
        let channel = self.numbered(|writer| writer.add_channel(schema, &name, common.encoding(), &metadata))?;
        self.channels.insert(key, channel);
        Ok(channel)
    }

    /// Adds to the chunk what a message needs beside it, for readers to take them.
    fn weigh(&mut self, length: usize) -> Result<()> {
        let in_file = self.in_file();
        let Some(bytes) = self.ballast.as_mut().and_then(|ballast| ballast.of((MESSAGE + length) as u64, in_file))
        else {
            return Ok(());
        };
        let written = self.writer.write_private_record(BALLAST, &bytes, PrivateRecordOptions::IncludeInChunks.into());
        self.done(written)?;
        self.pending += bytes.len() as u64;
        Ok(())
    }

    /// A message more in the chunk, or the first of the next one.
    fn count(&mut self, length: usize) {
        if self.chunk_at != self.in_file() {
            (self.pending, self.chunk_at) = (0, self.in_file());
        }
        self.pending += (MESSAGE + length) as u64;
    }

    /// Times do not go back within a file.
    fn at(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The number of what is added to the file.
    fn numbered(&mut self, add: impl FnOnce(&mut Writer<Target>) -> McapResult<u16>) -> Result<u16> {
        if self.number >= MOST {
            let error = Error::new(Code::Size).expected(format_args!("at most {MOST} formats and sources in a file"));
            return Err(error.found("more"));
        }
        let added = add(&mut self.writer);
        let number = self.done(added)?;
        self.number = self.number.max(number);
        Ok(number)
    }

    fn done<T>(&mut self, result: McapResult<T>) -> Result<T> {
        result.map_err(failed)
    }
}

/// The file. Flushing it means that it is on disk.
struct Target {
    file: BufWriter<File>,
    bytes: Arc<AtomicU64>,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }
}

/// The container asks only where it is.
impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) => Ok(self.bytes.load(Ordering::Relaxed)),
            _ => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
/// The news with null in place of long values: those that a source gives may become much longer as JSON than they were.
fn without_long_values(news: &Value) -> Value {
    const LONG: usize = 4 << 10;
    let mut short = news.clone();
    let members = short.as_object_mut().into_iter().flat_map(|news| news.values_mut());
    let values = members.filter_map(Value::as_object_mut).flat_map(|member| member.values_mut());
    values.filter(|value| value.to_string().len() > LONG).for_each(|value| *value = Value::Null);
    short
}
