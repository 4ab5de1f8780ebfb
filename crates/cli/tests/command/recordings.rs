//! `record` and `replay`, and recordings as sources of the other commands.

use super::*;
use isoform::message::Header;
use isoform::{Incoming, Messages};
use isoform_channel::{Node, NodeId, Origin, Source};
use isoform_files::{Item, Recording};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// What nothing here takes.
const LONG: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Starts a command that prints the id of its channel, with this input. Notices in front of that are passed over.
fn start_with_id(arguments: &[&str], input: &[u8]) -> (Child, String, impl BufRead + use<>) {
    let mut command = command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut lines = notices.by_ref().lines().map(Result::unwrap);
    let id = lines.find_map(|line| line.strip_prefix("-- iso").map(|rest| format!("iso{rest}"))).expect("an id");
    (child, id, notices)
}

/// What a recorder said behind its first line, which says what it records.
fn told(run: Run) -> Run {
    let (first, rest) = run.errors.split_once('\n').expect("a line");
    assert!(first.starts_with("-- recording ") && first.contains(".mcap"), "{first}");
    Run { errors: rest.into(), ..run }
}

/// A source in this process, which waits for the recorder.
fn source() -> (Node, String, Source<Messages>) {
    let node = Node::new().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let source = channel.source_builder().lossless().build::<Messages>().unwrap();
    (node, channel.id().to_string(), source)
}

fn submit(source: &mut Source<Messages>, id: u32) {
    source.submit_body(&gauge(), &gauge_body(id, f64::from(id) / 2.0)).unwrap();
}

/// The numbers and bodies of the events in a file, and whether it is whole.
fn events(path: &Path) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut recording = Recording::open(path).unwrap();
    let mut events = Vec::new();
    loop {
        match recording.next_entry() {
            Ok(Some(entry)) => {
                if let Item::Event { stamp, body, .. } = entry.item {
                    events.push((stamp.sequence, body.to_vec()));
                }
            }
            Ok(None) => return (events, true),
            Err(error) => {
                assert_eq!(error.code(), isoform::Code::Cut, "{error}");
                return (events, false);
            }
        }
    }
}

/// The gauges from 0 to a count, with the numbers that their source gave them.
fn gauges(count: usize) -> Vec<(u64, Vec<u8>)> {
    (0..count as u32).map(|id| (id.into(), gauge_body(id, f64::from(id) / 2.0))).collect()
}

/// Records what `pub` publishes of a stream.
fn record_stream(path: &str) {
    let (publisher, id, _notices) = start_with_id(&["pub", "tracks", "--lossless"], &stream());
    let said = told(isoform(&["record", "--once", "--lossless", &id, "-o", path])).good();
    assert!(said.starts_with("tracks: source 0 at node "), "{said}");
    assert!(publisher.wait_with_output().unwrap().status.success());
}

#[test]
fn a_recording_is_shown_as_the_stream_that_was_published() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    record_stream(&path);
    assert_eq!(isoform(&["dump", "--json", &path]).good(), dumps::JSON);
    let formats = |source: &str| isoform(&["format", source]).good();
    let original = directory.write("stream.iso", stream());
    assert_eq!(formats(&path), formats(&original));
}

/// What is no recording is called what it is, and so is a second file.
#[test]
fn what_is_no_recording_is_said() {
    let directory = Files::new();
    let folder = directory.path("folder.mcap");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.display().to_string();
    let stream_file = directory.write("stream.iso", stream());
    let parquet = directory.write("t.parquet", [&b"PAR1"[..], &[0; 100]].concat());
    let csv = directory.write("t.csv", "a,b\n".repeat(300_000));
    for command in ["replay", "watch"] {
        for (path, says) in [
            (&*folder, "folder.mcap is a folder"),
            (&stream_file, "`isoform dump "),
            (&parquet, "a table of Parquet"),
            (&csv, "`isoform record` makes recordings"),
            ("/nowhere/no.mcap", "cannot open /nowhere/no.mcap: no such file"),
        ] {
            let errors = isoform(&[command, path]).bad(2);
            assert!(errors.contains(says), "{command}: {errors}");
        }
    }
    for (path, says) in [(&parquet, "a table of Parquet"), (&csv, "tables such as CSV are for other programs")] {
        for arguments in [&["dump", path][..], &["check", path], &["export", path, "/nowhere/t.csv"]] {
            let errors = isoform(arguments).bad(2);
            assert!(errors.contains(says), "{arguments:?}: {errors}");
        }
    }
    let errors = isoform(&["dump", &stream_file, &stream_file]).bad(2);
    assert!(errors.contains("unexpected argument") && errors.contains("takes one file"), "{errors}");
    let errors = isoform(&["record", "pendulum.state", "-o", "/nowhere/x.mcap"]).bad(2);
    assert!(errors.contains("`isoform emitting --ids NAME`"), "{errors}");
}

