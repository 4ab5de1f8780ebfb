//! The first bytes of both sides of a connection (`spec/channel.md`, "Handshake").

use crate::identity::node_id;
use crate::keys::NodeId;
use crate::shared::{KeyName, OFFERED, SharedKey, Tag};
use crate::wire::Reader;
use isoform_core::{Code, Error, Result};

const MAGIC: [u8; 4] = [0x89, b'I', b'S', b'L'];
/// The first byte of TLS: of an alert, or of a handshake.
const TLS: [u8; 2] = [21, 22];
/// The only version so far.
const VERSION: u8 = 1;
/// Where it says how many bytes follow them.
const MORE: usize = 152;
/// The most that may follow them.
const REST: usize = 4096;

/// The first bytes of a connection, from each side: nothing in them is proven yet.
///
/// ```
/// use isoform_channel_proto::{Hello, Key, NodeId};
///
/// let key = Key::from_seed([7; 32]);
/// let (keys, tags) = Default::default(); // no shared key is offered
/// let hello = Hello { public: key.public(), nonce: key.nonce(1), wanted: NodeId::ANY, keys, tags };
/// assert_eq!(hello.node(), key.id());
/// assert_eq!(Hello::parse(&hello.to_bytes())?, Some((hello, Hello::LENGTH)));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The public key of the sender.
    pub public: [u8; 32],
    /// Bytes that the sender has used for no other connection.
    pub nonce: [u8; 32],
    /// The node that the dialer wants to reach; zeros for any node.
    pub wanted: NodeId,
    /// The shared keys that the dialer offers to prove. The acceptor's: the one that it has chosen, in the first place.
    pub keys: [KeyName; OFFERED],
    /// The dialer's [tags](SharedKey::tag), which show that it has these keys; zeros where there is none.
    pub tags: [Tag; OFFERED],
}

impl Hello {
    /// Bytes that every Hello has, and all that one of this version has.
    pub const LENGTH: usize = 160;

    /// The node that has the key.
    pub fn node(&self) -> NodeId {
        node_id(&self.public)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.tagged_bytes();
        self.tags.iter().for_each(|tag| out.extend(tag));
        out.resize(Hello::LENGTH, 0);
        out
    }

    /// What its tags authenticate: all that is before them.
    pub(crate) fn tagged_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Hello::LENGTH);
        out.extend(MAGIC);
        out.extend([VERSION, VERSION, 0, 0]);
        out.extend(self.public);
        out.extend(self.nonce);
        out.extend(self.wanted.0);
        self.keys.iter().for_each(|name| out.extend(name.0));
        out
    }

    /// This Hello, with the tags of those of its keys that are among these.
    pub fn tagged(mut self, keys: &[SharedKey]) -> Hello {
        let tag = |name: KeyName| keys.iter().find(|key| key.name() == name).map(|key| key.tag(&self));
        self.tags = self.keys.map(|name| tag(name).unwrap_or_default());
        self
    }

    /// The first of its keys that is among these, and of which it has the right tag.
    pub(crate) fn first_of(&self, keys: &[SharedKey]) -> Option<SharedKey> {
        let mut offered = self.keys.iter().zip(self.tags);
        offered.find_map(|(&name, tag)| keys.iter().find(|key| key.name() == name && key.tag(self) == tag).cloned())
    }

    /// The Hello at the start of the input, whatever a later version says behind it; `None` if there is none.
    pub(crate) fn fixed(bytes: &[u8]) -> Option<Hello> {
        let mut fixed: [u8; Hello::LENGTH] = *bytes.first_chunk()?;
        fixed[MORE..MORE + 2].fill(0);
        Some(Hello::parse(&fixed).ok()??.0)
    }

    /// Parses a Hello at the start of the input, and returns its length; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`Code::Handshake`], [`Code::Version`], [`Code::Flags`], as soon as the bytes show it.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Hello, usize)>> {
        let there = bytes.len().min(MAGIC.len());
        if is_tls(bytes) {
            return Err(encrypted());
        }
        if bytes[..there] != MAGIC[..there] {
            let error = Error::new(Code::Handshake)
                .expected(format_args!("the greeting of a node, which begins with {MAGIC:02x?}"));
            return Err(error.found(format_args!("{:02x?}", &bytes[..there])));
        }
        if let Some(&[lowest, highest]) = bytes.get(4..6)
            && !(lowest..=highest).contains(&VERSION)
        {
            let error = Error::new(Code::Version).at("link").expected(VERSION);
            return Err(error.found(format_args!("versions {lowest} to {highest}")));
        }
        if let Some(&flags) = bytes.get(6)
            && flags != 0
        {
            return Err(Error::new(Code::Flags).at("link").expected("no critical flags").found(flags));
        }
        let Some((fixed, rest)) = bytes.split_at_checked(Hello::LENGTH) else { return Ok(None) };
        let length = usize::from(u16::from_le_bytes([fixed[MORE], fixed[MORE + 1]]));
        if length > REST {
            let error = Error::new(Code::Handshake).at("hello");
            return Err(error.expected(format_args!("at most {REST} further bytes")).found(length));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let mut fields = Reader::new(&fixed[8..], "hello");
        let (public, nonce) = (fields.array()?, fields.array()?);
        let (wanted, (keys, tags)) = (NodeId(fields.array()?), Default::default());
        let mut hello = Hello { public, nonce, wanted, keys, tags };
        for name in &mut hello.keys {
            *name = KeyName(fields.array()?);
        }
        for tag in &mut hello.tags {
            *tag = fields.array()?;
        }
        Ok(Some((hello, Hello::LENGTH + length)))
    }
}

