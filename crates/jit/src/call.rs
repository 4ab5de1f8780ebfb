//! Calls into generated code, and from generated code back.
//!
//! Proofs refer to these:
//! 1. [`enter`], [`into_fixed`] and [`into_records`] call a function with nothing but a verified body of its plan's wire
//!    format, and room for a record of its native format.
//! 2. [`Context::base`] is the start of [`Context::room`] initialised bytes that nothing else refers to, and
//!    [`Context::length`] is at most that. Only [`Context::reserve`] changes the output. It then calls [`Context::take`],
//!    which looks at the output again, so it need not trust the length that the output claims.
//! 3. Generated code reads and writes the bytes that the steps of its plan do. The plan proves that fixed places are in
//!    the record or element; the verifier proves the slots and lengths of the source; and blocks of the destination are
//!    as long as [`block`] and [`string`] were asked for.
//! 4. Blocks move when the output grows. So generated code reads [`Context::base`] again after each call that may add a
//!    block, and ends at once if that call failed.
//! 5. Steps, conversions and constants that generated code refers to by address are those of its plan, which the
//!    function owns.
//! 6. The arguments of the functions below follow from (3): a `src` is in the body or is a constant, a `dst` is in the
//!    output, both have the stated number of bytes, and the context is that of the call, with no reference to it left
//!    while generated code runs. Bodies are borrowed, and outputs exclusively: they do not overlap.

use crate::generate::{Generated, Made};
use crate::memory::Executable;
use isoform_core::interp::{Output, part};
use isoform_core::plan::{Conversion, Step};
use isoform_core::{Bodies, Body, Code, Error, Format, Plan, Result};
use isoform_kernels::{SHORT_TEXT, short_text, text};
use std::slice::SliceIndex;
use std::sync::Arc;
use std::{mem, ptr};