/// A stream of no bytes has no messages. A recording begins with some bytes, so that one without them was cut.
#[test]
fn an_empty_file_is_no_whole_recording() {
    let directory = Files::new();
    let stream = directory.write("empty.iso", []);
    assert!(isoform(&["check", &stream]).good().contains("empty.iso: whole"));
    for (name, content) in [("empty.mcap", &[][..]), ("begun.mcap", &isoform_files::MAGIC[..3])] {
        let path = directory.write(name, content);
        let check = isoform(&["check", &path]);
        assert!(check.status == 1 && check.output.contains(&format!("{name}: not whole")), "{}", check.output);
        let table = directory.path("t.csv").display().to_string();
        for arguments in [&["dump", &path][..], &["replay", &path], &["export", &path, &table]] {
            let run = isoform(arguments);
            assert!(
                run.status != 0 && run.errors.contains("expected the end of a recording"),
                "{arguments:?}: {}",
                run.errors
            );
        }
    }
}

#[test]
fn a_channel_is_recorded_once() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    let id = "iso://127.0.0.1:1/river";
    let errors = isoform(&["record", id, "iso://127.0.0.1:1/lake", id, "-o", &path]).bad(2);
    assert!(errors.contains(&format!("{id} is there twice")), "{errors}");
}

/// Nobody listens at this port, as its number is used for nothing.
#[test]
fn what_was_never_there_was_not_recorded() {
    let directory = Files::new();
    let path = directory.path("run.mcap");
    let run = isoform(&["record", "iso://127.0.0.1:1/river", "--seconds", "0.3", "-o", &path.display().to_string()]);
    let errors = told(run).bad(2);
    assert!(errors.contains("cannot open iso://127.0.0.1:1/river"), "{errors}");
    assert!(!path.exists(), "it would be in the way of the next attempt");
}

#[test]
fn what_is_replayed_is_what_was_recorded() {
    let directory = Files::new();
    let (path, again) = (directory.path("run.mcap"), directory.path("again.mcap"));
    let (path, again) = (path.display().to_string(), again.display().to_string());
    record_stream(&path);
    let (replay, id, _notices) = start_with_id(&["replay", &path, "--max"], &[]);
    told(isoform(&["record", "--once", "--lossless", &id, "-o", &again])).good();
    let replay = replay.wait_with_output().unwrap();
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
    assert_eq!(isoform(&["dump", "--json", &again]).good(), dumps::JSON);
    let bodies = |path: &str| events(Path::new(path)).0.into_iter().map(|(_, body)| body).collect::<Vec<_>>();
    assert_eq!(bodies(&again), bodies(&path));
    assert!(bodies(&path).len() > 1);
    // The first recording's numbers are the origins of the second.
    let mut recording = Recording::open(Path::new(&again)).unwrap();
    let mut origins = Vec::new();
    while let Some(entry) = recording.next_entry().unwrap() {
        if let Item::Event { stamp, .. } = entry.item {
            origins.push(stamp.origin.expect("it was relayed").sequence);
        }
    }
    assert_eq!(origins, events(Path::new(&path)).0.into_iter().map(|(sequence, _)| sequence).collect::<Vec<_>>());
}

#[test]
fn a_recording_of_what_no_source_has_fails_at_once_and_leaves_no_file() {
    let directory = Files::new();
    let path = directory.path("run.mcap");
    let file = path.display().to_string();
    let (node, id, mut source) = source();
    // Of one channel it is known before which fields its events have; of the other the first event tells.
    let any = node.create_with("any", None).unwrap();
    let mut first = any.source_builder().build::<Messages>().unwrap();
    for (id, name) in [(&id, "gauges"), (&any.id().to_string(), "any")] {
        let mut recorder = start(&["record", "--query", "where level > 3", id, "-o", &file]);
        while recorder.try_wait().unwrap().is_none() {
            submit(&mut first, 1);
            std::thread::sleep(Duration::from_millis(10));
        }
        let errors = told(Run::of(recorder.wait_with_output().unwrap())).bad(2);
        assert!(errors.contains(&format!("{name}: no such field")), "{errors}");
        assert!(errors.contains("found \"level\" at line 1 column 7"), "{errors}");
        assert!(!path.exists(), "it would be in the way of the next attempt");
    }
    let recorder = start(&["record", "--lossless", "--count", "2", &id, "-o", &file]);
    source.wait_for_sinks(1, LONG).unwrap();
    (0..2).for_each(|id| submit(&mut source, id));
    assert!(recorder.wait_with_output().unwrap().status.success());
    assert_eq!(events(&path), (gauges(2), true));
}

