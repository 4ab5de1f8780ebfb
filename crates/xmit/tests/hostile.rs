//! Documents of strangers: bombs, circles, and mutants of good documents. None panics, and none takes more than its bytes deserve.

use isoform_core::{Class, Code, Layout, Shape};
use isoform_testing::mutate::{Random, mutate_text};
use isoform_xmit::{Alone, Declarations};

fn schema(body: &str) -> String {
    format!("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:iso='urn:isoform:xmit'>{body}</xs:schema>")
}

/// What must hold of any document.
fn check(text: &str) {
    let declarations = match Declarations::from_xsd("a.xsd", text, &mut Alone) {
        Ok(declarations) => declarations,
        Err(error) => return assert_ne!(error.class(), Class::Internal, "{error}"),
    };
    for name in declarations.names() {
        _ = declarations.rules(name).map_err(|error| assert_ne!(error.class(), Class::Internal, "{error}"));
        match declarations.shape(name) {
            Err(error) => assert_ne!(error.class(), Class::Internal, "{error}"),
            Ok(shape) => {
                for layout in [Layout::X86_64, Layout::POWERPC] {
                    if let Ok(format) = shape.on(&layout) {
                        assert_eq!(Shape::parse(&shape.to_string()).unwrap().on(&layout).unwrap(), format);
                    }
                }
            }
        }
    }
}

/// The code with which the record `R` is refused, or the document.
fn refused(body: &str) -> Code {
    let declarations = Declarations::from_xsd("a.xsd", &schema(body), &mut Alone);
    declarations.and_then(|declarations| declarations.bind("R", &Layout::X86_64).map(drop)).unwrap_err().code()
}

#[test]
fn bombs() {
    // Groups that refer eight times to the next, without a field.
    for (group, last) in [
        (
            "<xs:group name='gN'><xs:sequence>REFS</xs:sequence></xs:group>",
            "<xs:group name='g12'><xs:sequence/></xs:group>",
        ),
        ("<xs:attributeGroup name='gN'>REFS</xs:attributeGroup>", "<xs:attributeGroup name='g12'/>"),
    ] {
        let name = if group.contains("attribute") { "attributeGroup" } else { "group" };
        let reference = |to: usize| format!("<xs:{name} ref='g{to}'/>");
        let one = |i: usize| group.replace('N', &i.to_string()).replace("REFS", &reference(i + 1).repeat(8));
        let groups: String = (0..12).map(one).collect();
        let record = format!("{groups}{last}<xs:complexType name='R'>{}</xs:complexType>", reference(0));
        assert_eq!(refused(&record), Code::Fields);
    }
    // Records that double.
    let types: String = (0..30)
        .map(|i| {
            format!(
                "<xs:complexType name='T{i}'><xs:sequence><xs:element name='a' type='T{0}'/><xs:element name='b' type='T{0}'/>\
                 </xs:sequence></xs:complexType>",
                i + 1
            )
        })
        .collect();
    let last = "<xs:complexType name='T30'><xs:attribute name='x' type='xs:int' use='required'/></xs:complexType>";
    let body = format!(
        "{types}{last}<xs:complexType name='R'><xs:sequence><xs:element name='a' type='T0'/></xs:sequence></xs:complexType>"
    );
    assert!(matches!(refused(&body), Code::Fields | Code::Depth | Code::Size));
    // Numbers that no machine can hold.
    let huge = |most: &str| {
        refused(&format!(
            "<xs:complexType name='R'><xs:sequence><xs:element name='x' type='xs:int' maxOccurs='{most}'/></xs:sequence></xs:complexType>"
        ))
    };
    assert!(matches!(huge("18446744073709551615"), Code::Size | Code::Declaration));
    assert_eq!(huge("99999999999999999999999"), Code::Declaration);
    // Entities, and depth without meaning.
    let entities = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><a>&b;</a>";
    assert_eq!(Declarations::from_xsd("a.xsd", entities, &mut Alone).unwrap_err().code(), Code::Text);
    let deep = schema(&("<xs:annotation>".repeat(200_000) + &"</xs:annotation>".repeat(200_000)));
    check(&deep);
    let deep = schema(&("<xs:complexType>".repeat(5_000) + &"</xs:complexType>".repeat(5_000)));
    check(&deep);
}

