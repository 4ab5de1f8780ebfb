//! Fields at which no sink looks need not be sent: sources leave them out where that saves much, and sinks get the same.

use isoform_channel_proto::{
    Action, Batch, ChannelKey, ConnId, Credentials, Grants, Identity, Item, Key, Node, Outgoing, Policy, Settings,
    SinkKey, SourceKey, Submitted, Time, Wanted,
};
use isoform_core::plan::{Faults, Kind, Missing, Rules};
use isoform_core::{Code, Format, Layout, Plan, Shape, Value, interp, value};
use std::sync::Arc;

type Body = Arc<[u8]>;

/// Two nodes, the first of which has a source.
struct Pair {
    nodes: [Node<Body, Vec<u8>>; 2],
    there: ChannelKey,
    source: SourceKey,
    /// The bytes that the second node got.
    bytes: usize,
}

fn grid() -> Format {
    let shape = Shape::new("Grid").field("step", "i64").field("n", "i32").field("depth", "double[n]");
    shape.field("flow", "double[1000]").field("name", "string").on(&Layout::SPARC).unwrap()
}

fn event(step: i64) -> Vec<u8> {
    let floats = |count: usize| Value::Array((0..count).map(|i| Value::Float(step as f64 + i as f64)).collect());
    let fields = [
        ("step", Value::Integer(step.into())),
        ("depth", floats(3)),
        ("flow", floats(1000)),
        ("name", Value::String(b"river".to_vec())),
    ];
    let record = Value::Record(fields.map(|(name, value)| (name.into(), value)).into());
    value::body(&grid(), &record).unwrap()
}

fn own(fields: &[(&str, &str)]) -> Format {
    let shape = fields.iter().fold(Shape::new("Own"), |shape, (name, words)| shape.field(*name, words));
    shape.on(&Layout::NATIVE).unwrap()
}

fn narrow(format: Format) -> Wanted {
    Wanted { format: Some(format), narrow: true, ..Wanted::any(Policy::Block) }
}

impl Pair {
    fn new(format: Option<&Format>, grants: Grants) -> Pair {
        let node = |byte| {
            let settings = Settings { addresses: vec![format!("test:{byte}")], ..Settings::default() };
            Node::new(Key::from_seed([byte; 32]), settings)
        };
        let mut nodes = [node(1), node(2)];
        let here = nodes[0].create(Identity([9; 16]), "grids", None).unwrap();
        let source = nodes[0].add_source_with(here, format, grants, None, None).unwrap();
        let open = nodes[1].open(Time::ZERO, &["test:1".into()], "grids", None, Time::from_secs(5));
        let mut pair = Pair { nodes, there: here, source, bytes: 0 };
        pair.run();
        pair.there = pair.nodes[1].opened(open).unwrap().unwrap();
        pair
    }

    fn sink(&mut self, wanted: Wanted) -> SinkKey {
        let sink = self.nodes[1].add_sink(self.there, wanted).unwrap();
        self.run();
        sink
    }

    fn run(&mut self) {
        for i in [0, 1].repeat(20) {
            while let Some(action) = self.nodes[i].action() {
                match action {
                    Action::Dial(dial, _) => {
                        self.nodes[i].connected(Time::ZERO, ConnId(1), Some(dial), Credentials::default());
                        self.nodes[1 - i].connected(Time::ZERO, ConnId(1), None, Credentials::default());
                    }
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        self.nodes[i].output(Time::ZERO, id, &mut out);
                        self.nodes[i].unwritten(id, 0);
                        let said = out.to_vec();
                        self.bytes += if i == 0 { said.len() } else { 0 };
                        self.nodes[1 - i].receive(Time::ZERO, id, &said).unwrap();
                    }
                    _ => {}
                }
            }
        }
    }

    /// Submits an event. Returns the bytes that the other node got for it.
    fn submit(&mut self, format: Option<&Format>, body: &[u8]) -> usize {
        let before = self.bytes;
        let submitted = self.nodes[0].submit(1, self.source, format, &mut Body::from(body)).unwrap();
        assert!(matches!(submitted, Submitted::Done(_)));
        self.run();
        assert!(self.nodes[0].ledger(self.source).iter().all(|account| account.ledger.is_exact()));
        self.bytes - before
    }

    /// The formats and bodies of the events that have come, with their sequence.
    fn take(&mut self, sink: SinkKey) -> Vec<(u64, Format, Vec<u8>)> {
        let mut batch = Batch::default();
        self.nodes[1].take(Time::ZERO, sink, &mut batch);
        let events = batch.items().filter_map(|item| match item {
            Item::Event { sequence, format, place, .. } => {
                let body = batch.body(place).expect("a body of its own");
                Some((sequence, batch.formats[format as usize].clone(), body.to_vec()))
            }
            Item::Refused(_, error) => panic!("{error}"),
            _ => None,
        });
        let events = events.collect();
        self.nodes[1].take(Time::ZERO, sink, &mut batch);
        events
    }
}

