//! Reads a connection: short frames into a buffer, and long events into their final memory.
//!
//! A long event arrives in fragments, each after a header. Since they usually follow each other, several are read at
//! once, payloads to their places and headers to a buffer. If another frame came in between, its bytes are moved to the
//! buffer, as if they had been read into it.

use crate::drive::machine::{Large, Machine};
use crate::transport::{Connection, Moved};
use isoform::{Aligned, Error, Result};
use isoform_channel_proto::{ConnId, FrameKind, Greeting, HEADER, Header, PAYLOAD, Time};
use std::io::IoSliceMut;

/// The most bytes that one read puts into the buffer.
const INPUT: usize = 64 << 10;
/// The same at first, and as long as less arrives, so that many idle connections take little memory.
const FIRST: usize = 16 << 10;
/// The same after fragments that go to their final memory: a header, and little more, since these bytes are copied.
const BEHIND: usize = 32;
/// The same after a long event, since another one may follow.
const BEYOND: usize = 1 << 10;
/// The number of further fragments in one read.
const FURTHER: usize = 16;
/// The most bytes that are passed to the machine while the state is locked once, so that a thread that submits an event
/// does not wait behind everything that a connection brings. A longer frame is passed whole.
const TURN: usize = 32 << 10;

/// The bytes that have arrived and are not used, and the places for the next ones.
pub(crate) struct Reader {
    input: Aligned,
    filled: usize,
    /// The number of the filled bytes that the machine has used.
    used: usize,
    /// The number of bytes that one read puts into `input`.
    ahead: usize,
    /// A fragment that is read into its final memory.
    large: Option<Coming>,
    /// Whether the other side has proven who it is.
    is_known: bool,
}

/// Fragments of a long event that are read into their final memory.
struct Coming {
    large: Large,
    /// The number of bytes of the first one that have arrived.
    got: usize,
    /// The fragments that seem to follow.
    further: [Fragment; FURTHER],
}

#[derive(Clone, Copy, Default)]
struct Fragment {
    header: [u8; HEADER],
    /// The place and the length of its payload; the length is 0 if nothing was requested.
    at: usize,
    length: usize,
    /// The number of bytes of header and payload that have arrived.
    came: usize,
}

/// The result of reading.
pub(crate) enum Filled {
    /// Some bytes. The flag states whether all requested bytes arrived, so that there may be more.
    Something(bool),
    /// No bytes at the moment.
    Nothing,
    /// The end of the connection.
    End(Option<Error>),
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader { input: Aligned::new(), filled: 0, used: 0, ahead: FIRST, large: None, is_known: false }
    }

    /// Reads once: bytes that have arrived or, if it may wait, bytes that arrive within a little while.
    pub(crate) fn fill(&mut self, connection: &dyn Connection, wait: bool) -> Filled {
        let room = self.filled + self.ahead;
        if self.input.len() < room {
            self.input.resize(room);
        }
        let rest = &mut self.input[self.filled..room];
        let (moved, direct, wanted) = match &mut self.large {
            Some(coming) => {
                let behind = rest.len().min(BEHIND);
                let (moved, wanted) = coming.read(connection, &mut rest[..behind], wait);
                let direct = if let Ok(Moved::Bytes(count)) = moved { coming.note(count) } else { 0 };
                (moved, direct, wanted)
            }
            None => (connection.read(&mut [IoSliceMut::new(rest)], wait), 0, rest.len()),
        };
        match moved.and_then(|moved| moved.expect_at_most(wanted).map(|()| moved)) {
            Ok(Moved::Bytes(count)) => {
                self.filled += count - direct;
                if self.large.is_some() {
                    self.ahead = BEYOND;
                } else if count == wanted {
                    self.ahead = (4 * self.ahead).min(INPUT);
                }
                Filled::Something(count == wanted)
            }
            Ok(Moved::Blocked) => Filled::Nothing,
            Ok(Moved::Closed) => Filled::End(None),
            Err(error) => Filled::End(Some(error)),
        }
    }

    /// Whether a long event has arrived in part.
    pub(crate) fn is_amid(&self) -> bool {
        self.large.is_some()
    }

    /// Whether the bytes that arrive belong to a [`Greeting`].
    pub(crate) fn is_greeting(&self) -> bool {
        !self.is_known
    }

    /// Passes the bytes that arrived to a greeting. It makes and checks signatures, so nobody waits for a lock meanwhile.
    pub(crate) fn greet(&mut self, greeting: &mut Greeting) -> Result<usize> {
        let used = greeting.receive(&self.input[..self.filled])?;
        self.filled -= used;
        self.input.copy_within(used..used + self.filled, 0);
        Ok(used)
    }

    /// The greeting is over: all further bytes are the machine's.
    pub(crate) fn know(&mut self) {
        self.is_known = true;
    }

    /// Passes bytes that arrived to the machine: all of them, or a part. Returns whether all have had their turn.
    pub(crate) fn feed(&mut self, machine: &mut Machine, now: Time, id: ConnId) -> Result<bool> {
        if let Some(coming) = self.large.take() {
            self.feed_fragments(coming, machine, now, id)?;
        }
        let rest = &self.input[self.used..self.filled];
        let mut used = machine.receive(now, id, &rest[..rest.len().min(TURN)])?;
        if used == 0 && rest.len() > TURN {
            used = machine.receive(now, id, rest)?;
        }
        self.used += used;
        // Less than a frame is left, unless there was more than this turn's.
        if used > 0 && rest.len() > TURN {
            return Ok(false);
        }
        self.input.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        if self.filled == 0 {
            self.large = machine.take_large(id).map(Coming::new);
        }
        Ok(true)
    }

    fn feed_fragments(&mut self, coming: Coming, machine: &mut Machine, now: Time, id: ConnId) -> Result<()> {
        let Coming { large, got, further } = coming;
        let number = large.subscription;
        let came = || further.iter().filter(|fragment| fragment.came > 0);
        let expected = came().take_while(|fragment| fragment.is_of(number)).count();
        let mut other = Vec::new();
        for fragment in came().skip(expected) {
            let (header, payload) = (fragment.came.min(HEADER), fragment.came.saturating_sub(HEADER));
            other.extend_from_slice(&fragment.header[..header]);
            other.extend_from_slice(&large.storage.0[fragment.at..fragment.at + payload]);
        }
        machine.put_large(now, id, large, got);
        for fragment in came().take(expected) {
            machine.receive(now, id, &fragment.header)?;
            let payload = fragment.came - HEADER;
            match machine.take_large(id) {
                Some(large) => machine.put_large(now, id, large, payload),
                None => machine.skip_large(now, id, payload),
            }
        }
        if !other.is_empty() {
            other.extend_from_slice(&self.input[..self.filled]);
            self.filled = other.len();
            self.input.resize(self.input.len().max(self.filled));
            self.input[..self.filled].copy_from_slice(&other);
        }
        Ok(())
    }
}

