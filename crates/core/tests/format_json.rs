//! Formats as JSON: in both directions without loss, and what is refused.

use isoform_core::text::format::{from_json, to_json};
use isoform_core::{Code, Element, Field, Format, Machine, Structure};
use isoform_testing::any_format;
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_format_survives_json(format in any_format()) {
        prop_assert_eq!(from_json(&to_json(&format)).unwrap(), format);
    }
}

#[test]
fn structures_may_be_named_like_types() {
    let machine = Machine::NATIVE;
    let integer = Element::Integer { signed: true, size: 4 };
    let field = |name: &str, element| Field {
        name: name.into(),
        element,
        dims: [].into(),
        indirect: false,
        offset: 0,
        unit: None,
    };
    let inner = Structure::new("float", machine, 4, 4, vec![field("a", integer)]).unwrap();
    let outer = Structure::new("string", machine, 4, 4, vec![field("f", Element::Structure(inner.into()))]).unwrap();
    let format = Format::new(outer.into()).unwrap();
    assert!(to_json(&format).contains(r#""type":"structure float""#));
    assert_eq!(from_json(&to_json(&format)).unwrap(), format);
}

#[test]
fn what_is_no_format_is_refused() {
    let good = concat!(
        r#"{"byte order":"little","pointer":8,"structures":[{"name":"S","size":8,"alignment":8,"fields":"#,
        r#"[{"name":"a","type":"float","size":8,"offset":0}]}]}"#
    );
    assert_eq!(from_json(good).unwrap().name(), "S");
    let cases = [
        (r#""pointer":8"#, r#""pointer":3"#, Code::Declaration, "S"),
        (r#""pointer":8"#, r#""pointer":-1"#, Code::Text, ""),
        (r#""little""#, r#""middle""#, Code::Text, ""),
        (r#""type":"float""#, r#""type":"flaot""#, Code::Text, "S.a"),
        (r#""type":"float""#, r#""type":"S""#, Code::Text, "S.a"),
        (r#""type":"float""#, r#""type":"enumeration""#, Code::Text, "S.a"),
        (r#""size":8,"offset":0"#, r#""size":4,"offset":8"#, Code::Declaration, "S.a"),
        (r#""size":8,"offset":0"#, r#""size":300,"offset":0"#, Code::Text, "S.a"),
        (r#""offset":0"#, r#""offset":0,"dimensions":["n"]"#, Code::Text, "S.a"),
        (r#""offset":0"#, r#""offset":0,"dimensions":[1e99]"#, Code::Text, "S.a"),
        (r#""offset":0"#, r#""offset":0,"prose":"?""#, Code::Text, "S"),
        (r#""pointer":8"#, r#""pointer":8,"token":"00000000000000000000000000000007""#, Code::TokenMismatch, ""),
        ("}]}]}", "}]}]", Code::Text, ""),
        ("[{\"name\":\"S\"", "[7,{\"name\":\"S\"", Code::Text, ""),
    ];
    for (from, to, code, path) in cases {
        let error = from_json(&good.replacen(from, to, 1)).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, path), "{to}: {error}");
    }
}
