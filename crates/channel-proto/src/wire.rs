//! Numbers and texts in the payloads of frames (`spec/channel.md`, "Frames").

use isoform_core::{Code, Error, Result};

/// The longest text. Longer ones are cut when they are written.
const TEXT: usize = 4096;

/// The largest number of an event.
pub(crate) const LAST_SEQUENCE: u64 = 1 << 63;

/// Reads a payload from its front.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// The structure that is read, for errors.
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(payload: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { rest: payload, what }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((first, rest)) = self.rest.split_first_chunk() else { return Err(self.short(N)) };
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The number of an event. It is small enough that counting on from it cannot overflow.
    pub(crate) fn sequence(&mut self) -> Result<u64> {
        let sequence = self.u64()?;
        if sequence <= LAST_SEQUENCE {
            return Ok(sequence);
        }
        let expected = format_args!("a sequence of at most {LAST_SEQUENCE}");
        Err(Error::new(Code::Frame).at(self.what).expected(expected).found(sequence))
    }

    /// Bytes with their length in front.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::from(self.u16()?);
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else { return Err(self.short(length)) };
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let text = self.bytes()?;
        std::str::from_utf8(text).map_err(|error| Error::new(Code::Frame).at(self.what).expected("text").found(error))
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>> {
        let count = self.u16()?;
        // Each takes at least two bytes, so the count alone reserves nothing.
        (0..count).map(|_| self.text().map(Into::into)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[cold]
    fn short(&self, needed: usize) -> Error {
        let error = Error::new(Code::Frame).at(self.what);
        error.expected(format_args!("{needed} more bytes")).found(self.rest.len())
    }
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(TEXT)];
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(bytes.len() <= usize::from(u16::MAX));
    out.extend((bytes.len() as u16).to_le_bytes());
    out.extend(bytes);
}

pub(crate) fn put_texts(out: &mut Vec<u8>, texts: &[String]) {
    let count = texts.len().min(usize::from(u16::MAX));
    out.extend((count as u16).to_le_bytes());
    texts[..count].iter().for_each(|text| put_text(out, text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_were_written() {
        let texts = ["".to_string(), "Größe".to_string(), "x".repeat(TEXT)];
        let mut out = Vec::new();
        put_texts(&mut out, &texts);
        assert_eq!(Reader::new(&out, "texts").texts().unwrap(), texts);
        for cut in 0..out.len() {
            assert_eq!(Reader::new(&out[..cut], "texts").texts().unwrap_err().code(), Code::Frame, "{cut}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        let mut out = Vec::new();
        put_text(&mut out, &"ö".repeat(TEXT).replacen('ö', "o", 1));
        let mut reader = Reader::new(&out, "text");
        assert_eq!(reader.text().unwrap().len(), TEXT - 1);
        assert!(reader.is_empty());
    }

    #[test]
    fn numbers_and_texts_that_cannot_be_are_refused() {
        assert_eq!(Reader::new(&[2, 0, 0xff, 0xff], "text").text().unwrap_err().code(), Code::Frame);
        assert_eq!(Reader::new(&LAST_SEQUENCE.to_le_bytes(), "next").sequence().unwrap(), LAST_SEQUENCE);
        let beyond = (LAST_SEQUENCE + 1).to_le_bytes();
        assert_eq!(Reader::new(&beyond, "next").sequence().unwrap_err().code(), Code::Frame);
    }
}
