//! XML Schema: from its complex types to declarations (`spec/xmit.md`; paper 003, section 3.1).
//!
//! | step | home |
//! |---|---|
//! | what elements of a document may have | [`bounds`] |
//! | XML to what the document states | [`read`], [`schema`] |
//! | a simple type to the type of a field | [`simple`] |
//! | complex types to declarations of records | [`translate`] |

mod bounds;
mod read;
mod schema;
mod simple;
mod translate;

use super::Front;
use crate::declaration::Declarations;
use crate::documents::Documents;
use isoform_core::Result;

/// The room of XML Schema.
pub(super) struct XmlSchema;

impl Front for XmlSchema {
    fn declarations(&self, documents: &mut Documents<'_>) -> Result<Declarations> {
        let schema = read::read(documents)?;
        for (place, name) in &schema.abstracts {
            let number = place.document as usize;
            let line = documents.faults(number).line(place.start);
            let reason = "an abstract type is no record; the types that extend it are";
            documents.leave_out(number, line, &format!("complexType {name}"), reason, false);
        }
        Ok(translate::translate(&schema, documents))
    }
}

/// The symbol of an enumeration for a value in a document.
pub(crate) fn symbol(value: &str) -> Box<str> {
    simple::symbol(value)
}
