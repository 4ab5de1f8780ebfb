//! Single numbers that are converted alike, wherever they are in the record: what an engine that interprets does in one
//! go. The steps themselves keep the order of the fields, which is the order in which faults are reported.

use super::step::{Conversion, Step, Transform};
use std::collections::HashMap;

/// From so many numbers on, it pays to gather them.
const SEVERAL: usize = 3;

/// The steps of a plan in another order.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Numbers that are converted first.
    pub(crate) singles: Box<[Singles]>,
    /// Which steps remain, by ascending index.
    pub(crate) others: Box<[usize]>,
}

/// Numbers that are converted alike.
#[derive(Clone, Debug)]
pub(crate) struct Singles {
    pub(crate) conversion: Conversion,
    /// Where each of them is in the source.
    pub(crate) src: Box<[usize]>,
    /// Where each of them goes in the destination.
    pub(crate) dst: Box<[usize]>,
}

impl Gathered {
    /// Another order for these steps, if there are several single numbers of one conversion.
    pub(super) fn of(steps: &[Step]) -> Option<Box<Gathered>> {
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
        if kinds.is_empty() {
            return None;
        }
        let mut remains = vec![true; steps.len()];
        let mut singles = Vec::new();
        for (conversion, indices) in kinds {
            indices.iter().for_each(|&index| remains[index] = false);
            let (src, dst): (Vec<_>, Vec<_>) =
                indices.iter().filter_map(|&index| single(&steps[index])).map(|(_, src, dst)| (src, dst)).unzip();
            singles.push(Singles { conversion, src: src.into(), dst: dst.into() });
        }
        let others = (0..steps.len()).filter(|&index| remains[index]).collect();
        Some(Box::new(Gathered { singles: singles.into(), others }))
    }
}

/// What becomes of the one number that a step converts, where it is and where it goes.
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
