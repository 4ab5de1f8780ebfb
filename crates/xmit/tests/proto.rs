//! Protocol Buffers to shapes: the table of `spec/xmit.md`, and what it refuses.

mod common;

use common::{One, same_as};
use isoform_core::{Code, Error, Result, Value};
use isoform_xmit::{Declarations, Language, Loader};

const PROTO: One = One { language: Language::Proto, name: "river/a.proto" };

fn proto3(text: &str) -> String {
    format!("syntax = \"proto3\";\n{text}")
}

/// The fields of a message of proto3.
fn fields(members: &str) -> String {
    PROTO.fields(&proto3(&format!(
        "message R {{ {members} }} message P {{ int32 n = 1; }} enum E {{ LOW = 0; HIGH = 5; }} enum AnyValue {{ A = 0; }}"
    )))
}

#[test]
fn types_and_labels() {
    for (field, words) in [
        ("double x = 1;", "x f64"),
        ("float x = 1;", "x f32"),
        ("int32 x = 1;", "x i32"),
        ("sint32 x = 1;", "x i32"),
        ("sfixed32 x = 1;", "x i32"),
        ("int64 x = 1;", "x i64"),
        ("sint64 x = 1;", "x i64"),
        ("sfixed64 x = 1;", "x i64"),
        ("uint32 x = 1;", "x u32"),
        ("fixed32 x = 1;", "x u32"),
        ("uint64 x = 1;", "x u64"),
        ("fixed64 x = 1;", "x u64"),
        ("bool x = 1;", "x bool"),
        ("string x = 1;", "x string"),
        ("bytes x = 1;", "x u8[x_len]; x_len u64"),
        ("E x = 1;", "x enumeration(4){LOW=0,HIGH=5}"),
        ("AnyValue x = 1;", "x enumeration(4){A=0}"),
        ("P x = 1;", "x P*"),
        ("repeated P x = 1;", "x P[x_len]; x_len u64"),
        ("repeated double x = 1 [packed = true];", "x f64[x_len]; x_len u64"),
        ("optional double x = 1;", "x f64*"),
        ("optional string x = 1;", "x string"),
        ("oneof y { double x = 1; string s = 2; P p = 3; }", "x f64*; s string; p P*"),
        ("google.protobuf.DoubleValue x = 1;", "x f64*"),
        ("google.protobuf.StringValue x = 1;", "x string"),
        ("double x = 1 [(my.unit) = \"m\"];", "x f64 unit=\"m\""),
        ("double x = 1; // unit=\"m\"\n", "x f64 unit=\"m\""),
    ] {
        assert_eq!(fields(field), words, "{field}");
    }
}

#[test]
fn names_maps_and_well_known_types() {
    let text = proto3(
        "package a.river;\nimport \"google/protobuf/timestamp.proto\";\noption go_package = \"x\";\n
        message R {\n  Later later = 1;\n  repeated In ins = 2;\n  message In { a.river.R.In.Deep deep = 1; message Deep { bool x = 1; } }\n
        map<string, In.Deep> all = 3;\n  repeated google.protobuf.Timestamp at = 4;\n  reserved 5, 7 to max;\n}\n
        message Later { .a.river.R.In in = 1; }\nservice S { rpc F(R) returns (stream R) { option (x) = { a: 1 }; } rpc G(R) returns (R); }\n
        extend google.protobuf.FieldOptions { string unit = 50000; }",
    );
    let expected = "record R_In_Deep\n x bool\nrecord R_In\n deep R_In_Deep*\nrecord Later\n in R_In*
        record R_all\n key string\n value R_In_Deep\nrecord Timestamp\n seconds i64 unit=\"s\"\n nanos i32 unit=\"ns\"
        record R\n later Later*\n ins R_In[ins_len]\n ins_len u64\n all R_all[all_len]\n all_len u64\n at Timestamp[at_len]\n at_len u64";
    same_as(&PROTO.read(&text).unwrap(), "R", expected);
}

