//! Calls into the code of queries, and from it back. Proofs refer to these:
//! 1. [`Function::answer`] calls the code with nothing but a verified record of the format for which it was made, with its body,
//!    and an output as long as the record that it makes.
//! 2. Generated code reads only what paths lead to, as `place` finds it from the format: within the record, or in blocks and
//!    strings whose places and lengths the verifier has proved. It writes only fields of the result.
//! 3. Texts that generated code refers to by address are literals of its part, which the function owns and never changes.

use super::{Part, record};
use crate::memory::Executable;
use isoform_core::{Format, Structure, View};
use isoform_kernels::is_ieee;
use std::mem;
use std::sync::Arc;

/// The start of generated code: 0 for no, 1 for yes, and else unsure.
///
/// # Safety
/// As (1) says.
type Entry = unsafe extern "C" fn(record: *const u8, body: *const u8, event: *const u64, out: *mut u8) -> u64;

/// The code of a part, with all that it refers to.
pub(super) struct Function {
    entry: Entry,
    /// Bytes of its results; 0 if it has none.
    result: usize,
    /// Of the records for which it was made.
    structure: Arc<Structure>,
    executable: Executable,
    _part: Part,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes for records of {}", self.executable.len(), self.structure.name())
    }
}

impl Function {
    pub(super) fn new(format: &Format, part: Part) -> Option<Function> {
        let code = record::function(format, &part)?;
        let executable = Executable::new(&code)?;
        // SAFETY: a function of this type begins there, in memory that is kept for as long as the entry. The part, to which it
        // refers (3), is moved, but its texts stay where they are.
        let entry = unsafe { mem::transmute::<*const u8, Entry>(executable.start()) };
        let result = part.result.as_ref().map_or(0, |outcome| outcome.format.size());
        Some(Function { entry, result, structure: format.structure().clone(), executable, _part: part })
    }

    pub(super) fn size(&self) -> usize {
        self.executable.len()
    }

    #[inline(always)]
    pub(super) fn answer(&self, view: View<'_>, event: [u64; 3], out: &mut Vec<u8>) -> Option<bool> {
        let is_usual = std::ptr::eq(&*self.structure, view.structure()) && out.len() == self.result;
        if !is_usual && !self.prepare(view.structure(), out) {
            return None;
        }
        // In other modes, the interpreter decides.
        if !is_ieee() {
            return None;
        }
        // SAFETY: (1): a view is of a verified body, its structure is that of the format, and the output is as long as the result.
        let answer =
            unsafe { (self.entry)(view.bytes().as_ptr(), view.body().as_ptr(), event.as_ptr(), out.as_mut_ptr()) };
        (answer <= 1).then_some(answer == 1)
    }

    /// Gives the output its length. Returns whether records of a structure are of the format.
    #[cold]
    #[inline(never)]
    fn prepare(&self, structure: &Structure, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.resize(self.result, 0);
        *self.structure == *structure
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
