//! Peers that lie to a server which copies from them: lists and answers without end, wrong bytes, huge names. What they say is bounded and
//! refused, and the server goes on with the others.

use isoform_core::{Code, Format, Layout, Resolver, Shape, Token};
use isoform_service::Servers;
use isoform_service::server::{Options, copy, start};
use isoform_service::store::{Quota, Store};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ID: &str = "0123456789abcdef0123456789abcdef";
/// The most bytes that a liar can send for one question: the largest page, and what the buffers of the system hold.
const MOST: u64 = 32 << 20;

/// What a liar answers to a path: bytes until it has no more, or the other side has enough.
type Lie = dyn Fn(&str) -> Box<dyn Iterator<Item = Vec<u8>>> + Send + Sync;

/// A server that says what it likes.
struct Liar {
    url: String,
    asked: Arc<AtomicU64>,
    /// The most bytes that it sent on one connection.
    said: Arc<AtomicU64>,
}

impl Liar {
    fn new(lie: impl Fn(&str) -> Box<dyn Iterator<Item = Vec<u8>>> + Send + Sync + 'static) -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, said, lie): (Arc<AtomicU64>, Arc<AtomicU64>, Arc<Lie>) =
            (Arc::default(), Arc::default(), Arc::new(lie));
        let counts = (asked.clone(), said.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, said, lie) = (counts.0.clone(), counts.1.clone(), lie.clone());
                std::thread::spawn(move || {
                    if let Some(path) = path(&stream) {
                        asked.fetch_add(1, Ordering::SeqCst);
                        said.fetch_max(tell(stream, lie(&path)), Ordering::SeqCst);
                    }
                });
            }
        });
        Liar { url, asked, said }
    }

    /// A server that answers with JSON.
    fn of_json(lie: impl Fn(&str) -> Value + Send + Sync + 'static) -> Liar {
        Liar::new(move |path| Box::new(std::iter::once(answer(lie(path).to_string().as_bytes()))))
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    fn said(&self) -> u64 {
        self.said.load(Ordering::SeqCst)
    }
}

/// The path of a request. Its connection ends behind the answer.
fn path(mut stream: &TcpStream) -> Option<String> {
    let (mut request, mut room) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut room) {
            Ok(count @ 1..) => request.extend_from_slice(&room[..count]),
            _ => return None,
        }
    }
    String::from_utf8(request).ok()?.split(' ').nth(1).map(String::from)
}

/// Says all of it, and how much the other side took.
fn tell(mut stream: TcpStream, said: impl Iterator<Item = Vec<u8>>) -> u64 {
    let mut count = 0;
    for bytes in said {
        if stream.write_all(&bytes).is_err() {
            break;
        }
        count += bytes.len() as u64;
    }
    count
}

