//! Sinks that ask for less: queries that sources evaluate (`spec/channel.md`, "Queries"), between two nodes and within one.
#![cfg(any(unix, windows))]

use isoform::{Code, Encoder, Messages, Record};
use isoform_channel::{Cause, Channel, Event, Node, Policy, QueryTime, Sink, Source, Window};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

#[derive(Record, Debug, PartialEq, Clone)]
#[repr(C)]
struct Gauge {
    step: u64,
    #[isoform(unit = "m")]
    depth: [f64; 100],
}

#[derive(Record, Debug, PartialEq, Clone)]
#[repr(C)]
struct Deepest {
    step: u64,
    deep: f64,
}

#[derive(Record)]
#[repr(C)]
struct Level {
    level: u32,
}

fn gauge(step: u64) -> Gauge {
    Gauge { step, depth: std::array::from_fn(|at| if at == 50 { step as f64 } else { 0.0 }) }
}

/// A channel at one node, and the same at another.
fn two() -> (Channel, Channel) {
    let [here, there] = [(); 2].map(|()| Node::new().unwrap());
    let channel = here.create::<Gauge>("gauges").unwrap();
    let other = there.open(channel.id().to_string()).unwrap();
    (channel, other)
}

/// The events of a sink until its source leaves: their sequences and records.
fn all(sink: &mut Sink<Deepest>) -> Vec<(u64, Deepest)> {
    let mut all = Vec::new();
    loop {
        match sink.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Record { stamp, record } => all.push((stamp.sequence, record.clone())),
            Event::Left(..) => return all,
            Event::Gap(_, gap) => panic!("{gap:?}"),
            _ => {}
        }
    }
}

fn submit(source: &mut Source<Gauge>, steps: std::ops::Range<u64>) {
    steps.for_each(|step| assert_eq!(source.submit(&gauge(step)).unwrap(), step));
}

/// Waits until the report of a channel's own node says what is expected.
fn wait_for(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn only_results_come_and_the_account_is_exact() {
    let (channel, other) = two();
    let wanted = "where max(depth) >= 10 m | select step, deep = max(depth)";
    let sink = |channel: &Channel| channel.sink_builder().query(wanted).unwrap().build::<Deepest>().unwrap();
    let mut source = channel.source::<Gauge>().unwrap();
    let mut sinks = [sink(&other), sink(&channel)];
    source.wait_for_sinks(2, LONG).unwrap();
    submit(&mut source, 0..30);
    let info = channel.info(LONG).unwrap();
    let queries = &info.sources().next().unwrap().1.queries;
    let counts = queries.iter().map(|query| (query.sinks, query.account.evaluated, query.account.filtered));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 30, 10); 2], "the own node shares with no other");
    let takers = sinks.each_mut().map(|sink| {
        let deep = |step: u64| (step, Deepest { step, deep: step as f64 });
        (sink, (10..30).map(deep).collect::<Vec<_>>())
    });
    let accounts = std::thread::scope(|scope| {
        for (sink, expected) in takers {
            scope.spawn(move || assert_eq!(all(sink), expected));
        }
        source.close(LONG).unwrap()
    });
    for account in accounts {
        let ledger = account.ledger;
        assert_eq!([ledger.submitted, ledger.acknowledged, ledger.skipped, ledger.lost()], [30, 20, 10, 0]);
    }
    for sink in &sinks {
        let counts = sink.counts();
        assert_eq!((counts.received, counts.skipped, counts.lost), (20, 10, 0));
    }
}

