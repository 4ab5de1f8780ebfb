//! The one small place where addresses from C become references, and where values are stored for C.
//!
//! Proofs refer to the promises in [`crate`].

use isoform::{Code, Error, Result};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

/// A variable of C in which a value is stored, whatever it contained.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// A variable of C that contains a handle, or NULL. C passes its address, a `T **`, to close the handle.
pub(crate) type Held<'a, T> = Option<&'a mut Option<Box<T>>>;

/// A variable of C in which a handle is stored.
pub(crate) type Opened<'a, T> = Out<'a, Option<Box<T>>>;

/// The argument, unless it is NULL.
pub(crate) fn given<T>(argument: Option<T>, name: &str) -> Result<T> {
    argument.ok_or_else(|| null(name))
}

/// The names of arguments that are handles. A handle is NULL once it is closed.
const HANDLES: [&str; 12] = [
    "channel", "columns", "decoder", "document", "encoder", "format", "kinds", "node", "reader", "sink", "source",
    "writer",
];

#[cold]
fn null(name: &str) -> Error {
    let error = Error::new(Code::WrongType).at(name);
    match HANDLES.contains(&name) {
        true => error.expected("an open handle").found("NULL, as after it was closed"),
        false => error.expected("a pointer").found("NULL"),
    }
}

/// Stores a value for C.
pub(crate) fn put<T>(out: Out<'_, T>, name: &str, value: T) -> Result<()> {
    given(out, name)?.write(value);
    Ok(())
}

/// Stores the result for C, or NULL, 0 or the like if there is none.
pub(crate) fn make<T: Default>(out: Out<'_, T>, name: &str, value: impl FnOnce() -> Result<T>) -> Result<()> {
    let place = given(out, name)?;
    place.write(T::default());
    place.write(value()?);
    Ok(())
}

/// Opens a handle.
pub(crate) fn open<T>(out: Opened<'_, T>, name: &str, value: impl FnOnce() -> Result<T>) -> Result<()> {
    make(out, name, || value().map(Box::new).map(Some))
}

/// Closes a handle, however often this is called, since the variable is NULL afterwards.
pub(crate) fn close<T>(held: Held<'_, T>) {
    if let Some(held) = held {
        drop(held.take());
    }
}

/// A text.
///
/// # Safety
/// (1): it is NULL, or ends with a NUL, and stays as it is for 'a.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: promised.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| Error::new(Code::Utf8).at(name).found(error))
}

/// The same, where NULL stands for none.
///
/// # Safety
/// As `text`.
pub(crate) unsafe fn optional_text<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: promised.
    unsafe { self::text(text, name) }.map(Some)
}

/// This many elements.
///
/// # Safety
/// (1): there are so many, aligned and initialised, and they stay as they are for 'a.
pub(crate) unsafe fn list<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    expect_room(count, size_of::<T>(), name)?;
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        // SAFETY: promised.
        (false, _) => Ok(unsafe { slice::from_raw_parts(start, count) }),
    }
}

/// This many elements, which may be changed.
///
/// # Safety
/// (1): there are so many, aligned and initialised, and nobody else uses them for 'a.
pub(crate) unsafe fn list_mut<'a, T>(start: *mut T, count: usize, name: &str) -> Result<&'a mut [T]> {
    expect_room(count, size_of::<T>(), name)?;
    match (start.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(null(name)),
        // SAFETY: promised.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(start, count) }),
    }
}

/// This many bytes.
///
/// # Safety
/// As `list`.
pub(crate) unsafe fn bytes<'a>(start: *const c_void, count: usize, name: &str) -> Result<&'a [u8]> {
    // SAFETY: promised.
    unsafe { list(start.cast(), count, name) }
}

/// This many bytes, which may be changed.
///
/// # Safety
/// (1): there are so many, and nobody else uses them for 'a.
pub(crate) unsafe fn bytes_mut<'a>(start: *mut c_void, count: usize, name: &str) -> Result<&'a mut [u8]> {
    // SAFETY: promised. Whatever C has left in them is for this process bytes of some value.
    unsafe { list_mut(start.cast(), count, name) }
}

/// Refuses a number of elements that no memory has room for, such as -1 as a `size_t`.
fn expect_room(count: usize, size: usize, name: &str) -> Result<()> {
    match count.checked_mul(size).is_some_and(|length| isize::try_from(length).is_ok()) {
        true => Ok(()),
        false => Err(Error::new(Code::Size).at(name).expected("as many elements as memory can hold").found(count)),
    }
}

/// An array of so many records of `size` bytes each, which must not be NULL.
pub(crate) fn records(start: *const c_void, count: usize, size: usize) -> Result<*const u8> {
    expect_room(count, size, "records")?;
    record(start, "records")
}

/// A record, which must not be NULL. The code that uses it decides what it points at.
pub(crate) fn record(record: *const c_void, name: &str) -> Result<*const u8> {
    if record.is_null() { Err(null(name)) } else { Ok(record.cast()) }
}

/// The same, for writing.
pub(crate) fn record_mut(record: *mut c_void, name: &str) -> Result<*mut u8> {
    if record.is_null() { Err(null(name)) } else { Ok(record.cast()) }
}
