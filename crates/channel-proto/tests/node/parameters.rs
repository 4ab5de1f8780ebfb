//! Sinks choose the values of a source's parameters, and its program generates for each of these demands once.

use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Credentials, Given, Grants, Identity, Item, Key, Node, Outgoing, Parameters,
    Policy, Query, Rights, Settings, SinkKey, SourceKey, Submitted, Time, Wanted,
};
use isoform_core::{Code, FieldList, Format, Machine, Shape, Value, value};
use std::sync::Arc;

type Body = Arc<[u8]>;

const NOW: Time = Time::ZERO;

/// A node with a source that has parameters, and another one with sinks.
struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    wires: [Vec<u8>; 2],
    /// The number of the connection; `None` while there is none.
    connection: Option<u64>,
    source: SourceKey,
    channels: [ChannelKey; 2],
}

fn format() -> Format {
    FieldList::new("Tick").field("count", "integer", 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

/// Values of `level` and `quantity`, those that are given.
fn values(name: &str, level: Option<i64>, quantity: Option<&str>) -> Parameters {
    let mut shape = Shape::new(name);
    let mut record = Vec::new();
    if let Some(level) = level {
        shape = shape.field("level", "long");
        record.push(("level".into(), Value::Integer(level.into())));
    }
    if let Some(quantity) = quantity {
        shape = shape.field("quantity", "string");
        record.push(("quantity".into(), Value::String(quantity.into())));
    }
    let format = shape.on(&isoform_core::Layout::S390X).unwrap();
    Parameters::new(&format, &value::body(&format, &Value::Record(record)).unwrap()).unwrap()
}

fn level(level: i64) -> Parameters {
    values("own", Some(level), None)
}

/// JSON of the source's values.
fn all(level: i64, quantity: &str) -> String {
    format!(r#"{{"level":{level},"quantity":"{quantity}"}}"#)
}

impl Pair {
    fn new(grants: Grants) -> Pair {
        let node = |byte| {
            let addresses = vec![format!("test:{byte}")];
            Node::new(Key::from_seed([byte; 32]), Settings { addresses, ..Settings::default() })
        };
        let mut nodes = [node(1), node(2)];
        let channel = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
        let defaults = values("Detail", Some(1), Some("depth"));
        let source = nodes[0].add_source_with(channel, Some(&format()), grants, Some(&defaults), None).unwrap();
        let wires = [Vec::new(), Vec::new()];
        let mut pair = Pair { nodes, wires, connection: None, source, channels: [channel, channel] };
        let open = pair.nodes[1].open(NOW, &["test:1".into()], "ticks", None, Time::from_secs(5));
        pair.run();
        pair.channels[1] = pair.nodes[1].opened(open).unwrap().unwrap();
        pair
    }

    fn run(&mut self) {
        for i in [0, 1].repeat(60) {
            while let Some(action) = self.nodes[i].action() {
                match action {
                    Action::Dial(dial, _) => {
                        let number = self.connection.map_or(1, |before| before + 1);
                        self.connection = Some(number);
                        self.wires = [Vec::new(), Vec::new()];
                        let known = Credentials { local_user: Some(7), ..Credentials::default() };
                        self.nodes[i].connected(NOW, ConnId(number), Some(dial), known.clone());
                        self.nodes[1 - i].connected(NOW, ConnId(number), None, known);
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        self.nodes[i].output(NOW, id, &mut out);
                        self.nodes[i].unwritten(id, 0);
                        self.wires[1 - i].extend(out.to_vec());
                    }
                    _ => {}
                }
            }
            let Some(number) = self.connection else { continue };
            let used = self.nodes[i].receive(NOW, ConnId(number), &self.wires[i]).unwrap_or(0);
            self.wires[i].drain(..used);
        }
    }

    /// The connection breaks, with everything that is on its way; the nodes meet again at the next [`run`](Pair::run).
    fn cut(&mut self) {
        let number = self.connection.expect("a connection");
        self.wires = [Vec::new(), Vec::new()];
        self.nodes.iter_mut().for_each(|node| node.closed(NOW, ConnId(number), None));
    }

    fn sink(&mut self, node: usize, parameters: Option<Parameters>) -> SinkKey {
        self.sink_that(node, Wanted { parameters, ..Wanted::any(Policy::Block) })
    }

    fn sink_that(&mut self, node: usize, wanted: Wanted) -> SinkKey {
        let sink = self.nodes[node].add_sink(self.channels[node], wanted).unwrap();
        self.run();
        sink
    }

    /// Submits an event for the sinks that have these values; for all, if none are given.
    fn submit(&mut self, values: Option<String>) -> Submitted {
        let demand = values.map(|values| self.demand(&values).expect("a demand"));
        let body = &mut Body::from([1; 8]);
        let submitted = match demand {
            Some(demand) => self.nodes[0].submit_for(|| 7, self.source, demand, None, body),
            None => self.nodes[0].submit(7, self.source, None, body),
        };
        self.run();
        submitted.unwrap()
    }

    fn demand(&self, values: &str) -> Option<isoform_channel_proto::DemandKey> {
        let all = self.nodes[0].demands(self.source);
        all.into_iter().find(|demand| demand.values.to_string() == values).map(|demand| demand.key)
    }

    /// The demands: values, and the number of sinks.
    fn demands(&self) -> Vec<(String, usize)> {
        let all = self.nodes[0].demands(self.source).into_iter();
        all.map(|demand| (demand.values.to_string(), demand.sinks)).collect()
    }

    fn items(&mut self, node: usize, sink: SinkKey) -> Vec<Item> {
        let (mut batch, mut items) = (Batch::default(), Vec::new());
        while self.nodes[node].take(NOW, sink, &mut batch) {
            items.extend(batch.items());
        }
        self.run();
        items
    }

    /// What a sink was given, and the events that came.
    fn came(&mut self, node: usize, sink: SinkKey) -> (Vec<(u64, String)>, Vec<u64>) {
        let (mut given, mut events) = (Vec::new(), Vec::new());
        for item in self.items(node, sink) {
            match item {
                Item::Given(_, said) => given.push((said.first, said.values.to_string())),
                Item::Event { sequence, .. } => events.push(sequence),
                _ => {}
            }
        }
        (given, events)
    }

    fn said(&mut self, node: usize, sink: SinkKey) -> Option<Given> {
        let items = self.items(node, sink).into_iter();
        items.filter_map(|item| if let Item::Given(_, given) = item { Some(*given) } else { None }).last()
    }

    fn refused(&mut self, node: usize, sink: SinkKey) -> Option<Code> {
        let items = self.items(node, sink).into_iter();
        items.filter_map(|item| if let Item::Refused(_, error) = item { Some(error.code()) } else { None }).last()
    }

    fn accounts_are_exact(&self) {
        for account in self.nodes[0].ledger(self.source) {
            assert!(account.ledger.is_exact() && account.ledger.lost() == 0, "{}", account.ledger);
        }
    }
}

#[test]
fn each_demand_is_generated_once_and_others_get_nothing_of_it() {
    let mut pair = Pair::new(Grants::default());
    assert_eq!(pair.demands(), [], "nobody wants anything");
    let here = pair.sink(0, Some(level(3)));
    let [first, second] = [3, 4].map(|wanted| pair.sink(1, Some(level(wanted))));
    let third = pair.sink(1, Some(values("other", Some(3), Some("depth"))));
    let plain = pair.sink(1, None);
    assert_eq!(pair.demands(), [(all(3, "depth"), 3), (all(4, "depth"), 1), (all(1, "depth"), 1)]);
    assert_eq!(pair.submit(Some(all(3, "depth"))), Submitted::Done(0));
    assert_eq!(pair.submit(Some(all(4, "depth"))), Submitted::Done(1));
    assert_eq!(pair.submit(None), Submitted::Done(2));
    assert_eq!(pair.submit(Some(all(1, "depth"))), Submitted::Done(3));
    for (node, sink, values, events) in [
        (0, here, all(3, "depth"), &[0, 2][..]),
        (1, first, all(3, "depth"), &[0, 2]),
        (1, second, all(4, "depth"), &[1, 2]),
        (1, third, all(3, "depth"), &[0, 2]),
        (1, plain, all(1, "depth"), &[2, 3]),
    ] {
        assert_eq!(pair.came(node, sink), (vec![(0, values)], events.to_vec()));
    }
    pair.accounts_are_exact();
    pair.nodes[1].end_sink(second);
    pair.run();
    assert_eq!(pair.demands(), [(all(3, "depth"), 3), (all(1, "depth"), 1)]);
}

#[test]
fn a_sink_changes_its_values_while_it_runs() {
    let mut pair = Pair::new(Grants::default());
    for node in [0, 1] {
        let sink = pair.sink(node, Some(level(3)));
        let before = pair.nodes[0].demand_changes(pair.source);
        let first = match pair.submit(Some(all(3, "depth"))) {
            Submitted::Done(first) => first,
            other => panic!("{other:?}"),
        };
        pair.nodes[node].set_parameters(sink, values("own", None, Some("speed")));
        pair.run();
        assert_ne!(pair.nodes[0].demand_changes(pair.source), before);
        assert_eq!(pair.demands(), [(all(1, "speed"), 1)], "the level has its default");
        pair.submit(Some(all(1, "speed")));
        let given = vec![(first, all(3, "depth")), (first + 1, all(1, "speed"))];
        assert_eq!(pair.came(node, sink), (given, vec![first, first + 1]));
        pair.accounts_are_exact();
        pair.nodes[node].end_sink(sink);
        pair.run();
    }
}

#[test]
fn a_source_grants_less_and_its_sinks_are_told() {
    let mut pair = Pair::new(Grants::default());
    let [fine, finer] = [10, 20].map(|wanted| pair.sink(1, Some(level(wanted))));
    let [first, second] = [10, 20].map(|level| pair.demand(&all(level, "depth")).unwrap());
    assert_eq!(pair.nodes[0].grant_values(pair.source, first, &level(5)), Ok(first));
    assert_eq!(pair.nodes[0].grant_values(pair.source, second, &level(5)), Ok(first), "it becomes part of the first");
    pair.run();
    assert_eq!(pair.demands(), [(all(5, "depth"), 2)]);
    pair.submit(Some(all(5, "depth")));
    for (sink, asked) in [(fine, 10), (finer, 20)] {
        assert_eq!(pair.came(1, sink), (vec![(0, all(asked, "depth")), (0, all(5, "depth"))], vec![0]));
    }
    let speed = values("own", None, Some("speed"));
    assert_eq!(pair.nodes[0].grant_values(pair.source, first, &speed), Ok(first));
    assert_eq!(pair.demands(), [(all(5, "speed"), 2)], "what is not granted stays");
}

#[test]
fn a_source_refuses_a_demand() {
    let mut pair = Pair::new(Grants::default());
    let sinks = [0, 1].map(|node| (node, pair.sink(node, Some(level(1_000)))));
    for wanted in [1_000, 2_000] {
        let demand = pair.demand(&all(wanted, "depth")).unwrap();
        pair.nodes[0].refuse_demand(pair.source, demand, "a level of at most 10");
        pair.run();
        for (node, sink) in sinks {
            assert_eq!(pair.refused(node, sink), Some(Code::NotGranted));
            pair.nodes[node].set_parameters(sink, level(2));
            pair.run();
            assert_eq!(pair.said(node, sink).unwrap().values.to_string(), all(2, "depth"), "it is served");
            // Now it asks while it is subscribed.
            pair.nodes[node].set_parameters(sink, level(2_000));
            pair.run();
        }
    }
    let demand = pair.demand(&all(2_000, "depth")).unwrap();
    pair.nodes[0].refuse_demand(pair.source, demand, "a level of at most 10");
    pair.run();
    for (node, sink) in sinks {
        assert_eq!(pair.refused(node, sink), Some(Code::NotGranted));
        pair.nodes[node].set_parameters(sink, level(2));
        pair.run();
        assert_eq!(
            pair.said(node, sink).unwrap().values.to_string(),
            all(2, "depth"),
            "it asks for less, and is served"
        );
    }
    assert_eq!(pair.demands(), [(all(2, "depth"), 2)]);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_changes() {
    let mut pair = Pair::new(Grants::default());
    let other = values("own", None, Some("x"));
    let misspelt = {
        let format = Shape::new("own").field("levels", "int").on(&isoform_core::Layout::X86_64).unwrap();
        Parameters::new(&format, &[0; 4]).unwrap()
    };
    for node in [0, 1] {
        let sink = pair.sink(node, Some(misspelt.clone()));
        assert_eq!(pair.refused(node, sink), Some(Code::NoSuchField));
        pair.nodes[node].set_parameters(sink, other.clone());
        pair.run();
        assert_eq!(pair.said(node, sink).unwrap().refused, None);
        pair.nodes[node].set_parameters(sink, misspelt.clone());
        pair.run();
        let said = pair.said(node, sink).unwrap();
        assert_eq!((said.change, said.refused.unwrap().code()), (2, Code::NoSuchField));
        assert_eq!(said.values.to_string(), all(1, "x"), "it has what it had");
        pair.nodes[node].end_sink(sink);
        pair.run();
    }
    // A source without parameters refuses whoever asks for some.
    let bare = pair.nodes[0].add_source(pair.channels[0], Some(&format())).unwrap();
    for node in [0, 1] {
        let sink = pair.sink(node, None);
        assert_eq!(pair.nodes[0].listeners(bare), 1);
        pair.nodes[node].set_parameters(sink, level(1));
        pair.run();
        assert_eq!(pair.refused(node, sink), Some(Code::NoSuchField));
        pair.nodes[node].end_sink(sink);
        pair.run();
    }
}

#[test]
fn demands_are_limited_and_one_node_has_at_most_half_of_them() {
    let mut pair = Pair::new(Grants { most_demands: 4, ..Grants::default() });
    let sinks = [2, 3].map(|wanted| pair.sink(1, Some(level(wanted))));
    let third = pair.sink(1, Some(level(4)));
    assert_eq!(pair.refused(1, third), Some(Code::Budget));
    for (node, wanted) in [(1, level(3)), (1, level(1)), (0, level(4)), (0, level(5))] {
        let sink = pair.sink(node, Some(wanted));
        assert_eq!(pair.refused(node, sink), None, "these are known, the defaults, or this node's own");
    }
    let more = pair.sink(0, Some(level(6)));
    assert_eq!(pair.refused(0, more), Some(Code::Budget));
    // Who has its part changes nothing.
    pair.nodes[1].set_parameters(sinks[0], level(7));
    pair.run();
    let said = pair.said(1, sinks[0]).unwrap();
    assert_eq!(said.refused.map(|error| error.code()), Some(Code::Budget));
    assert_eq!(said.values.to_string(), all(2, "depth"));
}

#[test]
fn a_sink_that_was_refused_for_want_of_room_asks_again() {
    let mut pair = Pair::new(Grants { most_demands: 4, ..Grants::default() });
    let [first, _] = [2, 3].map(|wanted| pair.sink(1, Some(level(wanted))));
    let third = pair.sink(1, Some(level(4)));
    assert_eq!(pair.refused(1, third), Some(Code::Budget));
    let at = |pair: &mut Pair, seconds| {
        pair.nodes[1].tick(Time::from_secs(seconds));
        pair.run();
    };
    for seconds in [2, 5, 10] {
        at(&mut pair, seconds);
        assert_eq!((pair.refused(1, third), pair.demand(&all(4, "depth"))), (None, None), "it is told once");
    }
    pair.nodes[1].end_sink(first);
    pair.run();
    assert_eq!(pair.demands().len(), 1);
    at(&mut pair, 40);
    assert_eq!(pair.demands(), [(all(3, "depth"), 1), (all(4, "depth"), 1)]);
    assert_eq!(pair.submit(Some(all(4, "depth"))), Submitted::Done(0));
    assert_eq!(pair.came(1, third), (vec![(0, all(4, "depth"))], vec![0]));
    at(&mut pair, 80);
    assert_eq!(pair.demands().len(), 2, "it asks no more");
    pair.accounts_are_exact();
}

#[test]
fn after_a_cut_a_sink_has_what_it_asked_for_last_and_hears_of_everything_between() {
    let mut pair = Pair::new(Grants::default());
    let sink = pair.sink(1, Some(level(3)));
    pair.submit(Some(all(3, "depth")));
    assert_eq!(pair.came(1, sink).1, [0]);
    pair.cut();
    pair.nodes[1].set_parameters(sink, level(4));
    let demand = pair.demand(&all(3, "depth")).unwrap();
    let body = || Body::from([1; 8]);
    let submit = |pair: &mut Pair| {
        let submitted = pair.nodes[0].submit_for(|| 7, pair.source, demand, None, &mut body());
        assert!(matches!(submitted, Ok(Submitted::Done(_))), "{submitted:?}");
    };
    submit(&mut pair);
    pair.nodes[0].grant_values(pair.source, demand, &level(2)).unwrap();
    submit(&mut pair);
    for node in &mut pair.nodes {
        node.tick(Time::from_secs(2));
    }
    pair.run();
    assert_eq!(pair.demands(), [(all(4, "depth"), 1)]);
    let given = [(0, 3), (2, 2), (3, 4)].map(|(first, level)| (first, all(level, "depth")));
    assert_eq!(pair.came(1, sink), (given[0..].to_vec(), vec![1, 2]));
    pair.submit(Some(all(4, "depth")));
    assert_eq!(pair.came(1, sink), (vec![], vec![3]));
    pair.accounts_are_exact();
}

#[test]
fn equal_queries_of_different_demands_share_no_state() {
    let mut pair = Pair::new(Grants::default());
    let query = Some(Query::parse("where true | every 2").unwrap());
    let wanted =
        |parameters| Wanted { query: query.clone(), parameters: Some(parameters), ..Wanted::any(Policy::Block) };
    let sinks = [3, 4].map(|wants| pair.sink_that(1, wanted(level(wants))));
    for at in 0..8 {
        pair.submit(Some(all([3, 4][at % 2], "depth")));
    }
    assert_eq!(pair.came(1, sinks[0]).1, [0, 4]);
    assert_eq!(pair.came(1, sinks[1]).1, [1, 5]);
    pair.nodes[1].set_parameters(sinks[1], level(3));
    pair.run();
    for _ in 0..4 {
        pair.submit(Some(all(3, "depth")));
    }
    assert_eq!(pair.came(1, sinks[0]).1, [8, 10]);
    assert_eq!(pair.came(1, sinks[1]).1, [8, 10], "from now on they share one");
    pair.accounts_are_exact();
}

#[test]
fn kept_events_are_those_of_the_same_values() {
    let mut pair = Pair::new(Grants { keep: 8, ..Grants::default() });
    let first = pair.sink(1, Some(level(3)));
    let other = pair.sink(1, Some(level(4)));
    for at in 0..6 {
        pair.submit(Some(all([3, 4][at % 2], "depth")));
    }
    let late = pair.sink(1, Some(level(4)));
    assert_eq!(pair.came(1, late), (vec![(0, all(4, "depth"))], vec![1, 3, 5]));
    assert_eq!((pair.came(1, first).1, pair.came(1, other).1), (vec![0, 2, 4], vec![1, 3, 5]));
}

#[test]
fn rules_say_who_may_ask() {
    let mut pair = Pair::new(Grants::default());
    let asking = pair.sink(1, Some(level(3)));
    let plain = pair.sink(1, None);
    let rights = Rights::parse("deny anyone parametrise on *\nallow anyone all on *").unwrap();
    pair.nodes[0].set_rights(NOW, Some(rights));
    pair.run();
    assert_eq!(pair.refused(1, asking), Some(Code::Forbidden));
    pair.nodes[1].set_parameters(plain, level(4));
    pair.run();
    let said = pair.said(1, plain).unwrap();
    assert_eq!(said.refused.map(|error| error.code()), Some(Code::Forbidden));
    assert_eq!(pair.demands(), [(all(1, "depth"), 1)]);
    let another = pair.sink(1, Some(level(3)));
    assert_eq!(pair.refused(1, another), Some(Code::Forbidden));
    pair.nodes[0].set_rights(NOW, None);
    pair.run();
    assert_eq!(pair.said(1, another).unwrap().values.to_string(), all(3, "depth"));
}
