//! What a page and its server say to each other (`spec/watch.md`), and who is turned away.

use isoform::{Format, Record, Token};
use isoform_channel::{Channel, Node, Source};
use isoform_watch::{Server, start};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::client::{IntoClientRequest, client_with_config};
use tungstenite::http::HeaderValue;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Gauge {
    step: i64,
    depth: [f64; 4],
}

/// A source, and a server that shows its channel.
struct Stage<T: Record<Static = T> = Gauge> {
    source: Source<T>,
    server: Server,
    _nodes: [Node; 2],
}

impl<T: Record<Static = T> + 'static> Stage<T> {
    fn of() -> Stage<T> {
        let node = Node::new().unwrap();
        let channel = node.create::<T>("river").unwrap();
        let other = Node::new().unwrap();
        let watched = other.open(channel.id().to_string()).unwrap();
        let server = start("127.0.0.1:0".parse().unwrap(), vec![watched]).unwrap();
        Stage { source: channel.source().unwrap(), server, _nodes: [node, other] }
    }

    fn key(&self) -> String {
        self.server.url().split_once("#key=").unwrap().1.into()
    }

    fn connect(&self, host: &str, origin: Option<&str>) -> tungstenite::Result<WebSocket<TcpStream>> {
        let stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{host}/events").into_client_request()?;
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", HeaderValue::from_str(origin).unwrap());
        }
        // The longest event of a page is longer than what this library takes unless told so.
        let taking = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        client_with_config(request, stream, Some(taking)).map(|(socket, _)| socket).map_err(|error| match error {
            tungstenite::HandshakeError::Failure(error) => error,
            tungstenite::HandshakeError::Interrupted(_) => unreachable!("the stream blocks"),
        })
    }

    /// A page that has shown its key, and been told of the places.
    fn page(&self) -> Page {
        let host = self.server.address().to_string();
        let mut page = Page(self.connect(&host, Some(&format!("http://{host}"))).unwrap());
        page.0.send(Message::Ping("before the key".into())).unwrap();
        page.say(&json!({"key": self.key()}));
        let told = page.text();
        assert_eq!(told["places"][0]["name"], "river");
        assert_eq!(told["places"][0]["kind"], "channel");
        assert!(!told["places"][0]["id"].as_str().unwrap().contains("key="), "{told}");
        page
    }

    fn get(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into()
    }
}

impl Stage {
    fn new() -> Stage {
        Stage::of()
    }

    /// Events 0 to `count`, once the page has subscribed.
    fn submit(&mut self, count: i64) {
        self.source.wait_for_sinks(1, PATIENCE).unwrap();
        for step in 0..count {
            self.source.submit(&Gauge { step, depth: [step as f64; 4] }).unwrap();
        }
    }
}

struct Page(WebSocket<TcpStream>);

impl Page {
    fn say(&mut self, text: &Value) {
        self.0.send(Message::text(text.to_string())).unwrap();
    }

    /// The next text of the server.
    fn text(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// The code with which the server ends the connection.
    fn end(&mut self) -> u16 {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => return frame.code.into(),
                Ok(_) => {}
                Err(error) => panic!("no code: {error}"),
            }
        }
    }

    /// The entries of the next binary messages, until `enough`.
    fn entries(&mut self, subscription: u32, mut enough: impl FnMut(&[Entry]) -> bool) -> Vec<Entry> {
        let mut all = Vec::new();
        while !enough(&all) {
            let Message::Binary(message) = self.0.read().unwrap() else { continue };
            assert_eq!(message[..4], subscription.to_le_bytes());
            let mut rest = &message[8..];
            while !rest.is_empty() {
                let number = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
                let length = usize::try_from(number(24)).unwrap();
                let kind = u32::from_le_bytes(rest[..4].try_into().unwrap());
                all.push(Entry { kind, sequence: number(8), content: rest[32..32 + length].to_vec() });
                rest = &rest[32 + length.next_multiple_of(8)..];
            }
        }
        all
    }
}

