//! A connection before it is known who is at its other end: both Hellos, and the proofs of both sides
//! (`spec/channel.md`, "Handshake"). It needs nothing but the key of this node; what a node does with those who have
//! proven who they are is the business of `links`.

use crate::control::Control;
use crate::frame;
use crate::hello::Hello;
use crate::identity::{Greetings, Key, Side};
use crate::keys::NodeId;
use isoform_core::{Code, Error, Result};

/// The state of a connection until the other side has proven who it is.
pub(crate) struct Greeting {
    side: Side,
    nonce: [u8; 32],
    /// The node that this side wants to reach; [`NodeId::ANY`] for the acceptor.
    wanted: NodeId,
    /// What the other side has said.
    said: Option<Said>,
    peer: Option<NodeId>,
}

struct Said {
    hello: Hello,
    /// The bytes of both Hellos, the dialer's first.
    bytes: [Vec<u8>; 2],
}

/// What came of some bytes.
#[derive(Debug)]
pub(crate) enum Greeted {
    /// So many bytes were used.
    Used(usize),
    /// So many, and the other side refuses the connection.
    Refused(usize, u16, String),
}

impl Greeting {
    /// This side has connected, and wants a node or whichever is there. Its Hello is appended to `out`.
    pub(crate) fn dialer(key: &mut Key, wanted: Option<NodeId>, out: &mut Vec<u8>) -> Greeting {
        let greeting = Greeting::new(key, Side::Dialer, wanted.unwrap_or(NodeId::ANY));
        out.extend(greeting.hello(key, greeting.wanted).to_bytes());
        greeting
    }

    /// The other side has connected.
    pub(crate) fn acceptor(key: &mut Key) -> Greeting {
        Greeting::new(key, Side::Acceptor, NodeId::ANY)
    }

    fn new(key: &mut Key, side: Side, wanted: NodeId) -> Greeting {
        Greeting { side, nonce: key.nonce(), wanted, said: None, peer: None }
    }

    fn hello(&self, key: &Key, wanted: NodeId) -> Hello {
        Hello { public: key.public(), nonce: self.nonce, wanted }
    }

    /// Whether the other side has said a Hello.
    pub(crate) fn has_begun(&self) -> bool {
        self.said.is_some()
    }

    /// The node at the other end, once it has proven that.
    pub(crate) fn peer(&self) -> Option<NodeId> {
        self.peer
    }

    /// Takes what came, and appends the answer to `out`.
    ///
    /// # Errors
    /// [`Code::Handshake`], [`Code::Version`], [`Code::Flags`], [`Code::WrongNode`].
    pub(crate) fn receive(&mut self, key: &Key, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted> {
        match &self.said {
            None => self.greeted(key, input, out),
            Some(_) => self.proven(key, input, out),
        }
    }

    /// The acceptor of a link of another version, or of none, learns which version this node has.
    pub(crate) fn introduce(&self, key: &Key, out: &mut Vec<u8>) {
        if self.side == Side::Acceptor && self.said.is_none() {
            out.extend(self.hello(key, NodeId::ANY).to_bytes());
        }
    }

    fn greeted(&mut self, key: &Key, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted> {
        let Some((hello, length)) = Hello::parse(input)? else { return Ok(Greeted::Used(0)) };
        let (node, theirs) = (hello.node(), input[..length].to_vec());
        let wanted = if self.side == Side::Dialer { self.wanted } else { node };
        let ours = self.hello(key, wanted).to_bytes();
        let asked = hello.wanted;
        let bytes = match self.side {
            Side::Dialer => [ours, theirs],
            Side::Acceptor => [theirs, ours],
        };
        let said = self.said.insert(Said { hello, bytes });
        if self.side == Side::Acceptor {
            out.extend(&said.bytes[1]);
            if asked != NodeId::ANY && asked != key.id() {
                return Err(Error::new(Code::WrongNode).expected(asked).found(key.id()));
            }
            said.prove(key, self.side, out);
        } else if wanted != NodeId::ANY && wanted != node {
            return Err(Error::new(Code::WrongNode).expected(wanted).found(node));
        }
        if node == key.id() {
            return Err(Error::new(Code::WrongNode).expected("another node").found("this node itself"));
        }
        Ok(Greeted::Used(length))
    }

    fn proven(&mut self, key: &Key, input: &[u8], out: &mut Vec<u8>) -> Result<Greeted> {
        let Some(said) = &self.said else { return Ok(Greeted::Used(0)) };
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(Greeted::Used(0)) };
        match Control::parse(&header, payload)? {
            Some(Control::Proof(signature)) => {
                said.greetings().check(self.side.other(), &said.hello.public, &signature)?;
                if self.side == Side::Dialer {
                    said.prove(key, self.side, out);
                }
                self.peer = Some(said.hello.node());
                Ok(Greeted::Used(length))
            }
            Some(Control::Bye { code, text }) => Ok(Greeted::Refused(length, code, text)),
            _ => Err(Error::new(Code::Handshake).at("frame").expected("a Proof or a Bye").found(kind(&header))),
        }
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
