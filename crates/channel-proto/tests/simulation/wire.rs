//! A connection as the system has it: two directions, each with a latency, room for so many bytes, and an end. It delivers
//! what was written, in order, in chunks that are nobody's; or less, if it is cut.

use crate::Time;
use isoform_testing::mutate::Random;
use std::collections::VecDeque;

/// How many bytes may be under way, and for how many microseconds each is.
const WAYS: [(usize, u64); 6] =
    [(200, 10), (3_000, 300), (70_000, 5_000), (1 << 20, 10), (1 << 20, 300), (1 << 20, 40_000)];

/// A connection between two ends: 0 is the dialer's.
pub(crate) struct Wire {
    pub(crate) ends: [End; 2],
    latency: Time,
}

/// What one of the two processes has of a connection.
pub(crate) struct End {
    pub(crate) slot: usize,
    pub(crate) incarnation: u32,
    /// Whether the process has it open.
    pub(crate) is_open: bool,
    /// Whether the node was asked to be asked for output while there was still something to be written.
    pub(crate) is_asked: bool,
    /// What the node gave out and the system did not take yet.
    pub(crate) unwritten: VecDeque<u8>,
    /// How much of what the node is going to give out it had said before its rules changed.
    pub(crate) said: usize,
    /// What was read and the node has not used.
    pub(crate) rest: Vec<u8>,
    /// What is on its way to this end, with its time of arrival; nothing in it is the end of the stream.
    travelling: VecDeque<(Time, Vec<u8>)>,
    /// What has arrived, and was not read.
    arrived: VecDeque<u8>,
    /// Bytes that the sender's system still holds, since they will never be confirmed.
    vanished: usize,
    room: usize,
    /// Nothing arrives here any more, and nobody says so.
    is_deaf: bool,
    /// The stream has ended.
    is_over: bool,
}

impl End {
    fn new(slot: usize, incarnation: u32, room: usize) -> End {
        End {
            slot,
            incarnation,
            is_open: false,
            is_asked: false,
            unwritten: VecDeque::new(),
            said: 0,
            rest: Vec::new(),
            travelling: VecDeque::new(),
            arrived: VecDeque::new(),
            vanished: 0,
            room,
            is_deaf: false,
            is_over: false,
        }
    }

    fn free(&self) -> usize {
        let travelling: usize = self.travelling.iter().map(|(_, bytes)| bytes.len()).sum();
        self.room.saturating_sub(travelling + self.arrived.len() + self.vanished)
    }

    /// What has arrived: up to so many bytes.
    pub(crate) fn read(&mut self, most: usize) -> Vec<u8> {
        let count = most.min(self.arrived.len());
        self.arrived.drain(..count).collect()
    }

    pub(crate) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether everything was read, and nothing follows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_over && self.arrived.is_empty()
    }

    /// Takes in what has arrived by now.
    pub(crate) fn arrive(&mut self, now: Time) {
        while self.travelling.front().is_some_and(|(time, _)| *time <= now)
            && let Some((_, bytes)) = self.travelling.pop_front()
        {
            self.is_over |= bytes.is_empty();
            self.arrived.extend(bytes);
        }
    }
}

impl Wire {
    pub(crate) fn new(ends: [(usize, u32); 2], random: &mut Random) -> Wire {
        // The narrow ones are near, so that what they carry arrives within seconds.
        let (room, latency) = random.of_these(&WAYS).unwrap_or(WAYS[0]);
        let latency = Time::from_micros(latency);
        Wire { ends: ends.map(|(slot, incarnation)| End::new(slot, incarnation, room)), latency }
    }

    /// Lets the system take some of what is to be written at an end; tells when it arrives.
    pub(crate) fn write(&mut self, now: Time, from: usize, random: &mut Random) -> Option<Time> {
        let (latency, free) = (self.latency, self.ends[1 - from].free());
        let waiting = self.ends[from].unwritten.len();
        let most = if random.one_in(3) { 1 + random.below(free) } else { free };
        let count = most.min(waiting).min(free);
        let bytes: Vec<u8> = self.ends[from].unwritten.drain(..count).collect();
        (count > 0).then(|| self.ends[1 - from].send(now + latency, bytes, random))?
    }

    /// An end is closed: what it still has to write goes out, and then the end of the stream.
    pub(crate) fn close(&mut self, now: Time, from: usize, random: &mut Random) -> [Option<Time>; 2] {
        let latency = self.latency;
        self.ends[from].is_open = false;
        let rest: Vec<u8> = self.ends[from].unwritten.drain(..).collect();
        let other = &mut self.ends[1 - from];
        let last = if rest.is_empty() { None } else { other.send(now + latency, rest, random) };
        [last, other.send(now + latency, Vec::new(), random)]
    }

    /// Cuts it. What is on its way arrives up to some byte; `deaf` ends hear nothing of it. Tells when the others do.
    pub(crate) fn cut(&mut self, now: Time, deaf: [bool; 2], random: &mut Random) -> [Option<Time>; 2] {
        let latency = self.latency;
        let mut times = [None; 2];
        for (end, deaf) in self.ends.iter_mut().zip(deaf).enumerate().map(|(i, (end, deaf))| (end, (i, deaf))) {
            let (i, deaf) = deaf;
            let mut left = random.below(1 + end.travelling.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
            end.travelling.retain_mut(|(_, bytes)| {
                bytes.truncate(left);
                left -= bytes.len();
                !bytes.is_empty()
            });
            if !deaf {
                times[i] = end.send(now + latency, Vec::new(), random);
            }
            end.is_deaf = true;
        }
        times
    }
}

impl End {
    fn send(&mut self, at: Time, bytes: Vec<u8>, random: &mut Random) -> Option<Time> {
        if self.is_deaf {
            self.vanished += bytes.len();
            return None;
        }
        let late = Time::from_micros(random.below(2_000) as u64);
        let at = self.travelling.back().map_or(at + late, |(last, _)| (at + late).max(*last));
        self.travelling.push_back((at, bytes));
        Some(at)
    }
}
