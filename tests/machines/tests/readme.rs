//! The C program of the README: it compiles, and the README's reader prints of it what is printed there.

use isoform::stream::Reader;
use isoform::{Decoder, Record};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

#[derive(Record, Debug)]
#[isoform(rename = "Sample")]
struct Seen {
    station: String,
    #[isoform(unit = "m")]
    depth: Vec<f64>,
    step: i64,
    #[isoform(default = 11.5)]
    temperature: f32,
}

#[test]
fn its_program_writes_what_its_reader_prints() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(top.join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```c\n").expect("a program in C");
    let (program, rest) = rest.split_once("```").expect("its end");
    let expected: Vec<&str> = rest.lines().skip_while(|line| !line.starts_with('$')).skip(1).collect();

    let folder = tempfile::tempdir().unwrap();
    let (source, built) = (folder.path().join("gauge.c"), folder.path().join("gauge"));
    fs::write(&source, program).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"]).arg(top.join("faces/c/include"));
    let Ok(status) = compiler.arg(source).arg("-o").arg(&built).status() else {
        // Not by a macro, whose output the test runner would hide.
        let _ = writeln!(std::io::stderr(), "*** SKIPPED: the README's C program, for want of a C compiler ***");
        return;
    };
    assert!(status.success());

    let stream = Command::new(built).output().unwrap().stdout;
    let (mut reader, mut decoder) = (Reader::new(&stream[..]), Decoder::<Seen>::new());
    let mut lines = expected.into_iter();
    while let Some(message) = reader.next().unwrap() {
        assert_eq!(Some(format!("{:?}", decoder.decode_owned(&message).unwrap()).as_str()), lines.next());
    }
    assert_eq!(lines.next(), Some("```"), "as many lines as records");
}
