//! Viewers that people have: what the server tells them, and who is turned away (`spec/watch.md`).
#![cfg(feature = "files")]

use isoform::{Messages, Record};
use isoform_channel::{Node, Source};
use isoform_watch::{Server, start};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::client::{IntoClientRequest, client_with_config};
use tungstenite::http::HeaderValue;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(60);
const OLD: &str = "foxglove.websocket.v1";
const NEW: &str = "foxglove.sdk.v1";

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Gauge {
    step: i64,
    depth: [f64; 4],
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u32,
}

/// A channel, and a server that shows it.
struct Stage {
    channel: isoform_channel::Channel,
    server: Server,
    _nodes: [Node; 2],
}

impl Stage {
    fn new() -> Stage {
        let node = Node::new().unwrap();
        let channel = node.create_with("river", None).unwrap();
        let other = Node::new().unwrap();
        let watched = other.open(channel.id().to_string()).unwrap();
        let server = start("127.0.0.1:0".parse().unwrap(), vec![watched]).unwrap();
        Stage { channel, server, _nodes: [node, other] }
    }

    fn path(&self) -> String {
        let url = self.server.viewers_url().unwrap();
        url.strip_prefix(&format!("ws://{}", self.server.address())).unwrap().into()
    }

    fn connect(
        &self,
        path: &str,
        host: &str,
        protocols: Option<&str>,
        origin: Option<&str>,
    ) -> tungstenite::Result<Viewer> {
        let stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{host}{path}").into_client_request()?;
        for (name, value) in [("origin", origin), ("sec-websocket-protocol", protocols)] {
            if let Some(value) = value {
                request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        let taking = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, answer) = client_with_config(request, stream, Some(taking)).map_err(|error| match error {
            tungstenite::HandshakeError::Failure(error) => error,
            tungstenite::HandshakeError::Interrupted(_) => unreachable!("the stream blocks"),
        })?;
        let chosen = answer.headers().get("sec-websocket-protocol").map(|name| name.to_str().unwrap().to_string());
        Ok(Viewer { socket, chosen, topics: Vec::new(), told: Vec::new(), data: Vec::new() })
    }

    fn here(&self) -> String {
        self.server.address().to_string()
    }

    /// A viewer that was told of the server.
    fn viewer(&self) -> Viewer {
        let mut viewer = self.connect(&self.path(), &self.here(), Some(OLD), Some("https://viewer.example")).unwrap();
        let hello = viewer.op("serverInfo");
        assert_eq!(hello["capabilities"], json!(["parameters", "parametersSubscribe"]));
        viewer.op("advertise");
        viewer
    }
}

struct Viewer {
    socket: WebSocket<TcpStream>,
    chosen: Option<String>,
    /// What is advertised.
    topics: Vec<Value>,
    /// Texts that nobody has asked for yet, and messages: subscription, time, data.
    told: Vec<Value>,
    data: Vec<(u32, u64, Vec<u8>)>,
}

impl Viewer {
    fn say(&mut self, text: &Value) {
        self.socket.send(Message::text(text.to_string())).unwrap();
    }

    /// Takes one message.
    fn take(&mut self) {
        match self.socket.read().unwrap() {
            Message::Text(text) => {
                let told: Value = serde_json::from_str(&text).unwrap();
                match told["op"].as_str().unwrap() {
                    "advertise" => self.topics.extend(told["channels"].as_array().unwrap().iter().cloned()),
                    "unadvertise" => {
                        let gone = told["channelIds"].as_array().unwrap();
                        assert!(gone.iter().all(|id| self.topics.iter().any(|topic| topic["id"] == *id)), "{told}");
                        self.topics.retain(|topic| !gone.contains(&topic["id"]));
                    }
                    _ => {}
                }
                self.told.push(told);
            }
            Message::Binary(bytes) => {
                assert_eq!(bytes[0], 1);
                let subscription = u32::from_le_bytes(bytes[1..5].try_into().unwrap());
                self.data.push((
                    subscription,
                    u64::from_le_bytes(bytes[5..13].try_into().unwrap()),
                    bytes[13..].to_vec(),
                ));
            }
            _ => {}
        }
    }