#[test]
fn a_query_that_does_not_fit_is_refused_with_its_place_and_the_fields_that_there_are() {
    let (channel, other) = two();
    let _source = channel.source::<Gauge>().unwrap();
    for channel in [&channel, &other] {
        let builder = || channel.sink_builder();
        let error = builder().query("where deep > 2").unwrap().build::<Deepest>().unwrap_err();
        assert_eq!(error.code(), Code::NoSuchField);
        let text = error.to_string();
        assert!(text.contains("step, depth") && text.contains("line 1 column 7"), "{text}");
        let error = builder().query("where max(depth) > 2 s").unwrap().build::<Deepest>().unwrap_err();
        assert_eq!(error.code(), Code::Unit, "metres and seconds");
        let error = builder().query("where depth >").unwrap_err();
        assert_eq!(error.code(), Code::Text);
        // The results have no field that the sink's records have.
        let error = builder().query("select level = sum(depth)").unwrap().build::<Deepest>().unwrap_err();
        assert_eq!(error.code(), Code::NoConversion, "{error}");
    }
}

#[test]
fn a_filter_comes_before_windows_and_queues() {
    let (channel, other) = two();
    let window = Window { events: 1, bytes: 0 };
    let builder = other.sink_builder().policy(Policy::Block).window(window);
    let wanted = "where step % 10 == 0 | select step, deep = depth[50]";
    let mut sink = builder.query(wanted).unwrap().build::<Deepest>().unwrap();
    let mut source = channel.source::<Gauge>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    // One result is on its way and none is taken, and yet no event that is filtered waits.
    submit(&mut source, 0..10);
    let before = source.ledger()[0];
    assert_eq!((before.ledger.skipped, before.waited, before.changes), (9, Duration::ZERO, 0));
    let taker = std::thread::spawn(move || all(&mut sink));
    submit(&mut source, 10..12);
    source.close(LONG).unwrap();
    assert_eq!(taker.join().unwrap().len(), 2);
}

#[test]
fn a_sink_knows_of_skipped_events_behind_which_nothing_comes() {
    let (channel, other) = two();
    let sink = other.sink_builder().query("every 10").unwrap().build::<Deepest>();
    assert!(sink.is_err(), "depth is not deep");
    let sink = other.sink_builder().query("every 10").unwrap().build::<Gauge>().unwrap();
    let mut source = channel.source::<Gauge>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 0..8);
    wait_for(|| sink.counts().skipped == 7);
    assert_eq!(sink.counts().received, 1);
}

#[test]
fn a_window_gives_one_result_for_many_events_and_its_account_is_exact() {
    let (channel, other) = two();
    let wanted = "where step != 5 | window 10 | select step = last(step), deep = sum(depth)";
    let sink = |channel: &Channel| channel.sink_builder().query(wanted).unwrap().build::<Deepest>().unwrap();
    let mut source = channel.source::<Gauge>().unwrap();
    let mut sinks = [sink(&other), sink(&channel)];
    source.wait_for_sinks(2, LONG).unwrap();
    submit(&mut source, 0..36);
    let info = channel.info(LONG).unwrap();
    let query = &info.sources().next().unwrap().1.queries[0];
    let account = query.account;
    assert_eq!((account.evaluated, account.passed, account.filtered, account.absorbed), (36, 3, 1, 32));
    // Each result takes the place of the last event in its window.
    let deep = |step: u64, deep: f64| (step, Deepest { step, deep });
    let expected = [deep(10, 50.0), deep(20, 155.0), deep(30, 255.0)];
    let accounts = std::thread::scope(|scope| {
        for sink in &mut sinks {
            scope.spawn(|| assert_eq!(all(sink), expected));
        }
        source.close(LONG).unwrap()
    });
    for account in accounts {
        let ledger = account.ledger;
        assert_eq!([ledger.submitted, ledger.acknowledged, ledger.skipped, ledger.lost()], [36, 3, 33, 0]);
    }
}

