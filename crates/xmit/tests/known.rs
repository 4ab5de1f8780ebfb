//! Documents that are known by the hash of their text are not read again, and changed ones are.

use isoform_core::{Code, Error, Layout, Result};
use isoform_xmit::{Alone, Known, Language, Loader};
use std::sync::Arc;

const TEXT: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:include schemaLocation="depth.xsd"/>
  <xs:complexType name="Gauge"><xs:sequence><xs:element name="depth" type="Depth"/></xs:sequence></xs:complexType></xs:schema>"#;

/// Has one document, and counts how often it is asked.
struct Memory {
    base: &'static str,
    asked: usize,
}

impl Loader for Memory {
    fn locate(&mut self, _: &str, location: &str) -> Result<String> {
        Ok(location.to_owned())
    }

    fn load(&mut self, name: &str) -> Result<String> {
        self.asked += 1;
        match self.base {
            "" => Err(Error::new(Code::Source).found(name)),
            base => Ok(format!(
                r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="Depth"><xs:restriction base="xs:{base}"/></xs:simpleType></xs:schema>"#
            )),
        }
    }
}

#[test]
fn a_text_is_read_once() {
    let mut known = Known::new();
    let text = "struct Gauge { double level; };";
    let first = known.declarations(Language::Idl, "river.idl", text, &mut Alone).unwrap();
    assert!(Arc::ptr_eq(&first, &known.declarations(Language::Idl, "river.idl", text, &mut Alone).unwrap()));
    // The same text, in another language, under another name, and changed.
    assert!(!Arc::ptr_eq(&first, &known.declarations(Language::C, "river.idl", text, &mut Alone).unwrap()));
    assert!(!Arc::ptr_eq(&first, &known.declarations(Language::Idl, "other.idl", text, &mut Alone).unwrap()));
    let changed = text.replace("level", "depth");
    let changed = known.bind(Language::Idl, "river.idl", &changed, "Gauge", &Layout::NATIVE, &mut Alone).unwrap();
    assert!(changed.structure().field("depth").is_some());
    for layout in Layout::ALL {
        for _ in 0..2 {
            let format = known.bind(Language::Idl, "river.idl", text, "Gauge", layout, &mut Alone).unwrap();
            assert_eq!(format, first.bind("Gauge", layout).unwrap());
        }
    }
    let error = known.bind(Language::Idl, "river.idl", text, "Level", &Layout::NATIVE, &mut Alone).unwrap_err();
    assert_eq!(error.code(), Code::NoSuchField);
}

#[test]
fn documents_that_a_document_includes_are_compared() {
    let mut known = Known::new();
    let mut loader = Memory { base: "double", asked: 0 };
    let mut bind = |loader: &mut Memory| {
        known.bind(Language::XmlSchema, "gauge.xsd", TEXT, "Gauge", &Layout::X86_64, loader).map(|format| format.size())
    };
    assert_eq!((bind(&mut loader), bind(&mut loader), loader.asked), (Ok(8), Ok(8), 2));
    loader.base = "float";
    assert_eq!((bind(&mut loader), bind(&mut loader)), (Ok(4), Ok(4)));
    // What cannot be had is an error, not the old document.
    loader.base = "";
    assert_eq!(bind(&mut loader).unwrap_err().code(), Code::Source);
}

#[test]
fn the_oldest_documents_make_room() {
    let mut known = Known::new();
    let mut read = |number: usize| {
        let text = format!("struct Gauge {{ double level{number}; }};");
        known.declarations(Language::Idl, "river.idl", &text, &mut Alone).unwrap()
    };
    let all: Vec<_> = (0..200).map(&mut read).collect();
    assert!(
        Arc::ptr_eq(&all[199], &read(199)) && Arc::ptr_eq(&all[150], &read(150)) && !Arc::ptr_eq(&all[0], &read(0))
    );
    let kept = all.iter().filter(|declarations| Arc::strong_count(declarations) > 1).count();
    assert!((32..=64).contains(&kept), "{kept}");
}
