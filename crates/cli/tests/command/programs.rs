//! Programs as sources: the structs of a C program, and the file that it wrote with `fwrite`.

use super::{Files, isoform};
use std::path::PathBuf;
use std::process::Command;

const C: &str = r#"
#include <stdio.h>
struct gauge { char name[8]; int step; double level; };
int main(int count, char **arguments) {
    FILE *file = fopen(arguments[1], "wb");
    struct gauge gauges[3] = { { "elbe", 1, 0.5 }, { "spree", 2, 1.5 }, { "rhine", 3, 2.5 } };
    return count != 2 || fwrite(gauges, sizeof gauges[0], 3, file) != 3 || fclose(file);
}
"#;

/// The source text, the program made of it, and the file that the program wrote.
pub(crate) fn written(files: &Files) -> (String, PathBuf, PathBuf) {
    let source = files.write("gauge.c", C.as_bytes());
    let (program, data) = (files.0.path().join("gauge"), files.0.path().join("gauges.bin"));
    assert!(Command::new("cc").arg("-g").arg("-o").arg(&program).arg(&source).status().unwrap().success());
    assert!(Command::new(&program).arg(&data).status().unwrap().success());
    (source, program, data)
}

#[test]
fn a_file_of_structs_is_dumped_by_the_program_that_wrote_it() {
    let files = Files::new();
    let (source, program, data) = written(&files);
    let folder = files.0.path().to_owned();
    let (format, data) = (format!("elf:{}#gauge", program.display()), data.to_str().unwrap().to_owned());

    let stripped = folder.join("stripped");
    let expected = isoform(&["format", "--json", &format]).good();
    for kind in ["-gbtf", "-gctf"] {
        let done = Command::new("cc").args([kind, "-s", "-o"]).arg(&stripped).arg(&source).status().unwrap();
        assert!(done.success());
        let from_stripped = format!("elf:{}#gauge", stripped.display());
        assert_eq!(isoform(&["format", "--json", &from_stripped]).good(), expected, "{kind}");
        // Nothing is written by hand.
        let lines = isoform(&["dump", "--json", "--raw", &from_stripped, &data]).good();
        assert!(lines.lines().count() == 3 && lines.contains("rhine"), "{lines}");
    }

    let lines = isoform(&["dump", "--json", "--raw", &format, &data]).good();
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.contains("spree") && lines.contains("2.5"), "{lines}");
    assert!(isoform(&["format", &format]).good().contains("level"));
    assert!(isoform(&["layout", &format, "--on", "i386"]).good().contains("level"));

    let mut bytes = std::fs::read(&data).unwrap();
    bytes.truncate(bytes.len() - 5);
    let cut = files.write("cut.bin", &bytes);
    assert!(isoform(&["dump", "--raw", &format, &cut]).bad(1).contains("19 bytes are left over behind 2 records"));
}

const POINTERS: &str = r#"
#include <stdio.h>
struct run { const char *name; int count; double *values; double level; };
int main(int count, char **arguments) {
    FILE *file = fopen(arguments[1], "wb");
    double values[2] = { 1, 2 };
    struct run run = { "elbe", 2, values, 0.5 };
    return count != 2 || fwrite(&run, sizeof run, 1, file) != 1 || fclose(file);
}
"#;

/// An overlay says what the pointers of a stripped program are. A raw file has nothing behind them, and the command says so.
#[test]
fn an_overlay_says_what_pointers_of_a_program_are() {
    let files = Files::new();
    let source = files.write("run.c", POINTERS.as_bytes());
    let (program, data) = (files.0.path().join("run"), files.0.path().join("run.bin"));
    assert!(Command::new("cc").args(["-gctf", "-s", "-o"]).arg(&program).arg(&source).status().unwrap().success());
    assert!(Command::new(&program).arg(&data).status().unwrap().success());
    let (elf, data) = (format!("elf:{}#run", program.display()), data.to_str().unwrap().to_owned());
    let refused = isoform(&["format", &elf]).bad(2);
    assert!(refused.contains("run.name") && refused.contains("an overlay"), "{refused}");

    let text = r#"{"run": {"fields": {"name": {"pointer": "text"}, "values": {"pointer": "[count]", "unit": "m"}}}}"#;
    let ours = format!("overlay:{}:{elf}", files.write("ours.json", text.as_bytes()));
    let shape = "record run\n  name    string\n  count   int\n  values  double[count]  unit=\"m\"\n  level   double\n";
    let shape = files.write("run.shape", shape.as_bytes());
    assert_eq!(isoform(&["format", "--json", &ours]).good(), isoform(&["format", "--json", &shape]).good());
    let raw = isoform(&["dump", "--raw", &ours, &data]).bad(2);
    assert!(raw.contains("run holds pointers") && raw.contains("fwrite() writes the addresses"), "{raw}");
    // Without its pointers, the record is there.
    let text = r#"{"run": {"fields": {"name": null, "values": null}}}"#;
    let ours = format!("overlay:{}:{elf}", files.write("less.json", text.as_bytes()));
    let lines = isoform(&["dump", "--json", "--raw", &ours, &data]).good();
    assert!(lines.contains("\"count\":2") && lines.contains("0.5") && !lines.contains("name"), "{lines}");
    assert!(isoform(&["layout", &ours]).good().contains("level"));
}

