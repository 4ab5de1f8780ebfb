//! Into generated code, and out of it again: what it is called with, and what it calls.
//!
//! Proofs refer to these:
//! 1. A [`Function`] is called with nothing but verified bodies of its plan's wire format, and with room for a record of
//!    its native format; whoever calls it sees to that.
//! 2. Generated code reads and writes what the steps of its plan do. Fixed places are proven by the plan to lie in the
//!    record or element; what slots and lengths say of the source, by the verifier; and blocks of the destination are as
//!    long as [`block`] and [`string`] were asked for.
//! 3. Blocks move when the output grows, so generated code reads [`Context::base`] anew after whatever may add one.
//! 4. Steps and conversions that generated code names by address are those of its plan, which the function keeps.

use crate::memory::Executable;
use isoform_core::interp::{Output, part};
use isoform_core::plan::{Conversion, Step};
use isoform_core::{Body, Code, Error, Plan, Result};
use std::mem;
use std::sync::Arc;

type Entry = unsafe extern "C" fn(src: *const u8, dst: *mut u8, context: *mut Context<'_>) -> usize;

/// What helpers return in place of an offset if there is none.
pub(crate) const NONE: usize = usize::MAX;

/// Generated code, with all that it refers to.
pub(crate) struct Function {
    entry: Entry,
    plan: Arc<Plan>,
    _executable: Executable,
}

impl Function {
    /// Code that [`generate::function`](crate::generate::function) has made of `plan`.
    pub(crate) fn new(executable: Executable, plan: Arc<Plan>) -> Function {
        // SAFETY: the mapping begins with a function of this type (invariant 1 of `Executable`), and is kept.
        let entry = unsafe { mem::transmute::<*const u8, Entry>(executable.start()) };
        Function { entry, plan, _executable: executable }
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// What generated code hands to those whom it calls.
#[repr(C)]
pub(crate) struct Context<'a> {
    /// Where the output begins.
    pub(crate) base: *mut u8,
    /// Bytes of the output so far.
    length: usize,
    /// Bytes that it has room for.
    room: usize,
    src: &'a [u8],
    plan: &'a Plan,
    out: &'a mut dyn Output,
}

/// Converts a body into an output that has the length of a native record. Returns whether everything fitted.
///
/// # Panics
/// If the body is not of the plan's wire format.
#[inline]
pub(crate) fn into_output(function: &Function, body: Body<'_>, out: &mut impl Output) -> bool {
    let length = out.bytes().len();
    let Some((fitted, whole)) = enter(function, body, out) else { return false };
    fitted && (whole == length || out.resize(whole).is_ok())
}

/// Converts a body into a record without pointers. Returns whether everything fitted.
///
/// # Panics
/// If the body is not of the plan's wire format, or the record not of the native format's size.
#[inline]
pub(crate) fn into_record(function: &Function, body: Body<'_>, record: &mut [u8]) -> bool {
    assert_eq!(record.len(), function.plan.native().size(), "the destination holds one native record");
    enter(function, body, &mut Record(record)).is_some_and(|(fitted, _)| fitted)
}

/// Runs the function. Returns whether everything fitted, and how long the output is.
#[inline]
fn enter(function: &Function, body: Body<'_>, out: &mut impl Output) -> Option<(bool, usize)> {
    let Function { entry, plan, .. } = function;
    assert_eq!(body.format(), plan.wire(), "a plan runs on bodies of its wire format");
    let (src, bytes) = (body.bytes(), out.bytes());
    let (base, room) = (bytes.as_mut_ptr(), bytes.len());
    if room < plan.native().size() {
        return None;
    }
    let mut context = Context { base, length: room, room, src, plan, out };
    // SAFETY: (1): the body is verified and of the plan's format, and there is room for a record.
    let misfits = unsafe { entry(src.as_ptr(), base, &mut context) };
    Some((misfits == 0, context.length))
}

impl Context<'_> {
    /// Makes room for so many bytes.
    fn reserve(&mut self, length: usize) -> Result<()> {
        if length <= self.room {
            return Ok(());
        }
        // Most often as much comes as goes.
        let rest = self.src.len().saturating_sub(self.plan.wire().size());
        let mut room = length.max(self.room + self.room / 2).max(self.plan.native().size().saturating_add(rest));
        if self.out.resize(room).is_err() {
            self.out.resize(length)?;
            room = length;
        }
        (self.base, self.room) = (self.out.bytes().as_mut_ptr(), room);
        Ok(())
    }

    /// Adds a block of `length` bytes at the next multiple of `align`, and returns where it begins.
    fn block(&mut self, length: usize, align: usize) -> Option<usize> {
        let start = self.length.checked_next_multiple_of(align)?;
        let past = start.checked_add(length).filter(|&past| past <= isize::MAX as usize)?;
        self.reserve(past).ok()?;
        self.out.bytes()[self.length..start].fill(0);
        self.length = past;
        Some(start)
    }
}

impl Output for Context<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.out.bytes()[..self.length]
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        self.reserve(length)?;
        self.length = length;
        Ok(())
    }
}

