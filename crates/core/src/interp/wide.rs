//! Numbers of the rarer kinds, one by one: 16-byte integers, half and brain floats, the kinds of `long double`.

use crate::error::Code;
use crate::plan::{Conversion, Number};

pub(super) fn convert(_conversion: &Conversion, _src: &[u8], _dst: &mut [u8]) -> Result<(), (Code, String)> {
    Err((Code::Internal, "wide numbers".into()))
}

pub(super) fn integer(_number: Number, _src: &[u8]) -> i128 {
    0
}
