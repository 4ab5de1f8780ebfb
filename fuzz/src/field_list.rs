//! Declarations in text: what is understood is printed so that it is understood as the same again.

use crate::{description, refusal};
use isoform::core::declare::{FieldList, Type};
use isoform::core::{ByteOrder, Layout, Shape};
use isoform::{Format, Machine, Token};

/// The input is a text: types, a shape, and rows of a field list, all of the same lines.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    text.lines().take(64).for_each(words);
    shape(text);
    rows(text);
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_string().parse(), Ok(token));
    }
}

fn words(line: &str) {
    match line.parse::<Type>() {
        Err(error) => refusal(&error),
        Ok(words) => {
            let printed = words.to_string();
            assert_eq!(printed.parse().as_ref(), Ok(&words), "{line:?} is printed as {printed:?}");
        }
    }
}

fn shape(text: &str) {
    let shape = match Shape::parse(text) {
        Err(error) => return refusal(&error),
        Ok(shape) => shape,
    };
    let printed = shape.to_string();
    assert_eq!(Shape::parse(&printed).as_ref(), Ok(&shape), "printed as {printed:?}");
    for layout in Layout::ALL {
        match (shape.on(layout), shape.all_on(layout)) {
            (Ok(format), Ok(all)) => {
                assert_eq!(all.last(), Some(&format));
                assert_eq!(Format::parse(format.description().as_bytes()).as_ref(), Ok(&format));
            }
            (format, all) => [format.err(), all.err()].iter().flatten().for_each(refusal),
        }
    }
    if let Ok(format) = shape.on(&Layout::NATIVE) {
        description::check(format.description().as_bytes());
    }
}

/// Rows of a field list: a name, a type, the bytes of an element, an offset, and a unit, with `|` between them. What
/// stands before the first of them gives the record its size and alignment.
fn rows(text: &str) {
    let mut lines = text.lines();
    let head: Vec<usize> = lines.next().unwrap_or("").split('|').map_while(|word| word.parse().ok()).collect();
    let [size, align, pointer] = head[..] else { return };
    let mut list = FieldList::new("r");
    for line in lines {
        let columns: Vec<&str> = line.split('|').collect();
        let number = |at: usize| columns.get(at).and_then(|column| column.parse().ok()).unwrap_or(0);
        list = list.field(columns[0], columns.get(1).copied().unwrap_or("int"), number(2), number(3));
        if let Some(&unit) = columns.get(4) {
            list = list.unit(unit);
        }
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        match list.format(Machine { order, pointer: pointer as u8 }, size, align) {
            Err(error) => refusal(&error),
            Ok(format) => description::check(format.description().as_bytes()),
        }
    }
}
