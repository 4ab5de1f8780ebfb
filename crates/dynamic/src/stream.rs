//! Streams of files that users name, and of records whose format is known only when the program runs.
//!
//! The `unsafe` here is that of [`isoform::memory`], whose promises callers make: nothing here touches memory itself.
#![allow(unsafe_code)]

use isoform::Query;
use isoform::core::message::{Locators, Mark};
use isoform::memory::Encoder;
use isoform::message::Header;
use isoform::stream::{Appended, Asked, Gap};
use isoform::{Batch, Code, Error, Format, Incoming, Registry, Result, Token, stream};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Stdin, Stdout, Write};
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "files")]
use std::sync::{Mutex, PoisonError};

/// A writer keeps encoders for this many formats.
const ENCODERS: usize = 64;

/// The source of a stream.
#[derive(Debug)]
pub enum Input {
    /// A file.
    File(File),
    /// Standard input.
    Standard(Stdin),
    /// A recording (`spec/files.md`), whose events are read as a stream.
    #[cfg(feature = "files")]
    Recording(Box<Exclusive<isoform_files::Stream>>),
}

/// What a recording knows of an event beside its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The name of its channel.
    pub topic: Arc<str>,
    /// The number of its source, as the recorder counts sources.
    pub source: u32,
    /// The number of the event at its source.
    pub sequence: u64,
    /// When it was submitted, by the clock of its source: nanoseconds since 1970.
    pub submitted: u64,
    /// When it was recorded, by the clock of the recorder: nanoseconds since 1970.
    pub recorded: u64,
}

/// A part of a recording, by seconds since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Begin here.
    pub start: Option<f64>,
    /// End here.
    pub end: Option<f64>,
}

/// What is used by one thread at a time, and may be lent to others: nobody ever waits for it.
#[cfg(feature = "files")]
#[derive(Debug)]
pub struct Exclusive<T>(Mutex<T>);

/// The target of a stream.
#[derive(Debug)]
pub enum Output {
    /// A file.
    File(File),
    /// Standard output.
    Standard(Stdout),
    /// A file whose stream goes on.
    Appended(Appended),
}

impl Input {
    /// A file, or standard input, which is called `-`.
    ///
    /// # Errors
    /// [`Code::Io`] at the name.
    pub fn named(name: &str) -> Result<Input> {
        Input::open((name != "-").then_some(Path::new(name))).map_err(|error| at(name, &error))
    }

    /// Opens a file or standard input.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: Option<&Path>) -> io::Result<Input> {
        Input::open_channels(path, Vec::new())
    }

    /// Opens a file or standard input. Of a recording, only channels of these names are read, unless there are none.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_channels(path: Option<&Path>, channels: Vec<String>) -> io::Result<Input> {
        let Some(path) = path else { return Ok(Input::Standard(io::stdin())) };
        let file = File::open(path)?;
        // The system opens a folder, and fails when it is read, where nobody knows its name any more.
        if file.metadata()?.is_dir() {
            return Err((&file).read(&mut [0]).err().unwrap_or_else(|| io::ErrorKind::IsADirectory.into()));
        }
        #[cfg(not(feature = "files"))]
        if is_recording(path, &file)? {
            let text = "a recording, which this build of Isoform does not read: it lacks the feature `files`";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        #[cfg(feature = "files")]
        if is_recording(path, &file)? {
            let recording = isoform_files::Recording::new(file, isoform::Limits::default());
            return Ok(Input::of_recording(recording.only(channels)));
        }
        let _ = channels; // of a stream there is nothing to choose
        Ok(Input::File(file))
    }

    /// The events of a recording from its present place.
    #[cfg(feature = "files")]
    pub fn of_recording(recording: isoform_files::Recording) -> Input {
        Input::Recording(Box::new(Exclusive(Mutex::new(recording.into_stream()))))
    }
}

impl Input {
    /// Whether it is a recording, of which channels can be chosen.
    pub fn has_channels(&self) -> bool {
        match self {
            #[cfg(feature = "files")]
            Input::Recording(_) => true,
            Input::File(_) | Input::Standard(_) => false,
        }
    }