#[test]
fn circles() {
    for body in [
        "<xs:complexType name='R'><xs:complexContent><xs:extension base='S'/></xs:complexContent></xs:complexType>\
         <xs:complexType name='S'><xs:complexContent><xs:extension base='R'/></xs:complexContent></xs:complexType>",
        "<xs:simpleType name='s'><xs:restriction base='t'/></xs:simpleType><xs:simpleType name='t'><xs:restriction base='s'/></xs:simpleType>\
         <xs:complexType name='R'><xs:attribute name='x' type='s'/></xs:complexType>",
        "<xs:group name='g'><xs:sequence><xs:group ref='g'/></xs:sequence></xs:group><xs:complexType name='R'><xs:group ref='g'/></xs:complexType>",
        "<xs:element name='e'><xs:complexType><xs:sequence><xs:element ref='e'/></xs:sequence></xs:complexType></xs:element>\
         <xs:complexType name='R'><xs:sequence><xs:element ref='e'/></xs:sequence></xs:complexType>",
    ] {
        assert!(matches!(refused(body), Code::Depth | Code::Declaration), "{body}");
    }
}

#[test]
fn ten_thousand_types_take_no_more_looks_than_they_have_elements() {
    let body: String = (0..10_000)
        .map(|i| format!("<xs:complexType name='T{i}'><xs:sequence><xs:element name='x' type='xs:int'/></xs:sequence></xs:complexType>"))
        .collect();
    let declarations = Declarations::from_xsd("a.xsd", &schema(&body), &mut Alone).unwrap();
    assert_eq!(declarations.names().count(), 10_000);
    assert_eq!(declarations.bind("T9999", &Layout::X86_64).unwrap().size(), 4);
}

#[test]
fn mutants() {
    let good = schema(
        "<xs:simpleType name='Phase'><xs:restriction base='xs:string'><xs:enumeration value='solid'/><xs:enumeration value='liquid'/>\
         </xs:restriction></xs:simpleType><xs:group name='g'><xs:choice><xs:element name='a' type='xs:int'/><xs:element name='b' \
         type='xs:string'/></xs:choice></xs:group><xs:attributeGroup name='h'><xs:attribute name='id' type='xs:long' default='7'/>\
         </xs:attributeGroup><xs:complexType name='Point'><xs:sequence><xs:element name='x' type='xs:double' iso:unit='m'/>\
         </xs:sequence></xs:complexType><xs:complexType name='R'><xs:complexContent><xs:extension base='Point'><xs:sequence>\
         <xs:element name='size' type='xs:integer'/><xs:element name='points' type='Point' maxOccurs='size'/><xs:element name='phase' \
         type='Phase' minOccurs='0'/><xs:element name='data' type='xs:float' maxOccurs='*' dimensionName='n' \
         dimensionPlacement='before'/><xs:group ref='g'/><xs:element name='at' type='xs:dateTime'/><xs:element name='for' \
         type='xs:duration' maxOccurs='3'/></xs:sequence><xs:attributeGroup ref='h'/></xs:extension></xs:complexContent></xs:complexType>",
    );
    Declarations::from_xsd("a.xsd", &good, &mut Alone).unwrap().bind("R", &Layout::X86_64).unwrap();
    let count = std::env::var("MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000);
    let words = [
        "xs:",
        "'",
        "maxOccurs='*'",
        "minOccurs='0'",
        "type='R'",
        "type='Point'",
        "</xs:sequence>",
        "<xs:sequence>",
        "base='R'",
        "&",
        "0",
        "-1",
    ];
    let mut random = Random::new(7);
    for _ in 0..count {
        let mut text = good.clone().into_bytes();
        for _ in 0..=random.below(4) {
            text = match random.below(3) {
                0 => mutate_text(&text, &mut random),
                1 => {
                    let at = random.below(text.len().max(1));
                    let word = words[random.below(words.len())];
                    [&text[..at.min(text.len())], word.as_bytes(), &text[at.min(text.len())..]].concat()
                }
                _ => {
                    let (from, to) = (random.below(text.len().max(1)), random.below(text.len().max(1)));
                    [&text[..from.min(to)], &text[from.max(to)..]].concat()
                }
            };
        }
        if let Ok(text) = std::str::from_utf8(&text) {
            check(text);
        }
    }
}
