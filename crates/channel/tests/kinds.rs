//! Several kinds of records on one channel.
#![cfg(any(unix, windows))]

use isoform::core::plan::Kind;
use isoform::memory::{self, Chosen};
use isoform::{Code, Faults, Format, Kinds, Messages, Record, Rules, Slice};
use isoform_channel::{Channel, Event, Node};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct River {
    time: i64,
    depth: f64,
}

#[derive(Record, Debug, PartialEq)]
struct Alarm {
    text: String,
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    points: Slice<'a, f64>,
}

/// Fits nothing below.
#[derive(Record)]
#[repr(C)]
struct Wind {
    speed: f32,
}

#[derive(Kinds)]
enum Seen<'e> {
    River(&'e River),
    Alarm(Alarm),
    Track(&'e Track<'e>),
}

#[derive(Kinds)]
enum WithOthers<'e> {
    River(&'e River),
    #[isoform(other)]
    Other(isoform::Incoming<'e>),
}

/// Submits one record of each kind, from a source for each.
fn submit(channel: &Channel, sinks: usize) {
    let mut river = channel.source::<River>().unwrap();
    let mut alarm = channel.source::<Alarm>().unwrap();
    let mut track = channel.source::<Track>().unwrap();
    river.wait_for_sinks(sinks, SOON).unwrap();
    river.submit(&River { time: 7, depth: 4.5 }).unwrap();
    alarm.wait_for_sinks(sinks, SOON).unwrap();
    alarm.submit(&Alarm { text: "high".into() }).unwrap();
    track.wait_for_sinks(sinks, SOON).unwrap();
    track.submit(&Track { points: Slice::from(&[0.5, 1.5]) }).unwrap();
    for accounts in [river.close(SOON), alarm.close(SOON), track.close(SOON)] {
        let taken: Vec<u64> = accounts.unwrap().iter().map(|account| account.ledger.acknowledged).collect();
        assert_eq!(taken, vec![1; sinks], "each sink has taken it");
    }
}

fn told(seen: Seen<'_>) -> String {
    match seen {
        Seen::River(river) => format!("river {} {}", river.time, river.depth),
        Seen::Alarm(alarm) => format!("alarm {}", alarm.text),
        Seen::Track(track) => format!("track {:?}", &track.points[..]),
    }
}

const ALL: [&str; 3] = ["alarm high", "river 7 4.5", "track [0.5, 1.5]"];

#[test]
fn each_record_becomes_the_kind_that_fits_here_and_elsewhere() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("news", None).unwrap();
    let opened = other.open(channel.id().to_string()).unwrap();
    std::thread::scope(|scope| {
        for channel in [&channel, &opened] {
            let mut sink = channel.sink_builder().build::<Seen>().unwrap();
            scope.spawn(move || {
                let mut seen = Vec::new();
                while seen.len() < 3 {
                    let event = sink.recv_timeout(SOON).unwrap().expect("an event");
                    if let Event::Refused(_, error) = &event {
                        panic!("{error}");
                    }
                    seen.extend(event.record().map(told));
                }
                seen.sort();
                assert_eq!(seen, ALL);
                assert_eq!(sink.counts().lost, 0);
            });
        }
        submit(&channel, 2);
    });
}

#[test]
fn a_source_of_no_kind_is_refused_once_with_the_reasons_and_the_others_go_on() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("news", None).unwrap();
    let mut sink = other.open(channel.id().to_string()).unwrap().sink_builder().build::<Seen>().unwrap();
    let mut wind = channel.source::<Wind>().unwrap();
    let Some(Event::Refused(_, error)) = sink.recv_timeout(SOON).unwrap() else { panic!("not refused") };
    assert_eq!((error.code(), error.path()), (Code::NoConversion, "Wind"));
    for kind in ["not River: ", "not Alarm: ", "not Track: "] {
        assert!(error.actual().contains(kind), "{error}");
    }
    assert_eq!(wind.sinks(), 0);
    wind.submit(&Wind { speed: 9.0 }).unwrap();
    let mut river = channel.source::<River>().unwrap();
    river.submit(&River { time: 1, depth: 2.0 }).unwrap();
    let seen = loop {
        let event = sink.recv_timeout(SOON).unwrap().expect("an event");
        assert!(!matches!(event, Event::Refused(..)), "once");
        if let Some(seen) = event.record() {
            break told(seen);
        }
    };
    assert_eq!(seen, "river 1 2");
    let counts = sink.counts();
    assert_eq!((counts.refused, counts.unfit, counts.taken), (1, 0, 1));
    // Others see it, too.
    let info = channel.info(SOON).unwrap();
    let mut sinks = info.members.iter().flat_map(|member| member.sinks());
    assert!(sinks.any(|sink| sink.counts.refused == 1 && sink.counts.unfit == 0), "{info:?}");
    // The type of a channel shows it at once.
    let typed = node.create::<Wind>("wind").unwrap();
    assert_eq!(typed.sink_builder().build::<Seen>().map(drop).unwrap_err().path(), "Wind");
}

