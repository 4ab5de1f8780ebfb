//! Descriptions, messages and bodies written byte by byte, since no library writes what must be refused.

use isoform::Token;
use isoform::message::Header;

pub(crate) const LITTLE4: u8 = 0;
pub(crate) const LITTLE8: u8 = 2;
pub(crate) const BIG8: u8 = 3;

/// Bytes that are put one after another.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

pub(crate) fn bytes(bytes: impl AsRef<[u8]>) -> Bytes {
    Bytes(bytes.as_ref().to_vec())
}

impl Bytes {
    pub(crate) fn raw(mut self, bytes: impl AsRef<[u8]>) -> Bytes {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    pub(crate) fn number(mut self, mut value: u64) -> Bytes {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub(crate) fn text(self, text: impl AsRef<[u8]>) -> Bytes {
        self.number(text.as_ref().len() as u64).raw(text)
    }

    /// The same with `with` in place of the bytes from `at` on.
    pub(crate) fn patched(mut self, at: usize, with: impl AsRef<[u8]>) -> Bytes {
        self.0[at..at + with.as_ref().len()].copy_from_slice(with.as_ref());
        self
    }
}

/// A field; `rest` begins with the tag.
pub(crate) fn field(name: &str, gap: u64, rest: impl AsRef<[u8]>) -> Bytes {
    bytes([]).text(name).number(gap).raw(rest)
}

pub(crate) fn structure(name: &str, size: u64, log2: u8, fields: &[Bytes]) -> Bytes {
    let head = bytes([]).text(name).number(size).raw([log2]).number(fields.len() as u64);
    fields.iter().fold(head, |all, field| all.raw(&field.0))
}

pub(crate) fn description(machine: u8, structures: &[Bytes]) -> Bytes {
    let head = bytes([1, machine]).number(structures.len() as u64);
    structures.iter().fold(head, |all, structure| all.raw(&structure.0))
}

/// The description of a record of one structure with these fields.
pub(crate) fn record(size: u64, log2: u8, fields: &[Bytes]) -> Bytes {
    description(LITTLE4, &[structure("R", size, log2, fields)])
}

/// A message with its padding.
pub(crate) fn message(token: Token, body: &Bytes) -> Bytes {
    let mut all = bytes(Header::new(token, body.0.len() as u64).to_bytes()).raw(&body.0);
    all.0.resize(all.0.len().next_multiple_of(16), 0);
    all
}

/// A stream of a description and one message.
pub(crate) fn stream(description: &Bytes, body: &Bytes) -> Bytes {
    message(Token::ZERO, description).raw(message(Token::of(&description.0), body).0)
}