/// Memory of a fixed size.
struct Record<'a>(&'a mut [u8]);

impl Output for Record<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.0
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length == self.0.len() { Ok(()) } else { Err(Error::new(Code::Internal).came("a block in a flat record")) }
    }
}

// What generated code calls. Numbers that are not offsets say whether something did not fit: 0 if all did.

/// Copies a run.
///
/// # Safety
/// `src` and `dst` have `length` bytes each, and do not overlap.
pub(crate) unsafe extern "C" fn copy(src: *const u8, dst: *mut u8, length: usize) -> usize {
    // SAFETY: promised.
    unsafe { src.copy_to_nonoverlapping(dst, length) };
    0
}

/// Fills a run with zeros.
///
/// # Safety
/// `dst` has `length` bytes.
pub(crate) unsafe extern "C" fn zero(dst: *mut u8, length: usize) -> usize {
    // SAFETY: promised.
    unsafe { dst.write_bytes(0, length) };
    0
}

/// Reverses the bytes of each number of an array.
///
/// # Safety
/// `src` and `dst` have `length` bytes each, do not overlap, and are initialised.
pub(crate) unsafe extern "C" fn swap(src: *const u8, dst: *mut u8, length: usize, width: usize) -> usize {
    // SAFETY: promised.
    let (src, dst) = unsafe { (slice(src, length), slice_mut(dst, length)) };
    isoform_kernels::swap(width, src, dst);
    0
}

/// Converts the numbers of an array.
///
/// # Safety
/// `src` and `dst` have that many numbers each, do not overlap, and are initialised. The conversion is one of a plan that
/// is there.
pub(crate) unsafe extern "C" fn numbers(
    src: *const u8,
    dst: *mut u8,
    count: usize,
    conversion: *const Conversion,
) -> usize {
    // SAFETY: promised.
    let (conversion, src, dst) = unsafe {
        let conversion = &*conversion;
        let (from, to) = (usize::from(conversion.from.size), usize::from(conversion.to.size));
        (conversion, slice(src, count * from), slice_mut(dst, count * to))
    };
    usize::from(!part::numbers(conversion, src, dst))
}

/// Leaves a step to the interpreter.
///
/// # Safety
/// `src` and `dst` are where a record or element begins, of the body and the output of the context. The step is one of
/// the context's plan.
pub(crate) unsafe extern "C" fn step(
    context: *mut Context<'_>,
    step: *const Step,
    src: *const u8,
    dst: *const u8,
) -> usize {
    // SAFETY: promised.
    let (context, step) = unsafe { (&mut *context, &*step) };
    let (from, to) = (src.addr() - context.src.as_ptr().addr(), dst.addr() - context.base.addr());
    let (plan, body) = (context.plan, context.src);
    usize::from(part::step(plan, step, (body, from), (context, to)).is_err())
}

/// Copies the string at an offset of the body into a block of its own, and returns where that is: at 0 if it is null.
///
/// # Safety
/// The context is that of the call.
pub(crate) unsafe extern "C" fn string(context: *mut Context<'_>, offset: usize) -> usize {
    if offset == 0 {
        return 0;
    }
    // SAFETY: promised.
    let context = unsafe { &mut *context };
    let Some(text) = context.src.get(offset..) else { return NONE };
    let Some(end) = memchr::memchr(0, text) else { return NONE };
    let Some(start) = context.block(end + 1, 8) else { return NONE };
    context.out.bytes()[start..][..=end].copy_from_slice(&text[..=end]);
    start
}

/// Adds a block for `count` elements of `size` bytes, and returns where it begins.
///
/// # Safety
/// The context is that of the call.
pub(crate) unsafe extern "C" fn block(context: *mut Context<'_>, count: usize, size: usize, align: usize) -> usize {
    // SAFETY: promised.
    let context = unsafe { &mut *context };
    count.checked_mul(size).and_then(|length| context.block(length, align)).unwrap_or(NONE)
}

/// # Safety
/// As [`std::slice::from_raw_parts`].
unsafe fn slice<'a>(start: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: promised.
    unsafe { std::slice::from_raw_parts(start, length) }
}

/// # Safety
/// As [`std::slice::from_raw_parts_mut`].
unsafe fn slice_mut<'a>(start: *mut u8, length: usize) -> &'a mut [u8] {
    // SAFETY: promised.
    unsafe { std::slice::from_raw_parts_mut(start, length) }
}
