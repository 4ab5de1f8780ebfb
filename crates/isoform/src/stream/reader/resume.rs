//! Continues behind damage, at the next sealed message (`spec/message.md`, "Seals").

use super::{Reader, State};
use isoform_core::message::{HEADER, Header, Mark, Seal, Split, split};
use isoform_core::{Code, Error, Result, Token};
use std::io::Read;

/// A reader that resumes may hash this many bytes in vain, and this many more for each byte that it passes over.
const FREE: u64 = 1 << 20;
const HASHED_PER_BYTE: u64 = 16;

/// Bytes of a stream that a reader passed over, since they were damaged. Messages may have been in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The position of the first of these bytes, counted from the beginning of the stream.
    pub from: u64,
    /// The position behind the last of them.
    pub to: u64,
}

/// Where the beginning of a message may be.
enum Candidate {
    Here,
    NotHere,
    /// More bytes have to arrive.
    Partial,
}

impl<R: Read> Reader<R> {
    /// Continues behind damage: passes over all bytes up to the next message that is sealed and whole, which is the next one that
    /// the reader returns. Returns the bytes that are missing; or `None` if no such message has arrived, or if there is no damage.
    ///
    /// Call this after [`Code::Damaged`], [`Code::NotAMessage`], [`Code::Version`] or [`Code::Flags`]; also after [`Code::Cut`], if
    /// the stream does not just go on later. [`Writer::set_sealed`](crate::stream::Writer::set_sealed) writes streams that can be
    /// resumed.
    ///
    /// ```
    /// use isoform::stream::{Gap, Reader, Writer};
    /// use isoform::{Code, Decoder, Encoder, Record};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Gauge {
    ///     id: u64,
    /// }
    /// let mut writer = Writer::new(Vec::new());
    /// writer.set_sealed(true);
    /// let mut begins = Vec::new();
    /// for id in 1..=4 {
    ///     begins.push(writer.inner().len() as u64);
    ///     writer.write(&Encoder::new().encode(&Gauge { id })?)?;
    /// }
    /// let mut bytes = writer.into_inner();
    /// bytes[begins[2] as usize + 60] ^= 0x40; // within the third message
    ///
    /// let (mut reader, mut decoder) = (Reader::new(&bytes[..]), Decoder::<Gauge>::new());
    /// let (mut ids, mut gaps) = (Vec::new(), Vec::new());
    /// loop {
    ///     match reader.next() {
    ///         Ok(Some(message)) => ids.push(decoder.decode(&message)?.id),
    ///         Ok(None) => break,
    ///         Err(error) => match reader.resume()? {
    ///             Some(gap) => gaps.push(gap),
    ///             None => return Err(error),
    ///         },
    ///     }
    /// }
    /// assert_eq!(ids, [1, 2, 4]);
    /// assert_eq!(gaps, [Gap { from: begins[2], to: begins[3] }]);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn resume(&mut self) -> Result<Option<Gap>> {
        let Some(mark) = self.mark else { return Ok(None) };
        let Some(from) = self.give_up() else { return Ok(None) };
        let beginning = mark.beginning();
        let (begun, mut hashed) = (self.buffer.position(), 0);
        loop {
            let bytes = self.buffer.bytes();
            let at = find(bytes, &beginning);
            self.buffer.consume(at);
            let passed = self.buffer.position() - begun;
            let may_hash = hashed <= FREE + HASHED_PER_BYTE * passed;
            match self.candidate(mark, may_hash, &mut hashed) {
                Candidate::Here => {
                    self.buffer.align();
                    self.state = State::Between;
                    let to = self.buffer.position();
                    return Ok(Some(Gap { from: from.min(to), to }));
                }
                Candidate::Partial if self.fill(self.buffer.len() + 1)? > 0 => {}
                Candidate::Partial if self.buffer.len() == 0 => return Ok(None),
                // What looks like a message, but is cut by the end, may hide one that is not.
                Candidate::NotHere | Candidate::Partial => drop(self.buffer.consume(1)),
            }
        }
    }

    /// The mark of the seals of this stream: that of the last one whose message was whole, if there was one.
    pub fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// Gives up the message at fault. Returns where it began, with its seal, or `None` if there is no fault.
    fn give_up(&mut self) -> Option<u64> {
        let begin = match self.state {
            State::Between if split(self.buffer.bytes().get(self.padding()..)?).is_ok() => return None,
            State::Sealed(seal) => self.put_back(Some(seal), None),
            State::Body { header, seal, done: 0, .. } => self.put_back(seal, Some(header)),
            _ => self.place(),
        };
        self.state = State::Damaged { begin };
        Some(begin)
    }

    /// Puts back what was consumed of a message at fault, but for its first byte: another message may begin there. Returns where
    /// it began.
    fn put_back(&mut self, seal: Option<Seal>, header: Option<Header>) -> u64 {
        let seal = seal.map(|seal| seal.message());
        let header = header.map(Header::to_bytes);
        let bytes =
            [seal.as_ref().map_or(&[][..], |seal| seal), header.as_ref().map_or(&[][..], |header| header)].concat();
        self.buffer.put_back(&bytes);
        let begin = self.buffer.position();
        self.buffer.consume(1);
        begin
    }

    /// Whether a sealed message that is whole begins at the first byte of the buffer. Adds the bytes that were hashed in vain.
    fn candidate(&self, mark: Mark, may_hash: bool, hashed: &mut u64) -> Candidate {
        let Some((beginning, rest)) = self.buffer.bytes().split_at_checked(Seal::LENGTH) else {
            return Candidate::Partial;
        };
        let Ok(seal) = Seal::parse(&beginning[HEADER..]) else { return Candidate::NotHere };
        if !may_hash || !beginning.starts_with(&mark.beginning()) {
            return Candidate::NotHere;
        }
        let (header, body) = match split(rest) {
            Ok(Split::Whole { header, body, .. }) => (header, Some(body)),
            Ok(Split::Partial { header: Some(header), .. }) => (header, None),
            Ok(Split::Partial { header: None, .. }) => return Candidate::Partial,
            Err(_) => return Candidate::NotHere,
        };
        if seal.check_header(&header).is_err() || self.limits.admit(&header).is_err() || !self.is_known(header.token) {
            return Candidate::NotHere;
        }
        match body.map(|body| seal.check(&header, body)) {
            Some(Ok(())) => Candidate::Here,
            Some(Err(_)) => {
                *hashed += header.length;
                Candidate::NotHere
            }
            None => Candidate::Partial,
        }
    }

    fn is_known(&self, token: Token) -> bool {
        matches!(token, Token::ZERO | Token::LOCATORS) || token != Token::SEAL && self.registry.known(token).is_some()
    }

    /// The error of a damaged message, of whose body all or nothing was consumed.
    #[cold]
    pub(super) fn damaged(&mut self, error: Error, seal: Option<Seal>, header: Header, consumed: u64) -> Error {
        let begin = match consumed {
            0 => self.put_back(seal, Some(header)),
            _ => self.buffer.position() - consumed - before(seal),
        };
        self.state = State::Damaged { begin };
        let found = format!("{}, at byte {begin} of the stream", error.actual());
        error.found(found)
    }
}

/// The bytes in front of a body.
pub(super) fn before(seal: Option<Seal>) -> u64 {
    (HEADER + if seal.is_some() { Seal::LENGTH } else { 0 }) as u64
}

/// The error of a message in a sealed stream that has no seal, and is refused for this reason: nothing vouches for its length.
#[cold]
pub(super) fn unsealed(error: &Error) -> Error {
    Error::new(Code::Damaged)
        .expected("a seal, as in front of the messages before")
        .found(format_args!("none, and {error}"))
}

/// The error of a reader that found damage, and did not resume.
#[cold]
pub(super) fn at_damage(begin: u64) -> Error {
    let error = Error::new(Code::Damaged).expected("a reader that resumes behind the damage");
    error.found(format_args!("one that continues at byte {begin} of the stream"))
}

/// The place of the first occurrence of `wanted`, or of what may become one when more bytes arrive; or the end.
fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == wanted[0]) {
        at += next;
        let here = &bytes[at..bytes.len().min(at + wanted.len())];
        if wanted.starts_with(here) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}
