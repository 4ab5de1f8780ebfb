//! The demonstration.

use crate::args::Demo;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(_: &Demo, _: &mut Output) -> Result<(), Failure> {
    Err(Failure::usage("this version has no demonstration yet"))
}
