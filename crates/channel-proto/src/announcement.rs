//! Announcements: signed statements of members about themselves, which others pass on (`spec/channel.md`,
//! "Announcements").

use crate::frame::PAYLOAD;
use crate::identity::{Key, SIGNATURE, check_signature};
use crate::keys::{Identity, NodeId};
use crate::node_id;
use crate::wire::{Reader, put_bytes, put_texts};
use isoform_core::{Code, Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The most bytes of an announcement, and of its addresses.
pub(crate) const LONGEST: usize = 1024;
const ADDRESSES: usize = 512;
/// Bytes before the announcements of a frame.
const COUNT: usize = 8;

/// Separates these hashes from all others.
const DOMAIN: &str = "Isoform 2026 announcement";

const SOURCES: u32 = 1;
const SINKS: u32 = 2;
const LEFT: u32 = 4;
const SERVED: u32 = 8;

/// What a member has on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Has {
    pub(crate) sources: bool,
    pub(crate) sinks: bool,
    /// It is no longer a member.
    pub(crate) left: bool,
    /// It has a neighbour that it wants something from, or that wants something from it.
    pub(crate) served: bool,
}

/// What a member has said of itself.
#[derive(Clone, PartialEq)]
pub(crate) struct Announcement {
    pub(crate) node: NodeId,
    pub(crate) identity: Identity,
    /// The number of this announcement among those of its node. The greatest one holds.
    pub(crate) number: u64,
    pub(crate) has: Has,
    pub(crate) addresses: Vec<String>,
    /// All its bytes, which are passed on unchanged.
    bytes: Arc<[u8]>,
}

impl Announcement {
    /// Makes and signs an announcement of this node. Leaves out the addresses for which there is no room.
    pub(crate) fn sign(key: &Key, identity: Identity, number: u64, has: Has, addresses: &[String]) -> Announcement {
        let mut room = ADDRESSES;
        let fits = |address: &&String| {
            let left = room.checked_sub(2 + address.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let addresses: Vec<String> = addresses.iter().take_while(fits).cloned().collect();
        let mut said = Vec::with_capacity(256);
        said.extend(key.public());
        said.extend(identity.0);
        said.extend(number.to_le_bytes());
        said.extend(has.bits().to_le_bytes());
        said.extend([0; 4]);
        put_texts(&mut said, &addresses);
        let signature = key.sign(&blake3::derive_key(DOMAIN, &said));
        let bytes = [&signature[..], &said].concat().into();
        Announcement { node: key.id(), identity, number, has, addresses, bytes }
    }

    /// Parses an announcement. The signature is [checked](Announcement::check) later, since that takes long.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Announcement> {
        let mut fields = Reader::new(expect_short(bytes)?, "announcement");
        let _: [u8; SIGNATURE] = fields.array()?;
        let node = node_id(&fields.array()?);
        let (identity, number) = (Identity(fields.array()?), fields.u64()?);
        let (has, _) = (Has::of(fields.u32()?), fields.u32()?);
        Ok(Announcement { node, identity, number, has, addresses: fields.texts()?, bytes: bytes.into() })
    }

    /// Whether the signature is that of its node.
    pub(crate) fn check(&self) -> bool {
        let Some((signature, said)) = self.bytes.split_first_chunk::<SIGNATURE>() else { return false };
        let Some(public) = said.first_chunk() else { return false };
        check_signature(public, &blake3::derive_key(DOMAIN, said), signature)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The announcements of a Members frame, as they stand in it. Each is parsed only once it is clear that its neighbour may tell
/// of that member: that takes far longer than to look whom it is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members {
    count: u32,
    /// Each with its length in front.
    bytes: Vec<u8>,
}

impl Members {
    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Members> {
        let (count, _) = (fields.u32()?, fields.u32()?);
        let mut members = Members::default();
        (0..count).try_for_each(|_| expect_short(fields.bytes()?).map(|said| members.put(said)))?;
        Ok(members)
    }

    pub(crate) fn push(&mut self, said: &Announcement) {
        self.put(said.bytes());
    }

    fn put(&mut self, said: &[u8]) {
        self.count += 1;
        put_bytes(&mut self.bytes, said);
    }

    /// The number of announcements.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether a frame has room for one more announcement.
    pub(crate) fn has_room(&self, said: &Announcement) -> bool {
        COUNT + self.bytes.len() + 2 + said.bytes().len() <= PAYLOAD
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(u64::from(self.count).to_le_bytes());
        out.extend(&self.bytes);
    }

    /// Each announcement.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut fields = Reader::new(&self.bytes, "announcements");
        std::iter::from_fn(move || fields.bytes().ok())
    }
}

/// Whom an announcement is about, without what takes long to find out.
pub(crate) struct About {
    /// The public key of the member.
    pub(crate) public: [u8; 32],
    pub(crate) identity: Identity,
}

impl About {
    pub(crate) fn parse(bytes: &[u8]) -> Result<About> {
        let mut fields = Reader::new(bytes, "announcement");
        let _: [u8; SIGNATURE] = fields.array()?;
        Ok(About { public: fields.array()?, identity: Identity(fields.array()?) })
    }
}

fn expect_short(said: &[u8]) -> Result<&[u8]> {
    if said.len() <= LONGEST {
        return Ok(said);
    }
    let error = Error::new(Code::Frame).at("announcement");
    Err(error.expected(format_args!("at most {LONGEST} bytes")).found(said.len()))
}

/// What was found about the signatures of announcements. In a simulation of thousands of nodes, each announcement comes to
/// thousands of them, and checking it takes far longer than all else.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Verdicts(Arc<Mutex<HashMap<[u8; 32], bool>>>);

impl Verdicts {
    /// Whether the signature is right. It is checked once.
    pub(crate) fn check(&self, said: &Announcement) -> bool {
        let Ok(mut known) = self.0.lock() else { return said.check() };
        *known.entry(*blake3::hash(&said.bytes).as_bytes()).or_insert_with(|| said.check())
    }
}

impl Has {
    fn of(bits: u32) -> Has {
        let has = |bit: u32| bits & bit != 0;
        Has { sources: has(SOURCES), sinks: has(SINKS), left: has(LEFT), served: has(SERVED) }
    }