/// The recorder is killed without warning; what it reported as on disk is there.
#[test]
fn nothing_that_was_reported_is_lost_when_the_recorder_is_killed() {
    let directory = Files::new();
    let path = directory.path("run.mcap");
    let (_node, id, mut gauge_source) = source();
    let mut recorder = start(&["record", &id, "--progress", "-o", &path.display().to_string()]);
    let notices = BufReader::new(recorder.stderr.take().unwrap());
    gauge_source.wait_for_sinks(1, LONG).unwrap();
    let (mut lines, mut next, mut reported) = (notices.lines(), 0, 0);
    while reported < 2_000 {
        (next..next + 1_000).for_each(|id| submit(&mut gauge_source, id));
        next += 1_000;
        let line = lines.next().expect("the recorder runs").unwrap();
        let count = line.strip_prefix("-- ").and_then(|line| line.split_once(" event")).expect("a report").0;
        reported = count.parse::<usize>().unwrap();
    }
    // SIGKILL.
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let (found, is_whole) = events(&path);
    assert!(!is_whole && found.len() >= reported, "{} of {reported}", found.len());
    assert_eq!(found, gauges(found.len()));
    // The command shows what is there, and says that the file was cut.
    let dump = isoform(&["dump", "--json", &path.display().to_string()]);
    assert_eq!((dump.status, dump.output.lines().count()), (1, found.len()));
    assert!(dump.errors.contains("ends within"), "{}", dump.errors);
}

#[test]
fn a_recording_of_several_files_has_every_event_once() {
    let directory = Files::new();
    let path = directory.path("run.mcap");
    let (_node, id, mut gauge_source) = source();
    let recorder = start(&[
        "record",
        &id,
        "--compression",
        "none",
        "--part-size",
        "50000",
        "--count",
        "5000",
        "-o",
        &path.display().to_string(),
    ]);
    gauge_source.wait_for_sinks(1, LONG).unwrap();
    (0..5_000).for_each(|id| submit(&mut gauge_source, id));
    let recorder = recorder.wait_with_output().unwrap();
    let said = String::from_utf8(recorder.stdout).unwrap();
    assert!(recorder.status.success() && said.contains("5000 recorded, 0 lost"), "{said}");
    let mut found = Vec::new();
    let mut parts = 0;
    for number in 1.. {
        let part = if number == 1 { path.clone() } else { directory.path(&format!("run-{number}.mcap")) };
        if !part.exists() {
            break;
        }
        let (events, is_whole) = events(&part);
        assert!(is_whole);
        found.extend(events);
        parts += 1;
    }
    assert_eq!(found, gauges(5_000));
    assert!(parts > 3, "{parts}");
    assert!(said.contains(&format!("in {parts} file")), "{said}");
}

/// A file has numbers of 16 bits for formats, sources and origins, and members may invent more of them.
#[test]
fn a_recording_of_more_origins_than_a_file_can_name_goes_on_in_another_file() {
    const COUNT: u32 = 66_000;
    let directory = Files::new();
    let path = directory.path("run.mcap");
    let (_node, id, mut source) = source();
    let file = path.display().to_string();
    let recorder = start(&["record", &id, "--lossless", "--compression", "none", "--count", "66000", "-o", &file]);
    source.wait_for_sinks(1, LONG).unwrap();
    let (format, body) = (gauge(), gauge_body(0, 0.0));
    let message = Incoming::new(Header::new(format.token(), body.len() as u64), &format, &body);
    for number in 0..COUNT {
        source.relay(&message, Origin { node: NodeId([7; 16]), source: number, sequence: 0 }).unwrap();
    }
    let recorder = recorder.wait_with_output().unwrap();
    let said = String::from_utf8(recorder.stdout).unwrap();
    assert!(recorder.status.success() && said.contains("66000 recorded, 0 lost"), "{said}");
    let counts = [path, directory.path("run-2.mcap")].map(|part| events(&part).0.len());
    assert!(said.contains("in 2 files") && counts.iter().sum::<usize>() == COUNT as usize, "{said}{counts:?}");
}

