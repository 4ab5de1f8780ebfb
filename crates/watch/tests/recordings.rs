//! Recordings in the page: which parts of them it gets, and what of them (`spec/watch.md`, "Recordings").
#![cfg(feature = "files")]

use isoform::core::view::View;
use isoform::core::{Format, Layout, Shape};
use isoform::{Messages, Token};
use isoform_channel::Node;
use isoform_files::{Options, Recorder, Stamp};
use isoform_watch::{Place, Player, Server, start, start_replay};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket, client};

/// When the recordings begin: nanoseconds since 1970.
const BEGIN: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn format() -> Format {
    Shape::new("Gauge").field("step", "long").field("depth", "double").on(&Layout::S390X).unwrap()
}

fn body(step: i64, depth: f64) -> Vec<u8> {
    [step.to_be_bytes(), depth.to_be_bytes()].concat()
}

/// 1,000 events of source 1 in ten seconds, one of source 2 at their beginning, and a gap.
fn record(folder: &Path) -> PathBuf {
    let path = folder.join("river.mcap");
    let mut recorder = Recorder::create(&path, Options::default()).unwrap();
    let (river, lake) = (recorder.topic("river"), recorder.topic("lake"));
    let stamp = |source, sequence, nanoseconds| Stamp { source, sequence, nanoseconds, origin: None };
    recorder.news(river, BEGIN, &json!({"joined": {"source": 1, "node": "aa", "format": "Gauge"}})).unwrap();
    // The clock of the second source is an hour behind.
    recorder.record(river, BEGIN, stamp(2, 0, BEGIN - 3600 * SECOND), &format(), &body(-1, 0.0)).unwrap();
    for step in 0..1000_u64 {
        let time = BEGIN + step * SECOND / 100;
        let depth = if step == 777 { 1e6 } else { step as f64 };
        recorder.record(river, time, stamp(1, step, time - 5), &format(), &body(step as i64, depth)).unwrap();
        if step == 500 {
            let gap = json!({"gap": {"source": 1, "first": 501, "count": 3, "cause": "too slow"}});
            recorder.news(river, time, &gap).unwrap();
        }
    }
    recorder.record(lake, BEGIN + 10 * SECOND, stamp(1, 0, BEGIN + 10 * SECOND), &format(), &body(7, 7.0)).unwrap();
    recorder.finish().unwrap();
    path
}

struct Page(WebSocket<TcpStream>);

/// A part of a recording as a page gets it.
#[derive(Debug, Default)]
struct Got {
    /// Source, sequence, time, and the fields of each record.
    records: Vec<(u32, u64, u64, Vec<f64>)>,
    joined: usize,
    gaps: Vec<(u64, u64)>,
    refused: Vec<String>,
    /// The text at the end.
    end: Value,
}

impl Page {
    fn open(server: &Server) -> (Page, Value) {
        let host = server.address().to_string();
        let mut request = format!("ws://{host}/events").into_client_request().unwrap();
        request.headers_mut().insert("origin", HeaderValue::from_str(&format!("http://{host}")).unwrap());
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut page = Page(client(request, stream).unwrap().0);
        page.say(&json!({"key": server.url().split_once("#key=").unwrap().1}));
        let places = page.text();
        (page, places)
    }

    fn say(&mut self, text: &Value) {
        self.0.send(Message::text(text.to_string())).unwrap();
    }

    fn text(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    fn part(&mut self, wish: Value) -> Got {
        self.say(&wish);
        let (mut got, mut formats) = (Got::default(), std::collections::HashMap::new());
        loop {
            let message = match self.0.read().unwrap() {
                Message::Text(text) => {
                    got.end = serde_json::from_str(&text).unwrap();
                    return got;
                }
                Message::Binary(message) => message,
                _ => continue,
            };
            assert_eq!(u64::from(message[0]), wish["subscribe"]);
            let mut rest = &message[8..];
            while !rest.is_empty() {
                let number = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
                let (length, source) = (number(24) as usize, u32::from_le_bytes(rest[4..8].try_into().unwrap()));
                let content = &rest[32..32 + length];
                match rest[0] {
                    1 => {
                        let format = Format::parse(content).unwrap();
                        formats.insert(format.token(), format);
                    }
                    2 => {
                        let format: &Format = &formats[&Token::from_bytes(content[..16].try_into().unwrap())];
                        let view = View::new(format.verify(&content[16..]).unwrap());
                        let numbers = view.fields().map(|(_, item)| item.to_f64().unwrap()).collect();
                        got.records.push((source, number(8), number(16), numbers));
                    }
                    3 => got.gaps.push((number(8), u64::from_le_bytes(content[..8].try_into().unwrap()))),
                    4 => got.joined += 1,
                    6 => got.refused.push(String::from_utf8_lossy(content).into()),
                    other => panic!("kind {other}"),
                }
                rest = &rest[32 + length.next_multiple_of(8)..];
            }
        }
    }
}

fn stage() -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let places = Place::recording(&record(folder.path())).unwrap();
    (folder, start("127.0.0.1:0".parse().unwrap(), places).unwrap())
}