    fn bits(self) -> u32 {
        let Has { sources, sinks, left, served } = self;
        let bits = [(sources, SOURCES), (sinks, SINKS), (left, LEFT), (served, SERVED)];
        bits.iter().filter(|(has, _)| *has).map(|(_, bit)| bit).sum()
    }
}

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Announcement { node, number, has, addresses, .. } = self;
        write!(f, "Announcement({node:?} #{number}, {has:?}, {addresses:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Announcement {
        let has = Has { sources: true, ..Has::default() };
        let addresses = ["tcp:127.0.0.1:7000".to_string(), "unix:/tmp/x".to_string()];
        Announcement::sign(&Key::from_seed([1; 32]), Identity([2; 16]), 3, has, &addresses)
    }

    #[test]
    fn an_announcement_is_read_as_it_was_signed() {
        let said = some();
        let read = Announcement::parse(said.bytes()).unwrap();
        assert_eq!(read, said);
        assert!(read.check());
        for cut in 0..said.bytes().len() {
            assert_eq!(Announcement::parse(&said.bytes()[..cut]).unwrap_err().code(), Code::Frame, "{cut}");
        }
    }

    #[test]
    fn a_changed_announcement_has_a_wrong_signature() {
        let said = some();
        for at in 0..said.bytes().len() {
            let mut bytes = said.bytes().to_vec();
            bytes[at] ^= 1;
            assert!(!Announcement::parse(&bytes).is_ok_and(|changed| changed.check()), "byte {at}");
        }
    }

    #[test]
    fn an_announcement_is_short() {
        let addresses: Vec<String> = (0..1000).map(|port| format!("tcp:127.0.0.1:{port}")).collect();
        let said = Announcement::sign(&Key::from_seed([1; 32]), Identity([2; 16]), 3, Has::default(), &addresses);
        assert!(said.bytes().len() <= LONGEST && said.addresses.len() > 20, "{}", said.bytes().len());
        let long = vec![0; LONGEST + 1];
        assert_eq!(Announcement::parse(&long).unwrap_err().code(), Code::Frame);
    }
}
