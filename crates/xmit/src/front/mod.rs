//! The languages of documents, one room each. Each makes [`Declarations`].
//!
//! | | home |
//! |---|---|
//! | XML Schema | [`xsd`] |
//! | IDL of CORBA and DDS | [`idl`] |
//! | messages of ROS | [`msg`] |
//! | JSON Schema | [`json_schema`]; texts in JSON: [`json`] |
//! | structs of C headers | [`c`] |
//! | Protocol Buffers | [`proto`] |
//! | what the other rooms share: names to types, lengths, limits | [`link`] |
//! | words, numbers and comments in the manner of C | [`tokens`] |
//! | what stands in quotes, and numbers in other bases | [`literal`] |

mod c;
mod idl;
pub(crate) mod json;
mod json_schema;
mod link;
mod literal;
mod msg;
mod proto;
mod tokens;
pub(crate) mod xsd;

use crate::declaration::Declarations;
use crate::documents::Documents;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::str::FromStr;

/// A reader of one language.
trait Front {
    /// The declarations of a document that has been loaded, with those of the documents that it needs.
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations>;
}

/// The language of a document.
///
/// ```
/// use isoform_xmit::Language;
/// assert_eq!(Language::of_place("https://schemas.example/river.idl"), Some(Language::Idl));
/// assert_eq!("xsd".parse(), Ok(Language::XmlSchema));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// XML Schema: `xsd`.
    XmlSchema,
    /// IDL of CORBA and DDS: `idl`.
    Idl,
    /// Messages of ROS 1 and ROS 2: `msg`.
    Msg,
    /// JSON Schema: `jsonschema`.
    JsonSchema,
    /// Protocol Buffers, proto2 and proto3: `proto`.
    Proto,
    /// Structs of C headers, without a preprocessor: `c`.
    C,
}

impl Language {
    /// All that this version reads.
    pub const ALL: &[Language] =
        &[Language::XmlSchema, Language::Idl, Language::Msg, Language::JsonSchema, Language::Proto, Language::C];

    /// The word for it, as in sources of the command.
    pub fn word(self) -> &'static str {
        match self {
            Language::XmlSchema => "xsd",
            Language::Idl => "idl",
            Language::Msg => "msg",
            Language::JsonSchema => "jsonschema",
            Language::Proto => "proto",
            Language::C => "c",
        }
    }

    /// The language of a document, by the extension of its path or URL. `None` if the extension is that of no language.
    pub fn of_place(place: &str) -> Option<Language> {
        let path = place.split(['?', '#']).next().unwrap_or_default();
        match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "xsd" => Some(Language::XmlSchema),
            "idl" => Some(Language::Idl),
            "msg" => Some(Language::Msg),
            "json" => Some(Language::JsonSchema),
            "proto" => Some(Language::Proto),
            "h" | "c" => Some(Language::C),
            _ => None,
        }
    }

    fn front(self) -> &'static dyn Front {
        match self {
            Language::XmlSchema => &xsd::XmlSchema,
            Language::Idl => &idl::Idl,
            Language::Msg => &msg::Msg,
            Language::JsonSchema => &json_schema::JsonSchema,
            Language::Proto => &proto::Proto,
            Language::C => &c::C,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(word: &str) -> Result<Language> {
        Language::ALL.iter().copied().find(|language| language.word() == word).ok_or_else(|| {
            let words: Vec<&str> = Language::ALL.iter().map(|language| language.word()).collect();
            Error::new(Code::Text).expected(format_args!("one of {}", words.join(", "))).found(format_args!("{word:?}"))
        })
    }
}

/// The declarations of a document in a language.
pub(crate) fn declarations(language: Language, documents: &mut Documents<'_>) -> Result<Declarations> {
    let declarations = language.front().declarations(documents)?;
    Ok(declarations.with(documents.take_left_out(), language == Language::JsonSchema))
}
