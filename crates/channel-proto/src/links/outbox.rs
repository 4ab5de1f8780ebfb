//! The bytes to write to a connection: frames in order, and the formats and times that the other side already knows.

use super::transit::{Carried, Way, Which};
use crate::control::Control;
use crate::frame::{self, FrameKind, Header};
use crate::memory::Body;
use isoform_core::{Format, Token};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// With this many bytes, an outbox accepts no queued events and no further parts of long events. With twice as many, it
/// accepts no further events at all: the room between is for short events that are submitted meanwhile.
pub(crate) const AHEAD: usize = 128 << 10;

/// So much memory is kept for the next output, whatever it was used for; and more, until it was used for little so many times in a row.
const KEPT: usize = 2 * AHEAD;
const SPARED: u8 = 8;

/// The most bytes of the descriptions of all formats that have an index.
pub(crate) const DESCRIBED: usize = 1 << 20;

/// Bytes to write, interleaved with bodies that need not be copied.
pub struct Outgoing<B> {
    /// The bytes that are not in bodies.
    pub bytes: Vec<u8>,
    /// The bodies, in the order of their places.
    pub bodies: Vec<Splice<B>>,
    /// How many times in a row it had much memory for little.
    spared: u8,
}

/// A part of a body that is written before the byte at a place.
pub struct Splice<B> {
    /// The place in [`Outgoing::bytes`].
    pub at: usize,
    /// The body.
    pub body: B,
    /// The part of it.
    pub range: Range<usize>,
    /// Counts a long body until this is dropped.
    #[expect(dead_code, reason = "it counts while it is there")]
    carried: Carried,
}

impl<B> Splice<B> {
    /// A part of a body, before the byte at a place.
    pub fn new(at: usize, body: B, range: Range<usize>) -> Splice<B> {
        Splice { at, body, range, carried: Carried::default() }
    }
}

impl<B> Default for Outgoing<B> {
    fn default() -> Self {
        Outgoing { bytes: Vec::new(), bodies: Vec::new(), spared: 0 }
    }
}

impl<B> Outgoing<B> {
    /// The number of bytes in all.
    pub fn length(&self) -> usize {
        self.bytes.len() + self.bodies.iter().map(|splice| splice.range.len()).sum::<usize>()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.bodies.is_empty()
    }

    /// Removes everything. Much memory is kept only as long as it is used now and then: whoever sends much has it at once the next time,
    /// and a connection that was busy once does not hold it for ever.
    pub fn clear(&mut self) {
        let (used, memory) = (self.bytes.len(), self.bytes.capacity());
        self.bytes.clear();
        self.bodies.clear();
        if memory > KEPT && used > 0 {
            self.spared = if used < memory / 4 { self.spared + 1 } else { 0 };
            if self.spared == SPARED {
                self.bytes.shrink_to(KEPT);
                self.spared = 0;
            }
        }
    }
}

impl<B: Body> Outgoing<B> {
    /// All bytes in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let (mut all, mut from) = (Vec::with_capacity(self.length()), 0);
        for Splice { at, body, range, .. } in &self.bodies {
            all.extend_from_slice(&self.bytes[from..*at]);
            body.pieces(range.clone(), &mut |piece| all.extend_from_slice(piece));
            from = *at;
        }
        all.extend_from_slice(&self.bytes[from..]);
        all
    }
}

impl<B> fmt::Debug for Outgoing<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} bytes, {} of them in bodies)", self.length(), self.length() - self.bytes.len())
    }
}

