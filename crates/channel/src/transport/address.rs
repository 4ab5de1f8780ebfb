//! The address of a node: a TCP port or a Unix socket.
//!
//! An address is parsed text. [`ChannelId`](crate::ChannelId) adds the channel, and the sockets connect. `FORMS` says how
//! each kind of address is written, alone and within an id.

use isoform::{Code, Error, Result};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a node. Written `tcp:HOST:PORT`, or just `HOST:PORT`, and `unix:/tmp/x.sock`. The host is a name, an IPv4
/// address, or an IPv6 address in brackets, which may have a zone: `[fe80::1%eth0]`.
///
/// ```
/// use isoform_channel::Address;
/// let address: Address = "localhost:7000".parse()?;
/// assert_eq!(address.to_string(), "tcp:127.0.0.1:7000");
/// assert!(address.is_local());
///
/// let address: Address = "River.example:7000".parse()?;
/// assert_eq!(address, Address::Host("river.example".into(), 7000));
/// assert!(!address.is_local());
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Address {
    /// An IP address and a port. When listening at port 0, the system chooses a port.
    Tcp(SocketAddr),
    /// A host's name, in lower case, and a port. The system looks the name up whenever the address is dialed. An IPv6
    /// address with the name of a zone is such a name, too.
    Host(String, u16),
    /// The absolute path of a socket in the file system of this machine.
    Unix(PathBuf),
}

impl Address {
    /// Whether only programs of this machine can connect. Of a name, that is not known.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Address::Host(..) => false,
            Address::Unix(_) => true,
        }
    }

    /// How addresses of its kind are written.
    pub(crate) fn form(&self) -> &'static Form {
        match self {
            Address::Tcp(_) | Address::Host(..) => &TCP,
            Address::Unix(_) => &UNIX,
        }
    }

    /// It without its prefix.
    pub(crate) fn bare(&self) -> String {
        match self {
            Address::Tcp(address) => address.to_string(),
            Address::Host(name, port) if name.contains(':') => format!("[{name}]:{port}"),
            Address::Host(name, port) => format!("{name}:{port}"),
            Address::Unix(path) => path.display().to_string(),
        }
    }

    /// Whether its text is an address that can be dialed; if not, what was expected.
    pub(crate) fn dialable(&self) -> Result<(), &'static str> {
        match self {
            Address::Tcp(address) if address.port() == 0 => Err(NO_PORT),
            Address::Tcp(_) => Ok(()),
            Address::Host(_, 0) => Err(NO_PORT),
            Address::Host(name, port) => host(name, *port).map(|_| ()),
            Address::Unix(path) => path.to_str().ok_or("a path that is UTF-8").and_then(unix).map(|_| ()),
        }
    }

    /// Refuses addresses beyond this machine, unless the program allows them: without TLS, nothing is encrypted.
    ///
    /// # Errors
    /// [`Code::Insecure`].
    ///
    /// ```
    /// use isoform_channel::Address;
    /// let everywhere: Address = "0.0.0.0:7000".parse()?;
    /// assert_eq!(everywhere.permit(false).unwrap_err().code(), isoform::Code::Insecure);
    /// everywhere.permit(true)?;
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn permit(&self, insecure: bool) -> Result<()> {
        if insecure || self.is_local() {
            return Ok(());
        }
        let expected = "a certificate for TLS on this host (isoform keys), or an address of this machine, such as \
                        127.0.0.1:7000, or permission for traffic that others on the network can read and change \
                        (insecure of the node, --insecure of commands)";
        Err(Error::new(Code::Insecure).expected(expected).found(self))
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        let known = FORMS.iter().find_map(|form| Some((form.parse, text.strip_prefix(form.prefix)?)));
        let (parse, rest) = known.unwrap_or((tcp, text));
        parse(rest).map_err(|expected| refused(expected, text))
    }
}

/// How a kind of address is written.
pub(crate) struct Form {
    /// In front of an address.
    pub(crate) prefix: &'static str,
    /// In front of an address within the id of a channel.
    pub(crate) scheme: &'static str,
    /// Parses what follows either of them, or returns what was expected.
    pub(crate) parse: fn(&str) -> Result<Address, &'static str>,
    /// Whether it can contain `/`.
    pub(crate) is_path: bool,
}

/// The form of every kind.
pub(crate) const FORMS: [&Form; 2] = [&TCP, &UNIX];

const TCP: Form = Form { prefix: "tcp:", scheme: "iso://", parse: tcp, is_path: false };
const UNIX: Form = Form { prefix: "unix:", scheme: "iso+unix://", parse: unix, is_path: true };

/// The ids of channels, for errors.
pub(crate) const IDS: &str = "iso://HOST:PORT/NAME or iso+unix:///PATH/NAME";

/// The error for a malformed address or id.
pub(crate) fn refused(expected: impl fmt::Display, found: &str) -> Error {
    Error::new(Code::Address).expected(expected).found(format_args!("{found:?}"))
}

const NO_PORT: &str = "a port from 1 to 65535";

/// Parses `HOST:PORT`, or returns what was expected. It does not look names up: that can take long, and addresses also
/// come from strangers.
fn tcp(text: &str) -> Result<Address, &'static str> {
    if let Ok(address) = text.parse() {
        return Ok(Address::Tcp(address));
    }
    let (name, port) = text.rsplit_once(':').ok_or("HOST:PORT, tcp:HOST:PORT or unix:PATH")?;
    if name.contains(',') {
        return Err("one address, HOST:PORT");
    }
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    if name.contains(':') && bracketed.is_none() {
        return Err("an IPv6 address in brackets and a port, such as [::1]:7000");
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|_| digits).ok_or("a port from 0 to 65535 after the last colon")?;
    match bracketed {
        Some(address) => zoned(address, port),
        None => host(name, port),
    }
}

