//! Records without pointers, as bytes: the one step from safe Rust to [`isoform::memory`], which works on addresses.
//! And records that are mostly bytes already, with [`Placer`].
//!
//! Invariants; only the second one applies to a [`Placer`]:
//! 1. The format has no pointers. So every byte of a record belongs to a number, a character or a gap, and any bytes
//!    can be taken for a record. The encoder finds invalid booleans and symbols.
//! 2. What a slot of a record points at is where a decoder has put it, or an array of as many elements as its length
//!    fields say; and it is borrowed for as long as the record is used.

#![allow(unsafe_code)]

use isoform::core::{Bodies, Body, Dimension, Element, Field, Structure};
use isoform::memory::{self, Engine};
use isoform::{Aligned, Batch, Code, Error, Faults, Format, Incoming, Message, Result, Rules};
use std::collections::HashMap;
#[cfg(any(unix, windows))]
use {
    crate::source::Progress,
    isoform_channel::{Demand, Source},
};

/// Receiving many records takes at most this much memory, unless a single record is larger.
#[cfg(any(unix, windows))]
const ROOM: usize = 8 << 20;

/// Encodes bytes as messages.
pub struct Encoder(memory::Encoder);

/// Decodes messages into bytes.
pub struct Decoder(memory::Decoder);

impl Encoder {
    /// Creates an encoder for records of this format.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it has pointers.
    pub fn new(format: &Format) -> Result<Encoder> {
        refuse_pointers(format)?;
        memory::Encoder::new(format).map(Encoder)
    }

    /// Encodes one record.
    ///
    /// # Errors
    /// [`Code::WrongType`] if the number of bytes is not that of a record; as [`memory::Encoder::encode`].
    pub fn one<'m>(&'m mut self, record: &'m [u8]) -> Result<Message<'m>> {
        admit(record.len() == self.0.format().size(), self.0.format(), record.len())?;
        // SAFETY: there are as many initialised bytes as the format's size says, borrowed for as long as the message, and by
        // (1) nothing in them is an address.
        unsafe { self.0.encode(record.as_ptr()) }
    }

    /// Encodes consecutive records; `None` if there are none.
    ///
    /// # Errors
    /// As [`one`](Encoder::one), with the number of the record in front of the path.
    pub fn many(&mut self, records: &[u8]) -> Result<Option<Batch<'_>>> {
        let size = self.0.format().size();
        admit(records.len().is_multiple_of(size), self.0.format(), records.len())?;
        // SAFETY: there are so many times as many initialised bytes as the format's size says.
        unsafe { self.0.encode_many(records.as_ptr(), records.len() / size) }
    }
}

impl Decoder {
    /// Creates a decoder for records of this format.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it has pointers, or an alignment above 64.
    pub fn new(format: &Format, rules: Rules, faults: Faults, engine: Engine) -> Result<Decoder> {
        refuse_pointers(format)?;
        let decoder = memory::Decoder::new(format, rules)?;
        Ok(Decoder(decoder.with_faults(faults).with_engine(engine)))
    }

    /// The format to which it converts messages.
    pub fn format(&self) -> &Format {
        self.0.format()
    }

    /// Decodes a message into bytes, whose number must be that of a record.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it is not; as [`memory::Decoder::decode`].
    pub fn one(&mut self, message: &Incoming<'_>, record: &mut [u8]) -> Result<()> {
        admit(record.len() == self.0.format().size(), self.0.format(), record.len())?;
        record.copy_from_slice(self.0.decode(message)?);
        Ok(())
    }

    /// Decodes a batch into contiguous bytes, whose number must be that of the records.
    ///
    /// # Errors
    /// As [`one`](Decoder::one).
    pub fn many(&mut self, batch: &Batch<'_>, records: &mut [u8]) -> Result<()> {
        let wanted = self.0.format().size().checked_mul(batch.len());
        admit(wanted == Some(records.len()), self.0.format(), records.len())?;
        // SAFETY: there are as many times as many initialised bytes as the format's size says as there are messages.
        unsafe { self.0.decode_many_into(batch, records.as_mut_ptr()) }
    }

    /// Appends the record of a message.
    ///
    /// # Errors
    /// As [`one`](Decoder::one); the bytes are then unchanged.
    pub fn append(&mut self, message: &Incoming<'_>, records: &mut Vec<u8>) -> Result<()> {
        self.grow(records, 1, |decoder, place| decoder.one(message, place))
    }

