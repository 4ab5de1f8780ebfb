//! The server as clients see it: formats, names, who may do what, replicas, and what is refused.

use isoform_core::text::format;
use isoform_core::{Code, Format, Layout, Resolver, Shape, Token};
use isoform_service::server::{Options, Server, start};
use isoform_service::{Cache, Exported, Search, Servers};
use isoform_testing::mutate::{Random, mutate_text};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn options(folder: &Path) -> Options {
    Options::new(folder.join("formats.redb")).listen("127.0.0.1:0".parse().unwrap()).every(Duration::from_millis(20))
}

fn running() -> (TempDir, Server, Servers) {
    let folder = folder();
    let server = start(options(folder.path())).unwrap();
    let client = Servers::new([server.url()]).unwrap();
    (folder, server, client)
}

fn river(fields: &[&str]) -> Format {
    fields.iter().fold(Shape::new("River"), |shape, field| shape.field(*field, "int")).on(&Layout::NATIVE).unwrap()
}

fn declaration(format: &Format) -> Value {
    json!({ "formats": [format.token().to_string()] })
}

/// The status, headers and body of an answer to a request that is written as it is.
fn raw(server: &Server, request: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head, answer.get(end + 4..).unwrap_or_default().to_vec())
}

fn get(server: &Server, path: &str) -> (u16, String, Vec<u8>) {
    raw(server, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
}

fn put(server: &Server, path: &str, kind: &str, body: &[u8]) -> (u16, Value) {
    let length = body.len();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    let (status, _, answer) = raw(server, &[head.as_bytes(), body].concat());
    (status, serde_json::from_slice(&answer).unwrap())
}

#[test]
fn formats_are_stored_and_resolved() {
    let (folder, server, client) = running();
    let format = river(&["step", "depth"]);
    let token = format.token();
    assert_eq!(client.resolve(token).unwrap_err().token(), Some(token));
    let (status, answer) = put(&server, "/formats", "application/octet-stream", format.description().as_bytes());
    assert_eq!((status, &answer["token"], &answer["name"]), (201, &json!(token.to_string()), &json!("River")));
    let (status, again) = put(&server, "/formats", "application/json", format::to_json(&format).as_bytes());
    assert_eq!((status, again), (200, answer));
    let cache = Cache::new(folder.path().join("cache"));
    let search = Search::new().cache(cache.clone()).then(client);
    assert_eq!(search.resolve(token).unwrap(), format.description().as_bytes());
    drop(search);
    assert_eq!(cache.get(token).unwrap(), format.description().as_bytes());

    let (status, head, body) = get(&server, &format!("/formats/{token}"));
    assert_eq!((status, &*body), (200, format.description().as_bytes()));
    for header in [
        "cache-control: public, max-age=31536000, immutable",
        "application/octet-stream",
        &format!("etag: \"{token}\""),
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let (_, head, body) = get(&server, &format!("/formats/{token}.json"));
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(format::from_json(std::str::from_utf8(&body).unwrap()).unwrap(), format);
    let digits = token.to_string();
    let hyphens = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
    for guid in [&digits, &hyphens] {
        let (_, _, body) = get(&server, &format!("/schemas/guids/{guid}"));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&answer["guid"], &answer["schemaType"]), (&json!(hyphens), &json!("ISOFORM")));
        assert_eq!(format::from_json(answer["schema"].as_str().unwrap()).unwrap(), format);
    }
    let (status, head, body) = get(&server, "/formats/00000000000000000000000000000009");
    let problem: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, &problem["code"], &problem["name"]), (404, &json!(400), &json!("UnknownFormat")));
    assert!(head.contains("application/problem+json") && head.contains("cache-control: no-store"), "{head}");
}

