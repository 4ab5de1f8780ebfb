//! What the rules of a node keep others from, right by right (`spec/channel.md`, "Rules").

use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Credentials, FrameKind, Grants, HEADER, Header, Hello, Identity, Item, Key,
    Node, NodeId, OpenKey, Origin, Outgoing, Policy, Query, Reason, Refusal, Relayed, Rights, Settings, SinkKey,
    SourceKey, Submitted, Time, Wanted,
};
use isoform_core::{Code, Error, FieldList, Format, Result};
use std::sync::Arc;

type Body = Arc<[u8]>;
type Machine = Node<Body, Vec<u8>>;

const NOW: Time = Time::ZERO;
const TICKS: Identity = Identity([9; 16]);

/// Nodes that are connected to the first: the second over the connection 1, and so on. The system says that each is of the
/// user with its number, unless the test says otherwise.
struct World {
    nodes: Vec<Machine>,
    users: Vec<u32>,
    /// The kinds of frames that came out of each node.
    said: Vec<Vec<FrameKind>>,
    /// The nodes that have dialed others than the first, and where.
    dialed: Vec<(usize, String)>,
    errors: Vec<Error>,
}

fn node(at: usize, rules: &str) -> Machine {
    let rights = (!rules.is_empty()).then(|| Rights::parse(rules).expect("rules"));
    let settings = Settings { rights, addresses: vec![format!("unix:/{at}")], ..Settings::default() };
    Node::new(Key::from_seed([at as u8 + 1; 32]), settings)
}

impl World {
    /// Nodes with these rules, or without. The first has the channel "ticks".
    fn new(rules: &[&str]) -> World {
        let mut nodes: Vec<Machine> = rules.iter().enumerate().map(|(at, rules)| node(at, rules)).collect();
        nodes[0].create(TICKS, "ticks", None).expect("a channel");
        let (said, users) = (vec![Vec::new(); nodes.len()], (0..nodes.len() as u32).collect());
        World { nodes, users, said, dialed: Vec::new(), errors: Vec::new() }
    }

    fn ids(&self) -> Vec<NodeId> {
        self.nodes.iter().map(Node::id).collect()
    }

    fn run(&mut self) {
        let mut wires: Vec<(usize, ConnId, Vec<u8>)> = Vec::new();
        for _ in 0..40 {
            for from in 0..self.nodes.len() {
                while let Some(action) = self.nodes[from].action() {
                    self.act(from, action, &mut wires);
                }
            }
            for (to, id, bytes) in std::mem::take(&mut wires) {
                self.errors.extend(self.nodes[to].receive(NOW, id, &bytes).err());
            }
        }
    }

    fn act(&mut self, from: usize, action: Action, wires: &mut Vec<(usize, ConnId, Vec<u8>)>) {
        match action {
            // Everybody finds the first, and nobody else can be dialed.
            Action::Dial(dial, address) if address == "unix:/0" => {
                let id = ConnId(from as u64);
                let of = |user| Credentials { local_user: Some(user), ..Credentials::default() };
                self.nodes[from].connected(NOW, id, Some(dial), of(0));
                self.nodes[0].connected(NOW, id, None, of(self.users[from]));
            }
            Action::Dial(dial, address) => {
                self.dialed.push((from, address.clone()));
                self.nodes[from].dial_failed(NOW, dial, Error::new(Code::Unreachable).at(address));
            }
            Action::Write(id) | Action::Close(id) => {
                let mut out = Outgoing::default();
                self.nodes[from].output(NOW, id, &mut out);
                self.nodes[from].unwritten(id, 0);
                let bytes = out.to_vec();
                self.said[from].extend(kinds(&bytes));
                wires.push((if from == 0 { id.0 as usize } else { 0 }, id, bytes));
            }
            _ => {}
        }
    }

    /// A node opens a channel of the first by its name, and its identity if that is known.
    fn open(&mut self, node: usize, name: &str, identity: Option<Identity>) -> Result<ChannelKey> {
        let open: OpenKey = self.nodes[node].open(NOW, &["unix:/0".into()], name, identity, NOW + Time::from_secs(5));
        self.run();
        self.nodes[node].opened(open).expect("an answer")
    }

    fn source(&mut self, node: usize, lossless: bool) -> SourceKey {
        let grants = Grants { lossless, ..Grants::default() };
        let source = self.nodes[node].add_source_that(ChannelKey(0), None, grants).expect("a source");
        self.run();
        source
    }

