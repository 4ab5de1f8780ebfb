//! Derived channels: names that this node has given to queries of its channels, and by which it answers an Open
//! (`spec/channel.md`, "Derived channels"). The node that opens one gets the query for its sinks; nothing is evaluated here.

use super::{Channel, Channels};
use crate::keys::{ChannelKey, Identity, check_name};
use isoform_core::{Code, Error, Result};
use isoform_query::Query;

/// A channel, or one that is derived from it by a query.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The channel.
    pub channel: ChannelKey,
    /// The query that its sinks have, or that stands in front of theirs; `None` for the channel itself.
    pub query: Option<Query>,
}

impl Channels {
    /// Gives a name to a query of a channel.
    pub(crate) fn name_derived(&mut self, key: ChannelKey, name: &str, query: Query) -> Result<()> {
        self.expect(key)?;
        self.expect_free(name)?;
        self.derived.insert(name.into(), Derived { channel: key, query: Some(query) });
        Ok(())
    }

    /// Takes a name back that was given to a query.
    pub(crate) fn forget_derived(&mut self, name: &str) {
        self.derived.remove(name);
    }

    /// Expects that a name can be that of a new channel: it is well formed, and no channel and no query here has it.
    pub(super) fn expect_free(&self, name: &str) -> Result<()> {
        check_name(name)?;
        if self.derived.contains_key(name) || self.all.iter().any(|(_, channel)| channel.name == name) {
            let error = Error::new(Code::Taken).at("channel's name");
            return Err(error.expected("a name that no channel of this node has").found(format_args!("{name:?}")));
        }
        Ok(())
    }

    /// The channel or derived channel that has this name here; with an identity, the one of that channel. If no derived channel has the name,
    /// an identity leads to its channel, whatever the name is.
    pub(super) fn find(&self, name: &str, identity: Option<Identity>) -> Option<Derived> {
        let is_it = |channel: &Channel| identity.is_none_or(|identity| channel.identity == identity);
        if let Some(derived) = self.derived.get(name).filter(|derived| is_it(&self.all[derived.channel])) {
            return Some(derived.clone());
        }
        let channel = match identity {
            Some(identity) => self.of(identity),
            None => self.all.iter().find(|(_, channel)| channel.name == name).map(|(key, _)| key),
        };
        channel.map(|channel| Derived { channel, query: None })
    }
}
