//! Single fields of many records, each in one array, converted directly to their place without records in between.

mod stamps;
mod varied;

use crate::arrow::builder::without_lengths;
use crate::arrow::{self, Array, Memory, Schema};
use crate::flat::Decoder;
use crate::rules::walk;
use isoform::core::{ByteOrder, Element, Field, Plan, Structure, Value, Verifier};
use isoform::memory::Engine;
use isoform::{Batch, Code, Error, Faults, Format, Incoming, Machine, Result, Rules};
use std::mem;
use varied::Varied;

pub use stamps::{Stamps, Values as StampValues};

/// Fields of many records, with a column for each.
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
    rules: Rules,
    faults: Faults,
    /// The verifier of the last format, of which it is known that it has one of the fields. A record is verified once for all
    /// columns.
    verifier: Option<Verifier>,
    /// What is known of the events beside their records, if that is wanted.
    stamps: Option<Stamps>,
}

/// One of them.
struct Column {
    /// The path of the field.
    name: String,
    /// A record with this field alone, within the structures that it lies in.
    native: Format,
    values: Values,
}

enum Values {
    Fixed(Fixed),
    Varied(Varied),
}

/// Values of fixed size, side by side.
struct Fixed {
    /// A record with the field alone, with the dimensions of the arrays that it lies in.
    shown: Format,
    decoder: Decoder,
    bytes: Vec<u8>,
}

impl Columns {
    /// Creates columns for the fields at these paths, such as `com.x`, in this machine's byte order; by default for all fields but
    /// the lengths of arrays. The elements of a field within an array of structures are an array.
    ///
    /// # Errors
    /// [`Code::NoSuchField`]; [`Code::WrongType`] for a field whose size varies, and that Arrow lacks.
    pub fn new(format: &Format, names: Option<&[String]>, rules: &Rules, faults: Faults) -> Result<Columns> {
        let structure = format.structure();
        let column = |path: &str| Column::new(structure, path, rules.clone(), faults);
        let columns = match names {
            Some(names) => names.iter().map(|path| column(path)).collect::<Result<_>>()?,
            None => without_lengths(structure).map(|(_, field)| column(&field.name)).collect::<Result<_>>()?,
        };
        Ok(Columns { columns, rows: 0, rules: rules.clone(), faults, verifier: None, stamps: None })
    }

    /// Adds a row for a message.
    ///
    /// # Errors
    /// As [`Decoder::append`]; the columns are then unchanged.
    pub fn append(&mut self, message: &Incoming<'_>) -> Result<()> {
        let Columns { columns, rows, verifier, rules, faults, .. } = self;
        let body = known(verifier, message.format(), columns, rules, *faults)?.verify(message.body())?;
        add(columns, rows, 1, |values| match values {
            Values::Fixed(values) => values.decoder.append_body(body, &mut values.bytes),
            Values::Varied(values) => values.append(body),
        })
    }

