//! The notation of formats: shapes, which every library lays out for its machine, and from which it gets the format.

use super::Back;
use crate::declaration::Declaration;
use isoform_core::{Code, Error, Result};

pub(super) struct Shape;

impl Back for Shape {
    fn word(&self) -> &'static str {
        "shape"
    }

    fn packs(&self) -> Option<bool> {
        None
    }

    fn write(&self, records: &[Declaration]) -> Result<String> {
        let shape = records.iter().fold(None, |shape, record| Some(record.shape_behind(shape)));
        shape
            .map(|shape| shape.to_string())
            .ok_or_else(|| Error::new(Code::Declaration).found("a document without records"))
    }
}
