//! Records of one name: each front end has scopes, one spelling of them, and refuses a name that has several meanings.

use isoform_core::{Code, Layout, Result, Shape};
use isoform_xmit::{Alone, Declarations, Language, Loader, Overlay, Target};

/// Documents by their names, which are their locations.
struct Files(&'static [(&'static str, &'static str)]);

impl Loader for Files {
    fn locate(&mut self, _: &str, location: &str) -> Result<String> {
        Ok(location.trim_start_matches("../").to_owned())
    }

    fn load(&mut self, name: &str) -> Result<String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| isoform_core::Error::new(Code::Source).found(name))
    }
}

fn read(language: Language, files: &'static [(&'static str, &'static str)]) -> Declarations {
    Declarations::read(language, files[0].0, files[0].1, &mut Files(files)).unwrap()
}

/// A language, its documents, of which the first has a record of the name; the full names of that one and of another's, and a field of each.
struct Case {
    language: Language,
    files: &'static [(&'static str, &'static str)],
    name: &'static str,
    own: (&'static str, &'static str),
    other: (&'static str, &'static str),
}

const IMPORTS: &[Case] = &[
    Case {
        language: Language::Proto,
        files: &[
            (
                "mine.proto",
                "syntax = \"proto3\"; package p; import \"other.proto\"; message Status { int32 code = 1; }\n\
                 message Gauge { q.Status now = 1; }",
            ),
            ("other.proto", "syntax = \"proto3\"; package q; message Status { double level = 1; }"),
        ],
        name: "Status",
        own: ("p.Status", "code"),
        other: ("q.Status", "level"),
    },
    Case {
        language: Language::Proto,
        files: &[
            (
                "mine.proto",
                "syntax = \"proto3\"; package p; import \"other.proto\"; message Status { int32 code = 1; }",
            ),
            ("other.proto", "syntax = \"proto3\"; message Status { double level = 1; }"),
        ],
        name: "Status",
        own: ("p.Status", "code"),
        other: (".Status", "level"),
    },
    Case {
        language: Language::Idl,
        files: &[
            (
                "mine.idl",
                "#include \"other.idl\"\nmodule p { struct Status { long code; }; struct Gauge { q::Status now; }; };",
            ),
            ("other.idl", "module q { struct Status { double level; }; };"),
        ],
        name: "Status",
        own: ("p::Status", "code"),
        other: ("q::Status", "level"),
    },
    Case {
        language: Language::Msg,
        files: &[
            ("mine/msg/Status.msg", "int32 code\nother/Gauge gauge\n"),
            ("../../other/msg/Gauge.msg", ""),
            ("other/msg/Gauge.msg", "Status now\n"),
            ("Status.msg", "float64 level\n"),
        ],
        name: "Status",
        own: ("mine/Status", "code"),
        other: ("other/Status", "level"),
    },
    Case {
        language: Language::JsonSchema,
        files: &[
            (
                "mine.json",
                r#"{"$defs": {"Status": {"properties": {"code": {"type": "integer"}}},
                    "Gauge": {"properties": {"now": {"$ref": "other.json#/$defs/Status"}}}}}"#,
            ),
            ("other.json", r#"{"$defs": {"Status": {"properties": {"level": {"type": "number"}}}}}"#),
        ],
        name: "Status",
        own: ("/$defs/Status", "code"),
        other: ("other.json:/$defs/Status", "level"),
    },
    Case {
        language: Language::XmlSchema,
        files: &[
            (
                "mine.xsd",
                r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:p" xmlns:q="urn:q">
                <s:import namespace="urn:q" schemaLocation="other.xsd"/>
                <s:complexType name="Status"><s:sequence><s:element name="code" type="s:int"/></s:sequence></s:complexType>
                <s:complexType name="Gauge"><s:sequence><s:element name="now" type="q:Status"/></s:sequence></s:complexType>
                </s:schema>"#,
            ),
            (
                "other.xsd",
                r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:q">
                <s:complexType name="Status"><s:sequence><s:element name="level" type="s:double"/></s:sequence></s:complexType>
                </s:schema>"#,
            ),
        ],
        name: "Status",
        own: ("type(Status)", "code"),
        other: ("type({urn:q}Status)", "level"),
    },
];

fn first_field(declarations: &Declarations, name: &str) -> String {
    declarations.get(name).unwrap_or_else(|error| panic!("{name}: {error}")).fields[0].name.to_string()
}