    /// The next text of this kind.
    fn op(&mut self, op: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["op"] == op) {
                return self.told.remove(at);
            }
            self.take();
        }
    }

    /// The topic of this name, once it is advertised.
    fn topic(&mut self, name: &str) -> Value {
        loop {
            if let Some(topic) = self.topics.iter().find(|topic| topic["topic"] == name) {
                return topic.clone();
            }
            self.take();
        }
    }

    /// Subscribes to a topic.
    fn subscribe(&mut self, subscription: u32, name: &str) -> Value {
        let topic = self.topic(name);
        self.say(&json!({"op": "subscribe", "subscriptions": [{"id": subscription, "channelId": topic["id"]}]}));
        topic
    }

    /// Takes what the server sends before an answer.
    fn ping(&mut self) {
        self.say(&json!({"op": "getParameters", "parameterNames": [], "id": "ping"}));
        while self.op("parameterValues").get("id") != Some(&json!("ping")) {}
    }

    /// The messages so far, once there are so many.
    fn data(&mut self, count: usize) -> &[(u32, u64, Vec<u8>)] {
        while self.data.len() < count {
            self.take();
        }
        &self.data
    }

    /// The status whose text has this part.
    fn status(&mut self, part: &str) -> Value {
        loop {
            let status = self.op("status");
            if status["message"].as_str().unwrap().contains(part) {
                return status;
            }
        }
    }
}

fn submit(source: &mut Source<Gauge>, steps: std::ops::Range<i64>) {
    source.wait_for_sinks(1, PATIENCE).unwrap();
    for step in steps {
        source.submit(&Gauge { step, depth: [step as f64; 4] }).unwrap();
    }
}

#[test]
fn a_viewer_sees_the_events_of_a_source() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source::<Gauge>().unwrap();
    let topic = viewer.topic("river/0/Gauge");
    assert_eq!((&topic["encoding"], &topic["schemaEncoding"]), (&json!("cdr"), &json!("ros2msg")));
    assert_eq!(
        (&topic["schemaName"], &topic["schema"]),
        (&json!("isoform/msg/Gauge"), &json!("int64 step\nfloat64[4] depth\n"))
    );
    // Nobody has subscribed: the source has no sink.
    assert_eq!(source.sinks(), 0);
    viewer.subscribe(7, "river/0/Gauge");
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    submit(&mut source, 0..1000);
    for (step, (subscription, time, data)) in viewer.data(1000).iter().enumerate() {
        // The record is its own CDR.
        assert_eq!((*subscription, &data[..4], data.len()), (7, &[0, 1, 0, 0][..], 44));
        assert_eq!(data[4..12], (step as i64).to_le_bytes());
        assert_eq!(data[36..], (step as f64).to_le_bytes());
        assert!(u128::from(*time) >= before);
    }
    viewer.say(&json!({"op": "unsubscribe", "subscriptionIds": [7]}));
    while source.sinks() > 0 {
        std::thread::yield_now();
    }
    // The same number for another subscription.
    viewer.data.clear();
    viewer.subscribe(7, "river/0/Gauge");
    submit(&mut source, 1000..1001);
    assert_eq!(viewer.data(1)[0].2[4..12], 1000_i64.to_le_bytes());
    drop(viewer);
    while source.sinks() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn topics_come_and_go_with_sources_and_the_last_events_come_first() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut gauge = stage.channel.source::<Gauge>().unwrap();
    let first = viewer.subscribe(1, "river/0/Gauge");
    let tick = stage.channel.source::<Tick>().unwrap();
    let second = viewer.topic("river/1/Tick");
    assert_ne!(first["id"], second["id"]);
    drop(tick);
    while viewer.topics.len() > 1 {
        viewer.take();
    }
    submit(&mut gauge, 0..500);
    drop(gauge);
    while !viewer.topics.is_empty() {
        viewer.take();
    }
    assert_eq!(viewer.data.len(), 500);
    let _tick = stage.channel.source::<Tick>().unwrap();
    while viewer.topics.is_empty() {
        viewer.take();
    }
    let third = &viewer.topics[0];
    assert_eq!(third["schemaName"], "isoform/msg/Tick");
    assert!(![&first["id"], &second["id"]].contains(&&third["id"]), "numbers are not used again");
}

