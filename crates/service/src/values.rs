//! How many values a text of JSON has, before it is parsed. In memory, a value of six bytes takes some hundred times as many, so
//! whoever reads JSON of strangers bounds its values beside its bytes.

/// The most values of a body, or of an answer.
pub(crate) const MOST: usize = 1 << 18;

/// The commas and opening brackets of a text outside of its strings: at least as many as it has values, but for the first one.
pub(crate) fn count(json: &[u8]) -> usize {
    let (mut count, mut in_string, mut bytes) = (0, false, json.iter());
    while let Some(byte) = bytes.next() {
        match (byte, in_string) {
            (b'"', _) => in_string = !in_string,
            (b'\\', true) => _ = bytes.next(),
            (b',' | b'[' | b'{', false) => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, expected) in [
            ("", 0),
            ("7", 0),
            ("[1,2,3]", 3),
            (r#"{"a":{"b":[]},"c":1}"#, 4),
            (r#"["[,{","\"[","\\",","]"#, 4),
            (r#"[""#, 1),
            ("[[[[", 4),
            (r#"["\"#, 1),
        ] {
            assert_eq!(count(json.as_bytes()), expected, "{json}");
        }
    }
}
