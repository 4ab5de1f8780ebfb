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
    refused("#if X\nstruct R { int n; };\n#endif", "a.h:1: expected a condition that the header decides");
    refused("struct R { int n[N]; };", "the name of an integer constant, found N");
    refused("struct R { int n[0]; };", "a length of 1 or more");
    refused("struct R : B { int n; };", "a struct of C, which has no bases");
    refused("struct R { short double x; };", "found short double");
    // The rest of a header can be used.
    assert_eq!(C.fields("struct other { int *p; };\nstruct R { int x; };"), "x i32");
}

/// Packed and aligned in every position, plain and behind macros, as GCC 12 lays them out.
#[test]
fn structs_are_packed_and_aligned_as_c_says() {
    let gauge = "char kind; int step; double level;";
    let packed = "packed record R\n kind char\n step int\n level double";
    let aligned = "record R  align=16\n kind char\n step int\n level double";
    for (text, shape) in [
        ("struct __attribute__((packed)) R { GAUGE };", packed),
        ("struct R { GAUGE } __attribute__((__packed__));", packed),
        ("struct [[gnu::packed]] R { GAUGE };", packed),
        ("#define PACKED __attribute__((packed))\nstruct R { GAUGE } PACKED;", packed),
        ("#define PACKED __attribute__((packed))\nstruct PACKED R { GAUGE };", packed),
        ("#define PACKED(x) __attribute__((packed)) x\nstruct PACKED(R) { GAUGE };", packed),
        ("#define PACK(x) x __attribute__((packed))\nPACK(struct R { GAUGE });", packed),
        ("#define PACK(...) __VA_ARGS__ __attribute__((packed))\nPACK(struct R { GAUGE });", packed),
        ("typedef struct __attribute__((packed)) { GAUGE } R;", packed),
        ("typedef struct { GAUGE } __attribute__((packed)) R;", packed),
        ("#pragma pack(push, 1)\nstruct R { GAUGE };\n#pragma pack(pop)\nstruct other { GAUGE };", packed),
        ("#pragma pack(1)\nstruct R { GAUGE };\n#pragma pack()", packed),
        ("#define ONE 1\n#pragma pack(push, saved, ONE)\nstruct R { GAUGE };\n#pragma pack(pop, saved)", packed),
        ("_Pragma(\"pack(push, 1)\") struct R { GAUGE }; _Pragma(\"pack(pop)\")", packed),
        ("#define DO(x) _Pragma(#x)\nDO(pack(1))\nstruct R { GAUGE };", packed),
        ("#include <pshpack1.h>\nstruct R { GAUGE };\n#include \"poppack.h\" // as before", packed),
        ("#ifdef _MSC_VER\n#define P\n#else\n#define P __attribute__((packed))\n#endif\nstruct R { GAUGE } P;", packed),
        ("#pragma pack(2)\nstruct R { GAUGE };", "record R pack=2\n kind char\n step int\n level double"),
        (
            "#pragma pack(2)\n#pragma pack(push)\n#pragma pack(1)\n#pragma pack(pop)\nstruct R { GAUGE };",
            "record R pack=2\n kind char\n step int\n level double",
        ),
        ("struct __attribute__((aligned(16))) R { GAUGE };", aligned),
        ("struct R { GAUGE } __attribute__((aligned(1 << 4)));", aligned),
        ("struct __declspec(align(16)) R { GAUGE };", aligned),
        ("struct R { char a; int b __attribute__((packed)), c; };", "record R\n a char\n b int align=1\n c int"),
        ("struct R { char a; _Alignas(8) int b; };", "record R\n a char\n b int align>=8"),
        ("struct R { char a; alignas(8) int b; };", "record R\n a char\n b int align>=8"),
        ("struct R { char a; int b[2] __attribute__((aligned(8))); };", "record R\n a char\n b int[2] align>=8"),
        ("struct R { char a; __attribute__((aligned(8), packed)) int b; };", "record R\n a char\n b int align=8"),
        (
            "typedef int T __attribute__((aligned(16))); struct R { char a; T b; };",
            "record R\n a char\n b int align=16",
        ),
        (
            "typedef __attribute__((aligned(2))) int T; typedef T U; struct R { char a; U b; };",
            "record R\n a char\n b int align=2",
        ),
        (
            "typedef int T __attribute__((aligned(16))); struct R { char a; T b; } __attribute__((packed));",
            "packed record R\n a char\n b int align=1",
        ),
        (
            "typedef long L; struct R { char a; L b __attribute__((aligned(2))); } __attribute__((packed));",
            "packed record R\n a char\n b long align=2",
        ),
        (
            "#pragma pack(2)\nstruct R { char a; int b __attribute__((aligned(8))); };",
            "record R pack=2\n a char\n b int align=2",
        ),
    ] {
        let text = text.replace("GAUGE", gauge);
        same_as(&C.read(&text).unwrap(), "R", shape);
    }
}

