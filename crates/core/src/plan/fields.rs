//! The fields that a receiver looks at, and the format of records that have no others.
//!
//! A receiver makes [`Fields`] of its own format and rules. The sender may then make records of the
//! [projected format](Fields::project) by a plan, and send those (`spec/channel.md`, "Fields").

use super::rules::Rules;
use crate::error::Result;
use crate::format::{Dimension, Element, Field, Format, Structure};
use crate::limits::MAX_DEPTH;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// The most names in all paths of a receiver's fields, with those of aliases.
const NAMES: usize = 1024;
/// The alias of a nested structure whose fields lie flat at the sender.
const HERE: &str = ".";

/// Paths of the fields that a receiver looks at, in the formats of its senders.
///
/// ```
/// use isoform_core::plan::{Fields, Rules};
/// use isoform_core::{Layout, Shape};
/// let wire = Shape::new("Grid").field("step", "i32").field("flow", "double[1000]").field("depth", "float").on(&Layout::NATIVE)?;
/// let native = Shape::new("Grid").field("level", "double").on(&Layout::NATIVE)?;
/// let fields = Fields::of(&native, &Rules::new().alias("Grid", "level", "depth")).unwrap();
/// assert_eq!(fields.to_string(), "depth, level");
/// let narrow = fields.project(&wire)?.unwrap();
/// assert_eq!((narrow.name(), narrow.size()), ("Grid", 4));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Whether the field is needed as a whole; otherwise, the fields in it.
    is_whole: bool,
    below: BTreeMap<Box<str>, Fields>,
}

impl Fields {
    /// All fields from which a record of this format may be filled: its own names, and the aliases of its rules. `None` if
    /// they are too many to list.
    pub fn of(native: &Format, rules: &Rules) -> Option<Fields> {
        let (mut fields, mut left) = (Fields::default(), NAMES);
        fields.add_all(native.structure(), rules, &mut left)?;
        Some(fields)
    }

    fn add_all(&mut self, structure: &Structure, rules: &Rules, left: &mut usize) -> Option<()> {
        for field in structure.fields() {
            let rule = rules.of(structure.name(), &field.name);
            let aliases = rule.into_iter().flat_map(|rule| rule.aliases.iter().map(|alias| &**alias));
            for name in std::iter::once(&*field.name).chain(aliases) {
                let at = if name == HERE { &mut *self } else { self.reach(name, left)? };
                match &field.element {
                    Element::Structure(inner) => at.add_all(inner, rules, left)?,
                    _ => at.is_whole = true,
                }
            }
        }
        Some(())
    }

    /// Fields at these paths. Indices in them have no meaning here: all elements of an array are the same. `None` if the paths have
    /// too many names, or one is deeper than records can be.
    pub fn at<'a>(paths: impl IntoIterator<Item = &'a str>) -> Option<Fields> {
        let (mut fields, mut left) = (Fields::default(), NAMES);
        for path in paths {
            fields.reach(path, &mut left)?.is_whole = true;
        }
        Some(fields)
    }

    /// These fields, and others.
    pub fn and(mut self, other: Fields) -> Fields {
        self.is_whole |= other.is_whole;
        for (name, fields) in other.below {
            let own = self.below.remove(&name).unwrap_or_default();
            self.below.insert(name, own.and(fields));
        }
        self
    }

    /// The fields at a path, whose names are taken from what is left. `None` if too little is.
    fn reach(&mut self, path: &str, left: &mut usize) -> Option<&mut Fields> {
        let count = path.split('.').take(MAX_DEPTH + 1).count();
        if count > MAX_DEPTH {
            return None;
        }
        *left = left.checked_sub(count)?;
        Some(path.split('.').fold(self, |at, name| {
            let name = name.split('[').next().unwrap_or(name);
            at.below.entry(name.into()).or_default()
        }))
    }

    /// The paths, in ascending order.
    pub fn paths(&self) -> Vec<String> {
        fn add(fields: &Fields, path: &str, all: &mut Vec<String>) {
            if fields.is_whole {
                return all.push(path.into());
            }
            for (name, below) in &fields.below {
                add(below, &if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }, all);
            }
        }
        let mut all = Vec::new();
        add(self, "", &mut all);
        all
    }

    /// A format like this one without the other fields. The lengths of arrays stay, and a nested structure none of whose
    /// fields are looked at stays whole. `None` if no field would go, or none would stay.
    ///
    /// # Errors
    /// Those of [`Format::new`].
    pub fn project(&self, wire: &Format) -> Result<Option<Format>> {
        let mut kept = Kept::default();
        kept.mark(wire.structure(), self);
        if kept.fields.is_empty() {
            return Ok(None);
        }
        let narrow = kept.narrow(wire.structure())?;
        let is_same = Arc::ptr_eq(&narrow, wire.structure());
        if is_same { Ok(None) } else { Format::new(narrow).map(Some) }
    }
}

impl fmt::Display for Fields {
    /// The paths, with commas between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paths().join(", "))
    }
}

