//! Two processes of one user: they need no key but that of their user.
#![cfg(any(unix, windows))]

use isoform::Record;
use isoform_channel::{Event, Node};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const COUNT: u64 = 1000;

#[derive(Record, Debug, PartialEq)]
#[isoform(rename = "Tick")]
#[repr(C)]
struct Tick {
    count: u64,
    value: f64,
}

#[test]
fn events_of_another_process_arrive_in_order() {
    let mut source = Command::new(std::env::current_exe().unwrap());
    source.args(["--exact", "the_other_process", "--include-ignored", "--nocapture"]).env("IS_SOURCE", "1");
    let mut source = source.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(source.stdout.take().unwrap()).lines().map(Result::unwrap);
    let id = lines.find_map(|line| line.find("iso://").map(|at| line[at..].trim().to_owned()));

    let channel = Node::new().unwrap().open(id.expect("the id of a channel")).unwrap();
    let mut sink = channel.sink::<Tick>().unwrap();
    for expected in 0..COUNT {
        let tick = loop {
            match sink.recv().unwrap() {
                Event::Record { record, .. } => break Tick { ..*record },
                Event::Gap(_, gap) => panic!("{gap}"),
                Event::Left(..) => panic!("the source left after {expected}"),
                _ => {}
            }
        };
        assert_eq!(tick, Tick { count: expected, value: expected as f64 / 2.0 });
    }
    source.stdin.take().unwrap().write_all(b"\n").unwrap();
    lines.for_each(drop);
    assert!(source.wait().unwrap().success());
}

#[test]
#[ignore = "what the test above starts as another process"]
#[allow(clippy::print_stdout, reason = "that is how the other process learns it")]
fn the_other_process() {
    if std::env::var_os("IS_SOURCE").is_none() {
        return;
    }
    let node = Node::new().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    println!("\n{}", channel.id());
    let mut source = channel.source::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    for count in 0..COUNT {
        source.submit(&Tick { count, value: count as f64 / 2.0 }).unwrap();
    }
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
