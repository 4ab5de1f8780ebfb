//! Everything that is known of conversions, as the interpreter does them. `crates/jit/tests/conversion.rs` has generated
//! code do the same.

mod direct;
mod evolution;
mod records;

/// The engine that all of it is about.
mod engine {
    use isoform_core::interp::{self, Output};
    use isoform_core::{Body, Plan, Result};
    use std::sync::Arc;

    pub(crate) fn run(plan: &Arc<Plan>, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        interp::run(plan, body, out)
    }
}