#[test]
fn searches_come_in_pages() {
    let (_folder, _server, client) = running();
    let formats: Vec<Format> = (0..5).map(|number| river(&["step", &format!("depth{number}")])).collect();
    formats.iter().for_each(|format| client.put(format).unwrap());
    let (mut found, mut path) = (Vec::new(), "formats?field=step&limit=2".to_owned());
    loop {
        let page = client.get(&path).unwrap();
        found.extend(
            page["formats"].as_array().unwrap().iter().map(|format| format["token"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        path = format!("formats?field=step&limit=2&after={next}");
    }
    let mut tokens: Vec<String> = formats.iter().map(|format| format.token().to_string()).collect();
    tokens.sort();
    assert_eq!(found, tokens);
    let one = client.get("formats?name=River&field=depth3").unwrap();
    assert_eq!(one["formats"][0]["token"], formats[3].token().to_string());
    assert_eq!(client.get("formats?name=Lake").unwrap(), json!({ "formats": [] }));
}

#[test]
fn versions_keep_the_rule_of_their_name() {
    let (_folder, server, client) = running();
    let (one, two) = (river(&["step", "a"]), river(&["step", "a", "b"]));
    client.put(&one).unwrap();
    client.put(&two).unwrap();
    assert_eq!(client.get("names/river").unwrap_err().code(), Code::NoSuchName);
    let added = client.send("POST", "names/river/versions", &declaration(&one)).unwrap();
    assert_eq!(added, json!({ "version": 1 }));
    // What the check says holds for the version, and the check stores nothing.
    for path in ["names/river/check", "names/river/versions"] {
        let error = client.send("POST", path, &declaration(&two)).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::NotCompatible, "b"), "{path}");
    }
    let mut with_default = declaration(&two);
    with_default["rules"] = json!({ "River": { "b": { "default": {} } } });
    assert_eq!(client.send("POST", "names/river/check", &with_default).unwrap(), json!({ "compatible": true }));
    assert_eq!(client.get("names/river").unwrap()["versions"].as_array().unwrap().len(), 1);
    assert_eq!(client.send("POST", "names/river/versions", &with_default).unwrap(), json!({ "version": 2 }));
    assert_eq!(client.send("POST", "names/river/versions", &with_default).unwrap(), json!({ "version": 2 }));
    // The refusal is explained, with the plan.
    let body = declaration(&two).to_string();
    client.send("PUT", "names/river/rule", &json!({ "rule": "FULL_TRANSITIVE" })).unwrap();
    let head = format!(
        "POST /names/river/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (status, _, answer) = raw(&server, &[head.as_bytes(), body.as_bytes()].concat());
    let problem: Value = serde_json::from_slice(&answer).unwrap();
    let refused = &problem["refused"][0];
    assert_eq!((status, &refused["reader"], &refused["writer"]), (409, &json!(3), &json!(1)));
    assert_eq!((&refused["fields"][0]["path"], &refused["fields"][0]["error"]), (&json!("b"), &json!("Required")));
    assert!(refused["explained"].as_str().unwrap().contains("missing"), "{refused}");
    // Retired versions no longer count, and can still be read.
    client.send("DELETE", "names/river/versions/1", &Value::Null).unwrap();
    assert_eq!(client.get("names/river/versions/1").unwrap()["retired"], json!(true));
    assert_eq!(client.get("names/river/versions/latest").unwrap()["number"], json!(2));
    assert_eq!(client.send("POST", "names/river/check", &declaration(&two)).unwrap(), json!({ "compatible": true }));
    assert_eq!(client.get("names/river/versions/9").unwrap_err().code(), Code::NoSuchName);
    client.send("PUT", "names/river/prose", &json!({ "about": "levels", "fields": { "step": "a count" } })).unwrap();
    assert_eq!(client.get("names/river").unwrap()["prose"]["fields"]["step"], "a count");
    assert_eq!(client.get("names?prefix=ri").unwrap()["names"][0]["latest"], 2);
    assert_eq!(client.get("names/gro%C3%9Fer%20fluss").unwrap_err().code(), Code::NoSuchName);
    client.send("POST", "names/gro%C3%9Fer%20fluss/versions", &declaration(&one)).unwrap();
    assert_eq!(client.get("names/gro%C3%9Fer%20fluss").unwrap()["name"], "großer fluss");
}

#[test]
fn two_versions_are_compared_with_the_rules_of_the_reader() {
    let (_folder, server, client) = running();
    let (one, two) = (river(&["step", "a"]), river(&["step", "a", "b"]));
    client.put(&one).unwrap();
    client.put(&two).unwrap();
    client.send("PUT", "names/river/rule", &json!({ "rule": "NONE" })).unwrap();
    let mut with_default = declaration(&two);
    with_default["rules"] = json!({ "River": { "b": { "default": {} } } });
    for version in [&declaration(&one), &declaration(&two), &with_default] {
        client.send("POST", "names/river/versions", version).unwrap();
    }
    let compare = |reader, writer| client.get(&format!("names/river/compare?reader={reader}&writer={writer}")).unwrap();
    assert_eq!(compare(1, 2)["compatible"], true);
    assert_eq!(compare(3, 1)["compatible"], true, "the reader has a default");
    let refused = compare(2, 1);
    assert_eq!((&refused["compatible"], &refused["fields"][0]["path"]), (&json!(false), &json!("b")));
    assert_eq!(refused["reader_format"], two.token().to_string());
    assert!(refused["explained"].as_str().unwrap().contains("missing"), "{refused}");
    for (path, status) in [("reader=1&writer=9", 404), ("reader=1", 400), ("reader=one&writer=1", 400)] {
        assert_eq!(get(&server, &format!("/names/river/compare?{path}")).0, status, "{path}");
    }
    // A name may be any word, also one of the server's.
    client.send("POST", "names/changes/versions", &declaration(&one)).unwrap();
    assert_eq!(client.get("names/changes").unwrap()["name"], "changes");
    for (path, body) in
        [("rule", json!({ "rule": "FULL", "x": 1 })), ("prose", Value::Null), ("prose", json!({ "x": 1 }))]
    {
        assert_eq!(client.send("PUT", &format!("names/river/{path}"), &body).unwrap_err().code(), Code::Text, "{body}");
    }
    assert_eq!(client.get("names/river").unwrap()["rule"], "NONE");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let (_folder, server, _) = running();
    let (status, head, body) = get(&server, "/");
    assert_eq!(status, 200);
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    let text = String::from_utf8(body).unwrap();
    let mut files: Vec<&str> = text.split('"').filter(|word| word.starts_with("page/")).collect();
    files.extend(["page/dom.js", "page/layout.js", "page/compare.js"]);
    for file in files {
        let (status, head, body) = get(&server, &format!("/{file}"));
        assert_eq!((status, head.contains("content-security-policy")), (200, true), "{file}");
        let text = String::from_utf8(body).unwrap().replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("//") || !text.contains("http"), "{file} names another server");
    }
    assert_eq!(get(&server, "/page/other.js").0, 404);
    let (_, head, body) = get(&server, "/openapi.json");
    assert!(head.contains("application/json"), "{head}");
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert!(document["paths"]["/formats/{token}"]["get"].is_object());
}

#[test]
fn what_is_not_understood_is_a_problem_and_changes_nothing() {
    let (_folder, server, client) = running();
    let format = river(&["step"]);
    client.put(&format).unwrap();
    let description = format.description().as_bytes();
    let bodies = [
        ("application/octet-stream", description[..3].to_vec(), 400),
        ("application/octet-stream", vec![0; 70_000], 413),
        ("application/octet-stream", vec![], 400),
        ("application/json", b"{".to_vec(), 400),
        ("application/json", vec![b'['; 100_000], 400),
        ("application/json", [b"[", &b"0,".repeat(300_000)[..], b"0]"].concat(), 413),
        ("application/json", vec![0xff; 10], 400),
        ("application/json", vec![b' '; 2 << 20], 413),
        ("text/plain", description.to_vec(), 415),
    ];
    for (kind, body, expected) in bodies {
        let (status, problem) = put(&server, "/formats", kind, &body);
        assert_eq!((status, problem["status"].as_u64()), (expected, Some(expected.into())), "{kind} {problem}");
        assert!(problem["code"].is_u64() && problem["title"].is_string(), "{problem}");
    }
    let requests = [
        ("GET", "/formats/zz", 400),
        ("GET", "/formats/%ff", 400),
        ("GET", "/formats?after=zz", 400),
        ("GET", "/formats?limit=many", 400),
        ("GET", "/formats?limit=0", 400),
        ("GET", "/formats?limit=1001", 400),
        ("GET", "/formats?colour=red", 400),
        ("GET", "/formats?text=a&name=b", 400),
        ("GET", &format!("/formats?text={}", "a".repeat(256)), 400),
        ("GET", &format!("/names?text={}", "a".repeat(256)), 400),
        ("GET", "/formats?a=%ff&a", 400),
        ("GET", "/names/x", 404),
        ("GET", "/names/x/versions/latest", 404),
        ("DELETE", "/names/x/versions/1", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/page/../../etc/passwd", 404),
        ("POST", "/formats", 405),
        ("PUT", "/names/x/rule", 400),
        ("POST", "/names/x/versions", 400),
        ("POST", "/names/x/check", 400),
    ];
    for (method, path, expected) in requests {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let (status, head, body) = raw(&server, request.as_bytes());
        assert_eq!(status, expected, "{method} {path}");
        assert!(head.contains("application/problem+json"), "{method} {path}: {head}");
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["status"].as_u64(), Some(expected.into()));
    }
    // What says that it is far too long is refused before it comes.
    let announced = b"PUT /formats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n";
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(announced).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    drop(stream);
    // A page of the web can send this through a browser, which says whose page it is.
    let version = declaration(&format).to_string();
    let page = |origin: &str| {
        let head = format!(
            "POST /names/river/versions HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nContent-Type: text/plain\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n",
            server.address(),
            version.len()
        );
        raw(&server, [head.as_bytes(), version.as_bytes()].concat().as_slice()).0
    };
    assert_eq!([page("http://evil.example"), page("null"), page("http://localhost:1")], [403; 3]);
    // Not HTTP: the connection ends, and the server goes on.
    for garbage in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/9.9\r\n\r\n", &[b'a'; 200_000], b"\r\n\r\n", b""] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        _ = stream.write_all(garbage);
        _ = stream.shutdown(std::net::Shutdown::Write);
        _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(client.get("formats").unwrap()["formats"].as_array().unwrap().len(), 1);
    assert_eq!(client.get("names").unwrap(), json!({ "names": [] }));
    assert_eq!(get(&server, "/healthz").0, 200);
    let metrics = String::from_utf8(get(&server, "/metrics").2).unwrap();
    assert!(metrics.contains("\nisoform_formats 1\n"), "{metrics}");
}

#[test]
fn readers_and_writers_show_their_secrets() {
    let folder = folder();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (read, write) = (file("read", "0123456789abcdef-r\n"), file("write", "0123456789abcdef-w"));
    let server = start(options(folder.path()).read_secret(read).write_secret(write)).unwrap();
    let client = |secret: Option<&str>| {
        let client = Servers::new([server.url()]).unwrap();
        secret.map_or(client, |secret| Servers::new([server.url()]).unwrap().bearer(secret).unwrap())
    };
    let format = river(&["step"]);
    assert_eq!(client(None).put(&format).unwrap_err().code(), Code::NotAdmitted);
    assert_eq!(client(Some("0123456789abcdef-r")).put(&format).unwrap_err().code(), Code::Forbidden);
    client(Some("0123456789abcdef-w")).put(&format).unwrap();
    assert_eq!(client(None).resolve(format.token()).unwrap_err().code(), Code::NotAdmitted);
    assert!(client(Some("0123456789abcdef-r")).resolve(format.token()).is_ok());
    for (name, text) in [("short", "secret"), ("long", &*"0123456789abcdef".repeat(4097))] {
        let file = file(name, text);
        assert_eq!(start(options(folder.path()).read_secret(file)).unwrap_err().code(), Code::Io, "{name}");
    }
}

#[test]
fn an_address_beyond_this_machine_needs_tls_and_protection() {
    let folder = folder();
    let beyond = || Options::new(folder.path().join("formats.redb")).listen("0.0.0.0:0".parse().unwrap());
    assert_eq!(start(beyond()).unwrap_err().code(), Code::Insecure);
    assert_eq!(start(beyond().insecure()).unwrap_err().code(), Code::Insecure, "anyone could write");
    let server = start(beyond().insecure().read_only()).unwrap();
    assert_ne!(server.address().port(), 0);
}

#[test]
fn a_used_store_or_address_is_an_error() {
    let (folder, server, _) = running();
    assert_eq!(start(options(folder.path())).unwrap_err().code(), Code::Taken, "the store is in use");
    let taken = Options::new(folder.path().join("other.redb")).listen(server.address());
    assert_eq!(start(taken).unwrap_err().code(), Code::Taken);
}

/// Bodies as they are, and changed by somebody who knows what they are made of: every answer is a success or a problem of the client, and
/// nothing that was stored is lost or changed.
#[test]
fn mutants_of_bodies_are_understood_or_refused() {
    let (_folder, server, client) = running();
    let gauge = Shape::parse(
        "record Point\n x double unit=\"m\"\n y double\nrecord River\n n int\n points Point[n]\n name string\n",
    )
    .unwrap()
    .on(&Layout::NATIVE)
    .unwrap();
    client.put(&gauge).unwrap();
    let (token, as_json) = (gauge.token().to_string(), format::to_json(&gauge));
    let rules = json!({ "River": { "n": { "aliases": ["count"], "default": 7, "required": true } }, "Point": { "x": { "default": {} } } });
    let mut elsewhere = Layout::ALL.iter().map(|layout| gauge.on(layout).unwrap());
    let elsewhere = elsewhere.find(|format| format.token() != gauge.token()).unwrap();
    let inline: Value = serde_json::from_str(&format::to_json(&elsewhere)).unwrap();
    let version = json!({ "formats": [token, inline], "rules": rules }).to_string();
    let prose = json!({ "about": "Rivers", "owner": "us", "fields": { "points.x": "east" } }).to_string();
    let bodies: [(&str, &str, &str, &[u8]); 6] = [
        ("PUT", "/formats", "application/octet-stream", gauge.description().as_bytes()),
        ("PUT", "/formats", "application/json", as_json.as_bytes()),
        ("POST", "/names/river/check", "application/json", version.as_bytes()),
        ("POST", "/names/river/versions", "application/json", version.as_bytes()),
        ("PUT", "/names/river/prose", "application/json", prose.as_bytes()),
        ("PUT", "/names/river/rule", "application/json", br#"{"rule": "NONE"}"#),
    ];
    let mut random = Random::new(16);
    let (mut good, mut refused) = (0, 0);
    for (method, path, kind, body) in bodies {
        // One connection for all, so that an answer which leaves it in disorder is noticed by the next.
        let mut stream = TcpStream::connect(server.address()).unwrap();
        for round in 0..250 {
            let body = match (round, kind) {
                (0, _) => body.to_vec(),
                (_, "application/json") if round % 2 == 0 => mutate_text(body, &mut random),
                _ => mutate_bytes(body, &mut random),
            };
            let length = body.len();
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
            );
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
            let (status, answer) = one_answer(&mut stream);
            match status {
                200 | 201 => good += 1,
                400 | 404 | 409 | 413 => {
                    refused += 1;
                    let problem: Value = serde_json::from_slice(&answer).unwrap();
                    assert_eq!(problem["status"], status, "{problem}");
                }
                _ => panic!("{method} {path}: {status} to {:?}", String::from_utf8_lossy(&body)),
            }
            assert!(round > 0 || status < 300, "{method} {path}: {status} {}", String::from_utf8_lossy(&answer));
        }
    }
    assert!(good > 100 && refused > 500, "{good} accepted, {refused} refused");
    assert_eq!(client.resolve(gauge.token()).unwrap(), gauge.description().as_bytes());
    // Whatever was accepted is whole.
    let versions = client.get("names/river").unwrap()["versions"].as_array().unwrap().len();
    for number in 1..=versions {
        for token in client.version("river", Some(number as u64)).unwrap()["formats"].as_array().unwrap() {
            client.resolve(token.as_str().unwrap().parse().unwrap()).unwrap();
        }
    }
}

/// One byte changed, doubled or left out, or all behind it.
fn mutate_bytes(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, bytes[at]),
        _ => bytes[at] ^= 1 << random.below(8),
    }
    bytes
}

