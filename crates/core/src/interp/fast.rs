//! The commonest conversions, by the kernel that does them to whole arrays.
//!
//! A kernel only finds out whether all numbers fit. What is done about one that does not is `convert`'s business.

use crate::format::{ByteOrder, FloatKind};
use crate::plan::{Conversion, NumberClass};
use isoform_kernels::{Kind, Number};

/// Converts each number of `src`, if there is a kernel for it and every number is sure to fit. If not, `dst` is to be
/// filled anew.
#[inline]
pub(super) fn convert(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> bool {
    let Conversion { from, to, .. } = *conversion;
    match (number(from), number(to)) {
        (Some(kernel_from), Some(kernel_to)) if to.order == ByteOrder::NATIVE => {
            isoform_kernels::convert(kernel_from, kernel_to, from.order != to.order, src, dst)
        }
        _ => false,
    }
}

fn number(number: crate::plan::Number) -> Option<Number> {
    let kind = match number.class {
        NumberClass::Signed => Kind::Signed,
        NumberClass::Unsigned => Kind::Unsigned,
        NumberClass::Float(FloatKind::Ieee) => Kind::Float,
        NumberClass::Float(FloatKind::Brain) => Kind::Brain,
        _ => return None,
    };
    Some(Number { kind, size: number.size })
}
