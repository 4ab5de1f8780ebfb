//! Records as rows of a table, with one column for each field. Fields of nested records have names with dots.
//!
//! This creates the cells. The program that prints them knows the width of the screen.

use super::{Shown, is_hidden};
use crate::format::{Element, Field, Format, Structure};
use crate::view::{Array, Item, View};

/// The columns of a format's records.
///
/// ```
/// use isoform_core::text::{json, table::Table};
/// use isoform_core::{Layout, Shape, Verifier, View, value};
/// let point = Shape::new("point").field("x", "double").unit("m").field("y", "double").unit("m");
/// let format = Shape::new("track").nested(point).field("at", "point").field("n", "int").field("heights", "float[n]");
/// let format = format.on(&Layout::X86_64)?;
/// let record = json::parse(&format, r#"{"at":{"x":1.5,"y":-2},"heights":[1,2,3,4,5,6,7,8,9,10,11,12]}"#)?;
/// let body = value::body(&format, &record)?;
/// let verifier = Verifier::new(&format);
///
/// let table = Table::new(&format, 24);
/// let names: Vec<String> = table.columns().map(|column| column.name).collect();
/// assert_eq!(names, ["at.x", "at.y", "n", "heights"]);
/// let cells = table.cells(View::new(verifier.verify(&body)?));
/// assert_eq!(cells, ["1.5", "-2.0", "12", "[1.0, 2.0, … 12 values]"]);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    format: Format,
    count: usize,
    width: usize,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The path of its field, such as `pos.x`.
    pub name: String,
    /// The unit of measurement.
    pub unit: Option<Box<str>>,
    /// Whether its cells are single numbers, which are aligned to the right.
    pub number: bool,
}

impl Table {
    /// Creates the table of a format, with cells of at most `width` characters if possible. Numbers keep their digits,
    /// and arrays at least state their length.
    pub fn new(format: &Format, width: usize) -> Table {
        Table { format: format.clone(), count: count(format.structure()), width }
    }

    /// Its columns, in the order of the fields.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Column> {
        let way = vec![Step { fields: self.format.structure().fields().iter(), prefix: 0 }];
        Columns { way, path: String::new(), left: self.count }
    }

    /// The cells of a record of the format, one for each column. Control characters in them are escaped.
    pub fn cells(&self, view: View<'_>) -> Vec<String> {
        let mut cells = Vec::with_capacity(self.count);
        self.record(view.structure(), Some(view), &mut cells);
        cells
    }

    fn record(&self, structure: &Structure, view: Option<View<'_>>, cells: &mut Vec<String>) {
        let Some(view) = view else {
            return cells.extend((0..count(structure)).map(|_| "null".to_string()));
        };
        for (field, item) in view.fields() {
            match (nested(field), item) {
                (Some(inner), Item::Record(view)) => self.record(inner, Some(view), cells),
                (Some(inner), _) => self.record(inner, None, cells),
                (None, item) => cells.push(cell(item, self.width)),
            }
        }
    }
}

/// The number of columns.
fn count(structure: &Structure) -> usize {
    structure.fields().iter().map(|field| nested(field).map_or(1, count)).sum()
}

/// Iterates over the columns. It creates their names one by one, since names of deeply nested fields are long, and
/// many.
struct Columns<'a> {
    /// The path from the record to the current structure.
    way: Vec<Step<'a>>,
    /// The path to it.
    path: String,
    left: usize,
}

/// A structure on the path: its remaining fields, and the length of the path to it.
struct Step<'a> {
    fields: std::slice::Iter<'a, Field>,
    prefix: usize,
}

