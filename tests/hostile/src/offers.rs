//! Nodes that offer as many sources as they may, to one node with a sink: the work of all of them, for [`linear`](crate::linear).

use isoform_channel_proto::{
    Action, ConnId, Credentials, Identity, Key, Node, Outgoing, Policy, Settings, SourceKey, Time, Wanted, Window,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes with sources.
const LINKS: usize = 16;
const CHANNEL: &str = "river";
const NOW: Time = Time::from_secs(1);

/// Each of sixteen nodes offers so many sources to a node with a sink, which subscribes to all of them. Then each of them
/// loses its connection and restores it; at last the sources leave.
pub(crate) fn exchange(sources: usize) {
    let mut stage = Stage::new();
    let channel = stage.nodes[0].create(Identity([9; 16]), CHANNEL, None).expect("a channel");
    // With a small window, the sink may have all of these subscriptions.
    let window = Window { events: 16, bytes: 4096 };
    stage.nodes[0].add_sink(channel, Wanted { window, ..Wanted::any(Policy::Block) }).expect("a sink");
    let offered: Vec<(usize, Vec<SourceKey>)> = (1..=LINKS).map(|node| (node, stage.join(node, sources))).collect();
    stage.run();
    let all_have_the_sink = |stage: &Stage| {
        for (node, sources) in &offered {
            let without = sources.iter().filter(|source| stage.nodes[*node].listeners(**source) != 1).count();
            assert_eq!(without, 0, "sources of node {node} without the sink");
        }
    };
    all_have_the_sink(&stage);
    stage.break_all();
    stage.now += Time::from_secs(3);
    stage.tick();
    all_have_the_sink(&stage);
    for (node, sources) in &offered {
        sources.iter().for_each(|source| stage.nodes[*node].end_source(*source));
        stage.run();
        sources.iter().for_each(|source| drop(stage.nodes[*node].drop_source(*source)));
        stage.run();
    }
    let left = stage.nodes[0].info(channel).expect("the channel").sources().count();
    assert_eq!(left, 0, "sources that are known after they have left");
}

/// Nodes that hear each other. All but the first dial the first.
struct Stage {
    now: Time,
    nodes: Vec<Node<Arc<[u8]>, Vec<u8>>>,
    /// The node that dialed each connection.
    wires: BTreeMap<u64, usize>,
    connections: u64,
    unused: BTreeMap<(u64, bool), Vec<u8>>,
}

impl Stage {
    fn new() -> Stage {
        let node = |number: u8| {
            let addresses = if number == 0 { vec!["test:first".into()] } else { Vec::new() };
            Node::new(Key::from_seed([number + 1; 32]), Settings { addresses, ..Settings::default() })
        };
        let nodes = (0..=LINKS as u8).map(node).collect();
        Stage { now: NOW, nodes, wires: BTreeMap::new(), connections: 0, unused: BTreeMap::new() }
    }

    /// A node becomes a member of the channel, with sources.
    fn join(&mut self, node: usize, sources: usize) -> Vec<SourceKey> {
        let until = self.now + Time::from_secs(3);
        let open = self.nodes[node].open(self.now, &["test:first".into()], CHANNEL, None, until);
        self.run();
        let channel = self.nodes[node].opened(open).expect("an answer").expect("the channel");
        (0..sources).map(|_| self.nodes[node].add_source(channel, None).expect("a source")).collect()
    }

    /// Does what the nodes ask for, until none asks for anything.
    fn run(&mut self) {
        while let Some((node, action)) = (0..self.nodes.len()).find_map(|at| Some((at, self.nodes[at].action()?))) {
            match action {
                Action::Dial(dial, _) => {
                    self.connections += 1;
                    let id = ConnId(self.connections);
                    self.wires.insert(id.0, node);
                    self.nodes[node].connected(self.now, id, Some(dial), Credentials::default());
                    self.nodes[0].connected(self.now, id, None, Credentials::default());
                }
                Action::Write(id) => self.carry(node, id),
                Action::Close(id) => self.hang_up(id),
                _ => {}
            }
        }
    }

    fn carry(&mut self, from: usize, id: ConnId) {
        let mut out = Outgoing::default();
        self.nodes[from].output(self.now, id, &mut out);
        self.nodes[from].unwritten(id, 0);
        let Some(&dialer) = self.wires.get(&id.0) else { return };
        let to = if from == 0 { dialer } else { 0 };
        let mut bytes = self.unused.remove(&(id.0, to == 0)).unwrap_or_default();
        bytes.extend(out.to_vec());
        let used = self.nodes[to].receive(self.now, id, &bytes).expect("what nodes say to each other");
        self.unused.insert((id.0, to == 0), bytes.split_off(used));
    }

    fn hang_up(&mut self, id: ConnId) {
        let Some(dialer) = self.wires.remove(&id.0) else { return };
        for end in [0, dialer] {
            self.unused.remove(&(id.0, end == 0));
            self.nodes[end].closed(self.now, id, None);
        }
    }

    fn break_all(&mut self) {
        let all: Vec<u64> = self.wires.keys().copied().collect();
        all.into_iter().for_each(|id| self.hang_up(ConnId(id)));
        self.run();
    }

    fn tick(&mut self) {
        let now = self.now;
        self.nodes.iter_mut().for_each(|node| node.tick(now));
        self.run();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn few_sources_are_offered_and_leave() {
        super::exchange(3);
    }
}