    /// A source whose format is known before its first event.
    fn typed_source(&mut self, node: usize) -> SourceKey {
        let source = self.nodes[node].add_source(ChannelKey(0), Some(&tick())).expect("a source");
        self.run();
        source
    }

    fn sink(&mut self, node: usize, policy: Policy, must: bool) -> SinkKey {
        let wanted = Wanted { must, ..Wanted::any(policy) };
        let sink = self.nodes[node].add_sink(ChannelKey(0), wanted).expect("a sink");
        self.run();
        sink
    }

    fn sink_that_asks(&mut self, node: usize, query: &str) -> SinkKey {
        let wanted = Wanted { query: Some(Query::parse(query).expect("a query")), ..Wanted::any(Policy::Block) };
        let sink = self.nodes[node].add_sink(ChannelKey(0), wanted).expect("a sink");
        self.run();
        sink
    }

    /// The connection of a node breaks, and nobody has another one yet.
    fn cut(&mut self, node: usize) {
        for end in [0, node] {
            self.nodes[end].closed(NOW, ConnId(node as u64), None);
        }
    }

    fn submit(&mut self, node: usize, source: SourceKey) -> Submitted {
        let mut body: Body = Arc::new([7; 8]);
        let submitted = self.nodes[node].submit(0, source, Some(&tick()), &mut body).expect("an event");
        self.run();
        submitted
    }

    /// What a sink of a node has got.
    fn items(&mut self, node: usize, sink: SinkKey) -> Vec<Item> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.nodes[node].take(NOW, sink, &mut batch) {
            items.extend(batch.items());
        }
        self.run();
        items
    }

    /// How often a node has refused what the rules forbid, and the text of the last.
    fn forbidden(&self, node: usize) -> Vec<(u64, String)> {
        let is_it = |refusal: &&Refusal| refusal.code == Code::Forbidden as u16;
        self.nodes[node].refusals().iter().filter(is_it).map(|it| (it.count, it.last.clone())).collect()
    }

    fn members(&self, node: usize) -> usize {
        self.nodes[node].info(ChannelKey(0)).map_or(0, |info| info.members.len() - 1)
    }
}

fn tick() -> Format {
    let format = FieldList::new("Tick").field("count", "integer", 8, 0);
    format.format(isoform_core::Machine::NATIVE, 8, 8).expect("a format")
}

fn kinds(bytes: &[u8]) -> Vec<FrameKind> {
    // A Hello begins as no frame does.
    let mut rest = if bytes.starts_with(&[0x89]) { &bytes[Hello::LENGTH..] } else { bytes };
    let mut kinds = Vec::new();
    while let Some(header) = rest.first_chunk::<HEADER>() {
        let header = Header::parse(header).expect("a frame");
        kinds.extend(header.kind);
        rest = &rest[header.extent()..];
    }
    kinds
}

fn events(items: &[Item]) -> usize {
    items.iter().filter(|item| matches!(item, Item::Event { .. })).count()
}

fn refused(items: &[Item]) -> Vec<Code> {
    let code = |item: &Item| if let Item::Refused(_, error) = item { Some(error.code()) } else { None };
    items.iter().filter_map(code).collect()
}

#[test]
fn without_rules_everybody_may_do_everything() {
    let mut world = World::new(&["", ""]);
    world.open(1, "ticks", None).unwrap();
    let (source, sink) = (world.source(0, true), world.sink(1, Policy::Block, true));
    assert_eq!(world.submit(0, source), Submitted::Done(0));
    assert_eq!(events(&world.items(1, sink)), 1);
    assert!(world.forbidden(0).is_empty() && world.errors.is_empty());
}

#[test]
fn who_may_not_see_a_channel_is_told_the_same_whether_it_exists_or_not() {
    let rules = "allow user 2 all on *\nallow user 1 see on other free\n";
    let mut world = World::new(&[rules, "", ""]);
    let code = |opened: Result<ChannelKey>| opened.unwrap_err().code();
    for identity in [None, Some(TICKS), Some(Identity([7; 16]))] {
        assert_eq!(code(world.open(1, "ticks", identity)), Code::Forbidden, "{identity:?}");
        assert_eq!(code(world.open(1, "nothing", identity)), Code::Forbidden, "{identity:?}");
        // The name may be seen: there is no such channel, also if the identity leads to one that may not be seen.
        assert_eq!(code(world.open(1, "free", identity)), Code::NoSuchChannel, "{identity:?}");
    }
    assert_eq!(world.members(0), 0);
    world.open(2, "ticks", None).unwrap();
    assert_eq!(world.members(0), 1);
    let [(count, last)] = &world.forbidden(0)[..] else { panic!("one reason") };
    assert_eq!(*count, 7, "six Opens by the name, one by the identity");
    assert!(last.contains("the right to see") && last.ends_with("to user 1"), "{last}");
}

