//! Writing a stream.

use super::io_error;
use isoform_core::message::{ALIGNMENT, HEADER, Header};
use isoform_core::{Code, Error, Format, Result, Token};
use std::collections::HashSet;
use std::io::{ErrorKind, IoSlice, Write};

/// After so many formats a writer describes them anew, so that a reader that keeps only the
/// [latest so many](crate::registry::LEARNED_FORMATS) knows each one when its messages come.
const DESCRIBED_FORMATS: usize = crate::registry::LEARNED_FORMATS;

/// Writes messages, each format's description before its first message.
///
/// A message goes to `W` in one call, without being copied together: give a file or a socket as it is, and a
/// [`BufWriter`](std::io::BufWriter) only if there are many small messages.
pub struct Writer<W> {
    inner: W,
    described: HashSet<Token>,
    /// A message was written in part: what would follow could not be read.
    broken: bool,
}

impl<W: Write> Writer<W> {
    /// Writes a stream to `inner`, from where it is.
    pub fn new(inner: W) -> Writer<W> {
        Writer { inner, described: HashSet::new(), broken: false }
    }

    /// Writes a message that is there already: the whole body, as [`spec/message.md`] says. What it holds is not
    /// checked here, but by whoever reads it.
    ///
    /// # Errors
    /// [`Code::BodyLength`] if it is shorter than a record of the format; [`Code::Io`].
    ///
    /// [`spec/message.md`]: https://github.com/isoform/isoform/blob/main/spec/message.md
    pub fn write_body(&mut self, format: &Format, body: &[u8]) -> Result<()> {
        self.write_segments(format, &[body])
    }

    /// Writes a message whose body is in several pieces.
    ///
    /// # Errors
    /// As [`Writer::write_body`].
    pub fn write_segments(&mut self, format: &Format, body: &[&[u8]]) -> Result<()> {
        let length: usize = body.iter().map(|segment| segment.len()).sum();
        if length < format.size() {
            let error = Error::new(Code::BodyLength).at(format.name());
            return Err(error.expected(format_args!("at least {} bytes", format.size())).came(length));
        }
        let header = Header::new(format.token(), length as u64).to_bytes();
        let new = self.is_new(format);
        let description = new.then(|| description(format));
        let mut segments = Vec::with_capacity(body.len() + 5);
        if let Some((header, body, padding)) = &description {
            segments.extend([IoSlice::new(header), IoSlice::new(body), IoSlice::new(padding)]);
        }
        segments.push(IoSlice::new(&header));
        segments.extend(body.iter().map(|segment| IoSlice::new(segment)));
        segments.push(IoSlice::new(padding(length)));
        self.write_all(&mut segments)?;
        if new {
            self.described.insert(format.token());
        }
        Ok(())
    }

    /// Writes the description of a format if it was not written before, so that a reader knows the format before
    /// there is a message of it.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn describe(&mut self, format: &Format) -> Result<()> {
        if self.is_new(format) {
            let (header, body, padding) = description(format);
            self.write_all(&mut [IoSlice::new(&header), IoSlice::new(body), IoSlice::new(padding)])?;
            self.described.insert(format.token());
        }
        Ok(())
    }

    /// Lets `W` pass on what it has buffered.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(|error| io_error(&error))
    }

    /// What is written to.
    pub fn inner(&self) -> &W {
        &self.inner
    }

    /// What is written to. Only whole messages may be written past the writer.
    pub fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Ends the stream, and gives back what was written to.
    pub fn into_inner(self) -> W {
        self.inner
    }

    fn is_new(&mut self, format: &Format) -> bool {
        if self.described.contains(&format.token()) {
            return false;
        }
        if self.described.len() >= DESCRIBED_FORMATS {
            self.described.clear();
        }
        true
    }

    fn write_all(&mut self, mut segments: &mut [IoSlice<'_>]) -> Result<()> {
        if self.broken {
            return Err(Error::new(Code::Io).came("a message before was written only in part"));
        }
        let mut written = false;
        IoSlice::advance_slices(&mut segments, 0); // drops empty ones in front
        while !segments.is_empty() {
            match self.inner.write_vectored(segments) {
                Ok(0) => return Err(self.failed(written, &ErrorKind::WriteZero.into())),
                Ok(length) => IoSlice::advance_slices(&mut segments, length),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(written, &error)),
            }
            written = true;
        }
        Ok(())
    }

    fn failed(&mut self, written: bool, error: &std::io::Error) -> Error {
        self.broken = written;
        io_error(error)
    }
}

/// A format's description as a message: header, body and padding.
fn description(format: &Format) -> ([u8; HEADER], &[u8], &'static [u8]) {
    let body = format.description().as_bytes();
    (Header::new(Token::ZERO, body.len() as u64).to_bytes(), body, padding(body.len()))
}

/// The zeros behind a body of this length.
fn padding(length: usize) -> &'static [u8] {
    &[0; ALIGNMENT][..length.wrapping_neg() % ALIGNMENT]
}
