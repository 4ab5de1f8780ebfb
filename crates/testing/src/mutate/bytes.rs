//! Edits of bytes of which nothing is known.

use super::Random;

/// Changes a bit or a byte, cuts, extends, takes out, or repeats.
pub(super) fn edit(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let length = random.below(24).min(bytes.len() - at);
    match random.below(8) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[at] = random.of_these(&[0, 1, 2, 0x7f, 0x80, 0xff]).unwrap_or(0),
        3 if !bytes.is_empty() => bytes[at] = random.byte(),
        4 => bytes.truncate(at),
        5 => bytes.extend((0..=random.below(24)).map(|_| 0)),
        6 => drop(bytes.drain(at..at + length)),
        _ => {
            let again = bytes[at..at + length].to_vec();
            bytes.splice(at..at, again);
        }
    }
}
