//! Derived channels: what a query gives of a channel, opened by ids and names of its own (`spec/channel.md`, "Derived channels").
#![cfg(any(unix, windows))]

use isoform::{Code, Messages, Record};
use isoform_channel::{Event, Node, Rights, Sink};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[derive(Record)]
#[repr(C)]
struct Gauge {
    step: u64,
    #[isoform(unit = "m")]
    depth: [f64; 4],
}

#[derive(Record, Debug, PartialEq, Clone)]
#[repr(C)]
struct Deepest {
    step: u64,
    deep: f64,
}

fn gauge(step: u64) -> Gauge {
    Gauge { step, depth: [0.0, step as f64, 1.0, -1.0] }
}

/// The sequences and steps of the records that come, until the source leaves.
fn all(sink: &mut Sink<Deepest>) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    loop {
        match sink.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Record { stamp, record } => all.push((stamp.sequence, record.step)),
            Event::Left(..) => return all,
            Event::Refused(_, error) => panic!("{error}"),
            _ => {}
        }
    }
}

#[test]
fn whoever_has_the_id_gets_what_the_query_gives_and_asks_queries_of_it() {
    let [here, there] = [(); 2].map(|()| Node::new().unwrap());
    let channel = here.create::<Gauge>("gauges").unwrap();
    let deep = channel.derive("where step >= 4 | select step, deep = max(depth)").unwrap();
    assert_eq!(deep.name(), "gauges");
    assert_eq!(deep.format().unwrap().structure().fields().len(), 2);
    let fifth = deep.derive("where deep < 20|every 5").unwrap();
    let id = fifth.id().to_string();
    assert!(id.contains("query=where%20step%20%3E%3D%204%20%7C%20select"), "{id}");

    let [deep, fifth] = [deep.id(), fifth.id()].map(|id| there.open(id.to_string()).unwrap());
    assert_eq!(
        fifth.query().unwrap().to_string(),
        "where step >= 4 | select step, deep = max(depth) || where deep < 20 | every 5"
    );
    let mut sinks = [
        deep.sink::<Deepest>().unwrap(),
        fifth.sink::<Deepest>().unwrap(),
        fifth.sink_builder().query("where step > 4").unwrap().build::<Deepest>().unwrap(),
    ];
    let mut source = channel.source::<Gauge>().unwrap();
    source.wait_for_sinks(3, LONG).unwrap();
    (0..30).for_each(|step| assert_eq!(source.submit(&gauge(step)).unwrap(), step));
    let closing = std::thread::spawn(move || source.close(LONG).unwrap());
    let taken = sinks.each_mut().map(all);
    assert_eq!(taken[0], (4..30).map(|step| (step, step)).collect::<Vec<_>>());
    assert_eq!(taken[1], [4, 9, 14, 19].map(|step| (step, step)));
    assert_eq!(taken[2], [9, 14, 19].map(|step| (step, step)));
    let accounts = closing.join().unwrap();
    let mut skipped: Vec<_> = accounts.iter().map(|it| (it.ledger.submitted, it.ledger.skipped)).collect();
    skipped.sort();
    assert_eq!(skipped, [(30, 4), (30, 26), (30, 27)]);
}

