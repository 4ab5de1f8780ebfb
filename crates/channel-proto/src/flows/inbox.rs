//! Events that have arrived for a sink and that its application has not taken. They are in batches that leave as a
//! whole. So an application takes hundreds of small events with one access to the node.

use crate::account::Gap;
use crate::frame::{self, HEADER};
use crate::grant::Granted;
use crate::keys::{NodeId, ReceivingKey, SourceRef};
use crate::memory::{Body, Storage};
use crate::origin::Origin;
use crate::parameters::Given;
use isoform_core::{Error, Format, Result};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::Range;

/// A batch with this many bytes accepts no further body.
const BYTES: usize = 64 << 10;
/// A batch with this many items accepts no further item.
const ITEMS: usize = 1024;
/// This many used batches, and storages of long bodies, are kept for reuse.
const SPARE: usize = 8;
/// But only one storage is kept if they have more bytes than this together.
const KEPT: usize = 16 << 20;
/// Up to this many consecutive gaps are kept apart by their causes.
const ROW: u8 = 8;
/// A run counts no more bytes than this, since the bytes of a run are acknowledged together.
const RUN: u64 = 16 << 10;

/// Items in the order of their arrival.
pub struct Batch<B, S> {
    /// The items; consecutive events of one subscription are one entry.
    entries: Vec<Entry>,
    /// The number of the items.
    length: usize,
    /// The short bodies, each at a multiple of 16, with headers of frames between those that links have brought.
    pub storage: S,
    /// The long bodies, each in storage of its own.
    pub long: Vec<S>,
    /// Bodies that are shared with a source of this process.
    pub shared: Vec<B>,
    /// Where events were first submitted that relays have submitted again.
    pub origins: Vec<Origin>,
    /// The formats of its events, and perhaps one more.
    pub formats: Vec<Format>,
    /// How many items count for which subscription.
    pub(crate) runs: Vec<Run>,
}

/// An event of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A record.
    Event {
        /// Its source.
        source: SourceRef,
        /// Its number at the source.
        sequence: u64,
        /// The time of its submission, in nanoseconds since 1970.
        time: u64,
        /// The place of its format in [`Batch::formats`].
        format: u32,
        /// The place of its body.
        place: BodyRef,
        /// The place in [`Batch::origins`], from 1, if a relay has submitted it.
        origin: Option<NonZeroU32>,
    },
    /// The first bytes of a long event whose rest is on its way. The event follows, or a gap in its place, or that the source
    /// has left.
    Head(Box<Head>),
    /// Events of this source that do not come: lost or superseded ones.
    Gap(SourceRef, Gap),
    /// A source has joined.
    Joined {
        /// The number of the source here.
        source: SourceRef,
        /// Its node.
        node: NodeId,
        /// The number that its node gives it.
        number: u32,
        /// The format of all of its events, if they have one.
        format: Option<Format>,
        /// The events that it submitted before, and that the sink does not get.
        earlier: u64,
    },
    /// A source has left: it sends nothing more.
    Left(SourceRef),
    /// The events of this source cannot become those of this sink, or this source does not grant the policy that this
    /// sink must have.
    Refused(SourceRef, Error),
    /// This source grants another policy than the sink asked for, or another one than before.
    Granted(SourceRef, Granted),
    /// This source says which values of its parameters the sink has.
    Given(SourceRef, Box<Given>),
}

/// The first bytes of a long event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its source.
    pub source: SourceRef,
    /// Its number at the source.
    pub sequence: u64,
    /// The time of its submission, in nanoseconds since 1970.
    pub time: u64,
    /// Where it was first submitted, if a relay has submitted it.
    pub origin: Option<Origin>,
    /// Its format.
    pub format: Format,
    /// The bytes of its whole body.
    pub length: u64,
    /// The first bytes of the body: those of the record itself, or as many of them as are in the first Part.
    pub bytes: Box<[u8]>,
}

/// What is in a batch.
#[derive(Debug)]
enum Entry {
    One(Item),
    Frames(Frames),
}

