//! C headers to shapes: the table of `spec/xmit.md`, and what it refuses.

mod common;

use common::{One, same_as};
use isoform_xmit::Language;

const C: One = One { language: Language::C, name: "a.h" };

#[test]
fn the_struct_of_paper_000() {
    let text = "typedef struct small_record {\n int ivalue;\n double dvalue;\n int iarray[5];\n} small_record, *small_record_ptr;\n";
    let small = C.read(text).unwrap();
    assert_eq!(small.names().collect::<Vec<_>>(), ["small_record"]);
    same_as(&small, "small_record", "record small_record\n ivalue int\n dvalue double\n iarray int[5]");
}

#[test]
fn base_types() {
    for (name, words) in [
        ("char", "char"),
        ("signed char", "i8"),
        ("unsigned char", "u8"),
        ("short int", "short"),
        ("unsigned short", "unsigned short"),
        ("int", "int"),
        ("unsigned", "unsigned int"),
        ("signed", "int"),
        ("long", "long"),
        ("long unsigned int", "unsigned long"),
        ("long long", "long long"),
        ("unsigned long long int", "unsigned long long"),
        ("const volatile int", "int"),
        ("int const", "int"),
        ("float", "float"),
        ("double", "double"),
        ("long double", "long double"),
        ("double _Complex", "complex double"),
        ("float _Complex", "complex f32"),
        ("_Bool", "bool"),
        ("bool", "bool"),
        ("int8_t", "i8"),
        ("uint16_t", "u16"),
        ("int64_t", "i64"),
        ("size_t", "size_t"),
        ("char *", "string"),
        ("const char *const", "string"),
        ("enum e", "enumeration{a=0,b=5,c=6}"),
    ] {
        let r = C.read(&format!("enum e {{ a, b = 2 + 3, c }};\nstruct R {{ {name} x; }};")).unwrap();
        same_as(&r, "R", &format!("record R\n x {words}"));
    }
}

#[test]
fn typedefs_nested_structs_and_constants() {
    let text = "#ifndef A_H\n#define A_H\n#include <stdint.h>\n#define N 4 /* four */\n#define M (N * 2 - 1)\n#define TEXT \"x\"\n
        #ifdef __cplusplus\nextern \"C\" {\n#endif\n
        typedef uint32_t id_type;\ntypedef double row[M];\nstruct open;\n
        /* A point */\ntypedef struct { double x, y; /* unit=\"m\" */ } Point;\n
        struct R {\n  id_type id;\n  row rows[N];\n  struct { int n; struct { char c; } in; } at, more[2];\n
        Point points[2]; // two of them\n  enum { low, high } level;\n  char site[N << 2], *name;\n  struct R_of { short s; } tagged;\n };\n
        int use(struct R *r, int n[]);\nstatic inline int one(void) { return 1; }\nextern const int table[] = { 1, 2 };\n
        #ifdef __cplusplus\n}\n#endif\n#endif\n";
    let r = C.read(text).unwrap();
    let expected = "record R_at_in\n c char\nrecord R_at\n n int\n in R_at_in\nrecord Point\n x double unit=\"m\"\n y double unit=\"m\"
        record R_of\n s short\nrecord R\n id u32\n rows double[4][7]\n at R_at\n more R_at[2]\n points Point[2]
        level enumeration{low=0,high=1}\n site char[16]\n name string\n tagged R_of";
    same_as(&r, "R", expected);
    assert_eq!(r.get("Point").unwrap().prose.as_deref(), Some("A point"));
    let points = r.get("R").unwrap().fields.iter().find(|field| &*field.name == "points").unwrap();
    assert_eq!(points.prose.as_deref(), Some("two of them"));
    assert!(
        r.names().all(|name| ["R_at_in", "R_at", "Point", "R_of", "R"].contains(&name)),
        "{:?}",
        r.names().collect::<Vec<_>>()
    );
}

#[test]
fn refusals_name_the_line_and_the_reason() {
    let refused = |text: &str, says: &str| C.refuses(text, says);
    refused(
        "struct R {\n int *p; };",
        "a.h:2: expected char*, a field without a pointer, or an overlay that says what the pointer is, found the pointer p",
    );
    refused("struct R { char **p; };", "the pointer p");
    refused("struct R { void *p; };", "the pointer p");
    refused("struct P { int x; };\nstruct R { struct P *p; };", "a.h:2: expected char*");
    refused(
        "struct R {\n int a : 3; };",
        "a.h:2: expected a field with bytes of its own; of a compiled program, an overlay can drop it, found the bit-field a",
    );
    refused("struct R { union { int a; } u; };", "found union");
    refused("union U { int a; };\nstruct R { union U u; };", "found union U");
    refused(
        "struct R { int n;\n void (*f)(int); };",
        "a.h:2: expected a type that a record can have, found f, a pointer",
    );
    refused("struct R { int n; int x[]; };", "x[], a flexible array");
    refused(
        "struct R { int n;\n struct { int a; };\n };",
        "a.h:2: expected a name behind a type, found an anonymous struct",
    );
    refused("struct R { time_t t; };", "expected a type that is declared before, found time_t");
    refused("struct R { struct missing m; };", "found struct missing, which is not");
    refused("struct __attribute__((packed)) R { int n; };", "no attributes, which may change the layout");
    refused("struct R { int n; } __attribute__((packed));", "no attributes, which may change the layout");
    refused("struct R { int n __attribute__((aligned(16))); };", "no attributes");
    refused("#pragma pack(1)\nstruct R { int n; };", "a.h:1: expected no #pragma pack");
    refused("#if X\nstruct R { int n; };\n#endif", "a.h:1: expected no conditions");
    refused("struct R { int n[N]; };", "the name of an integer constant, found N");
    refused("struct R { int n[0]; };", "a length of 1 or more");
    refused("struct R : B { int n; };", "a struct of C, which has no bases");
    refused("struct R { short double x; };", "found short double");
    // The rest of a header can be used.
    assert_eq!(C.fields("struct other { int *p; };\nstruct R { int x; };"), "x i32");
}
