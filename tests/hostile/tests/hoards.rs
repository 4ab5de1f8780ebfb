//! Members and strangers who make a node keep as much as they can. What they take together is bounded, however many they
//! are, and members notice nothing (`spec/channel.md`, "Limits").

use isoform::core::{ByteOrder, Element, Field, Structure};
use isoform::{Code, Error, Format, Limits, Machine, Registry};
use isoform_channel_proto::{
    Action, Batch, Budgets, ChannelKey, ConnId, Credentials, FrameKind, HEADER, Header, Identity, Item, Key, Node,
    Outgoing, Policy, Reach, Resource, Settings, SinkKey, SourceKey, Submitted, Time, Wanted,
};
use isoform_hostile::memory::{Counting, measure};
use std::collections::BTreeMap;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Body = Arc<[u8]>;

const NAME: &str = "river";
const CHANNEL: Identity = Identity([9; 16]);

/// Nodes that hear each other. The first one is the victim; the others dial it. What strangers say themselves is said in
/// the names of these.
struct World {
    now: Time,
    nodes: Vec<Node<Body, Vec<u8>>>,
    /// The node that dialed each connection.
    wires: BTreeMap<u64, usize>,
    connections: u64,
    unused: BTreeMap<(u64, bool), Vec<u8>>,
    /// A node that is told nothing, since it does not know what is said in its name.
    deaf: Option<usize>,
    /// What it was told.
    told: Vec<u8>,
    errors: Vec<Error>,
    /// The victim's channel.
    channel: Option<ChannelKey>,
}

fn key(number: usize) -> Key {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
    Key::from_seed(seed)
}

impl World {
    fn new(settings: Settings) -> World {
        let victim = Node::new(key(0), Settings { addresses: vec!["test:victim".into()], ..settings });
        World {
            now: Time::from_secs(1),
            nodes: vec![victim],
            wires: BTreeMap::new(),
            connections: 0,
            unused: BTreeMap::new(),
            deaf: None,
            told: Vec::new(),
            errors: Vec::new(),
            channel: None,
        }
    }

    /// One more node, which demands to hear something in this time. Its key follows from the number.
    fn node(&mut self, number: usize, silence: Time) -> usize {
        self.nodes.push(Node::new(key(number), Settings { silence, ..Settings::default() }));
        self.nodes.len() - 1
    }

    fn stranger(&mut self, number: usize) -> usize {
        let node = self.node(number, Time::from_secs(10));
        self.dial(node);
        node
    }

    /// A node makes a link with the victim: it asks for a channel that is not there.
    fn dial(&mut self, node: usize) {
        let open =
            self.nodes[node].open(self.now, &["test:victim".into()], "nowhere", None, self.now + Time::from_secs(3));
        self.run();
        self.nodes[node].forget_open(open);
    }

    /// A node becomes a member of the victim's channel.
    fn member(&mut self, number: usize) -> (usize, ChannelKey) {
        let node = self.node(number, Time::from_secs(10));
        let open = self.nodes[node].open(self.now, &["test:victim".into()], NAME, None, self.now + Time::from_secs(3));
        self.run();
        let channel = self.nodes[node].opened(open).expect("an answer").expect("the channel");
        (node, channel)
    }

    fn wire_of(&self, node: usize) -> Option<ConnId> {
        self.wires.iter().rev().find(|(_, dialer)| **dialer == node).map(|(&wire, _)| ConnId(wire))
    }

    /// Says frames to the victim, in the name of a node. Whether its link is still there.
    fn say(&mut self, node: usize, frames: &[u8]) -> bool {
        let Some(wire) = self.wire_of(node) else { return false };
        self.receive(wire, true, frames);
        self.run();
        self.wire_of(node).is_some()
    }

    fn receive(&mut self, wire: ConnId, to_victim: bool, bytes: &[u8]) {
        let Some(&dialer) = self.wires.get(&wire.0) else { return };
        if !to_victim && self.deaf == Some(dialer) {
            return self.told.extend_from_slice(bytes);
        }
        let mut all = self.unused.remove(&(wire.0, to_victim)).unwrap_or_default();
        all.extend_from_slice(bytes);
        let node = &mut self.nodes[if to_victim { 0 } else { dialer }];
        match node.receive(self.now, wire, &all) {
            Ok(used) => {
                all.drain(..used);
                self.unused.insert((wire.0, to_victim), all);
            }
            Err(error) if to_victim => self.errors.push(error),
            Err(_) => {}
        }
    }