/// Consecutive events of one subscription and format, whose frames are next to each other in [`Batch::storage`]. What
/// differs between them is read from the headers of the frames. So an event that arrives costs no item.
#[derive(Clone, Copy, Debug)]
struct Frames {
    source: SourceRef,
    /// The number of the first event at its source.
    sequence: u64,
    count: u32,
    /// The place of the first frame.
    at: u32,
    /// The time to which those in the headers are added.
    base: u64,
    format: u32,
}

/// A place between the items of a [`Batch`], at first before all of them.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// The next entry.
    entry: usize,
    /// The rest of the entry before it.
    rest: Frames,
}

/// The next item of a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub enum Next<'b> {
    /// A short event that a link has brought. Most items are.
    Frame(Frame),
    /// Any other.
    Item(&'b Item),
}

/// A short event that a link has brought.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its source.
    pub source: SourceRef,
    /// Its number at the source.
    pub sequence: u64,
    /// The time of its submission, in nanoseconds since 1970.
    pub time: u64,
    /// The place of its format in [`Batch::formats`].
    pub format: u32,
    /// The place of its body in [`Batch::storage`], and its length.
    pub body: (u32, u32),
}

/// The place of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRef {
    /// In [`Batch::storage`]: its start and its length.
    Here(u32, u32),
    /// In [`Batch::long`].
    Long(u32),
    /// In [`Batch::shared`].
    Shared(u32),
}

/// Consecutive items that count for the same subscription, or for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) subscription: Option<ReceivingKey>,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
}

impl Run {
    fn of(subscription: ReceivingKey) -> Run {
        Run { subscription: Some(subscription), items: 0, bytes: 0 }
    }
}

/// The properties of an event besides its body.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) source: SourceRef,
    pub(crate) subscription: ReceivingKey,
    pub(crate) sequence: u64,
    pub(crate) time: u64,
    pub(crate) origin: Option<Origin>,
}

/// The gap of a source that the sink was told of last.
#[derive(Clone, Copy)]
pub(crate) struct LastGap {
    /// Its batch, counted from the first batch of the sink, and its place there.
    batch: u64,
    item: usize,
    /// The number of consecutive gaps there.
    row: u8,
}

impl Default for Cursor {
    fn default() -> Cursor {
        let rest = Frames { source: SourceRef(0), sequence: 0, count: 0, at: 0, base: 0, format: 0 };
        Cursor { entry: 0, rest }
    }
}

impl<B, S: Storage> Default for Batch<B, S> {
    fn default() -> Self {
        Batch {
            entries: Vec::new(),
            length: 0,
            storage: S::default(),
            long: Vec::new(),
            shared: Vec::new(),
            origins: Vec::new(),
            formats: Vec::new(),
            runs: Vec::new(),
        }
    }
}

impl<B: Body, S: Storage> Batch<B, S> {
    fn clear(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.entries.clear();
        self.length = 0;
        self.storage.resize(0);
        self.shared.clear();
        self.origins.clear();
        self.runs.clear();
        // Usually there is one format, and the next events have it as well.
        if self.formats.len() > 1 {
            self.formats.clear();
        }
    }

    fn is_full(&self) -> bool {
        self.length >= ITEMS || self.storage.bytes().len() >= BYTES
    }

    #[inline]
    fn add(&mut self, item: Item, subscription: Option<ReceivingKey>, bytes: u64) {
        self.entries.push(Entry::One(item));
        self.length += 1;
        match self.runs.last_mut() {
            Some(run) if run.subscription == subscription && run.bytes < RUN => {
                run.items += 1;
                run.bytes += bytes;
            }
            _ => self.runs.push(Run { subscription, items: 1, bytes }),
        }
    }

    /// The place of a format.
    #[inline]
    fn place_of(&mut self, format: &Format) -> u32 {
        if self.formats.last() != Some(format) {
            self.formats.push(format.clone());
        }
        self.formats.len() as u32 - 1
    }
}

/// The batches of one sink.
pub(crate) struct Inbox<B, S> {
    batches: VecDeque<Box<Batch<B, S>>>,
    /// The number of batches before these.
    before: u64,
    spare: Vec<Box<Batch<B, S>>>,
    spare_long: Vec<S>,
}

