//! A connection before it is known who is at its other end: both Hellos, and the proofs of both sides
//! (`spec/channel.md`, "Handshake"). It needs only the keys of this node. `links` continues with the proven node.

use crate::access::Access;
use crate::control::{Control, Proof};
use crate::credentials::Credentials;
use crate::frame;
use crate::hello::{self, Hello};
use crate::identity::{Greetings, Key, Side};
use crate::keys::NodeId;
use crate::shared::{KeyName, OFFERED, SharedKey};
use isoform_core::{Code, Error, Result};
use std::sync::Arc;

/// So many bytes may follow a Hello that is not answered yet: those of a Bye, with which a dialer gives up.
const EARLY: usize = 4096;

/// The state of a connection until the other side has proven who it is.
///
/// A node takes bytes of a handshake as any others. But making and checking a proof takes some hundred microseconds. If
/// threads share a node, all of them would wait that long. So the caller may [take](crate::Node::take_greeting) the
/// greeting of a connection, give it the bytes that arrive, and put it back.
pub struct Greeting {
    key: Arc<Key>,
    access: Arc<Access>,
    side: Side,
    nonce: [u8; 32],
    /// The node that this side wants to reach; [`NodeId::ANY`] for the acceptor.
    wanted: NodeId,
    /// The shared keys that the dialer offers to prove.
    offered: [KeyName; OFFERED],
    /// Whether the other side understands a Bye, by its first bytes.
    pub(crate) understands: bool,
    /// What the other side has said.
    said: Option<Said>,
    /// Whether this side may answer it, and whether it has. A dialer need not ask.
    may_answer: bool,
    has_answered: bool,
    /// What is known of the other side. The shared key counts once `peer` is there.
    pub(crate) credentials: Credentials,
    /// What this side says.
    pub(crate) out: Vec<u8>,
    /// The node at the other end, once it has proven that.
    pub(crate) peer: Option<NodeId>,
    /// The code and text with which the other side has refused the connection.
    pub(crate) refused: Option<(u16, String)>,
}

/// What this node is, whom it admits, and what it says once on each connection.
pub(crate) struct Own<'a> {
    pub(crate) key: &'a Arc<Key>,
    pub(crate) access: &'a Arc<Access>,
    pub(crate) nonce: [u8; 32],
}

struct Said {
    hello: Hello,
    /// The bytes of both Hellos, the dialer's first.
    bytes: [Vec<u8>; 2],
    binding: [u8; 32],
    /// The shared key that both sides prove, if they have one in common.
    chosen: Option<SharedKey>,
}

impl Greeting {
    /// This side has connected, and wants a certain node or any. It offers to prove `first`, and then the first of its other
    /// shared keys.
    pub(crate) fn dialer(
        own: Own<'_>,
        credentials: Credentials,
        wanted: Option<NodeId>,
        first: Option<KeyName>,
    ) -> Greeting {
        let mut greeting = Greeting::new(own, credentials, Side::Dialer, wanted.unwrap_or(NodeId::ANY));
        let others = greeting.access.keys.iter().map(SharedKey::name).filter(|&name| Some(name) != first);
        for (place, name) in greeting.offered.iter_mut().zip(first.into_iter().chain(others)) {
            *place = name;
        }
        greeting.out = greeting.hello(greeting.wanted, greeting.offered);
        greeting
    }

    /// The other side has connected.
    pub(crate) fn acceptor(own: Own<'_>, credentials: Credentials) -> Greeting {
        Greeting::new(own, credentials, Side::Acceptor, NodeId::ANY)
    }

    fn new(own: Own<'_>, credentials: Credentials, side: Side, wanted: NodeId) -> Greeting {
        let (key, access, offered) = (own.key.clone(), own.access.clone(), Default::default());
        let (nonce, out) = (own.nonce, Vec::new());
        // A dialer that has said nothing yet understands, as far as one knows.
        let (understands, said, peer, refused) = (side == Side::Acceptor, None, None, None);
        let (may_answer, has_answered) = (side == Side::Dialer, side == Side::Dialer);
        Greeting {
            key,
            access,
            side,
            nonce,
            wanted,
            offered,
            understands,
            said,
            may_answer,
            has_answered,
            credentials,
            out,
            peer,
            refused,
        }
    }

