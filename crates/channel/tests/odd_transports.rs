//! Transports that do all that the seam allows, if nobody would expect it, and some that break its rules: the first carry
//! every event, and the others end their connection and nothing else.
#![cfg(unix)]

mod memory;

use isoform::{Code, Error, Record, Result};
use isoform_channel::transport::{Awaited, Connection, Door, Moved, Ready, Transport, Watch};
use isoform_channel::{Address, Event, Node, Policy, Source, Window};
use memory::Memory;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

#[derive(Record, Debug, PartialEq)]
struct Note {
    number: u32,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Oddity {
    /// Moves a byte or two at a time.
    Slow,
    /// Moves nothing two times of three, and says that it has moved nothing, instead of that it is blocked.
    Idle,
    /// Tells that it is ready whenever it is asked for anything.
    Eager,
    /// Wants so much to be written at once.
    Ahead(usize),
    /// Reports that more was read, or written, than there was.
    ReadsTooMuch(usize),
    WritesTooMuch(usize),
    /// Reads nothing while it is [`DEAF`].
    Deaf,
    /// Counts the writes that may wait.
    Counted,
}

static DEAF: AtomicBool = AtomicBool::new(false);
static WAITS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Odd<T> {
    inner: T,
    oddity: Oddity,
    ready: Mutex<Option<Ready>>,
    calls: AtomicUsize,
}

impl<T> Odd<T> {
    fn new(inner: T, oddity: Oddity) -> Odd<T> {
        Odd { inner, oddity, ready: Mutex::default(), calls: AtomicUsize::new(0) }
    }

    /// How often it was called before.
    fn call(&self) -> usize {
        if self.oddity == Oddity::Eager {
            self.ready.lock().unwrap().iter().for_each(Ready::now);
        }
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl Transport for Odd<Memory> {
    fn serves(&self, address: &Address) -> bool {
        self.inner.serves(address)
    }

    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        let (address, door) = self.inner.listen(address)?;
        Ok((address, Box::new(Odd::new(door, self.oddity))))
    }

    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>> {
        Ok(Box::new(Odd::new(self.inner.dial(address, deadline)?, self.oddity)))
    }
}

impl Door for Odd<Box<dyn Door>> {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        self.call();
        let odd = |connection| Box::new(Odd::new(connection, self.oddity)) as Box<dyn Connection>;
        Ok(self.inner.next()?.map(odd))
    }

    fn awaits(&self) -> Awaited<'_> {
        self.call();
        self.inner.awaits()
    }

    fn tell(&mut self, ready: Ready) {
        *self.ready.lock().unwrap() = Some(ready.clone());
        self.inner.tell(ready);
    }
}

impl Connection for Odd<Box<dyn Connection>> {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        let calls = self.call();
        let room: usize = places.iter().map(|place| place.len()).sum();
        let first = places.iter_mut().find(|place| !place.is_empty()).expect("there is always room");
        match self.oddity {
            Oddity::Slow => {
                let length = first.len().min(1 + calls % 2);
                self.inner.read(&mut [IoSliceMut::new(&mut first[..length])], wait)
            }
            Oddity::Idle if !calls.is_multiple_of(3) => Ok(Moved::Bytes(0)),
            Oddity::ReadsTooMuch(more) => Ok(Moved::Bytes(room.saturating_add(more))),
            Oddity::Deaf if DEAF.load(Ordering::Relaxed) => Ok(Moved::Blocked),
            _ => self.inner.read(places, wait),
        }
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        let calls = self.call();
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let first = slices.iter().find(|slice| !slice.is_empty()).expect("there is always something");
        match self.oddity {
            Oddity::Slow => self.inner.write(&[IoSlice::new(&first[..first.len().min(1 + calls % 2)])], wait),
            Oddity::Idle if !calls.is_multiple_of(3) => Ok(Moved::Bytes(0)),
            Oddity::WritesTooMuch(more) => Ok(Moved::Bytes(length.saturating_add(more))),
            Oddity::Counted => {
                WAITS.fetch_add(usize::from(wait), Ordering::Relaxed);
                self.inner.write(slices, wait)
            }
            _ => self.inner.write(slices, wait),
        }
    }

    fn end(&self) {
        self.call();
        self.inner.end();
    }

    fn end_writing(&self) {
        self.call();
        self.inner.end_writing();
    }

    fn watch(&self) -> Watch<'_> {
        self.call();
        self.inner.watch()
    }

    fn tell(&self, ready: Ready) {
        *self.ready.lock().unwrap() = Some(ready.clone());
        self.inner.tell(ready);
    }

    fn peer(&self) -> &str {
        self.inner.peer()
    }

    fn ahead(&self) -> Option<usize> {
        match self.oddity {
            Oddity::Ahead(bytes) => Some(bytes),
            _ => self.inner.ahead(),
        }
    }
}