    fn run(&mut self) {
        while let Some((from, action)) = (0..self.nodes.len()).find_map(|i| Some((i, self.nodes[i].action()?))) {
            match action {
                Action::Dial(dial, address) if address == "test:victim" => {
                    self.connections += 1;
                    let id = ConnId(self.connections);
                    self.wires.insert(id.0, from);
                    self.nodes[from].connected(self.now, id, Some(dial), Credentials::default());
                    self.nodes[0].connected(self.now, id, None, Credentials::default());
                }
                Action::Dial(dial, _) => self.nodes[from].dial_failed(self.now, dial, Error::new(Code::Unreachable)),
                Action::Write(id) => self.carry(from, id),
                Action::Close(id) => {
                    self.carry(from, id);
                    self.hang_up(id, Some(from));
                }
                _ => {}
            }
        }
    }

    fn carry(&mut self, from: usize, id: ConnId) {
        let mut out = Outgoing::default();
        self.nodes[from].output(self.now, id, &mut out);
        self.nodes[from].unwritten(id, 0);
        self.receive(id, from != 0, &out.to_vec());
    }

    /// A connection breaks, for both or for all but one.
    fn hang_up(&mut self, id: ConnId, but: Option<usize>) {
        let Some(dialer) = self.wires.remove(&id.0) else { return };
        for end in [0, dialer] {
            self.unused.remove(&(id.0, end == 0));
            if but != Some(end) {
                self.nodes[end].closed(self.now, id, None);
            }
        }
    }

    fn pass(&mut self, time: Time) {
        self.now += time;
        let now = self.now;
        self.nodes.iter_mut().for_each(|node| node.tick(now));
        self.run();
    }

    /// The victim's channel, with a source, a sink that takes nothing, and a friend who listens.
    fn settle(&mut self) -> (SourceKey, SinkKey, usize, SinkKey) {
        let channel = self.nodes[0].create(CHANNEL, NAME, None).unwrap();
        self.channel = Some(channel);
        let source = self.nodes[0].add_source(channel, None).unwrap();
        let (friend, opened) = self.member(1);
        let listener = self.nodes[friend].add_sink(opened, Wanted::any(Policy::Block)).unwrap();
        self.run();
        let idle = self.nodes[0].add_sink(channel, Wanted::any(Policy::Block)).unwrap();
        self.run();
        (source, idle, friend, listener)
    }

    /// Asserts that what the victim submits reaches its friend at once.
    fn is_heard(&mut self, source: SourceKey, friend: usize, listener: SinkKey) {
        let submitted = self.nodes[0].submit(7, source, Some(&format(8)), &mut Body::from([1; 8])).unwrap();
        self.run();
        let Submitted::Done(number) = submitted else { panic!("{submitted:?}") };
        let (mut batch, mut came) = (Batch::default(), Vec::new());
        while self.nodes[friend].take(self.now, listener, &mut batch) {
            came.extend(batch.items().filter_map(|item| match item {
                Item::Event { sequence, .. } => Some(sequence),
                _ => None,
            }));
        }
        assert_eq!(came, [number]);
        self.run();
    }

    /// The windows, in bytes, of the subscriptions that the deaf node was told of.
    fn windows(&self) -> Vec<u64> {
        let (mut rest, mut windows) = (&self.told[..], Vec::new());
        while let Some(header) = rest.first_chunk().map(|header| Header::parse(header).expect("a frame")) {
            if header.kind == Some(FrameKind::Subscribe) {
                windows.push(u64::from_le_bytes(rest[HEADER + 24..HEADER + 32].try_into().expect("eight bytes")));
            }
            rest = &rest[header.extent()..];
        }
        windows
    }

    /// Their numbers.
    fn subscriptions(&self) -> Vec<u32> {
        let (mut rest, mut numbers) = (&self.told[..], Vec::new());
        while let Some(header) = rest.first_chunk().map(|header| Header::parse(header).expect("a frame")) {
            if header.kind == Some(FrameKind::Subscribe) {
                numbers.push(header.subscription);
            }
            rest = &rest[header.extent()..];
        }
        numbers
    }

    fn refused(&self, of: &str) -> u64 {
        let refusals = self.nodes[0].refusals().iter().filter(|refusal| refusal.last.contains(of));
        refusals.map(|refusal| refusal.count).sum()
    }
}

/// A format of so many fields, each of which takes much memory for few bytes. The name tells it from others.
fn large(number: usize, fields: usize) -> Format {
    let machine = Machine { order: ByteOrder::Little, pointer: 8 };
    let fields = (0..fields).map(|at| Field {
        name: format!("{at:x}").into(),
        element: Element::Boolean { size: 1 },
        dims: [].into(),
        indirect: false,
        offset: at,
        unit: None,
    });
    let fields: Vec<Field> = fields.collect();
    Format::new(Structure::new(format!("f{number}"), machine, fields.len(), 1, fields).unwrap().into()).unwrap()
}

