//! Reads a connection: short frames into a buffer, and long events into their final memory.
//!
//! A long event arrives in fragments, each after a header. Since they usually follow each other, several are read at
//! once, payloads to their places and headers to a buffer. If another frame came in between, its bytes are moved to the
//! buffer, as if they had been read into it.

use crate::drive::machine::{Large, Machine};
use crate::transport::{Connection, LITTLE, Moved};
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
/// So many reads in a row that bring little, and complete no frame of a link, count; before there is a link, those that complete
/// frames do, too (`spec/channel.md`, "Bytes in pieces").
const PIECES: u32 = 4;
const FIRST_PIECES: u32 = 16;

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
    /// Whether the connection is that of a link.
    is_linked: bool,
    /// The number of bytes that the last read has brought.
    came: usize,
    /// The number of reads in a row that have brought little.
    pieces: u32,
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
        Reader {
            input: Aligned::new(),
            filled: 0,
            used: 0,
            ahead: FIRST,
            large: None,
            is_known: false,
            is_linked: false,
            came: 0,
            pieces: 0,
        }
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
                self.came = count;
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
        let was_amid = self.is_amid();
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
        let is_whole = if was_amid { !self.is_amid() } else { used > 0 };
        self.is_linked = self.is_linked || machine.is_linked(id);
        self.pieces = if self.came >= LITTLE || is_whole && self.is_linked { 0 } else { self.pieces + 1 };
        Ok(true)
    }

    /// Whether the bytes come in so many pieces that this counts.
    pub(crate) fn counts(&self) -> bool {
        let each = if self.is_linked { PIECES } else { FIRST_PIECES };
        self.pieces > 0 && self.pieces.is_multiple_of(each)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Watch;
    use isoform_channel_proto::{Action, Credentials, Identity, Key, Node, Outgoing, Settings};
    use std::collections::VecDeque;
    use std::io::IoSlice;
    use std::sync::Mutex;

    /// Brings what is in it, at most so many bytes at a time.
    #[derive(Debug)]
    struct Line(Mutex<VecDeque<u8>>, usize);

    impl Connection for Line {
        fn read(&self, places: &mut [IoSliceMut<'_>], _: bool) -> Result<Moved> {
            let mut bytes = self.0.lock().unwrap();
            let count = places[0].len().min(self.1).min(bytes.len());
            places[0].iter_mut().zip(bytes.drain(..count)).for_each(|(place, byte)| *place = byte);
            Ok(if count > 0 { Moved::Bytes(count) } else { Moved::Blocked })
        }

        fn write(&self, _: &[IoSlice<'_>], _: bool) -> Result<Moved> {
            Ok(Moved::Blocked)
        }

        fn end(&self) {}
        fn end_writing(&self) {}

        fn watch(&self) -> Watch<'_> {
            Watch::Told { read: false, write: false }
        }

        fn peer(&self) -> &str {
            "test"
        }
    }

    /// How often a connection counts on which these bytes come, so many at a time.
    fn counts(machine: &mut Machine, reader: &mut Reader, bytes: &[u8], at_a_time: usize) -> usize {
        let (line, mut count) = (Line(Mutex::new(bytes.iter().copied().collect()), at_a_time), 0);
        while let Filled::Something(_) = reader.fill(&line, false) {
            while !reader.feed(machine, Time::ZERO, ConnId(1)).unwrap() {}
            count += usize::from(reader.counts());
        }
        count
    }

    #[test]
    fn bytes_in_pieces_count_until_a_frame_is_whole() {
        let (now, id) = (Time::ZERO, ConnId(1));
        let mut machine = Machine::new(Key::from_seed([1; 32]), Settings::default());
        let mut guest = Node::<std::sync::Arc<[u8]>, Vec<u8>>::new(Key::from_seed([2; 32]), Settings::default());
        machine.create(Identity([7; 16]), "ticks", None).unwrap();
        guest.open(now, &["test:1".into()], "ticks", None, now + Time::from_secs(5));
        let Some(Action::Dial(dial, _)) = guest.action() else { panic!("it dials") };
        guest.connected(now, id, Some(dial), Credentials::default());
        machine.connected(now, id, None, Credentials::default());
        let (mut reader, mut said, mut count) = (Reader::new(), 0, 0);
        for _ in 0..10 {
            let mut out = Outgoing::default();
            guest.output(now, id, &mut out);
            guest.unwritten(id, 0);
            let out = out.to_vec();
            if !machine.is_linked(id) {
                said += out.len();
                count += counts(&mut machine, &mut reader, &out, 1);
            } else {
                counts(&mut machine, &mut reader, &out, usize::MAX);
            }
            let mut out = Outgoing::default();
            machine.output(now, id, &mut out);
            machine.unwritten(id, 0);
            guest.receive(now, id, &out.to_vec()).unwrap();
        }
        assert!(machine.is_linked(id) && said > 128);
        // The last bytes may be those of the link's first frames.
        assert!(count >= said / FIRST_PIECES as usize / 2, "{count} of {said}");

        // Frames of a kind that is skipped.
        let frame = |length: usize| {
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes.extend([200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.resize(HEADER + length, 0);
            bytes
        };
        let long = frame(4_000);
        let mut come = |bytes: &[u8], at_a_time| counts(&mut machine, &mut reader, bytes, at_a_time);
        assert_eq!(come(&long, 1), (long.len() - 1) / PIECES as usize);
        assert_eq!(come(&long, LITTLE - 1), long.len() / (LITTLE - 1) / PIECES as usize);
        assert_eq!(come(&long, LITTLE), 0);
        let short = frame(16);
        assert_eq!(come(&short.repeat(100), short.len()), 0, "whole frames count as frames");
        assert_eq!(come(&short.repeat(100), short.len() / PIECES as usize), 0, "a frame of a few pieces");
    }
}
