//! DWARF that is not where it usually is: types in units of their own, packages of split files, and what `dwz` takes out of several
//! units or programs.

#![cfg(target_os = "linux")]

mod compilers;

use compilers::{compile, compilers, has, mutate, skipped, tool};
use isoform_core::{Code, Format, Layout, Shape};
use isoform_xmit::Program;
use std::path::{Path, PathBuf};

/// In C and in C++.
const TYPES: &str = "
    enum colour { RED = -1, GREEN = 5 };
    struct point { float x, y; };
    typedef struct { int inner; struct point at; } reading;
    struct gauge { char name[16]; short low; enum colour colour; struct point corners[3]; reading last; long double wide;
        struct { int depth; } unnamed; double square[2][3]; };
    struct gauge gauge; reading reading_;";
const CPP: &str = "
    namespace deep { struct Base { int number; int next(); }; int Base::next() { return number + 1; } }
    struct Station : deep::Base { enum class Kind : short { A, B } kind; struct gauge inside; int id() const { return number; } };
    Station station; int sum() { return station.next() + station.id(); }";
const MAIN: &str = "struct gauge_of_main { float f; } other; int main(void) { return 0; }";

/// The formats of structs of a program.
fn formats(program: &Path, names: &[&str]) -> Vec<Format> {
    let read = Program::open(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    names
        .iter()
        .map(|name| read.format(name).unwrap_or_else(|error| panic!("{}: {error}", program.display())))
        .collect()
}

/// Removes the files of a folder that are split from programs.
fn remove_split(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn types_in_units_of_their_own_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = ["gauge", "reading", "point"];
    for (compiler, _) in compilers() {
        let expected = formats(&compile(folder, compiler, "plain.c", TYPES, &["-c", "-g"]), &names);
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            for split in ["-g", "-gsplit-dwarf"] {
                let options = [version, "-fdebug-types-section", split];
                let object = compile(folder, compiler, "a.c", TYPES, &[&["-c"], &options[..]].concat());
                assert_eq!(formats(&object, &names), expected, "{compiler} {version} {split}");
                mutate(&std::fs::read(&object).unwrap(), 20);
                if *Program::open(&object).unwrap().layout() == Layout::NATIVE {
                    let options = [&options[..], &["-nostdlib", "-Wl,-e,main", object.to_str().unwrap()]].concat();
                    let linked = compile(folder, compiler, "main.c", MAIN, &options);
                    assert_eq!(formats(&linked, &names), expected, "{compiler} {version} {split}, linked");
                }
            }
        }
    }
}

#[test]
fn types_of_cpp_in_units_of_their_own_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["gauge", "reading", "Station", "Base"];
    for compiler in ["c++", if has("clang++") { "clang++" } else { "clang++-19" }] {
        if !has(compiler) {
            skipped(&format!("types of C++ by {compiler}, which is not here"));
            continue;
        }
        let text = format!("{TYPES}{CPP}");
        let expected = formats(&compile(folder.path(), compiler, "plain.cpp", &text, &["-c", "-g"]), &names);
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let options = ["-c", "-g", version, "-fdebug-types-section"];
            let object = compile(folder.path(), compiler, "a.cpp", &text, &options);
            assert_eq!(formats(&object, &names), expected, "{compiler} {version}");
        }
    }
}