/// A body, converted to a native format.
fn converted(wire: &Format, body: &[u8], native: &Format, rules: &Rules) -> Vec<u8> {
    let (plan, mut out) = (Plan::new(wire, native, rules, Faults::Error).unwrap(), Vec::new());
    interp::run_to(&plan, wire.verify(body).unwrap(), &mut out).unwrap();
    out
}

#[test]
fn sinks_get_the_same_from_fewer_bytes() {
    let mut pair = Pair::new(Some(&grid()), Grants::default());
    let step = own(&[("step", "i32")]);
    let depth = own(&[("k", "u8"), ("depth", "float[k]"), ("name", "string")]);
    let sinks = [&step, &depth, &step].map(|format| (pair.sink(narrow(format.clone())), format.clone()));
    for at in 0..4 {
        let bytes = pair.submit(None, &event(at));
        assert!(bytes < if at == 0 { 700 } else { 250 }, "{bytes} bytes");
    }
    for (sink, native) in sinks {
        let came = pair.take(sink);
        assert_eq!(came.len(), 4);
        for (at, (sequence, format, body)) in came.into_iter().enumerate() {
            assert_eq!((sequence, format.name(), format.machine()), (at as u64, "Grid", grid().machine()));
            let none = Rules::new();
            let whole = converted(&grid(), &event(at as i64), &native, &none);
            assert_eq!(converted(&format, &body, &native, &none), whole);
        }
    }
}

#[test]
fn whoever_looks_at_more_gets_whole_events() {
    let mut pair = Pair::new(Some(&grid()), Grants::default());
    let whole = [
        // Nearly everything.
        narrow(own(&[("flow", "float[1000]")])),
        // Anything; by name; the head of a long event.
        Wanted::any(Policy::Block),
        Wanted { narrow: false, ..narrow(own(&[("step", "i32")])) },
        Wanted { heads: true, ..narrow(own(&[("step", "i32")])) },
    ];
    let sinks = whole.map(|wanted| pair.sink(wanted));
    pair.submit(None, &event(5));
    for sink in sinks {
        assert_eq!(pair.take(sink), [(0, grid(), event(5))]);
    }
}

#[test]
fn aliases_and_kinds_are_asked_for() {
    let mut pair = Pair::new(Some(&grid()), Grants::default());
    let level = own(&[("level", "double")]);
    let rules = Rules::new().alias("Own", "level", "step");
    let kind = |format: Format, rules| Kind { format, rules, faults: Faults::Error };
    let alarm = Shape::new("Alarm").field("name", "string").on(&Layout::NATIVE).unwrap();
    let kinds = vec![kind(alarm.clone(), Rules::new()), kind(level.clone(), rules.clone())];
    let alias = pair.sink(Wanted { rules: rules.clone(), ..narrow(level.clone()) });
    let several = pair.sink(Wanted { kinds, narrow: true, ..Wanted::any(Policy::Block) });
    let bytes = pair.submit(None, &event(7));
    assert!(bytes < 1_000, "{bytes} bytes");
    let [(_, format, body)] = &pair.take(alias)[..] else { panic!("one event") };
    assert_eq!(converted(format, body, &level, &rules), 7f64.to_ne_bytes());
    let [(_, format, body)] = &pair.take(several)[..] else { panic!("one event") };
    assert!(format.structure().has_path("name") && format.structure().has_path("step"));
    assert_eq!(converted(format, body, &alarm, &Rules::new()), converted(&grid(), &event(7), &alarm, &Rules::new()));
}

