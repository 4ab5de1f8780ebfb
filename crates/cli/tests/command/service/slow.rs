//! Clients and replicas behind a slow link that loses something. Nothing here depends on how long anything takes, but for the
//! deadline that each client keeps by itself.

use super::*;
use isoform::core::Resolver;
use isoform::core::declare::Shape;
use isoform_service::{Client, Servers};
use serde_json::json;
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The delay of the link, each way.
const DELAY: Duration = Duration::from_millis(500);
/// One of so many messages is lost: 5%.
const LOST: usize = 20;

/// A link to a server. It delays everything. Of each forty messages one is lost with its connection, which breaks, and one is
/// lost silently, with all that follows on that connection.
struct Link {
    url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// `HOST:PORT`; a link that leads nowhere closes its connections.
    server: Mutex<Option<String>>,
    connections: AtomicUsize,
    messages: AtomicUsize,
    broken: AtomicUsize,
    silent: AtomicUsize,
}

impl Link {
    fn new() -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let server = shared.server.lock().unwrap().clone();
                let Some(Ok(far)) = server.map(TcpStream::connect) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let shared = shared.clone();
                    thread::spawn(move || shared.pass(from, to));
                }
            }
        });
        Link { url, state }
    }

    fn to(url: &str) -> Link {
        let link = Link::new();
        link.lead_to(url);
        link
    }

    fn lead_to(&self, url: &str) {
        *self.state.server.lock().unwrap() = Some(url.trim_start_matches("http://").into());
    }

    fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// What the link did, in words.
    fn account(&self) -> String {
        let (messages, (broken, silent)) = (self.state.messages.load(Ordering::Relaxed), self.lost());
        format!("{messages} messages over {} connections, {broken} broke and {silent} vanished", self.connections())
    }

    /// Messages that broke their connection, and messages that vanished.
    fn lost(&self) -> (usize, usize) {
        (self.state.broken.load(Ordering::Relaxed), self.state.silent.load(Ordering::Relaxed))
    }
}

impl State {
    /// One direction of a connection.
    fn pass(&self, mut from: TcpStream, to: TcpStream) {
        let (later, delayed) = mpsc::channel::<(Instant, Vec<u8>)>();
        let mut out = to.try_clone().unwrap();
        let writer = thread::spawn(move || {
            for (due, bytes) in delayed {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if out.write_all(&bytes).is_err() {
                    break;
                }
            }
            _ = out.shutdown(Shutdown::Write);
        });
        let mut room = [0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut room) {
            match self.messages.fetch_add(1, Ordering::Relaxed) % (2 * LOST) {
                7 => {
                    self.broken.fetch_add(1, Ordering::Relaxed);
                    _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    break;
                }
                27 => {
                    self.silent.fetch_add(1, Ordering::Relaxed);
                    while let Ok(1..) = from.read(&mut room) {}
                    break;
                }
                _ => _ = later.send((Instant::now() + DELAY, room[..count].to_vec())),
            }
        }
        drop(later);
        _ = writer.join();
    }
}

fn format(name: &str) -> Format {
    Shape::new("River").field(name, "int").field("depth", "double").on(&Layout::NATIVE).unwrap()
}

#[test]
#[allow(clippy::print_stdout, reason = "the account is what the test is for")]
fn clients_resolve_and_register_over_a_slow_lossy_link_and_those_who_know_their_formats_do_not_use_it() {
    let service = Service::new();
    let link = Link::to(&service.url);
    let formats: Vec<Format> = (0..24).map(|number| format(&format!("field_{number}"))).collect();
    let direct = Servers::new([service.url.as_str()]).unwrap();
    formats.iter().for_each(|format| direct.put(format).unwrap());
    // Two ends of the link: programs that read, and one that registers. Each keeps the deadline that clients have by default.
    let folder = service.files.path("shared");
    thread::scope(|scope| {
        for format in &formats {
            let (link, folder) = (&link, &folder);
            scope.spawn(move || {
                let client = Client::new(&link.url).unwrap().cached(folder);
                assert_eq!(client.resolve(format.token()).unwrap(), format.description().as_bytes());
            });
        }
        scope.spawn(|| Client::new(&link.url).unwrap().put(&format("registered")).unwrap());
    });
    assert!(direct.resolve(format("registered").token()).is_ok());
    let (broken, silent) = link.lost();
    assert!(broken > 0 && silent > 0, "the link lost something both ways: {broken} broke, {silent} vanished");

    // A command that meets a format for the first time; and again, with and without a description in the stream.
    direct.put(&gauge()).unwrap();
    let bare = service.files.write("bare.iso", undescribed(&gauge(), &[gauge_body(7, 0.5)]));
    let through = |path: &str| {
        let mut command = command(&["dump", "--json", path]);
        command.env("ISOFORM_FORMATS", &link.url).env("XDG_CACHE_HOME", service.files.path("cache"));
        Run::of(command.stdin(Stdio::null()).output().unwrap()).good()
    };
    assert_eq!(through(&bare), "{\"id\":7,\"depth\":0.5}\n");
    let before = link.connections();
    assert_eq!(through(&bare), "{\"id\":7,\"depth\":0.5}\n");
    assert!(through(&service.files.write("whole.iso", stream())).lines().count() > 1);
    let client = Client::new(&link.url).unwrap().cached(&folder);
    for format in &formats {
        assert_eq!(client.resolve(format.token()).unwrap(), format.description().as_bytes());
    }
    assert_eq!(link.connections(), before, "those who know their formats ask nobody");
    println!("{} formats were found over the slow link: {}", formats.len() + 1, link.account());
}

#[test]
#[allow(clippy::print_stdout, reason = "the account is what the test is for")]
fn replicas_converge_over_slow_lossy_links() {
    let files = Files::new();
    let links = [(); 3].map(|()| Link::new());
    let ten = |replica| (0..10).map(|number| format(&format!("only_{replica}_{number}"))).collect();
    let formats: [Vec<Format>; 3] = [0, 1, 2].map(ten);
    let mut running = Vec::new();
    for (replica, own) in formats.iter().enumerate() {
        let mut options = Vec::new();
        for (other, link) in links.iter().enumerate() {
            if other != replica {
                options.extend(["--peer", &link.url]);
            }
        }
        if replica != 0 {
            options.extend(["--names-from", &links[0].url]);
        }
        let (service, url) = serve(&files.path(&format!("{replica}.redb")).display().to_string(), &options);
        let client = Servers::new([url.as_str()]).unwrap();
        own.iter().for_each(|format| client.put(format).unwrap());
        links[replica].lead_to(&url);
        running.push((service, client));
    }
    let version = json!({ "formats": [formats[0][0].token().to_string()] });
    assert_eq!(running[0].1.add_version("river", &version).unwrap(), Ok(1));
    for (replica, (_, client)) in running.iter().enumerate() {
        life::until(&format!("replica {replica} has everything"), || {
            let has_formats = formats.iter().flatten().all(|format| client.resolve(format.token()).is_ok());
            has_formats && client.version("river", None).is_ok_and(|found| found["formats"] == version["formats"])
        });
    }
    let lost: usize = links.iter().map(|link| link.lost().0 + link.lost().1).sum();
    assert!(lost > 0, "the links lost nothing");
    let accounts = links.each_ref().map(Link::account).join("; ");
    println!("3 replicas have {} formats and a name: {accounts}", formats.iter().flatten().count());
}