#[test]
fn packages_of_split_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let clang = if has("clang") { "clang" } else { "clang-19" };
    let (names, types) = (["gauge", "reading", "gauge_of_main"], "-fdebug-types-section");
    // `dwp` of binutils crashes on version 5, and `llvm-dwp` does not end on GCC's version 5 without units of types.
    for (packer, compiler, options) in [
        ("dwp", "cc", &["-gdwarf-4"][..]),
        ("dwp", "cc", &["-gdwarf-4", types]),
        ("dwp", clang, &["-gdwarf-4", types]),
        ("llvm-dwp", "cc", &["-gdwarf-4"]),
        ("llvm-dwp", "cc", &["-gdwarf-5", types]),
        ("llvm-dwp", clang, &["-gdwarf-4", types]),
        ("llvm-dwp", clang, &["-gdwarf-5"]),
        ("llvm-dwp", clang, &["-gdwarf-5", types]),
    ] {
        let what = format!("{packer} of what {compiler} {} splits", options.join(" "));
        let packer = if packer == "llvm-dwp" && !has(packer) { "llvm-dwp-19" } else { packer };
        if !has(packer) || !has(compiler) {
            skipped(&format!("{what}: it is not here"));
            continue;
        }
        let all = [options, &["-g", "-gsplit-dwarf"]].concat();
        let object = compile(folder, compiler, "a.c", TYPES, &[&all[..], &["-c"]].concat());
        let linked = compile(folder, compiler, "main.c", MAIN, &[&all[..], &[object.to_str().unwrap()]].concat());
        let expected = formats(&linked, &names);
        let name = linked.file_name().unwrap().to_str().unwrap();
        let package = format!("{name}.dwp");
        assert!(tool(folder, packer, &["-e", name, "-o", &package]), "{what}");
        remove_split(folder);
        assert_eq!(formats(&linked, &names), expected, "{what}");
        mutate(&std::fs::read(folder.join(&package)).unwrap(), 60);
        // That of another program.
        let text = "struct gauge { int b; } gauge; int main(void) { return 1; }";
        let other = compile(folder, compiler, "other.c", text, &all);
        remove_split(folder);
        std::fs::rename(folder.join(&package), other.with_extension("o.dwp")).unwrap();
        let error = Program::open(&other).unwrap_err();
        assert!(error.code() == Code::Declaration && error.to_string().contains("of another compilation"), "{error}");
    }
}

/// Two programs, for each a folder and what `dwz` may do in it: `true` if it is here.
fn programs(folder: &Path) -> Option<[PathBuf; 2]> {
    if !has("dwz") {
        skipped("programs that dwz compressed: it is not here");
        return None;
    }
    let object = compile(folder, "cc", "a.c", TYPES, &["-c", "-g"]);
    let again =
        compile(folder, "cc", "b.c", &TYPES.replace("gauge;", "again;").replace("reading_", "more"), &["-c", "-g"]);
    let link = ["-g", "-Wl,--build-id", object.to_str().unwrap(), again.to_str().unwrap()];
    let other = format!("struct of_other {{ int a; }} of_other; {MAIN}");
    Some([compile(folder, "cc", "one.c", MAIN, &link), compile(folder, "cc", "two.c", &other, &link)])
}

#[test]
fn what_dwz_takes_out_of_several_units_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let Some([one, _]) = programs(folder.path()) else { return };
    let names = ["gauge", "reading", "point", "gauge_of_main"];
    let expected = formats(&one, &names);
    let before = std::fs::metadata(&one).unwrap().len();
    assert!(tool(folder.path(), "dwz", &[one.to_str().unwrap()]));
    assert!(std::fs::metadata(&one).unwrap().len() < before, "dwz found nothing to take out");
    assert_eq!(formats(&one, &names), expected);
}

