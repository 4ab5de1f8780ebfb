//! What goes wrong: strangers, connections that break, processes that stop or die. No event is lost without a word, and nobody
//! else is troubled.
#![cfg(unix)]

use isoform::Record;
use isoform_channel::{Cause, Event, Node, Policy, Sink};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u64,
    filling: [u64; 15],
}

fn tick(count: u64) -> Tick {
    Tick { count, filling: [count; 15] }
}

/// Where a node listens, as a socket address.
fn port(node: &Node) -> SocketAddr {
    node.addresses()[0].to_string().trim_start_matches("tcp:").parse().unwrap()
}

/// Takes everything until the source has left: how many events came, and how many were declared lost. Every number is
/// in one of both, in order.
fn take_all(sink: &mut Sink<Tick>, mut taken: impl FnMut(u64)) -> (u64, u64) {
    let (mut came, mut lost, mut next) = (0, 0, 0);
    loop {
        match sink.recv().unwrap() {
            Event::Record { record, stamp } => {
                assert_eq!((record.count, stamp.sequence), (next, next));
                assert_eq!(record.filling, [next; 15]);
                (came, next) = (came + 1, next + 1);
                taken(came);
            }
            Event::Gap(_, gap) => {
                assert_eq!(gap.first, next);
                (lost, next) = (lost + gap.count, next + gap.count);
            }
            Event::Joined { .. } | Event::Head { .. } => {}
            Event::Left(..) => return (came, lost),
            Event::Granted(_, granted) => panic!("{granted}"),
            Event::Given(_, given) => panic!("{}", given.values),
            Event::Refused(_, error) => panic!("{error}"),
        }
    }
}

#[test]
fn strangers_are_sent_away_and_harm_nobody() {
    let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().lossless().build::<Tick>().unwrap();
    let mut sink = other.open(channel.id().to_string()).unwrap().sink_builder().lossless().build::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        &[0; 1000],
        b"\x89ISO\x01\0\0\0",
        b"\x89ISL\x09\x09\0\0",
        &[0x89; 100_000],
    ];
    let mut held = Vec::new();
    for (i, garbage) in garbage.iter().enumerate() {
        let mut stranger = TcpStream::connect(port(&node)).unwrap();
        // It may have been closed before all is written.
        let _ = stranger.write_all(garbage);
        // One that says nothing more is left alone for a while, like all that are slow.
        held.push(TcpStream::connect(port(&node)).unwrap());
        stranger.set_read_timeout(Some(SOON)).unwrap();
        let ended = stranger.read_to_end(&mut Vec::new());
        assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{i}: it is closed");
        source.submit(&tick(i as u64)).unwrap();
    }
    let reader = thread::spawn(move || take_all(&mut sink, |_| {}));
    source.close(SOON).unwrap();
    assert_eq!(reader.join().unwrap(), (5, 0));
}

/// Passes on what both sides say, until so many bytes have come from the first one.
fn cut_after(to: SocketAddr, bytes: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut far = TcpStream::connect(to).unwrap();
        let (mut near_again, mut far_again) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let back = thread::spawn(move || std::io::copy(&mut near_again, &mut far_again));
        let mut buffer = [0; 1000];
        let mut passed = 0;
        while let Ok(count) = far.read(&mut buffer)
            && count > 0
            && passed < bytes
        {
            if near.write_all(&buffer[..count]).is_err() {
                break;
            }
            passed += count;
        }
        let _ = (near.shutdown(std::net::Shutdown::Both), far.shutdown(std::net::Shutdown::Both));
        let _ = back.join();
    });
    address
}

#[test]
fn a_connection_that_breaks_is_restored_and_what_it_lost_is_told() {
    for bytes in [5_000, 50_001, 1_000_003] {
        let (node, other) = (Node::new().unwrap(), Node::new().unwrap());
        let channel = node.create::<Tick>("ticks").unwrap();
        let mut source = channel.source_builder().lossless().build::<Tick>().unwrap();
        let proxy = cut_after(port(&node), bytes);
        let mut sink =
            other.open(format!("iso://{proxy}/ticks")).unwrap().sink_builder().lossless().build::<Tick>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        let reader = thread::spawn(move || take_all(&mut sink, |_| {}));
        (0..20_000).for_each(|count| _ = source.submit(&tick(count)).unwrap());
        let account = source.close(SOON).unwrap();
        let (came, lost) = reader.join().unwrap();
        let ledger = account[0].ledger;
        assert!(ledger.is_exact());
        assert_eq!((ledger.acknowledged, ledger.lost(), ledger.in_flight), (came, lost, 0), "{ledger}");
        assert_eq!((ledger.lost_for(Cause::Cut), came + lost), (lost, 20_000));
        assert!(came > 0);
    }
}

