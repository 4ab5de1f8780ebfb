//! Apache Avro: the schemas of the sender, who has one field more in front, and of the receiver are resolved while
//! decoding, field by field; then serde makes the struct.

use super::codec::Codec;
use crate::{Case, Result};
use apache_avro::{Schema, from_avro_datum, from_value, to_avro_datum, to_value, types::Value};
use isoform::Record;
use isoform::core::{Dimension, Element, Structure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::marker::PhantomData;

pub(super) struct Avro<T> {
    reader: Schema,
    writer: Schema,
    record: PhantomData<T>,
}

/// What the receiver does not expect.
const EXTRA: &str = "unexpected";

impl<T: Record + Serialize + DeserializeOwned + PartialEq> Codec<T> for Avro<T> {
    const NAME: &'static str = "Apache Avro";
    const CASE: Case = Case::Front;
    type Value = T;

    fn new() -> Result<Avro<T>> {
        let mut record = schema(T::format().structure());
        let reader = Schema::parse(&record)?;
        let fields = record["fields"].as_array_mut().ok_or("a schema without fields")?;
        fields.insert(0, json!({ "name": EXTRA, "type": "double" }));
        Ok(Avro { reader, writer: Schema::parse(&record)?, record: PhantomData })
    }

    fn value(record: T) -> T {
        record
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        apache_avro::write_avro_datum_ref(&self.reader, value, out)?;
        Ok(())
    }

    fn message(&self, value: &T) -> Result<Vec<u8>> {
        let Value::Record(mut fields) = to_value(value)? else { return Err("no record".into()) };
        fields.insert(0, (EXTRA.into(), Value::Double(0.5)));
        Ok(to_avro_datum(&self.writer, Value::Record(fields))?)
    }

    fn decode(&self, mut message: &[u8]) -> Result<T> {
        Ok(from_value(&from_avro_datum(&self.writer, &mut message, Some(&self.reader))?)?)
    }
}

/// The schema of a record: arrays have no fixed length, and know it without a field.
fn schema(structure: &Structure) -> serde_json::Value {
    let dims = || structure.fields().iter().flat_map(|field| &field.dims);
    let sent = structure.fields().iter().enumerate().filter(|(i, _)| dims().all(|dim| *dim != Dimension::Field(*i)));
    let fields: Vec<_> = sent
        .map(|(_, field)| {
            let element = element(&field.element);
            let whole = field.dims.iter().fold(element, |items, _| json!({ "type": "array", "items": items }));
            json!({ "name": *field.name, "type": whole })
        })
        .collect();
    json!({ "type": "record", "name": structure.name(), "fields": fields })
}

fn element(element: &Element) -> serde_json::Value {
    match element {
        Element::Structure(inner) => schema(inner),
        Element::String => json!("string"),
        Element::Float { size: 4, .. } => json!("float"),
        Element::Float { .. } => json!("double"),
        Element::Integer { size: 8, .. } => json!("long"),
        _ => json!("int"),
    }
}
