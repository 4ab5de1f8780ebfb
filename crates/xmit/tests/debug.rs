//! Debug information in CTF, in compressed sections, and in other files than the program.

#![cfg(target_os = "linux")]

mod compilers;

use compilers::{compile, compilers, mutate, skipped, tool};
use isoform_core::{Code, Format, Result};
use isoform_xmit::Program;
use std::path::Path;

const C: &str = "
    enum colour { RED = -1, GREEN = 5 };
    typedef struct { float x, y; } Point;
    typedef signed char tiny;
    struct gauge { char name[16]; unsigned char raw[4]; signed char sign; _Bool wet; const short low; enum colour colour;
        Point corners[3]; struct { int inner; }; struct { tiny t; } unnamed; long double wide; _Complex double wave;
        unsigned long last; double square[3][3]; };
    struct grid { double cells[2][3]; }; struct bits { int low : 3; int high : 5; }; struct pointer { int *values; };
    struct either { union { int i; float f; } u; }; struct flexible { int n; double values[]; };
    struct gauge gauge; struct grid grid; struct bits bits; struct pointer pointer; struct either either;
    struct flexible flexible;";
/// Another file of the program, which declares another struct of the same name.
const MAIN: &str = "struct gauge { float f; } other_gauge; struct other { int a; } other; int main(void) { return 0; }";

/// The format by the debug information in the program itself.
fn expected(folder: &Path, compiler: &str) -> Format {
    Program::open(&compile(folder, compiler, "plain.c", C, &["-c", "-g"])).unwrap().format("gauge").unwrap()
}

/// The format of the one of several types that has a field.
fn with_field(program: &Program, name: &str, field: &str) -> Option<Format> {
    let error = program.format(name).unwrap_err().to_string();
    let places = error.split([' ', ',']).filter(|word| word.starts_with(&format!("{name}@")));
    let mut formats = places.map(|place| program.format(place).unwrap_or_else(|error| panic!("{place}: {error}")));
    formats.find(|format| format.structure().fields().iter().any(|found| &*found.name == field))
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, code: Code, words: &str) {
    let error = result.unwrap_err();
    assert!(error.code() == code && error.to_string().contains(words), "{error}");
}

#[test]
fn stripped_programs_of_every_machine_have_the_formats_of_their_ctf() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (compiler, layout) in compilers().into_iter().filter(|(compiler, _)| !compiler.starts_with("clang")) {
        let expected = expected(folder, compiler);
        let object = compile(folder, compiler, "a.c", C, &["-c", "-gctf"]);
        let program = Program::open(&object).unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert_eq!(program.layout().name, layout.name);
        assert_eq!(program.format("gauge").unwrap_or_else(|error| panic!("{compiler}: {error}")), expected);
        // Linked and stripped: types that two files declare differently are in dictionaries of their own.
        let linked = ["-gctf", "-s", "-nostdlib", "-static", "-Wl,-e,main", object.to_str().unwrap()];
        let linked = compile(folder, compiler, "main.c", MAIN, &linked);
        let program = Program::open(&linked).unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert_eq!(with_field(&program, "gauge", "square").as_ref(), Some(&expected), "{compiler}");
        assert_eq!(with_field(&program, "gauge", "f").unwrap().size(), 4);
        assert_eq!(program.format("other").unwrap().size(), 4);
        assert_eq!(program.format("Point").unwrap().size(), 8);
    }
}

#[test]
fn what_ctf_cannot_tell_or_no_record_holds_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::open(&compile(folder.path(), "cc", "a.c", C, &["-c", "-gctf"])).unwrap();
    for (name, says) in [
        (
            "grid",
            "grid.cells: expected a field that a record can have, or an overlay that drops it, found an array of several dimensions in CTF",
        ),
        ("bits", "bits.low: expected a field that a record can have, or an overlay that drops it, found a bit-field"),
        ("pointer", "pointer.values: expected an overlay that says what it points at"),
        ("either", "either.u: expected a field that a record can have, or an overlay that drops it, found a union"),
        (
            "flexible",
            "flexible.values: expected an array of fixed length, or an overlay that drops it, found a flexible array",
        ),
    ] {
        refused(program.format(name), Code::Declaration, says);
    }
    refused(program.format("absent"), Code::NoSuchField, "a struct of the program, such as");
}

