//! Decodes many messages at once.

use super::Decoder;
use crate::message::Batch;
use crate::native::Flat;
use crate::record::Record;
#[cfg(doc)]
use isoform_core::Code;
use isoform_core::Result;
use std::slice;

impl<T: Record> Decoder<T> {
    /// Decodes the records of a batch into contiguous memory of the decoder. They are valid until the next call. The
    /// records must not contain pointers; decode others one by one, with [`Batch::messages`].
    ///
    /// The decoder looks the format up once and converts several records at a time. So small records cost little more
    /// than their bytes.
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
    /// [`Code::Size`] if there is no memory for that many records.
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
