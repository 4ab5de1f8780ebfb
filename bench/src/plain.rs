//! A plain interpreter, as a baseline: a table with one entry for each field, walked for every record. No runs of fields
//! are merged and no vector instructions asked for; what a loop over an array becomes is left to the compiler.
//!
//! It is for verified bodies of the pairs that the [cases](crate::Case) give, and shares nothing with plans.

use isoform_core::{Dimension, Element, Field, Format, Machine, Structure};

/// A table for one pair of formats.
pub struct Plain {
    entries: Vec<Entry>,
    wire: Machine,
    native: Machine,
    size: usize,
}

/// What becomes of one field.
struct Entry {
    from: usize,
    to: usize,
    /// Elements of a fixed array, or of each element of a dynamic dimension.
    count: usize,
    /// Where the number of elements stands in the sender's record, and its size.
    length: Option<(usize, usize)>,
    element: Kind,
    /// Bytes of an element.
    sizes: [usize; 2],
    align: usize,
}

enum Kind {
    Number(Class),
    String,
    Record(Vec<Entry>),
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

/// A number does not fit.
#[derive(Debug)]
pub struct Misfit;

impl Plain {
    /// Makes the table.
    ///
    /// # Errors
    /// If the pair is not one that a case gives.
    pub fn new(wire: &Format, native: &Format) -> crate::Result<Plain> {
        let machines = [wire.machine(), native.machine()];
        let entries = entries(wire.structure(), native.structure(), machines)?;
        Ok(Plain { entries, wire: machines[0], native: machines[1], size: native.size() })
    }

    /// Converts a body. Gaps of the result are left as they are.
    ///
    /// # Errors
    /// If a number does not fit.
    ///
    /// # Panics
    /// If there is too little room.
    pub fn run(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, Misfit> {
        let mut run = Run { plain: self, src, dst, end: self.size };
        run.record(&self.entries, 0, 0)?;
        Ok(run.end)
    }
}

fn entries(wire: &Structure, native: &Structure, machines: [Machine; 2]) -> crate::Result<Vec<Entry>> {
    let entry = |native: &Field| {
        let field = wire.field(&native.name).ok_or("a field that is not sent")?;
        let sizes = [field.element_size(machines[0].pointer), native.element_size(machines[1].pointer)];
        let element = match (&field.element, &native.element) {
            (Element::Structure(wire), Element::Structure(native)) => Kind::Record(entries(wire, native, machines)?),
            (Element::String, _) => Kind::String,
            (Element::Float { .. }, _) => Kind::Number(Class::Float),
            (Element::Integer { signed: true, .. }, _) => Kind::Number(Class::Signed),
            _ => Kind::Number(Class::Unsigned),
        };
        let mut entry = Entry {
            from: field.offset,
            to: native.offset,
            count: 1,
            length: None,
            element,
            sizes,
            align: native.element.block_alignment(),
        };
        for dim in &field.dims {
            match *dim {
                Dimension::Fixed(count) => entry.count *= count,
                Dimension::Field(index) => {
                    let length = &wire.fields()[index];
                    entry.length = Some((length.offset, length.element_size(machines[0].pointer)));
                }
            }
        }
        Ok(entry)
    };
    native.fields().iter().map(entry).collect()
}

struct Run<'a> {
    plain: &'a Plain,
    src: &'a [u8],
    dst: &'a mut [u8],
    /// Where the next block goes.
    end: usize,
}

impl Run<'_> {
    fn record(&mut self, entries: &[Entry], from: usize, to: usize) -> Result<(), Misfit> {
        entries.iter().try_for_each(|entry| self.field(entry, from, to))
    }

    fn field(&mut self, entry: &Entry, base: usize, to: usize) -> Result<(), Misfit> {
        let (mut from, mut to, mut count) = (base + entry.from, to + entry.to, entry.count);
        if let Some((at, size)) = entry.length {
            count *= self.plain.wire.read(&self.src[base + at..][..size]) as usize;
            let block = self.block(to, entry.align, count * entry.sizes[1]);
            (from, to) = (self.slot(from), block);
        }
        match &entry.element {
            Kind::Number(class) => {
                let [src, dst] = entry.sizes.map(|size| size * count);
                let numbers = Numbers { class: *class, machines: [self.plain.wire, self.plain.native] };
                numbers.convert(entry.sizes, &self.src[from..][..src], &mut self.dst[to..][..dst])
            }
            Kind::String => {
                let start = self.slot(from);
                let length = self.src[start..].iter().position(|&byte| byte == 0).map_or(0, |length| length + 1);
                let block = self.block(to, entry.align, length);
                self.dst[block..][..length].copy_from_slice(&self.src[start..][..length]);
                Ok(())
            }
            Kind::Record(inner) => {
                (0..count).try_for_each(|i| self.record(inner, from + i * entry.sizes[0], to + i * entry.sizes[1]))
            }
        }
    }

