//! Runs conversions in the default floating-point modes of IEEE 754, whatever modes the program has set.
//!
//! Code that is linked with `-ffast-math` makes the processor read tiny numbers as zeros (x86: DAZ) and replace tiny results by
//! zeros (FTZ). Other programs choose another rounding. Compilers do not expect either. So conversions run in [`ieee()`],
//! which detects other modes, and sets the default modes while the conversion runs.
//!
//! The detection runs for every record, so it must cost next to nothing. On some processors, reading the control register of x86
//! takes 6 ns. So `ieee` rounds some numbers to integers instead, in a fraction of a nanosecond. Their bits differ in every
//! other mode, except FTZ alone, which changes no integers. Code that narrows numbers therefore treats tiny results as unsure.
//! The detection raises no floating-point exception. So it is safe in programs that unmask exceptions, as
//! `gfortran -ffpe-trap=denormal` does.
//!
//! On 64-bit ARM, and on x86 without SSE4.1, `ieee` reads the register. On other machines it changes nothing: no code for them,
//! generated or compiled,
//! replaces tiny numbers by zeros.

/// Does `work` in the default modes of IEEE 754: results are rounded to the nearest, ties to even, and tiny numbers are not
/// replaced by zeros. If the program has set only FTZ, tiny *results* still become zeros.
///
/// ```
/// let tiny = isoform_kernels::ieee(|| f64::from(std::hint::black_box(1e-40f32)));
/// assert!(tiny > 9e-41);
/// ```
#[inline(always)]
pub fn ieee<R>(work: impl FnOnce() -> R) -> R {
    ieee_if(true, work)
}

/// As [`ieee()`] if `computes_floats`. Otherwise it does the work without a look at the modes.
#[inline(always)]
pub fn ieee_if<R>(computes_floats: bool, work: impl FnOnce() -> R) -> R {
    if !computes_floats || modes::are_usual() { work() } else { unusually(work) }
}

/// Whether the default modes are set. This is for callers whose arguments must stay in registers: with a closure, the
/// compiler would put them into memory.
#[inline(always)]
pub fn is_ieee() -> bool {
    modes::are_usual()
}

#[cold]
#[inline(never)]
fn unusually<R>(work: impl FnOnce() -> R) -> R {
    let (mut work, mut result) = (Some(work), None);
    modes::usual(&mut || result = work.take().map(|work| work()));
    result.expect("work that was done")
}

/// Proofs refer to these:
/// 1. The instructions read and write the control register of this thread, and the given memory, and nothing else.
/// 2. The new value of the register is either its earlier value, or the default that the compiler expects in any case.
/// 3. The work is behind a call of a function that the compiler cannot see into. So it moves no part of it across.
#[cfg(all(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")), not(miri)))]
mod modes {
    use std::arch::asm;

    /// All exceptions masked, rounding to the nearest, neither DAZ nor FTZ.
    const USUAL: u32 = 0x1f80;

    /// How results are rounded (0: to the nearest), what tiny results become, and what tiny numbers are read as.
    const CHOSEN: u32 = 0xe040;

    #[repr(C, align(16))]
    struct Probe {
        as_chosen: [u32; 4],
        up: [u32; 4],
        chosen: [u32; 4],
        above: [u32; 4],
    }

    /// A half and one and a half, which are rounded to 0 and to 2 in no other mode; and the smallest number, which is rounded
    /// up to 1 unless it is read as zero.
    static PROBE: Probe = Probe {
        as_chosen: [0x3f00_0000, 0x3fc0_0000, 0x3f00_0000, 0x3fc0_0000],
        up: [0x0000_0001; 4],
        chosen: [0, 0x4000_0000, 0, 0x4000_0000],
        above: [0x3f80_0000; 4],
    };
    /// All are right.
    const RIGHT: u32 = 0b1111;

    #[inline(always)]
    pub(super) fn are_usual() -> bool {
        if !is_x86_feature_detected!("sse4.1") {
            return read() & CHOSEN == 0;
        }
        let right: u32;
        // SAFETY: (1): four times 16 bytes of a static that is aligned to that. The processor has the instructions. Their
        // arguments have them report nothing that is inexact (8), and round as the program has chosen (4), or up (2).
        unsafe {
            asm!(
                "roundps {x}, [{probe}], 12",
                "roundps {y}, [{probe} + 16], 10",
                "pcmpeqd {x}, [{probe} + 32]",
                "pcmpeqd {y}, [{probe} + 48]",
                "pand {x}, {y}",
                "movmskps {right:e}, {x}",
                probe = in(reg) &raw const PROBE,
                x = out(xmm_reg) _,
                y = out(xmm_reg) _,
                right = out(reg) right,
                options(nostack, preserves_flags, readonly)
            );
        }
        right == RIGHT
    }

