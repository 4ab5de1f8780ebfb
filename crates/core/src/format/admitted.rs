//! The one way in for descriptions from outside: measured first, hashed once, and only then parsed.

use super::{Description, Format, Token, description};
use crate::error::{Code, Error, Result};
use crate::limits::Limits;

/// Description bytes within a receiver's limit, with their token. What they say has not been looked at yet.
#[derive(Clone, Copy)]
pub(crate) struct Admitted<'a> {
    bytes: &'a [u8],
    token: Token,
    limits: &'a Limits,
}

impl<'a> Admitted<'a> {
    /// # Errors
    /// [`Code::DescriptionSize`].
    pub(crate) fn new(bytes: &'a [u8], limits: &'a Limits) -> Result<Admitted<'a>> {
        limits.admit_description(bytes.len() as u64)?;
        Ok(Admitted { bytes, token: Token::of(bytes), limits })
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The token of the format that the bytes describe, if they describe one.
    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// # Errors
    /// As [`Format::parse_within`].
    pub(crate) fn parse(&self) -> Result<Format> {
        let root = description::parse(self.bytes)?;
        let description = Description::of(&root)?;
        if description.as_bytes() != self.bytes {
            return Err(Error::new(Code::NotCanonical));
        }
        // The token is that of `self.bytes`, which the description's are.
        let format = Format::described(root, description, self.token);
        self.limits.admit_format(&format)?;
        Ok(format)
    }
}
