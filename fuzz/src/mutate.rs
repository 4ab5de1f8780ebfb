//! Changes to inputs by somebody who knows what they are made of: those of [`isoform_testing::mutate`], for inputs that
//! are no streams.
//!
//! libFuzzer changes bytes, and learns which; what it cannot learn are tokens, and places in a body that depend on others.

use crate::parts::{Parts, join};
use isoform::Token;
use isoform::message::{HEADER, Header};
use isoform_testing::mutate::{Random, mutate, mutate_link, mutate_text};
use std::collections::BTreeMap;

/// An input of this target, changed; `None` if that is left to the fuzzer.
pub fn input(target: &str, input: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut random = Random::new(seed.into());
    if random.below(2) == 0 {
        return None;
    }
    match target {
        "description" => Some(message(input, &[], &mut random).0),
        "message" => {
            let mut parts = Parts::of(input);
            let (description, body) = message(parts.part(), parts.rest(), &mut random);
            fits(&[&description, &body])
        }
        "conversion" => conversion(input, &mut random),
        "stream" => {
            let (choices, stream) = input.split_at(input.len().min(crate::stream::CHOICES));
            Some([choices, &mutate(stream, &mut random)].concat())
        }
        "handshake" | "frames" => {
            let (choices, said) = input.split_at(input.len().min(isoform_hostile::links::CHOICES));
            Some([choices, &mutate_link(said, &mut random)].concat())
        }
        "json" | "document" => {
            let line = 1 + input.iter().position(|&byte| byte == 0)?;
            Some([&input[..line], &mutate_text(&input[line..], &mut random)].concat())
        }
        "query" => {
            let mut parts = Parts::of(input);
            let (format, text, bodies) = (parts.part(), parts.part(), parts.rest());
            fits(&[format, &mutate_text(text, &mut random), bodies])
        }
        "rules" => {
            let (number, mut parts) =
                (input.first().copied().unwrap_or(0), Parts::of(input.get(1..).unwrap_or_default()));
            let (names, channel, text) = (parts.part(), parts.part(), parts.rest());
            Some([&[number], &fits(&[names, channel, &rules(text, &mut random)])?[..]].concat())
        }
        "program" => Some(damaged(input, &mut random)),
        "body" => bodies(input, &mut random),
        _ => None,
    }
}

/// Bodies of requests, of which one is changed: as text, as bytes, or as a description.
fn bodies(input: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (choices, rest) = input.split_at(input.len().min(2));
    let (mut parts, mut bodies) = (Parts::of(rest), Vec::new());
    while let body @ [_, ..] = parts.part() {
        bodies.push(body.to_vec());
    }
    let at = random.below(bodies.len());
    let body = bodies.get_mut(at)?;
    *body = match random.below(4) {
        0 => damaged(body, random),
        _ if body.starts_with(b"{") => mutate_text(body, random),
        _ => message(body, &[], random).0,
    };
    let parts: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).chain([&[][..]]).collect();
    Some([choices, &fits(&parts)?].concat())
}

/// Bytes, a few of which are others.
pub fn damaged(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut mutant = input.to_vec();
    for _ in 0..=random.below(3) {
        if !mutant.is_empty() {
            let at = random.below(mutant.len());
            mutant[at] = [0, 1, 0x7f, 0x80, 0xff, mutant[at] ^ 1][random.below(6)];
        }
    }
    mutant
}

/// The words of rules, each with what may stand in its place; last, what stands for other words.
const WORDS: [&[&str]; 5] = [
    &["allow", "deny"],
    &["see", "publish", "subscribe", "block,ask", "query", "all,steer", "introduce", "relay", "parametrise", "all"],
    &["anyone", "user 1", "key 0303030303030303", "name *", "name b.*"],
    &["user", "key", "name", "on", "#", "\n", ",", "", "-1", "4294967296"],
    &["*", "f*", "*.example", "*.EXAMPLE*", "**", "*ld*s", "1", "0202020202020202"],
];

