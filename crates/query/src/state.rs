//! What stages remember from record to record: counts, times, the values that were last handed on, for each key. It has a
//! limit, which is part of the language, so that every implementation forgets the same.

use crate::eval::Scalar;
use crate::keys::{KeyAt, Keys};
use crate::run::Event;
use crate::window::Window;

/// What a key takes besides its values, and what each stage behind it takes.
const KEY: usize = 64;
const STAGE: usize = 32;
/// What a remembered number takes.
const NUMBER: usize = 16;
/// What the state of a part takes if it is put aside, and each of its stages that is behind no key.
const ASIDE: usize = 256;
const SLOT: usize = 64;

/// What one stage remembers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Fresh,
    /// The records that have reached it.
    Count(u64),
    /// When the next record is due.
    Due(u64),
    /// The record that was last handed on.
    Last(Last),
    /// The records of a window.
    Window(Box<Window>),
}

#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub(crate) event: Event,
    pub(crate) numbers: Box<[Number]>,
    /// Whether it is a single number, and no array.
    pub(crate) is_one: bool,
}

/// A remembered number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Absent,
    Integer(i64),
    Unsigned(u64),
    Float(f64),
}

/// The state of stages that belong together: those in front of a key, or those of one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) slots: Vec<Slot>,
    /// Its key, if it has one, and one that is remembered.
    key: Option<KeyAt>,
    /// What it takes.
    size: usize,
}

/// The states of a query. While a record is evaluated, its entries are taken out.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    whole: Entry,
    keys: Keys<Entry>,
    /// The key of the current record.
    pub(crate) key: Vec<u8>,
    /// The stages behind a key.
    keyed: usize,
    /// Whether any stage compares with the record last handed on.
    compares: bool,
    /// What all states take, those that are taken out included.
    size: usize,
    /// The most that they may take.
    limit: usize,
    forgotten: u64,
}

impl Memory {
    /// At most so many bytes, for so many stages, of which the last ones are behind a key.
    pub(crate) fn new(limit: usize, stages: usize, keyed: usize, compares: bool) -> Memory {
        Memory {
            whole: Entry { slots: vec![Slot::Fresh; stages - keyed], ..Entry::default() },
            keys: Keys::new(),
            key: Vec::new(),
            keyed,
            compares,
            size: 0,
            limit,
            forgotten: 0,
        }
    }

    pub(crate) fn take_whole(&mut self) -> Entry {
        std::mem::take(&mut self.whole)
    }

    /// Whether the first stage, which passes one record in so many nanoseconds, does not pass one of this time.
    pub(crate) fn is_early(&self, each: u64, time: u64) -> bool {
        self.whole.slots.first().is_some_and(|slot| slot.is_early(each, time))
    }

    pub(crate) fn put_whole(&mut self, entry: Entry) {
        self.whole = entry;
    }

    /// The state of the current key, and whether there is room for it.
    pub(crate) fn take(&mut self) -> (Entry, bool) {
        if let Some(at) = self.keys.take(&self.key) {
            return (std::mem::take(self.keys.value(at)), true);
        }
        let size = KEY + STAGE * self.keyed + self.key.len();
        if !self.make_room(size) {
            // It may be as long as an event.
            self.key = Vec::new();
            return (Entry { slots: vec![Slot::Fresh; self.keyed], ..Entry::default() }, false);
        }
        let at = self.keys.add(&self.key);
        let mut entry = std::mem::take(self.keys.value(at));
        entry.slots.resize(self.keyed, Slot::Fresh);
        (entry.key, entry.size) = (Some(at), size);
        self.size += size;
        (entry, true)
    }

    /// The state of a key goes back.
    pub(crate) fn put(&mut self, entry: Entry) {
        // What has no room is forgotten at once.
        let Some(at) = entry.key else { return self.size -= entry.size };
        *self.keys.value(at) = entry;
        self.keys.put(at);
    }

    /// A stage remembers the record that was handed on. Returns whether there is room for it.
    pub(crate) fn remember(&mut self, entry: &mut Entry, stage: usize, last: Last) -> bool {
        self.clear(entry, stage);
        let size = NUMBER * last.numbers.len();
        let fits = self.make_room(size);
        if fits && let Some(slot) = entry.slots.get_mut(stage) {
            *slot = Slot::Last(last);
            entry.size += size;
            self.size += size;
        }
        fits
    }

    fn clear(&mut self, entry: &mut Entry, stage: usize) {
        if let Some(Slot::Last(last)) = entry.slots.get_mut(stage).map(std::mem::take) {
            let size = NUMBER * last.numbers.len();
            entry.size -= size;
            self.size -= size;
        }
    }