fn answer(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The number behind `after=`.
fn after(path: &str) -> u64 {
    path.split("after=").nth(1).and_then(|rest| rest.split('&').next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A page of these, with numbers from the one that was asked for.
fn page(path: &str, entry: &str, values: impl Iterator<Item = Value>) -> Value {
    let changes =
        (after(path) + 1..).zip(values).map(|(sequence, value)| json!({ "sequence": sequence, entry: value }));
    json!({ "id": ID, "changes": changes.collect::<Vec<_>>(), "end": u64::MAX })
}

fn river(field: &str) -> Format {
    Shape::new("River").field(field, "int").on(&Layout::NATIVE).unwrap()
}

fn options(folder: &TempDir) -> Options {
    Options::new(folder.path().join("formats.redb")).listen("127.0.0.1:0".parse().unwrap())
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Copies everything that this peer has, once. Returns the number of formats, or the error.
fn copied(liar: &Liar) -> (TempDir, Result<u64, String>) {
    let folder = tempfile::tempdir().unwrap();
    let copied = copy(&options(&folder).peer(&liar.url));
    (folder, copied.map(|contents| contents.formats).map_err(|error| error.to_string()))
}

fn copied_names(liar: &Liar, quota: Quota) -> Result<u64, String> {
    let folder = tempfile::tempdir().unwrap();
    let copied = copy(&options(&folder).quota(quota).names_from(&liar.url));
    copied.map(|contents| contents.names).map_err(|error| error.to_string())
}

fn endless(begin: &'static str, again: &'static [u8]) -> Liar {
    Liar::new(move |_| {
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{begin}");
        let again = again.repeat(1 + (64 << 10) / again.len());
        Box::new(std::iter::once(head.into_bytes()).chain(std::iter::repeat(again)))
    })
}

#[test]
fn answers_without_end_are_cut() {
    for (begin, again) in
        [("", &b" "[..]), ("{\"id\":\"", b"a"), ("{\"changes\":[", b"0,"), ("{\"changes\":", b"["), ("", b"\xff")]
    {
        let liar = endless(begin, again);
        copied(&liar).1.unwrap_err();
        copied_names(&liar, Quota::default()).unwrap_err();
        // Both have got what they wanted when the connections end, which the liar notices some time.
        until("the liar has noticed it", || liar.said() > 0);
        assert!(liar.said() < MOST, "{begin}: {} bytes were taken", liar.said());
        let token = Token::from_bytes([7; 16]);
        Servers::new([liar.url.as_str()]).unwrap().resolve(token).unwrap_err();
    }
    let heads = Liar::new(|_| {
        let first = std::iter::once(b"HTTP/1.1 200 OK\r\n".to_vec());
        Box::new(first.chain(std::iter::repeat(b"X: y\r\n".repeat(1000))))
    });
    copied(&heads).1.unwrap_err();
    let informing = Liar::new(|_| Box::new(std::iter::repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000))));
    let servers = Servers::new([informing.url.as_str()]).unwrap().deadline(Duration::from_millis(200));
    servers.get("changes").unwrap_err();
    assert!(informing.said() < MOST && heads.said() < MOST);
}

#[test]
fn lists_that_cannot_be_are_refused() {
    let token = river("a").token().to_string();
    let change = |sequence: Value, token: &str| json!({ "sequence": sequence, "token": token });
    let page = |changes: Vec<Value>| json!({ "id": ID, "changes": changes, "end": 9 });
    let zeros = "0".repeat(32);
    for list in [
        json!(null),
        json!([]),
        json!({ "id": ID }),
        json!({ "id": ID, "changes": {} }),
        json!({ "id": "", "changes": [] }),
        json!({ "id": "x".repeat(100_000), "changes": [] }),
        json!({ "id": 7, "changes": [] }),
        page(vec![json!(7)]),
        page(vec![change(json!(0), &token)]),
        page(vec![change(json!(-1), &token)]),
        page(vec![change(json!(1.5), &token)]),
        page(vec![change(json!(3), &token), change(json!(3), &token)]),
        page(vec![change(json!(3), "not a token")]),
        page((1..=1001).map(|sequence| change(sequence.into(), &zeros)).collect()),
    ] {
        let liar = Liar::of_json(move |_| list.clone());
        let (_folder, came) = copied(&liar);
        assert!(came.is_err() && liar.asked() < 10, "{came:?} after {}", liar.asked());
    }
    // A store that is another one at each question, and begins anew each time.
    let number = AtomicU64::new(1);
    let liar = Liar::of_json(move |_| {
        let id = format!("{:032x}", number.fetch_add(1, Ordering::SeqCst));
        json!({ "id": id, "changes": [{ "sequence": u64::MAX, "token": zeros }], "end": 1 })
    });
    assert!(copied(&liar).1.is_err() && liar.asked() < 10);
}

#[test]
fn pages_without_end_have_one() {
    // Tokens that it does not have: each costs a question, so there are few of them.
    let absent = Liar::new(|path| match path.starts_with("/changes") {
        true => {
            let tokens = (after(path) + 1..).take(1000).map(|number| json!(format!("{number:032x}")));
            Box::new(std::iter::once(answer(page(path, "token", tokens).to_string().as_bytes())))
        }
        false => Box::new(std::iter::once(
            b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec(),
        )),
    });
    let error = copied(&absent).1.unwrap_err();
    assert!(error.contains("it does not have") && absent.asked() < 1000, "{error}: {}", absent.asked());
    // One format again and again.
    let known = river("a");
    let (token, description) = (known.token().to_string(), known.description().as_bytes().to_vec());
    let again = Liar::new(move |path| {
        let tokens = std::iter::repeat_n(json!(token), 1000);
        let body = match path.starts_with("/changes") {
            true => page(path, "token", tokens).to_string().into_bytes(),
            false => description.clone(),
        };
        Box::new(std::iter::once(answer(&body)))
    });
    let (_folder, came) = copied(&again);
    let error = came.unwrap_err();
    assert!(error.contains("more known formats") && again.asked() < 2000, "{error}: {}", again.asked());
    // Names without end, more than there may be.
    let state = json!({ "rule": "NONE", "versions": [], "prose": null });
    let names = Liar::of_json(move |path| {
        let changes = (after(path) + 1..)
            .take(50)
            .map(|sequence| json!({ "sequence": sequence, "name": format!("name {sequence}"), "state": state }));
        json!({ "id": ID, "changes": changes.collect::<Vec<_>>(), "end": u64::MAX })
    });
    let error = copied_names(&names, Quota { names: 120, ..Quota::default() }).unwrap_err();
    assert!(error.contains("more names"), "{error}");
    assert_eq!(names.asked(), 3);
}

/// A peer with formats without end gets the room that clients leave, and no more; and a round of copying ends.
#[test]
fn a_peer_with_formats_without_end_displaces_its_own() {
    const QUOTA: u64 = 40;
    let numbered = |number: u64| river(&format!("f{number}"));
    let known: Vec<Format> = (1..=300).map(numbered).collect();
    let all = known.clone();
    let liar = Liar::new(move |path| {
        let body = match path.strip_prefix("/formats/") {
            None => {
                let tokens = all.iter().skip(after(path) as usize).map(|format| json!(format.token().to_string()));
                page(path, "token", tokens.take(1000)).to_string().into_bytes()
            }
            Some(token) => {
                let found = all.iter().find(|format| format.token().to_string() == token);
                found.map_or_else(Vec::new, |format| format.description().as_bytes().to_vec())
            }
        };
        Box::new(std::iter::once(answer(&body)))
    });
    let folder = tempfile::tempdir().unwrap();
    let quota = Quota { formats: QUOTA, ..Quota::default() };
    let options = options(&folder).quota(quota).peer(&liar.url).every(Duration::from_millis(50));
    let server = start(options).unwrap();
    let client = Servers::new([server.url()]).unwrap();
    let own: Vec<Format> = (0..10).map(|number| river(&format!("own{number}"))).collect();
    own[..5].iter().for_each(|format| client.put(format).unwrap());
    // A page, each format, and the end; then another round.
    until("all came", || liar.asked() > 302);
    own[5..].iter().for_each(|format| client.put(format).unwrap());
    let there = |all: &[Format]| all.iter().filter(|format| client.resolve(format.token()).is_ok()).count() as u64;
    assert_eq!(there(&own), 10);
    assert_eq!(there(&known), QUOTA - 10);
}

/// A peer that lists formats of others first, and then its own without end: those of others come again, from them.
#[test]
fn formats_of_others_do_not_give_way_for_good() {
    let listing = |first: Vec<Format>, behind: Vec<Format>, goes_on: Arc<AtomicU64>| {
        Liar::new(move |path| {
            let all: Vec<&Format> = match goes_on.load(Ordering::SeqCst) {
                0 => first.iter().collect(),
                _ => first.iter().chain(&behind).collect(),
            };
            let body = match path.strip_prefix("/formats/") {
                None => {
                    let tokens = all.iter().skip(after(path) as usize).map(|format| json!(format.token().to_string()));
                    page(path, "token", tokens.take(1000)).to_string().into_bytes()
                }
                Some(token) => {
                    let found = all.iter().find(|format| format.token().to_string() == token);
                    found.map_or_else(Vec::new, |format| format.description().as_bytes().to_vec())
                }
            };
            Box::new(std::iter::once(answer(&body)))
        })
    };
    let theirs: Vec<Format> = (0..20).map(|number| river(&format!("theirs{number}"))).collect();
    let junk: Vec<Format> = (0..300).map(|number| river(&format!("junk{number}"))).collect();
    let goes_on = Arc::new(AtomicU64::new(0));
    let liar = listing(theirs.clone(), junk.clone(), goes_on.clone());
    let honest = listing(theirs.clone(), Vec::new(), Arc::default());
    let folder = tempfile::tempdir().unwrap();
    let quota = Quota { formats: 40, ..Quota::default() };
    let both = || options(&folder).quota(quota).peer(&liar.url).peer(&honest.url);
    assert_eq!(copy(&both()).unwrap().formats, 20);
    goes_on.store(1, Ordering::SeqCst);
    let there = |all: &[Format]| {
        let store = Store::open(&folder.path().join("formats.redb"), quota).unwrap();
        all.iter().filter(|format| store.get(format.token()).unwrap().is_some()).count()
    };
    for _ in 0..3 {
        assert_eq!(copy(&both()).unwrap().formats, 40);
        assert_eq!((there(&theirs), there(&junk)), (20, 20), "each has an equal share");
    }
    // Nothing is lacking, so the honest one is asked for its descriptions no more.
    let asked = honest.asked();
    copy(&both()).unwrap();
    assert_eq!(honest.asked() - asked, 1);
}

#[test]
fn huge_names_are_refused() {
    let state = || json!({ "rule": "NONE", "versions": [], "prose": null });
    let prose = json!({ "rule": "NONE", "versions": [], "prose": { "about": "x".repeat(5 << 20) } });
    let tokens = json!([{ "number": 1, "registered": 0, "retired": false, "formats": vec!["0".repeat(32); 200_000] }]);
    let versions = json!({ "rule": "NONE", "versions": tokens, "prose": null });
    for (name, state) in [
        ("x".repeat(256), state()),
        ("x".repeat(5 << 20), state()),
        (String::new(), state()),
        ("a\nb".into(), state()),
        ("river".into(), prose),
        ("river".into(), versions),
        ("river".into(), json!({ "rule": "ALL", "versions": [], "prose": null })),
        ("river".into(), json!({ "rule": "NONE", "versions": [{ "number": 2 }], "prose": null })),
        ("river".into(), json!(null)),
    ] {
        let liar = Liar::of_json(
            move |_| json!({ "id": ID, "changes": [{ "sequence": 1, "name": name, "state": state }], "end": 1 }),
        );
        let error = copied_names(&liar, Quota::default()).unwrap_err();
        assert!(error.len() < 2000, "an error of {} bytes", error.len());
    }
}

/// A peer whose bytes for one token are wrong, and that has all others: those come, and the server asks for the one again.
#[test]
fn wrong_bytes_for_one_token_keep_the_others_from_nobody() {
    let formats: Arc<Vec<Format>> = Arc::new((0..10).map(|number| river(&format!("f{number}"))).collect());
    let is_mended = Arc::new(AtomicU64::new(0));
    let (all, mended) = (formats.clone(), is_mended.clone());
    let liar = Liar::new(move |path| {
        let body = match path.strip_prefix("/formats/") {
            None => {
                let from = usize::try_from(after(path)).unwrap().min(all.len());
                let tokens = all[from..].iter().map(|format| json!(format.token().to_string()));
                page(path, "token", tokens).to_string().into_bytes()
            }
            Some(digits) => {
                let at = all.iter().position(|format| format.token().to_string() == digits).unwrap();
                // For format 3, it sends the description of format 4.
                let at = if at == 3 && mended.load(Ordering::SeqCst) == 0 { 4 } else { at };
                all[at].description().as_bytes().to_vec()
            }
        };
        Box::new(std::iter::once(answer(&body)))
    });
    let folder = tempfile::tempdir().unwrap();
    let server = start(options(&folder).peer(&liar.url).every(Duration::from_millis(5))).unwrap();
    let client = Servers::new([server.url()]).unwrap();
    let has = |at: usize| client.resolve(formats[at].token()).is_ok();
    until("the others come", || (0..10).all(|at| at == 3 || has(at)));
    let token = formats[3].token().to_string();
    let list = client.get("formats").unwrap().to_string();
    assert!(!list.contains(&token), "nothing false is stored");
    is_mended.store(1, Ordering::SeqCst);
    until("the one comes, too", || has(3));
}

/// With four liars beside it, an honest peer is copied from, and the server answers.
#[test]
fn a_server_goes_on_while_its_peers_lie() {
    let drip = |first: &'static [u8]| {
        Liar::new(move |_| {
            let slowly = std::iter::repeat_with(|| {
                std::thread::sleep(Duration::from_millis(20));
                b" ".to_vec()
            });
            Box::new(std::iter::once(first.to_vec()).chain(slowly))
        })
    };
    let slow = drip(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"id\":");
    let slow_head = drip(b"HTTP/1.1 200 OK\r\nX:");
    let large = endless("{\"changes\":[", b"0,");
    let absent = Liar::of_json(|path| {
        page(path, "token", (after(path) + 1..).take(1000).map(|number| json!(format!("{number:032x}"))))
    });
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let honest = start(options(&folders[0])).unwrap();
    let options = [&slow, &slow_head, &large, &absent]
        .iter()
        .fold(options(&folders[1]), |options, liar| options.peer(&liar.url))
        .peer(honest.url())
        .names_from(&slow.url);
    let server = start(options.every(Duration::from_millis(5))).unwrap();
    let [at_honest, at_server] = [&honest, &server].map(|server| Servers::new([server.url()]).unwrap());
    for round in 0..5 {
        let [theirs, own] = ["theirs", "own"].map(|whose| river(&format!("{whose}_{round}")));
        at_honest.put(&theirs).unwrap();
        at_server.put(&own).unwrap();
        until("the honest one is copied from", || at_server.resolve(theirs.token()).is_ok());
        at_server.resolve(own.token()).unwrap();
        at_server.get("names").unwrap();
    }
    until("all liars were asked", || [&slow, &slow_head, &large, &absent].iter().all(|liar| liar.asked() > 0));
    assert_eq!(server.contents().unwrap().formats, 10);
    assert!(at_server.get("formats?limit=1000").unwrap()["formats"].as_array().unwrap().len() == 10);
    let refused = || {
        let mut metrics = String::new();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        stream.read_to_string(&mut metrics).unwrap();
        let count = metrics.lines().find_map(|line| line.strip_prefix("isoform_refused_total "));
        count.unwrap().parse::<u64>().unwrap()
    };
    until("what was refused is counted", || refused() > 0);
}

/// A question to a peer has a deadline, however the answer comes.
#[test]
fn a_list_that_comes_slowly_has_a_deadline() {
    let liar = Liar::new(|_| {
        let head = std::iter::once(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec());
        Box::new(head.chain(std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(1));
            b" ".to_vec()
        })))
    });
    let servers = Servers::new([liar.url.as_str()]).unwrap().deadline(Duration::from_millis(100));
    servers.get("changes").unwrap_err();
    servers.resolve(Token::from_bytes([7; 16])).unwrap_err();
}

