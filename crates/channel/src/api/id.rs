//! The ids of channels: the address of a member, and a channel there (`spec/channel.md`, "Words").
//!
//! An id is text that people pass on. [`crate::transport::address`] parses its address.

use crate::transport::address::{Address, FORMS, Form, IDS, refused};
use isoform::{Error, Result};
use isoform_channel_proto::check_name;
use std::fmt;
use std::str::FromStr;

/// A channel: the address of a member, the channel's name, and optionally its identity, which excludes other channels
/// of that name.
///
/// Written `iso://127.0.0.1:7000/river` or `iso+unix:///tmp/x.sock/river`. An identity follows as 32 hexadecimal
/// digits.
///
/// ```
/// use isoform_channel::ChannelId;
/// let id: ChannelId = "iso://localhost:7000/river/000102030405060708090a0b0c0d0e0f".parse()?;
/// assert_eq!((id.name(), id.identity().map(|it| it[15])), ("river", Some(15)));
/// assert_eq!(id.to_string(), "iso://127.0.0.1:7000/river/000102030405060708090a0b0c0d0e0f");
///
/// // The same channel, asked for at another member.
/// let elsewhere = ChannelId::new("unix:/tmp/x.sock".parse()?, id.name(), id.identity())?;
/// assert_eq!(elsewhere.to_string(), "iso+unix:///tmp/x.sock/river/000102030405060708090a0b0c0d0e0f");
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChannelId {
    address: Address,
    name: String,
    identity: Option<[u8; 16]>,
}

impl ChannelId {
    /// The channel of this name, and of this identity if there is one, at a member's address.
    ///
    /// # Errors
    /// [`Code::Address`](isoform::Code::Address) for an invalid name, and for an address that cannot be dialed, such as
    /// port 0.
    pub fn new(address: Address, name: &str, identity: Option<[u8; 16]>) -> Result<ChannelId> {
        address.dialable().map_err(|expected| refused(expected, &address.to_string()))?;
        check_name(name)?;
        Ok(ChannelId { address, name: name.to_owned(), identity })
    }

    /// The address of a member.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The channel's name at that member.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The channel's identity. Without one, the id stands for any channel of that name there.
    pub fn identity(&self) -> Option<[u8; 16]> {
        self.identity
    }
}

/// Parses an identity from 32 hexadecimal digits.
fn identity_of(digits: &str) -> Option<[u8; 16]> {
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}

impl FromStr for ChannelId {
    type Err = Error;

    fn from_str(text: &str) -> Result<ChannelId> {
        let known = FORMS.into_iter().find_map(|form| Some((form, text.strip_prefix(form.scheme)?)));
        let parts = known.ok_or(IDS).and_then(|(form, rest)| split(form, rest));
        let (address, name, identity) = parts.map_err(|expected| refused(expected, text))?;
        ChannelId::new(address, name, identity)
    }
}

/// The parts of an id, or what was expected instead.
type Parts<'a> = Result<(Address, &'a str, Option<[u8; 16]>), &'static str>;

/// Splits `ADDRESS/NAME[/IDENTITY]`.
fn split<'a>(form: &Form, text: &'a str) -> Parts<'a> {
    if form.is_path {
        return split_last(form, text);
    }
    let (address, path) = text.split_once('/').ok_or("/ and the name of a channel behind the address")?;
    let address = (form.parse)(address)?;
    match path.split_once('/') {
        None => Ok((address, path, None)),
        Some((name, digits)) => {
            let identity = identity_of(digits).ok_or("nothing behind the name but /IDENTITY, 32 hexadecimal digits")?;
            Ok((address, name, Some(identity)))
        }
    }
}

/// Splits it from its end, since the address is a path of any number of parts.
fn split_last<'a>(form: &Form, text: &'a str) -> Parts<'a> {
    let last = |text| str::rsplit_once(text, '/').ok_or("/PATH of a socket, / and the name of a channel");
    let (before, end) = last(text)?;
    let (path, name, identity) = match identity_of(end) {
        None => (before, end, None),
        identity => last(before).map(|(path, name)| (path, name, identity))?,
    };
    Ok(((form.parse)(path)?, name, identity))
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.address.form().scheme)?;
        self.address.write(f)?;
        write!(f, "/{}", self.name)?;
        match self.identity {
            Some(identity) => write!(f, "/{:032x}", u128::from_be_bytes(identity)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::Code;
    use proptest::prelude::*;

    const DIGITS: &str = "0123456789abcdef0123456789ABCDEF";

    #[test]
    fn what_is_no_id_is_refused_with_what_was_expected() {
        let long = format!("iso://[::1]:7000/{}", "x".repeat(256));
        let digits = format!("iso://[::1]:7000/{DIGITS}");
        for (text, expected) in [
            ("", "iso://HOST:PORT/NAME"),
            ("http://127.0.0.1:7000/river", "iso://HOST:PORT/NAME"),
            ("iso://127.0.0.1:7000", "/ and the name"),
            ("iso://127.0.0.1/river", "HOST:PORT"),
            ("iso://127.0.0.1:0/river", "a port from 1"),
            ("iso://river.example:7000/river", "an IP address or localhost"),
            ("iso://127.0.0.1:7000/", "a name of 1 to 255"),
            ("iso://127.0.0.1:7000/river/", "nothing behind the name but"),
            ("iso://127.0.0.1:7000/river/0123", "nothing behind the name but"),
            ("iso://127.0.0.1:7000/a\tb", "a name without"),
            ("iso+unix://river", "/PATH of a socket"),
            ("iso+unix:///river", "the absolute path"),
            ("iso+unix://tmp/x.sock/river", "the absolute path"),
            ("iso+unix:///tmp/x.sock/", "a name of 1 to 255"),
            ("iso+unix:///tmp/x.sock//0123456789abcdef0123456789abcdef", "a name of 1 to 255"),
            (&long, "a name of 1 to 255"),
            (&digits, "a name that does not look like"),
        ] {
            let error = text.parse::<ChannelId>().unwrap_err();
            assert_eq!(error.code(), Code::Address);
            assert!(error.expectation().starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_written_has_no_id() {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::OsStr::from_bytes(b"/tmp/\xff.sock");
        let error = ChannelId::new(Address::Unix(path.into()), "river", None).unwrap_err();
        assert_eq!(error.expectation(), "a path that is UTF-8");
    }

    proptest! {
        #[test]
        fn every_id_is_understood_as_itself(
            address in prop_oneof!["127\\.0\\.0\\.1:[1-9][0-9]{0,3}", "\\[::1\\]:7000", "unix:/[a-z0-9]{1,40}", "unix:/[a-f]{32}"],
            path in "(/[^/\\pC]{1,10}){0,2}",
            name in "[^/\\pC]{1,60}|[0-9a-f]{31}|[0-9a-f]{33}",
            identity in proptest::option::of(any::<[u8; 16]>()),
        ) {
            let address = if address.starts_with("unix") { address + &path } else { address };
            let id = ChannelId::new(address.parse()?, &name, identity)?;
            prop_assert_eq!(id.to_string().parse::<ChannelId>()?, id);
        }

        #[test]
        fn any_text_is_understood_or_refused(text in "(iso(\\+unix)?://)?([\\[\\]:./0-9a-f]|\\PC){0,60}") {
            if let Ok(id) = text.parse::<ChannelId>() {
                prop_assert_eq!(id.to_string().parse::<ChannelId>()?, id);
            }
        }
    }
}
