//! Events that arrive over a link: short ones in a frame, long ones in fragments, and gaps.

use super::inbox::{Head, Stamp};
use super::receiving::{Long, Receiving, Stage};
use super::sinks::unknown;
use super::{Flows, Part, Traffic};
use crate::account::{Cause, Gap};
use crate::budget::Resource;
use crate::credentials::Principal;
use crate::frame::{self, FrameKind, HEADER, Header, PAYLOAD};
use crate::keys::{LinkKey, ReceivingKey, SinkKey};
use crate::links::Links;
use crate::memory::{Body, Storage};
use crate::origin::Origin;
use crate::wire::Reader;
use isoform_core::{Code, Error, Result};
use std::collections::BTreeMap;

/// The least memory for a long body when its first part arrives.
const ROOM: usize = 64 << 10;
/// From here on, that grows more slowly.
const LONG: usize = 16 << 20;
/// How many events one link may declare not to come. A thousand sources that each submit a million events a second
/// need two years for that. With this limit, the sums of a sink stay exact.
const MISSING: u64 = 1 << 56;

/// A fragment whose bytes can be read directly into their final memory: `missing` bytes from `at` on.
pub struct Large<S> {
    /// The memory: at least `at + missing` bytes.
    pub storage: S,
    /// The place of the next byte.
    pub at: usize,
    /// The number of bytes of the fragment that have not arrived.
    pub missing: usize,
    /// The number of bytes of the event in further fragments.
    pub behind: usize,
    /// The number of the subscription.
    pub subscription: u32,
}

/// What has arrived over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The number of frames that have arrived whole. Events that were received together count as one.
    pub frames: u64,
    /// Whether the last frame has arrived in part, and is one of an event that a sink of this node wants.
    pub is_event: bool,
}

impl<B: Body, S: Storage> Flows<B, S> {
    /// Takes the frames at the start of the input that are whole events. Most frames are.
    pub(crate) fn events(&mut self, links: &mut Links<B>, link: LinkKey, input: &[u8]) -> Result<usize> {
        let (mut used, mut woken) = (0, None);
        while let Some((header, body, length)) = frame::split(&input[used..])? {
            if header.kind != Some(FrameKind::Event) {
                break;
            }
            let entry = &links[link];
            let (format, base) = (entry.formats.at(header.index)?, entry.time);
            let at = ReceivingKey(header.subscription);
            let receiving = self.receivings.get_mut(at).filter(|receiving| receiving.is_from(link));
            let receiving = receiving.ok_or_else(|| unknown(at))?;
            if receiving.stage.is_deaf() {
                used += length;
                continue;
            }
            expect_running(receiving)?;
            let sink = receiving.sink;
            let entry = self.sinks.get_mut(sink);
            let run = match entry {
                Some(entry) if receiving.origin.is_none() => {
                    receiving.gap = None;
                    let (source, sequence) = (receiving.source, receiving.expected);
                    let stamp = Stamp { source, subscription: at, sequence, time: base, origin: None };
                    entry.inbox.copy_frames(&input[used..], format, stamp, |length| {
                        receiving.admit(length as u64)?;
                        receiving.count(length);
                        Ok(())
                    })
                }
                entry => receiving.admit(body.len() as u64).map(|()| {
                    let stamp = receiving.receive(at, base + u64::from(header.time), body.len());
                    if let Some(entry) = entry {
                        entry.inbox.copy(stamp, format, |storage| storage.append(body));
                    }
                    length
                }),
            };
            if woken != Some(sink) {
                woken = Some(sink);
                self.wake(links, sink);
            }
            used += run?;
        }
        Ok(used)
    }

    /// Whether a link has sent too many reports that a sink has not taken.
    pub(crate) fn has_too_much_news(&self, link: LinkKey) -> bool {
        self.traffic[link].too_much_news
    }

    /// Events of a subscription are declared lost.
    pub(crate) fn lost(
        &mut self,
        links: &mut Links<B>,
        link: LinkKey,
        subscription: u32,
        fields: &mut Reader<'_>,
    ) -> Result<()> {
        let (first, count, cause) = (fields.u64()?, fields.u64()?, Cause::of(fields.u16()?));
        let (at, gap) = (ReceivingKey(subscription), Gap { first, count, cause });
        let receiving = self.receiving(link, at)?;
        if receiving.stage.is_deaf() {
            return Ok(());
        }
        if cause == Cause::Declined && first == receiving.expected && count == 1 {
            // It ends the event whose parts are coming.
            (receiving.long, receiving.origin) = (None, None);
        }
        expect_running(receiving)?;
        self.expect_missing(link, count)?;
        self.receiving(link, at)?.lose(gap)?;
        self.tell_gap(links, link, at, gap);
        Ok(())
    }

