//! The rules of a node, for the nodes that it has links with.

use super::Links;
use crate::keys::LinkKey;
use crate::rights::Right;
use isoform_core::{Code, Error, Result};

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

/// The code and the text that another node is told of an error. It learns which right it lacks, but not what the rules
/// say.
pub(crate) fn told(error: &Error) -> (u16, String) {
    let text = match error.code() {
        Code::Forbidden => Error::new(Code::Forbidden).at(error.path()).expected(error.expectation()).to_string(),
        _ => error.to_string(),
    };
    (error.code() as u16, text)
}
