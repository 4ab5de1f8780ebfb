//! Base64 of RFC 4648, with padding.

use std::fmt::{Result, Write};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8], out: &mut impl Write) -> Result {
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = (word >> (18 - 6 * i)) & 63;
            out.write_char(if i <= three.len() { char::from(DIGITS[digit as usize]) } else { '=' })?;
        }
    }
    Ok(())
}

/// The bytes, or `None` if the text is not the canonical encoding of any bytes.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.as_bytes().chunks(4) {
        let length = four.iter().position(|byte| *byte == b'=').unwrap_or(four.len());
        let mut word = 0;
        for digit in &four[..length] {
            word = word << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        let word = (word << (6 * (4 - length))).to_be_bytes();
        bytes.extend_from_slice(&word[1..length.max(1)]);
    }
    let mut again = String::with_capacity(text.len());
    encode(&bytes, &mut again).ok().filter(|()| again == text).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_pairs() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            let mut encoded = String::new();
            encode(bytes.as_bytes(), &mut encoded).unwrap();
            assert_eq!((encoded.as_str(), decode(text).unwrap()), (text, bytes.as_bytes().to_vec()));
        }
        assert_eq!(decode("/+8=").unwrap(), [0xff, 0xef]);
        for bad in ["Z", "Zg", "Zg=", "Zh==", "=", "====", "Zg==Zg==", "Zm9v\n", "Zm9-", "Z===", "é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
