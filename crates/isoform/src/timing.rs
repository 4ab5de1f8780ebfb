//! Explanations with measured cost, and with generated code: `core::plan` measures, and gets the clock and the code from here.

use isoform_core::plan::Explanation;
use std::time::Instant;

/// Adds the measured cost to an explanation: bytes and nanoseconds of each step, of verification and of all steps. This program measures
/// them now, in some milliseconds, with one record that is made for it. With the feature `generate`, it measures generated code, too.
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

/// The machine code that decoders of this program generate for the plan of an explanation, as text: each instruction with its
/// bytes, where the generator gives them. `None` if no code is generated: for pairs that are refused or need no conversion, if code
/// gains nothing, and without the feature `generate`.
///
/// ```
/// use isoform::core::plan::{Explanation, Faults, Rules};
/// use isoform::core::{Layout, Shape};
/// let shape = Shape::new("River").field("time", "long").field("depth", "double");
/// let (sent, wanted) = (shape.on(&Layout::POWERPC)?, shape.on(&Layout::X86_64)?);
/// let explained = Explanation::new(&sent, &wanted, &Rules::new(), Faults::Error);
/// if let Some(code) = isoform::code(&explained) {
///     assert!(code.starts_with("code by the "));
/// }
/// # Ok::<(), isoform::Error>(())
/// ```
pub fn code(explained: &Explanation) -> Option<String> {
    #[cfg(feature = "generate")]
    {
        let plan = explained.plan().filter(|plan| !plan.is_direct())?;
        isoform_jit::Listing::of(&std::sync::Arc::new(plan.clone())).map(|listing| listing.to_string())
    }
    #[cfg(not(feature = "generate"))]
    {
        let _ = explained;
        None
    }
}