/// JSON takes many times its bytes in memory. So an answer has a bound of values, whoever asks.
#[test]
fn answers_with_many_values_are_refused() {
    for value in ["{\"\":0}", "[0]", "0", "[[[[]]]]"] {
        let body = format!("{{\"id\":\"{ID}\",\"changes\":[{}0]}}", format!("{value},").repeat(300_000));
        let liar = Liar::new(move |_| Box::new(std::iter::once(answer(body.as_bytes()))));
        let servers = Servers::new([liar.url.as_str()]).unwrap();
        let error = servers.get("names/river").unwrap_err();
        assert_eq!((error.code(), error.actual()), (Code::MessageSize, "more"), "{value}: {error}");
        assert!(copied(&liar).1.unwrap_err().contains("at most"), "{value}");
        assert!(copied_names(&liar, Quota::default()).unwrap_err().contains("at most"), "{value}");
    }
    // What is in texts is no value.
    let text = json!([",[{".repeat(200_000)]);
    let honest = Liar::of_json(move |_| text.clone());
    assert!(Servers::new([honest.url.as_str()]).unwrap().get("names/river").unwrap().is_array());
}

/// If the pages of a peer are too large, a replica asks for fewer names at once.
#[test]
fn smaller_pages_are_asked_for() {
    let state = json!({ "rule": "NONE", "versions": [], "prose": { "about": "x".repeat(3 << 20) } });
    let honest = Liar::of_json(move |path| {
        let limit = path.split("limit=").nth(1).unwrap().parse().unwrap();
        let changes = (after(path) + 1..)
            .take_while(|sequence| *sequence <= 5)
            .take(limit)
            .map(|sequence| json!({ "sequence": sequence, "name": format!("name {sequence}"), "state": state }));
        json!({ "id": ID, "changes": changes.collect::<Vec<_>>(), "end": 5 })
    });
    assert_eq!(copied_names(&honest, Quota::default()), Ok(5));
}

