//! The rules of nodes, over TCP: with two shared keys, and with the file that a node reads.
#![cfg(unix)]

use isoform::{Code, Record};
use isoform_channel::{Channel, Event, Node, Policy, Rights, SharedKey, new_key};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Tick {
    count: u64,
}

fn key_name(key: &SharedKey) -> String {
    key.name().to_string()
}

/// Opens a channel with a key that the id has.
fn open(node: &Node, channel: &Channel, key: &SharedKey) -> isoform::Result<Channel> {
    node.open(channel.id().with_key(*key.secret()).to_string())
}

#[test]
fn two_keys_have_different_rights() {
    let [watches, publishes] = [new_key().unwrap(), new_key().unwrap()];
    let rules = format!(
        "allow key {} see,subscribe on ticks\nallow key {} see,publish on ticks\n",
        key_name(&watches),
        key_name(&publishes)
    );
    let server = Node::builder().key(watches.clone()).key(publishes.clone()).rights(Rights::parse(&rules).unwrap());
    let server = server.build().unwrap();
    let (ticks, secret) = (server.create::<Tick>("ticks").unwrap(), server.create::<Tick>("secret").unwrap());
    let mut sink = ticks.sink_builder().policy(Policy::Block).build::<Tick>().unwrap();
    let mut source = ticks.source::<Tick>().unwrap();

    let [watcher, publisher] = [Node::new().unwrap(), Node::new().unwrap()];
    let [watched, published] = [(&watcher, &watches), (&publisher, &publishes)].map(|(node, key)| {
        assert_eq!(open(node, &secret, key).unwrap_err().code(), Code::Forbidden);
        open(node, &ticks, key).unwrap()
    });
    let mut theirs = watched.sink::<Tick>().unwrap();
    let wrong = watched.source::<Tick>().unwrap();
    let mut right = published.source::<Tick>().unwrap();
    let mut kept_out = published.sink::<Tick>().unwrap();

    source.wait_for_sinks(2, LONG).unwrap();
    // The watcher has no rules, so it gets what the publisher sends, directly.
    right.wait_for_sinks(3, LONG).unwrap();
    assert_eq!(wrong.sinks(), 1, "that of its own node");
    source.submit(&Tick { count: 1 }).unwrap();
    right.submit(&Tick { count: 2 }).unwrap();
    let record = |event: Event<&Tick>| event.record().map(|tick| tick.count);
    let next = |sink: &mut isoform_channel::Sink<Tick>| loop {
        let event = sink.recv_timeout(LONG).unwrap().expect("an event");
        if let Some(count) = record(event) {
            break count;
        }
    };
    for sink in [&mut theirs, &mut sink] {
        assert_eq!([next(sink), next(sink)].iter().sum::<u64>(), 3);
    }
    let ledger = source.close(LONG).unwrap();
    assert_eq!(ledger.len(), 2, "its own sink, and that of the watcher");
    while let Some(event) = kept_out.recv_timeout(Duration::ZERO).unwrap() {
        assert_ne!(record(event), Some(1));
    }
    let forbidden: Vec<String> = ticks.info(Duration::ZERO).unwrap().members[0]
        .report
        .iter()
        .flat_map(|report| &report.refusals)
        .filter(|refusal| refusal.code == Code::Forbidden as u16)
        .map(|refusal| refusal.last.clone())
        .collect();
    for right in ["see", "publish", "subscribe"] {
        assert!(forbidden.iter().any(|last| last.contains(&format!("the right to {right}"))), "{right}: {forbidden:?}");
    }
}

#[test]
fn a_file_that_others_can_change_or_that_has_a_wrong_line_makes_no_node() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules");
    let build = || Node::builder().rules(&path).build();
    assert_eq!(build().unwrap_err().code(), Code::Io, "a file that is named has to be there");
    std::fs::write(&path, "allow anyone all on *\nallow somebody all on *\n").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let error = build().unwrap_err();
    assert_eq!(error.code(), Code::Text);
    assert!(error.path().contains("rules") && error.to_string().contains("line 2"), "{error}");
    std::fs::write(&path, [0xff]).unwrap();
    assert_eq!(build().unwrap_err().code(), Code::Text);
    std::fs::write(&path, "allow anyone all on *").unwrap();
    build().unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
    let error = build().unwrap_err();
    assert!(error.code() == Code::Io && error.actual().contains("chmod go-w"), "{error}");
    // A pipe, which would let it wait for ever.
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&path).status().unwrap().success());
    let error = build().unwrap_err();
    assert!(error.code() == Code::Io && error.actual() == "something else", "{error}");
}

#[test]
fn a_changed_file_holds_while_the_node_runs_and_a_wrong_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules");
    let write = |text: &str| {
        // As careful editors do.
        let next = folder.path().join("next");
        std::fs::write(&next, text).unwrap();
        std::fs::set_permissions(&next, Permissions::from_mode(0o644)).unwrap();
        std::fs::rename(next, &path).unwrap();
    };
    write("allow anyone all on *");
    let server = Node::builder().rules(&path).build().unwrap();
    let channel = server.create::<Tick>("ticks").unwrap();
    let mut source = channel.source::<Tick>().unwrap();
    let client = Node::new().unwrap();
    let mut sink = client.open(channel.id().to_string()).unwrap().sink::<Tick>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    source.submit(&Tick { count: 1 }).unwrap();

    // A wrong file is named in the refusals, and changes nothing.
    write("allow anyone all on *\ndeny anyone\n");
    let said = || {
        let info = channel.info(Duration::ZERO).unwrap();
        let refusals = info.members[0].report.as_ref().unwrap().refusals.clone();
        refusals.iter().any(|refusal| refusal.code == Code::Text as u16 && refusal.last.contains("line 2"))
    };
    while !said() {
        std::thread::sleep(Duration::from_millis(50));
    }
    source.submit(&Tick { count: 2 }).unwrap();

    write("deny anyone subscribe on *\nallow anyone all on *");
    let mut counts = Vec::new();
    loop {
        match sink.recv_timeout(LONG).unwrap().expect("an event") {
            Event::Record { record, .. } => counts.push(record.count),
            Event::Refused(_, error) => {
                assert_eq!(error.code(), Code::Forbidden);
                break;
            }
            _ => {}
        }
    }
    assert_eq!(counts, [1, 2]);

    // A sink that comes now is told as well.
    let late_channel = Node::new().unwrap().open(channel.id().to_string()).unwrap();
    let mut late = late_channel.sink::<Tick>().unwrap();
    let told = late.recv_timeout(LONG).unwrap().expect("an event");
    assert!(matches!(&told, Event::Refused(_, error) if error.code() == Code::Forbidden), "{told:?}");

    write("allow anyone all on *");
    while !matches!(sink.recv_timeout(LONG).unwrap(), Some(Event::Joined { .. })) {}
    while !matches!(late.recv_timeout(LONG).unwrap(), Some(Event::Joined { .. })) {}
    source.submit(&Tick { count: 3 }).unwrap();
    for sink in [&mut sink, &mut late] {
        let three = sink.recv_timeout(LONG).unwrap().and_then(Event::record).map(|tick| tick.count);
        assert_eq!(three, Some(3));
    }
}
