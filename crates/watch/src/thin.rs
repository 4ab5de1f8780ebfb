//! Fewer records than a recording has, so that a line through their numbers looks as one through all of them.
//!
//! Time is divided into parts. Of each part and each number of the records, the records with the least and the greatest remain, and so do
//! the first and the last record. So no peak is hidden, and no line begins or ends elsewhere.

use crate::entries::Mark;
use isoform::core::view::{Item, View};
use isoform::{Format, Token};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Numbers of a record that are looked at.
const NUMBERS: usize = 64;
/// The most parts of time.
pub(crate) const MOST: u64 = 1 << 14;

/// The bytes of the records of all parts that are being read. A recording may have a part for each of very many sources.
const HELD: usize = 64 << 20;
/// What a record takes besides its body.
const RECORD: usize = 256;

/// A record that remains.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) mark: Mark,
    pub(crate) format: Format,
    pub(crate) body: Vec<u8>,
}

/// The records of each source in the part of time that is being read.
#[derive(Debug)]
pub(crate) struct Thin {
    from: u64,
    width: u64,
    parts: HashMap<u32, Part>,
    /// At most so many bytes are held.
    held: usize,
}

#[derive(Debug)]
struct Part {
    number: u64,
    token: Token,
    first: Rc<Kept>,
    last: Rc<Kept>,
    extremes: Vec<Option<Extremes>>,
}

/// The least and the greatest number of a field, with their records.
type Extremes = [(f64, Rc<Kept>); 2];

impl Thin {
    /// For the time between these, in so many parts.
    pub(crate) fn new(from: u64, to: u64, parts: u64) -> Thin {
        Thin { from, width: (to.saturating_sub(from) / parts.clamp(1, MOST)).max(1), parts: HashMap::new(), held: 0 }
    }

    /// Takes a record, and returns those that remain of a part of time which it ends; if too much is held, those of all parts.
    pub(crate) fn take(&mut self, mark: Mark, format: &Format, view: View<'_>, body: &[u8]) -> Vec<Rc<Kept>> {
        let mut ended = self.make_room(body.len());
        let number = mark.nanoseconds.saturating_sub(self.from) / self.width;
        let one = Rc::new(Kept { mark, format: format.clone(), body: body.to_vec() });
        if let Some(part) = self.parts.get_mut(&mark.source)
            && (part.number, part.token) == (number, format.token())
        {
            part.add(view, one);
            return ended;
        }
        let mut part =
            Part { number, token: format.token(), first: one.clone(), last: one.clone(), extremes: Vec::new() };
        part.add(view, one);
        self.held += part.extremes.len() * size_of::<Option<Extremes>>();
        ended.extend(self.parts.insert(mark.source, part).map_or_else(Vec::new, Part::records));
        ended
    }

    /// Makes room for one more record, and returns what remains of the parts that end for it. What is held is counted only once it may
    /// be too much.
    fn make_room(&mut self, length: usize) -> Vec<Rc<Kept>> {
        let length = length + RECORD;
        self.held += length;
        if self.held <= HELD {
            return Vec::new();
        }
        let held: usize = self.parts.values().map(Part::held).sum();
        // Otherwise it might be counted again with each record.
        let is_much = held > HELD / 2;
        self.held = if is_much { length } else { held + length };
        if is_much { self.finish() } else { Vec::new() }
    }

    /// What remains of a source so far.
    pub(crate) fn flush(&mut self, source: u32) -> Vec<Rc<Kept>> {
        self.parts.remove(&source).map_or_else(Vec::new, Part::records)
    }

    /// What remains of all sources.
    pub(crate) fn finish(&mut self) -> Vec<Rc<Kept>> {
        std::mem::take(&mut self.parts).into_values().flat_map(Part::records).collect()
    }
}

impl Part {
    fn add(&mut self, view: View<'_>, one: Rc<Kept>) {
        for (index, (_, item)) in view.fields().take(NUMBERS).enumerate() {
            if self.extremes.len() == index {
                self.extremes.push(None);
            }
            let Some(number) = number(item).filter(|number| !number.is_nan()) else { continue };
            match &mut self.extremes[index] {
                none @ None => *none = Some([(number, one.clone()), (number, one.clone())]),
                Some([least, greatest]) => {
                    if number < least.0 {
                        *least = (number, one.clone());
                    }
                    if number > greatest.0 {
                        *greatest = (number, one.clone());
                    }
                }
            }
        }
        self.last = one;
    }

    /// The bytes of its records.
    fn held(&self) -> usize {
        let extremes = self.extremes.iter().flatten().flatten().map(|(_, one)| one);
        let all = extremes.chain([&self.first, &self.last]).map(|one| (Rc::as_ptr(one), one.body.len() + RECORD));
        let records: HashMap<*const Kept, usize> = all.collect();
        records.into_values().sum::<usize>() + self.extremes.len() * size_of::<Option<Extremes>>()
    }

