//! What is known of another node: the connection with it, if there is one, and what both have agreed on over it.

use super::state::Connection;
use crate::Time;
use crate::hello::Hello;
use crate::keys::{ChannelKey, ConnId, NodeId, ReceivingKey, SendingKey};
use crate::memory::Body;
use crate::outbox::{AHEAD, DESCRIBED, Outbox};
use isoform_core::{Code, Error, Format, Limits, Result};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) struct Link<B> {
    pub(super) peer: NodeId,
    /// Where the other node can be dialed.
    pub(super) addresses: Vec<String>,
    pub(super) epoch: u64,
    pub(super) connection: Option<ConnId>,
    /// Whether this side dialed the last connection.
    pub(super) dialed: bool,
    /// Since when it stands, or has been cut.
    pub(super) since: Time,
    /// When something was last written, and when something last came.
    pub(super) wrote: Time,
    pub(super) heard: Time,
    /// At least so often something must be written.
    pub(super) beat: Time,
    /// How many subscriptions the other allows.
    pub(super) allowed: usize,
    /// How many subscriptions this node's sinks have there.
    pub(super) subscribed: usize,
    /// Channels that this node has asked the other to be let in to, without an answer yet.
    pub(super) joining: BTreeSet<ChannelKey>,
    pub(super) outbox: Outbox<B>,
    /// What the caller knows of what is to be written.
    pub(super) announced: Announced,
    /// The formats that the other has named.
    pub(super) formats: Formats,
    /// From where times count that come.
    pub(super) time: u64,
    /// Whether it has told a sink of this node so much besides events that nothing more is taken from it.
    pub(super) too_much_news: bool,
    /// A fragment of which a part has come.
    pub(super) part: Option<Part>,
    /// Subscriptions of the other's sinks, by number: their sendings.
    pub(super) sendings: BTreeMap<u32, SendingKey>,
    /// Those among them that have something to send, in the order of their turns.
    pub(super) ready: VecDeque<SendingKey>,
    /// Subscriptions of this node's sinks that have something to acknowledge.
    pub(super) owing: Vec<ReceivingKey>,
    /// When that is due.
    pub(super) due: Option<Time>,
    /// Whether it is to be said with whatever is written next.
    pub(super) pressing: bool,
}

/// What the caller has been told of a link's output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Announced {
    Nothing,
    /// That there is some.
    Some,
    /// That there is enough for a system call that pays.
    Much,
}

/// A fragment under way.
pub(super) struct Part {
    /// The subscription; `None` if nobody wants it any more.
    pub(super) receiving: Option<ReceivingKey>,
    /// Bytes of the payload that have yet to come, and bytes of padding behind them.
    pub(super) missing: usize,
    pub(super) padding: usize,
}

impl<B: Body> Link<B> {
    pub(super) fn new(peer: NodeId) -> Link<B> {
        Link {
            peer,
            addresses: Vec::new(),
            epoch: 0,
            connection: None,
            dialed: false,
            since: Time::ZERO,
            wrote: Time::ZERO,
            heard: Time::ZERO,
            beat: Time::MAX,
            allowed: 0,
            subscribed: 0,
            joining: BTreeSet::new(),
            outbox: Outbox::new(1, AHEAD),
            announced: Announced::Nothing,
            formats: Formats::default(),
            time: 0,
            too_much_news: false,
            part: None,
            sendings: BTreeMap::new(),
            ready: VecDeque::new(),
            owing: Vec::new(),
            due: None,
            pressing: false,
        }
    }

    /// A new epoch begins, with what was said in this connection's handshake: whatever was agreed on over the one before is
    /// forgotten.
    pub(super) fn begin(&mut self, now: Time, id: ConnId, epoch: u64, connection: &Connection, hello: &Hello) {
        self.addresses.clone_from(&hello.addresses);
        self.epoch = epoch;
        self.connection = Some(id);
        self.dialed = connection.dial.is_some();
        (self.since, self.wrote, self.heard) = (now, now, now);
        self.beat = hello.silence / 3;
        self.allowed = hello.subscriptions as usize;
        self.outbox = Outbox::new(hello.formats, connection.ahead);
        self.announced = Announced::Nothing;
        self.formats = Formats::default();
        self.time = 0;
        self.part = None;
        self.ready.clear();
    }

    /// Its connection, if it stands.
    pub(super) fn standing(&self) -> Option<ConnId> {
        self.connection
    }

    /// The connection is gone.
    pub(super) fn cut(&mut self, now: Time) {
        self.connection = None;
        self.since = now;
        self.part = None;
        self.ready.clear();
        self.outbox = Outbox::new(1, AHEAD);
    }
}

/// The formats that the other side of a link has named.
#[derive(Default)]
pub(super) struct Formats {
    known: Vec<Option<Format>>,
    bytes: usize,
}

impl Formats {
    /// The format of an index.
    #[inline]
    pub(super) fn at(&self, index: u16) -> Result<&Format> {
        self.known.get(usize::from(index)).and_then(Option::as_ref).ok_or_else(|| {
            let error = Error::new(Code::Frame).at("format");
            error.expected("an index that a format was named by").came(index)
        })
    }

    /// Whether an index is within the limits.
    pub(super) fn admit(&self, index: u16, limits: &Limits) -> Result<()> {
        match usize::from(index) < indices(limits) {
            true => Ok(()),
            false => {
                let error = Error::new(Code::Frame).at("format");
                Err(error.expected(format_args!("an index below {}", indices(limits))).came(index))
            }
        }
    }

    /// Names a format. With the first index, all that were named before are forgotten.
    pub(super) fn name(&mut self, index: u16, format: Format) -> Result<()> {
        if index == 0 {
            *self = Formats::default();
        }
        let index = usize::from(index);
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        let length = |format: &Format| format.description().as_bytes().len();
        self.bytes += length(&format);
        self.bytes -= self.known[index].replace(format).as_ref().map_or(0, length);
        if self.bytes > DESCRIBED {
            let error = Error::new(Code::DescriptionSize).at("formats of a link");
            return Err(error.expected(format_args!("at most {DESCRIBED} bytes")).came(self.bytes));
        }
        Ok(())
    }
}

/// How many formats a node keeps of each link.
pub(super) fn indices(limits: &Limits) -> usize {
    limits.formats.clamp(1, usize::from(u16::MAX))
}