/// Reads an answer from a connection that goes on.
fn one_answer(stream: &mut TcpStream) -> (u16, Vec<u8>) {
    let (mut bytes, mut room) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut room).unwrap();
        assert!(count > 0, "the connection ends after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&room[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if bytes.len() >= end + 4 + length.parse::<usize>().unwrap() {
            return (head[9..12].parse().unwrap(), bytes.split_off(end + 4));
        }
    }
}

/// Waits until something holds. Five minutes are more than any machine needs.
fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !what() {
        assert!(Instant::now() < end, "this never came to hold");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn replicas_have_everything_in_the_end() {
    let folders: Vec<TempDir> = (0..3).map(|_| folder()).collect();
    let first = start(options(folders[0].path())).unwrap();
    // The URL of the writer may have a user and a password. Others are told where to go, and not those.
    let writer = first.url().replace("http://", "http://user:secret@");
    let second = start(options(folders[1].path()).peer(first.url()).names_from(writer)).unwrap();
    // The third one knows the second alone, and gets names by way of it.
    let third = start(options(folders[2].path()).peer(second.url()).names_from(second.url())).unwrap();
    let client = |server: &Server| Servers::new([server.url()]).unwrap();
    let formats: Vec<Format> = (0..40).map(|number| river(&["step", &format!("f{number}")])).collect();
    formats.iter().for_each(|format| client(&first).put(format).unwrap());
    client(&first).send("POST", "names/river/versions", &declaration(&formats[7])).unwrap();
    until(|| formats.iter().rev().all(|format| client(&third).resolve(format.token()).is_ok()));
    until(|| client(&third).get("names/river").is_ok());
    assert_eq!(client(&third).get("names/river").unwrap(), client(&first).get("names/river").unwrap());
    let error = client(&second).send("PUT", "names/river/rule", &json!({ "rule": "NONE" })).unwrap_err();
    assert_eq!((error.code(), error.expectation()), (Code::NotWriter, &*first.url()));
    // The first one comes back empty, at the same address, and everyone learns what it has now.
    let address = first.address();
    drop(first);
    let new = folder();
    let first = loop {
        match start(Options::new(new.path().join("formats.redb")).listen(address)) {
            Ok(server) => break server,
            Err(error) => assert_eq!(error.code(), Code::Taken),
        }
    };
    let later = river(&["later"]);
    client(&first).put(&later).unwrap();
    until(|| client(&third).resolve(later.token()).is_ok());
    assert!(client(&third).resolve(formats[0].token()).is_ok());
}

#[test]
fn of_three_servers_any_one_is_enough() {
    let (_folder, server, client) = running();
    let format = river(&["step"]);
    client.put(&format).unwrap();
    // One that refuses connections, one that accepts them and says nothing, one that lies.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let liar = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let lies = liar.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in liar.incoming().flatten() {
            let mut stream = stream;
            _ = stream.read(&mut [0; 4096]);
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let urls = ["http://127.0.0.1:1".to_owned(), format!("http://{lies}"), silent_url, server.url()];
    let several = Servers::new(urls).unwrap().deadline(Duration::from_secs(2));
    assert_eq!(several.resolve(format.token()).unwrap(), format.description().as_bytes());
    assert_eq!(
        several.resolve(Token::from_bytes([9; 16])).unwrap_err().code(),
        Code::Io,
        "one of the others may know it"
    );
}

/// A server that one names must not lead to hosts that one did not name.
#[test]
fn redirects_are_not_followed() {
    let format = river(&["step"]);
    let beyond = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    beyond.set_nonblocking(true).unwrap();
    let to = format!("http://{}/formats/{}", beyond.local_addr().unwrap(), format.token());
    for code in [301, 302, 303, 307, 308] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer =
            format!("HTTP/1.1 {code} Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let length = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            length
        });
        let servers = Servers::new([url]).unwrap().deadline(Duration::from_secs(20));
        let error = servers.resolve(format.token()).unwrap_err();
        assert!(matches!(error.code(), Code::Io | Code::UnknownFormat), "{code}: {error}");
        assert!(asked.join().unwrap() > 0, "{code}: it was asked");
        let came = beyond.accept().map_err(|error| error.kind());
        assert_eq!(came.unwrap_err(), std::io::ErrorKind::WouldBlock, "{code}: nobody came to the other host");
    }
}