#[test]
fn others_are_handed_over_if_a_variant_takes_them() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let mut sink = channel.sink_builder().build::<WithOthers>().unwrap();
    let mut wind = channel.source::<Wind>().unwrap();
    wind.submit(&Wind { speed: 9.0 }).unwrap();
    let mut river = channel.source::<River>().unwrap();
    river.submit(&River { time: 1, depth: 2.0 }).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(sink.recv_timeout(SOON).unwrap().expect("an event").record().map(|came| match came {
            WithOthers::River(river) => river.depth,
            WithOthers::Other(message) => message.view().unwrap().f64("speed").unwrap(),
        }));
    }
    assert_eq!((seen, sink.decoder().others()), (vec![9.0, 2.0], 1));
    assert_eq!(sink.decoder().explain(Wind::format()).kind().unwrap_err().path(), "Wind");
}

#[test]
fn messages_of_no_kind_are_errors_and_the_next_call_goes_on() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let mut sink = channel.sink_builder().build::<Seen>().unwrap();
    // The format of a source of messages is known only from its events.
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let mut encoder = isoform::Encoder::new();
    let wind = encoder.encode(&Wind { speed: 9.0 }).unwrap().to_vec();
    let mut registry = isoform::Registry::new();
    registry.register(Wind::format()).unwrap();
    source.submit_message(&isoform::Incoming::parse(&wind, &mut registry).unwrap()).unwrap();
    channel.source::<River>().unwrap().submit(&River { time: 1, depth: 2.0 }).unwrap();
    let (mut seen, mut errors) = (Vec::new(), Vec::new());
    while seen.is_empty() {
        match sink.recv_timeout(SOON) {
            Ok(event) => seen.extend(event.expect("an event").record().map(told)),
            Err(error) => errors.push(error.code()),
        }
    }
    assert_eq!((seen, errors, sink.decoder().others()), (vec!["river 1 2".to_string()], vec![Code::NoConversion], 1));
    let counts = sink.counts();
    assert_eq!((counts.refused, counts.unfit, counts.received), (0, 1, 2));
}

#[test]
fn a_handler_gets_each_kind() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let to = seen.clone();
    let _handler = channel.sink_builder().on::<Seen>(move |event| {
        to.lock().unwrap().extend(event.record().map(told));
    });
    std::thread::scope(|scope| {
        scope.spawn(|| submit(&channel, 1));
        while seen.lock().unwrap().len() < 3 {
            node.poll(SOON).unwrap();
        }
    });
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(seen, ALL);
}

fn kind(format: &Format) -> Kind {
    Kind { format: format.clone(), rules: Rules::new(), faults: Faults::Error }
}

#[test]
fn each_needed_field_is_in_one_of_the_kinds() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let refused = |error: isoform::Error| {
        assert_eq!((error.code(), error.path(), error.actual()), (Code::NoSuchField, "fields", "dpeth"));
        assert_eq!(error.expectation(), "one of time, depth, text, points, points_len");
    };
    refused(channel.sink_builder().fields(["time", "dpeth"]).build::<Seen>().map(drop).unwrap_err());
    let kinds = || vec![kind(River::format()), kind(Alarm::format()), kind(Track::format())];
    let decoder = memory::KindDecoder::new(kinds()).unwrap();
    refused(channel.sink_builder().fields(["dpeth"]).build_with(decoder).map(drop).unwrap_err());
    refused(
        channel.sink_builder().fields(["dpeth"]).build_with(Messages::of_kinds(kinds(), false)).map(drop).unwrap_err(),
    );
    // If the sink takes others, too, a misspelt field is refused all the same, and no source for want of a field.
    refused(
        channel.sink_builder().fields(["dpeth"]).build_with(Messages::of_kinds(kinds(), true)).map(drop).unwrap_err(),
    );
    let mut sink = channel.sink_builder().fields(["depth"]).build::<WithOthers>().unwrap();
    let mut some = channel.sink_builder().fields(["depth", "text"]).build::<Seen>().unwrap();
    channel.source::<Alarm>().unwrap().submit(&Alarm { text: "high".into() }).unwrap();
    channel.source::<River>().unwrap().submit(&River { time: 1, depth: 2.0 }).unwrap();
    channel.source::<Wind>().unwrap().submit(&Wind { speed: 9.0 }).unwrap();
    let mut came = Vec::new();
    while came.len() < 3 {
        came.extend(sink.recv_timeout(SOON).unwrap().expect("an event").record().map(|record| match record {
            WithOthers::River(river) => river.depth.to_string(),
            WithOthers::Other(message) => message.format().name().into(),
        }));
    }
    assert_eq!((came.join(" "), sink.counts().refused), ("Alarm 2 Wind".into(), 0));
    let mut came = Vec::new();
    while came.len() < 2 {
        came.extend(some.recv_timeout(SOON).unwrap().expect("an event").record().map(told));
    }
    assert_eq!(came, ["alarm high", "river 1 2"]);
}