/// The error for another side that speaks TLS, where this one does not.
fn encrypted() -> Error {
    let expected = "a node without TLS (to speak TLS, this node needs a certificate, see `isoform keys`; it must not be \
                    `insecure`; and it needs `tls_on_loopback` at an address of this machine, such as that of a tunnel)";
    Error::new(Code::Handshake).at("tls").expected(expected).found("TLS")
}

fn is_tls(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| TLS.contains(first))
}

/// Whether the other side, which has said these bytes, understands why its Hello is refused.
pub(crate) fn understands_refusal(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || is_tls(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            public: [1; 32],
            nonce: [2; 32],
            wanted: NodeId([3; 16]),
            keys: [4, 5, 0, 6].map(|name| KeyName([name; 8])),
            tags: [7, 8, 0, 9].map(|tag| [tag; 8]),
        }
    }

    #[test]
    fn a_hello_may_arrive_in_any_pieces() {
        let bytes = hello().to_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(Hello::parse(&bytes[..cut]).unwrap(), None);
        }
        assert_eq!(Hello::parse(&[&bytes[..], &[1, 2, 3]].concat()).unwrap(), Some((hello(), bytes.len())));
        // A later version says more.
        let mut longer = [&bytes[..], &[7; 300]].concat();
        longer[MORE..MORE + 2].copy_from_slice(&300u16.to_le_bytes());
        assert_eq!(Hello::parse(&longer[..longer.len() - 1]).unwrap(), None);
        assert_eq!(Hello::parse(&longer).unwrap(), Some((hello(), longer.len())));
        assert_eq!(Hello::fixed(&longer[..Hello::LENGTH]), Some(hello()));
    }

    #[test]
    fn other_protocols_and_versions_are_refused_at_their_first_bytes() {
        let refused = |bytes: &[u8]| Hello::parse(bytes).unwrap_err();
        assert_eq!(refused(b"GET / HTTP/1.1\r\n").code(), Code::Handshake);
        assert_eq!(refused(b"\x16\x03\x01").actual(), "TLS", "a handshake");
        assert_eq!(refused(b"\x15\x03\x03\x00\x02\x02\x28").actual(), "TLS", "an alert");
        assert_eq!(refused(b"\x89ISO").code(), Code::Handshake, "a stream is no link");
        assert_eq!(
            refused(b"\x89ISL\x02\x05").to_string(),
            "unknown version at link: expected 1, found versions 2 to 5"
        );
        assert_eq!(refused(b"\x89ISL\x01\x05\x80").code(), Code::Flags);
        let mut long = hello().to_bytes();
        long[MORE..MORE + 2].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(refused(&long).code(), Code::Handshake);
    }
}
