//! What the two ends of every way can do, whatever it is made of.
//!
//! Events are numbered, from 0 on each connection; whoever receives one looks whether it is the next.

use super::ours::Submits;
use super::{ours, raw, zeromq};
use crate::Result;
use std::ops::Range;

/// How an event gets across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A channel, with events submitted one by one, by reference.
    Isoform,
    /// A channel, with events of shared ownership.
    Owned,
    /// A channel whose two ends look for events without end, instead of waiting for them.
    Polled,
    /// A channel, with as many events submitted at once as go into 64 KiB.
    Many,
    /// A socket, and nothing around it.
    Raw,
    /// ZeroMQ's PUB and SUB.
    Zeromq,
}

/// What it goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// TCP, on this machine.
    Tcp,
    /// Unix sockets.
    Unix,
}

/// The end that takes the time, before anybody is at the other.
pub(super) struct Offer {
    /// Where the other end finds it.
    pub(super) address: String,
    /// To be called when it has connected.
    pub(super) accept: Box<dyn FnOnce() -> Result<Box<dyn Near>>>,
}

/// The end that takes the time.
pub(super) trait Near {
    /// Sends this event and waits for it to come back.
    fn ping(&mut self, step: u32) -> Result<()>;

    /// Sends these events.
    fn send(&mut self, steps: Range<u32>) -> Result<()>;
}

/// The other one, in the [partner](super::partner).
pub(super) trait Far {
    /// Sends these events back, one by one.
    fn echo(&mut self, steps: Range<u32>) -> Result<()>;

    /// Waits for these events.
    fn receive(&mut self, steps: Range<u32>) -> Result<()>;
}

impl Way {
    const ALL: [Way; 6] = [Way::Isoform, Way::Owned, Way::Polled, Way::Many, Way::Raw, Way::Zeromq];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Isoform => "isoform",
            Way::Owned => "owned",
            Way::Polled => "polled",
            Way::Many => "many",
            Way::Raw => "raw",
            Way::Zeromq => "zeromq",
        }
    }

    pub(super) fn parse(name: &str) -> Result<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| format!("there is no way {name:?}").into())
    }

    /// An end for events of this size.
    pub(super) fn offer(self, transport: Transport, bytes: usize) -> Result<Offer> {
        match self {
            Way::Isoform => ours::offer(transport, bytes, Submits::One),
            Way::Owned => ours::offer(transport, bytes, Submits::Owned),
            Way::Polled => ours::offer(transport, bytes, Submits::Polled),
            Way::Many => ours::offer(transport, bytes, Submits::Many),
            Way::Raw => raw::offer(transport, bytes),
            Way::Zeromq => zeromq::offer(transport, bytes),
        }
    }

    /// The other end of an offer.
    pub(super) fn connect(self, transport: Transport, bytes: usize, address: &str) -> Result<Box<dyn Far>> {
        match self {
            Way::Isoform => ours::connect(transport, bytes, address, Submits::One),
            Way::Owned => ours::connect(transport, bytes, address, Submits::Owned),
            Way::Polled => ours::connect(transport, bytes, address, Submits::Polled),
            Way::Many => ours::connect(transport, bytes, address, Submits::Many),
            Way::Raw => raw::connect(transport, bytes, address),
            Way::Zeromq => zeromq::connect(bytes, address),
        }
    }
}

impl Transport {
    pub(super) const ALL: [Transport; 2] = [Transport::Tcp, Transport::Unix];

    pub(super) fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
        }
    }

    pub(super) fn parse(name: &str) -> Result<Transport> {
        let named = Transport::ALL.into_iter().find(|transport| transport.name() == name);
        named.ok_or_else(|| format!("there is no transport {name:?}").into())
    }
}

/// The record of an event of this size, as bytes: its number, and whatever else.
pub(super) fn record(bytes: usize) -> Vec<u8> {
    vec![0x5a; bytes.max(4)]
}

/// Writes the number of an event.
pub(super) fn number(record: &mut [u8], step: u32) {
    record[..4].copy_from_slice(&step.to_ne_bytes());
}

/// Looks whether a record is this event.
pub(super) fn check(record: &[u8], step: u32) -> Result<()> {
    match record.first_chunk().map(|number| u32::from_ne_bytes(*number)) {
        Some(number) if number == step => Ok(()),
        Some(number) => Err(format!("event {step} is lost: {number} came instead").into()),
        None => Err(format!("event {step} has {} bytes", record.len()).into()),
    }
}