/// A file that may not grow any more.
#[test]
fn a_full_disk_ends_the_recording_and_leaves_what_was_reported() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    let (_node, id, mut gauge_source) = source();
    let limited = "trap '' XFSZ; ulimit -f 40; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_isoform");
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, "sh", program, "record", &id, "--progress", "--compression", "none", "-o", &path]);
    let recorder = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    gauge_source.wait_for_sinks(1, LONG).unwrap();
    let mut id = 0;
    while gauge_source.sinks() > 0 {
        submit(&mut gauge_source, id);
        id += 1;
    }
    let recorder = Run::of(recorder.wait_with_output().unwrap());
    assert_eq!(recorder.status, 1, "{}", recorder.errors);
    assert!(recorder.errors.contains("cannot write the recording"), "{}", recorder.errors);
    let reported = recorder.errors.lines().filter_map(|line| line.strip_prefix("-- ")?.split_once(" event"));
    let reported = reported.filter_map(|(count, _)| count.parse::<usize>().ok()).max().unwrap_or(0);
    let (found, is_whole) = events(Path::new(&path));
    assert!(!is_whole && found.len() >= reported, "{} of {reported}", found.len());
    assert_eq!(found, gauges(found.len()));
    // What came is not called recorded.
    let on_disk = recorder
        .output
        .lines()
        .find_map(|line| line.split_once(" on disk, and perhaps")?.0.rsplit(' ').nth(1)?.parse().ok());
    assert!(on_disk.is_some_and(|on_disk: usize| (reported..=found.len()).contains(&on_disk)), "{}", recorder.output);
    assert!(recorder.output.contains(" came, 0 lost") && !recorder.output.contains("recorded"), "{}", recorder.output);
    assert!(!recorder.output.contains("bytes in"), "{}", recorder.output);
}

#[test]
fn errors_say_what_is_there() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    record_stream(&path);
    let errors = isoform(&["replay", &path, "--channel", "rivers"]).bad(2);
    assert!(errors.contains("no channel \"rivers\"") && errors.contains("it has tracks"), "{errors}");
    let errors = isoform(&["record", "iso://127.0.0.1:9/x", "-o", &path]).bad(2);
    assert!(errors.contains("run.mcap is there already") && errors.contains("another name"), "{errors}");
    let text = directory.write("not.mcap", "hello");
    let errors = isoform(&["replay", &text]).bad(2);
    assert!(errors.contains("not.mcap"), "{errors}");
}

/// News are JSON of the words that `echo` uses.
#[test]
fn news_are_in_the_file() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    record_stream(&path);
    let mut recording = Recording::open(Path::new(&path)).unwrap();
    let mut kinds = Vec::new();
    while let Some(entry) = recording.next_entry().unwrap() {
        if let Item::News(Value::Object(news)) = entry.item {
            assert_eq!((entry.topic, news.len()), ("tracks", 1));
            kinds.extend(news.into_iter().map(|(kind, _)| kind));
        }
    }
    assert_eq!(kinds, ["part", "joined", "left", "account"].map(String::from));
}

/// Nothing would ever come, so that is said, and the end is not waited for.
#[test]
fn a_source_that_does_not_wait_for_the_recorder_is_named() {
    let files = Files::new();
    let path = files.path("run.mcap").display().to_string();
    let node = Node::new().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let _source = channel.source_builder().build::<Messages>().unwrap();
    let run = told(isoform(&["record", "--once", "--lossless", &channel.id().to_string(), "-o", &path]));
    assert_eq!(run.status, 1, "{}", run.errors);
    assert!(run.errors.starts_with("-- gauges: source 0 cannot be recorded: not granted"), "{}", run.errors);
}

/// Three gauges, a second apart, each in a chunk of its own; the second is damaged.
pub(super) fn damaged(files: &Files) -> String {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let path = files.path("damaged.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("gauges");
    for id in 0..3 {
        let time = 1_000_000_000 * u64::from(id);
        let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: time, origin: None };
        recorder.record(topic, time, stamp, &gauge(), &gauge_body(id, f64::from(id) / 2.0)).unwrap();
        recorder.sync().unwrap();
    }
    recorder.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(16).position(|part| part == gauge_body(1, 0.5)).unwrap();
    bytes[at] ^= 1;
    files.write("damaged.mcap", bytes)
}

