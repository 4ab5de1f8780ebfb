//! Opening a channel by an id that names several addresses: they are tried beside each other, and one of them is enough.

use super::invented;
use isoform_channel_proto::{
    Action, ChannelKey, ConnId, Credentials, DialKey, Identity, Key, Node, OpenKey, Outgoing, Policy, Settings, Time,
    Wanted,
};
use isoform_core::{Code, Error};
use std::collections::BTreeMap;
use std::sync::Arc;

const RIVER: Identity = Identity([7; 16]);
const DEADLINE: Time = Time::from_secs(5);

/// An opener, node 0, and others. Nothing answers unless the test says so.
struct World {
    nodes: Vec<Node<Arc<[u8]>, Vec<u8>>>,
    /// What the opener dials, and nothing has come of yet.
    dials: Vec<(DialKey, String)>,
    /// The other side of each connection of the opener, and what is on its way to the opener and to the other side.
    connections: BTreeMap<u64, (usize, [Vec<u8>; 2])>,
    closed: Vec<u64>,
    now: Time,
    /// What the opener knows of those who answer.
    credentials: Credentials,
}

impl World {
    fn new(count: usize) -> World {
        let node = |number: usize| {
            let addresses = vec![format!("test:{number}")];
            Node::new(Key::from_seed([number as u8 + 1; 32]), Settings { addresses, ..Settings::default() })
        };
        let nodes = (0..count).map(node).collect();
        let (dials, connections, closed) = (Vec::new(), BTreeMap::new(), Vec::new());
        World { nodes, dials, connections, closed, now: Time::ZERO, credentials: Credentials::default() }
    }

    fn open(&mut self, addresses: &[&str]) -> OpenKey {
        let addresses: Vec<String> = addresses.iter().map(|it| it.to_string()).collect();
        let open = self.nodes[0].open(self.now, &addresses, "river", Some(RIVER), DEADLINE);
        self.run();
        open
    }

    fn run(&mut self) {
        for _ in 0..40 {
            for from in 0..self.nodes.len() {
                while let Some(action) = self.nodes[from].action() {
                    match action {
                        Action::Dial(dial, address) if from == 0 => self.dials.push((dial, address)),
                        Action::Write(id) | Action::Close(id) => {
                            if from == 0 && matches!(action, Action::Close(_)) {
                                self.closed.push(id.0);
                            }
                            let mut out = Outgoing::default();
                            self.nodes[from].output(self.now, id, &mut out);
                            self.nodes[from].unwritten(id, 0);
                            if let Some((_, ways)) = self.connections.get_mut(&id.0) {
                                ways[usize::from(from == 0)].extend(out.to_vec());
                            }
                        }
                        _ => {}
                    }
                }
            }
            for (&id, (other, ways)) in &mut self.connections {
                for (node, way) in [(0, 0), (*other, 1)] {
                    let used = self.nodes[node].receive(self.now, ConnId(id), &ways[way]).unwrap_or(ways[way].len());
                    ways[way].drain(..used);
                }
            }
        }
    }

    /// What is dialed now.
    fn dialed(&self) -> Vec<&str> {
        self.dials.iter().map(|(_, address)| address.as_str()).collect()
    }

    fn take(&mut self, address: &str) -> DialKey {
        let at = self.dials.iter().position(|(_, dialed)| dialed == address).expect("it is dialed");
        self.dials.remove(at).0
    }

    /// Somebody answers at an address that is dialed: this node.
    fn answer(&mut self, address: &str, node: usize) -> u64 {
        let (dial, id) = (self.take(address), self.connections.len() as u64 + 1);
        self.connections.insert(id, (node, Default::default()));
        self.nodes[0].connected(self.now, ConnId(id), Some(dial), self.credentials.clone());
        self.nodes[node].connected(self.now, ConnId(id), None, Credentials::default());
        self.run();
        id
    }

    fn fail(&mut self, address: &str, code: Code) {
        let dial = self.take(address);
        self.nodes[0].dial_failed(self.now, dial, Error::new(code).at(address));
        self.run();
    }

    /// As a caller does who looks at the clock when the node wants it to.
    fn tick_until(&mut self, until: Time) {
        while let Some(due) = self.nodes[0].deadline().filter(|due| *due <= until) {
            self.now = due.max(self.now + Time::from_millis(1));
            self.nodes[0].tick(self.now);
            self.run();
        }
        self.now = self.now.max(until);
    }

    #[track_caller]
    fn opened(&mut self, open: OpenKey) -> ChannelKey {
        let channel = self.nodes[0].opened(open).expect("an answer").expect("the channel");
        assert_eq!(self.nodes[0].info(channel).unwrap().identity, RIVER);
        channel
    }
}

#[test]
fn an_address_where_nothing_answers_costs_the_next_a_quarter_of_a_second() {
    let mut world = World::new(2);
    world.nodes[1].create(RIVER, "river", None).unwrap();
    let open = world.open(&["test:8", "test:9", "test:1"]);
    assert_eq!(world.dialed(), ["test:8"]);
    world.tick_until(Time::from_millis(249));
    assert_eq!(world.dialed(), ["test:8"]);
    world.tick_until(Time::from_millis(250));
    assert_eq!(world.dialed(), ["test:8", "test:9"]);
    world.tick_until(Time::from_millis(500));
    assert_eq!(world.dialed(), ["test:8", "test:9", "test:1"]);
    world.answer("test:1", 1);
    world.opened(open);
    // Who answers later is not needed.
    let late = world.take("test:8");
    world.nodes[0].connected(world.now, ConnId(99), Some(late), Credentials::default());
    world.run();
    assert_eq!(world.closed, [99]);
}

