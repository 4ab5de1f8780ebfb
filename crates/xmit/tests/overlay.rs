//! What a receiver changes of a document (`spec/xmit.md`, "Overlay").

use isoform_core::plan::{Explanation, Faults, Rules};
use isoform_core::{Code, Layout, Shape};
use isoform_xmit::{Alone, Declarations, Language, Overlay};

const IDL: &str = "struct Place { double x; double y; };
    struct Gauge { string name; double lvl; Place at; sequence<float> samples; sequence<float> noise; int32 debug; };";
const XSD: &str = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <xsd:complexType name="Run">
    <xsd:element name="size" type="xsd:int"/>
    <xsd:element name="step" type="xsd:int"/>
    <xsd:element name="a" type="xsd:float" maxOccurs="size"/>
    <xsd:element name="b" type="xsd:float" maxOccurs="size"/>
  </xsd:complexType>
</xsd:schema>"#;

fn idl() -> Declarations {
    Declarations::read(Language::Idl, "gauge.idl", IDL, &mut Alone).unwrap()
}

fn xsd() -> Declarations {
    Declarations::from_xsd("run.xsd", XSD, &mut Alone).unwrap()
}

fn over(declarations: Declarations, text: &str) -> isoform_core::Result<Declarations> {
    Overlay::parse("mine.json", text)?.over(declarations)
}

#[track_caller]
fn is(declarations: &Declarations, name: &str, shape: &str) {
    assert_eq!(
        declarations.bind(name, &Layout::S390X).unwrap(),
        Shape::parse(shape).unwrap().on(&Layout::S390X).unwrap()
    );
}

#[track_caller]
fn refused(declarations: Declarations, text: &str, code: Code, words: &str) {
    let error = over(declarations, text).unwrap_err();
    assert!(error.code() == code && error.to_string().contains(words), "{error}");
}

#[test]
fn names_units_and_defaults_change_and_the_rest_stays() {
    let ours = over(
        idl(),
        r#"{"Place": {"name": "Position"},
            "Gauge": {"name": "Level", "fields": {
                "lvl": {"name": "level", "unit": "m", "default": 0.5}, "debug": null, "noise": null, "samples": {"unit": "V"}}}}"#,
    )
    .unwrap();
    assert_eq!(ours.names().collect::<Vec<_>>(), ["Position", "Level"]);
    let shape = "record Position\n  x  double\n  y  double\nrecord Level\n  name  string\n  level  double  unit=\"m\"\n  \
                 at  Position\n  samples  float[samples_len]  unit=\"V\"\n  samples_len  u64";
    is(&ours, "Level", shape);
    assert!(ours.get("Gauge").is_err_and(|error| error.code() == Code::NoSuchField));
    let rules = format!("{:?}", ours.rules("Level").unwrap());
    assert!(rules.contains("level") && rules.contains("0.5"), "{rules}");
}

#[test]
fn an_overlay_without_changes_changes_nothing() {
    for text in ["{}", r#"{"Gauge": {}}"#, r#"{"Gauge": {"fields": {"lvl": {}}}}"#, r#"{"Gauge": {"name": "Gauge"}}"#] {
        let (ours, theirs) = (over(idl(), text).unwrap(), idl());
        assert_eq!(ours.names().collect::<Vec<_>>(), theirs.names().collect::<Vec<_>>());
        assert_eq!(ours.bind("Gauge", &Layout::I386).unwrap(), theirs.bind("Gauge", &Layout::I386).unwrap());
    }
}

