//! Decodes messages of several kinds of records, whose formats are known only at run time.

use super::Decoder;
use crate::form::{Body, Form};
use crate::message::{Batch, Incoming};
use isoform_core::plan::{Choice, Kind, Kinds};
use isoform_core::{Format, Result};
use std::fmt;

/// Decodes each message as the kind of record that fits; see [`isoform::KindDecoder`](crate::KindDecoder).
pub struct KindDecoder {
    kinds: Kinds,
    decoders: Vec<Decoder>,
    /// Whether a sink hands over the messages that fit no kind.
    lends_others: bool,
}

/// A message of several kinds, decoded.
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'m> {
    /// The place of its kind in the list, and the record.
    Record(usize, &'m [u8]),
    /// It fits no kind.
    Other(Incoming<'m>),
}

impl KindDecoder {
    /// Creates a decoder for these kinds.
    ///
    /// # Errors
    /// As [`Decoder::new`].
    pub fn new(kinds: Vec<Kind>) -> Result<KindDecoder> {
        let of = |kind: &Kind| Ok(Decoder::new(&kind.format, kind.rules.clone())?.with_faults(kind.faults));
        let decoders = kinds.iter().map(of).collect::<Result<_>>()?;
        Ok(KindDecoder { kinds: Kinds::new(kinds), decoders, lends_others: false })
    }

    /// The same, for a sink that returns messages which fit no kind as [`Chosen::Other`]. Otherwise they are errors.
    pub fn with_others(mut self) -> KindDecoder {
        self.lends_others = true;
        self
    }

    /// Whether a sink with this decoder returns messages that fit no kind.
    pub fn lends_others(&self) -> bool {
        self.lends_others
    }

    /// Decodes a message, as [`Decoder::decode`] does. Returns the place of its kind in the list, and the record.
    ///
    /// # Errors
    /// [`NoConversion`](isoform_core::Code::NoConversion) at the name of the sender's format if it fits no kind, with the
    /// reason for each. Otherwise as [`Decoder::decode`].
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<(usize, &'m [u8])> {
        let kind = self.kinds.kind_of(message.format())?;
        Ok((kind, self.decoders[kind].decode(message)?))
    }

    /// As [`Decoder::decode_in_place`], for the kind that fits.
    ///
    /// # Errors
    /// As [`decode`](KindDecoder::decode).
    pub fn decode_in_place<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<(usize, &'m [u8])> {
        let kind = self.kinds.kind_of(format)?;
        Ok((kind, self.decoders[kind].decode_in_place(format, body)?))
    }

    /// Decodes a body as the kind that fits.
    #[inline]
    pub(crate) fn decode_body<'m>(&'m mut self, body: Body<'m>) -> Result<Chosen<'m>> {
        let kind = match self.kinds.kind_of(body.format()) {
            Ok(kind) => kind,
            Err(_) if self.lends_others => return Ok(Chosen::Other(body.message())),
            Err(error) => return Err(error),
        };
        let record = <Decoder as Form>::decode(&mut self.decoders[kind], body)?;
        Ok(Chosen::Record(kind, record))
    }

    /// The kind that a message of this format becomes, as a place in the list.
    ///
    /// # Errors
    /// [`NoConversion`](isoform_core::Code::NoConversion), as [`decode`](KindDecoder::decode); [`others`](KindDecoder::others)
    /// counts it.
    pub fn kind_of(&mut self, format: &Format) -> Result<usize> {
        self.kinds.kind_of(format)
    }

    /// The same if records of that kind have no pointers, so that many of them can lie side by side. Counts nothing.
    pub fn flat_kind_of(&mut self, format: &Format) -> Option<usize> {
        let kind = self.kinds.explain(format).kind().ok()?;
        (!self.kinds.list()[kind].format.structure().has_slots()).then_some(kind)
    }

    /// Decodes a batch, as [`Decoder::decode_many`] does. Returns the place of its kind in the list, and the records side by
    /// side.
    ///
    /// # Errors
    /// As [`decode`](KindDecoder::decode) and [`Decoder::decode_many`].
    pub fn decode_many<'m>(&'m mut self, batch: &Batch<'_>) -> Result<(usize, &'m [u8])> {
        let kind = self.kinds.kind_of(batch.format())?;
        Ok((kind, self.decoders[kind].decode_many(batch)?))
    }

    /// The choice for a format, with the reason. As text, it has a line for each kind.
    pub fn explain(&mut self, format: &Format) -> &Choice {
        self.kinds.explain(format)
    }

    /// The kinds.
    pub fn kinds(&self) -> &[Kind] {
        self.kinds.list()
    }

    /// The number of messages so far that fitted no kind.
    pub fn others(&self) -> u64 {
        self.kinds.others()
    }
}

impl fmt::Debug for KindDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KindDecoder({:?})", self.kinds)
    }
}
