//! Submitting and taking events, and what follows from both for those who wait.

use super::{Node, closed};
use crate::Time;
use crate::action::Action;
use crate::inbox::{Batch, Run};
use crate::keys::{ConnId, LinkKey, ReceivingKey, SendingKey, SinkKey, SourceKey};
use crate::lane::{Over, Within};
use crate::memory::{Body, Draft, Storage};
use crate::receiving::{From, Stage};
use crate::sending::To;
use isoform_core::{Code, Error, Faults, Format, Plan, Result, Rules};

/// What became of an event that was to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It was, under this number.
    Done(u64),
    /// Nobody has subscribed.
    Unheard,
    /// A sink that lets its source wait has no room. It was not submitted to anybody: try again when there is
    /// [`Action::Room`].
    Full,
}

/// Calls `$body` with a sending and its lane, whatever kind that is.
macro_rules! with_lane {
    ($node:ident, $at:expr, |$sending:ident, $lane:ident| $body:expr) => {{
        let $sending = &mut $node.sendings[$at];
        match $sending.to {
            To::Link(link, number) => {
                let link = &mut $node.links[link];
                let live = $sending.live && link.connection.is_some();
                let $lane = &mut Over { outbox: &mut link.outbox, number, live };
                $body
            }
            To::Here(number) => {
                let receiving = &mut $node.receivings[number];
                let inbox = &mut $node.sinks[receiving.sink].inbox;
                let $lane = &mut Within { receiving, subscription: number, inbox };
                $body
            }
        }
    }};
}

impl<B: Body, S: Storage> Node<B, S> {
    /// Submits an event of this time, in nanoseconds since 1970, to all sinks of a source. Its format is the source's, or for
    /// sources of any format the one that is given.
    ///
    /// # Errors
    /// [`Code::Closed`]; [`Code::WrongType`] for another format than the source has; what speaks against a plan from the format to the channel's type.
    #[inline]
    pub fn submit(
        &mut self,
        time: u64,
        key: SourceKey,
        format: Option<&Format>,
        draft: &mut impl Draft<B>,
    ) -> Result<Submitted> {
        let Some(source) = self.sources.get(key).filter(|source| !source.left) else { return Err(closed("source")) };
        if source.sendings.is_empty() {
            return Ok(Submitted::Unheard);
        }
        for i in 0..source.sendings.len() {
            let sending = self.sources[key].sendings[i];
            if with_lane!(self, sending, |sending, lane| sending.is_full(lane)) {
                self.sources[key].waits = true;
                return Ok(Submitted::Full);
            }
        }
        if let Some(format) = format {
            self.change_format(key, format)?;
        }
        let source = &mut self.sources[key];
        let Some(format) = source.format.take() else { return Err(closed("format")) };
        let sendings = std::mem::take(&mut source.sendings);
        let sequence = source.next;
        source.next += 1;
        let many = sendings.len() > 1;
        for &sending in &sendings {
            with_lane!(self, sending, |sending, lane| sending.submit(time, &format, draft, many, lane));
            self.follow(sending);
        }
        let source = &mut self.sources[key];
        (source.format, source.sendings) = (Some(format), sendings);
        Ok(Submitted::Done(sequence))
    }

    /// The next events of a source are of this format.
    fn change_format(&mut self, key: SourceKey, format: &Format) -> Result<()> {
        let source = &self.sources[key];
        if source.format.as_ref() == Some(format) {
            return Ok(());
        }
        if source.is_typed {
            let error = Error::new(Code::WrongType).at("event");
            let declared = source.format.as_ref().map_or("", Format::name);
            return Err(error.expected(format_args!("the format {declared} that the source has")).came(format.name()));
        }
        if let Some(agreed) = &self.channels[source.channel].format {
            Plan::new(format, agreed, &Rules::new(), Faults::default())?;
        }
        self.sources[key].format = Some(format.clone());
        Ok(())
    }

    /// Sees to it that what a sending has to say is said.
    #[inline]
    fn follow(&mut self, at: SendingKey) {
        let sending = &mut self.sendings[at];
        match sending.to {
            To::Link(link, _) => {
                let entry = &mut self.links[link];
                if sending.live && !sending.ready && sending.has_more() {
                    sending.ready = true;
                    entry.ready.push_back(at);
                }
                if entry.outbox.waiting() > 0 || (!entry.ready.is_empty() && entry.outbox.has_turns()) {
                    self.announce(link);
                }
            }
            To::Here(number) => {
                if sending.has_more() {
                    while with_lane!(self, at, |sending, lane| sending.pump(lane)) {}
                }
                let sink = self.receivings[number].sink;
                self.wake(sink);
            }
        }
    }