#[test]
fn an_export_writes_what_the_tree_lacks() {
    let (folder, _server, client) = running();
    let tree = folder.path().join("tree");
    assert_eq!(client.export(&tree).unwrap(), Exported::default());
    let formats: Vec<Format> = (0..5).map(|number| river(&[&format!("f{number}")])).collect();
    formats[..4].iter().for_each(|format| client.put(format).unwrap());
    assert_eq!(client.export(&tree).unwrap(), Exported { formats: 4, new: 4 });
    client.put(&formats[4]).unwrap();
    let file = |format: &Format| tree.join("formats").join(format.token().to_string());
    std::fs::write(file(&formats[0]), b"damaged").unwrap();
    std::fs::remove_file(file(&formats[1]).with_extension("json")).unwrap();
    let json = std::fs::read(file(&formats[3]).with_extension("json")).unwrap();
    std::fs::write(file(&formats[2]).with_extension("json"), &json).unwrap();
    std::fs::write(file(&formats[3]).with_extension("json"), &json[..json.len() - 1]).unwrap();
    assert_eq!(client.export(&tree).unwrap(), Exported { formats: 5, new: 2 });
    for format in &formats {
        assert_eq!(std::fs::read(file(format)).unwrap(), format.description().as_bytes());
        let json = std::fs::read_to_string(file(format).with_extension("json")).unwrap();
        assert_eq!(format::from_json(&json).unwrap(), *format);
    }
    assert_eq!(std::fs::read_dir(tree.join("formats")).unwrap().count(), 10, "nothing else is left there");
    assert_eq!(client.export(&tree.join("formats").join("x").join(file(&formats[0]))).unwrap_err().code(), Code::Io);
}