/// The function at the start of generated code.
///
/// # Safety
/// As (1) says of `src` and `dst`; `context` is that of the call, with (2).
pub(crate) type Entry = unsafe extern "C" fn(src: *const u8, dst: *mut u8, context: *mut Context<'_>) -> usize;

/// The same for many bodies: `count` bodies, at least one, each `stride` bytes after the one before, become consecutive
/// records. Returns the number of bodies that are left, starting with the first that does not fit.
///
/// # Safety
/// As (1) says of every `src` and `dst`.
pub(crate) type Many = unsafe extern "C" fn(src: *const u8, dst: *mut u8, count: usize, stride: usize) -> usize;

/// The result of a helper that has no offset to return.
pub(crate) const NONE: usize = usize::MAX;

/// Generated code, with everything that it refers to.
pub(crate) struct Function {
    entry: Entry,
    many: Option<Many>,
    plan: Arc<Plan>,
    executable: Executable,
    /// Bytes of a native record without its blocks.
    size: usize,
    /// Whether the native record has no blocks.
    flat: bool,
    /// Whether it needs no context.
    alone: bool,
}

impl Function {
    /// Makes a function of generated code. `None` if the system does not allow that.
    pub(crate) fn new(generated: Generated) -> Option<Function> {
        let (Made { code, alone, many, .. }, plan) = generated.into_parts();
        let executable = Executable::new(&code)?;
        // SAFETY: the mapping has the code (invariant 1 of `Executable`), which begins with a function of this type (as
        // `Made` and invariant 1 of `Generated` say), and is kept for as long as the function, as is the plan (5).
        let entry = unsafe { mem::transmute::<*const u8, Entry>(executable.start()) };
        let many = many.filter(|&at| at < code.len()).map(|at| {
            // SAFETY: the same, of the place where this function begins, which is within the mapping.
            unsafe { mem::transmute::<*const u8, Many>(executable.start().add(at)) }
        });
        let (size, flat) = (plan.native().size(), !plan.native().structure().has_slots());
        Some(Function { entry, many, plan, executable, size, flat, alone })
    }

    /// Bytes of machine code.
    pub(crate) fn size(&self) -> usize {
        self.executable.len()
    }

    pub(crate) fn is_for_many(&self) -> bool {
        self.many.is_some()
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    #[inline]
    fn accepts(&self, format: &Format) {
        assert!(format == self.plan.wire(), "a plan runs on bodies of its wire format");
    }
}

/// The argument that generated code passes to the functions it calls.
#[repr(C)]
pub(crate) struct Context<'a> {
    /// The start of the output.
    pub(crate) base: *mut u8,
    /// The length of the output so far.
    pub(crate) length: usize,
    /// The room of the output.
    pub(crate) room: usize,
    /// The length of the body.
    pub(crate) came: usize,
    src: &'a [u8],
    plan: &'a Plan,
    out: &'a mut dyn Output,
}

/// This much more room than may be needed is reserved, so that short blocks can be written as whole vectors.
const SPARE: usize = 256;

/// What begins at a multiple of this has an address that suits strings.
const ALIGN: usize = 8;
/// The longest gap that is cleared without computing its length, and one byte.
const GAP: usize = 16;
/// The longest string that is copied in one pass.
const LONG: usize = 128;

/// Converts a body into an output. Returns whether everything fitted.
///
/// # Panics
/// If the body is not of the plan's wire format.
#[inline]
pub(crate) fn into_output(function: &Function, body: Body<'_>, out: &mut impl Output) -> bool {
    function.accepts(body.format());
    let (src, size) = (body.bytes(), function.size);
    if function.flat {
        return out.resize(size).is_ok() && into_fixed(function, src, out.bytes());
    }
    // Most outputs are as long as their body, or twice as long if numbers are widened.
    let room = size.saturating_add(src.len().saturating_mul(2)).saturating_add(SPARE);
    if out.resize(room).is_err() && out.resize(size).is_err() {
        return false;
    }
    enter(function, src, out).is_some_and(|length| out.resize(length).is_ok())
}

/// Converts a body into a record without pointers. Returns whether everything fitted.
///
/// # Panics
/// If the body is not of the plan's wire format, or the record not of the native format's size.
#[inline]
pub(crate) fn into_record(function: &Function, body: Body<'_>, record: &mut [u8]) -> bool {
    assert_eq!(record.len(), function.size, "the destination holds one native record");
    function.accepts(body.format());
    into_fixed(function, body.bytes(), record)
}

/// The same, for a body of the plan's wire format and a record of the native format's size.
#[inline]
fn into_fixed(function: &Function, src: &[u8], record: &mut [u8]) -> bool {
    if !function.alone || record.len() != function.size {
        return with_context(function, src, record);
    }
    // SAFETY: (1): the body is verified and of the plan's format, and the record is there.
    let misfits = unsafe { (function.entry)(src.as_ptr(), record.as_mut_ptr(), ptr::null_mut()) };
    misfits == 0
}

/// Converts the first of many bodies into consecutive records without pointers. Returns their number, which ends before
/// the first body that does not fit; `None` if there is no code for many.
///
/// # Panics
/// If the bodies are not of the plan's wire format, or the records not as long as so many of the native format.
pub(crate) fn into_records(function: &Function, bodies: Bodies<'_>, records: &mut [u8]) -> Option<usize> {
    let many = function.many?;
    function.accepts(bodies.format());
    let count = bodies.len();
    assert_eq!(Some(records.len()), function.size.checked_mul(count), "the destination holds as many native records");
    let (src, dst) = (bodies.bytes().as_ptr(), records.as_mut_ptr());
    // SAFETY: (1): each of the bodies, of which there is one at least, is verified and of the plan's format, and there is
    // room for as many records.
    let left = unsafe { many(src, dst, count, bodies.stride()) };
    Some(count - left)
}

#[inline(never)]
fn with_context(function: &Function, src: &[u8], record: &mut [u8]) -> bool {
    enter(function, src, &mut Record(record)).is_some()
}

/// Runs the function. Returns the length of the output if everything fitted.
#[inline]
fn enter(function: &Function, src: &[u8], out: &mut impl Output) -> Option<usize> {
    let Function { entry, plan, size, .. } = function;
    let bytes = out.bytes();
    let (base, room) = (bytes.as_mut_ptr(), bytes.len());
    if room < *size {
        return None;
    }
    let mut context = Context { base, length: *size, room, came: src.len(), src, plan, out };
    // SAFETY: (1): the body is verified and of the plan's format, and there is room for a record, as (2) says.
    let misfits = unsafe { entry(src.as_ptr(), base, &mut context) };
    (misfits == 0).then_some(context.length)
}

impl Context<'_> {
    /// Makes room for an output of this length.
    fn reserve(&mut self, length: usize) -> Result<()> {
        if length <= self.room {
            return Ok(());
        }
        // Most often as much comes as goes.
        let rest = self.src.len().saturating_sub(self.plan.wire().size());
        let room = length.max(self.room + self.room / 2).max(self.plan.native().size().saturating_add(rest));
        let grown = self.out.resize(room).or_else(|_| self.out.resize(length));
        self.take();
        match grown {
            Ok(()) if self.room < length => Err(Error::new(Code::Size).expected(length).found(self.room)),
            grown => grown,
        }
    }

    /// Updates the place and the room of the output (2).
    fn take(&mut self) {
        let bytes = self.out.bytes();
        (self.base, self.room) = (bytes.as_mut_ptr(), bytes.len());
        self.length = self.length.min(self.room);
    }

    /// Adds a block of `length` bytes at the next multiple of `align`, a power of two, and returns where it begins.
    #[inline]
    fn block(&mut self, length: usize, align: usize) -> Option<usize> {
        let before = self.length;
        let start = before.checked_add(align - 1)? & !(align - 1);
        let past = start.checked_add(length).filter(|&past| past <= isize::MAX as usize)?;
        match self.free(before..past.saturating_add(GAP)) {
            Some(room) if align <= GAP => {
                // Behind the gap, there is room for as much.
                room.first_chunk_mut::<GAP>()?.fill(0);
                self.length = past;
                Some(start)
            }
            _ => self.far_block(start, past),
        }
    }

    /// The same where there is not enough room, or more is to be cleared.
    #[cold]
    #[inline(never)]
    fn far_block(&mut self, start: usize, past: usize) -> Option<usize> {
        let before = self.length;
        self.resize(past).ok()?;
        self.bytes()[before..start].fill(0);
        Some(start)
    }

    /// Copies the string at an offset of the body, and the 0 at its end, into a block of its own, and returns where it begins.
    /// Zeros follow it: other bytes would show in the padding within the next block.
    ///
    /// `None` if the string is not short, or there is not enough behind it or its block to copy whole vectors.
    #[inline]
    fn short_string(&mut self, offset: usize) -> Option<usize> {
        let (text, before) = (self.src.get(offset..)?.first_chunk()?, self.length);
        let gap = before.wrapping_neg() % ALIGN;
        let room = self.free(before..)?.first_chunk_mut::<{ ALIGN + SHORT_TEXT }>()?;
        // What of these bytes is no gap belongs to the string.
        room[..ALIGN].fill(0);
        let length = short_text(text, room[gap..].first_chunk_mut()?)?;
        self.length = before + gap + length;
        Some(before + gap)
    }

    /// The same for all strings. `None` if there is no room.
    #[cold]
    #[inline(never)]
    fn string(&mut self, offset: usize) -> Option<usize> {
        let (body, before) = (self.src, self.length);
        let gap = before.wrapping_neg() % ALIGN;
        if let Some(room) = self.free(before..before.saturating_add(gap + LONG + GAP))
            && let Some(length) = text(body, offset, &mut room[gap..][..LONG])
        {
            room[..gap].fill(0);
            room[gap + length..][..GAP].fill(0);
            self.length = before + gap + length;
            return Some(before + gap);
        }
        let text = body.get(offset..)?;
        let text = &text[..=memchr::memchr(0, text)?];
        let start = self.block(text.len(), ALIGN)?;
        self.bytes()[start..][..text.len()].copy_from_slice(text);
        Some(start)
    }

    /// A part of the room behind the output, if there is one.
    #[inline]
    fn free(&mut self, part: impl SliceIndex<[u8], Output = [u8]>) -> Option<&mut [u8]> {
        // SAFETY: (2), and the context is borrowed for as long as the bytes are.
        unsafe { slice_mut(self.base, self.room) }.get_mut(part)
    }
}

