//! Events as messages of ROS 2, for the viewers that people have (`spec/files.md`, "Viewers").
//!
//! A [`Viewer`] belongs to one format: it has the text of its message type, and encodes bodies as CDR.

use isoform_core::view::Item;
use isoform_core::{ByteOrder, Element, Field, FloatKind, Format, Structure, Verifier, View};
use std::collections::HashMap;
use std::fmt::Write;

/// In front of CDR that is little-endian.
const LITTLE_ENDIAN: [u8; 4] = [0, 1, 0, 0];
/// A message for viewers has at most so many times the bytes of the body, and so many more: sizes of arrays and padding can take more than
/// what they belong to.
const TIMES: usize = 4;
const MORE: usize = 64 << 10;
/// Of larger records, each element is encoded. The look at a format takes as long as a record is.
const LARGEST_LOOKED_AT: usize = 1 << 16;
/// Between the definitions of types.
const RULE: &str = "================================================================================";

/// Encodes events of one format as messages of ROS 2, which viewers read (`spec/files.md`, "Viewers").
///
/// ```
/// use isoform_core::{Layout, declare::Shape};
/// use isoform_files::Viewer;
/// let level = &Shape::parse("record Level\n  metres double unit=\"m\"")?.all_on(&Layout::NATIVE)?[0];
/// let (name, text) = Viewer::schema(level);
/// assert_eq!((name.as_str(), text.as_str()), ("isoform/msg/Level", "float64 metres # m\n"));
/// let mut viewer = Viewer::new(level);
/// let message = viewer.encode(&2.5_f64.to_ne_bytes()).unwrap();
/// assert_eq!((message.len(), &message[4..]), (12, &2.5_f64.to_le_bytes()[..]));
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Viewer {
    verifier: Verifier,
    /// So many bytes of a body are the CDR as they are.
    same: Option<usize>,
    out: Vec<u8>,
}

/// The names of the topics of viewers: no two have the same.
#[derive(Clone, Debug, Default)]
pub struct TopicNames {
    /// Of each name, how many have asked for it.
    asked: HashMap<String, u64>,
}

impl TopicNames {
    /// The topic for events of a channel's source, in a format of this name: `CHANNEL/SOURCE/FORMAT`. If another topic has
    /// this name already, `/2`, `/3` and so on follow: formats of other machines may have the same name.
    ///
    /// ```
    /// let mut topics = isoform_files::TopicNames::default();
    /// assert_eq!(topics.name("river", 0, "Level"), "river/0/Level");
    /// assert_eq!(topics.name("river", 0, "Level"), "river/0/Level/2");
    /// ```
    pub fn name(&mut self, channel: &str, source: u32, format: &str) -> String {
        let mut name = format!("{channel}/{source}/{format}");
        while let Some(count) = self.asked.get_mut(&name) {
            *count += 1;
            let others = format!("{name}/{count}");
            if !self.asked.contains_key(&others) {
                name = others;
            }
        }
        self.asked.insert(name.clone(), 1);
        name
    }

    /// Another topic may have this name from now on.
    pub fn forget(&mut self, name: &str) {
        self.asked.remove(name);
    }
}

/// What an element becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    /// A type of ROS, its bytes, and how many of them stand for one element.
    Number(&'static str, usize, usize),
    Text,
    Structure,
}

impl Leaf {
    fn of(element: &Element) -> Leaf {
        let float = |kind: FloatKind, size: u8| match (kind, size) {
            (FloatKind::Ieee, 8) => ("float64", 8),
            (FloatKind::Ieee, 4 | 2) | (FloatKind::Brain, _) => ("float32", 4),
            _ => ("float64", 8),
        };
        match element {
            Element::Integer { signed, size: 16 } => Leaf::Number(if *signed { "int64" } else { "uint64" }, 8, 2),
            Element::Integer { signed, size } => integer(*signed, *size),
            Element::Enumeration(enumeration) => integer(enumeration.signed(), enumeration.size()),
            Element::Float { kind, size } => {
                let (name, size) = float(*kind, *size);
                Leaf::Number(name, size, 1)
            }
            Element::Complex { kind, size } => {
                let (name, size) = float(*kind, *size);
                Leaf::Number(name, size, 2)
            }
            Element::Char => Leaf::Number("uint8", 1, 1),
            Element::Boolean { .. } => Leaf::Number("bool", 1, 1),
            Element::String => Leaf::Text,
            Element::Structure(_) => Leaf::Structure,
        }
    }
}