/// What stays of each structure. Structures of one format that have the same name are the same.
#[derive(Default)]
struct Kept<'a> {
    fields: HashMap<&'a str, BTreeSet<usize>>,
    whole: BTreeSet<&'a str>,
    narrow: HashMap<&'a str, Arc<Structure>>,
}

impl<'a> Kept<'a> {
    fn mark(&mut self, structure: &'a Structure, fields: &Fields) {
        for (name, below) in &fields.below {
            let Some(index) = structure.index_of(name) else { continue };
            let field = &structure.fields()[index];
            let lengths = field.dims.iter().filter_map(|dim| match dim {
                Dimension::Field(length) => Some(*length),
                Dimension::Fixed(_) => None,
            });
            self.fields.entry(structure.name()).or_default().extend(lengths.chain([index]));
            if let Element::Structure(inner) = &field.element {
                let is_known = below.below.keys().any(|name| inner.index_of(name).is_some());
                if below.is_whole || !is_known { self.mark_all(inner) } else { self.mark(inner, below) }
            }
        }
    }

    fn mark_all(&mut self, structure: &'a Structure) {
        if self.whole.insert(structure.name()) {
            self.fields.insert(structure.name(), (0..structure.fields().len()).collect());
            let inner = structure.fields().iter().filter_map(|field| match &field.element {
                Element::Structure(inner) => Some(inner),
                _ => None,
            });
            inner.for_each(|inner| self.mark_all(inner));
        }
    }

    /// The structure with the fields that stay, one behind the other.
    fn narrow(&mut self, structure: &'a Arc<Structure>) -> Result<Arc<Structure>> {
        if let Some(narrow) = self.narrow.get(structure.name()) {
            return Ok(narrow.clone());
        }
        let kept: Vec<usize> = self.fields.get(structure.name()).into_iter().flatten().copied().collect();
        let pointer = structure.machine().pointer;
        let (mut fields, mut end, mut align) = (Vec::with_capacity(kept.len()), 0usize, 1);
        let mut is_same = kept.len() == structure.fields().len();
        for &index in &kept {
            let mut field = structure.fields()[index].clone();
            if let Element::Structure(inner) = &structure.fields()[index].element {
                let narrow = self.narrow(inner)?;
                is_same &= Arc::ptr_eq(&narrow, inner);
                field.element = Element::Structure(narrow);
            }
            for dim in &mut field.dims {
                if let Dimension::Field(length) = dim {
                    *length = kept.binary_search(length).unwrap_or_default();
                }
            }
            let natural = alignment(&field, pointer).min(structure.align());
            field.offset = end.next_multiple_of(natural);
            end = field.offset + field.extent(pointer).unwrap_or_default();
            align = align.max(natural);
            fields.push(field);
        }
        let narrow = if is_same {
            structure.clone()
        } else {
            let size = end.next_multiple_of(align);
            Arc::new(Structure::new(structure.name(), structure.machine(), size, align, fields)?)
        };
        self.narrow.insert(structure.name(), narrow.clone());
        Ok(narrow)
    }
}

