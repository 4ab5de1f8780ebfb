//! What this machine writes and reads, without any other: it writes what the vectors say, and reads them all.
//!
//! With the other machines it is tried by `cargo run -p isoform-machines`.

use isoform::core::Layout;
use std::path::{Path, PathBuf};
use std::process::Command;

const MACHINE: &str = env!("CARGO_BIN_EXE_machine");

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Features of which there are vectors in the layouts of machines.
fn features() -> Vec<PathBuf> {
    entries(&vectors()).into_iter().filter(|feature| feature.join("x86_64.bin").exists()).collect()
}

/// What this machine writes.
fn write(test: &str) -> PathBuf {
    let written = folder(test).join(Layout::NATIVE.name);
    assert!(Command::new(MACHINE).arg("write").arg(&written).status().unwrap().success());
    written
}

/// Whether all records agreed, and what was said.
fn read(folder: &Path) -> (bool, String) {
    let output = Command::new(MACHINE).arg("read").arg(vectors()).arg(folder).output().unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn this_machine_writes_what_the_vectors_say_and_reads_it() {
    let written = write("written");
    let mut streams = 0;
    for file in entries(&written) {
        let vector = vectors().join(file.file_stem().unwrap()).join(Layout::NATIVE.name).with_extension("bin");
        assert!(std::fs::read(&file).unwrap() == std::fs::read(&vector).unwrap(), "{}", file.display());
        streams += 1;
    }
    assert_eq!(
        streams,
        features()
            .iter()
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("rust-")))
            .count()
    );
    let (agreed, said) = read(&written);
    assert!(agreed, "{said}");
}

#[test]
fn the_vectors_of_every_layout_are_read() {
    let top = folder("vectors");
    for feature in features() {
        for vector in entries(&feature) {
            if vector.extension().is_some_and(|extension| extension == "bin") {
                let layout = top.join(vector.file_stem().unwrap());
                std::fs::create_dir_all(&layout).unwrap();
                std::fs::copy(&vector, layout.join(feature.file_name().unwrap()).with_extension("iso")).unwrap();
            }
        }
    }
    let layouts = entries(&top);
    assert!(layouts.len() >= 10);
    for layout in layouts {
        let (agreed, said) = read(&layout);
        assert!(agreed, "{said}");
    }
}

/// The comparison can fail: it names the feature, the message, the field, and both values.
#[test]
fn a_difference_is_named() {
    let written = write("changed");
    let file = written.join("rust-strings.iso");
    let mut stream = std::fs::read(&file).unwrap();
    let at = stream.windows(8).rposition(|bytes| bytes == b"Isoform\0").unwrap();
    stream[at] = b'i';
    std::fs::write(&file, stream).unwrap();
    let (agreed, said) = read(&written);
    assert!(!agreed);
    assert!(said.contains("rust-strings, message 0: name: expected \"Isoform\", found \"isoform\""), "{said}");
}