fn integer(signed: bool, size: u8) -> Leaf {
    let name = match (signed, size) {
        (true, 1) => "int8",
        (true, 2) => "int16",
        (true, 4) => "int32",
        (true, _) => "int64",
        (false, 1) => "uint8",
        (false, 2) => "uint16",
        (false, 4) => "uint32",
        (false, _) => "uint64",
    };
    Leaf::Number(name, size.into(), 1)
}

/// Whether a field is text: an array of one dimension of `char`.
fn is_text(field: &Field) -> bool {
    field.element == Element::Char && field.dims.len() == 1
}

/// The number of values of a field, if it is the same in each record; `None` if it is a sequence.
fn fixed(field: &Field, each: usize) -> Option<usize> {
    match field.indirect {
        true => None,
        false => field.fixed_count()?.checked_mul(each),
    }
}

/// Whether a field is one value, and no array.
fn is_single(field: &Field, each: usize) -> bool {
    field.dims.is_empty() && !field.indirect && each == 1
}

impl Viewer {
    /// What encodes events of this format.
    pub fn new(format: &Format) -> Viewer {
        let mut end = 0;
        let may = format.machine().order == ByteOrder::Little && format.size() <= LARGEST_LOOKED_AT;
        let same = may && is_cdr(format.structure(), 0, &mut end);
        Viewer { verifier: Verifier::new(format), same: same.then_some(end), out: Vec::new() }
    }

    /// The name of the message type of a format, and the text that defines the type (`ros2msg`).
    pub fn schema(format: &Format) -> (String, String) {
        let mut text = String::new();
        let (mut wanted, mut at) = (vec![format.structure()], 0);
        while let Some(structure) = wanted.get(at).copied() {
            if at > 0 {
                let _ = writeln!(text, "{RULE}\nMSG: isoform/{}", type_name(structure.name()));
            }
            for field in structure.fields() {
                define(field, &mut text);
                if let Element::Structure(inner) = &field.element
                    && wanted.iter().all(|other| other.name() != inner.name())
                {
                    wanted.push(inner);
                }
            }
            at += 1;
        }
        (format!("isoform/msg/{}", type_name(format.name())), text)
    }

    /// The CDR of a body; `None` if that would be more than four times as long and 65,536 bytes more, or if the body is none of
    /// the format.
    pub fn encode(&mut self, body: &[u8]) -> Option<&[u8]> {
        let most = body.len().saturating_mul(TIMES).saturating_add(MORE);
        let body = self.verifier.verify(body).ok()?;
        self.out.clear();
        self.out.extend(LITTLE_ENDIAN);
        match self.same {
            Some(length) => self.out.extend_from_slice(&body.bytes()[..length]),
            None => record(View::new(body), most, &mut self.out)?,
        }
        (self.out.len() <= most).then_some(&self.out)
    }
}

/// Whether the memory of a structure that begins at `base` is its CDR. `end` is where the CDR is so far.
fn is_cdr(structure: &Structure, base: usize, end: &mut usize) -> bool {
    structure.fields().iter().all(|field| {
        let at = base + field.offset;
        match (Leaf::of(&field.element), &field.element) {
            _ if field.indirect || field.dims.len() > 1 || is_text(field) => false,
            (Leaf::Structure, Element::Structure(inner)) => {
                let count = field.fixed_count().unwrap_or(0);
                (0..count).all(|index| is_cdr(inner, at + index * inner.size(), end))
            }
            (Leaf::Number(_, size, each), element) => {
                let count = field.fixed_count().unwrap_or(0) * each;
                let same = element.size(0) == size * each
                    && !matches!(element, Element::Float { kind: FloatKind::Brain, .. })
                    && end.next_multiple_of(size) == at;
                *end = at + count * size;
                same
            }
            _ => false,
        }
    })
}

