//! What a node tells of itself once both sides of a connection have proven who they are (`spec/channel.md`, "Handshake").

use crate::wire::{Reader, put_texts};
use isoform_core::{Code, Error, Result};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The most bytes of addresses, with two for the length of each. Addresses beyond it are left out.
const ADDRESSES: usize = 4096;
/// The possible numbers of formats that a node keeps. With fewer, a source would describe a large format with each small event.
pub(crate) const FORMATS: RangeInclusive<u32> = 64..=u16::MAX as u32;
/// The shortest silence that a node may state, in milliseconds.
const SILENCE: u32 = 100;

/// The limits of a node, which hold for an epoch, and where it can be dialed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    /// The last epoch of the two nodes' link that the sender has seen end.
    pub(crate) ended: u64,
    /// The number of formats that the sender keeps at a time.
    pub(crate) formats: u32,
    /// The silence after which the sender takes the other node for dead.
    pub(crate) silence: Duration,
    /// The number of subscriptions that the sender allows on this link.
    pub(crate) subscriptions: u32,
    /// How many mebibytes of bodies that are longer than their windows may be under way to the sender together. One may be,
    /// whatever its length.
    pub(crate) bodies: u32,
    /// Where the sender says that it can be dialed.
    pub(crate) addresses: Vec<String>,
}

impl Terms {
    /// # Errors
    /// [`Code::Handshake`] if a limit is out of its range.
    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Terms> {
        let (ended, formats, silence) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let (subscriptions, bodies, addresses) = (fields.u32()?, fields.u32()?, fields.texts()?);
        if !FORMATS.contains(&formats) {
            let expected = format_args!("{} to {} formats", FORMATS.start(), FORMATS.end());
            return Err(Error::new(Code::Handshake).at("terms").expected(expected).found(formats));
        }
        if silence < SILENCE {
            let expected = format_args!("a silence of at least {SILENCE} ms");
            return Err(Error::new(Code::Handshake).at("terms").expected(expected).found(silence));
        }
        let length: usize = addresses.iter().map(|address| 2 + address.len()).sum();
        if length > ADDRESSES {
            let expected = format_args!("addresses of at most {ADDRESSES} bytes");
            return Err(Error::new(Code::Handshake).at("terms").expected(expected).found(length));
        }
        let silence = Duration::from_millis(silence.into());
        Ok(Terms { ended, formats, silence, subscriptions, bodies, addresses })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.ended.to_le_bytes());
        out.extend(self.formats.to_le_bytes());
        let silence = u32::try_from(self.silence.as_millis()).unwrap_or(u32::MAX).max(SILENCE);
        out.extend(silence.to_le_bytes());
        out.extend(self.subscriptions.to_le_bytes());
        out.extend(self.bodies.to_le_bytes());
        let mut room = ADDRESSES;
        let fits = |address: &&String| match room.checked_sub(2 + address.len()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        let known = self.addresses.iter().take_while(fits).count();
        put_texts(out, &self.addresses[..known]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(addresses: Vec<String>) -> Terms {
        let silence = Duration::from_secs(10);
        Terms { ended: 7, formats: 1024, silence, subscriptions: 5, bodies: 6, addresses }
    }

    #[test]
    fn limits_out_of_their_range_are_refused() {
        let parse = |bytes: &[u8]| Terms::parse(&mut Reader::new(bytes, "terms"));
        let mut valid = Vec::new();
        terms(vec!["a".repeat(2046), "b".repeat(2046)]).put(&mut valid);
        assert_eq!(parse(&valid).unwrap().addresses.len(), 2, "4,096 bytes of addresses");
        let changed = |at: usize, value: u32| {
            let mut bytes = valid.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&bytes).map(|_| ()).map_err(|error| error.code())
        };
        assert_eq!([64, 65_535].map(|formats| changed(8, formats)), [Ok(()); 2]);
        assert_eq!([63, 65_536].map(|formats| changed(8, formats)), [Err(Code::Handshake); 2]);
        assert_eq!([100, 99].map(|silence| changed(12, silence)), [Ok(()), Err(Code::Handshake)]);
        // The length of the second address, and one byte more.
        let mut longer = valid.clone();
        longer[26 + 2048..][..2].copy_from_slice(&2047u16.to_le_bytes());
        longer.push(b'b');
        assert_eq!(parse(&longer).unwrap_err().code(), Code::Handshake);
    }

    #[test]
    fn a_node_states_no_shorter_silence_than_others_accept() {
        let mut out = Vec::new();
        Terms { silence: Duration::ZERO, ..terms(Vec::new()) }.put(&mut out);
        assert_eq!(Terms::parse(&mut Reader::new(&out, "terms")).unwrap().silence, Duration::from_millis(100));
    }

    #[test]
    fn as_many_addresses_as_there_is_room_for_are_told() {
        for count in [0, 1, 3, 10_000] {
            let terms = terms((0..count).map(|i| format!("tcp:127.0.0.1:{i}")).collect());
            let mut out = Vec::new();
            terms.put(&mut out);
            let read = Terms::parse(&mut Reader::new(&out, "terms")).unwrap();
            assert!(terms.addresses.starts_with(&read.addresses));
            assert!(read.addresses.len() == count.min(read.addresses.len().max(100)), "{}", read.addresses.len());
            assert_eq!(Terms { addresses: Vec::new(), ..read }, Terms { addresses: Vec::new(), ..terms });
        }
    }
}