#[test]
fn what_may_change_a_layout_and_is_not_understood_is_refused_at_its_line() {
    for (text, says) in [
        ("struct R { char a; int b; } __packed;", "a.h:1: expected no word that the header does not declare"),
        ("struct R { char a; int b; } PACKED;", "found PACKED"),
        (
            "BEGIN_DECLS\nstruct R { int step; };",
            "a.h:1: expected no word that the header does not declare, since it may change the layout, found BEGIN_DECLS",
        ),
        ("PACK(struct R { char a; int b; });", "found PACK"),
        ("struct PACKED R { char a; };", "found PACKED"),
        ("struct r FINAL { char a; }; struct R { struct r r; };", "found FINAL"),
        ("struct EXPORT(1) R { char a; };", "found EXPORT"),
        ("typedef struct { char a; } PACKED R;", "found PACKED"),
        ("__attribute__((packed)) struct R { char a; int b; };", "an attribute directly behind `struct` or `}`"),
        ("typedef struct R { char a; int b; } R __attribute__((packed));", "found packed"),
        ("struct R { int a __attribute__((vector_size(16))); };", "found vector_size"),
        ("struct __attribute__((scalar_storage_order(\"big-endian\"))) R { int a; };", "found scalar_storage_order"),
        ("struct R { int a; } __attribute__((ms_struct));", "found ms_struct"),
        ("struct R { int a; } __attribute__((aligned));", "aligned with a number"),
        ("struct R { int a; } __attribute__((aligned(3)));", "a power of two"),
        ("struct R { int a; } __attribute__((aligned(16), aligned(4)));", "one alignment of a type"),
        ("#pragma scalar_storage_order big-endian\nstruct R { int a; };", "a.h:1: expected no pragma"),
        ("#pragma pack(pop)\nstruct R { int a; };", "a.h:1: expected #pragma pack as GCC knows it"),
        ("#pragma pack(3)\nstruct R { int a; };", "found #pragma pack(3)"),
        ("struct R { char c;\n#pragma pack(1)\nint a; };", "one #pragma pack for a struct"),
        ("#ifdef _WIN32\n#pragma pack(1)\n#endif\nstruct R { int a; };", "found #ifdef _WIN32"),
        (
            "#ifdef X\n#define P __attribute__((packed))\n#else\n#define P\n#endif\nstruct R { int a; } P;",
            "found #ifdef X",
        ),
        ("struct R {\n#ifdef X\nint a;\n#endif\nint b; };", "a.h:2: expected a condition that the header decides"),
        ("#if VERSION > 3\nstruct R { int a; };\n#else\nstruct R { long a; };\n#endif", "found #if VERSION > 3"),
        (
            "#ifdef X\n#define N 1\n#else\n#define N 2\n#endif\n#pragma pack(push, N)\nstruct R { int a; };",
            "found #pragma pack(push, N)",
        ),
        ("#pragma pack(push, PACKING)\nstruct R { int a; };", "found #pragma pack(push, PACKING)"),
        ("#include \"pack_begin.h\"\nstruct R { int a; };", "a.h:1: expected no file that may pack structs"),
        ("#include <poppack.h>\nstruct R { int a; };", "a.h:1: expected <pshpack1.h>, 2, 4 or 8 before"),
        (
            "#include \"defs.h\"\n#ifndef PACKED\n#define PACKED\n#endif\nstruct R { int a; } PACKED;",
            "found #ifndef PACKED",
        ),
        ("struct R { _Atomic int a; };", "found `_Atomic`"),
        ("struct R { int a PACKED; };", "found PACKED"),
        ("struct R { MEMBER(int, a); };", "MEMBER"),
        ("struct R { char a[16 - sizeof(long)]; };", "a value that is the same on every machine"),
        ("namespace n { struct R { int a; }; }", ""),
        ("class R { int a; };", ""),
    ] {
        C.refuses(text, says);
    }
    // None is left out: each is listed, and the rest can be used.
    for text in [
        "BEGIN_DECLS\nstruct gauge { int step; };\nstruct other { int n; };",
        "PACK(struct gauge { char kind; int step; });\nstruct other { int n; };",
        "struct UNKNOWN gauge { char kind; int step; };\nstruct other { int n; };",
        "__attribute__((packed)) struct gauge { char kind; int step; };\nstruct other { int n; };",
        "typedef struct { int step; } UNKNOWN gauge;\nstruct other { int n; };",
        "namespace n { struct gauge { int step; }; }\nstruct other { int n; };",
    ] {
        let found = C.read(text).unwrap();
        let names: Vec<&str> = found.names().collect();
        assert_eq!(names, ["gauge", "other"], "{text}");
        assert!(found.get("gauge").is_err() && found.get("other").is_ok(), "{text}");
    }
}

