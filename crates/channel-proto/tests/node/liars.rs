//! Members who lie: they invent members, alter what others say of themselves, say old things again, and call
//! (`spec/channel.md`, "Announcements"). What a liar says costs a bounded number of dials, and pushes nobody out.

use super::invented;
use isoform_channel_proto::{
    Action, ChannelKey, ConnId, Credentials, DialKey, Identity, Key, Node, NodeId, Outgoing, Policy, Reach, Settings,
    Time, Wanted,
};
use isoform_core::{Code, Error};
use std::collections::BTreeMap;
use std::sync::Arc;

const CHANNEL: Identity = Identity([9; 16]);
const SOURCES: u32 = 1;
const SINKS: u32 = 2;
const CALL: u8 = 14;
const INTRODUCTIONS: usize = 4;

/// Nodes of which the first is honest, and each other one has a wire to it. The second one is followed by lies.
struct World {
    nodes: Vec<Node<Arc<[u8]>, Vec<u8>>>,
    channels: Vec<ChannelKey>,
    wires: Vec<[Vec<u8>; 2]>,
    /// Attempts of the first node to reach others.
    dials: Vec<(DialKey, String)>,
    now: Time,
    credentials: Credentials,
    /// Why input of a node was refused.
    refused: Vec<String>,
}

impl Drop for World {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.refused.is_empty(), "{:?}", self.refused);
    }
}

impl World {
    /// So many nodes, all of them members.
    fn new(count: usize) -> World {
        World::with(count, Credentials::default())
    }

    /// So many nodes, of which the first knows this of each other one.
    fn with(count: usize, credentials: Credentials) -> World {
        World::at(count, credentials, |number| vec![format!("test:{number}")])
    }

    /// The same, at these addresses.
    fn at(count: usize, credentials: Credentials, addresses: impl Fn(usize) -> Vec<String>) -> World {
        let node = |number: usize| {
            let settings =
                Settings { addresses: addresses(number), introductions: INTRODUCTIONS, ..Settings::default() };
            Node::new(Key::from_seed([number as u8 + 1; 32]), settings)
        };
        let nodes = (0..count).map(node).collect();
        let wires = vec![[Vec::new(), Vec::new()]; count];
        let mut world = World {
            nodes,
            channels: Vec::new(),
            wires,
            dials: Vec::new(),
            now: Time::ZERO,
            credentials,
            refused: Vec::new(),
        };
        world.channels.push(world.nodes[0].create(CHANNEL, "ticks", None).unwrap());
        for number in 1..count {
            let deadline = Time::from_secs(5);
            let open = world.nodes[number].open(world.now, &["test:0".into()], "ticks", None, deadline);
            world.run();
            let channel = world.nodes[number].opened(open).unwrap().unwrap();
            world.channels.push(channel);
        }
        world
    }

    fn run(&mut self) {
        for _ in 0..40 {
            for i in 0..self.nodes.len() {
                self.act_all(i);
            }
            for wire in 1..self.nodes.len() {
                for (end, node) in [(0, 0), (1, wire)] {
                    let bytes = std::mem::take(&mut self.wires[wire][end]);
                    let used =
                        self.nodes[node].receive(self.now, ConnId(wire as u64), &bytes).unwrap_or_else(|error| {
                            self.refused.push(error.to_string());
                            bytes.len()
                        });
                    let later = std::mem::replace(&mut self.wires[wire][end], bytes[used..].to_vec());
                    self.wires[wire][end].extend(later);
                }
            }
        }
    }

    fn act_all(&mut self, from: usize) {
        while let Some(action) = self.nodes[from].action() {
            self.act(from, action);
        }
    }

    /// One of the first two nodes says something, and the other one reads it.
    fn pass_on(&mut self, from: usize) {
        self.act_all(from);
        let bytes = std::mem::take(&mut self.wires[1][1 - from]);
        assert_eq!(self.nodes[1 - from].receive(self.now, ConnId(1), &bytes).unwrap(), bytes.len());
    }

