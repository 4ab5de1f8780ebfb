//! Relays: what a function wants goes on, as it came, and with its origin (`spec/channel.md`, "Subscriptions").
#![cfg(any(unix, windows))]

use isoform::core::{Layout, Shape, Value, value};
use isoform::{Code, Error, Incoming, Messages};
use isoform_channel::{Event, Node, Origin, Relay};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn messages_go_on_in_the_memory_representation_of_their_source_and_with_their_origin() {
    // Of another byte order than this machine's.
    let layout = if cfg!(target_endian = "little") { &Layout::S390X } else { &Layout::X86_64 };
    let format = Shape::new("Tick").field("count", "i32").on(layout).unwrap();
    let body =
        |count: i128| value::body(&format, &Value::Record(vec![("count".into(), Value::Integer(count))])).unwrap();
    let [here, first, second, there] = [(); 4].map(|()| Node::new().unwrap());
    let ticks = here.create_with("ticks", None).unwrap();
    let few = first.create_with("few", None).unwrap();
    let fewer = second.create_with("fewer", None).unwrap();
    let mut sources = [(); 2].map(|()| ticks.source_builder().lossless().build::<Messages>().unwrap());
    let home = ticks.members()[0];

    // One after another, and a sink behind both.
    let relay = |node: &Node, from: &str, to: &isoform_channel::Channel| {
        let sink = node.open(from).unwrap().sink_builder().lossless().build::<Messages>().unwrap();
        Relay::new(sink, to.source_builder().lossless().build::<Messages>().unwrap())
    };
    let mut even = relay(&first, &ticks.id().to_string(), &few);
    let mut third = relay(&second, &few.id().to_string(), &fewer);
    let mut sink = there.open(fewer.id().to_string()).unwrap().sink_builder().build::<Messages>().unwrap();
    sources[0].wait_for_sinks(1, LONG).unwrap();
    sources[1].wait_for_sinks(1, LONG).unwrap();
    for relay in [&even, &third] {
        relay.source().wait_for_sinks(1, LONG).unwrap();
    }

    let count = |message: &Incoming<'_>| message.view()?.i64("count");
    let step = |relay: &mut Relay, by: i64| loop {
        match relay.next_timeout(LONG, |message| Ok(count(message)? % by == 0)).unwrap().expect("an event") {
            Event::Record { record: passed, .. } => break passed,
            Event::Gap(..) | Event::Left(..) | Event::Refused(..) => panic!("only records"),
            _ => {}
        }
    };
    let mut seen = Vec::new();
    for at in 0..12 {
        let source = usize::from(at % 4 >= 2);
        sources[source].submit_body(&format, &body(at)).unwrap();
        assert_eq!(step(&mut even, 2), at % 2 == 0);
        if at % 2 == 0 && step(&mut third, 3) {
            let (stamp, came) = loop {
                if let Event::Record { stamp, record } = sink.recv_timeout(LONG).unwrap().expect("an event") {
                    assert_eq!((record.format(), record.body()), (&format, &*body(at)));
                    break (stamp, count(&record).unwrap());
                }
            };
            seen.push((came, stamp.origin.expect("an origin")));
        }
    }
    let origin = |source, sequence| Origin { node: home, source, sequence };
    assert_eq!(seen, [(0, origin(0, 0)), (6, origin(1, 2))]);

    // What the function says is wrong is told, and the relay goes on.
    sources[0].submit_body(&format, &body(13)).unwrap();
    let fails = |_: &Incoming<'_>| Err(Error::new(Code::WrongType).found("a thirteen"));
    assert_eq!(even.next_timeout(LONG, fails).unwrap_err().code(), Code::WrongType);
    sources[0].submit_body(&format, &body(14)).unwrap();
    assert!(step(&mut even, 2));
}
