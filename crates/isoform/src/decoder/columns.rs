//! Decodes many messages into arrays of single fields.
//!
//! Each column is converted as a decoder would convert records of that one field, and its conversions are cached in the
//! same way. Fields are converted many at a time, wherever they are in the messages. No records are created.

use crate::memory::{Conversions, Engine, Receiver};
use crate::message::Batch;
use crate::native::Native;
use crate::native::buffer::Buffer;
use isoform_core::interp::Output;
use isoform_core::{Code, Error, Faults, Field, Format, Machine, Result, Rules, Structure, Verifier};
use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Index;
use std::{fmt, slice};

/// The name of the one-field record that fills a column.
const NAME: &str = "Column";

/// Some fields of many messages, each as an array in the receiver's type, whatever the senders' layouts.
///
/// ```
/// use isoform::{Columns, Encoder, Record, stream::{Reader, Writer}};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Sample {
///     step: i32,
///     flags: u8,
///     depth: f32,
/// }
/// let (mut encoder, mut file) = (Encoder::new(), Writer::new(Vec::new()));
/// for step in 0..3 {
///     file.write(&encoder.encode(&Sample { step, flags: 0, depth: 0.5 * step as f32 })?)?;
/// }
///
/// let mut columns = Columns::new();
/// let depth = columns.field::<f64>("depth")?;
/// let step = columns.field::<i64>("step")?;
/// let mut stream = Reader::new(&file.inner()[..]);
/// while let Some(batch) = stream.next_batch()? {
///     columns.append(&batch)?;
/// }
/// assert_eq!(columns[depth], [0.0, 0.5, 1.0]);
/// assert_eq!(columns[step], [0, 1, 2]);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Default)]
pub struct Columns {
    columns: Vec<Stored>,
    rows: usize,
    faults: Faults,
    engine: Engine,
}

/// The place of a column in the [`Columns`] that created it.
pub struct Column<T> {
    index: usize,
    element: PhantomData<fn() -> T>,
}

/// Invariant: (4) `values` has one element of the type `element` for each row. `receiver.format` has one such element
/// as its only field, and that element is as large as the record.
struct Stored {
    name: Box<str>,
    element: TypeId,
    receiver: Receiver,
    conversions: Conversions,
    values: Buffer,
}

impl Columns {
    /// Creates a set without columns.
    pub fn new() -> Columns {
        Columns::default()
    }

    /// The same, with another treatment of numbers that do not fit their column. Without it, such a number is an error
    /// for the batch. It applies to columns that are added later.
    pub fn with_faults(mut self, faults: Faults) -> Columns {
        self.faults = faults;
        self
    }

    /// The same, with the given engine. It applies to columns that are added later.
    pub fn with_engine(mut self, engine: Engine) -> Columns {
        self.engine = engine;
        self
    }

    /// Adds a column for the field of this name, as type `T`: a number, a fixed array of numbers, a `#[repr(C)]` record
    /// or an enumeration.
    ///
    /// # Errors
    /// [`Code::Declaration`] if no field can have this name; [`Code::BadRecord`] if there are rows already.
    pub fn field<T: for<'a> Native<'a> + 'static>(&mut self, name: &str) -> Result<Column<T>> {
        if self.rows > 0 {
            return Err(Error::new(Code::BadRecord)
                .at(name)
                .expected("a column that is added before the first row")
                .found(format_args!("{} rows", self.rows)));
        }
        let mut dims = Vec::new();
        <T as Native<'static>>::dims(&mut dims);
        let field = Field {
            name: name.into(),
            element: <T as Native<'static>>::element(),
            dims: dims.into(),
            indirect: false,
            offset: 0,
            unit: None,
        };
        let structure = Structure::new(NAME, Machine::NATIVE, size_of::<T>(), align_of::<T>(), vec![field])?;
        let values = Buffer::new(structure.needs_check());
        let rules = <T as Native<'static>>::rules(Rules::new()).required(NAME, name);
        let mut receiver = Receiver::new(Format::new(structure.into())?, rules);
        (receiver.faults, receiver.engine) = (self.faults, self.engine);
        let (element, conversions) = (TypeId::of::<T>(), Conversions::default());
        self.columns.push(Stored { name: name.into(), element, receiver, conversions, values });
        Ok(Column { index: self.columns.len() - 1, element: PhantomData })
    }

    /// Adds a row for each message of a batch.
    ///
    /// # Errors
    /// As [`Decoder::decode_many`](crate::Decoder::decode_many); also if the sender lacks a field. The number of rows
    /// then stays the same.
    pub fn append(&mut self, batch: &Batch<'_>) -> Result<()> {
        let verifier = Verifier::new(batch.format());
        let bodies = batch.verify(&verifier)?;
        let rows = self.rows.checked_add(bodies.len()).ok_or_else(|| Error::new(Code::Size))?;
        for index in 0..self.columns.len() {
            if let Err(error) = self.columns[index].append(bodies, self.rows, rows) {
                self.columns[..=index].iter_mut().for_each(|column| column.truncate(self.rows));
                return Err(error);
            }
        }
        self.rows = rows;
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Removes all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(|column| column.truncate(0));
        self.rows = 0;
    }
}

impl Stored {
    /// Adds a value of each body to the first `before` values, which makes `after` in all.
    fn append(&mut self, bodies: isoform_core::Bodies<'_>, before: usize, after: usize) -> Result<()> {
        let conversion = self.conversions.find(bodies.format(), &self.receiver)?;
        let size = self.receiver.format.size();
        self.values.resize(after.checked_mul(size).ok_or_else(|| Error::new(Code::Size))?)?;
        conversion.converter.run_many(bodies, &mut self.values.bytes()[before * size..])
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows * self.receiver.format.size());
    }
}

impl<T: for<'a> Native<'a> + 'static> Index<Column<T>> for Columns {
    type Output = [T];

    /// The values of a column.
    ///
    /// # Panics
    /// If the column belongs to other `Columns` and has another type here.
    fn index(&self, column: Column<T>) -> &[T] {
        let stored = &self.columns[column.index];
        assert!(stored.element == TypeId::of::<T>(), "the column {:?} has another type", stored.name);
        // SAFETY: by (4) there are so many elements of this type, as an engine has made them, whose bytes are values. It holds no slots, by
        // Native's promise (5), and the buffer is aligned for all.
        unsafe { slice::from_raw_parts(stored.values.start().cast(), self.rows) }
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

impl<T> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({})", self.index)
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        write!(f, "Columns({names:?}, {} rows)", self.rows)
    }
}
