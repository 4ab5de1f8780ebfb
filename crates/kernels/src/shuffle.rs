//! Moves single bytes, one vector of the destination at a time. Many small fields of a record are moved and reversed at
//! once.

use crate::Level;
use crate::level::Instructions;

/// Bytes that stay together: `length` bytes go from `src` to `dst`, the last one first if `reversed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Their place in the source.
    pub src: usize,
    /// Their place in the destination.
    pub dst: usize,
    /// How many there are.
    pub length: usize,
    /// Whether their order is reversed.
    pub reversed: bool,
}

/// A prepared move of bytes from one record into another.
///
/// It consists of parts. A part loads a vector from the source, orders its bytes, and stores those that belong to the
/// destination. Bytes of the destination that no run covers are unchanged.
///
/// **Invariant 1:** `level` has the instructions that the parts are made for. **2:** every part loads from where a whole
/// vector lies within the first `src` bytes of the source; or, if these are less than a vector, from the first. **3:** the
/// same holds for where it stores, and the first `dst` bytes of the destination; if these are less than a vector, its mask
/// ends there. **4:** `index` has a vector for each part.
#[derive(Clone, Debug)]
pub struct Shuffle {
    level: Level,
    src: usize,
    dst: usize,
    parts: Box<[Part]>,
    /// For each part, the byte for each place, or [`NONE`].
    index: Box<[Line]>,
}

/// A part of fewer bytes, on average, does not pay: moving the numbers one by one is as fast.
const WORTHWHILE: usize = 10;

/// A vector and its places.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its place in the source.
    src: usize,
    /// Its place in the destination.
    dst: usize,
    /// The bytes of it that are stored.
    mask: u64,
}

/// Memory with the alignment of vectors.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u8; 64]);

/// For every shuffle instruction, this index gives the byte 0.
const NONE: u8 = 0x80;

impl Shuffle {
    /// Prepares moves with destinations that do not overlap, for the best level. `None` if they would not be faster:
    /// too few bytes are close together, or this processor has no shuffles.
    ///
    /// ```
    /// use isoform_kernels::{Run, Shuffle};
    /// let halves = [Run { src: 0, dst: 32, length: 32, reversed: false }, Run { src: 32, dst: 0, length: 32, reversed: true }];
    /// if let Some(shuffle) = Shuffle::new(&halves) {
    ///     let came: Vec<u8> = (0..64).collect();
    ///     let mut here = [0; 64];
    ///     shuffle.run(&came, &mut here);
    ///     assert_eq!((here[0], here[31], here[32], here[63]), (63, 32, 0, 31));
    /// }
    /// ```
    pub fn new(runs: &[Run]) -> Option<Shuffle> {
        Shuffle::at(Level::best(), runs)
    }

    /// [`Shuffle::new`], for one level.
    pub fn at(level: Level, runs: &[Run]) -> Option<Shuffle> {
        let vector = vector(level)?;
        let mut bytes: Vec<(usize, usize)> = runs.iter().flat_map(Run::bytes).collect();
        bytes.sort_unstable();
        let src = bytes.iter().map(|&(_, from)| from + 1).max()?;
        let dst = bytes.last()?.0 + 1;
        if vector < 64 && src.min(dst) < vector {
            return None;
        }
        let mut maker = Maker { sizes: (src, dst), vector, parts: Vec::new(), index: Vec::new() };
        let mut left = &bytes[..];
        while !left.is_empty() {
            left = maker.block(left);
        }
        let Maker { parts, index, .. } = maker;
        let lines = index.chunks(64).map(|chunk| {
            let mut line = Line([NONE; 64]);
            line.0[..chunk.len()].copy_from_slice(chunk);
            line
        });
        let pays = bytes.len() >= WORTHWHILE * parts.len();
        pays.then(|| Shuffle { level, src, dst, parts: parts.into(), index: lines.collect() })
    }

    /// Moves the bytes of one record.
    ///
    /// # Panics
    /// If a run is not within `src` or `dst`.
    #[inline]
    pub fn run(&self, src: &[u8], dst: &mut [u8]) {
        let sizes = (src.len(), dst.len());
        self.each(1, (src, sizes.0), (dst, sizes.1));
    }

