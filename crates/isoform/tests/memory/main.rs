//! Whatever a stranger sends takes memory in proportion: at most 4 times its bytes, and 1 MiB (`docs/book/reference/limits.md`).
#![cfg(not(miri))]

mod formats;
mod peak;

use formats::{BIG, LITTLE, worst};
use isoform::core::{Layout, Plan, Shape, Value, plan, value};
use isoform::text::json;
use isoform::text::table::Table;
use isoform::{Faults, Format, Rules, View};
use peak::{bounded, bounded_beside, kept};
use std::fmt::Write;

/// What a plan may take for each field of the receiver's own format.
const FIELD: usize = 320;

/// How many times its description a format may keep.
const KEPT: usize = 42;

/// How many times its text more JSON takes while it becomes a tree of values.
const TREE: usize = 124;

/// Takes all that is written, and keeps nothing.
struct Sink;

impl Write for Sink {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

fn length(format: &Format) -> usize {
    format.description().as_bytes().len()
}

#[test]
fn descriptions() {
    for (name, format) in worst(LITTLE) {
        let bytes = format.description().as_bytes();
        let again = bounded(&format!("parsing {name}"), bytes.len(), || Format::parse(bytes));
        assert_eq!(again.unwrap(), format);
    }
}

/// What a format keeps is in proportion to its description, once bodies of it were verified and written, and fields
/// looked up.
#[test]
fn formats_that_are_kept() {
    for (name, format) in worst(BIG) {
        let body = value::body(&format, &Value::Record(vec![])).unwrap();
        let (_, kept) = kept(|| {
            let format = Format::parse(format.description().as_bytes()).unwrap();
            let view = View::new(format.verify(&body).unwrap());
            view.field("nothing").unwrap_err();
            json::write(view, &mut Sink).unwrap();
            format
        });
        assert!(kept <= KEPT * length(&format), "{name}: {kept} bytes for {}", length(&format));
        let stated = format.memory();
        assert!((kept..=4 * kept).contains(&stated), "{name}: {stated} bytes are stated, and {kept} are taken");
    }
}

#[test]
fn bodies() {
    for (name, format) in worst(BIG) {
        let body = value::body(&format, &Value::Record(vec![])).unwrap();
        let bytes = length(&format) + body.len();
        bounded(&format!("verifying {name}, and writing it as JSON"), bytes, || {
            let format = Format::parse(format.description().as_bytes()).unwrap();
            json::write(View::new(format.verify(&body).unwrap()), &mut Sink).unwrap();
        });
        bounded(&format!("a table of {name}"), bytes, || {
            let view = View::new(format.verify(&body).unwrap());
            view.find("nothing").unwrap_err();
            let table = Table::new(&format, 24);
            assert_eq!(table.cells(view).len(), table.columns().count());
        });
    }
}

#[test]
fn plans() {
    let natives = worst(LITTLE);
    let mut planned = 0;
    for (wire_name, wire) in worst(BIG) {
        for (name, native) in &natives {
            let what = format!("of {wire_name} to {name}");
            let (own, bytes) = (FIELD * native.structure().total_fields(), length(&wire) + length(native));
            let explained = || Plan::explained(&wire, native, &Rules::new(), Faults::Saturate);
            let Ok((plan, reports)) = bounded_beside(&format!("an explanation {what}"), own, bytes, explained) else {
                continue;
            };
            planned += 1;
            if *name != wire_name {
                continue;
            }
            bounded(&format!("the text of a plan {what}"), bytes, || write!(Sink, "{plan}")).unwrap();
            bounded(&format!("reports {what}"), bytes, || reports.iter().for_each(drop));
            let own = FIELD * native.structure().total_fields().max(wire.structure().total_fields());
            let verdict = || plan::compare(&wire, native, &Rules::new(), Faults::Saturate);
            assert!(bounded_beside(&format!("a verdict {what}"), own, bytes, verdict).is_readable());
        }
    }
    assert!(planned > natives.len(), "formats that have fields in common with others");
}

/// A tree of values is larger than its text, and so is what JSON is read into first; most so where a list has just become
/// longer than a power of two.
#[test]
fn json_in() {
    let part = Shape::new("p").field("a", "int");
    for (words, element) in
        [("u8[n]", "0,"), ("f64[n]", "1,"), ("string[n]", "\"\","), ("p[n]", "{\"a\":0},"), ("p[n]", "{},")]
    {
        let format =
            Shape::new("r").nested(part.clone()).field("n", "int").field("x", words).on(&Layout::X86_64).unwrap();
        let text = format!("{{\"x\":[{}]}}", element.repeat((1 << 18) + 1).trim_end_matches(','));
        let own = TREE * text.len();
        let zero = Rules::new().missing(plan::Missing::Zero);
        bounded_beside(words, own, text.len(), || json::parse_with(&format, &text, &zero)).unwrap();
    }
}