    /// The bytes of this side's Hello.
    fn hello(&self, wanted: NodeId, keys: [KeyName; OFFERED]) -> Vec<u8> {
        let hello = Hello { public: self.key.public(), nonce: self.nonce, wanted, keys, tags: Default::default() };
        match self.side {
            Side::Dialer => hello.tagged(&self.access.keys).to_bytes(),
            Side::Acceptor => hello.to_bytes(),
        }
    }

    /// Notes what the transport has learnt of the other side from its first bytes. After the other side's Hello, this has
    /// no effect.
    pub fn learn(&mut self, credentials: Credentials) {
        if self.said.is_none() {
            self.credentials = credentials;
        }
    }

    /// Takes bytes that arrived, and returns how many were used. Pass the others again, with more bytes after them. Once the
    /// other side has proven who it is, pass them to the [node](crate::Node::receive).
    ///
    /// # Errors
    /// [`Code::Handshake`], [`Code::Version`], [`Code::Flags`], [`Code::WrongNode`], [`Code::NotAdmitted`].
    pub fn receive(&mut self, input: &[u8]) -> Result<usize> {
        self.answer();
        let mut used = 0;
        while self.peer.is_none() && self.refused.is_none() && !self.asks() {
            match self.step(&input[used..])? {
                0 => break,
                length => used += length,
            }
        }
        if self.asks() && input.len() - used > EARLY {
            let error = Error::new(Code::Handshake).at("hello");
            return Err(error.expected("nothing but a Bye behind it before it is answered"));
        }
        Ok(used)
    }

    /// Whether the other side has said its Hello, and the node is to say when this side may answer it.
    pub(crate) fn asks(&self) -> bool {
        self.said.is_some() && !self.has_answered
    }

    /// This side may answer the other's Hello, as soon as it [receives](Greeting::receive) again.
    pub(crate) fn allow(&mut self) {
        self.may_answer = true;
    }

    /// Whom the other side claims to be, as far as it has said.
    pub(crate) fn claims(&self) -> Credentials {
        let key = self.said.as_ref().and_then(|said| said.chosen.as_ref()).map(SharedKey::name);
        Credentials { key, ..self.credentials.clone() }
    }

    /// Answers the dialer's Hello: says who this side is, and proves it.
    fn answer(&mut self) {
        let Some(said) = self.said.as_ref().filter(|_| self.may_answer && !self.has_answered) else { return };
        self.out.extend(&said.bytes[1]);
        said.prove(&self.key, self.side, &mut self.out);
        self.has_answered = true;
    }

    fn step(&mut self, input: &[u8]) -> Result<usize> {
        match &self.said {
            None => self.greeted(input),
            Some(_) => self.proven(input),
        }
    }

    /// Says the acceptor's Hello before a Bye, if it is still to be said: it tells the version of this node.
    pub(crate) fn introduce(&mut self) {
        if std::mem::replace(&mut self.has_answered, true) {
            return;
        }
        match &self.said {
            Some(said) => self.out.extend(&said.bytes[1]),
            None => self.out.extend(self.hello(NodeId::ANY, Default::default())),
        }
    }

    fn greeted(&mut self, input: &[u8]) -> Result<usize> {
        self.understands = hello::understands_refusal(input);
        let Some((hello, length)) = Hello::parse(input)? else { return Ok(0) };
        if self.side == Side::Dialer && hello.wanted == NodeId::ANY {
            return Ok(self.turned_away(&input[length..])?.map_or(0, |used| length + used));
        }
        let (node, asked, theirs) = (hello.node(), hello.wanted, input[..length].to_vec());
        let (own, wanted) = (self.key.id(), if self.side == Side::Dialer { self.wanted } else { node });
        let chosen = self.choose(&hello)?;
        let first = chosen.as_ref().map_or(KeyName::NONE, SharedKey::name);
        let keys =
            if self.side == Side::Dialer { self.offered } else { [first, KeyName::NONE, KeyName::NONE, KeyName::NONE] };
        let ours = self.hello(wanted, keys);
        let bytes = match self.side {
            Side::Dialer => [ours, theirs],
            Side::Acceptor => [theirs, ours],
        };
        let said = self.said.insert(Said { hello, bytes, binding: self.credentials.binding, chosen });
        if self.side == Side::Acceptor {
            if asked != NodeId::ANY && asked != own {
                return Err(Error::new(Code::WrongNode).expected(asked).found(own));
            }
        } else if wanted != NodeId::ANY && wanted != node {
            return Err(Error::new(Code::WrongNode).expected(wanted).found(node));
        }
        if node == own {
            return Err(Error::new(Code::WrongNode).expected("another node").found("this node itself"));
        }
        // Strangers cost no signature. A node that is admitted by a shared key must still prove it.
        self.credentials.key = said.chosen.as_ref().map(SharedKey::name);
        self.access.admission.expect(&self.credentials)?;
        Ok(length)
    }