/// The frames of one connection.
pub(crate) struct Outbox<B> {
    out: Outgoing<B>,
    /// The long bodies that are under way to the other node.
    way: Way,
    /// The bytes of the bodies in `out`.
    spliced: usize,
    /// Bytes that the caller has, and has not written yet.
    unwritten: usize,
    /// Bytes of frames that are not events, and that the caller does not have yet; and of those in output that the caller has not
    /// written completely. Until then, it has the memory of all of it.
    answers: usize,
    answers_given: usize,
    /// The limit that replaces [`AHEAD`], usually equal to it.
    ahead: usize,
    /// The indices of the formats that the other side knows.
    indices: HashMap<Token, u16>,
    /// The number of formats that the other side keeps.
    limit: usize,
    /// The bytes of their descriptions together, and of all that were written since somebody asked.
    described: usize,
    since: usize,
    latest: Option<(Format, u16)>,
    /// The base time of events; `None` before the first.
    time: Option<u64>,
}

impl<B: Body> Outbox<B> {
    pub(crate) fn new(formats: u32, ahead: usize, way: Way) -> Outbox<B> {
        Outbox {
            out: Outgoing::default(),
            way,
            spliced: 0,
            unwritten: 0,
            answers: 0,
            answers_given: 0,
            ahead,
            indices: HashMap::new(),
            // One index is reserved for "no format".
            limit: (formats as usize).clamp(1, usize::from(u16::MAX)),
            described: 0,
            since: 0,
            latest: None,
            time: None,
        }
    }

    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.length() < 2 * self.ahead
    }

    /// The number of bytes that it accepts. What begins within these is accepted as a whole.
    pub(crate) fn room(&self) -> usize {
        (2 * self.ahead).saturating_sub(self.length())
    }

    /// Whether it accepts queued events.
    #[inline]
    pub(crate) fn has_turns(&self) -> bool {
        self.length() < self.ahead
    }

    /// The number of bytes that are not written yet, whoever has them.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.waiting() + self.unwritten
    }

    /// The number of bytes that the caller does not have yet.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.out.bytes.len() + self.spliced
    }

    /// The caller has not written so many of its bytes. Returns how many bytes of frames that are not events it has written, and so
    /// no longer has.
    #[inline]
    pub(crate) fn unwritten(&mut self, bytes: usize) -> usize {
        self.unwritten = bytes;
        if bytes == 0 { std::mem::take(&mut self.answers_given) } else { 0 }
    }

    /// Appends a frame that is not an event. Returns its length.
    pub(crate) fn say(&mut self, control: &Control) -> usize {
        let before = self.out.bytes.len();
        control.put(&mut self.out.bytes);
        let length = self.out.bytes.len() - before;
        self.answers += length;
        length
    }

    /// Bytes of frames that are not events, whoever has them.
    pub(crate) fn answers(&self) -> usize {
        self.answers + self.answers_given
    }

    /// Passes the pending output to the caller, in exchange for empty memory.
    pub(crate) fn give(&mut self, out: &mut Outgoing<B>) {
        out.clear();
        self.unwritten += self.waiting();
        self.answers_given += std::mem::take(&mut self.answers);
        self.spliced = 0;
        std::mem::swap(&mut self.out, out);
    }

    /// Counts a long body, of which parts will follow; `None` if there is no room for it.
    pub(crate) fn admit(&self, which: Which, bytes: usize) -> Option<Carried> {
        self.way.admit(which, bytes)
    }

    /// The long bodies that are under way.
    pub(crate) fn way(&self) -> &Way {
        &self.way
    }

    /// The place to append whole frames.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.out.bytes
    }

    /// Appends a frame whose payload is a part of a body.
    pub(crate) fn splice(&mut self, header: Header, body: B, range: Range<usize>, carried: Carried) {
        self.out.bytes.extend(header.to_bytes());
        self.spliced += range.len();
        let length = range.len();
        self.out.bodies.push(Splice { at: self.out.bytes.len(), body, range, carried });
        frame::pad(&mut self.out.bytes, length);
    }

    /// The index of a format at the other side. If the other side does not know the format, it is described first.
    #[inline]
    pub(crate) fn index(&mut self, format: &Format) -> u16 {
        match &self.latest {
            Some((latest, index)) if latest == format => *index,
            _ => self.look_up(format),
        }
    }

    /// The same for a frame that is not an event: the description is a part of it.
    pub(crate) fn index_of_answer(&mut self, format: &Format) -> u16 {
        let before = self.out.bytes.len();
        let index = self.index(format);
        self.answers += self.out.bytes.len() - before;
        index
    }

    #[cold]
    fn look_up(&mut self, format: &Format) -> u16 {
        let token = format.token();
        let index = match self.indices.get(&token) {
            Some(&index) => index,
            None => self.describe(format, token),
        };
        self.latest = Some((format.clone(), index));
        index
    }

    /// The bytes of the descriptions that were written since the last call.
    #[inline]
    pub(crate) fn take_described(&mut self) -> usize {
        std::mem::take(&mut self.since)
    }

    fn describe(&mut self, format: &Format, token: Token) -> u16 {
        let description = format.description().as_bytes();
        if self.indices.len() >= self.limit || self.described + description.len() > DESCRIBED {
            self.indices.clear();
            self.described = 0;
        }
        let index = self.indices.len() as u16;
        self.described += description.len();
        self.since += description.len();
        self.indices.insert(token, index);
        let header = Header { index, ..Header::plain(FrameKind::Format) };
        frame::put(&mut self.out.bytes, header, |out| out.extend_from_slice(description));
        index
    }

    /// A time relative to the base time, for a header. If it is too far from that, a frame sets a new base time.
    #[inline]
    pub(crate) fn time(&mut self, time: u64) -> u32 {
        let since = self.time.and_then(|base| time.checked_sub(base)).and_then(|since| u32::try_from(since).ok());
        since.unwrap_or_else(|| self.set_time(time))
    }

    #[cold]
    fn set_time(&mut self, time: u64) -> u32 {
        self.time = Some(time);
        frame::put(&mut self.out.bytes, Header::plain(FrameKind::Time), |out| out.extend(time.to_le_bytes()));
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameKind, HEADER};
    use crate::links::Transit;
    use std::sync::Arc;

    #[test]
    fn memory_is_kept_while_it_is_used() {
        let mut out = Outgoing::<Arc<[u8]>>::default();
        let mut fill = |used: usize| {
            out.bytes.resize(used, 1);
            out.clear();
            // The caller clears it, too.
            out.clear();
            out.bytes.capacity()
        };
        let all = fill(3 * KEPT);
        for used in [10, 3 * KEPT].repeat(100) {
            assert_eq!(fill(used), all, "it comes to much now and then");
        }
        let memory: Vec<_> = (0..2 * SPARED).map(|_| fill(10)).collect();
        assert_eq!((memory[0], memory[usize::from(SPARED) - 2]), (all, all));
        assert!(memory[usize::from(SPARED)..].iter().all(|&memory| memory <= KEPT));
    }

    #[test]
    fn frames_lie_behind_bodies_of_any_length() {
        let mut outbox = Outbox::<Arc<[u8]>>::new(1, AHEAD, Way::new(Transit::new(u64::MAX)));
        for length in [1, 15, 16, 17, 3000] {
            let header = Header { length: length as u32, ..Header::plain(FrameKind::Part) };
            outbox.splice(header, vec![7; length].into(), 0..length, Carried::default());
            frame::put(outbox.bytes(), Header::plain(FrameKind::Start), |out| out.extend([1; 8]));
        }
        let mut out = Outgoing::default();
        outbox.give(&mut out);
        let (all, mut lengths) = (out.to_vec(), Vec::new());
        let mut rest = &all[..];
        while let Some(header) = rest.first_chunk::<HEADER>() {
            let header = Header::parse(header).unwrap();
            lengths.push(header.length);
            rest = &rest[header.extent()..];
        }
        assert_eq!(lengths, [1, 8, 15, 8, 16, 8, 17, 8, 3000, 8]);
        assert_eq!((rest.len(), all.len()), (0, out.length()));
    }
}