/// Macros and constants by C's rules, each beside what C computes.
#[test]
fn macros_and_constants_are_those_of_c() {
    for (defines, length, number) in [
        ("#define A 1 + 2", "A * 2", 5),
        ("#define A (1 + 2)", "A * 2", 6),
        ("#define A 1 + 2\n#define B 2 * A", "B", 4),
        ("#define TWICE(x) x * 2", "TWICE(1 + 2)", 5),
        ("#define TWICE(x) ((x) * 2)", "TWICE(1 + 2)", 6),
        ("#define F(a, b) a - b", "F((9, 7)[0] 5, 1)", 0),
        ("#define CAT(a, b) a ## b\n#define XY 7", "CAT(X, Y)", 7),
        ("#define CAT(a, b) CAT_(a, b)\n#define CAT_(a, b) a ## b\n#define X Y\n#define YZ 6", "CAT(X, Z)", 6),
        ("#define F(x, ...) x + sizeof(int) __VA_ARGS__", "F(2, * 2)", 10),
        ("#define N 4\n#undef N\n#define N 5", "N", 5),
        ("#define N 4 /* of\nthem */", "N", 4),
        ("#define N \\\n 4", "N", 4),
        ("#define L(n) n\n#define M L\n", "M(3)", 3),
        ("const char *text = \"a\\\nb\";\n#define N 6", "N", 6),
        ("", "((((((((((((((((((((((((((((((((((((((((1 + 2))))))))))))))))))))))))))))))))))))))))", 3),
        ("", "017", 15),
        ("", "0x1Fu", 31),
        ("", "0b101L", 5),
        ("", "10ull", 10),
        ("", "'A'", 65),
        ("", "'\\n' + '\\x41' + '\\101'", 140),
        ("", "(int)sizeof(double) + sizeof(short)", 10),
        ("", "(unsigned char)257", 1),
        ("", "3 > 2 ? 4 : 1 / 0", 4),
        ("", "(0 && 1 / 0) + 1", 1),
        ("", "1 + 2 << 3", 24),
        ("", "(-1 < 1u) + 1", 1),
        ("", "(-7 / 2) + 10", 7),
        ("", "7 & 3 == 3", 1),
        ("", "~0u >> 28", 15),
        ("", "!0 + !5 + (2 != 3) + (2 <= 2)", 3),
        ("enum { A = 3, B, C = B * 2 };", "C", 8),
        (
            "#if 1 + 1 == 2 && defined(__GNUC__) && !defined __cplusplus\n#define N 2\n#elif 1\n#define N 3\n#endif",
            "N",
            2,
        ),
        ("#if 0\nit isn't\n#elif 0x10 > 15\n#define N 2\n#else\n#define N 3\n#endif", "N", 2),
        ("#ifndef N\n#define N 9\n#endif", "N", 9),
        ("#if !defined(N)\n#define N 9\n#endif\n#ifdef N\n#define M N\n#else\n#define M 1\n#endif", "M", 9),
    ] {
        let text = format!("{defines}\nstruct R {{ int n[{length}]; }};");
        match number {
            0 => assert!(C.fields(&text).starts_with("refused"), "{text}"),
            _ => assert_eq!(C.fields(&text), format!("n i32[{number}]"), "{text}"),
        }
    }
    for (length, says) in [
        ("1 / 0", "an expression with a value"),
        ("2147483647 + 1", "an expression with a value"),
        ("1 << 32", "an expression with a value"),
        ("sizeof(struct R)", "sizeof of a type of C that is no struct"),
        ("1.5", "an integer"),
        ("099", "an integer"),
        ("12uu", "an integer"),
        ("'\\xff'", "one character"),
        ("UNKNOWN(3)", "a macro that the header defines"),
        ("~0ul >> 40", "an expression with a value"),
        ("~0ul >> 28", "a value that is the same on every machine"),
    ] {
        C.refuses(&format!("struct R {{ int n[{length}]; }};"), says);
    }
}