    /// A sink did not want these events.
    pub(crate) fn skipped(&mut self, link: LinkKey, subscription: u32, fields: &mut Reader<'_>) -> Result<()> {
        let (first, count) = (fields.u64()?, fields.u64()?);
        let at = ReceivingKey(subscription);
        let receiving = self.receiving(link, at)?;
        if receiving.stage.is_deaf() {
            return Ok(());
        }
        expect_running(receiving)?;
        self.expect_missing(link, count)?;
        self.receiving(link, at)?.skip(first, count)
    }

    /// Counts events that the other side of a link declares not to come, and refuses more than honest sources submit.
    pub(super) fn expect_missing(&mut self, link: LinkKey, count: u64) -> Result<()> {
        let missing = &mut self.traffic[link].missing;
        *missing = missing.saturating_add(count);
        if *missing <= MISSING {
            return Ok(());
        }
        let error = Error::new(Code::Frame).at("gap");
        Err(error.expected(format_args!("at most {MISSING} events on one link that do not come")).found(missing))
    }

    /// The next event of a subscription was first submitted elsewhere.
    pub(crate) fn comes_from(&mut self, link: LinkKey, subscription: u32, fields: &mut Reader<'_>) -> Result<()> {
        let origin = Origin::parse(fields)?;
        let receiving = self.receiving(link, ReceivingKey(subscription))?;
        if receiving.stage.is_deaf() {
            return Ok(());
        }
        expect_running(receiving)?;
        receiving.origin = Some(origin);
        Ok(())
    }

    /// A body longer than a frame begins.
    pub(crate) fn begin_long(&mut self, links: &Links<B>, link: LinkKey, header: &Header, length: u64) -> Result<()> {
        let entry = &links[link];
        let (format, time) = (entry.formats.at(header.index)?.clone(), entry.time + u64::from(header.time));
        let receiving = self.receiving(link, ReceivingKey(header.subscription))?;
        if receiving.stage.is_deaf() {
            return Ok(());
        }
        expect_running(receiving)?;
        receiving.admit(length)?;
        let length = usize::try_from(length).map_err(|_| Error::new(Code::Size).at("event").found(length))?;
        if length <= PAYLOAD {
            let error = Error::new(Code::Frame).at("length");
            return Err(error
                .expected(format_args!("more than {PAYLOAD} bytes, since shorter events are not sent in parts"))
                .found(length));
        }
        receiving.long = Some(Long { storage: S::default(), filled: 0, length, format, time });
        Ok(())
    }

    /// A fragment of a long body begins.
    pub(crate) fn begin_part(&mut self, links: &mut Links<B>, link: LinkKey, header: &Header) -> Result<()> {
        let length = header.length as usize;
        let at = ReceivingKey(header.subscription);
        let receiving = self.receiving(link, at)?;
        let wanted = match (&receiving.long, receiving.stage) {
            (_, stage) if stage.is_deaf() => None,
            (Some(long), _) if length == long.missing().min(PAYLOAD) => Some(at),
            (long, _) => {
                let missing = long.as_ref().map_or(0, Long::missing).min(PAYLOAD);
                let error = Error::new(Code::Frame).at("part");
                return Err(error.expected(format_args!("{missing} bytes")).found(length));
            }
        };
        self.expect_turn(links, link, wanted)?;
        self.expect_memory(links, link, length)?;
        // This cannot happen earlier: until now, the application may have used the event before, whose storage is
        // reused.
        if let Some(at) = wanted
            && let Some(receiving) = self.receivings.get_mut(at)
            && let Some(long) = receiving.long.as_mut().filter(|long| long.filled == 0)
            && let Some(entry) = self.sinks.get_mut(receiving.sink)
        {
            long.storage = entry.inbox.storage();
        }
        let padding = length.wrapping_neg() % HEADER;
        self.traffic[link].part = Some(Part { receiving: wanted, missing: length, padding });
        self.finish_part(links, link);
        Ok(())
    }

