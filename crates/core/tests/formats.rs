//! Properties of formats, descriptions and tokens, over random formats.

use isoform_core::declare::Type;
use isoform_core::{Dimension, Element, Enumeration, Field, FieldList, Format, Machine, Shape, Structure, View};
use isoform_testing::{any_format, any_layout, any_shape};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::Arc;

proptest! {
    #[test]
    fn a_description_says_all_of_a_format(format in any_format()) {
        let read = Format::parse(format.description().as_bytes()).unwrap();
        prop_assert_eq!(read.structure(), format.structure());
        prop_assert_eq!(read.token(), format.token());
    }

    #[test]
    fn a_field_list_says_all_of_a_structure(format in any_format()) {
        fn again(structure: &Structure) -> Arc<Structure> {
            let inner = structure.fields().iter().filter_map(|field| match &field.element {
                Element::Structure(inner) => Some(again(inner)),
                _ => None,
            });
            let list = inner.fold(FieldList::of(structure), FieldList::nested);
            list.structure(structure.machine(), structure.size(), structure.align()).unwrap()
        }
        prop_assert_eq!(&again(format.structure()), format.structure());
    }

    #[test]
    fn the_text_of_a_shape_says_all_of_it(shape in any_shape()) {
        prop_assert_eq!(Shape::parse(&shape.to_string()).unwrap(), shape);
    }

    #[test]
    fn the_text_of_a_format_has_the_same_fields(format in any_format(), layout in any_layout()) {
        let text = Shape::of(&format).to_string();
        let again = Shape::parse(&text).unwrap().on(&layout).unwrap();
        prop_assert_eq!(Shape::of(&again).to_string(), text);
    }

    #[test]
    fn a_format_goes_to_another_machine_and_back(shape in any_shape(), here in any_layout(), there in any_layout()) {
        let format = shape.on(&here).unwrap();
        let long_double = |layout: isoform_core::Layout| (layout.long_double.kind, layout.long_double.size);
        let far = format.on(&there).unwrap();
        prop_assert_eq!(far.machine(), there.machine());
        prop_assert_eq!(&far.on(&there).unwrap(), &far);
        if long_double(here) == long_double(there) {
            prop_assert_eq!(far.on(&here).unwrap(), format.on(&here).unwrap());
        }
    }

    /// Paper 000, section 3.2.1: 16 + strlen(name) + the sum over fields of 12 + strlen(name) + strlen(type).
    #[test]
    fn descriptions_are_no_larger_than_the_papers(format in any_format()) {
        fn bound(structure: &Structure, seen: &mut Vec<Box<str>>) -> usize {
            if seen.iter().any(|name| **name == *structure.name()) {
                return 0;
            }
            seen.push(structure.name().into());
            let mut sum = 16 + structure.name().len();
            for field in structure.fields() {
                let words = Type::of(field, structure).without_size().to_string();
                // Units are not in the papers.
                sum += 12 + field.name.len() + words.len() + field.unit.as_ref().map_or(0, |unit| 1 + unit.len());
                if let Element::Structure(inner) = &field.element {
                    sum += bound(inner, seen);
                }
            }
            sum
        }
        prop_assert!(format.description().as_bytes().len() <= bound(format.structure(), &mut Vec::new()));
    }

    #[test]
    fn whatever_counts_changes_the_token(format in any_format(), pick in any::<Index>(), change in any::<Index>()) {
        let changed = change.get(CHANGES)(format.structure(), pick);
        let other = changed.and_then(|structure| Format::new(Arc::new(structure)).ok());
        prop_assume!(other.is_some(), "this change cannot be made there");
        let other = other.unwrap();
        prop_assert_ne!(other.token(), format.token());
        prop_assert_ne!(other.structure(), format.structure());
    }

    #[test]
    fn damaged_descriptions_do_no_harm(format in any_format(), other in any_format(), damage in any::<Damage>()) {
        let bytes = damage.apply(format.description().as_bytes(), other.description().as_bytes());
        if let Ok(read) = Format::parse(&bytes) {
            prop_assert_eq!(read.description().as_bytes(), &bytes[..]);
        }
    }

    #[test]
    fn random_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Format::parse(&bytes);
        if bytes.len() > 2 {
            bytes[0] = 1;
            bytes[1] &= 3;
        }
        if let Ok(read) = Format::parse(&bytes) {
            prop_assert_eq!(read.description().as_bytes(), &bytes[..]);
        }
    }

    #[test]
    fn random_texts_do_no_harm(text in "[ a-z\\[\\]{}()*=,.\"\\\\#0-9é\n]{0,60}", words in "\\PC{0,30}") {
        if let Ok(words) = words.parse::<Type>() {
            prop_assert_eq!(words.to_string().parse::<Type>().unwrap(), words);
        }
        let _ = text.parse::<Type>();
        if let Ok(shape) = Shape::parse(&format!("record r\n {text}")) {
            prop_assert_eq!(Shape::parse(&shape.to_string()).unwrap(), shape);
        }
    }

    #[test]
    fn damaged_texts_do_no_harm(shape in any_shape(), other in any_shape(), damage in any::<Damage>()) {
        let bytes = damage.apply(shape.to_string().as_bytes(), other.to_string().as_bytes());
        if let Ok(shape) = Shape::parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(&Shape::parse(&shape.to_string()).unwrap(), &shape);
            let _ = shape.on(&isoform_core::Layout::NATIVE);
        }
    }
}