#[test]
fn what_dwz_moves_to_a_file_for_several_programs_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let Some([one, two]) = programs(folder.path()) else { return };
    let names = ["gauge", "reading", "point", "gauge_of_main"];
    let expected = formats(&one, &names);
    let arguments = ["-m", "shared.debug", one.to_str().unwrap(), two.to_str().unwrap()];
    assert!(tool(folder.path(), "dwz", &arguments) && path("shared.debug").exists());
    let bytes = std::fs::read(path("shared.debug")).unwrap();
    assert_eq!(formats(&one, &names), expected);
    assert_eq!(formats(&two, &names), expected);
    assert_eq!(formats(&two, &["of_other"])[0].size(), 4);
    // A program has the types that it imports, and no other.
    let error = Program::open(&one).unwrap().format("of_other").unwrap_err();
    assert_eq!(error.code(), Code::NoSuchField);
    // Both in a folder that another file of the name is in, too: the build id tells.
    let moved = tempfile::tempdir().unwrap();
    std::fs::copy(&one, moved.path().join("one")).unwrap();
    std::fs::create_dir(path("symbols")).unwrap();
    std::fs::rename(path("shared.debug"), moved.path().join("shared.debug")).unwrap();
    assert_eq!(formats(&moved.path().join("one"), &names), expected);
    std::fs::copy(&two, moved.path().join("shared.debug")).unwrap();
    let lacking = Program::open(&moved.path().join("one")).unwrap().format("gauge").unwrap_err();
    assert!(lacking.code() == Code::NoSuchField && lacking.to_string().contains("shared.debug"), "{lacking}");
    // By the build id, in a folder of debug information.
    let id =
        (bytes.windows(16).position(|note| note[..12] == [4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0])).expect("a build id");
    let id: String = bytes[id + 16..id + 36].iter().map(|byte| format!("{byte:02x}")).collect();
    let place = path("symbols").join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join(format!("{}.debug", &id[2..])), &bytes).unwrap();
    let program = Program::open_with(&moved.path().join("one"), &[path("symbols")]).unwrap();
    assert_eq!(program.format("gauge").unwrap(), expected[0]);
    // Bytes alone find no other file.
    let lacking = Program::read(&std::fs::read(&one).unwrap()).unwrap().format("gauge").unwrap_err();
    assert!(lacking.to_string().contains("shared.debug"), "{lacking}");
    mutate(&bytes, 60);
    mutate(&std::fs::read(&one).unwrap(), 60);
}

/// A part that `dwz` takes out states no language, and the lower bound of an array is left out where it is Fortran's.
#[test]
fn arrays_of_fortran_that_dwz_takes_out_keep_their_dimensions() {
    if !has("gfortran") || !has("dwz") {
        return skipped("types of Fortran that dwz takes out: gfortran or dwz is not here");
    }
    let folder = tempfile::tempdir().unwrap();
    let module =
        "module m\n type gauge\n  integer :: n\n  real :: grid(2,3)\n end type\n type(gauge) :: one\nend module\n";
    let uses = |head: &str, name: &str| {
        format!("{head}\n use m\n type(gauge) :: {name}\n {name} = one\n print *, {name}%n\nend\n")
    };
    let first = compile(folder.path(), "gfortran", "m.f90", module, &["-c", "-g"]);
    let second = compile(folder.path(), "gfortran", "q.f90", &uses("subroutine q", "mine"), &["-c", "-g"]);
    let objects = ["-g", first.to_str().unwrap(), second.to_str().unwrap()];
    let linked = compile(folder.path(), "gfortran", "p.f90", &uses("program p", "its"), &objects);
    let expected = Shape::parse("record gauge\n  n  int\n  grid  float[3][2]\n").unwrap().on(&Layout::NATIVE).unwrap();
    assert_eq!(formats(&linked, &["gauge"])[0], expected);
    assert!(tool(folder.path(), "dwz", &[linked.to_str().unwrap()]));
    assert_eq!(formats(&linked, &["gauge"])[0], expected);
}

/// Bounds and symbols whose top bit is set in the form of DWARF that they fit, and what each type makes of them.
const CONSTANTS: &str = "
    enum near { LOST = -1, WARN = 128, FAULT = 200, FAR = 32768, OVER = 70000 };
    enum far { GO = 0x80000000u, STAY = 1 };
    enum wide { LEFT = -5, RIGHT = 0x123456789aLL }; enum huge { MOST = 0xffffffffffffffffULL };
    enum __attribute__((packed)) small { LOW = 1, TOP = 200 };
    enum __attribute__((packed)) sign { MINUS = -56, PLUS = 100 };
    struct gauge { enum near near; enum far far; enum wide wide; enum huge huge; enum small small; enum sign sign;
        char a127[127], a128[128], a129[129], a256[256], a257[257]; short a32769[32769]; char a65536[65536];
        double grid[2][200]; int whole : 32; } gauge;";
