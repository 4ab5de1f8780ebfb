//! Records of formats that are known only at run time, in memory.

use super::{Accepts, Body, Form, Outgoing};
use crate::memory::{Chosen, Decoder, Encoder, KindDecoder};
use isoform_core::plan::Plans;
use isoform_core::{Faults, Format, Missing, Result};

impl Form for Decoder {
    type Decoder = Decoder;
    type Of<'m> = &'m [u8];

    fn configure(mut decoder: Decoder, faults: Option<Faults>, missing: Option<Missing>) -> Decoder {
        decoder = faults.into_iter().fold(decoder, Decoder::with_faults);
        missing.into_iter().fold(decoder, Decoder::with_missing)
    }

    fn accepts(decoder: &Decoder) -> Accepts {
        decoder.accepts()
    }

    fn share_plans(decoder: &mut Decoder, plans: &Plans) {
        decoder.share_plans(plans);
    }

    #[inline]
    fn decode<'m>(decoder: &'m mut Decoder, body: Body<'m>) -> Result<&'m [u8]> {
        match body {
            Body::Own(format, body) => decoder.decode_in_place(format, body),
            Body::Lent(message) => decoder.decode(&message),
        }
    }

    fn copied(decoder: &Decoder) -> u64 {
        decoder.copied()
    }
}

/// The treatment of numbers and of fields is that of each kind.
impl Form for KindDecoder {
    type Decoder = KindDecoder;
    type Of<'m> = Chosen<'m>;

    fn configure(decoder: KindDecoder, _: Option<Faults>, _: Option<Missing>) -> KindDecoder {
        decoder
    }

    fn accepts(decoder: &KindDecoder) -> Accepts {
        let (kinds, others) = (decoder.kinds().to_vec(), decoder.lends_others());
        Accepts { kinds, others, narrow: true, ..Accepts::default() }
    }

    #[inline]
    fn decode<'m>(decoder: &'m mut KindDecoder, body: Body<'m>) -> Result<Chosen<'m>> {
        decoder.decode_body(body)
    }
}

impl Outgoing for Encoder {
    type Encoder = Encoder;

    fn format(encoder: &Encoder) -> Option<&Format> {
        Some(encoder.format())
    }
}
