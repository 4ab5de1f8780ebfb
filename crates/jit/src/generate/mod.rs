//! The choice of a generator for a plan, and its result.
//!
//! This module and the generators use each other: it calls them, and they take from it what both decide alike (`plain`, `weight`)
//! and return its [`Made`]. The generators and [`call`](crate::call) use each other, too: code contains the addresses of the
//! functions in `call` and the layout of its `Context`, and only `call` makes a function of a [`Generated`]. These files change
//! together: what one of them promises, the others rely on.

mod plain;
mod weight;

pub(crate) use plain::{is_plain, is_short, pieces};
#[cfg(all(direct, feature = "model"))]
pub(crate) use weight::is_worth_it;
pub(crate) use weight::{CODE, SHORT};

use crate::portable;
use isoform_core::Plan;
use std::sync::Arc;

/// A generator of machine code for plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// The generator of this crate, for x86-64 with AVX-512 or AVX2. It takes microseconds, and its code is the fastest.
    Direct,
    /// Cranelift, for all machines that it supports.
    Portable,
}

impl Generator {
    /// All of them, the best first.
    pub const ALL: &[Generator] = &[Generator::Direct, Generator::Portable];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Generator::Direct => "direct",
            Generator::Portable => "portable",
        }
    }
}

/// The result of a generator.
pub(crate) struct Made {
    /// Machine code, which begins with a function of type [`Entry`](crate::call::Entry) and contains no relocations.
    pub(crate) code: Vec<u8>,
    /// Bytes of instructions in it. Constants may follow them.
    pub(crate) text: usize,
    /// Whether that function needs no context.
    pub(crate) alone: bool,
    /// The place of a function of type [`Many`](crate::call::Many), if there is one.
    pub(crate) many: Option<usize>,
}

/// Generated code.
///
/// **Invariant 1:** the functions do what the steps of the plan do. Only [`function`] creates one.
pub(crate) struct Generated {
    made: Made,
    plan: Arc<Plan>,
}

impl Generated {
    pub(crate) fn into_parts(self) -> (Made, Arc<Plan>) {
        (self.made, self.plan)
    }
}

/// Machine code for a plan, if this generator is available, supports the plan, and the code is worthwhile.
pub(crate) fn function(plan: &Arc<Plan>, generator: Generator) -> Option<Generated> {
    if !weight::is_worth_it(plan) {
        return None;
    }
    let made = match generator {
        #[cfg(direct)]
        Generator::Direct => crate::x86::function(plan)?,
        #[cfg(not(direct))]
        Generator::Direct => return None,
        Generator::Portable => portable::function(plan)?,
    };
    (made.code.len() <= CODE).then(|| Generated { made, plan: plan.clone() })
}