/// The alignment of a field on most machines.
fn alignment(field: &Field, pointer: u8) -> usize {
    let size = match &field.element {
        _ if field.indirect => pointer.into(),
        Element::Structure(inner) => return inner.align(),
        Element::Complex { size, .. } => usize::from(*size),
        element => element.size(pointer),
    };
    1 << size.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::{Layout, Shape};
    use crate::plan::{Faults, Plan};
    use crate::value::Value;
    use crate::{Code, interp, value};

    fn point() -> Shape {
        Shape::new("Point").field("x", "double").field("y", "double").field("name", "string")
    }

    fn station() -> Shape {
        let shape = Shape::new("Station").nested(point());
        let shape = shape.field("id", "char").field("n", "i16").field("levels", "double[n]").field("at", "Point");
        let shape = shape.field("corners", "Point[m]").field("m", "i32").field("state", "i64").field("note", "string");
        shape.field("last", "double*").field("rest", "Point[2]")
    }

    fn record() -> Value {
        let text = |text: &str| Value::String(text.into());
        let fields = |all: Vec<(&str, Value)>| {
            Value::Record(all.into_iter().map(|(name, value)| (name.into(), value)).collect())
        };
        let point = |x: f64| fields(vec![("x", Value::Float(x)), ("y", Value::Float(-x)), ("name", text("p"))]);
        fields(vec![
            ("id", Value::Integer(7)),
            ("levels", Value::Array(vec![Value::Float(1.5), Value::Float(f64::NAN), Value::Float(3.0)])),
            ("at", point(4.0)),
            ("corners", Value::Array(vec![point(1.0), point(2.0)])),
            ("state", Value::Integer(9)),
            ("note", text("high")),
            ("last", Value::Null),
            ("rest", Value::Array(vec![point(5.0), point(6.0)])),
        ])
    }

    /// The body of the projected record, with its format.
    fn projected(wire: &Format, paths: &[&str]) -> (Format, Vec<u8>) {
        let narrow = Fields::at(paths.iter().copied()).unwrap().project(wire).unwrap().expect("fewer fields");
        let plan = Plan::new(wire, &narrow, &Rules::new(), Faults::Error).unwrap();
        let (body, mut out) = (value::body(wire, &record()).unwrap(), Vec::new());
        interp::run_to(&plan, wire.verify(&body).unwrap(), &mut out).unwrap();
        narrow.verify(&out).unwrap();
        (narrow, out)
    }

    #[test]
    fn receivers_get_the_same_from_what_is_left() {
        for layout in Layout::ALL {
            let wire = station().on(layout).unwrap();
            let body = value::body(&wire, &record()).unwrap();
            let natives = [
                Shape::new("Own").field("state", "i64"),
                Shape::new("Own").field("k", "i32").field("levels", "float[k]").field("last", "double*"),
                Shape::new("Own").nested(Shape::new("P").field("y", "float").field("x", "double")).field("at", "P"),
                Shape::new("Own")
                    .nested(Shape::new("P").field("name", "string"))
                    .field("corners", "P[m]")
                    .field("m", "u8")
                    .field("note", "string"),
            ];
            for native in natives {
                let native = native.on(&Layout::NATIVE).unwrap();
                let fields = Fields::of(&native, &Rules::new()).unwrap();
                let paths = fields.paths();
                let (narrow, left) = projected(&wire, &paths.iter().map(String::as_str).collect::<Vec<_>>());
                assert_eq!(Fields::at(paths.iter().map(String::as_str)).as_ref(), Some(&fields));
                assert!(narrow.size() < wire.size() && left.len() < body.len());
                let [whole, part] = [(&wire, &body), (&narrow, &left)].map(|(format, body)| {
                    let plan = Plan::new(format, &native, &Rules::new(), Faults::Error).unwrap();
                    let mut out = Vec::new();
                    interp::run_to(&plan, format.verify(body).unwrap(), &mut out).unwrap();
                    out
                });
                assert_eq!(whole, part, "{fields} on {layout:?}");
            }
        }
    }

    #[test]
    fn aliases_are_asked_for_as_well() {
        let native = Shape::new("Own")
            .nested(Shape::new("Place").field("x", "double").field("h", "double"))
            .field("place", "Place")
            .field("level", "double")
            .on(&Layout::NATIVE)
            .unwrap();
        let rules = Rules::new().alias("Own", "place", ".").alias("Own", "level", "at.z").alias("Place", "h", "height");
        let fields = Fields::of(&native, &rules).unwrap();
        assert_eq!(fields.to_string(), "at.z, h, height, level, place.h, place.height, place.x, x");
    }

    #[test]
    fn what_is_known_by_no_name_stays_whole() {
        let wire = station().on(&Layout::X86_64).unwrap();
        let names = |paths: &[&str]| {
            let narrow = Fields::at(paths.iter().copied()).unwrap().project(&wire).unwrap();
            narrow.map(|narrow| narrow.structure().fields().iter().map(|field| field.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["none"]), None);
        let all: Vec<Box<str>> = wire.structure().fields().iter().map(|field| field.name.clone()).collect();
        assert_eq!(names(&all.iter().map(|name| &**name).collect::<Vec<_>>()), None);
        assert_eq!(names(&["corners[3].z", "id.deep"]).unwrap(), ["id".into(), "corners".into(), Box::from("m")]);
        // Of one structure, the same fields stay wherever it is nested.
        let both = Fields::at(["at.x", "rest.y"]).unwrap().project(&wire).unwrap().unwrap();
        assert!(both.structure().has_path("at.y") && !both.structure().has_path("at.name"));
    }

    #[test]
    fn paths_that_are_too_deep_or_too_many_are_refused() {
        let deep = |names: usize| vec!["a"; names].join(".");
        assert!(Fields::at([&*deep(MAX_DEPTH)]).is_some());
        for names in [MAX_DEPTH + 1, 32_000] {
            assert_eq!(Fields::at([&*deep(names)]), None);
        }
        let many = |count: usize| (0..count).map(|i| format!("f{i}")).collect::<Vec<_>>();
        let at = |paths: &[String]| Fields::at(paths.iter().map(String::as_str));
        assert!(at(&many(NAMES)).is_some());
        assert_eq!(at(&many(NAMES + 1)), None);
        assert_eq!(at(&vec![deep(MAX_DEPTH); NAMES]), None);
    }

    #[test]
    fn fields_that_are_too_many_are_not_listed() {
        let deep = (0..12).fold(Shape::new("S").field("x", "double"), |inner, i| {
            let name = format!("S{i}");
            let inner_name = if i == 0 { "S".to_string() } else { format!("S{}", i - 1) };
            Shape::new(name).nested(inner).field("a", &inner_name)
        });
        let rules = (0..12)
            .fold(Rules::new(), |rules, i| rules.alias(&format!("S{i}"), "a", "b").alias(&format!("S{i}"), "a", "c"));
        let native = deep.on(&Layout::NATIVE).unwrap();
        assert!(Fields::of(&native, &Rules::new()).is_some());
        assert!(Fields::of(&native, &rules).is_none());
        assert_eq!(native.verify(&[]).unwrap_err().code(), Code::BodyLength);
    }
}
