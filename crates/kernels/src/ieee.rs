//! Floating-point numbers as IEEE 754 has them by default, whatever the program has asked its processor for.
//!
//! Code that is linked with `-ffast-math` makes its threads take tiny numbers for zeros (x86: DAZ), or make zeros of them
//! (FTZ); others choose how results are rounded. The compiler counts on neither. So whoever converts numbers does it in
//! [`ieee()`], which finds out and then switches to the default for as long as it takes.
//!
//! Finding out must cost next to nothing, as it is done for every record. Reading the control register of x86 takes 7 ns on
//! some processors; so three sums are computed instead, in a quarter of a nanosecond, whose bits differ in every other
//! mode: all but FTZ, since tiny results end programs that ask for a signal upon them. Whoever narrows numbers therefore
//! takes tiny results for unsure ones. On 64-bit ARM the register is read, and on other machines the mode is left alone: none
//! of them has code generated or compiled here that makes zeros of numbers.

/// Does `work` with the floating-point modes of IEEE 754: ties go to even, and tiny numbers count. (Where they only become
/// zeros as *results*, they go on doing so if nothing else is unusual.)
///
/// ```
/// let tiny = isoform_kernels::ieee(|| f64::from(std::hint::black_box(1e-40f32)));
/// assert!(tiny > 9e-41);
/// ```
#[inline(always)]
pub fn ieee<R>(work: impl FnOnce() -> R) -> R {
    ieee_if(true, work)
}

/// As [`ieee()`], if the work computes with floating-point numbers. Other work does not wait for the modes.
#[inline(always)]
pub fn ieee_if<R>(computes_floats: bool, work: impl FnOnce() -> R) -> R {
    if !computes_floats || modes::are_usual() { work() } else { unusually(work) }
}

/// Whether the modes are those in which [`ieee()`] works. For callers that keep their arguments in registers, which a
/// closure would have the compiler put into memory.
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
/// 1. The instructions read and write the control register of this thread and memory that they are given, and nothing else.
/// 2. What is written is either what was there before, or the default, with which the compiler reckons in any case.
/// 3. What is computed between is behind a call of a function that the compiler does not know: it moves nothing of it.
#[cfg(all(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")), not(miri)))]
mod modes {
    use std::arch::asm;

    /// All exceptions masked, to the nearest, with nothing made zero.
    const USUAL: u32 = 0x1f80;

    #[repr(C, align(16))]
    struct Probe {
        numbers: [u32; 4],
        added: [u32; 4],
        sums: [u32; 4],
    }

    /// One and three quarters of a unit in its last place, which rounds up to the nearest; one and a quarter of it, which
    /// rounds down; the smallest number and the smallest normal one, whose sum is exact and normal.
    static PROBE: Probe = Probe {
        numbers: [0x3f80_0000, 0x3f80_0000, 0x0000_0001, 0],
        added: [0x33c0_0000, 0x3300_0000, 0x0080_0000, 0],
        sums: [0x3f80_0001, 0x3f80_0000, 0x0080_0001, 0],
    };
    /// All four sums are right.
    const RIGHT: u32 = 0b1111;

    #[inline(always)]
    pub(super) fn are_usual() -> bool {
        let sums: u32;
        // SAFETY: (1): three times 16 bytes of a static that is aligned to that.
        unsafe {
            asm!(
                "movaps {x}, [{probe}]",
                "addps {x}, [{probe} + 16]",
                "pcmpeqd {x}, [{probe} + 32]",
                "movmskps {sums:e}, {x}",
                probe = in(reg) &raw const PROBE,
                x = out(xmm_reg) _,
                sums = out(reg) sums,
                options(nostack, preserves_flags, readonly)
            );
        }
        sums == RIGHT
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
