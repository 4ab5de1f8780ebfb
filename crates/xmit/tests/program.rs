//! Structs of compiled programs: the formats are those of the same structs declared by hand, and the compiler agrees on each offset.

#![cfg(target_os = "linux")]

mod compilers;

use compilers::{compile, compilers, has, mutate, skipped};
use isoform_core::{Code, Element, Format, Layout, Shape};
use isoform_xmit::{Overlay, Program};
use std::fmt::Write as _;

const C: &str = r#"
#include <stdbool.h>
#include <stdint.h>
typedef struct { float x, y; } Point;
enum colour { RED, GREEN = 5, BLUE };
struct cell { double rho; char tag; };
struct KSdata1 {
    char name[16];
    int step;
    const unsigned long count;
    bool wet;
    enum colour colour;
    long double wide;
    struct cell grid[2][3];
    Point corner;
    struct { short low, high; };
    struct { int8_t inner; } unnamed;
    unsigned char raw[4];
    signed char sign;
    _Complex double wave;
    uint64_t last;
    char letter;
};
struct __attribute__((packed)) tight { char a; int b; };
struct over { _Alignas(16) int a; char b; };
struct bits { int low : 3; };
union either { int i; float f; };
struct with_union { union either either; };
struct pointer { int *values; };
struct text { struct { const char *label; } in; };
struct flexible { int n; double values[]; };
struct call { void (*f)(void); };
struct KSdata1 data; struct tight t; struct over o; struct bits b; struct with_union u;
struct pointer p; struct text x; struct flexible *f; struct call c;
struct flexible fl;
"#;

const SHAPE: &str = "
record Point
  x  float
  y  float
record cell
  rho  double
  tag  char
record KSdata1_unnamed
  inner  i8
record KSdata1
  name     char[16]
  step     int
  count    unsigned long
  wet      bool
  colour   enumeration{RED=0,GREEN=5,BLUE=6}
  wide     long double
  grid     cell[2][3]
  corner   Point
  low      short
  high     short
  unnamed  KSdata1_unnamed
  raw      u8[4]
  sign     i8
  wave     complex double
  last     u64
  letter   char
";

/// Statements that a compiler checks: the size of a struct, and the offset and size of each of its fields.
fn statements(format: &Format) -> String {
    let mut text = format!("{C}\n#include <stddef.h>\n");
    let name = format.name();
    writeln!(text, "_Static_assert(sizeof(struct {name}) == {}, \"size\");", format.size()).unwrap();
    writeln!(text, "_Static_assert(_Alignof(struct {name}) == {}, \"align\");", format.structure().align()).unwrap();
    for field in format.structure().fields() {
        let (field, offset, size) = (&field.name, field.offset, field.extent(format.machine().pointer).unwrap());
        writeln!(text, "_Static_assert(offsetof(struct {name}, {field}) == {offset}, \"{field}\");").unwrap();
        writeln!(text, "_Static_assert(sizeof(((struct {name} *)0)->{field}) == {size}, \"{field}\");").unwrap();
    }
    text
}

#[test]
fn structs_of_every_machine_have_the_formats_of_the_same_shapes() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, layout) in compilers() {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let object = compile(folder.path(), compiler, "a.c", C, &["-c", version]);
            let program = Program::open(&object).unwrap_or_else(|error| panic!("{compiler} {version}: {error}"));
            assert_eq!(program.layout().name, layout.name, "{compiler}");
            let format = program.format("KSdata1").unwrap_or_else(|error| panic!("{compiler} {version}: {error}"));
            let shape = Shape::parse(SHAPE).unwrap().on(&layout).unwrap();
            assert_eq!(format, shape, "{compiler} {version}");
            assert_eq!(format.token(), shape.token());
            for name in ["KSdata1", "tight", "over"] {
                let text = statements(&program.format(name).unwrap());
                compile(folder.path(), compiler, "b.c", &text, &["-c"]);
            }
        }
    }
}

#[test]
fn an_executable_has_the_same_formats_as_its_objects() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{C}\nint main(void) {{ return 0; }}\n");
    let object = Program::open(&compile(folder.path(), "cc", "a.c", &text, &["-c", "-g"])).unwrap();
    let linked = Program::open(&compile(folder.path(), "cc", "a.c", &text, &["-g"])).unwrap();
    assert_eq!(object.format("KSdata1").unwrap(), linked.format("KSdata1").unwrap());
    assert_eq!(linked.format("Point").unwrap().name(), "Point");
    assert!(linked.names().any(|name| name == "cell"));
}

