//! `echo`, `pub`, `info` and `plot`: between processes, and with sources and sinks of a program.

use super::*;
use isoform::core::declare::Shape;
use isoform::memory::{Decoder, Encoder};
use isoform::{Messages, Rules};
use isoform_channel::transport::{Awaited, Connection, Door, Transport};
use isoform_channel::{Address, Node, Parameters, Source, Window};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::time::{Duration, Instant};

/// What nothing here takes.
const LONG: Duration = Duration::from_secs(60);

/// A channel in a process, with a source.
fn gauges() -> (Node, String, Source<Messages>) {
    let node = Node::new().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let source = channel.source_builder().build::<Messages>().unwrap();
    (node, channel.id().to_string(), source)
}

fn submit(source: &mut Source<Messages>, id: u32) {
    source.submit_body(&gauge(), &gauge_body(id, f64::from(id) / 2.0)).unwrap();
}

fn start(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Starts `pub` with an input, and waits for the id of its channel.
fn publish(arguments: &[&str], input: &[u8]) -> (Child, String, impl BufRead + use<>) {
    let mut command = command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut id = String::new();
    notices.read_line(&mut id).unwrap();
    let id = id.trim_end().strip_prefix("-- ").expect("the id comes first").to_string();
    (child, id, notices)
}

/// A run of the command that has only something to say besides its output.
#[track_caller]
fn quiet(run: &Run) {
    assert_eq!(run.status, 0, "{}", run.errors);
    assert!(run.errors.lines().all(|line| line.starts_with("-- ")), "{}", run.errors);
}

#[test]
fn records_of_a_stream_are_shown_where_they_are_published() {
    let directory = Files::new();
    let at = format!("unix:{}", directory.path("x.sock").display());
    let (child, id, mut notices) = publish(&["pub", "tracks", "--listen", &at], &stream());
    assert!(id.starts_with("iso+unix:///") && id.contains("/x.sock/tracks/"), "{id}");
    let echo = isoform(&["echo", "--json", &id]);
    quiet(&echo);
    assert_eq!(echo.output, dumps::JSON);
    for said in ["source 0 has joined, at node ", "source 0 has left", "no other node has the channel open any more"] {
        assert!(echo.errors.contains(said), "{}", echo.errors);
    }
    let account = Run::of(child.wait_with_output().unwrap()).good();
    assert!(account.contains("drop oldest of 1000          4               4       0            0\n"), "{account}");
    assert!(account.ends_with("1 account in all: each adds up\n"), "{account}");
    let mut said = String::new();
    notices.read_to_string(&mut said).unwrap();
    assert_eq!(said, "-- waiting for 1 sink\n");
}

#[test]
fn lines_of_json_are_records_of_a_shape() {
    let files = Files::new();
    let shape = files.write("a.shape", SHAPES) + "#Point";
    let lines = b"{\"x\":1,\"y\":2}\n\n{\"x\":\"east\"}\n{\"x\":3}\n{\"z\":3}\neast\n{\"y\":4}";
    let (child, id, mut notices) = publish(&["pub", "points", "--missing", "zero", "--shape", &shape], lines);
    let echo = isoform(&["echo", "--json", "--count", "3", &id]);
    assert_eq!(echo.output, "{\"x\":1.0,\"y\":2.0}\n{\"x\":3.0,\"y\":0.0}\n{\"x\":0.0,\"y\":4.0}\n");
    let mut said = String::new();
    notices.read_to_string(&mut said).unwrap();
    assert!(said.contains("isoform: -: line 3: malformed text at x: "), "{said}");
    assert!(said.contains("isoform: -: line 5: no such field"), "{said}");
    assert!(
        said.contains(r#"line 6: malformed text: expected JSON such as {"x":..,"y":..}, found "east": expected"#),
        "{said}"
    );
    assert!(said.contains("-- 3 records passed over") && !said.contains("hint"), "{said}");
    let status = child.wait_with_output().unwrap().status.code();
    assert_eq!(status, Some(1));
}

#[cfg(unix)]
#[test]
fn who_may_not_subscribe_is_told_and_gets_records_once_the_file_allows_it() {
    let files = Files::new();
    let rules = files.write("rules", "allow anyone see,ask on tracks\n");
    let (child, id, _notices) = publish(&["pub", "tracks", "--rules", &rules], &stream());
    let mut echo = start(&["echo", "--json", &id]);
    let mut notices = BufReader::new(echo.stderr.take().unwrap()).lines().map(Result::unwrap);
    let refused = notices.find(|line| line.contains("cannot be read")).expect("a word about the refusal");
    assert!(refused.contains("source 0 cannot be read: forbidden: at tracks"), "{refused}");
    assert!(refused.contains("the right to subscribe") && !refused.contains("line"), "{refused}");
    let info = isoform(&["info", &id]).good();
    assert!(info.contains("the last: forbidden at tracks: expected the right to subscribe"), "{info}");
    let next = files.write("next", "allow anyone all on *\n");
    std::fs::rename(next, &rules).unwrap();
    assert_eq!(Run::of(echo.wait_with_output().unwrap()).output, dumps::JSON);
    Run::of(child.wait_with_output().unwrap()).good();
}

#[test]
fn an_id_with_a_key_lets_in_whoever_has_it() {
    let (child, id, _notices) = publish(&["pub", "points", "--with-key"], &stream());
    let key = id.split_once("?key=").expect("a key in the id").1.to_string();
    assert_eq!(key.len(), 64);
    // As a user with another home, or in a container.
    let elsewhere = Files::new();
    let echo = |id: &str| {
        let mut command = command(&["echo", "--json", id]);
        Run::of(command.env("HOME", elsewhere.path("")).env_remove("XDG_CONFIG_HOME").output().unwrap())
    };
    let refused = echo(id.split_once('?').unwrap().0);
    assert!(refused.status == 2 && refused.errors.contains("not admitted"), "{}", refused.errors);
    assert!(refused.errors.contains("--with-key"), "{}", refused.errors);
    assert_eq!(echo(&id).output, dumps::JSON);
    assert!(!Run::of(child.wait_with_output().unwrap()).good().contains(&key));
}

#[test]
fn records_go_to_a_channel_that_is_there() {
    let (node, id, _source) = gauges();
    let mut sink = node.open(&id).unwrap().sink_builder().build::<Messages>().unwrap();
    let reader = std::thread::spawn(move || {
        loop {
            if let Some(record) = sink.recv_timeout(LONG).unwrap().expect("it comes").record() {
                let line = isoform::text::json::line(record.view().unwrap());
                // What is asked for next, nothing, tells that the one before was taken.
                sink.recv_timeout(LONG).unwrap();
                return line;
            }
        }
    });
    let account = isoform_reading(&["pub", &id], b"{\"id\":7,\"depth\":0.25}\n").good();
    assert_eq!(reader.join().unwrap(), "{\"id\":7,\"depth\":0.25}");
    assert!(account.contains("block           1               1       0            0\n"), "{account}");
}

#[test]
fn records_that_cannot_be_published_say_why() {
    for (arguments, input, says) in [
        (&["points"][..], "{}\n", "lines of JSON need a type\n  hint: use --shape FILE"),
        (&["a/b"], "", "cannot make a channel \"a/b\": expected a name without / "),
        (&["points", "--listen", "0.0.0.0:0"], "", "--insecure"),
        (&["points", "--shape", "nowhere.shape"], "", "cannot open nowhere.shape"),
        (&["points", "nowhere.iso"], "", "cannot open nowhere.iso"),
        (&["points", "--rate", "0"], "", "a number above 0"),
    ] {
        let run = isoform_reading(&[&["pub", "--wait", "0"], arguments].concat(), input.as_bytes());
        let (_, errors) = run.errors.split_at(run.errors.find("isoform: ").expect("there is an error"));
        assert!(errors.contains(says), "{arguments:?}: {errors}");
        assert_eq!(run.status, 2, "{arguments:?}");
    }
    let missing = isoform_reading(&["pub", "points", "nowhere.iso"], b"").errors;
    assert!(missing.starts_with("isoform: cannot open"), "no channel is made for it: {missing}");
    let typeless = isoform_reading(&["pub", "points"], b"{}\n");
    assert!(typeless.errors.contains("lines of JSON need a type"), "without a sink: {}", typeless.errors);
    // What is no record of the channel's type is told of, and passed over.
    let (node, id, _source) = gauges();
    let _sink = node.open(&id).unwrap().sink_builder().build::<Messages>().unwrap();
    let files = Files::new();
    let shape = files.write("text.shape", "record Gauge\n  depth string\n");
    let run = isoform_reading(&["pub", "--shape", &shape, "--patience", "0.1", &id], b"{\"depth\":\"deep\"}\n");
    assert!(run.errors.contains("line 1: no conversion at depth"), "{}", run.errors);
    assert_eq!(run.status, 1);
}

#[test]
fn records_that_nobody_hears_are_a_failure_unless_that_is_meant() {
    let (_node, id, _source) = gauges();
    let run = isoform_reading(&["pub", &id], b"{\"id\":7,\"depth\":0}\n");
    assert!(
        run.errors.contains("isoform: 1 record went nowhere, as there were no sinks\n  hint: --wait"),
        "{}",
        run.errors
    );
    assert_eq!(run.status, 1);
    let run = isoform_reading(&["pub", "--wait", "0", &id], b"{\"id\":7,\"depth\":0}\n");
    assert!(run.errors.contains("-- 1 record went nowhere"), "{}", run.errors);
    assert_eq!(run.status, 0);
}

#[test]
fn events_with_their_stamps_and_what_is_no_event() {
    let (node, id, mut source) = gauges();
    let child = start(&["echo", "--json", "--stamp", "--max-message", "20", &id]);
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 1);
    let large = gauge_body(2, 0.0).into_iter().chain([0; 16]).collect::<Vec<_>>();
    source.submit_body(&gauge(), &large).unwrap();
    submit(&mut source, 3);
    source.close(LONG).unwrap();
    drop(node);
    let lines: Vec<Value> = Run::of(child.wait_with_output().unwrap())
        .output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!((&lines[0]["joined"]["source"], &lines[0]["joined"]["format"]), (&json!(0), &Value::Null));
    assert_eq!((&lines[1]["event"]["sequence"], &lines[1]["record"]["id"]), (&json!(0), &json!(1)));
    assert!(lines[1]["event"]["time"].as_str().unwrap().ends_with('Z'));
    let gap = json!({"gap": {"source": 0, "first": 1, "count": 1, "cause": "longer than the sink takes"}});
    assert_eq!(lines[2], gap);
    assert_eq!(lines[3]["event"]["sequence"], 2);
    assert_eq!(lines[4], json!({"left": {"source": 0}}));
}

#[test]
fn events_for_the_eye() {
    let (_node, id, mut source) = gauges();
    let plain = start(&["echo", "--count", "1", &id]);
    let table = start(&["echo", "--count", "1", "--table", "--stamp", "--fields", "depth", &id]);
    source.wait_for_sinks(2, LONG).unwrap();
    submit(&mut source, 1);
    let plain = Run::of(plain.wait_with_output().unwrap());
    quiet(&plain);
    assert_eq!(plain.output, "Gauge  event 0 of source 0\n  id     1\n  depth  0.5 m\n");
    let table = Run::of(table.wait_with_output().unwrap()).output;
    let words: Vec<&str> = table.split_whitespace().collect();
    assert_eq!(words[..8], ["Gauge", "source", "sequence", "time", "depth", "m", "0", "0"], "{table}");
    assert_eq!(words[9], "0.5");
}

#[test]
fn an_echo_that_is_interrupted_leaves() {
    let (_node, id, mut source) = gauges();
    let mut child = start(&["echo", "--json", "--policy", "block", &id]);
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 1);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let account = source.close(LONG).unwrap();
    assert_eq!((account[0].ledger.acknowledged, account[0].ledger.lost()), (1, 0));
}

