//! Shared keys: a secret that nodes have in common, and prove to each other without saying it (`spec/channel.md`,
//! "Identity").

use crate::hello::Hello;
use crate::identity::{Greetings, Side};
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::str::FromStr;

/// The most shared keys that a dialer offers to prove.
pub(crate) const OFFERED: usize = 4;

/// They separate the kinds of hashes from each other and from all others.
const NAME: &str = "Isoform 2026 shared key name";
const TAG: &str = "Isoform 2026 shared key tag";
const PROOF: &str = "Isoform 2026 shared key proof";

/// Shows that the sender of a Hello has a shared key. Unlike a proof, it can be repeated by whoever hears it.
pub(crate) type Tag = [u8; 8];

/// A secret that nodes have in common. Nodes that have it admit each other.
///
/// Its text is 64 hexadecimal digits. Keys are random bytes: nothing here makes a weak secret, such as a word, strong.
///
/// ```
/// use isoform_channel_proto::SharedKey;
///
/// let key = SharedKey::new([7; 32]); // of the system's random bytes, outside of examples
/// let same: SharedKey = key.to_hex().parse()?;
/// assert_eq!(same.name(), key.name());
/// assert_eq!(format!("{key:?}"), "SharedKey(4c647ce5634d70e7)", "its name, not the secret");
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone)]
pub struct SharedKey {
    secret: [u8; 32],
    name: KeyName,
}

/// The public name of a shared key, which tells keys apart and gives nothing of them away.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyName(pub [u8; 8]);

impl KeyName {
    /// No key.
    pub const NONE: KeyName = KeyName([0; 8]);
}

impl SharedKey {
    /// The key of these bytes, which nobody else must be able to guess.
    pub fn new(secret: [u8; 32]) -> SharedKey {
        let hash = blake3::derive_key(NAME, &secret);
        SharedKey { secret, name: KeyName(std::array::from_fn(|at| hash[at])) }
    }

    /// Its public name.
    pub fn name(&self) -> KeyName {
        self.name
    }

    /// The secret itself.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The secret, as 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.secret.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The tag of this key in a dialer's Hello.
    pub fn tag(&self, hello: &Hello) -> Tag {
        let hash = blake3::keyed_hash(&blake3::derive_key(TAG, &self.secret), &hello.tagged_bytes());
        std::array::from_fn(|at| hash.as_bytes()[at])
    }

    /// Proves to the other side of a connection that this side has the key.
    pub fn prove(&self, greetings: &Greetings<'_>, side: Side) -> [u8; 32] {
        *self.proof(greetings, side).as_bytes()
    }

    /// Checks the proof of a side: that it has this key.
    ///
    /// # Errors
    /// [`Code::Handshake`].
    pub fn check(&self, greetings: &Greetings<'_>, side: Side, proof: &[u8; 32]) -> Result<()> {
        // Hashes are compared in constant time.
        if self.proof(greetings, side) == blake3::Hash::from_bytes(*proof) {
            return Ok(());
        }
        let expected = format_args!("a proof of the shared key {}", self.name);
        Err(Error::new(Code::Handshake).at("proof").expected(expected).found("another one"))
    }

    fn proof(&self, greetings: &Greetings<'_>, side: Side) -> blake3::Hash {
        blake3::keyed_hash(&blake3::derive_key(PROOF, &self.secret), &greetings.hash(side))
    }
}

impl Drop for SharedKey {
    fn drop(&mut self) {
        self.secret.fill(0);
        // Otherwise the compiler may leave it out, since nobody reads the bytes again.
        std::hint::black_box(&self.secret);
    }
}

impl FromStr for SharedKey {
    type Err = Error;

    /// Parses 64 hexadecimal digits. The error does not show what was found, which may be most of a secret.
    fn from_str(text: &str) -> Result<SharedKey> {
        let found = |what: &dyn fmt::Display| Error::new(Code::Address).expected("64 hexadecimal digits").found(what);
        let (digits, []) = text.as_bytes().as_chunks::<2>() else {
            return Err(found(&format_args!("{} bytes", text.len())));
        };
        if digits.len() != 32 {
            return Err(found(&format_args!("{} bytes", text.len())));
        }
        let mut key = SharedKey { secret: [0; 32], name: KeyName::NONE };
        for (byte, [high, low]) in key.secret.iter_mut().zip(digits) {
            let digit = |digit: &u8| char::from(*digit).to_digit(16).map(|digit| digit as u8);
            let (Some(high), Some(low)) = (digit(high), digit(low)) else { return Err(found(&"other characters")) };
            *byte = high << 4 | low;
        }
        Ok(SharedKey::new(key.secret))
    }
}

impl PartialEq for SharedKey {
    fn eq(&self, other: &SharedKey) -> bool {
        blake3::Hash::from_bytes(self.secret) == blake3::Hash::from_bytes(other.secret)
    }
}

impl Eq for SharedKey {}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({})", self.name)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyName({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_about_one_side_of_one_connection_and_one_key() {
        let [key, other] = [1, 2].map(|byte| SharedKey::new([byte; 32]));
        let greetings = Greetings { binding: [0; 32], dialer: b"first", acceptor: b"second" };
        let proof = key.prove(&greetings, Side::Dialer);
        key.check(&greetings, Side::Dialer, &proof).unwrap();
        let mut changed = proof;
        changed[31] ^= 1;
        let later = Greetings { acceptor: b"third", ..greetings };
        let tunnelled = Greetings { binding: [1; 32], ..greetings };
        for (greetings, side, key, proof) in [
            (greetings, Side::Acceptor, &key, proof),
            (greetings, Side::Dialer, &other, proof),
            (greetings, Side::Dialer, &key, changed),
            (greetings, Side::Dialer, &key, [0; 32]),
            (later, Side::Dialer, &key, proof),
            (tunnelled, Side::Dialer, &key, proof),
        ] {
            assert_eq!(key.check(&greetings, side, &proof).unwrap_err().code(), Code::Handshake);
        }
    }

    #[test]
    fn a_key_is_written_as_it_is_read() {
        let key = SharedKey::new(std::array::from_fn(|at| (at * 8) as u8));
        assert_eq!(key.to_hex().to_uppercase().parse::<SharedKey>().unwrap(), key);
        assert_ne!(key, SharedKey::new([7; 32]));
        for wrong in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            let error = wrong.parse::<SharedKey>().unwrap_err();
            assert_eq!((error.code(), error.expectation()), (Code::Address, "64 hexadecimal digits"));
            assert!(wrong.is_empty() || !error.to_string().contains(wrong), "{error}");
        }
    }
}
