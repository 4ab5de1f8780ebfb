//! What a node knows of the other end of a connection, besides its id.

use crate::shared::KeyName;
use std::fmt;

/// What a node knows of the other end of a connection. The caller says what its transport knows, and the greeting adds
/// the shared key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Bytes that only the two ends of an encrypted connection know. The proofs of both sides cover them. Zeros without
    /// encryption.
    pub binding: [u8; 32],
    /// The user for whom the other process runs, if it is on this machine and the system says so.
    pub local_user: Option<u32>,
    /// The names in a certificate that the transport has checked.
    pub certificate: Option<Vec<String>>,
    /// The shared key that the other side has proven to have.
    pub key: Option<KeyName>,
}

impl Credentials {
    /// Whether there are none: anybody can come without, under any number of ids.
    pub(crate) fn is_empty(&self) -> bool {
        self.local_user.is_none() && self.certificate.is_none() && self.key.is_none()
    }
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
