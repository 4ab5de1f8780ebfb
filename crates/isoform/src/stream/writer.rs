//! Writes a stream.

use super::io_error;
use crate::message::{Batch, Message, admit_body, write_pieces};
use isoform_core::message::{ALIGNMENT, HEADER, Header, Locators, Mark, Seal};
use isoform_core::{Code, Error, Format, Limits, Result, Token};
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::iter::once;

/// Writes messages, with the description of each format before its first message.
///
/// A message goes to `W` in one call, without a copy. So pass a file or a socket as it is. Use a
/// [`BufWriter`](std::io::BufWriter) only for many small messages.
pub struct Writer<W> {
    inner: W,
    /// The formats that a reader must still know. When a reader may forget some of them, all are described again
    /// (`spec/message.md`, "Streams").
    described: HashSet<Token>,
    /// The bytes of their descriptions together.
    bytes: usize,
    /// The one that was used last.
    latest: Option<Token>,
    /// Whether a message was written only in part. Nobody could read what follows.
    broken: bool,
    /// What registers formats, if descriptions are left out.
    registrar: Option<Box<Registrar>>,
    /// Locators that are to be written before the next message.
    locators: Option<Locators>,
    /// The mark of the seals, if messages are sealed.
    mark: Option<Mark>,
}

type Registrar = dyn FnMut(&Format) -> Result<()> + Send + Sync;

impl<W: Write> Writer<W> {
    /// Writes a stream to `inner`, from its current position.
    pub fn new(inner: W) -> Writer<W> {
        Writer {
            inner,
            described: HashSet::new(),
            bytes: 0,
            latest: None,
            broken: false,
            registrar: None,
            locators: None,
            mark: None,
        }
    }

