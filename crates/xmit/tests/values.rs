//! Values as each language writes them: escapes and bases in defaults, numbers of JSON, spaces of XML Schema.

use isoform_core::{Code, Layout, Value};
use isoform_xmit::{Alone, Declarations, Hydration, Language, Target};

fn read(language: Language, text: &str) -> isoform_core::Result<Declarations> {
    Declarations::read(language, "a", text, &mut Alone)
}

/// The default of the field `x` of the one record, as JSON.
fn default(language: Language, text: &str) -> Result<String, String> {
    let all = read(language, text).map_err(|error| error.to_string())?;
    let name = all.names().last().unwrap_or_default().to_owned();
    let mut defaults = all.defaults(&name).map_err(|error| error.to_string())?;
    Ok(defaults.remove(0).2)
}

#[test]
fn defaults_of_protocol_buffers() {
    let of = |kind: &str, text: &str| {
        default(
            Language::Proto,
            &format!("syntax = \"proto2\"; message R {{ optional {kind} x = 1 [default = {text}]; }}"),
        )
    };
    for (kind, text, expected) in [
        ("int32", "010", "8"),
        ("int32", "-010", "-8"),
        ("int32", "0x1F", "31"),
        ("int32", "0", "0"),
        ("double", "010", "8.0"),
        ("double", "0.5", "0.5"),
        ("double", "-inf", "\"-Infinity\""),
        ("string", r#""a\tb\101\x41\"""#, r#""a\tbAA\"""#),
        ("string", r"'it\'s \u00e9'", "\"it's é\""),
        ("string", r#""a" 'b' "c""#, "\"abc\""),
        ("string", r#""\303\251""#, "\"é\""),
    ] {
        assert_eq!(of(kind, text).as_deref(), Ok(expected), "{kind} {text}");
    }
    for (kind, text, says) in [
        ("int32", "08", "digits of the number's base"),
        ("int32", "0x", "digits of the number's base"),
        ("string", r#""\q""#, r"escapes of the language, found `\q`"),
        ("string", r#""\400""#, r"escapes of the language, found `\400`"),
        ("string", r#""\377""#, "a text in UTF-8"),
    ] {
        assert!(of(kind, text).is_err_and(|error| error.contains(says)), "{kind} {text} {:?}", of(kind, text));
    }
    let numbers =
        read(Language::Proto, "syntax = \"proto3\"; enum E { A = 010; B = -0x10; } message R { E e = 1; }").unwrap();
    assert_eq!(numbers.get("R").unwrap().fields[0].kind.to_string(), "enumeration(4){A=8,B=-16}");
    assert!(read(Language::Proto, "syntax = \"proto3\"; enum E { A = 09; }").is_err());
}

#[test]
fn defaults_of_idl() {
    let of = |kind: &str, text: &str| default(Language::Idl, &format!("struct R {{ @default({text}) {kind} x; }};"));
    for (kind, text, expected) in [
        ("long", "010", "8"),
        ("long", "-0x10", "-16"),
        ("double", "010.5", "10.5"),
        ("string", r#""a\x41\101\n\?""#, r#""aAA\n?""#),
        ("string", r#""a" "b""#, "\"ab\""),
    ] {
        assert_eq!(of(kind, text).as_deref(), Ok(expected), "{kind} {text}");
    }
    for (kind, text) in [("long", "08"), ("string", r#""\c""#), ("string", r#""\xff""#)] {
        assert!(of(kind, text).is_err(), "{kind} {text}");
    }
    let length = |constant: &str| {
        let all = read(Language::Idl, &format!("const char N = {constant}; struct R {{ octet x[N]; }};"));
        all.and_then(|all| Ok(all.get("R")?.fields[0].kind.to_string()))
    };
    for (constant, expected) in
        [(r"'\x41'", "u8[65]"), (r"'\101'", "u8[65]"), (r"'\t'", "u8[9]"), (r"'\''", "u8[39]"), (r"'\a'", "u8[7]")]
    {
        assert_eq!(length(constant).unwrap(), expected);
    }
    // It is another number with another sign.
    assert!(length(r"'\xff'").is_err() && length("'é'").is_err());
}

#[test]
fn enumerators_of_c() {
    let of = |text: &str| {
        let all = read(Language::C, &format!("enum e {{ A = {text} }}; struct r {{ enum e x; }};"));
        all.and_then(|all| Ok(all.get("r")?.fields[0].kind.to_string()))
    };
    for (text, value) in [
        ("010", 8),
        (r"'\a'", 7),
        (r"'\x41'", 65),
        (r"'\101'", 65),
        (r"'\b'", 8),
        (r"'\\'", 92),
        ("'ab'", 24930),
        ("0X1fu", 31),
    ] {
        assert!(of(text).unwrap().contains(&format!("{{A={value}}}")), "{text} {}", of(text).unwrap());
    }
    for text in [r"'\xff'", r"'\q'", "09"] {
        assert!(of(text).is_err(), "{text}");
    }
}

#[test]
fn defaults_of_ros_are_those_of_its_generators() {
    let of = |line: &str| default(Language::Msg, line);
    for (line, expected) in [
        ("int32 x 010", "10"),
        ("int32 x 0x1F", "31"),
        ("int32 x -0b11", "-3"),
        ("string x Hello World", "\"Hello World\""),
        (r#"string x "a\tb""#, r#""a\\tb""#),
        (r##"string x "say \"#hi\""  # prose"##, r##""say \"#hi\"""##),
        ("string x 'it\\'s'", "\"it's\""),
        ("bool x TRUE", "true"),
    ] {
        assert_eq!(of(line).as_deref(), Ok(expected), "{line}");
    }
    assert!(of(r#"string x "a"b""#).is_err() && of("int32 x 0x").is_err());
}

fn json(properties: &str, required: &str) -> Hydration {
    let schema = format!(r#"{{"title": "R", "properties": {{{properties}}}, "required": [{required}]}}"#);
    let all = read(Language::JsonSchema, &schema).unwrap();
    let format = all.bind("R", &Layout::NATIVE).unwrap();
    Hydration::new(&format, &all.markup("R").unwrap()).unwrap().rules(all.rules("R").unwrap())
}

/// Numbers of RFC 8259, and what is none.
#[test]
fn numbers_of_json() {
    let hydration = json(r#""a": {"type": "number"}"#, r#""a""#);
    for good in ["0", "-0", "12", "1.5", "-0.5", "1e3", "1E+3", "1e-3", "0e1", "10.01e00"] {
        assert!(hydration.of_json(&format!("{{\"a\": {good} }}")).is_ok(), "{good}");
    }
    for bad in [
        "012", "00", "-012", "1.", "-1.", ".5", "-.5", "+1", "-", "1e", "1e+", "1.e3", "0.e1", "0x10", "1_0", "--1",
        "1.5.5", "1e5e5", "NaN", "Infinity", "1 2", "1]", "",
    ] {
        let error = hydration.of_json(&format!("{{\"a\": {bad}}}")).unwrap_err();
        assert_eq!(error.code(), Code::Text, "{bad}: {error}");
        assert!(error.position().is_some_and(|position| position.line == 1 && position.column >= 6), "{bad}: {error}");
    }
    for bad in [
        "{\"a\":1} x",
        "x {\"a\":1}",
        "{\"a\":1}}",
        "[{\"a\":1}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "\u{feff}{\"a\":1}",
        "{'a':1}",
        "{a:1}",
    ] {
        assert!(hydration.of_json(bad).is_err(), "{bad}");
    }
    // The same texts declare records.
    assert!(read(Language::JsonSchema, r#"{"properties": {"a": {"type": "number", "default": 01}}}"#).is_err());
}

#[test]
fn an_error_in_json_is_at_its_value() {
    let hydration = json(r#""a": {"type": "integer"}, "b": {"properties": {"c": {"type": "string"}}}"#, r#""a""#);
    for (text, line, column) in [
        (r#"{"a":"x","b":{"c":"long text behind it"}}"#, 1, 5),
        (r#"{"a":1, "b": {"c": 7}}"#, 1, 19),
        ("{\"a\":1,\n \"z\": 2}", 2, 6),
        (r#"{"a":1, "b": nul}"#, 1, 13),
    ] {
        let position = hydration.of_json(text).unwrap_err().position().unwrap();
        assert_eq!((position.line, position.column), (line, column), "{text}");
    }
}

#[test]
fn null_is_written_where_a_schema_has_it() {
    let hydration = json(
        r#""a": {"type": ["string", "null"]}, "b": {"type": ["integer", "null"]}, "c": {"type": "string"}, "d": {"enum": ["x  y"]}"#,
        r#""a", "b""#,
    );
    let text = |record: &[(&str, Value)]| {
        let record = Value::Record(record.iter().map(|(name, value)| ((*name).into(), value.clone())).collect());
        let body = isoform_core::value::body(hydration.format(), &record)?;
        let verifier = isoform_core::Verifier::new(hydration.format());
        hydration.json(isoform_core::View::new(verifier.verify(&body)?))
    };
    let nothing = [("a", Value::Null), ("b", Value::Null), ("c", Value::Null), ("d", Value::Null)];
    assert_eq!(text(&nothing).unwrap(), r#"{"a":null,"b":null}"#);
    assert!(hydration.of_json(r#"{"a":null,"b":null}"#).is_ok());
    for (missing, field) in [(r#"{"a":null}"#, "b"), (r#"{"b":null}"#, "a")] {
        let error = hydration.of_json(missing).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Required, field), "{error}");
    }
    // Values of an enumeration are as the schema has them, with their spaces.
    assert!(hydration.of_json(r#"{"a":null,"b":1,"d":"x  y"}"#).is_ok());
    assert!(hydration.of_json(r#"{"a":null,"b":1,"d":"x y"}"#).is_err());
    assert!(
        Target::TypeScript
            .write(
                &read(
                    Language::JsonSchema,
                    r#"{"title":"R","properties":{"a":{"type":["string","null"]}},"required":["a"]}"#
                )
                .unwrap(),
                None
            )
            .unwrap()
            .contains("\"a\": string | null;")
    );
}

/// Spaces have a meaning as the type says: in elements, attributes, lists and defaults.
#[test]
fn spaces_of_xml_schema() {
    let schema = |kind: &str, facet: &str| {
        format!(
            r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:simpleType name="T"><s:restriction base="{kind}">{facet}</s:restriction>
            </s:simpleType><s:simpleType name="L"><s:list itemType="T"/></s:simpleType>
            <s:complexType name="R"><s:sequence><s:element name="e" type="T"/><s:element name="l" type="L"/>
            <s:element name="d" type="T" default="  a &#9; b "/></s:sequence><s:attribute name="a" type="T" use="required"/></s:complexType></s:schema>"#
        )
    };
    let space = |word: &str| format!(r#"<s:whiteSpace value="{word}"/>"#);
    let raw = "  a \t\n b ";
    for (kind, facet, expected) in [
        ("s:string", String::new(), raw),
        ("s:string", space("preserve"), raw),
        ("s:string", space("replace"), "  a    b "),
        ("s:string", space("collapse"), "a b"),
        ("s:normalizedString", String::new(), "  a    b "),
        ("s:normalizedString", space("collapse"), "a b"),
        ("s:token", String::new(), "a b"),
        ("s:token", space("preserve"), "a b"),
    ] {
        let all = read(Language::XmlSchema, &schema(kind, &facet)).unwrap();
        let format = all.bind("R", &Layout::NATIVE).unwrap();
        let markup = all.markup("R").unwrap();
        let hydration = Hydration::new(&format, &markup).unwrap().rules(all.rules("R").unwrap());
        assert_eq!(isoform_xmit::Markup::parse("again", &markup.to_string()).unwrap(), markup);
        let text = format!("<R a=\"  a &#9;&#10; b \"><e>{raw}</e><l> x\n  y\t</l></R>");
        let Value::Record(fields) = hydration.of_xml(&text).unwrap() else { panic!() };
        let of = |name: &str| fields.iter().find(|(known, _)| **known == *name).unwrap().1.clone();
        let string = |text: &str| Value::String(text.as_bytes().into());
        assert_eq!((of("e"), of("a")), (string(expected), string(expected)), "{kind} {facet}");
        assert_eq!(of("l"), Value::Array(vec![string("x"), string("y")]));
        let default = match expected {
            "a b" => "a b",
            _ if expected == raw => "  a \t b ",
            _ => "  a   b ",
        };
        assert_eq!(of("d"), string(default), "{kind} {facet}");
    }
    let odd = schema("s:string", &space("trim"));
    assert!(
        read(Language::XmlSchema, &odd)
            .unwrap()
            .get("R")
            .is_err_and(|error| error.to_string().contains("preserve, replace or collapse"))
    );
}