#[derive(Debug)]
struct Entry {
    kind: u32,
    sequence: u64,
    content: Vec<u8>,
}

fn records(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.kind == 2)
}

/// The format of the records, which the description before them has.
fn format(entries: &[Entry]) -> Format {
    let place = entries.iter().position(|entry| entry.kind == 1).unwrap();
    assert!(entries[..place].iter().all(|entry| entry.kind != 2), "no record comes before its description");
    Format::parse(&entries[place].content).unwrap()
}

#[test]
fn a_page_gets_records_as_they_are() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 7, "place": 0}));
    stage.submit(1000);
    let entries = page.entries(7, |all| records(all).count() == 1000);
    assert_eq!(entries[0].kind, 4, "the source has joined");
    let format = format(&entries);
    assert_eq!(format.token(), Gauge::format().token());
    for (step, entry) in records(&entries).enumerate() {
        let (token, body) = entry.content.split_first_chunk().unwrap();
        assert_eq!((entry.sequence, Token::from_bytes(*token)), (step as u64, format.token()));
        let view = isoform::View::new(format.verify(body).unwrap());
        assert_eq!((view.i64("step").unwrap(), view.f64("depth[3]").unwrap()), (step as i64, step as f64));
    }
}

#[test]
fn a_query_is_evaluated_at_the_source() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0, "query": "where step >= 90 | select c0 = depth[1]"}));
    stage.submit(100);
    let entries = page.entries(1, |all| records(all).count() == 10);
    let format = format(&entries);
    let first = records(&entries).next().unwrap();
    let view = isoform::View::new(format.verify(&first.content[16..]).unwrap());
    assert_eq!((view.structure().fields().len(), view.f64("c0").unwrap()), (1, 90.0));
    page.say(&json!({"subscribe": 2, "place": 0, "query": "select ("}));
    let told = loop {
        let told = page.text();
        if told.get("refused").is_some() {
            break told;
        }
    };
    assert_eq!(told["refused"], 2);
    assert!(told["error"].as_str().unwrap().contains("line 1"), "{told}");
}

#[test]
fn a_page_that_does_not_keep_up_is_told_what_it_lost_and_holds_nobody() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0}));
    // Far more than connections and queues hold, while the page takes nothing. The source never waits for it: this ends.
    const EVENTS: u64 = 1_500_000;
    stage.submit(EVENTS as i64);
    let last = |all: &[Entry]| {
        all.iter().rev().find(|entry| entry.kind == 2).is_some_and(|entry| entry.sequence == EVENTS - 1)
    };
    let entries = page.entries(1, last);
    let lost: u64 = entries
        .iter()
        .filter(|entry| entry.kind == 3)
        .map(|entry| u64::from_le_bytes(entry.content[..8].try_into().unwrap()))
        .sum();
    assert!(lost > 0);
    assert_eq!(records(&entries).count() as u64 + lost, EVENTS, "each event came or is declared lost");
}

/// What a page cannot take whole it is told of, and can ask for in part.
#[test]
fn an_event_that_is_too_long_for_a_page_is_a_gap() {
    #[derive(Record)]
    struct Field {
        step: u64,
        cells: Vec<u8>,
    }
    let mut stage = Stage::<Field>::of();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0}));
    stage.source.wait_for_sinks(1, PATIENCE).unwrap();
    stage.source.submit(&Field { step: 0, cells: vec![7; 9 << 20] }).unwrap();
    stage.source.submit(&Field { step: 1, cells: vec![7; 7 << 20] }).unwrap();
    let entries = page.entries(1, |all| records(all).count() == 1);
    let gap = entries.iter().find(|entry| entry.kind == 3).unwrap();
    assert_eq!((gap.sequence, &gap.content[..8]), (0, &1_u64.to_le_bytes()[..]));
    assert_eq!(str::from_utf8(&gap.content[8..]).unwrap(), "longer than the sink takes");
    page.say(&json!({"unsubscribe": 1}));
    while stage.source.ledger().iter().any(|sink| sink.present) {
        std::thread::yield_now();
    }
    page.say(&json!({"subscribe": 2, "place": 0, "query": "select step"}));
    stage.source.wait_for_sinks(1, PATIENCE).unwrap();
    stage.source.submit(&Field { step: 2, cells: vec![7; 9 << 20] }).unwrap();
    let entries = page.entries(2, |all| records(all).count() == 1);
    assert_eq!(records(&entries).next().unwrap().sequence, 2);
}

