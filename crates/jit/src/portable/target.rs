//! Describes this machine to Cranelift.

use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
#[cfg(target_arch = "x86_64")]
use isoform_kernels::Level;
use std::sync::OnceLock;
use target_lexicon::Triple;

/// The generator for this machine, or `None` if it lacks instructions that generated code needs.
pub(crate) fn here() -> Option<&'static OwnedTargetIsa> {
    static HERE: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    HERE.get_or_init(|| {
        let mut flags = settings::builder();
        flags.set("opt_level", "none").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        flags.set("unwind_info", "false").ok()?;
        let mut builder = isa::lookup(Triple::host()).ok()?;
        features(&mut builder)?;
        builder.finish(settings::Flags::new(flags)).ok()
    })
    .as_ref()
}

/// Enables the instructions that this processor has beyond the minimum, as far as its level goes.
#[cfg(target_arch = "x86_64")]
fn features(builder: &mut isa::Builder) -> Option<()> {
    macro_rules! detect {
        ($($feature:tt => $flag:literal),*) => {
            $(if std::is_x86_feature_detected!($feature) { builder.enable($flag).ok()?; })*
        };
    }
    let level = Level::best();
    if level > Level::PORTABLE {
        detect!("sse3" => "has_sse3", "ssse3" => "has_ssse3", "sse4.1" => "has_sse41", "sse4.2" => "has_sse42",
            "popcnt" => "has_popcnt");
    }
    if Level::of("avx2").is_some_and(|avx2| level >= avx2) {
        detect!("avx" => "has_avx", "avx2" => "has_avx2", "bmi1" => "has_bmi1", "bmi2" => "has_bmi2",
            "lzcnt" => "has_lzcnt");
    }
    Some(())
}

/// Generated code needs the vector instructions of a z14.
#[cfg(target_arch = "s390x")]
fn features(_: &mut isa::Builder) -> Option<()> {
    /// A bit of the processor's capabilities as Linux reports them.
    const ENHANCED_VECTORS: libc::c_ulong = 1 << 13;
    // SAFETY: the function only reads what the system has stored for this process.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP) };
    (capabilities & ENHANCED_VECTORS != 0).then_some(())
}

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
fn features(_: &mut isa::Builder) -> Option<()> {
    Some(())
}

/// How this machine permutes 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shuffles {
    /// It cannot.
    None,
    /// With x86's SSSE3.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "of other machines"))]
    Pshufb,
    /// With a table look-up of 16 bytes.
    Swizzle,
}

impl Shuffles {
    pub(crate) fn here() -> Shuffles {
        match () {
            #[cfg(target_arch = "x86_64")]
            () if Level::best() > Level::PORTABLE => Shuffles::Pshufb,
            () if cfg!(any(target_arch = "aarch64", target_arch = "s390x")) => Shuffles::Swizzle,
            () => Shuffles::None,
        }
    }
}