impl<B: Body, S: Storage> Inbox<B, S> {
    pub(crate) fn new() -> Self {
        Inbox { batches: VecDeque::new(), before: 0, spare: Vec::new(), spare_long: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The batch for the next item.
    #[inline]
    fn open(&mut self) -> &mut Batch<B, S> {
        if self.batches.back().is_none_or(|batch| batch.is_full()) {
            self.batches.push_back(self.spare.pop().unwrap_or_default());
        }
        self.batches.back_mut().unwrap_or_else(|| unreachable!("there is one now"))
    }

    /// Adds an event whose body is copied.
    #[inline]
    pub(crate) fn copy(&mut self, stamp: Stamp, format: &Format, pieces: impl FnOnce(&mut S)) {
        let batch = self.open();
        let start = batch.storage.bytes().len().next_multiple_of(16);
        batch.storage.resize(start);
        pieces(&mut batch.storage);
        let length = batch.storage.bytes().len() - start;
        let (place, format) = (BodyRef::Here(start as u32, length as u32), batch.place_of(format));
        batch.event(stamp, format, place, length);
    }

    /// Adds consecutive events of one subscription and format: the frames at the start of the input that are like the
    /// first, which is whole. They are copied together, with their headers. `stamp` is that of the first, except that its
    /// time is the one to which those in the headers are added. `receive` counts an event, whose length it gets, and may
    /// refuse it. Returns the length of these frames.
    #[inline]
    pub(crate) fn copy_frames(
        &mut self,
        input: &[u8],
        format: &Format,
        stamp: Stamp,
        mut receive: impl FnMut(usize) -> Result<()>,
    ) -> Result<usize> {
        let Some(first) = input.first_chunk::<HEADER>() else { return Ok(0) };
        let Stamp { source, subscription, mut sequence, time: base, .. } = stamp;
        let (mut used, mut copied) = (0, 0);
        loop {
            let batch = self.open();
            let start = batch.storage.bytes().len().next_multiple_of(HEADER);
            let most = (ITEMS - batch.length) as u32;
            let mut frames =
                Frames { source, sequence, count: 0, at: start as u32, base, format: batch.place_of(format) };
            let mut run = batch.open_run(subscription);
            let end = loop {
                if frames.count == most || start + used - copied >= BYTES {
                    break None;
                }
                let Some(length) = frame::like(first, &input[used..]) else { break Some(Ok(())) };
                if let Err(error) = receive(length) {
                    break Some(Err(error));
                }
                frames.count += 1;
                if run.bytes >= RUN {
                    batch.runs.push(std::mem::replace(&mut run, Run::of(subscription)));
                }
                run.items += 1;
                run.bytes += cost(length);
                used += HEADER + length.next_multiple_of(HEADER);
            };
            batch.close_run(run);
            batch.add_frames(frames);
            sequence += u64::from(frames.count);
            batch.storage.resize(start);
            batch.storage.append(&input[copied..used]);
            copied = used;
            if let Some(end) = end {
                return end.map(|()| used);
            }
        }
    }

    /// Adds an event whose body arrived in storage of its own.
    pub(crate) fn long(&mut self, stamp: Stamp, format: &Format, body: S) {
        let (batch, length) = (self.open(), body.bytes().len());
        batch.long.push(body);
        let (place, format) = (BodyRef::Long(batch.long.len() as u32 - 1), batch.place_of(format));
        batch.event(stamp, format, place, length);
        self.seal();
    }

    /// Adds an event whose body is shared with its source.
    pub(crate) fn share(&mut self, stamp: Stamp, format: &Format, body: B) {
        let (batch, length) = (self.open(), body.length());
        batch.shared.push(body);
        let (place, format) = (BodyRef::Shared(batch.shared.len() as u32 - 1), batch.place_of(format));
        batch.event(stamp, format, place, length);
    }

    /// Adds an item other than a record.
    pub(crate) fn tell(&mut self, item: Item) {
        self.open().add(item, None, 0);
    }

    /// Adds the first bytes of a long event, unless the application has not taken the last ones of this subscription. So heads
    /// take little memory.
    /// Returns whether it was added.
    pub(crate) fn head(&mut self, last: &mut Option<u64>, head: impl FnOnce() -> Head) -> bool {
        let is_due = last.is_none_or(|batch| batch < self.before);
        if is_due {
            self.tell(Item::Head(Box::new(head())));
            *last = Some(self.before + self.batches.len() as u64 - 1);
        }
        is_due
    }

    /// Adds events that do not come. If nothing of their source has arrived since the last gap, they are joined to that. So a sink
    /// that takes nothing keeps few more gaps than events. Lost events are not joined to superseded ones. Returns whether this needed an item of its own.
    pub(crate) fn gap(&mut self, last: &mut Option<LastGap>, source: SourceRef, gap: Gap) -> bool {
        let mut row = 0;
        if let Some(before) = *last
            && let Some(known) = self.gap_mut(before)
        {
            row = before.row;
            let is_alike = known.cause.is_loss() == gap.cause.is_loss();
            if known.first + known.count == gap.first && is_alike && (known.cause == gap.cause || row >= ROW) {
                known.count += gap.count;
                return false;
            }
        }
        self.tell(Item::Gap(source, gap));
        let batch = self.before + self.batches.len() as u64 - 1;
        let item = self.batches.back().map_or(0, |batch| batch.entries.len() - 1);
        *last = Some(LastGap { batch, item, row: row.saturating_add(1) });
        true
    }

    fn gap_mut(&mut self, last: LastGap) -> Option<&mut Gap> {
        let batch = usize::try_from(last.batch.checked_sub(self.before)?).ok()?;
        match self.batches.get_mut(batch)?.entries.get_mut(last.item)? {
            Entry::One(Item::Gap(_, gap)) => Some(gap),
            _ => None,
        }
    }

    /// Starts another batch for the next item, so that the storage of a long body comes back as soon as it was used.
    fn seal(&mut self) {
        let spare = self.spare.pop().unwrap_or_default();
        self.batches.push_back(spare);
    }

    /// Storage for a long body: used storage if there is some.
    pub(crate) fn storage(&mut self) -> S {
        self.spare_long.pop().unwrap_or_default()
    }

    /// Keeps used storage for further long bodies.
    fn keep(&mut self, used: &mut Vec<S>) {
        for storage in used.drain(..) {
            let kept: usize = self.spare_long.iter().map(|storage| storage.bytes().len()).sum();
            if self.spare_long.is_empty() || self.spare_long.len() < SPARE && kept < KEPT {
                self.spare_long.push(storage);
            }
        }
    }

    /// Exchanges a used batch for the next one. Returns `false` if there is none.
    pub(crate) fn take(&mut self, used: &mut Batch<B, S>) -> bool {
        used.clear();
        if !used.long.is_empty() {
            self.keep(&mut used.long);
        }
        while let Some(mut next) = self.batches.pop_front() {
            self.before += 1;
            let came = next.length > 0;
            if came {
                std::mem::swap(used, &mut *next);
            }
            if self.spare.len() < SPARE {
                self.spare.push(next);
            }
            if came {
                return true;
            }
        }
        false
    }
}

impl<B: Body, S: Storage> Batch<B, S> {
    #[inline]
    fn event(&mut self, stamp: Stamp, format: u32, place: BodyRef, length: usize) {
        let Stamp { source, subscription, sequence, time, origin } = stamp;
        let origin = origin.and_then(|origin| self.keep_origin(origin));
        self.add(Item::Event { source, sequence, time, format, place, origin }, Some(subscription), cost(length));
    }

    #[cold]
    fn keep_origin(&mut self, origin: Origin) -> Option<NonZeroU32> {
        self.origins.push(origin);
        NonZeroU32::new(self.origins.len() as u32)
    }

    /// The run of a subscription that counts further events: the last one, if it is hers and not full.
    #[inline]
    fn open_run(&mut self, subscription: ReceivingKey) -> Run {
        let is_open = |run: &mut Run| run.subscription == Some(subscription) && run.bytes < RUN;
        self.runs.pop_if(is_open).unwrap_or(Run::of(subscription))
    }

    #[inline]
    fn close_run(&mut self, run: Run) {
        if run.items > 0 {
            self.runs.push(run);
        }
    }

    /// Adds events whose frames are about to be copied.
    #[inline]
    fn add_frames(&mut self, frames: Frames) {
        if frames.count > 0 {
            self.entries.push(Entry::Frames(frames));
            self.length += frames.count as usize;
        }
    }

    /// The number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The item behind a cursor, which then is behind that item; `None` at the end.
    #[inline(always)]
    pub fn next(&self, cursor: &mut Cursor) -> Option<Next<'_>> {
        if let Some(frame) = self.next_frame(cursor) {
            return Some(Next::Frame(frame));
        }
        let Entry::One(item) = self.entries.get(cursor.entry)? else { return None };
        cursor.entry += 1;
        Some(Next::Item(item))
    }

    /// The same if it is a short event that a link has brought. Otherwise the cursor stays where it is.
    #[inline(always)]
    pub fn next_frame(&self, cursor: &mut Cursor) -> Option<Frame> {
        if cursor.rest.count == 0 {
            let Entry::Frames(frames) = self.entries.get(cursor.entry)? else { return None };
            (cursor.rest, cursor.entry) = (*frames, cursor.entry + 1);
        }
        let Frames { source, sequence, count, at, base, format } = cursor.rest;
        let (length, time) = frame::length_and_time(self.storage.bytes()[at as usize..].first_chunk()?);
        let behind = at + HEADER as u32;
        (cursor.rest.sequence, cursor.rest.count) = (sequence + 1, count - 1);
        cursor.rest.at = behind + length.next_multiple_of(HEADER as u32);
        Some(Frame { source, sequence, time: base + u64::from(time), format, body: (behind, length) })
    }

    /// The entry before a cursor, if that is a single item.
    pub fn last(&self, cursor: &Cursor) -> Option<&Item> {
        match self.entries.get(cursor.entry.checked_sub(1)?)? {
            Entry::One(item) => Some(item),
            Entry::Frames(_) => None,
        }
    }

    /// All items, in order.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || {
            Some(match self.next(&mut cursor)? {
                Next::Item(item) => item.clone(),
                Next::Frame(Frame { source, sequence, time, format, body: (start, length) }) => {
                    let place = BodyRef::Here(start, length);
                    Item::Event { source, sequence, time, format, place, origin: None }
                }
            })
        })
    }

    /// The origin of an event.
    #[inline]
    pub fn origin(&self, place: Option<NonZeroU32>) -> Option<Origin> {
        place.and_then(|place| self.origins.get(place.get() as usize - 1).copied())
    }

    /// The body at a place, if it is contiguous. Otherwise it is one of [`Batch::shared`].
    pub fn body(&self, place: BodyRef) -> Option<&[u8]> {
        match place {
            BodyRef::Here(start, length) => Some(&self.storage.bytes()[range(start, length)]),
            BodyRef::Long(at) => Some(self.long[at as usize].bytes()),
            BodyRef::Shared(_) => None,
        }
    }

    /// The same for writing. The batch owns these bytes.
    pub fn body_mut(&mut self, place: BodyRef) -> Option<&mut [u8]> {
        match place {
            BodyRef::Here(start, length) => Some(&mut self.storage.bytes_mut()[range(start, length)]),
            BodyRef::Long(at) => Some(self.long[at as usize].bytes_mut()),
            BodyRef::Shared(_) => None,
        }
    }
}