    /// Adds a row for each message of a batch.
    ///
    /// # Errors
    /// As [`Decoder::append_many`]; the columns are then unchanged.
    pub fn append_many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let Columns { columns, rows, verifier, rules, faults, .. } = self;
        let bodies = batch.verify(known(verifier, batch.format(), columns, rules, *faults)?)?;
        add(columns, rows, batch.len(), |values| match values {
            Values::Fixed(values) => values.decoder.append_bodies(bodies, &mut values.bytes),
            Values::Varied(values) => values.append_many(bodies),
        })
    }

    /// Puts columns of stamps in front of the others, which must have no rows yet.
    pub fn set_stamps(&mut self, stamps: Stamps) {
        self.stamps = Some(stamps);
    }

    /// The columns of stamps. Whoever adds rows adds as many stamps.
    pub fn stamps(&mut self) -> Option<&mut Stamps> {
        self.stamps.as_mut()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The paths of the fields.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// The format of records with one of the fields alone, of which its column consists. `None` if the size of its values
    /// varies.
    pub fn format(&self, column: usize) -> Option<&Format> {
        match &self.columns[column].values {
            Values::Fixed(values) => Some(&values.shown),
            Values::Varied(_) => None,
        }
    }

    /// Takes the values of a column of fixed size, to show them. [`give`](Columns::give) returns them, before more rows are
    /// added.
    pub fn take(&mut self, column: usize) -> Option<Vec<u8>> {
        match &mut self.columns[column].values {
            Values::Fixed(values) => Some(mem::take(&mut values.bytes)),
            Values::Varied(_) => None,
        }
    }

    /// Returns the values of a column of fixed size.
    pub fn give(&mut self, column: usize, bytes: Vec<u8>) {
        if let Values::Fixed(values) = &mut self.columns[column].values {
            values.bytes = bytes;
        }
    }

    /// The value of a row, in a column whose values vary in size. `None` in others.
    pub fn value(&self, column: usize, row: usize) -> Option<Value> {
        match &self.columns[column].values {
            Values::Fixed(_) => None,
            Values::Varied(values) => (row < self.rows).then(|| values.builder.value(row)),
        }
    }

    /// The schema of the columns in Arrow, as that of a record of this name. Text may be null, and so are pointers to records,
    /// numbers or arrays of fixed size. Arrays of variable size are lists.
    ///
    /// # Errors
    /// [`Code::WrongType`] for a type that Arrow lacks.
    pub fn schema(&self, name: &str) -> Result<Schema> {
        let each = self.columns.iter().map(|column| match &column.values {
            Values::Fixed(values) => arrow::of_field(&column.field(values)),
            Values::Varied(values) => values.builder.schema(),
        });
        let stamps = self.stamps.as_ref().map(Stamps::schema).transpose()?;
        arrow::schema(name, stamps.into_iter().flatten().map(Ok).chain(each).collect::<Result<_>>()?)
    }

    /// The values of the columns in Arrow. `taken` has the values of each column of fixed size, which [`take`](Columns::take) has
    /// returned.
    ///
    /// # Errors
    /// [`Code::Utf8`] for text that is not UTF-8; [`Code::WrongType`] if the values of a column are not given.
    pub fn array(&self, taken: impl IntoIterator<Item = Option<Memory>>) -> Result<Array> {
        let mut taken = taken.into_iter();
        let mut each = self.stamps.as_ref().map_or_else(|| Ok(Vec::new()), |stamps| stamps.arrays(self.rows))?;
        for column in &self.columns {
            let given = taken.next().flatten();
            each.push(match &column.values {
                Values::Varied(values) => values.builder.array()?,
                Values::Fixed(values) => {
                    let missing = || Error::new(Code::WrongType).at(&*column.name).expected("the values of the column");
                    let given = given.filter(|given| given.length() == self.rows * values.decoder.format().size());
                    arrow::values(self.rows, &column.field(values), given.ok_or_else(missing)?)
                        .map_err(|error| error.within(&column.name))?
                }
            });
        }
        Ok(arrow::array(self.rows, each))
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.stamps.iter_mut().for_each(Stamps::clear);
        self.columns.iter_mut().for_each(|column| column.values.clear());
    }
}

/// The verifier of a format, which is usually that of the last record.
#[inline]
fn known<'v>(
    last: &'v mut Option<Verifier>,
    wire: &Format,
    columns: &[Column],
    rules: &Rules,
    faults: Faults,
) -> Result<&'v Verifier> {
    if last.as_ref().is_none_or(|last| last.format() != wire) {
        check(wire, columns, rules, faults)?;
        *last = None;
    }
    Ok(last.get_or_insert_with(|| Verifier::new(wire)))
}

/// Refuses records of another kind, which have none of the fields.
#[cold]
fn check(wire: &Format, columns: &[Column], rules: &Rules, faults: Faults) -> Result<()> {
    let mut other = None;
    for Column { native, .. } in columns {
        match Plan::new(wire, native, rules, faults) {
            Err(error) if error.code() == Code::NoConversion && error.path() == native.name() => {
                other.get_or_insert(error);
            }
            _ => return Ok(()),
        }
    }
    other.map_or(Ok(()), Err)
}

