//! Documents of strangers: bombs, circles, and mutants of good documents. None panics, and none takes more than its bytes deserve.

use isoform_core::{Class, Code, Layout, Shape};
use isoform_testing::mutate::{Random, mutate_text};
use isoform_xmit::{Alone, Declarations, Language};

fn schema(body: &str) -> String {
    format!("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:iso='urn:isoform:xmit'>{body}</xs:schema>")
}

/// What must hold of any document.
fn check(text: &str) {
    check_in(Language::XmlSchema, text);
}

fn check_in(language: Language, text: &str) {
    let declarations = match Declarations::read(language, "R", text, &mut Alone) {
        Ok(declarations) => declarations,
        Err(error) => return assert_ne!(error.class(), Class::Internal, "{error}"),
    };
    for name in declarations.names() {
        _ = declarations.rules(name).map_err(|error| assert_ne!(error.class(), Class::Internal, "{error}"));
        match declarations.shape(name) {
            Err(error) => assert_ne!(error.class(), Class::Internal, "{error}"),
            Ok(shape) => {
                for layout in [Layout::X86_64, Layout::POWERPC] {
                    if let Ok(format) = shape.on(&layout) {
                        assert_eq!(Shape::parse(&shape.to_string()).unwrap().on(&layout).unwrap(), format);
                    }
                }
            }
        }
    }
}

/// The code with which the record `R` is refused, or the document.
fn refused(body: &str) -> Code {
    let declarations = Declarations::from_xsd("a.xsd", &schema(body), &mut Alone);
    declarations.and_then(|declarations| declarations.bind("R", &Layout::X86_64).map(drop)).unwrap_err().code()
}

#[test]
fn bombs() {
    // Groups that refer eight times to the next, without a field.
    for (group, last) in [
        (
            "<xs:group name='gN'><xs:sequence>REFS</xs:sequence></xs:group>",
            "<xs:group name='g12'><xs:sequence/></xs:group>",
        ),
        ("<xs:attributeGroup name='gN'>REFS</xs:attributeGroup>", "<xs:attributeGroup name='g12'/>"),
    ] {
        let name = if group.contains("attribute") { "attributeGroup" } else { "group" };
        let reference = |to: usize| format!("<xs:{name} ref='g{to}'/>");
        let one = |i: usize| group.replace('N', &i.to_string()).replace("REFS", &reference(i + 1).repeat(8));
        let groups: String = (0..12).map(one).collect();
        let record = format!("{groups}{last}<xs:complexType name='R'>{}</xs:complexType>", reference(0));
        assert_eq!(refused(&record), Code::Fields);
    }
    // Records that double.
    let types: String = (0..30)
        .map(|i| {
            format!(
                "<xs:complexType name='T{i}'><xs:sequence><xs:element name='a' type='T{0}'/><xs:element name='b' type='T{0}'/>\
                 </xs:sequence></xs:complexType>",
                i + 1
            )
        })
        .collect();
    let last = "<xs:complexType name='T30'><xs:attribute name='x' type='xs:int' use='required'/></xs:complexType>";
    let body = format!(
        "{types}{last}<xs:complexType name='R'><xs:sequence><xs:element name='a' type='T0'/></xs:sequence></xs:complexType>"
    );
    assert!(matches!(refused(&body), Code::Fields | Code::Depth | Code::Size));
    // Numbers that no machine can hold.
    let huge = |most: &str| {
        refused(&format!(
            "<xs:complexType name='R'><xs:sequence><xs:element name='x' type='xs:int' maxOccurs='{most}'/></xs:sequence></xs:complexType>"
        ))
    };
    assert!(matches!(huge("18446744073709551615"), Code::Size | Code::Declaration));
    assert_eq!(huge("99999999999999999999999"), Code::Declaration);
    // Entities, and depth without meaning.
    let entities = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><a>&b;</a>";
    assert_eq!(Declarations::from_xsd("a.xsd", entities, &mut Alone).unwrap_err().code(), Code::Text);
    let deep = schema(&("<xs:annotation>".repeat(200_000) + &"</xs:annotation>".repeat(200_000)));
    check(&deep);
    let deep = schema(&("<xs:complexType>".repeat(5_000) + &"</xs:complexType>".repeat(5_000)));
    check(&deep);
}