    /// Refuses a body longer than its window that begins although such bodies are under way that together with it are
    /// longer than was agreed.
    fn expect_turn(&mut self, links: &Links<B>, link: LinkKey, wanted: Option<ReceivingKey>) -> Result<()> {
        let Some(at) = wanted else { return Ok(()) };
        let receiving = &mut self.receivings[at];
        let begins = receiving.long.as_ref().filter(|long| long.filled == 0).map(|long| long.length as u64);
        let Some(length) = begins.filter(|&length| length > receiving.window.bytes) else { return Ok(()) };
        receiving.beyond = Some((receiving.received.events, length));
        let here = &mut self.traffic[link].beyond_here;
        let receivings = &self.receivings;
        let is_here = |other: ReceivingKey| receivings.get(other).is_some_and(|it| it.is_from(link) && it.beyond() > 0);
        here.retain(|&other| other != at && is_here(other));
        let (sum, most) = (here.iter().map(|&other| receivings[other].beyond()).sum::<u64>(), links[link].own_bodies);
        here.push(at);
        if sum == 0 || sum.saturating_add(length) <= most {
            return Ok(());
        }
        let error = Error::new(Code::Frame).at("part");
        let expected = format_args!("at most {most} bytes of events longer than their windows, or one of them");
        Err(error.expected(expected).found(sum.saturating_add(length)))
    }

    /// Makes sure that the long bodies of all links together leave room for more bytes. If they do not, of the principal whose
    /// bodies take the most, the link ends whose bodies take the most.
    fn expect_memory(&mut self, links: &mut Links<B>, link: LinkKey, more: usize) -> Result<()> {
        let most = links.settings.budgets.node[Resource::Bodies];
        let (receivings, traffic) = (&self.receivings, &self.traffic);
        let length = |at: &ReceivingKey| receivings.get(*at).map_or(0, Receiving::held_beyond);
        let of = |link: LinkKey| traffic[link].beyond_here.iter().map(length).sum::<u64>();
        let own = of(link);
        if own == 0 {
            return Ok(());
        }
        let all: Vec<(u64, LinkKey)> =
            links.standing().map(|(link, _)| (of(link), link)).filter(|(held, _)| *held > 0).collect();
        let sum: u64 = all.iter().map(|(held, _)| held).sum();
        if all.len() <= 1 || sum + more as u64 <= most {
            return Ok(());
        }
        let mut held_by = BTreeMap::<Principal, u64>::new();
        all.iter().for_each(|(held, link)| *held_by.entry(links[*link].taken.principal).or_default() += held);
        let greediest = |&&(held, link): &&(u64, LinkKey)| (held_by[&links[link].taken.principal], held, link);
        let Some(&(_, worst)) = all.iter().max_by_key(greediest) else { return Ok(()) };
        match worst == link {
            true => Err(links.over_budget(link, Resource::Bodies)),
            false => {
                links.give_way(worst, Resource::Bodies);
                Ok(())
            }
        }
    }

    /// Whether a fragment has arrived in part.
    #[inline]
    pub(crate) fn is_amid_part(&self, link: LinkKey) -> bool {
        self.traffic[link].part.is_some()
    }

    /// A frame has arrived whole, or some of them have.
    pub(crate) fn note_whole(&mut self, link: LinkKey) {
        self.traffic[link].whole += 1;
    }

    /// What has arrived over a link, whose bytes end with a part of a frame.
    pub(crate) fn arrived(&self, link: LinkKey, rest: &[u8]) -> Arrived {
        let Traffic { part, whole, .. } = &self.traffic[link];
        let is_event = match part {
            Some(part) => part.receiving.is_some(),
            None => rest.first_chunk().is_some_and(|bytes| self.is_of_wanted_event(link, bytes)),
        };
        Arrived { frames: *whole, is_event }
    }

    fn is_of_wanted_event(&self, link: LinkKey, header: &[u8; HEADER]) -> bool {
        let Ok(header) = Header::parse(header) else { return false };
        let receiving = self.receivings.get(ReceivingKey(header.subscription));
        let is_wanted = receiving.is_some_and(|receiving| receiving.is_from(link) && !receiving.stage.is_deaf());
        header.kind == Some(FrameKind::Event) && is_wanted
    }

    /// Takes bytes of the current fragment, and returns how many of these belong to it.
    pub(crate) fn more_of_part(&mut self, links: &mut Links<B>, link: LinkKey, input: &[u8]) -> usize {
        let Some(part) = &mut self.traffic[link].part else { return 0 };
        let length = part.missing.min(input.len());
        let padding = part.padding.min(input.len() - length);
        let wanted =
            part.receiving.and_then(|at| self.receivings.get_mut(at)).and_then(|receiving| receiving.long.as_mut());
        if let Some(long) = wanted {
            make_room(&mut long.storage, long.filled, length, long.length);
            long.storage.bytes_mut()[long.filled..long.filled + length].copy_from_slice(&input[..length]);
            long.filled += length;
        }
        part.missing -= length;
        part.padding -= padding;
        self.finish_part(links, link);
        length + padding
    }