#[test]
fn the_latest_event_alone_comes_now_and_then() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0, "latest": 50}));
    stage.submit(10_000);
    let last = |all: &[Entry]| all.iter().any(|entry| entry.kind == 2 && entry.sequence == 9_999);
    let entries = page.entries(1, last);
    assert!(records(&entries).count() < 5_000, "most are passed over");
}

#[test]
fn members_and_their_accounts_are_told() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0}));
    stage.submit(10);
    page.entries(1, |all| records(all).count() == 10);
    page.say(&json!({"info": 0}));
    let told = page.text();
    assert_eq!(told["info"], 0);
    assert_eq!((&told["sources"][0]["submitted"], &told["sources"][0]["format"]), (&json!(10), &json!("Gauge")));
    assert_eq!(told["sources"][0]["sinks"].as_array().unwrap().len(), 1);
    // Who comes later learns how many were before.
    page.say(&json!({"subscribe": 2, "place": 0}));
    stage.source.wait_for_sinks(2, PATIENCE).unwrap();
    let joined = page.entries(2, |all| all.iter().any(|entry| entry.kind == 4));
    let joined: Value = serde_json::from_slice(&joined[0].content).unwrap();
    assert_eq!(joined["earlier"], 10);
    page.say(&json!({"info": 0}));
    let told = page.text();
    let sinks = told["sources"][0]["sinks"].as_array().unwrap();
    assert_eq!(
        sinks.iter().map(|sink| (&sink["earlier"], &sink["here"])).collect::<Vec<_>>(),
        [(&json!(0), &json!(true)), (&json!(10), &json!(true))]
    );
}

#[test]
fn a_page_that_reads_no_answers_is_read_no_longer() {
    const MANY: usize = 3_000_000;
    let stage = Stage::new();
    for question in [json!({"info": 0}), json!({"subscribe": 1, "place": 0, "query": "where nothing > 0"})] {
        let mut page = stage.page();
        page.0.get_ref().set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let text = Message::text(question.to_string());
        assert!((0..MANY).any(|_| page.0.send(text.clone()).is_err()), "{question}");
    }
}

#[test]
fn a_subscription_ends_when_the_page_says_so() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0}));
    stage.source.wait_for_sinks(1, PATIENCE).unwrap();
    page.say(&json!({"unsubscribe": 1}));
    while stage.source.sinks() > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    page.say(&json!({"subscribe": 1, "place": 0}));
    stage.submit(1);
    page.entries(1, |all| records(all).count() == 1);
    // So does the end of the connection.
    drop(page);
    while stage.source.sinks() > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn pages_without_the_key_see_nothing() {
    let stage = Stage::new();
    let host = stage.server.address().to_string();
    let origin = format!("http://{host}");
    let mut almost = stage.key();
    almost.replace_range(31.., if almost.ends_with('0') { "1" } else { "0" });
    for first in
        [json!({"key": almost}), json!({"key": ""}), json!({"key": 7}), json!({"subscribe": 1, "place": 0}), json!([])]
            .into_iter()
            // Nobody reads what is longer than a key.
            .chain([json!({"key": stage.key(), "and": "x".repeat(256)})])
    {
        let mut page = Page(stage.connect(&host, Some(&origin)).unwrap());
        page.say(&first);
        assert_eq!(page.end(), 4401, "{first}");
    }
    let mut page = Page(stage.connect(&host, Some(&origin)).unwrap());
    (0..17).for_each(|_| page.0.send(tungstenite::Message::Ping(Vec::new().into())).unwrap());
    assert_eq!(page.end(), 4401, "it pings, and shows nothing");
}

