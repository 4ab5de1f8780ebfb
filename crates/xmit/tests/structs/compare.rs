//! Compares what a program says of its structs with what is read of its debug information.

use isoform_core::view::{Item, View};
use isoform_core::{Element, Format, Structure, Verifier};
use isoform_xmit::{Overlay, Program};
use std::collections::BTreeMap;
use std::path::Path;

/// What became of the structs of some programs.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) structs: usize,
    /// Fields without parts that were compared.
    pub(crate) leaves: usize,
    /// Why structs were refused, each with how many.
    pub(crate) refused: BTreeMap<String, usize>,
    pub(crate) differences: Vec<String>,
}

/// What a program says of a struct.
pub(crate) struct Said<'p> {
    name: &'p str,
    size: usize,
    leaves: Vec<Vec<&'p str>>,
}

/// The structs that a program shows.
pub(crate) fn said(text: &str) -> Vec<Said<'_>> {
    let mut all: Vec<Said<'_>> = Vec::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        match (words.first(), all.last_mut()) {
            (Some(&"record"), _) => {
                all.push(Said { name: words[1], size: words[2].parse().unwrap(), leaves: Vec::new() });
            }
            (Some(_), Some(of)) => of.leaves.push(std::mem::take(&mut words)),
            _ => {}
        }
    }
    all
}

impl Tally {
    /// Compares all structs of a program. `named` is the name of each in the debug information, and `dropped` are the fields that no
    /// record has.
    pub(crate) fn program(
        &mut self,
        program: &Path,
        said: &[Said<'_>],
        mut bytes: &[u8],
        named: impl Fn(&str) -> String,
        dropped: impl Fn(&str) -> Vec<String>,
    ) {
        let open = || Program::open(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let read = open();
        for said in said {
            let record = bytes.split_off(..said.size).unwrap_or_else(|| panic!("{} has no bytes", said.name));
            self.structs += 1;
            let name = named(said.name);
            let format = match read.format(&name) {
                Err(error) => {
                    *self.refused.entry(reason(&error)).or_default() += 1;
                    // The rest of its fields are those of the program nevertheless.
                    let fields: Vec<String> =
                        dropped(said.name).iter().map(|field| format!("\"{field}\": null")).collect();
                    let overlay = format!("{{\"{name}\": {{\"fields\": {{{}}}}}}}", fields.join(", "));
                    match (fields.is_empty(), Overlay::parse("dropped.json", &overlay)) {
                        (false, Ok(overlay)) => open().over(overlay).format(&name).ok(),
                        _ => None,
                    }
                }
                Ok(format) => Some(format),
            };
            if let Some(format) = format {
                self.differences.extend(compare(said, &format, record).map(|why| format!("{}: {why}", said.name)));
                self.leaves += said.leaves.len();
            }
        }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.structs += other.structs;
        self.leaves += other.leaves;
        other.refused.into_iter().for_each(|(why, count)| *self.refused.entry(why).or_default() += count);
        self.differences.extend(other.differences);
    }

    pub(crate) fn refusals(&self) -> usize {
        self.refused.values().sum()
    }
}

/// Why a struct was refused, without what is its own.
fn reason(error: &isoform_core::Error) -> String {
    let text = error.to_string();
    let found = text.rsplit_once("found ").map_or(&*text, |(_, found)| found);
    found.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// How a format differs from what a program says.
fn compare(said: &Said<'_>, format: &Format, record: &[u8]) -> Option<String> {
    if format.size() != said.size {
        return Some(format!("{} bytes, and not {}", format.size(), said.size));
    }
    let count = leaves(format.structure());
    if count != said.leaves.len() {
        return Some(format!("{count} fields, and not {}", said.leaves.len()));
    }
    let verifier = Verifier::new(format);
    let view = match verifier.verify(record) {
        Ok(body) => View::new(body),
        Err(error) => return Some(format!("its bytes are refused: {error}")),
    };
    said.leaves.iter().find_map(|leaf| differs(leaf, format, &view).map(|why| format!("{}: {why}", leaf.join(" "))))
}

fn leaves(of: &Structure) -> usize {
    let leaves_of = |element: &Element| match element {
        Element::Structure(inner) => leaves(inner),
        _ => 1,
    };
    of.fields().iter().map(|field| leaves_of(&field.element)).sum()
}

/// How a field differs: `path offset size value symbol=number ..`.
fn differs(leaf: &[&str], format: &Format, view: &View<'_>) -> Option<String> {
    let [path, offset, size, value, symbols @ ..] = leaf else { return Some("not a line of a leaf".into()) };
    let (at, extent, element) = match place(format, path) {
        Some(found) => found,
        None => return Some("no such field".into()),
    };
    if (at.to_string(), extent.to_string()) != ((*offset).into(), (*size).into()) {
        return Some(format!("{extent} bytes at {at}"));
    }
    if let Element::Enumeration(of) = element {
        let found: Vec<String> =
            of.symbols().iter().map(|symbol| format!("{}={}", symbol.name, symbol.value)).collect();
        let (mut found, mut symbols) = (found, symbols.to_vec());
        found.sort();
        symbols.sort_unstable();
        if found != symbols {
            return Some(format!("symbols {}", found.join(" ")));
        }
    }
    let item = match view.get(path) {
        Ok(item) => item,
        Err(error) => return Some(error.to_string()),
    };
    (!is(&item, value)).then(|| format!("{item:?}"))
}

/// Where an element is, how many bytes its whole field takes, and its type.
fn place<'f>(format: &'f Format, path: &str) -> Option<(usize, usize, &'f Element)> {
    let (mut structure, mut offset) = (format.structure(), 0);
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        let indices = indices.split(['[', ']']).filter(|index| !index.is_empty()).map(|index| index.parse().ok());
        let indices: Vec<usize> = indices.collect::<Option<_>>()?;
        let field = structure.field(name)?;
        let pointer = format.machine().pointer;
        let size = field.element_size(pointer);
        let dims: Vec<usize> = (field.dims.iter())
            .map(|dim| match dim {
                isoform_core::Dimension::Fixed(count) => Some(*count),
                isoform_core::Dimension::Field(_) => None,
            })
            .collect::<Option<_>>()?;
        if dims.len() != indices.len() || dims.iter().zip(&indices).any(|(count, index)| index >= count) {
            return None;
        }
        let index = dims.iter().zip(&indices).fold(0, |all, (count, index)| all * count + index);
        offset += field.offset + index * size;
        match (&field.element, parts.peek()) {
            (Element::Structure(inner), Some(_)) => structure = inner,
            (element, None) => return Some((offset, field.extent(pointer)?, element)),
            _ => return None,
        }
    }
    None
}

/// Whether a value is the one that a program shows.
fn is(item: &Item<'_>, value: &str) -> bool {
    let float = |float: &isoform_core::scalar::Float, text: &str| text.parse() == Ok(float.to_f64());
    match item {
        Item::Boolean(found) => value == if *found { "1" } else { "0" },
        Item::Char(found) => value == found.to_string(),
        Item::Integer(found) => value == found.to_string() || value == format!("{found:#034x}"),
        Item::Unsigned(found) => value == format!("{found:#034x}"),
        Item::Symbol(found) => value == format!("{}={}", found.name, found.value),
        Item::Float(found) => float(found, value),
        Item::Complex([re, im]) => value.split_once(',').is_some_and(|(a, b)| float(re, a) && float(im, b)),
        _ => false,
    }
}
