//! Emitted values. Section "Emitting" of the header.

use crate::error::{Status, call};
use crate::pointer::{Held, Opened, Out, bytes, close, given, list, make, open, optional_text, text};
use isoform::emit::{Numbers, Topic};
use isoform::{Code, Error, Result};
use isoform_channel::emitting;
use isoform_dynamic::emit::{Content, Number, Place as Inner, Symbols, Value as Given};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_longlong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// `iso_emitting`
pub struct Emitting {
    inner: emitting::Emitting,
    /// Ids that C has asked for. They stay as long as this.
    ids: Mutex<Vec<CString>>,
}

/// `iso_place`. The program has the memory, which is all zeros at first.
#[repr(C)]
pub struct Place {
    /// The numbers of its records, if they are a word for which C needs no call. It is set after `made`.
    numbers: AtomicPtr<Numbers>,
    made: AtomicPtr<Made>,
}

/// What a place becomes when it runs for the first time. It stays as long as the process.
struct Made {
    inner: Inner,
    /// Those of its enumerations, which stay as they are, by their address and number.
    symbols: Mutex<HashMap<(usize, usize), Symbols>>,
}

/// `iso_symbol`
#[repr(C)]
pub struct Symbol {
    name: *const c_char,
    value: c_longlong,
}

/// The dimensions that a value can have.
const RANK: usize = 4;
/// The kind of a value that belongs to an enumeration.
const SYMBOL: c_int = 6;
/// The bytes of a number that a value holds itself.
const HERE: usize = 16;

/// `iso_value`
#[repr(C)]
pub struct Value {
    name: *const c_char,
    unit: *const c_char,
    kind: c_int,
    size: c_int,
    rank: c_int,
    dims: [usize; RANK],
    data: *const c_void,
    here: [u8; HERE],
}

/// `iso_emit_start`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_emit_start(name: *const c_char, started: Opened<'_, Emitting>) -> Status {
    // SAFETY: (1) of the crate.
    let name = || unsafe { text(name, "name") };
    let start = |name: &str| emitting::start(name).map(|inner| Emitting { inner, ids: Mutex::default() });
    call(|| open(started, "emitting", || start(name()?)))
}

/// `iso_emit_stop`
#[unsafe(no_mangle)]
pub extern "C" fn iso_emit_stop(held: Held<'_, Emitting>) {
    close(held);
}

/// `iso_emit_id`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_emit_id(
    emitting: Option<&Emitting>,
    channel: *const c_char,
    id: Out<'_, Option<&c_char>>,
) -> Status {
    call(|| {
        make(id, "id", || {
            // SAFETY: (1) of the crate.
            let (emitting, channel) = (given(emitting, "emitting")?, unsafe { text(channel, "channel")? });
            let found = emitting.inner.ids().into_iter().find(|id| id.name() == channel);
            let found = found.ok_or_else(|| Error::new(Code::NoSuchChannel).at(channel))?;
            let found = CString::new(found.to_string()).map_err(|_| Error::new(Code::Internal))?;
            let mut ids = emitting.ids.lock().unwrap_or_else(PoisonError::into_inner);
            let at = ids.iter().position(|id| *id == found).unwrap_or_else(|| {
                ids.push(found);
                ids.len() - 1
            });
            // SAFETY: the text of a CString stays where it is while the list grows, and nothing is removed before `emitting` is.
            Ok(unsafe { ids[at].as_ptr().as_ref() })
        })
    })
}

/// `iso_emit_failed`
#[unsafe(no_mangle)]
pub extern "C" fn iso_emit_failed() -> usize {
    isoform::emit::failed()
}

/// `iso_emit_begin`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_emit_begin(place: Option<&Place>, name: *const c_char) -> c_int {
    let Some(place) = place else { return 0 };
    match place.made() {
        Some(made) => made.inner.begin().into(),
        // SAFETY: promised.
        None => unsafe { first(place, name) },
    }
}

/// Makes what a place needs, when it runs for the first time. It stays as long as the process.
///
/// # Safety
/// (1) of the crate.
#[cold]
unsafe fn first(place: &Place, name: *const c_char) -> c_int {
    // SAFETY: promised.
    let Ok(name) = (unsafe { text(name, "name") }) else { return 0 };
    let made = Box::into_raw(Box::new(Made { inner: Inner::new(name), symbols: Mutex::default() }));
    if place.made.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: another thread was faster, and nobody has this one.
        drop(unsafe { Box::from_raw(made) });
    }
    let topic = Topic::named(name);
    if portable_atomic::AtomicU64::is_always_lock_free() {
        place.numbers.store(ptr::from_ref(topic.numbers()).cast_mut(), Ordering::Release);
    }
    topic.begin().into()
}