#[test]
fn a_name_means_the_record_of_the_document_itself() {
    for Case { language, files, name, own, other } in IMPORTS {
        let declarations = read(*language, files);
        assert_eq!(first_field(&declarations, name), own.1, "{language}");
        assert_eq!(first_field(&declarations, own.0), own.1, "{language}");
        assert_eq!(first_field(&declarations, other.0), other.1, "{language}");
        let names: Vec<&str> = declarations.names().collect();
        assert!(names.contains(&own.0) && names.contains(&other.0) && !names.contains(name), "{language}: {names:?}");
        // Each name of the list means its own record, and the format has the name alone.
        for full in [own, other] {
            let format = declarations.bind(full.0, &Layout::NATIVE);
            // The message of ROS nests one of its own name.
            if let Ok(format) = format {
                assert_eq!((format.name(), &*format.structure().fields()[0].name), (*name, full.1));
                assert_eq!(declarations.markup(full.0).unwrap().record(), *name);
                assert!(Target::Shape.write(&declarations, Some(full.0)).unwrap().contains(full.1));
            } else {
                assert_eq!(*language, Language::Msg);
            }
        }
        if names.contains(&"Gauge") && *language != Language::Msg {
            let shape = declarations.shape("Gauge").unwrap().to_string();
            assert!(shape.contains("level") && !shape.contains("code"), "{language}: {shape}");
        }
    }
}