#[test]
fn a_tree_of_files_is_a_server() {
    // What any web server does with a folder: the file of the path, or 404.
    let folder = folder();
    let format = river(&["step"]);
    let cache = Cache::new(folder.path().join("formats"));
    assert!(cache.put(format.token(), format.description().as_bytes()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/static", listener.local_addr().unwrap());
    let root = folder.path().to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or("").strip_prefix("/static/").unwrap_or("").to_owned();
            let answer = match std::fs::read(root.join(path)) {
                Ok(body) => {
                    [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
                }
                Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
            };
            _ = stream.write_all(&answer);
        }
    });
    let servers = Servers::new([url]).unwrap();
    assert_eq!(servers.resolve(format.token()).unwrap(), format.description().as_bytes());
    assert_eq!(servers.resolve(Token::from_bytes([9; 16])).unwrap_err().code(), Code::UnknownFormat);
}

/// A request that is refused before its body was read is the last one on its connection, and the answer says so.
#[test]
fn a_refusal_before_the_body_ends_the_connection_and_says_so() {
    let (_folder, server, _client) = running();
    let refused = "Host: evil.example\r\nContent-Length: 100000\r\n\r\nabc";
    let (status, head, _) = raw(&server, format!("POST /names/river/versions HTTP/1.1\r\n{refused}").as_bytes());
    assert_eq!((status, head.contains("connection: close")), (403, true), "{head}");
    let whole = "Host: localhost\r\nContent-Length: 2\r\n\r\n{}";
    let (status, head, _) = raw(&server, format!("POST /names/river/versions HTTP/1.1\r\n{whole}").as_bytes());
    assert_eq!((status, head.contains("connection: close")), (400, false), "{head}");
}

