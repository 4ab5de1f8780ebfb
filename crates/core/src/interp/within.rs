//! Runs a plan within the memory of its source.

use crate::format::Machine;
use crate::plan::{Count, Elements, Numbers, Part, Within};
use isoform_kernels::swap_within;

/// Turns a verified body into one of the plan's native format. Its record becomes no longer, and its blocks stay where they are, in
/// whatever order they are. What was between the parts of the record remains there, in gaps and behind the record.
///
/// ```
/// use isoform_core::interp::run_within;
/// use isoform_core::plan::{Faults, Plan, Rules, Within};
/// use isoform_core::{Layout, Shape, Verifier};
/// let shape = Shape::parse("record P\n  n  i32\n  x  i16[2]\n")?;
/// let (wire, native) = (shape.on(&Layout::S390X)?, shape.on(&Layout::X86_64)?);
/// let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error)?;
/// let within = Within::of(&plan).expect("bytes change their order, and no more");
///
/// let mut body = [0, 0, 0, 7, 0, 8, 0, 9];
/// Verifier::new(&wire).verify(&body)?;
/// run_within(&plan, &within, &mut body);
/// assert_eq!(body, [7, 0, 0, 0, 8, 0, 9, 0]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
///
/// # Panics
/// If the bytes are no verified body of the plan's wire format, or `within` is not of this plan.
pub fn run_within(plan: &crate::plan::Plan, within: &Within, body: &mut [u8]) {
    let machine = plan.wire().machine();
    for elements in &within.blocks {
        block(elements, machine, body);
    }
    for part in &within.parts {
        match part {
            Part::Fill { dst, bytes } => bytes.put(&mut body[*dst..]),
            Part::Numbers(numbers) => numbers.run(body),
        }
    }
}

fn block(elements: &Elements, machine: Machine, body: &mut [u8]) {
    let start = machine.read(&body[elements.slot..][..machine.pointer.into()]) as usize;
    if start == 0 {
        return;
    }
    let count = elements.dims.iter().fold(elements.per, |all, dim| match *dim {
        Count::Fixed(count) => all * count,
        Count::Field { at, size, .. } => all * machine.read(&body[at..][..size.into()]) as usize,
    });
    swap_within(elements.width, &mut body[start..][..count * elements.width], 0);
}

impl Numbers {
    #[inline]
    fn run(&self, body: &mut [u8]) {
        let Numbers { src, dst, width, count, swap } = *self;
        match (width, count, swap) {
            (2, 1, true) => single::<2>(body, src, dst),
            (4, 1, true) => single::<4>(body, src, dst),
            (8, 1, true) => single::<8>(body, src, dst),
            (_, _, true) => swap_within(width, &mut body[dst..src + width * count], src - dst),
            (_, _, false) if src == dst => {}
            (_, _, false) => body.copy_within(src..src + width * count, dst),
        }
    }
}

#[inline(always)]
fn single<const WIDTH: usize>(body: &mut [u8], src: usize, dst: usize) {
    if let Some(&number) = body[src..].first_chunk::<WIDTH>()
        && let Some(place) = body[dst..].first_chunk_mut::<WIDTH>()
    {
        *place = number;
        place.reverse();
    }
}