/// Seconds since 1970.
fn at(seconds: f64) -> f64 {
    BEGIN as f64 / 1e9 + seconds
}

#[test]
fn a_page_gets_the_parts_that_it_asks_for() {
    let (_folder, server) = stage();
    let (mut page, told) = Page::open(&server);
    let names: Vec<_> = told["places"].as_array().unwrap().iter().map(|place| place["name"].clone()).collect();
    assert_eq!(names, ["lake", "river"]);
    let river = &told["places"][1];
    assert_eq!((&river["kind"], &river["id"]), (&json!("recording"), &json!("river.mcap")));
    assert_eq!((river["first"].as_f64(), river["last"].as_f64()), (Some(at(0.0)), Some(at(10.0))));

    let whole = page.part(json!({"subscribe": 1, "place": 1, "from": at(0.0) - 1.0, "to": at(10.0) + 1.0}));
    assert_eq!((whole.records.len(), whole.joined, &*whole.gaps), (1001, 1, &[(501, 3)][..]));
    assert_eq!(whole.end, json!({"complete": 1}));
    let (source, _, time, fields) = &whole.records[0];
    assert_eq!((*source, *time, &**fields), (2, BEGIN, &[-1.0, 0.0][..]), "when it was recorded: the clocks differ");
    assert_eq!(whole.records[1].2, BEGIN - 5, "when it was submitted");

    // The number of a part that has ended can be used again.
    let part =
        page.part(json!({"subscribe": 1, "place": 1, "from": at(2.0), "to": at(3.0), "query": "select d = depth"}));
    let steps: Vec<_> = part.records.iter().map(|(_, sequence, ..)| *sequence).collect();
    assert!((steps[0], steps.len()) == (200, 101) || (steps[0], steps.len()) == (201, 100), "{steps:?}");
    assert!(part.records.iter().all(|(_, sequence, _, fields)| **fields == [*sequence as f64]));
}

#[test]
fn the_newest_event_of_each_source_is_found() {
    let (_folder, server) = stage();
    let (mut page, _) = Page::open(&server);
    let newest = page.part(json!({"subscribe": 1, "place": 1, "at": at(5.004)}));
    assert_eq!(newest.records.iter().map(|(_, sequence, ..)| *sequence).collect::<Vec<_>>(), [500]);
    // The only event of the lake is ten seconds before.
    let old = page.part(json!({"subscribe": 2, "place": 0, "at": at(1e6), "query": "select step"}));
    assert_eq!(old.records.iter().map(|(.., fields)| &**fields).collect::<Vec<_>>(), [[7.0]]);
    let none = page.part(json!({"subscribe": 3, "place": 1, "at": 5.0}));
    assert_eq!((none.records.len(), none.end), (0, json!({"complete": 3})));
}

#[test]
fn a_line_of_few_points_hides_no_peak_and_no_gap() {
    let (_folder, server) = stage();
    let (mut page, _) = Page::open(&server);
    let wish =
        json!({"subscribe": 1, "place": 1, "from": at(0.0), "to": at(10.0), "points": 20, "query": "select depth"});
    let thin = page.part(wish);
    assert!(thin.records.len() <= 20 * 4 + 2, "{}", thin.records.len());
    let of_one: Vec<_> = thin.records.iter().filter(|(source, ..)| *source == 1).collect();
    assert!(of_one.iter().any(|(.., fields)| **fields == [1e6]));
    assert_eq!((of_one[0].1, of_one.last().unwrap().1, &*thin.gaps), (0, 999, &[(501, 3)][..]));
    assert!(of_one.is_sorted_by_key(|(_, sequence, ..)| sequence));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let (folder, server) = stage();
    let (mut page, _) = Page::open(&server);
    let unfit = page.part(json!({"subscribe": 1, "place": 1, "at": at(3.0), "query": "select wind"}));
    assert!(unfit.records.is_empty() && unfit.refused.len() == 1 && unfit.refused[0].contains("wind"), "{unfit:?}");
    let wrong = page.part(json!({"subscribe": 2, "place": 1, "at": at(3.0), "query": "select"}));
    assert_eq!(wrong.end["refused"], 2);
    // A recording that was cut.
    let path = folder.path().join("river.mcap");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = page.part(json!({"subscribe": 3, "place": 1, "from": at(0.0), "to": at(10.0)}));
    assert!(cut.end["complete"] == 3 && cut.end["error"].is_string(), "{}", cut.end);
    std::fs::remove_file(&path).unwrap();
    let gone = page.part(json!({"subscribe": 4, "place": 1, "at": at(3.0)}));
    assert_eq!(gone.end["refused"], 4);
    let error = Place::recording(&path).unwrap_err();
    assert_eq!(error.code(), isoform::Code::Io);
}