    /// Moves the bytes of `count` consecutive records, which are this many bytes apart.
    ///
    /// # Panics
    /// If a run is not within its record, or a record is not within `src` or `dst`.
    #[inline]
    pub fn each(&self, count: usize, (src, src_size): (&[u8], usize), (dst, dst_size): (&mut [u8], usize)) {
        let inside = |size: usize, len: usize, need: usize| {
            need <= size && count.checked_mul(size).is_some_and(|all| all <= len)
        };
        assert!(inside(src_size, src.len(), self.src) && inside(dst_size, dst.len(), self.dst), "all bytes are inside");
        let _ = self.level.instructions();
        #[cfg(target_arch = "x86_64")]
        match self.level.instructions() {
            Instructions::Portable => {}
            Instructions::Ssse3 | Instructions::Avx2 => (0..count).for_each(|index| {
                let (src, dst) = (&src[index * src_size..], &mut dst[index * dst_size..]);
                // SAFETY: the level has the instructions (1), and both slices are as long as was just asserted.
                unsafe { x86::ssse3(self, src, dst) };
            }),
            // SAFETY: the same.
            Instructions::Avx512 if count == 1 => unsafe { x86::avx512(self, src, dst) },
            // SAFETY: the same, of each of so many records.
            Instructions::Avx512 => unsafe { x86::avx512_each(self, count, (src, src_size), (dst, dst_size)) },
        }
        #[cfg(target_arch = "aarch64")]
        for index in 0..count {
            let (src, dst) = (&src[index * src_size..], &mut dst[index * dst_size..]);
            match self.level.instructions() {
                Instructions::Portable => {}
                // SAFETY: the level has the instructions (1), and both slices are as long as was just asserted.
                Instructions::Neon => unsafe { arm::neon(self, src, dst) },
            }
        }
    }
}

/// The bytes of a vector. `None` without shuffles.
fn vector(level: Level) -> Option<usize> {
    match level.instructions() {
        Instructions::Portable => None,
        #[cfg(target_arch = "x86_64")]
        Instructions::Ssse3 | Instructions::Avx2 => Some(16),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => Some(64),
        #[cfg(target_arch = "aarch64")]
        Instructions::Neon => Some(16),
    }
}

impl Run {
    /// The source of each byte of the destination.
    fn bytes(&self) -> impl Iterator<Item = (usize, usize)> {
        let Run { src, dst, length, reversed } = *self;
        (0..length).map(move |i| (dst + i, src + if reversed { length - 1 - i } else { i }))
    }
}

/// Builds the parts.
struct Maker {
    /// Bytes of the source and of the destination, as far as they are used.
    sizes: (usize, usize),
    vector: usize,
    parts: Vec<Part>,
    index: Vec<u8>,
}

