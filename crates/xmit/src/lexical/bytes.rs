//! Bytes as text: two hexadecimal digits each, or base64.

use std::fmt::{Result, Write};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn write_hex(bytes: impl Iterator<Item = u8>, out: &mut dyn Write) -> Result {
    bytes.into_iter().try_for_each(|byte| write!(out, "{byte:02X}"))
}

pub(super) fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect())?
}

/// Base64 as URLs can have it has no padding.
pub(super) fn write_base64(mut bytes: impl Iterator<Item = u8>, for_urls: bool, out: &mut dyn Write) -> Result {
    let alphabet = if for_urls { URL } else { STANDARD };
    loop {
        let group = [bytes.next(), bytes.next(), bytes.next()];
        let count = group.iter().flatten().count();
        if count == 0 {
            return Ok(());
        }
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(byte.unwrap_or(0)));
        for place in 0..4 {
            match place <= count {
                true => out.write_char(char::from(alphabet[(bits >> (18 - 6 * place) & 63) as usize]))?,
                false if for_urls => {}
                false => out.write_char('=')?,
            }
        }
    }
}

/// Base64 with its padding, or without it for URLs. Spaces have no meaning. Bits that no byte has are zeros.
pub(super) fn read_base64(text: &str, for_urls: bool) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count, mut padding) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0usize, 0usize);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let digit = match byte {
            b'=' if !for_urls => {
                padding += 1;
                continue;
            }
            _ if padding > 0 => return None,
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' if !for_urls => 62,
            b'/' if !for_urls => 63,
            b'-' if for_urls => 62,
            b'_' if for_urls => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count.is_multiple_of(4) {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    let (rest, unused) = match count % 4 {
        0 => (0, 0),
        2 => (1, 4),
        3 => (2, 2),
        _ => return None,
    };
    if bits & ((1 << unused) - 1) != 0 || !for_urls && padding != (4 - count % 4) % 4 {
        return None;
    }
    let kept = bits >> unused;
    bytes.extend_from_slice(&kept.to_be_bytes()[4 - rest..]);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base64(bytes: &[u8], for_urls: bool) -> String {
        let mut text = String::new();
        write_base64(bytes.iter().copied(), for_urls, &mut text).unwrap();
        text
    }

    #[test]
    fn what_others_write() {
        // The examples of RFC 4648.
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes(), false), text);
            assert_eq!(read_base64(text, false), Some(bytes.into()));
            assert_eq!(base64(bytes.as_bytes(), true), text.trim_end_matches('='));
        }
        assert_eq!(read_base64(" Zm\n9v ", false), Some(b"foo".to_vec()));
        for wrong in ["Z", "Zg", "Zg=", "Zg===", "Zh==", "Zg==Zg==", "Z-==", "="] {
            assert_eq!(read_base64(wrong, false), None, "{wrong}");
        }
        for wrong in ["Zg==", "Z+", "Zh", "Z"] {
            assert_eq!(read_base64(wrong, true), None, "{wrong}");
        }
        assert_eq!(read_hex("00fFA1"), Some(vec![0, 255, 161]));
        assert_eq!((read_hex("0"), read_hex("0g"), read_hex("+1")), (None, None, None));
    }

    proptest! {
        #[test]
        fn bytes_survive(bytes: Vec<u8>) {
            for for_urls in [false, true] {
                prop_assert_eq!(read_base64(&base64(&bytes, for_urls), for_urls), Some(bytes.clone()));
            }
            let mut hex = String::new();
            write_hex(bytes.iter().copied(), &mut hex).unwrap();
            prop_assert_eq!(read_hex(&hex), Some(bytes));
        }
    }
}
