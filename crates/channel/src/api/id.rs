//! The ids of channels: the addresses of members, and a channel there (`spec/channel.md`, "Words").
//!
//! An id is text that people pass on. [`crate::transport::address`] parses its addresses, and `percent` what is written
//! as `%XX`. `parameters` reads what follows `?`.

mod parameters;
mod percent;

use crate::transport::address::{Address, FORMS, Form, IDS, refused};
use isoform::{Error, Result};
use isoform_channel_proto::{Query, check_name};
use parameters::Parameters;
use std::fmt;
use std::str::FromStr;

/// A channel: the addresses of one or more members, the channel's name, and optionally its identity, which excludes
/// other channels of that name, and a shared key, with which a program proves that it may join.
///
/// Written `iso://127.0.0.1:7000/river` or `iso+unix:///tmp/x.sock/river`. An identity follows as 32 hexadecimal
/// digits. Behind `?`, each `also=ADDRESS` adds an address of a member, `query=QUERY` means the channel that is
/// [derived](crate::Channel::derive) by this query, and `key=HEX` is the shared key, 64 hexadecimal digits. `%XX` stands for a byte everywhere behind the first address' host and port.
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
///
/// // At whichever of two members is there, with a shared key.
/// let either = ChannelId::new("[::1]:7000".parse()?, "river", None)?.also("unix:/tmp/x.sock".parse()?)?;
/// assert_eq!(either.to_string(), "iso://[::1]:7000/river?also=unix:/tmp/x.sock");
/// let less = either.clone().with_query(&"every 10".parse()?);
/// assert_eq!(less.to_string(), "iso://[::1]:7000/river?also=unix:/tmp/x.sock&query=every%2010");
/// let private = either.with_key([0xab; 32]);
/// assert_eq!(private.to_string().parse::<ChannelId>()?, private);
/// assert!(!format!("{private:?}").contains("abab"), "logs do not tell the key");
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ChannelId {
    /// At least one, and no two are equal.
    addresses: Vec<Address>,
    name: String,
    identity: Option<[u8; 16]>,
    /// The normal form of a query.
    query: Option<String>,
    key: Option<[u8; 32]>,
}

impl ChannelId {
    /// The most addresses that [`also`](ChannelId::also) adds.
    pub const ALSO: usize = 8;

    /// The channel of this name, and of this identity if there is one, at a member's address.
    ///
    /// # Errors
    /// [`Code::Address`](isoform::Code::Address) for an invalid name, and for an address that cannot be dialed, such as
    /// port 0.
    pub fn new(address: Address, name: &str, identity: Option<[u8; 16]>) -> Result<ChannelId> {
        expect_dialable(&address)?;
        check_name(name)?;
        Ok(ChannelId { addresses: vec![address], name: name.to_owned(), identity, query: None, key: None })
    }

    /// Adds the address of another member, or another address of the same one. An address that the id already has is
    /// not added.
    ///
    /// # Errors
    /// [`Code::Address`](isoform::Code::Address) for an address that cannot be dialed, and for more than
    /// [`ALSO`](ChannelId::ALSO).
    pub fn also(mut self, address: Address) -> Result<ChannelId> {
        expect_dialable(&address)?;
        if !self.addresses.contains(&address) {
            if self.addresses.len() > ChannelId::ALSO {
                return Err(refused(parameters::MOST, &address.to_string()));
            }
            self.addresses.push(address);
        }
        Ok(self)
    }

    /// Makes it the id of the channel that is derived from this one by a query, in place of an earlier one.
    pub fn with_query(mut self, query: &Query) -> ChannelId {
        self.query = Some(query.to_string());
        self
    }

    /// Adds a shared key, in place of an earlier one. Whoever has the id then has the key.
    pub fn with_key(mut self, key: [u8; 32]) -> ChannelId {
        self.key = Some(key);
        self
    }

    /// The same id without its key, for logs.
    pub fn without_key(&self) -> ChannelId {
        ChannelId { key: None, ..self.clone() }
    }

    /// The first address of a member.
    pub fn address(&self) -> &Address {
        &self.addresses[0]
    }

    /// The addresses of members: at least one.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The channel's name at these members.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The channel's identity. Without one, the id stands for any channel of that name there.
    pub fn identity(&self) -> Option<[u8; 16]> {
        self.identity
    }

    /// The query of a derived channel, in its normal form.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// The shared key. It is a secret: [`Debug`](fmt::Debug) does not show it, [`Display`](fmt::Display) does.
    pub fn key(&self) -> Option<[u8; 32]> {
        self.key
    }
}

