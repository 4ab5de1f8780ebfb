//! A source that others crowd: with ids that all have one key, with connections without end, and when its process has no descriptors
//! left. Programs of its own user still connect, and others are told why they do not (`spec/channel.md`, "Limits").
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the crowded program tells where it is")]

use isoform::{Code, Error, Messages};
use isoform_channel::{Budget, Budgets, Event, Node, Policy, new_key};
use isoform_channel_proto::{
    self as proto, Access, Action, Admission, ConnId, Credentials, HEADER, Hello, KeyName, NodeId, Outgoing, Settings,
    SharedKey,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// Nobody here is taken for dead, however slow the machine.
const SILENCE: Duration = Duration::from_secs(600);

/// Few enough that slow machines make more.
const HANDSHAKES_A_SECOND: u64 = 20;

/// A process with a source, and few descriptors.
struct Crowded {
    process: Child,
    told: ChildStdin,
    says: BufReader<ChildStdout>,
    key: SharedKey,
    /// Another key that it knows.
    other: SharedKey,
    /// The id of its channel at a port, and at the path of a socket.
    tcp: String,
    unix: String,
    _folder: tempfile::TempDir,
}

impl Crowded {
    fn new(descriptors: u64) -> Crowded {
        let (folder, key, other) = (tempfile::tempdir().unwrap(), new_key().unwrap(), new_key().unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["crowded", "--exact", "--ignored", "--nocapture"]);
        command.env("SOCKET", folder.path().join("x.sock")).env("KEY", key.to_hex());
        command.env("OTHER", other.to_hex());
        command.env("DESCRIPTORS", descriptors.to_string());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (told, says) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let (tcp, unix) = (String::new(), String::new());
        let mut crowded = Crowded { process, told, says, key, other, tcp, unix, _folder: folder };
        (crowded.tcp, crowded.unix) = (crowded.said(), crowded.said());
        crowded
    }

    fn said(&mut self) -> String {
        let lines = self.says.by_ref().lines().map(Result::unwrap);
        lines.into_iter().find_map(|line| line.strip_prefix("CROWDED ").map(String::from)).expect("it says something")
    }

    fn tell(&mut self, what: &str) -> String {
        writeln!(self.told, "{what}").unwrap();
        self.said()
    }

    /// One more id that proves the key, over TCP.
    fn id(&self, number: u64) -> Result<Id, Error> {
        Id::open(number, &self.key, self.address())
    }

    /// Where it listens on TCP.
    fn address(&self) -> &str {
        self.tcp.trim_start_matches("iso://").split('/').next().expect("an address")
    }

    /// Somebody says a Hello with a key or without, waits for the answer, and leaves. Returns whether there was room for the connection.
    fn hears(&self, number: u64, key: Option<SharedKey>) -> bool {
        let (mut nonce, mut keys) = ([0; 32], <[KeyName; 4]>::default());
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        keys[0] = key.as_ref().map_or(KeyName::NONE, SharedKey::name);
        let (wanted, tags) = (NodeId::ANY, Default::default());
        let hello = Hello { public: [7; 32], nonce, wanted, keys, tags }.tagged(key.as_slice());
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.write_all(&hello.to_bytes()).unwrap();
        stream.set_read_timeout(Some(60 * SECOND)).unwrap();
        // The connection may have ended before it is read.
        let mut said = [0; Hello::LENGTH + HEADER + 2];
        _ = stream.read_exact(&mut said);
        said[Hello::LENGTH + HEADER..] != (Code::Peers as u16).to_le_bytes()
    }
}

impl Drop for Crowded {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[test]
#[ignore = "what the tests below start as another process"]
fn crowded() {
    let (Ok(socket), Ok(key), Ok(most)) = (std::env::var("SOCKET"), std::env::var("KEY"), std::env::var("DESCRIPTORS"))
    else {
        return;
    };
    let most = Some(most.parse().unwrap());
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: getrlimit(Resource::Nofile).maximum }).unwrap();
    let node = Node::builder().key(key.parse().unwrap()).silence(SILENCE).linger(SILENCE);
    let node = node.key(std::env::var("OTHER").unwrap().parse().unwrap());
    let Budgets { credential, strangers, .. } = Budgets::default();
    let pace = |budget: Budget| budget.with(proto::Resource::Handshakes, HANDSHAKES_A_SECOND);
    let budgets = Budgets { credential: pace(credential), strangers: pace(strangers), ..Budgets::default() };
    let node = node.budgets(budgets).listen("127.0.0.1:0").listen(format!("unix:{socket}")).build().unwrap();
    let channel = node.create_with("river", None).unwrap();
    let _source = channel.source_builder().build::<Messages>().unwrap();
    let id = channel.id().to_string();
    println!("\nCROWDED {}", id.split('?').next().unwrap());
    println!("\nCROWDED iso+unix://{socket}/river");
    let mut files = Vec::new();
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "fill" => files.extend(std::iter::from_fn(|| File::open("/dev/null").ok())),
            "free" => files.clear(),
            _ => {}
        }
        println!("\nCROWDED {} files", files.len());
    }
}

/// An id, and its connection.
struct Id {
    _node: proto::Node<Arc<[u8]>, Vec<u8>>,
    _stream: TcpStream,
}

