//! The system refuses to wait for a connection any more, as it may when it has no memory. Then the connection ends, and the link
//! makes another one: nothing hangs, and events that were under way are declared lost.
#![cfg(unix)]

use isoform::{Code, Error, Record, Result};
use isoform_channel::transport::{Awaited, Connection, Door, Moved, Transport, Watch};
use isoform_channel::{Address, Cause, Channel, Event, Gap, Node, Sink};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Much longer than what takes place here, and much shorter than the silence after which a link would give a connection up.
const SOON: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_secs(300);

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Tick {
    count: u64,
}

/// TCP, with connections that one time hand the poller a file, which no system can wait for.
#[derive(Clone, Debug, Default)]
struct Flawed(Arc<Orders>);

/// What is to go wrong next.
#[derive(Debug, Default)]
struct Orders {
    /// The next thread that waits within reading finds nothing, and nobody can wait for the connection afterwards.
    read: AtomicBool,
    /// The same for the next write.
    write: AtomicBool,
    /// How often either was done.
    done: AtomicU32,
}

#[derive(Debug)]
struct Listener(TcpListener, Flawed);

#[derive(Debug)]
struct Dialed(Option<Stream>);

#[derive(Debug)]
struct Stream {
    stream: TcpStream,
    orders: Arc<Orders>,
    file: File,
    is_broken: AtomicBool,
}

impl Flawed {
    fn stream(&self, stream: TcpStream) -> Result<Stream> {
        stream.set_nonblocking(true).map_err(failed)?;
        let file = tempfile::tempfile().map_err(failed)?;
        Ok(Stream { stream, orders: self.0.clone(), file, is_broken: AtomicBool::new(false) })
    }
}

impl Stream {
    /// Whether it does as it was ordered, once.
    fn breaks(&self, order: &AtomicBool) -> bool {
        let breaks = order.swap(false, Ordering::SeqCst);
        if breaks {
            self.is_broken.store(true, Ordering::SeqCst);
            self.orders.done.fetch_add(1, Ordering::SeqCst);
        }
        breaks
    }
}

fn failed(error: io::Error) -> Error {
    Error::new(Code::Io).found(error)
}

fn moved(result: io::Result<usize>) -> Result<Moved> {
    match result {
        Ok(0) => Ok(Moved::Closed),
        Ok(bytes) => Ok(Moved::Bytes(bytes)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Moved::Blocked),
        Err(error) => Err(failed(error)),
    }
}

impl Transport for Flawed {
    fn serves(&self, address: &Address) -> bool {
        matches!(address, Address::Tcp(_))
    }

    fn listen(&self, _: &Address) -> Result<(Address, Box<dyn Door>)> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok((Address::Tcp(at), Box::new(Listener(listener, self.clone()))))
    }

    fn dial(&self, address: &Address, _: Instant) -> Result<Box<dyn Door>> {
        let Address::Tcp(at) = address else { unreachable!("it serves no other") };
        let stream = TcpStream::connect(at).map_err(failed)?;
        Ok(Box::new(Dialed(Some(self.stream(stream)?))))
    }
}

impl Door for Listener {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        match self.0.accept() {
            Ok((stream, _)) => Ok(Some(Box::new(self.1.stream(stream)?))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Read(self.0.as_fd().into())
    }
}

impl Door for Dialed {
    fn next(&mut self) -> Result<Option<Box<dyn Connection>>> {
        Ok(self.0.take().map(|stream| Box::new(stream) as Box<dyn Connection>))
    }

    fn awaits(&self) -> Awaited<'_> {
        Awaited::Soon
    }
}

impl Connection for Stream {
    fn read(&self, places: &mut [IoSliceMut<'_>], wait: bool) -> Result<Moved> {
        if wait && self.breaks(&self.orders.read) {
            return Ok(Moved::Blocked);
        }
        if wait {
            thread::sleep(Duration::from_millis(1));
        }
        moved((&self.stream).read_vectored(places))
    }

    fn write(&self, slices: &[IoSlice<'_>], _: bool) -> Result<Moved> {
        if self.breaks(&self.orders.write) {
            return Ok(Moved::Blocked);
        }
        moved((&self.stream).write_vectored(slices))
    }

    fn end(&self) {
        // It fails if the other side was first.
        _ = self.stream.shutdown(Shutdown::Both);
    }

    fn end_writing(&self) {
        _ = self.stream.shutdown(Shutdown::Write);
    }

    fn watch(&self) -> Watch<'_> {
        Watch::Handle(match self.is_broken.load(Ordering::SeqCst) {
            true => self.file.as_fd().into(),
            false => self.stream.as_fd().into(),
        })
    }

    fn peer(&self) -> &str {
        "a flawed connection"
    }
}

/// Two nodes that are linked by flawed connections: the channel of one, and a sink at the other.
fn linked() -> (Arc<Orders>, Channel, Sink<Tick>) {
    let flawed = Flawed::default();
    let node = || Node::builder().transport(flawed.clone()).silence(SILENCE).build().unwrap();
    let channel = node().create::<Tick>("ticks").unwrap();
    let sink = node().open(channel.id().to_string()).unwrap().sink().unwrap();
    (flawed.0, channel, sink)
}

/// Takes events until this one has come or was cut off, each in order.
fn take_until(sink: &mut Sink<Tick>, next: &mut u64, last: u64) {
    while *next <= last {
        match sink.recv_timeout(SOON).unwrap().expect("an event, and no silence") {
            Event::Record { record, .. } => {
                assert_eq!(record.count, *next);
                *next += 1;
            }
            Event::Gap(_, Gap { first, count, cause: Cause::Cut }) => {
                assert_eq!(first, *next);
                *next += count;
            }
            Event::Joined { .. } => {}
            other => panic!("event {next} is {:?}", other.map(|tick| tick.count)),
        }
    }
}

#[test]
fn a_connection_that_was_waited_for_within_reading_ends_if_the_poller_cannot_have_it_back() {
    let (orders, channel, mut sink) = linked();
    let mut source = channel.source::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    orders.read.store(true, Ordering::SeqCst);
    let mut next = 0;
    // As events follow closely on one another, the sink's thread soon waits within reading.
    for count in 0..30 {
        source.submit(&Tick { count }).unwrap();
        take_until(&mut sink, &mut next, count);
    }
    assert_eq!((orders.done.load(Ordering::SeqCst), sink.counts().lost), (1, 1));
}

#[test]
fn a_connection_that_takes_no_more_ends_if_the_poller_cannot_wait_until_it_does() {
    let (orders, channel, mut sink) = linked();
    let mut source = channel.source::<Tick>().unwrap();
    source.wait_for_sinks(1, SOON).unwrap();
    let mut next = 0;
    for count in 0..20 {
        orders.write.store(count == 10, Ordering::SeqCst);
        source.submit(&Tick { count }).unwrap();
        take_until(&mut sink, &mut next, count);
    }
    assert_eq!((orders.done.load(Ordering::SeqCst), sink.counts().lost), (1, 1));
}