    fn act(&mut self, from: usize, action: Action) {
        match action {
            Action::Dial(dial, address) if from == 0 => self.dials.push((dial, address)),
            Action::Dial(dial, address) if address != "test:0" => {
                self.nodes[from].dial_failed(self.now, dial, Error::new(Code::Unreachable).at(address));
            }
            Action::Dial(dial, _) => {
                let id = ConnId(from as u64);
                self.nodes[from].connected(self.now, id, Some(dial), Default::default());
                self.nodes[0].connected(self.now, id, None, self.credentials.clone());
            }
            Action::Write(id) | Action::Close(id) => {
                let mut out = Outgoing::default();
                self.nodes[from].output(self.now, id, &mut out);
                self.nodes[from].unwritten(id, 0);
                self.wires[id.0 as usize][usize::from(from == 0)].extend(out.to_vec());
            }
            _ => {}
        }
    }

    fn wait(&mut self, time: Time) {
        self.now += time;
        self.nodes.iter_mut().for_each(|node| node.tick(self.now));
        self.run();
    }

    /// The second node says something that no honest node says.
    fn lie(&mut self, kind: u8, payload: &[u8]) {
        self.wires[1][0].extend(invented::frame(kind, payload));
        self.run();
    }

    fn tell(&mut self, announcements: &[Vec<u8>]) {
        // In as many frames as that takes.
        for some in announcements.chunks(200) {
            self.wires[1][0].extend(invented::members(some));
        }
        self.run();
    }

    /// How the honest node stands with the others.
    fn known(&self) -> Vec<(NodeId, Vec<String>, Reach)> {
        let info = self.nodes[0].info(self.channels[0]).unwrap();
        info.members.into_iter().skip(1).map(|member| (member.node, member.addresses, member.reach)).collect()
    }

    fn add_sink(&mut self) {
        self.nodes[0].add_sink(self.channels[0], Wanted::any(Policy::Block)).unwrap();
        self.run();
    }
}

/// What a node of the liar's own says of itself.
fn announcement(number: u32, count: u64, has: u32, address: &str) -> Vec<u8> {
    invented::announcement(CHANNEL, number, count, has, &[address])
}

fn id(number: u32) -> NodeId {
    let mut seed = [0xee; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    Key::from_seed(seed).id()
}

#[test]
fn members_that_others_tell_of_are_dialed_a_few_at_a_time() {
    let mut world = World::new(2);
    world.add_sink();
    let invent = |number| announcement(number, 1, SOURCES, &format!("tcp:10.0.0.1:{number}"));
    let invented: Vec<Vec<u8>> = (0..50).map(invent).collect();
    world.tell(&invented);
    for _ in 0..20 {
        world.wait(Time::from_millis(10));
    }
    // The places of another neighbour stay free.
    assert_eq!(world.dials.len(), INTRODUCTIONS / 2);
    for _ in 0..100 {
        let (dial, _) = world.dials.remove(0);
        world.nodes[0].dial_failed(world.now, dial, Error::new(Code::Unreachable));
        for _ in 0..2 {
            world.wait(Time::from_millis(200));
        }
        assert!((1..=INTRODUCTIONS / 2).contains(&world.dials.len()), "{}", world.dials.len());
    }
}

/// How often each address is dialed in ten seconds, if nobody is there.
fn dialed(world: &mut World) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for _ in 0..1_000 {
        for (dial, address) in std::mem::take(&mut world.dials) {
            *all.entry(address).or_default() += 1;
            world.nodes[0].dial_failed(world.now, dial, Error::new(Code::Unreachable));
        }
        world.wait(Time::from_millis(10));
    }
    all
}

#[test]
fn an_address_that_many_invented_members_name_is_dialed_seldom() {
    let mut world = World::new(2);
    world.add_sink();
    let invent = |number| announcement(number, 1, SOURCES, &format!("tcp:10.0.0.1:{}", number % 5));
    world.tell(&(0..500).map(invent).collect::<Vec<_>>());
    for number in 0..200 {
        let mut payload = world.nodes[0].id().0.to_vec();
        payload.extend(8u64.to_le_bytes());
        invented::put(&mut payload, &announcement(1_000 + number, 1, SINKS, &format!("tcp:10.0.0.1:{}", number % 5)));
        world.lie(CALL, &payload);
    }
    let dialed = dialed(&mut world);
    assert_eq!(dialed.len(), 5, "{dialed:?}");
    assert!(dialed.values().all(|&count| count <= 10), "{dialed:?}");
}