    /// Checks whether the current fragment is complete, and whether its body is.
    fn finish_part(&mut self, links: &mut Links<B>, link: LinkKey) {
        let part = &mut self.traffic[link].part;
        let Some(Part { receiving, missing: 0, padding }) = *part else { return };
        // The event is delivered without waiting for the padding.
        *part = (padding > 0).then_some(Part { receiving: None, missing: 0, padding });
        if padding == 0 {
            self.note_whole(link);
        }
        let Some(at) = receiving else { return };
        let Some((sink, stamp, long)) = self.whole(at) else { return self.show_head(links, at) };
        if let Some(entry) = self.sinks.get_mut(sink) {
            entry.inbox.long(stamp, &long.format, long.storage);
            self.wake(links, sink);
        }
    }

    /// Shows the first part of a long body to a sink that wants to see it before the rest.
    fn show_head(&mut self, links: &mut Links<B>, at: ReceivingKey) {
        let Some(receiving) = self.receivings.get_mut(at) else { return };
        let Some(long) = receiving.long.as_ref().filter(|long| long.filled == PAYLOAD) else { return };
        let (sink, source, sequence, origin) = (receiving.sink, receiving.source, receiving.expected, receiving.origin);
        let Some(entry) = self.sinks.get_mut(sink).filter(|entry| entry.wanted.heads) else { return };
        let head = || {
            let (time, format, length) = (long.time, long.format.clone(), long.length as u64);
            let bytes = long.storage.bytes()[..format.size().min(PAYLOAD)].into();
            Head { source, sequence, time, origin, format, length, bytes }
        };
        if entry.inbox.head(&mut receiving.head, head) {
            // A gap in place of the event is told behind the head.
            receiving.gap = None;
            self.wake(links, sink);
        }
    }

    /// The long body of a subscription, if all of it has arrived.
    fn whole(&mut self, at: ReceivingKey) -> Option<(SinkKey, Stamp, Long<S>)> {
        let receiving = self.receivings.get_mut(at)?;
        let long = receiving.long.take_if(|long| long.filled == long.length)?;
        Some((receiving.sink, receiving.receive(at, long.time, long.length), long))
    }

    /// The memory for the rest of the current fragment, if its body is still wanted.
    pub(crate) fn take_large(&mut self, link: LinkKey) -> Option<Large<S>> {
        let part = self.traffic[link].part.as_ref().filter(|part| part.missing > 0)?;
        let (receiving, missing) = (part.receiving?, part.missing);
        let long = self.receivings.get_mut(receiving)?.long.as_mut()?;
        make_room(&mut long.storage, long.filled, missing, long.length);
        let (at, behind) = (long.filled, long.length - long.filled - missing);
        let storage = std::mem::take(&mut long.storage);
        Some(Large { storage, at, missing, behind, subscription: receiving.0 })
    }

    /// Takes the memory of a fragment back, with this many more bytes in it.
    pub(crate) fn put_large(&mut self, links: &mut Links<B>, link: LinkKey, large: Large<S>, got: usize) {
        let Some(part) = &mut self.traffic[link].part else { return };
        let got = got.min(part.missing);
        part.missing -= got;
        // The sink may have left meanwhile.
        if let Some(receiving) = self.receivings.get_mut(ReceivingKey(large.subscription))
            && let Some(long) = &mut receiving.long
        {
            long.storage = large.storage;
            long.filled += got;
        }
        self.finish_part(links, link);
    }

    /// Skips bytes of a fragment that is no longer wanted.
    pub(crate) fn skip_large(&mut self, links: &mut Links<B>, link: LinkKey, count: usize) {
        if let Some(part) = &mut self.traffic[link].part {
            part.missing -= count.min(part.missing);
            self.finish_part(links, link);
        }
    }
}

/// Makes room for more bytes of a long body: twice as much as is needed so far, a quarter more for one that is already
/// long, and no more than the body has. So a length alone reserves little.
fn make_room<S: Storage>(storage: &mut S, filled: usize, more: usize, length: usize) {
    let needed = filled + more;
    if storage.bytes().len() < needed {
        let more = if needed < LONG { needed } else { needed / 4 };
        storage.resize(length.min((needed + more).max(ROOM)));
    }
    if needed == length {
        storage.resize(length);
    }
}

#[inline]
fn expect_running<S>(receiving: &Receiving<S>) -> Result<()> {
    match receiving.stage == Stage::Running && receiving.long.is_none() {
        true => Ok(()),
        false => Err(refuse_event(receiving)),
    }
}

#[cold]
fn refuse_event<S>(receiving: &Receiving<S>) -> Error {
    let error = Error::new(Code::Frame).at("subscription");
    match receiving.long.is_some() {
        true => error.expected("the rest of the event that has begun").found("another event"),
        false => error.expected("no event before Started or after End").found("an event"),
    }
}
