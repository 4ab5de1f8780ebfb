//! Receives from a connection: splits bytes into frames, and passes each frame to its part of the node.

use super::{Node, costs};
use crate::Time;
use crate::account::Policy;
use crate::channels::{Channel, Declined, Opened};
use crate::control::{Control, Steering, Subscribe};
use crate::flows::Over;
use crate::frame::{self, FrameKind, HEADER, Header};
use crate::keys::{ConnId, LinkKey, SourceKey};
use crate::links::{error_of, too_many_frames};
use crate::memory::{Body, Storage};
use crate::offer::{Offer, Place};
use crate::parameters::{Given, Parameters};
use crate::rights::Right;
use crate::shared::KeyName;
use crate::wire::Reader;
use isoform_core::{Code, Error, Result};

impl<B: Body, S: Storage> Node<B, S> {
    /// Takes bytes that arrived on a connection, and returns how many were used. Pass the others again, with more bytes
    /// after them. Of a long body's fragment, the available bytes are used; [`take_large`](Node::take_large) then saves
    /// a copy of the rest.
    ///
    /// # Errors
    /// The fault of the input. The connection is then closed, and the other side learns the reason, as
    /// [`Action::Close`](crate::Action::Close) has it.
    pub fn receive(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let mut used = 0;
        loop {
            match self.step(now, id, &input[used..]) {
                Ok(0) => return Ok(used),
                Ok(length) if used + length == input.len() => return Ok(input.len()),
                Ok(length) => used += length,
                Err(error) => return self.failed(now, id, Err(error)),
            }
        }
    }

    /// Closes a connection if that is the result of its input.
    pub(super) fn failed<R>(&mut self, now: Time, id: ConnId, result: Result<R>) -> Result<R> {
        if let Err(error) = &result {
            self.links.fail(now, id, error);
            self.follow(now);
        }
        result
    }

    /// The shared key that a dialer claims by the first bytes of its connection, if it has the key's tag (`spec/channel.md`,
    /// "Identity"). It says nothing of what comes behind the tag.
    pub fn claimed(&self, first: &[u8]) -> Option<KeyName> {
        self.links.claimed(first)
    }

    /// What to write on an accepted connection that the caller refuses, before it closes it: it tells the other side what is
    /// expected instead.
    ///
    /// ```
    /// use isoform_channel_proto::{Key, Node, Settings};
    /// let mut node: Node<std::sync::Arc<[u8]>, Vec<u8>> = Node::new(Key::from_seed([1; 32]), Settings::default());
    /// let farewell = node.turn_away("fewer connections");
    /// assert!(String::from_utf8_lossy(&farewell).contains("fewer connections"));
    /// ```
    pub fn turn_away(&mut self, expected: &str) -> Vec<u8> {
        self.links.turn_away(expected)
    }

    /// Uses the start of the input: whole events, or at most one frame of another kind.
    fn step(&mut self, now: Time, id: ConnId, input: &[u8]) -> Result<usize> {
        let Some(link) = self.links.of(id) else {
            let used = self.links.shake(now, id, input);
            self.follow(now);
            return used;
        };
        if !input.is_empty() {
            self.links[link].heard = now;
        }
        if self.flows.is_amid_part(link) {
            return Ok(self.flows.more_of_part(&mut self.links, link, input));
        }
        let used = self.flows.events(&mut self.links, link, input)?;
        if used > 0 {
            self.flows.note_whole(link);
            return Ok(used);
        }
        let Some(bytes) = input.first_chunk::<HEADER>() else { return Ok(0) };
        let header = Header::parse(bytes)?;
        if header.kind == Some(FrameKind::Part) {
            self.flows.begin_part(&mut self.links, link, &header)?;
            return Ok(HEADER);
        }
        let Some((header, payload, length)) = frame::split(input)? else { return Ok(0) };
        self.flows.note_whole(link);
        self.frame(now, link, &header, payload)?;
        Ok(length)
    }

