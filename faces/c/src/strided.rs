//! Arrays whose elements are not contiguous. Section "Strided arrays" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, Out, close, given, list, list_mut, open, put, record, text};
use isoform::core::scalar::{read_bits, read_signed};
use isoform::core::{Dimension, Element, Field, Structure};
use isoform::{Aligned, Code, Error, Machine, Result};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::ops::Range;
use std::{ptr, slice};

/// The most dimensions of an array, as in the header.
const RANK: usize = 8;

/// `iso_scratch`
#[derive(Default)]
pub struct Scratch {
    record: Aligned,
    elements: isoform::Scratch,
    /// The addresses of the record, and of its elements, that were made last.
    lent: Vec<Range<usize>>,
}

/// `iso_strided`
#[repr(C)]
pub struct Strided {
    field: *const c_char,
    first: *mut c_void,
    size: usize,
    rank: usize,
    dims: [usize; RANK],
    strides: [isize; RANK],
}

/// An array field of a record: its structure, and where that begins in the record.
struct Place<'f> {
    structure: &'f Structure,
    base: usize,
    field: &'f Field,
}

impl<'f> Place<'f> {
    /// The field of an array, which must have its element size and its rank.
    ///
    /// # Safety
    /// (1) of the crate, for its text.
    unsafe fn of(format: &'f isoform::Format, array: &Strided) -> Result<Place<'f>> {
        if format.machine() != Machine::NATIVE {
            return Err(Error::new(Code::WrongType).at(format.name()).expected("a format of this machine"));
        }
        // SAFETY: promised.
        let path = unsafe { text(array.field, "name of a field")? };
        let place = Place::find(format.structure(), path)?;
        let Place { structure, field, .. } = &place;
        let size = field.element_size(structure.machine().pointer);
        if field.dims.is_empty() || array.rank != field.dims.len() {
            let expected = format_args!("{} dimensions", field.dims.len());
            return Err(Error::new(Code::Shape).at(path).expected(expected).found(array.rank));
        }
        if array.size != size {
            let expected = format_args!("elements of {size} bytes, {}", field.element);
            return Err(Error::new(Code::WrongType).at(path).expected(expected).found(array.size));
        }
        if array.first.is_null() && !array.dims().contains(&0) {
            return Err(Error::new(Code::WrongType).at(path).expected("a pointer").found("NULL"));
        }
        Ok(place)
    }

    fn find(record: &'f Structure, path: &str) -> Result<Place<'f>> {
        let (mut structure, mut base, mut rest) = (record, 0, path);
        loop {
            let (name, inner) = rest.split_once('.').map_or((rest, None), |(name, rest)| (name, Some(rest)));
            let none = || Error::new(Code::NoSuchField).at(path);
            let field = structure.field(name).ok_or_else(none)?;
            match (inner, &field.element) {
                (None, _) => return Ok(Place { structure, base, field }),
                (Some(inner), Element::Structure(within)) if !field.indirect && field.dims.is_empty() => {
                    (structure, base, rest) = (within, base + field.offset, inner);
                }
                _ => return Err(none()),
            }
        }
    }

    /// The bytes of one of the structure's fields in a record.
    fn range(&self, field: &Field) -> std::ops::Range<usize> {
        let start = self.base + field.offset;
        start..start + field.extent(self.structure.machine().pointer).unwrap_or(0)
    }

    /// The dimensions of the array in a record.
    fn dims(&self, record: &[u8]) -> Result<Vec<usize>> {
        let length = |dim: &Dimension| match *dim {
            Dimension::Fixed(length) => Ok(length),
            Dimension::Field(index) => {
                let field = &self.structure.fields()[index];
                let (order, bytes) = (self.structure.machine().order, &record[self.range(field)]);
                let length = match field.element {
                    Element::Integer { signed: true, .. } => read_signed(order, bytes),
                    _ => read_bits(order, bytes) as i128,
                };
                let fits = (0..=isize::MAX as i128).contains(&length);
                // As an encoder refuses it.
                let error = || Error::new(Code::BadRecord).at(&*self.field.name).expected("a valid length");
                fits.then_some(length as usize).ok_or_else(|| error().found(length))
            }
        };
        self.field.dims.iter().map(length).collect()
    }

    /// Refuses dimensions that the field cannot have: the fixed ones must be equal.
    fn admit(&self, dims: &[usize]) -> Result<()> {
        let fits = |(dim, has): (&Dimension, &usize)| match dim {
            Dimension::Fixed(length) => length == has,
            Dimension::Field(_) => true,
        };
        match self.field.dims.iter().zip(dims).all(fits) {
            true => Ok(()),
            false => {
                let text = |dim: &Dimension| match dim {
                    Dimension::Fixed(length) => length.to_string(),
                    Dimension::Field(index) => self.structure.fields()[*index].name.to_string(),
                };
                let fixed: Vec<String> = self.field.dims.iter().map(text).collect();
                Err(Error::new(Code::Shape)
                    .at(&*self.field.name)
                    .expected(fixed.join(" x "))
                    .found(format_args!("{dims:?}")))
            }
        }
    }
}

impl Strided {
    fn dims(&self) -> &[usize] {
        &self.dims[..self.rank.min(RANK)]
    }

    fn strides(&self) -> &[isize] {
        &self.strides[..self.rank.min(RANK)]
    }

    /// The addresses of its elements. No dimension is 0.
    fn span(&self) -> Range<i128> {
        let first = self.first.addr() as i128;
        let last = |(&dim, &stride): (&usize, &isize)| (dim as i128 - 1) * stride as i128;
        let reach = self.dims().iter().zip(self.strides()).map(last);
        reach.fold(first..first.saturating_add(self.size as i128), |span, reach| {
            span.start.saturating_add(reach.min(0))..span.end.saturating_add(reach.max(0))
        })
    }
}

impl Scratch {
    /// The field of an array that can be gathered: one whose elements this call does not replace.
    ///
    /// # Safety
    /// (1) of the crate, for its text.
    unsafe fn admit<'f>(&self, format: &'f isoform::Format, array: &Strided) -> Result<Place<'f>> {
        // SAFETY: promised.
        let place = unsafe { Place::of(format, array)? };
        place.admit(array.dims())?;
        let overlaps = |span: Range<i128>| {
            self.lent.iter().any(|lent| span.start < lent.end as i128 && (lent.start as i128) < span.end)
        };
        if !array.dims().contains(&0) && overlaps(array.span()) {
            let error = Error::new(Code::WrongType).at(&*place.field.name);
            return Err(error.expected("elements outside the scratch").found("what it gathered before"));
        }
        Ok(place)
    }

