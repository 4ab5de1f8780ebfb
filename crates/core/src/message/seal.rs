//! Seals: how a reader tells whether a message is whole, and where to continue behind damage (`spec/message.md`, "Seals").

use super::{HEADER, Header};
use crate::error::{Code, Error, Result};
use crate::token::Token;

/// The context that separates this hash from every other use of BLAKE3.
const CONTEXT: &str = "isoform 2026 message seal v1";
/// Bytes of the body of a seal message: the mark, and two sums.
const BODY: usize = 16;

/// What all seals of a stream have, and nothing else has: random bytes that its writer chose.
///
/// ```
/// use isoform_core::message::{Header, Mark};
/// use isoform_core::Token;
/// let header = Header::new(Token::from_bytes([7; 16]), 3);
/// let seal = Mark::from_bytes(*b"8 random").seal(&header, [&b"abc"[..]]);
/// assert!(seal.check_header(&header).is_ok());
/// assert!(seal.check(&header, b"abc").is_ok());
/// assert!(seal.check(&header, b"xyz").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark([u8; 8]);

/// Checksums of the next message of a stream, and the mark of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    mark: Mark,
    of_header: Sum,
    of_message: Sum,
}

type Sum = [u8; 4];

impl Mark {
    /// These bytes as a mark.
    pub const fn from_bytes(bytes: [u8; 8]) -> Mark {
        Mark(bytes)
    }

    /// The bytes of the mark.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The seal of a message, whose body may be in several pieces.
    pub fn seal<'a>(&self, header: &Header, body: impl IntoIterator<Item = &'a [u8]>) -> Seal {
        let mut hasher = self.hasher(header);
        let of_header = sum(&hasher);
        for piece in body {
            hasher.update(piece);
        }
        Seal { mark: *self, of_header, of_message: sum(&hasher) }
    }

    /// The bytes with which every seal message of this mark begins. A reader that resumes looks for them.
    pub fn beginning(&self) -> [u8; HEADER + 8] {
        let mut bytes = [0; HEADER + 8];
        bytes[..HEADER].copy_from_slice(&Header::new(Token::SEAL, BODY as u64).to_bytes());
        bytes[HEADER..].copy_from_slice(&self.0);
        bytes
    }

    fn hasher(&self, header: &Header) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.0);
        hasher.update(&header.to_bytes());
        hasher
    }
}

impl Seal {
    /// Bytes of a seal message. It needs no padding.
    pub const LENGTH: usize = HEADER + BODY;

    /// The seal in the body of a seal message.
    ///
    /// # Errors
    /// [`Code::Damaged`] if it does not have 16 bytes.
    pub fn parse(body: &[u8]) -> Result<Seal> {
        let bytes: &[u8; BODY] = body.try_into().map_err(|_| malformed(body.len() as u64))?;
        let at = |from: usize| [bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]];
        let mark = Mark(std::array::from_fn(|i| bytes[i]));
        Ok(Seal { mark, of_header: at(8), of_message: at(12) })
    }

    /// The seal message.
    pub fn message(&self) -> [u8; Seal::LENGTH] {
        let mut bytes = [0; Seal::LENGTH];
        bytes[..HEADER + 8].copy_from_slice(&self.mark.beginning());
        bytes[HEADER + 8..HEADER + 12].copy_from_slice(&self.of_header);
        bytes[HEADER + 12..].copy_from_slice(&self.of_message);
        bytes
    }

    /// The mark of the stream.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Refuses the header of another message than the sealed one.
    ///
    /// # Errors
    /// [`Code::Damaged`].
    pub fn check_header(&self, header: &Header) -> Result<()> {
        match sum(&self.mark.hasher(header)) == self.of_header {
            true => Ok(()),
            false => Err(damaged("header")),
        }
    }

    /// Refuses another message than the sealed one.
    ///
    /// # Errors
    /// [`Code::Damaged`].
    pub fn check(&self, header: &Header, body: &[u8]) -> Result<()> {
        match sum(self.mark.hasher(header).update(body)) == self.of_message {
            true => Ok(()),
            false => Err(damaged("message")),
        }
    }
}

fn sum(hasher: &blake3::Hasher) -> Sum {
    let hash = hasher.finalize();
    std::array::from_fn(|i| hash.as_bytes()[i])
}

fn damaged(what: &str) -> Error {
    Error::new(Code::Damaged).expected(format_args!("a {what} that fits its seal")).found("another one")
}

fn malformed(length: u64) -> Error {
    Error::new(Code::Damaged).expected(format_args!("a seal of {BODY} bytes")).found(length)
}

/// Refuses a message under the token of seals that has another length.
pub(super) fn admit(length: u64) -> Result<()> {
    if length == BODY as u64 { Ok(()) } else { Err(malformed(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_a_message_and_of_its_seal_counts() {
        let (header, body) = (Header::new(Token::from_bytes([3; 16]), 5), *b"depth");
        let seal = Mark([9; 8]).seal(&header, [&body[..2], &body[2..]]);
        let message = seal.message();
        assert_eq!(message[..40], Mark([9; 8]).beginning());
        assert_eq!(Seal::parse(&message[HEADER..]).unwrap(), seal);
        seal.check_header(&header).unwrap();
        seal.check(&header, &body).unwrap();
        for bit in 0..40 {
            let mut other = body;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(seal.check(&header, &other).unwrap_err().code(), Code::Damaged);
        }
        for bit in 0..128 {
            let mut other = message;
            other[HEADER + bit / 8] ^= 1 << (bit % 8);
            let other = Seal::parse(&other[HEADER..]).unwrap();
            let both = other.check_header(&header).and_then(|()| other.check(&header, &body));
            assert_eq!(both.unwrap_err().code(), Code::Damaged);
        }
        for bit in 0..64 {
            let other = Header { length: header.length ^ 1 << bit, ..header };
            assert!(seal.check_header(&other).is_err() && seal.check(&other, &body).is_err());
        }
        for length in [0, 7, 8, 15, 17] {
            assert_eq!(Seal::parse(&vec![0; length]).unwrap_err().code(), Code::Damaged);
        }
    }
}