#[test]
fn a_name_leads_to_the_query_while_somebody_holds_it() {
    let [here, there] = [(); 2].map(|()| Node::new().unwrap());
    let channel = here.create::<Gauge>("gauges").unwrap();
    let named = channel.derive("select step, deep = max(depth)").unwrap().named("deepest").unwrap();
    let id = named.id();
    assert_eq!((named.name(), id.name(), id.query()), ("deepest", "deepest", None));
    for taken in
        [channel.derive("every 2").unwrap().named("deepest"), channel.derive("every 2").unwrap().named("gauges")]
    {
        assert_eq!(taken.unwrap_err().code(), Code::Taken);
    }
    assert_eq!(here.create::<Gauge>("deepest").unwrap_err().code(), Code::Taken);
    assert_eq!(channel.named("river").unwrap_err().code(), Code::WrongType);

    // By the whole id, by the name alone, from the node itself, and with one more query.
    let address = id.address();
    let bare = format!("iso://{}/deepest", address.to_string().trim_start_matches("tcp:"));
    let ids = [id.to_string(), bare.clone(), format!("{bare}?query=every%203")];
    let opened = ids.each_ref().map(|id| there.open(id).unwrap());
    let own = here.open(&bare).unwrap();
    let query = |channel: &isoform_channel::Channel| channel.query().unwrap().to_string();
    assert_eq!(opened.each_ref().map(query)[..2], ["select step, deep = max(depth)"; 2]);
    assert_eq!(query(&opened[2]), "select step, deep = max(depth) || every 3");
    assert_eq!(query(&own), "select step, deep = max(depth)");
    // There, the id has the query, since that node knows no such name.
    let again = Node::new().unwrap().open(opened[0].id().to_string()).unwrap();
    assert_eq!(query(&again), "select step, deep = max(depth)");

    drop(named);
    for node in [&here, &there] {
        assert_eq!(node.open(&bare).unwrap_err().code(), Code::NoSuchChannel);
        assert_eq!(node.open(id.to_string()).unwrap_err().code(), Code::NoSuchChannel);
    }
    // The channel does not end with what was derived from it; what was opened is left.
    channel.derive("every 2").unwrap().close();
    assert_eq!(channel.members().len(), 3);
    opened[2].clone().close();
    assert!(opened[1].members().is_empty());
    let queries = ["select step, deep = max(depth)", "select step, deep = max(depth) || every 3"];
    let id = |query: &str| channel.id().with_query(&query.parse().unwrap()).to_string();
    let [full, third] = queries.map(|query| there.open(id(query)).unwrap());
    let mut sinks = [full.sink::<Deepest>().unwrap(), third.sink::<Deepest>().unwrap()];
    let mut source = channel.source::<Gauge>().unwrap();
    source.wait_for_sinks(2, LONG).unwrap();
    (0..6).for_each(|step| _ = source.submit(&gauge(step)).unwrap());
    let closing = std::thread::spawn(move || source.close(LONG).unwrap());
    assert_eq!(sinks.each_mut().map(|sink| all(sink).len()), [6, 2]);
    closing.join().unwrap();
    // The name is free again.
    here.create::<Gauge>("deepest").unwrap();
}

#[test]
fn a_derived_channel_has_no_sources_and_no_query_that_does_not_fit() {
    let node = Node::new().unwrap();
    let channel = node.create::<Gauge>("gauges").unwrap();
    let derived = channel.derive("every 10").unwrap();
    let error = derived.source::<Gauge>().unwrap_err();
    assert_eq!(error.code(), Code::WrongType);
    assert!(error.to_string().contains("every 10"), "{error}");
    let error = derived.source_builder().build::<Messages>().unwrap_err();
    assert_eq!(error.code(), Code::WrongType);

    assert_eq!(channel.derive("wher step > 3").unwrap_err().code(), Code::Text);
    let error = channel.derive("where temperature > 3").unwrap_err();
    assert_eq!(error.code(), Code::NoSuchField);
    let error = derived.sink_builder().query("every").unwrap_err();
    assert_eq!(error.code(), Code::Text);
    let id = format!("{}?query=where%20temperature%20%3E%203", channel.id());
    let error = Node::new().unwrap().open(&id).unwrap_err();
    assert_eq!(error.code(), Code::NoSuchField);
    assert!(error.to_string().contains("temperature"), "{error}");
}

#[test]
fn rules_hold_for_the_name_and_for_the_channel_behind_it() {
    for (rules, expected) in [
        ("allow anyone all on *", None),
        ("allow anyone all on gauges", Some(Code::Forbidden)),
        ("allow anyone all on few", Some(Code::NoSuchChannel)),
    ] {
        let node = Node::builder().rights(Rights::parse(rules).unwrap()).build().unwrap();
        let channel = node.create::<Gauge>("gauges").unwrap();
        let named = channel.derive("every 10").unwrap().named("few").unwrap();
        let opened = Node::new().unwrap().open(named.id().to_string());
        assert_eq!(opened.err().map(|error| error.code()), expected, "{rules}");
    }
}
