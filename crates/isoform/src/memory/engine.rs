//! Runs plans: with the interpreter at once, and with generated code as soon as it exists.
//!
//! Generating code takes longer than interpreting hundreds of records. So a pair of formats must first prove frequent.
//! A thread that all decoders share then generates the code, and the next record uses it. If no code can be generated,
//! the interpreter continues.

use isoform_core::Result;
use isoform_core::interp::{self, Output};
use isoform_core::{Bodies, Body, Plan};
use std::sync::Arc;

/// The engine that converts records whose layout differs from the receiver's.
///
/// All engines return the same records and errors. Code is generated only with the crate's feature `generate`, on
/// machines with a generator. Elsewhere the interpreter converts all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter, and generated code once many records of a format have arrived. For batches, the interpreter is
    /// used unless the code handles several records at a time, as the interpreter does.
    #[default]
    Auto,
    /// Only the interpreter.
    Interpreter,
    /// Generated code from the first record of a format on. The decoder waits until the code exists.
    Generated,
}

/// A plan and its engine.
pub(crate) struct Converter {
    plan: Arc<Plan>,
    #[cfg(feature = "generate")]
    engine: Engine,
    #[cfg(feature = "generate")]
    tier: generated::Tier,
}

impl Converter {
    pub(super) fn new(plan: Arc<Plan>, engine: Engine) -> Converter {
        #[cfg(not(feature = "generate"))]
        let _ = engine;
        Converter {
            #[cfg(feature = "generate")]
            tier: generated::Tier::new(&plan, engine),
            #[cfg(feature = "generate")]
            engine,
            plan,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// As [`interp::run`].
    #[inline]
    pub(super) fn run(&mut self, body: Body<'_>, out: &mut impl Output) -> Result<()> {
        #[cfg(feature = "generate")]
        if let Some(code) = self.tier.code(&self.plan, 1) {
            return code.run(body, out);
        }
        interp::run(&self.plan, body, out)
    }

    /// As [`interp::run_fixed`].
    #[inline]
    pub(super) fn run_fixed(&mut self, body: Body<'_>, record: &mut [u8]) -> Result<()> {
        #[cfg(feature = "generate")]
        if let Some(code) = self.tier.code(&self.plan, 1) {
            return code.run_fixed(body, record);
        }
        interp::run_fixed(&self.plan, body, record)
    }

    /// As [`interp::run_many`].
    pub(crate) fn run_many(&mut self, bodies: Bodies<'_>, records: &mut [u8]) -> Result<()> {
        #[cfg(feature = "generate")]
        if let Some(code) = self.tier.code(&self.plan, bodies.len())
            && (self.engine == Engine::Generated || code.is_for_many())
        {
            return code.run_many(bodies, records);
        }
        interp::run_many(&self.plan, bodies, records)
    }
}

#[cfg(feature = "generate")]
mod generated {
    use super::Engine;
    use isoform_core::Plan;
    use isoform_jit::Code;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::sync::{Arc, OnceLock};

    /// After so many records of a format, more are to be expected.
    const FREQUENT: u32 = 1000;
    /// So many plans wait for the generator at most; others ask again later.
    const WAITING: usize = 16;

    /// Where the code of a plan will be, or the fact that there is none.
    type Slot = OnceLock<Option<Code>>;

    /// How far the code of one plan is.
    pub(super) struct Tier {
        slot: Arc<Slot>,
        /// Records until code is asked for; 0 if it never is again.
        left: u32,
    }

    impl Tier {
        pub(super) fn new(plan: &Arc<Plan>, engine: Engine) -> Tier {
            let slot = Arc::new(match engine {
                Engine::Generated => Slot::from(Code::of(plan)),
                Engine::Auto | Engine::Interpreter => Slot::new(),
            });
            Tier { slot, left: if engine == Engine::Auto { FREQUENT } else { 0 } }
        }

        /// The code, if it is there. Counts records until it is asked for, now so many more.
        #[inline]
        pub(super) fn code(&mut self, plan: &Arc<Plan>, more: usize) -> Option<&Code> {
            if self.left > 0 {
                self.count(plan, more);
            }
            self.slot.get()?.as_ref()
        }

        fn count(&mut self, plan: &Arc<Plan>, more: usize) {
            self.left = self.left.saturating_sub(u32::try_from(more).unwrap_or(u32::MAX));
            if self.left == 0 && !plan.is_direct() && !ask(plan.clone(), self.slot.clone()) {
                self.left = FREQUENT;
            }
        }
    }

    struct Job {
        plan: Arc<Plan>,
        slot: Arc<Slot>,
    }

    /// Has code generated elsewhere. Returns whether that will be tried.
    #[cold]
    fn ask(plan: Arc<Plan>, slot: Arc<Slot>) -> bool {
        static GENERATOR: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
        let generator = GENERATOR.get_or_init(|| {
            let (jobs, waiting) = sync_channel(WAITING);
            let thread = std::thread::Builder::new().name("isoform-generate".into());
            thread.spawn(|| generate(waiting)).ok().map(|_| jobs)
        });
        generator.as_ref().is_some_and(|jobs| jobs.try_send(Job { plan, slot }).is_ok())
    }

    fn generate(waiting: Receiver<Job>) {
        for Job { plan, slot } in waiting {
            // Nobody waits for it any more if its decoder has forgotten the format.
            if Arc::strong_count(&slot) > 1 {
                // A defect of the generator costs the speed of one conversion, and nothing else.
                let code = catch_unwind(AssertUnwindSafe(|| Code::of(&plan))).ok().flatten();
                let _ = slot.set(code);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use isoform_core::{Faults, Layout, Rules, Shape};

        #[test]
        fn code_comes_after_many_records_and_not_by_the_thread_that_counts_them() {
            let shape = Shape::new("P").field("x", "f64").field("n", "i32");
            let (wire, native) = (shape.on(&Layout::POWERPC).unwrap(), shape.on(&Layout::X86_64).unwrap());
            let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error).unwrap());
            let mut tier = Tier::new(&plan, Engine::Auto);
            for _ in 1..FREQUENT {
                assert!(tier.code(&plan, 1).is_none());
            }
            assert!(Arc::strong_count(&tier.slot) == 1, "nothing is asked for yet");
            let _ = tier.code(&plan, 1);
            assert_eq!(tier.left, 0, "it is asked for, once");
            tier.slot.wait();
            let expected = Code::of(&plan).is_some();
            assert_eq!(tier.code(&plan, 1).is_some(), expected);
            assert_eq!(Tier::new(&plan, Engine::Generated).code(&plan, 1).is_some(), expected);
            let mut interpreted = Tier::new(&plan, Engine::Interpreter);
            assert!((0..2 * FREQUENT).all(|_| interpreted.code(&plan, 1).is_none()));
        }
    }
}