    /// In the order in which they came.
    fn records(self) -> Vec<Rc<Kept>> {
        let extremes = self.extremes.into_iter().flatten().flatten().map(|(_, one)| one);
        let all = extremes.chain([self.first, self.last]);
        let all: BTreeMap<(u64, u64), Rc<Kept>> =
            all.map(|one| ((one.mark.sequence, one.mark.nanoseconds), one)).collect();
        all.into_values().collect()
    }
}

/// A value as lines show it.
fn number(item: Item<'_>) -> Option<f64> {
    match item {
        Item::Boolean(value) => Some(f64::from(value)),
        Item::Symbol(symbol) => Some(symbol.value as f64),
        Item::Complex([real, imaginary]) => Some(real.to_f64().hypot(imaginary.to_f64())),
        other => other.to_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::{Layout, Shape};

    fn format() -> Format {
        Shape::new("Gauge").field("depth", "double").field("flow", "double").on(&Layout::NATIVE).unwrap()
    }

    fn take(thin: &mut Thin, format: &Format, sequence: u64, numbers: [f64; 2]) -> Vec<u64> {
        let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let mark = Mark { source: 3, sequence, nanoseconds: 100 + sequence };
        let view = View::new(format.verify(&body).unwrap());
        thin.take(mark, format, view, &body).iter().map(|kept| kept.mark.sequence).collect()
    }

    #[test]
    fn the_ends_and_the_extremes_of_each_part_remain() {
        let (format, mut thin) = (format(), Thin::new(100, 300, 2));
        let mut remain = Vec::new();
        for sequence in 0..200 {
            let depth = if sequence == 17 { -50.0 } else { sequence as f64 };
            let flow = if sequence % 2 == 0 { f64::NAN } else { 7.0 };
            remain.extend(take(&mut thin, &format, sequence, [depth, flow]));
        }
        assert_eq!(remain, [0, 1, 17, 99]);
        let rest: Vec<u64> = thin.finish().iter().map(|kept| kept.mark.sequence).collect();
        assert_eq!(rest, [100, 101, 199], "of depth, the first and the last are the extremes");
        assert!(thin.finish().is_empty());
    }

    #[test]
    fn very_many_sources_hold_a_bounded_number_of_bytes() {
        let format = Shape::new("Grid").field("step", "i64").field("bytes", "u8[65528]").on(&Layout::NATIVE).unwrap();
        let (body, mut thin, mut remain) = (vec![0; 64 << 10], Thin::new(0, u64::MAX, 1), 0);
        for source in 0..3_000 {
            let mark = Mark { source, sequence: 0, nanoseconds: 1 };
            remain += thin.take(mark, &format, View::new(format.verify(&body).unwrap()), &body).len();
            assert!(thin.parts.len() <= HELD / body.len());
        }
        assert_eq!(remain + thin.finish().len(), 3_000);
        // The long ones may be in between.
        let text = Shape::new("Text")
            .field("step", "i64")
            .field("n", "i64")
            .field("text", "u8[n]")
            .on(&Layout::NATIVE)
            .unwrap();
        for source in 0..3_000 {
            for (sequence, (step, length)) in [(0, 1), (1, 64 << 10), (0, 1)].into_iter().enumerate() {
                let head = [step, length as i64, 24].map(i64::to_ne_bytes).concat();
                let body = [head, vec![0; length]].concat();
                let mark = Mark { source, sequence: sequence as u64, nanoseconds: 1 };
                thin.take(mark, &text, View::new(text.verify(&body).unwrap()), &body);
            }
            assert!(thin.parts.len() <= HELD / (64 << 10) + 1);
        }
        thin.finish();
        // One source may have as many records as it likes.
        let ended = (0..3_000).flat_map(|sequence| {
            let mark = Mark { source: 1, sequence, nanoseconds: 1 };
            thin.take(mark, &format, View::new(format.verify(&body).unwrap()), &body)
        });
        assert_eq!(ended.count(), 0);
    }

    #[test]
    fn another_format_begins_another_part() {
        let (format, mut thin) = (format(), Thin::new(0, u64::MAX, 1));
        let other = Shape::new("Gauge").field("depth", "double").field("flux", "double").on(&Layout::NATIVE).unwrap();
        assert!(take(&mut thin, &format, 0, [1.0, 2.0]).is_empty());
        assert_eq!(take(&mut thin, &other, 1, [1.0, 2.0]), [0]);
        assert_eq!(thin.flush(3).len(), 1);
        assert!(thin.flush(3).is_empty());
    }
}
