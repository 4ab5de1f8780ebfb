//! One side of a link, taken apart into a Hello and frames (`spec/channel.md`), and changed.
//!
//! Frames refer to each other by numbers: subscriptions, sources, indices, sequences, identities. So most edits put a
//! number of one frame into another.

use super::{Random, bytes};

/// The bytes of one side of a link, with up to four changes. Any bytes are accepted: what is not a frame is changed as
/// plain bytes.
///
/// ```
/// use isoform_testing::mutate::{Random, mutate_link};
/// let ping = [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// assert_eq!(mutate_link(&ping, &mut Random::new(7)), mutate_link(&ping, &mut Random::new(7)));
/// ```
pub fn mutate_link(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut link = Link::parse(bytes);
    for _ in 0..1 + random.below(4) * random.below(2) {
        link.edit(random);
    }
    link.to_bytes()
}

/// Bytes of a frame's header, to a multiple of which frames are padded.
const HEADER: usize = 16;
/// Bytes that every Hello has, and where they say how many follow.
const HELLO: usize = 160;
const MORE: usize = 152;
/// The kinds that there are, and two that there are not.
const KINDS: [u8; 29] =
    [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21, 24, 25, 26, 27, 28, 29, 30, 31, 40, 41, 7, 128];
/// The numbers in a header behind the kind: where they are, and how long.
const INDEX: (usize, usize) = (6, 2);
const SUBSCRIPTION: (usize, usize) = (8, 4);
const TIME: (usize, usize) = (12, 4);
/// So many bytes of frames are not made more.
const LARGE: usize = 64 << 10;

struct Link {
    /// Empty, if the bytes do not begin with one.
    hello: Vec<u8>,
    frames: Vec<Frame>,
    rest: Vec<u8>,
}

#[derive(Clone)]
struct Frame {
    header: [u8; HEADER],
    payload: Vec<u8>,
}