#[test]
fn enumerations_have_the_size_that_gcc_chooses() {
    for (symbols, kind) in [
        ("{ GO = 0x80000000, SET = 1 }", "unsigned enumeration(4){SET=1,GO=2147483648}"),
        ("{ A = -1, B = 0x80000000 }", "enumeration(8){A=-1,B=2147483648}"),
        ("{ A = 0xFFFFFFFFFFFFFFFF }", "unsigned enumeration(8){A=18446744073709551615}"),
        ("{ IDLE, RUN, LAST = RUN }", "enumeration{IDLE=0,RUN=1}"),
        ("{ A, B } __attribute__((packed))", "enumeration(1){A=0,B=1}"),
        ("{ A, B = 200 } __attribute__((packed))", "unsigned enumeration(1){A=0,B=200}"),
        (": unsigned char { A, B }", "unsigned enumeration(1){A=0,B=1}"),
    ] {
        let text = format!("enum e {symbols};\nstruct R {{ enum e f; }};");
        same_as(&C.read(&text).unwrap(), "R", &format!("record R\n f {kind}"));
    }
}

#[test]
fn types_of_one_meaning_need_no_declaration() {
    let text = "struct R { __u64 a; __s16 b; uint_least8_t c; intmax_t d; u_int16_t e; int_least32_t f; };";
    assert_eq!(C.fields(text), "a u64; b i16; c u8; d i64; e u16; f i32");
    C.refuses("struct R { __be32 a; };", "found __be32");
    C.refuses("struct R { wchar_t a; };", "found wchar_t");
    C.refuses("struct R { int_fast32_t a; };", "found int_fast32_t");
}

/// What another file says within a declaration is part of it.
#[test]
fn a_file_within_a_declaration_refuses_it() {
    for text in [
        "struct R { int a;\n#include \"fields.inc\"\nint b; };",
        "struct R\n#include \"fields.inc\"\n{ int a; };",
        "struct R {\n#include <limits.h>\nint a; };",
        "struct R { int a; }\n#include \"end.h\"\n;",
        "extern \"C\" { struct R { int a;\n#include \"fields.inc\"\n}; }",
        "typedef struct {\n#include \"fields.inc\"\nint a; } R;",
        "#define ALL(...) __VA_ARGS__\nALL(struct R { int a;\n#include \"fields.inc\"\n});",
    ] {
        C.refuses(text, "");
    }
    C.refuses(
        "struct R { int a;\n#include \"fields.inc\"\nint b; };",
        "a.h:2: expected #include between declarations, since other files are not read, found #include \"fields.inc\"",
    );
    C.refuses("enum { FIRST,\n#include \"list.inc\"\nCOUNT };\nstruct R { int a[COUNT]; };", "found COUNT");
    C.refuses(
        "enum e { FIRST,\n#include \"list.inc\"\n};\nstruct R { enum e a; };",
        "a.h:2: expected #include between",
    );
    // Between declarations, it is passed over.
    let text = "#include \"a.h\"\nextern \"C\" {\n#include \"b.h\"\nstatic int one(void) { return 1; }\n#include \"c.h\"\n\
        struct R { int a; };\n#include \"d.h\"\n}\n#include \"e.h\"\nstruct other { int b; };";
    assert_eq!(C.fields(text), "a i32");
    assert!(C.read(text).unwrap().get("other").is_ok());
}

