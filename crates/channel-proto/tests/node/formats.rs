//! What is known of a format is worked out once: a description that two others name is parsed once, and the plan that is
//! proven when a sink subscribes is the one that its events are converted by.

use isoform_channel_proto::{
    Action, Batch, ConnId, Credentials, Identity, Item, Key, Node, Outgoing, Policy, Settings, SinkKey, Submitted,
    Time, Wanted,
};
use isoform_core::{FieldList, Format, Limits, Machine, Registry};
use std::sync::Arc;

type Nodes = Vec<Node<Arc<[u8]>, Vec<u8>>>;

const NOW: Time = Time::ZERO;

fn format(name: &str, kind: &str) -> Format {
    FieldList::new(name).field("count", kind, 8, 0).format(Machine::NATIVE, 8, 8).unwrap()
}

/// The first node listens to the others, each over a connection of its own.
fn nodes(registry: &Registry) -> Nodes {
    let settings = |byte| match byte {
        1 => Settings { addresses: vec!["test:1".into()], registry: registry.clone(), ..Settings::default() },
        // Nowhere can they be dialed, so that they do not meet each other.
        _ => Settings::default(),
    };
    (1..=3).map(|byte| Node::new(Key::from_seed([byte; 32]), settings(byte))).collect()
}

fn talk(nodes: &mut Nodes) {
    while let Some((from, action)) = (0..nodes.len()).find_map(|i| Some((i, nodes[i].action()?))) {
        match action {
            Action::Dial(dial, _) => {
                nodes[from].connected(NOW, ConnId(from as u64), Some(dial), Credentials::default());
                nodes[0].connected(NOW, ConnId(from as u64), None, Credentials::default());
            }
            Action::Write(id) => {
                let mut out = Outgoing::default();
                nodes[from].output(NOW, id, &mut out);
                nodes[from].unwritten(id, 0);
                let to = if from == 0 { id.0 as usize } else { 0 };
                nodes[to].receive(NOW, id, &out.to_vec()).expect("frames");
            }
            _ => {}
        }
    }
}

/// The formats of the events that have come for a sink.
fn came(nodes: &mut Nodes, sink: SinkKey) -> Vec<Format> {
    let (mut batch, mut came) = (Batch::default(), Vec::new());
    while nodes[0].take(NOW, sink, &mut batch) {
        let formats = batch.items().filter_map(|item| match item {
            Item::Event { format, .. } => Some(batch.formats[format as usize].clone()),
            _ => None,
        });
        came.extend(formats);
    }
    came
}

/// Two nodes, each with a source of this format, and two sinks of the first that want it as `native`.
fn subscribed(nodes: &mut Nodes, wire: &Format, native: &Format) -> [SinkKey; 2] {
    let channel = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
    let wanted = Wanted { format: Some(native.clone()), ..Wanted::any(Policy::Block) };
    let sinks = [wanted.clone(), wanted].map(|wanted| nodes[0].add_sink(channel, wanted).unwrap());
    for i in 1..3 {
        let open = nodes[i].open(NOW, &["test:1".into()], "ticks", None, Time::from_secs(5));
        talk(nodes);
        let channel = nodes[i].opened(open).unwrap().unwrap();
        let source = nodes[i].add_source(channel, Some(wire)).unwrap();
        talk(nodes);
        let submitted = nodes[i].submit(7, source, None, &mut Arc::from([1; 8])).unwrap();
        assert_eq!((nodes[i].listeners(source), submitted), (2, Submitted::Done(0)));
    }
    talk(nodes);
    sinks
}

/// Whether these are one and the same, and not merely equal.
fn is_same(a: &Format, b: &Format) -> bool {
    Arc::ptr_eq(a.structure(), b.structure())
}

#[test]
fn a_description_is_parsed_once_and_a_plan_made_once() {
    let (registry, wire, native) = (Registry::new(), format("Tick", "integer"), format("Tick", "float"));
    let mut nodes = nodes(&registry);
    let sinks = subscribed(&mut nodes, &wire, &native);
    let learned = registry.known(wire.token()).expect("what came is learned");
    let plans = sinks.map(|sink| nodes[0].plans(sink).expect("plans to the sink's format"));
    // From here on, whoever asks for the plan of what comes gets the one that was made when the first sink subscribed.
    let planned = plans.each_ref().map(|plans| plans.plan(&learned).unwrap());
    assert!(is_same(planned[0].wire(), &learned), "planned for the format that the registry has");
    assert!(Arc::ptr_eq(&planned[0], &planned[1]), "sinks that want the same share their plans");
    for sink in sinks {
        let formats = came(&mut nodes, sink);
        assert_eq!(formats.len(), 2);
        assert!(formats.iter().all(|format| is_same(format, &learned)), "the second description was not parsed");
        let used = nodes[0].plans(sink).unwrap().plan(&formats[0]).unwrap();
        assert!(Arc::ptr_eq(&used, &planned[0]));
    }
}

#[test]
fn sinks_that_want_something_else_have_plans_of_their_own() {
    let (wire, native) = (format("Tick", "integer"), format("Tick", "float"));
    let mut nodes = nodes(&Registry::new());
    let channel = nodes[0].create(Identity([9; 16]), "ticks", None).unwrap();
    let wanted = Wanted { format: Some(native), ..Wanted::any(Policy::Block) };
    let strict = Wanted { rules: wanted.rules.clone().required("Tick", "count"), ..wanted.clone() };
    let [one, other] = [wanted, strict].map(|wanted| nodes[0].add_sink(channel, wanted).unwrap());
    let [one, other] = [one, other].map(|sink| nodes[0].plans(sink).unwrap().plan(&wire).unwrap());
    assert!(!Arc::ptr_eq(&one, &other));
    let any = nodes[0].add_sink(channel, Wanted::any(Policy::Block)).unwrap();
    assert!(nodes[0].plans(any).is_none());
}

#[test]
fn a_link_keeps_the_formats_that_a_registry_forgets() {
    let registry = Registry::within(Limits { formats: 1, ..Limits::default() });
    let (wire, native) = (format("Tick", "integer"), format("Tick", "float"));
    let mut nodes = nodes(&registry);
    let sinks = subscribed(&mut nodes, &wire, &native);
    registry.learn(format("Other", "integer").description().as_bytes()).unwrap();
    assert!(registry.known(wire.token()).is_none(), "it keeps one");
    for sink in sinks {
        assert_eq!(came(&mut nodes, sink), [wire.clone(), wire.clone()]);
    }
}