#[test]
fn a_liar_that_invents_members_makes_a_node_dial_little() {
    let mut world = World::new(2);
    world.add_sink();
    let invent = |number| announcement(number, 1, SOURCES, &format!("tcp:10.0.0.1:{number}"));
    world.tell(&(0..1_000).map(invent).collect::<Vec<_>>());
    let count: usize = dialed(&mut world).values().sum();
    assert!((256..=256 + 10 * 16 + INTRODUCTIONS).contains(&count), "{count}");
}

#[test]
fn members_that_cut_their_links_make_a_node_dial_few_of_the_addresses_that_they_name() {
    const MEMBERS: usize = 20;
    let addresses = |number: usize| (0..190).map(|port| format!("tcp:10.0.{number}.1:{port}")).collect();
    let mut world = World::at(1 + MEMBERS, Credentials::default(), addresses);
    (1..=MEMBERS).for_each(|number| world.nodes[0].closed(world.now, ConnId(number as u64), None));
    let mut all = BTreeMap::<String, usize>::new();
    for _ in 0..90 {
        world.now += Time::from_millis(100);
        world.nodes[0].tick(world.now);
        // Somebody listens there, but says nothing that a node says.
        for _ in 0..20 {
            world.act_all(0);
            for (dial, address) in std::mem::take(&mut world.dials) {
                *all.entry(address).or_default() += 1;
                world.nodes[0].dial_failed(world.now, dial, Error::new(Code::Handshake));
            }
        }
    }
    assert_eq!(all.len(), 8 * MEMBERS, "{all:?}");
    let count: usize = all.values().sum();
    assert!((1_024..=1_024 + 10 * 64).contains(&count), "{count}");
}

#[test]
fn members_that_cut_their_links_are_dialed_where_they_were_reached_as_often_as_they_may_connect() {
    const MEMBERS: usize = 60;
    let mut world = World::new(1 + MEMBERS);
    // Each is reached where it says, since it does not come back itself.
    for number in 1..=MEMBERS {
        let id = ConnId(number as u64);
        [0, number].into_iter().for_each(|node| world.nodes[node].closed(world.now, id, None));
        while world.nodes[number].action().is_some() {}
        world.wires[number] = Default::default();
    }
    world.now += Time::from_secs(1);
    world.nodes[0].tick(world.now);
    world.act_all(0);
    for (dial, address) in std::mem::take(&mut world.dials) {
        let number: usize = address.strip_prefix("test:").unwrap().parse().unwrap();
        let id = ConnId(number as u64);
        world.nodes[0].connected(world.now, id, Some(dial), Credentials::default());
        world.nodes[number].connected(world.now, id, None, Credentials::default());
    }
    world.run();

    (1..=MEMBERS).for_each(|number| world.nodes[0].closed(world.now, ConnId(number as u64), None));
    let mut counts = BTreeMap::<String, usize>::new();
    for _ in 0..180 {
        world.now += Time::from_millis(50);
        world.nodes[0].tick(world.now);
        world.act_all(0);
        for (dial, address) in std::mem::take(&mut world.dials) {
            *counts.entry(address).or_default() += 1;
            world.nodes[0].dial_failed(world.now, dial, Error::new(Code::Handshake));
        }
    }
    assert_eq!(counts.len(), MEMBERS);
    let count: usize = counts.values().sum();
    assert!((4_096..=4_096 + 10 * 16).contains(&count), "{count}");
}

#[test]
fn invented_members_do_not_keep_a_new_one_waiting_for_long() {
    let mut world = World::new(2);
    world.add_sink();
    // The liar chooses such ids that the honest one comes last in their order.
    let honest = (0..1_000).max_by_key(|&number| id(number)).unwrap();
    let invent = |number: u32| {
        let addresses: Vec<String> = (0..8).map(|port| format!("tcp:10.0.{number}.1:{port}")).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        invented::announcement(CHANNEL, number, 1, SOURCES, &addresses)
    };
    world.tell(&(0..1_000).filter(|&number| number != honest).map(invent).collect::<Vec<_>>());
    dialed(&mut world);
    // The liar's link passes on what an honest member says, too.
    world.tell(&[announcement(honest, 1, SOURCES, "test:100")]);
    let rounds = (0..9).position(|_| dialed(&mut world).contains_key("test:100"));
    assert!(rounds.is_some(), "not dialed within 90 seconds");
}

