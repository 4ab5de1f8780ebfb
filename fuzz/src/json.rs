//! Records from JSON: what is accepted makes a valid body, and is written and read again as the same.

use crate::{refusal, same};
use isoform::View;
use isoform::core::{Layout, Shape, value};
use isoform::text::json;

/// Larger records are not asked for: how much memory a format takes is the wish of who chose it.
const LARGEST: usize = 64 << 10;

/// The input is a byte that chooses a layout, the text of a shape, a NUL, the JSON of a record, and maybe a NUL and a
/// path.
pub fn check(input: &[u8]) {
    let Some((choice, Ok(text))) = input.split_first().map(|(choice, text)| (choice, std::str::from_utf8(text))) else {
        return;
    };
    let Some((shape, text)) = text.split_once('\0') else { return };
    let (line, path) = text.split_once('\0').unwrap_or((text, ""));
    let layout = Layout::ALL[usize::from(*choice) % Layout::ALL.len()];
    let Ok(format) = Shape::parse(shape).and_then(|shape| shape.on(&layout)) else { return };
    if format.size() > LARGEST {
        return;
    }
    let body = match json::parse_partial(&format, line).and_then(|value| value::body(&format, &value)) {
        Err(error) => return refusal(&error),
        Ok(body) => body,
    };
    let view = View::new(format.verify(&body).expect("what was written is valid"));
    let line = json::line(view);
    let again = json::parse_partial(&format, &line).and_then(|value| value::body(&format, &value));
    let again = again.expect("what was written can be read");
    let view_again = View::new(format.verify(&again).expect("what was written is valid"));
    assert!(same(&view.to_value(), &view_again.to_value()), "{line}");
    assert_eq!(json::line(view_again), line);
    at(view, path);
}

/// What is at a path is there in every way of asking.
fn at(view: View<'_>, path: &str) {
    let paths = [path];
    let fields = json::fields(view, &paths).map(|fields| fields.to_string());
    match (view.find(path), view.get(path)) {
        (Ok(_), Ok(_)) => assert!(fields.is_ok()),
        (Ok(_), Err(error)) => {
            refusal(&error);
            assert!(fields.is_ok_and(|fields| fields.ends_with(":null}")));
        }
        (Err(error), got) => {
            refusal(&error);
            assert!(fields.is_err() && got.is_err(), "{path:?}");
        }
    }
}