#[test]
fn the_other_node_learns_which_right_it_lacks_and_not_what_the_rules_say() {
    let mut world = World::new(&["# secret\ndeny anyone see on *", ""]);
    let error = world.open(1, "ticks", None).unwrap_err().to_string();
    assert!(error.contains("the right to see") && !error.contains("line") && !error.contains("user"), "{error}");
    assert!(world.forbidden(0)[0].1.contains("line 2"));
}

#[test]
fn a_node_opens_no_channel_at_a_node_that_may_not_see_it() {
    let mut world = World::new(&["", "deny user 0 see on ticks\nallow anyone all on *"]);
    let error = world.open(1, "ticks", None).unwrap_err();
    assert!(error.code() == Code::Forbidden && error.to_string().contains("line 1"), "{error}");
    assert_eq!((world.members(0), world.said[1].contains(&FrameKind::Open)), (0, false), "it is not even asked");
}

/// Without formats, so that nobody learns one of whom it is not the concern.
fn refused_at_once(world: &World) {
    assert!(!world.said[1].contains(&FrameKind::Subscribe), "it does not even ask");
    assert!(!world.said[0].contains(&FrameKind::Format));
}

#[test]
fn sinks_that_may_not_subscribe_are_told_for_each_source() {
    let mut world = World::new(&["allow user 1 see,ask,publish on *\nallow user 2 see,subscribe on *", "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    let before = world.typed_source(0);
    let sink = world.sink(1, Policy::Block, false);
    refused_at_once(&world);
    let allowed = world.sink(2, Policy::Block, false);
    let after = world.source(0, false);
    for source in [before, after] {
        assert_eq!(world.submit(0, source), Submitted::Done(0));
        assert_eq!(world.nodes[0].listeners(source), 1);
    }
    let items = world.items(1, sink);
    assert_eq!((events(&items), refused(&items)), (0, vec![Code::Forbidden; 2]));
    assert!(
        items.iter().any(
            |item| matches!(item, Item::Refused(_, error) if error.to_string().contains("the right to subscribe"))
        )
    );
    assert_eq!(events(&world.items(2, allowed)), 2);
    assert_eq!(world.forbidden(0)[0].0, 2, "once for each source");
    assert!(world.forbidden(0)[0].1.contains("the right to subscribe"));
    // So is a sink that comes later.
    let late = world.sink(1, Policy::Latest, false);
    assert_eq!(refused(&world.items(1, late)), [Code::Forbidden; 2]);
}

#[test]
fn sinks_get_events_as_soon_as_they_may_subscribe() {
    let rules = |rights: &str| Some(Rights::parse(&format!("allow user 1 {rights} on *")).expect("rules"));
    let mut world = World::new(&["allow user 1 see,ask on *", ""]);
    world.open(1, "ticks", None).unwrap();
    let source = world.typed_source(0);
    let sink = world.sink(1, Policy::Block, false);
    for turn in 0..3 {
        assert_eq!(refused(&world.items(1, sink)), [Code::Forbidden], "{turn}");
        // Rules that change nothing for it say nothing to it.
        world.nodes[0].set_rights(NOW, rules("see"));
        world.run();
        assert!(world.items(1, sink).is_empty());
        world.nodes[0].set_rights(NOW, rules("see,subscribe"));
        world.run();
        world.nodes[0].set_rights(NOW, rules("see,subscribe,ask"));
        world.run();
        assert_eq!(world.submit(0, source), Submitted::Done(turn));
        let items = world.items(1, sink);
        assert_eq!((events(&items), refused(&items)), (1, vec![]), "{items:?}");
        world.nodes[0].set_rights(NOW, rules("see"));
        world.run();
        let late = world.sink(1, Policy::Latest, false);
        assert_eq!(refused(&world.items(1, late)), [Code::Forbidden], "the source is still there");
        world.nodes[1].end_sink(late);
        world.run();
    }
    // Taken and given back before the other node hears of either.
    world.items(1, sink);
    for _ in 0..2 {
        world.nodes[0].set_rights(NOW, rules("see,subscribe"));
        world.nodes[0].set_rights(NOW, rules("see"));
    }
    world.nodes[0].set_rights(NOW, rules("see,subscribe"));
    world.run();
    world.items(1, sink);
    assert_eq!(world.submit(0, source), Submitted::Done(3));
    assert_eq!(events(&world.items(1, sink)), 1);
}

#[test]
fn sinks_that_must_have_block_get_events_as_soon_as_they_may_block() {
    let rules = |rights: &str| Some(Rights::parse(&format!("allow user 1 {rights} on *")).expect("rules"));
    let mut world = World::new(&["allow user 1 see,subscribe on *", ""]);
    world.open(1, "ticks", None).unwrap();
    let source = world.source(0, true);
    let sink = world.sink(1, Policy::Block, true);
    assert_eq!(refused(&world.items(1, sink)), [Code::Forbidden]);
    world.nodes[0].set_rights(NOW, rules("see,subscribe,block"));
    world.run();
    assert_eq!(world.submit(0, source), Submitted::Done(0));
    assert_eq!(events(&world.items(1, sink)), 1);
}

#[test]
fn a_source_that_a_sink_had_and_lost_joins_as_another_one_when_the_sink_asks_for_less() {
    let rules = |rights: &str| Some(Rights::parse(&format!("allow user 1 {rights} on *")).expect("rules"));
    let mut world = World::new(&["allow user 1 see,subscribe,block on *", ""]);
    world.open(1, "ticks", None).unwrap();
    world.source(0, true);
    let sink = world.sink(1, Policy::Block, true);
    world.nodes[0].set_rights(NOW, rules("see,subscribe"));
    world.run();
    world.nodes[1].set_policy(sink, Policy::Latest, false);
    world.run();
    let items = world.items(1, sink);
    let joined =
        items.iter().filter_map(|item| if let Item::Joined { source, .. } = item { Some(source) } else { None });
    let [first, second] = joined.collect::<Vec<_>>()[..] else { panic!("it joins twice: {items:?}") };
    assert!(items.contains(&Item::Left(*first)) && first != second, "{items:?}");
}

#[test]
fn who_may_not_see_a_channel_hears_nothing_of_its_sources() {
    let mut world = World::new(&["allow user 1 subscribe on *\nallow user 1 see on other", ""]);
    assert_eq!(world.open(1, "ticks", None).unwrap_err().code(), Code::Forbidden);
    world.nodes[0].create(Identity([8; 16]), "other", None).expect("a channel");
    let other = world.open(1, "other", None).unwrap();
    world.nodes[1].add_sink(other, Wanted::any(Policy::Block)).expect("a sink");
    world.source(0, false);
    assert!(!world.said[0].contains(&FrameKind::Offer));
}

#[test]
fn sources_of_those_who_may_not_publish_are_declined_and_the_program_is_told() {
    let mut world = World::new(&["deny user 1 publish on ticks\nallow anyone all on *", "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    let sink = world.sink(0, Policy::Block, false);
    let sources = [1, 2].map(|node| world.source(node, false));
    assert_eq!(world.submit(1, sources[0]), Submitted::Done(0));
    assert_eq!(world.nodes[1].listeners(sources[0]), 0);
    assert_eq!(world.submit(2, sources[1]), Submitted::Done(0));
    let items = world.items(0, sink);
    assert_eq!((events(&items), refused(&items)), (1, vec![Code::Forbidden]));
    assert!(world.forbidden(0)[0].1.contains("line 1"));
    let declined = world.nodes[1].info(ChannelKey(0)).unwrap().declined;
    assert_eq!(
        declined.iter().map(|(node, error)| (*node, error.code())).collect::<Vec<_>>(),
        [(world.ids()[0], Code::Forbidden)]
    );
    // A sink that comes later is told as well.
    let late = world.sink(0, Policy::Latest, false);
    assert_eq!(refused(&world.items(0, late)), [Code::Forbidden]);
}

#[test]
fn nobody_is_sent_to_the_sources_of_those_who_may_not_publish() {
    for (rules, is_sent) in [("deny user 2 publish on ticks\nallow anyone all on *", false), ("", true)] {
        let mut world = World::new(&[rules, "", ""]);
        (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
        world.sink(1, Policy::Block, false);
        world.source(2, false);
        assert_eq!(world.dialed.contains(&(1, "unix:/2".into())), is_sent, "{:?}", world.dialed);
        assert_eq!((world.members(0), world.members(1)), (2, 2), "it is a member all the same");
    }
}

#[test]
fn the_rules_of_who_dials_hold_for_those_it_dials() {
    let mut world = World::new(&["", "deny anyone publish on *\nallow anyone all on *"]);
    world.open(1, "ticks", None).unwrap();
    let (source, sink) = (world.source(0, false), world.sink(1, Policy::Block, false));
    assert_eq!((world.submit(0, source), world.nodes[0].listeners(source)), (Submitted::Done(0), 0));
    let items = world.items(1, sink);
    assert_eq!((events(&items), refused(&items)), (0, vec![Code::Forbidden]));
}

#[test]
fn sources_wait_only_for_those_who_may_block() {
    let mut world = World::new(&["deny user 1 block on *\nallow anyone all on *", "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    let source = world.source(0, true);
    let must = [1, 2].map(|node| world.sink(node, Policy::Block, true));
    assert_eq!(refused(&world.items(1, must[0])), [Code::Forbidden]);
    assert_eq!(refused(&world.items(2, must[1])), []);
    assert_eq!(world.nodes[0].listeners(source), 1);
    // A sink that may drop gets another policy, and is told why.
    let may = world.sink(1, Policy::Block, false);
    let granted = world.nodes[1].granted(may)[0].1;
    assert!(granted.reason == Reason::Forbidden && granted.policy != Policy::Block, "{granted}");
    // To ask again does not help.
    world.nodes[1].set_policy(may, Policy::Latest, false);
    world.nodes[1].set_policy(may, Policy::Block, false);
    world.run();
    let granted = world.nodes[1].granted(may)[0].1;
    assert!(granted.reason == Reason::Forbidden && granted.policy != Policy::Block, "{granted}");
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn sources_evaluate_queries_only_for_those_who_may_ask_them() {
    let rules = "deny user 1 query on *\nallow anyone all on *";
    let mut world = World::new(&[rules, "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    let source = world.typed_source(0);
    let [refused_sink, sink] = [1, 2].map(|node| world.sink_that_asks(node, "every 2"));
    let whole = world.sink(1, Policy::Block, false);
    (0..4).for_each(|_| _ = world.submit(0, source));
    let items = world.items(1, refused_sink);
    assert_eq!((events(&items), refused(&items)), (0, vec![Code::Forbidden]));
    let says =
        |item: &Item| matches!(item, Item::Refused(_, error) if error.to_string().contains("the right to query"));
    assert!(items.iter().any(says), "{items:?}");
    assert_eq!(events(&world.items(2, sink)), 2);
    assert_eq!(events(&world.items(1, whole)), 4, "whole events need no such right");
    assert!(world.forbidden(0)[0].1.contains("line 1"));
    // Given, and taken again.
    world.change(ALL);
    (0..4).for_each(|_| _ = world.submit(0, source));
    assert_eq!(events(&world.items(1, refused_sink)), 2);
    _ = world.items(1, refused_sink);
    world.change(rules);
    assert_eq!(refused(&world.items(1, refused_sink)), [Code::Forbidden]);
    _ = world.items(1, refused_sink);
    assert_eq!(world.nodes[0].listeners(source), 2);
    (0..4).for_each(|_| _ = world.submit(0, source));
    assert_eq!((events(&world.items(1, refused_sink)), events(&world.items(1, whole))), (0, 8));
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn what_a_sink_may_not_have_in_a_new_epoch_is_told() {
    const BLOCKS: &str = "deny user 5 block on *\nallow anyone all on *";
    const ASKS: &str = "deny user 5 query on *\nallow anyone all on *";
    // It comes back as another user; or the rules change while there is no connection, for whoever comes back.
    for (is_other, rules, right) in
        [(true, BLOCKS, "block"), (false, BLOCKS, "block"), (true, ASKS, "query"), (false, ASKS, "query")]
    {
        let mut world = World::new(&[if is_other { rules } else { ALL }, ""]);
        world.open(1, "ticks", None).unwrap();
        let source = world.source(0, true);
        let must = world.sink(1, Policy::Block, true);
        let may = world.sink(1, Policy::Block, false);
        let asks = world.sink_that_asks(1, "every 1");
        (0..2).for_each(|_| _ = world.submit(0, source));
        for sink in [must, may, asks] {
            assert_eq!(events(&world.items(1, sink)), 2);
            _ = world.items(1, sink);
        }
        world.cut(1);
        if is_other {
            world.users[1] = 5;
        } else {
            world.nodes[0].set_rights(NOW, Some(Rights::parse(&rules.replace('5', "1")).unwrap()));
        }
        world.run();
        assert!(world.forbidden(0).iter().any(|(_, last)| last.contains(&format!("the right to {right}"))));
        let gone = if right == "block" { must } else { asks };
        for sink in [must, may, asks] {
            let items = world.items(1, sink);
            let told = items.iter().filter_map(|item| match item {
                Item::Refused(_, error) => Some(error.to_string()),
                _ => None,
            });
            let told: Vec<String> = told.collect();
            assert_eq!(told.len(), usize::from(sink == gone), "{told:?}");
            assert!(told.iter().all(|told| told.contains(&format!("the right to {right}"))), "{told:?}");
            _ = world.items(1, sink);
        }
        let granted = world.nodes[1].granted(may)[0].1;
        let is_forbidden = granted.reason == Reason::Forbidden && granted.policy != Policy::Block;
        assert_eq!(is_forbidden, right == "block", "{granted}");
        assert_eq!(world.nodes[0].listeners(source), 2);
        assert_eq!(world.submit(0, source), Submitted::Done(2));
        for sink in [must, may, asks] {
            assert_eq!(events(&world.items(1, sink)), usize::from(sink != gone));
            _ = world.items(1, sink);
        }
        let closed = world.nodes[0].ledger(source).into_iter().find(|it| !it.present).expect("a closed account");
        assert_eq!((closed.sink, closed.ledger.submitted, closed.ledger.acknowledged), (gone.0, 2, 2));
        assert!(closed.ledger.is_exact() && world.errors.is_empty(), "{:?}", world.errors);
    }
}

#[test]
fn members_of_whom_others_tell_count_only_if_those_may_introduce() {
    for (rules, known) in [("deny user 0 introduce on *\nallow anyone all on *", 1), ("", 2)] {
        let mut world = World::new(&["", rules, ""]);
        (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
        world.source(2, false);
        assert_eq!((world.members(0), world.members(1)), (2, known), "{rules}");
        assert_eq!(world.forbidden(1).len(), usize::from(known == 1));
    }
}

#[test]
fn who_may_not_ask_is_answered_with_the_reason() {
    let mut world = World::new(&["deny user 1 ask on *\nallow anyone all on *", "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    world.source(0, false);
    for (node, code) in [(1, Some(Code::Forbidden as u16)), (2, None)] {
        world.nodes[node].ask(ChannelKey(0), NOW);
        world.run();
        let info = world.nodes[node].info(ChannelKey(0)).unwrap();
        let report = info.members.iter().find_map(|it| it.report.as_ref().filter(|_| it.node == world.ids()[0]));
        let report = report.expect("an answer");
        assert_eq!(
            (report.refused.as_ref().map(|it| it.code), report.sources.len()),
            (code, 1 - code.is_some() as usize)
        );
    }
}

#[test]
fn reports_do_not_tell_the_names_of_channels_that_may_not_be_seen() {
    let mut world = World::new(&["allow user 2 all on ticks", "", ""]);
    _ = world.open(1, "plans-for-friday", None);
    world.open(2, "ticks", None).unwrap();
    world.nodes[2].ask(ChannelKey(0), NOW);
    world.run();
    let info = world.nodes[2].info(ChannelKey(0)).unwrap();
    let refusals: Vec<&Refusal> = info.members[1].report.iter().flat_map(|report| &report.refusals).collect();
    assert_eq!(refusals.iter().map(|it| (it.code, it.count, &*it.last)).collect::<Vec<_>>(), [(411, 1, "")]);
}

#[test]
fn reports_do_not_tell_what_the_rules_say_of_others() {
    let mut world = World::new(&["deny user 1 subscribe on ticks\nallow anyone all on *", "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    world.source(0, false);
    world.sink(1, Policy::Block, false);
    world.nodes[2].ask(ChannelKey(0), NOW);
    world.run();
    let told = world.nodes[2].info(ChannelKey(0)).unwrap().members[1].report.clone().expect("an answer").refusals;
    let right = "forbidden at ticks: expected the right to subscribe";
    assert_eq!(told.iter().map(|it| (it.code, &*it.last)).collect::<Vec<_>>(), [(411, right)]);
    // Its own program learns more.
    let own = &world.forbidden(0)[0].1;
    assert_eq!(*own, format!("{right}, found line 1 of the rules, which denies it to user 1"));
}

const ALL: &str = "allow anyone all on *";

impl World {
    /// The first node has other rules from now on.
    fn change(&mut self, rules: &str) {
        self.nodes[0].set_rights(NOW, Some(Rights::parse(rules).expect("rules")));
        self.run();
    }

    /// The account of a source with the sinks of another node: submitted, acknowledged, lost, and still there.
    fn account(&self, node: usize, source: SourceKey, of: usize) -> (u64, u64, u64, bool) {
        let all = self.nodes[node].ledger(source);
        let one = all.iter().find(|it| it.node == self.ids()[of]).expect("an account");
        let ledger = one.ledger;
        assert_eq!(
            ledger.submitted,
            ledger.acknowledged + ledger.superseded + ledger.lost() + ledger.skipped + ledger.in_flight
        );
        (ledger.submitted, ledger.acknowledged, ledger.lost(), one.present)
    }
}

#[test]
fn a_subscription_that_is_not_allowed_any_more_ends_with_an_exact_account() {
    let mut world = World::new(&[ALL, ""]);
    world.open(1, "ticks", None).unwrap();
    let (source, sink) = (world.source(0, true), world.sink(1, Policy::Block, true));
    (0..3).for_each(|_| _ = world.submit(0, source));
    assert_eq!(events(&world.items(1, sink)), 3);
    (0..2).for_each(|_| _ = world.submit(0, source));
    world.change("deny anyone subscribe on *\nallow anyone all on *");
    assert_eq!(world.submit(0, source), Submitted::Done(5), "it is not over before the sink has taken all");
    let items = world.items(1, sink);
    assert_eq!((events(&items), refused(&items)), (2, vec![Code::Forbidden]), "what was sent before has arrived");
    _ = world.items(1, sink);
    assert_eq!(world.account(0, source, 1), (5, 5, 0, false));
    assert_eq!((world.submit(0, source), world.nodes[0].listeners(source)), (Submitted::Done(6), 0));
    // With the right, it comes back by itself.
    world.change(ALL);
    assert_eq!(world.nodes[0].listeners(source), 1);
    _ = world.submit(0, source);
    assert_eq!(events(&world.items(1, sink)), 1);
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn what_waits_for_a_sink_that_may_not_have_it_any_more_is_lost() {
    let mut world = World::new(&[ALL, ""]);
    world.open(1, "ticks", None).unwrap();
    let source = world.source(0, false);
    let sink = world.sink(1, Policy::Latest, false);
    (0..5).for_each(|_| _ = world.submit(0, source));
    world.change("deny anyone subscribe on *\nallow anyone all on *");
    while !world.items(1, sink).is_empty() {}
    assert_eq!(world.account(0, source, 1), (5, 1, 1, false), "three were superseded before");
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn events_of_a_source_that_may_not_publish_any_more_do_not_arrive() {
    let mut world = World::new(&[ALL, ""]);
    world.open(1, "ticks", None).unwrap();
    let (sink, source) = (world.sink(0, Policy::Block, false), world.source(1, false));
    (0..3).for_each(|_| _ = world.submit(1, source));
    // It has no chance to hear of it before it submits more.
    world.nodes[0].set_rights(NOW, Some(Rights::parse("deny anyone publish on *\nallow anyone all on *").unwrap()));
    (0..2).for_each(|_| _ = world.submit(1, source));
    let items = world.items(0, sink);
    assert_eq!((events(&items), refused(&items)), (3, vec![Code::Forbidden]));
    _ = world.items(0, sink);
    assert_eq!(world.account(1, source, 0), (5, 3, 2, false));
    assert_eq!((world.submit(1, source), world.nodes[1].listeners(source)), (Submitted::Done(5), 0));
    world.change(ALL);
    _ = world.submit(1, source);
    assert_eq!(events(&world.items(0, sink)), 1);
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn a_member_that_may_not_see_the_channel_any_more_is_none() {
    let mut world = World::new(&[ALL, ""]);
    world.open(1, "ticks", None).unwrap();
    let (source, sink) = (world.source(0, false), world.sink(1, Policy::Block, false));
    let (own, theirs) = (world.sink(0, Policy::Block, false), world.source(1, false));
    _ = (world.submit(0, source), world.submit(1, theirs));
    assert_eq!([world.items(1, sink), world.items(0, own)].map(|items| events(&items)), [1 + 1, 1 + 1]);
    world.change("allow user 7 all on *");
    let items = [world.items(1, sink), world.items(0, own)];
    assert_eq!(items.map(|items| refused(&items)), [[Code::Forbidden], [Code::Forbidden]]);
    let linked = |world: &World| world.nodes[0].info(ChannelKey(0)).unwrap().members.iter().skip(1).count();
    let reports = world.nodes[0].info(ChannelKey(0)).unwrap();
    assert!(reports.members.iter().skip(1).all(|it| it.reach != isoform_channel_proto::Reach::Linked));
    world.nodes[1].ask(ChannelKey(0), NOW);
    world.run();
    _ = (world.submit(0, source), world.submit(1, theirs));
    assert_eq!([world.items(1, sink), world.items(0, own)].map(|items| events(&items)), [1, 1], "only their own");
    world.change(ALL);
    assert_eq!(linked(&world), 1);
    _ = (world.submit(0, source), world.submit(1, theirs));
    assert_eq!([world.items(1, sink), world.items(0, own)].map(|items| events(&items)), [2, 2]);
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn members_that_are_turned_out_together_hear_nothing_of_each_other() {
    for has_source in [1, 2] {
        let mut world = World::new(&[ALL, "", ""]);
        [1, 2].into_iter().for_each(|node| _ = world.open(node, "ticks", None).unwrap());
        // Without the source, nobody serves the sink: that is news for the members.
        _ = (world.sink(0, Policy::Block, false), world.source(has_source, false));
        world.said[0].clear();
        world.change("allow user 7 all on *");
        assert_eq!(world.members(0), 2, "they are known, and not linked");
        assert!(!world.said[0].contains(&FrameKind::Members), "{:?}", world.said[0]);
        assert!(world.said[0].contains(&FrameKind::Leave));
    }
}

#[test]
fn sources_stop_waiting_for_those_who_may_not_block_any_more() {
    let mut world = World::new(&[ALL, "", ""]);
    (1..3).for_each(|node| _ = world.open(node, "ticks", None).unwrap());
    let source = world.source(0, true);
    let [must, may] = [(1, true), (2, false)].map(|(node, must)| world.sink(node, Policy::Block, must));
    world.change("deny anyone block on *\nallow anyone all on *");
    assert_eq!(refused(&world.items(1, must)), [Code::Forbidden]);
    let granted = world.nodes[2].granted(may)[0].1;
    assert!(granted.reason == Reason::Forbidden && granted.policy != Policy::Block, "{granted}");
    _ = world.submit(0, source);
    assert_eq!((events(&world.items(1, must)), events(&world.items(2, may))), (0, 1));
    assert!(world.errors.is_empty(), "{:?}", world.errors);
}

#[test]
fn events_that_come_from_elsewhere_need_the_right_to_relay() {
    for (rules, delivered) in [("deny anyone relay on *\nallow anyone all on *", 1), (ALL, 2)] {
        let mut world = World::new(&[rules, ""]);
        world.open(1, "ticks", None).unwrap();
        let (sink, source) = (world.sink(0, Policy::Block, false), world.source(1, false));
        _ = world.submit(1, source);
        let format = isoform_core::FieldList::new("Tick").field("count", "integer", 8, 0);
        let format = format.format(isoform_core::Machine::NATIVE, 8, 8).expect("a format");
        let origin = Origin { node: world.ids()[0], source: 0, sequence: 0 };
        let draft: Body = Arc::new([7; 8]);
        world.nodes[1].submit(0, source, Some(&format), &mut Relayed { draft, origin }).expect("an event");
        world.run();
        let items = world.items(0, sink);
        assert_eq!((events(&items), refused(&items).len()), (delivered, 2 - delivered));
        assert!(world.errors.is_empty(), "{:?}", world.errors);
    }
}