fn node(oddity: Oddity) -> Node {
    Node::builder().transport(Odd::new(Memory, oddity)).build().unwrap()
}

/// A transport whose connections go to another machine, as it says, where nobody can listen.
#[derive(Debug)]
struct Elsewhere<T>(T);

impl Transport for Elsewhere<Memory> {
    fn serves(&self, address: &Address) -> bool {
        self.0.serves(address)
    }

    fn listen(&self, address: &Address) -> Result<(Address, Box<dyn Door>)> {
        match address.is_local() {
            true => self.0.listen(address),
            false => Err(Error::new(Code::Io).found("no permission to listen here")),
        }
    }

    fn dial(&self, address: &Address, deadline: Instant) -> Result<Box<dyn Door>> {
        Ok(Box::new(Elsewhere(self.0.dial(address, deadline)?)))
    }
}

impl Door for Elsewhere<Box<dyn Door>> {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        Ok(self.0.next()?.map(|connection| Box::new(Elsewhere(connection)) as Box<dyn Connection>))
    }

    fn awaits(&self) -> Awaited<'_> {
        self.0.awaits()
    }
}

impl Connection for Elsewhere<Box<dyn Connection>> {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        self.0.read(places, wait)
    }

    fn write(&self, slices: &[IoSlice<'_>], wait: bool) -> Result<Moved> {
        self.0.write(slices, wait)
    }

    fn end(&self) {
        self.0.end();
    }

    fn end_writing(&self) {
        self.0.end_writing();
    }

    fn watch(&self) -> Watch<'_> {
        self.0.watch()
    }

    fn tell(&self, ready: Ready) {
        self.0.tell(ready);
    }

    fn peer(&self) -> &str {
        self.0.peer()
    }

    fn own(&self) -> Option<SocketAddr> {
        Some("192.0.2.7:7".parse().unwrap())
    }
}

#[test]
fn a_node_that_cannot_listen_where_others_see_it_says_so() {
    let here = Node::builder().transport(Memory).build().unwrap();
    let channel = here.create_with("river", None).unwrap();
    let there = Node::builder().transport(Elsewhere(Memory)).insecure(true).build().unwrap();
    let far = there.open(channel.id().to_string()).unwrap();
    // To its own program, and to others.
    for channel in [&far, &channel] {
        let info = channel.info(SOON).unwrap();
        let failures = info.members.iter().filter_map(|member| member.report.as_ref()).flat_map(|it| &it.refusals);
        let failures: Vec<_> = failures.collect();
        assert_eq!((failures.len(), failures[0].code), (1, Code::Io as u16), "{failures:?}");
        let said = &failures[0].last;
        assert!(
            said.contains("listening at tcp:192.0.2.7:0") && said.contains("no permission to listen here"),
            "{said}"
        );
    }
}

