//! From many messages to many records at once.

use super::Decoder;
#[cfg(doc)]
use crate::Code;
use crate::message::Batch;
use crate::native::Flat;
use crate::{Record, Result};
use std::slice;

impl<T: Record> Decoder<T> {
    /// The records of a batch, one after the other in the decoder's own memory, until the next is decoded. They must be
    /// ones without pointers; messages of others are decoded one after the other, as [`Batch::messages`] gives them.
    ///
    /// The format is looked up once, and records are converted several at a time, so that small ones cost little more
    /// than their bytes do.
    ///
    /// ```
    /// use isoform::{Decoder, Encoder, Record, stream::Reader};
    /// # use isoform::stream::Writer;
    /// #[derive(Record)]
    /// #[repr(C)]
    /// struct Sample {
    ///     step: i64,
    ///     depth: f64,
    /// }
    /// # let mut writer = Writer::new(Vec::new());
    /// # for step in 0..100 {
    /// #     writer.write(&Encoder::new().encode(&Sample { step, depth: 0.5 })?)?;
    /// # }
    /// # let file = writer.into_inner();
    /// let mut stream = Reader::new(&file[..]);
    /// let mut decoder = Decoder::<Sample>::new();
    /// let mut sum = 0.0;
    /// while let Some(batch) = stream.next_batch()? {
    ///     sum += decoder.decode_many(&batch)?.iter().map(|sample| sample.depth).sum::<f64>();
    /// }
    /// assert_eq!(sum, 50.0);
    /// # Ok::<(), isoform::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Decoder::decode), with the number of the message in front of the path: `[17].depth`;
    /// [`Code::Size`] if there is no memory for so many records.
    pub fn decode_many<'m>(&'m mut self, batch: &Batch<'_>) -> Result<&'m [T]>
    where
        T: Flat + for<'a> Record<Native<'a> = T>,
    {
        let records = self.memory.decode_many(batch)?;
        let count = records.len() / size_of::<T>();
        // SAFETY: (1), of so many records.
        Ok(unsafe { slice::from_raw_parts(records.as_ptr().cast(), count) })
    }
}