impl Output for Context<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: (2), and the context is borrowed for as long as the bytes are.
        unsafe { slice_mut(self.base, self.length) }
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        self.reserve(length)?;
        self.length = length;
        Ok(())
    }
}

/// Memory of a fixed size, as an output.
struct Record<'a>(&'a mut [u8]);

impl Output for Record<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.0
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length == self.0.len() { Ok(()) } else { Err(Error::new(Code::Internal).found("a block in a flat record")) }
    }
}

/// A function that generated code calls. Its result is an offset, or 0 if all numbers fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    Copy,
    Zero,
    Swap,
    Numbers,
    Step,
    String,
    Block,
}

impl Helper {
    #[cfg(direct)]
    pub(crate) const ALL: [Helper; 7] =
        [Helper::Copy, Helper::Zero, Helper::Swap, Helper::Numbers, Helper::Step, Helper::String, Helper::Block];

    /// Where it is. Only this place takes addresses, since compilers may make copies of short functions.
    #[inline(never)]
    pub(crate) fn address(self) -> *const () {
        match self {
            Helper::Copy => copy as *const (),
            Helper::Zero => zero as *const (),
            Helper::Swap => swap as *const (),
            Helper::Numbers => numbers as *const (),
            Helper::Step => step as *const (),
            Helper::String => string as *const (),
            Helper::Block => block as *const (),
        }
    }

