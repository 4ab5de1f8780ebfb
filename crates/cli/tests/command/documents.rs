//! Documents as sources: paths and URLs, types, layouts, errors with lines.

use super::{Files, isoform};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;

const RIVER: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:iso="urn:isoform:xmit">
  <xs:complexType name="Gauge">
    <xs:sequence>
      <xs:element name="name" type="xs:string"/>
      <xs:element name="level" type="xs:double" iso:unit="m"/>
    </xs:sequence>
  </xs:complexType>
  <xs:complexType name="River">
    <xs:sequence>
      <xs:element name="step" type="xs:int"/>
      <xs:element name="gauges" type="Gauge" maxOccurs="unbounded"/>
    </xs:sequence>
  </xs:complexType>
</xs:schema>
"#;

/// The same as text of shapes.
const SHAPES: &[u8] = b"record Gauge
  name   string
  level  double  unit=\"m\"
record River
  step        int
  gauges      Gauge[gauges_len]
  gauges_len  u64
";

#[test]
fn a_type_of_a_document_is_the_format_of_the_same_shape() {
    let files = Files::new();
    let (document, shapes) = (files.write("river.xsd", RIVER.as_bytes()), files.write("river.shape", SHAPES));
    for layout in ["x86_64", "s390x", "powerpc"] {
        let from_document = isoform(&["format", "--json", &format!("xsd:{document}#River@{layout}")]).good();
        let from_shapes = isoform(&["format", "--json", &format!("{shapes}#River@{layout}")]).good();
        assert_eq!(from_document, from_shapes);
    }
    assert_eq!(isoform(&["format", &format!("xsd:{document}")]).good(), isoform(&["format", &shapes]).good());
    assert!(isoform(&["layout", &format!("xsd:{document}#Gauge"), "--on", "i386"]).good().contains("level"));
    let same = isoform(&["explain", &format!("xsd:{document}#River@s390x"), &shapes]).good();
    assert!(same.contains("gauges"), "{same}");
}

#[test]
fn documents_in_other_languages() {
    let files = Files::new();
    let shapes = files.write("river.shape", SHAPES);
    let expected = isoform(&["format", "--json", &format!("{shapes}#River@s390x")]).good();
    for (language, text) in [
        (
            "idl",
            "module river { struct Gauge { string name; @unit(\"m\") double level; };\n\
             struct River { long step; sequence<Gauge> gauges; }; };",
        ),
        ("msg", "int32 step\nriver/Gauge[] gauges\n=====\nMSG: river/Gauge\nstring name\nfloat64 level # unit=\"m\"\n"),
        (
            "proto",
            "syntax = \"proto2\"; package river; message Gauge { required string name = 1;\n\
             required double level = 2 [(unit) = \"m\"]; }\n\
             message River { required int32 step = 1; repeated Gauge gauges = 2; }",
        ),
        (
            "jsonschema",
            r##"{"title": "River", "properties": {"step": {"type": "integer", "format": "int32"},
              "gauges": {"type": "array", "items": {"$ref": "#/$defs/Gauge"}}}, "required": ["step", "gauges"],
              "$defs": {"Gauge": {"type": "object", "required": ["name", "level"],
                "properties": {"name": {"type": "string"}, "level": {"type": "number", "unit": "m"}}}}}"##,
        ),
    ] {
        let document = files.write(&format!("River.{language}"), text.as_bytes());
        let found = isoform(&["format", "--json", &format!("{language}:{document}#River@s390x")]).good();
        assert_eq!(found, expected, "{language}");
    }
    let header = files.write("river.h", b"typedef struct { char *name; double level; /* unit=\"m\" */ } Gauge;\n");
    let found = isoform(&["format", "--json", &format!("c:{header}#Gauge@s390x")]).good();
    assert_eq!(found, isoform(&["format", "--json", &format!("{shapes}#Gauge@s390x")]).good());
}