fn range(start: u32, length: u32) -> Range<usize> {
    start as usize..start as usize + length as usize
}

/// The weight of an event in windows and queues: its bytes, and 16 more.
#[inline]
pub(crate) fn cost(length: usize) -> u64 {
    length as u64 + 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Cause;
    use crate::frame::{FrameKind, Header};
    use isoform_core::FieldList;

    type Boxed = Inbox<std::sync::Arc<[u8]>, Vec<u8>>;

    fn gaps(inbox: &mut Boxed) -> Vec<(u64, u64, Cause)> {
        let (mut batch, mut gaps) = (Batch::default(), Vec::new());
        while inbox.take(&mut batch) {
            gaps.extend(batch.items().filter_map(|item| match item {
                Item::Gap(_, gap) => Some((gap.first, gap.count, gap.cause)),
                _ => None,
            }));
        }
        gaps
    }

    #[test]
    fn neighbouring_gaps_are_one() {
        let (mut inbox, mut last, mut other) = (Boxed::new(), None, None);
        let lost = |first, cause| Gap { first, count: 1, cause };
        assert!(inbox.gap(&mut last, SourceRef(1), lost(5, Cause::TooLarge)));
        assert!(inbox.gap(&mut other, SourceRef(2), lost(9, Cause::Overrun)));
        assert!(!inbox.gap(&mut last, SourceRef(1), lost(6, Cause::TooLarge)));
        assert!(inbox.gap(&mut last, SourceRef(1), lost(7, Cause::Overrun)), "of another cause");
        assert!(inbox.gap(&mut other, SourceRef(2), lost(11, Cause::Overrun)), "an event lies between");
        assert!(inbox.gap(&mut other, SourceRef(2), lost(12, Cause::Superseded)), "that is not lost");
        let told = gaps(&mut inbox);
        let [large, overrun, superseded] = [Cause::TooLarge, Cause::Overrun, Cause::Superseded];
        let meant = [(5, 2, large), (9, 1, overrun), (7, 1, overrun), (11, 1, overrun), (12, 1, superseded)];
        assert_eq!(told, meant);
        assert!(inbox.gap(&mut last, SourceRef(1), lost(8, Cause::Overrun)), "what was given out stays as it is");
        assert_eq!(gaps(&mut inbox), [(8, 1, Cause::Overrun)]);
    }

    fn frame(subscription: u32, byte: u8, length: usize) -> Vec<u8> {
        let (mut out, header) = (Vec::new(), Header { subscription, ..Header::plain(FrameKind::Event) });
        frame::put(&mut out, header, |out| out.resize(out.len() + length, byte));
        out
    }

    #[test]
    fn frames_that_are_alike_are_copied_until_one_differs_or_is_refused() {
        let field = FieldList::new("Tick").field("n", "integer", 8, 0);
        let format = field.format(isoform_core::Machine::NATIVE, 8, 8).unwrap();
        let length = |i: u64| 50 * (i as usize % 3);
        let events: Vec<u8> = (0..3_000).flat_map(|i| frame(1, i as u8, length(i))).collect();
        let refused = Error::new(isoform_core::Code::Frame);
        for (admitted, behind) in [(3_000, frame(2, 0, 8)), (2_500, Vec::new()), (0, Vec::new())] {
            let (mut inbox, mut sequence) = (Boxed::new(), 0);
            let (source, subscription) = (SourceRef(1), ReceivingKey(1));
            let stamp = Stamp { source, subscription, sequence: 0, time: 0, origin: None };
            let run = inbox.copy_frames(&[&events[..], &behind].concat(), &format, stamp, |_| {
                sequence += 1;
                if sequence <= admitted { Ok(()) } else { Err(refused.clone()) }
            });
            assert_eq!(run, if admitted == 3_000 { Ok(events.len()) } else { Err(refused.clone()) });
            let (mut batch, mut came) = (Batch::default(), 0);
            while inbox.take(&mut batch) {
                assert!(batch.len() <= ITEMS && batch.storage.len() < BYTES + 128);
                assert_eq!(batch.runs.iter().map(|run| run.items).sum::<u64>(), batch.len() as u64);
                assert!(batch.runs.iter().all(|run| run.bytes < RUN + 128));
                for item in batch.items() {
                    let Item::Event { sequence, place, .. } = item else { panic!("{item:?}") };
                    let BodyRef::Here(start, _) = place else { panic!("{place:?}") };
                    assert_eq!((sequence, start % 16), (came, 0));
                    assert_eq!(batch.body(place).unwrap(), vec![came as u8; length(came)]);
                    came += 1;
                }
            }
            assert_eq!(came, admitted, "what was admitted is there");
        }
    }

    #[test]
    fn gaps_without_end_take_no_memory() {
        let (mut inbox, mut last) = (Boxed::new(), None);
        for first in 0..10_000 {
            let cause = Cause::ALL[first as usize % 3];
            inbox.gap(&mut last, SourceRef(1), Gap { first, count: 1, cause });
        }
        let told = gaps(&mut inbox);
        assert_eq!(told.len(), usize::from(ROW));
        assert_eq!(told.iter().map(|(_, count, _)| count).sum::<u64>(), 10_000);
    }
}