/// A page that asks again and again must not use up what the node of the server may ask of sources: other pages have it, too.
#[test]
fn a_page_that_subscribes_without_end_is_refused() {
    let mut stage = Stage::new();
    let mut page = stage.page();
    let query = format!("where {} count >= 0", "count >= 0 and ".repeat(200));
    for number in 0..50 {
        page.say(&json!({"subscribe": number, "place": 0, "query": query}));
        page.say(&json!({"unsubscribe": number}));
    }
    let mut refused = 0;
    while refused < 40 {
        let is_budget = |text: Value| text["error"].as_str().is_some_and(|error| error.contains("in a second"));
        refused += usize::from(is_budget(page.text()));
    }
    // One that asks little meanwhile has what it wants.
    let mut other = stage.page();
    other.say(&json!({"subscribe": 1, "place": 0}));
    stage.source.wait_for_sinks(1, PATIENCE).unwrap();
    stage.submit(1);
    other.entries(1, |all| records(all).count() == 1);
}

#[test]
fn pages_of_others_are_turned_away() {
    let stage = Stage::new();
    let port = stage.server.address().port();
    let here = format!("127.0.0.1:{port}");
    for (host, origin) in [
        (&*here, None),
        (&*here, Some("http://example.org".to_string())),
        (&*here, Some("null".to_string())),
        (&*here, Some(format!("https://{here}"))),
        ("example.org", Some("http://example.org".to_string())),
    ] {
        assert!(stage.connect(host, origin.as_deref()).is_err(), "{host} {origin:?}");
    }
    assert!(stage.get("/", "example.org").starts_with("HTTP/1.1 421"));
    // A tunnel has another port, and maybe another name of this machine.
    assert!(stage.connect("localhost:9", Some("http://localhost:9")).is_ok());
}

#[test]
fn pages_that_break_the_rules_are_cut_off() {
    let stage = Stage::new();
    for wrong in [
        Message::text("{"),
        Message::text("{\"subscribe\": 1}"),
        Message::text("{\"subscribe\": 1, \"place\": 1}"),
        Message::text("{\"subscribe\": 4294967296, \"place\": 0}"),
        Message::text("{\"subscribe\": 1, \"place\": 0, \"latest\": 1}"),
        Message::text("{\"info\": 1}"),
        Message::text("{\"what\": 1}"),
        Message::binary(vec![0; 8]),
    ] {
        let mut page = stage.page();
        page.0.send(wrong.clone()).unwrap();
        assert_eq!(page.end(), 4400, "{wrong:?}");
    }
    let mut page = stage.page();
    for number in 0..65 {
        page.say(&json!({"subscribe": number, "place": 0, "latest": 10_000}));
    }
    assert_eq!(page.end(), 4400, "too many subscriptions");
    // The longest text is read, and a longer one is refused, by the code that everybody uses for it.
    for (length, code) in [(65_536, 4400), (65_537, 1009), (1_000_000, 1009)] {
        let mut page = stage.page();
        page.0.send(Message::text("x".repeat(length))).unwrap();
        assert_eq!(page.end(), code, "{length}");
    }
    let mut page = stage.page();
    let _ = page.0.send(Message::text("x".repeat(8 << 20)));
    while page.0.read().is_ok() {}
}

/// A number that is no whole one, or too large, is refused; it is not as good as none.
#[test]
fn numbers_of_pages_are_whole() {
    let stage = Stage::new();
    let of = |text: &str| format!("{{\"subscribe\": 1, \"place\": 0, {text}}}");
    for wrong in [
        of("\"latest\": 1e300"),
        of("\"latest\": 100.5"),
        of("\"latest\": -100"),
        of("\"latest\": \"100\""),
        of("\"latest\": 18446744073709551616"),
        of("\"query\": 7"),
        of("\"points\": 1000000000000000000"),
        of("\"from\": 1e300, \"to\": 1e300"),
        of("\"at\": 1.5"),
        "{\"subscribe\": 1e300, \"place\": 0}".into(),
        "{\"subscribe\": 1, \"place\": 1e300}".into(),
        "{\"subscribe\": 1, \"place\": 0.5}".into(),
        "{\"unsubscribe\": 1.5}".into(),
        "{\"info\": -1}".into(),
    ] {
        let mut page = stage.page();
        page.0.send(Message::text(wrong.clone())).unwrap();
        assert_eq!(page.end(), 4400, "{wrong}");
    }
    let mut page = stage.page();
    page.say(&json!({"subscribe": 1, "place": 0, "latest": null, "query": null}));
    page.say(&json!({"info": 0}));
    while page.text().get("info").is_none() {}
}

