//! The state of another node: the connection with it, if there is one, and the agreements made on it.

use super::held::Held;
use super::outbox::{AHEAD, DESCRIBED, Outbox};
use super::purses::FIRST;
use super::timers::Due;
use super::transit::Way;
use crate::Time;
use crate::allowance::Allowance;
use crate::budget::Taken;
use crate::credentials::{Credentials, Principal};
use crate::keys::{ConnId, NodeId};
use crate::memory::Body;
use crate::terms::{FORMATS, Terms};
use isoform_core::{Code, Error, Format, Limits, Result};

/// A connection that breaks within this time is none that one can rely on.
const BRIEF: Time = Time::from_secs(1);

pub(crate) struct Link<B> {
    pub(crate) peer: NodeId,
    /// Its public key.
    pub(crate) public: [u8; 32],
    /// What is known of the other node besides its id.
    pub(crate) credentials: Credentials,
    /// Where the other node says that it can be dialed.
    pub(crate) addresses: Vec<String>,
    /// Where it was dialed, and proved who it is.
    pub(super) reached: Vec<String>,
    pub(crate) epoch: u64,
    pub(super) connection: Option<ConnId>,
    /// Whether this side dialed the last connection.
    pub(super) dialed: bool,
    /// The time of its last connection, or of its last cut.
    pub(crate) since: Time,
    /// How long it has had connections that are over now.
    pub(super) stood: Time,
    /// How many of its connections in a row have broken soon after they began.
    pub(super) brief: u32,
    /// The times of the last output and the last input.
    pub(super) wrote: Time,
    pub(crate) heard: Time,
    /// The longest time without output.
    pub(super) beat: Time,
    /// The number of subscriptions that the other node allows.
    pub(crate) allowed: usize,
    /// How many bytes of bodies that are longer than their windows may be under way together: to the other node, and to
    /// this one.
    pub(crate) bodies: u64,
    pub(crate) own_bodies: u64,
    pub(crate) outbox: Outbox<B>,
    /// What the caller knows about pending output.
    pub(super) announced: Announced,
    /// The formats that the other node has described.
    pub(crate) formats: Formats,
    /// The memory of the formats that it has described, over all epochs.
    pub(super) held: Held,
    /// When it has something due.
    pub(super) due: Due,
    /// How many Pings it demands in a minute of this epoch.
    pub(super) pings: u64,
    /// Whether this node has dialed it in any epoch. It is no stranger then.
    pub(super) is_chosen: bool,
    /// What it has taken of the budgets.
    pub(crate) taken: Taken,
    /// How many requests and reports it may send as its part of what its principal may.
    pub(crate) requests: Allowance,
    /// How many more of them it may send although its principal has none left.
    pub(super) first: u32,
    /// How many kept events it may have for its subscriptions.
    pub(crate) kept: Allowance,
    /// The base time of arriving events.
    pub(crate) time: u64,
}

/// What the caller knows about the pending output of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Announced {
    Nothing,
    /// There is some.
    Some,
    /// There is enough for a system call.
    Much,
}

impl<B: Body> Link<B> {
    pub(super) fn new(peer: NodeId, public: [u8; 32], principal: Principal, way: Way) -> Link<B> {
        Link {
            peer,
            public,
            credentials: Credentials::default(),
            addresses: Vec::new(),
            reached: Vec::new(),
            epoch: 0,
            connection: None,
            dialed: false,
            since: Time::ZERO,
            stood: Time::ZERO,
            brief: 0,
            wrote: Time::ZERO,
            heard: Time::ZERO,
            beat: Time::MAX,
            allowed: 0,
            bodies: 0,
            own_bodies: 0,
            outbox: Outbox::new(1, AHEAD, way),
            announced: Announced::Nothing,
            formats: Formats::default(),
            held: Held::default(),
            due: Due::default(),
            pings: 0,
            is_chosen: false,
            taken: Taken::of(principal),
            requests: Allowance::default(),
            first: FIRST,
            kept: Allowance::default(),
            time: 0,
        }
    }

    /// A new epoch begins, with what was said in this connection's handshake: whatever was agreed on over the one before is
    /// forgotten.
    pub(super) fn begin(
        &mut self,
        now: Time,
        id: ConnId,
        epoch: u64,
        is_dialed: bool,
        outbox: Outbox<B>,
        terms: Terms,
    ) {
        self.addresses = terms.addresses;
        self.epoch = epoch;
        self.connection = Some(id);
        self.dialed = is_dialed;
        (self.since, self.wrote, self.heard) = (now, now, now);
        self.beat = terms.silence / 3;
        self.allowed = terms.subscriptions as usize;
        self.bodies = u64::from(terms.bodies) << 20;
        self.outbox = outbox;
        self.announced = Announced::Nothing;
        self.formats = Formats::default();
        self.time = 0;
    }

    /// Its connection, if there is one.
    pub(crate) fn connection(&self) -> Option<ConnId> {
        self.connection
    }

    #[inline]
    pub(crate) fn stands(&self) -> bool {
        self.connection.is_some()
    }

    /// The connection has ended.
    pub(super) fn cut(&mut self, now: Time) {
        let stood = now.saturating_sub(self.since);
        self.connection = None;
        self.stood += stood;
        self.brief = if stood < BRIEF { self.brief.saturating_add(1) } else { 0 };
        self.since = now;
        self.outbox = Outbox::new(1, AHEAD, self.outbox.way().anew());
    }
}

/// The formats that the other node of a link has described.
#[derive(Default)]
pub(crate) struct Formats {
    known: Vec<Option<Format>>,
    bytes: usize,
}

impl Formats {
    /// The format of an index.
    #[inline]
    pub(crate) fn at(&self, index: u16) -> Result<&Format> {
        self.known.get(usize::from(index)).and_then(Option::as_ref).ok_or_else(|| {
            let error = Error::new(Code::Frame).at("format");
            error.expected("the index of a described format").found(index)
        })
    }

    /// Whether an index is within the limits.
    pub(super) fn admit(&self, index: u16, limits: &Limits) -> Result<()> {
        match usize::from(index) < indices(limits) {
            true => Ok(()),
            false => {
                let error = Error::new(Code::Frame).at("format");
                Err(error.expected(format_args!("an index below {}", indices(limits))).found(index))
            }
        }
    }

    /// Stores a format under an index. The first index removes all earlier formats.
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
            return Err(error.expected(format_args!("at most {DESCRIBED} bytes")).found(self.bytes));
        }
        Ok(())
    }
}

/// How many Pings a minute a node wants that takes another for dead after this silence.
pub(super) fn pings(silence: Time) -> u64 {
    (3 * 60_000u64).div_ceil((silence.as_millis() as u64).max(1))
}

/// The number of formats that a node keeps for each link.
pub(super) fn indices(limits: &Limits) -> usize {
    limits.formats.clamp(*FORMATS.start() as usize, *FORMATS.end() as usize)
}
