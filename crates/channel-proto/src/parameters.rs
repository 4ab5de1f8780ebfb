//! The parameters of a source: values that its sinks choose (`spec/channel.md`, "Parameters").

use isoform_core::format::{Dimension, Element, Structure};
use isoform_core::{
    Code, Error, Faults, Format, Missing, Plan, Result, Rules, Value, Verifier, View, interp, text, value,
};
use std::fmt;
use std::sync::Arc;

/// The most bytes of the values, and the most fields: what a sink asks for costs the source's node time.
const LONGEST: usize = 4096;
const FIELDS: usize = 256;

/// Values of parameters: a valid record, and its format.
///
/// ```
/// use isoform_channel_proto::Parameters;
/// use isoform_core::{Code, FieldList, Machine};
///
/// let format = FieldList::new("Detail").field("level", "integer", 8, 0).format(Machine::NATIVE, 8, 8)?;
/// let detail = Parameters::new(&format, &3i64.to_ne_bytes())?;
/// assert_eq!(detail.to_string(), r#"{"level":3}"#);
/// assert_eq!(Parameters::new(&format, &[0; 7]).unwrap_err().code(), Code::BodyLength);
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Parameters {
    format: Format,
    body: Arc<[u8]>,
}

/// What a source gives a sink that asked for values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The values hold from the event with this number on.
    pub first: u64,
    /// How many changes of the sink's the source knew. The first values that a sink asks for are no change.
    pub change: u32,
    /// The values. If others were asked for, the program of the source has granted these.
    pub values: Parameters,
    /// Why the last change was refused. The values are those of before.
    pub refused: Option<Error>,
}

impl Parameters {
    /// Values of a format.
    ///
    /// # Errors
    /// Those of [`Verifier::verify`]. [`Code::MessageSize`] for more than 4,096 bytes, [`Code::Fields`] for more than 256 fields.
    pub fn new(format: &Format, body: &[u8]) -> Result<Parameters> {
        if body.len() > LONGEST {
            let expected = format_args!("at most {LONGEST} bytes");
            return Err(Error::new(Code::MessageSize).at("parameters").expected(expected).found(body.len()));
        }
        let fields = format.structure().total_fields();
        if fields > FIELDS {
            let expected = format_args!("at most {FIELDS} fields");
            return Err(Error::new(Code::Fields).at("parameters").expected(expected).found(fields));
        }
        Verifier::new(format).verify(body)?;
        Ok(Parameters { format: format.clone(), body: body.into() })
    }

    /// Their format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The body of the record (`spec/message.md`).
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The same values, with zeros in all gaps.
    ///
    /// # Errors
    /// Those of [`Parameters::new`].
    pub(crate) fn normal(&self) -> Result<Parameters> {
        self.of_value(&self.value()?)
    }

    /// These values, and in their place those of `asked` where it has a field of that name. So `self` says the format and the
    /// defaults.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for a field that `self` does not have; those of a [`Plan`], and of [`value::body`], with the path
    /// of the field.
    pub(crate) fn with(&self, asked: &Parameters) -> Result<Parameters> {
        let (wire, native) = (asked.format.structure(), self.format.structure());
        expect_fields(wire, native)?;
        // What is missing has a default, and not zero.
        let plan = Plan::new(&asked.format, &self.format, &Rules::new().missing(Missing::Zero), Faults::default())?;
        let (verifier, mut body) = (Verifier::new(&asked.format), Vec::new());
        let converted = interp::run_to(&plan, verifier.verify(&asked.body)?, &mut body)?;
        let (mut all, converted) = (self.value()?, View::new(converted).to_value());
        drop_lengths(native, &mut all);
        put(wire, &mut all, converted);
        self.of_value(&all)
    }

    fn value(&self) -> Result<Value> {
        let verifier = Verifier::new(&self.format);
        Ok(View::new(verifier.verify(&self.body)?).to_value())
    }

    fn of_value(&self, record: &Value) -> Result<Parameters> {
        Parameters::new(&self.format, &value::body(&self.format, record)?)
    }
}

