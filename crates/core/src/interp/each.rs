//! Arrays of structures. Moves of single bytes are done for each element at once. Other steps that write only the
//! element itself run column by column, one step on many elements and then the next, so that the setup of a step is
//! done once. Steps that add blocks run element by element, since that is the order of blocks.

use super::bytes::{self, Column};
use super::{Output, Run, convert};
use crate::error::Result;
use crate::plan::{Conversion, Step, Steps, Transform};

/// The number of elements for which one step runs before the next: enough to make up for the setup of a step, and few
/// enough to stay in the fastest cache.
const ROWS: usize = 64;

impl<O: Output> Run<'_, O> {
    /// Runs steps on each of `count` elements, whose sizes in the source and the destination are `sizes`.
    #[expect(clippy::too_many_arguments, reason = "as `elements`")]
    pub(super) fn each(
        &mut self,
        src: usize,
        dst: usize,
        count: usize,
        sizes: (usize, usize),
        steps: &Steps,
        field: usize,
        dims: &[usize],
    ) -> Result<()> {
        let in_columns = count > 1 && sizes.0 > 0 && steps.iter().any(is_column);
        let only_columns = steps.iter().all(is_column);
        for first in (0..count).step_by(ROWS) {
            let rows = ROWS.min(count - first);
            let at = |index: usize| (src + index * sizes.0, dst + index * sizes.1);
            let fit = in_columns && self.columns(steps, at(first), rows, sizes);
            if fit && only_columns {
                continue;
            }
            for index in first..first + rows {
                let (src, dst) = at(index);
                let result = match fit {
                    true => steps.iter().filter(|step| !is_column(step)).try_for_each(|step| self.step(step, src, dst)),
                    // The first number that does not fit is found again, in the order of the elements.
                    false => self.steps(steps, src, dst),
                };
                result.map_err(|error| self.in_element(error, field, index, dims))?;
            }
        }
        Ok(())
    }

    /// Runs those steps that are columns. Returns whether every number fitted.
    fn columns(&mut self, steps: &Steps, at: (usize, usize), rows: usize, sizes: (usize, usize)) -> bool {
        let src = &self.src[at.0..][..rows * sizes.0];
        let dst = &mut self.out.bytes()[at.1..][..rows * sizes.1];
        let schedule = steps.schedule().and_then(|schedule| Some((schedule, schedule.shuffle.as_ref()?)));
        if let Some((schedule, shuffle)) = schedule {
            let mut done = 0;
            if let Some((count, many)) = &schedule.many {
                many.each(rows / count, (src, sizes.0 * count), (dst, sizes.1 * count));
                done = rows - rows % count;
            }
            shuffle.each(rows - done, (&src[done * sizes.0..], sizes.0), (&mut dst[done * sizes.1..], sizes.1));
        }
        let mut columns = Columns { src: (src, sizes.0), dst: (dst, sizes.1), rows };
        let mut run = |step: &Step| !is_column(step) || columns.step(step);
        match schedule {
            Some((schedule, _)) => schedule.unshuffled.iter().all(|&index| run(&steps[index])),
            None => steps.iter().all(run),
        }
    }
}

fn is_column(step: &Step) -> bool {
    match step {
        Step::Move { .. } | Step::Permute { .. } | Step::Fill { .. } => true,
        Step::Elements { transform, .. } => matches!(transform, Transform::Swap { .. } | Transform::Convert { .. }),
        _ => false,
    }
}

/// Elements one after the other: their bytes, and how many belong to each.
struct Columns<'a> {
    src: (&'a [u8], usize),
    dst: (&'a mut [u8], usize),
    rows: usize,
}

impl<'a> Columns<'a> {
    /// Runs a step on each element. Returns whether every number fitted.
    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::Move { src, dst, len } => self.copy(*src, *dst, *len),
            Step::Permute { width, swap, pairs } => {
                pairs.iter().for_each(|&(from, to)| self.relocate(*width, *swap, from, to));
            }
            Step::Fill { dst, bytes } => self.rows(|_, to| bytes.put(&mut to[*dst..])),
            Step::Elements { src, dst, count, transform: Transform::Swap { width, per }, .. } => {
                let len = width * per * count;
                self.rows(|from, to| isoform_kernels::swap(*width, &from[*src..][..len], &mut to[*dst..][..len]));
            }
            Step::Elements { src, dst, count, transform: Transform::Convert { conversion, per }, .. } => {
                return self.convert(conversion, count * per, *src, *dst);
            }
            _ => unreachable!("only what `is_column` lets pass"),
        }
        true
    }

    fn source(&self, at: usize) -> Column<&'a [u8]> {
        Column { bytes: self.src.0, size: self.src.1, at }
    }

    fn destination(&mut self, at: usize) -> Column<&mut [u8]> {
        Column { bytes: self.dst.0, size: self.dst.1, at }
    }

    fn rows(&mut self, mut row: impl FnMut(&[u8], &mut [u8])) {
        let rows = self.src.0.chunks_exact(self.src.1).zip(self.dst.0.chunks_exact_mut(self.dst.1));
        rows.for_each(|(from, to)| row(from, to));
    }

    /// Copies short runs as numbers, of which the last may overlap the one before.
    fn copy(&mut self, src: usize, dst: usize, len: usize) {
        let width = 1 << len.ilog2().min(4);
        if len > 4 * width {
            return self.rows(|from, to| bytes::copy(&from[src..][..len], &mut to[dst..][..len]));
        }
        for at in (0..len - width).step_by(width).chain([len - width]) {
            self.relocate(width, false, src + at, dst + at);
        }
    }

    fn relocate(&mut self, width: usize, swap: bool, src: usize, dst: usize) {
        let source = self.source(src);
        bytes::column(width, swap, source, self.destination(dst));
    }

    /// Converts `numbers` consecutive numbers of each element. Single ones are gathered, so that they are converted in
    /// one go.
    fn convert(&mut self, conversion: &Conversion, numbers: usize, src: usize, dst: usize) -> bool {
        let sizes = (usize::from(conversion.from.size), usize::from(conversion.to.size));
        if numbers == 1 && sizes.0 <= 8 && sizes.1 <= 8 {
            let (mut from, mut to) = ([0; 8 * ROWS], [0; 8 * ROWS]);
            let (from, to) = (&mut from[..sizes.0 * self.rows], &mut to[..sizes.1 * self.rows]);
            bytes::column(sizes.0, false, self.source(src), Column { bytes: &mut *from, size: sizes.0, at: 0 });
            let fit = convert::convert(conversion, from, to).is_ok();
            bytes::column(sizes.1, false, Column { bytes: &*to, size: sizes.1, at: 0 }, self.destination(dst));
            return fit;
        }
        let mut fit = true;
        self.rows(|from, to| {
            let (from, to) = (&from[src..][..sizes.0 * numbers], &mut to[dst..][..sizes.1 * numbers]);
            fit &= convert::convert(conversion, from, to).is_ok();
        });
        fit
    }
}
