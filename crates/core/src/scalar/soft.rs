//! Chooses the type of `rustc_apfloat` that calculates with a kind of float.

/// Evaluates an expression in which `$F` is the type of a kind of float of this size. A double-double has no such type:
/// it is the sum of two `f64`, which the caller must handle itself.
macro_rules! with_soft {
    ($kind:expr, $size:expr, $F:ident => $body:expr) => {{
        use isoform_kernels::FloatKind;
        use rustc_apfloat::ieee;
        macro_rules! with {
            ($type:ty) => {{
                type $F = $type;
                $body
            }};
        }
        match ($kind, $size) {
            (FloatKind::Ieee, 2) => with!(ieee::Half),
            (FloatKind::Ieee, 4) => with!(ieee::Single),
            (FloatKind::Ieee, 8) => with!(ieee::Double),
            (FloatKind::Ieee | FloatKind::Double2, _) => with!(ieee::Quad),
            (FloatKind::Brain, _) => with!(ieee::BFloat),
            (FloatKind::X87, _) => with!(ieee::X87DoubleExtended),
        }
    }};
}

pub(super) use with_soft;