#[test]
fn an_overlay_names_records_in_the_same_way() {
    for Case { language, files, name, own, other } in IMPORTS {
        let change = |record: &str, field: &str| {
            let text = format!(r#"{{"{record}": {{"name": "Renamed", "fields": {{"{field}": {{"unit": "m"}}}}}}}}"#);
            Overlay::parse("mine.json", &text).unwrap().over(read(*language, files))
        };
        let renamed = change(other.0, other.1).unwrap();
        assert_eq!(first_field(&renamed, "Renamed"), other.1, "{language}");
        assert_eq!(first_field(&renamed, name), own.1, "{language}");
        assert_eq!(renamed.get("Renamed").unwrap().fields[0].unit.as_deref(), Some("m"));
        assert_eq!(first_field(&change(name, own.1).unwrap(), "Renamed"), own.1, "{language}");
        // What a name does not mean has not its fields.
        assert_eq!(change(name, other.1).unwrap_err().code(), Code::NoSuchField, "{language}");
        let twice = format!(r#"{{"{name}": {{"name": "A"}}, "{}": {{"name": "B"}}}}"#, own.0);
        let error = Overlay::parse("mine.json", &twice).unwrap().over(read(*language, files)).unwrap_err();
        assert_eq!(error.code(), Code::Declaration, "{language}");
    }
}

#[test]
fn two_records_of_one_name_in_one_format_need_another_name() {
    let case = &IMPORTS[3];
    let error = read(case.language, case.files).shape("Status").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid declaration at Status: expected one record of each name in a format; an overlay can rename one, \
         found mine/Status (mine/msg/Status.msg:1) and other/Status (Status.msg:1)"
    );
    let ours = Overlay::parse("mine.json", r#"{"other/Status": {"name": "Inner"}}"#).unwrap();
    let declarations = ours.over(read(case.language, case.files)).unwrap();
    let shape = "record Inner\n  level  f64\nrecord Gauge\n  now  Inner\nrecord Status\n  code   i32\n  gauge  Gauge";
    assert_eq!(declarations.shape("Status").unwrap(), Shape::parse(shape).unwrap());
}

/// A language, a document, a name with two meanings, and the full names and first fields of both.
type Twins = (Language, &'static str, &'static str, [(&'static str, &'static str); 2]);

const TWINS: &[Twins] = &[
    (
        Language::XmlSchema,
        r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">
           <s:element name="Penalty"><s:complexType><s:sequence><s:element name="a" type="s:int"/></s:sequence></s:complexType></s:element>
           <s:complexType name="Penalty"><s:sequence><s:element name="b" type="s:double"/></s:sequence></s:complexType>
           <s:complexType name="Use"><s:sequence><s:element name="c" type="Penalty"/></s:sequence></s:complexType>
           </s:schema>"#,
        "Penalty",
        [("element(Penalty)", "a"), ("type(Penalty)", "b")],
    ),
    (
        Language::C,
        "struct Penalty { int a; };\ntypedef struct { double b; } Penalty;\n",
        "Penalty",
        [("struct Penalty", "a"), ("typedef Penalty", "b")],
    ),
    (
        Language::Idl,
        "module x {\nstruct Penalty { long a; }; };\nmodule y { struct Penalty { double b; }; };",
        "Penalty",
        [("x::Penalty", "a"), ("y.Penalty", "b")],
    ),
    (
        Language::Proto,
        "syntax = \"proto3\";\nmessage A_B { int32 a = 1; }\nmessage A { A_B outer = 2; message B { double b = 1; } }",
        "A_B",
        [(".A_B", "a"), ("A.B", "b")],
    ),
    (
        Language::JsonSchema,
        r#"{"$defs": {"A": {"properties": {"a": {"type": "integer"}}}}, "definitions": {"A": {"properties": {"b": {"type": "integer"}}}}}"#,
        "A",
        [("/$defs/A", "a"), ("/definitions/A", "b")],
    ),
];

#[test]
fn a_name_with_two_meanings_is_refused_with_both() {
    for (language, text, name, full) in TWINS {
        let declarations = Declarations::read(*language, "twins", text, &mut Alone).unwrap();
        let error = declarations.get(name).unwrap_err();
        assert_eq!((error.code(), error.actual()), (Code::NoSuchField, "2 records of this name"), "{language}");
        for (full, field) in full {
            assert_eq!(first_field(&declarations, full), *field, "{language}");
            let listed = format!("{} (twins", full.replace("y.", "y::"));
            assert!(error.to_string().contains(&listed), "{error}");
        }
        let listed: Vec<&str> = declarations.names().collect();
        assert!(!listed.contains(name), "{listed:?}");
        listed.iter().for_each(|name| assert!(declarations.get(name).is_ok(), "{language}: {name}"));
        // Source code for all of them would have two records of one name.
        let error = Target::Shape.write(&declarations, None).unwrap_err();
        assert!(error.to_string().contains("an overlay can rename one"), "{error}");
    }
    let xsd = Declarations::read(Language::XmlSchema, "twins", TWINS[0].1, &mut Alone).unwrap();
    assert!(xsd.shape("Use").unwrap().to_string().contains("b  f64"));
    assert_eq!(
        xsd.get("Penalty").unwrap_err().to_string(),
        "no such field at Penalty: expected one of element(Penalty) (twins:2), type(Penalty) (twins:3), \
         found 2 records of this name"
    );
}

#[test]
fn outer_scopes_may_be_left_out() {
    let text = "module a { module b { struct Gauge { long x; }; }; module c { struct Gauge { long y; }; }; };";
    let declarations = Declarations::read(Language::Idl, "a.idl", text, &mut Alone).unwrap();
    for (name, field) in [("a::b::Gauge", "x"), ("b::Gauge", "x"), ("::a::c::Gauge", "y"), ("c.Gauge", "y")] {
        assert_eq!(first_field(&declarations, name), field);
    }
    for name in ["d::Gauge", "::b::Gauge", "auge", ":Gauge", ""] {
        assert_eq!(declarations.get(name).unwrap_err().code(), Code::NoSuchField, "{name}");
    }
}

#[test]
fn a_record_with_the_name_of_a_built_in_one_does_not_take_its_place() {
    let text = r#"<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">
        <s:complexType name="duration"><s:sequence><s:element name="mine" type="s:int"/></s:sequence></s:complexType>
        <s:complexType name="Gauge"><s:sequence><s:element name="d" type="s:duration"/></s:sequence></s:complexType></s:schema>"#;
    let declarations = Declarations::from_xsd("d.xsd", text, &mut Alone).unwrap();
    assert!(declarations.shape("Gauge").unwrap().to_string().contains("months"));
    assert_eq!(first_field(&declarations, "duration"), "mine");
}

#[test]
fn what_is_left_out_is_said() {
    let of = |language, text: &str| {
        let declarations = Declarations::read(language, "pkg/msg/doc", text, &mut Alone).unwrap();
        let left = declarations.left_out().iter().map(|left| format!("{} {}", left.place, left.what));
        left.collect::<Vec<_>>()
    };
    let proto = "syntax = \"proto2\";\nservice S { rpc A(B) returns (B); }\nextend google.protobuf.FieldOptions { optional string unit = 5; }\n\
                 message B { required int32 a = 1; }";
    assert_eq!(
        of(Language::Proto, proto),
        ["pkg/msg/doc:2 service S", "pkg/msg/doc:3 extend google.protobuf.FieldOptions"]
    );
    assert_eq!(
        of(Language::Idl, "module m {\nconst string X = \"a\"; const long N = 3; };"),
        ["pkg/msg/doc:2 const m::X"]
    );
    assert_eq!(of(Language::Msg, "int32 a\nint32 B=5\n"), ["pkg/msg/doc:2 constant B of pkg/doc"]);
    let xsd = "<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\">\n<s:complexType name=\"T\" abstract=\"true\"/></s:schema>";
    assert_eq!(of(Language::XmlSchema, xsd), ["pkg/msg/doc:2 complexType T"]);
    let many: String = (0..5000).map(|number| format!("int32 C{number}=1\n")).collect();
    let many = of(Language::Msg, &many);
    assert_eq!((many.len(), &*many[1023]), (1024, "pkg/msg/doc:1024 3977 more"));
}
