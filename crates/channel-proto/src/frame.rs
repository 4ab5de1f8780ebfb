//! Frames: the contents of a connection after the handshake (`spec/channel.md`, "Frames").

use isoform_core::{Code, Error, Result};

/// Bytes of a frame's header.
pub const HEADER: usize = 16;
/// The longest payload of a frame.
pub const PAYLOAD: usize = 1 << 16;
/// The index that stands for no format.
pub(crate) const NO_FORMAT: u16 = u16::MAX;

macro_rules! kinds {
    ($($name:ident = $number:literal,)*) => {
        /// The kind of a frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum FrameKind { $(#[allow(missing_docs, reason = "they stand in the specification")] $name = $number,)* }

        impl FrameKind {
            /// Every kind, in the order of its number.
            pub const ALL: &[FrameKind] = &[$(FrameKind::$name,)*];

            fn of(number: u8) -> Option<FrameKind> {
                match number { $($number => Some(FrameKind::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    Bye = 1, Ping = 2, Synced = 3, Start = 4, Proof = 5, Terms = 6, Open = 8, Opened = 9, Refused = 10, Leave = 11,
    Members = 13, Call = 14, Format = 16, Offer = 17, Withdraw = 18, Subscribe = 19, Decline = 20, Unsubscribe = 21,
    Change = 22, Enough = 23, Started = 24, Event = 25, Begin = 26, Part = 27, Gap = 28, End = 29, Time = 30, Ack = 31, Granted = 32, Skip = 33, Origin = 34,
    Parameters = 35, Given = 36, Ask = 40, Told = 41,
}

/// The first kind that a node skips if it does not know it.
const IGNORABLE: u8 = 128;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the payload.
    pub length: u32,
    /// The kind; `None` for an unknown one that is skipped.
    pub kind: Option<FrameKind>,
    /// Index of a format.
    pub index: u16,
    /// Number of a subscription.
    pub subscription: u32,
    /// Nanoseconds since the base time of the connection.
    pub time: u32,
}

impl Header {
    /// The header of a frame with nothing besides a kind and a payload.
    pub(crate) fn plain(kind: FrameKind) -> Header {
        Header { length: 0, kind: Some(kind), index: 0, subscription: 0, time: 0 }
    }

    /// Reads a header.
    ///
    /// # Errors
    /// [`Code::Frame`].
    #[inline]
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Header> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (length, kind) = (word(0), FrameKind::of(bytes[4]));
        if length as usize > PAYLOAD || bytes[5] != 0 || (kind.is_none() && bytes[4] < IGNORABLE) {
            return Err(Header::refuse(length, bytes));
        }
        let index = u16::from_le_bytes([bytes[6], bytes[7]]);
        Ok(Header { length, kind, index, subscription: word(8), time: word(12) })
    }

    #[cold]
    fn refuse(length: u32, bytes: &[u8; HEADER]) -> Error {
        let error = Error::new(Code::Frame);
        match length as usize > PAYLOAD {
            true => error.at("payload").expected(format_args!("at most {PAYLOAD} bytes")).found(length),
            false => error
                .at("kind")
                .expected("a known kind of frame, and then a zero")
                .found(format_args!("{:?}", &bytes[4..6])),
        }
    }

    /// Its bytes.
    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4] = self.kind.map_or(IGNORABLE, |kind| kind as u8);
        bytes[6..8].copy_from_slice(&self.index.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.subscription.to_le_bytes());
        bytes[12..].copy_from_slice(&self.time.to_le_bytes());
        bytes
    }

    /// Bytes of the whole frame.
    pub fn extent(&self) -> usize {
        extent(self.length as usize)
    }
}

/// Bytes of a whole frame whose payload has this length.
#[inline]
pub(crate) fn extent(length: usize) -> usize {
    HEADER + length.next_multiple_of(HEADER)
}

/// Appends a frame whose payload `fill` writes.
pub(crate) fn put(out: &mut Vec<u8>, mut header: Header, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; HEADER]);
    fill(out);
    // Writers cut texts and lists that are too long. Bodies and descriptions always fit.
    debug_assert!(out.len() - start - HEADER <= PAYLOAD);
    out.truncate(start + HEADER + PAYLOAD);
    header.length = (out.len() - start - HEADER) as u32;
    out[start..start + HEADER].copy_from_slice(&header.to_bytes());
    pad(out, header.length as usize);
}

