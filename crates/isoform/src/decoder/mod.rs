//! From messages to records.
//!
//! `conversion` remembers for each wire format what must be done; here it is done, and the memory of records that
//! came is given out as what the types say that it is.
//!
//! Proofs refer to these:
//! 1. `native.format` is that of `T::Native`, as [`native_format`] reads it off the type; so are its size and alignment.
//! 2. A body that the verifier of a direct conversion has passed begins with a record of `native.format`, but for the
//!    addresses in its slots ([`Plan::is_direct`](isoform_core::Plan::is_direct)); and its blocks are aligned as that format asks.
//! 3. What an engine makes is a body of `native.format`, which is a verified one in all respects. Bytes that it leaves
//!    as they were are those of gaps, or of a format whose every value is valid; they are initialised.

mod columns;
mod conversion;
mod engine;
mod many;

pub use columns::{Column, Columns};
pub use engine::Engine;

use crate::encoder::native_format;
use crate::native::Flat;
use crate::native::buffer::Buffer;
use crate::native::outline::Outline;
use crate::native::place::{clear_gaps, place};
use crate::record::Owned;
use crate::{Faults, Format, Incoming, Record, Result, Rules};
use conversion::Conversions;
#[cfg(doc)]
use isoform_core::interp;
use isoform_core::interp::Output;
use std::marker::PhantomData;
use std::{fmt, ptr, slice};

/// Makes records of messages, whatever layout their sender has.
///
/// How a wire format becomes this record is worked out when its first message comes, and kept. What can be left as it is,
/// is: where layouts agree, or the sender has only added fields, a record without pointers is
/// [borrowed](Decoder::decode) from the message, and one with pointers can be used [in place](Decoder::decode_in_place).
/// [`copied`](Decoder::copied) tells.
///
/// ```
/// use isoform::{ByteOrder, Decoder, FieldList, Header, Incoming, Machine, Record};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Sample {
///     #[isoform(default = 1.0)]
///     weight: f64,
///     step: i64,
/// }
/// // A big-endian sender, whose step is an int, and which knows no weight.
/// let sparc = Machine { order: ByteOrder::Big, pointer: 4 };
/// let format = FieldList::new("Sample").field("step", "integer", 4, 0).format(sparc, 4, 4)?;
/// let body = [0, 0, 1, 0];
/// let message = Incoming::new(Header::new(format.token(), 4), &format, &body);
///
/// let mut decoder = Decoder::<Sample>::new();
/// let sample = decoder.decode(&message)?;
/// assert_eq!((sample.step, sample.weight), (256, 1.0));
/// # Ok::<(), isoform::Error>(())
/// ```
pub struct Decoder<T> {
    native: Native,
    conversions: Conversions,
    buffer: Buffer,
    copied: u64,
    record: PhantomData<fn() -> T>,
}

/// The receiver's side of every conversion.
struct Native {
    format: Format,
    outline: Outline,
    /// Whether the record holds no slots.
    flat: bool,
    rules: Rules,
    faults: Faults,
    engine: Engine,
}

impl Native {
    fn new(format: Format, rules: Rules) -> Native {
        let structure = format.structure();
        let (outline, flat) = (Outline::new(structure), !structure.has_slots());
        Native { format, outline, flat, rules, faults: Faults::default(), engine: Engine::default() }
    }
}

/// What becomes of a body.
enum Found {
    /// It is the record.
    InPlace,
    /// The record is in the decoder's buffer.
    InBuffer,
}

impl<T: Record> Decoder<T> {
    /// A decoder for records of this type.
    pub fn new() -> Decoder<T> {
        let native = Native::new(native_format::<T>(), T::rules());
        // Where every value is valid, those of an earlier record do no harm: they are overwritten, or gaps.
        let buffer = Buffer::new(native.format.structure().needs_check());
        Decoder { native, conversions: Conversions::default(), buffer, copied: 0, record: PhantomData }
    }

