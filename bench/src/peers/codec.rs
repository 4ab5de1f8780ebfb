//! Peers that are crates: each writes and reads the same structs that Isoform does, by what it derives for them.

use super::Peer;
use super::avro::Avro;
use super::protobuf::Protobuf;
use super::zero_copy::{Rkyv, RkyvAccess};
use crate::measure::Contestant;
use crate::{Case, Result, Workload, fill, with_record};
use isoform::{Decoder, Incoming, Owned, Record, message::Header};
use std::hint::black_box;

/// How a crate writes and reads a struct.
pub(super) trait Codec<T>: Sized {
    /// The crate's name.
    const NAME: &'static str;
    /// How the sender's record differs from the receiver's.
    const CASE: Case = Case::Same;
    /// Whether it writes in its own way.
    const SENDS: bool = true;
    /// What the crate's users have in memory: the struct itself, or one that a compiler of schemas has made.
    type Value: PartialEq;

    /// Whatever is prepared once.
    fn new() -> Result<Self>;

    /// The struct as its users have it.
    fn value(record: T) -> Self::Value;

    /// Writes a value to an empty buffer.
    fn encode(&self, value: &Self::Value, out: &mut Vec<u8>) -> Result<()>;

    /// What is decoded.
    fn message(&self, value: &Self::Value) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        self.encode(value, &mut message)?;
        Ok(message)
    }

    /// Reads a value.
    fn decode(&self, message: &[u8]) -> Result<Self::Value>;

    /// Reads a value to where there is one already.
    #[inline]
    fn decode_into(&self, message: &[u8], value: &mut Self::Value) -> Result<()> {
        *value = self.decode(message)?;
        Ok(())
    }
}

/// All of them, with the record of a workload.
pub(super) fn of(workload: &Workload) -> Result<Vec<Box<dyn Peer>>> {
    with_record!(workload, all(workload), crate::records::OwnedSeries)
}

fn all<T>(workload: &Workload) -> Result<Vec<Box<dyn Peer>>>
where
    T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>> + 'static,
    Rkyv: Codec<T>,
    RkyvAccess: Codec<T>,
    Protobuf: Codec<T>,
    Avro<T>: Codec<T>,
    Json: Codec<T>,
{
    Ok(vec![
        Coded::<T, Rkyv>::boxed(workload)?,
        Coded::<T, RkyvAccess>::boxed(workload)?,
        Coded::<T, Protobuf>::boxed(workload)?,
        Coded::<T, Avro<T>>::boxed(workload)?,
        Coded::<T, Json>::boxed(workload)?,
    ])
}

/// The record of a workload in the hands of a codec.
struct Coded<T, C: Codec<T>> {
    codec: C,
    value: C::Value,
    out: Vec<u8>,
    message: Vec<u8>,
    /// One for each buffer that a place rotates over.
    decoded: Vec<C::Value>,
}

impl<T, C> Coded<T, C>
where
    T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>> + 'static,
    C: Codec<T> + 'static,
{
    fn boxed(workload: &Workload) -> Result<Box<dyn Peer>> {
        let body = fill::body(T::format(), workload.length);
        let incoming = Incoming::new(Header::new(T::format().token(), body.len() as u64), T::format(), &body);
        let (codec, value) = (C::new()?, C::value(Decoder::<T>::new().decode_owned(&incoming)?));
        let message = codec.message(&value)?;
        let mut out = Vec::new();
        codec.encode(&value, &mut out)?;
        Ok(Box::new(Coded { codec, value, out, message, decoded: Vec::new() }))
    }
}

impl<T, C: Codec<T>> Peer for Coded<T, C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn case(&self) -> Case {
        C::CASE
    }

    fn sends(&self) -> bool {
        C::SENDS
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn encoded(&self) -> usize {
        self.out.len()
    }

    fn check(&mut self) -> Result<()> {
        match self.codec.decode(&self.message)? == self.value {
            true => Ok(()),
            false => Err("the record is wrong".into()),
        }
    }

    fn encode(&mut self) -> Contestant<'_> {
        Box::new(|_, runs| {
            for _ in 0..runs {
                self.out.clear();
                self.codec.encode(black_box(&self.value), &mut self.out).expect("it went well before");
                black_box(self.out.as_ptr());
            }
        })
    }

    fn decode(&mut self) -> Contestant<'_> {
        let decode = |codec: &C, message: &[u8]| codec.decode(message).expect("it went well before");
        Box::new(move |place, runs| {
            let (codec, message, decoded) = (&self.codec, &self.message, &mut self.decoded);
            decoded.resize_with(place.pairs(), || decode(codec, message));
            let mut index = 0;
            place.bytes(runs, |src, _| {
                let value = black_box(&mut decoded[index]);
                codec.decode_into(&src[..message.len()], value).expect("it went well before");
                index = if index + 1 == decoded.len() { 0 } else { index + 1 };
            });
        })
    }
}

/// serde_json: text, by what serde derives.
struct Json;

impl<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq> Codec<T> for Json {
    const NAME: &'static str = "serde_json";
    type Value = T;

    fn new() -> Result<Json> {
        Ok(Json)
    }

    fn value(record: T) -> T {
        record
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        Ok(serde_json::to_writer(out, value)?)
    }

    fn decode(&self, message: &[u8]) -> Result<T> {
        Ok(serde_json::from_slice(message)?)
    }
}