/// Appends the padding after a payload of this length. It does not depend on the length of `out`, since bodies may be
/// elsewhere.
#[inline]
pub(crate) fn pad(out: &mut Vec<u8>, length: usize) {
    let end = out.len() + length.wrapping_neg() % HEADER;
    // Copying a fixed number of bytes is much quicker than copying a few.
    out.extend_from_slice(&[0; HEADER]);
    out.truncate(end);
}

/// The frame at the start of some bytes: its header, its payload and its length; `None` if it is incomplete.
#[inline]
pub(crate) fn split(input: &[u8]) -> Result<Option<(Header, &[u8], usize)>> {
    let Some(bytes) = input.first_chunk::<HEADER>() else { return Ok(None) };
    let header = Header::parse(bytes)?;
    let Some(frame) = input.get(..header.extent()) else { return Ok(None) };
    Ok(Some((header, &frame[HEADER..HEADER + header.length as usize], frame.len())))
}

/// The length of the payload of the frame at the start of some bytes, if the frame is whole and its kind, its index and its
/// subscription are those of another header.
#[inline]
pub(crate) fn like(other: &[u8; HEADER], input: &[u8]) -> Option<usize> {
    let bytes = input.first_chunk::<HEADER>()?;
    let length = length_and_time(bytes).0 as usize;
    let is_whole = length <= PAYLOAD && HEADER + length.next_multiple_of(HEADER) <= input.len();
    (is_whole && bytes[4..12] == other[4..12]).then_some(length)
}

/// The length of the payload, and the time, of a header that was accepted before.
#[inline]
pub(crate) fn length_and_time(bytes: &[u8; HEADER]) -> (u32, u32) {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (word(0), word(12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_alike_whatever_their_lengths_and_times_are() {
        let header = Header { length: 17, kind: Some(FrameKind::Event), index: 3, subscription: 5, time: 7 };
        let mut input = header.to_bytes().to_vec();
        input.resize(header.extent(), 1);
        let like = |header: Header, input: &[u8]| super::like(&header.to_bytes(), input);
        assert_eq!(length_and_time(input.first_chunk().unwrap()), (17, 7));
        assert_eq!(like(Header { length: 9, time: 9, ..header }, &input), Some(17));
        assert_eq!(like(header, &input[..input.len() - 1]), None, "it is not whole");
        for other in [
            Header { kind: Some(FrameKind::Part), ..header },
            Header { index: 4, ..header },
            Header { subscription: 6, ..header },
        ] {
            assert_eq!(like(other, &input), None, "{other:?}");
        }
        let long = Header { length: PAYLOAD as u32 + 1, ..header };
        input = [&long.to_bytes()[..], &vec![0; 2 * PAYLOAD]].concat();
        assert_eq!(like(header, &input), None, "it is too long");
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for &kind in FrameKind::ALL {
            let header = Header { length: 65_536, kind: Some(kind), index: 0x0102, subscription: 0x0304_0506, time: 7 };
            assert_eq!(Header::parse(&header.to_bytes()).unwrap(), header);
            assert_eq!(header.extent(), HEADER + 65_536);
        }
        let bytes = Header { index: 0x0102, ..Header::plain(FrameKind::Event) }.to_bytes();
        assert_eq!(bytes[..8], [0, 0, 0, 0, 25, 0, 2, 1]);
    }

    #[test]
    fn a_wrong_header_is_refused() {
        let header = |at: usize, byte: u8| {
            let mut bytes = Header::plain(FrameKind::Ping).to_bytes();
            bytes[at] = byte;
            Header::parse(&bytes)
        };
        assert!(header(2, 1).is_ok(), "65,536 bytes");
        for (at, byte) in [(2, 2), (3, 1), (4, 0), (4, 7), (4, 127), (5, 1)] {
            assert_eq!(header(at, byte).unwrap_err().code(), Code::Frame, "{at} {byte}");
        }
        assert_eq!(header(4, 128).unwrap().kind, None, "passed over");
    }

    #[test]
    fn a_frame_ends_at_a_multiple_of_16_from_its_beginning() {
        for length in [0, 1, 15, 16, 17] {
            let mut out = vec![9; 3];
            put(&mut out, Header::plain(FrameKind::Bye), |out| out.resize(out.len() + length, 1));
            let header = Header::parse(out[3..].first_chunk().unwrap()).unwrap();
            assert_eq!((header.length as usize, out.len() - 3), (length, header.extent()));
            assert!(out[3 + HEADER + length..].iter().all(|byte| *byte == 0));
        }
    }
}