    /// Leaves descriptions out of the stream from now on. Instead, this function registers each format before its first
    /// message, for example at a format server. It may be called several times with one format.
    ///
    /// If the function cannot ask anybody, it fails with [`Code::Io`] or [`Code::Deadline`]. Then the writer describes the format in the
    /// stream, so that readers need nobody either. If it fails with another code, the message is not written, and the next
    /// message of the format calls it again.
    ///
    /// ```
    /// use isoform::stream::{Reader, Writer};
    /// use isoform::{Encoder, Record, Registry};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Point { x: f64 }
    /// let known = Registry::new();
    /// let mut writer = Writer::new(Vec::new());
    /// writer.set_registrar({
    ///     let known = known.clone();
    ///     move |format| known.register(format)
    /// });
    /// writer.write(&Encoder::new().encode(&Point { x: 0.5 })?)?;
    /// let bytes = writer.into_inner();
    /// assert_eq!(bytes.len(), 48);
    /// assert!(Reader::new(&bytes[..]).next().is_err());
    /// assert!(Reader::with_registry(&bytes[..], known).next()?.is_some());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn set_registrar(&mut self, register: impl FnMut(&Format) -> Result<()> + Send + Sync + 'static) {
        self.registrar = Some(Box::new(register));
    }

    /// Writes these locators before the next message. A reader that allows the host of one of them asks there for formats that the
    /// stream does not describe (`spec/message.md`, "Locators").
    ///
    /// ```
    /// use isoform::core::message::Locators;
    /// use isoform::stream::Writer;
    /// use isoform::{Encoder, Record, Registry};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Point { x: f64 }
    /// let known = Registry::new(); // that of a program that answers at this address
    /// let mut writer = Writer::new(Vec::new());
    /// writer.set_registrar(move |format| known.register(format));
    /// writer.set_locators(Locators::new(["http://sim7:7460"])?);
    /// writer.write(&Encoder::new().encode(&Point { x: 0.5 })?)?;
    /// assert_eq!(writer.into_inner().len(), 48 + 48);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn set_locators(&mut self, locators: Locators) {
        self.locators = Some(locators);
    }

    /// Seals every message from now on, or stops it. A seal takes 48 bytes. It lets readers notice damage in a message, and
    /// [resume](crate::stream::Reader::resume) behind it (`spec/message.md`, "Seals").
    pub fn set_sealed(&mut self, is_sealed: bool) {
        self.mark = is_sealed.then(|| self.mark.unwrap_or_else(random_mark));
    }

    /// Seals every message from now on with this mark: that of a sealed stream to which this writer appends.
    pub fn set_mark(&mut self, mark: Mark) {
        self.mark = Some(mark);
    }

    /// Writes a message from an [`Encoder`](crate::Encoder).
    ///
    /// # Errors
    /// [`Code::Io`]; errors of the [registrar](Writer::set_registrar), if there is one.
    pub fn write(&mut self, message: &Message<'_>) -> Result<()> {
        let segments = message.segments().iter().map(|segment| &**segment);
        self.write_message(message.format(), segments, message.body_len())
    }

    /// Writes a message with an existing body, which must follow `spec/message.md`: one that was received, or that a
    /// tool created. This does not verify the body; its readers do.
    ///
    /// # Errors
    /// [`Code::BodyLength`] if it is shorter than a record of the format; [`Code::Io`].
    pub fn write_body(&mut self, format: &Format, body: &[u8]) -> Result<()> {
        admit_body(format, body.len())?;
        let header = Header::new(format.token(), body.len() as u64).to_bytes();
        self.write_message(format, [&header[..], body].into_iter(), body.len())
    }

    /// Writes the messages of a batch, in one call and without a copy.
    ///
    /// ```
    /// use isoform::stream::{Reader, Writer};
    /// # use isoform::{Encoder, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Point { x: f64 }
    /// # let mut first = Writer::new(Vec::new());
    /// # for x in [0.5, 1.5, 2.5] {
    /// #     first.write(&Encoder::new().encode(&Point { x })?)?;
    /// # }
    /// # let bytes = first.into_inner();
    /// // From one stream into another.
    /// let mut reader = Reader::new(&bytes[..]);
    /// let mut writer = Writer::new(Vec::new());
    /// while let Some(batch) = reader.next_batch()? {
    ///     writer.write_batch(&batch)?;
    /// }
    /// assert_eq!(writer.into_inner(), bytes);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn write_batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (header, bytes) = batch.pieces();
        if let Some(mark) = self.mark {
            return self.write_sealed_batch(mark, batch.format(), header, bytes);
        }
        self.write_message(batch.format(), [&header.to_bytes()[..], bytes].into_iter(), HEADER + bytes.len())
    }

    /// Writes the description of a format, unless the stream has it already. A reader then knows the format before its
    /// first message. With a [registrar](Writer::set_registrar), this registers the format instead, if it can.
    ///
    /// # Errors
    /// [`Code::Io`]; errors of the registrar.
    pub fn describe(&mut self, format: &Format) -> Result<()> {
        if self.is_new(format) && !self.registered(format)? {
            let (header, body, padding) = description(format);
            let seal = self.mark.map(|mark| sealed(mark, &[&header, body]));
            self.write_pieces([bytes(&seal), &header, body, padding].into_iter())?;
            self.described(format);
        }
        Ok(())
    }

    /// Flushes `W`.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(|error| io_error(&error))
    }

    /// The output.
    pub fn inner(&self) -> &W {
        &self.inner
    }

    /// The output. Write only complete messages to it directly.
    pub fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Ends the stream, and returns the output.
    pub fn into_inner(self) -> W {
        self.inner
    }

    fn is_new(&mut self, format: &Format) -> bool {
        if self.latest == Some(format.token()) {
            return false;
        }
        if self.described.contains(&format.token()) {
            self.latest = Some(format.token());
            return false;
        }
        true
    }

    /// Registers a format, if that is done instead of describing it, and if somebody can be asked.
    #[cold]
    fn registered(&mut self, format: &Format) -> Result<bool> {
        let Some(register) = &mut self.registrar else { return Ok(false) };
        match register(format) {
            Ok(()) => self.described(format),
            Err(error) if matches!(error.code(), Code::Io | Code::Deadline) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Remembers that a format has been described.
    fn described(&mut self, format: &Format) {
        let (limits, length) = (Limits::default(), format.description().as_bytes().len());
        if self.described.len() >= limits.formats || self.bytes + length > limits.registry {
            self.described.clear();
            self.latest = None;
            self.bytes = 0;
        }
        self.bytes += length;
        self.described.insert(format.token());
    }

    /// Writes header and body, and the description before them if it is new, in one call if there are few pieces.
    fn write_message<'s>(
        &mut self,
        format: &'s Format,
        message: impl Iterator<Item = &'s [u8]>,
        length: usize,
    ) -> Result<()> {
        self.locate()?;
        if let Some(mark) = self.mark {
            let message: Vec<&[u8]> = message.collect();
            let seal = sealed(mark, &message);
            return self.write_sealed(mark, format, once(&seal[..]).chain(message).chain([padding(length)]));
        }
        let message = message.chain([padding(length)]);
        if !self.is_new(format) || self.registered(format)? {
            return self.write_pieces(message);
        }
        let (header, body, padding) = description(format);
        let shorter = |piece| -> &[u8] { piece }; // in lifetime: as long as the header's
        self.write_pieces([&header[..], body, padding].into_iter().chain(message.map(shorter)))?;
        self.described(format);
        Ok(())
    }

    /// Writes sealed messages of a format, and its description before them if it is new, in one call.
    #[cold]
    fn write_sealed<'s>(
        &mut self,
        mark: Mark,
        format: &Format,
        messages: impl Iterator<Item = &'s [u8]>,
    ) -> Result<()> {
        let is_known = !self.is_new(format) || self.registered(format)?;
        if is_known {
            return self.write_pieces(messages);
        }
        let (header, body, padding) = description(format);
        let seal = sealed(mark, &[&header, body]);
        let messages = messages.map(|piece| -> &[u8] { piece });
        self.write_pieces([&seal[..], &header, body, padding].into_iter().chain(messages))?;
        self.described(format);
        Ok(())
    }

    /// Writes messages with this header, which lie one behind another, with a seal for each.
    #[cold]
    fn write_sealed_batch(&mut self, mark: Mark, format: &Format, header: Header, bytes: &[u8]) -> Result<()> {
        self.locate()?;
        let (length, head) = (header.length as usize, header.to_bytes());
        let bodies = bytes.chunks((HEADER + length).next_multiple_of(ALIGNMENT)).map(|chunk| &chunk[..length]);
        let seals: Vec<_> = bodies.clone().map(|body| sealed(mark, &[&head, body])).collect();
        let messages = seals.iter().zip(bodies).flat_map(|(seal, body)| [&seal[..], &head, body, padding(length)]);
        self.write_sealed(mark, format, messages)
    }

    /// Writes the locators, if there are new ones.
    #[inline]
    fn locate(&mut self) -> Result<()> {
        let Some(locators) = &self.locators else { return Ok(()) };
        let message = locators.message();
        let seal = self.mark.map(|mark| sealed(mark, &[&message[..locators.length()]]));
        self.write_pieces([bytes(&seal), &message[..]].into_iter())?;
        self.locators = None;
        Ok(())
    }

    fn write_pieces<'s>(&mut self, pieces: impl Iterator<Item = &'s [u8]>) -> Result<()> {
        if self.broken {
            return Err(Error::new(Code::Io).found("an earlier message was written only in part"));
        }
        self.broken = true; // and remains so if `inner` panics
        let mut partly = false;
        let written = write_pieces(&mut self.inner, pieces, &mut partly);
        self.broken = partly;
        written.map_err(|error| io_error(&error))
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} formats described)", self.described.len())
    }
}