/// Names that no request can reach are left out, and keep the others from nobody.
#[test]
fn names_that_no_request_reaches_are_left_out() {
    let state = json!({ "rule": "NONE", "versions": [], "prose": null });
    let honest = Liar::of_json(move |path| {
        let names = [".", "..", "..."].iter().enumerate().skip(usize::try_from(after(path)).unwrap());
        let changes = names.map(|(at, name)| json!({ "sequence": at + 1, "name": name, "state": state }));
        json!({ "id": ID, "changes": changes.collect::<Vec<_>>(), "end": 3 })
    });
    assert_eq!(copied_names(&honest, Quota::default()), Ok(1));
}

/// A peer that cannot be copied from is told of once, whatever it does, and again when it works.
#[test]
fn it_is_told_when_copying_fails_and_when_it_works_again() {
    let mended = Arc::new(AtomicU64::new(0));
    let (token, is_mended) = (river("a").token().to_string(), mended.clone());
    let liar = Liar::new(move |path| match is_mended.load(Ordering::SeqCst) {
        0 => Box::new(std::iter::once(answer(b"<html>another program</html>"))),
        1 => Box::new(std::iter::once(answer(page(path, "token", std::iter::empty()).to_string().as_bytes()))),
        _ => {
            Box::new(std::iter::once(answer(page(path, "token", std::iter::once(json!(token))).to_string().as_bytes())))
        }
    });
    let (tell, told) = std::sync::mpsc::channel();
    let folder = tempfile::tempdir().unwrap();
    let url = liar.url.replace("http://", "http://user:secret@");
    let options = options(&folder).peer(url).every(Duration::from_millis(2));
    let server = start(options.telling(move |news| _ = tell.send(news.to_owned()))).unwrap();
    let next = || told.recv_timeout(Duration::from_secs(300)).unwrap();
    let shown = liar.url.replace("http://", "http://..@");
    let news = next();
    assert!(news.starts_with(&format!("cannot copy formats from {shown}, will try again: ")), "{news}");
    until("it is asked again", || liar.asked() > 3);
    mended.store(1, Ordering::SeqCst);
    assert_eq!(next(), format!("copying formats from {shown} works again"));
    let mut metrics = String::new();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_to_string(&mut metrics).unwrap();
    assert!(metrics.contains(&format!("isoform_copy_age_seconds{{what=\"formats\",peer=\"{shown}\"}} ")), "{metrics}");
    mended.store(2, Ordering::SeqCst);
    assert!(next().starts_with("cannot copy formats"));
    drop(server);
}
