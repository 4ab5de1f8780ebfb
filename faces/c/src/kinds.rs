//! Several kinds of records. Section "Several kinds of records" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::format::Format;
use crate::message::{Message, incoming};
use crate::pointer::{Held, Opened, Out, close, given, open, put};
use crate::rules::{self, Rules};
#[cfg(any(unix, windows))]
use crate::sink::{Function, Handle};
use crate::stream::Reader;
use isoform::core::plan::Kind;
use isoform::memory::KindDecoder;
use isoform::{Code, Error, Result};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// `iso_kinds`
pub struct Kinds {
    decoder: KindDecoder,
    /// The functions for records of the kinds.
    #[cfg(any(unix, windows))]
    pub(crate) functions: Vec<Option<Function>>,
    /// The last explanation.
    explained: CString,
}

#[cfg(any(unix, windows))]
impl Kinds {
    /// A decoder of its own for these kinds, of which there is at least one.
    pub(crate) fn decoder(&self, others: Others) -> Result<KindDecoder> {
        let decoder = match self.decoder.kinds() {
            [] => return Err(Error::new(Code::WrongType).at("kinds").expected("at least one kind").found("none")),
            kinds => KindDecoder::new(kinds.to_vec())?,
        };
        Ok(if others == Others::Refuse { decoder } else { decoder.with_others() })
    }
}

impl Kinds {
    /// The place of the kind that a message of this format becomes.
    pub(crate) fn kind_of(&mut self, format: &isoform::Format) -> Result<usize> {
        self.decoder.kind_of(format)
    }

    /// Refuses a list that has not one item for each kind.
    pub(crate) fn expect_count(&self, count: usize, of: &str) -> Result<()> {
        let kinds = self.decoder.kinds().len();
        match count == kinds {
            true => Ok(()),
            false => {
                let error = Error::new(Code::WrongType).at(of).expected(format_args!("one for each of {kinds} kinds"));
                Err(error.found(count))
            }
        }
    }
}

/// What becomes of records that fit none of the kinds.
#[cfg(any(unix, windows))]
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Others {
    Refuse,
    Messages,
    Count,
}

#[cfg(any(unix, windows))]
impl Others {
    /// The choice for a number of `iso_others`.
    pub(crate) fn numbered(number: c_int) -> Result<Others> {
        match number {
            0 => Ok(Others::Refuse),
            1 => Ok(Others::Messages),
            2 => Ok(Others::Count),
            found => {
                Err(Error::new(Code::WrongType).at("others").expected("a value of the enum iso_others").found(found))
            }
        }
    }
}

/// The number of a kind, for C.
pub(crate) fn number(kind: usize) -> c_int {
    c_int::try_from(kind).unwrap_or(c_int::MAX)
}

/// `iso_kinds_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_open(kinds: Opened<'_, Kinds>) -> Status {
    let none = || {
        Ok(Kinds {
            decoder: KindDecoder::new(Vec::new())?,
            #[cfg(any(unix, windows))]
            functions: Vec::new(),
            explained: CString::default(),
        })
    };
    call(|| open(kinds, "kinds", none))
}

/// `iso_kinds_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_close(kinds: Held<'_, Kinds>) {
    answer((), || close(kinds));
}

/// `iso_kinds_add`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_add(
    kinds: Option<&mut Kinds>,
    format: Option<&Format>,
    rules: Option<&Rules>,
    faults: c_int,
) -> Status {
    call(|| {
        let (kinds, of) = (given(kinds, "kinds")?, given(format, "format")?);
        let kind = Kind { format: of.format.clone(), rules: rules::of(rules, of)?, faults: rules::choice(faults)? };
        kinds.decoder = KindDecoder::new([kinds.decoder.kinds(), &[kind]].concat())?;
        #[cfg(any(unix, windows))]
        kinds.functions.push(None);
        Ok(())
    })
}

/// `iso_kinds_handle`
#[cfg(any(unix, windows))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_kinds_handle(
    kinds: Option<&mut Kinds>,
    kind: c_int,
    function: Option<Handle>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let functions = &mut given(kinds, "kinds")?.functions;
        let count = functions.len();
        let none = || {
            let error =
                Error::new(Code::WrongType).at("kind").expected(format_args!("the number of one of {count} kinds"));
            error.found(kind)
        };
        let place = usize::try_from(kind).ok().and_then(|kind| functions.get_mut(kind)).ok_or_else(none)?;
        *place = Some(Function::new(given(function, "handle")?, context));
        Ok(())
    })
}

/// `iso_kinds_decode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_kinds_decode(
    kinds: Option<&mut Kinds>,
    message: Option<&Message>,
    kind: Out<'_, c_int>,
    record: Out<'_, *const c_void>,
) -> Status {
    call(|| {
        let (place, to) = (given(kind, "kind")?, given(record, "record")?);
        place.write(-1);
        to.write(ptr::null());
        // SAFETY: (1, 3) of the crate.
        let message = unsafe { incoming(message)? };
        let (which, made) = given(kinds, "kinds")?.decoder.decode(&message)?;
        place.write(number(which));
        put(Some(to), "record", made.as_ptr().cast())
    })
}

/// `iso_kinds_of`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_of(kinds: Option<&mut Kinds>, format: Option<&Format>, kind: Out<'_, c_int>) -> Status {
    call(|| {
        let place = given(kind, "kind")?;
        place.write(-1);
        let which = given(kinds, "kinds")?.decoder.kind_of(&given(format, "format")?.format)?;
        place.write(number(which));
        Ok(())
    })
}

/// `iso_kinds_read`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_read(
    kinds: Option<&mut Kinds>,
    reader: Option<&mut Reader>,
    kind: Out<'_, c_int>,
    records: Out<'_, *const c_void>,
    count: Out<'_, usize>,
) -> Status {
    call(|| {
        let (place, to, count) = (given(kind, "kind")?, given(records, "records")?, given(count, "count")?);
        place.write(-1);
        to.write(ptr::null());
        count.write(0);
        let (decoder, reader) = (&mut given(kinds, "kinds")?.decoder, &mut given(reader, "reader")?.reader);
        let Some((_, format)) = reader.peek()? else { return Ok(()) };
        let (which, made) = match decoder.flat_kind_of(&format) {
            Some(_) => {
                let Some(batch) = reader.next_batch()? else { return Ok(()) };
                let made = decoder.decode_many(&batch)?;
                count.write(batch.len());
                made
            }
            None => {
                let Some(message) = reader.next()? else { return Ok(()) };
                let made = decoder.decode(&message)?;
                count.write(1);
                made
            }
        };
        place.write(number(which));
        put(Some(to), "records", made.as_ptr().cast())
    })
}

/// `iso_kinds_explain`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_explain(
    kinds: Option<&mut Kinds>,
    format: Option<&Format>,
    text: Out<'_, *const c_char>,
) -> Status {
    call(|| {
        let place = given(text, "text")?;
        place.write(ptr::null());
        let kinds = given(kinds, "kinds")?;
        let choice = kinds.decoder.explain(&given(format, "format")?.format);
        kinds.explained = c_text(&choice.to_string());
        put(Some(place), "text", kinds.explained.as_ptr())
    })
}

/// `iso_kinds_others`
#[unsafe(no_mangle)]
pub extern "C" fn iso_kinds_others(kinds: Option<&Kinds>) -> u64 {
    kinds.map_or(0, |kinds| kinds.decoder.others())
}
