//! Records of a few values that have no struct: those of [`emit!`](crate::emit!).
//!
//! Invariant of [`Encoders`]: (1) each entry has the encoder of the format that the function at its key has made. A function makes the
//! same format of the same labels each time, and the labels are always those of the same place.

use super::Part;
use super::declare::{Fields, Placed};
use crate::memory::Encoder;
use crate::message::Shared;
use isoform_core::{Format, Result};
use std::mem::offset_of;

/// The name of a value, and its unit of measurement.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// The name of the field.
    pub name: &'static str,
    /// Its unit.
    pub unit: Option<&'static str>,
}

/// Values, one behind another, as C would place them.
#[repr(C)]
pub struct Chain<P, T>(P, T);

impl<P, T> Chain<P, T> {
    /// A value behind others.
    pub fn new(before: P, value: T) -> Chain<P, T> {
        Chain(before, value)
    }
}

/// Values that are a record: none, or a [`Chain`].
///
/// # Safety
/// As for [`Part`], for the fields that [`declare`](Parts::declare) adds, if the value begins where the record does.
pub unsafe trait Parts<'a>: Sized + 'a {
    /// The number of values.
    const COUNT: usize;

    /// Adds the fields. There is a label for each value.
    #[doc(hidden)]
    fn declare(labels: &[Label], fields: &mut Fields);
}

// SAFETY: there are no fields.
unsafe impl Parts<'_> for () {
    const COUNT: usize = 0;

    fn declare(_: &[Label], _: &mut Fields) {}
}

// SAFETY: the fields of the values before are where the chain begins, and so does their own memory; that of the last is where
// `repr(C)` puts it.
unsafe impl<'a, P: Parts<'a>, T: Part<'a>> Parts<'a> for Chain<P, T> {
    const COUNT: usize = P::COUNT + 1;

    fn declare(labels: &[Label], fields: &mut Fields) {
        const { assert!(offset_of!(Chain<P, T>, 0) == 0) }
        let Some((label, before)) = labels.split_last() else { return };
        P::declare(before, fields);
        Placed::at::<T>(label, offset_of!(Chain<P, T>, 1)).add_to(fields);
    }
}

/// The format of such a record.
fn format<'a, C: Parts<'a>>(name: &str, labels: &[Label]) -> Result<Format> {
    let mut fields = Fields::default();
    C::declare(labels, &mut fields);
    fields.format(name, size_of::<C>(), align_of::<C>())
}

/// The encoders of one place, for each kind of values that it has had: there are several in a generic function.
pub(crate) struct Encoders(Vec<(usize, Encoder)>);

impl Encoders {
    pub(crate) const fn new() -> Encoders {
        Encoders(Vec::new())
    }

    /// Encodes a record of these values. The labels and the name must be the same with each call.
    pub(crate) fn encode<'a, C: Parts<'a>>(&mut self, name: &str, labels: &[Label], values: &C) -> Result<Shared> {
        assert_eq!(labels.len(), C::COUNT, "a label for each value");
        let make: fn(&str, &[Label]) -> Result<Format> = format::<C>;
        let key = make as usize;
        let at = match self.0.iter().position(|(made, _)| *made == key) {
            Some(at) => at,
            None => {
                self.0.push((key, Encoder::of(&make(name, labels)?))); // (1)
                self.0.len() - 1
            }
        };
        // SAFETY: by (1) the format is the one that the function at this address makes; even if the compiler has given one address
        // to the functions of two types, these make the same formats. By Parts' promise the values are a record of it, which stays
        // as it is
        // for as long as the message is used.
        unsafe { self.0[at].1.encode_value((&raw const *values).cast(), false)?.to_shared() }
    }
}
