//! Reads a stream.

mod resume;

pub use resume::Gap;

use super::buffer::{Buffer, retry};
use super::io_error;
use crate::message::{Batch, Incoming};
use isoform_core::Registry;
use isoform_core::message::{HEADER, Header, Locators, Mark, Seal, Split, split};
use isoform_core::registry::Located;
use isoform_core::{Code, Error, Format, Limits, Result, Token};
use std::fmt;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Reads messages, and learns formats from the descriptions between them.
///
/// A stream can be read while it is being written. `Ok(None)` and [`Code::Cut`] both mean that no more bytes have
/// arrived, the first after a message and the second within one. The next call continues from there. An input that
/// would block returns the same; [`ended`](Reader::ended) tells the difference.
///
/// After an error about a single message, such as an unknown format, a malformed description, or a message beyond the
/// limit, the next call continues after that message. After an error about the stream itself, such as an unknown
/// version, every call fails, unless the stream is sealed: then [`resume`](Reader::resume) continues behind the damage.
///
/// Bodies are aligned to 16 bytes in memory. The memory grows with the bytes that arrive, not with the length that a
/// header claims.
pub struct Reader<R> {
    inner: R,
    buffer: Buffer,
    registry: Registry,
    /// The limits of the registry.
    limits: Limits,
    state: State,
    ended: bool,
    /// Whether the last message was refused since its format was not found. The error may be of any kind, since a resolver
    /// gave it.
    unresolved: bool,
    /// Those that came last.
    locators: Option<Locators>,
    /// The mark of the last seal whose message was whole.
    mark: Option<Mark>,
}

#[derive(Clone, Copy)]
enum State {
    /// The next bytes are padding, and then a header.
    Between,
    /// The next bytes are the header of the message that this seal is for.
    Sealed(Seal),
    /// The next bytes are the body of a message, of which `done` bytes are consumed.
    Body { admission: Admission, header: Header, seal: Option<Seal>, done: u64 },
    /// A message, which began at this byte with its seal, is damaged. Another one may begin in the next bytes.
    Damaged { begin: u64 },
}

/// The decision about a message, from its header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    Description,
    Locators,
    Seal,
    /// A record of this format in the registry.
    Record(Located),
    /// An error was reported; the body is to be skipped.
    Refused,
}

impl<R: Read> Reader<R> {
    /// Reads a stream from the current position of `inner`, with a registry of its own. The reader reads ahead, so it
    /// needs no [`BufReader`](std::io::BufReader).
    pub fn new(inner: R) -> Reader<R> {
        Reader::with_registry(inner, Registry::new())
    }

    /// The same, with limits for the stream.
    ///
    /// ```
    /// use isoform::{Limits, stream::Reader};
    /// let limits = Limits { message: 1 << 20, fields: 100, ..Limits::default() };
    /// let reader = Reader::within(std::io::stdin(), limits);
    /// ```
    pub fn within(inner: R, limits: Limits) -> Reader<R> {
        Reader::with_registry(inner, Registry::within(limits))
    }

    /// Reads a stream whose formats `registry` may already know or find. The registry learns the formats that the
    /// stream describes, and may forget others for them. So share a registry only among streams that trust each other.
    /// The limits of the registry apply to the stream.
    pub fn with_registry(inner: R, registry: Registry) -> Reader<R> {
        let (buffer, state) = (Buffer::default(), State::Between);
        let limits = *registry.limits();
        Reader { inner, buffer, registry, limits, state, ended: false, unresolved: false, locators: None, mark: None }
    }

