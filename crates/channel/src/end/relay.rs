//! Relays: a function of the program chooses events, which are passed on unchanged and unconverted.

use super::sink::Sink;
use super::source::Source;
use crate::api::event::Event;
use isoform::Messages;
use isoform::{Incoming, Result};
use isoform_channel_proto::{NodeId, Origin, SourceRef};
use std::collections::HashMap;
use std::time::Duration;

/// Passes events on from a sink to a source, as their sender had them in memory. A function of this program chooses them, if the [query
/// language](crate::SinkBuilder::query) cannot. Sinks behind the relay see in the [`Stamp`](crate::Stamp) of an event where it was first
/// submitted.
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
/// let mut relay = Relay::new(channel.sink()?, moved.source()?);
/// for (step, deepest) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
///     let mut depth = [0.0; 4];
///     depth[deepest] = 2.5;
///     source.submit(&Gauge { step, depth })?;
/// }
/// source.close(std::time::Duration::ZERO)?;
///
/// // Those in which the deepest place has changed.
/// let mut last = None;
/// let mut moves = |message: &isoform::Incoming<'_>| {
///     let view = message.view()?;
///     let depth = (0..4).map(|at| view.f64(&format!("depth[{at}]"))).collect::<Result<Vec<_>, _>>()?;
///     let deepest = (0..4).max_by(|a, b| depth[*a].total_cmp(&depth[*b]));
///     Ok(std::mem::replace(&mut last, deepest) != deepest)
/// };
/// while !matches!(relay.next(&mut moves)?, Event::Left(..)) {}
/// let (_, source) = relay.into_parts();
/// drop(source);
///
/// let mut steps = Vec::new();
/// loop {
///     match sink.recv()? {
///         Event::Record { stamp, record } => steps.push((record.step, stamp.origin.map(|origin| origin.sequence))),
///         Event::Left(..) => break,
///         _ => {}
///     }
/// }
/// assert_eq!(steps, [(0, Some(0)), (2, Some(2))]);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Debug)]
pub struct Relay {
    sink: Sink<Messages>,
    source: Source<Messages>,
    /// The nodes of the sources that are there, and their numbers there.
    places: HashMap<SourceRef, (NodeId, u32)>,
}

impl Relay {
    /// Passes on what the sink receives, through the source. Sink and source should be of different channels.
    pub fn new(sink: Sink<Messages>, source: Source<Messages>) -> Relay {
        Relay { sink, source, places: HashMap::new() }
    }

    /// Waits for the next event. Passes a record on if `wants` returns true for it. Returns the event; for a record, whether it was passed
    /// on. Only this function tells of events that are lost before the relay: sinks behind the relay just see that numbers are missing
    /// in the [origins](crate::Stamp::origin).
    ///
    /// # Errors
    /// Those of `wants`; of [`Sink::recv`]; of [`Source::relay`].
    pub fn next(&mut self, wants: impl FnMut(&Incoming<'_>) -> Result<bool>) -> Result<Event<bool>> {
        let event = pass(self.sink.recv()?, &mut self.source, &mut self.places, wants)?;
        Ok(self.noted(event))
    }

    /// As [`next`](Relay::next), but waits no longer than `patience`, and then returns `None`.
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
        if let Event::Joined { source: number, .. } = event {
            let place = self.sink.place(number);
            self.places.extend(place.map(|place| (number, place)));
        }
        event
    }

    /// The sink, whose events the relay takes.
    pub fn sink(&self) -> &Sink<Messages> {
        &self.sink
    }

    /// The source, with the account of what was passed on.
    pub fn source(&self) -> &Source<Messages> {
        &self.source
    }

    /// The sink and the source.
    pub fn into_parts(self) -> (Sink<Messages>, Source<Messages>) {
        (self.sink, self.source)
    }
}

fn pass(
    event: Event<Incoming<'_>>,
    source: &mut Source<Messages>,
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
                None => source.submit_message(record)?,
            };
        }
    }
    if let Event::Left(number, _) = &event {
        places.remove(number);
    }
    Ok(event.map(|_| passes))
}
