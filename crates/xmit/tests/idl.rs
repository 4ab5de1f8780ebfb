//! IDL to shapes: the table of `spec/xmit.md`, and what it refuses.

mod common;

use common::{One, same_as};
use isoform_core::{Code, Layout, Result, Shape, Value};
use isoform_xmit::{Alone, Declarations, Language, Loader};

const IDL: One = One { language: Language::Idl, name: "a.idl" };

/// The fields of a struct with these members.
fn fields(members: &str) -> String {
    IDL.fields(&format!("struct R {{ {members} }};"))
}

#[test]
fn the_interface_of_paper_000() {
    let text = "interface small {\n struct small_record {\n long value;\n double dvalue;\n long< 5 > iarray;\n };\n}\n";
    let small = IDL.read(text).unwrap();
    assert_eq!(small.names().collect::<Vec<_>>(), ["small_record"]);
    same_as(&small, "small_record", "record small_record\n value int\n dvalue double\n iarray int[5]");
}

#[test]
fn basic_types() {
    for (name, words) in [
        ("boolean", "bool"),
        ("octet", "u8"),
        ("char", "char"),
        ("short", "i16"),
        ("unsigned short", "u16"),
        ("long", "i32"),
        ("unsigned long", "u32"),
        ("long long", "i64"),
        ("unsigned long long", "u64"),
        ("int8", "i8"),
        ("uint8", "u8"),
        ("int16", "i16"),
        ("uint16", "u16"),
        ("int32", "i32"),
        ("uint32", "u32"),
        ("int64", "i64"),
        ("uint64", "u64"),
        ("float", "f32"),
        ("double", "f64"),
        ("long double", "f128"),
        ("string", "string"),
        ("string<16>", "string"),
        ("fixed<9, 2>", "string"),
        ("sequence<double>", "f64[x_len]; x_len u64"),
        ("sequence<double, 8>", "f64[x_len]; x_len u64"),
        ("sequence<string<8>>", "string[x_len]; x_len u64"),
    ] {
        assert_eq!(fields(&format!("{name} x;")), format!("x {words}"), "{name}");
    }
    assert_eq!(fields("long a, b[2][3];"), "a i32; b i32[2][3]");
}

#[test]
fn names_in_scopes_constants_and_typedefs() {
    let text = "module a { const long N = 2 * (3 + 1) - 1; enum Phase { solid, liquid };
        module b { typedef double Row[N >> 1]; typedef sequence<Row> Rows; typedef Phase P;
          struct Point { double x; }; };
        struct Base { long id; };
        struct R : Base { b::Row row; b::Rows rows; ::a::b::P phase; sequence<b::Point> points; b::Point two[1 << 1]; }; };";
    let expected =
        "record Point\n x double\nrecord R\n id int\n row double[3]\n rows double[rows_len][3]\n rows_len u64
        phase enumeration{solid=0,liquid=1}\n points Point[points_len]\n points_len u64\n two Point[2]";
    same_as(&IDL.read(text).unwrap(), "R", expected);
    assert_eq!(
        IDL.fields("enum E { @value(3) a, b, @value(-1) c }; struct R { E e; };"),
        "e enumeration(4){a=3,b=4,c=-1}"
    );
    assert_eq!(IDL.fields("@bit_bound(8) enum E { a, b }; struct R { E e; };"), "e enumeration(1){a=0,b=1}");
    assert_eq!(fields("long _struct;"), "struct i32");
}