#[test]
fn dictionaries_of_many_files_one_behind_another_are_all_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    compile(folder.path(), "cc", "a.c", C, &["-c", "-gctf"]);
    compile(folder.path(), "cc", "m.c", MAIN, &["-c", "-gctf"]);
    let mut all = Vec::new();
    for name in ["a", "m"] {
        let out = format!(".ctf={}", path("part"));
        assert!(tool(folder.path(), "objcopy", &["--dump-section", &out, &path(&format!("{name}.o"))]));
        all.extend(std::fs::read(path("part")).unwrap());
        all.extend([0; 5]);
    }
    std::fs::write(path("both"), all).unwrap();
    let update = format!(".ctf={}", path("both"));
    assert!(tool(folder.path(), "objcopy", &["--update-section", &update, &path("a.o"), &path("both.o")]));
    let program = Program::open(&folder.path().join("both.o")).unwrap();
    assert_eq!(with_field(&program, "gauge", "square"), Some(expected(folder.path(), "cc")));
    assert_eq!(program.format("other").unwrap().size(), 4);
}

/// Linkers compress large dictionaries.
#[test]
fn compressed_dictionaries_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = C.to_owned();
    for number in 0..200 {
        text += &format!("struct part_{number} {{ int some_{number}; double level_{number}; }} part_{number};");
    }
    let object = compile(folder.path(), "cc", "a.c", &text, &["-c", "-gctf"]);
    let linked = compile(folder.path(), "cc", "main.c", MAIN, &["-gctf", "-s", object.to_str().unwrap()]);
    let bytes = std::fs::read(&linked).unwrap();
    let is_compressed = bytes.windows(4).any(|head| matches!(head, [0xf2, 0xdf, 4, flags] if flags & 1 == 1));
    assert!(is_compressed, "the linker did not compress it");
    let program = Program::open(&linked).unwrap();
    assert_eq!(program.format("part_199").unwrap().size(), 16);
    assert_eq!(with_field(&program, "gauge", "square"), Some(expected(folder.path(), "cc")));
    mutate(&bytes, 60);
}

#[test]
fn compressed_sections_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let expected = expected(folder.path(), "cc");
    for option in ["-gz=zlib", "-gz=zlib-gnu"] {
        for kind in ["-c", "-DLINKED"] {
            let text = if kind == "-c" { C.to_owned() } else { format!("{C}\nint main(void) {{ return 0; }}") };
            let program = compile(folder.path(), "cc", "a.c", &text, &[kind, "-g", option]);
            assert_eq!(Program::open(&program).unwrap().format("gauge").unwrap(), expected, "{option} {kind}");
        }
    }
    for compiler in ["i686-linux-gnu-gcc", "s390x-linux-gnu-gcc", "powerpc-linux-gnu-gcc"] {
        if compilers().iter().any(|(here, _)| *here == compiler) {
            let object = compile(folder.path(), compiler, "a.c", C, &["-c", "-g", "-gz=zlib"]);
            let format = Program::open(&object).unwrap().format("gauge").unwrap();
            assert_eq!(format, self::expected(folder.path(), compiler), "{compiler}");
        }
    }
    let object = compile(folder.path(), "cc", "a.c", C, &["-c", "-g"]);
    let option = "--compress-debug-sections=zstd";
    if tool(folder.path(), "objcopy", &[option, object.to_str().unwrap(), "zstd.o"]) {
        let bytes = std::fs::read(folder.path().join("zstd.o")).unwrap();
        assert_eq!(Program::read(&bytes).unwrap().format("gauge").unwrap(), expected);
        mutate(&bytes, 60);
    } else {
        skipped("sections of Zstandard: objcopy does not make them");
    }
    mutate(&std::fs::read(compile(folder.path(), "cc", "a.c", C, &["-c", "-g", "-gz=zlib"])).unwrap(), 60);
}

