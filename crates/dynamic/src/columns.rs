//! Single fields of many records, each in one array, converted directly to their place without records in between.

use crate::flat::Decoder;
use crate::rules::walk;
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
    /// The field, named by its path, with the dimensions of the arrays that it lies in.
    field: Field,
    /// The format of records with this field alone.
    shown: Format,
    /// Decodes a record with this field alone, within the structures that it lies in.
    decoder: Decoder,
    bytes: Vec<u8>,
}

impl Columns {
    /// Creates columns for the fields at these paths, such as `com.x`, or for all fields, in this machine's byte order. The
    /// elements of a field within an array of structures are an array.
    ///
    /// # Errors
    /// [`Code::NoSuchField`]; [`Code::WrongType`] for a field that is not of fixed size, or has pointers.
    pub fn new(format: &Format, names: Option<&[String]>, rules: &Rules, faults: Faults) -> Result<Columns> {
        let structure = format.structure();
        let column = |path: &str| Column::new(structure, path, rules.clone(), faults);
        let columns = match names {
            Some(names) => names.iter().map(|path| column(path)).collect::<Result<_>>()?,
            None => structure.fields().iter().map(|field| column(&field.name)).collect::<Result<_>>()?,
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
        &self.columns[column].shown
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
    fn new(structure: &Structure, path: &str, rules: Rules, faults: Faults) -> Result<Column> {
        let steps = walk(structure, path)?;
        let Some(((owner, leaf), outer)) = steps.split_last() else { return Err(Error::new(Code::NoSuchField)) };
        let machine = structure.machine();
        let in_place = |field: &Field| !field.indirect && !field.is_dynamic();
        let size = leaf.extent(machine.pointer).filter(|_| !leaf.has_slots() && !leaf.is_dynamic());
        let size = size
            .filter(|_| outer.iter().all(|(_, field)| in_place(field)))
            .ok_or_else(|| Error::new(Code::WrongType).at(path).expected("a field of fixed size, without pointers"))?;
        // In this machine's byte order, for programs that compute with a column, and for Arrow.
        let machine = Machine { order: ByteOrder::NATIVE, ..machine };
        let leaf = Field { offset: 0, ..on(machine, leaf)? };
        let mut record = Structure::new(owner.name(), machine, size, 1, vec![leaf.clone()])?;
        for (owner, field) in outer.iter().rev() {
            let size = record.size() * field.fixed_count().unwrap_or(0);
            let field = Field { offset: 0, element: Element::Structure(record.into()), ..(*field).clone() };
            record = Structure::new(owner.name(), machine, size, 1, vec![field])?;
        }
        let dims = steps.iter().flat_map(|(_, field)| field.dims.iter().copied()).collect();
        let shown = Field { dims, ..leaf };
        let field = Field { name: path.into(), ..shown.clone() };
        let shown = Format::new(Structure::new(structure.name(), machine, record.size(), 1, vec![shown])?.into())?;
        let decoder = Decoder::new(&Format::new(record.into())?, rules.part(), faults, Engine::Auto)?;
        Ok(Column { field, shown, decoder, bytes: Vec::new() })
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
