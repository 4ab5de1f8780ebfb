//! Executable memory: written first, then made executable, and never both at once. One mapping holds the code of one
//! conversion, and goes with it.

use memmap2::{Mmap, MmapMut};

/// Machine code that can run.
///
/// **Invariant 1:** the mapping is executable, and holds the code that [`Executable::new`] was given.
pub(crate) struct Executable(Mmap);

impl Executable {
    /// Copies code into executable memory. `None` if the system does not allow that.
    pub(crate) fn new(code: &[u8]) -> Option<Executable> {
        let mut memory = MmapMut::map_anon(code.len()).ok()?;
        memory.copy_from_slice(code);
        let memory = memory.make_exec().ok()?;
        // Processors other than x86 fetch instructions through a cache that does not see these writes.
        #[cfg(not(target_arch = "x86_64"))]
        {
            use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};
            // SAFETY: the mapping is that long, and nothing in it has run yet.
            unsafe { clear_cache(memory.as_ptr().cast(), memory.len()) }.ok()?;
            pipeline_flush_mt().ok()?;
        }
        Some(Executable(memory))
    }

    /// Where the code begins.
    pub(crate) fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }

    /// Bytes of code.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
