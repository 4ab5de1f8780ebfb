//! Who a node is: a key of its own, the id that follows from it, and how each side of a connection proves that it has
//! the key (`spec/channel.md`, "Identity").

use crate::keys::{Identity, NodeId};
use blake3::Hasher;
use ed25519_compact::{KeyPair, PublicKey, Seed, Signature};
use isoform_core::{Code, Error, Result};
use std::fmt;

/// Bytes of a signature.
pub(crate) const SIGNATURE: usize = 64;

/// What each hash is of, so that none can be taken for another.
const ID: &str = "Isoform 2026 node id";
const PROOF: &str = "Isoform 2026 link proof";
const NONCE: &str = "Isoform 2026 link nonce";
const CHANNEL: &str = "Isoform 2026 channel identity";

/// The key of a node. Each process makes one when it starts, of random bytes, and never stores it.
///
/// ```
/// use isoform_channel_proto::Key;
///
/// let key = Key::from_seed([7; 32]); // of the system's random bytes, outside of examples
/// assert_eq!(key.id(), Key::from_seed([7; 32]).id());
/// assert_ne!(key.id(), Key::from_seed([8; 32]).id());
/// ```
pub struct Key {
    pair: KeyPair,
    id: NodeId,
    /// What nonces are made of.
    secret: [u8; 32],
}

impl Key {
    /// The key that follows from random bytes. No two nodes may have the same ones: whoever knows them is this node.
    pub fn from_seed(seed: [u8; 32]) -> Key {
        let pair = KeyPair::from_seed(Seed::new(seed));
        Key { id: id_of(&pair.pk), pair, secret: blake3::derive_key(NONCE, &seed) }
    }

    /// The id of the node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The public key, from which the id follows.
    pub fn public(&self) -> [u8; 32] {
        *self.pair.pk
    }

    /// The nonce of a connection, which nobody can foresee. Each connection of a node needs a number of its own.
    pub fn nonce(&self, connection: u64) -> [u8; 32] {
        *blake3::keyed_hash(&self.secret, &connection.to_le_bytes()).as_bytes()
    }

    /// Proves to the other side of a connection that this side has the key.
    pub fn prove(&self, greetings: &Greetings<'_>, side: Side) -> [u8; 64] {
        self.sign(&greetings.hash(side))
    }

    /// The identity of a channel that this node makes, from a number that it uses once.
    pub fn channel(&self, name: &str, nonce: &[u8; 16]) -> Identity {
        channel_identity(&self.public(), name, nonce)
    }

    pub(crate) fn sign(&self, hash: &[u8; 32]) -> [u8; SIGNATURE] {
        *self.pair.sk.sign(hash, None)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.id)
    }
}

/// The id of the node that has a key.
///
/// ```
/// use isoform_channel_proto::{Key, node_id};
///
/// let key = Key::from_seed([7; 32]);
/// assert_eq!(node_id(&key.public()), key.id());
/// ```
pub fn node_id(public: &[u8; 32]) -> NodeId {
    id_of(&PublicKey::new(*public))
}

fn id_of(public: &PublicKey) -> NodeId {
    let hash = blake3::derive_key(ID, public.as_ref());
    NodeId(std::array::from_fn(|at| hash[at]))
}

/// The identity of the channel that the node with a key has made, under this name, with this number.
///
/// ```
/// use isoform_channel_proto::{Key, channel_identity};
///
/// let key = Key::from_seed([7; 32]);
/// assert_eq!(channel_identity(&key.public(), "river", &[1; 16]), key.channel("river", &[1; 16]));
/// assert_ne!(channel_identity(&key.public(), "lake", &[1; 16]), key.channel("river", &[1; 16]));
/// ```
pub fn channel_identity(public: &[u8; 32], name: &str, nonce: &[u8; 16]) -> Identity {
    let mut hasher = Hasher::new_derive_key(CHANNEL);
    hasher.update(public).update(nonce).update(name.as_bytes());
    let hash = *hasher.finalize().as_bytes();
    Identity(std::array::from_fn(|at| hash[at]))
}

/// Whether the owner of a key has signed a hash.
pub(crate) fn check_signature(public: &[u8; 32], hash: &[u8; 32], signature: &[u8; SIGNATURE]) -> bool {
    PublicKey::new(*public).verify(hash, &Signature::new(*signature)).is_ok()
}

/// The side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that connected.
    Dialer,
    /// The side that listened.
    Acceptor,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Dialer => Side::Acceptor,
            Side::Acceptor => Side::Dialer,
        }
    }
}

/// What a proof is about: this connection, and no other.
#[derive(Clone, Copy, Debug)]
pub struct Greetings<'a> {
    /// What the transport's encryption gives both ends in common; zeros without.
    pub binding: [u8; 32],
    /// The bytes of the dialer's Hello.
    pub dialer: &'a [u8],
    /// The bytes of the acceptor's Hello.
    pub acceptor: &'a [u8],
}

impl Greetings<'_> {
    /// Checks the proof of a side: that it has this key.
    ///
    /// # Errors
    /// [`Code::Handshake`].
    pub fn check(&self, side: Side, public: &[u8; 32], signature: &[u8; 64]) -> Result<()> {
        if check_signature(public, &self.hash(side), signature) {
            return Ok(());
        }
        let error = Error::new(Code::Handshake).at("proof");
        Err(error.expected("a signature of both Hellos by the key of its sender").found("another one"))
    }

    /// What is signed. Hellos say how long they are, so that no two pairs of them have the same bytes.
    pub(crate) fn hash(&self, side: Side) -> [u8; 32] {
        let mut hasher = Hasher::new_derive_key(PROOF);
        hasher.update(&[side as u8]).update(&self.binding).update(self.dialer).update(self.acceptor);
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_about_one_side_of_one_connection() {
        let [key, other] = [1, 2].map(|seed| Key::from_seed([seed; 32]));
        let greetings = Greetings { binding: [0; 32], dialer: b"first", acceptor: b"second" };
        let proof = key.prove(&greetings, Side::Dialer);
        greetings.check(Side::Dialer, &key.public(), &proof).unwrap();
        let mut changed = proof;
        changed[10] ^= 1;
        let later = Greetings { acceptor: b"third", ..greetings };
        let tunnelled = Greetings { binding: [1; 32], ..greetings };
        for (greetings, side, key, proof) in [
            (greetings, Side::Acceptor, &key, proof),
            (greetings, Side::Dialer, &other, proof),
            (greetings, Side::Dialer, &key, changed),
            (later, Side::Dialer, &key, proof),
            (tunnelled, Side::Dialer, &key, proof),
        ] {
            let error = greetings.check(side, &key.public(), &proof).unwrap_err();
            assert_eq!(error.code(), Code::Handshake, "{error}");
        }
    }

    #[test]
    fn keys_that_belong_to_nobody_prove_nothing() {
        let greetings = Greetings { binding: [0; 32], dialer: b"first", acceptor: b"second" };
        for weak in [[0; 32], [0xff; 32], std::array::from_fn(|at| u8::from(at == 0))] {
            assert!(greetings.check(Side::Dialer, &weak, &[0; 64]).is_err());
        }
    }

    #[test]
    fn no_nonce_comes_twice() {
        let key = Key::from_seed([1; 32]);
        assert_ne!(key.nonce(1), key.nonce(2));
        assert_ne!(key.nonce(1), Key::from_seed([2; 32]).nonce(1));
    }
}
