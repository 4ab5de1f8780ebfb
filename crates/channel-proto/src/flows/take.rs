//! Takes events, and acknowledges them to their sources.

use super::Flows;
use super::inbox::{Batch, Run};
use super::receiving::From;
use crate::Time;
use crate::action::Action;
use crate::keys::{LinkKey, ReceivingKey, SinkKey};
use crate::links::Links;
use crate::memory::{Body, Storage};

impl<B: Body, S: Storage> Flows<B, S> {
    /// Tells the application that something has arrived for a sink, unless it knows already.
    #[inline]
    pub(super) fn wake(&mut self, links: &mut Links<B>, key: SinkKey) {
        if let Some(sink) = self.sinks.get_mut(key)
            && !sink.woken
            && !sink.inbox.is_empty()
        {
            sink.woken = true;
            links.actions.act(Action::Wake(key));
        }
    }

    /// Whether a sink has sources, all of them at other nodes.
    pub(crate) fn is_remote(&self, key: SinkKey) -> bool {
        let Some(sink) = self.sinks.get(key) else { return false };
        let over_link = |&at: &ReceivingKey| matches!(self.receivings[at].from, From::Link(..));
        !sink.receivings.is_empty() && sink.receivings.iter().all(over_link)
    }

    /// Whether something has arrived for a sink.
    pub(crate) fn has_come(&self, key: SinkKey) -> bool {
        self.sinks.get(key).is_some_and(|sink| !sink.inbox.is_empty())
    }

    /// Exchanges a batch that the application has taken completely for the next one. Returns `false` if nothing has
    /// arrived.
    pub(crate) fn take(&mut self, now: Time, links: &mut Links<B>, key: SinkKey, batch: &mut Batch<B, S>) -> bool {
        self.consumed(now, links, key, usize::MAX);
        let Some(sink) = self.sinks.get_mut(key) else { return false };
        sink.done = 0;
        sink.runs.clear();
        let came = sink.inbox.take(batch);
        sink.woken = came;
        std::mem::swap(&mut sink.runs, &mut batch.runs);
        sink.runs.reverse();
        came
    }

    /// The application has taken this many items of its batch.
    pub(crate) fn consumed(&mut self, now: Time, links: &mut Links<B>, key: SinkKey, items: usize) {
        loop {
            let Some(sink) = self.sinks.get_mut(key) else { return };
            let Some(run) = sink.runs.last_mut() else { return };
            let count = run.items.min((items as u64).saturating_sub(sink.done));
            if count == 0 {
                return;
            }
            sink.done += count;
            run.items -= count;
            let taken = Run { items: count, bytes: if run.items == 0 { run.bytes } else { 0 }, ..*run };
            if run.items == 0 {
                sink.runs.pop();
            }
            self.account(now, links, taken);
        }
    }

    fn account(&mut self, now: Time, links: &mut Links<B>, taken: Run) {
        let Some(at) = taken.subscription else { return };
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        receiving.taken.events += taken.items;
        receiving.taken.bytes += taken.bytes;
        let is_over = receiving.stage.is_over() && receiving.is_drained();
        match receiving.from {
            From::Link(link, _) => self.owe(now, links, link, at),
            From::Here(sending) => {
                let taken = receiving.taken;
                let counted = self.sendings[sending].acknowledge(taken);
                debug_assert!(counted.is_ok(), "{counted:?}");
                let source = self.sendings[sending].source;
                self.pump(links, sending);
                self.follow_sink(now, links, sending);
                self.make_room(links, source);
            }
            From::Gone => {}
        }
        if is_over {
            self.unsubscribe(links, at);
        }
    }

    /// Plans an acknowledgement: at once if the source may be waiting for it.
    fn owe(&mut self, now: Time, links: &mut Links<B>, link: LinkKey, at: ReceivingKey) {
        let (receiving, traffic) = (&mut self.receivings[at], &mut self.traffic[link]);
        if !receiving.owes {
            receiving.owes = true;
            traffic.owing.push(at);
        }
        if traffic.due.is_none() {
            traffic.due = Some(now + links.settings.acknowledge);
            self.are_acks_due = true;
        }
        if receiving.is_urgent() {
            traffic.pressing = true;
            links.announce(link);
        }
    }
}