    /// A copy of a record, in which these arrays are contiguous, and the length fields are theirs.
    ///
    /// # Safety
    /// (1) of the crate: `from` is a record of the format, and the arrays are as the header says.
    unsafe fn gather(&mut self, format: &isoform::Format, from: *const u8, arrays: &[Strided]) -> Result<*const u8> {
        // SAFETY: promised.
        let admit = |array| unsafe { self.admit(format, array) };
        let places = arrays.iter().map(admit).collect::<Result<Vec<_>>>()?;
        let Scratch { record, elements, lent } = self;
        // SAFETY: promised. Whatever C has left in it is for this process bytes of some value.
        *record = Aligned::from(unsafe { slice::from_raw_parts(from, format.size()) });
        elements.clear();
        lent.clear();
        lent.push(addresses(record));
        let machine = format.machine();
        let (mut lengths, mut given) = (HashMap::new(), Vec::new());
        for (array, place) in arrays.iter().zip(places) {
            // SAFETY: promised: such elements are there.
            let gathered = unsafe {
                elements.gather_raw(array.first.cast_const().cast(), array.size, array.dims(), array.strides())
            };
            let gathered = gathered.map_err(|error| error.at(&*place.field.name))?;
            lent.push(addresses(gathered));
            let range = place.range(place.field);
            given.push(range.start);
            match place.field.indirect {
                true => machine.write(&mut record[range], gathered.as_ptr().expose_provenance() as u64),
                // SAFETY: there is room for the elements, whose number is fixed. They were copied from memory of C.
                false => unsafe {
                    ptr::copy_nonoverlapping(gathered.as_ptr().cast(), record[range].as_mut_ptr(), gathered.len());
                },
            }
            for (dim, &length) in place.field.dims.iter().zip(array.dims()) {
                if let Dimension::Field(index) = *dim {
                    let field = &place.structure.fields()[index];
                    let start = place.range(field).start;
                    let before = lengths.entry(start).or_insert((length, place.base, index, place.structure)).0;
                    if before != length {
                        let error = Error::new(Code::Lengths).at(&*place.field.name);
                        return Err(error.expected(before).found(length));
                    }
                }
            }
        }
        for (length, base, index, structure) in lengths.into_values() {
            let place = Place { structure, base, field: &structure.fields()[index] };
            let (range, name) = (place.range(place.field), &*place.field.name);
            let has = machine.read(&record[range.clone()]);
            for other in structure.fields() {
                let uses = other.dims.contains(&Dimension::Field(index));
                if uses && has != length as u64 && !given.contains(&place.range(other).start) {
                    return Err(Error::new(Code::Lengths).at(&*other.name).expected(length).found(has));
                }
            }
            machine.write(&mut record[range.clone()], length as u64);
            let signed = matches!(place.field.element, Element::Integer { signed: true, .. });
            let bits = 8 * range.len() as u32 - u32::from(signed);
            if bits < u64::BITS && length as u64 >> bits != 0 {
                return Err(Error::new(Code::Overflow).at(name).expected(&place.field.element).found(length));
            }
        }
        Ok(record.as_ptr())
    }
}

