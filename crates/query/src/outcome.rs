//! The format of results, and their records.

use crate::check::{Base, Checker, Many, Node};
use crate::copy::{Source, Writer, expect_short};
use crate::eval::{Scalar, Scope, eval, source, taken};
use crate::run::Account;
use crate::tree::{Item, Kind, Step};
use isoform_core::declare::{self, Length, Width};
use isoform_core::format::MAX_FIELDS;
use isoform_core::{Code, Element, Error, FloatKind, Format, Layout, Result, Shape, Value, value};
use std::collections::HashSet;
use std::sync::OnceLock;

/// What `select` makes of a record.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) format: Format,
    pub(crate) values: Vec<(Box<str>, Made)>,
    /// What copies need, if all that is taken can be copied as bytes.
    copied: Option<Copied>,
}

#[derive(Clone, Debug)]
struct Copied {
    /// The indices of the fields of the values.
    fields: Box<[usize]>,
    /// A result in which all values are absent. It may be long, and a query that is only checked needs none.
    absent: OnceLock<Result<Box<[u8]>>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// A value as it is in the record. A floating-point number has the bytes of what is none.
    Taken(Vec<Step>, Option<Box<[u8]>>),
    Computed(Node, Base, bool),
}

impl Outcome {
    pub(crate) fn new(checker: &mut Checker<'_>, items: &[Item], format: &Format, layout: &Layout) -> Result<Outcome> {
        let mut shape = Shape::new(format.name());
        let mut names = HashSet::new();
        let mut values = Vec::new();
        let mut fields = 0;
        for item in items {
            let at = item.expr.at;
            if !names.insert(item.name.clone()) {
                return Err(twice(checker, at, &item.name));
            }
            let (node, kind) = match item.expr.kind {
                Kind::Path(_) => checker.taken(&item.expr)?,
                _ => checker.expr(&item.expr)?,
            };
            checker.item(if matches!(item.expr.kind, Kind::Path(_)) { None } else { kind.many });
            let (words, unit, made) = match &item.expr.kind {
                Kind::Path(steps) => {
                    let place = checker.place(steps, at)?;
                    let dynamic = place.all_dims().filter(|dim| !dim.is_fixed()).count();
                    let mut number = 0;
                    let mut dims = Vec::with_capacity(place.dims.len());
                    for dim in place.all_dims() {
                        dims.push(match dim {
                            Many::Fixed(length) => Length::Fixed(length),
                            Many::UpTo(_) | Many::Dynamic => {
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
                        // Before a format is made of each of them.
                        fields += inner.total_fields();
                        if fields > MAX_FIELDS {
                            return Err(too_many_fields(checker.fault(Code::Fields, at), fields));
                        }
                        let inner = Shape::of(&Format::new(inner.clone())?);
                        shape = shape.nested(inner);
                    }
                    let whole = place.sliced.is_empty() && place.dims.len() == place.field.dims.len();
                    let pointer = place.field.indirect && dynamic == 0 && whole;
                    let element = &place.field.element;
                    let is_float = matches!(element, Element::Float { .. }) && dims.is_empty();
                    let none = is_float.then(|| none(element, layout)).transpose()?;
                    let words = declare::Type { kind: declare::Kind::of(element), dims: dims.into(), pointer };
                    (words, place.field.unit.clone(), Made::Taken(steps.clone(), none))
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
                        Some(Many::UpTo(_) | Many::Dynamic) => {
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
        let is_copied = checker.copies(&values, &format)?;
        let copied = if is_copied { Some(Copied::new(&format, &values)?) } else { None };
        Ok(Outcome { format, values, copied })
    }

    /// The body of the result for a record, in place of what is in `out`, of at most so many bytes.
    pub(crate) fn body<'a>(&'a self, scope: &mut Scope<'a, '_>, most: usize, out: &mut Vec<u8>) -> Result<()> {
        match &self.copied {
            Some(Copied { fields, absent }) => {
                let make = || value::body(&self.format, &Value::Record(Vec::new())).map(Into::into);
                let absent = absent.get_or_init(make).as_ref().map_err(Clone::clone)?;
                self.copy(scope, fields, Writer::new(&self.format, absent, out, most)?)
            }
            None => {
                *out = self.converted(scope)?;
                expect_short(out.len(), most)
            }
        }
    }

    /// The body of a result on the machine of the record.
    fn copy<'a>(&'a self, scope: &mut Scope<'a, '_>, fields: &[usize], mut writer: Writer<'_>) -> Result<()> {
        for ((_, made), &place) in self.values.iter().zip(fields) {
            match made {
                Made::Taken(steps, none) => {
                    let found = source(scope, steps);
                    scope.account.absent += u64::from(found.is_none());
                    match (found, none) {
                        (None | Some((Source::Null, _)), Some(none)) => writer.bytes(place, none)?,
                        (None, None) => {}
                        (Some((found, slices)), _) => writer.take(place, found, slices)?,
                    }
                }
                Made::Computed(node, base, false) => {
                    let one = eval(node, scope).one();
                    writer.one(place, single(one, *base, scope.account))?;
                }
                Made::Computed(node, base, true) => {
                    let many = eval(node, scope).many();
                    scope.account.absent += u64::from(many.is_none());
                    let many = many.unwrap_or_default();
                    writer.many(place, many.into_iter().map(|one| single(one, *base, scope.account)))?;
                }
            }
        }
        Ok(())
    }

    /// The body of a result on another machine, by way of values.
    fn converted<'a>(&'a self, scope: &mut Scope<'a, '_>) -> Result<Vec<u8>> {
        let mut fields = Vec::with_capacity(self.values.len());
        for (name, made) in &self.values {
            let value = match made {
                Made::Taken(steps, none) => {
                    let found = taken(scope, steps);
                    scope.account.absent += u64::from(found.is_none());
                    match found {
                        Some(Value::Null) | None if none.is_some() => Some(Value::Float(f64::NAN)),
                        found => found,
                    }
                }
                Made::Computed(node, base, false) => {
                    let cell = eval(node, scope);
                    Some(valued(single(cell.one(), *base, scope.account)))
                }
                Made::Computed(node, base, true) => {
                    // What is absent as a whole is left to the format: no elements, or zeros.
                    let many = eval(node, scope).many();
                    scope.account.absent += u64::from(many.is_none());
                    let each = |one| valued(single(one, *base, scope.account));
                    many.map(|many| Value::Array(many.into_iter().map(each).collect()))
                }
            };
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        value::body(&self.format, &Value::Record(fields))
    }
}

/// The results of all parts of a query have a limit together.
pub(crate) fn too_many_fields(error: Error, found: usize) -> Error {
    error.expected(format_args!("at most {MAX_FIELDS} fields in the results of a query")).found(found)
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

impl Copied {
    fn new(format: &Format, values: &[(Box<str>, Made)]) -> Result<Copied> {
        let index = |(name, _): &(Box<str>, Made)| {
            format.structure().index_of(name).ok_or_else(|| Error::new(Code::Internal).found("no such result"))
        };
        let fields = values.iter().map(index).collect::<Result<_>>()?;
        Ok(Copied { fields, absent: OnceLock::new() })
    }
}

/// The bytes of what is no number, in place of a number of this type.
fn none(element: &Element, layout: &Layout) -> Result<Box<[u8]>> {
    let mut shape = Shape::new("None");
    let words = declare::Type { kind: declare::Kind::of(element), dims: Box::default(), pointer: false };
    shape.add("none", words, None);
    let none = Value::Record(vec![("none".into(), Value::Float(f64::NAN))]);
    Ok(value::body(&shape.on(layout)?, &none)?.into())
}

/// A computed value in a result, where an absent number is not a number, or 0.
fn single<'a>(scalar: Scalar<'a>, base: Base, account: &mut Account) -> Scalar<'a> {
    let scalar = match scalar {
        // Of a `char` array: a string ends with its first NUL.
        Scalar::Text(text) if text.contains(&0) => Scalar::Absent,
        other => other,
    };
    account.absent += u64::from(matches!(scalar, Scalar::Absent));
    match (scalar, base) {
        (Scalar::Absent, Base::Float) => Scalar::Float(f64::NAN),
        (Scalar::Absent, Base::Integer | Base::Unsigned) => Scalar::Integer(0),
        (Scalar::Absent, Base::Truth) => Scalar::Truth(false),
        (Scalar::Integer(number), Base::Float) => Scalar::Float(number as f64),
        // The sign and the payload of what is no number differ from processor to processor.
        (Scalar::Float(number), _) => Scalar::Float(if number.is_nan() { f64::NAN } else { number }),
        (other, _) => other,
    }
}

fn valued(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Absent => Value::Null,
        Scalar::Integer(number) => Value::Integer(number),
        Scalar::Float(number) => Value::Float(number),
        Scalar::Truth(truth) => Value::Boolean(truth),
        Scalar::Text(text) => Value::String(text.to_vec()),
    }
}
