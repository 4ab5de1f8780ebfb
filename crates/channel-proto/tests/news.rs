//! A sink that takes nothing is told of sources that come and go: how much of that it keeps, and who answers for it.
#![forbid(unsafe_code)]

use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Credentials, Identity, Item, Key, Node, Outgoing, Policy, Settings, SinkKey,
    SourceKey, Time, Wanted,
};
use isoform_core::{Code, Result};
use std::sync::Arc;

type Machine = Node<Arc<[u8]>, Vec<u8>>;

const NOW: Time = Time::ZERO;

/// A node with a channel and a sink, to which guests come.
struct Host {
    node: Machine,
    channel: ChannelKey,
    sink: SinkKey,
    guests: u8,
    now: Time,
}

/// A node that has opened the host's channel.
struct Guest {
    node: Machine,
    id: ConnId,
    channel: ChannelKey,
}

fn node(number: u8) -> Machine {
    let addresses = vec![format!("test:{number}")];
    Node::new(Key::from_seed([number; 32]), Settings { addresses, ..Settings::default() })
}

impl Host {
    fn new() -> Host {
        let mut node = node(200);
        let channel = node.create(Identity([9; 16]), "ticks", None).unwrap();
        let sink = node.add_sink(channel, Wanted::any(Policy::Block)).unwrap();
        Host { node, channel, sink, guests: 0, now: NOW }
    }

    /// Another node comes, over a connection of its own.
    fn guest(&mut self) -> Guest {
        self.guests += 1;
        let id = ConnId(self.guests.into());
        let mut node = node(self.guests);
        let open = node.open(NOW, &["test:200".into()], "ticks", None, Time::from_secs(5));
        let Some(Action::Dial(dial, _)) = node.action() else { panic!("somebody is dialed") };
        node.connected(NOW, id, Some(dial), Credentials::default());
        self.node.connected(NOW, id, None, Credentials::default());
        self.talk(&mut node, id).unwrap();
        let channel = node.opened(open).unwrap().unwrap();
        Guest { node, id, channel }
    }

    /// Carries bytes for a second, until neither has more to say. An error is what the host has against the guest.
    fn talk(&mut self, guest: &mut Machine, id: ConnId) -> Result<()> {
        self.now += Time::from_secs(1);
        for _ in 0..10 {
            let said = output(guest, id);
            assert_eq!(self.node.receive(self.now, id, &said)?, said.len());
            let said = output(&mut self.node, id);
            assert_eq!(guest.receive(self.now, id, &said).unwrap(), said.len());
        }
        Ok(())
    }

    /// A guest's sources come and go until the host has enough of it.
    fn be_told_too_much(&mut self, guest: &mut Guest) -> Code {
        for _ in 0..1_000 {
            let add = |node: &mut Machine| node.add_source(guest.channel, None).unwrap();
            let sources: Vec<SourceKey> = (0..1_000).map(|_| add(&mut guest.node)).collect();
            for _ in 0..2 {
                if let Err(error) = self.talk(&mut guest.node, guest.id) {
                    return error.code();
                }
                sources.iter().for_each(|&source| drop(guest.node.drop_source(source)));
            }
        }
        panic!("the host has never enough");
    }

    /// What the sink is told, all of which it takes.
    fn take(&mut self) -> Vec<Item> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.node.take(NOW, self.sink, &mut batch) {
            items.extend(batch.items());
        }
        items
    }
}

fn output(node: &mut Machine, id: ConnId) -> Vec<u8> {
    let mut all = Vec::new();
    while node.waiting(id) > 0 {
        let mut out = Outgoing::default();
        node.output(NOW, id, &mut out);
        all.extend(out.to_vec());
        node.unwritten(id, 0);
    }
    all
}

#[test]
fn a_link_does_not_answer_for_one_that_was_there_before() {
    let mut host = Host::new();
    let mut first = host.guest();
    assert_eq!(host.be_told_too_much(&mut first), Code::Frame);
    let mut second = host.guest();
    let source = second.node.add_source(second.channel, None).unwrap();
    for _ in 0..2 {
        host.talk(&mut second.node, second.id).unwrap();
        second.node.ask(second.channel, Time::ZERO);
    }
    host.take();
    host.talk(&mut second.node, second.id).unwrap();
    assert_eq!(second.node.listeners(source), 1);
}

#[test]
fn guests_one_after_another_tell_a_sink_no_more_than_a_single_one() {
    let mut host = Host::new();
    let mut first = host.guest();
    host.be_told_too_much(&mut first);
    for _ in 0..3 {
        let mut guest = host.guest();
        for _ in 0..5 {
            let sources: Vec<SourceKey> =
                (0..1_000).map(|_| guest.node.add_source(guest.channel, None).unwrap()).collect();
            host.talk(&mut guest.node, guest.id).unwrap();
            assert!(
                sources.iter().all(|&source| guest.node.listeners(source) == 0),
                "the sink hears of nobody further"
            );
            sources.iter().for_each(|&source| drop(guest.node.drop_source(source)));
            host.talk(&mut guest.node, guest.id).unwrap();
        }
        guest.node.leave();
        let _ = host.talk(&mut guest.node, guest.id);
    }
    let told = host.take();
    let of_first = |item: &Item| !matches!(item, Item::Joined(_, node, ..) if *node != Key::from_seed([1; 32]).id());
    assert!(told.iter().all(of_first), "of {} items", told.len());
}

#[test]
fn sources_that_were_put_off_are_heard_of_once_the_sink_takes() {
    let mut host = Host::new();
    let mut first = host.guest();
    host.be_told_too_much(&mut first);
    let mut second = host.guest();
    let sources: Vec<SourceKey> = (0..3).map(|_| second.node.add_source(second.channel, None).unwrap()).collect();
    host.talk(&mut second.node, second.id).unwrap();
    second.node.drop_source(sources[1]);
    host.talk(&mut second.node, second.id).unwrap();
    assert_eq!(sources.iter().map(|&source| second.node.listeners(source)).sum::<usize>(), 0);
    host.take();
    host.talk(&mut second.node, second.id).unwrap();
    assert_eq!([sources[0], sources[2]].map(|source| second.node.listeners(source)), [1, 1]);
    let joined = host.take();
    assert!(joined.iter().all(|item| matches!(item, Item::Joined(..))) && joined.len() == 2, "{joined:?}");
    let later = second.node.add_source(second.channel, None).unwrap();
    host.talk(&mut second.node, second.id).unwrap();
    assert_eq!(second.node.listeners(later), 1);
}

#[test]
fn a_sink_that_had_put_off_others_gets_a_source_once_that_was_offered_anew_meanwhile() {
    let mut host = Host::new();
    let mut near = host.guest();
    let source = near.node.add_source(near.channel, None).unwrap();
    host.talk(&mut near.node, near.id).unwrap();
    let mut first = host.guest();
    host.be_told_too_much(&mut first);
    let mut second = host.guest();
    second.node.add_source(second.channel, None).unwrap();
    host.talk(&mut second.node, second.id).unwrap();
    // Another sink is refused, and asks for less: for its sake the source is offered anew, behind the one that was put off.
    let wanted = Wanted { must: true, ..Wanted::any(Policy::Block) };
    let other = host.node.add_sink(host.channel, wanted).unwrap();
    host.talk(&mut near.node, near.id).unwrap();
    assert_eq!(near.node.listeners(source), 1);
    host.node.set_policy(other, Policy::Latest, false);
    host.take();
    host.talk(&mut near.node, near.id).unwrap();
    assert_eq!(near.node.listeners(source), 2, "one subscription for each sink");
}
