//! Bodies of HTTP requests to a format service: whatever they are, the answer is a success or a problem of the client, what was stored stays as
//! it was, and what was accepted is whole.

use crate::parts::Parts;
use isoform::Token;
use isoform::core::{Layout, Resolver, Shape};
use isoform::{Format, text};
use isoform_service::Servers;
use isoform_service::server::{Options, Server, start};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

/// What a body is sent to: method, path, type.
pub const DOORS: [(&str, &str, &str); 8] = [
    ("PUT", "/formats", "application/octet-stream"),
    ("PUT", "/formats", "application/json"),
    ("POST", "/names/river/check", "application/json"),
    ("POST", "/names/river/versions", "application/json"),
    ("POST", "/names/new/versions", "application/json"),
    ("PUT", "/names/river/prose", "application/json"),
    ("PUT", "/names/river/rule", "application/json"),
    ("DELETE", "/names/river/versions/1", "application/json"),
];

const SHAPE: &str = "record Point\n  x  double  unit=\"m\"\n  y  double\nrecord River\n  n  int\n  points  Point[n]\n  name  string\n  state  enum { DRY = 0, WET = 5 }\n";

/// The format that is stored before: for this kind of machine.
pub fn river(layout: &Layout) -> Format {
    Shape::parse(SHAPE).and_then(|shape| shape.on(layout)).expect("a shape")
}

/// The version that is stored before.
pub fn version() -> Value {
    let token = river(&Layout::S390X).token().to_string();
    json!({ "formats": [token], "rules": { "River": { "n": { "aliases": ["count"], "default": 7 } } } })
}

/// The input is a byte for the door, one for how the body is sent, and bodies that come behind each other, each of which is one part.
pub fn check(input: &[u8]) {
    let mut parts = Parts::of(input);
    let (door, how) = (parts.byte(), parts.byte());
    let server = start(Options::in_memory().listen(([127, 0, 0, 1], 0).into())).expect("a server");
    let servers = Servers::new([server.url()]).expect("its URL");
    let stored = [Layout::S390X, Layout::X86_64].map(|layout| river(&layout));
    stored.iter().for_each(|format| servers.put(format).expect("room for it"));
    assert_eq!(servers.add_version("river", &version()).expect("an answer"), Ok(1));
    let before = servers.name("river").expect("a name");
    for number in 0.. {
        let body = parts.part();
        if number > 0 && body.is_empty() {
            break;
        }
        let (method, path, kind) = DOORS[usize::from(door.wrapping_add(number)) % DOORS.len()];
        let (status, answer) = send(&server, method, path, kind, body, how);
        let answer: Value = serde_json::from_slice(&answer).expect("every answer is JSON");
        match status {
            200 | 201 if path == "/formats" => taken(&servers, &answer),
            200 | 201 => {}
            400 | 404 | 409 | 413 => {
                assert_eq!(answer["status"], status, "{answer}");
                assert!(answer["code"].is_u64() && answer["title"].is_string(), "{answer}");
                // It shows to a person what was wrong, and does not send everything back.
                assert!(status == 409 || answer.to_string().len() < 16 << 10, "{} bytes", answer.to_string().len());
            }
            _ => panic!("{status} to {method} {path}: {answer}"),
        }
    }
    for format in &stored {
        assert_eq!(servers.resolve(format.token()).expect("it stays"), format.description().as_bytes());
    }
    whole(&servers, &before);
}

/// A format that was accepted is there, as the answer says and as JSON.
fn taken(servers: &Servers, answer: &Value) {
    let token: Token = answer["token"].as_str().and_then(|digits| digits.parse().ok()).expect("a token");
    let format = Format::parse(&servers.resolve(token).expect("it is stored")).expect("a format");
    assert_eq!((answer["name"].as_str(), answer["size"].as_u64()), (Some(format.name()), Some(format.size() as u64)));
    let again = text::format::from_json(&text::format::to_json(&format)).expect("its own JSON");
    assert_eq!(again.token(), token);
}

/// All versions can be read, with all of their formats; the first one is as it was, and may be retired at most.
fn whole(servers: &Servers, before: &Value) {
    for name in ["river", "new"] {
        let Ok(state) = servers.name(name) else {
            assert_eq!(name, "new", "a name is lost");
            continue;
        };
        let versions = state["versions"].as_array().expect("versions");
        for (number, version) in (1..).zip(versions) {
            assert_eq!(version["number"], number);
            for token in version["formats"].as_array().expect("formats") {
                let token: Token = token.as_str().and_then(|digits| digits.parse().ok()).expect("a token");
                Format::parse(&servers.resolve(token).expect("it is stored")).expect("a format");
            }
            // With the rules that were accepted, it can be compared.
            let compared = servers.get(&format!("names/{name}/compare?reader={number}&writer={number}"));
            assert!(compared.expect("an answer")["compatible"].is_boolean());
        }
        if name == "river" {
            for part in ["number", "formats", "rules", "registered"] {
                assert_eq!(versions[0][part], before["versions"][0][part], "{part}");
            }
        }
    }
}

/// Sends a body with its length or in chunks, which say how long they are, and returns what comes.
fn send(server: &Server, method: &str, path: &str, kind: &str, body: &[u8], how: u8) -> (u16, Vec<u8>) {
    let size = usize::from(how & 0x7f) + 1;
    let (length, body) = match how {
        0..=127 => (format!("Content-Length: {}", body.len()), body.to_vec()),
        _ => ("Transfer-Encoding: chunked".into(), body.chunks(size).flat_map(chunk).chain(chunk(&[])).collect()),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n{length}\r\n\r\n"
    );
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).expect("it is taken");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let status = std::str::from_utf8(&answer[9..12]).ok().and_then(|status| status.parse().ok()).expect("a status");
    (status, answer.split_off(end + 4))
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}
