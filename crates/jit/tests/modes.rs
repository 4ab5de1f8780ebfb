//! Programs that have asked their processor for other arithmetic than IEEE 754 has by default - tiny numbers are taken for
//! zeros, as in code that is linked with `-ffast-math`, or results are rounded downwards - receive the same numbers as others.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use isoform_core::plan::Plan;
use isoform_core::text::json;
use isoform_core::view::Item;
use isoform_core::{Faults, Layout, Rules, Shape, Value, Verifier, View, interp, value};
use isoform_jit::{Code, Generator};
use std::sync::Arc;

#[cfg(target_arch = "x86_64")]
mod modes {
    use std::arch::asm;

    pub(crate) type Mode = u32;

    /// Tiny numbers are zeros, tiny results become zeros, both; rounded downwards, upwards, towards zero; all at once.
    pub(crate) const OTHERS: [Mode; 7] =
        [1 << 6, 1 << 15, 1 << 15 | 1 << 6, 1 << 13, 2 << 13, 3 << 13, 7 << 13 | 1 << 6];

    pub(crate) fn set(mode: Mode) {
        let mode = mode | 0x1f80;
        // SAFETY: these bits are defined, and mask all exceptions.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, preserves_flags)) };
    }

    pub(crate) fn get() -> Mode {
        let mut mode = 0;
        // SAFETY: 4 bytes are written.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        // The lowest bits say what has happened.
        (mode & !0x3f) & !0x1f80
    }
}

#[cfg(target_arch = "aarch64")]
mod modes {
    use std::arch::asm;

    pub(crate) type Mode = u64;

    pub(crate) const OTHERS: [Mode; 5] = [1 << 24, 1 << 22, 2 << 22, 3 << 22, 7 << 22];

    pub(crate) fn set(mode: Mode) {
        // SAFETY: these bits are defined.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack, preserves_flags)) };
    }

    pub(crate) fn get() -> Mode {
        let mode;
        // SAFETY: only read.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode, options(nostack, preserves_flags)) };
        mode
    }
}

const FLOATS: [&str; 7] = ["f16", "bf16", "f32", "f64", "f128", "x87(16)", "double-double"];
const INTEGERS: [&str; 5] = ["i16", "i32", "u32", "i64", "u64"];

/// About the smallest numbers of all kinds, and such as must be rounded.
const NUMBERS: [f64; 20] = [
    1e-40,
    -1e-40,
    1.5e-45,
    7e-46,
    7.1e-46,
    1e-46,
    1.1754943e-38,
    1.1754942e-38,
    5e-324,
    -1e-310,
    2.3e-308,
    6e-8,
    2.9e-8,
    0.0,
    -0.0,
    0.1,
    -2.5,
    3.0,
    65519.0,
    3.402823567e38,
];
const WHOLE: [i64; 6] = [0, 3, 16_777_217, 16_777_219, 9_007_199_254_740_993, i64::MAX];

/// Everything that is done with a number of one type that becomes one of another.
struct Work {
    plan: Arc<Plan>,
    codes: Vec<Code>,
    bodies: Vec<Vec<u8>>,
    what: String,
}

fn works() -> Vec<Work> {
    let mut works = Vec::new();
    let types = || FLOATS.into_iter().chain(INTEGERS);
    for (from, to) in types().flat_map(|from| types().map(move |to| (from, to))) {
        if INTEGERS.contains(&from) && INTEGERS.contains(&to) {
            continue;
        }
        for (count, layout, faults) in [
            (1, Layout::S390X, Faults::Error),
            (1, Layout::X86_64, Faults::Wrap),
            (9, Layout::X86_64, Faults::Error),
            (70, Layout::NATIVE, Faults::Error),
            (70, Layout::S390X, Faults::Saturate),
        ] {
            let format = |word: &str, layout: &Layout| {
                let word = if count > 1 { format!("{word}[{count}]") } else { word.to_string() };
                Shape::new("P").field("x", &word).field("pad", "u8").on(layout).unwrap()
            };
            let (wire, native) = (format(from, &layout), format(to, &Layout::NATIVE));
            let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), faults).unwrap());
            let codes = Generator::ALL.iter().filter_map(|&generator| Code::by(generator, &plan)).collect();
            let numbers = match FLOATS.contains(&from) {
                true => NUMBERS.map(Value::Float).to_vec(),
                false => WHOLE.map(|number| Value::Integer(number.into())).to_vec(),
            };
            let record = |number: Value| {
                let number = if count > 1 { Value::Array(vec![number; count]) } else { number };
                value::body(&wire, &Value::Record(vec![("x".into(), number)])).ok()
            };
            let bodies = numbers.into_iter().filter_map(record).collect();
            works.push(Work {
                plan,
                codes,
                bodies,
                what: format!("{count} {from} from {layout:?} to {to}, {faults:?}"),
            });
        }
    }
    works
}

/// What is made of one body.
#[derive(Debug, PartialEq)]
struct Made {
    records: Vec<Result<Vec<u8>, String>>,
    json: String,
    again: Vec<u8>,
    doubles: Vec<u64>,
}

impl Work {
    fn done(&self) -> Vec<Made> {
        self.bodies.iter().map(|body| self.one(body)).collect()
    }

    fn one(&self, body: &[u8]) -> Made {
        let (plan, wire) = (&self.plan, self.plan.wire());
        let bodies = [body, body, body].concat();
        let verifier = Verifier::new(wire);
        let many = verifier.verify_many(&bodies, body.len(), body.len()).unwrap();
        let body = wire.verify(body).unwrap();
        let mut records = Vec::new();
        let mut push = |run: &mut dyn FnMut(&mut Vec<u8>) -> isoform_core::Result<()>, length| {
            let mut record = vec![0; length];
            records.push(run(&mut record).map(|()| record).map_err(|error| error.to_string()));
        };
        let size = plan.native().size();
        push(&mut |out| interp::run(plan, body, out), 0);
        push(&mut |out| interp::run_many(plan, many, out), 3 * size);
        for code in &self.codes {
            push(&mut |out| code.run(body, out), 0);
            push(&mut |out| code.run_fixed(body, out), size);
            push(&mut |out| code.run_many(many, out), 3 * size);
        }
        let view = View::new(body);
        let (doubles, json) = match view.get("x").unwrap() {
            Item::Array(array) => (array.f64s().unwrap().map(f64::to_bits).collect(), "{}".into()),
            item => (vec![item.to_f64().unwrap().to_bits()], json::line(view)),
        };
        let again = value::body(wire, &json::parse_partial(wire, &json).unwrap()).unwrap();
        Made { records, json, again, doubles }
    }
}

#[test]
fn numbers_do_not_depend_on_what_the_processor_was_asked_for() {
    let works = works();
    let expected: Vec<Vec<Made>> = works.iter().map(Work::done).collect();
    for mode in modes::OTHERS {
        let made = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                modes::set(mode);
                let made: Vec<Vec<Made>> = works.iter().map(Work::done).collect();
                let left = modes::get();
                modes::set(0);
                assert_eq!(left, mode, "the program's arithmetic is as it was");
                made
            });
            thread.join().unwrap()
        });
        for ((work, made), expected) in works.iter().zip(made).zip(&expected) {
            for ((made, expected), number) in made.iter().zip(expected).zip(0..) {
                assert_eq!(made, expected, "mode {mode:x}, {}, number {number}", work.what);
            }
        }
    }
}
