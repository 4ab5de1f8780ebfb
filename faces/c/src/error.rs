//! Errors: each call returns a code, and keeps the details for its thread. Section "Errors" of the header.

use isoform::{Class, Code, Error, Result};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

/// `iso_code`: 0, or a number of `spec/errors.md`.
pub type Status = c_int;

/// `iso_error`
#[repr(C)]
pub struct Details {
    code: Status,
    text: *const c_char,
    path: *const c_char,
    expected: *const c_char,
    actual: *const c_char,
    /// The bytes of [`Error::token`], or null.
    token: *const [u8; 16],
}

/// An error in the form of C, with the texts and the token that it points at.
pub(crate) struct Kept {
    details: Details,
    _texts: [CString; 4],
    _token: Option<Box<[u8; 16]>>,
}

// SAFETY: it points at texts and a token that are its own, and that nothing changes.
unsafe impl Send for Kept {}

impl Kept {
    pub(crate) fn new(error: &Error) -> Kept {
        let texts = [&error.to_string(), error.path(), error.expectation(), error.actual()].map(c_text);
        let [text, path, expected, actual] = [0, 1, 2, 3].map(|i| texts[i].as_ptr());
        let owned = error.token().map(|token| Box::new(*token.as_bytes()));
        let token = owned.as_deref().map_or(ptr::null(), ptr::from_ref);
        let details = Details { code: error.code() as Status, text, path, expected, actual, token };
        Kept { details, _texts: texts, _token: owned }
    }

    pub(crate) fn details(&self) -> *const Details {
        &raw const self.details
    }
}

/// A text for C, cut at its first NUL.
pub(crate) fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

thread_local! {
    static LAST: RefCell<Option<Box<Kept>>> = const { RefCell::new(None) };
}

/// Runs a function, and returns its code. A panic is our own defect, and becomes an error here.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)));
    match result {
        Ok(()) => 0,
        Err(error) => keep(&error),
    }
}

/// The same for a function that returns something else, and fails only by a defect.
pub(crate) fn answer<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        keep(&panicked(&*panic));
        otherwise
    })
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Error::new(Code::Internal).found(text.unwrap_or("a panic"))
}

#[cold]
fn keep(error: &Error) -> Status {
    let kept = Box::new(Kept::new(error));
    // A thread that ends no longer has this place, and nobody asks it.
    _ = LAST.try_with(|last| *last.borrow_mut() = Some(kept));
    error.code() as Status
}

/// `iso_last_error`
#[unsafe(no_mangle)]
pub extern "C" fn iso_last_error() -> *const Details {
    struct None(Details);
    // SAFETY: it is constant, and so are the texts; there is no token.
    unsafe impl Sync for None {}
    static NONE: None = None(Details {
        code: 0,
        text: c"no error".as_ptr(),
        path: c"".as_ptr(),
        expected: c"".as_ptr(),
        actual: c"".as_ptr(),
        token: ptr::null(),
    });
    let last = LAST.try_with(|last| last.borrow().as_ref().map(|kept| kept.details()));
    last.ok().flatten().unwrap_or(&raw const NONE.0)
}

fn code(number: Status) -> Option<Code> {
    Code::ALL.iter().copied().find(|&code| code as Status == number)
}

/// The texts of all codes, each with a NUL, created when they are first needed.
fn texts(of: fn(Code) -> &'static str) -> Vec<(Code, CString)> {
    Code::ALL.iter().map(|&code| (code, c_text(of(code)))).collect()
}

/// `iso_code_name`
#[unsafe(no_mangle)]
pub extern "C" fn iso_code_name(number: Status) -> *const c_char {
    static NAMES: OnceLock<Vec<(Code, CString)>> = OnceLock::new();
    find(NAMES.get_or_init(|| texts(Code::name)), number, c"Ok".as_ptr())
}

/// `iso_code_text`
#[unsafe(no_mangle)]
pub extern "C" fn iso_code_text(number: Status) -> *const c_char {
    static TEXTS: OnceLock<Vec<(Code, CString)>> = OnceLock::new();
    find(TEXTS.get_or_init(|| texts(Code::text)), number, c"no error".as_ptr())
}

fn find(texts: &[(Code, CString)], number: Status, none: *const c_char) -> *const c_char {
    if number == 0 {
        return none;
    }
    texts.iter().find(|(code, _)| *code as Status == number).map_or(ptr::null(), |(_, text)| text.as_ptr())
}

/// `iso_code_class`: 0 for a number that is no error.
#[unsafe(no_mangle)]
pub extern "C" fn iso_code_class(number: Status) -> c_int {
    code(number).map_or(0, |code| match code.class() {
        Class::BadInput => 1,
        Class::Limit => 2,
        Class::Mismatch => 3,
        Class::Unavailable => 4,
        Class::Usage => 5,
        Class::Internal => 6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> (Status, String) {
        // SAFETY: it is lent until the next error of this thread.
        let told = unsafe { &*iso_last_error() };
        // SAFETY: likewise.
        (told.code, unsafe { CStr::from_ptr(told.text) }.to_str().unwrap().into())
    }

    #[test]
    fn a_panic_is_an_error_of_ours() {
        assert_eq!(last(), (0, "no error".into()));
        assert_eq!(call(|| panic!("one and one is {}", 3)), 900);
        assert_eq!(last(), (900, "internal error: one and one is 3".into()));
        assert_eq!(answer(7, || panic!("constant")), 7);
        assert_eq!(last(), (900, "internal error: constant".into()));
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(call(|| Err(Error::new(Code::Io).at("a\0b"))), 401);
        assert_eq!(last(), (401, r"input/output at a\u{0}b".into()));
        std::thread::spawn(|| assert_eq!(last().0, 0)).join().unwrap();
    }

    /// The header has every code of `spec/errors.md`, and every class, under the same number.
    #[test]
    fn the_header_has_every_code() {
        let header = include_str!("../include/isoform.h");
        let enumeration = |name: &str| {
            let end = header.find(&format!("}} {name};")).unwrap();
            let begin = header[..end].rfind("typedef enum").unwrap();
            let line = |line: &str| {
                let (name, rest) = line.trim().split_once(" = ")?;
                let number = rest.split([',', ' ']).next()?.parse().ok()?;
                Some((name.to_owned(), number))
            };
            header[begin..end].lines().filter_map(line).collect::<Vec<(String, Status)>>()
        };
        let upper = |name: &str| {
            let letter = |(i, c): (usize, char)| {
                let before = if i > 0 && c.is_uppercase() { "_" } else { "" };
                format!("{before}{}", c.to_ascii_uppercase())
            };
            name.chars().enumerate().map(letter).collect::<String>()
        };
        let codes = enumeration("iso_code");
        assert_eq!(codes[0], ("ISO_OK".into(), 0));
        let expected = Code::ALL.iter().map(|&code| (format!("ISO_{}", upper(code.name())), code as Status));
        assert!(codes[1..].iter().cloned().eq(expected), "{codes:?}");
        let classes = enumeration("iso_class");
        assert_eq!(classes.len(), 7);
        for &code in Code::ALL {
            let name = format!("ISO_CLASS_{}", upper(&format!("{:?}", code.class())));
            assert!(classes.contains(&(name, iso_code_class(code as Status))));
        }
    }
}