/// A line for a field.
fn define(field: &Field, text: &mut String) {
    let name = field_name(&field.name);
    let (type_name, each) = match (Leaf::of(&field.element), &field.element) {
        (Leaf::Number(name, _, each), _) => (name.to_string(), each),
        (_, Element::Structure(inner)) => (format!("isoform/{}", type_name(inner.name())), 1),
        _ => ("string".to_string(), 1),
    };
    let _ = match () {
        () if is_text(field) => write!(text, "string {name}"),
        () if is_single(field, each) => write!(text, "{type_name} {name}"),
        () => match fixed(field, each) {
            Some(count) => write!(text, "{type_name}[{count}] {name}"),
            None => write!(text, "{type_name}[] {name}"),
        },
    };
    if let Some(unit) = &field.unit {
        let _ = write!(text, " # {unit}");
    }
    text.push('\n');
    if field.dims.len() > 1 {
        let _ = writeln!(text, "uint32[{}] {name}_xs", field.dims.len());
    }
}

/// A name of a field as ROS wants it: `a-z`, `0-9`, and single `_` between them.
pub(crate) fn field_name(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut mapped = String::with_capacity(name.len());
    if !bytes[0].is_ascii_lowercase() {
        mapped.push_str("x_x");
    }
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        match byte {
            b'a'..=b'z' => mapped.push(char::from(*byte)),
            b'0'..=b'9' if at > 0 => mapped.push(char::from(*byte)),
            // A `_` is plain between plain characters; `_x` begins what is not.
            b'_' if at > 0
                && next.is_some_and(|next| next.is_ascii_lowercase() && *next != b'x' || next.is_ascii_digit()) =>
            {
                mapped.push('_');
            }
            odd => {
                let _ = write!(mapped, "_x{odd:02x}");
            }
        }
    }
    mapped
}

/// A name of a type as ROS wants it: `A-Z`, and then letters and digits.
pub(crate) fn type_name(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut mapped = String::with_capacity(name.len());
    if !matches!(bytes[0], b'A'..=b'Y') {
        mapped.push_str("Zz");
    }
    for byte in bytes {
        match byte {
            b'Z' => mapped.push_str("Z5a"),
            plain if plain.is_ascii_alphanumeric() => mapped.push(char::from(*plain)),
            odd => {
                let _ = write!(mapped, "Z{odd:02x}");
            }
        }
    }
    mapped
}

fn align(out: &mut Vec<u8>, to: usize) {
    let length = (out.len() - LITTLE_ENDIAN.len()).next_multiple_of(to) + LITTLE_ENDIAN.len();
    out.resize(length, 0);
}

fn count(out: &mut Vec<u8>, count: usize) {
    align(out, 4);
    out.extend((count as u32).to_le_bytes());
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    count(out, text.len() + 1);
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// A record, unless that is longer than `most`. A field alone is at most four times as long as it is in a body.
fn record(view: View<'_>, most: usize, out: &mut Vec<u8>) -> Option<()> {
    for (field, item) in view.fields() {
        if out.len() > most {
            return None;
        }
        let each = match Leaf::of(&field.element) {
            Leaf::Number(_, _, each) => each,
            _ => 1,
        };
        let mut sizes = Vec::new();
        match item {
            Item::Array(array) if is_text(field) => {
                let bytes = array.text().unwrap_or_default();
                text(out, bytes.split(|byte| *byte == 0).next().unwrap_or_default());
            }
            Item::Null if is_text(field) => text(out, b""),
            Item::Array(array) => {
                sizes.extend_from_slice(array.dims());
                if fixed(field, each).is_none() {
                    count(out, array.elements().len() * each);
                }
                for element in array.elements() {
                    value(&field.element, element, most, out)?;
                }
            }
            Item::Null if field.indirect => {
                sizes.resize(field.dims.len(), 0);
                count(out, 0);
            }
            single => {
                if field.indirect {
                    count(out, each);
                }
                value(&field.element, single, most, out)?;
            }
        }
        if field.dims.len() > 1 {
            align(out, 4);
            sizes.iter().for_each(|size| out.extend((*size as u32).to_le_bytes()));
        }
    }
    Some(())
}

/// One element.
fn value(element: &Element, item: Item<'_>, most: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut number = |bytes: &[u8]| {
        align(out, bytes.len());
        out.extend_from_slice(bytes);
    };
    let size = match Leaf::of(element) {
        Leaf::Number(_, size, _) => size,
        _ => 0,
    };
    let mut integer = |value: u128| match element {
        Element::Integer { size: 16, .. } => {
            number(&(value as u64).to_le_bytes());
            number(&((value >> 64) as u64).to_le_bytes());
        }
        _ => number(&value.to_le_bytes()[..size]),
    };
    match item {
        Item::Integer(value) => integer(value as u128),
        Item::Unsigned(value) => integer(value),
        Item::Symbol(symbol) => integer(symbol.value as u128),
        Item::Char(byte) => number(&[byte]),
        Item::Boolean(truth) => number(&[truth.into()]),
        Item::Float(float) => real(float.to_f64(), size, &mut number),
        Item::Complex(parts) => parts.iter().for_each(|part| real(part.to_f64(), size, &mut number)),
        Item::String(bytes) => text(out, bytes),
        Item::Record(view) => record(view, most, out)?,
        // A null text. There are no arrays of arrays, and other elements are not null.
        Item::Null | Item::Array(_) => text(out, b""),
    }
    Some(())
}

