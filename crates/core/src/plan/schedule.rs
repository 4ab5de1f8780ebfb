//! Steps in an order that suits an interpreter: single bytes and numbers are brought together, wherever they are in the
//! record, and moved or converted in one go. The list of steps itself keeps the order of the fields, which is the order in
//! which faults are reported.

use super::step::{Conversion, Step, Transform};
use isoform_kernels::{NumberClass, Run, Shuffle};
use std::collections::HashMap;
use std::ops::Deref;

/// From this many numbers on, gathering them is faster.
const SEVERAL: usize = 3;
/// Arrays of more bytes than this are moved and swapped on their own.
const SHORT: usize = 128;
/// At most this many bytes of a record are shuffled. In larger records, arrays determine the cost.
const SHUFFLED: usize = 4096;
/// Up to this many bytes of elements are shuffled at once.
const MANY: usize = 512;

/// Steps on a record or an element, in the order of its fields.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    list: Box<[Step]>,
    schedule: Option<Box<Schedule>>,
    computes_floats: bool,
}

impl From<Vec<Step>> for Steps {
    fn from(list: Vec<Step>) -> Steps {
        let schedule = Schedule::of(&list);
        let computes_floats = list.iter().any(computes_floats);
        Steps { list: list.into(), schedule, computes_floats }
    }
}

impl Steps {
    /// Steps on each of several elements, of so many bytes in the source and in the destination.
    pub(crate) fn on_elements(list: Vec<Step>, sizes: (usize, usize)) -> Steps {
        let mut steps = Steps::from(list);
        if let Some(schedule) = &mut steps.schedule {
            schedule.many = schedule.many(&steps.list, sizes);
        }
        steps
    }
}

impl Deref for Steps {
    type Target = [Step];

    #[inline]
    fn deref(&self) -> &[Step] {
        &self.list
    }
}

impl PartialEq for Steps {
    fn eq(&self, other: &Steps) -> bool {
        self.list == other.list
    }
}

impl Steps {
    /// Whether a step converts floating-point numbers. Moving and swapping them does not count.
    #[inline]
    pub fn computes_floats(&self) -> bool {
        self.computes_floats
    }

    /// Another order for the same steps, if there is one.
    #[inline]
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_deref()
    }
}

/// Steps in another order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// The shuffle that moves single bytes.
    pub(crate) shuffle: Option<Shuffle>,
    /// The same shuffle for several elements in a row, and their number, if they are small.
    pub(crate) many: Option<(usize, Shuffle)>,
    /// The indices of the steps that the shuffle does not do, ascending.
    pub(crate) unshuffled: Box<[usize]>,
    /// The single numbers that are converted next.
    pub(crate) singles: Box<[Singles]>,
    /// The indices of the steps that remain, ascending.
    pub(crate) others: Box<[usize]>,
}

/// Numbers that are converted alike.
#[derive(Clone, Debug)]
pub(crate) struct Singles {
    pub(crate) conversion: Conversion,
    /// Their offsets in the source.
    pub(crate) src: Box<[usize]>,
    /// Their offsets in the destination.
    pub(crate) dst: Box<[usize]>,
}

impl Schedule {
    /// Another order for these steps, if some of them can be brought together.
    fn of(steps: &[Step]) -> Option<Box<Schedule>> {
        let mut remains = vec![true; steps.len()];
        let shuffle = shuffle(steps, &mut remains);
        let left = |remains: &[bool]| (0..steps.len()).filter(|&index| remains[index]).collect::<Box<[usize]>>();
        let unshuffled = left(&remains);
        let singles = singles(steps, &mut remains);
        let any = shuffle.is_some() || !singles.is_empty();
        any.then(|| Box::new(Schedule { shuffle, many: None, unshuffled, singles, others: left(&remains) }))
    }
}

impl Schedule {
    /// The shuffle of as many elements as are shuffled at once.
    fn many(&self, steps: &[Step], sizes: (usize, usize)) -> Option<(usize, Shuffle)> {
        self.shuffle.as_ref()?;
        let count = MANY / sizes.0.max(sizes.1).max(1);
        let mut one = Vec::new();
        let shuffled = (0..steps.len()).filter(|index| self.unshuffled.binary_search(index).is_err());
        shuffled.for_each(|index| short_runs(&steps[index], &mut one));
        let at = |run: &Run, i: usize| Run { src: run.src + i * sizes.0, dst: run.dst + i * sizes.1, ..*run };
        let runs: Vec<Run> = (0..count).flat_map(|i| one.iter().map(move |run| at(run, i))).collect();
        (count > 1).then(|| Some((count, Shuffle::new(&runs)?)))?
    }
}