    /// The offset in a slot of the sender's.
    fn slot(&self, at: usize) -> usize {
        self.plain.wire.read(&self.src[at..][..self.plain.wire.pointer.into()]) as usize
    }

    /// A new block of the receiver's, whose offset is written to a slot.
    fn block(&mut self, slot: usize, align: usize, length: usize) -> usize {
        let start = self.end.next_multiple_of(align);
        self.end = start + length;
        let native = self.plain.native;
        native.write(&mut self.dst[slot..][..native.pointer.into()], start as u64);
        start
    }
}

/// Numbers of one class.
struct Numbers {
    class: Class,
    machines: [Machine; 2],
}

impl Numbers {
    fn convert(&self, sizes: [usize; 2], src: &[u8], dst: &mut [u8]) -> Result<(), Misfit> {
        match sizes {
            [a, b] if a == b && (a == 1 || self.machines[0].order == self.machines[1].order) => {
                dst.copy_from_slice(src);
                Ok(())
            }
            [2, 2] => each(src, dst, |[a, b]: [u8; 2]| Ok([b, a])),
            [4, 4] => each(src, dst, |bytes: [u8; 4]| Ok(u32::from_le_bytes(bytes).to_be_bytes())),
            [8, 8] => each(src, dst, |bytes: [u8; 8]| Ok(u64::from_le_bytes(bytes).to_be_bytes())),
            [4, 8] => self.resize::<4, 8>(src, dst),
            [8, 4] => self.resize::<8, 4>(src, dst),
            _ => unreachable!("no case has other sizes"),
        }
    }

    fn resize<const A: usize, const B: usize>(&self, src: &[u8], dst: &mut [u8]) -> Result<(), Misfit> {
        let [wire, native] = self.machines;
        let resized = |bytes: [u8; A], convert: fn(u64) -> Result<u64, Misfit>| {
            let mut result = [0; B];
            native.write(&mut result, convert(wire.read(&bytes))? & (u64::MAX >> (64 - 8 * B)));
            Ok(result)
        };
        match (self.class, A < B) {
            (Class::Float, true) => each(src, dst, |bytes| resized(bytes, |bits| Ok(widened(bits)))),
            (Class::Float, false) => each(src, dst, |bytes| resized(bytes, narrowed)),
            (Class::Signed, true) => each(src, dst, |bytes| resized(bytes, |bits| Ok(bits as i32 as u64))),
            (Class::Signed, false) => each(src, dst, |bytes| {
                resized(bytes, |bits| if bits as i32 as u64 == bits { Ok(bits) } else { Err(Misfit) })
            }),
            (Class::Unsigned, true) => each(src, dst, |bytes| resized(bytes, Ok)),
            (Class::Unsigned, false) => {
                each(src, dst, |bytes| resized(bytes, |bits| if bits >> 32 == 0 { Ok(bits) } else { Err(Misfit) }))
            }
        }
    }
}

fn widened(bits: u64) -> u64 {
    f64::from(f32::from_bits(bits as u32)).to_bits()
}

fn narrowed(bits: u64) -> Result<u64, Misfit> {
    let value = f64::from_bits(bits);
    let narrow = value as f32;
    let misfit = narrow.is_infinite() && value.is_finite() || narrow == 0.0 && value != 0.0;
    if misfit { Err(Misfit) } else { Ok(narrow.to_bits().into()) }
}

#[inline]
fn each<const A: usize, const B: usize>(
    src: &[u8],
    dst: &mut [u8],
    convert: impl Fn([u8; A]) -> Result<[u8; B], Misfit>,
) -> Result<(), Misfit> {
    for (src, dst) in src.as_chunks().0.iter().zip(dst.as_chunks_mut().0) {
        *dst = convert(*src)?;
    }
    Ok(())
}
