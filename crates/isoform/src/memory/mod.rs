//! Records whose format is known only when the program runs: structs of C, rows of a table in Python, whatever a binding is
//! for another language.
//!
//! [`isoform::Encoder`](crate::Encoder) and [`isoform::Decoder`](crate::Decoder) know by a Rust type that memory is what a
//! format says. Here there is memory and a [`Format`], and whoever calls promises that they belong together. What is done
//! with them is the same, and done here: the typed ones give out what these make as what their type says that it is.
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
//! `encoder` and `decoder` are the two ends; `conversion` remembers for each wire format what must be done, and `engine`
//! does it.

mod conversion;
mod decoder;
mod encoder;
mod engine;

pub(crate) use conversion::{Conversions, Receiver};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use engine::Engine;

use crate::native::MAX_ALIGN;
use crate::{Code, Error, Format, Machine, Result};
use isoform_core::{Element, Structure};

/// Checks that records of a format can lie in this process's memory: those without pointers always do, whatever machine
/// they are of.
fn admit(format: &Format) -> Result<()> {
    let (here, machine) = (Machine::NATIVE, format.machine());
    if machine == here || !format.structure().has_slots() {
        return Ok(());
    }
    let error = Error::new(Code::WrongType).at(format.name());
    Err(error.expected(format_args!("pointers of this machine ({here:?})")).came(format_args!("those of {machine:?}")))
}

/// Checks that records, and what they point at, can be put where their alignment wants them.
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
    Err(Error::new(Code::WrongType).expected(format_args!("an alignment of at most {most}")).came(to))
}