/// `bool` and the names of `<stdint.h>` are no keywords.
#[test]
fn names_that_the_header_declares_come_before_known_ones() {
    let same = |header: &str, words: &str| {
        let text = format!("{header}\nstruct R {{ char c; bool flag; int i[sizeof(bool)]; }};");
        same_as(&C.read(&text).unwrap(), "R", &format!("record R\n c char\n flag {words}"));
    };
    same("typedef enum { false, true } bool;", "enumeration{false=0,true=1}\n i int[4]");
    same("typedef int bool;", "int\n i int[4]");
    same("typedef unsigned short bool;", "unsigned short\n i int[2]");
    same("#define bool int", "int\n i int[4]");
    same("", "bool\n i int[1]");
    assert_eq!(C.fields("struct R { unsigned bool; };"), "bool u32");
    C.refuses("typedef char int8_t[3]; struct R { int a[sizeof(int8_t)]; };", "sizeof");
    C.refuses("struct R { char a[sizeof(char * const)]; };", "a value that is the same on every machine");
    C.refuses("struct R { char a[sizeof(char const * volatile)]; };", "a value that is the same on every machine");
}

/// The headers of C have more macros than this reader knows: a value for those who have none need not be the one.
#[test]
fn macros_of_other_headers_are_not_taken_as_undefined() {
    for (file, name) in
        [("limits.h", "PATH_MAX"), ("stdio.h", "BUFSIZ"), ("stdint.h", "INT_WIDTH"), ("defs.h", "CHANNELS")]
    {
        for guard in [format!("#ifndef {name}"), format!("#if !defined({name})")] {
            let text = format!("#include <{file}>\n{guard}\n#define {name} 8\n#endif\nstruct R {{ char p[{name}]; }};");
            C.refuses(&text, "a.h:2: expected a condition that the header decides");
        }
    }
    C.refuses("#include <stdio.h>\n#ifndef P\n#define P // none\n#endif\nstruct R { int a; } P;", "found #ifndef P");
    // A guard, and a name that none of the headers has.
    for text in [
        "#include <limits.h>\n#ifndef A_H\n#define A_H /* a guard */\nstruct R { int a; };\n#endif",
        "#include <stdint.h>\n#ifndef CHANNELS\n#define CHANNELS 4\n#endif\nstruct R { int a; };",
    ] {
        assert_eq!(C.fields(text), "a i32", "{text}");
    }
}

