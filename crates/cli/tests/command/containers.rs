//! MCAP files of other programs, and recordings that other programs have rewritten.

use super::*;
use isoform_files::{Compression, MAGIC, Options, Recorder, Stamp};
use serde_json::{Value, json};

const SAID: &str = "100 messages in the encoding cdr on /pt are not records of Isoform";

/// The operations of the container that are written here.
const SCHEMA: u8 = 3;
const CHANNEL: u8 = 4;
const MESSAGE: u8 = 5;
const CHUNK: u8 = 6;

fn put(file: &mut Vec<u8>, opcode: u8, data: &[u8]) {
    file.push(opcode);
    file.extend((data.len() as u64).to_le_bytes());
    file.extend_from_slice(data);
}

/// A file with these records, without chunks and index.
fn container(records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    put(&mut file, 1, &[0; 8]);
    records.iter().for_each(|(opcode, data)| put(&mut file, *opcode, data));
    put(&mut file, 15, &[0; 4]);
    put(&mut file, 2, &[0; 20]);
    file.extend(MAGIC);
    file
}

/// What ROS 2 records: a hundred points.
fn points() -> Vec<(u8, Vec<u8>)> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let schema = [&[9, 0][..], &text("geometry_msgs/msg/Point"), &text("ros2msg"), &text("float64 x\n")].concat();
    let channel = [&[9, 0, 9, 0][..], &text("/pt"), &text("cdr"), &[0; 4]].concat();
    let message = |at: u32| {
        let times = [u64::from(at).to_le_bytes(); 2].concat();
        (MESSAGE, [&[9, 0][..], &at.to_le_bytes(), &times, &[0, 1, 0, 0], &[0; 8]].concat())
    };
    [(SCHEMA, schema), (CHANNEL, channel)].into_iter().chain((0..100).map(message)).collect()
}

/// The records within the chunks of a recording of three gauges.
fn gauges(files: &Files) -> Vec<(u8, Vec<u8>)> {
    let path = files.path("seed.mcap");
    let mut recorder = Recorder::create(&path, Options { compression: Compression::None, viewers: false }).unwrap();
    let topic = recorder.topic("gauges");
    for id in 0..3 {
        let stamp = Stamp { source: 0, sequence: id.into(), nanoseconds: id.into(), origin: None };
        recorder.record(topic, id.into(), stamp, &gauge(), &gauge_body(id, f64::from(id) / 2.0)).unwrap();
    }
    recorder.news(topic, 9, &json!({"left": {"source": 0}})).unwrap();
    recorder.finish().unwrap();
    let records = |mut bytes: &[u8]| {
        let mut all = Vec::new();
        while bytes.len() > 9 {
            let length = u64::from_le_bytes(bytes[1..9].try_into().unwrap()) as usize;
            all.push((bytes[0], bytes[9..9 + length].to_vec()));
            bytes = &bytes[9 + length..];
        }
        all
    };
    let file = std::fs::read(&path).unwrap();
    // A chunk without compression has 40 bytes in front of its records.
    records(&file[MAGIC.len()..])
        .iter()
        .filter(|(opcode, _)| *opcode == CHUNK)
        .flat_map(|it| records(&it.1[40..]))
        .collect()
}

#[test]
fn a_recording_of_other_programs_says_what_is_in_it() {
    let files = Files::new();
    let path = files.write("ros.mcap", container(&points()));
    let table = files.path("t.csv").display().to_string();
    for arguments in [
        &["dump", &path][..],
        &["dump", "--from", "0", &path],
        &["query", &path, "where x > 0"],
        &["format", &path],
        &["export", &path, &table],
        &["explain", &path, "--query", "where x > 0"],
        #[cfg(feature = "watch")]
        &["watch", &path],
        &["replay", &path],
    ] {
        let run = isoform(arguments);
        assert!(run.status != 0 && run.output.is_empty(), "{arguments:?}: {}{}", run.output, run.errors);
        assert!(run.errors.contains(SAID), "{arguments:?}: {}", run.errors);
        assert!(!run.errors.contains("damaged"), "{arguments:?}: {}", run.errors);
    }
    let run = isoform(&["check", &path]);
    assert_eq!((&*run.output, run.status), (&*format!("{path}: no records of Isoform\n{SAID}\n"), 1));
    let found: Value = serde_json::from_str(&isoform(&["check", "--json", &path]).output).unwrap();
    assert_eq!(found["foreign"], json!([{"topic": "/pt", "encoding": "cdr", "messages": 100}]));
    assert_eq!(found["whole"], false);
    assert!(!std::path::Path::new(&table).exists());
    // A file without messages has nothing to say.
    isoform(&["dump", &files.write("none.mcap", container(&[]))]).good();
}

#[test]
fn a_recording_that_was_rewritten_without_chunks_is_whole() {
    let files = Files::new();
    let own = gauges(&files);
    let flat = files.write("flat.mcap", container(&own));
    let seed = files.path("seed.mcap").display().to_string();
    let dumped = isoform(&["dump", "--json", &seed]).good();
    assert_eq!(dumped.lines().count(), 3);
    assert_eq!(isoform(&["dump", "--json", &flat]).good(), dumped);
    let lines = |path: &str| isoform(&["check", path]).good().lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&flat), lines(&seed));
    // Beside messages of others, which are told of.
    let mixed = files.write("mixed.mcap", container(&[points(), own].concat()));
    let table = files.path("t.csv").display().to_string();
    for arguments in [&["dump", "--json", &mixed][..], &["format", &mixed], &["export", &mixed, &table]] {
        let run = isoform(arguments);
        assert_eq!((&*run.errors, run.status), (&*format!("-- {SAID}\n"), 0), "{arguments:?}");
    }
    assert_eq!(isoform(&["dump", "--json", &mixed]).output, dumped);
    let run = isoform(&["check", &mixed]);
    assert!(run.status == 0 && run.output.contains(": whole\n") && run.output.contains(SAID), "{}", run.output);
}

/// With 40 descriptors, hundreds of connections that ask nothing do not keep the page away, whether they come before it or while it is open.
#[test]
#[cfg(feature = "watch")]
fn idle_connections_do_not_keep_the_page_away() {
    use std::io::{BufRead, BufReader, Read};
    use std::net::TcpStream;
    use std::time::Duration;
    let files = Files::new();
    let path = files.write("flat.mcap", container(&gauges(&files)));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -n 40; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_isoform"), "watch"]);
    shell.args(["--listen", "127.0.0.1:0", &path]);
    let mut watch = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.split_once("http://")?.1.split_once('/')?.0.to_owned())).unwrap();
    let mut idle = Vec::new();
    for _ in 0..5 {
        idle.extend((0..100).map(|_| TcpStream::connect(&address).unwrap()));
        let mut page = TcpStream::connect(&address).unwrap();
        // Before, it waited until idle connections had ended by themselves: ten seconds for each forty of them, of which there are more.
        page.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        write!(page, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        page.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
}