#[test]
fn what_no_record_holds_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::open(&compile(folder.path(), "cc", "a.c", C, &["-c", "-g"])).unwrap();
    for (name, says) in [
        ("bits", "bits.low: expected a field that a record can have, or an overlay that drops it, found a bit-field"),
        (
            "with_union",
            "with_union.either: expected a field that a record can have, or an overlay that drops it, found a union",
        ),
        ("pointer", "pointer.values: expected an overlay that says what it points at"),
        ("text", "label: expected an overlay"),
        ("call", "call.f: expected an overlay"),
        (
            "flexible",
            "flexible.values: expected an array of fixed length, or an overlay that drops it, found a flexible array",
        ),
    ] {
        let error = program.format(name).unwrap_err();
        assert_eq!(error.code(), Code::Declaration);
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    assert_eq!(program.format("absent").unwrap_err().code(), Code::NoSuchField);
}

#[test]
fn types_of_one_name_in_several_units_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let one = compile(folder.path(), "cc", "one.c", "struct T { int a; } one;\n", &["-c", "-g"]);
    let two = compile(folder.path(), "cc", "two.c", "\nstruct T { float b; } two;\n", &["-c", "-g"]);
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    let main = "int main(void) { return 0; }";
    let program = Program::open(&compile(folder.path(), "cc", "m.c", main, &["-g", one, two])).unwrap();
    let error = program.format("T").unwrap_err().to_string();
    let choice = error.split([' ', ',']).find(|word| word.ends_with("two.c:2")).unwrap_or_else(|| panic!("{error}"));
    assert_eq!(&*program.format(choice).unwrap().structure().fields()[0].name, "b");
    assert_eq!(program.format("T@nowhere.c:1").unwrap_err().code(), Code::NoSuchField);
}

#[test]
fn a_cpp_struct_has_the_fields_of_its_base_first() {
    let folder = tempfile::tempdir().unwrap();
    let text = "namespace river { struct Base { int a; static int s; }; enum class E : short { low, high };
        struct Gauge : Base { double level; E e; int f() const; }; } river::Gauge gauge;";
    let program = Program::open(&compile(folder.path(), "c++", "a.cpp", text, &["-c", "-g"])).unwrap();
    let format = program.format("Gauge").unwrap();
    let fields: Vec<_> = format.structure().fields().iter().map(|field| (&*field.name, field.offset)).collect();
    assert_eq!(fields, [("a", 0), ("level", 8), ("e", 16)]);
    assert!(matches!(&format.structure().fields()[2].element, Element::Enumeration(e) if e.size() == 2));
}

#[test]
fn mutants_of_a_program_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["-g", "-gbtf"] {
        mutate(&std::fs::read(compile(folder.path(), "cc", "a.c", C, &["-c", option])).unwrap(), 1000);
    }
}

#[test]
fn fortran_types_have_their_dimensions_reversed() {
    if !has("gfortran") {
        return skipped("types of Fortran: gfortran is not here");
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "module m\n type Gauge\n  sequence\n  character(len=16) :: Name\n  real(8) :: grid(2,3)\n  integer :: step\n  \
        logical :: wet\n end type\n type(Gauge) :: one\nend module\n";
    let program = Program::open(&compile(folder.path(), "gfortran", "a.f90", text, &["-c", "-g"])).unwrap();
    let shape = "record gauge\n  name  char[16]\n  grid  double[3][2]\n  step  int\n  wet  boolean(4)\n";
    assert_eq!(program.format("gauge").unwrap(), Shape::parse(shape).unwrap().on(&Layout::NATIVE).unwrap());
}

/// A struct without what BTF of GCC cannot state, declared in one of two files.
const PLAIN: &str = "
    enum colour { RED = -1, GREEN = 5 };
    typedef struct { float x, y; } Point;
    struct gauge { char name[16]; unsigned char raw[4]; signed char sign; _Bool wet; const short low; enum colour colour;
        Point corners[3]; struct { int inner; }; long double wide; unsigned long last; };
    struct grid { double cells[2][3]; }; struct bits { int low : 3; }; struct pointer { int *values; };
    struct gauge gauge; struct grid grid; struct bits bits; struct pointer pointer;";

#[test]
fn a_stripped_program_with_btf_has_the_formats_of_its_debug_information() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, layout) in compilers().into_iter().filter(|(compiler, _)| !compiler.starts_with("clang")) {
        let dwarf = Program::open(&compile(folder.path(), compiler, "a.c", PLAIN, &["-c", "-g"])).unwrap();
        let object = compile(folder.path(), compiler, "b.c", PLAIN, &["-c", "-gbtf"]);
        let btf = Program::open(&object).unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert_eq!(btf.layout().name, layout.name);
        let found = btf.format("gauge").unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert_eq!(found, dwarf.format("gauge").unwrap(), "{compiler}");
    }
    let expected = Program::open(&compile(folder.path(), "cc", "a.c", PLAIN, &["-c", "-g"])).unwrap().format("gauge");
    let object = compile(folder.path(), "cc", "a.c", PLAIN, &["-c", "-gbtf"]);
    let main =
        "struct other { int a; } other; struct gauge { float f; }; struct gauge *g; int main(void) { return 0; }";
    let program = compile(folder.path(), "cc", "m.c", main, &["-gbtf", "-s", object.to_str().unwrap()]);
    let program = Program::open(&program).unwrap();
    assert_eq!(program.format("other").unwrap().size(), 4);
    let error = program.format("gauge").unwrap_err().to_string();
    let formats = error.split([' ', ',']).filter(|word| word.starts_with("gauge@"));
    assert!(formats.map(|choice| program.format(choice)).any(|format| format == expected), "{error}");
    for (name, says) in [
        ("bits", "bits.low: expected a field that a record can have, or an overlay that drops it, found a bit-field"),
        ("pointer", "a pointer"),
        (
            "grid",
            "grid.cells: expected a field that a record can have, or an overlay that drops it, found an array of several dimensions",
        ),
    ] {
        let error = program.format(name).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// GCC writes members of a type that BTF lacks, and does not count them.
#[test]
fn types_that_btf_lacks_spoil_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let text = "typedef float vector __attribute__((vector_size(16)));
        struct fast { int n; _Float16 h; int zero; _Decimal64 d; } fast; struct last { int n; vector v; _Float16 h; } last;
        union { int n; _Float16 h; } either; struct wave { _Complex float a; _Complex double b; _Complex long double c; } wave;
        enum colour { RED = -1, GREEN = 200 }; struct gauge { enum colour colour; struct wave wave; double level; } gauge;";
    let object = compile(folder.path(), "cc", "a.c", text, &["-c", "-gbtf"]);
    let program = Program::open(&object).unwrap();
    let shape = "record wave\n  a  complex float\n  b  complex double\n  c  complex long double\n\
        record gauge\n  colour  enumeration{RED=-1,GREEN=200}\n  wave  wave\n  level  double\n";
    assert_eq!(program.format("gauge").unwrap(), Shape::parse(shape).unwrap().on(&Layout::NATIVE).unwrap());
    for (name, says) in [("fast", "fast.h: "), ("last", "last.v: ")] {
        let error = program.format(name).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("a type that"), "{error}");
    }
}