#[test]
fn the_description_of_a_type_is_written_as_bytes() {
    let files = Files::new();
    let place = format!("xsd:{}", files.write("river.xsd", RIVER.as_bytes()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_isoform"));
    let written = command.args(["format", "--description", &format!("{place}#Gauge@s390x")]).output().unwrap().stdout;
    let shape = isoform::core::Shape::parse("record Gauge\n  name  string\n  level  double  unit=\"m\"").unwrap();
    let format = shape.on(&isoform::core::Layout::S390X).unwrap();
    assert_eq!(written, format.description().as_bytes());
    let several = files.write("two.shape", b"record A\n  a  int\nrecord B\n  b  int\n");
    assert!(isoform(&["format", "--description", &several]).bad(2).contains("two.shape has several formats"));
}

#[test]
fn a_document_comes_from_a_server_and_stays_in_the_cache() {
    let files = Files::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("xsd:http://{}/river.xsd#River", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let lines = BufReader::new(connection.try_clone().unwrap()).lines();
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{RIVER}", RIVER.len())
            .unwrap();
    });
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isoform"));
        command.args(["format", &source]).env("XDG_CACHE_HOME", files.0.path());
        super::Run::of(command.output().unwrap())
    };
    let first = run().good();
    server.join().unwrap();
    assert!(first.contains("gauges_len"), "{first}");
    // The server is gone.
    let second = run();
    assert_eq!((second.status, second.output), (0, first));
    assert!(second.errors.contains("/river.xsd") && second.errors.contains("as it was before"), "{}", second.errors);
    assert_eq!(second.errors.lines().count(), 1, "{}", second.errors);
}

/// Whoever leaves out the word in front of a source, or misspells it, learns which there is.
#[test]
fn a_document_without_its_word_is_named_with_it() {
    let files = Files::new();
    for (name, text, hint) in [
        ("river.xsd", RIVER, "xsd:"),
        ("river.h", "struct River { int step; };", "c:"),
        ("river.json", r#"{"title": "River"}"#, "jsonschema:"),
    ] {
        let path = files.write(name, text.as_bytes());
        let run = isoform(&["format", &path]);
        assert!(run.status != 0 && run.errors.contains(&format!("{hint}{path}#RECORD")), "{}", run.errors);
    }
    let program = files.write("program", b"\x7fELF\x02\xff");
    assert!(isoform(&["format", &program]).bad(2).contains(&format!("elf:{program}#STRUCT")));
    assert!(isoform(&["format", "xds:river.xsd#River"]).bad(2).contains("`isoform help sources`"));
}

#[test]
fn errors_have_the_document_and_the_line() {
    let files = Files::new();
    let document = files.write("river.xsd", RIVER.replace("xs:double", "xs:real").as_bytes());
    let errors = isoform(&["format", &format!("xsd:{document}#River")]).bad(1);
    assert!(errors.contains("river.xsd:5: expected a type that is declared, found xs:real, which is not"), "{errors}");
    let errors = isoform(&["format", &format!("xsd:{document}#Rver")]).bad(2);
    assert!(errors.contains("expected one of the records Gauge, River, found Rver"), "{errors}");
    let text = files.write("a.xsd", b"no XML");
    assert!(
        isoform(&["format", &format!("xsd:{text}#T")])
            .bad(2)
            .contains("a.xsd:1: expected well-formed XML without a DTD")
    );
    let import = RIVER
        .replace("<xs:complexType name=\"Gauge\">", "<xs:import schemaLocation=\"http://127.0.0.1:1/b.xsd\"/>$0")
        .replace("$0", "<xs:complexType name=\"Gauge\">");
    let import = files.write("import.xsd", import.as_bytes());
    let errors = isoform(&["format", &format!("xsd:{import}#River")]).bad(2);
    assert!(errors.contains("expected a host that is allowed; 127.0.0.1:1 is not"), "{errors}");
    assert!(errors.contains("ISOFORM_HOSTS"), "{errors}");
}

#[test]
fn defaults_of_a_document_are_those_of_its_receivers() {
    let files = Files::new();
    let text = |more: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="Gauge"><xs:sequence>
            <xs:element name="level" type="xs:double"/>{more}</xs:sequence></xs:complexType></xs:schema>"#
        )
    };
    let newer = text(r#"<xs:element name="at" type="xs:dateTime" default="1970-01-01T00:00:01Z"/>"#);
    let (old, new) = (files.write("old.xsd", text("").as_bytes()), files.write("new.xsd", newer.as_bytes()));
    let explain = ["explain", "--plan", &format!("xsd:{old}"), &format!("xsd:{new}")];
    let explained = isoform(&["explain", "--plan", &format!("xsd:{old}#Gauge"), &format!("xsd:{new}#Gauge")]).good();
    assert!(explained.contains("fill 8 00ca9a3b00000000"), "{explained}");
    let all = isoform(&explain).good();
    assert_eq!(all, explained);
    // Arguments go before it.
    let said = isoform(&[&explain[..], &["--default", "at=7"]].concat()).good();
    assert!(said.contains("fill 8 0700000000000000"), "{said}");
    let bad = files.write("bad.xsd", newer.replace("1970-01-01T", "noon").as_bytes());
    for command in [&["explain", &format!("xsd:{old}"), &format!("xsd:{bad}")][..], &["format", &format!("xsd:{bad}")]]
    {
        let refused = isoform(command).bad(1);
        assert!(refused.contains("bad.xsd:2") && refused.contains("Gauge.at") && refused.contains("noon"), "{refused}");
    }
}

