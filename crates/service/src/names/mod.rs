//! Names of declarations, their versions, and the rule that each new version must keep (`spec/service.md`, "Names").
//!
//! A token names bytes. A name is for people: "River" is a sequence of declarations, of which each new one must get along with
//! earlier ones. Nothing here stores anything.

mod requests;
mod rule;
mod version;

pub use requests::Answer;
pub use rule::{Refusal, Rule};
pub use version::{FieldRule, Version};