#[test]
fn a_source_that_has_declared_no_format_is_asked_for_one_event() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source_builder().build::<Messages>().unwrap();
    source.wait_for_sinks(1, PATIENCE).unwrap();
    let body = |step: i64| [step.to_ne_bytes().as_slice(), &[0; 32]].concat();
    source.submit_body(Gauge::format(), &body(0)).unwrap();
    viewer.topic("river/0/Gauge");
    while source.sinks() > 0 {
        std::thread::yield_now();
    }
    viewer.subscribe(1, "river/0/Gauge");
    source.wait_for_sinks(1, PATIENCE).unwrap();
    source.submit_body(Gauge::format(), &body(1)).unwrap();
    // A format that comes later is a topic of its own, of the same subscription of the source.
    source.submit_body(Tick::format(), &[1; 4]).unwrap();
    viewer.subscribe(2, "river/0/Tick");
    loop {
        source.submit_body(Tick::format(), &[1; 4]).unwrap();
        viewer.ping();
        if viewer.data.iter().any(|(subscription, ..)| *subscription == 2) {
            break;
        }
    }
    let of = |wanted| viewer.data.iter().filter(move |(subscription, ..)| *subscription == wanted).collect::<Vec<_>>();
    assert_eq!((of(1).len(), &of(1)[0].2[4..12]), (1, &1_i64.to_le_bytes()[..]));
    assert_eq!(of(2).last().unwrap().2, [0, 1, 0, 0, 1, 1, 1, 1]);
    // Without the first, the source still has the sink; without both, it has none.
    viewer.say(&json!({"op": "unsubscribe", "subscriptionIds": [1, 2]}));
    while source.sinks() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn two_formats_of_one_name_are_two_topics() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source_builder().build::<Messages>().unwrap();
    let shapes = ["record Tick\n  count i32", "record Tick\n  count i64"];
    let formats = shapes.map(|shape| {
        isoform::core::Shape::parse(shape).unwrap().all_on(&isoform::core::Layout::X86_64).unwrap().remove(0)
    });
    source.wait_for_sinks(1, PATIENCE).unwrap();
    source.submit_body(&formats[0], &[0; 4]).unwrap();
    viewer.subscribe(1, "river/0/Tick");
    // The subscription begins some time after it is asked for.
    while viewer.topics.len() < 2 {
        source.submit_body(&formats[1], &[0; 8]).unwrap();
        viewer.ping();
    }
    assert_eq!(viewer.topic("river/0/Tick/2")["schema"], "int64 count\n");
}

#[test]
fn a_viewer_that_does_not_keep_up_is_told_what_it_lost_and_holds_nobody() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source::<Gauge>().unwrap();
    viewer.subscribe(1, "river/0/Gauge");
    source.wait_for_sinks(1, PATIENCE).unwrap();
    // Far more than connections and queues hold, while the viewer takes nothing. The source never waits for it: this ends.
    const EVENTS: i64 = 500_000;
    submit(&mut source, 0..EVENTS);
    drop(source);
    while !viewer.topics.is_empty() {
        viewer.take();
    }
    let lost: Vec<&Value> = viewer.told.iter().filter(|told| told["id"] == "lost river/0").collect();
    let last = lost.last().expect("it is told")["message"].as_str().unwrap();
    let count: i64 = last.strip_prefix("river/0: ").unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(last.contains(": the sink was too slow)"), "{last}");
    assert_eq!(viewer.data.len() as i64 + count, EVENTS, "each event came or is told as lost");
}

#[test]
fn what_viewers_cannot_take_is_told_with_its_cause() {
    #[derive(Record)]
    struct Field {
        step: u64,
        cells: Vec<u8>,
    }
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source::<Field>().unwrap();
    viewer.subscribe(1, "river/0/Field");
    source.wait_for_sinks(1, PATIENCE).unwrap();
    source.submit(&Field { step: 0, cells: vec![7; 9 << 20] }).unwrap();
    source.submit(&Field { step: 1, cells: vec![7; 7 << 20] }).unwrap();
    assert_eq!(viewer.status("lost")["message"], "river/0: 1 lost (1: longer than the sink takes)");
    assert_eq!(viewer.data(1)[0].2[4..12], 1_u64.to_le_bytes());
}