fn format(size: usize) -> Format {
    large(0, size)
}

fn frame(kind: u8, index: u16, subscription: u32, payload: &[&[u8]]) -> Vec<u8> {
    let payload = payload.concat();
    let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
    frame.extend([kind, 0]);
    frame.extend(index.to_le_bytes());
    frame.extend(subscription.to_le_bytes());
    frame.extend([0; 4]);
    frame.extend(&payload);
    frame.resize(frame.len().next_multiple_of(16), 0);
    frame
}

fn describe(index: u16, format: &Format) -> Vec<u8> {
    frame(16, index, 0, &[format.description().as_bytes()])
}

fn offer(source: u32, index: u16) -> Vec<u8> {
    frame(17, index, 0, &[&CHANNEL.0, &source.to_le_bytes(), &[0; 4]])
}

/// A registry that forgets soon: what else keeps formats in memory shows.
fn settings() -> Settings {
    Settings { registry: Registry::within(Limits { formats: 16, ..Limits::default() }), ..Settings::default() }
}

const FIELDS: usize = 4000;
const MEBIBYTE: usize = 1 << 20;

#[test]
fn formats_that_offers_keep_alive_are_counted() {
    let mut world = World::new(settings());
    let (source, _, friend, listener) = world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    let (named, used) = measure(|| {
        (0..400).find(|&number| {
            let said = [describe(0, &large(number, FIELDS)), offer(number as u32, 0)].concat();
            !world.say(member, &said)
        })
    });
    assert!(named.is_some(), "it may go on without end");
    assert_eq!(world.errors[0].code(), Code::Budget, "{:?}", world.errors);
    assert_eq!(world.errors[0].path(), "formats of the nodes with one credential");
    assert!(used.peak < 80 * MEBIBYTE && used.kept < 20 * MEBIBYTE, "{used:?}");
    world.is_heard(source, friend, listener);
    assert_eq!(world.refused("formats of the nodes with one credential"), 1);
}

#[test]
fn formats_of_many_ids_share_the_budget_of_their_credential() {
    let mut world = World::new(settings());
    let (source, _, friend, listener) = world.settle();
    let mut said = 0;
    let (_, used) = measure(|| {
        for id in 0..58 {
            let (member, _) = world.member(2 + id);
            // So they may send that many frames.
            world.now += Time::from_secs(1);
            // About a mebibyte of descriptions.
            let formats = (0..14).map(|index| describe(index, &large(100 * id + usize::from(index), FIELDS)));
            said += formats
                .map(|format| (format.len(), world.say(member, &format)))
                .filter(|(_, is_there)| *is_there)
                .map(|(length, _)| length)
                .sum::<usize>();
        }
    });
    assert!(said > 2 * MEBIBYTE, "{said}");
    assert!(used.peak < 160 * MEBIBYTE, "{used:?}, twice 64 MiB, and what the nodes keep who say it");
    assert!(world.refused("formats of the nodes with one credential") > 30, "{:?}", world.nodes[0].refusals());
    world.is_heard(source, friend, listener);
}

#[test]
fn formats_of_a_link_may_be_named_anew_without_end() {
    let mut world = World::new(settings());
    world.settle();
    let (member, _) = world.member(2);
    let (_, used) = measure(|| {
        for number in 0..400 {
            world.now += Time::from_millis(100);
            assert!(world.say(member, &describe(0, &large(number, FIELDS))), "{:?}", world.errors);
        }
    });
    assert!(used.peak < 80 * MEBIBYTE, "{used:?}");
}

#[test]
fn strangers_share_what_their_formats_may_take() {
    let mut world = World::new(settings());
    let (source, _, friend, listener) = world.settle();
    let strangers: Vec<usize> = (2..22).map(|number| world.stranger(number)).collect();
    let (_, used) = measure(|| {
        for (at, &stranger) in strangers.iter().enumerate() {
            (0..12).all(|index| world.say(stranger, &describe(index, &large(100 * at + usize::from(index), FIELDS))));
        }
    });
    assert!(used.peak < 40 * MEBIBYTE, "{used:?}");
    assert!(world.refused("formats of nodes without a common channel") > 10);
    world.is_heard(source, friend, listener);
}