/// A source of messages of any format.
struct Mixed {
    source: isoform_channel::Source<Messages>,
    registry: isoform::Registry,
}

impl Mixed {
    fn new(channel: &Channel) -> Mixed {
        let registry = isoform::Registry::new();
        for format in [River::format(), Alarm::format(), Wind::format()] {
            registry.register(format).unwrap();
        }
        Mixed { source: channel.source_builder().lossless().build::<Messages>().unwrap(), registry }
    }

    fn submit(&mut self, message: &[u8]) {
        self.source.submit_message(&isoform::Incoming::parse(message, &mut self.registry).unwrap()).unwrap();
    }

    fn river(&mut self, time: i64) {
        let message = isoform::Encoder::new().encode(&River { time, depth: 0.5 }).unwrap().to_vec();
        self.submit(&message);
    }

    fn alarm(&mut self) {
        let message = isoform::Encoder::new().encode(&Alarm { text: "high".into() }).unwrap().to_vec();
        self.submit(&message);
    }

    fn wind(&mut self) {
        let message = isoform::Encoder::new().encode(&Wind { speed: 9.0 }).unwrap().to_vec();
        self.submit(&message);
    }
}

#[test]
fn messages_are_handed_over_until_one_is_not_taken() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let mut sink = channel.sink_builder().build::<Messages>().unwrap();
    let mut mixed = Mixed::new(&channel);
    assert!(matches!(sink.recv_while(Some(SOON), |_, _, _| Ok(true)).unwrap(), Some(Event::Joined { .. })));
    for _ in 0..3 {
        mixed.river(0);
    }
    mixed.alarm();
    mixed.wind();
    let mut take_of = |name: &str| {
        let came = sink.recv_while(Some(Duration::ZERO), |_, _, message| match message.format().name() {
            "Wind" => Err(isoform::Error::new(Code::NoConversion)),
            other => Ok(other == name),
        });
        came.map(|came| came.and_then(Event::record))
    };
    assert_eq!(take_of("Alarm").unwrap(), None, "it is a River");
    assert_eq!(take_of("River").unwrap(), Some(3));
    assert_eq!(take_of("Alarm").unwrap(), Some(1), "the error of the next one is left");
    let error = take_of("Alarm").unwrap_err();
    assert!(error.path().starts_with("event 4 of source "), "{error}");
    assert_eq!(take_of("Alarm").unwrap(), None);
    assert_eq!((sink.counts().taken, sink.counts().unfit), (5, 1));
}

#[test]
fn formats_that_are_known_only_at_run_time_are_chosen_alike() {
    let node = Node::new().unwrap();
    let channel = node.create_with("news", None).unwrap();
    let kinds = vec![kind(Track::format()), kind(River::format()), kind(Alarm::format())];
    let decoder = memory::KindDecoder::new(kinds.clone()).unwrap();
    let mut sink = channel.sink_builder().build_with(decoder).unwrap();
    let decoder = memory::KindDecoder::new(kinds[1..2].to_vec()).unwrap().with_others();
    let mut rivers = channel.sink_builder().build_with(decoder).unwrap();
    let mut messages = channel.sink_builder().build_with(Messages::of_kinds(kinds, false)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| submit(&channel, 3));
        let told = |chosen: Chosen<'_>| match chosen {
            Chosen::Record(kind, record) => format!("{kind}: {} bytes", record.len()),
            Chosen::Other(message) => message.format().name().to_owned(),
        };
        let slot = size_of::<usize>();
        let all = [format!("0: {} bytes", slot + 8), "1: 16 bytes".into(), format!("2: {slot} bytes")];
        let some = ["0: 16 bytes", "Alarm", "Track"].map(String::from);
        for (sink, expected) in [(&mut sink, all), (&mut rivers, some)] {
            let mut seen = Vec::new();
            while seen.len() < 3 {
                seen.extend(sink.recv_timeout(SOON).unwrap().expect("an event").record().map(told));
            }
            seen.sort();
            assert_eq!(seen, expected);
        }
        for _ in 0..3 {
            while messages.recv_timeout(SOON).unwrap().expect("an event").record().is_none() {}
        }
    });
    let _wind = channel.source::<Wind>().unwrap();
    let refused = loop {
        match messages.recv_timeout(SOON).unwrap().expect("an event") {
            Event::Refused(_, error) => break error,
            other => assert!(other.record().is_none()),
        }
    };
    assert_eq!(refused.path(), "Wind");
}