#[test]
fn a_path_is_dialed_only_if_someone_on_this_machine_names_it() {
    for local_user in [None, Some(7)] {
        let mut world = World::with(2, Credentials { local_user, ..Credentials::default() });
        world.add_sink();
        world.tell(&[announcement(1, 1, SOURCES, "unix:/run/any")]);
        let mut payload = world.nodes[0].id().0.to_vec();
        payload.extend(8u64.to_le_bytes());
        invented::put(&mut payload, &announcement(2, 1, SINKS, "unix:/run/other"));
        world.lie(CALL, &payload);
        let dialed = dialed(&mut world);
        assert_eq!(dialed.len(), if local_user.is_some() { 2 } else { 0 }, "{dialed:?}");
    }
}

#[test]
fn nobody_speaks_for_another() {
    let mut world = World::new(2);
    let said = announcement(1, 5, SINKS, "test:100");
    for at in 0..said.len() {
        let mut altered = said.clone();
        altered[at] ^= 1;
        // An altered length of the list is no announcement at all.
        if !(128..132).contains(&at) {
            world.tell(&[altered]);
        }
    }
    world.wait(Time::from_secs(1));
    assert_eq!(world.known().len(), 1, "the liar itself: {:?}", world.known());
    world.tell(&[said]);
    world.wait(Time::from_secs(1));
    assert!(world.known().iter().any(|(node, addresses, _)| *node == id(1) && addresses == &["test:100"]));
}

/// The liar would get between two nodes if one of them dialed the liar's address to reach the other: the liar only had to pass
/// on what both say to prove themselves.
#[test]
fn a_member_is_dialed_only_where_it_has_said_itself_that_it_is_found() {
    let relayed = |said: &[u8]| {
        let at = said.windows(8).position(|bytes| bytes == b"test:100").unwrap();
        [&said[..at], b"test:900", &said[at + 8..]].concat()
    };
    let said = announcement(1, 5, SOURCES, "test:100");
    let call = |announcement: &[u8]| {
        let mut payload = Key::from_seed([1; 32]).id().0.to_vec();
        payload.extend(8u64.to_le_bytes());
        invented::put(&mut payload, announcement);
        payload
    };
    let mut world = World::new(2);
    world.add_sink();
    for lie in [relayed(&said), relayed(&announcement(1, 6, SOURCES, "test:100"))] {
        world.tell(std::slice::from_ref(&lie));
        world.lie(CALL, &call(&lie));
        world.wait(Time::from_secs(1));
        assert!(world.dials.is_empty(), "{:?}", world.dials);
    }
    // What it says itself holds.
    world.tell(std::slice::from_ref(&said));
    world.lie(CALL, &call(&said));
    world.wait(Time::from_secs(1));
    assert_eq!(world.dials.iter().map(|(_, address)| &**address).collect::<Vec<_>>(), ["test:100"]);
}

#[test]
fn an_old_announcement_is_ignored() {
    let mut world = World::new(2);
    world.tell(&[announcement(1, 5, SINKS, "test:100")]);
    world.tell(&[announcement(1, 4, SINKS, "test:200")]);
    world.wait(Time::from_secs(1));
    let known = world.known();
    assert!(known.iter().any(|(node, addresses, _)| *node == id(1) && addresses == &["test:100"]), "{known:?}");
    // It has left, and what it said before does not bring it back.
    world.tell(&[announcement(1, 6, 4, "test:100")]);
    world.tell(&[announcement(1, 5, SINKS, "test:100")]);
    world.wait(Time::from_secs(1));
    assert_eq!(world.known().len(), 1);
}

#[test]
fn invented_members_push_nobody_out() {
    let mut world = World::new(4);
    world.wait(Time::from_secs(1));
    let before: Vec<NodeId> = world.known().into_iter().map(|(node, ..)| node).collect();
    assert_eq!(before.len(), 3);
    for number in 0..100 {
        let lies = |at: u32| announcement(100 * number + at, 1, SINKS, "test:100");
        world.tell(&(0..20).map(lies).collect::<Vec<_>>());
        world.wait(Time::from_millis(100));
    }
    let after: Vec<NodeId> = world.known().into_iter().map(|(node, ..)| node).collect();
    assert!(before.iter().all(|node| after.contains(node)), "{after:?}");
    assert!(after.len() <= 3 + 32, "{}", after.len());
}

