//! Calls into the code of queries, and from it back. Proofs refer to these:
//! 1. [`Functions::call`] calls a function with nothing but a verified record of the format for which it was made, with its body,
//!    and an output as long as the record that it makes.
//! 2. Generated code reads only what paths lead to, as `place` finds it from the format: within the record, or in blocks and
//!    strings whose places and lengths the verifier has proved. It writes only fields of the result.
//! 3. Texts that generated code refers to by address are literals of the parts, which the functions own and never change.

use super::Part;
use super::record::Maker;
use crate::memory::Executable;
use isoform_core::{Format, View};
use isoform_kernels::is_ieee;
use std::mem;

/// The start of a generated function: 0 for no, 1 for yes, and else unsure.
///
/// # Safety
/// As (1) says.
type Entry = unsafe extern "C" fn(record: *const u8, body: *const u8, event: *const u64, out: *mut u8) -> u64;

/// The code of several parts, with all that it refers to.
pub(super) struct Functions {
    entries: Vec<Option<Entry>>,
    /// Bytes of the results of the parts.
    sizes: Vec<usize>,
    format: Format,
    executable: Executable,
    _parts: Vec<Part>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes for records of {}", self.executable.len(), self.format.name())
    }
}

/// Where functions begin.
const ALIGNMENT: usize = 64;

impl Functions {
    pub(super) fn new(format: &Format, parts: Vec<Part>) -> Option<Functions> {
        let mut code = Vec::new();
        let mut maker = Maker::new(format)?;
        let starts: Vec<Option<usize>> = parts
            .iter()
            .map(|part| {
                let made = maker.function(part)?;
                let start = code.len().next_multiple_of(ALIGNMENT);
                code.resize(start, 0);
                code.extend(made);
                (code.len() <= crate::generate::CODE).then_some(start)
            })
            .collect();
        if starts.iter().all(Option::is_none) {
            return None;
        }
        let executable = Executable::new(&code)?;
        let entry = |start: &Option<usize>| {
            start.map(|start| {
                // SAFETY: a function of this type begins there, in memory that is kept for as long as the entry. Parts, to which
                // it refers (3), are moved, but their texts stay where they are.
                unsafe { mem::transmute::<*const u8, Entry>(executable.start().add(start)) }
            })
        };
        let entries = starts.iter().map(entry).collect();
        let size = |part: &Part| match part {
            Part::Condition(_) => 0,
            Part::Record(format, _) => format.size(),
        };
        let sizes = parts.iter().map(size).collect();
        Some(Functions { entries, sizes, format: format.clone(), executable, _parts: parts })
    }

    pub(super) fn has(&self, part: usize) -> bool {
        self.entries.get(part).is_some_and(Option::is_some)
    }

    pub(super) fn size(&self) -> usize {
        self.executable.len()
    }

    #[inline]
    pub(super) fn condition(&self, part: usize, view: View<'_>, event: [u64; 2]) -> Option<bool> {
        match self.call(part, view, event, &mut [])? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn record(&self, part: usize, view: View<'_>, event: [u64; 2], out: &mut Vec<u8>) -> bool {
        out.clear();
        out.resize(self.sizes.get(part).copied().unwrap_or(0), 0);
        self.call(part, view, event, out) == Some(1)
    }

    #[inline]
    fn call(&self, part: usize, view: View<'_>, event: [u64; 2], out: &mut [u8]) -> Option<u64> {
        let entry = (*self.entries.get(part)?)?;
        let (expected, found) = (&**self.format.structure(), view.structure());
        assert!(std::ptr::eq(expected, found) || expected == found, "code runs on records of its format");
        // In other modes, the interpreter decides.
        if out.len() != self.sizes[part] || !is_ieee() {
            return None;
        }
        // SAFETY: (1): a view is of a verified body, its structure is that of the format, and the output is as long as the result.
        Some(unsafe { entry(view.bytes().as_ptr(), view.body().as_ptr(), event.as_ptr(), out.as_mut_ptr()) })
    }
}

// The functions that generated code calls.

/// # Safety
/// As [`std::slice::from_raw_parts`].
unsafe fn slice<'a>(start: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: promised.
    unsafe { std::slice::from_raw_parts(start, length) }
}

/// The length of a string.
///
/// # Safety
/// There is a NUL at its end.
pub(super) unsafe extern "C" fn string(start: *const std::ffi::c_char) -> usize {
    // SAFETY: promised: the verifier has seen it (2).
    unsafe { std::ffi::CStr::from_ptr(start) }.count_bytes()
}

/// The length of a text in a fixed array: without the NULs at its end.
///
/// # Safety
/// There are that many bytes.
pub(super) unsafe extern "C" fn trimmed(start: *const u8, length: usize) -> usize {
    // SAFETY: promised, and kept by (2).
    let bytes = unsafe { slice(start, length) };
    length - bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

/// The order of two texts: -1, 0, 1.
///
/// # Safety
/// There are that many bytes of each.
pub(super) unsafe extern "C" fn compare(a: *const u8, a_length: usize, b: *const u8, b_length: usize) -> i64 {
    // SAFETY: promised, and kept by (2) and (3).
    let (a, b) = unsafe { (slice(a, a_length), slice(b, b_length)) };
    a.cmp(b) as i64
}

/// The remainder of two doubles, with the sign of the divisor. All are given by their bits.
pub(super) extern "C" fn remainder(a: u64, b: u64) -> u64 {
    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
    let rest = match a % b {
        rest if rest != 0.0 && (rest < 0.0) != (b < 0.0) => rest + b,
        rest => rest,
    };
    rest.to_bits()
}

macro_rules! reductions {
    ($($name:ident)*) => {
        $(
            /// The bits of a reduction of doubles, as they are or in the other byte order.
            ///
            /// # Safety
            /// There are that many doubles.
            pub(super) unsafe extern "C" fn $name(start: *const u8, count: usize, swapped: usize) -> u64 {
                // SAFETY: promised, and kept by (2).
                isoform_kernels::$name(unsafe { slice(start, count * 8) }, swapped != 0).to_bits()
            }
        )*
    };
}
reductions!(sum min max);
