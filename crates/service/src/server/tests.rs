use super::access::Client;
use super::app::App;
use super::outgoing::EACH;
use super::places::{Place, Places};
use super::*;
use crate::Servers;
use isoform_core::{Format, Layout, Resolver, Shape};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

fn running() -> Server {
    start(Options::in_memory().listen("127.0.0.1:0".parse().unwrap())).unwrap()
}

/// Waits until something holds. Five minutes are more than any machine needs.
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Takes all places, each for another client.
fn all_of(places: &Arc<Places>) -> Vec<Place> {
    let mut context = Context::from_waker(Waker::noop());
    let place = |last: u32| {
        let client = Client { address: std::net::Ipv4Addr::from_bits(0x0a00_0000 + last).into(), certified: false };
        match pin!(places.place(client)).poll(&mut context) {
            Poll::Ready(place) => Some(place.unwrap()),
            Poll::Pending => None,
        }
    };
    (0..).map_while(place).collect()
}

/// A connection for which the system of the client holds few bytes. Otherwise that would be as many as the system wishes, and nothing
/// would ever wait.
fn reads_little(address: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let connect = async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        socket.connect(address).await?.into_std()
    };
    let stream = runtime.block_on(connect).unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

fn status(stream: &mut TcpStream) -> String {
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head).into_owned()
}

/// The thread that serves connections does not parse JSON: a body waits for a place, and meanwhile others are answered.
#[test]
fn json_is_parsed_in_a_place() {
    let server = running();
    let requests =
        ["POST /names/x/check", "POST /names/x/versions", "PUT /names/x/rule", "PUT /names/x/prose", "PUT /formats"];
    for request in requests {
        let places = if request.starts_with("POST") { &server.app.comparisons } else { &server.app.changes };
        let taken = all_of(places);
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n"
        );
        // What is no JSON at all does not line up for a comparison.
        let body = if request.starts_with("POST") { "7" } else { "{" };
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        until("the request waits", || places.taken() == (taken.len(), 1));
        assert!(Servers::new([server.url()]).unwrap().get("names").is_ok(), "others are answered");
        stream.set_nonblocking(true).unwrap();
        let nothing = stream.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(nothing, Err(ErrorKind::WouldBlock), "{request}");
        stream.set_nonblocking(false).unwrap();
        drop(taken);
        assert_eq!(status(&mut stream), "HTTP/1.1 400", "{request}");
    }
}

/// Clients that ask and do not read hold a bounded number of bytes, and keep nobody from being answered.
#[test]
fn answers_that_nobody_reads_are_bounded() {
    let server = running();
    let client = Servers::new([server.url()]).unwrap();
    let large = (0..220).fold(Shape::new("River"), |shape, at| shape.field(format!("{:x>240}{at}", ""), "int"));
    let large = large.on(&Layout::NATIVE).unwrap();
    client.put(&large).unwrap();
    let app: &App = &server.app;
    let small = Shape::new("Brook").field("depth", "int").on(&Layout::NATIVE).unwrap();
    client.put(&small).unwrap();
    let ask = |format: &Format, times: usize| {
        format!("GET /formats/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", format.token()).repeat(times)
    };
    let (mut silent, end) = (Vec::new(), Instant::now() + Duration::from_secs(300));
    while app.answers.ended() < 3 {
        assert!(Instant::now() < end, "{} answers of {} clients had no room", app.answers.ended(), silent.len());
        assert!(app.answers.bytes() <= EACH);
        if silent.len() < 200 {
            let mut stream = reads_little(server.address());
            // More than the system holds for a connection. The small answers come first, so that each connection stops at another byte of
            // a large one.
            let requests = ask(&small, silent.len()) + &ask(&large, 300);
            stream.write_all(requests.as_bytes()).unwrap();
            silent.push(stream);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(client.resolve(large.token()).is_ok(), "whoever reads is answered");
    drop(silent);
    until("nothing waits any more", || app.answers.bytes() == 0);
}
