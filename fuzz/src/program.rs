//! Compiled programs, and their debug information: whatever it says, a struct has a format or is refused.

use crate::{description, refusal};
use isoform_xmit::Program;

/// So many structs are looked at.
const STRUCTS: usize = 8;

/// The input is an ELF file.
pub fn check(input: &[u8]) {
    let program = match Program::read(input) {
        Ok(program) => program,
        Err(error) => return refusal(&error),
    };
    for name in program.names().take(STRUCTS) {
        match program.format(name) {
            Ok(format) => description::check(format.description().as_bytes()),
            Err(error) => refusal(&error),
        }
    }
}
