//! Shared keys that came with the ids of channels. A node with such a key is a guest: it may open only the channels that
//! this node has opened with such a key.

use super::{Links, Purpose};
use crate::access::Access;
use crate::credentials::Credentials;
use crate::keys::{ChannelKey, LinkKey, OpenKey};
use crate::shared::{KeyName, SharedKey};
use std::collections::HashMap;
use std::sync::Arc;

/// The keys of guests, and what they are for.
#[derive(Default)]
pub(crate) struct Guests {
    /// Those that the node's settings do not have.
    keys: Vec<SharedKey>,
    /// Attempts to open a channel with a key, and the name of the channel.
    opening: HashMap<OpenKey, (KeyName, String)>,
    channels: HashMap<ChannelKey, KeyName>,
}

impl<B> Links<B> {
    /// A channel of this name is being opened with a key.
    pub(crate) fn open_with_key(&mut self, open: OpenKey, name: &str, key: SharedKey) {
        let guests = &mut self.guests;
        guests.opening.insert(open, (key.name(), name.into()));
        if !self.settings.access.keys.contains(&key) && !guests.keys.contains(&key) {
            guests.keys.push(key);
            self.renew_access();
        }
    }

    /// An attempt is over. Its key is then for the channel, if there is one.
    pub(crate) fn opened_with_key(&mut self, open: OpenKey, channel: Option<ChannelKey>) {
        let Some((key, _)) = self.guests.opening.remove(&open) else { return };
        if let Some(channel) = channel {
            self.guests.channels.insert(channel, key);
        }
        self.forget_guests();
    }

    /// A channel was closed.
    pub(crate) fn closed_with_key(&mut self, channel: ChannelKey) {
        if self.guests.channels.remove(&channel).is_some() {
            self.forget_guests();
        }
    }

    /// Forgets the keys that are for nothing any more.
    fn forget_guests(&mut self) {
        let Guests { keys, opening, channels } = &mut self.guests;
        let count = keys.len();
        keys.retain(|key| {
            opening.values().any(|(name, _)| *name == key.name()) || channels.values().any(|name| *name == key.name())
        });
        if keys.len() != count {
            self.renew_access();
        }
    }

    fn renew_access(&mut self) {
        let Access { keys, admission } = &self.settings.access;
        let keys = keys.iter().chain(&self.guests.keys).cloned().collect();
        self.access = Arc::new(Access { keys, admission: admission.clone() });
    }

    /// The key that is offered first to a node that is dialed for this purpose.
    pub(super) fn key_for(&self, purpose: Purpose) -> Option<KeyName> {
        match purpose {
            Purpose::Open(open) => self.guests.opening.get(&open).map(|(key, _)| *key),
            Purpose::Meet(channel) => self.guests.channels.get(&channel).copied(),
            Purpose::Resume(link) => self.all.get(link)?.credentials.key,
        }
    }

    /// Whether the node at the other end of a link may open a channel.
    pub(crate) fn lets_open(&self, link: LinkKey, channel: Option<ChannelKey>, name: &str) -> bool {
        let guests = &self.guests;
        let is_for_guests = channel.is_some_and(|channel| guests.channels.contains_key(&channel))
            || guests.opening.values().any(|(_, opening)| opening == name);
        is_for_guests || !self.is_guest(&self.all[link].credentials)
    }

    /// Whether a node is admitted only because of such a key.
    fn is_guest(&self, credentials: &Credentials) -> bool {
        let without = Credentials { key: None, ..credentials.clone() };
        credentials.key.is_some_and(|name| self.guests.keys.iter().any(|key| key.name() == name))
            && self.settings.access.admission.expect(&without).is_err()
    }
}
