//! Reads a connection: short frames into a buffer, and long events into their final memory.
//!
//! A long event arrives in fragments, each after a header. Since they usually follow each other, several are read at
//! once, payloads to their places and headers to a buffer. If another frame came in between, its bytes are moved to the
//! buffer, as if they had been read into it.

use super::listener::Counted;
use crate::drive::machine::{Large, Machine};
use crate::transport::{Connection, LITTLE, LITTLE_OF_EVENT, Moved, RECORDS_OF_FRAME};
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
/// How many reads in a row that bring little count once (`spec/channel.md`, "Bytes in pieces"): those that complete no frame of a
/// link, of an event and of another frame; and all those before there is a link.
const PIECES_OF_EVENT: u32 = 12;
const PIECES: u32 = 6;
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
    /// The number of records that it has opened.
    opened: usize,
    /// The number of reads in a row that have brought little.
    pieces: u32,
    /// How often the last one counts.
    due: u32,
    /// How many of these count once: [`PIECES_OF_EVENT`], [`PIECES`] or [`FIRST_PIECES`].
    count_each: u32,
    /// How many frames of the link had arrived whole.
    frames: u64,
    /// Where the connection counts until it is that of a link.
    counted: Option<Counted>,
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
    pub(crate) fn new(counted: Option<Counted>) -> Reader {
        Reader {
            input: Aligned::new(),
            filled: 0,
            used: 0,
            ahead: FIRST,
            large: None,
            is_known: false,
            is_linked: false,
            came: 0,
            opened: 0,
            pieces: 0,
            due: 0,
            count_each: FIRST_PIECES,
            frames: 0,
            counted,
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
                (self.came, self.opened) = (count, connection.opened());
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
        if self.used > 0 {
            self.input.copy_within(self.used..self.filled, 0);
        }
        self.filled -= self.used;
        self.used = 0;
        if self.filled == 0 {
            self.large = machine.take_large(id).map(Coming::new);
        }
        if !self.is_linked && machine.is_linked(id) {
            self.is_linked = true;
            self.counted.take().into_iter().for_each(Counted::end);
        }
        self.count(machine, id);
        Ok(true)
    }

    /// Counts the last read, if it has brought little, and the records that it has opened for little.
    fn count(&mut self, machine: &Machine, id: ConnId) {
        let (mut is_little, mut whole) = (self.came < LITTLE, 0);
        if let Some(arrived) = machine.arrived(id, &self.input[..self.filled]) {
            whole = (arrived.frames - self.frames) as usize;
            is_little &= whole == 0 && (!arrived.is_event || self.came < LITTLE_OF_EVENT);
            self.frames = arrived.frames;
            self.count_each = if arrived.is_event { PIECES_OF_EVENT } else { PIECES };
        }
        let expected = RECORDS_OF_FRAME * whole + self.came / LITTLE_OF_EVENT;
        let more = self.opened.saturating_sub(expected).max(is_little.into()) as u32;
        let before = if more > 0 { self.pieces % self.count_each } else { 0 };
        self.pieces = before + more;
        self.due = self.pieces / self.count_each;
    }

    /// How often the last read counts, since the bytes come in so many pieces.
    pub(crate) fn due(&self) -> u32 {
        self.due
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
    use isoform::{FieldList, Machine as Layout};
    use isoform_channel_proto::{
        Action, ChannelKey, Credentials, Identity, Key, Node, OpenKey, Outgoing, Policy, Settings, Wanted, Window,
    };
    use std::collections::VecDeque;
    use std::io::IoSlice;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    /// Brings what is in it, at most so many bytes at a time, which come in so many records.
    #[derive(Debug)]
    struct Line(Mutex<VecDeque<u8>>, usize, usize);

    impl Connection for Line {
        fn read(&self, places: &mut [IoSliceMut<'_>], _: bool) -> Result<Moved> {
            let mut bytes = self.0.lock().unwrap();
            let places = places.iter_mut().flat_map(|place| place.iter_mut());
            let count = bytes.len().min(self.1);
            let count = places.take(count).zip(bytes.iter()).map(|(place, byte)| *place = *byte).count();
            bytes.drain(..count);
            Ok(if count > 0 { Moved::Bytes(count) } else { Moved::Blocked })
        }

        fn write(&self, _: &[IoSlice<'_>], _: bool) -> Result<Moved> {
            Ok(Moved::Blocked)
        }

        fn opened(&self) -> usize {
            self.2
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

    /// A node that is read, with a channel, and another one that opens it.
    struct Pair {
        machine: Machine,
        reader: Reader,
        linked: Arc<AtomicU32>,
        channel: ChannelKey,
        guest: Node<Arc<[u8]>, Vec<u8>>,
        open: OpenKey,
    }

    const NOW: Time = Time::ZERO;
    const ID: ConnId = ConnId(1);

    impl Pair {
        fn new() -> Pair {
            let mut machine = Machine::new(Key::from_seed([1; 32]), Settings::default());
            let mut guest = Node::new(Key::from_seed([2; 32]), Settings::default());
            let channel = machine.create(Identity([7; 16]), "ticks", None).unwrap();
            let open = guest.open(NOW, &["test:1".into()], "ticks", None, NOW + Time::from_secs(5));
            let Some(Action::Dial(dial, _)) = guest.action() else { panic!("it dials") };
            guest.connected(NOW, ID, Some(dial), Credentials::default());
            machine.connected(NOW, ID, None, Credentials::default());
            let linked = Arc::<AtomicU32>::default();
            let reader = Reader::new(Some(Counted(linked.clone())));
            Pair { machine, reader, linked, channel, guest, open }
        }

        /// How often the connection counts if these bytes come on it, so many at a time.
        fn counts(&mut self, bytes: &[u8], at_a_time: usize) -> usize {
            self.counts_in_records(bytes, at_a_time, 0)
        }

        /// The same, with so many records at a time.
        fn counts_in_records(&mut self, bytes: &[u8], at_a_time: usize, records: usize) -> usize {
            let (line, mut count) = (Line(Mutex::new(bytes.iter().copied().collect()), at_a_time, records), 0);
            while let Filled::Something(_) = self.reader.fill(&line, false) {
                while !self.reader.feed(&mut self.machine, NOW, ID).unwrap() {}
                count += self.reader.due() as usize;
            }
            count
        }

        /// What the guest says.
        fn said(&mut self) -> Vec<u8> {
            let mut out = Outgoing::default();
            self.guest.output(NOW, ID, &mut out);
            self.guest.unwritten(ID, 0);
            out.to_vec()
        }

        /// Both say what they have to say. Returns how much the guest has said before there is a link, which comes byte by byte, and
        /// how often that counts.
        fn talk(&mut self) -> (usize, usize) {
            let (mut first, mut count) = (0, 0);
            for _ in 0..10 {
                let said = self.said();
                if !self.machine.is_linked(ID) {
                    first += said.len();
                    count += self.counts(&said, 1);
                } else {
                    self.counts(&said, usize::MAX);
                }
                let mut out = Outgoing::default();
                self.machine.output(NOW, ID, &mut out);
                self.machine.unwritten(ID, 0);
                self.guest.receive(NOW, ID, &out.to_vec()).unwrap();
            }
            (first, count)
        }
    }

    #[test]
    fn bytes_in_pieces_count_until_a_frame_is_whole() {
        let mut pair = Pair::new();
        let (said, count) = pair.talk();
        assert!(pair.machine.is_linked(ID) && said > 128);
        assert_eq!(pair.linked.load(Ordering::Relaxed), 1, "its listener knows");
        // The last bytes may be those of the link's first frames.
        assert!(count >= said / FIRST_PIECES as usize / 2, "{count} of {said}");

        // Frames of a kind that is skipped.
        let frame = |length: usize| {
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes.extend([200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.resize(HEADER + length, 0);
            bytes
        };
        let long = frame(48_000);
        assert_eq!(pair.counts(&long, 1), (long.len() - 1) / PIECES as usize);
        // The last piece completes a frame, although that is longer than a turn.
        let before_last = (long.len() - 1) / (LITTLE - 1);
        let (row, rest) = (PIECES as usize, before_last % PIECES as usize);
        assert_eq!((rest, pair.counts(&long, LITTLE - 1)), (row - 1, before_last / row));
        assert_eq!(pair.counts(&long, LITTLE), 0);
        let short = frame(16).repeat(100);
        assert_eq!(pair.counts(&short, 32), 0, "whole frames count as frames");
        assert_eq!(pair.counts(&short, 16), 0, "a frame of a few pieces");
        // A read that brings much and completes a frame has no part in the next row.
        let (whole, (few, rest)) = (frame(2 * LITTLE - HEADER), long.split_at(PIECES as usize));
        assert_eq!((pair.counts(&whole, LITTLE), pair.counts(few, 1), pair.counts(rest, LITTLE)), (0, 1, 0));
    }

    #[test]
    fn records_count_that_bring_little_and_complete_nothing() {
        let mut pair = Pair::new();
        pair.talk();
        let frame = |length: usize| {
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes.extend([200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.resize(HEADER + length, 0);
            bytes
        };
        let (long, short) = (frame(4096 - HEADER), frame(16).repeat(100));
        // Each record as long as a network would have it, and each frame in some records.
        assert_eq!(pair.counts_in_records(&long, usize::MAX, 16), 0);
        assert_eq!(pair.counts_in_records(&short, usize::MAX, 400), 0);
        // Each byte in a record of its own.
        let beyond = 4096 - 4096 / LITTLE_OF_EVENT - RECORDS_OF_FRAME;
        assert_eq!(pair.counts_in_records(&long, usize::MAX, 4096), beyond / PIECES as usize);
        let beyond = 3200 - 3200 / LITTLE_OF_EVENT - 100 * RECORDS_OF_FRAME;
        let counts = pair.counts_in_records(&short, usize::MAX, 3200);
        assert!((beyond / PIECES as usize..=beyond / PIECES as usize + 1).contains(&counts), "{counts}");
    }

    #[test]
    fn an_event_counts_less_and_each_part_of_it_is_a_frame() {
        const LENGTH: usize = 100_000;
        let mut pair = Pair::new();
        let window = Window { bytes: 8 << 20, events: 16 };
        pair.machine.add_sink(pair.channel, Wanted { window, ..Wanted::any(Policy::Block) }).unwrap();
        pair.talk();
        let channel = pair.guest.opened(pair.open).unwrap().unwrap();
        let format = FieldList::new("Tick").field("number", "integer", 8, 0).format(Layout::NATIVE, 8, 8).unwrap();
        let source = pair.guest.add_source(channel, Some(&format)).unwrap();
        pair.talk();
        let mut counts = |at_a_time| {
            let mut body: Arc<[u8]> = vec![1; LENGTH].into();
            pair.guest.submit(7, source, None, &mut body).unwrap();
            let said = pair.said();
            assert!((LENGTH..LENGTH + 200).contains(&said.len()), "{} bytes", said.len());
            pair.counts(&said, at_a_time)
        };
        assert_eq!(counts(LITTLE_OF_EVENT), 0);
        // One part has 65,536 bytes, and the other one the rest. A read may bring the end of one and the begin of the other.
        let of = |length: usize| length / 100 / PIECES_OF_EVENT as usize;
        assert_eq!(counts(100), of(65_536) + of(LENGTH - 65_536));
    }
}
