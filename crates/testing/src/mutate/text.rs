//! Edits of JSON.

use super::{Random, bytes};

/// Parts of JSON, and numbers that are large, small, or none.
const WORDS: [&str; 30] = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1e999",
    "1e-999",
    "1.5",
    "-0.0",
    "256",
    "70000",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "\"NaN\"",
    "\"-Infinity\"",
    "\"\"",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "{\"base64\":\"/w==\"}",
    "[0,0]",
    "\"x\"",
];

/// A text like this one of JSON, with something in it that is another, or in another place.
///
/// ```
/// use isoform_testing::mutate::{Random, mutate_text};
/// let text = br#"{"name":"K2","height":8611.0}"#;
/// assert_eq!(mutate_text(text, &mut Random::new(7)), mutate_text(text, &mut Random::new(7)));
/// ```
pub fn mutate_text(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(2) {
        edit(&mut text, random);
    }
    text
}

fn edit(text: &mut Vec<u8>, random: &mut Random) {
    let word = random.of_these(&WORDS).unwrap_or_default().bytes();
    let is_border = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b']' | b'{' | b'}');
    let borders: Vec<usize> = (0..text.len()).filter(|at| is_border(&text[*at])).collect();
    let from = random.below(borders.len());
    match (borders.get(from).copied(), borders.get(from + 1).copied(), random.below(6)) {
        (Some(from), Some(to), 0..=2) => drop(text.splice(from + 1..to, word)),
        (Some(from), Some(to), 3) => drop(text.drain(from..to)),
        (Some(from), Some(to), 4) => {
            let again = text[from..to].to_vec();
            drop(text.splice(to..to, again));
        }
        _ => bytes::edit(text, random),
    }
}