#[test]
fn strangers_links_are_few() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    let most = Budgets::default().strangers[Resource::Links] as usize;
    (0..most + 50).for_each(|number| _ = world.stranger(2 + number));
    assert_eq!(world.wires.len(), most + 1, "the friend, and those that may");
    assert_eq!(world.refused("links of nodes without a common channel"), 50);
    world.is_heard(source, friend, listener);
    // Who has something in common with the victim stays.
    let (member, _) = world.member(5000);
    (0..most).for_each(|number| _ = world.stranger(6000 + number));
    assert!(world.wire_of(member).is_some());
}

#[test]
fn those_who_come_and_go_keep_nobody_out() {
    let mut world = World::new(Settings { peers: 10, ..Settings::default() });
    let (source, _, friend, listener) = world.settle();
    let (old, _) = world.member(2);
    world.pass(Time::from_secs(5));
    // Whoever vanishes does not come back.
    let vanish = |world: &mut World, node: usize| {
        let wire = world.wire_of(node).expect("a wire");
        world.hang_up(wire, None);
        let id = world.nodes[node].id();
        world.nodes[node] = Node::new(key(1_000_000 + node), Settings::default());
        world.run();
        id
    };
    let old = vanish(&mut world, old);
    for number in 0..50 {
        let (member, _) = world.member(100 + number);
        vanish(&mut world, member);
    }
    let (late, _) = world.member(3);
    assert!(world.wire_of(late).is_some());
    let members = world.nodes[0].info(world.channel.expect("a channel")).expect("it").members;
    let kept = members.iter().find(|member| member.node == old).expect("a link that stood for long may be resumed");
    assert_eq!(kept.reach, Reach::Linked);
    world.is_heard(source, friend, listener);
}

#[test]
fn a_node_has_only_so_many_subscriptions_at_one_source() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    (0..200).for_each(|number| assert!(world.say(member, &subscribe(number, 1, 1)), "{:?}", world.errors));
    assert_eq!(world.nodes[0].listeners(source), 2 + 64);
    world.is_heard(source, friend, listener);
}

#[test]
fn pings_that_others_demand_are_few() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    for number in 0..100 {
        let node = world.node(2 + number, Time::from_millis(100));
        world.dial(node);
    }
    let most = Budgets::default().strangers[Resource::Pings] / 1800;
    assert_eq!(world.wires.len() as u64, most + 1, "each demands thirty a second");
    world.is_heard(source, friend, listener);
}

#[test]
fn sources_are_counted_over_all_channels() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    let most = Budgets::default().credential[Resource::Offers] as u32;
    for number in 0..most + 100 {
        assert!(world.say(member, &offer(number, u16::MAX)), "{:?}", world.errors);
    }
    assert_eq!(world.refused("sources of the nodes with one credential"), 100);
    world.is_heard(source, friend, listener);
}

#[test]
fn connections_leave_nothing_behind() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    let come_and_go = |world: &mut World, count: usize| {
        for number in 0..count {
            let number = 10 + number % 7;
            let node = match number % 3 {
                0 => world.stranger(number),
                1 => world.member(number).0,
                // Somebody who stops in the greeting.
                _ => {
                    world.connections += 1;
                    let id = ConnId(world.connections);
                    world.nodes[0].connected(world.now, id, None, Credentials::default());
                    world.run();
                    world.nodes[0].closed(world.now, id, None);
                    continue;
                }
            };
            if let Some(wire) = world.wire_of(node) {
                world.hang_up(wire, None);
            }
            world.nodes.truncate(node);
            world.run();
        }
        // Longer than a link lingers, and than it is dialed for.
        (0..60).for_each(|_| world.pass(Time::from_secs(1)));
        world.is_heard(source, friend, listener);
    };
    come_and_go(&mut world, 100);
    let often = std::env::var("CONNECTS").ok().and_then(|often| often.parse().ok()).unwrap_or(1000);
    let (_, used) = measure(|| come_and_go(&mut world, often));
    assert!(used.kept < 16 << 10, "{used:?}");
}

fn subscribe(number: u32, policy: u8, window: u64) -> Vec<u8> {
    let head = [0, 0, 0, 0, 0, 0, 0, 0, policy, 0, 0, 0, 0, 0, 0, 0];
    let numbers = [window, window, u64::MAX, u64::MAX, u64::MAX, 0, 0, 0, 0, 0, 0, 0].map(u64::to_le_bytes);
    frame(19, 0, number, &[&head, numbers.as_flattened(), &[0; 4]])
}

