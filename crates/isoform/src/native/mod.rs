//! Native memory: the Rust types that a record can consist of, and the few places that access its bytes.
//!
//! [`Native`] and [`Part`] state how the memory of a type is laid out. The derive implements `Native` for structs and
//! enumerations, and `declare` builds their formats. [`Str`], [`Array`] and [`Ref`] are the borrowed parts of records:
//! safe pointers whose slots in memory are plain addresses. [`Strided`] arrays become such arrays when they are sent.
//!
//! The other modules work on memory by its format alone, whatever language it came from. `outline` finds the gaps and
//! slots of a format. `gather` collects a record and everything that it points at into the buffers of a message, in the
//! `way` that costs least. `owned_body` owns the memory of such buffers, `gaps` clears gaps, and `relocate` turns the
//! offsets of a body into addresses. `aligned`, `buffer` and `scratch` are memory. The `unsafe` code of this crate is
//! here, and each file states the basis of its proofs.
//!
//! This module and `message` use each other. `gather` returns a [`Message`](crate::Message), because its lifetime keeps what
//! the buffers borrow; and [`Shared`](crate::Shared) is the public form of `owned_body`.

pub(crate) mod aligned;
mod array;
pub(crate) mod buffer;
pub(crate) mod chain;
mod declare;
mod gaps;
pub(crate) mod gather;
mod number;
pub(crate) mod outline;
pub(crate) mod owned_body;
mod pointer;
pub(crate) mod relocate;
pub(crate) mod scratch;
mod str;
mod strided;
#[cfg(test)]
mod tests;
mod way;

pub use aligned::Aligned;
pub use array::{Array, Slice};
pub use declare::{Declared, Fields, Placed, deeper, enumeration, format, nested_rules, structure};
pub use number::{Bf16, Char, Complex, DoubleDouble, F16, F128, Real, X87};
pub use pointer::Ref;
pub use str::Str;
pub use strided::Strided;

use isoform_core::{Dimension, Element, Rules};

/// The type of a record, and of the elements of an array: a value whose memory is exactly as its format says.
///
/// These are numbers, `bool`, [`Str`], fixed arrays of these, and all types that derive [`Record`](crate::Record) with
/// `#[repr(C)]`, or [`Enumeration`](macro@crate::Enumeration). Slots are valid for `'a`. A type without slots is
/// `Native` for all lifetimes.
///
/// # Safety
/// Decoding makes values of this type from bytes of strangers, and encoding sends the bytes of values. So an
/// implementation promises:
///
/// 1. the type has the size of [`element`](Native::element) times the product of [`dims`](Native::dims); its fields lie
///    where the element says, and bytes of no field there are padding or initialised;
/// 2. initialised bytes that a [`Verifier`](isoform_core::Verifier) of such a format has found valid, and whose slots
///    were replaced by null or exposed addresses of as many valid elements as the lengths say, aligned, and unchanged
///    for `'a`, are a value of the type; and every value's bytes are of this kind;
/// 3. values hold no interior mutability and need no drop, so that their bytes may be copied;
/// 4. its alignment is at most [`MAX_ALIGN`], and that of its elements in an array is a divisor of
///    [`Element::block_alignment`];
/// 5. if it is `Native` for every lifetime, it has no slots.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of an array or record that is sent as it lies in memory",
    note = "derive `Record` with `#[repr(C)]`, or `Enumeration` with `#[repr(i32)]` or the like"
)]
pub unsafe trait Native<'a>: Sized + 'a {
    /// The number of levels of nested structures.
    const DEPTH: usize;

    /// The type of one element.
    fn element() -> Element;

    /// Adds the dimensions of a fixed array, with the slowest-varying first.
    fn dims(_dims: &mut Vec<Dimension>) {}

    /// Adds the rules of its declaration: aliases, defaults and required fields.
    fn rules(rules: Rules) -> Rules {
        rules
    }
}

/// The largest alignment of a record, and the alignment of decoded records.
pub const MAX_ALIGN: usize = 64;

/// The type of a field in a `#[repr(C)]` record: a [`Native`] type, or a pointer to one: [`Array`], [`Ref`].
///
/// # Safety
/// As for [`Native`], for the one or more fields that [`declare`](Part::declare) adds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record that is sent as it lies in memory",
    label = "not a field of a `#[repr(C)]` record",
    note = "fields are numbers, `bool`, `[T; N]`, `Str<'_>`, `Slice<'_, T>`, `Array<'_, T, N>`, `Ref<'_, T>`, and types \
            that derive `Record` with `#[repr(C)]`, or `Enumeration`",
    note = "a record that owns `String` or `Vec` derives `Record` without `#[repr(C)]`"
)]
pub unsafe trait Part<'a>: Sized + 'a {
    /// The number of levels of nested structures.
    const DEPTH: usize;

    /// Adds its fields to the fields of a structure.
    fn declare(placed: &Placed, fields: &mut Fields);

    /// As [`Native::rules`].
    fn rules(rules: Rules) -> Rules;
}

/// Plain memory: a [`Native`] type without pointers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain memory without pointers",
    note = "numbers, `bool`, enumerations, and `#[repr(C)]` records that borrow nothing are"
)]
pub trait Flat: for<'a> Native<'a> + 'static {}

/// A copy of a value that borrows nothing.
pub(crate) fn copy<T: Flat>(value: &T) -> T {
    // SAFETY: Native's promise (3): its bytes are the value, and nothing is dropped twice.
    unsafe { std::ptr::read(value) }
}

/// Copies of values that borrow nothing.
pub(crate) fn copy_all<T: Flat>(values: &[T]) -> Vec<T> {
    let mut copies = Vec::with_capacity(values.len());
    // SAFETY: as above; there is room for all of them.
    unsafe {
        std::ptr::copy_nonoverlapping(values.as_ptr(), copies.as_mut_ptr(), values.len());
        copies.set_len(values.len());
    }
    copies
}

// SAFETY: its fields are those of the type itself (1-5).
#[diagnostic::do_not_recommend]
unsafe impl<'a, T: Native<'a>> Part<'a> for T {
    const DEPTH: usize = T::DEPTH;

    fn declare(placed: &Placed, fields: &mut Fields) {
        let mut dims = Vec::new();
        T::dims(&mut dims);
        fields.add(placed, T::element(), dims, false);
    }

    fn rules(rules: Rules) -> Rules {
        T::rules(rules)
    }
}

// SAFETY: (1) N elements follow one another without gaps, as a dimension in front of T's own says; (2-5) as T's.
unsafe impl<'a, T: Native<'a>, const N: usize> Native<'a> for [T; N] {
    const DEPTH: usize = {
        assert!(N > 0, "an array of a record has at least one element");
        T::DEPTH
    };

    fn element() -> Element {
        T::element()
    }

    fn dims(dims: &mut Vec<Dimension>) {
        dims.push(Dimension::Fixed(N));
        T::dims(dims);
    }

    fn rules(rules: Rules) -> Rules {
        T::rules(rules)
    }
}
