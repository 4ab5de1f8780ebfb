//! Source code that is written for a document declares the formats to which the document is bound: compiled and run.

#![allow(clippy::print_stderr, reason = "what is skipped is named")]

use isoform_core::{Code, Format, Layout};
use isoform_xmit::{Alone, Declarations, Language, Target};
use std::path::Path;
use std::process::{Command, Output};

/// Every kind that C has a type for, and those that its tables state.
const IDL: &str = r#"
    struct Place { double x; double y; };
    enum Colour { RED, GREEN };
    struct Track {
        boolean on; octet small; int8 tiny; short s; unsigned short us; long l; unsigned long ul; long long ll; unsigned long long ull;
        float f; @unit("m/s") double d; char c; string name; Colour colour;
        Place at; Place ends[2]; float grid[3][4];
        sequence<float> samples; sequence<Place> path; @optional double maybe; @optional Place other;
    };"#;

/// Names that C does not have, and prose that would end a comment.
const XSD: &str = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:x="urn:isoform:xmit">
  <xsd:complexType name="for">
    <xsd:annotation><xsd:documentation>ends */ here ??/</xsd:documentation></xsd:annotation>
    <xsd:sequence>
      <xsd:element name="class" type="xsd:int"/>
      <xsd:element name="wind-speed" type="xsd:double" x:unit="m/s &quot;?&quot; \"/>
      <xsd:element name="n" type="xsd:int"/>
      <xsd:element name="values" type="xsd:float" maxOccurs="n"/>
      <xsd:element name="struct" type="xsd:string"/>
      <xsd:element name="when" type="xsd:long"><xsd:annotation><xsd:documentation>it /* began</xsd:documentation></xsd:annotation></xsd:element>
    </xsd:sequence>
  </xsd:complexType>
</xsd:schema>"#;

fn read(language: Language, text: &str) -> Declarations {
    Declarations::read(language, "document", text, &mut Alone).unwrap()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The format of a record as a compiler for C or C++ has it.
fn compiled(compiler: &[&str], folder: &Path, header: &str, c_name: &str) -> Format {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../faces/c/include");
    std::fs::write(folder.join("records.h"), header).unwrap();
    let program = format!(
        "#define ISOFORM_WRITER_IMPLEMENTATION\n#include <stdio.h>\n#include \"isoform_writer.h\"\n#include \"records.h\"\n\
         int main(void) {{ iso_error error; iso_writer writer;\n\
         iso_format *format = iso_declare({c_name}_structures, sizeof {c_name}_structures / sizeof *{c_name}_structures, &error);\n\
         if (!format) return fprintf(stderr, \"%s\\n\", error.text), 1;\n\
         iso_open_file(&writer, stdout); iso_describe(&writer, format); iso_release(format); return 0; }}\n"
    );
    let (source, binary) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, program).unwrap();
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-const-variable"]);
    // A row with a unit for which there is no macro has fewer members than the struct.
    command.args(["-Wno-missing-field-initializers", "-Wno-unused-variable", "-I"]).arg(&include).arg(&source);
    run(command.arg("-o").arg(&binary));
    let stream = run(&mut Command::new(&binary)).stdout;
    let length = u64::from_le_bytes(stream[24..32].try_into().unwrap()) as usize;
    Format::parse(&stream[32..32 + length]).unwrap()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn a_header_has_the_formats_of_its_document() {
    if !has("cc") {
        eprintln!("*** SKIPPED: headers. They need a C compiler ***");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compilers = vec![vec!["cc", "-std=c99"], vec!["cc", "-std=c11"]];
    if has("c++") {
        compilers.push(vec!["c++", "-x", "c++", "-std=c++17"]);
    }
    for (declarations, records) in [
        (read(Language::Idl, IDL), &[("Place", "Place"), ("Track", "Track")][..]),
        (read(Language::XmlSchema, XSD), &[("for", "for_")]),
    ] {
        let header = Target::C.write(&declarations, None).unwrap();
        for (name, c_name) in records {
            let expected = declarations.bind(name, &Layout::NATIVE).unwrap();
            for compiler in &compilers {
                let found = compiled(compiler, folder.path(), &header, c_name);
                assert_eq!(found, expected, "{compiler:?}\n{header}");
                assert_eq!(found.token(), expected.token());
            }
            let alone = Target::C.write(&declarations, Some(name)).unwrap();
            assert_eq!(compiled(&compilers[0], folder.path(), &alone, c_name), expected);
        }
    }
}

#[test]
fn what_c_cannot_have_is_refused_by_name() {
    let declarations = read(Language::Idl, "struct R { long double q; };");
    let error = Target::C.write(&declarations, Some("S")).unwrap_err();
    assert!(error.code() == Code::NoSuchField && error.to_string().contains('R'), "{error}");
    let two = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:complexType name="R">
        <xsd:element name="a-b" type="xsd:int"/><xsd:element name="a.b" type="xsd:int"/></xsd:complexType></xsd:schema>"#;
    let error = Target::C.write(&read(Language::XmlSchema, two), None).unwrap_err();
    assert!(error.to_string().contains("R.a_b") && error.to_string().contains("a_b"), "{error}");
    assert_eq!(
        "cobol".parse::<Target>().unwrap_err().to_string(),
        "malformed text: expected one of c, found \"cobol\""
    );
}
