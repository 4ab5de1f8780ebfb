//! Encodes structs as messages. Section "Single messages" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, Out, close, given, open, put, record};
use isoform::memory;
use std::ffi::c_void;

/// `iso_encoder`
pub struct Encoder {
    encoder: memory::Encoder,
    buffers: Vec<Buffer>,
    /// A message in one piece.
    whole: Vec<u8>,
}

/// `iso_buffer`
#[repr(C)]
pub struct Buffer {
    bytes: *const c_void,
    length: usize,
}

// SAFETY: it is only told to C. What it names belongs to the encoder, which goes along, or to the record.
unsafe impl Send for Buffer {}

/// `iso_encoder_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_encoder_open(format: Option<&Format>, encoder: Opened<'_, Encoder>) -> Status {
    call(|| {
        open(encoder, "encoder", || {
            let encoder = memory::Encoder::new(&given(format, "format")?.format)?;
            Ok(Encoder { encoder, buffers: Vec::new(), whole: Vec::new() })
        })
    })
}

/// `iso_encoder_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_encoder_close(encoder: Held<'_, Encoder>) {
    answer((), || close(encoder));
}

/// `iso_encode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_encode(
    encoder: Option<&mut Encoder>,
    data: *const c_void,
    buffers: Out<'_, *const Buffer>,
    count: Out<'_, usize>,
) -> Status {
    call(|| {
        let Encoder { encoder, buffers: list, .. } = given(encoder, "encoder")?;
        // SAFETY: (1) of the crate: a record of the encoder's format.
        let message = unsafe { encoder.encode(record(data, "record")?)? };
        list.clear();
        list.extend(message.segments().iter().map(|part| Buffer { bytes: part.as_ptr().cast(), length: part.len() }));
        put(buffers, "buffers", list.as_ptr())?;
        put(count, "count", list.len())
    })
}

/// `iso_encode_whole`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_encode_whole(
    encoder: Option<&mut Encoder>,
    data: *const c_void,
    bytes: Out<'_, *const c_void>,
    length: Out<'_, usize>,
) -> Status {
    call(|| {
        let Encoder { encoder, whole, .. } = given(encoder, "encoder")?;
        // SAFETY: (1) of the crate: a record of the encoder's format.
        let message = unsafe { encoder.encode(record(data, "record")?)? };
        whole.clear();
        message.segments().iter().for_each(|part| whole.extend_from_slice(part));
        put(bytes, "bytes", whole.as_ptr().cast())?;
        put(length, "length", whole.len())
    })
}
