//! What a node tells of itself once both sides of a connection have proven who they are (`spec/channel.md`, "Handshake").

use crate::wire::{Reader, put_texts};
use isoform_core::Result;
use std::time::Duration;

/// The most bytes of addresses. Those that have no room are left out.
const ADDRESSES: usize = 4096;

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
    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Terms> {
        let (ended, formats) = (fields.u64()?, fields.u32()?.clamp(1, u32::from(u16::MAX)));
        let silence = Duration::from_millis(fields.u32()?.max(100).into());
        let (subscriptions, bodies) = (fields.u32()?, fields.u32()?);
        Ok(Terms { ended, formats, silence, subscriptions, bodies, addresses: fields.texts()? })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.ended.to_le_bytes());
        out.extend(self.formats.to_le_bytes());
        out.extend(u32::try_from(self.silence.as_millis()).unwrap_or(u32::MAX).to_le_bytes());
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

    #[test]
    fn as_many_addresses_as_there_is_room_for_are_told() {
        for count in [0, 1, 3, 10_000] {
            let addresses: Vec<String> = (0..count).map(|i| format!("tcp:127.0.0.1:{i}")).collect();
            let silence = Duration::from_secs(10);
            let terms = Terms { ended: 7, formats: 1024, silence, subscriptions: 5, bodies: 6, addresses };
            let mut out = Vec::new();
            terms.put(&mut out);
            let read = Terms::parse(&mut Reader::new(&out, "terms")).unwrap();
            assert!(terms.addresses.starts_with(&read.addresses));
            assert!(read.addresses.len() == count.min(read.addresses.len().max(100)), "{}", read.addresses.len());
            assert_eq!(Terms { addresses: Vec::new(), ..read }, Terms { addresses: Vec::new(), ..terms });
        }
    }
}