fn real(value: f64, size: usize, number: &mut impl FnMut(&[u8])) {
    match size {
        4 => number(&(value as f32).to_le_bytes()),
        _ => number(&value.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Layout, Shape};

    fn format(shape: &str) -> Format {
        Shape::parse(shape).unwrap().all_on(&Layout::X86_64).unwrap().pop().unwrap()
    }

    #[test]
    fn names_are_those_of_ros_and_differ() {
        let names = [
            "a", "ab_c", "A", "_a", "x", "xA", "a_", "a__b", "a_x", "a_x41", "aA", "7", "x7", "é", "x_x", "_", "a-b",
            "x_x_x41", "n", "a_A",
        ];
        let mut fields = HashMap::new();
        let mut types = HashMap::new();
        for name in names {
            let field = field_name(name);
            assert!(
                !field.contains("__") && !field.ends_with('_') && field.starts_with(|c: char| c.is_ascii_lowercase()),
                "{field}"
            );
            assert!(field.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_')), "{field}");
            assert_eq!(fields.insert(field.clone(), name), None, "{field}");
            let mapped = type_name(name);
            assert!(
                mapped.starts_with(|c: char| c.is_ascii_uppercase())
                    && mapped.chars().all(|c| c.is_ascii_alphanumeric())
            );
            assert_eq!(types.insert(mapped.clone(), name), None, "{mapped}");
        }
        assert_eq!((field_name("depth_2"), type_name("Level")), ("depth_2".into(), "Level".into()));
    }

    /// A body that is its own CDR goes as it is: the encoder makes the same of it.
    #[test]
    fn what_goes_as_it_is_is_what_the_encoder_makes() {
        for (shape, same) in [
            ("record A\n  a i32\n  b f64\n  c u8[3]\n  d i16", true),
            ("record P\n  x f64\n  n i32\nrecord A\n  p P\n  q f64", true),
            // 4 bytes are behind `n` in memory, and not in CDR.
            ("record P\n  x f64\n  n i32\nrecord A\n  p P\n  q i32", false),
            ("record P\n  x f64\n  n i32\nrecord A\n  p P[2]\n  q f64", true),
            ("record A\n  a f16", false),
            ("record A\n  a i32[2][2]", false),
            ("record A\n  a char[4]", false),
            ("record A\n  a string", false),
        ] {
            let format = format(shape);
            let mut viewer = Viewer::new(&format);
            assert_eq!(viewer.same.is_some(), same, "{shape}");
            if !same {
                continue;
            }
            // Gaps are zeros.
            let values = isoform_core::text::json::parse(&format, &json(&format)).unwrap();
            let body = isoform_core::value::body(&format, &values).unwrap();
            let as_it_is = viewer.encode(&body).unwrap().to_vec();
            viewer.same = None;
            assert_eq!(viewer.encode(&body).unwrap(), as_it_is, "{shape}");
        }
    }

    /// Some values for numbers, arrays and nested records.
    fn json(format: &Format) -> String {
        fn of(structure: &Structure, next: &mut u32) -> String {
            let fields = structure.fields().iter().map(|field| {
                let mut one = || {
                    *next += 1;
                    match &field.element {
                        Element::Structure(inner) => of(inner, next),
                        _ => next.to_string(),
                    }
                };
                let value = match field.fixed_count() {
                    Some(count) if !field.dims.is_empty() => {
                        format!("[{}]", (0..count).map(|_| one()).collect::<Vec<_>>().join(","))
                    }
                    _ => one(),
                };
                format!("\"{}\":{value}", field.name)
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        of(format.structure(), &mut 0)
    }
}
