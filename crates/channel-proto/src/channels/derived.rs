//! Derived channels: what a query gives of a channel, under a name of its own, which this node gives away in answer to an
//! Open (`spec/channel.md`, "Derived channels"). The query is for the sinks of those who open it; nothing is evaluated here.

use super::{Channel, Channels};
use crate::keys::{ChannelKey, Identity, check_name};
use isoform_core::{Code, Error, Result};
use isoform_query::Query;

/// A channel; or what a query gives of it.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The channel.
    pub channel: ChannelKey,
    /// The query that its sinks have, or that is in front of theirs.
    pub query: Option<Query>,
}

impl Channels {
    /// Gives a name to what a query gives of a channel.
    pub(crate) fn name_derived(&mut self, key: ChannelKey, name: &str, query: Query) -> Result<()> {
        self.expect(key)?;
        self.expect_free(name)?;
        self.derived.insert(name.into(), Derived { channel: key, query: Some(query) });
        Ok(())
    }

    /// Takes such a name back.
    pub(crate) fn forget_derived(&mut self, name: &str) {
        self.derived.remove(name);
    }

    /// A name can be that of a new channel.
    pub(super) fn expect_free(&self, name: &str) -> Result<()> {
        check_name(name)?;
        if self.derived.contains_key(name) || self.all.iter().any(|(_, channel)| channel.name == name) {
            let error = Error::new(Code::Taken).at("channel's name");
            return Err(error.expected("a name that no channel of this node has").found(format_args!("{name:?}")));
        }
        Ok(())
    }

    /// What has a name here, and belongs to a channel of this identity if one is given. An identity alone leads to its channel, whatever
    /// its name is.
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
