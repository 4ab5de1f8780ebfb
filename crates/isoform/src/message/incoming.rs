//! A message that came: its header, its format, and its body as it is.

use crate::Registry;
use isoform_core::message::{Header, Split, split};
use isoform_core::{Body, Code, Error, Format, Result, Token, View};

/// A message that came, whose body has not been checked yet. A [`Reader`](crate::stream::Reader) lends them; one that
/// came in some other way is [parsed](Incoming::parse).
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    header: Header,
    format: &'a Format,
    body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// A message of this header and body. The format is that of the header's token.
    #[inline]
    pub fn new(header: Header, format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
        Incoming { header, format, body }
    }

    /// The message that `bytes` begin with, whose format `registry` knows or finds.
    ///
    /// # Errors
    /// [`Code::NotAMessage`], [`Code::Version`], [`Code::Flags`] or [`Code::Cut`] if there is no whole message;
    /// [`Code::MessageSize`] if it is beyond the registry's limit; [`Error::unknown_format`] and the registry's other
    /// errors. A description is no record: [`Code::WrongType`].
    #[inline(always)]
    pub fn parse(bytes: &'a [u8], registry: &'a mut Registry) -> Result<Incoming<'a>> {
        let Split::Whole { header, body, .. } = split(bytes)? else { return Err(no_record(bytes)) };
        if header.is_description() {
            return Err(no_record(bytes));
        }
        registry.limits().admit_message(header.length)?;
        Ok(Incoming { header, format: registry.lookup(header.token)?, body })
    }

    /// What stood before the body.
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

    /// The bytes that came.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Checks the body against its format.
    ///
    /// # Errors
    /// As [`Format::verify`].
    pub fn verify(&self) -> Result<Body<'a>> {
        self.format.verify(self.body)
    }

    /// Checks the body, and gives access to its fields by name or path, without converting it.
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
            Error::new(Code::Cut).expected(format_args!("{needed} bytes")).came(bytes.len())
        }
        Ok(Split::Whole { .. }) => Error::new(Code::WrongType).expected("a record").came("a description"),
    }
}