#[test]
fn kept_events_pass_through_the_query() {
    let (channel, other) = two();
    let mut source = channel.source_builder().keep(20).build::<Gauge>().unwrap();
    submit(&mut source, 0..20);
    let wanted = "where step >= 3 | every 2 | select step, deep = depth[50]";
    let mut first = other.sink_builder().query(wanted).unwrap().build::<Deepest>().unwrap();
    let mut second = channel.sink_builder().query(wanted).unwrap().build::<Deepest>().unwrap();
    source.wait_for_sinks(2, LONG).unwrap();
    let taker = std::thread::spawn(move || all(&mut first));
    let closer = std::thread::spawn(move || source.close(LONG).unwrap());
    let steps = |all: Vec<(u64, Deepest)>| all.into_iter().map(|(_, record)| record.step).collect::<Vec<_>>();
    let expected: Vec<u64> = (3..20).step_by(2).collect();
    assert_eq!(steps(all(&mut second)), expected);
    assert_eq!(steps(taker.join().unwrap()), expected);
    let accounts = closer.join().unwrap();
    assert!(
        accounts.iter().all(|account| account.ledger.is_exact() && account.ledger.acknowledged == 9),
        "{accounts:?}"
    );
}

#[test]
fn a_source_of_any_format_learns_with_its_first_event_whether_a_query_fits() {
    let [here, there] = [(); 2].map(|()| Node::new().unwrap());
    let channel = here.create_with("any", None).unwrap();
    let other = there.open(channel.id().to_string()).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let sink = |query: &str| other.sink_builder().query(query).unwrap().build::<Messages>().unwrap();
    let (mut fits, mut does_not) = (sink("where step > 0 | select step"), sink("where level > 0"));
    source.wait_for_sinks(2, LONG).unwrap();
    let (mut gauges, mut others) = (Encoder::<Gauge>::new(), Encoder::<Level>::new());
    for step in 0..3 {
        let record = gauge(step);
        let message = gauges.encode(&record).unwrap();
        let body: Vec<u8> = message.body().flatten().copied().collect();
        source.submit_body(Gauge::format(), &body).unwrap();
    }
    let level = Level { level: 1 };
    let body: Vec<u8> = others.encode(&level).unwrap().body().flatten().copied().collect();
    source.submit_body(Level::format(), &body).unwrap();
    let error = loop {
        match does_not.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Refused(_, error) => break error,
            Event::Record { .. } => panic!("it fits nothing"),
            _ => {}
        }
    };
    assert_eq!(error.code(), Code::NoSuchField, "{error}");
    let mut steps = Vec::new();
    let closer = std::thread::spawn(move || source.close(LONG).unwrap());
    loop {
        match fits.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Record { record: message, .. } => {
                assert_eq!(message.format().size(), 8, "the step alone");
                steps.push(message.view().unwrap().i64("step").unwrap());
            }
            Event::Left(..) => break,
            _ => {}
        }
    }
    assert_eq!(steps, [1, 2]);
    assert_eq!(fits.counts().skipped, 2, "the first, and the one that has no step");
    closer.join().unwrap();
}

#[test]
fn a_source_has_only_so_many_different_queries() {
    let (channel, other) = two();
    let source = channel.source::<Gauge>().unwrap();
    let sink = |number: u64| {
        let query = format!("where step % {number} == 0");
        other.sink_builder().query(&query).unwrap().build::<Gauge>().unwrap()
    };
    // A node that asks alone has all places, and at most 64 subscriptions at one source.
    let sinks: Vec<_> = (1..=64).map(sink).collect();
    source.wait_for_sinks(64, LONG).unwrap();
    // Those of others get places nevertheless, but no more than their shares.
    let others: Vec<_> = (0..40u64)
        .map(|number| {
            channel.sink_builder().query(&format!("where step > {number}")).unwrap().build::<Gauge>().unwrap()
        })
        .collect();
    let joined = others.into_iter().filter_map(|mut sink| match sink.recv_timeout(LONG).unwrap().expect("an event") {
        Event::Refused(_, error) if error.code() == Code::Budget => None,
        Event::Joined { .. } => Some(sink),
        event => panic!("{event:?}"),
    });
    assert_eq!(joined.collect::<Vec<_>>().len(), 32);
    let mut same = channel.sink_builder().query("where (step % 3) == 0").unwrap().build::<Gauge>().unwrap();
    assert!(matches!(same.recv_timeout(LONG).unwrap(), Some(Event::Joined { .. })), "it shares another's");
    drop(sinks);
}