impl Frame {
    /// Says how long the payload is.
    fn settle(&mut self) {
        self.header[..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
    }
}

impl Link {
    fn parse(bytes: &[u8]) -> Link {
        let (hello, mut bytes) = bytes.split_at(hello_length(bytes));
        let mut frames = Vec::new();
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
            let length = u32::from_le_bytes(header[..4].try_into().expect("4 bytes")) as usize;
            let Some((payload, rest)) = rest.split_at_checked(length) else { break };
            frames.push(Frame { header: *header, payload: payload.to_vec() });
            bytes = &rest[rest.len().min(length.wrapping_neg() % HEADER)..];
        }
        Link { hello: hello.to_vec(), frames, rest: bytes.to_vec() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.hello.clone();
        for frame in &self.frames {
            bytes.extend_from_slice(&frame.header);
            bytes.extend_from_slice(&frame.payload);
            bytes.extend_from_slice(&[0; HEADER][..frame.payload.len().wrapping_neg() % HEADER]);
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    fn edit(&mut self, random: &mut Random) {
        match random.below(10) {
            0 => self.anything(random),
            1 if self.hello.len() >= HELLO => self.hello(random),
            _ if self.frames.is_empty() => self.anything(random),
            1..=2 => self.header(random),
            3..=4 => self.order(random),
            5 => self.length(random),
            _ => self.payload(random),
        }
    }

    fn anything(&mut self, random: &mut Random) {
        let mut all = self.to_bytes();
        bytes::edit(&mut all, random);
        *self = Link::parse(&all);
    }

    fn hello(&mut self, random: &mut Random) {
        match random.below(4) {
            0 => bytes::edit(&mut self.hello, random),
            1 => {
                // Somebody else, or the one whom it wants to reach.
                let (from, to) = random.of_these(&[(8, 24), (24, 8)]).unwrap_or_default();
                self.hello.copy_within(from..from + 16, to);
            }
            _ => {
                let places = [
                    (4, 1),
                    (5, 1),
                    (23, 1),
                    (39, 1),
                    (40, 8),
                    (48, 4),
                    (52, 4),
                    (56, 4),
                    (60, 2),
                    (88, 8),
                    (96, 8),
                    (120, 8),
                    (128, 8),
                    (MORE, 2),
                ];
                let place = random.of_these(&places).unwrap_or_default();
                replace(&mut self.hello, place, |old| random.instead_of(old));
            }
        }
    }

    fn header(&mut self, random: &mut Random) {
        let other = self.frames[random.below(self.frames.len())].header;
        let at = random.below(self.frames.len());
        let header = &mut self.frames[at].header;
        let place = random.of_these(&[INDEX, SUBSCRIPTION, TIME]).unwrap_or(INDEX);
        match random.below(6) {
            0 => header[4] = random.of_these(&KINDS).unwrap_or(0),
            1 => header[random.below(HEADER)] ^= 1 << random.below(8),
            2 | 3 => header[place.0..][..place.1].copy_from_slice(&other[place.0..][..place.1]),
            _ => replace(header, place, |old| random.instead_of(old)),
        }
    }

    fn order(&mut self, random: &mut Random) {
        let (at, to) = (random.below(self.frames.len()), random.below(self.frames.len()));
        match random.below(6) {
            0 => drop(self.frames.remove(at)),
            1 => self.frames.insert(to, self.frames[at].clone()),
            2 => self.frames.swap(at, to),
            3 => self.frames.truncate(at + 1),
            4 if self.to_bytes().len() < LARGE => self.frames.extend_from_within(at..),
            4 => {}
            _ => {
                let times = random.below(40).min(LARGE / (HEADER + self.frames[at].payload.len()));
                let frame = self.frames[at].clone();
                self.frames.splice(at..at, std::iter::repeat_n(frame, times));
            }
        }
    }

    fn length(&mut self, random: &mut Random) {
        let at = random.below(self.frames.len());
        let frame = &mut self.frames[at];
        let old = frame.payload.len();
        let new = random.instead_of(old as u64);
        match random.below(4) {
            // Says so, and is not.
            0 => frame.header[..4].copy_from_slice(&(new as u32).to_le_bytes()),
            1 => frame.payload.truncate(random.below(old)),
            _ => frame.payload.resize((new as usize).min(LARGE + 1), random.byte()),
        }
        if !random.one_in(4) {
            frame.settle();
        }
    }

    /// Changes a number in a payload, or takes one from elsewhere.
    fn payload(&mut self, random: &mut Random) {
        let from = self.frames[random.below(self.frames.len())].clone();
        let filled = |frame: &&mut Frame| !frame.payload.is_empty();
        let mut all: Vec<&mut Frame> = self.frames.iter_mut().filter(filled).collect();
        let at = random.below(all.len());
        let Some(frame) = all.get_mut(at) else { return self.header(random) };
        let payload = &mut frame.payload;
        let size = random.of_these(&[1, 2, 4, 4, 8, 8, 16]).unwrap_or(1).min(payload.len());
        let at = random.below(payload.len() - size + 1) / size * size;
        match random.below(6) {
            0 => bytes::edit(payload, random),
            // Identities, numbers of sources and subscriptions, sequences.
            1 | 2 if from.payload.len() >= size => {
                let place = random.below(from.payload.len() - size + 1) / size * size;
                payload[at..at + size].copy_from_slice(&from.payload[place..place + size]);
            }
            3 if size == 4 => payload[at..at + size].copy_from_slice(&from.header[SUBSCRIPTION.0..][..4]),
            _ => replace(payload, (at, size.min(8)), |old| random.instead_of(old)),
        }
        if !random.one_in(16) {
            frame.settle();
        }
    }
}

/// Bytes of the Hello that these begin with; 0 if there is none.
fn hello_length(bytes: &[u8]) -> usize {
    match bytes.split_at_checked(HELLO) {
        Some((hello, rest)) if hello.starts_with(b"\x89ISL") => {
            HELLO + usize::from(u16::from_le_bytes([hello[MORE], hello[MORE + 1]])).min(rest.len())
        }
        _ => 0,
    }
}

/// Changes a number of up to 8 bytes, the low one first.
fn replace(bytes: &mut [u8], (at, size): (usize, usize), new: impl FnOnce(u64) -> u64) {
    let bytes = &mut bytes[at..at + size];
    let mut number = [0; 8];
    number[..size].copy_from_slice(bytes);
    bytes.copy_from_slice(&new(u64::from_le_bytes(number)).to_le_bytes()[..size]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Hello, and frames of all kinds and many lengths.
    fn link() -> Vec<u8> {
        let mut hello = [b"\x89ISL\x01\x01".to_vec(), vec![7; HELLO]].concat();
        hello.truncate(MORE);
        hello.extend([4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, b'x']);
        let frame = |(i, kind): (usize, &u8)| {
            let header = [0, 0, 0, 0, *kind, 0, i as u8, 0, 1, 0, 0, 0, 2, 0, 0, 0];
            let mut frame = Frame { header, payload: vec![i as u8; 7 * i] };
            frame.settle();
            frame
        };
        let frames = KINDS.iter().enumerate().map(frame).collect();
        Link { hello, frames, rest: Vec::new() }.to_bytes()
    }

    #[test]
    fn what_is_taken_apart_is_put_together_again() {
        let link = link();
        for cut in 0..=link.len() {
            assert_eq!(Link::parse(&link[..cut]).to_bytes()[..cut], link[..cut]);
        }
        assert_eq!(Link::parse(&link).frames.len(), KINDS.len());
    }

    #[test]
    fn mutants_are_others_and_mostly_frames() {
        let link = link();
        let mutants: Vec<_> = (0..2000).map(|i| mutate_link(&link, &mut Random::of(1, i))).collect();
        let changed = mutants.iter().filter(|mutant| **mutant != link).count();
        let framed = mutants.iter().filter(|mutant| Link::parse(mutant).rest.is_empty()).count();
        assert!(changed > 1800 && framed > 1300, "{changed} changed, {framed} framed");
        let kinds: std::collections::BTreeSet<u8> =
            mutants.iter().flat_map(|mutant| Link::parse(mutant).frames).map(|frame| frame.header[4]).collect();
        assert!(kinds.len() > KINDS.len());
    }

    #[test]
    fn anything_can_be_changed() {
        let link = link();
        for i in 0..5000 {
            let mut random = Random::of(2, i);
            let from = random.below(link.len());
            let to = from + random.below(link.len() - from);
            mutate_link(&link[from..to], &mut random);
        }
        let mut mutant = link;
        for i in 0..5000 {
            mutant = mutate_link(&mutant, &mut Random::of(4, i));
            mutant.truncate(LARGE);
        }
        mutate_link(&[], &mut Random::new(3));
    }
}
