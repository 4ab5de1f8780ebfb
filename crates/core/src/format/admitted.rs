//! The only entrance for descriptions from outside: their length is checked first, they are hashed once, and only then
//! parsed.

use super::description::{self, Description};
use super::handle::Format;
use crate::error::{Code, Error, Result};
use crate::limits::{Limits, too_deep, too_many_fields};
use crate::token::Token;

/// Description bytes within a receiver's limit, with their token. They have not been parsed yet.
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

impl Format {
    /// The format that these description bytes stand for.
    ///
    /// # Errors
    /// [`Code::Description`] and [`Code::NotCanonical`] for bytes that no writer makes, a limit's code for what is too
    /// large, [`Code::Declaration`] for fields that contradict each other.
    pub fn parse(description: &[u8]) -> Result<Format> {
        Format::parse_within(description, &Limits::default())
    }

    /// The same within limits that are narrower than the specification's.
    ///
    /// # Errors
    /// As [`Format::parse`].
    pub fn parse_within(description: &[u8], limits: &Limits) -> Result<Format> {
        Admitted::new(description, limits)?.parse()
    }
}

impl Limits {
    /// Refuses a format that is too deep or has too many fields.
    ///
    /// # Errors
    /// [`Code::Depth`], [`Code::Fields`].
    pub fn admit_format(&self, format: &Format) -> Result<()> {
        let structure = format.structure();
        let (depth, fields) = (structure.depth(), structure.total_fields());
        if depth > self.depth {
            return Err(too_deep(self.depth, depth).at(format.name()));
        }
        if fields > self.fields {
            return Err(too_many_fields(self.fields, fields).at(format.name()));
        }
        Ok(())
    }
}