    /// Leaves out what was not recorded within these seconds.
    ///
    /// # Errors
    /// [`Code::WrongType`] at `start` or `end` if it is no recording, if `start` is behind `end` or behind the end of the recording, or if
    /// a number is none or negative; those of `isoform_files::Recording::within`.
    pub fn within(self, part: Seconds) -> Result<Input> {
        for (name, seconds) in [("start", part.start), ("end", part.end)] {
            if let Some(seconds) = seconds.filter(|seconds| !(*seconds >= 0.0 && *seconds < 1e15)) {
                let error = Error::new(Code::WrongType).at(name);
                let error = error.expected("seconds since the beginning of the recording, such as 0 or 12.5");
                return Err(error.found(seconds));
            }
        }
        let at_start = || Error::new(Code::WrongType).at("start");
        if let (Some(start), Some(end)) = (part.start, part.end)
            && start > end
        {
            return Err(at_start().expected(format_args!("at most the end, {end} seconds")).found(start));
        }
        match self {
            #[cfg(feature = "files")]
            Input::Recording(recording) => {
                let stream = recording.0.into_inner().unwrap_or_else(PoisonError::into_inner);
                let mut recording = stream.into_recording();
                let (first, last) = recording.times()?.map_or((0, 0), std::ops::RangeInclusive::into_inner);
                let moment = |seconds: f64| first.saturating_add((seconds * 1e9) as u64);
                let span = part.start.map_or(0, moment)..=part.end.map_or(u64::MAX, moment);
                if let Some(start) = part.start.filter(|_| *span.start() > last) {
                    let length = (last - first) as f64 / 1e9;
                    let error = at_start().expected(format_args!("at most {length}, where the recording ends"));
                    return Err(error.found(start));
                }
                Ok(Input::of_recording(recording.within(span)?))
            }
            Input::File(_) | Input::Standard(_) => {
                let at = if part.start.is_some() { "start" } else { "end" };
                let error = Error::new(Code::WrongType).at(at).expected("a recording, of which a part can be chosen");
                Err(error.found("a stream of records"))
            }
        }
    }

    /// What is known of the event whose bytes are at a position of the stream; `None` unless it is a recording. Events before it are forgotten.
    pub fn stamp(&mut self, position: u64) -> Option<Stamp> {
        match self {
            #[cfg(feature = "files")]
            Input::Recording(recording) => {
                let recording = recording.0.get_mut().unwrap_or_else(PoisonError::into_inner);
                let isoform_files::Stamped { topic, stamp, recorded } = recording.stamped(position)?.clone();
                let isoform_files::Stamp { source, sequence, nanoseconds: submitted, .. } = stamp;
                Some(Stamp { topic, source, sequence, submitted, recorded })
            }
            Input::File(_) | Input::Standard(_) => {
                let _ = position;
                None
            }
        }
    }

    /// What a recording has that is not Isoform's, in a sentence; `None` if there is nothing of that kind so far.
    pub fn foreign(&mut self) -> Option<String> {
        match self {
            #[cfg(feature = "files")]
            Input::Recording(recording) => {
                let foreign = recording.0.get_mut().unwrap_or_else(PoisonError::into_inner).foreign();
                (!foreign.is_none()).then(|| foreign.to_string())
            }
            Input::File(_) | Input::Standard(_) => None,
        }
    }

    /// When the event was submitted whose bytes are at a position of the stream, in nanoseconds since 1970; `None` unless it is a
    /// recording. Times before it are forgotten.
    pub fn submitted(&mut self, position: u64) -> Option<u64> {
        match self {
            #[cfg(feature = "files")]
            Input::Recording(recording) => {
                recording.0.get_mut().unwrap_or_else(PoisonError::into_inner).submitted(position)
            }
            Input::File(_) | Input::Standard(_) => {
                let _ = position;
                None
            }
        }
    }
}

impl Output {
    /// Creates a file, or uses standard output, which is called `-`.
    ///
    /// # Errors
    /// [`Code::Io`] at the name.
    pub fn named(name: &str) -> Result<Output> {
        Ok(match name {
            "-" => Output::Standard(io::stdout()),
            path => Output::File(File::create(path).map_err(|error| at(name, &error))?),
        })
    }
}

/// The first bytes of a recording.
#[cfg(feature = "files")]
const MAGIC: [u8; 8] = isoform_files::MAGIC;
#[cfg(not(feature = "files"))]
const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

/// Whether a file begins as a recording. What is no regular file, such as a pipe, is a stream: nothing can be read there twice.
fn is_recording(path: &Path, mut file: &File) -> io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(begins_recording(path, &first))
}

/// Whether a file with these first eight bytes, or fewer if it has no more, is a recording. One that is named as a recording and ends
/// before it has begun is a cut recording: it is no stream without messages.
pub fn begins_recording(path: &Path, first: &[u8]) -> bool {
    let is_named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mcap"));
    first == MAGIC || is_named && MAGIC.starts_with(first)
}

fn at(name: &str, error: &io::Error) -> Error {
    Error::new(Code::Io).at(name).found(error)
}

impl Read for Input {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read(room),
            Input::Standard(input) => input.read(room),
            #[cfg(feature = "files")]
            Input::Recording(recording) => recording.0.get_mut().unwrap_or_else(PoisonError::into_inner).read(room),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Input::File(file) => file.seek(to),
            Input::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
            #[cfg(feature = "files")]
            Input::Recording(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::File(file) => file.write(bytes),
            Output::Standard(output) => output.write(bytes),
            Output::Appended(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::File(file) => file.flush(),
            Output::Standard(output) => output.flush(),
            Output::Appended(file) => file.flush(),
        }
    }
}

