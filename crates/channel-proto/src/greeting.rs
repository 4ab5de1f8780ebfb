//! A connection before it is known who is at its other end: both Hellos, and the proofs of both sides
//! (`spec/channel.md`, "Handshake"). It needs nothing but the key of this node; what a node does with those who have
//! proven who they are is the business of `links`.

use crate::control::Control;
use crate::frame;
use crate::hello::Hello;
use crate::identity::{Greetings, Key, Side};
use crate::keys::NodeId;
use isoform_core::{Code, Error, Result};
use std::sync::Arc;

/// The state of a connection until the other side has proven who it is.
///
/// A node takes bytes of a handshake as any others. But making and checking a proof takes some hundred microseconds, in
/// which a node that threads share would let all of them wait. So such a node's caller may [take](crate::Node::take_greeting)
/// the greeting of a connection, give it the bytes that arrive, and put it back.
pub struct Greeting {
    key: Arc<Key>,
    side: Side,
    nonce: [u8; 32],
    /// The node that this side wants to reach; [`NodeId::ANY`] for the acceptor.
    wanted: NodeId,
    /// What the other side has said.
    said: Option<Said>,
    /// What this side says.
    pub(crate) out: Vec<u8>,
    /// The node at the other end, once it has proven that.
    pub(crate) peer: Option<NodeId>,
    /// The code and text with which the other side has refused the connection.
    pub(crate) refused: Option<(u16, String)>,
}

struct Said {
    hello: Hello,
    /// The bytes of both Hellos, the dialer's first.
    bytes: [Vec<u8>; 2],
}

impl Greeting {
    /// This side has connected, and wants a node or whichever is there.
    pub(crate) fn dialer(key: &Arc<Key>, nonce: [u8; 32], wanted: Option<NodeId>) -> Greeting {
        let mut greeting = Greeting::new(key, nonce, Side::Dialer, wanted.unwrap_or(NodeId::ANY));
        greeting.out = greeting.hello(greeting.wanted).to_bytes();
        greeting
    }

    /// The other side has connected.
    pub(crate) fn acceptor(key: &Arc<Key>, nonce: [u8; 32]) -> Greeting {
        Greeting::new(key, nonce, Side::Acceptor, NodeId::ANY)
    }

    fn new(key: &Arc<Key>, nonce: [u8; 32], side: Side, wanted: NodeId) -> Greeting {
        Greeting { key: key.clone(), side, nonce, wanted, said: None, out: Vec::new(), peer: None, refused: None }
    }

    fn hello(&self, wanted: NodeId) -> Hello {
        Hello { public: self.key.public(), nonce: self.nonce, wanted }
    }

    /// Whether the other side has said a Hello.
    pub(crate) fn has_begun(&self) -> bool {
        self.said.is_some()
    }

    /// Takes bytes that arrived, and says how many of them were used: the rest is to be given again, with more behind it.
    /// Once the other side has proven who it is, the rest is for the [node](crate::Node::receive).
    ///
    /// # Errors
    /// [`Code::Handshake`], [`Code::Version`], [`Code::Flags`], [`Code::WrongNode`].
    pub fn receive(&mut self, input: &[u8]) -> Result<usize> {
        let mut used = 0;
        while self.peer.is_none() && self.refused.is_none() {
            match self.step(&input[used..])? {
                0 => break,
                length => used += length,
            }
        }
        Ok(used)
    }

    fn step(&mut self, input: &[u8]) -> Result<usize> {
        match &self.said {
            None => self.greeted(input),
            Some(_) => self.proven(input),
        }
    }

    /// The last words, if the other side speaks a link of another version: it learns which version this node has.
    pub(crate) fn introduce(&mut self) {
        if self.side == Side::Acceptor && self.said.is_none() {
            self.out.extend(self.hello(NodeId::ANY).to_bytes());
        }
    }

    fn greeted(&mut self, input: &[u8]) -> Result<usize> {
        let Some((hello, length)) = Hello::parse(input)? else { return Ok(0) };
        let (node, asked, theirs) = (hello.node(), hello.wanted, input[..length].to_vec());
        let (own, wanted) = (self.key.id(), if self.side == Side::Dialer { self.wanted } else { node });
        let ours = self.hello(wanted).to_bytes();
        let bytes = match self.side {
            Side::Dialer => [ours, theirs],
            Side::Acceptor => [theirs, ours],
        };
        let said = self.said.insert(Said { hello, bytes });
        if self.side == Side::Acceptor {
            self.out.extend(&said.bytes[1]);
            if asked != NodeId::ANY && asked != own {
                return Err(Error::new(Code::WrongNode).expected(asked).found(own));
            }
        } else if wanted != NodeId::ANY && wanted != node {
            return Err(Error::new(Code::WrongNode).expected(wanted).found(node));
        }
        if node == own {
            return Err(Error::new(Code::WrongNode).expected("another node").found("this node itself"));
        }
        if self.side == Side::Acceptor {
            said.prove(&self.key, self.side, &mut self.out);
        }
        Ok(length)
    }

    fn proven(&mut self, input: &[u8]) -> Result<usize> {
        let Some(said) = &self.said else { return Ok(0) };
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(0) };
        match Control::parse(&header, payload)? {
            Some(Control::Proof(signature)) => {
                said.greetings().check(self.side.other(), &said.hello.public, &signature)?;
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
        Greetings { dialer: &self.bytes[0], acceptor: &self.bytes[1] }
    }

    fn prove(&self, key: &Key, side: Side, out: &mut Vec<u8>) {
        Control::Proof(key.prove(&self.greetings(), side).into()).put(out);
    }
}

/// A frame in an error.
pub(crate) fn kind(header: &frame::Header) -> String {
    header.kind.map_or("a frame of an unknown kind".into(), |kind| format!("{kind:?}"))
}