#[test]
fn an_overlay_changes_a_document() {
    let files = Files::new();
    let document = files.write("river.xsd", RIVER.as_bytes());
    let mine = files.write(
        "mine.json",
        br#"{"Gauge": {"name": "Level", "fields": {"level": {"name": "depth", "default": 0.5}, "name": null}}}"#,
    );
    let shapes = files.write("mine.shape", b"record Level\n  depth  double  unit=\"m\"\n");
    let source = format!("overlay:{mine}:xsd:{document}#Level@s390x");
    let expected = isoform(&["format", "--json", &format!("{shapes}@s390x")]).good();
    assert_eq!(isoform(&["format", "--json", &source]).good(), expected);
    let bad = isoform(&["format", &format!("overlay:{mine}:xsd:{document}#Gauge")]).bad(2);
    assert!(bad.contains("Level"), "{bad}");
    let none = isoform(&["format", &format!("overlay:none.json:xsd:{document}#Gauge")]).bad(2);
    assert!(none.contains("none.json") && none.contains("an overlay"), "{none}");
    let form = isoform(&["format", &format!("overlay:{mine}")]).bad(2);
    assert!(form.contains("overlay:FILE:SOURCE"), "{form}");
    // The default is the receiver's.
    let old = files.write("old.shape", b"record Level\n  step  int\n");
    let explained = isoform(&["explain", &old, &format!("overlay:{mine}:xsd:{document}#Level")]);
    assert!(explained.output.contains("default"), "{}{}", explained.output, explained.errors);
    // Senders with the document's own names are read.
    let explained = isoform(&["explain", &format!("xsd:{document}#Gauge"), &source]).good();
    assert!(explained.contains("depth") && !explained.contains("default"), "{explained}");
    let wrong = files.write("wrong.json", br#"{"Gauge": {"fields": {"level": {"default": "x"}}}}"#);
    let refused = isoform(&["format", &format!("overlay:{wrong}:xsd:{document}#Gauge")]).bad(2);
    assert!(refused.contains("wrong.json.Gauge.level: expected a number"), "{refused}");
}

/// What a server answers in place of a document has a class of its own, and a hint.
#[test]
fn a_server_that_gives_no_document_is_told_of() {
    for (status, says) in
        [(404, "has no document at this path"), (403, "does not let everyone read it"), (401, "not admitted")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            _ = connection.read(&mut [0; 4096]);
            let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            connection.write_all(answer.as_bytes()).unwrap();
        });
        let errors = isoform(&["format", &format!("xsd:http://{address}/river.xsd#Gauge")]).bad(2);
        assert!(errors.contains(says) && errors.contains("hint: "), "{errors}");
        assert!(errors.contains(&format!("HTTP status {status}")), "{errors}");
        server.join().unwrap();
    }
}