/// Each makes one change to a structure, at the field picked; none if it cannot be made there.
const CHANGES: &[fn(&Structure, Index) -> Option<Structure>] = &[
    |s, _| Structure::new(format!("{}_", s.name()), s.machine(), s.size(), s.align(), s.fields().to_vec()).ok(),
    |s, _| Structure::new(s.name(), s.machine(), s.size() + s.align(), s.align(), s.fields().to_vec()).ok(),
    |s, _| {
        Structure::new(s.name(), s.machine(), s.size().next_multiple_of(64), 64, s.fields().to_vec())
            .ok()
            .filter(|_| s.align() != 64)
    },
    |s, _| {
        let order = match s.machine().order {
            isoform_core::ByteOrder::Little => isoform_core::ByteOrder::Big,
            isoform_core::ByteOrder::Big => isoform_core::ByteOrder::Little,
        };
        let machine = isoform_core::Machine { order, ..s.machine() };
        Structure::new(s.name(), machine, s.size(), s.align(), s.fields().to_vec()).ok()
    },
    |s, _| {
        let machine = isoform_core::Machine { pointer: 12 - s.machine().pointer, ..s.machine() };
        Structure::new(s.name(), machine, s.size(), s.align(), s.fields().to_vec()).ok()
    },
    |s, pick| change(s, pick, |field| field.name = format!("{}_", field.name).into()),
    |s, pick| change(s, pick, |field| field.offset += 1),
    |s, pick| change(s, pick, |field| field.offset = field.offset.wrapping_sub(1)),
    |s, pick| change(s, pick, |field| field.indirect = !field.indirect),
    |s, pick| change(s, pick, |field| field.unit = Some("furlong".into())),
    |s, pick| change(s, pick, |field| field.unit = None).filter(|changed| changed != s),
    |s, pick| {
        change(s, pick, |field| match &mut field.element {
            Element::Integer { signed, .. } => *signed = !*signed,
            Element::Float { kind, size } => field.element = Element::Complex { kind: *kind, size: *size },
            Element::Enumeration(e) => {
                let symbols = e.symbols().iter().map(|symbol| (format!("{}_", symbol.name), symbol.value));
                *e = Arc::new(Enumeration::new(e.signed(), e.size(), symbols).expect("longer names"));
            }
            _ => field.element = Element::Integer { signed: true, size: 1 },
        })
    },
    |s, pick| {
        change(s, pick, |field| match &mut field.element {
            Element::Integer { size, .. } | Element::Boolean { size } => *size = if *size == 1 { 2 } else { *size / 2 },
            Element::Enumeration(e) => {
                let symbols = e.symbols().iter().skip(1).map(|symbol| (symbol.name.clone(), symbol.value));
                let new = (0..).find(|value| e.symbol(*value).is_none()).expect("a number without symbol");
                let symbols: Vec<_> = symbols.chain([("new".into(), new)]).collect();
                *e = Arc::new(Enumeration::new(e.signed(), e.size(), symbols).expect("another symbol"));
            }
            _ => field.dims = [&*field.dims, &[Dimension::Fixed(1)]].concat().into(),
        })
    },
];

#[test]
fn names_of_strangers_turn_no_text_around() {
    let field = |name: &str| FieldList::new("P\u{202e}").field(name, "integer", 4, 0);
    let format = field("a\u{200b}").format(Machine::NATIVE, 4, 4).unwrap();
    let body = 7i32.to_ne_bytes();
    let shown = format!("{format:?} {:?}", View::new(format.verify(&body).unwrap()));
    assert!(
        shown.starts_with(r"Format(P\u{202e} ") && shown.ends_with(r"P\u{202e} { a\u{200b}: Integer(7) }"),
        "{shown}"
    );
}

fn change(structure: &Structure, pick: Index, with: impl Fn(&mut Field)) -> Option<Structure> {
    let mut fields = structure.fields().to_vec();
    let index = pick.index(fields.len());
    with(&mut fields[index]);
    Structure::new(structure.name(), structure.machine(), structure.size(), structure.align(), fields).ok()
}

/// What can happen to bytes on their way.
#[derive(Clone, Debug)]
enum Damage {
    Flip(Vec<(Index, u8)>),
    Cut(Index),
    Splice(Index, Index),
    Repeat(Index, Index),
}

impl Arbitrary for Damage {
    type Parameters = ();
    type Strategy = BoxedStrategy<Damage>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        let index = any::<Index>;
        prop_oneof![
            3 => prop::collection::vec((index(), any::<u8>()), 1..4).prop_map(Damage::Flip),
            1 => index().prop_map(Damage::Cut),
            1 => (index(), index()).prop_map(|(at, from)| Damage::Splice(at, from)),
            1 => (index(), index()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        ]
        .boxed()
    }
}

impl Damage {
    fn apply(&self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Damage::Flip(bits) => bits.iter().for_each(|(at, bits)| *at.get_mut(&mut bytes) ^= bits),
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Splice(at, from) => {
                bytes.truncate(at.index(bytes.len()));
                bytes.extend_from_slice(&other[from.index(other.len())..]);
            }
            Damage::Repeat(from, to) => {
                let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.splice(from..from, part);
            }
        }
        bytes
    }
}
