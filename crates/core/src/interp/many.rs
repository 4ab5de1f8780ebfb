//! Many bodies at once, which become one record after the other.
//!
//! Records of a batch are like the elements of an array of records: they are converted column by column (`each`).

use super::{Fixed, Run, run_fixed};
use crate::error::Result;
use crate::plan::Plan;
use crate::verify::Bodies;
use isoform_kernels::ieee_if;

/// Bodies with this many bytes, and their records, stay in the fastest cache from one step to the next.
const CACHED: usize = 16 << 10;
/// For fewer bodies, the setup of each step costs more than it saves.
const FEW: usize = 16;

/// As [`run_fixed`], of many bodies into records that follow one another without space between.
///
/// # Errors
/// As [`run`](super::run), with the number of the body in front of the path: `[17].depth`. Those before it have been
/// converted.
///
/// # Panics
/// If the bodies are not of the plan's wire format, or `dst` is not as long as so many records of the native format.
pub fn run_many(plan: &Plan, bodies: Bodies<'_>, dst: &mut [u8]) -> Result<()> {
    let (size, count) = (plan.native().size(), bodies.len());
    assert_eq!(bodies.format(), plan.wire(), "a plan runs on bodies of its wire format");
    assert_eq!(dst.len(), size * count, "the destination holds as many native records");
    let done = ieee_if(plan.steps().computes_floats(), || in_columns(plan, bodies, dst));
    for index in done..count {
        let record = &mut dst[index * size..][..size];
        run_fixed(plan, bodies.at(index), record).map_err(|error| error.within(&format!("[{index}]")))?;
    }
    Ok(())
}

/// Converts as many bodies as can be converted together, and returns their number: 0 if a number does not fit.
fn in_columns(plan: &Plan, bodies: Bodies<'_>, dst: &mut [u8]) -> usize {
    // Slots count from the start of each body, so records with slots are not converted together. Neither is the last
    // body, since no bytes follow it.
    let count = if plan.wire().structure().has_slots() { 0 } else { bodies.len() - 1 };
    let (from, to) = (bodies.stride(), plan.native().size());
    let rows = CACHED / from.max(to);
    if rows < FEW {
        return 0;
    }
    let mut run = Run { plan, src: bodies.bytes(), out: &mut Fixed(dst) };
    let fit = (0..count).step_by(rows).all(|first| {
        let rows = rows.min(count - first);
        run.each(first * from, first * to, rows, (from, to), plan.steps(), 0, &[]).is_ok()
    });
    if fit { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Faults, Plan, Rules};
    use crate::{Code, Format, Layout, Shape, Verifier, interp};

    fn shape(integer: &str, text: &str) -> Shape {
        Shape::new("P").field("n", integer).field("x", "f64").field("text", text).field("flag", "boolean")
    }

    /// Bodies with `n` counting up, at distances of `space` more than their length.
    fn bodies(format: &Format, count: u64, space: usize) -> (Vec<u8>, usize, usize) {
        let mut body = vec![0; format.size()];
        if let Some(text) = format.structure().field("text").filter(|field| field.has_slots()) {
            format.machine().write(&mut body[text.offset..][..8], format.size() as u64);
            body.extend(b"abc\0");
        }
        let (length, stride) = (body.len(), body.len() + space);
        let mut bytes = Vec::new();
        for n in 0..count {
            let at = bytes.len();
            bytes.extend(&body);
            format.machine().write(&mut bytes[at..][..4], n);
            bytes.resize(at + stride, 0xee);
        }
        bytes.truncate(bytes.len() - space);
        (bytes, length, stride)
    }

    #[test]
    fn many_are_what_each_of_them_is() {
        let native = shape("i16", "char[8]").on(&Layout::X86_64).unwrap();
        for text in ["char[8]", "string"] {
            let wire = shape("i32", text).on(&Layout::S390X).unwrap();
            let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap();
            let verifier = Verifier::new(&wire);
            for (count, space) in [(1, 0), (2, 1), (63, 8), (64, 0), (65, 44), (200, 32)] {
                let (bytes, length, stride) = bodies(&wire, count, space);
                let many = verifier.verify_many(&bytes, length, stride).unwrap();
                assert_eq!(many.len() as u64, count);
                let mut came = vec![0; native.size() * many.len()];
                interp::run_many(&plan, many, &mut came).unwrap();
                for (index, came) in came.chunks(native.size()).enumerate() {
                    let mut expected = vec![0; native.size()];
                    interp::run_fixed(&plan, many.at(index), &mut expected).unwrap();
                    assert_eq!(came, expected, "{index} of {count}, {text}");
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_with_one_is_told_with_its_number() {
        let wire = shape("i32", "char[8]").on(&Layout::S390X).unwrap();
        let native = shape("i16", "char[8]").on(&Layout::X86_64).unwrap();
        let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap();
        let verifier = Verifier::new(&wire);
        for wrong in [0, 17, 99] {
            let (mut bytes, length, stride) = bodies(&wire, 100, 8);
            wire.machine().write(&mut bytes[wrong * stride..][..4], 40_000);
            let many = verifier.verify_many(&bytes, length, stride).unwrap();
            let mut dst = vec![0; native.size() * 100];
            let error = interp::run_many(&plan, many, &mut dst).unwrap_err();
            assert_eq!((error.code(), error.path()), (Code::Overflow, &*format!("[{wrong}].n")));
            let flag = wire.structure().field("flag").unwrap().offset;
            bytes[wrong * stride + flag] = 2;
            let error = verifier.verify_many(&bytes, length, stride).unwrap_err();
            assert_eq!((error.code(), error.path()), (Code::Boolean, &*format!("[{wrong}].flag")));
        }
    }

    #[test]
    #[should_panic(expected = "equal distances")]
    fn bodies_that_overlap_are_none() {
        let wire = shape("i32", "char[8]").on(&Layout::S390X).unwrap();
        let _ = Verifier::new(&wire).verify_many(&[0; 100], wire.size(), 4);
    }
}