/// `iso_emit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_emit(place: Option<&Place>, values: *const Value, count: usize) -> Status {
    call(|| {
        let place = given(place.and_then(Place::made), "place")?;
        // SAFETY: (1) of the crate.
        let values = unsafe { list(values, count, "values")? };
        // SAFETY: (1) of the crate.
        let symbols = values.iter().map(|value| unsafe { place.symbols(value) }).collect::<Result<Vec<_>>>();
        let symbols = symbols.inspect_err(|_| place.inner.fail())?;
        let values = values.iter().zip(&symbols);
        // SAFETY: (1) of the crate.
        let values = values.map(|(value, symbols)| unsafe { value.read(symbols.as_ref()) }).collect::<Result<Vec<_>>>();
        place.inner.emit(&values.inspect_err(|_| place.inner.fail())?)
    })
}

impl Place {
    /// What was made of it, if it has run.
    fn made(&self) -> Option<&Made> {
        // SAFETY: it is NULL, or what `first` has stored, which stays.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }
}

impl Made {
    /// The symbols of a value that belongs to an enumeration. They are read once.
    ///
    /// # Safety
    /// (1) of the crate: there are as many symbols as it says, and they stay as they are.
    unsafe fn symbols(&self, value: &Value) -> Result<Option<Symbols>> {
        if value.kind != SYMBOL {
            return Ok(None);
        }
        let mut known = self.symbols.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (value.data.addr(), value.dims[0]);
        if let Some(symbols) = known.get(&place) {
            return Ok(Some(symbols.clone()));
        }
        // SAFETY: promised.
        let list = unsafe { list(value.data.cast::<Symbol>(), value.dims[0], "symbols")? };
        // SAFETY: promised.
        let named = list.iter().map(|symbol| Ok((unsafe { text(symbol.name, "name of a symbol")? }, symbol.value)));
        let symbols = Symbols::new(named.collect::<Result<Vec<_>>>()?)?;
        known.insert(place, symbols.clone());
        Ok(Some(symbols))
    }
}

impl Value {
    /// # Safety
    /// (1) of the crate: there are as many elements as it says.
    unsafe fn read<'a>(&'a self, symbols: Option<&'a Symbols>) -> Result<Given<'a>> {
        // SAFETY: promised.
        let (name, unit) = unsafe { (text(self.name, "name")?, optional_text(self.unit, "unit")?) };
        let name = last_name(name);
        let wrong = |expected: &str, found: c_int| Error::new(Code::WrongType).at(name).expected(expected).found(found);
        if let Some(symbols) = symbols {
            let content = Content::Symbol(symbols, i64::from_ne_bytes(*self.here.first_chunk().unwrap_or(&[0; 8])));
            return Ok(Given { name, unit, content });
        }
        let size = u8::try_from(self.size).map_err(|_| wrong("a size", self.size))?;
        let number = match self.kind {
            1 if matches!(size, 1 | 2 | 4 | 8 | 16) => Number::Signed(size),
            2 if matches!(size, 1 | 2 | 4 | 8 | 16) => Number::Unsigned(size),
            3 if matches!(size, 4 | 8) => Number::Float(size),
            4 if size == 1 => Number::Boolean,
            5 => {
                // SAFETY: promised. NULL is an empty text.
                let text = unsafe { optional_text(self.data.cast(), name)? };
                return Ok(Given { name, unit, content: Content::Text(text.unwrap_or_default()) });
            }
            kind => return Err(wrong("a kind of values with its size", kind)),
        };
        let rank = usize::try_from(self.rank).ok().filter(|rank| *rank <= RANK);
        let dims = &self.dims[..rank.ok_or_else(|| wrong("at most 4 dimensions", self.rank))?];
        let content = if dims.is_empty() {
            Content::Number(number, &self.here[..size.into()])
        } else {
            let count = dims.iter().try_fold(usize::from(size), |count, dim| count.checked_mul(*dim));
            let count = count.ok_or_else(|| Error::new(Code::Size).at(name))?;
            // SAFETY: promised.
            Content::Array(number, dims, unsafe { bytes(self.data, count, name)? })
        };
        Ok(Given { name, unit, content })
    }
}

/// The last name of an expression of C: `grid` of `&run->grid[0][0]`. What is no such expression stays as it is.
fn last_name(expression: &str) -> &str {
    let place = expression.trim_start_matches(['&', '*', '(', ' ']);
    let place = place.split(['[', ')']).next().unwrap_or_default();
    let name = place.rsplit(['.', '>']).next().unwrap_or_default();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|one| one.is_alphanumeric() || one == '_');
    let is_path = place.replace("->", ".").split('.').all(is_name);
    if is_path { name } else { expression }
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn an_expression_has_the_name_of_its_last_member() {
        for (expression, name) in [
            ("depth", "depth"),
            ("run.depth", "depth"),
            ("run->river.depth", "depth"),
            ("&grid[0][0]", "grid"),
            ("&run->grid[0][0]", "grid"),
            ("*level", "level"),
            ("(run->level)", "level"),
            ("water level", "water level"),
            ("a + b", "a + b"),
            ("f(x)", "f(x)"),
            ("", ""),
            ("&", "&"),
        ] {
            assert_eq!(last_name(expression), name);
        }
    }
}
