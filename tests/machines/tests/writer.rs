//! `faces/c/include/isoform_writer.h` on every machine whose compiler and emulator are here: what it writes is what the vectors
//! say, byte for byte; what it must refuse, it refuses; its BLAKE3 is BLAKE3.

use isoform::stream::Reader;
use isoform::text::json;
use isoform_machines::Machine;
use isoform_machines::writer::{FEATURES, OPTIONS, compile, compile_for, succeeded, write_features};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Lengths of what is hashed: around blocks, chunks and trees.
const COUNTS: &[usize] = &[0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 4097, 31744, 65535, 65536, 102400];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

/// Not by a macro, whose output the test runner would hide.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// Runs something on every machine that is here, in a folder of its own.
fn on_every_machine(what: &str, run: impl Fn(&Machine, &Path) -> Result<(), String>) {
    let mut missing = Vec::new();
    let mut wrong = Vec::new();
    for machine in Machine::ALL {
        if !machine.compiles() || !machine.runs() {
            missing.push(machine.name());
            continue;
        }
        if let Err(problem) = run(machine, folder().path()) {
            wrong.push(format!("{}: {problem}", machine.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if !missing.is_empty() {
        say(&format!("*** SKIPPED, for want of a compiler or emulator: {what} on {} ***", missing.join(", ")));
    }
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// The features that were written into a folder, each against its vector. The vectors tell which there must be.
fn compare(machine: &Machine, written: &Path) -> Result<(), String> {
    let vector = format!("{}.bin", machine.name());
    let mut wrong = Vec::new();
    for feature in features() {
        let name = name(&feature);
        let expected = fs::read(feature.join(&vector)).map_err(|error| format!("{name}/{vector}: {error}"))?;
        match fs::read(written.join(format!("{name}.iso"))) {
            Ok(came) if came == expected => {}
            Ok(came) => {
                let at = came.iter().zip(&expected).position(|(a, b)| a != b);
                let at = at.unwrap_or_else(|| came.len().min(expected.len()));
                wrong.push(format!("{name} differs from byte {at} on"));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
}

#[test]
fn features_are_the_vectors() {
    on_every_machine("the features", |machine, folder| {
        write_features(machine, folder)?;
        let count = fs::read_dir(folder).map_err(|error| error.to_string())?.count() - 1; // without the program
        assert_eq!(count, features().count());
        compare(machine, folder)
    });
}

fn name(feature: &Path) -> String {
    feature.file_name().expect("a name").to_string_lossy().into_owned()
}

/// The folders of `vectors/` with a stream for each layout, other than those of what Rust declares.
fn features() -> impl Iterator<Item = PathBuf> {
    let folders = fs::read_dir(vectors()).expect("vectors").map(|entry| entry.expect("a feature").path());
    folders.filter(|path| path.join("s390x.bin").exists() && !name(path).starts_with("rust-"))
}

#[test]
fn refusals() {
    on_every_machine("refusals", |machine, folder| {
        let program = compile_for(machine, &["refusals.c"], folder, "refusals")?;
        succeeded(&mut machine.command(program)).map(|_| ())
    });
}

/// A stream that describes 1,100 formats twice over, and one whose description has nearly 64 KiB.
fn read_formats(stream: &[u8]) {
    let mut reader = Reader::new(stream);
    let mut records = 0;
    let mut long = 0;
    while let Some(message) = reader.next().expect("a message of a format that was described") {
        records += 1;
        if message.format().name() == "Long" {
            long = message.format().description().as_bytes().len();
            assert_eq!(message.format().structure().fields().len(), 4096);
        }
    }
    assert_eq!(records, 2 * 1100 + 1);
    assert!((60_000..65_536).contains(&long), "{long} bytes of description");
}

/// What the Rust library makes of the same bytes, as the program prints it.
fn hashes() -> String {
    let line = |&count: &usize| {
        let bytes: Vec<u8> = (0..count).map(|i| (i % 251) as u8).collect();
        let derived = blake3::derive_key("BLAKE3 2019-12-27 16:29:52 test vectors context", &bytes);
        derived.iter().map(|byte| format!("{byte:02x}")).chain(["\n".into()]).collect::<String>()
    };
    COUNTS.iter().map(line).collect()
}

fn check_formats(mut command: impl FnMut() -> Command, folder: &Path) -> Result<(), String> {
    succeeded(command().args(["stream", "formats.iso"]).current_dir(folder))?;
    read_formats(&fs::read(folder.join("formats.iso")).map_err(|error| error.to_string())?);
    let output = succeeded(command().arg("hash").args(COUNTS.iter().map(usize::to_string)))?;
    assert_eq!(String::from_utf8_lossy(&output.stdout).replace('\r', ""), hashes());
    Ok(())
}

#[test]
fn many_formats_and_long_ones() {
    on_every_machine("many formats", |machine, folder| {
        let program = compile_for(machine, &["formats.c"], folder, "formats")?;
        check_formats(|| machine.command(&program), folder)
    });
}

#[test]
fn blake3_is_what_its_authors_publish() {
    let starts = hashes();
    let starts: Vec<&str> = starts.lines().map(|line| &line[..32]).collect();
    assert_eq!(starts[0], "2cc39783c223154fea8dfb7c1b1660f2");
    assert_eq!(starts[6], "7356cd7720d5b66b6d0697eb3177d9f8");
    assert_eq!(starts[12], "39772aef80e0ebe60596361e45b061e8");
}

/// The program in the manual at the top of the header.
#[test]
fn the_manual_is_true() {
    let Some(here) = Machine::ALL.iter().find(|machine| machine.is_here() && machine.compiles()) else {
        return say("*** SKIPPED, for want of a C compiler for this machine: the program in the manual ***");
    };
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../faces/c/include/isoform_writer.h");
    let header = fs::read_to_string(header).expect("the header");
    let (_, program) = header.split_once("complete program:\n").expect("a program");
    let (program, _) = program.split_once("TYPES.").expect("its end");
    let folder = folder();
    let source = folder.path().join("example.c");
    fs::write(&source, program).expect("a file");
    let sources = [source.to_str().expect("a path")];
    let program = compile(&here.compiler(), OPTIONS, &sources, folder.path(), "example").expect("a program");
    let stream = succeeded(&mut Command::new(program)).expect("a stream").stdout;
    let mut reader = Reader::new(&stream[..]);
    let message = reader.next().expect("a message").expect("one");
    let view = message.view().expect("a record");
    assert_eq!(json::line(view), r#"{"station":"Bern","n":2,"level":[1.5,1.25]}"#);
    assert!(reader.next().expect("the end").is_none());
}

/// As C11, with sanitizers, and as C++ of every version, by the compilers of this machine.
#[test]
fn sanitized_and_in_other_languages() {
    let Some(here) = Machine::ALL.iter().find(|machine| machine.is_here() && machine.compiles()) else {
        return say("*** SKIPPED, for want of a C compiler for this machine: sanitizers ***");
    };
    let folder = folder();
    let folder = folder.path();
    let sanitized: Vec<&str> = OPTIONS.iter().copied().chain(["-g", "-fsanitize=address,undefined"]).collect();
    let run = |program: PathBuf| succeeded(Command::new(program).current_dir(folder)).map(|_| ());
    let compiled = |sources, name| compile(&here.compiler(), &sanitized, sources, folder, name).expect(name);
    succeeded(Command::new(compiled(FEATURES, "writer")).arg(".").current_dir(folder)).expect("features");
    compare(here, folder).expect("features");
    run(compiled(&["refusals.c"], "refusals")).expect("refusals");
    let formats = compiled(&["formats.c"], "formats");
    check_formats(|| Command::new(&formats), folder).expect("formats");

    let languages = [("gcc", "c11", "c"), ("g++", "c++11", "c++"), ("g++", "c++17", "c++"), ("g++", "c++20", "c++")];
    for (compiler, standard, language) in languages {
        let compiler = here.compiler().replace("gcc", compiler);
        if Command::new(&compiler).arg("--version").output().is_err() {
            say(&format!("*** SKIPPED, for want of {compiler}: {standard} ***"));
            continue;
        }
        let standard = format!("-std={standard}");
        let mut options = vec![&*standard, "-x", language];
        options.extend(&OPTIONS[1..]);
        let program = compile(&compiler, &options, &["formats.c"], folder, "other").expect(&standard);
        check_formats(|| Command::new(&program), folder).expect(&standard);
    }
}
