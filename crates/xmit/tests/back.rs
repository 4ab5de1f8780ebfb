//! Source code that is written for a document declares the formats to which the document is bound: compiled and run.

#[path = "compilers/here.rs"]
mod here;

use here::{has, skipped};
use isoform_core::declare::{Row, Tables};
use isoform_core::{Code, Format, Layout, Machine};
use isoform_xmit::{Alone, Declarations, Language, Target};
use std::path::Path;
use std::process::{Command, Output};

/// Every kind that C has a type for, and those that its tables state.
const IDL: &str = include_str!("generated/track.idl");

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
        "#define ISOFORM_WRITER_IMPLEMENTATION\n#include <stdio.h>\n#include \"isoform_writer.h\"\n#include \"records.h\"\n#include \"records.h\"\n\
         int main(void) {{ iso_error error; iso_writer writer;\n\
         iso_format *format = iso_declare({c_name}_structures, sizeof {c_name}_structures / sizeof *{c_name}_structures, &error);\n\
         if (!format) return fprintf(stderr, \"%s\\n\", error.text), 1;\n\
         iso_open_file(&writer, stdout); iso_describe(&writer, format); iso_release(format); return 0; }}\n"
    );
    let (source, binary) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, program).unwrap();
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-const-variable"]);
    command.args(["-Wno-unused-variable", "-I"]).arg(&include).arg(&source);
    run(command.arg("-o").arg(&binary));
    let stream = run(&mut Command::new(&binary)).stdout;
    let length = u64::from_le_bytes(stream[24..32].try_into().unwrap()) as usize;
    Format::parse(&stream[32..32 + length]).unwrap()
}

/// A header of telemetry.
const PACKED: &str = "#include <stdint.h>\n#pragma pack(push, 1)\nstruct Head { uint16_t format; uint64_t session; float t; };\n\
    #pragma pack(2)\nstruct Car { char kind; struct Head head; double speed[3]; };\n#pragma pack(pop)\n";