#[test]
fn pages_that_break_rules_end() {
    let (_folder, server) = stage();
    for wish in [
        json!({"subscribe": 1, "place": 1}),
        json!({"subscribe": 1, "place": 1, "from": 1.0}),
        json!({"subscribe": 1, "place": 1, "from": 1.0, "to": 2.0, "at": 3.0}),
        json!({"subscribe": 1, "place": 1, "from": -1e300, "to": 1.0}),
        json!({"subscribe": 1, "place": 1, "from": 1.0, "to": 1e300}),
        json!({"info": 1}),
        json!({"player": {}}),
    ] {
        let (mut page, _) = Page::open(&server);
        page.say(&wish);
        let code = loop {
            match page.0.read() {
                Ok(Message::Close(Some(frame))) => break u16::from(frame.code),
                Ok(_) => {}
                Err(error) => panic!("{wish}: {error}"),
            }
        };
        assert_eq!(code, 4400, "{wish}");
    }
    // Times that no recording has.
    let (mut page, _) = Page::open(&server);
    for (number, span) in [[-1e10, 0.0], [1e10, -1e10], [0.0, 0.0]].into_iter().enumerate() {
        let wish = json!({"subscribe": number, "place": 1, "from": span[0], "to": span[1], "points": 1});
        assert_eq!(page.part(wish).end, json!({"complete": number}));
    }
}

#[test]
fn a_replay_is_led_by_its_page() {
    let node = Node::new().unwrap();
    let player = Player::new(BEGIN..=BEGIN + SECOND, 1.0);
    let channel = node.create_with("river", None).unwrap();
    let server = start_replay("127.0.0.1:0".parse().unwrap(), [channel], player.clone()).unwrap();
    let (mut page, told) = Page::open(&server);
    assert_eq!(told["player"], json!({"first": at(0.0), "last": at(1.0), "at": at(0.0), "rate": 1.0, "paused": false}));
    page.say(&json!({"player": {"paused": true, "seek": at(0.5), "rate": 4}}));
    assert_eq!(
        page.text()["player"],
        json!({"first": at(0.0), "last": at(1.0), "at": at(0.5), "rate": 4.0, "paused": true})
    );
    assert!(player.is_paused() && player.sought().is_some_and(|at| at.abs_diff(BEGIN + SECOND / 2) < 1000));
}

/// The kinds of the entries behind descriptions, with their sequence numbers: until one is `until`.
fn kinds(page: &mut Page, until: (u8, u64)) -> Vec<(u8, u64)> {
    let mut found = Vec::new();
    while found.last() != Some(&until) {
        let Message::Binary(message) = page.0.read().unwrap() else { continue };
        let mut rest = &message[8..];
        while !rest.is_empty() {
            let number = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
            if rest[0] == 3 {
                assert_eq!(u64::from_le_bytes(rest[32..40].try_into().unwrap()), 0, "no event is lost");
            }
            if matches!(rest[0], 2 | 3) {
                found.push((rest[0], number(8)));
            }
            rest = &rest[32 + (number(24) as usize).next_multiple_of(8)..];
        }
    }
    found
}

#[test]
fn a_replay_that_is_set_to_another_time_breaks_lines_there() {
    let [node, other] = [Node::new().unwrap(), Node::new().unwrap()];
    let player = Player::new(BEGIN..=BEGIN + SECOND, 1.0);
    let channel = node.create_with("river", None).unwrap();
    let watched = other.open(channel.id().to_string()).unwrap();
    let server = start_replay("127.0.0.1:0".parse().unwrap(), [watched], player.clone()).unwrap();
    let mut source = channel.source_builder().build::<Messages>().unwrap();
    let (mut page, _) = Page::open(&server);
    page.say(&json!({"subscribe": 1, "place": 0}));
    source.wait_for_sinks(1, Duration::from_secs(60)).unwrap();
    let mut submit = |step: i64| source.submit_body(&format(), &body(step, 0.0)).unwrap();
    assert_eq!((submit(0), submit(1)), (0, 1));
    // The page may get the events before a jump after it.
    player.jumped(0, 2);
    player.jumped(1, 3);
    assert_eq!((submit(50), submit(51)), (2, 3));
    player.jumped(0, 4);
    assert_eq!(submit(7), 4);
    let expected = [(2, 0), (2, 1), (3, 2), (2, 2), (2, 3), (3, 4), (2, 4)];
    assert_eq!(kinds(&mut page, (2, 4)), expected);
}

#[test]
fn a_page_is_told_the_id_by_which_a_channel_was_opened() {
    let [node, other] = [Node::new().unwrap(), Node::new().unwrap()];
    let channel = node.create_with("river", None).unwrap();
    let watched = Place::from(other.open(channel.id().to_string()).unwrap()).opened_by(&channel.id().with_key([7; 32]));
    let server = start("127.0.0.1:0".parse().unwrap(), [watched]).unwrap();
    let (_, told) = Page::open(&server);
    assert_eq!(told["places"][0]["id"], channel.id().without_key().to_string(), "and no key");
}