    /// A stage behind a key, or in front of it, remembers so many bytes more. Returns whether there is room for them.
    pub(crate) fn grow(&mut self, entry: &mut Entry, bytes: usize) -> bool {
        let fits = self.make_room(bytes);
        if fits {
            entry.size += bytes;
            self.size += bytes;
        }
        fits
    }

    /// It remembers so many bytes less.
    pub(crate) fn shrink(&mut self, entry: &mut Entry, bytes: usize) {
        entry.size -= bytes;
        self.size -= bytes;
    }

    /// The keys, in the order of their last use.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.keys.in_order().map(<[u8]>::to_vec).collect()
    }

    /// Forgets keys until there is room for so many bytes, if there can be.
    fn make_room(&mut self, size: usize) -> bool {
        while self.size + size > self.limit {
            let Some(entry) = self.keys.forget_oldest() else { return false };
            self.size -= std::mem::take(&mut entry.size);
            entry.slots.fill(Slot::Fresh);
            self.forgotten += 1;
        }
        true
    }

    /// These records were handed on, and then lost. Returns how many states it has looked at.
    pub(crate) fn lost(&mut self, first: u64, count: u64) -> u64 {
        self.forget_last(|last| last.checked_sub(first).is_some_and(|beyond| beyond < count))
    }

    /// Forgets the records that were handed on and have these numbers. Returns how many states it has looked at.
    pub(crate) fn forget_last(&mut self, is_it: impl Fn(u64) -> bool) -> u64 {
        if !self.compares {
            return 0;
        }
        let (mut freed, mut looks) = (0, 0);
        for entry in std::iter::once(&mut self.whole).chain(self.keys.values_mut()) {
            looks += 1;
            for slot in &mut entry.slots {
                if let Slot::Last(last) = slot
                    && is_it(last.event.sequence)
                {
                    let size = NUMBER * last.numbers.len();
                    *slot = Slot::Fresh;
                    entry.size -= size;
                    freed += size;
                }
            }
        }
        self.size -= freed;
        looks
    }

    /// What it takes if it is put aside.
    pub(crate) fn size(&self) -> usize {
        ASIDE + SLOT * self.whole.slots.len() + self.size
    }

    /// The states that are lost with it: one for each key, and one for the stages without.
    pub(crate) fn states(&self) -> u64 {
        let is_used = self.whole.slots.iter().any(|slot| !matches!(slot, Slot::Fresh));
        u64::from(is_used) + self.keys.in_order().count() as u64
    }

    /// The keys that were forgotten since the last call.
    pub(crate) fn take_forgotten(&mut self) -> u64 {
        std::mem::take(&mut self.forgotten)
    }
}

impl Slot {
    /// Counts a record. Whether it is the first one of so many.
    pub(crate) fn counts(&mut self, of: u64) -> bool {
        let before = if let Slot::Count(before) = self { *before } else { 0 };
        *self = Slot::Count(before + 1);
        before.is_multiple_of(of)
    }

    /// Whether a record is not due yet. If so, [`is_due`](Slot::is_due) would change nothing.
    fn is_early(&self, each: u64, time: u64) -> bool {
        let is_early = |due: u64| due <= time.saturating_add(2 * each) && time < due.saturating_sub(each / 2);
        matches!(self, Slot::Due(due) if is_early(*due))
    }

    /// Whether a record is due, one in so many nanoseconds.
    pub(crate) fn is_due(&mut self, each: u64, time: u64) -> bool {
        let due = match self {
            // Otherwise time has gone back.
            Slot::Due(due) if *due <= time.saturating_add(2 * each) => *due,
            _ => {
                *self = Slot::Due(time.saturating_add(each));
                return true;
            }
        };
        let is_due = time >= due.saturating_sub(each / 2);
        if is_due {
            *self = Slot::Due(due.max(time.saturating_sub(each / 2)).saturating_add(each));
        }
        is_due
    }
}

impl Number {
    pub(crate) fn of(scalar: Scalar<'_>) -> Number {
        match scalar {
            Scalar::Float(number) => Number::Float(number),
            Scalar::Integer(number) => match i64::try_from(number) {
                Ok(number) => Number::Integer(number),
                Err(_) => u64::try_from(number).map_or(Number::Absent, Number::Unsigned),
            },
            Scalar::Absent | Scalar::Truth(_) | Scalar::Text(_) => Number::Absent,
        }
    }

    pub(crate) fn scalar(self) -> Scalar<'static> {
        match self {
            Number::Absent => Scalar::Absent,
            Number::Integer(number) => Scalar::Integer(number.into()),
            Number::Unsigned(number) => Scalar::Integer(number.into()),
            Number::Float(number) => Scalar::Float(number),
        }
    }
}
