//! Decodes messages into structs. Section "Decoders" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::format::Format;
use crate::message::{Message, incoming};
use crate::pointer::{Held, Opened, Out, bytes_mut, close, given, open, put, record_mut};
use crate::rules::{self, Rules};
use isoform::core::plan::Explanation;
use isoform::{Aligned, memory};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// `iso_decoder`
pub struct Decoder {
    pub(crate) decoder: memory::Decoder,
    /// The last explanation.
    explained: CString,
}

/// `iso_blocks`
#[derive(Default)]
pub struct Blocks(Aligned);

/// `iso_decoder_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_decoder_open(
    format: Option<&Format>,
    rules: Option<&Rules>,
    faults: c_int,
    decoder: Opened<'_, Decoder>,
) -> Status {
    call(|| {
        open(decoder, "decoder", || {
            let format = given(format, "format")?;
            let decoder = memory::Decoder::new(&format.format, rules::of(rules, format)?)?;
            let decoder = decoder.with_faults(rules::choice(faults)?);
            Ok(Decoder { decoder, explained: CString::default() })
        })
    })
}

/// `iso_decoder_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_decoder_close(decoder: Held<'_, Decoder>) {
    answer((), || close(decoder));
}

/// `iso_decoder_copied`
#[unsafe(no_mangle)]
pub extern "C" fn iso_decoder_copied(decoder: Option<&Decoder>) -> u64 {
    decoder.map_or(0, |decoder| decoder.decoder.copied())
}

/// `iso_decoder_explain`
#[unsafe(no_mangle)]
pub extern "C" fn iso_decoder_explain(
    decoder: Option<&mut Decoder>,
    sender: Option<&Format>,
    text: Out<'_, *const c_char>,
) -> Status {
    explain(decoder, sender, text, memory::Decoder::explain)
}

fn explain(
    decoder: Option<&mut Decoder>,
    sender: Option<&Format>,
    text: Out<'_, *const c_char>,
    explain: impl FnOnce(&memory::Decoder, &isoform::Format) -> Explanation,
) -> Status {
    call(|| {
        let place = given(text, "text")?;
        place.write(ptr::null());
        let (decoder, sender) = (given(decoder, "decoder")?, given(sender, "sender")?);
        decoder.explained = c_text(&explain(&decoder.decoder, &sender.format).to_string());
        put(Some(place), "text", decoder.explained.as_ptr())
    })
}

/// `iso_decoder_explain_timed`
#[unsafe(no_mangle)]
pub extern "C" fn iso_decoder_explain_timed(
    decoder: Option<&mut Decoder>,
    sender: Option<&Format>,
    text: Out<'_, *const c_char>,
) -> Status {
    explain(decoder, sender, text, |decoder, sender| decoder.explain_timed(sender))
}

/// `iso_decode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_decode(
    decoder: Option<&mut Decoder>,
    message: Option<&Message>,
    record: Out<'_, *const c_void>,
) -> Status {
    call(|| {
        let place = given(record, "record")?;
        place.write(ptr::null());
        // SAFETY: (1, 3) of the crate.
        let message = unsafe { incoming(message)? };
        let made = given(decoder, "decoder")?.decoder.decode(&message)?;
        put(Some(place), "record", made.as_ptr().cast())
    })
}

/// `iso_decode_in_place`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_decode_in_place(
    decoder: Option<&mut Decoder>,
    format: Option<&Format>,
    body: *mut c_void,
    length: usize,
    record: Out<'_, *const c_void>,
) -> Status {
    call(|| {
        let place = given(record, "record")?;
        place.write(ptr::null());
        // SAFETY: (1) of the crate.
        let body = unsafe { bytes_mut(body, length, "body")? };
        let made = given(decoder, "decoder")?.decoder.decode_in_place(&given(format, "format")?.format, body)?;
        put(Some(place), "record", made.as_ptr().cast())
    })
}

/// `iso_decode_into`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_decode_into(
    decoder: Option<&mut Decoder>,
    message: Option<&Message>,
    record: *mut c_void,
    blocks: Held<'_, Blocks>,
) -> Status {
    call(|| {
        let decoder = &mut given(decoder, "decoder")?.decoder;
        let record = record_mut(record, "record")?;
        let mut none = Aligned::new();
        let blocks = match blocks {
            Some(blocks) => &mut blocks.get_or_insert_default().0,
            None if decoder.format().structure().has_slots() => return given(None, "blocks"),
            None => &mut none,
        };
        // SAFETY: (1, 3) of the crate: a message that is lent, and a struct of the decoder's format. Whatever C has left in that
        // is for this process bytes of some value.
        unsafe { decoder.decode_into(&incoming(message)?, record, blocks) }
    })
}

/// `iso_blocks_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_blocks_close(blocks: Held<'_, Blocks>) {
    answer((), || close(blocks));
}