#[test]
fn a_header_has_the_formats_of_its_document() {
    if !has("cc") {
        return skipped("headers. They need a C compiler");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compilers = vec![vec!["cc", "-std=c99"], vec!["cc", "-std=c11"]];
    if has("c++") {
        compilers.push(vec!["c++", "-x", "c++", "-std=c++17"]);
    }
    for (declarations, records) in [
        (read(Language::Idl, IDL), &[("Place", "Place"), ("Track", "Track")][..]),
        (read(Language::XmlSchema, XSD), &[("for", "for_")]),
        (read(Language::XmlSchema, EVERYTHING), &[("Part", "Part"), ("type", "type")]),
        (read(Language::C, PACKED), &[("Head", "Head"), ("Car", "Car")]),
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

/// The formats of records as a compiler for C++ has them, by the tables that `isoform.hpp` makes.
fn tables_of_cpp(folder: &Path, headers: &[String], records: &[&str]) -> Vec<Format> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../faces/c/include");
    let mut includes = String::new();
    for (number, header) in headers.iter().enumerate() {
        std::fs::write(folder.join(format!("records{number}.hpp")), header).unwrap();
        includes += &format!("#include \"records{number}.hpp\"\n");
    }
    let printed: Vec<String> = records.iter().map(|record| format!("    print<{record}>();\n")).collect();
    let program = format!(
        "{includes}#include <cstdio>\ntemplate <class T> void print() {{\n\
         const auto table = isoform::detail::table::with<T>();\nfor (const iso_structure &one : table.structures()) {{\n\
         std::printf(\"S\\t%s\\t%zu\\t%zu\\n\", one.name, one.size, one.alignment);\n\
         for (std::size_t i = 0; i < one.count; i++) {{ const iso_field &f = one.fields[i];\n\
         std::printf(\"F\\t%s\\t%s\\t%zu\\t%zu\\t%s\\t%zu\\n\", f.name, f.type, f.size, f.offset, f.unit ? f.unit : \"\", f.extent); }} }}\n\
         std::printf(\"E\\n\"); }}\nint main() {{\n{}}}\n",
        printed.concat()
    );
    let (source, binary) = (folder.join("program.cpp"), folder.join("program"));
    std::fs::write(&source, program).unwrap();
    let mut command = Command::new("c++");
    command.args(["-std=c++20", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I"]).arg(&include).arg(&source);
    run(command.arg("-o").arg(&binary));
    let printed = String::from_utf8(run(&mut Command::new(&binary)).stdout).unwrap();
    let (mut formats, mut tables) = (Vec::new(), Tables::new(Machine::NATIVE));
    let mut lines = printed.lines().map(|line| line.split('\t').collect::<Vec<_>>()).peekable();
    let number = |text: &str| text.parse::<usize>().unwrap();
    while let Some(line) = lines.next() {
        let ["S", name, size, alignment] = line[..] else {
            formats.push(std::mem::replace(&mut tables, Tables::new(Machine::NATIVE)).format().unwrap());
            continue;
        };
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|line| line[0] == "F") {
            rows.push(row);
        }
        let rows = rows.iter().map(|row| Row {
            name: row[1],
            words: row[2],
            size: number(row[3]),
            offset: number(row[4]),
            unit: Some(row[5]).filter(|unit| !unit.is_empty()),
            extent: Some(number(row[6])),
            member: None,
        });
        tables.add(name, number(size), number(alignment), rows).unwrap();
    }
    formats
}

#[test]
fn cpp_has_the_formats_of_its_document() {
    if !has("c++") {
        return skipped("C++. It needs a compiler");
    }
    let folder = tempfile::tempdir().unwrap();
    // Names of enumerations' values, and of records, that C++ does not have.
    let odd = "enum Light { off, namespace_ }; struct Gauge { Light light; double level; };";
    let rows = "typedef float Row[3]; struct Route { sequence<Row> rows; sequence<string> names; string tags[2][2]; sequence<char> text; };";
    let renamed = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:complexType name="Level">
        <xsd:element name="class" type="xsd:int" default="7"/><xsd:element name="Level" type="xsd:double" default="-INF"/>
        <xsd:element name="said" type="xsd:string" default="a &quot;b&quot; ??/"/>
        <xsd:element name="kind"><xsd:simpleType><xsd:restriction base="xsd:string"><xsd:enumeration value="new"/><xsd:enumeration value="old"/>
        </xsd:restriction></xsd:simpleType></xsd:element></xsd:complexType></xsd:schema>"#;
    let documents = [
        (Language::Idl, IDL, &["Place", "Track"][..], Some("track.hpp")),
        (Language::XmlSchema, EVERYTHING, &["Part", "type"], Some("everything.hpp")),
        (Language::Idl, odd, &["Gauge"], None),
        (Language::XmlSchema, renamed, &["Level"], None),
        (Language::Idl, rows, &["Route"], None),
    ];
    // One program for all, since compilers take seconds.
    let (mut headers, mut names, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for (language, text, records, file) in documents {
        let declarations = read(language, text);
        let header = Target::Cpp.write(&declarations, None).unwrap();
        if let Some(file) = file {
            assert_eq!(header, kept(file), "{file}");
        }
        headers.push(header);
        names.extend(records);
        expected.extend(records.iter().map(|name| declarations.bind(name, &Layout::NATIVE).unwrap()));
    }
    let found = tables_of_cpp(folder.path(), &headers, &names);
    assert_eq!(found, expected, "{headers:?}");
    assert!(found.iter().zip(&expected).all(|(found, expected)| found.token() == expected.token()));
    let error = Target::Cpp.write(&read(Language::XmlSchema, XSD), None).unwrap_err().to_string();
    assert!(error.contains("at for: expected a name that C++ has"), "{error}");
}

#[test]
fn shapes_are_the_formats_of_their_document() {
    for (declarations, names) in [
        (read(Language::Idl, IDL), &["Place", "Track"][..]),
        (read(Language::XmlSchema, EVERYTHING), &["Part", "type"]),
        (read(Language::XmlSchema, XSD), &["for"]),
    ] {
        for name in names {
            let text = Target::Shape.write(&declarations, Some(name)).unwrap();
            for layout in Layout::ALL {
                let format = isoform_core::Shape::parse(&text).unwrap().on(layout).unwrap();
                assert_eq!(format.token(), declarations.bind(name, layout).unwrap().token(), "{text}");
            }
        }
    }
}

/// The Python package's tests import these files, compare the tokens, and check the types (`faces/python/tests/test_generated.py`).
#[test]
fn python_is_as_it_is_tested() {
    for (language, text, file) in [(Language::Idl, IDL, "track.py"), (Language::XmlSchema, EVERYTHING, "everything.py")]
    {
        assert_eq!(Target::Python.write(&read(language, text), None).unwrap(), kept(file), "{file}");
    }
    for (fields, says) in [
        (
            r#"<xsd:element name="class" type="xsd:int"/>"#,
            "at R.class: expected a name that an attribute can have in Python",
        ),
        (
            r#"<xsd:element name="a-b" type="xsd:int"/>"#,
            "at R.a-b: expected a name that an attribute can have in Python",
        ),
        (
            r#"<xsd:element name="int" type="xsd:int"/>"#,
            "at R.int: expected a name that an attribute can have in Python",
        ),
    ] {
        let text = format!(
            r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:complexType name="R">{fields}</xsd:complexType></xsd:schema>"#
        );
        let error = Target::Python.write(&read(Language::XmlSchema, &text), None).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
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
    let aligned = read(Language::C, "struct A { char a; double b; } __attribute__((aligned(16)));");
    for target in [Target::C, Target::Cpp, Target::Rust, Target::Python] {
        let error = target.write(&aligned, None).unwrap_err();
        assert!(error.path() == "A" && error.to_string().contains("packed or aligned"), "{error}");
        let packed = target.write(&read(Language::C, PACKED), None);
        assert_eq!(packed.is_ok(), matches!(target, Target::C | Target::Cpp), "{}", target.word());
    }
    assert!(Target::Shape.write(&aligned, None).unwrap().contains("record A  align=16"));
    assert_eq!(
        "cobol".parse::<Target>().unwrap_err().to_string(),
        "malformed text: expected one of c, cpp, rust, python, typescript, java, shape, found \"cobol\""
    );
}

/// What Rust, TypeScript and Java have: defaults, names that are words, values of enumerations with other names.
const EVERYTHING: &str = include_str!("generated/everything.xsd");

/// The text of a file that tests compile.
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

/// Records as messages, which the tests of other languages read and write as well: `track.bin` and `everything.bin`.
#[test]
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
fn rust_has_the_records_of_its_vectors() {
    use everything::{Part, type_, typeKind};
    use track::{Place, Track, TrackColour};
    let place = |x: f64| Place { x, y: -x / 4.0 };
    let track = Track {
        on: true,
        small: 200,
        tiny: -5,
        s: -300,
        us: 60_000,
        l: -70_000,
        ul: 4_000_000_000,
        ll: -5_000_000_000_000,
        ull: 18_000_000_000_000_000_000,
        f: 0.25,
        d: 11.5,
        c: isoform::Char(b'q'),
        name: "Old Mill".into(),
        colour: TrackColour::GREEN,
        at: place(1.0),
        ends: [place(2.0), place(3.0)],
        grid: [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]],
        samples: vec![0.5, -0.25, 3.0],
        path: vec![place(4.0), place(5.0)],
        maybe: Some(Box::new(2.5)),
        other: None,
    };
    let part = |x: f64, note: Option<&str>| Part { x, note: note.map(str::to_owned) };
    let everything = type_ {
        match_: "a \u{e9}".into(),
        level: 1.25,
        count: 250,
        name: String::new(),
        on: false,
        kind: typeKind::self_,
        at: 1_790_000_000_000_000_000,
        raw: vec![0, 255, 7],
        maybe: None,
        part: Some(Box::new(part(0.5, None))),
        parts: vec![part(1.0, Some("one")), part(2.0, None)],
        tags: ["red".into(), "blue".into()],
    };
    macro_rules! compare {
        ($file:literal, $record:ident: $kind:ty) => {
            let kept =
                std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated").join($file)).unwrap();
            let mut writer = isoform::stream::Writer::new(Vec::new());
            writer.write(&isoform::Encoder::<$kind>::new().encode(&$record).unwrap()).unwrap();
            assert_eq!(writer.into_inner(), kept, "{}", $file);
            let mut reader = isoform::stream::Reader::new(&kept[..]);
            let incoming = reader.next().unwrap().unwrap();
            assert_eq!(isoform::Decoder::<$kind>::new().decode_owned(&incoming).unwrap(), $record);
        };
    }
    compare!("track.bin", track: Track);
    compare!("everything.bin", everything: type_);
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
        return skipped("Java. It needs javac");
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

/// The compiler of TypeScript with its options: the one that `TSC` names, or that is installed.
fn tsc() -> Option<Vec<String>> {
    let options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes"].map(String::from);
    let program = match std::env::var("TSC") {
        Ok(script) if has("node") => vec!["node".into(), script],
        _ if has("tsc") => vec!["tsc".into()],
        _ => return None,
    };
    Some([program, options.into()].concat())
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
    let Some(tsc) = tsc() else {
        return skipped(
            "checking TypeScript. It needs tsc: node, and TSC=PATH/lib/tsc.js, which `make test` gets by npm",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let check = |json: &str| {
        let source = folder.path().join("records.ts");
        std::fs::write(&source, format!("{types}\nexport const record: type_ = {json};\n")).unwrap();
        Command::new(&tsc[0]).args(&tsc[1..]).arg(&source).output().unwrap()
    };
    let good = check(&json);
    assert!(good.status.success(), "{}\n{json}", String::from_utf8_lossy(&good.stdout));
    assert!(!check(&json.replace("a.b", "a_b")).status.success());
    let idl = Target::TypeScript.write(&read(Language::Idl, IDL), None).unwrap();
    let source = folder.path().join("track.ts");
    std::fs::write(&source, idl).unwrap();
    run(Command::new(&tsc[0]).args(&tsc[1..]).arg(&source));
}
