//! Fields by name, by path and one after another.

use isoform_core::text::json;
use isoform_core::view::Item;
use isoform_core::{Code, Element, Format, Layout, Shape, Verifier, View, value};

fn format() -> Format {
    let cell = Shape::new("cell").field("rho", "double").field("name", "string");
    Shape::new("state")
        .nested(cell)
        .field("step", "u64")
        .field("label", "char[8]")
        .field("phase", "enum{liquid=0,ice=7}")
        .field("nx", "int")
        .field("ny", "short")
        .field("grid", "cell[nx][ny]")
        .field("flux", "float[nx][3]")
        .field("origin", "cell*")
        .field("title", "string")
        .on(&Layout::POWERPC)
        .unwrap()
}

const RECORD: &str = r#"{"step":18446744073709551615,"label":"run 7","phase":"ice",
    "grid":[[{"rho":0.5},{"rho":1.5,"name":"b"}],[{"rho":2},{"rho":3}],[{"rho":4},{"name":"last"}]],
    "flux":[[1,2,3],[4,5,6],[7,8,9]],"title":"Grüße"}"#;

fn with_view(record: &str, check: impl FnOnce(View<'_>)) {
    let format = format();
    let body = value::body(&format, &json::parse_partial(&format, record).unwrap()).unwrap();
    let verifier = Verifier::new(&format);
    check(View::new(verifier.verify(&body).unwrap()));
}

#[test]
fn paths_lead_to_items() {
    with_view(RECORD, |view| {
        assert_eq!(view.f64("grid[1][1].rho").unwrap(), 3.0);
        assert_eq!(view.str("grid[2][1].name").unwrap(), "last");
        assert_eq!(view.f64("flux[2][0]").unwrap(), 7.0);
        assert_eq!(view.i64("ny").unwrap(), 2);
        assert_eq!(view.f64("nx").unwrap(), 3.0);
        assert_eq!(view.str("title").unwrap(), "Grüße");
        assert_eq!(view.str("label").unwrap(), "run 7");
        assert_eq!(view.str("phase").unwrap(), "ice");
        assert!(matches!(view.get("origin").unwrap(), Item::Null));
        assert!(matches!(view.get("phase").unwrap(), Item::Symbol(symbol) if symbol.value == 7));
        let Item::Record(cell) = view.get("grid[0][1]").unwrap() else { panic!() };
        assert_eq!(cell.str("name").unwrap(), "b");
        assert!(matches!(view.field("step").unwrap(), Item::Integer(number) if number == u64::MAX.into()));
    });
}

#[test]
fn paths_that_lead_nowhere() {
    with_view(RECORD, |view| {
        for (path, code, at) in [
            ("", Code::NoSuchField, ""),
            ("stepp", Code::NoSuchField, ""),
            (".step", Code::NoSuchField, ""),
            ("step.", Code::WrongType, "step"),
            ("step[0]", Code::WrongType, "step"),
            ("grid[3][0]", Code::NoSuchField, "grid"),
            ("grid[0][2]", Code::NoSuchField, "grid[0]"),
            ("grid[0][-1]", Code::NoSuchField, "grid[0]"),
            ("grid[0][+1]", Code::NoSuchField, "grid[0]"),
            ("grid[][0]", Code::NoSuchField, "grid"),
            ("grid[0].rho", Code::WrongType, "grid[0]"),
            ("grid[0][0][0]", Code::WrongType, "grid[0][0]"),
            ("grid[0][0].roh", Code::NoSuchField, "grid[0][0]"),
            ("grid[0", Code::NoSuchField, ""),
            ("grid[0]x", Code::NoSuchField, ""),
            ("origin.rho", Code::Null, "origin"),
            ("title[0]", Code::WrongType, "title"),
        ] {
            let error = view.get(path).unwrap_err();
            assert_eq!((error.code(), error.path()), (code, at), "{path}: {error}");
        }
        assert_eq!(view.i64("step").unwrap_err().code(), Code::Overflow);
        assert_eq!(view.i64("title").unwrap_err().code(), Code::WrongType);
        assert_eq!(view.f64("grid[0][0]").unwrap_err().code(), Code::WrongType);
        assert_eq!(view.str("grid[0][0].name").unwrap_err().code(), Code::Null);
        assert_eq!(view.str("step").unwrap_err().path(), "step");
        let error = view.get("rho").unwrap_err();
        assert_eq!(error.expectation(), "one of step, label, phase, nx, ny, grid, flux, origin, title");
    });
}

#[test]
fn arrays_are_read_in_any_way() {
    with_view(RECORD, |view| {
        let Item::Array(flux) = view.field("flux").unwrap() else { panic!() };
        assert_eq!((flux.dims(), flux.len(), flux.bytes().len()), (&[3, 3][..], 3, 36));
        assert_eq!(flux.f64s().unwrap().collect::<Vec<_>>(), [1., 2., 3., 4., 5., 6., 7., 8., 9.]);
        let rows: Vec<f64> = flux
            .iter()
            .map(|row| match row {
                Item::Array(row) => row.f64s().unwrap().sum(),
                _ => panic!(),
            })
            .collect();
        assert_eq!(rows, [6.0, 15.0, 24.0]);
        assert!(flux.get(3).is_none());

        let Item::Array(grid) = view.field("grid").unwrap() else { panic!() };
        assert!(matches!(grid.element_type(), Element::Structure(cell) if cell.name() == "cell"));
        assert_eq!(grid.elements().len(), 6);
        assert_eq!(grid.f64s().err().unwrap().code(), Code::WrongType);
        assert!(grid.text().is_none());
    });
}

/// Next to a length of 0, the other one can be anything; nobody should have to count to it.
#[test]
fn an_array_without_elements_has_no_dimensions() {
    with_view(r#"{"nx":2147483647,"ny":0,"flux":null}"#.replace("2147483647", "0").as_str(), |view| {
        let Item::Array(grid) = view.field("grid").unwrap() else { panic!() };
        assert!(grid.is_empty());
        assert_eq!((grid.dims(), grid.iter().count(), grid.elements().count()), (&[0, 0][..], 0, 0));
    });
    let format = Shape::new("thin").field("n", "int").field("m", "int").field("x", "int[n][m]");
    let format = format.on(&Layout::X86_64).unwrap();
    let verifier = Verifier::new(&format);
    let mut body = value::body(&format, &json::parse_partial(&format, r#"{"n":2147483647,"x":[]}"#).unwrap()).unwrap();
    assert_eq!(json::line(View::new(verifier.verify(&body).unwrap())), r#"{"n":2147483647,"m":0,"x":[]}"#);
    body[4] = 1;
    assert_eq!(verifier.verify(&body).unwrap_err().code(), Code::NullArray);
}

#[test]
fn views_print_themselves() {
    with_view(RECORD, |view| {
        let text = format!("{view:?}");
        assert!(text.starts_with("state { step: Integer(18446744073709551615), label: Array(\"run 7\")"), "{text}");
    });
}

#[test]
fn what_one_record_has_not_is_null() {
    with_view(RECORD, |view| {
        for path in ["origin.rho", "origin", "grid[3][0].rho", "grid[0][2]", "flux[9][2]"] {
            assert!(matches!(view.find(path), Ok(Item::Null)), "{path}: {:?}", view.find(path));
        }
        assert!(matches!(view.find("grid[0][0].rho"), Ok(Item::Float(_))));
        for path in [
            "origin.roh",
            "origin.rho.x",
            "grid[9].rho",
            "grid[9][0][0]",
            "grid[x][0]",
            "grid[+9][0]",
            "flux[0][3]",
            "rho",
            "",
        ] {
            assert!(view.find(path).is_err(), "{path}");
        }
    });
}
