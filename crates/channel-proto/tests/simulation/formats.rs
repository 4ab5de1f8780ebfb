//! The formats of the simulations: a record, what newer programs made of it, and others that it cannot become.

use isoform_core::{FieldList, Format, Machine};

/// How many can be converted into each other; the rest cannot be converted into these.
pub(crate) const COMPATIBLE: usize = 7;
/// One that is worth projecting.
pub(crate) const WIDE: usize = 6;

/// All of them. The first ones can be converted into each other.
pub(crate) fn all() -> Vec<Format> {
    let list = |name: &str| FieldList::new(name);
    let made = |list: FieldList, size| list.format(Machine::NATIVE, size, 8).expect("a format");
    vec![
        made(list("Tick").field("count", "integer", 8, 0), 8),
        made(list("Tick").field("count", "integer", 8, 0).field("late", "integer", 8, 8), 16),
        made(list("Tick").field("before", "double", 8, 0).field("count", "integer", 8, 8), 16),
        made(list("Tock").field("count", "integer", 4, 0), 8),
        made(list("Tick").field("count", "unsigned integer", 8, 8), 16),
        made(list("Tick").field("count", "integer", 2, 4), 8),
        made(list("Tick").field("history", "double[128]", 8, 0).field("count", "integer", 8, 1024), 1032),
        made(list("Words").field("text", "char", 1, 0), 8),
        made(list("Leaf").field("veins", "integer", 8, 0), 8),
    ]
}

#[test]
fn they_are_what_they_are_said_to_be() {
    use isoform_core::{Faults, Missing, Plan, Rules};
    let all = all();
    for (i, from) in all.iter().enumerate() {
        for (j, to) in all.iter().enumerate() {
            let plan = Plan::new(from, to, &Rules::new().missing(Missing::Zero), Faults::default());
            let fits = i == j || i < COMPATIBLE && j < COMPATIBLE;
            assert_eq!(plan.is_ok(), fits, "{i} {j} {:?}", plan.err());
        }
    }
}