#[test]
fn xmit_loads_binds_and_generates() {
    let files = Files::new();
    let document = files.write("river.xsd", RIVER.as_bytes());
    let source = format!("xsd:{document}");
    let listed = isoform(&["xmit", "load", &source]).good();
    assert_eq!(listed, "Gauge  2 fields  name, level\nRiver  3 fields  step, gauges, gauges_len\n");
    let fields = isoform(&["xmit", "load", "--json", &format!("{source}#Gauge")]).good();
    assert!(fields.contains(r#"{"name":"level","type":"f64","unit":"m","default":null,"prose":null}"#), "{fields}");
    let bound = isoform(&["xmit", "bind", &format!("{source}#Gauge@s390x")]).good();
    let format = isoform(&["format", &format!("{source}#Gauge@s390x")]).good();
    let token = bound.split_whitespace().next().unwrap();
    assert!(format.contains(token) && bound.contains("16 bytes"), "{bound}{format}");
    let header = files.path("river.h").display().to_string();
    isoform(&["xmit", "gen", &source, "--language", "c", "-o", &header]).good();
    let written = std::fs::read_to_string(&header).unwrap();
    assert!(written.contains("ISO_FIELD_STRUCT(River, gauges, \"Gauge[gauges_len]\", Gauge)"), "{written}");
    assert_eq!(isoform(&["xmit", "gen", &source, "--language", "c"]).good(), written);

    let odd = files.write("odd.xsd", RIVER.replace("xs:double", "xs:anyURIs").as_bytes());
    let listed = isoform(&["xmit", "load", &format!("xsd:{odd}")]);
    assert_eq!(listed.status, 1);
    assert!(listed.output.contains("refused") && listed.output.contains("odd.xsd:5"), "{}", listed.output);
    let errors = isoform(&["xmit", "gen", &source, "--language", "cobol"]).bad(2);
    assert!(errors.contains("expected one of c"), "{errors}");
    let errors = isoform(&["xmit", "load", &document]).bad(2);
    assert!(errors.contains("is no document") && errors.contains("xsd:"), "{errors}");
}

/// What `format` refuses, `xmit load` does not list as good.
#[test]
fn xmit_load_refuses_what_no_format_has() {
    let files = Files::new();
    let text = b"syntax = \"proto3\"; message gauge { State s = 1; } message good { int32 n = 1; }\n\
        enum State { option allow_alias = true; RUN = 0; STOP = 1; LAST = 1; }";
    let source = format!("proto:{}", files.write("a.proto", text));
    let listed = isoform(&["xmit", "load", &source]);
    assert_eq!(listed.status, 1, "{}", listed.output);
    let refused = listed.output.lines().find(|line| line.starts_with("gauge")).unwrap();
    assert!(refused.contains("refused") && refused.contains("symbols STOP and LAST of one number"), "{refused}");
    assert!(listed.output.contains("good   1 field"), "{}", listed.output);
}

/// Many records that nest one large record are not all laid out, if the source names none of them.
#[test]
fn records_of_a_document_are_laid_out_within_one_limit() {
    let files = Files::new();
    let fields: String = (1..=1000).map(|at| format!("int32 f{at} = {at}; ")).collect();
    let records: String = (0..1060).map(|at| format!("message M{at} {{ Large l = 1; }} ")).collect();
    let text = format!("syntax = \"proto3\"; message Large {{ {fields} }} {records}");
    let source = format!("proto:{}", files.write("a.proto", text.as_bytes()));
    let limit = "expected at most 1048576 fields and symbols in all records together";
    let shown = isoform(&["format", &source]);
    assert_eq!((shown.status, &*shown.output), (2, ""), "{}", shown.errors);
    assert!(shown.errors.contains(limit) && shown.errors.contains("SOURCE#NAME chooses one"), "{}", shown.errors);
    assert!(isoform(&["format", &format!("{source}#M1059")]).good().contains("M1059"));
    let ranked = isoform(&["xmit", "match", &format!("{source}#M7"), &source]);
    assert_eq!(ranked.output.matches(limit).count(), 13, "{}", ranked.errors);
    let first = ranked.output.lines().next().unwrap();
    assert!(first.contains("#M7 "), "{first}");
}

/// Records that lead to one large record are not all laid out, even if each of them is refused.
#[test]
fn xmit_load_lays_out_no_more_than_its_limit() {
    let files = Files::new();
    let symbols: String = (0..3000).map(|at| format!("S{at} = {at}; ")).collect();
    let fields: String = (1..=100).map(|at| format!("E f{at} = {at}; ")).collect();
    let records: String = (0..10).map(|at| format!("message M{at} {{ Large l = 1; }} ")).collect();
    let text = format!(
        "syntax = \"proto3\"; enum E {{ option allow_alias = true; {symbols} LAST = 2999; }} message Large {{ {fields} }} {records}"
    );
    let source = format!("proto:{}", files.write("a.proto", text.as_bytes()));
    let listed = isoform(&["xmit", "load", &source]);
    assert_eq!(listed.output.matches("of one number").count(), 4, "{}", listed.output);
    assert!(
        listed.errors.contains("7 records could not be laid out within the limit of 1048576 fields"),
        "{}",
        listed.errors
    );
}

#[test]
fn records_of_one_name_have_scopes() {
    let files = Files::new();
    files.write("other.idl", b"module q { struct Status { double level; }; };");
    let idl = b"#include \"other.idl\"\nmodule p { struct Status { long code; };\nconst string S = \"a\"; };";
    let source = format!("idl:{}", files.write("mine.idl", idl));
    let listed = isoform(&["xmit", "load", &source]).good();
    let rows = "q::Status   1 field   level\np::Status   1 field   code\nconst p::S  left out  ";
    assert!(listed.starts_with(rows) && listed.ends_with("\n\n2 records listed, 1 left out\n"), "{listed}");
    let json = isoform(&["xmit", "load", "--json", &source]).good();
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((&last["left_out"], &last["refused"]), (&"const p::S".into(), &false.into()), "{json}");
    assert!(last["at"].as_str().unwrap().ends_with("mine.idl:3"), "{json}");
    for (name, field) in [("Status", "code"), ("p.Status", "code"), ("q::Status", "level")] {
        let format = isoform(&["format", &format!("{source}#{name}@s390x")]).good();
        assert!(format.contains(field) && format.contains("Status"), "{format}");
    }
    // A stream with both has no rules, which name records alone.
    assert!(isoform(&["format", &source]).good().contains("level"));

    let namespace = "http://schemas.example/a@b#";
    let other = r#"<schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="NS"><complexType name="T"><sequence>
        <element name="b" type="double"/></sequence></complexType></schema>"#;
    files.write("other.xsd", other.replace("NS", namespace).as_bytes());
    let twins = r#"<schema xmlns="http://www.w3.org/2001/XMLSchema"><import schemaLocation="other.xsd" namespace="NS"/><element name="T">
        <complexType><sequence><element name="a" type="int"/></sequence></complexType></element>
        <complexType name="T"><sequence><element name="c" type="int"/></sequence></complexType></schema>"#;
    let source = format!("xsd:{}", files.write("twins.xsd", twins.replace("NS", namespace).as_bytes()));
    let errors = isoform(&["format", &format!("{source}#T")]).bad(2);
    assert!(errors.contains("twins.xsd:2)") && errors.contains("twins.xsd:3)"), "{errors}");
    for (name, field) in [("type(T)", "c"), ("element(T)", "a"), (&format!("type({{{namespace}}}T)"), "b")] {
        for layout in ["", "@s390x"] {
            let format = isoform(&["format", &format!("{source}#{name}{layout}")]).good();
            assert!(format.lines().last().unwrap().contains(&format!("  {field}  ")), "{format}");
        }
    }
}

#[test]
fn xmit_match_ranks_definitions_and_says_why() {
    let files = Files::new();
    let document = files.write("river.xsd", RIVER.as_bytes());
    let idl = files.write("o.idl", b"struct Level { double level; }; struct Other { long text; };");
    let comes = files.write("g.shape", b"record Gauge\n  name  string\n  level  float  unit=\"m\"\n");
    let (xsd, idl) = (format!("xsd:{document}#Gauge"), format!("idl:{idl}"));
    let run = isoform(&["xmit", "match", &comes, &idl, &xsd]);
    assert_eq!(run.status, 0, "{}", run.errors);
    let lines: Vec<&str> = run.output.lines().collect();
    assert!(lines[0].starts_with(&format!("1  {xsd}")) && lines[0].contains("takes 2 fields"), "{}", run.output);
    assert!(lines[1].contains("#Level") || lines[1].starts_with('-'), "{}", run.output);
    assert!(lines.last().unwrap().contains("becomes") && lines.last().unwrap().contains(&xsd), "{}", run.output);
    let json = isoform(&["xmit", "match", "--json", &comes, &idl, &xsd]).good();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["definition"], &first["taken"]), (&xsd.clone().into(), &2.into()));
    assert_eq!(json.lines().count(), 3);
    // The cost is the sum of what `explain` says of each field.
    assert!(lines[0].contains("convert 8 B, copy 1 text"), "{}", run.output);
    assert_eq!(
        first["cost"],
        serde_json::json!({"convert": {"record": 8, "each": 0, "texts": 0},
        "copy": {"record": 0, "each": 0, "texts": 1}})
    );
    let explained = isoform(&["explain", "--json", &comes, &xsd]).good();
    let costs = explained.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut costs: Vec<String> = costs.filter_map(|line| Some(line["cost"].as_str()?.to_owned())).collect();
    costs.retain(|cost| cost != "none");
    costs.sort();
    assert_eq!(costs, ["convert 8 B", "copy"]);
    // A record that cannot be represented is named, and the others of its document are ranked.
    let partly = files.write("p.idl", b"struct Odd { any thing; }; struct Level { double level; };");
    let run = isoform(&["xmit", "match", &comes, &xsd, &format!("idl:{partly}")]);
    let odd = run.output.lines().find(|line| line.contains("#Odd")).expect("it is named");
    assert!(run.status == 0 && odd.contains("cannot be represented") && odd.contains("p.idl:1"), "{}", run.output);
    assert!(run.output.contains(&format!("idl:{partly}#Level")), "{}", run.output);
    let json = isoform(&["xmit", "match", "--json", &comes, &format!("idl:{partly}"), &xsd]).good();
    assert_eq!(json.lines().filter(|line| line.contains("\"fits\":false")).count(), 1, "{json}");
    let none = isoform(&["xmit", "match", &comes, &format!("{idl}#Other")]);
    assert_eq!(none.status, 1);
    assert!(none.output.contains("does not fit: no conversion"), "{}", none.output);
}

