//! From messages to records.
//!
//! What must be done is done in [`crate::memory`]; here the memory of records that came is given out as what the types say
//! that it is. `columns` makes arrays of single fields, `many` of records.
//!
//! Proofs refer to this: (1) `memory` makes records of the format of `T::Native`, as [`native_format`] reads it off the type,
//! and so of its size and alignment; they are values of it, by Native's promise (2), for as long as their bytes are borrowed.

mod columns;
mod many;

pub use columns::{Column, Columns};

use crate::encoder::native_format;
use crate::memory::{self, Engine};
use crate::native::Flat;
use crate::record::Owned;
use crate::{Faults, Format, Incoming, Record, Result};
#[cfg(doc)]
use isoform_core::interp;
use std::fmt;
use std::marker::PhantomData;

/// Makes records of messages, whatever layout their sender has.
///
/// How a wire format becomes this record is worked out when its first message comes, and kept. What can be left as it is,
/// is: where layouts agree, or the sender has only added fields, a record without pointers is
/// [borrowed](Decoder::decode) from the message, and one with pointers can be used [in place](Decoder::decode_in_place).
/// [`copied`](Decoder::copied) tells.
///
/// ```
/// use isoform::core::ByteOrder;
/// use isoform::{Decoder, FieldList, message::Header, Incoming, Machine, Record};
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
    memory: memory::Decoder,
    record: PhantomData<fn() -> T>,
}

impl<T: Record> Decoder<T> {
    /// A decoder for records of this type.
    pub fn new() -> Decoder<T> {
        Decoder { memory: memory::Decoder::of(native_format::<T>(), T::rules()), record: PhantomData }
    }

    /// The same, with what is done with numbers that do not fit their field, instead of refusing the message.
    ///
    /// ```
    /// # use isoform::{Decoder, Faults, FieldList, message::Header, Incoming, Machine, Record};
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
        self.memory = self.memory.with_faults(faults);
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
        self.memory = self.memory.with_engine(engine);
        self
    }

    /// The format into which messages are converted.
    pub fn format(&self) -> &Format {
        self.memory.format()
    }

    /// How many bytes have been copied or converted so far. Records that are used where they were received add nothing.
    pub fn copied(&self) -> u64 {
        self.memory.copied()
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
        let record = self.memory.decode_to(message, align_of::<T::Native<'m>>())?;
        // SAFETY: (1)
        Ok(unsafe { &*record.cast() })
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
        let record = self.memory.decode_in_place(format, body)?;
        // SAFETY: (1)
        Ok(unsafe { &*record.as_ptr().cast() })
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
        // SAFETY: (1): what is put there is a value of the type, and nothing of the old one is dropped, by Native's promise (3).
        unsafe { self.memory.decode_flat_into(message, (&raw mut *record).cast()) }
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
}

impl<T: Record> Default for Decoder<T> {
    fn default() -> Self {
        Decoder::new()
    }
}

impl<T> fmt::Debug for Decoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.memory)
    }
}