/// Replays, and returns the exit status, what was said, and the bodies that came.
fn replay(files: &Files, arguments: &[&str]) -> (Option<i32>, String, Vec<Vec<u8>>) {
    let again = files.path("again.mcap").display().to_string();
    let _ = std::fs::remove_file(&again);
    let (mut replay, id, mut notices) = start_with_id(&[&["replay", "--max"], arguments].concat(), &[]);
    told(isoform(&["record", "--once", "--lossless", &id, "-o", &again])).good();
    let mut said = String::new();
    notices.read_to_string(&mut said).unwrap();
    let bodies = events(Path::new(&again)).0.into_iter().map(|(_, body)| body).collect();
    (replay.wait().unwrap().code(), said, bodies)
}

#[test]
fn what_is_whole_of_a_damaged_recording_is_published_and_the_rest_is_counted() {
    let files = Files::new();
    let path = damaged(&files);
    let gauges = [gauge_body(0, 0.0), gauge_body(2, 1.0)];
    let (status, said, bodies) = replay(&files, &[&path]);
    assert_eq!((status, &bodies[..]), (Some(1), &gauges[..]), "{said}");
    assert!(said.contains("isoform: ") && said.contains("passed over: 1 event in 1 chunk"), "{said}");
    // Damage elsewhere is no matter of this part.
    let (status, said, bodies) = replay(&files, &["--from", "1.5", &path]);
    assert_eq!((status, &bodies[..]), (Some(0), &gauges[1..]), "{said}");
    let stream = files.write("stream.iso", stream());
    for (arguments, expected) in [
        (&["replay", "--from", "3", &path][..], "the seconds 0 to 2"),
        (&["replay", "--from", "2", "--to", "1", &path], "--from 2 is behind --to 1"),
        (&["replay", &stream], "is not a recording"),
    ] {
        let errors = isoform(arguments).bad(2);
        assert!(errors.contains(expected), "{errors}");
    }
}

/// What is declared lost is part of a whole recording; what is missing without a word is not, and neither is a chunk that was changed.
#[test]
fn records_that_newer_ones_superseded_are_not_lost() {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let files = Files::new();
    let path = files.path("latest.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("river");
    for (id, first, count, cause) in
        [(0, 1, 2, "superseded"), (3, 4, 1, "the sink was too slow"), (5, 6, 3, "superseded")]
    {
        let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: 0, origin: None };
        recorder.record(topic, 0, stamp, &gauge(), &gauge_body(id, 0.5)).unwrap();
        let gap = json!({"source": 0, "first": first, "count": count, "cause": cause});
        recorder.news(topic, 0, &json!({"gap": gap})).unwrap();
    }
    recorder.finish().unwrap();
    let path = path.display().to_string();
    let said = isoform(&["check", &path]).good();
    assert!(said.contains("numbers  superseded  declared lost  lost\n"), "{said}");
    assert!(said.contains("river/0  Gauge         3        0      0-8           5              1     0\n"), "{said}");
    let told: Value = serde_json::from_str(&isoform(&["check", "--json", &path]).good()).unwrap();
    let numbers = json!({"first": 0, "last": 8, "declared": 1, "superseded": 5, "lost": 0});
    assert_eq!((&told["whole"], &told["parts"][0]["numbers"]), (&json!(true), &numbers));
}

