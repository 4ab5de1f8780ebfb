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
        "malformed text: expected one of c, rust, typescript, java, found \"cobol\""
    );
}

/// What Rust, TypeScript and Java have: defaults, names that are words, values of enumerations with other names.
const EVERYTHING: &str = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:x="urn:isoform:xmit">
  <xsd:simpleType name="Kind"><xsd:restriction base="xsd:string">
    <xsd:enumeration value="self"/><xsd:enumeration value="a.b"/></xsd:restriction></xsd:simpleType>
  <xsd:complexType name="Part"><xsd:sequence>
    <xsd:element name="x" type="xsd:double"/><xsd:element name="note" type="xsd:string" minOccurs="0"/>
  </xsd:sequence></xsd:complexType>
  <xsd:complexType name="type">
    <xsd:annotation><xsd:documentation>A record */ with "prose".</xsd:documentation></xsd:annotation>
    <xsd:sequence>
      <xsd:element name="match" type="xsd:string"/>
      <xsd:element name="level" type="xsd:double" default="0.5" x:unit="m"/>
      <xsd:element name="count" type="xsd:unsignedByte" default="7"/>
      <xsd:element name="name" type="xsd:string" default="none"/>
      <xsd:element name="on" type="xsd:boolean" default="true"/>
      <xsd:element name="kind" type="Kind" default="a.b"/>
      <xsd:element name="at" type="xsd:dateTime"/>
      <xsd:element name="raw" type="xsd:base64Binary"/>
      <xsd:element name="maybe" type="xsd:int" minOccurs="0" nillable="true"/>
      <xsd:element name="part" type="Part" nillable="true"/>
      <xsd:element name="parts" type="Part" maxOccurs="unbounded"/>
      <xsd:element name="tags" type="xsd:string" minOccurs="2" maxOccurs="2"/>
    </xsd:sequence>
  </xsd:complexType>
</xsd:schema>"#;

/// The text of a file that tests compile.
#[cfg(target_pointer_width = "64")]
fn kept(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated").join(name);
    std::fs::read_to_string(&path).unwrap_or_default()
}

#[cfg(target_pointer_width = "64")]
#[allow(dead_code, unreachable_pub)]
mod track {
    include!("generated/track.rs");
}

#[cfg(target_pointer_width = "64")]
#[allow(dead_code, unreachable_pub)]
mod everything {
    include!("generated/everything.rs");
}

#[test]
#[cfg(target_pointer_width = "64")]
fn rust_has_the_formats_of_its_document() {
    use isoform::Record;
    let (idl, xsd) = (read(Language::Idl, IDL), read(Language::XmlSchema, EVERYTHING));
    for (declarations, file) in [(&idl, "track.rs"), (&xsd, "everything.rs")] {
        let written = Target::Rust.write(declarations, None).unwrap();
        assert_eq!(written, kept(file), "{file}");
    }
    for (declarations, name, format) in [
        (&idl, "Place", track::Place::format()),
        (&idl, "Track", track::Track::format()),
        (&xsd, "Part", everything::Part::format()),
        (&xsd, "type", everything::type_::format()),
    ] {
        let expected = declarations.bind(name, &Layout::NATIVE).unwrap();
        assert_eq!(*format, expected, "{name}");
        assert_eq!(format.token(), expected.token());
    }
}