/// Adds so many rows to each column, or none to any.
#[inline]
fn add(
    columns: &mut [Column],
    rows: &mut usize,
    count: usize,
    mut add: impl FnMut(&mut Values) -> Result<()>,
) -> Result<()> {
    let added = columns.iter_mut().try_for_each(|column| add(&mut column.values));
    match added {
        Ok(()) => *rows += count,
        Err(_) => columns.iter_mut().for_each(|column| column.values.truncate(*rows)),
    }
    added
}

impl Values {
    fn truncate(&mut self, rows: usize) {
        match self {
            Values::Fixed(values) => values.bytes.truncate(rows * values.decoder.format().size()),
            Values::Varied(values) => values.builder.truncate(rows),
        }
    }

    fn clear(&mut self) {
        match self {
            Values::Fixed(values) => values.bytes = Vec::new(),
            Values::Varied(values) => values.builder.truncate(0),
        }
    }
}

impl Column {
    fn new(structure: &Structure, path: &str, rules: Rules, faults: Faults) -> Result<Column> {
        let steps = walk(structure, path)?;
        let machine = structure.machine();
        // In this machine's byte order, for programs that compute with a column, and for Arrow.
        let machine = Machine { order: ByteOrder::NATIVE, ..machine };
        if steps.iter().any(|(_, field)| field.has_slots()) {
            let (native, values) = Varied::new(machine, path, &steps, rules, faults)?;
            return Ok(Column { name: path.into(), native, values: Values::Varied(values) });
        }
        let Some(((owner, leaf), outer)) = steps.split_last() else { return Err(Error::new(Code::NoSuchField)) };
        let wrong = || Error::new(Code::WrongType).at(path).expected("a field of fixed size, without pointers");
        let size = leaf.extent(machine.pointer).ok_or_else(wrong)?;
        let leaf = Field { offset: 0, ..on(machine, leaf)? };
        let mut record = Structure::new(owner.name(), machine, size, 1, vec![leaf.clone()])?;
        for (owner, field) in outer.iter().rev() {
            let size = record.size() * field.fixed_count().unwrap_or(0);
            let field = Field { offset: 0, element: Element::Structure(record.into()), ..(*field).clone() };
            record = Structure::new(owner.name(), machine, size, 1, vec![field])?;
        }
        let dims = steps.iter().flat_map(|(_, field)| field.dims.iter().copied()).collect();
        let shown = vec![Field { dims, ..leaf }];
        let shown = Format::new(Structure::new(structure.name(), machine, record.size(), 1, shown)?.into())?;
        let native = Format::new(record.into())?;
        let decoder = Decoder::new(&native, rules.part(), faults, Engine::Auto)?;
        Ok(Column { name: path.into(), native, values: Values::Fixed(Fixed { shown, decoder, bytes: Vec::new() }) })
    }