    /// The acceptor's Hello answers none: it refuses this side's, or has no room for a connection. The Bye behind it says why.
    fn turned_away(&mut self, input: &[u8]) -> Result<Option<usize>> {
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(None) };
        let Some(Control::Bye { code, text }) = Control::parse(&header, payload)? else {
            let error = Error::new(Code::Handshake).at("frame");
            return Err(error.expected("a Bye behind a Hello for no node").found(kind(&header)));
        };
        self.refused = Some((code, text));
        Ok(Some(length))
    }

    /// The shared key that both sides prove: the first one of the dialer's that the acceptor knows, and whose tag is right.
    fn choose(&self, hello: &Hello) -> Result<Option<SharedKey>> {
        let known = |name: &KeyName| self.access.keys.iter().find(|key| key.name() == *name).cloned();
        let [first, ..] = hello.keys;
        match self.side {
            Side::Acceptor => Ok(hello.first_of(&self.access.keys)),
            Side::Dialer if first == KeyName::NONE => Ok(None),
            Side::Dialer if self.offered.contains(&first) => Ok(known(&first)),
            Side::Dialer => {
                let error = Error::new(Code::Handshake).at("hello");
                Err(error.expected("one of the shared keys that were offered").found(first))
            }
        }
    }

    /// The public key that the other side has named; zeros before its Hello.
    pub(crate) fn public(&self) -> [u8; 32] {
        self.said.as_ref().map_or([0; 32], |said| said.hello.public)
    }

    /// The nonce that the other side has said; zeros before its Hello.
    pub(crate) fn nonce(&self) -> [u8; 32] {
        self.said.as_ref().map_or([0; 32], |said| said.hello.nonce)
    }

    fn proven(&mut self, input: &[u8]) -> Result<usize> {
        let Some(said) = &self.said else { return Ok(0) };
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(0) };
        match Control::parse(&header, payload)? {
            Some(Control::Proof(proof)) => {
                said.check(self.side.other(), &proof)?;
                if self.side == Side::Dialer {
                    said.prove(&self.key, self.side, &mut self.out);
                }
                self.peer = Some(said.hello.node());
            }
            Some(Control::Bye { code, text }) => self.refused = Some((code, text)),
            _ => return Err(Error::new(Code::Handshake).at("frame").expected("a Proof or a Bye").found(kind(&header))),
        }
        Ok(length)
    }
}

impl Said {
    fn greetings(&self) -> Greetings<'_> {
        Greetings { binding: self.binding, dialer: &self.bytes[0], acceptor: &self.bytes[1] }
    }

    fn prove(&self, key: &Key, side: Side, out: &mut Vec<u8>) {
        let greetings = self.greetings();
        let shared = self.chosen.as_ref().map_or([0; 32], |chosen| chosen.prove(&greetings, side));
        Control::Proof(Proof { signature: key.prove(&greetings, side), shared }.into()).put(out);
    }

    fn check(&self, side: Side, proof: &Proof) -> Result<()> {
        let greetings = self.greetings();
        // The cheaper one first.
        if let Some(chosen) = &self.chosen {
            chosen.check(&greetings, side, &proof.shared)?;
        }
        greetings.check(side, &self.hello.public, &proof.signature)
    }
}

/// A frame in an error.
pub(crate) fn kind(header: &frame::Header) -> String {
    header.kind.map_or("a frame of an unknown kind".into(), |kind| format!("{kind:?}"))
}
