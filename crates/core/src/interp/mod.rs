//! The interpreter: runs the steps of a plan at once, and is the judge of every other engine.
//!
//! The source is a verified [`Body`]. The result is a record of the plan's native format *in message form*: the record,
//! then its blocks in the order of the walk, with offsets in pointer slots. So the result is itself a body of that
//! format. The owner of the memory replaces offsets with addresses. `convert` converts single numbers, and `wide` the
//! rarer kinds.

mod array;
mod bytes;
mod convert;
mod each;
mod many;
#[doc(hidden)]
pub mod part;
mod schedule;
mod wide;
mod within;

use crate::error::{Code, Error, Result};
use crate::plan::{Conversion, Plan, Step, Symbols, Transform};
use crate::verify::Body;
use convert::Fault;
use isoform_kernels::{ieee, is_ieee};
pub use many::run_many;
pub use within::run_within;

/// Where a converted record goes: bytes that grow and shrink at their end.
///
/// New bytes of a `Vec<u8>` are zero; another output may leave there whatever bytes it had, if gaps never leave the
/// process from it.
pub trait Output {
    /// All bytes so far.
    fn bytes(&mut self) -> &mut [u8];

    /// Makes the output `length` bytes long.
    ///
    /// # Errors
    /// [`Code::Size`] if it may not become so long.
    fn resize(&mut self, length: usize) -> Result<()>;
}

impl Output for Vec<u8> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    #[inline]
    fn resize(&mut self, length: usize) -> Result<()> {
        Vec::resize(self, length, 0);
        Ok(())
    }
}

/// Memory of a fixed size, for the result of a conversion without pointers.
struct Fixed<'a>(&'a mut [u8]);

impl Output for Fixed<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.0
    }

    fn resize(&mut self, length: usize) -> Result<()> {
        if length == self.0.len() {
            Ok(())
        } else {
            Err(Error::new(Code::Internal).found("a block in a record without pointers"))
        }
    }
}

/// Converts a body into `out`, which must be empty.
///
/// # Errors
/// [`Code::Overflow`], [`Code::Underflow`], [`Code::Inexact`], [`Code::UnknownSymbol`], [`Code::TooLong`],
/// [`Code::Lengths`], [`Code::Shape`] or [`Code::Null`] at the field that does not fit; [`Code::Size`] if the result is
/// larger than its pointers, or `out`, can hold. What `out` holds then is of no use.
///
/// # Panics
/// If the body is not of the plan's wire format.
#[inline]
pub fn run(plan: &Plan, body: Body<'_>, out: &mut impl Output) -> Result<()> {
    assert!(body.format() == plan.wire(), "a plan runs on bodies of its wire format");
    out.resize(plan.native().size())?;
    let run = Run { plan, src: body.bytes(), out };
    if plan.steps().computes_floats() && !is_ieee() {
        return run.all_in_ieee();
    }
    run.all()
}

/// Converts a body into `out`, whose content it replaces, and returns the result as a body of the native format.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_to<'a>(plan: &'a Plan, body: Body<'_>, out: &'a mut Vec<u8>) -> Result<Body<'a>> {
    out.clear();
    run(plan, body, out)?;
    Ok(Body::converted(plan.native(), out))
}

/// Converts a body into memory of exactly the native record's size, for formats without pointers. Gaps are left as they
/// are.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// If the body is not of the plan's wire format, or `dst` not of the native format's size.
#[inline]
pub fn run_fixed(plan: &Plan, body: Body<'_>, dst: &mut [u8]) -> Result<()> {
    assert_eq!(dst.len(), plan.native().size(), "the destination holds one native record");
    run(plan, body, &mut Fixed(dst))
}

struct Run<'a, O> {
    plan: &'a Plan,
    src: &'a [u8],
    out: &'a mut O,
}