#[test]
fn newer_formats_bring_the_fields_that_older_ones_lacked() {
    let mut pair = Pair::new(None, Grants { keep: 1, ..Grants::default() });
    let old = Shape::new("Grid").field("flow", "double[1000]").field("step", "i64").on(&Layout::I386).unwrap();
    let small = Shape::new("Grid").field("step", "i64").field("other", "i64").on(&Layout::I386).unwrap();
    let native = own(&[("step", "i64"), ("name", "string")]);
    let rules = Rules::new().missing(Missing::Zero);
    let zeros = |format: &Format| vec![0; format.size()];
    pair.submit(Some(&old), &zeros(&old));
    let sink = pair.sink(Wanted { rules: rules.clone(), ..narrow(native.clone()) });
    for (format, body) in [(&old, zeros(&old)), (&grid(), event(1)), (&small, zeros(&small)), (&grid(), event(2))] {
        pair.submit(Some(format), &body);
    }
    let came = pair.take(sink);
    let lengths: Vec<usize> = came.iter().map(|(_, _, body)| body.len()).collect();
    // What was kept comes whole.
    assert_eq!(lengths, [old.size(), 8, 22, small.size(), 22]);
    let last = |at: usize| converted(&came[at].1, &came[at].2, &native, &rules);
    assert_eq!(last(4), converted(&grid(), &event(2), &native, &rules));
}

#[test]
fn who_subscribes_again_and_again_gets_fewer_kept_events() {
    let one = Shape::new("One").field("step", "i64").on(&Layout::I386).unwrap();
    let mut pair = Pair::new(Some(&one), Grants { keep: 40_000, ..Grants::default() });
    (0..40_000).for_each(|_| _ = pair.submit(None, &[0; 8]));
    (0..4).for_each(|_| _ = pair.sink(Wanted::any(Policy::Block)));
    let mut came: Vec<u64> = pair.nodes[0].ledger(pair.source).iter().map(|account| account.ledger.submitted).collect();
    came.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(came, [40_000, 25_536, 0, 0]);
}

#[test]
fn what_is_not_valid_comes_as_it_is() {
    let mut pair = Pair::new(Some(&grid()), Grants::default());
    let sink = pair.sink(narrow(own(&[("step", "i32")])));
    let mut wrong = event(3);
    wrong.pop();
    assert!(grid().verify(&wrong).is_err());
    pair.submit(None, &wrong);
    assert_eq!(pair.take(sink), [(0, grid(), wrong)]);
}

#[test]
fn strangers_cause_few_projections() {
    let mut pair = Pair::new(Some(&grid()), Grants::default());
    let names = ["step", "n", "depth", "name"];
    let sinks: Vec<SinkKey> = (1..12usize)
        .map(|set| {
            let fields = (0..4).filter(|bit| set >> bit & 1 == 1).map(|bit| names[bit].to_string()).collect();
            pair.sink(Wanted { fields, ..Wanted::any(Policy::Block) })
        })
        .collect();
    pair.submit(None, &event(1));
    let lengths: Vec<usize> = sinks.iter().map(|&sink| pair.take(sink)[0].2.len()).collect();
    assert_eq!(lengths.iter().filter(|&&length| length < 100).count(), 4, "{lengths:?}");
    // Those that end make room.
    pair.nodes[1].end_sink(sinks[0]);
    pair.run();
    let next = pair.sink(Wanted { fields: vec!["depth".into()], ..Wanted::any(Policy::Block) });
    pair.submit(None, &event(2));
    assert!(pair.take(next)[0].2.len() < 100);
    let sink = pair.nodes[1].add_sink(pair.there, Wanted { fields: vec!["dept".into()], ..Wanted::any(Policy::Block) });
    pair.run();
    let mut batch = Batch::default();
    pair.nodes[1].take(Time::ZERO, sink.unwrap(), &mut batch);
    let refused =
        batch.items().any(|item| matches!(item, Item::Refused(_, error) if error.code() == Code::NoSuchField));
    assert!(refused);
}
