//! Many records of one kind at once, as faces take them.
#![cfg(all(any(unix, windows), not(miri)))]

use isoform::core::plan::Kind;
use isoform::memory::KindDecoder;
use isoform::{Faults, Format, Messages, Record, Rules};
use isoform_channel::{Channel, Event, Node};
use isoform_dynamic::sink::{Any, Content, take_kind};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record)]
#[repr(C)]
struct River {
    time: i64,
    depth: f64,
}

#[derive(Record)]
struct Alarm {
    text: String,
}

/// Fits nothing.
#[derive(Record)]
#[repr(C)]
struct Wind {
    speed: f32,
}

fn kind(format: &Format) -> Kind {
    Kind { format: format.clone(), rules: Rules::new(), faults: Faults::Error }
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
fn many_records_of_one_kind_come_at_once() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create_with("news", None).unwrap();
    let far = other.open(channel.id().to_string()).unwrap();
    let mut sinks: Vec<_> = [&channel, &far]
        .map(|channel| {
            let kinds = KindDecoder::new(vec![kind(Alarm::format()), kind(River::format())]).unwrap();
            channel.sink_builder().lossless().build_with(Any::kinds(kinds.with_others())).unwrap()
        })
        .into();
    let mut mixed = Mixed::new(&channel);
    mixed.source.wait_for_sinks(2, SOON).unwrap();
    for time in 0..5 {
        mixed.river(time);
    }
    mixed.alarm();
    mixed.alarm();
    mixed.wind();
    mixed.river(5);
    for sink in &mut sinks {
        let (mut stamps, mut runs, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sequence, mut rivers) = (0, 0);
        while sequence < 9 {
            let event = take_kind(sink, 4, &mut stamps, SOON).unwrap().expect("an event");
            let Event::Record { stamp, record } = event else {
                assert!(stamps.is_empty());
                continue;
            };
            assert_eq!((stamp.sequence, stamps[0]), (sequence, stamp), "none is left out");
            sequence += stamps.len() as u64;
            runs.push(match record {
                Content::Kind(0, alarm) => format!("alarm of {} bytes", alarm.len()),
                Content::Kind(_, bytes) => {
                    assert_eq!((bytes.len(), bytes.as_ptr().addr() % 8), (16 * stamps.len(), 0));
                    let time = |river: &[u8]| i64::from_ne_bytes(river[..8].try_into().unwrap());
                    times.extend(bytes.chunks(16).map(time));
                    rivers += stamps.len();
                    "rivers".into()
                }
                Content::Message(message) => message.format().name().to_owned(),
                Content::Record(_) => panic!("they are of kinds"),
            });
            assert!(stamps.len() <= 4);
        }
        runs.dedup();
        let alarm = format!("alarm of {} bytes", size_of::<usize>());
        assert_eq!(runs, ["rivers", &alarm, "Wind", "rivers"]);
        assert_eq!((rivers, times), (6, (0..6).collect()));
        assert_eq!((sink.counts().taken, sink.counts().lost), (9, 0));
        assert!(take_kind(sink, 4, &mut stamps, Duration::ZERO).unwrap().is_none());
    }
}