/// Other files are not read, and may define anew what was defined before them.
#[test]
fn a_macro_that_a_file_may_change_refuses_what_uses_it() {
    for text in [
        "#define N 4\n#include \"b.h\"\nstruct R { int a[N]; };",
        "#define N 4\n#include <stdio.h>\nstruct R { int a[N]; };",
        "#define INT_N 4\n#include <stdint.h>\nstruct R { int a[INT_N]; };",
        "#define N(n) n\n#include \"b.h\"\nstruct R { int a[N(4)]; };",
        "#define N 4\n#include \"b.h\"\n#define M N\nstruct R { int a[M]; };",
        "#define M N\n#include \"b.h\"\n#define N 4\nstruct R { int a[M]; };",
        "#define N 4\n#include \"b.h\"\nenum { M = N };\nstruct R { int a[M]; };",
        "#define real float\n#include \"b.h\"\nstruct R { real a; };",
        "#define TIGHT __attribute__((packed))\n#include \"b.h\"\nstruct R { char a; int b; } TIGHT;",
        "#define TIGHT\n#include \"b.h\"\nstruct TIGHT R { char a; int b; };",
        "#define TIGHT _Pragma(\"pack(1)\")\n#include \"b.h\"\nTIGHT\nstruct R { char a; int b; };",
        "#define BIG 1\n#include \"b.h\"\n#if BIG\nstruct R { int a; };\n#else\nstruct R { char a; };\n#endif",
        "#define BIG\n#include \"b.h\"\n#ifdef BIG\nstruct R { int a; };\n#endif",
        "#undef BIG\n#include \"b.h\"\n#ifndef BIG\nstruct R { int a; };\n#endif",
        "#define N 4\n#pragma push_macro(\"N\")\n#include \"b.h\"\nstruct R { int a[N]; };",
        "#define N 4\n#ifdef X\n#include \"b.h\"\n#endif\nstruct R { int a[N]; };",
        "#define N 4\n#include \"pack_end.h\"\nenum { M = N };\n#pragma pack()\nstruct R { int a[M]; };",
    ] {
        C.refuses(text, "");
    }
    C.refuses(
        "#define N 4\n#include \"b.h\"\nstruct R { int a[N]; };",
        "a.h:2: expected the definition of a macro behind #include, since the file may define another, found #include \"b.h\"",
    );
    for (text, fields) in [
        // Nothing that uses it lays the record out.
        ("#define N 4\n#include \"b.h\"\nint f(int a[N]);\nstruct R { int a; };", "a i32"),
        ("#ifndef A_H\n#define A_H 1\n#include \"b.h\"\nstruct R { int a; };\n#endif", "a i32"),
        ("#include \"b.h\"\n#define N 4\nstruct R { int a[N]; };", "a i32[4]"),
        ("#define N 4\n#include \"b.h\"\n#undef N\n#define N 2\nstruct R { int a[N]; };", "a i32[2]"),
        ("#define N 4\nenum { M = N };\n#include \"b.h\"\nstruct R { int a[M]; };", "a i32[4]"),
        // C's own headers do not have the name, and what is not compiled includes nothing.
        ("#define N 4\n#include <stdint.h>\nstruct R { int a[N]; };", "a i32[4]"),
        ("#define N 4\n#if 0\n#include \"b.h\"\n#endif\nstruct R { int a[N]; };", "a i32[4]"),
        ("#include \"b.h\"\n#ifdef __GNUC__\nstruct R { int a; };\n#endif", "a i32"),
    ] {
        assert_eq!(C.fields(text), fields, "{text}");
    }
}

/// A guard around a whole header puts in doubt only its own name, whatever it is defined as.
#[test]
fn a_guard_around_the_whole_header_refuses_only_what_uses_its_name() {
    for file in ["<stdio.h>", "\"b.h\""] {
        for (guard, value) in [("#ifndef A_H", "1"), ("#if !defined(A_H)", "202411L"), ("#ifndef A_H", "")] {
            let start = format!("#include {file}\n{guard}\n#define A_H {value}\n");
            let inner = "#ifdef __cplusplus\nextern \"C\" {\n#else\nit isn't\n#endif\n";
            let inner = inner.replace("it isn't", "int x;");
            let end = "#endif /* A_H */ // the end\n";
            assert_eq!(C.fields(&format!("{start}{inner}struct R {{ int a; }};\n{end}")), "a i32");
        }
        let start = format!("#include {file}\n#ifndef A_H\n#define A_H 8\n");
        for rest in [
            "struct R { char a[A_H]; };\n#endif",
            "struct R { int a; };\n#else\nstruct R { char a; };\n#endif",
            "#define N 8\n#endif\nstruct R { char a[N]; };",
            "typedef float real;\n#endif\nstruct R { real a; };",
            "struct R { int a; };\n#endif\n#define N 8",
            "enum { N = A_H };\nstruct R { char a[N]; };\n#endif",
        ] {
            let says = if rest.starts_with("enum") {
                "found N"
            } else {
                "a.h:2: expected a condition that the header decides"
            };
            C.refuses(&format!("{start}{rest}"), says);
        }
    }
}

