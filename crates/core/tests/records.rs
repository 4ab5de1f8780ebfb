//! Random records: written as every machine would, verified, and read again; and bodies that someone has damaged.

use isoform_core::text::json;
use isoform_core::text::table::Table;
use isoform_core::view::Item;
use isoform_core::{Code, Dimension, Error, Format, Layout, Shape, Value, Verifier, View, value};
use isoform_testing::{any_layout, any_record, any_shape, any_value};
use proptest::prelude::*;

/// Values as text, so that NaN equals itself.
fn text(record: &Value) -> String {
    format!("{record:?}")
}

fn read(format: &Format, body: &[u8]) -> Result<Value, Error> {
    let verifier = Verifier::new(format);
    let body = verifier.verify(body)?;
    Ok(View::new(body).to_value())
}

/// The same record without the fields that follow from others.
fn without_lengths(format: &Format, record: Value) -> Value {
    let Value::Record(mut entries) = record else { return record };
    let structure = format.structure();
    entries.retain(|(name, _)| {
        let index = structure.index_of(name).unwrap();
        let is_length = |dim: &Dimension| *dim == Dimension::Field(index);
        // A length next to another one that is 0 does not follow from the array.
        !structure.fields().iter().any(|field| field.dims.len() == 1 && field.dims.iter().any(is_length))
    });
    Value::Record(entries)
}

