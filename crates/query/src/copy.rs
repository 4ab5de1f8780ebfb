//! The bodies of results whose machine is that of the records: what is taken is copied as bytes, arrays in one piece. Other
//! results become trees of values first: see `outcome`.

use crate::eval::Scalar;
use crate::tree::Step;
use isoform_core::view::{Array, Item};
use isoform_core::{Code, Dimension, Element, Error, Field, Format, Limits, Machine, Result, Structure, View};

/// A body that is being made. New memory in it is zeros.
pub(crate) struct Writer<'f> {
    format: &'f Format,
    machine: Machine,
    bytes: &'f mut Vec<u8>,
    /// The most bytes that it may have.
    most: usize,
}

/// What a path leads to, as bytes in a body.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A null pointer.
    Null,
    /// One element.
    One(&'a Element, &'a [u8], &'a [u8]),
    /// An array, in the bytes of a body.
    Many(Array<'a>, &'a [u8]),
}

/// Whether values of a field can be copied into another one of the same machine: they have the same parts, in the same order, if not
/// at the same places. Numbers around which there are bytes without meaning cannot.
pub(crate) fn is_copied(from: &Element, to: &Element) -> bool {
    match (from, to) {
        (Element::Structure(from), Element::Structure(to)) => {
            let is_like = |(from, to): (&Field, &Field)| {
                (&from.name, &from.dims, from.indirect) == (&to.name, &to.dims, to.indirect)
                    && is_copied(&from.element, &to.element)
            };
            from.fields().len() == to.fields().len() && from.fields().iter().zip(to.fields()).all(is_like)
        }
        _ => from == to && !from.has_gaps(),
    }
}

/// Whether elements are the same bytes in both.
fn is_plain(from: &Element, to: &Element) -> bool {
    match (from, to) {
        // Without gaps, the same fields in the same order are at the same places.
        (Element::Structure(from), Element::Structure(to)) => {
            !from.has_slots() && !from.has_gaps() && !to.has_gaps() && from.size() == to.size()
        }
        (Element::String, _) => false,
        _ => true,
    }
}

/// Whether elements are copied all together.
pub(crate) fn is_block(element: &Element) -> bool {
    is_plain(element, element)
}

impl<'a> Source<'a> {
    /// What a field of a record has.
    pub(crate) fn field(view: View<'a>, name: &str) -> Option<Source<'a>> {
        let field = view.structure().field(name)?;
        let machine = view.structure().machine();
        let (size, place) = (field.element_size(machine.pointer), &view.bytes()[field.offset..]);
        // Most fields are single numbers, which need not be looked for twice.
        if field.dims.is_empty() && !field.indirect && field.element != Element::String {
            return Some(Source::One(&field.element, &place[..size], view.body()));
        }
        Some(match view.field(name).ok()? {
            Item::Array(array) => Source::Many(array, view.body()),
            Item::Null => Source::Null,
            _ => {
                let start = if field.indirect { &view.body()[slot(machine, place)..] } else { place };
                Source::One(&field.element, &start[..size], view.body())
            }
        })
    }

    /// An element of an array, or an array of the further dimensions.
    pub(crate) fn index(array: Array<'a>, body: &'a [u8], index: usize) -> Option<Source<'a>> {
        Some(match array.get(index)? {
            Item::Array(inner) => Source::Many(inner, body),
            _ => {
                let size = array.bytes().len() / array.len();
                Source::One(array.element_type(), &array.bytes()[index * size..][..size], body)
            }
        })
    }
}

