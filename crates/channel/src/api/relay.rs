//! Relays: programs that pass events on, unchanged and unconverted, if a function of theirs says so.

use super::event::Event;
use super::sink::MessageSink;
use super::source::MessageSource;
use isoform::{Incoming, Result};
use isoform_channel_proto::{NodeId, Origin, SourceRef};
use std::collections::HashMap;
use std::time::Duration;

/// Passes events on from a sink to a source, in the memory representation of whoever submitted them: what the [query
/// language](crate::SinkBuilder::query) cannot say, a function of this program decides. Sinks behind the relay see in their
/// [`Stamp`](crate::Stamp) where an event comes from.
///
/// ```
/// use isoform::Record;
/// use isoform_channel::{Event, Node, Relay};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Gauge {
///     step: u64,
///     depth: [f64; 4],
/// }
/// let channel = Node::new()?.create::<Gauge>("gauges")?;
/// let moved = Node::new()?.create_with("moved", None)?;
/// let mut source = channel.source::<Gauge>()?;
/// let mut sink = moved.sink::<Gauge>()?;
/// let mut relay = Relay::new(channel.sink_builder().build_messages()?, moved.source_builder().build_messages()?);
/// for (step, deepest) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
///     let mut depth = [0.0; 4];
///     depth[deepest] = 2.5;
///     source.submit(&Gauge { step, depth })?;
/// }
/// source.close(std::time::Duration::ZERO)?;
///
/// // Those in which the deepest place is another one than before.
/// let mut last = None;
/// let mut moves = |message: &isoform::Incoming<'_>| {
///     let view = message.view()?;
///     let depth = (0..4).map(|at| view.f64(&format!("depth[{at}]"))).collect::<Result<Vec<_>, _>>()?;
///     let deepest = (0..4).max_by(|a, b| depth[*a].total_cmp(&depth[*b]));
///     Ok(std::mem::replace(&mut last, deepest) != deepest)
/// };
/// while !matches!(relay.next(&mut moves)?, Event::Left(_)) {}
/// let (_, source) = relay.into_parts();
/// drop(source);
///
/// let mut steps = Vec::new();
/// loop {
///     match sink.recv()? {
///         Event::Record { stamp, record } => steps.push((record.step, stamp.origin.map(|origin| origin.sequence))),
///         Event::Left(_) => break,
///         _ => {}
///     }
/// }
/// assert_eq!(steps, [(0, Some(0)), (2, Some(2))]);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Debug)]
pub struct Relay {
    sink: MessageSink,
    source: MessageSource,
    /// The nodes of the sources that are there, and their numbers there.
    places: HashMap<SourceRef, (NodeId, u32)>,
}

impl Relay {
    /// Passes on what comes to the sink, by the source. They are best on different channels.
    pub fn new(sink: MessageSink, source: MessageSource) -> Relay {
        Relay { sink, source, places: HashMap::new() }
    }

    /// Waits for the next event. If it is a record, it is passed on if `wants` says so. Returns what has happened, and of a record,
    /// whether it was passed on. Events that are lost in front of the relay are told here alone: sinks behind it see that the
    /// numbers of the [origin](crate::Stamp::origin) are not all there.
    ///
    /// # Errors
    /// Those of `wants`; of [`MessageSink::recv`]; of [`MessageSource::relay`].
    pub fn next(&mut self, wants: impl FnMut(&Incoming<'_>) -> Result<bool>) -> Result<Event<bool>> {
        let event = pass(self.sink.recv()?, &mut self.source, &mut self.places, wants)?;
        Ok(self.noted(event))
    }

    /// The same, but waits no longer than this.
    ///
    /// # Errors
    /// As [`next`](Relay::next).
    pub fn next_timeout(
        &mut self,
        patience: Duration,
        wants: impl FnMut(&Incoming<'_>) -> Result<bool>,
    ) -> Result<Option<Event<bool>>> {
        let Some(event) = self.sink.recv_timeout(patience)? else { return Ok(None) };
        let event = pass(event, &mut self.source, &mut self.places, wants)?;
        Ok(Some(self.noted(event)))
    }

    /// Notes the place of a source that has joined.
    fn noted(&mut self, event: Event<bool>) -> Event<bool> {
        if let Event::Joined(number, ..) = event {
            let place = self.sink.place(number);
            self.places.extend(place.map(|place| (number, place)));
        }
        event
    }

    /// The sink, of which the relay takes the events.
    pub fn sink(&self) -> &MessageSink {
        &self.sink
    }

    /// The source, with the account of what was passed on.
    pub fn source(&self) -> &MessageSource {
        &self.source
    }

    /// The sink and the source.
    pub fn into_parts(self) -> (MessageSink, MessageSource) {
        (self.sink, self.source)
    }
}

fn pass(
    event: Event<Incoming<'_>>,
    source: &mut MessageSource,
    places: &mut HashMap<SourceRef, (NodeId, u32)>,
    mut wants: impl FnMut(&Incoming<'_>) -> Result<bool>,
) -> Result<Event<bool>> {
    let mut passes = false;
    if let Event::Record { stamp, record } = &event {
        passes = wants(record)?;
        if passes {
            let first = places.get(&stamp.source);
            let first = first.map(|&(node, source)| Origin { node, source, sequence: stamp.sequence });
            match stamp.origin.or(first) {
                Some(origin) => source.relay(record, origin)?,
                None => source.submit(record)?,
            };
        }
    }
    if let Event::Left(number) = &event {
        places.remove(number);
    }
    Ok(event.map(|_| passes))
}
