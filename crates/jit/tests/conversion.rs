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
    use isoform_core::{Body, Code as Kind, Plan, Result, interp};
    use isoform_jit::{Code, Generator};
    use std::sync::Arc;

    /// Where there is no generator, the interpreter stands in for what would.
    pub(crate) fn run(plan: &Arc<Plan>, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        let here = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
        let mut codes = Generator::ALL.iter().filter_map(|&generator| Code::by(generator, plan));
        match codes.next() {
            Some(code) => {
                let result = code.run(body, out);
                // Whoever asks for little room asks it of this output alone.
                let small = result.as_ref().is_err_and(|error| error.code() == Kind::Size);
                for other in codes.filter(|_| !small) {
                    let mut again = Vec::new();
                    assert_eq!(other.run(body, &mut again), result, "{plan}");
                    assert!(result.is_err() || again == out.bytes(), "{plan}");
                }
                result
            }
            None if here => panic!("no code for {plan}"),
            None => interp::run(plan, body, out),
        }
    }
}