const CONSTANTS_SHAPE: &str = "
record gauge
  near    enumeration(4){LOST=-1,WARN=128,FAULT=200,FAR=32768,OVER=70000}
  far     unsigned enumeration(4){GO=2147483648,STAY=1}
  wide    enumeration(8){LEFT=-5,RIGHT=78187493530}
  huge    unsigned enumeration(8){MOST=18446744073709551615}
  small   unsigned enumeration(1){LOW=1,TOP=200}
  sign    enumeration(1){MINUS=-56,PLUS=100}
  a127    char[127]
  a128    char[128]
  a129    char[129]
  a256    char[256]
  a257    char[257]
  a32769  short[32769]
  a65536  char[65536]
  grid    double[2][200]
  whole   int
";

#[test]
fn constants_have_the_values_of_their_types_whatever_their_form() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, layout) in compilers() {
        let expected = Shape::parse(CONSTANTS_SHAPE).unwrap().on(&layout).unwrap();
        for version in 2..=5 {
            for wide in [false, true] {
                // GCC relocates 8 bytes on machines of 32 bits as 4, and its assembler refuses that on some.
                if wide && (layout.machine().pointer == 4 || version < 3) {
                    continue;
                }
                let version = format!("-gdwarf-{version}");
                let width = if wide { "-gdwarf64" } else { "-gdwarf32" };
                for strict in ["-gno-strict-dwarf", "-gstrict-dwarf"] {
                    let options = ["-c", "-g", &version, width, strict];
                    let object = compile(folder.path(), compiler, "a.c", CONSTANTS, &options);
                    let format = Program::open(&object).and_then(|program| program.format("gauge"));
                    assert_eq!(
                        format.unwrap_or_else(|error| panic!("{compiler} {options:?}: {error}")),
                        expected,
                        "{options:?}"
                    );
                }
            }
        }
    }
}

/// A struct of 4,096 bytes with a member `a`, of as many elements as `bound` and one more, at `offset`; each of these is a form of
/// DWARF and the bytes of a constant. Its elements are an enumeration of one symbol; the numbers of that have `size` bytes.
fn assembled([offset, bound, symbol]: [(u8, &str); 3], (size, encoding): (u8, u8)) -> String {
    let attribute = |name: u8, (form, bytes): (u8, &str)| match form {
        0x21 => format!(".byte {name:#x}, 0x21\n .sleb128 {bytes}"),
        form => format!(".byte {name:#x}, {form:#x}"),
    };
    let value = |(form, bytes): (u8, &str)| if form == 0x21 { String::new() } else { bytes.replace(';', "\n ") };
    format!(
        ".section .debug_abbrev,\"\"
 .byte 1, 0x11, 1, 0, 0
 .byte 2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0
 .byte 3, 0x13, 1, 0x03, 0x08, 0x0b, 0x05, 0, 0
 .byte 4, 0x0d, 0, 0x03, 0x08, 0x49, 0x13
 {}
 .byte 0, 0
 .byte 5, 0x04, 1, 0x49, 0x13, 0x0b, 0x0b, 0, 0
 .byte 6, 0x28, 0, 0x03, 0x08
 {}
 .byte 0, 0
 .byte 7, 0x01, 1, 0x49, 0x13, 0, 0
 .byte 8, 0x21, 0, 0x49, 0x13
 {}
 .byte 0, 0, 0
.section .debug_info,\"\"
begin: .4byte end - start
start: .2byte 5
 .byte 1, 8
 .4byte 0
 .byte 1
base: .byte 2
 .asciz \"number\"
 .byte {size}, {encoding}
wide: .byte 2
 .asciz \"index\"
 .byte 8, 7
 .byte 3
 .asciz \"S\"
 .2byte 4096
 .byte 4
 .asciz \"a\"
 .4byte array - begin
 {}
 .byte 0
symbols: .byte 5
 .4byte base - begin
 .byte {size}
 .byte 6
 .asciz \"A\"
 {}
 .byte 0
array: .byte 7
 .4byte symbols - begin
 .byte 8
 .4byte wide - begin
 {}
 .byte 0, 0
end:
",
        attribute(0x38, offset),
        attribute(0x1c, symbol),
        attribute(0x2f, bound),
        value(offset),
        value(symbol),
        value(bound),
    )
}