/// JSON.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verifier = Verifier::new(&self.format);
        let body = verifier.verify(&self.body).map_err(|_| fmt::Error)?;
        text::json::write(View::new(body), f)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self}", self.format.name())
    }
}

/// Checks that `declared` has all fields of `asked`, but for the lengths of arrays.
fn expect_fields(asked: &Structure, declared: &Structure) -> Result<()> {
    let lengths = lengths(asked);
    for field in asked.fields().iter().filter(|field| !lengths.contains(&&*field.name)) {
        let Some(same) = declared.field(&field.name) else {
            let names: Vec<&str> = declared.fields().iter().map(|field| &*field.name).collect();
            let error = Error::new(Code::NoSuchField).at("parameters");
            return Err(error.expected(format_args!("one of {}", names.join(", "))).found(&field.name));
        };
        if let (Element::Structure(asked), Element::Structure(declared)) = (&field.element, &same.element) {
            expect_fields(asked, declared).map_err(|error| error.within(&field.name))?;
        }
    }
    Ok(())
}

/// The names of the fields that are lengths of arrays.
fn lengths(structure: &Structure) -> Vec<&str> {
    let fields = structure.fields();
    let length = |dim: &Dimension| match dim {
        Dimension::Field(index) => fields.get(*index).map(|field| &*field.name),
        Dimension::Fixed(_) => None,
    };
    fields.iter().flat_map(|field| field.dims.iter()).filter_map(length).collect()
}

/// Removes the lengths of arrays: they follow from the arrays.
fn drop_lengths(structure: &Structure, record: &mut Value) {
    let Value::Record(entries) = record else { return };
    let lengths = lengths(structure);
    entries.retain(|(name, _)| !lengths.contains(&&**name));
    for (name, value) in entries {
        if let Some(inner) = structure_at(structure, name) {
            drop_lengths(inner, value);
        }
    }
}

/// Puts the values of one record in the place of those of another, as far as `asked` has them.
fn put(asked: &Structure, all: &mut Value, converted: Value) {
    match (all, converted) {
        (Value::Record(all), Value::Record(converted)) => {
            for (name, value) in converted {
                // Without a field, it has a default, or is the length of an array.
                let Some(field) = asked.field(&name) else { continue };
                let Some((_, old)) = all.iter_mut().find(|(same, _)| *same == name) else { continue };
                match &field.element {
                    Element::Structure(inner) => put(inner, old, value),
                    _ => *old = value,
                }
            }
        }
        (all, converted) => *all = converted,
    }
}