    pub(super) fn usual(work: &mut dyn FnMut()) {
        struct Before(u32);
        impl Drop for Before {
            fn drop(&mut self) {
                write(self.0);
            }
        }
        let _before = Before(read());
        write(USUAL);
        std::hint::black_box(work)();
    }

    pub(super) fn read() -> u32 {
        let mut modes = 0;
        // SAFETY: (1): 4 bytes are written.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut modes, options(nostack, preserves_flags)) };
        modes
    }

    pub(super) fn write(modes: u32) {
        // SAFETY: (1), (2), (3): 4 bytes are read; they have no bits that are reserved.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const modes, options(nostack, preserves_flags)) };
    }
}

/// Proofs refer to those above.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod modes {
    use std::arch::asm;

    #[inline(always)]
    pub(super) fn are_usual() -> bool {
        read() == 0
    }

    pub(super) fn usual(work: &mut dyn FnMut()) {
        struct Before(u64);
        impl Drop for Before {
            fn drop(&mut self) {
                write(self.0);
            }
        }
        let _before = Before(read());
        write(0);
        std::hint::black_box(work)();
    }

    #[inline(always)]
    fn read() -> u64 {
        let modes;
        // SAFETY: (1).
        unsafe { asm!("mrs {}, fpcr", out(reg) modes, options(nostack, preserves_flags, nomem)) };
        modes
    }

    fn write(modes: u64) {
        // SAFETY: (1), (2), (3).
        unsafe { asm!("msr fpcr, {}", in(reg) modes, options(nostack, preserves_flags)) };
    }
}

#[cfg(any(
    miri,
    not(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2"), target_arch = "aarch64"))
))]
mod modes {
    #[inline(always)]
    pub(super) fn are_usual() -> bool {
        true
    }

    pub(super) fn usual(work: &mut dyn FnMut()) {
        work();
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;
    use crate::{ByteOrder, FloatKind, Level, Number, NumberClass, convert_at};

    /// Tiny numbers are zeros, tiny results become zeros, and each way to round; then all at once.
    const OTHERS: [u32; 6] = [1 << 6, 1 << 6 | 1 << 15, 1 << 13, 2 << 13, 3 << 13, 7 << 13 | 1 << 6];

    fn in_mode<R>(mode: u32, work: impl FnOnce() -> R) -> R {
        modes::write(0x1f80 | mode);
        let result = work();
        let left = modes::read() & !0x3f;
        modes::write(0x1f80);
        assert_eq!(left, 0x1f80 | mode, "the mode is what it was");
        result
    }

    #[test]
    fn unusual_modes_are_found() {
        assert!(modes::are_usual());
        for mode in OTHERS {
            let (before, within) = in_mode(mode, || (modes::are_usual(), ieee(modes::are_usual)));
            assert_eq!((before, within), (false, true), "{mode:x}");
        }
    }

    #[test]
    fn finding_out_raises_no_exception_of_the_processor() {
        // A process that unmasks all exceptions ends if there is one.
        modes::write(0);
        let usual = modes::are_usual();
        let raised = modes::read();
        modes::write(0x1f80);
        assert_eq!((usual, raised), (true, 0));
    }

    #[test]
    fn the_mode_is_what_it_was_even_after_a_panic() {
        let panicked = in_mode(1 << 6, || std::panic::catch_unwind(|| ieee(|| panic!("at work"))).is_err());
        assert!(panicked);
    }

    #[test]
    fn every_level_makes_the_same_of_tiny_numbers() {
        let number = |kind, size| Number { class: NumberClass::Float(kind), size, order: ByteOrder::NATIVE };
        let (half, brain) = (number(FloatKind::Ieee, 2), number(FloatKind::Brain, 2));
        let (single, double) = (number(FloatKind::Ieee, 4), number(FloatKind::Ieee, 8));
        let singles: Vec<u8> = [1e-40f32, -1e-45, 1.0].map(f32::to_le_bytes).concat().repeat(20);
        let doubles: Vec<u8> = [1e-30f64, 0.1, -1e-38, 0.0].map(f64::to_le_bytes).concat().repeat(20);
        let halves = [1u8, 0, 1, 128, 255, 3].repeat(20);
        for (from, to, src) in [
            (single, double, &singles),
            (double, single, &doubles),
            (half, single, &halves),
            (half, double, &halves),
            (brain, single, &halves),
            (brain, double, &halves),
        ] {
            for level in Level::all() {
                let made = || {
                    let mut dst = vec![0; src.len() / usize::from(from.size) * usize::from(to.size)];
                    let fits = convert_at(level, from, to, src, &mut dst);
                    (fits, dst)
                };
                let expected = made();
                for mode in OTHERS {
                    assert!(in_mode(mode, || ieee(made)) == expected, "{level}, {from:?} to {to:?}, mode {mode:x}");
                }
            }
        }
    }
}
