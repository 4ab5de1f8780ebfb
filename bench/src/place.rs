//! The buffers that contestants work on.
//!
//! Times depend on where buffers lie within their pages, since loads wait for stores that agree with them in the low 12
//! bits of the address; so there are several places. Each holds one pair of buffers, which stays in the fastest cache, or
//! so many that they do not.

use crate::Result;
use isoform_core::{Body, Verifier};
use std::borrow::Borrow;
use std::hint::black_box;

/// Bytes over which buffers rotate: more than a first-level cache holds, less than a second-level one.
pub const ROTATION: usize = 640 << 10;
const PAGE: usize = 4096;

/// Memory for a place.
pub struct Memory {
    bytes: Vec<u8>,
    /// Where in `bytes` the first source and the first destination begin.
    starts: [usize; 2],
    /// From one buffer to the next of its kind.
    stride: usize,
    /// How many pairs of buffers there are.
    pairs: usize,
}

impl Memory {
    /// Memory of the place `index`, for buffers of `size` bytes of which all sources begin with `body`.
    pub fn new(index: usize, size: usize, body: &[u8], rotating: bool) -> Memory {
        let stride = size.next_multiple_of(64);
        let pairs = if rotating { (ROTATION / 2 / stride).max(1) } else { 1 };
        let half = (pairs * stride).next_multiple_of(PAGE) + PAGE;
        let mut bytes = vec![0; 2 * half + PAGE];
        let page = bytes.as_ptr().align_offset(PAGE);
        // Multiples of 16, as bodies and records are, and without a pattern.
        let starts = [page + index * 1168 % PAGE, page + half + (index * 2672 + 16) % PAGE];
        for pair in 0..pairs {
            bytes[starts[0] + pair * stride..][..body.len()].copy_from_slice(body);
        }
        Memory { bytes, starts, stride, pairs }
    }

    /// The place.
    pub fn place(&mut self) -> Place<'_> {
        let (sources, destinations) = self.bytes.split_at_mut(self.starts[1]);
        let sources = sources[self.starts[0]..].chunks_exact(self.stride).take(self.pairs).collect();
        let destinations = destinations.chunks_exact_mut(self.stride).take(self.pairs).collect();
        Place { sources, bodies: Vec::new(), destinations }
    }
}

/// Buffers to run on.
pub struct Place<'a> {
    sources: Vec<&'a [u8]>,
    bodies: Vec<Body<'a>>,
    destinations: Vec<&'a mut [u8]>,
}

impl<'a> Place<'a> {
    /// The same place, whose sources begin with a body of `length` bytes that has been verified.
    ///
    /// # Errors
    /// If the verifier does not let it pass.
    pub fn verified(mut self, verifier: &'a Verifier, length: usize) -> Result<Place<'a>> {
        let bodies = self.sources.iter().map(|source| verifier.verify(&source[..length]));
        self.bodies = bodies.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The same place, whose destinations hold what the sources do.
    pub fn filled(mut self) -> Place<'a> {
        self.bytes(self.sources.len(), |src, dst| dst.copy_from_slice(src));
        self
    }

    /// How many sources and destinations there are.
    pub fn pairs(&self) -> usize {
        self.sources.len()
    }

    /// Runs on one source and destination after the other. Both are equally long.
    #[inline]
    pub fn bytes(&mut self, runs: usize, run: impl FnMut(&[u8], &mut [u8])) {
        rotate(&self.sources, &mut self.destinations, runs, run);
    }

    /// Runs on one verified body and destination after the other.
    #[inline]
    pub fn bodies(&mut self, runs: usize, mut run: impl FnMut(Body<'_>, &mut [u8])) {
        rotate(&self.bodies, &mut self.destinations, runs, |body, dst| run(*body, dst));
    }
}

#[inline]
fn rotate<S: ?Sized, T: Borrow<S>>(
    sources: &[T],
    destinations: &mut [&mut [u8]],
    runs: usize,
    mut run: impl FnMut(&S, &mut [u8]),
) {
    // One loop for both, so that there is one copy of what is run, within it.
    let (sources, destinations) = (black_box(sources), black_box(destinations));
    let pairs = sources.len().min(destinations.len());
    let mut next = 0;
    for _ in 0..runs {
        let (source, destination) = (sources[next].borrow(), &mut *destinations[next]);
        run(source, destination);
        touch(destination);
        next += 1;
        if next == pairs {
            next = 0;
        }
    }
}

/// Makes the compiler believe that someone reads and writes all memory, so that no run can be left out. Costs nothing,
/// while a `black_box` of a slice costs as much as copying 100 bytes.
#[inline(always)]
fn touch(bytes: &mut [u8]) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: there are no instructions in it.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    black_box(bytes);
}
