//! Decodes messages into records.
//!
//! [`crate::memory`] does the work. This module returns the memory of received records as values of their types.
//! `columns` decodes single fields into arrays, and `many` batches of records.
//!
//! Proofs refer to this: (1) `memory` makes records of the format of `T::Native`, which [`native_format`] derives from
//! the type, and so of its size and alignment. By promise (2) of Native, they are values of that type, as long as their
//! bytes are borrowed.

mod columns;
mod many;

pub use columns::{Column, Columns};

use crate::memory::{self, Engine};
use crate::message::Incoming;
use crate::native::Flat;
use crate::record::{Owned, Record, native_format};
#[cfg(doc)]
use isoform_core::interp;
use isoform_core::plan::{Explanation, Plans};
use isoform_core::{Faults, Format, Missing, Result};
use std::fmt;
use std::marker::PhantomData;

/// Decodes messages into records, whatever the layout of their sender.
///
/// When the first message of a format arrives, the decoder makes a plan for its conversion, and keeps it. It converts
/// only what differs. If the layouts agree, or the sender only added fields, a record without pointers is
/// [borrowed](Decoder::decode) from the message, and a record with pointers can be used [in
/// place](Decoder::decode_in_place). [`copied`](Decoder::copied) counts the bytes that were copied or converted.
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
    pub(crate) memory: memory::Decoder,
    record: PhantomData<fn() -> T>,
}

impl<T: Record> Decoder<T> {
    /// Creates a decoder for records of this type.
    pub fn new() -> Decoder<T> {
        Decoder { memory: memory::Decoder::of(native_format::<T>(), T::rules()), record: PhantomData }
    }

