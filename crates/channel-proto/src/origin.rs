//! Where events were first submitted (`spec/channel.md`, "Subscriptions").

use crate::keys::NodeId;
use crate::memory::Draft;
use crate::wire::{LAST_SEQUENCE, Reader};
use isoform_core::{Code, Error, Result};

/// The place where an event was first submitted, if a relay has submitted it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The node of its first source.
    pub node: NodeId,
    /// The number of that source at its node.
    pub source: u32,
    /// The number of the event at that source.
    pub sequence: u64,
}

impl Origin {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.node.0);
        out.extend(u64::from(self.source).to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
    }

    pub(crate) fn parse(fields: &mut Reader<'_>) -> Result<Origin> {
        let (node, source, _) = (NodeId(fields.array()?), fields.u32()?, fields.u32()?);
        let sequence = fields.u64()?;
        if sequence > LAST_SEQUENCE {
            return Err(Error::new(Code::Frame).at("origin").expected("the number of an event").found(sequence));
        }
        Ok(Origin { node, source, sequence })
    }
}

/// A draft of an event that comes from elsewhere.
pub struct Relayed<D> {
    /// Its body.
    pub draft: D,
    /// Where it was first submitted.
    pub origin: Origin,
}

impl<B, D: Draft<B>> Draft<B> for Relayed<D> {
    fn length(&self) -> usize {
        self.draft.length()
    }

    fn pieces(&self, each: &mut dyn FnMut(&[u8])) {
        self.draft.pieces(each);
    }

    fn contiguous(&self) -> Option<&[u8]> {
        self.draft.contiguous()
    }

    fn share(&mut self) -> B {
        self.draft.share()
    }

    fn is_shared(&self) -> bool {
        self.draft.is_shared()
    }

    fn origin(&self) -> Option<Origin> {
        Some(self.origin)
    }
}
