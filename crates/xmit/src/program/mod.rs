//! Compiled programs: the formats of their structs, from debug information (`spec/xmit.md`, "Programs").
//!
//! [`mod@file`] opens the ELF file and knows the machine. [`units`] reads DWARF and [`btf`] reads BTF; both are a [`source`] of entries, and
//! find types by name. [`types`] turns a type into a structure. A program is bytes from a stranger: all work for one format has a limit.

mod btf;
mod file;
mod source;
mod types;
mod units;

use btf::Btf;
use file::File;
use isoform_core::{Code, Error, Format, Layout, Result};
use source::{Candidate, Source};
use std::path::Path;
use units::Units;

/// The largest program that is read.
const MAX_PROGRAM: u64 = 1 << 30;
/// How many types of one name an error lists.
const LISTED: usize = 12;

/// A compiled program or object file, whose structs have formats.
///
/// ```no_run
/// let program = isoform_xmit::Program::open("./simulation".as_ref())?;
/// let format = program.format("KSdata1")?;
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    layout: Layout,
    source: Box<dyn Source>,
}

impl Program {
    /// Reads the program at a path.
    ///
    /// # Errors
    /// [`Code::Io`] if the file cannot be read; [`Code::MessageSize`] if it is larger than 1 GiB; and those of [`Program::read`].
    pub fn open(path: &Path) -> Result<Program> {
        let at = |error: Error| error.at(path.display().to_string());
        let io = |error: std::io::Error| at(Error::new(Code::Io).found(error));
        let file = std::fs::File::open(path).map_err(io)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_PROGRAM + 1), &mut bytes).map_err(io)?;
        if bytes.len() as u64 > MAX_PROGRAM {
            return Err(at(Error::new(Code::MessageSize).expected(format_args!("at most {MAX_PROGRAM} bytes"))));
        }
        Program::read(&bytes)
    }

    /// Reads the bytes of an ELF file.
    ///
    /// # Errors
    /// [`Code::Declaration`] if they are not an ELF file of a machine in `spec/layouts.md`, or have no usable debug information.
    pub fn read(bytes: &[u8]) -> Result<Program> {
        let file = File::read(bytes)?;
        let source: Box<dyn Source> = match file.sections.info.is_empty() {
            false => Box::new(Units::new(file.sections)?),
            true => Box::new(Btf::new(file.btf, &file.layout, file.is_gcc)?),
        };
        Ok(Program { layout: file.layout, source })
    }

    /// The machine for which the program was compiled.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The names of its structs, and of typedefs of structs, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.source.names().all()
    }

    /// The format of a struct: that of the struct in the memory of the program. `name` is its tag, or the name of a typedef. If
    /// several types have this name, `NAME@UNIT:LINE` chooses one.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] if there is no struct of this name, or several different ones. [`Code::Declaration`] with the path of
    /// a field that has no format, such as a pointer. [`Code::Depth`], [`Code::Fields`] and [`Code::Size`] beyond the limits.
    pub fn format(&self, name: &str) -> Result<Format> {
        let (name, place) = name.split_once('@').map_or((name, None), |(name, place)| (name, Some(place)));
        let mut all: Vec<&Candidate> = self.source.names().of(name).iter().collect();
        if let Some(place) = place {
            all.retain(|candidate| self.source.place(candidate) == place);
        }
        let mut builder = types::Builder::new(&*self.source, &self.layout);
        let mut found: Vec<(&Candidate, Result<Format>)> = Vec::new();
        for candidate in all {
            let format = builder.format(candidate, name);
            if !found.iter().any(|(_, other)| same(other, &format)) {
                found.push((candidate, format));
            }
            if found.len() > LISTED {
                break;
            }
        }
        match found.len() {
            0 => Err(self.unknown(name, place)),
            1 => found.remove(0).1,
            _ => {
                let places: Vec<String> =
                    found.iter().map(|(candidate, _)| format!("{name}@{}", self.source.place(candidate))).collect();
                let error = Error::new(Code::NoSuchField).at(name);
                Err(error.expected(format_args!("one of {}", places.join(", "))).found("several types of this name"))
            }
        }
    }

    fn unknown(&self, name: &str, place: Option<&str>) -> Error {
        let error = Error::new(Code::NoSuchField).at(name);
        if place.is_some() && !self.source.names().of(name).is_empty() {
            let places: Vec<String> =
                self.source.names().of(name).iter().take(LISTED).map(|found| self.source.place(found)).collect();
            return error.expected(format_args!("one of the places {}", places.join(", ")));
        }
        let known: Vec<&str> = self.names().take(LISTED).collect();
        error.expected(format_args!("a struct of the program, such as {}", known.join(", "))).found(name)
    }
}

/// Whether two candidates have the same result, so that it does not matter which one is meant.
fn same(a: &Result<Format>, b: &Result<Format>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.token() == b.token(),
        (Err(a), Err(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}