#[test]
fn a_length_that_rust_cannot_place_is_refused_by_name() {
    let schema = |fields: &str| {
        let text = format!(
            r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:complexType name="R">{fields}</xsd:complexType></xsd:schema>"#
        );
        Target::Rust.write(&read(Language::XmlSchema, &text), None).map_err(|error| error.to_string())
    };
    for (fields, says) in [
        (
            r#"<xsd:element name="a" type="xsd:int" maxOccurs="*" dimensionName="n"/>"#,
            "at R.n: expected the length of an array directly behind it",
        ),
        (
            r#"<xsd:element name="a" type="xsd:int" maxOccurs="*" dimensionName="n" dimensionPlacement="after"/>"#,
            "at R.n: expected an unsigned integer of 8 bytes as the length",
        ),
        (
            r#"<xsd:element name="a" type="xsd:int" maxOccurs="n"/><xsd:element name="b" type="xsd:int" maxOccurs="n"/><xsd:element name="n" type="xsd:unsignedLong"/>"#,
            "at R.a: expected an array with its length directly behind it",
        ),
        (r#"<xsd:element name="a" type="xsd:int" minOccurs="0"><xsd:annotation/></xsd:element>"#, ""),
    ] {
        match schema(fields) {
            Ok(text) => assert!(says.is_empty() && text.contains("pub a: Option<Box<i32>>"), "{text}"),
            Err(error) => assert!(!says.is_empty() && error.contains(says), "{error}"),
        }
    }
    // With its own name, where Rust has it.
    let text = schema(
        r#"<xsd:element name="a" type="xsd:int" maxOccurs="n"/><xsd:element name="n" type="xsd:unsignedLong"/>"#,
    );
    assert!(text.unwrap().contains("#[isoform(len = \"n\")]\n    pub a: Vec<i32>,"));
}

#[test]
fn java_compiles() {
    if !has("javac") {
        eprintln!("*** SKIPPED: Java. It needs javac ***");
        return;
    }
    for declarations in
        [read(Language::Idl, IDL), read(Language::XmlSchema, EVERYTHING), read(Language::XmlSchema, XSD)]
    {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("Records.java");
        std::fs::write(&source, Target::Java.write(&declarations, None).unwrap()).unwrap();
        run(Command::new("javac")
            .args(["--release", "17", "-Xlint:all", "-Werror", "-d"])
            .arg(folder.path())
            .arg(&source));
    }
}

#[test]
fn typescript_has_the_types_of_the_json_that_is_written() {
    let xsd = read(Language::XmlSchema, EVERYTHING);
    let format = xsd.bind("type", &Layout::NATIVE).unwrap();
    let hydration = isoform_xmit::Hydration::new(&format, &xsd.markup("type").unwrap()).unwrap();
    let xml = "<type><match>x</match><level>INF</level><count>1</count><name>n</name><on>1</on><kind>a.b</kind><at>1970-01-01T00:00:00Z</at>\
        <raw>Zm9v</raw><part><x>1</x></part><parts><x>2</x><note>n</note></parts><tags>a</tags><tags>b</tags></type>";
    let body = hydration.body_of_xml(xml).unwrap();
    let verifier = isoform_core::Verifier::new(&format);
    let json = hydration.json(isoform_core::View::new(verifier.verify(&body).unwrap())).unwrap();
    let types = Target::TypeScript.write(&xsd, None).unwrap();
    for line in [
        "  \"level\"?: Float;",
        "  \"kind\"?: \"self\" | \"a.b\";",
        "  \"at\": string;",
        "  \"maybe\"?: number;",
        "  \"part\": Part | null;",
        "  \"parts\": Part[];",
        "  \"tags\": (string | null)[];",
        "export interface type_ {",
        "/** A record * / with \"prose\". */",
    ] {
        assert!(types.contains(line), "{line}\n{types}");
    }
    assert!(!types.contains("parts_len"), "{types}");
    if !has("tsc") {
        eprintln!("*** SKIPPED: checking TypeScript. It needs tsc ***");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let check = |json: &str| {
        let source = folder.path().join("records.ts");
        std::fs::write(&source, format!("{types}\nexport const record: type_ = {json};\n")).unwrap();
        Command::new("tsc")
            .args(["--noEmit", "--strict", "--exactOptionalPropertyTypes"])
            .arg(&source)
            .output()
            .unwrap()
    };
    let good = check(&json);
    assert!(good.status.success(), "{}\n{json}", String::from_utf8_lossy(&good.stdout));
    assert!(!check(&json.replace("a.b", "a_b")).status.success());
    let idl = Target::TypeScript.write(&read(Language::Idl, IDL), None).unwrap();
    let source = folder.path().join("track.ts");
    std::fs::write(&source, idl).unwrap();
    run(Command::new("tsc").args(["--noEmit", "--strict"]).arg(&source));
}
