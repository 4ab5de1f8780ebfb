//! Structs drawn at random, compiled by every compiler that is here with every kind of debug information that it writes: the programs
//! print where each field is, its size and its value, and the formats and what is read of the programs' bytes agree.
//!
//! This is a part of `make verify`. `STRUCTS` is how many structs each compiler gets, and `SEED` chooses others.

#![cfg(target_os = "linux")]

mod ada;
mod c;
mod compare;
mod fortran;
#[path = "../compilers/here.rs"]
mod here;
mod model;
mod rust;

use ada::Ada;
use c::{C, Debug};
use compare::{Tally, said};
use fortran::Fortran;
use here::{has, skipped};
use isoform_testing::mutate::Random;
use model::{Kind, Model, Palette};
use rust::Rust;
use std::path::Path;
use std::process::Command;

/// The structs of one program at most.
const MOST: usize = 250;
/// The structs of a compiler, if nobody says how many.
const FEW: usize = 60;

/// A language, as one compiler has it.
trait Language {
    fn palette(&self) -> Palette;
    /// Draws what only this language has.
    fn adapt(&self, _: &mut Model, _: &mut Random) {}
    fn program(&self, model: &Model, random: &mut Random) -> String;
    /// The name of a struct in the debug information.
    fn named(&self, name: &str) -> String {
        name.into()
    }
    /// The name of a field that no record has.
    fn dropped(&self, field: &str) -> String {
        field.chars().take_while(char::is_ascii_alphanumeric).collect()
    }
}

impl Language for C {
    fn palette(&self) -> Palette {
        C::palette(*self)
    }

    fn program(&self, model: &Model, random: &mut Random) -> String {
        C::program(*self, model, random)
    }
}

