//! The extensions of x86-64 that the direct generator generates code for.

/// An extension of x86-64 by vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// AVX-512 F, BW, DQ, VL and VBMI.
    Avx512,
    /// AVX2.
    Avx2,
}

impl Extension {
    /// All of them, the best first.
    pub const ALL: &[Extension] = &[Extension::Avx512, Extension::Avx2];

    /// Its name in lower case, without signs.
    pub fn name(self) -> &'static str {
        match self {
            Extension::Avx512 => "avx512",
            Extension::Avx2 => "avx2",
        }
    }
}