/// Parses an IPv6 address with the name of a zone, or returns what was expected.
fn zoned(text: &str, port: u16) -> Result<Address, &'static str> {
    let is_zone = |zone: &str| matches!(zone.len(), 1..=64) && zone.bytes().all(is_plain);
    match text.split_once('%') {
        Some((address, zone)) if address.parse::<Ipv6Addr>().is_ok() && is_zone(zone) => {
            Ok(Address::Host(text.to_owned(), port))
        }
        _ => Err("an IPv6 address in brackets, with a zone or without, such as [fe80::1%eth0]"),
    }
}

/// Parses a host's name, or returns what was expected.
fn host(name: &str, port: u16) -> Result<Address, &'static str> {
    if name.contains(':') {
        return zoned(name, port);
    }
    if name.eq_ignore_ascii_case("localhost") {
        return Ok(Address::Tcp((Ipv4Addr::LOCALHOST, port).into()));
    }
    let labels = name.strip_suffix('.').unwrap_or(name).split('.');
    let is_label =
        |label: &str| matches!(label.len(), 1..=63) && label.bytes().all(|byte| is_plain(byte) && byte != b'.');
    // What ends with a number is meant to be an IPv4 address.
    let is_number = labels.clone().next_back().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if name.len() > 253 || is_number || name.starts_with('-') || !labels.clone().all(is_label) {
        return Err("an IP address or a host's name, and a port");
    }
    Ok(Address::Host(name.to_ascii_lowercase(), port))
}

/// The characters of names of hosts and of zones.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Parses the path of a socket, or returns what was expected.
fn unix(path: &str) -> Result<Address, &'static str> {
    if !path.starts_with('/') || path.ends_with('/') {
        return Err("the absolute path of a socket, such as /tmp/x.sock");
    }
    if path.contains(char::is_control) {
        return Err("a path without control characters");
    }
    if path.len() > LONGEST_PATH {
        return Err("the path of a socket, of at most 103 bytes");
    }
    Ok(Address::Unix(path.into()))
}

/// The longest path that works everywhere, with its terminating NUL: Linux has room for 108 bytes, other systems for
/// 104.
const LONGEST_PATH: usize = 103;

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.form().prefix, self.bare())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String> {
        Ok(text.parse::<Address>()?.to_string())
    }

    #[test]
    fn addresses_are_printed_as_they_are_understood() {
        for (text, printed) in [
            ("tcp:127.0.0.1:7000", "tcp:127.0.0.1:7000"),
            ("127.0.0.1:0", "tcp:127.0.0.1:0"),
            ("LocalHost:65535", "tcp:127.0.0.1:65535"),
            ("[::1]:7000", "tcp:[::1]:7000"),
            ("[fe80::1%3]:7000", "tcp:[fe80::1%3]:7000"),
            ("[fe80::1%eth0.7]:7000", "tcp:[fe80::1%eth0.7]:7000"),
            ("Node-17.Rack_2.example.:7000", "tcp:node-17.rack_2.example.:7000"),
            ("tcp:river:0", "tcp:river:0"),
            ("unix:/tmp/a b:c.sock", "unix:/tmp/a b:c.sock"),
        ] {
            assert_eq!(parsed(text).unwrap(), printed);
            assert_eq!(parsed(printed).unwrap(), printed);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_was_expected() {
        let long = format!("unix:/{}", "x".repeat(LONGEST_PATH));
        for (text, expected) in [
            ("", "HOST:PORT"),
            ("7000", "HOST:PORT"),
            ("127.0.0.1", "HOST:PORT"),
            ("127.0.0.1:", "a port from 0"),
            ("127.0.0.1:65536", "a port from 0"),
            ("localhost:65536", "a port from 0"),
            ("localhost:+1", "a port from 0"),
            ("::1", "an IPv6 address in brackets"),
            ("fe80::beef", "an IPv6 address in brackets"),
            ("[::1]", "an IPv6 address in brackets"),
            ("[::x]:7000", "an IPv6 address in brackets"),
            ("[::1%]:7000", "an IPv6 address in brackets"),
            ("[river%eth0]:7000", "an IPv6 address in brackets"),
            ("127.0.0.256:7000", "an IP address or a host's name"),
            (":7000", "an IP address or a host's name"),
            ("river..example:7000", "an IP address or a host's name"),
            ("-river:7000", "an IP address or a host's name"),
            ("river bank:7000", "an IP address or a host's name"),
            ("fe80::1%eth0:7000", "an IPv6 address in brackets"),
            ("unix:x.sock", "the absolute path"),
            ("unix:/tmp/", "the absolute path"),
            ("unix:", "the absolute path"),
            ("unix:/tmp/\n", "a path without control"),
            (&long, "the path of a socket, of at most 103 bytes"),
        ] {
            let error = parsed(text).unwrap_err();
            assert_eq!(error.code(), Code::Address);
            assert!(error.expectation().starts_with(expected), "{text:?}: {error}");
            assert_eq!(error.actual(), format!("{text:?}"));
        }
        assert!(parsed(&long[..long.len() - 1]).is_ok());
    }

    #[test]
    fn only_this_machine_is_permitted_unasked() {
        for local in ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/tmp/x"] {
            let address: Address = local.parse().unwrap();
            address.permit(false).unwrap();
        }
        for remote in ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "[2001:db8::1]:1", "[::ffff:10.0.0.1]:1", "river:1"] {
            let address: Address = remote.parse().unwrap();
            let error = address.permit(false).unwrap_err();
            assert_eq!(error.code(), Code::Insecure);
            assert!(error.to_string().contains("--insecure") && error.actual() == address.to_string());
            address.permit(true).unwrap();
        }
    }
}
