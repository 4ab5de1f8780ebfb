//! The records of an MCAP file, one behind another, and where they are. What is in them is for others.

use crate::MAGIC;
use isoform_core::{Code, Error, Result};
use mcap::records::op;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The operation and the length in front of each record.
pub(crate) const HEAD: u64 = 9;

/// So many bytes are looked at together.
const BLOCK: u64 = 64 << 10;

/// Goes through a file.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    input: BufReader<R>,
    /// Where the next byte is read.
    at: u64,
}

/// What is in front of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) opcode: u8,
    /// Where the record begins, and where it ends, in the file.
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Head {
    pub(crate) fn of(bytes: &[u8; HEAD as usize], at: u64) -> Head {
        let [opcode, length @ ..] = *bytes;
        let end = (at + HEAD).saturating_add(u64::from_le_bytes(length));
        Head { opcode, at, end }
    }
}

impl<R: Read + Seek> Frames<R> {
    pub(crate) fn new(input: R) -> Frames<R> {
        Frames { input: BufReader::new(input), at: 0 }
    }

    /// Where the next record begins.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The length of the file now.
    pub(crate) fn length(&mut self) -> Result<u64> {
        let length = self.input.seek(SeekFrom::End(0)).map_err(io_error)?;
        self.go(self.at)?;
        Ok(length)
    }

    pub(crate) fn go(&mut self, to: u64) -> Result<()> {
        self.at = to;
        self.input.seek(SeekFrom::Start(to)).map(drop).map_err(io_error)
    }

    /// Passes over the bytes up to this place. It may be a little behind the end of the file.
    pub(crate) fn pass(&mut self, to: u64) -> Result<()> {
        self.input.seek_relative((to - self.at).cast_signed()).map_err(io_error)?;
        self.at = to;
        Ok(())
    }

    /// # Errors
    /// [`Code::Damaged`] if this is another kind of file; [`Code::Cut`] if it is too short for one.
    pub(crate) fn magic(&mut self) -> Result<()> {
        let mut first = Vec::new();
        match self.data(MAGIC.len() as u64, &mut first) {
            Ok(()) if first == MAGIC => Ok(()),
            Err(error) if MAGIC.starts_with(&first) => Err(error),
            _ => {
                let error =
                    Error::new(Code::Damaged).expected("an MCAP file, which begins with the bytes 89 4d 43 41 50");
                Err(error.found(first.iter().map(|byte| format!("{byte:02x} ")).collect::<String>().trim_end()))
            }
        }
    }

    /// What is in front of the next record.
    ///
    /// # Errors
    /// [`Code::Cut`] if the file ends before it.
    pub(crate) fn head(&mut self) -> Result<Head> {
        let (at, mut bytes) = (self.at, Vec::new());
        self.data(HEAD, &mut bytes)?;
        bytes.first_chunk().map(|head| Head::of(head, at)).ok_or_else(|| cut(at))
    }

    /// Reads the data up to their end, and returns the checksum that is stated there, 0 if it is none, and their checksum.
    ///
    /// # Errors
    /// [`Code::Cut`] if there is no end.
    pub(crate) fn checksums(&mut self) -> Result<(u32, u32)> {
        let mut hasher = crc32fast::Hasher::new();
        let mut bytes = Vec::new();
        self.go(0)?;
        self.data(MAGIC.len() as u64, &mut bytes)?;
        loop {
            hasher.update(&bytes);
            let head = self.head()?;
            match head.opcode {
                op::FOOTER => return Err(cut(head.at)),
                op::DATA_END => {
                    self.data(4, &mut bytes)?;
                    let stated = bytes.first_chunk().map_or(0, |stated| u32::from_le_bytes(*stated));
                    return Ok((stated, hasher.finalize()));
                }
                opcode => hasher.update(&[opcode]),
            }
            hasher.update(&(head.end - self.at).to_le_bytes());
            while self.at < head.end {
                self.data((head.end - self.at).min(BLOCK), &mut bytes)?;
                hasher.update(&bytes);
            }
            bytes.clear();
        }
    }

    /// The next bytes. Memory is taken as they come, whatever the file says of their number.
    ///
    /// # Errors
    /// [`Code::Cut`] if the file ends before.
    pub(crate) fn data(&mut self, length: u64, into: &mut Vec<u8>) -> Result<()> {
        into.clear();
        let came = (&mut self.input).take(length).read_to_end(into).map_err(io_error)? as u64;
        self.at += came;
        if came == length { Ok(()) } else { Err(cut(self.at)) }
    }
}

/// The file ends here, and does not say that it does.
pub(crate) fn cut(length: u64) -> Error {
    let error = Error::new(Code::Cut).expected("the end of a recording");
    error.found(format_args!("that of the file at byte {length}"))
}

fn io_error(error: io::Error) -> Error {
    Error::new(Code::Io).found(error)
}
