//! Forms: what a receiver makes of the messages that come.
//!
//! | file | the form | a record |
//! |---|---|---|
//! | `typed` | a type that derives [`Record`](macro@crate::Record) | is borrowed as that type |
//! | `one_of` | an enumeration that derives [`Kinds`](macro@crate::Kinds), or its decoder | becomes the variant that fits |
//! | `memory` | a [`memory::Decoder`](crate::memory::Decoder), or a [`memory::KindDecoder`](crate::memory::KindDecoder) | lies in memory of this machine, as bytes |
//! | `message` | [`Messages`](crate::Messages) | is the message, in the format of its sender |
//!
//! Who receives is generic over them: the sink of a channel is a `Sink<Depth>` or a `Sink<Messages>`. Other forms can be added
//! in other crates.

mod memory;
pub(crate) mod message;
pub(crate) mod one_of;
mod typed;

pub use typed::Typed;

use crate::message::{Header, Incoming, Shared};
use isoform_core::plan::{Kind, Plans};
use isoform_core::{Code, Error, Faults, Format, Missing, Result, Rules};
use std::fmt;

/// What a receiver makes of each message.
///
/// Records have forms of their own: whoever receives a `Depth` names the type. Forms for which something must be known at run
/// time are their own decoders.
///
/// ```
/// use isoform::form::{Body, Form};
/// use isoform::{Encoder, Incoming, Record, Registry};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Depth {
///     depth: f64,
/// }
/// let bytes = Encoder::new().encode(&Depth { depth: 4.5 })?.to_vec();
/// let mut registry = Registry::new();
/// registry.register(Depth::format())?;
/// let message = Incoming::parse(&bytes, &mut registry)?;
/// let mut decoder = <Depth as Form>::Decoder::default();
/// assert_eq!(<Depth as Form>::decode(&mut decoder, Body::Lent(message))?.depth, 4.5);
/// # Ok::<(), isoform::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no form in which records are received",
    note = "derive `isoform::Record` for a struct, or `isoform::Kinds` for an enumeration of several records"
)]
pub trait Form {
    /// What decodes messages to it.
    type Decoder: fmt::Debug;

    /// A record, which may borrow from the body and from the decoder.
    type Of<'m>;

    /// The decoder, with another treatment of numbers that do not fit and of fields that do not come, where these are given.
    fn configure(decoder: Self::Decoder, faults: Option<Faults>, missing: Option<Missing>) -> Self::Decoder;

    /// The messages that the decoder takes.
    fn accepts(decoder: &Self::Decoder) -> Accepts;

    /// Uses plans that are made for others as well, if they are for this decoder.
    fn share_plans(_: &mut Self::Decoder, _: &Plans) {}

    /// Makes a record of a body.
    ///
    /// # Errors
    /// Those of the decoder.
    fn decode<'m>(decoder: &'m mut Self::Decoder, body: Body<'m>) -> Result<Self::Of<'m>>;

    /// Whether a body of this process was encoded from such a record, so that it can be [taken](Form::take) without decoding.
    fn can_take(_: &Shared) -> bool {
        false
    }

    /// The record from which a body of this process was encoded.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it was encoded from another one.
    fn take<'m>(_: &'m mut Self::Decoder, shared: &'m Shared) -> Result<Self::Of<'m>> {
        Err(Error::new(Code::WrongType).at(shared.format().name()).expected("a record of this form"))
    }

    /// The number of bytes of bodies that the decoder has copied or converted.
    fn copied(_: &Self::Decoder) -> u64 {
        0
    }
}

/// What a sender makes messages of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no form in which records are sent",
    note = "derive `isoform::Record` for a struct"
)]
pub trait Outgoing {
    /// What encodes it.
    type Encoder: fmt::Debug;

    /// The format of its messages, if all have the same.
    fn format(encoder: &Self::Encoder) -> Option<&Format>;
}

/// The messages that a receiver takes, so that their senders can be asked for them, and refused before they send any.
#[derive(Clone, Debug, Default)]
pub struct Accepts {
    /// The format that all must be able to become.
    pub format: Option<Format>,
    /// The rules for that format.
    pub rules: Rules,
    /// What becomes of numbers that do not fit that format.
    pub faults: Faults,
    /// The formats of which all must be able to become one.
    pub kinds: Vec<Kind>,
    /// Whether messages that fit no kind are taken as well.
    pub others: bool,
    /// Whether senders may leave out fields that none of these formats has.
    pub narrow: bool,
}

/// A received body.
#[derive(Debug)]
pub enum Body<'m> {
    /// It may be changed.
    Own(&'m Format, &'m mut [u8]),
    /// It may not be changed.
    Lent(Incoming<'m>),
}

impl<'m> Body<'m> {
    /// The format of its sender.
    #[inline]
    pub fn format(&self) -> &'m Format {
        match self {
            Body::Own(format, _) => format,
            Body::Lent(message) => message.format(),
        }
    }

    /// The same as a message.
    #[inline]
    pub fn message(self) -> Incoming<'m> {
        match self {
            Body::Own(format, body) => Incoming::new(Header::new(format.token(), body.len() as u64), format, body),
            Body::Lent(message) => message,
        }
    }
}
