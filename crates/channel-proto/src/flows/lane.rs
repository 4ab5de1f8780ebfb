//! The way from a source to one sink: frames on a link, or directly into the inbox of a sink of the same node.

use super::inbox::{Inbox, Item};
use super::receiving::{Receiving, Stage};
use crate::account::{Cause, Gap};
use crate::control::Control;
use crate::frame::{self, FrameKind, HEADER, Header, PAYLOAD, extent};
use crate::keys::ReceivingKey;
use crate::links::{Carried, Outbox, Which};
use crate::memory::{Body, Draft, Storage};
use isoform_core::Format;

/// Shared bodies up to this length are copied nevertheless. Referring to them costs as much in the system call.
const SHORT: usize = 1024;

/// The destination of the events of one subscription.
pub(crate) trait Lane<B> {
    /// Whether it accepts an event now.
    fn is_open(&self) -> bool;

    /// Whether a body of this length is sent as a whole, by `event`. Otherwise it begins by `begin`, and its parts follow by
    /// `part`.
    fn takes_whole(&self, length: usize) -> bool;

    /// Sends an event.
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool);

    /// How many events with bodies of this length it accepts now by `alike`.
    fn room_for_alike(&self, length: usize) -> usize;

    /// Sends events whose bodies, each of this length, lie one behind the other.
    fn alike(&mut self, time: u64, format: &Format, bodies: &[u8], length: usize);

    /// Whether an event of this length may begin, if it is sent in parts; and what counts while it is under way.
    fn admit(&self, which: Which, length: usize) -> Option<Carried>;

    /// Begins to send an event in parts.
    fn begin(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>);

    /// Sends the next part of a body, and returns the number of bytes sent so far.
    fn part(&mut self, body: &B, carried: &Carried, sent: usize) -> usize;

    /// Declares events lost, or superseded.
    fn gap(&mut self, gap: Gap);

    /// Declares events skipped, as the sink does not want them.
    fn skip(&mut self, first: u64, count: u64);

    /// Declares the end, after the event before number `next`, with the reason if it was revoked: a code, and a text.
    fn end(&mut self, next: u64, revoked: Option<&(u16, String)>);
}

/// A lane over a link.
pub(crate) struct Over<'a, B> {
    pub(crate) outbox: &'a mut Outbox<B>,
    /// The subscription's number.
    pub(crate) number: u32,
    /// Whether the link has a connection on which the subscription was resumed.
    pub(crate) live: bool,
}

impl<B: Body> Over<'_, B> {
    /// The header of an event. Frames before it may tell the other side of its format and of its time.
    #[inline(always)]
    fn header(&mut self, kind: FrameKind, time: u64, format: &Format, length: usize) -> Header {
        let index = self.outbox.index(format);
        let time = self.outbox.time(time);
        Header { length: length as u32, kind: Some(kind), index, subscription: self.number, time }
    }

    /// Tells the other side where the next event was first submitted, if that was elsewhere.
    #[inline(always)]
    fn origin(&mut self, draft: &impl Draft<B>) {
        if let Some(origin) = draft.origin() {
            let header = Header { subscription: self.number, ..Header::plain(FrameKind::Origin) };
            frame::put(self.outbox.bytes(), header, |out| origin.put(out));
        }
    }
}

