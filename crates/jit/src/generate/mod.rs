//! Which generator makes the code of a plan, and what it hands over.

mod plain;
mod weight;

pub(crate) use plain::{is_plain, is_short, pieces};
pub(crate) use weight::{CODE, SHORT};

use crate::portable;
use isoform_core::Plan;
use std::sync::Arc;

/// What makes machine code of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// This crate itself, for x86-64 with AVX-512: in microseconds, and the fastest code.
    Direct,
    /// Cranelift, for every machine that it knows.
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

/// What a generator has made.
pub(crate) struct Made {
    /// Machine code, which begins with a function of type [`Entry`](crate::call::Entry) and refers to nothing by relocation.
    pub(crate) code: Vec<u8>,
    /// Whether that function does without its context.
    pub(crate) alone: bool,
    /// Where a function of type [`Many`](crate::call::Many) begins, if there is one.
    pub(crate) many: Option<usize>,
}

/// What was generated.
///
/// **Invariant 1:** the functions of what was made do what the steps of the plan do. Only [`function`] makes one.
pub(crate) struct Generated {
    made: Made,
    plan: Arc<Plan>,
}

impl Generated {
    pub(crate) fn into_parts(self) -> (Made, Arc<Plan>) {
        (self.made, self.plan)
    }
}

/// Machine code for a plan, if this generator is there and can make it, and it is worth its while.
pub(crate) fn function(plan: &Arc<Plan>, generator: Generator) -> Option<Generated> {
    if !weight::is_worth_it(plan) {
        return None;
    }
    let made = match generator {
        #[cfg(all(target_arch = "x86_64", unix))]
        Generator::Direct => crate::avx512::function(plan)?,
        #[cfg(not(all(target_arch = "x86_64", unix)))]
        Generator::Direct => return None,
        Generator::Portable => portable::function(plan)?,
    };
    (made.code.len() <= CODE).then(|| Generated { made, plan: plan.clone() })
}
