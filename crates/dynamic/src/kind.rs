//! Kinds of records: those of one name that have the same fields, whatever machines they come from.

use isoform::core::{Dimension, Element, Structure};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number for the fields of a structure, which differs if their names, types, units or dimensions do. Their order and the machine have
/// no part in it. So a table of one kind never has a value in another precision or unit than it came in. Another program may have other numbers.
pub fn fields(structure: &Structure) -> u64 {
    of(structure, &mut HashMap::new())
}

fn of<'f>(structure: &'f Structure, known: &mut HashMap<&'f str, u64>) -> u64 {
    if let Some(fields) = known.get(structure.name()) {
        return *fields;
    }
    let mut each: Vec<u64> = (structure.fields().iter())
        .map(|field| {
            let (kind, inner) = match &field.element {
                Element::Structure(inner) => (String::new(), of(inner, known)),
                element => (element.to_string(), 0),
            };
            let dims: Vec<usize> =
                field.dims.iter().map(|dim| if let Dimension::Fixed(length) = dim { *length } else { 0 }).collect();
            hash((&field.name, kind, &field.unit, dims, field.indirect, inner))
        })
        .collect();
    each.sort_unstable();
    let all = hash(each);
    known.insert(structure.name(), all);
    all
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform::core::declare::{Layout, Shape};

    #[test]
    fn a_kind_is_its_fields_and_no_machine() {
        let of = |shape: &str, layout| fields(Shape::parse(shape).unwrap().on(layout).unwrap().structure());
        let kind = of("record R\n  a  int\n  b  double  unit=\"m\"", &Layout::X86_64);
        assert_eq!(of("record S\n  b  double  unit=\"m\"\n  a  int", &Layout::POWERPC), kind);
        for other in
            ["a  int\n  b  double", "a  int\n  b  float  unit=\"m\"", "a  int\n  c  double  unit=\"m\"", "a  int"]
        {
            assert_ne!(of(&format!("record R\n  {other}"), &Layout::X86_64), kind, "{other}");
        }
    }
}