#[test]
fn a_source_of_many_formats_makes_no_long_table() {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let files = Files::new();
    let path = files.path("formats.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("river");
    let long = "n".repeat(250);
    let format =
        |name: &str| FieldList::new(name).field("id", "integer", 8, 0).format(Layout::X86_64.machine(), 8, 8).unwrap();
    for id in 0..300u32 {
        let stamp = Stamp { source: id / 100, sequence: (id % 100).into(), nanoseconds: 0, origin: None };
        let name = if id < 200 { format!("Gauge{}", id % 7) } else { format!("{long}{id}") };
        recorder.record(topic, 0, stamp, &format(&name), &u64::from(id).to_ne_bytes()).unwrap();
    }
    recorder.finish().unwrap();
    let said = isoform(&["check", &path.display().to_string()]).good();
    assert!(said.contains("river/0  Gauge0, Gauge1, Gauge2, Gauge3 and 3 more  "), "{said}");
    let third = said.lines().find(|line| line.starts_with("river/2")).unwrap();
    assert!(third.contains("203 and 96 more  ") && third.len() > 1_000, "{third}");
    let longest = said.lines().filter(|line| !line.starts_with("river/2")).map(str::len).max();
    assert!(longest < Some(320), "{said}");
}

#[test]
fn records_of_more_formats_than_a_reader_keeps_are_shown() {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    const FORMATS: u32 = 1_100;
    let files = Files::new();
    let path = files.path("many.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("river");
    for id in 0..2 * FORMATS {
        let name = format!("Gauge{}", id % FORMATS);
        let format =
            FieldList::new(&*name).field("id", "integer", 8, 0).format(Layout::X86_64.machine(), 8, 8).unwrap();
        let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: 0, origin: None };
        recorder.record(topic, 0, stamp, &format, &u64::from(id).to_ne_bytes()).unwrap();
    }
    recorder.finish().unwrap();
    let said = isoform(&["dump", "--json", &path.display().to_string()]).good();
    let ids = said.lines().filter(|line| line.contains("\"id\":")).count();
    assert_eq!(ids, 2 * FORMATS as usize, "{}", &said[..200]);
}

#[test]
fn a_recording_is_whole_if_every_number_is_there_or_declared() {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let files = Files::new();
    let write = |name: &str, numbers: &[u32], gaps: &[(u64, u64)], query: Option<&str>| {
        let path = files.path(name);
        let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
        let topic = recorder.topic("river");
        recorder.news(topic, 0, &json!({"part": {"number": 1}})).unwrap();
        if let Some(query) = query {
            let joined = json!({"source": 0, "node": "00", "format": "Gauge", "query": query});
            recorder.news(topic, 0, &json!({"joined": joined})).unwrap();
        }
        let gap = |(first, count): &(u64, u64)| json!({"gap": {"source": 0, "first": first, "count": count, "cause": "slow"}});
        let mut gaps = gaps.iter().peekable();
        for &id in numbers {
            while let Some(told) = gaps.next_if(|(first, _)| *first < u64::from(id)) {
                recorder.news(topic, 0, &gap(told)).unwrap();
            }
            let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: 0, origin: None };
            recorder.record(topic, 0, stamp, &gauge(), &gauge_body(id, 0.5)).unwrap();
        }
        gaps.for_each(|told| recorder.news(topic, 0, &gap(told)).unwrap());
        recorder.finish().unwrap();
        path.display().to_string()
    };
    let whole = write("whole.mcap", &[3, 4, 7, 9], &[(5, 2), (8, 1)], None);
    let row = |numbers: &str| format!("river/0  Gauge         4        0      {numbers}");
    // Also in front of the first event and behind the last, and if no event is there.
    let around = write("around.mcap", &[5, 6, 7, 8], &[(0, 5), (9, 2)], None);
    let said = isoform(&["check", &around]).good();
    assert!(said.contains("river/0  Gauge         4        0     0-10              7     0\n"), "{said}");
    let none = write("none.mcap", &[], &[(3, 2)], None);
    let said = isoform(&["check", &none]).good();
    assert!(said.contains("river/0                0        0      3-4              2     0"), "{said}");
    // A gap that ends behind every number that there is says nothing.
    let (most, half) = (u64::MAX, u64::MAX / 2);
    let huge = write("huge.mcap", &[], &[(0, 0), (half, most), (half, 1), (most, most), (most, 1)], None);
    let run = isoform(&["check", "--json", &huge]);
    let found: Value = serde_json::from_str(&run.output).unwrap();
    let numbers = json!({"first": half, "last": half, "declared": 1, "superseded": 0, "lost": 0});
    let part = &found["parts"][0];
    assert_eq!((run.status, &part["damaged"], &part["numbers"]), (1, &json!(3), &numbers));
    let said = isoform(&["check", &whole]).good();
    assert!(said.contains(": whole\n") && said.contains(&row("3-9              3     0")), "{said}");
    let lacks = write("lacks.mcap", &[3, 4, 7, 9], &[(5, 2)], None);
    let run = isoform(&["check", &lacks]);
    assert!(run.status == 1 && run.output.contains(&row("3-9              2     1")), "{}", run.output);
    // What a query did not pass is not lost.
    let asked = write("asked.mcap", &[3, 4, 7, 9], &[], Some("where id > 2"));
    isoform(&["check", &asked]).good();
    let mut bytes = std::fs::read(&whole).unwrap();
    let at = bytes.windows(16).position(|part| part == gauge_body(7, 0.5)).unwrap();
    bytes[at] ^= 1;
    let run = isoform(&["check", &files.write("changed.mcap", bytes)]);
    assert!(run.status == 1 && run.output.contains("not whole"), "{}", run.output);
    let found: Value = serde_json::from_str(&isoform(&["check", "--json", &damaged(&files)]).output).unwrap();
    assert_eq!(found["passed_over"]["events"], 1, "{found}");
    assert_eq!(found["parts"][0]["records"], 2, "{found}");
    let fault = &found["faults"][0];
    assert!(fault["byte"].as_u64() > Some(8) && fault["expected"].is_string(), "{fault}");
    assert_eq!(fault["before"].as_u64().unwrap() + fault["after"].as_u64().unwrap(), 2, "{fault}");
}

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// A recording of gauges with these times of submission.
fn recording_at(path: &str, times: &[u64]) {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let mut recorder =
        Recorder::create(Path::new(path), Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("gauges");
    for (id, &nanoseconds) in times.iter().enumerate() {
        let stamp = Stamp { source: 0, sequence: id as u64, nanoseconds, origin: None };
        let body = gauge_body(id as u32, id as f64 / 2.0);
        recorder.record(topic, nanoseconds + 5, stamp, &gauge(), &body).unwrap();
    }
    recorder.finish().unwrap();
}

#[test]
fn queries_of_a_recording_know_when_its_events_were_submitted() {
    let directory = Files::new();
    let path = directory.path("times.mcap").display().to_string();
    let start = 1_700_000_000 * SECOND;
    // Some in each second, and none in one.
    let times: Vec<u64> = (0..100).filter(|i| !(40..50).contains(i)).map(|i| start + i * SECOND / 10 + 7).collect();
    recording_at(&path, &times);
    let query = |text: &str| isoform(&["query", "--json", &path, text]).good();
    let ats = query("select at = time()");
    let expected: String = times.iter().map(|at| format!("{{\"at\":{at}}}\n")).collect();
    assert_eq!(ats, expected);
    // What a window has, computed here: its second, how many there are, and the last.
    let mut windows: Vec<(u64, u64, u32)> = Vec::new();
    for (id, at) in times.iter().enumerate() {
        match windows.last_mut().filter(|(second, ..)| *second == at / SECOND) {
            Some((_, count, last)) => (*count, *last) = (*count + 1, id as u32),
            None => windows.push((at / SECOND, 1, id as u32)),
        }
    }
    let expected: String =
        windows.iter().map(|(_, count, last)| format!("{{\"count\":{count},\"last\":{last}}}\n")).collect();
    assert_eq!(windows.len(), 9, "a second without events has no result, and the last one has");
    assert_eq!(query("window 1 s | select count(), last = last(id)"), expected);
    // The rule of spec/query.md for `every`, for 2 s.
    let (mut due, mut passed) = (times[0], String::new());
    for (id, at) in times.iter().enumerate() {
        if at + SECOND >= due {
            due = due.max(at - SECOND) + 2 * SECOND;
            passed += &format!("{{\"id\":{id}}}\n");
        }
    }
    assert_eq!(query("every 2 s | select id"), passed);
    let table = directory.path("windows.jsonl").display().to_string();
    isoform(&["export", "--no-stamps", "--query", "window 1 s | select count(), last = last(id)", &path, &table])
        .good();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), expected);
    // A plain stream has no times.
    let plain = directory.path("plain.iso").display().to_string();
    std::fs::write(&plain, stream()).unwrap();
    let refused = isoform(&["query", &format!("{plain}#Gauge"), "every 1 s"]).bad(2);
    assert!(refused.contains("which have no times; recordings have them"), "{refused}");
    let gauges = isoform(&["dump", "--json", &format!("{plain}#Gauge")]).good().lines().count();
    let most = format!("window {} | select count()", gauges + 1);
    let all = isoform(&["query", "--json", &format!("{plain}#Gauge"), &most]).good();
    assert_eq!(all, format!("{{\"count\":{gauges}}}\n"), "at the end, the window gives what it has");
}

