//! Bytes of an id that would end a part of it, written as `%` and two hexadecimal digits.

use std::fmt::{self, Write};

/// The characters that are written so in names of channels, and in paths before them.
pub(super) const IN_PATH: &[char] = &['%', '?', ' '];
/// The same, in the parameters of an id.
pub(super) const IN_PARAMETER: &[char] = &['%', '?', '&', '#', '+', ' '];

/// The signs that stand for themselves in a query, beside letters and digits.
pub(super) const PLAIN: &[u8] = b"-._~:,/";

/// Replaces each `%XX` with its byte; or says what was expected.
pub(super) fn decode(text: &str) -> Result<String, &'static str> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or("%25 for %, which two hexadecimal digits follow")?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| "UTF-8 behind %")
}

/// Writes a text, with these characters as `%XX`.
pub(super) fn write(f: &mut fmt::Formatter<'_>, text: &str, special: &[char]) -> fmt::Result {
    text.chars().try_for_each(|character| match special.contains(&character) {
        true => write!(f, "%{:02X}", u32::from(character)),
        false => f.write_char(character),
    })
}

/// Writes a text, with all bytes as `%XX` that are neither letters and digits nor these.
pub(super) fn write_but(f: &mut fmt::Formatter<'_>, text: &str, plain: &[u8]) -> fmt::Result {
    text.bytes().try_for_each(|byte| match byte.is_ascii_alphanumeric() || plain.contains(&byte) {
        true => f.write_char(byte.into()),
        false => write!(f, "%{byte:02X}"),
    })
}