#[test]
fn circles() {
    for body in [
        "<xs:complexType name='R'><xs:complexContent><xs:extension base='S'/></xs:complexContent></xs:complexType>\
         <xs:complexType name='S'><xs:complexContent><xs:extension base='R'/></xs:complexContent></xs:complexType>",
        "<xs:simpleType name='s'><xs:restriction base='t'/></xs:simpleType><xs:simpleType name='t'><xs:restriction base='s'/></xs:simpleType>\
         <xs:complexType name='R'><xs:attribute name='x' type='s'/></xs:complexType>",
        "<xs:group name='g'><xs:sequence><xs:group ref='g'/></xs:sequence></xs:group><xs:complexType name='R'><xs:group ref='g'/></xs:complexType>",
        "<xs:element name='e'><xs:complexType><xs:sequence><xs:element ref='e'/></xs:sequence></xs:complexType></xs:element>\
         <xs:complexType name='R'><xs:sequence><xs:element ref='e'/></xs:sequence></xs:complexType>",
    ] {
        assert!(matches!(refused(body), Code::Depth | Code::Declaration), "{body}");
    }
}

#[test]
fn ten_thousand_types_take_no_more_looks_than_they_have_elements() {
    let body: String = (0..10_000)
        .map(|i| format!("<xs:complexType name='T{i}'><xs:sequence><xs:element name='x' type='xs:int'/></xs:sequence></xs:complexType>"))
        .collect();
    let declarations = Declarations::from_xsd("a.xsd", &schema(&body), &mut Alone).unwrap();
    assert_eq!(declarations.names().count(), 10_000);
    assert_eq!(declarations.bind("T9999", &Layout::X86_64).unwrap().size(), 4);
}

#[test]
fn mutants() {
    let good = schema(
        "<xs:simpleType name='Phase'><xs:restriction base='xs:string'><xs:enumeration value='solid'/><xs:enumeration value='liquid'/>\
         </xs:restriction></xs:simpleType><xs:group name='g'><xs:choice><xs:element name='a' type='xs:int'/><xs:element name='b' \
         type='xs:string'/></xs:choice></xs:group><xs:attributeGroup name='h'><xs:attribute name='id' type='xs:long' default='7'/>\
         </xs:attributeGroup><xs:complexType name='Point'><xs:sequence><xs:element name='x' type='xs:double' iso:unit='m'/>\
         </xs:sequence></xs:complexType><xs:complexType name='R'><xs:complexContent><xs:extension base='Point'><xs:sequence>\
         <xs:element name='size' type='xs:integer'/><xs:element name='points' type='Point' maxOccurs='size'/><xs:element name='phase' \
         type='Phase' minOccurs='0'/><xs:element name='data' type='xs:float' maxOccurs='*' dimensionName='n' \
         dimensionPlacement='before'/><xs:group ref='g'/><xs:element name='at' type='xs:dateTime'/><xs:element name='for' \
         type='xs:duration' maxOccurs='3'/></xs:sequence><xs:attributeGroup ref='h'/></xs:extension></xs:complexContent></xs:complexType>",
    );
    Declarations::from_xsd("a.xsd", &good, &mut Alone).unwrap().bind("R", &Layout::X86_64).unwrap();
    let words = [
        "xs:",
        "'",
        "maxOccurs='*'",
        "minOccurs='0'",
        "type='R'",
        "type='Point'",
        "</xs:sequence>",
        "<xs:sequence>",
        "base='R'",
        "&",
        "0",
        "-1",
    ];
    check_mutants(Language::XmlSchema, &good, &words, 3_000);
}

/// Checks damaged copies of a good document, into which words of its language are put.
fn check_mutants(language: Language, good: &str, words: &[&str], count: usize) {
    let declarations = Declarations::read(language, "R", good, &mut Alone).unwrap();
    declarations.bind("R", &Layout::X86_64).unwrap();
    let count = std::env::var("MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(count);
    let mut random = Random::new(7);
    for _ in 0..count {
        let mut text = good.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            text = match random.below(3) {
                0 => mutate_text(&text, &mut random),
                1 => {
                    let at = random.below(text.len().max(1));
                    let word = words[random.below(words.len())];
                    [&text[..at.min(text.len())], word.as_bytes(), &text[at.min(text.len())..]].concat()
                }
                _ => {
                    let (from, to) = (random.below(text.len().max(1)), random.below(text.len().max(1)));
                    [&text[..from.min(to)], &text[from.max(to)..]].concat()
                }
            };
        }
        if let Ok(text) = std::str::from_utf8(&text) {
            check_in(language, text);
        }
    }
}

