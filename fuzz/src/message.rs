//! Bodies: what the verifier accepts can be read wholly, in every way, and is what a writer would have written.

use crate::parts::Parts;
use crate::{refusal, same};
use isoform::core::view::Item;
use isoform::core::{Element, Field, Structure, Value, value};
use isoform::text::{json, table::Table};
use isoform::{Format, View};

/// The input is a description, then a body.
pub fn check(input: &[u8]) {
    let mut parts = Parts::of(input);
    let Ok(format) = Format::parse(parts.part()) else { return };
    match format.verify(parts.rest()) {
        Err(error) => refusal(&error),
        Ok(body) => {
            let view = View::new(body);
            let record = view.to_value();
            written_again(&format, &record, body.bytes());
            through_json(&format, view, &record);
            in_cells(&format, view);
            found_by_path(view);
        }
    }
}

/// The body is what its values are written as, but for what lies in gaps.
fn written_again(format: &Format, record: &Value, bytes: &[u8]) {
    let again = value::body(format, record).expect("what was read can be written");
    let view = View::new(format.verify(&again).expect("what was written is valid"));
    assert!(same(&view.to_value(), record), "{record:?} is written as {again:02x?}");
    if any_field(format.structure(), &|field| {
        field.indirect && field.dims.is_empty() && field.element == Element::String
    }) {
        return; // A pointer to a null string has become a null pointer.
    }
    assert_eq!(again.len(), bytes.len());
    // Floats have several spellings of one value: NaN, and what is not normal of the x87 and of double-doubles.
    let float = |field: &Field| matches!(field.element, Element::Float { .. } | Element::Complex { .. });
    if !any_field(format.structure(), &float) {
        let in_gap = |(&written, &came): (&u8, &u8)| written == came || written == 0;
        assert!(again.iter().zip(bytes).all(in_gap), "written as {again:02x?}");
    }
}

fn any_field(structure: &Structure, is: &impl Fn(&Field) -> bool) -> bool {
    structure.fields().iter().any(|field| match &field.element {
        _ if is(field) => true,
        Element::Structure(inner) => any_field(inner, is),
        _ => false,
    })
}

/// JSON loses nothing.
fn through_json(format: &Format, view: View<'_>, record: &Value) {
    let line = json::line(view);
    assert!(!line.contains(char::is_control), "one line, harmless to a terminal: {line}");
    let value = json::parse(format, &line).expect("what was written can be read");
    let body = value::body(format, &value).expect("what was read can be written");
    let again = View::new(format.verify(&body).expect("what was written is valid"));
    assert!(same(&again.to_value(), record), "{record:?} is {line}");
    let names: Vec<&str> = view.structure().fields().iter().map(|field| &*field.name).collect();
    let fields = json::fields(view, &names).map(|fields| fields.to_string());
    assert_eq!(fields.as_ref(), Ok(&line));
}

fn in_cells(format: &Format, view: View<'_>) {
    let table = Table::new(format, 9);
    assert_eq!(table.cells(view).len(), table.columns().len());
}

/// Whatever is found by walking is found by its path.
fn found_by_path(view: View<'_>) {
    let mut walk = Walk { root: view, left: 300 };
    walk.record(view, "");
}

struct Walk<'a> {
    root: View<'a>,
    /// So many items are looked up at most.
    left: usize,
}

impl Walk<'_> {
    fn record(&mut self, view: View<'_>, path: &str) {
        let dot = if path.is_empty() { "" } else { "." };
        for (field, item) in view.fields() {
            self.item(item, &format!("{path}{dot}{}", field.name));
        }
    }

    fn item(&mut self, item: Item<'_>, path: &str) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let found = self.root.get(path).expect("what is there can be found");
        assert_eq!(kind(found), kind(item), "{path}");
        match item {
            Item::Record(view) => self.record(view, path),
            Item::Array(array) => {
                assert_eq!(array.iter().len(), array.len());
                assert_eq!(array.elements().len(), array.dims().iter().product::<usize>());
                assert!(array.get(array.len()).is_none());
                for (i, element) in array.iter().enumerate().take(self.left) {
                    self.item(element, &format!("{path}[{i}]"));
                }
            }
            _ => assert!(same(&found.to_value(), &item.to_value()), "{path}: {found:?} and {item:?}"),
        }
        let (f64, i64, str) = (self.root.f64(path), self.root.i64(path), self.root.str(path));
        [f64.err(), i64.err(), str.err()].iter().flatten().for_each(refusal);
    }
}

/// What an item is, and how many parts it has.
fn kind(item: Item<'_>) -> (std::mem::Discriminant<Item<'_>>, usize) {
    let parts = match item {
        Item::Record(view) => view.fields().len(),
        Item::Array(array) => array.len(),
        _ => 0,
    };
    (std::mem::discriminant(&item), parts)
}