    /// Appends the record of a verified body.
    ///
    /// # Errors
    /// As [`one`](Decoder::one), but for verification; the bytes are then unchanged.
    pub fn append_body(&mut self, body: Body<'_>, records: &mut Vec<u8>) -> Result<()> {
        // SAFETY: `grow` gives a place of as many initialised bytes as the format's size says.
        self.grow(records, 1, |decoder, place| unsafe { decoder.0.decode_body_into(body, place.as_mut_ptr()) })
    }

    /// Appends the records of verified bodies.
    ///
    /// # Errors
    /// As [`many`](Decoder::many), but for verification; the bytes are then unchanged.
    pub fn append_bodies(&mut self, bodies: Bodies<'_>, records: &mut Vec<u8>) -> Result<()> {
        // SAFETY: `grow` gives a place of as many initialised bytes as so many records have.
        self.grow(records, bodies.len(), |decoder, place| unsafe {
            decoder.0.decode_bodies_into(bodies, place.as_mut_ptr())
        })
    }

    /// Appends the records of a batch.
    ///
    /// # Errors
    /// As [`many`](Decoder::many); the bytes are then unchanged.
    pub fn append_many(&mut self, batch: &Batch<'_>, records: &mut Vec<u8>) -> Result<()> {
        self.grow(records, batch.len(), |decoder, place| decoder.many(batch, place))
    }

    fn grow(
        &mut self,
        records: &mut Vec<u8>,
        count: usize,
        fill: impl FnOnce(&mut Decoder, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let before = records.len();
        let more = self.format().size().checked_mul(count);
        let room = more.filter(|&more| records.try_reserve(more).is_ok());
        let more = room.ok_or_else(|| Error::new(Code::Size).found(format_args!("{count} records")))?;
        records.resize(before + more, 0);
        fill(self, &mut records[before..]).inspect_err(|_| records.truncate(before))
    }
}

/// Submits consecutive records, except those that were submitted already.
#[cfg(any(unix, windows))]
pub(crate) fn submit(source: &mut Source<memory::Encoder>, records: &[u8], progress: &mut Progress) -> Result<()> {
    let format = source.encoder().format();
    refuse_pointers(format)?;
    let size = format.size();
    admit(records.len().is_multiple_of(size), format, records.len())?;
    for record in records.chunks_exact(size).skip(progress.done) {
        // SAFETY: there are as many initialised bytes as the format's size says, and by (1) nothing in them is an address.
        progress.last = Some(unsafe { source.submit_raw(record.as_ptr())? });
        progress.done += 1;
    }
    Ok(())
}

/// Submits one record to the sinks of a demand.
#[cfg(any(unix, windows))]
pub(crate) fn submit_for(source: &mut Source<memory::Encoder>, demand: &Demand, record: &[u8]) -> Result<u64> {
    let format = source.encoder().format();
    refuse_pointers(format)?;
    admit(record.len() == format.size(), format, record.len())?;
    // SAFETY: there are as many initialised bytes as the format's size says, and by (1) nothing in them is an address.
    unsafe { source.submit_raw_for(demand, record.as_ptr()) }
}

/// The record of a message, in place of the bytes there.
#[cfg(any(unix, windows))]
pub(crate) fn put(decoder: &mut memory::Decoder, message: &Incoming<'_>, place: &mut [u8]) -> Result<()> {
    refuse_pointers(decoder.format())?;
    admit(place.len() == decoder.format().size(), decoder.format(), place.len())?;
    // SAFETY: there are as many initialised bytes as the format's size says, and by (1) nothing in them is an address.
    unsafe { decoder.decode_into(message, place.as_mut_ptr(), &mut Aligned::new()) }
}

/// How many records of a format may be received at once, of `most`.
#[cfg(any(unix, windows))]
pub(crate) fn room(format: &Format, most: usize) -> Result<usize> {
    refuse_pointers(format)?;
    Ok(most.min((ROOM / format.size().max(1)).max(1)))
}

/// An array that is not in the memory of its record.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    /// The index of its field, which is a pointer to numbers.
    pub field: usize,
    /// Its dimensions.
    pub dims: &'a [usize],
    /// The numbers, in the layout of the format.
    pub bytes: &'a [u8],
}

/// Makes bodies of records whose large arrays are elsewhere in memory, so that their numbers need not be processed one
/// by one.
pub struct Placer {
    encoder: memory::Encoder,
    decoder: memory::Decoder,
}