#[test]
fn calls_make_a_node_dial_only_a_few() {
    let mut world = World::new(2);
    for number in 0..50 {
        let mut payload = world.nodes[0].id().0.to_vec();
        payload.extend(8u64.to_le_bytes());
        invented::put(&mut payload, &announcement(number, 1, SINKS, &format!("tcp:10.0.0.1:{number}")));
        world.lie(CALL, &payload);
        let last = payload.len() - 1;
        payload[last] ^= 1;
        world.lie(CALL, &payload);
    }
    assert_eq!(world.dials.len(), INTRODUCTIONS);
}

#[test]
fn a_member_that_cannot_be_reached_is_reported_with_its_address_and_the_reason() {
    let mut world = World::new(2);
    let sink = world.nodes[0].add_sink(world.channels[0], Wanted::any(Policy::Block)).unwrap();
    world.tell(&[announcement(1, 1, SOURCES, "tcp:10.0.0.1:7000")]);
    for _ in 0..30 {
        for (dial, address) in std::mem::take(&mut world.dials) {
            let error = Error::new(Code::Unreachable).at(address).found("connection refused");
            world.nodes[0].dial_failed(world.now, dial, error);
        }
        world.wait(Time::from_millis(200));
    }
    let known = world.known();
    let missed = known.iter().find(|(node, ..)| *node == id(1)).unwrap();
    let Reach::Missed(error) = &missed.2 else { panic!("{known:?}") };
    assert!(error.to_string().contains("tcp:10.0.0.1:7000") && error.to_string().contains("refused"), "{error}");
    let mut batch = isoform_channel_proto::Batch::default();
    let mut told = 0;
    while world.nodes[0].take(world.now, sink, &mut batch) {
        for item in batch.items() {
            if let isoform_channel_proto::Item::Refused(_, error) = item {
                assert!(error.to_string().contains("tcp:10.0.0.1:7000"), "{error}");
                told += 1;
            }
        }
    }
    assert_eq!(told, 1);
}

#[test]
fn a_node_that_was_stopped_meanwhile_forgets_several_links_at_once() {
    let mut world = World::new(4);
    world.add_sink();
    for wire in 1..4 {
        world.nodes[0].closed(world.now, ConnId(wire), None);
    }
    // Behind the linger of all three links, and when the node announces itself anew.
    world.nodes[0].tick(world.now + Time::from_secs(60));
    assert!(world.known().iter().all(|(_, _, reach)| *reach != Reach::Linked));
}

#[test]
fn a_link_that_floods_a_node_with_frames_ends() {
    const PING: u8 = 2;
    let mut world = World::new(3);
    let pings = |count| invented::frame(PING, &[]).repeat(count);
    world.wires[2][0].extend(pings(10_000));
    world.wires[1][0].extend(pings(20_000));
    world.run();
    world.wait(Time::from_secs(1));
    world.wires[1][0].extend(pings(30_000));
    world.run();
    let expected =
        "requests of the nodes with one credential: expected at most 32768 frames at once, and 1024 in a second";
    assert!(world.refused.iter().any(|why| why.contains(expected)), "{:?}", world.refused);
    assert_eq!(std::mem::take(&mut world.refused).len(), 1);
}

#[test]
fn a_node_that_does_not_read_the_answers_to_slow_requests_loses_its_link() {
    const OPEN: u8 = 8;
    const UNSUBSCRIBE: u8 = 21;
    // Fewer than a node accepts in a second. So the unread answers are what ends the link.
    const A_SECOND: usize = 1_000;
    const SECONDS: u64 = 240;
    let open = [&[0; 8][..], &CHANNEL.0, b"\x05\0ticks"].concat();
    for (kind, payload) in [(OPEN, open), (UNSUBSCRIBE, vec![0; 8])] {
        let requests = invented::frame(kind, &payload).repeat(A_SECOND);
        let refused_after = |reads: bool| {
            let mut world = World::new(2);
            let node = &mut world.nodes[0];
            (1..=SECONDS).find_map(|second| {
                let now = world.now + Time::from_secs(second);
                node.tick(now);
                let mut rest = &requests[..];
                while !rest.is_empty() {
                    match node.receive(now, ConnId(1), rest) {
                        Ok(used) => rest = &rest[used..],
                        Err(error) => return Some((second, error)),
                    }
                }
                while let Some(action) = node.action() {
                    if let (Action::Write(id), true) = (action, reads) {
                        node.output(now, id, &mut Outgoing::default());
                        node.unwritten(id, 0);
                    }
                }
                None
            })
        };
        assert_eq!(refused_after(true), None, "kind {kind}");
        let (second, error) = refused_after(false).unwrap();
        let expected = "request: expected a node that reads the answers to its requests";
        assert!(error.code() == Code::Frame && error.to_string().contains(expected), "kind {kind}: {error}");
        assert!(second > 1, "the answers of one second are few");
    }
}