impl<'f> Writer<'f> {
    /// A body of at most so many bytes, in which all values are absent yet, as in this one.
    pub(crate) fn new(format: &'f Format, absent: &[u8], bytes: &'f mut Vec<u8>, most: usize) -> Result<Writer<'f>> {
        bytes.clear();
        let mut writer = Writer { format, machine: format.machine(), bytes, most };
        writer.block(1, absent.len())?;
        writer.bytes.copy_from_slice(absent);
        Ok(writer)
    }

    fn at(&self, index: usize) -> &'f Field {
        &self.format.structure().fields()[index]
    }

    /// A field gets these bytes of one element.
    pub(crate) fn bytes(&mut self, index: usize, bytes: &[u8]) -> Result<()> {
        let at = self.place(self.at(index), 1)?;
        self.bytes[at..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// A field gets what a path leads to, of which slices may take a part.
    pub(crate) fn take(&mut self, index: usize, source: Source<'_>, slices: &[Step]) -> Result<()> {
        let field = self.at(index);
        match source {
            Source::Null => Ok(()),
            Source::One(element, bytes, body) => {
                let place = self.place(field, 1)?;
                self.elements(element, &field.element, 1, bytes, body, place)
            }
            Source::Many(array, body) => {
                let mut dims = Vec::with_capacity(field.dims.len());
                shape(array.dims(), slices, &mut dims);
                let count = self.dimensions(field, &dims);
                if count == 0 {
                    return Ok(());
                }
                let place = self.place(field, count)?;
                let mut to = Target { field, at: place };
                self.sliced(array, body, slices, &mut to)
            }
        }
    }

    /// The elements that slices take of an array, one after another.
    fn sliced(&mut self, array: Array<'_>, body: &[u8], slices: &[Step], to: &mut Target<'_>) -> Result<()> {
        let Some((step, rest)) = slices.split_first() else {
            return self.run(array.element_type(), array.bytes(), body, to);
        };
        let size = array.bytes().len().checked_div(array.len()).unwrap_or(0);
        match step {
            // Neighbours are copied together.
            Step::Slice(slice) if rest.is_empty() && slice.step == 1 => {
                let (from, count) = (slice.from.min(array.len()), slice.of(array.len()).len());
                self.run(array.element_type(), &array.bytes()[from * size..][..count * size], body, to)
            }
            Step::Slice(slice) => slice.of(array.len()).try_for_each(|at| self.inner(array, at, body, rest, to)),
            Step::Index(at) => self.inner(array, *at, body, rest, to),
            Step::Field(_) => Err(unchecked()),
        }
    }

    fn inner(&mut self, array: Array<'_>, at: usize, body: &[u8], rest: &[Step], to: &mut Target<'_>) -> Result<()> {
        match Source::index(array, body, at) {
            Some(Source::Many(inner, body)) => self.sliced(inner, body, rest, to),
            Some(Source::One(element, bytes, body)) => self.run(element, bytes, body, to),
            Some(Source::Null) | None => Err(unchecked()),
        }
    }

    /// The next elements of an array.
    fn run(&mut self, from: &Element, bytes: &[u8], body: &[u8], to: &mut Target<'_>) -> Result<()> {
        let pointer = self.machine.pointer;
        let count = bytes.len() / from.size(pointer).max(1);
        self.elements(from, &to.field.element, count, bytes, body, to.at)?;
        to.at += count * to.field.element_size(pointer);
        Ok(())
    }

    /// Copies elements. Their blocks follow in their order.
    fn elements(
        &mut self,
        from: &Element,
        to: &Element,
        count: usize,
        bytes: &[u8],
        body: &[u8],
        at: usize,
    ) -> Result<()> {
        let (size, width) = (from.size(self.machine.pointer), to.size(self.machine.pointer));
        if is_plain(from, to) {
            self.bytes[at..][..count * size].copy_from_slice(&bytes[..count * size]);
            return Ok(());
        }
        for (number, bytes) in bytes.chunks_exact(size).take(count).enumerate() {
            let at = at + number * width;
            match (from, to) {
                (Element::Structure(from), Element::Structure(to)) => self.record(from, to, bytes, body, at)?,
                _ => match slot(self.machine, bytes) {
                    0 => {}
                    block => {
                        let text = &body[block..];
                        self.string(&text[..memchr::memchr(0, text).unwrap_or(text.len())], at)?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Copies a nested record, field by field.
    fn record(&mut self, from: &Structure, to: &Structure, bytes: &[u8], body: &[u8], at: usize) -> Result<()> {
        for (source, field) in from.fields().iter().zip(to.fields()) {
            let dim = |dim: &Dimension| match *dim {
                Dimension::Fixed(count) => count,
                Dimension::Field(index) => length(from, index, bytes),
            };
            let place = &bytes[source.offset..];
            let start = match source.indirect.then(|| slot(self.machine, place)) {
                None => place,
                Some(0) => continue,
                Some(block) => &body[block..],
            };
            let count = source.dims.iter().map(dim).product();
            if count == 0 {
                continue;
            }
            let at = self.place_at(field, count, at + field.offset)?;
            self.elements(&source.element, &field.element, count, start, body, at)?;
        }
        Ok(())
    }

    /// Where so many elements of a field go: in the record, or in a block of their own.
    fn place(&mut self, field: &Field, count: usize) -> Result<usize> {
        self.place_at(field, count, field.offset)
    }

    fn place_at(&mut self, field: &Field, count: usize, at: usize) -> Result<usize> {
        if !field.indirect {
            return Ok(at);
        }
        let length = count.saturating_mul(field.element_size(self.machine.pointer));
        let block = self.block(field.element.block_alignment(), length)?;
        self.slot(at, block)?;
        Ok(block)
    }

    /// The lengths of an array, in their fields, unless it has no elements. Returns how many it has.
    fn dimensions(&mut self, field: &Field, dims: &[usize]) -> usize {
        let count = dims.iter().product();
        for (dim, length) in field.dims.iter().zip(dims).filter(|_| count > 0) {
            if let Dimension::Field(index) = *dim {
                let by = self.at(index);
                let size = by.element_size(self.machine.pointer);
                self.machine.write(&mut self.bytes[by.offset..][..size], *length as u64);
            }
        }
        count
    }

    /// A field gets a computed value.
    pub(crate) fn one(&mut self, index: usize, value: Scalar<'_>) -> Result<()> {
        let field = self.at(index);
        let at = self.place(field, 1)?;
        self.computed(&field.element, value, at)
    }

    /// A field gets a computed array.
    pub(crate) fn many<'a>(&mut self, index: usize, values: impl ExactSizeIterator<Item = Scalar<'a>>) -> Result<()> {
        let field = self.at(index);
        let count = self.dimensions(field, &[values.len()]);
        if count == 0 {
            return Ok(());
        }
        let (place, size) = (self.place(field, count)?, field.element_size(self.machine.pointer));
        // A fixed array has as many elements as the checker has promised.
        let most = field.fixed_count().unwrap_or(count);
        let mut values = values.take(most).enumerate();
        values.try_for_each(|(number, value)| self.computed(&field.element, value, place + number * size))
    }

    /// A computed value, which is a number of 8 bytes, a boolean of 1, or a text.
    fn computed(&mut self, element: &Element, value: Scalar<'_>, at: usize) -> Result<()> {
        let bits = match (value, element) {
            (Scalar::Absent, _) => return Ok(()),
            (Scalar::Text(text), _) => return self.string(text, at),
            (Scalar::Truth(truth), _) => truth.into(),
            (Scalar::Integer(number), Element::Float { .. }) => (number as f64).to_bits(),
            (Scalar::Integer(number), _) => number as u64,
            (Scalar::Float(number), _) => number.to_bits(),
        };
        let size = element.size(self.machine.pointer);
        self.machine.write(&mut self.bytes[at..][..size], bits);
        Ok(())
    }

    /// A text, with the NUL behind it.
    fn string(&mut self, text: &[u8], at: usize) -> Result<()> {
        let block = self.block(8, text.len().saturating_add(1))?;
        self.slot(at, block)?;
        self.bytes[block..][..text.len()].copy_from_slice(text);
        Ok(())
    }

    /// Room for a block at the end of the body.
    fn block(&mut self, align: usize, length: usize) -> Result<usize> {
        let at = self.bytes.len().next_multiple_of(align);
        let end = at.saturating_add(length);
        expect_short(end, self.most)?;
        Limits::default().admit_message(end as u64)?;
        let too_large = || Error::new(Code::Size).found(format_args!("a body of {end} bytes"));
        self.bytes.try_reserve(end.saturating_sub(self.bytes.len())).map_err(|_| too_large())?;
        self.bytes.resize(end, 0);
        Ok(at)
    }

    fn slot(&mut self, at: usize, block: usize) -> Result<()> {
        let pointer = self.machine.pointer;
        if pointer == 4 && u32::try_from(block).is_err() {
            return Err(Error::new(Code::Size).expected("an offset of 4 bytes").found(block));
        }
        self.machine.write(&mut self.bytes[at..][..usize::from(pointer)], block as u64);
        Ok(())
    }
}

/// Checks that a result is no longer than it may be.
pub(crate) fn expect_short(length: usize, most: usize) -> Result<()> {
    if length <= most {
        return Ok(());
    }
    let error = Error::new(Code::Budget).at("result").expected(format_args!("at most {most} bytes"));
    Err(error.found(format_args!("{length} or more")))
}

/// What the checker has refused: names behind slices, and indices that only some rows may have. Zeros in their place
/// would be wrong values.
fn unchecked() -> Error {
    Error::new(Code::Internal).expected("elements that each row has").found("none")
}

/// Where the next elements of an array go.
struct Target<'f> {
    field: &'f Field,
    at: usize,
}

/// The dimensions that remain behind slices and indices.
fn shape(dims: &[usize], slices: &[Step], out: &mut Vec<usize>) {
    let Some((&first, inner)) = dims.split_first() else { return };
    match slices.split_first() {
        Some((Step::Slice(slice), rest)) => {
            out.push(slice.of(first).len());
            shape(inner, rest, out);
        }
        Some((_, rest)) => shape(inner, rest, out),
        None => out.extend_from_slice(dims),
    }
}

fn slot(machine: Machine, bytes: &[u8]) -> usize {
    machine.read(&bytes[..usize::from(machine.pointer)]) as usize
}

/// The value of a length field of a record.
fn length(structure: &Structure, index: usize, bytes: &[u8]) -> usize {
    let (field, machine) = (&structure.fields()[index], structure.machine());
    machine.read(&bytes[field.offset..][..field.element_size(machine.pointer)]) as usize
}