/// No request reaches a name that programs take out of a URL.
#[test]
fn names_of_dots_are_refused() {
    let (_folder, server, client) = running();
    let format = river(&["step"]);
    client.put(&format).unwrap();
    for name in [".", "..", "%2E", "%2e%2E"] {
        let (status, problem) =
            put(&server, &format!("/names/{name}/rule"), "application/json", b"{\"rule\": \"NONE\"}");
        assert_eq!((status, &problem["name"]), (400, &json!("Text")), "{name}");
    }
    for name in [".", ".."] {
        let error = client.add_version(name, &declaration(&format)).unwrap_err();
        assert_eq!(error.code(), Code::Text, "{error}");
        assert_eq!(client.check(name, &declaration(&format)).unwrap_err().code(), Code::Text);
    }
    client.add_version("...", &declaration(&format)).unwrap().unwrap();
    assert_eq!(server.contents().unwrap().names, 1);
}

/// A version with too many values for clients is refused when it comes, so that each name can be read.
#[test]
fn names_with_too_many_values_are_refused() {
    let (_folder, server, client) = running();
    let fields: serde_json::Map<String, Value> = (0..70_000).map(|at| (format!("f{at}"), json!(""))).collect();
    client.set_prose("river", &json!({ "fields": fields })).unwrap();
    assert_eq!(client.name("river").unwrap()["prose"]["fields"].as_object().unwrap().len(), 70_000);
    let many = Shape::new("River").field("many", "int[70000]").on(&Layout::NATIVE).unwrap();
    client.put(&many).unwrap();
    let rules = json!({ "River": { "many": { "default": vec![0; 70_000] } } });
    let version = json!({ "formats": [many.token().to_string()], "rules": rules });
    let error = client.add_version("river", &version).unwrap_err();
    assert_eq!((error.code(), error.expectation()), (Code::Budget, "at most 131072 values for a name"));
    client.add_version("lake", &version).unwrap().unwrap();
    let (status, problem) =
        put(&server, "/names/river/prose", "application/json", format!("[{}0]", "[],".repeat(140_000)).as_bytes());
    assert_eq!((status, &problem["name"]), (413, &json!("MessageSize")));
}