/// A frame for the subscription of this number.
fn about(subscription: u32, kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = invented::frame(kind, payload);
    frame[8..12].copy_from_slice(&subscription.to_le_bytes());
    frame
}

#[test]
fn earlier_events_count_as_others_that_do_not_come() {
    const STARTED: u8 = 24;
    let most = 1_u64 << 56;
    for (next, is_refused) in [(most - 1, false), (most, true), (1 << 63, true)] {
        let mut world = World::new(2);
        (0..2).for_each(|_| _ = world.nodes[1].add_source(world.channels[1], None).unwrap());
        world.run();
        let sink = world.nodes[0].add_sink(world.channels[0], Wanted::any(Policy::Block)).unwrap();
        // The sink; the offers; the Subscribes; and the Starteds, which the test changes.
        [0, 1, 0].into_iter().for_each(|from| world.pass_on(from));
        world.act_all(1);
        let (mut at, mut numbers) = (0, [1, next].into_iter());
        let bytes = &mut world.wires[1][0];
        while at < bytes.len() {
            let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            if bytes[at + 4] == STARTED {
                bytes[at + 16..at + 24].copy_from_slice(&numbers.next().unwrap().to_le_bytes());
            }
            at += 16 + length.next_multiple_of(16);
        }
        assert_eq!(numbers.next(), None);
        world.run();
        let refused = std::mem::take(&mut world.refused);
        assert_eq!(refused.len(), usize::from(is_refused), "{next}: {refused:?}");
        assert!(refused.iter().all(|error| error.contains("events on one link that do not come")), "{refused:?}");
        assert_eq!(world.nodes[0].counts(sink).earlier, if is_refused { 1 } else { 1 + next });
    }
}

#[test]
fn a_liar_cannot_make_the_counts_of_a_sink_overflow() {
    const GAP: u8 = 28;
    const SKIP: u8 = 33;
    const END: u8 = 29;
    const MOST: u64 = 1 << 56;
    let missing = |first: u64, count: u64| [&first.to_le_bytes()[..], &count.to_le_bytes(), &[1, 0]].concat();
    let end = |next: u64| [&next.to_le_bytes()[..], &[0; 6]].concat();
    let cases = [
        ([(GAP, missing(0, MOST / 2)), (SKIP, missing(0, MOST / 2))], (GAP, missing(0, 1))),
        ([(SKIP, missing(0, 1)), (GAP, missing(0, MOST - 1))], (SKIP, missing(0, 1))),
        ([(GAP, missing(0, 1)), (END, end(1))], (END, end(1 << 63))),
        ([(GAP, missing(0, 1)), (GAP, missing(0, 1))], (GAP, missing(0, 1 << 63))),
    ];
    for (at, (good, bad)) in cases.into_iter().enumerate() {
        let mut world = World::new(2);
        let sink = world.nodes[0].add_sink(world.channels[0], Wanted::any(Policy::Block)).unwrap();
        (0..3).for_each(|_| _ = world.nodes[1].add_source(world.channels[1], None).unwrap());
        world.run();
        for (subscription, (kind, payload)) in good.iter().enumerate() {
            world.wires[1][0].extend(about(subscription as u32, *kind, payload));
            world.run();
        }
        let before = world.nodes[0].counts(sink);
        assert!(world.refused.is_empty() && before.lost + before.skipped >= 2, "case {at}: {before:?}");
        world.wires[1][0].extend(about(2, bad.0, &bad.1));
        world.run();
        let refused = std::mem::take(&mut world.refused);
        let expected = format!("gap: expected at most {MOST} events on one link that do not come");
        assert!(refused.len() == 1 && refused[0].contains(&expected), "case {at}: {refused:?}");
        assert_eq!(world.nodes[0].counts(sink), before, "case {at}: what is refused is not counted");
    }
}
