//! Single fields of many records, each in one array, converted directly to their place without records in between.

use crate::flat::Decoder;
use isoform::core::{ByteOrder, Element, Field, Plan, Structure};
use isoform::memory::Engine;
use isoform::{Batch, Code, Error, Faults, Format, Incoming, Machine, Result, Rules, Token};
use std::mem;

/// Fields of many records, with a column for each.
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
    rules: Rules,
    faults: Faults,
    /// The last format of which it is known that it has one of the fields.
    known: Option<Token>,
}

/// One of them.
struct Column {
    field: Field,
    /// Decodes a record with this field alone.
    decoder: Decoder,
    bytes: Vec<u8>,
}

impl Columns {
    /// Creates columns for the fields of these names, or for all fields, in this machine's byte order.
    ///
    /// # Errors
    /// [`Code::NoSuchField`]; [`Code::WrongType`] for a field that is not of fixed size, or has pointers.
    pub fn new(format: &Format, names: Option<&[String]>, rules: &Rules, faults: Faults) -> Result<Columns> {
        let structure = format.structure();
        let unknown =
            |name: &String| Error::new(Code::NoSuchField).expected(crate::rules::names(structure)).found(name);
        let named = |name: &String| structure.field(name).ok_or_else(|| unknown(name));
        let column = |field: Result<_>| field.and_then(|field| Column::new(structure, field, rules.clone(), faults));
        let columns = match names {
            Some(names) => names.iter().map(named).map(column).collect::<Result<_>>()?,
            None => structure.fields().iter().map(Ok).map(column).collect::<Result<_>>()?,
        };
        Ok(Columns { columns, rows: 0, rules: rules.clone(), faults, known: None })
    }

    /// Adds a row for a message.
    ///
    /// # Errors
    /// As [`Decoder::append`]; the columns are then unchanged.
    pub fn append(&mut self, message: &Incoming<'_>) -> Result<()> {
        self.check(message.format())?;
        self.add(1, |decoder, bytes| decoder.append(message, bytes))
    }

    /// Adds a row for each message of a batch.
    ///
    /// # Errors
    /// As [`Decoder::append_many`]; the columns are then unchanged.
    pub fn append_many(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.check(batch.format())?;
        self.add(batch.len(), |decoder, bytes| decoder.append_many(batch, bytes))
    }

    /// Refuses records of another kind, which have none of the fields.
    fn check(&mut self, wire: &Format) -> Result<()> {
        if self.known == Some(wire.token()) {
            return Ok(());
        }
        let mut other = None;
        for column in &self.columns {
            let native = column.decoder.format();
            match Plan::new(wire, native, &self.rules, self.faults) {
                Err(error) if error.code() == Code::NoConversion && error.path() == native.name() => {
                    other.get_or_insert(error);
                }
                _ => {
                    self.known = Some(wire.token());
                    return Ok(());
                }
            }
        }
        other.map_or(Ok(()), Err)
    }

    fn add(&mut self, count: usize, mut add: impl FnMut(&mut Decoder, &mut Vec<u8>) -> Result<()>) -> Result<()> {
        let added = self.columns.iter_mut().try_for_each(|column| add(&mut column.decoder, &mut column.bytes));
        self.rows += if added.is_ok() { count } else { 0 };
        for column in &mut self.columns {
            column.bytes.truncate(self.rows * column.decoder.format().size());
        }
        added
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The fields, each in a record of its own.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.columns.iter().map(|column| &column.field)
    }

    /// The format of records with one of the fields alone, of which its column consists.
    pub fn format(&self, column: usize) -> &Format {
        self.columns[column].decoder.format()
    }

    /// Takes the values of a column, to show them. [`give`](Columns::give) returns them, before more rows are added.
    pub fn take(&mut self, column: usize) -> Vec<u8> {
        mem::take(&mut self.columns[column].bytes)
    }

    /// Returns the values of a column.
    pub fn give(&mut self, column: usize, values: Vec<u8>) {
        self.columns[column].bytes = values;
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(|column| column.bytes = Vec::new());
    }
}

impl Column {
    fn new(structure: &Structure, field: &Field, rules: Rules, faults: Faults) -> Result<Column> {
        let machine = structure.machine();
        let size = field.extent(machine.pointer).filter(|_| !field.has_slots() && !field.is_dynamic());
        let size = size.ok_or_else(|| {
            Error::new(Code::WrongType).at(&*field.name).expected("a field of fixed size, without pointers")
        })?;
        // In this machine's byte order, for programs that compute with a column, and for Arrow.
        let machine = Machine { order: ByteOrder::NATIVE, ..machine };
        let field = Field { offset: 0, ..on(machine, field)? };
        let record = Structure::new(structure.name(), machine, size, 1, vec![field.clone()])?;
        let decoder = Decoder::new(&Format::new(record.into())?, rules.part(), faults, Engine::Auto)?;
        Ok(Column { field, decoder, bytes: Vec::new() })
    }
}

/// The same field on another machine, at its place there.
fn on(machine: Machine, field: &Field) -> Result<Field> {
    let mut field = field.clone();
    if let Element::Structure(inner) = &field.element {
        let fields = inner.fields().iter().map(|field| on(machine, field)).collect::<Result<_>>()?;
        field.element =
            Element::Structure(Structure::new(inner.name(), machine, inner.size(), inner.align(), fields)?.into());
    }
    Ok(field)
}