#[test]
fn parameters_are_listed_and_set() {
    #[derive(Record, Debug, PartialEq)]
    struct Detail {
        level: i64,
        scale: f64,
        quantity: String,
    }
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let defaults = Detail { level: 5, scale: 1.0, quantity: "depth".into() };
    let source = stage.channel.source_builder().parameters(&defaults).unwrap();
    let source = source.build::<Gauge>().unwrap();
    viewer.say(&json!({"op": "subscribeParameterUpdates", "parameterNames": []}));
    viewer.subscribe(1, "river/0/Gauge");
    let all = |level: i64| {
        json!([
            {"name": "river/0/level", "value": level},
            {"name": "river/0/quantity", "value": "depth"},
            {"name": "river/0/scale", "value": 1.0, "type": "float64"},
        ])
    };
    let sorted = |mut told: Value| {
        let list = told["parameters"].as_array_mut().unwrap();
        list.sort_by_key(|one| one["name"].as_str().unwrap().to_string());
        told
    };
    let told = sorted(viewer.op("parameterValues"));
    assert_eq!((&told["parameters"], told.get("id")), (&all(5), None));
    viewer.say(&json!({"op": "getParameters", "parameterNames": ["river/0/scale", "else"], "id": "a"}));
    let told = viewer.op("parameterValues");
    assert_eq!((&told["id"], told["parameters"].as_array().unwrap().len()), (&json!("a"), 1));
    viewer.say(&json!({"op": "setParameters", "parameters": [{"name": "river/0/level", "value": 2}], "id": "b"}));
    let told = sorted(viewer.op("parameterValues"));
    assert_eq!((&told["parameters"], &told["id"]), (&all(2), &json!("b")));
    let demands = source.new_demands(PATIENCE).unwrap().unwrap_or_default();
    assert!(demands.iter().chain(&source.demands()).any(|one| one.values.to::<Detail>().unwrap().level == 2));
    for (name, value, part) in [
        ("river/0/else", json!(1), "no parameter else"),
        ("lake/0/level", json!(1), "no parameter lake/0/level"),
        ("river/0/level", json!("much"), "level"),
    ] {
        viewer.say(&json!({"op": "setParameters", "parameters": [{"name": name, "value": value}]}));
        viewer.status(part);
    }
}

#[test]
fn only_those_with_the_key_and_the_protocol_are_viewers() {
    let stage = Stage::new();
    let (path, here) = (stage.path(), stage.here());
    let mut almost = path.clone();
    almost.replace_range(almost.len() - 1.., if almost.ends_with('0') { "1" } else { "0" });
    let page = stage.server.url().split_once("#key=").unwrap().1.to_string();
    let refusal = |path: &str, host: &str, protocols| match stage.connect(
        path,
        host,
        protocols,
        Some("https://viewer.example"),
    ) {
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{path}: {:?}", other.map(|_| ())),
    };
    for (path, status) in [
        (almost.as_str(), 403),
        ("/viewers/", 404),
        ("/viewers", 404),
        ("/", 200),
        ("/viewers/%00", 403),
        (&format!("/viewers/{page}"), 403),
        (&format!("{path}0"), 403),
        (&format!("/viewers/{}", "x".repeat(8000)), 403),
    ] {
        assert_eq!(refusal(path, &here, Some(OLD)), status, "{path}");
    }
    assert_eq!(refusal(&path, &here, None), 400);
    assert_eq!(refusal(&path, &here, Some("foxglove.websocket.v0, chat")), 400);
    assert_eq!(refusal(&path, "example.org", Some(OLD)), 421);
    for (asked, chosen) in [(NEW, NEW), (OLD, OLD), ("chat, foxglove.websocket.v1,foxglove.sdk.v1", NEW)] {
        let viewer = stage.connect(&path, &here, Some(asked), None).unwrap();
        assert_eq!(viewer.chosen.as_deref(), Some(chosen));
    }
    // The key of viewers opens no page.
    let key = path.rsplit_once('/').unwrap().1;
    assert!(!stage.server.url().contains(key));
}

#[test]
fn the_number_of_viewers_has_a_limit() {
    let stage = Stage::new();
    let mut viewers: Vec<_> = (0..32).map(|_| stage.viewer()).collect();
    assert!(stage.connect(&stage.path(), &stage.here(), Some(OLD), None).is_err());
    viewers.pop();
    while stage.connect(&stage.path(), &stage.here(), Some(OLD), None).is_err() {
        std::thread::yield_now();
    }
}