fn expect_dialable(address: &Address) -> Result<()> {
    address.dialable().map_err(|expected| refused(expected, &address.to_string()))
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
        let (member, parameters) = match text.split_once('?') {
            Some((member, parameters)) => (member, Some(parameters)),
            None => (text, None),
        };
        // A key is a secret, so errors do not repeat what follows the question mark.
        let refused = |expected: &str| match parameters {
            Some(_) => refused(expected, &format!("{member}?..")),
            None => refused(expected, member),
        };
        let known = FORMS.into_iter().find_map(|form| Some((form, member.strip_prefix(form.scheme)?)));
        let parts = known.ok_or(IDS).and_then(|(form, rest)| split(form, rest));
        let (address, name, identity) = parts.map_err(refused)?;
        let Parameters { also, query, key } = Parameters::of(parameters).map_err(|expected| refused(&expected))?;
        let mut id = ChannelId::new(address, &name, identity)?;
        for address in also {
            id = id.also(address)?;
        }
        Ok(ChannelId { query, key, ..id })
    }
}

/// The parts of an id, or what was expected instead.
type Parts = Result<(Address, String, Option<[u8; 16]>), &'static str>;

/// Splits `ADDRESS/NAME[/IDENTITY]`.
fn split(form: &Form, text: &str) -> Parts {
    if form.is_path {
        return split_last(form, text);
    }
    let (address, path) = text.split_once('/').ok_or("/ and the name of a channel behind the address")?;
    let address = (form.parse)(address)?;
    match path.split_once('/') {
        None => Ok((address, percent::decode(path)?, None)),
        Some((name, digits)) => {
            let identity = identity_of(digits).ok_or("nothing behind the name but /IDENTITY, 32 hexadecimal digits")?;
            Ok((address, percent::decode(name)?, Some(identity)))
        }
    }
}

/// Splits it from its end, since the address is a path of any number of parts.
fn split_last(form: &Form, text: &str) -> Parts {
    let last = |text| str::rsplit_once(text, '/').ok_or("/PATH of a socket, / and the name of a channel");
    let (before, end) = last(text)?;
    let (path, name, identity) = match identity_of(end) {
        None => (before, end, None),
        identity => last(before).map(|(path, name)| (path, name, identity))?,
    };
    Ok(((form.parse)(&percent::decode(path)?)?, percent::decode(name)?, identity))
}

