//! Names of declarations, their versions, and the rule that each new version must keep (`spec/service.md`, "Names").
//!
//! A token names bytes. A name is for people: "River" is a sequence of declarations, of which each new one must get along with
//! earlier ones. Nothing here stores anything.

mod comparison;
mod requests;
mod rule;
mod version;

pub use comparison::Comparison;
pub use requests::Answer;
pub use rule::{Refusal, Rule};
pub use version::{FieldRule, Version};

use isoform_core::Error;
use serde_json::{Value, json};

/// A field at fault, as answers list it.
fn fault(error: &Error) -> Value {
    json!({
        "path": error.path(), "error": error.code().name(),
        "expected": error.expectation(), "found": error.actual(),
    })
}
