//! Offers: the sources of a channel to which this node's sinks may subscribe.

use crate::keys::{LinkKey, NodeId, SourceKey, SourceRef};
use isoform_core::{Error, Format};

/// A source that this node's sinks may subscribe to.
#[derive(Clone)]
pub(crate) struct Offer {
    pub(crate) origin: Place,
    pub(crate) node: NodeId,
    pub(crate) source: SourceRef,
    /// The format of all its events, if it was declared.
    pub(crate) format: Option<Format>,
    /// Why its node lets no sink of this node subscribe.
    pub(crate) refused: Option<Error>,
    /// The epoch in which it was last offered.
    pub(crate) epoch: u64,
}

/// The place of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// At another node, under this number.
    Link(LinkKey, u32),
    /// At this node.
    Here(SourceKey),
}

impl Place {
    /// The link behind which it is.
    pub(crate) fn link(self) -> Option<LinkKey> {
        if let Place::Link(link, _) = self { Some(link) } else { None }
    }
}