    /// The function at an address.
    #[cfg(direct)]
    pub(crate) fn at(address: u64) -> Option<Helper> {
        Helper::ALL.into_iter().find(|helper| helper.address().addr() as u64 == address)
    }

    /// Its name.
    #[cfg(direct)]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Helper::Copy => "copy",
            Helper::Zero => "zero",
            Helper::Swap => "swap",
            Helper::Numbers => "numbers",
            Helper::Step => "step",
            Helper::String => "string",
            Helper::Block => "block",
        }
    }
}

/// Copies a run.
///
/// # Safety
/// `src` and `dst` have `length` bytes each, and do not overlap.
unsafe extern "C" fn copy(src: *const u8, dst: *mut u8, length: usize) -> usize {
    // SAFETY: promised, and kept by (6).
    unsafe { src.copy_to_nonoverlapping(dst, length) };
    0
}

/// Fills a run with zeros.
///
/// # Safety
/// `dst` has `length` bytes.
unsafe extern "C" fn zero(dst: *mut u8, length: usize) -> usize {
    // SAFETY: promised, and kept by (6).
    unsafe { dst.write_bytes(0, length) };
    0
}

/// Reverses the bytes of each number of an array.
///
/// # Safety
/// `src` and `dst` have `length` bytes each, do not overlap, and are initialised.
unsafe extern "C" fn swap(src: *const u8, dst: *mut u8, length: usize, width: usize) -> usize {
    // SAFETY: promised, and kept by (6).
    let (src, dst) = unsafe { (slice(src, length), slice_mut(dst, length)) };
    isoform_kernels::swap(width, src, dst);
    0
}

