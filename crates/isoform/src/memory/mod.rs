//! Records whose format is known only at run time, for bindings of other languages: structs of C, rows of a table in
//! Python.
//!
//! [`isoform::Encoder`](crate::Encoder) and [`isoform::Decoder`](crate::Decoder) know from a Rust type that memory has
//! a certain format. Here, a program passes memory and a [`Format`], and promises that they match. The work is the same
//! and is done here. The typed ones add the type.
//!
//! ```
//! use isoform::{Aligned, FieldList, Incoming, Machine, Registry, Rules, memory};
//! // struct { int step; double depth; }, as a table in C tells it.
//! let format = FieldList::new("Sample").field("step", "int", 4, 0).field("depth", "double", 8, 8);
//! let format = format.format(Machine::NATIVE, 16, 8)?;
//! let mut sample = Aligned::from(&[0; 16][..]);
//! sample[..4].copy_from_slice(&7i32.to_ne_bytes());
//!
//! let mut encoder = memory::Encoder::new(&format)?;
//! // SAFETY: 16 bytes that are such a struct, and stay as they are.
//! let message = unsafe { encoder.encode(sample.as_ptr())? }.to_vec();
//!
//! // Elsewhere, and with another layout: struct { double depth, step; }.
//! let seen = FieldList::new("Seen").field("depth", "double", 8, 0).field("step", "double", 8, 8);
//! let mut decoder = memory::Decoder::new(&seen.format(Machine::NATIVE, 16, 8)?, Rules::new())?;
//! # let mut registry = Registry::new();
//! # registry.register(&format)?;
//! let record = decoder.decode(&Incoming::parse(&message, &mut registry)?)?;
//! assert_eq!(record[8..], 7f64.to_ne_bytes());
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! `encoder` and `decoder` are the two ends; `kinds` decodes as one of several formats. `conversion` caches the conversion of each wire format, and `engine` runs
//! it.

mod conversion;
mod decoder;
mod encoder;
mod engine;
mod kinds;
#[cfg(test)]
mod tests;

pub(crate) use conversion::{Conversions, Receiver};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use engine::Engine;
pub use kinds::{Chosen, KindDecoder};

use crate::native::MAX_ALIGN;
use isoform_core::{Code, Element, Error, Format, Machine, Result, Structure};

/// Checks that records of a format can be in this process's memory. Records without pointers always can, whatever their
/// machine.
fn admit(format: &Format) -> Result<()> {
    let (here, machine) = (Machine::NATIVE, format.machine());
    if machine == here || !format.structure().has_slots() {
        return Ok(());
    }
    let error = Error::new(Code::WrongType).at(format.name());
    Err(error.expected(format_args!("pointers of this machine ({here:?})")).found(format_args!("those of {machine:?}")))
}

/// Checks that records, and the memory that they point at, can be aligned as they require.
fn admit_alignment(format: &Format) -> Result<()> {
    aligned(format.structure().align(), MAX_ALIGN).map_err(|error| error.at(format.name()))?;
    admit_blocks(format.structure())
}

fn admit_blocks(structure: &Structure) -> Result<()> {
    for field in structure.fields() {
        let Element::Structure(inner) = &field.element else { continue };
        if field.indirect {
            let fits = aligned(inner.align(), field.element.block_alignment());
            fits.map_err(|error| error.at(&*field.name).within(structure.name()))?;
        }
        admit_blocks(inner)?;
    }
    Ok(())
}

fn aligned(to: usize, most: usize) -> Result<()> {
    if to <= most {
        return Ok(());
    }
    Err(Error::new(Code::WrongType).expected(format_args!("an alignment of at most {most}")).found(to))
}