#[test]
fn constants_are_read_in_every_form() {
    const PLAIN: (u8, &str) = (0x0b, ".byte 8");
    const NUMBERS: [(u8, &str); 8] = [
        (0x0b, ".byte 200"),
        (0x05, ".2byte 200"),
        (0x06, ".4byte 200"),
        (0x07, ".8byte 200"),
        (0x1e, ".8byte 200, 0"),
        (0x0d, ".sleb128 200"),
        (0x0f, ".uleb128 200"),
        (0x21, "200"),
    ];
    let expressions = [
        (0x0a, ".byte 3, 0x23;.uleb128 200"),            // block1: DW_OP_plus_uconst
        (0x18, ".byte 3, 0x23;.uleb128 200"),            // exprloc
        (0x18, ".byte 4, 0x10;.uleb128 200;.byte 0x22"), // DW_OP_constu, DW_OP_plus
        (0x18, ".byte 3, 0x08, 200, 0x22"),              // DW_OP_const1u, DW_OP_plus
        (0x18, ".byte 7, 0x23, 100, 0x96, 0x31, 0x22, 0x23, 99"), // DW_OP_nop, DW_OP_lit1, DW_OP_plus between two
        (0x16, ".uleb128 0x0f;.uleb128 200"),            // indirect: udata
    ];
    let folder = tempfile::tempdir().unwrap();
    let format = |constants, of| {
        let object = compile(folder.path(), "cc", "a.s", &assembled(constants, of), &["-c"]);
        Program::open(&object).and_then(|program| program.format("S"))
    };
    let field = |format: &Format| {
        let field = &format.structure().fields()[0];
        let isoform_core::Element::Enumeration(of) = &field.element else { panic!("{field:?}") };
        (field.offset, field.dims.to_vec(), of.symbols()[0].value)
    };
    let count = |count| vec![isoform_core::Dimension::Fixed(count)];
    for form in NUMBERS.into_iter().chain(expressions) {
        let found = format([form, form, PLAIN], (4, 5)).unwrap_or_else(|error| panic!("{form:?}: {error}"));
        assert_eq!(field(&found), (200, count(201), 8), "{form:?}");
    }
    // A number has the sign and the bytes of its type, in whatever form.
    for (form, of, value) in [
        ((0x0b, ".byte 200"), (4, 5), 200),
        ((0x0b, ".byte 200"), (1, 7), 200),
        ((0x0b, ".byte 200"), (1, 5), -56),
        ((0x0d, ".sleb128 -56"), (1, 7), 200),
        ((0x0d, ".sleb128 -56"), (4, 5), -56),
        ((0x06, ".4byte 0xffffffc8"), (4, 5), -56),
        ((0x06, ".4byte 0xffffffc8"), (4, 7), 0xffff_ffc8),
        ((0x07, ".8byte 0xffffffffffffffc8"), (8, 7), 0xffff_ffff_ffff_ffc8),
        ((0x0f, ".uleb128 0xffffffffffffffc8"), (2, 5), -56),
        ((0x1e, ".8byte 0xffffffffffffffc8, 0xffffffffffffffff"), (8, 5), -56),
        ((0x0a, ".byte 2, 0xc8, 0xff"), (2, 5), -56),
        ((0x21, "-56"), (8, 5), -56),
    ] {
        let found = format([PLAIN, PLAIN, form], of).unwrap_or_else(|error| panic!("{form:?}: {error}"));
        assert_eq!(field(&found), (8, count(9), value), "{form:?} of {of:?}");
    }
    // An address is no constant: DW_OP_deref.
    let error = format([(0x18, ".byte 3, 0x23, 8, 0x06"), PLAIN, PLAIN], (4, 5)).unwrap_err();
    assert!(error.to_string().contains("an offset that is not a number"), "{error}");
    // What some compilers write for an array without a length.
    for form in [(0x06, ".4byte 0xffffffff"), (0x07, ".8byte 0xffffffffffffffff"), (0x0d, ".sleb128 -1")] {
        let error = format([PLAIN, form, PLAIN], (4, 5)).unwrap_err();
        assert!(error.to_string().contains("a flexible array"), "{error}");
    }
}
