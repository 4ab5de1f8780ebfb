//! Records as Rust literals: written as they are, and held against what came.

use crate::same;
use isoform::stream::Writer;
use isoform::text::json;
use isoform::{Decoder, Encoder, Incoming, Owned, Record, View};

/// A record of this machine, whatever its type is.
pub(crate) trait Literal {
    /// Appends it to a stream.
    fn write(&self, stream: &mut Writer<Vec<u8>>) -> isoform::Result<()>;

    /// Decodes a message as a record of this type, and encodes that again: in one format there is one body of a value, so
    /// it must be this record's own, byte for byte. What differs, with its path.
    fn compare(&self, message: &Incoming<'_>) -> Result<(), String>;
}

/// A record that owns its `String`s and `Vec`s.
pub(crate) struct Owning<T>(pub(crate) T);

impl<T> Literal for T
where
    T: Record<Static = T> + 'static,
    for<'m> T::Native<'m>: Record<Static = T>,
{
    fn write(&self, stream: &mut Writer<Vec<u8>>) -> isoform::Result<()> {
        stream.write(&Encoder::<T>::new().encode(self)?)
    }

    fn compare(&self, message: &Incoming<'_>) -> Result<(), String> {
        let mut decoder = Decoder::<T>::new().with_missing(isoform::Missing::Zero);
        compare(self, decoder.decode(message).map_err(|error| error.to_string())?)?;
        // Where the layouts agree, this is another way: the body itself becomes the record.
        let mut body = message.body().to_vec();
        compare(self, decoder.decode_in_place(message.format(), &mut body).map_err(|error| error.to_string())?)
    }
}

impl<T> Literal for Owning<T>
where
    T: Record<Static = T> + Owned + for<'m> Record<Native<'m> = <T as Owned>::Native<'m>>,
{
    fn write(&self, stream: &mut Writer<Vec<u8>>) -> isoform::Result<()> {
        stream.write(&Encoder::<T>::new().encode(&self.0)?)
    }

    fn compare(&self, message: &Incoming<'_>) -> Result<(), String> {
        let came = Decoder::<T>::new()
            .with_missing(isoform::Missing::Zero)
            .decode_owned(message)
            .map_err(|error| error.to_string())?;
        compare(&self.0, &came)
    }
}

fn compare<T, E, C>(expected: &E, came: &C) -> Result<(), String>
where
    T: Record<Static = T>,
    E: Record<Static = T>,
    C: Record<Static = T>,
{
    let [expected, came] = [body::<T, E>(expected)?, body::<T, C>(came)?];
    if expected == came {
        return Ok(());
    }
    let [expected_line, came_line] = [line::<T>(&expected)?, line::<T>(&came)?];
    same::check(&came_line, &expected_line, "")?;
    if came_line.to_string().contains("\"NaN\"") {
        return Ok(()); // one of several: MIPS has others than the rest
    }
    let at = expected.iter().zip(&came).take_while(|(expected, came)| expected == came).count();
    Err(format!(
        "the values are the same, the bytes are not, from {at} on: expected {expected:02x?}, found {came:02x?}"
    ))
}

fn body<T: Record<Static = T>, R: Record<Static = T>>(record: &R) -> Result<Vec<u8>, String> {
    let mut encoder = Encoder::<T>::new();
    let message = encoder.encode(record).map_err(|error| error.to_string())?;
    Ok(message.body().collect::<Vec<_>>().concat())
}

fn line<T: Record>(body: &[u8]) -> Result<serde_json::Value, String> {
    let body = T::format().verify(body).map_err(|error| error.to_string())?;
    serde_json::from_str(&json::line(View::new(body))).map_err(|error| error.to_string())
}