/// The code with which a document of a language is refused, or its record `R`.
fn refused_in(language: Language, text: &str) -> Code {
    let declarations = Declarations::read(language, "R", text, &mut Alone);
    declarations.and_then(|declarations| declarations.bind("R", &Layout::X86_64).map(drop)).unwrap_err().code()
}

#[test]
fn idl_bombs_and_circles() {
    let refused = |text: &str| refused_in(Language::Idl, text);
    let nested = |before: &str, inner: &str, after: &str, times| {
        format!("{}{inner}{}", before.repeat(times), after.repeat(times))
    };
    let record = "struct R { long x; };";
    assert_eq!(refused(&nested("module m {", record, "};", 100_000)), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ {} x; }};", nested("sequence<", "long", ">", 100_000))), Code::Depth);
    let structs: String = (0..100_000).map(|i| format!("struct S{i} {{ ")).collect();
    assert_eq!(refused(&structs), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ long x[{}]; }};", nested("(", "1", ")", 100_000))), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ long x[{}1]; }};", "-".repeat(100_000))), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ long x{}; }};", "[2]".repeat(100_000))), Code::Depth);
    let chain: String = (0..100).map(|i| format!("typedef T{i} T{};", i + 1)).collect();
    assert_eq!(refused(&format!("typedef long T0; {chain} struct R {{ T100 x; }};")), Code::Depth);
    let doubled: String = (0..30).map(|i| format!("struct T{} {{ T{i} a; T{i} b; }};", i + 1)).collect();
    let doubled = refused(&format!("struct T0 {{ long x; }}; {doubled} struct R {{ T30 a[1000][1000]; }};"));
    assert!(matches!(doubled, Code::Fields | Code::Depth | Code::Size));
    let bases: String = (0..3)
        .map(|i| {
            format!(
                "struct B{} : B{i} {{ {} }};",
                i + 1,
                (0..2000).map(|n| format!("long f{i}_{n};")).collect::<String>()
            )
        })
        .collect();
    assert_eq!(refused(&format!("struct B0 {{ long x; }}; {bases} struct R : B3 {{ long y; }};")), Code::Fields);
    assert!(matches!(
        refused("struct R { long x[170141183460469231731687303715884105727]; };"),
        Code::Size | Code::Declaration
    ));
    assert!(matches!(refused("struct R { long x[18446744073709551615]; };"), Code::Size | Code::Declaration));
    assert_eq!(refused("struct A; struct R { A a; }; struct A { R r; };"), Code::Declaration);
    assert_eq!(refused("/*"), Code::Declaration);
}

#[test]
fn idl_mutants() {
    let good = "#pragma once\nmodule a { const long N = 2 << (1 + 3) >> 2; /* a */ enum Phase { solid, @value(7) liquid };\n\
        typedef sequence<double, 4> Row; struct Point { @unit(\"m\") double x; // x\n double y[N]; }; interface i { struct S { long l; };\n\
        void f(in long x); }; union U switch(long) { case 1: long x; }; struct R : Point { @optional long n; Row row; \
        sequence<Point> points; Phase phase; string<8> s, t; unsigned long long u[2][2]; i::S v; @default(-7) short w; }; };";
    let words = [
        "struct ",
        "sequence<",
        ">",
        "{",
        "}",
        ";",
        "::",
        "R",
        "N",
        "[",
        "]",
        "@",
        "\"",
        "'",
        "\n#",
        "(",
        "union",
        "/*",
        "0",
    ];
    check_mutants(Language::Idl, good, &words, 3_000);
}

#[test]
fn msg_and_json_bombs_and_circles() {
    assert_eq!(refused_in(Language::JsonSchema, &"[".repeat(1_000_000)), Code::Depth);
    assert_eq!(refused_in(Language::JsonSchema, &"{\"items\":".repeat(1_000_000)), Code::Depth);
    let circle = r##"{"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}"##;
    assert_eq!(refused_in(Language::JsonSchema, circle), Code::Depth);
    // As many references as definitions: the work is linear.
    let definitions: Vec<String> =
        (0..30_000).map(|i| format!("\"D{i}\": {{\"$ref\": \"#/$defs/D{}\"}}", (i + 1).min(29_999))).collect();
    check_in(Language::JsonSchema, &format!("{{\"$defs\": {{{}}}}}", definitions.join(",")));
    assert_eq!(refused_in(Language::Msg, "A a\n===\nMSG: /A\nB b\n===\nMSG: /B\nA a"), Code::Declaration);
    assert!(matches!(refused_in(Language::Msg, "int8[18446744073709551615] x"), Code::Size | Code::Declaration));
    assert_eq!(
        refused_in(Language::Msg, &(0..5_000).map(|i| format!("int8 x{i}\n")).collect::<String>()),
        Code::Fields
    );
}

