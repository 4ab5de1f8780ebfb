//! `faces/c/include/isoform_reader.h` on this machine and on those without Rust: it reads the streams of all machines, refuses what
//! must be refused, and agrees with the reader in Python, also on damaged streams.

use isoform_machines::Machine;
use isoform_machines::writer::{OPTIONS, READER, compile, compile_for, succeeded};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Not by a macro, whose output the test runner would hide.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn here() -> Option<&'static Machine> {
    let here = Machine::ALL.iter().find(|machine| machine.is_here() && machine.compiles());
    if here.is_none() {
        say("*** SKIPPED, for want of a C compiler for this machine: isoform_reader.h ***");
    }
    here
}

/// Compares what the program reads with what the reader in Python does.
fn agrees(options: &[&str], machine: &Machine, program: PathBuf) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("reader/against.py");
    let mut command = Command::new("python3");
    command.arg(script).args(options).args(machine.runner()).arg(program);
    if let Err(problem) = succeeded(&mut command) {
        let output = command.output().expect("python3 runs");
        panic!("{}: {problem}\n{}", machine.name(), String::from_utf8_lossy(&output.stdout));
    }
}

fn sanitized(here: &Machine, folder: &Path) -> PathBuf {
    let options: Vec<&str> = OPTIONS.iter().copied().chain(["-g", "-fsanitize=address,undefined"]).collect();
    compile(&here.compiler(), &options, &[READER], folder, "reader").expect("a program")
}

#[test]
fn vectors_are_read() {
    let Some(here) = here() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    agrees(&[], here, sanitized(here, folder.path()));
}

#[test]
fn machines_without_rust_read_all_others() {
    for machine in Machine::ALL.iter().filter(|machine| machine.target.is_none()) {
        if !machine.compiles() || !machine.runs() {
            say(&format!(
                "*** SKIPPED, for want of a compiler or emulator: isoform_reader.h on {} ***",
                machine.name()
            ));
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let program = compile_for(machine, &[READER], folder.path(), "reader").expect("a program");
        agrees(&[], machine, program);
    }
}

/// `SEED` and `STREAMS` choose other streams, and more of them.
#[test]
fn damaged_streams() {
    let Some(here) = here() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let setting = |name, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.into());
    let (seed, streams) = (setting("SEED", "1"), setting("STREAMS", "40"));
    agrees(&["--random", &seed, &streams], here, sanitized(here, folder.path()));
}

/// The program in the manual at the top of the header reads what the program in that of the writer writes.
#[test]
fn the_manual_is_true() {
    let Some(here) = here() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = |name: &str, after: &str, until: &str| {
        let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../faces/c/include").join(name);
        let header = fs::read_to_string(header).expect("the header");
        let (_, text) = header.split_once(after).expect("a program");
        let (text, _) = text.split_once(until).expect("its end");
        let source = folder.path().join(name).with_extension("c");
        fs::write(&source, text).expect("a file");
        let sources = [source.to_str().expect("a path")];
        compile(&here.compiler(), OPTIONS, &sources, folder.path(), &name[..14]).expect("a program")
    };
    let written = program("isoform_writer.h", "complete program:\n", "TYPES.");
    let written = succeeded(&mut Command::new(written)).expect("a stream").stdout;
    let mut reader = Command::new(program("isoform_reader.h", "complete program:\n", "TYPES."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a reader");
    reader.stdin.take().expect("its input").write_all(&written).expect("it reads");
    let output = reader.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Bern 2 1.5\n");
}