#[test]
fn arrays_follow_the_new_name_of_their_length() {
    let ours = over(xsd(), r#"{"Run": {"fields": {"size": {"name": "n"}, "step": null}}}"#).unwrap();
    is(&ours, "Run", "record Run\n  n  int\n  a  float[n]\n  b  float[n]");
    // Two fields change their names with each other.
    let ours = over(xsd(), r#"{"Run": {"fields": {"size": {"name": "step"}, "step": {"name": "size"}}}}"#).unwrap();
    is(&ours, "Run", "record Run\n  step  int\n  size  int\n  a  float[step]\n  b  float[step]");
}

#[test]
fn a_length_stays_as_long_as_an_array_needs_it() {
    let ours = over(xsd(), r#"{"Run": {"fields": {"a": null}}}"#).unwrap();
    is(&ours, "Run", "record Run\n  size  int\n  step  int\n  b  float[size]");
    // The document shows it: it is a field like others.
    let ours = over(xsd(), r#"{"Run": {"fields": {"a": null, "b": null}}}"#).unwrap();
    is(&ours, "Run", "record Run\n  size  int\n  step  int");
    refused(
        xsd(),
        r#"{"Run": {"fields": {"size": null}}}"#,
        Code::Declaration,
        "mine.json.Run.size: expected a field that is no length, found the length of a",
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    refused(idl(), "[]", Code::Text, "an object");
    refused(idl(), r#"{"Gauge": {"field": {}}}"#, Code::Text, "mine.json.Gauge: expected name or fields, found field");
    refused(idl(), r#"{"Gauge": {"fields": {"lvl": {"units": "m"}}}}"#, Code::Text, "mine.json.Gauge.lvl");
    refused(idl(), r#"{"Gauge": {"fields": {"lvl": {"unit": 3}}}}"#, Code::Text, "a number");
    refused(idl(), r#"{"Gauge": {"fields": {"lvl": {"name": ""}}}}"#, Code::Text, "a name");
    refused(idl(), r#"{"Gauge": {}, "Gauge": {}}"#, Code::Text, "Gauge");
    refused(idl(), r#"{"Gauges": {}}"#, Code::NoSuchField, "Place, Gauge");
    refused(idl(), r#"{"Gauge": {"fields": {"level": null}}}"#, Code::NoSuchField, "one of the fields name, lvl");
    refused(idl(), r#"{"Gauge": {"fields": {"lvl": {"name": "name"}}}}"#, Code::Declaration, "two fields name");
    refused(idl(), r#"{"Gauge": {"name": "Place"}}"#, Code::Declaration, "two records Place");
    refused(idl(), r#"{"Place": {"fields": {"x": null, "y": null}}}"#, Code::Declaration, "a record with a field");
    refused(idl(), &format!("{}{{}}", " ".repeat(1 << 20)), Code::MessageSize, "1048576");
    refused(idl(), &"{\"a\":".repeat(5_000), Code::Depth, "");
}

/// A default that is no value of its field is found at once, and not when somebody needs the rules.
#[test]
fn defaults_are_checked() {
    for value in [r#""none""#, "true", "0.5"] {
        let text = format!(r#"{{"Gauge": {{"fields": {{"debug": {{"name": "level", "default": {value}}}}}}}}}"#);
        refused(idl(), &text, Code::Text, "mine.json.Gauge.debug: expected an integer");
    }
    let large = r#"{"Gauge": {"fields": {"debug": {"default": 9999999999}}}}"#;
    refused(idl(), large, Code::Text, "mine.json.Gauge.debug: expected an integer from ");
    refused(idl(), r#"{"Gauge": {"fields": {"samples": {"default": 1}}}}"#, Code::Text, "mine.json.Gauge.samples");
}

/// Whatever the text is, nothing panics, and what is accepted can be bound or is refused.
#[test]
fn mutants_do_no_harm() {
    let text = r#"{"Place": {"name": "Position"}, "Gauge": {"name": "Level", "fields": {"lvl": {"name": "level", "unit": "m", "default": 0.5}, "debug": null}}}"#;
    let mut accepted = 0;
    for place in 0..text.len() {
        for byte in [b'"', b'{', b'}', b',', b':', b'x', b' ', b'\\', b'0'] {
            let mut mutant = text.as_bytes().to_vec();
            mutant[place] = byte;
            let Ok(mutant) = String::from_utf8(mutant) else { continue };
            if let Ok(ours) = over(idl(), &mutant) {
                accepted += 1;
                for name in ours.names() {
                    let _ = (ours.bind(name, &Layout::NATIVE), ours.rules(name));
                }
            }
        }
        let _ = over(idl(), &text[..place]);
    }
    assert!(accepted > 50, "{accepted}");
}

/// Senders use the document's names, and a renamed field takes their values.
#[test]
fn the_names_of_the_document_are_aliases() {
    let text = r#"{"Place": {"name": "Spot", "fields": {"x": {"name": "east"}}},
        "Gauge": {"name": "Level", "fields": {"lvl": {"name": "level"}, "samples": {"name": "values"}, "noise": null}}}"#;
    let ours = over(idl(), text).unwrap();
    let aliases: Vec<_> = ours.aliases("Level").unwrap();
    let expected = [("Spot", "east", "x"), ("Level", "level", "lvl"), ("Level", "values", "samples")];
    assert_eq!(aliases, expected.map(|(record, field, alias)| (record.into(), field.into(), alias.into())));
    let (theirs, native) = (idl().bind("Gauge", &Layout::S390X).unwrap(), ours.bind("Level", &Layout::NATIVE).unwrap());
    let rules = ours.rules("Level").unwrap();
    let explained = Explanation::new(&theirs, &native, &rules, Faults::Error);
    assert!(explained.verdict().is_readable(), "{}", explained.meaning());
    let table = explained.to_string();
    for row in ["level        f64      f64", "values       f32[]    f32[]"] {
        assert!(table.contains(row), "{table}");
    }
    // Without the rules, the fields are missing.
    assert!(!Explanation::new(&theirs, &native, &Rules::new(), Faults::Error).verdict().is_readable());
}

/// A name that another field has means that field, and no alias leads elsewhere.
#[test]
fn a_name_that_is_taken_is_no_alias() {
    let swapped = r#"{"Run": {"fields": {"size": {"name": "step"}, "step": {"name": "size"}}}}"#;
    assert!(over(xsd(), swapped).unwrap().aliases("Run").unwrap().is_empty());
    let same = r#"{"Run": {"fields": {"step": {"name": "step"}}}}"#;
    assert!(over(xsd(), same).unwrap().aliases("Run").unwrap().is_empty());
    let moved = r#"{"Gauge": {"fields": {"debug": null, "lvl": {"name": "debug"}}}}"#;
    assert_eq!(over(idl(), moved).unwrap().aliases("Gauge").unwrap().len(), 1);
}
