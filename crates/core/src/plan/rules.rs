//! What a receiver says of its own fields beyond their layout: other names, defaults, which must be there.
//!
//! None of it travels: rules belong to a receiver's declaration and are outside the token.

use crate::value::Value;
use std::collections::HashMap;

/// What a plan does with a number that does not fit its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Faults {
    /// Refuse the record, naming the field.
    #[default]
    Error,
    /// Take the nearest value that fits; fractions are cut off, NaN becomes 0, arrays lose their tail.
    Saturate,
    /// Keep the low bits of integers, let floats become infinite; fractions are cut off, NaN becomes 0, arrays lose
    /// their tail.
    Wrap,
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Faults::Error => "error",
            Faults::Saturate => "saturate",
            Faults::Wrap => "wrap",
        })
    }
}

/// A receiver's wishes, by structure and field.
///
/// ```
/// use isoform_core::plan::Rules;
/// use isoform_core::Value;
/// let rules = Rules::new()
///     .alias("Sample", "temperature", "temp")
///     .default("Sample", "pressure", Value::Float(1013.25))
///     .required("Sample", "step");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    structures: HashMap<Box<str>, HashMap<Box<str>, Rule>>,
}

/// The wishes for one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Other names under which it may come, tried in order after its own. A name with dots, such as `pos.x`, reaches
    /// into nested structures of what came.
    pub aliases: Vec<Box<str>>,
    /// Its value if it does not come; also what an unknown symbol of an enumeration becomes.
    pub default: Option<Value>,
    /// Whether a format without it is refused.
    pub required: bool,
}

impl Rules {
    /// No wishes.
    pub fn new() -> Rules {
        <Rules as Default>::default()
    }

    /// Adds another name under which the field may come.
    pub fn alias(mut self, structure: &str, field: &str, alias: &str) -> Rules {
        self.rule(structure, field).aliases.push(alias.into());
        self
    }

    /// Gives the field a value for when it does not come.
    pub fn default(mut self, structure: &str, field: &str, value: Value) -> Rules {
        self.rule(structure, field).default = Some(value);
        self
    }

    /// Refuses formats that do not have the field.
    pub fn required(mut self, structure: &str, field: &str) -> Rules {
        self.rule(structure, field).required = true;
        self
    }

    /// Adds the rules of nested structures.
    pub fn and(mut self, other: Rules) -> Rules {
        for (structure, rules) in other.structures {
            self.structures.entry(structure).or_default().extend(rules);
        }
        self
    }

    /// The wishes for a field, if there are any.
    pub fn of(&self, structure: &str, field: &str) -> Option<&Rule> {
        self.structures.get(structure)?.get(field)
    }

    fn rule(&mut self, structure: &str, field: &str) -> &mut Rule {
        self.structures.entry(structure.into()).or_default().entry(field.into()).or_default()
    }
}
