//! Received messages, and their fields by name. Sections "Single messages" and "Fields by name" of the header.

use crate::error::{Status, c_text, call};
use crate::format::{Format, Latest};
use crate::pointer::{Out, bytes, given, make, put, text};
use isoform::core::view::Item as Found;
use isoform::{Code, Error, Incoming, Result, View, message::Header, text as texts};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// `iso_message`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    format: *const Format,
    body: *const c_void,
    length: usize,
}

impl Message {
    /// No message.
    pub(crate) const NONE: Message = Message { format: ptr::null(), body: ptr::null(), length: 0 };

    /// A message that is valid as long as `incoming`, and until `latest` sees another one.
    pub(crate) fn of(incoming: &Incoming<'_>, latest: &mut Latest) -> Message {
        let body = incoming.body();
        let format = latest.of(incoming.format());
        Message { format: &raw const *format, body: body.as_ptr().cast(), length: body.len() }
    }

    /// A message of a format and a body that outlive it.
    pub(crate) fn lent(format: &Format, body: &[u8]) -> Message {
        Message { format: &raw const *format, body: body.as_ptr().cast(), length: body.len() }
    }

    /// A message with this body, which may be NULL as long as it has not been read. It is valid until `latest` sees another one.
    pub(crate) fn at(
        body: *const c_void,
        (header, format): (Header, isoform::Format),
        latest: &mut Latest,
    ) -> Result<Message> {
        let length = usize::try_from(header.length).map_err(|_| Error::new(Code::Size).found(header.length))?;
        Ok(Message { format: &raw const *latest.of(&format), body, length })
    }

    /// The message as Rust has it.
    ///
    /// # Errors
    /// [`Code::WrongType`] if there is none.
    ///
    /// # Safety
    /// (1, 3) of the crate: it was made by [`Message::of`], or by C of a format and a body, and is still lent.
    pub(crate) unsafe fn incoming<'a>(&self) -> Result<Incoming<'a>> {
        // SAFETY: promised.
        let format = given(unsafe { self.format.as_ref() }, "message")?;
        // SAFETY: promised.
        let body = unsafe { bytes(self.body, self.length, "message")? };
        Ok(Incoming::new(Header::new(format.format.token(), body.len() as u64), &format.format, body))
    }
}

/// The message in an argument.
///
/// # Safety
/// As [`Message::incoming`].
pub(crate) unsafe fn incoming<'a>(message: Option<&Message>) -> Result<Incoming<'a>> {
    // SAFETY: promised.
    unsafe { given(message, "message")?.incoming() }
}

/// `iso_item`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    kind: c_int,
    integer: i64,
    whole: u64,
    real: f64,
    imaginary: f64,
    bytes: *const c_void,
    length: usize,
    count: usize,
}

impl Default for Item {
    fn default() -> Item {
        let (kind, integer, whole, real, imaginary) = (kind::NULL, 0, 0, 0.0, 0.0);
        Item { kind, integer, whole, real, imaginary, bytes: ptr::null(), length: 0, count: 0 }
    }
}

/// `iso_kind`
mod kind {
    use std::ffi::c_int;

    pub(super) const NULL: c_int = 0;
    pub(super) const INTEGER: c_int = 1;
    pub(super) const UNSIGNED: c_int = 2;
    pub(super) const REAL: c_int = 3;
    pub(super) const COMPLEX: c_int = 4;
    pub(super) const BOOLEAN: c_int = 5;
    pub(super) const TEXT: c_int = 6;
    pub(super) const SYMBOL: c_int = 7;
    pub(super) const ARRAY: c_int = 8;
    pub(super) const RECORD: c_int = 9;
}

impl Item {
    fn of(found: Found<'_>) -> Result<Item> {
        let none = Item::default();
        Ok(match found {
            Found::Null => none,
            Found::Boolean(truth) => Item { kind: kind::BOOLEAN, ..Item::integer(truth.into())? },
            Found::Integer(number) => Item::integer(number)?,
            Found::Unsigned(number) => {
                return Err(Error::new(Code::Overflow).expected("an integer of 8 bytes").found(number));
            }
            Found::Float(float) => Item { kind: kind::REAL, real: float.to_f64(), ..none },
            Found::Complex([real, imaginary]) => {
                Item { kind: kind::COMPLEX, real: real.to_f64(), imaginary: imaginary.to_f64(), ..none }
            }
            Found::Char(byte) => Item::integer(byte.into())?,
            Found::Symbol(symbol) => {
                Item { kind: kind::SYMBOL, ..Item::integer(symbol.value)? }.with(symbol.name.as_bytes())
            }
            Found::String(text) => Item { kind: kind::TEXT, ..none }.with(text),
            Found::Array(array) => match array.text() {
                Some(text) => Item { kind: kind::TEXT, count: array.len(), ..none }.with(text),
                None => Item { kind: kind::ARRAY, count: array.len(), ..none }.with(array.bytes()),
            },
            Found::Record(view) => Item { kind: kind::RECORD, ..none }.with(view.bytes()),
        })
    }

    /// A number as all of C's numbers that it fits.
    fn integer(number: i128) -> Result<Item> {
        let whole = u64::try_from(number).ok();
        let integer = i64::try_from(number).ok();
        let kind = if integer.is_some() { kind::INTEGER } else { kind::UNSIGNED };
        if whole.or(integer.map(i64::cast_unsigned)).is_none() {
            return Err(Error::new(Code::Overflow).expected("an integer of 8 bytes").found(number));
        }
        let (integer, whole) = (integer.unwrap_or(i64::MAX), whole.unwrap_or(0));
        Ok(Item { kind, integer, whole, real: number as f64, ..Item::default() })
    }

    fn with(self, bytes: &[u8]) -> Item {
        Item { bytes: bytes.as_ptr().cast(), length: bytes.len(), ..self }
    }
}

/// `iso_message_get`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_message_get(
    message: Option<&Message>,
    path: *const c_char,
    item: Out<'_, Item>,
) -> Status {
    call(|| {
        make(item, "item", || {
            // SAFETY: (1, 3) of the crate.
            let (view, path) = unsafe { (view(message)?, text(path, "path")?) };
            Item::of(view.get(path)?).map_err(|error| error.at(path))
        })
    })
}

/// # Safety
/// As [`Message::incoming`].
unsafe fn view<'a>(message: Option<&Message>) -> Result<View<'a>> {
    // SAFETY: promised.
    unsafe { incoming(message)?.view() }
}

thread_local! {
    static JSON: RefCell<CString> = RefCell::default();
}

/// `iso_message_json`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_message_json(message: Option<&Message>, json: Out<'_, *const c_char>) -> Status {
    call(|| {
        let place = given(json, "json")?;
        place.write(c"".as_ptr());
        // SAFETY: (1, 3) of the crate.
        let line = c_text(&texts::json::line(unsafe { view(message)? }));
        let kept = JSON.try_with(|json| {
            *json.borrow_mut() = line;
            json.borrow().as_ptr()
        });
        put(Some(place), "json", kept.map_err(|_| Error::new(Code::Closed).at("thread"))?)
    })
}
