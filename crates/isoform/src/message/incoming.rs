//! A received message: its header, its format and its body.

use isoform_core::Registry;
use isoform_core::message::{Header, Split, split};
use isoform_core::{Body, Code, Error, Format, Result, Token, View};

/// A received message whose body is not verified yet. A [`Reader`](crate::stream::Reader) returns them;
/// [`parse`](Incoming::parse) creates one from bytes.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    header: Header,
    format: &'a Format,
    body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// A message with this header and body. The format is that of the header's token.
    #[inline]
    pub fn new(header: Header, format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
        Incoming { header, format, body }
    }

    /// Parses the message at the start of `bytes`. `registry` must know or find its format.
    ///
    /// # Errors
    /// [`Code::NotAMessage`], [`Code::Version`], [`Code::Flags`] or [`Code::Cut`] if there is no complete message;
    /// [`Code::MessageSize`] if it exceeds the registry's limit; [`Error::unknown_format`] and the other errors of the
    /// registry; [`Code::WrongType`] for a description, locators or a seal, which are not records.
    #[inline(always)]
    pub fn parse(bytes: &'a [u8], registry: &'a mut Registry) -> Result<Incoming<'a>> {
        let Split::Whole { header, body, .. } = split(bytes)? else { return Err(no_record(bytes)) };
        if header.is_description() || header.is_locators() || header.is_seal() {
            return Err(no_record(bytes));
        }
        registry.limits().admit_message(header.length)?;
        Ok(Incoming { header, format: registry.lookup(header.token)?, body })
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> Header {
        self.header
    }

    /// The name of the format.
    #[inline]
    pub fn token(&self) -> Token {
        self.header.token
    }

    /// The format of the body.
    #[inline]
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The bytes of the body.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Verifies the body against its format.
    ///
    /// # Errors
    /// As [`Format::verify`].
    pub fn verify(&self) -> Result<Body<'a>> {
        self.format.verify(self.body)
    }

    /// Verifies the body, and returns access to its fields by name or path, without converting it.
    ///
    /// ```
    /// use isoform::{Encoder, Incoming, Record, Registry};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct State {
    ///     step: i32,
    ///     rho: [f64; 3],
    /// }
    /// let bytes = Encoder::new().encode(&State { step: 5, rho: [0.5, 1.5, 2.5] })?.to_vec();
    ///
    /// let mut registry = Registry::new();
    /// registry.register(State::format())?;
    /// let message = Incoming::parse(&bytes, &mut registry)?;
    /// let view = message.view()?;
    /// assert_eq!((view.i64("step")?, view.f64("rho[1]")?), (5, 1.5));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Format::verify`].
    pub fn view(&self) -> Result<View<'a>> {
        self.verify().map(View::new)
    }
}

#[cold]
fn no_record(bytes: &[u8]) -> Error {
    match split(bytes) {
        Err(error) => error,
        Ok(Split::Partial { needed, .. }) => {
            Error::new(Code::Cut).expected(format_args!("{needed} bytes")).found(bytes.len())
        }
        Ok(Split::Whole { .. }) => {
            Error::new(Code::WrongType).expected("a record").found("a description, locators or a seal")
        }
    }
}