/// Channels of one name do not mix, and what a query did not pass is not lost.
#[test]
fn derived_channels_are_recorded_beside_their_channel() {
    let files = Files::new();
    let node = Node::new().unwrap();
    let channel = node.create_with("gauges", Some(&gauge())).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let (id, derived) = (channel.id().to_string(), channel.derive("where id % 2 == 1 | select id").unwrap());
    let named = derived.derive("every 2").unwrap().named("few").unwrap();
    let path = files.path("three.mcap").display().to_string();
    let ids = [&id, &derived.id().to_string(), &named.id().to_string()];
    let mut record = command(&["record", ids[0], ids[1], ids[2], "-o", &path, "--count", "14"]);
    let record = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    source.wait_for_sinks(3, LONG).unwrap();
    for id in 0..8 {
        source.submit_body(&gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    let said = Run::of(record.wait_with_output().unwrap());
    assert_eq!(said.status, 0, "{}", said.errors);
    let found: Value = serde_json::from_str(&isoform(&["check", "--json", &path]).good()).unwrap();
    let parts = found["parts"].as_array().unwrap().iter();
    let mut parts: Vec<_> = parts.map(|part| (part["source"].as_str().unwrap(), part["records"].clone())).collect();
    parts.sort_by_key(|(source, _)| *source);
    assert_eq!(parts, [("few/0", json!(2)), ("gauges 2/0", json!(4)), ("gauges/0", json!(8))]);
    let dumped = |channels: &[&str]| isoform(&[&["dump", "--json", &path], channels].concat());
    assert_eq!(dumped(&[]).good().lines().count(), 14);
    let odd = "{\"id\":1}\n{\"id\":3}\n{\"id\":5}\n{\"id\":7}\n";
    assert_eq!(dumped(&["--channel", "gauges 2"]).good(), odd);
    assert_eq!(isoform(&["query", "--json", "--channel", "gauges 2", &path, "where id > 3"]).good(), &odd[18..]);
    assert_eq!(dumped(&["--channel", "gauges 2", "--channel", "few"]).good().lines().count(), 6);
    let refused = dumped(&["--channel", "gauge"]).bad(2);
    assert!(refused.contains(r#"no such channel at gauge: expected "few", "gauges", "gauges 2""#), "{refused}");
    let table = files.path("odd.jsonl").display().to_string();
    isoform(&["export", "--no-stamps", "--channel", "gauges 2", &path, &table]).good();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), odd);
    let stream = files.path("plain.iso").display().to_string();
    std::fs::write(&stream, self::stream()).unwrap();
    let refused = isoform(&["dump", "--channel", "gauges", &stream]).bad(2);
    assert!(refused.contains("--channel chooses channels of a recording"), "{refused}");
}

#[test]
fn a_part_of_a_recording_is_shown_by_its_seconds() {
    use isoform_files::{Compression, Options, Recorder, Stamp};
    let files = Files::new();
    let path = files.path("run.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("river");
    for id in 0..100 {
        let now = 1_000_000_000 + u64::from(id) * 100_000_000;
        let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: now, origin: None };
        recorder.record(topic, now, stamp, &gauge(), &gauge_body(id, 0.5)).unwrap();
    }
    recorder.finish().unwrap();
    let path = path.display().to_string();
    let said = isoform(&["query", "--json", "--from", "2.5", "--to", "2.7", &path, "select id"]).good();
    assert_eq!(said, "{\"id\":25}\n{\"id\":26}\n{\"id\":27}\n");
    assert_eq!(isoform(&["dump", "--json", "--from", "9.8", &path]).good().lines().count(), 2);
    assert!(isoform(&["dump", "--from", "byte:9", &path]).bad(2).contains("is a place of a stream"));
    assert!(isoform(&["dump", "--from", "99", &path]).bad(2).contains("behind the end"));
    assert!(isoform(&["index", &path]).bad(2).contains("an index of its own"));
}

/// What a source submitted before anybody recorded it is told as a figure of its own, and the recording is whole.
#[test]
fn a_recorder_that_comes_late_tells_how_many_events_were_before() {
    let directory = Files::new();
    let path = directory.path("run.mcap").display().to_string();
    let (_node, id, mut source) = source();
    (0..144).for_each(|id| submit(&mut source, id));
    let recorder = start(&["record", "--once", "--lossless", &id, "-o", &path]);
    let echo = start(&["echo", "--once", "--lossless", "--json", "--stamp", &id]);
    source.wait_for_sinks(2, LONG).unwrap();
    (144..147).for_each(|id| submit(&mut source, id));
    let accounts = source.close(LONG).unwrap();
    assert!(accounts.iter().all(|sink| (sink.earlier, sink.ledger.submitted, sink.ledger.lost()) == (144, 3, 0)));
    let said = told(Run::of(recorder.wait_with_output().unwrap())).good();
    assert!(said.contains(": 3 recorded, 0 lost, 144 earlier events are not here\n"), "{said}");
    let numbers: Vec<u64> = events(Path::new(&path)).0.into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [144, 145, 146]);
    let said = isoform(&["check", &path]).good();
    assert!(said.contains(": whole\n") && said.contains("gauges/0: 144 earlier events are not here"), "{said}");
    let found: Value = serde_json::from_str(&isoform(&["check", "--json", &path]).good()).unwrap();
    assert_eq!((&found["whole"], &found["parts"][0]["earlier"]), (&json!(true), &json!(144)));
    let echoed = Run::of(echo.wait_with_output().unwrap());
    let joined = echoed.output.lines().find(|line| line.contains("joined")).expect("a source has joined");
    assert_eq!(serde_json::from_str::<Value>(joined).unwrap()["joined"]["earlier"], 144, "{joined}");
}
