//! Limits belong to credentials: whoever has one key, and makes as many ids as it likes, gets what one id of that key would get
//! (`spec/channel.md`, "Limits").

use isoform_channel_proto::{
    Access, Action, Admission, Batch, ChannelKey, ConnId, Credentials, Grants, HEADER, Hello, Identity, Item, Key,
    Node, OpenKey, Outgoing, OwnUser, Parameters, Policy, Query, QueryTime, Settings, SharedKey, SinkKey, SourceKey,
    Time, Wanted,
};
use isoform_core::{Code, Error, FieldList, Format, Layout, Machine, Result, Shape, Value, value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

type Body = Arc<[u8]>;

/// The shared keys: of one who makes many ids, of an honest program, and of the victim's own user.
const GREEDY: u8 = 1;
const HONEST: u8 = 2;
const OWN: u8 = 3;

/// The first node is the victim. The others dial it.
struct World {
    now: Time,
    nodes: Vec<Node<Body, Vec<u8>>>,
    /// The node that dialed each connection; `None` once it is closed.
    wires: Vec<Option<usize>>,
    /// What each connection has carried to its acceptor and to its dialer, and that was not read yet.
    bytes: Vec<[Vec<u8>; 2]>,
    arrived: VecDeque<(usize, usize)>,
    channel: ChannelKey,
    /// The user for whom nodes run that come now, as the victim's system says.
    user: Option<u32>,
}

fn key(number: usize) -> Key {
    let mut seed = [5; 32];
    seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
    Key::from_seed(seed)
}

fn shared(byte: u8) -> SharedKey {
    SharedKey::new([byte; 32])
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

fn tick(count: u64) -> Body {
    Body::from(count.to_ne_bytes())
}

impl World {
    fn new(settings: Settings) -> World {
        let keys = [GREEDY, HONEST, OWN].map(shared).to_vec();
        let access = Access { keys, admission: Admission::Known { users: vec![1000] } };
        let own_user = OwnUser { users: vec![1000], key: Some(shared(OWN).name()) };
        let mut victim = Node::new(key(0), Settings { access, own_user, ..settings });
        let channel = victim.create(Identity([9; 16]), "river", None).unwrap();
        let (now, wires, bytes, arrived) = (Time::from_secs(1), Vec::new(), Vec::new(), VecDeque::new());
        World { now, nodes: vec![victim], wires, bytes, arrived, channel, user: None }
    }

    /// One more id of the holder of a key, which opens the victim's channel.
    fn come(&mut self, key_of: u8) -> (usize, OpenKey) {
        let (now, number) = (self.now, self.nodes.len());
        let access = Access { keys: vec![shared(key_of)], admission: Admission::Known { users: Vec::new() } };
        let mut node = Node::new(key(number), Settings { access, ..Settings::default() });
        let open = node.open(now, &["test:victim".into()], "river", None, now + Time::from_secs(1));
        self.nodes.push(node);
        self.follow(number);
        self.run();
        (number, open)
    }

    /// Whether it has got in, and why not.
    fn is_let_in(&mut self, (node, open): (usize, OpenKey)) -> Result<ChannelKey> {
        if let Some(opened) = self.nodes[node].opened(open) {
            return opened;
        }
        // It gives up at its deadline, and says why the last attempt failed.
        let later = self.now + Time::from_secs(2);
        self.nodes[node].tick(later);
        self.follow(node);
        self.run();
        self.nodes[node].opened(open).expect("an answer")
    }

    fn member(&mut self, key_of: u8) -> (usize, ChannelKey) {
        let came = self.come(key_of);
        (came.0, self.is_let_in(came).unwrap())
    }

    fn sink(&mut self, (node, channel): (usize, ChannelKey), wanted: Wanted) -> (usize, SinkKey) {
        let sink = self.nodes[node].add_sink(channel, wanted).unwrap();
        self.follow(node);
        self.run();
        (node, sink)
    }

    fn follow(&mut self, from: usize) {
        while let Some(action) = self.nodes[from].action() {
            match action {
                Action::Dial(dial, address) if address == "test:victim" => {
                    let id = ConnId(self.wires.len() as u64);
                    self.wires.push(Some(from));
                    self.bytes.push([Vec::new(), Vec::new()]);
                    self.nodes[from].connected(self.now, id, Some(dial), Credentials::default());
                    let known = Credentials { local_user: self.user, ..Credentials::default() };
                    self.nodes[0].connected(self.now, id, None, known);
                    self.follow(0);
                }
                Action::Dial(dial, _) => {
                    self.nodes[from].dial_failed(self.now, dial, Error::new(Code::Unreachable));
                }
                Action::Write(id) => self.carry(from, id),
                Action::Close(id) => {
                    self.carry(from, id);
                    // The other side reads what was said before it learns of the end.
                    self.run();
                    if let Some(dialer) = self.wires.get_mut(id.0 as usize).and_then(Option::take) {
                        let other = if from == 0 { dialer } else { 0 };
                        self.nodes[other].closed(self.now, id, None);
                        self.follow(other);
                    }
                }
                _ => {}
            }
        }
    }

    fn carry(&mut self, from: usize, id: ConnId) {
        let mut out = Outgoing::default();
        self.nodes[from].output(self.now, id, &mut out);
        self.nodes[from].unwritten(id, 0);
        let (wire, end) = (id.0 as usize, usize::from(from == 0));
        // Some tests play the other end themselves.
        let Some(bytes) = self.bytes.get_mut(wire) else { return };
        bytes[end].extend(out.to_vec());
        self.arrived.push_back((wire, end));
    }

    fn run(&mut self) {
        while let Some((wire, end)) = self.arrived.pop_front() {
            let Some(dialer) = self.wires[wire] else { continue };
            let node = if end == 0 { 0 } else { dialer };
            let bytes = std::mem::take(&mut self.bytes[wire][end]);
            if let Ok(used) = self.nodes[node].receive(self.now, ConnId(wire as u64), &bytes) {
                self.bytes[wire][end].splice(0..0, bytes[used..].iter().copied());
            }
            self.follow(node);
        }
    }

    fn pass(&mut self, time: Time) {
        self.now += time;
        for node in 0..self.nodes.len() {
            self.nodes[node].tick(self.now);
            self.follow(node);
        }
        self.run();
    }

    /// A node says something that no honest node says. Returns whether its link is still there.
    fn say(&mut self, node: usize, frames: &[u8]) -> bool {
        let Some(wire) = self.wires.iter().rposition(|dialer| *dialer == Some(node)) else { return false };
        self.bytes[wire][0].extend(frames);
        self.arrived.push_back((wire, 0));
        self.run();
        self.wires[wire].is_some()
    }

    fn linked(&self, nodes: &[(usize, OpenKey)]) -> usize {
        nodes.iter().filter(|(node, _)| self.wires.contains(&Some(*node))).count()
    }

    fn source(&mut self, grants: Grants, parameters: Option<&Parameters>) -> SourceKey {
        let source = self.nodes[0].add_source_with(self.channel, Some(&format()), grants, parameters, None).unwrap();
        self.follow(0);
        self.run();
        source
    }

    fn submit(&mut self, source: SourceKey, count: u64) {
        let (time, mut body) = (self.now.as_nanos() as u64, tick(count));
        self.nodes[0].submit(time, source, Some(&format()), &mut body).unwrap();
        self.follow(0);
        self.run();
    }

    /// The events that a sink has got, and the errors with which it was refused.
    fn take(&mut self, (node, sink): (usize, SinkKey)) -> (usize, Vec<Error>) {
        let (mut batch, mut events, mut refused) = (Batch::default(), 0, Vec::new());
        while self.nodes[node].take(self.now, sink, &mut batch) {
            for item in batch.items() {
                match item {
                    Item::Event { .. } => events += 1,
                    Item::Refused(_, error) => refused.push(error.clone()),
                    Item::Given(_, given) => refused.extend(given.refused.clone()),
                    _ => {}
                }
            }
        }
        self.follow(node);
        self.run();
        (events, refused)
    }
}

#[test]
fn ids_of_one_key_leave_links_to_others_and_are_told_why_they_get_no_more() {
    // Of 128 connections, 16 are for handshakes, 14 for the own user, and 14 for others.
    let mut world = World::new(Settings { connections: 128, ..Settings::default() });
    let greedy: Vec<_> = (0..300).map(|_| world.come(GREEDY)).collect();
    assert_eq!(world.linked(&greedy), 98, "all that there is room for, while nobody else wants it");
    let error = world.is_let_in(greedy[299]).unwrap_err();
    assert_eq!(error.code(), Code::Peers, "{error}");
    // The programs of the own user have a place of their own, and then take turns with others.
    let own: Vec<_> = (0..14).map(|_| world.come(OWN)).collect();
    assert_eq!((world.linked(&own), world.linked(&greedy)), (14, 98));
    own.iter().for_each(|&own| _ = world.is_let_in(own).unwrap());
    // Somebody else gets as much as the greedy one.
    let honest: Vec<_> = (0..60).map(|_| world.come(HONEST)).collect();
    assert_eq!((world.linked(&honest), world.linked(&greedy), world.linked(&own)), (49, 49, 14));
    let late: Vec<_> = (0..200).map(|_| world.come(GREEDY)).collect();
    assert_eq!((world.linked(&late), world.linked(&honest)), (0, 49));
    let own: Vec<_> = (0..100).map(|_| world.come(OWN)).collect();
    assert!(world.linked(&own) >= 22, "{}", world.linked(&own));
    assert!(world.linked(&honest) >= 36, "{}", world.linked(&honest));
    // Who lost its link was told so.
    let refused = world.nodes[0].refusals();
    let told = |code| refused.iter().filter(|it| it.code == code as u16).map(|it| it.count).sum::<u64>();
    assert!(told(Code::Peers) >= 49 + 200, "{refused:?}");
}

#[test]
fn thousands_of_sinks_with_one_key_get_all_and_another_key_still_gets_in() {
    const SINKS: usize = 2_000;
    let mut world = World::new(Settings::default());
    let source = world.source(Grants::default(), None);
    let wanted = || Wanted::any(Policy::Block);
    let all: Vec<_> = (0..SINKS)
        .map(|_| {
            let member = world.member(GREEDY);
            world.sink(member, wanted())
        })
        .collect();
    assert_eq!(world.nodes[0].listeners(source), SINKS);
    for count in 0..3 {
        world.submit(source, count);
        world.pass(Time::from_millis(20));
    }
    for sink in all {
        assert_eq!(world.take(sink), (3, Vec::new()));
    }
    let acknowledged = |world: &World| {
        let accounts = world.nodes[0].ledger(source);
        accounts.iter().map(|it| (it.ledger.acknowledged, it.ledger.is_exact())).collect::<Vec<_>>()
    };
    world.pass(Time::from_millis(20));
    assert_eq!(acknowledged(&world), vec![(3, true); SINKS]);
    let member = world.member(HONEST);
    let other = world.sink(member, wanted());
    world.submit(source, 3);
    assert_eq!(world.take(other), (1, Vec::new()));
}

#[test]
fn the_own_user_leaves_something_to_others() {
    let mut world = World::new(Settings { connections: 128, ..Settings::default() });
    let own: Vec<_> = (0..200).map(|_| world.come(OWN)).collect();
    assert_eq!(world.linked(&own), 98);
    let honest: Vec<_> = (0..20).map(|_| world.come(HONEST)).collect();
    assert_eq!((world.linked(&honest), world.linked(&own)), (14, 98), "which gives no place of its own away");
}

#[test]
fn connections_that_prove_nothing_are_told_why_they_end() {
    let mut world = World::new(Settings { connections: 16, ..Settings::default() });
    for number in 0..100 {
        let id = ConnId(1_000 + number);
        world.nodes[0].connected(world.now, id, None, Credentials::default());
        let mut closed = Vec::new();
        while let Some(action) = world.nodes[0].action() {
            if let Action::Close(id) = action {
                let mut out = Outgoing::default();
                world.nodes[0].output(world.now, id, &mut out);
                closed.push(out.to_vec());
            }
        }
        assert_eq!(closed.len(), usize::from(number >= 16));
        for said in closed {
            // A Hello, and the Bye.
            assert_eq!(said[Hello::LENGTH + HEADER..Hello::LENGTH + HEADER + 2], (Code::Peers as u16).to_le_bytes());
        }
    }
    // A node of this protocol gets in.
    world.member(HONEST);
}

/// Somebody who proves itself, and then says no more.
fn prove(world: &mut World, id: ConnId) {
    let access = Access { keys: vec![shared(GREEDY)], ..Access::default() };
    let mut node = Node::<Body, Vec<u8>>::new(key(id.0 as usize), Settings { access, ..Settings::default() });
    node.open(world.now, &["test:victim".into()], "river", None, world.now + Time::from_secs(1));
    let dial = std::iter::from_fn(|| node.action()).find_map(|action| match action {
        Action::Dial(dial, _) => Some(dial),
        _ => None,
    });
    node.connected(world.now, id, dial, Credentials::default());
    let said = |node: &mut Node<Body, Vec<u8>>| {
        let mut out = Outgoing::default();
        node.output(world.now, id, &mut out);
        out.to_vec()
    };
    let victim = &mut world.nodes[0];
    victim.connected(world.now, id, None, Credentials::default());
    victim.receive(world.now, id, &said(&mut node)).unwrap();
    node.receive(world.now, id, &said(victim)).unwrap();
    let proof = said(&mut node);
    let length = HEADER + u32::from_le_bytes(proof[..4].try_into().unwrap()) as usize;
    assert_eq!(victim.receive(world.now, id, &proof[..length]).unwrap(), length);
    assert!(proof.len() > length && !said(victim).is_empty(), "both state their Terms");
}

#[test]
fn connections_that_say_nothing_after_their_proof_keep_nobody_out() {
    let mut world = World::new(Settings { connections: 16, ..Settings::default() });
    for number in 0..16 {
        prove(&mut world, ConnId(1_000 + number));
    }
    while world.nodes[0].action().is_some() {}
    // Somebody else who is slow loses nothing to them.
    let slow = ConnId(2_000);
    world.nodes[0].connected(world.now, slow, None, Credentials::default());
    for number in 16..32 {
        prove(&mut world, ConnId(1_000 + number));
    }
    let closed: Vec<ConnId> = std::iter::from_fn(|| world.nodes[0].action())
        .filter_map(|action| if let Action::Close(id) = action { Some(id) } else { None })
        .collect();
    assert_eq!(closed.len(), 17);
    assert!(!closed.contains(&slow), "{closed:?}");
    for of in [OWN, HONEST] {
        world.member(of);
    }
}

#[test]
fn queries_of_many_ids_of_a_key_leave_another_one_its_events() {
    let mut world = World::new(Settings::default());
    let millis = Duration::from_millis;
    let queries = QueryTime { at_once: millis(40), second: millis(40) };
    let source = world.source(Grants { queries: Some(queries), ..Grants::default() }, None);
    let heavy = |number: usize| {
        let text = format!("where {} > {number}", vec!["count"; 250].join(" + "));
        Wanted { query: Some(Query::parse(&text).unwrap()), ..Wanted::any(Policy::Block) }
    };
    let mut greedy = Vec::new();
    for number in 0..64 {
        let member = world.member(GREEDY);
        greedy.push(world.sink(member, heavy(number)));
    }
    let member = world.member(HONEST);
    let honest = world.sink(member, heavy(100));
    for number in 0..200 {
        world.pass(millis(1));
        world.submit(source, 1_000 + number);
    }
    world.pass(Time::from_secs(1));
    let (events, refused) = world.take(honest);
    assert_eq!((events, refused.len()), (200, 0), "{refused:?}");
    let of_greedy: Vec<usize> = greedy.into_iter().map(|sink| world.take(sink).0).collect();
    let (least, most) = (of_greedy.iter().min().unwrap(), of_greedy.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 20, "they share what their key has: {of_greedy:?}");
}

#[test]
fn queries_of_a_node_that_comes_back_belong_to_its_new_credentials() {
    let mut world = World::new(Settings::default());
    let source = world.source(Grants::default(), None);
    let members = [HONEST; 2].map(|key| world.member(key));
    let query = || Some(Query::parse("where count > 3").unwrap());
    let [_, late] = members.map(|member| {
        world.sink(member, Wanted { query: query(), ..Wanted::any(Policy::Latest) });
        member.0
    });
    let sinks = |world: &World| {
        let info = world.nodes[0].info(world.channel).unwrap();
        info.sources().next().unwrap().1.queries.iter().map(|query| query.sinks).collect::<Vec<_>>()
    };
    assert_eq!(sinks(&world), [2]);
    world.user = Some(1001);
    let wire = world.wires.iter().rposition(|dialer| *dialer == Some(late)).unwrap();
    world.wires[wire] = None;
    for node in [0, late] {
        world.nodes[node].closed(world.now, ConnId(wire as u64), None);
        world.follow(node);
    }
    (0..20).for_each(|_| world.pass(Time::from_millis(100)));
    assert!(world.wires[wire + 1..].contains(&Some(late)), "it is back");
    world.submit(source, 4);
    assert_eq!(sinks(&world), [1, 1]);
}

#[test]
fn ids_of_one_key_hold_few_queries() {
    let mut world = World::new(Settings::default());
    let source = world.source(Grants { most_queries: 8, ..Grants::default() }, None);
    let never = |number: usize| {
        let query = Query::parse(&format!("where count > {number}")).unwrap();
        Wanted { query: Some(query), ..Wanted::any(Policy::Block) }
    };
    let mut refused = 0;
    for number in 0..100 {
        let member = world.member(GREEDY);
        let sink = world.sink(member, never(1_000_000 + number));
        let (_, errors) = world.take(sink);
        assert!(errors.iter().all(|error| error.code() == Code::Budget), "{errors:?}");
        refused += errors.len();
    }
    assert!((84..=92).contains(&refused), "{refused}");
    let member = world.member(HONEST);
    let honest = world.sink(member, never(5));
    world.submit(source, 7);
    assert_eq!(world.take(honest).0, 1);
}

fn level(level: i64) -> Parameters {
    let format = Shape::new("Detail").field("level", "long").on(&Layout::S390X).unwrap();
    let record = Value::Record(vec![("level".into(), Value::Integer(level.into()))]);
    Parameters::new(&format, &value::body(&format, &record).unwrap()).unwrap()
}

#[test]
fn ids_of_one_key_hold_at_most_half_of_the_demands() {
    let mut world = World::new(Settings::default());
    let source = world.source(Grants::default(), Some(&level(0)));
    let wants = |number| Wanted { parameters: Some(level(number)), ..Wanted::any(Policy::Block) };
    for number in 1..=20 {
        let member = world.member(GREEDY);
        let sink = world.sink(member, wants(number));
        let (_, refused) = world.take(sink);
        assert_eq!(refused.iter().map(Error::code).collect::<Vec<_>>(), [Code::Budget].repeat(usize::from(number > 8)));
    }
    assert_eq!(world.nodes[0].demands(source).len(), 8);
    let member = world.member(HONEST);
    for number in 101..=104 {
        let honest = world.sink(member, wants(number));
        assert_eq!(world.take(honest).1, [], "{number}");
    }
    let member = world.member(OWN);
    for number in 201..=203 {
        let own = world.sink(member, wants(number));
        assert_eq!(world.take(own).1, [], "{number}");
    }
}

#[test]
fn frames_of_many_ids_of_a_key_are_as_few_as_those_of_one() {
    let mut world = World::new(Settings::default());
    world.source(Grants::default(), None);
    // Ping.
    let frame = [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let few = frame.repeat(4_000);
    let mut said = 0;
    for _ in 0..64 {
        let (member, _) = world.come(GREEDY);
        said += usize::from(world.say(member, &few));
    }
    assert!((8..=16).contains(&said), "{said} times 4,000, of which 32,768 are allowed, and as many again");
    let refused: Vec<_> = world.nodes[0].refusals().iter().filter(|it| it.code == Code::Budget as u16).collect();
    assert!(refused.iter().any(|it| it.last.contains("requests of the nodes with one credential")), "{refused:?}");
    for of in [HONEST, OWN] {
        let (member, _) = world.member(of);
        assert!(world.say(member, &few));
    }
    // The own user's programs have as much each.
    for _ in 0..20 {
        let (member, _) = world.member(OWN);
        assert!(world.say(member, &few));
    }
}

#[test]
fn a_node_that_is_there_has_its_part_whatever_ids_of_its_key_come_and_go() {
    let mut world = World::new(Settings::default());
    world.source(Grants::default(), None);
    let (honest, _) = world.member(GREEDY);
    for _ in 0..4 {
        world.pass(Time::from_secs(2));
    }
    let ping = [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for _ in 0..64 {
        let (other, _) = world.come(GREEDY);
        world.say(other, &ping.repeat(4_000));
    }
    assert!(world.say(honest, &ping.repeat(100)));
}

#[test]
fn a_node_that_comes_amid_a_flood_of_its_key_stays() {
    let mut world = World::new(Settings::default());
    let source = world.source(Grants::default(), None);
    let ping = [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // Ever new ids send until nothing is left.
    let flood = |world: &mut World| {
        let mut last = 0;
        for _ in 0..64 {
            (last, _) = world.come(GREEDY);
            world.say(last, &ping.repeat(4_000));
        }
        assert!(!world.wires.contains(&Some(last)), "nothing is left for those who send more than a few frames");
    };
    flood(&mut world);
    let member = world.member(GREEDY);
    let honest = world.sink(member, Wanted::any(Policy::Block));
    for count in 0..8 {
        world.submit(source, count);
        assert_eq!(world.take(honest), (1, Vec::new()));
        world.pass(Time::from_secs(1));
        flood(&mut world);
    }
    assert!(world.say(honest.0, &ping.repeat(100)));
}

#[test]
fn kept_events_of_many_ids_of_a_key_are_as_few_as_those_of_one() {
    let mut world = World::new(Settings::default());
    let source = world.source(Grants { keep: 1 << 12, ..Grants::default() }, None);
    (0..1 << 12).for_each(|number| world.submit(source, number));
    let count = |world: &mut World, of, ids: usize| {
        let mut count = 0;
        for _ in 0..ids {
            let member = world.member(of);
            let sink = world.sink(member, Wanted::any(Policy::Block));
            // They come in slices, and all of this takes less than a second.
            for _ in 0..40 {
                world.pass(Time::from_millis(1));
                count += world.take(sink).0;
            }
        }
        count
    };
    assert_eq!(count(&mut world, GREEDY, 20), 1 << 16);
    assert_eq!(count(&mut world, HONEST, 1), 1 << 12);
    assert_eq!(count(&mut world, OWN, 17), 17 << 12);
}
