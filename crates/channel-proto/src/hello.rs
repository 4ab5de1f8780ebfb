//! The first bytes of both sides of a connection (`spec/channel.md`, "Handshake").

use crate::keys::NodeId;
use crate::wire::{Reader, put_texts};
use isoform_core::{Code, Error, Result};
use std::time::Duration;

const MAGIC: [u8; 4] = [0x89, b'I', b'S', b'L'];
/// The only version so far.
const VERSION: u8 = 1;
/// Bytes before the addresses.
pub(crate) const FIXED: usize = 64;
/// The most bytes after those.
const REST: usize = 4096;

/// The first bytes of a connection, from each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The node that sends this.
    pub node: NodeId,
    /// The node that the dialer wants to reach; zeros mean any node.
    pub wanted: NodeId,
    /// The last epoch of the link between the two nodes that the sender has seen end.
    pub ended: u64,
    /// The number of formats that the sender keeps at a time.
    pub formats: u32,
    /// The silence after which the sender treats the other node as dead.
    pub silence: Duration,
    /// The number of subscriptions that the sender allows on this link.
    pub subscriptions: u32,
    /// The addresses of the sender.
    pub addresses: Vec<String>,
}

impl Hello {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + 64);
        out.extend(MAGIC);
        out.extend([VERSION, VERSION, 0, 0]);
        out.extend(self.node.0);
        out.extend(self.wanted.0);
        out.extend(self.ended.to_le_bytes());
        out.extend(self.formats.to_le_bytes());
        out.extend(u32::try_from(self.silence.as_millis()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(self.subscriptions.to_le_bytes());
        out.extend([0; 4]);
        // The number of addresses, and as many of them as there is room for.
        let mut room = REST - 2;
        let fits = |address: &&String| match room.checked_sub(2 + address.len()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        let known = self.addresses.iter().take_while(fits).count();
        put_texts(&mut out, &self.addresses[..known]);
        let rest = (out.len() - FIXED) as u16;
        out[60..62].copy_from_slice(&rest.to_le_bytes());
        out
    }

    /// Parses a Hello at the start of the input, and returns its length; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`Code::Handshake`], [`Code::Version`], [`Code::Flags`], as soon as the bytes show it.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Hello, usize)>> {
        let there = bytes.len().min(MAGIC.len());
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
        let Some((fixed, rest)) = bytes.split_at_checked(FIXED) else { return Ok(None) };
        let length = usize::from(u16::from_le_bytes([fixed[60], fixed[61]]));
        if length > REST {
            return Err(Error::new(Code::Handshake)
                .expected(format_args!("at most {REST} further bytes"))
                .found(length));
        }
        let Some(rest) = rest.get(..length) else { return Ok(None) };
        let mut fields = Reader::new(&fixed[8..], "hello");
        let hello = Hello {
            node: NodeId(fields.array()?),
            wanted: NodeId(fields.array()?),
            ended: fields.u64()?,
            formats: fields.u32()?.clamp(1, u32::from(u16::MAX)),
            silence: Duration::from_millis(fields.u32()?.max(100).into()),
            subscriptions: fields.u32()?,
            addresses: Reader::new(rest, "addresses").texts()?,
        };
        Ok(Some((hello, FIXED + length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(addresses: usize) -> Hello {
        Hello {
            node: NodeId([1; 16]),
            wanted: NodeId([0; 16]),
            ended: 7,
            formats: 1024,
            silence: Duration::from_secs(10),
            subscriptions: 5,
            addresses: (0..addresses).map(|i| format!("tcp:127.0.0.1:{i}")).collect(),
        }
    }

    #[test]
    fn what_is_said_is_understood_however_it_arrives() {
        for addresses in [0, 1, 3] {
            let hello = hello(addresses);
            let bytes = hello.to_bytes();
            for cut in 0..bytes.len() {
                assert_eq!(Hello::parse(&bytes[..cut]).unwrap(), None);
            }
            assert_eq!(Hello::parse(&[&bytes[..], &[1, 2, 3]].concat()).unwrap(), Some((hello, bytes.len())));
        }
        let many = Hello::parse(&hello(10_000).to_bytes()).unwrap().unwrap().0.addresses.len();
        assert!((100..10_000).contains(&many), "as many as fit: {many}");
    }

    #[test]
    fn what_is_no_link_is_refused_at_its_first_byte() {
        let refused = |bytes: &[u8]| Hello::parse(bytes).unwrap_err();
        assert_eq!(refused(b"GET / HTTP/1.1\r\n").code(), Code::Handshake);
        assert_eq!(refused(b"\x89ISO").code(), Code::Handshake, "a stream is no link");
        assert_eq!(
            refused(b"\x89ISL\x02\x05").to_string(),
            "unknown version at link: expected 1, found versions 2 to 5"
        );
        assert_eq!(refused(b"\x89ISL\x01\x05\x80").code(), Code::Flags);
        let mut long = hello(0).to_bytes();
        long[60..62].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(refused(&long).code(), Code::Handshake);
    }
}