    /// Handles a frame that is not an event.
    fn frame(&mut self, now: Time, link: LinkKey, header: &Header, payload: &[u8]) -> Result<()> {
        let mut fields = Reader::new(payload, "payload");
        let cost = costs::frame(header.kind, payload.len());
        match header.kind {
            // A later version defines it, and allows others to skip it.
            None => self.expect_patience(now, link, cost),
            Some(FrameKind::Format) => {
                self.expect_patience(now, link, cost)?;
                if !self.links.knows(payload) {
                    self.expect_patience(now, link, costs::unknown(payload.len()))?;
                }
                self.links.name(link, header.index, payload)
            }
            Some(FrameKind::Time) => {
                self.expect_patience(now, link, cost)?;
                self.links[link].time = fields.u64()?.min(u64::MAX - u64::from(u32::MAX));
                Ok(())
            }
            Some(FrameKind::Begin) => self.flows.begin_long(&self.links, link, header, fields.u64()?),
            Some(FrameKind::Gap) => {
                self.expect_moderation(link)?;
                self.flows.lost(&mut self.links, link, header.subscription, &mut fields)
            }
            Some(FrameKind::Skip) => self.flows.skipped(link, header.subscription, &mut fields),
            Some(FrameKind::Origin) => {
                self.expect_relay(link, header.subscription);
                self.flows.comes_from(link, header.subscription, &mut fields)
            }
            Some(FrameKind::Ack) => {
                let vain = self.flows.acknowledged(now, &mut self.links, link, &mut fields)?;
                self.expect_patience(now, link, u32::try_from(vain).unwrap_or(u32::MAX))
            }
            Some(_) => {
                self.expect_patience(now, link, cost)?;
                match Control::parse(header, payload)? {
                    Some(control) => {
                        self.expect_moderation(link)?;
                        self.expect_patience(now, link, costs::control(&control))?;
                        self.control(now, link, control)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Refuses requests of a node that does not read the answers, and reports beyond their limit.
    fn expect_moderation(&self, link: LinkKey) -> Result<()> {
        if self.flows.has_too_much_news(link) {
            let error = Error::new(Code::Frame).at("sink");
            return Err(error.expected("reports of gaps, joins and leaves only as fast as the sinks take them"));
        }
        self.links.expect_reader(link)
    }

    /// Ends a link that floods this node with frames: each [costs] time, in which no other thread has the state.
    pub(super) fn expect_patience(&mut self, now: Time, link: LinkKey, cost: u32) -> Result<()> {
        if cost == 0 || self.links.may_ask(now, link, cost) {
            return Ok(());
        }
        Err(too_many_frames())
    }

    /// Handles a frame about channels and subscriptions.
    fn control(&mut self, now: Time, link: LinkKey, control: Control) -> Result<()> {
        let Node { links, channels, flows } = self;
        channels.at(now);
        match control {
            Control::Ping => {}
            Control::Start { .. } | Control::Proof(_) | Control::Terms(_) => {
                return Err(Error::new(Code::Frame).at("kind").expected("no frame of a handshake behind it"));
            }
            Control::Bye { code, text } => {
                let why = (code != 0).then(|| error_of(code, &text));
                links.end(link, why);
                self.follow(now);
            }
            Control::Synced => {
                flows.synced(links, link);
                channels.synced(links, link).into_iter().for_each(|gone| flows.was_withdrawn(links, gone));
            }
            Control::Open { request, identity, name } => channels.asked_to_open(links, link, request, identity, &name),
            Control::Opened { request, format, identity, name, query } => {
                channels.was_opened(links, link, Opened { request, format, identity, name, query })?;
            }
            Control::Refused { request, code, text } => channels.was_refused(links, link, request, code, text),
            Control::Leave { identity } => {
                if let Some(channel) = channels.of(identity) {
                    channels.left(links, channel, link);
                }
            }
            Control::Members(members) => channels.heard_of(links, link, &members)?,
            Control::Call(call) => channels.was_called(links, link, *call),
            Control::Offer { identity, source, format, code, text } => {
                let refused = (code != 0).then(|| error_of(code, &text));
                if let Some((channel, offer)) = channels.was_offered(links, link, identity, source, format, refused)? {
                    self.offered(channel, &offer);
                }
            }
            Control::Withdraw { source } => {
                channels.was_withdrawn(links, link, source);
                flows.was_withdrawn(links, Place::Link(link, source));
            }
            Control::Subscribe(subscribe) => {
                self.was_subscribed(link, &subscribe)?;
            }
            Control::Decline { source, code, text, .. } => {
                self.was_declined(link, SourceKey(source), error_of(code, &text));
            }
            Control::Unsubscribe { subscription, taken } => flows.was_unsubscribed(links, link, subscription, taken)?,
            Control::Change { subscription, asked } => {
                let source = flows.source_of(link, subscription);
                let may_block = source.is_none_or(|source| self.may_block(link, source, asked.policy));
                self.flows.was_changed(&mut self.links, link, subscription, asked, may_block);
            }
            Control::Enough { subscription, sequence } => flows.was_enough(links, link, subscription, sequence),
            Control::Started { subscription, next, granted, .. } => {
                if let Some((sink, place)) = flows.was_started(links, link, subscription, next, granted)? {
                    channels.was_served(sink, place);
                }
            }
            Control::Parameters { subscription, asked } => {
                self.was_steered(link, subscription, &asked)?;
            }
            Control::Given { subscription, index, first, change, code, text, values } => {
                let refused = (code != 0).then(|| error_of(code, &text));
                let values = self.values(link, index, &values)?;
                let given = Given { first, change, values, refused };
                self.flows.was_given(&mut self.links, link, subscription, given)?;
            }
            Control::Granted { subscription, granted } => flows.was_granted(links, link, subscription, granted)?,
            Control::End { subscription, next, is_answer, code, text } => {
                let refused = (code != 0).then(|| error_of(code, &text));
                self.was_ended(link, subscription, next, is_answer, refused)?;
            }
            Control::Ask { request, identity } => self.asked(now, link, request, identity)?,
            Control::Told { request, report } => channels.told(links, link, request, *report),
        }
        let sent_again = self.channels.sent_again();
        self.expect_patience(now, link, costs::sent_again(sent_again))
    }

    fn was_subscribed(&mut self, link: LinkKey, subscribe: &Subscribe) -> Result<()> {
        let channel = self.flows.channel_of_source(SourceKey(subscribe.source));
        let is_member = channel.is_some_and(|channel| self.channels.has_member(channel, link));
        let may = match channel.filter(|_| is_member).and_then(|channel| self.channels.get(channel)) {
            Some(channel) => {
                let query = subscribe.query.is_some().then_some(Right::Query);
                let parametrise = subscribe.steering.is_some().then_some(Right::Parametrise);
                let rights = [Some(Right::Subscribe), query, parametrise];
                rights.into_iter().flatten().try_for_each(|right| self.links.expect_right(link, right, &channel.name))
            }
            None => Ok(()),
        };
        let source = SourceKey(subscribe.source);
        let may = may.map(|()| !is_member || self.may_block(link, source, subscribe.policy));
        // Nobody looks at the values of a sink that is refused.
        let steering = subscribe.steering.as_ref().filter(|_| may.is_ok());
        let values = steering.map(|asked| self.values(link, asked.index, &asked.values)).transpose()?;
        let refused = self.flows.was_subscribed(&mut self.links, link, is_member, may, subscribe, values.as_ref())?;
        if let (Some(channel), Some(error)) = (channel, refused) {
            let node = self.links[link].peer;
            if error.code() == Code::Forbidden {
                self.channels.was_refused_by_rules(&self.links, channel, link);
            }
            self.channels.declined(&mut self.links, channel, Declined { source, node, error });
        }
        Ok(())
    }

    /// Values of parameters in a frame.
    fn values(&self, link: LinkKey, index: u16, values: &[u8]) -> Result<Parameters> {
        Parameters::new(self.links[link].formats.at(index)?, values)
    }

    /// A sink of another node asks for other values of parameters.
    fn was_steered(&mut self, link: LinkKey, subscription: u32, asked: &Steering) -> Result<()> {
        let source = self.flows.source_of(link, subscription);
        let channel = source.and_then(|source| self.flows.channel_of_source(source));
        let may = match channel.and_then(|channel| self.channels.get(channel)) {
            Some(channel) => self.links.expect_right(link, Right::Parametrise, &channel.name),
            None => Ok(()),
        };
        if let (Some(channel), Err(_)) = (channel, &may) {
            self.channels.was_refused_by_rules(&self.links, channel, link);
        }
        match may {
            Ok(()) => {
                let values = self.values(link, asked.index, &asked.values)?;
                self.flows.was_steered(&mut self.links, link, subscription, Ok(&values), asked.change);
            }
            Err(error) => self.flows.was_steered(&mut self.links, link, subscription, Err(error), asked.change),
        }
        Ok(())
    }

    /// Whether the rules let a source wait for the sinks of another node, in case that one asks for it.
    fn may_block(&mut self, link: LinkKey, source: SourceKey, policy: Policy) -> bool {
        let channel = self.flows.channel_of_source(source).and_then(|channel| self.channels.get(channel));
        let is_allowed = |channel: &Channel| self.links.expect_right(link, Right::Block, &channel.name).is_ok();
        policy != Policy::Block || channel.is_none_or(is_allowed)
    }

    fn was_declined(&mut self, link: LinkKey, source: SourceKey, error: Error) {
        let channel = self.flows.channel_of_source(source);
        if let Some(channel) = channel.filter(|&channel| self.channels.has_member(channel, link)) {
            let node = self.links[link].peer;
            self.channels.declined(&mut self.links, channel, Declined { source, node, error });
        }
    }

    fn was_ended(
        &mut self,
        link: LinkKey,
        subscription: u32,
        next: u64,
        is_answer: bool,
        refused: Option<Error>,
    ) -> Result<()> {
        let ended = self.flows.was_ended(&mut self.links, link, subscription, next, is_answer, refused)?;
        let Some(Over { sink, origin, source, refused }) = ended else { return Ok(()) };
        let Some(channel) = self.flows.channel_of_sink(sink) else { return Ok(()) };
        let is_refused = refused.is_some();
        if let Some(error) = refused
            && !self.channels.was_not_served(channel, sink, origin, &error)
        {
            self.flows.tell_refused(&mut self.links, origin, sink, source, error);
            if self.channels.offer_at(channel, origin).is_none() {
                self.flows.was_withdrawn(&mut self.links, origin);
            }
        }
        let is_new = |offer: &Offer| offer.source != source && offer.refused.is_none();
        let offer = match self.flows.has_subscribed(sink, origin) {
            true => None,
            // The source may have been offered anew, after it was decided to refuse this.
            false if is_refused => self.channels.offer_at(channel, origin).filter(is_new),
            false => self.channels.offer_anew(channel, origin),
        };
        offer.into_iter().for_each(|offer| self.subscribe(sink, &offer));
        Ok(())
    }
}
