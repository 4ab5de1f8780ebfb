//! Records of a Rust type.

use super::one_of::borrowed;
use super::{Accepts, Body, Form, Outgoing};
use crate::message::Shared;
use crate::native::scratch::Scratch;
use crate::record::Record;
use crate::{Decoder, Encoder, memory};
use isoform_core::plan::Plans;
use isoform_core::{Code, Error, Faults, Format, Missing, Result};
use std::fmt;

/// What decodes messages to records of a type, or takes records of this process as they are.
pub struct Typed<T> {
    decoder: Decoder<T>,
    /// For native forms of records that are taken.
    scratch: Scratch,
}

impl<T: Record<Static = T> + 'static> Form for T {
    type Decoder = Typed<T>;
    type Of<'m> = &'m T::Native<'m>;

    fn configure(typed: Typed<T>, faults: Option<Faults>, missing: Option<Missing>) -> Typed<T> {
        let Typed { mut decoder, scratch } = typed;
        decoder.memory = <memory::Decoder as Form>::configure(decoder.memory, faults, missing);
        Typed { decoder, scratch }
    }

    fn accepts(typed: &Typed<T>) -> Accepts {
        typed.decoder.memory.accepts()
    }

    fn share_plans(typed: &mut Typed<T>, plans: &Plans) {
        typed.decoder.share_plans(plans);
    }

    #[inline(always)]
    fn decode<'m>(typed: &'m mut Typed<T>, body: Body<'m>) -> Result<&'m T::Native<'m>> {
        borrowed(&mut typed.decoder, body)
    }

    fn can_take(shared: &Shared) -> bool {
        shared.record::<T>().is_some()
    }

    fn take<'m>(typed: &'m mut Typed<T>, shared: &'m Shared) -> Result<&'m T::Native<'m>> {
        let wrong = || Error::new(Code::WrongType).at(shared.format().name()).expected("a record of this type");
        typed.scratch = Scratch::default();
        shared.record::<T>().ok_or_else(wrong)?.native(&typed.scratch)
    }

    fn copied(typed: &Typed<T>) -> u64 {
        typed.decoder.copied()
    }
}

impl<T: Record<Static = T>> Outgoing for T {
    type Encoder = Encoder<T>;

    fn format(encoder: &Encoder<T>) -> Option<&Format> {
        Some(encoder.format())
    }
}

impl<T: Record> Default for Typed<T> {
    fn default() -> Typed<T> {
        Typed { decoder: Decoder::new(), scratch: Scratch::default() }
    }
}

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.decoder)
    }
}