#[test]
fn msg_mutants() {
    let good = "# prose\n\nint32 N=3\ntime at\nPoint[] points # unit=\"m\"\nstring<=8 s \"a\"\nfloat64[3] d\nHeader h\n\
        builtin_interfaces/Time[<=2] t\n===\nMSG: /Point\nfloat64 x 1.5\nbool b true\n===\nMSG: std_msgs/Header\nuint8 x\n";
    let words = ["\n", "[]", "[3]", "<=", "=", "#", "\"", "R", "Point", "/", "\n===\n", "MSG: ", "int8 "];
    check_mutants(Language::Msg, good, &words, 3_000);
}

#[test]
fn json_schema_mutants() {
    let good = r##"{"title": "R", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "items": {"type": "object",
        "properties": {"n": {"type": ["integer", "null"], "minimum": 0, "maximum": 7}}}, "minItems": 2, "maxItems": 2},
        "c": {"enum": ["x", "y"], "default": "x"}, "d": {"anyOf": [{"type": "number", "unit": "\u006d"}, {"type": "null"}]},
        "e": {"type": "string", "format": "date-time"}}, "required": ["a"], "additionalProperties": false,
        "$defs": {"A": {"properties": {"x": {"type": "number"}}}}}"##;
    let words = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "null",
        "\\ud800",
        "#/$defs/A",
        "#",
        "/properties/b/items",
        "-",
        "9e9",
        "\"type\": \"object\",",
    ];
    check_mutants(Language::JsonSchema, good, &words, 3_000);
}

#[test]
fn c_bombs_and_circles() {
    let refused = |text: &str| refused_in(Language::C, text);
    assert_eq!(refused(&"struct { ".repeat(100_000)), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ int x[{}1]; }};", "(".repeat(100_000))), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ int x{}; }};", "[2]".repeat(100_000))), Code::Depth);
    assert_eq!(refused("struct R { struct A a; }; struct A { struct R r; };"), Code::Declaration);
    assert_eq!(refused("typedef struct R A; struct R { A a; };"), Code::Declaration);
    assert_eq!(refused("#define A B\n#define B A\nstruct R { int x[A]; };"), Code::Declaration);
    // Macros that double, that take each other as arguments, and that are long.
    let doubled: String = (0..64).map(|i| format!("#define A{i} A{0} A{0}\n", i + 1)).collect();
    assert_eq!(refused(&format!("{doubled}struct R {{ int x[A0]; }};")), Code::MessageSize);
    let doubled: String = (0..64).map(|i| format!("#define A{i}(x) A{0}(x x)\n", i + 1)).collect();
    assert_eq!(refused(&format!("{doubled}struct R {{ int x[A0(1)]; }};")), Code::MessageSize);
    let pasted: String = (0..64).map(|i| format!("#define A{i}(x) A{0}(x##x)\n", i + 1)).collect();
    assert_eq!(refused(&format!("{pasted}struct R {{ int x[A0(y)]; }};")), Code::Declaration);
    let within = format!("{}1{}", "F(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(refused(&format!("#define F(x) x\nstruct R {{ int x[{within}]; }};")), Code::MessageSize);
    let within = format!("{}1{}", "F(".repeat(1_000), ")".repeat(1_000));
    assert_eq!(refused(&format!("#define F(x) x\nstruct R {{ int x[{within}]; }};")), Code::Depth);
    let long = format!("#define L {}1\n{}", "/**/".repeat(250_000), "int a[L];\n".repeat(100_000));
    assert_eq!(refused(&long), Code::MessageSize);
    let chain: String = (0..100_000).map(|i| format!("#define A{i} A{}\n", i + 1)).collect();
    assert_eq!(refused(&format!("{chain}struct R {{ int x[A0]; }};")), Code::Declaration);
    assert_eq!(refused(&"#if 1\n".repeat(100_000)), Code::Depth);
    assert_eq!(refused(&format!("struct R {{ int x[{}1]; }};", "1+".repeat(100_000))), Code::Declaration);
    let named = "#pragma pack(push, b, 1)\n".repeat(60_000) + &"#pragma pack(pop, c)\n".repeat(60_000);
    assert_eq!(refused(&format!("{named}struct R {{ int x; }};")), Code::Declaration);
    assert_eq!(refused(&format!("x {}", "{".repeat(500_000))), Code::Declaration);
    let pushed = format!("{}struct R {{ char c; int x; }};", "#pragma pack(push, 1)\n".repeat(100_000));
    let pushed = Declarations::read(Language::C, "R", &pushed, &mut Alone).unwrap();
    assert_eq!(pushed.bind("R", &Layout::X86_64).unwrap().size(), 5);
    let many: String = (0..30_000).map(|i| format!("typedef struct {{ struct {{ int x; }} a; }} T{i};")).collect();
    let many = Declarations::read(Language::C, "R", &many, &mut Alone).unwrap();
    assert_eq!(many.bind("T29999_a", &Layout::X86_64).unwrap().size(), 4);
}