#[test]
fn proto2_and_its_defaults() -> Result<()> {
    let text = "message R { required P p = 1; optional P q = 2; optional int32 n = 3 [default = -7]; optional string s = 4 [default = \"a\"];
        optional E e = 5 [default = HIGH]; optional double d = 6 [default = -inf]; required bytes b = 7; }
        // A point\nmessage P { required double x = 1; /* the way */ }\nenum E { LOW = 0; HIGH = -5; }";
    let r = PROTO.read(text)?;
    let expected = "record P\n x double\nrecord R\n p P\n q P*\n n int\n s string\n e enumeration{LOW=0,HIGH=-5}\n d double\n b u8[b_len]\n b_len u64";
    same_as(&r, "R", expected);
    let rules = isoform_core::plan::Rules::new()
        .default("R", "n", Value::Integer(-7))
        .default("R", "s", Value::String(b"a"[..].into()))
        .default("R", "e", Value::Symbol("HIGH".into()))
        .default("R", "d", Value::Float(f64::NEG_INFINITY));
    assert_eq!(r.rules("R")?, rules);
    assert_eq!(r.get("P")?.prose.as_deref(), Some("A point"));
    assert_eq!(r.get("P")?.fields[0].prose.as_deref(), Some("the way"));
    Ok(())
}

#[test]
fn imports() -> Result<()> {
    struct Files(Vec<String>);
    impl Loader for Files {
        fn locate(&mut self, _: &str, location: &str) -> Result<String> {
            Ok(location.to_owned())
        }
        fn load(&mut self, name: &str) -> Result<String> {
            self.0.push(name.into());
            match name {
                "../river/point.proto" => Ok(proto3("package river; message Point { double x = 1; }")),
                _ => Err(Error::new(Code::Source).found(name)),
            }
        }
    }
    let mut files = Files(Vec::new());
    let text = proto3("package river; import public \"river/point.proto\"; message R { repeated Point points = 1; }");
    let r = Declarations::read(Language::Proto, PROTO.name, &text, &mut files)?;
    same_as(&r, "R", "record Point\n x double\nrecord R\n points Point[points_len]\n points_len u64");
    assert_eq!(files.0, ["river/point.proto", "../river/point.proto"]);
    let missing = proto3("import \"missing.proto\"; message R { int32 x = 1; }");
    let error = Declarations::read(Language::Proto, PROTO.name, &missing, &mut files).unwrap_err();
    assert_eq!(error.code(), Code::Source);
    Ok(())
}

#[test]
fn refusals_name_the_line_and_the_reason() {
    let refused = |text: &str, says: &str| PROTO.refuses(&proto3(text), says);
    refused(
        "message R {\n google.protobuf.Any x = 1; }",
        "a.proto:3: expected a type that is declared, found google.protobuf.Any",
    );
    refused("message R {\n Missing x = 1; }", "a.proto:3: expected a type that is declared, found Missing");
    refused(
        "message R {\n extensions 100 to 200; }",
        "a.proto:3: expected a message without extensions, found extensions of R",
    );
    refused(
        "message R { int32 x = 1; }\nextend R { int32 y = 2; }",
        "a.proto:3: expected messages without extensions, found extend R",
    );
    refused(
        "message R {\n repeated group G = 1 { int32 x = 1; } }",
        "a.proto:3: expected a message in place of a group, found the group G",
    );
    refused("message R { repeated bytes x = 1; }", "an array of single values");
    refused("message R { R x = 1; }", "found R > R");
    refused("message R { }", "a record with a field or more");
    refused("message R { int32 x = 1; }\nmessage R { }", "a.proto:3: expected one declaration of each name");
    refused("message R { int32 x = 1 }", "expected `;`");
    PROTO.refuses("edition = \"2023\"; message R { int32 x = 1; }", "expected syntax proto2 or proto3, package");
    PROTO.refuses("message R { int32 x = 1; }", "optional, required or repeated, or a declaration, found int32");
}
