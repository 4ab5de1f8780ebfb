//! Declarations as source code: what a document declares, for programs that are compiled.
//!
//! A module for each language implements one trait. What C, C++, Rust and Python declare, when it is compiled, is the very format to which the
//! document is bound. TypeScript and Java get types without a layout, and a shape is the format itself, in words.

mod c;
mod cpp;
mod java;
mod python;
mod rust;
mod shape;
mod typescript;

use crate::declaration::{Declaration, Declarations, Field};
use crate::lexical;
use isoform_core::declare::{Kind, Length, Width};
use isoform_core::text::json;
use isoform_core::{Code, Error, Result, Value};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// Writes declarations in one language. Each [`Target`] has an implementation.
trait Back {
    /// The word for it on a command line.
    fn word(&self) -> &'static str;

    /// How it lays out records: `None` if it leaves that to others, and otherwise whether it has `#pragma pack`.
    fn packs(&self) -> Option<bool> {
        Some(false)
    }

    /// Source code for records, each behind those that it nests. What the language cannot have is refused, with its path.
    fn write(&self, records: &[Declaration]) -> Result<String>;
}

/// A language into which declarations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// C99 and C++: structs, and tables for `isoform.h` and `isoform_writer.h`.
    C,
    /// C++20: structs and enumerations for `isoform.hpp`.
    Cpp,
    /// Rust: structs that derive `isoform::Record`.
    Rust,
    /// Python: dataclasses and dtypes for the package `isoform`.
    Python,
    /// TypeScript: types of the JSON that [`Hydration`](crate::Hydration) writes.
    TypeScript,
    /// Java 17: a class `Records`, with a record of the language for each.
    Java,
    /// Shapes: the notation in which every library and the command take formats.
    Shape,
}

impl Target {
    /// All of them.
    pub const ALL: &[Target] =
        &[Target::C, Target::Cpp, Target::Rust, Target::Python, Target::TypeScript, Target::Java, Target::Shape];

    fn back(self) -> &'static dyn Back {
        match self {
            Target::C => &c::C,
            Target::Cpp => &cpp::Cpp,
            Target::Rust => &rust::Rust,
            Target::Python => &python::Python,
            Target::TypeScript => &typescript::TypeScript,
            Target::Java => &java::Java,
            Target::Shape => &shape::Shape,
        }
    }

    /// The word for it on a command line.
    pub fn word(self) -> &'static str {
        self.back().word()
    }

    /// Source code for a record and those that it nests; or for all records of the document, if none is named.
    ///
    /// ```
    /// use isoform_xmit::{Alone, Declarations, Language, Target};
    /// let text = "struct Gauge { int32 step; double level; };";
    /// let declarations = Declarations::read(Language::Idl, "gauge.idl", text, &mut Alone)?;
    /// let header = Target::C.write(&declarations, Some("Gauge"))?;
    /// assert!(header.contains("typedef struct Gauge {\n    int32_t step;\n    double level;\n} Gauge;"));
    /// assert!(header.contains("ISO_FIELD(Gauge, level, \"f64\")"));
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Declarations::get`]; [`Code::Declaration`] at a record that the language cannot have, with the reason.
    pub fn write(self, declarations: &Declarations, name: Option<&str>) -> Result<String> {
        let mut records = Vec::new();
        let mut add = |declaration: &Declaration| {
            records.push(declaration.clone());
            Ok(())
        };
        match name {
            Some(name) => declarations.each(name, &mut add)?,
            None => declarations.all(&mut add)?,
        }
        if let Some(packs) = self.back().packs() {
            records.iter().try_for_each(|record| record.check_layout(self.word(), packs))?;
        }
        self.back().write(&records)
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(word: &str) -> Result<Target> {
        Target::ALL.iter().copied().find(|target| target.word() == word).ok_or_else(|| {
            let words: Vec<&str> = Target::ALL.iter().map(|target| target.word()).collect();
            Error::new(Code::Text).expected(format!("one of {}", words.join(", "))).found(format!("{word:?}"))
        })
    }
}

/// How a language makes names of those of formats.
struct Names {
    /// The words that are no names.
    words: &'static str,
    /// What stands before a name that begins with no letter, and behind one that is a word.
    before: &'static str,
    behind: &'static str,
}

impl Names {
    /// A name that the language allows: the same, if it allows that.
    fn of(&self, name: &str) -> String {
        let mut text: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || text.chars().all(|c| c == '_') {
            text.insert_str(0, self.before);
        }
        if self.words.split_whitespace().any(|word| word == text) {
            text.push_str(self.behind);
        }
        text
    }
}

/// Names that have been given in one place.
#[derive(Default)]
struct Taken(HashSet<String>);

impl Taken {
    fn add(&mut self, name: &str, given: String, language: &str) -> Result<()> {
        match self.0.insert(given.clone()) {
            true => Ok(()),
            false => {
                let error =
                    Error::new(Code::Declaration).at(name).expected(format_args!("a name of its own in {language}"));
                Err(error.found(format_args!("another {given}")))
            }
        }
    }
}

/// `#pragma pack` around a struct, if it needs that.
fn packed(record: &Declaration, text: &str) -> String {
    match record.packing.pack {
        Some(most) => format!("#pragma pack(push, {most})\n{text}#pragma pack(pop)\n"),
        None => text.to_owned(),
    }
}

