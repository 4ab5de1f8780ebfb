//! Raw files: records without headers, as they lay in the memory of the program that wrote them (`spec/xmit.md`, "Programs"). The option
//! `--raw` of every command that reads records.

use crate::failure::{Failure, reason};
use crate::format::only;
use crate::open::{Input, open_raw};
use crate::output::Output;
use isoform::Format;
use std::fmt;
use std::io::Read;

/// A raw file that is read.
pub(crate) struct Raw {
    /// What to call the file.
    pub(crate) name: String,
    format: Format,
    input: Input,
    records: u64,
    body: Vec<u8>,
}

/// A record as it lies in the file. As text, it says where.
pub(crate) struct Found<'r> {
    /// Its bytes, which nobody has verified.
    pub(crate) body: &'r [u8],
    number: u64,
    position: u64,
}

/// The format of the records of a raw file, of which a source has no other.
pub(crate) fn format(source: &str, output: &Output) -> Result<Format, Failure> {
    let format = only(source, output)?;
    if !format.structure().has_slots() {
        return Ok(format);
    }
    let failure = Failure::usage(format!("{} holds pointers, and a raw file has nothing behind them", format.name()));
    Err(failure.hint(
        "fwrite() writes the addresses, and what was behind them is gone; an overlay can drop the pointers, and streams carry them",
    ))
}

impl Raw {
    /// Opens a file, or `-` for standard input, with records of a format that [`format()`] has found.
    pub(crate) fn open(format: Format, file: &str, output: &Output) -> Result<Raw, Failure> {
        let (name, input) = open_raw(file, output)?;
        Ok(Raw { name, body: Vec::with_capacity(format.size()), format, input, records: 0 })
    }

    /// The next record; `None` at the end. A part of one that is left over is an error.
    pub(crate) fn next(&mut self) -> Result<Option<Found<'_>>, Failure> {
        let (name, size) = (&self.name, self.format.size());
        self.body.clear();
        let read = self.input.by_ref().take(size as u64).read_to_end(&mut self.body);
        read.map_err(|error| Failure::usage(format!("cannot read {name}: {}", reason(&error))))?;
        match self.body.len() {
            0 => Ok(None),
            left if left < size => {
                let records = self.records;
                let told = format!("{name}: {left} bytes are left over behind {records} records of {size} bytes");
                Err(Failure::data(told).hint("the program may have written another struct, or may still be writing"))
            }
            _ => {
                self.records += 1;
                let position = (self.records - 1) * size as u64;
                Ok(Some(Found { body: &self.body, number: self.records, position }))
            }
        }
    }
}

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} at byte {}", self.number, self.position)
    }
}