impl<O: Output> Run<'_, O> {
    /// Runs the whole plan.
    #[inline]
    fn all(mut self) -> Result<()> {
        match self.plan.steps().schedule() {
            Some(schedule) => self.scheduled(schedule),
            None => self.steps(self.plan.steps(), 0, 0),
        }
    }

    /// The same, in a thread that has set other floating-point modes. Apart, so that the usual way has no closure, which
    /// would keep the run in memory.
    #[cold]
    #[inline(never)]
    fn all_in_ieee(self) -> Result<()> {
        ieee(|| self.all())
    }

    /// Runs steps on the record or element that begins at `src` and goes to `dst`.
    fn steps(&mut self, steps: &[Step], src: usize, dst: usize) -> Result<()> {
        steps.iter().try_for_each(|step| self.step(step, src, dst))
    }

    #[inline]
    fn step(&mut self, step: &Step, src: usize, dst: usize) -> Result<()> {
        match step {
            Step::Move { src: from, dst: to, len } => {
                bytes::copy(&self.src[src + from..][..*len], &mut self.out.bytes()[dst + to..][..*len]);
            }
            Step::Permute { width, swap, pairs } => {
                bytes::permute(*width, *swap, pairs, &self.src[src..], &mut self.out.bytes()[dst..]);
            }
            Step::Elements { src: from, dst: to, count, transform: Transform::Swap { width, per }, .. } => {
                self.swap(src + from, dst + to, *width, per * count);
            }
            Step::Elements { src: from, dst: to, count, transform: Transform::Convert { conversion, per }, field } => {
                return self.convert(src + from, dst + to, *count, conversion, *per, *field, &[]);
            }
            Step::Elements { src: from, dst: to, count: 1, transform: Transform::String, field } => {
                return self.string(src + from, dst + to).map_err(|error| self.located(error, *field));
            }
            Step::Elements { src: from, dst: to, count, transform, field } => {
                let done = self.elements(src + from, dst + to, *count, transform, *field, &[]);
                return done.map_err(|error| self.located(error, *field));
            }
            Step::Array(array) => {
                return self.array(array, src, dst).map_err(|error| self.located(error, array.field));
            }
            Step::Fill { dst: to, bytes } => bytes.put(&mut self.out.bytes()[dst + to..]),
            Step::Text { dst: to, text, field } => {
                return self.put_string(text, dst + to).map_err(|error| self.located(error, *field));
            }
            Step::Chars { src: from, dst: to, len, field } => return self.chars(src + from, dst + to, *len, *field),
            Step::Str { src: from, len, dst: to, field } => {
                return self.str(src + from, *len, dst + to).map_err(|error| self.located(error, *field));
            }
        }
        Ok(())
    }

    #[inline]
    fn swap(&mut self, src: usize, dst: usize, width: usize, count: usize) {
        let length = width * count;
        isoform_kernels::swap(width, &self.src[src..][..length], &mut self.out.bytes()[dst..][..length]);
    }

    /// Transforms `count` consecutive elements. `dims` are the array's dimensions, if only the record knows them.
    #[inline(never)]
    fn elements(
        &mut self,
        src: usize,
        dst: usize,
        count: usize,
        transform: &Transform,
        field: usize,
        dims: &[usize],
    ) -> Result<()> {
        match transform {
            Transform::Copy(size) => {
                let length = size * count;
                self.out.bytes()[dst..][..length].copy_from_slice(&self.src[src..][..length]);
            }
            Transform::Swap { width, per } => self.swap(src, dst, *width, per * count),
            Transform::Convert { conversion, per } => self.convert(src, dst, count, conversion, *per, field, dims)?,
            Transform::Symbols(symbols) => self.symbols(src, dst, count, symbols, field, dims)?,
            Transform::String => {
                let (from, to) = (self.plan.wire().machine(), self.plan.native().machine());
                for index in 0..count {
                    let slot = src + index * usize::from(from.pointer);
                    self.string(slot, dst + index * usize::from(to.pointer))?;
                }
            }
            Transform::Each { src: from, dst: to, steps } => {
                self.each(src, dst, count, (*from, *to), steps, field, dims)?;
            }
        }
        Ok(())
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "as `elements`")]
    fn convert(
        &mut self,
        src: usize,
        dst: usize,
        count: usize,
        conversion: &Conversion,
        per: usize,
        field: usize,
        dims: &[usize],
    ) -> Result<()> {
        let numbers = count * per;
        let from = &self.src[src..][..numbers * usize::from(conversion.from.size)];
        let to = &mut self.out.bytes()[dst..][..numbers * usize::from(conversion.to.size)];
        convert::convert(conversion, from, to).map_err(|fault| self.misfit(fault, conversion, field, per, dims))
    }

    #[cold]
    fn misfit(&self, fault: Fault, conversion: &Conversion, field: usize, per: usize, dims: &[usize]) -> Error {
        let error = self.plan.fault(fault.code, field, Some(fault.index / per), dims);
        error.expected(describe(conversion.to)).found(fault.found)
    }

    #[inline(never)]
    fn symbols(
        &mut self,
        src: usize,
        dst: usize,
        count: usize,
        symbols: &Symbols,
        field: usize,
        dims: &[usize],
    ) -> Result<()> {
        let (from, to) = (usize::from(symbols.from.size), usize::from(symbols.to.size));
        for index in 0..count {
            let value = convert::integer(symbols.from, &self.src[src + index * from..][..from]);
            let number = symbols.look_up(value).map_err(|symbol| {
                let found = symbol.map_or_else(|| value.to_string(), str::to_string);
                let error = self.plan.fault(Code::UnknownSymbol, field, Some(index), dims);
                error.expected("a symbol that the receiver knows").found(found)
            })?;
            convert::store_integer(symbols.to, number, &mut self.out.bytes()[dst + index * to..][..to]);
        }
        Ok(())
    }

    /// Adds this field to an error without a path, such as that of a block without room.
    #[cold]
    fn located(&self, error: Error, field: usize) -> Error {
        match self.plan.field(field) {
            Some((path, _)) if error.path().is_empty() => error.at(path),
            _ => error,
        }
    }

    /// Puts the index of an element into the path of an error that happened within it.
    #[cold]
    fn in_element(&self, error: Error, field: usize, index: usize, dims: &[usize]) -> Error {
        match error.path().rfind("[]") {
            Some(at) if self.plan.field(field).is_none_or(|(_, native)| !native.dims.is_empty()) => {
                let brackets = self.plan.index_text(field, index, dims);
                let path = format!("{}{brackets}{}", &error.path()[..at], &error.path()[at + 2..]);
                error.at(path)
            }
            _ => error,
        }
    }

    /// The bytes of the string that the slot at `slot` points at, or `None` if it is null.
    fn string_at(&self, slot: usize) -> Option<&[u8]> {
        let machine = self.plan.wire().machine();
        let offset = machine.read(&self.src[slot..][..machine.pointer.into()]) as usize;
        let text = &self.src[offset..];
        (offset != 0).then(|| &text[..memchr::memchr(0, text).unwrap_or(text.len())])
    }

    #[inline(never)]
    fn string(&mut self, src: usize, dst: usize) -> Result<()> {
        let machine = self.plan.wire().machine();
        let offset = machine.read(&self.src[src..][..machine.pointer.into()]) as usize;
        if offset == 0 {
            return self.put_slot(dst, 0);
        }
        let text = &self.src[offset..];
        self.put_string(&text[..memchr::memchr(0, text).unwrap_or(text.len())], dst)
    }

    fn str(&mut self, src: usize, len: usize, dst: usize) -> Result<()> {
        let chars = &self.src[src..][..len];
        let end = chars.iter().position(|&byte| byte == 0).unwrap_or(len);
        self.put_string(&chars[..end], dst)
    }

    #[inline(never)]
    fn chars(&mut self, src: usize, dst: usize, len: usize, field: usize) -> Result<()> {
        let text = self.string_at(src).unwrap_or(&[]);
        if text.len() >= len && self.plan.faults() == crate::plan::Faults::Error {
            let error = self.plan.fault(Code::TooLong, field, None, &[]);
            return Err(error.expected(format_args!("at most {} bytes and a NUL", len - 1)).found(text.len()));
        }
        let kept = text.len().min(len - 1);
        let text = text[..kept].to_owned();
        let place = &mut self.out.bytes()[dst..][..len];
        place[..kept].copy_from_slice(&text);
        place[kept..].fill(0);
        Ok(())
    }

    /// Lays down a string block, and points the slot at `dst` at it.
    #[inline]
    fn put_string(&mut self, text: &[u8], dst: usize) -> Result<()> {
        let block = self.block(text.len() + 1, 8)?;
        let place = &mut self.out.bytes()[block..];
        bytes::copy(text, &mut place[..text.len()]);
        place[text.len()] = 0;
        self.put_slot(dst, block)
    }

    /// Adds a block of `length` bytes at the next multiple of `align`.
    fn block(&mut self, length: usize, align: usize) -> Result<usize> {
        let end = self.out.bytes().len();
        let start = end.next_multiple_of(align);
        let past = start.checked_add(length).filter(|&past| past <= isize::MAX as usize);
        self.out.resize(past.ok_or_else(|| Error::new(Code::Size))?)?;
        let gap = &mut self.out.bytes()[end..];
        match gap.first_chunk_mut::<16>() {
            // No gap is longer, and the bytes after it are written next. So its length need not be computed.
            Some(gap) => *gap = [0; 16],
            None => gap[..start - end].fill(0),
        }
        Ok(start)
    }

    fn put_slot(&mut self, dst: usize, offset: usize) -> Result<()> {
        let machine = self.plan.native().machine();
        if machine.pointer == 4 && offset > u32::MAX as usize {
            return Err(Error::new(Code::Size).expected("offsets of 4 bytes").found(offset));
        }
        machine.write(&mut self.out.bytes()[dst..][..machine.pointer.into()], offset as u64);
        Ok(())
    }
}

fn describe(number: isoform_kernels::Number) -> String {
    use isoform_kernels::NumberClass::*;
    let word = match number.class {
        Signed => "integer",
        Unsigned => "unsigned integer",
        Boolean => "boolean",
        Float(_) => "float",
    };
    format!("{word} of {} byte{}", number.size, if number.size == 1 { "" } else { "s" })
}