/// A file of rules in which one or two words are others, missing, twice, or in another place.
fn rules(text: &[u8], random: &mut Random) -> Vec<u8> {
    let ends = |byte: &u8| matches!(byte, b' ' | b',' | b'\n');
    let mut words: Vec<Vec<u8>> = text.split_inclusive(ends).map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(2) {
        let (at, other) = (random.below(words.len()), random.below(words.len()));
        match random.below(12) {
            _ if words.is_empty() => words.push(b"allow anyone all on *".to_vec()),
            choice @ 0..=8 => {
                let end = words[at].pop_if(|end| ends(end));
                let is_like = |kind: &&&[&str]| kind.iter().any(|word| word.as_bytes() == words[at]);
                let alike = WORDS.iter().find(is_like).or(WORDS.last());
                let kind = if choice == 0 { random.of_these(&WORDS) } else { alike.copied() };
                words[at] = random.of_these(kind.unwrap_or_default()).unwrap_or_default().as_bytes().to_vec();
                words[at].extend(end);
            }
            9 => drop(words.remove(at)),
            10 => words.swap(at, other),
            _ => words[at] = damaged(&words[at], random),
        }
    }
    words.concat()
}

fn conversion(input: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut parts = Parts::of(input);
    let (choice, wire, native, body) = (parts.byte(), parts.part(), parts.part(), parts.rest());
    let (mut wire, mut native, mut body) = (wire.to_vec(), native.to_vec(), body.to_vec());
    match random.below(3) {
        0 => native = message(&native, &[], random).0,
        _ => (wire, body) = message(&wire, &body, random),
    }
    Some([&[choice], &fits(&[&wire, &native, &body])?[..]].concat())
}

/// The input of these parts, unless one has grown too long.
fn fits(parts: &[&[u8]]) -> Option<Vec<u8>> {
    parts.iter().all(|part| part.len() <= usize::from(u16::MAX)).then(|| join(parts))
}

/// A description and a body of its format, changed.
fn message(description: &[u8], body: &[u8], random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let mut stream = padded(Token::ZERO, description);
    stream.extend(padded(Token::of(description), body));
    messages_of(&mutate(&stream, random)).pop().unwrap_or_default()
}

fn padded(token: Token, body: &[u8]) -> Vec<u8> {
    let mut bytes = Header::new(token, body.len() as u64).to_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

/// Each description of a stream, with no body, and each body with its description, as far as the stream can be followed.
pub fn messages_of(mut stream: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut known: BTreeMap<[u8; 16], Vec<u8>> = BTreeMap::new();
    let mut found = Vec::new();
    while let Some((header, rest)) = stream.split_first_chunk::<HEADER>()
        && let Ok(header) = Header::parse(header)
    {
        let length = usize::try_from(header.length).unwrap_or(usize::MAX).min(rest.len());
        let (body, rest) = rest.split_at(length);
        stream = &rest[rest.len().min(length.wrapping_neg() % 16)..];
        if header.is_description() {
            known.insert(*Token::of(body).as_bytes(), body.to_vec());
            found.push((body.to_vec(), Vec::new()));
        } else if let Some(description) = known.get(header.token.as_bytes()) {
            found.push((description.clone(), body.to_vec()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TARGETS, seeds};

    /// Of the mutants of good messages, many have descriptions that parse, so that what is behind them is reached.
    #[test]
    fn mutants_are_worth_their_time() {
        for (target, check) in TARGETS {
            let mutants: Vec<Vec<u8>> =
                seeds::of(target).iter().zip(0..).filter_map(|(seed, i)| input(target, seed, i)).collect();
            mutants.iter().step_by(4).for_each(|mutant| check(mutant));
            assert!(target == "field_list" || mutants.len() >= 50, "{} mutants for {target}", mutants.len());
        }
        let good = |input: &&Vec<u8>| isoform::Format::parse(Parts::of(input).part()).is_ok();
        let messages = seeds::of("message");
        let messages = messages.iter().filter(good);
        let mutants: Vec<Vec<u8>> = messages.zip(0..).filter_map(|(seed, i)| input("message", seed, i)).collect();
        let (good, all) = (mutants.iter().filter(good).count(), mutants.len());
        assert!(3 * good > all, "{good} of {all}");
    }
}
