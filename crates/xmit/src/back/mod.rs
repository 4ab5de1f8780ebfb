//! Declarations as source code: what a document declares, for programs that are compiled.
//!
//! A room for each language. What it writes declares, when it is compiled, the very format to which the document is bound.

mod c;

use crate::declaration::{Declaration, Declarations};
use isoform_core::{Code, Error, Result};
use std::str::FromStr;

/// A language into which declarations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// C99 and C++: structs, and tables for `isoform.h` and `isoform_writer.h`.
    C,
}

impl Target {
    /// All of them.
    pub const ALL: &[Target] = &[Target::C];

    /// The word for it on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Target::C => "c",
        }
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
        let mut add = |name: &str| {
            declarations.each(name, &mut |declaration| {
                if !records.iter().any(|known: &Declaration| known.name == declaration.name) {
                    records.push(declaration.clone());
                }
                Ok(())
            })
        };
        match name {
            Some(name) => add(name)?,
            None => declarations.names().try_for_each(&mut add)?,
        }
        match self {
            Target::C => c::write(&records),
        }
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