/// Whatever a viewer says, it is told what is wrong, and the server goes on.
#[test]
fn odd_requests_are_answered_and_change_nothing() {
    let stage = Stage::new();
    let mut viewer = stage.viewer();
    let mut source = stage.channel.source::<Gauge>().unwrap();
    let id = viewer.subscribe(1, "river/0/Gauge")["id"].clone();
    source.wait_for_sinks(1, PATIENCE).unwrap();
    let deep = "[".repeat(60_000);
    for (text, part) in [
        ("", "JSON"),
        ("{", "JSON"),
        (deep.as_str(), "JSON"),
        ("{\"op\": \"\u{0}\"}", "JSON"),
        (r#"{"op": "fly"}"#, "no fly"),
        (
            r#"{"op": "advertise", "channels": [{"id": 1, "topic": "a", "encoding": "json", "schemaName": ""}]}"#,
            "no advertise",
        ),
        (r#"{"op": "subscribe", "subscriptions": [{"id": 2, "channelId": 4294967295}]}"#, "no channel"),
        (r#"{"op": "subscribe", "subscriptions": [{"id": 2, "channelId": 1e300}]}"#, "subscriptions"),
        (r#"{"op": "unsubscribe", "subscriptionIds": [2, 3, 4]}"#, "no such subscriptions: 3"),
        (r#"{"op": "setParameters", "parameters": [{"name": "river/0/a", "value": {}}]}"#, "no parameter"),
    ] {
        viewer.socket.send(Message::text(text)).unwrap();
        let status = viewer.status(part);
        assert_eq!(status["level"], 1, "{text}");
    }
    for (subscription, part) in [(1, "already"), (2, "already")] {
        viewer.say(&json!({"op": "subscribe", "subscriptions": [{"id": subscription, "channelId": id}]}));
        viewer.status(part);
    }
    let names: Vec<String> = (0..1025).map(|number| number.to_string()).collect();
    viewer.say(&json!({"op": "subscribeParameterUpdates", "parameterNames": names}));
    viewer.status("at most 1024");
    viewer.socket.send(Message::binary(vec![1; 100])).unwrap();
    viewer.status("no messages");
    submit(&mut source, 0..10);
    assert_eq!(viewer.data(10).len(), 10);
    // A text that is too long ends the connection, and no other one.
    let mut other = stage.viewer();
    let _ = other.socket.send(Message::text(" ".repeat(70_000)));
    while other.socket.read().is_ok() {}
    submit(&mut source, 10..20);
    viewer.data(20);
}

/// Texts that viewers send, with bytes changed, left out and repeated: the server answers what follows as before.
#[test]
fn mutants_of_requests_do_no_harm() {
    let stage = Stage::new();
    let mut source = stage.channel.source::<Gauge>().unwrap();
    let mut viewer = stage.viewer();
    let id = viewer.topic("river/0/Gauge")["id"].clone();
    let requests = [
        json!({"op": "subscribe", "subscriptions": [{"id": 1, "channelId": id}, {"id": 2, "channelId": 9}]}),
        json!({"op": "unsubscribe", "subscriptionIds": [1, 2]}),
        json!({"op": "getParameters", "parameterNames": ["river/0/a"], "id": "b"}),
        json!({"op": "setParameters", "parameters": [{"name": "river/0/a", "value": [1, 2.5]}], "id": "b"}),
        json!({"op": "subscribeParameterUpdates", "parameterNames": ["a"]}),
        json!({"op": "unsubscribeParameterUpdates", "parameterNames": []}),
    ]
    .map(|request| request.to_string());
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    for round in 0..3000 {
        let mut text: Vec<char> = requests[next(requests.len())].chars().collect();
        for _ in 0..=next(3) {
            if text.is_empty() {
                break;
            }
            let at = next(text.len());
            match next(4) {
                0 => text[at] = ['"', '{', ']', '9', '-', 'e', '\u{fe}', ':'][next(8)],
                1 => _ = text.remove(at),
                2 => text.truncate(at.max(1)),
                _ => {
                    let part = text[at..].to_vec();
                    text.extend(part);
                }
            }
        }
        viewer.socket.send(Message::text(text.into_iter().collect::<String>())).unwrap();
        if round % 100 == 99 {
            // Answers are taken, so that none waits for the connection.
            viewer.say(&json!({"op": "getParameters", "parameterNames": [], "id": format!("round {round}")}));
            while viewer.op("parameterValues").get("id") != Some(&json!(format!("round {round}"))) {}
        }
    }
    drop(viewer);
    while source.sinks() > 0 {
        std::thread::yield_now();
    }
    let mut viewer = stage.viewer();
    viewer.subscribe(1, "river/0/Gauge");
    submit(&mut source, 0..10);
    viewer.data(10);
}