impl Placer {
    /// Creates a placer for records of this format.
    ///
    /// # Errors
    /// [`Code::WrongType`] if it is not a format of this machine's memory.
    pub fn new(format: &Format) -> Result<Placer> {
        Ok(Placer { encoder: memory::Encoder::new(format)?, decoder: memory::Decoder::new(format, Rules::new())? })
    }

    /// Makes the body of a record: takes `rest`, a body without these arrays, adds the arrays, and sets their length
    /// fields.
    ///
    /// # Errors
    /// [`Code::Lengths`] if the arrays have different lengths in one length field, or an array that is not given uses the
    /// same length field; [`Code::WrongType`] if the field or the number of bytes is not that of such an array;
    /// [`Code::Overflow`] if a length does not fit its field; the errors of `rest`.
    pub fn body(&mut self, rest: &[u8], arrays: &[Array<'_>]) -> Result<Vec<u8>> {
        let format = self.encoder.format().clone();
        let (structure, machine) = (format.structure(), format.machine());
        let lengths = lengths(structure, arrays)?;
        let mut rest = Aligned::from(rest);
        let mut record = Aligned::from(self.decoder.decode_in_place(&format, &mut rest)?);
        for (index, length) in lengths {
            let field = &structure.fields()[index];
            let place = &mut record[field.offset..][..field.element_size(machine.pointer)];
            machine.write(place, length as u64);
            if machine.read(place) != length as u64 {
                return Err(Error::new(Code::Overflow).at(&*field.name).expected(&field.element).found(length));
            }
        }
        for array in arrays {
            let field = &structure.fields()[array.field];
            let address = array.bytes.as_ptr().expose_provenance();
            machine.write(&mut record[field.offset..][..size_of::<usize>()], address as u64);
        }
        // SAFETY: (2) holds: slots are as the decoder has placed them, in `rest` or in its own memory, neither of which is touched
        // before this returns; or they point at as many numbers as `lengths` has found them to have.
        let message = unsafe { self.encoder.encode(record.as_ptr())? };
        let mut body = Vec::with_capacity(message.body_len());
        message.body().for_each(|piece| body.extend_from_slice(piece));
        Ok(body)
    }
}

/// The values of the length fields of these arrays, by index. They make (2) hold for every array: no other array has
/// such a length field, the arrays agree on it, and each has that many elements.
fn lengths(structure: &Structure, arrays: &[Array<'_>]) -> Result<HashMap<usize, usize>> {
    let mut lengths = HashMap::new();
    for &Array { field: index, dims, bytes } in arrays {
        let field = structure.fields().get(index).filter(|field| field.indirect && is_number(&field.element));
        let field = field.filter(|field| field.dims.len() == dims.len());
        let wrong =
            || Error::new(Code::WrongType).at(structure.name()).expected("an array of numbers behind a pointer");
        let field = field.ok_or_else(wrong)?;
        let size = field.element_size(structure.machine().pointer);
        let wanted = dims.iter().try_fold(size, |size, dim| size.checked_mul(*dim));
        let fits =
            |(dim, has): (&Dimension, &usize)| matches!(dim, Dimension::Field(_)) || *dim == Dimension::Fixed(*has);
        if wanted != Some(bytes.len()) || !field.dims.iter().zip(dims).all(fits) {
            let error = Error::new(Code::WrongType).at(&*field.name);
            return Err(error.expected(format_args!("{dims:?} numbers")).found(format_args!("{} bytes", bytes.len())));
        }
        for (dim, &has) in field.dims.iter().zip(dims) {
            if let Dimension::Field(by) = dim
                && *lengths.entry(*by).or_insert(has) != has
            {
                return Err(Error::new(Code::Lengths).at(&*field.name).expected(lengths[by]).found(has));
            }
        }
    }
    let uses =
        |field: &Field| field.dims.iter().any(|dim| matches!(dim, Dimension::Field(by) if lengths.contains_key(by)));
    for (index, field) in structure.fields().iter().enumerate() {
        if uses(field) && !arrays.iter().any(|array| array.field == index) {
            return Err(Error::new(Code::Lengths)
                .at(&*field.name)
                .expected("an array, since it shares its length with an array that is given"));
        }
    }
    Ok(lengths)
}

fn is_number(element: &Element) -> bool {
    use Element::{Boolean, Complex, Float, Integer};
    matches!(element, Integer { .. } | Float { .. } | Complex { .. } | Boolean { .. })
}

fn refuse_pointers(format: &Format) -> Result<()> {
    match format.structure().has_slots() {
        true => Err(Error::new(Code::WrongType).at(format.name()).expected("records without pointers")),
        false => Ok(()),
    }
}

fn admit(fits: bool, format: &Format, found: usize) -> Result<()> {
    match fits {
        true => Ok(()),
        false => {
            let expected = format_args!("records of {} bytes", format.size()).to_string();
            Err(Error::new(Code::WrongType).at(format.name()).expected(expected).found(format_args!("{found} bytes")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::View;
    use isoform::core::declare::{Layout, Shape};
    use isoform::core::value;

    fn format(shape: &str) -> Format {
        Shape::parse(shape).and_then(|shape| shape.on(&Layout::NATIVE)).unwrap()
    }

    fn numbers(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn records_are_as_long_as_their_format_says() {
        let level = format("record Level\n level double");
        let mut encoder = Encoder::new(&level).unwrap();
        assert_eq!(encoder.one(&[0; 7]).unwrap_err().code(), Code::WrongType);
        assert!(encoder.many(&[]).unwrap().is_none());
        let mut decoder = Decoder::new(&level, Rules::new(), Faults::Error, Engine::Auto).unwrap();
        let levels = numbers(&[0.5, 1.5, 2.5]);
        let batch = encoder.many(&levels).unwrap().unwrap();
        let mut records = Vec::new();
        decoder.append_many(&batch, &mut records).unwrap();
        decoder.append(&batch.messages().next().unwrap(), &mut records).unwrap();
        assert_eq!(records, numbers(&[0.5, 1.5, 2.5, 0.5]));
        assert_eq!(decoder.many(&batch, &mut records[..16]).unwrap_err().code(), Code::WrongType);
        let text = format("record Note\n text string");
        assert_eq!(Encoder::new(&text).err().unwrap().code(), Code::WrongType);
    }

    #[test]
    fn arrays_are_placed_with_their_lengths() {
        let table = format("record Table\n name string\n rows short\n of double[rows][2]\n at double[rows]\n kind int");
        let rest =
            value::body(&table, &isoform::text::json::parse_partial(&table, r#"{"name":"t","kind":7}"#).unwrap());
        let (rest, four, two) = (rest.unwrap(), numbers(&[1.0, 2.0, 3.0, 4.0]), numbers(&[5.0, 6.0]));
        let of = Array { field: 2, dims: &[2, 2], bytes: &four };
        let at = Array { field: 3, dims: &[2], bytes: &two };
        let mut placer = Placer::new(&table).unwrap();
        let body = placer.body(&rest, &[of, at]).unwrap();
        let view = View::new(table.verify(&body).unwrap());
        let line = isoform::text::json::line(view);
        assert_eq!(line, r#"{"name":"t","rows":2,"of":[[1.0,2.0],[3.0,4.0]],"at":[5.0,6.0],"kind":7}"#);
        let many = vec![0; size_of::<f64>() << 16];
        let long = Array { field: 3, dims: &[1 << 16], bytes: &many };
        let longer = Array { field: 2, dims: &[1 << 15, 2], bytes: &many };
        for (arrays, code) in [
            (&[of][..], Code::Lengths),
            (&[of, Array { dims: &[1], bytes: &two[..8], ..at }], Code::Lengths),
            (&[of, Array { bytes: &two[..8], ..at }], Code::WrongType),
            (&[Array { dims: &[1, 4], ..of }, at], Code::WrongType),
            (&[Array { dims: &[4], ..of }, at], Code::WrongType),
            (&[Array { field: 0, dims: &[], bytes: &two[..8] }], Code::WrongType),
            (&[Array { field: 4, dims: &[], bytes: &two[..4] }], Code::WrongType),
            (&[Array { field: 9, dims: &[], bytes: &two[..8] }], Code::WrongType),
            (&[long, longer], Code::Lengths),
        ] {
            assert_eq!(placer.body(&rest, arrays).unwrap_err().code(), code, "{arrays:?}");
        }
        let short = format("record Row\n n short\n at double[n]");
        let rest = value::body(&short, &isoform::text::json::parse_partial(&short, "{}").unwrap()).unwrap();
        let fault = Placer::new(&short).unwrap().body(&rest, &[Array { field: 1, ..long }]);
        assert_eq!(fault.unwrap_err().code(), Code::Overflow);
    }
}