fn two_layouts_of_a_shape() -> impl Strategy<Value = (Format, Format, Value)> {
    (any_shape(), any_layout(), any_layout()).prop_flat_map(|(shape, one, other)| {
        let (one, other) = (shape.on(&one).unwrap(), shape.on(&other).unwrap());
        let record = any_value(&one);
        (Just(one), Just(other), record)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_written_is_read((format, record) in any_record()) {
        let body = value::body(&format, &record).unwrap();
        prop_assert_eq!(text(&read(&format, &body).unwrap()), text(&record));
        let lengths_found = value::body(&format, &without_lengths(&format, record)).unwrap();
        prop_assert_eq!(lengths_found, body);
    }

    #[test]
    fn a_record_can_be_written_as_any_machine((one, other, record) in two_layouts_of_a_shape()) {
        let read_here = read(&one, &value::body(&one, &record).unwrap()).unwrap();
        prop_assert_eq!(text(&read_here), text(&record));
        // Numbers that the other layout has no room for are refused, nothing else is.
        if let Ok(body) = value::body(&other, &record) {
            let there = read(&other, &body).unwrap();
            prop_assert_eq!(value::body(&other, &there).unwrap(), body);
        }
    }

    #[test]
    fn json_keeps_everything((format, record) in any_record()) {
        let body = value::body(&format, &record).unwrap();
        let verifier = Verifier::new(&format);
        let line = json::line(View::new(verifier.verify(&body).unwrap()));
        prop_assert!(!line.contains(char::is_control));
        let again = value::body(&format, &json::parse(&format, &line).unwrap()).unwrap();
        prop_assert_eq!(text(&read(&format, &again).unwrap()), text(&record), "{}", line);
        prop_assert_eq!(json::line(View::new(verifier.verify(&again).unwrap())), line);
    }

    /// Straight from the text, and by way of a tree: the same bodies, and the same errors, whatever is changed in the text.
    #[test]
    fn json_becomes_the_same_body_as_its_tree((format, record) in any_record(), changes: [(u16, u8); 24]) {
        let by_tree = |text: &str| json::parse(&format, text).and_then(|record| value::body(&format, &record));
        let body = value::body(&format, &record).unwrap();
        let line = json::line(View::new(format.verify(&body).unwrap()));
        prop_assert_eq!(json::body(&format, &line), by_tree(&line));
        let spaced = line.replace(':', " :\t").replace(',', "\n, ").replace(']', " ]").replace('{', " { ");
        prop_assert_eq!(json::body(&format, &spaced), by_tree(&spaced));
        let pieces = [
            "0", "-", "9", ".", "e", "E5", "+", ",", ":", "\"", "\\", "{", "}", "[", "]", "null", "true", " ", "\n", "\\u00e4", "\\n",
            "\\ud83d\\ude00", "\\ud800", "\u{1f}", "18446744073709551616", "-9223372036854775808", "00", "1e400", "1e-400",
            "0.1000000000000000055511151231257827", "[]", "{}", "\"\"", "\"1\"", "a", "\\u0000",
        ];
        for (at, piece) in changes {
            let mut at = usize::from(at) % line.len();
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            let piece = pieces[usize::from(piece) % pieces.len()];
            let (head, tail) = line.split_at(at);
            let rest = tail.chars().next().map_or(tail, |first| &tail[first.len_utf8()..]);
            for text in [format!("{head}{piece}{tail}"), format!("{head}{piece}{rest}"), format!("{head}{rest}"), head.into()] {
                prop_assert_eq!(json::body(&format, &text), by_tree(&text), "{}", text);
            }
        }
    }

    #[test]
    fn cells_fit_their_columns((format, record) in any_record(), width in 0..60usize) {
        let body = value::body(&format, &record).unwrap();
        let verifier = Verifier::new(&format);
        let table = Table::new(&format, width);
        let cells = table.cells(View::new(verifier.verify(&body).unwrap()));
        prop_assert_eq!(cells.len(), table.columns().len());
        for (cell, column) in cells.iter().zip(table.columns()) {
            prop_assert!(!cell.contains(char::is_control));
            let least = if column.number { 50 } else { 120 };
            prop_assert!(cell.chars().count() <= width.max(least), "{}: {}", column.name, cell);
        }
    }

    #[test]
    fn damage_is_refused_or_harmless((format, record) in any_record(), seed: u64) {
        let good = value::body(&format, &record).unwrap();
        let verifier = Verifier::new(&format);
        for at in 0..good.len().min(400) {
            let mut body = good.clone();
            body[at] = body[at].wrapping_add(1 + (seed >> (at % 57)) as u8 % 255);
            if let Ok(body) = verifier.verify(&body) {
                let view = View::new(body);
                view.fields().for_each(|(_, item)| touch(item));
                // What is accepted is what a writer could have written, but for what nobody reads.
                if at == seed as usize % good.len().min(400) {
                    let again = value::body(&format, &view.to_value()).unwrap();
                    prop_assert_eq!(again.len(), body.bytes().len());
                    prop_assert_eq!(text(&read(&format, &again).unwrap()), text(&view.to_value()));
                }
            }
        }
        for length in 0..good.len().min(400) {
            prop_assert!(verifier.verify(&good[..length]).is_err(), "cut to {}", length);
        }
    }
}

/// Reads everything, down to the last element.
fn touch(item: Item<'_>) {
    match item {
        Item::Array(array) => array.iter().for_each(touch),
        Item::Record(view) => view.fields().for_each(|(_, item)| touch(item)),
        other => _ = std::hint::black_box(other),
    }
}

#[test]
fn every_layout_is_tried() {
    let shape = Shape::new("all").field("n", "long").field("x", "long double[n]").field("s", "string");
    let record = Value::Record(vec![
        ("n".into(), Value::Integer(2)),
        ("x".into(), Value::Array(vec![Value::Float(0.5), Value::Float(-1e9)])),
        ("s".into(), Value::String(b"text".to_vec())),
    ]);
    for layout in Layout::ALL {
        let format = shape.on(layout).unwrap();
        assert_eq!(read(&format, &value::body(&format, &record).unwrap()).unwrap(), record, "{}", layout.name);
    }
}

#[test]
fn cells_may_be_as_wide_as_they_like() {
    let format = Shape::new("r").field("s", "string").field("a", "int[2]").on(&Layout::X86_64).unwrap();
    let record = json::parse_partial(&format, r#"{"s":"text","a":[1,2]}"#).unwrap();
    let body = value::body(&format, &record).unwrap();
    let cells = Table::new(&format, usize::MAX).cells(View::new(format.verify(&body).unwrap()));
    assert_eq!(cells, ["text", "[1, 2]"]);
}

#[test]
fn the_first_of_several_texts_may_be_empty() {
    let format = Shape::new("Notes").field("n", "u32").field("texts", "char[n][4]").on(&Layout::NATIVE).unwrap();
    let texts = Value::Array([&b""[..], b"abc"].map(|text| Value::String(text.to_vec())).to_vec());
    let record = Value::Record(vec![("n".into(), Value::Integer(2)), ("texts".into(), texts)]);
    let body = value::body(&format, &record).unwrap();
    let verifier = Verifier::new(&format);
    assert_eq!(View::new(verifier.verify(&body).unwrap()).to_value(), record);
}

#[test]
fn rows_without_elements_are_counted() {
    let shape = Shape::new("Grid").field("rows", "u32").field("columns", "u32").field("grid", "f64[rows][columns]");
    let format = shape.on(&Layout::NATIVE).unwrap();
    for text in [r#"{"grid":[[],[],[]]}"#, r#"{"rows":3,"grid":[[],[],[]]}"#] {
        let record = json::parse_partial(&format, text).unwrap();
        let body = value::body(&format, &record).unwrap();
        let read = View::new(format.verify(&body).unwrap()).to_value();
        let Value::Record(entries) = read else { panic!("no record") };
        assert_eq!(entries[0], ("rows".into(), Value::Integer(3)), "{text}");
    }
    let record = json::parse_partial(&format, r#"{"rows":2,"grid":[[],[],[]]}"#).unwrap();
    assert_eq!(value::body(&format, &record).unwrap_err().code(), Code::Lengths);
}