    /// The next message, or `None` if no more have arrived.
    ///
    /// # Errors
    /// - [`Code::Cut`] if a part of a message has arrived.
    /// - [`Error::unknown_format`], [`Code::MessageSize`], the errors of a description, or [`Code::Text`] for malformed
    ///   locators. The next call continues with the next message.
    /// - [`Code::NotAMessage`], [`Code::Version`], [`Code::Flags`], or [`Code::Damaged`] if a message differs from its seal. The
    ///   reader can at most [`resume`](Reader::resume).
    /// - [`Code::Io`].
    #[allow(clippy::should_implement_trait, reason = "an iterator could not lend its messages")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Incoming<'_>>> {
        let Some((located, header, length, before)) = self.whole()? else { return Ok(None) };
        self.state = State::Between;
        let body = &self.buffer.consume(before + length)[before..];
        Ok(Some(Incoming::new(header, self.registry.at(located), body)))
    }

    /// The next message, together with the messages after it that have an equal header and have been read ahead.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some((located, header, _, before)) = self.whole()? else { return Ok(None) };
        self.state = State::Between;
        let format = self.registry.at(located);
        let length = Batch::beginning(header, format, &self.buffer.bytes()[before..]).extent();
        Ok(Some(Batch::new(header, format, &self.buffer.consume(before + length)[before..])))
    }

    /// Waits until the whole next message is in the buffer. Returns the place of its format, its header, the length of
    /// its body, and the number of bytes before the body.
    #[inline]
    fn whole(&mut self) -> Result<Option<(Located, Header, usize, usize)>> {
        if let Some(found) = self.at_hand() {
            return Ok(Some(found));
        }
        let Some((header, located)) = self.record()? else { return Ok(None) };
        Ok(Some((located, header, self.sealed_body(header)?, 0)))
    }

    /// The fast path, for a message that is completely in the buffer and has a recent format.
    #[inline]
    fn at_hand(&mut self) -> Option<(Located, Header, usize, usize)> {
        let State::Between = self.state else { return None };
        let padding = self.padding();
        match split(self.buffer.bytes().get(padding..)?) {
            Ok(Split::Whole { header, body, .. }) if header.length <= self.limits.message => {
                Some((self.registry.recent(header.token)?, header, body.len(), padding + HEADER))
            }
            _ => None,
        }
    }

    /// The header and format of the next message, before its body has arrived, or `None` if no more have arrived.
    /// [`next`](Reader::next), [`skip`](Reader::skip) or [`read_into`](Reader::read_into) then take that message.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn peek(&mut self) -> Result<Option<(Header, Format)>> {
        Ok(self.record()?.map(|(header, located)| (header, self.registry.at(located).clone())))
    }

    /// Skips the next message, or the message that the last error was about. Returns `false` if no more have arrived.
    ///
    /// # Errors
    /// [`Code::Cut`] if a part of it has not arrived yet; the next call of any method continues to skip it. Otherwise
    /// as [`Reader::next`].
    pub fn skip(&mut self) -> Result<bool> {
        if !self.at_message()? {
            return Ok(false);
        }
        self.pass_over()?;
        Ok(true)
    }

    /// The header and format of the message that [`read_into`](Reader::read_into) reads next: the one that it has read in part,
    /// or the one that [`peek`](Reader::peek) returns. After a part, `peek` is for the message behind it.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn begun(&mut self) -> Result<Option<(Header, Format)>> {
        match self.state {
            State::Body { admission: Admission::Record(located), header, .. } => {
                Ok(Some((header, self.registry.at(located).clone())))
            }
            _ => self.peek(),
        }
    }

    /// Reads the body of the next message to the start of `destination`. A large body is not copied again.
    ///
    /// # Errors
    /// [`Code::MessageSize`] if `destination` is too small; the message remains the next one. [`Code::Cut`] if a part
    /// of it has not arrived yet; the next call with the same destination continues. Otherwise as [`Reader::next`].
    pub fn read_into(&mut self, destination: &mut [u8]) -> Result<Option<(Header, Format)>> {
        let Some((header, format)) = self.begun()? else { return Ok(None) };
        let room = destination.len();
        let Some(body) = usize::try_from(header.length).ok().and_then(|length| destination.get_mut(..length)) else {
            let error = Error::new(Code::MessageSize).expected(format_args!("at most {room} bytes"));
            return Err(error.found(header.length));
        };
        while let State::Body { done, .. } = &mut self.state {
            let rest = &mut body[*done as usize..];
            if rest.is_empty() {
                self.check(header, Some(body))?;
                self.state = State::Between;
                break;
            }
            let here = self.buffer.consume(rest.len());
            let came = if here.is_empty() {
                let came = receive(retry(|| self.inner.read(rest)), &mut self.ended)?.min(rest.len());
                self.buffer.went_past(came as u64);
                came
            } else {
                rest[..here.len()].copy_from_slice(here);
                here.len()
            };
            *done += came as u64;
            if came == 0 {
                return Err(self.cut(header));
            }
        }
        Ok(Some((header, format)))
    }

    /// Whether a whole message or description has been read ahead. If not, the next call reads the input, which may
    /// wait. So this is the time to send results on.
    pub fn is_ready(&self) -> bool {
        match self.state {
            State::Between | State::Sealed(_) => {
                let is_here = |bytes: &[u8]| !matches!(split(bytes), Ok(Split::Partial { .. }));
                let rest = self.buffer.bytes().get(self.padding()..).unwrap_or_default();
                match split(rest) {
                    Ok(Split::Whole { header, length, .. }) if header.is_seal() => {
                        is_here(rest.get(length..).unwrap_or_default())
                    }
                    _ => is_here(rest),
                }
            }
            State::Body { admission: Admission::Record(_), header, done, .. } => {
                self.buffer.len() as u64 >= header.length - done
            }
            _ => false,
        }
    }

    /// Whether `error`, the last one of this reader, is about a single message, so that the next call continues after
    /// that message.
    ///
    /// ```
    /// # use isoform::stream::Reader;
    /// # fn show(reader: &mut Reader<std::fs::File>) -> isoform::Result<()> {
    /// loop {
    ///     match reader.peek() {
    ///         Ok(None) => break Ok(()),
    ///         Ok(Some(_)) => println!("{:?}", reader.next()?),
    ///         Err(error) if reader.goes_on_after(&error) => eprintln!("{error}"),
    ///         Err(error) => break Err(error),
    ///     }
    /// }
    /// # }
    /// ```
    pub fn goes_on_after(&self, error: &Error) -> bool {
        self.is_refused() && (self.unresolved || !matches!(error.code(), Code::Cut | Code::Io | Code::Damaged))
    }

    /// The formats that this stream knows.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The number of bytes taken from the stream. After a message was read, this is the position of the next one.
    pub fn position(&self) -> u64 {
        self.buffer.position()
    }

    /// The position where the next message begins, with its seal; or the message that the last error is about, until the reader
    /// goes on.
    ///
    /// ```
    /// # use isoform::stream::{Reader, Writer};
    /// # use isoform::{Encoder, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Point { x: f32 }
    /// let mut writer = Writer::new(Vec::new());
    /// for x in [0.5, 1.5, 2.5] {
    ///     writer.write(&Encoder::new().encode(&Point { x })?)?;
    /// }
    /// let bytes = writer.into_inner();
    /// let mut reader = Reader::new(&bytes[..bytes.len() - 15]); // cut within the last record
    /// while let Ok(Some(_)) = reader.next() {}
    /// assert_eq!(reader.place(), bytes.len() as u64 - 48);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn place(&self) -> u64 {
        let position = self.buffer.position();
        match self.state {
            State::Between => position + self.padding() as u64,
            State::Sealed(_) => position - Seal::LENGTH as u64,
            State::Body { seal, done, .. } => position - done - resume::before(seal),
            State::Damaged { begin } => begin,
        }
    }

    /// Whether the last read returned the end of the input. A file may still grow.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The input. Its position is after the last message, since the reader reads ahead.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// The input. What is read from it directly is missing in the stream.
    pub fn inner_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns the input, and the bytes that were read ahead.
    pub fn into_inner(self) -> (R, Vec<u8>) {
        let ahead = self.buffer.bytes().to_vec();
        (self.inner, ahead)
    }

    /// The header of the next readable record, and the place of its format.
    fn record(&mut self) -> Result<Option<(Header, Located)>> {
        loop {
            match self.state {
                State::Body { admission: Admission::Record(located), header, done: 0, .. } => {
                    return Ok(Some((header, located)));
                }
                State::Body { admission: Admission::Description, header, done: 0, .. } => self.learn(header)?,
                State::Body { admission: Admission::Locators, header, done: 0, .. } => self.take_locators(header)?,
                State::Body { admission: Admission::Seal, header, done: 0, .. } => self.take_seal(header)?,
                State::Body { .. } => self.pass_over()?,
                State::Between => match self.header()? {
                    Some(header) => self.admit(header, None)?,
                    None => return Ok(None),
                },
                State::Sealed(seal) => match self.header()? {
                    Some(header) => self.admit(header, Some(seal))?,
                    None => return Err(cut(HEADER as u64, 0, self.buffer.position())),
                },
                State::Damaged { begin } => return Err(resume::at_damage(begin)),
            }
        }
    }

    /// Whether there is a message to skip. Its format may be unknown.
    fn at_message(&mut self) -> Result<bool> {
        if self.is_refused() {
            return Ok(true);
        }
        match self.record() {
            Err(error) if self.goes_on_after(&error) => Ok(true),
            other => Ok(other?.is_some()),
        }
    }

    fn is_refused(&self) -> bool {
        matches!(self.state, State::Body { admission: Admission::Refused, .. })
    }

    /// The next header, if a message has begun to arrive. Padding in front of it is consumed only with it, or at the end: behind
    /// damage, it may be something else.
    #[inline]
    fn header(&mut self) -> Result<Option<Header>> {
        loop {
            let padding = self.padding();
            if let Some(bytes) = self.buffer.bytes().get(padding..).filter(|bytes| !bytes.is_empty()) {
                match split(bytes).map_err(|error| self.misplaced(error))? {
                    Split::Whole { header, .. } | Split::Partial { header: Some(header), .. } => {
                        self.buffer.consume(padding + HEADER);
                        return Ok(Some(header));
                    }
                    Split::Partial { header: None, .. } => {}
                }
            }
            if self.fill(padding + HEADER)? == 0 {
                self.buffer.consume(padding);
                return match self.buffer.len() {
                    0 => Ok(None),
                    found => Err(cut(HEADER as u64, found as u64, self.buffer.position())),
                };
            }
        }
    }

    /// The number of bytes of padding that come next.
    #[inline]
    fn padding(&self) -> usize {
        self.buffer.padding()
    }

    /// Decides from its header how to treat a message.
    fn admit(&mut self, header: Header, seal: Option<Seal>) -> Result<()> {
        if let Some(seal) = seal {
            let double = || Error::new(Code::Damaged).expected("a message behind a seal").found("another seal");
            let sealed = if header.is_seal() { Err(double()) } else { seal.check_header(&header) };
            sealed.map_err(|error| self.damaged(error, Some(seal), header, 0))?;
        }
        self.state = State::Body { admission: Admission::Refused, header, seal, done: 0 };
        let admission = self.admission(header).map_err(|error| match (seal, self.mark) {
            _ if error.code() == Code::Damaged => self.damaged(error, seal, header, 0),
            (None, Some(_)) => self.damaged(resume::unsealed(&error), None, header, 0),
            _ => error,
        })?;
        self.state = State::Body { admission, header, seal, done: 0 };
        Ok(())
    }

    fn admission(&mut self, header: Header) -> Result<Admission> {
        self.limits.admit(&header)?;
        Ok(match header.token {
            Token::ZERO => Admission::Description,
            Token::LOCATORS => Admission::Locators,
            Token::SEAL => Admission::Seal,
            token => Admission::Record(self.located(token)?),
        })
    }

    /// Refuses a message that differs from its seal, if it has one. Its body is this one, which was consumed, or at the
    /// beginning of the buffer.
    fn check(&mut self, header: Header, body: Option<&[u8]>) -> Result<()> {
        let State::Body { seal: Some(seal), .. } = self.state else { return Ok(()) };
        let (consumed, body) = match body {
            Some(body) => (header.length, body),
            None => (0, &self.buffer.bytes()[..header.length as usize]),
        };
        seal.check(&header, body).map_err(|error| self.damaged(error, Some(seal), header, consumed))?;
        self.mark = Some(seal.mark());
        Ok(())
    }

    fn located(&mut self, token: Token) -> Result<Located> {
        let located = self.registry.locate_near(token, self.locators.as_ref());
        self.unresolved = located.is_err();
        located
    }

    /// Takes the locators of the messages behind. Those before them hold no longer.
    fn take_locators(&mut self, header: Header) -> Result<()> {
        let length = self.sealed_body(header)?;
        let locators = Locators::parse(&self.buffer.bytes()[..length]);
        self.locators = locators.as_ref().ok().cloned();
        self.pass_by(header, length, locators.map(drop))
    }

    fn learn(&mut self, header: Header) -> Result<()> {
        let length = self.sealed_body(header)?;
        let learned = self.registry.learn(&self.buffer.bytes()[..length]);
        self.pass_by(header, length, learned.map(drop))
    }

    /// Consumes the body of a message that is no record, unless it is refused and may be damaged.
    fn pass_by(&mut self, header: Header, length: usize, result: Result<()>) -> Result<()> {
        let is_sealed = matches!(self.state, State::Body { seal: Some(_), .. });
        match result {
            Err(error) if !is_sealed && self.mark.is_some() => {
                return Err(self.damaged(resume::unsealed(&error), None, header, 0));
            }
            Ok(()) => self.state = State::Between,
            Err(_) => {
                self.state = State::Body { admission: Admission::Refused, header, seal: None, done: header.length };
            }
        }
        self.buffer.consume(length);
        result
    }

    fn take_seal(&mut self, header: Header) -> Result<()> {
        let length = self.body(header)?;
        self.state = State::Sealed(Seal::parse(self.buffer.consume(length))?);
        Ok(())
    }

    /// Waits until the whole body is in the buffer, refuses one that differs from its seal, and returns its length.
    fn sealed_body(&mut self, header: Header) -> Result<usize> {
        let length = self.body(header)?;
        self.check(header, None)?;
        Ok(length)
    }

    /// Waits until the whole body is in the buffer, and returns its length.
    #[inline]
    fn body(&mut self, header: Header) -> Result<usize> {
        let length = usize::try_from(header.length).map_err(|_| Error::new(Code::Size).found(header.length))?;
        while self.buffer.len() < length {
            if self.fill(length)? == 0 {
                return Err(self.cut(header));
            }
        }
        Ok(length)
    }

    /// Skips the rest of a body.
    fn pass_over(&mut self) -> Result<()> {
        self.unresolved = false;
        while let State::Body { header, seal, done, .. } = self.state {
            if done == header.length {
                self.state = State::Between;
                break;
            }
            let left = usize::try_from(header.length - done).unwrap_or(usize::MAX);
            let dropped = self.buffer.consume(left).len() as u64;
            self.state = State::Body { admission: Admission::Refused, header, seal, done: done + dropped };
            if dropped == 0 && self.fill(0)? == 0 {
                return Err(self.cut(header));
            }
        }
        Ok(())
    }

    fn fill(&mut self, wanted: usize) -> Result<usize> {
        receive(self.buffer.fill(&mut self.inner, wanted), &mut self.ended)
    }

    fn cut(&self, header: Header) -> Error {
        let done = if let State::Body { done, .. } = self.state { done } else { 0 };
        let (header_size, here) = (HEADER as u64, self.buffer.len() as u64);
        let begin = self.buffer.position() - done - header_size;
        cut(header_size.saturating_add(header.length), header_size + done + here, begin)
    }

    fn misplaced(&self, error: Error) -> Error {
        let found =
            format!("{} at byte {} of the stream", error.actual(), self.buffer.position() + self.padding() as u64);
        error.found(found)
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader(at byte {}, {:?})", self.buffer.position(), self.registry)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes to a message that begins at this position of the stream, with its seal: the [`place`](Reader::place) of a message that was read before,
    /// or one that an [`Index`](super::Index) knows. Formats that are described in front of it stay known; those that the reader has not met are
    /// unknown.
    ///
    /// Another place than the beginning of a message is not noticed for sure: bytes within a record may look like a message.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn seek_to(&mut self, place: u64) -> Result<()> {
        let here = self.buffer.position() + self.buffer.len() as u64;
        let by = i64::try_from(i128::from(place) - i128::from(here));
        let by = by.map_err(|_| Error::new(Code::Io).expected("a position of a file").found(place))?;
        self.inner.seek(SeekFrom::Current(by)).map_err(|error| io_error(&error))?;
        self.buffer.go_to(place);
        (self.state, self.ended, self.unresolved) = (State::Between, false, false);
        Ok(())
    }

    /// As [`Reader::skip`], but seeks over a body that has not been read ahead. If the input cannot seek, the body is
    /// read and dropped.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn seek_past(&mut self) -> Result<bool> {
        if !self.at_message()? {
            return Ok(false);
        }
        if let State::Body { header, seal, done, .. } = self.state {
            let left = usize::try_from(header.length - done).unwrap_or(usize::MAX);
            let mut done = done + self.buffer.consume(left).len() as u64;
            if done < header.length {
                let passed = seek_forward(&mut self.inner, header.length - done).unwrap_or(0);
                self.buffer.went_past(passed);
                done += passed;
            }
            self.state = State::Body { admission: Admission::Refused, header, seal, done };
        }
        self.pass_over()?;
        Ok(true)
    }
}

/// Seeks forward by at most this many bytes, but not beyond the end, so that missing bytes are noticed. Returns the
/// distance.
fn seek_forward(inner: &mut impl Seek, by: u64) -> std::io::Result<u64> {
    let from = inner.stream_position()?;
    let end = inner.seek(SeekFrom::End(0))?;
    let to = end.min(from.saturating_add(by)).max(from);
    inner.seek(SeekFrom::Start(to))?;
    Ok(to - from)
}

/// The result of a read, or nothing if the input has no more bytes at the moment.
fn receive(came: std::io::Result<usize>, ended: &mut bool) -> Result<usize> {
    *ended = matches!(came, Ok(0));
    match came {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(0),
        other => other.map_err(|error| io_error(&error)),
    }
}

fn cut(expected: u64, found: u64, begin: u64) -> Error {
    let error = Error::new(Code::Cut).expected(format_args!("{expected} bytes of the message at byte {begin}"));
    error.found(found)
}