/// Converts the numbers of an array.
///
/// # Safety
/// `src` and `dst` have that many numbers each, do not overlap, and are initialised. The conversion is one of a plan that
/// is there.
unsafe extern "C" fn numbers(src: *const u8, dst: *mut u8, count: usize, conversion: *const Conversion) -> usize {
    // SAFETY: promised, and kept by (5) and (6).
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
unsafe extern "C" fn step(context: *mut Context<'_>, step: *const Step, src: *const u8, dst: *const u8) -> usize {
    // SAFETY: promised, and kept by (5) and (6).
    let (context, step) = unsafe { (&mut *context, &*step) };
    let (from, to) = (src.addr() - context.src.as_ptr().addr(), dst.addr() - context.base.addr());
    let (plan, body) = (context.plan, context.src);
    usize::from(part::step(plan, step, (body, from), (context, to)).is_err())
}

/// Copies the string at an offset of the body into a block of its own, and returns the offset of the block, or 0 for
/// null.
///
/// # Safety
/// The context is that of the call.
unsafe extern "C" fn string(context: *mut Context<'_>, offset: usize) -> usize {
    if offset == 0 {
        return 0;
    }
    // SAFETY: promised, and kept by (6).
    let context = unsafe { &mut *context };
    match context.short_string(offset) {
        Some(start) => start,
        None => context.string(offset).unwrap_or(NONE),
    }
}

/// Adds a block for `count` elements of `size` bytes, and returns its offset.
///
/// # Safety
/// The context is that of the call.
unsafe extern "C" fn block(context: *mut Context<'_>, count: usize, size: usize, align: usize) -> usize {
    // SAFETY: promised, and kept by (6).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{self, Generator};
    use isoform_core::{Faults, Layout, Rules, Shape, Value, Verifier, value};

    /// Says that it became as long as it should, but never becomes longer than this.
    struct Liar {
        bytes: Vec<u8>,
        longest: usize,
    }

    impl Output for Liar {
        fn bytes(&mut self) -> &mut [u8] {
            &mut self.bytes
        }

        fn resize(&mut self, length: usize) -> Result<()> {
            self.bytes.resize(length.min(self.longest), 0);
            Ok(())
        }
    }

    #[test]
    fn an_output_that_is_shorter_than_it_said_is_not_written_beyond() {
        let shape = Shape::parse("record P\n  name  string\n  n  i64\n  levels  f64[n]\n").unwrap();
        let (wire, native) = (shape.on(&Layout::S390X).unwrap(), shape.on(&Layout::X86_64).unwrap());
        let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap());
        let levels = Value::Array(vec![Value::Float(0.5); 20]);
        let record = Value::Record(vec![("name".into(), Value::String(b"Kiel".to_vec())), ("levels".into(), levels)]);
        let body = value::body(&wire, &record).unwrap();
        let verifier = Verifier::new(&wire);
        let body = verifier.verify(&body).unwrap();
        for &generator in Generator::ALL {
            let Some(function) = generate::function(&plan, generator).and_then(Function::new) else { continue };
            let mut expected = Vec::new();
            assert!(into_output(&function, body, &mut expected));
            for longest in 0..=expected.len() {
                let mut out = Liar { bytes: vec![0; longest.min(native.size())], longest };
                assert_eq!(into_output(&function, body, &mut out), longest == expected.len(), "{longest}");
                assert!(longest < expected.len() || out.bytes == expected);
            }
        }
    }

    #[test]
    fn strings_at_the_end_of_a_body_are_copied() {
        let shape = Shape::parse("record P\n  name  string\n").unwrap();
        for (layout, length) in
            [Layout::S390X, Layout::POWERPC].iter().flat_map(|layout| (0..140).map(move |n| (layout, n)))
        {
            let (wire, native) = (shape.on(layout).unwrap(), shape.on(&Layout::X86_64).unwrap());
            let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap());
            let text: Vec<u8> = (0..length).map(|byte| byte | 0x80).collect();
            let record = Value::Record(vec![("name".into(), Value::String(text))]);
            let body = value::body(&wire, &record).unwrap();
            let verifier = Verifier::new(&wire);
            let body = verifier.verify(&body).unwrap();
            let expected = value::body(&native, &record).unwrap();
            for &generator in Generator::ALL {
                let Some(function) = generate::function(&plan, generator).and_then(Function::new) else { continue };
                let mut came = Vec::new();
                assert!(into_output(&function, body, &mut came));
                assert_eq!(came, expected, "{length} bytes by the {} generator", generator.name());
            }
        }
    }
}
