//! Numbers and escapes within quotes, by the rules of each language that writes them.

use super::tokens::number;

/// The languages whose escapes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    C,
    Idl,
    Proto,
}

impl Escapes {
    /// How many digits may follow a sign behind the backslash: at least, and at most.
    fn digits(self, sign: char) -> Option<(usize, usize)> {
        Some(match (sign, self) {
            ('x', Escapes::C) => (1, usize::MAX),
            ('x', _) | ('X', Escapes::Proto) => (1, 2),
            ('u', Escapes::Idl) => (1, 4),
            ('u', _) => (4, 4),
            ('U', Escapes::C | Escapes::Proto) => (8, 8),
            _ => return None,
        })
    }
}

/// The bytes of a text in quotes; or the escape that is none of the language, or stands for more than a byte or a character.
pub(super) fn unescaped(text: &str, of: Escapes) -> Result<Vec<u8>, &str> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let length = escape(&rest[at..], of, &mut bytes);
        rest = length.map(|length| &rest[at + length..]).ok_or_else(|| short(&rest[at..]))?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// Adds what an escape stands for, and returns its length.
fn escape(text: &str, of: Escapes, bytes: &mut Vec<u8>) -> Option<usize> {
    let sign = text[1..].chars().next()?;
    let simple = match sign {
        'n' => 0x0a,
        't' => 0x09,
        'v' => 0x0b,
        'b' => 0x08,
        'r' => 0x0d,
        'f' => 0x0c,
        'a' => 0x07,
        '\\' | '?' | '\'' | '"' => sign as u8,
        '0'..='7' => {
            let digits = text[1..].bytes().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
            bytes.push(u8::from_str_radix(&text[1..=digits], 8).ok()?);
            return Some(1 + digits);
        }
        _ => {
            let (least, most) = of.digits(sign)?;
            let digits = text[2..].bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
            let value = u32::from_str_radix(&text[2..2 + digits], 16).ok().filter(|_| digits >= least)?;
            match sign.eq_ignore_ascii_case(&'x') {
                true => bytes.push(u8::try_from(value).ok()?),
                false => bytes.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            return Some(2 + digits);
        }
    };
    bytes.push(simple);
    Some(2)
}

/// The value of a character in quotes, if it is one of ASCII: others have another value, or another sign, elsewhere.
pub(super) fn character(text: &str) -> Option<i128> {
    match unescaped(text, Escapes::C).ok()?[..] {
        [byte @ 0..=127] => Some(byte.into()),
        _ => None,
    }
}

/// A number as its value in decimal digits, if it is an integer in octal or hexadecimal ones. `None` if its digits are not those.
pub(super) fn decimal(text: &str) -> Option<String> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    match is_digits && text.len() > 1 && text.starts_with('0') || is_hexadecimal {
        true => number(text).map(|value| value.to_string()),
        false => Some(text.into()),
    }
}

/// The beginning of an escape, for errors.
fn short(text: &str) -> &str {
    text.char_indices().nth(4).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text in quotes, and its bytes in C, IDL and Protocol Buffers; none where the language does not have it.
    const TEXTS: &[(&str, [Option<&[u8]>; 3])] = &[
        ("a\\n\\t\\v\\b\\r\\f\\a\\\\\\?\\'\\\"z", [Some(b"a\n\t\x0b\x08\r\x0c\x07\\?'\"z"); 3]),
        ("\\101\\12x\\0", [Some(b"A\nx\0"); 3]),
        ("\\1014", [Some(b"A4"); 3]),
        ("\\377", [Some(b"\xff"); 3]),
        ("\\400", [None; 3]),
        ("\\x41", [Some(b"A"); 3]),
        ("\\x4", [Some(b"\x04"); 3]),
        ("\\x414", [None, Some(b"A4"), Some(b"A4")]),
        ("\\X41", [None, None, Some(b"A")]),
        ("\\x", [None; 3]),
        ("\\xg", [None; 3]),
        ("\\u00e9", [Some("é".as_bytes()); 3]),
        ("\\ue9", [None, Some("é".as_bytes()), None]),
        ("\\u00e9e", [Some("ée".as_bytes()); 3]),
        ("\\U0001f600", [Some("😀".as_bytes()), None, Some("😀".as_bytes())]),
        ("\\U00110000", [None; 3]),
        ("\\ud800", [None; 3]),
        ("\\8", [None; 3]),
        ("\\q", [None; 3]),
        ("\\", [None; 3]),
        ("??/n", [Some(b"??/n"); 3]),
        ("é\\né", [Some("é\né".as_bytes()); 3]),
    ];

    #[test]
    fn escapes_are_those_of_the_language() {
        for (text, expected) in TEXTS {
            for (of, expected) in [Escapes::C, Escapes::Idl, Escapes::Proto].into_iter().zip(expected) {
                assert_eq!(unescaped(text, of).ok().as_deref(), *expected, "{text} in {of:?}");
            }
        }
        assert_eq!(unescaped("ab\\qdefg", Escapes::C), Err("\\qde"));
    }

    #[test]
    fn integers_are_read_in_their_base() {
        for (text, expected) in [
            ("010", Some("8")),
            ("0x1F", Some("31")),
            ("0", Some("0")),
            ("10", Some("10")),
            ("08", None),
            ("0xg", None),
            ("0.5", Some("0.5")),
            ("08.5", Some("08.5")),
            ("0e3", Some("0e3")),
        ] {
            assert_eq!(decimal(text).as_deref(), expected, "{text}");
        }
    }
}
