//! Which formats meet: the sender's, the receiver's, the rules of the receiver, and records.

use crate::broad::broad;
use crate::varied::vary;
use crate::wordy::wordy;
use isoform_core::{Faults, Format, Layout, Plan, Rules, Shape, Value, value};
use isoform_testing::mutate::{Random, regions};
use isoform_testing::{PLAIN, any_shape, any_value, drawn, evolved, runner, shapes_of, twisted, with_gaps};
use std::fmt;

/// Records of each pair that are drawn, and then varied so often.
const DRAWN: usize = 2;
const VARIED: usize = 4;

/// A sender's format, a receiver's, and bodies of the first.
///
/// ```
/// let tally = isoform_engines::Pair::of(1, 7).compare(isoform_engines::Emitters::Native)?;
/// assert_eq!(tally.pairs, 1);
/// # Ok::<(), String>(())
/// ```
pub struct Pair {
    pub(crate) wire: Format,
    pub(crate) native: Format,
    pub(crate) rules: Rules,
    pub(crate) faults: Faults,
    pub(crate) bodies: Vec<Vec<u8>>,
    /// What else is to be chosen.
    pub(crate) random: Random,
}

impl Pair {
    /// The pair of this number: the same at any time, and on every machine.
    pub fn of(seed: u64, number: u64) -> Pair {
        let mut random = Random::of(seed, number);
        let choices = [Faults::Error, Faults::Error, Faults::Error, Faults::Saturate, Faults::Wrap];
        let faults = random.of_these(&choices).unwrap_or(Faults::Error);
        let (wire, native, rules, mut bodies) = formats(faults, &mut random);
        let machine = wire.machine();
        for drawn in 0..bodies.len() {
            let regions = regions(&wire, &bodies[drawn]).expect("a body that was made here");
            for _ in 0..VARIED {
                let mut body = bodies[drawn].clone();
                vary(machine, &regions, &mut body, &mut random);
                bodies.push(body);
            }
        }
        Pair { wire, native, rules, faults, bodies, random }
    }

    /// What the receiver does with the sender's records, if it can do anything.
    pub fn plan(&self) -> isoform_core::Result<Plan> {
        Plan::new(&self.wire, &self.native, &self.rules, self.faults)
    }
}

/// Both formats, and the plan between them or why there is none.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = |format: &Format| Shape::of(format).to_string();
        writeln!(f, "{}\n{}", shape(&self.wire), shape(&self.native))?;
        match self.plan() {
            Ok(plan) => write!(f, "{plan}"),
            Err(error) => write!(f, "{error}"),
        }
    }
}

fn layout(random: &mut Random) -> Layout {
    random.of_these(Layout::ALL).unwrap_or(Layout::NATIVE)
}

fn laid_out(shape: &Shape, random: &mut Random) -> Format {
    let format = shape.on(&layout(random)).expect("shapes can be laid out");
    let seeds: Vec<u8> = (0..random.below(12)).map(|_| random.byte()).collect();
    if random.one_in(3) { with_gaps(&format, &seeds) } else { format }
}

/// A body of each record that its format can hold.
fn written(wire: &Format, records: Vec<Value>) -> Vec<Vec<u8>> {
    records.iter().map(|record| value::body(wire, record).expect("a record of its format")).collect()
}

fn formats(faults: Faults, random: &mut Random) -> (Format, Format, Rules, Vec<Vec<u8>>) {
    if random.one_in(6) {
        return texts(random);
    }
    let broadly = random.one_in(3);
    let (shape, other, record) = match broadly {
        true => {
            let ([shape, other], record) = broad(random);
            (shape, Some(other), Some(record))
        }
        false => {
            let shape = shape(random);
            let other = random.one_in(2).then(|| evolved(&shape, &std::array::from_fn::<u8, 24, _>(|_| random.byte())));
            // What has become wider is narrow again for those who have not noticed.
            match other {
                Some(other) if random.one_in(2) => (other, Some(shape), None),
                other => (shape, other, None),
            }
        }
    };
    let wire = laid_out(&shape, random);
    let mut runner = runner(random);
    let records = match record {
        Some(record) => vec![record; DRAWN],
        None => {
            let records = any_value(&wire);
            (0..DRAWN).map(|_| drawn(&records, &mut runner)).collect()
        }
    };
    let bodies = written(&wire, records);
    let (native, rules) = native(&shape, other, &wire, faults, random);
    (wire, native, rules, bodies)
}

/// Formats of many texts, as two programs declare them on two machines.
fn texts(random: &mut Random) -> (Format, Format, Rules, Vec<Vec<u8>>) {
    let ([sender, receiver], record, rules) = wordy(random);
    let (wire, native) = (laid_out(&sender, random), laid_out(&receiver, random));
    let bodies = written(&wire, vec![record; DRAWN]);
    (wire, native, rules, bodies)
}

fn shape(random: &mut Random) -> Shape {
    let plain = random.one_in(2);
    let mut runner = runner(random);
    if plain { drawn(shapes_of(PLAIN), &mut runner) } else { drawn(any_shape(), &mut runner) }
}

/// Another version of the shape on another machine; or what somebody else would have declared.
fn native(shape: &Shape, other: Option<Shape>, wire: &Format, faults: Faults, random: &mut Random) -> (Format, Rules) {
    if random.one_in(3) {
        let machine = layout(random).machine();
        for _ in 0..4 {
            if let Ok((native, rules)) = twisted(wire, machine, random)
                && Plan::new(wire, &native, &rules, faults).is_ok()
            {
                return (native, rules);
            }
        }
    }
    (laid_out(other.as_ref().unwrap_or(shape), random), Rules::new().missing(isoform_core::Missing::Zero))
}
