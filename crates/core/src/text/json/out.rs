//! The text that is being written. It is gathered, since a writer that takes pieces is called for each.

use super::entries::{Entry, HEAD};
use std::fmt::{Error, Result, Write};

/// Text is handed over in pieces of about this many bytes.
const PIECE: usize = 4096;

/// The bytes that [`Out::short`] may take.
pub(super) const SHORT: usize = 32;

/// Text, and who gets it.
pub(super) struct Out<'a> {
    /// Text, and behind it bytes without meaning, so that most writers need no more than one check for room.
    bytes: Vec<u8>,
    /// Where the text ends. It consists of whole characters.
    end: usize,
    to: Option<&'a mut dyn Write>,
}

impl<'a> Out<'a> {
    /// Keeps all text, of which about this much is expected.
    pub(super) fn kept(expected: usize) -> Out<'a> {
        Out { bytes: vec![0; expected], end: 0, to: None }
    }

    /// Hands the text over, piece by piece.
    pub(super) fn to(out: &'a mut dyn Write, expected: usize) -> Out<'a> {
        Out { bytes: vec![0; expected.min(PIECE)], end: 0, to: Some(out) }
    }

    /// Hands the rest over.
    pub(super) fn finish(mut self) -> Result {
        self.hand_over()
    }

    /// The text that was kept.
    ///
    /// # Panics
    /// If someone has written a part of a character, which would be a defect.
    pub(super) fn into_text(mut self) -> String {
        self.bytes.truncate(self.end);
        String::from_utf8(self.bytes).expect("only whole characters were written")
    }

    fn hand_over(&mut self) -> Result {
        if let Some(out) = &mut self.to {
            out.write_str(std::str::from_utf8(&self.bytes[..self.end]).map_err(|_| Error)?)?;
            self.end = 0;
        }
        Ok(())
    }

    /// Makes room for so many bytes.
    #[inline]
    pub(super) fn room(&mut self, bytes: usize) -> Result {
        if self.bytes.len() - self.end < bytes { self.make_room(bytes) } else { Ok(()) }
    }

    #[cold]
    fn make_room(&mut self, bytes: usize) -> Result {
        if self.to.is_some() && self.bytes.len() >= PIECE {
            self.hand_over()?;
        }
        let needed = self.end + bytes;
        if self.bytes.len() < needed {
            self.bytes.resize(needed.max(2 * self.bytes.len()), 0);
        }
        Ok(())
    }

    /// Writes one byte of ASCII, for which there is room.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes[self.end] = byte;
        self.end += 1;
    }

    /// Replaces the last byte, which is of ASCII, by another one.
    #[inline]
    pub(super) fn replace_last(&mut self, byte: u8) {
        self.bytes[self.end - 1] = byte;
    }

    /// Writes a text for which there is room.
    #[inline]
    pub(super) fn text(&mut self, text: &str) {
        self.bytes[self.end..][..text.len()].copy_from_slice(text.as_bytes());
        self.end += text.len();
    }

    /// Writes the label of an entry, with this byte in place of the comma. There is room for it, and for [`HEAD`] bytes more.
    #[inline]
    pub(super) fn label(&mut self, first: u8, entry: &Entry<'_>) {
        let (to, label) = (&mut self.bytes[self.end..], entry.label);
        match entry.head {
            Some(head) if label.len() <= HEAD => to[..HEAD].copy_from_slice(head),
            _ => to[..label.len()].copy_from_slice(label),
        }
        to[0] = first;
        self.end += label.len();
    }

    /// Writes any number of bytes, which are ASCII.
    pub(super) fn ascii(&mut self, text: &[u8]) -> Result {
        for piece in text.chunks(PIECE) {
            self.room(piece.len())?;
            self.bytes[self.end..][..piece.len()].copy_from_slice(piece);
            self.end += piece.len();
        }
        Ok(())
    }

    /// Writes at most [`SHORT`] bytes, for which there is room. It calls nothing for them.
    #[inline]
    pub(super) fn short(&mut self, text: &str) {
        let (text, length) = (text.as_bytes(), text.len());
        let to = &mut self.bytes[self.end..][..SHORT];
        // Two pieces of a usual size that overlap, in place of one of any size.
        if let (Some(head), Some(tail)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
            to[..16].copy_from_slice(head);
            to[length - 16..length].copy_from_slice(tail);
        } else if let (Some(head), Some(tail)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            to[..8].copy_from_slice(head);
            to[length - 8..length].copy_from_slice(tail);
        } else if let (Some(head), Some(tail)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            to[..4].copy_from_slice(head);
            to[length - 4..length].copy_from_slice(tail);
        } else {
            to.iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
        }
        self.end += length;
    }
}

impl Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> Result {
        if let Some(to) = self.to.as_mut().filter(|_| text.len() > PIECE) {
            let before = std::str::from_utf8(&self.bytes[..self.end]).map_err(|_| Error)?;
            self.end = 0;
            to.write_str(before)?;
            return to.write_str(text);
        }
        self.room(text.len())?;
        self.text(text);
        Ok(())
    }
}
