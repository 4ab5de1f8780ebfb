//! The header of 32 bytes before every body.

use super::locators::{MAX_LOCATORS, too_long};
use super::{HEADER, seal};
use crate::error::{Code, Error, Result};
use crate::limits::Limits;
use crate::token::Token;

const MAGIC: [u8; 4] = [0x89, b'I', b'S', b'O'];
const VERSION: u8 = 1;

/// The flags of a message. This version defines none; later ones may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// A reader that does not know one of these flags must refuse the message.
    pub critical: u8,
    /// A reader may ignore these flags.
    pub ignorable: u8,
}

/// The header of a message: the format of its body, and its length (`spec/message.md`, "Header").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The token of the body's format; [`Token::ZERO`] if the body is a description, [`Token::LOCATORS`] if it is locators,
    /// [`Token::SEAL`] if it is a seal.
    pub token: Token,
    /// The number of bytes of the body, without padding.
    pub length: u64,
    /// For later versions.
    pub flags: Flags,
}

impl Header {
    /// The header of a body of this length.
    pub fn new(token: Token, length: u64) -> Header {
        Header { token, length, flags: Flags::default() }
    }

    /// The bytes of the header.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.flags.critical;
        bytes[6] = self.flags.ignorable;
        bytes[8..24].copy_from_slice(self.token.as_bytes());
        bytes[24..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Parses a header.
    ///
    /// # Errors
    /// [`Code::NotAMessage`], [`Code::Version`] or [`Code::Flags`] if this reader cannot continue.
    #[inline]
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Header> {
        if bytes[..4] != MAGIC || [bytes[4], bytes[5], bytes[7]] != [VERSION, 0, 0] {
            return Err(Header::refuse(bytes));
        }
        let flags = Flags { critical: 0, ignorable: bytes[6] };
        let (mut token, mut length) = ([0; 16], [0; 8]);
        token.copy_from_slice(&bytes[8..24]);
        length.copy_from_slice(&bytes[24..]);
        Ok(Header { token: Token::from_bytes(token), length: u64::from_le_bytes(length), flags })
    }

    /// The error of a header that this reader does not understand.
    #[cold]
    fn refuse(bytes: &[u8; HEADER]) -> Error {
        let found = format_args!("{:#04x} and {:#04x}", bytes[5], bytes[7]);
        let flags = || Error::new(Code::Flags).expected("no critical flags").found(found);
        Header::check_start(bytes).err().unwrap_or_else(flags)
    }

    /// Refuses bytes that are not the start of a header, as soon as they have arrived.
    #[cold]
    pub(super) fn check_start(bytes: &[u8]) -> Result<()> {
        let there = bytes.len().min(4);
        if bytes[..there] != MAGIC[..there] {
            let error = Error::new(Code::NotAMessage).expected(format_args!("bytes {MAGIC:02x?}"));
            return Err(error.found(format_args!("{:02x?}", &bytes[..there])));
        }
        match bytes.get(4) {
            Some(&VERSION) | None => Ok(()),
            Some(other) => Err(Error::new(Code::Version).expected(format_args!("version {VERSION}")).found(other)),
        }
    }

    /// Whether the body is locators.
    #[inline]
    pub fn is_locators(&self) -> bool {
        self.token == Token::LOCATORS
    }

    /// Whether the body is a seal.
    #[inline]
    pub fn is_seal(&self) -> bool {
        self.token == Token::SEAL
    }

    /// Whether the body is a description.
    #[inline]
    pub fn is_description(&self) -> bool {
        self.token == Token::ZERO
    }
}

impl Limits {
    /// Refuses a message by its header, before its body has arrived.
    ///
    /// # Errors
    /// [`Code::DescriptionSize`], [`Code::MessageSize`], [`Code::Damaged`] for a seal that is none.
    pub fn admit(&self, header: &Header) -> Result<()> {
        match header.token {
            Token::ZERO => self.admit_description(header.length),
            Token::LOCATORS if header.length > MAX_LOCATORS as u64 => Err(too_long(header.length)),
            Token::SEAL => seal::admit(header.length),
            _ => self.admit_message(header.length),
        }
    }
}