/// The description of a format as a message: header, body and padding.
fn description(format: &Format) -> ([u8; HEADER], &[u8], &'static [u8]) {
    let body = format.description().as_bytes();
    (Header::new(Token::ZERO, body.len() as u64).to_bytes(), body, padding(body.len()))
}

/// The seal message of a message, which begins with its header and comes without padding.
fn sealed(mark: Mark, pieces: &[&[u8]]) -> [u8; Seal::LENGTH] {
    let (mut head, mut there) = ([0; HEADER], 0);
    let mut body = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (of_header, of_body) = piece.split_at(piece.len().min(HEADER - there));
        head[there..there + of_header.len()].copy_from_slice(of_header);
        there += of_header.len();
        body.push(of_body);
    }
    let header = Header::parse(&head).expect("a writer writes headers");
    mark.seal(&header, body).message()
}

fn bytes(seal: &Option<[u8; Seal::LENGTH]>) -> &[u8] {
    seal.as_ref().map_or(&[], |seal| &seal[..])
}

/// A mark that nobody knows before it is written: the standard library asks the system for random keys of its hash tables.
fn random_mark() -> Mark {
    Mark::from_bytes(RandomState::new().hash_one(0u8).to_le_bytes())
}

/// The zeros after a body of this length.
fn padding(length: usize) -> &'static [u8] {
    &[0; ALIGNMENT][..length.wrapping_neg() % ALIGNMENT]
}