/// Writes records of any formats, as they are in memory, to a stream.
pub struct Writer<W: Write> {
    writer: stream::Writer<W>,
    encoders: Vec<(Token, Encoder)>,
}

impl<W: Write> Writer<W> {
    /// Creates a writer to `target`.
    pub fn new(target: W) -> Writer<W> {
        Writer { writer: stream::Writer::new(target), encoders: Vec::new() }
    }

    /// Writes a record of a format.
    ///
    /// # Errors
    /// As [`Encoder::new`], [`Encoder::encode`] and [`stream::Writer::write`].
    ///
    /// # Safety
    /// As [`Encoder::encode`]'s, until this returns.
    pub unsafe fn write(&mut self, format: &Format, record: *const u8) -> Result<()> {
        let (encoder, writer) = self.encoder(format)?;
        // SAFETY: promised.
        writer.write(&unsafe { encoder.encode(record)? })
    }

    /// Writes `count` consecutive records of a format.
    ///
    /// # Errors
    /// As [`write`](Writer::write), with the number of the record in front of the path.
    ///
    /// # Safety
    /// As [`write`](Writer::write)'s, of each of them.
    pub unsafe fn write_many(&mut self, format: &Format, records: *const u8, count: usize) -> Result<()> {
        let (encoder, writer) = self.encoder(format)?;
        if !format.structure().has_slots() {
            // SAFETY: promised.
            let batch = unsafe { encoder.encode_many(records, count)? };
            return batch.map_or(Ok(()), |batch| writer.write_batch(&batch));
        }
        (0..count).try_for_each(|i| {
            // SAFETY: promised.
            let message = unsafe { encoder.encode(records.add(i * format.size())) };
            writer.write(&message.map_err(|error| error.within(&format!("[{i}]")))?)
        })
    }

    /// Writes a received message.
    ///
    /// # Errors
    /// As [`stream::Writer::write_body`].
    pub fn pass(&mut self, message: &Incoming<'_>) -> Result<()> {
        self.writer.write_body(message.format(), message.body())
    }

    /// Flushes the target.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// As [`stream::Writer::set_registrar`].
    pub fn set_registrar(&mut self, register: impl FnMut(&Format) -> Result<()> + Send + Sync + 'static) {
        self.writer.set_registrar(register);
    }

    /// As [`stream::Writer::set_locators`].
    pub fn set_locators(&mut self, locators: Locators) {
        self.writer.set_locators(locators);
    }

    /// As [`stream::Writer::set_sealed`].
    pub fn set_sealed(&mut self, is_sealed: bool) {
        self.writer.set_sealed(is_sealed);
    }

    /// As [`stream::Writer::set_mark`].
    pub fn set_mark(&mut self, mark: Mark) {
        self.writer.set_mark(mark);
    }

    /// The encoder of a format, and the stream.
    fn encoder(&mut self, format: &Format) -> Result<(&mut Encoder, &mut stream::Writer<W>)> {
        let token = format.token();
        let place = match self.encoders.iter().position(|(known, _)| *known == token) {
            Some(place) => place,
            None => {
                if self.encoders.len() == ENCODERS {
                    self.encoders.clear();
                }
                self.encoders.push((token, Encoder::new(format)?));
                self.encoders.len() - 1
            }
        };
        Ok((&mut self.encoders[place].1, &mut self.writer))
    }
}

/// Reads messages of any formats. After an error, it knows whether the stream continues.
pub struct Reader<R> {
    reader: stream::Reader<R>,
    goes_on: bool,
}

impl<R: Read> Reader<R> {
    /// Creates a reader of `origin`.
    pub fn new(origin: R) -> Reader<R> {
        Reader { reader: stream::Reader::new(origin), goes_on: true }
    }

    /// What a query makes of the stream: another stream. `times` says when the event at a position was submitted, if it is known.
    pub fn query(self, query: Query, times: fn(&mut R, u64) -> Option<u64>) -> Asked<R> {
        Asked::new(self.reader, query).with_times(times)
    }

