//! The format of results, and their records.

use crate::check::{Base, Checker, Many, Node};
use crate::eval::{Scalar, Scope, eval, taken};
use crate::run::Account;
use crate::tree::{Item, Kind, Step};
use isoform_core::declare::{self, Length, Width};
use isoform_core::{Code, Element, FloatKind, Format, Layout, Result, Shape, Value, value};
use std::collections::HashSet;

/// The bytes of a nested record that are taken in one step.
const BYTES: u64 = 4;

/// What `select` makes of a record.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) format: Format,
    pub(crate) values: Vec<(Box<str>, Made)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// A value as it is in the record; whether it is a floating-point number.
    Taken(Vec<Step>, bool),
    Computed(Node, Base, bool),
}

impl Outcome {
    pub(crate) fn new(checker: &mut Checker<'_>, items: &[Item], format: &Format, layout: &Layout) -> Result<Outcome> {
        let mut shape = Shape::new(format.name());
        let mut names = HashSet::new();
        let mut values = Vec::new();
        for item in items {
            let at = item.expr.at;
            if !names.insert(item.name.clone()) {
                return Err(twice(checker, at, &item.name));
            }
            let (node, kind) = checker.expr(&item.expr)?;
            let (words, unit, made) = match &item.expr.kind {
                Kind::Path(steps) => {
                    let place = checker.place(steps, at)?;
                    let dynamic = place.all_dims().filter(|dim| *dim == Many::Dynamic).count();
                    let mut number = 0;
                    let mut dims = Vec::with_capacity(place.dims.len());
                    for dim in place.all_dims() {
                        dims.push(match dim {
                            Many::Fixed(length) => Length::Fixed(length),
                            Many::Dynamic => {
                                number += 1;
                                let name = match dynamic {
                                    1 => format!("{}_count", item.name),
                                    _ => format!("{}_count_{number}", item.name),
                                };
                                count(&mut shape, &mut names, &name).ok_or_else(|| twice(checker, at, &name))?
                            }
                        });
                    }
                    if let Element::Structure(inner) = &place.field.element {
                        // It is taken apart, and put together again.
                        let steps = inner.size() as u64 / BYTES + 1;
                        match kind.many {
                            None => checker.add(steps, 0),
                            Some(Many::Fixed(count)) => checker.add(steps.saturating_mul(count as u64), 0),
                            Some(Many::Dynamic) => checker.add(0, steps),
                        }
                        let inner = Shape::of(&Format::new(inner.clone())?);
                        shape = shape.nested(inner);
                    }
                    let whole = place.sliced.is_empty() && place.dims.len() == place.field.dims.len();
                    let pointer = place.field.indirect && dynamic == 0 && whole;
                    let element = &place.field.element;
                    let dims_are_none = dims.is_empty();
                    let words = declare::Type { kind: declare::Kind::of(element), dims: dims.into(), pointer };
                    let is_float = matches!(element, Element::Float { .. }) && dims_are_none;
                    (words, place.field.unit.clone(), Made::Taken(steps.clone(), is_float))
                }
                _ => {
                    let bytes = |signed| declare::Kind::Integer { signed, width: Width::Bytes(8) };
                    let element = match kind.base {
                        Base::Integer => bytes(true),
                        Base::Unsigned => bytes(false),
                        Base::Float => declare::Kind::Float { kind: FloatKind::Ieee, width: Width::Bytes(8) },
                        Base::Truth => declare::Kind::Boolean { width: Width::Bytes(1) },
                        Base::Text | Base::Other => declare::Kind::String,
                    };
                    let dims = match kind.many {
                        None => Vec::new(),
                        Some(Many::Fixed(length)) => vec![Length::Fixed(length)],
                        Some(Many::Dynamic) => {
                            let name = format!("{}_count", item.name);
                            vec![count(&mut shape, &mut names, &name).ok_or_else(|| twice(checker, at, &name))?]
                        }
                    };
                    let words = declare::Type { kind: element, dims: dims.into(), pointer: false };
                    let unit = kind.unit.as_ref().map(|unit| unit.to_string().into());
                    (words, unit, Made::Computed(node, kind.base, kind.many.is_some()))
                }
            };
            shape.add(item.name.clone(), words, unit);
            values.push((item.name.clone(), made));
        }
        let format = shape.on(layout)?;
        Ok(Outcome { format, values })
    }

    /// The body of the result for a record.
    pub(crate) fn body<'a>(&'a self, scope: &mut Scope<'a, '_>) -> Result<Vec<u8>> {
        let mut fields = Vec::with_capacity(self.values.len());
        for (name, made) in &self.values {
            let value = match made {
                Made::Taken(steps, is_float) => {
                    let found = taken(scope, steps);
                    scope.account.absent += u64::from(found.is_none());
                    match found {
                        Some(Value::Null) | None if *is_float => Some(Value::Float(f64::NAN)),
                        found => found,
                    }
                }
                Made::Computed(node, base, false) => {
                    let cell = eval(node, scope);
                    Some(single(cell.one(), *base, scope.account))
                }
                Made::Computed(node, base, true) => {
                    // What is absent as a whole is left to the format: no elements, or zeros.
                    let many = eval(node, scope).many();
                    scope.account.absent += u64::from(many.is_none());
                    let each = |one| single(one, *base, scope.account);
                    many.map(|many| Value::Array(many.into_iter().map(each).collect()))
                }
            };
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        value::body(&self.format, &Value::Record(fields))
    }
}

fn twice(checker: &Checker<'_>, at: usize, name: &str) -> isoform_core::Error {
    checker.fault(Code::Declaration, at).expected("names that differ").found(format_args!("{name:?} twice"))
}

/// Adds the field that has the length of an array; `None` if its name is taken.
fn count(shape: &mut Shape, names: &mut HashSet<Box<str>>, name: &str) -> Option<Length> {
    let kind = declare::Kind::Integer { signed: false, width: Width::Bytes(8) };
    let words = declare::Type { kind, dims: Box::default(), pointer: false };
    names.insert(name.into()).then(|| shape.add(name, words, None))?;
    Some(Length::Field(name.into()))
}

/// A computed value in a result, where an absent number is not a number, or 0.
fn single(scalar: Scalar<'_>, base: Base, account: &mut Account) -> Value {
    let scalar = match scalar {
        // Of a `char` array: a string ends with its first NUL.
        Scalar::Text(text) if text.contains(&0) => Scalar::Absent,
        other => other,
    };
    account.absent += u64::from(matches!(scalar, Scalar::Absent));
    match (scalar, base) {
        (Scalar::Absent, Base::Float) => Value::Float(f64::NAN),
        (Scalar::Absent, Base::Integer | Base::Unsigned) => Value::Integer(0),
        (Scalar::Absent, Base::Truth) => Value::Boolean(false),
        (Scalar::Absent, Base::Text | Base::Other) => Value::Null,
        (Scalar::Integer(number), Base::Float) => Value::Float(number as f64),
        (Scalar::Integer(number), _) => Value::Integer(number),
        // The sign and the payload of what is no number differ from processor to processor.
        (Scalar::Float(number), _) => Value::Float(if number.is_nan() { f64::NAN } else { number }),
        (Scalar::Truth(truth), _) => Value::Boolean(truth),
        (Scalar::Text(text), _) => Value::String(text.to_vec()),
    }
}