#[test]
fn classes_with_virtual_functions_are_refused_by_name_and_an_overlay_drops_the_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let text = "struct Base { virtual ~Base() {} int a; }; struct Derived : Base { double b; }; Derived derived;\n\
        struct Other : virtual Base { int c; }; Other other;";
    for compiler in ["c++", if has("clang++") { "clang++" } else { "clang++-19" }] {
        if !has(compiler) {
            skipped(&format!("virtual functions by {compiler}, which is not here"));
            continue;
        }
        let object = compile(folder.path(), compiler, "a.cpp", text, &["-c", "-g"]);
        let error = Program::open(&object).unwrap().format("Derived").unwrap_err();
        let says = "expected a class without them, or an overlay that drops the pointer, found a pointer to the virtual functions of its class";
        assert!(error.path().starts_with("Derived._vptr") && error.to_string().contains(says), "{error}");
        let error = Program::open(&object).unwrap().format("Other").unwrap_err().to_string();
        assert!(error.contains("Other: a virtual base"), "{error}");
        let vptr = error_path(&object);
        let overlay =
            Overlay::parse("mine.json", &format!(r#"{{"Derived": {{"fields": {{"{vptr}": null}}}}}}"#)).unwrap();
        let format = Program::open(&object).unwrap().over(overlay).format("Derived").unwrap();
        assert_eq!(format.structure().fields().iter().map(|field| field.offset).collect::<Vec<_>>(), [8, 16]);
    }
}

/// The name that the compiler gives to the pointer.
fn error_path(object: &std::path::Path) -> String {
    let error = Program::open(object).unwrap().format("Derived").unwrap_err();
    error.path().strip_prefix("Derived.").unwrap().to_owned()
}

/// Some languages state no line: then scopes choose, and what is offered differs. A name that nothing has gets the nearest ones.
#[test]
fn choices_differ_and_the_nearest_names_come_first() {
    if !has("c++") {
        return skipped("the choices of C++. They need c++");
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "namespace a { struct P { int x; }; } namespace b { struct P { double y; }; } struct gauge { int n; }; struct Aaa { int n; };\n\
                struct Gauges { int n; }; template <class T> struct Agauge { T t; };\na::P p; b::P q; gauge g; Aaa h; Gauges i; Agauge<int> j;\n";
    let program = compile(folder.path(), "c++", "u.cpp", text, &["-g", "-c"]);
    let program = Program::read(&std::fs::read(program).unwrap()).unwrap();
    let error = program.format("P").unwrap_err().to_string();
    assert!(error.contains("one of a::P, b::P, found several types"), "{error}");
    for (name, field) in [("a::P", "x"), ("b::P", "y")] {
        assert_eq!(&*program.format(name).unwrap().structure().fields()[0].name, field);
    }
    let error = program.format("Gauge").unwrap_err().to_string();
    assert!(error.contains("such as gauge, Gauges, Aaa, P, Agauge<int>"), "{error}");
}