/// Of two headers, a proxy may look at the one and this server at the other.
#[test]
fn two_hosts_or_origins_are_refused() {
    let stage = Stage::new();
    let here = stage.server.address().to_string();
    #[cfg(feature = "files")]
    let viewers = stage.server.viewers_url();
    #[cfg(not(feature = "files"))]
    let viewers: Option<String> = None;
    let paths = ["/", "/events"].map(str::to_owned).into_iter();
    for path in paths.chain(viewers.iter().map(|url| url[url.rfind("/viewers").unwrap()..].to_owned())) {
        for headers in [
            format!("Host: {here}\r\nHost: {here}"),
            format!("Host: {here}\r\nHost: example.org"),
            format!("Host: example.org\r\nHost: {here}"),
            format!("Host: {here}\r\nOrigin: http://{here}\r\nOrigin: http://example.org"),
            format!("Host: {here}\r\nOrigin: http://example.org\r\nOrigin: http://{here}"),
        ] {
            let mut stream = TcpStream::connect(stage.server.address()).unwrap();
            let upgrade =
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
            write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\nConnection: close, Upgrade\r\n{upgrade}\r\n\r\n")
                .unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 400"), "{path} {headers}: {}", String::from_utf8_lossy(&answer));
        }
    }
    let answer = stage.get("http://example.org/", &here);
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    let answer = stage.get(&format!("http://{here}/"), &here);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn the_page_has_its_files_and_a_strict_policy() {
    let stage = Stage::new();
    let host = stage.server.address().to_string();
    let answer = stage.get("/", &host);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("script-src 'self' 'wasm-unsafe-eval';") && answer.contains("default-src 'none'"),
        "{answer}"
    );
    let files = ["style.css", "main.js", "worker.js", "core.wasm", "uplot.js", "uplot.css", "icon.svg"];
    for file in files {
        assert!(stage.get(&format!("/{file}"), &host).starts_with("HTTP/1.1 200"), "{file}");
    }
    for none in ["/nothing", "/../Cargo.toml", "/page/main.js", "/%2e%2e/main.js"] {
        assert!(stage.get(none, &host).starts_with("HTTP/1.1 404"), "{none}");
    }
}

#[test]
fn only_this_machine_is_served() {
    let error = start("0.0.0.0:0".parse().unwrap(), Vec::<Channel>::new()).unwrap_err();
    assert_eq!(error.code(), isoform::Code::Insecure);
}

#[test]
fn connections_without_the_key_keep_no_page_out() {
    let stage = Stage::new();
    let host = stage.server.address().to_string();
    let origin = format!("http://{host}");
    // As many as there may be pages, which show no key, and more that ask nothing or do not end their question.
    let _strangers: Vec<_> = (0..40).map(|_| stage.connect(&host, Some(&origin)).unwrap()).collect();
    let silent: Vec<_> = (0..300)
        .map(|index| {
            let mut stream = TcpStream::connect(stage.server.address()).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            if index % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            }
            stream
        })
        .collect();
    let _page = stage.page();
    // The oldest have been closed: their number has a limit. Both ways to close a connection end the wait.
    let mut oldest = &silent[0];
    let _ = oldest.read(&mut [0; 1]);
    // Pages have a limit of their own.
    let _pages: Vec<_> = (0..31).map(|_| stage.page()).collect();
    let mut page = Page(stage.connect(&host, Some(&origin)).unwrap());
    page.say(&json!({"key": stage.key()}));
    assert_eq!(page.end(), 4429);
}