impl Id {
    fn open(number: u64, key: &SharedKey, address: &str) -> Result<Id, Error> {
        let (start, id) = (Instant::now(), ConnId(1));
        let mut seed = *key.secret();
        seed.iter_mut().zip(number.to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
        let access = Access { keys: vec![key.clone()], admission: Admission::Known { users: Vec::new() } };
        let settings = Settings { access, silence: SILENCE, handshake: SILENCE, ..Settings::default() };
        let mut node = proto::Node::<Arc<[u8]>, Vec<u8>>::new(proto::Key::from_seed(seed), settings);
        let open = node.open(start.elapsed(), &[format!("tcp:{address}")], "river", None, 60 * SECOND);
        let Some(Action::Dial(dial, _)) = node.action() else { panic!("it dials") };
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(60 * SECOND)).unwrap();
        node.connected(start.elapsed(), id, Some(dial), Credentials::default());
        let mut unread = Vec::new();
        loop {
            while let Some(action) = node.action() {
                match action {
                    Action::Write(id) => {
                        let mut out = Outgoing::default();
                        node.output(start.elapsed(), id, &mut out);
                        node.unwritten(id, 0);
                        // The other side may have refused it already.
                        _ = stream.write_all(&out.to_vec());
                    }
                    // It was refused. At the deadline it says why.
                    Action::Dial(..) | Action::Close(_) => node.tick(61 * SECOND),
                    _ => {}
                }
            }
            if let Some(opened) = node.opened(open) {
                return opened.map(|_| Id { _node: node, _stream: stream });
            }
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap_or(0);
            unread.extend(&bytes[..length]);
            if length == 0 {
                node.closed(start.elapsed(), id, None);
                node.tick(61 * SECOND);
                continue;
            }
            let used = node.receive(start.elapsed(), id, &unread).unwrap_or(unread.len());
            unread.drain(..used);
        }
    }
}

/// A program of the source's own user, which gets in: it has a sink there.
fn own(id: &str) -> Node {
    let node = Node::builder().silence(SILENCE).build().unwrap();
    let channel = node.open_within(&id.parse().unwrap(), 60 * SECOND).unwrap_or_else(|error| panic!("{id}: {error}"));
    let mut sink = channel.sink_builder().policy(Policy::Latest).build::<Messages>().unwrap();
    assert!(matches!(sink.recv_timeout(60 * SECOND).unwrap(), Some(Event::Joined { .. })), "{id}");
    node
}

#[test]
fn ids_of_one_key_take_no_link_from_the_own_user() {
    // The numbers of a program that did it: half of the descriptors are for connections, an eighth of these for handshakes, and
    // an eighth of the others for the own user.
    let (descriptors, ids) = (1024, 511);
    let most = 448 - 56;
    let crowded = Crowded::new(descriptors);
    let (mut in_there, mut refused) = (Vec::new(), Vec::new());
    for number in 0..ids {
        match crowded.id(number) {
            Ok(id) => in_there.push(id),
            Err(error) => refused.push(error),
        }
    }
    assert_eq!(in_there.len(), most);
    for error in &refused {
        assert_eq!(error.code(), Code::Peers, "{error}");
    }
    let ids = [&crowded.tcp, &crowded.unix];
    let _own: Vec<Node> = (0..8).map(|number| own(ids[number % 2])).collect();
}

#[test]
fn without_descriptors_the_own_user_gets_in_and_others_are_told_why() {
    let mut crowded = Crowded::new(256);
    let first = crowded.id(0).unwrap();
    assert_ne!(crowded.tell("fill"), "0 files");
    for number in 1..20 {
        let error = crowded.id(number).err().expect("there is no room");
        assert_eq!(error.code(), Code::Peers, "{error}");
        if number % 5 == 0 {
            let _gone = own(&crowded.unix);
        }
    }
    // Three descriptors are for these, and the last one is to say why there is no room.
    let own: Vec<Node> = (0..3).map(|_| own(&crowded.unix)).collect();
    let error = crowded.id(20).err().expect("there is no room");
    assert_eq!(error.code(), Code::Peers, "{error}");
    drop(own);
    assert_eq!(crowded.tell("free"), "0 files");
    crowded.id(21).unwrap();
    assert!(Path::new("/proc").join(crowded.process.id().to_string()).exists());
    drop(first);
}

/// Lets several threads do something in a loop, until it has been done as often as a node lets it be done at once, and for two
/// seconds after that. Meanwhile something else is done. Afterwards, checks that it was not done more often than a node lets it be done.
fn flood(one: impl Fn(u64) -> bool + Sync, meanwhile: impl FnOnce()) {
    const THREADS: u64 = 4;
    const AT_ONCE: u64 = 32 * HANDSHAKES_A_SECOND;
    let (stop, count, start) = (AtomicBool::new(false), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (stop, count, one) = (&stop, &count, &one);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let counts = u64::from(one(thread << 32 | number));
                    count.fetch_add(counts, Ordering::Relaxed);
                }
            });
        }
        while count.load(Ordering::Relaxed) < AT_ONCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        let slow = Instant::now();
        meanwhile();
        std::thread::sleep((2 * SECOND).saturating_sub(slow.elapsed()));
        stop.store(true, Ordering::Relaxed);
    });
    let count = count.load(Ordering::Relaxed);
    let most = AT_ONCE + HANDSHAKES_A_SECOND * (start.elapsed().as_secs() + 1) + THREADS;
    assert!(count <= most, "{count} handshakes where {most} are allowed");
}

#[test]
fn who_connects_in_a_loop_is_slowed_down_and_holds_up_nobody_else() {
    let crowded = Crowded::new(2048);
    let others = |number| {
        let ids = [&crowded.tcp, &crowded.unix];
        let _own: Vec<Node> = (0..4).map(|number| own(ids[number % 2])).collect();
        let start = Instant::now();
        _ = Id::open(number, &crowded.other, crowded.address()).unwrap();
        let took = start.elapsed();
        assert!(took < 3 * SECOND, "another key waits for {took:?}");
    };
    flood(|number| crowded.hears(number, Some(crowded.key.clone())), || others(0));
    flood(|number| crowded.hears(number, None), || others(1));
    // Whoever has the key of the first flood gets in, too.
    crowded.id(1 << 40).unwrap();
}
