//! Records of many single bytes and numbers: they are moved all at once, and all that are converted alike are brought
//! together, converted in one go, and put in their places.

use super::{Output, Run, bytes, convert};
use crate::error::Result;
use crate::plan::{Schedule, Singles};

/// So many numbers are converted at a time.
const MANY: usize = 64;

impl<O: Output> Run<'_, O> {
    /// Runs all steps of the plan, of which `schedule` is another order.
    #[inline]
    pub(super) fn scheduled(&mut self, schedule: &Schedule) -> Result<()> {
        if let Some(shuffle) = &schedule.shuffle {
            shuffle.run(self.src, self.out.bytes());
        }
        if !schedule.singles.is_empty() && !self.all_singles(&schedule.singles) {
            // The number that does not fit is found again, in the order of the fields.
            return self.steps(self.plan.steps(), 0, 0);
        }
        schedule.others.iter().try_for_each(|&index| self.step(&self.plan.steps()[index], 0, 0))
    }

    /// Converts numbers of every kind. Returns whether all fitted.
    #[inline(never)]
    fn all_singles(&mut self, singles: &[Singles]) -> bool {
        let (mut from, mut to) = ([0; 8 * MANY], [0; 8 * MANY]);
        singles.iter().all(|singles| self.singles(singles, &mut from, &mut to))
    }

    /// Converts numbers of one kind. Returns whether all fitted.
    fn singles(&mut self, singles: &Singles, from: &mut [u8; 8 * MANY], to: &mut [u8; 8 * MANY]) -> bool {
        let Singles { conversion, src, dst } = singles;
        let sizes = (usize::from(conversion.from.size), usize::from(conversion.to.size));
        src.chunks(MANY).zip(dst.chunks(MANY)).all(|(src, dst)| {
            let (from, to) = (&mut from[..sizes.0 * src.len()], &mut to[..sizes.1 * dst.len()]);
            bytes::gather(sizes.0, src, self.src, from);
            let fit = convert::convert(conversion, from, to).is_ok();
            bytes::scatter(sizes.1, dst, to, self.out.bytes());
            fit
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Faults, Plan, Rules};
    use crate::{Code, Layout, Shape, Verifier, interp};

    /// 200 numbers, by turns `a` and `b`, with a string between them.
    fn shape(a: &str, b: &str) -> Shape {
        let numbers = |shape: Shape, range: std::ops::Range<usize>| {
            range.fold(shape, |shape, i| shape.field(format!("n{i}"), if i % 2 == 0 { a } else { b }))
        };
        numbers(numbers(Shape::new("R"), 0..100).field("text", "string"), 100..200)
    }

    #[test]
    fn the_first_fault_in_the_order_of_fields_is_reported() {
        let wire = shape("i64", "f64").on(&Layout::S390X).unwrap();
        let native = shape("i32", "f32").on(&Layout::X86_64).unwrap();
        let field = |name: &str| wire.structure().field(name).unwrap().offset;
        let (verifier, machine) = (Verifier::new(&wire), wire.machine());
        let mut body = vec![0; wire.size()];
        machine.write(&mut body[field("text")..][..8], wire.size() as u64);
        body.extend(b"depth\0");
        let run = |body: &[u8], faults| {
            let plan = Plan::new(&wire, &native, &Rules::new(), faults).unwrap();
            assert_eq!(plan.steps().schedule().map(|schedule| schedule.singles.len()), Some(2));
            let mut out = Vec::new();
            interp::run(&plan, verifier.verify(body).unwrap(), &mut out).map(|()| out)
        };
        assert!(run(&body, Faults::Error).unwrap().ends_with(b"depth\0"));
        machine.write(&mut body[field("n190")..][..8], 1 << 40);
        machine.write(&mut body[field("n151")..][..8], 1e300f64.to_bits());
        let error = run(&body, Faults::Error).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Overflow, "n151"));
        machine.write(&mut body[field("n20")..][..8], 1 << 40);
        let error = run(&body, Faults::Error).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Overflow, "n20"));
        let saturated = run(&body, Faults::Saturate).unwrap();
        let at = native.structure().field("n20").unwrap().offset;
        assert_eq!(saturated[at..at + 4], i32::MAX.to_le_bytes());
        assert!(saturated.ends_with(b"depth\0"));
    }
}