#[test]
fn c_mutants() {
    let good = "#ifndef R_H\n#define R_H\n#include <stdint.h>\n#define N (2 << 3)\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
        enum phase { solid, liquid = 7 }; typedef struct { double x; /* unit=\"m\" */ char *name; } Point, *PointPtr;\n\
        struct other { int bits : 3; union { int a; } u; void (*f)(int); }; int f(struct other *o);\n\
        static inline int g(void) { return 0; }\nstruct R { unsigned long long id; struct { uint8_t n; struct { int y; } in; } at[N];\n\
        Point p[2][N / 2]; enum phase phase; const char *site; long double complex_; char text[16]; };\n#endif\n\
        #define PACK(x, ...) x __VA_ARGS__ __attribute__((packed, aligned(4)))\n#define CAT(a, b) a ## b\n#define TEXT(x) #x\n\
        #pragma pack(push, here, 2)\nPACK(struct CAT(s, 1) { char c; _Alignas(8) int i; [[gnu::packed]] int j; });\n\
        _Pragma(TEXT(pack(pop, here)))\n#if N > 3 && defined(CAT) || !defined X\ntypedef int T __attribute__((aligned(2)));\n\
        #elif 0\nit isn't\n#endif\n#include <pshpack1.h>\nstruct s2 { T t; struct s1 s; int n[sizeof(int) > 2 ? 'A' : ~0u >> 30]; };\n";
    let words = [
        "struct ",
        "{",
        "}",
        ";",
        "*",
        "(",
        ")",
        "[",
        "]",
        "N",
        "typedef ",
        "union ",
        ":",
        "\n#",
        "\"",
        "/*",
        "R",
        "enum ",
        "#",
        "##",
        "\n#if ",
        "\n#else\n",
        "\n#endif\n",
        "\n#define N ",
        "PACK(",
        ",",
        "__attribute__((",
        "packed",
        "[[",
        "_Pragma(",
        "CAT(",
        "TEXT(",
        "'",
        "sizeof(",
        "?",
        "1 / 0",
        "\\\n",
        "-",
        "é",
    ];
    check_mutants(Language::C, good, &words, 6_000);
}

#[test]
fn proto_bombs_and_circles() {
    let refused = |text: &str| refused_in(Language::Proto, &format!("syntax = \"proto3\"; {text}"));
    let nested: String = (0..100_000).map(|i| format!("message M{i} {{ ")).collect();
    assert_eq!(refused(&nested), Code::Depth);
    assert_eq!(refused("message R { A a = 1; } message A { R r = 1; }"), Code::Declaration);
    assert_eq!(refused("message R { map<int32, R> r = 1; }"), Code::Declaration);
    assert_eq!(refused(&format!("message R {{ int32 x = {}1; }}", "(".repeat(100_000))), Code::Depth);
    assert_eq!(refused(&format!("option x = {}", "{".repeat(1_000_000))), Code::Declaration);
    let fields: String = (0..5_000).map(|i| format!("int32 x{i} = {i};")).collect();
    assert_eq!(refused(&format!("message R {{ {fields} }}")), Code::Fields);
}

