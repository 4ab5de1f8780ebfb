//! What a stranger says on a link, and what must hold nevertheless (`spec/channel.md`).
//!
//! [`handshake`] and [`frames`] put a node on a stage, with a friend that it exchanges events with, and let a stranger say
//! any bytes to it. Whatever they are, the node does not panic, its errors can be shown, the account of every event adds
//! up, what waits for the stranger is bounded; and the friend notices nothing: all events come, in order, then and
//! after the stranger has gone. One thing only is its right as long as it is there: to subscribe as a sink that the source
//! waits for.
//!
//! Who they are is in `party`, what they do together in `stage`; `seeds` records nodes that mean no harm.

mod party;
mod seeds;
mod stage;

pub use seeds::{frames as frame_seeds, handshakes as handshake_seeds};

use crate::memory;
use isoform::{Class, Code, Error};
use isoform_channel_proto::{Hello, NodeId, Time};
use stage::{FRIEND, Manner, Stage};

/// So many bytes in front of what is said choose how it is said.
pub const CHOICES: usize = 4;

/// What became of a stranger.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    /// Why it was refused, if it was.
    pub refusal: Option<Code>,
    /// Bytes that it was told.
    pub answer: usize,
}

/// The ids that strangers have: one is lower than that of the node that they speak to, one is higher.
const STRANGERS: [NodeId; 2] = [NodeId([0x20; 16]), NodeId([0xb0; 16])];

/// A few bytes of choices, and what a stranger says from the first byte on.
pub fn handshake(input: &[u8]) -> Visit {
    let (choices, said) = input.split_at(CHOICES.min(input.len()));
    attack(choices, said)
}

/// A few bytes of choices, and what a stranger says behind a handshake that nothing is wrong with.
pub fn frames(input: &[u8]) -> Visit {
    let (choices, said) = input.split_at(CHOICES.min(input.len()));
    let lower = choice(choices, 1) & 1 == 0;
    attack(choices, &[&introduction(lower), said].concat())
}

/// A Hello, and a Start if that is for this node to say.
fn introduction(lower: bool) -> Vec<u8> {
    let hello = Hello {
        node: STRANGERS[usize::from(!lower)],
        wanted: NodeId::ANY,
        ended: 0,
        formats: 64,
        silence: Time::from_secs(10),
        subscriptions: 1 << 16,
        addresses: vec!["test:stranger".into()],
    };
    let start = [8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    [&hello.to_bytes()[..], &start[..if lower { start.len() } else { 0 }]].concat()
}

fn choice(choices: &[u8], at: usize) -> u8 {
    choices.get(at).copied().unwrap_or(0)
}

/// Choices as the four bytes that make them.
fn manner(choices: &[u8]) -> Manner {
    let bit = |bit: u8| choice(choices, 0) & 1 << bit != 0;
    Manner { dialed: bit(0), deaf: bit(1), lazy: bit(2), long: bit(3) }
}

fn attack(choices: &[u8], said: &[u8]) -> Visit {
    let manner = manner(choices);
    let piece = [usize::MAX, 16, 100, 5000, 70_000, 7, 48, 1000][usize::from(choice(choices, 2) % 8)];
    // Who speaks as the friend is taken for it: nothing but its id, which is nobody else's to know, tells who it is.
    let harmless = connections(said).iter().all(|said| said.get(8..24) != Some(&[FRIEND; 16][..]));
    let (visit, used) = memory::measure(|| {
        let mut stage = Stage::new(manner);
        stage.victim.trusting = harmless;
        for (at, said) in connections(said).into_iter().enumerate() {
            if at > 0 {
                stage.hang_up();
                stage.connect(None);
            }
            for said in split(said, &PAUSE, MOST_PAUSES) {
                // Many small pieces would take too long.
                said.chunks(piece.max(said.len() / 64).max(1)).for_each(|piece| stage.say(piece));
                stage.live();
            }
        }
        stage.end(harmless);
        Visit { refusal: stage.refusal, answer: stage.written.len() }
    });
    // What was said is kept here in several copies, besides what becomes of it.
    let allowed = 16 * said.len() + MEMORY;
    assert!(used.peak <= allowed, "{} bytes of memory for {} from a stranger", used.peak, said.len());
    visit
}

/// A frame that nodes pass over. Where a stranger says this, life goes on before it says more.
pub const PAUSE: [u8; 16] = [0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const MOST_PAUSES: usize = 100;

/// A stranger who says what connections begin with connects anew.
fn connections(said: &[u8]) -> Vec<&[u8]> {
    split(said, b"\x89ISL", 5)
}

/// Bytes in pieces: each but the first begins with these.
fn split<'a>(bytes: &'a [u8], beginning: &[u8], most: usize) -> Vec<&'a [u8]> {
    let begins = |at: &usize| bytes[*at..].starts_with(beginning);
    let mut begin: Vec<usize> = (1..bytes.len()).filter(begins).take(most).collect();
    begin.insert(0, 0);
    let end = begin.iter().skip(1).copied().chain([bytes.len()]);
    begin.iter().zip(end).map(|(&begin, end)| &bytes[begin..end]).collect()
}

/// What the two nodes have without a stranger, and what may wait for one.
const MEMORY: usize = 20 << 20;

/// What holds of every refusal: it is not our own defect, and it can be shown to a person.
fn refusal(error: &Error) {
    let text = error.to_string();
    assert!(error.class() != Class::Internal && !text.is_empty() && text.len() < 16 << 10, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_testing::mutate::{Random, mutate_link};

    #[test]
    fn who_means_no_harm_is_not_refused() {
        // Events come as they did when it was recorded, but not where nobody reads or takes anything.
        let as_recorded = |seed: &Vec<u8>| !manner(seed).deaf && !manner(seed).lazy;
        for seed in handshake_seeds().into_iter().filter(as_recorded) {
            assert_eq!(handshake(&seed).refusal, None, "{:?}", &seed[..CHOICES]);
        }
        for seed in frame_seeds().into_iter().filter(as_recorded) {
            assert_eq!(frames(&seed).refusal, None, "{:?}", &seed[..CHOICES]);
        }
    }

    #[test]
    fn mutants_do_no_harm() {
        for (number, seed) in handshake_seeds().into_iter().enumerate() {
            let (choices, said) = seed.split_at(CHOICES);
            let mutant = mutate_link(said, &mut Random::of(1, number as u64));
            handshake(&[choices, &mutant].concat());
        }
    }
}
