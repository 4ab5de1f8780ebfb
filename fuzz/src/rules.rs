//! Files of rules: whatever the text, it is refused with its first wrong line, or decides as the reference says
//! (`docs/book/reference/rules.md`), read here a second time.

use crate::parts::Parts;
use crate::refusal;
use isoform::Code;
use isoform_channel_proto::{Credentials, KeyName, Right, Rights};

/// The most bytes of a file.
const BYTES: usize = 64 << 10;
/// Names are not longer, and a pattern stands for no longer text.
const COMPARED: usize = 255;

/// The input is a byte for a user and a key, the names in a certificate with commas between them, the name of a channel,
/// and a file.
pub fn check(input: &[u8]) {
    let mut parts = Parts::of(input);
    let number = parts.byte();
    let [names, channel, text] = [parts.part(), parts.part(), parts.rest()].map(std::str::from_utf8);
    let (Ok(names), Ok(channel), Ok(text)) = (names, channel, text) else { return };
    let who = Credentials {
        local_user: (number & 1 != 0).then_some(number.into()),
        key: (number & 2 != 0).then_some(KeyName([number; 8])),
        certificate: (!names.is_empty()).then(|| names.split(',').map(str::to_owned).collect()),
        ..Credentials::default()
    };
    let rights = match Rights::parse(text) {
        Ok(rights) => rights,
        Err(error) => {
            refusal(&error);
            assert_eq!(error.code(), Code::Text);
            return if text.len() <= BYTES {
                first_wrong(text, &error)
            };
        }
    };
    assert!(text.len() <= BYTES);
    let normal = normal(text);
    assert_eq!(Rights::parse(&normal).as_ref(), Ok(&rights), "{text:?} is {normal:?}");
    for right in Right::ALL {
        let decided = rights.expect(&who, right, channel);
        match (decision(&normal, &who, right, channel), decided) {
            (Some((_, true)), Ok(())) => {}
            (None, Err(error)) => {
                refusal(&error);
                assert!(error.actual().starts_with("no line of the rules"), "{error}");
            }
            (Some((line, false)), Err(error)) => {
                refusal(&error);
                assert!(error.actual().starts_with(&format!("line {line} of the rules")), "{error}");
            }
            (expected, found) => panic!("{right} on {channel:?} by {normal:?}: {expected:?}, found {found:?}"),
        }
    }
}

/// The lines before the wrong one are rules, and it is wrong whatever follows.
fn first_wrong(text: &str, error: &isoform::Error) {
    let line: usize = error.path().strip_prefix("line ").and_then(|line| line.parse().ok()).expect("a line");
    let lines: Vec<&str> = text.lines().collect();
    assert!((1..=lines.len()).contains(&line), "{error}");
    Rights::parse(&lines[..line - 1].join("\n")).expect("lines before the first wrong one");
    assert_eq!(Rights::parse(&lines[..line].join("\n")).as_ref(), Err(error));
}

/// The same rules on the same lines, without comments, and with one space between words.
fn normal(text: &str) -> String {
    let words = |line: &str| {
        let rule = line.split_once('#').map_or(line, |(rule, _)| rule);
        rule.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

/// The line of the first rule that decides, and whether it allows.
fn decision(normal: &str, who: &Credentials, right: Right, channel: &str) -> Option<(usize, bool)> {
    let is_about = |words: &[&str]| {
        let (is_of, rest) = match words {
            ["anyone", rest @ ..] => (true, rest),
            ["user", user, rest @ ..] => (user.parse().ok().is_some_and(|user| who.local_user == Some(user)), rest),
            ["key", key, rest @ ..] => {
                (who.key.is_some_and(|KeyName(name)| hexadecimal(&name) == key.to_lowercase()), rest)
            }
            ["name", pattern, rest @ ..] => {
                let stands = |name: &String| stands_for(&pattern.to_lowercase(), &name.to_lowercase());
                (who.certificate.iter().flatten().any(stands), rest)
            }
            _ => panic!("{words:?} was accepted"),
        };
        let [rights, "on", channels @ ..] = rest else { panic!("{words:?} was accepted") };
        assert!(!channels.is_empty(), "{words:?} was accepted");
        is_of
            && rights.split(',').any(|word| word == "all" || word == right.word())
            && channels.iter().any(|pattern| stands_for(pattern, channel))
    };
    normal.lines().zip(1..).find_map(|(line, number)| {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match words.split_first()? {
            (verb, rest) if is_about(rest) => Some((number, *verb == "allow")),
            _ => None,
        }
    })
}

fn hexadecimal(name: &[u8; 8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The beginnings of the text that each beginning of the pattern stands for, one after the other.
fn stands_for(pattern: &str, text: &str) -> bool {
    let text = text.as_bytes();
    if text.len() > COMPARED {
        return false;
    }
    let mut lengths = vec![false; text.len() + 1];
    lengths[0] = true;
    for &character in pattern.as_bytes() {
        if character == b'*' {
            let shortest = lengths.iter().position(|&is_one| is_one).unwrap_or(lengths.len());
            lengths[shortest..].fill(true);
        } else {
            for length in (0..text.len()).rev() {
                lengths[length + 1] = lengths[length] && text[length] == character;
            }
            lengths[0] = false;
        }
    }
    lengths[text.len()]
}