#[test]
fn proto_mutants() {
    let good = "syntax = \"proto3\"; package a.b; import \"google/protobuf/timestamp.proto\"; option java_package = \"x\";\n\
        enum Phase { option allow_alias = false; SOLID = 0; LIQUID = 7 [deprecated = true]; }\n\
        message R { message In { bytes b = 1; optional In2 in = 2; message In2 { bool x = 1; } } // unit=\"m\"\n\
        oneof one { int32 a = 1; string s = 2; } repeated In ins = 3; map<string, In> map = 4; Phase phase = 5;\n\
        .a.b.R.In other = 6 [(unit) = \"m\", json_name = 'x']; google.protobuf.Timestamp at = 7; reserved 8, 9 to 11; }\n\
        service S { rpc F(R) returns (R) { option (x) = { a: 1 }; } }";
    let words = [
        "message ",
        "{",
        "}",
        ";",
        "=",
        "optional ",
        "repeated ",
        "map<",
        ">",
        "oneof ",
        ".",
        "R",
        "[",
        "]",
        "\"",
        "extend ",
        "group ",
    ];
    check_mutants(Language::Proto, good, &words, 3_000);
}

#[test]
fn long_names_are_not_copied_for_each_field() {
    let long = "n".repeat(100_000);
    let fields: String = (0..20_000).map(|i| format!("struct {{ int x; }} f{i};")).collect();
    assert_eq!(refused_in(Language::C, &format!("struct {long} {{ {fields} }};")), Code::Declaration);
    let fields: String = (0..20_000).map(|i| format!("T f{i};")).collect();
    assert_eq!(
        refused_in(Language::Idl, &format!("module {long} {{ struct T {{ long x; }}; struct R {{ {fields} }}; }};")),
        Code::Declaration
    );
    let parts = "p.".repeat(50_000);
    assert_eq!(
        refused_in(Language::Proto, &format!("package {parts}p; message R {{ required T x = 1; }}")),
        Code::Declaration
    );
    let fields: String = (0..20_000).map(|i| format!("T f{i}\n")).collect();
    assert_eq!(refused_in(Language::Msg, &format!("int8 x\n===\nMSG: {long}/T\n{fields}")), Code::Declaration);
    let fields: Vec<String> = (0..20_000).map(|i| format!("\"f{i}\": {{\"type\": \"boolean\"}}")).collect();
    let schema = format!("{{\"properties\": {{\"{long}\": {{\"properties\": {{{}}}}}}}}}", fields.join(","));
    assert_eq!(refused_in(Language::JsonSchema, &schema), Code::Declaration);
}

/// Each field has the symbols of its enumeration, so a few lines could ask for millions of them.
#[test]
fn symbols_of_many_fields_are_counted() {
    let values: String = (0..2000).map(|number| format!("<s:enumeration value=\"v{number}\"/>")).collect();
    let fields: String = (0..2000).map(|number| format!("<s:element name=\"e{number}\" type=\"E\"/>")).collect();
    let xsd = format!(
        "<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\"><s:simpleType name=\"E\"><s:restriction base=\"s:string\">{values}\
         </s:restriction></s:simpleType><s:complexType name=\"R\"><s:sequence>{fields}</s:sequence></s:complexType></s:schema>"
    );
    let values: String = (0..2000).map(|number| format!("v{number}, ")).collect();
    let fields: String = (0..2000).map(|number| format!("E e{number}; ")).collect();
    let idl = format!("enum E {{ {values} last }}; struct R {{ {fields} }};");
    for (language, text) in [(Language::XmlSchema, xsd), (Language::Idl, idl)] {
        let error = Declarations::read(language, "a", &text, &mut Alone).unwrap().shape("R").unwrap_err();
        assert_eq!(error.code(), Code::Fields, "{error}");
    }
}

/// A schema whose one element has more than the parser could read in time.
#[test]
fn elements_with_too_much_are_refused_at_their_line() {
    let attributes: String = (0..100_000).map(|number| format!(" f:a{number}=\"\"")).collect();
    let spaces: String = (0..100_000).map(|number| format!(" xmlns:n{number}=\"urn:{number}\"")).collect();
    let nested: String = (0..100_000).map(|number| format!("<s:element xmlns:n{number}=\"u\">")).collect();
    for (text, says) in [
        (format!("<s:element xmlns:f=\"f\"{attributes}/>"), "at most 256 attributes of an element, found 100001"),
        (format!("<s:element{spaces}/>"), "at most 256 attributes of an element, found 100000"),
        (nested, "at most 128 namespaces at one place, found 129"),
    ] {
        let text = format!("<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\">\n{text}</s:schema>");
        let error = Declarations::from_xsd("a.xsd", &text, &mut Alone).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Fields, "a.xsd:2"), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}
