//! A column whose values vary in size, or can be null: text, arrays of variable length, pointers, and records with such fields.

use super::on;
use crate::arrow::builder::Builder;
use crate::convert::Converter;
use isoform::core::view::Item;
use isoform::core::{Bodies, Body};
use isoform::core::{Dimension, Element, Field, Plan, Structure, interp};
use isoform::{Error, Faults, Format, Machine, Result, Rules, View};

pub(super) struct Varied {
    /// Converts to a record with the field alone, within the structures that it lies in.
    converter: Converter,
    /// The last record that it has made.
    made: Vec<u8>,
    pub(super) builder: Builder,
}

impl Varied {
    /// Creates a column for the field that these steps lead to, each with its structure, and the format of its records.
    ///
    /// # Errors
    /// [`Code::WrongType`](isoform::Code::WrongType) for a type that Arrow lacks.
    pub(super) fn new(
        machine: Machine,
        path: &str,
        steps: &[(&Structure, &Field)],
        rules: Rules,
        faults: Faults,
    ) -> Result<(Format, Varied)> {
        let fields: Vec<&Field> = steps.iter().map(|(_, field)| *field).collect();
        let builder = Builder::new(path, &fields)?;
        let mut inner: Option<Structure> = None;
        for (owner, field) in steps.iter().rev() {
            let mut kept = on(machine, field)?;
            if let Some(inner) = inner.take() {
                kept.element = Element::Structure(inner.into());
            }
            inner = Some(alone(machine, owner, kept)?);
        }
        let record = inner.ok_or_else(|| Error::new(isoform::Code::NoSuchField))?;
        let format = Format::new(record.into())?;
        let converter = Converter::new(format.clone(), rules.part(), faults);
        Ok((format, Varied { converter, made: Vec::new(), builder }))
    }

    pub(super) fn append(&mut self, body: Body<'_>) -> Result<()> {
        let plan = self.converter.plan(body.format())?;
        self.push(&plan, body)
    }

    pub(super) fn append_many(&mut self, bodies: Bodies<'_>) -> Result<()> {
        let plan = self.converter.plan(bodies.format())?;
        let mut each = 0..bodies.len();
        each.try_for_each(|i| self.push(&plan, bodies.at(i)).map_err(|error| error.within(&format!("[{i}]"))))
    }

    fn push(&mut self, plan: &Plan, body: Body<'_>) -> Result<()> {
        let made = interp::run_to(plan, body, &mut self.made)?;
        self.builder.push(Item::Record(View::new(made)))
    }
}

/// A structure with this field of it, and the fields that have its lengths.
fn alone(machine: Machine, owner: &Structure, mut field: Field) -> Result<Structure> {
    let mut fields = Vec::new();
    for dim in &mut field.dims {
        if let Dimension::Field(index) = dim {
            let length = on(machine, &owner.fields()[*index])?;
            let known = fields.iter().position(|known: &Field| known.name == length.name);
            *index = known.unwrap_or(fields.len());
            if known.is_none() {
                fields.push(length);
            }
        }
    }
    fields.push(field);
    Structure::new(owner.name(), machine, owner.size(), owner.align(), fields)
}