/// This test program, as another process that runs one of the functions below.
struct Process {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Process {
    fn start(role: &str, id: &str) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["another_process", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("ROLE", role)
            .env("ID", id)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Process { child, says }
    }

    /// The next line that begins with this word: what follows it.
    fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].trim().into();
            }
            line.clear();
        }
        panic!("the other process has ended without saying {word}");
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "what the other tests start as another process"]
#[expect(clippy::print_stdout, reason = "that is how it talks to them")]
fn another_process() {
    let (Ok(role), Ok(id)) = (std::env::var("ROLE"), std::env::var("ID")) else { return };
    let node = Node::new().unwrap();
    let channel = node.open(id).unwrap();
    let builder = match &role[..] {
        "drop oldest" => channel.sink_builder().policy(Policy::DropOldest { events: 100, bytes: 1 << 20 }),
        _ => channel.sink_builder().lossless(),
    };
    let mut sink = builder.build::<Tick>().unwrap();
    println!("READY");
    let (came, lost) = take_all(&mut sink, |came| {
        if came == 1 {
            println!("FIRST");
        }
    });
    println!("DONE {came} {lost}");
}

#[test]
fn a_process_that_dies_is_accounted_for_and_does_not_hold_up_its_source() {
    // Nobody listens any more where it was found, so that nobody waits for it until the linger is over.
    let node = Node::builder().linger(Duration::from_secs(3600)).build().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().lossless().build::<Tick>().unwrap();
    let mut process = Process::start("block", &channel.id().to_string());
    process.hear("READY");
    source.wait_for_sinks(1, SOON).unwrap();
    source.submit(&tick(0)).unwrap();
    process.hear("FIRST");
    process.signal("-STOP");
    // It makes its source wait. Once it is dead, there is nobody to wait for.
    let (send, gone) = mpsc::channel();
    let killer = thread::spawn(move || {
        gone.recv().unwrap();
        process.signal("-KILL");
        process
    });
    let mut submitted = 1;
    while source.sinks() > 0 {
        source.submit(&tick(submitted)).unwrap();
        submitted += 1;
        if submitted == 5_000 {
            send.send(()).unwrap();
        }
    }
    drop(killer.join().unwrap());
    let account = source.ledger();
    let ledger = account[0].ledger;
    assert!(ledger.is_exact() && !account[0].present);
    // The last one may have come too late.
    assert!(ledger.in_flight == 0 && (submitted - 1..=submitted).contains(&ledger.submitted), "{ledger}");
    let submitted = ledger.submitted;
    // Until it was known that the link has ended, its source may have dropped what it had no room for.
    let lost = ledger.lost_for(Cause::Unknown) + ledger.lost_for(Cause::Cut);
    assert_eq!(lost, submitted - ledger.acknowledged, "{ledger}");
}

#[test]
fn a_process_that_stops_misses_what_it_has_no_room_for_and_is_told() {
    // However long the rest takes, nobody takes the stopped process for dead: what it misses is lost for want of room only.
    let node = Node::builder().silence(Duration::from_secs(3600)).build().unwrap();
    let channel = node.create::<Tick>("ticks").unwrap();
    let mut source = channel.source_builder().lossless().build::<Tick>().unwrap();
    let mut stopped = Process::start("drop oldest", &channel.id().to_string());
    let mut running = Process::start("block", &channel.id().to_string());
    stopped.hear("READY");
    running.hear("READY");
    source.wait_for_sinks(2, SOON).unwrap();
    source.submit(&tick(0)).unwrap();
    stopped.hear("FIRST");
    stopped.signal("-STOP");
    // More than sockets and windows take.
    let count = 200_000;
    (1..count).for_each(|count| _ = source.submit(&tick(count)).unwrap());
    stopped.signal("-CONT");
    let account = source.close(SOON).unwrap();
    assert_eq!(running.hear("DONE"), format!("{count} 0"));
    let said = stopped.hear("DONE");
    let (came, lost) = said.split_once(' ').unwrap();
    let (came, lost): (u64, u64) = (came.parse().unwrap(), lost.parse().unwrap());
    assert_eq!(came + lost, count);
    let dropping = account.iter().find(|sink| sink.policy != Policy::Block).unwrap().ledger;
    assert!(dropping.is_exact());
    assert_eq!((dropping.acknowledged, dropping.lost_for(Cause::Overrun)), (came, lost), "{dropping}");
    assert!(lost > 0);
}
