//! Arrays behind pointers, whose dimensions and blocks depend on the record.

use super::{Output, Run};
use crate::error::{Code, Error, Result};
use crate::format::{MAX_RANK, Machine};
use crate::plan::{Array, Bytes, Count, Extent, Place, Step, Transform, describe};

/// The dimensions of one array of one record.
struct Dims {
    rank: usize,
    src: [usize; MAX_RANK],
    dst: [usize; MAX_RANK],
}

impl<O: Output> Run<'_, O> {
    #[inline(never)]
    pub(super) fn array(&mut self, array: &Array, src: usize, dst: usize) -> Result<()> {
        let machine = self.plan.wire().machine();
        let elements = match array.src {
            Place::Inline(at) => Some(src + at),
            Place::Slot(at) => {
                let offset = machine.read(&self.src[src + at..][..machine.pointer.into()]) as usize;
                (offset != 0).then_some(offset)
            }
        };
        let Some(elements) = elements else { return self.null(array, src, dst) };
        if let (&[extent @ Extent { src: from, dst: Count::Field { .. }, .. }], Place::Slot(slot)) =
            (&*array.dims, array.dst)
        {
            // The most common kind of array, without the work for several dimensions.
            let count = read_count(from, machine, &self.src[src..]);
            self.length(array, extent, count, dst)?;
            let bytes = count.checked_mul(array.dst_size).ok_or_else(|| self.too_large(array))?;
            let block = self.block(bytes, array.align)?;
            self.put_slot(dst + slot, block)?;
            return self.elements(elements, block, count, &array.transform, array.field, &[]);
        }
        let dims = self.dims(array, src, false)?;
        self.lengths(array, &dims, dst)?;
        let (inner, room) = (product(&dims.dst[dims.rank.min(1)..dims.rank])?, product(&dims.dst[..dims.rank])?);
        // A pointer to a single element has no dimensions: it has one element, and room for one.
        let copied = if dims.rank == 0 { 1 } else { dims.src[0].min(dims.dst[0]) * inner };
        let place = match array.dst {
            Place::Inline(at) => dst + at,
            Place::Slot(at) => {
                let bytes = room.checked_mul(array.dst_size).ok_or_else(|| self.too_large(array))?;
                let block = self.block(bytes, array.align)?;
                self.put_slot(dst + at, block)?;
                block
            }
        };
        self.elements(elements, place, copied, &array.transform, array.field, &dims.src[..dims.rank])?;
        self.rest(array, place + copied * array.dst_size, room - copied)
    }

    /// A null pointer: an empty array, or no element at all.
    fn null(&mut self, array: &Array, src: usize, dst: usize) -> Result<()> {
        let mut dims = self.dims(array, src, true)?;
        let rank = dims.rank;
        if !dims.dst[..rank].contains(&0) {
            // Five rows of zero elements must not become five rows of three: beside a null pointer, no length may state
            // that there are elements.
            let lengths =
                dims.dst.iter_mut().zip(&array.dims).filter(|(_, dim)| matches!(dim.dst, Count::Field { .. }));
            lengths.for_each(|(length, _)| *length = 0);
        }
        self.lengths(array, &dims, dst)?;
        match array.dst {
            Place::Slot(at) => self.put_slot(dst + at, 0),
            Place::Inline(at) => {
                let dynamic = array.dims.iter().any(|dim| matches!(dim.src, Count::Field { .. }));
                if !dynamic && !array.lenient {
                    return Err(self.plan.fault(Code::Null, array.field, None, &[]).expected("a value").found("null"));
                }
                self.rest(array, dst + at, product(&dims.dst[..rank])?)
            }
        }
    }

    fn dims(&self, array: &Array, src: usize, null: bool) -> Result<Dims> {
        let machine = self.plan.wire().machine();
        let mut dims = Dims { rank: array.dims.len(), src: [1; MAX_RANK], dst: [1; MAX_RANK] };
        for (axis, &Extent { src: from, dst: to, .. }) in array.dims.iter().enumerate() {
            dims.src[axis] = match from {
                // A null pointer to a fixed array has no elements.
                Count::Fixed(_) if null => 0,
                Count::Fixed(n) => n,
                Count::Field { .. } => read_count(from, machine, &self.src[src..]),
            };
            dims.dst[axis] = match to {
                Count::Fixed(n) => n,
                Count::Field { .. } => dims.src[axis],
            };
            let (came, room) = (dims.src[axis], dims.dst[axis]);
            if null || came == room {
                continue;
            }
            let fault = |code| self.plan.fault(code, array.field, None, &[]).found(came);
            if axis > 0 {
                return Err(fault(Code::Shape).expected(format_args!("{room} elements in dimension {axis}")));
            }
            if came > room && !array.lenient {
                return Err(fault(Code::TooLong).expected(format_args!("at most {room} elements")));
            }
        }
        Ok(dims)
    }

    fn lengths(&mut self, array: &Array, dims: &Dims, dst: usize) -> Result<()> {
        array.dims.iter().zip(dims.dst).try_for_each(|(&extent, length)| self.length(array, extent, length, dst))
    }

    /// Writes a length field of the destination, or compares it with what an array before has written.
    fn length(&mut self, array: &Array, extent: Extent, length: usize, dst: usize) -> Result<()> {
        let machine = self.plan.native().machine();
        let Count::Field { at, size, signed } = extent.dst else { return Ok(()) };
        let place = &mut self.out.bytes()[dst + at..][..size.into()];
        if extent.agree {
            let before = machine.read(place);
            if before != length as u64 {
                let error = self.plan.fault(Code::Lengths, array.field, None, &[]);
                return Err(error.expected(format_args!("{before} elements")).found(length));
            }
            return Ok(());
        }
        let bits = u32::from(size) * 8 - u32::from(signed);
        if bits < 64 && length as u64 >> bits != 0 {
            let error = self.plan.fault(Code::Overflow, array.field, None, &[]).found(length);
            return Err(error.expected(format_args!("a length that fits {size} bytes")));
        }
        machine.write(place, length as u64);
        Ok(())
    }

    /// Fills elements that the source lacks.
    fn rest(&mut self, array: &Array, dst: usize, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let Some(rest) = &array.rest else {
            let error = self.plan.fault(Code::Required, array.field, None, &[]);
            let more = if count == 1 { "1 more element".into() } else { format!("{count} more elements") };
            let words = self.plan.field(array.field).map_or(String::new(), |(_, field)| describe(field));
            let expected = format_args!("{more} for {words}, or a default for what is missing");
            return Err(error.expected(expected));
        };
        if rest.is_empty() {
            let zeros = Step::Fill { dst: 0, bytes: Bytes::Zero(count * array.dst_size) };
            return self.steps(&[zeros], 0, dst);
        }
        let each = Transform::Each { src: 0, dst: array.dst_size, steps: rest.clone() };
        self.elements(0, dst, count, &each, array.field, &[])
    }

    #[cold]
    fn too_large(&self, array: &Array) -> Error {
        self.plan.fault(Code::Size, array.field, None, &[])
    }
}

/// A length that the verifier has found to be neither negative nor larger than its message.
fn read_count(count: Count, machine: Machine, src: &[u8]) -> usize {
    match count {
        Count::Fixed(n) => n,
        Count::Field { at, size, .. } => machine.read(&src[at..][..size.into()]) as usize,
    }
}

fn product(dims: &[usize]) -> Result<usize> {
    dims.iter().try_fold(1usize, |all, &n| all.checked_mul(n)).ok_or_else(|| Error::new(Code::Size))
}
