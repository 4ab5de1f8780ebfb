//! JSON Schema to shapes: the table of `spec/xmit.md`, and what it refuses.

mod common;

use common::{One, same_as};
use isoform_core::{Code, Error, Result, Value};
use isoform_xmit::{Declarations, Language, Loader};

const JSON: One = One { language: Language::JsonSchema, name: "schemas/R.json" };

/// The fields of an object with this one property, which is required.
fn field(schema: &str) -> String {
    JSON.fields(&format!(r#"{{"type": "object", "properties": {{"x": {schema}}}, "required": ["x"]}}"#))
}

#[test]
fn types() {
    for (schema, words) in [
        (r#"{"type": "boolean"}"#, "x bool"),
        (r#"{"type": "integer"}"#, "x i64"),
        (r#"{"type": "integer", "minimum": 0}"#, "x u64"),
        (r#"{"type": "integer", "exclusiveMinimum": -1}"#, "x u64"),
        (r#"{"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}"#, "x i64"),
        (r#"{"type": "integer", "maximum": 9223372036854775808}"#, "x i128"),
        (r#"{"type": "integer", "minimum": 0, "maximum": 18446744073709551615}"#, "x u64"),
        (r#"{"type": "integer", "minimum": 0, "exclusiveMaximum": 18446744073709551617}"#, "x u128"),
        (r#"{"type": "integer", "format": "int16"}"#, "x i16"),
        (r#"{"type": "integer", "format": "uint32"}"#, "x u32"),
        (r#"{"type": "number"}"#, "x f64"),
        (r#"{"type": "number", "format": "float"}"#, "x f32"),
        (r#"{"type": "string", "pattern": "a+", "x-note": 1}"#, "x string"),
        (r#"{"type": "string", "format": "email"}"#, "x string"),
        (r#"{"type": "string", "format": "date-time"}"#, "x i64 unit=\"ns since 1970-01-01T00:00:00Z\""),
        (r#"{"type": "string", "format": "date"}"#, "x i32 unit=\"d since 1970-01-01\""),
        (r#"{"type": "string", "contentEncoding": "base64"}"#, "x u8[x_len]; x_len u64"),
        (r#"{"enum": ["Old Mill", "Ferry"]}"#, "x enumeration(4){Old_Mill=0,Ferry=1}"),
        (r#"{"type": ["number", "null"]}"#, "x f64*"),
        (r#"{"anyOf": [{"type": "null"}, {"type": "integer"}]}"#, "x i64*"),
        (r#"{"type": ["string", "null"]}"#, "x string"),
        (r#"{"type": "array", "items": {"type": "number"}}"#, "x f64[x_len]; x_len u64"),
        (r#"{"type": "array", "items": {"type": "number"}, "maxItems": 3}"#, "x f64[x_len]; x_len u64"),
        (r#"{"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}"#, "x f64[3]"),
        (r#"{"items": {"items": {"type": "number"}, "minItems": 3, "maxItems": 3}}"#, "x f64[x_len][3]; x_len u64"),
        (r#"{"type": "number", "unit": "m\u0020\ud83d\ude00"}"#, "x f64 unit=\"m 😀\""),
    ] {
        assert_eq!(field(schema), words, "{schema}");
    }
}

#[test]
fn objects_references_and_defaults() -> Result<()> {
    let text = r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "description": "A river",
      "properties": {"id": {"$ref": "#/$defs/Id"}, "at": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "gauges": {"type": "array", "items": {"$ref": "#/$defs/Gauge"}}, "level": {"type": "number", "default": 1.5},
        "maybe": {"$ref": "#/$defs/Gauge"}, "parts": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}},
      "required": ["id", "at", "gauges"], "additionalProperties": false,
      "$defs": {"Id": {"type": "integer", "format": "uint32"},
        "Gauge": {"type": "object", "properties": {"name": {"type": "string", "description": "its site"}}}}}"##;
    let r = JSON.read(text)?;
    let expected = "record R_at\n lat double\nrecord Gauge\n name string\nrecord R_parts\n n i64
        record R\n id u32\n at R_at\n gauges Gauge[gauges_len]\n gauges_len u64\n level double\n maybe Gauge*\n parts R_parts[parts_len]\n parts_len u64";
    same_as(&r, "R", expected);
    assert_eq!(r.get("R")?.prose.as_deref(), Some("A river"));
    assert_eq!(r.get("Gauge")?.fields[0].prose.as_deref(), Some("its site"));
    // A text that may be absent is null where nothing is said of it.
    let rules = isoform_core::plan::Rules::new().default("R", "level", Value::Float(1.5));
    assert_eq!(r.rules("R")?, rules.default("Gauge", "name", Value::Null));
    Ok(())
}

#[test]
fn references_to_other_documents() -> Result<()> {
    struct Files;
    impl Loader for Files {
        fn locate(&mut self, _: &str, location: &str) -> Result<String> {
            Ok(location.to_owned())
        }
        fn load(&mut self, name: &str) -> Result<String> {
            match name {
                "point.json" => {
                    Ok(r#"{"title": "A Point", "properties": {"x": {"type": "number"}}, "required": ["x"]}"#.into())
                }
                _ => Err(Error::new(Code::Source).found(name)),
            }
        }
    }
    let text = r#"{"properties": {"p": {"$ref": "point.json"}, "q": {"$ref": "point.json#/properties/x"}}, "required": ["p", "q"]}"#;
    let r = Declarations::read(Language::JsonSchema, JSON.name, text, &mut Files)?;
    same_as(&r, "R", "record A_Point\n x double\nrecord R\n p A_Point\n q double");
    JSON.refuses(text, "found point.json");
    Ok(())
}

#[test]
fn refusals_have_a_pointer_and_the_reason() {
    let refused = |schema: &str, says: &str| {
        let found = field(schema);
        assert!(found.starts_with("refused: ") && found.contains(says), "{found}\nshould say: {says}");
    };
    refused(r#"{"type": "null"}"#, "schemas/R.json#/properties/x: expected type object, array");
    refused(r#"{"allOf": []}"#, "#/properties/x: expected keywords of spec/xmit.md, found \"allOf\"");
    refused(r#"{"type": ["string", "number"]}"#, "one type, or one and null, found string, number");
    refused(r#"{"oneOf": [{"type": "string"}, {"type": "number"}]}"#, "oneOf of one schema and null");
    refused(r#"{"type": "array"}"#, "items in an array");
    refused(
        r#"{"type": "array", "items": {"type": ["string", "null"]}}"#,
        "#/properties/x/items: expected items that are not null",
    );
    refused(r#"{"items": {"items": {"type": "string"}}}"#, "an array of single values");
    refused(r#"{"enum": [1, 2]}"#, "an enum of different strings, found a number");
    refused(r#"{"type": "object", "properties": {}}"#, "a record with a field or more");
    refused(r#"{"type": "object", "additionalProperties": true}"#, "additionalProperties: false");
    refused(r##"{"$ref": "#/$defs/Missing"}"##, "a reference to a schema, found");
    refused(r##"{"$ref": "#"}"##, "found R > R");
    refused("true", "a schema that is an object, found a boolean");
    refused(
        r#"{"type": "integer", "type": "string"}"#,
        "R.json:1: expected one member of each name, found a second \"type\"",
    );
    JSON.refuses("{\"properties\":\n {\"x\" 1}}", "R.json:2: expected `:`");
    JSON.refuses(
        r#"{"type": "object", "properties": {}, "required": ["y"]}"#,
        "required properties that are declared, found \"y\"",
    );
    assert_eq!(JSON.read("[").unwrap_err().code(), Code::Text);
}