/// Combines the steps that move and reverse few bytes, and strikes them out.
fn shuffle(steps: &[Step], remains: &mut [bool]) -> Option<Shuffle> {
    let mut runs = Vec::new();
    let mut taken = Vec::new();
    let mut bytes = 0;
    for (index, step) in steps.iter().enumerate() {
        let before = runs.len();
        short_runs(step, &mut runs);
        let more: usize = runs[before..].iter().map(|run| run.length).sum();
        if more > 0 && bytes + more <= SHUFFLED {
            taken.push(index);
            bytes += more;
        } else {
            runs.truncate(before);
        }
    }
    let shuffle = Shuffle::new(&runs)?;
    taken.into_iter().for_each(|index| remains[index] = false);
    Some(shuffle)
}

/// The moves of a step that moves and reverses few bytes.
fn short_runs(step: &Step, runs: &mut Vec<Run>) {
    match step {
        Step::Move { src, dst, len } if *len <= SHORT => {
            runs.push(Run { src: *src, dst: *dst, length: *len, reversed: false });
        }
        Step::Permute { width, swap, pairs } if pairs.len() * width <= SHUFFLED => {
            runs.extend(pairs.iter().map(|&(src, dst)| Run { src, dst, length: *width, reversed: *swap }));
        }
        Step::Elements { src, dst, count, transform: Transform::Swap { width, per }, .. }
            if width * per * count <= SHORT =>
        {
            let numbers = (0..per * count).map(|i| i * width);
            runs.extend(numbers.map(|at| Run { src: src + at, dst: dst + at, length: *width, reversed: true }));
        }
        _ => {}
    }
}

/// Combines the single numbers of each conversion if there are several, and strikes their steps out.
fn singles(steps: &[Step], remains: &mut [bool]) -> Box<[Singles]> {
    let mut kinds: Vec<(Conversion, Vec<usize>)> = Vec::new();
    let mut known = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some((conversion, ..)) = single(step) {
            let kind = *known.entry(conversion).or_insert_with(|| {
                kinds.push((conversion, Vec::new()));
                kinds.len() - 1
            });
            kinds[kind].1.push(index);
        }
    }
    kinds.retain(|(_, indices)| indices.len() >= SEVERAL);
    let bring = |(conversion, indices): (Conversion, Vec<usize>)| {
        indices.iter().for_each(|&index| remains[index] = false);
        let places = indices.iter().filter_map(|&index| single(&steps[index])).map(|(_, src, dst)| (src, dst));
        let (src, dst): (Vec<_>, Vec<_>) = places.unzip();
        Singles { conversion, src: src.into(), dst: dst.into() }
    };
    kinds.into_iter().map(bring).collect()
}

/// Whether a step converts floating-point numbers.
fn computes_floats(step: &Step) -> bool {
    let of = |transform: &Transform| match transform {
        Transform::Convert { conversion: Conversion { from, to, .. }, .. } => {
            [from, to].iter().any(|number| matches!(number.class, NumberClass::Float(_)))
        }
        Transform::Each { steps, .. } => steps.computes_floats,
        Transform::Copy(_) | Transform::Swap { .. } | Transform::Symbols(_) | Transform::String => false,
    };
    match step {
        Step::Elements { transform, .. } => of(transform),
        Step::Array(array) => of(&array.transform) || array.rest.as_ref().is_some_and(|rest| rest.computes_floats),
        Step::Move { .. } | Step::Permute { .. } | Step::Fill { .. } => false,
        Step::Text { .. } | Step::Chars { .. } | Step::Str { .. } => false,
    }
}

/// The conversion of a step for a single number, with its offsets in the source and in the destination.
fn single(step: &Step) -> Option<(Conversion, usize, usize)> {
    match *step {
        Step::Elements { src, dst, count: 1, transform: Transform::Convert { conversion, per: 1 }, .. }
            if conversion.from.size <= 8 && conversion.to.size <= 8 =>
        {
            Some((conversion, src, dst))
        }
        _ => None,
    }
}