#[test]
fn a_query_without_time_loses_events_and_says_so_and_those_of_other_nodes_go_on() {
    let (channel, other) = two();
    let third = Node::new().unwrap().open(channel.id().to_string()).unwrap();
    // Nothing flows back, so that it does not matter how long the test takes.
    let time = QueryTime { at_once: Duration::from_millis(10), second: Duration::ZERO };
    let mut source = channel.source_builder().query_time(time).build::<Gauge>().unwrap();
    let dear =
        format!("where {} >= 0 m | select step, deep = depth[50]", vec!["percentile(depth, 50)"; 100].join(" + "));
    let sink =
        |channel: &Channel, query: &str| channel.sink_builder().query(query).unwrap().build::<Deepest>().unwrap();
    let mut greedy = sink(&other, &dear);
    let mut modest = sink(&third, "where depth[50] >= 0 m | select step, deep = depth[50]");
    source.wait_for_sinks(2, LONG).unwrap();
    submit(&mut source, 0..300);
    let info = channel.info(LONG).unwrap();
    let mut queries: Vec<_> = info.sources().next().unwrap().1.queries.iter().collect();
    queries.sort_by_key(|query| !query.text.contains("percentile"));
    let evaluated = queries[0].account.evaluated;
    assert!((1..300).contains(&evaluated), "{evaluated}");
    assert_eq!((queries[0].thinned, queries[1].thinned), (300 - evaluated, 0));
    let taker = std::thread::spawn(move || all(&mut modest));
    let closer = std::thread::spawn(move || source.close(LONG).unwrap());
    let (mut came, mut lost) = (0, 0);
    loop {
        match greedy.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Record { .. } => came += 1,
            Event::Gap(_, gap) => {
                assert_eq!((gap.first, gap.cause), (came + lost, Cause::Thinned));
                lost += gap.count;
            }
            Event::Left(..) => break,
            Event::Refused(_, error) => panic!("{error}"),
            _ => {}
        }
    }
    assert_eq!((came, lost), (evaluated, 300 - evaluated));
    assert_eq!(taker.join().unwrap().len(), 300);
    let accounts = closer.join().unwrap();
    assert!(accounts.iter().all(|account| account.ledger.is_exact() && account.ledger.submitted == 300));
    let mut thinned: Vec<u64> = accounts.iter().map(|account| account.ledger.lost_for(Cause::Thinned)).collect();
    thinned.sort_unstable();
    assert_eq!(thinned, [0, lost]);
}

#[test]
fn what_is_lost_is_compared_anew_and_so_is_everything_for_who_comes_later() {
    let (channel, other) = two();
    let wanted = "changed depth[50] by 1000 m or every 1 h";
    let mut source = channel.source::<Gauge>().unwrap();
    // Every event is too long for one of the sinks, which the other one notices.
    let short = other.sink_builder().longest(100).query(wanted).unwrap().build::<Gauge>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 0..10);
    let ledger = source.ledger()[0].ledger;
    assert_eq!([ledger.submitted, ledger.lost(), ledger.skipped], [10, 10, 0], "none was handed on");
    drop(short);
    wait_for(|| source.ledger().iter().all(|account| !account.present));
    let sink = |channel: &Channel| channel.sink_builder().query(wanted).unwrap().build::<Gauge>().unwrap();
    let first = sink(&channel);
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 10..20);
    let second = sink(&other);
    source.wait_for_sinks(2, LONG).unwrap();
    submit(&mut source, 20..30);
    let skipped: Vec<_> =
        source.ledger().iter().filter(|account| account.present).map(|account| account.ledger).collect();
    let mut counts: Vec<_> = skipped.iter().map(|ledger| (ledger.submitted, ledger.skipped)).collect();
    counts.sort_unstable();
    assert_eq!(
        counts,
        [(10, 9), (20, 19)],
        "the event 10 passes for the first, and 20 for the second: they share no state"
    );
    drop((first, second));
}

