//! Offers: the sources of a channel to which this node's sinks may subscribe.

use crate::keys::{LinkKey, NodeId, SourceKey, SourceRef};
use isoform_core::{Error, Format, Result};

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

impl Offer {
    /// Its number at its node.
    pub(crate) fn number(&self) -> u32 {
        match self.origin {
            Place::Link(_, number) => number,
            Place::Here(key) => key.0,
        }
    }
}

/// A source that a sink of this node can subscribe to.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Its number at this node.
    pub source: SourceRef,
    /// Its node.
    pub node: NodeId,
    /// Its number there.
    pub number: u32,
    /// The format of all records that the sink gets of it, if it has declared one. For a sink with a query, it is that of the
    /// results. An error says why the sink gets none.
    pub format: Result<Option<Format>>,
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