#[test]
fn xmit_dehydrates_and_hydrates() {
    let files = Files::new();
    let place = format!("xsd:{}#River", files.write("river.xsd", RIVER.as_bytes()));
    let xml = "<River><step>7</step><gauges><name>Old &amp; Mill</name><level>0.5</level></gauges><gauges><name/><level>INF</level></gauges></River>";
    let lines = format!("<all>\n{xml}\n<River><step>-8</step></River>\n</all>\n");
    let (text, stream) = (files.write("river.xml", lines.as_bytes()), files.0.path().join("river.iso"));
    let stream = stream.to_str().unwrap();
    // As a machine of another kind writes it.
    isoform(&["xmit", "dehydrate", &text, "--by", &format!("{place}@s390x"), "--within", "all", "-o", stream]).good();
    assert_eq!(isoform(&["dump", "--json", stream]).good().lines().count(), 2);
    let back = isoform(&["xmit", "hydrate", stream, "--by", &place, "--within", "all"]).good();
    assert_eq!(back, lines);
    let json = isoform(&["xmit", "hydrate", stream, "--by", &place, "--json"]).good();
    let expected = r#"{"step":7,"gauges":[{"name":"Old & Mill","level":0.5},{"name":"","level":"Infinity"}]}"#;
    assert_eq!(json, format!("{expected}\n{{\"step\":-8,\"gauges\":[]}}\n"));
    let (lines, again) = (files.write("river.json", json.as_bytes()), files.0.path().join("again.iso"));
    let again = again.to_str().unwrap();
    isoform(&["xmit", "dehydrate", &lines, "--by", &format!("{place}@s390x"), "--json", "-o", again]).good();
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(stream).unwrap());
    // With markup alone, the stream says the rest.
    let markup = files.write("river.markup", isoform(&["xmit", "markup", &place]).good().as_bytes());
    let by = ["xmit", "hydrate", stream, "--by", stream, "--markup", &markup];
    assert_eq!(isoform(&by).good(), format!("{xml}\n<River><step>-8</step></River>\n"));

    let wrong = files.write("wrong.xml", xml.replace("INF", "high").as_bytes());
    let errors = isoform(&["xmit", "dehydrate", &wrong, "--by", &place, "-o", again]).bad(1);
    assert!(
        errors.contains("wrong.xml") && errors.contains("gauges[1].level") && errors.contains("line 1"),
        "{errors}"
    );
    // What was there before is there still, and nothing unfinished.
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(stream).unwrap());
    let fresh = files.path("fresh.iso");
    isoform(&["xmit", "dehydrate", &wrong, "--by", &place, "-o", fresh.to_str().unwrap()]).bad(1);
    assert!(!fresh.exists());
    let unfinished = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".isoform-");
    assert!(!std::fs::read_dir(files.0.path()).unwrap().any(|entry| unfinished(&entry.unwrap())));
    let far =
        files.write("far.xml", b"<a>\n<River><step>7</step></River>\n<River><step>99999999999</step></River>\n</a>");
    for (what, line) in [("step", "line 3"), ("depth", "line 1")] {
        let text = xml.replace("<step>", "<depth>").replace("</step>", "</depth>");
        let text = if what == "step" { far.clone() } else { files.write("unknown.xml", text.as_bytes()) };
        let within: &[&str] = if what == "step" { &["--within", "a"] } else { &[] };
        let arguments = ["xmit", "dehydrate", &text, "--by", &place, "-o", fresh.to_str().unwrap()];
        let errors = isoform(&[&arguments, within].concat()).bad(1);
        assert!(errors.contains(what) && errors.contains(line), "{errors}");
    }
    let other = files.write("other.shape", b"record Other\n  x  int\n");
    isoform(&["xmit", "hydrate", stream, "--by", &other]).bad(1);
    assert!(isoform(&["xmit", "markup", &place.replace("#River", "")]).bad(2).contains("names no record"));
    assert!(isoform(&["xmit", "hydrate", &other, "--by", &place]).bad(2).contains("holds no records"));
}