/// A pipe to which nobody writes, in place of a file, is refused, and does not keep the server from starting or ending.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_without_a_wait() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pem = folder.path().join("empty.pem");
    std::fs::write(&pem, "").unwrap();
    let options = || Options::in_memory().listen("127.0.0.1:0".parse().unwrap());
    for options in [
        options().certificate(&pipe, &pem),
        options().certificate(&pipe, &pipe),
        options().read_secret(&pipe),
        options().write_secret(&pipe),
        options().peer("http://127.0.0.1:1").peer_secret(&pipe),
        options().peer("http://127.0.0.1:1").peer_trust(&pipe),
        options().read_secret("/dev/zero"),
        options().read_secret(folder.path()),
    ] {
        let error = start(options).unwrap_err();
        assert!(error.code() == Code::Io && error.actual().contains("not a file"), "{error}");
    }
    let servers = || Servers::new(["https://127.0.0.1:1"]).unwrap();
    assert!(servers().trust(&pipe).unwrap_err().actual().contains("not a file"));
    assert!(servers().certificate(&pipe).unwrap_err().actual().contains("not a file"));
}

/// What refusals say has a bound, however many and long the fields at fault are.
#[test]
fn refusals_have_a_bound() {
    let (_folder, server, client) = running();
    let names: Vec<String> = (0..4000).map(|at| format!("{:x>240}{at:04}", "")).collect();
    let shape = |kind: &str| names.iter().fold(Shape::new("River"), |shape, name| shape.field(&**name, kind));
    let formats: Vec<Format> = ["int", "string"]
        .map(|kind| shape(kind).on(&Layout::NATIVE).map_err(|error| error.code()))
        .into_iter()
        .flatten()
        .collect();
    assert!(formats.is_empty(), "a description is shorter");
    let names = &names[..200];
    let nested = |kind: &str| {
        let fields: String = names.iter().map(|name| format!("  {name}  {kind}\n")).collect();
        let inner: String = (0..20).map(|at| format!("  {:y>240}{at}  Inner\n", "")).collect();
        Shape::parse(&format!("record Inner\n{fields}record River\n{inner}")).unwrap().on(&Layout::NATIVE).unwrap()
    };
    let (first, second) = (nested("int"), nested("string"));
    client.put(&first).unwrap();
    client.put(&second).unwrap();
    client.add_version("river", &declaration(&first)).unwrap().unwrap();
    let body = declaration(&second).to_string();
    let request = format!(
        "POST /names/river/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, _, answer) = raw(&server, request.as_bytes());
    let problem: Value = serde_json::from_slice(&answer).unwrap();
    let fields = problem["refused"][0]["fields"].as_array().unwrap();
    assert!(status == 409 && answer.len() < 1 << 20 && (1..4000).contains(&fields.len()), "{status} {}", answer.len());
}

/// What waits and what was refused is in the metrics.
#[test]
fn metrics_tell_what_waits_and_why_requests_are_refused() {
    let (_folder, server, client) = running();
    let metrics = || String::from_utf8(get(&server, "/metrics").2).unwrap();
    let shown = metrics();
    for line in [
        "isoform_waiting_bytes 0",
        "isoform_ended_total 0",
        "isoform_places{kind=\"looks\",state=\"used\"} 0",
        "isoform_places{kind=\"comparisons\",state=\"waiting\"} 0",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    client.get("names/river").unwrap_err();
    put(&server, "/formats", "application/json", b"{");
    put(&server, "/formats", "application/octet-stream", b"{");
    let shown = metrics();
    for line in ["isoform_problems_total{code=\"NoSuchName\"} 1", "isoform_problems_total{code=\"Text\"} 1"] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}
