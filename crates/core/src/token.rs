//! The name of a format on the wire: a hash of its description, so that nobody has to be asked for one.
//!
//! An error can name a token, and the text of a token can be an error: so this file and [`error`](crate::error) use each
//! other.

use crate::error::{Code, Error, Result};
use std::fmt;
use std::str::FromStr;

/// The context that separates this hash from every other use of BLAKE3 (`spec/format.md`, "Token").
const CONTEXT: &str = "isoform 2026 format token v1";

/// The name of a format on the wire: the first 16 bytes of a BLAKE3 hash of its description (`spec/format.md`).
///
/// Equal formats have equal tokens wherever they are made. The zero token names no format: a message under it
/// carries a description.
///
/// ```
/// use isoform_core::Token;
/// let token: Token = "000102030405060708090a0b0c0d0e0f".parse()?;
/// assert_eq!(token.as_bytes()[15], 15);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token([u8; 16]);

impl Token {
    /// The token of messages that carry a description.
    pub const ZERO: Token = Token([0; 16]);

    /// The token of messages that carry [locators](crate::message::Locators).
    pub const LOCATORS: Token = Token(1u128.to_be_bytes());

    /// The token of messages that carry a [seal](crate::message::Seal).
    pub const SEAL: Token = Token(2u128.to_be_bytes());

    /// The token of the format of these description bytes.
    pub fn of(description: &[u8]) -> Token {
        let hash = Token::full_hash(description);
        Token(std::array::from_fn(|i| hash[i]))
    }

    /// The whole hash, of which a token is the first half. A server keeps it to refuse a second description
    /// under one token.
    pub fn full_hash(description: &[u8]) -> [u8; 32] {
        #[cfg(test)]
        HASHES.set(HASHES.get() + 1);
        blake3::derive_key(CONTEXT, description)
    }

    /// The token of these bytes, as they stand in a message.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Token {
        Token(bytes)
    }

    /// Its bytes, as they stand in a message.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Token {
    type Err = Error;

    /// Reads 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Token> {
        let bad = || Error::new(Code::Text).expected("a token of 32 hexadecimal digits").found(text);
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| bad())?;
        Ok(Token(number.to_be_bytes()))
    }
}

#[cfg(test)]
thread_local! {
    static HASHES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many descriptions this thread hashes in `work`.
#[cfg(test)]
pub(crate) fn hashes(work: impl FnOnce()) -> usize {
    let before = HASHES.get();
    work();
    HASHES.get() - before
}
