//! Tables of columns: Parquet and Arrow, by Arrow's own libraries.

use super::{STAMPS, Stamp, Table};
use crate::args::Kind;
use crate::failure::{Failure, reason};
use arrow_array::builder::{StringBuilder, TimestampNanosecondBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use isoform::core::view::Item;
use isoform::core::{Element, Structure};
use isoform::{Code, Faults, Format, Incoming, Result, Rules, View};
use isoform_dynamic::arrow::{Memory, batch};
use isoform_dynamic::columns::Columns;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

/// Rows that are put into the file together.
const ROWS: usize = 1 << 16;
/// The bytes that all tables hold: records in columns, and the groups of rows of Parquet that are not in the file yet.
pub(super) const SHARED: usize = 128 << 20;
/// A table may hold so many in any case.
const LEAST: usize = 256 << 10;

/// A table with these fields, by default with all.
pub(super) fn table(
    kind: Kind,
    file: File,
    format: &Format,
    wanted: Option<&[String]>,
    has_stamps: bool,
) -> Result<Box<dyn Table>, Failure> {
    let cannot = |error: isoform::Error| {
        let lacks = error.code() == Code::WrongType;
        let failure = Failure::from(error).about(format.name());
        match lacks {
            true => failure.hint("choose other fields by --fields; CSV and JSON (.csv, .jsonl) take all"),
            false => failure,
        }
    };
    let columns = Columns::new(format, wanted, &Rules::new(), Faults::Error).map_err(cannot)?;
    let mut table = Batches {
        columns,
        stamps: has_stamps.then(Stamps::default),
        bytes: 0,
        share: SHARED,
        texts: texts(format.structure(), wanted),
        writer: None,
    };
    // The first batch is empty, and says what the columns are.
    let batch = table.batch().map_err(cannot)?;
    table.writer = Some(match kind {
        Kind::Parquet => {
            let level = ZstdLevel::try_new(3).map_err(parquet_failed)?;
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
            let writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(parquet_failed)?;
            Writer::Parquet(Box::new(writer))
        }
        _ => Writer::Arrow(Box::new(FileWriter::try_new(BufWriter::new(file), &batch.schema()).map_err(arrow_failed)?)),
    });
    Ok(Box::new(table))
}

enum Writer {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
}

struct Batches {
    columns: Columns,
    stamps: Option<Stamps>,
    /// Of the rows that are in the columns.
    bytes: usize,
    share: usize,
    /// The fields in which there are arrays of characters. Arrow has them as text.
    texts: Vec<Box<str>>,
    writer: Option<Writer>,
}

impl Table for Batches {
    fn add(&mut self, message: &Incoming<'_>, view: View<'_>, stamp: Option<&Stamp>) -> Result<Result<()>, Failure> {
        let are_texts =
            self.texts.iter().try_for_each(|name| is_text(view.field(name)?).map_err(|error| error.within(name)));
        if let Err(error) = are_texts.and_then(|()| self.columns.append(message)) {
            return Ok(Err(error));
        }
        self.bytes += message.body().len();
        if let (Some(stamps), Some(stamp)) = (&mut self.stamps, stamp) {
            stamps.add(stamp);
            self.bytes += size_of::<Stamp>() + stamp.topic.len();
        }
        if self.columns.rows() == ROWS || self.bytes >= self.share / 4 {
            self.write()?;
        }
        Ok(Ok(()))
    }

    fn share(&mut self, bytes: usize) {
        self.share = bytes.max(LEAST);
    }

    fn end(mut self: Box<Self>) -> Result<(), Failure> {
        self.write()?;
        match self.writer {
            Some(Writer::Parquet(writer)) => drop(writer.close().map_err(parquet_failed)?),
            Some(Writer::Arrow(mut writer)) => writer.finish().map_err(arrow_failed)?,
            None => {}
        }
        Ok(())
    }
}

impl Batches {
    /// Puts the rows into the file.
    fn write(&mut self) -> Result<(), Failure> {
        let batch = self.batch()?;
        self.bytes = 0;
        match &mut self.writer {
            _ if batch.num_rows() == 0 => {}
            Some(Writer::Parquet(writer)) => {
                writer.write(&batch).map_err(parquet_failed)?;
                if writer.memory_size() >= self.share / 4 {
                    writer.flush().map_err(parquet_failed)?;
                }
            }
            Some(Writer::Arrow(writer)) => writer.write(&batch).map_err(arrow_failed)?,
            None => {}
        }
        Ok(())
    }

    /// Takes the rows out of the columns.
    fn batch(&mut self) -> Result<RecordBatch> {
        let count = self.columns.names().len();
        let taken: Vec<_> = (0..count).map(|column| self.columns.take(column).map(Memory::Own)).collect();
        let records = batch(self.columns.schema("")?, self.columns.array(taken)?)?;
        self.columns.clear();
        let Some(stamps) = &mut self.stamps else { return Ok(records) };
        let (mut fields, mut values) = stamps.take();
        fields.extend(records.schema().fields().iter().cloned());
        values.extend(records.columns().iter().cloned());
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), values);
        batch.map_err(|error| isoform::Error::new(Code::WrongType).expected("as many stamps as records").found(error))
    }
}

