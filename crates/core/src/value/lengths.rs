//! The lengths of a record's dynamic arrays, computed from the arrays.

use super::{Value, no_such_field};
use crate::error::{Code, Error, Result};
use crate::format::{Dimension, Element, Field, Structure};

/// The values of a structure's fields, and the lengths in its length fields.
pub(super) struct Entries<'v> {
    values: Vec<Option<&'v Value>>,
    lengths: Vec<Option<usize>>,
}

impl<'v> Entries<'v> {
    /// The entries of `record`, which may be missing.
    pub(super) fn of(structure: &Structure, record: Option<&'v Value>) -> Result<Entries<'v>> {
        let none = || vec![None; structure.fields().len()];
        let mut entries = Entries { values: none(), lengths: vec![None; structure.fields().len()] };
        match record {
            None => {}
            Some(Value::Record(given)) => {
                for (name, value) in given {
                    let index = structure.index_of(name).ok_or_else(|| no_such_field(structure, name))?;
                    if entries.values[index].replace(value).is_some() {
                        return Err(Error::new(Code::BadRecord).at(&**name).found("two values for one field"));
                    }
                }
            }
            Some(other) => return Err(other.wrong_type("a record")),
        }
        entries.find_lengths(structure).map(|()| entries)
    }

    /// The value of a field, if there is one.
    pub(super) fn value(&self, field: usize) -> Option<&'v Value> {
        self.values[field]
    }

    /// The value of a length field.
    pub(super) fn length(&self, field: usize) -> Option<usize> {
        self.lengths[field]
    }

    /// The dimensions of a field's array.
    pub(super) fn dims(&self, field: &Field) -> Vec<usize> {
        let dim = |dim: &Dimension| match *dim {
            Dimension::Fixed(n) => n,
            Dimension::Field(index) => self.lengths[index].unwrap_or(0),
        };
        field.dims.iter().map(dim).collect()
    }

    /// Arrays determine their lengths, down to where they have no elements. The other lengths are the given ones, or 0.
    fn find_lengths(&mut self, structure: &Structure) -> Result<()> {
        for (index, field) in structure.fields().iter().enumerate() {
            let Some(value) = self.value(index).filter(|_| field.is_dynamic()) else { continue };
            let found = dimensions(value, field);
            for (dim, &length) in field.dims.iter().zip(&found).take_while(|(_, length)| **length > 0) {
                if let Dimension::Field(by) = *dim
                    && *self.lengths[by].get_or_insert(length) != length
                {
                    let error = Error::new(Code::Lengths).at(&*field.name);
                    let known = self.lengths[by].unwrap_or(0);
                    return Err(error
                        .expected(format_args!("{} = {known}", structure.fields()[by].name))
                        .found(length));
                }
            }
        }
        for field in structure.fields().iter().filter(|field| field.is_dynamic()) {
            for dim in &field.dims {
                let Dimension::Field(by) = *dim else { continue };
                self.given_length(by, &structure.fields()[by])?;
            }
        }
        Ok(())
    }

    fn given_length(&mut self, index: usize, field: &Field) -> Result<()> {
        let given = match self.value(index) {
            None => None,
            Some(Value::Integer(given)) => {
                let length = usize::try_from(*given);
                Some(length.map_err(|_| {
                    Error::new(Code::Overflow).at(&*field.name).expected("a length of 0 or more").found(given)
                })?)
            }
            Some(other) => return Err(other.wrong_type("the length of an array").at(&*field.name)),
        };
        let length = *self.lengths[index].get_or_insert(given.unwrap_or(0));
        match given {
            Some(given) if given != length => {
                Err(Error::new(Code::Lengths).at(&*field.name).expected(format_args!("{length} elements")).found(given))
            }
            _ => Ok(()),
        }
    }
}

/// The dimensions of a value, up to as many as its field has. The writer checks whether all rows have the same.
fn dimensions(value: &Value, field: &Field) -> Vec<usize> {
    let mut found = Vec::new();
    let mut value = Some(value);
    while found.len() < field.dims.len() {
        match value {
            Some(Value::Array(values)) => {
                found.push(values.len());
                value = values.first();
            }
            Some(Value::String(text)) if field.element == Element::Char => {
                // Of a fixed dimension, text may fill a part.
                found.push(match field.dims[found.len()] {
                    Dimension::Fixed(length) => length,
                    Dimension::Field(_) => text.len(),
                });
                value = None;
            }
            _ => found.push(0),
        }
    }
    found
}
