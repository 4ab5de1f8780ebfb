//! A node to which others come, each over a connection of its own.

use isoform_channel_proto::{Action, ChannelKey, ConnId, Credentials, Identity, Key, Node, Outgoing, Settings, Time};
use isoform_core::Result;
use std::sync::Arc;

pub(crate) type Machine = Node<Arc<[u8]>, Vec<u8>>;

pub(crate) const CHANNEL: Identity = Identity([9; 16]);

/// A node with a channel. Its time passes when the test says so.
pub(crate) struct Host {
    pub(crate) node: Machine,
    pub(crate) channel: ChannelKey,
    pub(crate) now: Time,
    guests: u8,
}

/// A node that has opened the host's channel.
pub(crate) struct Guest {
    pub(crate) node: Machine,
    pub(crate) id: ConnId,
    pub(crate) channel: ChannelKey,
}

fn node(number: u8, settings: Settings) -> Machine {
    Node::new(Key::from_seed([number; 32]), Settings { addresses: vec![format!("test:{number}")], ..settings })
}

impl Host {
    pub(crate) fn new(settings: Settings) -> Host {
        let mut node = node(200, settings);
        let channel = node.create(CHANNEL, "ticks", None).unwrap();
        Host { node, channel, now: Time::from_secs(1), guests: 0 }
    }

    /// Another node comes. The first one has the key of the seed 1.
    pub(crate) fn guest(&mut self, settings: Settings) -> Guest {
        self.guests += 1;
        let (id, mut node) = (ConnId(self.guests.into()), node(self.guests, settings));
        let open = node.open(self.now, &["test:200".into()], "ticks", None, self.now + Time::from_secs(5));
        let Some(Action::Dial(dial, _)) = node.action() else { panic!("somebody is dialed") };
        node.connected(self.now, id, Some(dial), Credentials::default());
        self.node.connected(self.now, id, None, Credentials::default());
        let mut guest = Guest { node, id, channel: ChannelKey(0) };
        self.talk(&mut guest).unwrap();
        guest.channel = guest.node.opened(open).unwrap().unwrap();
        guest
    }

    /// Carries bytes until neither has more to say. An error is what the host has against the guest.
    pub(crate) fn talk(&mut self, guest: &mut Guest) -> Result<()> {
        for _ in 0..10 {
            let said = output(&mut guest.node, self.now, guest.id);
            assert_eq!(self.node.receive(self.now, guest.id, &said)?, said.len());
            let said = output(&mut self.node, self.now, guest.id);
            assert_eq!(guest.node.receive(self.now, guest.id, &said).unwrap(), said.len());
        }
        Ok(())
    }
}

/// All that a node has to say over a connection.
pub(crate) fn output(node: &mut Machine, now: Time, id: ConnId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let mut out = Outgoing::default();
        node.output(now, id, &mut out);
        all.extend(out.to_vec());
        node.unwritten(id, 0);
        if node.waiting(id) == 0 {
            return all;
        }
    }
}