const SCOPES: &str = "
namespace river { struct Deep { int step; double level; }; namespace far { struct Deep { char name[8]; }; } struct Outer { struct In { int a; } in; }; }
river::Deep one; river::far::Deep two; river::Outer three;
struct Bits { int low : 3; int rest; } bits; struct Both { union { int i; float f; } either; int n; } both;
union Value { int i; float f; } value;
int main() { return 0; }
";

/// Structs of namespaces and classes are chosen by their full names, and a source without a struct lists what there is.
#[test]
fn structs_are_found_by_their_scopes_and_listed() {
    let files = Files::new();
    let (source, program) = (files.write("a.cpp", SCOPES.as_bytes()), files.0.path().join("a"));
    assert!(Command::new("c++").arg("-g").arg("-o").arg(&program).arg(&source).status().unwrap().success());
    let elf = format!("elf:{}", program.display());
    let shown = |name: &str| isoform(&["format", &format!("{elf}#{name}")]);
    let deep = shown("river::Deep").good();
    assert!(deep.starts_with("Deep: 16 bytes") && deep.contains("level"), "{deep}");
    assert!(shown("river::far::Deep").good().contains("name"));
    assert!(shown("river::Outer::In").good().starts_with("In: 4 bytes"));
    assert!(shown("Deep").bad(2).contains("several types of this name"));
    let other = shown("sea::Deep").bad(2);
    assert!(other.contains("one of the structs river::Deep, river::far::Deep"), "{other}");

    let listed = isoform(&["format", &elf]).bad(2);
    assert!(listed.contains("has the structs Bits, Both, Deep, In, Outer; the source names none"), "{listed}");
    assert!(listed.contains(&format!("{elf}#Bits")), "{listed}");
    let all = isoform(&["xmit", "load", &elf]).good();
    assert!(all.contains("Outer") && all.contains("1 field") && all.contains("refused"), "{all}");
    // A union is no struct, and is not passed over.
    let union = all.lines().find(|line| line.starts_with("union Value")).unwrap();
    assert!(union.contains("left out") && union.ends_with("a.cpp:5: a union is no record"), "{union}");
    assert!(all.ends_with("\n5 records listed, 1 left out\n"), "{all}");
    let json = isoform(&["xmit", "load", "--json", &elf]).good();
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((&last["left_out"], &last["refused"]), (&"union Value".into(), &false.into()), "{json}");
    let refused = shown("Value").bad(2);
    assert!(refused.contains("union Value: a union is no record"), "{refused}");
    // What no record can have is dropped by an overlay, and the error says so.
    for (name, found) in [("Bits", "a bit-field"), ("Both", "a union")] {
        let refused = shown(name).bad(2);
        assert!(refused.contains("an overlay that drops it") && refused.contains(found), "{refused}");
    }
    let ours = files.write("ours.json", br#"{"Bits": {"fields": {"low": null, "rest": {"default": "much"}}}}"#);
    let refused = isoform(&["format", &format!("overlay:{ours}:{elf}#Bits")]).bad(2);
    assert!(refused.contains("ours.json.Bits.rest: expected an integer"), "{refused}");
}

/// Every command that reads records reads raw files, by the same option.
#[test]
fn raw_files_are_queried_exported_and_published() {
    let files = Files::new();
    let shape = files.write("gauge.shape", b"record gauge\n  step  i32\n  level  f64\n");
    let mut bytes = Vec::new();
    for step in 0..3i32 {
        bytes.extend_from_slice(&step.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&f64::from(step).to_ne_bytes());
    }
    let data = files.write("gauges.bin", &bytes);
    let query = "where level > 0.5 | select step, twice = level * 2";
    let found = isoform(&["query", "--json", "--raw", &shape, &data, query]).good();
    assert_eq!(found.lines().collect::<Vec<_>>(), [r#"{"step":1,"twice":2.0}"#, r#"{"step":2,"twice":4.0}"#]);
    let table = files.0.path().join("gauges.csv");
    let table = table.to_str().unwrap();
    if cfg!(feature = "tables") {
        assert!(isoform(&["export", "--raw", &shape, &data, table]).good().contains("3 rows of gauge"));
        assert_eq!(std::fs::read_to_string(table).unwrap().lines().count(), 4);
        // What is whole of a file that is cut is exported, and the rest is told of.
        let cut = files.write("cut.bin", &bytes[..40]);
        let told = isoform(&["export", "--force", "--raw", &shape, &cut, table]).bad(1);
        assert!(told.contains("8 bytes are left over behind 2 records"), "{told}");
        assert_eq!(std::fs::read_to_string(table).unwrap().lines().count(), 3);
    }
    let told = isoform(&["pub", "gauges", "--wait", "0", "--raw", &shape, &data]);
    assert!(told.status == 0 && told.errors.contains("3 records went nowhere"), "{}", told.errors);
    let pointers = files.write("text.shape", b"record gauge\n  name  string\n");
    assert!(isoform(&["pub", "gauges", "--raw", &pointers, &data]).bad(2).contains("gauge holds pointers"));
}