/// The columns of stamps.
#[derive(Default)]
struct Stamps {
    topic: StringBuilder,
    source: UInt32Builder,
    sequence: UInt64Builder,
    submitted: TimestampNanosecondBuilder,
    recorded: TimestampNanosecondBuilder,
}

impl Stamps {
    fn add(&mut self, stamp: &Stamp) {
        // The year 2262 ends the times of Arrow. What is later is null.
        let time = |nanoseconds: u64| i64::try_from(nanoseconds).ok();
        self.topic.append_value(&stamp.topic);
        self.source.append_value(stamp.source);
        self.sequence.append_value(stamp.sequence);
        self.submitted.append_option(time(stamp.submitted));
        self.recorded.append_option(time(stamp.recorded));
    }

    fn take(&mut self) -> (Vec<Arc<Field>>, Vec<ArrayRef>) {
        let values: Vec<ArrayRef> = vec![
            Arc::new(self.topic.finish()),
            Arc::new(self.source.finish()),
            Arc::new(self.sequence.finish()),
            Arc::new(self.submitted.finish().with_timezone("UTC")),
            Arc::new(self.recorded.finish().with_timezone("UTC")),
        ];
        let field = |(name, values): (&&str, &ArrayRef)| {
            let kind = values.data_type();
            Arc::new(Field::new(*name, kind.clone(), matches!(kind, DataType::Timestamp(..))))
        };
        (STAMPS.iter().zip(&values).map(field).collect(), values)
    }
}

/// The fields with arrays of characters among those that are wanted, or within them.
fn texts(structure: &Structure, wanted: Option<&[String]>) -> Vec<Box<str>> {
    fn has_text(field: &isoform::core::Field) -> bool {
        match &field.element {
            Element::Structure(inner) => inner.fields().iter().any(has_text),
            element => *element == Element::Char && !field.dims.is_empty(),
        }
    }
    let is_wanted = |name: &str| {
        let first = |path: &String| path.split(['.', '[']).next() == Some(name);
        wanted.is_none_or(|paths| paths.iter().any(first))
    };
    let fields = structure.fields().iter().filter(|field| is_wanted(&field.name) && has_text(field));
    fields.map(|field| field.name.clone()).collect()
}

/// Refuses arrays of characters that are no UTF-8.
fn is_text(item: Item<'_>) -> Result<()> {
    let utf8 = |text: &[u8]| match str::from_utf8(text.split(|byte| *byte == 0).next().unwrap_or_default()) {
        Ok(_) => Ok(()),
        Err(_) => Err(isoform::Error::new(Code::Utf8).expected("UTF-8, as text is in Arrow")),
    };
    match item {
        Item::Array(array) if *array.element_type() == Element::Char => {
            let width = array.dims().last().copied().unwrap_or(1).max(1);
            array.bytes().chunks(width).try_for_each(utf8)
        }
        Item::Array(array) if matches!(array.element_type(), Element::Structure(_)) => {
            array.elements().try_for_each(is_text)
        }
        Item::Record(view) => {
            view.fields().try_for_each(|(field, item)| is_text(item).map_err(|error| error.within(&field.name)))
        }
        _ => Ok(()),
    }
}

fn parquet_failed(error: ParquetError) -> Failure {
    failed(&error.to_string(), error.source().and_then(|error| error.downcast_ref()))
}

fn arrow_failed(error: ArrowError) -> Failure {
    match &error {
        ArrowError::IoError(_, cause) => failed(&error.to_string(), Some(cause)),
        _ => failed(&error.to_string(), None),
    }
}

fn failed(text: &str, cause: Option<&io::Error>) -> Failure {
    Failure::usage(format!("cannot write: {}", cause.map_or_else(|| text.to_string(), reason)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::{Layout, declare::Shape};
    use isoform::message::Header;

    /// However small the records are, their stamps count.
    #[test]
    fn a_table_holds_no_more_than_its_share() {
        let format = Shape::parse("record Level\n  metres double").unwrap().all_on(&Layout::NATIVE).unwrap().remove(0);
        let mut stamp = Stamp { topic: String::new(), source: 0, sequence: 0, submitted: 0, recorded: 0 };
        for kind in [Kind::Arrow, Kind::Parquet] {
            let file = tempfile::tempfile().unwrap();
            let mut table = table(kind, file.try_clone().unwrap(), &format, None, true).unwrap();
            table.share(1 << 20);
            let mut added = 0;
            for row in 0..100_u64 {
                // Letters of six bits each, which nothing makes smaller.
                let mut state = row;
                let letters = std::iter::repeat_with(|| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    char::from(b' ' + (state >> 58) as u8)
                });
                stamp.topic = letters.take(100_000).collect();
                let message = Incoming::new(Header::new(format.token(), 8), &format, &[0; 8]);
                table.add(&message, message.view().unwrap(), Some(&stamp)).unwrap().unwrap();
                added += stamp.topic.len();
                let written = file.metadata().unwrap().len() as usize;
                let held = (added * 3 / 4).saturating_sub(written);
                assert!(held <= 1 << 20, "{written} of {added} bytes are in the file");
            }
            table.end().unwrap();
        }
    }
}
