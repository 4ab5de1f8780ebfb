//! Conversions of numbers against the compilers of other machines: `numbers/numbers.c` is compiled and run for each, and
//! what C makes of some hundred numbers of every kind, Isoform must make of them as well, fault by fault and bit by bit.

#[path = "numbers/values.rs"]
mod values;

use isoform::core::{ByteOrder, Layout, Plan, Shape, Verifier, interp};
use isoform::{Code, Faults, Format, Rules};
use isoform_machines::Machine;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use values::Kind;

/// How many numbers of each kind are tried on each machine: as many as properties are tried with cases.
fn count() -> usize {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(80).max(40)
}

#[test]
fn compilers_agree() {
    let mut skipped = Vec::new();
    let mut wrong = Vec::new();
    let mut total = 0;
    for machine in Machine::ALL {
        if !machine.compiles() || !machine.runs() {
            skipped.push(machine.name());
            continue;
        }
        let mut trial = Trial::of(machine);
        trial.run();
        total += trial.compared;
        assert!(trial.compared > 20_000, "{}: {}", machine.name(), trial.summary());
        tell(&format!("{}: {}", machine.name(), trial.summary()));
        wrong.append(&mut trial.wrong);
    }
    tell(&format!("numbers compared with those of C compilers: {total}"));
    if !skipped.is_empty() {
        tell(&format!("*** SKIPPED: numbers of {}: no C compiler or no emulator ***", skipped.join(", ")));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Not by a macro, whose output the test runner would hide.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// One machine's program, what it was given, and how it went.
struct Trial {
    machine: &'static Machine,
    program: PathBuf,
    kinds: Vec<Kind>,
    compared: usize,
    faults: BTreeMap<char, usize>,
    /// How many results of C are not the nearest number, by the reason.
    mended: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

/// What C makes of one number.
struct Made {
    from: u128,
    fault: char,
    wrapped: u128,
    nearest: u128,
}

impl Trial {
    fn of(machine: &'static Machine) -> Trial {
        let program = compile(machine);
        let listed = machine.command(&program).arg("kinds").output().expect("the program runs");
        assert!(listed.status.success(), "{}: {}", machine.name(), String::from_utf8_lossy(&listed.stderr));
        let kinds = String::from_utf8(listed.stdout).expect("text").lines().map(Kind::parse).collect();
        let (faults, mended) = Default::default();
        Trial { machine, program, kinds, compared: 0, faults, mended, wrong: Vec::new() }
    }

    fn run(&mut self) {
        let order = self.machine.layout.order;
        let count = count();
        let numbers: Vec<Vec<u128>> = self.kinds.iter().map(|kind| values::numbers(*kind, count)).collect();
        let bytes =
            self.kinds.iter().zip(&numbers).flat_map(|(kind, numbers)| kind.write_all(order, numbers)).collect();
        let mut output = &*self.ask(count, bytes);
        while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
            let pair = std::str::from_utf8(&output[..end]).expect("a line");
            output = &output[end + 1..];
            let (from, to) = pair.trim_end().split_once(' ').expect("two kinds");
            let place = |name| self.kinds.iter().position(|kind| kind.name() == name).expect("a kind that was listed");
            let (from, to) = (place(from), place(to));
            let (results, rest) = output.split_at(count * (1 + 2 * self.kinds[to].size));
            output = rest;
            self.pair(self.kinds[from], self.kinds[to], &numbers[from], results);
        }
        assert!(output.is_empty());
    }

    /// What the program answers.
    fn ask(&self, count: usize, numbers: Vec<u8>) -> Vec<u8> {
        let mut command = self.machine.command(&self.program);
        command.arg(count.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        child.stdin.take().expect("a pipe").write_all(&numbers).expect("it reads all before it writes");
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success(), "{}: {}", self.machine.name(), output.status);
        output.stdout
    }

    fn pair(&mut self, from: Kind, to: Kind, numbers: &[u128], results: &[u8]) {
        let read = |bytes: &[u8]| to.read(self.machine.layout.order, bytes);
        let made = numbers.iter().zip(results.chunks(1 + 2 * to.size)).map(|(number, result)| {
            let (wrapped, nearest) = result[1..].split_at(to.size);
            Made { from: *number, fault: result[0].into(), wrapped: read(wrapped), nearest: read(nearest) }
        });
        let mut made: Vec<Made> = made.collect();
        for made in &mut made {
            if let Some(reason) = mend(self.machine, from, to, made) {
                *self.mended.entry(reason).or_default() += 1;
            }
        }
        let foreign = if self.machine.layout.order == ByteOrder::Big { Layout::X86_64 } else { Layout::S390X };
        for into in [self.machine.layout, foreign] {
            self.arrays(from, to, into, &made);
        }
        self.faults(from, to, &made);
    }

    /// All numbers as one array, whatever their faults; then those without any.
    fn arrays(&mut self, from: Kind, to: Kind, into: Layout, made: &[Made]) {
        // What C leaves undefined is compared under `Saturate` only.
        let undefined = |made: &Made| made.fault == 'O' && from.is_float() && !to.is_float();
        let (fit, _): (Vec<&Made>, Vec<&Made>) = made.iter().partition(|made| made.fault == '-');
        let (defined, _): (Vec<&Made>, Vec<&Made>) = made.iter().partition(|made| !undefined(made));
        for (faults, made) in [(Faults::Error, fit), (Faults::Wrap, defined), (Faults::Saturate, made.iter().collect())]
        {
            let numbers: Vec<u128> = made.iter().map(|made| made.from).collect();
            if numbers.is_empty() {
                continue;
            }
            let converted = match Converter::new(self.machine, from, to, into, faults, numbers.len()).run(&numbers) {
                Ok(converted) => converted,
                Err(error) => {
                    self.wrong.push(format!("{} {from} to {to}: {error}, but C finds no fault", self.machine.name()));
                    continue;
                }
            };
            for (made, converted) in made.iter().zip(converted) {
                let expected = if faults == Faults::Saturate { made.nearest } else { made.wrapped };
                self.compared += 1;
                if !to.same(expected, converted) {
                    let (name, number) = (self.machine.name(), made.from);
                    self.wrong.push(format!(
                        "{name} {from} to {to} under {faults:?}: {number:#x} is {expected:#x} to C, {converted:#x} to Isoform"
                    ));
                }
            }
        }
    }

    /// Each number that has a fault, alone.
    fn faults(&mut self, from: Kind, to: Kind, made: &[Made]) {
        let converter = Converter::new(self.machine, from, to, self.machine.layout, Faults::Error, 1);
        for made in made {
            *self.faults.entry(made.fault).or_default() += 1;
            let expected = match made.fault {
                '-' => continue,
                'O' => Code::Overflow,
                'U' => Code::Underflow,
                'I' => Code::Inexact,
                other => panic!("no fault is called {other}"),
            };
            self.compared += 1;
            match converter.run(&[made.from]) {
                Err(error) if error.code() == expected && error.path() == "value[0]" => {}
                other => {
                    let (name, number) = (self.machine.name(), made.from);
                    self.wrong.push(format!(
                        "{name} {from} to {to}: {number:#x} should be {expected:?} at value[0], and is {other:x?}"
                    ));
                }
            }
        }
    }

    fn summary(&self) -> String {
        let kinds: Vec<&str> = self.kinds.iter().map(Kind::name).collect();
        let faults: Vec<String> = self.faults.iter().map(|(fault, count)| format!("{fault}{count}")).collect();
        let mended: Vec<String> =
            self.mended.iter().map(|(reason, count)| format!("; mended {count}: {reason}")).collect();
        format!("{} of {}; {}{}", self.compared, kinds.join(" "), faults.join(" "), mended.concat())
    }
}

/// Puts the right number in the place of one that is not the nearest, and says why C has another. These are all cases:
///
/// - on PowerPC, C rounds the larger part of a double-double to `float`. If that lies in the middle between two of them,
///   it is the smaller part that tells which is the nearest, and C does not ask it;
/// - libgcc on PowerPC loses digits between 16-byte integers and double-doubles of 2^64 and more: 2^127 - 1 becomes
///   2^127, which two binary64 tell apart;
/// - where a processor has no instruction for what an x87 number becomes, libgcc does not look at its leading bit, which
///   the processor does: `spec/format.md` says what numbers are meant by those that have an odd one.
fn mend(machine: &Machine, from: Kind, to: Kind, made: &mut Made) -> Option<&'static str> {
    let double_double = |large: f64, small: f64| u128::from(large.to_bits()) << 64 | u128::from(small.to_bits());
    let parts = |bits: u128| [bits >> 64, bits].map(|bits| f64::from_bits(bits as u64));
    // An integer modulo 2^128.
    let modulo = |large: f64| if large < 0.0 { large as i128 as u128 } else { (large % 2f64.powi(128)) as u128 };
    match (machine.layout, from.name(), to.name()) {
        (Layout::POWERPC | Layout::POWERPC64, "dd", "f32") => {
            let [large, small] = parts(made.from);
            let single = f32::from_bits(made.wrapped as u32);
            let neighbour = if small > 0.0 { single.next_up() } else { single.next_down() };
            let middle = f64::from(single) / 2.0 + f64::from(neighbour) / 2.0;
            if small == 0.0 || large != middle {
                return None;
            }
            (made.wrapped, made.nearest) = (neighbour.to_bits().into(), neighbour.to_bits().into());
            Some("dd to f32 by the larger part only")
        }
        (Layout::POWERPC64, "i128" | "u128", "dd") => {
            let large = if from.name() == "i128" { made.from as i128 as f64 } else { made.from as f64 };
            let rest = made.from.wrapping_sub(modulo(large)) as i128;
            let fault = if rest as f64 as i128 == rest { '-' } else { 'I' };
            let right = double_double(large, rest as f64);
            if to.same(right, made.wrapped) && fault == made.fault {
                return None;
            }
            *made = Made { fault, wrapped: right, nearest: right, ..*made };
            Some("digits lost by 16-byte integers to dd")
        }
        (Layout::POWERPC64, "dd", "i128" | "u128") => {
            let [large, small] = parts(made.from);
            if made.fault == 'O' || large.abs() < 2f64.powi(64) {
                return None;
            }
            let whole = if large > 0.0 { small.floor() } else { small.ceil() };
            let fault = if whole == small { '-' } else { 'I' };
            let right = modulo(large).wrapping_add(whole as i128 as u128);
            if right == made.wrapped && fault == made.fault {
                return None;
            }
            *made = Made { fault, wrapped: right, nearest: right, ..*made };
            Some("digits lost by dd to 16-byte integers")
        }
        (_, "x87", "f16" | "f128") => {
            let (exponent, leading) = (made.from >> 64 & 0x7fff, made.from >> 63 & 1);
            let right = match (exponent, leading, to.size) {
                (0, 1, 16) => made.from >> 79 << 127 | 1 << 112 | (made.from & (u128::MAX >> 65)) << 49,
                (1.., 0, 16) => 0x7_fff8 << 108,
                (1.., 0, _) => 0x7e00,
                _ => return None,
            };
            *made = Made { fault: '-', wrapped: right, nearest: right, ..*made };
            Some("leading bit of x87 overlooked by software")
        }
        _ => None,
    }
}

/// Conversion of records of a machine, each an array of so many numbers.
struct Converter {
    wire: Verifier,
    plan: Plan,
    from: (Kind, ByteOrder),
    to: (Kind, ByteOrder),
}

impl Converter {
    fn new(machine: &Machine, from: Kind, to: Kind, into: Layout, faults: Faults, count: usize) -> Converter {
        let wire = format(from, &machine.layout, count);
        let plan = Plan::new(&wire, &format(to, &into, count), &Rules::new(), faults).expect("numbers convert");
        Converter { wire: Verifier::new(&wire), plan, from: (from, machine.layout.order), to: (to, into.order) }
    }

    fn run(&self, numbers: &[u128]) -> isoform::Result<Vec<u128>> {
        let ((from, from_order), (to, to_order)) = (self.from, self.to);
        let body = from.write_all(from_order, numbers);
        let mut out = Vec::new();
        interp::run(&self.plan, self.wire.verify(&body)?, &mut out)?;
        Ok(out.chunks(to.size).map(|bytes| to.read(to_order, bytes)).collect())
    }
}

/// A record that is one array.
fn format(kind: Kind, layout: &Layout, count: usize) -> Format {
    let shape = Shape::parse(&format!("record Numbers\n  value  {}[{count}]\n", kind.words())).expect("a shape");
    shape.on(layout).expect("a format")
}

fn compile(machine: &Machine) -> PathBuf {
    let options: &[&str] = match machine.layout {
        Layout::I386 => &["-msse2"],
        Layout::ARMV7 => &["-mfp16-format=ieee"],
        Layout::AARCH64 => &["-march=armv8.2-a+bf16"],
        _ => &[],
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("numbers-{}.exe", machine.name()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("numbers/numbers.c");
    let mut command = Command::new(machine.compiler());
    command.args(["-std=c11", "-O1", "-Wall"]).args(options).args(machine.options).arg("-o").arg(&program).arg(source);
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{}: {}", machine.name(), String::from_utf8_lossy(&output.stderr));
    program
}