fn fault(expected: &str, found: impl fmt::Display) -> Error {
    Error::new(Code::Declaration).expected(expected).found(found)
}

/// The length of the array that a field is, if it stands behind the array.
fn follows(record: &Declaration, index: usize) -> Option<&str> {
    let Some(Length::Field(length)) = record.fields[index].kind.dims.first() else { return None };
    record.fields.get(index + 1).map(|next| &*next.name).filter(|next| *next == &**length)
}

/// Whether a field is one of the program's, in a language in which the length of an array has so many bytes and stands behind its array,
/// where nothing shows it.
fn is_shown(record: &Declaration, index: usize, bytes: u8) -> Result<bool> {
    let field = &record.fields[index];
    let is_of = |array: &crate::declaration::Field| {
        array.kind.dims.iter().any(|length| matches!(length, Length::Field(name) if *name == field.name))
    };
    let arrays = record.fields.iter().filter(|array| is_of(array)).count();
    if arrays == 0 {
        // An array without its length behind it is at fault itself.
        return match field.kind.dims.first() {
            Some(Length::Field(length)) if follows(record, index).is_none() => {
                Err(fault("an array with its length directly behind it", format_args!("{length} elsewhere")))
            }
            _ => Ok(true),
        };
    }
    let is_behind = index > 0 && follows(record, index - 1).is_some();
    let is_unsigned =
        matches!(field.kind.kind, Kind::Integer { signed: false, width: Width::Bytes(size) } if size == bytes);
    match (arrays, is_behind, is_unsigned) {
        (1, true, true) => Ok(false),
        (1, true, false) => {
            Err(fault(&format!("an unsigned integer of {bytes} bytes as the length of an array"), field.kind.clone()))
        }
        (1, false, _) => Err(fault("the length of an array directly behind it", "one elsewhere")),
        _ => Err(fault("a length for each array", format_args!("one for {arrays} arrays"))),
    }
}

/// The name of an enumeration: that of its record and field.
fn enumeration_name(names: &Names, record: &Declaration, field: &Field) -> String {
    let mut letters = field.name.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    names.of(&format!("{}{first}{}", record.name, letters.as_str()))
}

/// The value of a default as JSON, as the tables of C and C++ have it.
pub(crate) fn json_default(field: &Field, text: &str) -> Result<String> {
    let string = |text: &str| std::fmt::from_fn(|f| json::string(text, f)).to_string();
    Ok(match lexical::value(&field.kind, field.unit.as_deref(), text)? {
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::Float(number) if number.is_nan() => "\"NaN\"".into(),
        Value::Float(number) => if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.into(),
        Value::Symbol(symbol) => string(&symbol),
        Value::String(text) => string(&String::from_utf8_lossy(&text)),
        other => return Err(fault("a default that a table can have", other)),
    })
}
