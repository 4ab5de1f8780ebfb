//! Isoform's channels, at all ends.

use super::ends::{Far, Near, Offer, Transport};
use super::event::{Event, Huge, Kilo, Large, Other, Small, Ten, Thousand};
use crate::Result;
use crate::compiled::Directory;
use isoform::Record;
use isoform_channel::{Channel, Event as Came, Handler, Node, Policy, Sink, Source, Window};
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Nothing takes so long but what will not happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// How events are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submits {
    /// One by one, by reference.
    One,
    /// The same event again and again, without being copied. So all have the number 0.
    Owned,
    /// One by one, by reference; and sinks are asked again and again whether an event has come.
    Polled,
    /// As many at once as go into 64 KiB.
    Many,
}

/// So many bytes are submitted at once.
const MANY: usize = 64 << 10;

/// A node that is reached so, and the place of its socket.
pub(super) fn node(transport: Transport) -> Result<(Node, Directory)> {
    let directory = Directory::new()?;
    let address = match transport {
        Transport::Tcp => "127.0.0.1:0".into(),
        Transport::Unix => format!("unix:{}", directory.path().join("node").display()),
    };
    Ok((Node::builder().listen(address).build()?, directory))
}

/// An end for events of this size.
pub(super) fn offer(transport: Transport, bytes: usize, submits: Submits) -> Result<Offer> {
    match bytes {
        100 => End::<Small>::offer(transport, submits),
        1_000 => End::<Thousand>::offer(transport, submits),
        1_024 => End::<Kilo>::offer(transport, submits),
        10_000 => End::<Ten>::offer(transport, submits),
        100_000 => End::<Large>::offer(transport, submits),
        1_000_000 => End::<Huge>::offer(transport, submits),
        _ => Err(format!("there is no event of {bytes} bytes").into()),
    }
}

/// The other end of an offer.
pub(super) fn connect(transport: Transport, bytes: usize, address: &str, submits: Submits) -> Result<Box<dyn Far>> {
    match bytes {
        100 => End::<Small>::connect(transport, address, submits),
        1_000 => End::<Thousand>::connect(transport, address, submits),
        1_024 => End::<Kilo>::connect(transport, address, submits),
        10_000 => End::<Ten>::connect(transport, address, submits),
        100_000 => End::<Large>::connect(transport, address, submits),
        1_000_000 => End::<Huge>::connect(transport, address, submits),
        _ => Err(format!("there is no event of {bytes} bytes").into()),
    }
}

/// Either end: a channel for events that leave, and one for those that come.
struct End<T: Event> {
    submits: Submits,
    /// The next event, or the next ones.
    events: Vec<T>,
    shared: Arc<T>,
    leaving: Source<T>,
    coming: Sink<T>,
    node: Node,
    _directory: Directory,
}

impl<T: Event> End<T> {
    fn new(node: &Node, leaving: &Channel, coming: &Channel, submits: Submits, directory: Directory) -> Result<End<T>> {
        // Without that, a slow sink would lose events: the machine may be busy with something else.
        let leaving = leaving.source_builder().lossless().build()?;
        let coming = coming.sink_builder().lossless().build()?;
        let at_once = if submits == Submits::Many { (MANY / size_of::<T>()).max(1) } else { 1 };
        let (events, shared) = (vec![T::new(0); at_once], Arc::new(T::new(0)));
        Ok(End { submits, events, shared, leaving, coming, node: node.clone(), _directory: directory })
    }

    fn offer(transport: Transport, submits: Submits) -> Result<Offer> {
        let (node, directory) = node(transport)?;
        let (there, back) = (node.create::<T>("there")?, node.create::<T>("back")?);
        let end = End::<T>::new(&node, &there, &back, submits, directory)?;
        let accept = || {
            end.leaving.wait_for_sinks(1, PATIENCE)?;
            let end: Box<dyn Near> = Box::new(end);
            Ok(end)
        };
        Ok(Offer { address: format!("{},{}", there.id(), back.id()), accept: Box::new(accept) })
    }

    fn connect(transport: Transport, address: &str, submits: Submits) -> Result<Box<dyn Far>> {
        let (there, back) = address.split_once(',').ok_or("two channels have two ids")?;
        let (node, directory) = node(transport)?;
        let end = End::<T>::new(&node, &node.open(back)?, &node.open(there)?, submits, directory)?;
        end.leaving.wait_for_sinks(1, PATIENCE)?;
        Ok(Box::new(end))
    }

    #[inline]
    fn submit(&mut self, step: u32) -> Result<()> {
        if self.submits == Submits::Owned {
            self.leaving.submit_owned(self.shared.clone())?;
        } else {
            self.events[0].number(step);
            self.leaving.submit(&self.events[0])?;
        }
        Ok(())
    }
}

impl<T: Event> Near for End<T> {
    fn ping(&mut self, step: u32) -> Result<()> {
        self.submit(step)?;
        next(&self.node, &mut self.coming, self.submits, step, |_| Ok(()))
    }

    fn send(&mut self, mut steps: Range<u32>) -> Result<()> {
        if self.submits != Submits::Many {
            return steps.try_for_each(|step| self.submit(step));
        }
        while !steps.is_empty() {
            let count = self.events.len().min(steps.len());
            self.events.iter_mut().zip(steps.by_ref().take(count)).for_each(|(event, step)| event.number(step));
            self.leaving.submit_many(&self.events[..count])?;
        }
        Ok(())
    }
}

impl<T: Event> Far for End<T> {
    fn echo(&mut self, mut steps: Range<u32>) -> Result<()> {
        let End { leaving, coming, submits, node, .. } = self;
        steps.try_for_each(|step| next(node, coming, *submits, step, |event| Ok(leaving.submit(event).map(drop)?)))
    }