#[test]
fn keys_and_slices_at_the_source() {
    let (channel, other) = two();
    let wanted = "key step % 3 | every 2 | select step, deep = max(depth[0:100:50])";
    let mut sink = other.sink_builder().query(wanted).unwrap().build::<Deepest>().unwrap();
    let mut source = channel.source::<Gauge>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 0..12);
    let taker = std::thread::spawn(move || all(&mut sink));
    source.close(LONG).unwrap();
    let expected = [0, 1, 2, 6, 7, 8].map(|step| (step, Deepest { step, deep: step as f64 }));
    assert_eq!(taker.join().unwrap(), expected);
}

/// A sink with fewer fields than its source, and an older name for one of them.
#[derive(Record, Debug, PartialEq, Clone)]
#[repr(C)]
struct Step {
    #[isoform(alias = "step")]
    number: u32,
}

#[test]
fn a_struct_asks_for_its_own_fields() {
    let (channel, other) = two();
    let mut source = channel.source::<Gauge>().unwrap();
    let mut sinks = [other.sink::<Step>().unwrap(), channel.sink::<Step>().unwrap()];
    let mut whole = other.sink_builder().build::<Messages>().unwrap();
    source.wait_for_sinks(3, LONG).unwrap();
    submit(&mut source, 0..10);
    for sink in &mut sinks {
        for number in 0..10 {
            let record = loop {
                if let Some(record) = sink.recv_timeout(LONG).unwrap().expect("an event").map(Step::clone).record() {
                    break record;
                }
            };
            assert_eq!(record, Step { number });
        }
    }
    let mut sizes = Vec::new();
    while sizes.len() < 10 {
        if let Event::Record { record, .. } = whole.recv_timeout(LONG).unwrap().expect("an event") {
            sizes.push(record.format().size());
        }
    }
    assert_eq!(sizes, [size_of::<Gauge>(); 10], "whoever states no fields gets all");
    let info = channel.info(LONG).unwrap();
    let fields = &info.sources().next().unwrap().1.queries;
    let shown: Vec<_> = fields.iter().map(|it| (&*it.text, it.sinks, it.account.passed)).collect();
    assert_eq!(shown, [("fields number, step", 1, 10)], "a sink of the same program gets the records themselves");
    for account in source.close(LONG).unwrap() {
        assert!(account.ledger.is_exact() && account.ledger.acknowledged == 10, "{}", account.ledger);
    }
}

/// More than a few sinks of one query get what it lets pass from the node's own thread.
#[test]
fn many_sinks_of_a_query_get_all_that_it_lets_pass() {
    const MANY: usize = 150;
    let (channel, other) = two();
    let mut source = channel.source_builder().most_sinks(MANY).build::<Gauge>().unwrap();
    let sink = |_| other.sink_builder().query("where step % 2 == 0").unwrap().build::<Gauge>().unwrap();
    let sinks: Vec<_> = (0..MANY).map(sink).collect();
    source.wait_for_sinks(MANY, LONG).unwrap();
    for step in 0..20 {
        submit(&mut source, step..step + 1);
        std::thread::sleep(Duration::from_millis(step % 4));
    }
    for mut sink in sinks {
        let mut steps = Vec::new();
        while steps.len() < 10 {
            match sink.recv_timeout(LONG).unwrap().expect("an event") {
                Event::Record { record, .. } => steps.push(record.step),
                Event::Gap(_, gap) => panic!("{gap:?}"),
                _ => {}
            }
        }
        assert_eq!(steps, (0..20).step_by(2).collect::<Vec<_>>());
    }
}
