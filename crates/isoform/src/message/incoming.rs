//! A message that came: its header, its format, and its body as it is.

use crate::Registry;
use isoform_core::message::{Header, Split, split};
use isoform_core::{Body, Code, Error, Format, Result, Token, View};
use std::borrow::Cow;

/// A message that came, whose body has not been checked yet. A [`Reader`](crate::stream::Reader) lends them; one that
/// came in some other way is [parsed](Incoming::parse).
#[derive(Clone, Debug)]
pub struct Incoming<'a> {
    header: Header,
    format: Cow<'a, Format>,
    body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// A message of this header and body. The format is that of the header's token.
    pub fn new(header: Header, format: &'a Format, body: &'a [u8]) -> Incoming<'a> {
        Incoming { header, format: Cow::Borrowed(format), body }
    }

    /// The message that `bytes` begin with, whose format `registry` knows or finds.
    ///
    /// # Errors
    /// [`Code::NotAMessage`], [`Code::Version`], [`Code::Flags`] or [`Code::Cut`] if there is no whole message;
    /// [`Error::unknown_format`] and the registry's other errors. A description is no record: [`Code::WrongType`].
    pub fn parse(bytes: &'a [u8], registry: &Registry) -> Result<Incoming<'a>> {
        match split(bytes)? {
            Split::Partial { needed, .. } => {
                Err(Error::new(Code::Cut).expected(format_args!("{needed} bytes")).came(bytes.len()))
            }
            Split::Whole { header, .. } if header.is_description() => {
                Err(Error::new(Code::WrongType).expected("a record").came("a description"))
            }
            Split::Whole { header, body, .. } => {
                Ok(Incoming { header, format: Cow::Owned(registry.lookup(header.token)?), body })
            }
        }
    }

    /// What stood before the body.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The name of the format.
    pub fn token(&self) -> Token {
        self.header.token
    }

    /// The format of the body.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The bytes that came.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Checks the body against its format.
    ///
    /// # Errors
    /// As [`Format::verify`].
    pub fn verify(&self) -> Result<Body<'_>> {
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
    /// let registry = Registry::new();
    /// registry.register(State::format())?;
    /// let message = Incoming::parse(&bytes, &registry)?;
    /// let view = message.view()?;
    /// assert_eq!((view.i64("step")?, view.f64("rho[1]")?), (5, 1.5));
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Format::verify`].
    pub fn view(&self) -> Result<View<'_>> {
        self.verify().map(View::new)
    }
}