    fn receive(&mut self, mut steps: Range<u32>) -> Result<()> {
        steps.try_for_each(|step| next(&self.node, &mut self.coming, self.submits, step, |_| Ok(())))
    }
}

/// Waits for the next event, which must be this one.
#[inline]
fn next<T: Event>(
    node: &Node,
    sink: &mut Sink<T>,
    submits: Submits,
    step: u32,
    then: impl FnOnce(&T) -> Result<()>,
) -> Result<()> {
    loop {
        let came = match submits {
            Submits::Polled => {
                // Otherwise the node's own thread would read, for which this loop leaves no time on a core for both.
                node.poll(Duration::ZERO)?;
                sink.try_recv()?
            }
            _ => Some(sink.recv()?),
        };
        let Some(came) = came else { continue };
        match came {
            Came::Record { stamp, record } => {
                let (event, number) = (T::of(record), if submits == Submits::Owned { 0 } else { step });
                // The whole of one of them is looked at before anything is timed.
                let right = event.step() == number && (step > 0 || *event == T::new(number));
                return match right && stamp.sequence == u64::from(step) {
                    true => then(event),
                    false => Err(format!("event {step} is wrong: {} came", stamp.sequence).into()),
                };
            }
            Came::Joined { .. } => {}
            other => return Err(format!("instead of event {step}: {:?}", other.map(drop)).into()),
        }
    }
}

/// A source for many processes.
pub(super) struct Fan {
    source: Source<Small>,
    id: String,
    _directory: Directory,
}

impl Fan {
    pub(super) fn new(transport: Transport) -> Result<Fan> {
        let (node, directory) = node(transport)?;
        let channel = node.create::<Small>("fan")?;
        Ok(Fan { source: channel.source()?, id: channel.id().to_string(), _directory: directory })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Waits until there are so many sinks, neither more nor fewer.
    pub(super) fn wait(&self, sinks: usize) -> Result<()> {
        let start = now();
        while self.source.sinks() != sinks {
            if now() - start > PATIENCE.as_nanos() as u64 {
                return Err(format!("{} sinks instead of {sinks}", self.source.sinks()).into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    pub(super) fn send(&mut self, step: u32) -> Result<()> {
        let sent = now();
        let event = Small { sent: [sent as u32, (sent >> 32) as u32], ..Small::new(step) };
        self.source.submit(&event)?;
        Ok(())
    }
}

/// A sink in one of these processes. What it has no time for is lost.
pub(super) struct Watcher {
    sink: Sink<Small>,
    _directory: Directory,
}

impl Watcher {
    pub(super) fn new(transport: Transport, id: &str) -> Result<Watcher> {
        let (node, directory) = node(transport)?;
        let policy = Policy::DropOldest { events: 1_000, bytes: 1 << 20 };
        let sink = node.open(id)?.sink_builder().policy(policy).window(Window { events: 1_000, bytes: 1 << 20 });
        Ok(Watcher { sink: sink.build()?, _directory: directory })
    }

    /// Receives until the last of these events, and returns how late they were that came, in nanoseconds.
    pub(super) fn watch(&mut self, steps: Range<u32>) -> Result<Vec<u64>> {
        let mut delays = Vec::new();
        loop {
            if let Came::Record { record, .. } = self.sink.recv()? {
                let sent = u64::from(record.sent[0]) | u64::from(record.sent[1]) << 32;
                if steps.contains(&record.step) {
                    delays.push(now().saturating_sub(sent));
                }
                if record.step + 1 >= steps.end {
                    return Ok(delays);
                }
            }
        }
    }
}

/// A time that all processes agree on, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A source and a handler in one process.
pub(super) struct Handled {
    source: Source<Small>,
    node: Node,
    /// The event that was handled last.
    last: Arc<AtomicU32>,
    _handler: Handler,
}

impl Handled {
    /// The handler has the source's type.
    pub(super) fn equal() -> Result<Handled> {
        Handled::new::<Small>(|event| event.step)
    }

    /// The handler has another type.
    pub(super) fn different() -> Result<Handled> {
        Handled::new::<Other>(|event| event.step as u32)
    }

    fn new<T>(step: impl for<'e> Fn(&'e T::Native<'e>) -> u32 + Send + 'static) -> Result<Handled>
    where
        T: Record<Static = T> + 'static,
    {
        let node = Node::new()?;
        let (channel, last) = (node.create::<Small>("local")?, Arc::new(AtomicU32::new(u32::MAX)));
        let seen = last.clone();
        let handler = channel.sink_builder().lossless().on::<T>(move |event| {
            if let Came::Record { record, .. } = event {
                seen.store(step(record), Ordering::Relaxed);
            }
        })?;
        Ok(Handled { source: channel.source_builder().lossless().build()?, node, last, _handler: handler })
    }

    /// Submits an event, and handles it.
    #[inline]
    pub(super) fn handle(&mut self, event: &Small) -> Result<()> {
        self.source.submit(event)?;
        self.node.poll(Duration::ZERO)?;
        match self.last.load(Ordering::Relaxed) {
            step if step == event.step => Ok(()),
            step => Err(format!("event {step} was handled instead of {}", event.step).into()),
        }
    }
}

/// A source that has no sink.
pub(super) struct Alone(Source<Small>);

impl Alone {
    pub(super) fn new() -> Result<Alone> {
        Ok(Alone(Node::new()?.create::<Small>("alone")?.source()?))
    }

    #[inline]
    pub(super) fn submit(&mut self, event: &Small) -> Result<()> {
        self.0.submit(event)?;
        Ok(())
    }
}
