//! Programs whose few bytes stand for much: each is refused before it takes more memory or time than its bytes deserve.

#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "only one compiler is asked")]
mod compilers;

use compilers::compile;
use isoform_core::{Code, Result};
use isoform_xmit::Program;

/// Abbreviations: 1 a unit, 2 a struct with a name and a size, 3 a member with a name and a type, 4 a member without anything, 5 an
/// enumeration of 4 bytes, 6 one of its symbols, 7 a namespace, 8 a struct without members, 9 a struct without anything.
const ABBREVIATIONS: &str = "
.section .debug_abbrev,\"\",@progbits
.byte 1,0x11,1,0,0
.byte 2,0x13,1,3,8,0x0b,5,0,0
.byte 3,0x0d,0,3,8,0x49,0x13,0x38,0x0b,0,0
.byte 4,0x0d,0,0,0
.byte 5,4,1,0x0b,0x0b,0,0
.byte 6,0x28,0,3,8,0x1c,6,0,0
.byte 7,0x39,1,3,8,0,0
.byte 8,0x13,0,3,8,0x0b,0x0b,0,0
.byte 9,0x13,0,0,0
.byte 0
.section .debug_info,\"\",@progbits
.long end - start
start:
.short 4
.long 0
.byte 8
.byte 1
";

/// A program with these entries, in the words of an assembler.
fn program(entries: &str, arguments: &[&str]) -> Result<Program> {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{ABBREVIATIONS}{entries}\n.byte 0\nend:\n");
    let arguments: Vec<&str> = ["-c"].iter().chain(arguments).copied().collect();
    Program::open(&compile(folder.path(), "cc", "a.s", &text, &arguments))
}

/// A struct that has itself as a field is within itself 64 times, with all its members each time.
#[test]
fn members_of_structs_within_each_other_have_a_limit_together() {
    let within = |count: usize| {
        format!(
            "at: .byte 2\n.string \"R\"\n.short 8\n.byte 3\n.string \"a\"\n.long at - start + 4\n.byte 0\n.fill {count},1,4\n.byte 0"
        )
    };
    let error = program(&within(60_000), &[]).unwrap().format("R").unwrap_err();
    assert_eq!(error.code(), Code::Fields, "{error}");
    assert!(error.to_string().contains("at most 65536 parts"), "{error}");
    // With few members, the depth is what is wrong.
    assert_eq!(program(&within(10), &[]).unwrap().format("R").unwrap_err().code(), Code::Depth);
}

/// Fields of one enumeration have it in common, and its symbols are no longer than a format's description.
#[test]
fn symbols_have_a_limit() {
    let text = |symbols: usize| {
        let symbols = format!(
            ".set number,0\n.rept {symbols}\n.byte 6\n.string \"symbol\"\n.long number\n.set number,number+1\n.endr\n.byte 0"
        );
        let field =
            |at: usize| format!(".byte 3\n.string \"f{at}\"\n.long enumeration - start + 4\n.byte {}\n", 4 * at);
        let fields: String = (0..60).map(field).collect();
        format!("enumeration: .byte 5,4\n{symbols}\n.byte 2\n.string \"R\"\n.short 240\n{fields}\n.byte 0")
    };
    let error = program(&text(60_000), &[]).unwrap().format("R").unwrap_err();
    assert_eq!(error.code(), Code::DescriptionSize, "{error}");
    assert!(error.to_string().contains("symbols of at most 65536 bytes"), "{error}");
    // Fewer are read, and refused for what they are.
    let error = program(&text(100), &[]).unwrap().format("R").unwrap_err();
    assert!(error.to_string().contains("two symbols named symbol"), "{error}");
}

/// Each of many names leads to one large type. Each can be asked for, and a list of all ends with those that are not reached.
#[test]
fn names_that_lead_to_one_large_type_have_a_limit_together() {
    let entries = "large: .byte 2\n.string \"R\"\n.short 8\n.fill 60000,1,4\n.byte 0\n.set n,0\n.altmacro\n\
        .macro one at\n.byte 2\n.string \"n\\at\"\n.short 8\n.byte 3\n.string \"a\"\n.long large - start + 4\n.byte 0\n.byte 0\n.endm\n\
        .rept 400\none %n\n.set n,n+1\n.endr";
    let program = program(entries, &[]).unwrap();
    assert_eq!(program.names().count(), 401);
    let mut reached = 0;
    let left = program.each(|_, format| {
        reached += 1;
        assert!(format.is_err());
        Ok::<(), isoform_core::Error>(())
    });
    let left = left.unwrap();
    // 60,000 entries for each, of 16,777,216 and one for each byte.
    assert!((279..=285).contains(&reached), "{reached}");
    assert_eq!(left.len(), 401 - reached);
    assert!(left.iter().all(|left| left.is_refused && left.reason.contains("ask for it by its name")), "{left:#?}");
    let last = left.last().unwrap();
    assert_eq!(&*last.what, "struct n99");
    assert!(program.format("n99").unwrap_err().to_string().contains("without a type"));
}

/// Each of many structs could have scopes as long as the file.
#[test]
fn scopes_without_end_are_not_told() {
    let entries = ".rept 20000\n.byte 7\n.string \"within\"\n.endr\n.rept 20000\n.byte 8\n.string \"X\"\n.byte 4\n.endr\n.fill 20000,1,0";
    let program = program(entries, &[]).unwrap();
    let error = program.format("far::X").unwrap_err();
    assert_eq!(error.code(), Code::NoSuchField);
    assert!(error.to_string().len() < 1000 && error.to_string().contains("..::X"), "{} bytes", error.to_string().len());
}

/// A compressed section has many more entries than the file has bytes.
#[test]
fn entries_of_a_compressed_section_have_a_limit() {
    let entries = |count: usize| format!(".fill {count},1,9");
    let compressed = "-Wa,--compress-debug-sections=zlib";
    let error = program(&entries(1 << 20), &[compressed]).unwrap_err();
    assert_eq!(error.code(), Code::MessageSize, "{error}");
    assert!(error.to_string().contains("no more entries of debug information"), "{error}");
    // As many as have a byte each are read, and so are few.
    assert!(program(&entries(1 << 20), &["-Wa,--nocompress-debug-sections"]).is_ok());
    assert!(program(&entries(1 << 14), &[compressed]).is_ok());
}
