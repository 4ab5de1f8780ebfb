//! Records as texts that a document describes, and back: what was read is what is written.

use isoform_core::{Code, Error, Format, Layout, Result, Verifier, View};
use isoform_xmit::{Alone, Declarations, Hydration, Language, Markup};
use proptest::prelude::*;

const SCHEMA: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:r="urn:river" xmlns:x="urn:isoform:xmit"
    targetNamespace="urn:river" elementFormDefault="qualified">
  <xs:simpleType name="Colour"><xs:restriction base="xs:string">
    <xs:enumeration value="dark.red"/><xs:enumeration value="green"/></xs:restriction></xs:simpleType>
  <xs:simpleType name="Numbers"><xs:list itemType="xs:float"/></xs:simpleType>
  <xs:simpleType name="Three"><xs:restriction><xs:simpleType><xs:list itemType="xs:int"/></xs:simpleType>
    <xs:length value="3"/></xs:restriction></xs:simpleType>
  <xs:complexType name="Reading"><xs:simpleContent><xs:extension base="xs:double">
    <xs:attribute name="unit" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType>
  <xs:attribute name="global" type="xs:int"/>
  <xs:complexType name="Gauge">
    <xs:sequence>
      <xs:element name="level.now" type="xs:double" x:unit="m"/>
      <xs:element name="count" type="xs:unsignedLong"/>
      <xs:element name="big"><xs:simpleType><xs:restriction base="xs:integer"><xs:maxInclusive value="100000000000000000000"/></xs:restriction></xs:simpleType></xs:element>
      <xs:element name="price" type="xs:decimal"/>
      <xs:element name="single" type="xs:float"/>
      <xs:element name="name" type="xs:string" form="unqualified"/>
      <xs:element name="note" type="xs:string" minOccurs="0"/>
      <xs:element name="nilled" type="xs:string" nillable="true"/>
      <xs:element name="maybe" type="xs:int" nillable="true" minOccurs="0"/>
      <xs:element name="colour" type="r:Colour"/>
      <xs:element name="samples" type="r:Numbers"/>
      <xs:element name="three" type="r:Three" maxOccurs="2"/>
      <xs:element name="raw" type="xs:hexBinary"/>
      <xs:element name="image" type="xs:base64Binary" minOccurs="0"/>
      <xs:element name="date" type="xs:date"/>
      <xs:element name="time" type="xs:time"/>
      <xs:element name="span" type="xs:duration"/>
      <xs:element name="reading" type="r:Reading" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element name="words" type="xs:string" maxOccurs="*" dimensionName="n"/>
      <xs:choice><xs:element name="left" type="xs:int"/><xs:element name="right"><xs:complexType>
        <xs:attribute name="by" type="xs:int" use="required"/></xs:complexType></xs:element></xs:choice>
      <xs:element name="flag" type="xs:boolean" default="true"/>
    </xs:sequence>
    <xs:attribute name="at" type="xs:dateTime" use="required"/>
    <xs:attribute name="tags" type="xs:NMTOKENS"/>
    <xs:attribute name="mode" type="xs:int" default="7"/>
    <xs:attribute ref="r:global"/>
  </xs:complexType>
  <xs:element name="gauge" type="r:Gauge"/>
</xs:schema>"#;

const XML: &str = r#"<n1:gauge xmlns:n1="urn:river" at="2026-11-23T12:00:00.5Z" tags="a b" mode="8" n1:global="-3"><n1:level.now>0.1</n1:level.now><n1:count>18446744073709551615</n1:count><n1:big>99999999999999999999</n1:big><n1:price>1.50</n1:price><n1:single>INF</n1:single><name> a &lt;b&gt; &amp; "ü"
&#13;</name><n1:nilled xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/><n1:maybe>3</n1:maybe><n1:colour>dark.red</n1:colour><n1:samples>1.0 0.1 1e-45</n1:samples><n1:three>1 2 3</n1:three><n1:three>4 5 6</n1:three><n1:raw>00FF</n1:raw><n1:image>Zm9v</n1:image><n1:date>2000-02-29</n1:date><n1:time>09:30:10.5</n1:time><n1:span>-P1Y2M3DT4H</n1:span><n1:reading unit="m">1.0</n1:reading><n1:reading>-0.0</n1:reading><n1:words/><n1:words>two words</n1:words><n1:right by="2"/><n1:flag>false</n1:flag></n1:gauge>"#;