impl Iterator for Columns<'_> {
    type Item = Column;

    fn next(&mut self) -> Option<Column> {
        loop {
            let Step { fields, prefix } = self.way.last_mut()?;
            self.path.truncate(*prefix);
            let Some(field) = fields.next() else {
                self.way.pop();
                continue;
            };
            self.path.push_str(&field.name);
            let Some(inner) = nested(field) else {
                self.left -= 1;
                let number = matches!(field.element, Element::Integer { .. } | Element::Float { .. });
                let (name, unit) = (self.path.clone(), field.unit.clone());
                return Some(Column { name, unit, number: number && field.dims.is_empty() });
            };
            self.path.push('.');
            self.way.push(Step { fields: inner.fields().iter(), prefix: self.path.len() });
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Columns<'_> {}

/// The structure of a single nested record, whose fields have columns of their own.
fn nested(field: &Field) -> Option<&Structure> {
    match &field.element {
        Element::Structure(inner) if field.dims.is_empty() => Some(inner),
        _ => None,
    }
}

/// The cell of a single field, such as [`View::get`] returns, of at most `width` characters if possible.
pub fn cell(item: Item<'_>, width: usize) -> String {
    match item {
        Item::Null => "null".into(),
        Item::Boolean(truth) => truth.to_string(),
        Item::Integer(number) => number.to_string(),
        Item::Unsigned(number) => number.to_string(),
        Item::Float(number) => number.to_string(),
        Item::Complex([real, imaginary]) => {
            let imaginary = imaginary.to_string();
            let sign = if imaginary.starts_with('-') { "" } else { "+" };
            format!("{real}{sign}{imaginary}i")
        }
        Item::Char(0) => String::new(),
        Item::Char(byte) => text(&[byte], width),
        Item::Symbol(symbol) => Shown(&symbol.name).to_string(),
        Item::String(bytes) => text(bytes, width),
        Item::Array(array) => self::array(array, width),
        Item::Record(view) => record(view, width),
    }
}

/// As many characters as fit.
fn text(bytes: &[u8], width: usize) -> String {
    // This many bytes have too many characters already.
    let shown = &bytes[..bytes.len().min(width.saturating_add(1).saturating_mul(4))];
    let mut cell = String::new();
    for chunk in shown.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_hidden(c) { cell.extend(c.escape_default()) } else { cell.push(c) }
        }
        cell.extend(chunk.invalid().iter().flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from));
    }
    match cell.char_indices().nth(width) {
        None => cell,
        Some(_) => {
            let cut = cell.char_indices().nth(width.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", &cell[..cut])
        }
    }
}

/// The first elements, and the number of all.
fn array(array: Array<'_>, width: usize) -> String {
    if let Some(bytes) = array.text() {
        return text(bytes, width);
    }
    let what = match array.element_type() {
        _ if array.dims().len() > 1 => {
            let dims: Vec<String> = array.dims().iter().map(usize::to_string).collect();
            format!("{} values]", dims.join(" x "))
        }
        Element::Structure(_) => format!("{}]", counted(array.len(), "record")),
        _ => format!("{}]", counted(array.len(), "value")),
    };
    list(array.iter().map(|item| cell(item, width)), array.len(), '[', ']', &what, width)
}

fn record(view: View<'_>, width: usize) -> String {
    let fields = view.fields();
    let what = format!("{}}}", counted(fields.len(), "field"));
    let count = fields.len();
    list(fields.map(|(field, item)| format!("{}: {}", field.name, cell(item, width))), count, '{', '}', &what, width)
}

/// `[a, b, c]` if that fits, else `[a, … 3 values]`.
fn list(
    parts: impl Iterator<Item = String>,
    count: usize,
    open: char,
    close: char,
    what: &str,
    width: usize,
) -> String {
    let mut whole = String::from(open);
    // The length that fits before "… 3 values]".
    let mut cut = whole.len();
    let room = |text: &str, behind: usize| text.chars().count() + behind <= width;
    for (i, part) in parts.enumerate() {
        whole.push_str(&part);
        whole.push_str(if i + 1 < count { ", " } else { "" });
        if room(&whole, 2 + what.chars().count()) {
            cut = whole.len();
        }
        if !room(&whole, 0) {
            break;
        }
    }
    whole.push(close);
    if room(&whole, 0) { whole } else { format!("{}… {what}", &whole[..cut]) }
}

fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