    /// The number of bytes taken from the stream.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// As [`stream::Reader::next`].
    #[expect(clippy::should_implement_trait, reason = "a message is lent until the next one")]
    pub fn next(&mut self) -> Result<Option<Incoming<'_>>> {
        self.peek()?;
        // The header could be read. An error after that is one of the stream.
        self.goes_on = false;
        let message = self.reader.next()?;
        self.goes_on = true;
        Ok(message)
    }

    /// The next message, together with those after it that have an equal header and have been read ahead; `None` at the end.
    ///
    /// # Errors
    /// As [`stream::Reader::next_batch`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.peek()?;
        self.goes_on = false;
        let batch = self.reader.next_batch()?;
        self.goes_on = true;
        Ok(batch)
    }

    /// The header and format of the next message, before its body has arrived; `None` at the end.
    ///
    /// # Errors
    /// As [`stream::Reader::peek`].
    pub fn peek(&mut self) -> Result<Option<(Header, Format)>> {
        let head = self.reader.peek();
        self.goes_on = head.as_ref().err().is_none_or(|error| self.reader.goes_on_after(error));
        head
    }

    /// Skips the next message; `false` at the end.
    ///
    /// # Errors
    /// As [`stream::Reader::skip`].
    pub fn skip(&mut self) -> Result<bool> {
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.goes_on = false;
        let skipped = self.reader.skip()?;
        self.goes_on = true;
        Ok(skipped)
    }

    /// Reads the body of the next message to the start of `destination`; `None` at the end.
    ///
    /// # Errors
    /// As [`stream::Reader::read_into`]. If `destination` is too small, the message remains the next one. After [`Code::Cut`],
    /// the next call with the same destination continues.
    pub fn read_into(&mut self, destination: &mut [u8]) -> Result<Option<(Header, Format)>> {
        let begun = self.reader.begun();
        self.goes_on = begun.as_ref().err().is_none_or(|error| self.reader.goes_on_after(error));
        begun?;
        let read = self.reader.read_into(destination);
        self.goes_on = read.as_ref().err().is_none_or(|error| error.code() == Code::MessageSize);
        read
    }

    /// As [`stream::Reader::resume`].
    ///
    /// # Errors
    /// As [`stream::Reader::resume`].
    pub fn resume(&mut self) -> Result<Option<Gap>> {
        let gap = self.reader.resume()?;
        self.goes_on |= gap.is_some();
        Ok(gap)
    }

    /// The formats that the stream knows.
    pub fn registry(&self) -> &Registry {
        self.reader.registry()
    }

    /// Whether the next call continues after the last error.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::declare::{Layout, Shape};

    /// A stream that comes in parts, the last first. At an empty one, nothing more has come.
    struct Parts<'a>(Vec<&'a [u8]>);

    impl Read for Parts<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let Some(part) = self.0.last_mut() else { return Ok(0) };
            let taken = part.read(room)?;
            if part.is_empty() {
                self.0.pop();
            }
            Ok(taken)
        }
    }

    #[test]
    fn a_folder_is_refused_by_its_name() {
        let folder = std::env::temp_dir();
        let error = Input::named(folder.to_str().unwrap()).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Io, folder.to_str().unwrap()));
    }

    #[test]
    fn records_of_several_formats_are_one_stream() {
        let format = |shape| Shape::parse(shape).and_then(|shape| shape.on(&Layout::NATIVE)).unwrap();
        let (level, note) = (format("record Level\n level double"), format("record Note\n text string"));
        let (levels, text) = ([0.5f64, 1.5], c"all is well");
        let notes = [text.as_ptr().expose_provenance(), 0];
        let (mut bytes, mut passed) = (Vec::new(), Vec::new());
        let mut writer = Writer::new(&mut bytes);
        // SAFETY: two records of each format.
        unsafe {
            writer.write_many(&level, levels.as_ptr().cast(), 2).unwrap();
            writer.write_many(&note, notes.as_ptr().cast(), 2).unwrap();
            writer.write(&level, levels.as_ptr().cast()).unwrap();
        }
        writer.flush().unwrap();
        let mut reader = Reader::new(&bytes[..]);
        let (mut names, mut writer) = (String::new(), Writer::new(&mut passed));
        while let Some(message) = reader.next().unwrap() {
            names += &message.format().name()[..1];
            writer.pass(&message).unwrap();
        }
        writer.flush().unwrap();
        assert_eq!((names.as_str(), reader.goes_on()), ("LLNNL", true));
        assert_eq!(passed, bytes);
        let mut cut = Reader::new(&bytes[..bytes.len() - 12]);
        let fault =
            std::iter::from_fn(|| cut.next().map(|message| message.map(drop)).transpose()).find_map(Result::err);
        assert_eq!((fault.map(|fault| fault.code()), cut.goes_on()), (Some(Code::Cut), false));
        let mut body = [0; 8];
        let mut slow = Reader::new(Parts(vec![&bytes[bytes.len() - 12..], b"", &bytes[..bytes.len() - 12]]));
        (0..4).for_each(|_| assert!(slow.skip().unwrap()));
        assert_eq!(slow.read_into(&mut body).unwrap_err().code(), Code::Cut);
        let (header, format) = slow.read_into(&mut body).unwrap().unwrap();
        assert_eq!((header.length, format.name(), f64::from_ne_bytes(body)), (8, "Level", 0.5));
        assert_eq!(Input::named("/no/such/file").unwrap_err().path(), "/no/such/file");
    }
}