    /// The field, named by its path.
    fn field(&self, values: &Fixed) -> Field {
        let field = &values.shown.structure().fields()[0];
        Field { name: (&*self.name).into(), ..field.clone() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::declare::{Layout, Shape};
    use isoform::core::message::Header;
    use isoform::core::value;
    use isoform::text::json;

    fn format(shape: &str, layout: &Layout) -> Format {
        Shape::parse(shape).and_then(|shape| shape.on(layout)).unwrap()
    }

    /// The JSON of a record of this format as a message.
    fn append(columns: &mut Columns, format: &Format, line: &str) -> Result<()> {
        let body = value::body(format, &json::parse(format, line)?)?;
        columns.append(&Incoming::new(Header::new(format.token(), body.len() as u64), format, &body))
    }

    fn column(columns: &Columns, name: &str) -> Vec<String> {
        let index = columns.names().position(|known| known == name).unwrap();
        (0..columns.rows()).map(|row| shown(&columns.value(index, row).unwrap())).collect()
    }

    fn shown(value: &Value) -> String {
        match value {
            Value::String(text) => format!("{:?}", String::from_utf8_lossy(text)),
            Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Value::Record(fields) => {
                let field = |(name, value): &(Box<str>, Value)| format!("{name}: {}", shown(value));
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }

    #[test]
    fn values_vary_in_size_and_a_message_that_does_not_fit_adds_none() {
        let shape = "record Part\n  id  short\n  n  int\n  at  float[n]\n\
            record R\n  text  string\n  k  int\n  parts  Part[k]\n  m  int\n  grid  f64[2][m]\n  half  f16*\n  \
            on  bool[k]\n  last  Part*\n  z  complex f32[m]\n  word  char[m]\n  step  long long";
        let sender = format(shape, &Layout::POWERPC);
        let receiver = format(&shape.replace("  id  short", "  id  unsigned char"), &Layout::X86_64);
        let names: Vec<String> = ["parts.at", "last.id", "m"].map(String::from).to_vec();
        let mut all = Columns::new(&receiver, None, &Rules::new(), Faults::Error).unwrap();
        let mut some = Columns::new(&receiver, Some(&names), &Rules::new(), Faults::Error).unwrap();
        assert_eq!(all.names().collect::<Vec<_>>().join(" "), "text parts grid half on last z word step");
        let one = r#"{"text":"hi","parts":[{"id":1,"at":[0.5]},{"id":2,"at":[]}],"grid":[[1,2],[3,4]],"half":0.25,
            "on":[true,false],"last":{"id":7,"at":[1,2]},"z":[[1,2],[3,4]],"word":"ab","step":9}"#;
        let none = r#"{"text":null,"parts":[],"grid":[],"half":null,"on":[],"last":null,"z":[],"word":"","step":9}"#;
        for columns in [&mut all, &mut some] {
            for _ in 0..2 {
                append(columns, &sender, one).unwrap();
                append(columns, &sender, none).unwrap();
            }
            let wrong = one.replace(r#""id":7"#, r#""id":700"#);
            assert_eq!(append(columns, &sender, &wrong).unwrap_err().path(), "last.id");
            assert_eq!(columns.rows(), 4);
            append(columns, &sender, one).unwrap();
            assert!(columns.schema("R").is_ok());
        }
        let twice = |one: &str, none: &str| [one, none, one, none, one].map(String::from).to_vec();
        let parts = "[{id: 1, at: [0.5]}, {id: 2, at: []}]";
        assert_eq!(column(&all, "text"), twice("\"hi\"", "null"));
        assert_eq!(column(&all, "parts"), twice(parts, "[]"));
        assert_eq!(column(&all, "grid"), twice("[[1.0, 2.0], [3.0, 4.0]]", "[]"));
        assert_eq!(column(&all, "half"), twice("0.25", "null"));
        assert_eq!(column(&all, "on"), twice("[true, false]", "[]"));
        assert_eq!(column(&all, "last"), twice("{id: 7, at: [1.0, 2.0]}", "null"));
        assert_eq!(column(&all, "z"), twice("[[1.0, 2.0], [3.0, 4.0]]", "[]"));
        assert_eq!(column(&all, "word"), twice("\"ab\"", "\"\""));
        assert_eq!(column(&some, "parts.at"), twice("[[0.5], []]", "[]"));
        assert_eq!(column(&some, "last.id"), twice("7", "null"));
        assert!(some.array([None, None, None]).is_err_and(|error| error.path() == "m"));
        let numbers = some.take(2).map(Memory::Own);
        assert!(some.array([None, None, numbers]).is_ok());
        all.clear();
        assert_eq!((all.rows(), all.value(0, 0)), (0, None));
        append(&mut all, &sender, one).unwrap();
        assert_eq!(column(&all, "parts"), [parts]);
    }

    #[test]
    fn arrow_lacks_some_numbers() {
        let receiver = format("record R\n  n  int\n  wide  i128[n]\n  text  string", &Layout::NATIVE);
        let fault = Columns::new(&receiver, None, &Rules::new(), Faults::Error).err().unwrap();
        assert_eq!((fault.code(), fault.path()), (Code::WrongType, "wide"));
        assert!(Columns::new(&receiver, Some(&["text".into()]), &Rules::new(), Faults::Error).is_ok());
    }
}
