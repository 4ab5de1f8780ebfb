//! The notation of formats: shapes, which every library lays out for its machine, and from which it gets the format.

use super::Back;
use crate::declaration::Declaration;
use isoform_core::declare::Shape as Notation;
use isoform_core::{Code, Error, Result};

pub(super) struct Shape;

impl Back for Shape {
    fn word(&self) -> &'static str {
        "shape"
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let mut shape: Option<Notation> = None;
        for record in records {
            let name = record.name.clone();
            let begun = match shape.take() {
                None => Notation::new(name),
                Some(shape) => Notation::record(shape, name),
            };
            let shape = shape.insert(begun);
            for field in &record.fields {
                shape.add(field.name.clone(), field.kind.clone(), field.unit.clone());
            }
        }
        shape
            .map(|shape| shape.to_string())
            .ok_or_else(|| Error::new(Code::Declaration).found("a document without records"))
    }
}
