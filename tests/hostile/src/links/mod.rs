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
use isoform_channel_proto::{Greetings, Hello, NodeId, Side};
use stage::{Manner, Stage, VICTIM};

/// So many bytes in front of what is said choose how it is said.
pub const CHOICES: usize = 4;
/// Bytes of a Hello.
const HELLO: usize = Hello::LENGTH;

/// What became of a stranger.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    /// Why it was refused, if it was.
    pub refusal: Option<Code>,
    /// Bytes that it was told.
    pub answer: usize,
}

/// A few bytes of choices, and what a stranger says from the first byte on.
pub fn handshake(input: &[u8]) -> Visit {
    let (choices, said) = input.split_at(CHOICES.min(input.len()));
    attack(choices, said, |_, _| ())
}

/// A few bytes of choices, and what a stranger says behind a handshake that nothing is wrong with.
pub fn frames(input: &[u8]) -> Visit {
    let (choices, said) = input.split_at(CHOICES.min(input.len()));
    attack(choices, said, introduce)
}

/// The seed of a stranger's key. The id that follows from it is lower than that of the node that it speaks to, or higher.
fn stranger(lower: bool) -> u8 {
    let (victim, others) = (party::key(VICTIM).id(), 0x80..=0xff);
    others.into_iter().find(|&seed| (party::key(seed).id() < victim) == lower).expect("both are found among many")
}

/// The stranger's part of a handshake, up to the Start if that is for it to say.
fn introduce(stage: &mut Stage, choices: &[u8]) {
    let lower = choice(choices, 1) & 1 == 0;
    let key = party::key(stranger(lower));
    // If the victim has dialed, this answers its Hello. An acceptor that names no node refuses.
    let victim = Hello::parse(&stage.written).expect("a Hello, if anything").map(|(hello, _)| hello.node());
    let wanted = victim.unwrap_or(NodeId::ANY);
    let (keys, tags) = Default::default();
    let hello = Hello { public: key.public(), nonce: key.nonce(1), wanted, keys, tags }.to_bytes();
    let mut said = Vec::new();
    let proof = match stage.written.first_chunk::<HELLO>() {
        Some(theirs) => {
            said.extend(&hello);
            key.prove(&Greetings { binding: [0; 32], dialer: theirs, acceptor: &hello }, Side::Acceptor)
        }
        None => {
            stage.say(&hello);
            let theirs = stage.written.first_chunk::<HELLO>().expect("a Hello");
            key.prove(&Greetings { binding: [0; 32], dialer: &hello, acceptor: theirs }, Side::Dialer)
        }
    };
    let frame = |kind: u8, length: u8| [length, 0, 0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let silence = 10_000u32.to_le_bytes();
    said.extend([&frame(5, 96)[..], &proof, &[0; 32]].concat());
    // No epoch has ended, 64 formats, 65,536 subscriptions, and one address.
    let terms = [&[0; 8][..], &[64, 0, 0, 0], &silence, &[0, 0, 1, 0, 0, 0, 0, 0], &[1, 0, 13, 0], b"test:stranger"];
    said.extend([&frame(6, 41)[..], &terms.concat(), &[0; 7]].concat());
    if lower {
        said.extend([frame(4, 8), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
    }
    stage.say(&said);
}

fn choice(choices: &[u8], at: usize) -> u8 {
    choices.get(at).copied().unwrap_or(0)
}

/// Choices as the four bytes that make them.
fn manner(choices: &[u8]) -> Manner {
    let bit = |bit: u8| choice(choices, 0) & 1 << bit != 0;
    Manner { dialed: bit(0), deaf: bit(1), lazy: bit(2), long: bit(3), closed: bit(4) }
}

fn attack(choices: &[u8], said: &[u8], introduce: impl FnOnce(&mut Stage, &[u8])) -> Visit {
    let manner = manner(choices);
    let piece = [usize::MAX, 16, 100, 5000, 70_000, 7, 48, 1000][usize::from(choice(choices, 2) % 8)];
    let (visit, used) = memory::measure(|| {
        let mut stage = Stage::new(manner);
        introduce(&mut stage, choices);
        for (at, said) in connections(said).into_iter().enumerate() {
            if at > 0 {
                stage.hang_up();
                stage.connect(None);
            }
            for said in split(said, &PAUSE, MOST_PAUSES) {
                // Many small pieces would take too long.
                for piece in said.chunks(piece.max(said.len() / 64).max(1)) {
                    stage.say(piece);
                    stage.read();
                }
                stage.live();
                stage.read();
            }
        }
        stage.end();
        // Whoever is not admitted is told no more than why, at each of its connections and each time it is dialed.
        let told = stage.told();
        assert!(!manner.closed || told <= 16 * (HELLO + 1024), "a stranger is told {told} bytes");
        Visit { refusal: stage.refusal, answer: told }
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
    fn strangers_without_a_key_get_no_further_than_their_first_words() {
        for seed in handshake_seeds() {
            let (choices, said) = seed.split_at(CHOICES);
            let closed = [&[choices[0] | 16], &choices[1..], said].concat();
            let visit = handshake(&closed);
            assert_eq!(visit.refusal, Some(Code::NotAdmitted), "{choices:?}");
            assert!(visit.answer <= 6 * (HELLO + 512), "{choices:?}: {} bytes", visit.answer);
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