impl Coming {
    fn new(large: Large) -> Coming {
        let mut coming = Coming { got: 0, further: [Fragment::default(); FURTHER], large };
        let large = &coming.large;
        let (mut at, mut behind) = (large.at + large.missing, large.behind);
        for fragment in &mut coming.further {
            let length = behind.min(PAYLOAD).min(large.storage.0.len() - at);
            // A fragment without room, or one after a shorter and padded one, cannot be read into its final memory.
            if length == 0 || length < behind.min(PAYLOAD) || !length.is_multiple_of(HEADER) && length < behind {
                break;
            }
            (fragment.at, fragment.length) = (at, length);
            (at, behind) = (at + length, behind - length);
        }
        coming
    }

    /// Reads into the final memory, and then into `behind`. Also returns the number of bytes that all of this can hold.
    fn read(&mut self, connection: &dyn Connection, behind: &mut [u8], wait: bool) -> (Result<Moved>, usize) {
        let first = self.large.at + self.got..self.large.at + self.large.missing;
        let mut wanted = first.len() + behind.len();
        let (_, rest) = self.large.storage.0.split_at_mut(first.start);
        let (place, mut rest) = rest.split_at_mut(first.len());
        let mut places: [IoSliceMut<'_>; 2 * FURTHER + 2] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        places[0] = IoSliceMut::new(place);
        let mut count = 1;
        for fragment in self.further.iter_mut().filter(|fragment| fragment.length > 0) {
            let (place, others) = std::mem::take(&mut rest).split_at_mut(fragment.length);
            rest = others;
            wanted += HEADER + fragment.length;
            places[count] = IoSliceMut::new(&mut fragment.header);
            places[count + 1] = IoSliceMut::new(place);
            count += 2;
        }
        places[count] = IoSliceMut::new(behind);
        (connection.read(&mut places[..=count], wait), wanted)
    }

    /// Notes the places of this many bytes. Returns how many of them are in final memory.
    fn note(&mut self, count: usize) -> usize {
        let first = count.min(self.large.missing - self.got);
        self.got += first;
        let mut left = count - first;
        for fragment in &mut self.further {
            if fragment.length > 0 {
                fragment.came = left.min(HEADER + fragment.length);
                left -= fragment.came;
            }
        }
        count - left
    }
}

impl Fragment {
    /// Whether the bytes that arrived are indeed the next fragment of this subscription's event.
    fn is_of(&self, subscription: u32) -> bool {
        self.came >= HEADER
            && Header::parse(&self.header).is_ok_and(|header| {
                header.kind == Some(FrameKind::Part)
                    && header.subscription == subscription
                    && header.length as usize == self.length
            })
    }
}