    /// The same, with another treatment of numbers that do not fit their field. Without it, such a number is an error
    /// for the message.
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
    /// assert_eq!(error.to_string(), "overflow at level: expected unsigned integer of 1 byte, found 300");
    /// let mut decoder = Decoder::<Sample>::new().with_faults(Faults::Saturate);
    /// assert_eq!(decoder.decode(&message)?.level, 255);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn with_faults(mut self, faults: Faults) -> Decoder<T> {
        self.memory = self.memory.with_faults(faults);
        self
    }

    /// The same, with another treatment of fields and elements that the sender lacks and that have no default. Without
    /// it, the sender's format is refused, and the error names all of them.
    ///
    /// ```
    /// # use isoform::{Decoder, FieldList, message::Header, Incoming, Machine, Missing, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Depth { time: i64, depth: f64 }
    /// # let format = FieldList::new("Alarm").field("time", "integer", 8, 0).format(Machine::NATIVE, 8, 8)?;
    /// # let body = 7u64.to_ne_bytes();
    /// # let message = Incoming::new(Header::new(format.token(), 8), &format, &body);
    /// // A record with a `time` has come, and Depth has `depth: f64` as well.
    /// let error = Decoder::<Depth>::new().decode(&message).map(|record| record.depth).unwrap_err();
    /// assert_eq!(error.to_string(), "missing field at depth: expected a default, or in the receiving program the option missing = zero, \
    ///                                for depth (f64), found Alarm with time");
    /// let mut decoder = Decoder::<Depth>::new().with_missing(Missing::Zero);
    /// assert_eq!(decoder.decode(&message)?.depth, 0.0);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn with_missing(mut self, missing: Missing) -> Decoder<T> {
        self.memory = self.memory.with_missing(missing);
        self
    }

    /// The same, with the given engine.
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

    /// What it does with each field of records of a sender, what that costs, and all obstacles, as text and as data.
    ///
    /// ```
    /// # use isoform::{Decoder, FieldList, Machine, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Depth { time: i64, depth: f64 }
    /// # let sent = FieldList::new("Depth").field("time", "integer", 8, 0).field("depth", "float", 4, 8);
    /// # let sent = sent.format(Machine::NATIVE, 16, 8)?;
    /// // Depth has `depth: f64`, and the sender's is a float.
    /// let explained = Decoder::<Depth>::new().explain(&sent);
    /// assert!(explained.to_string().contains("depth  f32      f64          widen float  convert 8 B"));
    /// assert!(explained.verdict().is_readable());
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn explain(&self, sender: &Format) -> Explanation {
        self.memory.explain(sender)
    }

    /// As [`explain`](Decoder::explain), with the cost of each step, of verification and of all steps, in bytes and nanoseconds,
    /// measured here and now on a record that is made for it.
    ///
    /// ```
    /// # use isoform::{Decoder, FieldList, Machine, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Depth { time: i64, depth: f64 }
    /// # let sent = FieldList::new("Depth").field("time", "integer", 8, 0).field("depth", "float", 4, 8);
    /// # let sent = sent.format(Machine::NATIVE, 16, 8)?;
    /// let explained = Decoder::<Depth>::new().explain_timed(&sent);
    /// println!("{explained}");
    /// let times = explained.times().ok_or("not refused")??;
    /// assert_eq!((times.wire, times.native), (16, 16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain_timed(&self, sender: &Format) -> Explanation {
        self.memory.explain_timed(sender)
    }

    /// As [`memory::Decoder::share_plans`].
    pub fn share_plans(&mut self, plans: &Plans) -> bool {
        self.memory.share_plans(plans)
    }

    /// The format to which it converts messages.
    pub fn format(&self) -> &Format {
        self.memory.format()
    }

    /// The number of bytes copied or converted so far. Records that are used where they were received do not count.
    pub fn copied(&self) -> u64 {
        self.memory.copied()
    }

    /// Decodes a message. If the record has no pointers and the layout and the address allow it, it is borrowed from
    /// the message. Otherwise it is in the decoder's memory, until the next call.
    ///
    /// For a record that owns `String`s and `Vec`s, this returns its [native form](Record::Native), which borrows them;
    /// [`decode_owned`](Decoder::decode_owned) returns the record itself.
    ///
    /// # Errors
    /// The errors of [verification](isoform_core::Verifier::verify); of the [plan](isoform_core::Plan::new), for all
    /// messages of the format; and of the [conversion](interp::run) of this record.
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<&'m T::Native<'m>> {
        let record = self.memory.decode_to(message, align_of::<T::Native<'m>>())?;
        // SAFETY: (1)
        Ok(unsafe { &*record.cast() })
    }

    /// Decodes a body that may be changed. If the layouts agree, addresses replace the offsets in its slots, and the
    /// record is used in the body, with everything that it points at. Otherwise it is converted as by
    /// [`decode`](Decoder::decode).
    ///
    /// For that, the body must begin at a multiple of 16, as bodies do that a [`Reader`](crate::stream::Reader) has
    /// read to the start of an aligned buffer.
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
    /// As [`decode`](Decoder::decode). The body is then unchanged.
    #[inline]
    pub fn decode_in_place<'m>(&'m mut self, format: &Format, body: &'m mut [u8]) -> Result<&'m T::Native<'m>> {
        let record = self.memory.decode_in_place(format, body)?;
        // SAFETY: (1)
        Ok(unsafe { &*record.as_ptr().cast() })
    }

    /// Decodes into an existing record, directly if its format allows that. The record must not contain pointers.
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
    /// As [`decode`](Decoder::decode). The record is then a mix of old and new fields.
    pub fn decode_into(&mut self, message: &Incoming<'_>, record: &mut T) -> Result<()>
    where
        T: Flat + for<'a> Record<Native<'a> = T>,
    {
        // SAFETY: (1): what is put there is a value of the type, and nothing of the old one is dropped, by Native's promise (3).
        unsafe { self.memory.decode_flat_into(message, (&raw mut *record).cast()) }
    }

    /// Decodes a message into a record that owns all of its parts.
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
    /// As [`decode`](Decoder::decode); [`Code::Utf8`](crate::Code::Utf8) if the bytes for a `String` are not UTF-8.
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
