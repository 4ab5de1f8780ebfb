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