/// No name is lost in silence, and no struct of C++ or GNU C without a field is passed over.
#[test]
fn second_names_of_a_number_and_empty_structs_are_told_of() {
    let text = "enum e { A, B,\n LAST = B,\n FIRST = 0 };\nstruct R { enum e e; };\nstruct E {};\n\
        struct H { int a;\n struct E e; };\nstruct I { int a;\n struct {} e; };\nstruct Z {\n int a[0]; };";
    let declarations = C.read(text).unwrap();
    same_as(&declarations, "R", "record R\n e enumeration{A=0,B=1}");
    let left = declarations.left_out().iter().map(|left| format!("{} {}: {}", left.place, left.what, left.reason));
    assert_eq!(
        left.collect::<Vec<_>>(),
        [
            "a.h:2 enumerator LAST: B has the same number, and is its symbol",
            "a.h:3 enumerator FIRST: A has the same number, and is its symbol"
        ]
    );
    for (name, says) in [
        ("E", "a.h:5: expected a record with a field or more, found none"),
        ("H", "a.h:5: expected a record with a field or more, found none"),
        ("I", "a.h:9: expected a record with a field or more, found none"),
        ("Z", "a.h:11: expected a length of 1 or more, found 0"),
    ] {
        let error = declarations.shape(name).unwrap_err();
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
}

#[test]
fn a_strange_word_behind_an_enum_refuses_it() {
    for text in [
        "enum color { RED, GREEN } __packed;\nstruct R { enum color c; };",
        "enum color { RED, GREEN } PACKED;\nstruct R { enum color c; };",
        "enum color { RED, GREEN } PACKED(1);\nstruct R { enum color c; };",
        "enum color { RED, GREEN } one two;\nstruct R { enum color c; };",
        "enum color { RED, GREEN } color_of(int), __packed;\nstruct R { enum color c; }__packed;",
        "typedef enum { RED, GREEN } PACKED color;\nstruct R { color c; };",
        "typedef enum { RED, GREEN } color PACKED;\nstruct R { color c; };",
        "struct R { enum { RED, GREEN } PACKED c; };",
    ] {
        C.refuses(text, "");
    }
    C.refuses("\nenum color { RED, GREEN } __packed;\nstruct R { enum color c; };", "a.h:2: expected no word");
    let fields = C.fields("enum color { RED, GREEN } now;\nenum color next(void);\nstruct R { enum color c; };");
    assert!(fields.starts_with("c enumeration"), "{fields}");
}

/// What GCC 12 sees of lines that go on, of `#elifdef`, and of macros that are kept.
#[test]
fn the_preprocessor_sees_what_gcc_sees() {
    for (text, fields) in [
        ("struct R { int a; // the path C:\\\nint hidden;\nint b; };", "a i32; b i32"),
        ("struct R { int a; // the path C:\\\r\nint hidden;\r\nint b; };", "a i32; b i32"),
        ("struct R { int a; // the path C:\\ \t\nint hidden;\nint b; };", "a i32; b i32"),
        ("#if 0\n// on \\\n#endif\n#else\nstruct R { int b; };\n#endif", "b i32"),
        ("#define N 4 \\ \n + 1\nstruct R { int a[N]; };", "a i32[5]"),
        ("#if 0\n#elifdef __GNUC__\nstruct R { int a; };\n#else\nstruct R { int b; };\n#endif", "a i32"),
        ("#if 0\n#elifndef __GNUC__\nstruct R { int a; };\n#else\nstruct R { int b; };\n#endif", "b i32"),
        ("#if 1\nstruct R { int a; };\n#elifdef __GNUC__\nstruct R { int b; };\n#endif", "a i32"),
        (
            "#define N 1\n#pragma push_macro(\"N\")\n#undef N\n#define N 2\n#pragma pop_macro(\"N\")\nstruct R { int a[N + 1]; };",
            "a i32[2]",
        ),
        (
            "#define N 1\n#pragma push_macro(\"N\")\n#undef N\n#define N 2\n_Pragma(\"pop_macro(\\\"N\\\")\") struct R { int a[N + 1]; };",
            "a i32[2]",
        ),
    ] {
        assert_eq!(C.fields(text), fields, "{text}");
    }
    for (text, says) in [
        ("#pragma push_macro(\"N\")\n#define N 2\n#pragma pop_macro(\"N\")\nstruct R { int a[N]; };", "found N"),
        (
            "#define N 1\n#ifdef X\n#pragma push_macro(\"N\")\n#endif\n#define N 2\n#pragma pop_macro(\"N\")\nstruct R { int a[N]; };",
            "#ifdef X",
        ),
        ("#if 0\n#elifdef X\nstruct R { int a; };\n#else\nstruct R { int b; };\n#endif", "found #elifdef X"),
    ] {
        C.refuses(text, says);
    }
}

/// An unknown macro alone may open packing, which holds for all that is behind it.
#[test]
fn a_word_alone_that_may_pack_puts_all_structs_behind_it_in_doubt() {
    const STRUCTS: &str = "struct A { char a; int b; };\nstruct R { char a; int b; };";
    for word in [
        "PACK_ON",
        "PACK_ON;",
        "PACK_PUSH(1)",
        "PACK_PUSH(1);",
        "pack_begin",
        "pack_push(1);",
        "pack(push, 1);",
        "BeginPacked()",
        "TIGHT",
        "TIGHT;",
        "TIGHT(1)",
        "TIGHT();",
        "TIGHT_ON\nint f(void);",
        "ALIGN_1\nint f(void);",
        "__packed_begin__",
        "PACK_DECLS_BEGIN",
        "POP",
        "__BEGIN_DECLS\nPACK_ON",
        "extern_t x;\nPACK_ON",
        "PACK_PUSH struct other { int a; };",
        "PACK_START /* 1 */ // one",
        "#ifdef X\n#define TIGHT _Pragma(\"pack(1)\")\n#else\n#define TIGHT\n#endif\nTIGHT",
    ] {
        let text = format!("{word}\n{STRUCTS}");
        let line = text.lines().position(|line| line.starts_with("struct A")).unwrap();
        let found = C.fields(&text);
        let is_right = found.contains("since it may pack structs") && !found.contains(&format!("a.h:{}:", line + 1));
        assert!(is_right, "{text}\n{found}");
        // What is before it is not.
        assert!(C.fields(&format!("struct R {{ int a; }};\n{word}\nstruct A {{ int a; }};")) == "a i32", "{word}");
    }
    for word in [
        "__BEGIN_DECLS",
        "G_BEGIN_DECLS",
        "BEGIN_C_DECLS",
        "EXTERN_C_START",
        "EXTERN_C",
        "_GLIBCXX_BEGIN_NAMESPACE",
        "NS_ASSUME_NONNULL_BEGIN",
        "API_EXPORT int f(void);",
        "API_EXPORT\nint f(void);",
        "BOOL\nWINAPI\nf(int);",
        "STATIC_ASSERT(sizeof(int) == 4);",
        "_Static_assert(1, \"\");",
        "STATIC_ASSERT(1);",
        "LIST_HEAD(list, item);",
        "DECLARE_HANDLE(HWND);",
        "PACK(struct other { int a; });",
        "packet_t\nparse(void);",
        "packed_t next(void);",
        "MODULE_LICENSE(\"MIT\");",
        "start(void) { return 1; }\nint i;",
        "UNKNOWN struct other { int a; };",
        "PACKED struct other { int a; };",
        "other_t x;",
        "_XFUNCPROTOBEGIN",
        "FT_BEGIN_HEADER",
        "API(void)\nset_start(char *name, int n);",
    ] {
        let text = format!("{word}\n{STRUCTS}");
        assert_eq!(C.fields(&text), "a char; b i32", "{text}");
    }
}