/// A value of an enumeration is written with the spaces that have a meaning for its base.
#[test]
fn values_of_enumerations_keep_their_spaces() {
    let written = |base: &str, facets: &str, value: &str| {
        let schema = format!(
            "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='r'><xs:complexType><xs:sequence>\
             <xs:element name='x'><xs:simpleType><xs:restriction base='xs:{base}'>{facets}<xs:enumeration value='{value}'/>\
             <xs:enumeration value='other'/></xs:restriction></xs:simpleType></xs:element>\
             </xs:sequence></xs:complexType></xs:element></xs:schema>"
        );
        let declarations = read(&schema);
        let hydration = hydration(&declarations, "r", &Layout::NATIVE);
        let texts = [value, "two words", " two\n words "];
        let bodies = texts.map(|text| hydration.body_of_xml(&format!("<r><x>{text}</x></r>")).unwrap());
        let xml = bodies.map(|body| with(hydration.format(), &body, |view| hydration.xml(view).unwrap()));
        assert!(xml.iter().all(|other| *other == xml[0]), "{xml:?}");
        xml[0].clone()
    };
    let collapse = "<xs:whiteSpace value='collapse'/>";
    for (base, facets, value, expected) in [
        ("string", "", "two  words", "two  words"),
        ("string", "", " two words", " two words"),
        ("string", collapse, "two  words", "two words"),
        ("normalizedString", "", "two  words", "two  words"),
        ("normalizedString", "", "two&#9;&#9;words", "two  words"),
        ("normalizedString", collapse, "two  words", "two words"),
        ("token", "", "two  words", "two words"),
        ("anyURI", "", " two  words", "two words"),
    ] {
        assert_eq!(written(base, facets, value), format!("<r><x>{expected}</x></r>"), "{base} {facets} {value:?}");
    }
}

fn read(text: &str) -> Declarations {
    Declarations::from_xsd("river.xsd", text, &mut Alone).unwrap()
}

fn hydration(declarations: &Declarations, record: &str, layout: &Layout) -> Hydration {
    let format = declarations.bind(record, layout).unwrap();
    let hydration = Hydration::new(&format, &declarations.markup(record).unwrap()).unwrap();
    hydration.rules(declarations.rules(record).unwrap())
}