impl<B: Body> Lane<B> for Over<'_, B> {
    fn is_open(&self) -> bool {
        self.live && self.outbox.has_room()
    }

    #[inline]
    fn takes_whole(&self, length: usize) -> bool {
        length <= PAYLOAD
    }

    #[inline(always)]
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool) {
        let length = draft.length();
        self.origin(draft);
        let header = self.header(FrameKind::Event, time, format, length);
        if length > SHORT && (many || draft.is_shared()) {
            let body = draft.share();
            return self.outbox.splice(header, body, 0..length, Carried::default());
        }
        let out = self.outbox.bytes();
        out.reserve(HEADER + length + HEADER);
        out.extend_from_slice(&header.to_bytes());
        match draft.contiguous() {
            Some(body) => out.extend_from_slice(body),
            None => draft.pieces(&mut |piece| out.extend_from_slice(piece)),
        }
        frame::pad(out, length);
    }

    fn room_for_alike(&self, length: usize) -> usize {
        match self.live && length <= PAYLOAD {
            true => self.outbox.room().div_ceil(extent(length)),
            false => 0,
        }
    }

    fn alike(&mut self, time: u64, format: &Format, bodies: &[u8], length: usize) {
        let header = self.header(FrameKind::Event, time, format, length).to_bytes();
        let out = self.outbox.bytes();
        out.reserve(bodies.len() / length * extent(length) + HEADER);
        for body in bodies.chunks_exact(length) {
            out.extend_from_slice(&header);
            out.extend_from_slice(body);
            frame::pad(out, length);
        }
    }

    fn admit(&self, which: Which, length: usize) -> Option<Carried> {
        match self.takes_whole(length) {
            true => Some(Carried::default()),
            false => self.outbox.admit(which, length),
        }
    }

    fn begin(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>) {
        self.origin(draft);
        let header = self.header(FrameKind::Begin, time, format, 0);
        frame::put(self.outbox.bytes(), header, |out| out.extend((draft.length() as u64).to_le_bytes()));
    }

    fn part(&mut self, body: &B, carried: &Carried, sent: usize) -> usize {
        let end = body.length().min(sent + PAYLOAD);
        let length = (end - sent) as u32;
        let header = Header { length, subscription: self.number, ..Header::plain(FrameKind::Part) };
        self.outbox.splice(header, body.clone(), sent..end, carried.clone());
        end
    }

    fn gap(&mut self, gap: Gap) {
        let header = Header { subscription: self.number, ..Header::plain(FrameKind::Gap) };
        frame::put(self.outbox.bytes(), header, |out| {
            out.extend(gap.first.to_le_bytes());
            out.extend(gap.count.to_le_bytes());
            out.extend((gap.cause as u16).to_le_bytes());
        });
    }

    fn skip(&mut self, first: u64, count: u64) {
        let header = Header { subscription: self.number, ..Header::plain(FrameKind::Skip) };
        frame::put(self.outbox.bytes(), header, |out| {
            out.extend(first.to_le_bytes());
            out.extend(count.to_le_bytes());
        });
    }

    fn end(&mut self, next: u64, revoked: Option<&(u16, String)>) {
        let end = match revoked.cloned() {
            Some((code, text)) => Control::End { subscription: self.number, next, is_answer: false, code, text },
            None => Control::end(self.number, next, false),
        };
        end.put(self.outbox.bytes());
    }
}

/// A lane within the node.
pub(crate) struct Within<'a, B, S> {
    pub(crate) receiving: &'a mut Receiving<S>,
    pub(crate) subscription: ReceivingKey,
    pub(crate) inbox: &'a mut Inbox<B, S>,
}

impl<B: Body, S: Storage> Lane<B> for Within<'_, B, S> {
    fn is_open(&self) -> bool {
        true
    }

    fn takes_whole(&self, _: usize) -> bool {
        true
    }

    #[inline]
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool) {
        let length = draft.length();
        self.receiving.origin = draft.origin();
        let stamp = self.receiving.receive(self.subscription, time, length);
        if draft.is_shared() || length > SHORT && many || length > PAYLOAD {
            self.inbox.share(stamp, format, draft.share());
        } else {
            self.inbox.copy(stamp, format, |storage| draft.pieces(&mut |piece| storage.append(piece)));
        }
    }

    fn room_for_alike(&self, _: usize) -> usize {
        0
    }

    fn alike(&mut self, _: u64, _: &Format, _: &[u8], _: usize) {
        unreachable!("there is no room");
    }

    fn admit(&self, _: Which, _: usize) -> Option<Carried> {
        Some(Carried::default())
    }

    fn begin(&mut self, _: u64, _: &Format, _: &mut impl Draft<B>) {
        unreachable!("it takes whole bodies");
    }

    fn part(&mut self, body: &B, _: &Carried, _: usize) -> usize {
        body.length()
    }

    fn gap(&mut self, gap: Gap) {
        // This node computed the gap itself, so it is in order.
        let counted = self.receiving.lose(gap);
        debug_assert!(counted.is_ok(), "{counted:?}");
        self.inbox.gap(&mut self.receiving.gap, self.receiving.source, gap);
    }

    fn skip(&mut self, first: u64, count: u64) {
        let counted = self.receiving.skip(first, count);
        debug_assert!(counted.is_ok(), "{counted:?}");
    }

    fn end(&mut self, next: u64, _: Option<&(u16, String)>) {
        if let Some(gap) = self.receiving.until(next, Cause::Ended) {
            self.inbox.tell(Item::Gap(self.receiving.source, gap));
        }
        self.receiving.stage = Stage::Ended;
        self.inbox.tell(Item::Left(self.receiving.source));
    }
}