/// The structure of the records in a field.
fn structure_at<'a>(structure: &'a Structure, name: &str) -> Option<&'a Structure> {
    match &structure.field(name)?.element {
        Element::Structure(inner) => Some(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Layout, Shape};

    /// Values of JSON, as the machine of a layout has them.
    fn values(shape: &Shape, layout: &Layout, json: &str) -> Parameters {
        let format = shape.on(layout).unwrap();
        let record = text::json::parse_partial(&format, json).unwrap();
        Parameters::new(&format, &value::body(&format, &record).unwrap()).unwrap()
    }

    fn detail() -> Shape {
        let corner = Shape::new("corner").field("x", "double").field("y", "double");
        Shape::new("detail")
            .field("level", "int")
            .field("region", "double[4]")
            .unit("m")
            .field("quantity", "string")
            .field("n", "int")
            .field("steps", "int[n]")
            .nested(corner.clone())
            .field("corner", "corner")
    }

    fn defaults() -> Parameters {
        let json = r#"{"level":1,"region":[0,1,2,3],"quantity":"depth","steps":[4,5],"corner":{"x":6,"y":7}}"#;
        values(&detail(), &Layout::X86_64, json)
    }

    #[test]
    fn what_is_not_asked_for_has_its_default() {
        let own = Shape::new("own").field("level", "float").field("quantity", "string");
        let asked = values(&own, &Layout::POWERPC, r#"{"level":3,"quantity":"speed"}"#);
        let all = r#"{"level":3,"region":[0.0,1.0,2.0,3.0],"quantity":"speed","n":2,"steps":[4,5],"corner":{"x":6.0,"y":7.0}}"#;
        assert_eq!(defaults().with(&asked).unwrap().to_string(), all);
        let corner = Shape::new("corner").field("y", "float");
        let own = Shape::new("own")
            .nested(corner.clone())
            .field("corner", "corner")
            .field("count", "int")
            .field("steps", "int[count]");
        let own_n = Shape::new("own")
            .nested(corner.clone())
            .field("corner", "corner")
            .field("n", "short")
            .field("steps", "long[n]");
        let asked = values(&own_n, &Layout::POWERPC, r#"{"corner":{"y":-1},"steps":[9,8,7]}"#);
        let all = r#"{"level":1,"region":[0.0,1.0,2.0,3.0],"quantity":"depth","n":3,"steps":[9,8,7],"corner":{"x":6.0,"y":-1.0}}"#;
        assert_eq!(defaults().with(&asked).unwrap().to_string(), all);
        let asked = values(&own, &Layout::POWERPC, r#"{"steps":[9],"corner":{"y":-1}}"#);
        let all = all.replace("[9,8,7]", "[9]").replace(r#""n":3"#, r#""n":1"#);
        assert_eq!(defaults().with(&asked).unwrap().to_string(), all, "the length may have another name");
    }

    #[test]
    fn the_same_values_have_the_same_bytes_from_whichever_machine_they_come() {
        let json = r#"{"level":3,"region":[9,9,9,9],"quantity":"speed","steps":[],"corner":{"x":1,"y":2}}"#;
        let all = [&Layout::POWERPC, &Layout::X86_64, &Layout::I386].map(|layout| values(&detail(), layout, json));
        let normal = all.map(|asked| defaults().with(&asked).unwrap());
        assert_eq!(normal[0], normal[1]);
        assert_eq!(normal[0], normal[2]);
        assert_eq!(normal[0], normal[0].normal().unwrap());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_field() {
        let refused = |shape: Shape, json: &str| {
            let error = defaults().with(&values(&shape, &Layout::X86_64, json)).unwrap_err();
            (error.code(), error.path().to_string())
        };
        let of = |name: &str, kind: &str| Shape::new("own").field(name, kind);
        assert_eq!(refused(of("levels", "int"), r#"{"levels":1}"#).0, Code::NoSuchField);
        assert_eq!(refused(of("level", "double"), r#"{"level":1.5}"#), (Code::Inexact, "level".into()));
        assert_eq!(refused(of("level", "long"), r#"{"level":4294967296}"#), (Code::Overflow, "level".into()));
        assert_eq!(refused(of("quantity", "int"), r#"{"quantity":1}"#), (Code::NoConversion, "quantity".into()));
        let feet = Shape::new("own").field("region", "double[4]").unit("ft");
        assert_eq!(refused(feet, r#"{"region":[1,2,3,4]}"#), (Code::Unit, "region".into()));
        let inner = Shape::new("corner").field("z", "double");
        let (code, path) =
            refused(Shape::new("own").nested(inner.clone()).field("corner", "corner"), r#"{"corner":{"z":1}}"#);
        assert_eq!((code, path.as_str()), (Code::NoSuchField, "corner.parameters"));
    }

    #[test]
    fn values_have_few_fields() {
        let many = (0..=FIELDS).fold(Shape::new("own"), |shape, i| shape.field(format!("f{i}"), "char"));
        let format = many.on(&Layout::X86_64).unwrap();
        assert_eq!(Parameters::new(&format, &[0; FIELDS + 1]).unwrap_err().code(), Code::Fields);
    }

    #[test]
    fn values_are_short() {
        let text = "x".repeat(LONGEST);
        let format = Shape::new("own").field("quantity", "string").on(&Layout::X86_64).unwrap();
        let record = Value::Record(vec![("quantity".into(), Value::String(text.into()))]);
        let error = Parameters::new(&format, &value::body(&format, &record).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::MessageSize);
    }
}