fn with<T>(format: &Format, body: &[u8], then: impl FnOnce(View<'_>) -> T) -> T {
    let verifier = Verifier::new(format);
    then(View::new(verifier.verify(body).unwrap()))
}

/// The text that is written for what another says.
fn again(hydration: &Hydration, xml: &str) -> Result<String> {
    let body = hydration.body_of_xml(xml)?;
    with(hydration.format(), &body, |view| hydration.xml(view))
}

#[test]
fn what_was_read_is_what_is_written_on_every_machine() {
    let declarations = read(SCHEMA);
    for layout in Layout::ALL {
        let hydration = hydration(&declarations, "Gauge", layout);
        let body = hydration.body_of_xml(XML).unwrap();
        with(hydration.format(), &body, |view| {
            assert_eq!(hydration.xml(view).unwrap(), XML);
            assert_eq!(hydration.tree(view).unwrap().to_string(), XML);
            let json = hydration.json(view).unwrap();
            assert_eq!(hydration.body_of_json(&json).unwrap(), body, "{json}");
        });
    }
}

#[test]
fn json_has_the_names_and_texts_of_the_document() {
    let hydration = hydration(&read(SCHEMA), "Gauge", &Layout::NATIVE);
    let body = hydration.body_of_xml(XML).unwrap();
    let json = with(hydration.format(), &body, |view| hydration.json(view).unwrap());
    assert_eq!(
        json,
        concat!(
            r#"{"level.now":0.1,"count":18446744073709551615,"big":"99999999999999999999","price":"1.50","single":"Infinity","#,
            r#""name":" a <b> & \"ü\"\n\u000d","nilled":null,"maybe":3,"colour":"dark.red","samples":[1.0,0.1,1e-45],"three":[[1,2,3],[4,5,6]],"#,
            r#""raw":"00FF","image":"Zm9v","date":"2000-02-29","time":"09:30:10.5","span":"-P1Y2M3DT4H","#,
            r#""reading":[{"value":1.0,"unit":"m"},{"value":-0.0}],"words":["","two words"],"right":{"by":2},"flag":false,"#,
            r#""at":"2026-11-23T12:00:00.5Z","tags":["a","b"],"mode":8,"global":-3}"#
        )
    );
    let schema = r##"{"title": "Level", "type": "object", "required": ["at", "key", "kind"], "properties": {
        "at": {"type": "string", "format": "date-time"}, "key": {"type": "string", "contentEncoding": "base64url"},
        "kind": {"enum": ["a.b", "c"]}, "the.note": {"type": "string"}, "deep": {"type": "object", "properties": {"x": {"type": "number"}}}}}"##;
    let declarations = Declarations::read(Language::JsonSchema, "level.json", schema, &mut Alone).unwrap();
    let hydration = self::hydration(&declarations, "Level", &Layout::S390X);
    for text in [
        r#"{"at":"1970-01-01T00:00:00Z","key":"_-8","kind":"a.b"}"#,
        r#"{"at":"1970-01-01T00:00:00Z","key":"","kind":"c","the.note":"n","deep":{}}"#,
        r#"{"at":"1970-01-01T00:00:00Z","key":"","kind":"c","deep":{"x":1e+300}}"#,
    ] {
        let body = hydration.body_of_json(text).unwrap();
        let json = with(hydration.format(), &body, |view| hydration.json(view).unwrap());
        assert_eq!(json, text.replace("1e+300", "1e300"));
    }
    for (text, says) in [
        (r#"{"at":"yesterday","key":"","kind":"c"}"#, "malformed text at at: expected a moment"),
        (r#"{"at":0,"key":"","kind":"c"}"#, "malformed text at at"),
        (r#"{"at":"1970-01-01T00:00:00Z","key":"","kind":"a_b"}"#, "at kind: expected a value of the enumeration"),
        (r#"{"at":"1970-01-01T00:00:00Z","kind":"c"}"#, "missing field at key"),
        (
            r#"{"at":"1970-01-01T00:00:00Z","key":"","kind":"c","deep":{"y":1}}"#,
            "at deep: expected one of x, found \"y\"",
        ),
        (r#"{"at":"1970-01-01T00:00:00Z","key":"","kind":"c","kind":"c"}"#, "a second"),
        ("[]", "an object of Level"),
    ] {
        let error = hydration.body_of_json(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn other_spellings_mean_the_same() {
    let declarations = read(SCHEMA);
    let hydration = hydration(&declarations, "Gauge", &Layout::NATIVE);
    // Another prefix, an order of its own, comments, zones, signs, and a default that is not there.
    let other = XML
        .replace("n1:", "q:")
        .replace("xmlns:n1", "xmlns:q")
        .replace("at=\"2026-11-23T12:00:00.5Z\"", "at='2026-11-23T13:00:00.50+01:00'")
        .replace("<q:maybe>3</q:maybe>", "<q:maybe><!-- three -->&#43;<![CDATA[0]]>3</q:maybe>")
        .replace("<q:flag>false</q:flag>", "\n\t<q:flag> 0 </q:flag>\n")
        .replace("1e-45", "0.0000000000000000000000000000000000000000000014\n");
    assert_eq!(again(&hydration, &other).unwrap(), XML);
    let without = XML.replace("<n1:flag>false</n1:flag>", "").replace(" mode=\"8\"", "");
    let expected = XML.replace("<n1:flag>false", "<n1:flag>true").replace("mode=\"8\"", "mode=\"7\"");
    assert_eq!(again(&hydration, &without).unwrap(), expected);
    // What may be absent stays so; no elements are an array without any.
    let least = XML
        .replace("<n1:maybe>3</n1:maybe>", "")
        .replace("<n1:image>Zm9v</n1:image>", "")
        .replace(" tags=\"a b\"", "")
        .replace("<n1:words/><n1:words>two words</n1:words>", "")
        .replace("<n1:right by=\"2\"/>", "")
        .replace("<n1:samples>1.0 0.1 1e-45</n1:samples>", "<n1:samples/>");
    assert_eq!(again(&hydration, &least).unwrap(), least);
}

#[test]
fn a_text_that_is_no_such_record_says_where() {
    let hydration = hydration(&read(SCHEMA), "Gauge", &Layout::NATIVE);
    for (from, to, code, says) in [
        (">3<", ">3.5<", Code::Text, "maybe"),
        (">3<", ">2147483648<", Code::Overflow, "maybe"),
        (">3<", "><x/><", Code::Text, "maybe: expected text, found <\"x\">"),
        (">INF<", ">1e39<", Code::Overflow, "single"),
        (">INF<", ">1e-60<", Code::Underflow, "single"),
        (">INF<", ">Infinity<", Code::Text, "single"),
        (">dark.red<", ">dark_red<", Code::NoSuchField, "colour"),
        (">4 5 6<", ">4 5<", Code::Shape, "three[1]"),
        ("<n1:three>4 5 6</n1:three>", "", Code::Shape, "three"),
        (">00FF<", ">00F<", Code::Text, "raw"),
        (">2000-02-29<", ">2001-02-29<", Code::Text, "date"),
        (
            "<n1:count>",
            "<n1:count wide='1'>",
            Code::NoSuchField,
            "count: expected no attributes, found the attribute wide",
        ),
        ("<n1:count>", "<n1:more/><n1:count>", Code::NoSuchField, "found more of \"urn:river\""),
        ("<n1:count>", "<count/><n1:count>", Code::NoSuchField, "found count"),
        ("<n1:count>", "<n1:n>2</n1:n><n1:count>", Code::NoSuchField, "found n of"),
        ("<n1:count>", "text<n1:count>", Code::Text, "expected elements, found text"),
        ("<n1:count>", "<n1:count>1</n1:count><n1:count>", Code::Text, "found a second"),
        ("<n1:price>1.50</n1:price>", "", Code::Required, "price"),
        (" by=\"2\"", "", Code::Required, "right.by"),
        (" unit=\"m\"", " u=\"m\"", Code::NoSuchField, "reading[0]"),
        (">-0.0<", "><", Code::Text, "reading[1].value"),
        ("at=\"2026-11-23T12:00:00.5Z\" ", "", Code::Required, "at"),
        ("n1:gauge ", "n1:gage ", Code::Text, "expected <gauge of \"urn:river\">"),
        ("urn:river", "urn:lake", Code::Text, "expected <gauge of \"urn:river\">"),
        (
            "<n1:count>",
            "<n1:count xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:nil='1'>",
            Code::Null,
            "count",
        ),
        (
            "<n1:count>",
            "<n1:count xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='x'>",
            Code::Text,
            "count",
        ),
    ] {
        let text = XML.replacen(from, to, 1).replace("</n1:gage ", "</n1:gauge");
        let error = match text.contains("n1:gage ") {
            true => hydration.body_of_xml(&text.replace("</n1:gauge>", "</n1:gage>")).unwrap_err(),
            false => hydration.body_of_xml(&text).unwrap_err(),
        };
        assert!(error.code() == code && error.to_string().contains(says), "{to}: {error}, {:?}", error.code());
    }
    let two = format!("{XML}{XML}");
    assert!(hydration.body_of_xml(&two).unwrap_err().to_string().contains("a second"));
    assert!(hydration.body_of_xml(" ").unwrap_err().to_string().contains("found nothing"));
}

#[test]
fn what_xml_cannot_have_is_refused_with_its_path() {
    let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="R">
        <xs:sequence><xs:element name="s" type="xs:string"/><xs:element name="l" minOccurs="0" type="xs:NMTOKENS"/><xs:element name="t" type="xs:time"/>
        <xs:element name="d" type="xs:duration"/></xs:sequence><xs:attribute name="a" type="xs:string" use="required"/></xs:complexType></xs:schema>"#;
    let hydration = hydration(&read(schema), "R", &Layout::NATIVE);
    let good = r#"{"s":"x","l":["a"],"t":"00:00:00","d":"P1M","a":"y"}"#;
    let format = hydration.format();
    for (from, to, code, path) in [
        (r#""s":"x""#, r#""s":"\u0001""#, Code::Text, "s"),
        (r#""s":"x""#, r#""s":{"base64":"/w=="}"#, Code::Utf8, "s"),
        (r#"["a"]"#, r#"["a","b c"]"#, Code::Text, "l[1]"),
        (r#"["a"]"#, r#"["a",""]"#, Code::Text, "l[1]"),
        (r#"["a"]"#, r#"["a",null]"#, Code::Null, "l"),
        (r#""a":"y""#, r#""a":null"#, Code::Null, "a"),
        (r#""t":0"#, r#""t":86400000000000"#, Code::Text, "t"),
        (r#""time":0"#, r#""time":-1"#, Code::Text, "d"),
    ] {
        // As any program may have filled the record.
        let plain = r#"{"s":"x","l":["a"],"t":0,"d":{"months":1,"time":0},"a":"y"}"#.replacen(from, to, 1);
        let body =
            isoform_core::value::body(format, &isoform_core::text::json::parse(format, &plain).unwrap()).unwrap();
        let error = with(format, &body, |view| hydration.xml(view).unwrap_err());
        assert_eq!((error.code(), error.path()), (code, path), "{to}: {error}");
    }
    let body = hydration.body_of_json(good).unwrap();
    let other = self::hydration(&read(SCHEMA), "Gauge", &Layout::NATIVE);
    assert_eq!(with(format, &body, |view| other.xml(view).unwrap_err().code()), Code::WrongType);
}

#[test]
fn documents_with_equal_layouts_share_a_token_and_not_their_markup() {
    let schema = |content: &str| {
        read(&format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="R">{content}</xs:complexType></xs:schema>"#
        ))
    };
    let elements = schema(
        r#"<xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/></xs:sequence>"#,
    );
    let attributes = schema(
        r#"<xs:attribute name="a" type="xs:int" use="required"/><xs:attribute name="b" type="xs:int" use="required"/>"#,
    );
    let (one, two) = (hydration(&elements, "R", &Layout::NATIVE), hydration(&attributes, "R", &Layout::NATIVE));
    assert_eq!(one.format().token(), two.format().token());
    let (first, second) = ("<R><a>1</a><b>2</b></R>", r#"<R a="1" b="2"/>"#);
    let body = one.body_of_xml(first).unwrap();
    assert_eq!(two.body_of_xml(second).unwrap(), body);
    with(one.format(), &body, |view| {
        assert_eq!((one.xml(view).unwrap(), two.xml(view).unwrap()), (first.into(), second.into()));
    });
    // The markup is a document, and the same for each machine.
    let markup = attributes.markup("R").unwrap();
    let text = markup.to_string();
    assert_eq!(text, r#"{"record":"R","records":{"R":{"fields":{"a":{"as":"attribute"},"b":{"as":"attribute"}}}}}"#);
    let kept = Markup::parse("r.markup", &text).unwrap();
    assert_eq!(kept, markup);
    let format = attributes.bind("R", &Layout::POWERPC).unwrap();
    let foreign = Hydration::new(&format, &kept).unwrap();
    assert_eq!(again(&foreign, second).unwrap(), second);
}

#[test]
fn the_markup_of_everything_survives_as_a_document() {
    let markup = read(SCHEMA).markup("Gauge").unwrap();
    assert_eq!(Markup::parse("m", &markup.to_string()).unwrap(), markup);
    for (text, says) in [
        ("{}", "the name of a record"),
        (r#"{"record":""}"#, "a text"),
        (r#"{"record":"R","more":1}"#, "record, records or strict"),
        (r#"{"record":"R","records":{"R":{"field":{}}}}"#, "tag, namespace or fields"),
        (r#"{"record":"R","records":{"R":{"fields":{"a":{"as":"element of"}}}}}"#, "m.R.a"),
        (r#"{"record":"R","records":{"R":{"fields":{"a":{"text":"roman"}}}}}"#, "a way to write values"),
        (r#"{"record":"R","records":{"R":{"fields":{"a":{"list":1}}}}}"#, "a boolean"),
        (r#"{"record":"R","records":{"R":{"fields":{"a":{"symbols":["b","b"]}}}}}"#, "different values"),
    ] {
        let error = Markup::parse("m", text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn markup_that_does_not_fit_its_format_is_refused() {
    let format = isoform_core::Shape::parse(
        "record In\n  x  int\nrecord R\n  a  int\n  n  int\n  b  float[n]\n  c  In\n  e  string",
    )
    .unwrap()
    .on(&Layout::NATIVE)
    .unwrap();
    for (fields, code, path) in [
        (r#"{"z":{"as":"attribute"}}"#, Code::NoSuchField, "R.z"),
        (r#"{"a":{"list":true}}"#, Code::Declaration, "R.a"),
        (r#"{"a":{"text":"hex"}}"#, Code::Declaration, "R.a"),
        (r#"{"a":{"text":"duration"}}"#, Code::Declaration, "R.a"),
        (r#"{"e":{"text":"date"}}"#, Code::Declaration, "R.e"),
        (r#"{"b":{"as":"attribute"}}"#, Code::Declaration, "R.b"),
        (r#"{"c":{"as":"attribute"}}"#, Code::Declaration, "R.c"),
        (r#"{"e":{"as":"length"}}"#, Code::Declaration, "R.e"),
        (r#"{"a":{"name":"1"}}"#, Code::Declaration, "R.a"),
        (r#"{"a":{"name":"e"}}"#, Code::Declaration, "R.e"),
        (r#"{"a":{"as":"text"}}"#, Code::Declaration, "R"),
        (r#"{"a":{"symbols":["x"]}}"#, Code::Declaration, "R.a"),
    ] {
        let markup =
            Markup::parse("m", &format!(r#"{{"record":"R","records":{{"R":{{"fields":{fields}}}}}}}"#)).unwrap();
        let error = Hydration::new(&format, &markup).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, path), "{fields}: {error}");
    }
    let other = Markup::parse("m", r#"{"record":"R","records":{"S":{"tag":"s"}}}"#).unwrap();
    assert_eq!(Hydration::new(&format, &other).unwrap_err().code(), Code::NoSuchField);
    assert_eq!(Hydration::new(&format, &Markup::plain("S")).unwrap_err().code(), Code::NoSuchField);
    let twice = isoform_core::Shape::parse("record R\n  n  int\n  m  int\n  a  float[n][m]")
        .unwrap()
        .on(&Layout::NATIVE)
        .unwrap();
    assert_eq!(Hydration::new(&twice, &Markup::plain("R")).unwrap_err().code(), Code::Declaration);
}

#[test]
fn documents_of_other_languages_have_texts_too() {
    let idl = r#"enum Colour { RED, GREEN }; struct Place { double x; double y; };
        struct Track { char c; string name; Colour colour; Place ends[2]; float grid[2][3]; sequence<Place> path; @optional double maybe; };"#;
    let declarations = Declarations::read(Language::Idl, "track.idl", idl, &mut Alone).unwrap();
    let xml = "<Track><c>x</c><name>K2</name><colour>GREEN</colour><ends><x>1.0</x><y>2.0</y></ends><ends><x>3.0</x><y>4.0</y></ends>\
        <grid>1.0</grid><grid>2.0</grid><grid>3.0</grid><grid>4.0</grid><grid>5.0</grid><grid>6.0</grid><path><x>0.0</x><y>NaN</y></path></Track>";
    let hydration = hydration(&declarations, "Track", &Layout::NATIVE);
    assert_eq!(again(&hydration, xml).unwrap(), xml);
    let error = again(&hydration, &xml.replacen("<grid>1.0</grid>", "", 1)).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Shape, "grid"));
    let error = again(&hydration, &xml.replacen("<x>3.0</x>", "", 1)).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Required, "ends[].x"));
}

#[test]
fn a_record_is_given_as_soon_as_its_text_is_there() {
    use std::io::{Read, Result as Io};
    /// Input that fails a test which asks for more than the records so far need.
    struct Slow<'t>(Vec<&'t [u8]>, &'t std::cell::Cell<usize>);
    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> Io<usize> {
            let Some(next) = (!self.0.is_empty()).then(|| self.0.remove(0)) else { return Ok(0) };
            self.1.set(self.1.get() + 1);
            into[..next.len()].copy_from_slice(next);
            Ok(next.len())
        }
    }
    let format = isoform_core::Shape::new("G").field("s", "int").on(&Layout::NATIVE).unwrap();
    let hydration = Hydration::new(&format, &Markup::plain("G")).unwrap();
    let asked = std::cell::Cell::new(0);
    let pieces: Vec<&[u8]> = vec![b"<all>\n<G><s>1</", b"s></G>", b"<G><s>2</s></G> ", b"</all>"];
    let mut records = hydration.records(Slow(pieces, &asked)).within("all");
    for (count, expected) in [(2, 1), (3, 2)] {
        let record = records.next().unwrap().unwrap();
        assert_eq!(format!("{record:?}"), format!("Record([(\"s\", Integer({expected}))])"));
        assert_eq!(asked.get(), count);
    }
    assert!(records.next().is_none());
    let mut broken = hydration.records(&b"<all><G><s>1</s></G><G><s>x</s></G><G><s>3</s></G></all>"[..]).within("all");
    assert!(broken.next().unwrap().is_ok());
    let error = broken.next().unwrap().unwrap_err();
    assert!(error.path() == "s" && error.position().is_some(), "{error}");
    assert!(broken.next().is_none());
    let mut long = hydration.records(&b"<G><s>1</s></G><G><s>000000000000000000000001</s></G>"[..]).at_most(30);
    assert!(long.next().unwrap().is_ok());
    assert_eq!(long.next().unwrap().unwrap_err().code(), Code::MessageSize);
}

#[test]
fn a_few_bytes_do_not_become_many() {
    let fields: String =
        (0..4_000).map(|i| format!(r#"<xs:element name="f{i}" type="xs:string" minOccurs="0"/>"#)).collect();
    let schema = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="I"><xs:sequence>{fields}</xs:sequence></xs:complexType>
        <xs:complexType name="R"><xs:sequence><xs:element name="i" type="I" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:schema>"#
    );
    let hydration = hydration(&read(&schema), "R", &Layout::NATIVE);
    let bomb = format!("<R>{}</R>", "<i/>".repeat(20_000));
    assert_eq!(hydration.of_xml(&bomb).unwrap_err().code(), Code::MessageSize);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Whatever a stranger writes is a record, or an error; what is a record is written, and read again as the same.
    #[test]
    fn mutants_are_records_or_errors(edits in proptest::collection::vec((0..XML.len(), 0..20usize, 0..XML.len()), 1..5)) {
        const PARTS: [&str; 19] = ["<", ">", "/", "&", "\"", "=", " ", "0", "-", ".", "e", "n1:", "<n1:words>", "</n1:words>", "xmlns=''",
            "<!--", "NaN", "<n1:reading>", "9999999999"];
        let mut text = XML.to_owned();
        for (at, part, other) in edits {
            let at = text.floor_char_boundary(at);
            match part {
                19 => {
                    let other = text.floor_char_boundary(other);
                    text.replace_range(at.min(other)..at.max(other), "");
                }
                part => text.insert_str(at, PARTS[part]),
            }
        }
        thread_local!(static GAUGE: Hydration = hydration(&read(SCHEMA), "Gauge", &Layout::NATIVE));
        GAUGE.with(|hydration| {
            let fine = |error: Error| error.code() != Code::Internal && error.to_string().len() < 4_000;
            match hydration.body_of_xml(&text) {
                Ok(body) => with(hydration.format(), &body, |view| {
                    let xml = hydration.xml(view).unwrap();
                    assert_eq!(hydration.body_of_xml(&xml).unwrap(), body, "{text}\n{xml}");
                    let json = hydration.json(view).unwrap();
                    assert_eq!(hydration.body_of_json(&json).unwrap(), body, "{text}\n{json}");
                }),
                Err(error) => assert!(fine(error.clone()), "{error}"),
            }
        });
    }
}
