//! Where descriptions are found, and the search through all of these places.

mod addresses;
mod cache;
mod client;
mod file;
mod keeper;
mod memory;
mod near;
mod plain;
mod search;
mod servers;
#[cfg(feature = "tls")]
mod tls;
mod tree;

pub use cache::Cache;
pub use client::Client;
#[cfg(feature = "server")]
pub(crate) use file::{PEM, read};
pub use search::Search;
pub use servers::Servers;
#[cfg(feature = "server")]
pub(crate) use servers::{shown, without_user};
pub use tree::Exported;

use isoform_core::MAX_DESCRIPTION;
use isoform_core::{Code, Error, Result, Token};

/// These bytes, if they are the description of this token's format.
fn checked(token: Token, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if bytes.len() > MAX_DESCRIPTION {
        let error = Error::new(Code::DescriptionSize).expected(format_args!("at most {MAX_DESCRIPTION} bytes"));
        return Err(error.found("more"));
    }
    match Token::of(&bytes) {
        found if found == token => Ok(bytes),
        found => Err(Error::new(Code::TokenMismatch).expected(token).found(found)),
    }
}

/// What is wrong with a PEM file. It may hold a private key, so nothing of what is in it is shown.
#[cfg(feature = "tls")]
pub(crate) fn pem_fault(error: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error::{Base64Decode, Io, MissingSectionEnd, NoItemsFound, SectionTooLarge};
    match error {
        MissingSectionEnd { .. } => "a part without an end".into(),
        Base64Decode(_) => "a part that is not base64".into(),
        Io(error) => error.to_string(),
        NoItemsFound => "none".into(),
        SectionTooLarge => "a part that is too long".into(),
        _ => "a part whose first line is more than `-----BEGIN ..-----`".into(),
    }
}
