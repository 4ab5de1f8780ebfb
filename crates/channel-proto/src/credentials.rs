//! What a node knows of the other end of a connection, besides its id; and whom it counts the other node under.

use crate::shared::KeyName;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// What hashes of names in certificates are of.
const NAMES: &str = "Isoform 2026 names of a certificate";

/// What a node knows of the other end of a connection. The caller says what its transport knows, and the greeting adds
/// the shared key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Bytes that only the two ends of an encrypted connection know. The proofs of both sides cover them. Zeros without
    /// encryption.
    pub binding: [u8; 32],
    /// The address of the other machine, if the transport knows it. It proves nothing, but those of one address take turns.
    pub address: Option<IpAddr>,
    /// The user for whom the other process runs, if it is on this machine and the system says so.
    pub local_user: Option<u32>,
    /// The names in a certificate that the transport has checked.
    pub certificate: Option<Vec<String>>,
    /// The shared key that the other side has proven to have.
    pub key: Option<KeyName>,
}

impl Credentials {
    /// The address under which a connection counts. An IPv6 address counts as its network of 64 bits, and all loopback addresses as
    /// one, since whoever has one of them has all. An IPv4 address that is mapped into IPv6 is that IPv4 address.
    pub fn network(&self) -> Option<IpAddr> {
        self.address.map(|address| match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => IpAddr::from((address.to_bits() & (u128::MAX << 64)).to_be_bytes()),
        })
    }

    /// Whom limits count the node under. A node with several credentials has one principal: that of the credential which is
    /// hardest to get.
    pub(crate) fn principal(&self, own: &OwnUser) -> Principal {
        match (self.local_user, &self.certificate, self.key) {
            (Some(user), ..) if own.users.contains(&user) => Principal::Own,
            (Some(user), ..) => Principal::User(user),
            (None, Some(names), _) => Principal::Certificate(hash(names)),
            (None, None, Some(key)) if own.key == Some(key) => Principal::Own,
            (None, None, Some(key)) => Principal::Key(key),
            (None, None, None) => Principal::Nobody,
        }
    }
}

/// What the programs of the node's own user prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnUser {
    /// The numbers of the users of this machine whose programs may do what this program may.
    pub users: Vec<u32>,
    /// The shared key that nobody but this user has.
    pub key: Option<KeyName>,
}

/// Whom the limits of a node count another node under: a process makes as many ids as it likes, but no credentials
/// (`spec/channel.md`, "Limits").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Principal {
    /// The node's own user.
    Own,
    /// Another user of this machine.
    User(u32),
    /// Those with a certificate of these names, by their hash.
    Certificate([u8; 16]),
    /// Those who have proven this shared key.
    Key(KeyName),
    /// All who have proven nothing, together.
    #[default]
    Nobody,
}

impl Principal {
    pub(crate) fn is_own(self) -> bool {
        self == Principal::Own
    }

    /// Whether it is that of all who have no credentials.
    pub(crate) fn is_nobody(self) -> bool {
        self == Principal::Nobody
    }
}

/// Certificates are the same holder's if they have the same names, in any order: rules know no more of them either.
fn hash(names: &[String]) -> [u8; 16] {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    let mut hasher = blake3::Hasher::new_derive_key(NAMES);
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
    }
    let hash = *hasher.finalize().as_bytes();
    std::array::from_fn(|at| hash[at])
}

/// In the words of the rules.
impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.local_user.map(|user| format!("user {user}"));
        let names = self.certificate.iter().flatten().map(|name| format!("name {name}"));
        let key = self.key.map(|key| format!("key {key}"));
        let all: Vec<String> = user.into_iter().chain(key).chain(names).collect();
        f.write_str(if all.is_empty() { "a node without a user, a key and a certificate" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_counts_under_its_user_then_its_certificate_then_its_key() {
        let own = OwnUser { users: vec![1000, 0], key: Some(KeyName([1; 8])) };
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let key = |byte| Some(KeyName([byte; 8]));
        let of = |local_user, certificate, key| {
            Credentials { local_user, certificate, key, ..Credentials::default() }.principal(&own)
        };
        for user in own.users.clone() {
            assert_eq!(of(Some(user), names(&["a"]), key(2)), Principal::Own);
        }
        assert_eq!(of(Some(1001), names(&["a"]), key(1)), Principal::User(1001));
        assert_eq!(of(None, names(&["a", "b"]), key(1)), of(None, names(&["b", "a"]), None));
        assert_ne!(of(None, names(&["a", "b"]), None), of(None, names(&["ab"]), None));
        assert_eq!(of(None, None, key(1)), Principal::Own);
        assert_eq!(of(None, None, key(2)), Principal::Key(KeyName([2; 8])));
        assert_eq!(of(None, None, None), Principal::Nobody);
    }
}
