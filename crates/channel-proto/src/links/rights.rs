//! The rules of a node, for the nodes that it has links with.

use super::Links;
use crate::keys::LinkKey;
use crate::rights::Right;
use isoform_core::{Error, Result};

impl<B> Links<B> {
    /// Checks that the node at the other end of a link has a right on the channel of this name. A refusal is counted.
    pub(crate) fn expect_right(&mut self, link: LinkKey, right: Right, channel: &str) -> Result<()> {
        let forbidden = self.forbidden(link, right, channel);
        forbidden.iter().for_each(|error| self.refusals.note(error));
        forbidden.map_or(Ok(()), Err)
    }

    /// Whether it has the right. Nothing is counted.
    pub(crate) fn may(&self, link: LinkKey, right: Right, channel: &str) -> bool {
        self.forbidden(link, right, channel).is_none()
    }

    /// Why it does not have the right. Nothing is counted.
    pub(crate) fn forbidden(&self, link: LinkKey, right: Right, channel: &str) -> Option<Error> {
        self.settings.rights.as_ref()?.expect(&self.all[link].credentials, right, channel).err()
    }
}