impl ChannelId {
    /// Writes it, and its key as `key` says.
    fn write(&self, f: &mut fmt::Formatter<'_>, key: impl Fn(&[u8; 32]) -> String) -> fmt::Result {
        let form = self.address().form();
        f.write_str(form.scheme)?;
        let address = self.address().bare();
        match form.is_path {
            true => percent::write(f, &address, percent::IN_PATH)?,
            false => f.write_str(&address)?,
        }
        f.write_str("/")?;
        percent::write(f, &self.name, percent::IN_PATH)?;
        if let Some(identity) = self.identity {
            write!(f, "/{:032x}", u128::from_be_bytes(identity))?;
        }
        let mut before = '?';
        for address in &self.addresses[1..] {
            write!(f, "{before}also=")?;
            percent::write(f, &address.to_string(), percent::IN_PARAMETER)?;
            before = '&';
        }
        if let Some(query) = &self.query {
            write!(f, "{before}query=")?;
            percent::write_but(f, query, percent::PLAIN)?;
            before = '&';
        }
        match &self.key {
            Some(secret) => write!(f, "{before}key={}", key(secret)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, |key| key.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// As [`Display`](fmt::Display), but `..` stands for the key.
impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, |_| "..".to_owned())
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
            ("iso://river.example:0/river", "a port from 1"),
            ("iso://river,example:7000/river", "one address"),
            ("iso://127.0.0.1:7000/", "a name of 1 to 255"),
            ("iso://127.0.0.1:7000/river/", "nothing behind the name but"),
            ("iso://127.0.0.1:7000/river/0123", "nothing behind the name but"),
            ("iso://127.0.0.1:7000/a\tb", "a name without"),
            ("iso+unix://river", "/PATH of a socket"),
            ("iso+unix:///river", "the absolute path"),
            ("iso+unix://tmp/x.sock/river", "the absolute path"),
            ("iso+unix:///tmp/x.sock/", "a name of 1 to 255"),
            ("iso+unix:///tmp/x.sock//0123456789abcdef0123456789abcdef", "a name of 1 to 255"),
            ("iso://127.0.0.1:7000/a%2Fb", "a name without"),
            ("iso://127.0.0.1:7000/100%", "%25 for %"),
            ("iso://127.0.0.1:7000/%FF", "UTF-8 behind %"),
            ("iso://127.0.0.1:7000/river?", "a parameter behind ?"),
            ("iso://127.0.0.1:7000/river?colour=red", "no parameters but also=ADDRESS, query=QUERY and key=HEX"),
            ("iso://127.0.0.1:7000/river?query=every", "query=QUERY: a number of records"),
            ("iso://127.0.0.1:7000/river?query=every+10", "query=QUERY: a number of records"),
            ("iso://127.0.0.1:7000/river?query=every%202&query=every%203", "one query"),
            ("iso://127.0.0.1:7000/river?also=127.0.0.1:1", "also=tcp:HOST:PORT or also=unix:PATH"),
            ("iso://127.0.0.1:7000/river?also=tcp:127.0.0.1", "also=ADDRESS: HOST:PORT"),
            ("iso://127.0.0.1:7000/river?also=tcp:127.0.0.1:0", "a port from 1"),
            ("iso://127.0.0.1:7000/river?also=unix:x", "also=ADDRESS: the absolute path"),
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

    #[test]
    fn the_key_of_an_id_is_in_no_error() {
        let digits = "7d".repeat(32);
        for (parameters, expected) in [
            (digits.clone(), "a parameter behind ?"),
            (format!("kee={digits}"), "no parameters but"),
            (format!("key={digits}00"), "key=HEX: 64 hexadecimal digits"),
            (format!("key={}+{}", &digits[..32], &digits[33..]), "key=HEX: 64 hexadecimal digits"),
            (format!("key={digits}&key={digits}"), "one key"),
            (format!("key={digits}&also=unix:"), "also=ADDRESS"),
        ] {
            let error = format!("iso://127.0.0.1:7000/river?{parameters}").parse::<ChannelId>().unwrap_err();
            assert!(error.expectation().starts_with(expected), "{parameters}: {error}");
            assert_eq!(error.actual(), "\"iso://127.0.0.1:7000/river?..\"");
            assert!(!format!("{error:?} {error}").contains("7d7d"));
        }
        let elsewhere = format!("iso://127.0.0.1/river?key={digits}").parse::<ChannelId>().unwrap_err();
        assert!(!format!("{elsewhere:?} {elsewhere}").contains("7d7d"));
    }

    #[test]
    fn an_id_has_at_most_nine_addresses() {
        let also = |count: u16| {
            let id = ChannelId::new("[::1]:7000".parse()?, "river", None)?;
            (0..count).try_fold(id, |id, i| id.also(Address::Tcp(([10, 0, 0, 1], 7000 + i).into())))
        };
        let most = also(8).unwrap();
        assert_eq!(most.addresses().len(), 9);
        assert_eq!(most.clone().also(most.addresses()[3].clone()).unwrap(), most, "no address counts twice");
        assert_eq!(also(9).unwrap_err().expectation(), parameters::MOST);
        let error = format!("{most}&also=unix:/tmp/x").parse::<ChannelId>().unwrap_err();
        assert_eq!(error.expectation(), parameters::MOST);
    }

    #[test]
    fn what_would_end_a_part_of_an_id_is_written_as_its_code() {
        let odd = ChannelId::new("unix:/tmp/a?b%c.sock".parse().unwrap(), "x? y", None).unwrap();
        let odd = odd.also("unix:/tmp/d&e f".parse().unwrap()).unwrap();
        assert_eq!(odd.to_string(), "iso+unix:///tmp/a%3Fb%25c.sock/x%3F%20y?also=unix:/tmp/d%26e%20f");
        assert_eq!(odd.to_string().parse::<ChannelId>().unwrap(), odd);
    }

    proptest! {
        #[test]
        fn every_id_is_understood_as_itself(
            address in prop_oneof!["127\\.0\\.0\\.1:[1-9][0-9]{0,3}", "\\[::1\\]:7000", "\\[fe80::1%[a-z]{1,9}\\]:7000", "([a-z][-a-z0-9]{0,9}\\.){0,3}[a-z]{1,8}:7000", "unix:/[a-z0-9]{1,40}", "unix:/[a-f]{32}"],
            path in "(/[^/\\pC]{1,10}){0,2}",
            name in "[^/\\pC]{1,60}|[0-9a-f]{31}|[0-9a-f]{33}",
            identity in proptest::option::of(any::<[u8; 16]>()),
            also in proptest::collection::vec("tcp:127\\.0\\.0\\.1:[1-9][0-9]{0,3}|unix:/[^/\\pC]{1,20}", 0..8),
            query in proptest::option::of("every 1[0-9]{0,5}|where `[^`\\\\\\pC]{1,30}` == \"[^\"\\\\\\pC]{1,30}\""),
            key in proptest::option::of(any::<[u8; 32]>()),
        ) {
            let address = if address.starts_with("unix") { address + &path } else { address };
            let mut id = ChannelId::new(address.parse()?, &name, identity)?;
            for address in also {
                id = id.also(address.parse()?)?;
            }
            if let Some(query) = query {
                id = id.with_query(&Query::parse(&query)?);
            }
            if let Some(key) = key {
                id = id.with_key(key);
            }
            prop_assert_eq!(id.to_string().parse::<ChannelId>()?, id);
        }

        #[test]
        fn any_text_is_understood_or_refused(text in "(iso(\\+unix)?://)?([\\[\\]:./0-9a-f?&%=]|also=|\\PC){0,60}") {
            if let Ok(id) = text.parse::<ChannelId>() {
                prop_assert_eq!(id.to_string().parse::<ChannelId>()?, id);
            }
        }
    }
}
