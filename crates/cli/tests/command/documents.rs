//! Documents as sources: paths and URLs, types, layouts, errors with lines.

use super::{Files, isoform};
use std::io::{BufRead, BufReader, Write};
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
        super::Run::of(command.output().unwrap()).good()
    };
    let first = run();
    server.join().unwrap();
    assert!(first.contains("gauges_len"), "{first}");
    // The server is gone.
    assert_eq!(run(), first);
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
    assert!(isoform(&["format", &format!("xsd:{text}#T")]).bad(2).contains("a.xsd:1: expected XML without a DTD"));
    let import = RIVER
        .replace("<xs:complexType name=\"Gauge\">", "<xs:import schemaLocation=\"http://127.0.0.1:1/b.xsd\"/>$0")
        .replace("$0", "<xs:complexType name=\"Gauge\">");
    let import = files.write("import.xsd", import.as_bytes());
    let errors = isoform(&["format", &format!("xsd:{import}#River")]).bad(2);
    assert!(errors.contains("expected a host that is allowed; 127.0.0.1:1 is not"), "{errors}");
    assert!(errors.contains("ISOFORM_HOSTS"), "{errors}");
}