#[test]
fn an_address_that_fails_makes_way_at_once() {
    let mut world = World::new(3);
    world.nodes[1].create(Identity([8; 16]), "river", None).unwrap();
    world.nodes[2].create(RIVER, "river", None).unwrap();
    let open = world.open(&["test:8", "test:1", "test:2"]);
    world.fail("test:8", Code::Unreachable);
    assert_eq!(world.dialed(), ["test:1"]);
    // It has another channel of this name.
    world.answer("test:1", 1);
    assert!(world.nodes[0].opened(open).is_none());
    assert_eq!(world.dialed(), ["test:2"]);
    world.answer("test:2", 2);
    world.opened(open);
}

#[test]
fn the_first_answer_ends_the_attempts_that_are_under_way() {
    let mut world = World::new(2);
    world.nodes[1].create(RIVER, "river", None).unwrap();
    let open = world.open(&["test:8", "test:1"]);
    let silent = world.take("test:8");
    world.nodes[0].connected(world.now, ConnId(50), Some(silent), Credentials::default());
    world.tick_until(Time::from_millis(250));
    world.answer("test:1", 1);
    world.opened(open);
    assert_eq!(world.closed, [50]);
}

#[test]
fn two_addresses_of_one_node_are_one_answer() {
    for first in ["test:1", "test:one"] {
        let mut world = World::new(2);
        world.nodes[1].create(RIVER, "river", None).unwrap();
        let open = world.open(&["test:1", "test:one"]);
        world.tick_until(Time::from_millis(250));
        world.answer(first, 1);
        let channel = world.opened(open);
        assert!(world.nodes[0].opened(open).is_none());
        world.tick_until(Time::from_secs(1));
        assert_eq!(world.nodes[0].info(channel).unwrap().members.len(), 2);
    }
}

#[test]
fn when_all_fail_what_a_node_said_is_told() {
    let mut world = World::new(2);
    let open = world.open(&["test:8", "test:1", "test:9"]);
    world.fail("test:8", Code::Unreachable);
    world.answer("test:1", 1);
    world.fail("test:9", Code::Unreachable);
    let error = world.nodes[0].opened(open).unwrap().unwrap_err();
    assert_eq!(error.code(), Code::NoSuchChannel);

    // Those that stay silent have time until the end, and not longer.
    let mut world = World::new(1);
    let open = world.open(&["test:8", "test:9"]);
    world.tick_until(DEADLINE.saturating_sub(Time::from_millis(2)));
    assert!(world.nodes[0].opened(open).is_none());
    world.tick_until(DEADLINE + Time::from_millis(2));
    assert_eq!(world.nodes[0].opened(open).unwrap().unwrap_err().code(), Code::Deadline);
}

/// How often the opener dials a member in a minute, if this happens to each connection as soon as it is there.
fn dialed_in_a_minute(end: impl Fn(&mut World, u64)) -> usize {
    let mut world = World::new(2);
    let channel = world.nodes[1].create(RIVER, "river", None).unwrap();
    world.nodes[1].add_source(channel, None).unwrap();
    let open = world.open(&["test:1"]);
    world.answer("test:1", 1);
    let channel = world.opened(open);
    world.nodes[0].add_sink(channel, Wanted::any(Policy::Block)).unwrap();
    world.run();
    let (mut last, mut dialed) = (1, 0);
    end(&mut world, last);
    while world.now < Time::from_secs(60) {
        while !world.dials.is_empty() {
            last = world.answer("test:1", 1);
            dialed += 1;
            end(&mut world, last);
        }
        world.tick_until(world.now + Time::from_millis(1));
    }
    dialed
}

#[test]
fn a_member_whose_connections_end_at_once_is_dialed_ever_less() {
    // A description that is none.
    let refused = dialed_in_a_minute(|world, id| {
        world.connections.get_mut(&id).unwrap().1[0].extend(invented::frame(16, &[0xff; 40]));
        world.run();
    });
    assert!((4..20).contains(&refused), "{refused}");
    let cut = dialed_in_a_minute(|world, id| {
        for node in 0..2 {
            world.nodes[node].closed(world.now, ConnId(id), None);
        }
        world.run();
    });
    assert!((40..80).contains(&cut), "{cut}: a link that was cut is restored as long as it lingers");
}

#[test]
fn a_path_in_the_terms_of_a_node_that_is_not_on_this_machine_for_sure_is_not_dialed() {
    for local_user in [None, Some(1000)] {
        let mut world = World::new(1);
        let addresses = vec!["unix:/run/private.sock".to_owned(), "test:1".to_owned()];
        let settings = Settings { addresses, ..Settings::default() };
        world.nodes.push(Node::new(Key::from_seed([2; 32]), settings));
        world.credentials = Credentials { local_user, ..Credentials::default() };
        world.nodes[1].create(RIVER, "river", None).unwrap();
        let open = world.open(&["test:1"]);
        let id = world.answer("test:1", 1);
        world.opened(open);
        for node in 0..2 {
            world.nodes[node].closed(world.now, ConnId(id), None);
        }
        world.run();
        world.tick_until(world.now + Time::from_millis(1));
        let first = if local_user.is_some() { "unix:/run/private.sock" } else { "test:1" };
        assert_eq!(world.dialed(), [first]);
        while let Some((_, address)) = world.dials.first().cloned() {
            assert!(local_user.is_some() || address == "test:1");
            world.fail(&address, Code::Unreachable);
        }
    }
}