fn addresses<T>(memory: &[T]) -> Range<usize> {
    let Range { start, end } = memory.as_ptr_range();
    start.addr()..end.addr()
}

/// Copies an array of a record to strided memory, and stores its dimensions.
///
/// # Safety
/// (1) of the crate: `from` is a record of the format, and the array is as the header says.
unsafe fn scatter(format: &isoform::Format, from: *const u8, array: &mut Strided) -> Result<()> {
    // SAFETY: promised.
    let (place, record) = unsafe { (Place::of(format, array)?, slice::from_raw_parts(from, format.size())) };
    let (name, range, dims) = (&*place.field.name, place.range(place.field), place.dims(record)?);
    place.admit(array.dims())?;
    if dims.iter().zip(array.dims()).any(|(came, room)| came > room) {
        let error = Error::new(Code::TooLong).at(name);
        return Err(error.expected(format_args!("at most {:?}", array.dims())).found(format_args!("{dims:?}")));
    }
    let source: *const u8 = match place.field.indirect {
        true => ptr::with_exposed_provenance(format.machine().read(&record[range]) as usize),
        false => record[range].as_ptr(),
    };
    if !dims.contains(&0) {
        if source.is_null() {
            return Err(Error::new(Code::Null).at(name));
        }
        // SAFETY: the record has so many elements, and the array has room for them.
        unsafe { spread(source, array.first.cast(), array.size, &dims, array.strides()) };
    }
    array.dims[..dims.len()].copy_from_slice(&dims);
    Ok(())
}

/// Copies contiguous elements to strided ones, and returns the end of the former.
///
/// # Safety
/// There are as many elements at `from`, and so many places at `to`, as the dimensions say.
unsafe fn spread(from: *const u8, to: *mut u8, size: usize, dims: &[usize], strides: &[isize]) -> *const u8 {
    let ([count, dims @ ..], [stride, strides @ ..]) = (dims, strides) else {
        // SAFETY: promised.
        return unsafe {
            ptr::copy_nonoverlapping(from, to, size);
            from.add(size)
        };
    };
    // SAFETY: promised, of each part of it.
    (0..*count as isize)
        .fold(from, |from, i| unsafe { spread(from, to.wrapping_offset(i * stride), size, dims, strides) })
}

/// `iso_scratch_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_scratch_open(scratch: Opened<'_, Scratch>) -> Status {
    call(|| open(scratch, "scratch", || Ok(Scratch::default())))
}

/// `iso_scratch_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_scratch_close(scratch: Held<'_, Scratch>) {
    answer((), || close(scratch));
}

/// `iso_gather`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_gather(
    scratch: Option<&mut Scratch>,
    format: Option<&Format>,
    data: *const c_void,
    arrays: *const Strided,
    count: usize,
    gathered: Out<'_, *const c_void>,
) -> Status {
    call(|| {
        let place = given(gathered, "gathered")?;
        place.write(ptr::null());
        let (scratch, format) = (given(scratch, "scratch")?, &given(format, "format")?.format);
        // SAFETY: (1) of the crate.
        let made = unsafe { scratch.gather(format, record(data, "record")?, list(arrays, count, "arrays")?)? };
        put(Some(place), "gathered", made.cast())
    })
}

/// `iso_scatter`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_scatter(
    format: Option<&Format>,
    data: *const c_void,
    arrays: *mut Strided,
    count: usize,
) -> Status {
    call(|| {
        let (format, from) = (&given(format, "format")?.format, record(data, "record")?);
        // SAFETY: (1) of the crate.
        let arrays = unsafe { list_mut(arrays, count, "arrays")? };
        // SAFETY: as above.
        arrays.iter_mut().try_for_each(|array| unsafe { scatter(format, from, array) })
    })
}