#[test]
fn an_echo_without_a_source_waits_and_says_so() {
    let node = Node::new().unwrap();
    let channel = node.create_with("quiet", None).unwrap();
    let mut child = start(&["echo", &channel.id().to_string()]);
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    notices.read_line(&mut said).unwrap();
    assert_eq!(said, "-- there is no source now: waiting for one\n");
    drop((channel, node));
    notices.read_line(&mut said).unwrap();
    assert!(said.ends_with("-- no other node has the channel open any more\n"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_publisher_without_the_right_to_publish_is_told() {
    let files = Files::new();
    let rules = files.write("rules", "deny anyone publish on tracks\nallow anyone all on *\n");
    let node = Node::builder().rules(&rules).build().unwrap();
    let channel = node.create_with("tracks", None).unwrap();
    let _sink = channel.sink_builder().build::<Messages>().unwrap();
    let run = Run::of(
        start(&["pub", &channel.id().to_string(), &files.write("x.iso", stream())]).wait_with_output().unwrap(),
    );
    let told = "went nowhere, as a sink has declined them: forbidden at node ";
    assert!(run.errors.contains(told) && run.errors.contains("expected the right to publish"), "{}", run.errors);
    assert!(!run.errors.contains("line 1"), "the rule is the affair of the node that has it: {}", run.errors);
    assert_eq!(run.status, 1);
    let info = channel.info(LONG).unwrap();
    let refusals = &info.members[0].report.as_ref().unwrap().refusals;
    assert!(refusals.iter().any(|it| it.last.contains("line 1 of the rules")), "there it is named: {refusals:?}");
    // One that makes a channel, and waits for a sink, says so and ends.
    let mine = Node::builder().rules(&rules).build().unwrap();
    let (mut child, id, mut notices) = publish(&["pub", "tracks"], &stream());
    let opened = mine.open(&id).unwrap();
    let _other = opened.sink_builder().build::<Messages>().unwrap();
    let mut said = String::new();
    while !said.contains("a sink has declined what this publishes: forbidden at node ") {
        assert!(notices.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert!(said.contains("the right to publish"), "{said}");
    notices.read_to_string(&mut said).unwrap();
    assert!(said.contains("isoform: nothing was published, as no sink takes it"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn echoes_that_run_once_end_with_the_last_source_and_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::builder().listen(format!("unix:{}", folder.path().join("x.sock").display())).build().unwrap();
    let channel = node.create_with("ticks", None).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let id = channel.id().to_string();
    let mut echoes = [(); 2].map(|()| start(&["echo", "--json", "--once", &id]));
    source.wait_for_sinks(2, LONG).unwrap();
    // They know each other, so that each stays a member for the other.
    let members = |least: usize| while channel.members().len() < least {};
    members(3);
    std::thread::sleep(std::time::Duration::from_millis(500));
    submit(&mut source, 1);
    let account = source.close(LONG).unwrap();
    assert!(account.iter().all(|sink| sink.ledger.acknowledged == 1), "{account:?}");
    drop((channel, node));
    for echo in &mut echoes {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut echo.stdout.take().unwrap(), &mut said).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(echo.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn an_echo_waits_for_a_channel_and_meets_it_again_when_its_program_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock");
    let mut child = start(&["echo", "--json", "--count", "2", &format!("iso+unix://{}/ticks", socket.display())]);
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    notices.read_line(&mut said).unwrap();
    assert!(
        said.starts_with("-- ")
            && said.contains("cannot open iso+unix://")
            && said.ends_with("; trying again until it is there\n"),
        "{said}"
    );
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        let node = Node::builder().listen(format!("unix:{}", socket.display())).build().unwrap();
        let channel = node.create_with("ticks", None).unwrap();
        let mut source = channel.source_builder().build::<Messages>().unwrap();
        source.wait_for_sinks(1, LONG).unwrap();
        submit(&mut source, 1);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with('{'), "{line}");
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let all = std::io::read_to_string(notices).unwrap();
    assert!(all.contains("-- no other node has the channel open any more: waiting for one\n"), "{all}");
}

#[test]
fn an_echo_goes_on_past_one_who_is_no_node_and_says_so_once() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock");
    let stranger = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let mut child = start(&["echo", "--json", "--count", "1", &format!("iso+unix://{}/ticks", socket.display())]);
    for _ in 0..3 {
        let (mut caller, _) = stranger.accept().unwrap();
        caller.write_all(&b"220 mail at your service\r\n".repeat(9)).unwrap();
        // Until the echo has closed it.
        while caller.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
    }
    drop(stranger);
    std::fs::remove_file(&socket).unwrap();
    let node = Node::builder().listen(format!("unix:{}", socket.display())).build().unwrap();
    let channel = node.create_with("ticks", None).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    submit(&mut source, 1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(said.matches("handshake failed: expected the greeting of a node").count(), 1, "{said}");
}

#[test]
fn who_is_there_and_what_became_of_the_events() {
    let (node, id, mut source) = gauges();
    let other = Node::new().unwrap();
    let window = other.open(&id).unwrap().sink_builder().window(Window { events: 2, bytes: 1000 });
    let oldest = window.policy(isoform_channel::Policy::DropOldest { events: 1, bytes: 1000 });
    let _stopped = oldest.build::<Messages>().unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    (0..10).for_each(|id| submit(&mut source, id));
    let text = isoform(&["info", &id]).good();
    for said in [
        "gauges  Gauge ",
        "  source 0  Gauge 4db8acb3  10 submitted, 0.0 a second",
        "drop oldest of 1",
        "1 account in all: each adds up",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(text.contains("7 events lost, as the sink was too slow"), "{text}");
    let info: Value = serde_json::from_str(&isoform(&["info", "--json", &id]).good()).unwrap();
    assert_eq!((&info["name"], &info["format"]["name"]), (&json!("gauges"), &json!("Gauge")));
    assert_eq!(info["members"].as_array().unwrap().len(), 2);
    let account = &info["accounts"][0];
    let count = |name: &str| account[name].as_u64().unwrap();
    assert_eq!(count("submitted"), count("acknowledged") + count("lost") + count("in_flight"));
    assert_eq!((count("submitted"), count("lost")), (10, 7));
    drop(node);
}

#[test]
fn info_shows_what_a_source_leaves_out() {
    let shape = Shape::new("Field").field("step", "integer(8)").field("flow", "double[1000]");
    let format = shape.on(&Layout::NATIVE).unwrap();
    let node = Node::new().unwrap();
    let channel = node.create_with("fields", Some(&format)).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let (viewer, id) = (Node::new().unwrap(), channel.id().to_string());
    let native = Shape::new("Field").field("step", "integer(8)").on(&Layout::NATIVE).unwrap();
    let _sink =
        viewer.open(&id).unwrap().sink_builder().build_with(Decoder::new(&native, Rules::new()).unwrap()).unwrap();
    source.wait_for_sinks(1, LONG).unwrap();
    for _ in 0..3 {
        source.submit_body(&format, &vec![0; format.size()]).unwrap();
    }
    let text = isoform(&["info", &id]).good();
    assert!(text.contains("    only step  for 1 sink: 3 events without the other fields\n"), "{text}");
}

#[test]
fn a_viewer_asks_for_less_and_info_shows_what_for() {
    let (node, id, mut source) = gauges();
    let query = "where id % 5 == 4 | select id";
    // The same query in the source's own node, which has a state of its own.
    let _sink = node.open(&id).unwrap().sink_builder().query(query).unwrap().build::<Messages>().unwrap();
    let echo = start(&["echo", "--json", "--count", "4", "--query", query, &id]);
    source.wait_for_sinks(2, LONG).unwrap();
    (0..30).for_each(|id| submit(&mut source, id));
    let echo = Run::of(echo.wait_with_output().unwrap());
    quiet(&echo);
    assert_eq!(echo.output, "{\"id\":4}\n{\"id\":9}\n{\"id\":14}\n{\"id\":19}\n");
    let text = isoform(&["info", &id]).good();
    let passed = text.lines().find(|line| line.starts_with("    query where id % 5 == 4 | select id  for "));
    assert!(passed.is_some_and(|line| line.ends_with(": 6 of 30 events passed")), "{text}");
    let head = text.lines().find(|line| line.contains("=acknowledged"));
    assert!(head.is_some_and(|line| line.contains("+lost  +skipped  +in flight")), "{text}");
    let json: serde_json::Value = serde_json::from_str(&isoform(&["info", "--json", &id]).good()).unwrap();
    let all = json["members"].as_array().unwrap().iter().flat_map(|member| member["sources"].as_array().unwrap());
    let queries: Vec<_> = all.flat_map(|source| source["queries"].as_array().unwrap()).collect();
    assert_eq!(
        (&queries[0]["query"], &queries[0]["passed"], &queries[0]["evaluated"]),
        (&query.into(), &6.into(), &30.into())
    );
    let same = isoform(&["explain", &id, "--query", "where (id % 5) == 4 | select id"]).good();
    assert!(same.contains("shared     with 1 sink that asks the same now"), "{same}");
    let refused = isoform(&["echo", "--once", "--query", "where level > 3", &id]);
    assert_eq!(refused.status, 2, "{}", refused.errors);
    assert!(
        refused.errors.contains("one of id") || refused.errors.contains("\"level\" at line 1 column 7"),
        "{}",
        refused.errors
    );
    let wrong = isoform(&["echo", "--query", "where id >", &id]);
    assert!(wrong.status == 2 && wrong.errors.contains("line 1 column 11"), "{} {}", wrong.status, wrong.errors);
    // Before the command waits for a channel.
    let absent = isoform(&["echo", "--query", "where id = 5", "iso://127.0.0.1:1/gauges"]).bad(2);
    assert!(absent.contains("expected ==, to compare"), "{absent}");
}

#[test]
fn a_viewer_chooses_what_a_source_generates() {
    let node = Node::new().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let detail = FieldList::new("Detail").field("level", "integer", 8, 0).format(isoform::core::Machine::NATIVE, 8, 8);
    let defaults = Parameters::new(&detail.unwrap(), &1i64.to_ne_bytes()).unwrap();
    let mut source = channel.source_builder().parameters_of(defaults).build::<Messages>().unwrap();
    let id = channel.id().to_string();
    let wrong = isoform(&["echo", "--parameters", "level=3", &id]).bad(2);
    assert!(wrong.contains("--parameters: expected a JSON object, such as {\"level\": 3}"), "{wrong}");
    let misspelt = isoform(&["echo", "--parameters", "{\"levels\": 3}", &id]).bad(2);
    assert!(misspelt.contains("expected one of level, found levels"), "{misspelt}");

    let echo = start(&["echo", "-n1", "--json", "--stamp", "--parameters", "{\"level\": 3}", &id]);
    let demand = loop {
        let demands = source.new_demands(LONG).unwrap().expect("a demand in time");
        if let [only] = &demands[..] {
            break only.clone();
        }
    };
    assert_eq!(demand.values.to_string(), r#"{"level":3}"#);
    let info = isoform(&["info", &id]).good();
    assert!(info.contains("    parameters {\"level\":3}  for 1 sink\n"), "{info}");
    source.submit_body_for(&demand, &gauge(), &gauge_body(7, 3.5)).unwrap();
    let echo = Run::of(echo.wait_with_output().unwrap());
    quiet(&echo);
    let mut lines = echo.output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let given = lines.find(|line| line.get("given").is_some()).expect("it says what it has");
    assert_eq!(given["given"]["values"], json!({"level": 3}));
    assert_eq!((&given["given"]["first"], &given["given"]["refused"]), (&json!(0), &Value::Null));
    assert!(lines.any(|line| line.pointer("/record/id") == Some(&json!(7))), "{}", echo.output);
}

#[test]
fn info_counts_the_sources_that_a_sink_refuses() {
    let node = Node::new().unwrap();
    let channel = node.create_with("any", None).unwrap();
    let other = Shape::parse("record Wind\n  speed  double\n").unwrap().on(&Layout::X86_64).unwrap();
    let _sink = channel.sink_builder().build_with(Messages::of(&gauge(), Rules::new())).unwrap();
    let id = channel.id().to_string();
    assert!(!isoform(&["info", &id]).good().contains("refused"));
    let _source = channel.source_builder().build_with(Encoder::new(&other).unwrap()).unwrap();
    let text = isoform(&["info", &id]).good();
    assert!(text.contains("0 received, 0 taken, 0 lost, 1 source refused\n"), "{text}");
    let info: Value = serde_json::from_str(&isoform(&["info", "--json", &id]).good()).unwrap();
    let sinks = info["members"].as_array().unwrap().iter().flat_map(|member| member["sinks"].as_array().unwrap());
    let counts: Vec<_> = sinks.map(|sink| (&sink["refused"], &sink["unfit"])).collect();
    assert_eq!(counts, [(&json!(1), &json!(0))]);
    // The command and this process have the key of the same user.
    assert!(text.contains("\n  not encrypted, with ") && text.contains("key "), "{text}");
    let link = &info["members"][0]["link"];
    assert!(link["encrypted"] == false && link["peer"].as_str().unwrap().contains("key "), "{link}");
}

#[test]
fn a_member_that_hangs_is_listed() {
    let (_node, id, source) = gauges();
    let mut hangs = start(&["echo", &id]);
    source.wait_for_sinks(1, LONG).unwrap();
    assert!(Command::new("kill").args(["-STOP", &hangs.id().to_string()]).status().unwrap().success());
    let info: Value = serde_json::from_str(&isoform(&["info", "--json", &id]).good()).unwrap();
    let text = isoform(&["info", &id]).good();
    hangs.kill().unwrap();
    hangs.wait().unwrap();
    let members = info["members"].as_array().unwrap();
    assert_eq!(members.len(), 2, "{info}");
    assert_eq!(members.iter().filter(|member| member["sinks"].is_null()).count(), 1, "{info}");
    assert!(text.contains("has not answered: its process hangs, or has just ended"), "{text}");
}

#[test]
fn the_type_of_a_channel_is_a_format_like_any_other() {
    let (_node, id, _source) = gauges();
    let format = isoform(&["format", &id]).good();
    assert!(format.starts_with("Gauge: 16 bytes"), "{format}");
    let files = Files::new();
    let shape = files.write("new.shape", "record Gauge\n  depth float\n");
    assert!(isoform(&["explain", &id, &shape]).good().contains("\nbackward"));
    assert!(isoform(&["dump", &id]).bad(2).contains("hint: `isoform echo`"));
    let node = Node::new().unwrap();
    let any = node.create_with("any", None).unwrap().id().to_string();
    assert!(isoform(&["format", &any]).bad(1).contains("has no type"));
}

#[test]
fn a_channel_that_cannot_be_opened_has_status_2() {
    let (_node, id, _source) = gauges();
    let (here, _) = id.rsplit_once("/gauges").unwrap();
    let identity = "00112233445566778899aabbccddeeff";
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let strange = format!("iso://{}/river", stranger.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut caller, _) = stranger.accept().unwrap();
        caller.write_all(&b"220 mail at your service\r\n".repeat(9)).unwrap();
        std::io::copy(&mut caller, &mut std::io::sink())
    });
    for (arguments, says) in [
        (["info", "iso+unix:///nowhere/x.sock/river"], "cannot be reached"),
        (["echo", "iso://127.0.0.1/river"], "not an address: expected HOST:PORT"),
        (["echo", "iso://unix:/tmp/x.sock/river"], "hint: at a Unix socket, it is iso+unix:///"),
        (["pub", "iso://127.0.0.1/river"], "not an address: expected HOST:PORT"),
        (["info", "iso://192.0.2.1:7000/river"], "--insecure"),
        (["info", &strange], ": handshake failed: expected the greeting of a node"),
        (["info", &format!("{here}/gauges/{identity}")], "no such channel"),
    ] {
        let errors = isoform(&arguments).bad(2);
        assert!(errors.contains(says), "{arguments:?}: {errors}");
    }
    let nowhere = isoform(&["echo", "--once", "iso://127.0.0.1:1/river"]).bad(2);
    assert!(nowhere.contains("cannot open iso://127.0.0.1:1/river: cannot be reached"), "{nowhere}");
    assert!(isoform(&["echo", "--once", &format!("{here}/lake")]).bad(2).contains("no such channel"));
    assert!(isoform(&["echo", "--policy", "oldest:0", &id]).bad(2).contains("block, latest, or oldest:N"));
    assert!(isoform(&["echo", "river.iso"]).bad(2).contains("iso://HOST:PORT"));
}

/// A transport that says it listens where no address can be: so a node tells others what a stranger could.
#[derive(Debug)]
struct Liar;

impl Transport for Liar {
    fn serves(&self, address: &Address) -> bool {
        matches!(address, Address::Unix(_))
    }

    fn listen(&self, _: &Address) -> isoform::Result<(Address, Box<dyn Door>)> {
        Ok((Address::Unix("/\u{1b}]0;x\u{7}\u{9b}\u{202e}".into()), Box::new(Liar)))
    }

    fn dial(&self, _: &Address, _: Instant) -> isoform::Result<Box<dyn Door>> {
        Ok(Box::new(Liar))
    }
}

impl Door for Liar {
    fn next(&mut self) -> isoform::Result<Option<Box<dyn Connection>>> {
        Ok(None)
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Told
    }
}

#[test]
fn nothing_that_a_member_says_of_itself_is_a_command_to_the_terminal() {
    let node = Node::builder().transport(Liar).listen("127.0.0.1:0").listen("unix:/x.sock").build().unwrap();
    let format = Shape::parse("record Gauge\u{202e}\u{200b}\n  level  double\n").unwrap().on(&Layout::X86_64).unwrap();
    let channel = node.create_with("gauges", Some(&format)).unwrap();
    let _source = channel.source_builder().build_with(Encoder::new(&format).unwrap()).unwrap();
    let _sink = channel.sink_builder().build_with(Messages::of(&format, Rules::new())).unwrap();
    let id = channel.id().to_string();
    for arguments in [&["info", &id][..], &["info", "--json", &id]] {
        let output = isoform(arguments).good();
        assert!(!output.contains(|c| c != '\n' && isoform::text::is_hidden(c)), "{output:?}");
        for said in ["1b", "9b", "202e", "200b", "Gauge"] {
            assert!(output.contains(said), "{said}: {output:?}");
        }
    }
}

/// A program that stands for Python: it lacks the package of this number, or says what it was given.
fn python(files: &Files, missing: i32) -> String {
    let path = files.path("python").display().to_string();
    // Written by another process: what this one has open for writing, it may have given to whom it starts meanwhile.
    let script = format!("#!/bin/sh\n[ \"$1\" = -c ] && exit {missing}\necho \"$@\"\n");
    let written =
        Command::new("sh").args(["-c", "printf %s \"$0\" > \"$1\" && chmod +x \"$1\"", &script, &path]).status();
    assert!(written.unwrap().success());
    path
}

#[test]
fn a_plot_is_left_to_python() {
    let files = Files::new();
    let arguments = ["plot", "--python", &python(&files, 0), "iso://x/y", "depth", "--png", "a b.png"];
    assert_eq!(isoform(&arguments).good(), "-m isoform plot iso://x/y depth --png a b.png\n");
}

#[test]
fn what_a_plot_lacks_is_said() {
    let files = Files::new();
    for (missing, said) in [(10, "has no package isoform"), (11, "has no package matplotlib"), (3, "does not run")] {
        let error = isoform(&["plot", "--python", &python(&files, missing), "iso://x/y"]).bad(2);
        assert!(error.contains(said), "{error}");
    }
    let error = isoform(&["plot", "--python", "/nobody", "iso://x/y"]).bad(2);
    assert!(error.contains("cannot run /nobody: no such file"), "{error}");
}

/// A misspelt or forgotten entry of a line would pass for zero.
#[test]
fn lines_of_json_that_lack_fields_are_refused_unless_zeros_are_wanted() {
    let files = Files::new();
    let shape = files.write("tick.shape", "record Tick\n  count  int\n  value  double\n  depth  double\n");
    let lines = "{\"count\":1}\n";
    let pub_ = |more: &[&str]| {
        isoform_reading(&[&["pub", "ticks", "--wait", "0", "--shape", &shape], more].concat(), lines.as_bytes())
    };
    let refused = pub_(&[]);
    let words = refused.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("missing = zero, for value (f64), depth (f64)"), "{words}");
    assert_eq!(refused.status, 1);
    let zeros = pub_(&["--missing", "zero"]);
    assert!(!zeros.errors.contains("line 1"), "{}", zeros.errors);
}

/// Programs that emit are listed while they do, and what they emit is shown.
#[test]
#[cfg(unix)]
fn programs_that_emit_are_found() {
    let process = std::process::id().to_string();
    let list =
        |arguments: &[&str]| isoform(&[&["emitting", "--process", &process, "tests.emitted"], arguments].concat());
    let emit = |step: i32| isoform::emit!("tests/emitted", step, depth in "m" = [0.5_f32, 1.5]);
    emit(0);
    assert!(list(&[]).bad(1).contains("no program of yours"));
    let emitting = isoform_channel::emitting::start("isoform-tests-cli").unwrap();
    let line = list(&[]).good();
    let id = list(&["--ids"]).good();
    assert_eq!(line, format!("isoform-tests-cli {process} {id}"));
    assert_eq!(list(&["--ids", "--program", "isoform-tests-cli"]).good(), id);
    let other = list(&["--program", "other"]).bad(1);
    // Other programs of this user may emit, too.
    assert!(other.contains(&format!("the program isoform-tests-cli ({process})")), "{other}");
    // The name as it is emitted; and one that is misspelt.
    assert_eq!(isoform(&["emitting", "--process", &process, "--ids", "tests/emitted"]).good(), id);
    let misspelt = isoform(&["emitting", "--process", &process, "tests/emited"]).bad(1);
    assert!(misspelt.contains("tests.emitted of isoform-tests-cli"), "{misspelt}");
    let mut echo = command(&["echo", "--json", "--count", "1", id.trim_end()]);
    let echo = echo.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    emitting.wait_for_sinks("tests/emitted", 1, std::time::Duration::from_secs(60)).unwrap();
    emit(7);
    let echo = echo.unwrap().wait_with_output().unwrap();
    let shown = String::from_utf8(echo.stdout).unwrap();
    assert_eq!(shown, "{\"step\":7,\"depth\":[0.5,1.5]}\n");
    // Two names of one channel, whose id is listed once, and one with a space, whose id is one word for a shell.
    isoform::emit!("tests.emitted", step = 8);
    assert_eq!(list(&["--ids"]).good(), id);
    isoform::emit!("with space/x", step = 1);
    let spaced = isoform(&["emitting", "--process", &process, "--ids", "with space/x"]).good();
    assert!(spaced.contains("/with%20space.x/") && !spaced.contains(' '), "{spaced}");
}

#[test]
fn a_derived_channel_has_an_id_and_a_name() {
    let (_node, id, mut source) = gauges();
    let derived = isoform(&["derive", &id, "where id >= 2|select id"]).good();
    assert!(derived.trim_end().ends_with("?query=where%20id%20%3E%3D%202%20%7C%20select%20id"), "{derived}");
    let few = isoform(&["derive", derived.trim_end(), "every 2"]).good();
    assert!(few.trim_end().ends_with("%7C%7C%20every%202"), "{few}");
    let mut named = start(&["derive", &id, "select id", "--name", "ids", "--listen", "127.0.0.1:0"]);
    let mut name = String::new();
    BufReader::new(named.stdout.take().unwrap()).read_line(&mut name).unwrap();
    assert!(name.contains("/ids/") && !name.contains("query"), "{name}");

    let echoes: Vec<Child> = [(derived.trim_end(), "2"), (few.trim_end(), "1"), (name.trim_end(), "4")]
        .iter()
        .map(|(id, count)| start(&["echo", "--json", "--count", count, id]))
        .collect();
    source.wait_for_sinks(3, LONG).unwrap();
    (0..4).for_each(|id| submit(&mut source, id));
    let shown = echoes.into_iter().map(|echo| Run::of(echo.wait_with_output().unwrap()).output);
    let lines = |ids: &[u32]| ids.iter().map(|id| format!("{{\"id\":{id}}}\n")).collect::<String>();
    assert_eq!(shown.collect::<Vec<_>>(), [lines(&[2, 3]), lines(&[2]), lines(&[0, 1, 2, 3])]);
    named.kill().unwrap();
    named.wait().unwrap();

    let info = isoform(&["info", few.trim_end()]).good();
    assert!(info.contains("derived by  where id >= 2 | select id || every 2\n"), "{info}");
    let mut shared = start(&["echo", "--query", "every 2", derived.trim_end()]);
    source.wait_for_sinks(1, LONG).unwrap();
    let explained = isoform(&["explain", derived.trim_end(), "--query", "every 2"]).good();
    assert!(explained.contains("1 sink"), "{explained}");
    shared.kill().unwrap();
    shared.wait().unwrap();
    let wrong = isoform(&["derive", &id, "where level > 2 | select idd"]).bad(2);
    assert!(wrong.contains("QUERY: no such field") && wrong.contains("id"), "{wrong}");
    assert!(isoform(&["derive", &id, "wher id"]).bad(2).contains("QUERY: malformed text"));
    let taken = isoform(&["derive", &id, "every 2", "--name", "gau/ges"]).bad(2);
    assert!(taken.contains("--name"), "{taken}");
    assert!(isoform(&["derive", &id, "every 2", "--listen", "127.0.0.1:0"]).bad(2).contains("--name"));
}

/// What a document says of a field that a line lacks holds for published lines, too.
#[cfg(feature = "xmit")]
#[test]
fn lines_of_json_have_the_defaults_of_a_document() {
    let files = Files::new();
    let document = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="Report"><xs:sequence>
        <xs:element name="step" type="xs:int"/>
        <xs:element name="humidity" type="xs:double" default="55"/>
        <xs:element name="gust" type="xs:double" minOccurs="0"/>
        <xs:element name="remark" type="xs:string" minOccurs="0"/>
        <xs:element name="place" type="xs:string"/>
      </xs:sequence></xs:complexType></xs:schema>"#;
    let shape = format!("xsd:{}#Report", files.write("report.xsd", document));
    let lines =
        b"{\"step\":1,\"place\":\"Kiel\"}\n{\"step\":2}\n{\"step\":3,\"place\":\"\",\"remark\":\"wet\",\"gust\":4.5}\n";
    let (child, id, _notices) = publish(&["pub", "reports", "--shape", &shape], lines);
    let echo = isoform(&["echo", "--json", "--count", "2", &id]);
    let expected = [
        r#"{"step":1,"humidity":55.0,"gust":null,"remark":null,"place":"Kiel"}"#,
        r#"{"step":3,"humidity":55.0,"gust":4.5,"remark":"wet","place":""}"#,
    ];
    assert_eq!(echo.output.lines().collect::<Vec<_>>(), expected);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1), "a line lacks its place");
}
