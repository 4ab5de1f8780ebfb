//! A program that answers for its own formats, and strangers at its door.

use isoform_core::message::Locators;
use isoform_core::{Code, Format, Layout, Registry, Resolver, Shape, Token, text};
use isoform_service::{Client, Responder, Search};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

fn gauge() -> Format {
    Shape::new("Gauge").field("depth", "float").on(&Layout::NATIVE).unwrap()
}

/// What the responder answers to these bytes.
fn ask(responder: &Responder, request: &[u8]) -> String {
    let mut connection = TcpStream::connect(responder.address()).unwrap();
    _ = connection.write_all(request);
    _ = connection.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    _ = connection.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_reader_that_allows_the_host_finds_the_format_there() {
    let responder = Responder::new("127.0.0.1:0").unwrap();
    responder.register(&gauge()).unwrap();
    let locate = |client: Client| {
        let mut registry = Registry::new();
        registry.set_resolver(client);
        registry.locate_near(gauge().token(), Some(&responder.locators())).map(|located| registry.at(located).clone())
    };
    let address = responder.address().to_string();
    for host in ["127.0.0.1", &address] {
        assert_eq!(locate(Client::nowhere().allow(host).unwrap()).unwrap(), gauge());
    }
    for client in [
        Client::nowhere(),
        Client::nowhere().allow("localhost").unwrap(),
        Client::nowhere().allow("127.0.0.1:1").unwrap(),
    ] {
        let error = locate(client).unwrap_err();
        assert_eq!(error.token(), Some(gauge().token()));
        assert!(
            error.to_string().contains(&format!("the message names http://{address}, which is not an allowed host")),
            "{error}"
        );
    }
}

#[test]
fn what_was_found_stays_in_the_cache_when_the_program_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let responder = Responder::new("127.0.0.1:0").unwrap();
    responder.register(&gauge()).unwrap();
    let locators = responder.locators();
    let client = || Client::nowhere().allow("127.0.0.1").unwrap().cached(folder.path());
    client().resolve_near(gauge().token(), &locators).unwrap();
    drop(responder);
    assert_eq!(client().resolve(gauge().token()).unwrap(), gauge().description().as_bytes());
}

#[test]
fn a_failure_without_locators_does_not_hide_them() {
    let responder = Responder::new("127.0.0.1:0").unwrap();
    responder.register(&gauge()).unwrap();
    let search = Search::new().allow("127.0.0.1").unwrap();
    search.resolve(gauge().token()).unwrap_err();
    let nobody = Locators::new(["http://127.0.0.1:1"]).unwrap();
    search.resolve_near(gauge().token(), &nobody).unwrap_err();
    search.resolve_near(gauge().token(), &responder.locators()).unwrap();
}

#[test]
fn a_liar_at_a_locator_is_its_own_failure() {
    let responder = Responder::new("127.0.0.1:0").unwrap();
    let other = Shape::new("Other").field("x", "int").on(&Layout::NATIVE).unwrap();
    responder.register(&other).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let liar = format!("http://{}", listener.local_addr().unwrap());
    let lie = other.description().as_bytes().to_vec();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            _ = connection.read(&mut [0; 4096]);
            _ = write!(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", lie.len());
            _ = connection.write_all(&lie);
        }
    });
    let search = Search::new().allow("127.0.0.1").unwrap();
    let own = Responder::new("127.0.0.1:0").unwrap();
    own.register(&gauge()).unwrap();
    let alone = Locators::new([liar.clone()]).unwrap();
    assert_eq!(search.resolve_near(gauge().token(), &alone).unwrap_err().code(), Code::TokenMismatch);
    let both = Locators::new([liar, format!("http://{}", own.address())]).unwrap();
    assert_eq!(search.resolve_near(gauge().token(), &both).unwrap(), gauge().description().as_bytes());
}

#[test]
fn its_answers() {
    let responder = Responder::new("127.0.0.1:0").unwrap();
    responder.register(&gauge()).unwrap();
    let get = |path: &str| ask(&responder, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let token = gauge().token();
    assert!(get(&format!("/formats/{token}.json")).ends_with(&text::format::to_json(&gauge())));
    assert!(get(&format!("/formats/{token}")).contains("immutable"));
    assert!(get("/healthz").starts_with("HTTP/1.1 200 "));
    for path in [
        "/",
        "/formats/",
        "/formats/..",
        "/formats",
        &format!("/formats/{}", Token::ZERO),
        &format!("/formats/{token}?a"),
        "/formats/%2e",
    ] {
        assert!(get(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    let upper = token.to_string().to_uppercase();
    assert!(get(&format!("/formats/{upper}")).starts_with("HTTP/1.1 404 "), "a token has one spelling");
    let head = ask(&responder, format!("HEAD /formats/{token} HTTP/1.1\r\n\r\n").as_bytes());
    assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: "), "{head}");
    assert!(ask(&responder, b"PUT /formats HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
}

#[test]
fn strangers_stop_nobody() {
    let responder = Responder::new("127.0.0.1:0").unwrap();
    responder.register(&gauge()).unwrap();
    for request in
        [&b"\0\x01\xff\r\n\r\n"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n : \r\n\r\n"]
    {
        assert!(ask(&responder, request).starts_with("HTTP/1.1 400 "), "{request:?}");
    }
    assert_eq!(ask(&responder, b""), "");
    assert_eq!(ask(&responder, b"GET / HT"), "");
    let endless = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'a'; 1 << 20]].concat();
    let answer = ask(&responder, &endless);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many: String = (0..100).map(|number| format!("h{number}: x\r\n")).collect();
    assert!(ask(&responder, format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()).starts_with("HTTP/1.1 400 "));
    // Silent ones give up their places when others come: all of them stand to the end, and this end does not come.
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(responder.address()).unwrap()).collect();
    let mut first = &silent[0];
    assert_eq!(first.read(&mut [0]).unwrap(), 0, "the oldest one has ended without an answer");
    let search = Search::new().allow("127.0.0.1").unwrap();
    search.resolve_near(gauge().token(), &responder.locators()).unwrap();
}

#[test]
fn only_this_machine_without_a_word() {
    assert_eq!(Responder::new("0.0.0.0:0").unwrap_err().code(), Code::Insecure);
    assert_eq!(Responder::new("[::]:0").unwrap_err().code(), Code::Insecure);
    assert_eq!(Responder::new("127.0.0.1").unwrap_err().code(), Code::Address);
    let open = Responder::insecure("0.0.0.0:0").unwrap();
    let taken = Responder::new(&format!("127.0.0.1:{}", open.address().port()));
    assert_eq!(taken.unwrap_err().code(), Code::Io);
    drop(open);
}
