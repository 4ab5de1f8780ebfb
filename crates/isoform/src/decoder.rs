//! From messages to records.

use crate::encoder::native_format;
use crate::native::buffer::Buffer;
use crate::native::outline::Outline;
use crate::native::place::place;
use crate::native::{self, Flat};
use crate::record::Owned;
use crate::{Error, Faults, Format, Incoming, Plan, Record, Result, Rules, Token, Verifier};
use isoform_core::interp;
use std::fmt;
use std::marker::PhantomData;

/// Makes records of messages, whatever layout their sender has.
///
/// How a wire format becomes this record is worked out when its first message comes, and kept. Where layouts agree, or
/// the sender has only added fields at the end, a record without pointers is used where it was received.
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
}

/// How messages of one wire format become records.
struct Conversion {
    verifier: Verifier,
    plan: Plan,
    /// Whether a body is a native record already, but for addresses.
    direct: bool,
}

impl<T: Record> Decoder<T> {
    /// A decoder for records of this type.
    pub fn new() -> Decoder<T> {
        let format = native_format::<T>();
        let structure = format.structure();
        let buffer = Buffer::new(structure.needs_check());
        let outline = Outline::new(structure);
        let flat = !structure.has_slots();
        let native = Native { format, outline, flat, rules: T::rules(), faults: Faults::default() };
        Decoder { native, conversions: Conversions::default(), buffer, copied: 0, record: PhantomData }
    }

    /// The same, with what is done with numbers that do not fit their field.
    pub fn with_faults(mut self, faults: Faults) -> Decoder<T> {
        self.native.faults = faults;
        self.conversions = Conversions::default();
        self
    }

    /// The format into which messages are decoded.
    pub fn format(&self) -> &Format {
        &self.native.format
    }

    /// How many bytes have been copied or converted so far. Records that are used where they were received add nothing.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// The record of a message.
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<&'m T::Native<'m>> {
        let bytes = message.body();
        let conversion = self.conversions.find(message.format(), &self.native)?;
        let body = conversion.verifier.verify(bytes)?;
        if conversion.direct && self.native.flat && is_aligned::<T::Native<'m>>(bytes) {
            // SAFETY: the body was verified, is aligned, and its format's records are records of the native format (plan).
            return Ok(unsafe { &*bytes.as_ptr().cast() });
        }
        match (conversion.direct, self.native.flat) {
            (true, true) => self.buffer.copy(&bytes[..self.native.format.size()])?,
            (true, false) => self.buffer.copy(bytes)?,
            (false, _) => {
                self.buffer.clear();
                interp::run(&conversion.plan, body, &mut self.buffer)?;
            }
        }
        let (base, length) = self.buffer.as_mut();
        self.copied += length as u64;
        // SAFETY: the buffer holds a verified body of a direct format, or what the interpreter made.
        unsafe {
            place(&self.native.outline, base, length)?;
            Ok(&*base.cast())
        }
    }

    /// The record of a message, owning all that it holds.
    pub fn decode_owned<'m>(&'m mut self, message: &Incoming<'m>) -> Result<T>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        T::raise(self.decode(message)?)
    }

    /// Decodes into a record that is there already.
    pub fn decode_into(&mut self, message: &Incoming<'_>, record: &mut T) -> Result<()>
    where
        T: Flat + for<'a> Record<Native<'a> = T>,
    {
        *record = native::copy(self.decode(message)?);
        Ok(())
    }
}

fn is_aligned<T>(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(align_of::<T>())
}

/// Conversions by wire token.
#[derive(Default)]
struct Conversions {
    entries: Vec<(Token, Result<Conversion>)>,
}

impl Conversions {
    fn find(&mut self, wire: &Format, native: &Native) -> Result<&Conversion> {
        let at = match self.entries.iter().position(|entry| entry.0 == wire.token()) {
            Some(at) => at,
            None => {
                self.entries.push((wire.token(), Conversion::new(wire, native)));
                self.entries.len() - 1
            }
        };
        self.entries[at].1.as_ref().map_err(Error::clone)
    }
}

impl Conversion {
    fn new(wire: &Format, native: &Native) -> Result<Conversion> {
        let plan = Plan::new(wire, &native.format, &native.rules, native.faults)?;
        let direct = plan.is_direct();
        Ok(Conversion { verifier: Verifier::new(wire), plan, direct })
    }
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