/// A few bytes that would become many are refused before they become anything.
#[test]
fn sections_that_become_too_large_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let object = compile(folder.path(), "cc", "a.c", C, &["-c", "-g"]);
    std::fs::write(folder.path().join("zeros"), vec![0; 16 << 20]).unwrap();
    let object = object.to_str().unwrap();
    for kind in ["zlib", "zstd"] {
        let compress = format!("--compress-debug-sections={kind}");
        let done = tool(folder.path(), "objcopy", &["--update-section", ".debug_str=zeros", object, "large.o"])
            && tool(folder.path(), "objcopy", &[&compress, "large.o", "bomb.o"]);
        assert!(done || kind == "zstd");
        if !done {
            skipped("sections of Zstandard that become too large: objcopy does not make them");
        } else {
            let bytes = std::fs::read(folder.path().join("bomb.o")).unwrap();
            assert!(bytes.len() < 1 << 20);
            refused(Program::read(&bytes), Code::MessageSize, "a compressed section that becomes at most");
        }
    }
    // A section that says that it becomes 2^60 bytes.
    let mut bytes = std::fs::read(compile(folder.path(), "cc", "a.c", C, &["-c", "-g", "-gz=zlib"])).unwrap();
    let is_head = |head: &[u8]| head[..8] == [1, 0, 0, 0, 0, 0, 0, 0] && head[17..24] == [0; 7] && head[24] == 0x78;
    let head = bytes.windows(25).position(is_head).expect("a compressed section");
    bytes[head + 15] = 0x10;
    assert!(Program::read(&bytes).is_err_and(|error| error.code() == Code::MessageSize));
}

