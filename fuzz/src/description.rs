//! Descriptions: what is accepted has one spelling, and everything that is made of a format leads back to it.

use crate::refusal;
use isoform::Format;
use isoform::core::declare::FieldList;
use isoform::core::{Layout, Shape, Structure};

/// The input is a description.
pub fn check(bytes: &[u8]) {
    match Format::parse(bytes) {
        Err(error) => refusal(&error),
        Ok(format) => {
            assert_eq!(format.description().as_bytes(), bytes, "one spelling");
            assert_eq!(Format::new(format.structure().clone()).as_ref(), Ok(&format));
            declared_again(&format);
            laid_out(&format);
        }
    }
}

/// The field list of each structure declares it again.
fn declared_again(format: &Format) {
    structures(format.structure(), &mut |structure| {
        let list = FieldList::of(structure);
        let again = list.structure(structure.machine(), structure.size(), structure.align());
        assert_eq!(again.as_deref(), Ok(structure));
    });
}

/// The text of its shape is read as the same shape, and what is laid out somewhere has a description.
fn laid_out(format: &Format) {
    let shape = Shape::of(format);
    let text = shape.to_string();
    assert_eq!(Shape::parse(&text).as_ref(), Ok(&shape), "{text}");
    for layout in Layout::ALL {
        let laid_out = shape.on(layout);
        match &laid_out {
            Err(error) => refusal(error),
            Ok(other) => {
                assert_eq!(Format::parse(other.description().as_bytes()).as_ref(), Ok(other));
                assert_eq!(Shape::of(other).on(layout).as_ref(), Ok(other));
            }
        }
        if let Err(error) = format.on(layout) {
            refusal(&error);
        }
    }
}

/// Visits a structure and, once for each field that holds one, those nested in it; a few of them if they are many.
fn structures(structure: &Structure, visit: &mut impl FnMut(&Structure)) {
    visit(structure);
    let mut seen: Vec<&str> = Vec::new();
    for field in structure.fields() {
        if let isoform::core::Element::Structure(inner) = &field.element
            && !seen.contains(&inner.name())
            && seen.len() < 8
        {
            seen.push(inner.name());
            structures(inner, visit);
        }
    }
}