impl Maker {
    /// Adds parts for those bytes that go to the first vector of the destination. Returns the others.
    fn block<'b>(&mut self, bytes: &'b [(usize, usize)]) -> &'b [(usize, usize)] {
        let vector = self.vector;
        let dst = bytes[0].0.min(self.sizes.1.saturating_sub(vector));
        let (block, others) = bytes.split_at(bytes.partition_point(|(to, _)| to - dst < vector));
        let first = self.parts.len();
        for (done, &(to, from)) in block.iter().enumerate() {
            let known = self.parts[first..].iter().position(|part| (part.src..part.src + vector).contains(&from));
            let part = match known {
                Some(known) => first + known,
                None => self.part(dst, from, &block[done..]),
            };
            let place = to - dst;
            self.index[part * vector + place] = (from - self.parts[part].src) as u8;
            self.parts[part].mask |= 1 << place;
        }
        others
    }

    /// Adds a part that contains `from`. It begins at the first remaining byte before `from` that is near enough.
    fn part(&mut self, dst: usize, from: usize, to_come: &[(usize, usize)]) -> usize {
        let vector = self.vector;
        let near = to_come.iter().map(|&(_, byte)| byte).filter(|&byte| byte <= from && from - byte < vector);
        let src = near.min().unwrap_or(from).min(self.sizes.0.saturating_sub(vector));
        self.parts.push(Part { src, dst, mask: 0 });
        self.index.resize(self.parts.len() * vector, NONE);
        self.parts.len() - 1
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Part, Shuffle};
    use std::arch::x86_64::*;

    /// # Safety
    /// **5.** The processor has SSSE3 and SSE4.1. **6.** `src` and `dst` are at least as long as the shuffle says, which
    /// is at least 16 bytes for this level.
    #[target_feature(enable = "ssse3,sse4.1")]
    pub(super) unsafe fn ssse3(shuffle: &Shuffle, src: &[u8], dst: &mut [u8]) {
        const FULL: u64 = 0xffff;
        let mut index = shuffle.index.as_ptr().cast::<__m128i>();
        for part in &shuffle.parts {
            // SAFETY: 16 bytes are inside the source from there on (2, 6), and as many inside the destination (3, 6);
            // there is an index for each part (4).
            unsafe {
                let bytes = _mm_loadu_si128(src.as_ptr().add(part.src).cast());
                let mut bytes = _mm_shuffle_epi8(bytes, _mm_load_si128(index));
                let place = dst.as_mut_ptr().add(part.dst).cast();
                if part.mask != FULL {
                    bytes = _mm_blendv_epi8(_mm_loadu_si128(place), bytes, stored(part));
                }
                _mm_storeu_si128(place, bytes);
                index = index.add(1);
            }
        }
    }

    /// All bits of each byte that is stored.
    #[inline]
    #[target_feature(enable = "ssse3")]
    fn stored(part: &Part) -> __m128i {
        let each = _mm_set_epi64x(0x0101_0101_0101_0101, 0);
        let bits = _mm_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
        let spread = _mm_shuffle_epi8(_mm_set1_epi16(part.mask as i16), each);
        _mm_cmpeq_epi8(_mm_and_si128(spread, bits), bits)
    }

    /// # Safety
    /// **5.** The processor has AVX-512 F, BW and VBMI. **6.** `src` and `dst` are at least as long as the shuffle says.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn avx512(shuffle: &Shuffle, src: &[u8], dst: &mut [u8]) {
        let loaded = if shuffle.src < 64 { (1 << shuffle.src) - 1 } else { u64::MAX };
        let mut index = shuffle.index.as_ptr().cast::<__m512i>();
        for part in &shuffle.parts {
            // SAFETY: under the one mask are bytes of the source (2, 6), under the other of the destination (3, 6); there
            // is an index for each part (4).
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8(loaded, src.as_ptr().add(part.src).cast());
                let bytes = _mm512_permutexvar_epi8(_mm512_load_si512(index), bytes);
                _mm512_mask_storeu_epi8(dst.as_mut_ptr().add(part.dst).cast(), part.mask, bytes);
                index = index.add(1);
            }
        }
    }

    /// One part of each of several records, then the next: parts do not overlap, and what there is to find out about one
    /// is found out once.
    ///
    /// # Safety
    /// **5.** The processor has AVX-512 F, BW and VBMI. **6.** `src` and `dst` have `count` records of the sizes beside
    /// them, and these are at least as large as the shuffle says.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn avx512_each(
        shuffle: &Shuffle,
        count: usize,
        (src, src_size): (&[u8], usize),
        (dst, dst_size): (&mut [u8], usize),
    ) {
        let loaded = if shuffle.src < 64 { (1 << shuffle.src) - 1 } else { u64::MAX };
        for (&part, index) in shuffle.parts.iter().zip(&shuffle.index) {
            // SAFETY: a line is a vector.
            let index = unsafe { _mm512_load_si512(index.0.as_ptr().cast()) };
            for record in 0..count {
                // SAFETY: under the one mask are bytes of the record in the source (2, 6), under the other of that in the
                // destination (3, 6).
                unsafe {
                    let bytes = _mm512_maskz_loadu_epi8(loaded, src.as_ptr().add(record * src_size + part.src).cast());
                    let bytes = _mm512_permutexvar_epi8(index, bytes);
                    let place = dst.as_mut_ptr().add(record * dst_size + part.dst);
                    _mm512_mask_storeu_epi8(place.cast(), part.mask, bytes);
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Shuffle;
    use std::arch::aarch64::*;

    /// # Safety
    /// **5.** The processor has NEON. **6.** `src` and `dst` are at least as long as the shuffle says, which is at least 16
    /// bytes for this level.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn neon(shuffle: &Shuffle, src: &[u8], dst: &mut [u8]) {
        const FULL: u64 = 0xffff;
        const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        let mut index = shuffle.index.as_ptr().cast::<u8>();
        for part in &shuffle.parts {
            // SAFETY: 16 bytes are inside the source from there on (2, 6), and as many inside the destination (3, 6);
            // there is an index for each part (4), and 16 bytes are read from `BITS`.
            unsafe {
                let bytes = vld1q_u8(src.as_ptr().add(part.src));
                let mut bytes = vqtbl1q_u8(bytes, vld1q_u8(index));
                let place = dst.as_mut_ptr().add(part.dst);
                if part.mask != FULL {
                    let (low, high) = (vdup_n_u8(part.mask as u8), vdup_n_u8((part.mask >> 8) as u8));
                    let stored = vtstq_u8(vcombine_u8(low, high), vld1q_u8(BITS.as_ptr()));
                    bytes = vbslq_u8(stored, bytes, vld1q_u8(place));
                }
                vst1q_u8(place, bytes);
                index = index.add(16);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs whose destinations do not overlap, with the sizes of both records.
    fn runs() -> impl Strategy<Value = (Vec<Run>, usize, usize)> {
        let one =
            (0usize..4, 1usize..40, prop::sample::select(vec![1usize, 2, 4, 8, 16, 3]), any::<bool>(), 0usize..300);
        (prop::collection::vec(one, 1..40), any::<bool>(), 0usize..30).prop_map(|(parts, in_order, tail)| {
            let (mut src, mut dst) = (0, 0);
            let mut runs = Vec::new();
            for (gap, long, short, reversed, elsewhere) in parts {
                let length = if reversed { short } else { long };
                let from = if in_order { src } else { elsewhere };
                runs.push(Run { src: from, dst: dst + gap, length, reversed });
                src = from + length + gap / 2;
                dst += gap + length;
            }
            let src = runs.iter().map(|run| run.src + run.length).max().unwrap_or(0);
            (runs, src + tail, dst + tail)
        })
    }

    proptest! {
        #[test]
        fn every_byte_comes_where_it_belongs((runs, src_size, dst_size) in runs(), count in 1usize..4) {
            let src: Vec<u8> = (0..src_size * count).map(|i| (i * 31 + i / 256) as u8).collect();
            let before: Vec<u8> = (0..dst_size * count).map(|i| (i * 17) as u8 ^ 0x5a).collect();
            let mut expected = before.clone();
            for record in 0..count {
                for (to, from) in runs.iter().flat_map(Run::bytes) {
                    expected[record * dst_size + to] = src[record * src_size + from];
                }
            }
            for level in Level::all() {
                if let Some(shuffle) = Shuffle::at(level, &runs) {
                    let mut dst = before.clone();
                    shuffle.each(count, (&src, src_size), (&mut dst, dst_size));
                    prop_assert_eq!(&dst, &expected, "{}", level);
                }
            }
        }
    }

    #[test]
    fn numbers_side_by_side_are_worth_a_shuffle() {
        let numbers: Vec<Run> = (0..20).map(|i| Run { src: 8 * i, dst: 8 * i, length: 8, reversed: true }).collect();
        for level in Level::all().into_iter().filter(|&level| vector(level).is_some()) {
            let shuffle = Shuffle::at(level, &numbers).expect("neighbours");
            assert_eq!(shuffle.parts.len(), 160usize.div_ceil(vector(level).unwrap()));
        }
        let scattered: Vec<Run> =
            (0..20).map(|i| Run { src: 800 * i, dst: 8 * i, length: 8, reversed: true }).collect();
        assert!(Level::all().into_iter().all(
            |level| Shuffle::at(level, &scattered[..4]).is_none() || level.instructions() != Instructions::Portable
        ));
    }

    #[test]
    fn records_must_be_there() {
        let numbers: Vec<Run> = (0..20).map(|i| Run { src: 8 * i, dst: 8 * i, length: 8, reversed: true }).collect();
        for shuffle in Level::all().into_iter().filter_map(|level| Shuffle::at(level, &numbers)) {
            for (src, dst) in [(200, 159), (159, 200)] {
                let run = || shuffle.run(&vec![0; src], &mut vec![0; dst]);
                assert!(std::panic::catch_unwind(run).is_err(), "{}", shuffle.level);
            }
        }
    }
}
