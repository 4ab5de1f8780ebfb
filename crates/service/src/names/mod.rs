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
#[cfg(feature = "server")]
pub(crate) use rule::Comparing;
pub use rule::{Refusal, Rule};
#[cfg(feature = "server")]
pub(crate) use version::{FORMATS, are_rules};
pub use version::{FieldRule, Version};

use isoform_core::Error;
use serde_json::{Value, json};

/// The bytes of each table of an explanation that an answer has. Beyond them it says how many rows were left out.
const TEXT: usize = 64 << 10;

/// The first of the fields at fault, whose texts have at most 64 KiB together; one at least. The path of a nested field is long, and
/// there may be 4,096 of them in each of the pairs of an answer.
fn first_faults(all: &[Error]) -> Vec<Error> {
    let mut left = TEXT;
    let fits = |fault: &&Error| {
        let bytes = fault.path().len() + fault.expectation().len() + fault.actual().len();
        let fits = left >= bytes;
        left = left.saturating_sub(bytes);
        fits
    };
    let fitting = all.iter().take_while(fits).count();
    all[..fitting.max(1).min(all.len())].to_vec()
}

/// A field at fault, as answers list it.
fn fault(error: &Error) -> Value {
    json!({
        "path": error.path(), "error": error.code().name(),
        "expected": error.expectation(), "found": error.actual(),
    })
}