/// Plain mistakes, each with what was expected, what came, and where.
#[test]
fn mistakes_with_documents_are_named() {
    let files = Files::new();
    let page = files.write("page.xsd", b"\n<!DOCTYPE html><html><body><p>Not here<br></body></html>");
    let errors = isoform(&["format", &format!("xsd:{page}#Gauge")]).bad(2);
    assert!(errors.contains("expected an XML Schema document, <schema>, found a page in HTML"), "{errors}");
    let header = files.write("none.h", b"");
    let errors = isoform(&["format", &format!("c:{header}#Gauge")]).bad(2);
    assert!(errors.contains("expected a record, found a document that declares none"), "{errors}");
    let errors = isoform(&["format", "http://127.0.0.1:1/river.xsd"]).bad(2);
    assert!(errors.contains("hint: a document is xsd:http://127.0.0.1:1/river.xsd#RECORD"), "{errors}");
    // A server that does not speak TLS.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.read_exact(&mut [0; 5]).unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
        // Until the other end has gone: what it still sends must not end the connection before it has read the answer.
        _ = std::io::copy(&mut connection, &mut std::io::sink());
    });
    let place = format!("https://{address}/river.xsd");
    let errors = isoform(&["format", &format!("xsd:{place}#Gauge")]).bad(2);
    assert!(
        errors.contains(&format!("{place}: expected a server that speaks TLS, or a URL with http:, found no TLS")),
        "{errors}"
    );
    server.join().unwrap();
}
