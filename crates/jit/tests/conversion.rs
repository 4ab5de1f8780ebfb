//! Everything that is known of conversions, as generated code does them: the tests of the interpreter, once more.

#[path = "../../core/tests/conversion/direct.rs"]
mod direct;
#[path = "../../core/tests/conversion/evolution.rs"]
mod evolution;
#[path = "../../core/tests/conversion/records.rs"]
mod records;

/// The engine that all of it is about.
mod engine {
    use isoform_core::interp::Output;
    use isoform_core::{Body, Plan, Result, interp};
    use isoform_jit::Code;
    use std::sync::Arc;

    /// Where there is no generator, the interpreter stands in for what would.
    pub(crate) fn run(plan: &Arc<Plan>, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        let here = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
        match Code::of(plan) {
            Some(code) => code.run(body, out),
            None if here => panic!("no code for {plan}"),
            None => interp::run(plan, body, out),
        }
    }
}
