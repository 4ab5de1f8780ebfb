//! Generated code as text, for people.

use crate::generate::{self, Generator, Made};
#[cfg(direct)]
use crate::instructions::{Instruction, Shown, addresses, decode};
use isoform_core::Plan;
#[cfg(direct)]
use isoform_core::plan::Step;
use std::fmt;
use std::sync::Arc;

/// The machine code of a plan, as text: each instruction with its bytes, then the constants.
///
/// Code of the portable generator is shown in the notation of Cranelift, which has no bytes beside the instructions; they
/// follow as a whole. An address, which is another one in each run, has dots for its bytes, and the name of what is there.
///
/// ```
/// use isoform_core::{Faults, Layout, Plan, Rules, Shape};
/// use isoform_jit::Listing;
/// use std::sync::Arc;
/// let shape = Shape::parse("record P\n  n  i32\n  x  f64[3]\n")?;
/// let (wire, native) = (shape.on(&Layout::S390X)?, shape.on(&Layout::X86_64)?);
/// let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error)?);
/// if let Some(listing) = Listing::of(&plan) {
///     assert!(listing.to_string().starts_with("code by the "));
/// }
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Listing(String);

impl Listing {
    /// The code that [`Code::of`](crate::Code::of) generates. `None` if there is none.
    pub fn of(plan: &Arc<Plan>) -> Option<Listing> {
        Generator::ALL.iter().find_map(|&by| Listing::by(by, plan))
    }

    /// The same by a given generator.
    pub fn by(generator: Generator, plan: &Arc<Plan>) -> Option<Listing> {
        // What would not be used is not shown.
        let (made, _) = generate::function(plan, generator)?.into_parts();
        match generator {
            #[cfg(direct)]
            Generator::Direct => Some(Listing(direct(&made, plan.steps()))),
            #[cfg(not(direct))]
            Generator::Direct => None,
            Generator::Portable => crate::portable::text(plan).map(|text| Listing(portable(&made, &text))),
        }
    }

    /// The code of the direct generator, whether or not this processor has its instructions.
    #[cfg(all(direct, feature = "model"))]
    pub(crate) fn of_any(made: &Made, plan: &Plan) -> Listing {
        Listing(direct(made, plan.steps()))
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn title(by: &str, made: &Made) -> String {
    let (text, rest) = (made.text, made.code.len() - made.text);
    let rest = if rest > 0 { format!(", then {rest} of constants") } else { String::new() };
    format!("code by the {by}: {text} bytes of instructions{rest}\n")
}

fn portable(made: &Made, text: &str) -> String {
    let mut listing = title("portable generator", made);
    text.lines().for_each(|line| listing += &format!("  {line}\n"));
    listing += "bytes\n";
    rows(&mut listing, 0, &made.code);
    listing
}

#[cfg(direct)]
fn direct(made: &Made, steps: &[Step]) -> String {
    let mut listing = title("direct generator", made);
    let mut at = 0;
    while let Some((instruction, length)) = decode(&made.code[..made.text], at) {
        if made.many == Some(at) {
            listing += "the same for many records\n";
        }
        let bytes = &made.code[at..at + length];
        let text = Shown(&instruction).to_string();
        let name = match instruction {
            Instruction::Set { number, .. } => addresses::name(steps, number),
            _ => None,
        };
        let (bytes, text) = match (name, text.split_once(',')) {
            (Some(name), Some((start, _))) => {
                (hex(&bytes[..2]) + &" ..".repeat(length - 2), format!("{start}, {name}"))
            }
            _ => (hex(bytes), text),
        };
        listing += &format!("  {at:4x}  {bytes:38}  {text}\n");
        at += length;
    }
    // Code that the decoder does not know is shown, too.
    let constants = made.text.next_multiple_of(64).min(made.code.len());
    if at < made.text {
        listing += "not known\n";
        rows(&mut listing, at, &made.code[at..made.text]);
    }
    if constants < made.code.len() {
        listing += "constants\n";
        rows(&mut listing, constants, &made.code[constants..]);
    }
    listing
}

fn rows(listing: &mut String, start: usize, bytes: &[u8]) {
    for (index, row) in bytes.chunks(16).enumerate() {
        *listing += &format!("  {:4x}  {}\n", start + 16 * index, hex(row));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