#[test]
fn split_debug_information_is_found_beside_its_compiler_and_beside_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, _) in compilers().into_iter().filter(|(compiler, _)| !compiler.starts_with("clang")) {
        let expected = expected(folder.path(), compiler);
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let object = compile(folder.path(), compiler, "a.c", C, &["-c", "-g", "-gsplit-dwarf", version]);
            let program = Program::open(&object).unwrap_or_else(|error| panic!("{compiler} {version}: {error}"));
            let format = program.format("gauge").unwrap_or_else(|error| panic!("{compiler} {version}: {error}"));
            assert_eq!(format, expected, "{compiler} {version}");
        }
    }
    let object = compile(folder.path(), "cc", "a.c", C, &["-c", "-g", "-gsplit-dwarf"]);
    let linked = ["-g", "-gsplit-dwarf", object.to_str().unwrap()];
    let linked = compile(folder.path(), "cc", "main.c", MAIN, &linked);
    let split: Vec<_> = (std::fs::read_dir(folder.path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dwo"))
        .collect();
    let expected = expected(folder.path(), "cc");
    assert_eq!(with_field(&Program::open(&linked).unwrap(), "gauge", "square"), Some(expected.clone()));
    // A file that is split has the formats, too.
    assert_eq!(Program::open(&folder.path().join("a.dwo")).unwrap().format("gauge").unwrap(), expected);
    mutate(&std::fs::read(folder.path().join("a.dwo")).unwrap(), 60);
    // Both moved to another folder.
    let moved = tempfile::tempdir().unwrap();
    let program = moved.path().join("program");
    std::fs::copy(&linked, &program).unwrap();
    for path in &split {
        std::fs::rename(path, moved.path().join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(with_field(&Program::open(&program).unwrap(), "gauge", "square"), Some(expected));
    // The files of another compilation.
    let other = compile(folder.path(), "cc", "a.c", "struct gauge { int b; } gauge;", &["-c", "-g", "-gsplit-dwarf"]);
    std::fs::rename(other.with_extension("dwo"), moved.path().join("a.dwo")).unwrap();
    refused(Program::open(&program), Code::Declaration, "debug information of another compilation");
    // And none.
    std::fs::remove_file(moved.path().join("a.dwo")).unwrap();
    let program = Program::open(&program).unwrap();
    assert_eq!(program.format("other").unwrap().size(), 4);
    refused(program.format("pointer"), Code::NoSuchField, "a.dwo");
    refused(
        Program::read(&std::fs::read(linked).unwrap()).unwrap().format("other"),
        Code::NoSuchField,
        ".dwo and 1 more",
    );
}

#[test]
fn a_stripped_program_is_read_by_its_separate_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = format!("{C}\nint main(void) {{ return 0; }}");
    let linked = compile(folder.path(), "cc", "a.c", &text, &["-g", "-Wl,--build-id=sha1"]);
    let linked = linked.to_str().unwrap();
    let expected = Program::open(linked.as_ref()).unwrap().format("gauge").unwrap();
    assert!(tool(folder.path(), "objcopy", &["--only-keep-debug", linked, "a.debug"]));
    assert!(tool(folder.path(), "objcopy", &["--strip-all", "--add-gnu-debuglink=a.debug", linked, "linked"]));
    let found = || Program::open(&path("linked")).and_then(|program| program.format("gauge"));
    assert_eq!(found().unwrap(), expected);
    std::fs::create_dir(path(".debug")).unwrap();
    std::fs::rename(path("a.debug"), path(".debug/a.debug")).unwrap();
    assert_eq!(found().unwrap(), expected);
    // A file of the name with other bytes is not of this program.
    let bytes = std::fs::read(path(".debug/a.debug")).unwrap();
    std::fs::write(path(".debug/a.debug"), [&bytes[..], b"more"].concat()).unwrap();
    refused(found(), Code::Declaration, "no debug information");
    // By the build id.
    assert!(tool(folder.path(), "objcopy", &["--strip-all", linked, "stripped"]));
    refused(Program::open(&path("stripped")), Code::Declaration, "-gctf");
    let notes = std::fs::read(path("stripped")).unwrap();
    let at = notes.windows(8).position(|note| note == [0x14, 0, 0, 0, 3, 0, 0, 0]).expect("a build id") + 12;
    let id: String = notes[at..at + 20].iter().map(|byte| format!("{byte:02x}")).collect();
    let place = path("symbols").join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join(format!("{}.debug", &id[2..])), &bytes).unwrap();
    let program = Program::open_with(&path("stripped"), &[path("none"), path("symbols")]).unwrap();
    assert_eq!(program.format("gauge").unwrap(), expected);
}

/// The linker states sizes of structs anew, with enumerations of 4 bytes.
#[test]
fn sizes_that_the_linker_may_have_changed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "enum __attribute__((packed)) small { LOW, TOP = 200 }; enum usual { FAR = -1, NEAR = 1 };
        struct packed { enum small all[16]; } packed; struct around { int n; struct packed in; } around;
        struct middle { enum usual all[4]; int n; } middle; struct last { int n; enum usual last; } last;
        int main(void) { return 0; }";
    let object = Program::open(&compile(folder.path(), "cc", "a.c", text, &["-c", "-gctf"])).unwrap();
    let linked = Program::open(&compile(folder.path(), "cc", "a.c", text, &["-gctf"])).unwrap();
    assert_eq!(object.format("packed").unwrap().size(), 16);
    for name in ["middle", "last"] {
        assert_eq!(linked.format(name).unwrap(), object.format(name).unwrap());
    }
    let says = "a struct whose size in CTF the linker may have changed";
    refused(linked.format("packed"), Code::Declaration, &format!("packed: {says}"));
    refused(linked.format("around"), Code::Declaration, "around: a struct whose size");
}

#[test]
fn mutants_of_ctf_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let object = compile(folder.path(), "cc", "a.c", C, &["-c", "-gctf"]);
    let linked = compile(folder.path(), "cc", "main.c", MAIN, &["-gctf", "-s", object.to_str().unwrap()]);
    for (program, kept) in [(object, 0), (linked, 0x2f00)] {
        let bytes = std::fs::read(program).unwrap();
        mutate(&bytes, 100);
        // Where the types are, so that most mutants get there.
        let at = bytes.windows(4).position(|head| matches!(head, [0xf2, 0xdf, 4, _])).unwrap_or(kept);
        let mut state = 1_u32;
        for _ in 0..200 {
            let mut mutant = bytes.clone();
            state = state.wrapping_mul(0x9e37_79b1).wrapping_add(7);
            let place = at + state as usize % 1500.min(bytes.len() - at);
            mutant[place] = (state >> 24) as u8;
            if let Ok(program) = Program::read(&mutant) {
                let names: Vec<String> = program.names().map(String::from).collect();
                for name in names {
                    let _ = program.format(&name);
                }
            }
        }
    }
}