    /// The same, with what is done with numbers that do not fit their field, instead of refusing the message.
    ///
    /// ```
    /// # use isoform::{Decoder, Faults, FieldList, Header, Incoming, Machine, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Sample { level: u8 }
    /// # let format = FieldList::new("Sample").field("level", "integer", 4, 0).format(Machine::NATIVE, 4, 4)?;
    /// # let body = 300u32.to_ne_bytes();
    /// # let message = Incoming::new(Header::new(format.token(), 4), &format, &body);
    /// // A level of 300 has come, and Sample has `level: u8`.
    /// let error = Decoder::<Sample>::new().decode(&message).map(|sample| sample.level).unwrap_err();
    /// assert_eq!(error.to_string(), "overflow at level: expected unsigned integer of 1 byte, came 300");
    /// let mut decoder = Decoder::<Sample>::new().with_faults(Faults::Saturate);
    /// assert_eq!(decoder.decode(&message)?.level, 255);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn with_faults(mut self, faults: Faults) -> Decoder<T> {
        self.native.faults = faults;
        self.conversions = Conversions::default();
        self
    }

    /// The same, with what converts messages.
    ///
    /// ```
    /// # use isoform::{Decoder, Engine, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Sample { level: u8 }
    /// // For a program that must not start threads, or make code.
    /// let decoder = Decoder::<Sample>::new().with_engine(Engine::Interpreter);
    /// ```
    pub fn with_engine(mut self, engine: Engine) -> Decoder<T> {
        self.native.engine = engine;
        self.conversions = Conversions::default();
        self
    }

    /// The format into which messages are converted.
    pub fn format(&self) -> &Format {
        &self.native.format
    }

    /// How many bytes have been copied or converted so far. Records that are used where they were received add nothing.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// The record of a message: borrowed from it if it has no pointers and its layout and address allow, else
    /// made in the decoder's own memory, until the next one.
    ///
    /// For a record that owns `String`s and `Vec`s this is its [native form](Record::Native), which borrows them;
    /// [`decode_owned`](Decoder::decode_owned) makes the record itself.
    ///
    /// # Errors
    /// What [verification](isoform_core::Verifier::verify) finds; what the [plan](isoform_core::Plan::new) finds for all
    /// messages of the format; and what [conversion](interp::run) finds in this one.
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<&'m T::Native<'m>> {
        let body = message.body();
        let usable = self.native.flat && is_aligned(body, align_of::<T::Native<'m>>());
        match self.convert(message.format(), body, usable)? {
            // SAFETY: (1) and (2): there is an aligned record without slots; it is borrowed from the message.
            Found::InPlace => Ok(unsafe { &*body.as_ptr().cast() }),
            Found::InBuffer => self.in_buffer(),
        }
    }

    /// The record of a body that may be changed: where layouts agree, the offsets in its slots are replaced by
    /// addresses, and it is used as it is, with all that it points at. Else it is converted, as
    /// [`decode`](Decoder::decode) does.
    ///
    /// The body must begin at a multiple of 16 for that, as those do that a [`Reader`](crate::stream::Reader) has read to
    /// the beginning of an aligned buffer.
    ///
    /// ```
    /// use isoform::{Decoder, Encoder, Record, Slice};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Samples<'a> {
    ///     values: Slice<'a, u64>,
    /// }
    /// let mut encoder = Encoder::new();
    /// let message = encoder.encode(&Samples { values: Slice::from(&[1, 2, 3]) })?.to_vec();
    ///
    /// let mut body = message[32..].to_vec();
    /// let mut decoder = Decoder::<Samples>::new();
    /// let samples = decoder.decode_in_place(Samples::format(), &mut body)?;
    /// assert_eq!(samples.values[..], [1, 2, 3]);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode). The body has not been changed then.
    pub fn decode_in_place<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<&'m T::Native<'m>> {
        let aligned = is_aligned(body, align_of::<T::Native<'m>>().max(16));
        match self.convert(format, body, aligned)? {
            Found::InPlace => {
                // SAFETY: (2): a verified body, which begins at a multiple of 16 and is borrowed for 'm alone.
                unsafe { self.settle(body.as_mut_ptr(), body.len()) }
            }
            Found::InBuffer => self.in_buffer(),
        }
    }

    /// Decodes into a record that is there already, directly if its format allows. It must be one without pointers.
    ///
    /// ```
    /// use isoform::{Decoder, Encoder, Incoming, Record, Registry};
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Grid {
    ///     rho: [f64; 1000],
    /// }
    /// let bytes = Encoder::new().encode(&Grid { rho: [0.5; 1000] })?.to_vec();
    /// let mut registry = Registry::new();
    /// registry.register(Grid::format())?;
    ///
    /// let mut grid = Box::new(Grid { rho: [0.0; 1000] });
    /// Decoder::new().decode_into(&Incoming::parse(&bytes, &mut registry)?, &mut *grid)?;
    /// assert_eq!(grid.rho[999], 0.5);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode). What fields the record then holds, of the message or its own, is not specified.
    pub fn decode_into(&mut self, message: &Incoming<'_>, record: &mut T) -> Result<()>
    where
        T: Flat + for<'a> Record<Native<'a> = T>,
    {
        let (size, bytes) = (self.native.format.size(), message.body());
        let conversion = self.conversions.find(message.format(), &self.native)?;
        let body = conversion.verifier.verify(bytes)?;
        let memory = (&raw mut *record).cast::<u8>();
        self.copied += size as u64;
        if conversion.direct {
            // SAFETY: (1) and (2): the body begins with `size` bytes that are a record; nothing of the old one is dropped, by
            // Native's promise (3).
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, size) };
            return Ok(());
        }
        if self.native.format.structure().needs_check() {
            // Half a conversion could leave bytes that are no value.
            self.buffer.clear();
            conversion.converter.run(body, &mut self.buffer)?;
            // SAFETY: by (1) and (3) the buffer holds a record.
            unsafe { ptr::copy_nonoverlapping(self.buffer.as_mut().0, memory, size) };
            return Ok(());
        }
        // SAFETY: by (1) the record has `size` bytes, initialised once its gaps are; and all that they can become are
        // valid values.
        let memory = unsafe {
            clear_gaps(&self.native.outline, memory);
            slice::from_raw_parts_mut(memory, size)
        };
        conversion.converter.run_fixed(body, memory)
    }

    /// The record of a message, owning all that it holds.
    ///
    /// ```
    /// use isoform::{Decoder, Encoder, Incoming, Record, Registry};
    /// #[derive(Record, Debug, PartialEq)]
    /// struct Station {
    ///     name: String,
    ///     levels: Vec<f64>,
    /// }
    /// let station = Station { name: "Kiel".into(), levels: vec![5.1, 5.3] };
    /// let bytes = Encoder::new().encode(&station)?.to_vec();
    ///
    /// let mut registry = Registry::new();
    /// registry.register(Station::format())?;
    /// let mut decoder = Decoder::<Station>::new();
    /// assert_eq!(decoder.decode_owned(&Incoming::parse(&bytes, &mut registry)?)?, station);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode); [`Code::Utf8`](crate::Code::Utf8) at a `String` that is not UTF-8.
    pub fn decode_owned(&mut self, message: &Incoming<'_>) -> Result<T>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        T::raise(self.decode(message)?)
    }

    /// Verifies a body, and makes a record of it in the buffer unless it is one that is `usable` where it is.
    #[inline]
    fn convert(&mut self, format: &Format, bytes: &[u8], usable: bool) -> Result<Found> {
        let conversion = self.conversions.find(format, &self.native)?;
        let body = conversion.verifier.verify(bytes)?;
        if conversion.direct && usable {
            return Ok(Found::InPlace);
        }
        match (conversion.direct, self.native.flat) {
            (true, true) => self.buffer.copy(&bytes[..self.native.format.size()])?,
            (true, false) => self.buffer.copy(bytes)?,
            (false, true) => {
                self.buffer.clear();
                self.buffer.resize(self.native.format.size())?;
                conversion.converter.run_fixed(body, self.buffer.bytes())?;
            }
            (false, false) => {
                self.buffer.clear();
                conversion.converter.run(body, &mut self.buffer)?;
            }
        }
        Ok(Found::InBuffer)
    }

    /// The record in the buffer.
    #[inline]
    fn in_buffer<'m>(&'m mut self) -> Result<&'m T::Native<'m>> {
        let (base, length) = self.buffer.as_mut();
        self.copied += length as u64;
        // SAFETY: (2) or (3): the buffer holds a body, is aligned for all, and is borrowed for 'm.
        unsafe { self.settle(base, length) }
    }

    /// Turns a body into a record, in place.
    ///
    /// # Safety
    /// `base` points at `length` bytes that are a body of (2) or (3), aligned for its record and to 16, and nobody else's
    /// for 'm.
    #[inline]
    unsafe fn settle<'m>(&self, base: *mut u8, length: usize) -> Result<&'m T::Native<'m>>
    where
        T: 'm,
    {
        // SAFETY: promised; with addresses in its slots the body is a record, by Native's promise (2).
        unsafe {
            place(&self.native.outline, base, length)?;
            Ok(&*base.cast())
        }
    }
}

fn is_aligned(bytes: &[u8], align: usize) -> bool {
    bytes.as_ptr().addr().is_multiple_of(align)
}

impl<T: Record> Default for Decoder<T> {
    fn default() -> Self {
        Decoder::new()
    }
}

impl<T> fmt::Debug for Decoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decoder({:?})", self.native.format)
    }
}
