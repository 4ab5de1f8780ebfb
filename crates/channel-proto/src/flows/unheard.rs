//! Events before the first one of a subscription: their numbers while nobody hears the source, and how many of them a sink lacks
//! (`spec/channel.md`, "The account").

use super::inbox::Item;
use super::receiving::Receiving;
use super::{Flows, Sink, Source};
use crate::keys::{LinkKey, NodeId, ReceivingKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use std::fmt;

/// How many ended subscriptions a sink remembers.
const REMEMBERED: usize = 1_024;

/// Numbers the events of a source while nobody hears them, outside of the state machine: so that threads can take numbers
/// without its lock. While somebody hears the source, the state machine numbers its events.
///
/// ```
/// use isoform_channel_proto::Unheard;
/// use std::sync::Mutex;
///
/// /// The next number, and whether it is given here.
/// #[derive(Debug)]
/// struct Next(Mutex<(u64, bool)>);
///
/// impl Unheard for Next {
///     fn hear(&self) -> u64 {
///         let mut next = self.0.lock().unwrap();
///         next.1 = false;
///         next.0
///     }
///     fn rest(&self, number: u64) {
///         *self.0.lock().unwrap() = (number, true);
///     }
///     fn next(&self) -> u64 {
///         self.0.lock().unwrap().0
///     }
/// }
/// ```
pub trait Unheard: Send + Sync + fmt::Debug {
    /// The state machine numbers the events from now on. Returns the number of the next one.
    fn hear(&self) -> u64;

    /// Nobody hears the events any more, and the next one has this number.
    fn rest(&self, next: u64);

    /// The number of the next event. This is called only between `rest` and `hear`.
    fn next(&self) -> u64;
}

impl<B> Source<B> {
    /// Somebody hears its events from now on, or it has left. Returns the number of the next one.
    pub(super) fn hear(&mut self) -> u64 {
        if !self.is_heard {
            self.is_heard = true;
            self.next = self.unheard.as_ref().map_or(self.next, |unheard| unheard.hear());
        }
        self.next
    }

    /// Lets others number its events if nobody hears them any more.
    pub(super) fn rest(&mut self) {
        let is_heard = !self.sendings.is_empty() || self.grants.keep > 0 || self.left;
        if self.is_heard && !is_heard {
            self.is_heard = false;
            self.unheard.iter().for_each(|unheard| unheard.rest(self.next));
        }
    }

    /// The number of its next event.
    pub(super) fn next(&self) -> u64 {
        match &self.unheard {
            Some(unheard) if !self.is_heard => unheard.next(),
            _ => self.next,
        }
    }

    /// Numbers events that nobody hears. Returns the number of the last one, if there is any.
    pub(super) fn pass(&mut self, count: u64) -> Option<u64> {
        let last = (self.hear() + count).checked_sub(1).filter(|_| count > 0);
        self.next += count;
        self.rest();
        last
    }
}

impl<B, S> Sink<B, S> {
    /// A subscription to the source at this place begins with the event of this number. Returns how many events before it the sink
    /// lacks: all but those up to which an earlier subscription has come.
    pub(super) fn begin(&mut self, place: (NodeId, u32), first: u64) -> u64 {
        let before = self.reached.iter().position(|(other, _)| *other == place);
        let reached = before.and_then(|at| self.reached.remove(at)).map_or(0, |(_, reached)| reached);
        let earlier = first.saturating_sub(reached);
        self.past.earlier = self.past.earlier.saturating_add(earlier);
        earlier
    }
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Tells the sink of a subscription that its source has left. The source may come again, over another link.
    pub(super) fn tell_left(&mut self, links: &mut Links<B>, link: Option<LinkKey>, at: ReceivingKey) {
        let Receiving { sink: key, source, place, expected, .. } = self.receivings[at];
        if let (Some(place), Some(sink)) = (place, self.sinks.get_mut(key)) {
            if sink.reached.len() == REMEMBERED {
                sink.reached.pop_front();
            }
            sink.reached.push_back((place, expected));
        }
        self.tell(links, link, key, Item::Left(source));
    }
}