    /// Lets the application know that something has come for a sink, unless it knows, and has not looked since.
    #[inline]
    pub(super) fn wake(&mut self, key: SinkKey) {
        if let Some(sink) = self.sinks.get_mut(key)
            && !sink.woken
            && !sink.inbox.is_empty()
        {
            sink.woken = true;
            self.actions.push_back(Action::Wake(key));
        }
    }

    /// Lets a sending send what it may.
    pub(super) fn pump(&mut self, at: SendingKey) {
        let to = self.sendings[at].to;
        self.follow(at);
        if let To::Here(number) = to
            && let receiving = &self.receivings[number]
            && receiving.stage == Stage::Ended
            && receiving.is_drained()
        {
            self.unsubscribe(number);
        }
    }

    /// Tells a source that waits that it may try again.
    pub(super) fn make_room(&mut self, key: SourceKey) {
        if let Some(source) = self.sources.get_mut(key).filter(|source| source.waits) {
            source.waits = false;
            self.act(Action::Room(key));
        }
    }

    /// Whether a source was told to wait, and has not been told since that it may try again.
    pub fn waits(&self, key: SourceKey) -> bool {
        self.sources.get(key).is_some_and(|source| source.waits)
    }

    /// The connections to those sinks that have no room for the next event of a source, and let it wait.
    pub fn waits_over(&mut self, key: SourceKey) -> Vec<ConnId> {
        let sendings = self.sources.get(key).map_or(Vec::new(), |source| source.sendings.clone());
        let full = |at: SendingKey| {
            let To::Link(link, _) = self.sendings[at].to else { return None };
            let is_full = with_lane!(self, at, |sending, lane| sending.is_full(lane));
            self.links[link].connection.filter(|_| is_full)
        };
        sendings.into_iter().filter_map(full).collect()
    }

    /// Whether a sink has sources, and all of them are at other nodes.
    pub fn is_remote(&self, key: SinkKey) -> bool {
        let Some(sink) = self.sinks.get(key) else { return false };
        let over_link = |&at: &ReceivingKey| matches!(self.receivings[at].from, From::Link(..));
        !sink.receivings.is_empty() && sink.receivings.iter().all(over_link)
    }

    /// Whether something has come for a sink.
    pub fn has_come(&self, key: SinkKey) -> bool {
        self.sinks.get(key).is_some_and(|sink| !sink.inbox.is_empty())
    }

    /// Exchanges a batch, all of which the application has taken, for the next one. `false` if nothing has come.
    pub fn take(&mut self, now: Time, key: SinkKey, batch: &mut Batch<B, S>) -> bool {
        self.consumed(now, key, usize::MAX);
        let Some(sink) = self.sinks.get_mut(key) else { return false };
        sink.done = 0;
        sink.runs.clear();
        let came = sink.inbox.take(batch);
        sink.woken = came;
        std::mem::swap(&mut sink.runs, &mut batch.runs);
        sink.runs.reverse();
        if !sink.news.is_empty() || sink.old_news > 0 {
            self.forget_news(key);
        }
        came
    }

    /// The application has taken so many items of the batch that it has.
    pub fn consumed(&mut self, now: Time, key: SinkKey, items: usize) {
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
            self.account(now, taken);
        }
    }

    fn account(&mut self, now: Time, taken: Run) {
        let Some(at) = taken.subscription else { return };
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        receiving.taken.events += taken.items;
        receiving.taken.bytes += taken.bytes;
        let is_over = receiving.stage == Stage::Ended && receiving.is_drained();
        match receiving.from {
            From::Link(link, _) => self.owe(now, link, at),
            From::Here(sending) => {
                let taken = receiving.taken;
                let counted = self.sendings[sending].acknowledge(taken);
                debug_assert!(counted.is_ok(), "{counted:?}");
                let source = self.sendings[sending].source;
                self.pump(sending);
                self.make_room(source);
            }
            From::Gone => {}
        }
        if is_over {
            self.unsubscribe(at);
        }
    }

    /// Notes that a source is to be told what was taken, at once if it may be waiting for that.
    fn owe(&mut self, now: Time, key: LinkKey, at: ReceivingKey) {
        let (receiving, link) = (&mut self.receivings[at], &mut self.links[key]);
        if !receiving.owes {
            receiving.owes = true;
            link.owing.push(at);
        }
        if link.due.is_none() {
            link.due = Some(now + self.settings.acknowledge);
        }
        if receiving.is_urgent() {
            link.pressing = true;
            self.announce(key);
        }
    }
}
