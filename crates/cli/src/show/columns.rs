//! The columns of a format's records: all of its fields, or those that were asked for.

use crate::output::Side;
use isoform::core::{Element, Field, Structure};
use isoform::text::table::{self, Table};
use isoform::{Error, Format, View};

/// The table for records of a format.
pub(super) struct Columns {
    pub(super) heads: Vec<Head>,
    /// How wide each column has become; for fewer columns if there is no room for all.
    pub(super) widths: Vec<usize>,
    cells: Cells,
}

/// The head of a column.
pub(super) struct Head {
    pub(super) name: String,
    pub(super) unit: Option<String>,
    pub(super) side: Side,
}

enum Cells {
    All(Table),
    Some { paths: Vec<String>, room: usize },
}

impl Columns {
    /// The columns of the fields at these paths, or of all fields, with so much room for texts and arrays.
    pub(super) fn new(format: &Format, paths: &[String], room: usize) -> Columns {
        let (heads, cells): (Vec<Head>, Cells) = if paths.is_empty() {
            let table = Table::new(format, room);
            let head = |column: table::Column| Head {
                name: column.name,
                unit: column.unit.map(String::from),
                side: side(column.number),
            };
            (table.columns().map(head).collect(), Cells::All(table))
        } else {
            let head = |path: &String| head(format.structure(), path);
            (paths.iter().map(head).collect(), Cells::Some { paths: paths.into(), room })
        };
        Columns { widths: vec![0; heads.len()], heads, cells }
    }

    /// Puts columns of other numbers and texts in front.
    pub(super) fn put_in_front<const N: usize>(&mut self, names: [&str; N]) {
        self.heads.splice(..0, names.map(|name| Head { name: name.into(), unit: None, side: Side::Right }));
        self.widths.splice(..0, [0; N]);
    }

    /// Leaves out the last columns, as far as there is no room for them.
    pub(super) fn fit(&mut self, room: Option<usize>) {
        let mut end = 0;
        let fits = |width: &&usize| {
            end += **width + 2;
            room.is_none_or(|room| end <= room + 2)
        };
        let count = self.widths.iter().take_while(fits).count();
        self.widths.truncate(count.max(1));
    }

    /// The cells of a record.
    ///
    /// # Errors
    /// If no record of its format has one of the fields.
    pub(super) fn cells(&self, view: View<'_>) -> Result<Vec<String>, Error> {
        match &self.cells {
            Cells::All(table) => Ok(table.cells(view)),
            Cells::Some { paths, room } => paths.iter().map(|path| Ok(table::cell(view.find(path)?, *room))).collect(),
        }
    }
}

fn side(number: bool) -> Side {
    if number { Side::Right } else { Side::Left }
}

fn head(structure: &Structure, path: &str) -> Head {
    let field = field_at(structure, path);
    let number = |field: &Field| {
        let indices = path.rsplit('.').next().unwrap_or(path).matches('[').count();
        matches!(field.element, Element::Integer { .. } | Element::Float { .. }) && field.dims.len() == indices
    };
    let unit = field.and_then(|field| field.unit.as_deref()).map(String::from);
    Head { name: path.into(), unit, side: side(field.is_some_and(number)) }
}

/// The field that a path leads to.
fn field_at<'a>(mut structure: &'a Structure, path: &str) -> Option<&'a Field> {
    let mut found: Option<&Field> = None;
    for name in path.split('.') {
        let name = name.split('[').next()?;
        if let Some(Field { element, .. }) = found {
            let Element::Structure(inner) = element else { return None };
            structure = inner;
        }
        found = Some(structure.field(name)?);
    }
    found
}