/// One way to compile.
struct Variant {
    compiler: String,
    options: Vec<String>,
    /// What stands behind the file.
    last: &'static str,
    language: Box<dyn Language>,
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Compiles and compares the structs of a compiler, spread over its variants.
#[track_caller]
#[allow(clippy::print_stdout, reason = "the counts are what a run is for")]
fn compile_and_compare(what: &str, file: &str, variants: &[Variant]) {
    if variants.is_empty() {
        return skipped(&format!("structs of {what}, which is not here"));
    }
    let (seed, structs) = (setting("SEED", 1), setting("STRUCTS", FEW));
    let rounds = structs.div_ceil(variants.len() * MOST);
    let each = structs.div_ceil(variants.len() * rounds);
    let mut tally = Tally::default();
    for round in 0..rounds {
        for (number, variant) in variants.iter().enumerate() {
            let mut random = Random::of(seed as u64, (round * variants.len() + number) as u64);
            let before = tally.differences.len();
            tally.add(compare(&mut random, variant, file, each));
            if tally.differences.len() > before {
                let options = variant.options.join(" ");
                tally.differences[before..]
                    .iter_mut()
                    .for_each(|why| *why = format!("{} {options}: {why}", variant.compiler));
            }
        }
    }
    let refused: Vec<String> = tally.refused.iter().map(|(why, count)| format!("{count} {why}")).collect();
    let (structs, count, refusals) = (tally.structs, tally.differences.len(), tally.refusals());
    println!(
        "{what}: {structs} structs, {} fields, {count} differences, {refusals} refused: {}",
        tally.leaves,
        refused.join("; ")
    );
    assert!(count == 0, "{what}: {count} differences:\n{}", tally.differences[..count.min(20)].join("\n"));
    assert!(refusals * 10 <= structs, "{what}: {refusals} of {structs} structs are refused");
}

fn compare(random: &mut Random, variant: &Variant, file: &str, structs: usize) -> Tally {
    let language = &*variant.language;
    let mut model = Model::draw(random, &language.palette(), structs);
    language.adapt(&mut model, random);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = language.program(&model, random);
    std::fs::write(path(file), &text).unwrap();
    // What failed can be looked at.
    let keep = || {
        let kept = std::env::temp_dir().join(file);
        std::fs::write(&kept, &text).unwrap();
        kept.display().to_string()
    };
    let told = |command: &mut Command| {
        let output = command.current_dir(&folder).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        if !output.status.success() {
            panic!("{command:?} of {}: {}", keep(), String::from_utf8_lossy(&output.stderr));
        }
        String::from_utf8(output.stdout).unwrap()
    };
    told(
        Command::new(&variant.compiler).args(&variant.options).args(["-o", "program", file]).args(words(variant.last)),
    );
    let shown = told(Command::new(path("program")).arg("bytes"));
    let mut tally = Tally::default();
    let dropped = |name: &str| {
        let record = model.records.iter().find(|record| record.name.eq_ignore_ascii_case(name));
        let fields = record.into_iter().flat_map(|record| &record.fields);
        fields.filter(|field| matches!(field.kind, Kind::Dropped)).map(|field| language.dropped(&field.name)).collect()
    };
    let named = |name: &str| language.named(name);
    tally.program(&path("program"), &said(&shown), &read(&path("bytes")), named, dropped);
    assert_eq!(tally.structs, structs, "structs that the program shows");
    if !tally.differences.is_empty() {
        let kept = keep();
        tally.differences.iter_mut().for_each(|why| why.insert_str(0, &format!("{kept}: ")));
    }
    tally
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The variants of a compiler for this machine and, if it is here, for one of 32 bits. `more` are other kinds of debug information.
fn of_c(wide: &str, narrow: &str, cpp: bool, more: &[&str]) -> Vec<Variant> {
    let clang = wide.starts_with("clang");
    let mut variants = Vec::new();
    for (compiler, is_narrow) in [(wide, false), (narrow, true)] {
        let mut words_of = compiler.split(' ');
        let program = words_of.next().unwrap_or_default();
        if !has(program) || is_narrow && !(cfg!(target_arch = "x86_64") && has("i686-linux-gnu-gcc")) {
            continue;
        }
        let target: Vec<&str> = words_of.collect();
        let mut all = vec!["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -fdebug-types-section"];
        all.extend(["-gdwarf-4 -gdwarf64", "-gdwarf-5 -gdwarf64"]);
        all.extend(more);
        all.retain(|options| !is_narrow || !options.contains("-gdwarf64"));
        for debug in all {
            let mut options = words("-w -O0 -fno-eliminate-unused-debug-types");
            options.extend(words(if cpp { "-std=gnu++17" } else { "-std=gnu11" }));
            options.extend(target.iter().map(|&word| word.to_owned()));
            options.extend(words(if is_narrow { "-static" } else { "" }));
            options.extend(words(debug));
            let kind = match debug {
                "-gbtf" => Debug::Btf,
                "-gctf" => Debug::Ctf,
                _ => Debug::Dwarf,
            };
            let language = C { cpp, clang, narrow: is_narrow, debug: kind };
            variants.push(Variant { compiler: program.into(), options, last: "", language: Box::new(language) });
        }
    }
    variants
}

/// The first of these programs that is here.
fn first(names: &[&'static str]) -> &'static str {
    names.iter().copied().find(|name| has(name)).unwrap_or(names[0])
}

#[test]
#[ignore = "make structs"]
fn structs_of_gcc() {
    let more = ["-gbtf", "-gctf", "-gdwarf-5 -gsplit-dwarf", "-gdwarf-4 -gstrict-dwarf"];
    compile_and_compare("gcc", "a.c", &of_c("gcc", "i686-linux-gnu-gcc", false, &more));
}

#[test]
#[ignore = "make structs"]
fn structs_of_gxx() {
    compile_and_compare("g++", "a.cpp", &of_c("g++", "i686-linux-gnu-g++", true, &["-gdwarf-4 -gstrict-dwarf"]));
}

#[test]
#[ignore = "make structs"]
fn structs_of_clang() {
    let clang = first(&["clang", "clang-19", "clang-14"]);
    let more = ["-gdwarf-5 -gsplit-dwarf -gdwarf64", "-gdwarf-5 -gsplit-dwarf"];
    compile_and_compare("clang", "a.c", &of_c(clang, &format!("{clang} --target=i686-linux-gnu"), false, &more));
}

#[test]
#[ignore = "make structs"]
fn structs_of_clangxx() {
    let clang = first(&["clang++", "clang++-19", "clang++-14"]);
    compile_and_compare("clang++", "a.cpp", &of_c(clang, &format!("{clang} --target=i686-linux-gnu"), true, &[]));
}

/// The variants of a compiler for this machine and for one of 32 bits, each with all of these options.
fn of_machines(
    compilers: [(&str, &str); 2],
    all: &[&str],
    language: impl Fn(bool) -> Box<dyn Language>,
) -> Vec<Variant> {
    let mut variants = Vec::new();
    for ((compiler, target), narrow) in compilers.into_iter().zip([false, true]) {
        let is_here = has(compiler) && (!narrow || cfg!(target_arch = "x86_64") && has("i686-linux-gnu-gcc"));
        for options in all.iter().filter(|options| is_here && !(narrow && options.contains("-gdwarf64"))) {
            let last = if narrow && compiler.ends_with("gnatmake") { "-bargs -static -largs -static" } else { "" };
            let options = words(&format!("{target} {options}"));
            variants.push(Variant { compiler: compiler.into(), options, last, language: language(narrow) });
        }
    }
    variants
}

#[test]
#[ignore = "make structs"]
fn structs_of_gfortran() {
    let debug = ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -gdwarf64", "-gdwarf-5 -gdwarf64"];
    let all = debug.map(|debug| {
        format!("-w -O0 -ffree-line-length-none -fno-range-check -fno-eliminate-unused-debug-types {debug}")
    });
    let all: Vec<&str> = all.iter().map(|options| &**options).collect();
    let compilers = [("gfortran", ""), ("i686-linux-gnu-gfortran", "-static")];
    let variants = of_machines(compilers, &all, |narrow| Box::new(Fortran { narrow }));
    compile_and_compare("gfortran", "a.f90", &variants);
}

#[test]
#[ignore = "make structs"]
fn structs_of_rustc() {
    let all = ["2", "3", "4", "5"].map(|version| format!("-C debuginfo=2 -C dwarf-version={version}"));
    let all: Vec<&str> = all.iter().map(|options| &**options).collect();
    let narrow = "--target=i686-unknown-linux-gnu -C linker=i686-linux-gnu-gcc -C target-feature=+crt-static";
    let has_library =
        Command::new("rustc").args(["--print", "target-libdir", "--target=i686-unknown-linux-gnu"]).output();
    let has_library = has_library.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).exists());
    let compilers =
        [("rustc", "--edition=2021"), (if has_library { "rustc" } else { "" }, &format!("--edition=2021 {narrow}"))];
    let variants = of_machines(compilers, &all, |narrow| Box::new(Rust { narrow }));
    compile_and_compare("rustc", "a.rs", &variants);
}

#[test]
#[ignore = "make structs"]
fn structs_of_gnat() {
    let debug = ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -gdwarf64", "-gdwarf-5 -gdwarf64"];
    let all = debug.map(|debug| format!("-q -gnatws -O0 -fno-eliminate-unused-debug-types {debug}"));
    let all: Vec<&str> = all.iter().map(|options| &**options).collect();
    let compilers = [("gnatmake", ""), ("i686-linux-gnu-gnatmake", "")];
    let variants = of_machines(compilers, &all, |narrow| Box::new(Ada { narrow }));
    compile_and_compare("gnat", "program.adb", &variants);
}