#[test]
fn every_event_arrives_however_a_transport_moves_bytes() {
    let odd = [Oddity::Slow, Oddity::Idle, Oddity::Eager, Oddity::Ahead(0), Oddity::Ahead(usize::MAX)];
    for oddity in odd {
        let (near, far) = (node(oddity), node(oddity));
        let channel = near.create::<Note>("notes").unwrap();
        let mut sink = far.open(channel.id().to_string()).unwrap().sink_builder().lossless().build::<Note>().unwrap();
        let mut source = channel.source_builder().lossless().patience(SOON).build::<Note>().unwrap();
        source.wait_for_sinks(1, SOON).unwrap();
        // Some that are short, and one that goes in several parts.
        let note = |number| Note { number, text: "x".repeat(if number == 50 { 100_000 } else { 5 }) };
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|number| _ = source.submit(&note(number)).unwrap()));
            let mut number = 0;
            while number < 100 {
                if let Event::Record { record, .. } = sink.recv_owned().unwrap() {
                    assert_eq!(record, note(number), "{oddity:?}");
                    number += 1;
                }
            }
        });
    }
}

#[test]
fn a_transport_that_claims_to_have_moved_more_than_there_was_ends_its_connection() {
    let plain = || Node::builder().transport(Memory).build().unwrap();
    let channel = plain().create::<Note>("notes").unwrap();
    for more in [1, usize::MAX] {
        for oddity in [Oddity::ReadsTooMuch(more), Oddity::WritesTooMuch(more)] {
            let error = node(oddity).open(channel.id().to_string()).unwrap_err();
            assert!(matches!(error.code(), Code::Io | Code::Unreachable), "{oddity:?}: {error}");
        }
    }
    plain().open(channel.id().to_string()).unwrap();
}

/// Submits 32 KiB at a time to so many sinks, which take events first and then nothing. Returns how many writes were waited
/// for, and how many events until there was no room within `patience`.
fn submit_to_deaf(sinks: usize, lossless: bool, patience: Duration) -> (usize, usize) {
    let near = node(Oddity::Counted);
    let channel = near.create::<Note>("notes").unwrap();
    let source = channel.source_builder().patience(patience);
    let mut source = if lossless { source.lossless() } else { source }.build::<Note>().unwrap();
    let far: Vec<Node> = (0..sinks).map(|_| node(Oddity::Deaf)).collect();
    let all = Window { events: u64::MAX, bytes: u64::MAX };
    let there = far.iter().map(|far| {
        let sink = far.open(channel.id().to_string()).unwrap().sink_builder().window(all);
        if lossless { sink.lossless() } else { sink.policy(Policy::Block) }.build::<Note>().unwrap()
    });
    let _sinks: Vec<_> = there.collect();
    source.wait_for_sinks(sinks, SOON).unwrap();
    DEAF.store(true, Ordering::Relaxed);
    let note = Note { number: 0, text: "x".repeat(32 << 10) };
    let mut submitted = 0;
    let is_full = |source: &Source<Note>| source.ledger().iter().any(|sink| sink.policy != Policy::Block);
    while submitted < 10_000 && source.submit(&note).is_ok() && !is_full(&source) {
        submitted += 1;
    }
    DEAF.store(false, Ordering::Relaxed);
    (WAITS.swap(0, Ordering::Relaxed), submitted)
}

#[test]
fn a_source_waits_within_a_write_only_for_one_connection_and_if_it_has_the_time() {
    let long = Duration::from_millis(100);
    let (waits, submitted) = submit_to_deaf(1, true, long);
    assert!((1..=20).contains(&waits) && submitted < 10_000, "{waits}, {submitted}");
    // One write after another would take longer than it may wait.
    for (sinks, lossless, patience) in
        [(20, true, long), (1, true, Duration::ZERO), (20, false, SOON), (1, false, SOON)]
    {
        let (waits, submitted) = submit_to_deaf(sinks, lossless, patience);
        assert!(waits == 0 && submitted < 10_000, "{waits}, {submitted} at {sinks} sinks");
    }
}
