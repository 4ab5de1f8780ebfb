//! The available vector instructions.

use std::fmt;

/// A set of vector instructions that this processor has.
///
/// **Invariant 1:** a value of this type exists only on processors that have its instructions. Only this file creates
/// values: [`Level::PORTABLE`], which every processor has, and the others in [`Level::all`], after asking the
/// processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Level(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Instructions {
    /// The instructions for which the program was compiled: SSE2 on x86-64, NEON on 64-bit ARM.
    Portable,
    /// NEON intrinsics, for code that compilers do not vectorise themselves.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// SSSE3 and SSE4.1.
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    /// AVX2 and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VBMI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The level of every processor on which this program runs.
    pub const PORTABLE: Level = Level(Instructions::Portable);

    /// All levels of this processor, the best last.
    pub fn all() -> Vec<Level> {
        let mut all = vec![Level::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("sse4.1") {
                all.push(Level(Instructions::Ssse3));
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
                    all.push(Level(Instructions::Avx2));
                    if avx512() {
                        all.push(Level(Instructions::Avx512));
                    }
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Level(Instructions::Neon));
        }
        all
    }

    /// The level with this [word](Level::word), if this processor has it.
    pub fn of(word: &str) -> Option<Level> {
        Level::all().into_iter().find(|level| level.word() == word)
    }

    /// The instructions.
    #[inline]
    pub(crate) fn instructions(self) -> Instructions {
        self.0
    }

    /// The level that kernels and generators use: the best of this processor, unless [`limit`](Level::limit) chose another.
    #[inline]
    pub fn best() -> Level {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        {
            *BEST.get_or_init(|| Level::all().pop().unwrap_or(Level::PORTABLE))
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        Level::PORTABLE
    }

    /// Makes [`best`](Level::best) return this level for the rest of the process, as on a processor without better
    /// instructions. Returns `false` if `best` has returned another one already. For measurements and tests.
    pub fn limit(self) -> bool {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        {
            *BEST.get_or_init(|| self) == self
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        true
    }

    /// Its name in lower case, without signs: `avx512`, `avx2`, `ssse3`, `neon`, `portable`.
    pub fn word(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static BEST: std::sync::OnceLock<Level> = std::sync::OnceLock::new();

#[cfg(target_arch = "x86_64")]
fn avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "NEON",
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => "SSSE3",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "AVX-512",
        })
    }
}

/// Defines a function from a portable one, compiled once for each level. It takes the level first, and then the
/// arguments of the portable function. That function, and all that it calls, must be `#[inline(always)]`.
macro_rules! for_each_level {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $portable:path) => {
        $(#[$attribute])*
        #[inline]
        $visible fn $name(level: $crate::Level, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "ssse3,sse4.1")]
                fn ssse3($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                #[target_feature(enable = "avx2,f16c")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,f16c")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                match level.instructions() {
                    $crate::level::Instructions::Portable => $portable($($argument),*),
                    // SAFETY: a level exists only where its instructions do (invariant 1 of `Level`).
                    $crate::level::Instructions::Ssse3 => unsafe { ssse3($($argument),*) },
                    // SAFETY: the same.
                    $crate::level::Instructions::Avx2 => unsafe { avx2($($argument),*) },
                    // SAFETY: the same.
                    $crate::level::Instructions::Avx512 => unsafe { avx512($($argument),*) },
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = level;
                $portable($($argument),*)
            }
        }
    };
}
pub(crate) use for_each_level;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_level_is_one_of_this_processor_and_stays() {
        assert_eq!(Level::all().last(), Some(&Level::best()));
        assert!(Level::best().limit(), "it is this one already");
        assert_eq!(Level::PORTABLE.limit(), Level::best() == Level::PORTABLE);
        assert!(Level::all().is_sorted());
        assert!(Level::all().into_iter().all(|level| Level::of(level.word()) == Some(level)));
        assert_eq!(Level::of("AVX"), None);
    }
}
