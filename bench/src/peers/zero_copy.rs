//! rkyv: archives that are read where they lie, after bytes from elsewhere have been validated.

use super::codec::Codec;
use crate::Result;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator, access, deserialize, from_bytes, to_bytes_in};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Error;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::{Archive, Deserialize, Serialize};
use std::hint::black_box;

/// Validated, then copied to the receiver's struct.
pub(super) struct Rkyv;

/// Validated, and left where it came.
pub(super) struct RkyvAccess;

/// What rkyv derives for a struct.
pub(super) trait Archived:
    Sized
    + Archive<Archived: for<'a> CheckBytes<HighValidator<'a, Error>> + Deserialize<Self, HighDeserializer<Error>>>
    + for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, Error>>
{
}

impl<T> Archived for T where
    T: Archive<Archived: for<'a> CheckBytes<HighValidator<'a, Error>> + Deserialize<T, HighDeserializer<Error>>>
        + for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, Error>>
{
}

impl<T: Archived + PartialEq> Codec<T> for Rkyv {
    const NAME: &'static str = "rkyv";
    type Value = T;

    fn new() -> Result<Rkyv> {
        Ok(Rkyv)
    }

    fn value(record: T) -> T {
        record
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        *out = to_bytes_in::<_, Error>(value, std::mem::take(out))?;
        Ok(())
    }

    fn decode(&self, message: &[u8]) -> Result<T> {
        Ok(from_bytes::<T, Error>(message)?)
    }

    fn decode_into(&self, message: &[u8], value: &mut T) -> Result<()> {
        // Not by way of `decode`, since each result that is passed on is a copy of the record.
        match access::<T::Archived, Error>(message).and_then(deserialize) {
            Ok(record) => *value = record,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl<T: Archived + PartialEq> Codec<T> for RkyvAccess {
    const NAME: &'static str = "rkyv access";
    const SENDS: bool = false;
    type Value = T;

    fn new() -> Result<RkyvAccess> {
        Ok(RkyvAccess)
    }

    fn value(record: T) -> T {
        record
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        Rkyv.encode(value, out)
    }

    fn decode(&self, message: &[u8]) -> Result<T> {
        Rkyv.decode(message)
    }

    fn decode_into(&self, message: &[u8], _: &mut T) -> Result<()> {
        black_box(std::ptr::from_ref(access::<T::Archived, Error>(message)?));
        Ok(())
    }
}
