//! The way from a source to one sink: frames on a link, or directly into the inbox of a sink of the same node.

use super::inbox::{Inbox, Item};
use super::receiving::{Receiving, Stage};
use crate::account::{Cause, Gap};
use crate::control::Control;
use crate::frame::{self, FrameKind, HEADER, Header, PAYLOAD};
use crate::keys::ReceivingKey;
use crate::links::Outbox;
use crate::memory::{Body, Draft, Storage};
use isoform_core::Format;

/// Shared bodies up to this length are copied nevertheless. Referring to them costs as much in the system call.
const SHORT: usize = 1024;

/// The destination of the events of one subscription.
pub(crate) trait Lane<B> {
    /// Whether it accepts an event now.
    fn is_open(&self) -> bool;

    /// Sends an event. Returns the body if it must go in parts; the parts follow by `part`.
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool) -> Option<B>;

    /// Sends the next part of a body, and returns the number of bytes sent so far.
    fn part(&mut self, body: &B, sent: usize) -> usize;

    /// Declares events lost.
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

impl<B: Body> Lane<B> for Over<'_, B> {
    fn is_open(&self) -> bool {
        self.live && self.outbox.has_room()
    }

    #[inline(always)]
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool) -> Option<B> {
        let length = draft.length();
        if let Some(origin) = draft.origin() {
            let header = Header { subscription: self.number, ..Header::plain(FrameKind::Origin) };
            frame::put(self.outbox.bytes(), header, |out| origin.put(out));
        }
        let index = self.outbox.index(format);
        let time = self.outbox.time(time);
        let mut header = Header { length: 0, kind: Some(FrameKind::Event), index, subscription: self.number, time };
        if length > PAYLOAD {
            header.kind = Some(FrameKind::Begin);
            frame::put(self.outbox.bytes(), header, |out| out.extend((length as u64).to_le_bytes()));
            return Some(draft.share());
        }
        header.length = length as u32;
        if length > SHORT && (many || draft.is_shared()) {
            let body = draft.share();
            self.outbox.splice(header, body, 0..length);
            return None;
        }
        let out = self.outbox.bytes();
        out.reserve(HEADER + length + HEADER);
        out.extend_from_slice(&header.to_bytes());
        match draft.contiguous() {
            Some(body) => out.extend_from_slice(body),
            None => draft.pieces(&mut |piece| out.extend_from_slice(piece)),
        }
        frame::pad(out, length);
        None
    }

    fn part(&mut self, body: &B, sent: usize) -> usize {
        let end = body.length().min(sent + PAYLOAD);
        let length = (end - sent) as u32;
        let header = Header { length, subscription: self.number, ..Header::plain(FrameKind::Part) };
        self.outbox.splice(header, body.clone(), sent..end);
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

    #[inline]
    fn event(&mut self, time: u64, format: &Format, draft: &mut impl Draft<B>, many: bool) -> Option<B> {
        let length = draft.length();
        self.receiving.origin = draft.origin();
        let stamp = self.receiving.receive(self.subscription, time, length);
        if draft.is_shared() || length > SHORT && many || length > PAYLOAD {
            self.inbox.share(stamp, format, draft.share());
        } else {
            self.inbox.copy(stamp, format, |storage| draft.pieces(&mut |piece| storage.append(piece)));
        }
        None
    }

    fn part(&mut self, body: &B, _: usize) -> usize {
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