#[test]
fn annotations_and_comments() -> Result<()> {
    assert_eq!(
        fields("@optional long a; @optional string b; @optional sequence<long> c;"),
        "a i32*; b string; c i32[c_len]; c_len u64"
    );
    let text = "/// A gauge\nstruct R {\n  @key @unit(\"m\") double level; // over the sill\n  double depth; //!< the depth unit=\"cm\"
        @default(7) long n;\n @optional @default(value=\"none\") string s;\n @default(TRUE) boolean b; };";
    let r = IDL.read(text)?;
    let record = r.get("R")?;
    assert_eq!(record.prose.as_deref(), Some("A gauge"));
    assert_eq!(
        (record.fields[0].unit.as_deref(), record.fields[0].prose.as_deref()),
        (Some("m"), Some("over the sill"))
    );
    assert_eq!((record.fields[1].unit.as_deref(), record.fields[1].prose.as_deref()), (Some("cm"), Some("the depth")));
    let rules = isoform_core::plan::Rules::new()
        .default("R", "n", Value::Integer(7))
        .default("R", "s", Value::String(b"none"[..].into()))
        .default("R", "b", Value::Boolean(true));
    assert_eq!(r.rules("R")?, rules);
    assert_eq!(record.fields[3].kind.to_string(), "string");
    Ok(())
}

#[test]
fn refusals_name_the_line_and_the_reason() {
    let refused = |text: &str, says: &str| IDL.refuses(text, says);
    refused(
        "union U switch (long) { case 1: long a; };\nstruct R {\nU u; };",
        "a.idl:1: expected a struct, enum, typedef or const, found union U",
    );
    refused("struct R {\n any x; };", "a.idl:2: expected a type that a record can have, found any");
    refused("interface I {\n void f(in long x); };\nstruct R { I i; };", "an operation or attribute of I");
    refused("interface I;\nstruct R { I i; };", "found interface I");
    refused("struct R { long a;\n wstring b; };", "a.idl:2: expected a type that a record can have, found wstring");
    refused("struct R { map<long, string> m; };", "found map");
    refused("struct R {\n sequence<sequence<long>> x; };", "a.idl:2: expected an array of single values");
    refused("struct R {\n Nothing x; };", "a.idl:2: expected a type that is declared before, found Nothing");
    refused("struct R {\n long a;\n long a; };", "a.idl:3: expected one field of each name, found a second a");
    refused("struct R { sequence<long> a; long a_len; };", "the name of the array's length, found a_len");
    refused("struct R; struct R { sequence<R> x; };", "found R > R");
    refused("struct R { };", "a record with a field or more");
    refused(
        "module a { struct S { long x; }; }; module b { struct S { double x; }; };\nstruct R { a::S s; b::S t; };",
        "one record of each name in a format; an overlay can rename one, found a::S (a.idl:1) and b::S (a.idl:1)",
    );
    refused("struct R { long x[0]; };", "a length of 1 or more, found 0");
    refused(
        "const long N = 1 / 0;\nstruct R { long x; };",
        "a.idl:1: expected an expression with a value, found 1 / 0",
    );
    refused("#if X\nstruct R { long x; };", "a.idl:1: expected no directive");
    refused("struct R { @bitwise long x; };", "found @bitwise");
    // An interface with operations is refused, and its types are not.
    assert_eq!(IDL.fields("interface I { struct R { long x; }; long f(in R r); attribute long y; };"), "x i32");
}

#[test]
fn includes() -> Result<()> {
    struct Files;
    impl Loader for Files {
        fn locate(&mut self, _: &str, location: &str) -> Result<String> {
            Ok(location.to_owned())
        }
        fn load(&mut self, name: &str) -> Result<String> {
            match name {
                "point.idl" => {
                    Ok("#ifndef POINT\n#define POINT\n#include \"a.idl\"\nstruct Point { double x; };\n#endif\n".into())
                }
                _ => Err(isoform_core::Error::new(Code::Source).found(name)),
            }
        }
    }
    let text = "#include \"point.idl\"\n#include \"point.idl\"\nstruct R { Point p; };";
    let r = Declarations::read(Language::Idl, "a.idl", text, &mut Files)?;
    same_as(&r, "R", "record Point\n x double\nrecord R\n p Point");
    assert_eq!(Declarations::read(Language::Idl, "a.idl", text, &mut Alone).unwrap_err().code(), Code::Source);
    let shape = Shape::parse("record Point\n x f64\nrecord R\n p Point")?;
    assert_eq!(r.bind("R", &Layout::SPARC64)?, shape.on(&Layout::SPARC64)?);
    Ok(())
}