#[test]
fn queues_of_a_node_share_a_budget() {
    let credential = Budgets::default().credential.with(Resource::Queues, 4 << 20);
    let budgets = Budgets { credential, ..Budgets::default() };
    let mut world = World::new(Settings { budgets, ..Settings::default() });
    let (source, _, friend, listener) = world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    (0..200).for_each(|number| assert!(world.say(member, &subscribe(number, 1, 1)), "{:?}", world.errors));
    let (_, used) = measure(|| {
        for _ in 0..1000 {
            world.nodes[0].submit(7, source, Some(&format(8)), &mut Body::from([1; 8])).unwrap();
            world.run();
            world.nodes[friend].take(world.now, listener, &mut Batch::default());
            world.run();
        }
    });
    assert!(used.peak < 8 * MEBIBYTE, "{used:?}");
    for sink in world.nodes[0].ledger(source) {
        assert!(sink.ledger.is_exact(), "{}", sink.ledger);
        assert!(sink.node == world.nodes[friend].id() || sink.ledger.in_flight > 0, "the newest is kept");
    }
}

#[test]
fn windows_of_many_subscriptions_shrink() {
    let mut world = World::new(Settings::default());
    world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    let most = Budgets::default().credential[Resource::Offers] as u32;
    (0..most).for_each(|number| assert!(world.say(member, &offer(number, u16::MAX))));
    let granted = world.windows();
    let sum: u64 = granted.iter().sum();
    assert_eq!((granted.len() as u32, granted[0]), (most, 4 << 20));
    assert!(granted.iter().all(|&bytes| bytes >= 64 << 10) && sum < 600 << 20, "{sum}");
}

#[test]
fn long_events_of_many_nodes_share_a_budget() {
    let node = Budgets::default().node.with(Resource::Bodies, 8 << 20);
    let mut world = World::new(Settings { budgets: Budgets { node, ..Budgets::default() }, ..Settings::default() });
    let (source, _, friend, listener) = world.settle();
    // Of these nodes, each has begun a long event. The second one has sent more of it than the others.
    let members: Vec<usize> = (2..5).map(|number| world.member(number).0).collect();
    let mut numbers = Vec::new();
    for &member in &members {
        (world.deaf, world.told) = (Some(member), Vec::new());
        assert!(world.say(member, &[describe(0, &format(8)), offer(0, 0)].concat()));
        numbers.push(world.subscriptions()[0]);
    }
    let started = |number: u32| frame(24, 0, number, &[&0u64.to_le_bytes(), &[0; 40]]);
    let begin = |number: u32| frame(26, 0, number, &[&(100u64 << 20).to_le_bytes()]);
    let part = |number: u32| frame(27, 0, number, &[&vec![0; 1 << 16]]);
    let (_, used) = measure(|| {
        for (&member, &number) in members.iter().zip(&numbers) {
            assert!(world.say(member, &[started(number), begin(number), part(number)].concat()), "{:?}", world.errors);
        }
        for _ in 0..200 {
            world.say(members[1], &part(numbers[1]));
        }
    });
    assert_eq!(
        world.refused("long events of all nodes together"),
        1,
        "{:?} {:?}",
        world.nodes[0].refusals(),
        world.errors
    );
    assert!(used.peak < 20 * MEBIBYTE, "{used:?}");
    for (&member, &number) in members.iter().zip(&numbers).step_by(2) {
        assert!(world.say(member, &part(number)), "{:?}", world.errors);
    }
    world.is_heard(source, friend, listener);
}

#[test]
fn long_events_of_many_sources_wait_for_each_other() {
    let mut world = World::new(Settings::default());
    let (source, _, friend, listener) = world.settle();
    let (member, _) = world.member(2);
    world.deaf = Some(member);
    // Three sources, to each of which the idle sink subscribes.
    let offered = [describe(0, &format(8)), offer(0, 0), offer(1, 0), offer(2, 0)].concat();
    assert!(world.say(member, &offered));
    let numbers = world.subscriptions();
    let started = |number: u32| frame(24, 0, number, &[&0u64.to_le_bytes(), &[0; 40]]);
    let begin = |number: u32, length: u64| frame(26, 0, number, &[&length.to_le_bytes()]);
    let part = |number: u32| frame(27, 0, number, &[&vec![0; 1 << 16]]);
    // Two have room for each other, and the third not.
    for (number, length) in numbers.iter().zip([100u64 << 20, 100 << 20, 100 << 20]) {
        assert!(world.say(member, &[started(*number), begin(*number, length)].concat()), "{:?}", world.errors);
    }
    assert!(world.say(member, &[part(numbers[0]), part(numbers[1])].concat()), "{:?}", world.errors);
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    world.say(member, &part(numbers[2]));
    assert_eq!((world.errors[0].code(), world.errors[0].path()), (Code::Frame, "part"), "{:?}", world.errors);
    world.is_heard(source, friend, listener);
}
