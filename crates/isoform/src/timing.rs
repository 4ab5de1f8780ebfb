//! Explanations with measured cost.

use isoform_core::plan::Explanation;
use std::time::Instant;

/// The same explanation, with bytes and nanoseconds of each step, of verification and of all steps, for one record that is made
/// for this: measured here and now, by this program, in some milliseconds. With the feature `generate`, also of generated code.
///
/// ```
/// use isoform::core::plan::{Explanation, Faults, Rules};
/// use isoform::core::{Layout, Shape};
/// let shape = Shape::new("River").field("time", "long").field("depth", "double");
/// let (sent, wanted) = (shape.on(&Layout::POWERPC)?, shape.on(&Layout::X86_64)?);
/// let explained = isoform::timed(Explanation::new(&sent, &wanted, &Rules::new(), Faults::Error));
/// println!("{explained}");
/// assert_eq!(explained.times().ok_or("not refused")??.native, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timed(explained: Explanation) -> Explanation {
    let began = Instant::now();
    let clock = &mut || began.elapsed();
    #[cfg(feature = "generate")]
    if let Some(plan) = explained.plan().filter(|plan| !plan.is_direct())
        && let Some(code) = isoform_jit::Code::of(&std::sync::Arc::new(plan.clone()))
    {
        let mut memory = crate::native::buffer::Buffer::new(false);
        let mut generated = |body: isoform_core::Body<'_>| {
            memory.clear();
            code.run(body, &mut memory)
        };
        return explained.timed(clock, Some(&mut generated));
    }
    explained.timed(clock, None)
}
